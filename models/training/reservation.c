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
