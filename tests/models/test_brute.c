/* The training queue and the fleet against the brute-force scheduler on random small cases: the
 * same starts, victims and finish times, to the nanosecond. 10,000 cases of each kind with
 * HEADROOM_LONG=1, some 1,600 in all by default. */
#include "brute_engine.h"
#include "draw.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static int cases(int usual)
{
    const char *text = getenv("HEADROOM_LONG");
    return text && text[0] == '1' ? 10000 : usual;
}

static uint32_t pick(uint64_t *state, uint32_t low, uint32_t high)
{
    return low + draw_below(state, high - low + 1);
}

static simtime_ns seconds(uint64_t *state, uint32_t low, uint32_t high)
{
    return pick(state, low, high) * SIM_S;
}

static void draw_fleet(uint64_t *state, struct brute_case *c)
{
    c->nodes = pick(state, 1, BRUTE_NODES);
    c->gpus_per_node = pick(state, 1, 8);
    c->placement = (enum shape_kind)pick(state, 0, 2);
    c->victims = pick(state, 0, 1) ? VICTIM_YOUNGEST : VICTIM_LOWEST_PRIORITY;
    c->grace_ns = seconds(state, 0, 12);
    c->teardown_ns = seconds(state, 0, 3);
    c->scrub_ns = seconds(state, 0, 3);
    c->interval_ns = pick(state, 0, 3) ? seconds(state, 2, 20) : SIM_NEVER;
    c->stall_ns = seconds(state, 0, 3);
    c->notice_save_ns = seconds(state, 0, 9);
    c->load_ns = seconds(state, 0, 3);
    c->init_ns = seconds(state, 0, 2);
    c->save_on_notice = pick(state, 0, 1);
    c->final_save = pick(state, 0, 1);
    c->end_ns = 2000 * SIM_S;
}

static void draw_jobs(uint64_t *state, struct brute_case *c)
{
    uint32_t most = c->nodes * c->gpus_per_node;
    simtime_ns at = 0;
    c->n_jobs = pick(state, 2, BRUTE_JOBS);
    for (uint32_t j = 0; j < c->n_jobs; j++) {
        at += pick(state, 0, 2) ? seconds(state, 0, 15) : 0;
        c->jobs[j] = (struct brute_job){
            .submit_ns = at,
            .work_ns = seconds(state, 1, 60),
            .tenant = pick(state, 0, c->n_tenants - 1),
            .gpus = pick(state, 1, pick(state, 0, 3) ? (most + 1) / 2 : most + 1),
            .priority = (int32_t)pick(state, 0, 3),
            .preemptible = pick(state, 0, 6) > 0,
        };
    }
}

static void draw_order(uint64_t *state, struct brute_case *c, enum queue_order order)
{
    c->order = order;
    if (order == ORDER_PRIORITY)
        c->age_ns = pick(state, 0, 1) ? seconds(state, 1, 30) : 0;
}

static struct quota whole_fleet(const struct brute_case *c)
{
    return (struct quota){.ceiling_gpus = c->nodes * c->gpus_per_node};
}

static void draw_quotas(uint64_t *state, struct brute_case *c)
{
    uint32_t gpus = c->nodes * c->gpus_per_node, left = gpus;
    for (uint32_t t = 0; t < c->n_tenants; t++) {
        struct quota *q = &c->tenants[t].quota;
        *q = (struct quota){.floor_gpus = pick(state, 0, left), .priority = (int)pick(state, 0, 2)};
        left -= q->floor_gpus;
        q->ceiling_gpus = pick(state, 0, 2) ? gpus : pick(state, q->floor_gpus, gpus);
        q->lend_gpus = pick(state, 0, 1) ? q->floor_gpus : pick(state, 0, q->floor_gpus);
        quota_may_reclaim(q, (enum may_reclaim)pick(state, 0, RECLAIM_POLICIES - 1));
    }
}

static struct brute_result engine, brute;

static void compare(const struct brute_case *c, uint64_t number)
{
    cr_assert(brute_run(c, &brute), "case %lu: too much happened", number);
    brute_engine_run(c, &engine);
    cr_assert(brute_same(c, &engine, &brute), "case %lu", number);
}

/* One tenant that may use everything. */
static void compare_alone(uint64_t seed, enum queue_order order, enum backfill_kind backfill, int n)
{
    uint64_t state = seed, backfilled = 0;
    for (int i = 0; i < n; i++) {
        struct brute_case c = {.backfill = backfill, .n_queues = 1, .n_tenants = 1};
        draw_fleet(&state, &c);
        draw_order(&state, &c, order);
        c.tenants[0].quota = whole_fleet(&c);
        draw_jobs(&state, &c);
        compare(&c, (uint64_t)i);
        backfilled += brute.backfilled;
    }
    cr_assert(backfill == BACKFILL_NONE || backfilled > (uint64_t)n / 10);
}

Test(brute, fifo_strict)
{
    compare_alone(1, ORDER_FIFO, BACKFILL_NONE, cases(100));
}

Test(brute, easy)
{
    compare_alone(2, ORDER_FIFO, BACKFILL_EASY, cases(150));
}

Test(brute, best_effort)
{
    compare_alone(5, ORDER_FIFO, BACKFILL_BEST_EFFORT, cases(100));
}

Test(brute, conservative)
{
    compare_alone(6, ORDER_FIFO, BACKFILL_CONSERVATIVE, cases(150));
}

Test(brute, priority_with_ageing)
{
    compare_alone(7, ORDER_PRIORITY, BACKFILL_NONE, cases(100));
}

Test(brute, shortest)
{
    compare_alone(8, ORDER_SHORTEST, BACKFILL_NONE, cases(100));
}

/* Gangs of one size within a node: what loses least work or fewest GPUs has one answer. */
static void draw_alike(uint64_t *state, struct brute_case *c)
{
    uint32_t gpus = pick(state, 1, c->gpus_per_node);
    c->victims = pick(state, 0, 1) ? VICTIM_LEAST_WORK_LOST : VICTIM_LEAST_OVER_RECLAIM;
    c->placement = SHAPE_ONE_NODE;
    for (uint32_t j = 0; j < c->n_jobs; j++)
        c->jobs[j].gpus = gpus;
}

/* Two or three tenants, each with a queue of its own or all in one. */
static void compare_reclaim(uint64_t seed, bool one_queue, int n)
{
    static const enum backfill_kind backfills[] = {BACKFILL_NONE, BACKFILL_EASY,
                                                   BACKFILL_BEST_EFFORT, BACKFILL_CONSERVATIVE};
    uint64_t state = seed, reclaims = 0;
    for (int i = 0; i < n; i++) {
        struct brute_case c = {.n_tenants = pick(&state, 2, BRUTE_TENANTS)};
        c.backfill = backfills[pick(&state, 0, one_queue ? 3 : 2)];
        c.n_queues = one_queue ? 1 : c.n_tenants;
        for (uint32_t t = 0; t < c.n_tenants; t++)
            c.tenants[t].queue = one_queue ? 0 : t;
        draw_fleet(&state, &c);
        draw_order(&state, &c, (enum queue_order)pick(&state, ORDER_FIFO, ORDER_SHORTEST));
        draw_quotas(&state, &c);
        draw_jobs(&state, &c);
        if (pick(&state, 0, 1))
            draw_alike(&state, &c);
        compare(&c, (uint64_t)i);
        reclaims += brute.reclaims;
    }
    cr_assert_gt(reclaims, (uint64_t)n / 10);
}

Test(brute, reclaim_between_queues)
{
    compare_reclaim(3, false, cases(450));
}

Test(brute, reclaim_between_tenants_of_a_queue)
{
    compare_reclaim(4, true, cases(450));
}
