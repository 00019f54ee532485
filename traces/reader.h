/* Reader: the rows of a CSV file with a header, by named columns.
 *
 * It owns what all traces share: comment and blank lines, the byte order mark, the header, UTF-8,
 * the count of fields, and diagnostics that name file, line and column. A caller opens it, binds
 * slots (what it wants to read) to columns of the header, and pulls rows.
 *
 * A malformed row is an error and reading goes on to find more, up to TRACE_ERRORS_MAX. With
 * skip_bad_rows it is counted instead, and the first one is a warning. */
#ifndef HEADROOM_TRACES_READER_H
#define HEADROOM_TRACES_READER_H

#include "sim/arena.h"
#include "traces/csv.h"
#include "traces/input.h"
#include "traces/trace.h"
#include "traces/value.h"

/* One thing to read. */
struct reader_slot {
    const char *field;  /* what it is, for messages: "prompt_tokens" */
    const char *column; /* header name wanted; NULL: not wanted */
    uint64_t unit_ns;   /* of times; 0: a timestamp */
    bool required;
    int index; /* column number from 0, set by reader_bind; -1: absent */
};

struct reader {
    struct arena *arena; /* header names and texts */
    struct diags *diags;
    const char *path; /* for messages */
    bool skip_bad_rows;
    struct value_clock clock; /* of timestamps */

    struct input input; /* owned */
    struct csv_dialect dialect;
    bool semicolon_comments;
    struct csv_row row;
    struct csv_field *fields; /* owned, TRACE_COLUMNS_MAX */
    uint32_t line;            /* number of the row's first line, from 1 */
    uint32_t next_line;

    const char **names; /* header, arena */
    size_t n_names;
    uint32_t header_line;
    const char *header_source; /* arena */

    bool row_bad;  /* an error was found in this row */
    bool too_many; /* errors: reading has stopped */
    uint64_t n_errors, n_rows, n_bad_rows, n_blank_lines;
};

/* Nanoseconds of one of trace_units, 0 for timestamp; false when it is none. */
bool reader_unit(const char *unit, uint64_t *ns);

/* The slots of a spec, one a field, with the format's columns and units where the mapping says
 * nothing. HR_INPUT: described at the place of the spec. */
enum hr_err reader_slots(const struct trace_spec *spec, enum trace_yield yield, struct diags *diags,
                         struct reader_slot slots[TRACE_FIELDS]);

/* Opens the file and reads its header. HR_INPUT: described. reader_close in any case. */
enum hr_err reader_open(struct reader *r, struct arena *arena, struct diags *diags,
                        const char *path, char delimiter, struct diag_place place,
                        const char *source);
/* Likewise for a file without a header, whose columns are these. */
enum hr_err reader_open_columns(struct reader *r, struct arena *arena, struct diags *diags,
                                const char *path, char delimiter, struct diag_place place,
                                const char *source, const char *const *names, size_t n);
void reader_close(struct reader *r);

/* Where the slot wants "time" and the header has time_s, time_min, t_h, ...: takes that name and
 * unit and says so. */
bool reader_time_column(const struct reader *r, struct reader_slot *slot);

/* Finds the column of each slot; HR_INPUT when a required one is missing or named twice. */
enum hr_err reader_bind(struct reader *r, struct reader_slot *slots, size_t n_slots);

/* The next row with as many fields as the header; *more is false at the end. HR_INPUT: what makes
 * further reading senseless. Errors in single rows show in reader_end. */
enum hr_err reader_next(struct reader *r, bool *more);

/* After the last row: HR_INPUT when an error was found. */
enum hr_err reader_end(const struct reader *r);

/* Describes what is wrong at the given byte of the row. */
void reader_error(struct reader *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with the right word that is nearest, or NULL. */
void reader_error_near(struct reader *r, const char *at, const char *nearest, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* --- values of the current row: false after an error was reported -------------------------- */

static inline const struct csv_field *reader_field(const struct reader *r,
                                                   const struct reader_slot *s)
{
    return s->index < 0 ? NULL : &r->fields[s->index];
}

/* Absent columns and empty fields. */
static inline bool reader_empty(const struct reader *r, const struct reader_slot *s)
{
    const struct csv_field *f = reader_field(r, s);
    if (f == NULL)
        return true;
    if (f->n > 0 && f->text[0] > ' ')
        return false;
    const char *text = f->text;
    size_t n = f->n;
    value_trim(&text, &n);
    return n == 0;
}

/* Reports a fault of a slot's value; true when there is none. */
bool reader_check(struct reader *r, const struct reader_slot *s, enum value_fault fault);

/* A point in time in nanoseconds: since 1970 for timestamps, else on the file's own clock. */
bool reader_point(struct reader *r, const struct reader_slot *s, int64_t *ns);
bool reader_length(struct reader *r, const struct reader_slot *s, uint64_t *ns);
bool reader_whole(struct reader *r, const struct reader_slot *s, uint64_t max, uint64_t *out);

/* The field's text without blanks around it and with doubled quotes made single, in the arena; NULL
 * when memory is out. */
char *reader_text(struct reader *r, const struct reader_slot *s);

#endif
