/* Moves: which pods have to change place so that waiting ones can start, and what that costs.
 *
 * The pods that move stop together and start again at their new places, so the order of moves does
 * not matter; a pod moves once, to other devices of any node, its own too. Fewest moves first, then
 * least cost. A waiting gang starts whole or not at all. Pods that share several devices each take
 * those with least left. */
#ifndef HEADROOM_MODELS_PACKING_MOVES_H
#define HEADROOM_MODELS_PACKING_MOVES_H

#include "models/packing/cluster.h"
#include "sim/arena.h"
#include "sim/err.h"

struct moves_pod {
    struct cluster_pod shape;
    uint32_t node, devices;
    int64_t
        cost; /* of moving it, such as the milli that it holds or the seconds that it loses; >= 0 */
    bool fixed; /* stays where it is */
};

struct moves_cluster {
    const struct cluster_room *rooms; /* with the pods in them */
    uint32_t n_nodes;
    const struct moves_pod *pods;
    uint32_t n_pods;
};

enum { MOVES_MOST = 16 };

struct moves_limits {
    uint32_t most;  /* moves, at most MOVES_MOST */
    uint64_t tries; /* places looked at by the exact search */
};

/* A pod at its new place: pods first, then waiting ones as n_pods + i. */
struct moves_step {
    uint32_t pod, node, devices;
};

struct moves_plan {
    bool found;
    bool exact; /* no plan has fewer moves, nor as few at less cost; not found: there is none */
    uint32_t n_moves;
    int64_t cost;
    struct moves_step *steps; /* arena: n_moves + waiting pods */
    uint32_t n_steps;
};

/* Looks for the best plan, deepening by one move at a time, and where its tries run out for what is
 * found node by node: there the pods that free most milli by cost go where they fit most tightly
 * until the waiting pod fits; those that turn out unnecessary come back. */
enum hr_err moves_find(const struct moves_cluster *c, const struct cluster_pod *waiting,
                       uint32_t n_waiting, const struct moves_limits *limits, struct arena *arena,
                       struct moves_plan *out);

#endif
