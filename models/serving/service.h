/* A service: traffic through a router to replicas, held at the right number by an autoscaler.
 *
 * Each replica is a lease of tp GPUs in one node. A new one goes through the cold start stages
 * (loading) to ready; scale-down, eviction and maintenance drain it: no new requests, those in it
 * finish for drain_limit, the rest returns to the head of the router with its arrival time and
 * recomputes. With a slow start a replica that has become ready counts to the router as if it held
 * safe_in_flight requests more, sinking to none over the slow start: without one, least-outstanding
 * routing sends it every arrival until it holds as many as the others. Serving counts the GPUs of
 * min(ready, ceil(in_flight / safe_in_flight)) replicas. */
#ifndef HEADROOM_MODELS_SERVING_SERVICE_H
#define HEADROOM_MODELS_SERVING_SERVICE_H

#include "models/capacity/fleet.h"
#include "models/serving/autoscaler.h"
#include "models/serving/forecast.h"
#include "models/serving/replica.h"
#include "models/serving/router.h"
#include "models/serving/slo.h"
#include "models/serving/traffic.h"

struct service_plan {
    const char *name;
    const char *model;                  /* for reports: "llama-3.1-70b fp8, vllm 0.19.0" */
    struct pool_claim pools[POOLS_MAX]; /* where its replicas may be, in order of preference */
    uint32_t n_pools;
    uint32_t gpus_per_replica; /* tensor parallel size; of a slice its memory slices */
    uint8_t slice;             /* 1 + MIG profile of a replica; 0: whole GPUs */
    struct replica_config replica; /* as a client of a GPU: when all of its clients are at work */
    const struct replica_config *clients; /* the same with 1, 2, .. n_clients at work; not owned */
    uint32_t n_clients; /* of a GPU of its pools; 0: its speed is the same whatever others do */
    enum router_kind router;
    struct autoscaler_plan autoscaler;
    struct forecast_plan forecast;  /* of the autoscaler */
    uint32_t initial_replicas;      /* UINT32_MAX: what the autoscaler wants for the first window */
    double safe_in_flight;          /* requests one replica carries at its safe rate, > 0 */
    struct dist cold_start[STAGES]; /* used from STAGE_SCHEDULE on */
    simtime_ns slow_start_ns;       /* a ready replica takes its full share after it; 0: at once */
    simtime_ns drain_limit_ns;
    simtime_ns
        request_timeout_ns; /* waiting at the router longer than this: timed out; SIM_NEVER */
    struct traffic_plan traffic;
    struct slo_plan slo;
};

/* A finished request, for --requests. */
struct request_row {
    uint64_t number; /* order of arrival at the service */
    uint32_t service;
    simtime_ns arrival_ns;
    uint32_t prompt_tokens, output_tokens;
    simtime_ns ttft_ns, e2e_ns; /* SIM_NEVER where not reached */
    enum slo_fate fate;
    uint32_t retries; /* times it was returned to the router */
};

/* Of the measured part: requests by arrival, everything else by the clock. */
struct service_totals {
    uint64_t arrived, done, too_long, timed_out, open;
    uint64_t retried;                      /* returns to the router from a drained replica */
    uint64_t prompt_tokens, output_tokens; /* of done requests */
    uint64_t evictions;                    /* from KV caches */
    uint64_t scale_ups, scale_downs;       /* replicas asked for, given up */
    u128 in_flight_ns;                     /* integral of requests in flight */
    u128 sojourn_ns;   /* the same from the requests' side: Little's law makes them equal */
    double batch_fill; /* mean batch of busy replicas / max_num_seqs */
    uint32_t max_ready, max_wanted;
};

struct service; /* opaque */

/* Where finished requests go, warm-up included; request may be NULL. */
struct service_sink {
    void *self;
    void (*request)(void *self, const struct request_row *row);
};

/* Adds itself to each pool as a claimant and to the engine as a cursor. number goes into the rows.
 * The plan and the pools must outlive it. */
enum hr_err service_new(const struct service_plan *plan, uint32_t number, struct engine *engine,
                        const struct pool *pools, size_t n_pools, uint64_t seed,
                        uint32_t replication, simtime_ns horizon, const struct service_sink *sink,
                        struct service **out);
void service_free(struct service *s); /* accepts NULL */

/* At time 0, before any pass: takes its first replicas, ready at once. */
enum hr_err service_start(struct service *s);

/* At the start of the measured part: what has been counted so far is left out of the totals. */
void service_measure(struct service *s, simtime_ns now);

/* The first error a handler of this service met: it has stopped the engine. */
enum hr_err service_error(const struct service *s);

/* At the end: open requests are booked, windows closed, totals complete. */
enum hr_err service_finish(struct service *s, simtime_ns now);

const struct service_totals *service_totals(const struct service *s);
const struct slo *service_slo(const struct service *s);

#endif
