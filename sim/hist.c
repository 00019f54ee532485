/* Buckets of the log histogram.
 *
 * A value v of 64 and above with its highest bit at e lies in the bucket (e - 6) * 64 + (v >> (e -
 * 6)): the shift leaves 7 significant bits, 64..127, so each octave adds 64 buckets and the index
 * of values below 128 is the value itself. The largest index, for 2^64 - 1, is 57 * 64 + 127 =
 * 3775. */
#include "sim/hist.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OCTAVE_BITS = 6, OCTAVE = 1 << OCTAVE_BITS };

void hist_init(struct hist *h)
{
    *h = (struct hist){0};
}

void hist_fini(struct hist *h)
{
    free(h->counts);
    *h = (struct hist){0};
}

void hist_clear(struct hist *h)
{
    if (h->counts)
        memset(h->counts, 0, h->n_buckets * sizeof *h->counts);
    *h = (struct hist){.counts = h->counts, .n_buckets = h->n_buckets};
}

size_t hist_bucket(uint64_t value)
{
    if (value < OCTAVE)
        return (size_t)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - OCTAVE_BITS;
    return ((size_t)shift << OCTAVE_BITS) + (size_t)(value >> shift);
}

static unsigned bucket_shift(size_t bucket)
{
    return bucket < 2 * OCTAVE ? 0 : (unsigned)(bucket >> OCTAVE_BITS) - 1;
}

uint64_t hist_bucket_low(size_t bucket)
{
    unsigned shift = bucket_shift(bucket);
    return (bucket - ((uint64_t)shift << OCTAVE_BITS)) << shift;
}

uint64_t hist_bucket_width(size_t bucket)
{
    return UINT64_C(1) << bucket_shift(bucket);
}

/* Room for the whole octave of the bucket. */
static bool grow(struct hist *h, size_t bucket)
{
    size_t n = (bucket / OCTAVE + 1) * OCTAVE;
    uint64_t *counts = realloc(h->counts, n * sizeof *counts);
    if (!counts) {
        h->failed = true;
        return false;
    }
    memset(counts + h->n_buckets, 0, (n - h->n_buckets) * sizeof *counts);
    h->counts = counts;
    h->n_buckets = n;
    return true;
}

void hist_add(struct hist *h, uint64_t value)
{
    size_t bucket = hist_bucket(value);
    if (h->n == 0 || value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
    h->n++;
    h->sum += value;
    if (bucket < h->n_buckets || grow(h, bucket))
        h->counts[bucket]++;
}

enum hr_err hist_merge(struct hist *into, const struct hist *from)
{
    if (from->n == 0)
        return HR_OK;
    if (from->n_buckets > into->n_buckets && !grow(into, from->n_buckets - 1))
        return HR_NOMEM;
    for (size_t i = 0; i < from->n_buckets; i++)
        into->counts[i] += from->counts[i];
    if (into->n == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->n += from->n;
    into->sum += from->sum;
    into->failed |= from->failed;
    return into->failed ? HR_NOMEM : HR_OK;
}

/* ceil(q n), at least 1. A decimal such as 0.07 is not exact in binary, and 0.07 * 100 comes out
 * above 7: the product is lowered by a few units in its last place so that the rank is the one
 * meant. */
static uint64_t rank_of(double q, uint64_t n)
{
    double rank = ceil(q * (double)n * (1 - 0x1p-50));
    if (rank < 1)
        return 1;
    return rank >= (double)n ? n : (uint64_t)rank;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
    assert(q >= 0 && q <= 1);
    if (h->n == 0)
        return 0;
    uint64_t rank = rank_of(q, h->n), seen = 0;
    for (size_t i = hist_bucket(h->min); i < h->n_buckets; i++) {
        seen += h->counts[i];
        if (seen >= rank) {
            uint64_t middle = hist_bucket_low(i) + (hist_bucket_width(i) - 1) / 2;
            return middle < h->min ? h->min : middle > h->max ? h->max : middle;
        }
    }
    return h->max;
}

double hist_mean(const struct hist *h)
{
    return h->n ? (double)h->sum / (double)h->n : 0;
}

uint64_t hist_above(const struct hist *h, uint64_t limit)
{
    uint64_t n = 0;
    for (size_t i = hist_bucket(limit) + 1; i < h->n_buckets; i++)
        n += h->counts[i];
    return n;
}
