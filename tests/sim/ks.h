/* The Kolmogorov-Smirnov distance between a sample and a distribution function, for tests. */
#ifndef HEADROOM_TESTS_SIM_KS_H
#define HEADROOM_TESTS_SIM_KS_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

typedef double cdf_fn(double x, const void *ctx);

static inline int ks_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sqrt(n) times the largest distance; sorts x. Under the distribution it exceeds 1.95 once in
 * 1,000. */
static inline double ks_statistic(double *x, size_t n, cdf_fn *cdf, const void *ctx)
{
    double largest = 0;
    qsort(x, n, sizeof *x, ks_by_value);
    for (size_t i = 0; i < n; i++) {
        double p = cdf(x[i], ctx);
        largest = fmax(largest, fmax((double)(i + 1) / (double)n - p, p - (double)i / (double)n));
    }
    return largest * sqrt((double)n);
}

#define KS_LIMIT 1.95

#endif
