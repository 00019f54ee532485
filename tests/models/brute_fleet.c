/* Counting, placing, starts: each time from the list of leases. */
#include "brute_internal.h"

#include <string.h>

/* ---- counting ---- */

uint32_t free_on(const struct brute *b, uint32_t node)
{
    uint32_t n = b->c->gpus_per_node;
    if (b->failed[node] || b->spare[node])
        return 0;
    for (size_t i = 0; i < b->n_leases; i++)
        n -= b->leases[i].state == GONE ? 0 : b->leases[i].on[node];
    return n;
}

uint32_t coming_on(const struct brute *b, uint32_t node)
{
    uint32_t coming = 0, wanted = 0;
    for (size_t i = 0; i < b->n_leases; i++) {
        const struct lease_of *l = &b->leases[i];
        coming += l->state == DRAINING || l->state == SCRUBBING ? l->on[node] : 0;
        wanted += l->state == GROWING ? l->wants[node] : 0;
    }
    return coming - wanted;
}

static uint32_t over_nodes(const struct brute *b,
                           uint32_t (*count)(const struct brute *b, uint32_t node))
{
    uint32_t sum = 0;
    for (uint32_t node = 0; node < b->c->nodes; node++)
        sum += count(b, node);
    return sum;
}

uint32_t free_in_all(const struct brute *b)
{
    return over_nodes(b, free_on);
}

uint32_t coming_in_all(const struct brute *b)
{
    return over_nodes(b, coming_on);
}

/* ---- placing ---- */

bool in_one_node(const struct brute *b, const struct brute_job *j)
{
    return b->c->placement == SHAPE_ONE_NODE ||
           (b->c->placement == SHAPE_PREFER_WHOLE && j->gpus <= b->c->gpus_per_node);
}

/* The node with fewest GPUs that suffice; BRUTE_NODES: none. */
static uint32_t best_fit(const struct brute *b, const uint32_t *there, uint32_t gpus)
{
    uint32_t best = BRUTE_NODES;
    for (uint32_t node = 0; node < b->c->nodes; node++)
        if (there[node] >= gpus && (best == BRUTE_NODES || there[node] < there[best]))
            best = node;
    return best;
}

/* Whole nodes and one remainder. */
static bool whole_nodes(const struct brute *b, const uint32_t *there, uint32_t gpus, uint32_t *take)
{
    uint32_t rest[BRUTE_NODES];
    memcpy(rest, there, sizeof rest);
    for (uint32_t node = 0; node < b->c->nodes; node++)
        if (there[node] == b->c->gpus_per_node && b->c->gpus_per_node <= gpus) {
            take[node] = b->c->gpus_per_node;
            rest[node] = 0;
            gpus -= b->c->gpus_per_node;
        }
    if (gpus == 0)
        return true;
    uint32_t node = best_fit(b, rest, gpus);
    if (node == BRUTE_NODES)
        return false;
    take[node] += gpus;
    return true;
}

/* Of what there is on each node, what a job takes; false: it does not fit. */
static bool place(const struct brute *b, const struct brute_job *j, const uint32_t *there,
                  uint32_t *take)
{
    uint32_t sum = 0, left = j->gpus;
    memset(take, 0, BRUTE_NODES * sizeof *take);
    for (uint32_t node = 0; node < b->c->nodes; node++)
        sum += there[node];
    if (in_one_node(b, j)) {
        uint32_t node = best_fit(b, there, j->gpus);
        if (node != BRUTE_NODES)
            take[node] = j->gpus;
        return node != BRUTE_NODES;
    }
    if (sum < j->gpus)
        return false;
    if (b->c->placement == SHAPE_PREFER_WHOLE && whole_nodes(b, there, j->gpus, take))
        return true;
    memset(take, 0, BRUTE_NODES * sizeof *take);
    while (left > 0) {
        uint32_t fullest = BRUTE_NODES;
        for (uint32_t node = 0; node < b->c->nodes; node++)
            if (there[node] > 0 && take[node] == 0 &&
                (fullest == BRUTE_NODES || there[node] < there[fullest]))
                fullest = node;
        take[fullest] = there[fullest] < left ? there[fullest] : left;
        left -= take[fullest];
    }
    return true;
}

static size_t new_lease(struct brute *b, size_t job)
{
    if (b->n_leases == MOST_LEASES) {
        b->full = true;
        b->n_leases--;
    }
    b->leases[b->n_leases] = (struct lease_of){.state = GROWING,
                                               .job = job,
                                               .tenant = b->c->jobs[job].tenant,
                                               .gpus = b->c->jobs[job].gpus};
    if (b->jobs[job].fruitless >= 3)
        b->leases[b->n_leases].guard_ns = b->now - b->jobs[job].fruitless_ns;
    return b->n_leases++;
}

/* ---- starts ---- */

/* Free GPUs that a job's tenant may take; free and coming ones together. */
static int free_for(const struct brute *b, const struct brute_job *j)
{
    struct counts n = count_all(b);
    return may_have_of(&n, j->tenant, (int)free_in_all(b), TIED);
}

static int coming_for(const struct brute *b, const struct brute_job *j)
{
    struct counts n = count_all(b);
    return may_have_of(&n, j->tenant, (int)(free_in_all(b) + coming_in_all(b)), STANDING);
}

static bool within_quota(const struct brute *b, const struct brute_job *j)
{
    struct counts n = count_all(b);
    return under_ceilings(&n, j) && (int)j->gpus <= free_for(b, j) &&
           (int)j->gpus <= coming_for(b, j);
}

bool only_quota_refuses(const struct brute *b, size_t job)
{
    const struct brute_job *j = &b->c->jobs[job];
    return !within_quota(b, j) && j->gpus <= free_in_all(b);
}

static void free_on_each(const struct brute *b, uint32_t *there)
{
    for (uint32_t node = 0; node < BRUTE_NODES; node++)
        there[node] = node < b->c->nodes ? free_on(b, node) : 0;
}

bool acquire(struct brute *b, size_t job)
{
    const struct brute_job *j = &b->c->jobs[job];
    uint32_t there[BRUTE_NODES], take[BRUTE_NODES];
    free_on_each(b, there);
    if (!within_quota(b, j) || !place(b, j, there, take))
        return false;
    size_t lease = new_lease(b, job);
    memcpy(b->leases[lease].on, take, sizeof take);
    start_job(b, job, lease);
    return true;
}

/* Keeps free GPUs and claims coming ones on each node, after the evictions. */
static void take_and_claim(struct brute *b, const struct brute_job *j, uint32_t node, int free,
                           size_t lease)
{
    uint32_t usable[BRUTE_NODES] = {0}, there[BRUTE_NODES] = {0}, take[BRUTE_NODES] = {0};
    for (uint32_t i = 0; i < b->c->nodes; i++) {
        usable[i] = (int)free_on(b, i) < free ? free_on(b, i) : (uint32_t)free;
        free -= in_one_node(b, j) ? 0 : (int)usable[i];
        there[i] = usable[i] + coming_on(b, i);
    }
    if (in_one_node(b, j))
        take[node] = j->gpus;
    else
        place(b, j, there, take);
    struct lease_of *l = &b->leases[lease];
    for (uint32_t i = 0; i < b->c->nodes; i++) {
        l->on[i] = take[i] < usable[i] ? take[i] : usable[i];
        l->wants[i] = take[i] - l->on[i];
    }
    for (size_t k = 0; k < b->n_leases; k++)
        for (uint32_t i = 0; i < b->c->nodes; i++) {
            const struct lease_of *v = &b->leases[k];
            bool coming = v->evicted && (v->state == DRAINING || v->state == SCRUBBING);
            l->waits_for_evicted = l->waits_for_evicted || (coming && l->wants[i] && v->on[i]);
        }
}

/* Enough are free and the tenant may have them, but not where the job can use them. */
static bool wrongly_placed(const struct brute *b, const struct brute_job *j)
{
    uint32_t there[BRUTE_NODES], take[BRUTE_NODES];
    free_on_each(b, there);
    return within_quota(b, j) && j->gpus <= free_in_all(b) && !place(b, j, there, take);
}

static bool one_waits_for_evicted(const struct brute *b)
{
    bool any = false;
    for (size_t i = 0; i < b->n_leases; i++)
        any = any || (b->leases[i].state == GROWING && b->leases[i].waits_for_evicted);
    return any;
}

bool reclaim(struct brute *b, size_t job)
{
    const struct brute_job *j = &b->c->jobs[job];
    struct victims_of go = {.set = 0};
    int free = free_for(b, j);
    bool moves = b->c->consolidate && wrongly_placed(b, j) && choose_moves(b, job, &go);
    if (!moves && !choose_victims(b, job, free, coming_for(b, j), &go))
        return false;
    if (b->c->serial && go.set && one_waits_for_evicted(b))
        return false;
    struct counts before = count_all(b);
    if (go.set && !moves)
        settle_dues(b, &before, job, &go);
    for (size_t i = 0; i < BRUTE_JOBS; i++)
        if (go.set >> i & 1) {
            b->out->own_evictions += b->leases[go.which[i]].tenant == j->tenant && !moves;
            evict(b, go.which[i], job_priority(b->c, j));
        }
    size_t lease = new_lease(b, job);
    take_and_claim(b, j, go.node, free, lease);
    b->jobs[job].phase = ASSEMBLING;
    b->out->reclaims += go.set != 0;
    b->out->moves += moves;
    return true;
}
