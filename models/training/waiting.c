/* Waiting gangs in order: a sorted list in blocks. */
#include "models/training/waiting.h"

#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void waiting_fini(struct waiting *w)
{
    for (size_t i = 0; i < w->n_blocks; i++)
        free(w->blocks[i]);
    free(w->blocks);
    *w = (struct waiting){0};
}

static bool before(const struct waiting_item *a, uint64_t rank, uint64_t number)
{
    return a->rank != rank ? a->rank < rank : a->number < number;
}

/* The first block whose last item is not before the key; the last block where there is none. */
static size_t block_of(const struct waiting *w, uint64_t rank, uint64_t number)
{
    size_t low = 0, high = w->n_blocks - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct waiting_block *b = w->blocks[middle];
        if (before(&b->items[b->n - 1], rank, number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t place_in(const struct waiting_block *b, uint64_t rank, uint64_t number)
{
    size_t low = 0, high = b->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (before(&b->items[middle], rank, number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool block_add(struct waiting *w, size_t at)
{
    if (w->n_blocks == w->capacity) {
        size_t capacity = w->capacity ? 2 * w->capacity : 16;
        struct waiting_block **blocks = realloc(w->blocks, capacity * sizeof(*blocks));
        if (!blocks)
            return false;
        w->blocks = blocks;
        w->capacity = capacity;
    }
    struct waiting_block *b = malloc(sizeof *b);
    if (!b)
        return false;
    b->n = 0;
    memmove(&w->blocks[at + 1], &w->blocks[at], (w->n_blocks - at) * sizeof(*w->blocks));
    w->blocks[at] = b;
    w->n_blocks++;
    return true;
}

/* Makes room in a full block: a new one behind it takes its upper half, or nothing when the new
 * item comes last of all, so that a list filled in order has full blocks. */
static bool split(struct waiting *w, size_t at, bool at_end)
{
    if (!block_add(w, at + 1))
        return false;
    struct waiting_block *b = w->blocks[at], *next = w->blocks[at + 1];
    size_t keep = at_end ? b->n : b->n / 2;
    next->n = b->n - keep;
    memcpy(next->items, &b->items[keep], next->n * sizeof *b->items);
    b->n = keep;
    return true;
}

bool waiting_insert(struct waiting *w, const struct waiting_item *item)
{
    if (w->n_blocks == 0 && !block_add(w, 0))
        return false;
    size_t at = block_of(w, item->rank, item->number);
    struct waiting_block *b = w->blocks[at];
    size_t i = place_in(b, item->rank, item->number);
    if (b->n == WAITING_BLOCK) {
        if (!split(w, at, at + 1 == w->n_blocks && i == b->n))
            return false;
        if (i >= b->n) {
            i -= b->n;
            b = w->blocks[at + 1];
        }
    }
    assert(i == b->n || b->items[i].rank != item->rank || b->items[i].number != item->number);
    memmove(&b->items[i + 1], &b->items[i], (b->n - i) * sizeof *b->items);
    b->items[i] = *item;
    b->n++;
    w->n++;
    return true;
}

void waiting_remove(struct waiting *w, struct waiting_place *at)
{
    const struct waiting_item *item = waiting_at(w, at);
    assert(item);
    (void)item;
    struct waiting_block *b = w->blocks[at->block];
    b->n--;
    memmove(&b->items[at->item], &b->items[at->item + 1], (b->n - at->item) * sizeof *b->items);
    w->n--;
    if (b->n > 0)
        return;
    free(b);
    w->n_blocks--;
    memmove(&w->blocks[at->block], &w->blocks[at->block + 1],
            (w->n_blocks - at->block) * sizeof(*w->blocks));
    at->item = 0;
}
