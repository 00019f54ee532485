/* Durations: every kind against its mean, its squared coefficient of variation and its distribution
 * function; degenerate and invalid parameters. */
#include "ks.h"
#include "sim/dist.h"
#include "sim/stat.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <math.h>
#include <string.h>

/* Distribution function of a duration in seconds, by GSL. */
static double cdf_s(double x, const void *ctx)
{
    const struct dist *d = ctx;
    double variance = log1p(d->spread * d->spread), scv = d->spread * d->spread;
    switch (d->kind) {
    case DIST_UNIFORM:
        return gsl_cdf_flat_P(x, d->mean_s - d->spread, d->mean_s + d->spread);
    case DIST_EXPONENTIAL:
        return gsl_cdf_exponential_P(x, d->mean_s);
    case DIST_LOGNORMAL:
        return gsl_cdf_lognormal_P(x, log(d->mean_s) - variance / 2, sqrt(variance));
    case DIST_GAMMA:
        return gsl_cdf_gamma_P(x, 1 / scv, d->mean_s * scv);
    case DIST_WEIBULL:
        return gsl_cdf_weibull_P(x, d->mean_s / tgamma(1 + 1 / d->spread), d->spread);
    default:
        return NAN;
    }
}

static const struct dist shapes[] = {
    {DIST_UNIFORM, 10, 4},      {DIST_UNIFORM, 2, 2},     {DIST_EXPONENTIAL, 0.5, 0},
    {DIST_LOGNORMAL, 30, 0.25}, {DIST_LOGNORMAL, 5, 1.2}, {DIST_GAMMA, 100, 0.5},
    {DIST_GAMMA, 3, 1.6},       {DIST_WEIBULL, 8, 0.7},   {DIST_WEIBULL, 60, 2.5},
    {DIST_EXPONENTIAL, 3e6, 0}, {DIST_GAMMA, 20, 0.02}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, N = 100000 };

Test(dist, draws_follow_their_distribution)
{
    static double x[N];
    for (uint32_t c = 0; c < N_SHAPES; c++) {
        struct rng r;
        rng_init(&r, 8, c, "dist", "test");
        struct tally t = {0};
        for (int i = 0; i < N; i++) {
            x[i] = sim_time_to_s(dist_draw(&shapes[c], &r));
            tally_add(&t, x[i]);
        }
        double mean = dist_mean_s(&shapes[c]), scv = dist_scv(&shapes[c]);
        cr_assert_lt(fabs(t.mean - mean), 4 * mean * sqrt(scv / N), "%u: mean %g", c, t.mean);
        cr_assert_float_eq(tally_variance(&t) / (mean * mean), scv, 0.06 * scv, "%u", c);
        double ks = ks_statistic(x, N, cdf_s, &shapes[c]);
        cr_assert_lt(ks, KS_LIMIT, "%u: Kolmogorov-Smirnov %g", c, ks);
    }
}

/* Known: uniform h^2 / 3 m^2; Weibull with k = 1 is exponential, with k = 2 (Rayleigh) 4 / pi - 1,
 * with k = 1/2 it is 5. */
Test(dist, scv_known_answers)
{
    static const struct {
        struct dist d;
        double scv;
    } rows[] = {{{DIST_FIXED, 7, 0}, 0},
                {{DIST_UNIFORM, 3, 3}, 1.0 / 3},
                {{DIST_EXPONENTIAL, 7, 0}, 1},
                {{DIST_LOGNORMAL, 7, 1.5}, 2.25},
                {{DIST_GAMMA, 7, 0.5}, 0.25},
                {{DIST_WEIBULL, 7, 1}, 1},
                {{DIST_WEIBULL, 7, 2}, 4 / M_PI - 1},
                {{DIST_WEIBULL, 7, 0.5}, 5},
                {{DIST_UNIFORM, 0, 0}, 0},
                {{DIST_EXPONENTIAL, 0, 0}, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_float_eq(dist_scv(&rows[i].d), rows[i].scv, 1e-14 + 1e-13 * rows[i].scv);
}

Test(dist, fixed_takes_no_random_number)
{
    struct rng r, before;
    rng_init(&r, 1, 0, "x", "y");
    rng_u64(&r);
    before = r;
    struct dist d = {DIST_FIXED, 1.5, 0};
    cr_assert_eq(dist_draw(&d, &r), 1500 * SIM_MS);
    cr_assert_eq(memcmp(&r.block, &before.block, sizeof r.block), 0);
    cr_assert_eq(r.n_left, before.n_left);
}

Test(dist, degenerate_parameters_give_the_mean)
{
    static const struct dist same[] = {
        {DIST_UNIFORM, 4, 0}, {DIST_LOGNORMAL, 4, 0}, {DIST_GAMMA, 4, 0}, {DIST_FIXED, 4, 0}};
    static const struct dist none[] = {{DIST_FIXED, 0, 0},       {DIST_UNIFORM, 0, 0},
                                       {DIST_EXPONENTIAL, 0, 0}, {DIST_LOGNORMAL, 0, 2},
                                       {DIST_GAMMA, 0, 2},       {DIST_WEIBULL, 0, 2}};
    struct rng r;
    rng_init(&r, 1, 0, "x", "y");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        cr_assert(dist_valid(&same[i]));
        cr_assert_eq(dist_draw(&same[i], &r), 4 * SIM_S);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cr_assert(dist_valid(&none[i]));
        cr_assert_eq(dist_draw(&none[i], &r), 0);
    }
}

Test(dist, domain)
{
    static const struct dist bad[] = {
        {DIST_FIXED, -1, 0},      {DIST_FIXED, NAN, 0},         {DIST_FIXED, INFINITY, 0},
        {DIST_UNIFORM, 1, 1.001}, {DIST_UNIFORM, 1, -0.5},      {DIST_LOGNORMAL, 1, NAN},
        {DIST_GAMMA, 1, -1},      {DIST_GAMMA, 1, INFINITY},    {DIST_WEIBULL, 1, 0},
        {DIST_WEIBULL, 1, 1e-3},  {DIST_EXPONENTIAL, -1e-9, 0}, {DIST_KINDS, 1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(dist_valid(&bad[i]), "row %zu", i);
    for (size_t i = 0; i < N_SHAPES; i++)
        cr_assert(dist_valid(&shapes[i]));
}

Test(dist, names_are_in_enum_order)
{
    cr_assert_str_eq(dist_kind_names[DIST_FIXED], "fixed");
    cr_assert_str_eq(dist_kind_names[DIST_UNIFORM], "uniform");
    cr_assert_str_eq(dist_kind_names[DIST_EXPONENTIAL], "exponential");
    cr_assert_str_eq(dist_kind_names[DIST_LOGNORMAL], "lognormal");
    cr_assert_str_eq(dist_kind_names[DIST_GAMMA], "gamma");
    cr_assert_str_eq(dist_kind_names[DIST_WEIBULL], "weibull");
}
