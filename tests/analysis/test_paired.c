/* Paired intervals: a worked example, and GSL's t distribution. */
#include "fixture.h"

#include "analysis/paired.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

/* One metric of two columns, given directly. */
static void fill(struct experiment *e, size_t m, const double *first, const double *second,
                 uint32_t n)
{
    fixture_experiment(e, 2, n, 1);
    for (uint32_t r = 0; r < n; r++) {
        *summary_at(&e->summary, m, 0, r, 0, 0) = first[r];
        *summary_at(&e->summary, m, 1, r, 0, 0) = second[r];
    }
}

/* Differences 1, 2, 3, 4, 5: mean 3, s = sqrt(2.5), half width 2.776445 x sqrt(2.5 / 5) = 1.963243.
 */
Test(paired, worked_example)
{
    const double a[] = {10, 20, 30, 40, 50}, b[] = {11, 22, 33, 44, 55};
    size_t m = metric_find("utilization");
    struct experiment e;
    fill(&e, m, a, b, 5);
    struct paired p = paired_difference(&e.summary, m, 1, 0, 0);
    cr_expect(eq(u32, p.n, 5));
    cr_expect(epsilon_eq(dbl, p.mean, 3, 1e-12));
    cr_expect(epsilon_eq(dbl, p.low, 3 - 1.963243, 1e-6));
    cr_expect(epsilon_eq(dbl, p.high, 3 + 1.963243, 1e-6));
    cr_expect(paired_significant(&p));
    experiment_fini(&e);
}

Test(paired, against_gsl)
{
    double a[9], b[9], d[9];
    for (int i = 0; i < 9; i++) {
        a[i] = 0.3 * i + (i * 7 % 5);
        b[i] = 0.31 * i + (i * 3 % 4);
        d[i] = b[i] - a[i];
    }
    size_t m = metric_find("lost_gpu_h");
    struct experiment e;
    fill(&e, m, a, b, 9);
    struct paired p = paired_difference(&e.summary, m, 1, 0, 0);
    double mean = gsl_stats_mean(d, 1, 9);
    double half = gsl_cdf_tdist_Pinv(0.975, 8) * gsl_stats_sd(d, 1, 9) / sqrt(9);
    cr_expect(epsilon_eq(dbl, p.mean, mean, 1e-12));
    cr_expect(epsilon_eq(dbl, p.low, mean - half, 1e-9));
    cr_expect(epsilon_eq(dbl, p.high, mean + half, 1e-9));
    cr_expect(eq(int, paired_significant(&p), mean - half > 0 || mean + half < 0));
    experiment_fini(&e);
}

Test(paired, none_below_five)
{
    const double a[] = {1, 2, 3, 4}, b[] = {2, 3, 4, 5};
    size_t m = metric_find("utilization");
    struct experiment e;
    fill(&e, m, a, b, 4);
    struct paired p = paired_difference(&e.summary, m, 1, 0, 0);
    cr_expect(epsilon_eq(dbl, p.mean, 1, 1e-12));
    cr_expect(isnan(p.low) && isnan(p.high) && !paired_significant(&p));
    experiment_fini(&e);
}

/* A replication in which one design has no value leaves that pair out. */
Test(paired, missing_values)
{
    const double a[] = {1, NAN, 3, 4, 5, 6}, b[] = {2, 3, 4, 5, 6, 7};
    size_t m = metric_find("utilization");
    struct experiment e;
    fill(&e, m, a, b, 6);
    struct paired p = paired_difference(&e.summary, m, 1, 0, 0);
    cr_expect(eq(u32, p.n, 5));
    cr_expect(epsilon_eq(dbl, p.mean, 1, 1e-12));
    cr_expect(epsilon_eq(dbl, p.low, 1, 1e-9)); /* all equal: no width */
    experiment_fini(&e);
}
