/* Worksheet: GPUs under a power contract that bills reserved kilowatts. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { CONTRACT, RACK, PER_RACK, PUE, RESERVE, ENERGY, LOAD, HOURS };
enum {
    RACKS,
    GPUS,
    STRANDED,
    RESERVE_COST,
    ENERGY_KWH,
    ENERGY_COST,
    TOTAL,
    GPU_H,
    KWH,
    SHARE,
    STRANDED_COST
};

static const struct sheet_input inputs[] = {
    [CONTRACT] = SHEET_INPUT("contract_kw", "K", "kW", "contracted IT power", "3000"),
    [RACK] = SHEET_INPUT("rack_kw", "k", "kW", "peak power of one rack", "130", .above = true),
    [PER_RACK] = SHEET_INPUT("gpus_per_rack", "g", "GPUs", "GPUs per rack", "72",
                             .type = SHEET_COUNT, .min = 1, .max = 1e6),
    [PUE] = SHEET_INPUT("pue", "P", "-", "facility power over IT power", "1.3", .min = 1),
    [RESERVE] = SHEET_INPUT("reserve_price", "p_r", "$/kW-month", "price of a reserved kW", "184"),
    [ENERGY] = SHEET_INPUT("energy_price", "p_e", "$/kWh", "energy price", "0.08"),
    [LOAD] = SHEET_INPUT("load_frac", "f", "fraction", "mean draw over peak draw", "0.7", .max = 1),
    [HOURS] = SHEET_INPUT("hours_month", "h", "h", "hours in a month", "730", .above = true),
};

static const struct sheet_output outputs[] = {
    [RACKS] = SHEET_OUTPUT("racks", "n", "racks", "floor({contract_kw} / {rack_kw})",
                           "{racks} fit: a part of a rack does not.", .type = SHEET_COUNT),
    [GPUS] = SHEET_OUTPUT("gpus", "N", "GPUs", "{racks} x {gpus_per_rack}", "That is {gpus}.",
                          .type = SHEET_COUNT),
    [STRANDED] = SHEET_OUTPUT("stranded_kw", "s", "kW", "{contract_kw} - {racks} x {rack_kw}",
                              "{stranded_kw} are paid for and cannot be used."),
    [RESERVE_COST] =
        SHEET_OUTPUT("reserve_cost_month", "C_r", "$", "{contract_kw} x {reserve_price}",
                     "The reservation costs {reserve_cost_month} a month, used or "
                     "not."),
    [ENERGY_KWH] = SHEET_OUTPUT("energy_kwh_month", "E", "kWh",
                                "{racks} x {rack_kw} x {load_frac} x {pue} x {hours_month}",
                                "The hall draws {energy_kwh_month}, cooling included."),
    [ENERGY_COST] = SHEET_OUTPUT("energy_cost_month", "C_e", "$",
                                 "{energy_kwh_month} x {energy_price}", "for {energy_cost_month}."),
    [TOTAL] =
        SHEET_OUTPUT("total_cost_month", "C", "$", "{reserve_cost_month} + {energy_cost_month}",
                     "Power costs {total_cost_month} a month."),
    [GPU_H] = SHEET_OUTPUT("cost_per_gpu_h", "c", "$/GPU-h",
                           "{total_cost_month} / ({gpus} x {hours_month})",
                           "That is {cost_per_gpu_h} on top of the GPU itself."),
    [KWH] = SHEET_OUTPUT("effective_kwh_price", "c_e", "$/kWh",
                         "{total_cost_month} / ({racks} x {rack_kw} x {load_frac} x "
                         "{hours_month})",
                         "A kWh that reaches a server costs {effective_kwh_price}."),
    [SHARE] =
        SHEET_OUTPUT("reserve_share", "q", "fraction", "{reserve_cost_month} / {total_cost_month}",
                     "{reserve_share} of the bill does not depend on the load: idling saves "
                     "little."),
    [STRANDED_COST] =
        SHEET_OUTPUT("stranded_cost_month", "C_s", "$", "{stranded_kw} x {reserve_price}",
                     "The stranded part costs {stranded_cost_month} a month."),
};

static bool none_fits(const struct sheet_case *c)
{
    return sheet_out(c, RACKS) == 0;
}

static const struct sheet_remark remarks[] = {
    {RACKS, none_fits, "A single rack is above the contract."},
};

static double through_pue(const struct sheet_case *c)
{
    return sheet_floor(sheet_in(c, CONTRACT) / (sheet_in(c, RACK) * sheet_in(c, PUE)));
}

static double at_mean_load(const struct sheet_case *c)
{
    return sheet_in(c, LOAD) > 0
               ? sheet_floor(sheet_in(c, CONTRACT) / (sheet_in(c, RACK) * sheet_in(c, LOAD)))
               : NAN;
}

static const struct sheet_mistake mistakes[] = {
    {RACKS, "puts the cooling under a contract of IT power", through_pue},
    {RACKS, "takes the mean draw for the peak", at_mean_load},
};

static void solve(struct sheet_case *c)
{
    const double contract = sheet_in(c, CONTRACT), rack = sheet_in(c, RACK);
    const double hours = sheet_in(c, HOURS), racks = sheet_floor(contract / rack);
    const double gpus = racks * sheet_in(c, PER_RACK),
                 used = racks * rack * sheet_in(c, LOAD) * hours;
    const double reserve = contract * sheet_in(c, RESERVE),
                 stranded = fmax(0, contract - racks * rack);
    const double energy = used * sheet_in(c, PUE), total = reserve + energy * sheet_in(c, ENERGY);
    sheet_set(c, RACKS, racks);
    sheet_set(c, GPUS, gpus);
    sheet_set(c, STRANDED, stranded);
    sheet_set(c, RESERVE_COST, reserve);
    sheet_set(c, ENERGY_KWH, energy);
    sheet_set(c, ENERGY_COST, energy * sheet_in(c, ENERGY));
    sheet_set(c, TOTAL, total);
    sheet_set(c, GPU_H, gpus > 0 ? total / (gpus * hours) : INFINITY);
    sheet_set(c, KWH, used > 0 ? total / used : INFINITY);
    sheet_set(c, SHARE, total > 0 ? reserve / total : 0);
    sheet_set(c, STRANDED_COST, stranded * sheet_in(c, RESERVE));
}

static const char *const rules[] = {
    "A rack above the contract: none fits, and a GPU-hour or a kWh costs without bound.",
    "Without load no energy is used and its effective price is infinite.",
    "A PUE below 1 is refused.",
    NULL,
};

extern const struct sheet sheet_power_contract;
const struct sheet sheet_power_contract = {
    .name = "power-contract",
    .group = "Operating a large fleet",
    .question =
        "How many GPUs fit a power contract that bills reserved kilowatts, and what does "
        "idling cost?",
    .doc =
        "A hall has a contracted IT power; racks are whole. The contract bills the reserved "
        "kilowatts every month and passes energy through at what is used, with the overhead "
        "factor (PUE).",
    .assumption = "Take or pay: the reserved kilowatts are billed whether they are drawn or not.",
    .rules = rules,
    .sources = "take-or-pay contract arithmetic",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = GPUS,
    .solve = solve,
};
