/* Worksheet: the replicas that an autoscaler without delay would use. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { RATE, PHASE, EACH };
enum { REPLICAS, PEAK, MEAN, REPLICA_H, FIXED_H, SAVING };

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("requests_per_s", "lambda", "1/s", "request rate of each phase",
                         "15, 2, 10, 15, 5, 2", .list = true, .max = 1e9),
    [PHASE] = SHEET_INPUT("phase_s", "d", "s", "length of a phase", "150", .above = true),
    [EACH] = SHEET_INPUT("replica_req_s", "mu", "1/s", "requests that one replica keeps up with",
                         "2", .above = true),
};

static const struct sheet_output outputs[] = {
    [REPLICAS] =
        SHEET_OUTPUT("replicas", "n", "replicas", "ceil({requests_per_s} / {replica_req_s})",
                     "At {requests_per_s#} a second {replicas} keep up.", .each = "requests_per_s",
                     .type = SHEET_COUNT),
    [PEAK] = SHEET_OUTPUT("peak_replicas", "n_max", "replicas", "the largest of them",
                          "The peak takes {peak_replicas}.", .type = SHEET_COUNT),
    [MEAN] = SHEET_OUTPUT("mean_replicas", "n_mean", "replicas", "their sum / number of phases",
                          "On average {mean_replicas} would do: no autoscaler uses fewer and keeps "
                          "up."),
    [REPLICA_H] = SHEET_OUTPUT("replica_h", "H", "h", "sum of replicas x {phase_s} / 3600",
                               "That is {replica_h} of replicas."),
    [FIXED_H] = SHEET_OUTPUT("fixed_replica_h", "H_f", "h",
                             "{peak_replicas} x number of phases x {phase_s} / 3600",
                             "A fixed number for the peak holds {fixed_replica_h}."),
    [SAVING] = SHEET_OUTPUT("saving_frac", "s", "fraction", "1 - {mean_replicas} / {peak_replicas}",
                            "Scaling saves {saving_frac} at the very most."),
};

static bool idle(const struct sheet_case *c)
{
    return sheet_out(c, PEAK) == 0;
}

static const struct sheet_remark remarks[] = {
    {SAVING, idle, "Nobody asks: nothing runs, nothing is saved."},
};

static double total_rate(const struct sheet_case *c, size_t *n)
{
    const double *rate = sheet_list(c, RATE, n);
    double sum = 0;
    for (size_t i = 0; i < *n; i++)
        sum += rate[i];
    return sum;
}

static double mean_unrounded(const struct sheet_case *c)
{
    size_t n;
    const double sum = total_rate(c, &n);
    return sum / sheet_in(c, EACH) / (double)n;
}

static double mean_for_peak(const struct sheet_case *c)
{
    return sheet_ceil(mean_unrounded(c));
}

static const struct sheet_mistake mistakes[] = {
    {PEAK, "takes the mean for the peak", mean_for_peak},
    {MEAN, "does not round up to whole replicas", mean_unrounded},
};

static void solve(struct sheet_case *c)
{
    size_t n;
    const double *rate = sheet_list(c, RATE, &n), hours = sheet_in(c, PHASE) / 3600;
    double peak = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double replicas = sheet_ceil(rate[i] / sheet_in(c, EACH));
        sheet_set_at(c, REPLICAS, i, replicas);
        peak = fmax(peak, replicas);
        sum += replicas;
    }
    sheet_set(c, PEAK, peak);
    sheet_set(c, MEAN, sum / (double)n);
    sheet_set(c, REPLICA_H, sum * hours);
    sheet_set(c, FIXED_H, peak * (double)n * hours);
    sheet_set(c, SAVING, peak > 0 ? 1 - sum / (double)n / peak : 0);
}

static const char *const rules[] = {
    "A phase without requests takes no replica.",
    "Where nobody ever asks the saving is 0.",
    NULL,
};

extern const struct sheet sheet_autoscaler_bound;
const struct sheet sheet_autoscaler_bound = {
    .name = "autoscaler-bound",
    .group = "One fleet: training plus inference",
    .question = "How few replicas would an autoscaler without any delay use?",
    .doc =
        "The bound that no autoscaler beats: in each phase just enough replicas for its rate, "
        "there the instant it begins and gone the instant it ends.",
    .assumption = "Starting and stopping take no time; a replica at its limit keeps up.",
    .rules = rules,
    .sources = "Arithmetic. The default case: llm-d/llm-d-autoscaling, issue 1499",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = MEAN,
    .solve = solve,
};
