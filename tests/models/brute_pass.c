/* Who is tried in a pass, and in which order. */
#include "brute_internal.h"

/* The waiting job that is next behind another in the order of a queue; BRUTE_JOBS: none. */
static size_t next_waiting(const struct brute *b, uint32_t queue, size_t after)
{
    for (size_t j = after == BRUTE_JOBS ? 0 : after + 1; j < b->c->n_jobs; j++)
        if (b->jobs[j].phase == WAITING && b->c->tenants[b->c->jobs[j].tenant].queue == queue)
            return j;
    return BRUTE_JOBS;
}

/* ---- EASY ---- */

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
    return b->jobs[j].since_ns + segment_length(b, j);
}

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

static void easy(struct brute *b, uint32_t queue, size_t head)
{
    uint32_t extra;
    simtime_ns at = shadow(b, head, &extra);
    for (size_t j = next_waiting(b, queue, head); j != BRUTE_JOBS; j = next_waiting(b, queue, j)) {
        uint32_t gpus = b->c->jobs[j].gpus, tenant = b->c->jobs[j].tenant;
        bool in_time = b->now + segment_length(b, j) <= at;
        if (gpus > available(b, tenant) || !(in_time || gpus <= extra) || !acquire(b, j))
            continue;
        extra -= in_time ? 0 : gpus;
        b->out->backfilled++;
    }
}

/* ---- the pass ---- */

static bool one_tenant(const struct brute *b, uint32_t queue)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < b->c->n_tenants; t++)
        n += b->c->tenants[t].queue == queue;
    return n == 1;
}

/* The next job whose tenant has not been passed over. */
static size_t next_candidate(const struct brute *b, uint32_t queue, size_t after,
                             const bool passed_over[BRUTE_TENANTS])
{
    size_t j = after;
    do
        j = next_waiting(b, queue, j);
    while (j != BRUTE_JOBS && passed_over[b->c->jobs[j].tenant]);
    return j;
}

static void pass_of(struct brute *b, uint32_t queue)
{
    bool passed_over[BRUTE_TENANTS] = {false};
    size_t after = BRUTE_JOBS; /* nothing before it is a candidate any more */
    for (;;) {
        size_t head = next_candidate(b, queue, after, passed_over);
        if (head == BRUTE_JOBS)
            return;
        if (acquire(b, head) || reclaim(b, head))
            continue;
        if (only_quota_refuses(b, head) && !one_tenant(b, queue)) {
            if (b->c->backfill == BACKFILL_NONE)
                passed_over[b->c->jobs[head].tenant] = true;
            else
                after = head;
            continue;
        }
        if (b->c->backfill == BACKFILL_EASY)
            easy(b, queue, head);
        return;
    }
}

static const struct brute_tenant *first_tenant(const struct brute *b, uint32_t queue)
{
    for (uint32_t t = 0; t < b->c->n_tenants; t++)
        if (b->c->tenants[t].queue == queue)
            return &b->c->tenants[t];
    return NULL;
}

void pass(struct brute *b)
{
    bool done[BRUTE_TENANTS] = {false};
    for (uint32_t n = 0; n < b->c->n_queues; n++) {
        uint32_t next = UINT32_MAX;
        for (uint32_t q = 0; q < b->c->n_queues; q++)
            if (!done[q] && (next == UINT32_MAX || first_tenant(b, q)->quota.priority >
                                                       first_tenant(b, next)->quota.priority))
                next = q;
        done[next] = true;
        pass_of(b, next);
    }
}
