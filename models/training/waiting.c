/* Waiting gangs in order: a sorted ring that shifts its shorter side. */
#include "models/training/waiting.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

void waiting_fini(struct waiting *w)
{
    free(w->ring);
    *w = (struct waiting){0};
}

static struct waiting_item *item(struct waiting *w, size_t place)
{
    return &w->ring[(w->head + place) & (w->capacity - 1)];
}

static bool grow(struct waiting *w)
{
    size_t capacity = w->capacity ? w->capacity * 2 : FIRST_CAPACITY;
    struct waiting_item *ring = malloc(capacity * sizeof *ring);
    if (!ring)
        return false;
    for (size_t i = 0; i < w->n; i++)
        ring[i] = *item(w, i);
    free(w->ring);
    *w = (struct waiting){ring, capacity, 0, w->n};
    return true;
}

static size_t lower_bound(struct waiting *w, uint64_t number)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (item(w, middle)->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool waiting_insert(struct waiting *w, uint64_t number, uint32_t gang)
{
    if (w->n == w->capacity && !grow(w))
        return false;
    bool last = w->n == 0 || item(w, w->n - 1)->number < number;
    size_t at = last ? w->n : lower_bound(w, number);
    assert(last || item(w, at)->number != number);
    w->n++;
    if (at < w->n / 2) {
        w->head = (w->head - 1) & (w->capacity - 1);
        for (size_t i = 0; i < at; i++)
            *item(w, i) = *item(w, i + 1);
    } else {
        for (size_t i = w->n - 1; i > at; i--)
            *item(w, i) = *item(w, i - 1);
    }
    *item(w, at) = (struct waiting_item){number, gang};
    return true;
}

void waiting_remove(struct waiting *w, size_t place)
{
    assert(place < w->n);
    if (place < w->n / 2) {
        for (size_t i = place; i > 0; i--)
            *item(w, i) = *item(w, i - 1);
        w->head = (w->head + 1) & (w->capacity - 1);
    } else {
        for (size_t i = place; i + 1 < w->n; i++)
            *item(w, i) = *item(w, i + 1);
    }
    w->n--;
}
