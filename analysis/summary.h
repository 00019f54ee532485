/* The summary of one or more runs: every metric of every design and replication, with its labels.
 *
 * The one thing that reports, JSON, CSV, the `summary` group of a result file and `show` share:
 * what is not in here they cannot say, so a table read back from a file is the table that was
 * printed when it was written.
 *
 *     values[replication][column][metric: entity x part]     stride doubles a run
 *
 * Entities are the union over the columns (scenarios may differ in their services); a column
 * without one has NaN there. All text is copied. */
#ifndef HEADROOM_ANALYSIS_SUMMARY_H
#define HEADROOM_ANALYSIS_SUMMARY_H

#include "analysis/metrics.h"
#include "sim/arena.h"

struct summary_column {
    const char *label;    /* unique among the columns */
    const char *design;   /* "separate", "shared", ... */
    const char *scenario; /* the text the plan was read from, "" when built by hand */
    const char *settings; /* what was set besides it: "services.chat.buffer=4", or "" */
    uint64_t seed;
};

struct summary {
    struct arena arena;
    const char *version;    /* of the program: "0.1.0" */
    const char *name;       /* of the scenario of column 0 */
    const char *start_date; /* calendar time of t = 0 */
    struct summary_column *columns;
    uint32_t n_columns, n_replications;
    uint32_t n[AXES];               /* length of each axis; AXIS_NONE: 1 */
    const char *const *names[AXES]; /* labels along each axis */
    size_t *offset;                 /* [metrics_n]: of a metric in a run's values */
    size_t stride;
    double *values;
};

/* A column to run: what of it is the user's. Everything is borrowed. */
struct summary_source {
    const char *label;
    const struct plan *plan;
    const char *scenario, *settings; /* NULL: "" */
};

/* Lays out a summary of NaNs. summary_fini it in any case. */
enum hr_err summary_init(struct summary *s, const struct summary_source *columns,
                         uint32_t n_columns, uint32_t n_replications, const char *version);

/* The same from labels: for a reader. Entities in s->names and s->n are set by the caller, in
 * s->arena; columns and everything else too. */
enum hr_err summary_layout(struct summary *s);
void summary_fini(struct summary *s); /* accepts a zeroed struct */

/* Computes all metrics of one run. Different runs may be filled by different threads at once. */
enum hr_err summary_fill(struct summary *s, uint32_t column, uint32_t replication,
                         const struct plan *plan, const struct run_results *results);

/* A run's own number of an entity of the summary; SUMMARY_ABSENT where its plan has none. */
uint32_t summary_local(const struct summary *s, const struct plan *p, enum axis axis, uint32_t e);
#define SUMMARY_ABSENT UINT32_MAX

/* Place of one value. */
static inline double *summary_at(const struct summary *s, size_t metric, uint32_t column,
                                 uint32_t replication, uint32_t entity, uint32_t part)
{
    size_t run = (size_t)replication * s->n_columns + column;
    return &s->values[run * s->stride + s->offset[metric] +
                      (size_t)entity * s->n[metrics[metric].part] + part];
}

/* Mean over the replications that have a value; NaN when none has. By name: a programming error
 * when there is no such metric. */
double summary_mean(const struct summary *s, const char *metric, uint32_t column, uint32_t entity,
                    uint32_t part);

/* "TTFT p99 <= 2s" of an objective of a column; "" where the column has none there. */
void summary_objective(const struct summary *s, uint32_t column, uint32_t service, uint32_t part,
                       char *out, size_t size);

/* What makes a result comparable with another: FNV-1a over version, scenarios, settings, seeds and
 * the number of replications, as 16 hexadecimal digits. */
void summary_hash(const struct summary *s, char out[17]);

#endif
