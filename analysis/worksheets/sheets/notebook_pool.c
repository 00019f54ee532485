/* Worksheet: a closed group of users shares a pool of GPUs, with a queue or without. */
#include "analysis/worksheets/sheet.h"
#include "analysis/worksheets/station.h"
#include "models/closed/finite_source.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { USERS, GPUS, SESSION, GAP, SLICED, SLICES };
enum {
    SERVERS,
    DEMAND_MEAN,
    DEMAND_SD,
    OVER,
    ALL_BUSY,
    P_WAIT,
    WAIT,
    WAITING,
    UTILIZATION,
    RATE,
    LOSS_TIME,
    LOSS_CALL,
    LOSS_UTILIZATION
};

static const struct sheet_input inputs[] = {
    [USERS] = SHEET_INPUT("users", "N", "users", "number of users", "300", .type = SHEET_COUNT,
                          .max = 100000),
    [GPUS] = SHEET_INPUT("gpus", "G", "GPUs", "GPUs", "64", .type = SHEET_COUNT, .min = 1,
                         .max = 100000),
    [SESSION] =
        SHEET_INPUT("session_h", "S", "h", "mean session (exponential)", "2", .above = true),
    [GAP] = SHEET_INPUT("gap_h", "Z", "h", "mean time between sessions (exponential)", "8",
                        .above = true),
    [SLICED] = SHEET_INPUT("sliced_gpus", "G_s", "GPUs", "GPUs cut into slices", "0",
                           .type = SHEET_COUNT, .max = 100000),
    [SLICES] = SHEET_INPUT("slices_per_gpu", "k", "-", "slices of a cut GPU", "7",
                           .type = SHEET_COUNT, .min = 1, .max = 64),
};

static const struct sheet_output outputs[] = {
    [SERVERS] = SHEET_OUTPUT("servers", "c", "sessions",
                             "({gpus} - {sliced_gpus}) + {sliced_gpus} x {slices_per_gpu}",
                             "There is room for {servers} at a time.", .type = SHEET_COUNT),
    [DEMAND_MEAN] = SHEET_OUTPUT("demand_mean", "m", "sessions",
                                 "{users} x {session_h} / ({session_h} + {gap_h})",
                                 "With room for all, {demand_mean} would run on average."),
    [DEMAND_SD] = SHEET_OUTPUT("demand_sd", "sigma", "sessions",
                               "sqrt({users} p (1 - p)), p = {session_h} / ({session_h} + {gap_h})",
                               "give or take {demand_sd#}."),
    [OVER] = SHEET_OUTPUT("p_demand_over", "q", "fraction", "P(Binomial({users}, p) > {servers})",
                          "{p_demand_over} of the time more would be wanted than there is."),
    [ALL_BUSY] = SHEET_OUTPUT("queue_p_all_busy", "P_c", "fraction",
                              "P(n >= {servers}): births ({users} - n)/{gap_h}, deaths min(n, "
                              "{servers})/{session_h}",
                              "With a queue all are busy {queue_p_all_busy} of the time."),
    [P_WAIT] =
        SHEET_OUTPUT("queue_p_wait", "P_w", "fraction", "P(n >= {servers}) with {users} - 1 users",
                     "{queue_p_wait} of the sessions wait: who arrives does not meet "
                     "himself."),
    [WAIT] = SHEET_OUTPUT("queue_mean_wait_h", "W", "h", "mean waiting / throughput",
                          "The mean over all sessions is {queue_mean_wait_h}."),
    [WAITING] = SHEET_OUTPUT("queue_mean_waiting", "L", "users", "sum of (n - {servers})+ P(n)",
                             "{queue_mean_waiting} are in line on average."),
    [UTILIZATION] = SHEET_OUTPUT("queue_utilization", "rho", "fraction",
                                 "sum of min(n, {servers}) P(n) / {servers}",
                                 "The pool is held {queue_utilization} of the time."),
    [RATE] = SHEET_OUTPUT("queue_sessions_per_h", "X", "1/h",
                          "sum of min(n, {servers}) P(n) / {session_h}",
                          "{queue_sessions_per_h#} sessions start an hour."),
    [LOSS_TIME] = SHEET_OUTPUT("loss_time_congestion", "E", "fraction",
                               "Engset: P({servers}) proportional to binom({users}, n) "
                               "({session_h}/{gap_h})^n",
                               "Without a queue all are busy {loss_time_congestion} of the time."),
    [LOSS_CALL] =
        SHEET_OUTPUT("loss_call_congestion", "B", "fraction", "the same with {users} - 1 users",
                     "{loss_call_congestion} of the sessions are refused then."),
    [LOSS_UTILIZATION] =
        SHEET_OUTPUT("loss_utilization", "rho_l", "fraction", "mean busy / {servers}",
                     "and the pool is held {loss_utilization} of the time."),
};

static bool enough(const struct sheet_case *c)
{
    return sheet_in(c, USERS) <= sheet_out(c, SERVERS);
}

static const struct sheet_remark remarks[] = {
    {P_WAIT, enough, "There is a place for everyone: nobody ever waits."},
};

static double arriving_is_time(const struct sheet_case *c)
{
    return sheet_out(c, ALL_BUSY);
}

static double loss_is_time(const struct sheet_case *c)
{
    return sheet_out(c, LOSS_TIME);
}

static const struct sheet_mistake mistakes[] = {
    {P_WAIT, "takes the share of time for the share of arrivals: a group is not endless",
     arriving_is_time},
    {LOSS_CALL, "takes the share of time for the share of arrivals: a group is not endless",
     loss_is_time},
};

static void check(struct sheet_case *c)
{
    const double cut = sheet_in(c, SLICED), gpus = sheet_in(c, GPUS);
    if (cut > gpus)
        sheet_refuse(c, SLICED, "more than the %.0f GPUs there are", gpus);
    else if (gpus - cut + cut * sheet_in(c, SLICES) > 1e6)
        sheet_refuse(c, SLICES, "more than a million places");
}

static void solve(struct sheet_case *c)
{
    const double users = sheet_in(c, USERS), s = sheet_in(c, SESSION), z = sheet_in(c, GAP);
    const double cut = sheet_in(c, SLICED), p = s / (s + z);
    const double servers = sheet_in(c, GPUS) - cut + cut * sheet_in(c, SLICES);
    const struct finite_source source = {(uint32_t)users, (uint32_t)servers, s, z};
    const struct finite_queue q = finite_source_queue(&source);
    const struct finite_loss l = finite_source_loss(&source);
    sheet_set(c, SERVERS, servers);
    sheet_set(c, DEMAND_MEAN, users * p);
    sheet_set(c, DEMAND_SD, sqrt(users * p * (z / (s + z))));
    sheet_set(c, OVER,
              users > servers ? gsl_cdf_binomial_Q((unsigned)servers, p, (unsigned)users) : 0);
    sheet_set(c, ALL_BUSY, q.all_busy_frac);
    sheet_set(c, P_WAIT, q.wait_frac);
    sheet_set(c, WAIT, q.wait_mean);
    sheet_set(c, WAITING, q.waiting_mean);
    sheet_set(c, UTILIZATION, q.utilization);
    sheet_set(c, RATE, q.sessions_rate);
    sheet_set(c, LOSS_TIME, l.time_congestion);
    sheet_set(c, LOSS_CALL, l.call_congestion);
    sheet_set(c, LOSS_UTILIZATION, l.utilization);
}

static bool scenario(const struct sheet_case *c, struct text *t)
{
    if (sheet_in(c, SLICED) > 0) {
        text_add(t, "slices: see scenarios/mig-notebooks.yaml");
        return false;
    }
    const struct station s = {.name = "notebook-pool",
                              .servers = sheet_out(c, SERVERS),
                              .width = 1,
                              .users = sheet_in(c, USERS),
                              .gap_s = sheet_in(c, GAP) * 3600,
                              .service_s = sheet_in(c, SESSION) * 3600,
                              .scv = 1,
                              .customers = 40000};
    return station_yaml(&s, t);
}

static const struct sheet_check checks[] = {
    {.output = P_WAIT, .metric = "waited_frac", .entity = "queue", .error_frac = 0.02},
    {.output = WAIT,
     .metric = "wait_mean_s",
     .entity = "queue",
     .scale = 1 / 3600.0,
     .error_frac = 0.03},
};

static const struct sheet_simulation simulation = {
    .scenario = scenario,
    .checks = checks,
    .n_checks = SHEET_N(checks),
    .replications = 20,
};

static const char *const rules[] = {
    "With as many places as users nobody waits or is refused.",
    "More sliced GPUs than GPUs are refused.",
    NULL,
};

extern const struct sheet sheet_notebook_pool;
const struct sheet sheet_notebook_pool = {
    .name = "notebook-pool",
    .group = "Job queues, quotas and fair share",
    .question =
        "How do 300 researchers share 64 GPUs: how often is none free, and how long is the "
        "wait?",
    .doc =
        "A closed group of users alternates between a session and time away. With a queue this "
        "is the machine-repair model M/M/c//N; without one, where a blocked user goes away for "
        "another gap, Engset's loss system. Slices of cut GPUs serve a session each.",
    .assumption =
        "The group is closed: who waits asks for nothing more meanwhile, so the queue "
        "limits itself.",
    .rules = rules,
    .sources = "T. Engset (1918); C. Palm (1947); S. Lavenberg and M. Reiser (1980)",
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
