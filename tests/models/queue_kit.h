/* A small world for the tests of the training queue: an engine, a ledger, a fleet of equal nodes,
 * one queue, and a taker, a claimant of higher priority that takes GPUs away at scripted times. The
 * ledger and the fleet are checked before each event. */
#ifndef HEADROOM_TESTS_MODELS_QUEUE_KIT_H
#define HEADROOM_TESTS_MODELS_QUEUE_KIT_H

#include "models/training/queue.h"
#include "models/training/storage.h"

/* At at_ns it wants so many GPUs; it keeps them for hold_ns once it has them. */
struct take {
    simtime_ns at_ns, hold_ns;
    uint32_t gpus;
};

struct world_plan {
    uint32_t nodes, gpus_per_node;
    struct reclaim_plan reclaim;
    const struct queue_plan *queue;
    const struct take *takes; /* sorted by time */
    size_t n_takes;
    uint64_t seed;
    uint32_t replication;
    simtime_ns start_ns, end_ns, window_ns;
    bool unchecked; /* no check before each event */
    enum place_rule place;
    struct fabric fabric;
    struct rack_plan racks;
    struct sharing_plan sharing; /* GPUs are then units in all that the world says */
    struct storage_plan storage;
};

struct world {
    const struct world_plan *plan;
    struct node_group group;
    struct engine *engine;
    struct ledger *ledger;
    struct fleet *fleet;
    struct pool pool; /* the two */
    struct training *training;
    struct storage *storage; /* NULL: none */
    struct {
        struct job_row *items;
        size_t n, capacity;
    } rows; /* in the order in which they became final */
    struct taker *taker;
    uint64_t changes; /* lease state changes seen */
};

/* A queue that may use the whole fleet, without checkpoints, saves, restarts or backfill. */
struct queue_plan world_queue(const struct job_trace *jobs, uint32_t gpus);

/* Fixed length in whole nanoseconds of a double's range. */
struct dist world_fixed(simtime_ns t);

/* Builds a world; it has not run yet. Any failure fails the test. */
void world_open(struct world *w, const struct world_plan *plan);

/* Runs to the end and finishes the queue: all rows are there. */
void world_run(struct world *w);
void world_close(struct world *w);

/* The final row of a recorded job by its number. */
const struct job_row *world_row(const struct world *w, uint64_t number);

/* Share-ns of the queue in a state. */
uint64_t world_total(const struct world *w, enum gpu_state s);

#endif
