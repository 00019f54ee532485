/* The requests inside a service: a table of those in flight, and the queue of those that wait for a
 * replica. Handles are 32-bit indices and are reused, the last dropped first; memory follows the
 * largest number in flight. A drop does not touch the entry: 10,000 replicas hold 400,000 of them,
 * more than a cache does. */
#ifndef HEADROOM_MODELS_SERVING_LIVE_H
#define HEADROOM_MODELS_SERVING_LIVE_H

#include "models/serving/replica.h"
#include "sim/err.h"
#include "sim/time.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_NONE UINT32_MAX

/* The request is here only while it waits at the service; a replica has it else. */
struct live {
    struct replica_request request; /* id: its own; first_token_ns: SIM_NEVER until emitted */
    uint64_t number;                /* order of arrival at the service */
    uint32_t retries;
};

/* Zeroed: empty. */
struct live_table {
    struct live *items; /* owned */
    size_t n, capacity;
    struct {
        uint32_t *items; /* owned; room for as many as there are entries */
        size_t n, capacity;
    } free;
};

void live_fini(struct live_table *t);
uint32_t live_grow(struct live_table *t); /* the cold path of live_take */

/* A new entry, its members for the caller to fill; LIVE_NONE when memory is out. */
static inline uint32_t live_take(struct live_table *t)
{
    return t->free.n > 0 ? t->free.items[--t->free.n] : live_grow(t);
}

static inline void live_drop(struct live_table *t, uint32_t id)
{
    assert(t->free.n < t->n && id < t->n);
    t->free.items[t->free.n++] = id;
}

/* Ring of handles, oldest at the head. */
struct live_queue {
    uint32_t *items; /* owned; capacity is a power of two */
    uint32_t head, n, capacity;
};

void live_queue_fini(struct live_queue *q);                     /* a zeroed queue is empty */
enum hr_err live_queue_push(struct live_queue *q, uint32_t id); /* at the tail */
enum hr_err live_queue_push_head(struct live_queue *q, uint32_t id);
uint32_t live_queue_pop(struct live_queue *q); /* LIVE_NONE when empty */
uint32_t live_queue_peek(const struct live_queue *q);
uint32_t live_queue_at(const struct live_queue *q, uint32_t i); /* i < n, from the head */

#endif
