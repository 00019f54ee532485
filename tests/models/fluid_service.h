/* A fluid test service: the fleet under demand that is a curve, without requests.
 *
 * Demand D(t) in GPUs is a table, linear between its points. Every period the service asks for
 * ceil(D + buffer) GPUs in all, at least always and at most cap, in leases of one GPU; each serves
 * exactly reclaim_ns after it was asked for, be it taken from free GPUs or reclaimed. What is too
 * much it stops at once. In the middle of every period demand and ready GPUs are compared. The
 * other claimant is a filler that turns every GPU it may have into a one-GPU training gang and
 * takes the whole grace to stop. */
#ifndef HEADROOM_TESTS_MODELS_FLUID_SERVICE_H
#define HEADROOM_TESTS_MODELS_FLUID_SERVICE_H

#include "toy_fleet.h"

struct fluid_point {
    double at_s, gpus;
};

struct fluid_plan {
    uint32_t fleet_gpus;
    struct quota service, training;
    const struct fluid_point *demand; /* constant before the first and after the last point */
    size_t n_demand;
    double buffer_gpus;
    uint32_t always_gpus, cap_gpus;
    simtime_ns reclaim_ns; /* at least 40 s: grace 30 s, teardown 6 s, scrub 4 s, then its start */
    simtime_ns period_ns;
    simtime_ns start_ns, end_ns; /* times of the table count from start, which is measured from */
};

struct fluid_seen {
    double max_short_gpus, short_gpu_s;
    double breach_start_s, breach_end_s; /* of the first and last short period; NAN: none */
    double demand_gpu_s, held_gpu_s;
    double attainment;         /* 1 - short / demand */
    double idle_gpus;          /* mean of held - demand */
    uint32_t evicted;          /* GPUs, in the measured part */
    uint64_t serving, service; /* GPU-s of the service in the ledger, from time 0: serving, all */
    uint64_t training;         /* GPU-s of the filler in training */
};

double fluid_demand(const struct fluid_plan *p, double t_s);

/* Plays it, with the checks of the rig now and then. */
struct fluid_seen fluid_play(const struct fluid_plan *p);

#endif
