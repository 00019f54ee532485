/* 1,000 random fleets (10,000 with HEADROOM_LONG): random nodes, quotas and stage lengths, and
 * claimants that acquire, reclaim, collect, change state, stop and abandon at random times, on
 * nodes that close, fail, drain, come back and stand by as spares in every second world. Before
 * every event the rig checks that the ledger conserves and the fleet is consistent; here quota and
 * the rows of finished reclaims are checked besides. */
#include "draw.h"
#include "models/capacity/fleet_internal.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { ACTORS = 4, COHORTS = 2, MOST_LEASES = 64, ACTIONS = 150 };

static bool chance(uint64_t *s, uint32_t percent)
{
    return draw_below(s, 100) < percent;
}

/* What an actor knows of its leases. */
struct actor {
    struct world *world;
    struct toy *toy;
    uint32_t largest; /* request */
    lease_id held[MOST_LEASES], assembling[MOST_LEASES];
    uint32_t n_held, n_assembling;
    timer_id timer;
};

struct world {
    uint64_t seed;
    struct rig rig;
    struct actor actors[ACTORS];
    uint32_t n_actors, n_cohorts, actions;
    timer_id nodes;    /* the next of what happens to nodes */
    bool nodes_change; /* in this world */
    bool limited;      /* racks have a power limit */
    bool closing;      /* nothing new starts */
    /* how much of it happened */
    uint32_t granted, evicted, abandoned, shared, failed, withdrawn, replaced, drained, collected,
        at_ceiling, at_limit;
    uint32_t most[16]; /* GPUs that each rack may have at work */
};

static void list_remove(lease_id *items, uint32_t *n, lease_id l)
{
    for (uint32_t i = 0; i < *n; i++)
        if (items[i] == l) {
            items[i] = items[--*n];
            return;
        }
    cr_assert_fail("a lease that is not its claimant's");
}

static void on_granted(struct toy *t, lease_id l, simtime_ns now)
{
    (void)now;
    struct actor *a = t->context;
    list_remove(a->assembling, &a->n_assembling, l);
    a->held[a->n_held++] = l;
    a->world->granted++;
    if (chance(&a->world->seed, 70))
        fleet_set_state(t->rig->fleet, l, GPU_LOADING);
}

static void on_evict(struct toy *t, lease_id l, simtime_ns now)
{
    (void)now;
    struct actor *a = t->context;
    list_remove(a->held, &a->n_held, l);
    a->world->evicted++;
    if (chance(&a->world->seed, 50))
        fleet_want_pass(t->rig->fleet);
}

/* A lease that lost a node gets a spare one, or stops now or soon. */
static void on_failed(struct toy *t, lease_id l, simtime_ns now)
{
    struct actor *a = t->context;
    uint32_t node;
    a->world->failed++;
    if (chance(&a->world->seed, 50) && fleet_replace(t->rig->fleet, l, &node)) {
        a->world->replaced++;
        return;
    }
    list_remove(a->held, &a->n_held, l);
    fleet_stop_at(t->rig->fleet, l, now + draw_below(&a->world->seed, 3) * SIM_S, 0);
}

static void on_withdrawn(struct toy *t, lease_id l, simtime_ns now)
{
    (void)now;
    struct actor *a = t->context;
    list_remove(a->assembling, &a->n_assembling, l);
    a->world->withdrawn++;
}

/* ---- what happens to nodes ---- */

static void node_change(struct world *w, uint32_t node)
{
    static const enum gpu_state reasons[] = {GPU_FAILED, GPU_MAINTENANCE, GPU_ABSENT};
    struct fleet *f = w->rig.fleet;
    enum gpu_state state = reasons[draw_below(&w->seed, 3)];
    switch (draw_below(&w->seed, 5)) {
    case 0:
        fleet_node_close(f, node, state);
        return;
    case 1:
        fleet_node_fail(f, node, state);
        return;
    case 2:
        if (fleet_node_closed(f, node)) {
            fleet_node_drain(f, node, draw_below(&w->seed, 5) * SIM_S);
            w->drained++;
        }
        return;
    case 3:
        if (fleet_node_idle(f, node) && !w->limited)
            fleet_spare_add(f, node);
        return;
    default:
        if (fleet_node_closed(f, node))
            fleet_node_open(f, node);
    }
}

static void nodes_act(void *ctx, uint32_t arg)
{
    struct world *w = ctx;
    (void)arg;
    node_change(w, draw_below(&w->seed, fleet_nodes(w->rig.fleet)));
    if (w->actions < ACTIONS)
        engine_schedule(w->rig.engine, w->nodes,
                        engine_now(w->rig.engine) + draw_below(&w->seed, 5) * SIM_S / 2);
}

/* ---- what collecting leases get ---- */

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What a claimant without a cohort may have beside a lease, counted from the leases. */
static uint64_t below_ceiling(const struct fleet *f, const struct lease *but)
{
    uint64_t usage = 0;
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *l = &f->leases.items[i];
        if (l != but && l->claimant == but->claimant && l->phase != LEASE_GONE &&
            l->phase != LEASE_SCRUBBING)
            usage += l->gpus - (l->collects ? l->missing : 0);
    }
    return above(f->claimants.items[but->claimant].quota.ceiling_gpus, usage);
}

/* Of so many GPUs, those that are not kept for floors of others. */
static uint64_t beyond_floors(const struct fleet *f, uint32_t claimant, uint64_t gpus,
                              enum quota_count k)
{
    uint64_t kept = 0;
    for (uint32_t i = 0; i < f->claimants.n; i++) {
        const struct quota *q = &f->claimants.items[i].quota;
        if (i != claimant)
            kept += above(above(q->floor_gpus, q->lend_gpus), quota_count(f, i, k));
    }
    return above(gpus, kept);
}

/* As a pass begins: the lease that is being served has what quota and free GPUs give, not less
 * where its shape does not matter, and the rest of what its ceiling leaves is promised to it. */
static void check_served(struct world *w)
{
    const struct fleet *f = w->rig.fleet;
    const struct lease *l = NULL;
    for (size_t i = 0; i < f->collecting.n && (!l || l->missing == 0); i++)
        l = &f->leases.items[f->collecting.items[i]];
    if (!l || l->missing == 0)
        return;
    uint64_t kept = l->gpus - l->missing, most = below_ceiling(f, l), gpus = f->nodes.n_free + kept;
    uint64_t free = beyond_floors(f, l->claimant, gpus, QUOTA_TIED);
    uint64_t coming = beyond_floors(f, l->claimant, gpus + f->n_unclaimed, QUOTA_STANDING);
    cr_assert_eq(kept + l->promised, most < l->gpus ? most : l->gpus);
    w->at_ceiling += most < l->gpus;
    most = most < free ? most : free;
    most = most < coming ? most : coming;
    if (l->kind == SHAPE_ANY)
        cr_assert_eq(kept, most, "%lu kept of %lu", kept, most);
    else
        cr_assert_leq(kept, most);
}

/* ---- what an actor does ---- */

static const enum gpu_state states[] = {GPU_HELD_IDLE, GPU_LOADING, GPU_SERVING, GPU_TRAINING,
                                        GPU_RESTORING};

static enum gpu_state random_state(uint64_t *seed)
{
    return states[draw_below(seed, sizeof states / sizeof *states)];
}

static void start_some(struct toy *t, simtime_ns now)
{
    struct actor *a = t->context;
    struct world *w = a->world;
    uint32_t n = draw_below(&w->seed, 4);
    (void)now;
    t->share = 0;
    if (w->rig.fleet->order.items[0] == t->number && w->n_cohorts == 0)
        check_served(w);
    for (uint32_t i = 0; i < n && !w->closing; i++) {
        struct ask ask = {.shape.gpus = 1 + draw_below(&w->seed, a->largest),
                          .priority = (int32_t)draw_below(&w->seed, 2),
                          .submit_ns = draw_below(&w->seed, 3)};
        ask.shape.kind = (enum shape_kind)draw_below(&w->seed, 3);
        lease_id l;
        if (a->n_held + a->n_assembling == MOST_LEASES)
            return;
        enum grant would = fleet_would(w->rig.fleet, t->number, &ask.shape);
        bool reclaims = chance(&w->seed, 50), collects = !reclaims && chance(&w->seed, 20);
        enum grant g =
            reclaims   ? fleet_reclaim(w->rig.fleet, t->number, &ask, 0, &l)
            : collects ? fleet_collect(w->rig.fleet, t->number, &ask, &l)
                       : fleet_acquire(w->rig.fleet, t->number, &ask, random_state(&w->seed), &l);
        cr_assert(g == would || (reclaims && g == GRANT_OK) || collects);
        w->collected += collects && g == GRANT_OK && would != GRANT_OK;
        if (g != GRANT_OK)
            t->share = ask.shape.gpus;
        else if (reclaims || collects)
            a->assembling[a->n_assembling++] = l;
        else
            a->held[a->n_held++] = l;
    }
}

static void act_once(struct actor *a, simtime_ns now)
{
    struct world *w = a->world;
    struct fleet *f = w->rig.fleet;
    switch (draw_below(&w->seed, 5)) {
    case 0:
        fleet_want_pass(f);
        return;
    case 1:
        fleet_busy_set(f, a->toy->number, draw_below(&w->seed, 20));
        return;
    case 2:
        if (a->n_held)
            fleet_set_state(f, a->held[draw_below(&w->seed, a->n_held)], random_state(&w->seed));
        return;
    case 3:
        if (a->n_held) {
            lease_id l = a->held[draw_below(&w->seed, a->n_held)];
            list_remove(a->held, &a->n_held, l);
            fleet_stop_at(f, l, now + draw_below(&w->seed, 3) * SIM_S, 0);
        }
        return;
    default:
        if (a->n_assembling) {
            lease_id l = a->assembling[draw_below(&w->seed, a->n_assembling)];
            list_remove(a->assembling, &a->n_assembling, l);
            fleet_abandon(f, l);
            w->abandoned++;
        }
    }
}

static void act(void *ctx, uint32_t arg)
{
    struct world *w = ctx;
    struct actor *a = &w->actors[arg];
    simtime_ns now = engine_now(w->rig.engine);
    act_once(a, now);
    if (++w->actions < ACTIONS)
        engine_schedule(w->rig.engine, a->timer, now + draw_below(&w->seed, 5) * SIM_S / 2);
}

/* ---- what always holds ---- */

/* Ceilings, and what is free or coming unclaimed covers every unlent floor. */
static void check_quota(const struct world *w)
{
    const struct fleet *f = w->rig.fleet;
    uint64_t there = f->nodes.n_free + f->n_unclaimed;
    if (w->nodes_change || w->limited) /* what is out or withheld may leave floors bare; a spare is
                                          charged anew */
        return;
    for (uint32_t i = 0; i < f->claimants.n; i++) {
        const struct quota *q = &f->claimants.items[i].quota;
        cr_assert_leq(quota_count(f, i, QUOTA_STANDING), q->ceiling_gpus);
        if (q->within_queue == QUEUE_NEVER)
            cr_assert_leq(quota_count(f, i, QUOTA_PROMISED), q->ceiling_gpus);
    }
    cr_assert_geq(there, f->kept[QUOTA_STANDING]);
}

/* Of the leases that collect, only the oldest that is not whole has GPUs, or quota promised. */
static void check_collecting(const struct world *w)
{
    const struct fleet *f = w->rig.fleet;
    bool lacks = false;
    for (size_t i = 0; i < f->collecting.n; i++) {
        const struct lease *l = &f->leases.items[f->collecting.items[i]];
        cr_assert(l->missing == 0 || (l->missing == l->gpus && l->promised == 0) || !lacks);
        cr_assert(i == 0 || f->leases.items[f->collecting.items[i - 1]].id < l->id);
        lacks |= l->missing > 0;
    }
}

/* GPUs that leases have, counted from their parts, are within the limit of each rack. */
static void check_power(struct world *w)
{
    const struct fleet *f = w->rig.fleet;
    const struct racks *rs = &f->nodes.racks;
    uint32_t taken[16] = {0};
    for (size_t i = 0; i < f->leases.n; i++)
        for (size_t k = 0; k < f->leases.items[i].parts.n && f->leases.items[i].phase; k++) {
            const struct part *p = &f->leases.items[i].parts.items[k];
            taken[rs->of[p->node]] += mask_count(p->mask);
        }
    for (uint32_t r = 0; r < rs->n; r++) {
        cr_assert_eq(taken[r] + rs->room[r], w->most[r], "rack %u", r);
        w->at_limit += taken[r] == w->most[r] && rs->n_withheld > 0;
    }
}

static void check_all(void *ctx)
{
    struct world *w = ctx;
    rig_check(&w->rig);
    if (w->limited)
        check_power(w);
    check_quota(w);
    check_collecting(w);
}

static void check_rows(struct world *w)
{
    size_t n;
    const struct reclaim_row *rows = fleet_reclaims(w->rig.fleet, &n);
    for (size_t i = 0; i < n; i++) {
        const struct reclaim_row *row = &rows[i];
        simtime_ns sum = 0;
        for (int s = STAGE_GRACE; s < STAGES; s++)
            sum += row->stage_ns[s];
        cr_assert(row->gpus_missing > 0 && row->gpus_missing <= row->gpus);
        cr_assert((row->gpus_evicted > 0) == (row->victims > 0));
        cr_assert(i == 0 || row->decision_ns >= rows[i - 1].decision_ns);
        if (row->granted_ns != SIM_NEVER)
            cr_assert_eq(row->granted_ns - row->decision_ns, sum);
        w->shared += row->gpus_evicted == 0;
    }
}

/* With all nodes there and nothing new, whatever collects becomes whole as leases end. */
static void end_all(struct world *w)
{
    struct fleet *f = w->rig.fleet;
    uint32_t left = 1;
    w->closing = true;
    for (uint32_t node = 0; node < fleet_nodes(f); node++)
        if (fleet_node_closed(f, node))
            fleet_node_open(f, node);
    for (uint32_t round = 0; left > 0; round++) {
        cr_assert_lt(round, ACTORS * MOST_LEASES, "leases wait for ever");
        left = 0;
        for (uint32_t i = 0; i < w->n_actors; i++) {
            struct actor *a = &w->actors[i];
            left += a->n_held + a->n_assembling;
            while (a->n_held)
                fleet_stop_at(f, a->held[--a->n_held], engine_now(w->rig.engine), 0);
        }
        rig_run(&w->rig, engine_now(w->rig.engine) + SIM_HOUR);
    }
}

/* ---- a world ---- */

static struct dist random_stage(uint64_t *seed)
{
    const struct dist kinds[] = {{.kind = DIST_FIXED, .mean_s = 0},
                                 {.kind = DIST_FIXED, .mean_s = 2},
                                 {.kind = DIST_EXPONENTIAL, .mean_s = 1.5}};
    return kinds[draw_below(seed, 3)];
}

static void add_actors(struct world *w, uint32_t gpus)
{
    uint32_t floors = gpus;
    w->n_actors = 1 + draw_below(&w->seed, ACTORS);
    for (uint32_t i = 0; i < w->n_actors; i++) {
        struct quota q = {.priority = (int32_t)draw_below(&w->seed, 3)};
        quota_may_reclaim(&q, (enum may_reclaim)draw_below(&w->seed, RECLAIM_POLICIES));
        q.floor_gpus = chance(&w->seed, 60) ? draw_below(&w->seed, floors + 1) : 0;
        floors -= q.floor_gpus;
        q.lend_gpus = draw_below(&w->seed, q.floor_gpus + 1);
        q.ceiling_gpus = q.floor_gpus + draw_below(&w->seed, gpus + 1);
        q.within_queue = (enum within_queue)draw_below(&w->seed, QUEUE_POLICIES);
        q.cohort = draw_below(&w->seed, w->n_cohorts + 1);
        struct actor *a = &w->actors[i];
        *a = (struct actor){.world = w, .largest = 1 + draw_below(&w->seed, 20)};
        a->toy = rig_add(&w->rig, &q);
        a->toy->stop_ns = draw_below(&w->seed, 4) * SIM_S;
        a->toy->context = a;
        a->toy->turn = start_some;
        a->toy->on_granted = on_granted;
        a->toy->on_evict = on_evict;
        a->toy->on_failed = on_failed;
        a->toy->on_withdrawn = on_withdrawn;
        cr_assert_eq(engine_timer_new(w->rig.engine, EVENT_CONTROL, act, w, i, &a->timer), HR_OK);
        engine_schedule(w->rig.engine, a->timer, draw_below(&w->seed, 3) * SIM_S);
    }
}

/* Racks of one to three nodes, with power for a node and something more. */
static struct rack_plan random_racks(uint64_t *seed, const struct node_group *groups, size_t n,
                                     struct node_power *power)
{
    struct rack_plan plan = {.nodes = 1 + draw_below(seed, 3), .power = power};
    double least_w = 0;
    for (size_t g = 0; g < n; g++) {
        power[g] =
            (struct node_power){100, 100 + 10.0 * groups[g].gpus_per_node, groups[g].gpus_per_node};
        least_w = power[g].max_w > least_w ? power[g].max_w : least_w;
    }
    plan.limit_w = least_w + (plan.nodes - 1) * 100 + 10 * draw_below(seed, 10);
    return plan;
}

static void play(struct world *w, uint64_t seed)
{
    w->seed = seed;
    w->actions = 0;
    w->closing = false;
    struct node_group groups[3];
    uint32_t gpus = 0, n = 1 + draw_below(&w->seed, 3);
    for (uint32_t i = 0; i < n; i++) {
        groups[i] = (struct node_group){.nodes = 1 + draw_below(&w->seed, 4),
                                        .gpus_per_node = 1 + draw_below(&w->seed, 9)};
        gpus += groups[i].nodes * groups[i].gpus_per_node;
    }
    const struct reclaim_plan reclaim = {
        .victims = (enum victim_rule)draw_below(&w->seed, VICTIM_RULES),
        .grace_ns = draw_below(&w->seed, 5) * SIM_S,
        .teardown = random_stage(&w->seed),
        .scrub = random_stage(&w->seed),
        .consolidate = chance(&w->seed, 30),
        .serial = chance(&w->seed, 20),
    };
    const struct cohort cohorts[COHORTS] = {
        {.ceiling_gpus = UINT32_MAX, .lend_gpus = draw_below(&w->seed, gpus)},
        {.parent = 1, .ceiling_gpus = gpus, .lend_gpus = UINT32_MAX}};
    struct node_power power[3];
    w->n_cohorts = draw_below(&w->seed, COHORTS + 1);
    const struct fleet_plan plan = {.groups = groups,
                                    .n_groups = n,
                                    .reclaim = reclaim,
                                    .cohorts = cohorts,
                                    .n_cohorts = w->n_cohorts,
                                    .racks = w->limited ? random_racks(&w->seed, groups, n, power)
                                                        : (struct rack_plan){0}};
    rig_init_plan(&w->rig, &plan, seed);
    const struct racks *racks = &w->rig.fleet->nodes.racks;
    for (uint32_t r = 0; r < racks->n; r++)
        w->most[r] = racks->room[r];
    gpus = w->limited ? racks->most_any : gpus; /* what floors can keep */
    engine_check_set(w->rig.engine, check_all, w);
    add_actors(w, gpus);
    w->nodes_change = seed % 2 == 0;
    cr_assert_eq(engine_timer_new(w->rig.engine, EVENT_FAILURE, nodes_act, w, 0, &w->nodes), HR_OK);
    if (w->nodes_change)
        engine_schedule(w->rig.engine, w->nodes, SIM_S);
    rig_run(&w->rig, SIM_HOUR);
    check_rows(w);
    end_all(w);
    rig_fini(&w->rig);
}

Test(fleet_random, conserves_and_stays_consistent)
{
    struct world *w = calloc(1, sizeof *w);
    uint64_t worlds = getenv("HEADROOM_LONG") ? 10000 : 1000;
    for (uint64_t seed = 0; seed < worlds; seed++)
        play(w, seed * 7919 + 5);
    cr_assert(w->granted > 5 * worlds && w->evicted > worlds, "%u granted, %u evicted", w->granted,
              w->evicted);
    cr_assert(w->abandoned > worlds / 2 && w->shared > worlds / 10, "%u abandoned, %u shared",
              w->abandoned, w->shared);
    cr_assert(w->collected > worlds && w->at_ceiling > worlds, "%u collected, %u at a ceiling",
              w->collected, w->at_ceiling);
    cr_assert(w->failed > worlds / 2 && w->withdrawn > worlds / 50 && w->replaced > worlds / 50 &&
                  w->drained > worlds,
              "%u failed, %u withdrawn, %u replaced, %u drained", w->failed, w->withdrawn,
              w->replaced, w->drained);
    free(w);
}

/* No lease waits for ever for power either: end_all. */
Test(fleet_random, stays_within_power_limits)
{
    struct world *w = calloc(1, sizeof *w);
    uint64_t worlds = getenv("HEADROOM_LONG") ? 5000 : 300;
    w->limited = true;
    for (uint64_t seed = 0; seed < worlds; seed++)
        play(w, seed * 7919 + 11);
    cr_assert(w->granted > 3 * worlds && w->evicted > worlds / 2 && w->failed > worlds / 4 &&
                  w->at_limit > 50 * worlds,
              "%u granted, %u evicted, %u failed, %u times at a limit", w->granted, w->evicted,
              w->failed, w->at_limit);
    free(w);
}
