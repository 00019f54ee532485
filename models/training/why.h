/* Why gangs wait: the time of each wait, by what stood in its way.
 *
 * Gangs that wait are alike if they are of one tenant, one size and one per-node share. After each
 * scheduling pass each such class that somebody waits in has one reason, which holds until the next
 * pass; a class adds up its time by reason, and a gang takes the difference between the end and the
 * begin of its wait. So nothing is done per waiting gang, and the parts add up to the wait exactly.
 * Classes are few: tenants times sizes. */
#ifndef HEADROOM_MODELS_TRAINING_WHY_H
#define HEADROOM_MODELS_TRAINING_WHY_H

#include "models/capacity/fleet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* code, name in results, what it means */
#define BLOCK_LIST(X)                                                                              \
    X(COUNT, "count", "fewer GPUs are free than it needs")                                         \
    X(SHAPE, "shape", "enough are free, but not together in one node")                             \
    X(QUOTA, "quota", "its tenant may not hold so many now")                                       \
    X(TOPOLOGY, "topology", "enough whole nodes are free, in no one leaf group")                   \
    X(POWER, "power", "enough are free, and the power limits of their racks keep them idle")       \
    X(SUPPLY, "supply", "GPUs that failed, are in maintenance or not supplied would do")           \
    X(PREEMPTION, "preemption", "GPUs of evicted or ended work are on their way")                  \
    X(ORDER, "order", "it would fit: an earlier job or a reservation goes first")

#define BLOCK_ENUM(code, name, doc) BLOCK_##code,
enum block_reason { BLOCK_LIST(BLOCK_ENUM) BLOCKS };
#undef BLOCK_ENUM
extern const char *const block_names[BLOCKS];
extern const char *const block_docs[BLOCKS];

/* Sizes are fewer still. What a pool has for a size it has for every tenant, its quota aside. */
struct why_size {
    uint32_t share, gpus;
    uint64_t n;                        /* gangs that wait, of all classes of this size */
    enum block_reason room[POOLS_MAX]; /* as the last pass has left it */
};

struct why_class {
    uint32_t tenant, share, gpus;
    uint32_t size; /* number of its size */
    uint64_t n;    /* gangs that wait; the class stays when it falls to zero */
    enum block_reason reason;
    simtime_ns since_ns; /* the reason holds since */
    simtime_ns total_ns[BLOCKS];
};

struct why_table {
    struct why_class *items; /* owned; by class number */
    uint32_t *order;         /* owned; class numbers sorted by (tenant, share, gpus) */
    size_t n, capacity;
    struct why_size *sizes; /* owned; room for as many as classes */
    size_t n_sizes;
    bool fresh; /* a class has its first gang, and no reason yet: whoever gives it one clears it */
};

void why_fini(struct why_table *w); /* accepts a zeroed struct */

/* The number of a class, which stays the same; UINT32_MAX: memory is out. */
uint32_t why_class_of(struct why_table *w, uint32_t tenant, uint32_t share, uint32_t gpus);

/* Where the classes of a tenant begin in order, if it has any. */
size_t why_first(const struct why_table *w, uint32_t tenant);

/* A gang begins to wait: at[] is what its class has added up so far. */
void why_begin(struct why_table *w, uint32_t class, simtime_ns now, simtime_ns at[BLOCKS]);

/* It waits no more: adds to blocked[] what has been added up since why_begin. */
void why_end(struct why_table *w, uint32_t class, simtime_ns now, const simtime_ns at[BLOCKS],
             simtime_ns blocked[BLOCKS]);

/* What stands in the way of a class from now on. */
void why_set(struct why_class *c, enum block_reason reason, simtime_ns now);

#endif
