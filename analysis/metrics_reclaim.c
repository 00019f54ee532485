/* Figures of the reclaims: how long, which stage binds, how many GPUs went for how many asked.
 *
 * A reclaim runs from the decision to ready; one that never became ready counts in `reclaims` and
 * in the GPU counts, not in the times. Detection comes before the decision and is reported apart,
 * so it cannot be the binding stage: that is the stage with the largest total time. */
#include "analysis/metrics_internal.h"

#include <math.h>

double reclaim_count(const struct digest *d, struct metric_at at)
{
    (void)at;
    return (double)d->results->n_reclaims;
}

double reclaim_ready(const struct digest *d, struct metric_at at)
{
    (void)at;
    return (double)d->reclaims.n;
}

double reclaim_mean(const struct digest *d, struct metric_at at)
{
    (void)at;
    return durations_mean_s(&d->reclaims);
}

double reclaim_quantile(const struct digest *d, struct metric_at at)
{
    return durations_quantile_s(&d->reclaims, at.arg / 100.0);
}

double reclaim_stage_mean(const struct digest *d, struct metric_at at)
{
    return d->reclaims.n ? (double)d->stage_ns[at.part] / 1e9 / (double)d->reclaims.n : NAN;
}

static u128 after_decision_ns(const struct digest *d)
{
    u128 sum = 0;
    for (int s = STAGE_DETECT + 1; s < STAGES; s++)
        sum += d->stage_ns[s];
    return sum;
}

double reclaim_stage_frac(const struct digest *d, struct metric_at at)
{
    return at.part == STAGE_DETECT ? NAN
                                   : capacity_ratio(d->stage_ns[at.part], after_decision_ns(d));
}

double reclaim_binding(const struct digest *d, struct metric_at at)
{
    (void)at;
    if (after_decision_ns(d) == 0)
        return NAN;
    int binding = STAGE_DETECT + 1;
    for (int s = binding + 1; s < STAGES; s++)
        if (d->stage_ns[s] > d->stage_ns[binding])
            binding = s;
    return binding;
}

double reclaim_detect(const struct digest *d, struct metric_at at)
{
    (void)at;
    return reclaim_stage_mean(d, (struct metric_at){.part = STAGE_DETECT});
}

double reclaim_evicted(const struct digest *d, struct metric_at at)
{
    (void)at;
    return results_gpus(d->results, (double)d->shares_evicted);
}

double reclaim_asked(const struct digest *d, struct metric_at at)
{
    (void)at;
    return results_gpus(d->results, (double)d->shares_missing);
}

double reclaim_over(const struct digest *d, struct metric_at at)
{
    (void)at;
    return capacity_ratio(d->shares_evicted, d->shares_missing);
}

double reclaim_victims(const struct digest *d, struct metric_at at)
{
    (void)at;
    return (double)d->victims;
}

double reclaim_churn(const struct digest *d, struct metric_at at)
{
    uint64_t evictions = 0, reclaims = 0, moves = 0, spared = 0;
    for (uint32_t p = 0; p < d->results->n_pools; p++) {
        const struct fleet_churn *c = &d->results->pools[p].churn;
        evictions += c->evictions;
        reclaims += c->reclaims;
        moves += c->moves;
        spared += c->spared;
    }
    if (at.arg == CHURN_PER_RECLAIM)
        return reclaims ? (double)evictions / (double)reclaims : NAN;
    return (double)(at.arg == CHURN_MOVES ? moves : spared);
}
