/* Worksheet: the chain of stages that brings a GPU back from training, and its cost. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum {
    DETECT,
    DECIDE,
    GRACE,
    WRITE,
    TEARDOWN,
    SCRUB,
    WEIGHTS,
    LOAD_RATE,
    WARMUP,
    INTERVAL,
    RESTART,
    GANG,
    NEED,
    RAMP
};
enum {
    SAVES,
    STOP,
    LOAD,
    RECLAIM,
    GANGS,
    GPUS,
    OVERSHOOT,
    LOST_GANG,
    LOST,
    RISE,
    BUFFER,
    OVER_SLO
};

static const struct sheet_input inputs[] = {
    [DETECT] = SHEET_INPUT("detect_s", "t_d", "s", "time to notice the rise", "20"),
    [DECIDE] = SHEET_INPUT("decide_s", "t_c", "s", "time to choose victims", "10"),
    [GRACE] = SHEET_INPUT("grace_s", "G", "s", "longest time a gang may take to stop", "90"),
    [WRITE] = SHEET_INPUT("ckpt_write_s", "C", "s", "time to write a checkpoint", "60"),
    [TEARDOWN] = SHEET_INPUT("teardown_s", "t_t", "s", "process and container teardown", "15"),
    [SCRUB] = SHEET_INPUT("scrub_s", "t_s", "s", "memory scrub", "5"),
    [WEIGHTS] = SHEET_INPUT("weights_gb", "V", "GB", "inference weights to load", "140"),
    [LOAD_RATE] = SHEET_INPUT("load_gb_per_s", "v", "GB/s", "load rate", "1", .above = true),
    [WARMUP] = SHEET_INPUT("warmup_s", "t_w", "s", "warm-up before the first request", "50"),
    [INTERVAL] = SHEET_INPUT("ckpt_interval_s", "tau", "s", "periodic checkpoint interval", "1800"),
    [RESTART] =
        SHEET_INPUT("restart_s", "R", "s", "time a gang needs to be productive again", "240"),
    [GANG] = SHEET_INPUT("gang_gpus", "g", "GPUs", "gang size", "64", .type = SHEET_COUNT, .min = 1,
                         .max = 1e7),
    [NEED] = SHEET_INPUT("need_gpus", "K", "GPUs", "GPUs wanted back", "100", .type = SHEET_COUNT,
                         .max = 1e7),
    [RAMP] = SHEET_INPUT("ramp_gpu_per_min", "r", "GPU/min", "traffic ramp", "20"),
};

static const struct sheet_output outputs[] = {
    [SAVES] = SHEET_OUTPUT("saves_in_grace", "saves", "0/1", "1 when {ckpt_write_s} <= {grace_s}",
                           "The save fits into the grace period.", .type = SHEET_FLAG),
    [STOP] = SHEET_OUTPUT("stop_s", "t_p", "s", "{ckpt_write_s} if it fits, else {grace_s}",
                          "The gang is gone after {stop_s}."),
    [LOAD] = SHEET_OUTPUT("load_s", "t_l", "s", "{weights_gb} / {load_gb_per_s}",
                          "Loading the weights takes {load_s}."),
    [RECLAIM] = SHEET_OUTPUT("reclaim_s", "T", "s",
                             "{detect_s} + {decide_s} + {stop_s} + {teardown_s} + {scrub_s} + "
                             "{load_s} + {warmup_s}",
                             "From the rise to the first request served: {reclaim_s}."),
    [GANGS] = SHEET_OUTPUT("gangs_preempted", "k", "gangs", "ceil({need_gpus} / {gang_gpus})",
                           "A gang stops as a whole: {gangs_preempted} go.", .type = SHEET_COUNT),
    [GPUS] = SHEET_OUTPUT("gpus_preempted", "P", "GPUs", "{gangs_preempted} x {gang_gpus}",
                          "That frees {gpus_preempted}.", .type = SHEET_COUNT),
    [OVERSHOOT] = SHEET_OUTPUT("overshoot_gpus", "O", "GPUs", "{gpus_preempted} - {need_gpus}",
                               "{overshoot_gpus} more than were wanted.", .type = SHEET_COUNT),
    [LOST_GANG] = SHEET_OUTPUT("lost_s_per_gang", "L_g", "s",
                               "{stop_s} + {restart_s} + (0 if it saves, else {ckpt_interval_s} / "
                               "2)",
                               "Saved in time, a gang loses {lost_s_per_gang}: the save and the "
                               "restart."),
    [LOST] = SHEET_OUTPUT("lost_gpu_h", "L", "GPU-h", "{gpus_preempted} x {lost_s_per_gang} / 3600",
                          "Training pays {lost_gpu_h} for it."),
    [RISE] = SHEET_OUTPUT("ramp_rise_gpus", "W", "GPUs", "{ramp_gpu_per_min} x {reclaim_s} / 60",
                          "Meanwhile traffic grows by {ramp_rise_gpus}."),
    [BUFFER] = SHEET_OUTPUT("buffer_gpus", "H", "GPUs", "ceil({ramp_rise_gpus})",
                            "An idle buffer of {buffer_gpus} covers the reclaim time.",
                            .type = SHEET_COUNT),
    [OVER_SLO] = SHEET_OUTPUT("reclaim_over_slo_2s", "T/2", "-", "{reclaim_s} / 2",
                              "A reclaim is as long as {reclaim_over_slo_2s} limits of two "
                              "seconds: a request cannot wait for it."),
};

static bool killed(const struct sheet_case *c)
{
    return sheet_out(c, SAVES) == 0;
}

static bool nothing_needed(const struct sheet_case *c)
{
    return sheet_in(c, NEED) == 0;
}

static const struct sheet_remark remarks[] = {
    {SAVES, killed, "The save does not fit into the grace period: the gang is killed at its end."},
    {LOST_GANG, killed,
     "Killed, it falls back to its last save, half an interval ago on average: {lost_s_per_gang}."},
    {GANGS, nothing_needed, "Nothing is wanted back: nobody is preempted."},
};

static double partial_gang(const struct sheet_case *c)
{
    return sheet_in(c, NEED);
}

static double full_grace(const struct sheet_case *c)
{
    return sheet_out(c, RECLAIM) - sheet_out(c, STOP) + sheet_in(c, GRACE);
}

static double whole_interval(const struct sheet_case *c)
{
    return killed(c) ? sheet_out(c, LOST_GANG) + sheet_in(c, INTERVAL) / 2 : NAN;
}

static double without_minutes(const struct sheet_case *c)
{
    return sheet_in(c, RAMP) * sheet_out(c, RECLAIM);
}

static const struct sheet_mistake mistakes[] = {
    {GPUS, "frees a gang in part: a gang stops as a whole", partial_gang},
    {RECLAIM, "waits out the grace period although the save ends sooner", full_grace},
    {LOST_GANG, "loses a whole interval: the last save is half of one ago on average",
     whole_interval},
    {RISE, "multiplies GPUs a minute by seconds", without_minutes},
};

static void solve(struct sheet_case *c)
{
    const bool saves = sheet_in(c, WRITE) <= sheet_in(c, GRACE);
    const double stop = sheet_in(c, saves ? WRITE : GRACE);
    const double load = sheet_in(c, WEIGHTS) / sheet_in(c, LOAD_RATE);
    const double reclaim = sheet_in(c, DETECT) + sheet_in(c, DECIDE) + stop +
                           sheet_in(c, TEARDOWN) + sheet_in(c, SCRUB) + load + sheet_in(c, WARMUP);
    const double gangs = sheet_ceil(sheet_in(c, NEED) / sheet_in(c, GANG));
    const double gpus = gangs * sheet_in(c, GANG);
    const double lost = stop + sheet_in(c, RESTART) + (saves ? 0 : sheet_in(c, INTERVAL) / 2);
    const double rise = sheet_in(c, RAMP) * reclaim / 60;
    sheet_set(c, SAVES, saves);
    sheet_set(c, STOP, stop);
    sheet_set(c, LOAD, load);
    sheet_set(c, RECLAIM, reclaim);
    sheet_set(c, GANGS, gangs);
    sheet_set(c, GPUS, gpus);
    sheet_set(c, OVERSHOOT, gpus - sheet_in(c, NEED));
    sheet_set(c, LOST_GANG, lost);
    sheet_set(c, LOST, gpus * lost / 3600);
    sheet_set(c, RISE, rise);
    sheet_set(c, BUFFER, sheet_ceil(rise));
    sheet_set(c, OVER_SLO, reclaim / 2);
}

static const char *const rules[] = {
    "A save that takes exactly the grace period counts as saved.",
    "With no grace and a save that takes time a gang is killed at once.",
    "Where nothing is wanted back, nobody is preempted and nothing is lost.",
    NULL,
};

extern const struct sheet sheet_reclaim_chain;
const struct sheet sheet_reclaim_chain = {
    .name = "reclaim-chain",
    .group = "One fleet: training plus inference",
    .question = "How long does it take to get a GPU back from training, and what does it cost?",
    .doc =
        "The stages between the rise of traffic and a reclaimed GPU that serves follow each "
        "other. A gang saves its work if that fits into the grace period; else it is killed at "
        "its end and falls back to its last periodic save.",
    .assumption =
        "The stages do not overlap, and preemption comes at any moment of the checkpoint "
        "interval with equal chance.",
    .rules = rules,
    .sources =
        "sum of a serial chain; mean age of the last periodic save at a random moment: half "
        "the interval",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = RECLAIM,
    .solve = solve,
};
