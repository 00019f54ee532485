/* The records that drive a run: requests, jobs, supply, prices, and the tables that hold a recorded
 * trace.
 *
 * Readers in traces/ produce them, sources in models/ replay them. Times count from the trace's
 * own zero, which is its first record unless the reader says otherwise. */
#ifndef HEADROOM_MODELS_RECORD_H
#define HEADROOM_MODELS_RECORD_H

#include "sim/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request {
    simtime_ns arrival_ns;
    uint32_t prompt_tokens; /* >= 1 */
    uint32_t output_tokens; /* >= 1 */
};

/* A recorded request trace, in arrival order, immutable once read and shared by threads. */
struct request_trace {
    struct request *rows; /* owned by the arena that read it */
    size_t n;
    simtime_ns span_ns; /* last arrival - first arrival; rows[0].arrival_ns is 0 */
};

/* How a recorded job ended where it was recorded; replay runs them all for their work. */
enum job_end {
    JOB_COMPLETED,
    JOB_CANCELLED,
    JOB_FAILED,
    JOB_TIMEOUT,
    JOB_CENSORED,
    JOB_END_UNKNOWN
};

/* Sentinel: the trace gives no such value. */
#define JOB_UNSET UINT64_MAX

struct job {
    simtime_ns submit_ns;
    simtime_ns work_ns;  /* run time on its GPUs without failures, saves or restarts */
    simtime_ns limit_ns; /* wall-time limit asked for, or JOB_UNSET */
    simtime_ns
        checkpoint_ns;  /* its own checkpoint interval (work time), or JOB_UNSET: the queue's */
    const char *id;     /* name in the trace; arena */
    const char *tenant; /* team, user group or virtual cluster; "" when unknown; arena */
    uint32_t gpus;      /* gang size, >= 1 */
    uint32_t min_gpus;  /* elastic lower bound; gpus, or 0, where it gives none */
    uint32_t max_gpus;  /* elastic upper bound; gpus, or 0, where it gives none */
    int32_t priority;
    bool preemptible;
    enum job_end end;
};

/* A recorded job list, sorted stably by submit time. */
struct job_trace {
    struct job *rows; /* owned by the arena that read it */
    size_t n;
    simtime_ns span_ns; /* last submit - first submit */
};

/* Sentinel: only how many nodes are up is known, not which. */
#define SUPPLY_ANY_NODE UINT32_MAX

/* A change of what is up. */
struct supply_event {
    simtime_ns at_ns;
    uint32_t node;     /* below nodes of its trace, or SUPPLY_ANY_NODE in all rows of it */
    int32_t change;    /* +1 or -1 of that node; else how many more or fewer are up; never 0 */
    const char *cause; /* of a fault; "" when unknown; arena */
};

/* A recorded history of nodes that come and go or break and are repaired, in order of time. */
struct supply_trace {
    struct supply_event *rows; /* owned by the arena that read it; may be empty */
    size_t n;
    uint32_t nodes;       /* that it has; the most at once where it counts */
    uint32_t up_at_start; /* before the first row: the nodes below this number */
    simtime_ns span_ns;   /* from time 0 to the end of the recording */
};

/* A price from its time on, until the next one. */
struct price_step {
    simtime_ns at_ns;
    double usd_per_gpu_h;
};

/* A recorded price, in ascending order of time; rows[0].at_ns is 0. */
struct price_trace {
    struct price_step *rows; /* owned by the arena that read it; at least one */
    size_t n;
    simtime_ns span_ns; /* from time 0 to the end of the recording */
};

#endif
