/* Waiting gangs in the order of their numbers.
 *
 * A ring of (number, gang) pairs, sorted. New gangs come at the end, a preempted one returns to its
 * old place, the scheduler takes from the front or near it: each moves only the shorter side.
 * Sizes: 1e5 and more waiting, moves of a few dozen. */
#ifndef HEADROOM_MODELS_TRAINING_WAITING_H
#define HEADROOM_MODELS_TRAINING_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waiting_item {
    uint64_t number; /* unique */
    uint32_t gang;
};

struct waiting {
    struct waiting_item *ring; /* owned */
    size_t capacity;           /* zero or a power of two */
    size_t head, n;
};

void waiting_fini(struct waiting *w); /* accepts a zeroed struct, which is the empty queue */

/* Inserts in order; false when memory is out. */
bool waiting_insert(struct waiting *w, uint64_t number, uint32_t gang);

static inline uint32_t waiting_at(const struct waiting *w, size_t place)
{
    return w->ring[(w->head + place) & (w->capacity - 1)].gang;
}

void waiting_remove(struct waiting *w, size_t place);

#endif
