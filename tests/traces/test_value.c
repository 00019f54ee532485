/* Values: numbers exact to the last digit, times of day, zones, UTF-8. */
#include "fixture.h"
#include "traces/value.h"

#include "sim/rng.h"

#include <inttypes.h>
#include <time.h>

static void expect_scaled(const char *text, uint64_t unit, enum value_fault fault, uint64_t want)
{
    uint64_t v = 0;
    enum value_fault got = value_scaled(text, strlen(text), unit, &v);
    cr_assert_eq(got, fault, "'%s': %s", text, value_fault_text[got]);
    cr_assert_eq(v, want, "'%s': %" PRIu64, text, v);
}

Test(value, decimals_are_exact)
{
    static const struct {
        const char *text;
        uint64_t unit;
        enum value_fault fault;
        uint64_t want;
    } cases[] = {
        {"0", 1000, VALUE_OK, 0},
        {"1.5", 1000000000, VALUE_OK, 1500000000},
        {" 1.5\t", 1000000000, VALUE_OK, 1500000000},
        {"+2", 1, VALUE_OK, 2},
        {"-0.0", 1, VALUE_OK, 0},
        {".5", 10, VALUE_OK, 5},
        {"5.", 10, VALUE_OK, 50},
        {"8.5e-05", 1000000000, VALUE_OK, 85000},
        {"2764799.0", 1000000000, VALUE_OK, 2764799000000000},
        {"19440110.123456789", 1000000000, VALUE_OK, 19440110123456789},
        {"0.0000000005", 1000000000, VALUE_OK, 1},     /* half up */
        {"0.00000000049999", 1000000000, VALUE_OK, 0}, /* down */
        {"1e3", 1, VALUE_OK, 1000},
        {"1E+3", 1, VALUE_OK, 1000},
        {"0e99999", 1, VALUE_OK, 0},
        {"1e-99999", 1000000000, VALUE_OK, 0},
        {"1234567890123456789", 1, VALUE_OK, UINT64_C(1234567890123456789)},
        {"18446744073709551620", 1, VALUE_TOO_LARGE, 0},
        {"213504", 86400000000000, VALUE_TOO_LARGE, 0},
        {"213503", 86400000000000, VALUE_OK, UINT64_C(213503) * 86400000000000},
        {"1e20", 1, VALUE_TOO_LARGE, 0},
        {"1e99999999999999999999", 1, VALUE_TOO_LARGE, 0},
        {"0.000000000000000000000000000000000000000001e42", 1, VALUE_OK, 1},
        {"123456789012345678901234567890e-20", 1, VALUE_OK, 1234567890},
        {"", 1, VALUE_EMPTY, 0},
        {"  ", 1, VALUE_EMPTY, 0},
        {"-1", 1, VALUE_NEGATIVE, 0},
        {"-1e-30", 1, VALUE_NEGATIVE, 0},
        {"NaN", 1, VALUE_NAN, 0},
        {"-inf", 1, VALUE_NAN, 0},
        {"Infinity", 1, VALUE_NAN, 0},
        {"1 2", 1, VALUE_NOT_A_NUMBER, 0},
        {"1,5", 1, VALUE_NOT_A_NUMBER, 0},
        {"0x10", 1, VALUE_NOT_A_NUMBER, 0},
        {"1e", 1, VALUE_NOT_A_NUMBER, 0},
        {"1e+", 1, VALUE_NOT_A_NUMBER, 0},
        {"1e5x", 1, VALUE_NOT_A_NUMBER, 0},
        {".", 1, VALUE_NOT_A_NUMBER, 0},
        {"-", 1, VALUE_NOT_A_NUMBER, 0},
        {"1.2.3", 1, VALUE_NOT_A_NUMBER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_scaled(cases[i].text, cases[i].unit, cases[i].fault, cases[i].want);
}

/* Random decimals against integer arithmetic done by hand: digits, a point somewhere, a unit. */
Test(value, random_decimals)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "value", "decimals");
    for (int i = 0; i < 100000; i++) {
        uint64_t whole = rng_below(&rng, 1000000000), nano = rng_below(&rng, 1000000000);
        char text[64];
        snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64, whole, nano);
        expect_scaled(text, 1000000000, VALUE_OK, whole * 1000000000 + nano);
        expect_scaled(text, 1000, VALUE_OK, whole * 1000 + (nano + 500000) / 1000000);
        snprintf(text, sizeof text, "%" PRIu64 "%09" PRIu64 "e-9", whole, nano);
        expect_scaled(text, 1000000000, VALUE_OK, whole * 1000000000 + nano);
    }
}

Test(value, whole_numbers_flags_and_signs)
{
    uint64_t v;
    int32_t s;
    double d;
    bool flag;
    cr_assert_eq(value_whole("12.0", 4, 100, &v), VALUE_OK);
    cr_assert_eq(v, 12);
    cr_assert_eq(value_whole("1.2e1", 5, 100, &v), VALUE_OK);
    cr_assert_eq(v, 12);
    cr_assert_eq(value_whole("12.5", 4, 100, &v), VALUE_NOT_WHOLE);
    cr_assert_eq(value_whole("101", 3, 100, &v), VALUE_TOO_LARGE);
    cr_assert_eq(value_whole("100", 3, 100, &v), VALUE_OK);
    cr_assert_eq(value_int32("-7", 2, &s), VALUE_OK);
    cr_assert_eq(s, -7);
    cr_assert_eq(value_int32("2147483648", 10, &s), VALUE_TOO_LARGE);
    cr_assert_eq(value_int32("-", 1, &s), VALUE_EMPTY);
    cr_assert_eq(value_real("0.25", 4, &d), VALUE_OK);
    cr_assert_eq(d, 0.25);
    cr_assert_eq(value_real("1.5e3", 5, &d), VALUE_OK);
    cr_assert_eq(d, 1500);
    cr_assert_eq(value_real("1e999", 5, &d), VALUE_TOO_LARGE);
    cr_assert_eq(value_flag("True", 4, &flag), VALUE_OK);
    cr_assert(flag);
    cr_assert_eq(value_flag("no", 2, &flag), VALUE_OK);
    cr_assert(!flag);
    cr_assert_eq(value_flag("tru", 3, &flag), VALUE_NOT_A_FLAG);
}

#define NS INT64_C(1000000000)

Test(value, timestamps_in_all_forms)
{
    static const struct {
        const char *text;
        enum value_fault fault;
        int64_t want;
        bool naive;
    } cases[] = {
        {"1970-01-01 00:00:00", VALUE_OK, 0, true},
        {"1970-01-01T00:00:01Z", VALUE_OK, NS, false},
        {"1969-12-31 23:59:59.5", VALUE_OK, -NS / 2, true},
        {"2023-11-16 18:17:03.9799600", VALUE_OK, 1700158623 * NS + 979960000, true},
        {"2024-05-10 00:00:00.009930+00:00", VALUE_OK, 1715299200 * NS + 9930000, false},
        {"2024-05-10 00:00:00+00:00", VALUE_OK, 1715299200 * NS, false},
        {"2024-05-10 08:00:00+08:00", VALUE_OK, 1715299200 * NS, false},
        {"2024-05-09T16:30:00-0730", VALUE_OK, 1715299200 * NS, false},
        {"2024-05-10 01:00:00 +01", VALUE_OK, 1715299200 * NS, false},
        {"2024-05-10 00:00:00 UTC", VALUE_OK, 1715299200 * NS, false},
        {" 2024-05-10 00:00:00 ", VALUE_OK, 1715299200 * NS, true},
        {"2000-02-29 00:00:00", VALUE_OK, 951782400 * NS, true},
        {"2016-12-31 23:59:60", VALUE_OK, 1483228800 * NS, true}, /* leap second */
        {"2024-05-10 00:00:00.123456789", VALUE_OK, 1715299200 * NS + 123456789, true},
        {"1900-02-29 00:00:00", VALUE_NOT_A_DATE, 0, false},
        {"2023-13-01 00:00:00", VALUE_NOT_A_DATE, 0, false},
        {"2023-00-01 00:00:00", VALUE_NOT_A_DATE, 0, false},
        {"2023-01-00 00:00:00", VALUE_NOT_A_DATE, 0, false},
        {"2023-01-01 24:00:00", VALUE_NOT_A_DATE, 0, false},
        {"2023-01-01 00:60:00", VALUE_NOT_A_DATE, 0, false},
        {"2023-01-01 00:00:61", VALUE_NOT_A_DATE, 0, false},
        {"0000-01-01 00:00:00", VALUE_TOO_LARGE, 0, false},
        {"9999-01-01 00:00:00", VALUE_TOO_LARGE, 0, false},
        {"2023-01-01", VALUE_NOT_A_TIME, 0, false},
        {"2023-01-01 00:00", VALUE_NOT_A_TIME, 0, false},
        {"2023-01-01x00:00:00", VALUE_NOT_A_TIME, 0, false},
        {"2023-01-01 00:00:00.", VALUE_NOT_A_TIME, 0, false},
        {"2023-01-01 00:00:00,5", VALUE_NOT_A_TIME, 0, false},
        {"2023-01-01 00:00:00+19:00", VALUE_NOT_A_TIME, 0, false},
        {"2023-01-01 00:00:00 PST", VALUE_NOT_A_TIME, 0, false},
        {"1700158623", VALUE_NOT_A_TIME, 0, false},
        {"", VALUE_EMPTY, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct value_clock clock = {0};
        int64_t t = 0;
        enum value_fault got = value_timestamp(cases[i].text, strlen(cases[i].text), &clock, &t);
        cr_assert_eq(got, cases[i].fault, "'%s': %s", cases[i].text, value_fault_text[got]);
        cr_assert_eq(t, cases[i].want, "'%s': %" PRId64, cases[i].text, t);
        cr_assert_eq(clock.naive, cases[i].naive, "'%s'", cases[i].text);
    }
}

/* Against the C library over random instants, and back through the printed form. */
Test(value, random_instants)
{
    struct rng rng;
    struct value_clock clock = {0};
    rng_init(&rng, 1, 0, "value", "instants");
    for (int i = 0; i < 50000; i++) {
        time_t s = (time_t)rng_below(&rng, UINT64_C(15000000000)) - 8000000000; /* 1716 to 2191 */
        int64_t nano = (int64_t)rng_below(&rng, 1000000000), t;
        struct tm tm;
        char text[64], again[VALUE_STAMP_SIZE];
        gmtime_r(&s, &tm);
        size_t n = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
        snprintf(text + n, sizeof text - n, ".%09" PRId64, nano);
        cr_assert_eq(value_timestamp(text, strlen(text), &clock, &t), VALUE_OK, "%s", text);
        cr_assert_eq(t, (int64_t)s * NS + nano, "%s", text);
        value_print_timestamp(again, t, 0, 9);
        cr_assert_str_eq(again, text);
    }
}

Test(value, zone_of_the_clock_applies_to_naive_times_only)
{
    struct value_clock clock = {.zone_s = 8 * 3600};
    int64_t naive, zoned;
    value_timestamp("2024-05-10 08:00:00", 19, &clock, &naive);
    cr_assert(clock.naive);
    value_timestamp("2024-05-10 00:00:00Z", 20, &clock, &zoned);
    cr_assert_eq(naive, zoned);
    char text[VALUE_STAMP_SIZE];
    value_print_timestamp(text, naive, 8 * 3600, 0);
    cr_assert_str_eq(text, "2024-05-10 08:00:00");
}

Test(value, zones)
{
    static const struct {
        const char *text;
        bool right;
        int32_t want;
    } cases[] = {{"UTC", true, 0},        {"Z", true, 0},          {"+08:00", true, 28800},
                 {"-0730", true, -27000}, {"+8", true, 28800},     {"-5", true, -18000},
                 {"+05", true, 18000},    {"+5:30", false, 0},     {"CET", false, 0},
                 {"", false, 0},          {"+", false, 0},         {"+25:00", false, 0},
                 {"+08:60", false, 0},    {"+08:00:00", false, 0}, {"8", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t zone = 0;
        cr_assert_eq(trace_zone_parse(cases[i].text, &zone), cases[i].right, "%s", cases[i].text);
        cr_assert_eq(zone, cases[i].want, "%s", cases[i].text);
    }
}

Test(value, utf8)
{
    static const struct {
        const char *text;
        size_t fault; /* offset, or the length */
    } cases[] = {{"plain", 5},
                 {"h\xc3\xa9", 3},
                 {"\xe2\x82\xac", 3},
                 {"\xf0\x9f\x98\x80", 4},
                 {"a\xff", 1},
                 {"ab\x80", 2},           /* a continuation alone */
                 {"\xc0\xaf", 0},         /* too long a form */
                 {"\xe0\x80\x80", 0},     /* likewise */
                 {"\xed\xa0\x80", 0},     /* surrogate */
                 {"\xf4\x90\x80\x80", 0}, /* above U+10FFFF */
                 {"x\xe2\x82", 1}};       /* cut short */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(value_utf8_fault(cases[i].text, strlen(cases[i].text)), cases[i].fault, "%zu",
                     i);
}
