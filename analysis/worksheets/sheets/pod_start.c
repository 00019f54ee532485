/* Worksheet: where the minutes of a GPU pod start go. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum {
    JOIN,
    PLUGIN,
    IMAGE,
    PULL_RATE,
    UNPACK_RATE,
    WEIGHTS,
    WEIGHTS_RATE,
    INIT,
    PODS,
    REGISTRY,
    FAIL,
    FAIL_S
};
enum {
    PULL,
    UNPACK,
    WEIGHTS_S,
    TOTAL,
    SHARE,
    PREPULLED,
    WARM,
    CACHED,
    ATTEMPTS,
    MEAN_TOTAL,
    P99,
    BOUND
};

static const struct sheet_input inputs[] = {
    [JOIN] = SHEET_INPUT("node_join_s", "J", "s", "the node boots and joins", "45"),
    [PLUGIN] =
        SHEET_INPUT("device_plugin_s", "D", "s", "driver and device plug-in are ready", "15"),
    [IMAGE] = SHEET_INPUT("image_gb", "I", "GB", "size of the image", "12"),
    [PULL_RATE] = SHEET_INPUT("pull_gb_per_s", "v_p", "GB/s", "rate at which one node pulls", "0.2",
                              .above = true),
    [UNPACK_RATE] =
        SHEET_INPUT("unpack_gb_per_s", "v_u", "GB/s", "rate of unpacking", "0.3", .above = true),
    [WEIGHTS] = SHEET_INPUT("weights_gb", "W", "GB", "weights of the model", "16"),
    [WEIGHTS_RATE] = SHEET_INPUT("weights_gb_per_s", "v_w", "GB/s", "rate of loading weights",
                                 "0.4", .above = true),
    [INIT] = SHEET_INPUT("init_s", "T", "s", "the process starts and warms up", "40"),
    [PODS] = SHEET_INPUT("pods_at_once", "n", "pods",
                         "pods that pull at the same time, on different nodes", "1",
                         .type = SHEET_COUNT, .min = 1),
    [REGISTRY] = SHEET_INPUT("registry_gb_per_s", "v_r", "GB/s", "rate of the whole registry", "10",
                             .above = true),
    [FAIL] = SHEET_INPUT("fail_prob", "p", "fraction", "chance that one attempt fails", "0.05",
                         .max = 1),
    [FAIL_S] = SHEET_INPUT("fail_s", "F", "s", "time lost with a failed attempt", "90"),
};

static const struct sheet_output outputs[] = {
    [PULL] = SHEET_OUTPUT("pull_s", "t_p", "s",
                          "{image_gb} / min({pull_gb_per_s}, {registry_gb_per_s} / {pods_at_once})",
                          "The image takes {pull_s} to come"),
    [UNPACK] = SHEET_OUTPUT("unpack_s", "t_u", "s", "{image_gb} / {unpack_gb_per_s}",
                            "and {unpack_s} to be unpacked."),
    [WEIGHTS_S] = SHEET_OUTPUT("weights_s", "t_w", "s", "{weights_gb} / {weights_gb_per_s}",
                               "The weights take {weights_s}."),
    [TOTAL] = SHEET_OUTPUT("total_s", "t", "s",
                           "{node_join_s} + {device_plugin_s} + {pull_s} + {unpack_s} + "
                           "{weights_s} + {init_s}",
                           "One step after the other: {total_s} on a fresh node."),
    [SHARE] = SHEET_OUTPUT("image_share", "f", "fraction", "({pull_s} + {unpack_s}) / {total_s}",
                           "The image is {image_share} of it: so much can pulling before hand "
                           "save at most."),
    [PREPULLED] = SHEET_OUTPUT("prepulled_s", "t_1", "s", "{total_s} - {pull_s} - {unpack_s}",
                               "With the image on the node it takes {prepulled_s},"),
    [WARM] =
        SHEET_OUTPUT("warm_node_s", "t_2", "s", "{prepulled_s} - {node_join_s} - {device_plugin_s}",
                     "on a node that is there already {warm_node_s},"),
    [CACHED] = SHEET_OUTPUT("cached_weights_s", "t_3", "s", "{warm_node_s} - {weights_s}",
                            "with the weights at hand too {cached_weights_s}."),
    [ATTEMPTS] = SHEET_OUTPUT("mean_attempts", "a", "count", "1 / (1 - {fail_prob})",
                              "A start takes {mean_attempts#} attempts on average."),
    [MEAN_TOTAL] = SHEET_OUTPUT("mean_total_s", "m", "s",
                                "{total_s} + {fail_s} x {fail_prob} / (1 - {fail_prob})",
                                "With the failed ones it takes {mean_total_s} on average."),
    [P99] = SHEET_OUTPUT("attempts_p99", "n_99", "count", "smallest n with {fail_prob}^n <= 0.01",
                         "99 of 100 starts take at most {attempts_p99#}.", .type = SHEET_COUNT),
    [BOUND] =
        SHEET_OUTPUT("registry_bound", "bound", "0/1",
                     "1 when {registry_gb_per_s} / {pods_at_once} < {pull_gb_per_s}",
                     "The nodes' own links are the limit, not the registry.", .type = SHEET_FLAG),
};

static bool registry_limits(const struct sheet_case *c)
{
    return sheet_out(c, BOUND) == 1;
}

static bool never(const struct sheet_case *c)
{
    return sheet_in(c, FAIL) == 1;
}

static const struct sheet_remark remarks[] = {
    {BOUND, registry_limits,
     "The registry is the limit: with {pods_at_once} at once each gets less than its link takes."},
    {ATTEMPTS, never, "Every attempt fails: the pod never starts."},
    {MEAN_TOTAL, never, "It never starts."},
    {P99, never, "No number of attempts is enough."},
};

static double without_registry(const struct sheet_case *c)
{
    return sheet_in(c, IMAGE) / sheet_in(c, PULL_RATE);
}

static double gigabits(const struct sheet_case *c)
{
    return 8 * sheet_out(c, PULL);
}

static double failed_once(const struct sheet_case *c)
{
    return sheet_out(c, TOTAL) + sheet_in(c, FAIL_S) * sheet_in(c, FAIL);
}

static const struct sheet_mistake mistakes[] = {
    {PULL, "lets every node pull at its full rate, whatever the registry gives", without_registry},
    {PULL, "takes GB/s for Gb/s", gigabits},
    {MEAN_TOTAL, "counts one failure at most", failed_once},
};

static void solve_attempts(struct sheet_case *c)
{
    const double p = sheet_in(c, FAIL), odds = p / (1 - p);
    const double n = p > 0.01 ? sheet_ceil(log(0.01) / log(p)) : 1;
    sheet_set(c, ATTEMPTS, p == 1 ? INFINITY : 1 / (1 - p));
    sheet_set(c, MEAN_TOTAL, p == 1 ? INFINITY : sheet_out(c, TOTAL) + sheet_in(c, FAIL_S) * odds);
    sheet_set(c, P99, p == 1 ? INFINITY : n);
}

static void solve(struct sheet_case *c)
{
    const double share = sheet_in(c, REGISTRY) / sheet_in(c, PODS);
    const double pull = sheet_in(c, IMAGE) / fmin(sheet_in(c, PULL_RATE), share);
    const double unpack = sheet_in(c, IMAGE) / sheet_in(c, UNPACK_RATE);
    const double weights = sheet_in(c, WEIGHTS) / sheet_in(c, WEIGHTS_RATE);
    const double node = sheet_in(c, JOIN) + sheet_in(c, PLUGIN), init = sheet_in(c, INIT);
    const double total = node + pull + unpack + weights + init;
    sheet_set(c, PULL, pull);
    sheet_set(c, UNPACK, unpack);
    sheet_set(c, WEIGHTS_S, weights);
    sheet_set(c, TOTAL, total);
    sheet_set(c, SHARE, total > 0 ? (pull + unpack) / total : 0);
    sheet_set(c, PREPULLED, node + weights + init);
    sheet_set(c, WARM, weights + init);
    sheet_set(c, CACHED, init);
    sheet_set(c, BOUND, share < sheet_in(c, PULL_RATE));
    solve_attempts(c);
}

static const char *const rules[] = {
    "Where no attempt fails there is one; where all fail the pod never starts.",
    "A start that takes no time at all has an image share of 0.",
    NULL,
};

extern const struct sheet sheet_pod_start;
const struct sheet sheet_pod_start = {
    .name = "pod-start",
    .group = "Sandboxed sessions and cold starts",
    .question = "Where do the minutes of a GPU pod start go, and what does each fix buy?",
    .doc =
        "A chain of steps on a fresh node: join, device plug-in, pull of the image, unpacking, "
        "weights, start of the process. Pulls share the registry. A start that fails, with no "
        "device found for example, is noticed after a while and tried again.",
    .assumption = "No step overlaps with another, and attempts fail independently of each other.",
    .rules = rules,
    .sources = "A serial chain; a geometric number of attempts",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = TOTAL,
    .solve = solve,
};
