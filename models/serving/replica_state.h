/* The state of a replica and where its requests are kept; private to replica*.c.
 *
 * A request sits in one entry from submit to done. Two orders refer to entries by index:
 *
 *     queue   list through next    [ batch | waiting ... late ]   front to back, first come
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
 * entries and order share one block of 48 bytes a request, whose capacity doubles when a submit
 * finds it full; nothing else allocates. Sizes seen: 20 to 60 requests in a replica at normal load,
 * 256 at saturation, any number behind it in overload. A replica is called about 3 times a request
 * and 10,000 share a cache, so what counts is how many cache lines an event touches: three of the
 * replica (queue; present run; sums), one or two entries, and the end of order. A sorted array
 * beats a heap here: half of the few lines it fills are moved by an insert, and a finish costs
 * nothing. */
#ifndef HEADROOM_MODELS_SERVING_REPLICA_STATE_H
#define HEADROOM_MODELS_SERVING_REPLICA_STATE_H

#include "models/serving/replica.h"
#include "models/serving/replica_clock.h"

#include <string.h>

#define ENTRY_NONE  UINT32_MAX
#define ORDER_BLOCK 8

enum phase {
    PHASE_IDLE,
    PHASE_DECODE, /* run_steps decode steps; the boundary that ends them is the event */
    PHASE_PREFILL /* one step with prompt tokens; run_steps is 1 if it carries the running, else 0
                   */
};

struct entry {
    struct replica_request request;
    uint32_t next; /* behind it in the queue, or in the list of free entries; ENTRY_NONE */
    uint32_t unused;
};

struct finish {
    uint32_t step;  /* steps_done at which it ends */
    uint32_t entry; /* index */
};

struct replica {
    simtime_ns next_ns;    /* when the present run or step ends, rounded up; SIM_NEVER when idle */
    struct entry *entries; /* 2^log2_capacity of them; order lies behind them */
    const struct replica_config *config; /* the owner's */
    simtime_ns late_ns;
    uint32_t n_late;
    uint32_t queue_front, queue_back; /* ENTRY_NONE when empty */
    uint32_t n_queue, n_batch, n_running;
    uint32_t free_entry; /* list; ENTRY_NONE when full */
    uint32_t batch_kv;   /* KV of the batch: prompt + generated + 1 each */

    struct decode_run run;
    simtime_ns at_ns; /* start of the present run or step */
    uint16_t at_ps, end_ps;
    uint8_t phase; /* enum phase */
    uint8_t log2_capacity;
    int16_t shift; /* the next boundary moves config by so many of the owner's array */
    struct finish first; /* copy of the last of order: what finishes next, without a look there */
    uint64_t kv_tokens;  /* of running and batch */
    uint32_t run_steps;  /* decode steps of the present run or step */
    uint32_t steps_done;
    uint32_t batch_done; /* prompt tokens done of the batch's front before this step */
    uint32_t batch_tail; /* of its back after this step; 0: complete */

    u128 request_ns; /* integral of running and batch up to at */
    uint64_t busy_ns;
    uint64_t n_evictions;
    uint64_t whole_kv; /* KV of all requests in it were each at its end: prompt + output */
    struct replica_events events;
};

/* The first block of a new replica; false when memory is out. */
bool replica_open(struct replica *r);

/* Doubles the room; on an error everything is as it was. */
enum hr_err replica_grow(struct replica *r);

/* Empties queue and order: every entry is free. */
void replica_clear(struct replica *r);

static inline struct boundary replica_at(const struct replica *r)
{
    return (struct boundary){r->at_ns, r->at_ps};
}

/* A decode step of the running requests. */
static inline uint64_t replica_decode_ps(const struct replica *r)
{
    const struct step_time *s = &r->config->step;
    return s->a_ps + s->b_ps * r->n_running + s->c_ps * (r->kv_tokens - r->batch_kv);
}

/* What a request must compute when it joins. */
static inline uint32_t prompt_of(const struct entry *e)
{
    return e->request.prompt_tokens + e->request.generated_tokens;
}

static inline uint32_t tokens_left(const struct entry *e)
{
    return e->request.output_tokens - e->request.generated_tokens;
}

static inline struct finish *replica_order(const struct replica *r)
{
    return (struct finish *)(void *)(r->entries + ((size_t)1 << r->log2_capacity));
}

static inline uint32_t entry_take(struct replica *r)
{
    uint32_t entry = r->free_entry;
    r->free_entry = r->entries[entry].next;
    return entry;
}

static inline void entry_free(struct replica *r, uint32_t entry)
{
    r->entries[entry].next = r->free_entry;
    r->free_entry = entry;
}

static inline void queue_push_back(struct replica *r, uint32_t entry)
{
    r->entries[entry].next = ENTRY_NONE;
    *(r->n_queue++ ? &r->entries[r->queue_back].next : &r->queue_front) = entry;
    r->queue_back = entry;
}

/* To the head of the waiting ones: behind the batch, which is at most one request between steps. */
static inline void queue_push_front(struct replica *r, uint32_t entry)
{
    uint32_t *link = r->n_batch ? &r->entries[r->queue_front].next : &r->queue_front;
    r->entries[entry].next = *link;
    *link = entry;
    if (r->n_queue++ == r->n_batch)
        r->queue_back = entry;
}

static inline uint32_t queue_pop(struct replica *r)
{
    const uint32_t entry = r->queue_front;
    r->queue_front = r->entries[entry].next;
    r->n_queue--;
    return entry;
}

/* Steps a running request still needs. */
static inline uint32_t order_left(const struct replica *r, struct finish f)
{
    return f.step - r->steps_done;
}

/* Puts a request with this many steps left behind all that need more and ahead of its equals, so
 * that equals finish in the order they came. Moves from the end, in blocks while whole blocks need
 * less. */
static inline void order_insert(struct replica *r, uint32_t entry, uint32_t left)
{
    struct finish *const order = replica_order(r);
    const struct finish f = {r->steps_done + left, entry};
    uint32_t i = r->n_running++;
    if (i == 0 || order_left(r, r->first) > left)
        r->first = f;
    while (i >= ORDER_BLOCK && order_left(r, order[i - ORDER_BLOCK]) <= left) {
        i -= ORDER_BLOCK;
        struct finish block[ORDER_BLOCK];
        memcpy(block, order + i, sizeof block);
        memcpy(order + i + 1, block, sizeof block);
    }
    for (; i > 0 && order_left(r, order[i - 1]) <= left; i--)
        order[i] = order[i - 1];
    order[i] = f;
}

static inline void order_remove(struct replica *r, uint32_t i)
{
    struct finish *const order = replica_order(r);
    r->n_running--;
    memmove(order + i, order + i + 1, (r->n_running - i) * sizeof *order);
    if (r->n_running)
        r->first = order[r->n_running - 1];
}

#endif
