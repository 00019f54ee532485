/* fleet_consistent: every number the fleet keeps, counted again from the leases. */
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"

#include <string.h>

/* Each GPU of a lease is in it alone; the set has the size it should have. */
static bool see_parts(const struct fleet *f, const struct lease *l)
{
    uint32_t gpus = 0;
    for (size_t i = 0; i < l->parts.n; i++) {
        const struct part *p = &l->parts.items[i];
        if (f->seen[p->node] & p->mask)
            return false;
        f->seen[p->node] |= p->mask;
        gpus += mask_count(p->mask);
    }
    return gpus == l->gpus - (l->phase == LEASE_ASSEMBLING ? l->missing : 0);
}

/* Free GPUs and those of leases make up each node. */
static bool masks_agree(const struct fleet *f)
{
    const uint64_t *withheld = f->nodes.racks.withheld;
    for (uint32_t node = 0; node < f->nodes.n; node++)
        f->seen[node] = f->nodes.free_mask[node] | f->out_mask[node] |
                        (withheld ? withheld[node] : 0) |
                        (f->nodes.slices ? slices_laying(&f->nodes, node) : 0);
    for (size_t i = 0; i < f->leases.n; i++)
        if (f->leases.items[i].phase != LEASE_GONE && !see_parts(f, &f->leases.items[i]))
            return false;
    for (uint32_t node = 0; node < f->nodes.n; node++)
        if (f->seen[node] != mask_full(f->nodes.size[node]))
            return false;
    return true;
}

/* Where the ledger should have so many of a lease, ready ones as held_idle. */
static void expect(const struct fleet *f, const struct lease *l, uint32_t n)
{
    size_t owner = (size_t)(l->claimant + 1) * GPU_STATES;
    size_t idle = owner + GPU_HELD_IDLE;
    if (l->phase == LEASE_SCRUBBING)
        f->expected.items[l->reconfigures ? GPU_RECONFIGURING : GPU_SCRUBBING] += n;
    else if (l->phase == LEASE_ASSEMBLING)
        f->expected.items[idle] += n;
    else
        f->expected.items[l->state == GPU_SERVING ? idle : owner + l->state] += n;
}

static void expect_nodes(const struct fleet *f, bool compute)
{
    uint32_t free = compute ? 0 : f->nodes.n_free + f->nodes.racks.n_withheld;
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        uint32_t slices = compute ? slices_free_compute(&f->nodes, node) : 0;
        if (f->nodes.slices) {
            uint32_t laying = mask_count(slices_laying(&f->nodes, node));
            const struct slices *s = f->nodes.slices;
            f->expected.items[GPU_RECONFIGURING] +=
                compute ? laying / s->stride * s->t->gpu.compute : laying;
        }
        if (node_closed(f, node))
            f->expected.items[f->out_state[node]] +=
                compute ? slices : mask_count(f->out_mask[node]);
        else
            free += slices;
    }
    uint32_t stranded = compute ? f->stranded_compute : f->stranded;
    f->expected.items[GPU_STRANDED] += stranded;
    f->expected.items[GPU_FREE] += free - stranded;
}

static void expect_claimants(const struct fleet *f, bool compute)
{
    for (size_t i = 0; i < f->claimants.n; i++) {
        const struct claimant *c = &f->claimants.items[i];
        uint64_t *account = &f->expected.items[(i + 1) * GPU_STATES];
        uint32_t serving = c->serving;
        if (compute)
            serving = c->slice_memory ? c->serving / c->slice_memory * c->slice_compute : 0;
        account[GPU_HELD_IDLE] -= serving;
        account[GPU_SERVING] += serving;
    }
}

static bool ledger_agrees(const struct fleet *f, const struct ledger *ledger, bool compute)
{
    size_t owners = f->claimants.n + 1;
    memset(f->expected.items, 0, owners * GPU_STATES * sizeof *f->expected.items);
    expect_nodes(f, compute);
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *l = &f->leases.items[i];
        uint32_t missing = l->phase == LEASE_ASSEMBLING ? l->missing : 0;
        if (l->phase != LEASE_GONE)
            expect(f, l, !compute ? l->gpus - missing : l->clears ? 0 : l->compute);
    }
    expect_claimants(f, compute);
    for (uint32_t owner = 0; owner < owners; owner++)
        for (int s = 0; s < GPU_STATES; s++)
            if (ledger_shares(ledger, owner, (enum gpu_state)s) !=
                f->expected.items[(size_t)owner * GPU_STATES + (size_t)s])
                return false;
    return true;
}

static bool claimant_agrees(const struct fleet *f, uint32_t number)
{
    struct claimant want = {0};
    uint32_t n[QUOTA_COUNTS] = {0};
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *l = &f->leases.items[i];
        if (l->phase == LEASE_GONE || l->claimant != number)
            continue;
        bool held = l->phase == LEASE_HELD, stands = held || l->phase == LEASE_ASSEMBLING;
        bool serving = l->state == GPU_SERVING, ready = serving || l->state == GPU_HELD_IDLE;
        uint32_t has = l->gpus - (l->collects ? l->missing : 0);
        n[QUOTA_TIED] += has;
        n[QUOTA_USAGE] += l->phase != LEASE_SCRUBBING ? has : 0;
        n[QUOTA_PROMISED] += l->phase != LEASE_SCRUBBING ? has + l->promised : 0;
        n[QUOTA_STANDING] += stands ? has : 0;
        want.held += held ? l->gpus : 0;
        want.ready += held && ready ? l->gpus : 0;
        want.set_serving += held && serving ? l->gpus : 0;
    }
    const struct claimant *c = &f->claimants.items[number];
    uint32_t serving = c->busy == NONE ? c->set_serving : c->busy < c->ready ? c->busy : c->ready;
    uint32_t linked = 0;
    for (uint32_t s = c->first_held; s != NONE; s = f->leases.items[s].next)
        linked += f->leases.items[s].gpus;
    for (int k = 0; k < QUOTA_COUNTS; k++)
        if (n[k] != quota_count(f, number, (enum quota_count)k))
            return false;
    return want.held == c->held && linked == c->held && want.ready == c->ready &&
           want.set_serving == c->set_serving && serving == c->serving;
}

/* Incoming GPUs of a node, all and evicted ones, in one word. */
static void count_incoming(const struct fleet *f)
{
    memset(f->seen, 0, f->nodes.n * sizeof *f->seen);
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *l = &f->leases.items[i];
        if (l->phase != LEASE_DRAINING && l->phase != LEASE_SCRUBBING)
            continue;
        for (size_t p = 0; p < l->parts.n; p++) {
            uint64_t gpus = mask_count(l->parts.items[p].mask);
            f->seen[l->parts.items[p].node] += gpus | (l->evicted ? gpus << 32 : 0);
        }
    }
}

static bool claims_agree(const struct fleet *f)
{
    uint32_t n_incoming = 0, n_claimed = 0, n_missing = 0, n_unclaimed = 0;
    count_incoming(f);
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        uint32_t claimed = 0;
        for (uint32_t ix = f->first_claim[node]; ix != NONE; ix = f->claims.items[ix].next)
            claimed += f->claims.items[ix].gpus;
        uint64_t incoming = f->incoming[node] | (uint64_t)f->incoming_evicted[node] << 32;
        if (claimed != f->claimed[node] || incoming != f->seen[node] || claimed > f->incoming[node])
            return false;
        n_incoming += f->incoming[node];
        n_unclaimed += claims_unclaimed(f, node);
        n_claimed += claimed;
    }
    for (size_t i = 0; i < f->leases.n; i++)
        if (f->leases.items[i].phase == LEASE_ASSEMBLING && !f->leases.items[i].collects)
            n_missing += f->leases.items[i].missing;
    return n_incoming == f->n_incoming && n_claimed == f->n_claimed && n_missing == n_claimed &&
           n_unclaimed == f->n_unclaimed;
}

/* A closed node has nothing free, an open one nothing out; the counts of both. */
static bool out_agrees(const struct fleet *f)
{
    uint32_t n_out = 0, n_spares = 0, n_spare_gpus = 0, n_closed = 0;
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        bool closed = node_closed(f, node);
        if (closed ? nodes_idle(&f->nodes, node) != 0 : f->out_mask[node] != 0)
            return false;
        if (f->spare[node] && f->out_mask[node] != mask_full(f->nodes.size[node]))
            return false;
        n_out += mask_count(f->out_mask[node]);
        n_spares += f->spare[node];
        n_spare_gpus += f->spare[node] ? f->nodes.size[node] : 0;
        n_closed += closed;
    }
    return n_out == f->n_out && n_spares == f->n_spares && n_spare_gpus == f->n_spare_gpus &&
           n_closed == f->n_closed;
}

bool fleet_consistent(const struct fleet *f)
{
    for (uint32_t i = 0; i < f->claimants.n; i++)
        if (!claimant_agrees(f, i))
            return false;
    return quota_consistent(f) && nodes_consistent(&f->nodes) && masks_agree(f) &&
           ledger_agrees(f, f->ledger, false) &&
           (!f->compute || ledger_agrees(f, f->compute, true)) && claims_agree(f) &&
           out_agrees(f) && clients_consistent(f) && (!f->nodes.slices || clearing_consistent(f));
}
