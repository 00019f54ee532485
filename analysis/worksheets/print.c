/* The page of a worksheet: wrapped paragraphs, a table of inputs, numbered steps. */
#include "analysis/worksheets/print.h"

#include "analysis/worksheets/list.h"
#include "analysis/worksheets/words.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum {
    WIDTH = 80,
    INDENT = 2,
    STEP_INDENT = 6,
    ELEMENTS_MAX = 12,
    NAME_WIDTH = 22,
    DOC_LEAST = 24
};

static void paint(const struct sheet_page *p, const char *code)
{
    if (p->colour)
        fputs(code, p->out);
}

void sheet_print_title(const struct sheet_page *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    paint(p, "\033[1m");
    vfprintf(p->out, format, args);
    paint(p, "\033[0m");
    fputc('\n', p->out);
    va_end(args);
}

static void paragraph(const struct sheet_page *p, const struct sheet_case *c, const char *text,
                      size_t first, size_t rest, struct words_step at)
{
    struct text t = {0};
    words_add(&t, c, text, WORDS_QUANTITIES, at);
    text_wrap(p->out, text_get(&t), first, rest, WIDTH);
    text_free(&t);
}

void sheet_print_head(const struct sheet_page *p, const struct sheet_case *c)
{
    struct text t = {0};
    text_add(&t, "%s: %s", c->sheet->name, c->sheet->question);
    paint(p, "\033[1m");
    text_wrap(p->out, text_get(&t), 0, INDENT, WIDTH);
    paint(p, "\033[0m");
    text_free(&t);
}

/* ---- inputs ---- */

struct input_widths {
    size_t left, key;
};

static void left_column(struct text *t, const struct sheet_case *c, uint8_t i)
{
    text_add(t, "%s = ", c->sheet->inputs[i].symbol);
    words_input(t, c, i);
}

static struct input_widths measure_inputs(const struct sheet_case *c)
{
    struct input_widths w = {0};
    for (uint8_t i = 0; i < c->sheet->n_inputs; i++) {
        struct text t = {0};
        left_column(&t, c, i);
        const size_t left = text_width(text_get(&t)), key = strlen(c->sheet->inputs[i].key);
        if (left > w.left && left <= 30)
            w.left = left;
        if (key > w.key)
            w.key = key;
        text_free(&t);
    }
    return w;
}

/* A paragraph of which the first line stands at that column already. */
static void wrap_from(const struct sheet_page *p, const char *text, size_t column)
{
    size_t bytes = strlen(text);
    while (bytes > 0 && column + bytes > WIDTH) /* a byte more than a character breaks early */
        for (bytes--; bytes > 0 && text[bytes] != ' '; bytes--)
            ;
    fprintf(p->out, "%.*s\n", (int)bytes, text);
    if (text[bytes])
        text_wrap(p->out, text + bytes, column, column, WIDTH);
}

static void print_input(const struct sheet_page *p, const struct sheet_case *c, uint8_t i,
                        struct input_widths w)
{
    struct text left = {0}, doc = {0};
    const struct sheet_input *in = &c->sheet->inputs[i];
    const size_t column = INDENT + w.left + 2 + w.key + 2;
    left_column(&left, c, i);
    const size_t wide = text_width(text_get(&left));
    if (wide > w.left) { /* a list: on lines of its own */
        text_wrap(p->out, text_get(&left), INDENT, INDENT + 4, WIDTH);
        fprintf(p->out, "%*s", (int)(INDENT + w.left + 2), "");
    } else {
        fprintf(p->out, "%*s%s%*s", INDENT, "", text_get(&left), (int)(w.left + 2 - wide), "");
    }
    words_add(&doc, c, in->doc, WORDS_QUANTITIES, (struct words_step){0});
    if (!c->in[i].given)
        text_add(&doc, " (default)");
    if (column + DOC_LEAST <= WIDTH) {
        fprintf(p->out, "%-*s  ", (int)w.key, in->key);
        wrap_from(p, text_get(&doc), column);
    } else {
        fprintf(p->out, "%s\n", in->key);
        text_wrap(p->out, text_get(&doc), STEP_INDENT, STEP_INDENT, WIDTH);
    }
    text_free(&left);
    text_free(&doc);
}

void sheet_print_inputs(const struct sheet_page *p, const struct sheet_case *c)
{
    const struct input_widths w = measure_inputs(c);
    sheet_print_title(p, "Inputs");
    for (uint8_t i = 0; i < c->sheet->n_inputs; i++)
        print_input(p, c, i, w);
}

/* ---- steps ---- */

/* Parts joined by " = ", broken there when they do not fit on one line. */
static void print_equation(const struct sheet_page *p, const char *const *parts, size_t n)
{
    size_t wide = STEP_INDENT;
    for (size_t i = 0; i < n; i++)
        wide += text_width(parts[i]) + (i ? 3 : 0);
    struct text t = {0};
    text_add(&t, "%s", parts[0]);
    for (size_t i = 1; i < n; i++) {
        /* Symbol and formula stay together. */
        if (wide > WIDTH && i > 1) {
            text_wrap(p->out, text_get(&t), i == 2 ? STEP_INDENT : STEP_INDENT + 2, STEP_INDENT + 4,
                      WIDTH);
            text_free(&t);
        }
        text_add(&t, "%s= %s", t.n ? " " : "", parts[i]);
    }
    const bool broken = t.n && *text_get(&t) == '=';
    text_wrap(p->out, text_get(&t), broken ? STEP_INDENT + 2 : STEP_INDENT, STEP_INDENT + 4, WIDTH);
    text_free(&t);
}

static void print_value(const struct sheet_page *p, const struct sheet_case *c, uint8_t k,
                        struct words_step at)
{
    const struct sheet_output *out = &c->sheet->outputs[k];
    struct text symbol = {0}, formula = {0}, numbers = {0}, value = {0};
    words_symbol(&symbol, out, at);
    words_add(&formula, c, out->formula, WORDS_SYMBOLS, at);
    words_add(&numbers, c, out->formula, WORDS_NUMBERS, at);
    words_quantity(&value, &c->out[k].items[at.n ? at.element : 0], out->unit);
    const char *parts[4];
    size_t n = 0;
    parts[n++] = text_get(&symbol);
    if (at.n <= 1)
        parts[n++] = text_get(&formula);
    if (strcmp(text_get(&formula), text_get(&numbers)) != 0 || at.n > 1)
        parts[n++] = text_get(&numbers);
    if (strcmp(parts[n - 1], text_get(&value)) != 0)
        parts[n++] = text_get(&value);
    print_equation(p, parts, n);
    text_free(&symbol);
    text_free(&formula);
    text_free(&numbers);
    text_free(&value);
}

/* The formula of any element, then a line for each. */
static void print_elements(const struct sheet_page *p, const struct sheet_case *c, uint8_t k)
{
    const size_t n = c->out[k].n;
    if (n > 1) {
        const struct words_step any = {n, WORDS_ANY};
        struct text symbol = {0}, formula = {0};
        words_symbol(&symbol, &c->sheet->outputs[k], any);
        words_add(&formula, c, c->sheet->outputs[k].formula, WORDS_SYMBOLS, any);
        const char *parts[] = {text_get(&symbol), text_get(&formula)};
        print_equation(p, parts, 2);
        text_free(&symbol);
        text_free(&formula);
    }
    for (size_t i = 0; i < n && i < ELEMENTS_MAX; i++)
        print_value(p, c, k, (struct words_step){n, i});
    if (n > ELEMENTS_MAX)
        fprintf(p->out, "%*s... and %zu more (--json has all)\n", STEP_INDENT, "",
                n - ELEMENTS_MAX);
}

static void print_sense(const struct sheet_page *p, const struct sheet_case *c, uint8_t k)
{
    const char *sense = words_sense(c, k);
    struct text last = {0}, now = {0};
    const bool list = c->sheet->outputs[k].each != NULL;
    for (size_t i = 0; sense && i < c->out[k].n && i < ELEMENTS_MAX; i++) {
        words_add(&now, c, sense, WORDS_QUANTITIES,
                  list ? (struct words_step){c->out[k].n, i} : (struct words_step){0});
        if (strcmp(text_get(&last), text_get(&now)) != 0)
            text_wrap(p->out, text_get(&now), STEP_INDENT, STEP_INDENT, WIDTH);
        text_free(&last);
        last = now;
        now = (struct text){0};
    }
    text_free(&last);
}

static void print_mistake(const struct sheet_page *p, const struct sheet_case *c,
                          const struct sheet_mistake *m)
{
    const struct sheet_value wrong = {VALUE_NUMBER, m->wrong(c), NULL};
    const struct sheet_value *right = &c->out[m->output].items[0];
    if (isnan(wrong.number) || (right->kind == VALUE_NUMBER && right->number == wrong.number))
        return;
    struct text t = {0};
    text_add(&t, "Wrong turn: ");
    words_add(&t, c, m->text, WORDS_QUANTITIES, (struct words_step){0});
    text_add(&t, ": ");
    words_quantity(&t, &wrong, c->sheet->outputs[m->output].unit);
    text_add(&t, ".");
    paint(p, "\033[31m");
    text_wrap(p->out, text_get(&t), STEP_INDENT, STEP_INDENT + 2, WIDTH);
    paint(p, "\033[0m");
    text_free(&t);
}

void sheet_print_step(const struct sheet_page *p, const struct sheet_case *c, uint8_t k,
                      bool wrong_turns)
{
    const struct sheet_output *out = &c->sheet->outputs[k];
    fprintf(p->out, "%*u. ", STEP_INDENT - 2, k + 1u);
    paint(p, "\033[1m");
    fprintf(p->out, "%s", out->key);
    paint(p, "\033[0m");
    fputs(k == c->sheet->answer ? "  (the answer)\n" : "\n", p->out);
    if (out->each)
        print_elements(p, c, k);
    else
        print_value(p, c, k, (struct words_step){0});
    print_sense(p, c, k);
    for (uint8_t i = 0; wrong_turns && i < c->sheet->n_mistakes; i++)
        if (c->sheet->mistakes[i].output == k)
            print_mistake(p, c, &c->sheet->mistakes[i]);
}

void sheet_print(const struct sheet_page *p, const struct sheet_case *c)
{
    const struct sheet *s = c->sheet;
    sheet_print_head(p, c);
    paragraph(p, c, s->doc, INDENT, INDENT, (struct words_step){0});
    fputc('\n', p->out);
    sheet_print_inputs(p, c);
    fputc('\n', p->out);
    sheet_print_title(p, "Steps");
    for (uint8_t k = 0; k < s->n_outputs; k++)
        sheet_print_step(p, c, k, true);
    fputc('\n', p->out);
    sheet_print_title(p, "What it rests on");
    paragraph(p, c, s->assumption, INDENT, INDENT, (struct words_step){0});
    if (s->rules && *s->rules) {
        fputc('\n', p->out);
        sheet_print_title(p, "Rules");
        for (const char *const *rule = s->rules; *rule; rule++) {
            struct text t = {0};
            text_add(&t, "- %s", *rule);
            paragraph(p, c, text_get(&t), INDENT, INDENT + 2, (struct words_step){0});
            text_free(&t);
        }
    }
    fputc('\n', p->out);
    sheet_print_title(p, "Sources");
    text_wrap(p->out, s->sources, INDENT, INDENT, WIDTH);
}

/* ---- the list ---- */

static bool among(const struct sheet *s, const struct sheet *const *hits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hits[i] == s)
            return true;
    return false;
}

void sheet_print_list(const struct sheet_page *p, const struct sheet *const *hits, size_t n)
{
    bool any = false;
    for (const char *const *group = sheet_groups; *group; group++) {
        bool title = false;
        for (size_t i = 0; i < sheets_n; i++) {
            const struct sheet *s = sheets[i];
            if (strcmp(s->group, *group) != 0 || (hits && !among(s, hits, n)))
                continue;
            if (!title)
                sheet_print_title(p, "%s%s", any ? "\n" : "", *group);
            title = any = true;
            fprintf(p->out, "%*s%-*s ", INDENT, "", NAME_WIDTH, s->name);
            /* One line each: a longer question is cut. */
            const int room = WIDTH - INDENT - NAME_WIDTH - 1;
            if ((int)strlen(s->question) <= room)
                fprintf(p->out, "%s\n", s->question);
            else
                fprintf(p->out, "%.*s...\n", room - 3, s->question);
        }
    }
}
