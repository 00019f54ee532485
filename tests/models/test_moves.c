/* Fewest moves against every arrangement there is, problems by hand, and the plain way on a cluster
 * too large to search. */
#include "models/packing/moves.h"
#include "sim/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, PODS = 5, WAITING = 2, EXHAUSTED = 100000000 };

struct bed {
    struct arena arena;
    struct cluster_room rooms[64];
    struct moves_pod pods[512];
    struct moves_cluster c;
};

static void bed_init(struct bed *b, uint32_t n_nodes, uint32_t devices)
{
    memset(b, 0, sizeof *b);
    arena_init(&b->arena);
    for (uint32_t i = 0; i < n_nodes; i++)
        cluster_open(&(struct cluster_node){"n", 100000, 100000, devices, 0}, &b->rooms[i]);
    b->c = (struct moves_cluster){b->rooms, n_nodes, b->pods, 0};
}

/* Costs what it holds, in milli. */
static void put(struct bed *b, uint32_t node, struct cluster_pod shape)
{
    uint32_t devices = cluster_smallest(&b->rooms[node], &shape);
    cluster_take(&b->rooms[node], &shape, devices);
    b->pods[b->c.n_pods++] =
        (struct moves_pod){shape, node, devices, (int64_t)cluster_asks(&shape), false};
}

static struct cluster_pod gpus(uint32_t n)
{
    return (struct cluster_pod){0, 0, n, 1000, 0};
}

static struct cluster_pod share(uint32_t milli)
{
    return (struct cluster_pod){0, 0, 1, milli, 0};
}

/* Plays a plan: what it says must be possible and cost what it says. */
static void check_plan(const struct bed *b, const struct cluster_pod *waiting, uint32_t n_waiting,
                       const struct moves_plan *p)
{
    struct cluster_room rooms[64];
    uint32_t moves = 0, started = 0;
    int64_t cost = 0;
    memcpy(rooms, b->rooms, sizeof rooms);
    cr_assert_eq(p->n_steps, p->n_moves + n_waiting);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        uint32_t k = p->steps[i].pod;
        if (k >= b->c.n_pods) {
            started++;
            continue;
        }
        cr_assert(!b->pods[k].fixed);
        cluster_give(&rooms[b->pods[k].node], &b->pods[k].shape, b->pods[k].devices);
        cost += b->pods[k].cost;
        moves++;
        for (uint32_t j = 0; j < i; j++)
            cr_assert_neq(p->steps[j].pod, k, "moves once");
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct moves_step *s = &p->steps[i];
        const struct cluster_pod *shape =
            s->pod < b->c.n_pods ? &b->pods[s->pod].shape : &waiting[s->pod - b->c.n_pods];
        struct cluster_room *room = &rooms[s->node];
        uint32_t n = 0;
        cr_assert(cluster_fits(room, shape));
        for (uint32_t d = 0; d < room->devices; d++)
            if (s->devices >> d & 1) {
                cr_assert_geq(room->left[d], shape->milli);
                n++;
            }
        cr_assert_eq(n, shape->devices);
        cluster_take(room, shape, s->devices);
    }
    cr_assert_eq(moves, p->n_moves);
    cr_assert_eq(started, n_waiting);
    cr_assert_eq(cost, p->cost);
}

static struct moves_plan find(struct bed *b, const struct cluster_pod *waiting, uint32_t n_waiting,
                              uint64_t tries)
{
    struct moves_plan p;
    const struct moves_limits limits = {8, tries};
    cr_assert_eq(moves_find(&b->c, waiting, n_waiting, &limits, &b->arena, &p), HR_OK);
    if (p.found)
        check_plan(b, waiting, n_waiting, &p);
    return p;
}

/* ---- by hand ---- */

/* volcano-sh/volcano#3948: 3 nodes of 8 GPUs holding jobs of 4, 2, 1; 4, 2; 4, 2, 1. A job of 4
 * waits although 4 GPUs are free: 2 moves of 3 GPUs. */
static void volcano(struct bed *b)
{
    static const uint32_t held[3][3] = {{4, 2, 1}, {4, 2, 0}, {4, 2, 1}};
    bed_init(b, 3, 8);
    for (uint32_t n = 0; n < 3; n++)
        for (int i = 0; i < 3 && held[n][i]; i++)
            put(b, n, gpus(held[n][i]));
}

Test(moves, placement_fewest_moves)
{
    static struct bed b;
    const struct cluster_pod four = gpus(4);
    volcano(&b);
    for (uint32_t n = 0; n < 3; n++)
        cr_assert(!cluster_fits(&b.rooms[n], &four), "starts: 0");
    struct moves_plan p = find(&b, &four, 1, EXHAUSTED);
    cr_assert(p.found && p.exact);
    cr_assert_eq(p.n_moves, 2);
    cr_assert_eq(p.cost, 3000, "3 GPUs");
    p = find(&b, &four, 1, 1);
    cr_assert(p.found && !p.exact, "the plain way finds one too");
    cr_assert_eq(p.n_moves, 2);
    arena_fini(&b.arena);
}

/* kubernetes-sigs/kueue#5243: 4 nodes of six jobs that stay and two that may go; with the two gone
 * everywhere a job of 8 needs six moves. */
Test(moves, count_is_not_shape)
{
    static struct bed b;
    const struct cluster_pod eight = gpus(8);
    bed_init(&b, 4, 8);
    for (uint32_t n = 0; n < 4; n++)
        for (int i = 0; i < 6; i++)
            put(&b, n, gpus(1));
    struct moves_plan p = find(&b, &eight, 1, EXHAUSTED);
    cr_assert(p.found && p.exact);
    cr_assert_eq(p.n_moves, 6);
    arena_fini(&b.arena);
}

Test(moves, devices_of_one_node_are_defragmented_too)
{
    static struct bed b;
    const struct cluster_pod one = gpus(1);
    bed_init(&b, 1, 2);
    put(&b, 0, share(600));
    put(&b, 0, share(500));
    b.pods[1].fixed = false;
    cr_assert(!find(&b, &one, 1, EXHAUSTED).found, "1.1 devices are in use");
    arena_fini(&b.arena);
    bed_init(&b, 1, 2);
    put(&b, 0, share(600));
    put(&b, 0, share(500));
    cluster_give(&b.rooms[0], &b.pods[0].shape, b.pods[0].devices);
    b.pods[0].shape.milli = 400, b.pods[0].cost = 400;
    cluster_take(&b.rooms[0], &b.pods[0].shape, b.pods[0].devices);
    struct moves_plan p = find(&b, &one, 1, EXHAUSTED);
    cr_assert(p.found && p.exact && p.n_moves == 1);
    cr_assert_eq(p.cost, 400, "the smaller one goes");
    b.pods[0].fixed = true;
    p = find(&b, &one, 1, EXHAUSTED);
    cr_assert_eq(p.cost, 500, "but not if it is fixed");
    b.pods[1].fixed = true;
    p = find(&b, &one, 1, EXHAUSTED);
    cr_assert(!p.found && p.exact);
    arena_fini(&b.arena);
}

Test(moves, none_where_there_is_room_and_a_gang_starts_whole)
{
    static struct bed b;
    const struct cluster_pod gang[2] = {gpus(4), gpus(4)};
    volcano(&b);
    const struct cluster_pod two = gpus(2);
    struct moves_plan p = find(&b, &two, 1, EXHAUSTED);
    cr_assert(p.found && p.exact && p.n_moves == 0 && p.cost == 0);
    cr_assert(!find(&b, gang, 2, 100000).found, "8 of 4 free GPUs");
    arena_fini(&b.arena);
}

/* ---- every arrangement ---- */

struct all {
    const struct bed *b;
    const struct cluster_pod *waiting;
    uint32_t n_waiting, moves, best_moves;
    int64_t cost, best_cost;
    struct cluster_room rooms[NODES];
};

/* Pods 0 .. n_pods, then waiting ones: each stays, or takes any devices of any node. Rooms hold
 * only what has been decided. */
static void arrange(struct all *a, uint32_t i)
{
    const struct bed *b = a->b;
    bool waits = i >= b->c.n_pods;
    if (i == b->c.n_pods + a->n_waiting) {
        if (a->moves < a->best_moves || (a->moves == a->best_moves && a->cost < a->best_cost)) {
            a->best_moves = a->moves;
            a->best_cost = a->cost;
        }
        return;
    }
    const struct cluster_pod *shape = waits ? &a->waiting[i - b->c.n_pods] : &b->pods[i].shape;
    for (uint32_t n = 0; n < b->c.n_nodes; n++)
        for (uint32_t mask = 0; mask < 1u << a->rooms[n].devices; mask++) {
            bool same = !waits && n == b->pods[i].node && mask == b->pods[i].devices;
            bool good = (uint32_t)__builtin_popcount(mask) == shape->devices &&
                        a->rooms[n].cpu_milli >= shape->cpu_milli;
            for (uint32_t d = 0; d < a->rooms[n].devices; d++)
                good = good && (!(mask >> d & 1) || a->rooms[n].left[d] >= shape->milli);
            if (!good || (!same && !waits && b->pods[i].fixed))
                continue;
            a->moves += !same && !waits;
            a->cost += same || waits ? 0 : b->pods[i].cost;
            cluster_take(&a->rooms[n], shape, mask);
            if (a->moves <= a->best_moves)
                arrange(a, i + 1);
            cluster_give(&a->rooms[n], shape, mask);
            a->moves -= !same && !waits;
            a->cost -= same || waits ? 0 : b->pods[i].cost;
        }
}

static struct cluster_pod draw_shape(struct rng *rng)
{
    static const uint32_t milli[] = {200, 300, 400, 500, 700, 1000, 1000};
    struct cluster_pod pod = {(int64_t)rng_below(rng, 5) * 8000, 0, 1,
                              milli[rng_below(rng, sizeof milli / sizeof *milli)], 0};
    if (pod.milli == 1000)
        pod.devices = 1 + (uint32_t)rng_below(rng, 2);
    return pod;
}

Test(moves, as_few_as_any_arrangement, .timeout = 60)
{
    const char *text = getenv("HEADROOM_LONG");
    int rounds = text && text[0] == '1' ? 40000 : 4000;
    uint32_t seen[4] = {0};
    for (int round = 0; round < rounds; round++) {
        static struct bed b;
        struct rng rng;
        struct cluster_pod waiting[WAITING];
        rng_init(&rng, 23, (uint32_t)round, "test", "moves");
        bed_init(&b, 2 + (uint32_t)rng_below(&rng, 2), 2);
        for (uint32_t n = 0; n < b.c.n_nodes; n++)
            b.rooms[n].cpu_milli = 64000;
        for (int i = 0; i < PODS; i++) {
            struct cluster_pod shape = draw_shape(&rng);
            uint32_t node = (uint32_t)rng_below(&rng, b.c.n_nodes);
            if (!cluster_fits(&b.rooms[node], &shape))
                continue;
            put(&b, node, shape);
            b.pods[b.c.n_pods - 1].fixed = rng_below(&rng, 6) == 0;
            b.pods[b.c.n_pods - 1].cost = (int64_t)rng_below(&rng, 4);
        }
        uint32_t n_waiting = 1 + (uint32_t)rng_below(&rng, WAITING);
        for (uint32_t i = 0; i < n_waiting; i++)
            waiting[i] = draw_shape(&rng);
        struct all all = {.b = &b, .waiting = waiting, .n_waiting = n_waiting, .best_moves = 99};
        for (uint32_t n = 0; n < b.c.n_nodes; n++) {
            cluster_open(&(struct cluster_node){"n", 64000, 100000, 2, 0}, &all.rooms[n]);
        }
        arrange(&all, 0);
        struct moves_plan p = find(&b, waiting, n_waiting, EXHAUSTED);
        cr_assert(p.exact, "round %d", round);
        cr_assert_eq(p.found, all.best_moves < 99, "round %d: %u moves", round, all.best_moves);
        if (p.found) {
            cr_assert_eq(p.n_moves, all.best_moves, "round %d: %u, not %u", round, p.n_moves,
                         all.best_moves);
            cr_assert_eq(p.cost, all.best_cost, "round %d", round);
            struct moves_plan plain = find(&b, waiting, n_waiting, 1);
            cr_assert(!plain.found || plain.n_moves >= p.n_moves);
            seen[p.n_moves < 3 ? p.n_moves : 3]++;
        }
        arena_fini(&b.arena);
    }
    for (int i = 0; i < 3; i++)
        cr_assert_gt(seen[i], (uint32_t)rounds / 200, "%d moves: %u", i, seen[i]);
}

/* ---- large ---- */

/* 40 nodes of 8, each with six or seven GPUs held by pods of one: 8 whole GPUs. */
Test(moves, a_large_cluster_in_few_tries)
{
    static struct bed b;
    const struct cluster_pod eight = gpus(8);
    bed_init(&b, 40, 8);
    for (uint32_t n = 0; n < 40; n++)
        for (uint32_t i = 0; i < 6 + n % 2; i++)
            put(&b, n, gpus(1));
    struct moves_plan p = find(&b, &eight, 1, 500);
    cr_assert(p.found && !p.exact, "the plain way");
    cr_assert_eq(p.n_moves, 6);
    p = find(&b, &eight, 1, EXHAUSTED);
    cr_assert(p.found && p.exact);
    cr_assert_eq(p.n_moves, 6);
    arena_fini(&b.arena);
}
