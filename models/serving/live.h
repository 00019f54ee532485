/* The requests inside a service: a table of those in flight, and the queue of those that wait for a
 * replica. Handles are 32-bit indices and are reused; memory follows the largest number in flight.
 */
#ifndef HEADROOM_MODELS_SERVING_LIVE_H
#define HEADROOM_MODELS_SERVING_LIVE_H

#include "models/serving/replica.h"
#include "sim/err.h"
#include "sim/time.h"

#include <stddef.h>
#include <stdint.h>

#define LIVE_NONE UINT32_MAX

/* What a replica does to a request stays in the replica until the request ends or returns. */
struct live {
    struct replica_request request; /* id: its own; first_token_ns: SIM_NEVER until emitted */
    uint64_t number;                /* order of arrival at the service */
    uint32_t retries;
    uint32_t next_free; /* link of the free list; LIVE_TAKEN while in use */
};

#define LIVE_TAKEN (UINT32_MAX - 1)

struct live_table {
    struct live *items; /* owned */
    size_t n, capacity;
    uint32_t first_free;
};

void live_init(struct live_table *t);
void live_fini(struct live_table *t);

/* A new entry, its members for the caller to fill; LIVE_NONE when memory is out. */
uint32_t live_take(struct live_table *t);
void live_drop(struct live_table *t, uint32_t id);

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
