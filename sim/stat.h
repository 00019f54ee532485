/* Statistics collectors: a tally of observations, and a level integrated over time.
 *
 * tally: count, mean and variance by Welford's update (B. P. Welford, Technometrics 4, 1962), and
 * the Student t interval of the mean. level: an integer that changes at instants (queue length,
 * GPUs in use) with its exact integral in 128-bit unit-nanoseconds, so Little's law can be checked
 * as an equality of integers. */
#ifndef HEADROOM_SIM_STAT_H
#define HEADROOM_SIM_STAT_H

#include "sim/int128.h"
#include "sim/time.h"

#include <stdint.h>

struct tally {
    uint64_t n;
    double mean, m2; /* m2: sum of squared distances from the mean */
    double min, max;
};

void tally_add(struct tally *t, double x); /* a zeroed tally is empty */
void tally_merge(struct tally *into, const struct tally *from);
double tally_variance(const struct tally *t);  /* n - 1 in the denominator; 0 below 2 values */
double tally_std_error(const struct tally *t); /* of the mean */

/* Half width of the two-sided Student t interval of the mean at the given confidence (0.95); NaN
 * below 2 values. */
double tally_half_width(const struct tally *t, double confidence);

struct level {
    int64_t value;
    simtime_ns since; /* time of the last change */
    i128 integral;    /* value * ns up to since */
    int64_t max;      /* largest value held for longer than nothing or set last */
    int64_t held_max; /* the same without the value set last, INT64_MIN when there is none */
};

void level_init(struct level *l, simtime_ns now, int64_t value);
void level_set(struct level *l, simtime_ns now, int64_t value);
static inline void level_add(struct level *l, simtime_ns now, int64_t change)
{
    level_set(l, now, l->value + change);
}
i128 level_integral(const struct level *l, simtime_ns now);
double level_mean(const struct level *l, simtime_ns start, simtime_ns now); /* integral / span */

#endif
