/* The clock of a replica: step boundaries and runs of decode steps, exact in picoseconds.
 *
 * A boundary is (ns, ps 0..999), so that a run's position in simulated time never leaves 64 bits
 * while step times stay whole picoseconds. The engine knows nanoseconds only: a boundary fires at
 * its time rounded up.
 *
 * A run is a stretch of decode steps with the same n requests. Its first step takes
 * A = a + b n + c C and each further one c n more, so k steps take k A + c n k (k - 1) / 2. With
 * the limits asserted in replica_new A fits 64 bits and the sum of a run 128.
 *
 * A boundary beyond the clock's range (584 years) is at SIM_NEVER: it never comes. */
#ifndef HEADROOM_MODELS_SERVING_REPLICA_CLOCK_H
#define HEADROOM_MODELS_SERVING_REPLICA_CLOCK_H

#include "sim/int128.h"
#include "sim/time.h"

#include <math.h>

struct boundary {
    simtime_ns ns;
    uint32_t ps;
};

struct decode_run {
    uint64_t first_ps;  /* A: the first step */
    uint64_t growth_ps; /* c n: what each step takes more than the one before */
};

static inline simtime_ns boundary_fires(struct boundary b)
{
    return b.ns == SIM_NEVER ? SIM_NEVER : b.ns + (b.ps > 0);
}

static inline struct boundary boundary_add(struct boundary b, u128 ps)
{
    u128 sum = ps + b.ps, ns;
    if (sum >> 64 == 0) /* nearly always: less than 213 days, and no 128-bit division */
        ns = (uint64_t)sum / 1000;
    else
        ns = sum / 1000;
    if (ns >= SIM_NEVER - b.ns)
        return (struct boundary){SIM_NEVER, 0};
    return (struct boundary){b.ns + (uint64_t)ns, (uint32_t)((uint64_t)sum - (uint64_t)ns * 1000)};
}

/* Picoseconds from a boundary to a later whole nanosecond. */
static inline u128 boundary_until(struct boundary b, simtime_ns t)
{
    return (u128)(t - b.ns) * 1000 - b.ps;
}

static inline u128 run_ps(const struct decode_run *run, uint32_t k)
{
    return (u128)run->first_ps * k + (u128)run->growth_ps * ((uint64_t)k * (k - 1) / 2);
}

static inline double wide_to_double(u128 x)
{
    return x >> 64 == 0 ? (double)(uint64_t)x : (double)x;
}

/* The first of the steps 1..last that ends strictly more than after_ps into the run; last when none
 * before it does. The root of the quadratic in double is right to a step or so; integers decide. */
static inline uint32_t run_first_after(const struct decode_run *run, u128 after_ps, uint32_t last)
{
    if (run_ps(run, last) <= after_ps)
        return last;
    double x = 2 * wide_to_double(after_ps);
    double growth = (double)run->growth_ps, slope = (double)run->first_ps - growth / 2;
    double root = x / (slope + sqrt(slope * slope + growth * x));
    uint32_t k = root >= last ? last : 1 + (uint32_t)root;
    while (run_ps(run, k) <= after_ps)
        k++;
    while (k > 1 && run_ps(run, k - 1) > after_ps)
        k--;
    return k;
}

#endif
