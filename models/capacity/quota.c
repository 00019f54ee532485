/* Quota: how much a claimant may take, and from whom.
 *
 * With free GPUs F, incoming GPUs (of stopping leases) that nobody has claimed I, and for each
 * claimant j the unlent part of its floor u_j = floor_j - lend_j, claimant i may start g more when
 *
 *   usage_i + g <= ceiling_i                                                            (ceiling)
 *   taken from free now   <= F     - sum over j != i of max(0, u_j - tied_j)            (now)
 *   g                     <= F + I - sum over j != i of max(0, u_j - standing_j)        (coming)
 *
 * Of an unused floor of j, floor_j - held_j, others may use at most lend_j, so max(0, u_j - held_j)
 * GPUs must stay for it: free ones now (GPUs that j itself has just stopped will come back to it
 * and count as its own, hence tied), and again when all that stops has stopped (coming, in which
 * the GPUs of victims are added). So, provided the floors fit the fleet, whoever stays within its
 * own unlent floor finds its GPUs free or on their way, and with floor = ceiling and lend 0
 * everywhere the claimants are strangers to each other.
 *
 * Whom i may take leases from:
 *   reclaim_within_cohort   while usage_i + g <= floor_i: whoever is above its floor, or of these
 * who is of lower priority borrow_within_cohort    beyond that: whoever is above its floor and of
 * lower priority "Above its floor" is standing > floor, tested before each eviction: GPUs that are
 * being given back cannot be taken twice, and a claimant ends below its floor by less than one
 * lease. */
#include "models/capacity/fleet_internal.h"

#include <assert.h>

const char *const within_cohort_names[COHORT_POLICIES] = {"never", "lower-priority", "any"};
const char *const within_queue_names[QUEUE_POLICIES] = {"never", "lower-priority",
                                                        "lower-or-newer-equal"};
const char *const may_reclaim_names[RECLAIM_POLICIES] = {"never", "floor", "lower-priority"};

void quota_may_reclaim(struct quota *q, enum may_reclaim may)
{
    q->reclaim_within_cohort = may == RECLAIM_NEVER ? COHORT_NEVER : COHORT_ANY;
    q->borrow_within_cohort = may == RECLAIM_LOWER_PRIORITY ? COHORT_LOWER_PRIORITY : COHORT_NEVER;
}

static uint32_t above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

enum grant quota_ceiling(const struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    const struct claimant *c = &f->claimants.items[claimant];
    uint64_t others = f->unlent - c->unlent; /* never free for it, whoever runs */
    if (gpus > c->quota.ceiling_gpus || gpus + others > f->nodes.n_gpus)
        return GRANT_NEVER;
    return gpus > above(c->quota.ceiling_gpus, c->usage) ? GRANT_QUOTA : GRANT_OK;
}

uint32_t quota_free(const struct fleet *f, uint32_t claimant)
{
    uint32_t kept = 0;
    for (uint32_t j = 0; j < f->claimants.n; j++)
        if (j != claimant)
            kept += above(f->claimants.items[j].unlent, f->claimants.items[j].tied);
    return above(f->nodes.n_free, kept);
}

uint32_t quota_coming(const struct fleet *f, uint32_t claimant)
{
    uint32_t kept = 0;
    for (uint32_t j = 0; j < f->claimants.n; j++)
        if (j != claimant)
            kept += above(f->claimants.items[j].unlent, f->claimants.items[j].standing);
    return above(f->nodes.n_free + f->n_unclaimed, kept);
}

enum within_cohort quota_may_take(const struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    const struct claimant *c = &f->claimants.items[claimant];
    bool within = gpus <= above(c->quota.floor_gpus, c->usage);
    return within ? c->quota.reclaim_within_cohort : c->quota.borrow_within_cohort;
}

bool quota_takeable(const struct fleet *f, uint32_t claimant, enum within_cohort from,
                    uint32_t victim, uint32_t taken)
{
    const struct claimant *c = &f->claimants.items[claimant];
    const struct claimant *v = &f->claimants.items[victim];
    if (from == COHORT_NEVER || victim == claimant || v->standing - taken <= v->quota.floor_gpus)
        return false;
    return from == COHORT_ANY || v->quota.priority < c->quota.priority;
}

uint32_t quota_keeps_more(const struct fleet *f, uint32_t victim, uint32_t taken)
{
    const struct claimant *v = &f->claimants.items[victim];
    return above(v->unlent, v->standing - taken) - above(v->unlent, v->standing);
}

bool quota_charge(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    struct claimant *c = &f->claimants.items[claimant];
    bool borrows = gpus > above(c->quota.floor_gpus, c->usage);
    c->standing += gpus;
    c->usage += gpus;
    c->tied += gpus;
    return borrows;
}

void quota_stop(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    assert(f->claimants.items[claimant].standing >= gpus);
    f->claimants.items[claimant].standing -= gpus;
}

void quota_release(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    assert(f->claimants.items[claimant].usage >= gpus);
    f->claimants.items[claimant].usage -= gpus;
}

void quota_untie(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    assert(f->claimants.items[claimant].tied >= gpus);
    f->claimants.items[claimant].tied -= gpus;
}
