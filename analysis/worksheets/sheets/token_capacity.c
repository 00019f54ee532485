/* Worksheet: GPUs for so many tokens a second, with a chance to wait for each number of them. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"

enum { TOKENS, PER_GPU, COUNTS, TARGET };
enum { OFFERED, UTILIZATION, P_WAIT, FOR_TARGET };

static const struct sheet_input inputs[] = {
    [TOKENS] = SHEET_INPUT("tokens_per_s", "V", "tokens/s", "tokens asked for", "10000"),
    [PER_GPU] = SHEET_INPUT("gpu_tokens_per_s", "v", "tokens/s", "tokens one GPU puts out", "2000",
                            .above = true),
    [COUNTS] = SHEET_INPUT("gpu_counts", "c", "GPUs", "numbers of GPUs to look at", "5, 6, 7, 8",
                           .type = SHEET_COUNT, .list = true, .min = 1, .max = 100000),
    [TARGET] = SHEET_INPUT("target_p_wait", "q", "fraction", "largest probability of waiting",
                           "0.2", .above = true, .max = 1, .below = true),
};

static const struct sheet_output outputs[] = {
    [OFFERED] = SHEET_OUTPUT("offered_gpus", "a", "GPUs", "{tokens_per_s} / {gpu_tokens_per_s}",
                             "The load fills {offered_gpus}, without any to spare."),
    [UTILIZATION] =
        SHEET_OUTPUT("utilization", "rho", "fraction", "{offered_gpus} / {gpu_counts}",
                     "{gpu_counts} would be busy {utilization} of the time.", .each = "gpu_counts"),
    [P_WAIT] = SHEET_OUTPUT("p_wait", "C", "fraction", "C({gpu_counts}, {offered_gpus})",
                            "With {gpu_counts} a request waits with probability {p_wait} (1: the "
                            "queue grows for ever).",
                            .each = "gpu_counts"),
    [FOR_TARGET] = SHEET_OUTPUT("gpus_for_target", "c_q", "GPUs",
                                "smallest c with C(c, {offered_gpus}) <= {target_p_wait}",
                                "{gpus_for_target} keep the target.", .type = SHEET_COUNT),
};

static double full(const struct sheet_case *c)
{
    return sheet_ceil(sheet_out(c, OFFERED));
}

static const struct sheet_mistake mistakes[] = {
    {FOR_TARGET, "divides and rounds up: at a utilization of 1 the queue grows for ever", full},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, TOKENS) / sheet_in(c, PER_GPU) > 1e6)
        sheet_refuse(c, TOKENS, "fills more than a million GPUs");
}

static void solve(struct sheet_case *c)
{
    size_t n;
    const double *counts = sheet_list(c, COUNTS, &n);
    const struct erlang_load load = erlang_ratio(sheet_in(c, TOKENS), sheet_in(c, PER_GPU));
    const double a = load.high;
    sheet_set(c, OFFERED, a);
    for (size_t i = 0; i < n; i++) {
        sheet_set_at(c, UTILIZATION, i, a / counts[i]);
        sheet_set_at(c, P_WAIT, i, (double)erlang_delay((uint32_t)counts[i], load).wait_frac);
    }
    sheet_set(c, FOR_TARGET, a > 0 ? erlang_c_least(load, 1, 0, sheet_in(c, TARGET)) : 1);
}

static const char *const rules[] = {
    "At a utilization of 1 or more every request waits, and the queue grows for ever.",
    NULL,
};

extern const struct sheet sheet_token_capacity;
const struct sheet sheet_token_capacity = {
    .name = "token-capacity",
    .group = "Queueing and pooling",
    .question = "How many GPUs do 10,000 tokens a second need, and how often does a request wait?",
    .doc =
        "Tokens asked for over tokens of one GPU is a load in GPUs; requests that find every "
        "GPU busy wait (Erlang delay, one request a GPU at a time).",
    .assumption =
        "A GPU works on one request at a time: batching lets more in and makes each "
        "slower (serving-capacity).",
    .rules = rules,
    .sources = "A. K. Erlang (1917)",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = FOR_TARGET,
    .check = check,
    .solve = solve,
};
