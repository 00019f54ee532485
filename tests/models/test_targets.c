/* Published and exact values from whole runs: two-class priority queues as one-GPU gangs, and the
 * run times of one task under recorded failures and checkpoints. */
#include "models/run.h"
#include "sim/arena.h"
#include "sim/stat.h"
#include "worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool full(void)
{
    const char *text = getenv("HEADROOM_LONG");
    return text && text[0] == '1';
}

/* ---- two classes of priority ---- */

enum { REPLICATIONS = 32 };

struct classes {
    uint32_t servers;
    double rate[2]; /* per s: high, low; service 1 s */
    bool preemptive;
    double measured_s;
};

/* Mean response and wait before the first start of each class. The start from empty is left out,
 * and so is the end: whoever is measured has left. */
static void serve(const struct classes *c, uint32_t replication, double *response, double *wait)
{
    const double warmup_s = 300, slack_s = 1500;
    const struct job_class kinds[2] = {{.name = "high",
                                        .tenant = "",
                                        .gpus = 1,
                                        .share = 1,
                                        .work = {DIST_EXPONENTIAL, 1, 0},
                                        .preemptible = true,
                                        .busy = 1},
                                       {.name = "low",
                                        .tenant = "",
                                        .gpus = 1,
                                        .share = 1,
                                        .work = {DIST_EXPONENTIAL, 1, 0},
                                        .preemptible = true,
                                        .busy = 1}};
    const struct node_group group = {"nodes", "h100-sxm", 1, c->servers};
    struct fleet_plan pool = {.groups = &group, .n_groups = 1, .name = "fleet"};
    struct queue_plan queues[2];
    for (int i = 0; i < 2; i++) {
        struct quota q = {.ceiling_gpus = c->servers, .priority = i == 0};
        quota_may_reclaim(&q, i == 0 && c->preemptive ? RECLAIM_LOWER_PRIORITY : RECLAIM_NEVER);
        queues[i] = (struct queue_plan){
            .name = kinds[i].name,
            .tenant = {.name = kinds[i].name, .pools = {{0, q}}, .n_pools = 1},
            .estimate_factor = 1,
            .placement = SHAPE_ANY,
            .checkpoint = {.save_on_notice = true}, /* for nothing: resumes where it stopped */
            .jobs_speed = 1,
            .work_factor = 1,
            .mix = {.kind = MIX_POISSON,
                    .classes = &kinds[i],
                    .n_classes = 1,
                    .rate_per_s = c->rate[i]}};
    }
    simtime_ns end = sim_time_from_s(warmup_s + c->measured_s + slack_s);
    const struct plan plan = {.name = "priority",
                              .design = "quota",
                              .seed = 20260102,
                              .horizon_ns = end,
                              .warmup_ns = sim_time_from_s(warmup_s),
                              .timeline_ns = end,
                              .start_date = "2026-01-01 00:00:00",
                              .pools = &pool,
                              .n_pools = 1,
                              .queues = queues,
                              .n_queues = 2};
    struct run_results r;
    cr_assert_eq(run_plan(&plan, replication, NULL, &r), HR_OK);
    double sum[2] = {0}, waits[2] = {0}, n[2] = {0};
    for (size_t i = 0; i < r.n_jobs; i++) {
        const struct job_row *j = &r.jobs[i];
        if (sim_time_to_s(j->submit_ns) >= warmup_s + c->measured_s)
            continue;
        cr_assert_eq(j->outcome, OUTCOME_DONE);
        cr_assert_eq(j->lost_ns, 0);
        sum[j->queue] += sim_time_to_s(j->end_ns - j->submit_ns);
        waits[j->queue] += sim_time_to_s(j->first_start_ns - j->submit_ns);
        n[j->queue]++;
    }
    results_fini(&r);
    for (int i = 0; i < 2; i++) {
        response[i] = sum[i] / n[i];
        wait[i] = waits[i] / n[i];
    }
}

static void agree(const char *model, const char *what, const struct tally *t, double exact)
{
    double error = tally_std_error(t);
    if (full())
        fprintf(stderr, "%s, %s: %.5f for %.5f, %.2f standard errors of %.2g\n", model, what,
                t->mean, exact, (t->mean - exact) / error, error);
    cr_assert(error <= (full() ? 0.03 : 0.15) * exact, "%s, %s: standard error %g", model, what,
              error);
    cr_assert(fabs(t->mean - exact) <= 3.3 * error, "%s, %s: %g for %g, standard error %g", model,
              what, t->mean, exact, error);
}

/* Rows [from, to) of the table. */
static void priority_rows(size_t from, size_t to)
{
    struct table *table = table_read("targets/priority_queue.csv");
    cr_assert_eq(table->n, 9);
    for (size_t row = from; row < to; row++) {
        const char *model = table->cells[row][0];
        const struct classes c = {(uint32_t)table_number(table, row, 1),
                                  {table_number(table, row, 2), table_number(table, row, 3)},
                                  strstr(model, "non-preemptive") == NULL,
                                  full() ? 30000 : 2500};
        struct tally response[2] = {{0}, {0}}, wait = {0};
        for (uint32_t r = 0; r < (full() ? REPLICATIONS : REPLICATIONS / 2); r++) {
            double mean[2], waits[2];
            serve(&c, r, mean, waits);
            tally_add(&response[0], mean[0]);
            tally_add(&response[1], mean[1]);
            tally_add(&wait, waits[0]);
        }
        agree(model, "response of the high class", &response[0], table_number(table, row, 7));
        agree(model, "response of the low class", &response[1], table_number(table, row, 8));
        if (table_number(table, row, 5) > 0.1) /* else too rare */
            agree(model, "wait of the high class", &wait, table_number(table, row, 5));
    }
    free(table);
}

Test(targets, priority_queues_of_one_server)
{
    priority_rows(0, 6);
}

Test(targets, priority_queues_of_many_servers)
{
    priority_rows(6, 9);
}

/* ---- failures and checkpoints, exactly ---- */

/* "300:300;420:600": after so many seconds of being there it is gone for so many. */
static void read_failures(const char *text, struct supply_event *rows, struct supply_trace *t)
{
    simtime_ns at = 0;
    for (const char *c = text; *c; c = *c ? c + 1 : c) {
        char *end;
        at += (simtime_ns)strtol(c, &end, 10) * SIM_S;
        cr_assert_eq(*end, ':');
        rows[t->n++] = (struct supply_event){at, 0, -1, ""};
        at += (simtime_ns)strtol(end + 1, &end, 10) * SIM_S;
        rows[t->n++] = (struct supply_event){at, 0, 1, ""};
        c = end;
        if (!*c)
            break;
    }
    t->rows = rows;
    t->nodes = t->up_at_start = 1;
    t->span_ns = at;
}

static double run_time_s(const struct table *t, size_t row)
{
    struct supply_event events[8];
    struct supply_trace failures = {0};
    read_failures(t->cells[row][2], events, &failures);
    struct job job = {.work_ns = sim_time_from_s(table_number(t, row, 1)),
                      .limit_ns = JOB_UNSET,
                      .checkpoint_ns = JOB_UNSET,
                      .id = "task",
                      .tenant = "",
                      .gpus = 1,
                      .min_gpus = 1,
                      .preemptible = true};
    const struct job_trace jobs = {&job, 1, 0};
    const struct node_group group = {"node", "h100-sxm", 1, 1};
    const struct fleet_plan pool = {.groups = &group,
                                    .n_groups = 1,
                                    .name = "fleet",
                                    .supply = {.failure = {.trace = &failures}}};
    struct queue_plan queue = {
        .name = "queue",
        .tenant = {.name = "queue", .pools = {{0, {.ceiling_gpus = 1}}}, .n_pools = 1},
        .estimate_factor = 1,
        .placement = SHAPE_ANY,
        .jobs = &jobs,
        .jobs_speed = 1,
        .work_factor = 1};
    if (t->cells[row][4][0])
        queue.checkpoint =
            (struct checkpoint_plan){.interval_ns = sim_time_from_s(table_number(t, row, 4)),
                                     .stall_ns = sim_time_from_s(table_number(t, row, 5))};
    const struct plan plan = {.name = "task",
                              .design = "quota",
                              .horizon_ns = SIM_DAY,
                              .timeline_ns = SIM_DAY,
                              .start_date = "2026-01-01 00:00:00",
                              .pools = &pool,
                              .n_pools = 1,
                              .queues = &queue,
                              .n_queues = 1};
    struct run_results r;
    cr_assert_eq(run_plan(&plan, 0, NULL, &r), HR_OK);
    cr_assert(r.n_jobs == 1 && r.jobs[0].outcome == OUTCOME_DONE);
    double end_s = sim_time_to_s(r.jobs[0].end_ns);
    results_fini(&r);
    return end_s;
}

/* One case scales its interval by 1.5 after each save; there is no such rule here: left out. */
Test(targets, run_time_under_failures_and_checkpoints)
{
    struct table *t = table_read("targets/opendc_failure_checkpoint.csv");
    size_t n = 0;
    for (size_t row = 0; row < t->n; row++) {
        if (t->cells[row][6][0] && table_number(t, row, 6) != 1)
            continue;
        double got = run_time_s(t, row);
        cr_assert_eq(got, table_number(t, row, 7), "%s: %g s", t->cells[row][0], got);
        n++;
    }
    cr_assert_eq(n, 6);
    free(t);
}
