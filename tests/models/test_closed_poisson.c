/* Poisson tails against plain sums of all terms, each from logarithms of factorials added up. */
#include "models/closed/poisson.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

static void check_close(double value, double want, double relative)
{
    cr_assert_leq(fabs(value - want), relative * fabs(want), "%.17g for %.17g", value, want);
}

enum { MOST = 3000 };

/* All terms up to MOST, far beyond the means taken here. */
static void all_terms(double m, long double p[MOST])
{
    long double log_factorial = 0;
    for (int k = 0; k < MOST; k++) {
        log_factorial += k ? logl(k) : 0;
        p[k] = expl(k * logl(m) - m - log_factorial);
    }
}

Test(closed_poisson, equals_plain_sums)
{
    static long double p[MOST];
    const double means[] = {1e-3, 0.7, 3, 19.5, 20, 100, 474.948, 1000};
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++) {
        const double m = means[i];
        all_terms(m, p);
        long double tail = 0, shortfall = 0, below = 0;
        for (int n = 0; n < 2000; n++, below += p[n - 1], shortfall += below) {
            tail = 0;
            for (int k = MOST - 1; k >= n; k--)
                tail += p[k];
            if (p[n] > 1e-290L)
                check_close(poisson_is(m, n), (double)p[n], 1e-12);
            if (tail > 1e-290L)
                check_close(poisson_at_least(m, n), (double)tail, 1e-12);
            if (shortfall > 1e-290L)
                check_close(poisson_shortfall(m, n), (double)shortfall, 1e-12);
        }
    }
}

Test(closed_poisson, level_is_the_smallest)
{
    for (double m = 0.01; m < 1e6; m *= 3.7)
        for (double target = 0.9; target > 1e-200; target *= target) {
            const double n = poisson_level(m, target);
            cr_assert_leq(poisson_at_least(m, n), target);
            cr_assert_gt(poisson_at_least(m, n - 1), target);
        }
}

Test(closed_poisson, edges)
{
    check_close(poisson_at_least(100, 120), 0.0282303939649, 1e-11);
    cr_assert_eq(poisson_at_least(0, 0), 1);
    cr_assert_eq(poisson_at_least(0, 1), 0);
    cr_assert_eq(poisson_at_least(5, 0), 1);
    cr_assert_eq(poisson_at_least(1e6, 1e9), 0);
    cr_assert_eq(poisson_level(0, 0.5), 1);
    cr_assert_eq(poisson_shortfall(0, 7), 7);
    cr_assert_eq(poisson_shortfall(7, 0), 0);
    check_close(poisson_shortfall(1e6, 1e9), 1e9 - 1e6, 1e-12);
    cr_assert(isnan(poisson_at_least(-1, 0)));
    cr_assert(isnan(poisson_at_least(1, 0.5)));
    cr_assert(isnan(poisson_level(1, 1)));
}
