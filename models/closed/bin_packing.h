/* Bins of one capacity for items of whole sizes: how many are needed, and how far simple packers
 * are from the best.
 *
 * First fit takes items in the order given, first fit decreasing the largest first: at most
 * floor(1.7 OPT) (G. Dosa and J. Sgall, STACS 2013) and floor(11/9 OPT + 6/9) (G. Dosa, ESCAPE
 * 2007). Lower bounds: volume, and L2 of S. Martello and P. Toth, Knapsack Problems, 1990. The best
 * by bin completion (R. Korf, AAAI 2002), bounded to some 10 ms for each number of bins tried.
 * Items of size 0 take no bin. */
#ifndef HEADROOM_MODELS_CLOSED_BIN_PACKING_H
#define HEADROOM_MODELS_CLOSED_BIN_PACKING_H

#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bin_packing {
    uint64_t total; /* sum of sizes */
    uint64_t bound_volume, bound_l2;
    uint64_t optimal; /* least found */
    bool proven;      /* no packing has fewer; false: the search ended first */
    uint64_t first_fit, first_fit_decreasing;
    uint64_t ff_guarantee, ffd_guarantee; /* at most, by the optimum */
    double waste_optimal, waste_ffd;      /* shares of the bins' capacity that stay empty */
};

/* HR_INPUT: an item larger than the capacity, or a capacity of 0 or beyond 2^40. */
enum hr_err bin_packing(uint64_t capacity, const uint64_t *sizes, size_t n,
                        struct bin_packing *out);

#endif
