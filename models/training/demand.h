/* What waits, counted by shape: the per-node share a gang needs and its size.
 *
 * A short list sorted by (share, gpus); a trace has a few dozen sizes. It answers which free GPUs
 * are stranded without a look at each waiting gang. */
#ifndef HEADROOM_MODELS_TRAINING_DEMAND_H
#define HEADROOM_MODELS_TRAINING_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct demand_shape {
    uint32_t share, gpus;
    uint64_t n; /* gangs of this shape that wait; entries stay when it falls to zero */
};

struct demand {
    struct demand_shape *items; /* owned */
    size_t n, capacity;
};

void demand_fini(struct demand *d);                               /* accepts a zeroed struct */
bool demand_add(struct demand *d, uint32_t share, uint32_t gpus); /* false: memory is out */
void demand_remove(struct demand *d, uint32_t share, uint32_t gpus);

#endif
