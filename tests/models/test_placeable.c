/* What could start over time: a worked case, and every window of random runs against the ledger. */
#include "models/run.h"
#include "plan_kit.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <math.h>

/* Two nodes of 8, windows of 20 s from 10 s on. 6 GPUs are taken at 15 s, a whole node at 40 s. */
Test(placeable, a_worked_case)
{
    const uint32_t groups[] = {1, 1};
    const struct rig_plan two = {
        .nodes = 2, .gpus_per_node = 8, .fabric = {.leaf_nodes = groups, .n_leaves = 2}};
    struct rig r;
    rig_init(&r, &two);
    struct toy *t = rig_add(&r, &toy_low);
    cr_assert_eq(fleet_placeable_start(r.fleet, 10 * SIM_S, 60 * SIM_S, 20 * SIM_S), HR_OK);
    rig_run(&r, 15 * SIM_S);
    toy_acquire(t, SHAPE_ONE_NODE, 6, GPU_TRAINING, 0);
    fleet_want_pass(r.fleet);
    rig_run(&r, 40 * SIM_S);
    toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, 1);
    fleet_want_pass(r.fleet);
    rig_run(&r, 60 * SIM_S);
    size_t n;
    const struct placeable_window *w = fleet_placeable(r.fleet, 60 * SIM_S, &n);
    const struct {
        uint64_t gpu_s[PLACEABLES];
        uint32_t least[PLACEABLES];
    } want[] = {
        {{5 * 16 + 15 * 10, 20 * 8, 5 * 16 + 15 * 8, 20 * 8, 5 * 16 + 15 * 8}, {10, 8, 8, 8, 8}},
        {{10 * 10 + 10 * 2, 10 * 8 + 10 * 2, 10 * 8, 10 * 8, 10 * 8}, {2, 2, 0, 0, 0}},
        {{10 * 2, 10 * 2, 0, 0, 0}, {2, 2, 0, 0, 0}}, /* the last window is cut by the end */
    };
    cr_assert_eq(n, 3);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < PLACEABLES; k++)
            cr_assert(w[i].gpu_ns[k] == want[i].gpu_s[k] * SIM_S &&
                          w[i].least[k] == want[i].least[k],
                      "window %zu, %d: %lu, %u", i, k, w[i].gpu_ns[k] / SIM_S, w[i].least[k]);
    rig_fini(&r);
}

/* Two spines of a leaf group and of two: the largest gang below one of them. */
Test(placeable, below_one_spine)
{
    const uint32_t groups[] = {1, 1, 1}, spines[] = {1, 2};
    const struct rig_plan three = {
        .nodes = 3,
        .gpus_per_node = 8,
        .fabric = {.leaf_nodes = groups, .n_leaves = 3, .spine_leaves = spines, .n_spines = 2}};
    struct rig r;
    rig_init(&r, &three);
    struct toy *t = rig_add(&r, &toy_low);
    cr_assert_eq(fleet_placeable_start(r.fleet, 0, 20 * SIM_S, 20 * SIM_S), HR_OK);
    rig_run(&r, 5 * SIM_S);
    toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, 1);
    fleet_want_pass(r.fleet);
    rig_run(&r, 20 * SIM_S);
    size_t n;
    const struct placeable_window *w = fleet_placeable(r.fleet, 20 * SIM_S, &n);
    cr_assert(n == 1 && w->least[PLACEABLE_SPINE] == 8);
    cr_assert_eq(w->gpu_ns[PLACEABLE_SPINE], (5 * 16 + 15 * 8) * SIM_S);
    rig_fini(&r);
}

/* Two nodes of 8: 4 of 12 free GPUs are on a node that is free in part for a quarter of the time,
 * half of 8 for the rest; nothing is free in the last window. */
Test(placeable, fragmentation)
{
    struct placeable_window w[2] = {0}, more[2] = {0};
    struct pool_results pools[2] = {{.placeable = w}, {.placeable = more}};
    const struct run_results r = {.pools = pools, .n_pools = 2, .n_timeline = 2};
    w[0].gpu_ns[PLACEABLE_FREE] = 12 * 5 + 8 * 15;
    w[0].gpu_ns[PLACEABLE_WHOLE] = 8 * 5 + 4 * 15;
    cr_assert_float_eq(results_fragmented(&r, 0), 80.0 / 180, 1e-15);
    more[0].gpu_ns[PLACEABLE_FREE] = more[0].gpu_ns[PLACEABLE_WHOLE] = 20;
    cr_assert_float_eq(results_fragmented(&r, 0), 80.0 / 200, 1e-15);
    cr_assert(isnan(results_fragmented(&r, 1)));
}

/* In every window of a run free GPU-time is that of the ledger, and a block is no more than what is
 * free, whole nodes neither. */
Test(placeable, free_time_is_that_of_the_ledger)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct arena arena;
        arena_init(&arena);
        struct run_results r;
        cr_assert_eq(run_plan(kit_random(&arena, seed), 0, NULL, &r), HR_OK);
        size_t accounts = (size_t)r.n_owners * GPU_STATES;
        for (size_t w = 0; w < r.n_timeline; w++) {
            const struct placeable_window *p = &r.pools[0].placeable[w];
            const uint64_t *a = &r.pools[0].timeline[w * accounts];
            cr_assert_eq(p->gpu_ns[PLACEABLE_FREE], a[GPU_FREE] + a[GPU_STRANDED],
                         "seed %lu, window %zu", seed, w);
            cr_assert(p->gpu_ns[PLACEABLE_BLOCK] <= p->gpu_ns[PLACEABLE_FREE] &&
                      p->gpu_ns[PLACEABLE_WHOLE] <= p->gpu_ns[PLACEABLE_FREE] &&
                      p->least[PLACEABLE_BLOCK] <= p->least[PLACEABLE_FREE]);
            const double fragmented = results_fragmented(&r, w);
            cr_assert(isnan(fragmented) ? p->gpu_ns[PLACEABLE_FREE] == 0
                                        : fragmented >= 0 && fragmented <= 1);
        }
        results_fini(&r);
        arena_fini(&arena);
    }
}
