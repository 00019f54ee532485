/* What happened to the nodes of a pool: failures, spot losses, nodes that came on demand,
 * roll-outs.
 *
 * Counts of the measured part, as supply_totals has them; "none" where a run has no pools apart. */
#include "analysis/metrics_internal.h"

#include <math.h>

static const struct supply_totals *totals_of(const struct digest *d, uint32_t pool)
{
    return pool < d->results->n_pools ? &d->results->pools[pool].supply : NULL;
}

double pool_events(const struct digest *d, struct metric_at at)
{
    const struct supply_totals *t = totals_of(d, at.entity);
    if (!t)
        return NAN;
    const uint64_t counts[] = {
        [EVENTS_FAILURES] = t->failures,
        [EVENTS_REPAIRS] = t->repairs,
        [EVENTS_NOTICES] = t->notices,
        [EVENTS_LOSSES] = t->losses,
        [EVENTS_RETURNS] = t->returns,
        [EVENTS_SHOCKS] = t->shocks,
        [EVENTS_REQUESTED] = t->requested,
        [EVENTS_PROVISIONED] = t->provisioned,
        [EVENTS_RELEASED] = t->released,
        [EVENTS_UPGRADED] = t->upgraded,
        [EVENTS_UPGRADES_FAILED] = t->upgrades_failed,
        [EVENTS_DRAINED] = t->drained,
        [EVENTS_AT_SAVE] = t->at_save,
        [EVENTS_FORCED] = t->forced,
        [EVENTS_ROLL_OUTS] = t->roll_outs,
    };
    return (double)counts[at.arg];
}

double pool_roll_out_mean(const struct digest *d, struct metric_at at)
{
    const struct supply_totals *t = totals_of(d, at.entity);
    return t && t->roll_outs ? sim_time_to_s(t->roll_out_ns) / (double)t->roll_outs : NAN;
}

double pool_roll_out_span(const struct digest *d, struct metric_at at)
{
    const struct supply_totals *t = totals_of(d, at.entity);
    if (!t || t->roll_out_begin_ns == SIM_NEVER || t->roll_out_end_ns == SIM_NEVER ||
        t->roll_out_end_ns < t->roll_out_begin_ns)
        return NAN;
    return sim_time_to_s(t->roll_out_end_ns - t->roll_out_begin_ns);
}
