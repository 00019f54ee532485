/* Symbols, numbers and quantities in the place of {key}. */
#include "analysis/worksheets/words.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { SHOWN_MAX = 8 }; /* values of a list in a sentence */

struct reference {
    bool found, input, bare;
    uint8_t index;
    size_t bytes; /* of the whole "{key#}" */
    const char *key;
    size_t n_key;
};

static bool named(const char *key, const struct reference *r)
{
    return strlen(key) == r->n_key && strncmp(key, r->key, r->n_key) == 0;
}

/* What stands at a '{'. */
static struct reference read_reference(const struct sheet *s, const char *at)
{
    const size_t inside = strcspn(at + 1, "}");
    struct reference r = {.bytes = inside + 1 + (at[1 + inside] == '}'), .key = at + 1};
    r.bare = inside > 0 && at[inside] == '#';
    r.n_key = inside - r.bare;
    for (uint8_t i = 0; i < s->n_inputs && !r.found; i++)
        if (named(s->inputs[i].key, &r))
            r.found = r.input = true, r.index = i;
    for (uint8_t k = 0; k < s->n_outputs && !r.found; k++)
        if (named(s->outputs[k].key, &r))
            r.found = true, r.index = k;
    return r;
}

bool words_resolve(const struct sheet *s, const char *text, char bad[64])
{
    for (; text && *text; text++) {
        if (*text != '{')
            continue;
        const struct reference r = read_reference(s, text);
        if (!r.found) {
            snprintf(bad, 64, "%.*s", (int)r.n_key, r.key);
            return false;
        }
    }
    return true;
}

void words_number(struct text *t, double x)
{
    char out[NUMBER_SIZE];
    if (isinf(x)) {
        text_add(t, "%s", x > 0 ? "infinite" : "-infinite");
        return;
    }
    const double size = fabs(x);
    int decimals = 0;
    if (x != floor(x) && size < 1e6 && size >= 1e-4) {
        decimals = 5 - (int)floor(log10(size));
        snprintf(out, sizeof out, "%.*f", decimals, x);
        while (decimals > 0 && out[strlen(out) - 1] == '0')
            out[strlen(out) - 1] = 0, decimals--;
    } else if (size >= 1e15 || (size > 0 && size < 1e-4)) {
        text_add(t, "%.6g", x);
        return;
    }
    number_show(out, x, decimals);
    text_add(t, "%s", out);
}

/* One is "1 GPU": the first word of the unit without its s. */
static void add_unit(struct text *t, const char *unit, bool one)
{
    const size_t n = strcspn(unit, "/ -");
    size_t keep = n;
    if (one && n > 2 && unit[n - 1] == 's' && strncmp(unit + n - 3, "bps", 3) != 0)
        keep -= n > 4 && strncmp(unit + n - 4, "ches", 4) == 0 ? 2 : 1;
    const char *times = unit[0] == '1' ? "x " : ""; /* 70 x 10^9 */
    text_add(t, " %s%.*s%s", times, (int)keep, unit, unit + n);
}

static bool no_unit(const char *unit)
{
    static const char *const names[] = {"", "1", "-", "0/1", "fraction", "count"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(unit, names[i]) == 0)
            return true;
    return false;
}

static void add_quantity(struct text *t, double x, const char *unit)
{
    const bool dollars = *unit == '$' && isfinite(x);
    if (dollars)
        text_add(t, "%s$", x < 0 ? "-" : "");
    words_number(t, dollars ? fabs(x) : x);
    if (no_unit(unit) || isinf(x))
        return;
    if (dollars)
        text_add(t, "%s", unit + 1);
    else if (strncmp(unit, "1/", 2) == 0)
        text_add(t, "%s", unit + 1);
    else
        add_unit(t, unit, x == 1);
}

void words_quantity(struct text *t, const struct sheet_value *v, const char *unit)
{
    if (v->kind != VALUE_NUMBER)
        text_add(t, "%s", v->kind == VALUE_WORD ? v->word : "none");
    else if (strcmp(unit, "0/1") == 0 && (v->number == 0 || v->number == 1))
        text_add(t, "%s", v->number == 1 ? "1 (yes)" : "0 (no)");
    else
        add_quantity(t, v->number, unit);
}

static void add_value(struct text *t, const struct sheet_value *v, const char *unit,
                      enum words_mode mode, bool first)
{
    const bool negative = v->kind == VALUE_NUMBER && v->number < 0;
    if (unit)
        words_quantity(t, v, unit);
    else if (v->kind != VALUE_NUMBER)
        words_quantity(t, v, "");
    else if (mode == WORDS_NUMBERS && negative && !first) {
        text_add(t, "(");
        words_number(t, v->number);
        text_add(t, ")");
    } else
        words_number(t, v->number);
}

/* Values of one input or output: one, or the list. */
struct values {
    const double *numbers;            /* of an input */
    const struct sheet_value *values; /* of an output */
    const char *word, *unit, *symbol;
    size_t n;
    bool list;
};

static struct values referred(const struct sheet_case *c, const struct reference *r)
{
    if (r->input) {
        const struct sheet_input *in = &c->sheet->inputs[r->index];
        const struct sheet_given *g = &c->in[r->index];
        return (struct values){g->items, NULL, g->word, in->unit, in->symbol, g->n, in->list};
    }
    const struct sheet_output *out = &c->sheet->outputs[r->index];
    return (struct values){NULL,
                           c->out[r->index].items,
                           NULL,
                           out->unit,
                           out->symbol,
                           c->out[r->index].n,
                           out->each != NULL};
}

static struct sheet_value pick(const struct values *v, size_t i)
{
    if (v->word)
        return (struct sheet_value){VALUE_WORD, 0, v->word};
    return v->values ? v->values[i] : (struct sheet_value){VALUE_NUMBER, v->numbers[i], NULL};
}

static void add_all(struct text *t, const struct values *v, const char *unit, enum words_mode mode)
{
    const size_t shown = v->n > SHOWN_MAX ? SHOWN_MAX : v->n;
    for (size_t i = 0; i < shown; i++) {
        const struct sheet_value x = pick(v, i);
        add_value(t, &x, i + 1 == v->n ? unit : NULL, mode, true);
        text_add(t, "%s", i + 1 < v->n ? ", " : "");
    }
    if (shown < v->n)
        text_add(t, "... (%zu values)", v->n);
}

static void add_symbol(struct text *t, const char *symbol, bool element, struct words_step at)
{
    text_add(t, "%s", symbol);
    if (element && at.element == WORDS_ANY)
        text_add(t, "_i");
    else if (element)
        text_add(t, "_%zu", at.element + 1);
}

static void add_reference(struct text *t, const struct sheet_case *c, const struct reference *r,
                          enum words_mode mode, struct words_step at)
{
    const struct values v = referred(c, r);
    const bool element = at.n > 0 && v.list && v.n == at.n;
    const char *unit = mode == WORDS_QUANTITIES && !r->bare ? v.unit : NULL;
    if (mode == WORDS_SYMBOLS || (element && at.element == WORDS_ANY)) {
        add_symbol(t, v.symbol, element, at);
    } else if (!v.word && !v.numbers && !v.values) {
        text_add(t, "%s", v.symbol); /* not solved yet */
    } else if (element || !v.list) {
        const struct sheet_value x = pick(&v, element ? at.element : 0);
        add_value(t, &x, unit, mode, t->n == 0);
    } else {
        add_all(t, &v, unit, mode);
    }
}

void words_add(struct text *t, const struct sheet_case *c, const char *text, enum words_mode mode,
               struct words_step at)
{
    while (*text) {
        const size_t plain = strcspn(text, "{");
        text_add(t, "%.*s", (int)plain, text);
        text += plain;
        if (!*text)
            return;
        const struct reference r = read_reference(c->sheet, text);
        if (r.found)
            add_reference(t, c, &r, mode, at);
        else
            text_add(t, "%.*s", (int)r.bytes, text);
        text += r.bytes;
    }
}

void words_input(struct text *t, const struct sheet_case *c, uint8_t input)
{
    const struct reference r = {.found = true, .input = true, .index = input};
    const struct values v = referred(c, &r);
    add_all(t, &v, v.unit, WORDS_QUANTITIES);
    if (v.word)
        text_add(t, "%s", v.word);
}

void words_symbol(struct text *t, const struct sheet_output *out, struct words_step at)
{
    add_symbol(t, out->symbol, at.n > 0, at);
}

const char *words_sense(const struct sheet_case *c, uint8_t output)
{
    for (uint8_t i = 0; i < c->sheet->n_remarks; i++) {
        const struct sheet_remark *r = &c->sheet->remarks[i];
        if (r->output == output && r->when(c))
            return r->text;
    }
    return c->sheet->outputs[output].sense;
}
