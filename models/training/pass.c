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
 * Running elastic gangs grow before the backlog starts, or after all else (extension.c).
 *
 * After a pass each class of waiting gangs has its reason (why.h). */
#include "models/training/queue_internal.h"

#include <float.h>
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

static bool less(const struct turn *a, const struct turn *b)
{
    if (fabs(a->share - b->share) > ROUNDING * (a->share + b->share))
        return a->share < b->share;
    return a->rank != b->rank ? a->rank < b->rank : a->number < b->number;
}

static void sift_down(struct walk *w, uint32_t i)
{
    const struct turn turn = w->heap[i];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= w->n)
            break;
        if (child + 1 < w->n && less(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!less(&w->heap[child], &turn))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = turn;
}

/* Makes a heap of the lanes below the top one. */
static void arrange_below(struct walk *w)
{
    for (uint32_t i = w->n / 2; i-- > 1;)
        sift_down(w, i);
    w->arranged = true;
}

/* The lane on top may have to go down. */
static void settle_top(struct walk *w)
{
    if (!w->arranged)
        arrange_below(w);
    sift_down(w, 0);
}

void walk_bar(struct walk *w)
{
    w->heap[0] = w->heap[--w->n];
    if (w->n > 0)
        settle_top(w);
}

/* What fair share goes by: the backlog comes behind everybody. */
static double share_of(struct training *t, uint32_t lane, simtime_ns now)
{
    if (is_backlog(t, lane))
        return DBL_MAX;
    return t->plan->order == ORDER_FAIR_SHARE ? shares_of(&t->shares, lane, now) : 0;
}

/* Adds a lane, on top where it comes before all others: most passes ask for no other. */
static void add(struct walk *w, struct turn turn)
{
    uint32_t i = w->n++;
    w->heap[i] = turn;
    if (i > 0 && less(&turn, &w->heap[0])) {
        w->heap[i] = w->heap[0];
        w->heap[0] = turn;
    }
}

static void walk_begin(struct walk *w, struct training *t, simtime_ns now)
{
    *w = (struct walk){.t = t, .heap = t->heap, .now = now};
    for (uint32_t i = 0; i <= t->n_tenants; i++) {
        struct lane *lane = &t->lanes[i];
        lane->at = (struct waiting_place){0, 0};
        const struct waiting_item *item = head(t, i);
        if (item)
            add(w, (struct turn){share_of(t, i, now), item->rank, item->number, i});
        else if (is_backlog(t, i) && t->backlog.active)
            add(w, (struct turn){DBL_MAX, 0, 0, i});
    }
}

bool walk_top(struct walk *w, struct waiting_item *top)
{
    struct training *t = w->t;
    while (w->n > 0 && t->error == HR_OK) {
        uint32_t lane = w->heap[0].lane;
        const struct waiting_item *item = head(t, lane);
        if (!item && is_backlog(t, lane) && intake_draw(t, w->now))
            item = head(t, lane);
        if (item) {
            *top = *item;
            return true;
        }
        walk_bar(w);
    }
    return false;
}

/* The top lane's place has changed. */
static void settle(struct walk *w)
{
    struct turn *top = &w->heap[0];
    const struct waiting_item *item = head(w->t, top->lane);
    if (item) {
        top->rank = item->rank;
        top->number = item->number;
        settle_top(w);
    } else if (!is_backlog(w->t, top->lane)) {
        walk_bar(w);
    }
}

void walk_skip(struct walk *w)
{
    w->t->lanes[w->heap[0].lane].at.item++;
    settle(w);
}

/* ---- one start ---- */

static void take_out(struct walk *w, uint32_t g)
{
    struct training *t = w->t;
    struct lane *lane = &t->lanes[w->heap[0].lane];
    struct gang *gang = &t->gangs.items[g];
    waiting_remove(&lane->list, &lane->at);
    why_end(&t->why, gang->class, w->now, gang->blocked_at, gang->row.blocked_ns);
    t->blocked.known = false;
}

/* The top lane goes on behind a gang that has been taken out. */
static void follow(struct walk *w)
{
    w->heap[0].share = share_of(w->t, w->heap[0].lane, w->now);
    settle(w);
}

/* Shares have changed, and not the top lane's alone. */
static void share_again(struct walk *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        w->heap[i].share = share_of(w->t, w->heap[i].lane, w->now);
    w->arranged = false;
    settle_top(w);
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
    gang_start(t, g, pool, l, !w->least, w->now);
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
        share_again(w); /* victims may have been other tenants' of the queue */
    return true;
}

static enum block_reason reason_to_collect(const struct fleet *f, const struct shape *shape)
{
    if (fleet_power_binds(f, shape) && fleet_fit(f, shape) != GRANT_OK)
        return BLOCK_POWER;
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
    if (t->plan->reserve_gpus == 0 || gang->row.min_gpus < t->plan->reserve_gpus ||
        gang->row.backlog || tenant->collecting != NO_GANG)
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
               fleet_free_gpus(t->pools[pool].fleet) < t->gangs.items[g].row.min_gpus;
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

/* What a pool has for a size. */
static enum block_reason room(const struct fleet *f, const struct shape *shape)
{
    uint64_t there = fleet_free_gpus(f);
    enum grant fit = fleet_fit(f, shape);
    if (fit == GRANT_OK)
        return BLOCK_ORDER;
    if (fleet_power_binds(f, shape))
        return BLOCK_POWER;
    if (shape->gpus <= there)
        return fit == GRANT_TOPOLOGY ? BLOCK_TOPOLOGY : BLOCK_SHAPE;
    there += fleet_coming_gpus(f);
    if (shape->gpus <= there)
        return BLOCK_PREEMPTION;
    return shape->gpus <= there + fleet_out_gpus(f) ? BLOCK_SUPPLY : BLOCK_COUNT;
}

/* The share of a slice is its profile, as a bit. */
static uint8_t slice_of(const struct training *t, uint32_t share)
{
    return t->plan->placement == SHAPE_SLICE ? (uint8_t)__builtin_ctz(share) : 0;
}

/* Whether it has changed for a size that somebody waits with. */
static bool look_for_room(struct training *t)
{
    bool changed = false;
    for (size_t i = 0; i < t->why.n_sizes; i++) {
        struct why_size *s = &t->why.sizes[i];
        const struct shape shape = {
            .gpus = s->gpus, .kind = t->plan->placement, .profile = slice_of(t, s->share)};
        for (size_t p = 0; p < t->n_pools && s->n > 0; p++) {
            enum block_reason now = room(t->pools[p].fleet, &shape);
            changed = changed || now != s->room[p];
            s->room[p] = now;
        }
    }
    return changed;
}

/* GPUs that quota lets a tenant take of a pool; UINT64_MAX: all that are free. */
static uint64_t allowed(const struct fleet *f, uint32_t claimant)
{
    uint64_t free = fleet_free_gpus(f);
    if (free == 0)
        return UINT64_MAX;
    uint64_t headroom = fleet_headroom(f, claimant), lent = fleet_lent(f, claimant);
    uint64_t least = headroom < lent ? headroom : lent;
    return least < free ? least : UINT64_MAX;
}

/* Whether it has changed for a tenant in one of its pools. */
static bool look_at_quota(const struct training *t, struct tenant *tenant)
{
    bool changed = false;
    for (uint32_t i = 0; i < tenant->plan->n_pools; i++) {
        uint64_t now = allowed(t->pools[tenant->plan->pools[i].pool].fleet, tenant->claimant);
        changed = changed || now != tenant->allowed[i];
        tenant->allowed[i] = now;
    }
    return changed;
}

/* The reason in the first pool where it is not quota. A full pool keeps a gang waiting whatever its
 * tenant may hold. */
static enum block_reason reason_of(const struct training *t, const struct why_class *c)
{
    const struct tenant *tenant = &t->tenants[c->tenant];
    for (uint32_t i = 0; i < tenant->plan->n_pools; i++) {
        enum block_reason reason = t->why.sizes[c->size].room[tenant->plan->pools[i].pool];
        bool enough = reason == BLOCK_ORDER || reason == BLOCK_SHAPE || reason == BLOCK_TOPOLOGY;
        if (!enough || c->gpus <= tenant->allowed[i])
            return reason;
    }
    return BLOCK_QUOTA;
}

/* Only where what the reasons follow from has changed. */
static void say_why(struct training *t, simtime_ns now)
{
    bool all = look_for_room(t) || t->why.fresh;
    bool backlog = t->lanes[t->n_tenants].list.n > 0;
    t->why.fresh = false;
    for (uint32_t i = 0; i < t->n_tenants; i++) {
        if (t->lanes[i].list.n == 0 && !backlog)
            continue; /* who comes next makes its class fresh */
        if (!look_at_quota(t, &t->tenants[i]) && !all)
            continue;
        for (size_t k = why_first(&t->why, i); k < t->why.n; k++) {
            struct why_class *c = &t->why.items[t->why.order[k]];
            if (c->tenant != i)
                break;
            if (c->n > 0 && reason_of(t, c) != c->reason)
                why_set(c, reason_of(t, c), now);
        }
    }
}

/* ---- the pass ---- */

static bool jobs_wait(const struct training *t)
{
    for (size_t i = 0; i < t->n_tenants; i++)
        if (t->lanes[i].list.n > 0)
            return true;
    return false;
}

static void run(struct training *t, simtime_ns now)
{
    struct walk w;
    struct waiting_item top;
    uint32_t pool = 0, skips = t->plan->backfill == BACKFILL_NONE ? 0 : t->plan->backfill_depth;
    bool backlog = false;
    walk_begin(&w, t, now);
    while (walk_top(&w, &top)) {
        uint32_t g = top.gang;
        if (t->gangs.items[g].row.backlog && !backlog) {
            backlog = true;
            if (!jobs_wait(t))
                extensions_grow(t, false, now);
        }
        enum attempt attempt = try_start(&w, g, &pool);
        if (t->error != HR_OK)
            return;
        if (attempt == STARTED || collect(&w, g, pool))
            continue;
        if (attempt == NO_ROOM) {
            backfill_run(&w, &top, pool);
            return;
        }
        if (skips == 0 || t->gangs.items[g].row.backlog) {
            walk_bar(&w);
        } else {
            walk_skip(&w);
            skips--;
        }
    }
    if (!backlog && !jobs_wait(t))
        extensions_grow(t, true, now);
}

void pass_run(void *self, simtime_ns now)
{
    struct training *t = ((const struct seat *)self)->training;
    run(t, now);
    say_why(t, now);
}
