/* What `run` and `compare` share: from files, designs and settings to columns, from columns to an
 * experiment, from the experiment to everything that was asked for. */
#ifndef HEADROOM_CLI_SIMULATE_H
#define HEADROOM_CLI_SIMULATE_H

#include "cli/options.h"

struct simulate_options {
    struct option_list designs; /* --design */
    struct option_list sets;    /* --set */
    struct option_list with;    /* --with: compare only, laid under every column */
    const char *output, *csv, *requests, *events;
    const char *seed;
    uint32_t replications, threads; /* 0: the scenario's, one per core */
    bool json, all, force, no_output, help;
};

/* How the operands and settings make columns. */
enum simulate_kind {
    SIMULATE_ONE,     /* one file, one design, all sets together */
    SIMULATE_COLUMNS, /* files x designs x sets */
};

/* The whole command; the exit code. */
int simulate(enum simulate_kind kind, const struct simulate_options *o,
             const struct operands *operands);

#endif
