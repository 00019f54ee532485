/* Starts of slices that evict others': worked cases, and the victims against every set of the
 * instances of every GPU, judged by the rules of MIG without their tables. */
#include "draw.h"
#include "mig_kit.h"
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct rig_plan plan_of(const struct mig_tables *t, uint32_t gpus, enum victim_rule rule)
{
    struct rig_plan plan = mig_kit_plan(t, 1, gpus);
    plan.victims = rule;
    plan.sharing.order = MIG_ORDER_FIRST;
    plan.sharing.rule = MIG_FIRST;
    return plan;
}

struct world {
    struct mig_tables *t;
    struct rig rig;
    struct toy *low, *high;
    lease_id start; /* of the last reclaim */
};

static void world_init(struct world *w, uint32_t gpus, enum victim_rule rule,
                       const struct quota *low)
{
    w->t = mig_kit_tables();
    const struct rig_plan plan = plan_of(w->t, gpus, rule);
    rig_init(&w->rig, &plan);
    w->low = rig_add(&w->rig, low);
    w->high = rig_add(&w->rig, &toy_high);
    w->low->stop_ns = 5 * SIM_S;
    w->low->save_ns = 2 * SIM_S;
}

static void world_fini(struct world *w)
{
    rig_fini(&w->rig);
    free(w->t);
}

static enum grant take(struct toy *toy, struct shape shape, uint32_t tag, lease_id *l)
{
    const struct ask ask = {.shape = shape, .tag = tag};
    return fleet_acquire(toy->rig->fleet, toy->number, &ask, GPU_TRAINING, l);
}

static lease_id low_takes(struct world *w, const char *name, uint32_t tag)
{
    lease_id l;
    cr_assert_eq(take(w->low, mig_kit_slice(w->t, name), tag, &l), GRANT_OK, "%s", name);
    return l;
}

static enum grant high_reclaims(struct world *w, const char *name)
{
    const struct ask ask = {.shape = mig_kit_slice(w->t, name)};
    return fleet_reclaim(w->rig.fleet, w->high->number, &ask, 0, &w->start);
}

/* The owner's or nobody's slices in a state, memory and compute. */
static void has(const struct world *w, const struct toy *t, enum gpu_state s, uint64_t memory,
                uint64_t compute)
{
    uint32_t owner = t ? t->number + 1 : LEDGER_NOBODY;
    cr_assert_eq(ledger_shares(w->rig.ledger, owner, s), memory, "memory in state %d", s);
    cr_assert_eq(ledger_shares(w->rig.compute, owner, s), compute, "compute in state %d", s);
}

/* ---- worked cases ---- */

/* A 4g may only begin at 0: whoever is there goes, though the other has less to lose. */
Test(slice_reclaim, only_a_legal_place_will_do)
{
    static const uint64_t loss[] = {100, 1};
    struct world w;
    world_init(&w, 1, VICTIM_LEAST_WORK_LOST, &toy_low);
    w.low->loss = loss;
    lease_id at_0 = low_takes(&w, "3g.40gb", 0);
    low_takes(&w, "3g.40gb", 1);
    cr_assert_eq(high_reclaims(&w, "4g.40gb"), GRANT_OK);
    cr_assert(w.low->n_evicted == 1 && w.low->evicted[0].lease == at_0);
    has(&w, w.low, GPU_DRAINING, 4, 3);
    rig_run(&w.rig, 16 * SIM_S); /* stopped, torn down, scrubbed; the instance is being replaced */
    has(&w, NULL, GPU_RECONFIGURING, 4, 3);
    has(&w, NULL, GPU_FREE, 0, 1);
    rig_run(&w.rig, 17 * SIM_S);
    has(&w, w.high, GPU_HELD_IDLE, 4, 4);
    has(&w, NULL, GPU_FREE, 0, 0);
    const struct reclaim_row *row = rig_row(&w.rig, 0);
    cr_assert(row->granted_ns == 17 * SIM_S && row->gpus_missing == 4 && row->gpus_evicted == 4);
    cr_assert(
        row->stage_ns[STAGE_GRACE] == 3 * SIM_S && row->stage_ns[STAGE_CHECKPOINT] == 2 * SIM_S &&
        row->stage_ns[STAGE_TEARDOWN] == 6 * SIM_S && row->stage_ns[STAGE_SCRUB] == 4 * SIM_S &&
        row->stage_ns[STAGE_RECONFIGURE] == 2 * SIM_S);
    world_fini(&w);
}

/* Slices enough are free, but one instance alone has the media engines: it goes, though it overlaps
 * nothing, and what is free is kept meanwhile. */
Test(slice_reclaim, media_engines_are_waited_for)
{
    struct world w;
    lease_id other;
    world_init(&w, 1, VICTIM_LEAST_WORK_LOST, &toy_low);
    lease_id media = low_takes(&w, "1g.10gb+me", 0);
    low_takes(&w, "1g.10gb", 0);
    cr_assert_eq(high_reclaims(&w, "1g.10gb+me"), GRANT_OK);
    cr_assert(w.low->n_evicted == 1 && w.low->evicted[0].lease == media);
    cr_assert_eq(take(w.low, mig_kit_slice(w.t, "1g.10gb"), 0, &other), GRANT_SHAPE,
                 "the GPU takes nothing else until it is cleared");
    rig_run(&w.rig, 17 * SIM_S);
    cr_assert_eq(w.high->n_granted, 1);
    has(&w, w.high, GPU_HELD_IDLE, 1, 1);
    cr_assert_eq(take(w.low, mig_kit_slice(w.t, "1g.10gb"), 0, &other), GRANT_OK);
    world_fini(&w);
}

/* A large instance goes for a small one; what is beyond the need is free in the end. */
Test(slice_reclaim, what_is_beyond_the_need_comes_free)
{
    struct world w;
    world_init(&w, 1, VICTIM_LEAST_OVER_RECLAIM, &toy_low);
    low_takes(&w, "7g.80gb", 0);
    cr_assert_eq(high_reclaims(&w, "2g.20gb"), GRANT_OK);
    rig_run(&w.rig, 17 * SIM_S);
    has(&w, w.high, GPU_HELD_IDLE, 2, 2);
    has(&w, NULL, GPU_FREE, 6, 5);
    const struct reclaim_row *row = rig_row(&w.rig, 0);
    cr_assert(row->gpus_missing == 2 && row->gpus_evicted == 8 && row->victims == 1);
    world_fini(&w);
}

/* Its floor of a GPU keeps its last instance that is within it. */
Test(slice_reclaim, floors_are_kept)
{
    const struct quota floor = {.ceiling_gpus = 1000, .floor_gpus = 8, .lend_gpus = 8};
    struct world w;
    world_init(&w, 2, VICTIM_LEAST_WORK_LOST, &floor);
    low_takes(&w, "7g.80gb", 0);
    low_takes(&w, "7g.80gb", 0);
    cr_assert_eq(high_reclaims(&w, "3g.40gb"), GRANT_OK);
    cr_assert_eq(high_reclaims(&w, "7g.80gb"), GRANT_ROOM);
    cr_assert_eq(w.low->n_evicted, 1);
    world_fini(&w);
}

/* What stops by itself is waited for, and nobody is evicted; that is no reclaim. */
Test(slice_reclaim, what_is_stopping_suffices)
{
    struct world w;
    world_init(&w, 2, VICTIM_LEAST_WORK_LOST, &toy_low);
    low_takes(&w, "7g.80gb", 0);
    lease_id second = low_takes(&w, "7g.80gb", 0);
    fleet_stop_at(w.rig.fleet, second, 0, 0);
    cr_assert_eq(high_reclaims(&w, "4g.40gb"), GRANT_OK);
    rig_run(&w.rig, 12 * SIM_S);
    size_t n;
    fleet_reclaims(w.rig.fleet, &n);
    cr_assert(w.high->n_granted == 1 && w.low->n_evicted == 0 && n == 0);
    world_fini(&w);
}

/* Given up half way, and withdrawn when the node closes: nothing of it is left. */
Test(slice_reclaim, a_start_that_is_given_up_leaves_nothing)
{
    for (int closes = 0; closes < 2; closes++) {
        struct world w;
        world_init(&w, 1, VICTIM_SMALLEST_GANG, &toy_low);
        low_takes(&w, "2g.20gb", 0);
        lease_id second = low_takes(&w, "2g.20gb", 0);
        low_takes(&w, "3g.40gb", 0);
        cr_assert_eq(high_reclaims(&w, "7g.80gb"), GRANT_OK);
        cr_assert_eq(w.low->n_evicted, 3);
        fleet_stop_sooner(w.rig.fleet, second, false, 0); /* its two slices come first */
        rig_run(&w.rig, 13 * SIM_S);
        has(&w, w.high, GPU_HELD_IDLE, 2, 0);
        has(&w, NULL, GPU_FREE, 0, 2);
        if (closes)
            fleet_node_close(w.rig.fleet, 0, GPU_MAINTENANCE);
        else
            fleet_abandon(w.rig.fleet, w.start);
        cr_assert_eq(w.high->n_withdrawn, (uint32_t)closes);
        rig_run(&w.rig, SIM_MIN);
        has(&w, NULL, closes ? GPU_MAINTENANCE : GPU_FREE, 8, 7);
        if (closes)
            fleet_node_open(w.rig.fleet, 0);
        low_takes(&w, "7g.80gb", 0);
        world_fini(&w);
    }
}

/* ---- every set ---- */

enum { GPUS = 3, LOWS = 2, TAGS = 64 };

/* An instance, as the rules of MIG see it, and what its eviction costs. */
struct thing {
    lease_id id;
    uint8_t profile, start;
    uint32_t gpu, owner, gpus;
    bool stops, may_go;
    simtime_ns since;
    int32_t priority;
    uint64_t loss;
};

struct scene {
    const struct mig_tables *t; /* for the profiles alone */
    struct thing things[GPUS * MIG_SLICES];
    uint32_t n;
    uint32_t floor[LOWS], standing[LOWS];
    enum victim_rule rule;
};

static void look(struct scene *s, const struct fleet *f, const uint64_t *loss)
{
    s->n = 0;
    s->standing[0] = s->standing[1] = 0;
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *l = &f->leases.items[i];
        if (l->phase == LEASE_GONE)
            continue;
        uint32_t bit =
            l->clears ? l->gpu * 8 + l->start : (uint32_t)__builtin_ctzll(l->parts.items[0].mask);
        bool stops = l->phase == LEASE_DRAINING || l->phase == LEASE_SCRUBBING;
        s->things[s->n++] = (struct thing){.id = l->id,
                                           .profile = l->profile,
                                           .start = (uint8_t)(bit % 8),
                                           .gpu = bit / 8,
                                           .owner = l->claimant,
                                           .gpus = l->gpus,
                                           .stops = stops,
                                           .may_go = !stops && l->claimant < LOWS,
                                           .since = l->since,
                                           .priority = l->priority,
                                           .loss = loss[l->tag]};
        if (!stops && l->claimant < LOWS)
            s->standing[l->claimant] += l->gpus;
    }
}

/* The lowest legal start on a GPU without what stops and without a set of things; 8: none. */
static uint32_t start_without(const struct scene *s, uint32_t gpu, uint8_t profile, uint32_t set)
{
    const struct mig_profile *p = &s->t->gpu.profiles[profile];
    bool taken[MIG_SLICES] = {0}, media = false;
    uint32_t compute = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct thing *x = &s->things[i];
        const struct mig_profile *its = &s->t->gpu.profiles[x->profile];
        if (x->gpu != gpu || x->stops || set >> i & 1)
            continue;
        compute += its->compute;
        media = media || its->media;
        for (uint32_t k = 0; k < its->memory; k++)
            taken[x->start + k] = true;
    }
    if (compute + p->compute > s->t->gpu.compute || (media && p->media))
        return MIG_SLICES;
    for (uint32_t start = 0; start + p->memory <= MIG_SLICES; start++) {
        bool free = p->starts >> start & 1;
        for (uint32_t k = 0; k < p->memory; k++)
            free = free && !taken[start + k];
        if (free)
            return start;
    }
    return MIG_SLICES;
}

/* Each claimant is above its floor before each of its evictions, the smallest first. */
static bool floors_allow(const struct scene *s, uint32_t set)
{
    for (uint32_t owner = 0; owner < LOWS; owner++) {
        uint32_t sizes[MIG_SLICES], n = 0, left = s->standing[owner];
        for (uint32_t i = 0; i < s->n; i++)
            if (set >> i & 1 && s->things[i].owner == owner)
                sizes[n++] = s->things[i].gpus;
        for (uint32_t size = 1; size <= MIG_SLICES; size++)
            for (uint32_t i = 0; i < n; i++)
                if (sizes[i] == size) {
                    if (left <= s->floor[owner])
                        return false;
                    left -= size;
                }
    }
    return true;
}

static bool suffices(const struct scene *s, uint32_t gpu, uint8_t profile, uint32_t set)
{
    return start_without(s, gpu, profile, set) < MIG_SLICES && floors_allow(s, set);
}

/* No part of it does. */
static bool minimal(const struct scene *s, uint32_t gpu, uint8_t profile, uint32_t set)
{
    for (uint32_t part = (set - 1) & set; part > 0; part = (part - 1) & set)
        if (suffices(s, gpu, profile, part))
            return false;
    return true;
}

/* The cost of a set as a list of numbers, the most important first. */
enum { COSTS = 6 };

static void cost_of(const struct scene *s, uint32_t gpu, uint8_t profile, uint32_t set,
                    int64_t cost[COSTS])
{
    uint32_t start = start_without(s, gpu, profile, set);
    uint32_t memory = s->t->gpu.profiles[profile].memory;
    int64_t gone = 0, loss = 0, used = 0, first = INT64_MAX, n = 0, top = INT64_MIN;
    int64_t oldest = INT64_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct thing *x = &s->things[i];
        if (!(set >> i & 1))
            continue;
        gone += x->gpus;
        loss += (int64_t)x->loss;
        n++;
        first = x->id < first ? x->id : first;
        top = x->priority > top ? x->priority : top;
        oldest = (int64_t)x->since < oldest ? (int64_t)x->since : oldest;
        for (uint32_t k = start; k < start + memory; k++)
            used += k >= x->start && k < x->start + x->gpus;
    }
    int64_t over = gone - used, none = 0;
    const int64_t by_rule[VICTIM_RULES][3] = {
        [VICTIM_LEAST_WORK_LOST] = {loss, over, none},
        [VICTIM_LEAST_OVER_RECLAIM] = {over, loss, none},
        [VICTIM_YOUNGEST] = {-oldest, over, none},
        [VICTIM_LOWEST_PRIORITY] = {none, top, -oldest},
        [VICTIM_SMALLEST_GANG] = {n, gone, none},
    };
    for (int i = 0; i < 3; i++)
        cost[i] = by_rule[s->rule][i];
    cost[3] = first;
    cost[4] = n;
    cost[5] = 0;
}

/* Of equal ones the set with the lowest lease that is not in both. */
static bool lower(const struct scene *s, uint32_t a, uint32_t b)
{
    lease_id lowest = LEASE_NONE;
    bool in_a = false;
    for (uint32_t i = 0; i < s->n; i++)
        if ((a ^ b) >> i & 1 && s->things[i].id < lowest) {
            lowest = s->things[i].id;
            in_a = a >> i & 1;
        }
    return in_a;
}

static uint32_t on_gpu(const struct scene *s, uint32_t gpu)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->things[i].gpu == gpu && s->things[i].may_go)
            set |= UINT32_C(1) << i;
    return set;
}

/* The set of things that has to go; 0: none will do, or *already: what stops will. */
static uint32_t expected(const struct scene *s, uint8_t profile, bool *already)
{
    uint32_t best = 0;
    int64_t least[COSTS] = {0};
    *already = false;
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
        *already = *already || start_without(s, gpu, profile, 0) < MIG_SLICES;
        uint32_t all = on_gpu(s, gpu);
        for (uint32_t set = all; set > 0; set = (set - 1) & all) {
            if (!suffices(s, gpu, profile, set) || !minimal(s, gpu, profile, set))
                continue;
            int64_t cost[COSTS];
            cost_of(s, gpu, profile, set, cost);
            int c = 0;
            for (int i = 0; i < COSTS && c == 0; i++)
                c = (cost[i] > least[i]) - (cost[i] < least[i]);
            if (best == 0 || c < 0 || (c == 0 && lower(s, set, best))) {
                best = set;
                for (int i = 0; i < COSTS; i++)
                    least[i] = cost[i];
            }
        }
    }
    return *already ? 0 : best;
}

/* A full fleet, holes in it, some of them still being made. */
static void fill(struct rig *r, const struct mig_tables *t, uint64_t *seed)
{
    for (uint64_t i = 0; i < 40; i++) {
        struct toy *toy = r->toys[draw_below(seed, 8) % (LOWS + 1)];
        const struct ask ask = {
            .tag = draw_below(seed, TAGS),
            .priority = -(int32_t)draw_below(seed, 2),
            .shape = mig_kit_slice(t, t->gpu.profiles[draw_below(seed, t->gpu.n_profiles)].name)};
        lease_id l;
        fleet_acquire(r->fleet, toy->number, &ask, GPU_TRAINING, &l);
        rig_run(r, (i / 3) * SIM_MIN);
    }
    bool made = draw_below(seed, 3) > 0;
    for (lease_id l = 0; l < r->fleet->slot_of.n; l++)
        if (r->fleet->slot_of.items[l] != NONE && draw_below(seed, 6) == 0)
            fleet_stop_at(r->fleet, l, engine_now(r->engine), 0);
    if (made)
        rig_run(r, 20 * SIM_MIN);
}

static uint32_t evicted(const struct rig *r)
{
    uint32_t n = 0;
    for (int i = 0; i < LOWS; i++)
        n += r->toys[i]->n_evicted;
    return n;
}

static void check_victims(const struct rig *r, const struct scene *s, uint32_t set, uint32_t before,
                          uint64_t seed)
{
    cr_assert_eq(evicted(r) - before, (uint32_t)__builtin_popcount(set), "seed %lu", seed);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct thing *x = &s->things[i];
        bool gone = false;
        for (uint32_t k = 0; x->owner < LOWS && k < r->toys[x->owner]->n_evicted; k++)
            gone = gone || (!x->stops && r->toys[x->owner]->evicted[k].lease == x->id);
        cr_assert_eq(gone, set >> i & 1, "seed %lu, lease %u", seed, x->id);
    }
}

/* What happened in all trials. */
struct tally {
    uint32_t evictions, several, waits, nothing, shared;
};

/* One start, judged beforehand. */
static void try_start(struct rig *r, struct scene *s, struct toy *high, uint64_t *seed,
                      uint64_t trial, struct tally *tally)
{
    uint8_t profile = (uint8_t)draw_below(seed, s->t->gpu.n_profiles);
    const struct ask ask = {.shape = mig_kit_slice(s->t, s->t->gpu.profiles[profile].name)};
    if (fleet_would(r->fleet, high->number, &ask.shape) == GRANT_OK)
        return;
    bool already;
    lease_id l;
    look(s, r->fleet, high->loss);
    uint32_t set = expected(s, profile, &already), before = evicted(r);
    enum grant g = fleet_reclaim(r->fleet, high->number, &ask, 0, &l);
    cr_assert_eq(g == GRANT_OK, already || set > 0, "trial %lu", trial);
    check_victims(r, s, set, before, trial);
    tally->evictions += set > 0;
    tally->several += __builtin_popcount(set) > 1;
    tally->waits += already;
    tally->nothing += g != GRANT_OK;
    if (g != GRANT_OK)
        return;
    uint32_t gpu = r->fleet->leases.items[r->fleet->slot_of.items[l]].gpu;
    tally->shared += r->fleet->nodes.slices->reserved[gpu] > 1;
}

Test(slice_reclaim, victims_are_the_best_of_all_sets)
{
    static const enum victim_rule rules[] = {VICTIM_LEAST_WORK_LOST, VICTIM_LEAST_OVER_RECLAIM,
                                             VICTIM_YOUNGEST, VICTIM_LOWEST_PRIORITY,
                                             VICTIM_SMALLEST_GANG};
    struct mig_tables *t = mig_kit_tables();
    struct tally all = {0};
    for (uint64_t trial = 0; trial < 1000; trial++) {
        uint64_t seed = trial, loss[TAGS];
        struct scene s = {.t = t, .rule = rules[trial % 5]};
        const struct rig_plan plan = plan_of(t, GPUS, s.rule);
        struct rig r;
        rig_init(&r, &plan);
        for (int i = 0; i < TAGS; i++)
            loss[i] = draw_below(&seed, 4);
        for (int i = 0; i < LOWS; i++) {
            s.floor[i] = draw_below(&seed, 2) * draw_below(&seed, 12);
            const struct quota q = {
                .ceiling_gpus = 1000, .floor_gpus = s.floor[i], .lend_gpus = s.floor[i]};
            rig_add(&r, &q)->loss = loss;
        }
        struct toy *high = rig_add(&r, &toy_high);
        high->loss = loss;
        fill(&r, t, &seed);
        uint32_t accepted = all.evictions + all.waits;
        for (int i = 0; i < 3; i++)
            try_start(&r, &s, high, &seed, trial, &all);
        rig_run(&r, 25 * SIM_MIN);
        cr_assert_eq(high->n_granted, all.evictions + all.waits - accepted, "trial %lu", trial);
        rig_fini(&r);
    }
    cr_assert(all.evictions > 800 && all.several > 120 && all.waits > 300 && all.nothing > 200 &&
                  all.shared > 250,
              "%u evicted, %u of several, %u waited, %u could not, %u shared a GPU", all.evictions,
              all.several, all.waits, all.nothing, all.shared);
    free(t);
}
