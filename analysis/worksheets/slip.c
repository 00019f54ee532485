/* Which mistake gives a number: the sheet's own, then one that carries on from a wrong step, then
 * an operation taken for its opposite, then slips that people make everywhere.
 *
 * A number fits when it is the same to the digits that were written, and the same to 0.5 % besides:
 * a single digit fits too much. */
#include "analysis/worksheets/answer.h"
#include "analysis/worksheets/formula.h"
#include "analysis/worksheets/unit.h"
#include "analysis/worksheets/words.h"

#include <math.h>
#include <string.h>

static bool fits(const struct sheet_answer *a, double x)
{
    if (a->value.kind != VALUE_NUMBER || isnan(x))
        return false;
    if (isinf(x) || isinf(a->value.number))
        return x == a->value.number;
    const double off = fabs(x - a->value.number);
    return off <= a->half_digit * (1 + 1e-9) && off <= 0.005 * fabs(x);
}

static void say(struct sheet_answer *a, const char *text)
{
    snprintf(a->why, sizeof a->why, "%s", text);
}

static bool own_mistake(const struct sheet_case *c, struct sheet_answer *a)
{
    for (uint8_t i = 0; i < c->sheet->n_mistakes; i++) {
        const struct sheet_mistake *m = &c->sheet->mistakes[i];
        if (m->output != a->output || !fits(a, m->wrong(c)))
            continue;
        struct text t = {0};
        text_add(&t, "This number comes out of a wrong turn: ");
        words_add(&t, c, m->text, WORDS_QUANTITIES, (struct words_step){0});
        say(a, text_get(&t));
        text_free(&t);
        return true;
    }
    return false;
}

/* Whether a step's formula has another step's result in it. */
static bool builds_on(const struct sheet_case *c, uint8_t step, uint8_t on)
{
    char reference[96];
    snprintf(reference, sizeof reference, "{%s}", c->sheet->outputs[on].key);
    return strstr(c->sheet->outputs[step].formula, reference) != NULL;
}

static bool carried_on(const struct sheet_case *c, struct sheet_answer *a,
                       const struct sheet_answer *earlier, size_t n)
{
    struct formula_other others[ANSWERS_MAX];
    struct formula_use use = {.others = others};
    const struct sheet_answer *last = NULL;
    for (size_t i = 0; i < n; i++)
        if (!earlier[i].right && earlier[i].value.kind == VALUE_NUMBER &&
            builds_on(c, a->output, earlier[i].output)) {
            last = &earlier[i];
            others[use.n_others++] =
                (struct formula_other){last->output, last->element, last->value.number};
        }
    double x;
    if (!last || !formula_value(c, a->output, a->element, &use, &x) || !fits(a, x))
        return false;
    snprintf(a->why, sizeof a->why,
             "Rightly carried on from the wrong %s: this step has no mistake of its own.",
             last->key);
    return true;
}

static bool turned(const struct sheet_case *c, struct sheet_answer *a)
{
    const char *what;
    double x;
    for (uint32_t i = 1; (what = formula_turned(c, a->output, a->element, i, &x)) != NULL; i++)
        if (fits(a, x)) {
            snprintf(a->why, sizeof a->why, "This number comes out when one %s.", what);
            return true;
        }
    return false;
}

/* ---- the general table ---- */

enum slip_for { ANY, TIME, DATA, FRACTION, COUNTED };

static const struct slip {
    enum slip_for of;
    double factor; /* the number is the right one times this */
    const char *text;
} slips[] = {
    {TIME, 60, "60 times the right one: minutes and hours, or seconds and minutes, are mixed."},
    {TIME, 1 / 60.0, "A 60th of the right one: minutes and hours, or seconds and minutes, mixed."},
    {TIME, 3600, "3,600 times the right one: seconds and hours are mixed."},
    {TIME, 1 / 3600.0, "A 3,600th of the right one: seconds and hours are mixed."},
    {TIME, 24, "24 times the right one: hours and days are mixed."},
    {TIME, 1 / 24.0, "A 24th of the right one: hours and days are mixed."},
    {TIME, 86400, "86,400 times the right one: seconds and days are mixed."},
    {TIME, 1 / 86400.0, "An 86,400th of the right one: seconds and days are mixed."},
    {TIME, 1440, "1,440 times the right one: minutes and days are mixed."},
    {TIME, 1 / 1440.0, "A 1,440th of the right one: minutes and days are mixed."},
    {FRACTION, 100, "100 times the right one: a percentage where a fraction is asked for."},
    {FRACTION, 0.01, "A 100th of the right one: a fraction divided by 100 once more."},
    {DATA, 8, "8 times the right one: bits are taken for bytes."},
    {DATA, 0.125, "An 8th of the right one: bytes are taken for bits."},
    {DATA, 1.073741824, "1.0737 times the right one: GB (10^9) and GiB (2^30) are mixed."},
    {DATA, 1 / 1.073741824, "1 / 1.0737 of the right one: GB (10^9) and GiB (2^30) are mixed."},
    {DATA, 1.048576, "1.0486 times the right one: MB (10^6) and MiB (2^20) are mixed."},
    {DATA, 1 / 1.048576, "1 / 1.0486 of the right one: MB (10^6) and MiB (2^20) are mixed."},
    {DATA, 1000, "1,000 times the right one: a step of kB, MB, GB, TB is missed."},
    {DATA, 0.001, "A 1,000th of the right one: a step of kB, MB, GB, TB is missed."},
    {ANY, 2, "Twice the right one."},
    {ANY, 0.5, "Half of the right one."},
    {ANY, -1, "The right one with the sign turned."},
};

static bool sheet_involves(const struct sheet_case *c, uint8_t output, const char *base)
{
    bool found = sheet_unit_involves(c->sheet->outputs[output].unit, base);
    for (uint8_t i = 0; i < c->sheet->n_inputs && !found; i++)
        found = sheet_unit_involves(c->sheet->inputs[i].unit, base);
    return found;
}

static bool concerns(const struct sheet_case *c, const struct sheet_answer *a, enum slip_for of)
{
    const struct sheet_output *out = &c->sheet->outputs[a->output];
    switch (of) {
    case TIME:
        return sheet_involves(c, a->output, "s");
    case DATA:
        return sheet_involves(c, a->output, "B");
    case FRACTION:
        return strcmp(out->unit, "fraction") == 0;
    case COUNTED:
        return out->type == SHEET_COUNT;
    default:
        return out->type != SHEET_FLAG;
    }
}

/* Those that no factor says. */
static const char *other_slip(const struct sheet_case *c, const struct sheet_answer *a,
                              double right)
{
    const char *formula = c->sheet->outputs[a->output].formula;
    const double x = a->value.number;
    if (concerns(c, a, COUNTED)) {
        if (strstr(formula, "ceil") && x == right - 1)
            return "One too few: rounded down where the rule rounds up.";
        if (strstr(formula, "floor") && x == right + 1)
            return "One too many: rounded up where the rule rounds down.";
        if (x != floor(x) && x > right - 1 && x < right + 1)
            return "Not rounded: it is a whole number.";
        if (fabs(x - right) == 1)
            return x < right ? "One too few." : "One too many.";
    }
    if (concerns(c, a, FRACTION) && fits(a, 1 - right))
        return "1 minus the right one: the other share.";
    if (right != 0 && right != 1 && concerns(c, a, ANY) && fits(a, 1 / right))
        return "The reciprocal of the right one: divided the other way round.";
    return NULL;
}

void sheet_answer_explain(const struct sheet_case *c, struct sheet_answer *a,
                          const struct sheet_answer *earlier, size_t n)
{
    const struct sheet_value *right = &c->out[a->output].items[a->element];
    if (own_mistake(c, a) || carried_on(c, a, earlier, n) || turned(c, a))
        return;
    if (right->kind != VALUE_NUMBER || a->value.kind != VALUE_NUMBER || !isfinite(right->number) ||
        !isfinite(a->value.number))
        return;
    const char *text = other_slip(c, a, right->number);
    for (size_t i = 0; i < sizeof slips / sizeof *slips && !text; i++)
        if (right->number != 0 && concerns(c, a, slips[i].of) &&
            fits(a, right->number * slips[i].factor))
            text = slips[i].text;
    if (text)
        say(a, text);
}
