/* See avail.h. */
#include "traces/avail.h"

#include "sim/time.h"
#include "sim/vec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- rows -------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum trace_supply_rule rule;
    int32_t change;
} words[] = {
    {"add", TRACE_INSTANCES, +1},      {"remove", TRACE_INSTANCES, -1},
    {"down", TRACE_FAULTS, -1},        {"up", TRACE_FAULTS, +1},
    {"fault_start", TRACE_FAULTS, -1}, {"fault_end", TRACE_FAULTS, +1},
};

int32_t avail_change(const struct trace_format *format, const char *text, size_t n,
                     const char **nearest)
{
    enum { WORDS = sizeof words / sizeof *words };
    const char *known[WORDS];
    size_t n_known = 0;
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i].rule != format->rule)
            continue;
        if (strlen(words[i].word) == n && memcmp(words[i].word, text, n) == 0)
            return words[i].change;
        known[n_known++] = words[i].word;
    }
    char word[64];
    snprintf(word, sizeof word, "%.*s", n > 63 ? 63 : (int)n, text);
    *nearest = diag_nearest(word, known, n_known);
    return 0;
}

enum hr_err avail_name(struct avail *a, struct avail_row *row, const char *node, size_t n)
{
    struct name name = names_take(&a->names, node, n);
    row->node = name.number;
    return name.text != NULL ? HR_OK : HR_NOMEM;
}

enum hr_err avail_cause(struct avail *a, struct avail_row *row, const char *cause, size_t n)
{
    row->cause = names_add(&a->causes, cause, n);
    return row->cause != NULL ? HR_OK : HR_NOMEM;
}

enum hr_err avail_add(struct avail *a, int64_t t, uint64_t hash, struct avail_row row)
{
    uint64_t key = order_flip(t);
    if (a->n == UINT32_MAX - 1)
        return HR_LIMIT;
    order_see(&a->order, key);
    return order_add(&a->order, key, hash, (uint32_t)a->n) && vec_push(a, row) ? HR_OK : HR_NOMEM;
}

/* A row that contradicts those before it in time. */
static void row_error(struct avail *a, struct avail_row *row, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void row_error(struct avail *a, struct avail_row *row, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    row->bad = true;
    if (a->n_errors++ == 0 || !a->spec->skip_bad_rows)
        diags_add(a->diags, a->spec->skip_bad_rows ? DIAG_WARNING : DIAG_ERROR,
                  (struct diag_place){.file = a->spec->path, .line = row->line}, NULL, NULL, "%s",
                  text);
}

static bool goes_on(const struct avail *a)
{
    return a->spec->skip_bad_rows || a->n_errors < TRACE_ERRORS_MAX;
}

/* --- from rows to changes ---------------------------------------------------------------- */

static enum hr_err change(struct avail *a, uint64_t t, uint32_t node, int32_t by, const char *cause)
{
    struct supply_event event = {.at_ns = t, .node = node, .change = by, .cause = cause};
    return vec_push(&a->events, event) ? HR_OK : HR_NOMEM;
}

/* What the last row of an instant says is so until the next instant. */
static enum hr_err apply_counts(struct avail *a, struct supply_trace *out)
{
    const struct order *o = &a->order;
    int32_t now = 0;
    for (size_t i = 0; i < o->n; i++) {
        uint64_t t = o->items[i].t;
        int32_t count = a->items[o->items[i].row].value;
        if (i + 1 < o->n && o->items[i + 1].t == t)
            continue;
        out->nodes = (uint32_t)count > out->nodes ? (uint32_t)count : out->nodes;
        if (t == o->items[0].t)
            out->up_at_start = (uint32_t)count;
        else if (count != now)
            TRY(change(a, t, SUPPLY_ANY_NODE, count - now, ""));
        now = count;
    }
    return HR_OK;
}

/* Instances in places: each name's place, and which places are taken. */
struct places {
    uint32_t *of_name; /* owned; UINT32_MAX: not there */
    uint32_t *line;    /* owned; of the row that brought it to where it is */
    bool *taken;       /* owned; as many as names */
    uint32_t lowest;   /* all below are taken */
    uint32_t n;
};

static enum hr_err add_instance(struct avail *a, struct places *p, uint64_t t,
                                struct avail_row *row)
{
    uint32_t *place = &p->of_name[row->node];
    if (*place != UINT32_MAX && a->spec->format->rule == TRACE_LOG)
        return HR_OK;
    if (*place != UINT32_MAX) {
        row_error(a, row, "this node was added already, in line %u", p->line[row->node]);
        return HR_OK;
    }
    while (p->taken[p->lowest])
        p->lowest++;
    *place = p->lowest;
    p->taken[*place] = true;
    p->n = *place >= p->n ? *place + 1 : p->n;
    return change(a, t, *place, +1, row->cause);
}

static enum hr_err remove_instance(struct avail *a, struct places *p, uint64_t t,
                                   struct avail_row *row)
{
    uint32_t place = p->of_name[row->node];
    if (place == UINT32_MAX && a->spec->format->rule == TRACE_LOG)
        return HR_OK;
    if (place == UINT32_MAX) {
        row_error(a, row, "this node is removed and was not there");
        return HR_OK;
    }
    p->of_name[row->node] = UINT32_MAX;
    p->taken[place] = false;
    p->lowest = place < p->lowest ? place : p->lowest;
    return change(a, t, place, -1, row->cause);
}

static enum hr_err fill_places(struct avail *a, struct places *p, struct supply_trace *out)
{
    for (size_t i = 0; i < a->names.n; i++)
        p->of_name[i] = UINT32_MAX;
    for (size_t i = 0; i < a->order.n && goes_on(a); i++) {
        struct avail_row *row = &a->items[a->order.items[i].row];
        uint64_t t = a->order.items[i].t;
        if (row->value == 0)
            continue;
        TRY(row->value > 0 ? add_instance(a, p, t, row) : remove_instance(a, p, t, row));
        p->line[row->node] = row->line;
    }
    out->nodes = p->n;
    return HR_OK;
}

static enum hr_err apply_instances(struct avail *a, struct supply_trace *out)
{
    size_t n = a->names.n;
    struct places p = {.of_name = calloc(n + 1, sizeof *p.of_name),
                       .line = calloc(n + 1, sizeof *p.line),
                       .taken = calloc(n + 1, sizeof *p.taken)};
    bool there = p.of_name != NULL && p.line != NULL && p.taken != NULL;
    enum hr_err err = there ? fill_places(a, &p, out) : HR_NOMEM;
    free(p.of_name);
    free(p.line);
    free(p.taken);
    return err;
}

/* open: faults of each node that have begun and not ended. */
static enum hr_err apply_open_faults(struct avail *a, uint32_t *open, struct supply_trace *out)
{
    for (size_t i = 0; i < a->order.n && goes_on(a); i++) {
        struct avail_row *row = &a->items[a->order.items[i].row];
        uint64_t t = a->order.items[i].t;
        if (row->value < 0) {
            if (open[row->node]++ == 0)
                TRY(change(a, t, row->node, -1, row->cause));
        } else if (open[row->node] == 0) {
            row_error(a, row, "this node comes up and was not down");
        } else if (--open[row->node] == 0) {
            TRY(change(a, t, row->node, +1, row->cause));
        }
    }
    out->nodes = (uint32_t)a->names.n;
    if (a->spec->nodes > out->nodes)
        out->nodes = a->spec->nodes;
    out->up_at_start = out->nodes;
    return HR_OK;
}

static enum hr_err apply_faults(struct avail *a, struct supply_trace *out)
{
    uint32_t *open = calloc(a->names.n, sizeof *open);
    enum hr_err err = open != NULL ? apply_open_faults(a, open, out) : HR_NOMEM;
    free(open);
    return err;
}

static enum hr_err apply(struct avail *a, struct supply_trace *out)
{
    switch (a->spec->format->rule) {
    case TRACE_COUNTS:
        return apply_counts(a, out);
    case TRACE_INSTANCES:
    case TRACE_LOG:
        return apply_instances(a, out);
    case TRACE_FAULTS:
        return apply_faults(a, out);
    }
    return HR_LIMIT;
}

/* --- the end of the file ----------------------------------------------------------------- */

/* Numbers of time are the trace's own clock: back from the first row to 0. */
static void restore_clock(struct avail *a, struct trace_report *report)
{
    uint64_t first = report->calendar ? 0 : (uint64_t)report->first_ns;
    for (size_t i = 0; i < a->order.n; i++)
        a->order.items[i].t += first;
    report->span_ns += first + a->tail_ns;
}

static enum hr_err check_nodes(const struct avail *a, const struct supply_trace *trace)
{
    uint32_t nodes = a->spec->nodes;
    if (nodes == 0 || nodes >= trace->nodes)
        return HR_OK;
    diags_add(a->diags, DIAG_ERROR, a->spec->place, a->spec->source, NULL,
              "%u nodes are stated, and %s has %u", nodes, a->spec->path, trace->nodes);
    return HR_INPUT;
}

static enum hr_err nothing_left(const struct avail *a, const struct trace_report *report)
{
    diags_add(a->diags, DIAG_ERROR, (struct diag_place){.file = a->spec->path}, NULL, NULL,
              "no event is left of %llu rows", (unsigned long long)report->rows_read);
    return HR_INPUT;
}

static enum hr_err make_trace(struct avail *a, struct supply_trace *out,
                              struct trace_report *report)
{
    struct trace_spec plain = *a->spec; /* what is for requests and jobs does not apply */
    plain.spread_ns = plain.from_ns = plain.until_ns = 0;
    TRY(order_finish(&a->order, &plain, report));
    if (a->order.n == 0)
        return nothing_left(a, report);
    restore_clock(a, report);
    TRY(apply(a, out));
    if (a->n_errors > 0 && !a->spec->skip_bad_rows)
        return HR_INPUT;
    report->dropped[TRACE_DROP_MALFORMED] += a->n_errors;
    report->rows_kept -= a->n_errors;
    if (report->rows_kept == 0)
        return nothing_left(a, report);
    TRY(check_nodes(a, out));
    out->nodes = a->spec->nodes > out->nodes ? a->spec->nodes : out->nodes;
    out->span_ns = report->span_ns;
    out->n = a->events.n;
    out->rows = arena_array(a->arena, out->n, sizeof *out->rows);
    if (out->rows == NULL)
        return HR_NOMEM;
    if (out->n > 0)
        memcpy(out->rows, a->events.items, out->n * sizeof *out->rows);
    return HR_OK;
}

static void note(const struct avail *a, const struct trace_report *r, struct notes *notes)
{
    const struct trace_supply_facts *f = &r->supply;
    bool counts = a->spec->format->rule == TRACE_COUNTS;
    report_note_order(r, notes);
    if (counts && r->long_gaps > 0)
        notes_add(notes, "times of an hour or more without a row: %llu, longest %.4g h",
                  (unsigned long long)r->long_gaps, sim_time_to_s(r->longest_gap_ns) / 3600);
    if ((counts || a->spec->format->rule == TRACE_LOG) && f->nodes == 0)
        notes_add(notes, "no node is ever up");
    if (f->zero_faults > 0)
        notes_add(notes, "faults of zero length: %llu", (unsigned long long)f->zero_faults);
    if (f->overlaps > 0)
        notes_add(notes, "faults of a node that was down: %llu; it is down until the last one ends",
                  (unsigned long long)f->overlaps);
    if (f->unrepaired > 0)
        notes_add(notes, "faults that do not end in the trace: %llu",
                  (unsigned long long)f->unrepaired);
    if (a->spec->format->rule == TRACE_FAULTS && a->spec->nodes == 0)
        notes_add(notes, "only nodes that failed are named: say how many there are");
}

static enum hr_err read_all(struct avail *a, struct notes *notes, struct supply_trace *out,
                            struct trace_report *report)
{
    if (a->spec->format->yields != TRACE_SUPPLY) {
        diags_add(a->diags, DIAG_ERROR, a->spec->place, a->spec->source, NULL,
                  "format '%s' holds %s, where supply is due", a->spec->format->name,
                  trace_yield_name((enum trace_yield)a->spec->format->yields));
        return HR_INPUT;
    }
    TRY(a->spec->format->layout == TRACE_JSON ? avail_read_json(a, report, notes)
                                              : avail_read_csv(a, report, notes));
    TRY(make_trace(a, out, report));
    TRY(avail_facts(out, &report->supply));
    report->supply.named = a->names.n;
    if (a->spec->format->rule == TRACE_FAULTS)
        TRY(avail_faults(a, out, &report->supply));
    note(a, report, notes);
    return report_notes(report, notes);
}

enum hr_err trace_read_supply(struct arena *arena, const struct trace_spec *spec,
                              struct diags *diags, struct supply_trace *out,
                              struct trace_report *report)
{
    struct avail a = {.spec = spec,
                      .arena = arena,
                      .diags = diags,
                      .names = {.arena = arena},
                      .causes = {.arena = arena}};
    struct notes notes = {.arena = arena};
    struct supply_trace trace = {0};
    struct trace_report filled = {.yields = TRACE_SUPPLY};
    enum hr_err err = read_all(&a, &notes, &trace, &filled);
    if (err == HR_OK) {
        *out = trace;
        *report = filled;
    }
    notes_free(&notes);
    order_free(&a.order);
    names_free(&a.names);
    names_free(&a.causes);
    vec_free(&a);
    vec_free(&a.events);
    return err;
}
