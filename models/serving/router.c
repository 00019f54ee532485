/* Router: the lowest-numbered replica with fewest requests, in a minimum tree of fan-out 16.
 *
 * Level 0 holds one count per replica number, UINT32_MAX where the replica is not eligible; entry i
 * of level k + 1 is the minimum of entries 16 i .. 16 i + 15 of level k; the last level has one
 * entry. Sixteen counts are one cache line, and 10,000 replicas take 43 KB in four levels.
 *
 *   update   climbs while the minimum above changes. A node is scanned only when its own minimum
 *            went up, and the scan ends at once where another replica has the same count.
 *   pick     descends to the first entry that equals the minimum: the lowest number.
 *
 * Nothing is allocated after router_add, and counts may be any size. Random routing keeps a dense
 * list of eligible replicas beside the tree, which then serves scale-down only. */
#include "models/serving/router.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FANOUT_BITS 4
#define FANOUT      (1u << FANOUT_BITS)
#define MAX_LEVELS  9 /* 16^8 = 2^32 */
#define ABSENT      UINT32_MAX

const char *const router_kind_names[ROUTER_KINDS] = {"least_outstanding", "shared_queue", "random"};

struct router {
    enum router_kind kind;
    uint32_t limit;
    uint32_t n_levels;           /* 0: no room yet */
    uint32_t capacity;           /* replica numbers there is room for */
    uint32_t n_eligible;         /* replicas in the tree */
    uint32_t *level[MAX_LEVELS]; /* all inside one block, owned through level[0] */
    uint32_t *eligible, *place;  /* random only, owned: the list, and where a number stands in it */
    struct rng stream;           /* random only */
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
    free(r->level[0]);
    free(r->eligible);
    free(r->place);
    free(r);
}

static uint32_t node_min(const uint32_t *node)
{
    uint32_t min = node[0];
    for (uint32_t i = 1; i < FANOUT; i++)
        min = node[i] < min ? node[i] : min;
    return min;
}

/* Room for a minimum tree over capacity counts, all absent. */
static bool tree_alloc(uint32_t *level[MAX_LEVELS], uint32_t *n_levels, size_t capacity)
{
    size_t size[MAX_LEVELS], total = 0;
    uint32_t n = 0;
    for (size_t entries = capacity;; entries = (entries + FANOUT - 1) / FANOUT) {
        size[n] = (entries + FANOUT - 1) / FANOUT * FANOUT;
        total += size[n++];
        if (entries == 1)
            break;
    }
    uint32_t *block = aligned_alloc(FANOUT * sizeof *block, total * sizeof *block);
    if (block == NULL)
        return false;
    memset(block, 0xff, total * sizeof *block); /* ABSENT */
    for (uint32_t k = 0; k < n; block += size[k++])
        level[k] = block;
    *n_levels = n;
    return true;
}

/* Grows the tree and the list so that replica has a place; unchanged when memory is out. */
static enum hr_err router_reserve(struct router *r, uint32_t replica)
{
    if (replica < r->capacity)
        return HR_OK;
    uint64_t capacity = r->capacity < FANOUT ? FANOUT : r->capacity;
    while (capacity <= replica)
        capacity *= 2;
    if (capacity > (uint64_t)1 << 31)
        return HR_LIMIT;
    if (r->kind == ROUTER_RANDOM) {
        uint32_t *eligible = realloc(r->eligible, capacity * sizeof *eligible);
        if (eligible == NULL)
            return HR_NOMEM;
        r->eligible = eligible;
        uint32_t *place = realloc(r->place, capacity * sizeof *place);
        if (place == NULL)
            return HR_NOMEM;
        r->place = place;
    }
    uint32_t *level[MAX_LEVELS], n_levels;
    if (!tree_alloc(level, &n_levels, capacity))
        return HR_NOMEM;
    if (r->n_levels > 0)
        memcpy(level[0], r->level[0], r->capacity * sizeof *level[0]);
    for (uint32_t k = 1; k < n_levels; k++)
        for (size_t i = 0; i << (FANOUT_BITS * k) < capacity; i++)
            level[k][i] = node_min(&level[k - 1][i * FANOUT]);
    free(r->level[0]);
    memcpy(r->level, level, sizeof level);
    r->n_levels = n_levels;
    r->capacity = (uint32_t)capacity;
    return HR_OK;
}

/* Sets a count and repairs the minima above it. */
static void tree_set(struct router *r, uint32_t replica, uint32_t count)
{
    uint32_t was = r->level[0][replica], i = replica;
    r->level[0][replica] = count;
    for (uint32_t k = 1; k < r->n_levels; k++) {
        const uint32_t *node = &r->level[k - 1][i & ~(FANOUT - 1)];
        i >>= FANOUT_BITS;
        uint32_t *min = &r->level[k][i], old = *min;
        if (count > old) {
            if (was != old)
                return;
            count = node_min(node);
        }
        if (count == old)
            return;
        *min = count;
        was = old;
    }
}

enum hr_err router_add(struct router *r, uint32_t replica, uint32_t count)
{
    assert(count < ABSENT);
    TRY(router_reserve(r, replica));
    assert(r->level[0][replica] == ABSENT);
    if (r->kind == ROUTER_RANDOM) {
        r->place[replica] = r->n_eligible;
        r->eligible[r->n_eligible] = replica;
    }
    r->n_eligible++;
    tree_set(r, replica, count);
    return HR_OK;
}

void router_remove(struct router *r, uint32_t replica)
{
    assert(replica < r->capacity && r->level[0][replica] != ABSENT);
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
    assert(replica < r->capacity && r->level[0][replica] != ABSENT && count < ABSENT);
    tree_set(r, replica, count);
}

static uint32_t fewest(const struct router *r)
{
    return r->n_levels == 0 ? ABSENT : r->level[r->n_levels - 1][0];
}

uint32_t router_pick(struct router *r)
{
    if (r->n_eligible == 0)
        return ROUTER_NONE;
    if (r->kind == ROUTER_RANDOM)
        return r->eligible[rng_below(&r->stream, r->n_eligible)];
    uint32_t min = fewest(r), i = 0;
    if (r->kind == ROUTER_SHARED_QUEUE && min >= r->limit)
        return ROUTER_NONE;
    for (uint32_t k = r->n_levels - 1; k-- > 0;) {
        i <<= FANOUT_BITS;
        while (r->level[k][i] != min)
            i++;
    }
    return i;
}

uint32_t router_least_highest(const struct router *r)
{
    if (r->n_eligible == 0)
        return ROUTER_NONE;
    uint32_t min = fewest(r), i = 0;
    for (uint32_t k = r->n_levels - 1; k-- > 0;) {
        i = (i << FANOUT_BITS) + FANOUT - 1;
        while (r->level[k][i] != min)
            i--;
    }
    return i;
}

uint32_t router_eligible(const struct router *r)
{
    return r->n_eligible;
}
