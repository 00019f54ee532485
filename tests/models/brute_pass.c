/* Who is tried in a pass, and in which order. */
#include "brute_internal.h"

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

static bool goes_before(const struct brute *b, size_t i, size_t j)
{
    return rank(b, i) != rank(b, j) ? rank(b, i) < rank(b, j) : i < j;
}

size_t next_waiting(const struct brute *b, uint32_t queue, size_t after)
{
    size_t next = BRUTE_JOBS;
    for (size_t j = 0; j < b->c->n_jobs; j++)
        if (b->jobs[j].phase == WAITING && b->c->tenants[b->c->jobs[j].tenant].queue == queue &&
            (after == BRUTE_JOBS || goes_before(b, after, j)) &&
            (next == BRUTE_JOBS || goes_before(b, j, next)))
            next = j;
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
        backfill(b, queue, head);
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
