/* Named units with their dimensions, products and quotients of them, numbers in them. */
#include "analysis/worksheets/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum dimension { TIME, DATA, ENERGY, MONEY, DIMENSIONS };

struct measure {
    double scale;
    int power[DIMENSIONS];
};

struct named_unit {
    const char *name;
    double scale;
    int time, data, energy, money;
};

/* Base units: s, byte, J, $. */
static const struct named_unit table[] = {
    {"ns", 1e-9, 1, 0, 0, 0},
    {"us", 1e-6, 1, 0, 0, 0},
    {"ms", 1e-3, 1, 0, 0, 0},
    {"s", 1, 1, 0, 0, 0},
    {"min", 60, 1, 0, 0, 0},
    {"h", 3600, 1, 0, 0, 0},
    {"d", 86400, 1, 0, 0, 0},
    {"day", 86400, 1, 0, 0, 0},
    {"days", 86400, 1, 0, 0, 0},
    {"week", 604800, 1, 0, 0, 0},
    {"month", 2592000, 1, 0, 0, 0},
    {"year", 31536000, 1, 0, 0, 0},
    {"B", 1, 0, 1, 0, 0},
    {"bytes", 1, 0, 1, 0, 0},
    {"kB", 1e3, 0, 1, 0, 0},
    {"MB", 1e6, 0, 1, 0, 0},
    {"GB", 1e9, 0, 1, 0, 0},
    {"TB", 1e12, 0, 1, 0, 0},
    {"PB", 1e15, 0, 1, 0, 0},
    {"KiB", 1024, 0, 1, 0, 0},
    {"MiB", 1048576, 0, 1, 0, 0},
    {"GiB", 1073741824, 0, 1, 0, 0},
    {"TiB", 1099511627776, 0, 1, 0, 0},
    {"b", 0.125, 0, 1, 0, 0},
    {"kb", 125, 0, 1, 0, 0},
    {"Mb", 125e3, 0, 1, 0, 0},
    {"Gb", 125e6, 0, 1, 0, 0},
    {"Tb", 125e9, 0, 1, 0, 0},
    {"Gbps", 125e6, -1, 1, 0, 0},
    {"J", 1, 0, 0, 1, 0},
    {"W", 1, -1, 0, 1, 0},
    {"kW", 1e3, -1, 0, 1, 0},
    {"MW", 1e6, -1, 0, 1, 0},
    {"Wh", 3600, 0, 0, 1, 0},
    {"kWh", 3.6e6, 0, 0, 1, 0},
    {"MWh", 3.6e9, 0, 0, 1, 0},
    {"$", 1, 0, 0, 0, 1},
    {"USD", 1, 0, 0, 0, 1},
    {"%", 0.01, 0, 0, 0, 0},
    {"k", 1e3, 0, 0, 0, 0},
    {"M", 1e6, 0, 0, 0, 0},
    {"10^9", 1e9, 0, 0, 0, 0},
    {"billion", 1e9, 0, 0, 0, 0},
};

/* What is counted has no dimension. */
static const char *const things[] = {
    "",         "1",         "0/1",      "fraction", "count",    "GPU",        "GPUs",    "job",
    "jobs",     "node",      "nodes",    "server",   "servers",  "erlang",     "erlangs", "request",
    "requests", "req",       "place",    "places",   "team",     "teams",      "gang",    "gangs",
    "session",  "sessions",  "host",     "hosts",    "instance", "instances",  "pod",     "pods",
    "slot",     "slots",     "tenant",   "tenants",  "token",    "tokens",     "tok",     "adapter",
    "adapters", "unit",      "units",    "bin",      "bins",     "slice",      "slices",  "user",
    "users",    "replica",   "replicas", "wave",     "waves",    "port",       "ports",   "switch",
    "switches", "link",      "links",    "rack",     "racks",    "step",       "steps",   "param",
    "params",   "parameter", "base",     "bases",    "vCPU",     "useful",     "owned",   "weight",
    "per",      "segment",   "segments", "save",     "saves",    "preemption", "event",   "events",
    "period",   "periods",
};

enum { UNITS = sizeof table / sizeof table[0], THINGS = sizeof things / sizeof things[0] };

static bool is(const char *name, const char *text, size_t n)
{
    return strlen(name) == n && strncmp(name, text, n) == 0;
}

/* Multiplies m by a named unit to the power of sign. */
static bool apply(struct measure *m, const char *text, size_t n, int sign)
{
    for (size_t i = 0; i < THINGS; i++)
        if (is(things[i], text, n))
            return true;
    for (size_t i = 0; i < UNITS; i++) {
        const struct named_unit *u = &table[i];
        if (!is(u->name, text, n))
            continue;
        m->scale = sign > 0 ? m->scale * u->scale : m->scale / u->scale;
        m->power[TIME] += sign * u->time;
        m->power[DATA] += sign * u->data;
        m->power[ENERGY] += sign * u->energy;
        m->power[MONEY] += sign * u->money;
        return true;
    }
    return false;
}

static bool measure(const char *text, size_t n, struct measure *m)
{
    *m = (struct measure){.scale = 1};
    if (is("0/1", text, n) || is("-", text, n))
        return true;
    for (int sign = 1;; sign = -1) {
        size_t part = 0;
        while (part < n && text[part] != '/')
            part++;
        for (size_t at = 0; at <= part;) {
            size_t bytes = 0;
            while (at + bytes < part && text[at + bytes] != '-' && text[at + bytes] != ' ')
                bytes++;
            if (!apply(m, text + at, bytes, sign))
                return false;
            at += bytes + 1;
        }
        if (part >= n)
            return true;
        text += part + 1;
        n -= part + 1;
    }
}

static bool same_dimension(const struct measure *a, const struct measure *b)
{
    return memcmp(a->power, b->power, sizeof a->power) == 0;
}

bool sheet_unit_known(const char *unit)
{
    struct measure m;
    return measure(unit, strlen(unit), &m);
}

bool sheet_unit_involves(const char *unit, const char *base)
{
    struct measure a, b;
    if (!measure(unit, strlen(unit), &a) || !measure(base, strlen(base), &b))
        return false;
    for (int d = 0; d < DIMENSIONS; d++)
        if (a.power[d] != 0 && b.power[d] != 0)
            return true;
    return false;
}

/* "$2.10/GPU-h": the sign stands before the number and belongs to the unit. */
static enum hr_err convert(double number, bool dollars, const char *unit, size_t n, const char *to,
                           double *value, const char **why)
{
    struct measure from, target;
    char with_sign[64];
    if (dollars && snprintf(with_sign, sizeof with_sign, "$%.*s", (int)n, unit) < 64) {
        unit = with_sign;
        n = strlen(with_sign);
    }
    if (!measure(to, strlen(to), &target) || !measure(unit, n, &from)) {
        *why = "has an unknown unit";
        return HR_INPUT;
    }
    if (n > 0 && !same_dimension(&from, &target)) {
        *why = "has a unit of another kind";
        return HR_INPUT;
    }
    /* A unit without dimension still counts: 5% of 1, 3k of 1. A quotient keeps 90s in minutes
     * exact, where a product with a rounded 1/60 would not. */
    *value = n == 0 || from.scale == target.scale ? number
             : from.scale > target.scale          ? number * (from.scale / target.scale)
                                                  : number / (target.scale / from.scale);
    return HR_OK;
}

enum hr_err sheet_unit_read(const char *text, size_t n, const char *to, double *value,
                            const char **why)
{
    char copy[96], *end;
    if (n == 0 || n >= sizeof copy) {
        *why = n ? "is too long" : "has no value";
        return HR_INPUT;
    }
    memcpy(copy, text, n);
    copy[n] = 0;
    char *number = copy;
    const bool dollars = *number == '$';
    number += dollars;
    const double x = strtod(number, &end);
    if (end == number || isnan(x) || strpbrk(number, "xXpP") == number + 1) {
        *why = "is no number";
        return HR_INPUT;
    }
    while (*end == ' ')
        end++;
    /* A lone "$5" names no period: the dollars are those of the table. */
    const bool bare = *end == 0;
    return convert(x, dollars && !bare, end, strlen(end), to, value, why);
}
