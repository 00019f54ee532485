/* Worksheet: whole cards, hardware partitions or time-slicing for small GPU sessions. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { SESSIONS, MEM, ACTIVE, GPU, SLICES, SLICE_GB, SLOWDOWN };
enum {
    WHOLE,
    WHOLE_UTIL,
    FITS,
    PART_GPUS,
    PART_SLOWDOWN,
    PER_GPU,
    SHARE_GPUS,
    MEAN_SLOWDOWN,
    CONTENDED,
    SHARE_UTIL
};

static const struct sheet_input inputs[] = {
    [SESSIONS] = SHEET_INPUT("sessions", "s", "sessions", "sessions", "300", .type = SHEET_COUNT,
                             .max = 1e9),
    [MEM] = SHEET_INPUT("mem_gb", "m", "GB", "memory of one session", "8", .above = true),
    [ACTIVE] = SHEET_INPUT("active_frac", "p", "fraction", "chance that a session is active", "0.1",
                           .max = 1),
    [GPU] = SHEET_INPUT("gpu_gb", "G", "GB", "GPU memory", "80", .above = true),
    [SLICES] = SHEET_INPUT("slices", "k", "-", "partitions of a card", "7", .type = SHEET_COUNT,
                           .min = 1, .max = 1000),
    [SLICE_GB] =
        SHEET_INPUT("slice_gb", "G_k", "GB", "memory of one partition", "10", .above = true),
    [SLOWDOWN] = SHEET_INPUT("max_slowdown", "x_max", "-",
                             "largest mean slowdown accepted when time-slicing", "2", .min = 1),
};

static const struct sheet_output outputs[] = {
    [WHOLE] = SHEET_OUTPUT("whole_gpus", "N_w", "GPUs", "{sessions}",
                           "A card each is {whole_gpus}.", .type = SHEET_COUNT),
    [WHOLE_UTIL] = SHEET_OUTPUT("whole_utilization", "rho_w", "fraction", "{active_frac}",
                                "Busy {whole_utilization} of the time."),
    [FITS] = SHEET_OUTPUT("partition_fits", "fits", "0/1", "1 when {mem_gb} <= {slice_gb}",
                          "A session fits into a partition.", .type = SHEET_FLAG),
    [PART_GPUS] = SHEET_OUTPUT("partition_gpus", "N_p", "GPUs", "ceil({sessions} / {slices})",
                               "Partitions take {partition_gpus}.", .type = SHEET_COUNT),
    [PART_SLOWDOWN] = SHEET_OUTPUT("partition_slowdown", "x_p", "-", "{slices}",
                                   "A session that computes runs {partition_slowdown} times as "
                                   "long in one, busy neighbours or not."),
    [PER_GPU] =
        SHEET_OUTPUT("share_per_gpu", "n", "sessions",
                     "max(1, min(floor({gpu_gb} / {mem_gb}), floor(1 + ({max_slowdown} - 1) "
                     "/ {active_frac})))",
                     "Time-slicing puts {share_per_gpu} on a card: memory or slowdown ends "
                     "it.",
                     .type = SHEET_COUNT),
    [SHARE_GPUS] = SHEET_OUTPUT("share_gpus", "N_t", "GPUs", "ceil({sessions} / {share_per_gpu})",
                                "That is {share_gpus}.", .type = SHEET_COUNT),
    [MEAN_SLOWDOWN] =
        SHEET_OUTPUT("share_mean_slowdown", "x_t", "-", "1 + ({share_per_gpu} - 1) x {active_frac}",
                     "An active session shares with the others that are active: "
                     "{share_mean_slowdown} times as long on average."),
    [CONTENDED] = SHEET_OUTPUT("share_p_contended", "q", "fraction",
                               "1 - (1 - {active_frac})^({share_per_gpu} - 1)",
                               "It shares at all {share_p_contended} of the time."),
    [SHARE_UTIL] = SHEET_OUTPUT("share_utilization", "rho_t", "fraction",
                                "1 - (1 - {active_frac})^{share_per_gpu}",
                                "A card is busy {share_utilization} of the time."),
};

static bool too_large(const struct sheet_case *c)
{
    return sheet_out(c, FITS) == 0;
}

static bool beyond_card(const struct sheet_case *c)
{
    return sheet_out(c, PER_GPU) == 0;
}

static bool by_memory(const struct sheet_case *c)
{
    const double fit = sheet_floor(sheet_in(c, GPU) / sheet_in(c, MEM));
    return sheet_out(c, PER_GPU) == fit;
}

static const struct sheet_remark remarks[] = {
    {FITS, too_large, "A session is larger than a partition."},
    {PER_GPU, beyond_card, "A session is larger than a card."},
    {PER_GPU, by_memory, "Time-slicing puts {share_per_gpu} on a card: its memory is full then."},
};

static double memory_alone(const struct sheet_case *c)
{
    return sheet_floor(sheet_in(c, GPU) / sheet_in(c, MEM));
}

static double all_active(const struct sheet_case *c)
{
    return sheet_out(c, PER_GPU);
}

static double counts_itself(const struct sheet_case *c)
{
    return sheet_out(c, PER_GPU) * sheet_in(c, ACTIVE);
}

static double adds_up(const struct sheet_case *c)
{
    return fmin(1, sheet_out(c, PER_GPU) * sheet_in(c, ACTIVE));
}

static const struct sheet_mistake mistakes[] = {
    {PER_GPU, "lets memory alone decide", memory_alone},
    {MEAN_SLOWDOWN, "lets all sessions be active at once", all_active},
    {MEAN_SLOWDOWN, "takes the mean number of active sessions: one is surely active",
     counts_itself},
    {SHARE_UTIL, "adds up the sessions: they overlap", adds_up},
};

static double per_card(const struct sheet_case *c)
{
    const double fit = sheet_floor(sheet_in(c, GPU) / sheet_in(c, MEM)), p = sheet_in(c, ACTIVE);
    const double patient = p > 0 ? sheet_floor(1 + (sheet_in(c, SLOWDOWN) - 1) / p) : INFINITY;
    return fmin(fit, patient);
}

static void solve(struct sheet_case *c)
{
    const double sessions = sheet_in(c, SESSIONS), p = sheet_in(c, ACTIVE);
    const double slices = sheet_in(c, SLICES), n = per_card(c);
    const bool part = sheet_in(c, MEM) <= sheet_in(c, SLICE_GB), share = n > 0;
    sheet_set(c, WHOLE, sessions);
    sheet_set(c, WHOLE_UTIL, p);
    sheet_set(c, FITS, part);
    sheet_set_if(c, PART_GPUS, part, sheet_ceil(sessions / slices));
    sheet_set(c, PART_SLOWDOWN, slices);
    sheet_set(c, PER_GPU, n);
    sheet_set_if(c, SHARE_GPUS, share, share ? sheet_ceil(sessions / n) : 0);
    sheet_set_if(c, MEAN_SLOWDOWN, share, 1 + (n - 1) * p);
    sheet_set_if(c, CONTENDED, share, 1 - pow(1 - p, n - 1));
    sheet_set_if(c, SHARE_UTIL, share, 1 - pow(1 - p, n));
}

static const char *const rules[] = {
    "Sessions that are never active slow nobody: memory alone ends the sharing.",
    "A session larger than the card cannot share one; larger than the partition, it has none.",
    NULL,
};

extern const struct sheet sheet_gpu_sharing;
const struct sheet sheet_gpu_sharing = {
    .name = "gpu-sharing",
    .group = "Multi-tenant cloud: units, packing, scrubbing",
    .question = "Whole cards, hardware partitions or time-slicing for small GPU sessions?",
    .doc =
        "Each session needs a little memory and is active part of the time. A partition gives a "
        "fixed share of the compute all the time, with memory of its own; time-slicing lets the "
        "active sessions of a card share it equally, without isolation of memory.",
    .assumption = "Sessions are active independently of each other; at nine all of them are.",
    .rules = rules,
    .sources = "The other active sessions of a card have a binomial number",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = SHARE_GPUS,
    .solve = solve,
};
