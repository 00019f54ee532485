/* Worksheet: square-root safety staffing beside the exact answer. */
#include "analysis/worksheets/sheet.h"
#include "analysis/worksheets/station.h"
#include "models/closed/erlang.h"

#include <gsl/gsl_sf_erf.h>
#include <math.h>

enum { OFFERED, TARGET };
enum { BETA, SAFETY, BY_SQRT, P_AT_SQRT, EXACT, P_EXACT, UTILIZATION };

static const struct sheet_input inputs[] = {
    [OFFERED] = SHEET_INPUT("offered_erlangs", "a", "erlangs", "offered load", "200", .above = true,
                            .max = 1e6),
    [TARGET] = SHEET_INPUT("target_p_wait", "q", "fraction", "largest probability of waiting",
                           "0.2", .min = 1e-300, .max = 1, .below = true),
};

static const struct sheet_output outputs[] = {
    [BETA] = SHEET_OUTPUT("beta", "beta", "-",
                          "solves 1 / (1 + beta Phi(beta) / phi(beta)) = {target_p_wait}",
                          "The target asks for {beta} square roots of spare servers."),
    [SAFETY] = SHEET_OUTPUT("safety_servers", "s", "servers", "{beta} x sqrt({offered_erlangs})",
                            "That is {safety_servers} above the load."),
    [BY_SQRT] =
        SHEET_OUTPUT("servers_sqrt", "c_s", "servers", "ceil({offered_erlangs} + {safety_servers})",
                     "The rule says {servers_sqrt}.", .type = SHEET_COUNT),
    [P_AT_SQRT] =
        SHEET_OUTPUT("p_wait_at_sqrt", "C_s", "fraction", "C({servers_sqrt}, {offered_erlangs})",
                     "With them {p_wait_at_sqrt} wait, exactly."),
    [EXACT] = SHEET_OUTPUT("servers_exact", "c", "servers",
                           "smallest c with C(c, {offered_erlangs}) <= {target_p_wait}",
                           "The exact answer is {servers_exact}.", .type = SHEET_COUNT),
    [P_EXACT] =
        SHEET_OUTPUT("p_wait_exact", "C", "fraction", "C({servers_exact}, {offered_erlangs})",
                     "With these {p_wait_exact} wait."),
    [UTILIZATION] =
        SHEET_OUTPUT("utilization_exact", "rho", "fraction", "{offered_erlangs} / {servers_exact}",
                     "They are busy {utilization_exact} of the time: the larger the "
                     "load, the nearer to 1."),
};

static bool rule_off(const struct sheet_case *c)
{
    return sheet_out(c, BY_SQRT) != sheet_out(c, EXACT);
}

static const struct sheet_remark remarks[] = {
    {EXACT, rule_off, "The exact answer is {servers_exact}; the rule says {servers_sqrt}."},
};

static double full(const struct sheet_case *c)
{
    return sheet_ceil(sheet_in(c, OFFERED));
}

static double proportional(const struct sheet_case *c)
{
    return sheet_ceil(1.2 * sheet_in(c, OFFERED));
}

static const struct sheet_mistake mistakes[] = {
    {BY_SQRT, "plans for a utilization of 1", full},
    {BY_SQRT, "adds a fifth, whatever the size: the spare grows with the square root",
     proportional},
};

/* ln(1 + beta Phi / phi), which no beta up to 40 overflows. */
static double log_inverse(double beta)
{
    const double half_log_2pi = 0.918938533204672741780;
    const double log_ratio =
        gsl_sf_log_erfc(-beta / sqrt(2)) - log(2) + beta * beta / 2 + half_log_2pi + log(beta);
    return log_ratio > 36 ? log_ratio : log1p(exp(log_ratio));
}

static double beta_of(double target)
{
    double low = 0, high = 40;
    for (int i = 0; i < 200 && low < high; i++) {
        const double middle = low + (high - low) / 2;
        if (middle == low || middle == high)
            break;
        *(log_inverse(middle) < -log(target) ? &low : &high) = middle;
    }
    return high;
}

static void solve(struct sheet_case *c)
{
    const double a = sheet_in(c, OFFERED), target = sheet_in(c, TARGET), beta = beta_of(target);
    const double safety = beta * sqrt(a), by_sqrt = sheet_ceil(a + safety);
    const uint32_t exact = erlang_c_servers(a, 1, 0, target);
    sheet_set(c, BETA, beta);
    sheet_set(c, SAFETY, safety);
    sheet_set(c, BY_SQRT, by_sqrt);
    sheet_set(c, P_AT_SQRT, erlang_c((uint32_t)by_sqrt, a));
    sheet_set(c, EXACT, exact);
    sheet_set(c, P_EXACT, erlang_c(exact, a));
    sheet_set(c, UTILIZATION, a / exact);
}

static bool scenario(const struct sheet_case *c, struct text *t)
{
    const struct station s = {.name = "sqrt-staffing",
                              .servers = sheet_out(c, EXACT),
                              .width = 1,
                              .rate_per_s = sheet_in(c, OFFERED) / 3600,
                              .service_s = 3600,
                              .scv = 1,
                              .customers = 200000};
    return station_yaml(&s, t);
}

static const struct sheet_check checks[] = {
    {.output = P_EXACT,
     .metric = "waited_frac",
     .entity = "queue",
     .error_frac = 0.02,
     .approximation = P_AT_SQRT + 1},
};

static const struct sheet_simulation simulation = {
    .scenario = scenario,
    .checks = checks,
    .n_checks = SHEET_N(checks),
    .replications = 20,
    .assumes = "A service time of one hour; the chance to wait depends on the load alone.",
};

static const char *const rules[] = {
    "The rule is at most one server off from a load of 10 on, for targets between 0.01 and 0.8.",
    NULL,
};

extern const struct sheet sheet_sqrt_staffing;
const struct sheet sheet_sqrt_staffing = {
    .name = "sqrt-staffing",
    .group = "Queueing and pooling",
    .question = "How many servers above the load does a wait target need?",
    .doc =
        "Square-root safety staffing: load + beta sqrt(load), beta by the target probability of "
        "waiting, beside the exact Erlang delay answer.",
    .assumption =
        "Demand is a Poisson stream with a known mean: a load that is wrong by 10 % "
        "costs more than the rule is off.",
    .rules = rules,
    .sources = "S. Halfin and W. Whitt, Operations Research 29 (1981); A. K. Erlang (1917)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = EXACT,
    .solve = solve,
    .simulation = &simulation,
};
