/* Traces and traffic of a plan. */
#include "scenarios/build.h"

#include "scenarios/moment.h"
#include "sim/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXPONENTIAL_STEPS = 64
}; /* straight pieces of an exponential ramp: off by under 0.1 % for
      factors up to 10 */

/* ---- traces ---- */

static enum hr_err build_maps(const struct build *b, const struct trace_file_spec *t,
                              struct trace_spec *out)
{
    const struct column_spec *columns = t->columns.items;
    struct trace_map *maps = arena_array(b->check->arena, t->columns.n, sizeof *maps);
    if (!maps)
        return HR_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < t->columns.n; i++) {
        enum trace_field field = trace_field_find(t->columns.names[i]);
        if (field == TRACE_FIELDS)
            out->time_unit = columns[i].column; /* `unit` */
        else
            maps[n++] = (struct trace_map){field, columns[i].column, columns[i].unit};
    }
    out->maps = maps;
    out->n_maps = n;
    return HR_OK;
}

/* The file without a format: the columns decide, or its header. */
static enum hr_err find_format(const struct build *b, const struct trace_file_spec *t,
                               struct trace_spec *out)
{
    if (t->format || t->columns.n) {
        out->format = trace_format_find(t->format ? t->format : "custom");
        return HR_OK;
    }
    return trace_format_by_header(out->path, b->check->diags, &out->format);
}

static uint32_t bound_gpus(uint64_t gpus)
{
    return gpus == FIELD_NO_WHOLE ? 0 : (uint32_t)gpus;
}

static enum hr_err fill_spec(const struct build *b, const struct trace_file_spec *t,
                             struct trace_spec *out)
{
    const struct node *place = t->at;
    *out = (struct trace_spec){
        .path = check_path(b->check, t->file),
        .time_unit = t->unit,
        .delimiter = t->delimiter ? t->delimiter[0] : '\0',
        .dedupe = t->dedupe,
        .skip_bad_rows = t->skip_bad_rows,
        .spread_ns = sim_time_from_s(t->spread_s),
        .seed = b->check->spec->seed,
        .tenants = t->tenants.n ? t->tenants.items : NULL,
        .n_tenants = t->tenants.n,
        .min_gpus = bound_gpus(t->min_gpus),
        .max_gpus = bound_gpus(t->max_gpus),
        .from_ns = sim_time_from_s(t->from_s),
        .until_ns = isnan(t->until_s) ? 0 : sim_time_from_s(t->until_s),
        .place = {place->text->name, place->text->has_lines ? place->line : 0, place->column},
    };
    if (!out->path)
        return HR_NOMEM;
    out->zone_declared = t->zone && trace_zone_parse(t->zone, &out->zone_s);
    TRY(build_maps(b, t, out));
    return find_format(b, t, out);
}

static enum hr_err read_trace(const struct build *b, const struct trace_file_spec *t,
                              struct loaded_trace *l)
{
    struct trace_spec spec;
    const struct check *c = b->check;
    TRY(fill_spec(b, t, &spec));
    char *line = text_line(((const struct node *)t->at)->text, ((const struct node *)t->at)->line);
    spec.source = line;
    enum hr_err err =
        l->jobs ? trace_read_jobs(c->arena, &spec, c->diags, &l->list, &l->report)
                : trace_read_requests(c->arena, &spec, c->diags, &l->requests, &l->report);
    free(line);
    return err;
}

static enum hr_err name_trace(const struct build *b, const char *owner,
                              const struct loaded_trace *l)
{
    struct loaded_traces *t = b->traces;
    for (size_t i = 0; i < t->n_named; i++)
        if (strcmp(t->named[i].owner, owner) == 0 && t->named[i].report == &l->report)
            return HR_OK;
    if (t->n_named == t->named_capacity &&
        !vec_reserve_raw(&t->named, &t->named_capacity, t->n_named + 1, sizeof *t->named))
        return HR_NOMEM;
    t->named[t->n_named++] = (struct scenario_trace){owner, &l->report};
    return HR_OK;
}

enum hr_err build_trace(const struct build *b, const char *owner, const struct trace_file_spec *t,
                        bool jobs, struct loaded_trace **out)
{
    char *key;
    TRY(node_print(b->check->arena, t->at, &key));
    for (size_t i = 0; i < b->traces->n; i++) {
        struct loaded_trace *l = b->traces->items[i];
        if (l->jobs == jobs && strcmp(l->key, key) == 0) {
            *out = l;
            return name_trace(b, owner, l);
        }
    }
    struct loaded_trace *l = arena_alloc(b->check->arena, sizeof *l);
    if (!l)
        return HR_NOMEM;
    l->key = key;
    l->jobs = jobs;
    TRY(read_trace(b, t, l));
    if (!vec_push(b->traces, l))
        return HR_NOMEM;
    *out = l;
    return name_trace(b, owner, l);
}

/* ---- envelope ---- */

static enum hr_err take_points(const struct build *b, const struct envelope_point *points, size_t n,
                               bool steps, double repeat_s, struct envelope *out)
{
    struct envelope_point *copy = arena_array(b->check->arena, n, sizeof *copy);
    if (!copy)
        return HR_NOMEM;
    memcpy(copy, points, n * sizeof *copy);
    *out = (struct envelope){.kind = steps ? ENVELOPE_TABLE_STEPS : ENVELOPE_TABLE,
                             .points = copy,
                             .n_points = n,
                             .repeat_ns = isnan(repeat_s) ? 0 : sim_time_from_s(repeat_s)};
    return HR_OK;
}

static enum hr_err build_step(const struct build *b, const struct step_spec *s,
                              struct envelope *out)
{
    double at_s = moment_since_start_s(s->start, b->check->day_s);
    const struct envelope_point points[] = {{0, s->from}, {sim_time_from_s(at_s), s->to}};
    return take_points(b, points, 2, true, NAN, out);
}

static enum hr_err build_ramp(const struct build *b, const struct ramp_spec *r,
                              struct envelope *out)
{
    struct envelope_point points[EXPONENTIAL_STEPS + 1];
    size_t n = r->shape == 1 ? EXPONENTIAL_STEPS : 1;
    double start_s = moment_since_start_s(r->start, b->check->day_s);
    for (size_t i = 0; i <= n; i++) {
        double share = (double)i / (double)n;
        double factor = r->shape == 1 ? r->from * pow(r->to / r->from, share)
                                      : r->from + (r->to - r->from) * share;
        points[i] = (struct envelope_point){sim_time_from_s(start_s + share * r->over_s), factor};
    }
    return take_points(b, points, n + 1, false, NAN, out);
}

static enum hr_err build_table(const struct build *b, const struct table_spec *t,
                               struct envelope *out)
{
    static const struct field moment = {.kind = FIELD_MOMENT, .unit = UNIT_TIME};
    const double *factors = t->points.items;
    struct envelope_point *points = calloc(t->points.n + 1, sizeof *points);
    if (!points)
        return HR_NOMEM;
    for (size_t i = 0; i < t->points.n; i++) {
        char why[FIELD_WHY_BYTES];
        const char *nearest;
        struct field_moment m = {.s = 0};
        field_read(&moment, t->points.names[i], &m, why, &nearest); /* checked before */
        double s = moment_since_start_s(m, b->check->day_s);
        points[i] = (struct envelope_point){sim_time_from_s(s), factors[i]};
    }
    enum hr_err err = take_points(b, points, t->points.n, t->steps, t->repeat_s, out);
    free(points);
    return err;
}

/* Mean of the curve over its repeat, or over its own length. */
static double curve_mean(const struct trace_envelope *e, bool steps, simtime_ns repeat_ns)
{
    double sum = 0, last_s = sim_time_to_s(e->points[e->n_points - 1].at_ns);
    double length_s = repeat_ns ? sim_time_to_s(repeat_ns) : last_s;
    for (size_t i = 0; i < e->n_points; i++) {
        bool last = i + 1 == e->n_points;
        double from_s = sim_time_to_s(e->points[i].at_ns), here = e->points[i].factor;
        double to_s = last ? length_s : sim_time_to_s(e->points[i + 1].at_ns);
        double next = last || steps ? here : e->points[i + 1].factor;
        sum += to_s > from_s ? (to_s - from_s) * (here + next) / 2 : 0;
    }
    return length_s > 0 ? sum / length_s : e->points[0].factor;
}

/* A curve of rates becomes one of factors with mean 1; *rate is the mean rate, 0 for factors. */
static enum hr_err build_curve(const struct build *b, const struct curve_file_spec *f,
                               struct envelope *out, double *rate)
{
    const struct node *at = f->at;
    int32_t zone_s = 0;
    struct trace_envelope curve;
    char *path = check_path(b->check, f->file);
    if (!path)
        return HR_NOMEM;
    if (f->zone)
        trace_zone_parse(f->zone, &zone_s);
    struct diag_place place = {at->text->name, at->text->has_lines ? at->line : 0, at->column};
    char *line = text_line(at->text, at->line);
    enum hr_err err =
        trace_read_envelope(b->check->arena, path, zone_s, place, line, b->check->diags, &curve);
    free(line);
    TRY(err);
    simtime_ns repeat_ns = isnan(f->repeat_s) ? 0 : sim_time_from_s(f->repeat_s);
    *rate = curve.is_rate ? curve_mean(&curve, f->steps, repeat_ns) : 0;
    if (curve.is_rate && !(*rate > 0)) {
        check_say(b->check, DIAG_ERROR, f->at, "file", NULL, "file: the mean rate is 0");
        return HR_INPUT;
    }
    for (size_t i = 0; i < curve.n_points && curve.is_rate; i++)
        curve.points[i].factor /= *rate;
    return take_points(b, curve.points, curve.n_points, f->steps, f->repeat_s, out);
}

static enum hr_err build_envelope(const struct build *b, const struct envelope_spec *e,
                                  struct envelope *out, double *rate)
{
    *out = (struct envelope){.kind = ENVELOPE_CONSTANT};
    *rate = 0;
    switch ((enum envelope_choice)e->which) {
    case CHOICE_STEP:
        return build_step(b, &e->step, out);
    case CHOICE_RAMP:
        return build_ramp(b, &e->ramp, out);
    case CHOICE_TABLE:
        return build_table(b, &e->table, out);
    case CHOICE_FILE:
        return build_curve(b, &e->file, out, rate);
    case CHOICE_DIURNAL:
        out->kind = ENVELOPE_DIURNAL;
        out->peak_to_mean = e->diurnal.peak_to_mean;
        out->peak_hour = moment_of_day_s(e->diurnal.peak, b->check->day_s) / 3600;
        return HR_OK;
    case CHOICE_CONSTANT:
        return HR_OK;
    }
    return HR_OK;
}

/* ---- events ---- */

static int by_event_name(const void *a, const void *b)
{
    return strcmp(((const struct traffic_event *)a)->name, ((const struct traffic_event *)b)->name);
}

static enum hr_err build_events(const struct build *b, const struct traffic_spec *t,
                                struct traffic_plan *out)
{
    const struct event_spec *from = t->events.items;
    struct traffic_event *events = arena_array(b->check->arena, t->events.n, sizeof *events);
    if (!events)
        return HR_NOMEM;
    for (size_t i = 0; i < t->events.n; i++) {
        double start_s = moment_since_start_s(from[i].start, b->check->day_s);
        events[i] = (struct traffic_event){
            .name = t->events.names[i],
            .start_ns = sim_time_from_s(start_s),
            .rise_ns = sim_time_from_s(from[i].rise_s),
            .hold_ns = sim_time_from_s(from[i].hold_s),
            .fall_ns = sim_time_from_s(from[i].fall_s),
            .factor = from[i].factor,
            .repeat_ns = isnan(from[i].every_s) ? 0 : sim_time_from_s(from[i].every_s),
            .announced = from[i].announced,
        };
    }
    if (t->events.n)
        qsort(events, t->events.n, sizeof *events, by_event_name);
    out->events = events;
    out->n_events = t->events.n;
    return HR_OK;
}

/* ---- traffic ---- */

static enum arrival_kind arrival_kind(const struct arrivals_spec *a)
{
    static const enum arrival_kind kinds[] = {ARRIVAL_POISSON, ARRIVAL_GAMMA, ARRIVAL_EVEN};
    return a->at && a->which >= 0 ? kinds[a->which] : ARRIVAL_TRACE;
}

static double or_zero(double x)
{
    return isnan(x) ? 0 : x;
}

/* rate, where given, becomes copies of a trace or the mean of a generator. */
static enum hr_err set_rate(const struct build *b, const struct traffic_spec *t, double curve_rate,
                            struct traffic_plan *out)
{
    double rate = curve_rate > 0 ? curve_rate : t->rate_per_s;
    if (curve_rate > 0 && (!isnan(t->rate_per_s) || !isnan(t->scale))) {
        check_say(b->check, DIAG_ERROR, t->at, isnan(t->scale) ? "rate" : "scale", NULL,
                  "the envelope's file gives the rate: rate and scale exclude it");
        return HR_INPUT;
    }
    if (out->kind != ARRIVAL_TRACE && isnan(rate)) {
        check_say(b->check, DIAG_ERROR, t->at, "arrivals", NULL, "drawn arrivals need a rate");
        return HR_INPUT;
    }
    out->rate_per_s = or_zero(rate);
    out->scale = isnan(t->scale) ? 1 : t->scale;
    if (out->kind == ARRIVAL_TRACE && !isnan(rate)) {
        double base = traffic_base_rate(out);
        if (!(base > 0)) {
            check_say(b->check, DIAG_ERROR, t->at, "rate", NULL,
                      "rate: the trace has no rate of its own to scale");
            return HR_INPUT;
        }
        out->scale = rate / base;
    }
    return HR_OK;
}

enum hr_err build_traffic(const struct build *b, const char *owner, const struct traffic_spec *t,
                          struct traffic_plan *out)
{
    struct loaded_trace *trace = NULL;
    double curve_rate;
    if (t->trace.at)
        TRY(build_trace(b, owner, &t->trace, false, &trace));
    *out = (struct traffic_plan){
        .kind = arrival_kind(&t->arrivals),
        .trace = trace ? &trace->requests : NULL,
        .speed = t->speed,
        .loop = t->loop,
        .cv = t->arrivals.gamma.cv,
        .prompt_mean = or_zero(t->prompt.mean),
        .prompt_cv = t->prompt.cv,
        .output_mean = or_zero(t->output.mean),
        .output_cv = t->output.cv,
        .max_prompt_tokens = (uint32_t)t->prompt.most,
        .max_output_tokens = (uint32_t)t->output.most,
        .start_of_day_ns = sim_time_from_s(b->check->day_s),
    };
    TRY(build_envelope(b, &t->envelope, &out->envelope, &curve_rate));
    TRY(set_rate(b, t, curve_rate, out));
    return build_events(b, t, out);
}
