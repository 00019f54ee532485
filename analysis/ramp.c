/* Largest rise of a piecewise linear demand within a lag.
 *
 * D(t) - D(s) is linear in s and in t between knots, so its maximum over 0 <= t - s <= T has t or s
 * at a knot, and the other at a knot or exactly T away. Three passes: the least knot in reach
 * before each knot (a monotone queue of candidates, so O(n) for any T), and the two pairs exactly T
 * apart. */
#include "analysis/ramp.h"

#include <math.h>
#include <stdlib.h>

static double replicas_per_rate(const struct service_plan *plan,
                                const struct service_results *results, double measured_s)
{
    const struct autoscaler_plan *a = &plan->autoscaler;
    bool scaled = a->enabled && a->target > 0;
    if (scaled && a->metric == SCALER_REQUEST_RATE)
        return 1 / a->target;
    double rate = (double)results->totals.arrived / measured_s;
    double in_flight = (double)results->totals.in_flight_ns / 1e9 / measured_s;
    double sojourn_s = rate > 0 ? in_flight / rate : 0;
    return sojourn_s / (scaled ? a->target : plan->safe_in_flight);
}

enum hr_err ramp_init(struct ramp *r, const struct service_plan *plan, double replica_gpus,
                      const struct service_results *results, double measured_s)
{
    *r = (struct ramp){.n = results->n_windows, .step_s = sim_time_to_s(plan->slo.window_ns)};
    r->demand_gpus = calloc(r->n + 1, sizeof *r->demand_gpus);
    r->scratch = calloc(r->n + 1, sizeof *r->scratch);
    if (!r->demand_gpus || !r->scratch) {
        ramp_fini(r);
        return HR_NOMEM;
    }
    double gpus = replicas_per_rate(plan, results, measured_s) * replica_gpus;
    for (size_t i = 0; i < r->n; i++)
        r->demand_gpus[i] = results->windows[i].requests / r->step_s * gpus;
    return HR_OK;
}

void ramp_fini(struct ramp *r)
{
    free(r->demand_gpus);
    free(r->scratch);
    *r = (struct ramp){0};
}

double ramp_peak(const struct ramp *r)
{
    double peak = 0;
    for (size_t i = 0; i < r->n; i++)
        peak = fmax(peak, r->demand_gpus[i]);
    return peak;
}

double ramp_mean(const struct ramp *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += r->demand_gpus[i];
    return r->n ? sum / (double)r->n : 0;
}

/* Demand at a place in windows, held at both ends. */
static double demand_at(const struct ramp *r, double place)
{
    if (place <= 0)
        return r->demand_gpus[0];
    if (place >= (double)(r->n - 1))
        return r->demand_gpus[r->n - 1];
    size_t i = (size_t)place;
    double part = place - (double)i;
    return r->demand_gpus[i] * (1 - part) + r->demand_gpus[i + 1] * part;
}

/* Pairs in which both ends are knots. Candidates are those that can still be the least one in
 * reach, in ascending order of index and of demand. */
static double rise_between_knots(const struct ramp *r, double lag)
{
    size_t *candidates = r->scratch;
    double most = 0;
    size_t head = 0, tail = 0;
    for (size_t i = 0; i < r->n; i++) {
        while (tail > head && r->demand_gpus[candidates[tail - 1]] >= r->demand_gpus[i])
            tail--;
        candidates[tail++] = i;
        while ((double)(i - candidates[head]) > lag)
            head++;
        most = fmax(most, r->demand_gpus[i] - r->demand_gpus[candidates[head]]);
    }
    return most;
}

double ramp_rise(const struct ramp *r, double reclaim_s)
{
    if (r->n == 0 || !(reclaim_s > 0))
        return 0;
    double lag = fmin(reclaim_s / r->step_s, (double)r->n);
    double most = rise_between_knots(r, lag);
    for (size_t i = 0; i < r->n; i++) {
        double here = r->demand_gpus[i];
        most = fmax(most, here - demand_at(r, (double)i - lag));
        most = fmax(most, demand_at(r, (double)i + lag) - here);
    }
    return most;
}

double ramp_safe_reclaim_s(const struct ramp *r, double buffer_gpus)
{
    double enough = buffer_gpus * (1 + 1e-9) + 1e-9; /* rounding of the interpolation */
    double high = (double)r->n * r->step_s, low = 0;
    if (ramp_rise(r, high) <= enough)
        return high;
    while (high - low > 0.005) {
        double middle = (low + high) / 2;
        if (ramp_rise(r, middle) <= enough)
            low = middle;
        else
            high = middle;
    }
    return floor(low + 0.01);
}
