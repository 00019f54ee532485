/* Order statistics of the exponential; drain.h states the formulas. */
#include "models/closed/drain.h"

#include <assert.h>
#include <math.h>

double drain_harmonic(uint64_t n)
{
    /* Euler and Maclaurin: what is left out is below 1 / (120 n^4), less than a double shows. */
    const double gamma = 0.57721566490153286061, x = (double)n;
    if (n > 10000)
        return log(x) + gamma + 1 / (2 * x) - 1 / (12 * x * x);
    double sum = 0;
    for (uint64_t j = n; j > 0; j--) /* smallest terms first */
        sum += 1 / (double)j;
    return sum;
}

double drain_natural_wait(uint64_t k, uint64_t m, double mean)
{
    assert(k <= m);
    double sum = 0;
    for (uint64_t j = m; j > m - k; j--)
        sum += 1 / (double)j;
    return mean * sum;
}

/* While j of m have ended, j stand idle, for S / (m - j) on average. */
double drain_natural_idle(uint64_t k, uint64_t m, double mean)
{
    assert(k <= m);
    double sum = 0;
    for (uint64_t j = 1; j < k; j++)
        sum += (double)j / (double)(m - j);
    return mean * sum;
}

double drain_last_start(uint64_t jobs, uint64_t slots, double mean)
{
    return jobs > slots ? (double)(jobs - slots) * mean / (double)slots : 0;
}

double drain_makespan(uint64_t jobs, uint64_t slots, double mean)
{
    uint64_t together = jobs < slots ? jobs : slots;
    return drain_last_start(jobs, slots, mean) + mean * drain_harmonic(together);
}

double drain_list_bound(uint64_t jobs, uint64_t slots, double mean, double longest)
{
    double m = (double)slots;
    return (double)jobs * mean / m + (1 - 1 / m) * longest;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

struct quota_return drain_quota_return(uint32_t quota_gpus, uint32_t lent_gpus, uint32_t idle_gpus,
                                       uint32_t demand_gpus, uint32_t gang_gpus)
{
    assert(lent_gpus <= quota_gpus && gang_gpus > 0);
    struct quota_return r = {.granted_gpus = smaller(demand_gpus, quota_gpus)};
    r.now_gpus = smaller(r.granted_gpus, quota_gpus - lent_gpus + idle_gpus);
    r.need_gpus = r.granted_gpus - r.now_gpus;
    r.gangs = (r.need_gpus + gang_gpus - 1) / gang_gpus;
    r.lent_gangs = (lent_gpus + gang_gpus - 1) / gang_gpus;
    r.gpus = smaller(r.gangs, r.lent_gangs) * gang_gpus;
    return r;
}
