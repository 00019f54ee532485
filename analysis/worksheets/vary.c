/* The values of one input, the result for each, the knee, and their table. */
#include "analysis/worksheets/vary.h"

#include "analysis/worksheets/sheet_json.h"
#include "analysis/worksheets/unit.h"
#include "analysis/worksheets/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct diag_place place = {.file = "--vary"};

/* A curve that leaves its chord by less than this share of its height has no knee. */
#define KNEE_LEAST 0.05

__attribute__((format(printf, 2, 3))) static enum hr_err refuse(const struct sheet_case *c,
                                                                const char *format, ...)
{
    char words[256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    diags_add(c->diags, DIAG_ERROR, place, NULL, NULL, "%s", words);
    return HR_INPUT;
}

/* ---- reading ---- */

static enum hr_err find_input(const struct sheet_case *c, const char *text, size_t n, uint8_t *out)
{
    const char *names[SHEET_INPUTS_MAX];
    char word[64];
    for (uint8_t i = 0; i < c->sheet->n_inputs; i++) {
        names[i] = c->sheet->inputs[i].key;
        if (strlen(names[i]) == n && strncmp(names[i], text, n) == 0) {
            *out = i;
            return c->sheet->inputs[i].list
                       ? refuse(c, "%s is a list: only single values vary", names[i])
                       : HR_OK;
        }
    }
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    diags_add(c->diags, DIAG_ERROR, place, NULL, diag_nearest(word, names, c->sheet->n_inputs),
              "worksheet %s has no input '%s'", c->sheet->name, word);
    return HR_INPUT;
}

static enum hr_err find_result(struct sheet_case *c, const char *of, struct vary *v)
{
    const struct sheet *s = c->sheet;
    const char *names[SHEET_OUTPUTS_MAX];
    char first[96];
    snprintf(first, sizeof first, "%s%s", s->outputs[s->answer].key,
             s->outputs[s->answer].each ? "_1" : "");
    size_t element;
    v->of = arena_strdup(&c->arena, of ? of : first);
    if (!v->of)
        return HR_NOMEM;
    if (sheet_case_find(c, v->of, &v->output, &element))
        return HR_OK;
    for (uint8_t k = 0; k < s->n_outputs; k++)
        names[k] = s->outputs[k].key;
    diags_add(c->diags, DIAG_ERROR, (struct diag_place){.file = "--of"}, NULL,
              diag_nearest(of, names, s->n_outputs), "worksheet %s has no result '%s'", s->name,
              of);
    return HR_INPUT;
}

static enum hr_err read_number(const struct sheet_case *c, const struct sheet_input *in,
                               const char *text, size_t n, double *out)
{
    const char *why;
    if (sheet_unit_read(text, n, in->unit, out, &why) != HR_OK)
        return refuse(c, "%s (in %s): '%.*s' %s", in->key, in->unit, (int)n, text, why);
    return isfinite(*out) ? HR_OK : refuse(c, "%s: a range has finite ends", in->key);
}

static enum hr_err add(const struct sheet_case *c, struct vary *v, double x, const char *word)
{
    if (v->n == VARY_POINTS_MAX)
        return refuse(c, "at most %d values", VARY_POINTS_MAX);
    v->items[v->n++] = (struct vary_point){.x = x, .word = word};
    return HR_OK;
}

/* lo..hi, lo..hi:n, lo..hi/step */
static enum hr_err read_range(const struct sheet_case *c, struct vary *v, const char *text,
                              const char *dots)
{
    const struct sheet_input *in = &c->sheet->inputs[v->input];
    const char *hi_text = dots + 2, *colon = strchr(hi_text, ':'), *slash = strrchr(hi_text, '/');
    const char *why;
    double lo, hi, step = 0;
    unsigned long n = VARY_POINTS;
    /* The last slash may be one of a unit: GB/s. */
    if (colon || !slash ||
        sheet_unit_read(slash + 1, strlen(slash + 1), in->unit, &step, &why) != HR_OK)
        slash = NULL;
    const char *end = colon ? colon : slash ? slash : hi_text + strlen(hi_text);
    TRY(read_number(c, in, text, (size_t)(dots - text), &lo));
    TRY(read_number(c, in, hi_text, (size_t)(end - hi_text), &hi));
    if (!(hi > lo))
        return refuse(c, "%s: the range must rise", in->key);
    if (colon) {
        char *rest;
        n = strtoul(colon + 1, &rest, 10);
        if (rest == colon + 1 || *rest || colon[1] == '-' || n < 2 || n > VARY_POINTS_MAX)
            return refuse(c, "%s: a range has 2 to %d values, not '%s'", in->key, VARY_POINTS_MAX,
                          colon + 1);
    }
    if (slash && !(step > 0 && (hi - lo) / step < VARY_POINTS_MAX))
        return refuse(c, "%s: the step must be above 0 and give at most %d values", in->key,
                      VARY_POINTS_MAX);
    if (slash)
        n = (unsigned long)sheet_floor((hi - lo) / step) + 1;
    for (unsigned long i = 0; i < n; i++) {
        double x = slash        ? lo + (double)i * step
                   : i + 1 == n ? hi
                                : lo + (hi - lo) * (double)i / (double)(n - 1);
        if (in->type == SHEET_COUNT)
            x = sheet_round(x);
        if (v->n == 0 || x > v->items[v->n - 1].x)
            TRY(add(c, v, x, NULL));
    }
    return HR_OK;
}

static int by_x(const void *a, const void *b)
{
    const double x = ((const struct vary_point *)a)->x, y = ((const struct vary_point *)b)->x;
    return (x > y) - (x < y);
}

static enum hr_err read_list(struct sheet_case *c, struct vary *v, const char *text)
{
    const struct sheet_input *in = &c->sheet->inputs[v->input];
    for (size_t n; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        double x = (double)v->n;
        const char *word = NULL;
        if (in->type != SHEET_WORD)
            TRY(read_number(c, in, text, n, &x));
        else if (!(word = arena_strndup(&c->arena, text, n)))
            return HR_NOMEM;
        TRY(add(c, v, x, word));
    }
    if (v->n < 2)
        return refuse(c, "%s: a list has two values or more", in->key);
    qsort(v->items, v->n, sizeof *v->items, by_x);
    return HR_OK;
}

static enum hr_err solve_at(struct sheet_case *c, const struct vary *v, struct vary_point *p)
{
    const struct sheet_input *in = &c->sheet->inputs[v->input];
    char setting[160];
    snprintf(setting, sizeof setting, "%s=%s", in->key, p->word ? p->word : "");
    TRY(p->word ? sheet_case_set(c, setting) : sheet_case_put(c, in->key, &p->x, 1));
    TRY(sheet_case_solve(c));
    p->y = *sheet_case_get(c, v->of);
    return HR_OK;
}

enum hr_err sheet_vary(struct sheet_case *c, const char *text, const char *of, struct vary *out)
{
    *out = (struct vary){0};
    const size_t n = strcspn(text, "=");
    if (!text[n] || !text[n + 1])
        return refuse(c, "'%s' is not of the form key=lo..hi:n, key=lo..hi/step or key=a,b,c",
                      text);
    TRY(find_input(c, text, n, &out->input));
    TRY(find_result(c, of, out));
    out->items = arena_array(&c->arena, VARY_POINTS_MAX, sizeof *out->items);
    if (!out->items)
        return HR_NOMEM;
    const char *dots = strstr(text + n + 1, "..");
    const bool words = c->sheet->inputs[out->input].type == SHEET_WORD;
    TRY(dots && !words ? read_range(c, out, text + n + 1, dots) : read_list(c, out, text + n + 1));
    const struct sheet_given keep = c->in[out->input];
    enum hr_err err = HR_OK;
    for (size_t i = 0; i < out->n && err == HR_OK; i++)
        err = solve_at(c, out, &out->items[i]);
    c->in[out->input] = keep;
    TRY(err);
    out->knee = out->n;
    out->why_not = "the input is a word";
    if (!words)
        out->knee = vary_knee(out->items, out->n, &out->why_not);
    return sheet_case_solve(c);
}

/* ---- the knee ---- */

static bool drawn(const struct vary_point *p)
{
    return p->y.kind == VALUE_NUMBER && isfinite(p->y.number);
}

size_t vary_knee(const struct vary_point *points, size_t n, const char **why_not)
{
    const struct vary_point *first = NULL, *last = NULL;
    double low = INFINITY, high = -INFINITY, most = KNEE_LEAST;
    size_t knee = n, finite = 0;
    for (size_t i = 0; i < n; i++) {
        if (!drawn(&points[i]))
            continue;
        first = first ? first : &points[i];
        last = &points[i];
        finite++;
        low = fmin(low, points[i].y.number);
        high = fmax(high, points[i].y.number);
    }
    *why_not = finite < 3    ? "fewer than three values are finite"
               : high == low ? "the result does not change"
                             : "it is close to a straight line";
    if (finite < 3 || high == low)
        return n;
    /* With both axes scaled, the distance is this share of the height times the same factor for
     * every point. */
    const double rise = (last->y.number - first->y.number) / (high - low);
    for (const struct vary_point *p = first; p <= last; p++) {
        if (!drawn(p))
            continue;
        const double x = (p->x - first->x) / (last->x - first->x);
        const double y = (p->y.number - first->y.number) / (high - low);
        const double off = fabs(y - rise * x) / sqrt(1 + rise * rise);
        if (off > most) {
            most = off;
            knee = (size_t)(p - points);
        }
    }
    return knee;
}

/* ---- print ---- */

enum { ROWS_MAX = 25 };

static void say_x(struct text *t, const struct vary_point *p)
{
    if (p->word)
        text_add(t, "%s", p->word);
    else
        words_number(t, p->x);
}

static void print_row(const struct sheet_page *p, const struct sheet_case *c, const struct vary *v,
                      size_t i)
{
    struct text x = {0}, y = {0};
    say_x(&x, &v->items[i]);
    words_quantity(&y, &v->items[i].y, c->sheet->outputs[v->output].unit);
    fprintf(p->out, "  %14s   %s%s\n", text_get(&x), text_get(&y),
            i == v->knee ? "   <- knee" : "");
    text_free(&x);
    text_free(&y);
}

static void print_knee(const struct sheet_page *p, const struct sheet_case *c, const struct vary *v)
{
    struct text t = {0};
    if (v->knee == v->n) {
        text_add(&t, "No knee: %s.", v->why_not);
    } else {
        const struct sheet_value x = {VALUE_NUMBER, v->items[v->knee].x, NULL};
        text_add(&t, "Knee: at ");
        words_quantity(&t, &x, c->sheet->inputs[v->input].unit);
        text_add(&t, " the curve is farthest from the straight line between its ends.");
    }
    size_t out = 0;
    for (size_t i = 0; i < v->n; i++)
        out += !drawn(&v->items[i]) && v->items[i].y.kind != VALUE_WORD;
    if (out)
        text_add(&t, " %zu value%s infinite or none: not part of the curve.", out,
                 out == 1 ? " is" : "s are");
    text_wrap(p->out, text_get(&t), 2, 2, 80);
    text_free(&t);
}

void sheet_vary_print(const struct sheet_page *p, const struct sheet_case *c, const struct vary *v)
{
    const struct sheet_input *in = &c->sheet->inputs[v->input];
    const struct sheet_output *out = &c->sheet->outputs[v->output];
    char x_label[128], y_label[128];
    snprintf(x_label, sizeof x_label, "%s (%s)", in->key, in->unit);
    snprintf(y_label, sizeof y_label, "%s (%s)", v->of, out->unit);
    sheet_print_title(p, "%s against %s", v->of, x_label);
    const size_t every = v->n > ROWS_MAX ? (v->n + ROWS_MAX - 1) / ROWS_MAX : 1;
    for (size_t i = 0; i < v->n; i++)
        if (i % every == 0 || i + 1 == v->n || i == v->knee)
            print_row(p, c, v, i);
    if (every > 1)
        fprintf(p->out, "  (%zu values in all; --json has them)\n", v->n);
    fputc('\n', p->out);
    if (in->type == SHEET_WORD || out->type == SHEET_WORD)
        return;
    vary_plot(p->out, v, x_label, y_label);
    print_knee(p, c, v);
}

void sheet_vary_json(struct json *j, const struct sheet_case *c, const struct vary *v)
{
    json_object(j, "variation");
    json_text(j, "input", c->sheet->inputs[v->input].key);
    json_text(j, "of", v->of);
    json_array(j, "points", false);
    for (size_t i = 0; i < v->n; i++) {
        json_array(j, NULL, true);
        const struct sheet_value x = {v->items[i].word ? VALUE_WORD : VALUE_NUMBER, v->items[i].x,
                                      v->items[i].word};
        sheet_json_value(j, NULL, &x);
        sheet_json_value(j, NULL, &v->items[i].y);
        json_close(j);
    }
    json_close(j);
    if (v->knee < v->n)
        json_number(j, "knee", v->items[v->knee].x);
    else
        json_text(j, "no_knee", v->why_not);
    json_close(j);
}
