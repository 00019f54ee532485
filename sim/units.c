/* Quantities with units: one table of suffixes a kind, one reader, one printer.
 *
 * A suffix holds a multiplier and a divisor, of which one is 1, so that 27.5ms is 27.5 / 1000 and
 * not 27.5 times a rounded thousandth: every decimal comes out as the nearest double.
 *
 * Printing chooses, among the units in which the value is at least 1 and exact, the one with the
 * fewest digits (90s, but 2min; 152.3s), the larger unit in a tie; where none is exact, the largest
 * that keeps the value at or above 1. */
#include "sim/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 }; /* longest number read */

struct suffix {
    const char *name;
    double mul, div;
    bool print; /* a choice for unit_print */
};

/* Each table goes from small to large and ends with a NULL name. */
static const struct suffix time_suffixes[] = {
    {"ns", 1, 1e9, true},         {"us", 1, 1e6, true},
    {"ms", 1, 1e3, true},         {"s", 1, 1, true},
    {"min", 60, 1, true},         {"h", 3600, 1, true},
    {"d", 86400, 1, true},        {"w", 604800, 1, false},
    {"month", 2592000, 1, false}, {"year", 31536000, 1, false},
    {NULL, 0, 0, false},
};

#define KIB 1024.0
static const struct suffix byte_suffixes[] = {
    {"B", 1, 1, true},
    {"kB", 1e3, 1, true},
    {"KiB", KIB, 1, true},
    {"MB", 1e6, 1, true},
    {"MiB", KIB *KIB, 1, true},
    {"GB", 1e9, 1, true},
    {"GiB", KIB *KIB *KIB, 1, true},
    {"TB", 1e12, 1, true},
    {"TiB", KIB *KIB *KIB *KIB, 1, true},
    {NULL, 0, 0, false},
};

static const struct suffix rate_suffixes[] = {
    {"/d", 1, 86400, true}, {"/h", 1, 3600, true}, {"/min", 1, 60, true},
    {"/s", 1, 1, true},     {NULL, 0, 0, false},
};

static const struct suffix gpu_suffixes[] = {
    {"GPU", 1, 1, true}, {"GPUs", 1, 1, false}, {"", 1, 1, false}, {NULL, 0, 0, false}};

static const struct suffix gpu_rate_suffixes[] = {
    {"GPU/d", 1, 86400, true},  {"GPU/h", 1, 3600, true},    {"GPU/min", 1, 60, true},
    {"GPU/s", 1, 1, true},      {"GPUs/d", 1, 86400, false}, {"GPUs/h", 1, 3600, false},
    {"GPUs/min", 1, 60, false}, {"GPUs/s", 1, 1, false},     {NULL, 0, 0, false},
};

static const struct suffix token_suffixes[] = {
    {"tok", 1, 1, true},         {"token", 1, 1, false}, {"tokens", 1, 1, false},
    {"", 1, 1, false},           {"ktok", 1e3, 1, true}, {"k", 1e3, 1, false},
    {"k tokens", 1e3, 1, false}, {"Mtok", 1e6, 1, true}, {"M", 1e6, 1, false},
    {"M tokens", 1e6, 1, false}, {NULL, 0, 0, false},
};

static const struct suffix power_suffixes[] = {
    {"W", 1, 1, true}, {"kW", 1e3, 1, true}, {"MW", 1e6, 1, true}, {NULL, 0, 0, false}};

static const struct suffix fraction_suffixes[] = {
    {"%", 1, 100, true}, {"", 1, 1, false}, {NULL, 0, 0, false}};

static const struct suffix usd_suffixes[] = {{"", 1, 1, true}, {NULL, 0, 0, false}};

static const struct suffix usd_per_h_suffixes[] = {
    {"/h", 1, 1, true}, {"/GPU-h", 1, 1, false}, {"/GPU/h", 1, 1, false}, {NULL, 0, 0, false}};

static const struct suffix none_suffixes[] = {{"", 1, 1, true}, {NULL, 0, 0, false}};

struct kind {
    const struct suffix *suffixes;
    const char *needs;       /* said of a bare number; NULL: a bare number is right or cannot be */
    const char *unknown;     /* said of a wrong suffix */
    const char *expectation; /* "a time such as 90s or 1.5h" */
    const char *symbol;
};

static const struct kind kinds[UNIT_KINDS] = {
    [UNIT_NONE] = {none_suffixes, NULL, "takes a plain number without a unit", "a plain number",
                   "1"},
    [UNIT_TIME] = {time_suffixes, "needs a unit, such as 90s",
                   "unknown unit, expected one of ns, us, ms, s, min, h, d, w, month, year",
                   "a time such as 90s or 1.5h", "s"},
    [UNIT_BYTES] = {byte_suffixes, "needs a unit, such as 80GiB",
                    "unknown unit, expected one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
                    "a size such as 80GiB or 140GB", "B"},
    [UNIT_BANDWIDTH] = {byte_suffixes, "needs a unit, such as 5GB/s",
                        "unknown unit, expected a size per second such as GB/s or MiB/s",
                        "a bandwidth such as 5GB/s", "B s-1"},
    [UNIT_RATE] = {rate_suffixes, "needs a unit, such as 40req/s",
                   "unknown unit, expected one of req/s, req/min, req/h, req/d, /s, job/h",
                   "a rate such as 40req/s or 10job/h", "s-1"},
    [UNIT_GPU] = {gpu_suffixes, NULL, "unknown unit, expected GPU",
                  "a number of GPUs such as 64GPU", "1"},
    [UNIT_GPU_RATE] = {gpu_rate_suffixes, "needs a unit, such as 1.5GPU/min",
                       "unknown unit, expected one of GPU/s, GPU/min, GPU/h, GPU/d",
                       "GPUs per time such as 1.5GPU/min", "s-1"},
    [UNIT_TOKENS] = {token_suffixes, NULL, "unknown unit, expected one of tok, k, M",
                     "a number of tokens such as 2048 or 600k", "1"},
    [UNIT_USD_PER_H] = {usd_per_h_suffixes, "needs a unit, such as $2.10/h",
                        "unknown unit, expected $/h or $/GPU-h", "a price such as $2.10/h",
                        "USD h-1"},
    [UNIT_USD] = {usd_suffixes, "needs a $ sign, such as $100", "unknown unit, expected $",
                  "an amount such as $100", "USD"},
    [UNIT_FRACTION] = {fraction_suffixes, NULL, "unknown unit, expected % or none",
                       "a fraction such as 0.95 or 95%", "1"},
    [UNIT_POWER] = {power_suffixes, "needs a unit, such as 700W",
                    "unknown unit, expected one of W, kW, MW", "a power such as 700W or 10.2kW",
                    "W"},
};

/* A piece of the text being read; the text need not end in a NUL. */
struct span {
    const char *at, *end;
};

static bool take(struct span *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static void trim(struct span *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
    while (s->end > s->at && (s->end[-1] == ' ' || s->end[-1] == '\t'))
        s->end--;
}

static bool digit_at(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
    while (digit_at(p, end))
        p++;
    return p;
}

/* [sign] digits [. digits] [e [sign] digits]; an e without digits belongs to what follows. */
static bool take_number(struct span *s, struct span *number)
{
    const char *p = s->at;
    p += p < s->end && (*p == '-' || *p == '+');
    const char *whole = p;
    p = skip_digits(p, s->end);
    bool any = p > whole;
    if (p < s->end && *p == '.') {
        const char *fraction = skip_digits(p + 1, s->end);
        any = any || fraction > p + 1;
        p = fraction;
    }
    if (any && p < s->end && (*p == 'e' || *p == 'E')) {
        const char *power = p + 1;
        power += power < s->end && (*power == '-' || *power == '+');
        if (digit_at(power, s->end))
            p = skip_digits(power, s->end);
    }
    *number = (struct span){s->at, p};
    s->at = p;
    return any && number->end - number->at <= NUMBER_BYTES;
}

/* The number times mul / div. A power of ten below goes into the exponent of the text, so that
 * 99.9% is the same double as 0.999. The C locale holds: nothing here calls setlocale. */
static double number_value(const struct span *number, double mul, double div)
{
    char text[NUMBER_BYTES + 8];
    size_t n = (size_t)(number->end - number->at);
    memcpy(text, number->at, n);
    text[n] = '\0';
    const char *power = div == 100 ? "e-2" : div == 1e3 ? "e-3" : div == 1e6 ? "e-6" : "e-9";
    bool decimal = div == 100 || div == 1e3 || div == 1e6 || div == 1e9;
    if (!decimal || strpbrk(text, "eE"))
        return strtod(text, NULL) * mul / div;
    memcpy(text + n, power, sizeof "e-9");
    return strtod(text, NULL) * mul;
}

static bool equals(const struct span *s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s->end - s->at) == n && memcmp(s->at, word, n) == 0;
}

static const struct suffix *find_suffix(const struct suffix *table, const struct span *s)
{
    for (; table->name; table++)
        if (equals(s, table->name))
            return table;
    return NULL;
}

/* What a rate counts is for the reader only: req, job and 1 all read as a count. */
static void take_counted(struct span *s)
{
    static const char *const words[] = {"requests", "request", "req", "jobs", "job", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take(s, words[i]))
            return;
}

/* The part after the number, up to the suffix of the table. */
static bool take_before_suffix(struct span *s, enum unit_kind kind, bool *dollar)
{
    if (kind == UNIT_RATE)
        take_counted(s);
    if ((kind == UNIT_USD || kind == UNIT_USD_PER_H) && !*dollar)
        *dollar = take(s, "$");
    if (kind == UNIT_BANDWIDTH) {
        if (s->end - s->at < 2 || memcmp(s->end - 2, "/s", 2) != 0)
            return false;
        s->end -= 2;
    }
    return true;
}

static enum hr_err fail(const char **why, const char *text)
{
    *why = text;
    return HR_INPUT;
}

enum hr_err unit_parse(const char *text, size_t n, enum unit_kind kind, double *value,
                       const char **why)
{
    const struct kind *k = &kinds[kind];
    bool money = kind == UNIT_USD || kind == UNIT_USD_PER_H;
    struct span s = {text, text + n};
    trim(&s);
    if (s.at == s.end)
        return fail(why, "is empty");
    bool dollar = money && take(&s, "$");
    struct span number;
    if (!take_number(&s, &number))
        return fail(why, "is not a number");
    trim(&s);
    bool bare = s.at == s.end && !dollar;
    if (bare && k->needs)
        return fail(why, k->needs);
    if (!take_before_suffix(&s, kind, &dollar))
        return fail(why, k->unknown);
    const struct suffix *found = find_suffix(k->suffixes, &s);
    if (!found && s.at == s.end && k->needs)
        return fail(why, k->needs);
    if (!found || (money && !dollar))
        return fail(why, k->unknown);
    double result = number_value(&number, found->mul, found->div);
    if (!isfinite(result))
        return fail(why, "is not a finite number");
    if (kind == UNIT_TOKENS && result != floor(result))
        return fail(why, "is not a whole number of tokens");
    *value = result;
    return HR_OK;
}

/* Digits of the number in the unit, and whether they stand for the very value. */
static size_t digits_in(double value, const struct suffix *unit, bool *exact)
{
    char text[32];
    double number = value * unit->div / unit->mul;
    int n = snprintf(text, sizeof text, "%.6g", number);
    *exact = number_value(&(struct span){text, text + n}, unit->mul, unit->div) == value;
    return (size_t)n;
}

static const struct suffix *best_suffix(double value, const struct suffix *table)
{
    const struct suffix *best = NULL, *fallback = NULL;
    size_t fewest = SIZE_MAX;
    for (; table->name; table++) {
        if (!table->print)
            continue;
        bool exact, fits = fabs(value) * table->div >= table->mul;
        if (!fallback || fits)
            fallback = table;
        size_t n = digits_in(value, table, &exact);
        if (exact && fits && n <= fewest) {
            fewest = n;
            best = table;
        }
    }
    return best ? best : fallback;
}

static const struct suffix *base_suffix(const struct suffix *table)
{
    while (table->mul != 1 || table->div != 1 || !table->print)
        table++;
    return table;
}

int unit_print(char *out, size_t size, double value, enum unit_kind kind)
{
    const struct suffix *table = kinds[kind].suffixes;
    const struct suffix *unit = kind == UNIT_FRACTION ? table
                                : value == 0          ? base_suffix(table)
                                                      : best_suffix(value, table);
    bool money = kind == UNIT_USD || kind == UNIT_USD_PER_H;
    return snprintf(out, size, "%s%.6g%s%s", money ? "$" : "", value * unit->div / unit->mul,
                    unit->name, kind == UNIT_BANDWIDTH ? "/s" : "");
}

const char *unit_expectation(enum unit_kind kind)
{
    return kinds[kind].expectation;
}

const char *unit_symbol(enum unit_kind kind)
{
    return kinds[kind].symbol;
}
