/* How much to reserve: the newsvendor's answer for normal demand, and a share of it on spot.
 *
 * Reserved capacity is paid always, on demand only while demand exceeds the reservation:
 *
 *   reserve    max(0, mu + z sigma), z = Phi^-1(1 - reserved price / on-demand price)
 *   overflow   sigma (phi(z) - z (1 - Phi(z))), the mean demand above it
 *   cost       reserved price x reserve + on-demand price x overflow
 *
 * With spot a tolerant share f of the demand costs spot price / efficiency and only (1 - f) mu,
 * (1 - f) sigma is firm. F. Y. Edgeworth 1888; K. Arrow, T. Harris and J. Marschak, Econometrica
 * 19, 1951. GPUs, and dollars a GPU-hour; prices positive. */
#ifndef HEADROOM_MODELS_CLOSED_FLEET_MIX_H
#define HEADROOM_MODELS_CLOSED_FLEET_MIX_H

#include <stdbool.h>

struct fleet_mix_terms {
    double demand_mean, demand_sd;
    double reserved_price, od_price, spot_price;
    double spot_eff, tolerant_frac;
};

struct fleet_mix {
    double critical_ratio, z, reserve_gpus, overflow_gpus, cost_h; /* without spot */
    double all_od_cost_h, saving_vs_od_frac;
    double spot_unit_cost, firm_reserve_gpus, firm_cost_h, with_spot_cost_h;
    bool use_spot;
    double best_cost_h;
};

struct fleet_mix fleet_mix(const struct fleet_mix_terms *t);

#endif
