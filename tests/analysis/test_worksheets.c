/* Every worksheet against its worked examples, and every table against what reads it: keys in
 * texts, units, symbols, groups, metrics, the arithmetic of its formulas, the width of its page. */
#include "analysis/metrics.h"
#include "analysis/worksheets/formula.h"
#include "analysis/worksheets/list.h"
#include "analysis/worksheets/print.h"
#include "analysis/worksheets/sheet_json.h"
#include "analysis/worksheets/unit.h"
#include "analysis/worksheets/words.h"
#include "tests/analysis/worked_json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(worksheets, .timeout = 60);

static struct diags diags;

static void start(struct sheet_case *c, const struct sheet *s)
{
    diags_init(&diags);
    const enum hr_err err = sheet_case_init(c, s, &diags);
    if (err != HR_OK)
        diags_print(&diags, stderr, false);
    cr_assert_eq(err, HR_OK, "%s: a default is outside its own domain", s->name);
}

static void end(struct sheet_case *c)
{
    sheet_case_fini(c);
    diags_fini(&diags);
}

static void solve(struct sheet_case *c)
{
    const enum hr_err err = sheet_case_solve(c);
    if (err != HR_OK)
        diags_print(&diags, stderr, false);
    cr_assert_eq(err, HR_OK, "%s is not solved", c->sheet->name);
}

/* ---- worked examples ---- */

static void set(struct sheet_case *c, const struct worked_value *v)
{
    char setting[4096];
    size_t n = (size_t)snprintf(setting, sizeof setting, "%s=", v->name);
    for (size_t i = 0; i < v->n; i++)
        n += (size_t)snprintf(setting + n, sizeof setting - n, "%s%s", i ? "," : "", v->texts[i]);
    const enum hr_err err = sheet_case_set(c, setting);
    if (err != HR_OK)
        diags_print(&diags, stderr, false);
    cr_assert_eq(err, HR_OK, "%s case %d: %s is refused", v->sheet, v->number, setting);
}

static void agrees(const struct worked_file *f, const struct sheet_case *c,
                   const struct worked_value *v)
{
    const struct sheet_value *got = sheet_case_get(c, v->name);
    const char *text = v->texts[0];
    char *rest;
    cr_assert_not_null(got, "%s has no result %s", v->sheet, v->name);
    const double want = strtod(text, &rest);
    if (strcmp(text, "none") == 0)
        cr_expect_eq(got->kind, VALUE_NONE, "%s case %d: %s is %.12g, not none", v->sheet,
                     v->number, v->name, got->number);
    else if (*rest)
        cr_expect(got->kind == VALUE_WORD && strcmp(got->word, text) == 0, "%s case %d: %s: %s",
                  v->sheet, v->number, v->name, text);
    else {
        const bool whole = strpbrk(text, ".en") == NULL; /* 1680, not 1680.0, inf */
        const double room = whole ? 0 : fmax(f->absolute, f->relative * fabs(want));
        cr_expect(
            got->kind == VALUE_NUMBER && (got->number == want || fabs(got->number - want) <= room),
            "%s case %d: %s is %.12g, not %s", v->sheet, v->number, v->name, got->number, text);
    }
}

static size_t n_results(const struct sheet_case *c)
{
    size_t n = 0;
    for (uint8_t k = 0; k < c->sheet->n_outputs; k++)
        n += c->out[k].n;
    return n;
}

static void check_case(const struct worked_file *f, const struct sheet *s, int number)
{
    struct sheet_case c;
    size_t inputs = 0, results = 0;
    start(&c, s);
    for (size_t i = 0; i < f->n; i++) {
        const struct worked_value *v = &f->items[i];
        if (v->number != number || v->expected || strcmp(v->sheet, s->name) != 0)
            continue;
        struct text was = {0}, is = {0};
        char key[96];
        snprintf(key, sizeof key, "{%s}", v->name);
        words_add(&was, &c, key, WORDS_NUMBERS, (struct words_step){0});
        set(&c, v);
        words_add(&is, &c, key, WORDS_NUMBERS, (struct words_step){0});
        if (number == 0)
            cr_expect_str_eq(text_get(&was), text_get(&is), "%s: default of %s", s->name, v->name);
        text_free(&was);
        text_free(&is);
        inputs++;
    }
    solve(&c);
    for (size_t i = 0; i < f->n; i++) {
        const struct worked_value *v = &f->items[i];
        if (v->number != number || !v->expected || strcmp(v->sheet, s->name) != 0)
            continue;
        agrees(f, &c, v);
        results++;
    }
    cr_expect_eq(inputs, s->n_inputs, "%s has %u inputs, the examples %zu", s->name, s->n_inputs,
                 inputs);
    cr_expect_eq(results, n_results(&c), "%s has %zu results, the examples %zu", s->name,
                 n_results(&c), results);
    end(&c);
}

Test(worksheets, give_the_worked_values)
{
    const struct worked_file *f = worked_file_read();
    cr_assert_eq(f->n_sheets, 47u);
    size_t missing = 0;
    for (size_t i = 0; i < f->n_sheets; i++) {
        const struct sheet *s = sheet_find(f->sheets[i]);
        if (!s) {
            fprintf(stderr, "no worksheet %s\n", f->sheets[i]);
            missing++;
        }
        for (int number = 0; s && number < 3; number++)
            check_case(f, s, number);
    }
    cr_assert_eq(missing, 0, "%zu worksheets are missing", missing);
}

/* "key": value of an object printed one entry a line; what follows the colon. */
static const char *entry(const char *json, const char *key)
{
    char start[128];
    snprintf(start, sizeof start, "\n    \"%s\": ", key);
    const char *at = strstr(json, start);
    cr_assert_not_null(at, "no %s in:\n%s", key, json);
    return at + strlen(start);
}

static const char *json_of(const struct sheet_case *c)
{
    static char out[1 << 17];
    struct json j;
    memset(out, 0, sizeof out);
    FILE *f = fmemopen(out, sizeof out - 1, "w");
    json_init(&j, f);
    json_object(&j, NULL);
    sheet_json(&j, c);
    json_close(&j);
    fclose(f);
    return out;
}

/* The default cases as JSON have the names and the values of the file. */
Test(worksheets, print_the_worked_values_as_json)
{
    const struct worked_file *f = worked_file_read();
    for (size_t i = 0; i < sheets_n; i++) {
        struct sheet_case c;
        start(&c, sheets[i]);
        solve(&c);
        const char *json = json_of(&c);
        for (size_t k = 0; k < f->n; k++) {
            const struct worked_value *v = &f->items[k];
            if (v->number != 0 || strcmp(v->sheet, sheets[i]->name) != 0)
                continue;
            const char *got = entry(json, v->name) + (v->n > 1);
            char *rest, *after;
            const double want = strtod(v->texts[0], &rest), x = strtod(got, &after);
            if (*rest || isinf(want)) {
                const size_t n = strlen(v->texts[0]);
                cr_expect(got[0] == '"' && strncmp(got + 1, v->texts[0], n) == 0 &&
                              got[n + 1] == '"',
                          "%s: %s is %.20s, not %s", v->sheet, v->name, got, v->texts[0]);
                continue;
            }
            cr_expect(after > got && fabs(x - want) <= fmax(f->absolute, f->relative * fabs(want)),
                      "%s: %s is %.20s, not %s", v->sheet, v->name, got, v->texts[0]);
        }
        end(&c);
    }
}

/* ---- the tables ---- */

static void text_resolves(const struct sheet *s, const char *text)
{
    char bad[64];
    cr_expect(words_resolve(s, text, bad), "%s: no key {%s}, in: %s", s->name, bad, text);
}

Test(worksheets, resolve_every_key_in_every_text)
{
    char bad[64];
    cr_assert_not(words_resolve(sheet_find("little"), "{busy_gpus} of {nothing}", bad));
    cr_assert_str_eq(bad, "nothing");
    for (size_t i = 0; i < sheets_n; i++) {
        const struct sheet *s = sheets[i];
        const char *const own[] = {s->question, s->doc, s->assumption};
        for (size_t k = 0; k < 3; k++) {
            cr_expect_not_null(own[k], "%s lacks a text", s->name);
            text_resolves(s, own[k]);
        }
        for (const char *const *rule = s->rules; rule && *rule; rule++)
            text_resolves(s, *rule);
        for (uint8_t k = 0; k < s->n_inputs; k++)
            text_resolves(s, s->inputs[k].doc);
        for (uint8_t k = 0; k < s->n_outputs; k++) {
            text_resolves(s, s->outputs[k].formula);
            text_resolves(s, s->outputs[k].sense);
        }
        for (uint8_t k = 0; k < s->n_remarks; k++)
            text_resolves(s, s->remarks[k].text);
        for (uint8_t k = 0; k < s->n_mistakes; k++)
            text_resolves(s, s->mistakes[k].text);
    }
}

/* Keys and symbols of a sheet are told apart. */
static void told_apart(const struct sheet *s, const char *key, const char *symbol, size_t before)
{
    cr_expect_str_neq(symbol, "x", "%s, %s: x stands for times", s->name, key);
    for (size_t i = 0; i < before; i++) {
        const bool input = i < s->n_inputs;
        const size_t k = i - s->n_inputs;
        cr_expect_str_neq(key, input ? s->inputs[i].key : s->outputs[k].key, "%s", s->name);
        cr_expect_str_neq(symbol, input ? s->inputs[i].symbol : s->outputs[k].symbol, "%s",
                          s->name);
    }
}

static void check_input(const struct sheet *s, uint8_t i)
{
    const struct sheet_input *in = &s->inputs[i];
    cr_assert(in->key && in->symbol && in->unit && in->doc && in->fallback, "%s, input %u", s->name,
              i);
    cr_expect(sheet_unit_known(in->unit), "%s, %s: unit '%s'", s->name, in->key, in->unit);
    cr_expect_eq(in->type == SHEET_WORD, in->words != NULL, "%s, %s", s->name, in->key);
    told_apart(s, in->key, in->symbol, i);
}

static void check_output(const struct sheet *s, uint8_t k)
{
    const struct sheet_output *out = &s->outputs[k];
    cr_assert(out->key && out->symbol && out->unit && out->formula, "%s, output %u", s->name, k);
    cr_expect(sheet_unit_known(out->unit), "%s, %s: unit '%s'", s->name, out->key, out->unit);
    told_apart(s, out->key, out->symbol, (size_t)s->n_inputs + k);
    bool list = !out->each;
    for (uint8_t i = 0; i < s->n_inputs && !list; i++)
        list = s->inputs[i].list && strcmp(s->inputs[i].key, out->each) == 0;
    cr_expect(list, "%s, %s: no list %s", s->name, out->key, out->each);
}

static void check_checks(const struct sheet *s)
{
    const struct sheet_simulation *m = s->simulation;
    for (uint8_t i = 0; m && i < m->n_checks; i++) {
        const struct sheet_check *check = &m->checks[i];
        cr_expect_lt(check->output, s->n_outputs, "%s, check %u", s->name, i);
        cr_expect(check->read || check->metric, "%s, check %u", s->name, i);
        cr_expect(!check->metric || metric_find(check->metric) < metrics_n, "%s: metric %s",
                  s->name, check->metric);
        cr_expect(check->allowance_frac == 0 || check->allowance_why, "%s, check %u", s->name, i);
    }
}

Test(worksheets, have_known_units_groups_and_metrics)
{
    for (size_t i = 0; i < sheets_n; i++) {
        const struct sheet *s = sheets[i];
        bool known = false;
        for (const char *const *group = sheet_groups; *group && !known; group++)
            known = strcmp(s->group, *group) == 0;
        cr_expect(known, "%s: group '%s'", s->name, s->group);
        cr_expect_eq(sheet_find(s->name), s, "two sheets are named %s", s->name);
        cr_expect(s->solve && s->sources, "%s", s->name);
        cr_expect_lt(s->answer, s->n_outputs, "%s", s->name);
        for (uint8_t k = 0; k < s->n_inputs; k++)
            check_input(s, k);
        for (uint8_t k = 0; k < s->n_outputs; k++)
            check_output(s, k);
        for (uint8_t k = 0; k < s->n_remarks; k++)
            cr_expect(s->remarks[k].output < s->n_outputs && s->remarks[k].when, "%s", s->name);
        for (uint8_t k = 0; k < s->n_mistakes; k++)
            cr_expect(s->mistakes[k].output < s->n_outputs && s->mistakes[k].wrong, "%s", s->name);
        check_checks(s);
    }
}

/* What is printed as arithmetic is arithmetic: at the defaults it gives the value. */
Test(worksheets, print_formulas_that_give_the_value)
{
    for (size_t i = 0; i < sheets_n; i++) {
        struct sheet_case c;
        start(&c, sheets[i]);
        solve(&c);
        for (uint8_t k = 0; k < sheets[i]->n_outputs; k++)
            for (size_t e = 0; e < c.out[k].n; e++) {
                const struct sheet_value *v = &c.out[k].items[e];
                double x;
                if (v->kind != VALUE_NUMBER || !formula_read(&c, k, e, NULL, &x, NULL))
                    continue;
                cr_expect(x == v->number || fabs(x - v->number) <= 1e-6 * fabs(x),
                          "%s: %s is %.12g, its formula gives %.12g", sheets[i]->name,
                          sheets[i]->outputs[k].key, v->number, x);
            }
        end(&c);
    }
}

Test(worksheets, print_pages_of_80_columns_without_leftovers)
{
    for (size_t i = 0; i < sheets_n; i++) {
        struct sheet_case c;
        char *page = NULL;
        size_t bytes;
        start(&c, sheets[i]);
        solve(&c);
        FILE *out = open_memstream(&page, &bytes);
        sheet_print(&(struct sheet_page){.out = out}, &c);
        fclose(out);
        cr_expect_null(strpbrk(page, "{}"), "%s: a brace is left:\n%s", sheets[i]->name, page);
        cr_expect_null(strstr(page, " nan"), "%s", sheets[i]->name);
        for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n"))
            cr_expect_leq(text_width(line), 80u, "%s: %s", sheets[i]->name, line);
        free(page);
        end(&c);
    }
}
