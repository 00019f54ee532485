/* Worksheet: how often preemptible work should save, and how long it takes in the end. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/checkpoint.h"
#include "models/closed/renewal.h"

#include <math.h>

enum { MTBF, SAVE, RESTART, DOWN, WORK, INTERVAL };
enum {
    YOUNG,
    DALY,
    EXACT,
    USED,
    SEGMENT,
    EFF,
    EFF_YOUNG,
    EFF_DALY,
    EXPECTED,
    PREEMPTIONS,
    FIRST_ORDER,
    WHOLE,
    WHOLE_S
};

static const struct sheet_input inputs[] = {
    [MTBF] = SHEET_INPUT("mtbf_s", "M", "s", "mean time between preemptions", "14400",
                         .above = true, .endless = true),
    [SAVE] = SHEET_INPUT("ckpt_s", "C", "s", "save time", "30"),
    [RESTART] =
        SHEET_INPUT("restart_s", "R", "s", "restart time, which can be preempted too", "180"),
    [DOWN] = SHEET_INPUT("downtime_s", "D", "s", "wait for replacement capacity", "0"),
    [WORK] = SHEET_INPUT("work_s", "W", "s", "useful work of the job", "36000", .above = true),
    [INTERVAL] = SHEET_INPUT("interval_s", "t", "s",
                             "useful seconds between saves; 0: the exact optimum", "0"),
};

static const struct sheet_output outputs[] = {
    [YOUNG] = SHEET_OUTPUT("young_s", "tau_Y", "s", "sqrt(2 x {ckpt_s} x {mtbf_s})",
                           "Young's rule says to save every {young_s}."),
    [DALY] = SHEET_OUTPUT("daly_s", "tau_D", "s",
                          "sqrt(2 C M) (1 + sqrt(C/(2M))/3 + C/(18M)) - C below C = 2M, else M",
                          "Daly's says every {daly_s}."),
    [EXACT] = SHEET_OUTPUT("exact_opt_s", "tau_0", "s", "M (1 + W0(-exp(-C/M - 1)))",
                           "The exact optimum is {exact_opt_s}."),
    [USED] = SHEET_OUTPUT("interval_used_s", "tau", "s", "{interval_s} when above 0, else {exact_opt_s}",
                          "It saves every {interval_used_s}."),
    [SEGMENT] = SHEET_OUTPUT("segment_s", "T", "s",
                             "exp({restart_s} / {mtbf_s}) x ({mtbf_s} + {downtime_s}) x "
                             "(exp(({interval_used_s} + {ckpt_s}) / {mtbf_s}) - 1)",
                             "From one save to the next it takes {segment_s} on average: the "
                             "work, the save, and what preemptions undo."),
    [EFF] = SHEET_OUTPUT("efficiency", "e", "fraction", "{interval_used_s} / {segment_s}",
                         "{efficiency} of the time is work that is kept."),
    [EFF_YOUNG] =
        SHEET_OUTPUT("efficiency_young", "e_Y", "fraction", "the same at {young_s} between saves",
                     "Young's rule would keep {efficiency_young}."),
    [EFF_DALY] =
        SHEET_OUTPUT("efficiency_daly", "e_D", "fraction", "the same at {daly_s} between saves",
                     "Daly's would keep {efficiency_daly}."),
    [EXPECTED] = SHEET_OUTPUT("expected_s", "T_W", "s", "{work_s} / {efficiency}",
                              "The job takes {expected_s} in the end."),
    [PREEMPTIONS] = SHEET_OUTPUT("preemptions", "n_p", "count",
                                 "{work_s} / {interval_used_s} x exp({restart_s} / {mtbf_s}) x "
                                 "(exp(({interval_used_s} + {ckpt_s}) / {mtbf_s}) - 1)",
                                 "It is preempted {preemptions#} times on the way."),
    [FIRST_ORDER] =
        SHEET_OUTPUT("first_order_overhead", "o_1", "fraction",
                     "{ckpt_s} / {interval_used_s} + ({interval_used_s} / 2 + {restart_s} + "
                     "{downtime_s}) / {mtbf_s}",
                     "The usual estimate, good while it is small: {first_order_overhead} on top."),
    [WHOLE] =
        SHEET_OUTPUT("whole_segments", "n", "count",
                     "the n >= 1 for which W in n equal segments takes least time",
                     "A job that also saves at its end is cut into {whole_segments} segments.",
                     .type = SHEET_COUNT),
    [WHOLE_S] = SHEET_OUTPUT("whole_expected_s", "T_n", "s",
                             "{whole_segments} x exp({restart_s} / {mtbf_s}) x ({mtbf_s} + "
                             "{downtime_s}) x (exp(({work_s} / {whole_segments} + {ckpt_s}) / "
                             "{mtbf_s}) - 1)",
                             "So cut it takes {whole_expected_s}."),
};

static struct renewal terms(const struct sheet_case *c)
{
    return (struct renewal){sheet_in(c, MTBF), sheet_in(c, SAVE), sheet_in(c, RESTART),
                            sheet_in(c, DOWN)};
}

static bool never(const struct sheet_case *c)
{
    return isinf(sheet_in(c, MTBF));
}

static bool free_saves(const struct sheet_case *c)
{
    return sheet_in(c, SAVE) == 0;
}

static const struct sheet_remark remarks[] = {
    {USED, never, "Nothing is ever preempted: one save, at the end."},
    {USED, free_saves, "A save costs nothing: it saves all the time."},
    {WHOLE, free_saves, "A save costs nothing: there is no best number of segments."},
};

/* ---- mistakes ---- */

static double without_two(const struct sheet_case *c)
{
    return sqrt(sheet_in(c, SAVE) * sheet_in(c, MTBF));
}

static double undisturbed(const struct sheet_case *c)
{
    const double tau = sheet_out(c, USED);
    return tau / (tau + sheet_in(c, SAVE));
}

static double without_restarts(const struct sheet_case *c)
{
    const struct renewal r = {sheet_in(c, MTBF), sheet_in(c, SAVE), 0, 0};
    return renewal_efficiency(&r, sheet_out(c, USED));
}

static double by_clock(const struct sheet_case *c)
{
    return sheet_in(c, WORK) / sheet_in(c, MTBF);
}

static double work_and_saves(const struct sheet_case *c)
{
    return sheet_in(c, WORK) * (1 + sheet_in(c, SAVE) / sheet_out(c, USED));
}

static const struct sheet_mistake mistakes[] = {
    {YOUNG, "forgets the 2 of Young's rule", without_two},
    {EFF, "counts the saves only: no work is lost and no restart made", undisturbed},
    {EFF, "leaves out restart and downtime", without_restarts},
    {EXPECTED, "counts the saves only: no work is lost and no restart made", work_and_saves},
    {PREEMPTIONS, "takes the useful work for the time the job is there", by_clock},
};

/* ---- solution ---- */

/* A job that nothing stops saves once. */
static void solve_quiet(struct sheet_case *c)
{
    const double work = sheet_in(c, WORK), save = sheet_in(c, SAVE), t = sheet_in(c, INTERVAL);
    const double eff = t > 0 ? t / (t + save) : work / (work + save);
    sheet_set(c, SEGMENT, t > 0 ? t + save : work + save);
    sheet_set(c, EFF, eff);
    sheet_set(c, EFF_YOUNG, work / (work + save));
    sheet_set(c, EFF_DALY, work / (work + save));
    sheet_set(c, EXPECTED, work / eff);
    sheet_set(c, PREEMPTIONS, 0);
    sheet_set(c, FIRST_ORDER, t > 0 ? save / t : 0);
    sheet_set(c, WHOLE, 1);
    sheet_set(c, WHOLE_S, work + save);
}

static void solve_preempted(struct sheet_case *c, double tau)
{
    const struct renewal r = terms(c);
    const double work = sheet_in(c, WORK), eff = renewal_efficiency(&r, tau);
    const double share = r.save_s > 0 ? r.save_s / tau : 0;
    const uint64_t n = renewal_whole_segments(&r, work);
    sheet_set(c, SEGMENT, renewal_segment_s(&r, tau));
    sheet_set(c, EFF, eff);
    sheet_set(c, EFF_YOUNG, renewal_efficiency(&r, sheet_out(c, YOUNG)));
    sheet_set(c, EFF_DALY, renewal_efficiency(&r, sheet_out(c, DALY)));
    sheet_set(c, EXPECTED, work / eff);
    sheet_set(c, PREEMPTIONS,
              tau > 0 ? renewal_interruptions(&r, tau, work) : work / (r.mtbf_s + r.down_s) / eff);
    sheet_set(c, FIRST_ORDER, share + (tau / 2 + r.restart_s + r.down_s) / r.mtbf_s);
    sheet_set_if(c, WHOLE, n > 0, (double)n);
    sheet_set_if(c, WHOLE_S, n > 0, n > 0 ? renewal_whole_s(&r, work, n) : 0);
}

static void solve(struct sheet_case *c)
{
    const struct renewal r = terms(c);
    const double tau = renewal_interval_s(&r, sheet_in(c, INTERVAL));
    sheet_set(c, YOUNG, checkpoint_young_s(r.save_s, r.mtbf_s));
    sheet_set(c, DALY, checkpoint_daly_s(r.save_s, r.mtbf_s));
    sheet_set(c, EXACT, checkpoint_exact_s(r.save_s, r.mtbf_s));
    sheet_set(c, USED, tau);
    if (never(c))
        solve_quiet(c);
    else
        solve_preempted(c, tau);
}

static const char *const rules[] = {
    "Without save time the optimum is 0, the efficiency its limit exp(-R/M) M/(M + D), and there "
    "is no best number of segments.",
    "From a save of twice M on, Daly's interval is M; the exact formula holds still, but little is "
    "kept.",
    "Never preempted: every optimum is infinite, and the job saves once.",
    "An interval that is given is used, even one longer than the work.",
    NULL,
};

extern const struct sheet sheet_spot_checkpoint;
const struct sheet sheet_spot_checkpoint = {
    .name = "spot-checkpoint",
    .group = "Checkpoints, spot capacity and failures",
    .question = "How often should preemptible work save, and how long does it take in the end?",
    .doc =
        "Work is cut into segments, each followed by a save, the last one too. Preemptions strike "
        "at random, also during saves and restarts; after one the job waits D for capacity, "
        "restarts, and does its segment again from the beginning.",
    .assumption =
        "Preemptions are memoryless: a job that ran for long is not due for one. Nothing is saved "
        "on notice.",
    .rules = rules,
    .sources =
        "J. W. Young, CACM 17 (1974); J. T. Daly, FGCS 22 (2006); M. Bougeret, H. Casanova, M. "
        "Rabie, Y. Robert and F. Vivien, SC (2011); A. Duda, IPL 16 (1983)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = EXPECTED,
    .solve = solve,
};
