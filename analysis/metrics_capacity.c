/* Figures read from the ledger: GPU-hours by state, utilization, allocation, goodput, cost.
 *
 * supplied = every state but absent; utilization = (serving + training) / supplied; allocation =
 * every owned state / supplied; training goodput = training / (training + checkpointing + restoring
 * + lost + draining) of the queues; cost per useful GPU-hour = price x supplied / (serving +
 * training). Sums are integers until the last division. */
#include "analysis/metrics_internal.h"

#include <math.h>

static const double ns_per_hour = 3.6e12;

u128 capacity_ns(const struct digest *d, uint32_t first, uint32_t end, uint32_t states)
{
    u128 sum = 0;
    for (uint32_t owner = first; owner < end; owner++)
        for (unsigned s = 0; s < GPU_STATES; s++)
            if (states >> s & 1)
                sum += d->results->ledger[results_account(owner, s)];
    return sum;
}

static u128 all_ns(const struct digest *d, uint32_t states)
{
    return capacity_ns(d, 0, d->results->n_owners, states);
}

/* Owners of services are 1 .. n_services, those of queues follow. */
static u128 services_ns(const struct digest *d, uint32_t states)
{
    return capacity_ns(d, 1, 1 + d->results->n_services, states);
}

u128 capacity_supplied_ns(const struct digest *d)
{
    return all_ns(d, STATES_ALL & ~STATE_BIT(ABSENT));
}

double capacity_time_hours(u128 ns)
{
    return (double)ns / ns_per_hour;
}

double capacity_hours(const struct digest *d, u128 share_ns)
{
    return results_gpus(d->results, (double)share_ns) / ns_per_hour;
}

double capacity_ratio(u128 part, u128 whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

double capacity_fleet_gpus(const struct digest *d, struct metric_at at)
{
    (void)at;
    return d->results->fleet_gpus;
}

double capacity_measured_s(const struct digest *d, struct metric_at at)
{
    (void)at;
    return d->measured_s;
}

double capacity_supplied_h(const struct digest *d, struct metric_at at)
{
    (void)at;
    return capacity_hours(d, capacity_supplied_ns(d));
}

double capacity_states_h(const struct digest *d, struct metric_at at)
{
    return capacity_hours(d, all_ns(d, at.arg));
}

double capacity_states_frac(const struct digest *d, struct metric_at at)
{
    return capacity_ratio(all_ns(d, at.arg), capacity_supplied_ns(d));
}

double capacity_state_h(const struct digest *d, struct metric_at at)
{
    return capacity_hours(d, all_ns(d, UINT32_C(1) << at.part));
}

double capacity_state_frac(const struct digest *d, struct metric_at at)
{
    return capacity_ratio(all_ns(d, UINT32_C(1) << at.part), all_ns(d, STATES_ALL));
}

double capacity_account_h(const struct digest *d, struct metric_at at)
{
    return capacity_hours(d, d->results->ledger[results_account(at.entity, at.part)]);
}

double capacity_account_frac(const struct digest *d, struct metric_at at)
{
    return capacity_ratio(d->results->ledger[results_account(at.entity, at.part)],
                          all_ns(d, STATES_ALL));
}

double capacity_allocation(const struct digest *d, struct metric_at at)
{
    (void)at;
    u128 owned = capacity_ns(d, 1, d->results->n_owners, STATES_ALL);
    return capacity_ratio(owned, capacity_supplied_ns(d));
}

/* arg 0: of the measured part, 1: of its worst window. */
double capacity_fragmented(const struct digest *d, struct metric_at at)
{
    const struct run_results *r = d->results;
    u128 free = 0, whole = 0;
    double most = NAN;
    for (size_t w = 0; w < r->n_timeline; w++) {
        const double here = results_fragmented(r, w);
        most = isnan(most) || here > most ? here : most;
        for (uint32_t p = 0; p < r->n_pools && r->pools[p].placeable; p++) {
            free += r->pools[p].placeable[w].gpu_ns[PLACEABLE_FREE];
            whole += r->pools[p].placeable[w].gpu_ns[PLACEABLE_WHOLE];
        }
    }
    return at.arg == 1 ? most : capacity_ratio(free - whole, free);
}

double capacity_serving_pool(const struct digest *d, struct metric_at at)
{
    (void)at;
    return capacity_ratio(services_ns(d, STATES_ALL), capacity_supplied_ns(d));
}

double capacity_spare(const struct digest *d, struct metric_at at)
{
    (void)at;
    return capacity_ratio(services_ns(d, STATE_BIT(HELD_IDLE)), capacity_supplied_ns(d));
}

double capacity_goodput(const struct digest *d, struct metric_at at)
{
    (void)at;
    uint32_t first = 1 + d->results->n_services, end = d->results->n_owners;
    return capacity_ratio(capacity_ns(d, first, end, STATE_BIT(TRAINING)),
                          capacity_ns(d, first, end, STATES_TRAINING_TIME));
}

/* The fleet's ledger stands for that of its one pool where a run has none apart. */
static const u128 *pool_ledger(const struct run_results *r, uint32_t pool)
{
    return r->n_pools ? r->pools[pool].ledger : r->ledger;
}

u128 capacity_pool_ns(const struct digest *d, uint32_t pool, uint32_t first, uint32_t end,
                      uint32_t states)
{
    const u128 *ledger = pool_ledger(d->results, pool);
    u128 sum = 0;
    for (uint32_t owner = first; owner < end; owner++)
        for (unsigned s = 0; s < GPU_STATES; s++)
            if (states >> s & 1)
                sum += ledger[results_account(owner, s)];
    return sum;
}

/* Under a price path the run has added up price times GPUs. */
static double followed_usd(const struct pool_results *r, uint32_t first, uint32_t end,
                           uint32_t states)
{
    double sum = 0;
    for (uint32_t owner = first; owner < end; owner++)
        for (unsigned s = 0; s < GPU_STATES; s++)
            if (states >> s & 1)
                sum += r->cost_usd[results_account(owner, s)];
    return sum;
}

double capacity_pool_usd(const struct digest *d, uint32_t pool, uint32_t first, uint32_t end,
                         uint32_t states)
{
    if (d->plan->pools[pool].supply.price && d->results->n_pools)
        return followed_usd(&d->results->pools[pool], first, end, states & STATES_SUPPLIED);
    u128 ns = capacity_pool_ns(d, pool, first, end, states & STATES_SUPPLIED);
    double price = d->plan->pools[pool].price_usd_per_gpu_h;
    return price > 0 ? price * capacity_hours(d, ns) : ns ? NAN : 0;
}

double capacity_usd(const struct digest *d, uint32_t first, uint32_t end, uint32_t states)
{
    double sum = 0;
    for (uint32_t p = 0; p < d->plan->n_pools; p++)
        sum += capacity_pool_usd(d, p, first, end, states);
    return sum;
}

double capacity_cost(const struct digest *d, struct metric_at at)
{
    (void)at;
    return capacity_usd(d, 0, d->results->n_owners, STATES_ALL);
}

double capacity_useful_cost(const struct digest *d, struct metric_at at)
{
    u128 useful = all_ns(d, STATES_USEFUL);
    return useful ? capacity_cost(d, at) / capacity_hours(d, useful) : NAN;
}

double capacity_slices(const struct digest *d, struct metric_at at)
{
    double relayouts = 0, larger = 0, beyond_ns = 0;
    for (uint32_t p = 0; p < d->results->n_pools; p++) {
        const struct fleet_churn *c = &d->results->pools[p].churn;
        relayouts += (double)c->relayouts;
        larger += (double)c->larger;
        beyond_ns += (double)c->beyond_ns / fleet_plan_units_per_gpu(&d->plan->pools[p]);
    }
    if (at.arg == SLICES_BEYOND)
        return beyond_ns / ns_per_hour;
    return at.arg == SLICES_LARGER ? larger : relayouts;
}
