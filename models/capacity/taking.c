/* From whom a start may take leases, and fair shares.
 *
 * Let A be the lowest common ancestor of the asking claimant i and of j (without cohorts: the
 * fleet). Then
 *
 *   reclaim_within_cohort   decides when the start fits the nominal quota of i, or of a cohort of i
 *                           below A: n + g <= nominal for what of g reaches that node. It takes
 *                           from whoever borrows, or from leases of lower priority of these
 *   borrow_within_cohort    decides otherwise: leases of lower priority of whoever borrows, at most
 *                           borrow_threshold
 *   within_queue            leases of i itself: of lower priority, or of equal priority and
 *                           submitted later
 *
 * j borrows when it and each cohort of it below A is above its nominal quota by the leases that
 * stand, tested before each eviction: GPUs that are being given back cannot be taken twice, and a
 * claimant ends below its floor by less than one lease. (Kueue: classical preemption, with
 * "hierarchical advantage" for what is called to fit here.) Under the rule fair-share priorities
 * and borrow_within_cohort do not decide between claimants, shares do (Kueue: fair sharing).
 *
 * A priority is that of a lease: its claimant's and that of its ask.
 *
 * The share of a node is max(0, n - nominal) / lendable / weight; lendable is what all members of
 * its parent could have together, the same for all of them, so that shares of members are compared
 * by (n - nominal) / weight. */
#include "models/capacity/fleet_internal.h"

#include <math.h>

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

static const struct quota_node *at(const struct fleet *f, uint32_t node)
{
    return &f->tree.items[node];
}

/* Claimants are leaves, and cohorts are numbered after their parents: the larger number goes up. */
static uint32_t common_ancestor(const struct fleet *f, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b)
            a = at(f, a)->parent;
        else
            b = at(f, b)->parent;
    return a;
}

/* The node on the way from a leaf to an ancestor that is next below it. */
static uint32_t below(const struct fleet *f, uint32_t leaf, uint32_t ancestor)
{
    while (at(f, leaf)->parent != ancestor)
        leaf = at(f, leaf)->parent;
    return leaf;
}

/* Whether the start fits the nominal quota of a node of its own below the ancestor. */
static bool fits_nominal(const struct fleet *f, const struct taking *t, uint32_t ancestor)
{
    uint32_t gpus = t->gpus;
    for (uint32_t i = quota_node(f, t->claimant); i != ancestor; i = at(f, i)->parent) {
        const struct quota_node *v = at(f, i);
        if (gpus <= above(v->nominal, v->n[QUOTA_USAGE]))
            return true;
        gpus = above(gpus, above(v->unlent, v->n[QUOTA_USAGE]));
    }
    return false;
}

static bool borrows(const struct fleet *f, uint32_t leaf, uint32_t ancestor)
{
    for (uint32_t i = leaf; i != ancestor; i = at(f, i)->parent)
        if (at(f, i)->n[QUOTA_STANDING] <= at(f, i)->nominal)
            return false;
    return true;
}

struct taking taking_of(const struct fleet *f, uint32_t claimant, const struct ask *ask)
{
    const struct quota *q = &f->claimants.items[claimant].quota;
    return (struct taking){.claimant = claimant,
                           .gpus = ask->shape.gpus,
                           .priority = q->priority + ask->priority,
                           .submit_ns = ask->submit_ns};
}

bool taking_possible(const struct fleet *f, const struct taking *t)
{
    const struct quota *q = &f->claimants.items[t->claimant].quota;
    uint32_t parent = at(f, quota_node(f, t->claimant))->parent;
    bool shares = f->plan.victims == VICTIM_FAIR_SHARE;
    if (q->within_queue != QUEUE_NEVER)
        return true;
    if (q->reclaim_within_cohort != COHORT_NEVER && (shares || fits_nominal(f, t, COHORT_ROOT)))
        return true;
    return q->borrow_within_cohort != COHORT_NEVER && !shares && !fits_nominal(f, t, parent);
}

bool taking_from(const struct fleet *f, const struct taking *t, uint32_t victim,
                 struct terms *terms)
{
    const struct quota *q = &f->claimants.items[t->claimant].quota;
    uint32_t own = quota_node(f, t->claimant), leaf = quota_node(f, victim);
    *terms = (struct terms){.priority_below = INT64_MAX, .equal_from_ns = SIM_NEVER};
    if (victim == t->claimant) {
        terms->priority_below = t->priority;
        if (q->within_queue == QUEUE_LOWER_OR_NEWER_EQUAL)
            terms->equal_from_ns = t->submit_ns;
        return q->within_queue != QUEUE_NEVER;
    }
    uint32_t ancestor = common_ancestor(f, own, leaf);
    bool shares = f->plan.victims == VICTIM_FAIR_SHARE;
    bool reclaims = shares || fits_nominal(f, t, ancestor);
    enum within_cohort policy = reclaims ? q->reclaim_within_cohort : q->borrow_within_cohort;
    if (policy == COHORT_LOWER_PRIORITY)
        terms->priority_below = t->priority;
    if (!reclaims && q->has_borrow_threshold && q->borrow_threshold < terms->priority_below)
        terms->priority_below = (int64_t)q->borrow_threshold + 1;
    return policy != COHORT_NEVER && borrows(f, leaf, ancestor);
}

bool taking_covers(const struct terms *terms, const struct lease *l)
{
    return l->priority < terms->priority_below ||
           (l->priority == terms->priority_below && l->submit_ns > terms->equal_from_ns);
}

bool taking_still(const struct fleet *f, const struct taking *t, uint32_t victim)
{
    uint32_t own = quota_node(f, t->claimant), leaf = quota_node(f, victim);
    return victim == t->claimant || borrows(f, leaf, common_ancestor(f, own, leaf));
}

bool taking_shares_ceiling(const struct fleet *f, const struct taking *t, uint32_t victim)
{
    return common_ancestor(f, quota_node(f, t->claimant), quota_node(f, victim)) != COHORT_ROOT;
}

/* ---- shares ---- */

/* Usage above nominal over weight; more GPUs are charged at the node. */
static double weighted(const struct quota_node *v, uint32_t n)
{
    return above(n, v->nominal) / v->weight;
}

/* What the members of a node could have together. */
static double lendable(const struct fleet *f, uint32_t node)
{
    if (node == COHORT_ROOT)
        return nodes_most(&f->nodes) - (double)f->unlent;
    const struct quota_node *v = at(f, node);
    double all = v->unlent + lendable(f, v->parent);
    return v->ceiling < all ? v->ceiling : all;
}

double fleet_share(const struct fleet *f, uint32_t claimant)
{
    const struct quota_node *v = at(f, quota_node(f, claimant));
    double w = weighted(v, v->n[QUOTA_USAGE]), all = lendable(f, v->parent);
    return w > 0 ? (all > 0 ? w / all : INFINITY) : 0;
}

bool share_higher(const struct fleet *f, uint32_t a, uint32_t b)
{
    uint32_t x = quota_node(f, a), y = quota_node(f, b), ancestor = common_ancestor(f, x, y);
    const struct quota_node *v = at(f, below(f, x, ancestor)), *w = at(f, below(f, y, ancestor));
    return weighted(v, v->n[QUOTA_STANDING]) > weighted(w, w->n[QUOTA_STANDING]);
}

/* Charged with a start, by what of it reaches the node. */
static double share_with(const struct fleet *f, const struct taking *t, uint32_t node)
{
    uint32_t gpus = t->gpus;
    for (uint32_t i = quota_node(f, t->claimant); i != node; i = at(f, i)->parent)
        gpus = above(gpus, above(at(f, i)->unlent, at(f, i)->n[QUOTA_STANDING]));
    return weighted(at(f, node), at(f, node)->n[QUOTA_STANDING] + gpus);
}

bool share_allows(struct fleet *f, const struct taking *t, uint32_t victim, uint32_t gpus,
                  enum share_strategy strategy)
{
    if (victim == t->claimant)
        return true;
    uint32_t x = quota_node(f, t->claimant), y = quota_node(f, victim);
    uint32_t ancestor = common_ancestor(f, x, y), b = below(f, y, ancestor);
    double mine = share_with(f, t, below(f, x, ancestor));
    if (strategy == SHARE_LESS_THAN_INITIAL)
        return mine < weighted(at(f, b), at(f, b)->n[QUOTA_STANDING]);
    quota_suppose(f, victim, gpus);
    double final = weighted(at(f, b), at(f, b)->n[QUOTA_STANDING]);
    quota_undo(f, victim, gpus);
    return mine <= final;
}
