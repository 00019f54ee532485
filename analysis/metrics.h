/* The summary table: every derived figure of a run, defined once.
 *
 * A metric has a name (the HDF5 variable in `summary`, the JSON key, the CSV metric), a unit, a
 * formula and a value for each entity and part of its axes. NaN means "none": no request, no
 * reclaim, no price. Everything downstream (file, JSON, CSV, report, paired intervals) walks this
 * table; a new figure is one row here.
 *
 * Units are those of sim/units.h ("s", "s-1", "1", "USD", "USD h-1") and "h" for GPU-hours, "min"
 * for breach minutes, "kW" and "kW h" for power and energy. GPU-hours count whole GPUs; shares of
 * GPU time are of the measured part. */
#ifndef HEADROOM_ANALYSIS_METRICS_H
#define HEADROOM_ANALYSIS_METRICS_H

#include "analysis/digest.h"

#include <stddef.h>
#include <stdint.h>

/* What a value belongs to. An entity (service, queue, owner) and a part of it (state, stage,
 * objective); AXIS_NONE where there is none. */
enum axis {
    AXIS_NONE,
    AXIS_SERVICE,
    AXIS_QUEUE,
    AXIS_OWNER, /* nobody, then services, then tenants of the queues */
    AXIS_STATE,
    AXIS_STAGE,
    AXIS_OBJECTIVE,
    AXIS_TENANT, /* of the queues; none where each queue has one, of its own name */
    AXIS_POOL,   /* none where there is one whose nodes are always there */
    AXIS_REASON, /* why jobs wait */
    AXES
};
extern const char *const axis_names[AXES]; /* dimension names: "service", ... */

enum better { BETTER_NEUTRAL, BETTER_HIGHER, BETTER_LOWER };
extern const char *const better_names[]; /* "neutral", "higher", "lower" */

/* entity and part are indices of the run's own services, queues, owners, objectives, pools; a
 * tenant is its claimant's number. */
struct metric_at {
    uint32_t entity, part;
    uint32_t arg; /* the constant of the row */
};
typedef double metric_fn(const struct digest *d, struct metric_at at);

struct metric {
    const char *name, *unit, *long_name, *formula;
    enum axis entity, part;
    enum better better;
    metric_fn *value;
    uint32_t arg; /* handed to value */
};

extern const struct metric metrics[];
extern const size_t metrics_n;

double metric_value(const struct metric *m, const struct digest *d, uint32_t entity, uint32_t part);

/* Row number by name; metrics_n when there is none. */
size_t metric_find(const char *name);

#endif
