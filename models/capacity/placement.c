/* The index of free GPUs and the placement rules; placement_internal.h states both. */
#include "models/capacity/slices.h"

#include "sim/vec.h"

#include <assert.h>

static uint32_t lowest_bit(uint64_t word)
{
    return (uint32_t)__builtin_ctzll(word);
}

/* ---- the index ---- */

static void index_add(struct nodes *ns, uint32_t node)
{
    uint32_t b = ns->free_count[node];
    ns->nodes_with[b]++;
    if (b == 0)
        return;
    number_set_add(&ns->with_free[b], node);
    ns->some |= UINT64_C(1) << (b - 1);
    if (b == ns->size[node]) {
        number_set_add(&ns->whole, node);
        ns->n_whole += b;
        leaves_whole(&ns->leaves, node, 1);
    }
}

static void index_remove(struct nodes *ns, uint32_t node)
{
    uint32_t b = ns->free_count[node];
    ns->nodes_with[b]--;
    if (b == 0)
        return;
    number_set_remove(&ns->with_free[b], node);
    if (ns->nodes_with[b] == 0)
        ns->some &= ~(UINT64_C(1) << (b - 1));
    if (b == ns->size[node]) {
        number_set_remove(&ns->whole, node);
        ns->n_whole -= b;
        leaves_whole(&ns->leaves, node, -1);
    }
}

/* Number of nodes and GPUs, and the largest node. */
static void measure(struct nodes *ns, const struct node_group *groups, size_t n_groups,
                    uint32_t units)
{
    for (size_t g = 0; g < n_groups; g++) {
        uint32_t size = groups[g].gpus_per_node * units;
        assert(size >= 1 && size <= NODE_MAX_GPUS);
        ns->n += groups[g].nodes;
        ns->n_gpus += groups[g].nodes * size;
        ns->uniform = ns->uniform && size == groups[0].gpus_per_node;
        ns->largest = size > ns->largest ? size : ns->largest;
    }
}

enum hr_err nodes_init(struct nodes *ns, const struct node_group *groups, size_t n_groups,
                       uint32_t units_per_gpu, struct arena *arena)
{
    *ns = (struct nodes){.uniform = true, .leaves = {.n = 1, .n_spines = 1}};
    measure(ns, groups, n_groups, units_per_gpu);
    ns->size = arena_array(arena, ns->n, sizeof *ns->size);
    ns->free_count = arena_array(arena, ns->n, sizeof *ns->free_count);
    ns->free_mask = arena_array(arena, ns->n, sizeof *ns->free_mask);
    if (!ns->size || !ns->free_count || !ns->free_mask ||
        !number_set_init(&ns->whole, ns->n, arena))
        return HR_NOMEM;
    for (uint32_t b = 1; b <= ns->largest; b++)
        if (!number_set_init(&ns->with_free[b], ns->n, arena))
            return HR_NOMEM;
    uint32_t node = 0;
    for (size_t g = 0; g < n_groups; g++)
        for (uint32_t i = 0; i < groups[g].nodes; i++, node++) {
            uint32_t size = groups[g].gpus_per_node * units_per_gpu;
            ns->size[node] = ns->free_count[node] = (uint8_t)size;
            ns->free_mask[node] = mask_full(size);
            index_add(ns, node);
        }
    ns->n_free = ns->n_gpus;
    return HR_OK;
}

uint64_t mask_lowest(uint64_t mask, uint32_t n)
{
    if (n == mask_count(mask))
        return mask;
    uint64_t rest = mask;
    for (uint32_t i = 0; i < n; i++)
        rest &= rest - 1;
    return mask & ~rest;
}

void nodes_show(struct nodes *ns, uint32_t node, uint64_t mask)
{
    uint32_t n = mask_count(mask);
    index_remove(ns, node);
    ns->n_free = ns->n_free - ns->free_count[node] + n;
    ns->free_mask[node] = mask;
    ns->free_count[node] = (uint8_t)n;
    index_add(ns, node);
}

void nodes_take_these(struct nodes *ns, uint32_t node, uint64_t mask)
{
    uint32_t n = mask_count(mask);
    assert((mask & ~ns->free_mask[node]) == 0);
    index_remove(ns, node);
    ns->free_mask[node] &= ~mask;
    ns->free_count[node] = (uint8_t)(ns->free_count[node] - n);
    ns->n_free -= n;
    index_add(ns, node);
    racks_use(&ns->racks, node, n);
}

uint64_t nodes_take_on(struct nodes *ns, uint32_t node, uint32_t n)
{
    assert(n <= ns->free_count[node]);
    uint64_t mask = mask_lowest(ns->free_mask[node], n);
    nodes_take_these(ns, node, mask);
    return mask;
}

void nodes_give(struct nodes *ns, uint32_t node, uint64_t mask)
{
    assert((ns->free_mask[node] & mask) == 0);
    uint32_t n = mask_count(mask);
    index_remove(ns, node);
    ns->free_mask[node] |= mask;
    ns->free_count[node] = (uint8_t)(ns->free_count[node] + n);
    ns->n_free += n;
    index_add(ns, node);
    racks_free(&ns->racks, node, n);
}

uint32_t nodes_free_below(const struct nodes *ns, uint32_t share)
{
    uint32_t gpus = 0;
    for (uint32_t b = 1; b < share && b <= ns->largest; b++)
        gpus += b * ns->nodes_with[b];
    return gpus;
}

uint32_t nodes_largest_block(const struct nodes *ns)
{
    return ns->some ? 64 - (uint32_t)__builtin_clzll(ns->some) : 0;
}

uint32_t nodes_largest_leaf(const struct nodes *ns)
{
    if (ns->leaves.n == 1)
        return ns->n_whole;
    uint32_t leaf = leaves_most(&ns->leaves, leaves_all(&ns->leaves));
    return leaf == NODE_NONE ? 0 : ns->leaves.whole[leaf] * ns->largest;
}

uint32_t nodes_largest_spine(const struct nodes *ns)
{
    if (ns->leaves.n_spines == 1)
        return ns->n_whole;
    uint32_t spine = spines_most(&ns->leaves);
    return spine == NODE_NONE ? 0 : ns->leaves.spine_whole[spine] * ns->largest;
}

bool nodes_consistent(const struct nodes *ns)
{
    uint32_t n_free = 0, n_whole = 0;
    uint32_t nodes_with[NODE_MAX_GPUS + 1] = {0};
    for (uint32_t i = 0; i < ns->n; i++) {
        uint32_t b = mask_count(ns->free_mask[i]);
        n_free += b;
        n_whole += b == ns->size[i] ? b : 0;
        nodes_with[b]++;
        if (b != ns->free_count[i] || (ns->free_mask[i] & ~mask_full(ns->size[i])) != 0 ||
            number_set_has(&ns->whole, i) != (b == ns->size[i]))
            return false;
        for (uint32_t c = 1; c <= ns->largest; c++)
            if (number_set_has(&ns->with_free[c], i) != (b == c))
                return false;
    }
    for (uint32_t b = 0; b <= ns->largest; b++)
        if (nodes_with[b] != ns->nodes_with[b] ||
            (b > 0 && (ns->some >> (b - 1) & 1) != (nodes_with[b] > 0)))
            return false;
    return n_free == ns->n_free && n_whole == ns->n_whole && leaves_consistent(ns) &&
           racks_consistent(ns) && (!ns->slices || slices_consistent(ns));
}

/* ---- the rules ---- */

const char *const shape_kind_names[SHAPE_KINDS] = {"one-node",         "whole-nodes", "any",
                                                   "only-whole-nodes", "one-leaf",    "slice"};
const char *const lease_span_names[LEASE_SPANS] = {"node", "leaf", "leaves", "spines"};
#define NAME_ENTRY(code, name, doc) name,
const char *const place_rule_names[PLACE_RULES] = {PLACE_LIST(NAME_ENTRY)};
#undef NAME_ENTRY

/* The node with fewest free GPUs, at least n >= 1 of them; NODE_NONE when there is none. */
static uint32_t best_fit(const struct nodes *ns, uint32_t n)
{
    uint64_t enough = ns->some >> (n - 1);
    return enough ? number_set_next(&ns->with_free[n + lowest_bit(enough)], 0) : NODE_NONE;
}

static uint32_t first_fit(const struct nodes *ns, uint32_t n)
{
    uint32_t first = NODE_NONE;
    for (uint64_t counts = ns->some >> (n - 1); counts; counts &= counts - 1) {
        uint32_t node = number_set_next(&ns->with_free[n + lowest_bit(counts)], 0);
        first = node < first ? node : first;
    }
    return first;
}

static uint32_t worst_fit(const struct nodes *ns, uint32_t n)
{
    uint32_t most = nodes_largest_block(ns);
    return most >= n ? number_set_next(&ns->with_free[most], 0) : NODE_NONE;
}

static uint32_t fit_for_leaves(const struct nodes *ns, uint32_t n)
{
    uint32_t node = best_fit(ns, n);
    if (node == NODE_NONE || ns->free_count[node] < ns->size[node] || ns->leaves.n == 1)
        return node;
    return number_set_next(&ns->whole, ns->leaves.first[leaves_fewest(&ns->leaves)]);
}

/* A node with n free GPUs, by the rule. */
static uint32_t one_node(const struct nodes *ns, uint32_t n)
{
    static uint32_t (*const rules[PLACE_RULES])(const struct nodes *ns, uint32_t n) = {
        [PLACE_BEST_FIT] = best_fit,
        [PLACE_FIRST_FIT] = first_fit,
        [PLACE_WORST_FIT] = worst_fit,
        [PLACE_TOPOLOGY] = fit_for_leaves,
    };
    return rules[ns->rule](ns, n);
}

bool nodes_one_node(const struct nodes *ns, const struct shape *shape)
{
    return shape->kind == SHAPE_ONE_NODE || shape->kind == SHAPE_SLICE ||
           (shape->kind != SHAPE_ANY && shape->gpus <= ns->largest);
}

/* Whole nodes and one remainder are free, wherever. */
static bool whole_nodes_free(const struct nodes *ns, uint32_t gpus)
{
    uint32_t whole = gpus / ns->largest, rest = gpus % ns->largest;
    uint32_t free = ns->n_whole / ns->largest;
    uint64_t partly = ns->some & mask_full(ns->largest - 1);
    return free > whole || (free == whole && (rest == 0 || partly >> (rest - 1)));
}

/* The most GPUs of whole nodes and one remainder that an empty pool can give a start. */
static uint32_t most_strict(const struct nodes *ns, bool leaf)
{
    const struct racks *rs = &ns->racks;
    if (rs->n > 0)
        return leaf ? rs->most_leaf : rs->most_whole;
    return leaf ? ns->leaves.largest * ns->largest : ns->n_gpus;
}

/* The leaf group by the rule that holds whole nodes and one remainder. */
static uint32_t one_leaf(const struct nodes *ns, uint32_t gpus)
{
    return leaves_with(ns, leaves_all(&ns->leaves), gpus / ns->largest, gpus % ns->largest);
}

static enum grant strict_fit(const struct nodes *ns, const struct shape *shape)
{
    uint32_t gpus = shape->gpus;
    bool leaf = shape->kind == SHAPE_ONE_LEAF && ns->leaves.n > 1;
    assert(ns->uniform);
    if (gpus > most_strict(ns, leaf))
        return GRANT_NEVER;
    if (gpus > ns->n_free)
        return GRANT_ROOM;
    if (!whole_nodes_free(ns, gpus))
        return GRANT_SHAPE;
    return !leaf || one_leaf(ns, gpus) != NODE_NONE ? GRANT_OK : GRANT_TOPOLOGY;
}

enum grant nodes_fit(const struct nodes *ns, const struct shape *shape)
{
    assert(shape->gpus > 0);
    if (ns->slices)
        return slices_fit(ns, shape);
    if (shape->kind == SHAPE_SLICE)
        return GRANT_NEVER;
    bool one = nodes_one_node(ns, shape);
    if (shape->gpus > (one ? ns->largest : nodes_most(ns)))
        return GRANT_NEVER;
    if (!one && shape_strict(shape))
        return strict_fit(ns, shape);
    if (shape->gpus > ns->n_free)
        return GRANT_ROOM;
    return !one || ns->some >> (shape->gpus - 1) ? GRANT_OK : GRANT_SHAPE;
}

/* There is room in out for one part a node. */
static void take_part(struct nodes *ns, uint32_t node, uint32_t n, struct parts *out)
{
    uint64_t mask = nodes_take_on(ns, node, n);
    out->items[out->n++] = (struct part){.node = node, .mask = mask};
}

static void take_fullest(struct nodes *ns, uint32_t gpus, struct parts *out)
{
    while (gpus > 0) {
        uint32_t node = best_fit(ns, 1);
        uint32_t n = ns->free_count[node] < gpus ? ns->free_count[node] : gpus;
        take_part(ns, node, n, out);
        gpus -= n;
    }
}

/* Whole nodes by number from a node on, none larger than what is left; returns what is left. */
static uint32_t take_whole_from(struct nodes *ns, uint32_t from, uint32_t gpus, struct parts *out)
{
    for (uint32_t node = number_set_next(&ns->whole, from); node != NODE_NONE && gpus > 0;
         node = number_set_next(&ns->whole, node + 1)) {
        if (ns->size[node] > gpus)
            continue;
        gpus -= ns->size[node];
        take_part(ns, node, ns->size[node], out);
    }
    return gpus;
}

/* From a leaf group that has them. */
static void take_in_leaf(struct nodes *ns, uint32_t leaf, uint32_t gpus, struct parts *out)
{
    gpus = take_whole_from(ns, ns->leaves.first[leaf], gpus, out);
    if (gpus > 0)
        take_part(ns, leaves_tightest(ns, (struct leaf_range){leaf, leaf + 1}, gpus), gpus, out);
}

/* Whole nodes from as few of some leaf groups as there may be; returns what is left. */
static uint32_t take_by_leaves(struct nodes *ns, struct leaf_range range, uint32_t gpus,
                               struct parts *out)
{
    uint32_t size = ns->largest;
    while (gpus >= size) {
        uint32_t leaf = leaves_with(ns, range, gpus / size, gpus % size);
        if (leaf != NODE_NONE) {
            take_in_leaf(ns, leaf, gpus, out);
            return 0;
        }
        leaf = leaves_with(ns, range, gpus / size, 0);
        if (leaf == NODE_NONE)
            leaf = leaves_most(&ns->leaves, range);
        if (leaf == NODE_NONE)
            break;
        uint32_t whole = ns->leaves.whole[leaf], n = gpus / size < whole ? gpus / size : whole;
        take_whole_from(ns, ns->leaves.first[leaf], n * size, out);
        gpus -= n * size;
    }
    return gpus;
}

/* From a spine that has them. */
static void take_in_spine(struct nodes *ns, uint32_t spine, uint32_t gpus, struct parts *out)
{
    struct leaf_range range = leaves_of_spine(&ns->leaves, spine);
    gpus = take_by_leaves(ns, range, gpus, out);
    if (gpus > 0)
        take_part(ns, leaves_tightest(ns, range, gpus), gpus, out);
}

/* In one leaf group, else in one spine, else from as few spines as there may be; returns what is
 * left. */
static uint32_t take_by_spines(struct nodes *ns, uint32_t gpus, struct parts *out)
{
    uint32_t size = ns->largest, leaf = one_leaf(ns, gpus);
    if (leaf != NODE_NONE) {
        take_in_leaf(ns, leaf, gpus, out);
        return 0;
    }
    while (gpus >= size) {
        uint32_t spine = spines_with(ns, gpus / size, gpus % size);
        if (spine != NODE_NONE) {
            take_in_spine(ns, spine, gpus, out);
            return 0;
        }
        spine = spines_with(ns, gpus / size, 0);
        if (spine == NODE_NONE)
            spine = spines_most(&ns->leaves);
        if (spine == NODE_NONE)
            break;
        uint32_t whole = ns->leaves.spine_whole[spine];
        uint32_t n = gpus / size < whole ? gpus / size : whole;
        take_by_leaves(ns, leaves_of_spine(&ns->leaves, spine), n * size, out);
        gpus -= n * size;
    }
    return gpus;
}

static uint32_t take_by_level(struct nodes *ns, uint32_t gpus, struct parts *out)
{
    const struct leaves *ls = &ns->leaves;
    if (ns->rule != PLACE_TOPOLOGY || ls->n == 1)
        return take_whole_from(ns, 0, gpus, out);
    return ls->n_spines == 1 ? take_by_leaves(ns, leaves_all(ls), gpus, out)
                             : take_by_spines(ns, gpus, out);
}

/* Whole nodes and one remainder; false when there are not enough, then nothing is taken. */
static bool take_whole(struct nodes *ns, uint32_t gpus, struct parts *out)
{
    size_t n_before = out->n;
    gpus = take_by_level(ns, gpus, out);
    if (gpus == 0)
        return true;
    uint32_t node = gpus <= ns->largest ? best_fit(ns, gpus) : NODE_NONE;
    if (node != NODE_NONE) {
        take_part(ns, node, gpus, out);
        return true;
    }
    while (out->n > n_before) {
        const struct part *p = &out->items[--out->n];
        nodes_give(ns, p->node, p->mask);
    }
    return false;
}

static void take_slice(struct nodes *ns, const struct shape *shape, struct parts *out)
{
    struct part part = slices_take(ns, shape);
    nodes_take_these(ns, part.node, part.mask);
    out->items[out->n++] = part;
}

enum hr_err nodes_take(struct nodes *ns, const struct shape *shape, struct parts *out)
{
    uint32_t gpus = shape->gpus;
    bool one = nodes_one_node(ns, shape);
    uint32_t most = one ? 1 : gpus < ns->n ? gpus : ns->n;
    if (!vec_reserve(out, out->n + most))
        return HR_NOMEM;
    if (ns->slices)
        take_slice(ns, shape, out);
    else if (one)
        take_part(ns, one_node(ns, gpus), gpus, out);
    else if (shape->kind == SHAPE_ONE_LEAF && ns->leaves.n > 1)
        take_in_leaf(ns, one_leaf(ns, gpus), gpus, out);
    else if (shape->kind == SHAPE_ANY || !take_whole(ns, gpus, out))
        take_fullest(ns, gpus, out);
    racks_settle(ns);
    return HR_OK;
}

/* How far apart two nodes are. */
static enum lease_span apart(const struct leaves *ls, uint32_t a, uint32_t b)
{
    if (a == b)
        return SPAN_NODE;
    if (ls->n == 1 || ls->of[a] == ls->of[b])
        return SPAN_LEAF;
    bool spine = ls->n_spines == 1 || ls->spine_of[ls->of[a]] == ls->spine_of[ls->of[b]];
    return spine ? SPAN_LEAVES : SPAN_SPINES;
}

enum lease_span nodes_span(const struct nodes *ns, const struct parts *parts)
{
    enum lease_span span = SPAN_NODE;
    for (size_t i = 1; i < parts->n; i++) {
        enum lease_span here = apart(&ns->leaves, parts->items[0].node, parts->items[i].node);
        span = here > span ? here : span;
    }
    return span;
}
