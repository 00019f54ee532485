/* What each tenant of a queue has used, for fair share.
 *
 * A tenant's share is the largest, over the pools, of its usage there / the pool's GPUs (the
 * dominant share of A. Ghodsi et al., NSDI 2011, with pools as the resources), over its weight.
 * Usage is the GPUs its gangs hold at present (half-life 0), or GPU-time that fades: every five
 * minutes what has been used so far is multiplied by 2^(-5 min / half-life), as Slurm's multifactor
 * plugin does (PriorityCalcPeriod, PriorityDecayHalfLife). One pow at the start, then only products
 * and sums: no library function decides an order. */
#ifndef HEADROOM_MODELS_TRAINING_SHARES_H
#define HEADROOM_MODELS_TRAINING_SHARES_H

#include "models/capacity/fleet.h"

#define SHARES_TICK (5 * SIM_MIN)

struct tenant_usage {
    double weight;
    uint32_t gpus[POOLS_MAX]; /* held at present */
    double used[POOLS_MAX];   /* faded GPU-seconds up to at_ns */
    simtime_ns at_ns;
};

struct shares {
    simtime_ns half_life_ns;
    double factor; /* per tick */
    double pool_gpus[POOLS_MAX];
    size_t n_pools, n_tenants;
    struct tenant_usage *tenants; /* owned */
};

/* Pools and weights are set by the caller. half_life_ns: 0 present usage, SIM_NEVER nothing fades.
 */
enum hr_err shares_init(struct shares *s, size_t n_tenants, size_t n_pools,
                        simtime_ns half_life_ns);
void shares_fini(struct shares *s); /* accepts a zeroed struct */

/* A gang of a tenant begins (positive) or ends (negative) to hold GPUs. */
void shares_change(struct shares *s, size_t tenant, uint32_t pool, int64_t gpus, simtime_ns now);

double shares_of(struct shares *s, size_t tenant, simtime_ns now);

#endif
