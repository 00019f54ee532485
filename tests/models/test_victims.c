/* The choice of victims, by hand and against every set of victims of tiny fleets. */
#include "draw.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>

/* ---- worked choices ---- */

/* Public question, kubernetes-sigs/kueue#5243: eight one-GPU jobs of lower priority, two on each of
 * four nodes: enough by count, none of use. Nobody is evicted in vain. */
Test(victims, nobody_is_evicted_for_a_shape_that_will_not_come)
{
    const struct rig_plan plan = rig_plan_of(4, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct quota top = {.ceiling_gpus = 32, .priority = 1};
    struct toy *strong = rig_add(&r, &top), *weak = rig_add(&r, &toy_low),
               *t = rig_add(&r, &toy_high);
    for (int node = 0; node < 4; node++) {
        for (int i = 0; i < 6; i++)
            toy_acquire(strong, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
        for (int i = 0; i < 2; i++)
            toy_acquire(weak, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
    }
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 8), GRANT_ROOM);
    cr_assert_eq(weak->n_evicted + strong->n_evicted, 0);
    toy_reclaim(t, SHAPE_ANY, 8); /* by count alone it starts */
    cr_assert_eq(weak->n_evicted, 8);
    rig_fini(&r);
}

/* Public question, kubernetes-sigs/kueue#6143: 100 starts that each need one preemption with a
 * grace of 15 min, all at once. */
Test(victims, a_hundred_preemptions_go_in_parallel)
{
    const struct rig_plan plan = {.nodes = 100, .gpus_per_node = 1, .grace_ns = 15 * SIM_MIN};
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    for (int i = 0; i < 100; i++)
        toy_acquire(gang, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
    for (int i = 0; i < 100; i++)
        toy_reclaim(service, SHAPE_ONE_NODE, 1);
    rig_run(&r, SIM_HOUR);
    simtime_ns waited = 0;
    for (uint32_t i = 0; i < service->n_granted; i++) {
        cr_assert_eq(service->granted[i].at, 15 * SIM_MIN);
        waited += service->granted[i].at;
    }
    cr_assert_eq(waited, 25 * SIM_HOUR);
    rig_fini(&r);
}

/* Node 0: one gang of 16 over nodes 0 and 1. Node 2: two of 4. Node 3: 2, 2 and 4. */
static void mixed_field(struct rig *r, enum victim_rule rule, struct toy **gang,
                        struct toy **service)
{
    static const uint64_t loss[] = {1, 50, 60, 10, 20, 100};
    const struct rig_plan plan = rig_plan_of(4, rule);
    rig_init(r, &plan);
    *gang = rig_add(r, &toy_low);
    *service = rig_add(r, &toy_high);
    (*gang)->loss = loss;
    const uint32_t sizes[] = {16, 4, 4, 2, 2, 4};
    for (uint32_t i = 0; i < 6; i++) {
        rig_run(r, i * SIM_S);
        toy_acquire(*gang, SHAPE_PREFER_WHOLE, sizes[i], GPU_TRAINING, i);
    }
}

static void evicted_are(const struct toy *gang, uint32_t n, const lease_id *want)
{
    cr_assert_eq(gang->n_evicted, n);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(gang->evicted[i].lease, want[i]);
}

Test(victims, each_rule_chooses_its_own_victims)
{
    const struct {
        enum victim_rule rule;
        uint32_t n;
        lease_id victims[2];
    } cases[] = {
        {VICTIM_LEAST_WORK_LOST, 1, {0}},       /* 1 lost, however large it is */
        {VICTIM_LEAST_OVER_RECLAIM, 2, {3, 4}}, /* 2 + 2 exactly, and less lost than one of 4 */
        {VICTIM_YOUNGEST, 1, {5}},
    };
    for (size_t i = 0; i < 3; i++) {
        struct rig r;
        struct toy *gang, *service;
        mixed_field(&r, cases[i].rule, &gang, &service);
        toy_reclaim(service, SHAPE_ONE_NODE, 4);
        evicted_are(gang, cases[i].n, cases[i].victims);
        rig_fini(&r);
    }
}

/* Three GPUs from gangs of 2, 2 and 3: one victim that suffices alone beats two that overshoot. */
Test(victims, one_victim_that_suffices_alone_competes)
{
    const struct rig_plan plan = rig_plan_of(1, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    const uint32_t sizes[] = {2, 2, 3, 1};
    for (uint32_t i = 0; i < 3; i++)
        toy_acquire(gang, SHAPE_ONE_NODE, sizes[i], GPU_TRAINING, 0);
    toy_acquire(service, SHAPE_ONE_NODE, 1, GPU_SERVING, 0);
    toy_reclaim(service, SHAPE_ONE_NODE, 3);
    evicted_are(gang, 1, (const lease_id[]){2});
    rig_fini(&r);
}

/* 20 GPUs over nodes: 8 are free, gangs of 8, 8, 2, 4, 2 hold the rest. Ascending 2 + 2 + 4 + 8
 * makes 16 for the missing 12; walked back, the 4 are not needed. */
Test(victims, unnecessary_victims_are_dropped_in_reverse)
{
    const struct rig_plan plan = rig_plan_of(4, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    const uint32_t sizes[] = {8, 8, 2, 4, 2};
    for (uint32_t i = 0; i < 5; i++)
        toy_acquire(gang, SHAPE_PREFER_WHOLE, sizes[i], GPU_TRAINING, 0);
    lease_id l = toy_reclaim(service, SHAPE_PREFER_WHOLE, 20);
    evicted_are(gang, 3, (const lease_id[]){2, 4, 0}); /* told in the order of the rule */
    const struct reclaim_row *row = rig_row(&r, 0);
    cr_assert(row->gpus_missing == 12 && row->gpus_evicted == 12);
    rig_run(&r, 40 * SIM_S);
    cr_assert(service->n_granted == 1 && fleet_lease_gpus(r.fleet, l) == 20);
    cr_assert_eq(fleet_free_gpus(r.fleet), 0);
    rig_fini(&r);
}

/* A gang of 16 on three nodes: 8 come from a lease that ends by itself, 4 are free and the other 4
 * of their node have to be evicted. */
Test(victims, a_gang_assembles_over_nodes)
{
    const struct rig_plan plan = rig_plan_of(3, VICTIM_LEAST_WORK_LOST);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    lease_id a = toy_acquire(gang, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    toy_acquire(gang, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    toy_acquire(gang, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    fleet_stop_at(r.fleet, a, 2 * SIM_S, 0);
    toy_reclaim(service, SHAPE_PREFER_WHOLE, 16);
    evicted_are(gang, 1, (const lease_id[]){2});
    cr_assert_eq(rig_shares(&r, service, GPU_HELD_IDLE), 4);
    rig_run(&r, 12 * SIM_S);
    cr_assert_eq(rig_shares(&r, service, GPU_HELD_IDLE), 12); /* kept, not yet ready */
    fleet_busy_set(r.fleet, service->number, 10);
    cr_assert_eq(rig_shares(&r, service, GPU_SERVING), 0);
    rig_run(&r, 40 * SIM_S);
    cr_assert(service->n_granted == 1 && service->granted[0].at == 40 * SIM_S);
    cr_assert_eq(rig_shares(&r, service, GPU_SERVING), 10);
    cr_assert_eq(rig_shares(&r, service, GPU_HELD_IDLE), 6);
    const struct reclaim_row *row = rig_row(&r, 0);
    cr_assert(row->gpus_missing == 12 && row->gpus_evicted == 4 && row->victims == 1);
    rig_fini(&r);
}

/* ---- every set of victims of tiny fleets ---- */

enum { NODES = 3, GPUS = 4, MOST = NODES * GPUS };

/* A fleet of equal gangs within nodes, of two claimants with floors. */
struct tiny {
    uint32_t gang, n;
    uint32_t node[MOST], owner[MOST];
    uint64_t loss[MOST];
    simtime_ns start[MOST];
    uint32_t floor[2], held[2], free[NODES];
};

/* What a set costs under a rule, as a pair to be compared; false when it will not do. */
static bool cost_of(const struct tiny *f, uint32_t set, uint32_t node, uint32_t want,
                    enum victim_rule rule, int64_t cost[2])
{
    uint32_t count[2] = {0, 0}, gained = f->free[node], evicted = 0;
    int64_t lost = 0, oldest = INT64_MAX;
    for (uint32_t i = 0; i < f->n; i++) {
        if (!(set >> i & 1))
            continue;
        count[f->owner[i]]++;
        gained += f->node[i] == node ? f->gang : 0;
        evicted += f->gang;
        lost += (int64_t)f->loss[i];
        oldest = (int64_t)f->start[i] < oldest ? (int64_t)f->start[i] : oldest;
    }
    for (int c = 0; c < 2; c++) /* each but the last of a claimant leaves it above its floor */
        if (count[c] && f->held[c] - (count[c] - 1) * f->gang <= f->floor[c])
            return false;
    if (gained < want)
        return false;
    int64_t over = (int64_t)evicted - (want - (f->free[node] < want ? f->free[node] : want));
    cost[0] = rule == VICTIM_LEAST_WORK_LOST      ? lost
              : rule == VICTIM_LEAST_OVER_RECLAIM ? over
                                                  : -oldest;
    cost[1] = rule == VICTIM_LEAST_OVER_RECLAIM ? lost : over;
    return true;
}

static bool best_of(const struct tiny *f, uint32_t want, enum victim_rule rule, int64_t best[2])
{
    bool found = false;
    for (uint32_t node = 0; node < NODES; node++)
        for (uint32_t set = 1; set < 1u << f->n; set++) {
            int64_t cost[2];
            if (cost_of(f, set, node, want, rule, cost) &&
                (!found || cost[0] < best[0] || (cost[0] == best[0] && cost[1] < best[1]))) {
                found = true;
                best[0] = cost[0];
                best[1] = cost[1];
            }
        }
    return found;
}

/* Fills a fleet at random; the toys' leases are numbered as in f. */
static void fill(struct tiny *f, struct rig *r, struct toy **owners, uint64_t *seed)
{
    f->gang = 1 + draw_below(seed, 2);
    for (uint32_t node = 0; node < NODES; node++)
        f->free[node] = GPUS;
    uint32_t n = MOST / f->gang - draw_below(seed, 4);
    for (f->n = 0; f->n < n; f->n++) {
        uint32_t i = f->n;
        f->owner[i] = draw_below(seed, 2);
        f->loss[i] = draw_below(seed, 5);
        f->start[i] = i / 2 * SIM_S;
        f->held[f->owner[i]] += f->gang;
        rig_run(r, f->start[i]);
        uint32_t best = NODES;
        for (uint32_t node = 0; node < NODES; node++)
            if (f->free[node] >= f->gang && (best == NODES || f->free[node] < f->free[best]))
                best = node;
        f->node[i] = best;
        f->free[best] -= f->gang;
        toy_acquire(owners[f->owner[i]], SHAPE_ONE_NODE, f->gang, GPU_TRAINING, i);
    }
}

static void tiny_case(uint64_t *seed, uint32_t *chosen, uint32_t *refused)
{
    struct tiny f = {0};
    struct rig r;
    struct toy *owners[2];
    enum victim_rule rule = draw_below(seed, 3); /* those whose cost is stated here */
    const struct rig_plan plan = {.nodes = NODES, .gpus_per_node = GPUS, .victims = rule};
    rig_init(&r, &plan);
    for (int c = 0; c < 2; c++) {
        f.floor[c] = draw_below(seed, 9);
        struct quota q = {.floor_gpus = f.floor[c], .lend_gpus = f.floor[c], .ceiling_gpus = MOST};
        owners[c] = rig_add(&r, &q);
        owners[c]->loss = f.loss;
    }
    struct toy *service = rig_add(&r, &toy_high);
    fill(&f, &r, owners, seed);
    const struct shape shape = {.gpus = 1 + draw_below(seed, GPUS), .kind = SHAPE_ONE_NODE};
    if (fleet_would(r.fleet, service->number, &shape) != GRANT_OK) {
        int64_t best[2], cost[2];
        bool exists = best_of(&f, shape.gpus, rule, best);
        enum grant g = toy_try_reclaim(service, SHAPE_ONE_NODE, shape.gpus);
        cr_assert_eq(g == GRANT_OK, exists);
        if (exists) {
            uint32_t set = 0, node = NODES;
            for (int c = 0; c < 2; c++)
                for (uint32_t i = 0; i < owners[c]->n_evicted; i++)
                    set |= 1u << owners[c]->evicted[i].lease;
            for (uint32_t i = 0; i < f.n; i++)
                node = set >> i & 1 ? f.node[i] : node;
            cr_assert(cost_of(&f, set, node, shape.gpus, rule, cost));
            cr_assert(cost[0] == best[0] && cost[1] == best[1]);
            rig_run(&r, SIM_MIN);
            cr_assert_eq(service->n_granted, 1);
        }
        *chosen += exists;
        *refused += !exists;
    }
    rig_fini(&r);
}

Test(victims, the_choice_is_the_best_of_all_sets_for_equal_gangs)
{
    uint64_t seed = 4;
    uint32_t chosen = 0, refused = 0;
    for (int i = 0; i < 3000; i++)
        tiny_case(&seed, &chosen, &refused);
    cr_assert(chosen > 500 && refused > 100, "%u chosen, %u refused", chosen, refused);
}
