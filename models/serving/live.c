/* Free list and ring buffer of the requests inside a service. */
#include "models/serving/live.h"

#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>

void live_fini(struct live_table *t)
{
    vec_free(t);
    vec_free(&t->free);
}

uint32_t live_grow(struct live_table *t)
{
    if (t->n >= LIVE_NONE || !vec_reserve(&t->free, t->n + 1) ||
        !vec_push(t, (struct live){.retries = 0}))
        return LIVE_NONE;
    return (uint32_t)(t->n - 1);
}

void live_queue_fini(struct live_queue *q)
{
    free(q->items);
    *q = (struct live_queue){0};
}

static enum hr_err queue_room(struct live_queue *q)
{
    if (q->n < q->capacity)
        return HR_OK;
    uint32_t grown = q->capacity ? q->capacity * 2 : 64;
    uint32_t *items = grown > q->capacity ? calloc(grown, sizeof *items) : NULL;
    if (!items)
        return HR_NOMEM;
    for (uint32_t i = 0; i < q->n; i++)
        items[i] = live_queue_at(q, i);
    free(q->items);
    q->items = items;
    q->head = 0;
    q->capacity = grown;
    return HR_OK;
}

enum hr_err live_queue_push(struct live_queue *q, uint32_t id)
{
    TRY(queue_room(q));
    q->items[(q->head + q->n++) & (q->capacity - 1)] = id;
    return HR_OK;
}

enum hr_err live_queue_push_head(struct live_queue *q, uint32_t id)
{
    TRY(queue_room(q));
    q->head = (q->head - 1) & (q->capacity - 1);
    q->items[q->head] = id;
    q->n++;
    return HR_OK;
}

uint32_t live_queue_pop(struct live_queue *q)
{
    if (q->n == 0)
        return LIVE_NONE;
    uint32_t id = q->items[q->head];
    q->head = (q->head + 1) & (q->capacity - 1);
    q->n--;
    return id;
}

uint32_t live_queue_peek(const struct live_queue *q)
{
    return q->n ? q->items[q->head] : LIVE_NONE;
}

uint32_t live_queue_at(const struct live_queue *q, uint32_t i)
{
    assert(i < q->n);
    return q->items[(q->head + i) & (q->capacity - 1)];
}
