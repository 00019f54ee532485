/* Slow obvious packing: fragments pod by pod in long doubles, the best node by looking at all.
 * Shares no code with models/packing but its records. */
#ifndef HEADROOM_TESTS_MODELS_PACKING_REFERENCE_H
#define HEADROOM_TESTS_MODELS_PACKING_REFERENCE_H

#include "models/packing/policy.h"
#include "sim/rng.h"

bool reference_fits(const struct cluster_room *room, const struct cluster_pod *pod);

/* F of a room: pods with these counts, those that cover cover_frac of the list. */
long double reference_fragment(const struct cluster_pods *pods, double cover_frac,
                               const struct cluster_room *room);

/* FGD's score and devices; *sure is false where the score hangs on rounding. */
int32_t reference_gradient(const struct cluster_pods *pods, double cover_frac,
                           const struct cluster_room *room, const struct cluster_pod *pod,
                           uint32_t *devices, bool *sure);

/* A room in any state: up to 8 devices of type 0 or 1. */
void reference_draw_room(struct rng *rng, struct cluster_room *out);

#endif
