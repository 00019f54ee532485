/* Worksheet: a rolling upgrade, and how often it disturbs a big training job. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/rollout.h"

#include <math.h>

enum {
    GPUS,
    PER_NODE,
    PARALLEL,
    SPARES,
    DRAIN,
    UPGRADE,
    JOB,
    RESTART,
    FAIL,
    CANARIES,
    BAD,
    QUANTILE
};
enum {
    NODES,
    WAVES,
    WAVE,
    TOTAL,
    OUT,
    COVERED,
    ALIGNED,
    RANDOM,
    LOST_ALIGNED,
    LOST_RANDOM,
    FAILED,
    FAILED_Q,
    DETECT,
    FOR_95
};

static const struct sheet_input inputs[] = {
    [GPUS] = SHEET_INPUT("gpus", "N", "GPUs", "fleet", "2048", .type = SHEET_COUNT, .min = 1,
                         .max = 1000000),
    [PER_NODE] = SHEET_INPUT("gpus_per_node", "g", "GPUs", "GPUs per node", "8",
                             .type = SHEET_COUNT, .min = 1, .max = 1000),
    [PARALLEL] = SHEET_INPUT("parallel_nodes", "b", "nodes", "wave size", "16", .type = SHEET_COUNT,
                             .min = 1, .max = 1000000),
    [SPARES] = SHEET_INPUT("spare_nodes", "s", "nodes", "spare nodes that stand in for a wave",
                           "16", .type = SHEET_COUNT, .max = 1000000),
    [DRAIN] = SHEET_INPUT("drain_s", "d", "s", "save and drain at the start of a wave", "120"),
    [UPGRADE] = SHEET_INPUT("upgrade_s", "u", "s", "upgrade, reboot and validate one node", "2700"),
    [JOB] = SHEET_INPUT("job_nodes", "G", "nodes", "nodes of the training job", "64",
                        .type = SHEET_COUNT, .max = 1000000),
    [RESTART] = SHEET_INPUT("restart_s", "R", "s", "restart of the job", "600"),
    [FAIL] = SHEET_INPUT("fail_frac", "f", "fraction", "chance that a node fails its upgrade",
                         "0.02", .max = 1),
    [CANARIES] = SHEET_INPUT("canary_nodes", "k", "nodes", "nodes upgraded first", "8",
                             .type = SHEET_COUNT, .max = 1000000),
    [BAD] = SHEET_INPUT("bad_prob", "p", "fraction", "chance that a bad driver shows on one node",
                        "0.3", .max = 1),
    [QUANTILE] = SHEET_INPUT("quantile", "q", "fraction", "quantile for failed nodes", "0.99",
                             .above = true, .max = 1, .below = true),
};

static const struct sheet_output outputs[] = {
    [NODES] = SHEET_OUTPUT("nodes", "n", "nodes", "ceil({gpus} / {gpus_per_node})",
                           "The fleet has {nodes}.", .type = SHEET_COUNT),
    [WAVES] = SHEET_OUTPUT("waves", "W", "waves", "ceil({nodes} / {parallel_nodes})",
                           "{waves} of {parallel_nodes} reach all of them.", .type = SHEET_COUNT),
    [WAVE] = SHEET_OUTPUT("wave_s", "w", "s", "{drain_s} + {upgrade_s}",
                          "One takes {wave_s}: its nodes are upgraded side by side."),
    [TOTAL] = SHEET_OUTPUT("total_h", "T", "h", "{waves} x {wave_s} / 3600",
                           "The roll-out takes {total_h}."),
    [OUT] = SHEET_OUTPUT("capacity_out_frac", "o", "fraction",
                         "min({parallel_nodes}, {nodes}) / {nodes}",
                         "Meanwhile {capacity_out_frac} of the fleet is out."),
    [COVERED] =
        SHEET_OUTPUT("covered_by_spares", "c", "0/1", "1 when {spare_nodes} >= {parallel_nodes}",
                     "The spares stand in for a wave: no capacity is lost.", .type = SHEET_FLAG),
    [ALIGNED] =
        SHEET_OUTPUT("restarts_aligned", "r_a", "count", "ceil({job_nodes} / {parallel_nodes})",
                     "Waves that follow the job's nodes restart it {restarts_aligned} "
                     "times.",
                     .type = SHEET_COUNT),
    [RANDOM] = SHEET_OUTPUT("restarts_random", "r_r", "count",
                            "sum over waves of size w of 1 - binom({nodes}-{job_nodes}, w) / "
                            "binom({nodes}, w)",
                            "Waves that do not look hit it {restarts_random} times."),
    [LOST_ALIGNED] = SHEET_OUTPUT("lost_gpu_h_aligned", "L_a", "GPU-h",
                                  "{restarts_aligned} x {job_nodes} x {gpus_per_node} x "
                                  "({drain_s} + {restart_s}) / 3600",
                                  "The job loses {lost_gpu_h_aligned} with the first,"),
    [LOST_RANDOM] = SHEET_OUTPUT("lost_gpu_h_random", "L_r", "GPU-h",
                                 "{restarts_random} x {job_nodes} x {gpus_per_node} x ({drain_s} "
                                 "+ {restart_s}) / 3600",
                                 "and {lost_gpu_h_random} with the second."),
    [FAILED] = SHEET_OUTPUT("failed_nodes_mean", "F", "nodes", "{nodes} x {fail_frac}",
                            "{failed_nodes_mean} fail their upgrade on average,"),
    [FAILED_Q] = SHEET_OUTPUT("failed_nodes_q", "F_q", "nodes",
                              "smallest s with P(Binomial({nodes}, {fail_frac}) <= s) >= "
                              "{quantile}",
                              "and rarely more than {failed_nodes_q}.", .type = SHEET_COUNT),
    [DETECT] = SHEET_OUTPUT("canary_detect", "D", "fraction", "1 - (1 - {bad_prob})^{canary_nodes}",
                            "The canaries show a bad driver with probability {canary_detect}."),
    [FOR_95] = SHEET_OUTPUT("canary_for_95", "k_95", "nodes",
                            "smallest k with 1 - (1 - {bad_prob})^k >= 0.95",
                            "{canary_for_95} show it in 19 of 20 cases.", .type = SHEET_COUNT),
};

static bool uncovered(const struct sheet_case *c)
{
    return sheet_out(c, COVERED) == 0;
}

static bool blind(const struct sheet_case *c)
{
    return sheet_in(c, BAD) == 0;
}

static const struct sheet_remark remarks[] = {
    {COVERED, uncovered, "A wave is larger than the spares: capacity is lost while it runs."},
    {FOR_95, blind, "A fault that shows on no single node is found by no number of canaries."},
};

static double all_waves(const struct sheet_case *c)
{
    return sheet_out(c, WAVES);
}

static double by_share(const struct sheet_case *c)
{
    return sheet_out(c, WAVES) * sheet_in(c, JOB) / sheet_out(c, NODES);
}

static const struct sheet_mistake mistakes[] = {
    {RANDOM, "lets every wave touch the job", all_waves},
    {RANDOM, "takes the job's share of the fleet for the chance that a wave of many nodes hits it",
     by_share},
};

static void check(struct sheet_case *c)
{
    const double nodes = sheet_ceil(sheet_in(c, GPUS) / sheet_in(c, PER_NODE));
    if (sheet_in(c, JOB) > nodes)
        sheet_refuse(c, JOB, "more than the %.0f nodes of the fleet", nodes);
}

static void solve(struct sheet_case *c)
{
    const double nodes = sheet_ceil(sheet_in(c, GPUS) / sheet_in(c, PER_NODE));
    const double wave = sheet_in(c, DRAIN) + sheet_in(c, UPGRADE), bad = sheet_in(c, BAD);
    const uint32_t n = (uint32_t)nodes, b = (uint32_t)sheet_in(c, PARALLEL);
    const uint32_t job = (uint32_t)sheet_in(c, JOB), waves = rollout_waves(n, b);
    const double aligned = rollout_restarts_aligned(n, b, job);
    const double random = rollout_restarts_random(n, b, job);
    const double each = sheet_in(c, JOB) * sheet_in(c, PER_NODE) *
                        (sheet_in(c, DRAIN) + sheet_in(c, RESTART)) / 3600;
    const uint32_t canaries = rollout_canaries_for(bad, 0.95);
    sheet_set(c, NODES, nodes);
    sheet_set(c, WAVES, waves);
    sheet_set(c, WAVE, wave);
    sheet_set(c, TOTAL, waves * wave / 3600);
    sheet_set(c, OUT, fmin(b, nodes) / nodes);
    sheet_set(c, COVERED, sheet_in(c, SPARES) >= b);
    sheet_set(c, ALIGNED, aligned);
    sheet_set(c, RANDOM, random);
    sheet_set(c, LOST_ALIGNED, aligned * each);
    sheet_set(c, LOST_RANDOM, random * each);
    sheet_set(c, FAILED, nodes * sheet_in(c, FAIL));
    sheet_set(c, FAILED_Q, rollout_failed_quantile(n, sheet_in(c, FAIL), sheet_in(c, QUANTILE)));
    sheet_set(c, DETECT, rollout_canary_detect(bad, (uint32_t)sheet_in(c, CANARIES)));
    sheet_set(c, FOR_95, canaries == UINT32_MAX ? INFINITY : (double)canaries);
}

static const char *const rules[] = {
    "A wave of all nodes restarts every job once; waves of one node restart it once a node, "
    "aligned or not.",
    "A job wider than the fleet is refused.",
    NULL,
};

extern const struct sheet sheet_rolling_upgrade;
const struct sheet sheet_rolling_upgrade = {
    .name = "rolling-upgrade",
    .group = "Operating a large fleet",
    .question =
        "How long does a rolling driver upgrade take, and how often does it disturb a big "
        "training job?",
    .doc =
        "Nodes are upgraded in waves. A job saves and restarts once for every wave that touches "
        "it. Aligned waves follow the job's nodes; random waves pick nodes without looking.",
    .assumption =
        "A wave starts when the one before has ended, and a touched job comes back on "
        "other nodes at once.",
    .rules = rules,
    .sources = "hypergeometric chance that a random wave misses the job; binomial quantile",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = RANDOM,
    .check = check,
    .solve = solve,
};
