/* Reclaim of whole nodes and of leaf groups: by hand, and against every set of victims of small
 * fleets. */
#include "draw.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>

static const uint32_t two_groups[] = {2, 2};

static struct rig_plan plan_of(enum victim_rule rule)
{
    struct rig_plan plan = rig_plan_of(4, rule);
    plan.fabric = (struct fabric){.leaf_nodes = two_groups, .n_leaves = 2};
    return plan;
}

/* Node 0: 4 + 4; node 1: 8; node 2: 1 + 7; node 3: free but for 1. By count one GPU more than what
 * is free would do for 8; whole nodes cost the one on node 3, a leaf group of 16 the three of the
 * second group. */
static void field(struct rig *r, enum victim_rule rule, struct toy **gang, struct toy **service)
{
    static const uint64_t loss[] = {10, 10, 30, 1, 9, 2};
    static const uint32_t sizes[] = {4, 4, 8, 1, 7, 1};
    const struct rig_plan plan = plan_of(rule);
    rig_init(r, &plan);
    *gang = rig_add(r, &toy_low);
    *service = rig_add(r, &toy_high);
    (*gang)->loss = loss;
    for (uint32_t i = 0; i < 6; i++)
        toy_acquire(*gang, SHAPE_ONE_NODE, sizes[i], GPU_TRAINING, i);
}

static void evicted_are(const struct toy *gang, uint32_t n, const lease_id *want)
{
    cr_assert_eq(gang->n_evicted, n);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(gang->evicted[i].lease, want[i]);
}

Test(block, whole_nodes_come_together)
{
    struct rig r;
    struct toy *gang, *service;
    field(&r, VICTIM_LEAST_WORK_LOST, &gang, &service);
    cr_assert_eq(toy_try_acquire(service, SHAPE_WHOLE_NODES, 16), GRANT_ROOM);
    lease_id l = toy_reclaim(service, SHAPE_WHOLE_NODES, 16);
    /* the cheapest in turn, until two nodes are whole: 3, 5, 4 */
    evicted_are(gang, 3, (const lease_id[]){3, 5, 4});
    rig_run(&r, 40 * SIM_S);
    cr_assert_eq(service->n_granted, 1);
    cr_assert_eq(fleet_lease_span(r.fleet, l), SPAN_LEAF);
    rig_fini(&r);
}

/* 12 GPUs as one node and four of another: node 2 becomes whole for 10, and node 3 has 7 free; with
 * node 3 whole for 2, the four on node 2 cost 9 more. Half of node 0 is free for 10, but in another
 * group. */
Test(block, the_rest_is_in_the_same_leaf_group)
{
    struct rig r;
    struct toy *gang, *service;
    field(&r, VICTIM_LEAST_WORK_LOST, &gang, &service);
    lease_id l = toy_reclaim(service, SHAPE_ONE_LEAF, 12);
    evicted_are(gang, 2, (const lease_id[]){3, 4});
    rig_run(&r, 40 * SIM_S);
    cr_assert(service->n_granted == 1 && fleet_lease_span(r.fleet, l) == SPAN_LEAF);
    rig_fini(&r);
}

Test(block, nobody_is_evicted_where_no_leaf_group_is_so_large)
{
    struct rig r;
    struct toy *gang, *service;
    field(&r, VICTIM_LEAST_WORK_LOST, &gang, &service);
    cr_assert_eq(toy_try_reclaim(service, SHAPE_ONE_LEAF, 17), GRANT_NEVER);
    cr_assert_eq(gang->n_evicted, 0);
    toy_reclaim(service, SHAPE_WHOLE_NODES, 17);
    rig_fini(&r);
}

/* ---- every set of victims ---- */

enum { NODES = 4, GROUPS = 2, SIZE = 4, LEASES = 10 };

struct small {
    uint32_t n;                 /* leases */
    uint32_t on[LEASES][NODES]; /* GPUs of each */
    uint32_t free[NODES];
    uint32_t leaf[NODES];
};

static bool holds(const struct small *s, uint32_t set, const struct shape *shape)
{
    for (uint32_t leaf = 0; leaf < GROUPS; leaf++) {
        uint32_t whole = 0, most = 0;
        for (uint32_t i = 0; i < NODES; i++) {
            uint32_t gpus = s->free[i];
            if (shape->kind == SHAPE_ONE_LEAF && s->leaf[i] != leaf)
                continue;
            for (uint32_t k = 0; k < s->n; k++)
                gpus += set >> k & 1 ? s->on[k][i] : 0;
            whole += gpus == SIZE;
            most = gpus < SIZE && gpus > most ? gpus : most;
        }
        uint32_t need = shape->gpus / SIZE, rest = shape->gpus % SIZE;
        if (whole > need || (whole == need && (rest == 0 || most >= rest)))
            return true;
    }
    return false;
}

/* Fills the fleet with leases of up to three nodes. */
static void fill(struct small *s, struct rig *r, struct toy *gang, uint64_t *seed)
{
    for (uint32_t i = 0; i < NODES; i++)
        s->free[i] = SIZE;
    for (uint32_t k = 0; k < LEASES; k++) {
        uint32_t gpus = 1 + draw_below(seed, 6), before[NODES];
        enum shape_kind kind = gpus <= SIZE ? SHAPE_ONE_NODE : SHAPE_ANY;
        for (uint32_t i = 0; i < NODES; i++)
            before[i] = fleet_node_free(r->fleet, i);
        lease_id l;
        const struct ask ask = {.shape = {.gpus = gpus, .kind = kind}, .tag = s->n};
        if (fleet_acquire(r->fleet, gang->number, &ask, GPU_TRAINING, &l) != GRANT_OK)
            continue;
        for (uint32_t i = 0; i < NODES; i++) {
            s->free[i] = fleet_node_free(r->fleet, i);
            s->on[s->n][i] = before[i] - s->free[i];
        }
        s->n++;
    }
}

static uint32_t set_of(const struct toy *gang)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < gang->n_evicted; i++)
        set |= 1u << gang->evicted[i].lease; /* leases are numbered in the order of the fill */
    return set;
}

/* Starts if and only if some set of victims makes room, and no victim could have been spared. */
static void one_case(uint64_t *seed)
{
    struct small s = {.leaf = {0, 0, 1, 1}};
    struct rig r;
    uint64_t loss[LEASES];
    struct rig_plan plan = plan_of((enum victim_rule)draw_below(seed, VICTIM_RULES));
    plan.gpus_per_node = SIZE;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    for (uint32_t i = 0; i < LEASES; i++)
        loss[i] = draw_below(seed, 50);
    gang->loss = loss;
    fill(&s, &r, gang, seed);
    const struct shape shape = {.gpus = SIZE + 1 + draw_below(seed, 2 * SIZE),
                                .kind = draw_below(seed, 2) ? SHAPE_ONE_LEAF : SHAPE_WHOLE_NODES};
    bool possible = holds(&s, (1u << s.n) - 1, &shape);
    bool fits = holds(&s, 0, &shape);
    const struct ask ask = {.shape = shape};
    lease_id l;
    enum grant grant = fleet_reclaim(r.fleet, service->number, &ask, 0, &l);
    bool shares_forbid = plan.victims == VICTIM_FAIR_SHARE && grant != GRANT_OK;
    cr_assert(shares_forbid || (grant == GRANT_OK) == possible, "rule %d kind %d gpus %u: %d",
              plan.victims, shape.kind, shape.gpus, grant);
    uint32_t set = set_of(gang);
    cr_assert(!fits || set == 0);
    if (grant == GRANT_OK) {
        cr_assert(holds(&s, set, &shape));
        for (uint32_t k = 0; k < s.n; k++)
            if (set >> k & 1)
                cr_assert(!holds(&s, set & ~(1u << k), &shape), "victim %u is needless", k);
        rig_run(&r, SIM_MIN);
        cr_assert_eq(service->n_granted, 1);
        cr_assert(shape.kind == SHAPE_WHOLE_NODES || fleet_lease_span(r.fleet, l) != SPAN_LEAVES);
    }
    rig_fini(&r);
}

Test(block, no_needless_victim_in_random_fleets)
{
    uint64_t seed = 5;
    for (int i = 0; i < 3000; i++)
        one_case(&seed);
}
