/* Figures of one service: requests, latency, objectives, the ramp condition.
 *
 * Late, breaches, attainment, error budget and burn rate are those of models/serving/slo.h: counts
 * are exact, quantiles come from the run's histograms (relative error at most 1 %). Where no
 * request counts there is no attainment. */
#include "analysis/metrics_internal.h"

#include <math.h>

static const struct service_results *results_of(const struct digest *d, uint32_t service)
{
    return &d->results->services[service];
}

static const struct service_plan *plan_of(const struct digest *d, uint32_t service)
{
    return &d->plan->services[service];
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static uint64_t count_of(const struct service_results *r, enum service_count c)
{
    switch (c) {
    case COUNT_REQUESTS:
        return r->slo.requests;
    case COUNT_ARRIVED:
        return r->totals.arrived;
    case COUNT_DONE:
        return r->totals.done;
    case COUNT_OPEN:
        return r->totals.open;
    case COUNT_TOO_LONG:
        return r->totals.too_long;
    case COUNT_TIMED_OUT:
        return r->totals.timed_out;
    case COUNT_RETRIED:
        return r->totals.retried;
    case COUNT_EVICTIONS:
        return r->totals.evictions;
    case COUNT_SCALE_UPS:
        return r->totals.scale_ups;
    case COUNT_SCALE_DOWNS:
        return r->totals.scale_downs;
    case COUNT_PROMPT_TOKENS:
        return r->totals.prompt_tokens;
    case COUNT_OUTPUT_TOKENS:
        return r->totals.output_tokens;
    case COUNT_MAX_READY:
        return r->totals.max_ready;
    case COUNT_MAX_WANTED:
        return r->totals.max_wanted;
    case COUNT_WINDOWS:
        return r->slo.windows;
    }
    return 0;
}

double service_count(const struct digest *d, struct metric_at at)
{
    return (double)count_of(results_of(d, at.entity), (enum service_count)at.arg);
}

double service_rate(const struct digest *d, struct metric_at at)
{
    return (double)count_of(results_of(d, at.entity), (enum service_count)at.arg) / d->measured_s;
}

double service_attainment(const struct digest *d, struct metric_at at)
{
    const struct slo_totals *t = &results_of(d, at.entity)->slo;
    return share(t->requests - t->late_any, t->requests);
}

/* ---- breaches ---- */

static double breaches(const struct digest *d, uint32_t service, uint64_t windows)
{
    return results_of(d, service)->slo.windows ? (double)windows : NAN;
}

static double window_min(const struct digest *d, uint32_t service)
{
    return sim_time_to_s(plan_of(d, service)->slo.window_ns) / 60;
}

double service_breach_windows(const struct digest *d, struct metric_at at)
{
    return breaches(d, at.entity, results_of(d, at.entity)->slo.breached_any);
}

double service_breach_min(const struct digest *d, struct metric_at at)
{
    return service_breach_windows(d, at) * window_min(d, at.entity);
}

double service_objective_breach_windows(const struct digest *d, struct metric_at at)
{
    return breaches(d, at.entity, results_of(d, at.entity)->slo.breached[at.part]);
}

double service_objective_breach_min(const struct digest *d, struct metric_at at)
{
    return service_objective_breach_windows(d, at) * window_min(d, at.entity);
}

/* ---- one objective ---- */

double service_late(const struct digest *d, struct metric_at at)
{
    return (double)results_of(d, at.entity)->slo.late[at.part];
}

double service_objective_attainment(const struct digest *d, struct metric_at at)
{
    const struct slo_totals *t = &results_of(d, at.entity)->slo;
    return share(t->requests - t->late[at.part], t->requests);
}

double service_burn_rate(const struct digest *d, struct metric_at at)
{
    const struct service_results *r = results_of(d, at.entity);
    return r->slo.requests ? r->burn_rate_max[at.part] : NAN;
}

double service_budget_left(const struct digest *d, struct metric_at at)
{
    const struct slo_totals *t = &results_of(d, at.entity)->slo;
    double budget = (1 - plan_of(d, at.entity)->slo.target) * (double)t->requests;
    return budget > 0 ? 1 - (double)t->late[at.part] / budget : NAN;
}

double service_threshold(const struct digest *d, struct metric_at at)
{
    return sim_time_to_s(plan_of(d, at.entity)->slo.objectives[at.part].threshold_ns);
}

double service_percentile(const struct digest *d, struct metric_at at)
{
    return plan_of(d, at.entity)->slo.objectives[at.part].percentile_ppm / 1e6;
}

double service_objective_metric(const struct digest *d, struct metric_at at)
{
    return (double)plan_of(d, at.entity)->slo.objectives[at.part].metric;
}

/* ---- latency ---- */

double latency_quantile(const struct digest *d, struct metric_at at)
{
    const struct hist *h = &results_of(d, at.entity)->hists[at.arg / 100];
    return h->n ? sim_time_to_s(hist_quantile(h, at.arg % 100 / 100.0)) : NAN;
}

double latency_mean(const struct digest *d, struct metric_at at)
{
    const struct hist *h = &results_of(d, at.entity)->hists[at.arg / 100];
    return h->n ? hist_mean(h) / 1e9 : NAN;
}

double latency_max(const struct digest *d, struct metric_at at)
{
    const struct hist *h = &results_of(d, at.entity)->hists[at.arg / 100];
    return h->n ? sim_time_to_s(h->max) : NAN;
}

/* ---- replicas ---- */

double service_batch_fill(const struct digest *d, struct metric_at at)
{
    return results_of(d, at.entity)->totals.batch_fill;
}

double service_in_flight(const struct digest *d, struct metric_at at)
{
    return (double)results_of(d, at.entity)->totals.in_flight_ns / 1e9 / d->measured_s;
}

double service_gpus_mean(const struct digest *d, struct metric_at at)
{
    u128 owned = capacity_ns(d, at.entity + 1, at.entity + 2, STATES_ALL);
    return (double)owned / 1e9 / d->measured_s;
}

double service_token_cost(const struct digest *d, struct metric_at at)
{
    uint64_t tokens = results_of(d, at.entity)->totals.output_tokens;
    double usd = capacity_usd(d, at.entity + 1, at.entity + 2, STATES_ALL);
    return tokens ? usd / ((double)tokens / 1e6) : NAN;
}

double service_replica_gpus(const struct digest *d, struct metric_at at)
{
    return plan_replica_gpus(d->plan, plan_of(d, at.entity));
}

double service_target(const struct digest *d, struct metric_at at)
{
    return plan_of(d, at.entity)->slo.target;
}

double service_ramp(const struct digest *d, struct metric_at at)
{
    const struct ramp_facts *f = &d->ramps[at.entity];
    switch ((enum ramp_fact)at.arg) {
    case RAMP_PEAK:
        return f->peak_gpus;
    case RAMP_MEAN:
        return f->mean_gpus;
    case RAMP_BUFFER:
        return f->buffer_gpus;
    case RAMP_LIMIT:
        return f->limit_gpus;
    case RAMP_HELD:
        return f->held_gpus;
    case RAMP_RESPONSE:
        return f->response_s;
    case RAMP_RISE:
        return f->rise_gpus;
    case RAMP_RECLAIMS:
        return f->n_reclaims;
    case RAMP_SHORT:
        return f->short_gpus;
    case RAMP_SHORT_MIN:
        return f->short_min;
    case RAMP_SAFE_BUFFER:
        return f->safe_buffer_gpus;
    case RAMP_SAFE_RECLAIM:
        return f->safe_reclaim_s;
    }
    return NAN;
}
