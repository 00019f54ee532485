/* Placement by rule and by leaf group: worked cases, and random fleets against a reference that
 * walks over all nodes for each decision. */
#include "models/capacity/placement_internal.h"

#include "draw.h"
#include "sim/vec.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MOST_NODES = 24, MOST_LEAVES = 6, SIZE = 8 };

struct site {
    struct arena arena;
    struct nodes nodes;
    struct parts parts; /* of the last take */
};

static void site_init(struct site *s, enum place_rule rule, uint32_t size, const uint32_t *leaves,
                      uint32_t n_leaves)
{
    struct node_group group = {.gpus_per_node = size};
    for (uint32_t i = 0; i < n_leaves; i++)
        group.nodes += leaves[i];
    *s = (struct site){0};
    arena_init(&s->arena);
    const struct fabric fabric = {.leaf_nodes = leaves, .n_leaves = n_leaves};
    cr_assert_eq(nodes_init(&s->nodes, &group, 1, 1, &s->arena), HR_OK);
    cr_assert_eq(nodes_arrange(&s->nodes, rule, &fabric, &s->arena), HR_OK);
}

static void site_fini(struct site *s)
{
    vec_free(&s->parts);
    arena_fini(&s->arena);
}

static void take(struct site *s, enum shape_kind kind, uint32_t gpus)
{
    const struct shape shape = {.gpus = gpus, .kind = kind};
    s->parts.n = 0;
    cr_assert_eq(nodes_fit(&s->nodes, &shape), GRANT_OK);
    cr_assert_eq(nodes_take(&s->nodes, &shape, &s->parts), HR_OK);
}

static enum grant fit(const struct site *s, enum shape_kind kind, uint32_t gpus)
{
    const struct shape shape = {.gpus = gpus, .kind = kind};
    return nodes_fit(&s->nodes, &shape);
}

static void on_nodes(const struct site *s, size_t n, const uint32_t *nodes)
{
    cr_assert_eq(s->parts.n, n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(s->parts.items[i].node, nodes[i], "part %zu on node %u", i,
                     s->parts.items[i].node);
}

#define ON(site, ...)                                                                              \
    on_nodes(site, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

Test(leaves, each_rule_picks_its_node)
{
    static const uint32_t where[PLACE_RULES] = {
        [PLACE_BEST_FIT] = 1, [PLACE_FIRST_FIT] = 0, [PLACE_WORST_FIT] = 2, [PLACE_TOPOLOGY] = 1};
    for (int rule = 0; rule < PLACE_RULES; rule++) {
        struct site s;
        site_init(&s, (enum place_rule)rule, SIZE, (uint32_t[]){2, 1}, 2);
        nodes_take_on(&s.nodes, 0, 3);
        nodes_take_on(&s.nodes, 1, 5);
        take(&s, SHAPE_ONE_NODE, 2);
        on_nodes(&s, 1, &where[rule]);
        site_fini(&s);
    }
}

/* Opening a node breaks the leaf group that is broken already. */
Test(leaves, topology_opens_a_node_in_the_least_whole_group)
{
    struct site s;
    site_init(&s, PLACE_TOPOLOGY, SIZE, (uint32_t[]){3, 3, 3}, 3);
    nodes_take_on(&s.nodes, 3, SIZE);
    take(&s, SHAPE_ONE_NODE, 4);
    ON(&s, 4);
    take(&s, SHAPE_ONE_NODE, 4); /* the open node is the tightest */
    ON(&s, 4);
    take(&s, SHAPE_ONE_NODE, 4);
    ON(&s, 5);
    take(&s, SHAPE_ONE_NODE, 8); /* the second group has no whole node left */
    ON(&s, 0);
    site_fini(&s);
}

Test(leaves, a_gang_goes_to_the_tightest_group_that_holds_it)
{
    struct site s;
    site_init(&s, PLACE_TOPOLOGY, SIZE, (uint32_t[]){4, 2, 3}, 3);
    take(&s, SHAPE_PREFER_WHOLE, 2 * SIZE);
    ON(&s, 4, 5);
    take(&s, SHAPE_PREFER_WHOLE, 2 * SIZE + 3);
    ON(&s, 6, 7, 8);
    cr_assert_eq(nodes_span(&s.nodes, &s.parts), SPAN_LEAF);
    take(&s, SHAPE_PREFER_WHOLE, 4 * SIZE + 5); /* the rest fits the open node */
    ON(&s, 0, 1, 2, 3, 8);
    cr_assert_eq(nodes_span(&s.nodes, &s.parts), SPAN_LEAVES);
    site_fini(&s);
}

Test(leaves, a_gang_over_groups_takes_few_of_them)
{
    struct site s;
    site_init(&s, PLACE_TOPOLOGY, SIZE, (uint32_t[]){2, 3, 1, 2}, 4);
    take(&s, SHAPE_PREFER_WHOLE, 5 * SIZE); /* the largest, then the tightest for two more */
    ON(&s, 2, 3, 4, 0, 1);
    site_fini(&s);
}

Test(leaves, one_leaf_waits_where_the_count_would_do)
{
    struct site s;
    site_init(&s, PLACE_BEST_FIT, SIZE, (uint32_t[]){2, 3}, 2);
    cr_assert_eq(fit(&s, SHAPE_ONE_LEAF, 3 * SIZE + 1), GRANT_NEVER);
    cr_assert_eq(fit(&s, SHAPE_ONE_LEAF, 3 * SIZE), GRANT_OK);
    nodes_take_on(&s.nodes, 4, 1);
    cr_assert_eq(fit(&s, SHAPE_ONE_LEAF, 3 * SIZE), GRANT_TOPOLOGY);
    cr_assert_eq(fit(&s, SHAPE_WHOLE_NODES, 3 * SIZE), GRANT_OK);
    cr_assert_eq(fit(&s, SHAPE_ONE_LEAF, 3 * SIZE - 1), GRANT_OK);
    take(&s, SHAPE_ONE_LEAF, 3 * SIZE - 1);
    ON(&s, 2, 3, 4);
    cr_assert_eq(fit(&s, SHAPE_WHOLE_NODES, 3 * SIZE), GRANT_ROOM);
    nodes_take_on(&s.nodes, 0, 1);
    cr_assert_eq(fit(&s, SHAPE_WHOLE_NODES, SIZE + 7), GRANT_OK);
    nodes_take_on(&s.nodes, 0, 1);
    cr_assert_eq(fit(&s, SHAPE_WHOLE_NODES, SIZE + 6), GRANT_OK);
    nodes_take_on(&s.nodes, 1, 1);
    cr_assert_eq(fit(&s, SHAPE_WHOLE_NODES, SIZE + 1), GRANT_SHAPE);
    cr_assert_eq(fit(&s, SHAPE_PREFER_WHOLE, SIZE + 1), GRANT_OK);
    site_fini(&s);
}

/* Public question, marin-community/marin#6950: gangs of each size inside one leaf group. */
Test(leaves, gangs_inside_leaf_groups)
{
    static const uint32_t groups[] = {1, 1, 2, 2, 2, 3, 3, 3, 5, 5, 6, 6, 6, 8, 11};
    static const uint32_t expected[][2] = {{1, 64}, {2, 28}, {3, 16}, {4, 9},
                                           {5, 8},  {6, 5},  {8, 2},  {11, 1}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (int rule = 0; rule < PLACE_RULES; rule++) {
            struct site s;
            site_init(&s, (enum place_rule)rule, SIZE, groups, sizeof groups / sizeof *groups);
            uint32_t gpus = expected[i][0] * SIZE, n = 0;
            for (; fit(&s, SHAPE_ONE_LEAF, gpus) == GRANT_OK; n++)
                take(&s, SHAPE_ONE_LEAF, gpus);
            cr_assert_eq(n, expected[i][1]);
            site_fini(&s);
        }
}

/* ---- the reference ---- */

struct plain {
    enum place_rule rule;
    uint32_t n, size, n_leaves;
    uint32_t free[MOST_NODES], leaf[MOST_NODES];
    uint32_t take[MOST_NODES];
};

static uint32_t plain_whole(const struct plain *p, uint32_t leaf)
{
    uint32_t whole = 0;
    for (uint32_t i = 0; i < p->n; i++)
        whole += (leaf == NODE_NONE || p->leaf[i] == leaf) && p->free[i] - p->take[i] == p->size;
    return whole;
}

/* Of nodes of a leaf group (NODE_NONE: of all) with n free, by rule. */
static uint32_t plain_node(const struct plain *p, enum place_rule rule, uint32_t n, uint32_t leaf)
{
    uint32_t best = NODE_NONE;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t free = p->free[i] - p->take[i];
        if (free < n || (leaf != NODE_NONE && p->leaf[i] != leaf))
            continue;
        if (best == NODE_NONE) {
            best = i;
            continue;
        }
        uint32_t other = p->free[best] - p->take[best];
        bool better = rule == PLACE_WORST_FIT ? free > other : free < other;
        if (rule == PLACE_TOPOLOGY && free == other && free == p->size)
            better = plain_whole(p, p->leaf[i]) < plain_whole(p, p->leaf[best]);
        if (rule != PLACE_FIRST_FIT && better)
            best = i;
    }
    return best;
}

/* Whole nodes of a leaf group, then one with the rest; false: not there. */
static bool plain_in(struct plain *p, uint32_t gpus, uint32_t leaf)
{
    for (uint32_t i = 0; i < p->n && gpus >= p->size; i++)
        if ((leaf == NODE_NONE || p->leaf[i] == leaf) && p->free[i] == p->size && p->take[i] == 0) {
            p->take[i] = p->size;
            gpus -= p->size;
        }
    if (gpus == 0)
        return true;
    uint32_t node = gpus < p->size ? plain_node(p, PLACE_BEST_FIT, gpus, leaf) : NODE_NONE;
    if (node != NODE_NONE)
        p->take[node] += gpus;
    return node != NODE_NONE;
}

static uint32_t plain_leaf(const struct plain *p, uint32_t gpus)
{
    uint32_t best = NODE_NONE;
    for (uint32_t l = 0; l < p->n_leaves; l++) {
        struct plain trial = *p;
        if (!plain_in(&trial, gpus, l))
            continue;
        uint32_t w = plain_whole(p, l), b = best == NODE_NONE ? 0 : plain_whole(p, best);
        bool better = p->rule == PLACE_WORST_FIT ? w > b : p->rule != PLACE_FIRST_FIT && w < b;
        if (best == NODE_NONE || better)
            best = l;
    }
    return best;
}

static bool plain_by_leaves(struct plain *p, uint32_t gpus)
{
    while (gpus >= p->size) {
        uint32_t leaf = plain_leaf(p, gpus);
        if (leaf != NODE_NONE)
            return plain_in(p, gpus, leaf);
        leaf = plain_leaf(p, gpus - gpus % p->size);
        for (uint32_t l = 0; l < p->n_leaves && leaf == NODE_NONE; l++) {
            bool most = plain_whole(p, l) > 0;
            for (uint32_t k = 0; k < p->n_leaves; k++)
                most = most && (plain_whole(p, k) < plain_whole(p, l) ||
                                (plain_whole(p, k) == plain_whole(p, l) && k >= l));
            leaf = most ? l : leaf;
        }
        if (leaf == NODE_NONE)
            return false;
        uint32_t n = plain_whole(p, leaf);
        n = n < gpus / p->size ? n : gpus / p->size;
        plain_in(p, n * p->size, leaf);
        gpus -= n * p->size;
    }
    return plain_in(p, gpus, NODE_NONE);
}

static void plain_anywhere(struct plain *p, uint32_t gpus)
{
    while (gpus > 0) {
        uint32_t node = plain_node(p, PLACE_BEST_FIT, 1, NODE_NONE);
        uint32_t n = p->free[node] - p->take[node];
        n = n < gpus ? n : gpus;
        p->take[node] += n;
        gpus -= n;
    }
}

static enum grant plain_take(struct plain *p, const struct shape *s)
{
    uint32_t all = 0, leaf_nodes = 0;
    bool one = s->kind == SHAPE_ONE_NODE || (s->kind != SHAPE_ANY && s->gpus <= p->size);
    for (uint32_t i = 0; i < p->n; i++)
        all += p->free[i];
    for (uint32_t l = 0; l < p->n_leaves; l++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < p->n; i++)
            n += p->leaf[i] == l;
        leaf_nodes = n > leaf_nodes ? n : leaf_nodes;
    }
    if (s->gpus > p->size * (one ? 1 : s->kind == SHAPE_ONE_LEAF ? leaf_nodes : p->n))
        return GRANT_NEVER;
    if (s->gpus > all)
        return GRANT_ROOM;
    if (one) {
        uint32_t node = plain_node(p, p->rule, s->gpus, NODE_NONE);
        if (node != NODE_NONE)
            p->take[node] = s->gpus;
        return node == NODE_NONE ? GRANT_SHAPE : GRANT_OK;
    }
    struct plain trial = *p;
    bool whole = s->kind != SHAPE_ANY && plain_in(&trial, s->gpus, NODE_NONE);
    uint32_t leaf = plain_leaf(p, s->gpus);
    if (s->kind == SHAPE_ONE_LEAF && leaf != NODE_NONE)
        return plain_in(p, s->gpus, leaf) ? GRANT_OK : GRANT_FAILED;
    if (s->kind == SHAPE_ONE_LEAF)
        return whole ? GRANT_TOPOLOGY : GRANT_SHAPE;
    if (!whole && s->kind == SHAPE_WHOLE_NODES)
        return GRANT_SHAPE;
    if (!whole)
        plain_anywhere(p, s->gpus);
    else if (p->rule != PLACE_TOPOLOGY || p->n_leaves == 1)
        plain_in(p, s->gpus, NODE_NONE);
    else
        plain_by_leaves(p, s->gpus);
    return GRANT_OK;
}

/* ---- random fleets ---- */

static void see(struct plain *p, const struct site *s)
{
    for (uint32_t i = 0; i < p->n; i++) {
        p->free[i] = s->nodes.free_count[i];
        p->take[i] = 0;
    }
}

static void one_start(struct site *s, struct plain *p, struct parts *held, uint64_t *seed)
{
    const struct shape shape = {
        .gpus = 1 + draw_below(seed, draw_below(seed, 2) ? p->size : 6 * p->size),
        .kind = (enum shape_kind)draw_below(seed, SHAPE_SLICE)};
    see(p, s);
    enum grant expected = plain_take(p, &shape);
    cr_assert_eq(nodes_fit(&s->nodes, &shape), expected, "rule %d kind %d gpus %u", p->rule,
                 shape.kind, shape.gpus);
    if (expected != GRANT_OK)
        return;
    take(s, shape.kind, shape.gpus);
    for (size_t i = 0; i < s->parts.n; i++) {
        const struct part *part = &s->parts.items[i];
        cr_assert_eq(mask_count(part->mask), p->take[part->node], "rule %d kind %d gpus %u",
                     p->rule, shape.kind, shape.gpus);
        p->take[part->node] = 0;
        cr_assert(vec_push(held, *part));
    }
    for (uint32_t i = 0; i < p->n; i++)
        cr_assert_eq(p->take[i], 0);
}

Test(leaves, equal_a_walk_over_all_nodes)
{
    uint64_t seed = 12;
    for (int run = 0; run < 400; run++) {
        uint32_t leaves[MOST_LEAVES], n_leaves = 1 + draw_below(&seed, MOST_LEAVES);
        struct plain p = {.rule = (enum place_rule)draw_below(&seed, PLACE_RULES),
                          .size = 1 + draw_below(&seed, SIZE),
                          .n_leaves = n_leaves};
        for (uint32_t l = 0; l < n_leaves; l++) {
            leaves[l] = 1 + draw_below(&seed, MOST_NODES / MOST_LEAVES);
            for (uint32_t i = 0; i < leaves[l]; i++)
                p.leaf[p.n++] = l;
        }
        struct site s;
        struct parts held = {0};
        site_init(&s, p.rule, p.size, leaves, n_leaves);
        for (int step = 0; step < 200; step++) {
            if (held.n > 0 && draw_below(&seed, 2) == 0) {
                uint32_t i = draw_below(&seed, (uint32_t)held.n);
                nodes_give(&s.nodes, held.items[i].node, held.items[i].mask);
                held.items[i] = held.items[--held.n];
            } else {
                one_start(&s, &p, &held, &seed);
            }
            cr_assert(nodes_consistent(&s.nodes));
        }
        vec_free(&held);
        site_fini(&s);
    }
}
