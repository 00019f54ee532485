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
    const struct ask ask = {.shape = {.gpus = gpus, .kind = kind}};
    lease_id l = LEASE_NONE;
    cr_assert_eq(fleet_collect(t->rig->fleet, t->number, &ask, &l), GRANT_OK);
    return l;
}

static enum grant try_collect(struct toy *t, enum shape_kind kind, uint32_t gpus)
{
    const struct ask ask = {.shape = {.gpus = gpus, .kind = kind}};
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

/* A claimant whose own work fills its ceiling, here the whole pool, collects what of it ends: no
 * GPU goes to its next small start, and it is never charged with more than the ceiling. */
Test(collect, below_a_full_ceiling_it_gets_what_its_own_work_leaves)
{
    const struct rig_plan four = {.nodes = 4, .gpus_per_node = 1, .scrub_s = 2};
    struct rig r;
    rig_init(&r, &four);
    struct toy *t = rig_add(&r, &(struct quota){.ceiling_gpus = 4});
    lease_id small[4];
    for (int i = 0; i < 4; i++)
        small[i] = toy_acquire(t, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
    lease_id l = collect(t, SHAPE_PREFER_WHOLE, 3);
    cr_expect_eq(fleet_usage(r.fleet, 0), 4);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(t->n_granted, 0);
        fleet_stop_at(r.fleet, small[i], 10 * i * SIM_S, 0);
        rig_run(&r, (10 * i + 1) * SIM_S);
        cr_expect_eq(toy_try_acquire(t, SHAPE_ONE_NODE, 1), GRANT_QUOTA); /* it is the lease's */
        rig_run(&r, (10 * i + 2) * SIM_S);
        cr_expect_eq(rig_shares(&r, t, GPU_HELD_IDLE), i + 1);
        cr_expect_eq(fleet_usage(r.fleet, 0), 4);
    }
    cr_assert(t->n_granted == 1 && t->granted[0].lease == l);
    cr_expect_eq(t->granted[0].at, 22 * SIM_S);
    rig_fini(&r);
}

/* Free GPUs beyond its ceiling are no use to it and stay for others, until its own work ends. */
Test(collect, keeps_no_more_than_its_ceiling_admits)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &(struct quota){.ceiling_gpus = 8}), *other = rig_add(&r, &toy_low);
    lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 5, GPU_TRAINING, 0);
    lease_id b = toy_acquire(t, SHAPE_ONE_NODE, 2, GPU_TRAINING, 1);
    lease_id l = collect(t, SHAPE_ANY, 6);
    cr_expect_eq(rig_shares(&r, t, GPU_HELD_IDLE), 1);
    toy_acquire(other, SHAPE_ANY, 8, GPU_TRAINING, 0);
    fleet_stop_at(r.fleet, b, 0, 0);
    rig_run(&r, 6 * SIM_S); /* two less are charged; none of the two is clean */
    cr_expect_eq(toy_try_acquire(t, SHAPE_ANY, 1), GRANT_QUOTA);
    rig_run(&r, 10 * SIM_S);
    cr_expect_eq(rig_shares(&r, t, GPU_HELD_IDLE), 3);
    cr_expect_eq(fleet_usage(r.fleet, 0), 8);
    fleet_stop_at(r.fleet, a, 20 * SIM_S, 0);
    rig_run(&r, SIM_MIN);
    cr_assert(t->n_granted == 1 && t->granted[0].lease == l);
    cr_expect_eq(t->granted[0].at, 30 * SIM_S);
    rig_fini(&r);
}

/* The ceiling of a cohort: what a member gives back goes to the collecting member, whoever asks in
 * between; a claimant outside of the cohort does not mind. */
Test(collect, under_the_ceiling_of_a_cohort)
{
    const struct node_group group = {.nodes = 2, .gpus_per_node = 8};
    const struct reclaim_plan at_once = {.victims = VICTIM_YOUNGEST};
    const struct cohort cohort = {.ceiling_gpus = 10, .lend_gpus = UINT32_MAX};
    struct rig r;
    rig_init_cohorts(&r, &group, 1, &at_once, &cohort, 1, 1);
    struct toy *t = rig_add(&r, &(struct quota){.ceiling_gpus = 16, .cohort = 1}),
               *mate = rig_add(&r, &(struct quota){.ceiling_gpus = 16, .cohort = 1}),
               *other = rig_add(&r, &toy_low);
    lease_id a = toy_acquire(mate, SHAPE_ONE_NODE, 5, GPU_TRAINING, 0);
    lease_id b = toy_acquire(mate, SHAPE_ONE_NODE, 3, GPU_TRAINING, 1);
    cr_expect_eq(try_collect(t, SHAPE_ANY, 11), GRANT_NEVER);
    collect(t, SHAPE_ANY, 6);
    cr_expect_eq(fleet_usage(r.fleet, t->number), 2);
    cr_expect_eq(toy_try_acquire(mate, SHAPE_ANY, 1), GRANT_QUOTA);
    toy_acquire(other, SHAPE_ANY, 6, GPU_TRAINING, 0);
    fleet_stop_at(r.fleet, b, SIM_S, 0);
    rig_run(&r, SIM_S);
    cr_expect_eq(fleet_usage(r.fleet, t->number), 5);
    cr_expect_eq(toy_try_acquire(mate, SHAPE_ANY, 1), GRANT_QUOTA);
    fleet_stop_at(r.fleet, a, 2 * SIM_S, 0);
    rig_run(&r, 2 * SIM_S);
    cr_expect_eq(t->n_granted, 1);
    cr_expect_eq(fleet_free_gpus(r.fleet), 4);
    toy_acquire(mate, SHAPE_ANY, 4, GPU_TRAINING, 0); /* 10 in the cohort */
    rig_fini(&r);
}

/* A younger one is promised nothing yet: work of its own claimant goes on starting. */
Test(collect, quota_is_promised_to_the_oldest_only)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *a = rig_add(&r, &(struct quota){.ceiling_gpus = 16}),
               *b = rig_add(&r, &(struct quota){.ceiling_gpus = 8}), *t = rig_add(&r, &toy_low);
    lease_id first = toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    lease_id second = toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    lease_id l = collect(a, SHAPE_ONE_NODE, 8);
    collect(b, SHAPE_ONE_NODE, 8);
    cr_expect_eq(rig_shares(&r, a, GPU_HELD_IDLE), 4);
    fleet_stop_at(r.fleet, first, 0, 0);
    rig_run(&r, 10 * SIM_S);
    cr_assert(a->n_granted == 1 && a->granted[0].lease == l);
    cr_expect_eq(rig_shares(&r, b, GPU_HELD_IDLE), 4); /* now it is the oldest */
    cr_expect_eq(toy_try_acquire(b, SHAPE_ANY, 1), GRANT_QUOTA);
    fleet_stop_at(r.fleet, second, 10 * SIM_S, 0);
    rig_run(&r, 20 * SIM_S);
    cr_expect_eq(b->n_granted, 1);
    rig_fini(&r);
}

/* A start of its own claimant that may not evict it stays behind it, whatever its priority; one
 * that may takes what it keeps and its promise, and the rest is collected again. */
Test(collect, gives_way_to_higher_priority_only_where_that_may_preempt)
{
    for (uint32_t may = 0; may < 2; may++) {
        struct rig r;
        rig_init(&r, &two_nodes);
        struct toy *t =
            rig_add(&r, &(struct quota){.ceiling_gpus = 12,
                                        .within_queue = may ? QUEUE_LOWER_PRIORITY : QUEUE_NEVER});
        lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 6, GPU_TRAINING, 0);
        collect(t, SHAPE_ANY, 8);
        cr_expect_eq(rig_shares(&r, t, GPU_HELD_IDLE), 6);
        const struct ask urgent = {.shape = {.gpus = 4, .kind = SHAPE_ANY}, .priority = 1};
        lease_id l;
        enum grant g = fleet_reclaim(r.fleet, t->number, &urgent, 0, &l);
        cr_expect_eq(g, may ? GRANT_OK : GRANT_QUOTA);
        rig_run(&r, 0);
        cr_expect_eq(t->n_granted, may);
        cr_expect_eq(t->n_evicted, 0);
        cr_expect_eq(fleet_usage(r.fleet, 0), 12); /* 6 + 4 + 2 kept, or 6 + 6 kept */
        if (may)
            fleet_stop_at(r.fleet, l, 0, 0);
        else
            fleet_stop_at(r.fleet, a, 0, 0);
        rig_run(&r, SIM_MIN);
        cr_expect_eq(t->n_granted, may + !may);
        rig_fini(&r);
    }
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

/* A shape within one leaf group collects in the group where most is free or coming: not on the
 * emptiest nodes wherever they are. */
Test(collect, one_leaf_group_is_that_with_most)
{
    static const uint32_t leaf_nodes[] = {2, 3};
    const struct rig_plan leaves = {
        .nodes = 5, .gpus_per_node = 8, .fabric = {.leaf_nodes = leaf_nodes, .n_leaves = 2}};
    struct rig r;
    rig_init(&r, &leaves);
    struct toy *t = rig_add(&r, &toy_low), *large = rig_add(&r, &toy_low);
    lease_id on[5];
    for (uint32_t i = 0; i < 5; i++)
        on[i] = toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, i);
    cr_expect_eq(try_collect(large, SHAPE_ONE_LEAF, 25), GRANT_NEVER);
    lease_id l = collect(large, SHAPE_ONE_LEAF, 16);
    fleet_stop_at(r.fleet, on[0], 0, 0);
    rig_run(&r, SIM_S);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 8);
    fleet_stop_at(r.fleet, on[3], 2 * SIM_S, 0); /* as much in the other: it stays */
    rig_run(&r, 3 * SIM_S);
    cr_expect_eq(rig_shares(&r, large, GPU_HELD_IDLE), 8);
    cr_expect_eq(large->n_granted, 0);
    fleet_stop_at(r.fleet, on[4], 4 * SIM_S, 0);
    rig_run(&r, 5 * SIM_S);
    cr_assert(large->n_granted == 1 && large->granted[0].lease == l);
    cr_expect_eq(fleet_lease_span(r.fleet, l), SPAN_LEAF);
    cr_expect_eq(fleet_free_gpus(r.fleet), 8);
    fleet_stop_at(r.fleet, l, 6 * SIM_S, 0);
    rig_run(&r, 7 * SIM_S);
    fleet_node_close(r.fleet, 2, GPU_MAINTENANCE);
    fleet_node_close(r.fleet, 3, GPU_MAINTENANCE);
    collect(large, SHAPE_ONE_LEAF, 16);
    fleet_node_close(r.fleet, 1, GPU_MAINTENANCE); /* two nodes are open, in two groups */
    cr_expect_eq(large->n_withdrawn, 1);
    cr_expect_eq(try_collect(large, SHAPE_ONE_LEAF, 16), GRANT_ROOM);
    rig_fini(&r);
}

/* A node that closes is left""", and when too few are open the lease is withdrawn. */
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
    const struct ask ask = {.shape = {.gpus = 1, .kind = SHAPE_ONE_NODE}};
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
