/* Drawn jobs: what they are, when they come, and queues with a right answer. */
#include "models/closed/erlang.h"
#include "models/training/mix.h"
#include "queue_kit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct dist exponential(double mean_s)
{
    return (struct dist){DIST_EXPONENTIAL, mean_s, 0};
}

Test(mix, classes_come_by_their_shares_and_times_by_the_rate)
{
    enum { N = 20000 };
    const struct job_class classes[] = {
        {.name = "small", .tenant = "a", .gpus = 1, .share = 3, .work = exponential(60), .busy = 1},
        {.name = "never", .tenant = "", .gpus = 2, .share = 0, .work = exponential(60), .busy = 1},
        {.name = "big",
         .tenant = "",
         .gpus = 8,
         .share = 1,
         .work = exponential(600),
         .busy = 1,
         .priority = 5,
         .preemptible = true},
    };
    const struct mix_plan plan = {
        .kind = MIX_POISSON, .classes = classes, .n_classes = 3, .count = N, .rate_per_s = 0.5};
    struct mix m;
    cr_assert_eq(mix_init(&m, &plan, 1, 0, "q"), HR_OK);
    double big = 0, work_s = 0;
    simtime_ns last = 0;
    for (int i = 0; i < N; i++) {
        simtime_ns at = m.at_ns;
        struct job job;
        const struct job_class *c = mix_next(&m, &job);
        cr_assert(at >= last && job.submit_ns == at && job.gpus == c->gpus && job.work_ns > 0);
        cr_assert_str_neq(job.id, "never");
        cr_assert_eq(job.preemptible, c == &classes[2]);
        big += c == &classes[2];
        work_s += c == &classes[2] ? sim_time_to_s(job.work_ns) : 0;
        last = at;
    }
    cr_expect_eq(m.at_ns, SIM_NEVER); /* no more than count */
    cr_expect_float_eq(big / N, 0.25, 3.3 * sqrt(0.25 * 0.75 / N));
    cr_expect_float_eq(work_s / big, 600, 3.3 * 600 / sqrt(big));
    cr_expect_float_eq(sim_time_to_s(last) / N, 2, 3.3 * 2 / sqrt(N));
    mix_fini(&m);
}

Test(mix, a_plan_without_meaning_has_a_fault)
{
    struct job_class c = {.name = "c", .gpus = 1, .share = 1, .work = exponential(1), .busy = 1};
    struct mix_plan p = {
        .kind = MIX_USERS, .classes = &c, .n_classes = 1, .count = 3, .gap = exponential(1)};
    cr_expect_null(mix_fault(&p));
    p.count = 0;
    cr_expect_not_null(mix_fault(&p));
    p = (struct mix_plan){.kind = MIX_POISSON, .classes = &c, .n_classes = 1};
    cr_expect_not_null(mix_fault(&p));
    p.rate_per_s = 1;
    c.busy = 1.5;
    cr_expect_not_null(mix_fault(&p));
    c.busy = 1;
    c.share = 0;
    cr_expect_not_null(mix_fault(&p));
}

/* ---- in a queue ---- */

static struct world_plan world_of(struct queue_plan *q, uint32_t gpus, simtime_ns end)
{
    q->estimate_factor = 1;
    return (struct world_plan){.nodes = gpus,
                               .gpus_per_node = 1,
                               .queue = q,
                               .seed = 11,
                               .end_ns = end,
                               .unchecked = true};
}

/* A mean with its standard error from batches of equal time: long against the queue's memory. */
enum { BATCHES = 50 };
struct estimate {
    double sum[BATCHES], n[BATCHES];
};

static double mean_of(const struct estimate *e, double *se)
{
    double sum = 0, n = 0, squares = 0;
    for (int b = 0; b < BATCHES; b++) {
        sum += e->sum[b];
        n += e->n[b];
    }
    for (int b = 0; b < BATCHES; b++)
        squares += pow(e->sum[b] / e->n[b] - sum / n, 2);
    *se = sqrt(squares / BATCHES / (BATCHES - 1));
    return sum / n;
}

static void agrees(const char *what, const struct estimate *e, double exact)
{
    double se, mean = mean_of(e, &se);
    cr_log_info("%s: %.5g, exact %.5g, standard error %.2g", what, mean, exact, se);
    cr_expect_float_eq(mean, exact, 3.3 * se, "%s: %g, not %g", what, mean, exact);
    cr_expect_lt(se, 0.02 * exact, "%s: too short", what);
}

/* Wait in hours, and whether there was one, of what was submitted from a time on. */
static void waits(const struct world *w, simtime_ns from, struct estimate *wait,
                  struct estimate *waited)
{
    simtime_ns length = (w->plan->end_ns - from) / BATCHES + 1;
    *wait = *waited = (struct estimate){0};
    for (size_t i = 0; i < w->rows.n; i++) {
        const struct job_row *r = &w->rows.items[i];
        if (r->submit_ns < from || r->first_start_ns == SIM_NEVER)
            continue;
        simtime_ns t = r->first_start_ns - r->submit_ns;
        size_t b = (r->submit_ns - from) / length;
        wait->sum[b] += sim_time_to_s(t) / 3600;
        waited->sum[b] += t > 0;
        wait->n[b]++;
        waited->n[b]++;
    }
}

/* A closed group on few GPUs: 30 users, 6 GPUs, sessions of 2 h, 8 h away. The chain with birth
 * (N - n) / Z and death min(n, c) / S; an arrival sees it with one user fewer (arrival theorem). */
Test(mix, a_closed_group_is_the_machine_repair_queue)
{
    enum { USERS = 30, GPUS = 6 };
    double p[USERS], total = 0, p_wait = 0, queue = 0, rate = 0;
    for (int n = 0; n < USERS; n++) {
        p[n] = n == 0 ? 1 : p[n - 1] * (USERS - n) / 8 / ((n < GPUS ? n : GPUS) / 2.0);
        total += p[n];
    }
    for (int n = 0; n < USERS; n++)
        p_wait += n >= GPUS ? p[n] / total : 0;
    double q = 1;
    for (int n = 0; n <= USERS; n++) {
        q = n == 0 ? 1 : q * (USERS - n + 1) / 8 / ((n < GPUS ? n : GPUS) / 2.0);
        queue += n > GPUS ? q * (n - GPUS) : 0;
        rate += q * (n < GPUS ? n : GPUS) / 2.0;
    }
    double mean_wait_h = queue / rate;
    const struct job_class session = {.name = "session",
                                      .tenant = "",
                                      .gpus = 1,
                                      .share = 1,
                                      .work = exponential(7200),
                                      .busy = 1};
    struct queue_plan plan = world_queue(NULL, GPUS);
    plan.mix = (struct mix_plan){.kind = MIX_USERS,
                                 .classes = &session,
                                 .n_classes = 1,
                                 .count = USERS,
                                 .gap = exponential(8 * 3600)};
    const struct world_plan world = world_of(&plan, GPUS, 200000 * SIM_HOUR);
    struct world w;
    world_open(&w, &world);
    world_run(&w);
    struct estimate wait, waited;
    waits(&w, 100 * SIM_HOUR, &wait, &waited);
    agrees("wait in h", &wait, mean_wait_h);
    agrees("share that waits", &waited, p_wait);
    world_close(&w);
}

/* Idle sessions held until a time-out: 8 GPUs, 2.5 sessions/h of 2 h work and then 30 min held
 * (exponential total): Erlang's delay probability and wait. */
Test(mix, held_sessions_wait_as_erlang_says)
{
    const struct job_class held = {.name = "session",
                                   .tenant = "",
                                   .gpus = 1,
                                   .share = 1,
                                   .work = exponential(2.5 * 3600),
                                   .busy = 0.8};
    struct queue_plan plan = world_queue(NULL, 8);
    plan.mix = (struct mix_plan){
        .kind = MIX_POISSON, .classes = &held, .n_classes = 1, .rate_per_s = 2.5 / 3600};
    const struct world_plan world = world_of(&plan, 8, 200000 * SIM_HOUR);
    struct world w;
    world_open(&w, &world);
    world_run(&w);
    struct estimate wait, waited;
    waits(&w, 1000 * SIM_HOUR, &wait, &waited);
    double c = erlang_c(8, 2.5 * 2.5);
    cr_expect_float_eq(c, 0.418, 5e-4);
    agrees("wait in h", &wait, c * 2.5 / (8 - 2.5 * 2.5));
    agrees("share that waits", &waited, c);
    /* Of the held time four fifths are work in each whole hour, so a little more in all. */
    double work = (double)world_total(&w, GPU_TRAINING),
           idle = (double)world_total(&w, GPU_HELD_IDLE);
    cr_expect(work / (work + idle) > 0.8 && work / (work + idle) < 0.88, "%g",
              work / (work + idle));
    world_close(&w);
}

/* Everything at once: the last of n jobs starts at (n - m) S / m on average; every job runs. */
Test(mix, a_backlog_at_once_drains)
{
    enum { N = 400, M = 20, RUNS = 60 };
    double sum = 0, squares = 0;
    for (uint32_t r = 0; r < RUNS; r++) {
        const struct job_class one = {.name = "job",
                                      .tenant = "",
                                      .gpus = 1,
                                      .share = 1,
                                      .work = exponential(3600),
                                      .busy = 1,
                                      .preemptible = true};
        struct queue_plan plan = world_queue(NULL, M);
        plan.mix =
            (struct mix_plan){.kind = MIX_AT_ONCE, .classes = &one, .n_classes = 1, .count = N};
        struct world_plan world = world_of(&plan, M, 200 * SIM_HOUR);
        world.replication = r;
        struct world w;
        world_open(&w, &world);
        world_run(&w);
        cr_assert_eq(training_totals(w.training)->done, N);
        simtime_ns last = 0;
        for (size_t i = 0; i < w.rows.n; i++)
            if (w.rows.items[i].first_start_ns > last)
                last = w.rows.items[i].first_start_ns;
        sum += sim_time_to_s(last) / 3600;
        squares += pow(sim_time_to_s(last) / 3600, 2);
        world_close(&w);
    }
    double mean = sum / RUNS, se = sqrt((squares / RUNS - mean * mean) / (RUNS - 1));
    cr_log_info("last start %.3f h, exact %.3f, standard error %.3f", mean, (N - M) / 20.0, se);
    cr_expect_float_eq(mean, (double)(N - M) / M, 3.3 * se);
}
