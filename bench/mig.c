/* MIG placement: a try on 10,000 GPUs kept half full, by table. A try is one instance placed or
 * found to fit nowhere, and the removal of an earlier one. Demand: mostly small profiles. */
#include "models/hardware/catalogue.h"
#include "models/hardware/mig_index.h"
#include "models/hardware/mig_pack.h"
#include "sim/rng.h"
#include "timing.h"

enum { GPUS = 10000, RING = 1 << 17, TRIES = 1 << 20, ROUNDS = 7 };

/* 1g.10gb, +me, 1g.20gb, 2g, 3g, 4g, 7g */
static const double weights[] = {8, 0.5, 2, 4, 2, 1, 0.5};

struct placed {
    uint32_t gpu;
    uint8_t profile, start;
};

static uint8_t draw_profile(struct rng *rng)
{
    double at = rng_uniform(rng) * 18;
    uint8_t p = 0;
    for (; p < 6 && at >= weights[p]; p++)
        at -= weights[p];
    return p;
}

struct bed {
    struct arena arena;
    struct mig_tables tables;
    struct mig_index index;
    struct placed ring[RING]; /* instances, the oldest at from */
    uint32_t from, to;
    uint32_t n_compute; /* slices held */
    uint8_t demand[TRIES];
};

static void fail(const char *what)
{
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static void give(struct bed *b)
{
    const struct placed *p = &b->ring[b->from++ % RING];
    mig_index_give(&b->index, p->gpu, p->profile, p->start);
    b->n_compute -= b->tables.gpu.profiles[p->profile].compute;
}

static void take(struct bed *b, uint8_t profile)
{
    struct placed *p = &b->ring[b->to % RING];
    if (!mig_index_take(&b->index, profile, &p->gpu, &p->start))
        return;
    p->profile = profile;
    b->to++;
    b->n_compute += b->tables.gpu.profiles[profile].compute;
}

/* Nanoseconds of CPU time a try. */
static double round_of(struct bed *b)
{
    const double start = timing_cpu_s();
    for (int i = 0; i < TRIES; i++) {
        take(b, b->demand[i]);
        while (b->n_compute > GPUS * 7 / 2)
            give(b);
    }
    return (timing_cpu_s() - start) * 1e9 / TRIES;
}

static double try_ns(enum mig_order order, enum mig_rule rule)
{
    struct bed *b = calloc(1, sizeof *b);
    struct rng rng;
    double times[ROUNDS];
    if (!b)
        fail("calloc");
    arena_init(&b->arena);
    rng_init(&rng, 1, 0, "bench", "mig");
    for (int i = 0; i < TRIES; i++)
        b->demand[i] = draw_profile(&rng);
    mig_tables_init(&b->tables, &gpu_types[0].mig, weights);
    if (mig_index_init(&b->index, &b->tables, GPUS, order, rule, &b->arena) != HR_OK)
        fail("mig_index_init");
    round_of(b); /* fills it */
    for (int i = 0; i < ROUNDS; i++)
        times[i] = round_of(b);
    arena_fini(&b->arena);
    free(b);
    return timing_median(times, ROUNDS);
}

static const struct policy {
    const char *name;
    enum mig_order order;
    enum mig_rule rule;
} policies[] = {{"first", MIG_ORDER_FIRST, MIG_FIRST},
                {"first_best", MIG_ORDER_FIRST, MIG_BEST},
                {"best", MIG_ORDER_BEST, MIG_BEST},
                {"least_harm", MIG_ORDER_LEAST_HARM, MIG_LEAST_HARM}};

enum { POLICIES = sizeof policies / sizeof *policies, MOST_ITEMS = 400 };

/* GPUs that a policy uses for the items in their order. */
static uint32_t online(const struct mig_tables *t, const struct policy *policy,
                       const uint8_t *items, uint32_t n)
{
    struct arena arena;
    struct mig_index x;
    uint32_t gpu;
    uint8_t start;
    arena_init(&arena);
    if (mig_index_init(&x, t, n, policy->order, policy->rule, &arena) != HR_OK)
        fail("mig_index_init");
    for (uint32_t i = 0; i < n; i++)
        if (!mig_index_take(&x, items[i], &gpu, &start))
            fail("mig_index_take");
    const uint32_t used = n - (uint32_t)mig_index_sums(&x).empty_gpus;
    arena_fini(&arena);
    return used;
}

/* Mean GPUs beyond the fewest, per cent, over demands of n items. */
static void gaps(uint32_t n, int demands)
{
    struct mig_tables *t = malloc(sizeof *t);
    struct arena arena;
    struct mig_packer packer;
    struct rng rng;
    uint64_t fewest = 0, used[POLICIES] = {0};
    double packing_s = 0;
    char name[64];
    if (!t)
        fail("malloc");
    arena_init(&arena);
    rng_init(&rng, 1, 0, "bench", "mig-gap");
    mig_tables_init(t, &gpu_types[0].mig, weights);
    if (mig_packer_init(&packer, t, &arena) != HR_OK)
        fail("mig_packer_init");
    for (int i = 0; i < demands; i++) {
        uint32_t demand[MIG_PROFILES] = {0};
        uint8_t items[MOST_ITEMS];
        struct mig_plan plan;
        for (uint32_t j = 0; j < n; j++)
            demand[items[j] = draw_profile(&rng)]++;
        const double start = timing_cpu_s();
        if (mig_pack(&packer, demand, &arena, &plan) != HR_OK || plan.bound != plan.n_gpus)
            fail("mig_pack");
        packing_s += timing_cpu_s() - start;
        fewest += plan.n_gpus;
        for (int k = 0; k < POLICIES; k++)
            used[k] += online(t, &policies[k], items, n);
    }
    for (int k = 0; k < POLICIES; k++) {
        snprintf(name, sizeof name, "mig_gap_%u_%s", n, policies[k].name);
        timing_print(name, 100 * ((double)used[k] / (double)fewest - 1), "%");
    }
    snprintf(name, sizeof name, "mig_pack_%u", n);
    timing_print(name, packing_s / demands * 1e6, "us");
    arena_fini(&arena);
    free(t);
}

int main(void)
{
    for (int order = 0; order < MIG_ORDERS; order++) {
        static const enum mig_rule rules[MIG_ORDERS] = {MIG_FIRST, MIG_BEST, MIG_BEST,
                                                        MIG_LEAST_HARM};
        char name[64];
        snprintf(name, sizeof name, "mig_try_%s", mig_order_names[order]);
        timing_print(name, try_ns((enum mig_order)order, rules[order]), "ns");
    }
    gaps(10, 2000);
    gaps(MOST_ITEMS, 100);
    return 0;
}
