/* A start over many nodes takes GPUs that are free or coming.
 *
 * The rules are those of placement (placement_internal.h) with "free" read as "free or incoming and
 * unclaimed": wholly available nodes by number and one remainder where SHAPE_PREFER_WHOLE can have
 * them, else the nodes with fewest available GPUs first. Of what it takes on a node, free GPUs come
 * first. Starts like this are rare, so plain walks over all nodes will do. */
#include "models/capacity/fleet_internal.h"

#include <assert.h>
#include <string.h>

/* What there is on each node; of free GPUs at most free in all, by node number. */
static void survey(struct fleet *f, uint32_t free)
{
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        uint32_t usable = f->nodes.free_count[node];
        usable = usable < free ? usable : free;
        free -= usable;
        f->usable[node] = (uint8_t)usable;
        f->available[node] = (uint8_t)(usable + claims_unclaimed(f, node));
    }
}

/* Takes from the nodes with fewest available GPUs, at least least of them, until gpus are had or so
 * many nodes are used; returns what is still needed. */
static uint32_t take_fewest(struct fleet *f, uint32_t gpus, uint32_t least, uint32_t nodes)
{
    for (uint32_t b = least; b <= f->nodes.largest; b++)
        for (uint32_t node = 0; node < f->nodes.n && gpus > 0 && nodes > 0; node++)
            if (f->available[node] == b && f->take[node] == 0) {
                uint32_t n = b < gpus ? b : gpus;
                f->take[node] = (uint8_t)n;
                gpus -= n;
                nodes--;
            }
    return gpus;
}

static bool take_whole(struct fleet *f, uint32_t gpus)
{
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        uint32_t size = f->nodes.size[node];
        if (f->available[node] == size && size <= gpus) {
            f->take[node] = (uint8_t)size;
            gpus -= size;
        }
    }
    return gpus <= f->nodes.largest && take_fewest(f, gpus, gpus, 1) == 0;
}

void spread_plan(struct fleet *f, const struct shape *shape, uint32_t free)
{
    survey(f, free);
    memset(f->take, 0, f->nodes.n);
    if (shape->kind != SHAPE_PREFER_WHOLE || !take_whole(f, shape->gpus)) {
        memset(f->take, 0, f->nodes.n);
        uint32_t left = take_fewest(f, shape->gpus, 1, f->nodes.n);
        assert(left == 0);
        (void)left;
    }
}

void spread_claim(struct fleet *f, uint32_t slot)
{
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        uint32_t take = f->take[node];
        uint32_t clean = take < f->usable[node] ? take : f->usable[node];
        if (take > 0)
            claims_add(f, slot, node, clean, take - clean);
    }
}
