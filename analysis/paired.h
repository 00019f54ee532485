/* Paired differences between designs on common random numbers.
 *
 * Replication r of every design draws the same traffic and the same jobs, so the difference of a
 * metric between two designs is taken replication by replication, and its Student t interval is far
 * narrower than that of either metric. Differences are against the first design named. Below five
 * replications no interval is given. */
#ifndef HEADROOM_ANALYSIS_PAIRED_H
#define HEADROOM_ANALYSIS_PAIRED_H

#include "analysis/summary.h"

#include <stdbool.h>

enum { PAIRED_LEAST_REPLICATIONS = 5 };
#define PAIRED_CONFIDENCE 0.95

struct paired {
    uint32_t n;       /* replications in which both designs have the metric */
    double mean;      /* of design - first design; NaN when n is 0 */
    double low, high; /* the interval; NaN below five replications */
};

struct paired paired_difference(const struct summary *s, size_t metric, uint32_t column,
                                uint32_t entity, uint32_t part);

/* True when the interval exists and does not hold 0. */
bool paired_significant(const struct paired *p);

#endif
