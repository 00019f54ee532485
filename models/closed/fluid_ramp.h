/* Demand that ramps while capacity follows it a reclaim later, as a fluid.
 *
 * Demand D(t) is D0 before time 0, rises to D1 over d seconds and stays: linearly, at once, or
 * exponentially. Each request for capacity is met T later, with a buffer H asked for above demand:
 *
 *   capacity     A(t) = min(cap, max(F, D(t - T) + H))
 *   rise         W = D1 - D(d - T), the largest in any window of length T
 *   shortage     max(0, D1 - cap, min(D1 - F, W - H)): H = W is always enough
 *   wait         of an arrival at t: v with integral of A over (t, t + v) = the work ahead of it.
 * It grows until the arrival that is served when A reaches D1, and is there the largest backlog /
 * D1 random loss  sum over seconds of D B(A, D), B the Erlang loss, linear between whole A
 *
 * Shortage is one interval: D(t) - D(t - T) grows up to t = d and falls after it. G. F. Newell,
 * Applications of Queueing Theory, 1982; A. K. Erlang 1917 (loss, quasi-static). Capacity and
 * demand in GPUs, times in seconds, sums and backlogs in GPU-seconds. */
#ifndef HEADROOM_MODELS_CLOSED_FLUID_RAMP_H
#define HEADROOM_MODELS_CLOSED_FLUID_RAMP_H

#include <stdbool.h>

enum fluid_shape { FLUID_LINEAR, FLUID_STEP, FLUID_EXPONENTIAL };

struct fluid_demand {
    enum fluid_shape shape;
    double start, rise, end; /* D0, D1 - D0, D1 */
    double slope_s;          /* of a linear ramp */
    double growth_s;         /* of an exponential one: doubling time / ln 2 */
    double duration_s;       /* d */
};

struct fluid_supply {
    double floor, cap, buffer, reclaim_s; /* floor <= cap */
};

struct fluid_breach {
    bool any;
    double start_s, end_s; /* end INFINITY: for ever */
};

/* shape is "linear", "step" or "exponential" (start > 0). A ramp without slope never rises. */
struct fluid_demand fluid_demand(const char *shape, double start, double rise, double slope_min,
                                 double doubling_min);

double fluid_demand_at(const struct fluid_demand *d, double t);
double fluid_demand_sum(const struct fluid_demand *d, double t); /* from 0; below 0 with D0 */
/* First time that demand is y: 0 when it is at the start, INFINITY when never. */
double fluid_demand_reach_s(const struct fluid_demand *d, double y);
double fluid_window_rise(const struct fluid_demand *d, double window_s);
/* First t with D(t) - D(t - window) > rise, which window_rise exceeds. */
double fluid_window_from_s(const struct fluid_demand *d, double window_s, double rise);
/* Longest window in which demand rises by no more than this; INFINITY when it never does. */
double fluid_safe_window_s(const struct fluid_demand *d, double rise);
/* a > b but for rounding, as whole numbers are taken. */
bool fluid_exceeds(double a, double b);

double fluid_supply_at(const struct fluid_demand *d, const struct fluid_supply *s, double t);
double fluid_supply_sum(const struct fluid_demand *d, const struct fluid_supply *s, double t);

double fluid_max_short(const struct fluid_demand *d, const struct fluid_supply *s);
struct fluid_breach fluid_breach(const struct fluid_demand *d, const struct fluid_supply *s);
/* Integral of the shortage over [0, until]. */
double fluid_short_sum(const struct fluid_demand *d, const struct fluid_supply *s, double until_s);

/* When what did not fit has been served; INFINITY for never, NaN when nothing is short. */
double fluid_clear_s(const struct fluid_demand *d, const struct fluid_supply *s);
double fluid_max_wait_s(const struct fluid_demand *d, const struct fluid_supply *s);
/* First and last arrival that waits longer than the limit; NaN when none does. */
double fluid_late_from_s(const struct fluid_demand *d, const struct fluid_supply *s,
                         double limit_s);
double fluid_late_until_s(const struct fluid_demand *d, const struct fluid_supply *s,
                          double limit_s);

/* NaN when it would take more than some ten million steps. */
double fluid_random_loss(const struct fluid_demand *d, const struct fluid_supply *s,
                         double until_s);

#endif
