/* Shared by the files of traffic: the rate factor followed forward in time, and the two kinds of
 * source. */
#ifndef HEADROOM_MODELS_SERVING_TRAFFIC_INTERNAL_H
#define HEADROOM_MODELS_SERVING_TRAFFIC_INTERNAL_H

#include "models/serving/traffic.h"

#include <stdbool.h>

/* One function of the factor over [lo, hi), rising or falling all the way: at_lo + slope (t - lo),
 * or with a swing half a day of the wave 1 + swing cos(2 pi (t - peak) / day). */
struct traffic_piece {
    simtime_ns lo, hi;
    double at_lo, slope_per_ns;
    double swing;
    simtime_ns peak; /* may lie before 0, modulo 2^64 */
};

/* g(t) = flat x product of the moving pieces, over the segment [lo, hi) in which all hold; on the
 * stretch [near_lo, near_hi) of it, at most a minute long, low <= g(t) <= high. */
struct traffic_factor_cursor {
    const struct traffic_plan *plan;
    simtime_ns lo, hi, near_lo, near_hi;
    double low, high;
    double flat;
    size_t n_moving;
    struct traffic_piece *moving; /* owned; room for the envelope and every event */
};

enum hr_err traffic_factor_open(struct traffic_factor_cursor *c, const struct traffic_plan *p);
void traffic_factor_close(struct traffic_factor_cursor *c); /* accepts a zeroed struct */

/* Thinning: true with probability g(t) / max, by one uniform of the stream, or none where g is flat
 * at max. Any t; quick when t moves forward. */
bool traffic_factor_keeps(struct traffic_factor_cursor *c, simtime_ns t, double max,
                          struct rng *stream);

/* A straight piece of g from t on: exact where at most one function of it moves, and linearly;
 * else between points of g at most a minute and a sixteenth of the segment apart. */
struct traffic_piece traffic_factor_line(struct traffic_factor_cursor *c, simtime_ns t);

/* The trace's period, in its own time: span + mean gap, at least 1 ns. */
simtime_ns traffic_trace_period(const struct request_trace *trace);

enum hr_err traffic_trace_new(const struct traffic_plan *p, uint64_t seed, uint32_t replication,
                              const char *entity, simtime_ns horizon, struct request_source *out);
enum hr_err traffic_generator_new(const struct traffic_plan *p, uint64_t seed, uint32_t replication,
                                  const char *entity, simtime_ns horizon,
                                  struct request_source *out);

#endif
