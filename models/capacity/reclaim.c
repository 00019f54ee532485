/* Starts that need GPUs of others: the decision, the row that times it, granting, giving up.
 *
 * A reclaim is decided at one instant: victims are chosen and told, clean GPUs are kept, and the
 * rest is claimed on nodes where GPUs are coming. Later GPUs arrive as scrubs end (claims.c). The
 * stopping lease that brings the last one completes the start, and the row's stages are those of
 * that lease as far as they lie after the decision (grace: from the decision until it stops, less
 * its save): decision to granted is their sum exactly. A start that finds everything it needs free,
 * or that only waits for leases that ended by themselves, is no reclaim and has no row. */
#include "models/capacity/fleet_internal.h"
#include "sim/vec.h"

#include <assert.h>

/* ---- the decision ---- */

/* What was evicted in this moment, for a start of this priority; there is room. */
static void note_eviction(struct fleet *f, const struct lease *l, int32_t priority)
{
    simtime_ns now = fleet_now(f);
    if (f->recent.n > 0 && f->recent.items[f->recent.n - 1].at_ns + MOMENT_NS < now)
        f->recent.n = 0;
    f->recent.items[f->recent.n++] =
        (struct eviction){l->claimant, l->tag, (lease_id)f->slot_of.n, now, priority};
    f->churn.evictions++;
}

/* Tells the victims; each has stopped when its claimant returns, and so have its extensions. How
 * many GPUs that gives back. */
static uint32_t evict_chosen(struct fleet *f, int32_t priority)
{
    const struct victims *v = &f->victims;
    simtime_ns now = fleet_now(f), grace = f->plan.grace_ns;
    uint32_t before = f->n_incoming;
    victims_settle(f);
    for (uint32_t i = 0; i < v->n_chosen; i++) {
        const struct candidate *c = &v->candidates[v->chosen[i]];
        const struct claimant_ops *ops = &f->claimants.items[c->claimant].ops;
        if (f->leases.items[c->slot].phase != LEASE_HELD)
            continue; /* it extended one before it */
        f->leases.items[c->slot].evicted = true;
        note_eviction(f, &f->leases.items[c->slot], priority);
        ops->evict(ops->self, c->id, now, grace);
        const struct lease *l = &f->leases.items[c->slot];
        assert(l->id == c->id && l->phase == LEASE_DRAINING && l->stop_ns <= now + grace);
        (void)l;
    }
    return f->n_incoming - before;
}

/* Keeps and claims what the start needs, after the evictions; there is room for the claims. */
static void claim_all(struct fleet *f, uint32_t slot, const struct shape *shape, uint32_t free)
{
    if (f->nodes.slices) {
        clearing_begin(f, slot);
        return;
    }
    if (!nodes_one_node(&f->nodes, shape)) {
        spread_plan(f, shape, free, f->victims.node);
        spread_claim(f, slot);
        return;
    }
    uint32_t node = f->victims.node, clean = f->nodes.free_count[node];
    clean = clean < free ? clean : free;
    clean = clean < shape->gpus ? clean : shape->gpus;
    claims_add(f, slot, node, clean, shape->gpus - clean);
}

/* Whether some GPU that the lease waits for may come from an evicted one. */
static bool waits_for_evicted(const struct fleet *f, const struct lease *l)
{
    if (l->clears)
        return clearing_waits_for_evicted(f, l);
    for (uint32_t ix = l->claims; ix != NONE; ix = f->claims.items[ix].next_of_lease)
        if (f->incoming_evicted[l->parts.items[f->claims.items[ix].part].node] > 0)
            return true;
    return false;
}

/* The row of a start that has claims; there is room. */
static void row_add(struct fleet *f, uint32_t slot, simtime_ns detect_ns, uint32_t evicted)
{
    struct lease *l = &f->leases.items[slot];
    struct reclaim_row row = {
        .claimant = l->claimant,
        .lease = l->id,
        .decision_ns = fleet_now(f),
        .granted_ns = SIM_NEVER,
        .ready_ns = SIM_NEVER,
        .stage_ns = {[STAGE_DETECT] = detect_ns},
        .gpus = l->gpus,
        .gpus_missing = l->missing,
        .gpus_evicted = evicted,
        .victims = f->victims.n_chosen,
        .moves = f->victims.moves,
    };
    l->row = (uint32_t)f->rows.n;
    f->n_outstanding++;
    f->rows.items[f->rows.n++] = row;
}

/* Takes a lease that has not been released back out of the books. */
static void uncharge(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    quota_stop(f, l->claimant, l->gpus);
    quota_release(f, l->claimant, l->gpus);
    quota_untie(f, l->claimant, l->gpus);
    lease_drop(f, slot);
}

enum hr_err lease_for(struct fleet *f, uint32_t claimant, const struct ask *ask, uint32_t *slot)
{
    const struct shape *shape = &ask->shape;
    uint32_t n = nodes_one_node(&f->nodes, shape) ? 1
                 : shape->gpus < f->nodes.n       ? shape->gpus
                                                  : f->nodes.n;
    if (!vec_reserve(&f->rows, f->rows.n + 1) ||
        !vec_reserve(&f->recent, f->recent.n + f->victims.n_chosen))
        return HR_NOMEM;
    TRY(lease_new(f, claimant, ask, slot));
    if (claims_reserve(f, *slot, n))
        return HR_OK;
    lease_drop(f, *slot);
    return HR_NOMEM;
}

/* Keeps what is free, evicts and claims the rest. */
static void assemble(struct fleet *f, uint32_t slot, const struct shape *shape, uint32_t free,
                     simtime_ns detect_ns)
{
    uint32_t evicted = evict_chosen(f, f->leases.items[slot].priority);
    f->churn.reclaims += f->victims.n_chosen > 0;
    f->churn.moves += f->victims.moves ? f->victims.n_chosen : 0;
    claim_all(f, slot, shape, free);
    if (f->leases.items[slot].missing == 0 && !f->leases.items[slot].clears)
        engine_schedule(f->engine, f->leases.items[slot].timer, fleet_now(f));
    else if (waits_for_evicted(f, &f->leases.items[slot]))
        row_add(f, slot, detect_ns, evicted);
    racks_settle(&f->nodes);
}

/* All of it is free: granted at once, as an event of its own like any other. */
static enum hr_err keep_free(struct fleet *f, uint32_t slot, const struct shape *shape)
{
    TRY(nodes_take(&f->nodes, shape, &f->leases.items[slot].parts));
    book_keep(f, slot, shape->gpus);
    engine_schedule(f->engine, f->leases.items[slot].timer, fleet_now(f));
    return HR_OK;
}

/* Whether the start can have what it needs, by moving or by evicting leases or by waiting for what
 * comes. */
static bool decide(struct fleet *f, const struct taking *t, const struct shape *shape,
                   enum grant would, uint32_t free)
{
    f->victims.moves = would == GRANT_SHAPE && f->plan.consolidate && !f->nodes.slices &&
                       consolidate_choose(f, t, shape);
    bool can =
        f->victims.moves || (taking_possible(f, t) &&
                             victims_choose(f, t, shape, free, quota_coming(f, t->claimant, 0)));
    return can && !(f->plan.serial && f->n_outstanding > 0 && f->victims.n_chosen > 0);
}

static enum grant take(struct fleet *f, uint32_t claimant, const struct ask *asked,
                       simtime_ns detect_ns, lease_id *out)
{
    struct ask ask = *asked;
    const struct shape *shape = &ask.shape;
    enum grant would = fleet_shape(f, claimant, &ask.shape);
    const struct taking taking = taking_of(f, claimant, &ask);
    uint32_t free = quota_free(f, claimant), slot;
    f->victims.n_chosen = 0;
    if (would == GRANT_NEVER)
        return would;
    if (would != GRANT_OK && !decide(f, &taking, shape, would, free))
        return would;
    if (lease_for(f, claimant, &ask, &slot) != HR_OK)
        return GRANT_FAILED;
    f->leases.items[slot].borrowed = quota_charge(f, claimant, shape->gpus);
    *out = f->leases.items[slot].id;
    f->changes++;
    if (would != GRANT_OK)
        assemble(f, slot, shape, free, detect_ns);
    else if (keep_free(f, slot, shape) != HR_OK) {
        uncharge(f, slot);
        return GRANT_FAILED;
    }
    return GRANT_OK;
}

enum grant fleet_reclaim(struct fleet *f, uint32_t claimant, const struct ask *ask,
                         simtime_ns detect_ns, lease_id *out)
{
    const struct taking taking = taking_of(f, claimant, ask);
    enum grant would = fleet_would(f, claimant, &ask->shape);
    uint64_t changes = f->changes;
    bool yielded = f->collecting.n > 0 && would != GRANT_OK && collect_yield(f, &taking);
    enum grant g = take(f, claimant, ask, detect_ns, out);
    if (!yielded)
        return g;
    collect_serve(f);
    if (g == GRANT_OK || g == GRANT_FAILED)
        return g;
    f->changes = changes; /* what was given up has been kept again */
    return would;
}

/* ---- the end ---- */

/* The part of [from, to) after the decision. */
static simtime_ns after(simtime_ns decision, simtime_ns from, simtime_ns to)
{
    return to <= decision ? 0 : to - (from > decision ? from : decision);
}

void reclaim_complete(struct fleet *f, uint32_t slot, const struct lease *from)
{
    struct lease *l = &f->leases.items[slot];
    engine_schedule(f->engine, l->timer, fleet_now(f));
    if (l->row == NONE)
        return;
    struct reclaim_row *row = &f->rows.items[l->row];
    simtime_ns t = row->decision_ns;
    row->stage_ns[STAGE_GRACE] = after(t, t, from->save_ns);
    row->stage_ns[STAGE_CHECKPOINT] = after(t, from->save_ns, from->stop_ns);
    row->stage_ns[STAGE_TEARDOWN] = after(t, from->stop_ns, from->teardown_end_ns);
    row->stage_ns[STAGE_SCRUB] = after(t, from->teardown_end_ns, from->scrub_end_ns);
    row->stage_ns[STAGE_RECONFIGURE] = after(t, from->scrub_end_ns, fleet_now(f));
}

/* A reclaim is no longer outstanding: where it is one after another, the next may be decided. */
static void over(struct fleet *f)
{
    f->n_outstanding--;
    if (f->plan.serial)
        fleet_want_pass(f);
}

void reclaim_grant(struct fleet *f, uint32_t slot)
{
    simtime_ns now = fleet_now(f);
    claims_drop(f, slot);
    if (f->leases.items[slot].collects)
        collect_end(f, slot);
    lease_hold(f, slot, now);
    book_grant(f, slot);
    const struct lease *l = &f->leases.items[slot];
    if (l->row != NONE) {
        f->rows.items[l->row].granted_ns = now;
        over(f);
    }
    const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
    ops->granted(ops->self, l->id, now);
}

static void give_up(struct fleet *f, uint32_t slot)
{
    const struct lease *l = &f->leases.items[slot];
    uint32_t kept = l->gpus - l->missing;
    claims_drop(f, slot);
    book_unkeep(f, slot, kept);
    clearing_end(f, slot);
    if (l->row != NONE)
        over(f);
    for (size_t i = 0; i < l->parts.n; i++)
        nodes_out_return(f, l->parts.items[i].node, l->parts.items[i].mask);
    uncharge(f, slot);
}

void fleet_abandon(struct fleet *f, lease_id id)
{
    uint32_t slot = lease_slot(f, id);
    const struct lease *l = &f->leases.items[slot];
    assert(l->phase == LEASE_ASSEMBLING);
    if (l->collects)
        collect_abandon(f, slot);
    else
        give_up(f, slot);
    f->changes++;
    collect_serve(f);
    fleet_want_pass(f);
}
