/* Filling: pods arrive one by one, are placed or dropped, and never leave; what the cluster looks
 * like at each share of its GPUs that has been asked for.
 *
 * The list is lengthened by uniformly drawn copies of its pods until what is asked for passes a
 * ratio of the capacity, and shuffled. Every policy sees the same pods in the same order. */
#ifndef HEADROOM_MODELS_PACKING_FILL_H
#define HEADROOM_MODELS_PACKING_FILL_H

#include "models/packing/moves.h"
#include "models/packing/packer.h"

struct fill_plan {
    const struct cluster_nodes *nodes;
    const struct cluster_pods *pods;
    const struct fragment *fragment;
    double ratio;         /* asked for in all / capacity, at least the last level */
    const double *levels; /* ascending shares of capacity that have arrived */
    uint32_t n_levels;
    uint64_t seed;
};

/* At the first arrival that reaches the level; shares of all GPUs of the cluster. */
struct fill_level {
    bool reached;
    double arrived_frac, allocated_frac;
    double fragment_frac;      /* F */
    double stranded_frac;      /* idle and of no use to any typical pod */
    uint64_t arrived, dropped; /* pods */
};

/* One filling. levels: n_levels of them. starts: of each typical shape at each level how many could
 * start at once, [n_levels][fragment->n_pods]; may be NULL. */
enum hr_err fill_run(const struct fill_plan *plan, const struct policy *policy,
                     enum policy_ties ties, uint32_t replication, struct fill_level *levels,
                     uint64_t *starts);

/* What stands where when so much has been asked for; all in the arena. Moving a pod costs the milli
 * that it holds. */
enum hr_err fill_cluster(const struct fill_plan *plan, const struct policy *policy,
                         enum policy_ties ties, uint32_t replication, double level,
                         struct arena *arena, struct moves_cluster *out);

/* The pods of a replication in the order in which they arrive; malloc memory. */
enum hr_err fill_arrivals(const struct fill_plan *plan, uint32_t replication, uint32_t **rows,
                          size_t *n);

#endif
