/* The report: offered load and its warnings, the printed form, the facts for programs. */
#include "fixture.h"

#include <math.h>

/* One job of the given GPUs and hours at each end of an hour. */
static void read_pair(struct fixture *f, double gpu_hours)
{
    char text[256];
    snprintf(text, sizeof text, "submit_s,duration_s,gpus\n0,%.6f,1\n3600,%.6f,1\n",
             gpu_hours * 1800, gpu_hours * 1800);
    fixture_init(f, "headroom-jobs");
    fixture_text(f, text);
    fixture_expect_ok(f);
}

Test(report, load_warns_below_5_and_above_100_percent)
{
    static const struct {
        double gpu_hours, share;
        bool warns;
        const char *fragment;
    } cases[] = {{0.499, 0.0499, true, "under 5 %"},
                 {0.5, 0.05, false, NULL},
                 {10, 1, false, NULL},
                 {10.01, 1.001, true, "over 100 %"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        read_pair(&f, cases[i].gpu_hours);
        struct trace_load load = trace_offered_load(&f.report, 10);
        cr_assert_float_eq(load.share, cases[i].share, 1e-9);
        cr_assert_float_eq(load.fleet_gpu_hours, 10, 1e-9);
        cr_assert_eq(load.warning != NULL, cases[i].warns, "%zu", i);
        if (cases[i].warns)
            cr_assert_not_null(strstr(load.warning, cases[i].fragment));
        fixture_fini(&f);
    }
}

Test(report, no_span_no_load)
{
    struct fixture f;
    fixture_init(&f, "headroom-jobs");
    fixture_text(&f, "submit_s,duration_s,gpus\n5,60,1\n");
    fixture_expect_ok(&f);
    struct trace_load load = trace_offered_load(&f.report, 8);
    cr_assert(isnan(load.share));
    cr_assert_null(load.warning);
    cr_assert_eq(f.report.rate_per_s, 0);
    fixture_fini(&f);
}

static char *print(const struct fixture *f, double fleet)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    trace_report_print(&f->report, fleet, out);
    fclose(out);
    return text;
}

static void expect_80_columns(const char *text)
{
    for (const char *line = text; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        if (line != text) /* the first is the path */
            cr_assert_leq(n, 80, "%.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

Test(report, printed_for_people)
{
    struct fixture f;
    fixture_init(&f, "helios-slice");
    f.spec.path = DATA("helios-venus/helios_venus_2vc_sept.csv");
    fixture_read(&f);
    char *text = print(&f, 176);
    static const char *const fragments[] = {
        "rows       1867 read, 1867 kept",
        "15c4738f1e1da88bafc66fdb823f9455db18d89276aeb0dea2f70ab93ceae117",
        "asked      118318 GPU-hours by 2 tenants",
        "load       109 % of 176 GPUs",
        "786 completed, 589 cancelled, 492 failed",
        "over 100 % of the fleet",
        "columns not used: user, class, chip_type"};
    for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++)
        cr_assert(strstr(text, fragments[i]) != NULL, "%s\n%s", fragments[i], text);
    expect_80_columns(text);
    free(text);
    fixture_fini(&f);
}

Test(report, stays_in_80_columns)
{
    static const struct {
        const char *path, *format;
    } files[] = {{DATA("azure-llm-2023/AzureLLMInferenceTrace_code.csv"), "azure-llm"},
                 {DATA("philly/philly_2017-10-17_18.csv"), "philly"},
                 {DATA("helios-venus/cluster_log_example_from_readme.csv"), "helios"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct fixture f;
        fixture_init(&f, files[i].format);
        f.spec.path = files[i].path;
        fixture_read(&f);
        char *text = print(&f, 8);
        expect_80_columns(text);
        free(text);
        fixture_fini(&f);
    }
}

/* A hostile column name does not reach the terminal. */
Test(report, control_characters_are_not_printed)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    fixture_text(&f, "arrival_s,\x1b[2J\xc2\x9b,prompt_tokens,output_tokens\n0,x,1,1\n1,x,1,1\n");
    fixture_expect_ok(&f);
    cr_assert(fixture_noted(&f, "columns not used: ?[2J??"));
    fixture_fini(&f);
}

Test(report, facts_for_programs)
{
    struct fixture f;
    struct trace_fact facts[TRACE_FACTS_MAX];
    fixture_init(&f, "azure-llm");
    f.spec.path = DATA("azure-llm-2023/AzureLLMInferenceTrace_conv.csv");
    fixture_read(&f);
    size_t n = trace_report_facts(&f.report, facts);
    bool rows = false, median = false, drops = false, span = false;
    uint64_t dropped = 0;
    for (size_t i = 0; i < n; i++) {
        cr_assert_not_null(facts[i].name);
        cr_assert_not_null(facts[i].unit);
        for (size_t k = 0; k < i; k++)
            cr_assert_str_neq(facts[k].name, facts[i].name);
        rows |= strcmp(facts[i].name, "rows_kept") == 0 && facts[i].count == 19366;
        median |= strcmp(facts[i].name, "output_tokens_p50") == 0 && facts[i].real == 129;
        span |= strcmp(facts[i].name, "span") == 0 && fabs(facts[i].real - 3501.721937) < 1e-9;
        if (strncmp(facts[i].name, "dropped_", 8) == 0) {
            drops = true;
            dropped += facts[i].count;
        }
        cr_assert_str_neq(facts[i].name, "gpu_hours"); /* not of requests */
    }
    cr_assert(rows && median && span && drops);
    cr_assert_eq(dropped, 0);
    fixture_fini(&f);
}

/* The names of the facts are the names of the reasons. */
Test(report, drop_facts_are_named_as_the_reasons)
{
    struct trace_report r = {.yields = TRACE_JOBS, .path = "", .format = ""};
    struct trace_fact facts[TRACE_FACTS_MAX];
    for (int i = 0; i < TRACE_DROPS; i++)
        r.dropped[i] = (uint64_t)i + 100;
    size_t n = trace_report_facts(&r, facts);
    for (int i = 0; i < TRACE_DROPS; i++) {
        char name[64];
        snprintf(name, sizeof name, "dropped_%s", trace_drops[i].name);
        size_t k = 0;
        while (k < n && strcmp(facts[k].name, name) != 0)
            k++;
        cr_assert_lt(k, n, "%s", name);
        cr_assert_eq(facts[k].count, r.dropped[i]);
    }
}
