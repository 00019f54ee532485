/* Whole nodes that come together: what a start which insists on them counts in place of GPUs.
 *
 * Such a start needs so many wholly available nodes of one leaf group (or of the pool) and one more
 * node with the rest. GPUs are available that are free, or incoming and unclaimed, or that a victim
 * would give; nodes are counted by how many of theirs are, so that a victim more or less costs its
 * parts and the question whether the nodes suffice a few steps. */
#include "models/capacity/fleet_internal.h"

uint32_t block_n(const struct fleet *f, const struct shape *shape)
{
    return shape->kind == SHAPE_ONE_LEAF ? f->nodes.leaves.n : 1;
}

void block_look(struct fleet *f, struct block *b, const struct shape *shape, uint32_t i,
                uint32_t free)
{
    const struct leaves *ls = &f->nodes.leaves;
    bool all = block_n(f, shape) == 1;
    uint32_t size = f->nodes.largest;
    *b = (struct block){.first = all ? 0 : ls->first[i],
                        .end = all ? f->nodes.n : ls->first[i + 1],
                        .whole = shape->gpus / size,
                        .rest = shape->gpus % size,
                        .size = size};
    spread_survey(f, b->first, b->end, free);
    for (uint32_t node = b->first; node < b->end; node++) {
        b->usable += f->usable[node];
        b->available += f->available[node];
        b->nodes_with[f->available[node]]++;
    }
}

uint32_t block_gain(const struct fleet *f, const struct block *b, uint32_t slot)
{
    const struct parts *parts = &f->leases.items[slot].parts;
    uint32_t gpus = 0;
    for (size_t i = 0; i < parts->n; i++) {
        uint32_t node = parts->items[i].node;
        if (node >= b->first && node < b->end && !node_closed(f, node))
            gpus += mask_count(parts->items[i].mask);
    }
    return gpus;
}

void block_count(struct fleet *f, struct block *b, uint32_t slot, int by)
{
    const struct parts *parts = &f->leases.items[slot].parts;
    for (size_t i = 0; i < parts->n; i++) {
        uint32_t node = parts->items[i].node;
        if (node < b->first || node >= b->end || node_closed(f, node))
            continue;
        b->nodes_with[f->available[node]]--;
        f->available[node] =
            (uint8_t)(f->available[node] + by * (int)mask_count(parts->items[i].mask));
        b->nodes_with[f->available[node]]++;
    }
}

bool block_holds(const struct block *b)
{
    uint32_t whole = b->nodes_with[b->size];
    if (whole != b->whole || b->rest == 0)
        return whole >= b->whole;
    for (uint32_t n = b->rest; n < b->size; n++)
        if (b->nodes_with[n] > 0)
            return true;
    return false;
}
