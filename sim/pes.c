/* The colder half of the pending-event set: hand-outs, growth, moving base back, filtering. */
#include "sim/pes.h"

#include <stdlib.h>
#include <string.h>

/* When a bucket of at most PREFETCH_RECORD entries is handed out, those entries are among the next
 * to fire: what they will touch is asked for. A slot that holds a pointer is asked for one hand-out
 * earlier. Sets small enough for the second-level cache gain nothing. */
enum { PREFETCH_RECORD = 128, PREFETCH_SLOT = PREFETCH_RECORD * PES_DIGITS, PREFETCH_FROM = 4096 };

void pes_init(struct pes *p)
{
    *p = (struct pes){0};
    for (int l = 0; l < PES_LEVELS; l++)
        for (int d = 0; d < PES_DIGITS; d++)
            p->buckets[l][d].min = UINT64_MAX;
}

void pes_fini(struct pes *p)
{
    for (int l = 0; l < PES_LEVELS; l++)
        for (int d = 0; d < PES_DIGITS; d++)
            free(p->buckets[l][d].items);
    for (int c = 0; c < PES_CLASSES; c++)
        free(p->due[c].items);
    pes_init(p);
}

bool pes_grow(struct pes_bucket *b)
{
    size_t capacity = b->capacity ? b->capacity * 2 : 16;
    struct pes_entry *items = realloc(b->items, capacity * sizeof *items);
    if (!items)
        return false;
    b->items = items;
    b->capacity = capacity;
    return true;
}

static void prefetch(const struct pes_slots *slots, const struct pes_bucket *b)
{
    bool follow = slots->follow && b->n <= PREFETCH_RECORD;
    for (size_t i = 0; i < b->n; i++) {
        const char *slot = (const char *)slots->base + pes_slot(b->items[i].tag) * slots->stride;
        const void *record = slot;
        if (follow)
            memcpy(&record, slot, sizeof record);
        __builtin_prefetch(record);
    }
}

bool pes_hand_out(struct pes *p)
{
    unsigned level = pes_first_level(p), digit = pes_first_digit(p, level);
    struct pes_bucket *b = &p->buckets[level][digit];
    size_t prefetched = p->slots.follow ? PREFETCH_SLOT : PREFETCH_RECORD;
    if (p->n >= PREFETCH_FROM && b->n <= prefetched && p->slots.base)
        prefetch(&p->slots, b);
    p->base = b->min;
    for (size_t i = 0; i < b->n; i++)
        if (!pes_place(p, b->items[i]))
            return false;
    b->n = 0;
    b->min = UINT64_MAX;
    pes_mark_empty(p, level, digit);
    return true;
}

/* Appends the entries from number from on to all and empties the bucket. */
static bool take_all(struct pes_bucket *all, struct pes_bucket *b, size_t from)
{
    bool ok = true;
    for (size_t i = from; i < b->n; i++)
        ok = ok && pes_append(all, b->items[i]);
    b->n = 0;
    b->min = UINT64_MAX;
    return ok;
}

/* Equal times of one class stand in one place in push order, so taking place by place keeps it. */
bool pes_rebase(struct pes *p, uint64_t base)
{
    struct pes_bucket all = {0};
    bool ok = true;
    for (int c = 0; c < PES_CLASSES; c++) {
        ok = take_all(&all, &p->due[c], p->due_head[c]) && ok;
        p->due_head[c] = 0;
    }
    for (int l = 0; l < PES_LEVELS; l++)
        for (int d = 0; d < PES_DIGITS; d++)
            ok = take_all(&all, &p->buckets[l][d], 0) && ok;
    memset(p->filled, 0, sizeof p->filled);
    p->due_mask = p->level_mask = 0;
    p->base = base;
    for (size_t i = 0; i < all.n; i++)
        ok = ok && pes_place(p, all.items[i]);
    free(all.items);
    return ok;
}

static void filter_bucket(struct pes_bucket *b, size_t from, pes_keep_fn *keep, const void *ctx)
{
    size_t n = 0;
    b->min = UINT64_MAX;
    for (size_t i = from; i < b->n; i++) {
        struct pes_entry e = b->items[i];
        if (!keep(ctx, e.tag))
            continue;
        b->min = e.time < b->min ? e.time : b->min;
        b->items[n++] = e;
    }
    b->n = n;
}

void pes_filter(struct pes *p, pes_keep_fn *keep, const void *ctx)
{
    p->n = 0;
    p->due_mask = p->level_mask = 0;
    for (unsigned c = 0; c < PES_CLASSES; c++) {
        struct pes_bucket *b = &p->due[c];
        filter_bucket(b, p->due_head[c], keep, ctx);
        p->due_head[c] = 0;
        p->due_mask |= (uint32_t)(b->n > 0) << c;
        p->n += b->n;
    }
    for (unsigned l = 0; l < PES_LEVELS; l++) {
        p->filled[l] = 0;
        for (unsigned d = 0; d < PES_DIGITS; d++) {
            struct pes_bucket *b = &p->buckets[l][d];
            filter_bucket(b, 0, keep, ctx);
            p->filled[l] |= (uint32_t)(b->n > 0) << d;
            p->n += b->n;
        }
        p->level_mask |= (uint32_t)(p->filled[l] > 0) << l;
    }
}
