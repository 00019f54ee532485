/* Where free GPUs are, and which of them a shape gets.
 *
 * A node's free GPUs are a bit mask (up to 64 GPUs a node). Nodes are indexed by how many GPUs they
 * have free: for each count b a set of node numbers, and one 64-bit word that says which counts
 * occur. Best fit on one node is therefore a few word operations at any number of nodes, and an
 * update moves a node between two sets. Rates: each start and end of a lease, and each question
 * whether a waiting request fits.
 *
 * Rules (ties always go to the lowest node number; GPUs of a node are taken from index 0 up).
 * On one node (SHAPE_ONE_NODE, and every kind but SHAPE_ANY up to the size of the largest node), of
 * the nodes with enough free GPUs:
 *  - best-fit: the one with fewest free GPUs;
 *  - first-fit: the one with the lowest number;
 *  - worst-fit: the one with most free GPUs;
 *  - topology: as best-fit; where that is a wholly free node, one of the leaf group with fewest
 *    wholly free nodes, so that whole leaf groups stay whole.
 * Larger shapes:
 *  - SHAPE_PREFER_WHOLE walks the wholly free nodes by number and takes each that is not larger
 *    than what is left; the rest goes to one node by best fit. With topology: as SHAPE_ONE_LEAF
 *    where a leaf group holds it; else in the spine with fewest wholly free nodes that holds it;
 *    else spine by spine, those with most of them first, the last one the tightest that holds what
 *    is left. In a spine: whole nodes leaf group by leaf group in the same way, and the rest on the
 *    tightest node. Where whole nodes and one remainder are not to be had: as SHAPE_ANY.
 *  - SHAPE_WHOLE_NODES: likewise, but it waits where they are not to be had.
 *  - SHAPE_ONE_LEAF: whole nodes by number and one remainder (the tightest node of the group) in
 *    one leaf group: with first-fit the lowest, with worst-fit the one with most wholly free nodes,
 *    else the one with fewest.
 *  - SHAPE_ANY: the fullest nodes first, that is those with fewest free GPUs, so that whole nodes
 *    stay whole.
 * Where racks have a power limit, "free" is what they show: racks.c.
 * The topology rule, SHAPE_WHOLE_NODES and SHAPE_ONE_LEAF need nodes of one size. */
#ifndef HEADROOM_MODELS_CAPACITY_PLACEMENT_INTERNAL_H
#define HEADROOM_MODELS_CAPACITY_PLACEMENT_INTERNAL_H

#include "models/capacity/fleet.h"
#include "sim/arena.h"
#include "sim/err.h"
#include "sim/number_set.h"

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

/* Leaf groups of nodes with neighbouring numbers, and which have how many wholly free nodes; and
 * the spines of neighbouring leaf groups. */
struct leaves {
    uint32_t n;              /* 1: no topology, and nothing below is there */
    uint32_t *first;         /* nodes [first[i], first[i + 1]) */
    uint32_t *of;            /* leaf group of a node */
    uint32_t *whole;         /* wholly free nodes of each */
    uint32_t largest;        /* nodes of the largest */
    struct number_set *with; /* from 1; leaf groups by wholly free nodes */
    uint32_t *n_with;
    struct number_set counts; /* numbers of wholly free nodes that occur, from 1 */
    uint32_t n_spines;        /* 1: no such level, and nothing below is there */
    uint32_t *spine_first;    /* leaf groups [spine_first[i], spine_first[i + 1]) */
    uint32_t *spine_of;       /* spine of a leaf group */
    uint32_t *spine_whole;    /* wholly free nodes of each */
};

/* Leaf groups [first, end). */
struct leaf_range {
    uint32_t first, end;
};

enum { RACK_MAX_NODES = 64 };

/* The most GPUs on wholly free nodes, and of one node beside them. */
struct most {
    uint32_t whole, rest;
};

/* Racks with a power limit (racks.c); n 0: none, and nothing below is there. Nodes of a rack have
 * neighbouring numbers. */
struct racks {
    uint32_t n;
    uint32_t *first;    /* nodes [first[i], first[i + 1]) */
    uint32_t *of;       /* rack of a node */
    uint32_t *room;     /* GPUs that may yet be taken */
    double *speed;      /* of its GPUs: 0..1 */
    uint64_t *withheld; /* by node: free GPUs that are not in the index */
    uint32_t n_withheld;
    uint32_t most_any, most_whole,
        most_leaf;     /* GPUs that an empty pool can give a start: any; whole
                          nodes and one remainder; these in one leaf group */
    uint32_t *changed; /* racks to be looked at again */
    uint32_t n_changed;
    uint8_t *is_changed;
};

struct nodes {
    uint32_t n;                                     /* nodes */
    uint32_t n_gpus;                                /* in all */
    uint32_t n_free;                                /* free in all */
    uint32_t n_whole;                               /* of wholly free nodes */
    uint32_t largest;                               /* GPUs of the largest node */
    uint8_t *size;                                  /* GPUs of a node */
    uint8_t *free_count;                            /* free GPUs of a node */
    uint64_t *free_mask;                            /* free GPUs of a node */
    uint64_t some;                                  /* bit b - 1: a node has exactly b GPUs free */
    struct number_set whole;                        /* wholly free nodes */
    struct number_set with_free[NODE_MAX_GPUS + 1]; /* from 1; by free GPUs */
    uint32_t nodes_with[NODE_MAX_GPUS + 1];         /* how many nodes have b free */
    enum place_rule rule;
    bool uniform; /* all nodes are of one size */
    struct leaves leaves;
    struct slices *slices; /* the arena's; NULL: whole GPUs */
    struct racks racks;
};

/* All GPUs free. Memory is the arena's. */
enum hr_err nodes_init(struct nodes *ns, const struct node_group *groups, size_t n_groups,
                       uint32_t units_per_gpu, struct arena *arena);

/* The rule, and leaf groups and spines (n 0: none); before anything is taken. */
enum hr_err nodes_arrange(struct nodes *ns, enum place_rule rule, const struct fabric *fabric,
                          struct arena *arena);

/* Racks, and their limit; after nodes_arrange. Each limit holds one node at its rating at least. */
enum hr_err racks_init(struct nodes *ns, const struct rack_plan *plan,
                       const struct node_group *groups, size_t n_groups, struct arena *arena);

/* GRANT_OK, GRANT_ROOM (fewer are free than asked for), GRANT_SHAPE (wrongly placed),
 * GRANT_TOPOLOGY (only in several leaf groups), GRANT_NEVER (fits no empty fleet). */
enum grant nodes_fit(const struct nodes *ns, const struct shape *shape);

/* True when the shape has to be within one node. */
bool nodes_one_node(const struct nodes *ns, const struct shape *shape);

/* GPUs that leases can have at once. */
static inline uint32_t nodes_most(const struct nodes *ns)
{
    return ns->racks.n ? ns->racks.most_any : ns->n_gpus;
}

/* True when a larger shape waits for whole nodes. */
static inline bool shape_strict(const struct shape *shape)
{
    return shape->kind == SHAPE_WHOLE_NODES || shape->kind == SHAPE_ONE_LEAF;
}

/* Takes GPUs for a shape that fits (nodes_fit says GRANT_OK) and appends them to out, one part a
 * node. HR_NOMEM changes nothing. */
enum hr_err nodes_take(struct nodes *ns, const struct shape *shape, struct parts *out);

/* How far apart parts are. */
enum lease_span nodes_span(const struct nodes *ns, const struct parts *parts);

/* ---- leaves.c ---- */

/* A node of a leaf group begins (by 1) or ceases (by -1) to be wholly free. */
void leaves_whole(struct leaves *ls, uint32_t node, int by);

static inline struct leaf_range leaves_all(const struct leaves *ls)
{
    return (struct leaf_range){0, ls->n};
}

/* The leaf groups of a spine. */
struct leaf_range leaves_of_spine(const struct leaves *ls, uint32_t spine);

/* Of some leaf groups the one by the rule that has so many wholly free nodes and, on another node,
 * rest free GPUs (fewer than a node); NODE_NONE: there is none. whole >= 1. */
uint32_t leaves_with(const struct nodes *ns, struct leaf_range range, uint32_t whole,
                     uint32_t rest);

/* The one with fewest wholly free nodes of all, or with most of some; NODE_NONE: none has any. */
uint32_t leaves_fewest(const struct leaves *ls);
uint32_t leaves_most(const struct leaves *ls, struct leaf_range range);

/* The tightest node of some leaf groups with so many free GPUs, wholly free ones last; or
 * NODE_NONE. */
uint32_t leaves_tightest(const struct nodes *ns, struct leaf_range range, uint32_t gpus);

/* As leaves_with and leaves_most of spines, with fewest wholly free nodes whatever the rule is.
 * They walk over all spines, of which there are few; only a gang over leaf groups asks. */
uint32_t spines_with(const struct nodes *ns, uint32_t whole, uint32_t rest);
uint32_t spines_most(const struct leaves *ls);

bool leaves_consistent(const struct nodes *ns);

/* ---- racks.c ---- */

/* So many GPUs of a node are taken, or are not any more. */
void racks_use(struct racks *rs, uint32_t node, uint32_t gpus);
void racks_free(struct racks *rs, uint32_t node, uint32_t gpus);

/* Chooses anew which free GPUs are shown; never while a plan over several nodes is carried out. */
void racks_settle(struct nodes *ns);

/* A node leaves with its free GPUs, and comes back with some; neither uses room of its rack. */
uint64_t nodes_close(struct nodes *ns, uint32_t node);
void nodes_open(struct nodes *ns, uint32_t node, uint64_t mask);

/* Free GPUs of a node, shown or withheld. */
uint32_t nodes_idle(const struct nodes *ns, uint32_t node);

/* For a shape that does not fit: it would if nothing were withheld. Leaf groups aside. */
bool racks_bind(const struct nodes *ns, const struct shape *shape);

/* Of the slowest rack of some parts: 0..1. */
double racks_speed(const struct nodes *ns, const struct parts *parts);

bool racks_consistent(const struct nodes *ns);

/* ---- placement.c ---- */

/* Makes these the free GPUs of a node in the index. */
void nodes_show(struct nodes *ns, uint32_t node, uint64_t mask);

/* Takes these free GPUs of a node. */
void nodes_take_these(struct nodes *ns, uint32_t node, uint64_t mask);

/* Takes n free GPUs of one node. */
uint64_t nodes_take_on(struct nodes *ns, uint32_t node, uint32_t n);

/* Makes GPUs of a node free. */
void nodes_give(struct nodes *ns, uint32_t node, uint64_t mask);

/* Free GPUs on nodes with fewer than share free. */
uint32_t nodes_free_below(const struct nodes *ns, uint32_t share);

/* The most free GPUs of a node. */
uint32_t nodes_largest_block(const struct nodes *ns);

/* GPUs of the wholly free nodes of the leaf group, or of the spine, that has most of them. */
uint32_t nodes_largest_leaf(const struct nodes *ns);
uint32_t nodes_largest_spine(const struct nodes *ns);

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
