/* The exact search, by deepening: a pod without a place takes one, with room there or by sending
 * away some that stand there, which then have none.
 *
 * A plan of the fewest moves has no pod that moves without need, so it is found when every pod that
 * has no place tries each node with each set of pods to send away, in any order. */
#include "models/packing/moves_greedy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HOMELESS = MOVES_MOST + 64 };

struct search {
    const struct moves_cluster *c;
    const struct cluster_pod *waiting;
    const struct moves_index *index;
    struct cluster_room *rooms;
    bool *moved;                 /* pods that have left their place */
    uint32_t homeless[HOMELESS]; /* pods to place, those before `placed` stand in steps */
    uint32_t n, placed;
    struct moves_step steps[HOMELESS];
    uint32_t left; /* moves */
    int64_t cost;
    uint64_t tries;
    bool found;
    int64_t best_cost;
    struct moves_step best[HOMELESS];
};

static const struct cluster_pod *shape_of(const struct search *s, uint32_t pod)
{
    return pod < s->c->n_pods ? &s->c->pods[pod].shape : &s->waiting[pod - s->c->n_pods];
}

static void settle(struct search *s);

static void keep_best(struct search *s)
{
    s->found = true;
    s->best_cost = s->cost;
    memcpy(s->best, s->steps, s->placed * sizeof *s->best);
}

static void put(struct search *s, uint32_t pod, uint32_t node, uint32_t devices)
{
    const struct cluster_pod *shape = shape_of(s, pod);
    cluster_take(&s->rooms[node], shape, devices);
    s->steps[s->placed++] = (struct moves_step){pod, node, devices};
    settle(s);
    s->placed--;
    cluster_give(&s->rooms[node], shape, devices);
}

/* On whatever devices have room. Whole ones are all alike when free. */
static void put_anywhere(struct search *s, uint32_t pod, uint32_t node)
{
    const struct cluster_pod *shape = shape_of(s, pod);
    const struct cluster_room *room = &s->rooms[node];
    bool free_tried = false;
    if (shape->devices != 1 || shape->milli == CLUSTER_MILLI) {
        put(s, pod, node, cluster_smallest(room, shape));
        return;
    }
    for (uint32_t d = 0; d < room->devices; d++) {
        if (room->left[d] < shape->milli || (room->left[d] == CLUSTER_MILLI && free_tried))
            continue;
        free_tried = free_tried || room->left[d] == CLUSTER_MILLI;
        put(s, pod, node, 1u << d);
    }
}

/* Sends away more of the pods of a node, from number `from` of them on, and places the pod as soon
 * as it fits. A shared pod also looks at devices that others must leave first; free whole devices
 * are all alike. */
static void make_room(struct search *s, uint32_t pod, uint32_t node, uint32_t from)
{
    const struct cluster_pod *shape = shape_of(s, pod);
    if (s->tries == 0)
        return;
    s->tries--;
    if (cluster_fits(&s->rooms[node], shape)) {
        put_anywhere(s, pod, node);
        if (shape->devices != 1 || shape->milli == CLUSTER_MILLI)
            return;
    }
    if (s->left == 0 || s->n == HOMELESS)
        return;
    for (uint32_t i = from; i < s->index->start[node + 1]; i++) {
        uint32_t victim = s->index->pods[i];
        const struct moves_pod *v = &s->c->pods[victim];
        if (v->fixed || s->moved[victim] || (s->found && s->cost + v->cost >= s->best_cost))
            continue;
        s->moved[victim] = true;
        s->left--;
        s->cost += v->cost;
        s->homeless[s->n++] = victim;
        cluster_give(&s->rooms[node], &v->shape, v->devices);
        make_room(s, pod, node, i + 1);
        cluster_take(&s->rooms[node], &v->shape, v->devices);
        s->n--;
        s->cost -= v->cost;
        s->left++;
        s->moved[victim] = false;
    }
}

static void settle(struct search *s)
{
    if (s->found && s->cost >= s->best_cost)
        return;
    if (s->placed == s->n) {
        keep_best(s);
        return;
    }
    uint32_t pod = s->homeless[s->placed];
    for (uint32_t node = 0; node < s->c->n_nodes && s->tries > 0; node++)
        make_room(s, pod, node, s->index->start[node]);
}

/* ---- deepening ---- */

static void search_depth(struct search *s, uint32_t depth, uint32_t n_waiting)
{
    s->n = s->placed = 0;
    s->left = depth;
    s->cost = 0;
    for (uint32_t i = 0; i < n_waiting; i++)
        s->homeless[s->n++] = s->c->n_pods + i;
    settle(s);
}

static enum hr_err keep_plan(struct arena *arena, const struct moves_step *steps, uint32_t n,
                             uint32_t n_moves, int64_t cost, bool exact, struct moves_plan *out)
{
    *out = (struct moves_plan){true, exact, n_moves, cost, arena_array(arena, n, sizeof *steps), n};
    if (!out->steps)
        return HR_NOMEM;
    memcpy(out->steps, steps, n * sizeof *steps);
    return HR_OK;
}

static enum hr_err search(struct search *s, uint32_t n_waiting, uint32_t most, struct arena *arena,
                          struct moves_plan *out)
{
    for (uint32_t depth = 0; depth <= most && s->tries > 0; depth++) {
        search_depth(s, depth, n_waiting);
        if (s->found && s->tries > 0)
            return keep_plan(arena, s->best, depth + n_waiting, depth, s->best_cost, true, out);
        if (s->found) {
            TRY(keep_plan(arena, s->best, depth + n_waiting, depth, s->best_cost, false, out));
            break;
        }
    }
    if (!out->found && s->tries > 0) {
        out->exact = true;
        return HR_OK;
    }
    /* Out of tries: as many moves as were found, or those of the plain way. */
    return moves_greedy(s->c, s->waiting, n_waiting, s->index, most, arena, out);
}

enum hr_err moves_find(const struct moves_cluster *c, const struct cluster_pod *waiting,
                       uint32_t n_waiting, const struct moves_limits *limits, struct arena *arena,
                       struct moves_plan *out)
{
    assert(limits->most <= MOVES_MOST && n_waiting <= HOMELESS - MOVES_MOST);
    struct moves_index index;
    struct search *s = calloc(1, sizeof *s);
    *out = (struct moves_plan){0};
    if (!s)
        return HR_NOMEM;
    s->c = c;
    s->waiting = waiting;
    s->index = &index;
    s->tries = limits->tries;
    s->rooms = arena_array(arena, c->n_nodes, sizeof *s->rooms);
    s->moved = arena_array(arena, c->n_pods, sizeof *s->moved);
    enum hr_err err = s->rooms && s->moved ? moves_index(c, arena, &index) : HR_NOMEM;
    if (err == HR_OK) {
        memcpy(s->rooms, c->rooms, c->n_nodes * sizeof *s->rooms);
        err = search(s, n_waiting, limits->most, arena, out);
    }
    free(s);
    return err;
}
