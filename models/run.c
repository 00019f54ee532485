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
    struct pool pools[POOLS_MAX];       /* owned */
    struct supply *supplies[POOLS_MAX]; /* owned; of each pool */
    struct service **services;          /* owned; in plan order, claimants 0.. */
    struct storage *storage;            /* owned; NULL: none is shared */
    struct training **queues;           /* owned; in plan order, claimants after the services */
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

static void check_pools(const struct run *r, simtime_ns now)
{
    for (size_t i = 0; i < r->plan->n_pools; i++) {
        bool conserves = ledger_conserves(r->pools[i].ledger, now);
        if (r->pools[i].compute)
            conserves = conserves && ledger_conserves(r->pools[i].compute, now);
        if (!conserves || !fleet_consistent(r->pools[i].fleet))
            abort(); /* a broken ledger must not become a result */
    }
}

/* Conservation before each event: in checked builds and where a test asks for it. */
static void check(void *ctx)
{
    struct run *r = ctx;
    check_pools(r, engine_now(r->engine));
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
        TRY(service_new(&p->services[i], (uint32_t)i, r->engine, r->pools, p->n_pools, p->seed,
                        replication, p->horizon_ns, &sink, &r->services[i]));
    const struct training_sink jobs = {r, take_job};
    if (p->storage.bytes_per_s > 0) {
        r->storage = storage_new(&p->storage, r->engine, p->warmup_ns, p->horizon_ns);
        TRY(r->storage ? HR_OK : HR_NOMEM);
    }
    for (size_t i = 0; i < p->n_queues; i++) {
        TRY(training_new(&p->queues[i], (uint32_t)i, r->engine, r->pools, p->n_pools, p->seed,
                         replication, p->warmup_ns, p->horizon_ns, &jobs, &r->queues[i]));
        training_storage_set(r->queues[i], r->storage);
    }
    return HR_OK;
}

static enum hr_err build_pool(struct run *r, size_t i, uint32_t replication)
{
    const struct plan *p = r->plan;
    struct pool *pool = &r->pools[i];
    uint32_t owners = (uint32_t)plan_claimants(p) + 1, compute = fleet_plan_compute(&p->pools[i]);
    uint32_t units = fleet_plan_gpus(&p->pools[i]) * fleet_plan_units_per_gpu(&p->pools[i]);
    pool->ledger = ledger_new(owners, units, p->warmup_ns, p->horizon_ns, p->timeline_ns);
    if (!pool->ledger)
        return HR_NOMEM;
    pool->fleet = fleet_new(&p->pools[i], r->engine, pool->ledger, p->seed, replication);
    if (!pool->fleet)
        return HR_NOMEM;
    if (compute > 0) {
        pool->compute = ledger_new(owners, compute, p->warmup_ns, p->horizon_ns, p->timeline_ns);
        if (!pool->compute)
            return HR_NOMEM;
        fleet_compute_set(pool->fleet, pool->compute);
    }
    TRY(fleet_placeable_start(pool->fleet, p->warmup_ns, p->horizon_ns, p->timeline_ns));
    if (r->hooks && r->hooks->change) {
        const struct fleet_trace trace = {r->hooks->self, r->hooks->change};
        fleet_trace_set(pool->fleet, &trace);
    }
    r->supplies[i] = supply_new(&p->pools[i], r->engine, pool, (uint32_t)plan_claimants(p) + 1,
                                p->seed, replication, p->warmup_ns);
    return r->supplies[i] ? HR_OK : HR_NOMEM;
}

static enum hr_err build(struct run *r, uint32_t replication)
{
    const struct plan *p = r->plan;
    r->engine = engine_new();
    r->services = calloc(p->n_services + 1, sizeof *r->services);
    r->queues = calloc(p->n_queues + 1, sizeof *r->queues);
    if (!r->engine || !r->services || !r->queues)
        return HR_NOMEM;
    for (size_t i = 0; i < p->n_pools; i++)
        TRY(build_pool(r, i, replication));
    TRY(build_claimants(r, replication));
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
    storage_free(r->storage);
    free(r->services);
    free(r->queues);
    for (size_t i = 0; i < r->plan->n_pools; i++) {
        supply_free(r->supplies[i]);
        fleet_free(r->pools[i].fleet);
        ledger_free(r->pools[i].ledger);
        ledger_free(r->pools[i].compute);
    }
    engine_free(r->engine);
    vec_free(&r->jobs);
}

/* The priority of a service in the pool that it prefers. */
static int32_t priority(const struct run *r, size_t service)
{
    return r->plan->services[service].pools[0].quota.priority;
}

/* The nodes that are there from the start; on them services take their first replicas in order of
 * priority, ties by number. */
static enum hr_err start(struct run *r)
{
    const struct plan *p = r->plan;
    int64_t below = INT64_MAX;
    for (size_t i = 0; i < p->n_pools; i++)
        supply_start(r->supplies[i]);
    for (size_t started = 0; started < p->n_services;) {
        int64_t best = INT64_MIN;
        for (size_t i = 0; i < p->n_services; i++)
            if (priority(r, i) < below && priority(r, i) > best)
                best = priority(r, i);
        for (size_t i = 0; i < p->n_services; i++)
            if (priority(r, i) == best) {
                TRY(service_start(r->services[i]));
                started++;
            }
        below = best;
    }
    for (size_t i = 0; i < p->n_pools; i++)
        fleet_want_pass(r->pools[i].fleet);
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
    check_pools(r, p->horizon_ns);
    for (size_t i = 0; i < p->n_pools; i++) {
        supply_settle(r->supplies[i], p->horizon_ns);
        if (r->pools[i].compute)
            ledger_settle(r->pools[i].compute, p->horizon_ns);
    }
    return r->jobs_failed ? HR_NOMEM : HR_OK;
}

/* ---- results ---- */

/* Shares that each GPU counts as, so that those of a GPU in every pool are whole. */
static uint32_t shares_per_gpu(const struct plan *p)
{
    uint32_t shares = 1;
    for (size_t i = 0; i < p->n_pools; i++) {
        uint32_t units = fleet_plan_units_per_gpu(&p->pools[i]), a = shares, b = units;
        while (b > 0) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        shares = shares / a * units;
    }
    return shares;
}

static void copy_placeable(struct fleet *f, const struct run_results *run, struct pool_results *to)
{
    size_t n;
    uint32_t units = fleet_units_per_gpu(f);
    const struct placeable_window *windows = fleet_placeable(f, run->end_ns, &n);
    for (size_t w = 0; w < n && w < run->n_timeline; w++)
        for (int k = 0; k < PLACEABLES; k++) {
            to->placeable[w].gpu_ns[k] = windows[w].gpu_ns[k] / units;
            to->placeable[w].least[k] = windows[w].least[k] / units;
        }
}

static void copy_account(const struct pool *pool, const struct supply *supply, uint32_t owner,
                         enum gpu_state s, struct run_results *out, struct pool_results *to)
{
    size_t accounts = (size_t)out->n_owners * GPU_STATES, a = results_account(owner, s);
    uint32_t scale = out->shares_per_gpu / fleet_units_per_gpu(pool->fleet);
    to->ledger[a] = ledger_total(pool->ledger, owner, s) * scale;
    out->ledger[a] += to->ledger[a];
    to->cost_usd[a] = supply_cost_usd(supply, owner, s);
    out->cost_usd[a] += to->cost_usd[a];
    if (pool->compute)
        to->compute[a] = ledger_total(pool->compute, owner, s);
    for (size_t w = 0; w < out->n_timeline; w++) {
        uint64_t ns = ledger_window(pool->ledger, w, owner, s) * scale;
        to->timeline[w * accounts + a] = ns;
        out->timeline[w * accounts + a] += ns;
    }
}

/* One pool's accounts, and added to those of the run. */
static enum hr_err copy_pool(const struct pool *pool, const struct supply *supply,
                             struct run_results *out, struct pool_results *to)
{
    size_t accounts = (size_t)out->n_owners * GPU_STATES;
    to->gpus = fleet_gpus(pool->fleet) / fleet_units_per_gpu(pool->fleet);
    to->ledger = calloc(accounts, sizeof *to->ledger);
    to->compute = pool->compute ? calloc(accounts, sizeof *to->compute) : NULL;
    to->timeline = calloc(out->n_timeline * accounts, sizeof *to->timeline);
    to->cost_usd = calloc(accounts, sizeof *to->cost_usd);
    to->placeable = calloc(out->n_timeline, sizeof *to->placeable);
    if (!to->ledger || !to->timeline || !to->cost_usd || !to->placeable ||
        (pool->compute && !to->compute))
        return HR_NOMEM;
    copy_placeable(pool->fleet, out, to);
    to->mean_price_usd_per_gpu_h = supply_mean_price(supply);
    to->supply = *supply_totals(supply);
    to->churn = *fleet_churn(pool->fleet);
    for (uint32_t owner = 0; owner < out->n_owners; owner++)
        for (unsigned s = 0; s < GPU_STATES; s++)
            copy_account(pool, supply, owner, (enum gpu_state)s, out, to);
    return HR_OK;
}

static enum hr_err copy_ledgers(const struct run *r, struct run_results *out)
{
    size_t accounts = (size_t)out->n_owners * GPU_STATES, n = r->plan->n_pools;
    out->n_timeline = ledger_windows(r->pools[0].ledger);
    out->pools = calloc(n, sizeof *out->pools);
    out->ledger = calloc(accounts, sizeof *out->ledger);
    out->timeline = calloc(out->n_timeline * accounts, sizeof *out->timeline);
    out->cost_usd = calloc(accounts, sizeof *out->cost_usd);
    if (!out->pools || !out->ledger || !out->timeline || !out->cost_usd)
        return HR_NOMEM;
    for (; out->n_pools < n; out->n_pools++)
        TRY(copy_pool(&r->pools[out->n_pools], r->supplies[out->n_pools], out,
                      &out->pools[out->n_pools]));
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

/* By decision, those of one instant by pool. */
static int by_decision(const void *a, const void *b)
{
    const struct reclaim_row *x = a, *y = b;
    if (x->decision_ns != y->decision_ns)
        return x->decision_ns < y->decision_ns ? -1 : 1;
    if (x->pool != y->pool)
        return x->pool < y->pool ? -1 : 1;
    return x->lease < y->lease ? -1 : x->lease > y->lease;
}

static enum hr_err copy_reclaims(const struct run *r, struct run_results *out)
{
    size_t n = 0, of_pool;
    for (size_t i = 0; i < r->plan->n_pools; i++) {
        fleet_reclaims(r->pools[i].fleet, &of_pool);
        n += of_pool;
    }
    out->reclaims = calloc(n + 1, sizeof *out->reclaims);
    if (!out->reclaims)
        return HR_NOMEM;
    for (size_t i = 0; i < r->plan->n_pools; i++) {
        const struct reclaim_row *rows = fleet_reclaims(r->pools[i].fleet, &of_pool);
        for (size_t j = 0; j < of_pool; j++)
            if (rows[j].decision_ns >= out->start_ns) {
                out->reclaims[out->n_reclaims] = rows[j];
                out->reclaims[out->n_reclaims++].pool = (uint32_t)i;
            }
    }
    qsort(out->reclaims, out->n_reclaims, sizeof *out->reclaims, by_decision);
    return HR_OK;
}

static enum hr_err copy_results(struct run *r, struct run_results *out)
{
    const struct plan *p = r->plan;
    *out = (struct run_results){
        .n_owners = (uint32_t)plan_claimants(p) + 1,
        .n_services = (uint32_t)p->n_services,
        .n_queues = (uint32_t)p->n_queues,
        .fleet_gpus = plan_gpus(p),
        .shares_per_gpu = shares_per_gpu(p),
        .start_ns = p->warmup_ns,
        .end_ns = p->horizon_ns,
        .timeline_ns = p->timeline_ns,
        .engine = engine_stats(r->engine),
    };
    out->services = calloc(p->n_services + 1, sizeof *out->services);
    out->queues = calloc(p->n_queues + 1, sizeof *out->queues);
    if (!out->services || !out->queues)
        return HR_NOMEM;
    TRY(copy_ledgers(r, out));
    for (size_t i = 0; i < p->n_services; i++)
        TRY(copy_service(&p->services[i], r->services[i], &out->services[i]));
    for (size_t i = 0; i < p->n_queues; i++)
        out->queues[i].totals = *training_totals(r->queues[i]);
    if (r->storage)
        out->storage = *storage_totals(r->storage);
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
