/* A worksheet's inputs and outputs: read, checked against the table, computed. */
#include "analysis/worksheets/sheet.h"
#include "analysis/worksheets/unit.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct diag_place place = {.file = "--set"};

static bool named(const char *key, const char *text, size_t n)
{
    return strlen(key) == n && strncmp(key, text, n) == 0;
}

static enum hr_err unknown_key(struct sheet_case *c, const char *text, size_t n)
{
    const char *names[SHEET_INPUTS_MAX];
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    for (uint8_t i = 0; i < c->sheet->n_inputs; i++)
        names[i] = c->sheet->inputs[i].key;
    for (uint8_t k = 0; k < c->sheet->n_outputs; k++)
        if (named(c->sheet->outputs[k].key, text, n)) {
            diags_add(c->diags, DIAG_ERROR, place, NULL, NULL,
                      "'%s' is a result of worksheet %s, not an input", word, c->sheet->name);
            return HR_INPUT;
        }
    diags_add(c->diags, DIAG_ERROR, place, NULL, diag_nearest(word, names, c->sheet->n_inputs),
              "worksheet %s has no input '%s'", c->sheet->name, word);
    return HR_INPUT;
}

/* What the table says of one number; NULL when it is inside the domain. */
static const char *outside(const struct sheet_input *in, double x, char out[96])
{
    const char *shape = in->type == SHEET_FLAG                ? "0 or 1"
                        : in->type == SHEET_COUNT             ? "a whole number"
                        : isinf(x) && !(in->endless && x > 0) ? "a finite number"
                                                              : NULL;
    bool whole = isfinite(x) && x == floor(x) && fabs(x) <= 9007199254740992.0;
    if (isnan(x))
        return "must be a number";
    if (shape &&
        (in->type == SHEET_REAL || !whole || (in->type == SHEET_FLAG && x != 0 && x != 1))) {
        snprintf(out, 96, "must be %s", shape);
        return out;
    }
    const char *above = in->above ? "above" : "at least", *below = in->below ? "below" : "at most";
    if (x < in->min || (in->above && x <= in->min)) {
        snprintf(out, 96, "must be %s %.12g", above, in->min);
        return out;
    }
    if (in->max != 0 && (x > in->max || (in->below && x >= in->max))) {
        snprintf(out, 96, "must be %s %.12g", below, in->max);
        return out;
    }
    return NULL;
}

static enum hr_err bad_value(struct sheet_case *c, const struct sheet_input *in, const char *text,
                             size_t n, const char *why)
{
    diags_add(c->diags, DIAG_ERROR, place, NULL, NULL, "%s (%s, in %s): '%.*s' %s", in->key,
              in->doc, in->unit, (int)n, text, why);
    return HR_INPUT;
}

static enum hr_err read_number(struct sheet_case *c, const struct sheet_input *in, const char *text,
                               size_t n, double *out)
{
    const char *why;
    char buffer[96];
    while (n && *text == ' ')
        text++, n--;
    while (n && text[n - 1] == ' ')
        n--;
    if (sheet_unit_read(text, n, in->unit, out, &why) != HR_OK)
        return bad_value(c, in, text, n, why);
    why = outside(in, *out, buffer);
    return why ? bad_value(c, in, text, n, why) : HR_OK;
}

static enum hr_err read_word(struct sheet_case *c, const struct sheet_input *in, const char *text,
                             const char **out)
{
    size_t n = 0;
    for (; in->words[n]; n++)
        if (strcmp(in->words[n], text) == 0) {
            *out = in->words[n];
            return HR_OK;
        }
    struct text all = {0};
    for (size_t i = 0; i < n; i++)
        text_add(&all, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", in->words[i]);
    diags_add(c->diags, DIAG_ERROR, place, NULL, diag_nearest(text, in->words, n),
              "%s (%s) is %s, not '%s'", in->key, in->doc, text_get(&all), text);
    text_free(&all);
    return HR_INPUT;
}

static enum hr_err read_numbers(struct sheet_case *c, const struct sheet_input *in,
                                const char *text, struct sheet_given *out)
{
    size_t n = 1;
    for (const char *t = text; in->list && *t; t++)
        n += *t == ',';
    if (n > SHEET_LIST_MAX)
        return bad_value(c, in, "", 0, "has too many values");
    out->items = arena_array(&c->arena, n, sizeof *out->items);
    if (!out->items)
        return HR_NOMEM;
    for (out->n = 0; out->n < n; out->n++) {
        size_t bytes = in->list ? strcspn(text, ",") : strlen(text);
        TRY(read_number(c, in, text, bytes, &out->items[out->n]));
        text += bytes + (text[bytes] == ',');
    }
    return HR_OK;
}

static enum hr_err assign(struct sheet_case *c, uint8_t i, const char *text, bool given)
{
    const struct sheet_input *in = &c->sheet->inputs[i];
    struct sheet_given value = {.given = given};
    TRY(in->type == SHEET_WORD ? read_word(c, in, text, &value.word)
                               : read_numbers(c, in, text, &value));
    c->in[i] = value;
    return HR_OK;
}

enum hr_err sheet_case_init(struct sheet_case *c, const struct sheet *sheet, struct diags *diags)
{
    assert(sheet->n_inputs <= SHEET_INPUTS_MAX && sheet->n_outputs <= SHEET_OUTPUTS_MAX);
    *c = (struct sheet_case){.sheet = sheet, .diags = diags};
    arena_init(&c->arena);
    for (uint8_t i = 0; i < sheet->n_inputs; i++)
        TRY(assign(c, i, sheet->inputs[i].fallback, false));
    return HR_OK;
}

void sheet_case_fini(struct sheet_case *c)
{
    arena_fini(&c->arena);
    *c = (struct sheet_case){0};
}

static uint8_t find_input(const struct sheet *s, const char *key, size_t n)
{
    uint8_t i = 0;
    while (i < s->n_inputs && !named(s->inputs[i].key, key, n))
        i++;
    return i;
}

enum hr_err sheet_case_set(struct sheet_case *c, const char *setting)
{
    const size_t n = strcspn(setting, "=");
    if (!setting[n]) {
        diags_add(c->diags, DIAG_ERROR, place, NULL, NULL, "'%s' is not of the form key=value",
                  setting);
        return HR_INPUT;
    }
    const uint8_t i = find_input(c->sheet, setting, n);
    if (i == c->sheet->n_inputs)
        return unknown_key(c, setting, n);
    return assign(c, i, setting + n + 1, true);
}

enum hr_err sheet_case_put(struct sheet_case *c, const char *key, const double *values, size_t n)
{
    const uint8_t i = find_input(c->sheet, key, strlen(key));
    char buffer[96];
    if (i == c->sheet->n_inputs)
        return unknown_key(c, key, strlen(key));
    const struct sheet_input *in = &c->sheet->inputs[i];
    if (in->type == SHEET_WORD || n == 0 || n > SHEET_LIST_MAX || (n > 1 && !in->list))
        return bad_value(c, in, "", 0, "does not take so many numbers");
    for (size_t k = 0; k < n; k++) {
        const char *why = outside(in, values[k], buffer);
        char number[NUMBER_SIZE];
        number_print(number, values[k]);
        if (why)
            return bad_value(c, in, number, strlen(number), why);
    }
    struct sheet_given value = {arena_array(&c->arena, n, sizeof *values), n, NULL, true};
    if (!value.items)
        return HR_NOMEM;
    memcpy(value.items, values, n * sizeof *values);
    c->in[i] = value;
    return HR_OK;
}

/* Elements of an output: as many as of the list it follows. */
static size_t elements(const struct sheet_case *c, const struct sheet_output *out)
{
    if (!out->each)
        return 1;
    const uint8_t i = find_input(c->sheet, out->each, strlen(out->each));
    assert(i < c->sheet->n_inputs);
    return c->in[i].n;
}

static void check_numbers(struct sheet_case *c)
{
    for (uint8_t k = 0; k < c->sheet->n_outputs && c->err == HR_OK; k++)
        for (size_t i = 0; i < c->out[k].n; i++) {
            const struct sheet_value *v = &c->out[k].items[i];
            if (v->kind != VALUE_NUMBER || !isnan(v->number))
                continue;
            diags_add(c->diags, DIAG_ERROR, place, NULL, NULL,
                      "worksheet %s cannot compute %s for these inputs", c->sheet->name,
                      c->sheet->outputs[k].key);
            c->err = HR_LIMIT;
            break;
        }
}

enum hr_err sheet_case_solve(struct sheet_case *c)
{
    const struct sheet *s = c->sheet;
    c->err = HR_OK;
    memset(c->out, 0, sizeof c->out);
    if (s->check)
        s->check(c);
    if (c->err != HR_OK)
        return c->err;
    for (uint8_t k = 0; k < s->n_outputs; k++) {
        c->out[k].n = elements(c, &s->outputs[k]);
        c->out[k].items = arena_array(&c->arena, c->out[k].n, sizeof *c->out[k].items);
        if (!c->out[k].items)
            return c->err = HR_NOMEM;
        for (size_t i = 0; i < c->out[k].n; i++)
            c->out[k].items[i].number = NAN; /* until it is set */
    }
    s->solve(c);
    check_numbers(c);
    if (c->err != HR_OK)
        memset(c->out, 0, sizeof c->out);
    return c->err;
}

bool sheet_case_find(const struct sheet_case *c, const char *key, uint8_t *output, size_t *element)
{
    for (uint8_t k = 0; k < c->sheet->n_outputs; k++) {
        const struct sheet_output *out = &c->sheet->outputs[k];
        const size_t n = strlen(out->key);
        if (!c->out[k].items || strncmp(key, out->key, n) != 0)
            continue;
        char *end = NULL;
        const unsigned long i = key[n] == '_' ? strtoul(key + n + 1, &end, 10) : 0;
        if (out->each ? i < 1 || i > c->out[k].n || *end : key[n] != 0)
            continue;
        *output = k;
        *element = out->each ? i - 1 : 0;
        return true;
    }
    return false;
}

const struct sheet_value *sheet_case_get(const struct sheet_case *c, const char *key)
{
    uint8_t output;
    size_t element;
    return sheet_case_find(c, key, &output, &element) ? &c->out[output].items[element] : NULL;
}

double sheet_out_at(const struct sheet_case *c, uint8_t output, size_t i)
{
    const struct sheet_value *v = &c->out[output].items[i];
    return v->kind == VALUE_NUMBER ? v->number : NAN;
}

double sheet_out(const struct sheet_case *c, uint8_t output)
{
    return sheet_out_at(c, output, 0);
}

void sheet_set_at(struct sheet_case *c, uint8_t output, size_t i, double value)
{
    assert(i < c->out[output].n);
    c->out[output].items[i] = (struct sheet_value){VALUE_NUMBER, value + 0.0, NULL};
}

void sheet_set(struct sheet_case *c, uint8_t output, double value)
{
    sheet_set_at(c, output, 0, value);
}

void sheet_set_none(struct sheet_case *c, uint8_t output)
{
    c->out[output].items[0] = (struct sheet_value){VALUE_NONE, 0, NULL};
}

void sheet_set_word(struct sheet_case *c, uint8_t output, const char *word)
{
    c->out[output].items[0] = (struct sheet_value){VALUE_WORD, 0, word};
}

void sheet_set_if(struct sheet_case *c, uint8_t output, bool exists, double value)
{
    if (exists)
        sheet_set(c, output, value);
    else
        sheet_set_none(c, output);
}

void sheet_refuse(struct sheet_case *c, uint8_t input, const char *format, ...)
{
    char words[256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    diags_add(c->diags, DIAG_ERROR, place, NULL, NULL, "%s: %s", c->sheet->inputs[input].key,
              words);
    c->err = HR_INPUT;
}

/* The whole number that x is but for rounding errors, or x. */
static double settle(double x)
{
    const double near = floor(x + 0.5);
    return fabs(x - near) <= 1e-9 * fmax(1, fabs(near)) ? near : x;
}

double sheet_ceil(double x)
{
    return isfinite(x) ? ceil(settle(x)) : x;
}

double sheet_floor(double x)
{
    return isfinite(x) ? floor(settle(x)) : x;
}

double sheet_round(double x)
{
    return floor(x + 0.5);
}
