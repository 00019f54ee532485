/* Placement alone: node-shares placed and later released in a millisecond on 10,000 nodes of 8 GPUs
 * in 313 leaf groups, half full. Starts of one GPU to eight nodes; as many come as go, the oldest
 * first. A gang counts its nodes. */
#include "models/capacity/placement_internal.h"
#include "sim/rng.h"
#include "sim/vec.h"
#include "timing.h"

#include <stdlib.h>

enum { NODES = 10000, LEAVES = 313, PER_LEAF = 32, STEPS = 400000, ROUNDS = 7, RING = 1 << 16 };

struct bed {
    struct arena arena;
    struct nodes nodes;
    struct rng rng;
    struct parts ring[RING]; /* leases, the oldest at from */
    uint32_t from, to;
    uint64_t shares; /* placed */
};

static void fail(const char *what)
{
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static void bed_init(struct bed *b, enum place_rule rule)
{
    uint32_t leaf_nodes[LEAVES];
    for (uint32_t l = 0; l < LEAVES; l++)
        leaf_nodes[l] = l + 1 < LEAVES ? PER_LEAF : NODES - (LEAVES - 1) * PER_LEAF;
    const struct fabric fabric = {.leaf_nodes = leaf_nodes, .n_leaves = LEAVES};
    const struct node_group group = {.nodes = NODES, .gpus_per_node = 8};
    arena_init(&b->arena);
    rng_init(&b->rng, 1, 0, "bench", "placement");
    if (nodes_init(&b->nodes, &group, 1, 1, &b->arena) != HR_OK ||
        nodes_arrange(&b->nodes, rule, &fabric, &b->arena) != HR_OK)
        fail("nodes_init");
}

static void bed_fini(struct bed *b)
{
    for (uint32_t i = 0; i < RING; i++)
        vec_free(&b->ring[i]);
    arena_fini(&b->arena);
}

static void release(struct bed *b)
{
    struct parts *parts = &b->ring[b->from++ % RING];
    for (size_t i = 0; i < parts->n; i++)
        nodes_give(&b->nodes, parts->items[i].node, parts->items[i].mask);
    parts->n = 0;
}

static void place(struct bed *b)
{
    static const uint32_t sizes[] = {1, 1, 2, 4, 4, 8, 8, 16, 32, 64};
    const struct shape shape = {.gpus = sizes[rng_below(&b->rng, sizeof sizes / sizeof *sizes)],
                                .kind = SHAPE_PREFER_WHOLE};
    if (nodes_fit(&b->nodes, &shape) != GRANT_OK)
        return;
    struct parts *parts = &b->ring[b->to++ % RING];
    if (nodes_take(&b->nodes, &shape, parts) != HR_OK)
        fail("nodes_take");
    b->shares += parts->n;
}

/* Node-shares placed and released in a millisecond of CPU time. */
static double round_of(struct bed *b)
{
    uint64_t before = b->shares;
    double start = timing_cpu_s();
    for (int i = 0; i < STEPS; i++) {
        place(b);
        while (b->nodes.n_free < b->nodes.n_gpus / 2)
            release(b);
    }
    return (double)(b->shares - before) / (timing_cpu_s() - start) / 1e3;
}

static double rate(enum place_rule rule)
{
    struct bed *b = calloc(1, sizeof *b);
    double rates[ROUNDS];
    if (!b)
        fail("calloc");
    bed_init(b, rule);
    round_of(b); /* fills it */
    for (int i = 0; i < ROUNDS; i++)
        rates[i] = round_of(b);
    bed_fini(b);
    free(b);
    return timing_median(rates, ROUNDS);
}

int main(void)
{
    timing_print("placement_best_fit", rate(PLACE_BEST_FIT), "shares/ms");
    timing_print("placement_topology", rate(PLACE_TOPOLOGY), "shares/ms");
    return 0;
}
