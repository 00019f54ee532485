/* Columns of a comparison: every file with every setting, read once, and the designs of each. */
#ifndef HEADROOM_CLI_COLUMNS_H
#define HEADROOM_CLI_COLUMNS_H

#include "analysis/summary.h"
#include "cli/simulate.h"
#include "scenarios/scenario.h"
#include "sim/arena.h"

struct columns {
    struct arena arena;
    struct {
        struct scenario **items; /* owned */
        size_t n, capacity;
    } scenarios;
    struct {
        struct summary_source *items; /* owned; plans and labels in the arena */
        size_t n, capacity;
    } sources;
};

/* Reads and plans everything; all mistakes of all columns are in diags. columns_fini in any case.
 */
enum hr_err columns_build(struct columns *c, enum simulate_kind kind,
                          const struct simulate_options *o, const struct operands *files,
                          struct diags *diags);
void columns_fini(struct columns *c); /* accepts a zeroed struct */

#endif
