/* Streams: known answers of Philox, independence and reproducibility by name, and each draw against
 * its distribution by moments and by Kolmogorov-Smirnov, tails of the ziggurat by themselves. */
#include "ks.h"
#include "sim/rng.h"
#include "sim/stat.h"
#include "sim/ziggurat_tables.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

Test(rng, philox_known_answers)
{
    static const struct {
        uint64_t counter[2], key[2], words[8];
    } rows[] = {
        {{0, 0},
         {0, 0},
         {0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}},
        /* The counter carries into its second word; from a plain Python program of the paper. */
        {{UINT64_MAX, 0},
         {1, 2},
         {0xa2d5904ffeaa5c91, 0x4c4aae479c3886ad, 0x2fc3b814dc738576, 0xfed9fa9278102e83,
          0x93baf02a9b6e1e64, 0xc291f37088c2bdef, 0xb1363d2ce37f4eae, 0xf20b54a1cecf0a14}},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct rng r = {.key = {rows[row].key[0], rows[row].key[1]},
                        .counter = {rows[row].counter[0], rows[row].counter[1]}};
        for (int i = 0; i < 8 && rows[row].words[i]; i++)
            cr_assert_eq(rng_u64(&r), rows[row].words[i], "row %zu word %d", row, i);
    }
}

/* FNV-1a, mixer and block by the same Python program: streams never change silently. */
Test(rng, stream_of_a_name_is_fixed)
{
    static const uint64_t words[4] = {0xd2f46de2f806cac0, 0x71711bcda2f90625, 0x8a60f09c8e122b4d,
                                      0xfa0409bb7c5d9654};
    struct rng r;
    rng_init(&r, 42, 3, "chat", "arrivals");
    for (int i = 0; i < 4; i++)
        cr_assert_eq(rng_u64(&r), words[i]);
}

Test(rng, every_part_of_the_key_matters)
{
    static const struct {
        uint64_t seed;
        uint32_t replication;
        const char *entity, *purpose;
    } keys[] = {{1, 0, "a", "b"}, {2, 0, "a", "b"}, {1, 1, "a", "b"},     {1, 256, "a", "b"},
                {1, 0, "b", "a"}, {1, 0, "ab", ""}, {1, 0, "", "ab"},     {1, 0, "a", "bb"},
                {1, 0, "", ""},   {0, 0, "", ""},   {1, 1 << 24, "", ""}, {1, 0, "a ", "b"}};
    enum { N = sizeof keys / sizeof *keys };
    uint64_t first[N];
    for (int i = 0; i < N; i++) {
        struct rng r;
        rng_init(&r, keys[i].seed, keys[i].replication, keys[i].entity, keys[i].purpose);
        first[i] = rng_u64(&r);
        for (int j = 0; j < i; j++)
            cr_assert_neq(first[i], first[j], "keys %d and %d", i, j);
    }
}

/* Neighbouring names, seeds and replications: words uncorrelated (|r| sqrt(n) is a standard
 * normal), bits balanced. */
Test(rng, streams_are_independent)
{
    enum { N = 20000, STREAMS = 24 };
    double *x = malloc(STREAMS * N * sizeof *x);
    for (int s = 0; s < STREAMS; s++) {
        char name[16];
        snprintf(name, sizeof name, "gpu-%d", s / 4);
        struct rng r;
        rng_init(&r, 7 + (uint64_t)(s % 2), (uint32_t)(s / 2 % 2), name, "failure");
        for (int i = 0; i < N; i++)
            x[s * N + i] = rng_uniform(&r);
    }
    for (int a = 0; a < STREAMS; a++)
        for (int b = 0; b < a; b++) {
            double z = gsl_stats_correlation(x + a * N, 1, x + b * N, 1, N) * sqrt(N);
            cr_assert_lt(fabs(z), 4.2, "streams %d and %d: %g", a, b, z); /* 276 pairs */
        }
    for (int bit = 1; bit <= 16; bit++) {
        int ones = 0;
        for (int i = 0; i < STREAMS * N; i++)
            ones += (int)(x[i] * (1 << bit)) & 1;
        double z = (2.0 * ones - STREAMS * N) / sqrt(STREAMS * N);
        cr_assert_lt(fabs(z), 3.3, "bit %d", bit);
    }
    free(x);
}

/* Common random numbers: what others draw, and how much, changes nothing here; a copy is a stream
 * of its own that goes the same way. */
Test(rng, draws_of_others_change_nothing)
{
    struct rng alone, beside, other, copy;
    rng_init(&alone, 9, 0, "job", "size");
    rng_init(&beside, 9, 0, "job", "size");
    rng_init(&other, 9, 0, "service", "size");
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < i % 3; k++)
            rng_normal(&other);
        cr_assert_eq(rng_exponential(&alone), rng_exponential(&beside));
    }
    copy = alone;
    for (int i = 0; i < 10; i++)
        cr_assert_eq(rng_u64(&alone), rng_u64(&copy));
}

Test(rng, uniform_stays_inside_the_open_interval)
{
    struct rng ends = {.block = {0, UINT64_MAX, 0, 0}, .n_left = 4};
    double low = rng_uniform(&ends);
    double high = rng_uniform(&ends);
    cr_assert_eq(low, 0x1p-53);
    cr_assert_eq(high, 1 - 0x1p-53);
}

Test(rng, below_is_uniform)
{
    static const uint64_t ns[] = {1, 2, 3, 7, 10, 64, 1000};
    struct rng r;
    rng_init(&r, 1, 0, "below", "");
    for (size_t c = 0; c < sizeof ns / sizeof *ns; c++) {
        double counts[1000] = {0}, chi2 = 0;
        for (int i = 0; i < 200000; i++) {
            uint64_t k = rng_below(&r, ns[c]);
            cr_assert_lt(k, ns[c]);
            counts[k]++;
        }
        double expected = 200000.0 / (double)ns[c];
        for (uint64_t k = 0; k < ns[c]; k++)
            chi2 += (counts[k] - expected) * (counts[k] - expected) / expected;
        if (ns[c] > 1)
            cr_assert_gt(gsl_cdf_chisq_Q(chi2, (double)ns[c] - 1), 0.001, "n %lu",
                         (unsigned long)ns[c]);
    }
}

/* A third of the words would be folded back by a plain modulus: the low half would get 2/3. */
Test(rng, below_has_no_bias_at_huge_ranges)
{
    uint64_t n = UINT64_C(3) << 62, low = 0;
    struct rng r;
    rng_init(&r, 1, 0, "below", "huge");
    for (int i = 0; i < 100000; i++) {
        uint64_t k = rng_below(&r, n);
        cr_assert_lt(k, n);
        low += k < n / 2;
    }
    cr_assert_lt(fabs((double)low - 50000) / sqrt(25000), 3.3);
}

static double exponential_cdf(double x, const void *ctx)
{
    (void)ctx;
    return gsl_cdf_exponential_P(x, 1);
}

static double normal_cdf(double x, const void *ctx)
{
    (void)ctx;
    return gsl_cdf_ugaussian_P(x);
}

static double gamma_cdf(double x, const void *shape)
{
    return gsl_cdf_gamma_P(x, *(const double *)shape, 1);
}

enum { N_DRAWS = 400000 };

/* Mean and variance within 4 standard errors (variance: from the kurtosis), then the whole shape.
 */
static void check_sample(double *x, size_t n, double mean, double variance, double kurtosis,
                         cdf_fn *cdf, const void *ctx)
{
    struct tally t = {0};
    for (size_t i = 0; i < n; i++)
        tally_add(&t, x[i]);
    cr_assert_lt(fabs(t.mean - mean), 4 * sqrt(variance / (double)n), "mean %g", t.mean);
    cr_assert_lt(fabs(tally_variance(&t) - variance),
                 4 * variance * sqrt((kurtosis - 1) / (double)n), "variance %g",
                 tally_variance(&t));
    double ks = ks_statistic(x, n, cdf, ctx);
    cr_assert_lt(ks, KS_LIMIT, "Kolmogorov-Smirnov %g", ks);
}

Test(rng, exponential_and_normal_have_their_shape)
{
    double *x = malloc(N_DRAWS * sizeof *x);
    struct rng r;
    rng_init(&r, 2024, 0, "exponential", "");
    for (int i = 0; i < N_DRAWS; i++)
        x[i] = rng_exponential(&r);
    check_sample(x, N_DRAWS, 1, 1, 9, exponential_cdf, NULL);
    rng_init(&r, 2024, 0, "normal", "");
    for (int i = 0; i < N_DRAWS; i++)
        x[i] = rng_normal(&r);
    check_sample(x, N_DRAWS, 0, 1, 3, normal_cdf, NULL);
    free(x);
}

Test(rng, gamma_has_its_shape)
{
    static const double shapes[] = {0.05, 0.4, 1, 1.5, 4, 30, 1000};
    double *x = malloc(N_DRAWS * sizeof *x);
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        struct rng r;
        rng_init(&r, 11, (uint32_t)c, "gamma", "");
        for (int i = 0; i < N_DRAWS / 4; i++)
            x[i] = rng_gamma(&r, shapes[c]);
        check_sample(x, N_DRAWS / 4, shapes[c], shapes[c], 3 + 6 / shapes[c], gamma_cdf,
                     &shapes[c]);
    }
    free(x);
}

static double normal_tail_cdf(double x, const void *ctx)
{
    (void)ctx;
    return 1 - gsl_cdf_ugaussian_Q(x) / gsl_cdf_ugaussian_Q(normal_x[1]);
}

/* Beyond the last layer the draws come from other code, once in 2,200 and 3,900: enough draws that
 * it is seen thousands of times, and its share and shape are tested apart. */
Test(rng, tails_are_hit_and_right)
{
    enum { N = 10000000 };
    double *x = malloc(20000 * sizeof *x);
    struct rng r;
    size_t n = 0, deep = 0;
    rng_init(&r, 2024, 0, "tail", "exponential");
    for (int i = 0; i < N; i++) {
        double e = rng_exponential(&r) - exponential_x[1];
        if (e > 0)
            x[n++] = e;
        deep += e > exponential_x[1];
    }
    double expected = N * exp(-exponential_x[1]);
    cr_assert_lt(fabs((double)n - expected), 4 * sqrt(expected));
    cr_assert(deep > 0 && deep < 10); /* expected 2.1 */
    cr_assert_lt(ks_statistic(x, n, exponential_cdf, NULL), KS_LIMIT);

    n = 0;
    size_t below = 0;
    rng_init(&r, 2024, 0, "tail", "normal");
    for (int i = 0; i < N; i++) {
        double z = rng_normal(&r);
        below += z < -normal_x[1];
        if (fabs(z) > normal_x[1])
            x[n++] = fabs(z);
    }
    expected = 2 * N * gsl_cdf_ugaussian_Q(normal_x[1]);
    cr_assert_lt(fabs((double)n - expected), 4 * sqrt(expected));
    cr_assert_lt(fabs((double)below - expected / 2), 4 * sqrt(expected / 2));
    cr_assert_lt(ks_statistic(x, n, normal_tail_cdf, NULL), KS_LIMIT);
    free(x);
}

/* Each layer has the area of the base with its tail, and f is the density at x. */
Test(rng, ziggurat_tables_satisfy_their_definition)
{
    double exponential_area = exponential_x[1] * exponential_f[1] + exp(-exponential_x[1]);
    double normal_area =
        normal_x[1] * normal_f[1] + sqrt(2 * M_PI) * gsl_cdf_ugaussian_Q(normal_x[1]);
    for (int i = 1; i < ZIGGURAT_LAYERS; i++) {
        cr_assert_float_eq(exponential_x[i] * (exponential_f[i + 1] - exponential_f[i]),
                           exponential_area, 1e-12 * exponential_area + 1e-15 * exponential_x[i]);
        cr_assert_float_eq(normal_x[i] * (normal_f[i + 1] - normal_f[i]), normal_area,
                           1e-12 * normal_area + 1e-15 * normal_x[i]);
        cr_assert_float_eq(exponential_f[i], exp(-exponential_x[i]), 1e-15);
        cr_assert_float_eq(normal_f[i], exp(-0.5 * normal_x[i] * normal_x[i]), 1e-15);
    }
    cr_assert_float_eq(exponential_x[0] * exponential_f[1], exponential_area, 1e-15);
    cr_assert_float_eq(normal_x[0] * normal_f[1], normal_area, 1e-15);
    cr_assert_eq(exponential_x[ZIGGURAT_LAYERS], 0);
    cr_assert_eq(normal_x[ZIGGURAT_LAYERS], 0);
}

Test(rng, gsl_generator_is_the_same_stream)
{
    struct rng r, copy;
    rng_init(&r, 3, 1, "any", "gsl");
    rng_u64(&r); /* in the middle of a block */
    gsl_rng *g = rng_gsl_new(&r);
    copy = r;
    for (int i = 0; i < 9; i++)
        cr_assert_eq(gsl_rng_get(g), rng_u64(&copy));
    for (int i = 0; i < 9; i++)
        cr_assert_eq(gsl_rng_uniform(g), rng_uniform(&copy));
    cr_assert_str_eq(gsl_rng_name(g), "philox4x64-10");
    struct tally t = {0};
    for (int i = 0; i < 100000; i++)
        tally_add(&t, gsl_ran_poisson(g, 12.5));
    cr_assert_lt(fabs(t.mean - 12.5), 4 * tally_std_error(&t));
    gsl_rng *clone = gsl_rng_clone(g);
    cr_assert_eq(gsl_rng_get(g), gsl_rng_get(clone));
    gsl_rng_set(g, 0);
    cr_assert_eq(gsl_rng_get(g), UINT64_C(0x16554d9eca36314c));
    gsl_rng_free(clone);
    gsl_rng_free(g);
}
