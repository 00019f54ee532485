/* The pending-event set: a monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan 1990) on integer
 * nanoseconds, with hexadecimal digits. Internal to the engine.
 *
 *     base           a time that no entry is earlier than
 *     due[c]         entries with time = base of class c, first in first out
 *     buckets[l][d]  entries whose highest hexadecimal digit that differs from base's is
 *                    number l (0 is the lowest) and has the value d, in push order
 *
 *     base  0x00000001f03a       0x00000001f03a  due
 *                                0x00000001f03c  buckets[0][c]
 *                                0x00000001f1ff  buckets[2][1]
 *                                0x0000000a0000  buckets[4][a]
 *
 * All entries of a bucket are earlier than those of the next value or the next level, so the
 * earliest are in the first bucket that is not empty; two words of bits find it. A pop takes the
 * earliest out of a small first bucket where it stands. A large one is handed out: base becomes its
 * smallest time, and its entries are placed anew, all of them in lower levels. So an entry moves at
 * most 16 times, in practice one to four, always by appending to an array: keys cost bandwidth, not
 * latency, and the cost per event is nearly flat from 100 to 10^7 pending. There is nothing to tune
 * and no distribution it dislikes.
 *
 * Entries with equal times are always in one place, in push order, because the buckets that receive
 * a hand-out were empty before it; equal times at the front are handed out, to the lists by class.
 * So the order is exactly (time, class, push).
 *
 * A set of at most eight entries is kept as a sorted array instead, and spills into the buckets
 * when a ninth comes; it returns when the buckets have run empty.
 *
 * An entry is never taken from the middle: its owner gives the slot another tag, and drops the old
 * entry when it surfaces. Each bucket knows its smallest time, stale entries included, so pes_next
 * is a lower bound that costs nothing to read and moves nothing.
 *
 * A tag is generation (37 bits), class (3), slot (24). */
#ifndef HEADROOM_SIM_PES_H
#define HEADROOM_SIM_PES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PES_SLOT_BITS = 24,
    PES_CLASSES = 8,
    PES_GENERATION_SHIFT = 27,
    PES_DIGIT_BITS = 4,
    PES_DIGITS = 1 << PES_DIGIT_BITS,
    PES_LEVELS = 64 / PES_DIGIT_BITS,
    PES_SMALL = 8, /* a first bucket of at most this many is not handed out */
    PES_FEW = 8,   /* a whole set of at most this many is a sorted array */
};

struct pes_entry {
    uint64_t time, tag;
};

struct pes_bucket {
    struct pes_entry *items; /* owned */
    size_t n, capacity;
    uint64_t min; /* smallest time in the bucket, UINT64_MAX when empty */
};

/* What to prefetch when an entry is about to fire: slot s is at base + s * stride. With lines > 0
 * the slot begins with a pointer, and so many cache lines where that points to are prefetched after
 * the slot. */
struct pes_slots {
    const void *base;
    size_t stride;
    unsigned lines;
};

struct pes {
    uint64_t base;
    uint32_t due_mask;           /* bit c: due[c] is not empty */
    uint32_t level_mask;         /* bit l: some bucket of level l is not empty */
    uint32_t filled[PES_LEVELS]; /* bit d of filled[l]: buckets[l][d] is not empty */
    size_t n, max_n;             /* entries now, and the most there were, stale ones included */
    size_t n_few; /* entries in few; while there are any, the rest of the set is empty */
    bool failed;  /* memory ran out: entries are missing, nothing more can be popped */
    struct pes_slots slots;
    size_t due_head[PES_CLASSES];  /* due[c].items before it are popped */
    struct pes_entry few[PES_FEW]; /* the earliest last */
    struct pes_bucket due[PES_CLASSES];
    struct pes_bucket buckets[PES_LEVELS][PES_DIGITS];
};

static inline unsigned pes_class(uint64_t tag)
{
    return (unsigned)(tag >> PES_SLOT_BITS) % PES_CLASSES;
}

static inline uint32_t pes_slot(uint64_t tag)
{
    return (uint32_t)tag & ((1u << PES_SLOT_BITS) - 1);
}

void pes_init(struct pes *p);
void pes_fini(struct pes *p);

/* Cold paths of the inline functions below. */
void pes_append_full(struct pes *p, struct pes_bucket *b, struct pes_entry e);
void pes_push_before_base(struct pes *p, struct pes_entry e);
void pes_spill(struct pes *p);
void pes_hand_out(struct pes *p);

static inline void pes_append(struct pes *p, struct pes_bucket *b, struct pes_entry e)
{
    if (__builtin_expect(b->n == b->capacity, 0))
        pes_append_full(p, b, e);
    else
        b->items[b->n++] = e;
}

/* Puts an entry in its place relative to base. */
static inline void pes_place(struct pes *p, struct pes_entry e)
{
    uint64_t differs = e.time ^ p->base;
    if (differs == 0) {
        unsigned c = pes_class(e.tag);
        p->due_mask |= 1u << c;
        pes_append(p, &p->due[c], e);
        return;
    }
    unsigned level = (63u - (unsigned)__builtin_clzll(differs)) / PES_DIGIT_BITS;
    unsigned digit = (unsigned)(e.time >> (level * PES_DIGIT_BITS)) % PES_DIGITS;
    struct pes_bucket *b = &p->buckets[level][digit];
    p->level_mask |= 1u << level;
    p->filled[level] |= 1u << digit;
    b->min = e.time < b->min ? e.time : b->min;
    pes_append(p, b, e);
}

/* Sorts an entry into the few, behind those of its time and class. */
static inline void pes_insert(struct pes *p, struct pes_entry e)
{
    size_t i = p->n_few++;
    for (; i > 0; i--) {
        struct pes_entry other = p->few[i - 1];
        if (other.time > e.time ||
            (other.time == e.time && pes_class(other.tag) > pes_class(e.tag)))
            break;
        p->few[i] = other;
    }
    p->few[i] = e;
}

/* Adds an entry. A time before base (possible only after stale entries were popped beyond the
 * owner's clock) first moves base back. */
static inline void pes_push(struct pes *p, uint64_t time, uint64_t tag)
{
    struct pes_entry e = {time, tag};
    bool only_few = p->n == p->n_few;
    p->n++;
    p->max_n = p->n > p->max_n ? p->n : p->max_n;
    if (only_few && p->n_few < PES_FEW) {
        pes_insert(p, e);
        return;
    }
    if (p->n_few > 0)
        pes_spill(p);
    if (__builtin_expect(time < p->base, 0))
        pes_push_before_base(p, e);
    else
        pes_place(p, e);
}

/* The first bucket of a set that has one. */
static inline unsigned pes_first_level(const struct pes *p)
{
    return (unsigned)__builtin_ctz(p->level_mask);
}

static inline unsigned pes_first_digit(const struct pes *p, unsigned level)
{
    return (unsigned)__builtin_ctz(p->filled[level]);
}

/* A time no entry is earlier than, exact unless the earliest is stale; UINT64_MAX when empty. */
static inline uint64_t pes_next(const struct pes *p)
{
    if (p->n_few)
        return p->few[p->n_few - 1].time;
    if (p->due_mask)
        return p->base;
    if (!p->level_mask)
        return UINT64_MAX;
    unsigned level = pes_first_level(p);
    return p->buckets[level][pes_first_digit(p, level)].min;
}

/* The tag of an entry among the next to be popped, the very next where that is quick to see; false
 * when there is none. */
static inline bool pes_peek(const struct pes *p, uint64_t *tag)
{
    if (p->n_few) {
        *tag = p->few[p->n_few - 1].tag;
        return true;
    }
    if (p->due_mask) {
        unsigned c = (unsigned)__builtin_ctz(p->due_mask);
        *tag = p->due[c].items[p->due_head[c]].tag;
        return true;
    }
    if (!p->level_mask)
        return false;
    unsigned level = pes_first_level(p);
    const struct pes_bucket *b = &p->buckets[level][pes_first_digit(p, level)];
    size_t i = 0;
    while (b->n <= PES_SMALL && b->items[i].time != b->min)
        i++;
    *tag = b->items[i].tag;
    return true;
}

/* Makes the earliest entries due. Not empty. */
static inline void pes_settle(struct pes *p)
{
    if (!p->n_few && !p->due_mask)
        pes_hand_out(p);
}

/* The first entry of a settled set. */
static inline struct pes_entry pes_front(const struct pes *p)
{
    if (p->n_few)
        return p->few[p->n_few - 1];
    unsigned c = (unsigned)__builtin_ctz(p->due_mask);
    return p->due[c].items[p->due_head[c]];
}

static inline void pes_drop_front(struct pes *p)
{
    p->n--;
    if (p->n_few) {
        p->base = p->few[--p->n_few].time;
        return;
    }
    unsigned c = (unsigned)__builtin_ctz(p->due_mask);
    if (++p->due_head[c] == p->due[c].n) {
        p->due_head[c] = p->due[c].n = 0;
        p->due_mask &= p->due_mask - 1;
    }
}

/* Takes the earliest entry out of a small bucket, unless others have its time. Arithmetic in place
 * of branches: where the earliest stands cannot be predicted. */
static inline bool pes_pick(struct pes_bucket *b, struct pes_entry *out)
{
    struct pes_entry *items = b->items;
    uint64_t earliest = b->min, second = UINT64_MAX;
    size_t n = b->n, at = 0, n_earliest = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t time = items[i].time, is = time == earliest, other = time | (0 - is);
        at += i * is;
        n_earliest += is;
        second = other < second ? other : second;
    }
    if (n_earliest > 1)
        return false;
    *out = items[at];
    for (size_t i = at; i + 1 < n; i++)
        items[i] = items[i + 1];
    b->n = n - 1;
    b->min = second;
    return true;
}

/* Takes the first entry by (time, class, push) of a set that is not empty. False when memory ran
 * out. */
static inline bool pes_pop(struct pes *p, struct pes_entry *out)
{
    if (!p->n_few && !p->due_mask) {
        unsigned level = pes_first_level(p), digit = pes_first_digit(p, level);
        struct pes_bucket *b = &p->buckets[level][digit];
        if (b->n == 1) {
            *out = b->items[0];
            b->n = 0;
            b->min = UINT64_MAX;
            p->filled[level] &= p->filled[level] - 1;
            if (!p->filled[level])
                p->level_mask &= p->level_mask - 1;
            p->n--;
            return true;
        }
        if (b->n <= PES_SMALL && pes_pick(b, out)) {
            p->n--;
            return true;
        }
        pes_hand_out(p);
        if (p->failed)
            return false;
    }
    *out = pes_front(p);
    pes_drop_front(p);
    return true;
}

/* Keeps only the entries for which keep(ctx, tag) holds, in their order. Never fails. */
typedef bool pes_keep_fn(const void *ctx, uint64_t tag);
void pes_filter(struct pes *p, pes_keep_fn *keep, const void *ctx);

#endif
