/* Large jobs of a queue that collect their GPUs: worked cases on nodes of one GPU, and random
 * queues, in which everything must end. */
#include "draw.h"
#include "queue_kit.h"

#include <criterion/criterion.h>

enum { ENDLESS = 200 };

#define JOB(at_s, gpus_, work_s)                                                                   \
    {                                                                                              \
        .submit_ns = (at_s)*SIM_S, .gpus = (gpus_), .work_ns = (work_s)*SIM_S,                     \
        .limit_ns = JOB_UNSET, .checkpoint_ns = JOB_UNSET, .preemptible = true, .id = "j"          \
    }

/* Four jobs of one GPU that end at 10, 20, 30 and 40 s. */
static const struct job four_small[] = {JOB(0, 1, 10), JOB(0, 1, 20), JOB(0, 1, 30), JOB(0, 1, 40)};

static void fill_small(struct job *jobs)
{
    for (int i = 0; i < 4; i++)
        jobs[i] = four_small[i];
}

/* One GPU for 12 s, every 2 s. */
static void fill_endless(struct job *jobs)
{
    for (uint64_t i = 0; i < ENDLESS; i++)
        jobs[i] = (struct job)JOB(2 + 2 * i, 1, 12);
}

static struct world_plan four_nodes(const struct queue_plan *queue)
{
    return (struct world_plan){.nodes = 4,
                               .gpus_per_node = 1,
                               .reclaim = {.victims = VICTIM_LEAST_WORK_LOST},
                               .queue = queue,
                               .end_ns = 300 * SIM_S};
}

static struct queue_plan large_first(const struct job_trace *trace, uint32_t gpus, uint32_t reserve)
{
    struct queue_plan queue = world_queue(trace, gpus);
    queue.backfill = BACKFILL_BEST_EFFORT;
    queue.reserve_gpus = reserve;
    return queue;
}

static void starts_at(const struct world *w, uint64_t number, uint64_t at_s)
{
    const struct job_row *row = world_row(w, number);
    cr_assert(row->first_start_ns == at_s * SIM_S, "job %lu starts at %g s, want %lu", number,
              sim_time_to_s(row->first_start_ns), at_s);
}

/* Small jobs come without end and fill every GPU that comes free, all of them of the same tenant,
 * whose ceiling is the pool. A gang of 3 among them starves unless it collects: then it has the
 * three that end first, and nobody goes before it. */
Test(reserve, a_large_job_collects_its_gpus)
{
    static struct job jobs[5 + ENDLESS];
    fill_small(jobs);
    jobs[4] = (struct job)JOB(1, 3, 50);
    fill_endless(jobs + 5);
    const struct job_trace trace = {jobs, 5 + ENDLESS, 0};
    for (uint32_t reserve = 0; reserve <= 4; reserve++) {
        struct queue_plan queue = large_first(&trace, 4, reserve);
        struct world_plan plan = four_nodes(&queue);
        struct world w;
        world_open(&w, &plan);
        world_run(&w);
        const struct job_row *gang = world_row(&w, 4);
        if (reserve == 0 || reserve > 3) {
            cr_expect_gt(gang->first_start_ns, 200 * SIM_S);
            cr_expect_eq(world_total(&w, GPU_HELD_IDLE), 0);
        } else {
            starts_at(&w, 4, 30);
            cr_expect_eq(gang->waiting_ns, 29 * SIM_S);
            cr_expect_eq(gang->blocked_ns[BLOCK_COUNT], 29 * SIM_S);
            /* one GPU from 10 s on and one from 20 s on */
            cr_expect_eq(world_total(&w, GPU_HELD_IDLE), 30 * SIM_S);
        }
        world_close(&w);
    }
}

/* The same under a tenant's ceiling: what it collects is its own quota, and another tenant has the
 * fourth GPU as before. */
Test(reserve, a_large_job_collects_quota_of_its_tenant)
{
    static struct job jobs[5 + ENDLESS];
    fill_small(jobs);
    jobs[3] = (struct job)JOB(1, 3, 50);
    jobs[4] = (struct job)JOB(1, 1, 100);
    fill_endless(jobs + 5);
    for (size_t i = 0; i < 5 + ENDLESS; i++)
        jobs[i].tenant = i == 4 ? "b" : "a";
    const struct job_trace trace = {jobs, 5 + ENDLESS, 0};
    const struct tenant_plan b = {.name = "b", .pools = {{0, {.ceiling_gpus = 4}}}, .n_pools = 1};
    for (uint32_t reserve = 0; reserve <= 3; reserve += 3) {
        struct queue_plan queue = large_first(&trace, 3, reserve);
        queue.tenant.match = "a";
        queue.more = &b;
        queue.n_more = 1;
        struct world_plan plan = four_nodes(&queue);
        struct world w;
        world_open(&w, &plan);
        world_run(&w);
        starts_at(&w, 4, 1);
        if (reserve) {
            starts_at(&w, 3, 30);
            cr_expect_eq(world_row(&w, 3)->blocked_ns[BLOCK_COUNT], 29 * SIM_S);
            cr_expect_eq(world_total(&w, GPU_HELD_IDLE), 30 * SIM_S);
        } else {
            cr_expect_gt(world_row(&w, 3)->first_start_ns, 200 * SIM_S);
        }
        world_close(&w);
    }
}

/* One collects at a time: the next is the most urgent that waits then, not the one that came next.
 */
Test(reserve, the_next_that_collects_is_chosen_by_the_order)
{
    struct job jobs[7];
    fill_small(jobs);
    for (uint64_t i = 0; i < 3; i++)
        jobs[4 + i] = (struct job)JOB(1 + i, 3, 50);
    jobs[6].priority = 5;
    const struct job_trace trace = {jobs, 7, 0};
    struct queue_plan queue = large_first(&trace, 4, 3);
    queue.order = ORDER_PRIORITY;
    queue.age_ns = SIM_NEVER;
    struct world_plan plan = four_nodes(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    starts_at(&w, 4, 30);
    starts_at(&w, 6, 80);
    starts_at(&w, 5, 130);
    world_close(&w);
}

/* A more urgent job that may preempt takes what is kept before it evicts anybody; one that may not
 * waits for what is left. */
Test(reserve, an_urgent_job_takes_what_is_kept_if_it_may_preempt)
{
    for (int may = 0; may < 2; may++) {
        struct job jobs[6];
        fill_small(jobs);
        jobs[4] = (struct job)JOB(1, 3, 50);
        jobs[5] = (struct job)JOB(25, 2, 20);
        jobs[5].priority = 5;
        const struct job_trace trace = {jobs, 6, 0};
        struct queue_plan queue = large_first(&trace, 4, 3);
        queue.order = ORDER_PRIORITY;
        queue.age_ns = SIM_NEVER;
        queue.tenant.pools[0].quota.within_queue = may ? QUEUE_LOWER_PRIORITY : QUEUE_NEVER;
        struct world_plan plan = four_nodes(&queue);
        struct world w;
        world_open(&w, &plan);
        world_run(&w);
        starts_at(&w, 5, may ? 25 : 80);
        starts_at(&w, 4, may ? 45 : 30); /* those of 30 s, 40 s and 45 s */
        cr_expect_eq(training_totals(w.training)->preemptions, 0);
        world_close(&w);
    }
}

/* ---- nodes that go away ---- */

static void fail_node(void *ctx, uint32_t node)
{
    fleet_node_fail(((struct world *)ctx)->fleet, node, GPU_FAILED);
}

static void open_node(void *ctx, uint32_t node)
{
    fleet_node_open(((struct world *)ctx)->fleet, node);
}

static void at(struct world *w, simtime_ns t, event_fn *what, uint32_t node)
{
    timer_id timer;
    cr_assert_eq(engine_timer_new(w->engine, EVENT_FAILURE, what, w, node, &timer), HR_OK);
    engine_schedule(w->engine, timer, t);
}

/* When too few nodes are left it is withdrawn and gives back what it kept; back in the queue it
 * waits for the node, and its wait adds up. */
Test(reserve, is_withdrawn_when_nodes_go_away)
{
    struct job jobs[6];
    fill_small(jobs);
    jobs[4] = (struct job)JOB(1, 4, 50);
    jobs[5] = (struct job)JOB(22, 1, 15);
    const struct job_trace trace = {jobs, 6, 0};
    struct queue_plan queue = large_first(&trace, 4, 3);
    struct world_plan plan = four_nodes(&queue);
    struct world w;
    world_open(&w, &plan);
    at(&w, 25 * SIM_S, fail_node, 0); /* one that is kept */
    at(&w, 60 * SIM_S, open_node, 0);
    world_run(&w);
    const struct job_row *gang = world_row(&w, 4);
    starts_at(&w, 5, 25);
    starts_at(&w, 4, 60);
    cr_expect_eq(gang->waiting_ns, 59 * SIM_S);
    cr_expect_eq(gang->blocked_ns[BLOCK_COUNT], 39 * SIM_S);
    cr_expect_eq(gang->blocked_ns[BLOCK_SUPPLY], 20 * SIM_S); /* the other three are free */
    cr_expect_eq(world_total(&w, GPU_HELD_IDLE), 20 * SIM_S); /* 15 s of one and 5 s of another */
    world_close(&w);
}

/* ---- random queues ---- */

static void check_ceilings(void *ctx)
{
    struct world *w = ctx;
    cr_assert(ledger_conserves(w->ledger, engine_now(w->engine)));
    cr_assert(fleet_consistent(w->fleet));
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t c = training_claimant(w->training) + i;
        cr_assert_leq(fleet_usage(w->fleet, c), fleet_quota(w->fleet, c)->ceiling_gpus);
    }
}

/* Two tenants of random ceilings, some of whose gangs collect, in every order and with every kind
 * of backfill: no usage above a ceiling, everything ends, and waits add up. */
Test(reserve, everything_ends_in_random_queues)
{
    enum { SEEDS = 120, JOBS = 60 };
    uint64_t collected = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t s = seed * 104729;
        struct job jobs[JOBS];
        uint32_t most[2] = {8 + draw_below(&s, 9), 8 + draw_below(&s, 9)};
        simtime_ns now = 0;
        for (size_t i = 0; i < JOBS; i++) {
            now += draw_below(&s, 40) * SIM_S;
            jobs[i] = (struct job)JOB(0, 1 + draw_below(&s, 8), 1 + draw_below(&s, 300));
            jobs[i].submit_ns = now;
            jobs[i].priority = (int32_t)draw_below(&s, 3);
            jobs[i].tenant = draw_below(&s, 2) ? "a" : "b";
        }
        const struct job_trace trace = {jobs, JOBS, 0};
        const struct tenant_plan b = {
            .name = "b", .pools = {{0, {.ceiling_gpus = most[1]}}}, .n_pools = 1};
        struct queue_plan queue = large_first(&trace, most[0], 3 + draw_below(&s, 5));
        queue.tenant.match = "a";
        queue.more = &b;
        queue.n_more = 1;
        queue.order = (enum queue_order)(seed % 4);
        queue.age_ns = SIM_HOUR;
        queue.backfill = (enum backfill_kind)(seed / 4 % BACKFILL_KINDS);
        queue.placement = (enum shape_kind)draw_below(&s, 3);
        struct world_plan plan = {.nodes = 2,
                                  .gpus_per_node = 8,
                                  .reclaim = {.victims = VICTIM_LEAST_WORK_LOST,
                                              .teardown = world_fixed(2 * SIM_S),
                                              .scrub = world_fixed(3 * SIM_S)},
                                  .queue = &queue,
                                  .end_ns = SIM_DAY};
        struct world w;
        world_open(&w, &plan);
        engine_check_set(w.engine, check_ceilings, &w);
        world_run(&w);
        for (uint64_t i = 0; i < JOBS; i++) {
            const struct job_row *row = world_row(&w, i);
            simtime_ns sum = 0;
            for (int k = 0; k < BLOCKS; k++)
                sum += row->blocked_ns[k];
            cr_assert_eq(row->outcome, OUTCOME_DONE);
            cr_assert_eq(sum, row->waiting_ns);
        }
        collected += world_total(&w, GPU_HELD_IDLE) > 0;
        world_close(&w);
    }
    cr_assert_gt(collected, SEEDS / 2, "%lu worlds", collected);
}
