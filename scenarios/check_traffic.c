/* Checks of traces, traffic and training queues. */
#include "models/training/queue.h"
#include "scenarios/check_topology.h"
#include "scenarios/moment.h"
#include "scenarios/sharing.h"
#include "scenarios/tenants.h"
#include "traces/trace.h"

#include <math.h>
#include <string.h>

/* ---- traces ---- */

static void check_format(const struct check *c, const struct trace_file_spec *t, bool jobs)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t n = 0;
    unsigned wanted = jobs ? TRACE_JOBS : TRACE_REQUESTS;
    const struct trace_format *f = t->format ? trace_format_find(t->format) : NULL;
    for (size_t i = 0; i < trace_n_formats && n < MOST; i++)
        if (trace_formats[i].yields & wanted)
            names[n++] = trace_formats[i].name;
    if (t->format && !f)
        check_say(c, DIAG_ERROR, t->at, "format", diag_nearest(t->format, names, n),
                  "format: there is no '%.60s'", t->format);
    else if (f && !(f->yields & wanted))
        check_say(c, DIAG_ERROR, t->at, "format", NULL, "format: %s holds no %s", f->name,
                  jobs ? "jobs" : "requests");
}

static void check_unit(const struct check *c, const void *at, const char *key, const char *unit)
{
    if (unit && !trace_unit_known(unit))
        check_say(c, DIAG_ERROR, at, key, diag_nearest(unit, trace_units, trace_n_units),
                  "'%.60s' is not ns, us, ms, s, min, h, d or timestamp", unit);
}

static void check_columns(const struct check *c, const struct trace_file_spec *t)
{
    const struct column_spec *columns = t->columns.items;
    const char *names[TRACE_FIELDS];
    for (int i = 0; i < TRACE_FIELDS; i++)
        names[i] = trace_fields[i].name;
    for (size_t i = 0; i < t->columns.n; i++) {
        const char *name = t->columns.names[i];
        const struct node *where = t->columns.where[i];
        if (strcmp(name, "unit") == 0)
            check_unit(c, where, "column", columns[i].column);
        else if (trace_field_find(name) == TRACE_FIELDS)
            node_say(where->key, c->diags, DIAG_ERROR, diag_nearest(name, names, TRACE_FIELDS),
                     "unknown field '%.60s' of a trace", name);
        check_unit(c, where, "unit", columns[i].unit);
    }
}

void check_trace(const struct check *c, const struct trace_file_spec *t, bool jobs)
{
    int32_t zone_s;
    if (!t->at)
        return;
    check_file(c, t->at, t->file);
    check_format(c, t, jobs);
    check_columns(c, t);
    check_unit(c, t->at, "unit", t->unit);
    if (t->zone && !trace_zone_parse(t->zone, &zone_s))
        check_say(c, DIAG_ERROR, t->at, "zone", NULL,
                  "zone: '%.40s' is not UTC, +08:00 or the like", t->zone);
    if (t->delimiter && strlen(t->delimiter) != 1)
        check_say(c, DIAG_ERROR, t->at, "delimiter", NULL, "delimiter: must be one character");
    if (t->until_s <= t->from_s)
        check_say(c, DIAG_ERROR, t->at, "until", NULL, "until must be later than from");
    static const char *const of_jobs[] = {"tenants", "min_gpus", "max_gpus"};
    for (size_t i = 0; i < sizeof of_jobs / sizeof of_jobs[0] && !jobs; i++)
        if (node_get(t->at, of_jobs[i]))
            check_say(c, DIAG_ERROR, t->at, of_jobs[i], NULL, "%s is for jobs, these are requests",
                      of_jobs[i]);
    if (t->max_gpus != FIELD_NO_WHOLE && t->min_gpus != FIELD_NO_WHOLE && t->max_gpus < t->min_gpus)
        check_say(c, DIAG_ERROR, t->at, "max_gpus", NULL, "max_gpus is below min_gpus");
}

/* ---- traffic ---- */

static void check_points(const struct check *c, const struct table_spec *t)
{
    static const struct field moment = {.kind = FIELD_MOMENT, .unit = UNIT_TIME, .key = "point"};
    char why[FIELD_WHY_BYTES];
    const char *nearest;
    double last = -1;
    for (size_t i = 0; i < t->points.n; i++) {
        const struct node *where = t->points.where[i];
        struct field_moment m = {.s = NAN};
        if (field_read(&moment, t->points.names[i], &m, why, &nearest) != HR_OK) {
            node_say(where->key, c->diags, DIAG_ERROR, NULL, "points: %s", why);
            continue;
        }
        double s = moment_since_start_s(m, c->day_s);
        if (s <= last)
            node_say(where->key, c->diags, DIAG_ERROR, NULL,
                     "points: '%.40s' is not after the one before it", t->points.names[i]);
        last = s;
    }
    if (t->points.n == 0 && t->points.at)
        check_say(c, DIAG_ERROR, t->at, "points", NULL, "points: at least one is needed");
    if (t->repeat_s < last)
        check_say(c, DIAG_ERROR, t->at, "repeat", NULL, "repeat: the last point is later");
}

static void check_envelope(const struct check *c, const struct envelope_spec *e)
{
    int32_t zone_s;
    if (e->which == CHOICE_TABLE)
        check_points(c, &e->table);
    if (e->which == CHOICE_FILE)
        check_file(c, e->file.at, e->file.file);
    if (e->file.zone && !trace_zone_parse(e->file.zone, &zone_s))
        check_say(c, DIAG_ERROR, e->file.at, "zone", NULL,
                  "zone: '%.40s' is not UTC, +08:00 or the like", e->file.zone);
    if (e->ramp.at && e->ramp.shape == 1 && !(e->ramp.from > 0 && e->ramp.to > 0))
        check_say(c, DIAG_ERROR, e->ramp.at, "shape", NULL,
                  "an exponential ramp needs factors above 0");
}

static void check_tokens(const struct check *c, const struct tokens_spec *t, const char *key)
{
    if (t->at && t->mean > (double)t->most)
        check_say(c, DIAG_ERROR, t->at, "most", NULL, "%s: most is below the mean", key);
}

/* Keys that would change nothing. */
static void check_not_replayed(const struct check *c, const struct traffic_spec *t)
{
    static const char *const keys[] = {"scale", "speed", "loop"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (node_get(t->at, keys[i]))
            check_say(c, DIAG_ERROR, t->at, keys[i], NULL,
                      "%s is for replayed traces: drawn arrivals have a rate", keys[i]);
}

static void check_generator(const struct check *c, const struct traffic_spec *t)
{
    if (!node_get(t->at, "rate") && t->envelope.which != CHOICE_FILE)
        check_say(c, DIAG_ERROR, t->at, "arrivals", NULL, "drawn arrivals need a rate");
    check_not_replayed(c, t);
    check_tokens(c, &t->prompt, "prompt");
    check_tokens(c, &t->output, "output");
    bool lengths = node_get(t->at, "prompt") && node_get(t->at, "output");
    if (!node_get(t->at, "trace") && !lengths)
        check_say(c, DIAG_ERROR, t->at, "arrivals", NULL,
                  "drawn arrivals need prompt and output, or a trace for the lengths");
    if (t->trace.at && (t->prompt.at || t->output.at))
        check_say(c, DIAG_ERROR, t->at, t->prompt.at ? "prompt" : "output", NULL,
                  "the lengths are those of the trace: prompt and output exclude it");
}

static void check_replay(const struct check *c, const struct traffic_spec *t)
{
    if (!node_get(t->at, "trace"))
        check_say(c, DIAG_ERROR, t->at, NULL, NULL,
                  "traffic needs a trace to replay, or arrivals to draw");
    if (!isnan(t->scale) && !isnan(t->rate_per_s))
        check_say(c, DIAG_ERROR, t->at, "rate", NULL, "scale and rate exclude each other");
    if (t->prompt.at || t->output.at)
        check_say(c, DIAG_ERROR, t->at, t->prompt.at ? "prompt" : "output", NULL,
                  "prompt and output are for drawn arrivals");
}

static void check_events(const struct check *c, const struct traffic_spec *t)
{
    const struct event_spec *events = t->events.items;
    for (size_t i = 0; i < t->events.n; i++) {
        if (events[i].every_s < events[i].rise_s + events[i].hold_s + events[i].fall_s)
            check_say(c, DIAG_ERROR, events[i].at, "every", NULL,
                      "comes again before it is over: every is shorter than rise, hold and fall");
        if (moment_since_start_s(events[i].start, c->day_s) >= c->spec->horizon_s)
            check_say(c, DIAG_WARNING, events[i].at, "start", NULL,
                      "%s starts after the end of the run", t->events.names[i]);
    }
}

void check_traffic(const struct check *c, const struct traffic_spec *t)
{
    if (!t->at)
        return;
    check_trace(c, &t->trace, false);
    if (node_get(t->at, "arrivals"))
        check_generator(c, t);
    else
        check_replay(c, t);
    check_envelope(c, &t->envelope);
    check_events(c, t);
}

/* ---- training ---- */

static void check_gangs(const struct check *c, const struct backlog_spec *b)
{
    const struct gang_spec *gangs = b->gangs.items;
    if (b->gangs.n == 0 && b->gangs.at)
        check_say(c, DIAG_ERROR, b->at, "gangs", NULL, "gangs: at least one is needed");
    for (size_t i = 0; i < b->gangs.n; i++) {
        check_elastic(c, gangs[i].at, gangs[i].gpus, gangs[i].min_gpus, gangs[i].max_gpus);
        if (gangs[i].gpus != FIELD_NO_WHOLE && c->fleet_gpus && gangs[i].gpus > c->fleet_gpus)
            check_say(c, DIAG_ERROR, gangs[i].at, "gpus", NULL,
                      "a gang of %llu GPUs never fits a fleet of %llu",
                      (unsigned long long)gangs[i].gpus, (unsigned long long)c->fleet_gpus);
    }
}

/* Keys that would change nothing. */
static void check_order(const struct check *c, const struct training_spec *t)
{
    if (node_get(t->at, "age") && t->order != ORDER_PRIORITY)
        check_say(c, DIAG_ERROR, t->at, "age", NULL, "age is for `order: priority`");
    bool together = t->placement == SHAPE_ONE_NODE || t->placement == SHAPE_ONE_LEAF ||
                    t->placement == SHAPE_SLICE;
    if (node_get(t->at, "elastic") && t->elastic.enabled && together)
        check_say(c, DIAG_ERROR, t->at, "elastic", NULL,
                  "elastic gangs are spread as they grow: placement %s keeps them together",
                  shape_kind_names[t->placement]);
    if (node_get(t->at, "half_life") && t->order != ORDER_FAIR_SHARE)
        check_say(c, DIAG_ERROR, t->at, "half_life", NULL, "half_life is for `order: fair-share`");
    if (node_get(t->at, "backfill_depth") && t->backfill == BACKFILL_NONE)
        check_say(c, DIAG_ERROR, t->at, "backfill_depth", NULL,
                  "backfill_depth changes nothing with `backfill: none`");
    if (c->fleet_gpus && t->reserve > c->fleet_gpus && t->reserve != FIELD_NO_WHOLE)
        check_say(c, DIAG_ERROR, t->at, "reserve", NULL,
                  "reserve changes nothing: no job of %llu GPUs fits a fleet of %llu",
                  (unsigned long long)t->reserve, (unsigned long long)c->fleet_gpus);
}

void check_training(const struct check *c, const struct training_spec *t)
{
    check_pools(c, t->at, &t->pools);
    if (!node_get(t->at, "jobs") && !node_get(t->at, "drawn") && !node_get(t->at, "backlog"))
        check_say(c, DIAG_ERROR, t->at, NULL, NULL,
                  "a queue needs jobs, drawn jobs, a backlog, or several of these");
    check_drawn(c, &t->drawn);
    tenants_check(c, t);
    check_order(c, t);
    check_gang_placement(c, t);
    sharing_check_slice(c, t->at, t->slice);
    if (t->jobs.at)
        check_trace(c, &t->jobs.trace, true);
    check_gangs(c, &t->backlog);
    check_duration(c, &t->backlog.work);
    check_duration(c, &t->restart.load);
    check_duration(c, &t->restart.init);
    const struct checkpoint_spec *p = &t->checkpoint;
    if (p->save_on_notice && isnan(p->notice_save_s) && !(p->parameters > 0))
        check_say(c, DIAG_ERROR, p->at, "save_on_notice", NULL,
                  "save_on_notice needs notice_save, the time of such a save");
    if (!p->save_on_notice && !isnan(p->notice_save_s))
        check_say(c, DIAG_WARNING, p->at, "notice_save", NULL,
                  "notice_save changes nothing without `save_on_notice: yes`");
    if (t->backlog.at && t->backlog.work.which == 0 && t->backlog.work.fixed_s < 1)
        check_say(c, DIAG_ERROR, t->backlog.at, "work", NULL,
                  "work: gangs without end must run at least 1s");
}
