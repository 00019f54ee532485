/* Worksheet: the spread of service times lengthens a single-server queue. */
#include "analysis/worksheets/sheet.h"
#include "analysis/worksheets/station.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { RATE, SERVICE, SCV };
enum { RHO, STABLE, WAIT, QUEUE, RESPONSE, IN_SYSTEM };

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("arrivals_per_s", "lambda", "1/s", "arrival rate", "0.8"),
    [SERVICE] = SHEET_INPUT("mean_service_s", "S", "s", "mean service time", "1", .above = true),
    [SCV] =
        SHEET_INPUT("scv_service", "c_s^2", "-",
                    "squared coefficient of variation of service (0 fixed, 1 exponential)", "0"),
};

static const struct sheet_output outputs[] = {
    [RHO] = SHEET_OUTPUT("rho", "rho", "fraction", "{arrivals_per_s} x {mean_service_s}",
                         "The server is busy {rho} of the time."),
    [STABLE] = SHEET_OUTPUT("stable", "stable", "0/1", "1 when {rho} < 1", "It keeps up.",
                            .type = SHEET_FLAG),
    [WAIT] = SHEET_OUTPUT("mean_wait_s", "W_q", "s",
                          "{rho} x {mean_service_s} x (1 + {scv_service}) / (2 x (1 - {rho}))",
                          "The mean wait is {mean_wait_s}: half of it would be there without any "
                          "spread if service were exponential."),
    [QUEUE] = SHEET_OUTPUT("mean_queue", "L_q", "requests", "{arrivals_per_s} x {mean_wait_s}",
                           "On average {mean_queue} wait."),
    [RESPONSE] = SHEET_OUTPUT("mean_response_s", "W", "s", "{mean_wait_s} + {mean_service_s}",
                              "From arrival to end it takes {mean_response_s}."),
    [IN_SYSTEM] =
        SHEET_OUTPUT("mean_in_system", "L", "requests", "{arrivals_per_s} x {mean_response_s}",
                     "{mean_in_system} are there on average."),
};

static bool overloaded(const struct sheet_case *c)
{
    return sheet_out(c, STABLE) == 0;
}

static const struct sheet_remark remarks[] = {
    {STABLE, overloaded, "More arrives than is served: the queue grows for ever."},
    {WAIT, overloaded, "The wait has no bound."},
};

static double as_exponential(const struct sheet_case *c)
{
    const double rho = sheet_out(c, RHO);
    return rho < 1 ? rho * sheet_in(c, SERVICE) / (1 - rho) : NAN;
}

static double plain_cv(const struct sheet_case *c)
{
    const double rho = sheet_out(c, RHO);
    return rho < 1 ? rho * sheet_in(c, SERVICE) * (1 + sqrt(sheet_in(c, SCV))) / (2 * (1 - rho))
                   : NAN;
}

static const struct sheet_mistake mistakes[] = {
    {WAIT, "takes service as exponential", as_exponential},
    {WAIT, "takes the coefficient of variation without squaring it", plain_cv},
};

static void solve(struct sheet_case *c)
{
    const double rate = sheet_in(c, RATE), s = sheet_in(c, SERVICE), rho = rate * s;
    const double free = (double)erlang_spare(1, erlang_product(rate, s)); /* 1 - rho */
    const double wait = free > 0 ? rho * s * (1 + sheet_in(c, SCV)) / (2 * free) : INFINITY;
    sheet_set(c, RHO, rho);
    sheet_set(c, STABLE, free > 0);
    sheet_set(c, WAIT, wait);
    sheet_set(c, QUEUE, rate > 0 ? rate * wait : 0);
    sheet_set(c, RESPONSE, wait + s);
    sheet_set(c, IN_SYSTEM, rate > 0 ? rate * (wait + s) : 0);
}

static bool scenario(const struct sheet_case *c, struct text *t)
{
    if (sheet_out(c, STABLE) == 0) {
        text_add(t, "the queue grows for ever: no mean exists");
        return false;
    }
    const struct station s = {.name = "mg1-wait",
                              .servers = 1,
                              .width = 1,
                              .rate_per_s = sheet_in(c, RATE),
                              .service_s = sheet_in(c, SERVICE),
                              .scv = sheet_in(c, SCV),
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
};

static const char *const rules[] = {
    "At a utilization of 1 or more every wait is infinite; without arrivals nobody waits.",
    NULL,
};

extern const struct sheet sheet_mg1_wait;
const struct sheet sheet_mg1_wait = {
    .name = "mg1-wait",
    .group = "Queueing and pooling",
    .question = "How does the spread of service times lengthen a single-server queue?",
    .doc = "M/G/1, first in first out (Pollaczek-Khinchine).",
    .assumption = "Arrivals are Poisson; of service times only mean and spread matter.",
    .rules = rules,
    .sources =
        "F. Pollaczek (1930), A. Y. Khinchine (1932); L. Kleinrock, Queueing Systems vol. 1 "
        "(1975)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = WAIT,
    .solve = solve,
    .simulation = &simulation,
};
