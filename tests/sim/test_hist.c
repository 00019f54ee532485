/* The log histogram against sorted arrays: quantiles within 1 %, everything else exact. */
#include "sim/hist.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014): a generator that does not depend on what is tested
 * elsewhere. */
static uint64_t next_word(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double next_uniform(uint64_t *state)
{
    return ((double)(next_word(state) >> 12) + 0.5) * 0x1p-52;
}

typedef uint64_t draw_fn(uint64_t *state);

static uint64_t draw_uniform(uint64_t *s)
{
    return next_word(s) % 1000;
}
static uint64_t draw_exponential(uint64_t *s)
{
    return (uint64_t)(-2e9 * log(next_uniform(s)));
}
static uint64_t draw_heavy(uint64_t *s)
{
    return (uint64_t)(1e3 * pow(next_uniform(s), -2.0)); /* Pareto, no mean */
}
static uint64_t draw_any_word(uint64_t *s)
{
    uint64_t shift = next_word(s) % 64;
    return next_word(s) >> shift;
}
static uint64_t draw_tiny(uint64_t *s)
{
    return next_word(s) % 5;
}
static uint64_t draw_huge(uint64_t *s)
{
    return UINT64_MAX - (next_word(s) >> 20);
}
static uint64_t draw_constant(uint64_t *s)
{
    (void)s;
    return 123456789;
}
static uint64_t draw_two_points(uint64_t *s)
{
    return next_word(s) % 100 ? 40000000 : UINT64_C(90000000000);
}

static draw_fn *const draws[] = {draw_uniform, draw_exponential, draw_heavy,    draw_any_word,
                                 draw_tiny,    draw_huge,        draw_constant, draw_two_points};
enum { N_DRAWS = sizeof draws / sizeof *draws, N_VALUES = 20000 };

static int by_value(const void *a, const void *b)
{
    uint64_t x, y;
    x = *(const uint64_t *)a;
    y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_quantiles(const struct hist *h, const uint64_t *sorted, size_t n)
{
    static const double qs[] = {0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};
    for (size_t i = 0; i < sizeof qs / sizeof *qs; i++) {
        size_t rank = (size_t)ceil(qs[i] * (double)n - 1e-9);
        double exact = (double)sorted[rank ? rank - 1 : 0];
        double got = (double)hist_quantile(h, qs[i]);
        cr_assert(fabs(got - exact) <= 0.01 * exact, "q %g: %.17g for %.17g", qs[i], got, exact);
        if (exact < 128)
            cr_assert_eq(got, exact);
    }
}

Test(hist, quantiles_of_many_distributions_are_within_one_percent)
{
    uint64_t *v = malloc(N_VALUES * sizeof *v);
    for (int d = 0; d < N_DRAWS; d++) {
        struct hist h;
        hist_init(&h);
        uint64_t state = 77 + (uint64_t)d;
        u128 sum = 0;
        for (size_t i = 0; i < N_VALUES; i++) {
            v[i] = draws[d](&state);
            sum += v[i];
            hist_add(&h, v[i]);
        }
        qsort(v, N_VALUES, sizeof *v, by_value);
        check_quantiles(&h, v, N_VALUES);
        cr_assert_eq(h.n, N_VALUES);
        cr_assert_eq(h.min, v[0]);
        cr_assert_eq(h.max, v[N_VALUES - 1]);
        cr_assert(h.sum == sum);
        cr_assert_float_eq(hist_mean(&h), (double)sum / N_VALUES, 1e-12 * (double)sum);
        cr_assert_not(h.failed);
        hist_fini(&h);
    }
    free(v);
}

Test(hist, small_samples_give_the_exact_rank)
{
    for (uint64_t n = 1; n <= 100; n++) {
        struct hist h;
        hist_init(&h);
        for (uint64_t v = n; v >= 1; v--)
            hist_add(&h, v); /* value = rank, all below 128: exact */
        for (uint64_t percent = 1; percent <= 100; percent++) {
            uint64_t rank = (percent * n + 99) / 100;
            cr_assert_eq(hist_quantile(&h, (double)percent / 100), rank, "%lu %% of %lu",
                         (unsigned long)percent, (unsigned long)n);
        }
        hist_fini(&h);
    }
}

Test(hist, buckets_tile_the_whole_range)
{
    uint64_t low = 0;
    size_t last = hist_bucket(UINT64_MAX);
    cr_assert_eq(last, 3775);
    for (size_t b = 0; b <= last; b++) {
        uint64_t width = hist_bucket_width(b);
        cr_assert_eq(hist_bucket_low(b), low);
        cr_assert_eq(hist_bucket(low), b);
        cr_assert_eq(hist_bucket(low + (width - 1)), b);
        cr_assert(low < 64 ? width == 1 : width <= low / 64);
        low += width; /* wraps to 0 after the last */
    }
    cr_assert_eq(low, 0);
}

Test(hist, merge_equals_adding_all_to_one)
{
    struct hist parts[3], all, merged;
    hist_init(&all);
    hist_init(&merged);
    uint64_t state = 5;
    for (int p = 0; p < 3; p++) {
        hist_init(&parts[p]);
        for (int i = 0; i < 1000; i++) {
            uint64_t v = next_word(&state) >> (20 * p);
            hist_add(&parts[p], v);
            hist_add(&all, v);
        }
    }
    for (int p = 2; p >= 0; p--)
        cr_assert_eq(hist_merge(&merged, &parts[p]), HR_OK);
    cr_assert_eq(merged.n, all.n);
    cr_assert_eq(merged.min, all.min);
    cr_assert_eq(merged.max, all.max);
    cr_assert(merged.sum == all.sum);
    for (double q = 0; q <= 1; q += 0.01)
        cr_assert_eq(hist_quantile(&merged, q), hist_quantile(&all, q));
    for (int p = 0; p < 3; p++)
        hist_fini(&parts[p]);
    hist_fini(&all);
    hist_fini(&merged);
}

Test(hist, above_is_exact_at_bucket_edges)
{
    struct hist h;
    hist_init(&h);
    for (uint64_t v = 0; v < 4096; v++)
        hist_add(&h, v);
    for (uint64_t v = 0; v < 4096; v++) {
        size_t b = hist_bucket(v);
        uint64_t last_of_bucket = hist_bucket_low(b) + hist_bucket_width(b) - 1;
        cr_assert_eq(hist_above(&h, v), 4095 - last_of_bucket);
    }
    cr_assert_eq(hist_above(&h, UINT64_MAX), 0);
    hist_fini(&h);
}

Test(hist, empty_cleared_and_zeroed)
{
    struct hist h = {0};
    hist_fini(&h);
    hist_init(&h);
    cr_assert_eq(hist_quantile(&h, 0.99), 0);
    cr_assert_eq(hist_mean(&h), 0);
    cr_assert_eq(hist_above(&h, 0), 0);
    hist_add(&h, UINT64_MAX);
    hist_add(&h, UINT64_MAX);
    cr_assert_eq(hist_quantile(&h, 0.5), UINT64_MAX);
    cr_assert_eq(hist_mean(&h), (double)UINT64_MAX);
    hist_clear(&h);
    cr_assert_eq(h.n, 0);
    cr_assert_eq(hist_quantile(&h, 1), 0);
    hist_add(&h, 7);
    cr_assert_eq(h.min, 7);
    cr_assert_eq(h.max, 7);
    cr_assert_eq(hist_quantile(&h, 1), 7);
    hist_fini(&h);
}
