/* M/M/1 at load 0.9 through the engine's interface: two timers, two events a customer. Included
 * once for each engine. */
#ifndef HEADROOM_BENCH_MM1_MODEL_H
#define HEADROOM_BENCH_MM1_MODEL_H

#include "sim/engine.h"
#include "sim/rng.h"

struct mm1 {
    struct engine *engine;
    struct rng arrivals, services;
    timer_id arrival, departure;
    uint64_t n_in_system, n_left; /* customers still to arrive */
    uint64_t checksum;            /* of departure times */
};

enum { MM1_MEAN_GAP_NS = 1000000000, MM1_MEAN_SERVICE_NS = 900000000 };

static inline simtime_ns mm1_after(const struct mm1 *q, struct rng *r, double mean_ns)
{
    return engine_now(q->engine) + (simtime_ns)(mean_ns * rng_exponential(r));
}

static inline void mm1_arrive(void *ctx, uint32_t arg)
{
    struct mm1 *q = ctx;
    (void)arg;
    if (q->n_in_system++ == 0)
        engine_schedule(q->engine, q->departure, mm1_after(q, &q->services, MM1_MEAN_SERVICE_NS));
    if (--q->n_left > 0)
        engine_schedule(q->engine, q->arrival, mm1_after(q, &q->arrivals, MM1_MEAN_GAP_NS));
}

static inline void mm1_depart(void *ctx, uint32_t arg)
{
    struct mm1 *q = ctx;
    (void)arg;
    q->checksum = q->checksum * 31 + engine_now(q->engine);
    if (--q->n_in_system > 0)
        engine_schedule(q->engine, q->departure, mm1_after(q, &q->services, MM1_MEAN_SERVICE_NS));
}

/* A checksum of the whole run; 0 when memory is out. */
static inline uint64_t mm1_run_model(uint64_t n_customers)
{
    struct mm1 q = {.engine = engine_new(), .n_left = n_customers};
    rng_init(&q.arrivals, 1, 0, "mm1", "arrivals");
    rng_init(&q.services, 1, 0, "mm1", "services");
    if (q.engine &&
        engine_timer_new(q.engine, EVENT_ARRIVAL, mm1_arrive, &q, 0, &q.arrival) == HR_OK &&
        engine_timer_new(q.engine, EVENT_COMPLETE, mm1_depart, &q, 0, &q.departure) == HR_OK) {
        engine_schedule(q.engine, q.arrival, 0);
        engine_run(q.engine, SIM_NEVER);
    }
    engine_free(q.engine);
    return q.checksum;
}

#endif
