/* First fit, bounds, and the best by branch and bound. */
#include "models/closed/bin_packing.h"

#include <stdlib.h>
#include <string.h>

enum { WORK = 4000000 }; /* some 10 ms */
#define MOST (UINT64_C(1) << 40)

/* Bins that first fit opens; left: room for n. */
static uint64_t first_fit(uint64_t capacity, const uint64_t *sizes, size_t n, uint64_t *left)
{
    size_t bins = 0;
    for (size_t i = 0; i < n; i++) {
        size_t b = 0;
        if (sizes[i] == 0)
            continue;
        while (b < bins && left[b] < sizes[i])
            b++;
        if (b == bins)
            left[bins++] = capacity;
        left[b] -= sizes[i];
    }
    return bins;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0);
}

/* Items above C - k stand alone, those above C/2 in a bin each whose rest small ones may use. */
static uint64_t bound_at(uint64_t capacity, const uint64_t *sizes, size_t n, uint64_t k)
{
    uint64_t alone = 0, halves = 0, rest = 0, small = 0;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] > capacity - k) {
            alone++;
        } else if (2 * sizes[i] > capacity) {
            halves++;
            rest += capacity - sizes[i];
        } else if (sizes[i] >= k) {
            small += sizes[i];
        }
    }
    return alone + halves + (small > rest ? divide_up(small - rest, capacity) : 0);
}

static uint64_t bound_l2(uint64_t capacity, const uint64_t *sizes, size_t n)
{
    uint64_t best = bound_at(capacity, sizes, n, 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t bound = 2 * sizes[i] <= capacity ? bound_at(capacity, sizes, n, sizes[i]) : 0;
        best = bound > best ? bound : best;
    }
    return best;
}

/* ---- the best ----
 *
 * Bin completion (R. Korf, AAAI 2002): can the items go into so many bins, that is, with no more
 * than so much empty room in all? Bins are filled one by one, each with the largest item that is
 * left and a set of others; a set to which something could be added is no better than with it, and
 * one item that fills the rest exactly is no worse than any other set. */

struct search {
    uint64_t capacity;
    const uint64_t *sizes; /* the largest first */
    size_t n;
    uint64_t *after; /* sum of sizes from i on; [n] is 0 */
    bool *placed;
    int64_t work; /* items that may still be looked at */
};

static bool fill(struct search *s, size_t from, uint64_t room, uint64_t waste);

/* The rest of the items into bins with no more than this waste in all. */
static bool complete(struct search *s, uint64_t waste)
{
    size_t first = 0;
    while (first < s->n && s->placed[first])
        first++;
    s->work -= (int64_t)first + 1;
    if (first == s->n)
        return true;
    s->placed[first] = true;
    if (fill(s, first + 1, s->capacity - s->sizes[first], waste))
        return true;
    s->placed[first] = false;
    return false;
}

/* True when an item is left that would have gone into this room. */
static bool more_would_fit(struct search *s, uint64_t room)
{
    size_t i = s->n;
    while (i > 0 && s->placed[i - 1])
        i--;
    s->work -= (int64_t)(s->n - i);
    return i > 0 && s->sizes[i - 1] <= room;
}

static bool fill(struct search *s, size_t from, uint64_t room, uint64_t waste)
{
    size_t i = from;
    while (i < s->n && (s->placed[i] || s->sizes[i] > room))
        i++;
    s->work -= (int64_t)(i - from) + 1;
    if (s->work < 0)
        return false;
    if (i == s->n)
        return room <= waste && !more_would_fit(s, room) && complete(s, waste - room);
    s->placed[i] = true;
    if (fill(s, i + 1, room - s->sizes[i], waste))
        return true;
    s->placed[i] = false;
    if (s->sizes[i] == room)
        return false;
    size_t smaller = i + 1;
    while (smaller < s->n && s->sizes[smaller] == s->sizes[i])
        smaller++;
    if (room > waste && s->after[smaller] < room - waste)
        return false;
    return fill(s, smaller, room, waste);
}

/* Fewest bins, where a search within the bound on work can tell; else the upper bound. */
static uint64_t fewest(struct search *s, uint64_t low, uint64_t high, bool *proven)
{
    for (uint64_t bins = low; bins < high; bins++) {
        s->work = WORK;
        memset(s->placed, 0, s->n * sizeof *s->placed);
        if (complete(s, bins * s->capacity - s->after[0]))
            return bins;
        *proven = *proven && s->work >= 0;
    }
    return high;
}

static int largest_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static double waste(uint64_t total, uint64_t bins, uint64_t capacity)
{
    return bins ? 1 - (double)total / ((double)bins * (double)capacity) : 0;
}

enum hr_err bin_packing(uint64_t capacity, const uint64_t *sizes, size_t n, struct bin_packing *out)
{
    *out = (struct bin_packing){0};
    if (capacity == 0 || capacity > MOST)
        return HR_INPUT;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] > capacity)
            return HR_INPUT;
        out->total += sizes[i];
    }
    uint64_t *left = calloc(3 * n + 3, sizeof *left);
    bool *placed = calloc(n + 1, sizeof *placed);
    if (!left || !placed) {
        free(left);
        free(placed);
        return HR_NOMEM;
    }
    uint64_t *sorted = left + n + 1, *after = sorted + n + 1;
    if (n)
        memcpy(sorted, sizes, n * sizeof *sorted);
    out->first_fit = first_fit(capacity, sizes, n, left);
    qsort(sorted, n, sizeof *sorted, largest_first);
    while (n > 0 && sorted[n - 1] == 0)
        n--;
    for (size_t i = n; i-- > 0;)
        after[i] = after[i + 1] + sorted[i];
    out->first_fit_decreasing = first_fit(capacity, sorted, n, left);
    out->bound_volume = divide_up(out->total, capacity);
    out->bound_l2 = bound_l2(capacity, sorted, n);
    struct search s = {capacity, sorted, n, after, placed, 0};
    const uint64_t least =
        out->first_fit < out->first_fit_decreasing ? out->first_fit : out->first_fit_decreasing;
    out->proven = true;
    out->optimal = fewest(&s, out->bound_l2, least, &out->proven);
    free(placed);
    free(left);
    out->ff_guarantee = 17 * out->optimal / 10;
    out->ffd_guarantee = (11 * out->optimal + 6) / 9;
    out->waste_optimal = waste(out->total, out->optimal, capacity);
    out->waste_ffd = waste(out->total, out->first_fit_decreasing, capacity);
    return HR_OK;
}
