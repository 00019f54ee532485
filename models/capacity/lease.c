/* The table of leases.
 *
 * Lease numbers count up and are never used twice, so rows and event files can name leases and a
 * lower number always means an earlier start. A lease lives in a slot; slots, with their timers and
 * the memory of their GPU sets, are reused, so the table is as large as the most leases alive at
 * once (plus four bytes a lease ever made, for the way from number to slot). Held leases are linked
 * per claimant: victims are chosen among them. */
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"
#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>

/* The one next event of a lease, by its phase. */
static void stage_over(void *ctx, uint32_t slot)
{
    struct fleet *f = ctx;
    if (f->leases.items[slot].phase == LEASE_ASSEMBLING)
        reclaim_grant(f, slot);
    else
        stop_stage_over(f, slot);
}

static enum hr_err slot_new(struct fleet *f)
{
    struct lease empty = {.phase = LEASE_GONE, .next = f->free_slot, .timer = TIMER_NONE};
    uint32_t slot = (uint32_t)f->leases.n;
    if (!vec_reserve(&f->leases, f->leases.n + 1))
        return HR_NOMEM;
    TRY(engine_timer_new(f->engine, EVENT_COMPLETE, stage_over, f, slot, &empty.timer));
    f->leases.items[f->leases.n++] = empty;
    f->free_slot = slot;
    return HR_OK;
}

static uint32_t compute_of(const struct fleet *f, const struct shape *shape)
{
    return f->nodes.slices ? f->nodes.slices->t->gpu.profiles[shape->profile].compute : 0;
}

/* So many memory slices more, or fewer, are held beyond what was asked for. */
static void beyond_change(struct fleet *f, int by)
{
    simtime_ns now = fleet_now(f);
    f->churn.beyond_ns += (u128)f->beyond * (now - f->beyond_at_ns);
    f->beyond_at_ns = now;
    f->beyond += (uint32_t)by;
}

const struct fleet_churn *fleet_churn(struct fleet *f)
{
    beyond_change(f, 0);
    return &f->churn;
}

enum hr_err lease_new(struct fleet *f, uint32_t claimant, const struct ask *ask, uint32_t *slot)
{
    if (f->free_slot == NONE)
        TRY(slot_new(f));
    if (f->slot_of.n == LEASE_NONE)
        return HR_LIMIT;
    if (!vec_push(&f->slot_of, f->free_slot))
        return HR_NOMEM;
    *slot = f->free_slot;
    struct lease *l = &f->leases.items[*slot];
    f->free_slot = l->next;
    struct parts parts = l->parts;
    parts.n = 0;
    *l = (struct lease){
        .id = (lease_id)(f->slot_of.n - 1),
        .phase = LEASE_ASSEMBLING,
        .state = GPU_HELD_IDLE,
        .claimant = claimant,
        .tag = ask->tag,
        .gpus = ask->shape.gpus,
        .kind = ask->shape.kind,
        .profile = ask->shape.profile,
        .beyond = ask->shape.beyond,
        .compute = compute_of(f, &ask->shape),
        .priority = f->claimants.items[claimant].quota.priority + ask->priority,
        .submit_ns = ask->submit_ns,
        .guard_ns = ask->guard_ns,
        .base = ask->extends ? ask->base : LEASE_NONE,
        .row = NONE,
        .claims = NONE,
        .prev = NONE,
        .next = NONE,
        .timer = l->timer,
        .since = SIM_NEVER,
        .parts = parts,
    };
    return HR_OK;
}

void lease_drop(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    engine_cancel(f->engine, l->timer);
    f->slot_of.items[l->id] = NONE;
    l->phase = LEASE_GONE;
    l->next = f->free_slot;
    f->free_slot = slot;
}

void lease_hold(struct fleet *f, uint32_t slot, simtime_ns now)
{
    struct lease *l = &f->leases.items[slot];
    struct claimant *c = &f->claimants.items[l->claimant];
    l->phase = LEASE_HELD;
    f->churn.leases++;
    f->churn.larger += l->beyond > 0;
    if (l->beyond > 0)
        beyond_change(f, l->beyond);
    l->since = now;
    l->prev = NONE;
    l->next = c->first_held;
    if (l->next != NONE)
        f->leases.items[l->next].prev = slot;
    c->first_held = slot;
    c->held += l->gpus;
    if (l->base != LEASE_NONE)
        f->leases.items[lease_slot(f, l->base)].extended += l->gpus;
    if (l->compute > 0) {
        c->slice_memory = l->gpus;
        c->slice_compute = l->compute;
    }
}

void lease_unhold(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    struct claimant *c = &f->claimants.items[l->claimant];
    if (l->next != NONE)
        f->leases.items[l->next].prev = l->prev;
    if (l->prev != NONE)
        f->leases.items[l->prev].next = l->next;
    else
        c->first_held = l->next;
    c->held -= l->gpus;
    if (l->beyond > 0)
        beyond_change(f, -(int)l->beyond);
    if (l->base != LEASE_NONE)
        f->leases.items[lease_slot(f, l->base)].extended -= l->gpus;
}

uint32_t lease_slot(const struct fleet *f, lease_id l)
{
    assert(l < f->slot_of.n && f->slot_of.items[l] != NONE);
    return f->slot_of.items[l];
}
