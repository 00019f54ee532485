/* Leases that collect GPUs: worked cases, and the wait of a large gang among small jobs. */
#include "sim/dist.h"
#include "sim/rng.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct rig_plan two_nodes = {
    .nodes = 2, .gpus_per_node = 8, .grace_ns = 30 * SIM_S, .teardown_s = 6, .scrub_s = 4};

static lease_id collect(struct toy *t, enum shape_kind kind, uint32_t gpus)
{
    const struct ask ask = {.shape = {gpus, kind}};
    lease_id l = LEASE_NONE;
    cr_assert_eq(fleet_collect(t->rig->fleet, t->number, &ask, &l), GRANT_OK);
    return l;
}

static enum grant try_collect(struct toy *t, enum shape_kind kind, uint32_t gpus)
{
    const struct ask ask = {.shape = {gpus, kind}};
    lease_id l = LEASE_NONE;
    return fleet_collect(t->rig->fleet, t->number, &ask, &l);
}

/* Free GPUs are kept at once, those that come are kept before a start can have them, and the lease
 * is granted when the last one is there; it is charged with what it has. */
Test(collect, keeps_what_comes_until_it_is_whole)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &toy_low), *large = rig_add(&r, &toy_low);
    lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_TRAINING, 1);
    lease_id b = toy_acquire(t, SHAPE_ONE_NODE, 2, GPU_TRAINING, 2);
    lease_id l = collect(large, SHAPE_PREFER_WHOLE, 12);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 2);
    cr_expect_eq(fleet_usage(r.fleet, large->number), 2);
    cr_expect_eq(toy_try_acquire(t, SHAPE_ANY, 1), GRANT_ROOM);
    fleet_stop_at(r.fleet, a, 0, 0);
    rig_run(&r, 10 * SIM_S);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 10);
    cr_expect_eq(large->n_granted, 0);
    fleet_stop_at(r.fleet, b, 20 * SIM_S, 0);
    rig_run(&r, 30 * SIM_S);
    cr_assert(large->n_granted == 1 && large->granted[0].lease == l);
    cr_expect_eq(large->granted[0].at, 30 * SIM_S);
    cr_expect_eq(fleet_usage(r.fleet, large->number), 12);
    cr_expect_eq(fleet_lease_gpus(r.fleet, l), 12);
    cr_expect_null(fleet_lease_reclaim(r.fleet, l));
    rig_fini(&r);
}

/* What is free already is granted in the same instant. */
Test(collect, is_whole_at_once_where_enough_is_free)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &toy_low);
    collect(t, SHAPE_PREFER_WHOLE, 16);
    rig_run(&r, 0);
    cr_expect_eq(t->n_granted, 1);
    cr_expect_eq(try_collect(t, SHAPE_ONE_NODE, 9), GRANT_NEVER);
    rig_fini(&r);
}

/* A shape within one node keeps the node with most GPUs free or coming, and changes to another
 * that gets ahead of it; the rest is for others. */
Test(collect, one_node_is_the_one_with_most_and_may_change)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &toy_low), *large = rig_add(&r, &toy_low);
    lease_id first = toy_acquire(t, SHAPE_ONE_NODE, 6, GPU_TRAINING, 0);
    toy_acquire(t, SHAPE_ONE_NODE, 5, GPU_TRAINING, 1);
    collect(large, SHAPE_ONE_NODE, 8);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 3); /* of the second node */
    cr_expect_eq(fleet_free_gpus(r.fleet), 2);
    fleet_stop_at(r.fleet, first, 0, 0);
    rig_run(&r, 0); /* the first has 2 free and 6 coming now */
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 2);
    cr_expect_eq(fleet_free_gpus(r.fleet), 3);
    rig_run(&r, 10 * SIM_S);
    cr_expect_eq(large->n_granted, 1);
    cr_expect_eq(fleet_free_gpus(r.fleet), 3);
    rig_fini(&r);
}

/* The older of two keeps everything until it is whole: they never hold each other's GPUs. A younger
 * one that finds all it needs outside starts at once. */
Test(collect, the_oldest_is_served_first)
{
    const struct rig_plan four = {.nodes = 4, .gpus_per_node = 1};
    struct rig r;
    rig_init(&r, &four);
    struct toy *t = rig_add(&r, &toy_low), *a = rig_add(&r, &toy_low), *b = rig_add(&r, &toy_low);
    lease_id small[4];
    for (int i = 0; i < 4; i++)
        small[i] = toy_acquire(t, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
    collect(a, SHAPE_PREFER_WHOLE, 3);
    collect(b, SHAPE_PREFER_WHOLE, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(a->n_granted, 0);
        fleet_stop_at(r.fleet, small[i], i, 0);
        rig_run(&r, i);
        cr_expect_eq(fleet_usage(r.fleet, a->number), i + 1);
        cr_expect_eq(fleet_usage(r.fleet, b->number), 0);
    }
    cr_assert_eq(a->n_granted, 1);
    fleet_stop_at(r.fleet, small[3], 3, 0);
    rig_run(&r, 3);
    cr_expect_eq(fleet_usage(r.fleet, b->number), 1);
    fleet_stop_at(r.fleet, a->granted[0].lease, 4, 0);
    rig_run(&r, 4);
    cr_expect_eq(b->n_granted, 1);
    collect(a, SHAPE_PREFER_WHOLE, 2);
    collect(t, SHAPE_PREFER_WHOLE, 1); /* the free one is kept by the older */
    rig_run(&r, 5);
    cr_expect_eq(t->n_granted, 0);
    rig_fini(&r);
}

/* Nobody's unlent floor is kept from him; the ceiling holds for the whole lease. */
Test(collect, quota_bounds_what_it_keeps)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *owner = rig_add(&r, &(struct quota){.floor_gpus = 4, .ceiling_gpus = 4});
    struct toy *t = rig_add(&r, &(struct quota){.ceiling_gpus = 12}),
               *other = rig_add(&r, &toy_low);
    lease_id a = toy_acquire(other, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    cr_expect_eq(try_collect(t, SHAPE_ANY, 13), GRANT_NEVER);
    lease_id l = collect(t, SHAPE_ANY, 10);
    cr_expect_eq(rig_shares(&r, t, GPU_HELD_IDLE), 4);
    cr_expect_eq(toy_try_acquire(t, SHAPE_ANY, 3), GRANT_QUOTA); /* promised to the lease */
    toy_acquire(owner, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    fleet_stop_at(r.fleet, a, 0, 0);
    rig_run(&r, SIM_MIN);
    cr_assert(t->n_granted == 1 && t->granted[0].lease == l);
    rig_fini(&r);
}

/* A start that may evict takes what is kept for a borrower before it evicts; the rest is kept
 * again. Within its own floor nothing is taken. */
Test(collect, gives_way_to_a_reclaim)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *low = rig_add(&r, &toy_low), *high = rig_add(&r, &toy_high);
    toy_acquire(low, SHAPE_ONE_NODE, 2, GPU_TRAINING, 0);
    lease_id l = collect(low, SHAPE_PREFER_WHOLE, 16);
    cr_expect_eq(fleet_usage(r.fleet, low->number), 16);
    toy_reclaim(high, SHAPE_ONE_NODE, 5);
    rig_run(&r, 0);
    cr_expect_eq(high->n_granted, 1);
    cr_expect_eq(low->n_evicted, 0);
    cr_expect_eq(rig_shares(&r, low, GPU_HELD_IDLE), 9);
    cr_expect_eq(toy_try_reclaim(high, SHAPE_ONE_NODE, 9), GRANT_NEVER);
    cr_expect_eq(rig_shares(&r, low, GPU_HELD_IDLE), 9);
    fleet_abandon(r.fleet, l);
    cr_expect_eq(fleet_free_gpus(r.fleet), 9);
    cr_expect_eq(fleet_usage(r.fleet, low->number), 2);
    rig_fini(&r);
}

/* A node that closes is left, and when too few are open the lease is withdrawn. */
Test(collect, leaves_nodes_that_close)
{
    const struct rig_plan three = {.nodes = 3, .gpus_per_node = 8};
    struct rig r;
    rig_init(&r, &three);
    struct toy *t = rig_add(&r, &toy_low), *large = rig_add(&r, &toy_low);
    toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    lease_id b = toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    lease_id l = collect(large, SHAPE_PREFER_WHOLE, 16);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 12);
    fleet_node_close(r.fleet, 2, GPU_MAINTENANCE);
    cr_expect_eq(rig_shares(&r, NULL, GPU_MAINTENANCE), 8);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 4);
    fleet_stop_at(r.fleet, b, 0, 0);
    rig_run(&r, SIM_S);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 12);
    fleet_node_fail(r.fleet, 1, GPU_FAILED);
    cr_assert(large->n_withdrawn == 1 && large->withdrawn[0].lease == l);
    cr_expect_eq(fleet_free_gpus(r.fleet), 4);
    cr_expect_eq(try_collect(large, SHAPE_PREFER_WHOLE, 16), GRANT_ROOM);
    rig_fini(&r);
}

/* ---- a large job among small ones ---- */

enum { SLOTS = 16, LARGE = 8 };

/* An endless backlog of one-node jobs, exponential with a mean of two hours. */
struct backlog {
    struct rng rng;
    struct toy *toy, *large;
    timer_id ends[SLOTS];
    lease_id running[SLOTS]; /* or LEASE_NONE */
    bool reserves;
};

static void job_end(void *ctx, uint32_t slot)
{
    struct backlog *b = ctx;
    struct fleet *f = b->toy->rig->fleet;
    fleet_stop_at(f, b->running[slot], engine_now(b->toy->rig->engine), 0);
    b->running[slot] = LEASE_NONE;
}

static void start_jobs(struct toy *t, simtime_ns now)
{
    struct backlog *b = t->context;
    static const struct dist two_hours = {.kind = DIST_EXPONENTIAL, .mean_s = 7200};
    const struct ask ask = {.shape = {1, SHAPE_ONE_NODE}};
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (b->running[i] != LEASE_NONE)
            continue;
        if (fleet_acquire(t->rig->fleet, t->number, &ask, GPU_TRAINING, &b->running[i]) != GRANT_OK)
            return;
        engine_schedule(t->rig->engine, b->ends[i], now + dist_draw(&two_hours, &b->rng));
    }
}

/* Its turn is first in each pass. */
static void start_large(struct toy *t, simtime_ns now)
{
    (void)now;
    struct backlog *b = t->context;
    if (!b->reserves && t->n_turns > 1) /* the first fills the nodes */
        cr_expect_eq(toy_try_acquire(t, SHAPE_PREFER_WHOLE, LARGE), GRANT_ROOM);
}

static void backlog_open(struct backlog *b, struct rig *r, uint32_t replication)
{
    const struct rig_plan plan = {.nodes = SLOTS, .gpus_per_node = 1};
    rig_init(r, &plan);
    rng_init(&b->rng, 11, replication, "backlog", "service");
    b->large = rig_add(r, &(struct quota){.ceiling_gpus = SLOTS, .priority = 1});
    b->toy = rig_add(r, &toy_low);
    b->toy->context = b->large->context = b;
    b->toy->turn = start_jobs;
    b->large->turn = start_large;
    for (uint32_t i = 0; i < SLOTS; i++) {
        b->running[i] = LEASE_NONE;
        cr_assert_eq(engine_timer_new(r->engine, EVENT_COMPLETE, job_end, b, i, &b->ends[i]),
                     HR_OK);
    }
    fleet_want_pass(r->fleet);
    rig_run(r, 0);
    cr_assert_eq(fleet_free_gpus(r->fleet), 0);
}

/* Without a reservation the large job never starts, though it is asked first: at every end there is
 * one node free. */
Test(collect, without_a_reservation_a_large_job_never_starts)
{
    struct backlog b = {.reserves = false};
    struct rig r;
    backlog_open(&b, &r, 0);
    rig_run(&r, SIM_DAY);
    cr_expect_gt(b.large->n_turns, 100);
    cr_expect_eq(fleet_usage(r.fleet, b.large->number), 0);
    rig_fini(&r);
}

/* With one it waits for the 8th of 16 ends, 2 h (1/9 + ... + 1/16) = 1.3257 h on average, and the
 * i-th node stands idle from the i-th end on: 5.2119 node-hours. Both means lie in their 99 %
 * intervals. */
Test(collect, with_a_reservation_it_waits_for_the_eighth_end, .timeout = 60)
{
    enum { RUNS = 6000 };
    double wait = 0, wait2 = 0, idle = 0, idle2 = 0, n = RUNS;
    for (uint32_t k = 0; k < RUNS; k++) {
        struct backlog b = {.reserves = true};
        struct rig r;
        backlog_open(&b, &r, k);
        collect(b.large, SHAPE_PREFER_WHOLE, LARGE);
        while (b.large->n_granted == 0)
            cr_assert(engine_step(r.engine, SIM_DAY));
        double w = sim_time_to_s(b.large->granted[0].at) / 3600;
        ledger_settle(r.ledger, engine_now(r.engine));
        double i = (double)ledger_total(r.ledger, b.large->number + 1, GPU_HELD_IDLE) / SIM_HOUR;
        wait += w, wait2 += w * w, idle += i, idle2 += i * i;
        rig_fini(&r);
    }
    double wait_se = sqrt((wait2 / n - wait / n * (wait / n)) / n);
    double idle_se = sqrt((idle2 / n - idle / n * (idle / n)) / n);
    cr_log_info("wait %.4f +- %.4f h, idle %.4f +- %.4f node-h", wait / n, 2.576 * wait_se,
                idle / n, 2.576 * idle_se);
    cr_expect_float_eq(wait / n, 1.3257, 2.576 * wait_se);
    cr_expect_float_eq(idle / n, 5.2119, 2.576 * idle_se);
    cr_expect_lt(wait_se / 1.3257, 0.005);
}
