/* Stopping a lease, evicted or by its own claimant's wish: the same stages.
 *
 *     held --fleet_stop_at--> draining until at, then teardown (draining) --> scrubbing --> gone
 *                             charged to its claimant                        no owner
 *
 * With MIG the change of the instance follows the scrub (reconfiguring, no owner).
 *
 * The lengths of teardown and scrub are drawn when the lease stops, from the claimant's own
 * streams, so the n-th stop of a claimant takes the same times in every design. */
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"

#include <assert.h>

void fleet_stop_at(struct fleet *f, lease_id id, simtime_ns at, simtime_ns checkpoint_ns)
{
    uint32_t slot = lease_slot(f, id);
    struct lease *l = &f->leases.items[slot];
    struct claimant *c = &f->claimants.items[l->claimant];
    simtime_ns now = fleet_now(f);
    assert(l->phase == LEASE_HELD && at >= now && checkpoint_ns <= at - now);
    if (l->base != LEASE_NONE && f->leases.items[lease_slot(f, l->base)].evicted)
        l->evicted = true; /* what it extends is, and takes it along */
    lease_unhold(f, slot);
    if (at == now)
        clients_rest(f, l);
    book_state(f, slot, GPU_DRAINING);
    quota_stop(f, l->claimant, l->gpus);
    l->phase = LEASE_DRAINING;
    l->save_ns = at - checkpoint_ns;
    l->stop_ns = at;
    l->teardown_end_ns = sim_time_add(at, dist_draw(&f->plan.teardown, &c->teardown));
    l->scrub_end_ns = sim_time_add(l->teardown_end_ns, dist_draw(&f->plan.scrub, &c->scrub));
    claims_announce(f, slot);
    engine_schedule(f->engine, l->timer, l->teardown_end_ns);
    f->changes++;
    if (!f->in_pass)
        fleet_want_pass(f); /* its GPUs can be claimed */
}

static void stop_sooner(struct fleet *f, struct lease *l, simtime_ns checkpoint_ns)
{
    simtime_ns now = fleet_now(f), sooner = l->stop_ns - now;
    assert(l->phase == LEASE_DRAINING && l->stop_ns >= now);
    l->stop_ns = now;
    l->save_ns = now - checkpoint_ns;
    l->teardown_end_ns -= sooner;
    l->scrub_end_ns -= sooner;
    engine_schedule(f->engine, l->timer, l->teardown_end_ns);
}

void fleet_stop_sooner(struct fleet *f, lease_id id, bool extensions, simtime_ns checkpoint_ns)
{
    stop_sooner(f, &f->leases.items[lease_slot(f, id)], checkpoint_ns);
    for (size_t i = 0; extensions && i < f->leases.n; i++) {
        struct lease *l = &f->leases.items[i];
        if (l->base == id && l->phase == LEASE_DRAINING && l->stop_ns > fleet_now(f))
            stop_sooner(f, l, checkpoint_ns);
    }
}

static void teardown_over(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
    f->frees++;
    clients_rest(f, l);
    book_release(f, slot);
    quota_release(f, l->claimant, l->gpus);
    l->phase = LEASE_SCRUBBING;
    engine_schedule(f->engine, l->timer, l->scrub_end_ns);
    fleet_want_pass(f); /* its claimant may be under its ceiling again */
    if (ops->released)
        ops->released(ops->self, l->id, fleet_now(f));
}

/* With MIG the instance is destroyed and the next one made before its slices are free. */
static void scrub_over(struct fleet *f, uint32_t slot)
{
    const struct lease *l = &f->leases.items[slot];
    if (f->nodes.slices && !l->reconfigures && l->gpus > 0) {
        simtime_ns change_ns = slices_reconfigure_ns(&f->nodes, &l->parts.items[0]);
        if (change_ns > 0) {
            book_reconfigure(f, slot);
            engine_schedule(f->engine, l->timer, sim_time_add(fleet_now(f), change_ns));
            return;
        }
    }
    f->frees++;
    book_clean(f, slot);
    quota_untie(f, l->claimant, l->gpus);
    claims_arrive(f, slot);
    lease_drop(f, slot);
    fleet_want_pass(f);
}

void stop_stage_over(struct fleet *f, uint32_t slot)
{
    if (f->leases.items[slot].phase == LEASE_DRAINING)
        teardown_over(f, slot);
    else
        scrub_over(f, slot);
}
