/* A continuous-batching replica: iteration-exact, event-sparse.
 *
 * Between events the number of running requests n is constant and the context grows by n each step,
 * so k decode steps take k A + c n k (k - 1) / 2 (step_time.h): the boundary at which an arrival
 * joins, a request finishes or the KV cache overflows follows in closed form and only that boundary
 * is an event. Every request gets the very times that stepping one iteration at a time gives, at 3
 * to 4 events a request (tests/models/replica_reference.c is that plain stepper).
 *
 * Rules (../../models/README.md has them in full):
 *  - Boundaries are (ns, ps 0..999); an event fires at that time rounded up to a nanosecond,
 *    and reported times are the rounded ones.
 *  - A request joins at the first boundary strictly later than its submit. An idle replica
 *    starts at the submit, with that request alone: others of the same nanosecond join at the
 *    next boundary. Whether a submit at the rounded-up time of a boundary comes before or after
 *    replica_advance makes no difference.
 *  - Prefill priority: a prefill step runs alone, the running requests wait. Prompts of one
 *    step: first come, up to max_batched_tokens, at least one.
 *  - Chunked: a step carries all decoding requests and up to max_batched_tokens - n prompt
 *    tokens, the oldest admission first. n and C of its time are of the decoding requests; what
 *    a partly done prompt has behind it is in its squares. Only a prompt that gets a token in
 *    the step is admitted.
 *  - The step that completes a prompt emits the first token; output o takes o - 1 decode steps
 *    more. A recompute of prompt + generated emits the next token; it is no first token.
 *  - KV use counts tokens: prompt + generated of a decoding request; prompt + generated + 1 of
 *    an admitted one, from admission until its prompt is complete. Admitted requests count in
 *    max_num_seqs and in the n below from then on.
 *  - The head of the queue is admitted if n < max_num_seqs and KV + prompt (+ generated) + 1 +
 *    (n + 1) <= capacity, and always when n = 0 (prompt + output is at most the capacity);
 *    never at a boundary that evicted. No request overtakes the head.
 *  - Before a decode step that would overflow, the latest-arrived request that holds KV,
 *    decoding or in the middle of its prompt, goes back to the head of the queue; it recomputes
 *    prompt + generated from nothing.
 *  - At one boundary running requests that finish are reported first, then the completed
 *    prompts, each in the order of admission.
 *
 * Limits (replica_valid): a, d, floor at most 1000 s; b, e 1 s; c 1 ms; f 1 ms; 1e9 tokens of KV;
 * 1e6 sequences. A boundary beyond the clock (584 years) never comes.
 *
 * A replica knows nothing of the engine: its owner asks when it wants to be called and calls it
 * then. It may call at every boundary (replica_next, replica_advance); or, when only the ends of
 * requests matter to it at once, at the times of replica_due alone, the boundaries before them
 * being made up for then and before a submit (replica_run_to). All memory is the replica's own and
 * grows with what is in it. */
#ifndef HEADROOM_MODELS_SERVING_REPLICA_H
#define HEADROOM_MODELS_SERVING_REPLICA_H

#include "models/serving/step_time.h"
#include "sim/err.h"
#include "sim/int128.h"
#include "sim/time.h"

#include <stdbool.h>
#include <stddef.h>

enum prefill_mode { PREFILL_PRIORITY, PREFILL_CHUNKED };

struct replica_config {
    struct step_time step;
    enum prefill_mode prefill;
    uint32_t max_num_seqs;       /* >= 1 */
    uint32_t max_batched_tokens; /* >= 1 */
    uint64_t kv_capacity_tokens; /* of the whole replica */
};

/* A request as the replica sees it. Requests that return from an evicted, drained or failed replica
 * carry what they had generated and when their first token was emitted. */
struct replica_request {
    simtime_ns arrival_ns; /* at the router; decides who is evicted (latest, then highest id) */
    uint32_t id;           /* the owner's handle, handed back in callbacks; unique in the replica */
    uint32_t prompt_tokens, output_tokens;
    uint32_t generated_tokens; /* 0 for a new request; less than output_tokens */
    simtime_ns first_token_ns; /* kept as it is when generated_tokens > 0, else set when emitted */
};

/* What happened, called from replica_advance in time order; at is the rounded-up boundary. Calls
 * back into the same replica are not allowed. */
struct replica_events {
    void *self;
    void (*first_token)(void *self, uint32_t id, simtime_ns at); /* may be NULL */
    /* The request as submitted, but for its first token; valid during the call. */
    void (*done)(void *self, const struct replica_request *request, simtime_ns at);
};

struct replica; /* opaque; its first cache line is what replica_next and replica_submit touch */

/* Within the limits above, at least one sequence and one token a step. */
bool replica_valid(const struct replica_config *config);

/* Keeps a reference to config, a valid one that its owner neither changes nor frees before the
 * replica; copies events. NULL when memory is out. */
struct replica *replica_new(const struct replica_config *config,
                            const struct replica_events *events);
void replica_free(struct replica *r); /* accepts NULL */

/* The same in the owner's memory, REPLICA_BYTES aligned to 64: what it does not hold is allocated.
 */
#define REPLICA_BYTES 192

/* Asks the caches for what a submit or the next boundary will touch beside the replica itself. */
void replica_prefetch(const struct replica *r);

struct replica *replica_init(void *memory, const struct replica_config *config,
                             const struct replica_events *events);
void replica_fini(struct replica *r);

/* True when the request can ever run: prompt + output <= KV capacity. The owner refuses others
 * (too_long) before submitting. */
bool replica_fits(const struct replica_config *config, uint32_t prompt, uint32_t output);

/* Queues a request at time now (not before the last call). On an error (HR_NOMEM; HR_LIMIT at 2^31
 * requests) the replica is unchanged. */
enum hr_err replica_submit(struct replica *r, const struct replica_request *request,
                           simtime_ns now);

/* When replica_advance must be called next: SIM_NEVER when idle. Changes after submit and advance.
 */
simtime_ns replica_next(const struct replica *r);

/* Processes the boundary at replica_next(r), which must be now. Needs no memory: always HR_OK. */
enum hr_err replica_advance(struct replica *r, simtime_ns now);

/* Processes every boundary before t. */
void replica_run_to(struct replica *r, simtime_ns t);

/* Another config of the same array, which differs in its step times alone: from the next boundary
 * later than now on; at once when idle. Every boundary up to now has been processed. */
void replica_change(struct replica *r, const struct replica_config *config, simtime_ns now);

/* A time before which no request is done, later than every boundary already processed: the next
 * request's end while nothing stands in its way, else not long before it. SIM_NEVER when idle. It
 * holds as long as nothing is submitted, and is found anew at it. */
simtime_ns replica_due(const struct replica *r);

/* The same right after a submit, due being what held before it; quicker. Boundaries before the
 * submit must have been processed. */
simtime_ns replica_due_submitted(const struct replica *r, simtime_ns due);

/* Takes every request out, in arrival order, appending to out (room for replica_count entries): for
 * drain limits and failures. Boundaries before now are processed first. Tokens emitted at
 * boundaries up to now count as generated; a boundary due at now that replica_advance has not been
 * called for has not happened. The replica is idle and empty afterwards. */
size_t replica_take_all(struct replica *r, simtime_ns now, struct replica_request *out);

uint32_t replica_count(const struct replica *r);   /* queued and running */
uint32_t replica_running(const struct replica *r); /* running: holding KV */
uint64_t replica_evictions(const struct replica *r);

/* Integral of running requests over decode and prefill time, in request-ns, and busy ns, up to now,
 * the boundaries before which have been processed: mean batch = integral / busy (batch_fill = that
 * / max_num_seqs). */
void replica_batch(const struct replica *r, simtime_ns now, u128 *request_ns, uint64_t *busy_ns);

#endif
