/* The plan as a whole, and the claimants sorted by name. */
#include "scenarios/build.h"

#include "scenarios/moment.h"
#include "scenarios/quotas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0

/* ---- durations ---- */

struct dist build_dist(const struct duration_spec *d)
{
    switch ((enum dist_kind)d->which) {
    case DIST_UNIFORM:
        return (struct dist){DIST_UNIFORM, (d->uniform.first + d->uniform.second) / 2,
                             (d->uniform.second - d->uniform.first) / 2};
    case DIST_EXPONENTIAL:
        return (struct dist){DIST_EXPONENTIAL, d->exponential.first, 0};
    case DIST_LOGNORMAL:
        return (struct dist){DIST_LOGNORMAL, d->lognormal.first, d->lognormal.second};
    case DIST_GAMMA:
        return (struct dist){DIST_GAMMA, d->gamma.first, d->gamma.second};
    case DIST_WEIBULL:
        return (struct dist){DIST_WEIBULL, d->weibull.first, d->weibull.second};
    default:
        return (struct dist){DIST_FIXED, d->fixed_s, 0};
    }
}

/* One minute up to two days, then the whole minutes that give at most 2,880 steps. */
static double timeline_s(const struct check *c)
{
    double measured = c->spec->horizon_s - c->warmup_s;
    if (!isnan(c->spec->timeline_s))
        return c->spec->timeline_s;
    return measured <= 2 * DAY_S ? 60 : 60 * ceil(measured / 2880 / 60);
}

/* ---- claimants ---- */

struct by_name {
    const char *name;
    size_t index;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct by_name *)a)->name, ((const struct by_name *)b)->name);
}

/* Indices of the entries sorted by name; in malloc memory. */
static struct by_name *sorted(const struct field_list *l)
{
    struct by_name *order = malloc((l->n + 1) * sizeof *order);
    for (size_t i = 0; order && i < l->n; i++)
        order[i] = (struct by_name){l->names[i], i};
    if (order && l->n)
        qsort(order, l->n, sizeof *order, compare_names);
    return order;
}

static enum hr_err build_services(const struct build *b, const struct claim *claims,
                                  struct plan *out)
{
    const struct field_list *l = &b->check->spec->services;
    const struct service_spec *specs = l->items;
    struct service_plan *plans = arena_array(b->check->arena, l->n, sizeof *plans);
    struct by_name *order = sorted(l);
    enum hr_err err = plans && order ? HR_OK : HR_NOMEM, one;
    for (size_t i = 0; i < l->n && (err == HR_OK || err == HR_INPUT); i++) {
        size_t at = order[i].index;
        one = build_service(b, l->names[at], &specs[at], &claims[at], &plans[i]);
        err = one != HR_OK ? one : err;
    }
    free(order);
    out->services = plans;
    out->n_services = l->n;
    return err;
}

static enum hr_err build_queues(const struct build *b, const struct claim *claims, struct plan *out)
{
    const struct field_list *l = &b->check->spec->training;
    const struct training_spec *specs = l->items;
    struct queue_plan *plans = arena_array(b->check->arena, l->n, sizeof *plans);
    struct by_name *order = sorted(l);
    enum hr_err err = plans && order ? HR_OK : HR_NOMEM, one;
    for (size_t i = 0; i < l->n && (err == HR_OK || err == HR_INPUT); i++) {
        size_t at = order[i].index;
        one = build_queue(b, l->names[at], &specs[at], &claims[at], &plans[i]);
        err = one != HR_OK ? one : err;
    }
    free(order);
    out->queues = plans;
    out->n_queues = l->n;
    return err;
}

static enum hr_err build_claimants(const struct build *b, struct plan *out)
{
    size_t n = b->check->spec->services.n, all = n + b->check->spec->training.n;
    struct claim *claims = calloc(all + 1, sizeof *claims);
    if (!claims)
        return HR_NOMEM;
    size_t errors = b->check->diags->n_errors;
    preset_claims(b->check, b->design_name, b->design, claims);
    enum hr_err services = build_services(b, claims, out);
    enum hr_err queues = services == HR_NOMEM ? HR_NOMEM : build_queues(b, claims + n, out);
    free(claims);
    if (b->check->diags->n_errors > errors)
        return HR_INPUT;
    return services != HR_OK ? services : queues;
}

static struct storage_plan build_storage(const struct storage_spec *s)
{
    if (!s->at)
        return (struct storage_plan){0};
    return (struct storage_plan){.bytes_per_s = s->bytes_per_s,
                                 .restores = s->restores,
                                 .node_read_bytes_per_s = s->node_read_bytes_per_s};
}

enum hr_err build_plan(const struct build *from, const char *design, const struct design_spec *d,
                       struct plan *out)
{
    const struct check *c = from->check;
    const struct scenario_spec *s = c->spec;
    struct build_cohorts cohorts = {0};
    const struct build b = {c, from->traces, design, d, &cohorts};
    char *date = arena_alloc(c->arena, MOMENT_DATE_BYTES);
    double day_s;
    if (!date)
        return HR_NOMEM;
    moment_start(s->start, date, &day_s);
    *out = (struct plan){.name = s->name,
                         .design = design,
                         .seed = s->seed,
                         .horizon_ns = sim_time_from_s(s->horizon_s),
                         .warmup_ns = sim_time_from_s(c->warmup_s),
                         .timeline_ns = sim_time_from_s(timeline_s(c)),
                         .storage = build_storage(&s->storage),
                         .start_date = date};
    TRY(quotas_cohorts(c, d, s->training.n, &cohorts.items, &cohorts.n));
    TRY(build_claimants(&b, out));
    TRY(build_fleet(&b, out));
    const char *fault = plan_fault(out);
    if (!fault)
        return HR_OK;
    check_say(c, DIAG_ERROR, NULL, NULL, NULL, "design %.60s cannot run: %s", design, fault);
    return HR_INPUT;
}
