/* Numbers that tests compare with, read from tests/data: the worked examples of capacity
 * worksheets, and small tables of published results.
 *
 * A worked value agrees when it differs by at most one part in a million or 1e-9. Anything missing
 * or unreadable fails the test. */
#ifndef HEADROOM_TESTS_MODELS_WORKED_H
#define HEADROOM_TESTS_MODELS_WORKED_H

#include <stddef.h>

enum { WORKED_CASES = 3 };

/* An input; NaN for a name that the worksheet does not have. */
double worked_in(const char *worksheet, int number, const char *name);

/* Compares with a result; "none" is NaN. */
void worked_check(const char *worksheet, int number, const char *name, double got);

/* A CSV with a header line; fields may be quoted. */
enum { TABLE_ROWS = 64, TABLE_COLUMNS = 12, TABLE_TEXT = 256 };
struct table {
    char cells[TABLE_ROWS][TABLE_COLUMNS][TABLE_TEXT];
    size_t n;
};

/* Reads tests/data/<name>; the caller frees it. */
struct table *table_read(const char *name);
double table_number(const struct table *t, size_t row, size_t column);

#endif
