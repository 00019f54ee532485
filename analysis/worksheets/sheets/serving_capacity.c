/* Worksheet: GPUs of a token-serving load for a first-token limit. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { RATE, PROMPT, OUTPUT, PREFILL_SPEED, TPOT, SLOTS, LIMIT, LATE };
enum {
    PREFILL,
    SERVICE,
    OFFERED,
    OFFERED_GPUS,
    BUDGET,
    NEEDED,
    GPUS,
    UTILIZATION,
    P_LATE,
    TTFT,
    TOKENS,
    PER_GPU
};

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("requests_per_s", "lambda", "1/s", "request rate", "60"),
    [PROMPT] = SHEET_INPUT("prompt_tokens", "p", "tokens", "mean prompt length", "1000"),
    [OUTPUT] =
        SHEET_INPUT("output_tokens", "o", "tokens", "mean output length", "300", .above = true),
    [PREFILL_SPEED] =
        SHEET_INPUT("prefill_tok_s", "v", "tokens/s", "prefill speed", "20000", .above = true),
    [TPOT] = SHEET_INPUT("tpot_s", "d", "s", "time per output token", "0.03", .above = true),
    [SLOTS] = SHEET_INPUT("slots_per_gpu", "k", "slots", "concurrent requests per GPU", "16",
                          .type = SHEET_COUNT, .min = 1, .max = 100000),
    [LIMIT] = SHEET_INPUT("ttft_limit_s", "t", "s", "first-token limit", "1"),
    [LATE] =
        SHEET_INPUT("late_target", "q", "fraction", "largest fraction of requests over the limit",
                    "0.01", .above = true, .max = 1),
};

static const struct sheet_output outputs[] = {
    [PREFILL] = SHEET_OUTPUT("prefill_s", "f", "s", "{prompt_tokens} / {prefill_tok_s}",
                             "The prompt takes {prefill_s}."),
    [SERVICE] = SHEET_OUTPUT("service_s", "S", "s", "{prefill_s} + {output_tokens} x {tpot_s}",
                             "A request holds its slot for {service_s}."),
    [OFFERED] = SHEET_OUTPUT("offered_slots", "a", "slots", "{requests_per_s} x {service_s}",
                             "On average {offered_slots} are held (Little's law)."),
    [OFFERED_GPUS] = SHEET_OUTPUT("offered_gpus", "A", "GPUs", "{offered_slots} / {slots_per_gpu}",
                                  "That is {offered_gpus} of traffic, without any to spare."),
    [BUDGET] = SHEET_OUTPUT("wait_budget_s", "w", "s", "{ttft_limit_s} - {prefill_s}",
                            "A request may wait {wait_budget_s} for its slot."),
    [NEEDED] = SHEET_OUTPUT("slots_needed", "c", "slots",
                            "smallest c > {offered_slots} with C(c, a) exp(-(c - a) x "
                            "{wait_budget_s} / {service_s}) <= {late_target}",
                            "{slots_needed} keep the limit.", .type = SHEET_COUNT),
    [GPUS] = SHEET_OUTPUT("gpus", "N", "GPUs", "ceil({slots_needed} / {slots_per_gpu})",
                          "They are on {gpus}.", .type = SHEET_COUNT),
    [UTILIZATION] = SHEET_OUTPUT("utilization", "rho", "fraction",
                                 "{offered_slots} / ({gpus} x {slots_per_gpu})",
                                 "Their slots are held {utilization} of the time."),
    [P_LATE] = SHEET_OUTPUT("p_late", "P", "fraction",
                            "C exp(-(c - a) x {wait_budget_s} / {service_s}) with c = {gpus} x "
                            "{slots_per_gpu}",
                            "{p_late} of the requests get their first token late."),
    [TTFT] = SHEET_OUTPUT("mean_ttft_s", "T", "s", "C S / (c - a) + {prefill_s}",
                          "The mean time to the first token is {mean_ttft_s}."),
    [TOKENS] = SHEET_OUTPUT("tokens_per_s", "V", "tokens/s", "{requests_per_s} x {output_tokens}",
                            "The service puts out {tokens_per_s}."),
    [PER_GPU] = SHEET_OUTPUT("req_per_gpu_s", "m", "1/s", "{slots_per_gpu} / {service_s}",
                             "A full GPU completes {req_per_gpu_s#} requests a second."),
};

static bool impossible(const struct sheet_case *c)
{
    return c->out[NEEDED].items[0].kind == VALUE_NONE;
}

static const struct sheet_remark remarks[] = {
    {BUDGET, impossible, "The prefill alone is longer than the limit: no number of GPUs helps."},
    {NEEDED, impossible, "The prefill alone is longer than the limit: no number of GPUs helps."},
};

static double no_spare(const struct sheet_case *c)
{
    return sheet_ceil(sheet_out(c, OFFERED_GPUS));
}

static double no_prefill(const struct sheet_case *c)
{
    return sheet_in(c, OUTPUT) * sheet_in(c, TPOT);
}

static const struct sheet_mistake mistakes[] = {
    {GPUS, "sizes for the mean and has no slot to spare: a utilization of 1 waits for ever",
     no_spare},
    {SERVICE, "forgets that the prefill holds the slot too", no_prefill},
};

static void at_size(struct sheet_case *c, uint32_t needed, double a, double s, double budget)
{
    const double k = sheet_in(c, SLOTS), gpus = sheet_ceil(needed / k);
    const uint32_t slots = (uint32_t)(gpus * k);
    sheet_set(c, NEEDED, needed);
    sheet_set(c, GPUS, gpus);
    sheet_set(c, UTILIZATION, a / (gpus * k));
    sheet_set(c, P_LATE, erlang_wait_above(slots, a, s, budget));
    sheet_set(c, TTFT, erlang_wait_mean(slots, a, s) + sheet_out(c, PREFILL));
}

static void solve(struct sheet_case *c)
{
    const double prefill = sheet_in(c, PROMPT) / sheet_in(c, PREFILL_SPEED);
    const double s = prefill + sheet_in(c, OUTPUT) * sheet_in(c, TPOT);
    const double a = sheet_in(c, RATE) * s, budget = sheet_in(c, LIMIT) - prefill;
    sheet_set(c, PREFILL, prefill);
    sheet_set(c, SERVICE, s);
    sheet_set(c, OFFERED, a);
    sheet_set(c, OFFERED_GPUS, a / sheet_in(c, SLOTS));
    sheet_set(c, BUDGET, budget);
    sheet_set(c, TOKENS, sheet_in(c, RATE) * sheet_in(c, OUTPUT));
    sheet_set(c, PER_GPU, sheet_in(c, SLOTS) / s);
    if (a > 1e6) {
        sheet_refuse(c, RATE, "%.3g slots are held at a time, more than a million", a);
    } else if (budget < 0) {
        static const uint8_t absent[] = {NEEDED, GPUS, UTILIZATION, P_LATE, TTFT};
        for (uint8_t i = 0; i < SHEET_N(absent); i++)
            sheet_set_none(c, absent[i]);
    } else {
        at_size(c, a > 0 ? erlang_c_servers(a, s, budget, sheet_in(c, LATE)) : 1, a, s, budget);
    }
}

static const char *const rules[] = {
    "A limit below the prefill time cannot be kept: what depends on it does not exist.",
    "Without requests one slot on one GPU is enough.",
    "Slot times are taken as exponential; a batch that is slower when fuller is not in it: "
    "a service in a scenario has step times that grow with the batch.",
    NULL,
};

extern const struct sheet sheet_serving_capacity;
const struct sheet sheet_serving_capacity = {
    .name = "serving-capacity",
    .group = "Operating a large fleet",
    .question = "How many GPUs does a token-serving load need for a first-token limit?",
    .doc =
        "Continuous batching with a fixed number of slots a GPU: a request holds one for its "
        "prefill and its output tokens. Slots form an Erlang delay system; the first token "
        "comes after the wait and the prefill.",
    .assumption = "A token takes the same time however full the batch is.",
    .rules = rules,
    .sources = "A. K. Erlang (1917); J. D. C. Little, Operations Research 9 (1961)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = GPUS,
    .solve = solve,
};
