/* The rows of a small CSV file of the source tree, quotes understood; a fault fails the test. */
#ifndef HEADROOM_TESTS_MODELS_CSV_LINES_H
#define HEADROOM_TESTS_MODELS_CSV_LINES_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { CSV_COLUMNS = 24, CSV_LINE = 1024 };

struct csv_line {
    char text[CSV_LINE];
    char *cell[CSV_COLUMNS];
    size_t n;
};

static inline void csv_cut(struct csv_line *l)
{
    char *at = l->text;
    at[strcspn(at, "\r\n")] = 0;
    l->n = 0;
    for (bool more = true; more;) {
        cr_assert_lt(l->n, (size_t)CSV_COLUMNS);
        const bool quoted = *at == '"';
        at += quoted;
        l->cell[l->n++] = at;
        at += strcspn(at, quoted ? "\"" : ",");
        if (quoted) {
            cr_assert_eq(*at, '"');
            *at++ = 0;
        }
        more = *at == ',';
        *at++ = 0;
    }
}

/* Reads path (from the source root) after its header; returns the number of rows. */
static inline size_t csv_lines(const char *path, struct csv_line *lines, size_t most)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s", TEST_SOURCE_ROOT, path);
    FILE *f = fopen(name, "r");
    cr_assert_not_null(f, "%s", name);
    char header[CSV_LINE];
    size_t n = 0;
    cr_assert_not_null(fgets(header, sizeof header, f));
    for (; n < most && fgets(lines[n].text, CSV_LINE, f); n++)
        csv_cut(&lines[n]);
    fclose(f);
    return n;
}

#endif
