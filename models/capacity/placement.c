/* The index of free GPUs and the placement rules; placement_internal.h states both. */
#include "models/capacity/placement_internal.h"

#include "sim/vec.h"

#include <assert.h>

/* ---- sets of node numbers ---- */

static bool set_init(struct node_set *s, uint32_t n, struct arena *arena)
{
    uint32_t n_words = n / 64 + 1;
    s->n_summary = n_words / 64 + 1;
    s->words = arena_array(arena, n_words, sizeof *s->words);
    s->summary = arena_array(arena, s->n_summary, sizeof *s->summary);
    return s->words && s->summary;
}

static void set_add(struct node_set *s, uint32_t node)
{
    uint32_t w = node / 64;
    s->words[w] |= UINT64_C(1) << node % 64;
    s->summary[w / 64] |= UINT64_C(1) << w % 64;
}

static void set_remove(struct node_set *s, uint32_t node)
{
    uint32_t w = node / 64;
    s->words[w] &= ~(UINT64_C(1) << node % 64);
    if (s->words[w] == 0)
        s->summary[w / 64] &= ~(UINT64_C(1) << w % 64);
}

static bool set_has(const struct node_set *s, uint32_t node)
{
    return s->words[node / 64] >> node % 64 & 1;
}

static uint32_t lowest_bit(uint64_t word)
{
    return (uint32_t)__builtin_ctzll(word);
}

/* The lowest member that is at least from, or NODE_NONE. */
static uint32_t set_next(const struct node_set *s, uint32_t from)
{
    uint32_t w = from / 64;
    if (w / 64 >= s->n_summary)
        return NODE_NONE;
    bool known = s->summary[w / 64] >> w % 64 & 1;
    uint64_t word = known ? s->words[w] & ~mask_full(from % 64) : 0;
    if (word)
        return w * 64 + lowest_bit(word);
    uint64_t words = s->summary[w / 64] & ~mask_full(w % 64 + 1);
    for (uint32_t i = w / 64;;) {
        if (words) {
            w = i * 64 + lowest_bit(words);
            return w * 64 + lowest_bit(s->words[w]);
        }
        if (++i == s->n_summary)
            return NODE_NONE;
        words = s->summary[i];
    }
}

/* ---- the index ---- */

static void index_add(struct nodes *ns, uint32_t node)
{
    uint32_t b = ns->free_count[node];
    ns->nodes_with[b]++;
    if (b == 0)
        return;
    set_add(&ns->with_free[b], node);
    ns->some |= UINT64_C(1) << (b - 1);
    if (b == ns->size[node]) {
        set_add(&ns->whole, node);
        ns->n_whole += b;
    }
}

static void index_remove(struct nodes *ns, uint32_t node)
{
    uint32_t b = ns->free_count[node];
    ns->nodes_with[b]--;
    if (b == 0)
        return;
    set_remove(&ns->with_free[b], node);
    if (ns->nodes_with[b] == 0)
        ns->some &= ~(UINT64_C(1) << (b - 1));
    if (b == ns->size[node]) {
        set_remove(&ns->whole, node);
        ns->n_whole -= b;
    }
}

/* Number of nodes and GPUs, and the largest node. */
static void measure(struct nodes *ns, const struct node_group *groups, size_t n_groups)
{
    for (size_t g = 0; g < n_groups; g++) {
        uint32_t size = groups[g].gpus_per_node;
        assert(size >= 1 && size <= NODE_MAX_GPUS);
        ns->n += groups[g].nodes;
        ns->n_gpus += groups[g].nodes * size;
        ns->largest = size > ns->largest ? size : ns->largest;
    }
}

enum hr_err nodes_init(struct nodes *ns, const struct node_group *groups, size_t n_groups,
                       struct arena *arena)
{
    *ns = (struct nodes){0};
    measure(ns, groups, n_groups);
    ns->size = arena_array(arena, ns->n, sizeof *ns->size);
    ns->free_count = arena_array(arena, ns->n, sizeof *ns->free_count);
    ns->free_mask = arena_array(arena, ns->n, sizeof *ns->free_mask);
    if (!ns->size || !ns->free_count || !ns->free_mask || !set_init(&ns->whole, ns->n, arena))
        return HR_NOMEM;
    for (uint32_t b = 1; b <= ns->largest; b++)
        if (!set_init(&ns->with_free[b], ns->n, arena))
            return HR_NOMEM;
    uint32_t node = 0;
    for (size_t g = 0; g < n_groups; g++)
        for (uint32_t i = 0; i < groups[g].nodes; i++, node++) {
            ns->size[node] = ns->free_count[node] = (uint8_t)groups[g].gpus_per_node;
            ns->free_mask[node] = mask_full(groups[g].gpus_per_node);
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

uint64_t nodes_take_on(struct nodes *ns, uint32_t node, uint32_t n)
{
    assert(n <= ns->free_count[node]);
    uint64_t mask = mask_lowest(ns->free_mask[node], n);
    index_remove(ns, node);
    ns->free_mask[node] &= ~mask;
    ns->free_count[node] = (uint8_t)(ns->free_count[node] - n);
    ns->n_free -= n;
    index_add(ns, node);
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
            set_has(&ns->whole, i) != (b == ns->size[i]))
            return false;
        for (uint32_t c = 1; c <= ns->largest; c++)
            if (set_has(&ns->with_free[c], i) != (b == c))
                return false;
    }
    for (uint32_t b = 0; b <= ns->largest; b++)
        if (nodes_with[b] != ns->nodes_with[b] ||
            (b > 0 && (ns->some >> (b - 1) & 1) != (nodes_with[b] > 0)))
            return false;
    return n_free == ns->n_free && n_whole == ns->n_whole;
}

/* ---- the rules ---- */

/* The node with fewest free GPUs, at least n >= 1 of them; NODE_NONE when there is none. */
static uint32_t best_fit(const struct nodes *ns, uint32_t n)
{
    uint64_t enough = ns->some >> (n - 1);
    return enough ? set_next(&ns->with_free[n + lowest_bit(enough)], 0) : NODE_NONE;
}

bool nodes_one_node(const struct nodes *ns, const struct shape *shape)
{
    return shape->kind == SHAPE_ONE_NODE ||
           (shape->kind == SHAPE_PREFER_WHOLE && shape->gpus <= ns->largest);
}

enum grant nodes_fit(const struct nodes *ns, const struct shape *shape)
{
    assert(shape->gpus > 0);
    bool one = nodes_one_node(ns, shape);
    if (shape->gpus > (one ? ns->largest : ns->n_gpus))
        return GRANT_NEVER;
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

/* Whole nodes and one remainder; false when there are not enough, then nothing is taken. */
static bool take_whole(struct nodes *ns, uint32_t gpus, struct parts *out)
{
    size_t n_before = out->n;
    for (uint32_t node = set_next(&ns->whole, 0); node != NODE_NONE && gpus > 0;
         node = set_next(&ns->whole, node + 1)) {
        if (ns->size[node] > gpus)
            continue;
        gpus -= ns->size[node];
        take_part(ns, node, ns->size[node], out);
    }
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

enum hr_err nodes_take(struct nodes *ns, const struct shape *shape, struct parts *out)
{
    uint32_t gpus = shape->gpus;
    bool one = nodes_one_node(ns, shape);
    uint32_t most = one ? 1 : gpus < ns->n ? gpus : ns->n;
    if (!vec_reserve(out, out->n + most))
        return HR_NOMEM;
    if (one)
        take_part(ns, best_fit(ns, gpus), gpus, out);
    else if (shape->kind != SHAPE_PREFER_WHOLE || !take_whole(ns, gpus, out))
        take_fullest(ns, gpus, out);
    return HR_OK;
}
