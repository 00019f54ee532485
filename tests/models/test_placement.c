/* Placement: worked cases, every placement of tiny fleets tried out, and the index of a large fleet
 * against a plain walk over its nodes. */
#include "models/capacity/placement_internal.h"

#include "draw.h"
#include "sim/vec.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct field {
    struct arena arena;
    struct nodes nodes;
    struct parts parts; /* of the last take */
};

static void field_init(struct field *f, const struct node_group *groups, size_t n)
{
    *f = (struct field){0};
    arena_init(&f->arena);
    cr_assert_eq(nodes_init(&f->nodes, groups, n, 1, &f->arena), HR_OK);
}

static void field_fini(struct field *f)
{
    vec_free(&f->parts);
    arena_fini(&f->arena);
}

static void take(struct field *f, enum shape_kind kind, uint32_t gpus)
{
    const struct shape shape = {.gpus = gpus, .kind = kind};
    f->parts.n = 0;
    cr_assert_eq(nodes_fit(&f->nodes, &shape), GRANT_OK);
    cr_assert_eq(nodes_take(&f->nodes, &shape, &f->parts), HR_OK);
}

static void part_is(const struct field *f, size_t i, uint32_t node, uint64_t mask)
{
    cr_assert_lt(i, f->parts.n);
    cr_assert_eq(f->parts.items[i].node, node);
    cr_assert_eq(f->parts.items[i].mask, mask);
}

static enum grant fit(const struct field *f, enum shape_kind kind, uint32_t gpus)
{
    const struct shape shape = {.gpus = gpus, .kind = kind};
    return nodes_fit(&f->nodes, &shape);
}

Test(placement, one_node_takes_the_best_fit_lowest_node_first)
{
    struct field f;
    field_init(&f, &(struct node_group){.nodes = 3, .gpus_per_node = 8}, 1);
    take(&f, SHAPE_ONE_NODE, 3);
    part_is(&f, 0, 0, 0x07);
    take(&f, SHAPE_ONE_NODE, 6); /* node 0 has 5 free */
    part_is(&f, 0, 1, 0x3f);
    take(&f, SHAPE_ONE_NODE, 2); /* node 1 has 2 free: fewer than node 0 */
    part_is(&f, 0, 1, 0xc0);
    nodes_give(&f.nodes, 0, 0x02);
    take(&f, SHAPE_ONE_NODE, 2); /* 6 free on node 0: indices 1 and 3 are the lowest */
    part_is(&f, 0, 0, 0x0a);
    field_fini(&f);
}

/* Public question, volcano-sh/volcano#3948: a 4-GPU job waits although 4 GPUs are free. */
Test(placement, enough_free_gpus_can_be_wrongly_placed)
{
    struct field f;
    field_init(&f, &(struct node_group){.nodes = 3, .gpus_per_node = 8}, 1);
    nodes_take_on(&f.nodes, 0, 7);
    nodes_take_on(&f.nodes, 1, 6);
    nodes_take_on(&f.nodes, 2, 7);
    cr_assert_eq(f.nodes.n_free, 4);
    cr_assert_eq(fit(&f, SHAPE_ONE_NODE, 4), GRANT_SHAPE);
    cr_assert_eq(fit(&f, SHAPE_PREFER_WHOLE, 4), GRANT_SHAPE);
    cr_assert_eq(fit(&f, SHAPE_ANY, 4), GRANT_OK);
    cr_assert_eq(fit(&f, SHAPE_ANY, 5), GRANT_ROOM);
    cr_assert_eq(fit(&f, SHAPE_ONE_NODE, 9), GRANT_NEVER);
    cr_assert_eq(fit(&f, SHAPE_ANY, 25), GRANT_NEVER);
    cr_assert_eq(nodes_free_below(&f.nodes, 2), 2);
    cr_assert_eq(nodes_free_below(&f.nodes, 3), 4);
    field_fini(&f);
}

/* Public question, volcano-sh/volcano#5078: packing 8 one-GPU replicas leaves 11 of 12 nodes. */
Test(placement, packing_keeps_nodes_whole)
{
    struct field f;
    field_init(&f, &(struct node_group){.nodes = 12, .gpus_per_node = 8}, 1);
    for (int i = 0; i < 8; i++)
        take(&f, SHAPE_ONE_NODE, 1);
    cr_assert_eq(f.nodes.nodes_with[8], 11);
    field_fini(&f);
}

Test(placement, a_gang_takes_whole_nodes_and_the_tightest_remainder)
{
    struct field f;
    field_init(&f, &(struct node_group){.nodes = 5, .gpus_per_node = 8}, 1);
    nodes_take_on(&f.nodes, 0, 1);
    nodes_take_on(&f.nodes, 3, 4);
    take(&f, SHAPE_PREFER_WHOLE, 20); /* 1 and 2 are whole; 3 has 4 free, 0 has 7 */
    cr_assert_eq(f.parts.n, 3);
    part_is(&f, 0, 1, 0xff);
    part_is(&f, 1, 2, 0xff);
    part_is(&f, 2, 3, 0xf0);
    field_fini(&f);
}

Test(placement, a_gang_without_whole_nodes_takes_the_fullest_first)
{
    struct field f;
    field_init(&f, &(struct node_group){.nodes = 3, .gpus_per_node = 8}, 1);
    nodes_take_on(&f.nodes, 0, 2);
    nodes_take_on(&f.nodes, 2, 6);
    take(&f, SHAPE_PREFER_WHOLE, 15); /* free 6, 8, 2: one whole node, 7 remain, nowhere */
    cr_assert_eq(f.parts.n, 3);
    part_is(&f, 0, 2, 0xc0);
    part_is(&f, 1, 0, 0xfc);
    part_is(&f, 2, 1, 0x7f);
    field_fini(&f);
}

Test(placement, nodes_of_64_gpus)
{
    struct field f;
    field_init(&f, &(struct node_group){.nodes = 2, .gpus_per_node = 64}, 1);
    take(&f, SHAPE_ONE_NODE, 64);
    part_is(&f, 0, 0, UINT64_MAX);
    take(&f, SHAPE_ONE_NODE, 63);
    part_is(&f, 0, 1, UINT64_MAX >> 1);
    cr_assert_eq(fit(&f, SHAPE_ONE_NODE, 2), GRANT_ROOM);
    cr_assert(nodes_consistent(&f.nodes));
    field_fini(&f);
}

/* ---- tiny fleets, every placement ---- */

enum { TINY = 4 };

/* Tries every way to take gpus from free[0..n): whether one keeps to the rules of the shape that
 * do not bend. */
static bool any_placement(const uint32_t *free, uint32_t n, uint32_t gpus, bool one_node,
                          uint32_t used)
{
    if (gpus == 0)
        return !one_node || used == 1;
    if (n == 0)
        return false;
    for (uint32_t k = 0; k <= free[0] && k <= gpus; k++)
        if (any_placement(free + 1, n - 1, gpus - k, one_node, used + (k > 0)))
            return true;
    return false;
}

static void check_take(struct field *f, const uint32_t *free, uint32_t size, const struct shape *s)
{
    bool one = s->kind == SHAPE_ONE_NODE || (s->kind == SHAPE_PREFER_WHOLE && s->gpus <= size);
    uint32_t gpus = 0, whole = 0, n_whole = 0;
    take(f, s->kind, s->gpus);
    for (size_t i = 0; i < f->parts.n; i++) {
        const struct part *p = &f->parts.items[i];
        gpus += mask_count(p->mask);
        cr_assert_leq(mask_count(p->mask), free[p->node]);
        cr_assert_eq(p->mask & f->nodes.free_mask[p->node], 0);
        whole += mask_count(p->mask) == size;
    }
    cr_assert_eq(gpus, s->gpus);
    uint32_t best = UINT32_MAX, left = s->gpus % size;
    for (uint32_t i = 0; i < f->nodes.n; i++) {
        n_whole += free[i] == size;
        if (free[i] >= s->gpus && (best == UINT32_MAX || free[i] < free[best]))
            best = i;
    }
    if (one)
        cr_assert(f->parts.n == 1 && f->parts.items[0].node == best);
    /* Whole nodes and a remainder exist: then they are taken. */
    bool remainder = left == 0 || n_whole > s->gpus / size;
    for (uint32_t i = 0; i < f->nodes.n; i++)
        remainder |= free[i] < size && free[i] >= left;
    if (!one && s->kind == SHAPE_PREFER_WHOLE && n_whole >= s->gpus / size && remainder)
        cr_assert(whole == s->gpus / size && f->parts.n == whole + (left > 0));
    for (size_t i = 0; i < f->parts.n; i++)
        nodes_give(&f->nodes, f->parts.items[i].node, f->parts.items[i].mask);
}

Test(placement, finds_what_exists_on_tiny_fleets)
{
    uint64_t seed = 2;
    for (int run = 0; run < 2000; run++) {
        uint32_t n = 1 + draw_below(&seed, TINY), size = 1 + draw_below(&seed, TINY),
                 free[TINY] = {0};
        struct field f;
        field_init(&f, &(struct node_group){.nodes = n, .gpus_per_node = size}, 1);
        for (uint32_t i = 0; i < n; i++) {
            free[i] = draw_below(&seed, size + 1);
            nodes_take_on(&f.nodes, i, size - free[i]);
        }
        for (uint32_t gpus = 1; gpus <= n * size + 1; gpus++)
            for (int kind = SHAPE_ONE_NODE; kind <= SHAPE_ANY; kind++) {
                const struct shape s = {.gpus = gpus, .kind = (enum shape_kind)kind};
                bool one = kind == SHAPE_ONE_NODE || (kind == SHAPE_PREFER_WHOLE && gpus <= size);
                enum grant g = nodes_fit(&f.nodes, &s);
                bool exists = any_placement(free, n, gpus, one, 0);
                cr_assert_eq(g == GRANT_OK, exists);
                cr_assert_eq(g == GRANT_NEVER, gpus > (one ? size : n * size));
                cr_assert(g != GRANT_ROOM || gpus > f.nodes.n_free);
                cr_assert(g != GRANT_SHAPE || gpus <= f.nodes.n_free);
                if (exists)
                    check_take(&f, free, size, &s);
                cr_assert(nodes_consistent(&f.nodes));
            }
        field_fini(&f);
    }
}

/* ---- many nodes ---- */

static uint32_t plain_best_fit(const struct nodes *ns, uint32_t gpus)
{
    uint32_t best = NODE_NONE;
    for (uint32_t i = 0; i < ns->n; i++)
        if (ns->free_count[i] >= gpus &&
            (best == NODE_NONE || ns->free_count[i] < ns->free_count[best]))
            best = i;
    return best;
}

struct held {
    struct part *items;
    size_t n, capacity;
};

static void drop_one(struct field *f, struct held *held, uint64_t *seed)
{
    uint32_t i = draw_below(seed, (uint32_t)held->n);
    nodes_give(&f->nodes, held->items[i].node, held->items[i].mask);
    held->items[i] = held->items[--held->n];
}

Test(placement, the_index_equals_a_walk_over_mixed_nodes)
{
    const struct node_group groups[] = {{.nodes = 4500, .gpus_per_node = 8},
                                        {.nodes = 300, .gpus_per_node = 4},
                                        {.nodes = 20, .gpus_per_node = 16}};
    struct field f;
    struct held held = {0};
    uint64_t seed = 3;
    field_init(&f, groups, 3);
    for (int step = 0; step < 40000; step++) {
        enum shape_kind kind = draw_below(&seed, 3);
        uint32_t gpus = 1 + draw_below(&seed, kind == SHAPE_ONE_NODE ? 16 : 48);
        bool busy = f.nodes.n_free < 3000 + 2900 * (uint32_t)(step / 4000 % 2);
        if (held.n > 0 && (busy || draw_below(&seed, 4) == 0)) {
            drop_one(&f, &held, &seed);
            continue;
        }
        if (fit(&f, kind, gpus) != GRANT_OK)
            continue;
        uint32_t want = kind == SHAPE_ONE_NODE ? plain_best_fit(&f.nodes, gpus) : NODE_NONE;
        take(&f, kind, gpus);
        cr_assert(want == NODE_NONE || f.parts.items[0].node == want);
        for (size_t i = 0; i < f.parts.n; i++)
            cr_assert(vec_push(&held, f.parts.items[i]));
    }
    cr_assert(nodes_consistent(&f.nodes));
    while (held.n > 0)
        drop_one(&f, &held, &seed);
    cr_assert_eq(f.nodes.n_free, f.nodes.n_gpus);
    cr_assert(nodes_consistent(&f.nodes));
    vec_free(&held);
    field_fini(&f);
}
