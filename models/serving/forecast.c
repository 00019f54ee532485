/* A forecast of the request rate; forecast.h says what it knows. */
#include "models/serving/forecast.h"

#include <math.h>

void forecast_init(struct forecast *f, const struct forecast_plan *plan,
                   const struct traffic_plan *traffic, uint64_t seed, uint32_t replication,
                   const char *entity)
{
    *f = (struct forecast){.plan = plan, .traffic = traffic, .error = plan->bias};
    rng_init(&f->rng, seed, replication, entity, "forecast");
}

/* The error of the stretch in which t lies. With sigma^2 = ln(1 + cv^2) the factor
 * exp(sigma z - sigma^2 / 2) has mean 1. */
static double error_at(struct forecast *f, simtime_ns t)
{
    const struct forecast_plan *p = f->plan;
    double variance = log1p(p->cv * p->cv);
    for (uint64_t stretch = t / p->span_ns; f->drawn <= stretch; f->drawn++)
        f->error = p->bias * exp(sqrt(variance) * rng_normal(&f->rng) - variance / 2);
    return f->error;
}

double forecast_rate(struct forecast *f, simtime_ns t)
{
    double error = f->plan->cv > 0 ? error_at(f, t) : f->plan->bias;
    return traffic_base_rate(f->traffic) * traffic_factor_announced(f->traffic, t) * error;
}
