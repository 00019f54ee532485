/* Worksheet: what pooling the normal demands of k teams saves. */
#include "analysis/worksheets/sheet.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { TEAMS, MEAN, SD, CORRELATION, QUANTILE };
enum { Z, EACH, SEPARATE, POOLED_SD, POOLED, SAVED, UTIL_SEPARATE, UTIL_POOLED, RATIO };

static const struct sheet_input inputs[] = {
    [TEAMS] = SHEET_INPUT("teams", "k", "teams", "number of teams", "10", .type = SHEET_COUNT,
                          .min = 1, .max = 1e6),
    [MEAN] = SHEET_INPUT("mean_gpus", "mu", "GPUs", "mean demand of one team", "50", .max = 1e9),
    [SD] = SHEET_INPUT("sd_gpus", "sigma", "GPUs", "standard deviation of one team's demand", "20",
                       .max = 1e9),
    [CORRELATION] = SHEET_INPUT("correlation", "r", "-", "correlation between any two teams", "0",
                                .min = -1, .max = 1),
    [QUANTILE] = SHEET_INPUT("quantile", "q", "fraction", "demand quantile to cover", "0.99",
                             .above = true, .max = 1, .below = true),
};

static const struct sheet_output outputs[] = {
    [Z] = SHEET_OUTPUT("z", "z", "-", "inverse normal of {quantile}",
                       "The quantile is {z} standard deviations above the mean."),
    [EACH] = SHEET_OUTPUT("each_gpus", "n", "GPUs", "ceil({mean_gpus} + {z} x {sd_gpus})",
                          "A team alone needs {each_gpus}.", .type = SHEET_COUNT),
    [SEPARATE] = SHEET_OUTPUT("separate_gpus", "N_s", "GPUs", "{teams} x {each_gpus}",
                              "All of them apart need {separate_gpus}.", .type = SHEET_COUNT),
    [POOLED_SD] = SHEET_OUTPUT("pooled_sd", "Sigma", "GPUs",
                               "{sd_gpus} x sqrt({teams} + {teams} ({teams} - 1) x "
                               "{correlation})",
                               "Spreads add in squares: together it is {pooled_sd}."),
    [POOLED] = SHEET_OUTPUT("pooled_gpus", "N_p", "GPUs",
                            "ceil({teams} x {mean_gpus} + {z} x {pooled_sd})",
                            "One pool needs {pooled_gpus}.", .type = SHEET_COUNT),
    [SAVED] = SHEET_OUTPUT("saved_gpus", "D", "GPUs", "{separate_gpus} - {pooled_gpus}",
                           "Pooling saves {saved_gpus}.", .type = SHEET_COUNT),
    [UTIL_SEPARATE] =
        SHEET_OUTPUT("util_separate", "u_s", "fraction", "{teams} x {mean_gpus} / {separate_gpus}",
                     "Apart they are used {util_separate},"),
    [UTIL_POOLED] =
        SHEET_OUTPUT("util_pooled", "u_p", "fraction", "{teams} x {mean_gpus} / {pooled_gpus}",
                     "together {util_pooled}."),
    [RATIO] = SHEET_OUTPUT("buffer_ratio", "b", "-",
                           "sqrt({teams} / (1 + ({teams} - 1) x {correlation}))",
                           "The buffers apart are {buffer_ratio} times the common one."),
};

static bool in_step(const struct sheet_case *c)
{
    return sheet_in(c, CORRELATION) == 1 || sheet_in(c, TEAMS) == 1;
}

static const struct sheet_remark remarks[] = {
    {RATIO, in_step, "All peak at once: pooling saves nothing beyond rounding."},
};

static double spreads_add(const struct sheet_case *c)
{
    return sheet_in(c, TEAMS) * sheet_in(c, SD);
}

static double sized_for_mean(const struct sheet_case *c)
{
    return sheet_ceil(sheet_in(c, TEAMS) * sheet_in(c, MEAN));
}

static const struct sheet_mistake mistakes[] = {
    {POOLED_SD, "adds the spreads instead of their squares", spreads_add},
    {POOLED, "takes the mean for the peak", sized_for_mean},
};

static void check(struct sheet_case *c)
{
    const double k = sheet_in(c, TEAMS), least = k > 1 ? -1 / (k - 1) : -1;
    if (sheet_in(c, CORRELATION) < least)
        sheet_refuse(c, CORRELATION, "%.0f teams cannot all be correlated below %.6g", k, least);
}

static void solve(struct sheet_case *c)
{
    const double k = sheet_in(c, TEAMS), mu = sheet_in(c, MEAN), sigma = sheet_in(c, SD);
    const double r = sheet_in(c, CORRELATION), q = sheet_in(c, QUANTILE);
    const double z = q == 0.5 ? 0 : gsl_cdf_ugaussian_Pinv(q);
    /* At the least correlation the sum does not vary at all: what rounding leaves is no spread. */
    const double left = 1 + (k - 1) * r, spread = left > 1e-15 * k ? left : 0;
    const double pooled_sd = sigma * sqrt(k * spread);
    const double each = sheet_ceil(mu + z * sigma), pooled = sheet_ceil(k * mu + z * pooled_sd);
    sheet_set(c, Z, z);
    sheet_set(c, EACH, each);
    sheet_set(c, SEPARATE, k * each);
    sheet_set(c, POOLED_SD, pooled_sd);
    sheet_set(c, POOLED, pooled);
    sheet_set(c, SAVED, k * each - pooled);
    sheet_set(c, UTIL_SEPARATE, mu == 0 ? 0 : each != 0 ? mu / each : INFINITY);
    sheet_set(c, UTIL_POOLED, mu == 0 ? 0 : pooled != 0 ? k * mu / pooled : INFINITY);
    sheet_set(c, RATIO, spread > 0 ? sqrt(k / spread) : INFINITY);
}

static const char *const rules[] = {
    "Fully correlated teams, or a single one: nothing is saved beyond rounding.",
    "A correlation below -1/(k-1) is impossible and refused; exactly there the sum does not vary.",
    "At the median there is no buffer; the ratio is still the limit.",
    NULL,
};

extern const struct sheet sheet_pooling_normal;
const struct sheet sheet_pooling_normal = {
    .name = "pooling-normal",
    .group = "Queueing and pooling",
    .question = "How many GPUs does pooling k teams save, with correlated demand?",
    .doc =
        "Each team's demand is normal with the same mean and spread; each pool is sized to a "
        "quantile of its own demand.",
    .assumption = "The correlation: teams that peak at the same hour share nothing.",
    .rules = rules,
    .sources =
        "G. D. Eppen, 'Effects of centralization on expected costs in a multi-location "
        "newsboy problem' (1979) - the square-root law",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = SAVED,
    .check = check,
    .solve = solve,
};
