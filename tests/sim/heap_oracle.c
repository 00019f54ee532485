/* Sift up, sift down. */
#include "heap_oracle.h"

#include "sim/int128.h"
#include "sim/vec.h"

#include <stdlib.h>

static inline bool before(struct heap_key a, struct heap_key b)
{
    return ((u128)a.time << 64 | a.tag) < ((u128)b.time << 64 | b.tag);
}

/* The smaller of two children, by arithmetic instead of a branch that is wrong half the time. */
static inline size_t smaller(const struct heap_key *items, size_t a, size_t b)
{
    return a + (b - a) * before(items[b], items[a]);
}

bool heap_oracle_push(struct heap_oracle *h, struct heap_key key)
{
    if (!vec_reserve(h, h->n + 1))
        return false;
    size_t i = h->n++;
    while (i > 0 && before(key, h->items[(i - 1) / 4])) {
        h->items[i] = h->items[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    h->items[i] = key;
    return true;
}

struct heap_key heap_oracle_pop(struct heap_oracle *h)
{
    struct heap_key *items = h->items, first = items[0], moved = items[--h->n];
    size_t i = 0, n = h->n;
    for (;;) {
        size_t c = 4 * i + 1, best;
        if (c + 3 < n) {
            best = smaller(items, smaller(items, c, c + 1), smaller(items, c + 2, c + 3));
        } else {
            best = c;
            for (size_t k = c + 1; k < n; k++)
                best = smaller(items, best, k);
        }
        if (best >= n || !before(items[best], moved))
            break;
        items[i] = items[best];
        i = best;
    }
    items[i] = moved;
    return first;
}

void heap_oracle_fini(struct heap_oracle *h)
{
    vec_free(h);
}
