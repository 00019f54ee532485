/* Worksheet: requests that never queue: the Erlang loss system. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { OFFERED, SERVERS, TARGET };
enum { BLOCKING, CARRIED, LOST, UTILIZATION, FOR_TARGET };

static const struct sheet_input inputs[] = {
    [OFFERED] = SHEET_INPUT("offered_erlangs", "a", "erlangs",
                            "offered load: arrival rate x mean holding time", "10", .max = 1e6),
    [SERVERS] = SHEET_INPUT("servers", "c", "servers", "number of servers", "10",
                            .type = SHEET_COUNT, .max = 1e6),
    [TARGET] =
        SHEET_INPUT("target_blocking", "q", "fraction",
                    "largest loss fraction accepted when sizing", "0.01", .above = true, .max = 1),
};

static const struct sheet_output outputs[] = {
    [BLOCKING] = SHEET_OUTPUT("blocking", "B", "fraction",
                              "B({servers}, {offered_erlangs}), B(0) = 1, B(n) = a B(n-1) / (n + a "
                              "B(n-1))",
                              "{blocking} of the requests find every server busy and are lost."),
    [CARRIED] =
        SHEET_OUTPUT("carried_erlangs", "a_c", "erlangs", "{offered_erlangs} x (1 - {blocking})",
                     "On average {carried_erlangs#} servers are busy."),
    [LOST] = SHEET_OUTPUT("lost_erlangs", "a_l", "erlangs", "{offered_erlangs} x {blocking}",
                          "{lost_erlangs} of work are turned away."),
    [UTILIZATION] = SHEET_OUTPUT("utilization", "rho", "fraction", "{carried_erlangs} / {servers}",
                                 "A server is busy {utilization} of the time."),
    [FOR_TARGET] =
        SHEET_OUTPUT("servers_for_target", "c_q", "servers",
                     "smallest c with B(c, {offered_erlangs}) <= {target_blocking}",
                     "{servers_for_target} lose no more than the target.", .type = SHEET_COUNT),
};

static double enough_for_mean(const struct sheet_case *c)
{
    return sheet_ceil(sheet_in(c, OFFERED));
}

static double overflow_of_mean(const struct sheet_case *c)
{
    const double a = sheet_in(c, OFFERED), servers = sheet_in(c, SERVERS);
    return a > servers ? 1 - servers / a : 0;
}

static const struct sheet_mistake mistakes[] = {
    {BLOCKING, "takes arrivals as even: only what the mean exceeds would be lost",
     overflow_of_mean},
    {FOR_TARGET, "sizes for the mean load", enough_for_mean},
};

static void solve(struct sheet_case *c)
{
    const double a = sheet_in(c, OFFERED), servers = sheet_in(c, SERVERS);
    const long double below = erlang_below((uint32_t)servers, (struct erlang_load){a, 0});
    const double b = (double)(1 / (1 + below));
    const double kept = isinf(below) ? 1 : (double)(below / (1 + below)); /* 1 - b */
    sheet_set(c, BLOCKING, b);
    sheet_set(c, CARRIED, a * kept);
    sheet_set(c, LOST, a * b);
    sheet_set(c, UTILIZATION, servers > 0 ? a * kept / servers : 0);
    sheet_set(c, FOR_TARGET, erlang_b_servers(a, sheet_in(c, TARGET)));
}

static const char *const rules[] = {
    "Without servers everything is lost; without load nothing.",
    "A load above the servers is allowed: a loss system is always stable.",
    NULL,
};

extern const struct sheet sheet_erlang_b;
const struct sheet sheet_erlang_b = {
    .name = "erlang-b",
    .group = "Queueing and pooling",
    .question = "If nobody queues, how often is a request turned away?",
    .doc =
        "Erlang loss (M/G/c/c): requests arrive at random, each takes one server, and a request "
        "that finds every server busy is lost.",
    .assumption =
        "Arrivals are Poisson. The law of the service time does not matter, its mean "
        "does.",
    .rules = rules,
    .sources = "A. K. Erlang (1917); B. A. Sevastyanov (1957) - insensitivity",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = BLOCKING,
    .solve = solve,
};
