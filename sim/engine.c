/* The loop: which of the next timer and the next cursor goes first.
 *
 * Timers live in a table; the pending set (sim/pes.h) holds their times. One entry per timer is
 * live, the one that carries the timer's present tag; a timer that is moved or cancelled while
 * pending gets the next generation in its tag, which makes the old entry stale. Stale entries are
 * dropped when they surface, and all at once when they outnumber the live ones, so they cost
 * amortised O(1).
 *
 * Popping a stale entry may move the base of the pending set beyond now, but never beyond the next
 * live event, the next cursor or the end of the run. Only a step that then finds nothing leaves it
 * there, and the pending set moves its base back should something be scheduled before it.
 *
 * A timer goes before a cursor of the same time and class. */
#include "sim/engine.h"

#include "sim/pes.h"
#include "sim/vec.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Below this many stale entries a rebuild is not worth its pass over the buckets. */
enum { STALE_MIN = 64 };

#define GENERATION_ONE (UINT64_C(1) << PES_GENERATION_SHIFT)
#define GENERATION_MAX (UINT64_MAX >> PES_GENERATION_SHIFT << PES_GENERATION_SHIFT)

_Static_assert((int)EVENT_CLASSES <= (int)PES_CLASSES, "a class fits its bits in a tag");

/* A cache line of its own: a timer costs one miss at most. */
struct timer {
    _Alignas(64) void *ctx; /* first: the pending set prefetches what it points to */
    event_fn *fn;           /* NULL while freed */
    simtime_ns due;         /* SIM_NEVER when idle */
    uint64_t tag;           /* of the live entry, or of the next one when idle */
    uint32_t arg;
    timer_id next_free;    /* the free list, while freed */
    prefetch_fn *prefetch; /* may be NULL */
};

struct cursor {
    cursor_fn *fn;
    void *ctx;
    simtime_ns time; /* of the next record */
    enum event_class class;
};

struct engine {
    simtime_ns now;
    atomic_bool stop; /* asked for by engine_stop */
    struct {
        simtime_ns time; /* SIM_NEVER when none waits */
        enum event_class class;
    } first_cursor;
    bool prefetches; /* some timer has a prefetch function */
    unsigned lines;  /* to prefetch of a ctx */
    check_fn *check;
    void *check_ctx;
    size_t n_stale; /* entries in pes that are not live */
    timer_id free_timer;
    struct engine_stats stats;
    struct {
        struct timer *items;
        size_t n, capacity;
    } timers;
    struct {
        struct cursor *items; /* in the order they were added */
        size_t n, capacity;
    } cursors;
    struct {
        uint32_t *items; /* cursors with a record to come, the next one last */
        size_t n, capacity;
    } waiting;
    struct pes pes;
};

struct engine *engine_new(void)
{
    struct engine *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    atomic_init(&e->stop, false);
    e->first_cursor.time = SIM_NEVER;
    e->free_timer = TIMER_NONE;
    e->lines = 1;
    pes_init(&e->pes);
    return e;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    pes_fini(&e->pes);
    vec_free(&e->timers);
    vec_free(&e->cursors);
    vec_free(&e->waiting);
    free(e);
}

simtime_ns engine_now(const struct engine *e)
{
    return e->now;
}

static struct timer *timer_of(struct engine *e, timer_id id)
{
    assert(id < e->timers.n && e->timers.items[id].fn);
    return &e->timers.items[id];
}

/* Timers. */

/* vec_reserve, but aligned. */
static bool timers_reserve(struct engine *e)
{
    if (e->timers.n < e->timers.capacity)
        return true;
    size_t capacity = e->timers.capacity ? e->timers.capacity * 2 : 16;
    struct timer *items = aligned_alloc(_Alignof(struct timer), capacity * sizeof *items);
    if (!items)
        return false;
    if (e->timers.n > 0)
        memcpy(items, e->timers.items, e->timers.n * sizeof *items);
    free(e->timers.items);
    e->timers.items = items;
    e->timers.capacity = capacity;
    e->pes.slots = (struct pes_slots){items, sizeof *items, e->lines};
    return true;
}

enum hr_err engine_timer_new(struct engine *e, enum event_class c, event_fn *fn, void *ctx,
                             uint32_t arg, timer_id *out)
{
    assert(fn && c < EVENT_CLASSES);
    timer_id id = e->free_timer;
    uint64_t generation = 0;
    if (id != TIMER_NONE) {
        e->free_timer = e->timers.items[id].next_free;
        generation = e->timers.items[id].tag >> PES_GENERATION_SHIFT;
    } else {
        if (e->timers.n == 1u << PES_SLOT_BITS)
            return HR_LIMIT;
        if (!timers_reserve(e))
            return HR_NOMEM;
        id = (timer_id)e->timers.n++;
    }
    e->timers.items[id] = (struct timer){
        .ctx = ctx,
        .fn = fn,
        .due = SIM_NEVER,
        .tag = generation << PES_GENERATION_SHIFT | (uint64_t)c << PES_SLOT_BITS | id,
        .arg = arg,
        .next_free = TIMER_NONE,
    };
    *out = id;
    return HR_OK;
}

void engine_timer_free(struct engine *e, timer_id id)
{
    engine_cancel(e, id);
    struct timer *t = timer_of(e, id);
    t->fn = NULL;
    t->ctx = NULL;
    t->next_free = e->free_timer;
    e->free_timer = id;
}

void engine_prefetch_set(struct engine *e, timer_id id, prefetch_fn *fn)
{
    timer_of(e, id)->prefetch = fn;
    e->prefetches |= fn != NULL;
    e->lines = e->pes.slots.lines = 4;
}

static bool is_live(const void *timers, uint64_t tag)
{
    return ((const struct timer *)timers)[pes_slot(tag)].tag == tag;
}

static void drop_stale(struct engine *e)
{
    pes_filter(&e->pes, is_live, e->timers.items);
    e->stats.stale += e->n_stale;
    e->stats.rebuilds++;
    e->n_stale = 0;
}

/* Makes the live entry of a pending timer stale. Before generations start again at 0 the stale
 * entries go, lest one of the earlier 0 come to life. */
static void invalidate(struct engine *e, struct timer *t)
{
    if (t->tag >= GENERATION_MAX)
        drop_stale(e);
    t->tag += GENERATION_ONE;
    t->due = SIM_NEVER;
    e->n_stale++;
    if (e->n_stale > STALE_MIN && e->n_stale * 2 > e->pes.n)
        drop_stale(e);
}

/* The rarer half of engine_schedule, apart so that the other needs no stack. */
static __attribute__((noinline)) void reschedule(struct engine *e, struct timer *t, simtime_ns at)
{
    invalidate(e, t);
    if (at == SIM_NEVER)
        return;
    t->due = at;
    pes_push(&e->pes, at, t->tag);
}

void engine_schedule(struct engine *e, timer_id id, simtime_ns at)
{
    assert(at >= e->now);
    struct timer *t = timer_of(e, id);
    if (t->due != SIM_NEVER) {
        reschedule(e, t, at);
    } else if (at != SIM_NEVER) {
        t->due = at;
        pes_push(&e->pes, at, t->tag);
    }
}

void engine_cancel(struct engine *e, timer_id id)
{
    struct timer *t = timer_of(e, id);
    if (t->due != SIM_NEVER)
        invalidate(e, t);
}

simtime_ns engine_due(const struct engine *e, timer_id id)
{
    assert(id < e->timers.n && e->timers.items[id].fn);
    return e->timers.items[id].due;
}

/* Cursors. */

static void note_first_cursor(struct engine *e)
{
    e->first_cursor.time = SIM_NEVER;
    if (e->waiting.n > 0) {
        const struct cursor *c = &e->cursors.items[e->waiting.items[e->waiting.n - 1]];
        e->first_cursor.time = c->time;
        e->first_cursor.class = c->class;
    }
}

static bool cursor_before(const struct engine *e, uint32_t a, uint32_t b)
{
    const struct cursor *x = &e->cursors.items[a], *y = &e->cursors.items[b];
    if (x->time != y->time)
        return x->time < y->time;
    return x->class != y->class ? x->class < y->class : a < b;
}

/* Puts a cursor into the line; there is room for all. */
static void cursor_wait(struct engine *e, uint32_t ix)
{
    uint32_t *line = e->waiting.items;
    size_t i = e->waiting.n++;
    for (; i > 0 && cursor_before(e, line[i - 1], ix); i--)
        line[i] = line[i - 1];
    line[i] = ix;
    note_first_cursor(e);
}

enum hr_err engine_cursor_add(struct engine *e, enum event_class c, cursor_fn *fn, void *ctx,
                              simtime_ns first)
{
    assert(fn && c < EVENT_CLASSES && first >= e->now);
    if (e->cursors.n == UINT32_MAX)
        return HR_LIMIT;
    if (!vec_reserve(&e->waiting, e->cursors.n + 1) || !vec_reserve(&e->cursors, e->cursors.n + 1))
        return HR_NOMEM;
    uint32_t ix = (uint32_t)e->cursors.n++;
    e->cursors.items[ix] = (struct cursor){fn, ctx, first, c};
    if (first != SIM_NEVER)
        cursor_wait(e, ix);
    return HR_OK;
}

/* The loop. */

static inline void advance(struct engine *e, simtime_ns to)
{
    e->now = to;
    if (e->check)
        e->check(e->check_ctx);
}

static __attribute__((noinline)) void fire_cursor(struct engine *e)
{
    uint32_t ix = e->waiting.items[--e->waiting.n];
    const struct cursor c = e->cursors.items[ix]; /* the handler may add cursors */
    note_first_cursor(e);
    advance(e, c.time);
    e->stats.arrivals++;
    simtime_ns next = c.fn(c.ctx);
    assert(next >= c.time);
    e->cursors.items[ix].time = next;
    if (next != SIM_NEVER)
        cursor_wait(e, ix);
}

static inline void prefetch_next(const struct engine *e)
{
    uint64_t tag;
    if (!pes_peek(&e->pes, &tag))
        return;
    const struct timer *t = &e->timers.items[pes_slot(tag)];
    if (t->prefetch)
        t->prefetch(t->ctx);
}

/* False when the entry is stale. */
static inline bool fire_timer(struct engine *e, struct pes_entry entry)
{
    struct timer *t = &e->timers.items[pes_slot(entry.tag)];
    if (t->tag != entry.tag) {
        e->n_stale--;
        e->stats.stale++;
        return false;
    }
    if (e->prefetches)
        prefetch_next(e);
    t->due = SIM_NEVER;
    event_fn *fn = t->fn;
    void *ctx = t->ctx;
    uint32_t arg = t->arg; /* the handler may move the table */
    advance(e, entry.time);
    e->stats.events++;
    fn(ctx, arg);
    return true;
}

/* A timer and the first cursor meet at one instant: the lower class goes first. False when the
 * timer was stale or memory is out. */
static __attribute__((noinline)) bool fire_by_class(struct engine *e)
{
    pes_settle(&e->pes);
    if (e->pes.failed)
        return false;
    struct pes_entry entry = pes_front(&e->pes);
    if (pes_class(entry.tag) > (unsigned)e->first_cursor.class &&
        is_live(e->timers.items, entry.tag)) {
        fire_cursor(e);
        return true;
    }
    pes_drop_front(&e->pes);
    return fire_timer(e, entry);
}

/* Fires what comes first before end; false when there is nothing or memory ran out. */
static inline __attribute__((always_inline)) bool fire_next(struct engine *e, simtime_ns end)
{
    while (!e->pes.failed) {
        simtime_ns cursor = e->first_cursor.time, timer = pes_next(&e->pes);
        if (timer < cursor && timer < end) {
            struct pes_entry entry;
            if (pes_pop(&e->pes, &entry) && fire_timer(e, entry))
                return true;
        } else if (cursor >= end) {
            return false;
        } else if (timer > cursor) {
            fire_cursor(e);
            return true;
        } else if (fire_by_class(e)) {
            return true;
        }
    }
    return false;
}

enum hr_err engine_run(struct engine *e, simtime_ns end)
{
    assert(end >= e->now);
    do {
        if (atomic_load_explicit(&e->stop, memory_order_relaxed)) {
            atomic_store_explicit(&e->stop, false, memory_order_relaxed);
            return e->pes.failed ? HR_NOMEM : HR_INTERRUPTED;
        }
    } while (fire_next(e, end));
    if (e->pes.failed)
        return HR_NOMEM;
    if (end != SIM_NEVER)
        e->now = end;
    return HR_OK;
}

bool engine_step(struct engine *e, simtime_ns end)
{
    return fire_next(e, end);
}

void engine_stop(struct engine *e)
{
    atomic_store_explicit(&e->stop, true, memory_order_relaxed);
}

void engine_check_set(struct engine *e, check_fn *fn, void *ctx)
{
    e->check = fn;
    e->check_ctx = ctx;
}

struct engine_stats engine_stats(const struct engine *e)
{
    struct engine_stats stats = e->stats;
    stats.max_pending = e->pes.max_n;
    return stats;
}
