/* Command-line options from a table: flags, values, repeated values and operands. */
#ifndef HEADROOM_CLI_OPTIONS_H
#define HEADROOM_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_FLAG,  /* bool */
    OPTION_TEXT,  /* const char *: the value as written */
    OPTION_COUNT, /* uint32_t in min..max */
    OPTION_LIST   /* struct option_list: every value, in order */
};

enum { OPTION_LIST_MAX = 64, OPERANDS_MAX = 64 };

struct option_list {
    const char *items[OPTION_LIST_MAX];
    size_t n;
};

struct option {
    const char *name;  /* "--json" */
    const char *brief; /* "-o", or NULL */
    enum option_kind kind;
    size_t offset;     /* of the member in the command's options struct */
    uint32_t min, max; /* count */
    const char *value; /* what stands for the value in help: "FILE" */
    const char *doc;
};

struct operands {
    const char *items[OPERANDS_MAX];
    size_t n;
};

/* Reads argv[1..] into target (already holding the defaults) and operands. False: what is wrong has
 * been written to stderr, with the nearest right name. "--" ends the options; "--name=value" and
 * "-nVALUE" work. */
bool options_read(const struct option *table, size_t n, int argc, char **argv, void *target,
                  struct operands *operands);

void options_help(const struct option *table, size_t n, FILE *out);

#endif
