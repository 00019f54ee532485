/* Recursive descent over a formula's text; the first thing not understood ends it. */
#include "analysis/worksheets/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const struct sheet_case *c;
    const struct formula_use *use; /* or NULL */
    const char *at;
    size_t element, n; /* n 0: not of a list */
    uint32_t operations;
    const char *turned;
    bool failed;
};

static const struct operation {
    char sign, opposite;
    const char *turned;
} operations[] = {
    {'+', '-', "subtracts in place of adding"},
    {'-', '+', "adds in place of subtracting"},
    {'x', '/', "divides in place of multiplying"},
    {'/', 'x', "multiplies in place of dividing"},
};

static double fail(struct reader *r)
{
    r->failed = true;
    return NAN;
}

static void skip(struct reader *r)
{
    r->at += strspn(r->at, " ");
}

static bool turns(struct reader *r)
{
    return ++r->operations == (r->use ? r->use->turn : 0);
}

/* The operator that stands here, or its opposite when it is the one to turn. */
static char apply(struct reader *r, char sign)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (operations[i].sign == sign && turns(r)) {
            r->turned = operations[i].turned;
            return operations[i].opposite;
        }
    return sign;
}

static double sum(struct reader *r);

static double reference(struct reader *r)
{
    const size_t n = strcspn(r->at, "}");
    const char *key = r->at;
    const struct sheet *s = r->c->sheet;
    if (!key[n])
        return fail(r);
    r->at += n + 1;
    for (uint8_t i = 0; i < s->n_inputs; i++) {
        if (strlen(s->inputs[i].key) != n || strncmp(s->inputs[i].key, key, n) != 0)
            continue;
        const struct sheet_given *g = &r->c->in[i];
        if (s->inputs[i].type == SHEET_WORD || (s->inputs[i].list && g->n != r->n))
            return fail(r);
        return g->items[s->inputs[i].list ? r->element : 0];
    }
    for (uint8_t k = 0; k < s->n_outputs; k++) {
        if (strlen(s->outputs[k].key) != n || strncmp(s->outputs[k].key, key, n) != 0)
            continue;
        const size_t i = s->outputs[k].each ? r->element : 0;
        if ((s->outputs[k].each && r->c->out[k].n != r->n) ||
            r->c->out[k].items[i].kind != VALUE_NUMBER)
            return fail(r);
        for (size_t o = 0; r->use && o < r->use->n_others; o++)
            if (r->use->others[o].output == k && r->use->others[o].element == i)
                return r->use->others[o].value;
        return r->c->out[k].items[i].number;
    }
    return fail(r);
}

static double call_one(struct reader *r, const char *name, double a)
{
    const bool up = strcmp(name, "ceil") == 0, down = strcmp(name, "floor") == 0;
    if (up || down) {
        const bool turn = turns(r);
        if (turn)
            r->turned = up ? "rounds down in place of up" : "rounds up in place of down";
        return up != turn ? sheet_ceil(a) : sheet_floor(a);
    }
    static const struct {
        const char *name;
        double (*f)(double);
    } functions[] = {{"round", sheet_round}, {"sqrt", sqrt}, {"exp", exp}, {"ln", log}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].f(a);
    return fail(r);
}

/* name(a), name(a, b, ...): after the bracket. */
static double call(struct reader *r, const char *name)
{
    const bool most = strcmp(name, "max") == 0, least = strcmp(name, "min") == 0;
    double a = sum(r);
    size_t n = 1;
    for (skip(r); *r->at == ',' && (most || least); skip(r), n++) {
        r->at++;
        const double b = sum(r);
        a = most ? fmax(a, b) : fmin(a, b);
    }
    if (*r->at != ')')
        return fail(r);
    r->at++;
    if (most || least)
        return n > 1 ? a : fail(r);
    return call_one(r, name, a);
}

static double atom(struct reader *r)
{
    char name[8];
    size_t n = 0;
    skip(r);
    if (*r->at == '{') {
        r->at++;
        return reference(r);
    }
    if (isdigit((unsigned char)*r->at)) {
        char *end;
        const double x = strtod(r->at, &end);
        r->at = end;
        return x;
    }
    for (; isalpha((unsigned char)r->at[n]) && n + 1 < sizeof name; n++)
        name[n] = r->at[n];
    name[n] = 0;
    if (r->at[n] != '(')
        return fail(r);
    r->at += n + 1;
    if (n > 0)
        return call(r, name);
    const double x = sum(r);
    if (*r->at != ')')
        return fail(r);
    r->at++;
    return x;
}

static double power(struct reader *r)
{
    skip(r);
    if (*r->at == '-') {
        r->at++;
        return -power(r);
    }
    const double a = atom(r);
    skip(r);
    if (*r->at != '^')
        return a;
    r->at++;
    return pow(a, power(r));
}

static double product(struct reader *r)
{
    double a = power(r);
    for (skip(r); !r->failed && (*r->at == '/' || (*r->at == 'x' && r->at[1] == ' ')); skip(r)) {
        const char sign = apply(r, *r->at++);
        const double b = power(r);
        a = sign == 'x' ? a * b : a / b;
    }
    return a;
}

static double sum(struct reader *r)
{
    double a = product(r);
    for (skip(r); !r->failed && (*r->at == '+' || *r->at == '-'); skip(r)) {
        const char sign = apply(r, *r->at++);
        const double b = product(r);
        a = sign == '+' ? a + b : a - b;
    }
    return a;
}

bool formula_read(const struct sheet_case *c, uint8_t output, size_t element,
                  const struct formula_use *use, double *value, const char **turned)
{
    const struct sheet_output *out = &c->sheet->outputs[output];
    if (out->type == SHEET_WORD)
        return false;
    struct reader r = {
        .c = c,
        .use = use,
        .at = out->formula,
        .element = element,
        .n = out->each ? c->out[output].n : 0,
    };
    *value = sum(&r);
    if (turned)
        *turned = r.turned;
    return !r.failed && *r.at == 0 && !isnan(*value);
}

bool formula_value(const struct sheet_case *c, uint8_t output, size_t element,
                   const struct formula_use *use, double *value)
{
    const struct sheet_value *right = &c->out[output].items[element];
    double plain;
    if (right->kind != VALUE_NUMBER || !formula_read(c, output, element, NULL, &plain, NULL))
        return false;
    if (plain != right->number && !(fabs(plain - right->number) <= 1e-9 * fabs(plain)))
        return false;
    return formula_read(c, output, element, use, value, NULL);
}

const char *formula_turned(const struct sheet_case *c, uint8_t output, size_t element,
                           uint32_t turn, double *value)
{
    const struct formula_use use = {.turn = turn};
    const char *turned = NULL;
    if (!formula_value(c, output, element, NULL, value))
        return NULL;
    formula_read(c, output, element, &use, value, &turned);
    return turned;
}
