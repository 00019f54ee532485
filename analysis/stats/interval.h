/* Confidence intervals of a mean, of paired differences and of the difference of two samples.
 *
 * One sample: mean +- t(n - 1) s / sqrt(n), Student t. Pairs: the same over the differences.
 * Two samples that share nothing: the difference of the means with Welch's standard error
 * sqrt(s_a^2/n_a + s_b^2/n_b) and degrees of freedom (B. L. Welch, Biometrika 34, 1947)
 *
 *     (s_a^2/n_a + s_b^2/n_b)^2 / ((s_a^2/n_a)^2 / (n_a - 1) + (s_b^2/n_b)^2 / (n_b - 1))
 *
 * Values that are NaN are left out (a pair when either is). Pure functions: no memory, no files. */
#ifndef HEADROOM_ANALYSIS_STATS_INTERVAL_H
#define HEADROOM_ANALYSIS_STATS_INTERVAL_H

#include "sim/stat.h"

#include <stdbool.h>
#include <stddef.h>

struct interval {
    size_t n;    /* values used; of two samples the smaller */
    double mean; /* NaN without a value */
    double std_error, df;
    double half_width; /* NaN below two values, as low, high, std_error and df */
    double low, high;
};

/* confidence: 0.95 gives a two-sided interval that misses the true mean once in 20 times. */
struct interval interval_mean(const double *x, size_t n, double confidence);
struct interval interval_tally(const struct tally *t, double confidence);

/* Of b[i] - a[i]. */
struct interval interval_paired(const double *a, const double *b, size_t n, double confidence);

/* Of the mean of b minus the mean of a. */
struct interval interval_welch(const double *a, size_t n_a, const double *b, size_t n_b,
                               double confidence);
struct interval interval_welch_tally(const struct tally *a, const struct tally *b,
                                     double confidence);

/* The interval exists and does not hold x. */
bool interval_excludes(const struct interval *i, double x);

/* Half width over |mean|; NaN when there is no interval, infinite at mean 0 unless the width is 0,
 * too. */
double interval_relative(const struct interval *i);

/* From an estimate, its standard error and its degrees of freedom: what all of them come down to.
 */
struct interval interval_from(size_t n, double mean, double std_error, double df,
                              double confidence);

#endif
