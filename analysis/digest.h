/* What the metrics of one run need sorted or scanned once.
 *
 * Metrics are small functions of plan, results and one index (analysis/metrics.h). Percentiles over
 * reclaims and jobs and the ramp condition of each service take a pass over rows; that is done
 * here, once a run. Percentiles over rows are exact: the value at rank ceil(q n) of the sorted
 * rows. */
#ifndef HEADROOM_ANALYSIS_DIGEST_H
#define HEADROOM_ANALYSIS_DIGEST_H

#include "models/plan.h"
#include "models/results.h"

/* Durations, sorted. */
struct durations {
    simtime_ns *items; /* owned */
    size_t n, capacity;
    u128 sum_ns;
};

double durations_mean_s(const struct durations *d);               /* NaN when empty */
double durations_quantile_s(const struct durations *d, double q); /* NaN when empty */

/* The ramp condition of a service, from its own demand and its own reclaims. */
struct ramp_facts {
    double peak_gpus, mean_gpus; /* demand at the autoscaler's target */
    double buffer_gpus;          /* warm spare the autoscaler keeps */
    double limit_gpus;           /* most it may ever hold */
    double held_gpus;            /* what it holds whatever the demand */
    double response_s; /* from demand above capacity to ready: p99 over its reclaims, detection
                          included; without reclaims the mean cold start */
    double n_reclaims; /* its reclaims that became ready */
    double rise_gpus;  /* largest rise of demand within response_s */
    double safe_buffer_gpus; /* rise_gpus in whole replicas; NaN: the peak is above limit_gpus */
    double short_gpus, short_min; /* demand above ready GPUs: the most, and for how long in all */
    double safe_reclaim_s; /* longest response that the buffer covers; the observed span: any; NaN:
                              the peak is above limit_gpus */
};

struct digest_queue {
    struct durations wait;       /* submit to first start, recorded jobs that started */
    struct durations completion; /* submit to end, recorded jobs that are done */
    /* waits of recorded jobs by what stood in the way; weighted by GPUs */
    u128 blocked_ns[BLOCKS], blocked_gpu_ns[BLOCKS];
};

struct digest_tenant {
    struct durations wait, completion; /* as of a queue */
    uint64_t submitted, started, done, waiting;
    u128 blocked_ns[BLOCKS];
    uint64_t preemptions; /* of the jobs submitted in the measured part and of backlog gangs */
};

struct digest {
    const struct plan *plan;           /* borrowed */
    const struct run_results *results; /* borrowed */
    double measured_s;
    struct durations reclaims; /* decision to ready, those that became ready */
    u128 stage_ns[STAGES];     /* totals over the same reclaims */
    uint64_t shares_evicted, shares_missing, victims; /* over all reclaims; results_gpus */
    struct ramp_facts *ramps;                         /* owned; per service */
    struct digest_queue *queues;                      /* owned; per queue */
    struct digest_tenant *tenants; /* owned; per claimant; those of services stay empty */
};

/* plan and results must outlive it. */
enum hr_err digest_init(struct digest *d, const struct plan *plan,
                        const struct run_results *results);
void digest_fini(struct digest *d); /* accepts a zeroed struct */

#endif
