/* The explicit numbers of a design: quotas of claimants and the tree of cohorts. */
#ifndef HEADROOM_SCENARIOS_QUOTAS_H
#define HEADROOM_SCENARIOS_QUOTAS_H

#include "models/capacity/fleet.h"
#include "scenarios/check.h"

/* The quota of one claimant; mistakes go to diags. */
struct quota quotas_quota(const struct check *c, const struct design_spec *d,
                          const struct quota_spec *q);

/* Unknown parents, and cohorts that contain themselves. */
void quotas_check(const struct check *c, const struct design_spec *d);

/* GPUs that cohorts own themselves, in all. */
uint64_t quotas_own_gpus(const struct design_spec *d);

/* The cohorts of a design without mistakes, parents first; in the arena, with room for more. */
enum hr_err quotas_cohorts(const struct check *c, const struct design_spec *d, size_t more,
                           struct cohort **out, size_t *n);

#endif
