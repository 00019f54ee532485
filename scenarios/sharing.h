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

/* What one client has of a GPU with this much memory; false where the pool has no clients. */
bool sharing_client(const struct check *c, uint32_t pool, double visible_gb,
                    struct slice_share *out);

enum hr_err sharing_build(const struct check *c, const struct pool_view *v,
                          struct sharing_plan *out);

#endif
