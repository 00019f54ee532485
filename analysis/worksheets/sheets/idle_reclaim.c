/* Worksheet: what an idle time-out gives back, and whom it annoys. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { ACTIVE, IDLE, TIMEOUT, RESTORE, GPUS };
enum { PROB, HELD_IDLE, FREED_MIN, BEFORE, HELD, AFTER, FREED, WAIT, RECLAIMS };

static const struct sheet_input inputs[] = {
    [ACTIVE] = SHEET_INPUT("active_min", "b", "min", "mean burst of work", "20", .above = true),
    [IDLE] = SHEET_INPUT("idle_min", "theta", "min", "mean idle gap (memoryless)", "45"),
    [TIMEOUT] = SHEET_INPUT("timeout_min", "tau", "min", "idle time after which it is taken back",
                            "30", .endless = true),
    [RESTORE] = SHEET_INPUT("restore_min", "r", "min",
                            "time to get going again; the GPU is held meanwhile", "3"),
    [GPUS] =
        SHEET_INPUT("gpus_held", "N", "GPUs", "GPUs held by such sessions before the policy", "64"),
};

static const struct sheet_output outputs[] = {
    [PROB] = SHEET_OUTPUT("reclaim_prob", "q", "fraction", "exp(-{timeout_min} / {idle_min})",
                          "{reclaim_prob} of the gaps last longer than the time-out."),
    [HELD_IDLE] = SHEET_OUTPUT("held_idle_min", "h", "min", "{idle_min} x (1 - {reclaim_prob})",
                               "Of a gap the GPU is still held for {held_idle_min}."),
    [FREED_MIN] = SHEET_OUTPUT("freed_min", "f", "min", "{idle_min} x {reclaim_prob}",
                               "The rest, {freed_min}, is given back."),
    [BEFORE] =
        SHEET_OUTPUT("util_before", "u_0", "fraction", "{active_min} / ({active_min} + {idle_min})",
                     "Before, a held GPU works {util_before} of the time."),
    [HELD] = SHEET_OUTPUT("held_frac_after", "F", "fraction",
                          "({active_min} + {held_idle_min} + {restore_min} x {reclaim_prob}) / "
                          "({active_min} + {idle_min} + {restore_min} x {reclaim_prob})",
                          "A session now holds its GPU {held_frac_after} of the time."),
    [AFTER] = SHEET_OUTPUT("util_after", "u_1", "fraction",
                           "{active_min} / ({active_min} + {held_idle_min} + {restore_min} x "
                           "{reclaim_prob})",
                           "A held GPU works {util_after} of the time."),
    [FREED] = SHEET_OUTPUT("freed_gpus", "R", "GPUs", "{gpus_held} x (1 - {held_frac_after})",
                           "On average {freed_gpus} are free for others."),
    [WAIT] = SHEET_OUTPUT("user_wait_min", "w", "min", "{restore_min} x {reclaim_prob}",
                          "The price is a wait of {user_wait_min} a cycle."),
    [RECLAIMS] = SHEET_OUTPUT("reclaims_per_day", "k", "1/day",
                              "1440 x {reclaim_prob} / ({active_min} + {idle_min} + "
                              "{restore_min} x {reclaim_prob})",
                              "Each session loses its GPU {reclaims_per_day#} times a day."),
};

static double hard_timeout(const struct sheet_case *c)
{
    return fmax(0, sheet_in(c, IDLE) - sheet_in(c, TIMEOUT));
}

static const struct sheet_mistake mistakes[] = {
    {FREED_MIN, "takes the time-out from the mean gap: the long gaps are what is given back",
     hard_timeout},
};

static void solve(struct sheet_case *c)
{
    const double b = sheet_in(c, ACTIVE), theta = sheet_in(c, IDLE), tau = sheet_in(c, TIMEOUT);
    const bool never = theta == 0 || isinf(tau);
    const double q = never ? 0 : exp(-tau / theta);
    const double restore = sheet_in(c, RESTORE) * q;
    const double held_idle = theta == 0 ? 0 : never ? theta : -theta * expm1(-tau / theta);
    const double cycle = b + theta + restore, held = b + held_idle + restore;
    sheet_set(c, PROB, q);
    sheet_set(c, HELD_IDLE, held_idle);
    sheet_set(c, FREED_MIN, theta * q);
    sheet_set(c, BEFORE, b / (b + theta));
    sheet_set(c, HELD, held / cycle);
    sheet_set(c, AFTER, b / held);
    sheet_set(c, FREED, sheet_in(c, GPUS) * (theta * q) / cycle);
    sheet_set(c, WAIT, restore);
    sheet_set(c, RECLAIMS, 1440 * q / cycle);
}

static const char *const rules[] = {
    "A time-out of 0 takes every gap back at once; an infinite one takes nothing.",
    "Without idle gaps there is nothing to take.",
    NULL,
};

extern const struct sheet sheet_idle_reclaim;
const struct sheet sheet_idle_reclaim = {
    .name = "idle-reclaim",
    .group = "Job queues, quotas and fair share",
    .question = "What does an idle time-out give back, and whom does it annoy?",
    .doc =
        "A session alternates bursts of work and idle gaps. After so many idle minutes its GPU "
        "is taken back; when the user returns it takes a while to get going again.",
    .assumption =
        "Gaps are memoryless: most are short, and the few long ones hold most of the "
        "idle time.",
    .rules = rules,
    .sources = "renewal-reward theorem (W. L. Smith, 1955); memoryless gaps",
    .inputs = inputs,
    .outputs = outputs,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_mistakes = SHEET_N(mistakes),
    .answer = FREED,
    .solve = solve,
};
