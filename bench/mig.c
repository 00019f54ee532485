/* MIG placement: a try on 10,000 GPUs kept half full, by table. A try is one instance placed or
 * found to fit nowhere, and the removal of an earlier one. Demand: mostly small profiles. */
#include "models/hardware/catalogue.h"
#include "models/hardware/mig_index.h"
#include "sim/rng.h"
#include "timing.h"

enum { GPUS = 10000, RING = 1 << 17, TRIES = 1 << 20, ROUNDS = 7 };

struct placed {
    uint32_t gpu;
    uint8_t profile, start;
};

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
    /* 1g.10gb, +me, 1g.20gb, 2g, 3g, 4g, 7g */
    static const double weights[] = {8, 0.5, 2, 4, 2, 1, 0.5};
    struct bed *b = calloc(1, sizeof *b);
    struct rng rng;
    double times[ROUNDS];
    if (!b)
        fail("calloc");
    arena_init(&b->arena);
    rng_init(&rng, 1, 0, "bench", "mig");
    for (int i = 0; i < TRIES; i++) {
        double at = rng_uniform(&rng) * 18;
        uint8_t p = 0;
        for (; p < 6 && at >= weights[p]; p++)
            at -= weights[p];
        b->demand[i] = p;
    }
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

int main(void)
{
    for (int order = 0; order < MIG_ORDERS; order++) {
        static const enum mig_rule rules[MIG_ORDERS] = {MIG_FIRST, MIG_BEST, MIG_BEST,
                                                        MIG_LEAST_HARM};
        char name[64];
        snprintf(name, sizeof name, "mig_try_%s", mig_order_names[order]);
        timing_print(name, try_ns((enum mig_order)order, rules[order]), "ns");
    }
    return 0;
}
