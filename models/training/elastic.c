/* Sizes and speeds of elastic gangs; elastic.h says what they are. */
#include "models/training/elastic.h"

#include "sim/int128.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

const char *elastic_fault(const struct elastic_plan *p)
{
    if (!p->enabled)
        return NULL;
    if (!(p->scaling >= 0 && p->scaling <= 1))
        return "elastic gangs scale with an exponent of 0 to 1";
    if (!(p->min_share >= 0 && p->min_share <= 1))
        return "the smallest share of an elastic gang is 0 to 1";
    if (!(p->max_share == 0 || (p->max_share >= 1 && p->max_share <= 1000)))
        return "the largest share of an elastic gang is at least 1";
    return NULL;
}

struct elastic_range elastic_range_of(const struct elastic_plan *p, uint32_t gpus, uint32_t own_min,
                                      uint32_t own_max)
{
    struct elastic_range r = {gpus, gpus};
    if (!p->enabled)
        return r;
    if (own_min > 0 && own_min < gpus)
        r.min = own_min;
    else if (p->min_share > 0)
        r.min = (uint32_t)ceil((double)gpus * p->min_share - 1e-9);
    if (own_max > gpus)
        r.max = own_max;
    else if (p->max_share > 1)
        r.max = (uint32_t)floor((double)gpus * p->max_share + 1e-9);
    r.min = r.min < 1 ? 1 : r.min;
    return r;
}

uint32_t elastic_step(const struct elastic_plan *p, uint32_t min_gpus, uint32_t node_gpus)
{
    if (p->step_gpus > 0)
        return p->step_gpus;
    return min_gpus < node_gpus ? min_gpus : node_gpus;
}

/* Exponents 0 and 1 are exact; between them a speed has 32 binary places. */
struct elastic_speed elastic_speed_of(const struct elastic_plan *p, uint32_t gpus, uint32_t held)
{
    const uint64_t one = (uint64_t)1 << 32;
    assert(gpus > 0 && held > 0);
    if (gpus == held || !(p->scaling > 0))
        return (struct elastic_speed){1, 1};
    if (!(p->scaling < 1))
        return (struct elastic_speed){held, gpus};
    double speed = pow((double)held / (double)gpus, p->scaling) * (double)one;
    return (struct elastic_speed){speed < 1 ? 1 : (uint64_t)(speed + 0.5), one};
}

struct elastic_speed elastic_slowed(struct elastic_speed s, double by)
{
    const uint64_t one = (uint64_t)1 << 30;
    if (by >= 1)
        return s;
    uint64_t slow = (uint64_t)(by * (double)one + 0.5);
    return (struct elastic_speed){s.num * (slow ? slow : 1), s.den * one};
}

simtime_ns elastic_wall(struct elastic_speed s, simtime_ns work)
{
    u128 wall = ((u128)work * s.den + s.num - 1) / s.num;
    return wall < SIM_NEVER ? (simtime_ns)wall : SIM_NEVER;
}

simtime_ns elastic_work(struct elastic_speed s, simtime_ns wall)
{
    u128 work = (u128)wall * s.num / s.den;
    return work < SIM_NEVER ? (simtime_ns)work : SIM_NEVER;
}
