/* Intervals: worked by hand from printed tables, and by GSL's statistics. */
#include "analysis/stats/interval.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

/* 1, 2, 3, 4, 5: s = sqrt(2.5), t(4, 0.975) = 2.776445, t(4, 0.95) = 2.131847. */
Test(interval, one_sample_by_hand)
{
    const double x[] = {1, 2, 3, 4, 5};
    struct interval i = interval_mean(x, 5, 0.95);
    cr_expect(eq(sz, i.n, 5));
    cr_expect(epsilon_eq(dbl, i.mean, 3, 1e-12));
    cr_expect(epsilon_eq(dbl, i.half_width, 2.776445 * sqrt(0.5), 1e-6));
    cr_expect(epsilon_eq(dbl, i.low, 3 - i.half_width, 1e-12));
    cr_expect(epsilon_eq(dbl, i.high, 3 + i.half_width, 1e-12));
    i = interval_mean(x, 5, 0.90);
    cr_expect(epsilon_eq(dbl, i.half_width, 2.131847 * sqrt(0.5), 1e-6));
    cr_expect(epsilon_eq(dbl, interval_relative(&i), i.half_width / 3, 1e-12));
}

/* Two values are the least: 1 and 3 give 2 +- 12.7062 x 1. */
Test(interval, few_values)
{
    const double x[] = {1, 3};
    struct interval i = interval_mean(x, 2, 0.95);
    cr_expect(epsilon_eq(dbl, i.half_width, 12.7062, 1e-4));
    i = interval_mean(x, 1, 0.95);
    cr_expect(epsilon_eq(dbl, i.mean, 1, 0.0));
    cr_expect(isnan(i.low) && isnan(i.high) && isnan(i.half_width));
    cr_expect(not(interval_excludes(&i, 0)));
    i = interval_mean(x, 0, 0.95);
    cr_expect(eq(sz, i.n, 0));
    cr_expect(isnan(i.mean) && isnan(i.low) && isnan(interval_relative(&i)));
}

Test(interval, nan_is_left_out)
{
    const double with[] = {NAN, 1, 2, NAN, 6}, without[] = {1, 2, 6};
    struct interval a = interval_mean(with, 5, 0.95), b = interval_mean(without, 3, 0.95);
    cr_expect(eq(sz, a.n, 3));
    cr_expect(epsilon_eq(dbl, a.low, b.low, 0.0));
    const double x[] = {1, 2, NAN, 4}, y[] = {2, NAN, 4, 8};
    struct interval p = interval_paired(x, y, 4, 0.95);
    cr_expect(eq(sz, p.n, 2));
    cr_expect(epsilon_eq(dbl, p.mean, 2.5, 1e-12));
    struct interval w = interval_welch(x, 4, y, 4, 0.95); /* 1, 2, 4 against 2, 4, 8 */
    cr_expect(eq(sz, w.n, 3));
    cr_expect(epsilon_eq(dbl, w.mean, 7.0 / 3, 1e-12));
}

Test(interval, constant_values_have_no_width)
{
    const double x[] = {2, 2, 2}, y[] = {0, 0, 0};
    struct interval i = interval_mean(x, 3, 0.95);
    cr_expect(epsilon_eq(dbl, i.half_width, 0, 0.0));
    cr_expect(interval_excludes(&i, 0));
    i = interval_mean(y, 3, 0.95);
    cr_expect(epsilon_eq(dbl, interval_relative(&i), 0, 0.0));
    cr_expect(not(interval_excludes(&i, 0)));
    i = interval_welch(x, 3, y, 3, 0.95);
    cr_expect(epsilon_eq(dbl, i.mean, -2, 0.0));
    cr_expect(epsilon_eq(dbl, i.half_width, 0, 0.0));
}

/* Differences 1, 2, 3, 4, 5 of values that are far apart. */
Test(interval, pairs)
{
    const double a[] = {10, 20, 30, 40, 50}, b[] = {11, 22, 33, 44, 55}, d[] = {1, 2, 3, 4, 5};
    struct interval p = interval_paired(a, b, 5, 0.95), m = interval_mean(d, 5, 0.95);
    cr_expect(epsilon_eq(dbl, p.mean, m.mean, 1e-12));
    cr_expect(epsilon_eq(dbl, p.half_width, m.half_width, 1e-12));
    cr_expect(interval_excludes(&p, 0));
    struct interval w = interval_welch(a, 5, b, 5, 0.95);
    cr_expect(epsilon_eq(dbl, w.mean, p.mean, 1e-12));
    cr_expect(gt(dbl, w.half_width, 5 * p.half_width));
}

/* The formula of the header, with GSL's variances. Of equal sizes and variances Welch's degrees of
 * freedom are those of the pooled test. */
Test(interval, welch_by_gsl)
{
    const double a[] = {3.1, 2.7, 4.4, 3.9, 3.3, 2.2, 5.0}, b[] = {6.1, 9.5, 4.0, 8.8};
    double u = gsl_stats_variance(a, 1, 7) / 7, v = gsl_stats_variance(b, 1, 4) / 4;
    double df = (u + v) * (u + v) / (u * u / 6 + v * v / 3);
    struct interval i = interval_welch(a, 7, b, 4, 0.95);
    cr_expect(epsilon_eq(dbl, i.mean, gsl_stats_mean(b, 1, 4) - gsl_stats_mean(a, 1, 7), 1e-12));
    cr_expect(epsilon_eq(dbl, i.df, df, 1e-9));
    cr_expect(epsilon_eq(dbl, i.half_width, gsl_cdf_tdist_Pinv(0.975, df) * sqrt(u + v), 1e-9));
    const double moved[] = {13.1, 12.7, 14.4, 13.9, 13.3, 12.2, 15.0};
    i = interval_welch(a, 7, moved, 7, 0.95);
    cr_expect(epsilon_eq(dbl, i.df, 12, 1e-9));
}
