/* See order.h. */
#include "traces/order.h"

#include "sim/rng.h"
#include "sim/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool order_add(struct order *o, uint64_t t, uint64_t hash, uint32_t row)
{
    return vec_push(o, ((struct order_key){.t = t, .hash = hash, .row = row}));
}

/* Eight bytes at a time: xor, multiply by an odd constant, fold. Not meant to resist an enemy. */
uint64_t order_hash(const char *text, size_t n)
{
    const uint64_t k = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = n * k, word;
    for (; n >= 8; text += 8, n -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * k;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, n);
    h = (h ^ word) * k;
    return h ^ (h >> 29);
}

/* --- sorting ----------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct order_key *x = a, *y = b;
    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_hash(const void *a, const void *b)
{
    const struct order_key *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void sort_keys(struct order *o)
{
    bool sorted = true;
    for (size_t i = 1; i < o->n && sorted; i++)
        sorted = o->items[i - 1].t <= o->items[i].t;
    if (!sorted)
        qsort(o->items, o->n, sizeof *o->items, by_time);
}

/* --- what is taken out ------------------------------------------------------------------- */

/* Among the n > 1 keys of one time: counts those equal to an earlier one, and drops them when
 * asked. Writes the rest to out (which may be keys itself) and returns their number. */
static size_t unique(struct order_key *keys, size_t n, bool drop, struct order_key *out,
                     uint64_t *duplicates)
{
    size_t kept = 0;
    qsort(keys, n, sizeof *keys, by_hash);
    for (size_t i = 0; i < n; i++) {
        bool duplicate = i > 0 && keys[i].hash == keys[i - 1].hash;
        *duplicates += duplicate;
        if (!duplicate || !drop)
            keys[kept++] = keys[i];
    }
    qsort(keys, kept, sizeof *keys, by_time);
    memmove(out, keys, kept * sizeof *keys);
    return kept;
}

static void find_duplicates(struct order *o, bool drop, struct trace_report *r)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < o->n; i = end) {
        for (end = i + 1; end < o->n && o->items[end].t == o->items[i].t;)
            end++;
        if (end == i + 1)
            o->items[kept++] = o->items[i];
        else
            kept += unique(&o->items[i], end - i, drop, &o->items[kept], &r->duplicates);
    }
    r->dropped[TRACE_DROP_DUPLICATE] = o->n - kept;
    o->n = kept;
}

static void cut_window(struct order *o, const struct trace_spec *spec, struct trace_report *r)
{
    size_t kept = 0;
    if (spec->from_ns == 0 && spec->until_ns == 0)
        return;
    for (size_t i = 0; i < o->n; i++) {
        uint64_t t = o->items[i].t - o->min;
        if (t >= spec->from_ns && (spec->until_ns == 0 || t < spec->until_ns))
            o->items[kept++] = o->items[i];
    }
    r->dropped[TRACE_DROP_WINDOW] = o->n - kept;
    o->n = kept;
}

static void spread(struct order *o, const struct trace_spec *spec, const struct trace_report *r)
{
    struct rng rng;
    if (spec->spread_ns == 0)
        return;
    rng_init(&rng, spec->seed, 0, r->sha256, "spread");
    for (size_t i = 0; i < o->n; i++)
        o->items[i].t = sim_time_add(o->items[i].t, rng_below(&rng, spec->spread_ns));
    sort_keys(o);
}

/* --- what is measured -------------------------------------------------------------------- */

/* Busiest window against the mean; 0 when the span is shorter than a window. The first row stands
 * shift after the start of the first one. */
static double peak_to_mean(const struct order *o, uint64_t span, uint64_t width, uint64_t shift)
{
    if (span < width)
        return 0;
    uint64_t end = width, n = 0, peak = 0; /* of the window; it moves by whole widths */
    for (size_t i = 0; i < o->n; i++) {
        uint64_t t = o->items[i].t + shift;
        if (t >= end) {
            n = 0;
            end = (t / width + 1) * width;
        }
        n++;
        peak = n > peak ? n : peak;
    }
    return (double)peak * ((double)span / (double)width) / (double)o->n;
}

/* Jobs come by the hour of the clock, requests by the minute from the first one on. */
static uint64_t into_hour(int64_t t)
{
    int64_t hour = (int64_t)SIM_HOUR, rest = t % hour;
    return (uint64_t)(rest < 0 ? rest + hour : rest);
}

/* The mean gap is known beforehand, so their variance takes one pass and no division. */
static void measure_gaps(const struct order *o, struct trace_report *r, uint64_t long_gap)
{
    double mean = o->n > 1 ? (double)r->span_ns / (double)(o->n - 1) : 0, squares = 0;
    for (size_t i = 1; i < o->n; i++) {
        uint64_t gap = o->items[i].t - o->items[i - 1].t;
        double apart = (double)gap - mean;
        squares += apart * apart;
        r->ties += gap == 0;
        r->longest_gap_ns = gap > r->longest_gap_ns ? gap : r->longest_gap_ns;
        if (gap >= long_gap) {
            r->long_gaps++;
            r->long_gaps_ns += gap;
        }
    }
    if (o->n > 2 && mean > 0)
        r->gap_cv = sqrt(squares / (double)(o->n - 2)) / mean;
}

enum hr_err order_finish(struct order *o, const struct trace_spec *spec, struct trace_report *r)
{
    r->inversions = o->inversions;
    sort_keys(o);
    find_duplicates(o, spec->dedupe, r);
    cut_window(o, spec, r);
    spread(o, spec, r);
    r->rows_kept = o->n;
    if (o->n == 0)
        return HR_OK;
    uint64_t first = o->items[0].t;
    r->first_ns = order_unflip(first);
    r->last_ns = order_unflip(o->items[o->n - 1].t);
    r->span_ns = o->items[o->n - 1].t - first;
    for (size_t i = 0; i < o->n; i++)
        o->items[i].t -= first;
    if (r->span_ns > 0)
        r->rate_per_s = (double)o->n / sim_time_to_s(r->span_ns);
    bool requests = r->yields == TRACE_REQUESTS;
    r->peak_to_mean = requests ? peak_to_mean(o, r->span_ns, SIM_MIN, 0)
                               : peak_to_mean(o, r->span_ns, SIM_HOUR, into_hour(r->first_ns));
    measure_gaps(o, r, requests ? SIM_MIN : r->yields == TRACE_JOBS ? 6 * SIM_HOUR : SIM_HOUR);
    return HR_OK;
}

void order_free(struct order *o)
{
    vec_free(o);
}
