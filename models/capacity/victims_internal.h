/* What the files that choose victims share: the need of a start, and how sets of victims compete.
 */
#ifndef HEADROOM_MODELS_CAPACITY_VICTIMS_INTERNAL_H
#define HEADROOM_MODELS_CAPACITY_VICTIMS_INTERNAL_H

#include "models/capacity/fleet_internal.h"

/* What a start needs. */
struct need {
    struct fleet *f;
    const struct taking *taking;
    uint32_t gpus;
    uint32_t free;       /* free GPUs it may use */
    uint32_t coming;     /* free and incoming GPUs together that it may have */
    struct block *block; /* whole nodes that have to come together; NULL: any GPUs will do */
    bool under;          /* its ceilings hold as it is */
    bool flat;           /* whether a claimant borrows hangs on what it gives alone: no cohorts */
};

/* The best set so far. */
struct best {
    bool found;
    struct cost cost;
};

/* True when quota lets the start have its GPUs after these evictions, each of which it lets happen
 * in turn: what the victims' floors keep anew is not for the start. */
bool victims_permitted(const struct need *need, const struct pick *set, uint32_t n);

/* Puts a set of picks into the trial, the smallest victims first: so a claimant is above its floor
 * as long as it can be. How many. */
uint32_t victims_lay_out(const struct need *need, const struct pick *picks, uint64_t set);

/* Makes a set the best one if it is; false when it would be but quota does not permit it. clean:
 * free GPUs the start would use with it. */
bool victims_compete(const struct need *need, const struct pick *set, uint32_t n, uint32_t clean,
                     uint32_t node, struct best *best);

/* ---- victims_slice.c ---- */

/* A GPU where a slice fits once what stops there is gone: victims.node is that GPU. */
bool slice_already(const struct need *need, const struct shape *shape);
/* Which of the candidates go, all of them on one GPU: victims.node. */
bool slice_choose(const struct need *need, const struct shape *shape);

#endif
