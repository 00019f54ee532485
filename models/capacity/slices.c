/* Slices of GPUs in a fleet; slices.h says how nodes hold them. */
#include "models/capacity/slices.h"

#include <assert.h>

static uint8_t *begins(const struct slices *s, uint32_t gpu, uint32_t start)
{
    return &s->at[(size_t)gpu * MIG_SLICES + start];
}

static struct mig_index *index_of(const struct slices *s, uint32_t gpu)
{
    return &s->kinds[s->kind[gpu]].index;
}

/* So many memory slices of a GPU in the mask of its node. */
static uint64_t bits_from(const struct slices *s, uint32_t gpu, uint32_t memory, uint32_t start)
{
    uint32_t local = gpu - s->first_gpu[s->node_of[gpu]];
    return mask_full(memory) << (local * s->stride + start);
}

static uint64_t bits_of(const struct slices *s, uint32_t gpu, uint8_t profile, uint32_t start)
{
    return bits_from(s, gpu, s->t->gpu.profiles[profile].memory, start);
}

/* ---- construction ---- */

static bool is_wider(const struct mig_profile *p, const struct mig_profile *than)
{
    return p->memory >= than->memory && p->compute >= than->compute && p->media == than->media &&
           (p->memory > than->memory || p->compute > than->compute);
}

/* By insertion: a handful. */
static void list_wider(struct slices *s, uint8_t profile)
{
    const struct mig_profile *profiles = s->t->gpu.profiles;
    uint8_t *list = s->wider[profile];
    for (uint8_t p = 0; p < s->t->gpu.n_profiles; p++) {
        if (!is_wider(&profiles[p], &profiles[profile]))
            continue;
        uint8_t i = s->n_wider[profile]++;
        for (; i > 0; i--) {
            const struct mig_profile *before = &profiles[list[i - 1]];
            if (before->memory < profiles[p].memory ||
                (before->memory == profiles[p].memory && before->compute <= profiles[p].compute))
                break;
            list[i] = list[i - 1];
        }
        list[i] = p;
    }
}

/* All GPUs are of it that have no layout yet, up to its number; the others are closed in it. */
static enum hr_err kind_init(struct slices *s, struct slice_kind *k, uint32_t n_gpus,
                             uint32_t *first, const struct sharing_plan *plan, struct arena *arena)
{
    const struct mig_tables *t = k->plan->mig;
    uint32_t end = *first + k->plan->gpus;
    assert(end <= n_gpus);
    TRY(mig_index_init(&k->index, t, n_gpus, plan->order, plan->rule, arena));
    for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
        if (gpu >= *first && gpu < end)
            s->kind[gpu] = (uint8_t)(k - s->kinds);
        else
            mig_index_close(&k->index, gpu);
    *first = end;
    k->used = k->plan->gpus > 0 || k->plan->target;
    for (uint32_t state = 0; state < MIG_STATES; state++)
        k->n_states += k->index.in[state].words != NULL;
    k->states = arena_array(arena, k->n_states, sizeof *k->states);
    if (!k->states)
        return HR_NOMEM;
    for (uint32_t state = 0, n = 0; state < MIG_STATES; state++)
        if (k->index.in[state].words)
            k->states[n++] = (uint16_t)state;
    return HR_OK;
}

/* Without layouts all GPUs have one: what is asked for. */
static enum hr_err kinds_init(struct slices *s, uint32_t n_gpus, const struct sharing_plan *plan,
                              struct arena *arena)
{
    const struct slice_layout *layouts = plan->layouts;
    s->n_kinds = plan->n_layouts;
    if (s->n_kinds == 0) {
        struct slice_layout *all = arena_alloc(arena, sizeof *all);
        if (!all)
            return HR_NOMEM;
        *all = (struct slice_layout){
            .mig = plan->mig, .gpus = n_gpus, .reconfigure_ns = plan->reconfigure_ns};
        layouts = all;
        s->n_kinds = 1;
    }
    s->kinds = arena_array(arena, s->n_kinds, sizeof *s->kinds);
    if (!s->kinds)
        return HR_NOMEM;
    uint32_t first = 0;
    for (uint32_t k = 0; k < s->n_kinds; k++) {
        s->kinds[k].plan = &layouts[k];
        TRY(kind_init(s, &s->kinds[k], n_gpus, &first, plan, arena));
    }
    assert(first == n_gpus);
    return HR_OK;
}

enum hr_err slices_init(struct nodes *ns, const struct sharing_plan *plan, struct arena *arena)
{
    struct slices *s = arena_alloc(arena, sizeof *s);
    if (!s)
        return HR_NOMEM;
    s->t = plan->mig;
    s->larger = plan->larger;
    s->stride = plan->mig->gpu.memory;
    uint32_t gpus = ns->n_gpus / s->stride;
    s->first_gpu = arena_array(arena, ns->n + 1, sizeof *s->first_gpu);
    s->node_of = arena_array(arena, gpus, sizeof *s->node_of);
    s->at = arena_array(arena, gpus, MIG_SLICES);
    s->kind = arena_array(arena, gpus, sizeof *s->kind);
    s->reserved = arena_array(arena, gpus, sizeof *s->reserved);
    s->shut = arena_array(arena, ns->n, sizeof *s->shut);
    if (!s->first_gpu || !s->node_of || !s->at || !s->kind || !s->reserved || !s->shut ||
        !number_set_init(&s->laying, gpus, arena))
        return HR_NOMEM;
    for (uint32_t node = 0, gpu = 0; node < ns->n; node++) {
        s->first_gpu[node] = gpu;
        s->first_gpu[node + 1] = gpu + ns->size[node] / s->stride;
        for (; gpu < s->first_gpu[node + 1]; gpu++)
            s->node_of[gpu] = node;
    }
    for (uint8_t p = 0; p < s->t->gpu.n_profiles; p++)
        list_wider(s, p);
    ns->slices = s;
    return kinds_init(s, gpus, plan, arena);
}

/* ---- what fits ---- */

/* The layout, the GPU and the start of an instance. */
static struct slice_kind *find(const struct slices *s, uint8_t profile, bool fixed, uint32_t *gpu,
                               uint8_t *start)
{
    struct slice_kind *best = NULL;
    for (uint32_t k = 0; k < s->n_kinds; k++) {
        struct slice_kind *kind = &s->kinds[k];
        const struct mig_index *x = &kind->index;
        uint32_t its_gpu;
        uint8_t its_start;
        if ((fixed && !kind->plan->fixed) || !mig_index_find(x, profile, &its_gpu, &its_start))
            continue;
        if (best) {
            const struct mig_index *y = &best->index;
            mig_state a = x->state[its_gpu], b = y->state[*gpu];
            bool numbers = x->order == MIG_ORDER_FIRST;
            if (!numbers && mig_index_before(y, b, x, a, profile))
                continue;
            if ((numbers || !mig_index_before(x, a, y, b, profile)) && *gpu < its_gpu)
                continue;
        }
        best = kind;
        *gpu = its_gpu;
        *start = its_start;
    }
    return best;
}

/* Whether a GPU has, or can come to have, instances of a profile. */
static bool can_come(const struct slices *s, uint8_t profile, bool fixed)
{
    for (uint32_t k = 0; k < s->n_kinds; k++) {
        const struct slice_kind *kind = &s->kinds[k];
        const struct mig_tables *t = kind->index.t;
        if (kind->used && (kind->plan->fixed || !fixed) && t->starts[t->empty][profile] != 0)
            return true;
    }
    return false;
}

enum grant slices_fit(const struct nodes *ns, const struct shape *shape)
{
    const struct slices *s = ns->slices;
    uint32_t gpu;
    uint8_t start, profile = shape->profile;
    if (shape->kind != SHAPE_SLICE || profile >= s->t->gpu.n_profiles ||
        shape->gpus != s->t->gpu.profiles[profile].memory)
        return GRANT_NEVER;
    if (find(s, profile, shape->beyond > 0, &gpu, &start))
        return GRANT_OK;
    bool can = can_come(s, profile, false);
    for (uint32_t i = 0; s->larger && !shape->exact && !can && i < s->n_wider[profile]; i++)
        can = can_come(s, s->wider[profile][i], true);
    if (!can)
        return GRANT_NEVER;
    return shape->gpus > ns->n_free ? GRANT_ROOM : GRANT_SHAPE;
}

bool slices_larger(const struct nodes *ns, const struct shape *shape, uint32_t *i,
                   struct shape *larger)
{
    const struct slices *s = ns->slices;
    uint32_t gpu;
    uint8_t start;
    while (s->larger && !shape->exact && *i < s->n_wider[shape->profile]) {
        uint8_t profile = s->wider[shape->profile][(*i)++];
        if (!find(s, profile, true, &gpu, &start))
            continue;
        *larger = *shape;
        larger->profile = profile;
        larger->gpus = s->t->gpu.profiles[profile].memory;
        larger->beyond = (uint8_t)(larger->gpus - shape->gpus);
        return true;
    }
    return false;
}

uint32_t slices_wider(const struct nodes *ns, uint32_t profiles)
{
    const struct slices *s = ns->slices;
    uint32_t all = profiles;
    for (uint32_t left = s->larger ? profiles : 0; left; left &= left - 1) {
        int p = __builtin_ctz(left);
        for (uint32_t i = 0; i < s->n_wider[p]; i++)
            all |= UINT32_C(1) << s->wider[p][i];
    }
    return all;
}

struct part slices_take(struct nodes *ns, const struct shape *shape)
{
    struct slices *s = ns->slices;
    uint32_t gpu = 0;
    uint8_t start = 0;
    struct slice_kind *kind = find(s, shape->profile, shape->beyond > 0, &gpu, &start);
    bool fits = kind && mig_index_take_at(&kind->index, gpu, shape->profile, start);
    assert(fits);
    (void)fits;
    *begins(s, gpu, start) = (uint8_t)(1 + shape->profile);
    return slices_place(ns, gpu, shape->profile, start);
}

struct part slices_place(const struct nodes *ns, uint32_t gpu, uint8_t profile, uint32_t start)
{
    return (struct part){.node = ns->slices->node_of[gpu],
                         .mask = bits_of(ns->slices, gpu, profile, start)};
}

const struct mig_index *slices_index(const struct nodes *ns, uint32_t gpu)
{
    return index_of(ns->slices, gpu);
}

uint32_t slices_gpus(const struct nodes *ns)
{
    return ns->slices->first_gpu[ns->n];
}

uint32_t slices_gpu(const struct nodes *ns, uint32_t node, uint64_t mask)
{
    return ns->slices->first_gpu[node] + (uint32_t)__builtin_ctzll(mask) / ns->slices->stride;
}

uint8_t slices_start(const struct nodes *ns, uint64_t mask)
{
    return (uint8_t)((uint32_t)__builtin_ctzll(mask) % ns->slices->stride);
}

bool slices_begin(struct nodes *ns, uint32_t gpu, uint8_t profile, uint8_t start)
{
    struct slices *s = ns->slices;
    if (!mig_index_take_at(index_of(s, gpu), gpu, profile, start))
        return false;
    *begins(s, gpu, start) = (uint8_t)(1 + profile);
    return true;
}

uint32_t slices_end(struct nodes *ns, uint32_t node, uint64_t mask)
{
    struct slices *s = ns->slices;
    uint32_t compute = 0;
    for (uint64_t left = mask; left; left &= left - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left);
        uint32_t gpu = s->first_gpu[node] + bit / s->stride, start = bit % s->stride;
        uint8_t *at = begins(s, gpu, start);
        if (*at == 0)
            continue;
        mig_index_give(index_of(s, gpu), gpu, (uint8_t)(*at - 1), (uint8_t)start);
        compute += s->t->gpu.profiles[*at - 1].compute;
        *at = 0;
    }
    return compute;
}

simtime_ns slices_reconfigure_ns(const struct nodes *ns, const struct part *part)
{
    const struct slices *s = ns->slices;
    uint32_t gpu = slices_gpu(ns, part->node, part->mask);
    return s->kinds[s->kind[gpu]].plan->reconfigure_ns;
}

/* ---- closing and re-laying ---- */

static bool is_open(const struct slices *s, uint32_t gpu)
{
    return !s->shut[s->node_of[gpu]] && !number_set_has(&s->laying, gpu) && s->reserved[gpu] == 0;
}

void slices_close(struct nodes *ns, uint32_t node)
{
    struct slices *s = ns->slices;
    s->shut[node] = 1;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        mig_index_close(index_of(s, gpu), gpu);
}

void slices_open(struct nodes *ns, uint32_t node)
{
    struct slices *s = ns->slices;
    s->shut[node] = 0;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        if (is_open(s, gpu))
            mig_index_open(index_of(s, gpu), gpu);
}

bool slices_clearable(const struct nodes *ns, uint32_t gpu)
{
    const struct slices *s = ns->slices;
    return !s->shut[s->node_of[gpu]] && !number_set_has(&s->laying, gpu);
}

void slices_reserve(struct nodes *ns, uint32_t gpu)
{
    assert(slices_clearable(ns, gpu));
    ns->slices->reserved[gpu]++;
    mig_index_close(index_of(ns->slices, gpu), gpu);
}

void slices_release(struct nodes *ns, uint32_t gpu)
{
    struct slices *s = ns->slices;
    s->reserved[gpu]--;
    if (is_open(s, gpu))
        mig_index_open(index_of(s, gpu), gpu);
}

void slices_lay(struct nodes *ns, uint32_t gpu, uint32_t kind)
{
    struct slices *s = ns->slices;
    assert(is_open(s, gpu) && index_of(s, gpu)->state[gpu] == s->t->empty);
    mig_index_close(index_of(s, gpu), gpu);
    s->kind[gpu] = (uint8_t)kind;
    number_set_add(&s->laying, gpu);
}

void slices_laid(struct nodes *ns, uint32_t gpu)
{
    struct slices *s = ns->slices;
    number_set_remove(&s->laying, gpu);
    if (is_open(s, gpu))
        mig_index_open(index_of(s, gpu), gpu);
}

struct part slices_all(const struct nodes *ns, uint32_t gpu)
{
    const struct slices *s = ns->slices;
    return (struct part){.node = s->node_of[gpu], .mask = bits_from(s, gpu, s->stride, 0)};
}

uint64_t slices_laying(const struct nodes *ns, uint32_t node)
{
    const struct slices *s = ns->slices;
    uint64_t mask = 0;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        mask |= number_set_has(&s->laying, gpu) ? slices_all(ns, gpu).mask : 0;
    return mask;
}

/* ---- counts ---- */

uint32_t slices_free_compute(const struct nodes *ns, uint32_t node)
{
    const struct slices *s = ns->slices;
    uint32_t n = 0;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        n += number_set_has(&s->laying, gpu) ? 0 : mig_free_compute(index_of(s, gpu)->state[gpu]);
    return n;
}

struct slice_count slices_stranded(const struct nodes *ns, uint32_t profiles)
{
    const struct slices *s = ns->slices;
    struct slice_count count = {0, 0};
    for (uint32_t k = 0; profiles && k < s->n_kinds; k++) {
        const struct mig_index *x = &s->kinds[k].index;
        for (uint32_t i = 0; i < s->kinds[k].n_states; i++) {
            mig_state state = s->kinds[k].states[i];
            if (x->n_in[state] > 0 && (x->fits[state] & profiles) == 0) {
                count.memory += x->n_in[state] * mask_count(mig_free_memory(state));
                count.compute += x->n_in[state] * mig_free_compute(state);
            }
        }
    }
    return count;
}

/* Its index has its instances, and it is open in that alone where it is open at all. */
static bool gpu_consistent(const struct nodes *ns, uint32_t gpu)
{
    const struct slices *s = ns->slices;
    const struct mig_tables *t = index_of(s, gpu)->t;
    mig_state state = t->empty;
    uint64_t taken = 0;
    for (uint8_t start = 0; start < s->stride; start++) {
        uint8_t at = *begins(s, gpu, start);
        if (at == 0)
            continue;
        if (!mig_legal(t, state, (uint8_t)(at - 1), start))
            return false;
        state = mig_after(t, state, (uint8_t)(at - 1), start);
        taken |= bits_of(s, gpu, (uint8_t)(at - 1), start);
    }
    for (uint32_t k = 0; k < s->n_kinds; k++) {
        const struct mig_index *x = &s->kinds[k].index;
        bool its = k == s->kind[gpu];
        if (number_set_has(&x->closed, gpu) != !(its && is_open(s, gpu)) ||
            x->state[gpu] != (its ? state : t->empty))
            return false;
    }
    if (number_set_has(&s->laying, gpu) && taken != 0)
        return false;
    return (ns->free_mask[s->node_of[gpu]] & taken) == 0;
}

bool slices_consistent(const struct nodes *ns)
{
    const struct slices *s = ns->slices;
    for (uint32_t gpu = 0; gpu < s->first_gpu[ns->n]; gpu++)
        if (!gpu_consistent(ns, gpu))
            return false;
    return true;
}
