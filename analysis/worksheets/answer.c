/* Reading, marking and printing answers. */
#include "analysis/worksheets/answer.h"

#include "analysis/worksheets/sheet_json.h"
#include "analysis/worksheets/unit.h"
#include "analysis/worksheets/words.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct diag_place place = {.file = "--answer"};

static enum hr_err no_result(const struct sheet_case *c, const char *key)
{
    const char *names[SHEET_OUTPUTS_MAX];
    for (uint8_t k = 0; k < c->sheet->n_outputs; k++) {
        const struct sheet_output *out = &c->sheet->outputs[k];
        names[k] = out->key;
        if (out->each && strcmp(key, out->key) == 0) {
            diags_add(c->diags, DIAG_ERROR, place, NULL, NULL,
                      "'%s' is a list: %s_1 is its first element, of %zu", key, key, c->out[k].n);
            return HR_INPUT;
        }
    }
    diags_add(c->diags, DIAG_ERROR, place, NULL, diag_nearest(key, names, c->sheet->n_outputs),
              "worksheet %s has no result '%s'", c->sheet->name, key);
    return HR_INPUT;
}

/* Half a unit of the last digit of a plain decimal. */
static double half_of_last(const char *text)
{
    const char *at = text + strspn(text, "$ +-");
    int decimals = 0, exponent = 0;
    bool point = false;
    for (; isdigit((unsigned char)*at) || *at == '.'; at++) {
        decimals += point;
        point = point || *at == '.';
    }
    if ((*at == 'e' || *at == 'E') && (isdigit((unsigned char)at[1]) || at[1] == '-'))
        exponent = (int)strtol(at + 1, NULL, 10);
    return 0.5 * pow(10, exponent - decimals);
}

/* "16,800" is 16800, as it is printed: commas before three digits are dropped. */
static void without_commas(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *at = text; *at && n + 1 < size; at++) {
        const bool thousands = *at == ',' && at > text && isdigit((unsigned char)at[-1]) &&
                               strspn(at + 1, "0123456789") == 3;
        if (!thousands)
            out[n++] = *at;
    }
    out[n] = 0;
}

static enum hr_err read_value(const struct sheet_case *c, const char *text, struct sheet_answer *a)
{
    static const struct {
        const char *word;
        struct sheet_value value;
    } words[] = {
        {"none", {VALUE_NONE, 0, NULL}},
        {"infinite", {VALUE_NUMBER, INFINITY, NULL}},
        {"-infinite", {VALUE_NUMBER, -INFINITY, NULL}},
        {"yes", {VALUE_NUMBER, 1, NULL}},
        {"no", {VALUE_NUMBER, 0, NULL}},
    };
    const struct sheet_output *out = &c->sheet->outputs[a->output];
    const char *why;
    char number[96];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0) {
            a->value = words[i].value;
            return HR_OK;
        }
    if (out->type == SHEET_WORD) {
        a->value = (struct sheet_value){VALUE_WORD, 0, text};
        return HR_OK;
    }
    without_commas(text, number, sizeof number);
    double x, bare, last = half_of_last(number);
    if (sheet_unit_read(number, strlen(number), out->unit, &x, &why) != HR_OK) {
        diags_add(c->diags, DIAG_ERROR, place, NULL, NULL, "%s (in %s): '%s' %s", a->key, out->unit,
                  text, why);
        return HR_INPUT;
    }
    bare = strtod(number + (*number == '$'), NULL);
    a->value = (struct sheet_value){VALUE_NUMBER, x, NULL};
    a->half_digit = bare != 0 && isfinite(x) ? last * fabs(x / bare) : last;
    return HR_OK;
}

static bool is_right(const struct sheet_case *c, const struct sheet_answer *a, double tolerance)
{
    const struct sheet_value *right = &c->out[a->output].items[a->element];
    const enum sheet_type type = c->sheet->outputs[a->output].type;
    if (right->kind != a->value.kind)
        return false;
    if (right->kind == VALUE_WORD)
        return strcmp(right->word, a->value.word) == 0;
    if (right->kind == VALUE_NONE || right->number == a->value.number)
        return true;
    if (type != SHEET_REAL || !isfinite(right->number) || !isfinite(a->value.number))
        return false;
    return fabs(a->value.number - right->number) <= fmax(1e-9, tolerance * fabs(right->number));
}

static enum hr_err read_answer(const struct sheet_case *c, struct arena *arena, const char *text,
                               struct sheet_answer *a)
{
    const size_t n = strcspn(text, "=");
    if (!text[n]) {
        diags_add(c->diags, DIAG_ERROR, place, NULL, NULL, "'%s' is not of the form key=value",
                  text);
        return HR_INPUT;
    }
    *a = (struct sheet_answer){.key = arena_strndup(arena, text, n)};
    if (!a->key)
        return HR_NOMEM;
    if (!sheet_case_find(c, a->key, &a->output, &a->element))
        return no_result(c, a->key);
    return read_value(c, text + n + 1, a);
}

static bool before(const struct sheet_answer *a, const struct sheet_answer *b)
{
    return a->output != b->output ? a->output < b->output : a->element < b->element;
}

enum hr_err sheet_answers_mark(const struct sheet_case *c, struct arena *arena,
                               const char *const *texts, size_t n, double tolerance,
                               struct sheet_answers *out)
{
    *out = (struct sheet_answers){.tolerance = tolerance};
    for (size_t i = 0; i < n && i < ANSWERS_MAX; i++) {
        struct sheet_answer a;
        TRY(read_answer(c, arena, texts[i], &a));
        size_t at = out->n++;
        for (; at > 0 && before(&a, &out->items[at - 1]); at--)
            out->items[at] = out->items[at - 1];
        out->items[at] = a;
    }
    for (size_t i = 0; i < out->n; i++) {
        struct sheet_answer *a = &out->items[i];
        if (i > 0 && !before(a - 1, a)) {
            diags_add(c->diags, DIAG_ERROR, place, NULL, NULL, "%s is answered twice", a->key);
            return HR_INPUT;
        }
        a->right = is_right(c, a, tolerance);
        out->n_wrong += !a->right;
        if (!a->right)
            sheet_answer_explain(c, a, out->items, i);
    }
    return HR_OK;
}

/* ---- print ---- */

static const struct sheet_answer *first_wrong(const struct sheet_answers *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (!a->items[i].right)
            return &a->items[i];
    return NULL;
}

static void print_one(const struct sheet_page *p, const struct sheet_case *c,
                      const struct sheet_answer *a)
{
    const char *unit = c->sheet->outputs[a->output].unit;
    struct text yours = {0}, line = {0};
    words_quantity(&yours, &a->value, unit);
    text_add(&line, "%s: %s: ", a->key, text_get(&yours));
    const char *colour = a->right ? "\033[32m" : "\033[31m";
    text_add(&line, "%s", a->right ? "right" : "wrong; it is ");
    if (!a->right)
        words_quantity(&line, &c->out[a->output].items[a->element], unit);
    fputs(p->colour ? colour : "", p->out);
    text_wrap(p->out, text_get(&line), 2, 4, 80);
    fputs(p->colour ? "\033[0m" : "", p->out);
    if (*a->why)
        text_wrap(p->out, a->why, 4, 4, 80);
    text_free(&yours);
    text_free(&line);
}

void sheet_answers_print(const struct sheet_page *p, const struct sheet_case *c,
                         const struct sheet_answers *a)
{
    const struct sheet_answer *wrong = first_wrong(a);
    sheet_print_title(p, "Answers");
    for (size_t i = 0; i < a->n; i++)
        print_one(p, c, &a->items[i]);
    fputc('\n', p->out);
    if (!wrong) {
        fprintf(p->out, "All right (within %.4g %%; counts, flags and words exactly).\n",
                a->tolerance * 100);
        return;
    }
    sheet_print_title(p, "The answers part from the sheet at step %u", wrong->output + 1u);
    sheet_print_step(p, c, wrong->output, false);
}

void sheet_answers_json(struct json *j, const struct sheet_case *c, const struct sheet_answers *a)
{
    const struct sheet_answer *wrong = first_wrong(a);
    json_array(j, "answers", false);
    for (size_t i = 0; i < a->n; i++) {
        json_object(j, NULL);
        json_text(j, "key", a->items[i].key);
        sheet_json_value(j, "answer", &a->items[i].value);
        sheet_json_value(j, "right_value", &c->out[a->items[i].output].items[a->items[i].element]);
        json_bool(j, "right", a->items[i].right);
        json_text(j, "mistake", a->items[i].why);
        json_close(j);
    }
    json_close(j);
    json_text(j, "parts_at", wrong ? wrong->key : "");
}
