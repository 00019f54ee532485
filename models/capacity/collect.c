/* Leases that collect GPUs: the reservation of a start that is too large to ever find its GPUs
 * free, because smaller ones take each GPU that comes.
 *
 * A collecting lease evicts nobody. It keeps free GPUs (held_idle of its owner) until it is whole,
 * and is granted then.
 *
 * Quota. It collects quota as it collects GPUs: a lease may begin while its claimant is at a
 * ceiling, its own or a cohort's. Its claimant is charged with what the lease has; of what it
 * lacks, as much is promised to it as the ceilings leave, and it keeps no more than that. So at
 * each moment
 *
 *     usage + promised <= ceiling,   kept <= what ceilings and the floors of others leave,
 *
 * and what ends below a ceiling goes to the lease, not to the next start under the same ceiling.
 *
 * Which GPUs. Before each pass, and whenever a lease is given up, everything a lease has
 * kept is put back and it chooses anew among that and the free GPUs that quota lets its claimant
 * take:
 *
 *   - it is whole as soon as the rules of placement give it all of its shape;
 *   - a shape within one node keeps what is free on one node, a larger one (SHAPE_PREFER_WHOLE) on
 *     as many nodes as it needs: those with most GPUs that are free, its own or coming unclaimed;
 *     ties: nodes where it has some, then the lowest number;
 *   - SHAPE_ANY keeps whatever is free, on the fullest nodes first;
 *   - SHAPE_ONE_LEAF keeps as a shape over many nodes, in the leaf group where most is free or
 *     coming.
 *
 * The best node never gets worse by what others do, as they cannot take what is kept on it, so a
 * lease is served once enough of the others have ended.
 *
 * Order. Only the oldest lease that is not whole keeps GPUs and is promised quota; younger ones
 * wait until it is, or are whole at once. Two can therefore never hold each other's. A start that
 * may evict leases of the collecting one's claimant and priority takes what it keeps before it
 * evicts anything, and the rest is kept again.
 *
 * A lease keeps nothing on a node that closes, and is withdrawn when the open nodes cannot hold it.
 *
 * A choice walks over all nodes once; only fleets with a collecting lease pay for it. */
#include "models/capacity/fleet_internal.h"
#include "sim/vec.h"

#include <assert.h>
#include <string.h>

static struct shape shape_of(const struct lease *l)
{
    return (struct shape){.gpus = l->gpus, .kind = l->kind};
}

enum hr_err collect_init(struct fleet *f)
{
    f->next_alike = arena_array(&f->arena, f->nodes.n, sizeof *f->next_alike);
    return f->next_alike ? HR_OK : HR_NOMEM;
}

/* Nodes [first, end). */
struct range {
    uint32_t first, end;
};

/* Among how many ranges of nodes the shape has to choose: leaf groups, or one, all of them. */
static uint32_t ranges(const struct fleet *f, const struct shape *shape)
{
    bool leaf = shape->kind == SHAPE_ONE_LEAF && !nodes_one_node(&f->nodes, shape);
    return leaf ? f->nodes.leaves.n : 1;
}

static struct range range_at(const struct fleet *f, uint32_t n_ranges, uint32_t i)
{
    const uint32_t *first = f->nodes.leaves.first;
    return n_ranges == 1 ? (struct range){0, f->nodes.n} : (struct range){first[i], first[i + 1]};
}

/* Whether the open nodes could hold the shape if they were empty. */
static bool possible(const struct fleet *f, const struct shape *shape)
{
    bool one = nodes_one_node(&f->nodes, shape);
    uint32_t n = ranges(f, shape);
    for (uint32_t i = 0; i < n; i++) {
        struct range r = range_at(f, n, i);
        uint32_t gpus = 0, largest = 0;
        for (uint32_t node = r.first; node < r.end; node++) {
            uint32_t size = node_closed(f, node) ? 0 : f->nodes.size[node];
            gpus += size;
            largest = size > largest ? size : largest;
        }
        if (shape->gpus <= (one ? largest : gpus))
            return true;
    }
    return false;
}

/* ---- what a lease has ---- */

/* Books that it has so many GPUs of its size now, whichever they are, and of what it lacks so many
 * are promised. */
static void settle(struct fleet *f, uint32_t slot, uint32_t has, uint32_t promised)
{
    struct lease *l = &f->leases.items[slot];
    uint32_t had = l->gpus - l->missing, claimant = l->claimant;
    f->changes += has != had || promised != l->promised;
    quota_promise(f, claimant, (int64_t)promised - l->promised);
    l->promised = promised;
    l->missing = l->gpus - has;
    if (has > had) {
        book_keep(f, slot, has - had);
        l->borrowed = quota_charge(f, claimant, has - had);
        if (has == l->gpus)
            engine_schedule(f->engine, l->timer, fleet_now(f));
    } else if (has < had) {
        book_unkeep(f, slot, had - has);
        quota_stop(f, claimant, had - has);
        quota_release(f, claimant, had - has);
        quota_untie(f, claimant, had - has);
        engine_cancel(f->engine, l->timer);
    }
}

/* What ceilings let it have now, kept and promised together. */
static uint32_t admitted(struct fleet *f, const struct lease *l)
{
    int64_t own = (int64_t)l->gpus - l->missing + l->promised;
    quota_promise(f, l->claimant, -own);
    uint64_t most = quota_headroom(f, l->claimant);
    quota_promise(f, l->claimant, own);
    return most < l->gpus ? (uint32_t)most : l->gpus;
}

/* Puts its GPUs back among the free ones, without a word to anybody. */
static void put_back(struct fleet *f, struct lease *l)
{
    for (size_t i = 0; i < l->parts.n; i++)
        nodes_give(&f->nodes, l->parts.items[i].node, l->parts.items[i].mask);
    l->parts.n = 0;
    racks_settle(&f->nodes);
}

/* ---- which it keeps ---- */

/* Nodes by how good they are: lists by a number up to BEST, the lowest node first. */
enum { BEST = 2 * NODE_MAX_GPUS + 1 };

static void list_nodes(struct fleet *f, const struct shape *shape, struct range r,
                       uint32_t first[BEST + 1])
{
    uint32_t least = nodes_one_node(&f->nodes, shape) ? shape->gpus : 1;
    for (uint32_t i = 0; i <= BEST; i++)
        first[i] = NONE;
    for (uint32_t node = r.end; node-- > r.first;) {
        if (node_closed(f, node) || f->nodes.size[node] < least)
            continue;
        uint32_t there = f->nodes.free_count[node] + claims_unclaimed(f, node);
        uint32_t good = 2 * there + (f->take[node] > 0);
        f->next_alike[node] = first[good];
        first[good] = node;
    }
}

/* How much of what it wants a range of nodes has free or coming; twice that, and one more where it
 * has GPUs already. */
static uint32_t good_range(struct fleet *f, const struct shape *shape, struct range r)
{
    uint32_t first[BEST + 1], need = shape->gpus, there = 0;
    bool has = false;
    list_nodes(f, shape, r, first);
    for (uint32_t good = BEST + 1; good-- > 0 && need > 0;)
        for (uint32_t node = first[good]; node != NONE && need > 0; node = f->next_alike[node]) {
            uint32_t size = f->nodes.size[node], want = size < need ? size : need;
            there += good / 2 < want ? good / 2 : want;
            has = has || f->take[node] > 0;
            need -= want;
        }
    return need > 0 ? 0 : 2 * there + has;
}

static struct range best_range(struct fleet *f, const struct shape *shape)
{
    uint32_t n = ranges(f, shape), best = 0, most = 0;
    for (uint32_t i = 0; i < n && n > 1; i++) {
        uint32_t good = good_range(f, shape, range_at(f, n, i));
        if (good > most) {
            best = i;
            most = good;
        }
    }
    return range_at(f, n, best);
}

/* Keeps free GPUs of the best nodes, at most so many; f->take is what the lease had of each. */
static void keep_best(struct fleet *f, struct lease *l, uint32_t most)
{
    const struct shape shape = shape_of(l);
    uint32_t first[BEST + 1], need = l->gpus;
    list_nodes(f, &shape, best_range(f, &shape), first);
    for (uint32_t good = BEST + 1; good-- > 0 && need > 0 && most > 0;)
        for (uint32_t node = first[good]; node != NONE && need > 0 && most > 0;
             node = f->next_alike[node]) {
            uint32_t free = f->nodes.free_count[node], size = f->nodes.size[node];
            uint32_t want = size < need ? size : need, n = free < want ? free : want;
            n = n < most ? n : most;
            need -= want;
            most -= n;
            if (n > 0)
                l->parts.items[l->parts.n++] =
                    (struct part){.node = node, .mask = nodes_take_on(&f->nodes, node, n)};
        }
}

static uint32_t count_parts(const struct lease *l)
{
    uint32_t gpus = 0;
    for (size_t i = 0; i < l->parts.n; i++)
        gpus += mask_count(l->parts.items[i].mask);
    return gpus;
}

/* Chooses anew; all: it is to be whole or to have nothing. There is room for its parts. */
static void choose(struct fleet *f, uint32_t slot, bool all)
{
    struct lease *l = &f->leases.items[slot];
    struct shape shape = shape_of(l);
    memset(f->take, 0, f->nodes.n);
    for (size_t i = 0; i < l->parts.n; i++)
        f->take[l->parts.items[i].node] = (uint8_t)mask_count(l->parts.items[i].mask);
    put_back(f, l);
    uint32_t free = quota_free(f, l->claimant), coming = quota_coming(f, l->claimant, 0);
    uint32_t quota = admitted(f, l), most = free < coming ? free : coming;
    most = most < quota ? most : quota;
    bool whole = most >= l->gpus && nodes_fit(&f->nodes, &shape) == GRANT_OK;
    if (!whole && l->kind == SHAPE_ANY)
        shape.gpus = most;
    if (whole || (!all && l->kind == SHAPE_ANY && most > 0)) {
        enum hr_err err = nodes_take(&f->nodes, &shape, &l->parts);
        assert(err == HR_OK);
        (void)err;
    } else if (!all) {
        keep_best(f, l, most);
    }
    uint32_t has = count_parts(l);
    settle(f, slot, has, all ? 0 : quota - has);
}

void collect_serve(struct fleet *f)
{
    bool all = false;
    for (size_t i = 0; i < f->collecting.n; i++) {
        uint32_t slot = f->collecting.items[i];
        if (f->leases.items[slot].missing > 0)
            choose(f, slot, all);
        all |= f->leases.items[slot].missing > 0;
    }
}

/* ---- beginning and ending ---- */

enum grant fleet_collect(struct fleet *f, uint32_t claimant, const struct ask *ask, lease_id *out)
{
    const struct shape *shape = &ask->shape;
    enum grant would = fleet_would(f, claimant, shape);
    if (would == GRANT_NEVER)
        return would;
    if (f->nodes.slices || !possible(f, shape)) /* slices are not collected */
        return GRANT_ROOM;
    uint32_t slot;
    if (!vec_reserve(&f->collecting, f->collecting.n + 1) ||
        lease_for(f, claimant, ask, &slot) != HR_OK)
        return GRANT_FAILED;
    struct lease *l = &f->leases.items[slot];
    l->collects = true;
    l->missing = l->gpus;
    *out = l->id;
    f->collecting.items[f->collecting.n++] = slot;
    f->changes++;
    collect_serve(f);
    return GRANT_OK;
}

void collect_end(struct fleet *f, uint32_t slot)
{
    size_t at = 0;
    while (f->collecting.items[at] != slot)
        at++;
    f->collecting.n--;
    memmove(&f->collecting.items[at], &f->collecting.items[at + 1],
            (f->collecting.n - at) * sizeof *f->collecting.items);
    f->leases.items[slot].collects = false;
}

void collect_abandon(struct fleet *f, uint32_t slot)
{
    struct lease *l = &f->leases.items[slot];
    put_back(f, l);
    settle(f, slot, 0, 0);
    collect_end(f, slot);
    lease_drop(f, slot);
}

/* ---- giving way ---- */

bool collect_yield(struct fleet *f, const struct taking *t)
{
    bool any = false;
    for (size_t i = 0; i < f->collecting.n; i++) {
        uint32_t slot = f->collecting.items[i];
        struct lease *l = &f->leases.items[slot];
        struct terms terms;
        if (l->missing == 0 || l->parts.n == 0 || !taking_from(f, t, l->claimant, &terms) ||
            !taking_covers(&terms, l))
            continue;
        put_back(f, l);
        settle(f, slot, 0, 0);
        any = true;
    }
    return any;
}

void collect_leave(struct fleet *f, uint32_t node)
{
    for (size_t i = 0; i < f->collecting.n; i++) {
        struct lease *l = &f->leases.items[f->collecting.items[i]];
        for (size_t p = l->parts.n; p-- > 0;)
            if (l->parts.items[p].node == node) {
                nodes_give(&f->nodes, node, l->parts.items[p].mask);
                l->parts.items[p] = l->parts.items[--l->parts.n];
                settle(f, f->collecting.items[i], count_parts(l), 0);
                fleet_want_pass(f);
            }
    }
}

void collect_withdraw(struct fleet *f)
{
    for (size_t i = 0; i < f->collecting.n;) {
        const struct lease *l = &f->leases.items[f->collecting.items[i]];
        const struct shape shape = shape_of(l);
        if (possible(f, &shape)) {
            i++;
            continue;
        }
        lease_id id = l->id;
        const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
        ops->withdrawn(ops->self, id, fleet_now(f));
        fleet_abandon(f, id);
        i = 0;
    }
}
