/* A ramp of demand against delayed capacity; fluid_ramp.h states the formulas. */
#include "models/closed/fluid_ramp.h"

#include <math.h>
#include <string.h>

struct fluid_demand fluid_demand(const char *shape, double start, double rise, double slope_min,
                                 double doubling_min)
{
    struct fluid_demand d = {.start = start, .rise = rise, .end = start + rise};
    if (strcmp(shape, "linear") == 0) {
        d.slope_s = slope_min / 60;
        if (!(slope_min > 0)) {
            d.rise = 0;
            d.end = start;
        }
        d.duration_s = d.rise > 0 ? d.rise * 60 / slope_min : 0;
    } else if (strcmp(shape, "step") == 0) {
        d.shape = FLUID_STEP;
    } else {
        d.shape = FLUID_EXPONENTIAL;
        d.growth_s = doubling_min * 60 / log(2);
        d.duration_s = d.growth_s * log1p(rise / start);
    }
    return d;
}

double fluid_demand_at(const struct fluid_demand *d, double t)
{
    if (t < 0)
        return d->start;
    if (t >= d->duration_s)
        return d->end;
    return d->shape == FLUID_LINEAR ? d->start + d->slope_s * t : d->start * exp(t / d->growth_s);
}

double fluid_demand_sum(const struct fluid_demand *d, double t)
{
    if (t < 0)
        return d->start * t;
    const double ramp = fmin(t, d->duration_s), after = (t - ramp) * d->end;
    if (d->shape == FLUID_EXPONENTIAL)
        return d->start * d->growth_s * expm1(ramp / d->growth_s) + after;
    return ramp * (d->start + d->slope_s * ramp / 2) + after;
}

double fluid_demand_reach_s(const struct fluid_demand *d, double y)
{
    if (y <= d->start)
        return 0;
    if (y > d->end)
        return INFINITY;
    const double t = d->shape == FLUID_LINEAR        ? (y - d->start) / d->slope_s
                     : d->shape == FLUID_EXPONENTIAL ? d->growth_s * log(y / d->start)
                                                     : 0;
    return fmin(t, d->duration_s);
}

double fluid_window_rise(const struct fluid_demand *d, double window_s)
{
    if (window_s <= 0)
        return 0;
    if (window_s >= d->duration_s)
        return d->rise;
    return d->shape == FLUID_LINEAR ? d->slope_s * window_s
                                    : -d->end * expm1(-window_s / d->growth_s);
}

double fluid_window_from_s(const struct fluid_demand *d, double window_s, double rise)
{
    const double first = fluid_demand_reach_s(d, d->start + rise);
    if (first <= window_s || d->shape != FLUID_EXPONENTIAL)
        return first;
    return fmin(d->duration_s,
                d->growth_s * log(rise / (d->start * -expm1(-window_s / d->growth_s))));
}

double fluid_safe_window_s(const struct fluid_demand *d, double rise)
{
    if (rise >= d->rise)
        return INFINITY;
    if (d->shape == FLUID_STEP)
        return 0;
    return d->shape == FLUID_LINEAR ? rise / d->slope_s : -d->growth_s * log1p(-rise / d->end);
}

bool fluid_exceeds(double a, double b)
{
    return a - b > 1e-9 * fmax(1, fabs(b));
}

/* ---- capacity ---- */

double fluid_supply_at(const struct fluid_demand *d, const struct fluid_supply *s, double t)
{
    return fmin(s->cap, fmax(s->floor, fluid_demand_at(d, t - s->reclaim_s) + s->buffer));
}

/* When the capacity asked for reaches y. */
static double asked_s(const struct fluid_demand *d, const struct fluid_supply *s, double y)
{
    return y <= d->start + s->buffer ? 0 : s->reclaim_s + fluid_demand_reach_s(d, y - s->buffer);
}

/* The floor up to one time, the delayed demand up to another, then the cap. */
double fluid_supply_sum(const struct fluid_demand *d, const struct fluid_supply *s, double t)
{
    const double from = asked_s(d, s, s->floor), to = fmax(from, asked_s(d, s, s->cap));
    double sum = s->floor * fmin(t, from);
    if (t > from) {
        const double until = fmin(t, to);
        sum += fluid_demand_sum(d, until - s->reclaim_s) -
               fluid_demand_sum(d, from - s->reclaim_s) + s->buffer * (until - from);
    }
    return t > to ? sum + s->cap * (t - to) : sum;
}

/* ---- shortage ---- */

double fluid_max_short(const struct fluid_demand *d, const struct fluid_supply *s)
{
    const double rise = fluid_window_rise(d, s->reclaim_s);
    const double moving = fluid_exceeds(rise, s->buffer) ? rise - s->buffer : 0;
    return fmax(fmax(0, d->end - s->cap), fmin(d->end - s->floor, moving));
}

struct fluid_breach fluid_breach(const struct fluid_demand *d, const struct fluid_supply *s)
{
    struct fluid_breach b = {.any = fluid_max_short(d, s) > 0, .start_s = INFINITY};
    if (!b.any)
        return b;
    if (fluid_exceeds(fluid_window_rise(d, s->reclaim_s), s->buffer) && d->end > s->floor)
        b.start_s = fmax(fluid_demand_reach_s(d, s->floor),
                         fluid_window_from_s(d, s->reclaim_s, s->buffer));
    if (d->end > s->cap) {
        b.start_s = fmin(b.start_s, fluid_demand_reach_s(d, s->cap));
        b.end_s = INFINITY;
    } else {
        b.end_s = s->reclaim_s + fluid_demand_reach_s(d, d->end - s->buffer);
    }
    return b;
}

/* Demand less capacity, added up from one time to another. */
static double excess(const struct fluid_demand *d, const struct fluid_supply *s, double from,
                     double to)
{
    return fluid_demand_sum(d, to) - fluid_demand_sum(d, from) -
           (fluid_supply_sum(d, s, to) - fluid_supply_sum(d, s, from));
}

double fluid_short_sum(const struct fluid_demand *d, const struct fluid_supply *s, double until_s)
{
    const struct fluid_breach b = fluid_breach(d, s);
    const double until = fmin(b.end_s, until_s);
    return b.any && until > b.start_s ? fmax(0, excess(d, s, b.start_s, until)) : 0;
}

/* ---- waits ---- */

double fluid_max_wait_s(const struct fluid_demand *d, const struct fluid_supply *s)
{
    if (d->end > s->cap)
        return INFINITY;
    const double backlog = fluid_short_sum(d, s, INFINITY);
    return backlog > 0 ? backlog / d->end : 0;
}

/* Work that has come since the breach began and is not done limit_s after time t; where it is
 * positive an arrival at t waits longer than the limit. */
static double undone(const struct fluid_demand *d, const struct fluid_supply *s, double start,
                     double limit_s, double t)
{
    return fluid_demand_sum(d, t) - fluid_demand_sum(d, start) -
           (fluid_supply_sum(d, s, t + limit_s) - fluid_supply_sum(d, s, start));
}

/* Where undone changes its sign between low and high; rising: from minus to plus. */
static double crossing(const struct fluid_demand *d, const struct fluid_supply *s, double start,
                       double limit_s, double low, double high, bool rising)
{
    for (int i = 0; i < 120; i++) {
        const double middle = (low + high) / 2;
        if ((undone(d, s, start, limit_s, middle) > 0) == rising)
            high = middle;
        else
            low = middle;
    }
    return (low + high) / 2;
}

/* The end of the work left by arrivals that wait longer than the limit. */
static double last_late(const struct fluid_demand *d, const struct fluid_supply *s, double limit_s)
{
    const struct fluid_breach b = fluid_breach(d, s);
    const double spare = fmin(s->cap, fmax(s->floor, d->end + s->buffer)) - d->end;
    if (isinf(b.end_s) || !(spare > 0))
        return INFINITY;
    /* From here on demand and capacity are constant. */
    const double steady = fmax(b.end_s, s->reclaim_s + d->duration_s);
    const double left = undone(d, s, b.start_s, limit_s, steady);
    if (left > 0)
        return steady + left / spare;
    const double worst = b.end_s - fluid_max_wait_s(d, s);
    return crossing(d, s, b.start_s, limit_s, worst, steady, false);
}

double fluid_clear_s(const struct fluid_demand *d, const struct fluid_supply *s)
{
    return fluid_breach(d, s).any ? last_late(d, s, 0) : NAN;
}

double fluid_late_from_s(const struct fluid_demand *d, const struct fluid_supply *s, double limit_s)
{
    const struct fluid_breach b = fluid_breach(d, s);
    const double most = fluid_max_wait_s(d, s);
    if (!b.any || !(most > limit_s))
        return NAN;
    if (limit_s == 0)
        return b.start_s;
    double high = b.end_s - most;
    if (isinf(b.end_s)) { /* the wait grows for ever */
        double step = 1;
        while (step < 1e15 && !(undone(d, s, b.start_s, limit_s, b.start_s + step) > 0))
            step *= 2;
        high = b.start_s + step;
    }
    return crossing(d, s, b.start_s, limit_s, b.start_s, high, true);
}

double fluid_late_until_s(const struct fluid_demand *d, const struct fluid_supply *s,
                          double limit_s)
{
    if (!fluid_breach(d, s).any || !(fluid_max_wait_s(d, s) > limit_s))
        return NAN;
    return last_late(d, s, limit_s);
}

/* ---- random requests ---- */

/* Where the sum 1/B(n) = 1 + n/a (1 + (n - 1)/a (1 + ...)) may be cut off: what is left out is
 * below e^-40 of its largest term. */
static double first_server(double n, double offered)
{
    const double m = fmin(n, offered);
    return fmax(0, floor(m - 9 * sqrt(m)) - 1);
}

/* The Erlang loss at a real number of servers, linear between whole ones. */
static double loss_between(double servers, double offered)
{
    const double n = floor(servers), part = servers - n;
    const double from = first_server(n, offered);
    double inverse = from > 0 ? offered / (offered - from) : 1;
    for (double k = from + 1; k <= n && inverse < 1e300; k++)
        inverse = 1 + k / offered * inverse;
    const double next = 1 + (n + 1) / offered * inverse;
    return inverse < 1e300 ? (1 - part) / inverse + part / next : 0;
}

double fluid_random_loss(const struct fluid_demand *d, const struct fluid_supply *s, double until_s)
{
    const double steady = d->duration_s + s->reclaim_s;
    double sum = 0, steps = 0, demand = -1, supply = -1, loss = 0;
    for (double t = 0; t < until_s;) {
        /* A second, or all whole seconds that remain when nothing changes any more. */
        double length = fmin(1, until_s - t);
        if (t > steady && until_s - t > 1)
            length = floor(until_s - t);
        const double middle = t + fmin(1, length) / 2;
        const double now = fluid_demand_at(d, middle), held = fluid_supply_at(d, s, middle);
        if (now != demand || held != supply) {
            demand = now;
            supply = held;
            loss = demand > 0 ? demand * loss_between(supply, demand) : 0;
            steps += 20 + floor(supply) - first_server(floor(supply), demand);
            if (steps > 2e7)
                return NAN;
        }
        sum += length * loss;
        t += length;
    }
    return sum;
}
