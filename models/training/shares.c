/* What each tenant has used: usage that fades by ticks, settled when it is asked for. */
#include "models/training/shares.h"

#include <math.h>
#include <stdlib.h>

enum hr_err shares_init(struct shares *s, size_t n_tenants, size_t n_pools, simtime_ns half_life_ns)
{
    *s = (struct shares){.half_life_ns = half_life_ns, .n_pools = n_pools, .n_tenants = n_tenants};
    s->factor = half_life_ns == SIM_NEVER || half_life_ns == 0
                    ? 1
                    : pow(2, -(double)SHARES_TICK / (double)half_life_ns);
    s->tenants = calloc(n_tenants + 1, sizeof *s->tenants);
    return s->tenants ? HR_OK : HR_NOMEM;
}

void shares_fini(struct shares *s)
{
    free(s->tenants);
    *s = (struct shares){0};
}

static double power(double base, uint64_t n)
{
    double result = 1;
    for (; n > 0; n >>= 1, base *= base)
        if (n & 1)
            result *= base;
    return result;
}

/* The same over at least one tick. */
static double fade_ticks(double used, double gpus, double factor, simtime_ns from, simtime_ns now)
{
    uint64_t ticks = now / SHARES_TICK - from / SHARES_TICK;
    simtime_ns first = (from / SHARES_TICK + 1) * SHARES_TICK;
    used = (used + gpus * sim_time_to_s(first - from)) * factor;
    double whole = power(factor, ticks - 1), tick = gpus * sim_time_to_s(SHARES_TICK);
    double added =
        factor < 1 ? tick * factor * (1 - whole) / (1 - factor) : tick * (double)(ticks - 1);
    return used * whole + added + gpus * sim_time_to_s(now % SHARES_TICK);
}

/* Usage at now of so much at `from`, with so many GPUs held between. */
static double fade(double used, double gpus, double factor, simtime_ns from, simtime_ns now)
{
    if (now / SHARES_TICK == from / SHARES_TICK)
        return used + gpus * sim_time_to_s(now - from);
    return fade_ticks(used, gpus, factor, from, now);
}

static void settle(struct shares *s, struct tenant_usage *u, simtime_ns now)
{
    if (u->at_ns == now)
        return;
    for (size_t p = 0; p < s->n_pools; p++)
        u->used[p] = fade(u->used[p], u->gpus[p], s->factor, u->at_ns, now);
    u->at_ns = now;
}

void shares_change(struct shares *s, size_t tenant, uint32_t pool, int64_t gpus, simtime_ns now)
{
    struct tenant_usage *u = &s->tenants[tenant];
    settle(s, u, now);
    u->gpus[pool] = (uint32_t)((int64_t)u->gpus[pool] + gpus);
}

double shares_of(struct shares *s, size_t tenant, simtime_ns now)
{
    struct tenant_usage *u = &s->tenants[tenant];
    double largest = 0;
    if (s->half_life_ns > 0)
        settle(s, u, now);
    for (size_t p = 0; p < s->n_pools; p++) {
        double usage = s->half_life_ns > 0 ? u->used[p] : u->gpus[p];
        double share = usage / s->pool_gpus[p];
        largest = share > largest ? share : largest;
    }
    return largest / (u->weight > 0 ? u->weight : 1);
}
