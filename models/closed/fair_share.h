/* Fair shares in the fluid limit: what each tenant is due when GPUs can be divided at will.
 *
 * Weighted max-min: raise every allocation in proportion to its weight; a tenant stops when its
 * demand is met, the rest is divided again among the others (progressive filling; D. Bertsekas and
 * R. Gallager, Data Networks, 1987). The three rules of cluster queueing systems build on it:
 *
 *   KAI     min(quota, demand) first, then what is left by priority, highest first, within a
 *           priority by weight (NVIDIA/KAI-Scheduler, docs/fairness/README.md)
 *   Kueue   min(nominal, demand) first; the pool to borrow from is the cohort's own nominal quota
 *           and, of each member, min(lending limit, unused nominal); it is filled by weight, each
 *           member up to its borrowing limit (kubernetes-sigs/kueue, concepts/cluster_queue.md,
 *           concepts/cohort.md, fair sharing by usage above nominal / weight)
 *   DRF     progressive filling of the dominant share, the largest of a tenant's shares of the
 *           resources (A. Ghodsi et al., NSDI 2011)
 *
 * An absent limit is INFINITY. Amounts are not negative, weights positive, else false or NaN. */
#ifndef HEADROOM_MODELS_CLOSED_FAIR_SHARE_H
#define HEADROOM_MODELS_CLOSED_FAIR_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* alloc[i] = min(demand[i], level x weight[i]); returns the level, INFINITY when all demands are
 * met. */
double fair_share_fill(double capacity, const double *demand, const double *weight, size_t n,
                       double *alloc);

struct kai_queue {
    double quota, weight, demand;
    int32_t priority;
};
bool fair_share_kai(double capacity, const struct kai_queue *queues, size_t n, double *alloc);

struct kueue_member {
    double nominal, borrow_limit, lend_limit, weight, demand;
};
bool fair_share_kueue(double cohort_nominal, const struct kueue_member *members, size_t n,
                      double *alloc);

/* demand is n rows of n_resources amounts a task; tasks[i], which need not be whole, is at most
 * most[i]. At most 64 resources, at most 64 tenants. */
bool fair_share_drf(const double *capacity, size_t n_resources, const double *demand,
                    const double *weight, const double *most, size_t n, double *tasks);

#endif
