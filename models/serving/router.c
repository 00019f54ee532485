/* Router: the replica with fewest requests, lowest number first, in a binary minimum tree.
 *
 * A leaf holds count << 32 | number, or UINT64_MAX where that number is not eligible; a node holds
 * the smaller of its two children, so the root names the replica to pick. Node i has the children
 * 2 i and 2 i + 1; replica number k is leaf capacity + k, capacity being a power of two.
 *
 * An update climbs to the root, always: which levels would change is a coin toss, and a wrong guess
 * by the processor costs more than the climb, whose loads do not wait for each other. Nothing is
 * allocated after router_add, and counts may be any size. Random routing keeps a dense list of
 * eligible replicas beside the tree, which then serves scale-down only. */
#include "models/serving/router.h"

#include <assert.h>
#include <stdlib.h>

#define ABSENT       UINT64_MAX
#define MIN_CAPACITY 16
#define MAX_CAPACITY (UINT32_C(1) << 30)

const char *const router_kind_names[ROUTER_KINDS] = {"least-outstanding", "shared-queue", "random"};

struct router {
    enum router_kind kind;
    uint32_t limit;
    uint32_t capacity; /* replica numbers there is room for: 0 or a power of two */
    uint32_t n_eligible;
    uint64_t *tree;             /* owned; [2 * capacity], entry 0 unused */
    uint32_t *eligible, *place; /* random, owned: the list, and where a number stands in it */
    struct rng stream;          /* random */
};

struct router *router_new(enum router_kind kind, uint32_t limit, const struct rng *stream)
{
    struct router *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->kind = kind;
    r->limit = limit;
    if (kind == ROUTER_RANDOM)
        r->stream = *stream;
    return r;
}

void router_free(struct router *r)
{
    if (r == NULL)
        return;
    free(r->tree);
    free(r->eligible);
    free(r->place);
    free(r);
}

static uint64_t key_of(uint32_t replica, uint32_t count)
{
    return (uint64_t)count << 32 | replica;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static enum hr_err list_reserve(struct router *r, uint32_t capacity)
{
    uint32_t *eligible = realloc(r->eligible, capacity * sizeof *eligible);
    if (eligible == NULL)
        return HR_NOMEM;
    r->eligible = eligible;
    uint32_t *place = realloc(r->place, capacity * sizeof *place);
    if (place == NULL)
        return HR_NOMEM;
    r->place = place;
    return HR_OK;
}

/* Makes room for a replica number; nothing has changed when it fails. */
static enum hr_err router_reserve(struct router *r, uint32_t replica)
{
    if (replica < r->capacity)
        return HR_OK;
    if (replica >= MAX_CAPACITY)
        return HR_LIMIT;
    uint32_t capacity = r->capacity ? r->capacity : MIN_CAPACITY;
    while (capacity <= replica)
        capacity *= 2;
    if (r->kind == ROUTER_RANDOM)
        TRY(list_reserve(r, capacity));
    uint64_t *tree = malloc(2 * (size_t)capacity * sizeof *tree);
    if (tree == NULL)
        return HR_NOMEM;
    for (uint32_t i = 0; i < capacity; i++)
        tree[capacity + i] = i < r->capacity ? r->tree[r->capacity + i] : ABSENT;
    for (uint32_t i = capacity - 1; i > 0; i--)
        tree[i] = lesser(tree[2 * i], tree[2 * i + 1]);
    free(r->tree);
    r->tree = tree;
    r->capacity = capacity;
    return HR_OK;
}

static void tree_set(struct router *r, uint32_t replica, uint64_t key)
{
    uint64_t *tree = r->tree;
    uint32_t i = r->capacity + replica;
    tree[i] = key;
    while (i > 1) {
        key = lesser(key, tree[i ^ 1]);
        i /= 2;
        tree[i] = key;
    }
}

static bool is_eligible(const struct router *r, uint32_t replica)
{
    return replica < r->capacity && r->tree[r->capacity + replica] != ABSENT;
}

enum hr_err router_add(struct router *r, uint32_t replica, uint32_t count)
{
    assert(!is_eligible(r, replica));
    TRY(router_reserve(r, replica));
    if (r->kind == ROUTER_RANDOM) {
        r->place[replica] = r->n_eligible;
        r->eligible[r->n_eligible] = replica;
    }
    r->n_eligible++;
    tree_set(r, replica, key_of(replica, count));
    return HR_OK;
}

void router_remove(struct router *r, uint32_t replica)
{
    assert(is_eligible(r, replica));
    r->n_eligible--;
    if (r->kind == ROUTER_RANDOM) {
        uint32_t last = r->eligible[r->n_eligible];
        r->eligible[r->place[replica]] = last;
        r->place[last] = r->place[replica];
    }
    tree_set(r, replica, ABSENT);
}

void router_update(struct router *r, uint32_t replica, uint32_t count)
{
    assert(is_eligible(r, replica));
    tree_set(r, replica, key_of(replica, count));
}

uint32_t router_pick(struct router *r)
{
    if (r->n_eligible == 0)
        return ROUTER_NONE;
    if (r->kind == ROUTER_RANDOM)
        return r->eligible[rng_below(&r->stream, r->n_eligible)];
    uint64_t first = r->tree[1];
    if (r->kind == ROUTER_SHARED_QUEUE && first >> 32 >= r->limit)
        return ROUTER_NONE;
    return (uint32_t)first;
}

uint32_t router_next(const struct router *r)
{
    return r->n_eligible == 0 || r->kind == ROUTER_RANDOM ? ROUTER_NONE : (uint32_t)r->tree[1];
}

uint32_t router_least_highest(const struct router *r)
{
    if (r->n_eligible == 0)
        return ROUTER_NONE;
    uint64_t fewest = r->tree[1] >> 32;
    uint32_t i = 1;
    while (i < r->capacity)
        i = 2 * i + (r->tree[2 * i + 1] >> 32 == fewest);
    return i - r->capacity;
}

uint32_t router_eligible(const struct router *r)
{
    return r->n_eligible;
}
