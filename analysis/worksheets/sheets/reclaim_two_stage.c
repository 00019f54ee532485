/* Worksheet: a small pool that is fast to reclaim in front of a large slow one. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/fluid_ramp.h"

#include <math.h>
#include <string.h>

enum { SHAPE, FLEET, START, RISE, RAMP, DOUBLING, BUFFER, FAST_POOL, FAST, SLOW };
enum {
    RISE_FAST,
    RISE_SLOW,
    SAFE,
    MIN_BUFFER,
    MIN_POOL,
    ONE_STAGE,
    SAVED,
    MAX_SHORT,
    BREACH_START,
    BREACH_END,
    BREACH,
    SHORT
};

static const char *const shapes[] = {"linear", "step", "exponential", NULL};

static const struct sheet_input inputs[] = {
    [SHAPE] = SHEET_INPUT("shape", "shape", "-", "how demand rises", "linear", .type = SHEET_WORD,
                          .words = shapes),
    [FLEET] = SHEET_INPUT("fleet_gpus", "N", "GPUs", "fleet", "1000", .max = 1e7),
    [START] = SHEET_INPUT("start_gpus", "D_0", "GPUs", "demand before the ramp", "300", .max = 1e7),
    [RISE] = SHEET_INPUT("rise_gpus", "R", "GPUs", "total rise", "200", .max = 1e7),
    [RAMP] =
        SHEET_INPUT("ramp_gpu_per_min", "r", "GPU/min", "slope of a linear ramp", "20", .max = 1e6),
    [DOUBLING] = SHEET_INPUT("doubling_min", "t_2", "min", "doubling time of an exponential ramp",
                             "10", .above = true, .max = 1e6),
    [BUFFER] = SHEET_INPUT("buffer_gpus", "H", "GPUs", "idle buffer", "20", .max = 1e7),
    [FAST_POOL] = SHEET_INPUT("fast_pool_gpus", "B_1", "GPUs",
                              "lent GPUs with work that can be killed at once", "60", .max = 1e7),
    [FAST] = SHEET_INPUT("fast_reclaim_s", "T_1", "s", "reclaim time of the fast pool", "60",
                         .max = 1e6),
    [SLOW] = SHEET_INPUT("slow_reclaim_s", "T_2", "s", "reclaim time of everything else", "300",
                         .max = 1e6),
};

static const struct sheet_output outputs[] = {
    [RISE_FAST] =
        SHEET_OUTPUT("window_rise_fast_gpus", "W_1", "GPUs", "largest rise within {fast_reclaim_s}",
                     "Until the fast pool is back demand grows by "
                     "{window_rise_fast_gpus}: only idle GPUs cover that."),
    [RISE_SLOW] =
        SHEET_OUTPUT("window_rise_slow_gpus", "W_2", "GPUs", "largest rise within {slow_reclaim_s}",
                     "Until the slow GPUs are back it grows by {window_rise_slow_gpus}: "
                     "idle and fast GPUs together cover that."),
    [SAFE] = SHEET_OUTPUT("safe", "safe", "0/1",
                          "1 when {buffer_gpus} >= {window_rise_fast_gpus} and {buffer_gpus} + "
                          "{fast_pool_gpus} >= {window_rise_slow_gpus} and D_1 <= {fleet_gpus}",
                          "Both stages cover their time: nobody is short.", .type = SHEET_FLAG),
    [MIN_BUFFER] =
        SHEET_OUTPUT("min_buffer_gpus", "H_min", "GPUs", "ceil({window_rise_fast_gpus})",
                     "Idle for the first stage: {min_buffer_gpus}.", .type = SHEET_COUNT),
    [MIN_POOL] =
        SHEET_OUTPUT("min_fast_pool_gpus", "B_min", "GPUs",
                     "ceil(max(0, {window_rise_slow_gpus} - max({buffer_gpus}, "
                     "{window_rise_fast_gpus})))",
                     "Fast to reclaim for the second: {min_fast_pool_gpus}.", .type = SHEET_COUNT),
    [ONE_STAGE] =
        SHEET_OUTPUT("one_stage_buffer_gpus", "H_1", "GPUs", "ceil({window_rise_slow_gpus})",
                     "Without a fast pool {one_stage_buffer_gpus} would have to stand idle.",
                     .type = SHEET_COUNT),
    [SAVED] =
        SHEET_OUTPUT("idle_saved_gpus", "S", "GPUs", "{one_stage_buffer_gpus} - {min_buffer_gpus}",
                     "{idle_saved_gpus} of them can work.", .type = SHEET_COUNT),
    [MAX_SHORT] = SHEET_OUTPUT("max_short_gpus", "M", "GPUs",
                               "max(0, D_1 - {fleet_gpus}, {window_rise_fast_gpus} - "
                               "{buffer_gpus}, {window_rise_slow_gpus} - {buffer_gpus} - "
                               "{fast_pool_gpus})",
                               "At worst {max_short_gpus} are missing."),
    [BREACH_START] = SHEET_OUTPUT("breach_start_s", "t_a", "s", "first t with D(t) > A(t)",
                                  "The shortage begins at {breach_start_s}."),
    [BREACH_END] = SHEET_OUTPUT("breach_end_s", "t_b", "s",
                                "the later of {fast_reclaim_s} + Dinv(D_1 - {buffer_gpus}) and "
                                "{slow_reclaim_s} + Dinv(D_1 - {buffer_gpus} - {fast_pool_gpus}), "
                                "of those that are short",
                                "It ends at {breach_end_s}."),
    [BREACH] = SHEET_OUTPUT("breach_s", "b", "s", "{breach_end_s} - {breach_start_s}",
                            "GPUs are missing for {breach_s}."),
    [SHORT] = SHEET_OUTPUT("short_gpu_s", "Q", "GPU-s", "integral of D - A where positive",
                           "In all {short_gpu_s} are missing."),
};

static bool unsafe(const struct sheet_case *c)
{
    return sheet_out(c, SAFE) == 0;
}

static bool is_safe(const struct sheet_case *c)
{
    return sheet_out(c, SAFE) == 1;
}

static const struct sheet_remark remarks[] = {
    {SAFE, unsafe, "Unsafe: {max_short_gpus} are missing at worst."},
    {MAX_SHORT, is_safe, "At no time is a GPU missing."},
    {BREACH_START, is_safe, "There is no shortage."},
    {BREACH_END, is_safe, "There is no shortage."},
};

static double whole_slow_window(const struct sheet_case *c)
{
    return sheet_out(c, ONE_STAGE);
}

static const struct sheet_mistake mistakes[] = {
    {MIN_POOL, "forgets that the idle buffer carries part of the slow reclaim", whole_slow_window},
    {MIN_BUFFER, "sizes the idle buffer for the slow reclaim", whole_slow_window},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, SLOW) < sheet_in(c, FAST))
        sheet_refuse(c, SLOW, "less than the fast reclaim of %.6g s", sheet_in(c, FAST));
    else if (strcmp(sheet_word(c, SHAPE), "exponential") == 0 && !(sheet_in(c, START) > 0))
        sheet_refuse(c, START, "an exponential ramp grows from a demand above 0");
}

/* Integral of D(t - delay) over (from, to). */
static double delayed(const struct fluid_demand *d, double delay, double from, double to)
{
    return fluid_demand_sum(d, to - delay) - fluid_demand_sum(d, from - delay);
}

/* The slow pool is what limits while D(t - T_1) - D(t - T_2) exceeds the fast pool. */
static double short_sum(const struct sheet_case *c, const struct fluid_demand *d, double from,
                        double to)
{
    const double fast = sheet_in(c, FAST), slow = sheet_in(c, SLOW), pool = sheet_in(c, FAST_POOL);
    double low = to, high = to;
    if (fluid_window_rise(d, slow - fast) > pool) {
        low = fmin(to, fmax(from, fast + fluid_window_from_s(d, slow - fast, pool)));
        high = fmin(to, fmax(low, slow + fluid_demand_reach_s(d, d->end - pool)));
    }
    const double capacity = sheet_in(c, BUFFER) * (to - from) + delayed(d, fast, from, low) +
                            delayed(d, slow, low, high) + pool * (high - low) +
                            delayed(d, fast, high, to);
    return fmax(0, delayed(d, 0, from, to) - capacity);
}

static void solve(struct sheet_case *c)
{
    const struct fluid_demand d =
        fluid_demand(sheet_word(c, SHAPE), sheet_in(c, START), sheet_in(c, RISE), sheet_in(c, RAMP),
                     sheet_in(c, DOUBLING));
    const double delay[] = {sheet_in(c, FAST), sheet_in(c, SLOW)}, fleet = sheet_in(c, FLEET);
    const double held[] = {sheet_in(c, BUFFER), sheet_in(c, BUFFER) + sheet_in(c, FAST_POOL)};
    double rise[2], worst = fmax(0, d.end - fleet), start = INFINITY, end = 0;
    for (int i = 0; i < 2; i++) {
        rise[i] = fluid_window_rise(&d, delay[i]);
        if (!fluid_exceeds(rise[i], held[i]))
            continue;
        worst = fmax(worst, rise[i] - held[i]);
        start = fmin(start, fluid_window_from_s(&d, delay[i], held[i]));
        end = fmax(end, delay[i] + fluid_demand_reach_s(&d, d.end - held[i]));
    }
    if (d.end > fleet) {
        start = fmin(start, fluid_demand_reach_s(&d, fleet));
        end = INFINITY;
    }
    const bool any = worst > 0;
    const double buffer = sheet_ceil(rise[0]), one = sheet_ceil(rise[1]);
    sheet_set(c, RISE_FAST, rise[0]);
    sheet_set(c, RISE_SLOW, rise[1]);
    sheet_set(c, SAFE, !any);
    sheet_set(c, MIN_BUFFER, buffer);
    sheet_set(c, MIN_POOL, sheet_ceil(fmax(0, rise[1] - fmax(held[0], rise[0]))));
    sheet_set(c, ONE_STAGE, one);
    sheet_set(c, SAVED, one - buffer);
    sheet_set(c, MAX_SHORT, worst);
    sheet_set_if(c, BREACH_START, any, start);
    sheet_set_if(c, BREACH_END, any, end);
    sheet_set(c, BREACH, any ? end - start : 0);
    sheet_set(c, SHORT, !any ? 0 : isinf(end) ? INFINITY : short_sum(c, &d, start, end));
}

static const char *const rules[] = {
    "Without a fast pool, or with equal reclaim times, this is the one-stage case.",
    "A fast reclaim time of 0 needs no idle buffer, if the fast pool is large enough.",
    "A slow reclaim time below the fast one is refused. A ramp without slope is safe.",
    "Where demand ends above the fleet the shortage lasts for ever.",
    NULL,
};

extern const struct sheet sheet_reclaim_two_stage;
const struct sheet sheet_reclaim_two_stage = {
    .name = "reclaim-two-stage",
    .group = "One fleet: training plus inference",
    .question = "Does a small fast-to-reclaim pool let a big slow one stay lent out safely?",
    .doc =
        "B_1 lent GPUs come back in T_1, all others in T_2. Both are asked for at once for the "
        "same total, and fast GPUs go back to work that can be killed as slow ones arrive: A(t) "
        "= min(N, H + min(D(t - T_1), B_1 + D(t - T_2))).",
    .assumption = "Some work can be killed at once, and always fills the fast pool.",
    .rules = rules,
    .sources = "G. F. Newell, Applications of Queueing Theory (1982): cumulative curves",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = MIN_POOL,
    .check = check,
    .solve = solve,
};
