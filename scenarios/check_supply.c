/* Checks of the fleet: its nodes, pools, supply, failures and maintenance. */
#include "models/capacity/fleet.h"
#include "models/hardware/catalogue.h"
#include "scenarios/check_topology.h"
#include "scenarios/power.h"
#include "scenarios/sharing.h"

#include <math.h>
#include <string.h>

enum { MOST_GPUS = 1000000 };

/* ---- supply ---- */

/* A key that another supply would read. */
static void check_kind(const struct check *c, const struct pool_view *v, const char *key,
                       enum supply_kind kind)
{
    if (node_get(v->at, key) && v->supply->kind != (int)kind)
        check_say(c, DIAG_ERROR, v->at, key, NULL, "%s is for `supply: %s`", key,
                  supply_kind_names[kind]);
}

static void check_record(const struct check *c, const struct record_spec *r)
{
    if (r->at)
        check_file(c, r->at, r->file);
}

static void check_spot(const struct check *c, const struct spot_spec *s)
{
    static const char *const drawn[] = {"life", "rate", "absence", "shocks"};
    check_duration(c, &s->absence);
    check_record(c, &s->trace);
    if (!s->at)
        return;
    for (size_t i = 0; i < SPEC_COUNT(drawn) && s->trace.at; i++)
        if (node_get(s->at, drawn[i]))
            check_say(c, DIAG_ERROR, s->at, drawn[i], NULL,
                      "%s has no meaning with a trace, which has the losses and returns", drawn[i]);
    if (!isnan(s->life_s) && !isnan(s->rate_per_s))
        check_say(c, DIAG_ERROR, s->at, "rate", NULL, "life and rate exclude each other");
}

static void check_failures(const struct check *c, const struct failures_spec *f)
{
    static const char *const drawn[] = {"per_1000_node_days", "infant",      "wear_out",    "age",
                                        "repair_reboot",      "repair_part", "reboot_share"};
    check_duration(c, &f->repair_reboot);
    check_duration(c, &f->repair_part);
    check_record(c, &f->trace);
    for (size_t i = 0; i < SPEC_COUNT(drawn) && f->trace.at; i++)
        if (node_get(f->at, drawn[i]))
            check_say(c, DIAG_ERROR, f->at, drawn[i], NULL,
                      "%s has no meaning with a trace, which has the failures and repairs",
                      drawn[i]);
}

static void check_maintenance(const struct check *c, const struct maintenance_spec *m)
{
    check_duration(c, &m->work);
    if (m->nodes != FIELD_NO_WHOLE && !isnan(m->share))
        check_say(c, DIAG_ERROR, m->at, "share", NULL, "nodes and share exclude each other");
    if (node_get(m->at, "drain_limit") && m->wait == ROLL_WAIT_NONE)
        check_say(c, DIAG_ERROR, m->at, "drain_limit", NULL,
                  "drain_limit changes nothing with `wait: none`");
}

static void check_supply(const struct check *c, const struct pool_view *v)
{
    const struct supply_spec *s = v->supply;
    check_kind(c, v, "on_demand", SUPPLY_ON_DEMAND);
    check_kind(c, v, "spot", SUPPLY_SPOT);
    check_duration(c, &s->on_demand.provision);
    check_spot(c, &s->spot);
    check_failures(c, &s->failures);
    check_record(c, &s->price_trace);
    if (s->on_demand.at && v->nodes && s->on_demand.initial > v->nodes)
        check_say(c, DIAG_ERROR, s->on_demand.at, "initial", NULL,
                  "initial: more than the %llu nodes of the pool", (unsigned long long)v->nodes);
    if (node_get(v->at, "price") && s->price_trace.at)
        check_say(c, DIAG_ERROR, v->at, "price_trace", NULL,
                  "price and price_trace exclude each other");
    if (v->nodes && v->spares >= v->nodes)
        check_say(c, DIAG_ERROR, v->at, "spares", NULL,
                  "spares: %llu of %llu nodes would be spares, none is left to work",
                  (unsigned long long)v->spares, (unsigned long long)v->nodes);
    const struct maintenance_spec *m = s->maintenance.items;
    for (size_t i = 0; i < s->maintenance.n; i++)
        check_maintenance(c, &m[i]);
}

/* ---- the fleet ---- */

/* The GPU that a fleet, a pool or a group names is one of the catalogue or of `hardware`. */
static void check_gpu_name(const struct check *c, const void *at, const char *gpu)
{
    if (gpu && !gpu_type_find(c->hardware, gpu))
        check_say(c, DIAG_ERROR, at, "gpu", gpu_type_nearest(c->hardware, gpu),
                  "gpu: there is no type of GPU '%.60s': `headroom list --hardware` prints them, "
                  "your own go into `hardware`",
                  gpu);
}

static void check_gpu_names(const struct check *c, const struct fleet_spec *f)
{
    const struct group_spec *groups = f->groups.items;
    const struct pool_spec *pools = f->pools.items;
    if (f->groups.n == 0 && f->pools.n == 0)
        check_gpu_name(c, f->at, f->gpu);
    for (size_t i = 0; i < f->groups.n; i++)
        check_gpu_name(c, groups[i].at, groups[i].gpu);
    for (size_t i = 0; i < f->pools.n; i++)
        check_gpu_name(c, pools[i].at, pools[i].gpu);
}

/* Keys of the fleet that are each pool's own where there are pools. */
static void check_with_pools(const struct check *c, const struct fleet_spec *f)
{
    static const char *const own[] = {"nodes",  "gpus_per_node", "gpu",  "groups",     "price",
                                      "supply", "on_demand",     "spot", "price_trace"};
    for (size_t i = 0; i < SPEC_COUNT(own); i++)
        if (node_get(f->at, own[i]))
            check_say(c, DIAG_ERROR, f->at, own[i], NULL, "%s: with pools, each has its own",
                      own[i]);
    const struct maintenance_spec *m = f->supply.maintenance.items;
    check_failures(c, &f->supply.failures);
    for (size_t i = 0; i < f->supply.maintenance.n; i++)
        check_maintenance(c, &m[i]);
}

void check_fleet(const struct check *c)
{
    const struct fleet_spec *f = &c->spec->fleet;
    if (!f->at)
        return; /* said: it is required */
    bool pools = node_get(f->at, "pools") != NULL;
    if (pools)
        check_with_pools(c, f);
    else if (f->groups.at && f->nodes != FIELD_NO_WHOLE)
        check_say(c, DIAG_ERROR, f->at, "nodes", NULL, "nodes and groups exclude each other");
    else if (c->fleet_gpus == 0 && !node_get(f->at, "nodes"))
        check_say(c, DIAG_ERROR, f->at, NULL, NULL, "the fleet needs nodes, or groups of them");
    if (c->fleet_gpus > MOST_GPUS)
        check_say(c, DIAG_ERROR, f->at, pools ? "pools" : "nodes", NULL,
                  "more than 1,000,000 GPUs");
    check_gpu_names(c, f);
    for (size_t i = 0; i < pools_count(c) && (!pools || f->pools.n); i++) {
        const struct pool_view v = pools_view(c, i);
        check_supply(c, &v);
        check_topology(c, &v);
        sharing_check(c, &v);
        check_power(c, i, &v);
    }
}

void check_pools(const struct check *c, const void *at, const struct field_list *named)
{
    const struct field_list *pools = &c->spec->fleet.pools;
    const char *const *names = named->items;
    if (named->at && pools->n == 0) {
        check_say(c, DIAG_ERROR, at, "pools", NULL, "pools: the fleet has none to choose from");
        return;
    }
    for (size_t i = 0; i < named->n; i++) {
        size_t found = 0;
        while (names[i] && found < pools->n && strcmp(names[i], pools->names[found]) != 0)
            found++;
        if (names[i] && found == pools->n)
            node_say(named->where[i], c->diags, DIAG_ERROR,
                     diag_nearest(names[i], pools->names, pools->n), "pools: no pool '%.60s'",
                     names[i]);
        for (size_t j = 0; j < i && names[i]; j++)
            if (names[j] && strcmp(names[i], names[j]) == 0)
                node_say(named->where[i], c->diags, DIAG_ERROR, NULL,
                         "pools: '%.60s' is there twice", names[i]);
    }
}
