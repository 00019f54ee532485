/* Worksheet: the phases of a cold start, and the warm GPUs that cover a ramp meanwhile. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { PHASES, SKIPPED, GROWTH };
enum { READY, BUFFER, WARM_READY, WARM_BUFFER, SHARE };

static const struct sheet_input inputs[] = {
    [PHASES] = SHEET_INPUT("phases_s", "p", "s", "phases from request to ready, in order",
                           "284, 126, 7, 101, 3, 74, 21, 62, 195, 92, 1", .list = true),
    [SKIPPED] =
        SHEET_INPUT("warm_phases", "k", "-", "first phases that are gone when a node is warm", "2",
                    .type = SHEET_COUNT, .max = 1000),
    [GROWTH] = SHEET_INPUT("growth_gpu_min", "g", "GPUs/min", "growth of the demand", "2"),
};

static const struct sheet_output outputs[] = {
    [READY] = SHEET_OUTPUT("ready_s", "T", "s", "sum of the phases",
                           "From request to ready it takes {ready_s}."),
    [BUFFER] = SHEET_OUTPUT("buffer_gpus", "b", "GPUs", "ceil({growth_gpu_min} x {ready_s} / 60)",
                            "In that time demand grows by {buffer_gpus}: so many must be ready "
                            "beforehand.",
                            .type = SHEET_COUNT),
    [WARM_READY] =
        SHEET_OUTPUT("warm_ready_s", "T_w", "s", "sum of the phases after the first {warm_phases}",
                     "On a warm node it takes {warm_ready_s}."),
    [WARM_BUFFER] = SHEET_OUTPUT("warm_buffer_gpus", "b_w", "GPUs",
                                 "ceil({growth_gpu_min} x {warm_ready_s} / 60)",
                                 "Then {warm_buffer_gpus} are enough.", .type = SHEET_COUNT),
    [SHARE] =
        SHEET_OUTPUT("phase_share", "f", "fraction", "{phases_s} / {ready_s}",
                     "A phase of {phases_s} is {phase_share} of the start.", .each = "phases_s"),
};

static double longest_phase(const struct sheet_case *c)
{
    size_t n;
    const double *phase = sheet_list(c, PHASES, &n);
    double longest = 0;
    for (size_t i = 0; i < n; i++)
        longest = fmax(longest, phase[i]);
    return longest;
}

static double rounded_down(const struct sheet_case *c)
{
    return sheet_floor(sheet_in(c, GROWTH) * sheet_out(c, READY) / 60);
}

static double by_second(const struct sheet_case *c)
{
    return sheet_ceil(sheet_in(c, GROWTH) * sheet_out(c, READY));
}

static const struct sheet_mistake mistakes[] = {
    {READY, "takes the longest phase: they follow one another", longest_phase},
    {BUFFER, "rounds down", rounded_down},
    {BUFFER, "takes minutes for seconds", by_second},
};

static void check(struct sheet_case *c)
{
    size_t n;
    sheet_list(c, PHASES, &n);
    if (sheet_in(c, SKIPPED) > (double)n)
        sheet_refuse(c, SKIPPED, "more than the %zu phases there are", n);
}

static void solve(struct sheet_case *c)
{
    size_t n;
    const double *phase = sheet_list(c, PHASES, &n), growth = sheet_in(c, GROWTH);
    double ready = 0, warm = 0;
    for (size_t i = 0; i < n; i++) {
        ready += phase[i];
        warm += (double)i >= sheet_in(c, SKIPPED) ? phase[i] : 0;
    }
    sheet_set(c, READY, ready);
    sheet_set(c, BUFFER, sheet_ceil(growth * ready / 60));
    sheet_set(c, WARM_READY, warm);
    sheet_set(c, WARM_BUFFER, sheet_ceil(growth * warm / 60));
    for (size_t i = 0; i < n; i++)
        sheet_set_at(c, SHARE, i, ready > 0 ? phase[i] / ready : 0);
}

static const char *const rules[] = {
    "A start that takes no time needs no buffer.",
    "More warm phases than phases are refused.",
    NULL,
};

extern const struct sheet sheet_cold_start;
const struct sheet sheet_cold_start = {
    .name = "cold-start",
    .group = "Sandboxed sessions and cold starts",
    .question = "How many warm GPUs does a growing demand need while a cold start is under way?",
    .doc =
        "A replica goes through its phases one after another: node, drivers, image, weights, "
        "warm-up. Demand does not wait for it: what it grows by meanwhile must be ready before.",
    .assumption = "Demand grows evenly, and every start takes exactly the sum of its phases.",
    .rules = rules,
    .sources = "Arithmetic of a ramp. The default case: kaito-project/kaito, issue 2325",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = BUFFER,
    .check = check,
    .solve = solve,
};
