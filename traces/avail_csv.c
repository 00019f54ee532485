/* Availability from rows: counts over time, events of named nodes, lines of a log. */
#include "traces/avail_log.h"

#include <string.h>

struct state {
    struct avail *avail;
    struct reader reader;
    struct reader_slot slots[TRACE_FIELDS];
    struct avail_log log;
};

/* A day in one column and a time of the clock in another are one timestamp. */
static bool take_day_and_time(struct state *s, int64_t *t)
{
    struct reader *r = &s->reader;
    const struct csv_field *day = reader_field(r, &s->slots[TRACE_DATE]);
    const struct csv_field *time = reader_field(r, &s->slots[TRACE_TIME]);
    const char *a = day->text, *b = time->text;
    size_t n = day->n, m = time->n;
    char text[64];
    value_trim(&a, &n);
    value_trim(&b, &m);
    if (n + m + 2 > sizeof text)
        return reader_check(r, &s->slots[TRACE_TIME], VALUE_NOT_A_TIME);
    int length = snprintf(text, sizeof text, "%.*s %.*s", (int)n, a, (int)m, b);
    enum value_fault fault = value_timestamp(text, (size_t)length, &r->clock, t);
    if (fault != VALUE_OK)
        reader_error(r, day->text, "'%s' %s", text, value_fault_text[fault]);
    return fault == VALUE_OK;
}

static bool take_time(struct state *s, int64_t *t)
{
    if (s->avail->spec->format->rule == TRACE_LOG)
        return avail_log_time(&s->reader, reader_field(&s->reader, &s->slots[TRACE_TIME]), t);
    if (s->slots[TRACE_DATE].index >= 0)
        return take_day_and_time(s, t);
    return reader_point(&s->reader, &s->slots[TRACE_TIME], t);
}

static bool take_count(struct state *s, struct avail_row *row)
{
    uint64_t count;
    if (!reader_whole(&s->reader, &s->slots[TRACE_COUNT], AVAIL_COUNT_MAX, &count))
        return false;
    row->node = SUPPLY_ANY_NODE;
    row->value = (int32_t)count;
    return true;
}

static bool take_event(struct state *s, struct avail_row *row)
{
    struct reader *r = &s->reader;
    const struct reader_slot *slot = &s->slots[TRACE_EVENT];
    if (reader_empty(r, slot))
        return reader_check(r, slot, VALUE_EMPTY);
    const struct csv_field *f = reader_field(r, slot);
    const char *text = f->text, *nearest;
    size_t n = f->n;
    value_trim(&text, &n);
    row->value = avail_change(s->avail->spec->format, text, n, &nearest);
    if (row->value == 0)
        reader_error_near(r, text, nearest, "event '%.*s' is none of this format",
                          n > 40 ? 40 : (int)n, text);
    return row->value != 0;
}

/* Node and cause, as texts of the arena: a file has few different ones, but each row is copied. */
static enum hr_err take_names(struct state *s, struct avail_row *row)
{
    struct reader *r = &s->reader;
    const char *node = reader_text(r, &s->slots[TRACE_NODE]), *cause = "";
    if (node != NULL && !reader_empty(r, &s->slots[TRACE_CAUSE]))
        cause = reader_text(r, &s->slots[TRACE_CAUSE]);
    if (node == NULL || cause == NULL)
        return HR_NOMEM;
    TRY(avail_name(s->avail, row, node, strlen(node)));
    return avail_cause(s->avail, row, cause, strlen(cause));
}

/* A sentence of a log. False: the row is not kept. */
static enum hr_err take_sentence(struct state *s, struct avail_row *row,
                                 struct trace_report *report, bool *keep)
{
    enum avail_log_use use;
    TRY(avail_log_row(&s->log, &s->reader, reader_field(&s->reader, &s->slots[TRACE_EVENT]), row,
                      &use));
    report->dropped[TRACE_DROP_SERIES] += use == AVAIL_LOG_OTHER;
    *keep = use == AVAIL_LOG_KEEP;
    return HR_OK;
}

static enum hr_err take_row(struct state *s, struct trace_report *report)
{
    struct reader *r = &s->reader;
    struct avail_row row = {.line = r->line, .cause = ""};
    int64_t t;
    if (reader_empty(r, &s->slots[TRACE_TIME])) {
        report->dropped[TRACE_DROP_NO_TIME]++;
        return HR_OK;
    }
    if (!take_time(s, &t))
        return HR_OK;
    if (s->avail->spec->format->rule == TRACE_LOG) {
        bool keep;
        TRY(take_sentence(s, &row, report, &keep));
        if (!keep)
            return HR_OK;
    } else if (s->avail->spec->format->rule == TRACE_COUNTS) {
        if (!take_count(s, &row))
            return HR_OK;
    } else {
        if (reader_empty(r, &s->slots[TRACE_NODE])) {
            reader_check(r, &s->slots[TRACE_NODE], VALUE_EMPTY);
            return HR_OK;
        }
        if (!take_event(s, &row))
            return HR_OK;
        TRY(take_names(s, &row));
    }
    return avail_add(s->avail, t, order_hash(r->row.text, r->row.n), row);
}

static enum hr_err open_file(struct state *s)
{
    struct avail *a = s->avail;
    const struct trace_spec *spec = a->spec;
    struct reader *r = &s->reader;
    const char *names[TRACE_FIELDS];
    TRY(reader_slots(spec, TRACE_SUPPLY, a->diags, s->slots));
    if (spec->format->layout == TRACE_HEADER) {
        TRY(reader_open(r, a->arena, a->diags, spec->path, spec->delimiter, spec->place,
                        spec->source));
        reader_time_column(r, &s->slots[TRACE_TIME]);
    } else {
        for (size_t i = 0; i < spec->format->n_columns; i++)
            names[i] = spec->format->columns[i].column;
        char delimiter = spec->format->rule == TRACE_LOG ? ']' : spec->delimiter;
        TRY(reader_open_columns(r, a->arena, a->diags, spec->path, delimiter, spec->place,
                                spec->source, names, spec->format->n_columns));
    }
    return reader_bind(r, s->slots, TRACE_FIELDS);
}

static enum hr_err read_all(struct state *s, struct trace_report *report, struct notes *notes)
{
    struct reader *r = &s->reader;
    const struct trace_spec *spec = s->avail->spec;
    TRY(open_file(s));
    r->skip_bad_rows = spec->skip_bad_rows;
    r->clock.zone_s = spec->zone_s;
    for (;;) {
        bool more;
        TRY(reader_next(r, &more));
        if (!more)
            break;
        TRY(take_row(s, report));
    }
    TRY(reader_end(r));
    TRY(avail_log_end(&s->log, notes));
    TRY(report_reader(report, spec, r, &s->slots[TRACE_TIME]));
    report_note_reader(report, spec, r, s->slots, notes);
    return HR_OK;
}

enum hr_err avail_read_csv(struct avail *a, struct trace_report *report, struct notes *notes)
{
    struct state s = {
        .avail = a,
        .log = {.avail = a, .series = {.arena = a->arena}, .names = {.arena = a->arena}}};
    enum hr_err err = read_all(&s, report, notes);
    reader_close(&s.reader);
    avail_log_fini(&s.log);
    return err;
}
