/* Packer: places pods on the nodes of a cluster by a policy, fast.
 *
 * Scores are kept for each shape and node. A placement changes one node, so a shape that is asked
 * for again scores only the nodes that changed since, each once, and then looks for the best of
 * what stands in its row. Blocks of 64 nodes keep their best, so that a row is not read whole. */
#ifndef HEADROOM_MODELS_PACKING_PACKER_H
#define HEADROOM_MODELS_PACKING_PACKER_H

#include "models/packing/policy.h"
#include "sim/rng.h"

struct packer_row;

struct packer {
    const struct policy *policy;
    const struct cluster_pods *pods;
    const struct fragment *fragment;
    struct cluster_room *rooms;
    struct fragment_view *views;
    uint32_t n_nodes, n_blocks;
    enum policy_ties ties;
    struct rng rng;          /* of ties and devices */
    struct packer_row *rows; /* one a shape */
    struct {                 /* nodes in the order in which they changed; owned */
        uint32_t *items;
        size_t n, capacity;
    } log;
    size_t *changed; /* of each node: 1 + its last place in the log */
    struct arena *arena;
};

/* A packer on an empty cluster; ties only where the policy leaves them open. It borrows everything.
 * packer_fini in any case. */
enum hr_err packer_init(struct packer *p, const struct policy *policy, enum policy_ties ties,
                        const struct cluster_nodes *nodes, const struct cluster_pods *pods,
                        const struct fragment *fragment, const struct rng *rng,
                        struct arena *arena);
void packer_fini(struct packer *p); /* accepts a zeroed one */

/* Places a pod of this shape: *node is CLUSTER_NOWHERE when none fits, else *devices are those that
 * it took. */
enum hr_err packer_place(struct packer *p, uint32_t shape, uint32_t *node, uint32_t *devices);

/* A pod leaves. */
enum hr_err packer_remove(struct packer *p, uint32_t shape, uint32_t node, uint32_t devices);

#endif
