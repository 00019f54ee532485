/* Supply under work: conservation while nodes come and go, no hazard equal to no spot, and the
 * efficiency of gangs that are interrupted against closed forms. */
#include "models/closed/renewal.h"
#include "models/closed/spot.h"
#include "tests/models/plan_kit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static struct dist fixed(double s)
{
    return (struct dist){DIST_FIXED, s, 0};
}

static uint64_t long_or(uint64_t short_n, uint64_t long_n)
{
    return getenv("HEADROOM_LONG") ? long_n : short_n;
}

static uint32_t pick(struct rng *r, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(r, high - low + 1);
}

/* ---- random plans ---- */

static void random_trace(struct rng *r, struct arena *a, uint32_t nodes, struct supply_trace *t)
{
    bool counts = pick(r, 0, 1);
    t->n = pick(r, 1, 40);
    t->rows = arena_array(a, t->n, sizeof *t->rows);
    t->nodes = nodes;
    t->up_at_start = pick(r, 0, 1) ? nodes : 0;
    simtime_ns at = 0;
    int32_t there = (int32_t)t->up_at_start;
    for (size_t i = 0; i < t->n; i++) {
        int32_t to = (int32_t)pick(r, 0, nodes);
        at += pick(r, 0, 60) * SIM_S;
        t->rows[i] = (struct supply_event){at, pick(r, 0, nodes), pick(r, 0, 1) ? 1 : -1, ""};
        if (counts)
            t->rows[i] = (struct supply_event){at, SUPPLY_ANY_NODE, to - there, ""};
        there = to;
    }
    t->span_ns = at;
}

static void random_supply(struct rng *r, struct arena *a, uint32_t nodes, struct supply_plan *p)
{
    struct supply_trace *trace = arena_alloc(a, sizeof *trace);
    struct maintenance_plan *m = arena_alloc(a, sizeof *m);
    random_trace(r, a, nodes, trace);
    p->kind = (enum supply_kind)pick(r, 0, SUPPLY_KINDS - 1);
    p->spot = (struct spot_plan){.life_s = pick(r, 0, 1) ? 300 : 0,
                                 .notice_ns = pick(r, 0, 2) * 20 * SIM_S,
                                 .absence = {DIST_EXPONENTIAL, 60, 0},
                                 .shock_gap_s = pick(r, 0, 1) ? 400 : 0,
                                 .shock_share = 0.5,
                                 .trace = pick(r, 0, 2) ? NULL : trace,
                                 .trace_loop = pick(r, 0, 1)};
    p->on_demand = (struct on_demand_plan){
        pick(r, 0, nodes), {DIST_EXPONENTIAL, 30, 0}, pick(r, 0, 100) * SIM_S};
    p->failure = (struct failure_plan){.per_1000_node_days = pick(r, 0, 1) ? 1e5 : 0,
                                       .infant_scale_s = pick(r, 0, 1) ? 500 : 0,
                                       .infant_shape = 0.5,
                                       .reboot_share = 0.5,
                                       .repair_reboot = fixed(pick(r, 0, 30)),
                                       .repair_part = {DIST_EXPONENTIAL, 100, 0},
                                       .trace = pick(r, 0, 3) ? NULL : trace,
                                       .trace_loop = pick(r, 0, 1)};
    p->spares = nodes > 2 ? pick(r, 0, 1) : 0;
    *m = (struct maintenance_plan){.start_ns = pick(r, 0, 300) * SIM_S,
                                   .every_ns = pick(r, 300, 900) * SIM_S,
                                   .nodes = pick(r, 1, 2),
                                   .work = {DIST_EXPONENTIAL, 60, 0},
                                   .drain_limit_ns = pick(r, 0, 300) * SIM_S,
                                   .wait = (enum roll_wait)pick(r, 0, ROLL_WAITS - 1),
                                   .order = (enum roll_order)pick(r, 0, ROLL_ORDERS - 1),
                                   .fail_share = 0.3};
    p->maintenance = m;
    p->n_maintenance = pick(r, 0, 1);
}

Test(supply_work, conserves_while_nodes_come_and_go, .timeout = 600)
{
    const struct run_hooks hooks = {.check_every_event = true};
    uint64_t losses = 0, failures = 0, upgraded = 0, provisioned = 0;
    for (uint64_t seed = 0; seed < long_or(60, 2000); seed++) {
        struct arena a;
        struct rng r;
        arena_init(&a);
        rng_init(&r, seed, 0, "test", "supply");
        struct plan *p = kit_random(&a, seed);
        struct fleet_plan *pool = arena_alloc(&a, sizeof *pool);
        *pool = p->pools[0];
        random_supply(&r, &a, pool->groups[0].nodes, &pool->supply);
        p->pools = pool;
        struct run_results first, second;
        cr_assert_eq(run_plan(p, (uint32_t)seed % 3, &hooks, &first), HR_OK, "seed %lu", seed);
        cr_assert_eq(run_plan(p, (uint32_t)seed % 3, NULL, &second), HR_OK);
        cr_assert_eq(kit_checksum(&first), kit_checksum(&second), "seed %lu", seed);
        losses += first.pools[0].supply.losses;
        failures += first.pools[0].supply.failures;
        upgraded += first.pools[0].supply.upgraded;
        provisioned += first.pools[0].supply.provisioned;
        results_fini(&first);
        results_fini(&second);
        arena_fini(&a);
    }
    cr_expect_gt(losses, 100);
    cr_expect_gt(failures, 100);
    cr_expect_gt(upgraded, 20);
    cr_expect_gt(provisioned, 10);
}

/* Spot that is never taken back, failures at no rate, on-demand that is all there. */
Test(supply_work, no_hazard_is_no_spot, .timeout = 600)
{
    for (uint64_t seed = 0; seed < long_or(60, 1000); seed++) {
        struct arena a;
        arena_init(&a);
        struct plan *p = kit_random(&a, 5000 + seed);
        struct fleet_plan *pool = arena_alloc(&a, sizeof *pool);
        *pool = p->pools[0];
        struct run_results without, with;
        cr_assert_eq(run_plan(p, 1, NULL, &without), HR_OK);
        pool->supply = (struct supply_plan){.kind = SUPPLY_SPOT,
                                            .spot = {.notice_ns = 30 * SIM_S, .shock_share = 1}};
        if (seed % 2)
            pool->supply = (struct supply_plan){
                .kind = SUPPLY_ON_DEMAND,
                .on_demand = {.initial = pool->groups[0].nodes, .idle_release_ns = SIM_NEVER}};
        p->pools = pool;
        cr_assert_eq(run_plan(p, 1, NULL, &with), HR_OK);
        cr_expect_eq(kit_checksum(&without), kit_checksum(&with), "seed %lu", seed);
        results_fini(&without);
        results_fini(&with);
        arena_fini(&a);
    }
}

/* ---- one gang, interrupted ---- */

struct lone {
    uint32_t nodes;
    double horizon_s, load_s, stall_s, interval_s, notice_s;
    bool save_on_notice;
    struct supply_plan supply;
};

/* Kept work over wall time of one gang on the whole pool, and how often it was interrupted. */
static double efficiency(const struct lone *c, uint64_t seed, uint64_t *interruptions)
{
    struct job job = {.work_ns = SIM_NEVER / 4,
                      .limit_ns = JOB_UNSET,
                      .checkpoint_ns = JOB_UNSET,
                      .id = "one",
                      .tenant = "",
                      .gpus = c->nodes * 8,
                      .min_gpus = c->nodes * 8,
                      .preemptible = true};
    struct job_trace jobs = {&job, 1, 0};
    struct queue_plan q = kit_queue("train", &jobs, c->nodes * 8);
    q.checkpoint = (struct checkpoint_plan){
        .interval_ns = c->interval_s > 0 ? sim_time_from_s(c->interval_s) : SIM_NEVER,
        .stall_ns = sim_time_from_s(c->stall_s),
        .mtbf_ns = SIM_DAY,
        .notice_save_ns = sim_time_from_s(c->stall_s),
        .save_on_notice = c->save_on_notice};
    q.restart_load = fixed(c->load_s);
    q.restart_init = fixed(0);
    const struct node_group group = {"node", "h100-sxm", c->nodes, 8};
    const struct fleet_plan pool = {.groups = &group,
                                    .n_groups = 1,
                                    .name = "pool",
                                    .reclaim = {.teardown = fixed(0), .scrub = fixed(0)},
                                    .price_usd_per_gpu_h = 1.6,
                                    .supply = c->supply};
    const simtime_ns horizon = sim_time_from_s(c->horizon_s);
    const struct plan p = {.name = "lone",
                           .design = "shared",
                           .seed = seed,
                           .horizon_ns = horizon,
                           .timeline_ns = 30 * SIM_DAY,
                           .start_date = "2026-01-01 00:00:00",
                           .pools = &pool,
                           .n_pools = 1,
                           .queues = &q,
                           .n_queues = 1};
    struct run_results r;
    cr_assert_null(plan_fault(&p), "%s", plan_fault(&p));
    cr_assert_eq(run_plan(&p, 0, NULL, &r), HR_OK);
    double kept = (double)r.ledger[results_account(1, GPU_TRAINING)];
    *interruptions = r.pools[0].supply.notices + r.pools[0].supply.failures;
    double eff = kept / (c->nodes * 8.0) / (double)horizon;
    results_fini(&r);
    return eff;
}

static const struct spot_terms worksheet = {.od_price = 4,
                                            .spot_price = 1.6,
                                            .mtbf_s = 14400,
                                            .od_mtbf_s = 2592000,
                                            .save_s = 30,
                                            .restart_s = 180,
                                            .down_s = 120,
                                            .notice_s = 120,
                                            .gang_nodes = 1};

/* spot-breakeven: periodic saves at the optimum, no notice; the cost of a useful GPU-hour and the
 * price at which spot stops paying follow. 1 % with some 10^4 preemptions. */
Test(supply_work, spot_with_periodic_saves)
{
    const struct spot_worth w = spot_worth(&worksheet);
    const struct lone c = {
        .nodes = 1,
        .horizon_s = 1e4 * 14400,
        .load_s = 180,
        .stall_s = 30,
        .interval_s = w.interval_s,
        .supply = {.kind = SUPPLY_SPOT, .spot = {.life_s = 14400, .absence = fixed(120)}}};
    uint64_t n;
    double eff = efficiency(&c, 1, &n);
    cr_expect_gt(n, 9500);
    cr_expect_lt(fabs(eff / w.eff - 1), 0.01, "%.5f, exactly %.5f", eff, w.eff);
    cr_expect_lt(fabs(1.6 / eff / w.cost - 1), 0.01);
    cr_expect_lt(fabs(w.od_cost * eff / w.breakeven_price - 1), 0.01);
}

/* The same with a save on notice alone; useful time in a cycle M e^(-R/M) of M + notice + D. */
Test(supply_work, spot_with_saves_on_notice)
{
    const struct spot_worth w = spot_worth(&worksheet);
    const struct lone c = {
        .nodes = 1,
        .horizon_s = 1e4 * 14400,
        .load_s = 180,
        .stall_s = 30,
        .save_on_notice = true,
        .supply = {.kind = SUPPLY_SPOT,
                   .spot = {.life_s = 14400, .notice_ns = 120 * SIM_S, .absence = fixed(120)}}};
    uint64_t n;
    double eff = efficiency(&c, 2, &n);
    double exact = 14400 * exp(-180.0 / 14400) / (14400 + 120 + 120);
    cr_expect_lt(fabs(eff / w.notice_eff - 1), 0.01, "%.5f, exactly %.5f", eff, w.notice_eff);
    cr_expect_lt(fabs(eff / exact - 1), 0.002, "%.5f, exactly %.5f", eff, exact);
}

/* Periodic saves and a notice in which the gang does not work any more: it is paid for and lost. */
Test(supply_work, spot_with_a_paid_notice)
{
    struct spot_terms t = worksheet;
    t.paid_notice_s = 120;
    const struct spot_worth w = spot_worth(&t);
    const struct lone c = {
        .nodes = 1,
        .horizon_s = 1e4 * 14400,
        .load_s = 180,
        .stall_s = 30,
        .interval_s = w.interval_s,
        .supply = {.kind = SUPPLY_SPOT,
                   .spot = {.life_s = 14400, .notice_ns = 120 * SIM_S, .absence = fixed(120)}}};
    uint64_t n;
    double eff = efficiency(&c, 4, &n);
    cr_expect_gt(n, 9500);
    cr_expect_lt(fabs(eff / w.eff - 1), 0.003, "%.5f, exactly %.5f", eff, w.eff);
    cr_expect_gt(fabs(eff / spot_worth(&worksheet).eff - 1), 0.006, "the notice shows");
}

/* training-goodput: gangs of 16, 64 and 256 nodes, detection and replacement 300 s: here the repair
 * of the node, in which other nodes may fail too. */
Test(supply_work, goodput_against_gang_size)
{
    static const uint32_t sizes[] = {16, 64, 256};
    for (int i = 0; i < 3; i++) {
        double mtbf_s = 6300 * 3600.0 / sizes[i];
        const struct renewal worksheet_run = {mtbf_s, 60, 600, 300};
        double interval_s = renewal_interval_s(&worksheet_run, 0);
        const struct lone c = {.nodes = sizes[i],
                               .horizon_s = mtbf_s * 2000,
                               .load_s = 600,
                               .stall_s = 60,
                               .interval_s = interval_s,
                               .supply = {.failure = {.per_1000_node_days = 1000 * 24 / 6300.0,
                                                      .reboot_share = 1,
                                                      .repair_reboot = fixed(300)}}};
        uint64_t n;
        double eff = efficiency(&c, 3, &n);
        double exact = renewal_efficiency(&worksheet_run, interval_s);
        cr_expect_gt(n, 1800);
        cr_expect_lt(fabs(eff / exact - 1), 0.005, "%u nodes: %.5f, exactly %.5f", sizes[i], eff,
                     exact);
    }
}
