/* Exact quantiles of whole numbers, whatever their order.
 *
 * Values below QUANTILE_COUNTED (all token and GPU counts but a few) are counted one by one; the
 * others are kept and sorted at the end. */
#ifndef HEADROOM_TRACES_QUANTILE_H
#define HEADROOM_TRACES_QUANTILE_H

#include "traces/trace.h"

#include "sim/int128.h"

#include <stddef.h>
#include <stdint.h>

enum { QUANTILE_COUNTED = 1 << 16 };

struct quantile {
    uint64_t *counts; /* owned; of each value below QUANTILE_COUNTED */
    uint64_t *items;  /* owned; the others, in the order they came */
    size_t n, capacity;
    uint64_t n_values, max;
    u128 sum;
    bool failed; /* memory ran out */
};

enum hr_err quantile_init(struct quantile *q); /* empties it too; keeps no memory */
void quantile_fini(struct quantile *q);        /* accepts a zeroed struct */

void quantile_keep(struct quantile *q, uint64_t value);

static inline void quantile_add(struct quantile *q, uint64_t value)
{
    q->n_values++;
    q->sum += value;
    if (value > q->max)
        q->max = value;
    if (value < QUANTILE_COUNTED)
        q->counts[value]++;
    else
        quantile_keep(q, value);
}

/* Mean, quantiles (linear between neighbours) and maximum, each times unit; at least one value. */
enum hr_err quantile_get(struct quantile *q, double unit, struct trace_quantiles *out);

#endif
