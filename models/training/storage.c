/* A storage system that all who write or read at once share: a clock for each cap, and under it a
 * heap of its transfers by the reading at which they end. */
#include "models/training/storage.h"

#include "sim/int128.h"
#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>

enum { CLOCK_BITS = 62 };
#define CLOCK_ONE (UINT64_C(1) << CLOCK_BITS)

/* Bandwidths are whole bytes a second in this range, so that no product overflows. */
#define MOST_BYTES_PER_S 1e18

struct transfer {
    u128 end; /* reading of its class's clock */
    uint64_t number;
    simtime_ns began_ns, length_ns;
    transfer_fn *done;
    void *ctx;
    uint32_t arg, class;
    uint32_t place; /* in the heap */
    enum transfer_kind kind;
};

/* Transfers of one cap. */
struct class
{
    uint64_t cap;  /* bytes a second */
    uint64_t rate; /* of the clock per ns, at most CLOCK_ONE */
    u128 clock;
    struct {
        transfer_id *items; /* owned; the next to end is first */
        size_t n, capacity;
    } heap;
};

struct storage {
    struct storage_plan plan;
    struct engine *engine;
    timer_id timer;
    simtime_ns start_ns, end_ns;
    uint64_t bandwidth, begun;
    simtime_ns at_ns; /* the clocks stand at this time */
    double used;      /* share of the bandwidth at present */
    bool limited;
    size_t n; /* transfers under way */
    struct {
        struct class *items; /* owned; never removed */
        size_t n, capacity;
    } classes;
    struct {
        uint32_t *items; /* owned; classes by cap */
        size_t n, capacity;
    } by_cap;
    struct {
        struct transfer *items; /* owned */
        size_t n, capacity;
    } transfers;
    struct {
        transfer_id *items; /* owned; of the transfers, those that are not under way */
        size_t n, capacity;
    } unused;
    struct storage_totals totals;
};

static uint64_t whole_bytes_per_s(double bytes_per_s)
{
    if (!(bytes_per_s >= 1))
        return 1;
    return (uint64_t)(bytes_per_s < MOST_BYTES_PER_S ? bytes_per_s + 0.5 : MOST_BYTES_PER_S);
}

/* ---- the heap of a class ---- */

static bool ends_before(const struct storage *s, transfer_id a, transfer_id b)
{
    const struct transfer *x = &s->transfers.items[a], *y = &s->transfers.items[b];
    return x->end != y->end ? x->end < y->end : x->number < y->number;
}

static void put(struct storage *s, struct class *c, size_t place, transfer_id id)
{
    c->heap.items[place] = id;
    s->transfers.items[id].place = (uint32_t)place;
}

static void sift_up(struct storage *s, struct class *c, size_t place, transfer_id id)
{
    for (; place > 0; place = (place - 1) / 2) {
        transfer_id above = c->heap.items[(place - 1) / 2];
        if (!ends_before(s, id, above))
            break;
        put(s, c, place, above);
    }
    put(s, c, place, id);
}

static void sift_down(struct storage *s, struct class *c, size_t place, transfer_id id)
{
    for (size_t child; (child = 2 * place + 1) < c->heap.n; place = child) {
        if (child + 1 < c->heap.n && ends_before(s, c->heap.items[child + 1], c->heap.items[child]))
            child++;
        if (!ends_before(s, c->heap.items[child], id))
            break;
        put(s, c, place, c->heap.items[child]);
    }
    put(s, c, place, id);
}

static void heap_remove(struct storage *s, struct class *c, transfer_id id)
{
    size_t place = s->transfers.items[id].place;
    transfer_id last = c->heap.items[--c->heap.n];
    if (last == id)
        return;
    if (place > 0 && ends_before(s, last, c->heap.items[(place - 1) / 2]))
        sift_up(s, c, place, last);
    else
        sift_down(s, c, place, last);
}

/* ---- clocks and rates ---- */

static bool measured(const struct storage *s, simtime_ns at)
{
    return at >= s->start_ns && at < s->end_ns;
}

/* Brings the clocks up to now. */
static void advance(struct storage *s, simtime_ns now)
{
    simtime_ns from = s->at_ns > s->start_ns ? s->at_ns : s->start_ns;
    simtime_ns to = now < s->end_ns ? now : s->end_ns;
    if (s->n > 0 && to > from) {
        s->totals.busy_ns += to - from;
        s->totals.limited_ns += s->limited ? to - from : 0;
        s->totals.used_ns += s->used * (double)(to - from);
    }
    for (size_t i = 0; i < s->classes.n; i++)
        s->classes.items[i].clock += (u128)s->classes.items[i].rate * (now - s->at_ns);
    s->at_ns = now;
}

/* From the lowest cap on: what is left, shared by those who are left, or the cap. */
static void share_out(struct storage *s)
{
    uint64_t left = s->bandwidth, n = s->n;
    s->limited = false;
    for (size_t i = 0; i < s->by_cap.n; i++) {
        struct class *c = &s->classes.items[s->by_cap.items[i]];
        c->rate = CLOCK_ONE;
        if (c->heap.n == 0)
            continue;
        if ((u128)c->cap * n <= left) {
            left -= c->cap * c->heap.n;
            n -= c->heap.n;
            continue;
        }
        uint64_t rate = (uint64_t)(((u128)left << CLOCK_BITS) / ((u128)c->cap * n));
        c->rate = rate > 0 ? rate : 1;
        s->limited = true;
    }
    s->used = s->limited ? 1 : (double)(s->bandwidth - left) / (double)s->bandwidth;
}

static u128 clock_left(const struct storage *s, const struct class *c, transfer_id id)
{
    u128 end = s->transfers.items[id].end;
    return end > c->clock ? end - c->clock : 0;
}

/* Over at this instant, to the nearest nanosecond. */
static bool is_over(const struct storage *s, const struct class *c, transfer_id id)
{
    return 2 * clock_left(s, c, id) <= c->rate;
}

/* When the next transfer is over if nothing changes. */
static void plan_next(struct storage *s)
{
    simtime_ns next = SIM_NEVER;
    for (size_t i = 0; i < s->classes.n; i++) {
        const struct class *c = &s->classes.items[i];
        if (c->heap.n == 0)
            continue;
        u128 wait = (clock_left(s, c, c->heap.items[0]) + c->rate / 2) / c->rate;
        simtime_ns at = wait < SIM_NEVER ? sim_time_add(s->at_ns, (simtime_ns)wait) : SIM_NEVER;
        next = at < next ? at : next;
    }
    engine_schedule(s->engine, s->timer, next);
}

/* ---- transfers ---- */

static void count(struct storage *s, const struct transfer *x, bool over)
{
    struct transfer_totals *t = &s->totals.kinds[x->kind];
    if (!measured(s, s->at_ns))
        return;
    if (!over) {
        t->dropped++;
        return;
    }
    double took = (double)(s->at_ns - x->began_ns);
    double slowdown = x->length_ns > 0 ? took / (double)x->length_ns : 1;
    t->done++;
    t->slowdown += slowdown;
    t->worst_slowdown = slowdown > t->worst_slowdown ? slowdown : t->worst_slowdown;
}

/* Clocks stand at the present instant. */
static void end_transfer(struct storage *s, transfer_id id, bool over)
{
    const struct transfer *x = &s->transfers.items[id];
    heap_remove(s, &s->classes.items[x->class], id);
    s->n--;
    count(s, x, over);
    s->unused.items[s->unused.n++] = id;
    share_out(s);
}

static void fire(void *ctx, uint32_t arg)
{
    (void)arg;
    struct storage *s = ctx;
    advance(s, engine_now(s->engine));
    for (size_t i = 0; i < s->by_cap.n; i++)
        for (;;) { /* what ends may begin another: classes may move, and come */
            const struct class *c = &s->classes.items[s->by_cap.items[i]];
            if (c->heap.n == 0 || !is_over(s, c, c->heap.items[0]))
                break;
            const struct transfer x = s->transfers.items[c->heap.items[0]];
            end_transfer(s, c->heap.items[0], true);
            x.done(x.ctx, x.arg);
        }
    plan_next(s);
}

static bool class_of(struct storage *s, uint64_t cap, uint32_t *out)
{
    size_t low = 0, high = s->by_cap.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->classes.items[s->by_cap.items[mid]].cap < cap)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < s->by_cap.n && s->classes.items[s->by_cap.items[low]].cap == cap) {
        *out = s->by_cap.items[low];
        return true;
    }
    const struct class new = {.cap = cap, .rate = CLOCK_ONE};
    if (!vec_reserve(&s->by_cap, s->by_cap.n + 1) || !vec_push(&s->classes, new))
        return false;
    for (size_t i = s->by_cap.n++; i > low; i--)
        s->by_cap.items[i] = s->by_cap.items[i - 1];
    *out = s->by_cap.items[low] = (uint32_t)s->classes.n - 1;
    return true;
}

static bool new_transfer(struct storage *s, transfer_id *id)
{
    if (s->unused.n > 0) {
        *id = s->unused.items[--s->unused.n];
        return true;
    }
    const struct transfer none = {0};
    *id = (transfer_id)s->transfers.n;
    return vec_reserve(&s->unused, s->transfers.n + 1) && vec_push(&s->transfers, none);
}

enum hr_err storage_begin(struct storage *s, enum transfer_kind kind, double bytes_per_s,
                          simtime_ns length_ns, transfer_fn *done, void *ctx, uint32_t arg,
                          transfer_id *out)
{
    uint32_t class;
    *out = TRANSFER_NONE;
    if (!class_of(s, whole_bytes_per_s(bytes_per_s), &class))
        return HR_NOMEM;
    struct class *c = &s->classes.items[class];
    if (!vec_reserve(&c->heap, c->heap.n + 1) || !new_transfer(s, out))
        return HR_NOMEM;
    advance(s, engine_now(s->engine));
    s->transfers.items[*out] = (struct transfer){.end = c->clock + ((u128)length_ns << CLOCK_BITS),
                                                 .number = s->begun++,
                                                 .began_ns = s->at_ns,
                                                 .length_ns = length_ns,
                                                 .done = done,
                                                 .ctx = ctx,
                                                 .arg = arg,
                                                 .class = class,
                                                 .kind = kind};
    sift_up(s, c, c->heap.n++, *out);
    s->n++;
    share_out(s);
    plan_next(s);
    return HR_OK;
}

bool storage_drop(struct storage *s, transfer_id id)
{
    advance(s, engine_now(s->engine));
    bool over = is_over(s, &s->classes.items[s->transfers.items[id].class], id);
    end_transfer(s, id, over);
    plan_next(s);
    return over;
}

/* ---- the whole ---- */

struct storage *storage_new(const struct storage_plan *plan, struct engine *e, simtime_ns start,
                            simtime_ns end)
{
    struct storage *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->plan = *plan;
    s->engine = e;
    s->start_ns = start;
    s->end_ns = end;
    s->bandwidth = whole_bytes_per_s(plan->bytes_per_s);
    if (engine_timer_new(e, EVENT_COMPLETE, fire, s, 0, &s->timer) != HR_OK) {
        free(s);
        return NULL;
    }
    return s;
}

void storage_free(struct storage *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->classes.n; i++)
        vec_free(&s->classes.items[i].heap);
    vec_free(&s->classes);
    vec_free(&s->by_cap);
    vec_free(&s->transfers);
    vec_free(&s->unused);
    free(s);
}

const struct storage_plan *storage_plan_of(const struct storage *s)
{
    return &s->plan;
}

const struct storage_totals *storage_totals(struct storage *s)
{
    advance(s, engine_now(s->engine));
    return &s->totals;
}
