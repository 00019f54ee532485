/* Quotas and cohorts of a design. Cohorts are numbered by depth, then name, so that parents come
 * first and the order in the file decides nothing. */
#include "scenarios/quotas.h"

#include <math.h>
#include <string.h>

/* ---- the tree ---- */

static const struct cohort_spec *specs(const struct design_spec *d)
{
    return d->cohorts.items;
}

/* Index in the file; n when there is none of this name. */
static size_t find(const struct design_spec *d, const char *name)
{
    size_t i = 0;
    while (i < d->cohorts.n && strcmp(d->cohorts.names[i], name) != 0)
        i++;
    return i;
}

/* Cohorts above one; the number of cohorts when it contains itself or a parent is unknown. */
static size_t depth(const struct design_spec *d, size_t i)
{
    size_t n = 0;
    while (n < d->cohorts.n && specs(d)[i].parent) {
        i = find(d, specs(d)[i].parent);
        if (i == d->cohorts.n)
            return i;
        n++;
    }
    return n;
}

/* 1 + its place in the plan. */
static uint32_t number(const struct design_spec *d, size_t i)
{
    uint32_t before = 0;
    size_t at = depth(d, i);
    for (size_t k = 0; k < d->cohorts.n; k++) {
        size_t other = depth(d, k);
        before +=
            other < at || (other == at && strcmp(d->cohorts.names[k], d->cohorts.names[i]) < 0);
    }
    return before + 1;
}

void quotas_check(const struct check *c, const struct design_spec *d)
{
    for (size_t i = 0; i < d->cohorts.n; i++) {
        const char *parent = specs(d)[i].parent;
        if (parent && find(d, parent) == d->cohorts.n)
            check_say(c, DIAG_ERROR, specs(d)[i].at, "parent",
                      diag_nearest(parent, d->cohorts.names, d->cohorts.n),
                      "parent: no cohort '%.60s'", parent);
        else if (parent && depth(d, i) == d->cohorts.n)
            check_say(c, DIAG_ERROR, specs(d)[i].at, "parent", NULL,
                      "parent: cohort '%.60s' would contain itself", d->cohorts.names[i]);
    }
}

uint64_t quotas_own_gpus(const struct design_spec *d)
{
    uint64_t gpus = 0;
    for (size_t i = 0; i < d->cohorts.n; i++)
        gpus += specs(d)[i].floor;
    return gpus;
}

/* Floors of a cohort, its members and theirs. */
static uint64_t whole(const struct design_spec *d, size_t i)
{
    const struct quota_spec *quotas = d->quotas.items;
    uint64_t gpus = specs(d)[i].floor;
    for (size_t k = 0; k < d->quotas.n; k++)
        if (quotas[k].cohort && strcmp(quotas[k].cohort, d->cohorts.names[i]) == 0)
            gpus += quotas[k].floor;
    for (size_t k = 0; k < d->cohorts.n; k++)
        if (specs(d)[k].parent && strcmp(specs(d)[k].parent, d->cohorts.names[i]) == 0)
            gpus += whole(d, k);
    return gpus;
}

enum hr_err quotas_cohorts(const struct check *c, const struct design_spec *d, size_t more,
                           struct cohort **out, size_t *n)
{
    struct cohort *cohorts = arena_array(c->arena, d->cohorts.n + more, sizeof *cohorts);
    if (!cohorts && d->cohorts.n + more > 0)
        return HR_NOMEM;
    for (size_t i = 0; i < d->cohorts.n; i++) {
        const struct cohort_spec *s = &specs(d)[i];
        uint64_t most = s->borrow == FIELD_NO_WHOLE ? UINT32_MAX : whole(d, i) + s->borrow;
        cohorts[number(d, i) - 1] = (struct cohort){
            .name = d->cohorts.names[i],
            .parent = s->parent ? number(d, find(d, s->parent)) : COHORT_ROOT,
            .floor_gpus = (uint32_t)s->floor,
            .ceiling_gpus = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX,
            .lend_gpus = s->lend < UINT32_MAX ? (uint32_t)s->lend : UINT32_MAX,
            .weight = s->weight,
        };
    }
    *out = cohorts;
    *n = d->cohorts.n;
    return HR_OK;
}

/* ---- one claimant ---- */

static bool whole_number(const struct check *c, const void *at, const char *key, double value)
{
    if (value != (double)(int32_t)value)
        check_say(c, DIAG_ERROR, at, key, NULL, "%s: must be a whole number", key);
    return value == (double)(int32_t)value;
}

static void borrow_policy(const struct check *c, const struct quota_spec *q, struct quota *out)
{
    const struct borrow_spec *b = &q->borrow_within_cohort;
    if (!b->at)
        return;
    out->borrow_within_cohort = (enum within_cohort)b->policy;
    if (b->policy != COHORT_NEVER && out->reclaim_within_cohort == COHORT_NEVER)
        check_say(c, DIAG_ERROR, b->at, "policy", NULL,
                  "borrow_within_cohort: needs a reclaim_within_cohort other than never");
    if (isnan(b->max_priority))
        return;
    if (b->policy == COHORT_NEVER)
        check_say(c, DIAG_ERROR, b->at, "max_priority", NULL,
                  "max_priority: has no meaning with policy never");
    out->has_borrow_threshold = whole_number(c, b->at, "max_priority", b->max_priority);
    out->borrow_threshold = out->has_borrow_threshold ? (int32_t)b->max_priority : 0;
}

static void policies(const struct check *c, const struct quota_spec *q, struct quota *out)
{
    bool reclaim = q->reclaim_within_cohort != FIELD_NO_WORD, borrow = q->borrow_within_cohort.at;
    out->within_queue = (enum within_queue)q->within_queue;
    if (!reclaim && !borrow) {
        quota_may_reclaim(
            out,
            (enum may_reclaim)(q->may_reclaim == FIELD_NO_WORD ? RECLAIM_FLOOR : q->may_reclaim));
        return;
    }
    if (q->may_reclaim != FIELD_NO_WORD)
        check_say(c, DIAG_ERROR, q->at, "may_reclaim", NULL,
                  "may_reclaim: is the short form of %s; give one of them",
                  reclaim ? "reclaim_within_cohort" : "borrow_within_cohort");
    if (reclaim)
        out->reclaim_within_cohort = (enum within_cohort)q->reclaim_within_cohort;
    borrow_policy(c, q, out);
}

struct quota quotas_quota(const struct check *c, const struct design_spec *d,
                          const struct quota_spec *q)
{
    uint64_t all = c->fleet_gpus, ceiling = all;
    if (q->borrow != FIELD_NO_WHOLE && q->floor + q->borrow < all)
        ceiling = q->floor + q->borrow;
    uint64_t lend = q->lend == FIELD_NO_WHOLE ? q->floor : q->lend;
    if (lend > q->floor)
        check_say(c, DIAG_ERROR, q->at, "lend", NULL, "lend: more than the floor of %llu GPUs",
                  (unsigned long long)q->floor);
    struct quota out = {.floor_gpus = (uint32_t)q->floor,
                        .ceiling_gpus = (uint32_t)ceiling,
                        .lend_gpus = (uint32_t)lend,
                        .weight = q->weight};
    if (whole_number(c, q->at, "priority", q->priority))
        out.priority = (int32_t)q->priority;
    policies(c, q, &out);
    if (!q->cohort)
        return out;
    size_t cohort = find(d, q->cohort);
    if (cohort == d->cohorts.n)
        check_say(c, DIAG_ERROR, q->at, "cohort",
                  diag_nearest(q->cohort, d->cohorts.names, d->cohorts.n),
                  "cohort: no cohort '%.60s'", q->cohort);
    else
        out.cohort = number(d, cohort);
    return out;
}
