/* Waiting gangs in order of (rank, number).
 *
 * A sorted list cut into blocks of up to 256: an insertion or a removal moves half a block,
 * wherever it is, and the list is walked in order from any place. The rank says what the queue's
 * order says (queue.h), the number, unique, who came first. Sizes: 1e5 and more. */
#ifndef HEADROOM_MODELS_TRAINING_WAITING_H
#define HEADROOM_MODELS_TRAINING_WAITING_H

#include "sim/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All that a look at a gang that cannot start needs: gangs are large and lie anywhere. */
struct waiting_item {
    uint64_t rank, number;
    simtime_ns estimate_ns; /* wall time its next segment is expected to take */
    uint32_t gang, gpus;    /* gpus: the least it can start on */
};

enum { WAITING_BLOCK = 256 };
struct waiting_block {
    size_t n;
    struct waiting_item items[WAITING_BLOCK];
};

struct waiting {
    struct waiting_block **blocks; /* owned; none is empty */
    size_t n_blocks, capacity;
    size_t n; /* items */
};

/* A place in the list; {0, 0} is the first. Insertions and removals elsewhere make it invalid. */
struct waiting_place {
    size_t block, item;
};

void waiting_fini(struct waiting *w); /* accepts a zeroed struct, which is the empty list */

/* Inserts in order; false when memory is out. */
bool waiting_insert(struct waiting *w, const struct waiting_item *item);

/* The item at a place, NULL at the end. A place just behind the last item of a block is that of the
 * next block's first. */
static inline const struct waiting_item *waiting_at(const struct waiting *w,
                                                    struct waiting_place *at)
{
    if (at->block < w->n_blocks && at->item == w->blocks[at->block]->n &&
        at->block + 1 < w->n_blocks)
        *at = (struct waiting_place){at->block + 1, 0};
    if (at->block >= w->n_blocks || at->item >= w->blocks[at->block]->n)
        return NULL;
    return &w->blocks[at->block]->items[at->item];
}

/* Removes the item at a place; what followed it is there then. */
void waiting_remove(struct waiting *w, struct waiting_place *at);

#endif
