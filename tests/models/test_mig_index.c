/* The index over many GPUs against a scan of all of them, on random takes, gives, closures. */
#include "draw.h"
#include "models/hardware/catalogue.h"
#include "models/hardware/mig_index.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 70, STEPS = 6000, HELD = 8 * GPUS };

struct held {
    uint32_t gpu;
    uint8_t profile, start;
};

/* The reference keeps only what is on each GPU. */
struct scan {
    const struct mig_tables *t;
    enum mig_order order;
    enum mig_rule rule;
    mig_state state[GPUS];
    bool closed[GPUS];
};

static int slices_free(mig_state s)
{
    int n = 0;
    for (int i = 0; i < 8; i++)
        n += s >> i & 1;
    return n;
}

/* Whether GPU a is preferred over b, where the profile fits both; equals keep the lower number. */
static bool preferred(const struct scan *x, uint8_t p, uint32_t a, uint32_t b)
{
    const mig_state s[2] = {x->state[a], x->state[b]};
    float harm[2];
    for (int i = 0; i < 2; i++)
        harm[i] = x->t->worth[s[i]] -
                  x->t->worth[mig_after(x->t, s[i], p, x->t->choice[x->rule][s[i]][p])];
    const int memory = slices_free(s[0]) - slices_free(s[1]);
    const int compute = (int)mig_free_compute(s[0]) - (int)mig_free_compute(s[1]);
    const int fullness = memory ? memory : compute ? compute : s[0] - s[1];
    switch (x->order) {
    case MIG_ORDER_WORST:
        return fullness > 0;
    case MIG_ORDER_LEAST_HARM:
        if (s[0] == x->t->empty || s[1] == x->t->empty)
            return s[0] != x->t->empty;
        return harm[0] != harm[1] ? harm[0] < harm[1] : fullness < 0;
    case MIG_ORDER_BEST:
        return fullness < 0;
    default:
        return false;
    }
}

static bool scan_find(const struct scan *x, uint8_t p, uint32_t *gpu)
{
    bool found = false;
    for (uint32_t g = 0; g < GPUS; g++)
        if (!x->closed[g] && x->t->starts[x->state[g]][p] && (!found || preferred(x, p, g, *gpu))) {
            *gpu = g;
            found = true;
        }
    return found;
}

static void check_sums(const struct mig_index *x, const struct scan *s)
{
    const struct mig_sums sums = mig_index_sums(x);
    struct mig_sums slow = {0};
    for (uint32_t g = 0; g < GPUS; g++) {
        if (s->closed[g])
            continue;
        slow.gpus++;
        slow.empty_gpus += s->state[g] == s->t->empty;
        slow.free_compute += mig_free_compute(s->state[g]);
        slow.free_memory += (unsigned)slices_free(s->state[g]);
        slow.stranded_compute += mig_stranded_compute(s->t, s->state[g]);
        slow.stranded_memory += mig_stranded_memory(s->t, s->state[g]);
        for (uint8_t p = 0; p < s->t->gpu.n_profiles; p++)
            slow.fits[p] += s->t->fits[s->state[g]][p];
    }
    cr_assert(memcmp(&sums, &slow, sizeof sums) == 0);
}

struct play {
    struct mig_index index;
    struct scan scan;
    struct held held[HELD];
    size_t n;
    uint64_t random;
};

static void play_take(struct play *w)
{
    const uint8_t p = (uint8_t)draw_below(&w->random, w->scan.t->gpu.n_profiles);
    uint32_t gpu = 0, expected = 0;
    uint8_t start = 0;
    const bool found = mig_index_take(&w->index, p, &gpu, &start);
    cr_assert_eq(found, scan_find(&w->scan, p, &expected));
    if (!found)
        return;
    cr_assert_eq(gpu, expected);
    cr_assert_eq(start, w->scan.t->choice[w->scan.rule][w->scan.state[gpu]][p]);
    w->scan.state[gpu] = mig_after(w->scan.t, w->scan.state[gpu], p, start);
    cr_assert_eq(w->scan.state[gpu], w->index.state[gpu]);
    cr_assert_lt(w->n, (size_t)HELD);
    w->held[w->n++] = (struct held){gpu, p, start};
}

static void play_give(struct play *w)
{
    if (w->n == 0)
        return;
    const size_t i = draw_below(&w->random, (uint32_t)w->n);
    const struct held h = w->held[i];
    w->held[i] = w->held[--w->n];
    mig_index_give(&w->index, h.gpu, h.profile, h.start);
    w->scan.state[h.gpu] += mig_delta(w->scan.t, h.profile, h.start);
}

static void play_close_or_open(struct play *w)
{
    const uint32_t gpu = draw_below(&w->random, GPUS);
    w->scan.closed[gpu] = draw_below(&w->random, 3) == 0;
    if (w->scan.closed[gpu])
        mig_index_close(&w->index, gpu);
    else
        mig_index_open(&w->index, gpu);
}

static void play(const struct mig_tables *t, enum mig_order order, enum mig_rule rule)
{
    struct play *w = calloc(1, sizeof *w);
    struct arena arena;
    cr_assert_not_null(w);
    arena_init(&arena);
    cr_assert_eq(mig_index_init(&w->index, t, GPUS, order, rule, &arena), HR_OK);
    w->scan = (struct scan){.t = t, .order = order, .rule = rule};
    w->random = 1 + (uint64_t)order * MIG_RULES + rule;
    for (uint32_t g = 0; g < GPUS; g++)
        w->scan.state[g] = t->empty;
    for (int i = 0; i < STEPS; i++) {
        /* Ebb and flow, so that both empty and full fleets are met. */
        const uint32_t takes = i / 1000 % 2 ? 3 : 6;
        const uint32_t what = draw_below(&w->random, 10);
        if (what < takes)
            play_take(w);
        else if (what < 9)
            play_give(w);
        else
            play_close_or_open(w);
        if (i % 50 == 0)
            check_sums(&w->index, &w->scan);
    }
    arena_fini(&arena);
    free(w);
}

static void play_all(const char *gpu, const double *mix)
{
    struct mig_tables *t = malloc(sizeof *t);
    cr_assert_not_null(t);
    mig_tables_init(t, &gpu_type_find(&hardware_builtin, gpu)->mig, mix);
    for (int order = 0; order < MIG_ORDERS; order++)
        for (int rule = 0; rule < MIG_RULES; rule++)
            play(t, (enum mig_order)order, (enum mig_rule)rule);
    free(t);
}

Test(mig_index, places_as_a_scan_does)
{
    play_all("h100-sxm", NULL);
}

Test(mig_index, places_as_a_scan_does_with_a_mix)
{
    const double mix[] = {5, 0, 1, 2, 3, 0, 0.5};
    play_all("h200", mix);
}

Test(mig_index, places_as_a_scan_does_on_four_slices)
{
    play_all("a30", NULL);
}

Test(mig_index, on_one_gpu)
{
    enum { G1 = 0, G3 = 4, G7 = 6 };
    struct mig_tables *t = malloc(sizeof *t);
    struct mig_index x;
    struct arena arena;
    uint32_t gpu;
    uint8_t start;
    arena_init(&arena);
    mig_tables_init(t, &gpu_types[0].mig, NULL);
    cr_assert_eq(mig_index_init(&x, t, 3, MIG_ORDER_BEST, MIG_BEST, &arena), HR_OK);
    cr_expect(mig_index_take_on(&x, 2, G3, &start) && start == 4);
    cr_expect(mig_index_take_at(&x, 2, G3, 0) && !mig_index_take_at(&x, 2, G3, 0));
    cr_expect(!mig_index_take_on(&x, 2, G1, &start));
    cr_expect(mig_index_find(&x, G7, &gpu, &start) && gpu == 0 && start == 0);
    /* A closed GPU is passed over, but by number it takes. */
    mig_index_close(&x, 0);
    mig_index_close(&x, 0);
    cr_expect(mig_index_find(&x, G7, &gpu, &start) && gpu == 1);
    cr_expect(mig_index_take_on(&x, 0, G7, &start));
    mig_index_give(&x, 0, G7, start);
    mig_index_open(&x, 0);
    cr_expect(mig_index_take(&x, G7, &gpu, &start) && gpu == 0);
    cr_expect(mig_index_take(&x, G7, &gpu, &start) && gpu == 1);
    cr_expect(!mig_index_take(&x, G7, &gpu, &start));
    mig_index_give(&x, 2, G3, 4);
    cr_expect(mig_index_take(&x, G3, &gpu, &start) && gpu == 2 && start == 4);
    arena_fini(&arena);
    free(t);
}
