/* The fleet's side of the ledger: every move of GPUs between accounts is here.
 *
 * Two things are not plain moves. Ready GPUs (held leases in GPU_HELD_IDLE or GPU_SERVING) are one
 * pool per claimant, of which a count is booked as serving: leases enter and leave the pool through
 * held_idle, and then the count is put right. Free GPUs may be booked as stranded since the last
 * scheduling pass; whoever takes GPUs un-strands them all, and the end of the pass strands anew.
 *
 * With MIG each move of memory slices has one of compute slices beside it, in a ledger of its own.
 */
#include "models/capacity/fleet_internal.h"

#include <assert.h>

/* What moves: GPUs, or memory slices and compute slices. */
struct amount {
    uint32_t gpus, compute;
};

static struct amount all_of(const struct lease *l)
{
    return (struct amount){l->gpus, l->compute};
}

/* Of so many ready GPUs of a claimant: whole instances, all alike. */
static struct amount ready_of(const struct claimant *c, uint32_t gpus)
{
    return (struct amount){gpus, c->slice_memory ? gpus / c->slice_memory * c->slice_compute : 0};
}

static void move(struct fleet *f, uint32_t from_owner, enum gpu_state from, uint32_t to_owner,
                 enum gpu_state to, struct amount n)
{
    if (from_owner == to_owner && from == to)
        return;
    if (n.gpus > 0)
        ledger_move(f->ledger, fleet_now(f), from_owner, from, to_owner, to, n.gpus);
    if (n.compute > 0)
        ledger_move(f->compute, fleet_now(f), from_owner, from, to_owner, to, n.compute);
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
        move(f, claimant + 1, GPU_HELD_IDLE, claimant + 1, GPU_SERVING,
             ready_of(c, serving - c->serving));
    else
        move(f, claimant + 1, GPU_SERVING, claimant + 1, GPU_HELD_IDLE,
             ready_of(c, c->serving - serving));
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
    move(f, from_owner, from, owner, is_ready(l->state) ? GPU_HELD_IDLE : l->state, all_of(l));
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

/* From one account of nobody's to the other, whichever has too many. */
static void strand(struct fleet *f, struct amount more, struct amount fewer)
{
    move(f, LEDGER_NOBODY, GPU_FREE, LEDGER_NOBODY, GPU_STRANDED, more);
    move(f, LEDGER_NOBODY, GPU_STRANDED, LEDGER_NOBODY, GPU_FREE, fewer);
}

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

void book_strand(struct fleet *f, uint32_t gpus, uint32_t compute)
{
    strand(f, (struct amount){above(gpus, f->stranded), above(compute, f->stranded_compute)},
           (struct amount){above(f->stranded, gpus), above(f->stranded_compute, compute)});
    f->stranded = gpus;
    f->stranded_compute = compute;
}

/* Makes all free GPUs plain free ones; a pass will say again which are stranded. */
static void unstrand(struct fleet *f)
{
    if (f->stranded == 0 && f->stranded_compute == 0)
        return;
    book_strand(f, 0, 0);
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
    move(f, l->claimant + 1, GPU_DRAINING, LEDGER_NOBODY, GPU_SCRUBBING, all_of(l));
    trace(f, l, GPU_DRAINING, GPU_SCRUBBING, l->gpus);
}

void book_reconfigure(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    l->reconfigures = true;
    move(f, LEDGER_NOBODY, GPU_SCRUBBING, LEDGER_NOBODY, GPU_RECONFIGURING, all_of(l));
    trace(f, l, GPU_SCRUBBING, GPU_RECONFIGURING, l->gpus);
}

void book_clean(struct fleet *f, uint32_t slot)
{
    const struct lease *l = &f->leases.items[slot];
    enum gpu_state from = l->reconfigures ? GPU_RECONFIGURING : GPU_SCRUBBING;
    move(f, LEDGER_NOBODY, from, LEDGER_NOBODY, GPU_FREE, all_of(l));
    trace(f, l, from, GPU_FREE, l->gpus);
}

/* Of GPUs that come one by one, or an instance, which comes whole or has a GPU cleared for it. */
static struct amount kept(const struct lease *l, uint32_t gpus)
{
    return (struct amount){gpus, gpus == l->gpus && !l->clears ? l->compute : 0};
}

void book_instance(struct fleet *f, uint32_t slot)
{
    const struct lease *l = &f->leases.items[slot];
    unstrand(f);
    move(f, LEDGER_NOBODY, GPU_FREE, l->claimant + 1, GPU_HELD_IDLE,
         (struct amount){0, l->compute});
}

void book_keep(struct fleet *f, uint32_t slot, uint32_t gpus)
{
    const struct lease *l = &f->leases.items[slot];
    if (gpus > 0)
        unstrand(f);
    move(f, LEDGER_NOBODY, GPU_FREE, l->claimant + 1, GPU_HELD_IDLE, kept(l, gpus));
    trace(f, l, GPU_FREE, GPU_HELD_IDLE, gpus);
}

void book_unkeep(struct fleet *f, uint32_t slot, uint32_t gpus)
{
    const struct lease *l = &f->leases.items[slot];
    move(f, l->claimant + 1, GPU_HELD_IDLE, LEDGER_NOBODY, GPU_FREE, kept(l, gpus));
    trace(f, l, GPU_HELD_IDLE, GPU_FREE, gpus);
}

void book_out(struct fleet *f, enum gpu_state from, enum gpu_state to, uint32_t gpus,
              uint32_t compute)
{
    if (gpus + compute > 0 && (from == GPU_FREE || to == GPU_FREE))
        unstrand(f);
    move(f, LEDGER_NOBODY, from, LEDGER_NOBODY, to, (struct amount){gpus, compute});
}

void book_lose(struct fleet *f, uint32_t slot, uint32_t gpus, enum gpu_state to)
{
    struct lease *l = &f->leases.items[slot];
    enum gpu_state was = l->phase != LEASE_SCRUBBING ? l->state
                         : l->reconfigures           ? GPU_RECONFIGURING
                                                     : GPU_SCRUBBING;
    const struct amount lost = kept(l, gpus);
    bool owned = l->phase != LEASE_SCRUBBING;
    enum gpu_state from = owned ? leave(f, l) : was;
    move(f, owned ? l->claimant + 1 : LEDGER_NOBODY, from, LEDGER_NOBODY, to, lost);
    l->gpus -= lost.gpus;
    l->compute -= lost.compute;
    if (owned)
        enter(f, l, l->claimant + 1, from);
    trace(f, l, was, to, gpus);
}

void book_replace(struct fleet *f, uint32_t slot, uint32_t gpus)
{
    struct lease *l = &f->leases.items[slot];
    enum gpu_state from = leave(f, l);
    move(f, LEDGER_NOBODY, GPU_HELD_IDLE, l->claimant + 1, from, (struct amount){gpus, 0});
    l->gpus += gpus;
    enter(f, l, l->claimant + 1, from);
    trace(f, l, GPU_HELD_IDLE, l->state, gpus);
}

void book_grant(struct fleet *f, uint32_t slot)
{
    assert(f->leases.items[slot].state == GPU_HELD_IDLE);
    ready_add(f, &f->leases.items[slot]);
}
