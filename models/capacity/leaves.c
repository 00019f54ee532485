/* Leaf groups: which of them have how many wholly free nodes.
 *
 * As nodes are indexed by free GPUs, leaf groups are by wholly free nodes: for each number a set of
 * groups, and the set of numbers that occur. The tightest group for a gang is a few word operations
 * at any number of groups; so is an update, which only a node pays that begins or ceases to be
 * wholly free. Spines have plain counts. */
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
    if (ls->n_spines > 1)
        ls->spine_whole[ls->spine_of[leaf]] += (uint32_t)by;
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

/* After the leaf groups are filled. */
static enum hr_err arrange_spines(struct leaves *ls, const struct fabric *fabric,
                                  struct arena *arena)
{
    if (fabric->n_spines <= 1)
        return HR_OK;
    ls->spine_first = arena_array(arena, fabric->n_spines + 1, sizeof *ls->spine_first);
    ls->spine_of = arena_array(arena, ls->n, sizeof *ls->spine_of);
    ls->spine_whole = arena_array(arena, fabric->n_spines, sizeof *ls->spine_whole);
    if (!ls->spine_first || !ls->spine_of || !ls->spine_whole)
        return HR_NOMEM;
    ls->n_spines = fabric->n_spines;
    for (uint32_t s = 0, leaf = 0; s < ls->n_spines; s++) {
        ls->spine_first[s] = leaf;
        ls->spine_first[s + 1] = leaf + fabric->spine_leaves[s];
        for (; leaf < ls->spine_first[s + 1]; leaf++) {
            assert(leaf < ls->n);
            ls->spine_of[leaf] = s;
            ls->spine_whole[s] += ls->whole[leaf];
        }
    }
    assert(ls->spine_first[ls->n_spines] == ls->n);
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
    return arrange_spines(ls, fabric, arena);
}

/* ---- the rules ---- */

struct leaf_range leaves_of_spine(const struct leaves *ls, uint32_t spine)
{
    if (ls->n_spines == 1)
        return leaves_all(ls);
    return (struct leaf_range){ls->spine_first[spine], ls->spine_first[spine + 1]};
}

uint32_t leaves_tightest(const struct nodes *ns, struct leaf_range range, uint32_t gpus)
{
    const struct leaves *ls = &ns->leaves;
    for (uint32_t b = gpus; b <= ns->largest; b++) {
        uint32_t node = number_set_next(&ns->with_free[b], ls->first[range.first]);
        if (node < ls->first[range.end])
            return node;
    }
    return NODE_NONE;
}

/* They have so many wholly free nodes of these; do they have the rest beside them? */
static bool has_rest(const struct nodes *ns, struct leaf_range range, uint32_t have, uint32_t whole,
                     uint32_t rest)
{
    if (rest == 0 || have > whole)
        return true;
    uint32_t node = leaves_tightest(ns, range, rest);
    return node != NODE_NONE && ns->free_count[node] < ns->size[node];
}

static bool leaf_has_rest(const struct nodes *ns, uint32_t leaf, uint32_t whole, uint32_t rest)
{
    return has_rest(ns, (struct leaf_range){leaf, leaf + 1}, ns->leaves.whole[leaf], whole, rest);
}

static uint32_t first_with(const struct nodes *ns, struct leaf_range range, uint32_t whole,
                           uint32_t rest)
{
    for (uint32_t l = range.first; l < range.end; l++)
        if (ns->leaves.whole[l] >= whole && leaf_has_rest(ns, l, whole, rest))
            return l;
    return NODE_NONE;
}

/* Of those with w wholly free nodes, the lowest. */
static uint32_t lowest_with(const struct nodes *ns, struct leaf_range range, uint32_t w,
                            uint32_t whole, uint32_t rest)
{
    const struct number_set *set = &ns->leaves.with[w];
    uint32_t l = number_set_next(set, range.first);
    while (l < range.end && !leaf_has_rest(ns, l, whole, rest))
        l = number_set_next(set, l + 1);
    return l < range.end ? l : NODE_NONE;
}

static uint32_t fewest_with(const struct nodes *ns, struct leaf_range range, uint32_t whole,
                            uint32_t rest)
{
    const struct number_set *counts = &ns->leaves.counts;
    uint32_t l = NODE_NONE;
    for (uint32_t w = number_set_next(counts, whole); w != NODE_NONE && l == NODE_NONE;
         w = number_set_next(counts, w + 1))
        l = lowest_with(ns, range, w, whole, rest);
    return l;
}

static uint32_t most_with(const struct nodes *ns, struct leaf_range range, uint32_t whole,
                          uint32_t rest)
{
    uint32_t l = NODE_NONE;
    for (uint32_t w = ns->leaves.largest; w >= whole && l == NODE_NONE; w--)
        if (number_set_has(&ns->leaves.counts, w))
            l = lowest_with(ns, range, w, whole, rest);
    return l;
}

uint32_t leaves_with(const struct nodes *ns, struct leaf_range range, uint32_t whole, uint32_t rest)
{
    switch (ns->rule) {
    case PLACE_FIRST_FIT:
        return first_with(ns, range, whole, rest);
    case PLACE_WORST_FIT:
        return most_with(ns, range, whole, rest);
    default:
        return fewest_with(ns, range, whole, rest);
    }
}

uint32_t leaves_fewest(const struct leaves *ls)
{
    uint32_t w = number_set_next(&ls->counts, 1);
    return w == NODE_NONE ? NODE_NONE : number_set_next(&ls->with[w], 0);
}

uint32_t leaves_most(const struct leaves *ls, struct leaf_range range)
{
    for (uint32_t w = ls->largest; w > 0; w--) {
        uint32_t l =
            number_set_has(&ls->counts, w) ? number_set_next(&ls->with[w], range.first) : NODE_NONE;
        if (l < range.end)
            return l;
    }
    return NODE_NONE;
}

uint32_t spines_with(const struct nodes *ns, uint32_t whole, uint32_t rest)
{
    const struct leaves *ls = &ns->leaves;
    uint32_t best = NODE_NONE;
    for (uint32_t s = 0; s < ls->n_spines; s++) {
        uint32_t have = ls->spine_whole[s];
        if (have >= whole && (best == NODE_NONE || have < ls->spine_whole[best]) &&
            has_rest(ns, leaves_of_spine(ls, s), have, whole, rest))
            best = s;
    }
    return best;
}

uint32_t spines_most(const struct leaves *ls)
{
    uint32_t best = NODE_NONE;
    for (uint32_t s = 0; s < ls->n_spines; s++)
        if (ls->spine_whole[s] > (best == NODE_NONE ? 0 : ls->spine_whole[best]))
            best = s;
    return best;
}

static bool spines_consistent(const struct leaves *ls)
{
    for (uint32_t s = 0; ls->n_spines > 1 && s < ls->n_spines; s++) {
        uint32_t whole = 0;
        for (uint32_t l = ls->spine_first[s]; l < ls->spine_first[s + 1]; l++)
            whole += ls->whole[l];
        if (whole != ls->spine_whole[s])
            return false;
    }
    return true;
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
    return spines_consistent(ls);
}
