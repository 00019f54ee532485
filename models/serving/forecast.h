/* A forecast of a service's request rate, for an autoscaler that acts ahead of a ramp.
 *
 * The forecast for t is the expected rate of the traffic at t (base rate times the envelope and the
 * announced events), times an error. An event that is not announced, a failover say, is not
 * foreseen. The error is lognormal of mean `bias` and coefficient of variation `cv`; it stays the
 * same over each stretch of `span`, since a forecast that is wrong at noon is still wrong a minute
 * later. The k-th stretch has the same error in every design. */
#ifndef HEADROOM_MODELS_SERVING_FORECAST_H
#define HEADROOM_MODELS_SERVING_FORECAST_H

#include "models/serving/traffic.h"
#include "sim/rng.h"
#include "sim/time.h"

struct forecast_plan {
    bool enabled;
    simtime_ns lead_ns; /* how far ahead the autoscaler looks: its cold start and reclaim */
    double cv;          /* of the error; 0: none */
    double bias;        /* mean of the error factor; 1: right on average */
    simtime_ns span_ns; /* the error stays so long; > 0 */
};

struct forecast {
    const struct forecast_plan *plan;   /* not owned */
    const struct traffic_plan *traffic; /* not owned */
    struct rng rng;
    uint64_t drawn; /* errors drawn so far: of the stretches 0 .. drawn - 1 */
    double error;   /* of the last of them */
};

void forecast_init(struct forecast *f, const struct forecast_plan *plan,
                   const struct traffic_plan *traffic, uint64_t seed, uint32_t replication,
                   const char *entity);

/* Requests per second expected at t; t never goes back to an earlier stretch. */
double forecast_rate(struct forecast *f, simtime_ns t);

#endif
