/* Worksheet: waiting requests that give up. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/bounded_queue.h"

#include <math.h>

enum { RATE, SERVICE, SERVERS, PATIENCE };
enum { OFFERED, P_WAIT, ABANDON, QUEUE, WAIT, THROUGHPUT, UTILIZATION };

static const struct sheet_input inputs[] = {
    [RATE] = SHEET_INPUT("arrivals_per_s", "lambda", "1/s", "arrival rate", "25"),
    [SERVICE] = SHEET_INPUT("mean_service_s", "S", "s", "mean exponential service time", "0.5",
                            .above = true),
    [SERVERS] = SHEET_INPUT("servers", "c", "servers", "number of servers", "10",
                            .type = SHEET_COUNT, .min = 1, .max = 1e6),
    [PATIENCE] = SHEET_INPUT("mean_patience_s", "theta", "s", "mean exponential patience", "2",
                             .above = true),
};

static const struct sheet_output outputs[] = {
    [OFFERED] =
        SHEET_OUTPUT("offered_erlangs", "a", "erlangs", "{arrivals_per_s} x {mean_service_s}",
                     "On average {offered_erlangs#} servers are wanted at a time."),
    [P_WAIT] = SHEET_OUTPUT("p_wait", "P_w", "fraction",
                            "P(N >= {servers}): births {arrivals_per_s}, deaths min(n, c)/"
                            "{mean_service_s} + (n - c)+/{mean_patience_s}",
                            "{p_wait} of the requests find every server busy."),
    [ABANDON] = SHEET_OUTPUT("p_abandon", "P_a", "fraction",
                             "{mean_queue} / ({mean_patience_s} x {arrivals_per_s})",
                             "{p_abandon} of all give up before they are served."),
    [QUEUE] = SHEET_OUTPUT("mean_queue", "L_q", "requests", "sum of (n - {servers})+ P(N = n)",
                           "On average {mean_queue} wait."),
    [WAIT] = SHEET_OUTPUT("mean_wait_s", "W_q", "s", "{mean_queue} / {arrivals_per_s}",
                          "Served or not, a request is in line for {mean_wait_s}."),
    [THROUGHPUT] =
        SHEET_OUTPUT("throughput_per_s", "X", "1/s", "{arrivals_per_s} x (1 - {p_abandon})",
                     "{throughput_per_s#} a second are served."),
    [UTILIZATION] = SHEET_OUTPUT("utilization", "u", "fraction",
                                 "{offered_erlangs} x (1 - {p_abandon}) / {servers}",
                                 "A server is busy {utilization} of the time."),
};

static double excess(const struct sheet_case *c)
{
    const double rho = sheet_out(c, OFFERED) / sheet_in(c, SERVERS);
    return rho > 0 ? fmax(0, 1 - 1 / rho) : NAN;
}

static const struct sheet_mistake mistakes[] = {
    {ABANDON, "loses only what the mean exceeds, as if arrivals were even", excess},
};

static void solve(struct sheet_case *c)
{
    const double rate = sheet_in(c, RATE), s = sheet_in(c, SERVICE), a = rate * s;
    struct bounded_queue q;
    if (a > 1e9 || !bounded_queue_patience((uint32_t)sheet_in(c, SERVERS), rate, s,
                                           sheet_in(c, PATIENCE), &q)) {
        sheet_refuse(c, PATIENCE, "the queue would have too many states to add up");
        return;
    }
    sheet_set(c, OFFERED, a);
    sheet_set(c, P_WAIT, q.wait_frac);
    sheet_set(c, ABANDON, q.lost);
    sheet_set(c, QUEUE, q.queue_mean);
    sheet_set(c, WAIT, rate > 0 ? q.queue_mean / rate : 0);
    sheet_set(c, THROUGHPUT, rate * (1 - q.lost));
    sheet_set(c, UTILIZATION, a * (1 - q.lost) / sheet_in(c, SERVERS));
}

static const char *const rules[] = {
    "Always stable, also above a load of 1: who gives up relieves the queue.",
    "With ever more patience the answers tend to those of the unlimited queue.",
    NULL,
};

extern const struct sheet sheet_impatient_queue;
const struct sheet sheet_impatient_queue = {
    .name = "impatient-queue",
    .group = "Queueing and pooling",
    .question = "If waiting requests give up, how many are lost and how long is the queue?",
    .doc =
        "M/M/c+M: an unlimited queue where each waiting request leaves after an exponential "
        "patience, a client's time-out. Requests in service never leave.",
    .assumption =
        "Patience is memoryless: a fixed time-out loses fewer at a light load and more "
        "at a heavy one.",
    .rules = rules,
    .sources =
        "C. Palm (1957); A. Mandelbaum and S. Zeltyn, 'Service engineering in action: the "
        "Palm/Erlang-A queue' (2007)",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = ABANDON,
    .solve = solve,
};
