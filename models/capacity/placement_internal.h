/* Where free GPUs are, and which of them a shape gets.
 *
 * A node's free GPUs are a bit mask (up to 64 GPUs a node). Nodes are indexed by how many GPUs they
 * have free: for each count b a set of node numbers, and one 64-bit word that says which counts
 * occur. Best fit on one node is therefore a few word operations at any number of nodes, and an
 * update moves a node between two sets. Rates: each start and end of a lease, and each question
 * whether a waiting request fits.
 *
 * Rules (ties always go to the lowest node number; GPUs of a node are taken from index 0 up):
 *  - SHAPE_ONE_NODE: the node with fewest free GPUs that suffice.
 *  - SHAPE_PREFER_WHOLE up to the size of the largest node: as one node. Larger: walk the wholly
 *    free nodes by number and take each that is not larger than what is left; the rest goes to one
 *    node by best fit. Where whole nodes and one remainder are not to be had: as SHAPE_ANY.
 *  - SHAPE_ANY: the fullest nodes first, that is those with fewest free GPUs, so that whole nodes
 *    stay whole. */
#ifndef HEADROOM_MODELS_CAPACITY_PLACEMENT_INTERNAL_H
#define HEADROOM_MODELS_CAPACITY_PLACEMENT_INTERNAL_H

#include "models/capacity/fleet.h"
#include "sim/arena.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODE_MAX_GPUS = 64 };
#define NODE_NONE UINT32_MAX

/* GPUs of one node. */
struct part {
    uint32_t node;
    uint64_t mask;
};

struct parts {
    struct part *items; /* owned */
    size_t n, capacity;
};

/* A set of node numbers: one bit a node, and one bit a word that has any. */
struct node_set {
    uint64_t *words, *summary;
    uint32_t n_summary;
};

struct nodes {
    uint32_t n;                                   /* nodes */
    uint32_t n_gpus;                              /* in all */
    uint32_t n_free;                              /* free in all */
    uint32_t n_whole;                             /* of wholly free nodes */
    uint32_t largest;                             /* GPUs of the largest node */
    uint8_t *size;                                /* GPUs of a node */
    uint8_t *free_count;                          /* free GPUs of a node */
    uint64_t *free_mask;                          /* free GPUs of a node */
    uint64_t some;                                /* bit b - 1: a node has exactly b GPUs free */
    struct node_set whole;                        /* wholly free nodes */
    struct node_set with_free[NODE_MAX_GPUS + 1]; /* from 1; by free GPUs */
    uint32_t nodes_with[NODE_MAX_GPUS + 1];       /* how many nodes have b free */
};

/* All GPUs free. Memory is the arena's. */
enum hr_err nodes_init(struct nodes *ns, const struct node_group *groups, size_t n_groups,
                       struct arena *arena);

/* GRANT_OK, GRANT_ROOM (fewer are free than asked for), GRANT_SHAPE (wrongly placed), GRANT_NEVER
 * (fits no empty fleet). */
enum grant nodes_fit(const struct nodes *ns, const struct shape *shape);

/* True when the shape has to be within one node. */
bool nodes_one_node(const struct nodes *ns, const struct shape *shape);

/* Takes GPUs for a shape that fits (nodes_fit says GRANT_OK) and appends them to out, one part a
 * node. HR_NOMEM changes nothing. */
enum hr_err nodes_take(struct nodes *ns, const struct shape *shape, struct parts *out);

/* Takes n free GPUs of one node. */
uint64_t nodes_take_on(struct nodes *ns, uint32_t node, uint32_t n);

/* Makes GPUs of a node free. */
void nodes_give(struct nodes *ns, uint32_t node, uint64_t mask);

/* Free GPUs on nodes with fewer than share free. */
uint32_t nodes_free_below(const struct nodes *ns, uint32_t share);

/* The most free GPUs of a node. */
uint32_t nodes_largest_block(const struct nodes *ns);

/* The index agrees with the masks. */
bool nodes_consistent(const struct nodes *ns);

/* The n lowest bits of a mask that has at least n. */
uint64_t mask_lowest(uint64_t mask, uint32_t n);

static inline uint32_t mask_count(uint64_t mask)
{
    return (uint32_t)__builtin_popcountll(mask);
}

static inline uint64_t mask_full(uint32_t n)
{
    return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

#endif
