/* Power and energy: GPU time of each state x what a GPU's part of a node draws in it
 * (models/hardware/power.h). Where a pool has several groups of nodes, their mean: the ledger does
 * not know on which node a GPU is. Under a limit that slows GPUs down they draw what it leaves
 * them. */
#include "analysis/metrics_internal.h"

#include <math.h>

static const double kilo = 1000, s_per_hour = 3600;

/* Kilowatts of one GPU of a pool in a state; NaN: not known. */
static double gpu_kw(const struct fleet_plan *p, enum gpu_state s)
{
    const struct rack_plan *r = &p->racks;
    double sum_w = 0, gpus = 0;
    for (size_t g = 0; r->power && g < p->n_groups; g++) {
        double n = (double)p->groups[g].nodes * p->groups[g].gpus_per_node;
        double left = r->slow ? power_left_frac(&r->power[g], r->nodes, r->limit_w) : 1;
        sum_w += n * power_gpu_w(&r->power[g], s, left);
        gpus += n;
    }
    return r->power ? sum_w / gpus / kilo : NAN;
}

static double state_kwh(const struct digest *d, enum gpu_state s)
{
    double sum = 0;
    for (uint32_t p = 0; p < d->plan->n_pools; p++) {
        u128 ns = capacity_pool_ns(d, p, 0, d->results->n_owners, UINT32_C(1) << s);
        sum += capacity_hours(d, ns) * gpu_kw(&d->plan->pools[p], s);
    }
    return sum;
}

double power_state_energy(const struct digest *d, struct metric_at at)
{
    return state_kwh(d, (enum gpu_state)at.part);
}

double power_energy(const struct digest *d, struct metric_at at)
{
    double sum = 0;
    (void)at;
    for (unsigned s = 0; s < GPU_STATES; s++)
        sum += state_kwh(d, (enum gpu_state)s);
    return sum;
}

double power_mean(const struct digest *d, struct metric_at at)
{
    return power_energy(d, at) / (d->measured_s / s_per_hour);
}

/* Kilowatt-nanoseconds of one window. */
static double window_kw_ns(const struct digest *d, const double kw[POOLS_MAX][GPU_STATES], size_t w)
{
    const struct run_results *r = d->results;
    size_t accounts = (size_t)r->n_owners * GPU_STATES;
    double sum = 0;
    for (uint32_t p = 0; p < d->plan->n_pools; p++) {
        const uint64_t *at = (r->n_pools ? r->pools[p].timeline : r->timeline) + w * accounts;
        for (size_t a = 0; a < accounts; a++)
            sum += (double)at[a] * kw[p][a % GPU_STATES];
    }
    return sum;
}

double power_peak(const struct digest *d, struct metric_at at)
{
    const struct run_results *r = d->results;
    double kw[POOLS_MAX][GPU_STATES], most = NAN;
    (void)at;
    for (uint32_t p = 0; p < d->plan->n_pools; p++)
        for (unsigned s = 0; s < GPU_STATES; s++)
            kw[p][s] = gpu_kw(&d->plan->pools[p], (enum gpu_state)s);
    for (uint32_t p = 0; p < d->plan->n_pools; p++)
        if (isnan(kw[p][GPU_FREE]))
            return NAN;
    for (size_t w = 0; w < r->n_timeline; w++) {
        simtime_ns begin = r->start_ns + w * r->timeline_ns, left = r->end_ns - begin;
        simtime_ns length = left < r->timeline_ns ? left : r->timeline_ns;
        double kw_ns = window_kw_ns(d, (const double(*)[GPU_STATES])kw, w);
        double mean = results_gpus(r, kw_ns) / (double)length;
        most = mean > most || isnan(most) ? mean : most;
    }
    return most;
}

double power_speed_mean(const struct digest *d, struct metric_at at)
{
    double sum = 0, gpus = 0;
    bool slow = false;
    (void)at;
    for (size_t i = 0; i < d->plan->n_pools; i++) {
        const struct fleet_plan *p = &d->plan->pools[i];
        slow = slow || p->racks.slow;
        for (size_t g = 0; g < p->n_groups; g++) {
            double n = (double)p->groups[g].nodes * p->groups[g].gpus_per_node;
            gpus += n;
            sum += p->racks.slow
                       ? n * power_speed(&p->racks.power[g], p->racks.nodes, p->racks.limit_w)
                       : n;
        }
    }
    return slow ? sum / gpus : NAN;
}
