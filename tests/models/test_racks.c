/* Placement under power limits of racks, against walks over all ways to take GPUs. */
#include "models/capacity/placement_internal.h"

#include "sim/rng.h"
#include "sim/vec.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { SIZE = 4, NODES_MAX = 9, KINDS = SHAPE_ONE_LEAF + 1 };

/* A pool of groups of 4-GPU nodes; each node 400 W idle and 100 W more for each busy GPU. */
static const struct node_power power[2] = {{400, 800, SIZE}, {400, 800, SIZE}};

struct site {
    struct arena arena;
    struct nodes nodes;
    uint32_t rack[NODES_MAX], busy_most[NODES_MAX]; /* by node; by rack, counted here */
    uint32_t n_racks;
};

static void site_init(struct site *s, enum place_rule rule, const uint32_t *leaves,
                      uint32_t n_leaves, uint32_t rack_nodes, double limit_w)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < n_leaves; l++)
        n += leaves[l];
    const struct node_group group = {.nodes = n, .gpus_per_node = SIZE};
    const struct fabric fabric = {.leaf_nodes = leaves, .n_leaves = n_leaves};
    const struct rack_plan racks = {.power = power, .nodes = rack_nodes, .limit_w = limit_w};
    arena_init(&s->arena);
    cr_assert_eq(nodes_init(&s->nodes, &group, 1, 1, &s->arena), HR_OK);
    cr_assert_eq(nodes_arrange(&s->nodes, rule, &fabric, &s->arena), HR_OK);
    cr_assert_eq(racks_init(&s->nodes, &racks, &group, 1, &s->arena), HR_OK);
    s->n_racks = 0;
    for (uint32_t l = 0, node = 0; l < n_leaves; l++)
        for (uint32_t i = 0; i < leaves[l]; i++, node++) {
            s->n_racks += i % rack_nodes == 0;
            s->rack[node] = s->n_racks - 1;
        }
    for (uint32_t r = 0; r < s->n_racks; r++) {
        uint32_t of_rack = 0;
        for (uint32_t node = 0; node < n; node++)
            of_rack += s->rack[node] == r;
        double left = (limit_w - of_rack * 400) / 100;
        s->busy_most[r] = left < of_rack * SIZE ? (uint32_t)left : of_rack * SIZE;
    }
}

static void site_fini(struct site *s)
{
    arena_fini(&s->arena);
}

/* ---- the reference: idle GPUs of nodes and busy ones of racks, nothing else ---- */

struct state {
    uint32_t idle[NODES_MAX], room[NODES_MAX];
};

static uint32_t can_take(const struct site *s, const struct state *t, uint32_t node)
{
    uint32_t room = t->room[s->rack[node]];
    return t->idle[node] < room ? t->idle[node] : room;
}

static void take(const struct site *s, struct state *t, uint32_t node, uint32_t n)
{
    t->idle[node] -= n;
    t->room[s->rack[node]] -= n;
}

/* Tries every choice of whole nodes of [from, end), then every node for the rest. */
static bool whole_fits(const struct site *s, struct state t, uint32_t from, uint32_t end,
                       uint32_t gpus)
{
    if (gpus < SIZE) {
        bool fits = gpus == 0;
        for (uint32_t node = 0; node < end && !fits; node++)
            fits = can_take(s, &t, node) >= gpus;
        return fits;
    }
    for (uint32_t node = from; node < end; node++)
        if (can_take(s, &t, node) == SIZE) {
            struct state after = t;
            take(s, &after, node, SIZE);
            if (whole_fits(s, after, node + 1, end, gpus - SIZE))
                return true;
        }
    return false;
}

/* The same in one leaf group: nodes of the others have nothing. */
static bool leaf_fits(const struct site *s, const struct state *t, uint32_t gpus)
{
    const struct leaves *ls = &s->nodes.leaves;
    bool fits = false;
    for (uint32_t l = 0; l < ls->n && !fits; l++) {
        struct state in = *t;
        for (uint32_t node = 0; node < s->nodes.n; node++)
            in.idle[node] = ls->n == 1 || ls->of[node] == l ? in.idle[node] : 0;
        fits = whole_fits(s, in, 0, s->nodes.n, gpus);
    }
    return fits;
}

static bool fits(const struct site *s, const struct state *t, const struct shape *shape)
{
    uint32_t all = 0, most = 0;
    for (uint32_t r = 0; r < s->n_racks; r++) {
        uint32_t idle = 0;
        for (uint32_t node = 0; node < s->nodes.n; node++)
            idle += s->rack[node] == r ? t->idle[node] : 0;
        all += idle < t->room[r] ? idle : t->room[r];
    }
    for (uint32_t node = 0; node < s->nodes.n; node++)
        most = can_take(s, t, node) > most ? can_take(s, t, node) : most;
    if (shape->kind == SHAPE_ONE_NODE || (shape->kind != SHAPE_ANY && shape->gpus <= SIZE))
        return most >= shape->gpus;
    if (shape->kind == SHAPE_ONE_LEAF)
        return leaf_fits(s, t, shape->gpus);
    if (shape->kind == SHAPE_WHOLE_NODES)
        return whole_fits(s, *t, 0, s->nodes.n, shape->gpus);
    return all >= shape->gpus;
}

/* ---- the walk ---- */

struct lease_set {
    struct parts *items;
    size_t n, capacity;
};

static void check(const struct site *s, const struct state *t, const struct state *empty)
{
    cr_assert(nodes_consistent(&s->nodes));
    for (uint32_t node = 0; node < s->nodes.n; node++)
        cr_assert_eq(nodes_idle(&s->nodes, node), t->idle[node], "node %u", node);
    for (int kind = 0; kind < KINDS; kind++)
        for (uint32_t gpus = 1; gpus <= s->nodes.n_gpus; gpus++) {
            const struct shape shape = {.gpus = gpus, .kind = (enum shape_kind)kind};
            enum grant g = nodes_fit(&s->nodes, &shape);
            cr_assert_eq(g == GRANT_OK, fits(s, t, &shape), "%u GPUs, %s", gpus,
                         shape_kind_names[kind]);
            cr_assert_eq(g == GRANT_NEVER, !fits(s, empty, &shape), "never: %u GPUs, %s", gpus,
                         shape_kind_names[kind]);
        }
}

static void book(const struct site *s, struct state *t, const struct parts *p, bool taken)
{
    for (size_t i = 0; i < p->n; i++) {
        uint32_t n = mask_count(p->items[i].mask), node = p->items[i].node;
        t->idle[node] = taken ? t->idle[node] - n : t->idle[node] + n;
        uint32_t *room = &t->room[s->rack[node]];
        cr_assert(!taken || *room >= n, "rack over its limit");
        *room = taken ? *room - n : *room + n;
    }
}

static void start(struct site *s, struct state *t, struct lease_set *held, struct rng *rng)
{
    const struct shape shape = {.gpus = 1 + rng_below(rng, 12),
                                .kind = (enum shape_kind)rng_below(rng, KINDS)};
    struct parts p = {0};
    if (nodes_fit(&s->nodes, &shape) != GRANT_OK)
        return;
    cr_assert_eq(nodes_take(&s->nodes, &shape, &p), HR_OK);
    uint32_t gpus = 0;
    for (size_t i = 0; i < p.n; i++)
        gpus += mask_count(p.items[i].mask);
    cr_assert_eq(gpus, shape.gpus);
    book(s, t, &p, true);
    cr_assert(vec_push(held, p));
}

static void stop(struct site *s, struct state *t, struct lease_set *held, struct rng *rng)
{
    if (held->n == 0)
        return;
    size_t i = rng_below(rng, (uint32_t)held->n);
    struct parts p = held->items[i];
    held->items[i] = held->items[--held->n];
    for (size_t k = 0; k < p.n; k++)
        nodes_give(&s->nodes, p.items[k].node, p.items[k].mask);
    racks_settle(&s->nodes);
    book(s, t, &p, false);
    vec_free(&p);
}

/* Closes a node, and opens it again. */
static void leave_and_return(struct site *s, struct state *t, const struct state *empty,
                             uint32_t node)
{
    uint32_t idle = t->idle[node];
    uint64_t mask = nodes_close(&s->nodes, node);
    cr_assert_eq(mask_count(mask), idle);
    t->idle[node] = 0;
    check(s, t, empty);
    nodes_open(&s->nodes, node, mask);
    t->idle[node] = idle;
}

static void walk(uint64_t seed, enum place_rule rule, const uint32_t *leaves, uint32_t n_leaves,
                 uint32_t rack_nodes, double limit_w)
{
    struct site s;
    struct lease_set held = {0};
    struct state t = {0};
    struct rng rng;
    rng_init(&rng, seed, 0, "racks", "walk");
    site_init(&s, rule, leaves, n_leaves, rack_nodes, limit_w);
    for (uint32_t node = 0; node < s.nodes.n; node++)
        t.idle[node] = SIZE;
    for (uint32_t r = 0; r < s.n_racks; r++)
        t.room[r] = s.busy_most[r];
    const struct state empty = t;
    for (uint32_t step = 0; step < 120; step++) {
        check(&s, &t, &empty);
        if (rng_below(&rng, 5) < 3)
            start(&s, &t, &held, &rng);
        else
            stop(&s, &t, &held, &rng);
        if (step % 16 == 0)
            leave_and_return(&s, &t, &empty, rng_below(&rng, s.nodes.n));
    }
    while (held.n > 0)
        stop(&s, &t, &held, &rng);
    check(&s, &t, &empty);
    vec_free(&held);
    site_fini(&s);
}

Test(racks, what_fits_is_what_some_choice_fits)
{
    static const uint32_t one[] = {8}, two[] = {5, 4};
    const char *more = getenv("HEADROOM_LONG");
    uint64_t seeds = more ? 50 : 3;
    for (uint64_t seed = 0; seed < seeds; seed++)
        for (int rule = 0; rule < PLACE_RULES; rule++)
            for (uint32_t budget = SIZE; budget <= 3 * SIZE; budget += 3) {
                walk(seed, (enum place_rule)rule, one, 1, 3, 3 * 400 + budget * 100);
                walk(seed, (enum place_rule)rule, two, 2, 3, 3 * 400 + budget * 100);
            }
}

/* Three nodes' worth in four: three whole ones are shown, and what is taken of one comes off. */
Test(racks, a_rack_shows_as_much_as_it_has_power_for)
{
    static const uint32_t leaf[] = {4};
    struct site s;
    struct parts p = {0};
    site_init(&s, PLACE_BEST_FIT, leaf, 1, 4, 4 * 400 + 12 * 100);
    cr_expect_eq(s.nodes.n_free, 12);
    cr_expect_eq(s.nodes.racks.n_withheld, 4);
    cr_expect_eq(nodes_fit(&s.nodes, &(struct shape){.gpus = 13, .kind = SHAPE_ANY}), GRANT_NEVER);
    cr_expect_eq(nodes_fit(&s.nodes, &(struct shape){.gpus = 12, .kind = SHAPE_WHOLE_NODES}),
                 GRANT_OK);
    cr_assert_eq(nodes_take(&s.nodes, &(struct shape){.gpus = 3, .kind = SHAPE_ONE_NODE}, &p),
                 HR_OK);
    const struct shape two = {.gpus = 8, .kind = SHAPE_WHOLE_NODES},
                       three = {.gpus = 12, .kind = SHAPE_WHOLE_NODES};
    cr_expect_eq(nodes_fit(&s.nodes, &two), GRANT_OK);
    cr_expect_eq(nodes_fit(&s.nodes, &three), GRANT_ROOM);
    cr_expect(racks_bind(&s.nodes, &three), "three whole nodes are idle");
    cr_expect_not(racks_bind(&s.nodes, &(struct shape){.gpus = 14, .kind = SHAPE_ANY}),
                  "only 13 are");
    vec_free(&p);
    site_fini(&s);
}

/* Groups begin racks of their own, each with its own power. */
Test(racks, groups_have_racks_of_their_own)
{
    static const struct node_group groups[] = {{.nodes = 3, .gpus_per_node = 4},
                                               {.nodes = 2, .gpus_per_node = 8}};
    static const struct node_power own[] = {{400, 800, 4}, {400, 2000, 8}};
    const struct rack_plan plan = {.power = own, .nodes = 2, .limit_w = 2400};
    struct arena arena;
    struct nodes ns;
    arena_init(&arena);
    cr_assert_eq(nodes_init(&ns, groups, 2, 1, &arena), HR_OK);
    cr_assert_eq(racks_init(&ns, &plan, groups, 2, &arena), HR_OK);
    cr_assert_eq(ns.racks.n, 3);
    cr_expect_eq(ns.racks.room[0], 8, "two at 800 W");
    cr_expect_eq(ns.racks.room[1], 4, "one alone");
    cr_expect_eq(ns.racks.room[2], 8, "(2400 - 800) / 200");
    cr_expect_eq(ns.n_free, 20);
    cr_expect(nodes_consistent(&ns));
    arena_fini(&arena);
}
