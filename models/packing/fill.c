/* Arrivals, and what is measured at each level. */
#include "models/packing/fill.h"

#include "sim/vec.h"

#include <stdlib.h>
#include <string.h>

static const char stream[] = "packing";

enum hr_err fill_arrivals(const struct fill_plan *plan, uint32_t replication, uint32_t **rows,
                          size_t *n)
{
    struct {
        uint32_t *items;
        size_t n, capacity;
    } all = {0};
    struct rng rng;
    double wanted = plan->ratio * (double)cluster_capacity(plan->nodes), asked = 0;
    rng_init(&rng, plan->seed, replication, stream, "arrivals");
    *rows = NULL;
    for (size_t i = 0; i < plan->pods->n || asked <= wanted; i++) {
        size_t at = i < plan->pods->n ? i : rng_below(&rng, plan->pods->n);
        asked += (double)cluster_asks(&plan->pods->shapes[plan->pods->rows[at]]);
        if (!vec_push(&all, plan->pods->rows[at])) {
            vec_free(&all);
            return HR_NOMEM;
        }
    }
    for (size_t i = all.n; i > 1; i--) {
        size_t other = rng_below(&rng, i);
        uint32_t row = all.items[i - 1];
        all.items[i - 1] = all.items[other];
        all.items[other] = row;
    }
    *rows = all.items;
    *n = all.n;
    return HR_OK;
}

/* ---- measuring ---- */

static void measure(const struct fill_plan *plan, const struct packer *p, double capacity,
                    struct fill_level *out, uint64_t *starts)
{
    double idle = 0, fragment = 0, stranded = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const struct cluster_room *room = &p->rooms[i];
        idle += room->idle_milli;
        fragment += fragment_milli(plan->fragment, room);
        stranded += fragment_stranded(plan->fragment, room);
        for (uint32_t s = 0; starts && s < plan->fragment->n_pods; s++)
            starts[s] += cluster_holds(room, &plan->fragment->pods[s]);
    }
    out->reached = true;
    out->allocated_frac = 1 - idle / capacity;
    out->fragment_frac = fragment / capacity;
    out->stranded_frac = stranded / capacity;
}

static enum hr_err fill(const struct fill_plan *plan, struct packer *p, const uint32_t *rows,
                        size_t n, struct fill_level *levels, uint64_t *starts)
{
    double capacity = (double)cluster_capacity(plan->nodes), asked = 0;
    uint64_t dropped = 0;
    uint32_t next = 0, node, devices;
    for (size_t i = 0; i < n && next < plan->n_levels; i++) {
        TRY(packer_place(p, rows[i], &node, &devices));
        dropped += node == CLUSTER_NOWHERE;
        asked += (double)cluster_asks(&plan->pods->shapes[rows[i]]);
        for (; next < plan->n_levels && asked >= plan->levels[next] * capacity; next++) {
            levels[next] = (struct fill_level){
                .arrived_frac = asked / capacity, .arrived = i + 1, .dropped = dropped};
            measure(plan, p, capacity, &levels[next],
                    starts ? starts + (size_t)next * plan->fragment->n_pods : NULL);
        }
    }
    return HR_OK;
}

enum hr_err fill_run(const struct fill_plan *plan, const struct policy *policy,
                     enum policy_ties ties, uint32_t replication, struct fill_level *levels,
                     uint64_t *starts)
{
    uint32_t *rows;
    size_t n;
    struct arena arena;
    struct packer packer = {0};
    struct rng rng;
    memset(levels, 0, plan->n_levels * sizeof *levels);
    if (starts)
        memset(starts, 0, (size_t)plan->n_levels * plan->fragment->n_pods * sizeof *starts);
    TRY(fill_arrivals(plan, replication, &rows, &n));
    arena_init(&arena);
    rng_init(&rng, plan->seed, replication, stream, policy->name);
    enum hr_err err =
        packer_init(&packer, policy, ties, plan->nodes, plan->pods, plan->fragment, &rng, &arena);
    if (err == HR_OK)
        err = fill(plan, &packer, rows, n, levels, starts);
    packer_fini(&packer);
    arena_fini(&arena);
    free(rows);
    return err;
}

/* ---- what stands where ---- */

static enum hr_err place_all(const struct fill_plan *plan, struct packer *p, const uint32_t *rows,
                             size_t n, double level, struct moves_pod *pods, uint32_t *n_pods)
{
    double wanted = level * (double)cluster_capacity(plan->nodes), asked = 0;
    uint32_t node, devices;
    for (size_t i = 0; i < n && asked < wanted; i++) {
        const struct cluster_pod *shape = &plan->pods->shapes[rows[i]];
        TRY(packer_place(p, rows[i], &node, &devices));
        asked += (double)cluster_asks(shape);
        if (node != CLUSTER_NOWHERE)
            pods[(*n_pods)++] =
                (struct moves_pod){*shape, node, devices, (int64_t)cluster_asks(shape), false};
    }
    return HR_OK;
}

enum hr_err fill_cluster(const struct fill_plan *plan, const struct policy *policy,
                         enum policy_ties ties, uint32_t replication, double level,
                         struct arena *arena, struct moves_cluster *out)
{
    uint32_t *rows;
    size_t n;
    struct packer packer = {0};
    struct rng rng;
    TRY(fill_arrivals(plan, replication, &rows, &n));
    struct moves_pod *pods = arena_array(arena, n, sizeof *pods);
    enum hr_err err = pods ? HR_OK : HR_NOMEM;
    *out = (struct moves_cluster){.n_nodes = plan->nodes->n, .pods = pods};
    rng_init(&rng, plan->seed, replication, stream, policy->name);
    if (err == HR_OK)
        err = packer_init(&packer, policy, ties, plan->nodes, plan->pods, plan->fragment, &rng,
                          arena);
    if (err == HR_OK)
        err = place_all(plan, &packer, rows, n, level, pods, &out->n_pods);
    out->rooms = packer.rooms;
    packer_fini(&packer);
    free(rows);
    return err;
}
