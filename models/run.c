/* A run: builds engine, ledger, fleet and claimants from a plan, runs them to the horizon, and
 * copies out what they counted. */
#include "models/run.h"

#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_STEPS = 200, BURN_WINDOW_S = 3600 };

struct run {
    const struct plan *plan;
    const struct run_hooks *hooks;
    struct engine *engine;
    struct ledger *ledger;
    struct fleet *fleet;
    struct service **services; /* owned; in plan order, claimants 0.. */
    struct training **queues;  /* owned; in plan order, claimants after the services */
    struct {
        struct job_row *items;
        size_t n, capacity;
    } jobs;
    bool jobs_failed; /* a row was lost for want of memory */
};

static void take_job(void *self, const struct job_row *row)
{
    struct run *r = self;
    if (!vec_push(&r->jobs, *row))
        r->jobs_failed = true;
}

/* Conservation before each event: in checked builds and where a test asks for it. */
static void check(void *ctx)
{
    struct run *r = ctx;
    bool conserves = ledger_conserves(r->ledger, engine_now(r->engine));
    bool consistent = fleet_consistent(r->fleet);
    if (!conserves || !consistent)
        abort(); /* a broken ledger must not become a result */
}

static bool wants_checks(const struct run *r)
{
#ifdef HEADROOM_CHECKS
    (void)r;
    return true;
#else
    return r->hooks && r->hooks->check_every_event;
#endif
}

static enum hr_err build_claimants(struct run *r, uint32_t replication)
{
    const struct plan *p = r->plan;
    const struct service_sink sink = {
        r->hooks ? r->hooks->self : NULL,
        r->hooks ? r->hooks->request : NULL,
    };
    for (size_t i = 0; i < p->n_services; i++)
        TRY(service_new(&p->services[i], (uint32_t)i, r->engine, r->fleet, p->seed, replication,
                        p->horizon_ns, &sink, &r->services[i]));
    const struct training_sink jobs = {r, take_job};
    for (size_t i = 0; i < p->n_queues; i++)
        TRY(training_new(&p->queues[i], r->engine, r->fleet, r->ledger, p->seed, replication,
                         p->warmup_ns, p->horizon_ns, &jobs, &r->queues[i]));
    return HR_OK;
}

static enum hr_err build(struct run *r, uint32_t replication)
{
    const struct plan *p = r->plan;
    r->engine = engine_new();
    r->ledger = ledger_new((uint32_t)plan_claimants(p) + 1, fleet_plan_gpus(&p->fleet),
                           p->warmup_ns, p->horizon_ns, p->timeline_ns);
    r->services = calloc(p->n_services + 1, sizeof *r->services);
    r->queues = calloc(p->n_queues + 1, sizeof *r->queues);
    if (!r->engine || !r->ledger || !r->services || !r->queues)
        return HR_NOMEM;
    r->fleet = fleet_new(&p->fleet, r->engine, r->ledger, p->seed, replication);
    if (!r->fleet)
        return HR_NOMEM;
    TRY(build_claimants(r, replication));
    if (r->hooks && r->hooks->change) {
        const struct fleet_trace trace = {r->hooks->self, r->hooks->change};
        fleet_trace_set(r->fleet, &trace);
    }
    if (wants_checks(r))
        engine_check_set(r->engine, check, r);
    return HR_OK;
}

static void run_fini(struct run *r)
{
    for (size_t i = 0; r->services && i < r->plan->n_services; i++)
        service_free(r->services[i]);
    for (size_t i = 0; r->queues && i < r->plan->n_queues; i++)
        training_free(r->queues[i]);
    free(r->services);
    free(r->queues);
    fleet_free(r->fleet);
    ledger_free(r->ledger);
    engine_free(r->engine);
    vec_free(&r->jobs);
}

/* Services take their first replicas in order of priority, ties by number. */
static enum hr_err start(struct run *r)
{
    const struct plan *p = r->plan;
    int64_t below = INT64_MAX;
    for (size_t started = 0; started < p->n_services;) {
        int64_t best = INT64_MIN;
        for (size_t i = 0; i < p->n_services; i++)
            if (p->services[i].quota.priority < below && p->services[i].quota.priority > best)
                best = p->services[i].quota.priority;
        for (size_t i = 0; i < p->n_services; i++)
            if (p->services[i].quota.priority == best) {
                TRY(service_start(r->services[i]));
                started++;
            }
        below = best;
    }
    fleet_want_pass(r->fleet);
    return HR_OK;
}

static enum hr_err run_to(struct run *r, simtime_ns end)
{
    enum hr_err err = engine_run(r->engine, end);
    for (size_t i = 0; err == HR_INTERRUPTED && i < r->plan->n_services; i++) {
        enum hr_err cause = service_error(r->services[i]);
        err = cause != HR_OK ? cause : err;
    }
    return err;
}

/* In slices, so that progress can be shown and a run stopped; one slice ends at the warm-up's end.
 */
static enum hr_err run_all(struct run *r)
{
    const struct plan *p = r->plan;
    simtime_ns slice = p->horizon_ns / PROGRESS_STEPS + 1;
    bool measuring = false;
    for (simtime_ns now = 0; now < p->horizon_ns;) {
        if (now == p->warmup_ns && !measuring) {
            measuring = true;
            for (size_t i = 0; i < p->n_services; i++)
                service_measure(r->services[i], now);
        }
        simtime_ns next = now + slice < p->horizon_ns ? now + slice : p->horizon_ns;
        if (now < p->warmup_ns && next > p->warmup_ns)
            next = p->warmup_ns;
        TRY(run_to(r, next));
        now = next;
        if (r->hooks && r->hooks->progress &&
            !r->hooks->progress(r->hooks->self, now, p->horizon_ns))
            return HR_INTERRUPTED;
    }
    return HR_OK;
}

static enum hr_err finish(struct run *r)
{
    const struct plan *p = r->plan;
    for (size_t i = 0; i < p->n_services; i++)
        TRY(service_finish(r->services[i], p->horizon_ns));
    for (size_t i = 0; i < p->n_queues; i++)
        TRY(training_finish(r->queues[i], p->horizon_ns));
    ledger_settle(r->ledger, p->horizon_ns);
    if (!ledger_conserves(r->ledger, p->horizon_ns) || !fleet_consistent(r->fleet))
        abort(); /* a broken ledger must not become a result */
    return r->jobs_failed ? HR_NOMEM : HR_OK;
}

/* ---- results ---- */

static enum hr_err copy_ledger(const struct run *r, struct run_results *out)
{
    size_t accounts = (size_t)out->n_owners * GPU_STATES;
    out->n_timeline = ledger_windows(r->ledger);
    out->ledger = calloc(accounts, sizeof *out->ledger);
    out->timeline = calloc(out->n_timeline * accounts, sizeof *out->timeline);
    if (!out->ledger || !out->timeline)
        return HR_NOMEM;
    for (uint32_t owner = 0; owner < out->n_owners; owner++)
        for (unsigned s = 0; s < GPU_STATES; s++) {
            size_t a = results_account(owner, s);
            out->ledger[a] = ledger_total(r->ledger, owner, s);
            for (size_t w = 0; w < out->n_timeline; w++)
                out->timeline[w * accounts + a] = ledger_window(r->ledger, w, owner, s);
        }
    return HR_OK;
}

static enum hr_err copy_service(const struct service_plan *plan, const struct service *s,
                                struct service_results *out)
{
    const struct slo *slo = service_slo(s);
    out->totals = *service_totals(s);
    out->slo = *slo_totals(slo);
    const struct slo_window *windows = slo_windows(slo, &out->n_windows);
    out->windows = calloc(out->n_windows + 1, sizeof *out->windows);
    if (!out->windows)
        return HR_NOMEM;
    memcpy(out->windows, windows, out->n_windows * sizeof *windows);
    for (int m = 0; m < SLO_METRICS; m++)
        TRY(hist_merge(&out->hists[m], slo_hist(slo, (enum slo_metric)m)));
    uint64_t burn = BURN_WINDOW_S * SIM_S / plan->slo.window_ns;
    for (uint32_t o = 0; o < plan->slo.n_objectives; o++)
        out->burn_rate_max[o] = slo_burn_rate_max(slo, o, burn ? (uint32_t)burn : 1);
    return HR_OK;
}

static enum hr_err copy_reclaims(const struct run *r, struct run_results *out)
{
    size_t n;
    const struct reclaim_row *rows = fleet_reclaims(r->fleet, &n);
    out->reclaims = calloc(n + 1, sizeof *rows);
    if (!out->reclaims)
        return HR_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (rows[i].decision_ns >= out->start_ns)
            out->reclaims[out->n_reclaims++] = rows[i];
    return HR_OK;
}

static enum hr_err copy_results(struct run *r, struct run_results *out)
{
    const struct plan *p = r->plan;
    *out = (struct run_results){
        .n_owners = (uint32_t)plan_claimants(p) + 1,
        .n_services = (uint32_t)p->n_services,
        .n_queues = (uint32_t)p->n_queues,
        .fleet_gpus = fleet_gpus(r->fleet),
        .start_ns = p->warmup_ns,
        .end_ns = p->horizon_ns,
        .timeline_ns = p->timeline_ns,
        .engine = engine_stats(r->engine),
    };
    out->services = calloc(p->n_services + 1, sizeof *out->services);
    out->queues = calloc(p->n_queues + 1, sizeof *out->queues);
    if (!out->services || !out->queues)
        return HR_NOMEM;
    TRY(copy_ledger(r, out));
    for (size_t i = 0; i < p->n_services; i++)
        TRY(copy_service(&p->services[i], r->services[i], &out->services[i]));
    for (size_t i = 0; i < p->n_queues; i++)
        out->queues[i].totals = *training_totals(r->queues[i]);
    TRY(copy_reclaims(r, out));
    out->jobs = r->jobs.items;
    out->n_jobs = r->jobs.n;
    r->jobs.items = NULL;
    r->jobs.n = r->jobs.capacity = 0;
    return HR_OK;
}

enum hr_err run_plan(const struct plan *plan, uint32_t replication, const struct run_hooks *hooks,
                     struct run_results *results)
{
    *results = (struct run_results){0};
    if (plan_fault(plan))
        return HR_INPUT;
    struct run r = {.plan = plan, .hooks = hooks};
    enum hr_err err = build(&r, replication);
    if (err == HR_OK)
        err = start(&r);
    if (err == HR_OK)
        err = run_all(&r);
    if (err == HR_OK)
        err = finish(&r);
    if (err == HR_OK)
        err = copy_results(&r, results);
    if (err != HR_OK)
        results_fini(results);
    run_fini(&r);
    return err;
}
