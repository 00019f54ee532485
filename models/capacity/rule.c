/* The rules of victims: in which order candidates are tried, and what a set of them costs.
 *
 * GPUs are those of the lease and of its extensions, which end with it; started at the same time an
 * extension goes first. Further ties go to the lower lease number; between sets to the one with the
 * lowest lease number in it, then the lower node.
 *
 *   rule                 order                                     cost of a set
 *   least-work-lost      work lost                                 work lost, GPUs over-reclaimed
 *   least-over-reclaim   GPUs, work lost                           GPUs over-reclaimed, work lost
 *   youngest             latest start                              start of its oldest (later is
 *                                                                  better), GPUs over-reclaimed
 *   lowest-priority      others' before own, lowest priority,      own ones in it, highest
 * priority, latest start                              start of its oldest smallest-gang        most
 * GPUs                                 number, GPUs proportional         of the claimant that has
 * given least of   what the claimant that gives most its part, latest start gives beyond its part
 *   fair-share           of the claimant with the highest share,   lowest share of a claimant in it
 *                        lowest priority, latest start             (higher is better)
 *
 * over-reclaimed: evicted - missing. A claimant's part of n GPUs is n times what it borrows over
 * what all of them borrow, and what it still owes: parts that could not be given exactly (gangs are
 * whole) are carried to the next choice, until it borrows no more. smallest-gang tries large gangs
 * first because the fewest victims are wanted where no single one suffices.
 *
 * The order of lowest-priority is that of Kueue (pkg/scheduler/preemption, candidatesOrdering), and
 * so is that of fair-share with its two strategies: first candidates whose claimant keeps at least
 * the share that the start's would have; then, one a claimant, those whose claimant has more than
 * that before. */
#include "models/capacity/fleet_internal.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* ---- orders ---- */

static int by_loss(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->loss, b->loss);
    return c ? c : COMPARE(a->id, b->id);
}

static int by_gpus(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->whole, b->whole);
    return c ? c : by_loss(x, y);
}

static int by_start(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(b->since, a->since);
    if (!c)
        c = COMPARE(b->extends, a->extends);
    return c ? c : COMPARE(a->id, b->id);
}

static int by_priority(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->priority, b->priority);
    return c ? c : by_start(x, y);
}

static int by_own_and_priority(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->own, b->own);
    return c ? c : by_priority(x, y);
}

static int by_most_gpus(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(b->whole, a->whole);
    return c ? c : COMPARE(a->id, b->id);
}

static int by_claimant_and_start(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->claimant, b->claimant);
    return c ? c : by_start(x, y);
}

static int by_claimant_and_priority(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int c = COMPARE(a->claimant, b->claimant);
    return c ? c : by_priority(x, y);
}

const candidate_order rule_order[VICTIM_RULES] = {
    [VICTIM_LEAST_WORK_LOST] = by_loss,
    [VICTIM_LEAST_OVER_RECLAIM] = by_gpus,
    [VICTIM_YOUNGEST] = by_start,
    [VICTIM_LOWEST_PRIORITY] = by_own_and_priority,
    [VICTIM_SMALLEST_GANG] = by_most_gpus,
    [VICTIM_PROPORTIONAL] = by_claimant_and_start,
    [VICTIM_FAIR_SHARE] = by_claimant_and_priority,
};

bool rule_by_claimant(enum victim_rule rule)
{
    return rule == VICTIM_PROPORTIONAL || rule == VICTIM_FAIR_SHARE;
}

bool rule_by_loss(enum victim_rule rule)
{
    return rule == VICTIM_LEAST_WORK_LOST || rule == VICTIM_LEAST_OVER_RECLAIM;
}

/* ---- costs ---- */

struct cost rule_cost(const struct fleet *f, const struct pick *set, uint32_t n, int64_t clean)
{
    const struct victims *v = &f->victims;
    struct cost cost = {.over = clean, .oldest = SIM_NEVER, .first = NONE, .n = n};
    cost.top = INT32_MIN;
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *c = &v->candidates[set[i].candidate];
        cost.over += c->whole;
        cost.gpus += c->whole;
        cost.loss = c->loss > UINT64_MAX - cost.loss ? UINT64_MAX : cost.loss + c->loss;
        cost.oldest = c->since < cost.oldest ? c->since : cost.oldest;
        cost.first = c->id < cost.first ? c->id : cost.first;
        cost.top = c->priority > cost.top ? c->priority : cost.top;
        cost.own = cost.own || c->own;
        double share = v->of.items[c->claimant].share;
        cost.share = i == 0 || share < cost.share ? share : cost.share;
    }
    return cost;
}

enum cost_key {
    BY_FIRST,
    BY_OVER,
    BY_LOSS,
    BY_OLDEST,
    BY_OWN,
    BY_TOP,
    BY_N,
    BY_GPUS,
    BY_CHARGE,
    BY_SHARE
};

static int compare_key(enum cost_key key, const struct cost *a, const struct cost *b)
{
    switch (key) {
    case BY_OVER:
        return COMPARE(a->over, b->over);
    case BY_LOSS:
        return COMPARE(a->loss, b->loss);
    case BY_OLDEST:
        return COMPARE(b->oldest, a->oldest);
    case BY_OWN:
        return COMPARE(a->own, b->own);
    case BY_TOP:
        return COMPARE(a->top, b->top);
    case BY_N:
        return COMPARE(a->n, b->n);
    case BY_GPUS:
        return COMPARE(a->gpus, b->gpus);
    case BY_CHARGE:
        return COMPARE(a->charge, b->charge);
    case BY_SHARE:
        return COMPARE(b->share, a->share);
    default:
        return COMPARE(a->first, b->first);
    }
}

int rule_compare(enum victim_rule rule, const struct cost *a, const struct cost *b)
{
    static const enum cost_key keys[VICTIM_RULES][4] = {
        [VICTIM_LEAST_WORK_LOST] = {BY_LOSS, BY_OVER},
        [VICTIM_LEAST_OVER_RECLAIM] = {BY_OVER, BY_LOSS},
        [VICTIM_YOUNGEST] = {BY_OLDEST, BY_OVER},
        [VICTIM_LOWEST_PRIORITY] = {BY_OWN, BY_TOP, BY_OLDEST},
        [VICTIM_SMALLEST_GANG] = {BY_N, BY_GPUS},
        [VICTIM_PROPORTIONAL] = {BY_CHARGE, BY_OVER},
        [VICTIM_FAIR_SHARE] = {BY_SHARE, BY_OVER},
    };
    for (int i = 0; i < 4; i++) {
        int c = compare_key(keys[rule][i], a, b);
        if (c)
            return c;
    }
    return 0;
}

/* ---- what adds up ---- */

bool rule_adds(enum victim_rule rule)
{
    return rule == VICTIM_LEAST_WORK_LOST || rule == VICTIM_LEAST_OVER_RECLAIM ||
           rule == VICTIM_SMALLEST_GANG;
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct sum rule_add(enum victim_rule rule, struct sum s, const struct candidate *c)
{
    uint64_t first = rule == VICTIM_LEAST_WORK_LOST ? c->loss
                     : rule == VICTIM_SMALLEST_GANG ? 1
                                                    : c->whole;
    uint64_t then = rule == VICTIM_LEAST_OVER_RECLAIM ? c->loss : c->whole;
    return (struct sum){add(s.first, first), add(s.then, then)};
}
