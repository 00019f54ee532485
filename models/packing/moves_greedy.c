/* One waiting pod after another, each on the node that has to send away fewest, then at least cost.
 */
#include "models/packing/moves_greedy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 256, SAVED = 2 * STEPS };

struct greedy {
    const struct moves_cluster *c;
    const struct moves_index *index;
    struct cluster_room *rooms;
    bool *moved;
    struct moves_step steps[STEPS], best[STEPS], all[STEPS];
    uint32_t n, n_best, n_all; /* steps of this node, of the best one, and of the plan */
    int64_t cost, best_cost, cost_all;
    struct {
        uint32_t node;
        struct cluster_room room;
    } saved[SAVED]; /* rooms before this node was tried, to be put back from the last */
    uint32_t n_saved;
};

enum hr_err moves_index(const struct moves_cluster *c, struct arena *arena, struct moves_index *out)
{
    out->start = arena_array(arena, (size_t)c->n_nodes + 2, sizeof *out->start);
    out->pods = arena_array(arena, c->n_pods, sizeof *out->pods);
    if (!out->start || !out->pods)
        return HR_NOMEM;
    for (uint32_t i = 0; i < c->n_pods; i++)
        out->start[c->pods[i].node + 2]++;
    for (uint32_t n = 1; n <= c->n_nodes; n++)
        out->start[n + 1] += out->start[n];
    for (uint32_t i = 0; i < c->n_pods; i++)
        out->pods[out->start[c->pods[i].node + 1]++] = i;
    return HR_OK;
}

static void save(struct greedy *g, uint32_t node)
{
    assert(g->n_saved < SAVED);
    g->saved[g->n_saved].node = node;
    g->saved[g->n_saved++].room = g->rooms[node];
}

/* Of the other nodes the one where least GPU, then least CPU is left. */
static uint32_t tightest(const struct greedy *g, const struct cluster_pod *pod, uint32_t but)
{
    uint32_t best = CLUSTER_NOWHERE;
    for (uint32_t i = 0; i < g->c->n_nodes; i++) {
        const struct cluster_room *room = &g->rooms[i];
        if (i == but || !cluster_fits(room, pod))
            continue;
        const struct cluster_room *other = best == CLUSTER_NOWHERE ? NULL : &g->rooms[best];
        if (!other || room->idle_milli < other->idle_milli ||
            (room->idle_milli == other->idle_milli && room->cpu_milli < other->cpu_milli))
            best = i;
    }
    return best;
}

/* More milli for the cost, then more milli. A cost of nothing counts as one. */
static bool goes_before(const struct moves_pod *a, const struct moves_pod *b)
{
    double x = (double)cluster_asks(&a->shape), y = (double)cluster_asks(&b->shape);
    double gain = x * (double)(b->cost > 0 ? b->cost : 1);
    double other = y * (double)(a->cost > 0 ? a->cost : 1);
    return gain > other || (gain == other && x > y);
}

/* Of those that stand on the node and have room elsewhere, which goes first. */
static uint32_t next_victim(const struct greedy *g, uint32_t node, uint32_t *to)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = g->index->start[node]; i < g->index->start[node + 1]; i++) {
        uint32_t k = g->index->pods[i], place;
        const struct moves_pod *pod = &g->c->pods[k];
        if (pod->fixed || g->moved[k] ||
            (best != UINT32_MAX && !goes_before(pod, &g->c->pods[best])))
            continue;
        place = tightest(g, &pod->shape, node);
        if (place == CLUSTER_NOWHERE)
            continue;
        best = k;
        *to = place;
    }
    return best;
}

static void send_away(struct greedy *g, uint32_t k, uint32_t to)
{
    const struct moves_pod *pod = &g->c->pods[k];
    uint32_t devices = cluster_smallest(&g->rooms[to], &pod->shape);
    save(g, pod->node);
    save(g, to);
    cluster_give(&g->rooms[pod->node], &pod->shape, pod->devices);
    cluster_take(&g->rooms[to], &pod->shape, devices);
    g->moved[k] = true;
    g->cost += pod->cost;
    g->steps[g->n++] = (struct moves_step){k, to, devices};
}

static void call_back(struct greedy *g, uint32_t step)
{
    const struct moves_step *s = &g->steps[step];
    const struct moves_pod *pod = &g->c->pods[s->pod];
    cluster_give(&g->rooms[s->node], &pod->shape, s->devices);
    cluster_take(&g->rooms[pod->node], &pod->shape, pod->devices);
    g->moved[s->pod] = false;
    g->cost -= pod->cost;
    g->steps[step] = g->steps[--g->n];
}

static bool fits_again(const struct greedy *g, uint32_t node, const struct moves_pod *pod,
                       const struct cluster_pod *waiting)
{
    struct cluster_room room = g->rooms[node];
    cluster_take(&room, &pod->shape, pod->devices);
    return cluster_fits(&room, waiting);
}

/* The waiting pod on this node and those that it sends away elsewhere, at first too many, then no
 * more than needed, in steps; false: not so. */
static bool try_node(struct greedy *g, uint32_t node, uint32_t number,
                     const struct cluster_pod *waiting, uint32_t most)
{
    while (!cluster_fits(&g->rooms[node], waiting)) {
        uint32_t to, k = next_victim(g, node, &to);
        if (k == UINT32_MAX || g->n + 1 == STEPS)
            return false;
        send_away(g, k, to);
    }
    for (uint32_t i = g->n; i-- > 0;)
        if (fits_again(g, node, &g->c->pods[g->steps[i].pod], waiting))
            call_back(g, i);
    if (g->n > most)
        return false;
    save(g, node);
    const struct moves_step step = {number, node, cluster_smallest(&g->rooms[node], waiting)};
    cluster_take(&g->rooms[node], waiting, step.devices);
    g->steps[g->n++] = step;
    return true;
}

/* Everything as it was before this node was tried. */
static void undo(struct greedy *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->steps[i].pod < g->c->n_pods)
            g->moved[g->steps[i].pod] = false;
    while (g->n_saved > 0) {
        --g->n_saved;
        g->rooms[g->saved[g->n_saved].node] = g->saved[g->n_saved].room;
    }
}

static void commit(struct greedy *g, const struct cluster_pod *waiting)
{
    for (uint32_t i = 0; i < g->n_best; i++) {
        const struct moves_step *step = &g->best[i];
        const struct moves_pod *pod = i + 1 < g->n_best ? &g->c->pods[step->pod] : NULL;
        if (pod) {
            cluster_give(&g->rooms[pod->node], &pod->shape, pod->devices);
            g->moved[step->pod] = true;
        }
        cluster_take(&g->rooms[step->node], pod ? &pod->shape : waiting, step->devices);
        g->all[g->n_all++] = *step;
    }
    g->cost_all += g->best_cost;
}

/* False: nowhere, or with too many moves. */
static bool place_waiting(struct greedy *g, uint32_t number, const struct cluster_pod *waiting,
                          uint32_t most)
{
    g->n_best = 0;
    for (uint32_t node = 0; node < g->c->n_nodes; node++) {
        g->n = g->n_saved = 0;
        g->cost = 0;
        if (try_node(g, node, number, waiting, most) &&
            (g->n_best == 0 || g->n < g->n_best || (g->n == g->n_best && g->cost < g->best_cost))) {
            memcpy(g->best, g->steps, g->n * sizeof *g->best);
            g->n_best = g->n;
            g->best_cost = g->cost;
        }
        undo(g);
    }
    if (g->n_best == 0)
        return false;
    commit(g, waiting);
    return true;
}

static enum hr_err run(struct greedy *g, const struct cluster_pod *waiting, uint32_t n_waiting,
                       uint32_t most, struct arena *arena, struct moves_plan *out)
{
    for (uint32_t i = 0; i < n_waiting; i++)
        if (!place_waiting(g, g->c->n_pods + i, &waiting[i], most - (g->n_all - i)))
            return HR_OK;
    uint32_t n_moves = g->n_all - n_waiting;
    if (out->found &&
        (n_moves > out->n_moves || (n_moves == out->n_moves && g->cost_all >= out->cost)))
        return HR_OK;
    *out = (struct moves_plan){
        true,    false, n_moves, g->cost_all, arena_array(arena, g->n_all, sizeof *out->steps),
        g->n_all};
    if (!out->steps)
        return HR_NOMEM;
    memcpy(out->steps, g->all, g->n_all * sizeof *out->steps);
    return HR_OK;
}

enum hr_err moves_greedy(const struct moves_cluster *c, const struct cluster_pod *waiting,
                         uint32_t n_waiting, const struct moves_index *index, uint32_t most,
                         struct arena *arena, struct moves_plan *out)
{
    struct greedy *g = calloc(1, sizeof *g);
    if (!g)
        return HR_NOMEM;
    g->c = c;
    g->index = index;
    g->rooms = arena_array(arena, c->n_nodes, sizeof *g->rooms);
    g->moved = arena_array(arena, c->n_pods, sizeof *g->moved);
    enum hr_err err = g->rooms && g->moved ? HR_OK : HR_NOMEM;
    if (err == HR_OK) {
        memcpy(g->rooms, c->rooms, c->n_nodes * sizeof *g->rooms);
        err = run(g, waiting, n_waiting, most, arena, out);
    }
    free(g);
    return err;
}
