/* One pass over the reclaims, one over the jobs, one over the windows of each service. */
#include "analysis/digest.h"

#include "analysis/ramp.h"
#include "sim/vec.h"

#include <math.h>
#include <stdlib.h>

/* ---- durations ---- */

static bool durations_add(struct durations *d, simtime_ns t)
{
    d->sum_ns += t;
    return vec_push(d, t);
}

static int by_length(const void *a, const void *b)
{
    simtime_ns x = *(const simtime_ns *)a, y = *(const simtime_ns *)b;
    return (x > y) - (x < y);
}

static void durations_sort(struct durations *d)
{
    if (d->n)
        qsort(d->items, d->n, sizeof *d->items, by_length);
}

double durations_mean_s(const struct durations *d)
{
    return d->n ? (double)d->sum_ns / 1e9 / (double)d->n : NAN;
}

double durations_quantile_s(const struct durations *d, double q)
{
    if (d->n == 0)
        return NAN;
    size_t rank = (size_t)ceil(q * (double)d->n);
    rank = rank < 1 ? 1 : rank > d->n ? d->n : rank;
    return (double)d->items[rank - 1] / 1e9;
}

/* ---- reclaims ---- */

/* Shares of the results that a GPU, or a unit where it is shared, of a pool counts as. */
static uint32_t pool_shares(const struct digest *d, uint32_t pool)
{
    uint32_t all = d->results->shares_per_gpu;
    return all > 1 ? all / fleet_plan_units_per_gpu(&d->plan->pools[pool]) : 1;
}

static enum hr_err scan_reclaims(struct digest *d)
{
    const struct run_results *r = d->results;
    for (size_t i = 0; i < r->n_reclaims; i++) {
        const struct reclaim_row *row = &r->reclaims[i];
        uint32_t shares = pool_shares(d, row->pool);
        d->shares_evicted += (uint64_t)row->gpus_evicted * shares;
        d->shares_missing += (uint64_t)row->gpus_missing * shares;
        d->victims += row->victims;
        if (row->ready_ns == SIM_NEVER)
            continue;
        if (!durations_add(&d->reclaims, row->ready_ns - row->decision_ns))
            return HR_NOMEM;
        for (int s = 0; s < STAGES; s++)
            d->stage_ns[s] += row->stage_ns[s];
    }
    durations_sort(&d->reclaims);
    return HR_OK;
}

/* ---- the ramp condition ---- */

static double limit_gpus(const struct plan *p, const struct service_plan *s)
{
    double per_replica = plan_replica_gpus(p, s);
    if (!s->autoscaler.enabled)
        return s->initial_replicas * per_replica;
    double most = 0;
    for (uint32_t i = 0; i < s->n_pools; i++) {
        const struct fleet_plan *pool = &p->pools[s->pools[i].pool];
        double ceiling = (double)s->pools[i].quota.ceiling_gpus / fleet_plan_units_per_gpu(pool);
        most += fmin(ceiling, fleet_plan_gpus(pool));
    }
    most = fmin(most, s->autoscaler.max_replicas * per_replica);
    return floor(most / per_replica) * per_replica;
}

static enum hr_err scan_response(struct digest *d, uint32_t service)
{
    struct ramp_facts *f = &d->ramps[service];
    const struct run_results *r = d->results;
    struct durations mine = {0};
    enum hr_err err = HR_OK;
    for (size_t i = 0; i < r->n_reclaims && err == HR_OK; i++) {
        const struct reclaim_row *row = &r->reclaims[i];
        if (row->claimant != service || row->ready_ns == SIM_NEVER)
            continue;
        simtime_ns t = row->stage_ns[STAGE_DETECT] + row->ready_ns - row->decision_ns;
        err = durations_add(&mine, t) ? HR_OK : HR_NOMEM;
    }
    durations_sort(&mine);
    f->n_reclaims = (double)mine.n;
    f->response_s = durations_quantile_s(&mine, 0.99);
    if (mine.n == 0) {
        f->response_s = 0;
        for (int s = STAGE_SCHEDULE; s < STAGES; s++)
            f->response_s += dist_mean_s(&d->plan->services[service].cold_start[s]);
    }
    vec_free(&mine);
    return err;
}

/* GPUs of ready replicas, serving or idle, on average over [start, end) of the measured part: from
 * the timeline windows it overlaps. */
static double ready_gpus(const struct run_results *r, uint32_t service, simtime_ns start,
                         simtime_ns end)
{
    size_t accounts = (size_t)r->n_owners * GPU_STATES;
    double gpu_ns = 0;
    for (size_t w = start / r->timeline_ns; w < r->n_timeline && w * r->timeline_ns < end; w++) {
        simtime_ns low = w * r->timeline_ns, high = low + r->timeline_ns;
        simtime_ns from = low > start ? low : start, to = high < end ? high : end;
        const uint64_t *window = &r->timeline[w * accounts];
        uint64_t ready = window[results_account(service + 1, GPU_SERVING)] +
                         window[results_account(service + 1, GPU_HELD_IDLE)];
        gpu_ns += (double)ready * ((double)(to - from) / (double)r->timeline_ns);
    }
    return results_gpus(r, gpu_ns) / (double)(end - start);
}

static void scan_shortage(struct digest *d, uint32_t service, const struct ramp *ramp)
{
    const struct run_results *r = d->results;
    struct ramp_facts *f = &d->ramps[service];
    simtime_ns width = d->plan->services[service].slo.window_ns;
    simtime_ns length = r->end_ns - r->start_ns;
    for (size_t w = 0; w < ramp->n && r->timeline_ns && w * width < length; w++) {
        simtime_ns end = (w + 1) * width < length ? (w + 1) * width : length;
        double missing = ramp->demand_gpus[w] - ready_gpus(r, service, w * width, end);
        if (missing <= 0)
            continue;
        f->short_gpus = fmax(f->short_gpus, missing);
        f->short_min += sim_time_to_s(width) / 60;
    }
}

static enum hr_err scan_ramp(struct digest *d, uint32_t service)
{
    const struct service_plan *s = &d->plan->services[service];
    struct ramp_facts *f = &d->ramps[service];
    struct ramp ramp;
    TRY(scan_response(d, service));
    TRY(ramp_init(&ramp, s, plan_replica_gpus(d->plan, s), &d->results->services[service],
                  d->measured_s));
    double per_replica = plan_replica_gpus(d->plan, s);
    f->peak_gpus = ramp_peak(&ramp);
    f->mean_gpus = ramp_mean(&ramp);
    f->limit_gpus = limit_gpus(d->plan, s);
    f->held_gpus =
        (s->autoscaler.enabled ? s->autoscaler.min_replicas : s->initial_replicas) * per_replica;
    f->buffer_gpus = s->autoscaler.enabled ? s->autoscaler.buffer_replicas * per_replica : 0;
    f->rise_gpus = ramp_rise(&ramp, f->response_s);
    if (f->peak_gpus > f->limit_gpus) {
        f->safe_buffer_gpus = f->safe_reclaim_s = NAN;
    } else if (f->held_gpus >= f->peak_gpus) {
        f->safe_buffer_gpus = 0;
        f->safe_reclaim_s = (double)ramp.n * ramp.step_s;
    } else {
        f->safe_buffer_gpus = ceil(f->rise_gpus / per_replica - 1e-9) * per_replica;
        f->safe_reclaim_s = ramp_safe_reclaim_s(&ramp, f->buffer_gpus);
    }
    scan_shortage(d, service, &ramp);
    ramp_fini(&ramp);
    return HR_OK;
}

/* ---- jobs ---- */

/* Shares of one GPU of a job's row: a memory slice of a queue of slices, else a whole GPU. */
static uint32_t shares_of(const struct digest *d, uint32_t queue)
{
    return pool_shares(d, d->plan->queues[queue].tenant.pools[0].pool);
}

/* Recorded jobs count; of backlog gangs the preemptions only. */
static enum hr_err scan_job(struct digest *d, const struct job_row *job)
{
    struct digest_queue *q = &d->queues[job->queue];
    struct digest_tenant *t = &d->tenants[job->claimant];
    t->preemptions += job->preemptions;
    if (job->backlog)
        return HR_OK;
    uint32_t scale = shares_of(d, job->queue);
    for (int k = 0; k < BLOCKS; k++) {
        q->blocked_ns[k] += job->blocked_ns[k];
        q->blocked_gpu_ns[k] += (u128)job->blocked_ns[k] * job->gpus * scale;
        t->blocked_ns[k] += job->blocked_ns[k];
    }
    t->submitted++;
    t->done += job->outcome == OUTCOME_DONE;
    t->waiting += job->outcome == OUTCOME_WAITING;
    if (job->first_start_ns == SIM_NEVER)
        return HR_OK;
    t->started++;
    simtime_ns wait = job->first_start_ns - job->submit_ns;
    if (!durations_add(&q->wait, wait) || !durations_add(&t->wait, wait))
        return HR_NOMEM;
    if (job->outcome != OUTCOME_DONE)
        return HR_OK;
    simtime_ns completion = job->end_ns - job->submit_ns;
    bool ok =
        durations_add(&q->completion, completion) && durations_add(&t->completion, completion);
    return ok ? HR_OK : HR_NOMEM;
}

static enum hr_err scan_jobs(struct digest *d)
{
    const struct run_results *r = d->results;
    for (size_t i = 0; i < r->n_jobs; i++)
        TRY(scan_job(d, &r->jobs[i]));
    for (uint32_t q = 0; q < r->n_queues; q++) {
        durations_sort(&d->queues[q].wait);
        durations_sort(&d->queues[q].completion);
    }
    for (uint32_t t = 0; t + 1 < r->n_owners; t++) {
        durations_sort(&d->tenants[t].wait);
        durations_sort(&d->tenants[t].completion);
    }
    return HR_OK;
}

static enum hr_err scan(struct digest *d)
{
    TRY(scan_reclaims(d));
    TRY(scan_jobs(d));
    for (uint32_t s = 0; s < d->results->n_services; s++)
        TRY(scan_ramp(d, s));
    return HR_OK;
}

enum hr_err digest_init(struct digest *d, const struct plan *plan,
                        const struct run_results *results)
{
    *d = (struct digest){
        .plan = plan,
        .results = results,
        .measured_s = sim_time_to_s(results->end_ns - results->start_ns),
    };
    d->ramps = calloc(results->n_services + 1, sizeof *d->ramps);
    d->queues = calloc(results->n_queues + 1, sizeof *d->queues);
    d->tenants = calloc(results->n_owners, sizeof *d->tenants);
    enum hr_err err = d->ramps && d->queues && d->tenants ? scan(d) : HR_NOMEM;
    if (err != HR_OK)
        digest_fini(d);
    return err;
}

void digest_fini(struct digest *d)
{
    vec_free(&d->reclaims);
    for (uint32_t q = 0; d->queues && q < d->results->n_queues; q++) {
        vec_free(&d->queues[q].wait);
        vec_free(&d->queues[q].completion);
    }
    for (uint32_t t = 0; d->tenants && t + 1 < d->results->n_owners; t++) {
        vec_free(&d->tenants[t].wait);
        vec_free(&d->tenants[t].completion);
    }
    free(d->ramps);
    free(d->queues);
    free(d->tenants);
    *d = (struct digest){0};
}
