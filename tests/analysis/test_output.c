/* Numbers, paragraphs, JSON and CSV in the small. readers.py compares whole results. */
#include "fixture.h"

#include "analysis/csv.h"
#include "analysis/json.h"
#include "analysis/text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(output, numbers_read_back)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {0.1, "0.1"},
                 {1e21, "1e+21"},
                 {-2.5, "-2.5"},
                 {90, "90"},
                 {NAN, ""},
                 {1.0 / 3, "0.3333333333333333"},
                 {172.3, "172.3"},
                 {5e-324, "4.94065645841247e-324"}};
    char out[NUMBER_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        number_print(out, cases[i].value);
        cr_expect_str_eq(out, cases[i].text);
    }
    uint64_t state = 99;
    for (int i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value;
        memcpy(&value, &state, sizeof value);
        number_print(out, value);
        cr_expect(isnan(value) ? !*out : strtod(out, NULL) == value);
    }
}

Test(output, numbers_for_people)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } cases[] = {{1234567.891, 1, "1,234,567.9"},
                 {999.96, 1, "1,000.0"},
                 {-1234, 0, "-1,234"},
                 {0, 2, "0.00"},
                 {-0.001, 1, "0.0"},
                 {123, 0, "123"},
                 {NAN, 1, "-"},
                 {99.94, NUMBER_FITTING, "99.9"},
                 {-99.96, NUMBER_FITTING, "-100"},
                 {1e20, 1, "1e+20"},
                 {0, NUMBER_FINE, "0.00"},
                 {0.000101, NUMBER_FINE, "0.00010"},
                 {0.018, NUMBER_FINE, "0.018"},
                 {0.0996, NUMBER_FINE, "0.10"},
                 {2539.184, NUMBER_FINE, "2,539.18"},
                 {0.9996, 4, "0.9996"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[NUMBER_SIZE];
        number_show(out, cases[i].value, cases[i].digits);
        cr_expect_str_eq(out, cases[i].text);
    }
}

/* Captures what a function prints. */
static char *printed(void (*print)(FILE *out, const void *arg), const void *arg)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_assert(f != NULL);
    print(f, arg);
    fclose(f);
    return text;
}

static void print_wrapped(FILE *out, const void *text)
{
    text_wrap(out, text, 2, 4, 20);
}

Test(output, wrapping)
{
    char *text = printed(print_wrapped, "one two three four  five unbreakably-long-word-here six");
    cr_expect_str_eq(text,
                     "  one two three four\n    five\n    unbreakably-long-word-here\n    six\n");
    free(text);
    text = printed(print_wrapped, "\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6\xc3\xb6 1234567890 x");
    cr_expect_str_eq(text,
                     "  \xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6\xc3\xb6 1234567890\n    x\n");
    free(text);
    cr_expect(eq(sz, text_width("a\xc3\xa4\xe2\x82\xac"), 3));
}

static void print_json(FILE *out, const void *arg)
{
    (void)arg;
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_text(&j, "quote\"back\\", "tab\tline\nbell\a del\x7f euro\xe2\x82\xac");
    json_text(&j, "bad", "\xff\xc0\x80\xed\xa0\x80z\xe2\x82");
    json_array(&j, "numbers", true);
    json_number(&j, NULL, 0.1);
    json_number(&j, NULL, NAN);
    json_number(&j, NULL, INFINITY);
    json_whole(&j, NULL, UINT64_MAX);
    json_close(&j);
    json_object(&j, "empty");
    json_close(&j);
    json_bool(&j, "yes", true);
    json_close(&j);
}

Test(output, json)
{
    char *text = printed(print_json, NULL);
    cr_expect_str_eq(text,
                     "{\n"
                     "  \"quote\\\"back\\\\\": \"tab\\u0009line\\nbell\\u0007 del\\u007f "
                     "euro\xe2\x82\xac\",\n"
                     "  \"bad\": \"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffdz\\ufffd\\ufffd\",\n"
                     "  \"numbers\": [0.1, null, null, 18446744073709551615],\n"
                     "  \"empty\": {},\n"
                     "  \"yes\": true\n"
                     "}\n");
    free(text);
}

static void print_csv(FILE *out, const void *arg)
{
    cr_assert(csv_summary(out, arg) == HR_OK);
}

/* A label with a comma, a quote and a line break stays one field. */
Test(output, csv_quotes)
{
    const struct summary_source columns[] = {{"a,\"b\"\nc", &fixture_shared, NULL, NULL}};
    struct summary s;
    cr_assert(summary_init(&s, columns, 1, 1, "v") == HR_OK);
    char *text = printed(print_csv, &s);
    const char *second = strchr(text, '\n') + 1;
    static const char row[] = "\"a,\"\"b\"\"\nc\",0,,,fleet_gpus,,1\n";
    cr_expect(strncmp(second, row, strlen(row)) == 0);
    free(text);
    summary_fini(&s);
}

/* A disk that is full shows in the return value. */
Test(output, errors_are_reported)
{
    struct experiment e;
    fixture_experiment(&e, 1, 1, 1);
    FILE *full = fopen("/dev/full", "w");
    cr_assert(full != NULL);
    setvbuf(full, NULL, _IONBF, 0);
    cr_expect(csv_summary(full, &e.summary) == HR_IO);
    fclose(full);
    experiment_fini(&e);
}
