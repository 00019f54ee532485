/* Checks of leaf groups; see check.h. */
#ifndef HEADROOM_SCENARIOS_CHECK_TOPOLOGY_H
#define HEADROOM_SCENARIOS_CHECK_TOPOLOGY_H

#include "scenarios/check.h"
#include "scenarios/pools.h"

void check_topology(const struct check *c, const struct pool_view *v);
void check_gang_placement(const struct check *c, const struct training_spec *t);

#endif
