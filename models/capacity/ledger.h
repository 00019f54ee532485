/* The ledger: where every GPU-nanosecond went.
 *
 * At each instant each share of a GPU is in exactly one account (owner, state). An account holds
 * its present share count and its total in 128-bit share-nanoseconds; a move of shares between two
 * accounts is O(1). The sum over all accounts equals capacity times elapsed time as an integer
 * equality, at every instant (ledger_conserves). Utilization, allocation, goodput and cost are all
 * read from this one table.
 *
 * What is known only afterwards (time in checkpoints, work lost when a gang dies) is re-booked: the
 * share-nanoseconds of an interval move from one state to another of the same owner, in the totals
 * and in the timeline windows in which they were spent. Only the measured part [start, end) counts;
 * everything before and after is clipped away.
 *
 * Written through leases only (capacity/fleet.h). Definitions: models/README.md, "The ledger". */
#ifndef HEADROOM_MODELS_CAPACITY_LEDGER_H
#define HEADROOM_MODELS_CAPACITY_LEDGER_H

#include "sim/err.h"
#include "sim/int128.h"
#include "sim/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* code, name in results, what it means */
#define GPU_STATE_LIST(X)                                                                          \
    X(FREE, "free", "nobody holds it")                                                             \
    X(STRANDED, "stranded", "free, but no waiting request fits its shape")                         \
    X(HELD_IDLE, "held_idle", "allocated, doing nothing")                                          \
    X(LOADING, "loading", "cold start: image, weights, engine")                                    \
    X(SERVING, "serving", "serving requests")                                                      \
    X(TRAINING, "training", "training work that is kept")                                          \
    X(CHECKPOINTING, "checkpointing", "stalled by a save")                                         \
    X(RESTORING, "restoring", "restarting from a checkpoint")                                      \
    X(LOST, "lost", "work since the last save of a gang that died")                                \
    X(DRAINING, "draining", "grace, save on notice, teardown")                                     \
    X(SCRUBBING, "scrubbing", "memory wipe between owners")                                        \
    X(RECONFIGURING, "reconfiguring", "MIG layout change")                                         \
    X(FAILED, "failed", "broken, waiting for repair")                                              \
    X(MAINTENANCE, "maintenance", "taken out on purpose")                                          \
    X(ABSENT, "absent", "not supplied at present")

#define GPU_STATE_ENUM(code, name, doc) GPU_##code,
enum gpu_state { GPU_STATE_LIST(GPU_STATE_ENUM) GPU_STATES };
#undef GPU_STATE_ENUM

extern const char *const gpu_state_names[GPU_STATES];
extern const char *const gpu_state_docs[GPU_STATES];

/* Owner 0 is nobody; claimant i is owner i + 1. */
#define LEDGER_NOBODY 0u

struct ledger; /* opaque */

/* All shares start in (nobody, free) at time 0. window_ns: width of the timeline windows, counted
 * from start. NULL when memory is out. */
struct ledger *ledger_new(uint32_t n_owners, uint64_t shares, simtime_ns start, simtime_ns end,
                          simtime_ns window_ns);
void ledger_free(struct ledger *l); /* accepts NULL */

/* Moves shares at now (not before the last move). Moving more than an account holds is an assert.
 */
void ledger_move(struct ledger *l, simtime_ns now, uint32_t from_owner, enum gpu_state from,
                 uint32_t to_owner, enum gpu_state to, uint64_t shares);

/* Re-books shares * (t1 - t0) from one state to another of one owner; the time must have been
 * booked in from. Requires t1 <= the time up to which ledger_settle or moves of that account have
 * gone. */
void ledger_rebook(struct ledger *l, uint32_t owner, enum gpu_state from, enum gpu_state to,
                   uint64_t shares, simtime_ns t0, simtime_ns t1);

/* Books every account up to now. */
void ledger_settle(struct ledger *l, simtime_ns now);

uint64_t ledger_shares(const struct ledger *l, uint32_t owner, enum gpu_state s); /* at present */
u128 ledger_total(const struct ledger *l, uint32_t owner, enum gpu_state s);

/* Sum of all accounts == capacity * measured time so far, after settling at now; present shares
 * too. */
bool ledger_conserves(struct ledger *l, simtime_ns now);

/* Timeline: share-ns in window w of an account; n windows. */
size_t ledger_windows(const struct ledger *l);
uint64_t ledger_window(const struct ledger *l, size_t w, uint32_t owner, enum gpu_state s);

#endif
