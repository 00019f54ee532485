/* The results of one run: plain tables, no derived figure (analysis/metrics.h derives those). */
#ifndef HEADROOM_MODELS_RESULTS_H
#define HEADROOM_MODELS_RESULTS_H

#include "models/capacity/fleet.h"
#include "models/serving/service.h"
#include "models/training/queue.h"
#include "models/training/storage.h"
#include "sim/engine.h"
#include "sim/hist.h"
#include "sim/int128.h"

struct service_results {
    struct service_totals totals;
    struct slo_totals slo;
    struct slo_window *windows; /* owned; every window of the measured part */
    size_t n_windows;
    struct hist hists[SLO_METRICS];           /* owned; ns */
    double burn_rate_max[SLO_MAX_OBJECTIVES]; /* over one hour of windows */
};

struct queue_results {
    struct queue_totals totals;
};

/* Of one pool; indexed as those of the whole run. */
struct pool_results {
    u128 *ledger;       /* owned */
    u128 *compute;      /* owned; compute-slice-ns; NULL where there is no MIG */
    uint64_t *timeline; /* owned */
    double *cost_usd;   /* owned; of each account: models/capacity/supply.h */
    double mean_price_usd_per_gpu_h;
    uint32_t gpus;
    struct supply_totals supply;
    struct fleet_churn churn;           /* of the whole run */
    struct placeable_window *placeable; /* owned; [n_timeline] of the run */
};

/* Accounts are indexed owner * GPU_STATES + state; owner 0 is nobody, claimant i is i + 1. */
struct run_results {
    uint32_t n_owners, n_services, n_queues;
    uint32_t fleet_gpus;
    uint32_t shares_per_gpu;     /* 1, or with shared GPUs what makes their parts whole */
    simtime_ns start_ns, end_ns; /* the measured part */
    simtime_ns timeline_ns;
    size_t n_timeline;
    struct pool_results *pools; /* owned */
    uint32_t n_pools;
    u128 *ledger;                     /* owned; share-ns [n_owners * GPU_STATES], of all pools */
    double *cost_usd;                 /* owned; [n_owners * GPU_STATES], of all pools */
    uint64_t *timeline;               /* owned; share-ns [n_timeline][n_owners * GPU_STATES] */
    struct service_results *services; /* owned */
    struct queue_results *queues;     /* owned */
    struct storage_totals storage;    /* all zero where the plan has none */
    struct job_row *jobs;             /* owned array; ids borrowed from the plan */
    size_t n_jobs;
    struct reclaim_row *reclaims; /* owned; decisions in the measured part, in order */
    size_t n_reclaims;
    struct engine_stats engine;
};

/* GPUs, or GPU-time, of shares. */
static inline double results_gpus(const struct run_results *r, double shares)
{
    return r->shares_per_gpu > 1 ? shares / r->shares_per_gpu : shares;
}

/* Of the free GPUs in a window of the timeline, all pools together, the share on nodes that are
 * free in part: room that no gang of whole nodes can use. NaN when nothing was free, or when what
 * could start was not looked at. */
double results_fragmented(const struct run_results *r, size_t window);

void results_fini(struct run_results *r); /* accepts a zeroed struct */

static inline size_t results_account(uint32_t owner, enum gpu_state s)
{
    return (size_t)owner * GPU_STATES + s;
}

#endif
