/* The packer against every way to place instances on up to three GPUs, against worksheets, and on
 * large demands against its own bound. */
#include "draw.h"
#include "models/hardware/catalogue.h"
#include "models/hardware/mig_index.h"
#include "models/hardware/mig_pack.h"
#include "worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { G1, G1_ME, G1_20, G2, G3, G4, G7, N_H100 };

/* ---- every way to place, on its own ----
 *
 * A GPU is eight places and seven compute slices; an instance is put at each start of its list that
 * is free. What one GPU can hold is a set of count vectors; two and three GPUs hold their sums. */

enum { HOLD_GPUS = 3 };
static const int most[6] = {7, 4, 3, 2, 1, 1}; /* 1g.10gb, 1g.20gb, 2g, 3g, 4g, 7g of one GPU */
static const int compute_of[6] = {1, 1, 2, 3, 4, 7}, memory_of[6] = {1, 2, 2, 4, 4, 8};
static const char *const starts_of[6] = {"0123456", "0246", "024", "04", "0", "0"};

struct holds {
    size_t size;   /* of the box of count vectors up to three GPUs */
    uint8_t *gpus; /* fewest GPUs for each; 0: more than three (or no instance at all) */
    int (*one)[6]; /* vectors of one GPU */
    size_t n_one;
};

static size_t index_of(const int n[6])
{
    size_t at = 0;
    for (int p = 0; p < 6; p++)
        at = at * (size_t)(HOLD_GPUS * most[p] + 1) + (size_t)n[p];
    return at;
}

static void put_on_one(struct holds *h, bool taken[8], int compute, int from, int n[6])
{
    const size_t at = index_of(n);
    if (!h->gpus[at]) {
        h->gpus[at] = 1;
        memcpy(h->one[h->n_one++], n, 6 * sizeof *n);
    }
    for (int p = from; p < 6; p++)
        for (const char *s = starts_of[p]; *s && compute >= compute_of[p]; s++) {
            bool free = true;
            for (int i = 0; i < memory_of[p]; i++)
                free = free && !taken[*s - '0' + i];
            if (!free)
                continue;
            for (int i = 0; i < memory_of[p]; i++)
                taken[*s - '0' + i] = true;
            n[p]++;
            put_on_one(h, taken, compute - compute_of[p], p, n);
            n[p]--;
            for (int i = 0; i < memory_of[p]; i++)
                taken[*s - '0' + i] = false;
        }
}

static void add_one_gpu(struct holds *h, const int base[6], uint8_t gpus)
{
    for (size_t i = 0; i < h->n_one; i++) {
        int n[6];
        for (int p = 0; p < 6; p++)
            n[p] = base[p] + h->one[i][p];
        const size_t at = index_of(n);
        if (!h->gpus[at])
            h->gpus[at] = gpus;
    }
}

static void holds_init(struct holds *h)
{
    bool taken[8] = {false};
    int n[6] = {0};
    h->size = 1;
    for (int p = 0; p < 6; p++)
        h->size *= (size_t)(HOLD_GPUS * most[p] + 1);
    h->gpus = calloc(h->size, 1);
    h->one = calloc(128, sizeof *h->one);
    h->n_one = 0;
    put_on_one(h, taken, 7, 0, n);
    cr_assert_eq(h->n_one, 78); /* 77 and the empty one */
    for (size_t i = 0; i < h->n_one; i++)
        add_one_gpu(h, h->one[i], 2);
    for (size_t i = 0; i < h->n_one; i++)
        for (size_t j = 0; j < h->n_one; j++) {
            for (int p = 0; p < 6; p++)
                n[p] = h->one[i][p] + h->one[j][p];
            add_one_gpu(h, n, 3);
        }
}

static void holds_fini(struct holds *h)
{
    free(h->gpus);
    free(h->one);
}

/* ---- the packer ---- */

struct kit {
    struct arena arena;
    struct mig_tables tables;
    struct mig_packer packer;
};

static struct kit *kit_open(const char *gpu)
{
    struct kit *k = malloc(sizeof *k);
    cr_assert_not_null(k);
    arena_init(&k->arena);
    mig_tables_init(&k->tables, &gpu_type_find(&hardware_builtin, gpu)->mig, NULL);
    cr_assert_eq(mig_packer_init(&k->packer, &k->tables, &k->arena), HR_OK);
    return k;
}

static void kit_close(struct kit *k)
{
    arena_fini(&k->arena);
    free(k);
}

/* The plan holds the demand and nothing else, on legal layouts. */
static void check_plan(const struct kit *k, const uint32_t *demand, const struct mig_plan *plan)
{
    uint64_t n[MIG_PROFILES] = {0};
    uint32_t n_gpus = 0;
    for (size_t r = 0; r < plan->n_rows; r++) {
        struct mig_layout again;
        mig_layout_empty(&k->tables, &again);
        n_gpus += plan->rows[r].n_gpus;
        for (uint8_t i = 0; i < plan->rows[r].layout.n; i++) {
            const struct mig_instance at = plan->rows[r].layout.items[i];
            cr_assert(mig_legal(&k->tables, again.left, at.profile, at.start));
            mig_layout_add(&k->tables, &again, at.profile, at.start);
            n[at.profile] += plan->rows[r].n_gpus;
        }
        cr_assert_eq(again.left, plan->rows[r].layout.left);
    }
    for (int p = 0; p < MIG_PROFILES; p++)
        cr_assert_eq(n[p], demand[p]);
    cr_assert_eq(n_gpus, plan->n_gpus);
    cr_assert_leq(plan->bound, plan->n_gpus);
}

static uint32_t pack(struct kit *k, const uint32_t *demand)
{
    struct mig_plan plan;
    cr_assert_eq(mig_pack(&k->packer, demand, &k->arena, &plan), HR_OK);
    check_plan(k, demand, &plan);
    cr_assert_eq(plan.bound, plan.n_gpus);
    return plan.n_gpus;
}

Test(mig_pack, patterns_are_the_largest_multisets)
{
    struct kit *k = kit_open("h100-sxm");
    size_t n_plain = 0;
    for (size_t i = 0; i < k->packer.n_patterns; i++)
        n_plain += k->packer.patterns[i].n[G1_ME] == 0;
    /* 28 of the fact sheet; those with a 1g.10gb stay only where nothing takes +me in its place. */
    cr_expect_geq(k->packer.n_patterns, 28);
    cr_expect_geq(n_plain, 1);
    kit_close(k);
}

Test(mig_pack, no_exhaustive_packing_is_better, .timeout = 300)
{
    static const int profiles[6] = {G1, G1_20, G2, G3, G4, G7};
    struct kit *k = kit_open("h100-sxm");
    struct holds h;
    uint64_t random = 11;
    uint32_t met[HOLD_GPUS + 2] = {0};
    holds_init(&h);
    for (int i = 0; i < 5000; i++) {
        /* Counts up to what three GPUs hold of each, thinned out so that many demands fit. */
        const uint32_t thin = 1 + draw_below(&random, 4);
        uint32_t demand[MIG_PROFILES] = {0};
        int n[6];
        for (int p = 0; p < 6; p++) {
            n[p] = (int)(draw_below(&random, (uint32_t)(HOLD_GPUS * most[p] + 1)) / thin);
            if (draw_below(&random, 2))
                n[p] = 0;
            demand[profiles[p]] = (uint32_t)n[p];
        }
        const uint32_t gpus = pack(k, demand), fewest = h.gpus[index_of(n)];
        const bool none = index_of(n) == 0;
        if (none)
            cr_assert_eq(gpus, 0);
        else if (fewest)
            cr_assert_eq(gpus, fewest, "demand %d %d %d %d %d %d: %u, exhaustive %u", n[0], n[1],
                         n[2], n[3], n[4], n[5], gpus, fewest);
        else
            cr_assert_gt(gpus, (uint32_t)HOLD_GPUS);
        met[gpus > HOLD_GPUS ? HOLD_GPUS + 1 : gpus]++;
    }
    for (int i = 1; i <= HOLD_GPUS + 1; i++)
        cr_expect_gt(met[i], 300u, "%d GPUs met only %u times", i, met[i]);
    holds_fini(&h);
    kit_close(k);
}

/* The rounded relaxation meets its bound, whatever the demand: an optimum is proven. */
Test(mig_pack, large_demands_are_proven)
{
    static const char *const gpus[] = {"h100-sxm", "a30"};
    for (size_t g = 0; g < 2; g++) {
        struct kit *k = kit_open(gpus[g]);
        uint64_t random = 3;
        for (int i = 0; i < 300; i++) {
            uint32_t demand[MIG_PROFILES] = {0};
            for (uint8_t p = 0; p < k->tables.gpu.n_profiles; p++)
                demand[p] = draw_below(&random, 2) ? draw_below(&random, i % 2 ? 40 : 3000) : 0;
            pack(k, demand);
        }
        kit_close(k);
    }
}

/* A GPU can hold one instance with media engines, so each needs a GPU of its own. */
Test(mig_pack, media_engines)
{
    struct kit *k = kit_open("h100-sxm");
    cr_expect_eq(pack(k, (uint32_t[MIG_PROFILES]){[G1_ME] = 5}), 5);
    cr_expect_eq(pack(k, (uint32_t[MIG_PROFILES]){[G1] = 30, [G1_ME] = 5}), 5);
    cr_expect_eq(pack(k, (uint32_t[MIG_PROFILES]){[G1] = 31, [G1_ME] = 5}), 6);
    cr_expect_eq(pack(k, (uint32_t[MIG_PROFILES]){0}), 0);
    kit_close(k);
}

Test(mig_pack, worksheet)
{
    static const char *const names[N_H100] = {"n_1g10", NULL,     "n_1g20", "n_2g20",
                                              "n_3g40", "n_4g40", "n_7g80"};
    struct kit *k = kit_open("h100-sxm");
    for (int c = 0; c < WORKED_CASES; c++) {
        uint32_t demand[MIG_PROFILES] = {0};
        double compute = 0, memory = 0;
        for (int p = 0; p < N_H100; p++) {
            demand[p] = names[p] ? (uint32_t)worked_in("mig-packing", c, names[p]) : 0;
            compute += (double)demand[p] * k->tables.gpu.profiles[p].compute;
            memory += (double)demand[p] * k->tables.gpu.profiles[p].memory;
        }
        const double best = pack(k, demand), unmixed = mig_pack_unmixed(&k->tables.gpu, demand);
        worked_check("mig-packing", c, "compute_slices", compute);
        worked_check("mig-packing", c, "memory_slices", memory);
        worked_check("mig-packing", c, "bound", mig_pack_slice_bound(&k->tables.gpu, demand));
        worked_check("mig-packing", c, "optimal_gpus", best);
        worked_check("mig-packing", c, "one_profile_per_gpu", unmixed);
        worked_check("mig-packing", c, "mixing_saves", unmixed - best);
        worked_check("mig-packing", c, "wasted_compute", best > 0 ? 1 - compute / (7 * best) : 0);
        worked_check("mig-packing", c, "wasted_memory", best > 0 ? 1 - memory / (8 * best) : 0);
    }
    kit_close(k);
}

/* Every online policy needs at least the optimum, and one that fills GPUs less than twice it. */
Test(mig_pack, online_is_no_better)
{
    struct kit *k = kit_open("h100-sxm");
    uint64_t random = 17;
    for (int i = 0; i < 200; i++) {
        uint32_t demand[MIG_PROFILES] = {0};
        uint8_t items[64];
        for (int j = 0; j < 64; j++) {
            items[j] = (uint8_t)draw_below(&random, N_H100);
            demand[items[j]]++;
        }
        const uint32_t best = pack(k, demand);
        for (int order = 0; order < MIG_ORDERS; order++) {
            struct mig_index x;
            uint32_t gpu;
            uint8_t start;
            cr_assert_eq(
                mig_index_init(&x, &k->tables, 64, (enum mig_order)order, MIG_BEST, &k->arena),
                HR_OK);
            for (int j = 0; j < 64; j++)
                cr_assert(mig_index_take(&x, items[j], &gpu, &start));
            const uint64_t used = 64 - mig_index_sums(&x).empty_gpus;
            cr_assert_geq(used, best);
            if (order != MIG_ORDER_WORST)
                cr_assert_lt(used, 2 * best);
        }
        arena_fini(&k->arena);
        arena_init(&k->arena);
        cr_assert_eq(mig_packer_init(&k->packer, &k->tables, &k->arena), HR_OK);
    }
    kit_close(k);
}
