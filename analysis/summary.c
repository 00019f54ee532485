/* Labels and layout of the summary, and its values from a run. */
#include "analysis/summary.h"

#include "analysis/provenance.h"

#include "sim/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- axes ---- */

/* How many of a kind a plan has. */
static size_t count_of(const struct plan *p, enum axis axis)
{
    switch (axis) {
    case AXIS_SERVICE:
        return p->n_services;
    case AXIS_QUEUE:
        return p->n_queues;
    case AXIS_TENANT:
        return plan_claimants(p) - p->n_services;
    case AXIS_POOL:
        return p->n_pools;
    default:
        return 0;
    }
}

static const char *name_of(const struct plan *p, enum axis axis, uint32_t i)
{
    switch (axis) {
    case AXIS_SERVICE:
        return p->services[i].name;
    case AXIS_QUEUE:
        return p->queues[i].name;
    case AXIS_TENANT:
        return plan_claimant_name(p, (uint32_t)p->n_services + i);
    default:
        return p->pools[i].name ? p->pools[i].name : "";
    }
}

static uint32_t find_name(const char *const *names, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return n;
}

/* The union of names over the columns, in order of first appearance. */
static enum hr_err union_axis(struct summary *s, enum axis axis,
                              const struct summary_source *columns)
{
    size_t most = 0;
    for (uint32_t c = 0; c < s->n_columns; c++)
        most += count_of(columns[c].plan, axis);
    const char **names = arena_array(&s->arena, most + 1, sizeof *names);
    if (!names)
        return HR_NOMEM;
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (uint32_t i = 0; i < count_of(columns[c].plan, axis); i++) {
            const char *name = name_of(columns[c].plan, axis, i);
            if (find_name(names, n, name) < n)
                continue;
            names[n] = arena_strdup(&s->arena, name);
            if (!names[n++])
                return HR_NOMEM;
        }
    s->names[axis] = names;
    s->n[axis] = n;
    return HR_OK;
}

/* Each queue has one tenant, of its own name: an axis of tenants would repeat that of queues. */
static bool tenants_are_queues(const struct plan *p)
{
    for (size_t i = 0; i < p->n_queues; i++)
        if (queue_tenants(&p->queues[i]) != 1 ||
            strcmp(p->queues[i].tenant.name, p->queues[i].name) != 0)
            return false;
    return true;
}

/* Nodes of it come and go, or their price does. */
static bool changes(const struct supply_plan *s)
{
    const struct failure_plan *f = &s->failure;
    return s->kind != SUPPLY_RESERVED || s->price || f->per_1000_node_days > 0 ||
           f->infant_scale_s > 0 || f->wear_out_scale_s > 0 || f->trace || s->spares ||
           s->n_maintenance > 0;
}

/* Tenants and pools, where they say more than the queues and the fleet do. */
static enum hr_err further_axes(struct summary *s, const struct summary_source *columns)
{
    bool tenants = false, pools = false;
    for (uint32_t c = 0; c < s->n_columns; c++) {
        tenants = tenants || !tenants_are_queues(columns[c].plan);
        pools = pools || columns[c].plan->n_pools > 1;
        for (size_t i = 0; i < columns[c].plan->n_pools; i++)
            pools = pools || changes(&columns[c].plan->pools[i].supply);
    }
    if (tenants)
        TRY(union_axis(s, AXIS_TENANT, columns));
    return pools ? union_axis(s, AXIS_POOL, columns) : HR_OK;
}

/* The axis of the claimants that are no service. */
static enum axis training_axis(const struct summary *s)
{
    return s->n[AXIS_TENANT] ? AXIS_TENANT : AXIS_QUEUE;
}

static enum hr_err owner_axis(struct summary *s)
{
    enum axis training = training_axis(s);
    uint32_t services = s->n[AXIS_SERVICE], tenants = s->n[training];
    const char **names = arena_array(&s->arena, 1 + (size_t)services + tenants, sizeof *names);
    if (!names)
        return HR_NOMEM;
    names[0] = "nobody";
    for (uint32_t i = 0; i < services; i++)
        names[1 + i] = s->names[AXIS_SERVICE][i];
    for (uint32_t i = 0; i < tenants; i++)
        names[1 + services + i] = s->names[training][i];
    s->names[AXIS_OWNER] = names;
    s->n[AXIS_OWNER] = 1 + services + tenants;
    return HR_OK;
}

static void percentile_text(double percentile, char *out, size_t size)
{
    snprintf(out, size, "p%.6g", percentile * 100);
}

/* One name for objective i of every service, "ttft_p99"; where services differ, "objective_1". */
static const char *objective_label(struct summary *s, const struct summary_source *columns,
                                   uint32_t i, const char *const *taken)
{
    const struct slo_objective *first = NULL;
    bool same = true;
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (size_t k = 0; k < columns[c].plan->n_services; k++) {
            const struct slo_plan *slo = &columns[c].plan->services[k].slo;
            if (i >= slo->n_objectives)
                continue;
            const struct slo_objective *o = &slo->objectives[i];
            same = same && (!first || (o->metric == first->metric &&
                                       o->percentile_ppm == first->percentile_ppm));
            first = o;
        }
    char label[64], percentile[32];
    percentile_text(first->percentile_ppm / 1e6, percentile, sizeof percentile);
    snprintf(label, sizeof label, "%s_%s", slo_metric_names[first->metric], percentile);
    if (!same || find_name(taken, i, label) < i)
        snprintf(label, sizeof label, "objective_%u", i + 1);
    return arena_strdup(&s->arena, label);
}

static enum hr_err objective_axis(struct summary *s, const struct summary_source *columns)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (size_t k = 0; k < columns[c].plan->n_services; k++)
            if (columns[c].plan->services[k].slo.n_objectives > n)
                n = columns[c].plan->services[k].slo.n_objectives;
    const char **names = arena_array(&s->arena, (size_t)n + 1, sizeof *names);
    if (!names)
        return HR_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        names[i] = objective_label(s, columns, i, names);
        if (!names[i])
            return HR_NOMEM;
    }
    s->names[AXIS_OBJECTIVE] = names;
    s->n[AXIS_OBJECTIVE] = n;
    return HR_OK;
}

/* ---- making one ---- */

static enum hr_err copy_column(struct summary *s, uint32_t c, const struct summary_source *from)
{
    struct summary_column *to = &s->columns[c];
    to->label = arena_strdup(&s->arena, from->label);
    to->design = arena_strdup(&s->arena, from->plan->design ? from->plan->design : "");
    to->scenario = arena_strdup(&s->arena, from->scenario ? from->scenario : "");
    to->settings = arena_strdup(&s->arena, from->settings ? from->settings : "");
    to->seed = from->plan->seed;
    return to->label && to->design && to->scenario && to->settings ? HR_OK : HR_NOMEM;
}

enum hr_err summary_layout(struct summary *s)
{
    s->n[AXIS_NONE] = 1;
    s->n[AXIS_STATE] = GPU_STATES;
    s->names[AXIS_STATE] = gpu_state_names;
    s->n[AXIS_STAGE] = STAGES;
    s->names[AXIS_STAGE] = stage_names;
    s->n[AXIS_REASON] = BLOCKS;
    s->names[AXIS_REASON] = block_names;
    TRY(owner_axis(s));
    s->offset = arena_array(&s->arena, metrics_n, sizeof *s->offset);
    if (!s->offset)
        return HR_NOMEM;
    s->stride = 0;
    for (size_t m = 0; m < metrics_n; m++) {
        s->offset[m] = s->stride;
        s->stride += (size_t)s->n[metrics[m].entity] * s->n[metrics[m].part];
    }
    size_t n = s->stride * s->n_columns * s->n_replications;
    s->values = arena_array(&s->arena, n + 1, sizeof *s->values);
    if (!s->values)
        return HR_NOMEM;
    for (size_t i = 0; i < n; i++)
        s->values[i] = NAN;
    return HR_OK;
}

enum hr_err summary_init(struct summary *s, const struct summary_source *columns,
                         uint32_t n_columns, uint32_t n_replications, const char *version)
{
    *s = (struct summary){.n_columns = n_columns, .n_replications = n_replications};
    arena_init(&s->arena);
    const struct plan *first = columns[0].plan;
    s->version = arena_strdup(&s->arena, version);
    s->name = arena_strdup(&s->arena, first->name);
    s->start_date = arena_strdup(&s->arena, first->start_date);
    s->columns = arena_array(&s->arena, n_columns, sizeof *s->columns);
    if (!s->version || !s->name || !s->start_date || !s->columns)
        return HR_NOMEM;
    for (uint32_t c = 0; c < n_columns; c++)
        TRY(copy_column(s, c, &columns[c]));
    TRY(union_axis(s, AXIS_SERVICE, columns));
    TRY(union_axis(s, AXIS_QUEUE, columns));
    TRY(further_axes(s, columns));
    TRY(objective_axis(s, columns));
    return summary_layout(s);
}

void summary_fini(struct summary *s)
{
    arena_fini(&s->arena);
    *s = (struct summary){0};
}

/* ---- values ---- */

static uint32_t local_of(const struct plan *p, enum axis axis, const char *name)
{
    for (uint32_t i = 0; i < count_of(p, axis); i++)
        if (strcmp(name_of(p, axis, i), name) == 0)
            return i;
    return SUMMARY_ABSENT;
}

static uint32_t local_claimant(const struct plan *p, const char *tenant)
{
    uint32_t i = local_of(p, AXIS_TENANT, tenant);
    return i == SUMMARY_ABSENT ? i : (uint32_t)p->n_services + i;
}

static uint32_t local_owner(const struct summary *s, const struct plan *p, uint32_t e)
{
    if (e == 0)
        return 0;
    uint32_t i = e <= s->n[AXIS_SERVICE] ? local_of(p, AXIS_SERVICE, s->names[AXIS_SERVICE][e - 1])
                                         : local_claimant(p, s->names[AXIS_OWNER][e]);
    return i == SUMMARY_ABSENT ? i : i + 1;
}

uint32_t summary_local(const struct summary *s, const struct plan *p, enum axis axis, uint32_t e)
{
    switch (axis) {
    case AXIS_SERVICE:
    case AXIS_QUEUE:
    case AXIS_POOL:
        return local_of(p, axis, s->names[axis][e]);
    case AXIS_TENANT:
        return local_claimant(p, s->names[axis][e]);
    case AXIS_OWNER:
        return local_owner(s, p, e);
    default:
        return 0;
    }
}

static uint32_t parts_of(const struct summary *s, const struct plan *p, const struct metric *m,
                         uint32_t entity)
{
    if (m->part == AXIS_OBJECTIVE)
        return p->services[entity].slo.n_objectives;
    return s->n[m->part];
}

enum hr_err summary_fill(struct summary *s, uint32_t column, uint32_t replication,
                         const struct plan *plan, const struct run_results *results)
{
    struct digest d;
    TRY(digest_init(&d, plan, results));
    for (size_t i = 0; i < metrics_n; i++) {
        const struct metric *m = &metrics[i];
        for (uint32_t e = 0; e < s->n[m->entity]; e++) {
            uint32_t local = summary_local(s, plan, m->entity, e);
            uint32_t parts = local == SUMMARY_ABSENT ? 0 : parts_of(s, plan, m, local);
            for (uint32_t part = 0; part < parts; part++)
                *summary_at(s, i, column, replication, e, part) = metric_value(m, &d, local, part);
        }
    }
    digest_fini(&d);
    return HR_OK;
}

double summary_mean(const struct summary *s, const char *metric, uint32_t column, uint32_t entity,
                    uint32_t part)
{
    size_t m = metric_find(metric);
    assert(m < metrics_n && entity < s->n[metrics[m].entity] && part < s->n[metrics[m].part]);
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t r = 0; r < s->n_replications; r++) {
        double v = *summary_at(s, m, column, r, entity, part);
        if (!isnan(v)) {
            sum += v;
            n++;
        }
    }
    return n ? sum / n : NAN;
}

void summary_objective(const struct summary *s, uint32_t column, uint32_t service, uint32_t part,
                       char *out, size_t size)
{
    static const char *const shown[SLO_METRICS] = {"TTFT", "TPOT", "E2E"};
    double metric = summary_mean(s, "objective_metric", column, service, part);
    double percentile = summary_mean(s, "objective_percentile", column, service, part);
    double threshold = summary_mean(s, "objective_threshold_s", column, service, part);
    out[0] = 0;
    if (!(metric >= 0 && metric < SLO_METRICS))
        return;
    char p[32], limit[32];
    percentile_text(percentile, p, sizeof p);
    unit_print(limit, sizeof limit, threshold, UNIT_TIME);
    snprintf(out, size, "%s %s <= %s", shown[(int)metric], p, limit);
}

void summary_hash(const struct summary *s, char out[17])
{
    uint64_t hash = PROVENANCE_START;
    provenance_hash_text(&hash, s->version);
    for (uint32_t c = 0; c < s->n_columns; c++) {
        provenance_hash_text(&hash, s->columns[c].label);
        provenance_hash_text(&hash, s->columns[c].scenario);
        provenance_hash_text(&hash, s->columns[c].settings);
        provenance_hash_whole(&hash, s->columns[c].seed);
    }
    provenance_hash_whole(&hash, s->n_replications);
    provenance_hash_print(hash, out);
}
