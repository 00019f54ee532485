/* The layouts of a pool of MIG instances: what GPUs are cut into, how many have which, and which of
 * them GPUs may be re-laid to. */
#ifndef HEADROOM_SCENARIOS_SHARING_LAYOUTS_H
#define HEADROOM_SCENARIOS_SHARING_LAYOUTS_H

#include "models/capacity/fleet.h"
#include "scenarios/check.h"

/* GPUs in no layout: their instances are made as they are asked for, or they are one instance. */
enum { REST_ON_DEMAND, REST_WHOLE, RESTS };
extern const char *const rest_names[RESTS];

/* What an idle GPU may be re-laid to: nothing; the layouts of the pool; as many instances of one
 * profile, of each in turn, as it holds. */
enum { RELAYOUT_NO, RELAYOUT_LISTED, RELAYOUT_ONE_PROFILE, RELAYOUTS };
extern const char *const relayout_names[RELAYOUTS];

/* gpus: of the pool. */
void sharing_check_layouts(const struct check *c, const struct sharing_spec *s,
                           const struct mig_gpu *gpu, uint64_t gpus);

/* The layouts of a plan, and what goes with them; without any it stays as it is. Memory is the
 * arena's. */
enum hr_err sharing_build_layouts(const struct check *c, const struct sharing_spec *s,
                                  const struct mig_gpu *gpu, uint64_t gpus,
                                  struct sharing_plan *out);

#endif
