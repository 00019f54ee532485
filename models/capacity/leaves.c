/* Leaf groups: which of them have how many wholly free nodes.
 *
 * As nodes are indexed by free GPUs, leaf groups are by wholly free nodes: for each number a set of
 * groups, and the set of numbers that occur. The tightest group for a gang is a few word operations
 * at any number of groups; so is an update, which only a node pays that begins or ceases to be
 * wholly free. */
#include "models/capacity/placement_internal.h"

#include <assert.h>

/* ---- the index ---- */

static void enter(struct leaves *ls, uint32_t leaf)
{
    uint32_t w = ls->whole[leaf];
    if (w == 0)
        return;
    number_set_add(&ls->with[w], leaf);
    if (ls->n_with[w]++ == 0)
        number_set_add(&ls->counts, w);
}

static void leave(struct leaves *ls, uint32_t leaf)
{
    uint32_t w = ls->whole[leaf];
    if (w == 0)
        return;
    number_set_remove(&ls->with[w], leaf);
    if (--ls->n_with[w] == 0)
        number_set_remove(&ls->counts, w);
}

void leaves_whole(struct leaves *ls, uint32_t node, int by)
{
    if (ls->n == 1)
        return;
    uint32_t leaf = ls->of[node];
    leave(ls, leaf);
    ls->whole[leaf] = (uint32_t)((int)ls->whole[leaf] + by);
    enter(ls, leaf);
}

static enum hr_err allocate(struct leaves *ls, uint32_t n_nodes, struct arena *arena)
{
    ls->first = arena_array(arena, ls->n + 1, sizeof *ls->first);
    ls->of = arena_array(arena, n_nodes, sizeof *ls->of);
    ls->whole = arena_array(arena, ls->n, sizeof *ls->whole);
    ls->with = arena_array(arena, ls->largest + 1, sizeof *ls->with);
    ls->n_with = arena_array(arena, ls->largest + 1, sizeof *ls->n_with);
    if (!ls->first || !ls->of || !ls->whole || !ls->with || !ls->n_with ||
        !number_set_init(&ls->counts, ls->largest + 1, arena))
        return HR_NOMEM;
    for (uint32_t w = 1; w <= ls->largest; w++)
        if (!number_set_init(&ls->with[w], ls->n, arena))
            return HR_NOMEM;
    return HR_OK;
}

enum hr_err nodes_arrange(struct nodes *ns, enum place_rule rule, const struct fabric *fabric,
                          struct arena *arena)
{
    struct leaves *ls = &ns->leaves;
    ns->rule = rule;
    if (fabric->n_leaves <= 1)
        return HR_OK;
    ls->n = fabric->n_leaves;
    for (uint32_t l = 0; l < ls->n; l++)
        ls->largest = fabric->leaf_nodes[l] > ls->largest ? fabric->leaf_nodes[l] : ls->largest;
    TRY(allocate(ls, ns->n, arena));
    for (uint32_t l = 0, node = 0; l < ls->n; l++) {
        ls->first[l] = node;
        ls->first[l + 1] = node + fabric->leaf_nodes[l];
        for (; node < ls->first[l + 1]; node++) {
            assert(node < ns->n && ns->free_count[node] == ns->size[node]);
            ls->of[node] = l;
        }
        ls->whole[l] = fabric->leaf_nodes[l];
        enter(ls, l);
    }
    assert(ls->first[ls->n] == ns->n);
    return HR_OK;
}

/* ---- the rules ---- */

uint32_t leaves_tightest(const struct nodes *ns, uint32_t leaf, uint32_t gpus)
{
    const struct leaves *ls = &ns->leaves;
    for (uint32_t b = gpus; b <= ns->largest; b++) {
        uint32_t node = number_set_next(&ns->with_free[b], ls->first[leaf]);
        if (node < ls->first[leaf + 1])
            return node;
    }
    return NODE_NONE;
}

/* It has so many wholly free nodes; does it have the rest beside so many of them? */
static bool has_rest(const struct nodes *ns, uint32_t leaf, uint32_t whole, uint32_t rest)
{
    if (rest == 0 || ns->leaves.whole[leaf] > whole)
        return true;
    uint32_t node = leaves_tightest(ns, leaf, rest);
    return node != NODE_NONE && ns->free_count[node] < ns->size[node];
}

static uint32_t first_with(const struct nodes *ns, uint32_t whole, uint32_t rest)
{
    for (uint32_t l = 0; l < ns->leaves.n; l++)
        if (ns->leaves.whole[l] >= whole && has_rest(ns, l, whole, rest))
            return l;
    return NODE_NONE;
}

/* Of those with w wholly free nodes, the lowest. */
static uint32_t lowest_with(const struct nodes *ns, uint32_t w, uint32_t whole, uint32_t rest)
{
    const struct number_set *set = &ns->leaves.with[w];
    uint32_t l = number_set_next(set, 0);
    while (l != NODE_NONE && !has_rest(ns, l, whole, rest))
        l = number_set_next(set, l + 1);
    return l;
}

static uint32_t fewest_with(const struct nodes *ns, uint32_t whole, uint32_t rest)
{
    const struct number_set *counts = &ns->leaves.counts;
    uint32_t l = NODE_NONE;
    for (uint32_t w = number_set_next(counts, whole); w != NODE_NONE && l == NODE_NONE;
         w = number_set_next(counts, w + 1))
        l = lowest_with(ns, w, whole, rest);
    return l;
}

static uint32_t most_with(const struct nodes *ns, uint32_t whole, uint32_t rest)
{
    uint32_t l = NODE_NONE;
    for (uint32_t w = ns->leaves.largest; w >= whole && l == NODE_NONE; w--)
        if (number_set_has(&ns->leaves.counts, w))
            l = lowest_with(ns, w, whole, rest);
    return l;
}

uint32_t leaves_with(const struct nodes *ns, uint32_t whole, uint32_t rest)
{
    switch (ns->rule) {
    case PLACE_FIRST_FIT:
        return first_with(ns, whole, rest);
    case PLACE_WORST_FIT:
        return most_with(ns, whole, rest);
    default:
        return fewest_with(ns, whole, rest);
    }
}

uint32_t leaves_fewest(const struct leaves *ls)
{
    uint32_t w = number_set_next(&ls->counts, 1);
    return w == NODE_NONE ? NODE_NONE : number_set_next(&ls->with[w], 0);
}

uint32_t leaves_most(const struct leaves *ls)
{
    for (uint32_t w = ls->largest; w > 0; w--)
        if (number_set_has(&ls->counts, w))
            return number_set_next(&ls->with[w], 0);
    return NODE_NONE;
}

bool leaves_consistent(const struct nodes *ns)
{
    const struct leaves *ls = &ns->leaves;
    for (uint32_t l = 0; ls->n > 1 && l < ls->n; l++) {
        uint32_t whole = 0;
        for (uint32_t node = ls->first[l]; node < ls->first[l + 1]; node++)
            whole += ns->free_count[node] == ns->size[node];
        if (whole != ls->whole[l])
            return false;
        for (uint32_t w = 1; w <= ls->largest; w++)
            if (number_set_has(&ls->with[w], l) != (w == whole))
                return false;
    }
    for (uint32_t w = 1; ls->n > 1 && w <= ls->largest; w++)
        if (number_set_has(&ls->counts, w) != (ls->n_with[w] > 0))
            return false;
    return true;
}
