/* The pools of a fleet, and which of them a claimant uses with what quota.
 *
 * A fleet without `pools` is one pool named fleet. A quota is made for the fleet as a whole; here
 * it is split over the pools of a claimant: the floor and what it lends are in its first reserved
 * pool (its first one where none is reserved), the ceiling in order of preference as far as each
 * pool's GPUs go. Elsewhere it has no floor: it borrows. */
#ifndef HEADROOM_SCENARIOS_POOLS_H
#define HEADROOM_SCENARIOS_POOLS_H

#include "models/capacity/fleet.h"
#include "scenarios/check.h"

/* One pool as it will be, defaults of the fleet in place. */
struct pool_view {
    const char *name;
    const void *at;
    uint64_t nodes, gpus; /* 0 where nodes are not right */
    double price_usd_per_h;
    const struct supply_spec *supply;
    const struct failures_spec *failures;
    const struct field_list *maintenance;
    uint64_t spares;
    const struct topology_spec *topology; /* at NULL: none */
    const struct power_spec *power;       /* likewise */
    enum place_rule placement;
    const struct sharing_spec *sharing; /* at NULL: none */
    const char *gpu;                    /* of its first group */
};

size_t pools_count(const struct check *c);
struct pool_view pools_view(const struct check *c, size_t i);

/* Which pools a claimant that names none uses. */
enum pools_choice {
    POOLS_ALL,      /* as written */
    POOLS_SERVICE,  /* spot-mix: reserved, then on-demand */
    POOLS_TOLERANT, /* spot-mix: spot, then reserved */
    POOLS_FIRM      /* spot-mix: reserved */
};

/* The pools of a claimant, in order of preference, with its quota in what each counts; returns how
 * many. slice: the MIG profile it asks for, or NULL. */
uint32_t pools_split(const struct check *c, const struct field_list *named, const char *slice,
                     enum pools_choice choice, const struct quota *whole, struct pool_claim *out);

#endif
