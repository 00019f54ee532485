/* Inside a service. Three files share it: service.c (requests: arrival, routing, end), scaling.c
 * (how many replicas, asked for and given up) and unit.c (the life of one replica on its lease).
 *
 *     asked (a count) --acquire--> LOADING --cold start--> READY --scale-down, evict--> DRAINING ->
 * gone
 *            \--reclaim--> ASSEMBLING --granted--/
 */
#ifndef HEADROOM_MODELS_SERVING_SERVICE_INTERNAL_H
#define HEADROOM_MODELS_SERVING_SERVICE_INTERNAL_H

#include "models/serving/live.h"
#include "models/serving/service.h"
#include "sim/vec.h"

enum unit_state {
    UNIT_GONE,
    UNIT_ASSEMBLING,
    UNIT_LOADING,
    UNIT_READY,
    UNIT_DRAINING,
    UNIT_STATES
};

/* A service of so many replicas does not fit the nearer caches, and prefetching pays. */
#define UNITS_COLD 1000

/* One replica: number is its index, the lowest free one when it is made. A cache line, the
 * replica's own lines and the rest follow one another in one block, so an event knows at once where
 * all is that it will touch. */
struct unit {
    _Alignas(64) struct replica *replica; /* in the same block; NULL while gone */
    struct service *service;
    struct fleet *fleet; /* the pool of its lease */
    simtime_ns due;      /* replica_due, as the timer step is set; SIM_NEVER: idle */
    timer_id step;
    timer_id stage; /* end of the cold start, steps of the slow start, end of the drain limit */
    lease_id lease;
    uint32_t number;
    enum unit_state state;
    uint32_t handicap;   /* requests it counts to the router beyond those it holds: slow start */
    simtime_ns ready_ns; /* when it became ready */
};

struct unit_block {
    struct unit unit;
    _Alignas(64) unsigned char replica[REPLICA_BYTES];
    simtime_ns stages_ns[STAGES]; /* of its cold start */
};

static inline struct unit_block *unit_block(struct unit *u)
{
    return (struct unit_block *)(void *)u;
}

/* What the replicas that are gone, and those alive at some instant, have done in all. */
struct batch_sum {
    u128 request_ns;
    u128 busy_ns;
    uint64_t evictions;
};

/* The service as a claimant of one pool. */
struct service_seat {
    struct service *service;
    struct fleet *fleet;
};

struct service {
    const struct service_plan *plan;
    uint32_t number;
    struct engine *engine;
    const struct pool *pools; /* not owned; of the run */
    size_t n_pools;
    struct service_seat seats[POOLS_MAX]; /* by pool number */
    struct service_sink sink;
    uint32_t claimant;
    enum hr_err err; /* first error met in a handler; the run stops */

    struct request_source source;
    struct request next; /* the record the cursor stands at */
    struct live_table live;
    struct live_queue waiting; /* for a replica: none is ready, or all are full */
    timer_id timeout;          /* of the head of waiting */
    struct router *router;
    struct slo *slo;

    struct {
        struct unit **items; /* owned; stable addresses, timers point at them */
        size_t n, capacity;
    } units;
    uint32_t count[UNIT_STATES]; /* units by state */
    uint32_t asked;              /* replicas wanted that have no lease yet */
    struct autoscaler *scaler;
    struct forecast forecast;
    timer_id tick;
    struct rng cold_start; /* stream of the stage lengths */
    struct batch_sum gone; /* of replicas no longer there */
    struct batch_sum base; /* all of it before the measured part */
    struct {
        struct replica_request *items; /* owned */
        size_t n, capacity;
    } taken; /* scratch for what a replica returns */

    simtime_ns start_ns; /* of the measured part; SIM_NEVER before it */
    uint64_t arrived;    /* since time 0, for the scaler */
    uint32_t in_flight;
    simtime_ns in_flight_since; /* last change */
    u128 in_flight_ns;          /* integral up to in_flight_since, since time 0 */
    u128 in_flight_base;        /* of it before the measured part */
    uint32_t busy;              /* replicas' worth of requests: ceil(in_flight / safe) */
    uint32_t busy_low,
        busy_high;          /* in_flight for which busy stays right: low < in_flight <= high */
    simtime_ns short_since; /* first instant demand exceeded ready capacity; SIM_NEVER: it fits */
    struct service_totals totals;
};

/* service.c */
void service_fail(struct service *s, enum hr_err err);
void service_return(struct service *s, const struct replica_request *taken,
                    size_t n);         /* to the head */
void service_flush(struct service *s); /* routes what waits, as far as replicas take it */
void service_capacity_changed(struct service *s); /* the number of ready replicas */
void service_request_done(void *self, const struct replica_request *request, simtime_ns at);
enum hr_err service_book_open(struct service *s, const struct replica_request *r, simtime_ns now);

/* scaling.c */
enum hr_err scaling_init(struct service *s, uint64_t seed, uint32_t replication,
                         simtime_ns horizon);
void scaling_schedule(void *seat, simtime_ns now); /* one scheduling pass */
void scaling_want(struct service *s, uint32_t wanted, simtime_ns now);
uint32_t scaling_waiting_share(void *seat);
void scaling_waiting_slices(void *seat, uint32_t n[MIG_PROFILES]); /* of a service of slices */
uint32_t scaling_current(const struct service *s); /* replicas, those on their way included */

/* unit.c */
struct unit *unit_spare(struct service *s); /* lowest free number; NULL: out of memory, recorded */
/* The spare one begins. */
bool unit_hold(struct unit *u, struct fleet *f, lease_id lease, enum unit_state state);
void unit_loading(struct unit *u, simtime_ns now); /* its lease is held: begins the cold start */
void unit_ready(struct unit *u, simtime_ns now);
void unit_drain(struct unit *u, simtime_ns now);
void unit_abandon(struct unit *u); /* assembling: gives it up */
void unit_prefetch(const void *unit);
enum hr_err unit_submit(struct unit *u, const struct replica_request *request, simtime_ns now);
void unit_granted(void *seat, lease_id l, simtime_ns now);
void unit_evict(void *seat, lease_id l, simtime_ns now, simtime_ns grace_ns);
uint64_t unit_loss(void *seat, lease_id l, simtime_ns now);
void unit_failed(void *seat, lease_id l, uint32_t node, simtime_ns now);
void unit_crowded(void *seat, lease_id l, simtime_ns now);
void unit_withdrawn(void *seat, lease_id l, simtime_ns now);
enum hr_err unit_book_open(struct service *s, simtime_ns now); /* what the replicas hold; the end */
void unit_run_all(struct service *s, simtime_ns t); /* replicas are past all boundaries before t */
struct batch_sum unit_sums(const struct service *s, simtime_ns now); /* after unit_run_all */

#endif
