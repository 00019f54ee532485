/* Why gangs wait: classes and their time by reason. */
#include "models/training/why.h"

#include <stdlib.h>
#include <string.h>

#define NAME_ENTRY(code, name, doc) name,
const char *const block_names[BLOCKS] = {BLOCK_LIST(NAME_ENTRY)};
#undef NAME_ENTRY
#define DOC_ENTRY(code, name, doc) doc,
const char *const block_docs[BLOCKS] = {BLOCK_LIST(DOC_ENTRY)};
#undef DOC_ENTRY

void why_fini(struct why_table *w)
{
    free(w->items);
    free(w->order);
    free(w->sizes);
    *w = (struct why_table){0};
}

static bool grow(struct why_table *w)
{
    if (w->n < w->capacity)
        return true;
    size_t capacity = w->capacity ? 2 * w->capacity : 16;
    struct why_class *items = realloc(w->items, capacity * sizeof *items);
    if (items)
        w->items = items;
    uint32_t *order = realloc(w->order, capacity * sizeof *order);
    if (order)
        w->order = order;
    struct why_size *sizes = realloc(w->sizes, capacity * sizeof *sizes);
    if (sizes)
        w->sizes = sizes;
    if (!items || !order || !sizes)
        return false;
    w->capacity = capacity;
    return true;
}

static int compare(const struct why_class *c, uint32_t tenant, uint32_t share, uint32_t gpus)
{
    if (c->tenant != tenant)
        return c->tenant < tenant ? -1 : 1;
    if (c->share != share)
        return c->share < share ? -1 : 1;
    return c->gpus < gpus ? -1 : c->gpus > gpus;
}

/* The first place whose class does not come before. */
static size_t lower_bound(const struct why_table *w, uint32_t tenant, uint32_t share, uint32_t gpus)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&w->items[w->order[middle]], tenant, share, gpus) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t why_first(const struct why_table *w, uint32_t tenant)
{
    return lower_bound(w, tenant, 0, 0);
}

/* The number of a size; there is room for one more. */
static uint32_t size_of(struct why_table *w, uint32_t share, uint32_t gpus)
{
    uint32_t i = 0;
    while (i < w->n_sizes && (w->sizes[i].gpus != gpus || w->sizes[i].share != share))
        i++;
    if (i == w->n_sizes)
        w->sizes[w->n_sizes++] = (struct why_size){.share = share, .gpus = gpus};
    return i;
}

uint32_t why_class_of(struct why_table *w, uint32_t tenant, uint32_t share, uint32_t gpus)
{
    size_t low = lower_bound(w, tenant, share, gpus);
    if (low < w->n && compare(&w->items[w->order[low]], tenant, share, gpus) == 0)
        return w->order[low];
    if (!grow(w))
        return UINT32_MAX;
    uint32_t number = (uint32_t)w->n++;
    memmove(&w->order[low + 1], &w->order[low], (number - low) * sizeof *w->order);
    w->order[low] = number;
    w->items[number] = (struct why_class){
        .tenant = tenant, .share = share, .gpus = gpus, .size = size_of(w, share, gpus)};
    return number;
}

void why_set(struct why_class *c, enum block_reason reason, simtime_ns now)
{
    if (c->n > 0)
        c->total_ns[c->reason] += now - c->since_ns;
    c->since_ns = now;
    c->reason = reason;
}

void why_begin(struct why_table *w, uint32_t class, simtime_ns now, simtime_ns at[BLOCKS])
{
    struct why_class *c = &w->items[class];
    why_set(c, c->reason, now);
    w->fresh = w->fresh || c->n == 0;
    c->n++;
    w->sizes[c->size].n++;
    memcpy(at, c->total_ns, sizeof c->total_ns);
}

void why_end(struct why_table *w, uint32_t class, simtime_ns now, const simtime_ns at[BLOCKS],
             simtime_ns blocked[BLOCKS])
{
    struct why_class *c = &w->items[class];
    why_set(c, c->reason, now);
    c->n--;
    w->sizes[c->size].n--;
    for (int b = 0; b < BLOCKS; b++)
        blocked[b] += c->total_ns[b] - at[b];
}
