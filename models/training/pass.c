/* The scheduling pass of a queue.
 *
 * Order. Each tenant has a lane: its waiting jobs by (rank, number). The rank is 0 (fifo), the aged
 * priority (priority: submit time / age - priority, which two jobs keep between them however long
 * they wait), or the estimated run time left (shortest). The next job is the least head of the
 * lanes by (rank, number); with fair share that of the tenant with the least share, ties by number.
 * The backlog is a lane behind all others. A preempted job comes back with its old number and
 * submit time.
 *
 * A job tries its tenant's pools in order of preference: free GPUs in each, then reclaimed ones.
 * Where quota alone refuses it in every pool, although there are enough free GPUs, its tenant is
 * passed over for this pass (without backfill) or it alone (with backfill, up to backfill_depth of
 * them), and the others go on. Where GPUs are missing or wrongly placed it is the blocked head, and
 * the backfill kind says what may happen behind it (backfill.c): nothing; whatever fits; what does
 * not delay it.
 *
 * Reservations. With reserve_gpus a job that large whose turn it is and that cannot start, for want
 * of room or of quota, collects GPUs instead (collect.c): it has left the order, keeps what comes
 * free, and the others go on with what is left, whatever the backfill kind. One job of a tenant
 * collects at a time, so that the next of them is still chosen by the order; the backlog, which
 * takes what is left, never does. A job that collects evicts nobody any more.
 *
 * After a pass each class of waiting gangs has its reason (why.h). */
#include "models/training/queue_internal.h"

#include <assert.h>
#include <math.h>

/* Shares that differ relatively by less are equal: they are sums and quotients of doubles. */
#define ROUNDING 1e-12

/* ---- lanes, the least head on top ---- */

static bool is_backlog(const struct training *t, uint32_t lane)
{
    return lane == t->n_tenants;
}

static const struct waiting_item *head(struct training *t, uint32_t lane)
{
    return waiting_at(&t->lanes[lane].list, &t->lanes[lane].at);
}

static bool less(struct training *t, uint32_t a, uint32_t b)
{
    if (is_backlog(t, a) || is_backlog(t, b))
        return is_backlog(t, b) && !is_backlog(t, a);
    if (t->plan->order == ORDER_FAIR_SHARE) {
        double share_a = t->lanes[a].share, share_b = t->lanes[b].share;
        if (fabs(share_a - share_b) > ROUNDING * (share_a + share_b))
            return share_a < share_b;
    }
    const struct waiting_item *x = head(t, a), *y = head(t, b);
    return x->rank != y->rank ? x->rank < y->rank : x->number < y->number;
}

static void sift_down(struct walk *w, uint32_t i)
{
    uint32_t lane = w->heap[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= w->n)
            break;
        if (child + 1 < w->n && less(w->t, w->heap[child + 1], w->heap[child]))
            child++;
        if (!less(w->t, w->heap[child], lane))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = lane;
}

void walk_bar(struct walk *w)
{
    w->heap[0] = w->heap[--w->n];
    if (w->n > 0)
        sift_down(w, 0);
}

/* Puts lanes with shares as they are now into their order. */
static void arrange(struct walk *w)
{
    struct training *t = w->t;
    for (uint32_t i = 0; i < w->n && t->plan->order == ORDER_FAIR_SHARE; i++)
        if (!is_backlog(t, w->heap[i]))
            t->lanes[w->heap[i]].share = shares_of(&t->shares, w->heap[i], w->now);
    for (uint32_t i = w->n / 2; i-- > 0;)
        sift_down(w, i);
}

static void walk_begin(struct walk *w, struct training *t, simtime_ns now)
{
    *w = (struct walk){.t = t, .heap = t->heap, .now = now};
    for (uint32_t i = 0; i <= t->n_tenants; i++) {
        struct lane *lane = &t->lanes[i];
        lane->at = (struct waiting_place){0, 0};
        if (lane->list.n == 0 && !(is_backlog(t, i) && t->backlog.active))
            continue;
        w->heap[w->n++] = i;
    }
    arrange(w);
}

bool walk_top(struct walk *w, uint32_t *g)
{
    struct training *t = w->t;
    while (w->n > 0 && t->error == HR_OK) {
        uint32_t lane = w->heap[0];
        const struct waiting_item *item = head(t, lane);
        if (!item && is_backlog(t, lane) && intake_draw(t, w->now))
            item = head(t, lane);
        if (item) {
            *g = item->gang;
            return true;
        }
        walk_bar(w);
    }
    return false;
}

/* The top lane's place or share has changed. */
static void settle(struct walk *w)
{
    uint32_t lane = w->heap[0];
    if (!head(w->t, lane) && !is_backlog(w->t, lane))
        walk_bar(w);
    else
        sift_down(w, 0);
}

void walk_skip(struct walk *w)
{
    w->t->lanes[w->heap[0]].at.item++;
    settle(w);
}

/* ---- one start ---- */

static void take_out(struct walk *w, uint32_t g)
{
    struct training *t = w->t;
    struct lane *lane = &t->lanes[w->heap[0]];
    struct gang *gang = &t->gangs.items[g];
    waiting_remove(&lane->list, &lane->at);
    why_end(&t->why, gang->class, w->now, gang->blocked_at, gang->row.blocked_ns);
    t->blocked.known = false;
}

/* The top lane goes on behind a gang that has been taken out. */
static void follow(struct walk *w)
{
    struct training *t = w->t;
    uint32_t lane = w->heap[0];
    if (t->plan->order == ORDER_FAIR_SHARE && !is_backlog(t, lane))
        t->lanes[lane].share = shares_of(&t->shares, lane, w->now);
    settle(w);
}

enum grant pass_acquire(struct walk *w, uint32_t g, uint32_t pool)
{
    struct training *t = w->t;
    const struct ask ask = gang_ask(t, g);
    lease_id l;
    enum grant grant =
        fleet_acquire(t->pools[pool].fleet, gang_claimant(t, g), &ask, gang_first_state(t, g), &l);
    if (grant == GRANT_FAILED)
        training_fail(t, HR_NOMEM);
    if (grant != GRANT_OK)
        return grant;
    take_out(w, g);
    gang_start(t, g, pool, l, w->now);
    follow(w);
    return GRANT_OK;
}

/* It has an assembling lease, for a reason: the others of its lane come next. */
static void assemble(struct walk *w, uint32_t g, enum block_reason reason)
{
    struct gang *gang = &w->t->gangs.items[g];
    gang->asked_ns = w->now;
    gang->assembles = reason;
    take_out(w, g);
    follow(w);
}

/* The head takes back what is its own. Its demand is seen at once: no time of detection. */
static bool reclaim(struct walk *w, uint32_t g, uint32_t pool)
{
    struct training *t = w->t;
    const struct ask ask = gang_ask(t, g);
    lease_id l;
    t->gangs.items[g].state = GANG_ASSEMBLING;
    enum grant grant = fleet_reclaim(t->pools[pool].fleet, gang_claimant(t, g), &ask, 0, &l);
    if (grant == GRANT_FAILED)
        training_fail(t, HR_NOMEM);
    if (grant != GRANT_OK) {
        t->gangs.items[g].state = GANG_WAITING;
        return false;
    }
    assemble(w, g, BLOCK_PREEMPTION);
    if (t->plan->order == ORDER_FAIR_SHARE)
        arrange(w); /* victims may have been other tenants' of the queue */
    return true;
}

static enum block_reason reason_to_collect(const struct fleet *f, const struct shape *shape)
{
    switch (fleet_fit(f, shape)) {
    case GRANT_OK:
        return BLOCK_QUOTA;
    case GRANT_SHAPE:
        return BLOCK_SHAPE;
    case GRANT_TOPOLOGY:
        return BLOCK_TOPOLOGY;
    default:
        return BLOCK_COUNT;
    }
}

/* The head is large and cannot start: it keeps what comes free. */
static bool collect(struct walk *w, uint32_t g, uint32_t pool)
{
    struct training *t = w->t;
    struct gang *gang = &t->gangs.items[g];
    struct tenant *tenant = &t->tenants[gang->tenant];
    struct fleet *f = t->pools[pool].fleet;
    if (t->plan->reserve_gpus == 0 || gang->row.gpus < t->plan->reserve_gpus || gang->row.backlog ||
        tenant->collecting != NO_GANG)
        return false;
    const struct ask ask = gang_ask(t, g);
    enum block_reason reason = reason_to_collect(f, &ask.shape);
    lease_id l;
    enum grant grant = fleet_collect(f, tenant->claimant, &ask, &l);
    if (grant == GRANT_FAILED)
        training_fail(t, HR_NOMEM);
    if (grant != GRANT_OK)
        return false;
    gang->state = GANG_ASSEMBLING;
    tenant->collecting = g;
    assemble(w, g, reason);
    return true;
}

enum attempt { STARTED, REFUSED_BY_QUOTA, NO_ROOM };

/* Where a queue has one tenant nobody can go before its head on account of quota: it waits for its
 * own gangs to end as for any other. */
static bool lacks_room(const struct training *t, uint32_t g, uint32_t pool, enum grant grant)
{
    if (grant == GRANT_QUOTA)
        return t->n_tenants == 1 ||
               fleet_free_gpus(t->pools[pool].fleet) < t->gangs.items[g].row.gpus;
    return grant == GRANT_ROOM || grant == GRANT_SHAPE || grant == GRANT_TOPOLOGY;
}

/* Free GPUs of the first pool that has them, else reclaimed ones; *pool: the first that lacks room,
 * else the first that could ever hold it. */
static enum attempt try_start(struct walk *w, uint32_t g, uint32_t *pool)
{
    struct training *t = w->t;
    const struct tenant_plan *tenant = t->tenants[t->gangs.items[g].tenant].plan;
    enum grant grants[POOLS_MAX];
    bool room = false, some = false;
    for (uint32_t i = 0; i < tenant->n_pools; i++) {
        grants[i] = pass_acquire(w, g, tenant->pools[i].pool);
        if (grants[i] == GRANT_OK || grants[i] == GRANT_FAILED)
            return STARTED;
        bool lacks = lacks_room(t, g, tenant->pools[i].pool, grants[i]);
        if ((lacks && !room) || (grants[i] != GRANT_NEVER && !some))
            *pool = tenant->pools[i].pool;
        room = room || lacks;
        some = some || grants[i] != GRANT_NEVER;
    }
    for (uint32_t i = 0; i < tenant->n_pools; i++) {
        /* also where quota refused: GPUs that others do not lend are taken back as well */
        if (grants[i] != GRANT_NEVER && reclaim(w, g, tenant->pools[i].pool))
            return STARTED;
    }
    return room ? NO_ROOM : REFUSED_BY_QUOTA;
}

/* ---- why the others wait ---- */

/* A pool as a tenant finds it: the classes of a tenant stand together. */
struct outlook {
    const struct fleet *f;
    uint32_t claimant;
    uint64_t free, coming, out;
};

static struct outlook outlook(const struct training *t, const struct tenant *tenant,
                              uint32_t choice)
{
    const struct fleet *f = t->pools[tenant->plan->pools[choice].pool].fleet;
    return (struct outlook){
        .f = f,
        .claimant = tenant->claimant,
        .free = fleet_free_gpus(f),
        .coming = fleet_coming_gpus(f),
        .out = fleet_out_gpus(f),
    };
}

static enum block_reason reason_in(const struct outlook *o, const struct shape *shape)
{
    if (shape->gpus > o->free) { /* a full pool keeps it waiting, whatever its tenant may hold */
        if (shape->gpus <= o->free + o->coming)
            return BLOCK_PREEMPTION;
        return shape->gpus <= o->free + o->coming + o->out ? BLOCK_SUPPLY : BLOCK_COUNT;
    }
    if (shape->gpus > fleet_headroom(o->f, o->claimant) ||
        shape->gpus > fleet_lent(o->f, o->claimant))
        return BLOCK_QUOTA;
    enum grant fit = fleet_fit(o->f, shape);
    return fit == GRANT_OK ? BLOCK_ORDER : fit == GRANT_TOPOLOGY ? BLOCK_TOPOLOGY : BLOCK_SHAPE;
}

/* The reason in the first pool where it is not quota. */
static enum block_reason reason_of(const struct training *t, const struct why_class *c,
                                   const struct outlook *preferred)
{
    const struct tenant *tenant = &t->tenants[c->tenant];
    const struct shape shape = {c->gpus, t->plan->placement};
    enum block_reason reason = reason_in(preferred, &shape);
    for (uint32_t i = 1; i < tenant->plan->n_pools && reason == BLOCK_QUOTA; i++) {
        struct outlook o = outlook(t, tenant, i);
        reason = reason_in(&o, &shape);
    }
    return reason;
}

static void say_why(struct training *t, simtime_ns now)
{
    struct outlook preferred = {0};
    uint32_t tenant = UINT32_MAX;
    for (size_t i = 0; i < t->why.n; i++) {
        struct why_class *c = &t->why.items[t->why.order[i]];
        if (c->n == 0)
            continue;
        if (c->tenant != tenant) {
            tenant = c->tenant;
            preferred = outlook(t, &t->tenants[tenant], 0);
        }
        enum block_reason reason = reason_of(t, c, &preferred);
        if (reason != c->reason)
            why_set(c, reason, now);
    }
}

/* ---- the pass ---- */

static void run(struct training *t, simtime_ns now)
{
    struct walk w;
    uint32_t g, pool = 0, skips = t->plan->backfill == BACKFILL_NONE ? 0 : t->plan->backfill_depth;
    walk_begin(&w, t, now);
    while (walk_top(&w, &g)) {
        enum attempt attempt = try_start(&w, g, &pool);
        if (t->error != HR_OK)
            return;
        if (attempt == STARTED || collect(&w, g, pool))
            continue;
        if (attempt == NO_ROOM) {
            backfill_run(&w, g, pool);
            return;
        }
        if (skips == 0 || t->gangs.items[g].row.backlog) {
            walk_bar(&w);
        } else {
            walk_skip(&w);
            skips--;
        }
    }
}

void pass_run(void *self, simtime_ns now)
{
    struct training *t = ((const struct seat *)self)->training;
    run(t, now);
    say_why(t, now);
}
