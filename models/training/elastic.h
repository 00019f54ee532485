/* Elastic gangs: how many GPUs a gang may run on, and how fast it is on them.
 *
 * A gang's work is its run time on the GPUs it asks for. On n of these g it goes at a speed of
 * (n / g)^scaling: 1 is linear, and on half its GPUs a gang takes twice as long; with 0.5 it takes
 * sqrt(2) as long; 0 is no gain at all. Throughput of data-parallel training
 * is concave in n (A. Qiao and others, OSDI 2021); a power is the simplest such curve, of one
 * number. A speed is a fraction of whole numbers, so that work and wall time, both whole
 * nanoseconds, turn into each other without drift: wall time is rounded up, work down, and all of
 * the wall time that a piece of work takes is exactly that work. */
#ifndef HEADROOM_MODELS_TRAINING_ELASTIC_H
#define HEADROOM_MODELS_TRAINING_ELASTIC_H

#include "sim/time.h"

#include <stdbool.h>
#include <stdint.h>

struct elastic_plan {
    bool enabled;         /* else every gang is rigid */
    uint32_t step_gpus;   /* by which a gang grows and shrinks; 0: see elastic_step */
    double scaling;       /* exponent, 0..1 */
    simtime_ns resize_ns; /* a gang stands still so long: it saves its state, forms anew and loads
                             it */
    simtime_ns grow_every_ns; /* a gang grows only if it has been of one size for so long */
    /* Of a gang that gives no such numbers of its own, as shares of its GPUs. 0 counts as 1. */
    double min_share, max_share;
};

/* What makes a plan meaningless, or NULL. */
const char *elastic_fault(const struct elastic_plan *p);

/* The least and the most GPUs of a gang that asks for so many, and gives these itself (0: it does
 * not). */
struct elastic_range {
    uint32_t min, max;
};
struct elastic_range elastic_range_of(const struct elastic_plan *p, uint32_t gpus, uint32_t own_min,
                                      uint32_t own_max);

/* The plan's step; without one the least GPUs of the gang, at most a node. */
uint32_t elastic_step(const struct elastic_plan *p, uint32_t min_gpus, uint32_t node_gpus);

/* Work over wall time. */
struct elastic_speed {
    uint64_t num, den;
};
struct elastic_speed elastic_speed_of(const struct elastic_plan *p, uint32_t gpus, uint32_t held);
/* On GPUs that are slower, 0..1; of 30 binary places. */
struct elastic_speed elastic_slowed(struct elastic_speed s, double by);
static inline bool elastic_same(struct elastic_speed a, struct elastic_speed b)
{
    return a.num == b.num && a.den == b.den;
}

simtime_ns elastic_wall(struct elastic_speed s, simtime_ns work); /* SIM_NEVER: beyond time */
simtime_ns elastic_work(struct elastic_speed s, simtime_ns wall);

#endif
