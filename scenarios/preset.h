/* Designs: a few numbers into the quota of every claimant. One mechanism, many designs; nothing
 * after this knows their names.
 *
 *   separate            floor = ceiling = the pool, lends nothing; nothing ever moves
 *   shared              services: floor 0, whole fleet, reclaim from lower priority; queues: floor
 *                       0, whole fleet
 *   floor-plus-borrow   the same with a service floor F (lends nothing) and a warm buffer of H
 *                       GPUs; queues: floor T, all of it lent, reclaimed up to the floor
 *   spot-mix            the numbers of floor-plus-borrow; services in reserved pools, then on
 *                       demand; queues that tolerate it on spot, then reserved; others reserved
 *   quota               explicit numbers; borrow absent: the whole fleet; lend absent: all */
#ifndef HEADROOM_SCENARIOS_PRESET_H
#define HEADROOM_SCENARIOS_PRESET_H

#include "models/capacity/fleet.h"
#include "scenarios/check.h"
#include "scenarios/pools.h"

struct claim {
    struct quota quota;
    uint64_t buffer_gpus;     /* ready and idle above the need; services */
    enum pools_choice choice; /* where it does not name its pools */
};

/* Claims of the services, then the queues, each in the order written: room for as many. Mistakes go
 * to diags; the claims are of use only when there were none. */
void preset_claims(const struct check *c, const char *name, const struct design_spec *d,
                   struct claim *claims);

/* The preset of a design, by its key or its name; PRESETS when neither is one. */
enum preset preset_of(const char *name, const struct design_spec *d);

/* What a design of explicit numbers says of a claimant or tenant; NULL: nothing. */
const struct quota_spec *preset_quota_spec(const char *design, const struct design_spec *d,
                                           const char *claimant);

/* Fewest, most and spare replicas of a service under a claim. */
struct replica_bounds {
    uint32_t min, max, buffer;
};
struct replica_bounds preset_replicas(const struct service_spec *s, const struct claim *claim);

#endif
