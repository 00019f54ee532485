/* Worksheet: two priority classes, with and without preemption. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { HIGH, LOW, SERVICE, SERVERS };
enum { RHO, RHO_HIGH, FIFO, HIGH_NP, LOW_NP, HIGH_PRE, RESPONSE_LOW, DELAY_LOW, PREEMPTS, PER_LOW };

static const struct sheet_input inputs[] = {
    [HIGH] = SHEET_INPUT("high_per_s", "l1", "1/s", "arrival rate of the high class", "3"),
    [LOW] = SHEET_INPUT("low_per_s", "l2", "1/s", "arrival rate of the low class", "5"),
    [SERVICE] = SHEET_INPUT("mean_service_s", "S", "s", "mean exponential service time of both",
                            "1", .above = true),
    [SERVERS] = SHEET_INPUT("servers", "c", "servers", "number of servers", "10",
                            .type = SHEET_COUNT, .min = 1, .max = 1e6),
};

static const struct sheet_output outputs[] = {
    [RHO] = SHEET_OUTPUT("rho", "rho", "fraction",
                         "({high_per_s} + {low_per_s}) x {mean_service_s} / {servers}",
                         "A server is busy {rho} of the time."),
    [RHO_HIGH] =
        SHEET_OUTPUT("rho_high", "s1", "fraction", "{high_per_s} x {mean_service_s} / {servers}",
                     "{rho_high} of it for the high class."),
    [FIFO] =
        SHEET_OUTPUT("wait_fifo_s", "W", "s", "C(c, a) {mean_service_s} / (c - a), a = (l1 + l2) S",
                     "Without priorities both wait {wait_fifo_s}."),
    [HIGH_NP] = SHEET_OUTPUT("wait_high_np_s", "W1", "s",
                             "C(c, a) ({mean_service_s} / {servers}) / (1 - {rho_high})",
                             "At the head of the line the high class waits {wait_high_np_s},"),
    [LOW_NP] = SHEET_OUTPUT("wait_low_np_s", "W2", "s",
                            "C(c, a) ({mean_service_s} / {servers}) / ((1 - {rho_high}) x (1 - "
                            "{rho}))",
                            "the low class {wait_low_np_s}."),
    [HIGH_PRE] = SHEET_OUTPUT("wait_high_pre_s", "W1'", "s",
                              "C(c, a1) {mean_service_s} / (c - a1), a1 = l1 S",
                              "With preemption the high class sees only itself: "
                              "{wait_high_pre_s}."),
    [RESPONSE_LOW] = SHEET_OUTPUT("response_low_pre_s", "T2'", "s",
                                  "(L(l1 + l2) - L(l1)) / {low_per_s}, L the mean number in the "
                                  "system",
                                  "A low request then takes {response_low_pre_s} in all,"),
    [DELAY_LOW] =
        SHEET_OUTPUT("delay_low_pre_s", "D2'", "s", "{response_low_pre_s} - {mean_service_s}",
                     "{delay_low_pre_s} of it waiting, before or in between."),
    [PREEMPTS] = SHEET_OUTPUT("preempts_per_s", "q", "1/s", "{high_per_s} x (C(c, a) - C(c, a1))",
                              "{preempts_per_s#} low requests a second are displaced."),
    [PER_LOW] = SHEET_OUTPUT("preempts_per_low", "q2", "1/job",
                             "{preempts_per_s} / rate at which low requests end",
                             "Each is displaced {preempts_per_low#} times on average."),
};

static bool low_starves(const struct sheet_case *c)
{
    return sheet_out(c, RHO) >= 1;
}

static const struct sheet_remark remarks[] = {
    {LOW_NP, low_starves,
     "the low class has no bounded wait: the high class leaves it too "
     "little."},
};

static double shares_of_wait(const struct sheet_case *c)
{
    return sheet_out(c, FIFO) * sheet_in(c, HIGH) / (sheet_in(c, HIGH) + sheet_in(c, LOW));
}

static const struct sheet_mistake mistakes[] = {
    {HIGH_NP, "divides the common wait in proportion to the rates", shares_of_wait},
};

static void check(struct sheet_case *c)
{
    if ((sheet_in(c, HIGH) + sheet_in(c, LOW)) * sheet_in(c, SERVICE) > 1e6)
        sheet_refuse(c, HIGH, "both classes together offer more than a million erlangs");
}

/* C(c, a) - C(c, a1) from sums of positive numbers: with x = a - a1 and I the weight of all states
 * over that of c busy (I = 1/B), I(a1) - I(a) = D grows by D(n) = n (D(n-1) + I(n-1) x / a) / a1,
 * and (c - a1) I(a1) + a1 exceeds (c - a) I(a) + a by (c - a) D + x (I(a1) - 1). */
static long double more_wait(uint32_t n, struct erlang_load a, struct erlang_load a1, double x)
{
    const long double spare = erlang_spare(n, a), spare1 = erlang_spare(n, a1);
    const long double all = (long double)a.high + a.low, high = (long double)a1.high + a1.low;
    const long double below1 = erlang_below(n, a1);
    if (isinf(below1))
        return erlang_delay(n, a).wait_frac;
    const long double d1 = spare1 * (1 + below1) + high;
    if (spare <= 0)
        return spare1 * below1 / d1;
    long double below = 0, gap = 0;
    for (uint32_t i = 1; i <= n; i++) {
        gap = i * (gap + (1 + below) * x / all) / high;
        below = i * (1 + below) / all;
    }
    return n * (spare * gap + x * below1) / (d1 * (spare * (1 + below) + all));
}

static void preemptive(struct sheet_case *c, uint32_t n, struct erlang_load a,
                       struct erlang_load a1)
{
    const double s = sheet_in(c, SERVICE), l1 = sheet_in(c, HIGH), l2 = sheet_in(c, LOW);
    const struct erlang_delay d = erlang_delay(n, a), d1 = erlang_delay(n, a1);
    const bool both = d.spare > 0, one = d1.spare > 0;
    const long double more = one && l2 > 0 ? more_wait(n, a, a1, l2 * s) : 0;
    /* (a C / (c - a) - a1 C1 / (c - a1)) / l2, over the common denominator. */
    const long double top = s * (n * d.wait_frac) + (l2 > 0 ? a1.high * d.spare * more / l2 : 0);
    const double delay = both ? (double)(top / (d.spare * d1.spare)) : INFINITY;
    const double displaced = (double)(l1 * more), ending = both ? l2 : (double)d1.spare / s;
    sheet_set(c, HIGH_PRE, erlang_delay_mean(&d1, s));
    sheet_set_if(c, RESPONSE_LOW, l2 > 0, s + delay);
    sheet_set_if(c, DELAY_LOW, l2 > 0, delay);
    sheet_set(c, PREEMPTS, displaced);
    sheet_set(c, PER_LOW, displaced > 0 ? displaced / ending : 0);
}

static void solve(struct sheet_case *c)
{
    const double s = sheet_in(c, SERVICE);
    const struct erlang_load a1 = erlang_product(sheet_in(c, HIGH), s);
    const struct erlang_load a = erlang_sum(a1, erlang_product(sheet_in(c, LOW), s));
    const uint32_t n = (uint32_t)sheet_in(c, SERVERS);
    const struct erlang_delay d = erlang_delay(n, a);
    const long double spare1 = erlang_spare(n, a1), waiting = d.wait_frac * s;
    sheet_set(c, RHO, a.high / n);
    sheet_set(c, RHO_HIGH, a1.high / n);
    sheet_set(c, FIFO, erlang_delay_mean(&d, s));
    sheet_set(c, HIGH_NP, spare1 > 0 ? (double)(waiting / spare1) : INFINITY);
    sheet_set(c, LOW_NP, d.spare > 0 ? (double)(waiting * n / (spare1 * d.spare)) : INFINITY);
    preemptive(c, n, a, a1);
}

static const char *const rules[] = {
    "Overloaded, but not by the high class alone: the low class waits without bound, the high one "
    "does not.",
    "Overloaded by the high class alone: every wait is infinite and nobody is displaced, as no low "
    "request is ever in service.",
    "Without low requests their response does not exist.",
    NULL,
};

extern const struct sheet sheet_priority_wait;
const struct sheet sheet_priority_wait = {
    .name = "priority-wait",
    .group = "Queueing and pooling",
    .question = "What do two priority classes wait, with and without preemption?",
    .doc =
        "M/M/c with a high and a low class that share one mean service time. Without preemption "
        "a high request goes to the head of the line; with preemption it also displaces a low "
        "one in service, which later resumes where it stopped.",
    .assumption =
        "Displacing costs nothing: what is displaced goes on where it stopped. For a "
        "gang that is a save and a restart.",
    .rules = rules,
    .sources =
        "A. Cobham (1954); R. H. Davis (1966); L. Kleinrock, Queueing Systems vol. 1 "
        "(1975)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = HIGH_NP,
    .check = check,
    .solve = solve,
};
