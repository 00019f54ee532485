/* Waves over nodes; rollout.h states the formulas. */
#include "models/closed/rollout.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

uint32_t rollout_waves(uint32_t nodes, uint32_t parallel)
{
    assert(parallel > 0);
    return nodes / parallel + (nodes % parallel > 0);
}

uint32_t rollout_restarts_aligned(uint32_t nodes, uint32_t parallel, uint32_t job_nodes)
{
    assert(job_nodes <= nodes);
    return rollout_waves(job_nodes, parallel);
}

/* Chance that none of the job's nodes is among wave of the nodes. */
static double misses(uint32_t nodes, uint32_t wave, uint32_t job_nodes)
{
    double p = 1;
    for (uint32_t i = 0; i < wave && p > 0; i++)
        p *= nodes - job_nodes > i ? (double)(nodes - job_nodes - i) / (nodes - i) : 0;
    return p;
}

double rollout_restarts_random(uint32_t nodes, uint32_t parallel, uint32_t job_nodes)
{
    assert(parallel > 0 && job_nodes <= nodes);
    double full = 1 - misses(nodes, parallel < nodes ? parallel : nodes, job_nodes);
    double last = 1 - misses(nodes, nodes % parallel, job_nodes);
    return nodes / parallel * full + (nodes % parallel ? last : 0);
}

uint32_t rollout_failed_quantile(uint32_t nodes, double fail_frac, double quantile)
{
    uint32_t s = 0;
    while (s < nodes && gsl_cdf_binomial_P(s, fail_frac, nodes) < quantile)
        s++;
    return s;
}

double rollout_canary_detect(double bad_prob, uint32_t canaries)
{
    return 1 - pow(1 - bad_prob, canaries);
}

uint32_t rollout_canaries_for(double bad_prob, double detect)
{
    if (!(bad_prob > 0) || detect >= 1)
        return bad_prob >= 1 ? 1 : UINT32_MAX;
    uint32_t k = 0;
    while (rollout_canary_detect(bad_prob, k) < detect)
        k++;
    return k;
}
