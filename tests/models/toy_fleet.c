/* The rig and its toys; toy_fleet.h says what they do. */
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const struct quota toy_low = {.ceiling_gpus = 1000000};
const struct quota toy_high = {.ceiling_gpus = 1000000,
                               .priority = 1,
                               .reclaim_within_cohort = COHORT_ANY,
                               .borrow_within_cohort = COHORT_LOWER_PRIORITY};

struct rig_plan rig_plan_of(uint32_t nodes, enum victim_rule rule)
{
    return (struct rig_plan){.nodes = nodes,
                             .gpus_per_node = 8,
                             .victims = rule,
                             .grace_ns = 30 * SIM_S,
                             .teardown_s = 6,
                             .scrub_s = 4};
}

void rig_check(void *rig)
{
    struct rig *r = rig;
    r->checks++;
    if (!ledger_conserves(r->ledger, engine_now(r->engine)))
        cr_assert_fail("the ledger does not conserve");
    if (r->compute && !ledger_conserves(r->compute, engine_now(r->engine)))
        cr_assert_fail("the ledger of compute slices does not conserve");
    if (!fleet_consistent(r->fleet))
        cr_assert_fail("the fleet is not consistent");
}

void rig_init_plan(struct rig *r, const struct fleet_plan *plan, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->engine = engine_new();
    uint32_t units = fleet_plan_gpus(plan) * fleet_plan_units_per_gpu(plan);
    r->ledger = ledger_new(TOY_MAX + 1, units, 0, SIM_DAY, SIM_HOUR);
    r->fleet = fleet_new(plan, r->engine, r->ledger, seed, 0);
    cr_assert(r->engine && r->ledger && r->fleet);
    if (fleet_plan_compute(plan)) {
        r->compute = ledger_new(TOY_MAX + 1, fleet_plan_compute(plan), 0, SIM_DAY, SIM_HOUR);
        cr_assert_not_null(r->compute);
        fleet_compute_set(r->fleet, r->compute);
    }
    engine_check_set(r->engine, rig_check, r);
}

void rig_init_groups(struct rig *r, const struct node_group *groups, size_t n,
                     const struct reclaim_plan *reclaim, uint64_t seed)
{
    const struct fleet_plan plan = {.groups = groups, .n_groups = n, .reclaim = *reclaim};
    rig_init_plan(r, &plan, seed);
}

void rig_init_cohorts(struct rig *r, const struct node_group *groups, size_t n,
                      const struct reclaim_plan *reclaim, const struct cohort *cohorts,
                      size_t n_cohorts, uint64_t seed)
{
    const struct fleet_plan plan = {.groups = groups,
                                    .n_groups = n,
                                    .reclaim = *reclaim,
                                    .cohorts = cohorts,
                                    .n_cohorts = n_cohorts};
    rig_init_plan(r, &plan, seed);
}

void rig_init(struct rig *r, const struct rig_plan *plan)
{
    const struct node_group group = {.nodes = plan->nodes, .gpus_per_node = plan->gpus_per_node};
    const struct reclaim_plan reclaim = {
        .victims = plan->victims,
        .grace_ns = plan->grace_ns,
        .teardown = {.kind = DIST_FIXED, .mean_s = plan->teardown_s},
        .scrub = {.kind = DIST_FIXED, .mean_s = plan->scrub_s},
    };
    const struct fleet_plan fleet = {
        .groups = &group,
        .n_groups = 1,
        .reclaim = reclaim,
        .place = plan->place,
        .fabric = plan->fabric,
        .sharing = plan->sharing,
    };
    rig_init_plan(r, &fleet, 1);
}

void rig_fini(struct rig *r)
{
    rig_check(r);
    fleet_free(r->fleet);
    ledger_free(r->ledger);
    ledger_free(r->compute);
    engine_free(r->engine);
    for (uint32_t i = 0; i < r->n_toys; i++)
        free(r->toys[i]);
}

/* ---- a toy's callbacks ---- */

static void note(struct toy_event *log, uint32_t *n, lease_id l, simtime_ns now)
{
    cr_assert_lt(*n, TOY_LOG);
    log[(*n)++] = (struct toy_event){l, now};
}

static void schedule(void *self, simtime_ns now)
{
    struct toy *t = self;
    t->n_turns++;
    if (t->turn)
        t->turn(t, now);
}

static void granted(void *self, lease_id l, simtime_ns now)
{
    struct toy *t = self;
    note(t->granted, &t->n_granted, l, now);
    if (t->on_granted)
        t->on_granted(t, l, now);
}

static void evict(void *self, lease_id l, simtime_ns now, simtime_ns grace)
{
    struct toy *t = self;
    simtime_ns stop = t->stop_ns < grace ? t->stop_ns : grace;
    note(t->evicted, &t->n_evicted, l, now);
    fleet_stop_at(t->rig->fleet, l, now + stop, t->save_ns < stop ? t->save_ns : stop);
    if (t->on_evict)
        t->on_evict(t, l, now);
}

static uint64_t loss(void *self, lease_id l, simtime_ns now)
{
    (void)now;
    struct toy *t = self;
    return t->loss ? t->loss[fleet_lease_tag(t->rig->fleet, l)] : 0;
}

static uint32_t waiting_share(void *self)
{
    return ((struct toy *)self)->share;
}

static void waiting_slices(void *self, uint32_t n[MIG_PROFILES])
{
    const struct toy *t = self;
    for (int p = 0; p < MIG_PROFILES; p++)
        n[p] += t->wants[p];
}

static void released(void *self, lease_id l, simtime_ns now)
{
    struct toy *t = self;
    note(t->released, &t->n_released, l, now);
}

static void failed(void *self, lease_id l, uint32_t node, simtime_ns now)
{
    (void)node;
    struct toy *t = self;
    note(t->failed, &t->n_failed, l, now);
    if (t->on_failed)
        t->on_failed(t, l, now);
    else
        fleet_stop_at(t->rig->fleet, l, now, 0);
}

static void withdrawn(void *self, lease_id l, simtime_ns now)
{
    struct toy *t = self;
    note(t->withdrawn, &t->n_withdrawn, l, now);
    if (t->on_withdrawn)
        t->on_withdrawn(t, l, now);
}

struct toy *rig_add(struct rig *r, const struct quota *q)
{
    struct toy *t = calloc(1, sizeof *t);
    const struct claimant_ops ops = {
        .self = t,
        .schedule = schedule,
        .granted = granted,
        .evict = evict,
        .loss = loss,
        .waiting_share = waiting_share,
        .waiting_slices = waiting_slices,
        .released = released,
        .failed = failed,
        .withdrawn = withdrawn,
    };
    char name[] = "toy-0";
    cr_assert(t && r->n_toys < TOY_MAX);
    name[4] = (char)('0' + r->n_toys);
    t->rig = r;
    t->stop_ns = SIM_NEVER;
    cr_assert_eq(fleet_claimant_add(r->fleet, name, q, &ops, &t->number), HR_OK);
    cr_assert_eq(t->number, r->n_toys);
    r->toys[r->n_toys++] = t;
    return t;
}

void rig_run(struct rig *r, simtime_ns t)
{
    cr_assert_eq(engine_run(r->engine, t), HR_OK);
    while (engine_step(r->engine, t + 1))
        continue;
    rig_check(r);
}

lease_id toy_acquire(struct toy *t, enum shape_kind kind, uint32_t gpus, enum gpu_state s,
                     uint32_t tag)
{
    const struct ask ask = {.shape = {.gpus = gpus, .kind = kind}, .tag = tag};
    lease_id l = LEASE_NONE;
    cr_assert_eq(fleet_acquire(t->rig->fleet, t->number, &ask, s, &l), GRANT_OK);
    return l;
}

lease_id toy_reclaim(struct toy *t, enum shape_kind kind, uint32_t gpus)
{
    const struct ask ask = {.shape = {.gpus = gpus, .kind = kind}};
    lease_id l = LEASE_NONE;
    cr_assert_eq(fleet_reclaim(t->rig->fleet, t->number, &ask, 0, &l), GRANT_OK);
    return l;
}

/* Asks; what would be granted is taken. */
enum grant toy_try_acquire(struct toy *t, enum shape_kind kind, uint32_t gpus)
{
    const struct ask ask = {.shape = {.gpus = gpus, .kind = kind}};
    lease_id l;
    enum grant would = fleet_would(t->rig->fleet, t->number, &ask.shape);
    enum grant g = fleet_acquire(t->rig->fleet, t->number, &ask, GPU_TRAINING, &l);
    cr_assert_eq(would, g);
    return g;
}

enum grant toy_try_reclaim(struct toy *t, enum shape_kind kind, uint32_t gpus)
{
    const struct ask ask = {.shape = {.gpus = gpus, .kind = kind}};
    lease_id l;
    return fleet_reclaim(t->rig->fleet, t->number, &ask, 0, &l);
}

uint64_t rig_shares(const struct rig *r, const struct toy *owner, enum gpu_state s)
{
    return ledger_shares(r->ledger, owner ? owner->number + 1 : LEDGER_NOBODY, s);
}

const struct reclaim_row *rig_row(const struct rig *r, size_t i)
{
    size_t n;
    const struct reclaim_row *rows = fleet_reclaims(r->fleet, &n);
    cr_assert_lt(i, n);
    return &rows[i];
}
