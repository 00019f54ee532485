/* Worksheet: when spot capacity stops paying. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/spot.h"

#include <math.h>

enum { OD_PRICE, SPOT_PRICE, MTBF, SAVE, RESTART, DOWN, OD_MTBF, NODES, NOTICE };
enum {
    GANG_MTBF,
    INTERVAL,
    EFF,
    OD_INTERVAL,
    OD_EFF,
    COST,
    OD_COST,
    SAVING,
    PAYS,
    PRICE_LIMIT,
    MTBF_LIMIT,
    SLOWDOWN,
    NOTICE_SAVES,
    NOTICE_EFF,
    NOTICE_COST
};

static const struct sheet_input inputs[] = {
    [OD_PRICE] = SHEET_INPUT("od_price", "p_d", "$/GPU-h", "on-demand price", "4", .above = true),
    [SPOT_PRICE] = SHEET_INPUT("spot_price", "p_s", "$/GPU-h", "spot price", "1.6", .above = true),
    [MTBF] = SHEET_INPUT("mtbf_s", "M_1", "s", "mean time between preemptions of one spot node",
                         "14400", .above = true),
    [SAVE] = SHEET_INPUT("ckpt_s", "C", "s", "save time", "30"),
    [RESTART] = SHEET_INPUT("restart_s", "R", "s", "restart time", "180"),
    [DOWN] = SHEET_INPUT("downtime_s", "D", "s", "wait for replacement capacity, at the same price",
                         "120"),
    [OD_MTBF] =
        SHEET_INPUT("od_mtbf_s", "M_d", "s", "mean time between failures of one on-demand node",
                    "2592000", .above = true, .endless = true),
    [NODES] = SHEET_INPUT("gang_nodes", "g", "nodes", "nodes in the gang", "1", .type = SHEET_COUNT,
                          .min = 1, .max = 1e6),
    [NOTICE] = SHEET_INPUT("notice_s", "N", "s", "warning before a preemption", "120"),
};

static const struct sheet_output outputs[] = {
    [GANG_MTBF] = SHEET_OUTPUT("spot_gang_mtbf_s", "M", "s", "{mtbf_s} / {gang_nodes}",
                               "Any node stops all of them: the gang is preempted every "
                               "{spot_gang_mtbf_s}."),
    [INTERVAL] = SHEET_OUTPUT("spot_interval_s", "tau_s", "s", "M (1 + W0(-exp(-C/M - 1)))",
                              "On spot it saves best every {spot_interval_s}."),
    [EFF] = SHEET_OUTPUT("spot_eff", "e_s", "fraction",
                         "tau_s / (exp(R/M) (M + D) (exp((tau_s + C)/M) - 1))",
                         "{spot_eff} of spot time is work that is kept."),
    [OD_INTERVAL] = SHEET_OUTPUT("od_interval_s", "tau_d", "s",
                                 "the same optimum at {od_mtbf_s} / {gang_nodes}",
                                 "On demand it saves every {od_interval_s}."),
    [OD_EFF] = SHEET_OUTPUT("od_eff", "e_d", "fraction", "the same efficiency there",
                            "On demand {od_eff} is kept."),
    [COST] = SHEET_OUTPUT("spot_cost", "c_s", "$/useful GPU-h", "{spot_price} / {spot_eff}",
                          "A useful GPU-hour costs {spot_cost#} dollars on spot."),
    [OD_COST] = SHEET_OUTPUT("od_cost", "c_d", "$/useful GPU-h", "{od_price} / {od_eff}",
                             "On demand it costs {od_cost#}."),
    [SAVING] = SHEET_OUTPUT("saving_frac", "s", "fraction", "1 - {spot_cost} / {od_cost}",
                            "Spot saves {saving_frac}."),
    [PAYS] = SHEET_OUTPUT("spot_pays", "pays", "0/1", "1 when {spot_cost} < {od_cost}",
                          "Spot pays.", .type = SHEET_FLAG),
    [PRICE_LIMIT] = SHEET_OUTPUT("breakeven_spot_price", "p_0", "$/GPU-h", "{od_cost} x {spot_eff}",
                                 "It would up to a spot price of {breakeven_spot_price}."),
    [MTBF_LIMIT] = SHEET_OUTPUT("breakeven_mtbf_s", "M_0", "s",
                                "the M_1 at which {spot_price} / spot_eff = {od_cost}",
                                "And down to a preemption every {breakeven_mtbf_s} a node."),
    [SLOWDOWN] = SHEET_OUTPUT("slowdown", "w", "-", "1 / {spot_eff}",
                              "It takes {slowdown} times as long as undisturbed."),
    [NOTICE_SAVES] = SHEET_OUTPUT("notice_saves", "fits", "0/1", "1 when {ckpt_s} <= {notice_s}",
                                  "A save fits into the notice.", .type = SHEET_FLAG),
    [NOTICE_EFF] = SHEET_OUTPUT("notice_eff", "e_n", "fraction",
                                "M / (M + N + D + R) when a save fits into the notice, else e_s",
                                "Saving on notice only would keep {notice_eff}."),
    [NOTICE_COST] =
        SHEET_OUTPUT("notice_cost", "c_n", "$/useful GPU-h", "{spot_price} / {notice_eff}",
                     "And cost {notice_cost#} a useful GPU-hour."),
};

static bool loses(const struct sheet_case *c)
{
    return sheet_out(c, PAYS) == 0;
}

static bool never_pays(const struct sheet_case *c)
{
    return c->out[MTBF_LIMIT].items[0].kind == VALUE_NONE;
}

static bool no_help(const struct sheet_case *c)
{
    return sheet_out(c, NOTICE_SAVES) == 0;
}

static const struct sheet_remark remarks[] = {
    {PAYS, loses, "Spot does not pay: what it loses costs more than its discount."},
    {MTBF_LIMIT, never_pays, "However seldom it is preempted, spot does not pay."},
    {NOTICE_SAVES, no_help, "A save does not fit into the notice, which is no help then."},
};

/* ---- mistakes ---- */

static double discount_only(const struct sheet_case *c)
{
    return 1 - sheet_in(c, SPOT_PRICE) / sheet_in(c, OD_PRICE);
}

static double perfect_demand(const struct sheet_case *c)
{
    return 1 - sheet_out(c, COST) / sheet_in(c, OD_PRICE);
}

static double one_node(const struct sheet_case *c)
{
    return sheet_in(c, MTBF);
}

static double by_list_price(const struct sheet_case *c)
{
    return sheet_in(c, OD_PRICE) * sheet_out(c, EFF);
}

static const struct sheet_mistake mistakes[] = {
    {GANG_MTBF, "takes the time between preemptions of one node: any node stops the gang",
     one_node},
    {SAVING, "takes the discount for the saving: lost work is paid for too", discount_only},
    {SAVING, "lets on-demand capacity never fail", perfect_demand},
    {PRICE_LIMIT, "lets on-demand capacity never fail", by_list_price},
};

/* ---- solution ---- */

static void solve(struct sheet_case *c)
{
    const struct spot_terms t = {
        .od_price = sheet_in(c, OD_PRICE),
        .spot_price = sheet_in(c, SPOT_PRICE),
        .mtbf_s = sheet_in(c, MTBF),
        .od_mtbf_s = sheet_in(c, OD_MTBF),
        .save_s = sheet_in(c, SAVE),
        .restart_s = sheet_in(c, RESTART),
        .down_s = sheet_in(c, DOWN),
        .notice_s = sheet_in(c, NOTICE),
        .gang_nodes = (uint32_t)sheet_in(c, NODES),
    };
    const struct spot_worth w = spot_worth(&t);
    sheet_set(c, GANG_MTBF, w.gang_mtbf_s);
    sheet_set(c, INTERVAL, w.interval_s);
    sheet_set(c, EFF, w.eff);
    sheet_set(c, OD_INTERVAL, w.od_interval_s);
    sheet_set(c, OD_EFF, w.od_eff);
    sheet_set(c, COST, w.cost);
    sheet_set(c, OD_COST, w.od_cost);
    sheet_set_if(c, SAVING, !isnan(w.saving_frac), w.saving_frac);
    sheet_set(c, PAYS, w.pays);
    sheet_set_if(c, PRICE_LIMIT, !isnan(w.breakeven_price), w.breakeven_price);
    sheet_set_if(c, MTBF_LIMIT, !isnan(w.breakeven_mtbf_s), w.breakeven_mtbf_s);
    sheet_set(c, SLOWDOWN, 1 / w.eff);
    sheet_set(c, NOTICE_SAVES, w.notice_saves);
    sheet_set(c, NOTICE_EFF, w.notice_eff);
    sheet_set(c, NOTICE_COST, w.notice_cost);
}

static const char *const rules[] = {
    "At a spot price at or above the cost on demand spot never pays, and no break-even MTBF "
    "exists.",
    "A save longer than the notice: saving on notice is as good as saving at intervals.",
    "On-demand nodes that never fail keep everything and save never.",
    "Where both kinds of capacity keep nothing there is no saving.",
    NULL,
};

extern const struct sheet sheet_spot_breakeven;
const struct sheet sheet_spot_breakeven = {
    .name = "spot-breakeven",
    .group = "Checkpoints, spot capacity and failures",
    .question = "When does spot capacity stop paying?",
    .doc =
        "The cost of a useful GPU-hour is price over efficiency, with both kinds of capacity "
        "saving at their own best interval. A gang is preempted when any of its nodes is.",
    .assumption = "Waiting for capacity costs as much as computing; preemptions are memoryless.",
    .rules = rules,
    .sources =
        "M. Bougeret et al., SC (2011); J. T. Daly, FGCS 22 (2006); renewal-reward theorem, W. L. "
        "Smith (1955)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = SAVING,
    .solve = solve,
};
