/* Memory of a replica: one block for entries and order, doubled when full. */
#include "models/serving/replica_state.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16

static void free_from(struct replica *r, uint32_t first)
{
    for (uint32_t i = first; i < r->capacity; i++)
        r->entries[i].next = i + 1 < r->capacity ? i + 1 : ENTRY_NONE;
    r->free_entry = first;
}

enum hr_err replica_grow(struct replica *r)
{
    const uint32_t old = r->capacity;
    if (old > UINT32_MAX / 4)
        return HR_LIMIT;
    const uint32_t capacity = old ? old * 2 : FIRST_CAPACITY;
    /* 40 bytes times a multiple of 16: a multiple of a cache line. */
    struct entry *block =
        aligned_alloc(64, capacity * (sizeof(struct entry) + sizeof(struct finish)));
    if (!block)
        return HR_NOMEM;
    if (old) {
        memcpy(block, r->entries, old * sizeof *block);
        memcpy(block + capacity, replica_order(r), r->n_running * sizeof(struct finish));
        free(r->entries);
    }
    r->entries = block;
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
