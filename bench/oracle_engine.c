/* sim/engine.c compiled against the 4-ary heap of the tests in place of sim/pes.h.
 *
 * The heap's 16-byte key is (time, class | push number | slot): the push number takes the bits of
 * the generation, which is 0 as long as nothing is moved or cancelled, as in M/M/1. */
#include "oracle_engine.h"

#include "heap_oracle.c"

#include <assert.h>
#include <string.h>

#define HEADROOM_SIM_PES_H /* what follows stands in for it */

enum { PES_SLOT_BITS = 24, PES_CLASSES = 8, PES_GENERATION_SHIFT = 27, ORDER_CLASS_SHIFT = 61 };

struct pes_entry {
    uint64_t time, tag;
};

struct pes_slots {
    const void *base;
    size_t stride;
    unsigned lines;
};

struct pes {
    struct heap_oracle heap;
    uint64_t n_pushed;
    size_t n, max_n;
    bool failed;
    struct pes_slots slots;
};

static inline unsigned pes_class(uint64_t tag)
{
    return (unsigned)(tag >> PES_SLOT_BITS) % PES_CLASSES;
}

static inline uint32_t pes_slot(uint64_t tag)
{
    return (uint32_t)tag & ((1u << PES_SLOT_BITS) - 1);
}

/* Nothing is prefetched: the yardstick stays plain. */
static inline bool pes_peek(const struct pes *p, uint64_t *tag)
{
    (void)p, (void)tag;
    return false;
}

static inline void pes_init(struct pes *p)
{
    *p = (struct pes){0};
}

static inline void pes_fini(struct pes *p)
{
    heap_oracle_fini(&p->heap);
}

static inline void pes_push(struct pes *p, uint64_t time, uint64_t tag)
{
    assert(tag >> PES_GENERATION_SHIFT == 0);
    uint64_t order = (uint64_t)pes_class(tag) << ORDER_CLASS_SHIFT |
                     p->n_pushed++ << PES_SLOT_BITS | pes_slot(tag);
    p->n++;
    p->max_n = p->n > p->max_n ? p->n : p->max_n;
    p->failed |= !heap_oracle_push(&p->heap, (struct heap_key){time, order});
}

static inline uint64_t pes_next(const struct pes *p)
{
    return p->n ? p->heap.items[0].time : UINT64_MAX;
}

static inline struct pes_entry entry_of(struct heap_key k)
{
    uint64_t class = k.tag >> ORDER_CLASS_SHIFT, slot = k.tag & ((1u << PES_SLOT_BITS) - 1);
    return (struct pes_entry){k.time, class << PES_SLOT_BITS | slot};
}

static inline bool pes_pop(struct pes *p, struct pes_entry *out)
{
    *out = entry_of(heap_oracle_pop(&p->heap));
    p->n--;
    return true;
}

static inline void pes_settle(const struct pes *p)
{
    (void)p;
}

static inline struct pes_entry pes_front(const struct pes *p)
{
    return entry_of(p->heap.items[0]);
}

static inline void pes_drop_front(struct pes *p)
{
    heap_oracle_pop(&p->heap);
    p->n--;
}

typedef bool pes_keep_fn(const void *ctx, uint64_t tag);

static inline void pes_filter(const struct pes *p, pes_keep_fn *keep, const void *ctx)
{
    (void)p, (void)keep, (void)ctx;
    assert(false); /* nothing is stale where nothing is moved */
}

#include "sim/engine.c"
