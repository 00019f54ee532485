/* Quantities with units, read and printed.
 *
 * A scenario never holds a bare number where a unit is due: `90s`, `7d`, `80GiB`, `$2.10/h`,
 * `40req/s`, `1.5GPU/min`, `95%`. GB is a power of ten, GiB of two; a month is 30 days. */
#ifndef HEADROOM_SIM_UNITS_H
#define HEADROOM_SIM_UNITS_H

#include "sim/err.h"

#include <stddef.h>

enum unit_kind {
    UNIT_NONE,      /* a plain number */
    UNIT_TIME,      /* value in seconds: ns us ms s min h d w month year */
    UNIT_BYTES,     /* value in bytes: B kB MB GB TB KiB MiB GiB TiB */
    UNIT_BANDWIDTH, /* value in bytes per second: bytes unit then /s */
    UNIT_RATE,      /* value in 1/s: req/s, req/min, 1/s, /s, job/h, ... */
    UNIT_GPU,       /* whole or fractional GPUs; the suffix GPU or GPUs is optional */
    UNIT_GPU_RATE,  /* value in GPU/s: GPU/s GPU/min GPU/h */
    UNIT_TOKENS,    /* whole tokens; suffix tok, tokens or token optional; k and M allowed */
    UNIT_USD_PER_H, /* value in $/h: $2.10/h, 2.10 $/h, $2.10/GPU-h */
    UNIT_USD,       /* value in $: $100 */
    UNIT_FRACTION,  /* value 0.95 written 0.95 or 95% */
    UNIT_POWER,     /* value in W: W kW MW */
    UNIT_KINDS
};

/* Reads the whole of text[0..n) as a quantity of the kind. On HR_INPUT *why is a static text that
 * says what is wrong ("needs a unit, such as 90s", "unknown unit, expected one of s, min, h, ...")
 * and *value is unchanged. NaN and infinity are refused. */
enum hr_err unit_parse(const char *text, size_t n, enum unit_kind kind, double *value,
                       const char **why);

/* Writes value in the largest unit that keeps it at or above 1 ("90s" stays 90s: whole values stay
 * whole, up to 6 digits), always readable by unit_parse. Returns the length as snprintf does. */
int unit_print(char *out, size_t size, double value, enum unit_kind kind);

/* What a person is told is expected: "a time such as 90s or 1.5h". */
const char *unit_expectation(enum unit_kind kind);

/* Unit of the printed SI value for tables and files: "s", "B", "s-1", "1", ... */
const char *unit_symbol(enum unit_kind kind);

#endif
