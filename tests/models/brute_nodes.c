/* Nodes that fail and are repaired, hot spares, and jobs that lost a node.
 *
 * At first the highest-numbered nodes are spares, later what is repaired while there are fewer than
 * planned; they start nothing. A job takes the lowest-numbered ones, and what it does not need of
 * the last is free from then on. */
#include "brute_internal.h"

static uint32_t spares(const struct brute *b)
{
    uint32_t n = 0;
    for (uint32_t node = 0; node < b->c->nodes; node++)
        n += b->spare[node];
    return n;
}

void nodes_begin(struct brute *b)
{
    for (uint32_t i = 0; i < b->c->spares; i++)
        b->spare[b->c->nodes - 1 - i] = true;
}

simtime_ns next_of_nodes(const struct brute *b)
{
    simtime_ns next = SIM_NEVER;
    for (uint32_t i = 0; i < b->c->n_faults; i++) {
        const struct brute_fault *f = &b->c->faults[i];
        if (f->at_ns > b->now)
            sooner(&next, f->at_ns);
        if (f->repaired_ns > b->now)
            sooner(&next, f->repaired_ns);
    }
    for (size_t j = 0; j < b->c->n_jobs; j++)
        if (b->jobs[j].phase == BROKEN)
            sooner(&next, b->jobs[j].broken_ns + b->c->detection_ns);
    return next;
}

/* ---- jobs ---- */

static bool swap(struct brute *b, struct lease_of *l)
{
    if (spares(b) * b->c->gpus_per_node < l->lost)
        return false;
    for (uint32_t node = 0; node < b->c->nodes && l->lost > 0; node++) {
        if (!b->spare[node])
            continue;
        uint32_t n = l->lost < b->c->gpus_per_node ? l->lost : b->c->gpus_per_node;
        b->spare[node] = false;
        l->on[node] += n;
        l->gpus += n;
        l->lost -= n;
        note(b, l, n, BRUTE_SWAP);
    }
    return true;
}

void give_up_or_swap(struct brute *b, size_t job, bool may_swap)
{
    struct job_state *s = &b->jobs[job];
    struct brute_fate *f = &b->out->fates[job];
    struct comb comb = comb_now(b, job);
    f->lost_ns += comb.lost + (b->now - s->broken_ns);
    s->done_ns += comb.kept;
    s->fruitless = comb.kept > 0 ? 0 : s->fruitless;
    s->suspended = false;
    if (may_swap && swap(b, &b->leases[s->lease])) {
        f->swaps++;
        b->out->swaps++;
        s->restore_ns = b->c->load_ns + b->c->init_ns;
        begin_segment(b, job);
        want_pass(b);
        return;
    }
    s->phase = STOPPING;
    stop_lease(b, s->lease, b->now);
    if (may_swap)
        want_pass(b);
}

static void job_fails(struct brute *b, size_t job)
{
    struct job_state *s = &b->jobs[job];
    b->out->fates[job].failures++;
    b->out->failures++;
    if (s->phase == BROKEN)
        return;
    end_segment(b, job);
    s->phase = BROKEN;
    s->broken_ns = b->now;
    s->broken = b->n_broken++;
    if (b->c->detection_ns == 0)
        give_up_or_swap(b, job, true);
}

void detections(struct brute *b)
{
    for (;;) {
        size_t first = BRUTE_JOBS;
        for (size_t j = 0; j < b->c->n_jobs; j++)
            if (b->jobs[j].phase == BROKEN && b->now >= b->jobs[j].broken_ns + b->c->detection_ns &&
                (first == BRUTE_JOBS || b->jobs[j].broken < b->jobs[first].broken))
                first = j;
        if (first == BRUTE_JOBS)
            return;
        give_up_or_swap(b, first, true);
    }
}

/* ---- nodes ---- */

static void withdraw_starts(struct brute *b, uint32_t node)
{
    for (size_t i = 0; i < b->n_leases; i++) {
        struct lease_of *l = &b->leases[i];
        if (l->state != GROWING || l->on[node] + l->wants[node] == 0)
            continue;
        l->state = GONE;
        b->jobs[l->job].phase = WAITING;
        b->out->withdrawn++;
    }
}

static void fail(struct brute *b, uint32_t node)
{
    b->failed[node] = true;
    b->spare[node] = false;
    withdraw_starts(b, node);
    for (size_t i = 0; i < b->n_leases; i++) {
        struct lease_of *l = &b->leases[i];
        uint32_t n = l->on[node];
        if (l->state == GONE || n == 0)
            continue;
        l->on[node] = 0;
        l->gpus -= n;
        note(b, l, n, BRUTE_FAIL);
        if (l->state != HELD)
            continue;
        l->lost += n;
        job_fails(b, l->job);
    }
    want_pass(b);
}

void failures(struct brute *b)
{
    for (uint32_t node = 0; node < b->c->nodes; node++)
        for (uint32_t i = 0; i < b->c->n_faults; i++)
            if (b->c->faults[i].at_ns == b->now && b->c->faults[i].node == node)
                fail(b, node);
}

void repairs(struct brute *b)
{
    for (uint32_t node = 0; node < b->c->nodes; node++)
        for (uint32_t i = 0; i < b->c->n_faults; i++) {
            if (b->c->faults[i].repaired_ns != b->now || b->c->faults[i].node != node)
                continue;
            b->failed[node] = false;
            b->spare[node] = spares(b) < b->c->spares;
            if (!b->spare[node])
                want_pass(b);
        }
}
