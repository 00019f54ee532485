/* The rules of a training queue, one by one, with answers worked out by hand; and preempted jobs
 * against the renewal formula. The life of a preempted gang: test_queue_life.c; the order of
 * starts: test_queue_order.c. */
#include "models/closed/checkpoint.h"
#include "models/training/queue_internal.h"
#include "queue_kit.h"
#include "sim/stat.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define JOB(at_s, gpus_, work_s)                                                                   \
    {                                                                                              \
        .submit_ns = (at_s)*SIM_S, .gpus = (gpus_), .work_ns = (work_s)*SIM_S,                     \
        .limit_ns = JOB_UNSET, .checkpoint_ns = JOB_UNSET, .preemptible = true, .id = "j"          \
    }
#define TRACE(jobs)                                                                                \
    {                                                                                              \
        jobs, sizeof jobs / sizeof *jobs, 0                                                        \
    }

/* One node of 8 GPUs for an hour of measured time. */
static struct world_plan hour(const struct queue_plan *queue)
{
    return (struct world_plan){
        .nodes = 1,
        .gpus_per_node = 8,
        .reclaim = {.victims = VICTIM_LEAST_WORK_LOST},
        .queue = queue,
        .end_ns = SIM_HOUR,
    };
}

static void starts_at(const struct world *w, uint64_t number, uint64_t at_s)
{
    const struct job_row *row = world_row(w, number);
    cr_assert(row->first_start_ns == at_s * SIM_S, "job %lu starts at %g s, want %lu", number,
              sim_time_to_s(row->first_start_ns), at_s);
}

Test(queue, refuses_what_can_never_start)
{
    struct job jobs[] = {JOB(1, 9, 10), JOB(1, 7, 10), JOB(1, 6, 10), JOB(2, 4, 10)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 6); /* a ceiling of 6 of the 8 GPUs */
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    for (uint64_t i = 0; i < 2; i++) {
        const struct job_row *row = world_row(&w, i);
        cr_assert_eq(row->outcome, OUTCOME_REFUSED);
        cr_assert_eq(row->refusal, i == 0 ? REFUSAL_SIZE : REFUSAL_CEILING);
        cr_assert(row->first_start_ns == SIM_NEVER && row->end_ns == SIM_NEVER);
        cr_assert(row->waiting_ns == 0 && row->done_ns == 0);
    }
    cr_assert_eq(world_row(&w, 2)->refusal, REFUSAL_NONE);
    starts_at(&w, 2, 1);
    starts_at(&w, 3, 11); /* within the ceiling only once the six are back */
    const struct queue_totals *t = training_totals(w.training);
    cr_assert(t->submitted == 4 && t->refused == 2 && t->started == 2 && t->done == 2);
    world_close(&w);

    queue = world_queue(&trace, 8);
    queue.placement = SHAPE_ONE_NODE;
    plan.nodes = 4;
    plan.gpus_per_node = 4; /* none of these fits into a node of 4 but the last */
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(training_totals(w.training)->refused, 3);
    cr_assert_eq(world_row(&w, 0)->refusal, REFUSAL_SHAPE);
    world_close(&w);
}

Test(queue, measured_part_counts_by_arrival)
{
    struct job jobs[] = {JOB(5, 8, 20), JOB(10, 8, 40), JOB(20, 8, 10), JOB(30, 8, 60),
                         JOB(40, 8, 10)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    struct world_plan plan = hour(&queue);
    plan.start_ns = 10 * SIM_S;
    plan.end_ns = 100 * SIM_S;
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    /* 5..25, 25..65, 65..75, 75..: the first is not counted. */
    const struct queue_totals *t = training_totals(w.training);
    cr_assert(t->submitted == 4 && t->started == 3 && t->done == 2 && t->censored == 1 &&
              t->waiting == 1);
    cr_assert_eq(w.rows.n, 4);
    const struct job_row *censored = world_row(&w, 3), *waiting = world_row(&w, 4);
    cr_assert(censored->outcome == OUTCOME_CENSORED && waiting->outcome == OUTCOME_WAITING);
    cr_assert(censored->done_ns == 25 * SIM_S && censored->end_ns == SIM_NEVER);
    cr_assert(waiting->waiting_ns == 60 * SIM_S && waiting->first_start_ns == SIM_NEVER);
    cr_assert_eq(world_total(&w, GPU_TRAINING), 90 * 8 * SIM_S);
    world_close(&w);
}

Test(queue, preempted_job_returns_to_its_old_place)
{
    struct job jobs[] = {JOB(0, 8, 100), JOB(1, 8, 50), JOB(2, 8, 50)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    struct take takes[] = {{30 * SIM_S, 5 * SIM_S, 1}, {165 * SIM_S, 10 * SIM_S, 8}};
    struct world_plan plan = hour(&queue);
    plan.takes = takes;
    plan.n_takes = 2;
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    /* 0..30, lost, again 35..135; 135..165, lost, 175..225; 225..275 */
    cr_assert_eq(world_row(&w, 0)->end_ns, 135 * SIM_S);
    starts_at(&w, 1, 135);
    cr_assert_eq(world_row(&w, 1)->end_ns, 225 * SIM_S);
    starts_at(&w, 2, 225);
    cr_assert_eq(world_row(&w, 0)->lost_ns, 30 * SIM_S);
    cr_assert_eq(world_total(&w, GPU_LOST), 60 * 8 * SIM_S);
    cr_assert_eq(world_total(&w, GPU_TRAINING), 200 * 8 * SIM_S);
    world_close(&w);
}

Test(queue, own_checkpoint_interval_goes_before_the_plan)
{
    struct job jobs[] = {JOB(0, 2, 100), JOB(0, 2, 100), JOB(0, 2, 100)};
    jobs[1].checkpoint_ns = 10 * SIM_S;
    jobs[2].checkpoint_ns = 0; /* never */
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    queue.checkpoint.interval_ns = 30 * SIM_S;
    queue.checkpoint.stall_ns = 2 * SIM_S;
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, 0)->end_ns, 106 * SIM_S);
    cr_assert_eq(world_row(&w, 1)->end_ns, 118 * SIM_S);
    cr_assert_eq(world_row(&w, 2)->end_ns, 100 * SIM_S);
    cr_assert_eq(world_total(&w, GPU_CHECKPOINTING), (6 + 18) * 2 * SIM_S);
    world_close(&w);
}

Test(queue, work_factor_and_speed)
{
    struct job jobs[] = {JOB(0, 8, 100), JOB(300, 8, 100)};
    struct job_trace trace = {jobs, 2, 300 * SIM_S};
    struct queue_plan queue = world_queue(&trace, 8);
    queue.work_factor = 0.5;
    queue.jobs_speed = 3;
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, 0)->end_ns, 50 * SIM_S);
    starts_at(&w, 1, 100);
    cr_assert_eq(world_row(&w, 1)->work_ns, 50 * SIM_S);
    world_close(&w);
}

/* ---- victims ---- */

/* Two gangs of 4; at 52 s the first has saved at 50 s, the second not since it began. */
static void least_lost(struct queue_plan *queue, uint64_t victim, uint64_t lost_s)
{
    struct job jobs[] = {JOB(0, 4, 300), JOB(0, 4, 300)};
    jobs[0].checkpoint_ns = 48 * SIM_S;
    jobs[1].checkpoint_ns = 200 * SIM_S;
    struct job_trace trace = TRACE(jobs);
    queue->jobs = &trace;
    queue->checkpoint.stall_ns = 2 * SIM_S;
    struct take take = {52 * SIM_S, SIM_S, 4};
    struct world_plan plan = hour(queue);
    plan.reclaim.grace_ns = 10 * SIM_S;
    plan.takes = &take;
    plan.n_takes = 1;
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_row(&w, victim)->preemptions, 1);
    cr_assert_eq(world_row(&w, 1 - victim)->preemptions, 0);
    cr_assert_eq(world_row(&w, victim)->lost_ns, lost_s * SIM_S);
    world_close(&w);
}

Test(queue, tells_what_an_eviction_would_lose)
{
    struct queue_plan queue = world_queue(NULL, 8);
    least_lost(&queue, 0, 2);
    queue.checkpoint.save_on_notice = true;
    queue.checkpoint.notice_save_ns = 11 * SIM_S; /* does not fit the grace */
    least_lost(&queue, 0, 2);
    queue.checkpoint.notice_save_ns = 10 * SIM_S; /* nothing is lost: the lower lease number */
    least_lost(&queue, 0, 0);
}

/* ---- the queue's own reclaim ---- */

Test(queue, takes_back_its_floor)
{
    struct job jobs[] = {JOB(10, 4, 100), JOB(20, 8, 100)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    queue.tenant.pools[0].quota = (struct quota){.floor_gpus = 6,
                                                 .ceiling_gpus = 8,
                                                 .lend_gpus = 6,
                                                 .priority = 5,
                                                 .reclaim_within_cohort = COHORT_ANY};
    queue.restart_load = world_fixed(3 * SIM_S);
    queue.restart_init = world_fixed(4 * SIM_S);
    struct queue_plan borrower = world_queue(NULL, 8);
    const struct backlog_class classes[] = {{.gpus = 4, .share = 1}};
    borrower.name = borrower.tenant.name = "borrower";
    borrower.backlog = true;
    borrower.backlog_classes = classes;
    borrower.n_backlog_classes = 1;
    borrower.backlog_work = world_fixed(SIM_DAY);
    struct world_plan plan = hour(&queue);
    plan.end_ns = 300 * SIM_S;
    plan.reclaim.grace_ns = 2 * SIM_S;
    plan.reclaim.teardown = world_fixed(SIM_S);
    struct world w;
    world_open(&w, &plan);
    struct training *other;
    cr_assert_eq(
        training_new(&borrower, 1, w.engine, &w.pool, 1, 0, 0, 0, plan.end_ns, NULL, &other),
        HR_OK);
    world_run(&w);
    /* The borrower holds all. The first job takes back 4 of the floor in 3 s; the second is above
     * the floor and waits for ever. */
    starts_at(&w, 0, 13);
    cr_assert_eq(world_row(&w, 0)->waiting_ns, 3 * SIM_S);
    cr_assert_eq(world_row(&w, 0)->restoring_ns, 0); /* queued jobs start without a restore */
    cr_assert_eq(world_row(&w, 1)->outcome, OUTCOME_WAITING);
    size_t n;
    const struct reclaim_row *rows = fleet_reclaims(w.fleet, &n);
    cr_assert_eq(n, 1);
    cr_assert(rows[0].decision_ns == 10 * SIM_S && rows[0].granted_ns == 13 * SIM_S &&
              rows[0].ready_ns == 13 * SIM_S);
    cr_assert_eq(training_finish(other, plan.end_ns), HR_OK);
    cr_assert_eq(training_totals(other)->preemptions, 1);
    training_free(other);
    world_close(&w);
}

/* ---- backlog and backfill ---- */

static void with_backlog(struct queue_plan *queue, const struct backlog_class *classes, size_t n,
                         uint64_t work_s)
{
    queue->backlog = true;
    queue->backlog_classes = classes;
    queue->n_backlog_classes = n;
    queue->backlog_work = world_fixed(work_s * SIM_S);
}

Test(queue, backlog_fills_what_recorded_jobs_leave)
{
    struct job jobs[] = {JOB(0, 6, 100), JOB(50, 4, 100)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    const struct backlog_class ones[] = {{.gpus = 1, .share = 1}};
    with_backlog(&queue, ones, 1, 60);
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    starts_at(&w, 0, 0);
    /* From 50 s on the second job blocks the backlog: 2 GPUs idle from 60 to 100 s. */
    starts_at(&w, 1, 100);
    cr_assert_eq(world_total(&w, GPU_TRAINING), (8 * 3600 - 2 * 40) * SIM_S);
    const struct queue_totals *t = training_totals(w.training);
    cr_assert(t->submitted == 2 && t->done == 2 && t->censored == 0);
    /* 2 at 0, then 4 at 100, 4 more at 150 ... in steps of 60 s, 8 at last. */
    cr_assert_gt(t->backlog_done, 400);
    world_close(&w);

    /* With backfill a backlog gang of 60 s does not end by 100 s, but leaves the head its GPUs. */
    queue.backfill = BACKFILL_EASY;
    world_open(&w, &plan);
    world_run(&w);
    starts_at(&w, 1, 100);
    cr_assert_eq(world_total(&w, GPU_TRAINING), 8 * 3600 * SIM_S);
    world_close(&w);
}

Test(queue, backlog_gang_keeps_its_place)
{
    struct job jobs[] = {JOB(0, 5, 1000)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    const struct backlog_class classes[] = {{.gpus = 2, .share = 1}, {.gpus = 4, .share = 1}};
    with_backlog(&queue, classes, 2, 100);
    struct world_plan plan = hour(&queue);
    plan.end_ns = 1000 * SIM_S;
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    /* A gang of 4 never fits beside the job: once it is drawn, nothing starts. */
    uint64_t used = world_total(&w, GPU_TRAINING) / SIM_S;
    cr_assert_eq(used % 100, 0);
    cr_assert_lt(used, 5 * 1000 + 2 * 1000);
    world_close(&w);

    queue.backfill = BACKFILL_EASY; /* later gangs of 2 go around it while they leave its GPUs */
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(world_total(&w, GPU_TRAINING) / SIM_S, 5 * 1000 + 2 * 1000);
    world_close(&w);
}

Test(queue, backlog_is_bounded_in_the_model)
{
    struct job jobs[] = {JOB(0, 6, 3000), JOB(1, 8, 10)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    const struct backlog_class classes[] = {{.gpus = 8, .share = 3}, {.gpus = 1, .share = 1}};
    with_backlog(&queue, classes, 2, 5);
    queue.backfill = BACKFILL_EASY;
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    while (engine_step(w.engine, plan.end_ns))
        cr_assert(w.training->lanes[w.training->n_tenants].list.n <= 33 &&
                  w.training->gangs.n <= 64);
    cr_assert_gt(training_totals(w.training)->backlog_done, 100);
    world_close(&w);
}

Test(queue, backlog_without_a_class_that_fits_is_none)
{
    struct job jobs[] = {JOB(0, 6, 30)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    const struct backlog_class classes[] = {{.gpus = 16, .share = 3}, {.gpus = 9, .share = 1}};
    with_backlog(&queue, classes, 2, 5);
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(w.rows.n, 1);
    world_close(&w);
}

/* 6 of 8 GPUs run to 100 s; the head wants 8; then one of 2 GPUs and 80 s of work. */
static uint64_t third_starts(enum estimate_kind estimate, double factor, uint64_t limit_s)
{
    struct job jobs[] = {JOB(0, 6, 100), JOB(10, 8, 100), JOB(20, 2, 80)};
    jobs[2].limit_ns = limit_s ? limit_s * SIM_S : JOB_UNSET;
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    queue.backfill = BACKFILL_EASY;
    queue.estimate = estimate;
    queue.estimate_factor = factor;
    struct world_plan plan = hour(&queue);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    uint64_t at = world_row(&w, 2)->first_start_ns / SIM_S;
    world_close(&w);
    return at;
}

Test(queue, backfill_goes_by_the_estimate)
{
    cr_assert_eq(third_starts(ESTIMATE_EXACT, 1, 0), 20);
    cr_assert_eq(third_starts(ESTIMATE_LIMIT, 1, 80), 20);
    cr_assert_eq(third_starts(ESTIMATE_LIMIT, 1, 81), 200);
    cr_assert_eq(third_starts(ESTIMATE_LIMIT, 1, 0), 20); /* no limit: exact */
    cr_assert_eq(third_starts(ESTIMATE_FACTOR, 1, 0), 20);
    cr_assert_eq(third_starts(ESTIMATE_FACTOR, 2, 0), 20); /* the running one is doubled as well */
    cr_assert_eq(third_starts(ESTIMATE_FACTOR, 0.5, 0), 200); /* 20 + 40 > 50 */
}

/* The head of 8 waits for 6 GPUs that are in teardown or scrub when one of 2 comes; with a ceiling
 * of 6 in a larger fleet for its quota, charged until the teardown ends. */
static uint64_t latecomer_starts(uint32_t fleet_gpus, uint32_t ceiling, uint64_t comes_s)
{
    struct job jobs[] = {JOB(0, ceiling - 2, 100), JOB(10, ceiling, 100), JOB(comes_s, 2, 80)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, ceiling);
    queue.backfill = BACKFILL_EASY;
    struct world_plan plan = hour(&queue);
    plan.gpus_per_node = fleet_gpus;
    plan.reclaim.teardown = world_fixed(10 * SIM_S);
    plan.reclaim.scrub = world_fixed(10 * SIM_S);
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    starts_at(&w, 1, fleet_gpus == ceiling ? 120 : 110);
    uint64_t at = world_row(&w, 2)->first_start_ns / SIM_S;
    world_close(&w);
    return at;
}

Test(queue, backfill_leaves_the_head_what_is_about_to_be_free)
{
    cr_assert_eq(latecomer_starts(8, 8, 15), 15);   /* ends by 100 s */
    cr_assert_eq(latecomer_starts(8, 8, 105), 240); /* in teardown */
    cr_assert_eq(latecomer_starts(8, 8, 115), 240); /* in scrub */
    cr_assert_eq(latecomer_starts(16, 6, 105), 220);
}

/* ---- stranded GPUs ---- */

Test(queue, free_gpus_too_few_for_what_waits_are_stranded)
{
    /* Two nodes of 4: gangs of 3 leave one GPU on each until 100 s; one of 2 waits from 10 s, of
     * 1 from 50 s behind it, so that the GPUs are merely free. */
    struct job jobs[] = {JOB(0, 3, 100), JOB(0, 3, 100), JOB(10, 2, 100), JOB(50, 1, 100)};
    struct job_trace trace = TRACE(jobs);
    struct queue_plan queue = world_queue(&trace, 8);
    queue.placement = SHAPE_ONE_NODE;
    struct world_plan plan = hour(&queue);
    plan.nodes = 2;
    plan.gpus_per_node = 4;
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    starts_at(&w, 2, 100);
    starts_at(&w, 3, 100);
    cr_assert(ledger_total(w.ledger, LEDGER_NOBODY, GPU_STRANDED) == 40 * 2 * SIM_S);
    world_close(&w);

    queue.placement = SHAPE_ANY; /* may be spread: never stranded */
    world_open(&w, &plan);
    world_run(&w);
    starts_at(&w, 2, 10);
    cr_assert(ledger_total(w.ledger, LEDGER_NOBODY, GPU_STRANDED) == 0);
    world_close(&w);

    /* Over the ceiling: not a request that quota admits. */
    queue.placement = SHAPE_ONE_NODE;
    queue.tenant.pools[0].quota.ceiling_gpus = 7;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert(ledger_total(w.ledger, LEDGER_NOBODY, GPU_STRANDED) == 0);
    world_close(&w);
}

/* ---- a run is a value ---- */

Test(queue, same_seed_same_rows)
{
    struct job jobs[] = {JOB(0, 6, 3000), JOB(1, 8, 10), JOB(90000, 4, 500), JOB(200000, 2, 50)};
    struct job_trace trace = {jobs, 4, 200000 * SIM_S};
    struct queue_plan queue = world_queue(&trace, 8);
    const struct backlog_class classes[] = {
        {.gpus = 8, .share = 3}, {.gpus = 1, .share = 1}, {.gpus = 2, .share = 4}};
    with_backlog(&queue, classes, 3, 0);
    queue.jobs_loop = true;
    queue.backlog_work = (struct dist){DIST_EXPONENTIAL, 900, 0};
    queue.restart_load = (struct dist){DIST_GAMMA, 30, 0.5};
    queue.restart_init = (struct dist){DIST_EXPONENTIAL, 10, 0};
    struct take takes[50];
    for (size_t i = 0; i < 50; i++)
        takes[i] = (struct take){i * 5000 * SIM_S, 60 * SIM_S, 4};
    struct world_plan plan = hour(&queue);
    plan.takes = takes;
    plan.n_takes = 50;
    plan.end_ns = 3 * SIM_DAY;
    plan.reclaim.teardown = (struct dist){DIST_EXPONENTIAL, 10, 0};
    bool replications_differ = false;
    struct world w[3];
    for (int i = 0; i < 3; i++) {
        plan.replication = i == 2;
        world_open(&w[i], &plan);
        world_run(&w[i]);
    }
    cr_assert_eq(w[0].rows.n, w[1].rows.n);
    for (size_t i = 0; i < w[0].rows.n; i++) {
        const struct job_row *a = &w[0].rows.items[i], *b = &w[1].rows.items[i];
        cr_assert(a->number == b->number && a->end_ns == b->end_ns && a->lost_ns == b->lost_ns &&
                  a->restoring_ns == b->restoring_ns && a->waiting_ns == b->waiting_ns);
        replications_differ |= i >= w[2].rows.n || w[2].rows.items[i].end_ns != a->end_ns;
    }
    cr_assert(replications_differ);
    for (int i = 0; i < 3; i++)
        world_close(&w[i]);
}

/* ---- the renewal formula through the whole machinery ---- */

struct renewal {
    double mtbf_s, save_s, restart_s, work_s;
    unsigned pieces;
    double want_s; /* with a final save; 0: without one, checkpoint_expected_s */
    size_t jobs;
};

/* One job after another on one GPU that is taken away at exponential times for no time at all.
 * Kills arrive at rate 1 / M, so their mean number is the mean time over M. */
static void renewal(const struct renewal *r)
{
    size_t n = r->jobs * (getenv("HEADROOM_LONG") ? 5 : 1);
    struct job *jobs = calloc(n, sizeof *jobs);
    for (size_t i = 0; i < n; i++)
        jobs[i] = (struct job)JOB(0, 1, 0);
    for (size_t i = 0; i < n; i++)
        jobs[i].work_ns = sim_time_from_s(r->work_s);
    const struct job_trace trace = {jobs, n, 0};
    struct queue_plan queue = world_queue(&trace, 1);
    queue.checkpoint = (struct checkpoint_plan){
        .interval_ns = sim_time_from_s(r->work_s / r->pieces) + 1, /* pieces, not one more */
        .stall_ns = sim_time_from_s(r->save_s),
        .final_save = r->want_s > 0,
    };
    queue.restart_load = world_fixed(sim_time_from_s(r->restart_s));
    double want_s = r->want_s > 0 ? r->want_s
                                  : checkpoint_expected_s(r->work_s, r->work_s / r->pieces,
                                                          r->save_s, r->restart_s, r->mtbf_s);
    double want_kills = want_s / r->mtbf_s;
    simtime_ns end = sim_time_from_s(1.3 * want_s * (double)n);
    size_t n_takes = (size_t)(1.5 * sim_time_to_s(end) / r->mtbf_s) + 100, k = 0;
    struct take *takes = calloc(n_takes, sizeof *takes);
    struct rng rng;
    rng_init(&rng, 6, 0, "test", "renewal");
    simtime_ns at = 0;
    for (; k < n_takes && at < end; k++) {
        at += sim_time_from_s(rng_exponential(&rng) * r->mtbf_s);
        takes[k] = (struct take){at, 0, 1};
    }
    struct world_plan plan = {.nodes = 1,
                              .gpus_per_node = 1,
                              .queue = &queue,
                              .takes = takes,
                              .n_takes = k,
                              .end_ns = end,
                              .unchecked = true};
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    cr_assert_eq(training_totals(w.training)->done, n);
    struct tally time = {0}, kills = {0};
    for (size_t i = 0; i < w.rows.n; i++) {
        const struct job_row *row = &w.rows.items[i];
        tally_add(&time, sim_time_to_s(row->end_ns - row->first_start_ns));
        tally_add(&kills, row->preemptions);
        cr_assert_eq(row->end_ns - row->submit_ns, row->waiting_ns + row->done_ns + row->lost_ns +
                                                       row->saving_ns + row->restoring_ns);
    }
    cr_assert_leq(tally_std_error(&time), 0.005 * want_s);
    cr_assert_leq(fabs(time.mean - want_s), 3.3 * tally_std_error(&time), "%g, want %g", time.mean,
                  want_s);
    cr_assert_leq(tally_std_error(&kills), 0.005 * want_kills);
    cr_assert_leq(fabs(kills.mean - want_kills), 3.3 * tally_std_error(&kills), "%g, want %g",
                  kills.mean, want_kills);
    world_close(&w);
    free(takes);
    free(jobs);
}

/* The first three rows: spot-checkpoint, worked examples, section C. */
Test(queue, renewal_formula)
{
    static const struct renewal rows[] = {
        {14400, 30, 180, 36000, 40, 38910.9, 20000},
        {300, 60, 120, 3600, 24, 10888.9, 4000},
        {50, 60, 20, 200, 5, 2382.84, 10000},
        {3600, 20, 60, 9000, 25, 0, 20000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        renewal(&rows[i]);
}
