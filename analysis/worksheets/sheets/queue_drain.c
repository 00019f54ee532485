/* Worksheet: how long a backlog of jobs takes, and whether the scheduler keeps up. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/drain.h"

#include <math.h>

enum { JOBS, WIDTH, MEAN, LONGEST, FLEET, ARRIVALS, PREEMPTS, EVENT_US, BYTES, POSITION };
enum {
    SLOTS,
    COMPLETIONS,
    WORK,
    DRAIN_QUIET,
    DRAIN,
    LIST_BOUND,
    LAST_START,
    MAKESPAN,
    WAIT,
    STARTS,
    EVENTS,
    LOAD,
    MOST_EVENTS,
    STATE
};

static const struct sheet_input inputs[] = {
    [JOBS] = SHEET_INPUT("jobs", "n", "jobs", "backlog", "100000", .type = SHEET_COUNT, .max = 1e9),
    [WIDTH] = SHEET_INPUT("gpus_per_job", "g", "GPUs", "width of a job", "1", .type = SHEET_COUNT,
                          .min = 1, .max = 1e9),
    [MEAN] = SHEET_INPUT("mean_runtime_h", "S", "h", "mean run time", "0.75"),
    [LONGEST] = SHEET_INPUT("max_runtime_h", "S_max", "h", "longest run time", "12"),
    [FLEET] =
        SHEET_INPUT("fleet_gpus", "N", "GPUs", "fleet", "10000", .type = SHEET_COUNT, .max = 1e9),
    [ARRIVALS] =
        SHEET_INPUT("arrivals_per_h", "lambda", "1/h", "new jobs arriving meanwhile", "2000"),
    [PREEMPTS] = SHEET_INPUT("preempts_per_job", "p", "count", "mean preemptions of a job", "0.2"),
    [EVENT_US] =
        SHEET_INPUT("us_per_event", "e", "us", "scheduler time of an event", "200", .above = true),
    [BYTES] = SHEET_INPUT("bytes_per_job", "b", "bytes", "state kept of a job", "2048"),
    [POSITION] = SHEET_INPUT("position", "k", "-", "a job's place in a first-in first-out backlog",
                             "50000", .type = SHEET_COUNT, .max = 1e9),
};

static const struct sheet_output outputs[] = {
    [SLOTS] = SHEET_OUTPUT("slots", "m", "jobs", "floor({fleet_gpus} / {gpus_per_job})",
                           "{slots} run at a time.", .type = SHEET_COUNT),
    [COMPLETIONS] = SHEET_OUTPUT("completions_per_h", "mu", "jobs/h", "{slots} / {mean_runtime_h}",
                                 "A full fleet ends {completions_per_h}."),
    [WORK] = SHEET_OUTPUT("work_gpu_h", "V", "GPU-h", "{jobs} x {gpus_per_job} x {mean_runtime_h}",
                          "The backlog holds {work_gpu_h} of work."),
    [DRAIN_QUIET] =
        SHEET_OUTPUT("drain_no_arrivals_h", "T_0", "h", "{jobs} x {mean_runtime_h} / {slots}",
                     "As a fluid it drains in {drain_no_arrivals_h} if nothing "
                     "arrives."),
    [DRAIN] = SHEET_OUTPUT("drain_h", "T", "h",
                           "{jobs} / ({slots} / {mean_runtime_h} - {arrivals_per_h})",
                           "What arrives meanwhile stretches it to {drain_h}."),
    [LIST_BOUND] = SHEET_OUTPUT("list_bound_h", "T_list", "h",
                                "{drain_no_arrivals_h} + (1 - 1/{slots}) x {max_runtime_h}",
                                "No order that never leaves a slot idle takes longer than "
                                "{list_bound_h}."),
    [LAST_START] = SHEET_OUTPUT("last_start_exp_h", "T_start", "h",
                                "max(0, {jobs} - {slots}) x {mean_runtime_h} / {slots}",
                                "The last job starts after {last_start_exp_h} (exponential run "
                                "times, exact mean)."),
    [MAKESPAN] = SHEET_OUTPUT("makespan_exp_h", "T_end", "h",
                              "{last_start_exp_h} + {mean_runtime_h} x H(min({jobs}, {slots}))",
                              "The last one ends after {makespan_exp_h}: the tail of the longest "
                              "jobs comes on top of the fluid estimate."),
    [WAIT] = SHEET_OUTPUT("wait_at_position_h", "w", "h", "{position} x {mean_runtime_h} / {slots}",
                          "Place {position} in line starts after {wait_at_position_h}."),
    [STARTS] = SHEET_OUTPUT("starts_per_s", "s", "1/s",
                            "{completions_per_h} x (1 + {preempts_per_job}) / 3600",
                            "The scheduler starts {starts_per_s#} jobs a second."),
    [EVENTS] = SHEET_OUTPUT("events_per_s", "q", "1/s",
                            "{completions_per_h} x (3 + 2 x {preempts_per_job}) / 3600",
                            "Submit, start, finish, and an evict and a restart a preemption: "
                            "{events_per_s#} events a second."),
    [LOAD] =
        SHEET_OUTPUT("scheduler_load", "u", "fraction", "{events_per_s} x {us_per_event} / 10^6",
                     "The scheduler is busy {scheduler_load} of the time."),
    [MOST_EVENTS] = SHEET_OUTPUT("max_events_per_s", "q_max", "1/s", "10^6 / {us_per_event}",
                                 "It cannot do more than {max_events_per_s#} events a second."),
    [STATE] = SHEET_OUTPUT("state_mb", "M", "MB", "{jobs} x {bytes_per_job} / 10^6",
                           "The backlog itself takes {state_mb}."),
};

static bool too_wide(const struct sheet_case *c)
{
    return sheet_out(c, SLOTS) == 0;
}

static bool never_drains(const struct sheet_case *c)
{
    return isinf(sheet_out(c, DRAIN));
}

static bool scheduler_bound(const struct sheet_case *c)
{
    return sheet_out(c, LOAD) >= 1;
}

static const struct sheet_remark remarks[] = {
    {SLOTS, too_wide, "A job is wider than the fleet: none ever starts."},
    {DRAIN, never_drains, "As many arrive as end: the backlog never drains."},
    {LOAD, scheduler_bound, "The scheduler, not the GPUs, limits the rate."},
};

static double forgets_arrivals(const struct sheet_case *c)
{
    return sheet_out(c, DRAIN_QUIET);
}

static double forgets_tail(const struct sheet_case *c)
{
    return sheet_out(c, LAST_START) + sheet_in(c, MEAN);
}

static const struct sheet_mistake mistakes[] = {
    {DRAIN, "forgets the jobs that arrive meanwhile", forgets_arrivals},
    {MAKESPAN, "adds one mean run time where the longest of many counts", forgets_tail},
};

static void no_slot(struct sheet_case *c)
{
    const double forever = sheet_in(c, JOBS) > 0 ? INFINITY : 0;
    sheet_set(c, COMPLETIONS, 0);
    sheet_set(c, DRAIN_QUIET, forever);
    sheet_set(c, DRAIN, forever);
    sheet_set(c, LIST_BOUND, forever);
    sheet_set(c, LAST_START, forever);
    sheet_set(c, MAKESPAN, forever);
    sheet_set(c, WAIT, sheet_in(c, POSITION) > 0 ? INFINITY : 0);
}

static void times(struct sheet_case *c, double m)
{
    const double n = sheet_in(c, JOBS), s = sheet_in(c, MEAN), rate = s > 0 ? m / s : INFINITY;
    const double arrivals = sheet_in(c, ARRIVALS);
    sheet_set(c, COMPLETIONS, rate);
    sheet_set(c, DRAIN_QUIET, n * s / m);
    sheet_set(c, DRAIN, n == 0 ? 0 : arrivals >= rate ? INFINITY : n / (rate - arrivals));
    sheet_set(c, LIST_BOUND, drain_list_bound((uint64_t)n, (uint64_t)m, s, sheet_in(c, LONGEST)));
    sheet_set(c, LAST_START, drain_last_start((uint64_t)n, (uint64_t)m, s));
    sheet_set(c, MAKESPAN, drain_makespan((uint64_t)n, (uint64_t)m, s));
    sheet_set(c, WAIT, sheet_in(c, POSITION) * s / m);
}

static void solve(struct sheet_case *c)
{
    const double m = sheet_floor(sheet_in(c, FLEET) / sheet_in(c, WIDTH));
    sheet_set(c, SLOTS, m);
    if (m == 0)
        no_slot(c);
    else
        times(c, m);
    const double rate = sheet_out(c, COMPLETIONS), p = sheet_in(c, PREEMPTS);
    const double events = rate * (3 + 2 * p) / 3600;
    sheet_set(c, WORK, sheet_in(c, JOBS) * sheet_in(c, WIDTH) * sheet_in(c, MEAN));
    sheet_set(c, STARTS, rate * (1 + p) / 3600);
    sheet_set(c, EVENTS, events);
    sheet_set(c, LOAD, events * sheet_in(c, EVENT_US) / 1e6);
    sheet_set(c, MOST_EVENTS, 1e6 / sheet_in(c, EVENT_US));
    sheet_set(c, STATE, sheet_in(c, JOBS) * sheet_in(c, BYTES) / 1e6);
}

static const char *const rules[] = {
    "A job wider than the fleet never starts: no slots, no completions, every time infinite (0 "
    "for an empty backlog).",
    "With arrivals at the rate of completions or above it the backlog never drains.",
    "A scheduler load of 1 or more means that the scheduler limits the rate.",
    NULL,
};

extern const struct sheet sheet_queue_drain;
const struct sheet sheet_queue_drain = {
    .name = "queue-drain",
    .group = "Job queues, quotas and fair share",
    .question = "How long does a backlog of 100,000 GPU jobs take, and can the scheduler keep up?",
    .doc =
        "Jobs of one width on one fleet. The drain estimate is fluid, work over capacity; the "
        "list-scheduling bound holds for any order that leaves no GPU idle while a job waits.",
    .assumption = "Run times do not depend on the order, and no GPU idles while a job waits.",
    .rules = rules,
    .sources =
        "J. D. C. Little, Operations Research 9 (1961); R. L. Graham, 'Bounds for certain "
        "multiprocessing anomalies' (1966)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = DRAIN,
    .solve = solve,
};
