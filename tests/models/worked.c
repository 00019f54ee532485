/* Reading of tests/data. */
#include "worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_data(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/data/%s", TEST_SOURCE_ROOT, name);
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s cannot be read", path);
    return f;
}

static bool find(const char *worksheet, int number, const char *kind, const char *name,
                 double *value)
{
    char key[256], line[256];
    snprintf(key, sizeof key, "%s,%d,%s,%s,", worksheet, number, kind, name);
    FILE *f = open_data("worked_examples.csv");
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        found = strncmp(line, key, strlen(key)) == 0;
        if (found) {
            const char *text = line + strlen(key);
            *value = strncmp(text, "none", 4) == 0 ? NAN : strtod(text, NULL);
        }
    }
    fclose(f);
    return found;
}

double worked_in(const char *worksheet, int number, const char *name)
{
    double value;
    return find(worksheet, number, "in", name, &value) ? value : NAN;
}

void worked_check(const char *worksheet, int number, const char *name, double got)
{
    double want;
    cr_assert(find(worksheet, number, "out", name, &want), "%s has no %s", worksheet, name);
    bool same = got == want || (isnan(got) && isnan(want)) ||
                fabs(got - want) <= fmax(1e-9, 1e-6 * fabs(want));
    cr_assert(same, "%s, case %d, %s: %.12g for %.12g", worksheet, number, name, got, want);
}

/* Splits a line into cells; returns how many. */
static size_t split(const char *line, char cells[TABLE_COLUMNS][TABLE_TEXT])
{
    size_t column = 0, n = 0;
    bool quoted = false;
    for (const char *c = line; *c && *c != '\n' && *c != '\r'; c++) {
        if (*c == '"') {
            quoted = !quoted;
        } else if (*c == ',' && !quoted) {
            column++;
            n = 0;
        } else {
            cr_assert(column < TABLE_COLUMNS && n + 1 < TABLE_TEXT);
            cells[column][n++] = *c;
        }
    }
    return column + 1;
}

struct table *table_read(const char *name)
{
    struct table *t = calloc(1, sizeof *t);
    char line[2048];
    FILE *f = open_data(name);
    cr_assert(t && fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        cr_assert_lt(t->n, TABLE_ROWS);
        split(line, t->cells[t->n++]);
    }
    fclose(f);
    return t;
}

double table_number(const struct table *t, size_t row, size_t column)
{
    char *end;
    const char *text = t->cells[row][column];
    double x = strtod(text, &end);
    cr_assert(end != text, "row %zu, column %zu: '%s' is no number", row, column, text);
    return x;
}
