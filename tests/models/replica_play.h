/* Plays one workload on the replica, called at every boundary; on a second one, called only when it
 * is due; and on the one-iteration-at-a-time reference. Compares everything they say: each first
 * token, each finish, each request taken out, in order and to the nanosecond; evictions; the batch
 * integral. The second must be called whenever a request is done, or it says so too late. */
#ifndef HEADROOM_TESTS_MODELS_REPLICA_PLAY_H
#define HEADROOM_TESTS_MODELS_REPLICA_PLAY_H

#include "replica_reference.h"

#define PLAY_MAX_TAKES 4

struct workload {
    struct replica_config config;
    const struct replica_request *requests; /* by arrival; ids 0..n-1 */
    size_t n;
    simtime_ns takes[PLAY_MAX_TAKES]; /* ascending: take everything out, give it back later */
    size_t n_takes;
    simtime_ns take_delay_ns;
    bool submit_first; /* at equal times submit before the boundary is processed */
};

struct play_result {
    bool equal;
    char difference[256]; /* the first one found */
    struct ref_counts counts;
    uint64_t n_events; /* boundaries of the event-sparse replica */
    uint64_t n_due;    /* calls of the one that is called when due */
    uint64_t n_taken, n_taken_generated;
    simtime_ns end_ns;
};

struct play_result play_compare(const struct workload *w);

#endif
