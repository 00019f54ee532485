/* Renewal of a segment; renewal.h states the formulas. */
#include "models/closed/renewal.h"

#include "models/closed/checkpoint.h"

#include <math.h>
#include <stdbool.h>

static bool domain(const struct renewal *r)
{
    return r->mtbf_s > 0 && r->save_s >= 0 && r->restart_s >= 0 && r->down_s >= 0;
}

double renewal_segment_s(const struct renewal *r, double tau_s)
{
    if (!domain(r) || !(tau_s >= 0))
        return NAN;
    if (isinf(r->mtbf_s))
        return tau_s + r->save_s;
    double m = r->mtbf_s;
    return exp(r->restart_s / m) * (m + r->down_s) * expm1((tau_s + r->save_s) / m);
}

double renewal_efficiency(const struct renewal *r, double tau_s)
{
    if (!domain(r) || !(tau_s >= 0))
        return NAN;
    if (isinf(r->mtbf_s))
        return isinf(tau_s) ? 1 : tau_s / (tau_s + r->save_s);
    if (tau_s > 0 || r->save_s > 0)
        return tau_s / renewal_segment_s(r, tau_s);
    return exp(-r->restart_s / r->mtbf_s) * r->mtbf_s / (r->mtbf_s + r->down_s);
}

double renewal_interval_s(const struct renewal *r, double tau_s)
{
    return tau_s > 0 ? tau_s : checkpoint_exact_s(r->save_s, r->mtbf_s);
}

double renewal_notice_efficiency(const struct renewal *r, double notice_s)
{
    if (!domain(r) || !(notice_s >= 0))
        return NAN;
    if (isinf(r->mtbf_s))
        return 1;
    return r->mtbf_s / (r->mtbf_s + notice_s + r->down_s + r->restart_s);
}

double renewal_interruptions(const struct renewal *r, double tau_s, double work_s)
{
    if (!domain(r) || !(tau_s > 0) || !(work_s >= 0))
        return NAN;
    double m = r->mtbf_s;
    return isinf(m) ? 0 : work_s / tau_s * exp(r->restart_s / m) * expm1((tau_s + r->save_s) / m);
}

double renewal_whole_s(const struct renewal *r, double work_s, uint64_t n)
{
    return (double)n * renewal_segment_s(r, work_s / (double)n);
}

/* The time is convex in the number of segments, so the best whole number lies next to the best
 * real one. */
uint64_t renewal_whole_segments(const struct renewal *r, double work_s)
{
    double best = floor(work_s / renewal_interval_s(r, 0));
    if (!domain(r) || !(r->save_s > 0) || !(best < 1e15))
        return 0;
    uint64_t n = best < 1 ? 1 : (uint64_t)best;
    while (renewal_whole_s(r, work_s, n + 1) < renewal_whole_s(r, work_s, n))
        n++;
    return n;
}

double renewal_series_mttf_h(double gpus, double gpus_per_node, double per_1000_node_days)
{
    double per_node_h = per_1000_node_days / (1000.0 * 24.0);
    return 1 / (gpus / gpus_per_node * per_node_h);
}
