/* Who is tried in a pass, and in which order. */
#include "brute_internal.h"

#include <math.h>
#include <string.h>

/* What a queue's order goes by, least first. */
static int64_t rank(const struct brute *b, size_t j)
{
    const struct brute_job *job = &b->c->jobs[j];
    int64_t age = (int64_t)b->c->age_ns;
    switch (b->c->order) {
    case ORDER_PRIORITY:
        return age ? (int64_t)job->submit_ns - job->priority * age : -job->priority;
    case ORDER_SHORTEST:
        return (int64_t)brute_segment_length(b, j);
    default:
        return 0;
    }
}

/* ---- fair share ---- */

static long double faded(const struct brute *b, const struct hold *h)
{
    const simtime_ns tick = 5 * SIM_MIN;
    long double sum = 0;
    for (simtime_ns t = 0; t <= b->now; t += tick) {
        simtime_ns from = h->from > t ? h->from : t,
                   until = h->until < t + tick ? h->until : t + tick;
        until = until < b->now ? until : b->now;
        long double ticks = (long double)(b->now / tick - t / tick);
        long double half_lives =
            b->c->half_life_ns == SIM_NEVER ? 0 : ticks * tick / (long double)b->c->half_life_ns;
        if (until > from)
            sum += h->gpus * (long double)(until - from) * exp2l(-half_lives);
    }
    return sum;
}

static long double share_of(const struct brute *b, uint32_t tenant)
{
    long double used = 0;
    for (size_t i = 0; i < b->n_holds; i++) {
        const struct hold *h = &b->holds[i];
        if (h->tenant != tenant)
            continue;
        if (b->c->half_life_ns == 0)
            used += h->until == SIM_NEVER ? h->gpus : 0;
        else
            used += faded(b, h);
    }
    return used / b->c->tenants[tenant].weight;
}

/* What differs by less than rounding is equal. */
static bool less_share(const struct brute *b, uint32_t x, uint32_t y)
{
    return share_of(b, x) < share_of(b, y) * (1 - 1e-12L);
}

/* ---- the order ---- */

static bool goes_before(const struct brute *b, size_t i, size_t j)
{
    if (b->c->order == ORDER_FAIR_SHARE) {
        uint32_t x = b->c->jobs[i].tenant, y = b->c->jobs[j].tenant;
        if (less_share(b, x, y) || less_share(b, y, x))
            return less_share(b, x, y);
    }
    return rank(b, i) != rank(b, j) ? rank(b, i) < rank(b, j) : i < j;
}

size_t next_waiting(const struct brute *b, uint32_t queue, const struct looked_at *seen)
{
    size_t next = BRUTE_JOBS;
    for (size_t j = 0; j < b->c->n_jobs; j++) {
        uint32_t tenant = b->c->jobs[j].tenant;
        if (b->jobs[j].phase == WAITING && b->c->tenants[tenant].queue == queue && !seen->job[j] &&
            !seen->tenant[tenant] && (next == BRUTE_JOBS || goes_before(b, j, next)))
            next = j;
    }
    return next;
}

/* ---- the pass ---- */

static bool one_tenant(const struct brute *b, uint32_t queue)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < b->c->n_tenants; t++)
        n += b->c->tenants[t].queue == queue;
    return n == 1;
}

static void pass_of(struct brute *b, uint32_t queue)
{
    struct looked_at seen = {{false}, {false}};
    for (size_t head; (head = next_waiting(b, queue, &seen)) != BRUTE_JOBS;) {
        if (acquire(b, head) || reclaim(b, head))
            continue;
        seen.job[head] = true;
        if (!only_quota_refuses(b, head) || one_tenant(b, queue)) {
            backfill(b, queue, head, &seen);
            return;
        }
        seen.tenant[b->c->jobs[head].tenant] = b->c->backfill == BACKFILL_NONE;
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
