/* Envelopes: a user's CSV of a factor or a rate over time. */
#include "traces/reader.h"

#include "sim/units.h"
#include "sim/vec.h"

#include <stdlib.h>
#include <string.h>

enum { TIME, VALUE, SLOTS };

static const struct {
    const char *column;
    bool is_rate;
} values[] = {{"factor", false}, {"rate", true}, {"rate_per_s", true}, {"rps", true}};

struct state {
    struct reader reader;
    struct reader_slot slots[SLOTS];
    bool quantities; /* a column called time: values carry their units, or are timestamps */
    bool is_rate, calendar;
    int64_t first;
    struct {
        struct envelope_point *items;
        size_t n, capacity;
    } points;
};

/* Both columns by their names; the first that fits is taken. */
static enum hr_err bind(struct state *s)
{
    struct reader *r = &s->reader;
    s->slots[TIME] = (struct reader_slot){
        .field = "or time_s, time_min, ...", .column = "time", .required = true};
    s->slots[VALUE] =
        (struct reader_slot){.field = "or rate, per second", .column = "factor", .required = true};
    s->quantities = !reader_time_column(r, &s->slots[TIME]);
    for (size_t i = r->n_names; i-- > 0;)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            if (strcmp(values[v].column, r->names[i]) == 0) {
                s->slots[VALUE].column = r->names[i];
                s->is_rate = values[v].is_rate;
            }
    TRY(reader_bind(r, s->slots, SLOTS));
    s->slots[TIME].field = "time";
    s->slots[VALUE].field = s->is_rate ? "rate" : "factor";
    return HR_OK;
}

/* A quantity in the words of sim/units.h. */
static bool take_quantity(struct state *s, int64_t *t)
{
    struct reader *r = &s->reader;
    const struct csv_field *f = reader_field(r, &s->slots[TIME]);
    const char *text = f->text, *why;
    size_t n = f->n;
    double seconds;
    value_trim(&text, &n);
    if (unit_parse(text, n, UNIT_TIME, &seconds, &why) != HR_OK)
        reader_error(r, f->text, "time '%.*s' %s", n > 40 ? 40 : (int)n, text, why);
    else if (!(seconds >= 0 && seconds < 1e9))
        reader_check(r, &s->slots[TIME], seconds < 0 ? VALUE_NEGATIVE : VALUE_TOO_LARGE);
    else
        *t = (int64_t)sim_time_from_s(seconds);
    return !r->row_bad;
}

static bool take_time(struct state *s, int64_t *t)
{
    struct reader *r = &s->reader;
    const struct csv_field *f = reader_field(r, &s->slots[TIME]);
    if (!s->quantities)
        return reader_point(r, &s->slots[TIME], t);
    bool timestamp = memchr(f->text, ':', f->n) != NULL;
    if (s->points.n > 0 && timestamp != s->calendar) {
        reader_error(r, f->text, "timestamps and quantities in one column");
        return false;
    }
    if (!timestamp)
        return take_quantity(s, t);
    if (!reader_point(r, &s->slots[TIME], t))
        return false;
    if (s->points.n == 0) {
        s->calendar = true;
        s->first = *t;
    }
    *t -= s->first;
    return true;
}

static enum hr_err take_row(struct state *s)
{
    struct reader *r = &s->reader;
    const struct csv_field *f = reader_field(r, &s->slots[VALUE]);
    int64_t t;
    double value;
    if (!take_time(s, &t) || !reader_check(r, &s->slots[VALUE], value_real(f->text, f->n, &value)))
        return HR_OK;
    if (t < 0 || (s->points.n > 0 && (uint64_t)t < s->points.items[s->points.n - 1].at_ns)) {
        reader_error(r, reader_field(r, &s->slots[TIME])->text,
                     "time is earlier than the row above: an envelope is in order of time");
        return HR_OK;
    }
    struct envelope_point point = {.at_ns = (uint64_t)t, .factor = value};
    return vec_push(&s->points, point) ? HR_OK : HR_NOMEM;
}

static enum hr_err read_all(struct state *s, struct arena *arena, const char *path, int32_t zone_s,
                            struct diag_place place, const char *source, struct diags *diags)
{
    struct reader *r = &s->reader;
    TRY(reader_open(r, arena, diags, path, '\0', place, source));
    TRY(bind(s));
    r->clock.zone_s = zone_s;
    for (;;) {
        bool more;
        TRY(reader_next(r, &more));
        if (!more)
            break;
        TRY(take_row(s));
    }
    TRY(reader_end(r));
    if (s->points.n > 0)
        return HR_OK;
    diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path, .line = r->header_line},
              r->header_source, NULL, "no points: nothing follows the header");
    return HR_INPUT;
}

enum hr_err trace_read_envelope(struct arena *arena, const char *path, int32_t zone_s,
                                struct diag_place place, const char *source, struct diags *diags,
                                struct trace_envelope *out)
{
    struct state s = {0};
    enum hr_err err = read_all(&s, arena, path, zone_s, place, source, diags);
    struct envelope_point *points = NULL;
    if (err == HR_OK) {
        points = arena_array(arena, s.points.n, sizeof *points);
        err = points != NULL ? HR_OK : HR_NOMEM;
    }
    if (err == HR_OK) {
        memcpy(points, s.points.items, s.points.n * sizeof *points);
        *out = (struct trace_envelope){.points = points,
                                       .n_points = s.points.n,
                                       .is_rate = s.is_rate,
                                       .calendar = s.calendar,
                                       .first_ns = s.first};
    }
    vec_free(&s.points);
    reader_close(&s.reader);
    return err;
}
