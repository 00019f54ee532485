/* What waits, counted by shape: a sorted list of few entries. */
#include "models/training/demand.h"

#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void demand_fini(struct demand *d)
{
    vec_free(d);
}

static size_t lower_bound(const struct demand *d, uint32_t share, uint32_t gpus)
{
    size_t i = 0;
    while (i < d->n &&
           (d->items[i].share < share || (d->items[i].share == share && d->items[i].gpus < gpus)))
        i++;
    return i;
}

static bool is(const struct demand *d, size_t i, uint32_t share, uint32_t gpus)
{
    return i < d->n && d->items[i].share == share && d->items[i].gpus == gpus;
}

bool demand_add(struct demand *d, uint32_t share, uint32_t gpus)
{
    size_t i = lower_bound(d, share, gpus);
    if (!is(d, i, share, gpus)) {
        if (!vec_reserve(d, d->n + 1))
            return false;
        memmove(&d->items[i + 1], &d->items[i], (d->n - i) * sizeof *d->items);
        d->items[i] = (struct demand_shape){share, gpus, 0};
        d->n++;
    }
    d->items[i].n++;
    return true;
}

void demand_remove(struct demand *d, uint32_t share, uint32_t gpus)
{
    size_t i = lower_bound(d, share, gpus);
    assert(is(d, i, share, gpus) && d->items[i].n > 0);
    d->items[i].n--;
}
