/* The pool of runs: the same result for any number of threads, errors in order, interruption keeps
 * whole replications. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <string.h>

static const struct summary_source columns[] = {{"separate", &fixture_separate, NULL, NULL},
                                                {"shared", &fixture_shared, NULL, NULL}};

static struct experiment_plan plan_of(uint32_t replications, uint32_t threads, run_fn *run)
{
    return (struct experiment_plan){.columns = columns,
                                    .n_columns = 2,
                                    .n_replications = replications,
                                    .n_threads = threads,
                                    .version = "v",
                                    .run = run};
}

Test(experiment, any_number_of_threads)
{
    struct diags diags;
    diags_init(&diags);
    struct experiment one, many;
    struct experiment_plan plan = plan_of(20, 1, fixture_run);
    cr_assert(experiment_run(&plan, &one, &diags) == HR_OK);
    for (uint32_t threads = 2; threads <= 64; threads *= 2) {
        plan.n_threads = threads;
        cr_assert(experiment_run(&plan, &many, &diags) == HR_OK);
        size_t n = one.summary.stride * 2 * 20;
        cr_expect(memcmp(one.summary.values, many.summary.values, n * sizeof(double)) == 0);
        experiment_fini(&many);
    }
    /* rows of replication 0 only, everything else of all */
    cr_expect(eq(sz, experiment_results(&one, 1, 0)->n_jobs, 4));
    cr_expect(eq(sz, experiment_results(&one, 1, 0)->n_reclaims, 3));
    cr_expect(eq(sz, experiment_results(&one, 1, 19)->n_jobs, 0));
    cr_expect(experiment_results(&one, 1, 19)->jobs == NULL);
    cr_expect(eq(sz, experiment_results(&one, 1, 19)->services[0].n_windows, FIXTURE_WINDOWS));
    experiment_fini(&one);
    diags_fini(&diags);
}

/* ---- errors ---- */

static enum hr_err failing_run(const struct plan *plan, uint32_t replication,
                               const struct run_hooks *hooks, struct run_results *results)
{
    if (plan == &fixture_shared && replication == 3)
        return HR_NOMEM;
    if (plan == &fixture_separate && replication == 4)
        return HR_LIMIT;
    return fixture_run(plan, replication, hooks, results);
}

Test(experiment, first_error_in_order)
{
    for (uint32_t threads = 1; threads <= 8; threads *= 2) {
        struct diags diags;
        diags_init(&diags);
        struct experiment e;
        const struct experiment_plan plan = plan_of(6, threads, failing_run);
        cr_expect(experiment_run(&plan, &e, &diags) == HR_NOMEM);
        cr_expect(eq(sz, diags.n_errors, 1));
        cr_expect(strstr(diags.items[0].text, "'shared'") != NULL);
        cr_expect(e.runs == NULL);
        diags_fini(&diags);
    }
}

static enum hr_err refusing_run(const struct plan *plan, uint32_t replication,
                                const struct run_hooks *hooks, struct run_results *results)
{
    (void)plan, (void)replication, (void)hooks;
    *results = (struct run_results){0};
    return HR_INPUT;
}

Test(experiment, says_why_a_plan_cannot_run)
{
    struct diags diags;
    diags_init(&diags);
    struct experiment e;
    const struct experiment_plan plan = plan_of(1, 1, refusing_run);
    cr_expect(experiment_run(&plan, &e, &diags) == HR_INPUT);
    cr_expect(strstr(diags.items[0].text, plan_fault(&fixture_separate)) != NULL);
    diags_fini(&diags);
}

/* ---- interruption and progress ---- */

struct watch {
    atomic_bool stop;
    uint32_t stop_after; /* runs */
    double last;
    uint32_t calls;
    bool backwards, at_once;
    atomic_int inside;
};

static void on_progress(void *self, double done, uint32_t runs_done)
{
    struct watch *w = self;
    w->at_once = w->at_once || atomic_fetch_add(&w->inside, 1) != 0;
    w->backwards = w->backwards || done < w->last - 1e-12;
    w->last = done;
    w->calls++;
    if (runs_done >= w->stop_after)
        atomic_store(&w->stop, true);
    atomic_fetch_sub(&w->inside, 1);
}

Test(experiment, interruption_keeps_whole_replications)
{
    struct diags diags;
    diags_init(&diags);
    struct watch w = {.stop_after = 7};
    struct experiment e;
    struct experiment_plan plan = plan_of(10, 1, fixture_run);
    plan.progress = on_progress;
    plan.self = &w;
    plan.stop = &w.stop;
    cr_expect(experiment_run(&plan, &e, &diags) == HR_INTERRUPTED);
    cr_expect(eq(u32, e.summary.n_replications, 3)); /* 7 runs: 3 of both designs */
    size_t m = metric_find("evictions");
    cr_expect(eq(dbl, *summary_at(&e.summary, m, 1, 2, 0, 0), 13));
    cr_expect(eq(sz, diags.n_errors, 0));
    experiment_fini(&e);
    diags_fini(&diags);
}

Test(experiment, interrupted_before_anything)
{
    struct diags diags;
    diags_init(&diags);
    atomic_bool stop = true;
    struct experiment e;
    struct experiment_plan plan = plan_of(3, 4, fixture_run);
    plan.stop = &stop;
    cr_expect(experiment_run(&plan, &e, &diags) == HR_INTERRUPTED);
    cr_expect(eq(u32, e.summary.n_replications, 0));
    experiment_fini(&e);
    diags_fini(&diags);
}

Test(experiment, progress_is_one_rising_number)
{
    for (uint32_t threads = 1; threads <= 8; threads *= 8) {
        struct diags diags;
        diags_init(&diags);
        struct watch w = {.stop_after = UINT32_MAX};
        struct experiment e;
        struct experiment_plan plan = plan_of(8, threads, fixture_run);
        plan.progress = on_progress;
        plan.self = &w;
        cr_assert(experiment_run(&plan, &e, &diags) == HR_OK);
        cr_expect(epsilon_eq(dbl, w.last, 1, 1e-9));
        cr_expect(eq(u32, w.calls, 16 * 5)); /* four quarters and the end of each run */
        cr_expect_not(w.backwards);
        cr_expect_not(w.at_once);
        experiment_fini(&e);
        diags_fini(&diags);
    }
}

/* ---- rows ---- */

static enum hr_err row_run(const struct plan *plan, uint32_t replication,
                           const struct run_hooks *hooks, struct run_results *results)
{
    const struct request_row row = {.number = replication};
    if (hooks->request)
        hooks->request(hooks->self, &row);
    if (hooks->change)
        hooks->change(hooks->self, 0, 0, 0, GPU_FREE, GPU_SERVING, 1);
    return fixture_run(plan, replication, hooks, results);
}

static void count_request(void *self, const struct request_row *row)
{
    *(int *)self += 1 + 1000 * (int)row->number;
}

Test(experiment, rows_of_the_first_run_only)
{
    struct diags diags;
    diags_init(&diags);
    int count = 0;
    const struct run_hooks rows = {.self = &count, .request = count_request};
    struct experiment e;
    struct experiment_plan plan = plan_of(4, 3, row_run);
    plan.rows = &rows;
    cr_assert(experiment_run(&plan, &e, &diags) == HR_OK);
    cr_expect(eq(int, count, 1));
    experiment_fini(&e);
    diags_fini(&diags);
}
