/* Two designs of a fleet of ten GPUs, and their runs made by hand: every figure of the summary can
 * be worked out on paper. One service ("chat", two GPUs a replica) and one queue ("train"); one
 * hour of warm-up, two hours measured, timeline windows of 30 minutes, SLO windows of 10.
 *
 * GPUs by timeline window (of 30 minutes: half a GPU-hour each):
 *
 *     shared              w0  w1  w2  w3        separate       every window
 *     chat  serving        4   6   4   4        chat  serving   3
 *           held_idle      2   2   2   0              held_idle 1
 *           loading        0   0   1   0        train training  5
 *     train training       4   1   2   4              saving    1
 *           saving         0   0   0   1
 *           lost           0   1   0   0
 *           draining       0   0   1   0
 *     nobody stranded      0   0   0   1
 *
 * Replication r books r x 60 GPU-seconds and r nanoseconds of the training in w0 as lost. */
#ifndef TESTS_ANALYSIS_FIXTURE_H
#define TESTS_ANALYSIS_FIXTURE_H

#include "analysis/experiment.h"

extern const struct plan fixture_separate, fixture_shared;

/* A stand-in for run_plan; knows the two plans by their design. */
enum hr_err fixture_run(const struct plan *plan, uint32_t replication,
                        const struct run_hooks *hooks, struct run_results *results);

/* Both designs; n_threads threads. Asserts success. experiment_fini it. */
void fixture_experiment(struct experiment *e, uint32_t n_columns, uint32_t n_replications,
                        uint32_t n_threads);

/* Requests per second of each of the twelve SLO windows; the last one is empty. */
enum { FIXTURE_WINDOWS = 12 };
extern const uint32_t fixture_rates[FIXTURE_WINDOWS];

#endif
