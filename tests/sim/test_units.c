/* Quantities: reading, refusing, printing, and that what is printed reads back. */
#include "sim/units.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct good {
    const char *text;
    enum unit_kind kind;
    double value;
};

Test(units, reads_every_kind)
{
    static const struct good cases[] = {
        {"90s", UNIT_TIME, 90},
        {"1.5h", UNIT_TIME, 5400},
        {" 7 d ", UNIT_TIME, 604800},
        {"2w", UNIT_TIME, 1209600},
        {"1month", UNIT_TIME, 2592000},
        {"1year", UNIT_TIME, 31536000},
        {"27.5ms", UNIT_TIME, 0.0275},
        {"100us", UNIT_TIME, 0.0001},
        {"1ns", UNIT_TIME, 1e-9},
        {"-5s", UNIT_TIME, -5},
        {"2e3s", UNIT_TIME, 2000},
        {".5min", UNIT_TIME, 30},
        {"80GiB", UNIT_BYTES, 85899345920.0},
        {"80GB", UNIT_BYTES, 80e9},
        {"20.1 GB", UNIT_BYTES, 20.1e9},
        {"5GB/s", UNIT_BANDWIDTH, 5e9},
        {"40req/s", UNIT_RATE, 40},
        {"40 requests/s", UNIT_RATE, 40},
        {"90/min", UNIT_RATE, 1.5},
        {"2 1/s", UNIT_RATE, 2},
        {"1/s", UNIT_RATE, 1},
        {"36job/h", UNIT_RATE, 0.01},
        {"64", UNIT_GPU, 64},
        {"64GPU", UNIT_GPU, 64},
        {"64 GPUs", UNIT_GPU, 64},
        {"1.5GPU/min", UNIT_GPU_RATE, 0.025},
        {"2048", UNIT_TOKENS, 2048},
        {"600k", UNIT_TOKENS, 600000},
        {"1.5k tokens", UNIT_TOKENS, 1500},
        {"1M", UNIT_TOKENS, 1e6},
        {"$2.10/h", UNIT_USD_PER_H, 2.10},
        {"2.10 $/h", UNIT_USD_PER_H, 2.10},
        {"$2.10/GPU-h", UNIT_USD_PER_H, 2.10},
        {"$100", UNIT_USD, 100},
        {"100$", UNIT_USD, 100},
        {"0.95", UNIT_FRACTION, 0.95},
        {"95%", UNIT_FRACTION, 0.95},
        {"99.9 %", UNIT_FRACTION, 0.999},
        {"700W", UNIT_POWER, 700},
        {"10.2kW", UNIT_POWER, 10200},
        {"3.25", UNIT_NONE, 3.25},
        {"-1e-3", UNIT_NONE, -0.001},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        const char *why = "";
        enum hr_err err =
            unit_parse(cases[i].text, strlen(cases[i].text), cases[i].kind, &value, &why);
        cr_assert_eq(err, HR_OK, "'%s' was refused: %s", cases[i].text, why);
        cr_assert_eq(value, cases[i].value, "'%s' read as %.17g", cases[i].text, value);
    }
}

struct bad {
    const char *text;
    enum unit_kind kind;
    const char *why; /* a part of the reason */
};

Test(units, refuses_with_a_reason)
{
    static const struct bad cases[] = {
        {"90", UNIT_TIME, "needs a unit, such as 90s"},
        {"0", UNIT_TIME, "needs a unit"},
        {"90m", UNIT_TIME, "expected one of ns"},
        {"90S", UNIT_TIME, "unknown unit"},
        {"90s/", UNIT_TIME, "unknown unit"},
        {"9 0s", UNIT_TIME, "unknown unit"},
        {"", UNIT_TIME, "empty"},
        {"   ", UNIT_TIME, "empty"},
        {"s", UNIT_TIME, "not a number"},
        {"nan", UNIT_TIME, "not a number"},
        {".nan", UNIT_NONE, "not a number"},
        {"inf", UNIT_NONE, "not a number"},
        {"-.inf", UNIT_NONE, "not a number"},
        {"1e999", UNIT_NONE, "not a finite number"},
        {"1e308year", UNIT_TIME, "not a finite number"},
        {"0x10", UNIT_NONE, "without a unit"},
        {"1,000", UNIT_NONE, "without a unit"},
        {"--1", UNIT_NONE, "not a number"},
        {".", UNIT_NONE, "not a number"},
        {"80", UNIT_BYTES, "needs a unit"},
        {"80gb", UNIT_BYTES, "GiB"},
        {"80GB", UNIT_BANDWIDTH, "per second"},
        {"80GB/h", UNIT_BANDWIDTH, "per second"},
        {"5", UNIT_BANDWIDTH, "needs a unit"},
        {"40", UNIT_RATE, "needs a unit, such as 40req/s"},
        {"40req", UNIT_RATE, "needs a unit"},
        {"40req/", UNIT_RATE, "expected one of"},
        {"40s", UNIT_RATE, "expected one of"},
        {"8TPU", UNIT_GPU, "expected GPU"},
        {"1.5GPU", UNIT_GPU_RATE, "expected one of GPU/s"},
        {"1.5tok", UNIT_TOKENS, "whole number"},
        {"2.10", UNIT_USD_PER_H, "such as $2.10/h"},
        {"$2.10", UNIT_USD_PER_H, "such as $2.10/h"},
        {"2.10/h", UNIT_USD_PER_H, "$/h"},
        {"$2.10/d", UNIT_USD_PER_H, "$/h"},
        {"100", UNIT_USD, "$ sign"},
        {"100 EUR", UNIT_USD, "expected $"},
        {"$", UNIT_USD, "not a number"},
        {"95 percent", UNIT_FRACTION, "expected %"},
        {"700", UNIT_POWER, "such as 700W"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 42;
        const char *why = NULL;
        enum hr_err err =
            unit_parse(cases[i].text, strlen(cases[i].text), cases[i].kind, &value, &why);
        cr_assert_eq(err, HR_INPUT, "'%s' was taken as %.17g", cases[i].text, value);
        cr_assert_eq(value, 42, "'%s' changed the value", cases[i].text);
        cr_assert(strstr(why, cases[i].why), "'%s': reason '%s'", cases[i].text, why);
    }
}

Test(units, reads_only_the_bytes_it_is_given)
{
    double value;
    const char *why;
    char long_number[200];
    cr_assert_eq(unit_parse("90smore", 3, UNIT_TIME, &value, &why), HR_OK);
    cr_assert_eq(value, 90);
    memset(long_number, '1', sizeof long_number);
    cr_assert_eq(unit_parse(long_number, sizeof long_number, UNIT_NONE, &value, &why), HR_INPUT);
}

struct shown {
    double value;
    enum unit_kind kind;
    const char *text;
};

Test(units, prints_the_shortest_exact_unit)
{
    static const struct shown cases[] = {
        {90, UNIT_TIME, "90s"},
        {120, UNIT_TIME, "2min"},
        {1800, UNIT_TIME, "30min"},
        {3600, UNIT_TIME, "1h"},
        {86400, UNIT_TIME, "1d"},
        {172800, UNIT_TIME, "2d"},
        {152.3, UNIT_TIME, "152.3s"},
        {1.5, UNIT_TIME, "1.5s"},
        {0.0275, UNIT_TIME, "27.5ms"},
        {0, UNIT_TIME, "0s"},
        {1e-10, UNIT_TIME, "0.1ns"},
        {1.0 / 3, UNIT_TIME, "333.333ms"},
        {-5, UNIT_TIME, "-5s"},
        {85899345920.0, UNIT_BYTES, "80GiB"},
        {80e9, UNIT_BYTES, "80GB"},
        {5e9, UNIT_BANDWIDTH, "5GB/s"},
        {240, UNIT_RATE, "240/s"},
        {0.01, UNIT_RATE, "36/h"},
        {128, UNIT_GPU, "128GPU"},
        {0.025, UNIT_GPU_RATE, "90GPU/h"},
        {2048, UNIT_TOKENS, "2048tok"},
        {600000, UNIT_TOKENS, "600ktok"},
        {2.95, UNIT_USD_PER_H, "$2.95/h"},
        {100, UNIT_USD, "$100"},
        {0.99, UNIT_FRACTION, "99%"},
        {1, UNIT_FRACTION, "100%"},
        {700, UNIT_POWER, "700W"},
        {1.4, UNIT_NONE, "1.4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[64];
        int n = unit_print(out, sizeof out, cases[i].value, cases[i].kind);
        cr_assert_str_eq(out, cases[i].text);
        cr_assert_eq((size_t)n, strlen(out));
    }
}

/* Six digits hold any value to a part in 200,000; whole ones up to 999,999 exactly. */
Test(units, reads_back_what_it_prints)
{
    for (int kind = 0; kind < UNIT_KINDS; kind++)
        for (uint64_t i = 0; i < 2000; i++) {
            double value = kind == UNIT_TOKENS ? (double)(i * 479) : exp((double)i * 0.02 - 20);
            value = i % 2 ? value : floor(value);
            char out[64];
            double back;
            const char *why = "";
            int n = unit_print(out, sizeof out, value, (enum unit_kind)kind);
            enum hr_err err = unit_parse(out, (size_t)n, (enum unit_kind)kind, &back, &why);
            cr_assert_eq(err, HR_OK, "kind %d: '%s' for %.17g: %s", kind, out, value, why);
            cr_assert_float_eq(back, value, value * 5.1e-6, "kind %d: '%s' for %.17g", kind, out,
                               value);
            if (value < 999999 && value == floor(value) && kind != UNIT_USD)
                cr_assert_eq(back, value, "kind %d: '%s' for %.17g", kind, out, value);
        }
}

Test(units, every_kind_has_its_texts)
{
    for (int kind = 0; kind < UNIT_KINDS; kind++) {
        cr_assert_gt(strlen(unit_expectation((enum unit_kind)kind)), 5);
        cr_assert_gt(strlen(unit_symbol((enum unit_kind)kind)), 0);
    }
}
