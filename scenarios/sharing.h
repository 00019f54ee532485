/* Shared GPUs: the section `sharing` of a pool, and who uses such pools.
 *
 * Claimants that name a slice use the pools of MIG instances, all others the other pools. */
#ifndef HEADROOM_SCENARIOS_SHARING_H
#define HEADROOM_SCENARIOS_SHARING_H

#include "models/capacity/fleet.h"
#include "scenarios/check.h"
#include "scenarios/pools.h"

enum { SHARING_BY_MIG, SHARING_BY_MPS, SHARING_BY_TIME, SHARINGS };
extern const char *const sharing_names[SHARINGS];

/* Within what a fault of a client stays. */
enum { ISOLATION_CLIENT, ISOLATION_GPU, ISOLATIONS };
extern const char *const sharing_isolations[ISOLATIONS];

void sharing_check(const struct check *c, const struct pool_view *v);

/* A slice that a claimant names, at its key. */
void sharing_check_slice(const struct check *c, const void *at, const char *slice);

/* Units that a pool counts a GPU as. */
uint32_t sharing_units(const struct check *c, uint32_t pool);

/* Whether a claimant with this slice (or none) can use the pool. */
bool sharing_suits(const struct check *c, uint32_t pool, const char *slice);

/* 1 + number of the profile; 0: no slice, or one that is not there. */
uint8_t sharing_slice(const struct check *c, const char *slice);

/* What a slice has of its GPU. Compute and bandwidth: shares of SMs and of memory slices. */
struct slice_share {
    double compute, bandwidth, memory_gb; /* powers of ten */
    uint32_t memory;                      /* slices */
};
struct slice_share sharing_share(const struct check *c, const char *slice);

/* What one client has of a GPU with this much memory while so many are at work on it (0: all);
 * false where the pool has no clients. */
bool sharing_client(const struct check *c, uint32_t pool, double visible_gb, uint32_t at_work,
                    struct slice_share *out);
/* Clients of a GPU where the speed of one depends on how many are at work; else 0. */
uint32_t sharing_crowd(const struct check *c, uint32_t pool);

enum hr_err sharing_build(const struct check *c, const struct pool_view *v,
                          struct sharing_plan *out);

#endif
