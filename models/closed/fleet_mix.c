/* The newsvendor; fleet_mix.h states the formulas. */
#include "models/closed/fleet_mix.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

struct vendor {
    double z, reserve, overflow, cost;
};

static struct vendor vendor(const struct fleet_mix_terms *t, double mean, double sd)
{
    double ratio = 1 - t->reserved_price / t->od_price;
    if (ratio <= 0)
        return (struct vendor){-INFINITY, 0, mean, t->od_price * mean};
    double z = gsl_cdf_ugaussian_Pinv(ratio);
    struct vendor v = {.z = z, .reserve = mean + z * sd};
    v.overflow = sd * (gsl_ran_ugaussian_pdf(z) - z * gsl_cdf_ugaussian_Q(z));
    if (v.reserve < 0) {
        v.reserve = 0;
        v.overflow = mean;
    }
    v.cost = t->reserved_price * v.reserve + t->od_price * v.overflow;
    return v;
}

struct fleet_mix fleet_mix(const struct fleet_mix_terms *t)
{
    double firm_frac = 1 - t->tolerant_frac;
    struct vendor all = vendor(t, t->demand_mean, t->demand_sd);
    struct vendor firm = vendor(t, firm_frac * t->demand_mean, firm_frac * t->demand_sd);
    struct fleet_mix m = {.critical_ratio = 1 - t->reserved_price / t->od_price,
                          .z = all.z,
                          .reserve_gpus = all.reserve,
                          .overflow_gpus = all.overflow,
                          .cost_h = all.cost,
                          .all_od_cost_h = t->od_price * t->demand_mean,
                          .spot_unit_cost = t->spot_price / t->spot_eff,
                          .firm_reserve_gpus = firm.reserve,
                          .firm_cost_h = firm.cost};
    m.saving_vs_od_frac = 1 - m.cost_h / m.all_od_cost_h;
    m.with_spot_cost_h = firm.cost + t->tolerant_frac * t->demand_mean * m.spot_unit_cost;
    m.use_spot = m.with_spot_cost_h < m.cost_h;
    m.best_cost_h = m.use_spot ? m.with_spot_cost_h : m.cost_h;
    return m;
}
