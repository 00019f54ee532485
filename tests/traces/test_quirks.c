/* Quirks of real files, one at a time, each on a few lines of text. */
#include "fixture.h"

#include "sim/rng.h"

#include <inttypes.h>
#include <zlib.h>

#define REQUESTS "arrival_s,prompt_tokens,output_tokens\n"

struct row {
    uint64_t at_ms;
    uint32_t prompt, output;
};

static void expect_requests(const struct fixture *f, size_t n, const struct row *want)
{
    fixture_expect_ok(f);
    fixture_expect_balance(f);
    cr_assert_eq(f->requests.n, n, "%zu rows", f->requests.n);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(f->requests.rows[i].arrival_ns, want[i].at_ms * SIM_MS, "row %zu", i);
        cr_assert_eq(f->requests.rows[i].prompt_tokens, want[i].prompt, "row %zu", i);
        cr_assert_eq(f->requests.rows[i].output_tokens, want[i].output, "row %zu", i);
    }
}

static void expect_text(const char *format, const char *text, size_t n, const struct row *want)
{
    struct fixture f;
    fixture_init(&f, format);
    fixture_text(&f, text);
    expect_requests(&f, n, want);
    fixture_fini(&f);
}

/* --- the text ---------------------------------------------------------------------------- */

Test(quirks, line_ends_comments_blanks_and_marks)
{
    static const struct row want[] = {{0, 5, 6}, {1500, 7, 8}};
    static const char *const texts[] = {
        REQUESTS "10,5,6\n11.5,7,8\n",
        REQUESTS "10,5,6\n11.5,7,8",
        REQUESTS "10,5,6\n11.5,7,8\n\n",
        REQUESTS "10,5,6\n \t\n11.5,7,8\n \n",
        "arrival_s,prompt_tokens,output_tokens\r\n10,5,6\r\n11.5,7,8\r\n",
        "arrival_s,prompt_tokens,output_tokens\r\n10,5,6\r\n11.5,7,8",
        "arrival_s,prompt_tokens,output_tokens\r\n10,5,6\r\n11.5,7,8\r",
        "\xef\xbb\xbf" REQUESTS "10,5,6\n11.5,7,8\n",
        "# a remark, with \"one quote\n; another\n\n" REQUESTS "10,5,6\n#10,1,1\n11.5,7,8\n# end",
        "arrival_s , prompt_tokens,output_tokens\n 10 ,5, 6\n11.5,7\t,8 \n",
        "\"arrival_s\",\"prompt_tokens\",output_tokens\n\"10\",5,\"6\"\n11.5,\"7\",8\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_text("headroom-requests", texts[i], 2, want);
}

Test(quirks, columns_by_name_in_any_order)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    fixture_text(&f,
                 "output_tokens,region,arrival_s,\"a \"\"b\"\"\",prompt_tokens\n"
                 "6,eu,10,\"x, \"\"y\"\"\nz\",5\n"
                 "8,,11.5,,7\n");
    expect_requests(&f, 2, (struct row[]){{0, 5, 6}, {1500, 7, 8}});
    cr_assert(fixture_noted(&f, "columns not used: region, a \"b\""));
    fixture_fini(&f);
}

/* The 2025 files insert a column, the 2024 ones have an offset and not always a fraction. */
Test(quirks, azure_spellings)
{
    static const struct row want[] = {{0, 100, 5}, {9, 200, 6}};
    expect_text("azure-llm",
                "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                "2023-11-16 18:17:03.9799600,100,5\r\n"
                "2023-11-16 18:17:03.9889600,200,6",
                2, want);
    expect_text("azure-llm",
                "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                "2024-05-10 00:00:00+00:00,100,5\n"
                "2024-05-10 00:00:00.009000+00:00,200,6\n",
                2, want);
    expect_text("azure-llm",
                "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
                "2024-05-10 00:00:00,1,100,5\n"
                "2024-05-10 00:00:00.009,0,200,6\n",
                2, want);
}

Test(quirks, a_zone_in_the_text_goes_before_the_declared_one)
{
    struct fixture f;
    fixture_init(&f, "azure-llm");
    f.spec.zone_declared = true;
    f.spec.zone_s = 8 * 3600;
    fixture_text(&f,
                 "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                 "2024-05-10 08:00:00,1,1\n"
                 "2024-05-10 00:00:01Z,1,1\n"
                 "2024-05-09 17:00:02-07:00,1,1\n");
    expect_requests(&f, 3, (struct row[]){{0, 1, 1}, {1000, 1, 1}, {2000, 1, 1}});
    cr_assert_eq(f.report.first_ns, INT64_C(1715299200) * 1000000000);
    cr_assert(f.report.naive);
    cr_assert(fixture_noted(&f, "read as +08:00, as declared"));
    fixture_fini(&f);
}

/* Rows cross the ends of the window of the reader, quoted line ends among them. */
Test(quirks, files_longer_than_the_window)
{
    enum { ROWS = 60000 };
    struct fixture f;
    struct rng rng;
    rng_init(&rng, 1, 0, "quirks", "long");
    char *text = malloc(ROWS * 100), *p = text;
    p += sprintf(p, "note,%s", REQUESTS);
    for (uint32_t i = 0; i < ROWS; i++) {
        p += sprintf(p, rng_below(&rng, 2) ? "\"two\nlines\"," : ",");
        for (uint64_t k = rng_below(&rng, 30); k > 0; k--)
            *p++ = ' ';
        p += sprintf(p, "%u.25,%u,%u%s", i, i + 1, 2 * i + 1, i % 3 ? "\n" : "\r\n");
    }
    fixture_init(&f, "headroom-requests");
    fixture_write(&f, text, (size_t)(p - text));
    cr_assert_gt(p - text, 2 << 20);
    free(text);
    fixture_read(&f);
    fixture_expect_ok(&f);
    cr_assert_eq(f.requests.n, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        cr_assert_eq(f.requests.rows[i].arrival_ns, S(i));
        cr_assert_eq(f.requests.rows[i].prompt_tokens, i + 1);
        cr_assert_eq(f.requests.rows[i].output_tokens, 2 * i + 1);
    }
    fixture_fini(&f);
}

static void write_gzip(const char *path, const char *mode, const char *text, size_t n)
{
    gzFile z = gzopen(path, mode);
    cr_assert_not_null(z);
    cr_assert_eq(gzwrite(z, text, (unsigned)n), (int)n);
    gzclose(z);
}

/* Two members, as `cat a.gz b.gz` makes them; the digest is that of the file on the disk. */
Test(quirks, gzip)
{
    enum { ROWS = 200000 };
    struct fixture f;
    char *text = malloc(ROWS * 24), *p = text;
    p += sprintf(p, REQUESTS);
    for (int i = 0; i < ROWS; i++)
        p += sprintf(p, "%d,%d,1\n", i, i + 1);
    size_t n = (size_t)(p - text);
    fixture_init(&f, "headroom-requests");
    fixture_write(&f, "", 0);
    write_gzip(f.path, "w", text, n / 3);
    write_gzip(f.path, "a", text + n / 3, n - n / 3);
    fixture_read(&f);
    fixture_expect_ok(&f);
    cr_assert_eq(f.requests.n, ROWS);
    cr_assert_eq(f.requests.rows[ROWS - 1].prompt_tokens, ROWS);
    cr_assert_lt(f.report.bytes, n / 2);
    char command[128], digest[65] = "";
    snprintf(command, sizeof command, "sha256sum %s", f.path);
    FILE *pipe = popen(command, "r");
    cr_assert_eq(fread(digest, 1, 64, pipe), 64);
    pclose(pipe);
    cr_assert_str_eq(f.report.sha256, digest);
    free(text);
    fixture_fini(&f);
}

/* --- requests ---------------------------------------------------------------------------- */

Test(quirks, requests_without_tokens_are_dropped_and_counted)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    fixture_text(&f, REQUESTS "0,0,0\n1,5,0\n2,0,5\n3,5,5\n,1,1\n");
    expect_requests(&f, 1, (struct row[]){{0, 5, 5}});
    cr_assert_eq(f.report.dropped[TRACE_DROP_ZERO_TOKENS], 3);
    cr_assert_eq(f.report.dropped[TRACE_DROP_NO_TIME], 1);
    fixture_fini(&f);
}

Test(quirks, order_within_a_minute_is_mended_stably)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    fixture_text(&f, REQUESTS "60,1,1\n0,2,1\n60,3,1\n0,4,1\n30,5,1\n");
    expect_requests(
        &f, 5, (struct row[]){{0, 2, 1}, {0, 4, 1}, {30000, 5, 1}, {60000, 1, 1}, {60000, 3, 1}});
    cr_assert_eq(f.report.inversions, 2);
    cr_assert_eq(f.report.ties, 2);
    fixture_fini(&f);
}

Test(quirks, duplicates_are_counted_and_kept_unless_asked)
{
    static const char text[] = REQUESTS "0,1,1\n5,2,2\n0,1,1\n0,1,2\n5,2,2\n5,2,2\n";
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    fixture_text(&f, text);
    fixture_expect_ok(&f);
    cr_assert_eq(f.requests.n, 6);
    cr_assert_eq(f.report.duplicates, 3);
    cr_assert(fixture_noted(&f, "rows equal to an earlier one: 3, kept"));
    f.spec.dedupe = true;
    fixture_read(&f);
    expect_requests(&f, 3, (struct row[]){{0, 1, 1}, {0, 1, 2}, {5000, 2, 2}});
    cr_assert_eq(f.report.duplicates, 3);
    cr_assert_eq(f.report.dropped[TRACE_DROP_DUPLICATE], 3);
    fixture_fini(&f);
}

/* Rows that differ only in a column that is not read are different rows. */
Test(quirks, unread_columns_tell_rows_apart)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    fixture_text(&f, "request_id," REQUESTS "a,0,1,1\nb,0,1,1\n");
    fixture_expect_ok(&f);
    cr_assert_eq(f.report.duplicates, 0);
    fixture_fini(&f);
}

/* Stamps of 3 s: each row moves by less than that, the same way each time, and order is kept. */
Test(quirks, quantised_arrivals_are_spread)
{
    enum { ROWS = 4000 };
    struct fixture f[3];
    char *text = malloc(ROWS * 24), *p = text;
    p += sprintf(p, REQUESTS);
    for (int i = 0; i < ROWS; i++)
        p += sprintf(p, "%d,%d,1\n", i / 10 * 3, i + 1);
    for (int k = 0; k < 3; k++) {
        fixture_init(&f[k], "headroom-requests");
        f[k].spec.spread_ns = S(3);
        f[k].spec.seed = k == 2 ? 8 : 7;
        fixture_text(&f[k], text);
        fixture_expect_ok(&f[k]);
        cr_assert_eq(f[k].requests.n, ROWS);
    }
    const struct request *a = f[0].requests.rows;
    double sum = 0;
    bool differs = false;
    for (int i = 0; i < ROWS; i++) {
        int64_t stamp = (int64_t)S((a[i].prompt_tokens - 1) / 10 * 3);
        int64_t moved = (int64_t)a[i].arrival_ns + f[0].report.first_ns - stamp;
        cr_assert(moved >= 0 && moved < (int64_t)S(3));
        cr_assert(i == 0 || a[i - 1].arrival_ns <= a[i].arrival_ns);
        cr_assert_eq(memcmp(&a[i], &f[1].requests.rows[i], sizeof *a), 0);
        differs |= a[i].arrival_ns != f[2].requests.rows[i].arrival_ns;
        sum += (double)moved * 1e-9;
    }
    cr_assert(differs);
    /* mean 1.5 s; the standard error of 4,000 uniform draws in 3 s is 3 / sqrt(12 * 4000) */
    cr_assert_float_eq(sum / ROWS, 1.5, 3.3 * 0.0137);
    for (int k = 0; k < 3; k++)
        fixture_fini(&f[k]);
    free(text);
}

Test(quirks, window_of_the_file)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    f.spec.from_ns = S(10);
    f.spec.until_ns = S(20);
    fixture_text(&f, REQUESTS "100,0,1\n109.9,1,1\n110,2,1\n119.9,3,1\n120,4,1\n");
    expect_requests(&f, 2, (struct row[]){{0, 2, 1}, {9900, 3, 1}});
    cr_assert_eq(f.report.dropped[TRACE_DROP_WINDOW], 2);
    cr_assert_eq(f.report.first_ns, (int64_t)S(110));
    fixture_fini(&f);
}

Test(quirks, gaps_and_standing_load_are_noted)
{
    struct fixture f;
    char text[1024] = REQUESTS;
    for (int i = 0; i < 12; i++)
        strcat(text, "0,1,1\n");
    strcat(text, "30,1,1\n90,1,1\n149,1,1\n269,1,1\n");
    fixture_init(&f, "headroom-requests");
    fixture_text(&f, text);
    fixture_expect_ok(&f);
    cr_assert(fixture_noted(&f, "12 rows stand at the first instant"));
    cr_assert(fixture_noted(&f, "gaps of a minute or more without a row: 2, 3 min in all"));
    cr_assert_eq(f.report.longest_gap_ns, S(120));
    cr_assert_eq(f.report.long_gaps_ns, S(180));
    fixture_fini(&f);
}

/* --- column mapping ---------------------------------------------------------------------- */

static enum hr_err read_mapped(struct fixture *f, const struct trace_map *maps, size_t n,
                               const char *unit, const char *text)
{
    fixture_init(f, "custom");
    f->spec.maps = maps;
    f->spec.n_maps = n;
    f->spec.time_unit = unit;
    f->spec.place = (struct diag_place){.file = "s.yaml", .line = 3, .column = 5};
    return fixture_text(f, text);
}

Test(quirks, names_with_spaces_by_mapping)
{
    static const struct trace_map maps[] = {{TRACE_ARRIVAL, "Timestamp", NULL},
                                            {TRACE_PROMPT_TOKENS, "Request tokens", NULL},
                                            {TRACE_OUTPUT_TOKENS, "Response tokens", NULL}};
    struct fixture f;
    read_mapped(&f, maps, 3, "s",
                "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens\n"
                "19440110.0,,3,GPT-4,5,6\n19440111.5,,3,GPT-4,7,8\n");
    expect_requests(&f, 2, (struct row[]){{0, 5, 6}, {1500, 7, 8}});
    cr_assert_eq(f.report.first_ns, INT64_C(19440110000000000));
    fixture_fini(&f);
}

Test(quirks, every_unit_of_time)
{
    static const struct {
        const char *unit;
        uint64_t step_ns;
    } units[] = {{"ns", 1},        {"us", SIM_US},  {"ms", SIM_MS}, {"s", SIM_S},
                 {"min", SIM_MIN}, {"h", SIM_HOUR}, {"d", SIM_DAY}};
    static const struct trace_map maps[] = {
        {TRACE_SUBMIT, "t", NULL}, {TRACE_DURATION, "run", NULL}, {TRACE_GPUS, "g", NULL}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct trace_map own[] = {maps[0], maps[1], maps[2]};
        own[1].unit = units[i].unit;
        struct fixture f;
        fixture_init(&f, "custom");
        f.spec.maps = own;
        f.spec.n_maps = 3;
        f.spec.time_unit = units[i].unit;
        static const char text[] = "t,run,g\n7,5,1\n9,5,1\n";
        fixture_write(&f, text, strlen(text));
        fixture_read_jobs(&f);
        fixture_expect_ok(&f);
        cr_assert_eq(f.jobs.rows[1].submit_ns, 2 * units[i].step_ns, "%s", units[i].unit);
        cr_assert_eq(f.jobs.rows[1].work_ns, 5 * units[i].step_ns, "%s", units[i].unit);
        fixture_fini(&f);
    }
}

/* A mapping replaces the column of a known format, and leaves the others. */
Test(quirks, mapping_over_a_format)
{
    static const struct trace_map maps[] = {{TRACE_ARRIVAL, "ts", "ms"}};
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    f.spec.maps = maps;
    f.spec.n_maps = 1;
    fixture_text(&f, "ts,prompt_tokens,output_tokens\n500,1,1\n2000,2,2\n");
    expect_requests(&f, 2, (struct row[]){{0, 1, 1}, {1500, 2, 2}});
    fixture_fini(&f);
}

struct bad_spec {
    struct trace_map maps[3];
    size_t n;
    const char *unit;
    const char *fragment, *nearest;
};

Test(quirks, what_is_wrong_with_a_mapping_is_said_where_it_stands)
{
    static const struct bad_spec specs[] = {
        {{{TRACE_ARRIVAL, "t", NULL}, {TRACE_PROMPT_TOKENS, "p", NULL}},
         2,
         "s",
         "no column is mapped to 'output_tokens'",
         NULL},
        {{{TRACE_ARRIVAL, "t", NULL},
          {TRACE_PROMPT_TOKENS, "p", NULL},
          {TRACE_OUTPUT_TOKENS, "o", NULL}},
         3,
         NULL,
         "the column of 'arrival' needs a unit of time",
         NULL},
        {{{TRACE_ARRIVAL, "t", "Ms"},
          {TRACE_PROMPT_TOKENS, "p", NULL},
          {TRACE_OUTPUT_TOKENS, "o", NULL}},
         3,
         NULL,
         "unknown unit of time 'Ms'",
         "ms"},
        {{{TRACE_ARRIVAL, "t", NULL}, {TRACE_GPUS, "g", NULL}},
         2,
         "s",
         "'gpus' is no column of requests",
         NULL},
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct fixture f;
        cr_assert_eq(read_mapped(&f, specs[i].maps, specs[i].n, specs[i].unit, "t,p,o\n1,1,1\n"),
                     HR_INPUT);
        const struct diag *d = &f.diags.items[0];
        cr_assert(strstr(d->text, specs[i].fragment) != NULL, "%s", d->text);
        cr_assert_str_eq(d->file, "s.yaml");
        cr_assert_eq(d->line, 3);
        if (specs[i].nearest != NULL)
            cr_assert_str_eq(d->nearest, specs[i].nearest);
        fixture_fini(&f);
    }
}

Test(quirks, a_format_of_the_other_kind_is_refused)
{
    struct fixture f;
    fixture_init(&f, "azure-llm");
    f.spec.path = DATA("azure-llm-2023/AzureLLMInferenceTrace_code.csv");
    fixture_read_jobs(&f);
    cr_assert_eq(f.err, HR_INPUT);
    cr_assert_not_null(strstr(f.diags.items[0].text, "holds requests, where jobs are due"));
    fixture_fini(&f);
}

Test(quirks, other_delimiters)
{
    static const char delimiters[] = "|;\t ";
    for (const char *d = delimiters; *d != '\0'; d++) {
        char text[] = "arrival_s,prompt_tokens,output_tokens\n10,5,6\n11,7,8\n";
        for (char *p = text; *p != '\0'; p++)
            *p = *p == ',' ? *d : *p;
        struct fixture f;
        fixture_init(&f, "headroom-requests");
        f.spec.delimiter = *d;
        fixture_text(&f, text);
        expect_requests(&f, 2, (struct row[]){{0, 5, 6}, {1000, 7, 8}});
        fixture_fini(&f);
    }
}
