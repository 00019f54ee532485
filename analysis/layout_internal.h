/* What the writers of the result file's groups share.
 *
 * Every group is self-contained: readers that open one group do not see another's coordinates. Its
 * leading dimensions are `design` and `replication`, each only where longer than one. A group holds
 * all designs when they share its axes; else each has a subgroup `design_0`, `design_1`, ... of its
 * own without that dimension. */
#ifndef HEADROOM_ANALYSIS_LAYOUT_INTERNAL_H
#define HEADROOM_ANALYSIS_LAYOUT_INTERNAL_H

#include "analysis/experiment.h"
#include "analysis/hdf5_file.h"

/* The designs a group holds: first .. first + n - 1. */
struct layout_columns {
    uint32_t first, n;
};

/* The leading dimensions of a group. */
struct layout_lead {
    struct layout_columns columns;
    uint32_t n_replications;
    struct hdf5_dim design, replication;
};

void layout_lead_open(struct layout_lead *lead, const struct hdf5_group *g, const struct summary *s,
                      struct layout_columns columns);
void layout_lead_close(struct layout_lead *lead);
static inline size_t layout_lead_runs(const struct layout_lead *lead)
{
    return (size_t)lead->columns.n * lead->n_replications;
}

/* Fills v->dims: the leading ones, then up to four more (NULL: none). */
void layout_dims(struct hdf5_var *v, const struct layout_lead *lead, const struct hdf5_dim *a,
                 const struct hdf5_dim *b, const struct hdf5_dim *c);

struct hdf5_dim layout_names(const struct hdf5_group *g, const char *name, const char *long_name,
                             const char *const *names, uint32_t n);
/* `state`, with the meanings of the states in `state_code` (flags) and `state_meaning`. */
struct hdf5_dim layout_states(const struct hdf5_group *g);
/* `time`: starts of windows, in the coarsest unit (s, ms, us, ns) that is exact. */
struct hdf5_dim layout_time(const struct hdf5_group *g, const char *start_date, simtime_ns start,
                            simtime_ns step, size_t n);

/* Calls write for all designs at once if they share the axes, else for each in its own subgroup. */
typedef enum hr_err layout_write_fn(const struct hdf5_group *g, const struct experiment *e,
                                    struct layout_columns columns, uint32_t arg);
enum hr_err layout_each(const struct hdf5_group *g, const struct experiment *e, bool shared,
                        layout_write_fn *write, uint32_t arg);

enum hr_err layout_summary(const struct hdf5_group *root, const struct summary *s);
enum hr_err layout_ledger(const struct hdf5_group *root, const struct experiment *e);
enum hr_err layout_timeline(const struct hdf5_group *root, const struct experiment *e);
enum hr_err layout_slo(const struct hdf5_group *root, const struct experiment *e);
enum hr_err layout_jobs(const struct hdf5_group *root, const struct experiment *e);
enum hr_err layout_reclaims(const struct hdf5_group *root, const struct experiment *e);

#endif
