/* The scheduling pass: first come, first served, and EASY backfill.
 *
 * A pass starts gangs from the head until one does not fit. Without backfill that is all. With EASY
 * backfill the blocked head gets a reservation (reservation.h) and the next BACKFILL_DEPTH recorded
 * jobs, then the next BACKLOG_DEPTH gangs of the backlog are tried in order: one starts if it fits
 * now and either ends by the reservation or uses only GPUs that the head leaves. Reservations count
 * GPUs; whether a gang fits by shape is decided by the fleet when it starts. A pass that started
 * nothing is not repeated before the free or coming GPUs, the usage or the gangs of this queue
 * change.
 *
 * BACKFILL_DEPTH is the number of jobs that Slurm's main scheduling logic looks at by default
 * (default_queue_depth, slurm.conf). The backlog holds at most BACKLOG_DEPTH gangs that have never
 * started, one without backfill: the next is drawn when a former one has started. */
#include "models/training/queue_internal.h"

#include <assert.h>

enum { BACKFILL_DEPTH = 100, BACKLOG_DEPTH = 32 };

/* ---- one start ---- */

/* Where a gang would run: the pool that its tenant prefers. */
struct place {
    uint32_t pool, claimant;
    struct fleet *fleet;
};

static struct place place_of(const struct training *t, uint32_t g)
{
    uint32_t tenant = t->gangs.items[g].tenant, pool = tenant_pool(t, tenant);
    return (struct place){pool, t->tenants[tenant].claimant, t->pools[pool].fleet};
}

static void take_out(struct training *t, struct waiting *queue, size_t place)
{
    const struct gang *gang = &t->gangs.items[waiting_at(queue, place)];
    demand_remove(&t->demand, gang->share, gang->row.gpus);
    waiting_remove(queue, place);
    t->blocked.known = false;
}

static bool acquire(struct training *t, struct waiting *queue, size_t place, simtime_ns now,
                    enum grant *grant)
{
    uint32_t g = waiting_at(queue, place);
    const struct place s = place_of(t, g);
    const struct ask ask = {
        .shape = gang_shape(t, g), .tag = g, .submit_ns = t->gangs.items[g].row.submit_ns};
    lease_id l;
    *grant = fleet_acquire(s.fleet, s.claimant, &ask, gang_first_state(t, g), &l);
    if (*grant == GRANT_FAILED)
        training_fail(t, HR_NOMEM);
    if (*grant != GRANT_OK)
        return false;
    take_out(t, queue, place);
    gang_start(t, g, s.pool, l, now);
    return true;
}

/* The head takes back what is its own. Its demand is seen at once: no time of detection. */
static bool reclaim(struct training *t, struct waiting *queue)
{
    uint32_t g = waiting_at(queue, 0);
    const struct place s = place_of(t, g);
    const struct ask ask = {
        .shape = gang_shape(t, g), .tag = g, .submit_ns = t->gangs.items[g].row.submit_ns};
    t->gangs.items[g].state = GANG_ASSEMBLING;
    lease_id l;
    enum grant grant = fleet_reclaim(s.fleet, s.claimant, &ask, 0, &l);
    if (grant == GRANT_FAILED)
        training_fail(t, HR_NOMEM);
    if (grant != GRANT_OK) {
        t->gangs.items[g].state = GANG_WAITING;
        return false;
    }
    take_out(t, queue, 0);
    return true;
}

/* The queue whose first gang is next; NULL when nothing waits. */
static struct waiting *head_queue(struct training *t, simtime_ns now)
{
    if (t->jobs.n > 0)
        return &t->jobs;
    if (t->behind.n == 0 && !intake_draw(t, now))
        return NULL;
    return &t->behind;
}

/* ---- EASY backfill ---- */

struct backfill {
    simtime_ns now;
    struct place at; /* of the head: GPUs are counted there */
    struct reservation head;
    uint64_t available; /* GPUs that this queue could take now, by count */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t available(const struct place *at)
{
    uint32_t usage = fleet_usage(at->fleet, at->claimant);
    uint32_t ceiling = fleet_quota(at->fleet, at->claimant)->ceiling_gpus;
    return smaller(fleet_free_gpus(at->fleet), ceiling > usage ? ceiling - usage : 0);
}

/* The same once the teardowns and scrubs that are under way are over. */
static uint64_t available_soon(const struct training *t, const struct place *at)
{
    uint64_t free = (uint64_t)fleet_free_gpus(at->fleet) + fleet_coming_gpus(at->fleet);
    uint64_t usage = fleet_usage(at->fleet, at->claimant) -
                     ledger_shares(t->pools[at->pool].ledger, at->claimant + 1, GPU_DRAINING);
    uint64_t ceiling = fleet_quota(at->fleet, at->claimant)->ceiling_gpus;
    return smaller(free, ceiling > usage ? ceiling - usage : 0);
}

/* Tries the gangs of a queue from a place on, up to depth of those that do not start. */
static void backfill_from(struct training *t, struct waiting *queue, size_t place, size_t depth,
                          struct backfill *b)
{
    for (size_t end = place + depth; place < end && b->available > 0 && t->error == HR_OK;) {
        if (place >= queue->n && (queue == &t->jobs || !intake_draw(t, b->now)))
            break;
        uint32_t g = waiting_at(queue, place);
        uint32_t gpus = t->gangs.items[g].row.gpus;
        bool in_time = sim_time_add(b->now, gang_estimate(t, g)) <= b->head.at;
        enum grant grant;
        if (gpus > b->available || !(in_time || gpus <= b->head.extra) ||
            !acquire(t, queue, place, b->now, &grant)) {
            place++;
            continue;
        }
        if (!in_time)
            b->head.extra -= gpus;
        b->available = available(&b->at);
    }
}

static void backfill(struct training *t, const struct waiting *head, simtime_ns now)
{
    uint32_t g = waiting_at(head, 0);
    const struct place at = place_of(t, g);
    const struct blocked now_is = {true, fleet_free_gpus(at.fleet), fleet_coming_gpus(at.fleet),
                                   fleet_usage(at.fleet, at.claimant)};
    const struct blocked *seen = &t->blocked;
    if (seen->known && seen->free_gpus == now_is.free_gpus &&
        seen->coming_gpus == now_is.coming_gpus && seen->usage == now_is.usage)
        return;
    uint32_t need = t->gangs.items[g].row.gpus;
    struct backfill b = {.now = now, .at = at, .available = available(&at)};
    b.head = reservation_make(&t->ends, now, b.available, available_soon(t, &at), need);
    backfill_from(t, &t->jobs, head == &t->jobs, BACKFILL_DEPTH, &b);
    backfill_from(t, &t->behind, head == &t->behind, BACKLOG_DEPTH, &b);
    t->blocked = (struct blocked){true, fleet_free_gpus(at.fleet), fleet_coming_gpus(at.fleet),
                                  fleet_usage(at.fleet, at.claimant)};
}

/* ---- the pass ---- */

void pass_run(void *self, simtime_ns now)
{
    struct training *t = ((const struct seat *)self)->training;
    struct waiting *head;
    while (t->error == HR_OK && (head = head_queue(t, now)) != NULL) {
        enum grant grant;
        if (acquire(t, head, 0, now, &grant))
            continue;
        assert(grant != GRANT_NEVER); /* refused at submit */
        if (grant != GRANT_FAILED && reclaim(t, head)) /* also GPUs that others do not lend */
            continue;
        if (t->plan->backfill == BACKFILL_EASY)
            backfill(t, head, now);
        return;
    }
}
