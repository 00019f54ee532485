/* See reader.h. */
#include "traces/reader.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- diagnostics ------------------------------------------------------------------------- */

/* Characters before at on its line, counted as UTF-8 (continuation bytes do not count). */
static uint32_t column_of(const char *line, const char *at)
{
    uint32_t column = 1;
    for (const char *p = line; p < at; p++)
        column += ((unsigned char)*p & 0xc0) != 0x80;
    return column;
}

/* Copy of the line from start to the line end or stop; NULs would cut it short, so they become
 * question marks. */
static char *copy_line(const char *start, const char *stop)
{
    const char *end = memchr(start, '\n', (size_t)(stop - start));
    if (end == NULL)
        end = stop;
    if (end > start && end[-1] == '\r')
        end--;
    size_t n = (size_t)(end - start);
    char *copy = malloc(n + 1);
    if (copy == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        copy[i] = start[i] == '\0' ? '?' : start[i];
    copy[n] = '\0';
    return copy;
}

static void add_at(struct reader *r, enum diag_level level, const char *at, const char *nearest,
                   const char *format, va_list args) __attribute__((format(printf, 5, 0)));

static void add_at(struct reader *r, enum diag_level level, const char *at, const char *nearest,
                   const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    const char *line = r->row.text; /* a quoted field may put at on a later line */
    uint32_t number = r->line;
    for (const char *p = line; p < at; p++)
        if (*p == '\n') {
            line = p + 1;
            number++;
        }
    char *source = copy_line(line, r->input.window + r->input.n);
    diags_add(r->diags, level,
              (struct diag_place){.file = r->path, .line = number, .column = column_of(line, at)},
              source, nearest, "%s", text);
    free(source);
}

/* The last error kept says that it is the last. */
static void stop_if_too_many(struct reader *r)
{
    if (++r->n_errors < TRACE_ERRORS_MAX - 1)
        return;
    r->too_many = true;
    r->n_errors++;
    diags_add(r->diags, DIAG_ERROR, (struct diag_place){.file = r->path, .line = r->line}, NULL,
              NULL, "too many errors: the rest of the file is not read");
}

static void row_error(struct reader *r, const char *at, const char *nearest, const char *format,
                      va_list args) __attribute__((format(printf, 4, 0)));

static void row_error(struct reader *r, const char *at, const char *nearest, const char *format,
                      va_list args)
{
    if (!r->skip_bad_rows)
        add_at(r, DIAG_ERROR, at, nearest, format, args);
    else if (r->n_bad_rows == 0 && !r->row_bad)
        add_at(r, DIAG_WARNING, at, nearest, format, args);
    r->row_bad = true;
    if (!r->skip_bad_rows)
        stop_if_too_many(r);
}

void reader_error(struct reader *r, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    row_error(r, at, NULL, format, args);
    va_end(args);
}

void reader_error_near(struct reader *r, const char *at, const char *nearest, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    row_error(r, at, nearest, format, args);
    va_end(args);
}

/* An error after which no row can be trusted, whatever skip_bad_rows says. */
static enum hr_err fatal(struct reader *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum hr_err fatal(struct reader *r, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_at(r, DIAG_ERROR, at, NULL, format, args);
    va_end(args);
    r->n_errors++;
    return HR_INPUT;
}

/* --- rows of any kind -------------------------------------------------------------------- */

static enum hr_err fill(struct reader *r)
{
    enum hr_err err = input_fill(&r->input, r->path, r->diags);
    if (err == HR_IO)
        diags_add(r->diags, DIAG_ERROR, (struct diag_place){.file = r->path}, NULL, NULL,
                  "reading the file failed");
    return err;
}

static enum hr_err split_fault(struct reader *r, enum csv_status status)
{
    if (status == CSV_NUL)
        return fatal(r, r->row.at, "NUL byte: this is not a text file");
    if (status == CSV_UNCLOSED)
        return fatal(r, r->row.at, "the quote that opens here is never closed");
    return fatal(r, r->row.text, "a line of more than %d bytes", INPUT_WINDOW);
}

/* Splits the next row, whatever it holds; *more is false at the end of the file. */
static enum hr_err take_row(struct reader *r, bool *more)
{
    struct input *in = &r->input;
    enum csv_status status = CSV_MORE;
    *more = false;
    while (status == CSV_MORE) {
        if (in->start == in->n && in->over)
            return HR_OK;
        if (in->start < in->n)
            status = csv_split(&r->dialect, in->window + in->start, in->window + in->n, in->over,
                               &r->row);
        if (status != CSV_MORE)
            break;
        if (in->start == 0 && in->n == INPUT_WINDOW)
            return split_fault(r, CSV_MORE);
        TRY(fill(r));
    }
    r->line = r->next_line;
    if (status != CSV_ROW && status != CSV_AFTER)
        return split_fault(r, status);
    in->start += r->row.n_taken;
    r->next_line += r->row.n_lines;
    r->row_bad = false;
    if (status == CSV_AFTER)
        reader_error(r, r->row.at, "text between a closing quote and the next delimiter");
    *more = true;
    return HR_OK;
}

/* Comment lines are taken whole before anything in them is split: a quote in a comment is just a
 * quote. */
static enum hr_err skip_comment(struct reader *r, bool *skipped)
{
    struct input *in = &r->input;
    *skipped = false;
    if (in->start == in->n && !in->over)
        TRY(fill(r));
    if (in->start == in->n)
        return HR_OK;
    char c = in->window[in->start];
    if (c != '#' && (c != ';' || !r->semicolon_comments))
        return HR_OK;
    *skipped = true;
    r->line = r->next_line++;
    for (;;) {
        const char *start = in->window + in->start;
        const char *end = memchr(start, '\n', in->n - in->start);
        if (end != NULL) {
            in->start = (size_t)(end + 1 - in->window);
            return HR_OK;
        }
        in->start = in->n; /* a comment may be longer than the window */
        if (in->over)
            return HR_OK;
        TRY(fill(r));
    }
}

static bool is_blank(const struct csv_row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->text[i] != ' ' && row->text[i] != '\t')
            return false;
    return true;
}

/* The next row that is neither a comment nor blank. */
static enum hr_err next_filled(struct reader *r, bool *more)
{
    for (;;) {
        bool skipped;
        TRY(skip_comment(r, &skipped));
        if (skipped)
            continue;
        TRY(take_row(r, more));
        if (!*more || !is_blank(&r->row))
            return HR_OK;
        r->n_blank_lines++;
    }
}

static bool check_utf8(struct reader *r)
{
    size_t at = value_utf8_fault(r->row.text, r->row.n);
    if (at == r->row.n)
        return true;
    reader_error(r, r->row.text + at, "invalid UTF-8 (byte 0x%02x)",
                 (unsigned)(unsigned char)r->row.text[at]);
    return false;
}

/* --- header ------------------------------------------------------------------------------ */

static enum hr_err check_mark(struct reader *r)
{
    struct input *in = &r->input;
    const char *p = in->window;
    r->row.text = p;
    r->line = 1;
    if (in->n >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0))
        return fatal(r, p, "UTF-16 text: save the file as UTF-8");
    if (in->n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        in->start = 3;
    return HR_OK;
}

static char *field_text(struct reader *r, const struct csv_field *f)
{
    struct csv_field trimmed = *f;
    size_t n = f->n;
    value_trim(&trimmed.text, &n);
    trimmed.n = (uint32_t)n;
    if (!f->doubled)
        return arena_strndup(r->arena, trimmed.text, n);
    char *copy = arena_alloc(r->arena, n + 1);
    if (copy != NULL)
        csv_unescape(&trimmed, copy);
    return copy;
}

static enum hr_err read_header(struct reader *r)
{
    bool more;
    TRY(next_filled(r, &more));
    if (!more) {
        diags_add(r->diags, DIAG_ERROR, (struct diag_place){.file = r->path, .line = r->next_line},
                  NULL, NULL, "no header: the file has no line that names the columns");
        return HR_INPUT;
    }
    if (r->row_bad || (r->row.high && !check_utf8(r)))
        return HR_INPUT;
    if (r->row.n_fields > TRACE_COLUMNS_MAX)
        return fatal(r, r->row.text, "a header of %zu columns (at most %d)", r->row.n_fields,
                     TRACE_COLUMNS_MAX);
    r->header_line = r->line;
    r->header_source = arena_strndup(r->arena, r->row.text, r->row.n);
    r->names = arena_array(r->arena, r->row.n_fields, sizeof *r->names);
    if (r->names == NULL || r->header_source == NULL)
        return HR_NOMEM;
    for (r->n_names = 0; r->n_names < r->row.n_fields; r->n_names++) {
        char *name = field_text(r, &r->fields[r->n_names]);
        if (name == NULL)
            return HR_NOMEM;
        r->names[r->n_names] = name;
    }
    return HR_OK;
}

static enum hr_err open_file(struct reader *r, struct arena *arena, struct diags *diags,
                             const char *path, char delimiter, struct diag_place place,
                             const char *source)
{
    *r = (struct reader){.arena = arena, .diags = diags, .path = path, .next_line = 1};
    if (delimiter == '\0')
        delimiter = ',';
    csv_dialect_init(&r->dialect, delimiter);
    r->semicolon_comments = delimiter != ';';
    enum hr_err err = input_open(&r->input, path, place, source, diags);
    if (err == HR_IO)
        diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
                  "reading the file failed");
    TRY(err);
    r->fields = malloc(TRACE_COLUMNS_MAX * sizeof *r->fields);
    if (r->fields == NULL)
        return HR_NOMEM;
    r->row.fields = r->fields;
    r->row.max_fields = TRACE_COLUMNS_MAX;
    return check_mark(r);
}

enum hr_err reader_open(struct reader *r, struct arena *arena, struct diags *diags,
                        const char *path, char delimiter, struct diag_place place,
                        const char *source)
{
    TRY(open_file(r, arena, diags, path, delimiter, place, source));
    return read_header(r);
}

enum hr_err reader_open_columns(struct reader *r, struct arena *arena, struct diags *diags,
                                const char *path, char delimiter, struct diag_place place,
                                const char *source, const char *const *names, size_t n)
{
    TRY(open_file(r, arena, diags, path, delimiter, place, source));
    r->names = arena_array(arena, n, sizeof *r->names);
    if (r->names == NULL)
        return HR_NOMEM;
    for (r->n_names = 0; r->n_names < n; r->n_names++)
        r->names[r->n_names] = names[r->n_names];
    return HR_OK;
}

void reader_close(struct reader *r)
{
    input_close(&r->input);
    free(r->fields);
    r->fields = NULL;
}

static size_t count_name(const struct reader *r, const char *name, int *last)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_names; i++)
        if (strcmp(r->names[i], name) == 0) {
            n++;
            *last = (int)i;
        }
    return n;
}

static bool is_time_with_unit(const char *name, uint64_t *unit_ns)
{
    const char *unit = strncmp(name, "time_", 5) == 0 ? name + 5
                       : strncmp(name, "t_", 2) == 0  ? name + 2
                                                      : "";
    return reader_unit(unit, unit_ns) && *unit_ns > 0;
}

bool reader_time_column(const struct reader *r, struct reader_slot *slot)
{
    for (size_t i = 0; i < r->n_names && strcmp(slot->column, "time") == 0; i++) {
        uint64_t unit_ns;
        if (!is_time_with_unit(r->names[i], &unit_ns))
            continue;
        slot->column = r->names[i];
        slot->unit_ns = unit_ns;
        return true;
    }
    return false;
}

/* A file without a header shows as missing columns under a first row of numbers. */
static const char *header_hint(const struct reader *r)
{
    char c = r->names[0][0];
    return c >= '0' && c <= '9' ? " (the first line must name the columns)" : "";
}

enum hr_err reader_bind(struct reader *r, struct reader_slot *slots, size_t n_slots)
{
    enum hr_err err = HR_OK;
    struct diag_place at = {.file = r->path, .line = r->header_line, .column = 1};
    for (size_t i = 0; i < n_slots; i++) {
        struct reader_slot *s = &slots[i];
        s->index = -1;
        if (s->column == NULL)
            continue;
        size_t n = count_name(r, s->column, &s->index);
        if (n == 0 && s->required) {
            diags_add(r->diags, DIAG_ERROR, at, r->header_source,
                      diag_nearest(s->column, r->names, r->n_names), "missing column '%s' (%s)%s",
                      s->column, s->field, header_hint(r));
            err = HR_INPUT;
        } else if (n > 1) {
            diags_add(r->diags, DIAG_ERROR, at, r->header_source, NULL,
                      "column '%s' (%s) appears %zu times", s->column, s->field, n);
            err = HR_INPUT;
        }
    }
    return err;
}

/* --- data rows --------------------------------------------------------------------------- */

static void check_row(struct reader *r)
{
    const struct csv_row *row = &r->row;
    if (row->high && !check_utf8(r))
        return;
    if (row->n_fields < r->n_names)
        reader_error(r, row->text + row->n, "truncated row: %zu of %zu fields, '%s' is missing",
                     row->n_fields, r->n_names, r->names[row->n_fields]);
    else if (row->n_fields > r->n_names)
        reader_error(r, r->n_names < TRACE_COLUMNS_MAX ? r->fields[r->n_names].text : row->text,
                     "%zu fields where the header has %zu", row->n_fields, r->n_names);
}

enum hr_err reader_next(struct reader *r, bool *more)
{
    do {
        if (r->row_bad)
            r->n_bad_rows++;
        *more = false;
        if (r->too_many)
            return HR_OK;
        TRY(next_filled(r, more));
        if (!*more)
            return HR_OK;
        r->n_rows++;
        if (!r->row_bad)
            check_row(r);
    } while (r->row_bad);
    return HR_OK;
}

enum hr_err reader_end(const struct reader *r)
{
    return r->n_errors > 0 ? HR_INPUT : HR_OK;
}

/* --- values ------------------------------------------------------------------------------ */

bool reader_check(struct reader *r, const struct reader_slot *s, enum value_fault fault)
{
    if (fault == VALUE_OK)
        return true;
    const struct csv_field *f = reader_field(r, s);
    if (fault == VALUE_EMPTY)
        reader_error(r, f->text, "%s is empty", s->field);
    else
        reader_error(r, f->text, "%s '%.*s' %s", s->field, f->n > 40 ? 40 : (int)f->n, f->text,
                     value_fault_text[fault]);
    return false;
}

bool reader_point(struct reader *r, const struct reader_slot *s, int64_t *ns)
{
    const struct csv_field *f = reader_field(r, s);
    if (s->unit_ns == 0)
        return reader_check(r, s, value_timestamp(f->text, f->n, &r->clock, ns));
    uint64_t v;
    enum value_fault fault = value_scaled(f->text, f->n, s->unit_ns, &v);
    if (fault == VALUE_OK && v > INT64_MAX / 2)
        fault = VALUE_TOO_LARGE;
    if (fault == VALUE_OK)
        *ns = (int64_t)v;
    return reader_check(r, s, fault);
}

bool reader_length(struct reader *r, const struct reader_slot *s, uint64_t *ns)
{
    const struct csv_field *f = reader_field(r, s);
    enum value_fault fault = value_scaled(f->text, f->n, s->unit_ns, ns);
    if (fault == VALUE_OK && *ns > INT64_MAX / 2)
        fault = VALUE_TOO_LARGE;
    return reader_check(r, s, fault);
}

bool reader_whole(struct reader *r, const struct reader_slot *s, uint64_t max, uint64_t *out)
{
    const struct csv_field *f = reader_field(r, s);
    return reader_check(r, s, value_whole(f->text, f->n, max, out));
}

char *reader_text(struct reader *r, const struct reader_slot *s)
{
    return field_text(r, reader_field(r, s));
}
