/* Racks with a power limit: how many GPUs of each may be taken, and which free ones are shown.
 *
 * A rack has room for so many more GPUs; one that is taken, by whomever and whatever it does, uses
 * room until it is given back. Where a rack has more free GPUs than room, only as many as there is
 * room for are in the placement index (shown), the others are withheld. A start that the index can
 * place is therefore within every limit, and the rules of placement know nothing of racks.
 *
 * Which are shown. While there is room for more than any node has free, all of the node with most;
 * then what is left on the node with fewest free GPUs that has so many (ties: the lowest). So a
 * rack shows as many whole nodes, and beside them as large a part of one more, as its limit lets
 * anybody take: where a shape does not fit what is shown, no choice would do. A rack is within one
 * leaf group and one group of nodes, so this holds for leaf groups too.
 *
 * Where a limit slows GPUs down instead, all may be taken, and a rack has a speed.
 *
 * Taking and giving change a rack's room and what it shows alike, so the sum stays right and a plan
 * over several nodes stays good while it is carried out; which are shown is chosen anew by
 * racks_settle, between decisions. Costs: the square of the nodes of a rack, a few. */
#include "models/capacity/placement_internal.h"

#include <assert.h>

/* ---- construction ---- */

static bool at_border(const struct nodes *ns, const struct rack_plan *plan, uint32_t node,
                      uint32_t since)
{
    const struct leaves *ls = &ns->leaves;
    return node - since == plan->nodes || (ls->n > 1 && ls->of[node] != ls->of[node - 1]);
}

/* Where each rack begins; first[] has room for one a node. Racks begin anew with a group of nodes.
 */
static void divide(struct nodes *ns, const struct rack_plan *plan, const struct node_group *groups,
                   size_t n_groups)
{
    struct racks *rs = &ns->racks;
    for (uint32_t g = 0, node = 0, since; g < n_groups; g++) {
        uint32_t end = node + groups[g].nodes;
        for (since = node; node < end; node++) {
            if (node == since || at_border(ns, plan, node, since)) {
                since = node;
                rs->first[rs->n++] = node;
            }
            rs->of[node] = rs->n - 1;
        }
    }
    rs->first[rs->n] = ns->n;
}

/* GPUs of nodes [first, end) that a limit lets be taken at once, and of these, what is left beside
 * whole nodes. */
static void measure_most(struct racks *rs, const struct nodes *ns)
{
    struct most leaf = {0}, all = {0};
    for (uint32_t r = 0; r < rs->n; r++) {
        uint32_t node = rs->first[r], size = ns->size[node], room = rs->room[r];
        bool begins = r > 0 && ns->leaves.n > 1 && ns->leaves.of[node] != ns->leaves.of[node - 1];
        leaf = begins ? (struct most){0} : leaf;
        rs->most_any += room;
        for (struct most *m = &leaf;; m = &all) {
            m->whole += room / size * size;
            m->rest = room % size > m->rest ? room % size : m->rest;
            if (m == &all)
                break;
        }
        uint32_t in_leaf = leaf.whole + leaf.rest;
        rs->most_leaf = in_leaf > rs->most_leaf ? in_leaf : rs->most_leaf;
    }
    rs->most_whole = all.whole + all.rest;
}

enum hr_err racks_init(struct nodes *ns, const struct rack_plan *plan,
                       const struct node_group *groups, size_t n_groups, struct arena *arena)
{
    struct racks *rs = &ns->racks;
    if (plan->nodes == 0)
        return HR_OK;
    rs->first = arena_array(arena, ns->n + 1, sizeof *rs->first);
    rs->of = arena_array(arena, ns->n, sizeof *rs->of);
    rs->room = arena_array(arena, ns->n, sizeof *rs->room);
    rs->is_changed = arena_array(arena, ns->n, sizeof *rs->is_changed);
    rs->changed = arena_array(arena, ns->n, sizeof *rs->changed);
    rs->withheld = arena_array(arena, ns->n, sizeof *rs->withheld);
    rs->speed = arena_array(arena, ns->n, sizeof *rs->speed);
    if (!rs->first || !rs->of || !rs->room || !rs->is_changed || !rs->changed || !rs->withheld ||
        !rs->speed)
        return HR_NOMEM;
    divide(ns, plan, groups, n_groups);
    for (uint32_t r = 0, g = 0, end = groups[0].nodes; r < rs->n; r++) {
        for (; rs->first[r] >= end; end += groups[g].nodes)
            g++;
        uint32_t n = rs->first[r + 1] - rs->first[r];
        rs->room[r] = n * ns->size[rs->first[r]];
        rs->speed[r] = plan->slow ? power_speed(&plan->power[g], n, plan->limit_w) : 1;
        if (!plan->slow)
            rs->room[r] = power_busy_gpus(&plan->power[g], n, plan->limit_w);
        assert(rs->room[r] >= ns->size[rs->first[r]]);
        rs->is_changed[r] = 1;
        rs->changed[rs->n_changed++] = r;
    }
    measure_most(rs, ns);
    racks_settle(ns);
    return HR_OK;
}

/* ---- what changes ---- */

static void changed(struct racks *rs, uint32_t node)
{
    uint32_t r = rs->of[node];
    if (!rs->is_changed[r])
        rs->changed[rs->n_changed++] = r;
    rs->is_changed[r] = 1;
}

void racks_use(struct racks *rs, uint32_t node, uint32_t gpus)
{
    if (rs->n == 0)
        return;
    assert(gpus <= rs->room[rs->of[node]]);
    rs->room[rs->of[node]] -= gpus;
    changed(rs, node);
}

void racks_free(struct racks *rs, uint32_t node, uint32_t gpus)
{
    if (rs->n == 0)
        return;
    rs->room[rs->of[node]] += gpus;
    changed(rs, node);
}

/* ---- which are shown ---- */

static uint32_t idle_gpus(const struct nodes *ns, uint32_t node)
{
    return mask_count(ns->free_mask[node] | ns->racks.withheld[node]);
}

/* Of those not chosen yet. */
static uint32_t next_shown(const struct nodes *ns, uint32_t r, uint64_t chosen, uint32_t room)
{
    const struct racks *rs = &ns->racks;
    uint32_t most = NODE_NONE, tight = NODE_NONE;
    for (uint32_t node = rs->first[r]; node < rs->first[r + 1]; node++) {
        uint32_t idle = idle_gpus(ns, node);
        if (idle == 0 || chosen >> (node - rs->first[r]) & 1)
            continue;
        if (most == NODE_NONE || idle > idle_gpus(ns, most))
            most = node;
        if (idle >= room && (tight == NODE_NONE || idle < idle_gpus(ns, tight)))
            tight = node;
    }
    return tight != NODE_NONE ? tight : most;
}

static void settle_rack(struct nodes *ns, uint32_t r)
{
    struct racks *rs = &ns->racks;
    uint32_t first = rs->first[r], n = rs->first[r + 1] - first, left = rs->room[r];
    uint8_t show[RACK_MAX_NODES] = {0};
    uint64_t chosen = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = next_shown(ns, r, chosen, left);
        if (node == NODE_NONE || left == 0)
            break;
        uint32_t idle = idle_gpus(ns, node);
        show[node - first] = (uint8_t)(idle < left ? idle : left);
        left -= show[node - first];
        chosen |= UINT64_C(1) << (node - first);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t idle = ns->free_mask[first + i] | rs->withheld[first + i];
        uint64_t shown = mask_lowest(idle, show[i]);
        rs->n_withheld -= mask_count(rs->withheld[first + i]);
        rs->withheld[first + i] = idle & ~shown;
        rs->n_withheld += mask_count(rs->withheld[first + i]);
        nodes_show(ns, first + i, shown);
    }
}

void racks_settle(struct nodes *ns)
{
    struct racks *rs = &ns->racks;
    for (uint32_t i = 0; i < rs->n_changed; i++) {
        settle_rack(ns, rs->changed[i]);
        rs->is_changed[rs->changed[i]] = 0;
    }
    rs->n_changed = 0;
}

/* ---- nodes that leave and come back ---- */

uint64_t nodes_close(struct nodes *ns, uint32_t node)
{
    uint64_t mask = ns->free_mask[node];
    nodes_show(ns, node, 0);
    if (ns->racks.n == 0)
        return mask;
    mask |= ns->racks.withheld[node];
    ns->racks.n_withheld -= mask_count(ns->racks.withheld[node]);
    ns->racks.withheld[node] = 0;
    changed(&ns->racks, node);
    racks_settle(ns);
    return mask;
}

void nodes_open(struct nodes *ns, uint32_t node, uint64_t mask)
{
    if (ns->racks.n == 0) {
        nodes_show(ns, node, ns->free_mask[node] | mask);
        return;
    }
    ns->racks.withheld[node] |= mask;
    ns->racks.n_withheld += mask_count(mask);
    changed(&ns->racks, node);
    racks_settle(ns);
}

uint32_t nodes_idle(const struct nodes *ns, uint32_t node)
{
    return ns->racks.n ? idle_gpus(ns, node) : ns->free_count[node];
}

/* ---- looking ---- */

bool racks_bind(const struct nodes *ns, const struct shape *shape)
{
    const struct racks *rs = &ns->racks;
    uint32_t gpus = shape->gpus, whole = 0, rest = 0, most = 0;
    if (rs->n_withheld == 0 || gpus > ns->n_free + rs->n_withheld)
        return false;
    for (uint32_t node = 0; node < ns->n; node++) {
        uint32_t idle = idle_gpus(ns, node);
        bool all = idle == ns->size[node];
        whole += all ? idle : 0;
        rest = !all && idle > rest ? idle : rest;
        most = idle > most ? idle : most;
    }
    if (nodes_one_node(ns, shape))
        return most >= gpus;
    if (!shape_strict(shape))
        return true;
    return whole >= gpus || (gpus % ns->largest <= rest && whole >= gpus - gpus % ns->largest);
}

double racks_speed(const struct nodes *ns, const struct parts *parts)
{
    double least = 1;
    for (size_t i = 0; i < parts->n && ns->racks.n > 0; i++) {
        double speed = ns->racks.speed[ns->racks.of[parts->items[i].node]];
        least = speed < least ? speed : least;
    }
    return least;
}

bool racks_consistent(const struct nodes *ns)
{
    const struct racks *rs = &ns->racks;
    uint32_t n_withheld = 0;
    for (uint32_t r = 0; r < rs->n; r++) {
        uint32_t shown = 0, withheld = 0;
        for (uint32_t node = rs->first[r]; node < rs->first[r + 1]; node++) {
            if (ns->free_mask[node] & rs->withheld[node])
                return false;
            shown += ns->free_count[node];
            withheld += mask_count(rs->withheld[node]);
        }
        uint32_t idle = shown + withheld;
        if (!rs->is_changed[r] && shown != (idle < rs->room[r] ? idle : rs->room[r]))
            return false;
        if (shown > rs->room[r])
            return false;
        n_withheld += withheld;
    }
    return n_withheld == rs->n_withheld;
}
