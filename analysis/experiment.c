/* The thread pool behind an experiment: an atomic counter of runs, results by index. */
#include "analysis/experiment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One thread's view of one run in progress. */
struct watch {
    struct workers *pool;
    uint32_t run;
    double behind; /* share of its simulated time reported so far */
};

struct workers {
    const struct experiment_plan *plan;
    struct experiment *out;
    uint32_t n_runs;
    atomic_uint next;      /* run to hand out */
    atomic_bool give_up;   /* an error or a stop: hand out nothing more */
    enum hr_err *errors;   /* owned; per run */
    bool *done;            /* owned; per run */
    pthread_mutex_t mutex; /* of the progress callback and what it reports */
    double behind;         /* sum over runs of their shares */
    uint32_t runs_done;
};

static bool stopped(const struct workers *p)
{
    return p->plan->stop && atomic_load(p->plan->stop);
}

static void report(struct watch *j, double share, bool done)
{
    struct workers *p = j->pool;
    pthread_mutex_lock(&p->mutex);
    p->behind += share - j->behind;
    p->runs_done += done;
    if (p->plan->progress)
        p->plan->progress(p->plan->self, p->behind / p->n_runs, p->runs_done);
    pthread_mutex_unlock(&p->mutex);
    j->behind = share;
}

static bool on_progress(void *self, simtime_ns now, simtime_ns horizon)
{
    struct watch *j = self;
    report(j, (double)now / (double)horizon, false);
    return !stopped(j->pool);
}

/* The caller's row callbacks and our progress need one self between them. */
struct hooked {
    struct watch watch;
    const struct run_hooks *rows;
};

static bool hooked_progress(void *self, simtime_ns now, simtime_ns horizon)
{
    return on_progress(&((struct hooked *)self)->watch, now, horizon);
}

static void hooked_request(void *self, const struct request_row *row)
{
    const struct run_hooks *rows = ((struct hooked *)self)->rows;
    rows->request(rows->self, row);
}

static void hooked_change(void *self, simtime_ns now, lease_id l, uint32_t claimant,
                          enum gpu_state from, enum gpu_state to, uint32_t gpus)
{
    const struct run_hooks *rows = ((struct hooked *)self)->rows;
    rows->change(rows->self, now, l, claimant, from, to, gpus);
}

/* Rows of later replications are not written: their memory goes back at once. */
static void drop_rows(struct run_results *r)
{
    free(r->jobs);
    free(r->reclaims);
    r->jobs = NULL;
    r->reclaims = NULL;
    r->n_jobs = r->n_reclaims = 0;
}

static enum hr_err run_one(struct workers *p, uint32_t run)
{
    const struct experiment_plan *e = p->plan;
    uint32_t column = run % e->n_columns, replication = run / e->n_columns;
    struct hooked h = {.watch = {p, run, 0}, .rows = run == 0 ? e->rows : NULL};
    struct run_hooks hooks = {
        .self = &h,
        .progress = hooked_progress,
        .request = h.rows && h.rows->request ? hooked_request : NULL,
        .change = h.rows && h.rows->change ? hooked_change : NULL,
        .check_every_event = h.rows && h.rows->check_every_event,
    };
    const struct plan *plan = e->columns[column].plan;
    struct run_results *results = &p->out->runs[run];
    TRY(e->run(plan, replication, &hooks, results));
    TRY(summary_fill(&p->out->summary, column, replication, plan, results));
    if (replication > 0)
        drop_rows(results);
    report(&h.watch, 1, true);
    return HR_OK;
}

static void *work(void *arg)
{
    struct workers *p = arg;
    while (!atomic_load(&p->give_up) && !stopped(p)) {
        uint32_t run = atomic_fetch_add(&p->next, 1);
        if (run >= p->n_runs)
            break;
        p->errors[run] = run_one(p, run);
        p->done[run] = p->errors[run] == HR_OK;
        if (!p->done[run])
            atomic_store(&p->give_up, true);
    }
    return NULL;
}

/* The calling thread is one of the workers; where no more can be started, fewer do the work. */
static enum hr_err run_pool(struct workers *p)
{
    uint32_t extra = p->plan->n_threads < p->n_runs ? p->plan->n_threads - 1 : p->n_runs - 1;
    pthread_t *threads = calloc((size_t)extra + 1, sizeof *threads);
    if (!threads)
        return HR_NOMEM;
    uint32_t started = 0;
    while (started < extra && pthread_create(&threads[started], NULL, work, p) == 0)
        started++;
    work(p);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return HR_OK;
}

static enum hr_err first_error(const struct workers *p, struct diags *diags)
{
    for (uint32_t run = 0; run < p->n_runs; run++) {
        if (p->errors[run] == HR_OK || p->errors[run] == HR_INTERRUPTED)
            continue;
        const struct summary_source *c = &p->plan->columns[run % p->plan->n_columns];
        const char *why = p->errors[run] == HR_INPUT ? plan_fault(c->plan) : NULL;
        diags_add(diags, DIAG_ERROR, (struct diag_place){0}, NULL, NULL,
                  "design '%s' cannot be run: %s", c->label,
                  why ? why : hr_err_text(p->errors[run]));
        return p->errors[run];
    }
    return HR_OK;
}

/* Replications that every design has finished, from the first on. */
static uint32_t complete(const struct workers *p)
{
    uint32_t run = 0;
    while (run < p->n_runs && p->done[run])
        run++;
    return run / p->plan->n_columns;
}

static enum hr_err run_experiment(struct workers *p, struct diags *diags)
{
    struct experiment *out = p->out;
    const struct experiment_plan *plan = p->plan;
    TRY(summary_init(&out->summary, plan->columns, plan->n_columns, plan->n_replications,
                     plan->version));
    out->columns = plan->columns;
    out->runs = calloc(p->n_runs, sizeof *out->runs);
    p->errors = calloc(p->n_runs, sizeof *p->errors);
    p->done = calloc(p->n_runs, sizeof *p->done);
    if (!out->runs || !p->errors || !p->done)
        return HR_NOMEM;
    out->n_runs = p->n_runs;
    TRY(run_pool(p));
    TRY(first_error(p, diags));
    out->summary.n_replications = complete(p);
    return out->summary.n_replications == plan->n_replications ? HR_OK : HR_INTERRUPTED;
}

enum hr_err experiment_run(const struct experiment_plan *plan, struct experiment *out,
                           struct diags *diags)
{
    *out = (struct experiment){0};
    struct workers p = {.plan = plan, .out = out, .n_runs = plan->n_columns * plan->n_replications};
    pthread_mutex_init(&p.mutex, NULL);
    enum hr_err err = run_experiment(&p, diags);
    pthread_mutex_destroy(&p.mutex);
    free(p.errors);
    free(p.done);
    if (err != HR_OK && err != HR_INTERRUPTED)
        experiment_fini(out);
    return err;
}

void experiment_fini(struct experiment *e)
{
    for (uint32_t i = 0; e->runs && i < e->n_runs; i++)
        results_fini(&e->runs[i]);
    free(e->runs);
    summary_fini(&e->summary);
    *e = (struct experiment){0};
}
