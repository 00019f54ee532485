/* Nodes that are closed, fail and come back.
 *
 * A closed node is out of the placement index: its free GPUs are kept in out_mask, booked (nobody,
 * the state it is out for), and what comes free on it joins them. GPUs on their way there can be
 * claimed no more. A failure takes GPUs out of the middle of leases: held and draining ones are
 * charged for what they still have from then on, and a lease may be left with none at all. These
 * are rare events (a few a node and year), so they walk over all leases. */
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"
#include "sim/vec.h"

#include <assert.h>
#include <string.h>

enum hr_err nodes_out_init(struct fleet *f)
{
    f->out_state = arena_array(&f->arena, f->nodes.n, sizeof *f->out_state);
    f->out_mask = arena_array(&f->arena, f->nodes.n, sizeof *f->out_mask);
    f->spare = arena_array(&f->arena, f->nodes.n, sizeof *f->spare);
    if (!f->out_state || !f->out_mask || !f->spare)
        return HR_NOMEM;
    memset(f->out_state, GPU_STATES, f->nodes.n * sizeof *f->out_state);
    return HR_OK;
}

/* ---- looking ---- */

uint32_t fleet_nodes(const struct fleet *f)
{
    return f->nodes.n;
}

uint32_t fleet_node_gpus(const struct fleet *f, uint32_t node)
{
    return f->nodes.size[node];
}

bool fleet_node_closed(const struct fleet *f, uint32_t node)
{
    return node_closed(f, node);
}

bool fleet_node_idle(const struct fleet *f, uint32_t node)
{
    return node_closed(f, node) && f->out_mask[node] == mask_full(f->nodes.size[node]);
}

uint32_t fleet_out_gpus(const struct fleet *f)
{
    return f->n_out - f->n_spare_gpus;
}

uint32_t fleet_spares(const struct fleet *f)
{
    return f->n_spares;
}

uint32_t fleet_node_free(const struct fleet *f, uint32_t node)
{
    return nodes_idle(&f->nodes, node);
}

simtime_ns fleet_next_stop(const struct fleet *f, lease_id l, bool save)
{
    const struct lease *lease = &f->leases.items[lease_slot(f, l)];
    const struct claimant_ops *ops = &f->claimants.items[lease->claimant].ops;
    return ops->next_stop ? ops->next_stop(ops->self, l, save, fleet_now(f)) : fleet_now(f);
}

void fleet_lease_saved(struct fleet *f, lease_id l)
{
    const struct lease *lease = &f->leases.items[lease_slot(f, l)];
    for (size_t i = 0; f->watch.saved && i < lease->parts.n; i++)
        if (node_closed(f, lease->parts.items[i].node))
            f->watch.saved(f->watch.self, lease->parts.items[i].node, l);
}

static struct part *part_on(const struct lease *l, uint32_t node)
{
    for (size_t i = 0; i < l->parts.n; i++)
        if (l->parts.items[i].node == node)
            return &l->parts.items[i];
    return NULL;
}

lease_id fleet_node_next_lease(const struct fleet *f, uint32_t node, lease_id after)
{
    size_t slot = after == LEASE_NONE ? 0 : (size_t)lease_slot(f, after) + 1;
    for (; slot < f->leases.n; slot++) {
        const struct lease *l = &f->leases.items[slot];
        const struct part *p = l->phase == LEASE_HELD ? part_on(l, node) : NULL;
        if (p && p->mask)
            return l->id;
    }
    return LEASE_NONE;
}

/* ---- closing and opening ---- */

/* compute: slices that come with it. */
static void keep_out(struct fleet *f, uint32_t node, uint64_t mask, uint32_t compute)
{
    uint32_t gpus = mask_count(mask);
    assert((f->out_mask[node] & mask) == 0);
    f->out_mask[node] |= mask;
    f->n_out += gpus;
    book_out(f, GPU_FREE, (enum gpu_state)f->out_state[node], gpus, compute);
}

/* Compute slices that no instance of a node has. */
static uint32_t free_compute(const struct fleet *f, uint32_t node)
{
    return f->nodes.slices ? slices_free_compute(&f->nodes, node) : 0;
}

void nodes_out_give(struct fleet *f, uint32_t node, uint64_t mask, uint32_t compute)
{
    if (mask && node_closed(f, node)) {
        racks_free(&f->nodes.racks, node, mask_count(mask));
        keep_out(f, node, mask, compute);
    } else if (mask) {
        nodes_give(&f->nodes, node, mask);
    }
    uint32_t size = f->nodes.size[node];
    if (mask && f->watch.emptied &&
        (f->out_mask[node] == mask_full(size) || nodes_idle(&f->nodes, node) == size))
        f->watch.emptied(f->watch.self, node);
}

void nodes_out_return(struct fleet *f, uint32_t node, uint64_t mask)
{
    nodes_out_give(f, node, mask, f->nodes.slices ? slices_end(&f->nodes, node, mask) : 0);
}

static void unspare(struct fleet *f, uint32_t node)
{
    f->n_spares -= f->spare[node];
    f->n_spare_gpus -= f->spare[node] ? f->nodes.size[node] : 0;
    f->spare[node] = 0;
}

void fleet_node_close(struct fleet *f, uint32_t node, enum gpu_state state)
{
    if (node_closed(f, node)) {
        book_out(f, (enum gpu_state)f->out_state[node], state, mask_count(f->out_mask[node]),
                 free_compute(f, node));
        f->out_state[node] = (uint8_t)state;
        unspare(f, node);
        return;
    }
    collect_leave(f, node);
    if (f->nodes.slices)
        clearing_withdraw(f, node);
    f->n_unclaimed -= claims_unclaimed(f, node);
    f->n_closed++;
    uint64_t mask = nodes_close(&f->nodes, node);
    f->out_state[node] = (uint8_t)state;
    if (f->nodes.slices)
        slices_close(&f->nodes, node);
    keep_out(f, node, mask, free_compute(f, node));
    f->changes++;
    collect_withdraw(f);
}

void fleet_node_open(struct fleet *f, uint32_t node)
{
    assert(node_closed(f, node));
    uint64_t mask = f->out_mask[node];
    book_out(f, (enum gpu_state)f->out_state[node], GPU_FREE, mask_count(mask),
             free_compute(f, node));
    f->n_out -= mask_count(mask);
    f->out_mask[node] = 0;
    f->out_state[node] = GPU_STATES;
    f->n_closed--;
    unspare(f, node);
    f->n_unclaimed += claims_unclaimed(f, node);
    if (f->nodes.slices)
        slices_open(&f->nodes, node);
    nodes_open(&f->nodes, node, mask);
    f->changes++;
    fleet_want_pass(f);
}

/* ---- ending what is there ---- */

/* Gives up the assembling leases that have or await GPUs of a node. */
static void withdraw_all(struct fleet *f, uint32_t node)
{
    for (size_t slot = 0; slot < f->leases.n; slot++) {
        const struct lease *l = &f->leases.items[slot];
        if (l->phase != LEASE_ASSEMBLING || !part_on(l, node))
            continue;
        lease_id id = l->id;
        const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
        ops->withdrawn(ops->self, id, fleet_now(f));
        fleet_abandon(f, id);
    }
}

void fleet_evict(struct fleet *f, lease_id l, simtime_ns grace_ns)
{
    uint32_t slot = lease_slot(f, l);
    const struct claimant_ops *ops = &f->claimants.items[f->leases.items[slot].claimant].ops;
    ops->evict(ops->self, l, fleet_now(f), grace_ns);
    assert(f->leases.items[slot].phase != LEASE_HELD);
}

void fleet_node_drain(struct fleet *f, uint32_t node, simtime_ns grace_ns)
{
    assert(node_closed(f, node));
    withdraw_all(f, node);
    for (size_t slot = 0; slot < f->leases.n; slot++) {
        const struct lease *l = &f->leases.items[slot];
        if (l->phase != LEASE_HELD || !part_on(l, node))
            continue;
        const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
        ops->evict(ops->self, l->id, fleet_now(f), grace_ns);
        assert(f->leases.items[slot].phase != LEASE_HELD);
    }
}

/* Takes a lease's GPUs of a node out of it. */
static void lose_part(struct fleet *f, uint32_t slot, uint32_t node, enum gpu_state state)
{
    struct lease *l = &f->leases.items[slot];
    struct claimant *c = &f->claimants.items[l->claimant];
    struct part *p = part_on(l, node);
    uint64_t mask = p->mask;
    uint32_t gpus = mask_count(mask);
    clients_lose(f, l, *p);
    *p = l->parts.items[--l->parts.n];
    if (l->phase == LEASE_HELD) {
        quota_stop(f, l->claimant, gpus);
        c->held -= gpus;
        l->lost += gpus;
    } else {
        claims_retract(f, l, node, gpus);
    }
    if (l->phase != LEASE_SCRUBBING)
        quota_release(f, l->claimant, gpus);
    quota_untie(f, l->claimant, gpus);
    book_lose(f, slot, gpus, state);
    if (f->nodes.slices)
        slices_end(&f->nodes, node, mask);
    racks_free(&f->nodes.racks, node, gpus);
    f->out_mask[node] |= mask;
    f->n_out += gpus;
}

/* The slot of the lowest lease on a node; NONE: there is none. */
static uint32_t lowest_on(const struct fleet *f, uint32_t node)
{
    uint32_t lowest = NONE;
    for (uint32_t slot = 0; slot < f->leases.n; slot++) {
        const struct lease *l = &f->leases.items[slot];
        if (l->phase != LEASE_GONE && (lowest == NONE || l->id < f->leases.items[lowest].id) &&
            part_on(l, node))
            lowest = slot;
    }
    return lowest;
}

/* By number, so that the oldest lease comes first where spares do not suffice for all. */
void fleet_node_fail(struct fleet *f, uint32_t node, enum gpu_state state)
{
    fleet_node_close(f, node, state);
    withdraw_all(f, node);
    for (uint32_t slot; (slot = lowest_on(f, node)) != NONE;) {
        const struct lease *l = &f->leases.items[slot];
        const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
        bool held = l->phase == LEASE_HELD;
        lease_id id = l->id;
        lose_part(f, slot, node, state);
        if (held)
            ops->failed(ops->self, id, node, fleet_now(f));
    }
    relayout_fail(f, node, state);
    f->changes++;
    fleet_want_pass(f);
}

/* ---- hot spares ---- */

void fleet_spare_add(struct fleet *f, uint32_t node)
{
    assert(fleet_node_idle(f, node) && f->nodes.racks.n == 0);
    fleet_node_close(f, node, GPU_HELD_IDLE);
    f->spare[node] = 1;
    f->n_spares++;
    f->n_spare_gpus += f->nodes.size[node];
}

/* The lowest-numbered spare of at least so many GPUs; else the lowest. */
static uint32_t find_spare(const struct fleet *f, uint32_t gpus)
{
    uint32_t lowest = NODE_NONE;
    for (uint32_t node = 0; node < f->nodes.n && f->n_spares > 0; node++) {
        if (f->spare[node] && f->nodes.size[node] >= gpus)
            return node;
        if (f->spare[node] && lowest == NODE_NONE)
            lowest = node;
    }
    return lowest;
}

/* Gives a lease what it lacks, or all, of one spare; there is room for the part. */
static void take_spare(struct fleet *f, uint32_t slot, uint32_t node)
{
    struct lease *l = &f->leases.items[slot];
    uint32_t gpus = l->lost < f->nodes.size[node] ? l->lost : f->nodes.size[node];
    uint64_t mask = mask_lowest(f->out_mask[node], gpus);
    f->out_mask[node] &= ~mask;
    f->n_out -= gpus;
    l->parts.items[l->parts.n++] = (struct part){.node = node, .mask = mask};
    l->lost -= gpus;
    quota_charge(f, l->claimant, gpus);
    f->claimants.items[l->claimant].held += gpus;
    book_replace(f, slot, gpus);
    fleet_node_open(f, node);
}

bool fleet_replace(struct fleet *f, lease_id id, uint32_t *node)
{
    uint32_t slot = lease_slot(f, id);
    struct lease *l = &f->leases.items[slot];
    assert(l->phase == LEASE_HELD && l->lost > 0);
    if (f->n_spare_gpus < l->lost || !vec_reserve(&l->parts, l->parts.n + l->lost))
        return false;
    *node = find_spare(f, l->lost);
    while (l->lost > 0)
        take_spare(f, slot, find_spare(f, l->lost));
    return true;
}
