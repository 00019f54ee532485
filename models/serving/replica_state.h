/* The state of a replica and where its requests are kept; private to replica*.c.
 *
 * A request sits in one entry from submit to done. Two small orders refer to entries by index:
 *
 *     queue   ring of entries      [ batch | waiting ... late ]   front to back, first come
 *     order   array of running     [ last to finish ... next to finish ]
 *
 * batch: admitted, prompt not complete: it holds KV from admission. running: decoding. late: what
 * was submitted at the very time of the last submit, which may be the time of a boundary it must
 * not join yet. n_queue counts batch and waiting.
 *
 * Each decode step adds one to steps_done, so a running request finishes when steps_done reaches a
 * number fixed when it began to decode: nothing of a request changes between its events. These
 * numbers are compared as distances from steps_done, modulo 2^32. What a running request has
 * generated is output - (finish - steps_done), and its KV is prompt + generated.
 *
 * entries, order and queue share one block of 36 bytes a request, whose capacity doubles when a
 * submit finds it full; nothing else allocates. Sizes seen: 20 to 60 requests in a replica at
 * normal load, 256 at saturation, any number behind it in overload. A replica sees about 3 calls of
 * replica_advance a request, and 10,000 replicas share a cache: hence one line for what submit and
 * next read, one for the present run, and the sorted array, which touches less memory than a heap
 * of the same size and needs no work at a finish. */
#ifndef HEADROOM_MODELS_SERVING_REPLICA_STATE_H
#define HEADROOM_MODELS_SERVING_REPLICA_STATE_H

#include "models/serving/replica.h"
#include "models/serving/replica_clock.h"

#include <string.h>

#define ENTRY_NONE UINT32_MAX

enum phase {
    PHASE_IDLE,
    PHASE_DECODE,  /* run_steps decode steps; the boundary that ends them is the event */
    PHASE_PREFILL, /* one step of prompts alone */
    PHASE_MIXED    /* chunked: one step of all running requests and some prompt tokens */
};

struct finish {
    uint32_t step;  /* steps_done at which it ends */
    uint32_t entry; /* index */
};

struct replica {
    simtime_ns next_ns; /* when end fires; SIM_NEVER when idle */
    struct replica_request *entries;
    uint32_t *queue; /* capacity is a power of two, so is the ring */
    simtime_ns late_ns;
    uint32_t n_late;
    uint32_t queue_head, n_queue;
    uint32_t n_batch;
    uint32_t n_running;
    uint32_t capacity;
    uint32_t free_entry; /* list through id; ENTRY_NONE at its end */
    enum phase phase;

    struct boundary at;  /* start of the present run or step */
    struct boundary end; /* its end */
    struct decode_run run;
    uint64_t kv_tokens; /* of running and batch; a batch request counts with its first token */

    uint64_t context_tokens; /* of running alone: C */
    uint32_t run_steps;
    uint32_t steps_done;
    uint32_t batch_done; /* prompt tokens done of the batch's front before this step */
    uint32_t batch_tail; /* of its back after this step; 0: complete */
    struct finish *order;
    u128 request_ns; /* integral of running and batch up to since_ns */
    simtime_ns since_ns;
    uint64_t busy_ns;

    struct replica_config config; /* read only */
    struct replica_events events; /* read only */
    uint64_t n_events, n_evictions;
};

/* Doubles the room; HR_NOMEM leaves everything as it was. */
enum hr_err replica_grow(struct replica *r);

/* Empties queue and order: every entry is free. */
void replica_clear(struct replica *r);

static inline uint32_t entry_take(struct replica *r)
{
    uint32_t entry = r->free_entry;
    r->free_entry = r->entries[entry].id;
    return entry;
}

static inline void entry_free(struct replica *r, uint32_t entry)
{
    r->entries[entry].id = r->free_entry;
    r->free_entry = entry;
}

static inline uint32_t *queue_at(const struct replica *r, uint32_t i)
{
    return &r->queue[(r->queue_head + i) & (r->capacity - 1)];
}

static inline void queue_push_back(struct replica *r, uint32_t entry)
{
    *queue_at(r, r->n_queue++) = entry;
}

/* To the head of the waiting ones: behind the batch, which is at most one request between steps. */
static inline void queue_push_front(struct replica *r, uint32_t entry)
{
    r->queue_head--;
    r->n_queue++;
    for (uint32_t i = 0; i < r->n_batch; i++)
        *queue_at(r, i) = *queue_at(r, i + 1);
    *queue_at(r, r->n_batch) = entry;
}

/* Steps a running request still needs. */
static inline uint32_t order_left(const struct replica *r, struct finish f)
{
    return f.step - r->steps_done;
}

/* The index before which a request with this many steps left belongs: behind all that need more,
 * ahead of its equals, so that equals finish in the order they came. */
static inline uint32_t order_find(const struct replica *r, uint32_t left)
{
    const struct finish *base = r->order;
    uint32_t n = r->n_running;
    if (n == 0)
        return 0;
    while (n > 1) { /* without branches: they would be mispredicted half of the time */
        uint32_t half = n / 2;
        base += half * (order_left(r, base[half - 1]) > left);
        n -= half;
    }
    base += order_left(r, *base) > left;
    return (uint32_t)(base - r->order);
}

static inline void order_insert(struct replica *r, uint32_t entry, uint32_t left)
{
    uint32_t i = order_find(r, left);
    struct finish *place = r->order + i;
    memmove(place + 1, place, (r->n_running - i) * sizeof *place);
    *place = (struct finish){r->steps_done + left, entry};
    r->n_running++;
}

static inline void order_remove(struct replica *r, uint32_t i)
{
    struct finish *place = r->order + i;
    r->n_running--;
    memmove(place, place + 1, (r->n_running - i) * sizeof *place);
}

#endif
