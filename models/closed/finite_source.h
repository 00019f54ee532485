/* A closed group of N users of c servers: each alternates between a session (mean S) and time away
 * (mean Z).
 *
 * With a queue, the machine-repair model M/M/c//N (C. Palm, 1947): births (N - n) / Z, deaths
 * min(n, c) / S; an arriving user sees the system of N - 1 users (arrival theorem, S. Lavenberg and
 * M. Reiser, 1980). Without one, Engset's loss system (T. Engset, 1918): P(n) proportional to
 * binom(N, n) (S / Z)^n, n <= c; a user who finds no server goes away for another gap. */
#ifndef HEADROOM_MODELS_CLOSED_FINITE_SOURCE_H
#define HEADROOM_MODELS_CLOSED_FINITE_SOURCE_H

#include <stdint.h>

struct finite_source {
    uint32_t users, servers;
    double session, gap; /* means, in one unit of time, which results have too */
};

struct finite_queue {
    double all_busy_frac; /* of time */
    double wait_frac;     /* of sessions */
    double waiting_mean;  /* users */
    double wait_mean;
    double utilization, sessions_rate;
};

struct finite_loss {
    double time_congestion, call_congestion, utilization;
};

/* session, gap > 0, servers > 0; without users everything is 0. */
struct finite_queue finite_source_queue(const struct finite_source *s);
struct finite_loss finite_source_loss(const struct finite_source *s);

#endif
