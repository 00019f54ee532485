/* Dollars by owner, and the figures of one pool.
 *
 * Every GPU-hour of a pool costs that pool's price, whoever holds it and whatever it does; absent
 * ones cost nothing. So the accounts of all owners add up to the whole cost, and a claimant that
 * spans pools pays the mean of their prices, weighted by its GPU-hours. */
#include "analysis/metrics_internal.h"

#include <math.h>

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static double owner_usd(const struct digest *d, uint32_t owner)
{
    return capacity_usd(d, owner, owner + 1, STATES_ALL);
}

static double owner_h(const struct digest *d, uint32_t owner, uint32_t states)
{
    return capacity_hours(d, capacity_ns(d, owner, owner + 1, states));
}

double cost_account(const struct digest *d, struct metric_at at)
{
    return capacity_usd(d, at.entity, at.entity + 1, UINT32_C(1) << at.part);
}

double cost_owner(const struct digest *d, struct metric_at at)
{
    return owner_usd(d, at.entity);
}

double cost_owner_useful(const struct digest *d, struct metric_at at)
{
    return ratio(owner_usd(d, at.entity), owner_h(d, at.entity, STATES_USEFUL));
}

double cost_owner_price(const struct digest *d, struct metric_at at)
{
    return ratio(owner_usd(d, at.entity), owner_h(d, at.entity, STATES_SUPPLIED));
}

double cost_price(const struct digest *d, struct metric_at at)
{
    return ratio(capacity_cost(d, at), capacity_hours(d, capacity_supplied_ns(d)));
}

double owner_frac(const struct digest *d, struct metric_at at)
{
    return capacity_ratio(capacity_ns(d, at.entity, at.entity + 1, STATES_SUPPLIED),
                          capacity_supplied_ns(d));
}

/* ---- pools ---- */

static u128 pool_ns(const struct digest *d, uint32_t pool, uint32_t states)
{
    return capacity_pool_ns(d, pool, 0, d->results->n_owners, states);
}

static double pool_usd(const struct digest *d, uint32_t pool)
{
    return capacity_pool_usd(d, pool, 0, d->results->n_owners, STATES_ALL);
}

double pool_gpus(const struct digest *d, struct metric_at at)
{
    return fleet_plan_gpus(&d->plan->pools[at.entity]);
}

double pool_states_h(const struct digest *d, struct metric_at at)
{
    return capacity_hours(d, pool_ns(d, at.entity, at.arg));
}

double pool_cost(const struct digest *d, struct metric_at at)
{
    return pool_usd(d, at.entity);
}

double pool_price(const struct digest *d, struct metric_at at)
{
    return ratio(pool_usd(d, at.entity), capacity_hours(d, pool_ns(d, at.entity, STATES_SUPPLIED)));
}

double pool_useful_cost(const struct digest *d, struct metric_at at)
{
    return ratio(pool_usd(d, at.entity), capacity_hours(d, pool_ns(d, at.entity, STATES_USEFUL)));
}

double pool_utilization(const struct digest *d, struct metric_at at)
{
    return capacity_ratio(pool_ns(d, at.entity, STATES_USEFUL),
                          pool_ns(d, at.entity, STATES_SUPPLIED));
}
