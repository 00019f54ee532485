/* Worksheet: queues whose arrivals and services are not exponential. */
#include "analysis/worksheets/sheet.h"
#include "analysis/worksheets/station.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { RATE, SERVICE, SERVERS, SCV_ARRIVAL, SCV_SERVICE };
enum { RHO, STABLE, WAIT_MMC, VARIABILITY, WAIT, QUEUE, ONE_FAST, BOUND };

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("arrivals_per_s", "lambda", "1/s", "arrival rate", "8"),
    [SERVICE] = SHEET_INPUT("mean_service_s", "S", "s", "mean service time", "1", .above = true),
    [SERVERS] = SHEET_INPUT("servers", "c", "servers", "number of servers", "10",
                            .type = SHEET_COUNT, .min = 1, .max = 1e6),
    [SCV_ARRIVAL] = SHEET_INPUT("scv_arrival", "c_a^2", "-",
                                "squared coefficient of variation of inter-arrival times", "2"),
    [SCV_SERVICE] = SHEET_INPUT("scv_service", "c_s^2", "-",
                                "squared coefficient of variation of service", "0.5"),
};

static const struct sheet_output outputs[] = {
    [RHO] =
        SHEET_OUTPUT("rho", "rho", "fraction", "{arrivals_per_s} x {mean_service_s} / {servers}",
                     "A server is busy {rho} of the time."),
    [STABLE] = SHEET_OUTPUT("stable", "stable", "0/1", "1 when {rho} < 1", "The servers keep up.",
                            .type = SHEET_FLAG),
    [WAIT_MMC] = SHEET_OUTPUT("wait_mmc_s", "W_M", "s",
                              "C(c, a) {mean_service_s} / (c - a), c = {servers}, a = lambda S",
                              "Were both exponential, the mean wait would be {wait_mmc_s}."),
    [VARIABILITY] = SHEET_OUTPUT("variability", "v", "-", "({scv_arrival} + {scv_service}) / 2",
                                 "Spread scales it by {variability}."),
    [WAIT] = SHEET_OUTPUT("wait_s", "W_q", "s", "{variability} x {wait_mmc_s}",
                          "Allen-Cunneen: about {wait_s}."),
    [QUEUE] = SHEET_OUTPUT("mean_queue", "L_q", "requests", "{arrivals_per_s} x {wait_s}",
                           "About {mean_queue} wait."),
    [ONE_FAST] = SHEET_OUTPUT("wait_one_fast_s", "W_1", "s",
                              "{variability} x {rho} / (1 - {rho}) x {mean_service_s} / "
                              "{servers}",
                              "One server as fast as all together: {wait_one_fast_s}."),
    [BOUND] = SHEET_OUTPUT("bound_one_fast_s", "W_1max", "s",
                           "lambda (c_a^2/lambda^2 + c_s^2 (S/c)^2) / (2 (1 - {rho}))",
                           "and never more than {bound_one_fast_s} (Kingman's bound)."),
};

static bool overloaded(const struct sheet_case *c)
{
    return sheet_out(c, STABLE) == 0;
}

static const struct sheet_remark remarks[] = {
    {STABLE, overloaded, "More arrives than is served: every wait is without bound."},
};

static double no_spread(const struct sheet_case *c)
{
    return sheet_out(c, WAIT_MMC);
}

static const struct sheet_mistake mistakes[] = {
    {WAIT, "forgets the spread: takes both as exponential", no_spread},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, RATE) * sheet_in(c, SERVICE) > 1e6)
        sheet_refuse(c, RATE, "offers more than a million erlangs");
}

static void solve(struct sheet_case *c)
{
    const double rate = sheet_in(c, RATE), s = sheet_in(c, SERVICE), a = rate * s;
    const double servers = sheet_in(c, SERVERS), rho = a / servers;
    const double va = sheet_in(c, SCV_ARRIVAL), vs = sheet_in(c, SCV_SERVICE), v = (va + vs) / 2;
    const struct erlang_delay d = erlang_delay((uint32_t)servers, erlang_product(rate, s));
    const bool stable = d.spare > 0;
    const double mmc = erlang_delay_mean(&d, s), free = (double)d.spare / servers; /* 1 - rho */
    const double fast = stable ? v * rho / free * s / servers : INFINITY;
    const double fast_s = s / servers;
    sheet_set(c, RHO, rho);
    sheet_set(c, STABLE, stable);
    sheet_set(c, WAIT_MMC, mmc);
    sheet_set(c, VARIABILITY, v);
    sheet_set(c, WAIT, stable ? v * mmc : INFINITY);
    sheet_set(c, QUEUE, stable ? rate * v * mmc : INFINITY);
    sheet_set(c, ONE_FAST, fast);
    sheet_set(c, BOUND,
              !stable     ? INFINITY
              : rate == 0 ? 0
                          : (va / rate + rate * vs * fast_s * fast_s) / (2 * free));
}

static bool scenario(const struct sheet_case *c, struct text *t)
{
    if (sheet_out(c, STABLE) == 0) {
        text_add(t, "the queue grows for ever: no mean exists");
        return false;
    }
    if (sheet_in(c, SCV_ARRIVAL) != 1) {
        text_add(t, "arrivals are Poisson in a drawn queue: set scv_arrival=1");
        return false;
    }
    const struct station s = {.name = "gg-wait",
                              .servers = sheet_in(c, SERVERS),
                              .width = 1,
                              .rate_per_s = sheet_in(c, RATE),
                              .service_s = sheet_in(c, SERVICE),
                              .scv = sheet_in(c, SCV_SERVICE),
                              .customers = station_customers(sheet_out(c, RHO))};
    return station_yaml(&s, t);
}

static const struct sheet_check checks[] = {
    {.output = WAIT, .metric = "wait_mean_s", .entity = "queue", .error_frac = 0.02},
};

static const struct sheet_simulation simulation = {
    .scenario = scenario,
    .checks = checks,
    .n_checks = SHEET_N(checks),
    .replications = 20,
    .assumes =
        "With several servers and a spread of service other than the exponential one the formula "
        "is an approximation, and the two differ.",
};

static const char *const rules[] = {
    "Exact only for one server with Poisson arrivals, and for Poisson arrivals with exponential "
    "service; else an approximation: for ten servers it is 8 to 20 % low with bursty arrivals "
    "(c_a^2 = 2), and far too high for clockwork ones.",
    "At a utilization of 1 or more every wait is infinite; without arrivals nobody waits.",
    NULL,
};

extern const struct sheet sheet_gg_wait;
const struct sheet sheet_gg_wait = {
    .name = "gg-wait",
    .group = "Queueing and pooling",
    .question = "How long is the queue when neither arrivals nor service are exponential?",
    .doc =
        "Approximations for G/G/c: the Allen-Cunneen scaling of the Erlang delay, Kingman's "
        "formula for one fast server of the same total speed, and his upper bound for it.",
    .assumption =
        "Of both laws only mean and spread matter: true in heavy traffic, roughly "
        "elsewhere.",
    .rules = rules,
    .sources =
        "J. F. C. Kingman (1961, 1962); A. O. Allen, Probability, Statistics and Queueing "
        "Theory (1990)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = WAIT,
    .check = check,
    .solve = solve,
    .simulation = &simulation,
};
