/* Memory of a replica: one block for entries and order, doubled when full. */
#include "models/serving/replica_state.h"

#include <stdlib.h>

#define FIRST_LOG2 4
#define LAST_LOG2  30

static void free_from(struct replica *r, uint32_t first)
{
    const uint32_t capacity = UINT32_C(1) << r->log2_capacity;
    for (uint32_t i = first; i < capacity; i++)
        r->entries[i].next = i + 1 < capacity ? i + 1 : ENTRY_NONE;
    r->free_entry = first;
}

/* 48 bytes times a multiple of 16: a multiple of a cache line. */
static struct entry *block_new(unsigned log2_capacity)
{
    return aligned_alloc(64, (sizeof(struct entry) + sizeof(struct finish)) << log2_capacity);
}

bool replica_open(struct replica *r)
{
    r->entries = block_new(FIRST_LOG2);
    if (!r->entries)
        return false;
    r->log2_capacity = FIRST_LOG2;
    free_from(r, 0);
    return true;
}

enum hr_err replica_grow(struct replica *r)
{
    const uint32_t old = UINT32_C(1) << r->log2_capacity;
    if (r->log2_capacity == LAST_LOG2)
        return HR_LIMIT;
    struct entry *block = block_new(r->log2_capacity + 1u);
    if (!block)
        return HR_NOMEM;
    memcpy(block, r->entries, old * sizeof *block);
    memcpy(block + 2 * (size_t)old, replica_order(r), r->n_running * sizeof(struct finish));
    free(r->entries);
    r->entries = block;
    r->log2_capacity++;
    free_from(r, old); /* it was full: every older entry is in use */
    return HR_OK;
}

void replica_clear(struct replica *r)
{
    r->n_running = r->n_queue = r->n_batch = r->n_late = 0;
    r->batch_done = r->batch_tail = r->batch_kv = 0;
    r->kv_tokens = r->whole_kv = 0;
    free_from(r, 0);
}
