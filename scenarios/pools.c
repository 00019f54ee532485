/* The pools of a fleet and the quota of a claimant in each. */
#include "scenarios/pools.h"

#include "scenarios/sharing.h"

#include <math.h>
#include <string.h>

/* Prices of a GPU-hour by supply: facts h100_reserved_1y_usd_gpu_h,
 * h100_on_demand_specialty_usd_gpu_h, h100_spot_usd_gpu_h. */
static const double usual_price[SUPPLY_KINDS] = {2.35, 2.95, 1.60};

size_t pools_count(const struct check *c)
{
    return c->spec->fleet.pools.n ? c->spec->fleet.pools.n : 1;
}

static uint64_t spares(uint64_t own, uint64_t of_fleet)
{
    return own != FIELD_NO_WHOLE ? own : of_fleet != FIELD_NO_WHOLE ? of_fleet : 0;
}

static struct pool_view whole_fleet(const struct check *c)
{
    const struct fleet_spec *f = &c->spec->fleet;
    const struct group_spec *groups = f->groups.items;
    struct pool_view v = {.name = "fleet",
                          .at = f->at,
                          .nodes = f->nodes != FIELD_NO_WHOLE ? f->nodes : 0,
                          .gpus = c->fleet_gpus,
                          .price_usd_per_h = f->price_usd_per_h,
                          .supply = &f->supply,
                          .topology = &f->topology,
                          .power = &f->power,
                          .placement = (enum place_rule)f->placement,
                          .sharing = &f->sharing,
                          .gpu = f->groups.n ? groups[0].gpu : f->gpu,
                          .failures = &f->supply.failures,
                          .maintenance = &f->supply.maintenance,
                          .spares = spares(f->supply.spares, FIELD_NO_WHOLE)};
    for (size_t i = 0; i < f->groups.n; i++)
        v.nodes += groups[i].nodes != FIELD_NO_WHOLE ? groups[i].nodes : 0;
    return v;
}

struct pool_view pools_view(const struct check *c, size_t i)
{
    const struct fleet_spec *f = &c->spec->fleet;
    if (f->pools.n == 0)
        return whole_fleet(c);
    const struct pool_spec *p = (const struct pool_spec *)f->pools.items + i;
    bool own_failures = p->supply.failures.at, own_care = p->supply.maintenance.at;
    int kind = p->supply.kind != FIELD_NO_WORD ? p->supply.kind : SUPPLY_RESERVED;
    uint64_t nodes = p->nodes != FIELD_NO_WHOLE ? p->nodes : 0;
    return (struct pool_view){
        .name = f->pools.names[i],
        .at = p->at,
        .nodes = nodes,
        .gpus = nodes * p->gpus_per_node,
        .price_usd_per_h = isnan(p->price_usd_per_h) ? usual_price[kind] : p->price_usd_per_h,
        .supply = &p->supply,
        .sharing = p->sharing.at ? &p->sharing : &f->sharing,
        .gpu = p->gpu,
        .topology = p->topology.at ? &p->topology : &f->topology,
        .power = p->power.at ? &p->power : &f->power,
        .placement = (enum place_rule)(p->placement != FIELD_NO_WORD ? p->placement : f->placement),
        .failures = own_failures ? &p->supply.failures : &f->supply.failures,
        .maintenance = own_care ? &p->supply.maintenance : &f->supply.maintenance,
        .spares = spares(p->supply.spares, f->supply.spares)};
}

/* ---- which pools ---- */

static uint32_t add_kind(const struct check *c, enum supply_kind kind, uint32_t n,
                         struct pool_claim *out)
{
    for (uint32_t i = 0; i < pools_count(c) && n < POOLS_MAX; i++)
        if (pools_view(c, i).supply->kind == (int)kind)
            out[n++].pool = i;
    return n;
}

static uint32_t by_name(const struct check *c, const struct field_list *named,
                        struct pool_claim *out)
{
    const struct field_list *pools = &c->spec->fleet.pools;
    const char *const *names = named->items;
    uint32_t n = 0;
    for (size_t i = 0; i < named->n && n < POOLS_MAX; i++)
        for (uint32_t p = 0; p < pools->n; p++)
            if (names[i] && strcmp(names[i], pools->names[p]) == 0 && n < POOLS_MAX)
                out[n++].pool = p;
    return n;
}

static uint32_t choose(const struct check *c, const struct field_list *named,
                       enum pools_choice choice, struct pool_claim *out)
{
    uint32_t n = 0;
    if (named->n > 0 && c->spec->fleet.pools.n > 0)
        return by_name(c, named, out);
    switch (choice) {
    case POOLS_SERVICE:
        n = add_kind(c, SUPPLY_RESERVED, 0, out);
        return add_kind(c, SUPPLY_ON_DEMAND, n, out);
    case POOLS_TOLERANT:
        n = add_kind(c, SUPPLY_SPOT, 0, out);
        return add_kind(c, SUPPLY_RESERVED, n, out);
    case POOLS_FIRM:
        return add_kind(c, SUPPLY_RESERVED, 0, out);
    case POOLS_ALL:
        for (; n < pools_count(c) && n < POOLS_MAX; n++)
            out[n].pool = n;
    }
    return n;
}

/* From GPUs to what the pool counts. */
static void in_units(struct quota *q, uint32_t units)
{
    q->floor_gpus *= units;
    q->ceiling_gpus *= units;
    q->lend_gpus *= units;
}

/* Of the pools chosen, those of instances for a claimant of a slice, the others for the rest. */
static uint32_t suiting(const struct check *c, const char *slice, uint32_t n,
                        struct pool_claim *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (sharing_suits(c, out[i].pool, slice))
            out[kept++].pool = out[i].pool;
    return kept;
}

uint32_t pools_split(const struct check *c, const struct field_list *named, const char *slice,
                     enum pools_choice choice, const struct quota *whole, struct pool_claim *out)
{
    uint32_t n = suiting(c, slice, choose(c, named, choice, out), out), home = 0;
    while (home < n && pools_view(c, out[home].pool).supply->kind != SUPPLY_RESERVED)
        home++;
    home = home < n ? home : 0;
    uint64_t left = whole->ceiling_gpus - whole->floor_gpus;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t gpus = pools_view(c, out[i].pool).gpus;
        uint64_t floor = i == home ? whole->floor_gpus : 0;
        uint64_t beyond = gpus > floor ? gpus - floor : 0;
        beyond = beyond < left ? beyond : left;
        out[i].quota = *whole;
        out[i].quota.floor_gpus = (uint32_t)floor;
        out[i].quota.ceiling_gpus = (uint32_t)(floor + beyond);
        out[i].quota.lend_gpus = i == home ? whole->lend_gpus : 0;
        in_units(&out[i].quota, sharing_units(c, out[i].pool));
        left -= beyond;
    }
    return n;
}
