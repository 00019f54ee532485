/* Pools of a plan: nodes, supply, price, failures, maintenance. */
#include "scenarios/build.h"
#include "scenarios/moment.h"
#include "scenarios/pools.h"
#include "scenarios/power.h"
#include "scenarios/quotas.h"
#include "scenarios/sharing.h"
#include "traces/slurm_topology.h"

#include <math.h>

#define DEFAULT_LIFE_S (4 * 3600.0) /* fact spot_preempt_default_per_h: 0.25 */

/* ---- recordings ---- */

static enum hr_err record_format(const struct build *b, const struct record_spec *r,
                                 struct trace_spec *out)
{
    if (!r->format)
        return trace_format_by_header(out->path, b->check->diags, &out->format);
    out->format = trace_format_find(r->format);
    if (out->format)
        return HR_OK;
    check_say(b->check, DIAG_ERROR, r->at, "format", NULL, "format: there is no '%.60s'",
              r->format);
    return HR_INPUT;
}

static enum hr_err record_spec(const struct build *b, const struct record_spec *r,
                               struct trace_spec *out)
{
    const struct node *place = r->at;
    *out = (struct trace_spec){
        .path = check_path(b->check, r->file),
        .series = r->series,
        .place = {place->text->name, place->text->has_lines ? place->line : 0, place->column}};
    out->zone_declared = r->zone && trace_zone_parse(r->zone, &out->zone_s);
    return out->path ? record_format(b, r, out) : HR_NOMEM;
}

static enum hr_err read_nodes(const struct build *b, const struct record_spec *r,
                              const struct supply_trace **out)
{
    struct supply_trace *t = arena_alloc(b->check->arena, sizeof *t);
    struct trace_report report;
    struct trace_spec spec;
    if (!t)
        return HR_NOMEM;
    TRY(record_spec(b, r, &spec));
    TRY(trace_read_supply(b->check->arena, &spec, b->check->diags, t, &report));
    *out = t;
    return HR_OK;
}

static enum hr_err read_price(const struct build *b, const struct record_spec *r,
                              uint64_t gpus_per_node, const struct price_trace **out)
{
    struct price_trace *t = arena_alloc(b->check->arena, sizeof *t);
    struct trace_report report;
    struct trace_spec spec;
    if (!t)
        return HR_NOMEM;
    TRY(record_spec(b, r, &spec));
    spec.gpus_per_node = (uint32_t)gpus_per_node;
    TRY(trace_read_prices(b->check->arena, &spec, b->check->diags, t, &report));
    *out = t;
    return HR_OK;
}

/* ---- parts ---- */

static struct on_demand_plan build_on_demand(const struct on_demand_spec *s)
{
    bool never = s->idle_release.word != FIELD_NO_WORD;
    return (struct on_demand_plan){(uint32_t)s->initial, build_dist(&s->provision),
                                   never ? SIM_NEVER : sim_time_from_s(s->idle_release.number)};
}

static enum hr_err build_spot(const struct build *b, const struct spot_spec *s,
                              struct spot_plan *out)
{
    bool drawn = !s->trace.at;
    double life_s = !isnan(s->life_s)      ? s->life_s
                    : isnan(s->rate_per_s) ? DEFAULT_LIFE_S
                    : s->rate_per_s > 0    ? 1 / s->rate_per_s
                                           : 0;
    *out = (struct spot_plan){.life_s = drawn ? life_s : 0,
                              .notice_ns = sim_time_from_s(s->notice_s),
                              .absence = build_dist(&s->absence),
                              .shock_gap_s = s->shocks.at ? s->shocks.every_s : 0,
                              .shock_share = s->shocks.at ? s->shocks.share : 0,
                              .trace_loop = s->trace.loop};
    return drawn ? HR_OK : read_nodes(b, &s->trace, &out->trace);
}

/* Without failures repairs are still needed: upgrades can fail. */
static enum hr_err build_failures(const struct build *b, const struct failures_spec *s,
                                  struct failure_plan *out)
{
    bool drawn = s->at && !s->trace.at;
    *out = (struct failure_plan){.per_1000_node_days = drawn ? s->per_1000_node_days : 0,
                                 .age_s = s->age_s,
                                 .reboot_share = s->reboot_share,
                                 .repair_reboot = build_dist(&s->repair_reboot),
                                 .repair_part = build_dist(&s->repair_part),
                                 .trace_loop = s->trace.loop};
    if (drawn && s->infant.at) {
        out->infant_scale_s = s->infant.scale_s;
        out->infant_shape = s->infant.shape;
    }
    if (drawn && s->wear_out.at) {
        out->wear_out_scale_s = s->wear_out.scale_s;
        out->wear_out_shape = s->wear_out.shape;
    }
    return s->trace.at ? read_nodes(b, &s->trace, &out->trace) : HR_OK;
}

/* 0: a share. */
static uint32_t nodes_at_once(const struct maintenance_spec *s)
{
    if (!isnan(s->share))
        return 0;
    return s->nodes != FIELD_NO_WHOLE ? (uint32_t)s->nodes : 1;
}

static enum hr_err build_maintenance(const struct build *b, const struct field_list *l,
                                     struct supply_plan *out)
{
    const struct maintenance_spec *s = l->items;
    struct maintenance_plan *plans = arena_array(b->check->arena, l->n, sizeof *plans);
    if (!plans)
        return HR_NOMEM;
    for (size_t i = 0; i < l->n; i++)
        plans[i] = (struct maintenance_plan){
            .start_ns = sim_time_from_s(moment_since_start_s(s[i].start, b->check->day_s)),
            .every_ns = isnan(s[i].every_s) ? SIM_NEVER : sim_time_from_s(s[i].every_s),
            .nodes = nodes_at_once(&s[i]),
            .share = isnan(s[i].share) ? 0 : s[i].share,
            .work = build_dist(&s[i].work),
            .drain_limit_ns = sim_time_from_s(s[i].drain_limit_s),
            .wait = (enum roll_wait)s[i].wait,
            .order = (enum roll_order)s[i].order,
            .fail_share = s[i].fail_share,
        };
    out->maintenance = plans;
    out->n_maintenance = l->n;
    return HR_OK;
}

static enum hr_err build_supply(const struct build *b, const struct pool_view *v,
                                struct supply_plan *out)
{
    const struct supply_spec *s = v->supply;
    *out = (struct supply_plan){.kind = (enum supply_kind)s->kind, .spares = (uint32_t)v->spares};
    if (out->kind == SUPPLY_ON_DEMAND)
        out->on_demand = build_on_demand(&s->on_demand);
    if (out->kind == SUPPLY_SPOT)
        TRY(build_spot(b, &s->spot, &out->spot));
    TRY(build_failures(b, v->failures, &out->failure));
    if (s->price_trace.at)
        TRY(read_price(b, &s->price_trace, v->gpus / (v->nodes ? v->nodes : 1), &out->price));
    return build_maintenance(b, v->maintenance, out);
}

/* ---- pools ---- */

static enum hr_err build_groups(const struct build *b, const struct pool_view *v, size_t pool,
                                struct fleet_plan *out)
{
    const struct fleet_spec *f = &b->check->spec->fleet;
    const struct group_spec *from = f->groups.items;
    size_t n = f->groups.n ? f->groups.n : 1;
    struct node_group *groups = arena_array(b->check->arena, n, sizeof *groups);
    if (!groups)
        return HR_NOMEM;
    const struct pool_spec *own =
        f->pools.n ? (const struct pool_spec *)f->pools.items + pool : NULL;
    groups[0] = (struct node_group){v->name, own ? own->gpu : f->gpu, (uint32_t)v->nodes,
                                    (uint32_t)(own ? own->gpus_per_node : f->gpus_per_node)};
    for (size_t i = 0; i < f->groups.n; i++)
        groups[i] = (struct node_group){from[i].name, from[i].gpu, (uint32_t)from[i].nodes,
                                        (uint32_t)from[i].gpus_per_node};
    out->groups = groups;
    out->n_groups = n;
    return HR_OK;
}

/* Of a topology.conf, which must have the nodes of the pool. */
static enum hr_err read_fabric(const struct build *b, const struct pool_view *v, struct fabric *out)
{
    const struct topology_spec *t = v->topology;
    struct slurm_topology file;
    const char *path = check_path(b->check, t->file);
    if (!path)
        return HR_NOMEM;
    TRY(slurm_topology_read(path, &file, b->check->arena, b->check->diags));
    if (file.n_nodes != v->nodes) {
        check_say(b->check, DIAG_ERROR, t->at, "file", NULL,
                  "file: it has %u nodes, but there are %llu in %.60s", file.n_nodes,
                  (unsigned long long)v->nodes, v->name);
        return HR_INPUT;
    }
    if (t->domains && !file.blocks) {
        check_say(b->check, DIAG_ERROR, t->at, "domains", NULL,
                  "domains: the file is a tree of switches, which has no blocks");
        return HR_INPUT;
    }
    if (t->domains)
        *out = (struct fabric){.leaf_nodes = file.rack_nodes,
                               .n_leaves = file.n_racks,
                               .spine_leaves = file.leaf_racks,
                               .n_spines = file.n_leaves};
    else
        *out = (struct fabric){.leaf_nodes = file.leaf_nodes,
                               .n_leaves = file.n_leaves,
                               .spine_leaves = file.spine_leaves,
                               .n_spines = file.n_spines};
    return HR_OK;
}

/* So many of each, as given or the last with the rest; their number into n. HR_NOMEM. */
static enum hr_err divide(const struct build *b, uint64_t all, uint64_t each,
                          const struct field_list *given, const uint32_t **out, uint32_t *n)
{
    const uint64_t *items = given->items;
    uint64_t units = given->n ? given->n : (all + each - 1) / each;
    uint32_t *sizes = arena_array(b->check->arena, units, sizeof *sizes);
    if (!sizes)
        return HR_NOMEM;
    for (uint64_t i = 0; i < units; i++) {
        uint64_t rest = all - (given->n ? 0 : i * each);
        sizes[i] = (uint32_t)(given->n ? items[i] : rest < each ? rest : each);
    }
    *out = sizes;
    *n = (uint32_t)units;
    return HR_OK;
}

static enum hr_err build_fabric(const struct build *b, const struct pool_view *v,
                                struct fabric *out)
{
    const struct topology_spec *t = v->topology;
    if (!t->at)
        return HR_OK;
    if (t->file)
        return read_fabric(b, v, out);
    TRY(divide(b, v->nodes, t->leaf, &t->leaves, &out->leaf_nodes, &out->n_leaves));
    if (t->spine == FIELD_NO_WHOLE && t->spines.n == 0)
        return HR_OK;
    return divide(b, out->n_leaves, t->spine, &t->spines, &out->spine_leaves, &out->n_spines);
}

/* Cohorts are the same in every pool; GPUs of their own are in the first reserved one. */
static enum hr_err build_cohorts(const struct build *b, struct fleet_plan *pools, size_t n)
{
    const struct cohort *whole = b->cohorts->items;
    size_t n_cohorts = b->cohorts->n, home = 0;
    while (home < n && pools[home].supply.kind != SUPPLY_RESERVED)
        home++;
    home = home < n ? home : 0;
    for (size_t i = 0; i < n; i++) {
        struct cohort *own = arena_array(b->check->arena, n_cohorts, sizeof *own);
        if (!own)
            return HR_NOMEM;
        for (size_t j = 0; j < n_cohorts; j++) {
            own[j] = whole[j];
            own[j].floor_gpus = i == home ? own[j].floor_gpus : 0;
        }
        pools[i].cohorts = own;
        pools[i].n_cohorts = n_cohorts;
    }
    return HR_OK;
}

enum hr_err build_fleet(const struct build *b, struct plan *out)
{
    const struct reclaim_spec *r = &b->check->spec->reclaim;
    size_t n = pools_count(b->check);
    struct fleet_plan *pools = arena_array(b->check->arena, n, sizeof *pools);
    if (!pools)
        return HR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct pool_view v = pools_view(b->check, i);
        pools[i] = (struct fleet_plan){.name = v.name,
                                       .reclaim = {.victims = (enum victim_rule)r->victims,
                                                   .grace_ns = sim_time_from_s(r->grace_s),
                                                   .teardown = build_dist(&r->teardown),
                                                   .scrub = build_dist(&r->scrub),
                                                   .consolidate = r->consolidate,
                                                   .serial = r->concurrency == 1},
                                       .price_usd_per_gpu_h = v.price_usd_per_h,
                                       .place = v.placement};
        TRY(build_groups(b, &v, i, &pools[i]));
        TRY(build_fabric(b, &v, &pools[i].fabric));
        TRY(sharing_build(b->check, &v, &pools[i].sharing));
        TRY(build_power(b->check, i, &v, &pools[i].racks));
        TRY(build_supply(b, &v, &pools[i].supply));
    }
    out->pools = pools;
    out->n_pools = n;
    return build_cohorts(b, pools, n);
}
