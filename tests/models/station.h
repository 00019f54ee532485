/* A queue with servers, as plain as can be, on the public interface of the engine: customers come
 * by a cursor (the arrivals), wait first come first served, and are served by the lowest idle
 * server, one timer a server. What it counts is exact, so that Little's law can be asked for as an
 * equality. */
#ifndef HEADROOM_TESTS_MODELS_STATION_H
#define HEADROOM_TESTS_MODELS_STATION_H

#include "sim/dist.h"
#include "sim/engine.h"
#include "sim/stat.h"

#include <stdbool.h>

struct station_plan {
    uint32_t servers;
    struct dist gap, service;
    uint64_t n_warmup, n_customers; /* not measured, measured */
    uint64_t seed;
    uint32_t replication;
};

/* Of the measured customers, but n_in_system: its time average from the first measured arrival to
 * the last. */
struct station_result {
    double wait_s, sojourn_s, waited_frac, n_in_system;
    uint64_t checksum; /* of all departures, in order */
    bool little;       /* the equality held at every tenth of the run */
};

/* False when memory is out. */
bool station_run(const struct station_plan *plan, struct station_result *result);

#endif
