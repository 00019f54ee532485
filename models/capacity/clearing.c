/* A GPU that is being cleared for a slice: from the decision of its start until the instance has
 * its place. Several starts may share one, each with a place of its own.
 *
 * The start takes the place that the rule of placement chooses on the GPU as it will be when all
 * that stops there is gone and the starts before it have their places. It keeps what is free of it
 * and what comes free, memory slice by memory slice (held_idle of its owner); the compute slices
 * come with the instance. Until then nothing else is placed on the GPU, so the place is legal at
 * the latest when what stopped is gone: an instance that overlaps nothing of it may still hold the
 * compute slices or the media engines it needs. When its node closes the start is withdrawn. */
#include "models/capacity/slices.h"
#include "models/capacity/victims_internal.h"

#include <assert.h>

static uint8_t start_of(const struct fleet *f, uint32_t gpu, uint8_t profile)
{
    const struct mig_index *x = slices_index(&f->nodes, gpu);
    return x->t->choice[x->rule][f->victims.after[gpu]][profile];
}

static void leave(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    uint32_t *link = &f->first_clearing[l->gpu];
    while (*link != slot)
        link = &f->leases.items[*link].next_there;
    *link = l->next_there;
    slices_release(&f->nodes, l->gpu);
    l->clears = false;
}

/* The last of those that its GPU is cleared for. */
static void enter(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    uint32_t *link = &f->first_clearing[l->gpu];
    while (*link != NONE)
        link = &f->leases.items[*link].next_there;
    *link = slot;
    l->next_there = NONE;
    slices_reserve(&f->nodes, l->gpu);
    l->clears = true;
}

/* The instance comes into being where its place is clean and legal. */
static bool settle(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    if (l->missing > 0 || !slices_begin(&f->nodes, l->gpu, l->profile, l->start))
        return false;
    leave(f, slot);
    book_instance(f, slot);
    return true;
}

void clearing_begin(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    slice_survey(f);
    l->gpu = f->victims.node;
    l->start = start_of(f, l->gpu, l->profile);
    assert(l->start != MIG_NO_START);
    enter(f, slot);
    const struct part place = slices_place(&f->nodes, l->gpu, l->profile, l->start);
    claims_add_place(f, slot, &place);
    settle(f, slot);
}

bool clearing_waits_for_evicted(const struct fleet *f, const struct lease *l)
{
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *v = &f->leases.items[i];
        bool stops = v->phase == LEASE_DRAINING || v->phase == LEASE_SCRUBBING;
        if (stops && v->evicted && v->parts.n > 0 &&
            slices_gpu(&f->nodes, v->parts.items[0].node, v->parts.items[0].mask) == l->gpu)
            return true;
    }
    return false;
}

void clearing_arrive(struct fleet *f, const struct lease *from, const struct part *part)
{
    uint32_t slot = f->first_clearing[slices_gpu(&f->nodes, part->node, part->mask)];
    for (uint32_t next; slot != NONE; slot = next) {
        next = f->leases.items[slot].next_there;
        if (settle(f, slot))
            reclaim_complete(f, slot, from);
    }
}

void clearing_end(struct fleet *f, uint32_t slot)
{
    if (f->leases.items[slot].clears)
        leave(f, slot);
}

void clearing_withdraw(struct fleet *f, uint32_t node)
{
    const struct slices *s = f->nodes.slices;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        while (f->first_clearing[gpu] != NONE) {
            const struct lease *l = &f->leases.items[f->first_clearing[gpu]];
            const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
            lease_id id = l->id;
            ops->withdrawn(ops->self, id, fleet_now(f));
            fleet_abandon(f, id);
        }
}

bool clearing_consistent(const struct fleet *f)
{
    uint32_t clearing = 0, listed = 0;
    for (size_t i = 0; i < f->leases.n; i++)
        clearing += f->leases.items[i].phase == LEASE_ASSEMBLING && f->leases.items[i].clears;
    for (uint32_t gpu = 0; gpu < slices_gpus(&f->nodes); gpu++) {
        uint32_t n = 0;
        for (uint32_t s = f->first_clearing[gpu]; s != NONE; s = f->leases.items[s].next_there) {
            const struct lease *l = &f->leases.items[s];
            if (!l->clears || l->gpu != gpu || !slices_clearable(&f->nodes, gpu))
                return false;
            n++;
        }
        if (n != f->nodes.slices->reserved[gpu])
            return false;
        listed += n;
    }
    return clearing == listed;
}
