/* Values in trace files: numbers, lengths of time and points in time, read from text of known
 * length without locale, errno or rounding through doubles.
 *
 * A decimal number is kept as digits times a power of ten, so "1.25" of any unit becomes a whole
 * count of nanoseconds exactly (rounded half up below one). */
#ifndef HEADROOM_TRACES_VALUE_H
#define HEADROOM_TRACES_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_fault {
    VALUE_OK,
    VALUE_EMPTY,
    VALUE_NOT_A_NUMBER,
    VALUE_NAN,
    VALUE_NEGATIVE,
    VALUE_TOO_LARGE,
    VALUE_NOT_WHOLE,
    VALUE_NOT_A_TIME,
    VALUE_NOT_A_DATE,
    VALUE_NOT_A_FLAG,
    VALUE_FAULTS
};

/* What is wrong, as the end of a sentence: "is not a number". */
extern const char *const value_fault_text[VALUE_FAULTS];

/* Text without blanks around it. */
static inline void value_trim(const char **text, size_t *n)
{
    while (*n > 0 && (**text == ' ' || **text == '\t'))
        ++*text, --*n;
    while (*n > 0 && ((*text)[*n - 1] == ' ' || (*text)[*n - 1] == '\t'))
        --*n;
}

/* [-]digits[.digits][e[+-]digits] times unit, rounded half up to a whole number. */
enum value_fault value_scaled(const char *text, size_t n, uint64_t unit, uint64_t *out);

/* A whole number in 0..max, which may be written 12.0 or 1.2e1. */
enum value_fault value_whole(const char *text, size_t n, uint64_t max, uint64_t *out);

enum value_fault value_int32(const char *text, size_t n, int32_t *out);

/* A number >= 0 as a double. */
enum value_fault value_real(const char *text, size_t n, double *out);

enum value_fault value_flag(const char *text, size_t n, bool *out);

/* What reading timestamps needs and notes. Zero is a clock at UTC. */
struct value_clock {
    int32_t zone_s; /* of timestamps without one, east of UTC */
    bool naive;     /* such a one was read */
    char date[10];  /* the last date read, and its midnight: rows of one day are many */
    int64_t midnight_ns;
};

/* YYYY-MM-DD, blank or T, HH:MM:SS, up to nine digits of fraction, and Z, +HH:MM, +HHMM, +HH or
 * nothing, as nanoseconds since 1970-01-01 UTC in the years 1700 to 2200. */
enum value_fault value_timestamp(const char *text, size_t n, struct value_clock *clock,
                                 int64_t *out);

/* Z, UTC, +HH:MM, +HHMM or +HH as seconds east of UTC. */
bool value_zone(const char *text, size_t n, int32_t *zone_s);

/* "2023-11-16 18:17:03.9799600" of nanoseconds since 1970 at an offset; fraction digits 0 to 9. */
enum { VALUE_STAMP_SIZE = 40 };
void value_print_timestamp(char out[VALUE_STAMP_SIZE], int64_t ns, int32_t zone_s, int digits);

/* Offset of the first byte that is not UTF-8 (RFC 3629: no surrogates, shortest forms); n when all
 * is well. */
size_t value_utf8_fault(const char *text, size_t n);

#endif
