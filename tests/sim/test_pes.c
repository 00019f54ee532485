/* The pending-event set against the 4-ary heap: the same operations give the same sequence of
 * entries by (time, class, push), whatever the times: many distributions, bursts, ties, times
 * before the base, and filtering. */
#include "heap_oracle.h"
#include "sim/pes.h"
#include "sim/rng.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

/* Both structures, fed alike. The generation of a tag is the push number, so each entry is known.
 */
struct pair {
    struct pes pes;
    struct heap_oracle heap;
    uint64_t n_pushed, now;
};

static void pair_init(struct pair *p)
{
    *p = (struct pair){0};
    pes_init(&p->pes);
}

static void pair_fini(struct pair *p)
{
    pes_fini(&p->pes);
    heap_oracle_fini(&p->heap);
}

static void pair_push(struct pair *p, uint64_t time, unsigned class)
{
    uint64_t number = p->n_pushed++, slot = number * 7919 % (1 << PES_SLOT_BITS);
    uint64_t tag = number << PES_GENERATION_SHIFT | (uint64_t) class << PES_SLOT_BITS | slot;
    uint64_t order = (uint64_t) class << 61 | number << PES_SLOT_BITS | slot;
    pes_push(&p->pes, time, tag);
    cr_assert_not(p->pes.failed);
    cr_assert(heap_oracle_push(&p->heap, (struct heap_key){time, order}));
    cr_assert_eq(p->pes.n, p->heap.n);
}

static void pair_check_next(struct pair *p)
{
    cr_assert_eq(pes_next(&p->pes), p->heap.n ? p->heap.items[0].time : UINT64_MAX);
}

static void check_same(struct pes_entry e, struct heap_key k)
{
    cr_assert_eq(e.time, k.time);
    cr_assert_eq(pes_class(e.tag), k.tag >> 61);
    cr_assert_eq(e.tag >> PES_GENERATION_SHIFT,
                 (k.tag >> PES_SLOT_BITS) & ((UINT64_C(1) << 37) - 1));
    cr_assert_eq(pes_slot(e.tag), k.tag & ((1u << PES_SLOT_BITS) - 1));
}

/* settled: by the other way to take the first entry. */
static void pair_pop(struct pair *p, bool settled)
{
    struct pes_entry e;
    pair_check_next(p);
    if (settled) {
        pes_settle(&p->pes);
        e = pes_front(&p->pes);
        pes_drop_front(&p->pes);
    } else {
        cr_assert(pes_pop(&p->pes, &e));
    }
    check_same(e, heap_oracle_pop(&p->heap));
    cr_assert_eq(p->pes.n, p->heap.n);
    p->now = e.time;
}

static void pair_drain(struct pair *p)
{
    while (p->heap.n > 0)
        pair_pop(p, p->heap.n % 3 == 0);
    pair_check_next(p);
}

/* Increments. */

static uint64_t exponential(struct rng *r)
{
    return (uint64_t)(1e9 * rng_exponential(r));
}
static uint64_t bimodal(struct rng *r)
{
    double scale = rng_below(r, 16) == 0 ? 1.6e11 : 1e6;
    return (uint64_t)(scale * rng_exponential(r));
}
static uint64_t lognormal(struct rng *r)
{
    return (uint64_t)(1e6 * exp(2.5 * rng_normal(r)));
}
static uint64_t whole_seconds(struct rng *r)
{
    return 1000000000 * (uint64_t)(rng_exponential(r) * 4);
}
static uint64_t zero(struct rng *r)
{
    (void)r;
    return 0;
}
static uint64_t few_ns(struct rng *r)
{
    return rng_below(r, 4);
}
static uint64_t power_of_two(struct rng *r)
{
    return UINT64_C(1) << rng_below(r, 40);
}
static uint64_t any_size(struct rng *r)
{
    uint64_t shift = 14 + rng_below(r, 50);
    return rng_u64(r) >> shift;
}

typedef uint64_t increment_fn(struct rng *r);
static increment_fn *const increments[] = {exponential, bimodal, lognormal,    whole_seconds,
                                           zero,        few_ns,  power_of_two, any_size};
enum { N_INCREMENTS = sizeof increments / sizeof *increments };

Test(pes, hold_equals_the_heap)
{
    static const size_t sizes[] = {1, 2, 3, 8, 9, 10, 100, 1000, 20000};
    for (int d = 0; d < N_INCREMENTS; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct pair p;
            struct rng r;
            pair_init(&p);
            rng_init(&r, 1, (uint32_t)s, "pes", "hold");
            for (size_t i = 0; i < sizes[s]; i++)
                pair_push(&p, increments[d](&r), (unsigned)rng_below(&r, PES_CLASSES));
            for (int i = 0; i < 20000; i++) {
                pair_pop(&p, i % 5 == 0);
                uint64_t later = increments[d](&r);
                pair_push(&p, p.now + later, (unsigned)rng_below(&r, PES_CLASSES));
            }
            pair_drain(&p);
            pair_fini(&p);
        }
}

/* The set grows and shrinks at random, down to nothing. */
Test(pes, random_operations_equal_the_heap)
{
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct pair p;
        struct rng r;
        pair_init(&p);
        rng_init(&r, seed, 0, "pes", "random");
        uint64_t push_share = 50;
        for (int i = 0; i < 20000; i++) {
            if (i % 500 == 0)
                push_share = 20 + rng_below(&r, 60);
            if (p.heap.n == 0 || rng_below(&r, 100) < push_share) {
                uint64_t later = increments[rng_below(&r, N_INCREMENTS)](&r);
                pair_push(&p, p.now + later, (unsigned)rng_below(&r, PES_CLASSES));
            } else {
                pair_pop(&p, rng_below(&r, 4) == 0);
            }
        }
        pair_drain(&p);
        pair_fini(&p);
    }
}

/* One event schedules many, in four patterns of times; then the same again from a later now. */
Test(pes, bursts_equal_the_heap)
{
    enum { N = 30000 };
    for (int pattern = 0; pattern < 5; pattern++) {
        struct pair p;
        struct rng r;
        pair_init(&p);
        rng_init(&r, 3, 0, "pes", "burst");
        for (int round = 0; round < 3; round++) {
            pair_push(&p, p.now + 12345, 0);
            pair_push(&p, p.now + 987654321, 3);
            pair_pop(&p, false);
            for (uint64_t i = 0; i < N; i++) {
                uint64_t scattered = rng_below(&r, 1000000);
                uint64_t later[] = {0, 1000 * i, 1000 * (N - i), scattered, 5000};
                pair_push(&p, p.now + later[pattern], (unsigned)(i % 3));
            }
            pair_drain(&p);
        }
        pair_fini(&p);
    }
}

Test(pes, ties_are_first_in_first_out_in_each_class)
{
    struct pes p;
    pes_init(&p);
    for (uint64_t i = 0; i < 7000; i++)
        pes_push(&p, 42, i << PES_GENERATION_SHIFT | (6 - i % 7) << PES_SLOT_BITS);
    for (uint64_t i = 0; i < 7000; i++) {
        struct pes_entry e;
        cr_assert(pes_pop(&p, &e));
        uint64_t class = i / 1000, number = i % 1000 * 7 + 6 - class;
        cr_assert_eq(pes_class(e.tag), class);
        cr_assert_eq(e.tag >> PES_GENERATION_SHIFT, number);
    }
    pes_fini(&p);
}

/* An earlier class pushed at the instant being served goes first, however the instant was reached.
 */
Test(pes, earlier_class_at_the_same_instant_goes_first)
{
    static const unsigned others[] = {0, 1, 5, 20};
    for (size_t o = 0; o < 4; o++) {
        struct pair p;
        pair_init(&p);
        for (unsigned i = 0; i < others[o]; i++)
            pair_push(&p, 1000 + i % 2, 6);
        pair_push(&p, 1000, 4);
        pair_pop(&p, false);
        pair_push(&p, 1000, 6);
        pair_push(&p, 1000, 2);
        pair_push(&p, 1000, 1);
        pair_drain(&p);
        pair_fini(&p);
    }
}

Test(pes, whole_range_of_times)
{
    static const uint64_t times[] = {0,
                                     1,
                                     15,
                                     16,
                                     255,
                                     256,
                                     UINT64_C(1) << 32,
                                     INT64_MAX,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX - 16,
                                     UINT64_MAX - 1};
    enum { N = sizeof times / sizeof *times };
    struct pair p;
    pair_init(&p);
    for (int copy = 0; copy < 12; copy++)
        for (int i = 0; i < N; i++)
            pair_push(&p, times[(i * 7 + copy) % N], (unsigned)i % 7);
    pair_drain(&p);
    pair_fini(&p);
}

/* Times before the base: then the set is a plain priority queue. */
Test(pes, times_before_the_base)
{
    struct pair p;
    struct rng r;
    pair_init(&p);
    rng_init(&r, 4, 0, "pes", "rebase");
    for (int i = 0; i < 3000; i++) {
        for (uint64_t k = rng_below(&r, 4); k > 0; k--) {
            uint64_t time = rng_below(&r, 2) ? rng_below(&r, 50) : rng_u64(&r) >> 20;
            pair_push(&p, time, (unsigned)rng_below(&r, PES_CLASSES));
        }
        if (p.heap.n > 0)
            pair_pop(&p, i % 2);
    }
    pair_drain(&p);
    pair_fini(&p);
}

static bool keep_some(const void *ctx, uint64_t tag)
{
    return (tag >> PES_GENERATION_SHIFT) % 3 != *(const uint64_t *)ctx;
}

static void filter_both(struct pair *p, uint64_t dropped)
{
    struct heap_oracle kept = {0};
    for (size_t i = 0; i < p->heap.n; i++) {
        struct heap_key k = p->heap.items[i];
        if ((k.tag >> PES_SLOT_BITS & ((UINT64_C(1) << 37) - 1)) % 3 != dropped)
            heap_oracle_push(&kept, k);
    }
    heap_oracle_fini(&p->heap);
    p->heap = kept;
    pes_filter(&p->pes, keep_some, &dropped);
    cr_assert_eq(p->pes.n, p->heap.n);
}

Test(pes, filtering_keeps_the_order)
{
    for (int d = 0; d < N_INCREMENTS; d++) {
        struct pair p;
        struct rng r;
        pair_init(&p);
        rng_init(&r, 5, (uint32_t)d, "pes", "filter");
        for (int i = 0; i < 20000; i++) {
            uint64_t later = increments[d](&r);
            pair_push(&p, p.now + later, (unsigned)rng_below(&r, PES_CLASSES));
            if (i % 3 == 0)
                pair_pop(&p, i % 2);
            if (i % 700 == 0)
                filter_both(&p, rng_below(&r, 4)); /* 3: drops nothing */
        }
        pair_drain(&p);
        pair_fini(&p);
    }
}

Test(pes, filtering_few)
{
    for (uint64_t n = 0; n < 12; n++)
        for (uint64_t dropped = 0; dropped < 4; dropped++) {
            struct pair p;
            pair_init(&p);
            for (uint64_t i = 0; i < n; i++)
                pair_push(&p, 100 - i % 4, (unsigned)(i % 2));
            filter_both(&p, dropped);
            pair_push(&p, 98, 0);
            pair_drain(&p);
            pair_fini(&p);
        }
}

Test(pes, counts_the_largest_set)
{
    struct pair p;
    pair_init(&p);
    for (uint64_t i = 0; i < 10; i++)
        pair_push(&p, i, 0);
    pair_drain(&p);
    pair_push(&p, 20, 0);
    cr_assert_eq(p.pes.max_n, 10);
    cr_assert_eq(p.pes.n, 1);
    pair_fini(&p);
}
