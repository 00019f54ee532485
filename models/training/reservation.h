/* The reservation of a blocked head: when enough GPUs will be free, and what is left then.
 *
 * Running gangs are kept sorted by the end that is expected of them. Walking the ends, the first
 * instant at which the free GPUs suffice is the head's reservation (the shadow time); the GPUs free
 * then beyond the head's need are extra: a gang that uses no more than these may run past it. The
 * reservation counts GPUs and does not choose them, and it foresees only the ends of the queue's
 * own gangs: what other claimants will give or take is not known. A gang that has outlived its
 * expectation is expected to end at once. Up to 1e4 running gangs. */
#ifndef HEADROOM_MODELS_TRAINING_RESERVATION_H
#define HEADROOM_MODELS_TRAINING_RESERVATION_H

#include "sim/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct expected_end {
    simtime_ns at;
    uint32_t gang, gpus;
};

struct expected_ends {
    struct expected_end *items; /* owned; sorted by at, equals in no order */
    size_t n, capacity;
};

void expected_ends_fini(struct expected_ends *e); /* accepts a zeroed struct */
bool expected_ends_add(struct expected_ends *e, struct expected_end end); /* false: no memory */
void expected_ends_remove(struct expected_ends *e, simtime_ns at, uint32_t gang);

struct reservation {
    simtime_ns at;  /* SIM_NEVER: the ends of the own gangs do not suffice */
    uint64_t extra; /* GPUs free at that time beyond the need */
};

/* Of a head that needs so many GPUs and does not start now, with so many free now and soon (after
 * teardown and scrub). Where the count would do already (they are wrongly placed) the head waits
 * for the next end. */
struct reservation reservation_make(const struct expected_ends *e, simtime_ns now, uint64_t free,
                                    uint64_t soon, uint64_t need);

/* Free GPUs over time, as the expected ends and what has been reserved leave them: steps, each
 * until the next, the last for ever. */
struct profile {
    simtime_ns *at; /* owned */
    int64_t *free;  /* owned; below 0 where an end came later than expected */
    size_t n, capacity;
    uint32_t pool; /* for the caller */
};

void profile_fini(struct profile *p); /* accepts a zeroed struct */

/* From now on, with room for so many takes. So many GPUs are free now, and soon right after. */
bool profile_make(struct profile *p, const struct expected_ends *e, simtime_ns now, uint64_t free,
                  uint64_t soon, size_t takes);

/* The earliest start from `from` on at which so many are free for so long; SIM_NEVER: none. */
simtime_ns profile_earliest(const struct profile *p, simtime_ns from, uint64_t gpus,
                            simtime_ns length);
void profile_take(struct profile *p, simtime_ns at, simtime_ns length, uint64_t gpus);

#endif
