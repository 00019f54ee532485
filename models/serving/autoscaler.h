/* How many replicas a service wants.
 *
 * wish = ceil(m / target per replica) + buffer, clamped to min..max, where m is the mean of the
 * metric over the metric window or, where it is larger, its forecast. Up at once, at most
 * max(step_up, step_up_pct of the current) a tick; down to the largest wish of the stabilisation
 * window, at most max(step_down, step_down_pct) a tick. current counts replicas on their way.
 * Defaults follow today's horizontal autoscalers (facts: hpa_sync_s, hpa_scale_up,
 * hpa_scale_down_stabilization_s). */
#ifndef HEADROOM_MODELS_SERVING_AUTOSCALER_H
#define HEADROOM_MODELS_SERVING_AUTOSCALER_H

#include "sim/err.h"
#include "sim/time.h"

#include <stdbool.h>
#include <stdint.h>

enum scaler_metric { SCALER_IN_FLIGHT, SCALER_REQUEST_RATE, SCALER_METRICS };
extern const char *const scaler_metric_names[SCALER_METRICS];

struct autoscaler_plan {
    bool enabled; /* false: stay at the initial count */
    enum scaler_metric metric;
    double target;        /* per replica: requests in flight, or requests per second */
    simtime_ns period_ns; /* between ticks */
    simtime_ns metric_window_ns;
    simtime_ns stabilisation_ns; /* scale-down window */
    uint32_t step_up, step_down; /* replicas a tick; 0: no absolute limit is added */
    double step_up_frac,
        step_down_frac; /* of the current replicas a tick; 0 with step 0: unlimited */
    uint32_t min_replicas, max_replicas;
    uint32_t buffer_replicas; /* warm spare above the need */
};

struct autoscaler; /* opaque: a ring of past wishes and of metric integrals */

struct autoscaler *autoscaler_new(const struct autoscaler_plan *plan);
void autoscaler_free(struct autoscaler *a);

/* One tick, at least a period after the last one; the replicas found at the first are the wish of
 * t = 0, and what a disabled scaler keeps. metric_integral: the running integral of the metric
 * since t = 0: requests arrived so far (request rate), or request-seconds in flight (in flight).
 * forecast: what the metric is expected to be when a replica asked for now is ready; 0 without one.
 * Returns the wanted number of replicas. */
uint32_t autoscaler_tick(struct autoscaler *a, simtime_ns now, double metric_integral,
                         double forecast, uint32_t current);

/* The wish for a steady metric, without history or step limits: used for the start of a run. */
uint32_t autoscaler_wish(const struct autoscaler_plan *plan, double metric);

#endif
