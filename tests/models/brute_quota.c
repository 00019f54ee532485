/* Quota: who may have how much, and from whom. Tenants are leaves of a tree of cohorts under the
 * fleet (node 0); everything is counted down the tree whenever it is asked for.
 *
 *   nominal   of a tenant its floor; of a cohort its own and what its members lend
 *   unlent    nominal - lend, if positive
 *   charged   to a tenant what it has; to a cohort what its members have beyond their unlent parts
 *   reaches   of g GPUs more for a tenant its cohort sees what goes beyond the tenant's unlent
 * part, and so on upwards
 *
 * Ceilings: at each node of a tenant's path, charged + what reaches it <= ceiling, which is nominal
 * + borrowing limit. GPUs stay for each node off the path that has less than its unlent part.
 *
 * Reclaim, with A the lowest common ancestor of two tenants. While what reaches some node of the
 * start's path below A fits its nominal quota reclaim_within_cohort says from whom, else
 * borrow_within_cohort, from leases of lower priority and at most the threshold. A victim's tenant
 * and each cohort of it below A must be above nominal. From the tenant itself: within_queue,
 * whatever its quota. Fair share: reclaim_within_cohort always, and shares (charged above nominal,
 * over weight, of the two children of A) decide. */
#include "brute_internal.h"

static int more_than(int a, int b)
{
    return a > b ? a - b : 0;
}

/* Of numbers in a plan, UINT32_MAX: no limit. */
static int limit(uint32_t gpus)
{
    return gpus < 1000000 ? (int)gpus : 1000000;
}

/* ---- the tree ---- */

static uint32_t leaf(const struct brute_case *c, uint32_t tenant)
{
    return 1 + c->n_cohorts + tenant;
}

static bool is_leaf(const struct brute_case *c, uint32_t node)
{
    return node > c->n_cohorts;
}

static const struct quota *quota_at(const struct brute_case *c, uint32_t node)
{
    return &c->tenants[node - 1 - c->n_cohorts].quota;
}

static uint32_t n_nodes(const struct brute_case *c)
{
    return 1 + c->n_cohorts + c->n_tenants;
}

static uint32_t parent(const struct brute_case *c, uint32_t node)
{
    return is_leaf(c, node) ? quota_at(c, node)->cohort : c->cohorts[node - 1].parent;
}

static bool is_in(const struct brute_case *c, uint32_t node, uint32_t ancestor)
{
    while (node != ancestor && node != 0)
        node = parent(c, node);
    return node == ancestor;
}

static uint32_t common(const struct brute_case *c, uint32_t a, uint32_t b)
{
    while (!is_in(c, b, a))
        a = parent(c, a);
    return a;
}

/* ---- what the plan says ---- */

static int unlent(const struct brute_case *c, uint32_t node);

static int nominal(const struct brute_case *c, uint32_t node)
{
    if (is_leaf(c, node))
        return (int)quota_at(c, node)->floor_gpus;
    int sum = (int)c->cohorts[node - 1].floor_gpus;
    for (uint32_t m = 1; m < n_nodes(c); m++)
        if (parent(c, m) == node)
            sum += nominal(c, m) - unlent(c, m);
    return sum;
}

static int unlent(const struct brute_case *c, uint32_t node)
{
    uint32_t lend =
        is_leaf(c, node) ? quota_at(c, node)->lend_gpus : c->cohorts[node - 1].lend_gpus;
    return more_than(nominal(c, node), limit(lend));
}

static int floors_in(const struct brute_case *c, uint32_t node)
{
    int sum = 0;
    for (uint32_t m = 1; m < n_nodes(c); m++)
        if (is_in(c, m, node))
            sum += (int)(is_leaf(c, m) ? quota_at(c, m)->floor_gpus : c->cohorts[m - 1].floor_gpus);
    return sum;
}

/* Of a cohort the plan says what it may hold in all: what is beyond its floors may be borrowed. */
static int ceiling(const struct brute_case *c, uint32_t node)
{
    if (is_leaf(c, node))
        return limit(quota_at(c, node)->ceiling_gpus);
    return more_than(nominal(c, node) + limit(c->cohorts[node - 1].ceiling_gpus),
                     floors_in(c, node));
}

static double weight(const struct brute_case *c, uint32_t node)
{
    double w = is_leaf(c, node) ? quota_at(c, node)->weight : c->cohorts[node - 1].weight;
    return w > 0 ? w : 1;
}

int32_t job_priority(const struct brute_case *c, const struct brute_job *job)
{
    return c->tenants[job->tenant].quota.priority + job->priority;
}

/* ---- counting ---- */

struct counts count_all(const struct brute *b)
{
    struct counts n = {.c = b->c};
    for (size_t i = 0; i < b->n_leases; i++) {
        const struct lease_of *l = &b->leases[i];
        bool stands = l->state == GROWING || l->state == HELD;
        n.of[l->tenant][STANDING] += stands ? (int)l->gpus : 0;
        n.of[l->tenant][USAGE] += stands || l->state == DRAINING ? (int)l->gpus : 0;
        n.of[l->tenant][TIED] += l->state != GONE ? (int)l->gpus : 0;
    }
    return n;
}

void suppose_gone(struct counts *n, uint32_t tenant, uint32_t gpus)
{
    n->of[tenant][STANDING] -= (int)gpus;
    n->of[tenant][USAGE] -= (int)gpus;
}

uint32_t usage(const struct brute *b, uint32_t tenant)
{
    return (uint32_t)count_all(b).of[tenant][USAGE];
}

uint32_t draining(const struct brute *b, uint32_t tenant)
{
    struct counts n = count_all(b);
    return (uint32_t)(n.of[tenant][USAGE] - n.of[tenant][STANDING]);
}

static int charged(const struct counts *n, uint32_t node, enum count k)
{
    int sum = 0;
    if (is_leaf(n->c, node))
        return n->of[node - 1 - n->c->n_cohorts][k];
    for (uint32_t m = 1; m < n_nodes(n->c); m++)
        if (parent(n->c, m) == node)
            sum += more_than(charged(n, m, k), unlent(n->c, m));
    return sum;
}

/* ---- how much ---- */

static int reaches_parent(const struct counts *n, uint32_t node, int gpus, enum count k)
{
    return more_than(gpus, more_than(unlent(n->c, node), charged(n, node, k)));
}

bool under_ceilings(const struct counts *n, const struct brute_job *j)
{
    int gpus = (int)j->gpus;
    for (uint32_t v = leaf(n->c, j->tenant); v != 0; v = parent(n->c, v)) {
        if (gpus > 0 && charged(n, v, USAGE) + gpus > ceiling(n->c, v))
            return false;
        gpus = reaches_parent(n, v, gpus, USAGE);
    }
    return true;
}

int may_have_of(const struct counts *n, uint32_t tenant, int gpus, enum count k)
{
    for (uint32_t v = 1; v < n_nodes(n->c); v++)
        if (!is_in(n->c, leaf(n->c, tenant), v))
            gpus -= more_than(unlent(n->c, v), charged(n, v, k));
    return gpus > 0 ? gpus : 0;
}

bool never_fits(const struct brute *b, const struct brute_job *j)
{
    const struct counts empty = {.c = b->c};
    int gpus = (int)((b->c->nodes - b->c->spares) * b->c->gpus_per_node);
    if (in_one_node(b, j) && j->gpus > b->c->gpus_per_node)
        return true;
    return !under_ceilings(&empty, j) ||
           (int)j->gpus > may_have_of(&empty, j->tenant, gpus, STANDING);
}

bool share_a_ceiling(const struct brute_case *c, uint32_t a, uint32_t b)
{
    return common(c, leaf(c, a), leaf(c, b)) != 0;
}

/* ---- from whom ---- */

static bool fits_nominal(const struct counts *n, const struct brute_job *j, uint32_t ancestor)
{
    int gpus = (int)j->gpus;
    for (uint32_t v = leaf(n->c, j->tenant); v != ancestor; v = parent(n->c, v)) {
        if (gpus <= more_than(nominal(n->c, v), charged(n, v, USAGE)))
            return true;
        gpus = reaches_parent(n, v, gpus, USAGE);
    }
    return false;
}

static bool within_queue_allows(const struct brute_case *c, const struct brute_job *start,
                                const struct brute_job *victim)
{
    int32_t mine = job_priority(c, start), its = job_priority(c, victim);
    switch (c->tenants[start->tenant].quota.within_queue) {
    case QUEUE_LOWER_PRIORITY:
        return its < mine;
    case QUEUE_LOWER_OR_NEWER_EQUAL:
        return its < mine || (its == mine && victim->submit_ns > start->submit_ns);
    default:
        return false;
    }
}

bool policy_allows(const struct counts *n, const struct brute_job *start,
                   const struct brute_job *victim)
{
    const struct brute_case *c = n->c;
    const struct quota *q = &c->tenants[start->tenant].quota;
    int32_t mine = job_priority(c, start), its = job_priority(c, victim);
    if (start->tenant == victim->tenant)
        return within_queue_allows(c, start, victim);
    uint32_t ancestor = common(c, leaf(c, start->tenant), leaf(c, victim->tenant));
    if (c->victims == VICTIM_FAIR_SHARE || fits_nominal(n, start, ancestor))
        return q->reclaim_within_cohort == COHORT_ANY ||
               (q->reclaim_within_cohort == COHORT_LOWER_PRIORITY && its < mine);
    return q->borrow_within_cohort == COHORT_LOWER_PRIORITY && its < mine &&
           (!q->has_borrow_threshold || its <= q->borrow_threshold);
}

bool may_take_from(const struct counts *n, const struct brute_job *start, uint32_t tenant)
{
    const struct brute_case *c = n->c;
    const struct quota *q = &c->tenants[start->tenant].quota;
    if (start->tenant == tenant)
        return q->within_queue != QUEUE_NEVER;
    uint32_t ancestor = common(c, leaf(c, start->tenant), leaf(c, tenant));
    bool reclaims = c->victims == VICTIM_FAIR_SHARE || fits_nominal(n, start, ancestor);
    return (reclaims ? q->reclaim_within_cohort : q->borrow_within_cohort) != COHORT_NEVER &&
           still_borrows(n, start->tenant, tenant);
}

bool may_take_at_all(const struct counts *n, const struct brute_job *start)
{
    const struct quota *q = &n->c->tenants[start->tenant].quota;
    bool any = q->within_queue != QUEUE_NEVER;
    for (uint32_t v = leaf(n->c, start->tenant); v != 0; v = parent(n->c, v)) {
        bool reclaims =
            n->c->victims == VICTIM_FAIR_SHARE || fits_nominal(n, start, parent(n->c, v));
        any =
            any || (reclaims ? q->reclaim_within_cohort : q->borrow_within_cohort) != COHORT_NEVER;
    }
    return any;
}

bool still_borrows(const struct counts *n, uint32_t start, uint32_t victim)
{
    uint32_t mine = leaf(n->c, start), its = leaf(n->c, victim), ancestor = common(n->c, mine, its);
    for (uint32_t v = its; v != ancestor && start != victim; v = parent(n->c, v))
        if (charged(n, v, STANDING) <= nominal(n->c, v))
            return false;
    return true;
}

int borrowed_by(const struct counts *n, uint32_t tenant)
{
    return more_than(n->of[tenant][STANDING], (int)n->c->tenants[tenant].quota.floor_gpus);
}

/* ---- shares ---- */

static double share(const struct counts *n, uint32_t node, int more)
{
    return more_than(charged(n, node, STANDING) + more, nominal(n->c, node)) / weight(n->c, node);
}

uint32_t highest_share(const struct counts *n, unsigned tenants)
{
    uint32_t at = 0;
    while (!is_leaf(n->c, at)) {
        uint32_t best = 0;
        for (uint32_t t = 0; t < n->c->n_tenants; t++) {
            uint32_t v = leaf(n->c, t);
            if (!(tenants >> t & 1) || !is_in(n->c, v, at))
                continue;
            while (parent(n->c, v) != at)
                v = parent(n->c, v);
            if (best == 0 || share(n, v, 0) > share(n, best, 0))
                best = v;
        }
        at = best;
    }
    return at - 1 - n->c->n_cohorts;
}

static uint32_t child(const struct brute_case *c, uint32_t node, uint32_t ancestor)
{
    while (parent(c, node) != ancestor)
        node = parent(c, node);
    return node;
}

bool shares_allow(const struct counts *n, const struct brute_job *start, uint32_t victim,
                  uint32_t gpus, enum strategy s)
{
    uint32_t mine = leaf(n->c, start->tenant), its = leaf(n->c, victim);
    uint32_t ancestor = common(n->c, mine, its), top;
    struct counts after = *n;
    if (start->tenant == victim)
        return true;
    top = child(n->c, mine, ancestor);
    int reaching = (int)start->gpus;
    for (uint32_t v = mine; v != top; v = parent(n->c, v))
        reaching = reaches_parent(n, v, reaching, STANDING);
    double with = share(n, top, reaching);
    if (s == LESS_THAN_INITIAL)
        return with < share(n, child(n->c, its, ancestor), 0);
    suppose_gone(&after, victim, gpus);
    return with <= share(&after, child(n->c, its, ancestor), 0);
}
