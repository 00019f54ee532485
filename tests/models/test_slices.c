/* MIG instances in a fleet: worked cases, and random starts, stops, failures and maintenance whose
 * ledgers of memory and of compute slices balance before each event. */
#include "draw.h"
#include "mig_kit.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static enum grant acquire(struct toy *t, struct shape shape, lease_id *l)
{
    const struct ask ask = {.shape = shape};
    return fleet_acquire(t->rig->fleet, t->number, &ask, GPU_TRAINING, l);
}

/* The owner's or nobody's slices in a state, memory and compute. */
static void has(const struct rig *r, const struct toy *t, enum gpu_state s, uint64_t memory,
                uint64_t compute)
{
    uint32_t owner = t ? t->number + 1 : LEDGER_NOBODY;
    cr_assert_eq(ledger_shares(r->ledger, owner, s), memory);
    cr_assert_eq(ledger_shares(r->compute, owner, s), compute);
}

Test(slices, two_instances_of_three_leave_a_compute_slice)
{
    struct mig_tables *t = mig_kit_tables();
    const struct rig_plan plan = mig_kit_plan(t, 1, 1);
    struct rig r;
    lease_id a, b, c;
    rig_init(&r, &plan);
    struct toy *toy = rig_add(&r, &toy_low);
    cr_assert_eq(acquire(toy, mig_kit_slice(t, "3g.40gb"), &a), GRANT_OK);
    cr_assert_eq(acquire(toy, mig_kit_slice(t, "3g.40gb"), &b), GRANT_OK);
    has(&r, toy, GPU_TRAINING, 8, 6);
    has(&r, NULL, GPU_FREE, 0, 1);
    cr_assert_eq(acquire(toy, mig_kit_slice(t, "1g.10gb"), &c), GRANT_ROOM);
    fleet_stop_at(r.fleet, a, 0, 0);
    rig_run(&r, 6 * SIM_S); /* torn down */
    has(&r, NULL, GPU_SCRUBBING, 4, 3);
    rig_run(&r, 10 * SIM_S);
    has(&r, NULL, GPU_RECONFIGURING, 4, 3);
    rig_run(&r, 12 * SIM_S);
    has(&r, NULL, GPU_FREE, 4, 4);
    /* The first was put at 4, where a 4g cannot begin. */
    cr_assert_eq(acquire(toy, mig_kit_slice(t, "4g.40gb"), &a), GRANT_SHAPE);
    rig_fini(&r);
    free(t);
}

/* Public question, kubernetes-sigs/dra-driver-nvidia-gpu#933: free slices that hold no 3g. */
Test(slices, free_memory_may_hold_no_profile)
{
    struct mig_tables *t = mig_kit_tables();
    struct rig_plan plan = mig_kit_plan(t, 1, 1);
    plan.sharing.rule = MIG_FIRST;
    struct rig r;
    lease_id l[6], more;
    rig_init(&r, &plan);
    struct toy *toy = rig_add(&r, &toy_low);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(acquire(toy, mig_kit_slice(t, "1g.10gb"), &l[i]), GRANT_OK);
    for (int i = 2; i < 5; i++)
        fleet_stop_at(r.fleet, l[i], 0, 0);
    rig_run(&r, SIM_MIN); /* instances at 0, 1 and 5 are left */
    cr_assert_eq(fleet_free_gpus(r.fleet), 5);
    cr_assert_eq(acquire(toy, mig_kit_slice(t, "3g.40gb"), &more), GRANT_SHAPE);
    cr_assert_eq(acquire(toy, mig_kit_slice(t, "2g.20gb"), &more), GRANT_OK);
    toy->share = 1u << mig_profile_find(&t->gpu, "2g.20gb"); /* one more waits, in vain */
    fleet_want_pass(r.fleet);
    rig_run(&r, SIM_MIN + SIM_S);
    has(&r, NULL, GPU_STRANDED, 3, 2);
    rig_fini(&r);
    free(t);
}

Test(slices, other_shapes_are_not_for_slices_and_nobody_collects_them)
{
    struct mig_tables *t = mig_kit_tables();
    const struct rig_plan plan = mig_kit_plan(t, 1, 1);
    struct rig r;
    lease_id l;
    rig_init(&r, &plan);
    struct toy *low = rig_add(&r, &toy_low);
    cr_assert_eq(toy_try_acquire(low, SHAPE_ONE_NODE, 1), GRANT_NEVER);
    cr_assert_eq(acquire(low, mig_kit_slice(t, "7g.80gb"), &l), GRANT_OK);
    const struct ask ask = {.shape = mig_kit_slice(t, "1g.10gb")};
    cr_assert_eq(fleet_reclaim(r.fleet, low->number, &ask, 0, &l), GRANT_ROOM);
    cr_assert_eq(fleet_collect(r.fleet, low->number, &ask, &l), GRANT_ROOM);
    cr_assert_eq(low->n_evicted, 0);
    rig_fini(&r);
    free(t);
}

/* ---- random ---- */

enum { MOST = 64 };

struct play {
    struct rig rig;
    struct toy *toys[2], *high;
    lease_id held[MOST], coming[MOST]; /* assembling */
    uint32_t n, n_coming, granted;
    uint64_t seed;
    struct slice_layout layouts[4];
};

/* Every third GPU to be re-laid, whole or made on demand. */
static void lay(struct play *p, const struct mig_tables *t, struct mig_kit_layout *const fixed[3],
                struct rig_plan *plan)
{
    uint32_t gpus = plan->nodes * plan->gpus_per_node;
    for (int i = 0; i < 4; i++)
        p->layouts[i] = (struct slice_layout){
            .mig = i < 3 ? &fixed[i]->tables : t,
            .gpus = i == 0   ? 0
                    : i == 3 ? gpus - gpus / 3 * 2
                             : gpus / 3,
            .fixed = i < 3,
            .target = i < 2,
            .reconfigure_ns = i == 3 ? 2 * SIM_S : 0,
        };
    plan->sharing.layouts = p->layouts;
    plan->sharing.n_layouts = 4;
    plan->sharing.larger = p->seed % 4 < 2;
    plan->sharing.relayout_ns = 37 * SIM_S;
    plan->sharing.keep_ns = p->seed % 8 * SIM_S;
}

static void forget(struct toy *toy, lease_id l, simtime_ns now)
{
    struct play *p = toy->context;
    (void)now;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->held[i] == l)
            p->held[i--] = p->held[--p->n];
}

static void withdrawn(struct toy *toy, lease_id l, simtime_ns now)
{
    struct play *p = toy->context;
    (void)now;
    for (uint32_t i = 0; i < p->n_coming; i++)
        if (p->coming[i] == l)
            p->coming[i--] = p->coming[--p->n_coming];
}

static void granted(struct toy *toy, lease_id l, simtime_ns now)
{
    struct play *p = toy->context;
    withdrawn(toy, l, now);
    p->held[p->n++] = l;
    p->granted++;
}

static void lost(struct toy *toy, lease_id l, simtime_ns now)
{
    forget(toy, l, now);
    fleet_stop_at(toy->rig->fleet, l, now, 0);
}

static void step(struct play *p, const struct mig_tables *t)
{
    struct fleet *f = p->rig.fleet;
    uint32_t node = draw_below(&p->seed, fleet_nodes(f)), what = draw_below(&p->seed, 25);
    lease_id l;
    if (what < 10 && p->n + p->n_coming < MOST) {
        uint8_t profile = (uint8_t)draw_below(&p->seed, t->gpu.n_profiles);
        struct toy *toy = p->toys[draw_below(&p->seed, 2)];
        if (acquire(toy, mig_kit_slice(t, t->gpu.profiles[profile].name), &l) == GRANT_OK)
            p->held[p->n++] = l;
    } else if (what < 16 && p->n > 0) {
        l = p->held[draw_below(&p->seed, p->n)];
        forget(p->toys[0], l, 0);
        fleet_stop_at(f, l, engine_now(p->rig.engine), 0);
    } else if (what == 16 && fleet_node_closed(f, node)) {
        fleet_node_open(f, node);
    } else if (what == 17) {
        fleet_node_close(f, node, GPU_MAINTENANCE);
    } else if (what == 18) {
        fleet_node_fail(f, node, GPU_FAILED);
    } else if (what == 19 && fleet_node_closed(f, node)) {
        fleet_node_drain(f, node, 5 * SIM_S);
    } else if (what < 24 && p->n + p->n_coming < MOST) {
        uint8_t profile = (uint8_t)draw_below(&p->seed, t->gpu.n_profiles);
        const struct ask ask = {.shape = mig_kit_slice(t, t->gpu.profiles[profile].name)};
        if (fleet_reclaim(f, p->high->number, &ask, 0, &l) == GRANT_OK)
            p->coming[p->n_coming++] = l;
    } else if (what == 24 && p->n_coming > 0 && draw_below(&p->seed, 4) == 0) {
        l = p->coming[draw_below(&p->seed, p->n_coming)];
        withdrawn(p->high, l, 0);
        fleet_abandon(f, l);
    }
    p->toys[0]->share = draw_below(&p->seed, 1u << t->gpu.n_profiles);
    p->toys[1]->wants[draw_below(&p->seed, t->gpu.n_profiles)] = draw_below(&p->seed, 9) / 4;
    fleet_want_pass(f);
}

Test(slices, both_ledgers_balance_whatever_happens)
{
    struct mig_tables *t = mig_kit_tables();
    struct mig_kit_layout *const fixed[3] = {
        mig_kit_layout(t, "1g.10gb@0 1g.10gb@1 2g.20gb@2 3g.40gb@4"),
        mig_kit_layout(t, "3g.40gb@0 3g.40gb@4"), mig_kit_layout(t, "7g.80gb@0")};
    uint64_t relaid = 0, larger = 0, evictions = 0, grants = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct play *p = calloc(1, sizeof *p);
        cr_assert_not_null(p);
        p->seed = seed;
        struct rig_plan plan = mig_kit_plan(t, 3, 1 + (uint32_t)(seed % 8));
        plan.sharing.order = (enum mig_order)(seed % MIG_ORDERS);
        plan.sharing.rule = (enum mig_rule)(seed % MIG_RULES);
        if (seed >= 30)
            lay(p, t, fixed, &plan);
        plan.victims = (enum victim_rule)(seed % VICTIM_RULES);
        rig_init(&p->rig, &plan);
        for (int i = 0; i < 2; i++) {
            p->toys[i] = rig_add(&p->rig, &toy_low);
            p->toys[i]->context = p;
            p->toys[i]->on_evict = forget;
            p->toys[i]->on_failed = lost;
        }
        p->high = rig_add(&p->rig, &toy_high);
        p->high->context = p;
        p->high->on_evict = forget;
        p->high->on_failed = lost;
        p->high->on_granted = granted;
        p->high->on_withdrawn = withdrawn;
        for (uint64_t i = 1; i < 400; i++) {
            rig_run(&p->rig, i * SIM_S);
            step(p, t);
            rig_check(&p->rig);
        }
        for (uint32_t node = 0; node < 3; node++)
            if (fleet_node_closed(p->rig.fleet, node))
                fleet_node_open(p->rig.fleet, node);
        while (p->n_coming > 0)
            fleet_abandon(p->rig.fleet, p->coming[--p->n_coming]);
        while (p->n > 0)
            fleet_stop_at(p->rig.fleet, p->held[--p->n], engine_now(p->rig.engine), 0);
        p->toys[0]->share = 0;
        memset(p->toys[1]->wants, 0, sizeof p->toys[1]->wants);
        rig_run(&p->rig, SIM_HOUR);
        has(&p->rig, NULL, GPU_FREE, 24 * (1 + seed % 8), 21 * (1 + seed % 8));
        evictions += fleet_churn(p->rig.fleet)->evictions;
        grants += p->granted;
        relaid += fleet_churn(p->rig.fleet)->relayouts;
        larger += fleet_churn(p->rig.fleet)->larger;
        rig_fini(&p->rig);
        free(p);
    }
    cr_assert(relaid > 100 && larger > 100, "%llu, %llu", (unsigned long long)relaid,
              (unsigned long long)larger);
    cr_assert(evictions > 200 && grants > 100, "%llu, %llu", (unsigned long long)evictions,
              (unsigned long long)grants);
    for (int i = 0; i < 3; i++)
        free(fixed[i]);
    free(t);
}
