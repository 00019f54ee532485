/* Log histogram of durations: any quantile with a relative error of at most 1 %.
 *
 * Buckets are linear within each power of two (64 per octave, so a bucket is at most 1/64 wide and
 * its middle is within 0.8 % of any value in it); values below 64 ns are exact. A bucket index is a
 * shift and an add: no logarithm, hence the same on every machine. Counts are exact; min, max and
 * sum too. Memory: grows to the largest bucket seen, 64 * 8 bytes per octave. */
#ifndef HEADROOM_SIM_HIST_H
#define HEADROOM_SIM_HIST_H

#include "sim/err.h"
#include "sim/int128.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hist {
    uint64_t *counts; /* owned; bucket i as hist_bucket gives it */
    size_t n_buckets; /* length of counts */
    uint64_t n;       /* values added */
    uint64_t min, max;
    u128 sum;
    bool failed; /* memory ran out: values are missing from counts */
};

void hist_init(struct hist *h);
void hist_fini(struct hist *h);  /* accepts a zeroed struct */
void hist_clear(struct hist *h); /* empties it, keeps the memory */

void hist_add(struct hist *h, uint64_t value);
enum hr_err hist_merge(struct hist *into, const struct hist *from);

/* The value at rank ceil(q * n) of the sorted values (q in 0..1), as the middle of its bucket,
 * clamped to min..max; 0 when empty. */
uint64_t hist_quantile(const struct hist *h, double q);
double hist_mean(const struct hist *h);

/* Values above a limit, exact only where the limit is a bucket edge; counts the whole bucket of the
 * limit as not above. */
uint64_t hist_above(const struct hist *h, uint64_t limit);

size_t hist_bucket(uint64_t value);
uint64_t hist_bucket_low(size_t bucket);   /* smallest value in the bucket */
uint64_t hist_bucket_width(size_t bucket); /* number of values in it */

#endif
