/* Worksheet: the unit a GPU cloud sells in, and what rounding up does to margin. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { UNIT, GPUS, SIZES, WEIGHTS, OCCUPANCY, LEASE, SCRUB, PRICE, COST };
enum {
    UNITS,
    REMAINDER,
    REQUEST,
    ALLOC,
    FRAG,
    AVAILABLE,
    SOLD,
    USEFUL,
    REV_UNITS,
    REV_REQUESTED,
    MARGIN_UNITS,
    MARGIN_REQUESTED,
    BREAK_UNITS,
    BREAK_REQUESTED
};

static const struct sheet_input inputs[] = {
    [UNIT] = SHEET_INPUT("unit_gpus", "u", "GPUs", "allocation unit", "8", .type = SHEET_COUNT,
                         .min = 1, .max = 1e6),
    [GPUS] = SHEET_INPUT("gpus", "G", "GPUs", "fleet", "2048", .type = SHEET_COUNT, .min = 1,
                         .max = 1e8),
    [SIZES] = SHEET_INPUT("sizes", "s", "GPUs", "request sizes", "1, 2, 4, 8, 16", .list = true,
                          .type = SHEET_COUNT, .min = 1, .max = 1e6),
    [WEIGHTS] = SHEET_INPUT("weights", "w", "-", "relative frequency of each size",
                            "0.4, 0.2, 0.2, 0.15, 0.05", .list = true),
    [OCCUPANCY] = SHEET_INPUT("occupancy", "o", "fraction", "share of available units on lease",
                              "0.85", .max = 1),
    [LEASE] = SHEET_INPUT("lease_h", "L", "h", "mean lease", "24", .above = true),
    [SCRUB] = SHEET_INPUT("scrub_h", "q", "h", "cleaning between leases", "0.5"),
    [PRICE] = SHEET_INPUT("price", "p", "$/GPU-h", "price", "3", .above = true),
    [COST] = SHEET_INPUT("cost", "c", "$/GPU-h", "cost of owning a GPU-hour", "1.6"),
};

static const struct sheet_output outputs[] = {
    [UNITS] = SHEET_OUTPUT("units", "N", "units", "floor({gpus} / {unit_gpus})",
                           "The fleet is {units}.", .type = SHEET_COUNT),
    [REMAINDER] = SHEET_OUTPUT("remainder_gpus", "G_0", "GPUs", "{gpus} - {units} x {unit_gpus}",
                               "{remainder_gpus} can never be sold.", .type = SHEET_COUNT),
    [REQUEST] = SHEET_OUTPUT("mean_request_gpus", "s_m", "GPUs", "sum of w s / sum of w",
                             "A customer asks for {mean_request_gpus} on average."),
    [ALLOC] = SHEET_OUTPUT("mean_alloc_gpus", "a_m", "GPUs",
                           "sum of w x {unit_gpus#} x ceil(s / {unit_gpus#}) / sum of w",
                           "And gets {mean_alloc_gpus}, in whole units."),
    [FRAG] = SHEET_OUTPUT("internal_frag", "f", "fraction",
                          "1 - {mean_request_gpus} / {mean_alloc_gpus}",
                          "{internal_frag} of what is on lease is rounding up."),
    [AVAILABLE] =
        SHEET_OUTPUT("available_frac", "v", "fraction", "{lease_h} / ({lease_h} + {scrub_h})",
                     "Cleaning leaves {available_frac} of the time."),
    [SOLD] = SHEET_OUTPUT("sold_frac", "S", "fraction",
                          "{occupancy} x {available_frac} x {units} x {unit_gpus} / {gpus}",
                          "{sold_frac} of the GPUs owned are on lease."),
    [USEFUL] = SHEET_OUTPUT("useful_frac", "U", "fraction", "{sold_frac} x (1 - {internal_frag})",
                            "{useful_frac} were asked for."),
    [REV_UNITS] = SHEET_OUTPUT("rev_units", "r_u", "$/GPU-h", "{price} x {sold_frac}",
                               "Billed by units a GPU owned earns {rev_units}."),
    [REV_REQUESTED] = SHEET_OUTPUT("rev_requested", "r_r", "$/GPU-h", "{price} x {useful_frac}",
                                   "Billed by what was asked for, {rev_requested}."),
    [MARGIN_UNITS] = SHEET_OUTPUT("margin_units", "m_u", "fraction", "1 - {cost} / {rev_units}",
                                  "The margin on units is {margin_units}."),
    [MARGIN_REQUESTED] =
        SHEET_OUTPUT("margin_requested", "m_r", "fraction", "1 - {cost} / {rev_requested}",
                     "On what was asked for it is {margin_requested}."),
    [BREAK_UNITS] =
        SHEET_OUTPUT("breakeven_occ_units", "o_u", "fraction",
                     "{cost} / ({price} x {available_frac} x {units} x {unit_gpus} / {gpus})",
                     "Billed by units, {breakeven_occ_units} of occupancy pays the cost."),
    [BREAK_REQUESTED] = SHEET_OUTPUT("breakeven_occ_requested", "o_r", "fraction",
                                     "{breakeven_occ_units} / (1 - {internal_frag})",
                                     "Billed by what was asked for, {breakeven_occ_requested}."),
};

static bool never_pays(const struct sheet_case *c)
{
    return sheet_out(c, BREAK_REQUESTED) > 1;
}

static bool units_never_pay(const struct sheet_case *c)
{
    return sheet_out(c, BREAK_UNITS) > 1;
}

static bool all_divide(const struct sheet_case *c)
{
    return sheet_out(c, FRAG) == 0;
}

static const struct sheet_remark remarks[] = {
    {FRAG, all_divide, "Every size is whole units: nothing is rounded up."},
    {BREAK_UNITS, units_never_pay, "Even fully let, units do not pay their cost."},
    {BREAK_REQUESTED, never_pays, "Even fully let, billing what was asked for does not pay."},
};

/* ---- mistakes ---- */

static double of_sizes(const struct sheet_case *c, bool rounded, bool weighted)
{
    size_t n;
    const double *size = sheet_list(c, SIZES, &n), *weight = sheet_list(c, WEIGHTS, &n);
    const double u = sheet_in(c, UNIT);
    double sum = 0, weights = 0;
    for (size_t i = 0; i < n; i++) {
        const double w = weighted ? weight[i] : 1;
        sum += w * (rounded ? u * ceil(size[i] / u) : size[i]);
        weights += w;
    }
    return sum / weights;
}

static double unweighted(const struct sheet_case *c)
{
    return of_sizes(c, false, false);
}

static double rounded_mean(const struct sheet_case *c)
{
    const double u = sheet_in(c, UNIT);
    return u * sheet_ceil(sheet_out(c, REQUEST) / u);
}

static double margin_on_cost(const struct sheet_case *c)
{
    return sheet_in(c, COST) > 0 ? sheet_out(c, REV_UNITS) / sheet_in(c, COST) - 1 : NAN;
}

static const struct sheet_mistake mistakes[] = {
    {REQUEST, "leaves out how often each size is asked for", unweighted},
    {ALLOC, "rounds up the mean size, not each size", rounded_mean},
    {MARGIN_UNITS, "takes the markup on cost for the margin on revenue", margin_on_cost},
};

/* ---- solution ---- */

static void check(struct sheet_case *c)
{
    size_t n, m;
    double sum = 0;
    sheet_list(c, SIZES, &n);
    const double *weight = sheet_list(c, WEIGHTS, &m);
    for (size_t i = 0; i < m; i++)
        sum += weight[i];
    if (n != m)
        sheet_refuse(c, WEIGHTS, "%zu weights for %zu sizes", m, n);
    else if (!(sum > 0))
        sheet_refuse(c, WEIGHTS, "are all 0");
}

static double margin(double cost, double revenue)
{
    return revenue > 0 ? 1 - cost / revenue : -INFINITY;
}

static void solve(struct sheet_case *c)
{
    const double u = sheet_in(c, UNIT), gpus = sheet_in(c, GPUS), units = floor(gpus / u);
    const double request = of_sizes(c, false, true), alloc = of_sizes(c, true, true);
    const double useful = request / alloc, lease = sheet_in(c, LEASE);
    const double available = lease / (lease + sheet_in(c, SCRUB)), sellable = units * u / gpus;
    const double sold = sheet_in(c, OCCUPANCY) * available * sellable;
    const double price = sheet_in(c, PRICE), cost = sheet_in(c, COST);
    const double breakeven = units > 0 ? cost / (price * available * sellable) : INFINITY;
    sheet_set(c, UNITS, units);
    sheet_set(c, REMAINDER, gpus - units * u);
    sheet_set(c, REQUEST, request);
    sheet_set(c, ALLOC, alloc);
    sheet_set(c, FRAG, 1 - useful);
    sheet_set(c, AVAILABLE, available);
    sheet_set(c, SOLD, sold);
    sheet_set(c, USEFUL, sold * useful);
    sheet_set(c, REV_UNITS, price * sold);
    sheet_set(c, REV_REQUESTED, price * sold * useful);
    sheet_set(c, MARGIN_UNITS, margin(cost, price * sold));
    sheet_set(c, MARGIN_REQUESTED, margin(cost, price * sold * useful));
    sheet_set(c, BREAK_UNITS, breakeven);
    sheet_set(c, BREAK_REQUESTED, breakeven / useful);
}

static const char *const rules[] = {
    "A unit of 1 GPU, or sizes that are whole units, round nothing up.",
    "Nothing on lease: the margins are minus infinity.",
    "A unit larger than the fleet: no units, nothing sold, no occupancy breaks even.",
    "There are as many weights as sizes, not all of them 0.",
    NULL,
};

extern const struct sheet sheet_allocation_unit;
const struct sheet sheet_allocation_unit = {
    .name = "allocation-unit",
    .group = "Multi-tenant cloud: units, packing, scrubbing",
    .question = "Which unit should a GPU cloud sell in, and what does rounding up do to margin?",
    .doc =
        "Customers ask for sizes of a mix; each gets whole units. A share of units is out between "
        "leases for cleaning. Revenue bills the GPUs asked for, or the whole units.",
    .assumption = "Any request finds its units: they need not lie side by side.",
    .rules = rules,
    .sources =
        "B. Randell, 'A note on storage fragmentation' (1969); renewal-reward of the cycle of "
        "lease and cleaning",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = FRAG,
    .check = check,
    .solve = solve,
};
