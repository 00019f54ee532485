/* Runs designs times replications in threads, with the same result for any number of them.
 *
 * Work is handed out by an atomic counter, replication by replication (replication 0 of every
 * design first), and results are stored by their place, so neither the order of completion nor the
 * number of threads shows. Plans and traces are shared and never written.
 *
 * Kept: the metrics of every run (summary); the ledger, timeline and SLO windows of every run;
 * jobs and reclaims of replication 0 only. A day of one-minute windows is about 0.5 MB a run, so
 * memory is bounded by what is written in the end. */
#ifndef HEADROOM_ANALYSIS_EXPERIMENT_H
#define HEADROOM_ANALYSIS_EXPERIMENT_H

#include "analysis/summary.h"
#include "models/run.h"
#include "sim/diag.h"

#include <stdatomic.h>

typedef enum hr_err run_fn(const struct plan *plan, uint32_t replication,
                           const struct run_hooks *hooks, struct run_results *results);

struct experiment_plan {
    const struct summary_source *columns; /* borrowed; plans must outlive the experiment */
    uint32_t n_columns, n_replications;   /* both >= 1 */
    uint32_t n_threads;                   /* >= 1 */
    const char *version;
    run_fn *run; /* run_plan, or a stand-in in tests */
    /* About 200 times a run, from any thread, never two at once: done is the share of all simulated
     * time that is behind. May be NULL. */
    void (*progress)(void *self, double done, uint32_t runs_done);
    void *self;
    const atomic_bool *stop; /* set by a signal handler to interrupt; may be NULL */
    const struct run_hooks
        *rows; /* request and change, of column 0 in replication 0; may be NULL */
};

struct experiment {
    struct summary summary;
    const struct summary_source *columns; /* borrowed */
    struct run_results *runs;             /* owned; [replication][column] */
    uint32_t n_runs;
};

static inline const struct run_results *experiment_results(const struct experiment *e,
                                                           uint32_t column, uint32_t replication)
{
    return &e->runs[(size_t)replication * e->summary.n_columns + column];
}

/* HR_INTERRUPTED: what is complete is kept: summary.n_replications says how many replications all
 * designs have finished (possibly 0). Other errors: the first in order of replication and design,
 * described in diags; nothing is kept. experiment_fini in any case. */
enum hr_err experiment_run(const struct experiment_plan *plan, struct experiment *out,
                           struct diags *diags);
void experiment_fini(struct experiment *e); /* accepts a zeroed struct */

#endif
