/* Worksheet: how much to reserve, to buy on demand, and to run on spot. */
#include "models/closed/fleet_mix.h"
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { MEAN, SD, RESERVED, OD, SPOT, SPOT_EFF, TOLERANT };
enum {
    RATIO,
    Z,
    RESERVE,
    OVERFLOW_GPUS,
    MIX_COST,
    ALL_OD,
    ALL_RESERVED,
    SAVING,
    SPOT_UNIT,
    FIRM_RESERVE,
    FIRM_COST,
    WITH_SPOT,
    USE_SPOT,
    BEST
};

static const double z_99 = 2.3263478740408408;

static const struct sheet_input inputs[] = {
    [MEAN] = SHEET_INPUT("demand_mean", "mu", "GPUs", "mean demand", "500"),
    [SD] = SHEET_INPUT("demand_sd", "sigma", "GPUs", "its standard deviation", "120"),
    [RESERVED] =
        SHEET_INPUT("reserved_price", "p_r", "$/GPU-h", "reserved price", "2", .above = true),
    [OD] = SHEET_INPUT("od_price", "p_o", "$/GPU-h", "on-demand price", "4", .above = true),
    [SPOT] = SHEET_INPUT("spot_price", "p_s", "$/GPU-h", "spot price", "1.4"),
    [SPOT_EFF] = SHEET_INPUT("spot_eff", "e", "fraction", "useful fraction of a spot hour", "0.85",
                             .max = 1, .above = true),
    [TOLERANT] = SHEET_INPUT("tolerant_frac", "f", "fraction",
                             "share of demand that tolerates preemption", "0.3", .max = 1),
};

static const struct sheet_output outputs[] = {
    [RATIO] =
        SHEET_OUTPUT("critical_ratio", "q", "fraction", "1 - {reserved_price} / {od_price}",
                     "Reserve so much that demand stays below it {critical_ratio} of the time."),
    [Z] = SHEET_OUTPUT("z", "z", "-", "inverse normal of {critical_ratio}",
                       "In standard deviations from the mean: {z}."),
    [RESERVE] =
        SHEET_OUTPUT("reserve_gpus", "Q", "GPUs", "max(0, {demand_mean} + {z} x {demand_sd})",
                     "Reserve {reserve_gpus}."),
    [OVERFLOW_GPUS] = SHEET_OUTPUT("overflow_gpus", "O", "GPUs", "sigma (phi(z) - z (1 - Phi(z)))",
                                   "On average {overflow_gpus} come on demand on top."),
    [MIX_COST] = SHEET_OUTPUT("mix_cost_h", "K", "$/h",
                              "{reserved_price} x {reserve_gpus} + {od_price} x {overflow_gpus}",
                              "Together {mix_cost_h}."),
    [ALL_OD] = SHEET_OUTPUT("all_od_cost_h", "K_o", "$/h", "{od_price} x {demand_mean}",
                            "All on demand would cost {all_od_cost_h}."),
    [ALL_RESERVED] = SHEET_OUTPUT("all_reserved_p99_cost_h", "K_r", "$/h",
                                  "{reserved_price} x ({demand_mean} + 2.3263478740408408 x "
                                  "{demand_sd})",
                                  "Reserving for 99 hours of 100 costs {all_reserved_p99_cost_h}."),
    [SAVING] = SHEET_OUTPUT("saving_vs_od", "v", "fraction", "1 - {mix_cost_h} / {all_od_cost_h}",
                            "The mix saves {saving_vs_od} of the on-demand bill."),
    [SPOT_UNIT] =
        SHEET_OUTPUT("spot_unit_cost", "c_s", "$/useful GPU-h", "{spot_price} / {spot_eff}",
                     "A useful hour on spot costs {spot_unit_cost}."),
    [FIRM_RESERVE] = SHEET_OUTPUT("firm_reserve_gpus", "Q_f", "GPUs",
                                  "max(0, (1 - {tolerant_frac}) x ({demand_mean} + {z} x "
                                  "{demand_sd}))",
                                  "With the tolerant share on spot, reserve {firm_reserve_gpus}."),
    [FIRM_COST] =
        SHEET_OUTPUT("firm_cost_h", "K_f", "$/h", "the mix cost of (1 - f) mu and (1 - f) sigma",
                     "The rest costs {firm_cost_h}."),
    [WITH_SPOT] = SHEET_OUTPUT("with_spot_cost_h", "K_s", "$/h",
                               "{firm_cost_h} + {tolerant_frac} x {demand_mean} x "
                               "{spot_unit_cost}",
                               "With spot it is {with_spot_cost_h} in all."),
    [USE_SPOT] = SHEET_OUTPUT("use_spot", "spot", "0/1", "1 when {with_spot_cost_h} < {mix_cost_h}",
                              "Spot pays.", .type = SHEET_FLAG),
    [BEST] = SHEET_OUTPUT("best_cost_h", "K_b", "$/h", "min({with_spot_cost_h}, {mix_cost_h})",
                          "The best is {best_cost_h}."),
};

static bool reserve_nothing(const struct sheet_case *c)
{
    return sheet_in(c, RESERVED) >= sheet_in(c, OD);
}

static bool no_spot(const struct sheet_case *c)
{
    return sheet_out(c, USE_SPOT) == 0;
}

static const struct sheet_remark remarks[] = {
    {RATIO, reserve_nothing, "On demand is no dearer than reserved: there is nothing to cover."},
    {Z, reserve_nothing, "No reservation is small enough."},
    {USE_SPOT, no_spot, "Spot does not pay."},
};

static double mean_only(const struct sheet_case *c)
{
    return sheet_in(c, RESERVED) * sheet_in(c, MEAN);
}

static double spot_at_list_price(const struct sheet_case *c)
{
    return sheet_in(c, SPOT);
}

static const struct sheet_mistake mistakes[] = {
    {MIX_COST, "pays for the mean demand only: half of the time it is more", mean_only},
    {SPOT_UNIT, "takes the price for the cost: part of a spot hour is lost", spot_at_list_price},
};

static void solve(struct sheet_case *c)
{
    const struct fleet_mix_terms t = {
        .demand_mean = sheet_in(c, MEAN),
        .demand_sd = sheet_in(c, SD),
        .reserved_price = sheet_in(c, RESERVED),
        .od_price = sheet_in(c, OD),
        .spot_price = sheet_in(c, SPOT),
        .spot_eff = sheet_in(c, SPOT_EFF),
        .tolerant_frac = sheet_in(c, TOLERANT),
    };
    const struct fleet_mix m = fleet_mix(&t);
    const bool nothing = m.all_od_cost_h == 0;
    sheet_set(c, RATIO, m.critical_ratio);
    sheet_set(c, Z, m.z);
    sheet_set(c, RESERVE, m.reserve_gpus);
    sheet_set(c, OVERFLOW_GPUS, m.overflow_gpus);
    sheet_set(c, MIX_COST, m.cost_h);
    sheet_set(c, ALL_OD, m.all_od_cost_h);
    sheet_set(c, ALL_RESERVED, t.reserved_price * (t.demand_mean + z_99 * t.demand_sd));
    sheet_set(c, SAVING, nothing ? m.cost_h > 0 ? -INFINITY : 0 : m.saving_vs_od_frac);
    sheet_set(c, SPOT_UNIT, m.spot_unit_cost);
    sheet_set(c, FIRM_RESERVE, m.firm_reserve_gpus);
    sheet_set(c, FIRM_COST, m.firm_cost_h);
    sheet_set(c, WITH_SPOT, m.with_spot_cost_h);
    sheet_set(c, USE_SPOT, m.use_spot);
    sheet_set(c, BEST, m.best_cost_h);
}

static const char *const rules[] = {
    "Where on demand is no dearer than reserved, reserve nothing.",
    "Without spread the mean is reserved and nothing overflows.",
    "The reservation is never below 0; at 0 the overflow is the mean.",
    NULL,
};

extern const struct sheet sheet_fleet_mix;
const struct sheet sheet_fleet_mix = {
    .name = "fleet-mix",
    .group = "Checkpoints, spot capacity and failures",
    .question = "How much capacity to reserve, how much to buy on demand, how much on spot?",
    .doc =
        "Demand is normal. Reserved capacity is paid always, on demand only while demand is "
        "above the reservation; a tolerant share may run on spot at price / efficiency.",
    .assumption = "On demand is always to be had, by the hour.",
    .rules = rules,
    .sources = "F. Y. Edgeworth (1888); K. Arrow, T. Harris and J. Marschak (1951): the newsvendor",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = BEST,
    .solve = solve,
};
