/* Worksheet: traffic ramps while GPUs are being reclaimed. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/fluid_ramp.h"

#include <math.h>
#include <string.h>

enum {
    SHAPE,
    FLEET,
    START,
    RISE,
    RAMP,
    DOUBLING,
    FLOOR,
    BORROW,
    BUFFER,
    RECLAIM,
    RATE,
    SLO,
    HORIZON
};
enum {
    DURATION,
    CAP,
    WINDOW,
    SAFE,
    SAFE_BUFFER,
    SAFE_RECLAIM,
    SAFE_RAMP,
    MAX_SHORT,
    PERMANENT,
    BREACH_START,
    BREACH_END,
    BREACH,
    SHORT,
    DROPPED,
    DROPPED_RANDOM,
    DROP_FRAC,
    QUEUE_MAX,
    CLEAR,
    MAX_WAIT,
    SLO_START,
    LATE
};

static const char *const shapes[] = {"linear", "step", "exponential", NULL};

static const struct sheet_input inputs[] = {
    [SHAPE] = SHEET_INPUT("shape", "shape", "-", "how demand rises", "linear", .type = SHEET_WORD,
                          .words = shapes),
    [FLEET] = SHEET_INPUT("fleet_gpus", "N", "GPUs", "fleet", "1000", .max = 20000),
    [START] =
        SHEET_INPUT("start_gpus", "D_0", "GPUs", "demand before the ramp", "300", .max = 20000),
    [RISE] = SHEET_INPUT("rise_gpus", "R", "GPUs", "total rise", "200", .max = 20000),
    [RAMP] =
        SHEET_INPUT("ramp_gpu_per_min", "r", "GPU/min", "slope of a linear ramp", "20", .max = 1e6),
    [DOUBLING] = SHEET_INPUT("doubling_min", "t_2", "min", "doubling time of an exponential ramp",
                             "10", .above = true, .max = 1e6),
    [FLOOR] =
        SHEET_INPUT("floor_gpus", "F", "GPUs", "always held for inference", "0", .max = 20000),
    [BORROW] = SHEET_INPUT("borrow_cap_gpus", "B", "GPUs",
                           "most GPUs inference may hold beyond the floor", "1000", .max = 20000),
    [BUFFER] =
        SHEET_INPUT("buffer_gpus", "H", "GPUs", "idle GPUs kept above demand", "60", .max = 20000),
    [RECLAIM] = SHEET_INPUT("reclaim_s", "T", "s", "from asking for a GPU to serving on it", "300",
                            .max = 86400),
    [RATE] = SHEET_INPUT("req_per_gpu_s", "mu", "1/s", "requests one GPU serves in a second", "2",
                         .above = true, .max = 1e6),
    [SLO] = SHEET_INPUT("slo_wait_s", "w", "s", "longest acceptable wait", "2", .max = 86400),
    [HORIZON] = SHEET_INPUT("horizon_s", "h", "s", "window over which totals are taken", "3600",
                            .max = 86400),
};

static const struct sheet_output outputs[] = {
    [DURATION] = SHEET_OUTPUT("ramp_duration_s", "d", "s",
                              "{rise_gpus} x 60 / {ramp_gpu_per_min} (linear); 0 (step); "
                              "{doubling_min} x 60 / ln 2 x ln(1 + {rise_gpus} / {start_gpus}) "
                              "(exponential)",
                              "Demand rises for {ramp_duration_s}."),
    [CAP] = SHEET_OUTPUT("capacity_cap_gpus", "cap", "GPUs",
                         "min({fleet_gpus}, {floor_gpus} + {borrow_cap_gpus})",
                         "Inference can never hold more than {capacity_cap_gpus}."),
    [WINDOW] =
        SHEET_OUTPUT("window_rise_gpus", "W", "GPUs", "D_1 - D({ramp_duration_s} - {reclaim_s})",
                     "While one reclaim is on its way demand grows by up to "
                     "{window_rise_gpus}: the buffer must cover that."),
    [SAFE] =
        SHEET_OUTPUT("safe", "safe", "0/1", "1 when {max_short_gpus} = 0",
                     "The buffer of {buffer_gpus} covers it: nobody is short.", .type = SHEET_FLAG),
    [SAFE_BUFFER] = SHEET_OUTPUT("safe_buffer_gpus", "H_s", "GPUs", "ceil({window_rise_gpus})",
                                 "A buffer of {safe_buffer_gpus} is enough.", .type = SHEET_COUNT),
    [SAFE_RECLAIM] = SHEET_OUTPUT("max_safe_reclaim_s", "T_s", "s",
                                  "longest window in which demand rises by {buffer_gpus}",
                                  "With this buffer a reclaim may take {max_safe_reclaim_s}."),
    [SAFE_RAMP] = SHEET_OUTPUT("max_safe_ramp_gpu_per_min", "r_s", "GPU/min",
                               "60 x {buffer_gpus} / {reclaim_s}",
                               "It stands a linear ramp of {max_safe_ramp_gpu_per_min}."),
    [MAX_SHORT] = SHEET_OUTPUT("max_short_gpus", "S", "GPUs",
                               "max(0, D_1 - {capacity_cap_gpus}, min(D_1 - {floor_gpus}, "
                               "{window_rise_gpus} - {buffer_gpus}))",
                               "At worst {max_short_gpus} are missing."),
    [PERMANENT] = SHEET_OUTPUT("permanent_short_gpus", "S_p", "GPUs",
                               "max(0, {start_gpus} + {rise_gpus} - {capacity_cap_gpus})",
                               "After the ramp {permanent_short_gpus} stay missing."),
    [BREACH_START] = SHEET_OUTPUT("breach_start_s", "t_a", "s", "first t with D(t) > A(t)",
                                  "The buffer is used up {breach_start_s} into the ramp."),
    [BREACH_END] = SHEET_OUTPUT("breach_end_s", "t_b", "s",
                                "{reclaim_s} + first t with D(t) = D_1 - {buffer_gpus}",
                                "Capacity is back above demand at {breach_end_s}."),
    [BREACH] = SHEET_OUTPUT("breach_s", "b", "s", "{breach_end_s} - {breach_start_s}",
                            "GPUs are missing for {breach_s}."),
    [SHORT] = SHEET_OUTPUT("short_gpu_s", "Q", "GPU-s",
                           "integral of D - A where positive, up to {horizon_s}",
                           "In all {short_gpu_s} are missing."),
    [DROPPED] = SHEET_OUTPUT("dropped_requests", "X", "requests", "{req_per_gpu_s} x {short_gpu_s}",
                             "If what does not fit is dropped, evenly spaced traffic loses "
                             "{dropped_requests}."),
    [DROPPED_RANDOM] = SHEET_OUTPUT(
        "dropped_random_requests", "X_P", "requests",
        "{req_per_gpu_s} x sum over seconds of D B(A, D), B the Erlang loss",
        "Random traffic loses {dropped_random_requests}: it meets full GPUs by chance too."),
    [DROP_FRAC] = SHEET_OUTPUT("drop_frac", "f", "fraction",
                               "{dropped_requests} / ({req_per_gpu_s} x integral of D)",
                               "Of evenly spaced traffic that is {drop_frac}."),
    [QUEUE_MAX] =
        SHEET_OUTPUT("queue_max_requests", "q", "requests", "{req_per_gpu_s} x {short_gpu_s}",
                     "If it queues instead, up to {queue_max_requests} wait."),
    [CLEAR] = SHEET_OUTPUT("queue_clear_s", "t_c", "s",
                           "when the integral of A - D after {breach_end_s} equals the backlog",
                           "The backlog is gone only at {queue_clear_s}: the spare GPUs work it "
                           "off."),
    [MAX_WAIT] = SHEET_OUTPUT("max_wait_s", "v", "s", "largest backlog in GPU-s / D_1",
                              "The unluckiest request waits {max_wait_s}."),
    [SLO_START] = SHEET_OUTPUT("slo_breach_start_s", "t_w", "s",
                               "first arrival that waits longer than {slo_wait_s}",
                               "From {slo_breach_start_s} on the wait is over its limit."),
    [LATE] = SHEET_OUTPUT("late_requests", "L", "requests",
                          "arrivals up to {horizon_s} that wait longer than {slo_wait_s}",
                          "{late_requests} come late: many more than are ever short."),
};

static bool unsafe(const struct sheet_case *c)
{
    return sheet_out(c, SAFE) == 0;
}

static bool over_cap(const struct sheet_case *c)
{
    return sheet_out(c, PERMANENT) > 0;
}

static bool is_safe(const struct sheet_case *c)
{
    return sheet_out(c, SAFE) == 1;
}

static bool floor_covers(const struct sheet_case *c)
{
    return sheet_in(c, FLOOR) >= sheet_in(c, START) + sheet_in(c, RISE);
}

static bool never_clears(const struct sheet_case *c)
{
    return isinf(sheet_out(c, CLEAR));
}

static const struct sheet_remark remarks[] = {
    {SAFE, over_cap, "Demand ends above {capacity_cap_gpus}: no buffer helps."},
    {SAFE, unsafe, "Unsafe: the buffer of {buffer_gpus} is less than {window_rise_gpus}."},
    {SAFE_BUFFER, over_cap, "No buffer is enough."},
    {SAFE_BUFFER, floor_covers, "The floor holds the whole of demand: nothing is borrowed."},
    {SAFE_RECLAIM, over_cap, "No reclaim is fast enough."},
    {MAX_SHORT, is_safe, "At no time is a GPU missing."},
    {PERMANENT, is_safe, "After the ramp nothing is missing."},
    {BREACH_START, is_safe, "There is no shortage."},
    {BREACH_END, is_safe, "There is no shortage."},
    {BREACH_END, over_cap, "The shortage lasts."},
    {BREACH, over_cap, "The shortage lasts."},
    {CLEAR, is_safe, "Nothing queues."},
    {CLEAR, never_clears, "In the end no GPU is spare: the backlog stays."},
    {MAX_WAIT, over_cap, "The wait grows for ever."},
};

static double minutes_for_seconds(const struct sheet_case *c)
{
    const bool linear = strcmp(sheet_word(c, SHAPE), "linear") == 0;
    return linear ? fmin(sheet_in(c, RISE), sheet_in(c, RAMP) * sheet_in(c, RECLAIM)) : NAN;
}

static double whole_rise(const struct sheet_case *c)
{
    return sheet_in(c, RISE);
}

static double only_growth(const struct sheet_case *c)
{
    return is_safe(c) ? NAN : sheet_out(c, DURATION) - sheet_out(c, BREACH_START);
}

static double constant_shortage(const struct sheet_case *c)
{
    return is_safe(c) ? NAN : sheet_out(c, MAX_SHORT) * sheet_out(c, BREACH);
}

static const struct sheet_mistake mistakes[] = {
    {WINDOW, "takes a slope in GPUs a minute for one a second", minutes_for_seconds},
    {WINDOW, "takes the whole rise: only what grows within one reclaim is not covered", whole_rise},
    {BREACH, "ends the shortage with the ramp: the last GPUs come a reclaim later", only_growth},
    {SHORT, "takes the largest shortage for the mean one", constant_shortage},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, FLOOR) > sheet_in(c, FLEET))
        sheet_refuse(c, FLOOR, "more than the fleet of %.6g GPUs", sheet_in(c, FLEET));
    else if (strcmp(sheet_word(c, SHAPE), "exponential") == 0 && !(sheet_in(c, START) > 0))
        sheet_refuse(c, START, "an exponential ramp grows from a demand above 0");
}

static void set_safety(struct sheet_case *c, const struct fluid_demand *d,
                       const struct fluid_supply *s)
{
    const bool fits = d->end <= s->cap, floored = s->floor >= d->end;
    const bool linear = d->shape == FLUID_LINEAR, any = floored || s->buffer >= d->rise;
    const double rise = fluid_window_rise(d, s->reclaim_s);
    sheet_set(c, DURATION, d->duration_s);
    sheet_set(c, CAP, s->cap);
    sheet_set(c, WINDOW, rise);
    sheet_set(c, SAFE, !(fluid_max_short(d, s) > 0));
    sheet_set_if(c, SAFE_BUFFER, fits, floored ? 0 : sheet_ceil(rise));
    sheet_set_if(c, SAFE_RECLAIM, fits, any ? INFINITY : fluid_safe_window_s(d, s->buffer));
    sheet_set_if(c, SAFE_RAMP, fits && linear,
                 any || s->reclaim_s == 0 ? INFINITY : 60 * s->buffer / s->reclaim_s);
    sheet_set(c, MAX_SHORT, fluid_max_short(d, s));
    sheet_set(c, PERMANENT, fmax(0, d->end - s->cap));
}

static void set_waits(struct sheet_case *c, const struct fluid_demand *d,
                      const struct fluid_supply *s)
{
    const double rate = sheet_in(c, RATE), until = sheet_in(c, HORIZON), limit = sheet_in(c, SLO);
    const double clear = fluid_clear_s(d, s), from = fluid_late_from_s(d, s, limit);
    sheet_set_if(c, CLEAR, !isnan(clear), clear);
    sheet_set(c, MAX_WAIT, fluid_max_wait_s(d, s));
    sheet_set_if(c, SLO_START, !isnan(from), from);
    const double last = isnan(from) ? 0 : fmin(until, fluid_late_until_s(d, s, limit));
    sheet_set(c, LATE,
              last > from ? rate * (fluid_demand_sum(d, last) - fluid_demand_sum(d, from)) : 0);
}

static void solve(struct sheet_case *c)
{
    const struct fluid_demand d =
        fluid_demand(sheet_word(c, SHAPE), sheet_in(c, START), sheet_in(c, RISE), sheet_in(c, RAMP),
                     sheet_in(c, DOUBLING));
    const struct fluid_supply s = {
        .floor = sheet_in(c, FLOOR),
        .cap = fmin(sheet_in(c, FLEET), sheet_in(c, FLOOR) + sheet_in(c, BORROW)),
        .buffer = sheet_in(c, BUFFER),
        .reclaim_s = sheet_in(c, RECLAIM),
    };
    const double rate = sheet_in(c, RATE), until = sheet_in(c, HORIZON);
    const struct fluid_breach b = fluid_breach(&d, &s);
    const double missing = fluid_short_sum(&d, &s, until), all = fluid_demand_sum(&d, until);
    const double random = fluid_random_loss(&d, &s, until);
    if (isnan(random)) {
        sheet_refuse(c, HORIZON, "too many seconds of a ramp with this many GPUs to add up");
        return;
    }
    set_safety(c, &d, &s);
    sheet_set_if(c, BREACH_START, b.any, b.start_s);
    sheet_set_if(c, BREACH_END, b.any, b.end_s);
    sheet_set(c, BREACH, b.any ? b.end_s - b.start_s : 0);
    sheet_set(c, SHORT, missing);
    sheet_set(c, DROPPED, rate * missing);
    sheet_set(c, DROPPED_RANDOM, rate * random);
    sheet_set(c, DROP_FRAC, all > 0 ? missing / all : 0);
    sheet_set(c, QUEUE_MAX, rate * missing);
    set_waits(c, &d, &s);
}

static const char *const rules[] = {
    "A reclaim time of 0 is never short, unless demand exceeds the cap.",
    "With a slope of 0 demand never moves: the rise counts as 0.",
    "A buffer of at least the rise within one reclaim is safe. With no buffer the shortage begins "
    "at once and the backlog stays: the final capacity equals demand.",
    "A floor of at least the final demand is safe. A lower one only delays the shortage.",
    "Where demand ends above the cap the shortage lasts; totals are those of the horizon.",
    "A step with too small a buffer is short for exactly one reclaim time.",
    "One queue for the whole fleet; its length does not enter the demand that is asked for; the "
    "time of service is not part of the wait.",
    NULL,
};

extern const struct sheet sheet_reclaim_ramp;
const struct sheet sheet_reclaim_ramp = {
    .name = "reclaim-ramp",
    .group = "One fleet: training plus inference",
    .question =
        "Traffic ramps while GPUs are being reclaimed: how short do we get, for how long, "
        "and what does it cost in waits or drops?",
    .doc =
        "Demand D rises from D_0 to D_1 = D_0 + R. At every moment enough GPUs are asked for to "
        "hold D + H, and each comes one reclaim time T later: capacity is A(t) = min(cap, max(F, "
        "D(t - T) + H)).",
    .assumption = "Demand and capacity are fluids, and the controller sees demand without error.",
    .rules = rules,
    .sources =
        "G. F. Newell, Applications of Queueing Theory (1982): cumulative curves; A. K. "
        "Erlang (1917): loss, taken as quasi-static",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = MAX_SHORT,
    .check = check,
    .solve = solve,
};
