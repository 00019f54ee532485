/* Worksheet: what fraction of a big training run is useful, given node failures. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/renewal.h"

#include <math.h>

enum { NODES, PER_NODE, NODE_MTBF, SAVE, RESTART, DETECT, INTERVAL };
enum { JOB_MTBF, USED, GOODPUT, FAILURES, SAVE_FRAC, LOST_FRAC, LOST };

static const struct sheet_input inputs[] = {
    [NODES] = SHEET_INPUT("nodes", "n", "nodes", "nodes in the run", "256", .type = SHEET_COUNT,
                          .min = 1, .max = 1e6),
    [PER_NODE] = SHEET_INPUT("gpus_per_node", "g", "GPUs", "GPUs of a node", "8",
                             .type = SHEET_COUNT, .min = 1, .max = 1e4),
    [NODE_MTBF] = SHEET_INPUT("node_mtbf_h", "M_1", "h", "mean time between failures of one node",
                              "6300", .above = true, .endless = true),
    [SAVE] = SHEET_INPUT("ckpt_s", "C", "s", "save time", "60"),
    [RESTART] = SHEET_INPUT("restart_s", "R", "s", "restart, which can fail too", "600"),
    [DETECT] = SHEET_INPUT("detect_s", "D", "s", "detection and replacement", "300"),
    [INTERVAL] =
        SHEET_INPUT("interval_s", "t", "s", "interval between saves; 0: the exact optimum", "0"),
};

static const struct sheet_output outputs[] = {
    [JOB_MTBF] = SHEET_OUTPUT("job_mtbf_h", "M", "h", "{node_mtbf_h} / {nodes}",
                              "Any node stops all of them: the run fails every {job_mtbf_h}."),
    [USED] = SHEET_OUTPUT("interval_used_s", "tau", "s",
                          "{interval_s}, or the optimum M (1 + W0(-exp(-C/M - 1)))",
                          "It saves every {interval_used_s}."),
    [GOODPUT] =
        SHEET_OUTPUT("goodput", "e", "fraction", "tau / [exp(R/M) (M + D) (exp((tau + C)/M) - 1)]",
                     "{goodput} of the time is work that is kept."),
    [FAILURES] =
        SHEET_OUTPUT("failures_per_day", "f", "1/day", "86400 / ({job_mtbf_h} x 3600 + {detect_s})",
                     "It fails {failures_per_day#} times a day."),
    [SAVE_FRAC] =
        SHEET_OUTPUT("save_frac", "s", "fraction", "{goodput} x {ckpt_s} / {interval_used_s}",
                     "{save_frac} of the time is spent in saves."),
    [LOST_FRAC] = SHEET_OUTPUT("lost_frac", "l", "fraction", "1 - {goodput} - {save_frac}",
                               "{lost_frac} is work done again, restarts and detection."),
    [LOST] = SHEET_OUTPUT("lost_gpu_h_day", "L", "GPU-h/day",
                          "(1 - {goodput}) x 24 x {nodes} x {gpus_per_node}",
                          "In GPU-hours that is {lost_gpu_h_day}."),
};

/* The run's goodput with failures of one node only. */
static double one_node(const struct sheet_case *c)
{
    const struct renewal r = {3600 * sheet_in(c, NODE_MTBF), sheet_in(c, SAVE),
                              sheet_in(c, RESTART), sheet_in(c, DETECT)};
    return renewal_efficiency(&r, renewal_interval_s(&r, sheet_in(c, INTERVAL)));
}

static double node_mtbf(const struct sheet_case *c)
{
    return sheet_in(c, NODE_MTBF);
}

static const struct sheet_mistake mistakes[] = {
    {JOB_MTBF, "takes the time between failures of one node: any node stops the run", node_mtbf},
    {GOODPUT, "lets only one node fail: any node stops the run", one_node},
};

static void solve(struct sheet_case *c)
{
    const double nodes = sheet_in(c, NODES), mtbf_h = sheet_in(c, NODE_MTBF) / nodes;
    const struct renewal r = {3600 * mtbf_h, sheet_in(c, SAVE), sheet_in(c, RESTART),
                              sheet_in(c, DETECT)};
    const double tau = renewal_interval_s(&r, sheet_in(c, INTERVAL));
    const double goodput = renewal_efficiency(&r, tau), whole = renewal_segment_s(&r, tau);
    const double save = r.save_s > 0 ? r.save_s / whole : 0;
    sheet_set(c, JOB_MTBF, mtbf_h);
    sheet_set(c, USED, tau);
    sheet_set(c, GOODPUT, goodput);
    sheet_set(c, FAILURES, 86400 / (r.mtbf_s + r.down_s));
    sheet_set(c, SAVE_FRAC, save);
    sheet_set(c, LOST_FRAC, fmax(0, 1 - goodput - save));
    sheet_set(c, LOST, (1 - goodput) * 24 * nodes * sheet_in(c, PER_NODE));
}

static const char *const rules[] = {
    "Twice the nodes fail twice as often.",
    "A save that takes no time is made all the time: the interval is 0 and the goodput exp(-R/M) M "
    "/ (M + D).",
    "Nodes that never fail need no save: the goodput is 1 at the optimum.",
    NULL,
};

extern const struct sheet sheet_training_goodput;
const struct sheet sheet_training_goodput = {
    .name = "training-goodput",
    .group = "Checkpoints, spot capacity and failures",
    .question = "What fraction of a big training run is useful, given node failures?",
    .doc =
        "A run fails when any of its nodes does. Each failure costs a detection delay, a restart "
        "and the work since the last save.",
    .assumption = "Failures are memoryless and independent, and a spare node is always there.",
    .rules = rules,
    .sources =
        "M. Bougeret et al., SC 2011; J. T. Daly, FGCS 22 (2006); J. W. Young, CACM 17 (1974)",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = GOODPUT,
    .solve = solve,
};
