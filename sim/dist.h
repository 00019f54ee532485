/* Durations with a distribution: the length of a stage, a repair, a think time.
 *
 * One plain struct for all kinds, so a table of stages is an array. The mean and the squared
 * coefficient of variation are exact for each kind. */
#ifndef HEADROOM_SIM_DIST_H
#define HEADROOM_SIM_DIST_H

#include "sim/rng.h"
#include "sim/time.h"

#include <stdbool.h>

enum dist_kind {
    DIST_FIXED,       /* mean_s */
    DIST_UNIFORM,     /* low_s .. high_s */
    DIST_EXPONENTIAL, /* mean_s */
    DIST_LOGNORMAL,   /* mean_s, cv */
    DIST_GAMMA,       /* mean_s, cv */
    DIST_WEIBULL,     /* mean_s, shape */
    DIST_KINDS
};

struct dist {
    enum dist_kind kind;
    double mean_s; /* mean; for uniform the middle */
    double spread; /* cv (lognormal, gamma), shape (weibull), half width in s (uniform); else 0 */
};

/* One draw, rounded to the nanosecond. Fixed draws take no random number. */
simtime_ns dist_draw(const struct dist *d, struct rng *r);

double dist_mean_s(const struct dist *d);
double dist_scv(const struct dist *d); /* squared coefficient of variation */
bool dist_valid(const struct dist *d); /* finite, non-negative, parameters in their domain */

/* "fixed", "uniform", ... in enum order. */
extern const char *const dist_kind_names[DIST_KINDS];

#endif
