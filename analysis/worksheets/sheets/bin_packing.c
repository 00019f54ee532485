/* Worksheet: GPUs or hosts that jobs of whole sizes need, and how far simple packers are off. */
#include "models/closed/bin_packing.h"
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { CAPACITY, SIZES };
enum { TOTAL, VOLUME, L2, OPTIMAL, FF, FFD, WASTE, WASTE_FFD, FFD_MOST, FF_MOST };

static const struct sheet_input inputs[] = {
    [CAPACITY] = SHEET_INPUT("capacity", "C", "", "what one bin holds, as GB of one GPU", "80",
                             .type = SHEET_COUNT, .min = 1, .max = 1e9),
    [SIZES] = SHEET_INPUT("sizes", "s", "", "sizes of the items",
                          "30, 34, 18, 24, 16, 20, 30, 30, 52, 48, 26, 60, 44, 40", .list = true,
                          .type = SHEET_COUNT, .max = 1e9),
};

static const struct sheet_output outputs[] = {
    [TOTAL] = SHEET_OUTPUT("total", "S", "", "sum of the sizes", "Together they are {total}.",
                           .type = SHEET_COUNT),
    [VOLUME] = SHEET_OUTPUT("bound_volume", "b_V", "bins", "ceil({total} / {capacity})",
                            "By volume alone {bound_volume} at least.", .type = SHEET_COUNT),
    [L2] = SHEET_OUTPUT("bound_l2", "b_2", "bins",
                        "Martello and Toth's L2: large items stand alone, small ones fill up",
                        "Large items that cannot share make it {bound_l2} at least.",
                        .type = SHEET_COUNT),
    [OPTIMAL] = SHEET_OUTPUT("optimal", "n", "bins", "the fewest of all packings, by search",
                             "The best packing takes {optimal}.", .type = SHEET_COUNT),
    [FF] = SHEET_OUTPUT("first_fit", "n_F", "bins", "each item, as given, into the first with room",
                        "First fit takes {first_fit}.", .type = SHEET_COUNT),
    [FFD] = SHEET_OUTPUT("first_fit_decreasing", "n_D", "bins", "the same, largest item first",
                         "Sorted first it takes {first_fit_decreasing}.", .type = SHEET_COUNT),
    [WASTE] =
        SHEET_OUTPUT("waste_optimal", "w", "fraction", "1 - {total} / ({optimal} x {capacity})",
                     "The best packing leaves {waste_optimal} empty."),
    [WASTE_FFD] = SHEET_OUTPUT("waste_ffd", "w_D", "fraction",
                               "1 - {total} / ({first_fit_decreasing} x {capacity})",
                               "First fit decreasing leaves {waste_ffd}."),
    [FFD_MOST] = SHEET_OUTPUT("ffd_guarantee", "m_D", "bins", "floor(11 / 9 x {optimal} + 6 / 9)",
                              "It never takes more than {ffd_guarantee}.", .type = SHEET_COUNT),
    [FF_MOST] = SHEET_OUTPUT("ff_guarantee", "m_F", "bins", "floor(1.7 x {optimal})",
                             "First fit never more than {ff_guarantee}.", .type = SHEET_COUNT),
};

static bool best_by_ffd(const struct sheet_case *c)
{
    return sheet_out(c, FFD) == sheet_out(c, OPTIMAL);
}

static bool empty(const struct sheet_case *c)
{
    return sheet_out(c, TOTAL) == 0;
}

static const struct sheet_remark remarks[] = {
    {OPTIMAL, empty, "There is nothing to pack."},
    {FFD, best_by_ffd, "Sorted first it takes {first_fit_decreasing}, as few as possible."},
};

static double by_volume(const struct sheet_case *c)
{
    return sheet_out(c, VOLUME);
}

static double by_ffd(const struct sheet_case *c)
{
    return sheet_out(c, FFD);
}

static double one_each(const struct sheet_case *c)
{
    size_t n;
    sheet_list(c, SIZES, &n);
    return (double)n;
}

static const struct sheet_mistake mistakes[] = {
    {OPTIMAL, "divides volumes: items cannot be cut", by_volume},
    {OPTIMAL, "takes the sorted packer's answer for the best", by_ffd},
    {OPTIMAL, "gives every item a bin of its own", one_each},
    {FF, "sorts first: it takes items in the order given", by_ffd},
};

static void check(struct sheet_case *c)
{
    size_t n;
    const double *size = sheet_list(c, SIZES, &n), capacity = sheet_in(c, CAPACITY);
    for (size_t i = 0; i < n; i++)
        if (size[i] > capacity)
            sheet_refuse(c, SIZES, "%.0f is larger than the capacity of %.0f", size[i], capacity);
}

static void solve(struct sheet_case *c)
{
    size_t n;
    const double *size = sheet_list(c, SIZES, &n);
    uint64_t sizes[SHEET_LIST_MAX];
    struct bin_packing b;
    for (size_t i = 0; i < n; i++)
        sizes[i] = (uint64_t)size[i];
    const enum hr_err err = bin_packing((uint64_t)sheet_in(c, CAPACITY), sizes, n, &b);
    if (err != HR_OK || !b.proven) {
        sheet_refuse(c, SIZES,
                     "are too many for the search: between %llu and %llu bins, the best is not "
                     "proven",
                     (unsigned long long)b.bound_l2, (unsigned long long)b.optimal);
        return;
    }
    sheet_set(c, TOTAL, (double)b.total);
    sheet_set(c, VOLUME, (double)b.bound_volume);
    sheet_set(c, L2, (double)b.bound_l2);
    sheet_set(c, OPTIMAL, (double)b.optimal);
    sheet_set(c, FF, (double)b.first_fit);
    sheet_set(c, FFD, (double)b.first_fit_decreasing);
    sheet_set(c, WASTE, b.waste_optimal);
    sheet_set(c, WASTE_FFD, b.waste_ffd);
    sheet_set(c, FFD_MOST, (double)b.ffd_guarantee);
    sheet_set(c, FF_MOST, (double)b.ff_guarantee);
}

static const char *const rules[] = {
    "Items of size 0 take no bin; without items every count and the waste are 0.",
    "An item larger than the bin is refused.",
    "Where the search cannot prove the fewest in its time, that is said, with what it knows.",
    NULL,
};

extern const struct sheet sheet_bin_packing;
const struct sheet sheet_bin_packing = {
    .name = "bin-packing",
    .group = "Multi-tenant cloud: units, packing, scrubbing",
    .question =
        "How many GPUs (or hosts) do these jobs need, and how far is a simple packer from the "
        "best?",
    .doc =
        "Whole-number sizes into bins of one capacity. First fit takes items in the order given; "
        "first fit decreasing the largest first.",
    .assumption = "One quantity fills a bin (memory, say), and an item is never split.",
    .rules = rules,
    .sources =
        "S. Martello and P. Toth, Knapsack Problems (1990); G. Dosa (2007): 11/9 OPT + 6/9; G. "
        "Dosa and J. Sgall (2013): 1.7 OPT; E. G. Coffman, M. R. Garey and D. S. Johnson (1987): "
        "sorted, sizes that divide one another pack best",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = OPTIMAL,
    .check = check,
    .solve = solve,
};
