/* Worksheet: what a bill for interruptible hours comes to, with checkpoints and without. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/checkpoint.h"

#include <math.h>

enum { WORK, PRICE, RATE, INTERVAL, SAVE, RESTART };
enum { GAP, PLAIN, PLAIN_BILL, SAVED, SAVED_BILL, PLAIN_SAVING, SAVED_SAVING };

static const struct sheet_input inputs[] = {
    [WORK] = SHEET_INPUT("work_h", "W", "h", "hours of work, one job each", "3.3, 10.5, 48.5",
                         .list = true, .above = true),
    [PRICE] = SHEET_INPUT("spot_price_frac", "r", "fraction", "spot price over on-demand price",
                          "0.35", .above = true, .max = 10),
    [RATE] = SHEET_INPUT("interruptions_per_h", "lambda", "1/h", "interruptions of a running job",
                         "0.15"),
    [INTERVAL] =
        SHEET_INPUT("interval_min", "t", "min", "work between checkpoints", "30", .above = true),
    [SAVE] = SHEET_INPUT("ckpt_min", "C", "min", "time of a checkpoint", "0"),
    [RESTART] = SHEET_INPUT("restart_min", "R", "min", "restart from a checkpoint", "9"),
};

static const struct sheet_output outputs[] = {
    [GAP] = SHEET_OUTPUT("mean_gap_h", "M", "h", "1 / {interruptions_per_h}",
                         "An interruption comes every {mean_gap_h}."),
    [PLAIN] = SHEET_OUTPUT(
        "plain_h", "T", "h", "(exp({interruptions_per_h} x {work_h}) - 1) / {interruptions_per_h}",
        "{work_h} that start again from nothing take {plain_h}.", .each = "work_h"),
    [PLAIN_BILL] = SHEET_OUTPUT("plain_bill_h", "B", "h", "{spot_price_frac} x {plain_h}",
                                "Billed like {plain_bill_h} on demand.", .each = "work_h"),
    [SAVED] =
        SHEET_OUTPUT("saved_h", "T_c", "h",
                     "M exp(R/M) (exp((w + C)/M) - 1) summed over pieces w of {interval_min}, "
                     "no save after the last",
                     "With checkpoints {work_h} take {saved_h}.", .each = "work_h"),
    [SAVED_BILL] = SHEET_OUTPUT("saved_bill_h", "B_c", "h", "{spot_price_frac} x {saved_h}",
                                "Billed like {saved_bill_h} on demand.", .each = "work_h"),
    [PLAIN_SAVING] =
        SHEET_OUTPUT("plain_saving_frac", "s", "fraction", "1 - {plain_bill_h} / {work_h}",
                     "Without checkpoints spot saves {plain_saving_frac}.", .each = "work_h"),
    [SAVED_SAVING] =
        SHEET_OUTPUT("saved_saving_frac", "s_c", "fraction", "1 - {saved_bill_h} / {work_h}",
                     "With them it saves {saved_saving_frac}.", .each = "work_h"),
};

static bool quiet(const struct sheet_case *c)
{
    return sheet_in(c, RATE) == 0;
}

static const struct sheet_remark remarks[] = {
    {GAP, quiet, "Nothing is ever interrupted."},
};

static double discount(const struct sheet_case *c)
{
    return sheet_in(c, PRICE) * sheet_in(c, WORK);
}

/* Each interruption costs half the job and no interruption hits what is done again. */
static double half_lost(const struct sheet_case *c)
{
    const double work = sheet_in(c, WORK);
    return work + sheet_in(c, RATE) * work * work / 2;
}

static double no_work_lost(const struct sheet_case *c)
{
    const double work = sheet_in(c, WORK);
    return work + sheet_in(c, RATE) * work * sheet_in(c, RESTART) / 60;
}

static const struct sheet_mistake mistakes[] = {
    {PLAIN, "charges half the job for each interruption, and none during what is done again",
     half_lost},
    {PLAIN_BILL, "bills the work as if nothing were done twice", discount},
    {SAVED, "counts the restarts, and no work since the last checkpoint", no_work_lost},
    {SAVED_BILL, "bills the work as if nothing were done twice", discount},
};

static void solve(struct sheet_case *c)
{
    size_t n;
    const double *work = sheet_list(c, WORK, &n);
    const double rate = sheet_in(c, RATE), r = sheet_in(c, PRICE), gap = 1 / rate;
    sheet_set(c, GAP, gap);
    for (size_t i = 0; i < n; i++) {
        const double plain = rate > 0 ? expm1(rate * work[i]) / rate : work[i];
        const double saved =
            checkpoint_expected_s(work[i], sheet_in(c, INTERVAL) / 60, sheet_in(c, SAVE) / 60,
                                  sheet_in(c, RESTART) / 60, gap);
        sheet_set_at(c, PLAIN, i, plain);
        sheet_set_at(c, PLAIN_BILL, i, r * plain);
        sheet_set_at(c, SAVED, i, saved);
        sheet_set_at(c, SAVED_BILL, i, r * saved);
        sheet_set_at(c, PLAIN_SAVING, i, 1 - r * plain / work[i]);
        sheet_set_at(c, SAVED_SAVING, i, 1 - r * saved / work[i]);
    }
}

static const char *const rules[] = {
    "Never interrupted: the bill is the work (and its saves) at the spot price.",
    "A negative saving: on demand is cheaper, although its price is higher.",
    "Without checkpoints a job starts again at once; the restart belongs to a checkpoint.",
    NULL,
};

extern const struct sheet sheet_spot_billing;
const struct sheet sheet_spot_billing = {
    .name = "spot-billing",
    .group = "Checkpoints, spot capacity and failures",
    .question = "What do interruptible hours cost in the end, with checkpoints and without?",
    .doc =
        "A spot job pays a fraction of the price for every hour it is there, useful or not. "
        "Without checkpoints an interruption sends it back to the start; with them to the last "
        "checkpoint, after a restart that can be interrupted too.",
    .assumption =
        "Interruptions are memoryless: the chance to get through falls exponentially with the "
        "length of what must be done in one go.",
    .rules = rules,
    .sources =
        "A. Duda, IPL 16 (1983); M. Bougeret et al., SC (2011). The default case: "
        "Boise-State-Development/agentcore-public-stack, issue 1025",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = SAVED_BILL,
    .solve = solve,
};
