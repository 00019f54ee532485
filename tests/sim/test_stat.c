/* Tallies against GSL's statistics and a Student t table; levels against sums done by hand. */
#include "sim/stat.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

enum { N = 5000 };

static void fill(double *x, double shift, double scale)
{
    gsl_rng *r = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(r, 12345);
    for (int i = 0; i < N; i++)
        x[i] = shift + scale * gsl_ran_exponential(r, 1.0);
    gsl_rng_free(r);
}

static void check_against_gsl(const struct tally *t, const double *x, size_t n)
{
    double mean = gsl_stats_mean(x, 1, n), variance = gsl_stats_variance(x, 1, n);
    cr_assert_eq(t->n, n);
    cr_assert_float_eq(t->mean, mean, 1e-12 * fabs(mean));
    cr_assert_float_eq(tally_variance(t), variance, 1e-9 * variance);
    cr_assert_float_eq(tally_std_error(t), sqrt(variance / (double)n), 1e-9 * sqrt(variance));
    cr_assert_eq(t->min, gsl_stats_min(x, 1, n));
    cr_assert_eq(t->max, gsl_stats_max(x, 1, n));
}

/* The shift makes the naive sum of squares lose every digit. */
Test(stat, tally_agrees_with_gsl)
{
    static const double shifts[] = {0, -3, 1e8}, scales[] = {1, 1e-3, 10};
    double x[N];
    for (int c = 0; c < 3; c++) {
        fill(x, shifts[c], scales[c]);
        struct tally t = {0};
        for (int i = 0; i < N; i++)
            tally_add(&t, x[i]);
        check_against_gsl(&t, x, N);
    }
}

Test(stat, merged_tallies_agree_with_gsl)
{
    double x[N];
    fill(x, 5, 2);
    for (int cut = 0; cut <= N; cut += N / 4) {
        struct tally a = {0}, b = {0};
        for (int i = 0; i < N; i++)
            tally_add(i < cut ? &a : &b, x[i]);
        tally_merge(&a, &b);
        check_against_gsl(&a, x, N);
    }
}

/* Two-sided 95 % points of Student's t: 12.706, 2.776, 2.262, 2.045, 1.984 at 1, 4, 9, 29, 99. */
Test(stat, half_width_matches_the_t_table)
{
    static const struct {
        int n;
        double t;
    } rows[] = {{2, 12.706}, {5, 2.776}, {10, 2.262}, {30, 2.045}, {100, 1.984}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct tally t = {0};
        for (int i = 0; i < rows[r].n; i++)
            tally_add(&t, i % 2 ? 1 : -1);
        double ratio = tally_half_width(&t, 0.95) / tally_std_error(&t);
        cr_assert_float_eq(ratio, rows[r].t, 5e-4);
    }
}

Test(stat, few_values)
{
    struct tally t = {0};
    cr_assert(isnan(tally_half_width(&t, 0.95)));
    cr_assert_eq(tally_variance(&t), 0);
    tally_add(&t, -4);
    cr_assert_eq(t.mean, -4);
    cr_assert_eq(t.min, -4);
    cr_assert_eq(t.max, -4);
    cr_assert_eq(tally_std_error(&t), 0);
    cr_assert(isnan(tally_half_width(&t, 0.95)));
    tally_add(&t, -4);
    cr_assert_eq(tally_half_width(&t, 0.95), 0);
}

Test(stat, level_integral_is_exact)
{
    struct level l;
    level_init(&l, 100, 3);
    level_add(&l, 110, 2);  /* 3 for 10 */
    level_set(&l, 110, 50); /* 5 for nothing */
    level_set(&l, 110, 7);
    level_add(&l, 113, -9); /* 7 for 3 */
    cr_assert(level_integral(&l, 120) == 3 * 10 + 7 * 3 - 2 * 7);
    cr_assert(level_integral(&l, 113) == 51);
    cr_assert_float_eq(level_mean(&l, 100, 120), 37.0 / 20, 1e-15);
    cr_assert_eq(l.max, 7);
    level_set(&l, 130, 8);
    cr_assert_eq(l.max, 8, "the value set last counts");
    level_set(&l, 130, 1);
    cr_assert_eq(l.max, 7, "a value replaced at its own instant does not");
}

Test(stat, level_goes_past_64_bits)
{
    struct level l;
    level_init(&l, 0, INT64_C(1) << 40);
    i128 exact = ((i128)1 << 40) * (i128)(SIM_NEVER - 1);
    cr_assert(level_integral(&l, SIM_NEVER - 1) == exact);
    level_set(&l, SIM_NEVER - 1, 0);
    cr_assert(level_integral(&l, SIM_NEVER) == exact);
    cr_assert_float_eq(level_mean(&l, 0, SIM_NEVER), 0x1p40, 1);
}

Test(stat, level_equals_the_sum_of_unit_intervals)
{
    gsl_rng *r = gsl_rng_alloc(gsl_rng_taus2);
    struct level l;
    level_init(&l, 0, 0);
    simtime_ns now = 0;
    int64_t unit = 0, value = 0, max = INT64_MIN;
    for (int i = 0; i < 2000; i++) {
        simtime_ns step = gsl_rng_uniform_int(r, 4);
        unit += value * (int64_t)step;
        if (step && value > max)
            max = value;
        now += step;
        value = (int64_t)gsl_rng_uniform_int(r, 21) - 10;
        level_set(&l, now, value);
        cr_assert(level_integral(&l, now) == unit);
        cr_assert_eq(l.max, value > max ? value : max);
    }
    gsl_rng_free(r);
}
