/* What may start behind a blocked head. */
#include "brute_internal.h"

/* ---- what is free, and when ---- */

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t available(const struct brute *b, uint32_t tenant)
{
    uint32_t ceiling = b->c->tenants[tenant].quota.ceiling_gpus, used = usage(b, tenant);
    return smaller(free_in_all(b), ceiling > used ? ceiling - used : 0);
}

static uint32_t available_soon(const struct brute *b, uint32_t tenant)
{
    uint32_t ceiling = b->c->tenants[tenant].quota.ceiling_gpus;
    uint32_t used = usage(b, tenant) - draining(b, tenant);
    return smaller(free_in_all(b) + coming_in_all(b), ceiling > used ? ceiling - used : 0);
}

static bool runs_in(const struct brute *b, size_t j, uint32_t queue)
{
    return b->jobs[j].phase == RUNNING && b->c->tenants[b->c->jobs[j].tenant].queue == queue;
}

static simtime_ns end_of(const struct brute *b, size_t j)
{
    return b->jobs[j].since_ns + brute_segment_length(b, j);
}

/* ---- EASY ---- */

/* The earliest end of a running job of the queue by which there is enough for the head, and what is
 * left over then. */
static simtime_ns shadow(const struct brute *b, size_t head, uint32_t *extra)
{
    const struct brute_job *h = &b->c->jobs[head];
    uint32_t queue = b->c->tenants[h->tenant].queue;
    uint32_t now = available(b, h->tenant), soon = available_soon(b, h->tenant);
    simtime_ns at = SIM_NEVER;
    *extra = 0;
    if (now < h->gpus && soon >= h->gpus) {
        *extra = soon - h->gpus;
        return b->now;
    }
    for (size_t c = 0; c < b->c->n_jobs; c++) {
        uint32_t sum = soon;
        if (!runs_in(b, c, queue) || end_of(b, c) >= at)
            continue;
        for (size_t j = 0; j < b->c->n_jobs; j++)
            sum += runs_in(b, j, queue) && end_of(b, j) <= end_of(b, c) ? b->c->jobs[j].gpus : 0;
        if (sum >= h->gpus) {
            at = end_of(b, c);
            *extra = sum - h->gpus;
        }
    }
    return at;
}

static void easy(struct brute *b, uint32_t queue, size_t head, struct looked_at *seen)
{
    uint32_t extra;
    simtime_ns at = shadow(b, head, &extra);
    for (size_t j; (j = next_waiting(b, queue, seen)) != BRUTE_JOBS;) {
        seen->job[j] = true;
        uint32_t gpus = b->c->jobs[j].gpus, tenant = b->c->jobs[j].tenant;
        bool in_time = b->now + brute_segment_length(b, j) <= at;
        if (gpus > available(b, tenant) || !(in_time || gpus <= extra) || !acquire(b, j))
            continue;
        extra -= in_time ? 0 : gpus;
        b->out->backfilled++;
    }
}

/* ---- best effort ---- */

static void best_effort(struct brute *b, uint32_t queue, size_t head, struct looked_at *seen)
{
    (void)head;
    for (size_t j; (j = next_waiting(b, queue, seen)) != BRUTE_JOBS;) {
        seen->job[j] = true;
        b->out->backfilled += acquire(b, j);
    }
}

/* ---- conservative ---- */

/* GPUs that are taken or given back over a time. */
struct piece {
    simtime_ns from, until;
    int gpus; /* added to what is free */
};

struct diary {
    int now, soon;                   /* free in this instant; from the next one on */
    struct piece of[2 * BRUTE_JOBS]; /* ends of running jobs, then what is reserved */
    size_t n;
};

static struct diary open_diary(const struct brute *b, uint32_t queue, uint32_t tenant)
{
    struct diary d = {(int)available(b, tenant), (int)available_soon(b, tenant), {{0, 0, 0}}, 0};
    for (size_t j = 0; j < b->c->n_jobs; j++)
        if (runs_in(b, j, queue)) {
            simtime_ns end = end_of(b, j) > b->now ? end_of(b, j) : b->now + 1;
            d.of[d.n++] = (struct piece){end, SIM_NEVER, (int)b->c->jobs[j].gpus};
        }
    return d;
}

static int free_at(const struct brute *b, const struct diary *d, simtime_ns t)
{
    int free = t == b->now ? d->now : d->soon;
    for (size_t i = 0; i < d->n; i++)
        free += d->of[i].from <= t && t < d->of[i].until ? d->of[i].gpus : 0;
    return free;
}

/* Whether a job may run from t on: what is free changes where a piece begins or ends, and right
 * after now. */
static bool fits(const struct brute *b, const struct diary *d, size_t job, simtime_ns t)
{
    simtime_ns until = t + brute_segment_length(b, job);
    int gpus = (int)b->c->jobs[job].gpus;
    bool ok = free_at(b, d, t) >= gpus;
    if (t == b->now)
        ok = ok && free_at(b, d, t + 1) >= gpus;
    for (size_t i = 0; i < d->n; i++) {
        if (d->of[i].from > t && d->of[i].from < until)
            ok = ok && free_at(b, d, d->of[i].from) >= gpus;
        if (d->of[i].until > t && d->of[i].until < until)
            ok = ok && free_at(b, d, d->of[i].until) >= gpus;
    }
    return ok;
}

/* The earliest time after now from which a job may run; SIM_NEVER: none is foreseen. */
static simtime_ns earliest(const struct brute *b, const struct diary *d, size_t job)
{
    simtime_ns best = fits(b, d, job, b->now + 1) ? b->now + 1 : SIM_NEVER;
    for (size_t i = 0; i < d->n; i++) {
        const simtime_ns times[] = {d->of[i].from, d->of[i].until};
        for (size_t k = 0; k < 2; k++)
            if (times[k] > b->now && times[k] < best && fits(b, d, job, times[k]))
                best = times[k];
    }
    return best;
}

static void enter(const struct brute *b, struct diary *d, size_t job, simtime_ns from)
{
    if (from != SIM_NEVER)
        d->of[d->n++] =
            (struct piece){from, from + brute_segment_length(b, job), -(int)b->c->jobs[job].gpus};
}

static void conservative(struct brute *b, uint32_t queue, size_t head, struct looked_at *seen)
{
    struct diary d = open_diary(b, queue, b->c->jobs[head].tenant);
    enter(b, &d, head, earliest(b, &d, head));
    for (size_t j; (j = next_waiting(b, queue, seen)) != BRUTE_JOBS;) {
        seen->job[j] = true;
        bool starts = fits(b, &d, j, b->now) && acquire(b, j);
        enter(b, &d, j, starts ? b->now : earliest(b, &d, j));
        b->out->backfilled += starts;
    }
}

/* ---- the choice ---- */

void backfill(struct brute *b, uint32_t queue, size_t head, struct looked_at *seen)
{
    typedef void kind(struct brute * b, uint32_t queue, size_t head, struct looked_at * seen);
    static kind *const kinds[BACKFILL_KINDS] = {
        [BACKFILL_EASY] = easy,
        [BACKFILL_CONSERVATIVE] = conservative,
        [BACKFILL_BEST_EFFORT] = best_effort,
    };
    if (kinds[b->c->backfill])
        kinds[b->c->backfill](b, queue, head, seen);
}
