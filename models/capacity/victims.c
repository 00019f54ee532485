/* Which leases to evict so that a start finds its GPUs.
 *
 * Candidates are the held leases of claimants that quota lets the start take from, those that are
 * not preemptible left out, in the order of the rule (ties: lower lease number):
 *
 *   least-work-lost      work lost
 *   least-over-reclaim   GPUs, then work lost
 *   youngest             latest start
 *
 * A set of victims is built greedily in that order until what it gains suffices, testing each
 * victim's claimant against its floor; then walked in reverse, dropping those that turned out
 * unnecessary. One victim that suffices alone is a set, too. Within one node a victim gains its
 * GPUs on that node, and each node's sets compete; over many nodes a victim gains all of its GPUs,
 * and any GPUs will do (placement: SHAPE_ANY, or SHAPE_PREFER_WHOLE larger than a node). The
 * cheapest set by the rule's cost wins, ties: the set with the lowest lease number in it, then the
 * lowest node:
 *
 *   least-work-lost      work lost, then GPUs over-reclaimed
 *   least-over-reclaim   GPUs over-reclaimed (evicted - missing), then work lost
 *   youngest             start of its oldest victim (later is better), then GPUs over-reclaimed
 *
 * Where free and incoming unclaimed GPUs suffice, nobody is evicted: best fit among such nodes.
 * Greedy is exact for gangs of one size; a mixed node can have a cheaper set that it does not see.
 *
 * Cost: one look at each lease of the claimants in question, and a sort of them, by node where the
 * shape is within one. It is only paid when their GPUs could suffice in all. */
#include "models/capacity/fleet_internal.h"
#include "sim/vec.h"

#include <gsl/gsl_heapsort.h>

/* What a start needs. */
struct need {
    struct fleet *f;
    uint32_t claimant, gpus;
    enum within_cohort from;
    uint32_t free;   /* free GPUs it may use */
    uint32_t coming; /* free and incoming GPUs together that it may have */
};

struct cost {
    int64_t over; /* GPUs evicted - GPUs missing */
    uint64_t loss;
    simtime_ns oldest;
    lease_id first;
};

/* The best set so far. */
struct best {
    bool found;
    struct cost cost;
};

enum hr_err victims_init(struct fleet *f)
{
    struct victims *v = &f->victims;
    size_t n = f->nodes.n_gpus;
    v->candidates = arena_array(&f->arena, n, sizeof *v->candidates);
    v->order = arena_array(&f->arena, n, sizeof *v->order);
    v->on_node = arena_array(&f->arena, n, sizeof *v->on_node);
    v->first_on_node = arena_array(&f->arena, f->nodes.n, sizeof *v->first_on_node);
    v->picks = arena_array(&f->arena, n, sizeof *v->picks);
    v->trial = arena_array(&f->arena, n, sizeof *v->trial);
    v->chosen = arena_array(&f->arena, n, sizeof *v->chosen);
    bool all = v->candidates && v->order && v->on_node && v->first_on_node && v->picks &&
               v->trial && v->chosen;
    return all ? HR_OK : HR_NOMEM;
}

/* ---- candidates, and the order of the rule ---- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_loss(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->loss, b->loss);
    return c ? c : COMPARE(a->id, b->id);
}

static int by_gpus(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->gpus, b->gpus);
    return c ? c : by_loss(x, y);
}

static int by_start(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(b->since, a->since);
    return c ? c : COMPARE(a->id, b->id);
}

static const gsl_comparison_fn_t rule_order[VICTIM_RULES] = {
    [VICTIM_LEAST_WORK_LOST] = by_loss,
    [VICTIM_LEAST_OVER_RECLAIM] = by_gpus,
    [VICTIM_YOUNGEST] = by_start,
};

/* GPUs held by claimants that the start may take from: no set can gain more. */
static uint64_t takeable_gpus(const struct need *n)
{
    uint64_t gpus = 0;
    for (uint32_t i = 0; i < n->f->claimants.n; i++)
        if (quota_takeable(n->f, n->claimant, n->from, i, 0))
            gpus += n->f->claimants.items[i].held;
    return gpus;
}

/* GPUs of a lease on open nodes. */
static uint32_t open_gpus(const struct fleet *f, const struct lease *l)
{
    if (f->n_closed == 0)
        return l->gpus;
    uint32_t gpus = 0;
    for (size_t i = 0; i < l->parts.n; i++)
        if (!node_closed(f, l->parts.items[i].node))
            gpus += mask_count(l->parts.items[i].mask);
    return gpus;
}

static void collect(const struct need *n)
{
    struct fleet *f = n->f;
    struct victims *v = &f->victims;
    v->n = 0;
    for (uint32_t i = 0; i < f->claimants.n; i++) {
        if (!quota_takeable(f, n->claimant, n->from, i, 0))
            continue;
        const struct claimant_ops *ops = &f->claimants.items[i].ops;
        for (uint32_t s = f->claimants.items[i].first_held; s != NONE;) {
            const struct lease *l = &f->leases.items[s];
            const struct candidate candidate = {
                .loss = ops->loss ? ops->loss(ops->self, l->id, fleet_now(f)) : 0,
                .since = l->since,
                .id = l->id,
                .slot = s,
                .claimant = i,
                .gpus = l->gpus,
                .gain = open_gpus(f, l),
            };
            if (candidate.loss != FLEET_KEEP && candidate.gain > 0)
                v->candidates[v->n++] = candidate;
            s = l->next;
        }
    }
}

/* ---- sets and their cost ---- */

static int compare_cost(enum victim_rule rule, const struct cost *a, const struct cost *b)
{
    int over = COMPARE(a->over, b->over), loss = COMPARE(a->loss, b->loss);
    int oldest = COMPARE(b->oldest, a->oldest), first = COMPARE(a->first, b->first);
    const int keys[VICTIM_RULES][3] = {
        [VICTIM_LEAST_WORK_LOST] = {loss, over, first},
        [VICTIM_LEAST_OVER_RECLAIM] = {over, loss, first},
        [VICTIM_YOUNGEST] = {oldest, over, first},
    };
    for (int i = 0; i < 3; i++)
        if (keys[rule][i])
            return keys[rule][i];
    return 0;
}

/* Victims from picks[0..n) that gain at least want, in v->trial; how many, 0 when none do. */
static uint32_t greedy(const struct need *need, const struct pick *picks, uint32_t n, uint32_t want)
{
    struct victims *v = &need->f->victims;
    uint32_t m = 0, gained = 0;
    for (uint32_t i = 0; i < n && gained < want; i++) {
        const struct candidate *c = &v->candidates[picks[i].candidate];
        uint32_t *taken = &v->taken.items[c->claimant];
        if (!quota_takeable(need->f, need->claimant, need->from, c->claimant, *taken))
            continue;
        *taken += c->gpus;
        gained += picks[i].gain;
        v->trial[m++] = picks[i];
    }
    for (uint32_t i = 0; i < m; i++)
        v->taken.items[v->candidates[v->trial[i].candidate].claimant] = 0;
    if (gained < want)
        return 0;
    uint32_t kept = m;
    for (uint32_t i = m; i-- > 0;)
        if (gained - v->trial[i].gain >= want) {
            gained -= v->trial[i].gain;
            v->trial[i].gain = 0;
            kept--;
        }
    for (uint32_t i = 0, to = 0; i < m; i++)
        if (v->trial[i].gain)
            v->trial[to++] = v->trial[i];
    return kept;
}

/* True when quota lets the start have its GPUs after these evictions: what the victims' floors keep
 * anew is not for it. */
static bool admissible(const struct need *need, const struct pick *set, uint32_t n)
{
    struct victims *v = &need->f->victims;
    uint64_t coming = need->coming, kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *c = &v->candidates[set[i].candidate];
        v->taken.items[c->claimant] += c->gpus;
        coming += c->gain;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t claimant = v->candidates[set[i].candidate].claimant;
        kept += quota_keeps_more(need->f, claimant, v->taken.items[claimant]);
        v->taken.items[claimant] = 0;
    }
    return coming >= kept + need->gpus;
}

/* Makes a set the best one if it is. clean: free GPUs the start would use with it. */
static void compete(const struct need *need, const struct pick *set, uint32_t n, uint32_t clean,
                    uint32_t node, struct best *best)
{
    struct victims *v = &need->f->victims;
    struct cost cost = {.over = (int64_t)clean - need->gpus, .oldest = SIM_NEVER, .first = NONE};
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *c = &v->candidates[set[i].candidate];
        cost.over += c->gpus;
        cost.loss += c->loss;
        cost.oldest = c->since < cost.oldest ? c->since : cost.oldest;
        cost.first = c->id < cost.first ? c->id : cost.first;
    }
    if (best->found && compare_cost(need->f->plan.victims, &cost, &best->cost) >= 0)
        return;
    if (!admissible(need, set, n))
        return;
    *best = (struct best){.found = true, .cost = cost};
    v->node = node;
    v->n_chosen = n;
    for (uint32_t i = 0; i < n; i++)
        v->chosen[i] = set[i].candidate;
}

/* The sets that gain want from n picks in order: the greedy one, and each that suffices alone. */
static void compete_all(const struct need *need, uint32_t n, uint32_t want, uint32_t clean,
                        uint32_t node, struct best *best)
{
    struct victims *v = &need->f->victims;
    uint32_t m = greedy(need, v->picks, n, want);
    if (m > 0)
        compete(need, v->trial, m, clean, node, best);
    for (uint32_t i = 0; i < n; i++)
        if (v->picks[i].gain >= want)
            compete(need, &v->picks[i], 1, clean, node, best);
}

/* ---- a shape within one node ---- */

static uint32_t usable_free(const struct need *need, uint32_t node)
{
    uint32_t free = need->f->nodes.free_count[node];
    return free < need->free ? free : need->free;
}

/* Free and incoming GPUs of a node that the start may have. */
static uint32_t there(const struct need *need, uint32_t node)
{
    uint32_t gpus = usable_free(need, node) + claims_unclaimed(need->f, node);
    return gpus < need->coming ? gpus : need->coming;
}

/* A node where nobody has to go: the one with fewest GPUs that suffice. */
static bool fits_already(const struct need *need)
{
    struct fleet *f = need->f;
    uint32_t fewest = NONE;
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        uint32_t all = f->nodes.free_count[node] + claims_unclaimed(f, node);
        if (all < fewest && there(need, node) >= need->gpus) {
            fewest = all;
            f->victims.node = node;
        }
    }
    return fewest != NONE;
}

/* Lists the candidates of each node, in no order. */
static void list_by_node(struct fleet *f)
{
    struct victims *v = &f->victims;
    uint32_t n = 0;
    for (uint32_t node = 0; node < f->nodes.n; node++)
        v->first_on_node[node] = NONE;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct parts *parts = &f->leases.items[v->candidates[i].slot].parts;
        for (size_t p = 0; p < parts->n; p++) {
            uint32_t node = parts->items[p].node;
            if (node_closed(f, node))
                continue;
            v->on_node[n] = (struct pick){.candidate = i,
                                          .gain = mask_count(parts->items[p].mask),
                                          .next = v->first_on_node[node]};
            v->first_on_node[node] = n++;
        }
    }
}

/* The candidates of a node as picks in the order of the rule: a handful, so by insertion. */
static uint32_t picks_of_node(const struct fleet *f, uint32_t node)
{
    const struct victims *v = &f->victims;
    gsl_comparison_fn_t compare = rule_order[f->plan.victims];
    uint32_t n = 0;
    for (uint32_t i = v->first_on_node[node]; i != NONE; i = v->on_node[i].next) {
        const struct candidate *c = &v->candidates[v->on_node[i].candidate];
        uint32_t at = n++;
        for (; at > 0 && compare(&v->candidates[v->picks[at - 1].candidate], c) > 0; at--)
            v->picks[at] = v->picks[at - 1];
        v->picks[at] = v->on_node[i];
    }
    return n;
}

static bool choose_on_one_node(const struct need *need)
{
    struct fleet *f = need->f;
    struct best best = {.found = false};
    list_by_node(f);
    for (uint32_t node = 0; node < f->nodes.n; node++) {
        if (f->nodes.size[node] < need->gpus)
            continue;
        uint32_t n = picks_of_node(f, node);
        uint32_t free = usable_free(need, node);
        uint32_t clean = free < need->gpus ? free : need->gpus;
        compete_all(need, n, need->gpus - there(need, node), clean, node, &best);
    }
    return best.found;
}

/* ---- a shape over many nodes ---- */

static bool choose_anywhere(const struct need *need, uint32_t already)
{
    struct victims *v = &need->f->victims;
    struct best best = {.found = false};
    gsl_heapsort_index(v->order, v->candidates, v->n, sizeof *v->candidates,
                       rule_order[need->f->plan.victims]);
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t candidate = (uint32_t)v->order[i];
        v->picks[i] = (struct pick){.candidate = candidate, .gain = v->candidates[candidate].gain};
    }
    uint32_t clean = need->free < need->gpus ? need->free : need->gpus;
    compete_all(need, v->n, need->gpus - already, clean, NODE_NONE, &best);
    return best.found;
}

bool victims_choose(struct fleet *f, uint32_t claimant, const struct shape *shape, uint32_t free,
                    uint32_t coming)
{
    const struct need need = {
        .f = f,
        .claimant = claimant,
        .gpus = shape->gpus,
        .from = quota_may_take(f, claimant, shape->gpus),
        .free = free,
        .coming = coming,
    };
    bool one = nodes_one_node(&f->nodes, shape);
    uint64_t there_all = (uint64_t)free + f->n_unclaimed;
    uint32_t already = there_all < coming ? (uint32_t)there_all : coming;
    f->victims.n_chosen = 0;
    f->victims.node = NODE_NONE;
    if (one ? fits_already(&need) : already >= need.gpus)
        return true;
    if (already + takeable_gpus(&need) < need.gpus)
        return false;
    collect(&need);
    return one ? choose_on_one_node(&need) : choose_anywhere(&need, already);
}
