/* The ramp condition: is the warm buffer at least the rise of demand within one reclaim?
 *
 * A service asks for GPUs as demand grows and each request is met a reclaim later. With a buffer H
 * of ready GPUs above demand D it is never short while
 *
 *     W(T) = max over s <= t <= s + T of D(t) - D(s)  <=  H
 *
 * (the fluid ramp arithmetic: G. F. Newell, Applications of Queueing Theory, 1982). Here D is what
 * a run observed: the requests of each SLO window in GPUs at the autoscaler's target, put at the
 * middle of its window and joined by straight lines. Rises are therefore seen no sharper than a
 * window, and include the noise of the counts. The condition is sufficient, not necessary: replicas
 * carry somewhat more than the target they are scaled by. */
#ifndef HEADROOM_ANALYSIS_RAMP_H
#define HEADROOM_ANALYSIS_RAMP_H

#include "models/plan.h"
#include "models/results.h"

struct ramp {
    double *demand_gpus; /* owned; one value per window */
    size_t *scratch;     /* owned; room for n indices, used inside ramp_rise */
    size_t n;
    double step_s; /* window length */
};

/* Demand of one service. With a request-rate target it is rate / target replicas; with an in-flight
 * target, or no autoscaler (then safe_in_flight is the target), rate x mean time in the service /
 * target. */
enum hr_err ramp_init(struct ramp *r, const struct service_plan *plan, double replica_gpus,
                      const struct service_results *results, double measured_s);
void ramp_fini(struct ramp *r); /* accepts a zeroed struct */

double ramp_peak(const struct ramp *r); /* 0 when empty */
double ramp_mean(const struct ramp *r);

/* W(T): never negative, not decreasing in T. O(n). */
double ramp_rise(const struct ramp *r, double reclaim_s);

/* The largest T with W(T) <= buffer, in whole seconds; the whole observed span when no rise exceeds
 * the buffer. */
double ramp_safe_reclaim_s(const struct ramp *r, double buffer_gpus);

#endif
