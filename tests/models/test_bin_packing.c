/* Bins: the worked examples, edge cases, and the best against every assignment. */
#include "models/closed/bin_packing.h"
#include "sim/rng.h"
#include "worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static const char sheet[] = "bin-packing";

Test(bin_packing, worked_examples)
{
    for (int c = 0; c < WORKED_CASES; c++) {
        uint64_t sizes[32];
        size_t n = 0;
        struct bin_packing b;
        for (char name[16]; n < 32; n++) {
            snprintf(name, sizeof name, "sizes_%zu", n + 1);
            double size = worked_in(sheet, c, name);
            if (isnan(size))
                break;
            sizes[n] = (uint64_t)size;
        }
        cr_assert_geq(n, 10);
        uint64_t capacity = (uint64_t)worked_in(sheet, c, "capacity");
        cr_assert_eq(bin_packing(capacity, sizes, n, &b), HR_OK);
        cr_assert(b.proven);
        worked_check(sheet, c, "total", (double)b.total);
        worked_check(sheet, c, "bound_volume", (double)b.bound_volume);
        worked_check(sheet, c, "bound_l2", (double)b.bound_l2);
        worked_check(sheet, c, "optimal", (double)b.optimal);
        worked_check(sheet, c, "first_fit", (double)b.first_fit);
        worked_check(sheet, c, "first_fit_decreasing", (double)b.first_fit_decreasing);
        worked_check(sheet, c, "waste_optimal", b.waste_optimal);
        worked_check(sheet, c, "waste_ffd", b.waste_ffd);
        worked_check(sheet, c, "ffd_guarantee", (double)b.ffd_guarantee);
        worked_check(sheet, c, "ff_guarantee", (double)b.ff_guarantee);
    }
}

Test(bin_packing, what_takes_no_bin_and_what_fits_none)
{
    struct bin_packing b;
    const uint64_t zeros[] = {0, 0}, large[] = {3, 11}, some[] = {0, 5, 0, 5};
    cr_assert_eq(bin_packing(10, NULL, 0, &b), HR_OK);
    cr_assert(b.optimal == 0 && b.first_fit == 0 && b.waste_optimal == 0 && b.proven);
    cr_assert_eq(bin_packing(10, zeros, 2, &b), HR_OK);
    cr_assert(b.optimal == 0 && b.first_fit_decreasing == 0 && b.waste_ffd == 0);
    cr_assert_eq(bin_packing(10, some, 4, &b), HR_OK);
    cr_assert(b.optimal == 1 && b.first_fit == 1);
    cr_assert_eq(bin_packing(10, large, 2, &b), HR_INPUT);
    cr_assert_eq(bin_packing(0, zeros, 2, &b), HR_INPUT);
}

/* ---- every assignment ---- */

enum { ITEMS = 8 };

static uint64_t fewest(uint64_t capacity, const uint64_t *sizes, size_t n, uint64_t *load,
                       uint64_t bins)
{
    uint64_t best = UINT64_MAX;
    if (n == 0)
        return bins;
    for (uint64_t b = 0; b <= bins && b < ITEMS; b++) {
        if (load[b] + sizes[0] > capacity)
            continue;
        load[b] += sizes[0];
        uint64_t found = fewest(capacity, sizes + 1, n - 1, load, b == bins ? bins + 1 : bins);
        load[b] -= sizes[0];
        best = found < best ? found : best;
    }
    return best;
}

Test(bin_packing, as_few_as_any_assignment)
{
    uint32_t above = 0;
    struct rng rng;
    rng_init(&rng, 31, 0, "test", "bins");
    for (int round = 0; round < 400; round++) {
        uint64_t sizes[ITEMS], load[ITEMS] = {0}, capacity = 10 + rng_below(&rng, 30);
        struct bin_packing b;
        for (int i = 0; i < ITEMS; i++)
            sizes[i] = 1 + rng_below(&rng, capacity * 7 / 10);
        uint64_t want = fewest(capacity, sizes, ITEMS, load, 0);
        cr_assert_eq(bin_packing(capacity, sizes, ITEMS, &b), HR_OK);
        cr_assert(b.proven);
        cr_assert_eq(b.optimal, want);
        cr_assert(b.bound_volume <= b.bound_l2 && b.bound_l2 <= want);
        cr_assert(want <= b.first_fit && b.first_fit <= b.ff_guarantee);
        cr_assert(want <= b.first_fit_decreasing && b.first_fit_decreasing <= b.ffd_guarantee);
        above += b.first_fit > want;
    }
    cr_assert_gt(above, 20, "first fit is not the best");
}
