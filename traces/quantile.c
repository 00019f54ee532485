/* See quantile.h. */
#include "traces/quantile.h"

#include "sim/vec.h"

#include <stdlib.h>

enum hr_err quantile_init(struct quantile *q)
{
    *q = (struct quantile){.counts = calloc(QUANTILE_COUNTED, sizeof *q->counts)};
    return q->counts != NULL ? HR_OK : HR_NOMEM;
}

void quantile_fini(struct quantile *q)
{
    free(q->counts);
    vec_free(q);
    *q = (struct quantile){0};
}

void quantile_keep(struct quantile *q, uint64_t value)
{
    q->failed |= !vec_push(q, value);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The value with so many values before it, in sorted order. */
static uint64_t value_at(const struct quantile *q, uint64_t rank)
{
    uint64_t below = q->n_values - q->n; /* counted ones stand before the kept ones */
    if (rank >= below)
        return q->items[rank - below];
    uint64_t value = 0;
    for (uint64_t seen = q->counts[0]; seen <= rank; seen += q->counts[++value])
        ;
    return value;
}

/* At position (n - 1) percent / 100 of the sorted values, counted from 0, linear between
 * neighbours (type 7 of R. Hyndman and Y. Fan, The American Statistician 50(4), 1996). */
static double at(const struct quantile *q, uint64_t percent, double unit)
{
    uint64_t last = q->n_values - 1;
    uint64_t whole = last / 100 * percent + last % 100 * percent / 100;
    uint64_t hundredths = last % 100 * percent % 100;
    double low = (double)value_at(q, whole);
    double high = hundredths > 0 ? (double)value_at(q, whole + 1) : low;
    return (low + (high - low) * (double)hundredths / 100) * unit;
}

enum hr_err quantile_get(struct quantile *q, double unit, struct trace_quantiles *out)
{
    if (q->failed)
        return HR_NOMEM;
    if (q->n > 1)
        qsort(q->items, q->n, sizeof *q->items, ascending);
    *out = (struct trace_quantiles){
        .mean = (double)q->sum / (double)q->n_values * unit,
        .p50 = at(q, 50, unit),
        .p90 = at(q, 90, unit),
        .p95 = at(q, 95, unit),
        .p99 = at(q, 99, unit),
        .max = (double)q->max * unit,
    };
    return HR_OK;
}
