/* Worksheet: a bounded queue. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/bounded_queue.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { RATE, SERVICE, SERVERS, PLACES };
enum { OFFERED, RHO, LOSS, THROUGHPUT, UTILIZATION, P_WAIT, QUEUE, WAIT, RESPONSE };

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("arrivals_per_s", "lambda", "1/s", "arrival rate", "25"),
    [SERVICE] = SHEET_INPUT("mean_service_s", "S", "s", "mean exponential service time", "0.5",
                            .above = true),
    [SERVERS] = SHEET_INPUT("servers", "c", "servers", "number of servers", "10",
                            .type = SHEET_COUNT, .min = 1, .max = 1e6),
    [PLACES] = SHEET_INPUT("queue_slots", "k", "places", "waiting places", "20",
                           .type = SHEET_COUNT, .max = 1e6),
};

static const struct sheet_output outputs[] = {
    [OFFERED] =
        SHEET_OUTPUT("offered_erlangs", "a", "erlangs", "{arrivals_per_s} x {mean_service_s}",
                     "On average {offered_erlangs#} servers are wanted at a time."),
    [RHO] = SHEET_OUTPUT("rho", "rho", "fraction", "{offered_erlangs} / {servers}",
                         "{rho} of what the servers can do is asked for."),
    [LOSS] = SHEET_OUTPUT("p_loss", "P_K", "fraction",
                          "P(N = {servers} + {queue_slots}): a^n/n! up to c, then times "
                          "({offered_erlangs}/{servers})^(n - c)",
                          "{p_loss} of the requests find no place and are dropped."),
    [THROUGHPUT] = SHEET_OUTPUT("throughput_per_s", "X", "1/s", "{arrivals_per_s} x (1 - {p_loss})",
                                "{throughput_per_s#} a second are served."),
    [UTILIZATION] = SHEET_OUTPUT("utilization", "u", "fraction",
                                 "{offered_erlangs} x (1 - {p_loss}) / {servers}",
                                 "A server is busy {utilization} of the time."),
    [P_WAIT] = SHEET_OUTPUT("p_wait", "P_w", "fraction",
                            "P({servers} <= N < {servers} + {queue_slots}) / (1 - {p_loss})",
                            "{p_wait} of those accepted wait."),
    [QUEUE] = SHEET_OUTPUT("mean_queue", "L_q", "requests",
                           "sum of (n - {servers}) P(N = n) over n > {servers}",
                           "On average {mean_queue} wait."),
    [WAIT] = SHEET_OUTPUT("mean_wait_s", "W_q", "s", "{mean_queue} / {throughput_per_s}",
                          "An accepted request waits {mean_wait_s} (Little's law)."),
    [RESPONSE] = SHEET_OUTPUT("mean_response_s", "W", "s", "{mean_wait_s} + {mean_service_s}",
                              "From arrival to end it takes {mean_response_s}."),
};

static double by_arrivals(const struct sheet_case *c)
{
    return sheet_in(c, RATE) > 0 ? sheet_out(c, QUEUE) / sheet_in(c, RATE) : NAN;
}

static double excess(const struct sheet_case *c)
{
    return fmax(0, 1 - 1 / sheet_out(c, RHO));
}

static const struct sheet_mistake mistakes[] = {
    {LOSS, "loses only what the mean exceeds: that is the limit of an endless queue", excess},
    {WAIT, "divides by all arrivals: those dropped wait for nothing", by_arrivals},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, RATE) * sheet_in(c, SERVICE) > 1e9)
        sheet_refuse(c, RATE, "offers more than 10^9 erlangs");
}

static void solve(struct sheet_case *c)
{
    const double rate = sheet_in(c, RATE), s = sheet_in(c, SERVICE), a = rate * s;
    const double servers = sheet_in(c, SERVERS);
    const struct bounded_queue q =
        bounded_queue_places((uint32_t)servers, a, (uint32_t)sheet_in(c, PLACES));
    const double through = rate * (1 - q.lost), wait = through > 0 ? q.queue_mean / through : 0;
    sheet_set(c, OFFERED, a);
    sheet_set(c, RHO, a / servers);
    sheet_set(c, LOSS, q.lost);
    sheet_set(c, THROUGHPUT, through);
    sheet_set(c, UTILIZATION, a * (1 - q.lost) / servers);
    sheet_set(c, P_WAIT, q.wait_frac);
    sheet_set(c, QUEUE, q.queue_mean);
    sheet_set(c, WAIT, wait);
    sheet_set(c, RESPONSE, wait + s);
}

static const char *const rules[] = {
    "Without waiting places this is the Erlang loss system.",
    "A load above the servers is allowed: a bounded queue is always stable. With ever more places "
    "the loss tends to 1 - 1/rho above a load of 1, and to none below it.",
    NULL,
};

extern const struct sheet sheet_finite_queue;
const struct sheet sheet_finite_queue = {
    .name = "finite-queue",
    .group = "Queueing and pooling",
    .question = "What does a bounded queue lose and how long do the accepted requests wait?",
    .doc =
        "M/M/c/K: c servers and so many waiting places; a request that finds all of them taken "
        "is dropped.",
    .assumption = "Arrivals are Poisson and service times exponential; nobody tries again.",
    .rules = rules,
    .sources = "A. K. Erlang (1917); L. Kleinrock, Queueing Systems vol. 1 (1975)",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = LOSS,
    .check = check,
    .solve = solve,
};
