/* MIG over many GPUs: sets by state, and states ranked for each profile. */
#include "models/hardware/mig_index.h"

#include <assert.h>

const char *const mig_order_names[MIG_ORDERS] = {"first", "best", "worst", "least-harm"};

/* ---- ranking ---- */

/* Fewest free memory slices, then fewest free compute slices, then the lowest state. */
static bool fuller(mig_state a, mig_state b)
{
    const int memory_a = __builtin_popcount(mig_free_memory(a));
    const int memory_b = __builtin_popcount(mig_free_memory(b));
    if (memory_a != memory_b)
        return memory_a < memory_b;
    if (mig_free_compute(a) != mig_free_compute(b))
        return mig_free_compute(a) < mig_free_compute(b);
    return a < b;
}

static float harm(const struct mig_index *x, uint8_t profile, mig_state s)
{
    return x->t->worth[s] -
           x->t->worth[mig_after(x->t, s, profile, x->t->choice[x->rule][s][profile])];
}

bool mig_index_before(const struct mig_index *x, mig_state a, const struct mig_index *y,
                      mig_state b, uint8_t profile)
{
    const bool empty_a = a == x->t->empty, empty_b = b == y->t->empty;
    if (x->order == MIG_ORDER_WORST)
        return fuller(b, a);
    if (x->order == MIG_ORDER_LEAST_HARM && empty_a != empty_b)
        return empty_b;
    if (x->order == MIG_ORDER_LEAST_HARM) {
        const float harm_a = harm(x, profile, a), harm_b = harm(y, profile, b);
        if (harm_a != harm_b)
            return harm_a < harm_b;
    }
    return fuller(a, b);
}

static bool before(const struct mig_index *x, uint8_t profile, mig_state a, mig_state b)
{
    return mig_index_before(x, a, x, b, profile);
}

/* Insertion sort: some hundred states, once. */
static void rank_states(struct mig_index *x, uint8_t profile)
{
    struct mig_ranking *r = &x->rankings[profile];
    uint16_t n = 0;
    for (mig_state s = 0; s < MIG_STATES; s++) {
        x->rank[s][profile] = MIG_STATES;
        if (!x->in[s].words || !x->t->starts[s][profile])
            continue;
        x->fits[s] |= (uint8_t)(1u << profile);
        uint16_t i = n++;
        for (; i > 0 && before(x, profile, s, r->states[i - 1]); i--)
            r->states[i] = r->states[i - 1];
        r->states[i] = s;
    }
    for (uint16_t i = 0; i < n; i++)
        x->rank[r->states[i]][profile] = i;
    r->n_words = (uint16_t)((n + 63) / 64);
}

/* ---- sets ---- */

/* Notes of a state that its first open GPU came, or its last one went. */
static void mark(struct mig_index *x, mig_state s)
{
    for (unsigned fits = x->fits[s]; fits; fits &= fits - 1) {
        const int p = __builtin_ctz(fits);
        const uint16_t rank = x->rank[s][p];
        x->rankings[p].any[rank / 64] ^= UINT64_C(1) << rank % 64;
    }
}

static void enter(struct mig_index *x, uint32_t gpu, mig_state s)
{
    const bool first = x->n_in[s]++ == 0;
    if (x->order == MIG_ORDER_FIRST)
        return; /* goes by rooms */
    number_set_add(&x->in[s], gpu);
    if (first)
        mark(x, s);
}

static void leave(struct mig_index *x, uint32_t gpu, mig_state s)
{
    const bool last = --x->n_in[s] == 0;
    if (x->order == MIG_ORDER_FIRST)
        return;
    number_set_remove(&x->in[s], gpu);
    if (last)
        mark(x, s);
}

/* The sets of MIG_ORDER_FIRST, where a GPU's profiles change from those that fitted. */
static void change_room(struct mig_index *x, uint32_t gpu, uint8_t from, uint8_t to)
{
    for (unsigned changed = from ^ to; changed; changed &= changed - 1) {
        const int p = __builtin_ctz(changed);
        if (to >> p & 1)
            number_set_add(&x->room[p], gpu);
        else
            number_set_remove(&x->room[p], gpu);
    }
}

static void change(struct mig_index *x, uint32_t gpu, mig_state to)
{
    const mig_state from = x->state[gpu];
    x->state[gpu] = to;
    if (number_set_has(&x->closed, gpu))
        return;
    leave(x, gpu, from);
    enter(x, gpu, to);
    if (x->order == MIG_ORDER_FIRST)
        change_room(x, gpu, x->fits[from], x->fits[to]);
}

/* Sets for the states that can occur, from the empty one down. */
static enum hr_err make_sets(struct mig_index *x, struct arena *arena)
{
    bool *occurs = arena_array(arena, MIG_STATES, sizeof *occurs);
    if (!occurs)
        return HR_NOMEM;
    occurs[x->t->empty] = true;
    for (int s = MIG_STATES - 1; s >= 0; s--) {
        if (!occurs[s])
            continue;
        if (!number_set_init(&x->in[s], x->n_gpus, arena))
            return HR_NOMEM;
        for (uint8_t p = 0; p < x->t->gpu.n_profiles; p++)
            for (uint8_t start = 0; start < MIG_SLICES; start++)
                if (mig_legal(x->t, (mig_state)s, p, start))
                    occurs[mig_after(x->t, (mig_state)s, p, start)] = true;
    }
    return HR_OK;
}

enum hr_err mig_index_init(struct mig_index *x, const struct mig_tables *t, uint32_t n_gpus,
                           enum mig_order order, enum mig_rule rule, struct arena *arena)
{
    *x = (struct mig_index){.t = t, .order = order, .rule = rule, .n_gpus = n_gpus};
    x->state = arena_array(arena, n_gpus, sizeof *x->state);
    x->in = arena_array(arena, MIG_STATES, sizeof *x->in);
    x->n_in = arena_array(arena, MIG_STATES, sizeof *x->n_in);
    x->rankings = arena_array(arena, t->gpu.n_profiles, sizeof *x->rankings);
    x->rank = arena_array(arena, MIG_STATES, sizeof *x->rank);
    x->fits = arena_array(arena, MIG_STATES, sizeof *x->fits);
    if (!x->state || !x->in || !x->n_in || !x->rankings || !x->rank || !x->fits ||
        !number_set_init(&x->closed, n_gpus, arena))
        return HR_NOMEM;
    TRY(make_sets(x, arena));
    for (uint8_t p = 0; p < t->gpu.n_profiles; p++) {
        rank_states(x, p);
        if (order == MIG_ORDER_FIRST && !number_set_init(&x->room[p], n_gpus, arena))
            return HR_NOMEM;
    }
    for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
        x->state[gpu] = t->empty;
        enter(x, gpu, t->empty);
        if (order == MIG_ORDER_FIRST)
            change_room(x, gpu, 0, x->fits[t->empty]);
    }
    return HR_OK;
}

/* ---- placing ---- */

bool mig_index_find(const struct mig_index *x, uint8_t profile, uint32_t *gpu, uint8_t *start)
{
    uint32_t found = NUMBER_NONE;
    if (x->order == MIG_ORDER_FIRST) {
        found = number_set_next(&x->room[profile], 0);
    } else {
        const struct mig_ranking *r = &x->rankings[profile];
        for (uint16_t w = 0; w < r->n_words; w++)
            if (r->any[w]) {
                const int rank = w * 64 + __builtin_ctzll(r->any[w]);
                found = number_set_next(&x->in[r->states[rank]], 0);
                break;
            }
    }
    if (found == NUMBER_NONE)
        return false;
    *gpu = found;
    *start = x->t->choice[x->rule][x->state[found]][profile];
    return true;
}

bool mig_index_take(struct mig_index *x, uint8_t profile, uint32_t *gpu, uint8_t *start)
{
    if (!mig_index_find(x, profile, gpu, start))
        return false;
    change(x, *gpu, mig_after(x->t, x->state[*gpu], profile, *start));
    return true;
}

bool mig_index_take_on(struct mig_index *x, uint32_t gpu, uint8_t profile, uint8_t *start)
{
    *start = x->t->choice[x->rule][x->state[gpu]][profile];
    return mig_index_take_at(x, gpu, profile, *start);
}

bool mig_index_take_at(struct mig_index *x, uint32_t gpu, uint8_t profile, uint8_t start)
{
    if (!mig_legal(x->t, x->state[gpu], profile, start))
        return false;
    change(x, gpu, mig_after(x->t, x->state[gpu], profile, start));
    return true;
}

void mig_index_give(struct mig_index *x, uint32_t gpu, uint8_t profile, uint8_t start)
{
    const uint16_t delta = mig_delta(x->t, profile, start);
    assert((mig_free_memory(x->state[gpu]) & delta & 0xff) == 0);
    change(x, gpu, (mig_state)(x->state[gpu] + delta));
}

void mig_index_close(struct mig_index *x, uint32_t gpu)
{
    if (number_set_has(&x->closed, gpu))
        return;
    leave(x, gpu, x->state[gpu]);
    if (x->order == MIG_ORDER_FIRST)
        change_room(x, gpu, x->fits[x->state[gpu]], 0);
    number_set_add(&x->closed, gpu);
}

void mig_index_open(struct mig_index *x, uint32_t gpu)
{
    if (!number_set_has(&x->closed, gpu))
        return;
    number_set_remove(&x->closed, gpu);
    enter(x, gpu, x->state[gpu]);
    if (x->order == MIG_ORDER_FIRST)
        change_room(x, gpu, 0, x->fits[x->state[gpu]]);
}

/* Behind the last rank are zeros: the state where nothing is free. */
uint32_t mig_index_fits(const struct mig_index *x, uint8_t profile)
{
    const struct mig_ranking *r = &x->rankings[profile];
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_words * 64u; i++)
        n += x->n_in[r->states[i]] * x->t->fits[r->states[i]][profile];
    return n;
}

struct mig_sums mig_index_sums(const struct mig_index *x)
{
    struct mig_sums sums = {.empty_gpus = x->n_in[x->t->empty]};
    for (mig_state s = 0; s < MIG_STATES; s++) {
        const uint64_t n = x->n_in[s];
        if (n == 0)
            continue;
        sums.gpus += n;
        sums.free_compute += n * mig_free_compute(s);
        sums.free_memory += n * (unsigned)__builtin_popcount(mig_free_memory(s));
        sums.stranded_compute += n * mig_stranded_compute(x->t, s);
        sums.stranded_memory += n * mig_stranded_memory(x->t, s);
        for (uint8_t p = 0; p < x->t->gpu.n_profiles; p++)
            sums.fits[p] += n * x->t->fits[s][p];
    }
    return sums;
}
