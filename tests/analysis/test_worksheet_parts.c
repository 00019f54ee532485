/* What is written once for all worksheets: units, formulas, words, the page, marking, variation. */
#include "analysis/worksheets/answer.h"
#include "analysis/worksheets/formula.h"
#include "analysis/worksheets/list.h"
#include "analysis/worksheets/print.h"
#include "analysis/worksheets/unit.h"
#include "analysis/worksheets/vary.h"
#include "analysis/worksheets/words.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sheet_case c;
static struct diags diags;

static void start(void)
{
    diags_init(&diags);
    cr_assert_eq(sheet_case_init(&c, sheet_find("little"), &diags), HR_OK);
    cr_assert_eq(sheet_case_solve(&c), HR_OK);
}

static void end(void)
{
    sheet_case_fini(&c);
    diags_fini(&diags);
}

TestSuite(worksheet_parts, .init = start, .fini = end, .timeout = 60);

/* ---- units ---- */

Test(worksheet_parts, units_are_converted)
{
    static const struct {
        const char *text, *to;
        double value;
    } cases[] = {
        {"90 min", "h", 1.5},
        {"90min", "h", 1.5},
        {"2 d", "h", 48},
        {"1 GiB", "GB", 1.073741824},
        {"1 GB", "MB", 1000},
        {"512 MiB", "GiB", 0.5},
        {"8 Gb/s", "GB/s", 1},
        {"400 Gbps", "GB/s", 50},
        {"20 GPU/min", "GPU/h", 1200},
        {"120", "jobs/h", 120},
        {"2 jobs/min", "jobs/h", 120},
        {"5%", "fraction", 0.05},
        {"$2.10/GPU-h", "$/GPU-h", 2.10},
        {"$5", "$/GPU-h", 5},
        {"1 kWh", "J", 3.6e6},
        {"3k", "jobs", 3000},
        {"1 year", "h", 8760},
        {"1 month", "d", 30},
        {"250 ms", "s", 0.25},
        {"0.5 MW", "kW", 500},
        {"inf", "s", INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = "";
        double x;
        const enum hr_err err =
            sheet_unit_read(cases[i].text, strlen(cases[i].text), cases[i].to, &x, &why);
        cr_assert_eq(err, HR_OK, "'%s' %s", cases[i].text, why);
        cr_expect(x == cases[i].value || fabs(x / cases[i].value - 1) < 1e-12, "%s in %s: %.17g",
                  cases[i].text, cases[i].to, x);
    }
}

Test(worksheet_parts, wrong_units_are_refused)
{
    static const char *const cases[][3] = {
        {"5 s", "GB", "has a unit of another kind"},
        {"5 GB", "GB/s", "has a unit of another kind"},
        {"5 bananas", "s", "has an unknown unit"},
        {"five", "s", "is no number"},
        {"", "s", "has no value"},
        {"nan", "s", "is no number"},
        {"$5/GB", "$/GPU-h", "has a unit of another kind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = "";
        double x;
        cr_assert_eq(sheet_unit_read(cases[i][0], strlen(cases[i][0]), cases[i][1], &x, &why),
                     HR_INPUT, "%s", cases[i][0]);
        cr_expect_str_eq(why, cases[i][2]);
    }
    cr_assert(sheet_unit_involves("GPU-h", "s") && sheet_unit_involves("GB/s", "B"));
    cr_assert_not(sheet_unit_involves("GPUs", "s") || sheet_unit_involves("h", "B"));
}

/* ---- words ---- */

static const char *quantity(double x, const char *unit)
{
    static char out[64];
    struct text t = {0};
    const struct sheet_value v = {VALUE_NUMBER, x, NULL};
    words_quantity(&t, &v, unit);
    snprintf(out, sizeof out, "%s", text_get(&t));
    text_free(&t);
    return out;
}

Test(worksheet_parts, numbers_for_people)
{
    cr_expect_str_eq(quantity(1680, "GPUs"), "1,680 GPUs");
    cr_expect_str_eq(quantity(1, "GPUs"), "1 GPU");
    cr_expect_str_eq(quantity(1, "GPUs/job"), "1 GPU/job");
    cr_expect_str_eq(quantity(1, "switches"), "1 switch");
    cr_expect_str_eq(quantity(1, "s"), "1 s");
    cr_expect_str_eq(quantity(1, "Gbps"), "1 Gbps");
    cr_expect_str_eq(quantity(0.8203125, "fraction"), "0.820312");
    cr_expect_str_eq(quantity(48149.2331172, "requests"), "48,149.2 requests");
    cr_expect_str_eq(quantity(1234567.8, "B"), "1,234,568 B");
    cr_expect_str_eq(quantity(3.67993690908e-64, "fraction"), "3.67994e-64");
    cr_expect_str_eq(quantity(-2.5, "$/h"), "-$2.5/h");
    cr_expect_str_eq(quantity(2, "1/day"), "2/day");
    cr_expect_str_eq(quantity(INFINITY, "h"), "infinite");
    cr_expect_str_eq(quantity(70, "10^9"), "70 x 10^9");
    cr_expect_str_eq(quantity(1, "0/1"), "1 (yes)");
    cr_expect_str_eq(quantity(0.99999996, "fraction"), "1");
    cr_expect_str_eq(quantity(999999.96, "fraction"), "1,000,000");
}

static const char *page_of(void (*print)(const struct sheet_page *, const struct sheet_case *))
{
    static char out[16384];
    memset(out, 0, sizeof out);
    FILE *f = fmemopen(out, sizeof out - 1, "w");
    print(&(struct sheet_page){.out = f}, &c);
    fclose(f);
    return out;
}

Test(worksheet_parts, page_of_little)
{
    static const char golden[] =
        "little: How many GPUs does a stream of jobs keep busy?\n"
        "  Little's law: a stream of jobs, each holding some GPUs for some time, keeps\n"
        "  rate x time x GPUs busy on average, whatever the distributions or the order of\n"
        "  service.\n"
        "\n"
        "Inputs\n"
        "  lambda = 600 jobs/h  arrivals_per_h  job arrival rate\n"
        "  W = 3.5 h            mean_hold_h     mean time a job holds its GPUs (default)\n"
        "  g = 4 GPUs           gpus_per_job    GPUs held by one job (default)\n"
        "  N = 2,048 GPUs       fleet_gpus      fleet size (default)\n"
        "\n"
        "Steps\n"
        "   1. jobs_in_service\n"
        "      L = lambda x W = 600 x 3.5 = 2,100 jobs\n"
        "      On average 2,100 jobs run at a time.\n"
        "   2. busy_gpus  (the answer)\n"
        "      B = L x g = 2,100 x 4 = 8,400 GPUs\n"
        "      The stream asks for 8,400 GPUs; 2,048 GPUs is all there is.\n"
        "      Wrong turn: counts jobs and not their GPUs: 2,100 GPUs.\n"
        "   3. utilization\n"
        "      rho = B / N = 8,400 / 2,048 = 4.10156\n"
        "      The stream asks for 4.10156 of the fleet.\n"
        "   4. spare_gpus\n"
        "      F = N - B = 2,048 - 8,400 = -6,352 GPUs\n"
        "      Below zero: so many GPUs are missing.\n"
        "   5. stable\n"
        "      stable = 1 when rho < 1 = 1 when 4.10156 < 1 = 0 (no)\n"
        "      The queue grows for ever: there is no mean wait.\n"
        "\n"
        "What it rests on\n"
        "  The means are those of a long time: the stream neither grows nor shrinks.\n"
        "\n"
        "Rules\n"
        "  - With a utilization of 1 or more the busy count is the demand, not what the\n"
        "    fleet can serve.\n"
        "  - Without arrivals, or with a holding time of 0, every count is 0.\n"
        "\n"
        "Sources\n"
        "  J. D. C. Little, 'A proof for the queuing formula L = lambda W', Operations\n"
        "  Research 9 (1961)\n";
    cr_assert_eq(sheet_case_set(&c, "arrivals_per_h=10 jobs/min"), HR_OK);
    cr_assert_eq(sheet_case_solve(&c), HR_OK);
    cr_assert_str_eq(page_of(sheet_print), golden);
}

/* ---- a sheet with lists, made for this ---- */

enum { DEMAND, RATE };
enum { SHARE, PARTS, TOTAL };

static const struct sheet_input toy_inputs[] = {
    [DEMAND] = SHEET_INPUT("demand", "d", "GPUs", "demand", "2, 3, 5", .list = true),
    [RATE] = SHEET_INPUT("rate_gb_s", "r", "GB/s", "rate", "4"),
};

static const struct sheet_output toy_outputs[] = {
    [SHARE] = SHEET_OUTPUT("share", "s", "GB/s", "{rate_gb_s} x {demand} / 10",
                           "One of {demand} has {share}.", .each = "demand"),
    [PARTS] =
        SHEET_OUTPUT("parts", "n", "count", "ceil({rate_gb_s} / 3)", NULL, .type = SHEET_COUNT),
    [TOTAL] = SHEET_OUTPUT("total", "S", "GB/s", "sum of {share}", "From {demand}: {share#}."),
};

static void toy_solve(struct sheet_case *k)
{
    double total = 0;
    size_t n;
    const double *demand = sheet_list(k, DEMAND, &n);
    for (size_t i = 0; i < n; i++) {
        sheet_set_at(k, SHARE, i, sheet_in(k, RATE) * demand[i] / 10);
        total += sheet_out_at(k, SHARE, i);
    }
    sheet_set(k, PARTS, sheet_ceil(sheet_in(k, RATE) / 3));
    sheet_set(k, TOTAL, total);
}

static const struct sheet toy = {
    .name = "toy",
    .group = "Queueing and pooling",
    .question = "A toy?",
    .doc = "Lists.",
    .assumption = "None.",
    .sources = "None.",
    .inputs = toy_inputs,
    .outputs = toy_outputs,
    .n_inputs = SHEET_N(toy_inputs),
    .n_outputs = SHEET_N(toy_outputs),
    .answer = TOTAL,
    .solve = toy_solve,
};

static void use_toy(void)
{
    sheet_case_fini(&c);
    cr_assert_eq(sheet_case_init(&c, &toy, &diags), HR_OK);
    cr_assert_eq(sheet_case_solve(&c), HR_OK);
}

Test(worksheet_parts, lists_show_elements_in_their_own_steps)
{
    use_toy();
    const char *page = page_of(sheet_print);
    const char *steps = strstr(page, "Steps\n");
    static const char golden[] =
        "Steps\n"
        "   1. share\n"
        "      s_i = r x d_i / 10\n"
        "      s_1 = 4 x 2 / 10 = 0.8 GB/s\n"
        "      s_2 = 4 x 3 / 10 = 1.2 GB/s\n"
        "      s_3 = 4 x 5 / 10 = 2 GB/s\n"
        "      One of 2 GPUs has 0.8 GB/s.\n"
        "      One of 3 GPUs has 1.2 GB/s.\n"
        "      One of 5 GPUs has 2 GB/s.\n"
        "   2. parts\n"
        "      n = ceil(r / 3) = ceil(4 / 3) = 2\n"
        "   3. total  (the answer)\n"
        "      S = sum of s = sum of 0.8, 1.2, 2 = 4 GB/s\n"
        "      From 2, 3, 5 GPUs: 0.8, 1.2, 2.\n";
    cr_assert_not_null(steps);
    cr_assert_eq(strncmp(steps, golden, strlen(golden)), 0, "%s", steps);
}

Test(worksheet_parts, formulas_are_read_as_arithmetic)
{
    use_toy();
    double x;
    cr_assert(formula_value(&c, SHARE, 1, NULL, &x));
    cr_expect_float_eq(x, 1.2, 1e-12);
    cr_assert(formula_value(&c, PARTS, 0, NULL, &x));
    cr_expect_eq(x, 2);
    cr_assert_not(formula_value(&c, TOTAL, 0, NULL, &x)); /* in words */
    cr_expect_str_eq(formula_turned(&c, SHARE, 1, 1, &x), "divides in place of multiplying");
    cr_expect_float_eq(x, 4.0 / 3 / 10, 1e-12);
    cr_expect_str_eq(formula_turned(&c, PARTS, 0, 2, &x), "rounds down in place of up");
    cr_expect_eq(x, 1);
    cr_expect_null(formula_turned(&c, PARTS, 0, 3, &x));
}

/* ---- answers ---- */

static const struct sheet_answers *mark(const char *const *texts, size_t n)
{
    static struct sheet_answers a;
    const enum hr_err err = sheet_answers_mark(&c, &c.arena, texts, n, 0.01, &a);
    diags_print(&diags, stderr, false);
    cr_assert_eq(err, HR_OK);
    return &a;
}

static void because(const char *answer, const char *why)
{
    const struct sheet_answers *a = mark(&answer, 1);
    cr_expect_eq(a->n_wrong, 1u, "%s is taken as right", answer);
    cr_expect_not_null(strstr(a->items[0].why, why), "%s: '%s'", answer, a->items[0].why);
}

Test(worksheet_parts, answers_are_right_to_a_hundredth)
{
    const char *const right[] = {"busy_gpus=1,690", "utilization=82%", "stable=yes",
                                 "jobs_in_service=420"};
    const char *const wrong[] = {"busy_gpus=1700"}, *const flag[] = {"stable=0.999"};
    cr_expect_eq(mark(right, 4)->n_wrong, 0u);
    cr_expect_eq(mark(wrong, 1)->n_wrong, 1u);
    cr_expect_eq(mark(flag, 1)->n_wrong, 1u);
}

Test(worksheet_parts, wrong_answers_are_explained)
{
    because("busy_gpus=420", "counts jobs and not their GPUs");
    because("busy_gpus=105", "divides in place of multiplying");
    because("jobs_in_service=25200", "60 times the right one");
    because("jobs_in_service=0.117", "3,600th of the right one");
    because("jobs_in_service=10080", "24 times the right one");
    because("jobs_in_service=840", "Twice");
    because("jobs_in_service=210", "Half");
    because("utilization=82", "percentage");
    because("utilization=0.1797", "1 minus the right one");
    because("utilization=1.219", "reciprocal");
    because("spare_gpus=-368", "sign");
    because("jobs_in_service=433", "");
    cr_expect_str_eq(mark((const char *const[]){"jobs_in_service=433"}, 1)->items[0].why, "");
    /* To the digits written: 0.5 is none of these. */
    cr_expect_str_eq(mark((const char *const[]){"utilization=0.5"}, 1)->items[0].why, "");
}

Test(worksheet_parts, wrong_answers_of_bytes_and_counts_are_explained)
{
    use_toy();
    because("share_1=6.4", "bits are taken for bytes");
    because("share_1=0.85899", "GB (10^9) and GiB (2^30)");
    because("share_1=0.83886", "MB (10^6) and MiB (2^20)");
    because("parts=1", "rounds down in place of up");
    because("parts=1.3333", "Not rounded");
    because("parts=3", "One too many");
}

Test(worksheet_parts, answers_part_at_the_first_wrong_step)
{
    const char *const texts[] = {"spare_gpus=1628", "busy_gpus=420", "jobs_in_service=420"};
    const struct sheet_answers *a = mark(texts, 3);
    cr_assert_eq(a->n, 3u);
    cr_expect_str_eq(a->items[0].key, "jobs_in_service");
    cr_expect(a->items[0].right && !a->items[1].right && !a->items[2].right);
    cr_expect_str_eq(a->items[2].why,
                     "Rightly carried on from the wrong busy_gpus: this step has no mistake of "
                     "its own.");
}

static void refused(const char *answer, const char *text, const char *nearest)
{
    struct sheet_answers a;
    const size_t at = diags.n;
    cr_assert_eq(sheet_answers_mark(&c, &c.arena, &answer, 1, 0.01, &a), HR_INPUT, "%s", answer);
    cr_assert_gt(diags.n, at);
    cr_expect_not_null(strstr(diags.items[at].text, text), "%s", diags.items[at].text);
    if (nearest)
        cr_expect_str_eq(diags.items[at].nearest, nearest);
}

Test(worksheet_parts, answers_to_nothing_are_refused)
{
    refused("busy_gpu=1", "no result 'busy_gpu'", "busy_gpus");
    refused("busy_gpus", "key=value", NULL);
    refused("busy_gpus=1 s", "another kind", NULL);
    refused("busy_gpus=many", "no number", NULL);
    use_toy();
    refused("share=1", "share_1 is its first element, of 3", NULL);
    refused("share_4=1", "no result", NULL);
}

/* ---- variation ---- */

static size_t knee_of(double (*f)(double), size_t n, const char **why)
{
    struct vary_point points[64];
    for (size_t i = 0; i < n; i++)
        points[i] = (struct vary_point){(double)i, NULL, {VALUE_NUMBER, f((double)i), NULL}};
    return vary_knee(points, n, why);
}

static double line(double x)
{
    return 3 - 2 * x;
}
static double level(double x)
{
    return 0 * x + 4;
}
static double corner(double x)
{
    return x < 7 ? 0 : 5 * (x - 7);
}
static double wall(double x)
{
    return x < 9 ? 1 / (9 - x) : INFINITY;
}

Test(worksheet_parts, knees_are_where_the_chord_is_far)
{
    const char *why;
    cr_expect_eq(knee_of(line, 11, &why), 11u);
    cr_expect_str_eq(why, "it is close to a straight line");
    cr_expect_eq(knee_of(level, 11, &why), 11u);
    cr_expect_str_eq(why, "the result does not change");
    cr_expect_eq(knee_of(line, 2, &why), 2u);
    cr_expect_eq(knee_of(corner, 11, &why), 7u);
    /* 1 / (9 - x) on 0..8, chord from 1/9 to 1: farthest at 9 - x = 3, the root of the product. */
    cr_expect_eq(knee_of(wall, 16, &why), 6u);
}

static void values(const char *text, const char *of, size_t n, const double *x, const double *y)
{
    struct vary v;
    const enum hr_err err = sheet_vary(&c, text, of, &v);
    diags_print(&diags, stderr, false);
    cr_assert_eq(err, HR_OK, "%s", text);
    cr_assert_eq(v.n, n, "%s: %zu", text, v.n);
    for (size_t i = 0; i < n; i++) {
        cr_expect_float_eq(v.items[i].x, x[i], 1e-9, "%s: %.12g", text, v.items[i].x);
        cr_expect_float_eq(v.items[i].y.number, y[i], 1e-9, "%s: %.12g", text, v.items[i].y.number);
    }
    cr_expect_eq(sheet_case_get(&c, "busy_gpus")->number, 1680, "the case is as it was");
    cr_expect_not(c.in[0].given);
}

Test(worksheet_parts, inputs_vary_by_range_step_and_list)
{
    values("arrivals_per_h=0..100:3", NULL, 3, (double[]){0, 50, 100}, (double[]){0, 700, 1400});
    values("arrivals_per_h=0..100/40", NULL, 3, (double[]){0, 40, 80}, (double[]){0, 560, 1120});
    values("arrivals_per_h=1 jobs/min..3 jobs/min:2", NULL, 2, (double[]){60, 180},
           (double[]){840, 2520});
    values("arrivals_per_h=100,0", "jobs_in_service", 2, (double[]){0, 100}, (double[]){0, 350});
    values("gpus_per_job=1..3:9", NULL, 3, (double[]){1, 2, 3}, (double[]){420, 840, 1260});
    values("mean_hold_h=30min..1h:2", NULL, 2, (double[]){0.5, 1}, (double[]){240, 480});
}

static void not_varied(const char *text, const char *of, const char *why)
{
    struct vary v;
    const size_t at = diags.n;
    cr_assert_eq(sheet_vary(&c, text, of, &v), HR_INPUT, "%s", text);
    cr_assert_gt(diags.n, at);
    cr_expect_not_null(strstr(diags.items[at].text, why), "%s: %s", text, diags.items[at].text);
}

Test(worksheet_parts, bad_ranges_are_refused)
{
    not_varied("arrival_per_h=0..1", NULL, "no input");
    not_varied("arrivals_per_h", NULL, "form");
    not_varied("arrivals_per_h=3..1", NULL, "rise");
    not_varied("arrivals_per_h=0..1:1", NULL, "2 to 1000");
    not_varied("arrivals_per_h=0..1:x", NULL, "2 to 1000");
    not_varied("arrivals_per_h=0..1/0", NULL, "step");
    not_varied("arrivals_per_h=-5..1:3", NULL, "at least 0");
    not_varied("arrivals_per_h=0..1 s", NULL, "another kind");
    not_varied("arrivals_per_h=0..inf", NULL, "finite");
    not_varied("arrivals_per_h=5", NULL, "two values");
    not_varied("arrivals_per_h=0..1", "busy", "no result");
    use_toy();
    not_varied("demand=1,2", NULL, "is a list");
}

Test(worksheet_parts, plots_have_axes_with_numbers)
{
    struct vary_point points[16];
    char out[8192] = "";
    for (size_t i = 0; i < 16; i++)
        points[i] = (struct vary_point){(double)i, NULL, {VALUE_NUMBER, wall((double)i), NULL}};
    const struct vary v = {.items = points, .n = 16, .knee = 6};
    FILE *f = fmemopen(out, sizeof out - 1, "w");
    vary_plot(f, &v, "x (h)", "y (GPUs)");
    fclose(f);
    cr_expect_not_null(strstr(out, "             1 +"), "%s", out);
    cr_expect_not_null(strstr(out, "      0.111111 +*"), "%s", out);
    cr_expect_not_null(strstr(out, "\n                0   "), "%s", out);
    cr_expect_not_null(strstr(out, "7.5"), "%s", out);
    cr_expect_not_null(strstr(out, "  15\n"), "%s", out);
    cr_expect_not_null(strchr(out, 'o'), "%s", out);
    size_t infinite = 0;
    for (const char *at = out; (at = strchr(at, '^')); at++)
        infinite++;
    cr_expect_eq(infinite, 7u, "%s", out);
}
