/* CSV: one row of RFC 4180 text at a time, split in place without copying.
 *
 * A field that starts with a double quote runs to the closing quote and may hold delimiters, line
 * ends and doubled quotes; a quote inside any other field is plain data. A row ends at LF, at CRLF
 * or at the end of the text (where a lone CR is part of the line end too). The splitter passes over
 * each byte once and looks it up in a table of 256 classes, so the delimiter is data and costs
 * nothing. */
#ifndef HEADROOM_TRACES_CSV_H
#define HEADROOM_TRACES_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A field without its quotes. Doubled quotes inside are left as they are and marked. */
struct csv_field {
    const char *text; /* not terminated */
    uint32_t n;
    bool doubled;
};

struct csv_dialect {
    uint8_t class_of[256];
};

void csv_dialect_init(struct csv_dialect *d, char delimiter);

enum csv_status {
    CSV_ROW,
    CSV_MORE,     /* the text ends within the row */
    CSV_UNCLOSED, /* the text is over and a quote is open; at is the quote */
    CSV_AFTER,    /* something stands between a closing quote and the delimiter, at at */
    CSV_NUL       /* a NUL byte, at at */
};

struct csv_row {
    struct csv_field *fields; /* room for max_fields, the caller's */
    size_t n_fields;          /* of the row, which may be more than max_fields: those are lost */
    size_t max_fields;
    const char *text; /* first byte of the row */
    size_t n;         /* its length without the line end */
    size_t n_taken;   /* its length with the line end */
    uint32_t n_lines; /* line ends in it, at least 1 unless the text ended */
    bool high;        /* holds bytes above 0x7f: UTF-8 is to be checked */
    const char *at;   /* of a failure */
};

/* Splits the row that starts at text. last: nothing follows end. text must not be empty. On
 * CSV_AFTER the row is still taken to its end, so reading can go on. */
enum csv_status csv_split(const struct csv_dialect *d, const char *text, const char *end, bool last,
                          struct csv_row *row);

/* Writes the field with doubled quotes made single, n + 1 bytes at most; returns the length. */
size_t csv_unescape(const struct csv_field *f, char *out);

#endif
