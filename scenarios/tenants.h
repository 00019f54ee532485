/* The tenants of a training queue: from what is written, or from the jobs themselves, to claimants.
 *
 * In `quotas` a tenant is named queue/tenant. What has no numbers there shares those of its queue:
 * a queue with tenants is a cohort (models/capacity/fleet.h) with the queue's floor, ceiling and
 * lending limit, in which its tenants have no floor of their own. Where the queue's numbers bound
 * nothing there is no cohort. Tenants are ordered by name, the one that owns the backlog first. */
#ifndef HEADROOM_SCENARIOS_TENANTS_H
#define HEADROOM_SCENARIOS_TENANTS_H

#include "scenarios/build.h"

/* True when the tenants are those that the jobs name. */
bool tenants_from_jobs(const struct training_spec *t);

void tenants_check(const struct check *c, const struct training_spec *t);

/* Says it when the `quotas` entry names a tenant `queue/tenant` that there is not; false when it
 * names no tenant at all. As far as can be known before the jobs are read. */
bool tenants_check_quota(const struct check *c, const struct node *entry);

/* Fills tenant, more and n_more of out, whose jobs and drawn jobs are there already. */
enum hr_err tenants_build(const struct build *b, const char *queue, const struct training_spec *t,
                          const struct claim *claim, struct queue_plan *out);

#endif
