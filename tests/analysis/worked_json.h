/* The worked examples of all worksheets, tests/data/worked_examples.json, as a flat list. */
#ifndef HEADROOM_TESTS_ANALYSIS_WORKED_JSON_H
#define HEADROOM_TESTS_ANALYSIS_WORKED_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct worked_value {
    const char *sheet;
    int number; /* of the case; 0 has the defaults */
    bool expected;
    const char *name;
    const char *const *texts; /* as written: "420.0", "none"; one unless it is a list */
    size_t n;
};

struct worked_file {
    struct worked_value *items;
    size_t n;
    const char **sheets; /* names, in the order of the file */
    size_t n_sheets;
    double relative, absolute;
};

/* Fails the test when the file cannot be read. */
struct worked_file *worked_file_read(void);

#endif
