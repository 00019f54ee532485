/* Power of a pool: of a node of each group, and the racks and limits of the section `power`. */
#ifndef HEADROOM_SCENARIOS_POWER_H
#define HEADROOM_SCENARIOS_POWER_H

#include "scenarios/check.h"
#include "scenarios/pools.h"

/* How a limit acts; as in `cap`. */
enum power_cap { POWER_REFUSE, POWER_SLOW };

void check_power(const struct check *c, size_t pool, const struct pool_view *v);

/* Memory is the arena's. */
enum hr_err build_power(const struct check *c, size_t pool, const struct pool_view *v,
                        struct rack_plan *out);

#endif
