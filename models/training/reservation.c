/* The reservation of a blocked head (D. Lifka, JSSPP 1995, "extensible Argonne scheduling"). */
#include "models/training/reservation.h"

#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void expected_ends_fini(struct expected_ends *e)
{
    vec_free(e);
}

static size_t lower_bound(const struct expected_ends *e, simtime_ns at)
{
    size_t low = 0, high = e->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (e->items[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool expected_ends_add(struct expected_ends *e, struct expected_end end)
{
    if (!vec_reserve(e, e->n + 1))
        return false;
    size_t i = lower_bound(e, end.at);
    memmove(&e->items[i + 1], &e->items[i], (e->n - i) * sizeof *e->items);
    e->items[i] = end;
    e->n++;
    return true;
}

void expected_ends_remove(struct expected_ends *e, simtime_ns at, uint32_t gang)
{
    size_t i = lower_bound(e, at);
    while (i < e->n && e->items[i].gang != gang)
        i++;
    assert(i < e->n && e->items[i].at == at);
    e->n--;
    memmove(&e->items[i], &e->items[i + 1], (e->n - i) * sizeof *e->items);
}

struct reservation reservation_make(const struct expected_ends *e, simtime_ns now, uint64_t free,
                                    uint64_t soon, uint64_t need)
{
    if (free < need && soon >= need)
        return (struct reservation){now, soon - need};
    uint64_t sum = soon;
    struct reservation r = {SIM_NEVER, 0};
    for (size_t i = 0; i < e->n; i++) {
        simtime_ns at = e->items[i].at > now ? e->items[i].at : now;
        if (at > r.at)
            break; /* all that end at the reservation have been counted */
        sum += e->items[i].gpus;
        if (sum >= need)
            r = (struct reservation){at, sum - need};
    }
    return r;
}

/* ---- the profile of conservative backfill ---- */

void profile_fini(struct profile *p)
{
    free(p->at);
    free(p->free);
    *p = (struct profile){0};
}

static bool profile_reserve(struct profile *p, size_t n)
{
    if (n <= p->capacity)
        return true;
    simtime_ns *at = realloc(p->at, n * sizeof *at);
    if (at)
        p->at = at;
    int64_t *free_gpus = realloc(p->free, n * sizeof *free_gpus);
    if (free_gpus)
        p->free = free_gpus;
    if (!at || !free_gpus)
        return false;
    p->capacity = n;
    return true;
}

bool profile_make(struct profile *p, const struct expected_ends *e, simtime_ns now, uint64_t free,
                  uint64_t soon, size_t takes)
{
    if (!profile_reserve(p, e->n + 2 + 2 * (takes + 1)))
        return false;
    p->at[0] = now;
    p->free[0] = (int64_t)free;
    p->at[1] = now + 1;
    p->free[1] = (int64_t)soon;
    p->n = 2;
    for (size_t i = 0; i < e->n; i++) {
        simtime_ns at = e->items[i].at > now ? e->items[i].at : now + 1;
        if (at != p->at[p->n - 1]) {
            p->at[p->n] = at;
            p->free[p->n] = p->free[p->n - 1];
            p->n++;
        }
        p->free[p->n - 1] += e->items[i].gpus;
    }
    return true;
}

simtime_ns profile_earliest(const struct profile *p, simtime_ns from, uint64_t gpus,
                            simtime_ns length)
{
    simtime_ns start = SIM_NEVER;
    for (size_t i = 0; i < p->n; i++) {
        simtime_ns end = i + 1 < p->n ? p->at[i + 1] : SIM_NEVER;
        if (end <= from)
            continue;
        if (p->free[i] < (int64_t)gpus) {
            start = SIM_NEVER;
            continue;
        }
        if (start == SIM_NEVER)
            start = p->at[i] > from ? p->at[i] : from;
        if (end == SIM_NEVER || end >= sim_time_add(start, length))
            return start;
    }
    return SIM_NEVER;
}

/* Makes `at` the beginning of a step; returns the step. There is room. */
static size_t cut(struct profile *p, simtime_ns at)
{
    size_t i = p->n;
    while (i > 0 && p->at[i - 1] > at)
        i--;
    if (i > 0 && p->at[i - 1] == at)
        return i - 1;
    assert(i > 0 && p->n < p->capacity);
    memmove(&p->at[i + 1], &p->at[i], (p->n - i) * sizeof *p->at);
    memmove(&p->free[i + 1], &p->free[i], (p->n - i) * sizeof *p->free);
    p->at[i] = at;
    p->free[i] = p->free[i - 1];
    p->n++;
    return i;
}

void profile_take(struct profile *p, simtime_ns at, simtime_ns length, uint64_t gpus)
{
    simtime_ns until = sim_time_add(at, length);
    size_t first = cut(p, at), last = until == SIM_NEVER ? p->n : cut(p, until);
    for (size_t i = first; i < last; i++)
        p->free[i] -= (int64_t)gpus;
}
