/* Worksheet: separate pools, one shared pool, or a floor with borrowing. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/fluid_ramp.h"

#include <math.h>

enum { FLEET, MEAN, PEAK, HEADROOM, SURGE, SURGES, RAMP, RECLAIM, SLO, FLOOR, GANG, REDO, RESTART };
enum {
    SEP_INF,
    SEP_TRAIN,
    SEP_FITS,
    SEP_IDLE,
    SEP_IDLE_DAY,
    SEP_UTIL,
    SEP_USEFUL,
    SH_TRAIN,
    SH_MOVED,
    SH_LOST,
    SH_USEFUL,
    SH_SHORT,
    SH_BREACH,
    SH_SHORT_H,
    SH_SLO_START,
    FB_BUFFER,
    FB_HELD,
    FB_IDLE,
    FB_TRAIN,
    FB_FITS,
    FB_MOVED,
    FB_LOST,
    FB_USEFUL,
    FB_GAIN,
    FB_SHORT
};

static const struct sheet_input inputs[] = {
    [FLEET] = SHEET_INPUT("fleet_gpus", "N", "GPUs", "fleet", "1000", .type = SHEET_COUNT, .min = 1,
                          .max = 1e7),
    [MEAN] = SHEET_INPUT("inf_mean_gpus", "m", "GPUs", "mean inference demand", "240", .max = 1e7),
    [PEAK] = SHEET_INPUT("inf_peak_gpus", "P", "GPUs", "its daily peak", "400", .max = 1e7),
    [HEADROOM] = SHEET_INPUT("inf_headroom", "h", "fraction",
                             "headroom above the peak of a separate pool", "0.15", .max = 100),
    [SURGE] = SHEET_INPUT("surge_gpus", "R", "GPUs", "size of a fast surge above the daily wave",
                          "120", .max = 1e7),
    [SURGES] = SHEET_INPUT("surges_per_day", "k", "1/day", "surges a day", "4", .max = 1e6),
    [RAMP] = SHEET_INPUT("ramp_gpu_per_min", "r", "GPU/min", "rate at which a surge rises", "20",
                         .max = 1e7),
    [RECLAIM] = SHEET_INPUT("reclaim_s", "T", "s", "from asking for a GPU to serving on it", "300",
                            .max = 1e7),
    [SLO] = SHEET_INPUT("slo_wait_s", "w", "s", "longest acceptable wait for first output", "2",
                        .max = 1e7),
    [FLOOR] =
        SHEET_INPUT("floor_gpus", "F", "GPUs", "GPUs never lent by inference", "200", .max = 1e7),
    [GANG] = SHEET_INPUT("gang_gpus", "g", "GPUs", "size of a preempted training gang", "8",
                         .type = SHEET_COUNT, .min = 1, .max = 1e7),
    [REDO] =
        SHEET_INPUT("redo_s", "L", "s", "training work lost by a preemption", "900", .max = 1e9),
    [RESTART] =
        SHEET_INPUT("restart_s", "R_t", "s", "time a preempted gang needs to be productive again",
                    "300", .max = 1e9),
};

static const struct sheet_output outputs[] = {
    [SEP_INF] = SHEET_OUTPUT(
        "sep_inf_gpus", "N_i", "GPUs", "ceil({inf_peak_gpus} x (1 + {inf_headroom}))",
        "A separate inference pool is sized for the peak: {sep_inf_gpus}.", .type = SHEET_COUNT),
    [SEP_TRAIN] = SHEET_OUTPUT("sep_train_gpus", "N_t", "GPUs", "{fleet_gpus} - {sep_inf_gpus}",
                               "Training has the other {sep_train_gpus}.", .type = SHEET_COUNT),
    [SEP_FITS] = SHEET_OUTPUT("sep_fits", "fits_s", "0/1", "1 when {sep_inf_gpus} <= {fleet_gpus}",
                              "Separate pools fit into the fleet.", .type = SHEET_FLAG),
    [SEP_IDLE] = SHEET_OUTPUT("sep_idle_gpus", "I_s", "GPUs", "{sep_inf_gpus} - {inf_mean_gpus}",
                              "On average {sep_idle_gpus} of the inference pool idle."),
    [SEP_IDLE_DAY] = SHEET_OUTPUT("sep_idle_gpu_h_day", "24 I_s", "GPU-h/day",
                                  "24 x {sep_idle_gpus}", "That is {sep_idle_gpu_h_day}."),
    [SEP_UTIL] =
        SHEET_OUTPUT("sep_inf_util", "rho_s", "fraction", "{inf_mean_gpus} / {sep_inf_gpus}",
                     "The inference pool is {sep_inf_util} busy."),
    [SEP_USEFUL] = SHEET_OUTPUT("sep_useful_frac", "u_s", "fraction",
                                "({fleet_gpus} - {sep_idle_gpus}) / {fleet_gpus}",
                                "Of the fleet {sep_useful_frac} does useful work."),
    [SH_TRAIN] = SHEET_OUTPUT(
        "shared_train_gpus", "T_m", "GPUs", "{fleet_gpus} - {inf_mean_gpus}",
        "Shared without floor or buffer, training has {shared_train_gpus} on average."),
    [SH_MOVED] = SHEET_OUTPUT("shared_moved_day", "M_m", "GPUs/day",
                              "2 x ({inf_peak_gpus} - {inf_mean_gpus}) + {surges_per_day} x "
                              "{surge_gpus}",
                              "{shared_moved_day} are taken back from training."),
    [SH_LOST] = SHEET_OUTPUT("shared_lost_gpu_h_day", "L_m", "GPU-h/day",
                             "ceil({shared_moved_day} / {gang_gpus}) x {gang_gpus} x ({redo_s} + "
                             "{restart_s}) / 3600",
                             "Each time work is done again: {shared_lost_gpu_h_day}."),
    [SH_USEFUL] = SHEET_OUTPUT("shared_useful_frac", "u_m", "fraction",
                               "1 - {shared_lost_gpu_h_day} / (24 x {fleet_gpus})",
                               "Still {shared_useful_frac} of the fleet is useful."),
    [SH_SHORT] = SHEET_OUTPUT("shared_short_gpus", "S_m", "GPUs",
                              "min({surge_gpus}, {ramp_gpu_per_min} x {reclaim_s} / 60)",
                              "But in a surge up to {shared_short_gpus} are missing."),
    [SH_BREACH] = SHEET_OUTPUT("shared_breach_s", "b", "s",
                               "{surge_gpus} x 60 / {ramp_gpu_per_min} + {reclaim_s}",
                               "The shortage of one surge lasts {shared_breach_s}."),
    [SH_SHORT_H] =
        SHEET_OUTPUT("shared_short_gpu_h_surge", "Q", "GPU-h", "{surge_gpus} x {reclaim_s} / 3600",
                     "It sums up to {shared_short_gpu_h_surge}."),
    [SH_SLO_START] = SHEET_OUTPUT("shared_slo_breach_start_s", "t_w", "s",
                                  "sqrt(2 x {inf_mean_gpus} x {slo_wait_s} x 60 / "
                                  "{ramp_gpu_per_min}) while no reclaimed GPU has come",
                                  "Requests wait too long from {shared_slo_breach_start_s} on."),
    [FB_BUFFER] = SHEET_OUTPUT("fb_buffer_gpus", "H", "GPUs", "ceil({shared_short_gpus})",
                               "A floor with borrowing keeps {fb_buffer_gpus} idle: what a surge "
                               "grows by within one reclaim.",
                               .type = SHEET_COUNT),
    [FB_HELD] = SHEET_OUTPUT("fb_held_gpus", "E", "GPUs",
                             "mean over the day of max({floor_gpus}, D + {fb_buffer_gpus})",
                             "Inference then holds {fb_held_gpus} on average."),
    [FB_IDLE] = SHEET_OUTPUT("fb_idle_gpus", "I_f", "GPUs", "{fb_held_gpus} - {inf_mean_gpus}",
                             "{fb_idle_gpus} of them idle."),
    [FB_TRAIN] = SHEET_OUTPUT("fb_train_gpus", "T_f", "GPUs", "{fleet_gpus} - {fb_held_gpus}",
                              "Training has {fb_train_gpus}."),
    [FB_FITS] = SHEET_OUTPUT("fb_fits", "fits_f", "0/1",
                             "1 when max({floor_gpus}, {inf_peak_gpus} + {fb_buffer_gpus}) <= "
                             "{fleet_gpus}",
                             "It fits into the fleet.", .type = SHEET_FLAG),
    [FB_MOVED] = SHEET_OUTPUT("fb_moved_day", "M_f", "GPUs/day",
                              "what is taken back above {floor_gpus}: by the wave, and "
                              "{surges_per_day} times by a surge",
                              "{fb_moved_day} are taken back: the floor saves a few."),
    [FB_LOST] = SHEET_OUTPUT("fb_lost_gpu_h_day", "L_f", "GPU-h/day",
                             "ceil({fb_moved_day} / {gang_gpus}) x {gang_gpus} x ({redo_s} + "
                             "{restart_s}) / 3600",
                             "That costs training {fb_lost_gpu_h_day}."),
    [FB_USEFUL] = SHEET_OUTPUT("fb_useful_frac", "u_f", "fraction",
                               "1 - {fb_idle_gpus} / {fleet_gpus} - {fb_lost_gpu_h_day} / (24 x "
                               "{fleet_gpus})",
                               "{fb_useful_frac} of the fleet is useful."),
    [FB_GAIN] = SHEET_OUTPUT("fb_gain_gpus", "Delta", "GPUs",
                             "{fleet_gpus} x ({fb_useful_frac} - {sep_useful_frac})",
                             "Against separate pools that is worth {fb_gain_gpus}."),
    [FB_SHORT] = SHEET_OUTPUT("fb_short_gpus", "S_f", "GPUs", "0 by the choice of {fb_buffer_gpus}",
                              "And no surge finds it short."),
};

static bool sep_too_large(const struct sheet_case *c)
{
    return sheet_out(c, SEP_FITS) == 0;
}

static bool fb_too_large(const struct sheet_case *c)
{
    return sheet_out(c, FB_FITS) == 0;
}

static bool never_late(const struct sheet_case *c)
{
    return isnan(sheet_out(c, SH_SLO_START));
}

static bool no_shortage(const struct sheet_case *c)
{
    return sheet_out(c, SH_SHORT) == 0;
}

static const struct sheet_remark remarks[] = {
    {SEP_FITS, sep_too_large, "The peak with its headroom is more than the fleet."},
    {FB_FITS, fb_too_large, "The peak with the buffer is more than the fleet."},
    {SH_SHORT, no_shortage, "No surge finds it short."},
    {SH_BREACH, no_shortage, "There is no shortage."},
    {SH_SLO_START, never_late, "No request waits too long."},
};

static double sized_for_mean(const struct sheet_case *c)
{
    return sheet_ceil(sheet_in(c, MEAN) * (1 + sheet_in(c, HEADROOM)));
}

static double mean_above_floor(const struct sheet_case *c)
{
    return fmax(sheet_in(c, FLOOR), sheet_in(c, MEAN) + sheet_out(c, FB_BUFFER));
}

static double without_reclaim(const struct sheet_case *c)
{
    return sheet_out(c, SH_BREACH) > 0 ? sheet_out(c, SH_BREACH) - sheet_in(c, RECLAIM) : NAN;
}

static const struct sheet_mistake mistakes[] = {
    {SEP_INF, "sizes for the mean and not for the peak", sized_for_mean},
    {FB_HELD, "takes the maximum of the mean for the mean of the maximum", mean_above_floor},
    {SH_BREACH, "ends the shortage with the surge: the last GPUs come a reclaim later",
     without_reclaim},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, FLOOR) > sheet_in(c, FLEET))
        sheet_refuse(c, FLOOR, "more than the fleet of %.0f GPUs", sheet_in(c, FLEET));
    else if (sheet_in(c, PEAK) < sheet_in(c, MEAN))
        sheet_refuse(c, PEAK, "less than the mean of %.6g GPUs", sheet_in(c, MEAN));
    else if (2 * sheet_in(c, MEAN) < sheet_in(c, PEAK))
        sheet_refuse(c, PEAK, "the trough, 2 x mean - peak, would be below 0");
}

/* Mean of the positive part of sin - s over a period. */
static double sine_above(double s)
{
    if (s >= 1)
        return 0;
    if (s <= -1)
        return -s;
    return (sqrt((1 - s) * (1 + s)) - s * acos(s)) / acos(-1);
}

/* GPU-hours of training lost by taking so many GPUs back, in whole gangs. */
static double lost(const struct sheet_case *c, double moved)
{
    const double gang = sheet_in(c, GANG);
    return sheet_ceil(moved / gang) * gang * (sheet_in(c, REDO) + sheet_in(c, RESTART)) / 3600;
}

static void set_separate(struct sheet_case *c)
{
    const double fleet = sheet_in(c, FLEET), mean = sheet_in(c, MEAN);
    const double pool = sheet_ceil(sheet_in(c, PEAK) * (1 + sheet_in(c, HEADROOM)));
    sheet_set(c, SEP_INF, pool);
    sheet_set(c, SEP_TRAIN, fleet - pool);
    sheet_set(c, SEP_FITS, pool <= fleet);
    sheet_set(c, SEP_IDLE, pool - mean);
    sheet_set(c, SEP_IDLE_DAY, 24 * (pool - mean));
    sheet_set(c, SEP_UTIL, pool > 0 ? mean / pool : 0);
    sheet_set(c, SEP_USEFUL, (fleet - (pool - mean)) / fleet);
}

/* The surge as a ramp from the mean; without slope or count there is none. */
static struct fluid_demand surge_of(const struct sheet_case *c)
{
    const double surge = sheet_in(c, SURGES) > 0 ? sheet_in(c, SURGE) : 0;
    return fluid_demand("linear", sheet_in(c, MEAN), surge, sheet_in(c, RAMP), 1);
}

static void set_shared(struct sheet_case *c, const struct fluid_demand *d)
{
    const double fleet = sheet_in(c, FLEET), mean = sheet_in(c, MEAN), delay = sheet_in(c, RECLAIM);
    const double moved = 2 * (sheet_in(c, PEAK) - mean) + sheet_in(c, SURGES) * d->rise;
    const double rise = fluid_window_rise(d, delay);
    const struct fluid_supply bare = {.cap = INFINITY, .reclaim_s = delay};
    const double late = fluid_late_from_s(d, &bare, sheet_in(c, SLO));
    sheet_set(c, SH_TRAIN, fleet - mean);
    sheet_set(c, SH_MOVED, moved);
    sheet_set(c, SH_LOST, lost(c, moved));
    sheet_set(c, SH_USEFUL, 1 - lost(c, moved) / (24 * fleet));
    sheet_set(c, SH_SHORT, rise);
    sheet_set(c, SH_BREACH, rise > 0 ? d->duration_s + delay : 0);
    sheet_set(c, SH_SHORT_H, d->rise * delay / 3600);
    sheet_set_if(c, SH_SLO_START, !isnan(late), late);
}

static void set_floor(struct sheet_case *c, const struct fluid_demand *d)
{
    const double fleet = sheet_in(c, FLEET), mean = sheet_in(c, MEAN), peak = sheet_in(c, PEAK);
    const double floor = sheet_in(c, FLOOR), swing = peak - mean, trough = mean - swing;
    const double buffer = sheet_ceil(sheet_out(c, SH_SHORT));
    const double held = swing > 0 ? floor + swing * sine_above((floor - buffer - mean) / swing)
                                  : fmax(floor, mean + buffer);
    const double wave = fmax(0, peak + buffer - fmax(floor, trough + buffer));
    const double moved = wave + sheet_in(c, SURGES) * (fmax(floor, mean + d->rise + buffer) -
                                                       fmax(floor, mean + buffer));
    const double useful = 1 - (held - mean) / fleet - lost(c, moved) / (24 * fleet);
    sheet_set(c, FB_BUFFER, buffer);
    sheet_set(c, FB_HELD, held);
    sheet_set(c, FB_IDLE, held - mean);
    sheet_set(c, FB_TRAIN, fleet - held);
    sheet_set(c, FB_FITS, fmax(floor, peak + buffer) <= fleet);
    sheet_set(c, FB_MOVED, moved);
    sheet_set(c, FB_LOST, lost(c, moved));
    sheet_set(c, FB_USEFUL, useful);
    sheet_set(c, FB_GAIN, fleet * (useful - sheet_out(c, SEP_USEFUL)));
    sheet_set(c, FB_SHORT, 0);
}

static void solve(struct sheet_case *c)
{
    const struct fluid_demand d = surge_of(c);
    set_separate(c);
    set_shared(c, &d);
    set_floor(c, &d);
}

static const char *const rules[] = {
    "Without a daily wave (peak = mean) inference holds max(floor, mean + buffer).",
    "With a reclaim time of 0 there is no buffer and no shortage.",
    "Without a slope, a size or a count there is no surge: no buffer and no shortage.",
    "A floor above the fleet, a peak below the mean or a trough below 0 is refused.",
    "A design that does not fit is flagged; its other numbers are still the arithmetic.",
    NULL,
};

extern const struct sheet sheet_pool_designs;
const struct sheet sheet_pool_designs = {
    .name = "pool-designs",
    .group = "One fleet: training plus inference",
    .question =
        "Separate pools, one shared pool, or floor-plus-borrow: what does each waste and "
        "risk?",
    .doc =
        "Inference demand D follows a daily sine between 2 x mean - peak and the peak, with fast "
        "surges on top; training can use every other GPU. Useful is a GPU that serves, or "
        "trains work that is kept.",
    .assumption = "Training always has work for a GPU that inference does not hold.",
    .rules = rules,
    .sources =
        "G. F. Newell, Applications of Queueing Theory (1982): cumulative curves; the mean of "
        "the positive part of a sine by integration",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = FB_USEFUL,
    .check = check,
    .solve = solve,
};
