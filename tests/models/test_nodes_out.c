/* Nodes that are closed, drained, fail, come back and stand by as spares: worked cases. */
#include "models/run.h"
#include "plan_kit.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>

static const struct rig_plan two_nodes = {
    .nodes = 2, .gpus_per_node = 8, .grace_ns = 30 * SIM_S, .teardown_s = 6, .scrub_s = 4};

/* Free GPUs go out at once, those of a lease when it has ended; nothing starts there meanwhile. */
Test(nodes_out, a_closed_node_empties_by_itself)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &toy_low);
    lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 6, GPU_TRAINING, 0);
    fleet_node_close(r.fleet, 0, GPU_MAINTENANCE);
    cr_expect_eq(rig_shares(&r, NULL, GPU_MAINTENANCE), 2);
    cr_expect_eq(fleet_free_gpus(r.fleet), 8);
    cr_expect_eq(toy_try_acquire(t, SHAPE_ANY, 9), GRANT_ROOM);
    cr_expect_not(fleet_node_idle(r.fleet, 0));
    fleet_stop_at(r.fleet, a, 0, 0);
    cr_expect_eq(fleet_coming_gpus(r.fleet), 0); /* nobody can wait for them */
    rig_run(&r, 9 * SIM_S);
    cr_expect_eq(rig_shares(&r, NULL, GPU_SCRUBBING), 6);
    rig_run(&r, 10 * SIM_S);
    cr_expect_eq(rig_shares(&r, NULL, GPU_MAINTENANCE), 8);
    cr_expect(fleet_node_idle(r.fleet, 0) && fleet_out_gpus(r.fleet) == 8);
    fleet_node_open(r.fleet, 0);
    cr_expect_eq(fleet_free_gpus(r.fleet), 16);
    cr_expect_eq(rig_shares(&r, NULL, GPU_MAINTENANCE), 0);
    rig_fini(&r);
}

/* A gang over both nodes loses one: half of it is failed at once, the other half is its own until
 * it stops, and its claimant is charged for what is left. */
Test(nodes_out, a_failure_takes_its_gpus_out_of_a_gang)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &toy_low);
    lease_id a = toy_acquire(t, SHAPE_PREFER_WHOLE, 16, GPU_TRAINING, 0);
    rig_run(&r, 100 * SIM_S);
    fleet_node_fail(r.fleet, 1, GPU_FAILED);
    cr_assert(t->n_failed == 1 && t->failed[0].lease == a);
    cr_expect_eq(rig_shares(&r, NULL, GPU_FAILED), 8);
    cr_expect_eq(rig_shares(&r, t, GPU_DRAINING), 8); /* the toy stops at once */
    cr_expect_eq(fleet_usage(r.fleet, t->number), 8);
    rig_run(&r, 106 * SIM_S);
    cr_expect_eq(t->n_released, 1);
    rig_run(&r, 110 * SIM_S);
    cr_expect_eq(fleet_free_gpus(r.fleet), 8);
    fleet_node_open(r.fleet, 1);
    cr_expect_eq(fleet_free_gpus(r.fleet), 16);
    cr_expect_eq(ledger_total(r.ledger, t->number + 1, GPU_TRAINING), (u128)16 * 100 * SIM_S);
    rig_fini(&r);
}

static void replace(struct toy *t, lease_id l, simtime_ns now)
{
    (void)now;
    uint32_t node;
    cr_assert(fleet_replace(t->rig->fleet, l, &node));
    cr_expect_eq(node, 1);
}

/* With a hot spare the gang keeps its lease and its size; the spare is held idle until then and no
 * start may have it. */
Test(nodes_out, a_spare_takes_the_place_of_a_failed_node)
{
    const struct rig_plan three = {.nodes = 3, .gpus_per_node = 8};
    struct rig r;
    rig_init(&r, &three);
    struct toy *t = rig_add(&r, &toy_low);
    fleet_node_close(r.fleet, 1, GPU_MAINTENANCE);
    fleet_spare_add(r.fleet, 1);
    cr_expect_eq(fleet_out_gpus(r.fleet), 0, "a spare is out for nobody");
    cr_expect_eq(rig_shares(&r, NULL, GPU_HELD_IDLE), 8);
    lease_id a = toy_acquire(t, SHAPE_PREFER_WHOLE, 16, GPU_TRAINING, 0);
    cr_expect_eq(toy_try_acquire(t, SHAPE_ANY, 1), GRANT_ROOM);
    t->on_failed = replace;
    rig_run(&r, SIM_HOUR);
    fleet_node_fail(r.fleet, 2, GPU_FAILED);
    cr_expect_eq(fleet_lease_gpus(r.fleet, a), 16);
    cr_expect_eq(rig_shares(&r, t, GPU_TRAINING), 16);
    cr_expect_eq(rig_shares(&r, NULL, GPU_FAILED), 8);
    cr_expect_eq(fleet_spares(r.fleet), 0);
    rig_fini(&r);
}

static void keep_on(struct toy *t, lease_id l, simtime_ns now)
{
    (void)t, (void)l, (void)now; /* the failure has not been noticed yet */
}

/* Two nodes lost before the first was noticed are replaced by two spares, or not at all. */
Test(nodes_out, several_spares_take_the_place_of_several_nodes)
{
    const struct rig_plan five = {.nodes = 5, .gpus_per_node = 8};
    struct rig r;
    rig_init(&r, &five);
    struct toy *t = rig_add(&r, &toy_low);
    fleet_node_close(r.fleet, 3, GPU_MAINTENANCE);
    fleet_spare_add(r.fleet, 3);
    fleet_node_close(r.fleet, 4, GPU_MAINTENANCE);
    lease_id a = toy_acquire(t, SHAPE_PREFER_WHOLE, 24, GPU_TRAINING, 0);
    t->on_failed = keep_on;
    fleet_node_fail(r.fleet, 0, GPU_FAILED);
    fleet_node_fail(r.fleet, 1, GPU_FAILED);
    uint32_t node;
    cr_expect_not(fleet_replace(r.fleet, a, &node));
    cr_expect_eq(fleet_lease_gpus(r.fleet, a), 8);
    fleet_spare_add(r.fleet, 4);
    cr_assert(fleet_replace(r.fleet, a, &node));
    cr_expect(node == 3 && fleet_lease_gpus(r.fleet, a) == 24 && fleet_spares(r.fleet) == 0);
    cr_expect_eq(rig_shares(&r, t, GPU_TRAINING), 24);
    rig_fini(&r);
}

/* A drain evicts with its own grace and withdraws who waits for the node. */
Test(nodes_out, a_drain_evicts_and_withdraws)
{
    const struct rig_plan one = {.nodes = 1, .gpus_per_node = 8, .grace_ns = 60 * SIM_S};
    struct rig r;
    rig_init(&r, &one);
    struct toy *low = rig_add(&r, &toy_low), *high = rig_add(&r, &toy_high);
    toy_acquire(low, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    toy_acquire(low, SHAPE_ONE_NODE, 4, GPU_TRAINING, 1);
    lease_id waits = toy_reclaim(high, SHAPE_ONE_NODE, 4);
    fleet_node_close(r.fleet, 0, GPU_ABSENT);
    fleet_node_drain(r.fleet, 0, 20 * SIM_S);
    cr_assert(high->n_withdrawn == 1 && high->withdrawn[0].lease == waits);
    cr_expect_eq(low->n_evicted, 2);
    cr_expect_eq(fleet_usage(r.fleet, high->number), 0);
    rig_run(&r,
            20 * SIM_S); /* the second stops within the notice, the first within the old grace */
    cr_expect_eq(rig_shares(&r, NULL, GPU_ABSENT), 4);
    rig_run(&r, 60 * SIM_S);
    cr_expect_eq(rig_shares(&r, NULL, GPU_ABSENT), 8);
    rig_fini(&r);
}

/* Who runs on a closed node is no help to a start. */
Test(nodes_out, victims_are_not_looked_for_on_closed_nodes)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *low = rig_add(&r, &toy_low), *high = rig_add(&r, &toy_high);
    toy_acquire(low, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    lease_id second = toy_acquire(low, SHAPE_ONE_NODE, 8, GPU_TRAINING, 1);
    fleet_node_close(r.fleet, 0, GPU_MAINTENANCE);
    toy_reclaim(high, SHAPE_ONE_NODE, 8);
    cr_assert(low->n_evicted == 1 && low->evicted[0].lease == second);
    cr_expect_eq(toy_try_reclaim(high, SHAPE_ONE_NODE, 8), GRANT_ROOM);
    rig_fini(&r);
}

/* ---- in a run: claimants that lose nodes ---- */

struct strike {
    struct fleet *fleet;
    struct engine *engine;
    timer_id timer;
    uint32_t node;
};

static void strike(void *ctx, uint32_t arg)
{
    struct strike *s = ctx;
    (void)arg;
    bool closed = fleet_node_closed(s->fleet, s->node);
    if (closed)
        fleet_node_open(s->fleet, s->node++);
    else
        fleet_node_fail(s->fleet, s->node, GPU_FAILED);
    s->node %= fleet_nodes(s->fleet);
    engine_schedule(s->engine, s->timer, engine_now(s->engine) + 20 * SIM_S);
}

static void ignore(void *self, const struct request_row *row)
{
    (void)self, (void)row;
}

/* A service of four replicas whose nodes die one after another every 40 s: every request is still
 * answered, what a replica held is retried, and Little's law holds as an equality. */
Test(nodes_out, a_failed_replica_returns_its_requests)
{
    struct arena arena;
    arena_init(&arena);
    const struct request_trace *trace = kit_trace(&arena, 5, 500, 0.3, 800, 400);
    struct service_plan plan = kit_service("chat", trace, 6, 4, 4, 0, 20 * SIM_MIN);
    plan.pools[0].quota.ceiling_gpus = 32;
    plan.autoscaler.enabled = true;
    plan.autoscaler.min_replicas = plan.autoscaler.max_replicas = 4;
    const struct node_group group = {"node", "h100-sxm", 4, 8};
    const struct fleet_plan fleet = {.groups = &group, .n_groups = 1};
    struct engine *engine = engine_new();
    struct ledger *ledger = ledger_new(2, 32, 0, 20 * SIM_MIN, SIM_MIN);
    struct pool pool = {.fleet = fleet_new(&fleet, engine, ledger, 1, 0), .ledger = ledger};
    struct service *service;
    const struct service_sink sink = {NULL, ignore};
    cr_assert_eq(service_new(&plan, 0, engine, &pool, 1, 1, 0, 20 * SIM_MIN, &sink, &service),
                 HR_OK);
    struct strike s = {pool.fleet, engine, TIMER_NONE, 0};
    cr_assert_eq(engine_timer_new(engine, EVENT_FAILURE, strike, &s, 0, &s.timer), HR_OK);
    engine_schedule(engine, s.timer, SIM_MIN);
    cr_assert_eq(service_start(service), HR_OK);
    service_measure(service, 0);
    cr_assert_eq(engine_run(engine, 20 * SIM_MIN), HR_OK);
    cr_assert(ledger_conserves(ledger, 20 * SIM_MIN) && fleet_consistent(pool.fleet));
    cr_assert_eq(service_finish(service, 20 * SIM_MIN), HR_OK);
    const struct service_totals *n = service_totals(service);
    cr_log_info("%lu arrived, %lu done, %lu retried", n->arrived, n->done, n->retried);
    cr_expect_gt(n->retried, 100);
    cr_expect_eq(n->arrived, n->done + n->open);
    cr_expect(n->in_flight_ns == n->sojourn_ns);
    service_free(service);
    fleet_free(pool.fleet);
    ledger_free(ledger);
    engine_free(engine);
    arena_fini(&arena);
}
