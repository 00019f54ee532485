/* See value.h. Calendar arithmetic: days from civil in the proleptic Gregorian calendar, after
 * H. Hinnant, "chrono-compatible low-level date algorithms", which counts in 400-year eras that
 * start on 1 March. */
#include "traces/value.h"

#include "sim/int128.h"
#include "sim/time.h"

#include <stdio.h>
#include <string.h>

const char *const value_fault_text[VALUE_FAULTS] = {
    [VALUE_OK] = "is right",
    [VALUE_EMPTY] = "is empty",
    [VALUE_NOT_A_NUMBER] = "is not a number",
    [VALUE_NAN] = "is not a finite number",
    [VALUE_NEGATIVE] = "is negative",
    [VALUE_TOO_LARGE] = "is out of range",
    [VALUE_NOT_WHOLE] = "is not a whole number",
    [VALUE_NOT_A_TIME] = "is not a time such as 2023-11-16 18:17:03.98",
    [VALUE_NOT_A_DATE] = "is not a date and time of the calendar",
    [VALUE_NOT_A_FLAG] = "is neither true nor false",
};

static bool same_word(const char *text, size_t n, const char *word)
{
    if (strlen(word) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
        if (c != word[i])
            return false;
    }
    return true;
}

static bool word_in(const char *text, size_t n, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++)
        if (same_word(text, n, words[i]))
            return true;
    return false;
}

/* --- decimal numbers --------------------------------------------------------------------- */

/* digits * 10^exponent. Digits beyond 19 significant ones count as zero. */
struct decimal {
    uint64_t digits;
    int32_t exponent;
    bool negative;
};

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static enum value_fault not_a_number(const char *text, size_t n)
{
    static const char *const nans[] = {"nan", "inf", "infinity", "null", "none", "na", "n/a"};
    if (n > 0 && (*text == '-' || *text == '+'))
        text++, n--;
    return word_in(text, n, nans, sizeof nans / sizeof *nans) ? VALUE_NAN : VALUE_NOT_A_NUMBER;
}

enum { EXPONENT_MAX = 100000 };

/* The digits after the e; false when there are none or something else. */
static bool parse_exponent(const char *p, const char *end, int32_t *out)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end)
        return false;
    int32_t e = 0;
    for (; p < end; p++) {
        if (!is_digit(*p))
            return false;
        if (e < EXPONENT_MAX)
            e = e * 10 + (*p - '0');
    }
    *out = negative ? -e : e;
    return true;
}

/* Takes the digits from *p on; dropped and fraction ones change the exponent. */
static size_t take_digits(const char **p, const char *end, bool fraction, struct decimal *d)
{
    const char *start = *p;
    for (; *p < end && is_digit(**p); ++*p) {
        if (d->digits < UINT64_MAX / 10 - 1) {
            d->digits = d->digits * 10 + (uint64_t)(**p - '0');
            d->exponent -= fraction;
        } else {
            d->exponent += !fraction;
        }
    }
    return (size_t)(*p - start);
}

static enum value_fault parse_decimal(const char *text, size_t n, struct decimal *d)
{
    value_trim(&text, &n);
    if (n == 0)
        return VALUE_EMPTY;
    const char *p = text, *end = text + n;
    *d = (struct decimal){.negative = *p == '-'};
    if (*p == '-' || *p == '+')
        p++;
    size_t n_digits = take_digits(&p, end, false, d);
    if (p < end && *p == '.') {
        p++;
        n_digits += take_digits(&p, end, true, d);
    }
    if (n_digits == 0)
        return not_a_number(text, n);
    if (p < end && (*p == 'e' || *p == 'E')) {
        int32_t e;
        if (!parse_exponent(p + 1, end, &e))
            return VALUE_NOT_A_NUMBER;
        d->exponent += e;
        p = end;
    }
    if (p != end)
        return VALUE_NOT_A_NUMBER;
    return d->negative && d->digits > 0 ? VALUE_NEGATIVE : VALUE_OK;
}

static const uint64_t powers[20] = {UINT64_C(1),
                                    UINT64_C(10),
                                    UINT64_C(100),
                                    UINT64_C(1000),
                                    UINT64_C(10000),
                                    UINT64_C(100000),
                                    UINT64_C(1000000),
                                    UINT64_C(10000000),
                                    UINT64_C(100000000),
                                    UINT64_C(1000000000),
                                    UINT64_C(10000000000),
                                    UINT64_C(100000000000),
                                    UINT64_C(1000000000000),
                                    UINT64_C(10000000000000),
                                    UINT64_C(100000000000000),
                                    UINT64_C(1000000000000000),
                                    UINT64_C(10000000000000000),
                                    UINT64_C(100000000000000000),
                                    UINT64_C(1000000000000000000),
                                    UINT64_C(10000000000000000000)};

/* digits * unit * 10^exponent, rounded half up; *exact says whether nothing was rounded. The
 * product of two 64-bit numbers fits 128 bits, so only a positive exponent can overflow, and that
 * is checked before each step. */
static enum value_fault scale(const struct decimal *d, uint64_t unit, uint64_t *out, bool *exact)
{
    u128 v = (u128)d->digits * unit;
    int32_t e = d->exponent;
    *exact = true;
    for (; e > 0 && v > 0; e--) {
        if (v > UINT64_MAX)
            return VALUE_TOO_LARGE;
        v *= 10;
    }
    while (e < 0 && v > 0) {
        int32_t step = e < -19 ? 19 : -e;
        u128 p = powers[step], rest = v % p;
        *exact = *exact && rest == 0;
        v = v / p + (e + step == 0 && rest >= p - rest);
        e += step;
    }
    if (v >= UINT64_MAX)
        return VALUE_TOO_LARGE;
    *out = (uint64_t)v;
    return VALUE_OK;
}

/* Plain digits, at most 19: most fields of most traces. */
static inline bool plain_digits(const char *text, size_t n, uint64_t *out)
{
    if (n == 0 || n > 19)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(text[i]))
            return false;
        v = v * 10 + (uint64_t)(text[i] - '0');
    }
    *out = v;
    return true;
}

enum value_fault value_scaled(const char *text, size_t n, uint64_t unit, uint64_t *out)
{
    struct decimal d;
    enum value_fault fault = parse_decimal(text, n, &d);
    bool exact;
    return fault == VALUE_OK ? scale(&d, unit, out, &exact) : fault;
}

enum value_fault value_whole(const char *text, size_t n, uint64_t max, uint64_t *out)
{
    uint64_t v;
    if (!plain_digits(text, n, &v)) {
        struct decimal d;
        enum value_fault fault = parse_decimal(text, n, &d);
        if (fault != VALUE_OK)
            return fault;
        bool exact;
        fault = scale(&d, 1, &v, &exact);
        if (fault != VALUE_OK)
            return fault;
        if (!exact)
            return VALUE_NOT_WHOLE;
    }
    if (v > max)
        return VALUE_TOO_LARGE;
    *out = v;
    return VALUE_OK;
}

enum value_fault value_int32(const char *text, size_t n, int32_t *out)
{
    value_trim(&text, &n);
    bool negative = n > 0 && *text == '-';
    uint64_t v;
    enum value_fault fault = value_whole(text + negative, n - negative, INT32_MAX, &v);
    if (fault == VALUE_OK)
        *out = negative ? -(int32_t)v : (int32_t)v;
    return fault;
}

enum value_fault value_real(const char *text, size_t n, double *out)
{
    struct decimal d;
    enum value_fault fault = parse_decimal(text, n, &d);
    if (fault != VALUE_OK)
        return fault;
    double v = (double)d.digits;
    int32_t e = d.exponent;
    for (; e > 0 && v > 0 && v < 1e300; e--)
        v *= 10;
    for (; e < 0 && v > 0; e += e < -19 ? 19 : -e)
        v /= (double)powers[e < -19 ? 19 : -e];
    if (v >= 1e300)
        return VALUE_TOO_LARGE;
    *out = v;
    return VALUE_OK;
}

enum value_fault value_flag(const char *text, size_t n, bool *out)
{
    static const char *const yes[] = {"true", "yes", "1", "t", "y"};
    static const char *const no[] = {"false", "no", "0", "f", "n"};
    value_trim(&text, &n);
    if (n == 0)
        return VALUE_EMPTY;
    *out = word_in(text, n, yes, sizeof yes / sizeof *yes);
    return *out || word_in(text, n, no, sizeof no / sizeof *no) ? VALUE_OK : VALUE_NOT_A_FLAG;
}

/* --- points in time ---------------------------------------------------------------------- */

static int64_t days_from_civil(int64_t y, unsigned m, unsigned d)
{
    y -= m <= 2;
    int64_t era = y / 400; /* y > 0 here */
    unsigned yoe = (unsigned)(y - era * 400);
    unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + (int64_t)doe - 719468;
}

static unsigned days_in_month(unsigned y, unsigned m)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return days[m - 1] + (m == 2 && leap ? 1U : 0U);
}

/* Two digits; a non-digit sets a bit above 127 in *bad. */
static inline unsigned two(const char *p, unsigned *bad)
{
    unsigned a = (unsigned char)(p[0] - '0'), b = (unsigned char)(p[1] - '0');
    *bad |= (a > 9) | (b > 9);
    return a * 10 + b;
}

bool value_zone(const char *text, size_t n, int32_t *zone_s)
{
    if (same_word(text, n, "z") || same_word(text, n, "utc")) {
        *zone_s = 0;
        return true;
    }
    if (n < 3 || (text[0] != '+' && text[0] != '-'))
        return false;
    size_t minutes = n == 6 && text[3] == ':' ? 4 : 3; /* where they start */
    if (n != 3 && n != minutes + 2)
        return false;
    unsigned bad = 0, h = two(text + 1, &bad), m = n == 3 ? 0 : two(text + minutes, &bad);
    if (bad || h > 18 || m > 59)
        return false;
    int32_t s = (int32_t)(h * 3600 + m * 60);
    *zone_s = text[0] == '-' ? -s : s;
    return true;
}

/* What follows the seconds: a fraction and a zone. */
static enum value_fault parse_tail(const char *p, const char *end, struct value_clock *clock,
                                   int64_t *ns)
{
    int64_t fraction = 0;
    int32_t zone_s = clock->zone_s;
    if (p < end && *p == '.') {
        const char *start = ++p;
        for (; p < end && is_digit(*p); p++)
            if (p - start < 9)
                fraction = fraction * 10 + (*p - '0');
        if (p == start || p - start > 9)
            return VALUE_NOT_A_TIME;
        fraction *= (int64_t)powers[9 - (p - start)];
    }
    if (p < end && *p == ' ')
        p++;
    if (p == end)
        clock->naive = true;
    else if (!value_zone(p, (size_t)(end - p), &zone_s))
        return VALUE_NOT_A_TIME;
    *ns = fraction - zone_s * (int64_t)SIM_S;
    return VALUE_OK;
}

/* Midnight UTC of YYYY-MM-DD, from the clock when it is the last date again. */
static enum value_fault parse_date(const char *p, struct value_clock *clock)
{
    if (memcmp(p, clock->date, sizeof clock->date) == 0)
        return VALUE_OK;
    unsigned bad = p[4] != '-' || p[7] != '-';
    unsigned y = two(p, &bad) * 100 + two(p + 2, &bad);
    unsigned m = two(p + 5, &bad), d = two(p + 8, &bad);
    if (bad)
        return VALUE_NOT_A_TIME;
    if (m < 1 || m > 12 || d < 1 || d > days_in_month(y, m))
        return VALUE_NOT_A_DATE;
    if (y < 1700 || y > 2200)
        return VALUE_TOO_LARGE;
    memcpy(clock->date, p, sizeof clock->date);
    clock->midnight_ns = days_from_civil(y, m, d) * (int64_t)SIM_DAY;
    return VALUE_OK;
}

enum value_fault value_timestamp(const char *text, size_t n, struct value_clock *clock,
                                 int64_t *out)
{
    value_trim(&text, &n);
    if (n == 0)
        return VALUE_EMPTY;
    if (n < 19)
        return VALUE_NOT_A_TIME;
    unsigned bad = (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':';
    unsigned h = two(text + 11, &bad), min = two(text + 14, &bad), s = two(text + 17, &bad);
    if (bad)
        return VALUE_NOT_A_TIME;
    enum value_fault fault = parse_date(text, clock);
    if (fault != VALUE_OK)
        return fault;
    /* 60 is a leap second: it becomes the first second of the next minute. */
    if (h > 23 || min > 59 || s > 60)
        return VALUE_NOT_A_DATE;
    int64_t tail_ns;
    fault = parse_tail(text + 19, text + n, clock, &tail_ns);
    if (fault == VALUE_OK)
        *out = clock->midnight_ns + (int64_t)(h * 3600 + min * 60 + s) * (int64_t)SIM_S + tail_ns;
    return fault;
}

void value_print_timestamp(char out[VALUE_STAMP_SIZE], int64_t ns, int32_t zone_s, int digits)
{
    const int64_t second = (int64_t)SIM_S;
    int64_t t = ns / second - (ns % second < 0); /* floor */
    uint64_t fraction = (uint64_t)(ns - t * second);
    t += zone_s;
    int64_t days = t / 86400 - (t % 86400 < 0);
    unsigned sec = (unsigned)(t - days * 86400);
    int64_t z = days + 719468; /* > 0 in the years a trace can have */
    int64_t era = z / 146097;
    unsigned doe = (unsigned)(z - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    unsigned mp = (5 * doy + 2) / 153;
    unsigned d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    unsigned y = (unsigned)(era * 400) + yoe + (m <= 2);
    int n = snprintf(out, VALUE_STAMP_SIZE, "%04u-%02u-%02u %02u:%02u:%02u", y % 10000, m % 100,
                     d % 100, sec / 3600, sec / 60 % 60, sec % 60);
    if (digits > 0)
        snprintf(out + n, (size_t)(VALUE_STAMP_SIZE - n), ".%0*llu", digits,
                 (unsigned long long)(fraction / powers[9 - digits]));
}

/* --- UTF-8 ------------------------------------------------------------------------------- */

/* Length of the well-formed sequence at p, 0 when there is none. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool outside = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return overlong || outside ? 0 : n;
}

size_t value_utf8_fault(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t step = utf8_length((const unsigned char *)text + i, n - i);
        if (step == 0)
            return i;
        i += step;
    }
    return n;
}
