/* Packing of pods: rooms, fragments and scores against slow obvious ones, policies by hand, the
 * packer's rows against looking at every node. */
#include "models/packing/fill.h"
#include "packing_reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

/* CPU, memory, devices, milli, types */
static const struct cluster_pod shapes[] = {
    {4000, 16384, 0, 0, 0},      {32000, 65536, 0, 0, 0},    {3152, 5600, 1, 810, 0},
    {8000, 30517, 1, 470, 0},    {2000, 4096, 1, 190, 0},    {11300, 49152, 1, 1000, 0},
    {12000, 65536, 1, 1000, 2},  {24000, 98304, 2, 1000, 0}, {32000, 131072, 4, 1000, 0},
    {88000, 262144, 8, 1000, 0}, {6000, 8192, 1, 500, 1},    {8000, 16384, 2, 500, 0},
};
enum { SHAPES = N(shapes), PODS = 120 };

/* The list: shape i about 120 / (i + 1) times, so that they differ in frequency and some tie. */
static struct cluster_pods list_of(uint32_t *rows)
{
    struct rng rng;
    rng_init(&rng, 3, 0, "test", "pods");
    for (size_t i = 0; i < PODS; i++)
        rows[i] = (uint32_t)rng_below(&rng, 1 + rng_below(&rng, SHAPES));
    return (struct cluster_pods){shapes, SHAPES, rows, PODS};
}

struct bed {
    struct arena arena;
    uint32_t rows[PODS];
    struct cluster_pods pods;
    struct fragment fragment;
};

static void bed_init(struct bed *b, double cover_frac)
{
    arena_init(&b->arena);
    b->pods = list_of(b->rows);
    cr_assert_eq(fragment_init(&b->fragment, &b->pods, cover_frac, &b->arena), HR_OK);
}

static struct fragment_view look(struct bed *b, const struct cluster_room *room)
{
    struct fragment_view view = {arena_array(&b->arena, b->fragment.n_groups, sizeof(uint32_t)),
                                 arena_array(&b->arena, b->fragment.n_groups, sizeof(uint32_t)), 0};
    fragment_look(&b->fragment, room, &view);
    return view;
}

/* ---- rooms ---- */

Test(packing, what_fits_and_which_devices)
{
    const struct cluster_node node = {"n", 16000, 65536, 4, 1};
    struct cluster_room room, before;
    cluster_open(&node, &room);
    cr_assert_eq(room.idle_milli, 4000);
    room.left[0] = 500, room.left[2] = 470, room.idle_milli = 500 + 1000 + 470 + 1000;
    const struct cluster_pod share = {1000, 1024, 1, 470, 0}, whole = {1000, 1024, 2, 1000, 0};
    cr_assert_eq(cluster_smallest(&room, &share), 1u << 2, "the one with least left");
    cr_assert_eq(cluster_smallest(&room, &whole), 1u << 1 | 1u << 3);
    cr_assert(!cluster_fits(&room, &(struct cluster_pod){1000, 1024, 3, 1000, 0}));
    cr_assert(cluster_fits(&room, &(struct cluster_pod){1000, 1024, 3, 500, 0}));
    cr_assert(cluster_fits(&room, &(struct cluster_pod){16000, 65536, 0, 0, 0}), "to the last");
    cr_assert(!cluster_fits(&room, &(struct cluster_pod){16001, 0, 0, 0, 0}));
    cr_assert(!cluster_fits(&room, &(struct cluster_pod){0, 65537, 0, 0, 0}));
    cr_assert(!cluster_fits(&room, &(struct cluster_pod){0, 0, 1, 100, 1}), "another type");
    cr_assert(cluster_fits(&room, &(struct cluster_pod){0, 0, 1, 100, 3}));
    before = room;
    cluster_take(&room, &whole, 1u << 1 | 1u << 3);
    cr_assert_eq(room.idle_milli, 970);
    cr_assert_eq(room.kinds[2], 1);
    cluster_give(&room, &whole, 1u << 1 | 1u << 3);
    cr_assert_eq(memcmp(&room, &before, sizeof room), 0, "giving back undoes taking");
}

Test(packing, fits_and_holds_as_placing_one_by_one)
{
    struct rng rng;
    rng_init(&rng, 5, 0, "test", "rooms");
    for (int i = 0; i < 3000; i++) {
        struct cluster_room room;
        reference_draw_room(&rng, &room);
        for (uint32_t s = 0; s < SHAPES; s++) {
            struct cluster_room copy = room;
            uint64_t n = 0;
            cr_assert_eq(cluster_fits(&room, &shapes[s]), reference_fits(&room, &shapes[s]));
            for (; reference_fits(&copy, &shapes[s]); n++)
                cluster_take(&copy, &shapes[s], cluster_smallest(&copy, &shapes[s]));
            if (shapes[s].devices < 2 || shapes[s].milli == 1000)
                cr_assert_eq(cluster_holds(&room, &shapes[s]), n, "shape %u", s);
        }
    }
}

/* ---- fragments ---- */

Test(packing, fragment_by_hand)
{
    /* Three pods want 500 milli and 4 CPU, one a whole device and 8 CPU. */
    static const struct cluster_pod two[] = {{4000, 0, 1, 500, 0}, {8000, 0, 1, 1000, 0}};
    static const uint32_t rows[] = {0, 0, 1, 0};
    const struct cluster_pods pods = {two, 2, rows, 4};
    struct arena arena;
    struct fragment f;
    struct cluster_room room;
    arena_init(&arena);
    cr_assert_eq(fragment_init(&f, &pods, 1, &arena), HR_OK);
    cluster_open(&(struct cluster_node){"n", 8000, 0, 2, 0}, &room);
    cr_assert_eq(fragment_milli(&f, &room), 0);
    cluster_take(&room, &(struct cluster_pod){0, 0, 1, 600, 0}, 1);
    /* 400 + 1000 left: nobody can use the 400. */
    cr_assert_eq(fragment_milli(&f, &room), 400);
    cr_assert_eq(fragment_stranded(&f, &room), 400);
    room.cpu_milli = 7999; /* the quarter that wants 8 CPU can use nothing */
    cr_assert_eq(fragment_milli(&f, &room), 0.75 * 400 + 0.25 * 1400);
    room.cpu_milli = 3999;
    cr_assert_eq(fragment_milli(&f, &room), 1400);
    cr_assert_eq(fragment_stranded(&f, &room), 1400);
    arena_fini(&arena);
}

Test(packing, fragments_and_scores_as_the_slow_ones)
{
    static const double covers[] = {1, 0.95, 0.6};
    uint64_t scored = 0, unsure = 0;
    for (size_t c = 0; c < N(covers); c++) {
        struct bed b;
        struct rng rng;
        bed_init(&b, covers[c]);
        rng_init(&rng, 7, (uint32_t)c, "test", "rooms");
        for (int i = 0; i < 150; i++) {
            struct cluster_room room;
            reference_draw_room(&rng, &room);
            struct fragment_view view = look(&b, &room);
            long double want = reference_fragment(&b.pods, covers[c], &room);
            cr_assert(fabsl(want - (long double)fragment_milli(&b.fragment, &room)) < 1e-9L);
            for (uint32_t s = 0; s < SHAPES; s++) {
                uint32_t devices = 0, slow_devices = 0;
                bool sure;
                if (!cluster_fits(&room, &shapes[s]))
                    continue;
                int32_t slow =
                    reference_gradient(&b.pods, covers[c], &room, &shapes[s], &slow_devices, &sure);
                int32_t score = fragment_score(&b.fragment, &room, &view, &shapes[s], &devices);
                scored++;
                unsure += !sure;
                if (sure)
                    cr_assert(score == slow && devices == slow_devices,
                              "shape %u: %d on %x, slow %d on %x", s, score, devices, slow,
                              slow_devices);
            }
        }
        arena_fini(&b.arena);
    }
    cr_assert_gt(scored, 1000);
    cr_assert_lt(unsure, scored / 100);
}

Test(packing, typical_pods_cover_their_share)
{
    struct bed b;
    int64_t most = INT64_MAX;
    bed_init(&b, 0.8);
    for (uint32_t i = 0; i < b.fragment.n_pods; i++) {
        cr_assert_leq(b.fragment.counts[i], most);
        most = b.fragment.counts[i];
    }
    cr_assert_geq(b.fragment.total, (int64_t)(0.8 * PODS));
    cr_assert_lt(b.fragment.total - most, (int64_t)(0.8 * PODS), "no more than needed");
    arena_fini(&b.arena);
}

/* ---- policies ---- */

static int32_t score(const char *name, const struct cluster_room *room, const struct cluster_pod *p)
{
    uint32_t devices;
    const struct policy_node node = {room, NULL, NULL};
    return policy_find(name)->score(&node, p, &devices);
}

Test(packing, policies_by_hand)
{
    struct cluster_room room;
    const struct cluster_pod pod = {12000, 0, 1, 500, 0};
    cluster_open(&(struct cluster_node){"n", 96000, 0, 8, 0}, &room);
    /* 84 of 128 CPU and 7.5 of 8 GPUs are left: 100 - 32.81 - 46.88 = 20.3 */
    cr_assert_eq(score("best-fit", &room, &pod), 20);
    cr_assert_eq(score("worst-fit", &room, &pod), 84000 + 750000);
    /* 96/128 * 12/128 + 1 * 0.5/8 = 0.1328; 100 (1 - 0.0664) */
    cr_assert_eq(score("dot-product", &room, &pod), 93);
    cr_assert_eq(score("gpu-packing", &room, &pod), 33 - 8, "a free node");
    cr_assert_eq(score("gpu-clustering", &room, &pod), 25, "an idle node");
    cluster_take(&room, &pod, 1u << 2);
    cr_assert_eq(score("gpu-packing", &room, &pod), 100 - 5, "the device in use");
    cr_assert_eq(score("gpu-packing", &room, &(struct cluster_pod){0, 0, 2, 1000, 0}), 48);
    cr_assert_eq(score("gpu-clustering", &room, &pod), 75 + 1, "only its own kind");
    cr_assert_eq(score("gpu-clustering", &room, &(struct cluster_pod){0, 0, 1, 1000, 0}), 1);
    cluster_take(&room, &(struct cluster_pod){0, 0, 1, 1000, 0}, 1);
    cr_assert_eq(score("gpu-clustering", &room, &pod), 50 + 4, "its own among others");
    cr_assert_eq(score("gpu-packing", &room, &(struct cluster_pod){1, 1, 0, 0, 0}), 0, "CPU only");
    cr_assert_null(policy_find("tetris"));
}

Test(packing, best_fit_rounds_down_below_zero_too)
{
    struct cluster_room room;
    cluster_open(&(struct cluster_node){"n", 400000, 0, 16, 0}, &room);
    /* 100 (1 - 1.5625 - 1) = -156.25 */
    cr_assert_eq(score("best-fit", &room, &(struct cluster_pod){0, 0, 0, 0, 0}), -157);
}

/* ---- the packer ---- */

enum { NODES = 150, STEPS = 3000 };

struct placed {
    uint32_t shape, node, devices;
};

static void draw_nodes(struct cluster_node *nodes)
{
    struct rng rng;
    rng_init(&rng, 11, 0, "test", "nodes");
    for (uint32_t i = 0; i < NODES; i++) {
        static const uint32_t devices[] = {1, 2, 4, 8, 8};
        uint32_t kind = i % 7 ? (uint32_t)rng_below(&rng, 5) : 4;
        nodes[i] = (struct cluster_node){"n", 32000 + 16000 * kind, 131072 * (kind + 1),
                                         devices[kind], kind % 2};
    }
}

/* The first of the best, or how many are best; scores without any memory. */
static uint32_t slow_best(const struct packer *p, const struct bed *b, uint32_t shape,
                          bool *is_best)
{
    int32_t best = INT32_MIN;
    uint32_t first = CLUSTER_NOWHERE;
    int32_t scores[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t devices;
        uint32_t counts[SHAPES], above[SHAPES];
        struct fragment_view view = {counts, above, 0};
        fragment_look(&b->fragment, &p->rooms[i], &view);
        const struct policy_node node = {&p->rooms[i], &b->fragment, &view};
        scores[i] = reference_fits(&p->rooms[i], &shapes[shape])
                        ? p->policy->score(&node, &shapes[shape], &devices)
                        : INT32_MIN;
        if (scores[i] > best) {
            best = scores[i];
            first = i;
        }
    }
    for (uint32_t i = 0; i < NODES; i++)
        is_best[i] = first != CLUSTER_NOWHERE && scores[i] == best;
    return first;
}

static void play(const struct policy *policy, enum policy_ties ties)
{
    struct bed b;
    struct cluster_node rows[NODES];
    struct packer p = {0};
    struct rng rng;
    static struct placed held[STEPS];
    uint32_t n_held = 0, dropped = 0;
    bed_init(&b, 0.95);
    draw_nodes(rows);
    const struct cluster_nodes nodes = {rows, NODES};
    rng_init(&rng, 13, 0, "test", policy->name);
    cr_assert_eq(packer_init(&p, policy, ties, &nodes, &b.pods, &b.fragment, &rng, &b.arena),
                 HR_OK);
    for (int i = 0; i < STEPS; i++) {
        struct placed x = {.shape = (uint32_t)rng_below(&rng, SHAPES)};
        bool is_best[NODES];
        if (n_held && rng_below(&rng, 4) == 0) { /* one leaves */
            uint32_t k = (uint32_t)rng_below(&rng, n_held);
            cr_assert_eq(packer_remove(&p, held[k].shape, held[k].node, held[k].devices), HR_OK);
            held[k] = held[--n_held];
        }
        uint32_t first = slow_best(&p, &b, x.shape, is_best);
        cr_assert_eq(packer_place(&p, x.shape, &x.node, &x.devices), HR_OK);
        dropped += x.node == CLUSTER_NOWHERE;
        if (x.node == CLUSTER_NOWHERE) {
            cr_assert_eq(first, CLUSTER_NOWHERE, "%s step %d", policy->name, i);
            continue;
        }
        cr_assert(is_best[x.node], "%s step %d: node %u", policy->name, i, x.node);
        if (p.ties == POLICY_TIE_NAME)
            cr_assert_eq(x.node, first, "%s step %d: %u, not %u", policy->name, i, x.node, first);
        held[n_held++] = x;
    }
    cr_assert_gt(dropped, 20, "%s filled it", policy->name);
    for (uint32_t k = 0; k < n_held; k++)
        cr_assert_eq(packer_remove(&p, held[k].shape, held[k].node, held[k].devices), HR_OK);
    for (uint32_t i = 0; i < NODES; i++) {
        struct cluster_room empty;
        cluster_open(&rows[i], &empty);
        cr_assert_eq(memcmp(&empty, &p.rooms[i], sizeof empty), 0, "empty again");
    }
    packer_fini(&p);
    arena_fini(&b.arena);
}

Test(packing, rows_as_looking_at_every_node)
{
    for (int i = 0; i < POLICIES; i++) {
        play(&policies[i], POLICY_TIE_NAME);
        play(&policies[i], POLICY_TIE_RANDOM);
    }
}

/* 20 nodes alike, one pod a time: each node 1 in 20 (chi-square of 19 degrees, 1e-6: 66). */
Test(packing, random_ties_are_uniform)
{
    enum { ALIKE = 20, ROUNDS = 4000 };
    struct bed b;
    struct cluster_node rows[ALIKE];
    struct packer p = {0};
    struct rng rng;
    uint32_t hits[ALIKE] = {0}, node, devices;
    double chi = 0, mean = (double)ROUNDS / ALIKE;
    bed_init(&b, 1);
    for (int i = 0; i < ALIKE; i++)
        rows[i] = (struct cluster_node){"n", 96000, 400000, 8, 0};
    const struct cluster_nodes nodes = {rows, ALIKE};
    rng_init(&rng, 17, 0, "test", "ties");
    cr_assert_eq(packer_init(&p, policy_find("fgd"), POLICY_TIE_RANDOM, &nodes, &b.pods,
                             &b.fragment, &rng, &b.arena),
                 HR_OK);
    for (int i = 0; i < ROUNDS; i++) {
        cr_assert_eq(packer_place(&p, 2, &node, &devices), HR_OK);
        hits[node]++;
        cr_assert_eq(packer_remove(&p, 2, node, devices), HR_OK);
    }
    for (int i = 0; i < ALIKE; i++)
        chi += (hits[i] - mean) * (hits[i] - mean) / mean;
    cr_assert_lt(chi, 66);
    cr_assert_gt(chi, 2);
    packer_fini(&p);
    arena_fini(&b.arena);
}

/* ---- filling ---- */

Test(packing, arrivals_pass_the_ratio_and_keep_the_list)
{
    struct bed b;
    struct cluster_node rows[NODES];
    uint32_t *order, *again, count[SHAPES] = {0}, list[SHAPES] = {0};
    size_t n, n_again;
    uint64_t asked = 0;
    bed_init(&b, 1);
    draw_nodes(rows);
    const struct cluster_nodes nodes = {rows, NODES};
    const struct fill_plan plan = {.nodes = &nodes, .pods = &b.pods, .ratio = 1.3, .seed = 4};
    cr_assert_eq(fill_arrivals(&plan, 0, &order, &n), HR_OK);
    cr_assert_eq(fill_arrivals(&plan, 0, &again, &n_again), HR_OK);
    cr_assert(n == n_again && memcmp(order, again, n * sizeof *order) == 0);
    for (size_t i = 0; i < n; i++) {
        asked += cluster_asks(&shapes[order[i]]);
        count[order[i]]++;
    }
    for (size_t i = 0; i < PODS; i++)
        list[b.rows[i]]++;
    for (uint32_t s = 0; s < SHAPES; s++)
        cr_assert_geq(count[s], list[s], "every pod of the list is there");
    double capacity = (double)cluster_capacity(&nodes);
    cr_assert_gt((double)asked, 1.3 * capacity);
    cr_assert_leq((double)asked, 1.3 * capacity + 8000);
    free(order);
    free(again);
    arena_fini(&b.arena);
}

Test(packing, levels_agree_with_each_other)
{
    static const double marks[] = {0.1, 0.5, 1, 1.2};
    struct bed b;
    struct cluster_node rows[NODES];
    struct fill_level levels[N(marks)];
    bed_init(&b, 0.95);
    draw_nodes(rows);
    const struct cluster_nodes nodes = {rows, NODES};
    const struct fill_plan plan = {&nodes, &b.pods, &b.fragment, 1.3, marks, N(marks), 4};
    uint64_t *starts = calloc(N(marks) * b.fragment.n_pods, sizeof *starts);
    for (int i = 0; i < POLICIES; i++) {
        cr_assert_eq(fill_run(&plan, &policies[i], POLICY_TIE_NAME, 0, levels, starts), HR_OK);
        for (size_t k = 0; k < N(marks); k++) {
            cr_assert(levels[k].reached);
            cr_assert_geq(levels[k].arrived_frac, marks[k]);
            cr_assert_lt(levels[k].arrived_frac, marks[k] + 0.02);
            cr_assert_leq(levels[k].allocated_frac, levels[k].arrived_frac + 1e-12);
            cr_assert_leq(levels[k].fragment_frac, 1 - levels[k].allocated_frac + 1e-12);
            cr_assert_leq(levels[k].stranded_frac, levels[k].fragment_frac + 1e-12);
            if (levels[k].dropped == 0)
                cr_assert_float_eq(levels[k].allocated_frac, levels[k].arrived_frac, 1e-12);
        }
        for (uint32_t s = 0; s < b.fragment.n_pods; s++)
            cr_assert_leq(starts[3 * b.fragment.n_pods + s], starts[s], "fewer when fuller");
    }
    free(starts);
    arena_fini(&b.arena);
}
