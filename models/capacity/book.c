/* The fleet's side of the ledger: every move of GPUs between accounts is here.
 *
 * Two things are not plain moves. Ready GPUs (held leases in GPU_HELD_IDLE or GPU_SERVING) are one
 * pool per claimant, of which a count is booked as serving: leases enter and leave the pool through
 * held_idle, and then the count is put right. Free GPUs may be booked as stranded since the last
 * scheduling pass; whoever takes GPUs un-strands them all, and the end of the pass strands anew. */
#include "models/capacity/fleet_internal.h"

#include <assert.h>

static void move(struct fleet *f, uint32_t from_owner, enum gpu_state from, uint32_t to_owner,
                 enum gpu_state to, uint32_t gpus)
{
    if (gpus > 0 && (from_owner != to_owner || from != to))
        ledger_move(f->ledger, fleet_now(f), from_owner, from, to_owner, to, gpus);
}

static void trace(struct fleet *f, const struct lease *l, enum gpu_state from, enum gpu_state to,
                  uint32_t gpus)
{
    if (f->trace.change && gpus > 0 && from != to)
        f->trace.change(f->trace.self, fleet_now(f), l->id, l->claimant, from, to, gpus);
}

static bool is_ready(enum gpu_state s)
{
    return s == GPU_HELD_IDLE || s == GPU_SERVING;
}

void book_busy(struct fleet *f, uint32_t claimant)
{
    struct claimant *c = &f->claimants.items[claimant];
    uint32_t serving = c->busy == NONE ? c->set_serving : c->busy < c->ready ? c->busy : c->ready;
    if (serving > c->serving)
        move(f, claimant + 1, GPU_HELD_IDLE, claimant + 1, GPU_SERVING, serving - c->serving);
    else
        move(f, claimant + 1, GPU_SERVING, claimant + 1, GPU_HELD_IDLE, c->serving - serving);
    c->serving = serving;
}

/* A lease's GPUs, booked at (owner, GPU_HELD_IDLE), become part of the ready pool. */
static void ready_add(struct fleet *f, const struct lease *l)
{
    struct claimant *c = &f->claimants.items[l->claimant];
    c->ready += l->gpus;
    c->set_serving += l->state == GPU_SERVING ? l->gpus : 0;
    book_busy(f, l->claimant);
}

/* Books a lease's GPUs, now at another account, in its state. */
static void enter(struct fleet *f, const struct lease *l, uint32_t from_owner, enum gpu_state from)
{
    uint32_t owner = l->claimant + 1;
    move(f, from_owner, from, owner, is_ready(l->state) ? GPU_HELD_IDLE : l->state, l->gpus);
    if (is_ready(l->state))
        ready_add(f, l);
}

/* Takes them out of its state; returns the state they are booked in then. */
static enum gpu_state leave(struct fleet *f, const struct lease *l)
{
    if (!is_ready(l->state))
        return l->state;
    struct claimant *c = &f->claimants.items[l->claimant];
    c->ready -= l->gpus;
    c->set_serving -= l->state == GPU_SERVING ? l->gpus : 0;
    book_busy(f, l->claimant);
    return GPU_HELD_IDLE;
}

void book_strand(struct fleet *f, uint32_t gpus)
{
    if (gpus > f->stranded)
        move(f, LEDGER_NOBODY, GPU_FREE, LEDGER_NOBODY, GPU_STRANDED, gpus - f->stranded);
    else
        move(f, LEDGER_NOBODY, GPU_STRANDED, LEDGER_NOBODY, GPU_FREE, f->stranded - gpus);
    f->stranded = gpus;
}

/* Makes all free GPUs plain free ones; a pass will say again which are stranded. */
static void unstrand(struct fleet *f)
{
    if (f->stranded == 0)
        return;
    book_strand(f, 0);
    if (!f->in_pass)
        fleet_want_pass(f);
}

void book_take(struct fleet *f, uint32_t slot, enum gpu_state to)
{
    struct lease *l = &f->leases.items[slot];
    unstrand(f);
    l->state = to;
    enter(f, l, LEDGER_NOBODY, GPU_FREE);
    trace(f, l, GPU_FREE, to, l->gpus);
}

void book_state(struct fleet *f, uint32_t slot, enum gpu_state to)
{
    struct lease *l = &f->leases.items[slot];
    enum gpu_state before = l->state;
    enum gpu_state from = leave(f, l);
    l->state = to;
    enter(f, l, l->claimant + 1, from);
    trace(f, l, before, to, l->gpus);
}

void book_release(struct fleet *f, uint32_t slot)
{
    const struct lease *l = &f->leases.items[slot];
    move(f, l->claimant + 1, GPU_DRAINING, LEDGER_NOBODY, GPU_SCRUBBING, l->gpus);
    trace(f, l, GPU_DRAINING, GPU_SCRUBBING, l->gpus);
}

void book_clean(struct fleet *f, uint32_t slot)
{
    const struct lease *l = &f->leases.items[slot];
    move(f, LEDGER_NOBODY, GPU_SCRUBBING, LEDGER_NOBODY, GPU_FREE, l->gpus);
    trace(f, l, GPU_SCRUBBING, GPU_FREE, l->gpus);
}

void book_keep(struct fleet *f, uint32_t slot, uint32_t gpus)
{
    const struct lease *l = &f->leases.items[slot];
    if (gpus > 0)
        unstrand(f);
    move(f, LEDGER_NOBODY, GPU_FREE, l->claimant + 1, GPU_HELD_IDLE, gpus);
    trace(f, l, GPU_FREE, GPU_HELD_IDLE, gpus);
}

void book_unkeep(struct fleet *f, uint32_t slot, uint32_t gpus)
{
    const struct lease *l = &f->leases.items[slot];
    move(f, l->claimant + 1, GPU_HELD_IDLE, LEDGER_NOBODY, GPU_FREE, gpus);
    trace(f, l, GPU_HELD_IDLE, GPU_FREE, gpus);
}

void book_out(struct fleet *f, enum gpu_state from, enum gpu_state to, uint32_t gpus)
{
    if (gpus > 0 && (from == GPU_FREE || to == GPU_FREE))
        unstrand(f);
    move(f, LEDGER_NOBODY, from, LEDGER_NOBODY, to, gpus);
}

void book_lose(struct fleet *f, uint32_t slot, uint32_t gpus, enum gpu_state to)
{
    struct lease *l = &f->leases.items[slot];
    enum gpu_state was = l->phase == LEASE_SCRUBBING ? GPU_SCRUBBING : l->state;
    if (l->phase == LEASE_SCRUBBING) {
        move(f, LEDGER_NOBODY, GPU_SCRUBBING, LEDGER_NOBODY, to, gpus);
        l->gpus -= gpus;
    } else {
        enum gpu_state from = leave(f, l);
        move(f, l->claimant + 1, from, LEDGER_NOBODY, to, gpus);
        l->gpus -= gpus;
        enter(f, l, l->claimant + 1, from);
    }
    trace(f, l, was, to, gpus);
}

void book_replace(struct fleet *f, uint32_t slot, uint32_t gpus)
{
    struct lease *l = &f->leases.items[slot];
    enum gpu_state from = leave(f, l);
    move(f, LEDGER_NOBODY, GPU_HELD_IDLE, l->claimant + 1, from, gpus);
    l->gpus += gpus;
    enter(f, l, l->claimant + 1, from);
    trace(f, l, GPU_HELD_IDLE, l->state, gpus);
}

void book_grant(struct fleet *f, uint32_t slot)
{
    assert(f->leases.items[slot].state == GPU_HELD_IDLE);
    ready_add(f, &f->leases.items[slot]);
}
