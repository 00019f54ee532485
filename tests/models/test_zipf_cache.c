/* Che's approximation: the worked examples, limits, a plain bisection, and a real LRU cache. */
#include "models/closed/zipf_cache.h"
#include "sim/rng.h"
#include "worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char sheet[] = "adapter-cache";

Test(zipf_cache, worked_examples)
{
    for (int c = 0; c < WORKED_CASES; c++) {
        struct zipf_cache z;
        cr_assert_eq(zipf_cache((uint32_t)worked_in(sheet, c, "adapters"),
                                worked_in(sheet, c, "zipf_s"),
                                (uint32_t)worked_in(sheet, c, "cache_slots"), &z),
                     HR_OK);
        worked_check(sheet, c, "hit_pinned", z.hit_pinned);
        worked_check(sheet, c, "char_time", z.char_time);
        worked_check(sheet, c, "hit_lru", z.hit_lru);
        cr_expect_float_eq(z.hit_lru + z.miss_lru, 1, 1e-14);
    }
}

Test(zipf_cache, limits)
{
    struct zipf_cache z;
    cr_assert_eq(zipf_cache(10, 1, 10, &z), HR_OK);
    cr_assert(z.hit_pinned == 1 && z.hit_lru == 1 && z.miss_lru == 0 && isinf(z.char_time));
    cr_assert_eq(zipf_cache(10, 1, 0, &z), HR_OK);
    cr_assert(z.hit_pinned == 0 && z.hit_lru == 0 && z.miss_lru == 1 && z.char_time == 0);
    cr_assert_eq(zipf_cache(0, 1, 0, &z), HR_INPUT);
    cr_assert_eq(zipf_cache(10, NAN, 1, &z), HR_INPUT);
    cr_assert_eq(zipf_cache(10, -1, 1, &z), HR_INPUT);
}

/* All alike: t = -n ln(1 - k/n), both rates k/n; to twelve digits from one slot to all but one. */
Test(zipf_cache, alike_items_have_a_closed_form)
{
    static const uint32_t items[] = {2, 10, 1000, 100000};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        const uint32_t slots[] = {1, items[i] / 2, items[i] - 1};
        for (size_t k = 0; k < sizeof slots / sizeof slots[0]; k++) {
            struct zipf_cache z;
            const double n = items[i], share = slots[k] / n;
            cr_assert_eq(zipf_cache(items[i], 0, slots[k], &z), HR_OK);
            const double t = -n * log1p(-share);
            cr_expect(fabs(z.hit_pinned - share) <= 1e-12 * share);
            cr_expect(fabs(z.char_time - t) <= 1e-11 * t, "%g of %g: %.15g, not %.15g", share * n,
                      n, z.char_time, t);
            cr_expect(fabs(z.hit_lru - share) <= 1e-11 * share, "%.15g", z.hit_lru);
            cr_expect(fabs(z.miss_lru - (1 - share)) <= 1e-10 * (1 - share), "%.15g", z.miss_lru);
        }
    }
}

/* ---- by plain bisection, in long double ---- */

enum { MOST = 300 };

static long double held(const long double *p, uint32_t n, long double t)
{
    long double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum -= expm1l(-p[i] * t);
    return sum;
}

static double lru_by_bisection(uint32_t n, double s, uint32_t slots)
{
    long double p[MOST], sum = 0, low = 0, high = 1, hit = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += p[i] = powl(i + 1, -(long double)s);
    for (uint32_t i = 0; i < n; i++)
        p[i] /= sum;
    while (held(p, n, high) < slots)
        high *= 2;
    for (int i = 0; i < 200; i++) {
        const long double t = (low + high) / 2;
        *(held(p, n, t) < slots ? &low : &high) = t;
    }
    for (uint32_t i = 0; i < n; i++)
        hit -= p[i] * expm1l(-p[i] * high);
    return (double)hit;
}

Test(zipf_cache, equals_a_plain_bisection)
{
    struct rng rng;
    rng_init(&rng, 11, 0, "test", "zipf");
    for (int round = 0; round < 300; round++) {
        const uint32_t n = 2 + (uint32_t)rng_below(&rng, MOST - 2);
        const uint32_t slots = 1 + (uint32_t)rng_below(&rng, n - 1);
        const double s = 3 * rng_uniform(&rng);
        struct zipf_cache z;
        cr_assert_eq(zipf_cache(n, s, slots, &z), HR_OK);
        const double want = lru_by_bisection(n, s, slots);
        cr_expect(fabs(z.hit_lru - want) <= 1e-10 * want, "n %u s %g k %u: %.15g, not %.15g", n, s,
                  slots, z.hit_lru, want);
        cr_expect(z.hit_lru <= z.hit_pinned * (1 + 1e-12), "no cache beats the most popular");
    }
}

/* ---- a real cache ---- */

enum { ITEMS = 1000, SLOTS = 100, WARM = 20000, COUNTED = 200000 };

static uint32_t draw(struct rng *rng, const double *cumulative)
{
    const double u = rng_uniform(rng) * cumulative[ITEMS - 1];
    uint32_t low = 0, high = ITEMS - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (cumulative[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

Test(zipf_cache, a_real_cache_hits_as_often)
{
    static double cumulative[ITEMS];
    uint32_t cache[SLOTS], n = 0, hits = 0;
    struct zipf_cache z;
    struct rng rng;
    double sum = 0;
    rng_init(&rng, 12, 0, "test", "lru");
    for (uint32_t i = 0; i < ITEMS; i++)
        cumulative[i] = sum += 1.0 / (i + 1);
    for (uint32_t r = 0; r < WARM + COUNTED; r++) {
        const uint32_t item = draw(&rng, cumulative);
        uint32_t at = 0;
        while (at < n && cache[at] != item)
            at++;
        hits += at < n && r >= WARM;
        if (at == n && n < SLOTS)
            n++;
        at = at < n ? at : n - 1; /* else the one used longest ago goes */
        memmove(cache + 1, cache, at * sizeof *cache);
        cache[0] = item;
    }
    cr_assert_eq(zipf_cache(ITEMS, 1, SLOTS, &z), HR_OK);
    cr_assert_float_eq((double)hits / COUNTED, z.hit_lru, 0.01);
}
