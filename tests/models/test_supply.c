/* Supply without work on it: hazards, shocks, failures and repairs against closed forms, recorded
 * traces, roll-outs, price paths, and on-demand nodes and spares with scripted claimants. */
#include "models/closed/rollout.h"
#include "models/record.h"
#include "tests/models/toy_fleet.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define SAME 3.3 /* standard errors */

/* ---- a pool of its own ---- */

struct bench {
    struct engine *engine;
    struct ledger *ledger;
    struct fleet *fleet;
    struct supply *supply;
    struct node_group group;
    struct fleet_plan plan;
};

static struct dist fixed(double s)
{
    return (struct dist){DIST_FIXED, s, 0};
}

static uint32_t no_share(void *self)
{
    (void)self;
    return 0;
}

static void bench_init(struct bench *b, uint32_t nodes, const struct supply_plan *supply,
                       uint64_t seed, uint32_t replication, simtime_ns from, simtime_ns end)
{
    b->group = (struct node_group){"node", "h100-sxm", nodes, 8};
    b->plan = (struct fleet_plan){.groups = &b->group,
                                  .n_groups = 1,
                                  .name = "pool",
                                  .reclaim = {.teardown = fixed(0), .scrub = fixed(0)},
                                  .price_usd_per_gpu_h = 2,
                                  .supply = *supply};
    cr_assert_null(supply_fault(supply, nodes), "%s", supply_fault(supply, nodes));
    b->engine = engine_new();
    b->ledger = ledger_new(2, nodes * 8, from, end, end - from);
    b->fleet = fleet_new(&b->plan, b->engine, b->ledger, seed, replication);
    const struct pool pool = {.fleet = b->fleet, .ledger = b->ledger};
    const struct claimant_ops nothing = {.waiting_share = no_share};
    uint32_t claimant;
    cr_assert_eq(fleet_claimant_add(b->fleet, "nobody", &toy_low, &nothing, &claimant), HR_OK);
    b->supply = supply_new(&b->plan, b->engine, &pool, 2, seed, replication, from);
    cr_assert(b->supply);
    supply_start(b->supply);
}

static void bench_run(struct bench *b, simtime_ns to)
{
    cr_assert_eq(engine_run(b->engine, to), HR_OK);
    cr_assert(ledger_conserves(b->ledger, to));
    cr_assert(fleet_consistent(b->fleet));
    supply_settle(b->supply, to);
}

static void bench_fini(struct bench *b)
{
    supply_free(b->supply);
    fleet_free(b->fleet);
    ledger_free(b->ledger);
    engine_free(b->engine);
}

static double gpu_s(const struct bench *b, enum gpu_state s)
{
    return (double)ledger_total(b->ledger, LEDGER_NOBODY, s) / 1e9;
}

/* ---- spot ---- */

/* Alternating renewal: up / (up + down); its variance over a long time T is
 * (var_up down^2 + var_down up^2) / (up + down)^3 / T. */
Test(supply, hazard_and_absence_alternate)
{
    const double up = 4, down = 1, hours = 2000, nodes = 64;
    const struct supply_plan p = {
        .kind = SUPPLY_SPOT,
        .spot = {.life_s = up * 3600, .absence = {DIST_EXPONENTIAL, down * 3600, 0}}};
    struct bench b;
    bench_init(&b, (uint32_t)nodes, &p, 11, 0, 0, (simtime_ns)hours * SIM_HOUR);
    bench_run(&b, (simtime_ns)hours * SIM_HOUR);
    double t = nodes * hours, exact = up / (up + down);
    double there = gpu_s(&b, GPU_FREE) / 3600 / 8 / t;
    double se = sqrt(2 * up * up * down * down / pow(up + down, 3) / t);
    cr_expect_lt(fabs(there - exact), SAME * se, "%.5f, exactly %.5f, error %.5f", there, exact,
                 se);
    cr_expect_lt(se, 0.005 * exact);
    const struct supply_totals *n = supply_totals(b.supply);
    cr_expect_eq(n->notices, n->losses);
    cr_expect_leq(n->losses - n->returns, (uint64_t)nodes);
    bench_fini(&b);
}

/* Free GPUs of a node are out from the notice on, the node is back after notice and absence. */
Test(supply, notice_comes_before_the_absence)
{
    const struct supply_plan p = {
        .kind = SUPPLY_SPOT,
        .spot = {.life_s = 1000, .notice_ns = 120 * SIM_S, .absence = fixed(80)}};
    struct bench b;
    bench_init(&b, 1, &p, 3, 0, 0, 1000 * SIM_HOUR);
    bench_run(&b, 1000 * SIM_HOUR);
    const struct supply_totals *n = supply_totals(b.supply);
    double out_s = gpu_s(&b, GPU_ABSENT) / 8;
    cr_expect_gt(n->returns, 2000);
    cr_expect_leq(out_s, 200.0 * (double)n->notices);
    cr_expect_geq(out_s, 200.0 * (double)n->returns);
    bench_fini(&b);
}

Test(supply, shocks_take_a_share_at_once)
{
    const struct supply_plan p = {
        .kind = SUPPLY_SPOT, .spot = {.absence = fixed(1), .shock_gap_s = 1e6, .shock_share = 0.3}};
    struct bench b;
    bench_init(&b, 32, &p, 5, 0, 0, 400000 * SIM_HOUR);
    bench_run(&b, 400000 * SIM_HOUR);
    const struct supply_totals *n = supply_totals(b.supply);
    double expected = 400000 * 3600 / 1e6;
    cr_expect_lt(fabs((double)n->shocks - expected), SAME * sqrt(expected), "%lu shocks",
                 n->shocks);
    cr_expect_eq(n->losses, 10 * n->shocks); /* of 32 each; no two within a second */
    bench_fini(&b);
}

/* ---- failures ---- */

static double expect_failures(const struct failure_plan *f, double nodes, double t)
{
    double mean = f->per_1000_node_days / 1000 / 86400 * t;
    if (f->infant_scale_s > 0)
        mean += pow((f->age_s + t) / f->infant_scale_s, f->infant_shape) -
                pow(f->age_s / f->infant_scale_s, f->infant_shape);
    if (f->wear_out_scale_s > 0)
        mean += pow((f->age_s + t) / f->wear_out_scale_s, f->wear_out_shape) -
                pow(f->age_s / f->wear_out_scale_s, f->wear_out_shape);
    return nodes * mean;
}

/* With minimal repair in no time failures are a Poisson process with the bathtub's hazard. */
Test(supply, failures_follow_the_bathtub)
{
    const double year = 365 * 86400.0, nodes = 2000;
    const struct failure_plan cases[] = {
        {.per_1000_node_days = 3.8},
        {.infant_scale_s = 2 * year, .infant_shape = 0.5},
        {.infant_scale_s = 2 * year, .infant_shape = 0.5, .age_s = year},
        {.wear_out_scale_s = year, .wear_out_shape = 3},
        {.wear_out_scale_s = year, .wear_out_shape = 3, .age_s = year},
        {3.8, year, 0.4, 2 * year, 4, year / 10, 0, {0}, {0}, NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct supply_plan p = {.failure = cases[i]};
        struct bench b;
        bench_init(&b, (uint32_t)nodes, &p, 20 + i, 0, 0, 365 * SIM_DAY);
        bench_run(&b, 365 * SIM_DAY);
        double expected = expect_failures(&cases[i], nodes, year);
        double seen = (double)supply_totals(b.supply)->failures;
        cr_expect_lt(fabs(seen - expected), SAME * sqrt(expected), "case %zu: %.0f, expected %.1f",
                     i, seen, expected);
        cr_expect_geq(expected, 500);
        bench_fini(&b);
    }
}

/* Two classes of repair: failed share = rate x mean repair / (1 + rate x mean repair). */
Test(supply, repairs_take_their_time)
{
    const struct supply_plan p = {.failure = {.per_1000_node_days = 50,
                                              .reboot_share = 0.75,
                                              .repair_reboot = fixed(1800),
                                              .repair_part = {DIST_EXPONENTIAL, 48 * 3600, 0}}};
    struct bench b;
    const double days = 400, nodes = 1000;
    bench_init(&b, (uint32_t)nodes, &p, 8, 0, 10 * SIM_DAY, 410 * SIM_DAY);
    bench_run(&b, 410 * SIM_DAY);
    double repair = 0.75 * 1800 + 0.25 * 48 * 3600, rate = 0.05 / 86400;
    double exact = rate * repair / (1 + rate * repair);
    double second = 0.75 * 1800 * 1800 + 0.25 * 2 * pow(48 * 3600, 2);
    double n = nodes * days * 86400 * rate;
    double se = sqrt(n * second) / (nodes * days * 86400);
    double seen = gpu_s(&b, GPU_FAILED) / 8 / (nodes * days * 86400);
    cr_expect_lt(fabs(seen - exact), SAME * se, "%.6f, exactly %.6f, error %.6f", seen, exact, se);
    const struct supply_totals *totals = supply_totals(b.supply);
    cr_expect_lt(fabs((double)totals->failures - (double)totals->repairs), 200);
    bench_fini(&b);
}

/* ---- recorded traces ---- */

static struct supply_event by_name[] = {
    {10 * SIM_S, 0, -1, ""}, {10 * SIM_S, 1, -1, ""}, {15 * SIM_S, 0, 1, ""},
    {40 * SIM_S, 1, 1, ""},  {70 * SIM_S, 2, -1, ""}, {95 * SIM_S, 2, 1, ""},
};

/* Up again at 15, 40, 95: out for 5 + 30 + 25 node-seconds in each 100. */
Test(supply, a_trace_of_nodes_is_replayed_exactly)
{
    const struct supply_trace t = {by_name, 6, 3, 3, 100 * SIM_S};
    for (uint32_t replication = 0; replication < 5; replication++)
        for (int failures = 0; failures < 2; failures++) {
            struct supply_plan p = {.kind = SUPPLY_SPOT};
            p.spot.trace = failures ? NULL : &t;
            p.failure.trace = failures ? &t : NULL;
            p.spot.trace_loop = p.failure.trace_loop = true;
            struct bench b;
            bench_init(&b, 4, &p, 1, replication, 0, 1000 * SIM_S);
            bench_run(&b, 1000 * SIM_S);
            cr_expect_float_eq(gpu_s(&b, failures ? GPU_FAILED : GPU_ABSENT), 8 * 600.0, 1e-6);
            cr_expect_eq(failures ? supply_totals(b.supply)->failures
                                  : supply_totals(b.supply)->losses,
                         replication == 0 ? 30u
                         : failures       ? supply_totals(b.supply)->failures
                                          : supply_totals(b.supply)->losses);
            bench_fini(&b);
        }
}

Test(supply, a_trace_that_is_held_stays_at_its_end)
{
    const struct supply_trace t = {by_name, 5, 3, 3, 100 * SIM_S};
    const struct supply_plan p = {.kind = SUPPLY_SPOT, .spot = {.trace = &t}};
    struct bench b;
    bench_init(&b, 4, &p, 1, 3, 0, 1000 * SIM_S);
    bench_run(&b, 1000 * SIM_S);
    cr_expect_float_eq(gpu_s(&b, GPU_ABSENT), 8 * (5 + 30 + 930.0), 1e-6);
    bench_fini(&b);
}

static bool closed_are(const struct bench *b, const char *closed)
{
    for (uint32_t i = 0; closed[i]; i++)
        if (fleet_node_closed(b->fleet, i) != (closed[i] == 'x'))
            return false;
    return true;
}

/* 3 of 5 nodes, then 1, 4, 2: the highest go, the lowest come. */
Test(supply, a_trace_of_counts_takes_the_highest_and_returns_the_lowest)
{
    struct supply_event rows[] = {
        {10 * SIM_S, SUPPLY_ANY_NODE, -2, ""},
        {20 * SIM_S, SUPPLY_ANY_NODE, 3, ""},
        {30 * SIM_S, SUPPLY_ANY_NODE, -2, ""},
    };
    const struct supply_trace t = {rows, 3, 4, 3, 40 * SIM_S};
    const struct supply_plan p = {.kind = SUPPLY_SPOT, .spot = {.trace = &t, .trace_loop = true}};
    struct bench b;
    bench_init(&b, 5, &p, 1, 0, 0, 4000 * SIM_S);
    cr_expect(closed_are(&b, "...xx"));
    for (simtime_ns lap = 0; lap < 2; lap++) {
        bench_run(&b, (40 * lap + 11) * SIM_S);
        cr_expect(closed_are(&b, ".xxxx"));
        bench_run(&b, (40 * lap + 21) * SIM_S);
        cr_expect(closed_are(&b, "....x"));
        bench_run(&b, (40 * lap + 31) * SIM_S);
        cr_expect(closed_are(&b, "..xxx"));
        bench_run(&b, (40 * lap + 41) * SIM_S);
        cr_expect(closed_are(&b, "...xx"));
    }
    bench_run(&b, 4000 * SIM_S);
    cr_expect_float_eq(gpu_s(&b, GPU_FREE), 8 * 100 * (30 + 10 + 40 + 20.0), 1e-6);
    bench_fini(&b);
}

/* A notice that the trace takes back leaves the node where it is. */
Test(supply, a_node_back_within_its_notice_was_not_lost)
{
    struct supply_event rows[] = {{10 * SIM_S, 0, -1, ""}, {40 * SIM_S, 0, 1, ""}};
    const struct supply_trace t = {rows, 2, 1, 1, 40 * SIM_S};
    const struct supply_plan p = {.kind = SUPPLY_SPOT,
                                  .spot = {.trace = &t, .notice_ns = 60 * SIM_S}};
    struct bench b;
    bench_init(&b, 2, &p, 1, 0, 0, 200 * SIM_S);
    bench_run(&b, 200 * SIM_S);
    cr_expect_eq(supply_totals(b.supply)->notices, 1);
    cr_expect_eq(supply_totals(b.supply)->losses, 0);
    cr_expect_float_eq(gpu_s(&b, GPU_ABSENT), 8 * 30.0, 1e-6);
    bench_fini(&b);
}

/* ---- price ---- */

/* $1 for 10 min, $4 for 5 min, $2 for 15 min, again and again, on the 8 GPUs of 3 nodes, of which
 * one is not there from 20 to 30 min of each half hour. */
Test(supply, cost_is_the_integral_of_price_and_supply)
{
    struct price_step steps[] = {{0, 1}, {10 * SIM_MIN, 4}, {15 * SIM_MIN, 2}};
    const struct price_trace path = {steps, 3, 30 * SIM_MIN};
    struct supply_event rows[] = {{20 * SIM_MIN, 0, -1, ""}, {30 * SIM_MIN, 0, 1, ""}};
    const struct supply_trace t = {rows, 2, 1, 1, 30 * SIM_MIN};
    const struct supply_plan p = {
        .kind = SUPPLY_SPOT, .price = &path, .spot = {.trace = &t, .trace_loop = true}};
    struct bench b;
    bench_init(&b, 3, &p, 1, 0, 12 * SIM_MIN, 5 * SIM_HOUR);
    bench_run(&b, 5 * SIM_HOUR);
    double lap = 24 * (10 * 1 + 5 * 4 + 15 * 2) - 8 * 10 * 2; /* $ x minutes */
    double exact = (10 * lap - 24 * (10 * 1 + 2 * 4)) / 60;   /* ten laps less 12 min */
    double mean = (10 * (10 * 1 + 5 * 4 + 15 * 2) - 18) / 288.0;
    cr_expect_float_eq(supply_cost_usd(b.supply, LEDGER_NOBODY, GPU_FREE), exact, 1e-9 * exact);
    cr_expect_eq(supply_cost_usd(b.supply, LEDGER_NOBODY, GPU_ABSENT), 0);
    cr_expect_float_eq(supply_mean_price(b.supply), mean, 1e-9 * mean);
    bench_fini(&b);
}

Test(supply, a_constant_price_is_exact)
{
    const struct supply_plan p = {.kind = SUPPLY_RESERVED};
    struct bench b;
    bench_init(&b, 5, &p, 1, 0, 0, 1000 * SIM_HOUR);
    bench_run(&b, 7 * SIM_S);
    bench_run(&b, 1000 * SIM_HOUR);
    cr_expect_float_eq(supply_cost_usd(b.supply, LEDGER_NOBODY, GPU_FREE), 40 * 1000 * 2.0, 1e-9);
    cr_expect_eq(supply_mean_price(b.supply), 2);
    bench_fini(&b);
}

/* ---- roll-outs ---- */

static const struct maintenance_plan upgrade = {.start_ns = SIM_HOUR,
                                                .every_ns = SIM_NEVER,
                                                .nodes = 16,
                                                .work = {DIST_FIXED, 2700, 0},
                                                .drain_limit_ns = SIM_HOUR};

Test(supply, a_roll_out_takes_its_waves)
{
    const struct supply_plan p = {.maintenance = &upgrade, .n_maintenance = 1};
    struct bench b;
    bench_init(&b, 250, &p, 1, 0, 0, SIM_DAY);
    bench_run(&b, SIM_DAY);
    const struct supply_totals *n = supply_totals(b.supply);
    cr_expect_eq(n->roll_outs, 1);
    cr_expect_eq(n->upgraded, 250);
    cr_expect_eq(n->drained, 250);
    cr_expect_eq(n->roll_out_ns, rollout_waves(250, 16) * 2700 * SIM_S);
    cr_expect_eq(n->roll_out_begin_ns, SIM_HOUR);
    cr_expect_eq(n->roll_out_end_ns, SIM_HOUR + n->roll_out_ns);
    cr_expect_float_eq(gpu_s(&b, GPU_MAINTENANCE), 250 * 8 * 2700.0, 1e-6);
    bench_fini(&b);
}

/* Waves of a random order that touch nodes 0..63 of 256, against the hypergeometric mean. */
Test(supply, random_waves_touch_a_job_as_often_as_they_should)
{
    struct maintenance_plan m = upgrade;
    m.order = ROLL_AT_RANDOM;
    const struct supply_plan p = {.maintenance = &m, .n_maintenance = 1};
    double sum = 0, squares = 0;
    const int repeats = 400;
    for (int i = 0; i < repeats; i++) {
        struct bench b;
        int touched = 0;
        bench_init(&b, 128, &p, (uint64_t)i, 0, 0, SIM_DAY);
        for (simtime_ns wave = 0; wave < 8; wave++) {
            bool touches = false;
            bench_run(&b, SIM_HOUR + wave * 2700 * SIM_S + SIM_MIN);
            for (uint32_t node = 0; node < 12; node++)
                touches = touches || fleet_node_closed(b.fleet, node);
            touched += touches;
        }
        bench_fini(&b);
        sum += touched;
        squares += touched * touched;
    }
    double mean = sum / repeats, exact = rollout_restarts_random(128, 16, 12);
    double se = sqrt((squares / repeats - mean * mean) / repeats);
    cr_expect_lt(fabs(mean - exact), SAME * se, "%.4f, exactly %.4f, error %.4f", mean, exact, se);
    cr_expect_lt(se, 0.01 * exact);
}

/* Every node that fails its upgrade is repaired once; binomial. */
Test(supply, upgrades_fail_at_their_share)
{
    struct maintenance_plan m = upgrade;
    m.nodes = 0;
    m.share = 0.25;
    m.fail_share = 0.02;
    m.every_ns = 6 * SIM_HOUR;
    const struct supply_plan p = {
        .failure = {.reboot_share = 1, .repair_reboot = fixed(1800), .repair_part = fixed(1)},
        .maintenance = &m,
        .n_maintenance = 1};
    struct bench b;
    bench_init(&b, 256, &p, 4, 0, 0, 100 * SIM_DAY);
    bench_run(&b, 100 * SIM_DAY);
    const struct supply_totals *n = supply_totals(b.supply);
    double expected = 0.02 * (double)n->upgraded;
    cr_expect_eq(n->roll_outs, 400);
    cr_expect_geq(n->upgraded, 400 * 250);
    cr_expect_lt(fabs((double)n->upgrades_failed - expected), SAME * sqrt(expected * 0.98));
    cr_expect_float_eq(gpu_s(&b, GPU_FAILED), 8 * 1800 * (double)n->upgrades_failed, 8 * 1800 * 3);
    bench_fini(&b);
}

/* ---- with claimants ---- */

struct rigged {
    struct rig rig;
    struct supply *supply;
    struct fleet_plan plan;
};

static void rigged_init(struct rigged *r, uint32_t nodes, const struct supply_plan *p)
{
    struct rig_plan plan = rig_plan_of(nodes, VICTIM_YOUNGEST);
    plan.grace_ns = 120 * SIM_S;
    plan.teardown_s = plan.scrub_s = 0;
    rig_init(&r->rig, &plan);
    r->plan = (struct fleet_plan){.name = "pool", .price_usd_per_gpu_h = 2, .supply = *p};
    const struct pool pool = {.fleet = r->rig.fleet, .ledger = r->rig.ledger};
    r->supply = supply_new(&r->plan, r->rig.engine, &pool, TOY_MAX + 1, 1, 0, 0);
    cr_assert(r->supply);
    supply_start(r->supply);
}

static void rigged_fini(struct rigged *r)
{
    supply_free(r->supply);
    rig_fini(&r->rig);
}

struct wish {
    uint32_t left, gpus;
    enum shape_kind kind;
    lease_id got[8];
    uint32_t n;
};

static void take_what_there_is(struct toy *t, simtime_ns now)
{
    struct wish *w = t->context;
    (void)now;
    while (w->left > 0) {
        const struct ask ask = {.shape = {.gpus = w->gpus, .kind = w->kind}};
        lease_id l;
        if (fleet_acquire(t->rig->fleet, t->number, &ask, GPU_TRAINING, &l) != GRANT_OK)
            return;
        w->got[w->n++] = l;
        w->left--;
    }
}

/* One node at the start. Three starts of a node: the first at once, the others one after the other,
 * each asking when it is refused; then the nodes go as they stand idle. */
Test(supply, on_demand_nodes_come_and_go)
{
    const struct supply_plan p = {
        .kind = SUPPLY_ON_DEMAND,
        .on_demand = {.initial = 1, .provision = fixed(100), .idle_release_ns = 600 * SIM_S}};
    struct rigged r;
    rigged_init(&r, 2, &p);
    struct toy *t = rig_add(&r.rig, &toy_low);
    struct wish w = {.left = 3, .gpus = 8};
    t->context = &w;
    t->turn = take_what_there_is;
    fleet_want_pass(r.rig.fleet);
    rig_run(&r.rig, 99 * SIM_S);
    cr_expect_eq(w.n, 1);
    cr_expect_eq(supply_totals(r.supply)->requested, 1);
    rig_run(&r.rig, 101 * SIM_S);
    cr_expect_eq(w.n, 2);
    rig_run(&r.rig, 200 * SIM_S);
    cr_expect_eq(w.n, 2, "the limit is two nodes");
    fleet_stop_at(r.rig.fleet, w.got[0], 200 * SIM_S, 0);
    rig_run(&r.rig, 300 * SIM_S);
    cr_expect_eq(w.n, 3);
    fleet_stop_at(r.rig.fleet, w.got[1], 300 * SIM_S, 0);
    fleet_stop_at(r.rig.fleet, w.got[2], 400 * SIM_S, 0);
    rig_run(&r.rig, 899 * SIM_S);
    cr_expect_eq(fleet_free_gpus(r.rig.fleet), 16);
    rig_run(&r.rig, 901 * SIM_S);
    cr_expect_eq(fleet_free_gpus(r.rig.fleet), 8);
    rig_run(&r.rig, 1001 * SIM_S);
    cr_expect_eq(fleet_free_gpus(r.rig.fleet), 0);
    cr_expect_eq(supply_totals(r.supply)->released, 2);
    cr_expect_eq(supply_totals(r.supply)->provisioned, 1);
    rigged_fini(&r);
}

/* A node that opens is offered to a pass before it counts as idle: without delay and idle time each
 * start has its node. */
Test(supply, a_node_is_offered_before_it_is_given_back)
{
    const struct supply_plan p = {.kind = SUPPLY_ON_DEMAND,
                                  .on_demand = {.provision = fixed(0), .idle_release_ns = 0}};
    struct rigged r;
    rigged_init(&r, 4, &p);
    struct toy *t = rig_add(&r.rig, &toy_low);
    struct wish w = {.left = 3, .gpus = 8};
    t->context = &w;
    t->turn = take_what_there_is;
    rig_run(&r.rig, 10 * SIM_S);
    fleet_want_pass(r.rig.fleet);
    rig_run(&r.rig, 10 * SIM_S + 1000);
    cr_assert_eq(w.n, 3);
    cr_expect_eq(fleet_free_gpus(r.rig.fleet), 0);
    fleet_stop_at(r.rig.fleet, w.got[1], 20 * SIM_S, 0);
    rig_run(&r.rig, 20 * SIM_S + 1000);
    cr_expect_eq(supply_totals(r.supply)->released, 1);
    cr_expect_eq(fleet_free_gpus(r.rig.fleet), 0);
    rigged_fini(&r);
}

/* Where one node is half taken, a start of all four finds no place: the other three come once and
 * stay until it has one, or until it waits no longer. */
static void lack_a_place(bool withdrawn)
{
    const struct supply_plan p = {.kind = SUPPLY_ON_DEMAND,
                                  .on_demand = {.provision = fixed(0), .idle_release_ns = 0}};
    struct rigged r;
    rigged_init(&r, 4, &p);
    struct toy *t = rig_add(&r.rig, &toy_low);
    struct wish w = {.left = 1, .gpus = 4};
    t->context = &w;
    t->turn = take_what_there_is;
    fleet_want_pass(r.rig.fleet);
    rig_run(&r.rig, 10 * SIM_S);
    cr_assert_eq(w.n, 1);
    w.left = 1;
    w.gpus = 32;
    w.kind = SHAPE_WHOLE_NODES;
    uint32_t turns = t->n_turns;
    fleet_want_pass(r.rig.fleet);
    rig_run(&r.rig, 10 * SIM_S + 1000);
    cr_expect_eq(w.n, 1);
    cr_expect_eq(supply_totals(r.supply)->requested, 4);
    cr_expect_leq(t->n_turns - turns, 3, "%u passes", t->n_turns - turns);
    cr_expect_eq(supply_totals(r.supply)->released, 0);
    w.left = !withdrawn;
    fleet_want_pass(r.rig.fleet);
    rig_run(&r.rig, 11 * SIM_S);
    cr_expect_eq(supply_totals(r.supply)->released, withdrawn ? 3 : 0);
    w.left = 1;
    fleet_stop_at(r.rig.fleet, w.got[0], 20 * SIM_S, 0);
    rig_run(&r.rig, 20 * SIM_S + 1000);
    cr_assert_eq(w.n, 2, "with the half node free there is a place");
    fleet_stop_at(r.rig.fleet, w.got[1], 30 * SIM_S, 0);
    rig_run(&r.rig, 30 * SIM_S + 1000);
    cr_expect_eq(supply_totals(r.supply)->released, withdrawn ? 7 : 4);
    rigged_fini(&r);
}

Test(supply, nodes_stay_while_a_start_lacks_a_place)
{
    lack_a_place(false);
    lack_a_place(true);
}

static void swap_node(struct toy *t, lease_id l, simtime_ns now)
{
    uint32_t node;
    if (!fleet_replace(t->rig->fleet, l, &node))
        fleet_stop_at(t->rig->fleet, l, now, 0);
}

/* Node 0 fails, the spare (node 3) takes its place, and node 0 is the spare once it is repaired. */
Test(supply, a_repaired_node_becomes_the_spare)
{
    struct supply_event rows[] = {{10 * SIM_S, 0, -1, ""}, {50 * SIM_S, 0, 1, ""}};
    const struct supply_trace t = {rows, 2, 1, 1, 50 * SIM_S};
    const struct supply_plan p = {.spares = 1, .failure = {.trace = &t}};
    struct rigged r;
    rigged_init(&r, 4, &p);
    struct toy *toy = rig_add(&r.rig, &toy_low);
    toy->on_failed = swap_node;
    lease_id l = toy_acquire(toy, SHAPE_PREFER_WHOLE, 24, GPU_TRAINING, 0);
    cr_expect_eq(fleet_free_gpus(r.rig.fleet), 0);
    rig_run(&r.rig, 11 * SIM_S);
    cr_expect_eq(fleet_lease_gpus(r.rig.fleet, l), 24);
    cr_expect_eq(fleet_spares(r.rig.fleet), 0);
    rig_run(&r.rig, 51 * SIM_S);
    cr_expect_eq(fleet_spares(r.rig.fleet), 1);
    cr_expect_eq(fleet_free_gpus(r.rig.fleet), 0);
    rigged_fini(&r);
}

/* The worksheet's roll-out: 256 nodes, 16 at a time, each drained for 120 s and upgraded in 45 min:
 * 12.5333 h. */
Test(supply, a_roll_out_under_work_takes_drain_and_upgrade)
{
    struct maintenance_plan m = upgrade;
    m.wait = ROLL_WAIT_NONE;
    const struct supply_plan p = {.maintenance = &m, .n_maintenance = 1};
    struct rigged r;
    rigged_init(&r, 256, &p);
    struct toy *t = rig_add(&r.rig, &toy_low);
    t->stop_ns = 120 * SIM_S;
    for (uint32_t i = 0; i < 256; i++)
        toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, i);
    rig_run(&r.rig, 20 * SIM_HOUR);
    const struct supply_totals *n = supply_totals(r.supply);
    cr_expect_eq(n->roll_out_ns, 16 * (120 + 2700) * SIM_S);
    cr_expect_eq(n->forced, 256);
    cr_expect_eq(n->drained, 0);
    rigged_fini(&r);
}
