/* Levels above the leaf group: worked placements, and random fabrics against every choice of whole
 * nodes and one remainder there is. */
#include "models/capacity/placement_internal.h"

#include "draw.h"
#include "sim/vec.h"

#include <criterion/criterion.h>

enum { SIZE = 8, MOST_NODES = 12, MOST_UNITS = 6 };

struct site {
    struct arena arena;
    struct nodes nodes;
    struct parts parts; /* of the last take */
};

static void site_init(struct site *s, uint32_t size, const struct fabric *fabric)
{
    struct node_group group = {.gpus_per_node = size};
    for (uint32_t i = 0; i < fabric->n_leaves; i++)
        group.nodes += fabric->leaf_nodes[i];
    *s = (struct site){0};
    arena_init(&s->arena);
    cr_assert_eq(nodes_init(&s->nodes, &group, 1, 1, &s->arena), HR_OK);
    cr_assert_eq(nodes_arrange(&s->nodes, PLACE_TOPOLOGY, fabric, &s->arena), HR_OK);
}

static void site_fini(struct site *s)
{
    vec_free(&s->parts);
    arena_fini(&s->arena);
}

static void take(struct site *s, uint32_t gpus)
{
    const struct shape shape = {.gpus = gpus, .kind = SHAPE_PREFER_WHOLE};
    s->parts.n = 0;
    cr_assert_eq(nodes_fit(&s->nodes, &shape), GRANT_OK);
    cr_assert_eq(nodes_take(&s->nodes, &shape, &s->parts), HR_OK);
    cr_assert(nodes_consistent(&s->nodes));
}

static void expect(const struct site *s, enum lease_span span, size_t n, const uint32_t *nodes)
{
    cr_assert_eq(nodes_span(&s->nodes, &s->parts), span);
    cr_assert_eq(s->parts.n, n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(s->parts.items[i].node, nodes[i], "part %zu on node %u", i,
                     s->parts.items[i].node);
}

#define ON(site, span, ...)                                                                        \
    expect(site, span, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                       \
           (uint32_t[]){__VA_ARGS__})

/* Two spines of leaf groups 2, 1 and 2, 2: nodes 0 1 | 2 || 3 4 | 5 6. */
static const struct fabric two = {
    .leaf_nodes = (const uint32_t[]){2, 1, 2, 2},
    .n_leaves = 4,
    .spine_leaves = (const uint32_t[]){2, 2},
    .n_spines = 2,
};

Test(spines, a_gang_that_no_leaf_holds_goes_to_the_tightest_spine)
{
    struct site s;
    site_init(&s, SIZE, &two);
    take(&s, 3 * SIZE); /* the first has three nodes, the second four */
    ON(&s, SPAN_LEAVES, 0, 1, 2);
    take(&s, 2 * SIZE + 3); /* of the second the whole of a leaf group, and of the next */
    ON(&s, SPAN_LEAVES, 3, 4, 5);
    take(&s, SIZE);
    ON(&s, SPAN_NODE, 6);
    site_fini(&s);
}

/* The largest spine first, then the tightest leaf group of the other. */
Test(spines, a_gang_that_no_spine_holds_takes_few_of_them)
{
    struct site s;
    site_init(&s, SIZE, &two);
    take(&s, 5 * SIZE);
    ON(&s, SPAN_SPINES, 3, 4, 5, 6, 2);
    site_fini(&s);
}

/* One leaf group comes before one spine; a spine without room for the rest is none. */
Test(spines, the_lowest_level_that_holds_it)
{
    struct site s;
    site_init(&s, SIZE, &two);
    take(&s, 2 * SIZE);
    ON(&s, SPAN_LEAF, 0, 1);
    nodes_take_on(&s.nodes, 6, 6);
    take(&s, 3 * SIZE + 2); /* the second spine: three whole, and two GPUs of node 6 */
    ON(&s, SPAN_LEAVES, 3, 4, 5, 6);
    site_fini(&s);
    site_init(&s, SIZE, &two);
    nodes_take_on(&s.nodes, 6, 6);
    take(&s, 3 * SIZE + 3); /* no spine has four nodes with room: the rest opens one elsewhere */
    ON(&s, SPAN_SPINES, 0, 1, 2, 3);
    site_fini(&s);
}

/* Racks of an NVSwitch domain of 18 trays with 4 GPUs, two to a unit: a domain is a leaf group. */
Test(spines, nvswitch_domains_of_several_nodes)
{
    const struct fabric racks = {.leaf_nodes = (const uint32_t[]){18, 18, 18, 18},
                                 .n_leaves = 4,
                                 .spine_leaves = (const uint32_t[]){2, 2},
                                 .n_spines = 2};
    struct site s;
    site_init(&s, 4, &racks);
    take(&s, 64);
    cr_assert_eq(nodes_span(&s.nodes, &s.parts), SPAN_LEAF);
    take(&s, 72);
    cr_assert_eq(nodes_span(&s.nodes, &s.parts), SPAN_LEAF);
    cr_assert_eq(s.nodes.leaves.of[s.parts.items[0].node], 1);
    take(&s, 144);
    cr_assert_eq(nodes_span(&s.nodes, &s.parts), SPAN_LEAVES);
    cr_assert_eq(s.nodes.leaves.spine_of[s.nodes.leaves.of[s.parts.items[0].node]], 1);
    site_fini(&s);
}

/* ---- every choice ---- */

struct best {
    enum lease_span span;
    uint32_t spines;
};

/* Of the nodes in a mask: how far apart, in how many spines. */
static struct best measure(const struct nodes *ns, uint32_t mask)
{
    const struct leaves *ls = &ns->leaves;
    struct best b = {SPAN_NODE, 0};
    uint32_t first = NODE_NONE, seen = 0;
    for (uint32_t i = 0; i < ns->n; i++) {
        if (!(mask >> i & 1))
            continue;
        uint32_t leaf = ls->n > 1 ? ls->of[i] : 0,
                 spine = ls->n_spines > 1 ? ls->spine_of[leaf] : 0;
        if (first == NODE_NONE)
            first = i;
        uint32_t leaf0 = ls->n > 1 ? ls->of[first] : 0;
        uint32_t spine0 = ls->n_spines > 1 ? ls->spine_of[leaf0] : 0;
        enum lease_span here = spine != spine0 ? SPAN_SPINES
                               : leaf != leaf0 ? SPAN_LEAVES
                               : i != first    ? SPAN_LEAF
                                               : SPAN_NODE;
        b.span = here > b.span ? here : b.span;
        seen |= 1u << spine;
    }
    b.spines = (uint32_t)__builtin_popcount(seen);
    return b;
}

/* The nearest of all sets of whole nodes and one more with the rest; span LEASE_SPANS: there is
 * none. */
static struct best nearest(const struct nodes *ns, uint32_t gpus)
{
    uint32_t size = ns->largest, whole = gpus / size, rest = gpus % size;
    struct best best = {LEASE_SPANS, MOST_UNITS + 1};
    for (uint32_t mask = 0; mask < 1u << ns->n; mask++) {
        bool free = (uint32_t)__builtin_popcount(mask) == whole;
        for (uint32_t i = 0; i < ns->n && free; i++)
            free = !(mask >> i & 1) || ns->free_count[i] == size;
        for (uint32_t i = 0; i < ns->n && free; i++) {
            if (rest > 0 && (mask >> i & 1 || ns->free_count[i] < rest))
                continue;
            struct best b = measure(ns, rest > 0 ? mask | 1u << i : mask);
            best.span = b.span < best.span ? b.span : best.span;
            best.spines = b.spines < best.spines ? b.spines : best.spines;
        }
    }
    return best;
}

static uint32_t draw_units(uint64_t *seed, uint32_t n, uint32_t most, uint32_t *sizes)
{
    uint32_t units = 0;
    for (; n > 0; units++) {
        uint32_t size = 1 + draw_below(seed, most);
        sizes[units] = units + 1 == MOST_UNITS || size > n ? n : size;
        n -= sizes[units];
    }
    return units;
}

static void one_start(struct site *s, struct parts *held, uint64_t *seed)
{
    uint32_t size = s->nodes.largest, gpus = size + 1 + draw_below(seed, 6 * size);
    const struct shape shape = {.gpus = gpus, .kind = SHAPE_PREFER_WHOLE};
    if (nodes_fit(&s->nodes, &shape) != GRANT_OK)
        return;
    struct best best = nearest(&s->nodes, gpus);
    take(s, gpus);
    uint32_t mask = 0;
    for (size_t i = 0; i < s->parts.n; i++) {
        mask |= 1u << s->parts.items[i].node;
        cr_assert(vec_push(held, s->parts.items[i]));
    }
    if (best.span == LEASE_SPANS)
        return; /* no whole nodes: anywhere */
    struct best got = measure(&s->nodes, mask);
    cr_assert_eq(got.span, best.span, "%u GPUs on nodes of %u: %s, not %s", gpus, size,
                 lease_span_names[got.span], lease_span_names[best.span]);
    cr_assert_eq(got.span, nodes_span(&s->nodes, &s->parts));
    if (gpus % size == 0)
        cr_assert_eq(got.spines, best.spines);
}

Test(spines, no_choice_is_nearer)
{
    uint64_t seed = 31;
    uint32_t spans[LEASE_SPANS] = {0};
    for (int run = 0; run < 150; run++) {
        uint32_t leaf_nodes[MOST_UNITS], spine_leaves[MOST_UNITS];
        struct fabric fabric = {.leaf_nodes = leaf_nodes, .spine_leaves = spine_leaves};
        fabric.n_leaves = draw_units(&seed, 6 + draw_below(&seed, MOST_NODES - 5), 4, leaf_nodes);
        fabric.n_spines = draw_units(&seed, fabric.n_leaves, 3, spine_leaves);
        struct site s;
        struct parts held = {0};
        site_init(&s, 1 + draw_below(&seed, 4), &fabric);
        for (int step = 0; step < 30; step++) {
            if (held.n > 0 && draw_below(&seed, 3) > 0) {
                uint32_t i = draw_below(&seed, (uint32_t)held.n);
                nodes_give(&s.nodes, held.items[i].node, held.items[i].mask);
                held.items[i] = held.items[--held.n];
                continue;
            }
            size_t before = held.n;
            one_start(&s, &held, &seed);
            if (held.n > before)
                spans[nodes_span(&s.nodes, &s.parts)]++;
        }
        vec_free(&held);
        site_fini(&s);
    }
    cr_assert(spans[SPAN_LEAF] > 50 && spans[SPAN_LEAVES] > 50 && spans[SPAN_SPINES] > 50);
}
