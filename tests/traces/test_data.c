/* The bundled traces, against figures measured on them with other tools (Python and NumPy) when
 * they were collected: rows, spans, quantiles, GPU-hours, order. */
#include "fixture.h"

#include "sim/time.h"

#include <math.h>

static void near(double a, double b, double tolerance, int line)
{
    cr_assert(fabs(a - b) <= tolerance, "line %d: %.9g, not %.9g", line, a, b);
}

#define NEAR(a, b, tolerance) near((a), (b), (tolerance), __LINE__)

struct request_facts {
    const char *path, *sha256;
    size_t rows;
    int64_t first_us; /* since 1970 */
    uint64_t span_us;
    double rate, peak, gap_cv, longest_gap;
    double prompt[4], output[4]; /* p50 p90 p99 max */
};

static const struct request_facts azure[] = {
    {DATA("azure-llm-2023/AzureLLMInferenceTrace_code.csv"),
     "54e9a6d2a4bd06ba1e060304b900abbc74cbea53de96506e60fe5bb4f2277fb6",
     8819,
     INT64_C(1700158623979960),
     UINT64_C(3435948056),
     2.57,
     4.1,
     13.2,
     217.168952,
     {1469, 5188, 7436, 7437},
     {13, 55, 252, 1899}},
    {DATA("azure-llm-2023/AzureLLMInferenceTrace_conv.csv"),
     "2f1e5b666d4e3055fdbba98598ce2ec307767b9064e03e2fa46676dbcc7d0bf8",
     19366,
     INT64_C(1700158546680590),
     UINT64_C(3501721937),
     5.53,
     1.5,
     1.09,
     4.314579,
     {1020, 2735, 4142, 14050},
     {129, 424, 601, 1000}},
};

static void expect_quantiles(const struct trace_quantiles *q, const double want[4])
{
    NEAR(q->p50, want[0], 0.6); /* the figures are rounded to whole tokens */
    NEAR(q->p90, want[1], 0.6);
    NEAR(q->p99, want[2], 0.6);
    cr_assert_eq(q->max, want[3]);
}

Test(data, azure_as_measured)
{
    for (size_t i = 0; i < sizeof azure / sizeof *azure; i++) {
        const struct request_facts *want = &azure[i];
        struct fixture f;
        fixture_init(&f, "azure-llm");
        f.spec.path = want->path;
        fixture_read(&f);
        fixture_expect_ok(&f);
        fixture_expect_balance(&f);
        const struct trace_report *r = &f.report;
        cr_assert_str_eq(r->sha256, want->sha256);
        cr_assert_eq(r->rows_read, want->rows);
        cr_assert_eq(f.requests.n, want->rows);
        cr_assert_eq(r->inversions, 0);
        cr_assert_eq(r->duplicates, 0);
        cr_assert_eq(f.requests.rows[0].arrival_ns, 0);
        cr_assert_eq(f.requests.rows[want->rows - 1].arrival_ns, f.requests.span_ns);
        NEAR(r->rate_per_s, want->rate, 0.005);
        NEAR(r->peak_to_mean, want->peak, 0.05);
        NEAR(r->gap_cv, want->gap_cv, 0.05);
        NEAR(sim_time_to_s(r->longest_gap_ns), want->longest_gap, 1e-9);
        cr_assert_eq(r->first_ns, want->first_us * 1000);
        cr_assert_eq(r->span_ns, want->span_us * SIM_US);
        expect_quantiles(&r->prompt_tokens, want->prompt);
        expect_quantiles(&r->output_tokens, want->output);
        cr_assert(r->naive);
        cr_assert(fixture_noted(&f, "read as UTC"));
        fixture_fini(&f);
    }
}

/* Row by row against the text itself, read the plain way. */
Test(data, azure_every_row)
{
    struct fixture f;
    fixture_init(&f, "azure-llm");
    f.spec.path = DATA("azure-llm-2023/AzureLLMInferenceTrace_conv.csv");
    fixture_read(&f);
    FILE *in = fopen(f.spec.path, "r");
    char line[128];
    cr_assert_not_null(fgets(line, sizeof line, in));
    uint64_t first = 0;
    for (size_t i = 0; i < f.requests.n; i++) {
        unsigned h, m, s, ticks, prompt, output;
        cr_assert_not_null(fgets(line, sizeof line, in));
        cr_assert_eq(
            sscanf(line, "2023-11-16 %u:%u:%u.%7u,%u,%u", &h, &m, &s, &ticks, &prompt, &output), 6);
        uint64_t t = (uint64_t)(h * 3600 + m * 60 + s) * SIM_S + ticks * UINT64_C(100);
        first = i == 0 ? t : first;
        cr_assert_eq(f.requests.rows[i].arrival_ns, t - first);
        cr_assert_eq(f.requests.rows[i].prompt_tokens, prompt);
        cr_assert_eq(f.requests.rows[i].output_tokens, output);
    }
    cr_assert_null(fgets(line, sizeof line, in));
    fclose(in);
    fixture_fini(&f);
}

Test(data, helios_slice_as_measured)
{
    struct fixture f;
    fixture_init(&f, "helios-slice");
    f.spec.path = DATA("helios-venus/helios_venus_2vc_sept.csv");
    fixture_read(&f);
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    const struct trace_report *r = &f.report;
    cr_assert_eq(f.jobs.n, 1867);
    cr_assert_eq(r->gpus.max, 144);
    NEAR(r->gpu_hours, 118318, 0.5);
    NEAR(r->duration_s.p50, 93, 0.5);
    NEAR(r->duration_s.p90, 2528, 0.5);
    NEAR(r->duration_s.p95, 15226, 0.5);
    NEAR(r->duration_s.p99, 162099, 0.5);
    NEAR(r->duration_s.max, 567327, 0.5);
    cr_assert_eq(r->n_tenants, 2);
    NEAR((double)r->ended[JOB_COMPLETED] / 1867, 0.42, 0.005);
    NEAR((double)r->ended[JOB_CANCELLED] / 1867, 0.32, 0.005);
    NEAR((double)r->ended[JOB_FAILED] / 1867, 0.26, 0.005);
    cr_assert_eq(r->ended[JOB_END_UNKNOWN], 0);
    size_t ones = 0, eights = 0, wide = 0;
    for (size_t i = 0; i < f.jobs.n; i++) {
        ones += f.jobs.rows[i].gpus == 1;
        eights += f.jobs.rows[i].gpus == 8;
        wide += f.jobs.rows[i].gpus == 128;
        cr_assert_eq(f.jobs.rows[i].limit_ns, JOB_UNSET); /* its limit column is the run time */
    }
    NEAR((double)ones / 1867, 0.04, 0.005);
    NEAR((double)eights / 1867, 0.37, 0.005);
    NEAR((double)wide / 1867, 0.21, 0.005);
    cr_assert_str_eq(f.jobs.rows[0].id, "765563");
    cr_assert_str_eq(f.jobs.rows[0].tenant, "vcvGl");
    cr_assert_eq(f.jobs.rows[0].work_ns, S(24));
    cr_assert_eq(r->first_ns, (int64_t)S(5835));
    fixture_fini(&f);
}

/* 176 GPUs: a contended pool, over the 26 days of the excerpt 108 %, over its submits 109 %. */
Test(data, helios_slice_overloads_its_own_pool)
{
    struct fixture f;
    fixture_init(&f, "helios-slice");
    f.spec.path = DATA("helios-venus/helios_venus_2vc_sept.csv");
    fixture_read(&f);
    struct trace_load load = trace_offered_load(&f.report, 176);
    NEAR(load.share * sim_time_to_s(f.report.span_ns) / (26 * 86400), 1.077, 0.001);
    cr_assert_not_null(load.warning);
    cr_assert_null(trace_offered_load(&f.report, 256).warning);
    fixture_fini(&f);
}

Test(data, helios_example_in_its_own_columns)
{
    static const struct {
        const char *id, *tenant;
        uint64_t submit_s, work_s;
        uint32_t gpus;
        enum job_end end;
    } want[] = {{"1425511", "vcJkd", 0, 36848, 1, JOB_COMPLETED},
                {"1425512", "vchbv", 26, 249, 4, JOB_FAILED},
                {"1425513", "vcpDC", 27, 675233, 1, JOB_CANCELLED}};
    struct fixture f;
    fixture_init(&f, "helios");
    f.spec.path = DATA("helios-venus/cluster_log_example_from_readme.csv");
    fixture_read(&f);
    fixture_expect_ok(&f);
    cr_assert_eq(f.jobs.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct job *job = &f.jobs.rows[i];
        cr_assert_str_eq(job->id, want[i].id);
        cr_assert_str_eq(job->tenant, want[i].tenant);
        cr_assert_eq(job->submit_ns, S(want[i].submit_s));
        cr_assert_eq(job->work_ns, S(want[i].work_s));
        cr_assert_eq(job->gpus, want[i].gpus);
        cr_assert_eq(job->min_gpus, want[i].gpus);
        cr_assert_eq(job->end, want[i].end);
        cr_assert(job->preemptible);
    }
    cr_assert_eq(f.report.duration_differs, 0);
    fixture_fini(&f);
}

Test(data, philly_as_measured)
{
    struct fixture f;
    fixture_init(&f, "philly");
    f.spec.path = DATA("philly/philly.csv.gz");
    fixture_read(&f);
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    const struct trace_report *r = &f.report;
    cr_assert_eq(r->rows_read, 82247);
    cr_assert_eq(r->rows_kept, 82247);
    NEAR((double)r->inversions / 82247, 0.55, 0.005);
    NEAR(r->gpu_hours, 978078, 0.5);
    cr_assert_eq(r->n_tenants, 15);
    NEAR(r->duration_s.mean, 13136, 0.5);
    expect_quantiles(&r->duration_s, (double[]){1144, 11265, 254758, 4628226});
    NEAR(r->peak_to_mean, 33, 0.5);
    cr_assert(fixture_noted(&f, "blank lines: 1"));
    fixture_fini(&f);
}

Test(data, philly_excerpt_as_measured)
{
    struct fixture f;
    fixture_init(&f, "philly");
    f.spec.path = DATA("philly/philly_2017-10-17_18.csv");
    fixture_read(&f);
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    const struct trace_report *r = &f.report;
    cr_assert_eq(r->rows_read, 3477);
    cr_assert_eq(r->inversions, 1778); /* 51 % of the neighbours */
    cr_assert_eq(r->duplicates, 3);
    cr_assert_eq(r->gpus.max, 16);
    NEAR(r->gpu_hours, 26180.9, 0.1);
    cr_assert(fixture_noted(&f, "1778 of 3477 rows are earlier"));
    cr_assert(fixture_noted(&f, "columns not used: gpu_time"));
    for (size_t i = 1; i < f.jobs.n; i++)
        cr_assert_leq(f.jobs.rows[i - 1].submit_ns, f.jobs.rows[i].submit_ns);
    f.spec.dedupe = true;
    fixture_read(&f);
    cr_assert_eq(f.jobs.n, 3474);
    cr_assert_eq(f.report.dropped[TRACE_DROP_DUPLICATE], 3);
    fixture_expect_balance(&f);
    fixture_fini(&f);
}

Test(data, formats_are_known_by_their_headers)
{
    static const struct {
        const char *path, *format;
    } cases[] = {{DATA("azure-llm-2023/AzureLLMInferenceTrace_code.csv"), "azure-llm"},
                 {DATA("helios-venus/helios_venus_2vc_sept.csv"), "helios-slice"},
                 {DATA("helios-venus/cluster_log_example_from_readme.csv"), "helios"},
                 {DATA("philly/philly_2017-10-17_18.csv"), "philly"}};
    struct diags diags;
    diags_init(&diags);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct trace_format *format = NULL;
        cr_assert_eq(trace_format_by_header(cases[i].path, &diags, &format), HR_OK);
        cr_assert_str_eq(format->name, cases[i].format);
    }
    diags_fini(&diags);
}
