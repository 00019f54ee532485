/* The training queue and the fleet against the brute-force scheduler on random small cases: the
 * same starts, victims and finish times, to the nanosecond. 10,000 cases of each kind with
 * HEADROOM_LONG=1, some 1,900 in all by default. */
#include "brute_draw.h"
#include "brute_engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static int cases(int usual)
{
    const char *text = getenv("HEADROOM_LONG");
    return text && text[0] == '1' ? 10000 : usual;
}

static struct brute_result engine, brute;

static void compare(const struct brute_case *c, uint64_t number)
{
    cr_assert(brute_run(c, &brute), "case %lu: too much happened", number);
    brute_engine_run(c, &engine);
    cr_assert(brute_same(c, &engine, &brute), "case %lu", number);
    for (uint32_t j = 0; j < c->n_jobs; j++) /* nobody starves */
        cr_assert(engine.fates[j].refused || engine.fates[j].end_ns != SIM_NEVER, "case %lu job %u",
                  number, j);
}

/* One tenant that may use everything. */
static void compare_alone(uint64_t seed, enum queue_order order, enum backfill_kind backfill, int n)
{
    uint64_t state = seed, backfilled = 0;
    for (int i = 0; i < n; i++) {
        struct brute_case c = {.backfill = backfill, .n_queues = 1, .n_tenants = 1};
        draw_fleet(&state, &c);
        draw_order(&state, &c, order);
        c.tenants[0].quota.ceiling_gpus = c.nodes * c.gpus_per_node;
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

/* Tenants, each with a queue of its own or all in one, and what else may differ. */
struct kind {
    uint64_t seed;
    int victims;   /* a rule, or ANY_RULE */
    bool policies; /* any, own leases included */
    bool cohorts;
    bool failures;   /* of nodes, hot spares */
    bool preemption; /* modes, own grace, exempt times, consolidation, one after another */
};
enum { ANY_RULE = -1, FIRST_RULES = -2 };

struct seen {
    uint64_t reclaims, own_evictions, moves, failures, swaps, withdrawn;
};

static void draw_tenants(uint64_t *state, struct brute_case *c)
{
    bool one_queue = pick(state, 0, 1);
    c->n_tenants = pick(state, 2, BRUTE_TENANTS);
    c->n_queues = one_queue ? 1 : c->n_tenants;
    c->backfill = (enum backfill_kind)pick(state, 0, BACKFILL_KINDS - 1);
    for (uint32_t t = 0; t < c->n_tenants; t++)
        c->tenants[t] = (struct brute_tenant){.queue = one_queue ? 0 : t, .weight = 1};
}

static struct seen compare_reclaim(const struct kind *k, int n)
{
    uint64_t state = k->seed;
    struct seen seen = {0};
    for (int i = 0; i < n; i++) {
        struct brute_case c = {0};
        draw_tenants(&state, &c);
        draw_fleet(&state, &c);
        draw_order(&state, &c, (enum queue_order)pick(&state, ORDER_FIFO, ORDER_SHORTEST));
        if (k->failures)
            draw_faults(&state, &c);
        draw_quotas(&state, &c);
        if (k->victims != FIRST_RULES)
            c.victims = (enum victim_rule)(
                k->victims == ANY_RULE ? pick(&state, 0, VICTIM_RULES - 1) : (uint32_t)k->victims);
        if (k->policies)
            draw_policies(&state, &c);
        if (k->cohorts)
            draw_cohorts(&state, &c);
        if (k->preemption)
            draw_preemption(&state, &c);
        draw_jobs(&state, &c);
        draw_spares_over(&c);
        compare(&c, (uint64_t)i);
        seen.failures += brute.failures;
        seen.swaps += brute.swaps;
        seen.withdrawn += brute.withdrawn;
        seen.reclaims += brute.reclaims;
        seen.own_evictions += brute.own_evictions;
        seen.moves += brute.moves;
    }
    cr_assert_gt(seen.reclaims, (uint64_t)n / 20);
    return seen;
}

static void compare_rule(uint64_t seed, enum victim_rule rule, int n)
{
    compare_reclaim(&(struct kind){.seed = seed, .victims = rule}, n);
    compare_reclaim(&(struct kind){.seed = seed + 100, .victims = rule, .policies = true}, n);
    compare_reclaim(
        &(struct kind){.seed = seed + 200, .victims = rule, .policies = true, .cohorts = true}, n);
}

Test(brute, least_work_lost)
{
    compare_rule(10, VICTIM_LEAST_WORK_LOST, cases(50));
}

Test(brute, least_over_reclaim)
{
    compare_rule(11, VICTIM_LEAST_OVER_RECLAIM, cases(50));
}

Test(brute, youngest)
{
    compare_rule(12, VICTIM_YOUNGEST, cases(50));
}

Test(brute, lowest_priority)
{
    compare_rule(13, VICTIM_LOWEST_PRIORITY, cases(50));
}

Test(brute, smallest_gang)
{
    compare_rule(14, VICTIM_SMALLEST_GANG, cases(50));
}

Test(brute, proportional)
{
    compare_rule(15, VICTIM_PROPORTIONAL, cases(50));
}

Test(brute, fair_share)
{
    compare_rule(16, VICTIM_FAIR_SHARE, cases(50));
}

Test(brute, within_queue)
{
    const struct kind k = {.seed = 17, .victims = ANY_RULE, .policies = true};
    int n = cases(150);
    cr_assert_gt(compare_reclaim(&k, n).own_evictions, (uint64_t)n / 10);
}

Test(brute, preemption_modes_and_exempt_times)
{
    const struct kind k = {.seed = 18, .victims = ANY_RULE, .preemption = true};
    compare_reclaim(&k, cases(150));
}

/* Small gangs fill the nodes unevenly as they end; later ones need half a node or more. */
static void draw_field(uint64_t *state, struct brute_case *c)
{
    draw_jobs(state, c);
    c->placement = pick(state, 0, 1) ? SHAPE_ONE_NODE : SHAPE_PREFER_WHOLE;
    for (uint32_t j = 0; j < c->n_jobs; j++) {
        bool large = j >= 4 && pick(state, 0, 1);
        c->jobs[j].gpus = large ? pick(state, (c->gpus_per_node + 1) / 2, c->gpus_per_node)
                                : pick(state, 1, (c->gpus_per_node + 1) / 2);
        c->jobs[j].priority = large ? 3 : 0;
    }
}

Test(brute, small_leases_move)
{
    uint64_t state = 22, moves = 0;
    int n = cases(300);
    for (int i = 0; i < n; i++) {
        struct brute_case c = {0};
        draw_tenants(&state, &c);
        draw_fleet(&state, &c);
        draw_order(&state, &c, (enum queue_order)pick(&state, ORDER_FIFO, ORDER_SHORTEST));
        draw_quotas(&state, &c);
        for (uint32_t t = 0; t < c.n_tenants && i % 4; t++)
            c.tenants[t].quota = (struct quota){.ceiling_gpus = UINT32_MAX};
        if (pick(&state, 0, 1))
            draw_preemption(&state, &c);
        c.consolidate = true;
        draw_field(&state, &c);
        compare(&c, (uint64_t)i);
        moves += brute.moves;
    }
    cr_assert_gt(moves, (uint64_t)n / 30, "%lu", moves);
}

Test(brute, failures_and_spares)
{
    struct kind k = {.seed = 23, .victims = ANY_RULE, .failures = true};
    int n = cases(150);
    struct seen seen = compare_reclaim(&k, n);
    cr_assert(seen.failures > (uint64_t)n / 2 && seen.swaps > (uint64_t)n / 10 &&
                  seen.withdrawn > (uint64_t)n / 100,
              "%lu %lu %lu", seen.failures, seen.swaps, seen.withdrawn);
    k = (struct kind){24, ANY_RULE, true, true, true, true};
    compare_reclaim(&k, n);
}

Test(brute, all_together)
{
    const struct kind k = {
        .seed = 19, .victims = ANY_RULE, .policies = true, .cohorts = true, .preemption = true};
    compare_reclaim(&k, cases(200));
}

/* Work and gaps of minutes, so that usage fades meanwhile. */
static void stretch(struct brute_case *c, uint64_t *state)
{
    simtime_ns times = pick(state, 1, 30);
    for (uint32_t j = 0; j < c->n_jobs; j++) {
        c->jobs[j].submit_ns *= times;
        c->jobs[j].work_ns *= times;
    }
    c->end_ns *= 30;
}

static void compare_fair_share(uint64_t seed, bool fades, int n)
{
    uint64_t state = seed;
    for (int i = 0; i < n; i++) {
        struct brute_case c = {.n_queues = 1};
        draw_tenants(&state, &c);
        draw_fleet(&state, &c);
        draw_quotas(&state, &c);
        c.order = ORDER_FAIR_SHARE;
        c.n_queues = 1;
        if (fades)
            c.half_life_ns = pick(&state, 0, 3) ? seconds(&state, 60, 3600) : SIM_NEVER;
        for (uint32_t t = 0; t < c.n_tenants; t++)
            c.tenants[t] =
                (struct brute_tenant){.weight = pick(&state, 1, 3), .quota = c.tenants[t].quota};
        draw_jobs(&state, &c);
        stretch(&c, &state);
        compare(&c, (uint64_t)i);
    }
}

Test(brute, fair_share_of_present_usage)
{
    compare_fair_share(20, false, cases(150));
}

Test(brute, fair_share_of_fading_usage)
{
    compare_fair_share(21, true, cases(150));
}
