/* How a gang is preempted, fails and comes back: each rule on one gang of eight GPUs by hand. */
#include "queue_kit.h"

#include <criterion/criterion.h>

enum { GPUS = 8 };

struct story {
    struct queue_plan queue;
    struct reclaim_plan reclaim;
    struct take take;    /* at_ns 0: none */
    simtime_ns fails_ns; /* the first node; 0: never */
    bool spare;          /* the third node is one */
    struct world *world;
};

static void node_fails(void *ctx, uint32_t node)
{
    fleet_node_fail(((struct world *)ctx)->fleet, node, GPU_FAILED);
}

/* One job of 1,000 s submitted at 0, on two nodes of four GPUs; returns its row. */
static struct job_row play(const struct story *s)
{
    struct job job = {.work_ns = 1000 * SIM_S,
                      .limit_ns = JOB_UNSET,
                      .checkpoint_ns = JOB_UNSET,
                      .id = "job",
                      .tenant = "",
                      .gpus = GPUS,
                      .min_gpus = GPUS,
                      .preemptible = true};
    const struct job_trace jobs = {.rows = &job, .n = 1};
    struct queue_plan queue = s->queue;
    queue.jobs = &jobs;
    struct world w;
    const struct world_plan plan = {.nodes = s->spare ? 3 : 2,
                                    .gpus_per_node = 4,
                                    .reclaim = s->reclaim,
                                    .queue = &queue,
                                    .takes = &s->take,
                                    .n_takes = s->take.at_ns > 0,
                                    .end_ns = 5000 * SIM_S};
    world_open(&w, &plan);
    if (s->spare) {
        fleet_node_close(w.fleet, 2, GPU_HELD_IDLE);
        fleet_spare_add(w.fleet, 2);
    }
    timer_id fail;
    cr_assert_eq(engine_timer_new(w.engine, EVENT_FAILURE, node_fails, &w, 0, &fail), HR_OK);
    if (s->fails_ns > 0)
        engine_schedule(w.engine, fail, s->fails_ns);
    world_run(&w);
    struct job_row row = *world_row(&w, 0);
    world_close(&w);
    return row;
}

static struct story story(void)
{
    struct story s = {.queue = world_queue(NULL, 16)};
    s.queue.checkpoint.interval_ns = 100 * SIM_S;
    s.queue.restart_load = world_fixed(20 * SIM_S);
    s.queue.restart_init = world_fixed(10 * SIM_S);
    s.reclaim.grace_ns = 60 * SIM_S;
    s.take = (struct take){350 * SIM_S, 500 * SIM_S, GPUS};
    return s;
}

static void row_is(const struct job_row *row, enum job_outcome outcome, uint64_t end_s,
                   uint64_t lost_s)
{
    cr_assert_eq(row->outcome, outcome);
    cr_assert_eq(row->end_ns, end_s * SIM_S, "end %lu ns", row->end_ns);
    cr_assert_eq(row->lost_ns, lost_s * SIM_S, "lost %lu ns", row->lost_ns);
}

Test(gang, requeues_from_its_last_save)
{
    const struct story s = story();
    const struct job_row row = play(&s);
    row_is(&row, OUTCOME_DONE, 350 + 60 + 500 + 30 + 700, 50);
}

Test(gang, own_grace_is_at_most_the_pools)
{
    struct story s = story();
    s.queue.preemption = (struct preemption_plan){.own_grace = true, .grace_ns = 10 * SIM_S};
    struct job_row row = play(&s);
    row_is(&row, OUTCOME_DONE, 350 + 10 + 500 + 30 + 700, 50);
    s.queue.preemption.grace_ns = 100 * SIM_S;
    row = play(&s);
    row_is(&row, OUTCOME_DONE, 350 + 60 + 500 + 30 + 700, 50);
}

Test(gang, suspended_it_loses_nothing)
{
    struct story s = story();
    s.queue.preemption = (struct preemption_plan){
        .mode = PREEMPTION_SUSPEND, .suspend_ns = 3 * SIM_S, .resume_ns = 4 * SIM_S};
    struct job_row row = play(&s);
    row_is(&row, OUTCOME_DONE, 350 + 3 + 500 + 4 + 650, 0);
    s.queue.preemption.suspend_ns = 61 * SIM_S; /* longer than the grace */
    row = play(&s);
    row_is(&row, OUTCOME_DONE, 350 + 60 + 500 + 30 + 700, 50);
}

Test(gang, cancelled_it_loses_all)
{
    struct story s = story();
    s.queue.preemption.mode = PREEMPTION_CANCEL;
    const struct job_row row = play(&s);
    row_is(&row, OUTCOME_CANCELLED, 350 + 60, 350);
    cr_assert_eq(row.done_ns, 0);
}

Test(gang, is_left_alone_while_exempt)
{
    struct story s = story();
    s.queue.preemption.exempt_ns = 2000 * SIM_S;
    const struct job_row row = play(&s);
    row_is(&row, OUTCOME_DONE, 1000, 0);
    cr_assert_eq(row.preemptions, 0);
}

static struct story failure(void)
{
    struct story s = story();
    s.take.at_ns = 0;
    s.fails_ns = 350 * SIM_S;
    s.spare = true;
    s.queue.detection = world_fixed(30 * SIM_S);
    s.queue.restart_per_node_ns = 5 * SIM_S;
    return s;
}

Test(gang, restarts_in_place_with_a_spare)
{
    const struct story s = failure();
    const struct job_row row = play(&s);
    /* noticed at 380; 20 + 10 + 2 nodes of 5; 50 s of work and 30 s of waiting lost */
    row_is(&row, OUTCOME_DONE, 380 + 40 + 700, 80);
    cr_assert_eq(row.swaps, 1);
    cr_assert_eq(row.failures, 1);
}

Test(gang, copies_in_memory_outlive_one_node)
{
    struct story s = failure();
    s.queue.checkpoint.copy_ns = 20 * SIM_S;
    s.queue.checkpoint.copy_restore_ns = 2 * SIM_S;
    const struct job_row row = play(&s);
    /* the copy holds 340 s; 2 + 10 + 10 until it works again */
    row_is(&row, OUTCOME_DONE, 380 + 22 + 660, 40);
}

Test(gang, without_a_spare_it_waits)
{
    struct story s = failure();
    s.spare = false;
    const struct job_row row = play(&s);
    cr_assert_eq(row.outcome, OUTCOME_WAITING);
    cr_assert_eq(row.done_ns, 300 * SIM_S);
    cr_assert_eq(row.lost_ns, 80 * SIM_S);
    cr_assert_eq(row.swaps, 0);
}

/* One preemption. */
Test(gang, loses_no_more_with_more_notice)
{
    struct story s = story();
    struct rng r;
    rng_init(&r, 5, 0, "test", "gang");
    for (int i = 0; i < 1000; i++) {
        s.take.at_ns = (1 + rng_below(&r, 990)) * SIM_S;
        s.queue.checkpoint.interval_ns = (20 + rng_below(&r, 300)) * SIM_S;
        s.queue.checkpoint.stall_ns = rng_below(&r, 10) * SIM_S;
        s.queue.checkpoint.save_on_notice = true;
        s.queue.checkpoint.notice_save_ns = rng_below(&r, 80) * SIM_S;
        s.reclaim.grace_ns = rng_below(&r, 60) * SIM_S;
        const struct job_row less = play(&s);
        s.reclaim.grace_ns += rng_below(&r, 60) * SIM_S;
        const struct job_row more = play(&s);
        cr_assert_leq(more.lost_ns, less.lost_ns, "case %d", i);
    }
}
