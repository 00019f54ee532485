/* A plan: the whole description of a run, plain and immutable.
 *
 * Built by scenarios/ from YAML, or by a test in C. Threads share it: a run reads it and owns
 * everything else. Pointers inside belong to whoever built the plan and outlive every run of it.
 *
 * A run covers [0, horizon). What happens before warmup is simulated and left out of every result:
 * requests and jobs by their arrival, GPU time by the clock. */
#ifndef HEADROOM_MODELS_PLAN_H
#define HEADROOM_MODELS_PLAN_H

#include "models/capacity/fleet.h"
#include "models/serving/service.h"
#include "models/training/queue.h"
#include "models/training/storage.h"

struct plan {
    const char *name;   /* of the scenario */
    const char *design; /* "separate", "shared", "floor-plus-borrow", "quota": for reports only */
    uint64_t seed;
    simtime_ns horizon_ns, warmup_ns;
    simtime_ns timeline_ns;         /* width of the ledger's timeline windows */
    const char *start_date;         /* "2026-01-01 00:00:00": calendar time of t = 0, for files */
    const struct fleet_plan *pools; /* at least one; not owned */
    size_t n_pools;                 /* up to POOLS_MAX */
    /* Sorted by name, so the order in a file decides nothing. Claimants are numbered services
     * first, then the tenants of the queues. */
    const struct service_plan *services;
    size_t n_services;
    const struct queue_plan *queues;
    size_t n_queues;
    struct storage_plan storage; /* that the saves of all queues go to; bytes_per_s 0: none */
};

/* A plan that cannot run: the reason as a static text, or NULL when it can. Checks ranges and sums
 * (floors fit the fleet, a replica fits a node, objectives present, ...). */
const char *plan_fault(const struct plan *p);

size_t plan_claimants(const struct plan *p); /* services and tenants */
uint32_t plan_gpus(const struct plan *p);    /* of all pools */
/* GPUs of a replica: of a slice, its share of the memory slices. */
double plan_replica_gpus(const struct plan *p, const struct service_plan *s);
uint32_t plan_queue_claimant(const struct plan *p, size_t queue); /* of its first tenant */

/* Name of a claimant by number. */
const char *plan_claimant_name(const struct plan *p, uint32_t claimant);

#endif
