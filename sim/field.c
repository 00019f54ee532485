/* Reading a single value by its row in a field table.
 *
 * Bounds that hold where a row gives none: numbers are at least 0, times at most 100 years (so sums
 * of a few stay inside 64-bit nanoseconds), whole numbers at most 1e9 (the models count in 32
 * bits). */
#include "sim/field.h"

#include "sim/diag.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#define LONGEST_TIME_S (100.0 * 365 * 86400)
#define LARGEST_WHOLE  1e9

enum { SHOWN_BYTES = 60, MAX_NAMES = 64 };

const struct field *field_find(const struct field_table *table, const char *key)
{
    for (size_t i = 0; i < table->n_fields; i++)
        if (strcmp(table->fields[i].key, key) == 0)
            return &table->fields[i];
    return NULL;
}

const char *field_nearest(const struct field_table *table, const char *key)
{
    const char *names[MAX_NAMES];
    assert(table->n_fields <= MAX_NAMES);
    for (size_t i = 0; i < table->n_fields; i++)
        names[i] = table->fields[i].key;
    return diag_nearest(key, names, table->n_fields);
}

static void *member(const struct field *f, void *base)
{
    return (char *)base + f->offset;
}

void field_unset(const struct field *f, void *base)
{
    void *p = member(f, base);
    switch (f->kind) {
    case FIELD_TEXT:
        *(const char **)p = NULL;
        break;
    case FIELD_NUMBER:
        *(double *)p = NAN;
        break;
    case FIELD_WHOLE:
        *(uint64_t *)p = FIELD_NO_WHOLE;
        break;
    case FIELD_FLAG:
        *(bool *)p = false;
        break;
    case FIELD_WORD:
        *(int *)p = FIELD_NO_WORD;
        break;
    case FIELD_MOMENT:
        *(struct field_moment *)p = (struct field_moment){.s = NAN};
        break;
    case FIELD_EITHER:
        *(struct field_either *)p = (struct field_either){NAN, FIELD_NO_WORD};
        break;
    case FIELD_TABLE:
        memset(p, 0, f->table->size);
        break;
    case FIELD_LIST:
    case FIELD_MAP:
        *(struct field_list *)p = (struct field_list){0};
        break;
    case FIELD_TREE:
        *(const void **)p = NULL;
        break;
    case FIELD_KINDS:
        assert(false && "a kind");
    }
}

static double upper_bound(const struct field *f)
{
    if (f->max != 0)
        return f->max;
    if (f->kind == FIELD_WHOLE)
        return LARGEST_WHOLE;
    return f->unit == UNIT_TIME ? LONGEST_TIME_S : INFINITY;
}

static enum hr_err refuse(char *why, const char *text, const char *reason)
{
    snprintf(why, FIELD_WHY_BYTES, "'%.*s'%s %s", SHOWN_BYTES, text,
             strlen(text) > SHOWN_BYTES ? "..." : "", reason);
    return HR_INPUT;
}

static enum hr_err refuse_bound(const struct field *f, char *why, const char *text,
                                const char *relation, double bound)
{
    char shown[64], reason[128];
    unit_print(shown, sizeof shown, bound, f->unit);
    snprintf(reason, sizeof reason, "must be %s %s", relation, shown);
    return refuse(why, text, reason);
}

static enum hr_err check_bounds(const struct field *f, const char *text, double value, char *why)
{
    if (f->above && value <= f->min)
        return refuse_bound(f, why, text, "above", f->min);
    if (value < f->min)
        return refuse_bound(f, why, text, "at least", f->min);
    if (value > upper_bound(f))
        return refuse_bound(f, why, text, "at most", upper_bound(f));
    return HR_OK;
}

static enum hr_err read_number(const struct field *f, const char *text, double *out, char *why)
{
    double value;
    const char *reason;
    if (unit_parse(text, strlen(text), f->unit, &value, &reason) != HR_OK)
        return refuse(why, text, reason);
    if (f->kind == FIELD_WHOLE && value != floor(value))
        return refuse(why, text, "must be a whole number");
    TRY(check_bounds(f, text, value, why));
    *out = value;
    return HR_OK;
}

static enum hr_err read_flag(const char *text, bool *out, char *why)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2 == 1;
            return HR_OK;
        }
    return refuse(why, text, "must be yes or no");
}

/* Words are the same with - and _: both are about in the field's own tools. */
static bool same_word(const char *a, const char *b)
{
    while (*a && (*a == *b || (*a == '-' && *b == '_') || (*a == '_' && *b == '-')))
        a++, b++;
    return *a == *b;
}

static int find_word(const struct field *f, const char *text)
{
    for (size_t i = 0; i < f->n_words; i++)
        if (same_word(text, f->words[i]))
            return (int)i;
    return FIELD_NO_WORD;
}

static enum hr_err read_word(const struct field *f, const char *text, int *out, char *why,
                             const char **nearest)
{
    int word = find_word(f, text);
    if (word != FIELD_NO_WORD) {
        *out = word;
        return HR_OK;
    }
    char reason[FIELD_WHY_BYTES - SHOWN_BYTES - 8] = "must be ";
    size_t n = strlen(reason);
    field_expectation(f, reason + n, sizeof reason - n);
    *nearest = diag_nearest(text, f->words, f->n_words);
    return refuse(why, text, reason);
}

static bool looks_like_number(const char *text)
{
    return strpbrk(text, "0123456789") != NULL && strchr("0123456789.+-$", text[0]);
}

static enum hr_err read_either(const struct field *f, const char *text, struct field_either *out,
                               char *why, const char **nearest)
{
    struct field_either value = {NAN, FIELD_NO_WORD};
    if (looks_like_number(text))
        TRY(read_number(f, text, &value.number, why));
    else
        TRY(read_word(f, text, &value.word, why, nearest));
    *out = value;
    return HR_OK;
}

/* Takes digits (at most 4) and the character after them. */
static bool take_digits(const char **p, unsigned *value)
{
    const char *start = *p;
    *value = 0;
    while (**p >= '0' && **p <= '9' && *p - start < 4)
        *value = *value * 10 + (unsigned)(*(*p)++ - '0');
    return *p > start;
}

/* [N d] HH:MM[:SS] */
static bool read_clock(const char *text, double *s)
{
    unsigned days = 0, hours, minutes, seconds = 0;
    const char *p = text;
    if (!take_digits(&p, &hours))
        return false;
    if (*p == 'd') {
        days = hours;
        p++;
        while (*p == ' ')
            p++;
        if (!take_digits(&p, &hours))
            return false;
    }
    if (*p++ != ':' || !take_digits(&p, &minutes))
        return false;
    if (*p == ':') {
        p++;
        if (!take_digits(&p, &seconds))
            return false;
    }
    if (*p != '\0' || hours > 23 || minutes > 59 || seconds > 59)
        return false;
    *s = days * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds;
    return true;
}

static enum hr_err read_moment(const struct field *f, const char *text, struct field_moment *out,
                               char *why)
{
    struct field_moment value = {.clock = strchr(text, ':') != NULL};
    if (!value.clock)
        TRY(read_number(f, text, &value.s, why));
    else if (!read_clock(text, &value.s))
        return refuse(why, text, "is not a time of day such as 10:30, or 1d 10:30 for a day later");
    *out = value;
    return HR_OK;
}

enum hr_err field_read(const struct field *f, const char *text, void *base, char *why,
                       const char **nearest)
{
    void *p = member(f, base);
    double whole;
    *nearest = NULL;
    switch (f->kind) {
    case FIELD_TEXT:
        *(const char **)p = text;
        return HR_OK;
    case FIELD_NUMBER:
        return read_number(f, text, p, why);
    case FIELD_WHOLE:
        TRY(read_number(f, text, &whole, why));
        *(uint64_t *)p = (uint64_t)whole;
        return HR_OK;
    case FIELD_FLAG:
        return read_flag(text, p, why);
    case FIELD_WORD:
        return read_word(f, text, p, why, nearest);
    case FIELD_MOMENT:
        return read_moment(f, text, p, why);
    case FIELD_EITHER:
        return read_either(f, text, p, why, nearest);
    case FIELD_TABLE:
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_TREE:
    case FIELD_KINDS:
        break;
    }
    assert(false && "a single value");
    return HR_INPUT;
}

/* snprintf at the end of what is there; *n counts what would have been written. */
__attribute__((format(printf, 4, 5))) static void append(char *out, size_t size, size_t *n,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int more = vsnprintf(*n < size ? out + *n : NULL, *n < size ? size - *n : 0, format, args);
    va_end(args);
    *n += more > 0 ? (size_t)more : 0;
}

static void append_words(const struct field *f, char *out, size_t size, size_t *n)
{
    for (size_t i = 0; i < f->n_words; i++) {
        const char *before = i == 0 ? "" : i + 1 == f->n_words ? " or " : ", ";
        append(out, size, n, "%s%s", before, f->words[i]);
    }
}

static void append_number(const struct field *f, char *out, size_t size, size_t *n)
{
    bool plain = f->kind == FIELD_WHOLE && f->unit == UNIT_NONE;
    char shown[64];
    append(out, size, n, "%s", plain ? "a whole number" : unit_expectation(f->unit));
    if (f->above || f->min != 0) {
        unit_print(shown, sizeof shown, f->min, f->unit);
        append(out, size, n, ", %s %s", f->above ? "above" : "at least", shown);
    }
    if (f->max != 0) {
        unit_print(shown, sizeof shown, f->max, f->unit);
        append(out, size, n, ", at most %s", shown);
    }
}

int field_expectation(const struct field *f, char *out, size_t size)
{
    size_t n = 0;
    switch (f->kind) {
    case FIELD_TEXT:
        append(out, size, &n, "a text");
        break;
    case FIELD_NUMBER:
    case FIELD_WHOLE:
        append_number(f, out, size, &n);
        break;
    case FIELD_FLAG:
        append(out, size, &n, "yes or no");
        break;
    case FIELD_WORD:
        append_words(f, out, size, &n);
        break;
    case FIELD_MOMENT:
        append(out, size, &n,
               "a time since the start such as 34.5h, or a time of day such as "
               "10:30 (1d 10:30: a day later)");
        break;
    case FIELD_EITHER:
        append_words(f, out, size, &n);
        append(out, size, &n, ", or ");
        append_number(f, out, size, &n);
        break;
    case FIELD_TABLE:
        append(out, size, &n, "keys of %s", f->table->name);
        break;
    case FIELD_LIST:
        append(out, size, &n, "a list of %s", f->table ? f->table->name : f->item->doc);
        break;
    case FIELD_MAP:
        append(out, size, &n, "a map of names to %s", f->table ? f->table->name : f->item->doc);
        break;
    case FIELD_TREE:
        append(out, size, &n, "any value");
        break;
    case FIELD_KINDS:
        assert(false && "a kind");
    }
    return (int)n;
}
