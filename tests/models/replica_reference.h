/* A continuous-batching replica that takes one iteration at a time: the slow and obvious reference
 * for models/serving/replica.h, whose rules it follows from their text alone.
 *
 * Time is one 128-bit count of picoseconds from zero. Every sum is taken afresh over all requests
 * at every step. It tells what it did (struct ref_counts), so that a test can show that a workload
 * reached the rule it was made for. */
#ifndef HEADROOM_TESTS_MODELS_REPLICA_REFERENCE_H
#define HEADROOM_TESTS_MODELS_REPLICA_REFERENCE_H

#include "models/serving/replica.h"

struct ref_counts {
    uint64_t steps, prompt_steps, mixed_steps;
    uint64_t partial_prompts; /* prompts cut by the token budget */
    uint64_t floor_steps;     /* prompt steps as long as the floor */
    uint64_t evictions;       /* of which: */
    uint64_t partial_evicted; /* in the middle of their prompt */
    uint64_t several_evicted; /* boundaries that evicted more than one */
    uint64_t blocked_seqs;    /* boundaries at which max_num_seqs kept the head of the queue out */
    uint64_t blocked_kv;      /* ... the KV cache did */
    uint64_t blocked_budget;  /* ... the batched tokens did */
    uint64_t admitted_alone;  /* let in only because nothing else held KV */
    uint64_t at_boundary;     /* requests that came exactly at a boundary */
    uint64_t idle_starts;
    uint64_t one_token; /* requests done at their prompt step */
    uint64_t together;  /* requests finished in one decode step beyond the first */
};

struct ref; /* opaque */

struct ref *ref_new(const struct replica_config *config, const struct replica_events *events);
void ref_free(struct ref *r);
void ref_submit(struct ref *r, const struct replica_request *request, simtime_ns now);

/* Takes every step that ends, rounded up, at or before t. */
void ref_run_to(struct ref *r, simtime_ns t);

/* When the present step ends, rounded up; SIM_NEVER when idle. */
simtime_ns ref_next(const struct ref *r);

/* After ref_run_to(now): everything in it, in arrival order. */
size_t ref_take_all(struct ref *r, simtime_ns now, struct replica_request *out);

size_t ref_count(const struct ref *r);
void ref_batch(const struct ref *r, simtime_ns now, u128 *request_ns, uint64_t *busy_ns);
const struct ref_counts *ref_counts(const struct ref *r);

#endif
