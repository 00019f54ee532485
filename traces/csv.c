/* See csv.h. The loop over an unquoted field is the hot path of every trace: one table look-up and
 * one branch a byte. */
#include "traces/csv.h"

#include <string.h>

enum { PLAIN, DELIMITER, NEWLINE, HIGH, NUL };

void csv_dialect_init(struct csv_dialect *d, char delimiter)
{
    memset(d->class_of, PLAIN, sizeof d->class_of);
    memset(d->class_of + 0x80, HIGH, 0x80);
    d->class_of[0] = NUL;
    d->class_of['\n'] = NEWLINE;
    d->class_of[(unsigned char)delimiter] = DELIMITER;
}

static inline void add_field(struct csv_row *row, const char *text, const char *end, bool doubled)
{
    if (row->n_fields < row->max_fields)
        row->fields[row->n_fields] =
            (struct csv_field){.text = text, .n = (uint32_t)(end - text), .doubled = doubled};
    row->n_fields++;
}

/* A CR before the end of a line or of the text belongs to the line end. */
static inline const char *before_cr(const char *start, const char *end)
{
    return end > start && end[-1] == '\r' ? end - 1 : end;
}

/* Ends the row before the line end at end, which has n bytes (0 at the end of the text). */
static enum csv_status finish(struct csv_row *row, const char *end, size_t n, bool after)
{
    row->n = (size_t)(before_cr(row->text, end) - row->text);
    row->n_taken = (size_t)(end - row->text) + n;
    row->n_lines += n > 0;
    return after ? CSV_AFTER : CSV_ROW;
}

/* The closing quote of the field whose text starts at p; the NUL byte that comes before it; end
 * when there is neither. */
static const char *closing_quote(const struct csv_dialect *d, const char *p, const char *end,
                                 struct csv_row *row, bool *doubled)
{
    for (; p < end; p++) {
        if (*p == '"') {
            if (p + 1 < end && p[1] == '"') {
                *doubled = true;
                p++;
                continue;
            }
            return p;
        }
        uint8_t class = d->class_of[(unsigned char)*p];
        row->high |= class == HIGH;
        row->n_lines += *p == '\n';
        if (class == NUL)
            return p;
    }
    return end;
}

/* Next delimiter, line end or NUL at or after p; end when there is none. */
static inline const char *scan(const struct csv_dialect *d, const char *p, const char *end,
                               struct csv_row *row)
{
    for (; p < end; p++) {
        uint8_t class = d->class_of[(unsigned char)*p];
        if (class != PLAIN) {
            if (class != HIGH)
                return p;
            row->high = true;
        }
    }
    return end;
}

/* Reads the quoted field at *p and moves *p behind it, to the delimiter, line end or end. */
static enum csv_status quoted(const struct csv_dialect *d, const char **p, const char *end,
                              bool last, struct csv_row *row, bool *after)
{
    const char *open = *p;
    bool doubled = false;
    const char *close = closing_quote(d, open + 1, end, row, &doubled);
    if (close == end || (close + 1 == end && !last)) {
        row->at = open;
        return last ? CSV_UNCLOSED : CSV_MORE;
    }
    if (*close == '\0') {
        row->at = close;
        return CSV_NUL;
    }
    add_field(row, open + 1, close, doubled);
    const char *stop = scan(d, close + 1, end, row);
    bool line_end = stop == end || *stop == '\n';
    const char *text_stop = line_end ? before_cr(close + 1, stop) : stop;
    if (text_stop != close + 1 && !*after) {
        *after = true;
        row->at = close + 1;
    }
    *p = stop;
    return CSV_ROW;
}

enum csv_status csv_split(const struct csv_dialect *d, const char *text, const char *end, bool last,
                          struct csv_row *row)
{
    row->n_fields = 0;
    row->text = text;
    row->n_lines = 0;
    row->high = false;
    row->at = NULL;
    bool after = false;
    for (const char *p = text;;) {
        if (p < end && *p == '"') {
            enum csv_status s = quoted(d, &p, end, last, row, &after);
            if (s != CSV_ROW)
                return s;
        } else {
            const char *start = p;
            p = scan(d, start, end, row);
            bool line_end = p == end || *p == '\n';
            add_field(row, start, line_end ? before_cr(start, p) : p, false);
        }
        if (p == end)
            return last ? finish(row, end, 0, after) : CSV_MORE;
        if (*p == '\n')
            return finish(row, p, 1, after);
        if (*p == '\0') {
            row->at = p;
            return CSV_NUL;
        }
        p++; /* the delimiter */
    }
}

size_t csv_unescape(const struct csv_field *f, char *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        out[n++] = f->text[i];
        if (f->doubled && f->text[i] == '"' && i + 1 < f->n)
            i++;
    }
    out[n] = '\0';
    return n;
}
