/* Field tables: every kind of single value, its bounds and reasons, and the printed reference. */
#include "sim/field.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"young", "least_lost", "exact"};

struct inner {
    const void *at;
    double share;
};

struct thing {
    const void *at;
    const char *text;
    double period_s, share, price, any;
    uint64_t gpus, seats;
    bool on;
    int rule;
    struct field_moment start;
    struct field_either interval;
    struct inner inner;
    struct field_list list, map;
};

#define AT(member) offsetof(struct thing, member)

static const struct field inner_fields[] = {
    {.key = "share",
     .kind = FIELD_NUMBER,
     .unit = UNIT_FRACTION,
     .required = true,
     .offset = offsetof(struct inner, share),
     .doc = "A share"},
};
static const struct field_table inner_table = {.name = "inner",
                                               .doc = "Inside",
                                               .brief = "share",
                                               .fields = inner_fields,
                                               .n_fields = 1,
                                               .size = sizeof(struct inner)};

static const struct field rate = {.kind = FIELD_NUMBER, .unit = UNIT_RATE, .doc = "a rate"};

static const struct field fields[] = {
    {.key = "text", .kind = FIELD_TEXT, .offset = AT(text), .doc = "A text"},
    {.key = "period",
     .kind = FIELD_NUMBER,
     .unit = UNIT_TIME,
     .above = true,
     .fallback = "15s",
     .offset = AT(period_s),
     .doc = "Between ticks"},
    {.key = "share",
     .kind = FIELD_NUMBER,
     .unit = UNIT_FRACTION,
     .max = 1,
     .offset = AT(share),
     .doc = "Doc"},
    {.key = "any", .kind = FIELD_NUMBER, .min = -5, .offset = AT(any), .doc = "Doc"},
    {.key = "price",
     .kind = FIELD_NUMBER,
     .unit = UNIT_USD_PER_H,
     .offset = AT(price),
     .doc = "Doc"},
    {.key = "gpus",
     .kind = FIELD_WHOLE,
     .unit = UNIT_GPU,
     .min = 1,
     .offset = AT(gpus),
     .doc = "Doc"},
    {.key = "seats", .kind = FIELD_WHOLE, .max = 8, .offset = AT(seats), .doc = "Doc"},
    {.key = "on", .kind = FIELD_FLAG, .offset = AT(on), .doc = "Doc"},
    {.key = "rule",
     .kind = FIELD_WORD,
     .words = words,
     .n_words = 3,
     .offset = AT(rule),
     .doc = "Doc"},
    {.key = "start", .kind = FIELD_MOMENT, .unit = UNIT_TIME, .offset = AT(start), .doc = "Doc"},
    {.key = "interval",
     .kind = FIELD_EITHER,
     .unit = UNIT_TIME,
     .words = words,
     .n_words = 3,
     .offset = AT(interval),
     .doc = "Doc"},
    {.key = "inner", .kind = FIELD_TABLE, .table = &inner_table, .offset = AT(inner), .doc = "In"},
    {.key = "list", .kind = FIELD_LIST, .table = &inner_table, .offset = AT(list), .doc = "Li"},
    {.key = "map", .kind = FIELD_MAP, .item = &rate, .offset = AT(map), .doc = "Rates"},
};
static const struct field_table thing_table = {.name = "thing",
                                               .doc = "A thing",
                                               .fields = fields,
                                               .n_fields = sizeof fields / sizeof *fields,
                                               .size = sizeof(struct thing)};

static const struct field *get(const char *key)
{
    const struct field *f = field_find(&thing_table, key);
    cr_assert_not_null(f);
    return f;
}

static void reads(struct thing *t, const char *key, const char *text)
{
    char why[FIELD_WHY_BYTES] = "";
    const char *nearest;
    cr_assert_eq(field_read(get(key), text, t, why, &nearest), HR_OK, "%s", why);
}

static void refuses(const char *key, const char *text, const char *reason, const char *near)
{
    struct thing t, before;
    memset(&t, 0x5A, sizeof t);
    before = t;
    char why[FIELD_WHY_BYTES] = "";
    const char *nearest = "unset";
    cr_assert_eq(field_read(get(key), text, &t, why, &nearest), HR_INPUT, "%s: '%s' was taken", key,
                 text);
    cr_assert_str_eq(why, reason);
    cr_assert_eq(memcmp(&t, &before, sizeof t), 0, "%s: '%s' changed the struct", key, text);
    if (near)
        cr_assert_str_eq(nearest, near);
    else
        cr_assert_null(nearest);
}

Test(field, reads_each_kind)
{
    struct thing t = {0};
    reads(&t, "text", "hello");
    cr_assert_str_eq(t.text, "hello");
    reads(&t, "period", "1.5min");
    cr_assert_eq(t.period_s, 90);
    reads(&t, "share", "100%");
    cr_assert_eq(t.share, 1);
    reads(&t, "any", "-5");
    cr_assert_eq(t.any, -5);
    reads(&t, "gpus", "64GPU");
    cr_assert_eq(t.gpus, 64);
    reads(&t, "seats", "8");
    cr_assert_eq(t.seats, 8);
    reads(&t, "on", "Yes");
    cr_assert(t.on);
    reads(&t, "on", "off");
    cr_assert_not(t.on);
    reads(&t, "rule", "least-lost");
    cr_assert_eq(t.rule, 1);
    reads(&t, "interval", "exact");
    cr_assert_eq(t.interval.word, 2);
    cr_assert(isnan(t.interval.number));
    reads(&t, "interval", "30min");
    cr_assert_eq(t.interval.number, 1800);
    cr_assert_eq(t.interval.word, FIELD_NO_WORD);
}

Test(field, reads_moments)
{
    struct thing t = {0};
    static const struct {
        const char *text;
        double s;
        bool clock;
    } cases[] = {{"34.5h", 124200, false},  {"10:30", 37800, true}, {"1d 10:30", 124200, true},
                 {"1d10:30", 124200, true}, {"00:00:05", 5, true},  {"23:59:59", 86399, true},
                 {"9:05", 32700, true},     {"0s", 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reads(&t, "start", cases[i].text);
        cr_assert_eq(t.start.s, cases[i].s, "%s", cases[i].text);
        cr_assert_eq(t.start.clock, cases[i].clock, "%s", cases[i].text);
    }
    static const char *const bad[] = {
        "24:00", "10:60", "10:3x", ":30", "10:", "1w 10:30", "1d", "-1:00", "10:30:", "d 10:30"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char why[FIELD_WHY_BYTES];
        const char *nearest;
        enum hr_err err = field_read(get("start"), bad[i], &t, why, &nearest);
        cr_assert_eq(err, strcmp(bad[i], "1d") == 0 ? HR_OK : HR_INPUT, "%s", bad[i]);
    }
}

Test(field, says_what_is_wrong)
{
    refuses("period", "90", "'90' needs a unit, such as 90s", NULL);
    refuses("period", "0s", "'0s' must be above 0s", NULL);
    refuses("period", "-1h", "'-1h' must be above 0s", NULL);
    refuses("period", "101year", "'101year' must be at most 36500d", NULL);
    refuses("share", "120%", "'120%' must be at most 100%", NULL);
    refuses("share", "-0.1", "'-0.1' must be at least 0%", NULL);
    refuses("any", "-6", "'-6' must be at least -5", NULL);
    refuses("gpus", "0", "'0' must be at least 1GPU", NULL);
    refuses("gpus", "1.5", "'1.5' must be a whole number", NULL);
    refuses("gpus", "5e9", "'5e9' must be at most 1e+09GPU", NULL);
    refuses("seats", "9", "'9' must be at most 8", NULL);
    refuses("on", "maybe", "'maybe' must be yes or no", NULL);
    refuses("rule", "yuong", "'yuong' must be young, least_lost or exact", "young");
    refuses("rule", "zzz", "'zzz' must be young, least_lost or exact", NULL);
    refuses("interval", "30", "'30' needs a unit, such as 90s", NULL);
    refuses("interval", "daily",
            "'daily' must be young, least_lost or exact, or a time such as 90s or 1.5h", NULL);
    refuses("start", "25:00",
            "'25:00' is not a time of day such as 10:30, or 1d 10:30 for a day later", NULL);
}

Test(field, long_values_are_cut_in_the_reason)
{
    char text[5000], why[FIELD_WHY_BYTES];
    const char *nearest;
    struct thing t;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    static const char *const keys[] = {"period", "on", "rule", "interval", "gpus"};
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(field_read(get(keys[i]), text, &t, why, &nearest), HR_INPUT);
        cr_assert(strstr(why, "xxx'... "), "%s", why);
    }
}

Test(field, unset_values)
{
    struct thing t;
    memset(&t, 0x5A, sizeof t);
    for (size_t i = 0; i < thing_table.n_fields; i++)
        field_unset(&thing_table.fields[i], &t);
    cr_assert_null(t.text);
    cr_assert(isnan(t.period_s) && isnan(t.start.s) && isnan(t.interval.number));
    cr_assert_eq(t.gpus, FIELD_NO_WHOLE);
    cr_assert_eq(t.rule, FIELD_NO_WORD);
    cr_assert_eq(t.list.n, 0);
    cr_assert_not(t.on);
}

Test(field, finds_keys_and_the_nearest)
{
    cr_assert_null(field_find(&thing_table, "perid"));
    cr_assert_str_eq(field_nearest(&thing_table, "perid"), "period");
    cr_assert_null(field_nearest(&thing_table, "zzzzzz"));
}

static char *printed(void (*print)(const struct field_table *, FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    print(&thing_table, out);
    fclose(out);
    return text;
}

Test(field, markdown_reference)
{
    char *text = printed(field_print_markdown);
    cr_assert(strstr(text, "### thing\n\nA thing.\n\n| key | value | default | meaning |\n"));
    cr_assert(strstr(text,
                     "| `period` | a time such as 90s or 1.5h, above 0s | `15s` | "
                     "Between ticks |\n"));
    cr_assert(strstr(text, "| `list` | list of [inner](#inner) |  | Li |\n"));
    cr_assert(strstr(text, "| `map` | names, each with a rate such as 40req/s or 10job/h |  | "));
    cr_assert(strstr(text, "### inner\n\nInside. A single value stands for `share`.\n"));
    cr_assert(strstr(text, "| `share` | a fraction such as 0.95 or 95% | required | A share |\n"));
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, "### inner")); p++)
        n++;
    cr_assert_eq(n, 1, "a table is printed once");
    free(text);
}

Test(field, text_reference_fits_80_columns)
{
    char *text = printed(field_print_text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        cr_assert_leq(strlen(line), 80, "%s", line);
    free(text);
}
