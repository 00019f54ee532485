/* Slurm's lists of host names.
 *
 * A name is a row of pieces, plain text or a bracket of numbers. Numbers keep the width they are
 * written with; brackets multiply. */
#include "traces/hostlist.h"

#include "sim/vec.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 256, DIGITS_MAX = 9 };

struct expansion {
    struct hostlist *list;
    struct arena *arena;
    size_t limit;
    const char *end; /* of this name */
    char name[NAME_MAX_BYTES];
    const char **at, **what;
};

static enum hr_err wrong(struct expansion *x, const char *at, const char *what)
{
    *x->at = at;
    *x->what = what;
    return HR_INPUT;
}

/* Digits at p; their number and width. */
static bool digits(const char **p, const char *end, uint32_t *value, int *width)
{
    *value = 0;
    *width = 0;
    for (; *p < end && **p >= '0' && **p <= '9' && *width < DIGITS_MAX; ++*p, ++*width)
        *value = 10 * *value + (uint32_t)(**p - '0');
    return *width > 0;
}

static enum hr_err expand(struct expansion *x, const char *p, size_t n);

/* Each number from..to in turn, then what follows the bracket. */
static enum hr_err each(struct expansion *x, uint32_t from, uint32_t to, int width,
                        const char *rest, size_t n)
{
    for (uint32_t i = from; i <= to; i++) {
        int more = snprintf(x->name + n, NAME_MAX_BYTES - n, "%0*u", width, i);
        if ((size_t)more >= NAME_MAX_BYTES - n)
            return wrong(x, rest, "the name is too long");
        TRY(expand(x, rest, n + (size_t)more));
    }
    return HR_OK;
}

/* A bracket at p, behind n bytes of the name. */
static enum hr_err bracket(struct expansion *x, const char *p, size_t n)
{
    const char *close = memchr(p, ']', (size_t)(x->end - p));
    if (!close)
        return wrong(x, p, "the bracket is not closed");
    const char *at = p + 1;
    do {
        uint32_t from, to;
        int width, width_to;
        const char *number = at;
        if (!digits(&at, close, &from, &width))
            return wrong(x, number, "a number is due here");
        to = from;
        if (at < close && *at == '-') {
            const char *second = ++at;
            if (!digits(&at, close, &to, &width_to))
                return wrong(x, second, "a number is due here");
        }
        if (to < from)
            return wrong(x, number, "the range runs backwards");
        if (at < close && *at != ',')
            return wrong(x, at, "a comma or a closing bracket is due here");
        TRY(each(x, from, to, width, close + 1, n));
    } while (at++ < close);
    return HR_OK;
}

/* The name from p on, behind n bytes that are there. */
static enum hr_err expand(struct expansion *x, const char *p, size_t n)
{
    for (; p < x->end && *p != '['; p++) {
        if (*p == ']')
            return wrong(x, p, "a bracket closes that was not opened");
        if (n + 1 == NAME_MAX_BYTES)
            return wrong(x, p, "the name is too long");
        x->name[n++] = *p;
    }
    if (p < x->end)
        return bracket(x, p, n);
    if (x->list->n == x->limit)
        return HR_LIMIT;
    const char *name = arena_strndup(x->arena, x->name, n);
    return name && vec_push(x->list, name) ? HR_OK : HR_NOMEM;
}

/* The end of the name at p: a comma outside of brackets. */
static const char *name_end(const char *p, const char *end)
{
    bool inside = false;
    for (; p < end && (inside || *p != ','); p++)
        inside = *p == '[' || (inside && *p != ']');
    return p;
}

enum hr_err hostlist_expand(struct hostlist *list, const char *text, size_t n, size_t limit,
                            struct arena *arena, const char **at, const char **what)
{
    struct expansion x = {.list = list, .arena = arena, .limit = limit, .at = at, .what = what};
    const char *end = text + n;
    for (const char *p = text;; p = x.end + 1) {
        x.end = name_end(p, end);
        if (x.end == p)
            return wrong(&x, p, "a name is due here");
        TRY(expand(&x, p, 0));
        if (x.end == end)
            return HR_OK;
    }
}
