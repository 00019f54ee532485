/* A start over many nodes takes GPUs that are free or coming.
 *
 * The rules are those of placement (placement_internal.h) with "free" read as "free or incoming and
 * unclaimed": wholly available nodes by number and one remainder where they are to be had, with the
 * topology rule in one leaf group, else in one spine, where one has them (that with fewest, ties:
 * the lowest); else the nodes with fewest available GPUs first. Of what it takes on a node, free
 * GPUs come first. Starts like this are rare, so plain walks over all nodes will do. */
#include "models/capacity/fleet_internal.h"

#include <assert.h>
#include <string.h>

void spread_survey(struct fleet *f, uint32_t first, uint32_t end, uint32_t free)
{
    for (uint32_t node = first; node < end; node++) {
        uint32_t usable = f->nodes.free_count[node];
        usable = usable < free ? usable : free;
        free -= usable;
        f->usable[node] = (uint8_t)usable;
        f->available[node] = (uint8_t)(usable + claims_unclaimed(f, node));
    }
}

/* The nodes of a plan. */
struct range {
    uint32_t first, end;
};

/* Takes from the nodes with fewest available GPUs, at least least of them, until gpus are had or so
 * many nodes are used; returns what is still needed. */
static uint32_t take_fewest(struct fleet *f, struct range r, uint32_t gpus, uint32_t least,
                            uint32_t nodes)
{
    for (uint32_t b = least; b <= f->nodes.largest; b++)
        for (uint32_t node = r.first; node < r.end && gpus > 0 && nodes > 0; node++)
            if (f->available[node] == b && f->take[node] == 0) {
                uint32_t n = b < gpus ? b : gpus;
                f->take[node] = (uint8_t)n;
                gpus -= n;
                nodes--;
            }
    return gpus;
}

/* Whole nodes and one remainder; false where they are not to be had. */
static bool take_whole(struct fleet *f, struct range r, uint32_t gpus)
{
    memset(f->take, 0, f->nodes.n);
    for (uint32_t node = r.first; node < r.end; node++) {
        uint32_t size = f->nodes.size[node];
        if (f->available[node] == size && size <= gpus) {
            f->take[node] = (uint8_t)size;
            gpus -= size;
        }
    }
    return gpus <= f->nodes.largest && take_fewest(f, r, gpus, gpus, 1) == 0;
}

static uint32_t whole_in(const struct fleet *f, struct range r)
{
    uint32_t n = 0;
    for (uint32_t node = r.first; node < r.end; node++)
        n += f->available[node] == f->nodes.size[node];
    return n;
}

static struct range leaf(const struct leaves *ls, uint32_t i)
{
    return (struct range){ls->first[i], ls->first[i + 1]};
}

static struct range spine(const struct leaves *ls, uint32_t i)
{
    struct leaf_range leaves = leaves_of_spine(ls, i);
    return (struct range){ls->first[leaves.first], ls->first[leaves.end]};
}

/* In the one with fewest wholly available nodes that has them, of n leaf groups or spines. */
static bool take_in_one(struct fleet *f, uint32_t gpus, uint32_t n,
                        struct range (*unit)(const struct leaves *ls, uint32_t i))
{
    const struct leaves *ls = &f->nodes.leaves;
    uint32_t best = NONE;
    for (uint32_t i = 0; i < n; i++)
        if (take_whole(f, unit(ls, i), gpus) &&
            (best == NONE || whole_in(f, unit(ls, i)) < whole_in(f, unit(ls, best))))
            best = i;
    return best != NONE && take_whole(f, unit(ls, best), gpus);
}

/* In one unit of the lowest level that holds it. */
static bool take_by_level(struct fleet *f, uint32_t gpus)
{
    const struct leaves *ls = &f->nodes.leaves;
    if (f->nodes.rule != PLACE_TOPOLOGY || ls->n == 1)
        return false;
    return take_in_one(f, gpus, ls->n, leaf) ||
           (ls->n_spines > 1 && take_in_one(f, gpus, ls->n_spines, spine));
}

static void plan_strict(struct fleet *f, const struct shape *shape, uint32_t free, uint32_t block)
{
    struct block b;
    block_look(f, &b, shape, block, free);
    bool held = take_whole(f, (struct range){b.first, b.end}, shape->gpus);
    assert(held);
    (void)held;
}

void spread_plan(struct fleet *f, const struct shape *shape, uint32_t free, uint32_t block)
{
    if (shape_strict(shape)) {
        plan_strict(f, shape, free, block);
        return;
    }
    const struct range all = {0, f->nodes.n};
    spread_survey(f, 0, f->nodes.n, free);
    if (shape->kind == SHAPE_PREFER_WHOLE &&
        (take_by_level(f, shape->gpus) || take_whole(f, all, shape->gpus)))
        return;
    memset(f->take, 0, f->nodes.n);
    uint32_t left = take_fewest(f, all, shape->gpus, 1, f->nodes.n);
    assert(left == 0);
    (void)left;
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
