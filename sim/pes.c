/* The colder half of the pending-event set: hand-outs, growth, moving base back, filtering. */
#include "sim/pes.h"

#include <stdlib.h>
#include <string.h>

/* The entries of a bucket that is handed out are among the next to fire: what they will touch is
 * asked for if it is at most so many lines. A slot that holds a pointer is asked for one hand-out
 * earlier. */
enum { LINE = 64, PREFETCH_LINES = 1024 };

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

void pes_append_full(struct pes *p, struct pes_bucket *b, struct pes_entry e)
{
    size_t capacity = b->capacity ? b->capacity * 2 : 16;
    struct pes_entry *items = realloc(b->items, capacity * sizeof *items);
    if (!items) {
        p->failed = true;
        return;
    }
    b->items = items;
    b->capacity = capacity;
    b->items[b->n++] = e;
}

/* base is the time popped last, or less: no entry is earlier unless the owner's clock is. */
void pes_spill(struct pes *p)
{
    size_t n = p->n_few;
    p->n_few = 0;
    if (p->few[n - 1].time < p->base)
        p->base = p->few[n - 1].time;
    while (n > 0)
        pes_place(p, p->few[--n]);
}

/* Asks for what an entry will touch: its slot, or the lines its slot points to. */
static inline void prefetch(const struct pes_slots *slots, struct pes_entry e, unsigned lines)
{
    const char *slot = (const char *)slots->base + pes_slot(e.tag) * slots->stride;
    if (lines == 0) {
        __builtin_prefetch(slot);
        return;
    }
    const char *record;
    memcpy(&record, slot, sizeof record);
    for (unsigned i = 0; i < lines; i++)
        __builtin_prefetch(record + LINE * i);
}

void pes_hand_out(struct pes *p)
{
    unsigned level = pes_first_level(p), digit = pes_first_digit(p, level);
    struct pes_bucket *b = &p->buckets[level][digit];
    const struct pes_slots slots = p->slots;
    size_t n = b->n;
    p->base = b->min;
    p->filled[level] &= p->filled[level] - 1;
    if (!p->filled[level])
        p->level_mask &= p->level_mask - 1;
    b->n = 0;
    b->min = UINT64_MAX;
    if (!slots.base || n > PREFETCH_LINES * PES_DIGITS) {
        for (size_t i = 0; i < n; i++)
            pes_place(p, b->items[i]);
    } else {
        unsigned lines = n * slots.lines <= PREFETCH_LINES ? slots.lines : 0;
        for (size_t i = 0; i < n; i++) {
            prefetch(&slots, b->items[i], lines);
            pes_place(p, b->items[i]);
        }
    }
}

/* Appends the entries from number from on to all and empties the bucket. */
static void take_all(struct pes *p, struct pes_bucket *all, struct pes_bucket *b, size_t from)
{
    for (size_t i = from; i < b->n; i++)
        pes_append(p, all, b->items[i]);
    b->n = 0;
    b->min = UINT64_MAX;
}

/* Equal times of one class stand in one place in push order, so taking place by place keeps it. */
void pes_push_before_base(struct pes *p, struct pes_entry e)
{
    struct pes_bucket all = {0};
    for (int c = 0; c < PES_CLASSES; c++) {
        take_all(p, &all, &p->due[c], p->due_head[c]);
        p->due_head[c] = 0;
    }
    for (int l = 0; l < PES_LEVELS; l++)
        for (int d = 0; d < PES_DIGITS; d++)
            take_all(p, &all, &p->buckets[l][d], 0);
    memset(p->filled, 0, sizeof p->filled);
    p->due_mask = p->level_mask = 0;
    p->base = e.time;
    for (size_t i = 0; i < all.n; i++)
        pes_place(p, all.items[i]);
    free(all.items);
    pes_place(p, e);
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
    size_t n_few = 0;
    for (size_t i = 0; i < p->n_few; i++)
        if (keep(ctx, p->few[i].tag))
            p->few[n_few++] = p->few[i];
    p->n = p->n_few = n_few;
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
