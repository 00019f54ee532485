/* Router against a list that is searched from end to end. */
#include "models/serving/router.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define ABSENT UINT32_MAX
#define N_MAX  3000

/* The obvious router: counts by replica number. */
struct plain {
    uint32_t count[N_MAX];
    uint32_t n;
};

static uint32_t plain_fewest(const struct plain *p, bool highest)
{
    uint32_t best = ROUTER_NONE;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->count[i] != ABSENT && (best == ROUTER_NONE || p->count[i] < p->count[best] ||
                                      (highest && p->count[i] == p->count[best])))
            best = i;
    return best;
}

static uint32_t plain_eligible(const struct plain *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++)
        n += p->count[i] != ABSENT;
    return n;
}

static void check_pick(enum router_kind kind, uint32_t limit, struct router *r,
                       const struct plain *p)
{
    uint32_t expected = plain_fewest(p, false), picked = router_pick(r);
    if (kind == ROUTER_SHARED_QUEUE && expected != ROUTER_NONE && p->count[expected] >= limit)
        expected = ROUTER_NONE;
    if (kind == ROUTER_RANDOM && expected != ROUTER_NONE)
        cr_assert(picked < p->n && p->count[picked] != ABSENT);
    else
        cr_assert_eq(picked, expected);
    cr_assert_eq(router_least_highest(r), plain_fewest(p, true));
    cr_assert_eq(router_eligible(r), plain_eligible(p));
}

/* Random additions, removals and counts over n replicas; counts stay below spread, so a small
 * spread means many ties. */
static void compare(enum router_kind kind, uint32_t n, uint32_t spread, uint64_t seed)
{
    struct rng ops, stream;
    rng_init(&ops, seed, 0, "test", "operations");
    rng_init(&stream, seed, 0, "test", "router");
    const uint32_t limit = 3;
    struct router *r = router_new(kind, limit, &stream);
    struct plain *p = malloc(sizeof *p);
    p->n = n;
    for (uint32_t i = 0; i < n; i++)
        p->count[i] = ABSENT;
    check_pick(kind, limit, r, p);
    for (int step = 0; step < 6000; step++) {
        uint32_t i = rng_below(&ops, n), count = rng_below(&ops, spread);
        bool leave = rng_below(&ops, 4) == 0;
        if (p->count[i] == ABSENT) {
            p->count[i] = count;
            cr_assert_eq(router_add(r, i, count), HR_OK);
        } else if (leave) {
            p->count[i] = ABSENT;
            router_remove(r, i);
        } else {
            p->count[i] = count;
            router_update(r, i, count);
        }
        if (n <= 300 || step % 8 == 0)
            check_pick(kind, limit, r, p);
    }
    for (uint32_t i = 0; i < n; i++)
        if (p->count[i] != ABSENT) {
            p->count[i] = ABSENT;
            router_remove(r, i);
        }
    check_pick(kind, limit, r, p);
    router_free(r);
    free(p);
}

Test(router, agrees_with_a_list)
{
    const uint32_t sizes[] = {1, 2, 15, 16, 17, 255, 256, 257, N_MAX};
    for (int kind = 0; kind < ROUTER_KINDS; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            compare(kind, sizes[i], 4, 10 * i + kind);
            compare(kind, sizes[i], 100000, 1000 + 10 * i + kind);
        }
}

Test(router, equal_counts_go_to_the_lowest_number)
{
    struct router *r = router_new(ROUTER_LEAST_OUTSTANDING, 0, NULL);
    const uint32_t order[] = {40, 7, 300, 21};
    for (int i = 0; i < 4; i++)
        cr_assert_eq(router_add(r, order[i], 2), HR_OK);
    const uint32_t expected[] = {7, 21, 40, 300};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(router_pick(r), expected[i]);
        cr_assert_eq(router_least_highest(r), 300u);
        if (i < 3)
            router_update(r, expected[i], 3);
    }
    router_free(r);
}

Test(router, a_full_service_keeps_the_queue)
{
    struct router *r = router_new(ROUTER_SHARED_QUEUE, 2, NULL);
    cr_assert_eq(router_pick(r), ROUTER_NONE);
    cr_assert_eq(router_add(r, 0, 2), HR_OK);
    cr_assert_eq(router_pick(r), ROUTER_NONE);
    cr_assert_eq(router_add(r, 1, 0), HR_OK);
    cr_assert_eq(router_pick(r), 1u);
    router_update(r, 1, 2);
    cr_assert_eq(router_pick(r), ROUTER_NONE);
    router_update(r, 0, 1);
    cr_assert_eq(router_pick(r), 0u);
    router_free(r);
}

/* Chi-square of uniform picks over 20 replicas: 19 degrees of freedom, 0.1 % point 43.8. */
Test(router, random_is_uniform_over_the_eligible)
{
    struct rng stream;
    rng_init(&stream, 4, 0, "test", "router");
    struct router *r = router_new(ROUTER_RANDOM, 0, &stream);
    for (uint32_t i = 0; i < 40; i++)
        cr_assert_eq(router_add(r, i, i), HR_OK);
    for (uint32_t i = 0; i < 40; i += 2)
        router_remove(r, i);
    int picks[40] = {0};
    const int n = 40000;
    for (int i = 0; i < n; i++)
        picks[router_pick(r)]++;
    double chi2 = 0;
    for (int i = 0; i < 40; i++) {
        double expected = i % 2 ? n / 20.0 : 0;
        if (expected > 0)
            chi2 += (picks[i] - expected) * (picks[i] - expected) / expected;
        else
            cr_assert_eq(picks[i], 0);
    }
    cr_assert_lt(chi2, 43.8);
    router_free(r);
}
