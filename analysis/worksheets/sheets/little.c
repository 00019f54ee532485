/* Worksheet: how many GPUs a stream of jobs keeps busy (Little's law). */
#include "analysis/worksheets/sheet.h"
#include "analysis/worksheets/station.h"

enum { ARRIVALS, HOLD, WIDTH, FLEET };
enum { JOBS, BUSY, UTILIZATION, SPARE, STABLE };

static const struct sheet_input inputs[] = {
    [ARRIVALS] = SHEET_INPUT("arrivals_per_h", "lambda", "jobs/h", "job arrival rate", "120"),
    [HOLD] = SHEET_INPUT("mean_hold_h", "W", "h", "mean time a job holds its GPUs", "3.5"),
    [WIDTH] =
        SHEET_INPUT("gpus_per_job", "g", "GPUs", "GPUs held by one job", "4", .type = SHEET_COUNT),
    [FLEET] =
        SHEET_INPUT("fleet_gpus", "N", "GPUs", "fleet size", "2048", .type = SHEET_COUNT, .min = 1),
};

static const struct sheet_output outputs[] = {
    [JOBS] = SHEET_OUTPUT("jobs_in_service", "L", "jobs", "{arrivals_per_h} x {mean_hold_h}",
                          "On average {jobs_in_service} run at a time."),
    [BUSY] = SHEET_OUTPUT("busy_gpus", "B", "GPUs", "{jobs_in_service} x {gpus_per_job}",
                          "They hold {busy_gpus}, whatever the order of service."),
    [UTILIZATION] = SHEET_OUTPUT("utilization", "rho", "fraction", "{busy_gpus} / {fleet_gpus}",
                                 "{utilization} of the fleet is busy."),
    [SPARE] =
        SHEET_OUTPUT("spare_gpus", "F", "GPUs", "{fleet_gpus} - {busy_gpus}",
                     "{spare_gpus} are idle on average; at the peak of a random stream fewer are."),
    [STABLE] = SHEET_OUTPUT("stable", "stable", "0/1", "1 when {utilization} < 1",
                            "The fleet keeps up with the stream.", .type = SHEET_FLAG),
};

static bool overloaded(const struct sheet_case *c)
{
    return sheet_out(c, UTILIZATION) >= 1;
}

static const struct sheet_remark remarks[] = {
    {BUSY, overloaded, "The stream asks for {busy_gpus}; {fleet_gpus} is all there is."},
    {UTILIZATION, overloaded, "The stream asks for {utilization} of the fleet."},
    {SPARE, overloaded, "Below zero: so many GPUs are missing."},
    {STABLE, overloaded, "The queue grows for ever: there is no mean wait."},
};

static double without_width(const struct sheet_case *c)
{
    return sheet_out(c, JOBS);
}

static const struct sheet_mistake mistakes[] = {
    {BUSY, "counts jobs and not their GPUs", without_width},
};

static void solve(struct sheet_case *c)
{
    const double jobs = sheet_in(c, ARRIVALS) * sheet_in(c, HOLD);
    const double busy = jobs * sheet_in(c, WIDTH), fleet = sheet_in(c, FLEET);
    sheet_set(c, JOBS, jobs);
    sheet_set(c, BUSY, busy);
    sheet_set(c, UTILIZATION, busy / fleet);
    sheet_set(c, SPARE, fleet - busy);
    sheet_set(c, STABLE, busy / fleet < 1);
}

static bool scenario(const struct sheet_case *c, struct text *t)
{
    if (sheet_out(c, UTILIZATION) >= 1) {
        text_add(t, "the queue grows for ever: no mean exists");
        return false;
    }
    const struct station s = {.name = "little",
                              .servers = sheet_in(c, FLEET),
                              .width = sheet_in(c, WIDTH),
                              .rate_per_s = sheet_in(c, ARRIVALS) / 3600,
                              .service_s = sheet_in(c, HOLD) * 3600,
                              .scv = 1,
                              .customers = 20000};
    return station_yaml(&s, t);
}

static const struct sheet_check checks[] = {
    {.output = BUSY, .read = station_busy},
};

static const struct sheet_simulation simulation = {
    .scenario = scenario,
    .checks = checks,
    .n_checks = SHEET_N(checks),
    .replications = 20,
};

static const char *const rules[] = {
    "With a utilization of 1 or more the busy count is the demand, not what the fleet can serve.",
    "Without arrivals, or with a holding time of 0, every count is 0.",
    NULL,
};

extern const struct sheet sheet_little;
const struct sheet sheet_little = {
    .name = "little",
    .group = "Queueing and pooling",
    .question = "How many GPUs does a stream of jobs keep busy?",
    .doc =
        "Little's law: a stream of jobs, each holding some GPUs for some time, keeps rate x time "
        "x GPUs busy on average, whatever the distributions or the order of service.",
    .assumption = "The means are those of a long time: the stream neither grows nor shrinks.",
    .rules = rules,
    .sources =
        "J. D. C. Little, 'A proof for the queuing formula L = lambda W', Operations "
        "Research 9 (1961)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = BUSY,
    .solve = solve,
    .simulation = &simulation,
};
