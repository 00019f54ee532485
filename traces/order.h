/* Order: the times of a trace's rows, from file order to trace order.
 *
 * Rows of requests and of jobs are kept by their readers as they come; this holds one key a row,
 * sorts the keys stably, finds equal rows, cuts the window, spreads quantised times, moves the
 * first row to time 0, and measures gaps and peaks. A row equals another when the bytes of both
 * lines are equal, held as a 64-bit hash and compared only at equal times. */
#ifndef HEADROOM_TRACES_ORDER_H
#define HEADROOM_TRACES_ORDER_H

#include "traces/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_key {
    uint64_t t; /* the file's clock with its sign bit flipped, so that it sorts; from the first row
                   after order_finish */
    uint64_t hash;
    uint32_t row; /* number of the reader's row; rises in file order */
};

struct order {
    struct order_key *items; /* owned */
    size_t n, capacity;
    uint64_t last, min, max; /* of all rows seen, dropped ones too; flipped */
    uint64_t n_seen, inversions;
};

static inline uint64_t order_flip(int64_t t)
{
    return (uint64_t)t ^ (UINT64_C(1) << 63);
}

static inline int64_t order_unflip(uint64_t t)
{
    return (int64_t)(t ^ (UINT64_C(1) << 63));
}

/* Notes the time of a row, in file order, whether it will be kept or not. */
static inline void order_see(struct order *o, uint64_t t)
{
    if (o->n_seen++ == 0)
        o->min = o->max = t;
    else
        o->inversions += t < o->last;
    o->last = t;
    if (t > o->max)
        o->max = t;
    if (t < o->min)
        o->min = t;
}

/* Keeps a row; false when memory is out. */
bool order_add(struct order *o, uint64_t t, uint64_t hash, uint32_t row);

uint64_t order_hash(const char *text, size_t n);

/* Brings the keys into trace order and fills the report's counts, times, gaps and peak (its yields,
 * calendar and sha256 must be set). Keys that duplicates or the window drop are taken out. */
enum hr_err order_finish(struct order *o, const struct trace_spec *spec, struct trace_report *r);

void order_free(struct order *o);

#endif
