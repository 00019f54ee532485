/* Worksheet: four rules for the interval between saves, and what each keeps. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/checkpoint.h"
#include "models/closed/renewal.h"

#include <math.h>

enum { MTBF, SAVE, RESTART };
enum { YOUNG, WITH_RECOVERY, DALY, EXACT, EFF_YOUNG, EFF_RECOVERY, EFF_DALY, EFF_EXACT, LOSS };

static const struct sheet_input inputs[] = {
    [MTBF] = SHEET_INPUT("mtbf_s", "M", "s", "mean time between failures of the run", "6000",
                         .above = true),
    [SAVE] = SHEET_INPUT("ckpt_s", "C", "s", "save time", "10", .above = true),
    [RESTART] = SHEET_INPUT("restart_s", "R", "s", "recovery after a failure", "600"),
};

static const struct sheet_output outputs[] = {
    [YOUNG] = SHEET_OUTPUT("young_s", "tau_Y", "s", "sqrt(2 x {ckpt_s} x {mtbf_s})",
                           "Young: save every {young_s}."),
    [WITH_RECOVERY] = SHEET_OUTPUT(
        "with_recovery_s", "tau_R", "s", "sqrt(2 x {ckpt_s} x ({mtbf_s} + {restart_s}))",
        "A rule in use adds the recovery to M: {with_recovery_s}. The best interval "
        "does not depend on the recovery at all."),
    [DALY] = SHEET_OUTPUT("daly_s", "tau_D", "s",
                          "sqrt(2 C M) (1 + sqrt(C/(2M))/3 + C/(18M)) - C below C = 2M, else M",
                          "Daly: {daly_s}."),
    [EXACT] = SHEET_OUTPUT("exact_s", "tau_0", "s", "M (1 + W0(-exp(-C/M - 1)))",
                           "The exact optimum: {exact_s}."),
    [EFF_YOUNG] =
        SHEET_OUTPUT("efficiency_young", "e_Y", "fraction",
                     "{young_s} / (exp({restart_s} / {mtbf_s}) x {mtbf_s} x (exp(({young_s} + "
                     "{ckpt_s}) / {mtbf_s}) - 1))",
                     "Young keeps {efficiency_young} of the time."),
    [EFF_RECOVERY] = SHEET_OUTPUT("efficiency_recovery", "e_R", "fraction",
                                  "{with_recovery_s} / (exp({restart_s} / {mtbf_s}) x {mtbf_s} x "
                                  "(exp(({with_recovery_s} + {ckpt_s}) / {mtbf_s}) - 1))",
                                  "The rule with the recovery keeps {efficiency_recovery}."),
    [EFF_DALY] = SHEET_OUTPUT("efficiency_daly", "e_D", "fraction",
                              "{daly_s} / (exp({restart_s} / {mtbf_s}) x {mtbf_s} x (exp(({daly_s} "
                              "+ {ckpt_s}) / {mtbf_s}) - 1))",
                              "Daly keeps {efficiency_daly}."),
    [EFF_EXACT] =
        SHEET_OUTPUT("efficiency_exact", "e_0", "fraction",
                     "{exact_s} / (exp({restart_s} / {mtbf_s}) x {mtbf_s} x (exp(({exact_s} + "
                     "{ckpt_s}) / {mtbf_s}) - 1))",
                     "The optimum keeps {efficiency_exact}."),
    [LOSS] = SHEET_OUTPUT("young_loss_frac", "l", "fraction",
                          "1 - {efficiency_young} / {efficiency_exact}",
                          "Young's rule gives up {young_loss_frac} of the useful time: near the "
                          "optimum the interval hardly matters."),
};

static bool hopeless(const struct sheet_case *c)
{
    return c->out[LOSS].items[0].kind == VALUE_NONE;
}

static const struct sheet_remark remarks[] = {
    {LOSS, hopeless, "Nothing is kept, whatever the interval."},
};

static double without_two(const struct sheet_case *c)
{
    return sqrt(sheet_in(c, SAVE) * sheet_in(c, MTBF));
}

static double recovery_added(const struct sheet_case *c)
{
    return sheet_out(c, WITH_RECOVERY);
}

static const struct sheet_mistake mistakes[] = {
    {YOUNG, "forgets the 2 of Young's rule", without_two},
    {YOUNG, "adds the recovery to the time between failures", recovery_added},
    {EXACT, "adds the recovery to the time between failures", recovery_added},
};

static void solve(struct sheet_case *c)
{
    const struct renewal r = {sheet_in(c, MTBF), sheet_in(c, SAVE), sheet_in(c, RESTART), 0};
    const double young = checkpoint_young_s(r.save_s, r.mtbf_s);
    const double recovery = checkpoint_young_s(r.save_s, r.mtbf_s + r.restart_s);
    const double daly = checkpoint_daly_s(r.save_s, r.mtbf_s);
    const double exact = checkpoint_exact_s(r.save_s, r.mtbf_s);
    const double by_young = renewal_efficiency(&r, young), best = renewal_efficiency(&r, exact);
    sheet_set(c, YOUNG, young);
    sheet_set(c, WITH_RECOVERY, recovery);
    sheet_set(c, DALY, daly);
    sheet_set(c, EXACT, exact);
    sheet_set(c, EFF_YOUNG, by_young);
    sheet_set(c, EFF_RECOVERY, renewal_efficiency(&r, recovery));
    sheet_set(c, EFF_DALY, renewal_efficiency(&r, daly));
    sheet_set(c, EFF_EXACT, best);
    sheet_set_if(c, LOSS, best > 0, fmax(0, 1 - by_young / best));
}

static const char *const rules[] = {
    "From a save of twice M on, Daly's interval is M.",
    "The efficiencies count recovery, which can fail too, but no wait for replacement.",
    NULL,
};

extern const struct sheet sheet_checkpoint_interval;
const struct sheet sheet_checkpoint_interval = {
    .name = "checkpoint-interval",
    .group = "Checkpoints, spot capacity and failures",
    .question = "Which interval between saves is best, and how much do the simple rules lose?",
    .doc =
        "A run that fails at random loses what it did since its last save. Saving more often "
        "costs saves, less often costs work. Four rules for the interval, and the share of the "
        "time that each keeps.",
    .assumption = "Failures are memoryless and may strike during saves and recovery too.",
    .rules = rules,
    .sources =
        "J. W. Young, CACM 17 (1974); J. T. Daly, FGCS 22 (2006); M. Bougeret et al., SC (2011); "
        "the rule with the recovery: changlan.org/posts/optimal-checkpointing",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = EXACT,
    .solve = solve,
};
