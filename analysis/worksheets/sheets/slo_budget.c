/* Worksheet: the error budget of an objective, and whether the hardware allows the objective. */
#include "analysis/worksheets/sheet.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { SLO, WINDOW, BAD, ELAPSED, PAGE_FRAC, PAGE_WINDOW, REPLICAS, NEEDED, MTBF, MTTR };
enum {
    BUDGET,
    USED,
    BURN,
    REMAINING,
    EXHAUST,
    PAGE_BURN,
    REPLICA,
    SERVICE,
    HARDWARE_BAD,
    MEETS,
    FOR_SLO
};
enum { REPLICAS_MAX = 100000 };

static const struct sheet_input inputs[] = {
    [SLO] = SHEET_INPUT("slo", "s", "fraction", "availability objective", "0.999", .max = 1),
    [WINDOW] = SHEET_INPUT("window_days", "W", "days", "window", "30", .above = true),
    [BAD] = SHEET_INPUT("bad_minutes", "b", "min", "bad minutes so far", "20"),
    [ELAPSED] =
        SHEET_INPUT("elapsed_days", "e", "days", "time elapsed in the window", "10", .above = true),
    [PAGE_FRAC] = SHEET_INPUT("page_budget_frac", "f", "fraction",
                              "share of the budget whose loss should page", "0.02", .max = 1),
    [PAGE_WINDOW] = SHEET_INPUT("page_window_h", "w", "h", "time within which", "1", .above = true),
    [REPLICAS] = SHEET_INPUT("replicas", "n", "replicas", "replicas", "10", .type = SHEET_COUNT,
                             .max = REPLICAS_MAX),
    [NEEDED] = SHEET_INPUT("needed", "k", "replicas", "replicas needed", "9", .type = SHEET_COUNT,
                           .max = REPLICAS_MAX),
    [MTBF] = SHEET_INPUT("replica_mtbf_h", "M", "h", "mean time between failures of one replica",
                         "500", .above = true),
    [MTTR] = SHEET_INPUT("replica_mttr_h", "R", "h", "mean time to repair", "1"),
};

static const struct sheet_output outputs[] = {
    [BUDGET] = SHEET_OUTPUT("budget_min", "B", "min", "(1 - {slo}) x {window_days} x 1440",
                            "The objective allows {budget_min} of bad time."),
    [USED] = SHEET_OUTPUT("used_frac", "u", "fraction", "{bad_minutes} / {budget_min}",
                          "{used_frac} of it is spent."),
    [BURN] = SHEET_OUTPUT("burn_rate", "r", "-",
                          "({bad_minutes} / ({elapsed_days} x 1440)) / (1 - {slo})",
                          "It burns {burn_rate} times as fast as would use it up exactly at the "
                          "end."),
    [REMAINING] = SHEET_OUTPUT("remaining_min", "B'", "min", "max(0, {budget_min} - {bad_minutes})",
                               "{remaining_min} are left."),
    [EXHAUST] = SHEET_OUTPUT("days_to_exhaust", "t", "days",
                             "{remaining_min} / ({bad_minutes} / {elapsed_days})",
                             "At this rate it is gone in {days_to_exhaust}."),
    [PAGE_BURN] = SHEET_OUTPUT("page_burn_rate", "r_p", "-",
                               "{page_budget_frac} x {window_days} x 24 / {page_window_h}",
                               "Page at a burn rate of {page_burn_rate}."),
    [REPLICA] = SHEET_OUTPUT("replica_avail", "A", "fraction",
                             "{replica_mtbf_h} / ({replica_mtbf_h} + {replica_mttr_h})",
                             "One replica is up {replica_avail} of the time."),
    [SERVICE] = SHEET_OUTPUT("service_avail", "A_s", "fraction",
                             "P(Binomial({replicas}, {replica_avail}) >= {needed})",
                             "{needed} of {replicas} are up {service_avail} of the time."),
    [HARDWARE_BAD] = SHEET_OUTPUT("hardware_bad_min", "b_h", "min",
                                  "(1 - {service_avail}) x {window_days} x 1440",
                                  "Failures alone cost {hardware_bad_min} a window."),
    [MEETS] = SHEET_OUTPUT("hardware_meets_slo", "ok", "0/1", "1 when {service_avail} >= {slo}",
                           "The hardware allows the objective.", .type = SHEET_FLAG),
    [FOR_SLO] = SHEET_OUTPUT("replicas_for_slo", "n_s", "replicas",
                             "smallest n >= {needed} with P(Binomial(n, {replica_avail}) >= "
                             "{needed}) >= {slo}",
                             "It takes {replicas_for_slo}.", .type = SHEET_COUNT),
};

static bool fails(const struct sheet_case *c)
{
    return sheet_out(c, MEETS) == 0;
}

static bool spent(const struct sheet_case *c)
{
    return sheet_out(c, REMAINING) == 0 && sheet_in(c, BAD) > 0;
}

static const struct sheet_remark remarks[] = {
    {MEETS, fails, "The hardware alone breaks the objective, however good the software."},
    {EXHAUST, spent, "It is gone already."},
};

static double all_up(const struct sheet_case *c)
{
    return pow(sheet_out(c, REPLICA), sheet_in(c, NEEDED));
}

static double of_window(const struct sheet_case *c)
{
    return sheet_in(c, BAD) / (sheet_in(c, WINDOW) * 1440) / (1 - sheet_in(c, SLO));
}

static const struct sheet_mistake mistakes[] = {
    {SERVICE, "asks only that the needed ones be up, and forgets the others that can stand in",
     all_up},
    {BURN, "divides by the whole window instead of the elapsed time", of_window},
};

/* P(fewer than k of n are up): each is down with probability q. Exact at both ends. */
static double down(double n, double k, double q)
{
    if (k <= 0)
        return 0;
    if (k > n)
        return 1;
    if (q == 0)
        return 0;
    /* Fewer than k up is more than n - k down. */
    return gsl_cdf_binomial_Q((unsigned)(n - k), q, (unsigned)n);
}

/* Smallest n >= k with at most 1 - slo bad; 0: none up to the limit. The chance falls with n. */
static double replicas_for(double k, double q, double slo)
{
    double low = k, high = k;
    while (high <= REPLICAS_MAX && 1 - down(high, k, q) < slo) {
        low = high + 1;
        high = high * 2 + 1;
    }
    if (high > 4.0 * REPLICAS_MAX || 1 - down(high, k, q) < slo)
        return 0;
    while (low < high) {
        const double middle = floor((low + high) / 2);
        if (1 - down(middle, k, q) >= slo)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void budget(struct sheet_case *c)
{
    const double slo = sheet_in(c, SLO), bad = sheet_in(c, BAD);
    const double elapsed = sheet_in(c, ELAPSED) * 1440,
                 size = (1 - slo) * sheet_in(c, WINDOW) * 1440;
    const double left = fmax(0, size - bad), over = bad > 0 ? INFINITY : 0;
    sheet_set(c, BUDGET, size);
    sheet_set(c, USED, slo < 1 ? bad / size : over);
    sheet_set(c, BURN, slo < 1 ? bad / elapsed / (1 - slo) : over);
    sheet_set(c, REMAINING, left);
    sheet_set(c, EXHAUST, bad == 0 ? INFINITY : left / (bad / sheet_in(c, ELAPSED)));
    sheet_set(c, PAGE_BURN,
              sheet_in(c, PAGE_FRAC) * sheet_in(c, WINDOW) * 24 / sheet_in(c, PAGE_WINDOW));
}

static void solve(struct sheet_case *c)
{
    const double mtbf = sheet_in(c, MTBF), mttr = sheet_in(c, MTTR), slo = sheet_in(c, SLO);
    const double q = mttr / (mtbf + mttr), k = sheet_in(c, NEEDED);
    const double bad = down(sheet_in(c, REPLICAS), k, q), up = 1 - bad;
    const bool never = slo == 1 && q > 0 && k > 0;
    const double n = never ? 0 : replicas_for(k, q, slo);
    budget(c);
    sheet_set(c, REPLICA, mtbf / (mtbf + mttr));
    sheet_set(c, SERVICE, up);
    sheet_set(c, HARDWARE_BAD, bad * sheet_in(c, WINDOW) * 1440);
    sheet_set(c, MEETS, up >= slo && !(slo == 1 && bad > 0));
    if (!never && n == 0 && k > 0)
        sheet_refuse(c, NEEDED, "no number of replicas up to %d keeps %.0f up often enough",
                     4 * REPLICAS_MAX, k);
    else
        sheet_set_if(c, FOR_SLO, !never, n);
}

static const char *const rules[] = {
    "An objective of 1 has no budget: any bad minute exceeds it, and no number of replicas that "
    "can fail keeps it.",
    "When none is needed the service is always up; when more are needed than there are, never.",
    NULL,
};

extern const struct sheet sheet_slo_budget;
const struct sheet sheet_slo_budget = {
    .name = "slo-budget",
    .group = "Operating a large fleet",
    .question =
        "How much error budget is left, how fast is it burning, and does the hardware "
        "allow the objective at all?",
    .doc =
        "An availability objective over a window leaves a budget of bad minutes; a burn rate of "
        "1 uses it up exactly at the end. A service that needs k of n replicas, each up a "
        "fraction A of the time, is up with the binomial probability.",
    .assumption = "Replicas fail independently: a rack, a roll-out or a bad release takes several.",
    .rules = rules,
    .sources =
        "B. Beyer et al., The Site Reliability Workbook (2018), ch. 5; alternating renewal "
        "process: availability = MTBF / (MTBF + MTTR)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = SERVICE,
    .solve = solve,
};
