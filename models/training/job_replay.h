/* Replay of a recorded job list: which job is submitted next, and when.
 *
 * Replication 0 begins at the trace's zero; replication r > 0 rotates the trace by whole days, from
 * (seed, r, queue, "offset"), so the time of day is kept: what precedes the new beginning follows
 * the end after the mean gap. A looped trace starts again after span + mean gap; one that has no
 * gap (a single instant) is not looped. jobs_offset_ns skips the first part of the (rotated) trace;
 * jobs_speed divides what remains of the times. */
#ifndef HEADROOM_MODELS_TRAINING_JOB_REPLAY_H
#define HEADROOM_MODELS_TRAINING_JOB_REPLAY_H

#include "models/training/queue.h"

struct job_replay {
    const struct queue_plan *plan; /* not owned */
    simtime_ns shift_ns;           /* rotation */
    simtime_ns period_ns;          /* span + mean gap */
    size_t first;                  /* row at which a pass begins */
    size_t k;                      /* next: the k-th of its pass */
    simtime_ns pass_ns;            /* where its pass begins */
    simtime_ns at_ns;              /* its submit time in the run; SIM_NEVER at the end */
};

void job_replay_init(struct job_replay *r, const struct queue_plan *plan, uint64_t seed,
                     uint32_t replication);

/* The job submitted at at_ns, as recorded. */
const struct job *job_replay_job(const struct job_replay *r);
void job_replay_advance(struct job_replay *r);

#endif
