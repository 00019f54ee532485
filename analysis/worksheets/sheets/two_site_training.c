/* Worksheet: one training job across two sites. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { PARAMS, BYTES, WAN, RTT, STEP, OVERLAP, LOCAL, EGRESS, TARGET };
enum { SYNC, COMM, EXPOSED, EFFICIENCY, SLOWDOWN, LOCAL_FOR, WAN_TO_HIDE, EGRESS_DAY, COST };

static const struct sheet_input inputs[] = {
    [PARAMS] = SHEET_INPUT("params_b", "P", "10^9", "parameters, billions", "70"),
    [BYTES] = SHEET_INPUT("grad_bytes", "b", "bytes", "bytes exchanged of a parameter", "2"),
    [WAN] = SHEET_INPUT("wan_gbps", "B", "Gb/s", "link rate each way", "100", .above = true),
    [RTT] = SHEET_INPUT("rtt_ms", "r", "ms", "round-trip time", "60"),
    [STEP] = SHEET_INPUT("step_s", "t", "s", "compute time of one step", "10", .above = true),
    [OVERLAP] = SHEET_INPUT("overlap_frac", "o", "fraction",
                            "share of one step that can hide the exchange", "0.5", .max = 1),
    [LOCAL] = SHEET_INPUT("local_steps", "H", "steps", "steps between exchanges", "1",
                          .type = SHEET_COUNT, .min = 1, .max = 1e9),
    [EGRESS] =
        SHEET_INPUT("egress_per_gb", "p", "$/GB", "price of sending a GB out of a site", "0.02"),
    [TARGET] = SHEET_INPUT("target_eff", "e", "fraction", "wanted efficiency", "0.95",
                           .above = true, .max = 1, .below = true),
};

static const struct sheet_output outputs[] = {
    [SYNC] = SHEET_OUTPUT("sync_gb", "G", "GB", "{params_b} x {grad_bytes}",
                          "Each site sends and receives {sync_gb} an exchange."),
    [COMM] = SHEET_OUTPUT("comm_s", "c", "s", "8 x {sync_gb} / {wan_gbps} + 2 x {rtt_ms} / 1000",
                          "On the link that takes {comm_s}: a byte is 8 bits."),
    [EXPOSED] = SHEET_OUTPUT("exposed_s", "X", "s", "max(0, {comm_s} - {overlap_frac} x {step_s})",
                             "{exposed_s} of it stick out of the compute."),
    [EFFICIENCY] = SHEET_OUTPUT("efficiency", "eta", "fraction",
                                "{local_steps} x {step_s} / ({local_steps} x {step_s} + "
                                "{exposed_s})",
                                "The GPUs compute {efficiency} of the time."),
    [SLOWDOWN] = SHEET_OUTPUT("slowdown", "1/eta", "-", "1 / {efficiency}",
                              "A run takes {slowdown} times as long as on one site."),
    [LOCAL_FOR] = SHEET_OUTPUT("local_steps_for_target", "H_e", "steps",
                               "ceil({target_eff} x {exposed_s} / ((1 - {target_eff}) x "
                               "{step_s}))",
                               "Exchanging every {local_steps_for_target#} steps would do.",
                               .type = SHEET_COUNT),
    [WAN_TO_HIDE] = SHEET_OUTPUT("wan_gbps_to_hide", "B_0", "Gb/s",
                                 "8 x {sync_gb} / ({overlap_frac} x {step_s} - 2 x {rtt_ms} / "
                                 "1000)",
                                 "A link of {wan_gbps_to_hide} would hide all of it."),
    [EGRESS_DAY] = SHEET_OUTPUT("egress_gb_day", "V", "GB/day",
                                "2 x {sync_gb} x 86400 / ({local_steps} x {step_s} + "
                                "{exposed_s})",
                                "Both sites together send {egress_gb_day}."),
    [COST] = SHEET_OUTPUT("egress_cost_day", "K", "$/day", "{egress_gb_day} x {egress_per_gb}",
                          "That costs {egress_cost_day}."),
};

static bool hidden(const struct sheet_case *c)
{
    return sheet_out(c, EXPOSED) == 0;
}

static bool never_hidden(const struct sheet_case *c)
{
    return isinf(sheet_out(c, WAN_TO_HIDE));
}

static const struct sheet_remark remarks[] = {
    {EXPOSED, hidden, "All of it hides behind the compute of a step."},
    {WAN_TO_HIDE, never_hidden, "No link hides it: the round trips alone are longer."},
};

static double bytes_as_bits(const struct sheet_case *c)
{
    return sheet_out(c, SYNC) / sheet_in(c, WAN) + 2 * sheet_in(c, RTT) / 1000;
}

static double one_round_trip(const struct sheet_case *c)
{
    return 8 * sheet_out(c, SYNC) / sheet_in(c, WAN) + sheet_in(c, RTT) / 1000;
}

static const struct sheet_mistake mistakes[] = {
    {COMM, "takes bytes for bits: a link of 100 Gb/s carries 12.5 GB/s", bytes_as_bits},
    {COMM, "counts one round trip; reduce-scatter and all-gather are two", one_round_trip},
};

static void solve(struct sheet_case *c)
{
    const double sync = sheet_in(c, PARAMS) * sheet_in(c, BYTES), step = sheet_in(c, STEP);
    const double trips = 2 * sheet_in(c, RTT) / 1000, room = sheet_in(c, OVERLAP) * step - trips;
    const double comm = 8 * sync / sheet_in(c, WAN) + trips;
    const double exposed = fmax(0, comm - sheet_in(c, OVERLAP) * step);
    const double compute = sheet_in(c, LOCAL) * step, target = sheet_in(c, TARGET);
    const double egress = 2 * sync * 86400 / (compute + exposed);
    sheet_set(c, SYNC, sync);
    sheet_set(c, COMM, comm);
    sheet_set(c, EXPOSED, exposed);
    sheet_set(c, EFFICIENCY, compute / (compute + exposed));
    sheet_set(c, SLOWDOWN, (compute + exposed) / compute);
    sheet_set(c, LOCAL_FOR, fmax(1, sheet_ceil(target * exposed / ((1 - target) * step))));
    sheet_set(c, WAN_TO_HIDE,
              exposed == 0 && sync == 0 ? 0
              : room > 0                ? 8 * sync / room
                                        : INFINITY);
    sheet_set(c, EGRESS_DAY, egress);
    sheet_set(c, COST, egress * sheet_in(c, EGRESS));
}

static const char *const rules[] = {
    "With everything hidden the efficiency is 1 and every step may exchange.",
    "Where the round trips alone exceed the overlap no link rate hides the exchange.",
    NULL,
};

extern const struct sheet sheet_two_site_training;
const struct sheet sheet_two_site_training = {
    .name = "two-site-training",
    .group = "Operating a large fleet",
    .question = "Can one training job run across two sites: what does the link between them cost?",
    .doc =
        "Data-parallel training split over two sites that exchange the whole gradient, or the "
        "whole change of the weights, every H steps: each site sends and receives one full "
        "copy. Part of the exchange can hide behind one step's compute.",
    .assumption =
        "The model learns as well with H local steps between exchanges: that is for "
        "an experiment to say, not for this sheet.",
    .rules = rules,
    .sources =
        "R. Rabenseifner (2004): reduce-scatter and all-gather move 2 (k-1)/k of the "
        "buffer, one full copy each way for two; A. Douillard et al., DiLoCo (2023)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = EFFICIENCY,
    .solve = solve,
};
