/* First fit, bounds, and the best by branch and bound. */
#include "models/closed/bin_packing.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 5000000 };
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

/* ---- the best ---- */

struct search {
    uint64_t capacity;
    const uint64_t *sizes; /* the largest first */
    size_t n;
    uint64_t *left; /* of each bin */
    uint64_t best, bound;
    uint64_t volume; /* of items not yet placed */
    uint32_t tries;
};

/* Bins with equal room are alike: only the first of them is tried. */
static bool tried(const struct search *s, size_t bin)
{
    for (size_t b = 0; b < bin; b++)
        if (s->left[b] == s->left[bin])
            return true;
    return false;
}

static void place(struct search *s, size_t item, size_t bins, uint64_t room)
{
    uint64_t more = s->volume > room ? divide_up(s->volume - room, s->capacity) : 0;
    if (s->best == s->bound || bins + more >= s->best || s->tries == 0)
        return;
    s->tries--;
    if (item == s->n) {
        s->best = bins;
        return;
    }
    uint64_t size = s->sizes[item];
    s->volume -= size;
    for (size_t b = 0; b < bins; b++) {
        if (s->left[b] < size || tried(s, b))
            continue;
        s->left[b] -= size;
        place(s, item + 1, bins, room - size);
        s->left[b] += size;
    }
    s->left[bins] = s->capacity - size;
    place(s, item + 1, bins + 1, room + s->capacity - size);
    s->volume += size;
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
    uint64_t *left = calloc(2 * n + 2, sizeof *left);
    if (!left)
        return HR_NOMEM;
    uint64_t *sorted = left + n + 1;
    if (n)
        memcpy(sorted, sizes, n * sizeof *sorted);
    out->first_fit = first_fit(capacity, sizes, n, left);
    qsort(sorted, n, sizeof *sorted, largest_first);
    while (n > 0 && sorted[n - 1] == 0)
        n--;
    out->first_fit_decreasing = first_fit(capacity, sorted, n, left);
    out->bound_volume = divide_up(out->total, capacity);
    out->bound_l2 = bound_l2(capacity, sorted, n);
    struct search s = {capacity,      sorted,     n,    left, out->first_fit_decreasing,
                       out->bound_l2, out->total, TRIES};
    place(&s, 0, 0, 0);
    free(left);
    out->optimal = s.best < out->first_fit ? s.best : out->first_fit;
    out->proven = out->optimal == out->bound_l2 || s.tries > 0;
    out->ff_guarantee = 17 * out->optimal / 10;
    out->ffd_guarantee = (11 * out->optimal + 6) / 9;
    out->waste_optimal = waste(out->total, out->optimal, capacity);
    out->waste_ffd = waste(out->total, out->first_fit_decreasing, capacity);
    return HR_OK;
}
