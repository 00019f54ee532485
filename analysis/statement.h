/* The GPU-hours statement of a design: where every supplied GPU-hour and every dollar went, by
 * claimant and, for what nobody held, by state.
 *
 * Its rows are means over the replications. Shown in whole units they still add up: each cell is
 * its value rounded down or up so that all of them together are the rounded total (largest
 * remainders), and sums of rows and columns are sums of what is shown. */
#ifndef HEADROOM_ANALYSIS_STATEMENT_H
#define HEADROOM_ANALYSIS_STATEMENT_H

#include "analysis/summary.h"
#include "analysis/text.h"

#include <stdbool.h>
#include <stdio.h>

/* What a claimant's GPU-hours went into; code, head of the column. */
#define STATEMENT_LIST(X)                                                                          \
    X(USEFUL, "useful") /* serving, training */                                                    \
    X(SAVES, "saves")   /* checkpointing, restoring */                                             \
    X(IDLE, "idle")     /* held, doing nothing */                                                  \
    X(LOAD, "load")     /* cold start, change of the MIG layout */                                 \
    X(DRAIN, "drain")   /* grace, teardown, wipe */                                                \
    X(LOST, "lost")     /* work that died */

#define STATEMENT_ENUM(code, name) STATEMENT_##code,
enum statement_part { STATEMENT_LIST(STATEMENT_ENUM) STATEMENT_PARTS };
#undef STATEMENT_ENUM

struct statement_row {
    char label[64];
    bool claimant;             /* else what nobody held: h[0] is all of it */
    double h[STATEMENT_PARTS]; /* GPU-hours */
    double usd;
};

struct statement {
    struct statement_row *rows; /* owned; claimants first, by dollars (without a price by
                                   GPU-hours), the largest first; then what nobody held */
    size_t n;
    bool priced;
    double absent_h; /* not supplied: in no row */
};

/* Claimants beyond the first `most` become one row "others (n)". statement_fini it in any case. */
enum hr_err statement_init(struct statement *t, const struct summary *s, uint32_t column,
                           size_t most);
void statement_fini(struct statement *t); /* accepts a zeroed struct */

/* Rounds n values, each down or up, so that their sum is the rounded sum. */
void statement_round(const double *values, size_t n, int64_t *out);

/* The table, 80 columns wide. */
enum hr_err statement_print(FILE *out, const struct statement *t);

/* "62.1% of it is useful, at $3.33 per useful GPU-hour; ..." */
void statement_sentence(struct text *t, const struct summary *s, uint32_t column);

#endif
