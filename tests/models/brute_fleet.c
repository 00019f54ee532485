/* Counting, placing, quota, victims: each time from the list of leases. */
#include "brute_internal.h"

#include <string.h>

/* ---- counting ---- */

uint32_t free_on(const struct brute *b, uint32_t node)
{
    uint32_t n = b->c->gpus_per_node;
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

/* GPUs of a tenant's leases in one of these states (a set of bits). */
static uint32_t gpus_in(const struct brute *b, uint32_t tenant, unsigned states)
{
    uint32_t n = 0;
    for (size_t i = 0; i < b->n_leases; i++)
        if (b->leases[i].tenant == tenant && (states >> b->leases[i].state & 1))
            n += b->leases[i].gpus;
    return n;
}

static uint32_t standing(const struct brute *b, uint32_t tenant)
{
    return gpus_in(b, tenant, 1 << GROWING | 1 << HELD);
}

uint32_t draining(const struct brute *b, uint32_t tenant)
{
    return gpus_in(b, tenant, 1 << DRAINING);
}

uint32_t usage(const struct brute *b, uint32_t tenant)
{
    return standing(b, tenant) + draining(b, tenant);
}

static uint32_t tied(const struct brute *b, uint32_t tenant)
{
    return usage(b, tenant) + gpus_in(b, tenant, 1 << SCRUBBING);
}

static const struct quota *quota_of(const struct brute *b, uint32_t tenant)
{
    return &b->c->tenants[tenant].quota;
}

static uint32_t unlent(const struct brute *b, uint32_t tenant)
{
    return quota_of(b, tenant)->floor_gpus - quota_of(b, tenant)->lend_gpus;
}

static int shortfall(uint32_t need, uint32_t have)
{
    return need > have ? (int)(need - have) : 0;
}

/* Free GPUs a tenant may take now; free and coming ones it may have. They can be negative. */
static int may_take_free(const struct brute *b, uint32_t tenant)
{
    int n = (int)free_in_all(b);
    for (uint32_t j = 0; j < b->c->n_tenants; j++)
        n -= j == tenant ? 0 : shortfall(unlent(b, j), tied(b, j));
    return n > 0 ? n : 0;
}

static int may_have(const struct brute *b, uint32_t tenant)
{
    int n = (int)(free_in_all(b) + coming_in_all(b));
    for (uint32_t j = 0; j < b->c->n_tenants; j++)
        n -= j == tenant ? 0 : shortfall(unlent(b, j), standing(b, j));
    return n > 0 ? n : 0;
}

bool within_ceiling(const struct brute *b, const struct brute_job *j)
{
    return usage(b, j->tenant) + j->gpus <= quota_of(b, j->tenant)->ceiling_gpus;
}

static bool in_one_node(const struct brute *b, const struct brute_job *j)
{
    return b->c->placement == SHAPE_ONE_NODE ||
           (b->c->placement == SHAPE_PREFER_WHOLE && j->gpus <= b->c->gpus_per_node);
}

bool never_fits(const struct brute *b, const struct brute_job *j)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < b->c->n_tenants; i++)
        others += i == j->tenant ? 0 : unlent(b, i);
    if (in_one_node(b, j) && j->gpus > b->c->gpus_per_node)
        return true;
    return j->gpus > quota_of(b, j->tenant)->ceiling_gpus ||
           j->gpus + others > b->c->nodes * b->c->gpus_per_node;
}

/* ---- placing ---- */

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
    return b->n_leases++;
}

bool only_quota_refuses(const struct brute *b, size_t job)
{
    const struct brute_job *j = &b->c->jobs[job];
    bool quota = within_ceiling(b, j) && (int)j->gpus <= may_take_free(b, j->tenant) &&
                 (int)j->gpus <= may_have(b, j->tenant);
    return !quota && j->gpus <= free_in_all(b);
}

bool acquire(struct brute *b, size_t job)
{
    const struct brute_job *j = &b->c->jobs[job];
    uint32_t there[BRUTE_NODES] = {0}, take[BRUTE_NODES];
    for (uint32_t node = 0; node < b->c->nodes; node++)
        there[node] = free_on(b, node);
    if (!within_ceiling(b, j) || (int)j->gpus > may_take_free(b, j->tenant) ||
        (int)j->gpus > may_have(b, j->tenant) || !place(b, j, there, take))
        return false;
    size_t lease = new_lease(b, job);
    memcpy(b->leases[lease].on, take, sizeof take);
    start_job(b, job, lease);
    return true;
}

/* ---- victims ---- */

struct set {
    size_t leases[BRUTE_JOBS];
    size_t n;
};

struct chooser {
    const struct brute *b;
    const struct brute_job *job;
    enum within_cohort from;
    int free, have; /* free GPUs it may use; free and coming ones together */
    uint64_t loss[MOST_LEASES];
    bool found;
    struct set best;
    uint32_t node; /* of a start within one node */
    int clean;     /* free GPUs it would use, where it is looked for now */
};

static int32_t job_priority(const struct brute *b, const struct brute_job *job)
{
    return quota_of(b, job->tenant)->priority + job->priority;
}

static int32_t priority_of(const struct brute *b, size_t lease)
{
    return job_priority(b, &b->c->jobs[b->leases[lease].job]);
}

static bool may_evict(const struct chooser *ch, size_t lease, const struct set *before)
{
    const struct brute *b = ch->b;
    uint32_t tenant = b->leases[lease].tenant, stands = standing(b, tenant);
    for (size_t i = 0; i < before->n; i++)
        stands -=
            b->leases[before->leases[i]].tenant == tenant ? b->leases[before->leases[i]].gpus : 0;
    if (tenant == ch->job->tenant || stands <= quota_of(b, tenant)->floor_gpus ||
        !b->c->jobs[b->leases[lease].job].preemptible)
        return false;
    return ch->from == COHORT_ANY || priority_of(b, lease) < job_priority(b, ch->job);
}

/* On a node, or, with BRUTE_NODES, in all. */
static uint32_t gain(const struct chooser *ch, size_t lease, uint32_t node)
{
    return node == BRUTE_NODES ? ch->b->leases[lease].gpus : ch->b->leases[lease].on[node];
}

/* Whether a goes before c in the order of the rule. */
static bool before(const struct chooser *ch, size_t a, size_t c)
{
    const struct lease_of *x = &ch->b->leases[a], *y = &ch->b->leases[c];
    enum victim_rule rule = ch->b->c->victims;
    if (rule == VICTIM_LOWEST_PRIORITY && priority_of(ch->b, a) != priority_of(ch->b, c))
        return priority_of(ch->b, a) < priority_of(ch->b, c);
    if ((rule == VICTIM_YOUNGEST || rule == VICTIM_LOWEST_PRIORITY) && x->since_ns != y->since_ns)
        return x->since_ns > y->since_ns;
    if (rule == VICTIM_LEAST_OVER_RECLAIM && x->gpus != y->gpus)
        return x->gpus < y->gpus;
    if ((rule == VICTIM_LEAST_WORK_LOST || rule == VICTIM_LEAST_OVER_RECLAIM) &&
        ch->loss[a] != ch->loss[c])
        return ch->loss[a] < ch->loss[c];
    return a < c;
}

/* The next candidate after last (MOST_LEASES: the first) in the order of the rule. */
static size_t next_candidate(const struct chooser *ch, size_t last, uint32_t node)
{
    size_t next = MOST_LEASES;
    for (size_t i = 0; i < ch->b->n_leases; i++)
        if (ch->b->leases[i].state == HELD && gain(ch, i, node) > 0 &&
            may_evict(ch, i, &(struct set){.n = 0}) &&
            (last == MOST_LEASES || before(ch, last, i)) &&
            (next == MOST_LEASES || before(ch, i, next)))
            next = i;
    return next;
}

struct cost {
    int32_t top;
    int beyond;
    uint64_t loss;
    simtime_ns oldest;
    size_t first;
};

static struct cost cost_of(const struct chooser *ch, const struct set *s)
{
    struct cost cost = {INT32_MIN, ch->clean - (int)ch->job->gpus, 0, SIM_NEVER, MOST_LEASES};
    for (size_t i = 0; i < s->n; i++) {
        const struct lease_of *l = &ch->b->leases[s->leases[i]];
        int32_t priority = priority_of(ch->b, s->leases[i]);
        cost.top = priority > cost.top ? priority : cost.top;
        cost.beyond += (int)l->gpus;
        cost.loss += ch->loss[s->leases[i]];
        cost.oldest = l->since_ns < cost.oldest ? l->since_ns : cost.oldest;
        cost.first = s->leases[i] < cost.first ? s->leases[i] : cost.first;
    }
    return cost;
}

static bool cheaper(enum victim_rule rule, const struct cost *a, const struct cost *c)
{
    if (rule == VICTIM_LOWEST_PRIORITY && a->top != c->top)
        return a->top < c->top;
    if ((rule == VICTIM_YOUNGEST || rule == VICTIM_LOWEST_PRIORITY) && a->oldest != c->oldest)
        return a->oldest > c->oldest;
    if (rule == VICTIM_LOWEST_PRIORITY)
        return a->first < c->first;
    if (rule == VICTIM_LEAST_WORK_LOST && a->loss != c->loss)
        return a->loss < c->loss;
    if (a->beyond != c->beyond)
        return a->beyond < c->beyond;
    if (rule == VICTIM_LEAST_OVER_RECLAIM && a->loss != c->loss)
        return a->loss < c->loss;
    return a->first < c->first;
}

/* After the evictions quota must let the start have its GPUs: what the floors of the victims keep
 * anew is not for it. */
static bool admissible(const struct chooser *ch, const struct set *s)
{
    const struct brute *b = ch->b;
    int have = ch->have;
    for (uint32_t t = 0; t < b->c->n_tenants; t++) {
        uint32_t gone = 0;
        for (size_t i = 0; i < s->n; i++)
            gone += b->leases[s->leases[i]].tenant == t ? b->leases[s->leases[i]].gpus : 0;
        have += (int)gone;
        have -= shortfall(unlent(b, t), standing(b, t) - gone) -
                shortfall(unlent(b, t), standing(b, t));
    }
    return have >= (int)ch->job->gpus;
}

static void compete(struct chooser *ch, const struct set *s, struct cost *best, uint32_t node)
{
    struct cost cost = cost_of(ch, s);
    if ((ch->found && !cheaper(ch->b->c->victims, &cost, best)) || !admissible(ch, s))
        return;
    ch->found = true;
    ch->best = *s;
    ch->node = node;
    *best = cost;
}

/* The greedy set that gains want, if there is one. */
static bool greedy(const struct chooser *ch, uint32_t node, int want, struct set *s)
{
    int gained = 0;
    s->n = 0;
    for (size_t i = next_candidate(ch, MOST_LEASES, node); i != MOST_LEASES && gained < want;
         i = next_candidate(ch, i, node))
        if (may_evict(ch, i, s)) {
            s->leases[s->n++] = i;
            gained += (int)gain(ch, i, node);
        }
    if (gained < want)
        return false;
    for (size_t i = s->n; i-- > 0;) {
        int without = gained - (int)gain(ch, s->leases[i], node);
        if (without < want)
            continue;
        gained = without;
        memmove(&s->leases[i], &s->leases[i + 1], (--s->n - i) * sizeof *s->leases);
    }
    return true;
}

static void sets_on(struct chooser *ch, uint32_t node, int want, struct cost *best)
{
    struct set s;
    if (greedy(ch, node, want, &s))
        compete(ch, &s, best, node);
    if (ch->b->c->victims == VICTIM_LOWEST_PRIORITY)
        return;
    for (size_t i = next_candidate(ch, MOST_LEASES, node); i != MOST_LEASES;
         i = next_candidate(ch, i, node))
        if ((int)gain(ch, i, node) >= want)
            compete(ch, &(struct set){{i}, 1}, best, node);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Free and coming GPUs of a node that the start may have. */
static int there_on(const struct chooser *ch, uint32_t node)
{
    int usable = least((int)free_on(ch->b, node), ch->free);
    return least(usable + (int)coming_on(ch->b, node), ch->have);
}

static bool choose_in_one_node(struct chooser *ch)
{
    const struct brute *b = ch->b;
    uint32_t fewest = UINT32_MAX;
    int want = (int)ch->job->gpus;
    for (uint32_t node = 0; node < b->c->nodes; node++) {
        uint32_t all = free_on(b, node) + coming_on(b, node);
        if (there_on(ch, node) >= want && all < fewest) {
            fewest = all;
            ch->node = node;
            ch->found = true;
        }
    }
    if (ch->found)
        return true;
    struct cost best;
    for (uint32_t node = 0; node < b->c->nodes; node++) {
        ch->clean = least(least((int)free_on(b, node), ch->free), want);
        sets_on(ch, node, want - there_on(ch, node), &best);
    }
    return ch->found;
}

static bool choose_anywhere(struct chooser *ch)
{
    int want = (int)ch->job->gpus;
    int there = least(ch->free + (int)coming_in_all(ch->b), ch->have);
    struct cost best;
    ch->found = there >= want;
    ch->clean = least(ch->free, want);
    if (!ch->found)
        sets_on(ch, BRUTE_NODES, want - there, &best);
    return ch->found;
}

/* Keeps free GPUs and claims coming ones on each node, after the evictions. */
static void take_and_claim(struct brute *b, const struct chooser *ch, size_t lease)
{
    uint32_t usable[BRUTE_NODES] = {0}, there[BRUTE_NODES] = {0}, take[BRUTE_NODES] = {0};
    int free = ch->free;
    for (uint32_t node = 0; node < b->c->nodes; node++) {
        bool one = in_one_node(b, ch->job);
        usable[node] = (uint32_t)least((int)free_on(b, node), free);
        free -= one ? 0 : (int)usable[node];
        there[node] = usable[node] + coming_on(b, node);
    }
    if (in_one_node(b, ch->job))
        take[ch->node] = ch->job->gpus;
    else
        place(b, ch->job, there, take);
    for (uint32_t node = 0; node < b->c->nodes; node++) {
        uint32_t clean = take[node] < usable[node] ? take[node] : usable[node];
        b->leases[lease].on[node] = clean;
        b->leases[lease].wants[node] = take[node] - clean;
    }
}

bool reclaim(struct brute *b, size_t job)
{
    const struct brute_job *j = &b->c->jobs[job];
    const struct quota *q = quota_of(b, j->tenant);
    static struct chooser ch;
    bool in_floor = usage(b, j->tenant) + j->gpus <= q->floor_gpus;
    ch = (struct chooser){.b = b,
                          .job = j,
                          .from = in_floor ? q->reclaim_within_cohort : q->borrow_within_cohort,
                          .free = may_take_free(b, j->tenant),
                          .have = may_have(b, j->tenant)};
    if (!within_ceiling(b, j) || ch.from == COHORT_NEVER)
        return false;
    for (size_t i = 0; i < b->n_leases; i++)
        if (b->leases[i].state == HELD && !saves_on_notice(b)) {
            size_t of = b->leases[i].job;
            ch.loss[i] = comb_at(b, of, b->now - b->jobs[of].since_ns).lost * b->leases[i].gpus;
        }
    if (!(in_one_node(b, j) ? choose_in_one_node(&ch) : choose_anywhere(&ch)))
        return false;
    for (size_t i = 0; i < ch.best.n; i++)
        evict(b, ch.best.leases[i]);
    size_t lease = new_lease(b, job);
    take_and_claim(b, &ch, lease);
    b->jobs[job].phase = ASSEMBLING;
    b->out->reclaims += ch.best.n > 0;
    return true;
}
