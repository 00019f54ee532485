/* The plain way to a plan of moves, for what is too large to search; used by moves.c alone. */
#ifndef HEADROOM_MODELS_PACKING_MOVES_GREEDY_H
#define HEADROOM_MODELS_PACKING_MOVES_GREEDY_H

#include "models/packing/moves.h"

/* The pods of each node: pods[start[n] .. start[n + 1]). */
struct moves_index {
    uint32_t *start, *pods;
};

enum hr_err moves_index(const struct moves_cluster *c, struct arena *arena,
                        struct moves_index *out);

/* Replaces *out where it finds a plan of at most so many moves that is better, or the first. */
enum hr_err moves_greedy(const struct moves_cluster *c, const struct cluster_pod *waiting,
                         uint32_t n_waiting, const struct moves_index *index, uint32_t most,
                         struct arena *arena, struct moves_plan *out);

#endif
