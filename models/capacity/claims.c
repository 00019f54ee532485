/* GPUs that are on their way, and the starts that wait for them.
 *
 * A stopping lease announces its GPUs on each of its nodes; they are incoming until its scrub ends.
 * An assembling lease claims numbers of incoming GPUs on nodes, not particular ones: clean GPUs of
 * a node go to its claims in the order in which they were made, and only what no claim wants
 * becomes free. So a start gets the first GPUs that come, and ten small starts can share one
 * evicted gang. A start that needs a place on a GPU (clearing.c) claims just its slices.
 *
 * Invariant: on each node claimed <= incoming. */
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"
#include "sim/vec.h"

#include <assert.h>

bool claims_reserve(struct fleet *f, uint32_t slot, uint32_t n)
{
    struct parts *parts = &f->leases.items[slot].parts;
    return vec_reserve(&f->claims, f->claims.n + n) && vec_reserve(parts, parts->n + n);
}

/* A record from the free list, or a new one: there is room. */
static uint32_t claim_new(struct fleet *f)
{
    uint32_t ix = f->free_claim;
    if (ix == NONE)
        return (uint32_t)f->claims.n++;
    f->free_claim = f->claims.items[ix].next;
    return ix;
}

static void claim_add(struct fleet *f, uint32_t slot, uint32_t node, uint32_t gpus, uint64_t want)
{
    struct lease *l = &f->leases.items[slot];
    uint32_t ix = claim_new(f), last = f->last_claim[node];
    f->claims.items[ix] = (struct claim){
        .slot = slot,
        .part = (uint32_t)l->parts.n - 1,
        .gpus = gpus,
        .want = want,
        .prev = last,
        .next = NONE,
        .next_of_lease = l->claims,
    };
    if (last == NONE)
        f->first_claim[node] = ix;
    else
        f->claims.items[last].next = ix;
    f->last_claim[node] = ix;
    l->claims = ix;
    l->missing += gpus;
    assert(gpus <= claims_unclaimed(f, node));
    f->claimed[node] = (uint8_t)(f->claimed[node] + gpus);
    f->n_claimed += gpus;
    f->n_unclaimed -= gpus;
}

void claims_add(struct fleet *f, uint32_t slot, uint32_t node, uint32_t clean, uint32_t coming)
{
    struct parts *parts = &f->leases.items[slot].parts;
    uint64_t mask = clean ? nodes_take_on(&f->nodes, node, clean) : 0;
    parts->items[parts->n++] = (struct part){.node = node, .mask = mask};
    book_keep(f, slot, clean);
    if (coming > 0)
        claim_add(f, slot, node, coming, UINT64_MAX);
}

void claims_add_place(struct fleet *f, uint32_t slot, const struct part *place)
{
    struct parts *parts = &f->leases.items[slot].parts;
    uint64_t clean = place->mask & f->nodes.free_mask[place->node];
    if (clean)
        nodes_take_these(&f->nodes, place->node, clean);
    parts->items[parts->n++] = (struct part){.node = place->node, .mask = clean};
    book_keep(f, slot, mask_count(clean));
    if (clean != place->mask)
        claim_add(f, slot, place->node, mask_count(place->mask & ~clean), place->mask);
}

/* So many GPUs less for a claim; one that has all leaves its node's list. */
static void claim_reduce(struct fleet *f, uint32_t ix, uint32_t node, uint32_t gpus)
{
    struct claim *c = &f->claims.items[ix];
    c->gpus -= gpus;
    f->leases.items[c->slot].missing -= gpus;
    f->claimed[node] = (uint8_t)(f->claimed[node] - gpus);
    f->n_claimed -= gpus;
    f->n_unclaimed += node_closed(f, node) ? 0 : gpus;
    if (c->gpus > 0)
        return;
    if (c->prev == NONE)
        f->first_claim[node] = c->next;
    else
        f->claims.items[c->prev].next = c->next;
    if (c->next == NONE)
        f->last_claim[node] = c->prev;
    else
        f->claims.items[c->next].prev = c->prev;
}

void claims_drop(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    for (uint32_t ix = l->claims, following; ix != NONE; ix = following) {
        struct claim *c = &f->claims.items[ix];
        following = c->next_of_lease;
        if (c->gpus > 0)
            claim_reduce(f, ix, l->parts.items[c->part].node, c->gpus);
        c->next = f->free_claim;
        f->free_claim = ix;
    }
    l->claims = NONE;
}

static void incoming_on(struct fleet *f, const struct lease *l, uint32_t node, int change)
{
    f->incoming[node] = (uint8_t)(f->incoming[node] + change);
    if (l->evicted)
        f->incoming_evicted[node] = (uint8_t)(f->incoming_evicted[node] + change);
    f->n_incoming += (uint32_t)change;
    f->n_unclaimed += node_closed(f, node) ? 0 : (uint32_t)change;
}

static void incoming_change(struct fleet *f, const struct lease *l, int sign)
{
    for (size_t i = 0; i < l->parts.n; i++) {
        const struct part *p = &l->parts.items[i];
        incoming_on(f, l, p->node, sign * (int)mask_count(p->mask));
    }
}

void claims_retract(struct fleet *f, const struct lease *l, uint32_t node, uint32_t gpus)
{
    assert(f->first_claim[node] == NONE);
    incoming_on(f, l, node, -(int)gpus);
}

void claims_announce(struct fleet *f, uint32_t slot)
{
    incoming_change(f, &f->leases.items[slot], 1);
}

/* Hands clean GPUs of a node to its oldest claims; returns those left over. */
static uint64_t serve(struct fleet *f, const struct lease *from, uint32_t node, uint64_t mask)
{
    for (uint32_t ix = f->first_claim[node], next; mask && ix != NONE; ix = next) {
        const struct claim *c = &f->claims.items[ix];
        uint32_t slot = c->slot, there = mask_count(mask & c->want);
        uint32_t gpus = c->gpus < there ? c->gpus : there;
        next = c->next;
        if (gpus == 0)
            continue;
        uint64_t given = mask_lowest(mask & c->want, gpus);
        mask &= ~given;
        f->leases.items[slot].parts.items[c->part].mask |= given;
        book_keep(f, slot, gpus);
        claim_reduce(f, ix, node, gpus);
        if (f->leases.items[slot].missing == 0 && !f->leases.items[slot].clears)
            reclaim_complete(f, slot, from);
    }
    return mask;
}

void claims_arrive(struct fleet *f, uint32_t slot)
{
    const struct lease *l = &f->leases.items[slot];
    incoming_change(f, l, -1);
    for (size_t i = 0; i < l->parts.n; i++) {
        const struct part *p = &l->parts.items[i];
        if (f->nodes.slices && f->first_claim[p->node] != NONE)
            slices_end(&f->nodes, p->node, p->mask); /* claimed on open nodes alone */
        uint64_t left = serve(f, l, p->node, p->mask);
        nodes_out_return(f, p->node, left);
        if (f->nodes.slices)
            clearing_arrive(f, l, p);
    }
    racks_settle(&f->nodes);
}
