/* Worksheet: requests that queue: the Erlang delay system. */
#include "analysis/worksheets/sheet.h"
#include "analysis/worksheets/station.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { RATE, SERVICE, SERVERS, LIMIT, PERCENTILE, LATE };
enum {
    OFFERED,
    RHO,
    STABLE,
    P_WAIT,
    WAIT,
    QUEUE,
    RESPONSE,
    IN_SYSTEM,
    P_LATE,
    WAIT_PCT,
    FOR_TARGET
};

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("arrivals_per_s", "lambda", "1/s", "arrival rate", "16"),
    [SERVICE] = SHEET_INPUT("mean_service_s", "S", "s", "mean (exponential) service time", "0.5",
                            .above = true),
    [SERVERS] = SHEET_INPUT("servers", "c", "servers", "number of servers", "10",
                            .type = SHEET_COUNT, .min = 1, .max = 1e6),
    [LIMIT] = SHEET_INPUT("wait_limit_s", "t", "s", "wait limit", "0.2"),
    [PERCENTILE] = SHEET_INPUT("percentile", "p", "fraction", "percentile of the wait to report",
                               "0.99", .max = 1, .below = true),
    [LATE] = SHEET_INPUT("target_late", "q", "fraction",
                         "largest fraction allowed to wait longer than the limit", "0.01",
                         .above = true, .max = 1),
};

static const struct sheet_output outputs[] = {
    [OFFERED] =
        SHEET_OUTPUT("offered_erlangs", "a", "erlangs", "{arrivals_per_s} x {mean_service_s}",
                     "On average {offered_erlangs#} servers are wanted at a time."),
    [RHO] = SHEET_OUTPUT("rho", "rho", "fraction", "{offered_erlangs} / {servers}",
                         "A server is busy {rho} of the time."),
    [STABLE] = SHEET_OUTPUT("stable", "stable", "0/1", "1 when {rho} < 1", "The servers keep up.",
                            .type = SHEET_FLAG),
    [P_WAIT] = SHEET_OUTPUT("p_wait", "C", "fraction",
                            "B / (1 - {rho} x (1 - B)), B = B({servers}, {offered_erlangs})",
                            "{p_wait} of the requests find every server busy and wait."),
    [WAIT] = SHEET_OUTPUT("mean_wait_s", "W_q", "s",
                          "{p_wait} x {mean_service_s} / ({servers} - {offered_erlangs})",
                          "Over all requests the mean wait is {mean_wait_s}."),
    [QUEUE] = SHEET_OUTPUT("mean_queue", "L_q", "requests", "{arrivals_per_s} x {mean_wait_s}",
                           "On average {mean_queue} wait."),
    [RESPONSE] = SHEET_OUTPUT("mean_response_s", "W", "s", "{mean_wait_s} + {mean_service_s}",
                              "From arrival to end it takes {mean_response_s}."),
    [IN_SYSTEM] =
        SHEET_OUTPUT("mean_in_system", "L", "requests", "{arrivals_per_s} x {mean_response_s}",
                     "{mean_in_system} are there on average."),
    [P_LATE] = SHEET_OUTPUT("p_late", "P", "fraction",
                            "{p_wait} x exp(-({servers} - {offered_erlangs}) x {wait_limit_s} / "
                            "{mean_service_s})",
                            "{p_late} wait longer than {wait_limit_s}."),
    [WAIT_PCT] = SHEET_OUTPUT("wait_pct_s", "t_p", "s",
                              "max(0, {mean_service_s} x ln({p_wait} / (1 - {percentile})) / "
                              "({servers} - {offered_erlangs}))",
                              "The wait at that percentile is {wait_pct_s}."),
    [FOR_TARGET] = SHEET_OUTPUT("servers_for_target", "c_q", "servers",
                                "smallest c > {offered_erlangs} with C(c, a) exp(-(c - a) x "
                                "{wait_limit_s} / {mean_service_s}) <= {target_late}",
                                "{servers_for_target} keep the limit.", .type = SHEET_COUNT),
};

static bool overloaded(const struct sheet_case *c)
{
    return sheet_out(c, STABLE) == 0;
}

static const struct sheet_remark remarks[] = {
    {STABLE, overloaded,
     "More arrives than is served: the queue grows for ever, and no mean "
     "exists."},
};

static double loss_for_delay(const struct sheet_case *c)
{
    return erlang_b((uint32_t)sheet_in(c, SERVERS), sheet_out(c, OFFERED));
}

static double one_server(const struct sheet_case *c)
{
    const double rho = sheet_out(c, RHO);
    return rho < 1 ? rho * sheet_in(c, SERVICE) / (1 - rho) : NAN;
}

static double utilization_one(const struct sheet_case *c)
{
    return sheet_ceil(sheet_out(c, OFFERED));
}

static const struct sheet_mistake mistakes[] = {
    {P_WAIT, "takes the loss formula (Erlang B), where nobody waits", loss_for_delay},
    {WAIT, "takes the formula of a single server", one_server},
    {FOR_TARGET, "sizes for a utilization of 1, where the wait has no bound", utilization_one},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, RATE) * sheet_in(c, SERVICE) > 1e6)
        sheet_refuse(c, RATE, "offers more than a million erlangs");
}

static void solve(struct sheet_case *c)
{
    const double rate = sheet_in(c, RATE), s = sheet_in(c, SERVICE), a = rate * s;
    const uint32_t servers = (uint32_t)sheet_in(c, SERVERS);
    const struct erlang_load load = erlang_product(rate, s);
    const struct erlang_delay d = erlang_delay(servers, load);
    const double wait = erlang_delay_mean(&d, s);
    sheet_set(c, OFFERED, a);
    sheet_set(c, RHO, a / servers);
    sheet_set(c, STABLE, d.spare > 0);
    sheet_set(c, P_WAIT, (double)d.wait_frac);
    sheet_set(c, WAIT, wait);
    sheet_set(c, QUEUE, rate > 0 ? rate * wait : 0);
    sheet_set(c, RESPONSE, wait + s);
    sheet_set(c, IN_SYSTEM, rate * (wait + s));
    sheet_set(c, P_LATE, erlang_delay_above(&d, s, sheet_in(c, LIMIT)));
    sheet_set(c, WAIT_PCT, erlang_delay_quantile(&d, s, sheet_in(c, PERCENTILE)));
    sheet_set(c, FOR_TARGET,
              a > 0 ? erlang_c_least(load, s, sheet_in(c, LIMIT), sheet_in(c, LATE)) : 1);
}

static bool scenario(const struct sheet_case *c, struct text *t)
{
    if (sheet_out(c, STABLE) == 0) {
        text_add(t, "the queue grows for ever: no mean exists");
        return false;
    }
    const struct station s = {.name = "erlang-c",
                              .servers = sheet_in(c, SERVERS),
                              .width = 1,
                              .rate_per_s = sheet_in(c, RATE),
                              .service_s = sheet_in(c, SERVICE),
                              .scv = 1,
                              .customers = station_customers(sheet_out(c, RHO))};
    return station_yaml(&s, t);
}

static const struct sheet_check checks[] = {
    {.output = P_WAIT, .metric = "waited_frac", .entity = "queue", .error_frac = 0.01},
    {.output = WAIT, .metric = "wait_mean_s", .entity = "queue", .error_frac = 0.02},
};

static const struct sheet_simulation simulation = {
    .scenario = scenario,
    .checks = checks,
    .n_checks = SHEET_N(checks),
    .replications = 20,
};

static const char *const rules[] = {
    "At a utilization of 1 or more every wait is infinite; the servers for the target are still "
    "given.",
    "Without arrivals nobody waits.",
    NULL,
};

extern const struct sheet sheet_erlang_c;
const struct sheet sheet_erlang_c = {
    .name = "erlang-c",
    .group = "Queueing and pooling",
    .question =
        "If requests queue, how long do they wait, and how many servers meet a wait "
        "target?",
    .doc = "Erlang delay: M/M/c, first in first out, an unlimited queue.",
    .assumption = "Arrivals are Poisson and service times exponential: steadier ones wait less.",
    .rules = rules,
    .sources = "A. K. Erlang (1917); L. Kleinrock, Queueing Systems vol. 1 (1975)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = P_WAIT,
    .check = check,
    .solve = solve,
    .simulation = &simulation,
};
