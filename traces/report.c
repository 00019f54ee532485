/* The report of a trace, filled from the reader and the keys at the end of a file. */
#include "traces/report.h"

#include "sim/time.h"
#include "sim/vec.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct trace_drop_info trace_drops[TRACE_DROPS] = {
    [TRACE_DROP_MALFORMED] = {"malformed", "malformed rows, skipped as asked"},
    [TRACE_DROP_NO_TIME] = {"no_time", "no time"},
    [TRACE_DROP_ZERO_TOKENS] = {"zero_tokens", "no prompt or no output tokens"},
    [TRACE_DROP_NO_GPUS] = {"no_gpus", "no GPUs"},
    [TRACE_DROP_NEVER_STARTED] = {"never_started", "never started"},
    [TRACE_DROP_ZERO_DURATION] = {"zero_duration", "no run time"},
    [TRACE_DROP_TENANT] = {"tenant", "other tenants, left out as asked"},
    [TRACE_DROP_GPU_RANGE] = {"gpu_range", "other sizes, left out as asked"},
    [TRACE_DROP_WINDOW] = {"window", "other times, left out as asked"},
    [TRACE_DROP_DUPLICATE] = {"duplicate", "equal to an earlier row, left out as asked"},
    [TRACE_DROP_SERIES] = {"series", "prices of other series, left out as asked"},
};

void report_zone(char out[8], int32_t zone_s)
{
    unsigned minutes = (unsigned)(zone_s < 0 ? -zone_s : zone_s) / 60;
    snprintf(out, 8, "%c%02u:%02u", zone_s < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
}

/* --- notes ------------------------------------------------------------------------------- */

/* Column names and states come from the file: no control character of theirs reaches a terminal. */
static void make_safe(char *text)
{
    unsigned char *p = (unsigned char *)text;
    for (; *p != '\0'; p++) {
        bool c1 = p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f;
        if (*p < ' ' || *p == 0x7f || c1)
            *p = '?';
        if (c1)
            p[1] = '?';
    }
}

void notes_add(struct notes *notes, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_safe(text);
    const char *copy = arena_strdup(notes->arena, text);
    notes->failed |= copy == NULL || !vec_push(notes, copy);
}

enum hr_err report_notes(struct trace_report *report, struct notes *notes)
{
    const char **copy = arena_array(notes->arena, notes->n, sizeof *copy);
    if (notes->failed || copy == NULL)
        return HR_NOMEM;
    for (size_t i = 0; i < notes->n; i++)
        copy[i] = notes->items[i];
    report->notes = copy;
    report->n_notes = notes->n;
    return HR_OK;
}

void notes_free(struct notes *notes)
{
    vec_free(notes);
}

/* Names of the header that no slot reads. */
static void note_columns(const struct reader *r, const struct reader_slot slots[TRACE_FIELDS],
                         struct notes *notes)
{
    char list[400] = "";
    size_t used = 0, more = 0;
    for (size_t i = 0; i < r->n_names; i++) {
        bool wanted = false;
        for (int f = 0; f < TRACE_FIELDS; f++)
            wanted = wanted || slots[f].index == (int)i;
        if (wanted)
            continue;
        size_t n = strlen(r->names[i]) + 2;
        if (more > 0 || used + n >= sizeof list)
            more++;
        else
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                                     r->names[i]);
    }
    if (more > 0)
        notes_add(notes, "columns not used: %s and %zu more", list, more);
    else if (used > 0)
        notes_add(notes, "columns not used: %s", list);
}

static void note_zone(const struct trace_spec *spec, const struct trace_report *r,
                      struct notes *notes)
{
    char zone[8];
    if (!r->naive)
        return;
    report_zone(zone, r->zone_s);
    if (spec->zone_declared)
        notes_add(notes, "times without a zone are read as %s, as declared", zone);
    else
        notes_add(notes, "times without a zone are read as UTC; declare one if they are local");
}

/* How many rows stand at the very first instant. */
static size_t at_start(const struct order *o)
{
    size_t n = 0;
    while (n < o->n && o->items[n].t == 0)
        n++;
    return n;
}

void report_note_order(const struct trace_report *r, struct notes *notes)
{
    if (r->inversions > 0)
        notes_add(notes, "%llu of %llu rows are earlier than the row before: sorted",
                  (unsigned long long)r->inversions, (unsigned long long)r->rows_read);
    if (r->duplicates > 0)
        notes_add(notes, "rows equal to an earlier one: %llu, %s",
                  (unsigned long long)r->duplicates,
                  r->dropped[TRACE_DROP_DUPLICATE] > 0 ? "dropped" : "kept");
}

static void note_times(const struct trace_report *r, const struct order *o, struct notes *notes)
{
    bool requests = r->yields == TRACE_REQUESTS;
    size_t standing = at_start(o);
    report_note_order(r, notes);
    if (standing >= 10 && standing >= o->n / 100)
        notes_add(notes, "%zu rows stand at the first instant: load from before the recording",
                  standing);
    if (r->long_gaps > 0)
        notes_add(notes, "gaps of %s or more without a row: %llu, %.4g %s in all, longest %.4g %s",
                  requests ? "a minute" : "6 hours", (unsigned long long)r->long_gaps,
                  sim_time_to_s(r->long_gaps_ns) / (requests ? 60 : 3600), requests ? "min" : "h",
                  sim_time_to_s(r->longest_gap_ns) / (requests ? 60 : 3600),
                  requests ? "min" : "h");
}

/* --- filling ----------------------------------------------------------------------------- */

void report_note_reader(const struct trace_report *report, const struct trace_spec *spec,
                        const struct reader *r, const struct reader_slot slots[TRACE_FIELDS],
                        struct notes *notes)
{
    note_columns(r, slots, notes);
    note_zone(spec, report, notes);
    if (r->n_blank_lines > 0)
        notes_add(notes, "blank lines: %llu", (unsigned long long)r->n_blank_lines);
}

enum hr_err report_reader(struct trace_report *report, const struct trace_spec *spec,
                          struct reader *r, const struct reader_slot *time)
{
    input_sha256(&r->input, report->sha256);
    report->path = arena_strdup(r->arena, spec->path);
    report->format = spec->format->name;
    report->bytes = r->input.n_file_bytes;
    report->rows_read = r->n_rows;
    report->dropped[TRACE_DROP_MALFORMED] = r->n_bad_rows;
    report->calendar = time->unit_ns == 0;
    report->naive = r->clock.naive;
    report->zone_s = spec->zone_s;
    return report->path != NULL ? HR_OK : HR_NOMEM;
}

static enum hr_err nothing_left(const struct trace_report *report, const struct reader *r)
{
    struct diag_place at = {.file = r->path, .line = r->header_line};
    const char *what = report->yields == TRACE_JOBS ? "job" : "request";
    if (r->n_rows == 0) {
        diags_add(r->diags, DIAG_ERROR, at, r->header_source, NULL,
                  "no %ss: nothing follows the header", what);
        return HR_INPUT;
    }
    int most = 0;
    for (int i = 1; i < TRACE_DROPS; i++)
        if (report->dropped[i] > report->dropped[most])
            most = i;
    at.line = 0;
    diags_add(r->diags, DIAG_ERROR, at, NULL, NULL, "no %s is left of %llu rows: %llu dropped (%s)",
              what, (unsigned long long)r->n_rows, (unsigned long long)report->dropped[most],
              trace_drops[most].doc);
    return HR_INPUT;
}

enum hr_err report_rows(struct trace_report *report, const struct trace_spec *spec,
                        struct reader *r, const struct reader_slot slots[TRACE_FIELDS],
                        struct order *order, struct notes *notes)
{
    enum trace_field time = report->yields == TRACE_JOBS ? TRACE_SUBMIT : TRACE_ARRIVAL;
    TRY(report_reader(report, spec, r, &slots[time]));
    TRY(order_finish(order, spec, report));
    if (report->rows_kept == 0)
        return nothing_left(report, r);
    note_times(report, order, notes);
    report_note_reader(report, spec, r, slots, notes);
    return HR_OK;
}

struct trace_load trace_offered_load(const struct trace_report *r, double fleet_gpus)
{
    struct trace_load load = {.gpu_hours = r->gpu_hours,
                              .fleet_gpu_hours = fleet_gpus * sim_time_to_s(r->span_ns) / 3600};
    load.share = load.fleet_gpu_hours > 0 ? load.gpu_hours / load.fleet_gpu_hours : NAN;
    if (load.share < 0.05)
        load.warning = "the jobs offer under 5 % of the fleet: it will stand idle";
    if (load.share > 1)
        load.warning = "the jobs offer over 100 % of the fleet: their queue grows without end";
    return load;
}
