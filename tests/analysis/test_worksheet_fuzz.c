/* Random inputs for every worksheet: legal ones are solved or refused with the key named, illegal
 * ones are refused with the key named; nothing is a NaN and nothing is slow. */
#include "analysis/worksheets/answer.h"
#include "analysis/worksheets/list.h"
#include "analysis/worksheets/sheet_json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TestSuite(worksheet_fuzz, .timeout = 120);

enum { TRIES = 200, LIST_LONGEST = 6, SETTING = 512 };
#ifdef __SANITIZE_ADDRESS__
#define LONGEST_S 0.5
#else
#define LONGEST_S 0.05
#endif

static uint64_t state;

/* splitmix64 */
static uint64_t bits(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static double unit(void)
{
    return (double)(bits() >> 11) * 0x1p-53;
}

static size_t below(size_t n)
{
    return (size_t)(unit() * (double)n);
}

/* Where the table has no limit: a thousand times the default. */
static double highest(const struct sheet_input *in)
{
    if (in->max != 0)
        return in->max;
    const double usual = fabs(strtod(in->fallback, NULL));
    return fmax(in->min, 0) + 1000 * (isfinite(usual) && usual > 0 ? usual : 1);
}

static double edge(const struct sheet_input *in, double low, double high)
{
    const bool count = in->type == SHEET_COUNT;
    if (in->endless && below(2))
        return INFINITY;
    if (below(2))
        return in->above ? count ? low + 1 : low + (high - low) * 1e-9 : low;
    return in->below && in->max != 0 ? count ? high - 1 : high - (high - low) * 1e-9 : high;
}

static double legal(const struct sheet_input *in)
{
    const double low = in->min, high = highest(in);
    if (in->type == SHEET_FLAG)
        return (double)below(2);
    if (below(6) == 0)
        return edge(in, low, high);
    const double from = fmax(low, high * 1e-6);
    double x = low + (high - low) * unit();
    if (low >= 0 && high > 100 * from)
        x = from * pow(high / from, unit());
    if (in->type == SHEET_COUNT)
        x = floor(x);
    const bool inside = x >= low && !(in->above && x <= low) && !(in->below && x >= high);
    return inside ? x : edge(in, low, high);
}

static void legal_text(const struct sheet_input *in, char out[SETTING])
{
    size_t n = (size_t)snprintf(out, SETTING, "%s=", in->key);
    if (in->type == SHEET_WORD) {
        size_t words = 0;
        while (in->words[words])
            words++;
        snprintf(out + n, SETTING - n, "%s", in->words[below(words)]);
        return;
    }
    const size_t many = in->list ? 1 + below(LIST_LONGEST) : 1;
    for (size_t i = 0; i < many; i++)
        n += (size_t)snprintf(out + n, SETTING - n, "%s%.17g", i ? "," : "", legal(in));
}

/* An error names one of the sheet's inputs. */
static bool names_input(const struct diags *d, const struct sheet *s)
{
    for (size_t i = 0; i < d->n; i++)
        for (uint8_t k = 0; k < s->n_inputs; k++)
            if (d->items[i].level == DIAG_ERROR && strstr(d->items[i].text, s->inputs[k].key))
                return true;
    return false;
}

static void say_case(const struct sheet_case *c)
{
    fprintf(stderr, "%s", c->sheet->name);
    for (uint8_t i = 0; i < c->sheet->n_inputs; i++) {
        fprintf(stderr, " %s=%s", c->sheet->inputs[i].key, c->in[i].word ? c->in[i].word : "");
        for (size_t k = 0; k < c->in[i].n; k++)
            fprintf(stderr, "%s%.17g", k ? "," : "", c->in[i].items[k]);
    }
    fputc('\n', stderr);
}

/* A solved case goes through all that is made of one. */
static void use_all(const struct sheet_case *c, struct arena *arena)
{
    static char page[1 << 18], json_text[1 << 20];
    const struct sheet *s = c->sheet;
    struct json j;
    FILE *out = fmemopen(page, sizeof page, "w"),
         *json = fmemopen(json_text, sizeof json_text, "w");
    sheet_print(&(struct sheet_page){.out = out}, c);
    json_init(&j, json);
    json_object(&j, NULL);
    sheet_json(&j, c);
    json_close(&j);
    cr_expect_eq(fclose(out), 0);
    cr_expect_eq(fclose(json), 0);
    cr_expect_null(strpbrk(page, "{}"), "%s", page);
    cr_expect_null(strstr(page, " nan"), "%s", page);
    cr_expect_null(strstr(json_text, "null"), "%s", json_text);
    const uint8_t k = (uint8_t)below(s->n_outputs);
    if (c->out[k].n == 0 || s->outputs[k].type == SHEET_WORD)
        return;
    static const double factors[] = {1, 60, 1 / 3600.0, 8, 0.5, -1, 1.05, 0, INFINITY};
    const struct sheet_value *right = &c->out[k].items[0];
    const double x = right->number * factors[below(sizeof factors / sizeof *factors)];
    char text[160];
    struct sheet_answers a;
    snprintf(text, sizeof text, "%s%s=%.9g", s->outputs[k].key, s->outputs[k].each ? "_1" : "",
             isnan(x) ? 0 : x);
    const char *texts[] = {text};
    cr_expect_eq(sheet_answers_mark(c, arena, texts, 1, 0.01, &a), HR_OK, "%s: %s", s->name, text);
    if (right->kind == VALUE_NUMBER && x == right->number && s->outputs[k].type != SHEET_REAL &&
        fabs(x) < 1e9)
        cr_expect_eq(a.n_wrong, 0u, "%s: %s", s->name, text);
}

/* Whether it was solved. */
static bool try_legal(const struct sheet *s)
{
    struct sheet_case c;
    struct diags diags;
    char setting[SETTING];
    const bool lists = below(2);
    diags_init(&diags);
    cr_assert_eq(sheet_case_init(&c, s, &diags), HR_OK);
    for (uint8_t i = 0; i < s->n_inputs; i++) {
        if (below(2) || (s->inputs[i].list && !lists))
            continue;
        legal_text(&s->inputs[i], setting);
        const enum hr_err err = sheet_case_set(&c, setting);
        cr_assert_eq(err, HR_OK, "%s: '%s' is inside the domain and refused", s->name, setting);
    }
    enum hr_err err = HR_OK;
    double took = INFINITY;
    /* The least of a few tries: others may be using the machine. */
    for (int again = 0; again < 3 && took > LONGEST_S; again++) {
        const clock_t before = clock();
        err = sheet_case_solve(&c);
        took = fmin(took, (double)(clock() - before) / CLOCKS_PER_SEC);
    }
    const bool bad =
        took > LONGEST_S || (err != HR_OK && !(err == HR_INPUT && names_input(&diags, s)));
    if (bad) {
        say_case(&c);
        diags_print(&diags, stderr, false);
    }
    cr_expect_leq(took, LONGEST_S, "%s took %.3f s", s->name, took);
    cr_expect(err == HR_OK || err == HR_INPUT, "%s: %s", s->name, hr_err_text(err));
    cr_expect(err != HR_INPUT || names_input(&diags, s), "%s refuses and names no key", s->name);
    for (uint8_t k = 0; err == HR_OK && k < s->n_outputs; k++)
        for (size_t i = 0; i < c.out[k].n; i++) {
            const struct sheet_value *v = &c.out[k].items[i];
            cr_expect(v->kind != VALUE_NUMBER || !isnan(v->number), "%s: %s", s->name,
                      s->outputs[k].key);
            cr_expect(v->kind != VALUE_WORD || v->word, "%s: %s", s->name, s->outputs[k].key);
        }
    for (uint8_t k = 0; err == HR_OK && k < s->n_remarks; k++)
        (void)s->remarks[k].when(&c);
    for (uint8_t k = 0; err == HR_OK && k < s->n_mistakes; k++)
        (void)s->mistakes[k].wrong(&c);
    if (err == HR_OK && below(3) == 0)
        use_all(&c, &c.arena);
    sheet_case_fini(&c);
    diags_fini(&diags);
    return err == HR_OK;
}

Test(worksheet_fuzz, legal_inputs_are_solved_or_refused_by_name)
{
    for (size_t i = 0; i < sheets_n; i++) {
        int solved = 0;
        state = 20240607 + i;
        for (int n = 0; n < TRIES; n++)
            solved += try_legal(sheets[i]);
        /* A sheet that refuses everything would pass all the rest. */
        cr_expect_geq(solved, TRIES / 10, "%s solves %d of %d", sheets[i]->name, solved, TRIES);
    }
}

/* One wrong value for an input; false when its kind does not apply. */
static bool illegal_text(const struct sheet_input *in, unsigned kind, char out[SETTING])
{
    static const char *const texts[] = {"", "x", "nan", "1 banana", "--3", "0x10", "1e", "3 4"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    const char *key = in->key;
    const bool number = in->type != SHEET_WORD;
    if (kind < TEXTS)
        snprintf(out, SETTING, "%s=%s", key, texts[kind]);
    else if (kind == TEXTS)
        snprintf(out, SETTING, "%s=%.17g", key, in->min - 1 - 10 * unit());
    else if (kind == TEXTS + 1)
        snprintf(out, SETTING, "%s=%.17g", key, in->max * (1.1 + unit()) + 1);
    else if (kind == TEXTS + 2)
        snprintf(out, SETTING, "%s=%.17g", key, floor(highest(in) / 2) + 0.5);
    else if (kind == TEXTS + 3)
        snprintf(out, SETTING, "%s=1,2", key);
    else if (kind == TEXTS + 4)
        snprintf(out, SETTING, "%s=inf", key);
    else if (kind == TEXTS + 5)
        snprintf(out, SETTING, "%s=%.17g", key, in->min);
    else
        snprintf(out, SETTING, "%s=%.17g", key, in->max);
    return kind < TEXTS || kind == TEXTS || (kind == TEXTS + 1 && number && in->max > 0) ||
           (kind == TEXTS + 2 && in->type == SHEET_COUNT) ||
           (kind == TEXTS + 3 && number && !in->list) ||
           (kind == TEXTS + 4 && number && !in->endless) || (kind == TEXTS + 5 && in->above) ||
           (kind == TEXTS + 6 && in->below && in->max != 0);
}

Test(worksheet_fuzz, illegal_inputs_are_refused_by_name)
{
    for (size_t i = 0; i < sheets_n; i++) {
        const struct sheet *s = sheets[i];
        int tried = 0;
        state = 7 + i;
        while (tried < TRIES) {
            const uint8_t input = (uint8_t)below(s->n_inputs);
            char setting[SETTING];
            if (!illegal_text(&s->inputs[input], (unsigned)below(15), setting))
                continue;
            struct sheet_case c;
            struct diags diags;
            tried++;
            diags_init(&diags);
            cr_assert_eq(sheet_case_init(&c, s, &diags), HR_OK);
            const struct sheet_given was = c.in[input];
            cr_expect_eq(sheet_case_set(&c, setting), HR_INPUT, "%s takes '%s'", s->name, setting);
            cr_expect(diags.n > 0 && strstr(diags.items[0].text, s->inputs[input].key),
                      "%s: '%s' is refused without its key", s->name, setting);
            cr_expect(was.items == c.in[input].items && was.word == c.in[input].word &&
                          !c.in[input].given,
                      "%s: '%s' changes the case", s->name, setting);
            sheet_case_fini(&c);
            diags_fini(&diags);
        }
    }
}
