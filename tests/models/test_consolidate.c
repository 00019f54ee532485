/* Consolidating reclaim, reclaims one after another, and that evictions end. */
#include "draw.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>

#define NO_LIMIT UINT32_MAX

static void open_moving(struct rig *r, uint32_t nodes, bool consolidate)
{
    const struct node_group group = {.nodes = nodes, .gpus_per_node = 8};
    const struct reclaim_plan reclaim = {
        .victims = VICTIM_LEAST_OVER_RECLAIM, .grace_ns = 30 * SIM_S, .consolidate = consolidate};
    rig_init_groups(r, &group, 1, &reclaim, 1);
}

/* An evicted gang returns: a lease of its size as soon as there is room. */
static void restart(struct toy *t, simtime_ns now)
{
    (void)now;
    while (t->share > 0 && toy_try_acquire(t, SHAPE_ONE_NODE, 1) == GRANT_OK)
        t->share--;
}

static void wants_back(struct toy *t, lease_id l, simtime_ns now)
{
    (void)l;
    (void)now;
    t->share++;
}

/* Public question, kubernetes-sigs/kueue#5243: four nodes, each with six one-GPU jobs of priority
 * 100 and two of priority 1; a job of 8 GPUs on one node, priority 100. A scheduler that counts
 * evicts the eight of priority 1, which is what a start that takes any GPUs does here, and then
 * finds no node; moving six more jobs starts it. */
Test(consolidate, count_is_not_shape)
{
    for (int moves = 0; moves < 2; moves++) {
        struct rig r;
        struct quota strong = {.ceiling_gpus = NO_LIMIT, .priority = 100}, asks = toy_high;
        asks.priority = 100;
        open_moving(&r, 4, moves);
        struct toy *high = rig_add(&r, &strong), *low = rig_add(&r, &toy_low);
        struct toy *t = rig_add(&r, &asks);
        for (int node = 0; node < 4; node++) {
            for (int i = 0; i < 6; i++)
                toy_acquire(high, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
            for (int i = 0; i < 2; i++)
                toy_acquire(low, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
        }
        lease_id counted = toy_reclaim(t, SHAPE_ANY, 8);
        fleet_abandon(r.fleet, counted); /* it cannot use them: they become free */
        rig_run(&r, SIM_MIN);
        cr_assert_eq(low->n_evicted, 8);
        cr_assert_eq(fleet_free_gpus(r.fleet), 8);
        for (uint32_t block = 8; block > 2; block--) {
            const struct shape shape = {.gpus = block, .kind = SHAPE_ONE_NODE};
            cr_assert_eq(fleet_would(r.fleet, t->number, &shape), GRANT_SHAPE);
        }
        const struct shape largest = {.gpus = 2, .kind = SHAPE_ONE_NODE};
        cr_assert_eq(fleet_would(r.fleet, t->number, &largest), GRANT_OK);
        high->on_evict = wants_back;
        high->turn = restart;
        cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 8), moves ? GRANT_OK : GRANT_SHAPE);
        rig_run(&r, 2 * SIM_MIN);
        cr_assert_eq(high->n_evicted, moves ? 6u : 0u);
        cr_assert_eq(t->n_granted, moves ? 1u : 0u);
        cr_assert_eq(fleet_usage(r.fleet, high->number), 24); /* they run again */
        cr_assert_eq(fleet_free_gpus(r.fleet), moves ? 0u : 8u);
        cr_assert_eq(fleet_churn(r.fleet)->moves, moves ? 6u : 0u);
        rig_fini(&r);
    }
}

/* Public question, volcano-sh/volcano#3948: nodes of [4, 2, 1], [4, 2] and [4, 2, 1]; 4 GPUs on one
 * node. The 2 of the second node would suffice alone, but fits nowhere else. */
Test(consolidate, fewest_moves)
{
    struct rig r;
    open_moving(&r, 3, true);
    struct quota q = {.ceiling_gpus = NO_LIMIT};
    struct toy *jobs = rig_add(&r, &toy_low), *t = rig_add(&r, &q);
    const uint32_t fill[3][4] = {{4, 2, 1, 1}, {4, 2, 2, 0}, {4, 2, 1, 1}};
    lease_id fillers[3], l;
    for (int node = 0; node < 3; node++)
        for (int i = 0; i < 4 && fill[node][i]; i++) {
            l = toy_acquire(jobs, SHAPE_ONE_NODE, fill[node][i], GPU_TRAINING, 0);
            fillers[node] = l;
        }
    for (int node = 0; node < 3; node++)
        fleet_stop_at(r.fleet, fillers[node], 0, 0);
    rig_run(&r, SIM_S);
    const struct shape shape = {.gpus = 4, .kind = SHAPE_ONE_NODE};
    cr_assert_eq(fleet_free_gpus(r.fleet), 4);
    cr_assert_eq(fleet_would(r.fleet, t->number, &shape), GRANT_SHAPE);
    toy_reclaim(t, SHAPE_ONE_NODE, 4);
    cr_assert_eq(jobs->n_evicted, 2);
    const struct reclaim_row *row = rig_row(&r, 0);
    cr_assert(row->moves && row->victims == 2 && row->gpus_evicted == 3 && row->gpus_missing == 3);
    rig_run(&r, SIM_MIN);
    cr_assert_eq(t->n_granted, 1);
    rig_fini(&r);
}

/* ---- fewest moves, by trying everything ---- */

enum { NODES = 3, SIZE = 4, MOST = NODES * SIZE };

struct packed {
    uint32_t n, gpus[MOST], node[MOST], free[NODES];
};

static bool fits_elsewhere(const struct packed *p, uint32_t set, uint32_t node, uint32_t *free)
{
    uint32_t i = 0;
    while (i < p->n && !(set >> i & 1))
        i++;
    if (i == p->n)
        return true;
    for (uint32_t to = 0; to < NODES; to++) {
        if (to == node || free[to] < p->gpus[i])
            continue;
        free[to] -= p->gpus[i];
        bool fits = fits_elsewhere(p, set & ~(1u << i), node, free);
        free[to] += p->gpus[i];
        if (fits)
            return true;
    }
    return false;
}

/* Moves and GPUs of the best set as one number, UINT32_MAX when there is none. */
static uint32_t least_moves(const struct packed *p, uint32_t want)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t node = 0; node < NODES; node++)
        for (uint32_t set = 1; set < 1u << p->n; set++) {
            uint32_t moves = 0, gpus = 0, free[NODES];
            bool there = true;
            for (uint32_t i = 0; i < p->n; i++)
                if (set >> i & 1) {
                    there = there && p->node[i] == node && p->gpus[i] < want;
                    moves++;
                    gpus += p->gpus[i];
                }
            for (int k = 0; k < NODES; k++)
                free[k] = p->free[k];
            if (there && p->free[node] + gpus >= want && moves * 100 + gpus < best &&
                fits_elsewhere(p, set, node, free))
                best = moves * 100 + gpus;
        }
    return best;
}

Test(consolidate, the_moves_are_fewest_of_all)
{
    uint64_t seed = 31;
    uint32_t moved = 0, refused = 0;
    for (int k = 0; k < 3000; k++) {
        const struct node_group group = {.nodes = NODES, .gpus_per_node = SIZE};
        const struct reclaim_plan reclaim = {.consolidate = true};
        struct packed p = {.free = {SIZE, SIZE, SIZE}};
        struct rig r;
        rig_init_groups(&r, &group, 1, &reclaim, 1);
        struct toy *jobs = rig_add(&r, &toy_low), *t = rig_add(&r, &toy_low);
        lease_id stop[MOST];
        uint32_t n_stop = 0;
        for (uint32_t node = 0; node < NODES; node++)
            for (uint32_t left = SIZE; left > 0;) { /* best fit fills one node after the other */
                uint32_t gpus = 1 + draw_below(&seed, left < 3 ? left : 3);
                lease_id l = toy_acquire(jobs, SHAPE_ONE_NODE, gpus, GPU_TRAINING, 0);
                left -= gpus;
                if (draw_below(&seed, 3) == 0) {
                    stop[n_stop++] = l;
                    continue;
                }
                p.gpus[p.n] = gpus;
                p.node[p.n++] = node;
                p.free[node] -= gpus;
            }
        while (n_stop > 0)
            fleet_stop_at(r.fleet, stop[--n_stop], 0, 0);
        rig_run(&r, SIM_S);
        const struct shape shape = {.gpus = 2 + draw_below(&seed, 3), .kind = SHAPE_ONE_NODE};
        if (fleet_would(r.fleet, t->number, &shape) == GRANT_SHAPE) {
            uint32_t best = least_moves(&p, shape.gpus);
            bool granted = toy_try_reclaim(t, SHAPE_ONE_NODE, shape.gpus) == GRANT_OK;
            cr_assert_eq(granted, best != UINT32_MAX, "case %d", k);
            if (granted)
                cr_assert_eq(rig_row(&r, 0)->victims * 100 + rig_row(&r, 0)->gpus_evicted, best);
            moved += granted;
            refused += !granted;
        }
        rig_fini(&r);
    }
    cr_assert(moved > 200 && refused > 20, "%u moved, %u refused", moved, refused);
}

/* ---- one reclaim after another ---- */

static void reclaim_waiting(struct toy *t, simtime_ns now)
{
    (void)now;
    while (t->share > 0 && toy_try_reclaim(t, SHAPE_ONE_NODE, 1) == GRANT_OK)
        t->share--;
}

/* Public question, kubernetes-sigs/kueue#6143: 100 jobs that each need one preemption with a grace
 * of 15 min. */
Test(consolidate, serial_reclaims_wait_for_each_other)
{
    for (int serial = 0; serial < 2; serial++) {
        struct rig r;
        const struct node_group group = {.nodes = 100, .gpus_per_node = 1};
        const struct reclaim_plan reclaim = {.grace_ns = 15 * SIM_MIN, .serial = serial};
        rig_init_groups(&r, &group, 1, &reclaim, 1);
        struct toy *jobs = rig_add(&r, &toy_low), *t = rig_add(&r, &toy_high);
        for (int i = 0; i < 100; i++)
            toy_acquire(jobs, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
        t->share = 100;
        t->turn = reclaim_waiting;
        fleet_want_pass(r.fleet);
        simtime_ns waited = 0, last = 0;
        rig_run(&r, 26 * SIM_HOUR);
        cr_assert_eq(t->n_granted, 100);
        for (uint32_t i = 0; i < 100; i++) {
            last = t->granted[i].at;
            waited += last;
        }
        /* a pass of the same instant as the grant comes up to a nanosecond later */
        cr_assert_lt(last - (serial ? 25 * SIM_HOUR : 15 * SIM_MIN), SIM_US);
        simtime_ns hours = serial ? 2525 * SIM_HOUR / 2 : 25 * SIM_HOUR;
        cr_assert(waited >= hours && waited - hours < SIM_MS);
        rig_fini(&r);
    }
}

/* Giving up the outstanding start lets the next one go. */
Test(consolidate, a_serial_reclaim_that_is_given_up_is_over)
{
    struct rig r;
    const struct node_group group = {.nodes = 2, .gpus_per_node = 1};
    const struct reclaim_plan reclaim = {.grace_ns = SIM_MIN, .serial = true};
    rig_init_groups(&r, &group, 1, &reclaim, 1);
    struct toy *jobs = rig_add(&r, &toy_low), *t = rig_add(&r, &toy_high);
    for (int i = 0; i < 2; i++)
        toy_acquire(jobs, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
    lease_id l = toy_reclaim(t, SHAPE_ONE_NODE, 1);
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 1), GRANT_ROOM);
    fleet_abandon(r.fleet, l);
    toy_reclaim(t, SHAPE_ONE_NODE, 1); /* takes the GPU that is on its way, and evicts nobody */
    cr_assert_eq(jobs->n_evicted, 1);
    rig_fini(&r);
}

/* ---- evictions end ---- */

enum { GANGS = 6, PASSES = 100 };

/* Gangs of a claimant: what waits, by number, which is also the tag. */
struct crowd {
    uint32_t gpus[GANGS], waits, asked;
    int32_t priority[GANGS];
};

static void crowd_turn(struct toy *t, simtime_ns now)
{
    struct crowd *c = t->context;
    cr_assert_lt(t->n_turns, PASSES, "at %llu ns", (unsigned long long)now);
    for (uint32_t g = 0; g < GANGS; g++) {
        const struct ask ask = {
            .shape = {.gpus = c->gpus[g], .kind = g % 2 ? SHAPE_ONE_NODE : SHAPE_ANY},
            .priority = c->priority[g],
            .tag = g,
            .submit_ns = g};
        lease_id l;
        if (!(c->waits >> g & 1))
            continue;
        struct fleet *f = t->rig->fleet;
        if (fleet_acquire(f, t->number, &ask, GPU_TRAINING, &l) == GRANT_OK ||
            fleet_reclaim(f, t->number, &ask, 0, &l) == GRANT_OK)
            c->waits &= ~(1u << g);
    }
}

static void crowd_evicted(struct toy *t, lease_id l, simtime_ns now)
{
    (void)now;
    struct crowd *c = t->context;
    c->waits |= 1u << fleet_lease_tag(t->rig->fleet, l);
    fleet_want_pass(t->rig->fleet);
}

/* No time passes between notice and restart: whoever could evict each other for ever would. */
Test(consolidate, evictions_of_one_instant_come_to_an_end)
{
    uint64_t seed = 41, evictions = 0, spared = 0;
    for (int k = 0; k < 1500; k++) {
        struct rig r;
        struct crowd crowds[4] = {0};
        const struct node_group group = {.nodes = 3, .gpus_per_node = 4};
        const struct reclaim_plan reclaim = {
            .victims = (enum victim_rule)draw_below(&seed, VICTIM_RULES),
            .consolidate = draw_below(&seed, 2),
            .serial = draw_below(&seed, 4) == 0,
        };
        rig_init_groups(&r, &group, 1, &reclaim, 1);
        engine_check_set(r.engine, NULL, NULL); /* rig_run checks */
        for (uint32_t c = 0; c < 4; c++) {
            struct quota q = {.floor_gpus = draw_below(&seed, 4),
                              .ceiling_gpus = NO_LIMIT,
                              .priority = (int32_t)draw_below(&seed, 2),
                              .weight = 1 + draw_below(&seed, 2),
                              .reclaim_within_cohort = draw_below(&seed, COHORT_POLICIES),
                              .borrow_within_cohort = draw_below(&seed, COHORT_ANY),
                              .within_queue = draw_below(&seed, QUEUE_POLICIES)};
            q.lend_gpus = q.floor_gpus;
            struct toy *t = rig_add(&r, &q);
            for (uint32_t g = 0; g < GANGS; g++) {
                crowds[c].gpus[g] = 1 + draw_below(&seed, 4);
                crowds[c].priority[g] = (int32_t)draw_below(&seed, 3);
            }
            crowds[c].waits = (1u << GANGS) - 1;
            t->context = &crowds[c];
            t->turn = crowd_turn;
            t->on_evict = crowd_evicted;
            t->stop_ns = 0;
        }
        fleet_want_pass(r.fleet);
        rig_run(&r, SIM_S);
        evictions += fleet_churn(r.fleet)->evictions;
        spared += fleet_churn(r.fleet)->spared;
        rig_fini(&r);
    }
    cr_assert(evictions > 1500 && spared > 100, "%llu evictions, %llu spared",
              (unsigned long long)evictions, (unsigned long long)spared);
}
