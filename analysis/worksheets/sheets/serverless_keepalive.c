/* Worksheet: how long an idle replica is kept before scaling to zero. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { RATE, SERVICE, TTL, COLD, PRICE, PENALTY, TARGET };
enum {
    P_COLD,
    ON,
    COLD_RATE,
    WAIT,
    GPU_COST,
    COLD_COST,
    TOTAL,
    ALWAYS_COST,
    ZERO_COST,
    BREAKEVEN,
    POLICY,
    COMPETITIVE,
    TTL_TARGET
};

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("requests_per_h", "lambda", "1/h", "request rate", "20"),
    [SERVICE] = SHEET_INPUT("service_s", "S", "s", "mean time of a request in service", "5"),
    [TTL] =
        SHEET_INPUT("ttl_s", "tau", "s", "idle time before switching off", "300", .endless = true),
    [COLD] = SHEET_INPUT("cold_start_s", "T", "s", "time of a cold start", "20"),
    [PRICE] = SHEET_INPUT("gpu_price_h", "c", "$/h", "price of the replica while on", "2.5"),
    [PENALTY] = SHEET_INPUT("cold_penalty", "k", "$", "cost put on one cold start", "0.05"),
    [TARGET] = SHEET_INPUT("target_cold", "q", "fraction", "wanted fraction of cold requests",
                           "0.05", .max = 1, .above = true),
};

static const struct sheet_output outputs[] = {
    [P_COLD] = SHEET_OUTPUT("p_cold", "p", "fraction",
                            "exp(-{requests_per_h} x ({service_s} + {ttl_s}) / 3600)",
                            "{p_cold} of requests come after so long a gap that they find it off."),
    [ON] = SHEET_OUTPUT("on_frac", "f", "fraction", "1 - {p_cold}",
                        "It is on for {on_frac} of the time."),
    [COLD_RATE] = SHEET_OUTPUT("cold_per_h", "r", "1/h", "{requests_per_h} x {p_cold}",
                               "There are {cold_per_h} cold starts."),
    [WAIT] = SHEET_OUTPUT("mean_added_wait_s", "w", "s", "{p_cold} x {cold_start_s}",
                          "The mean request waits {mean_added_wait_s} longer, but the cold ones "
                          "wait all of {cold_start_s}."),
    [GPU_COST] = SHEET_OUTPUT("gpu_cost_h", "C_g", "$/h", "{gpu_price_h} x {on_frac}",
                              "The replica costs {gpu_cost_h},"),
    [COLD_COST] = SHEET_OUTPUT("cold_cost_h", "C_c", "$/h", "{cold_penalty} x {cold_per_h}",
                               "cold starts {cold_cost_h},"),
    [TOTAL] = SHEET_OUTPUT("total_cost_h", "C", "$/h", "{gpu_cost_h} + {cold_cost_h}",
                           "both together {total_cost_h}."),
    [ALWAYS_COST] = SHEET_OUTPUT("always_on_cost_h", "C_a", "$/h", "{gpu_price_h}",
                                 "Always on it would cost {always_on_cost_h},"),
    [ZERO_COST] = SHEET_OUTPUT("zero_ttl_cost_h", "C_0", "$/h",
                               "{gpu_price_h} x (1 - e^(-{requests_per_h} x {service_s} / 3600)) + "
                               "{cold_penalty} x {requests_per_h} x e^(-{requests_per_h} x "
                               "{service_s} / 3600)",
                               "switched off as soon as it is idle {zero_ttl_cost_h}."),
    [BREAKEVEN] = SHEET_OUTPUT("breakeven_requests_per_h", "lambda_0", "1/h",
                               "{gpu_price_h} / {cold_penalty}",
                               "Above {breakeven_requests_per_h} always on is cheapest, below it "
                               "switching off at once."),
    [POLICY] = SHEET_OUTPUT("best_policy", "policy", "-",
                            "always when {requests_per_h} > {breakeven_requests_per_h}, else zero",
                            "No time-to-live in between beats the better end, which is: "
                            "{best_policy}.",
                            .type = SHEET_WORD),
    [COMPETITIVE] =
        SHEET_OUTPUT("competitive_ttl_s", "tau_2", "s", "3600 x {cold_penalty} / {gpu_price_h}",
                     "For traffic nobody can foretell, {competitive_ttl_s} never costs "
                     "more than twice the best choice in hindsight."),
    [TTL_TARGET] = SHEET_OUTPUT("ttl_for_target_s", "tau_q", "s",
                                "max(0, -ln({target_cold}) x 3600 / {requests_per_h} - "
                                "{service_s})",
                                "With {ttl_for_target_s} the wanted fraction of {target_cold} is "
                                "cold."),
};

static bool no_requests(const struct sheet_case *c)
{
    return sheet_in(c, RATE) == 0;
}

static bool free_starts(const struct sheet_case *c)
{
    return sheet_in(c, PENALTY) == 0;
}

static const struct sheet_remark remarks[] = {
    {P_COLD, no_requests, "No request ever comes: the first one would find it off."},
    {TTL_TARGET, no_requests, "No idle time is long enough."},
    {BREAKEVEN, free_starts, "Cold starts cost nothing: always on never pays."},
};

static double without_service(const struct sheet_case *c)
{
    return exp(-sheet_in(c, RATE) / 3600 * sheet_in(c, TTL));
}

static double mean_gap(const struct sheet_case *c)
{
    const double gap = 3600 / sheet_in(c, RATE);
    return no_requests(c) ? NAN : sheet_in(c, SERVICE) + sheet_in(c, TTL) >= gap ? 0 : 1;
}

static double hours(const struct sheet_case *c)
{
    return sheet_out(c, COMPETITIVE) / 3600;
}

static const struct sheet_mistake mistakes[] = {
    {P_COLD, "forgets that the replica stays on while it serves", without_service},
    {P_COLD, "compares with the mean gap, as if all gaps were equal", mean_gap},
    {COMPETITIVE, "gives hours for seconds", hours},
};

static double zero_cost(const struct sheet_case *c, double per_s)
{
    const double busy = per_s * sheet_in(c, SERVICE);
    return sheet_in(c, PRICE) * -expm1(-busy) +
           sheet_in(c, PENALTY) * sheet_in(c, RATE) * exp(-busy);
}

static void solve(struct sheet_case *c)
{
    const double rate = sheet_in(c, RATE), per_s = rate / 3600, price = sheet_in(c, PRICE);
    const double penalty = sheet_in(c, PENALTY);
    const double span = rate == 0 ? 0 : per_s * (sheet_in(c, SERVICE) + sheet_in(c, TTL));
    const double cold = exp(-span), on = -expm1(-span);
    const double breakeven = penalty == 0 ? INFINITY : price / penalty;
    const double ttl = -log(sheet_in(c, TARGET)) / per_s - sheet_in(c, SERVICE);
    sheet_set(c, P_COLD, cold);
    sheet_set(c, ON, on);
    sheet_set(c, COLD_RATE, rate * cold);
    sheet_set(c, WAIT, cold * sheet_in(c, COLD));
    sheet_set(c, GPU_COST, price * on);
    sheet_set(c, COLD_COST, penalty * rate * cold);
    sheet_set(c, TOTAL, price * on + penalty * rate * cold);
    sheet_set(c, ALWAYS_COST, price);
    sheet_set(c, ZERO_COST, zero_cost(c, per_s));
    sheet_set(c, BREAKEVEN, breakeven);
    sheet_set_word(c, POLICY, rate > breakeven ? "always" : "zero");
    sheet_set(c, COMPETITIVE, penalty == 0 ? 0 : 3600 * penalty / price);
    sheet_set(c, TTL_TARGET, rate == 0 ? INFINITY : fmax(0, ttl));
}

static const char *const rules[] = {
    "Without requests the replica is off: every request would be cold, costs are 0.",
    "With no time-to-live and no service every request is cold; with an infinite one none is.",
    "Gaps without memory: no time-to-live strictly between 0 and infinity beats both ends.",
    "A cold start that costs nothing: the break-even rate is infinite, the best policy zero.",
    NULL,
};

extern const struct sheet sheet_serverless_keepalive;
const struct sheet sheet_serverless_keepalive = {
    .name = "serverless-keepalive",
    .group = "Sandboxed sessions and cold starts",
    .question = "How long should an idle GPU replica be kept before scaling to zero?",
    .doc =
        "One replica serves any number of requests at once (continuous batching). It is "
        "switched off when it has been idle for the time-to-live; the next request pays a cold "
        "start. The cold start is a cost and an added wait; its length does not change when the "
        "replica is on.",
    .assumption =
        "Gaps between requests are exponential: having been idle for long says nothing "
        "about the next one.",
    .rules = rules,
    .sources =
        "R. W. Wolff, Operations Research 30 (1982): Poisson arrivals see time averages. "
        "M/G/infinity is empty with probability e^(-lambda S). A. Karlin, M. Manasse, L. "
        "Rudolph and D. Sleator, 'Competitive snoopy caching' (1988): ski rental",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = TTL_TARGET,
    .solve = solve,
};
