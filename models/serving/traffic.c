/* Traffic: what a plan asks for on average, and the source it calls for. */
#include "models/serving/traffic.h"
#include "models/serving/traffic_internal.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

double traffic_base_rate(const struct traffic_plan *p)
{
    if (p->kind != ARRIVAL_TRACE)
        return p->rate_per_s;
    if (p->trace->n == 0 || p->trace->span_ns == 0)
        return 0;
    double period_s = sim_time_to_s(traffic_trace_period(p->trace));
    return p->scale * p->speed * (double)p->trace->n / period_s;
}

static double capped(uint32_t tokens, uint32_t max)
{
    return max > 0 && tokens > max ? max : tokens;
}

/* Mean of min(X, max) for a lognormal X. */
static double lognormal_mean(double mean, double cv, uint32_t max)
{
    if (max == 0)
        return mean;
    if (cv == 0)
        return fmin(mean, max);
    double variance = log1p(cv * cv), sigma = sqrt(variance);
    double z = (log(max / mean) + variance / 2) / sigma;
    return mean * gsl_cdf_ugaussian_P(z - sigma) + max * gsl_cdf_ugaussian_Q(z);
}

void traffic_mean_tokens(const struct traffic_plan *p, double *prompt, double *output)
{
    const struct request_trace *trace = p->trace;
    if (p->kind != ARRIVAL_TRACE && trace == NULL) {
        *prompt = lognormal_mean(p->prompt_mean, p->prompt_cv, p->max_prompt_tokens);
        *output = lognormal_mean(p->output_mean, p->output_cv, p->max_output_tokens);
        return;
    }
    bool cut = p->kind != ARRIVAL_TRACE;
    double prompts = 0, outputs = 0;
    for (size_t i = 0; i < trace->n; i++) {
        const struct request *row = &trace->rows[i];
        prompts += capped(row->prompt_tokens, cut ? p->max_prompt_tokens : 0);
        outputs += capped(row->output_tokens, cut ? p->max_output_tokens : 0);
    }
    double n = trace->n > 0 ? (double)trace->n : 1;
    *prompt = prompts / n;
    *output = outputs / n;
}

static bool at_least(double x, double low)
{
    return isfinite(x) && x >= low;
}

static bool trace_valid(const struct traffic_plan *p)
{
    if (p->trace == NULL || p->trace->n == 0 || !at_least(p->scale, 0) || !at_least(p->speed, 0) ||
        p->speed == 0)
        return false;
    return !p->loop || p->trace->span_ns > 0;
}

static bool generator_valid(const struct traffic_plan *p)
{
    if (!at_least(p->rate_per_s, 0) ||
        (p->kind == ARRIVAL_GAMMA && !(at_least(p->cv, 0) && p->cv > 0)))
        return false;
    if (p->trace != NULL)
        return p->trace->n > 0;
    return at_least(p->prompt_mean, 1) && at_least(p->output_mean, 1) &&
           at_least(p->prompt_cv, 0) && at_least(p->output_cv, 0);
}

enum hr_err traffic_source_new(const struct traffic_plan *p, uint64_t seed, uint32_t replication,
                               const char *entity, simtime_ns horizon, struct request_source *out)
{
    assert(horizon < SIM_NEVER - 1);
    bool trace = p->kind == ARRIVAL_TRACE;
    if (!(trace ? trace_valid(p) : generator_valid(p)))
        return HR_INPUT;
    return (trace ? traffic_trace_new : traffic_generator_new)(p, seed, replication, entity,
                                                               horizon, out);
}
