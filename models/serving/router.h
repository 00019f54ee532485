/* Which replica takes a request.
 *
 * least-outstanding: the ready replica with fewest requests (queued and running), ties to the
 * lowest number; a pick is O(1), an update O(log n), 20 ns together at 10,000 replicas.
 * shared-queue: one queue for the service; a replica takes the head when it has fewer than
 * max_num_seqs requests (fewest first, lowest number). random: uniform over ready replicas. */
#ifndef HEADROOM_MODELS_SERVING_ROUTER_H
#define HEADROOM_MODELS_SERVING_ROUTER_H

#include "sim/err.h"
#include "sim/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum router_kind { ROUTER_LEAST_OUTSTANDING, ROUTER_SHARED_QUEUE, ROUTER_RANDOM, ROUTER_KINDS };
extern const char *const router_kind_names[ROUTER_KINDS];

#define ROUTER_NONE UINT32_MAX

struct router; /* opaque */

/* limit: most requests a replica holds under shared_queue (max_num_seqs); others ignore it. */
struct router *router_new(enum router_kind kind, uint32_t limit, const struct rng *stream);
void router_free(struct router *r);

/* Replica numbers are small and dense; adding makes it eligible with count requests in it. */
enum hr_err router_add(struct router *r, uint32_t replica, uint32_t count);
void router_remove(struct router *r, uint32_t replica);

/* The count of an eligible replica changed. */
void router_update(struct router *r, uint32_t replica, uint32_t count);

/* The replica for one request, or ROUTER_NONE: the request waits at the service. The caller then
 * submits it and calls router_update. */
uint32_t router_pick(struct router *r);

/* The replica that the next request will probably get, for prefetching: ROUTER_NONE when random or
 * when there is none. */
uint32_t router_next(const struct router *r);

/* For scale-down: the eligible replica with fewest requests, then the highest number. */
uint32_t router_least_highest(const struct router *r);
uint32_t router_eligible(const struct router *r);

#endif
