/* Pools, supply, failures and maintenance: from the scenario to the plan, and who uses which pool.
 */
#include "kit.h"

#include "models/record.h"
#include "models/run.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char three[] =
    "scenario: three\n"
    "horizon: 2h\n"
    "fleet:\n"
    "  failures: {infant: {scale: 1000d, shape: 0.5}}\n"
    "  spares: 1\n"
    "  maintenance: [{start: 1h, share: 25%, wait: finish, order: random}]\n"
    "  pools:\n"
    "    flex: {nodes: 3, supply: on-demand, on_demand: {initial: 2, idle_release: never}, "
    "maintenance: [], spares: 0}\n"
    "    base: {nodes: 4}\n"
    "    cheap: {nodes: 8, supply: spot, price: $1/h, failures: 0, spot: {rate: 0.5/h, notice: "
    "30s, "
    "shocks: {every: 1d, share: 50%}}}\n"
    "services:\n"
    "  chat: {model: llama-3.1-8b, tensor_parallel: 1, traffic: {arrivals: poisson, rate: 5req/s, "
    "prompt: 100, output: 10}}\n"
    "training:\n"
    "  firm: {backlog: {gangs: [8GPU]}}\n"
    "  loose: {backlog: {gangs: [8GPU]}, tolerates_spot: yes}\n"
    "designs:\n"
    "  spot-mix: {floor: 16GPU, training_floor: {loose: 8GPU, firm: 8GPU}}\n"
    "  shared: {set: {training.firm.pools: [cheap, base]}}\n";

Test(supply, plain_fleets_are_one_reserved_pool)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    struct plan p = kit_plan(s, NULL);
    const struct supply_plan *u = &p.pools[0].supply;
    cr_expect_eq(p.n_pools, 1);
    cr_expect_eq(u->kind, SUPPLY_RESERVED);
    cr_expect_eq(u->failure.per_1000_node_days, 0, "no failures unless asked for");
    cr_expect_eq(u->n_maintenance, 0);
    cr_expect_eq(u->spares, 0);
    scenario_free(s);
}

Test(supply, pools_arrive_with_their_numbers)
{
    struct scenario *s = kit_load(three, NULL, 0);
    struct plan p = kit_plan(s, "shared");
    cr_assert_eq(p.n_pools, 3);
    const struct fleet_plan *flex = &p.pools[0], *base = &p.pools[1], *cheap = &p.pools[2];
    cr_expect_str_eq(flex->name, "flex");
    cr_expect_eq(flex->supply.kind, SUPPLY_ON_DEMAND);
    cr_expect_eq(flex->supply.on_demand.initial, 2);
    cr_expect_eq(flex->supply.on_demand.idle_release_ns, SIM_NEVER);
    cr_expect_eq(dist_mean_s(&flex->supply.on_demand.provision), 300);
    cr_expect_eq(flex->supply.n_maintenance, 0);
    cr_expect_eq(flex->supply.spares, 0);
    cr_expect_eq(flex->price_usd_per_gpu_h, 2.95);
    cr_expect_eq(base->price_usd_per_gpu_h, 2.35);
    cr_expect_eq(cheap->price_usd_per_gpu_h, 1);
    cr_expect_eq(base->supply.failure.per_1000_node_days, 3.8);
    cr_expect_eq(base->supply.failure.infant_scale_s, 1000 * 86400.0);
    cr_expect_eq(dist_mean_s(&base->supply.failure.repair_part), 48 * 3600);
    cr_expect_eq(base->supply.spares, 1);
    cr_assert_eq(base->supply.n_maintenance, 1);
    const struct maintenance_plan *m = base->supply.maintenance;
    cr_expect_eq(m->start_ns, SIM_HOUR);
    cr_expect_eq(m->every_ns, SIM_NEVER);
    cr_expect_eq(m->nodes, 0);
    cr_expect_eq(m->share, 0.25);
    cr_expect_eq(m->wait, ROLL_WAIT_FINISH);
    cr_expect_eq(m->order, ROLL_AT_RANDOM);
    cr_expect_eq(m->drain_limit_ns, 300 * SIM_S);
    cr_expect_eq(cheap->supply.failure.per_1000_node_days, 0);
    cr_expect_eq(cheap->supply.spot.life_s, 7200);
    cr_expect_eq(cheap->supply.spot.notice_ns, 30 * SIM_S);
    cr_expect_eq(cheap->supply.spot.shock_gap_s, 86400);
    cr_expect_eq(cheap->supply.spot.shock_share, 0.5);
    scenario_free(s);
}

static void claim_is(const struct pool_claim *c, uint32_t pool, uint32_t floor, uint32_t ceiling)
{
    cr_expect_eq(c->pool, pool, "pool %u", c->pool);
    cr_expect_eq(c->quota.floor_gpus, floor, "floor %u", c->quota.floor_gpus);
    cr_expect_eq(c->quota.ceiling_gpus, ceiling, "ceiling %u", c->quota.ceiling_gpus);
}

/* 24 GPUs on demand (0), 32 reserved (1), 64 spot (2). */
Test(supply, spot_mix_puts_everyone_where_they_belong)
{
    struct scenario *s = kit_load(three, NULL, 0);
    struct plan p = kit_plan(s, "spot-mix");
    cr_assert_eq(p.services[0].n_pools, 2);
    claim_is(&p.services[0].pools[0], 1, 16, 32);
    claim_is(&p.services[0].pools[1], 0, 0, 24);
    const struct tenant_plan *firm = queue_tenant(&p.queues[0], 0),
                             *loose = queue_tenant(&p.queues[1], 0);
    cr_assert_eq(firm->n_pools, 1);
    claim_is(&firm->pools[0], 1, 8, 32);
    cr_assert_eq(loose->n_pools, 2);
    claim_is(&loose->pools[0], 2, 0, 64);
    claim_is(&loose->pools[1], 1, 8, 32);
    scenario_free(s);
}

Test(supply, other_designs_use_all_pools_or_those_named)
{
    struct scenario *s = kit_load(three, NULL, 0);
    struct plan p = kit_plan(s, "shared");
    cr_assert_eq(p.services[0].n_pools, 3);
    claim_is(&p.services[0].pools[0], 0, 0, 24);
    claim_is(&p.services[0].pools[2], 2, 0, 64);
    const struct tenant_plan *firm = queue_tenant(&p.queues[0], 0);
    cr_assert_eq(firm->n_pools, 2);
    claim_is(&firm->pools[0], 2, 0, 64);
    claim_is(&firm->pools[1], 1, 0, 32);
    scenario_free(s);
}

Test(supply, runs_in_every_design)
{
    static const char *const designs[] = {"spot-mix", "shared"};
    struct scenario *s = kit_load(three, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct plan p = kit_plan(s, designs[i]);
        struct run_results r;
        cr_assert_eq(run_plan(&p, 0, NULL, &r), HR_OK);
        cr_expect_gt(r.pools[2].supply.notices, 0);
        cr_expect_geq(r.pools[1].supply.upgraded, 3);
        results_fini(&r);
    }
    scenario_free(s);
}

/* Node-time up of a recorded trace over its span, row by row. */
static double up_share(const struct supply_trace *t)
{
    double up = t->up_at_start, sum = 0, at = 0;
    for (size_t i = 0; i < t->n; i++) {
        sum += up * ((double)t->rows[i].at_ns - at);
        at = (double)t->rows[i].at_ns;
        up += t->rows[i].change;
    }
    sum += up * ((double)t->span_ns - at);
    return sum / t->nodes / (double)t->span_ns;
}

static double run_share(struct plan *p, const struct supply_trace *t, enum gpu_state state)
{
    struct run_results r;
    p->horizon_ns = t->span_ns;
    p->warmup_ns = 0;
    p->timeline_ns = t->span_ns / 4;
    cr_assert_eq(run_plan(p, 0, NULL, &r), HR_OK, "%s", plan_fault(p));
    double share = (double)r.ledger[results_account(0, state)] / r.fleet_gpus / (double)t->span_ns;
    results_fini(&r);
    return share;
}

static const char recorded[] =
    "scenario: recorded\n"
    "horizon: 2h\n"
    "fleet: {FLEET}\n"
    "training:\n"
    "  none: {backlog: {gangs: [8GPU]}}\n"
    "designs: {shared: {}}\n";

static void replay(const char *fleet, enum gpu_state state, double least, double most)
{
    char *text = kit_replace(recorded, "FLEET", fleet);
    struct scenario *s = kit_load_at(TEST_SOURCE_ROOT "/scenarios/test.yaml", text);
    struct plan p = kit_plan(s, NULL);
    const struct supply_plan *u = &p.pools[0].supply;
    const struct supply_trace *t = u->spot.trace ? u->spot.trace : u->failure.trace;
    double share = run_share(&p, t, state);
    double exact = (1 - up_share(t)) * t->nodes / p.pools[0].groups[0].nodes;
    cr_expect_float_eq(share, exact, 1e-9, "%.6f, recorded %.6f", share, exact);
    cr_expect(share >= least && share <= most, "%.4f", share);
    scenario_free(s);
    free(text);
}

/* Bamboo, p3: 24 of 32 nodes; InfiniteHBD: 2.3 % of the time of 400 nodes. */
Test(supply, recorded_traces_are_replayed_exactly)
{
    replay(
        "nodes: 32, gpus_per_node: 1, supply: spot, spot: {notice: 0s, trace: {format: "
        "bamboo-events, file: ../traces/data/bamboo/p3-trace.csv}}",
        GPU_ABSENT, 0.2, 0.3);
    replay(
        "nodes: 400, gpus_per_node: 1, failures: {trace: "
        "../traces/data/infinitehbd/fault_trace.json.gz}",
        GPU_FAILED, 0.02, 0.026);
}

/* Leaf groups of a fleet hold for its pools unless they name their own; the last may be smaller. */
Test(supply, leaf_groups_arrive_with_their_nodes)
{
    struct scenario *s = kit_load(
        "scenario: leaves\nhorizon: 2h\n"
        "fleet:\n  placement: topology\n  topology: {leaf: 4}\n  pools:\n"
        "    a: {nodes: 10}\n    b: {nodes: 6, topology: {leaves: [1, 5]}, placement: worst-fit}\n"
        "training:\n  big: {backlog: {gangs: [16GPU]}, placement: one-leaf}\n"
        "designs:\n  shared:\n",
        NULL, 0);
    struct plan p = kit_plan(s, NULL);
    const struct fabric *a = &p.pools[0].fabric, *b = &p.pools[1].fabric;
    cr_assert(a->n_leaves == 3 && b->n_leaves == 2);
    cr_assert(a->leaf_nodes[0] == 4 && a->leaf_nodes[1] == 4 && a->leaf_nodes[2] == 2);
    cr_assert(b->leaf_nodes[0] == 1 && b->leaf_nodes[1] == 5);
    cr_assert(p.pools[0].place == PLACE_TOPOLOGY && p.pools[1].place == PLACE_WORST_FIT);
    cr_assert_eq(p.queues[0].placement, SHAPE_ONE_LEAF);
    scenario_free(s);
}

/* One leaf switch of 32 nodes is a leaf group; another number of nodes in the fleet is said. */
Test(supply, leaf_groups_come_from_slurm)
{
    static const char text[] =
        "scenario: slurm\nhorizon: 2h\n"
        "fleet: {nodes: 32, topology: {file: " TEST_SOURCE_ROOT
        "/tests/traces/topology/slurm_topology_su32.conf}}\n"
        "training:\n  big: {backlog: {gangs: [16GPU]}, placement: one-leaf}\n"
        "designs:\n  shared:\n";
    struct scenario *s = kit_load(text, NULL, 0);
    struct plan p = kit_plan(s, NULL);
    cr_assert(p.pools[0].fabric.n_leaves == 1 && p.pools[0].fabric.leaf_nodes[0] == 32);
    scenario_free(s);

    s = kit_load(text, (const char *const[]){"fleet.nodes=31"}, 1);
    struct diags diags;
    diags_init(&diags);
    cr_assert_eq(scenario_plan(s, NULL, &diags, &p), HR_INPUT);
    cr_assert(strstr(diags.items[0].text, "it has 32 nodes, but there are 31 in fleet"));
    diags_fini(&diags);
    scenario_free(s);
}

/* Spines by one number and by a list; blocks of a file whose base blocks are NVSwitch domains. */
Test(supply, spines_arrive_with_their_leaf_groups)
{
    struct scenario *s = kit_load(
        "scenario: spines\nhorizon: 2h\n"
        "fleet:\n  placement: topology\n  pools:\n"
        "    a: {nodes: 10, topology: {leaf: 3, spine: 3}}\n"
        "    b: {nodes: 6, topology: {leaves: [1, 3, 2], spines: [1, 2]}}\n"
        "    c: {nodes: 32, topology: {domains: yes, file: " TEST_SOURCE_ROOT
        "/tests/traces/topology/slurm_topology_su32_block.conf}}\n"
        "training:\n  big: {backlog: {gangs: [16GPU]}, distance: {leaf: 0.9, leaves: 0.8, "
        "spines: 0.5}}\n"
        "designs:\n  shared:\n",
        NULL, 0);
    struct plan p = kit_plan(s, NULL);
    const struct fabric *a = &p.pools[0].fabric, *b = &p.pools[1].fabric, *c = &p.pools[2].fabric;
    cr_assert(a->n_leaves == 4 && a->n_spines == 2);
    cr_assert(a->spine_leaves[0] == 3 && a->spine_leaves[1] == 1);
    cr_assert(b->n_spines == 2 && b->spine_leaves[0] == 1 && b->spine_leaves[1] == 2);
    cr_assert(c->n_leaves == 8 && c->leaf_nodes[7] == 4 && c->n_spines == 1);
    cr_assert(c->spine_leaves[0] == 8);
    const uint32_t *ppm = p.queues[0].span_speed_ppm;
    cr_assert(ppm[SPAN_LEAF] == 900000 && ppm[SPAN_LEAVES] == 800000 && ppm[SPAN_SPINES] == 500000);
    scenario_free(s);
}

Test(supply, distance_slows_gangs)
{
    struct scenario *s = kit_load(
        "scenario: far\nhorizon: 2h\nfleet: {nodes: 8, topology: {leaf: 4}}\n"
        "training:\n  big: {backlog: {gangs: [16GPU]}, distance: {leaves: 0.8}}\n"
        "designs:\n  shared:\n",
        NULL, 0);
    struct plan p = kit_plan(s, NULL);
    cr_assert_eq(p.queues[0].span_speed_ppm[SPAN_NODE], 0);
    cr_assert_eq(p.queues[0].span_speed_ppm[SPAN_LEAF], 1000000);
    cr_assert_eq(p.queues[0].span_speed_ppm[SPAN_LEAVES], 800000);
    cr_assert_eq(p.queues[0].span_speed_ppm[SPAN_SPINES], 800000, "as across leaf groups");
    scenario_free(s);
}

/* ---- power ---- */

static const char capped[] =
    "scenario: capped\n"
    "horizon: 2h\n"
    "fleet: {nodes: 64, power: {POWER}}\n"
    "training:\n"
    "  big: {backlog: {gangs: [8GPU]}}\n"
    "designs: {shared: {}}\n";

static struct rack_plan racks_of(const char *power)
{
    char *text = kit_replace(capped, "POWER", power);
    struct scenario *s = kit_load(text, NULL, 0);
    struct plan p = kit_plan(s, NULL);
    struct rack_plan racks = p.pools[0].racks;
    cr_expect_eq(racks.power[0].gpus, 8);
    cr_expect_float_eq(racks.power[0].max_w, 10200, 1e-9);
    racks.power = NULL;
    scenario_free(s);
    free(text);
    return racks;
}

/* A rack has so many nodes as it is said, or as its limit holds; without a limit there are none. */
Test(supply, racks_follow_from_their_limit)
{
    struct rack_plan derived = racks_of("rack_limit: 40kW");
    cr_expect(derived.nodes == 3 && derived.limit_w == 40000 && !derived.slow);
    cr_expect_eq(racks_of("rack_limit: 30kW").nodes, 2);
    struct rack_plan four = racks_of("rack_limit: 40kW, rack: 4, cap: slow");
    cr_expect(four.nodes == 4 && four.slow);
    cr_expect_eq(racks_of("node_idle: 1.5kW").nodes, 0);
}

Test(supply, limits_that_hold_no_node_are_said)
{
    static const struct {
        const char *power, *said;
    } wrong[] = {
        {"rack_limit: 9kW", "one node alone draws up to 10.2 kW"},
        {"rack_limit: 20kW, rack: 8", "8 nodes that do nothing leave no power"},
        {"rack_limit: 20kW, rack: 10, cap: slow", "10 nodes draw 20 kW when they do nothing"},
        {"rack: 4", "rack and cap need a rack_limit"},
        {"rack_limit: 40kW, node_idle: 11kW", "a node draws 11000 W when it does nothing"},
        {"rack_limit: 40", "needs a unit"},
        {"rack_limit: 40kW}, sharing: {by: time-slicing, clients: 4", "those of fleet are shared"},
        {"rack_limit: 40kW}, spares: 2, topology: {leaf: 32", "a spare would take power"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *text = kit_replace(capped, "POWER", wrong[i].power);
        char *said = kit_refused(text, NULL, 0);
        cr_expect(strstr(said, wrong[i].said), "%s: %s", wrong[i].power, said);
        free(said);
        free(text);
    }
}

/* Of four clients each has a quarter of the speed and of the memory, or the speed that is stated; a
 * half (3g) has 4 of 8 memory slices and 60 of 132 SMs. */
Test(supply, parts_of_a_gpu_are_slower)
{
    static const char text[] =
        "scenario: parts\nhorizon: 2h\n"
        "fleet:\n  pools:\n    whole: {nodes: 1}\n    quarters: {nodes: 1, sharing: {by: mps, "
        "clients: 4}}\n    slices: {nodes: 1, sharing: mig}\n"
        "services:\n"
        "  chat: {model: llama-3.1-8b, precision: fp8, tensor_parallel: 1, pools: [quarters], "
        "traffic: {arrivals: poisson, rate: 1req/s, prompt: 100, output: 10}, "
        "slo: {ttft: {p95: 9s}}}\n"
        "designs:\n  shared:\n";
    struct step_time whole, part;
    uint64_t tokens, tokens_whole;
    struct scenario *s = kit_load(text, (const char *const[]){"services.chat.pools=[whole]"}, 1);
    whole = kit_plan(s, NULL).services[0].replica.step;
    tokens_whole = kit_plan(s, NULL).services[0].replica.kv_capacity_tokens;
    scenario_free(s);

    s = kit_load(text, NULL, 0);
    part = kit_plan(s, NULL).services[0].replica.step;
    tokens = kit_plan(s, NULL).services[0].replica.kv_capacity_tokens;
    cr_assert(part.a_ps == 4 * whole.a_ps && part.e_ps == 4 * whole.e_ps);
    cr_assert_lt(tokens, tokens_whole / 4, "the weights are in each client's memory");
    scenario_free(s);

    s = kit_load(text, (const char *const[]){"fleet.pools.quarters.sharing.client_speed=50%"}, 1);
    cr_assert_eq(kit_plan(s, NULL).services[0].replica.step.a_ps, 2 * whole.a_ps);
    scenario_free(s);

    s = kit_load(
        text, (const char *const[]){"services.chat.pools=[slices]", "services.chat.slice=3g.40gb"},
        2);
    const struct service_plan slice = kit_plan(s, NULL).services[0];
    cr_assert(slice.gpus_per_replica == 4 && slice.slice > 0);
    cr_assert_eq(slice.replica.step.a_ps, 2 * whole.a_ps);
    cr_assert_float_eq((double)slice.replica.step.e_ps, (double)whole.e_ps * 132 / 60, 1);
    scenario_free(s);
}

/* A quarter of 16 GPUs in halves, three whole, the rest as said; then a layout of each profile. */
Test(supply, gpus_of_a_pool_have_several_layouts)
{
    static const char text[] =
        "scenario: t\nhorizon: 2h\nfleet:\n  nodes: 2\n  sharing:\n    by: mig\n    layouts:\n"
        "      - {share: 25%, layout: [3g.40gb@0, 3g.40gb@4]}\n"
        "      - {gpus: 3, layout: [7g.80gb@0]}\n"
        "training:\n  small: {slice: 3g.40gb, drawn: {count: 5, classes: {one: {gpus: 1, work: "
        "1h}}}}\n"
        "designs:\n  shared:\n";
    struct scenario *s = kit_load(text, NULL, 0);
    struct sharing_plan plan = kit_plan(s, NULL).pools[0].sharing;
    cr_assert_eq(plan.n_layouts, 3);
    cr_assert(plan.layouts[0].gpus == 4 && plan.layouts[0].fixed && !plan.layouts[0].target);
    cr_assert(plan.layouts[1].gpus == 3 && plan.layouts[1].reconfigure_ns == 0);
    cr_assert(plan.layouts[2].gpus == 9 && !plan.layouts[2].fixed && !plan.larger);
    cr_assert_eq(plan.layouts[2].reconfigure_ns, 2 * SIM_S);
    cr_assert_eq(plan.layouts[0].mig->fits[plan.mig->empty][4], 2); /* 3g */
    cr_assert_eq(plan.layouts[0].mig->fits[plan.mig->empty][0], 0);
    scenario_free(s);
    const char *const sets[] = {"fleet.sharing.rest=whole", "fleet.sharing.relayout=one-profile",
                                "fleet.sharing.reconfigure=1s", "fleet.sharing.relayout_keep=1h"};
    s = kit_load(text, sets, 4);
    plan = kit_plan(s, NULL).pools[0].sharing;
    cr_assert_eq(plan.n_layouts, 3u + plan.mig->gpu.n_profiles);
    cr_assert(plan.layouts[2].gpus == 9 && plan.layouts[2].fixed && !plan.layouts[2].target);
    cr_assert_eq(plan.layouts[2].reconfigure_ns, SIM_S);
    for (uint8_t profile = 0; profile < plan.mig->gpu.n_profiles; profile++) {
        const struct slice_layout *l = &plan.layouts[3 + profile];
        cr_assert(l->target && l->fixed && l->gpus == 0);
        cr_assert_eq(l->mig->fits[plan.mig->empty][profile], plan.mig->gpu.profiles[profile].max);
    }
    cr_assert_eq(plan.relayout_ns, 37 * SIM_S);
    cr_assert_eq(plan.keep_ns, SIM_HOUR);
    scenario_free(s);
}
