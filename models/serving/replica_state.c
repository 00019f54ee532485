/* Memory of a replica: one block for entries, order and queue, doubled when full. */
#include "models/serving/replica_state.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16

static void free_from(struct replica *r, uint32_t first)
{
    for (uint32_t i = first; i < r->capacity; i++)
        r->entries[i].id = i + 1 < r->capacity ? i + 1 : ENTRY_NONE;
    r->free_entry = first;
}

enum hr_err replica_grow(struct replica *r)
{
    const uint32_t old = r->capacity;
    if (old > UINT32_MAX / 4)
        return HR_LIMIT;
    const uint32_t capacity = old ? old * 2 : FIRST_CAPACITY;
    const size_t entry = sizeof *r->entries, finish = sizeof *r->order, link = sizeof *r->queue;
    /* 36 bytes times a multiple of 16: a multiple of a cache line. */
    char *block = aligned_alloc(64, capacity * (entry + finish + link));
    if (!block)
        return HR_NOMEM;
    struct replica_request *entries = (void *)block;
    struct finish *order = (void *)(block + capacity * entry);
    uint32_t *queue = (void *)(block + capacity * (entry + finish));
    if (old) {
        memcpy(entries, r->entries, old * entry);
        memcpy(order, r->order, r->n_running * finish);
        for (uint32_t i = 0; i < r->n_queue; i++)
            queue[i] = *queue_at(r, i);
        free(r->entries);
    }
    r->entries = entries;
    r->order = order;
    r->queue = queue;
    r->queue_head = 0;
    r->capacity = capacity;
    free_from(r, old); /* it was full: every older entry is in use */
    return HR_OK;
}

void replica_clear(struct replica *r)
{
    r->n_running = r->n_queue = r->n_batch = r->n_late = 0;
    r->batch_done = r->batch_tail = 0;
    r->kv_tokens = r->context_tokens = 0;
    if (r->capacity)
        free_from(r, 0);
}
