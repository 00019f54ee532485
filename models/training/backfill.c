/* What may start behind a blocked head.
 *
 *   none          nothing
 *   best-effort   whatever fits, in order (Kueue: BestEffortFIFO)
 *   easy          the head gets a reservation at the earliest time at which enough GPUs will be
 * free by the estimates of the running gangs; another starts if it ends by then or uses only GPUs
 * that the head leaves (D. Lifka, JSSPP 1995) conservative  every job looked at gets a reservation,
 * and one starts if its reservation is now (A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001)
 *
 * An elastic gang is looked at as of its least GPUs. Where it has to keep to what a reservation
 * leaves it starts on these.
 *
 * Up to backfill_depth jobs that do not start are looked at, and BACKLOG_DEPTH gangs of the
 * backlog, which holds at most so many that have never started: the next is drawn when one has.
 * Reservations count the GPUs of the head's pool; whether a gang fits by shape the fleet decides
 * when it starts, and in another pool a job may start as it likes. Only the ends of the queue's own
 * gangs are foreseen. A look that started nothing is not repeated before something has changed. */
#include "models/training/queue_internal.h"

#include "sim/vec.h"

#include <string.h>

enum { BACKLOG_DEPTH = 32 };

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* GPUs that the gang's tenant could take now, by count. */
static uint64_t available(const struct training *t, uint32_t g, uint32_t pool)
{
    const struct fleet *f = t->pools[pool].fleet;
    uint32_t claimant = gang_claimant(t, g);
    uint64_t left = above(fleet_quota(f, claimant)->ceiling_gpus, fleet_usage(f, claimant));
    return smaller(fleet_free_gpus(f), left);
}

/* The same once the teardowns and scrubs that are under way are over. */
static uint64_t available_soon(const struct training *t, uint32_t g, uint32_t pool)
{
    const struct fleet *f = t->pools[pool].fleet;
    uint32_t claimant = gang_claimant(t, g);
    uint64_t free = (uint64_t)fleet_free_gpus(f) + fleet_coming_gpus(f);
    uint64_t usage =
        fleet_usage(f, claimant) - ledger_shares(t->pools[pool].ledger, claimant + 1, GPU_DRAINING);
    return smaller(free, above(fleet_quota(f, claimant)->ceiling_gpus, usage));
}

/* GPUs that some pool has for one more gang: 0, nothing more can start. Where a queue has one
 * tenant it may hold no more than that. */
static uint64_t most_free(const struct training *t, uint32_t head)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < t->n_pools; i++) {
        bool mine = t->n_tenants == 1;
        uint64_t free = mine ? available(t, head, i) : fleet_free_gpus(t->pools[i].fleet);
        most = free > most ? free : most;
    }
    return most;
}

/* ---- walking on behind the head ---- */

/* How many more jobs and backlog gangs may be looked at without starting, and which of them are
 * worth a try: those that need at most so many GPUs and, if they need more than spare, are expected
 * to take at most so long. */
struct looks {
    uint32_t jobs, backlog;
    uint64_t gpus, spare;
    simtime_ns length_ns;
};

static bool hopeless(const struct looks *left, const struct waiting_item *item)
{
    return item->gpus > left->gpus ||
           (item->estimate_ns > left->length_ns && item->gpus > left->spare);
}

/* The next gang to try; false when there is none or it has been enough. */
static bool next(struct walk *w, struct looks *left, struct waiting_item *item)
{
    while (w->n > 0) {
        bool backlog = w->heap[0].lane == w->t->n_tenants;
        uint32_t *looks = backlog ? &left->backlog : &left->jobs;
        if (*looks == 0) {
            walk_bar(w); /* before it would draw one; another lane may still have its look */
        } else if (!walk_top(w, item)) {
            return false;
        } else if ((w->heap[0].lane == w->t->n_tenants) == backlog) {
            --*looks;
            if (!hopeless(left, item))
                return true;
            walk_skip(w);
        }
    }
    return false;
}

/* A look that ended in a start does not count. */
static void unlook(struct looks *left, bool backlog)
{
    ++*(backlog ? &left->backlog : &left->jobs);
}

/* Starts a gang in the first of its tenant's pools that has free GPUs and that may() allows. */
typedef bool may_fn(void *self, struct walk *w, const struct waiting_item *item, uint32_t pool);

static bool start(struct walk *w, struct looks *left, const struct waiting_item *item, may_fn *may,
                  void *self, uint32_t *pool)
{
    const struct gang *gang = &w->t->gangs.items[item->gang];
    const struct tenant_plan *tenant = w->t->tenants[gang->tenant].plan;
    bool backlog = gang->row.backlog;
    for (uint32_t i = 0; i < tenant->n_pools; i++) {
        *pool = tenant->pools[i].pool;
        if (item->gpus > available(w->t, item->gang, *pool) || !may(self, w, item, *pool))
            continue;
        if (pass_acquire(w, item->gang, *pool) == GRANT_OK) {
            unlook(left, backlog);
            return true;
        }
    }
    return false;
}

/* ---- best effort ---- */

static bool may_always(void *self, struct walk *w, const struct waiting_item *item, uint32_t pool)
{
    (void)self, (void)w, (void)item, (void)pool;
    return true;
}

static void best_effort(struct walk *w, struct looks *left, uint32_t head)
{
    struct waiting_item item;
    uint32_t pool;
    left->length_ns = SIM_NEVER;
    while ((left->gpus = most_free(w->t, head)) > 0 && next(w, left, &item))
        if (!start(w, left, &item, may_always, NULL, &pool))
            walk_skip(w);
}

/* ---- EASY ---- */

struct easy {
    uint32_t pool; /* of the head */
    struct reservation head;
    bool in_time; /* the last gang asked for ends by the reservation */
};

static bool may_easily(void *self, struct walk *w, const struct waiting_item *item, uint32_t pool)
{
    struct easy *e = self;
    w->least = false;
    if (pool != e->pool)
        return true;
    e->in_time = sim_time_add(w->now, item->estimate_ns) <= e->head.at;
    w->least = !e->in_time;
    return e->in_time || item->gpus <= e->head.extra;
}

static void easy(struct walk *w, struct looks *left, const struct waiting_item *head, uint32_t pool)
{
    struct training *t = w->t;
    struct waiting_item item;
    uint32_t in;
    struct easy e = {.pool = pool};
    e.head = reservation_make(&t->ends[pool], w->now, available(t, head->gang, pool),
                              available_soon(t, head->gang, pool), head->gpus);
    bool elsewhere = t->n_pools > 1 || e.head.at == SIM_NEVER; /* the reservation bounds nobody */
    left->length_ns = elsewhere ? SIM_NEVER : e.head.at - w->now;
    left->spare = e.head.extra;
    while ((left->gpus = most_free(t, head->gang)) > 0 && next(w, left, &item)) {
        if (!start(w, left, &item, may_easily, &e, &in))
            walk_skip(w);
        else if (in == pool && !e.in_time)
            left->spare = e.head.extra -= item.gpus;
    }
}

/* ---- conservative ---- */

static bool may_now(void *self, struct walk *w, const struct waiting_item *item, uint32_t pool)
{
    struct profile *p = self;
    w->least = pool == p->pool;
    return pool != p->pool || profile_earliest(p, w->now, item->gpus, item->estimate_ns) == w->now;
}

/* What a job that does not start now keeps for itself. */
static void reserve(struct profile *p, const struct walk *w, const struct waiting_item *item)
{
    simtime_ns at = profile_earliest(p, w->now, item->gpus, item->estimate_ns);
    if (at == w->now) /* enough by count, wrongly placed: at the next change */
        at = profile_earliest(p, w->now + 1, item->gpus, item->estimate_ns);
    if (at != SIM_NEVER)
        profile_take(p, at, item->estimate_ns, item->gpus);
}

static void conservative(struct walk *w, struct looks *left, const struct waiting_item *head,
                         uint32_t pool)
{
    struct training *t = w->t;
    struct profile *p = &t->profile;
    struct waiting_item item;
    uint32_t in;
    if (!profile_make(p, &t->ends[pool], w->now, available(t, head->gang, pool),
                      available_soon(t, head->gang, pool), left->jobs + left->backlog)) {
        training_fail(t, HR_NOMEM);
        return;
    }
    p->pool = pool;
    reserve(p, w, head);
    left->gpus = left->spare = UINT64_MAX; /* each of them has its reservation */
    while (most_free(t, head->gang) > 0 && next(w, left, &item)) {
        bool here = tenant_pool(t, t->gangs.items[item.gang].tenant) == pool;
        if (start(w, left, &item, may_now, p, &in)) {
            if (in == pool)
                profile_take(p, w->now, item.estimate_ns, item.gpus);
            continue;
        }
        if (here)
            reserve(p, w, &item);
        walk_skip(w);
    }
}

/* ---- the choice ---- */

static uint64_t version(const struct training *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n_pools; i++)
        sum += fleet_version(t->pools[i].fleet);
    return sum;
}

void backfill_run(struct walk *w, const struct waiting_item *head, uint32_t pool)
{
    struct training *t = w->t;
    struct looks left = {.jobs = t->plan->backfill_depth, .backlog = BACKLOG_DEPTH};
    if (t->blocked.known && t->blocked.version == version(t))
        return;
    if (t->plan->backfill != BACKFILL_NONE)
        walk_skip(w); /* the head itself */
    switch (t->plan->backfill) {
    case BACKFILL_BEST_EFFORT:
        best_effort(w, &left, head->gang);
        break;
    case BACKFILL_EASY:
        easy(w, &left, head, pool);
        break;
    case BACKFILL_CONSERVATIVE:
        conservative(w, &left, head, pool);
        break;
    default:
        break;
    }
    t->blocked = (struct blocked){true, version(t)};
}
