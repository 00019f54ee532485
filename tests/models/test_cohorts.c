/* The tree of quotas on the fleet, against the recursion of cluster queueing systems written down
 * once more, and against the flat rule where there are no cohorts. */
#include "draw.h"
#include "models/capacity/fleet_internal.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>

#define NO_LIMIT UINT32_MAX

enum { COHORTS_MAX = 4, LEAVES_MAX = 6, TREE_MAX = COHORTS_MAX + LEAVES_MAX + 1 };

static void open_cohorts(struct rig *r, uint32_t gpus, const struct cohort *cohorts, size_t n)
{
    const struct node_group group = {.nodes = gpus, .gpus_per_node = 1};
    const struct reclaim_plan reclaim = {.grace_ns = 30 * SIM_S};
    rig_init_cohorts(r, &group, 1, &reclaim, cohorts, n, 1);
}

/* One-GPU leases until none is granted. */
static uint32_t take_all(struct toy *t)
{
    uint32_t n = 0;
    while (toy_try_acquire(t, SHAPE_ANY, 1) == GRANT_OK)
        n++;
    return n;
}

/* ---- worked cases ---- */

/* Kueue, concepts/cluster_queue.md and concepts/cohort.md: the rows of targets/fair_share.csv.
 * What team-a gets while team-b is idle. */
Test(cohorts, worked_cases_of_kueue)
{
    const struct {
        uint32_t gpus, cohort_floor;
        struct quota a, b;
        uint32_t a_gets;
    } cases[] = {
        {21,
         0,
         {.floor_gpus = 9, .ceiling_gpus = NO_LIMIT, .lend_gpus = 9},
         {.floor_gpus = 12, .ceiling_gpus = NO_LIMIT, .lend_gpus = 12},
         21},
        {21,
         0,
         {.floor_gpus = 9, .ceiling_gpus = 9 + 1, .lend_gpus = 9},
         {.floor_gpus = 12, .ceiling_gpus = NO_LIMIT, .lend_gpus = 12},
         10},
        {21,
         0,
         {.floor_gpus = 9, .ceiling_gpus = NO_LIMIT, .lend_gpus = 9},
         {.floor_gpus = 12, .ceiling_gpus = NO_LIMIT, .lend_gpus = 1},
         10},
        {12, 12, {.ceiling_gpus = NO_LIMIT}, {.ceiling_gpus = NO_LIMIT}, 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int flat = 0; flat < 2; flat++) { /* in a cohort, and directly under the fleet */
            const struct cohort all = {.name = "cohort",
                                       .floor_gpus = cases[i].cohort_floor,
                                       .ceiling_gpus = NO_LIMIT,
                                       .lend_gpus = NO_LIMIT};
            struct quota a = cases[i].a, b = cases[i].b;
            a.cohort = b.cohort = flat ? COHORT_ROOT : 1;
            struct rig r;
            open_cohorts(&r, cases[i].gpus, &all, 1);
            struct toy *team_a = rig_add(&r, &a);
            rig_add(&r, &b);
            cr_assert_eq(take_all(team_a), cases[i].a_gets, "case %zu", i);
            rig_fini(&r);
        }
}

/* 20 GPUs. An organisation with 4 of its own, borrowing 2 and lending 3, holds teams with floors of
 * 3 (lends 1) and 5 (lends all); a stranger has a floor of 8.
 *
 *   team 1: unlent 2, lends 1;  team 2: lends 5
 *   organisation: nominal 4 + 1 + 5 = 10, unlent 10 - 3 = 7, ceiling 10 + 2 = 12
 *   alone, team 1 gets its unlent 2 and 12 through the organisation: 14
 *   team 2 gets min(12, 7 + what the fleet has: 20 - 2 - 7 = 11) = 12
 *   the stranger gets 11 */
Test(cohorts, limits_hold_at_each_level)
{
    const struct cohort organisation = {
        .name = "organisation", .floor_gpus = 4, .ceiling_gpus = 4 + 3 + 5 + 2, .lend_gpus = 3};
    const struct quota quotas[] = {
        {.floor_gpus = 3, .ceiling_gpus = NO_LIMIT, .lend_gpus = 1, .cohort = 1},
        {.floor_gpus = 5, .ceiling_gpus = NO_LIMIT, .lend_gpus = 5, .cohort = 1},
        {.floor_gpus = 8, .ceiling_gpus = NO_LIMIT, .lend_gpus = 8},
    };
    const uint32_t alone[] = {14, 12, 11};
    for (int who = 0; who < 3; who++) {
        struct rig r;
        struct toy *toys[3];
        open_cohorts(&r, 20, &organisation, 1);
        for (int i = 0; i < 3; i++)
            toys[i] = rig_add(&r, &quotas[i]);
        cr_assert_eq(toy_try_acquire(toys[who], SHAPE_ANY, alone[who] + 1), GRANT_NEVER);
        cr_assert_eq(take_all(toys[who]), alone[who], "claimant %d", who);
        rig_fini(&r);
    }
}

/* The stranger took 11 of the 20, 3 above its floor; team 2 is below the organisation's nominal
 * quota but above its own floor of 5: within the organisation's quota it reclaims by
 * reclaim_within_cohort, up to the 10 that are the organisation's. */
Test(cohorts, an_organisation_takes_back_what_is_its_own)
{
    const struct cohort organisation = {
        .name = "organisation", .floor_gpus = 5, .ceiling_gpus = NO_LIMIT, .lend_gpus = NO_LIMIT};
    struct quota team = {.floor_gpus = 5,
                         .ceiling_gpus = NO_LIMIT,
                         .lend_gpus = 5,
                         .reclaim_within_cohort = COHORT_ANY,
                         .cohort = 1};
    struct quota other = {.floor_gpus = 10, .ceiling_gpus = NO_LIMIT, .lend_gpus = 10};
    struct rig r;
    open_cohorts(&r, 20, &organisation, 1);
    struct toy *t = rig_add(&r, &team), *stranger = rig_add(&r, &other);
    cr_assert_eq(take_all(stranger), 20);
    for (int i = 0; i < 10; i++)
        toy_reclaim(t, SHAPE_ANY, 1);
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ANY, 1), GRANT_ROOM);
    cr_assert_eq(stranger->n_evicted, 10);
    rig_fini(&r);
}

/* Two teams of an organisation that is within its quota: a third party may not take from them, even
 * from the one that is above its own floor; the other team may. */
Test(cohorts, who_borrows_inside_a_cohort_borrows_from_its_members)
{
    const struct cohort organisation = {
        .name = "organisation", .ceiling_gpus = NO_LIMIT, .lend_gpus = NO_LIMIT};
    struct quota team = {.floor_gpus = 5,
                         .ceiling_gpus = NO_LIMIT,
                         .lend_gpus = 5,
                         .reclaim_within_cohort = COHORT_ANY,
                         .cohort = 1};
    struct quota other = {.floor_gpus = 0,
                          .ceiling_gpus = NO_LIMIT,
                          .priority = 1,
                          .borrow_within_cohort = COHORT_LOWER_PRIORITY};
    struct rig r;
    open_cohorts(&r, 10, &organisation, 1);
    struct toy *a = rig_add(&r, &team), *b = rig_add(&r, &team), *stranger = rig_add(&r, &other);
    cr_assert_eq(take_all(a), 10);
    cr_assert_eq(toy_try_reclaim(stranger, SHAPE_ANY, 1), GRANT_ROOM);
    for (int i = 0; i < 5; i++)
        toy_reclaim(b, SHAPE_ANY, 1);
    cr_assert_eq(toy_try_reclaim(b, SHAPE_ANY, 1), GRANT_ROOM);
    cr_assert_eq(a->n_evicted, 5);
    rig_fini(&r);
}

/* A cohort at its ceiling: a member within its floor gets its own back from another member,
 * although GPUs are free that the cohort may not have. */
Test(cohorts, a_cohort_at_its_ceiling_makes_room_within)
{
    const struct cohort organisation = {
        .name = "organisation", .ceiling_gpus = 8, .lend_gpus = NO_LIMIT};
    struct quota team = {.floor_gpus = 4,
                         .ceiling_gpus = NO_LIMIT,
                         .lend_gpus = 4,
                         .reclaim_within_cohort = COHORT_ANY,
                         .cohort = 1};
    struct rig r;
    open_cohorts(&r, 20, &organisation, 1);
    struct toy *a = rig_add(&r, &team), *b = rig_add(&r, &team);
    cr_assert_eq(take_all(a), 8);
    cr_assert_eq(toy_try_acquire(b, SHAPE_ANY, 2), GRANT_QUOTA);
    toy_reclaim(b, SHAPE_ANY, 2);
    cr_assert_eq(a->n_evicted, 2);
    rig_run(&r, SIM_MIN);
    cr_assert_eq(b->n_granted, 1);
    cr_assert_eq(fleet_usage(r.fleet, a->number) + fleet_usage(r.fleet, b->number), 8);
    rig_fini(&r);
}

/* ---- the recursion, written down once more ---- */

/* As resource_node.go has it: quotas of a subtree, local quota, usage; node 0 is the fleet. */
struct kueue {
    uint32_t n, parent[TREE_MAX];
    int64_t subtree[TREE_MAX], whole[TREE_MAX], lend[TREE_MAX], most[TREE_MAX], usage[TREE_MAX];
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t local(const struct kueue *k, uint32_t v)
{
    return larger(0, k->subtree[v] - k->lend[v]);
}

static int64_t available(const struct kueue *k, uint32_t v)
{
    if (v == 0)
        return k->subtree[0] - k->usage[0];
    int64_t here = larger(0, local(k, v) - k->usage[v]);
    int64_t above = available(k, k->parent[v]);
    if (k->most[v] != NO_LIMIT) {
        int64_t stored = k->subtree[v] - local(k, v);
        int64_t used = larger(0, k->usage[v] - local(k, v));
        int64_t borrow = k->most[v] - k->whole[v];
        above = stored - used + borrow < above ? stored - used + borrow : above;
    }
    return here + above;
}

static void use(struct kueue *k, uint32_t v, int64_t gpus)
{
    int64_t here = larger(0, local(k, v) - k->usage[v]);
    k->usage[v] += gpus;
    if (v != 0 && gpus > here)
        use(k, k->parent[v], gpus - here);
}

static uint32_t limit(uint64_t *seed, uint32_t least, uint32_t range)
{
    return draw_below(seed, 3) ? least + draw_below(seed, range) : NO_LIMIT;
}

/* A random tree; floors together fit the fleet. */
static void draw_tree(uint64_t *seed, struct kueue *k, struct cohort *cohorts, uint32_t n_cohorts,
                      struct quota *quotas, uint32_t n_leaves, uint32_t gpus)
{
    uint32_t left = gpus;
    *k = (struct kueue){.n = 1 + n_cohorts + n_leaves};
    for (uint32_t v = 1; v < k->n; v++) {
        uint32_t floor = draw_below(seed, left / 2 + 1);
        left -= floor;
        k->subtree[v] = k->whole[v] = floor;
        k->parent[v] = draw_below(seed, v <= n_cohorts ? v : n_cohorts + 1);
    }
    for (uint32_t v = k->n; v-- > 1;) { /* members come after their cohort */
        k->lend[v] = limit(seed, 0, (uint32_t)k->subtree[v] + 2);
        k->most[v] = limit(seed, (uint32_t)k->whole[v], 6);
        k->subtree[k->parent[v]] += k->subtree[v] - local(k, v);
        k->whole[k->parent[v]] += k->whole[v];
    }
    for (uint32_t v = 1; v < k->n; v++) { /* own nominal quota: what no member brings */
        int64_t own = k->subtree[v], whole = k->whole[v];
        for (uint32_t c = v + 1; c < k->n; c++)
            if (k->parent[c] == v) {
                own -= k->subtree[c] - local(k, c);
                whole -= k->whole[c];
            }
        cr_assert_eq(own, whole);
        if (v <= n_cohorts)
            cohorts[v - 1] = (struct cohort){.parent = k->parent[v],
                                             .floor_gpus = (uint32_t)own,
                                             .ceiling_gpus = (uint32_t)k->most[v],
                                             .lend_gpus = (uint32_t)k->lend[v]};
        else
            quotas[v - n_cohorts - 1] = (struct quota){.cohort = k->parent[v],
                                                       .floor_gpus = (uint32_t)own,
                                                       .ceiling_gpus = (uint32_t)k->most[v],
                                                       .lend_gpus = (uint32_t)k->lend[v]};
    }
    k->subtree[0] = gpus; /* the fleet has what is nobody's alone */
    for (uint32_t v = 1; v < k->n; v++)
        k->subtree[0] -= local(k, v);
}

Test(cohorts, the_fleet_grants_what_the_recursion_has_available)
{
    uint64_t seed = 11;
    uint32_t granted = 0, refused = 0;
    for (int i = 0; i < 2000; i++) {
        struct kueue k;
        struct cohort cohorts[COHORTS_MAX];
        struct quota quotas[LEAVES_MAX];
        struct toy *toys[LEAVES_MAX];
        uint32_t n_cohorts = draw_below(&seed, COHORTS_MAX + 1);
        uint32_t n_leaves = 1 + draw_below(&seed, LEAVES_MAX), gpus = 1 + draw_below(&seed, 40);
        struct rig r;
        draw_tree(&seed, &k, cohorts, n_cohorts, quotas, n_leaves, gpus);
        open_cohorts(&r, gpus, cohorts, n_cohorts);
        for (uint32_t c = 0; c < n_leaves; c++)
            toys[c] = rig_add(&r, &quotas[c]);
        for (int step = 0; step < 30; step++) {
            uint32_t c = draw_below(&seed, n_leaves), want = 1 + draw_below(&seed, gpus / 3 + 1);
            int64_t there = available(&k, 1 + n_cohorts + c);
            bool grants = toy_try_acquire(toys[c], SHAPE_ANY, want) == GRANT_OK;
            cr_assert_eq(grants, want <= there, "case %d: %u of %lld", i, want, (long long)there);
            if (grants)
                use(&k, 1 + n_cohorts + c, want);
            granted += grants;
            refused += !grants;
        }
        rig_fini(&r);
    }
    cr_assert(granted > 5000 && refused > 5000, "%u granted, %u refused", granted, refused);
}

/* Without cohorts: the flat rule, claimant by claimant, while leases stop and assemble. */
static uint32_t flat(const struct rig *r, uint32_t me, uint32_t there, enum quota_count k)
{
    for (uint32_t j = 0; j < r->n_toys; j++) {
        const struct quota *q = fleet_quota(r->fleet, j);
        uint32_t unlent = q->floor_gpus > q->lend_gpus ? q->floor_gpus - q->lend_gpus : 0;
        uint32_t held = quota_count(r->fleet, j, k), kept = unlent > held ? unlent - held : 0;
        if (j != me)
            there = there > kept ? there - kept : 0;
    }
    return there;
}

Test(cohorts, without_cohorts_it_is_the_flat_rule)
{
    uint64_t seed = 12;
    uint32_t kept = 0;
    for (int i = 0; i < 300; i++) {
        struct rig r;
        uint32_t gpus = 6 + draw_below(&seed, 30), left = gpus;
        lease_id leases[64];
        uint32_t n = 0;
        open_cohorts(&r, gpus, NULL, 0);
        for (int c = 0; c < 4; c++) {
            uint32_t floor = draw_below(&seed, left + 1);
            left -= floor;
            struct quota q = {.floor_gpus = floor,
                              .lend_gpus = draw_below(&seed, floor + 1),
                              .ceiling_gpus = floor + draw_below(&seed, gpus)};
            rig_add(&r, &q)->stop_ns = SIM_S;
        }
        for (uint32_t step = 1; step < 60 && n < 64; step++) {
            struct toy *t = r.toys[draw_below(&seed, 4)];
            const struct ask ask = {.shape = {.gpus = 1 + draw_below(&seed, 5), .kind = SHAPE_ANY}};
            if (draw_below(&seed, 3) || n == 0)
                n += fleet_acquire(r.fleet, t->number, &ask, GPU_TRAINING, &leases[n]) == GRANT_OK;
            else
                fleet_stop_at(r.fleet, leases[--n], step * SIM_S + 2 * SIM_S, 0);
            rig_run(&r, step * SIM_S);
            uint32_t free = r.fleet->nodes.n_free;
            uint32_t coming = free + r.fleet->n_unclaimed;
            for (uint32_t me = 0; me < 4; me++) {
                cr_assert_eq(quota_free(r.fleet, me), flat(&r, me, free, QUOTA_TIED));
                cr_assert_eq(quota_coming(r.fleet, me, 0), flat(&r, me, coming, QUOTA_STANDING));
                kept += quota_free(r.fleet, me) < free;
            }
        }
        rig_fini(&r);
    }
    cr_assert_gt(kept, 1000);
}

/* ---- priorities ---- */

static enum grant reclaim_with(struct toy *t, uint32_t gpus, int32_t priority, simtime_ns submit)
{
    const struct ask ask = {
        .shape = {.gpus = gpus, .kind = SHAPE_ANY}, .priority = priority, .submit_ns = submit};
    lease_id l;
    return fleet_reclaim(t->rig->fleet, t->number, &ask, 0, &l);
}

static void acquire_with(struct toy *t, uint32_t gpus, int32_t priority, simtime_ns submit)
{
    const struct ask ask = {
        .shape = {.gpus = gpus, .kind = SHAPE_ANY}, .priority = priority, .submit_ns = submit};
    lease_id l;
    cr_assert_eq(fleet_acquire(t->rig->fleet, t->number, &ask, GPU_TRAINING, &l), GRANT_OK);
}

/* A claimant of priority 10 holds two leases, of priorities 10 and 12, submitted at 100 and 200. */
Test(cohorts, policies_go_by_the_priorities_of_leases)
{
    const struct {
        struct quota q; /* of another claimant */
        int32_t priority;
        uint32_t takes; /* of the two */
    } cases[] = {
        {{.borrow_within_cohort = COHORT_LOWER_PRIORITY}, 10, 0},
        {{.borrow_within_cohort = COHORT_LOWER_PRIORITY}, 11, 1},
        {{.borrow_within_cohort = COHORT_LOWER_PRIORITY}, 13, 2},
        {{.borrow_within_cohort = COHORT_LOWER_PRIORITY, .priority = 3}, 10, 2},
        {{.borrow_within_cohort = COHORT_LOWER_PRIORITY,
          .has_borrow_threshold = true,
          .borrow_threshold = 11},
         13,
         1},
        {{.borrow_within_cohort = COHORT_LOWER_PRIORITY,
          .has_borrow_threshold = true,
          .borrow_threshold = 9},
         13,
         0},
        {{.floor_gpus = 2, .lend_gpus = 2, .reclaim_within_cohort = COHORT_LOWER_PRIORITY}, 12, 1},
        {{.floor_gpus = 2, .lend_gpus = 2, .reclaim_within_cohort = COHORT_ANY}, 0, 2},
        {{.floor_gpus = 1, .lend_gpus = 1, .reclaim_within_cohort = COHORT_ANY}, 0, 1},
        {{.floor_gpus = 2, .lend_gpus = 2, .borrow_within_cohort = COHORT_LOWER_PRIORITY}, 13, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r;
        struct quota victim = {.ceiling_gpus = NO_LIMIT, .priority = 10}, q = cases[i].q;
        q.ceiling_gpus = NO_LIMIT;
        open_cohorts(&r, 2, NULL, 0);
        struct toy *v = rig_add(&r, &victim), *t = rig_add(&r, &q);
        acquire_with(v, 1, 0, 100);
        acquire_with(v, 1, 2, 200);
        while (reclaim_with(t, 1, cases[i].priority, 0) == GRANT_OK)
            continue;
        cr_assert_eq(v->n_evicted, cases[i].takes, "case %zu: %u", i, v->n_evicted);
        rig_fini(&r);
    }
}

/* The same two, and the claimant itself asks; it may hold no more than the two. */
Test(cohorts, a_claimant_evicts_its_own_leases)
{
    const struct {
        enum within_queue policy;
        int32_t priority;
        simtime_ns submit;
        uint32_t takes;
    } cases[] = {
        {QUEUE_NEVER, 5, 0, 0},
        {QUEUE_LOWER_PRIORITY, 0, 0, 0},
        {QUEUE_LOWER_PRIORITY, 1, 0, 1},
        {QUEUE_LOWER_PRIORITY, 2, 0, 1},
        {QUEUE_LOWER_PRIORITY, 3, 0, 2},
        {QUEUE_LOWER_OR_NEWER_EQUAL, 0, 100, 0},
        {QUEUE_LOWER_OR_NEWER_EQUAL, 0, 99, 1},
        {QUEUE_LOWER_OR_NEWER_EQUAL, 2, 200, 1},
        {QUEUE_LOWER_OR_NEWER_EQUAL, 2, 199, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r;
        struct quota q = {
            .floor_gpus = 2, .ceiling_gpus = 2, .priority = 10, .within_queue = cases[i].policy};
        open_cohorts(&r, 4, NULL, 0);
        struct toy *t = rig_add(&r, &q);
        acquire_with(t, 1, 0, 100);
        acquire_with(t, 1, 2, 200);
        for (int n = 1;
             n <= 2 && reclaim_with(t, 1, cases[i].priority, cases[i].submit) == GRANT_OK; n++)
            rig_run(&r, (simtime_ns)n * SIM_MIN); /* its usage falls when the victim is gone */
        cr_assert_eq(t->n_evicted, cases[i].takes, "case %zu: %u", i, t->n_evicted);
        cr_assert_leq(fleet_usage(r.fleet, t->number), 2);
        rig_fini(&r);
    }
}

/* ---- shares ---- */

/* 16 GPUs, floors 4 and 4, the other 8 are the fleet's; all of it can be lent. */
Test(cohorts, the_fair_share_is_borrowed_over_lendable_over_weight)
{
    struct rig r;
    struct quota a = {.floor_gpus = 4, .lend_gpus = 4, .ceiling_gpus = NO_LIMIT, .weight = 2};
    struct quota b = {.floor_gpus = 4, .lend_gpus = 4, .ceiling_gpus = NO_LIMIT};
    open_cohorts(&r, 16, NULL, 0);
    struct toy *x = rig_add(&r, &a), *y = rig_add(&r, &b);
    toy_acquire(x, SHAPE_ANY, 8, GPU_TRAINING, 0);
    toy_acquire(y, SHAPE_ANY, 4, GPU_TRAINING, 0);
    cr_assert_eq(fleet_share(r.fleet, x->number), (8 - 4) / 16.0 / 2);
    cr_assert_eq(fleet_share(r.fleet, y->number), 0);
    toy_acquire(y, SHAPE_ANY, 2, GPU_TRAINING, 0);
    cr_assert_eq(fleet_share(r.fleet, y->number), (6 - 4) / 16.0);
    rig_fini(&r);
}
