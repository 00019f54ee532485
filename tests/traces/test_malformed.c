/* Malformed traces: each gives a named error at the right line and column, no rows, little time and
 * little memory. The files stand in malformed/; what is too large for that is made here. */
#include "fixture.h"

#include <sys/resource.h>
#include <time.h>

struct malformed {
    const char *file, *format; /* format NULL: an envelope */
    uint32_t line, column;     /* of the first diagnostic */
    const char *fragment;      /* of its text */
    const char *nearest;
};

#define AZURE "azure-llm"
#define JOBS  "headroom-jobs"

static const struct malformed cases[] = {
    {MALFORMED("empty.csv"), AZURE, 0, 0, "it is empty", NULL},
    {MALFORMED("header_only.csv"), AZURE, 1, 0, "no requests: nothing follows the header", NULL},
    {MALFORMED("comments_only.csv"), AZURE, 3, 0, "no header", NULL},
    {MALFORMED("no_header.csv"), AZURE, 1, 1, "the first line must name the columns", NULL},
    {MALFORMED("missing_column.csv"), AZURE, 1, 1, "missing column 'ContextTokens' (prompt_tokens)",
     "Context Tokens"},
    {MALFORMED("wrong_case.csv"), AZURE, 1, 1, "missing column 'TIMESTAMP'", "timestamp"},
    {MALFORMED("column_twice.csv"), AZURE, 1, 1, "'GeneratedTokens' (output_tokens) appears 2",
     NULL},
    {MALFORMED("truncated_row.csv"), AZURE, 3, 33, "truncated row: 2 of 3 fields", NULL},
    {MALFORMED("truncated_file.csv"), AZURE, 3, 31, "'GeneratedTokens' is missing", NULL},
    {MALFORMED("extra_field.csv"), AZURE, 3, 36, "4 fields where the header has 3", NULL},
    {MALFORMED("bad_number.csv"), AZURE, 3, 29, "prompt_tokens '31x0' is not a number", NULL},
    {MALFORMED("nan.csv"), AZURE, 3, 29, "'NaN' is not a finite number", NULL},
    {MALFORMED("negative.csv"), AZURE, 3, 34, "output_tokens '-8' is negative", NULL},
    {MALFORMED("overflow.csv"), AZURE, 3, 34, "'4294967296' is out of range", NULL},
    {MALFORMED("huge_exponent.csv"), AZURE, 3, 29, "'1e99999' is out of range", NULL},
    {MALFORMED("fraction.csv"), AZURE, 3, 34, "'8.5' is not a whole number", NULL},
    {MALFORMED("empty_number.csv"), AZURE, 3, 29, "prompt_tokens is empty", NULL},
    {MALFORMED("bad_time.csv"), AZURE, 3, 1, "is not a time such as", NULL},
    {MALFORMED("no_such_date.csv"), AZURE, 3, 1, "is not a date and time of the calendar", NULL},
    {MALFORMED("ten_digits.csv"), AZURE, 3, 1, "is not a time such as", NULL},
    {MALFORMED("bad_zone.csv"), AZURE, 3, 1, "is not a time such as", NULL},
    {MALFORMED("old_row.csv"), AZURE, 4, 1, "arrival is 60.001 s older than a row above", NULL},
    {MALFORMED("nul.csv"), AZURE, 2, 23, "NUL byte", NULL},
    {MALFORMED("invalid_utf8.csv"), AZURE, 2, 32, "invalid UTF-8 (byte 0xfc)", NULL},
    {MALFORMED("utf16.csv"), AZURE, 1, 1, "UTF-16", NULL},
    {MALFORMED("open_quote.csv"), AZURE, 3, 1, "quote that opens here is never closed", NULL},
    {MALFORMED("after_quote.csv"), AZURE, 3, 22, "text between a closing quote", NULL},
    {MALFORMED("bom_bad_number.csv"), AZURE, 3, 21, "'zero' is not a number", NULL},
    {MALFORMED("quoted_newline_bad_number.csv"), AZURE, 3, 28, "'many' is not a number", NULL},
    {MALFORMED("not_gzip.csv.gz"), AZURE, 0, 0, "not gzip data", NULL},
    {MALFORMED("damaged.csv.gz"), AZURE, 0, 0, "damaged gzip data", NULL},
    {MALFORMED("cut_short.csv.gz"), AZURE, 0, 0, "the file ends too early", NULL},
    {MALFORMED("only_zero_tokens.csv"), AZURE, 0, 0, "no request is left of 2 rows: 2 dropped",
     NULL},
    {MALFORMED("no_such_file.csv"), AZURE, 0, 0, "no such file", NULL},
    {MALFORMED(""), AZURE, 0, 0, "it is a directory", NULL},
    {MALFORMED("empty.csv/below.csv"), AZURE, 0, 0, "not a directory", NULL},
    {MALFORMED("jobs_missing_columns.csv"), JOBS, 1, 1, "missing column 'duration_s' (duration)",
     "durations_s"},
    {MALFORMED("jobs_negative_time.csv"), JOBS, 2, 4, "submit '-5' is negative", NULL},
    {MALFORMED("jobs_min_gpus.csv"), JOBS, 2, 13, "min_gpus is not in 1..8", NULL},
    {MALFORMED("jobs_max_gpus.csv"), JOBS, 2, 13, "max_gpus is below the job's gpus, 8", NULL},
    {MALFORMED("jobs_flag.csv"), JOBS, 2, 14, "'maybe' is neither true nor false", NULL},
    {MALFORMED("jobs_priority.csv"), JOBS, 2, 19, "priority 'high' is not a number", NULL},
    {MALFORMED("jobs_gpus_overflow.csv"), JOBS, 2, 9, "gpus '5e9' is out of range", NULL},
    {MALFORMED("jobs_only_cpu.csv"), JOBS, 0, 0, "2 dropped (no GPUs)", NULL},
    {MALFORMED("helios_end_before_start.csv"), "helios", 2, 63, "end is before start", NULL},
    {MALFORMED("header_only.csv"), "philly", 1, 1, "missing column 'timestamp'", "TIMESTAMP"},
    {MALFORMED("envelope_backwards.csv"), NULL, 4, 1, "time is earlier than the row above", NULL},
    {MALFORMED("envelope_no_unit.csv"), NULL, 2, 1, "time '0' needs a unit", NULL},
    {MALFORMED("envelope_columns.csv"), NULL, 1, 1, "missing column 'time'", NULL},
    {MALFORMED("envelope_negative.csv"), NULL, 2, 3, "rate '-1' is negative", NULL},
    {MALFORMED("envelope_empty.csv"), NULL, 1, 0, "no points", NULL},
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sanitizers take memory and time of their own. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static void expect_cheap(const char *path, double took_s)
{
#ifndef SANITIZED
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    cr_assert_lt(took_s, 0.05, "%s: %g s", path, took_s);
    cr_assert_lt(usage.ru_maxrss, 64 * 1024, "%s: %ld KiB", path, usage.ru_maxrss);
#else
    (void)path, (void)took_s;
#endif
}

static void read_case(struct fixture *f, const struct malformed *c)
{
    fixture_init(f, c->format != NULL ? c->format : "custom");
    f->spec.path = c->file;
    double start = cpu_s();
    if (c->format != NULL) {
        fixture_read(f);
    } else {
        struct trace_envelope e;
        f->err =
            trace_read_envelope(&f->arena, c->file, 0, (struct diag_place){0}, NULL, &f->diags, &e);
    }
    expect_cheap(c->file, cpu_s() - start);
}

Test(malformed, each_names_its_place)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct malformed *c = &cases[i];
        struct fixture f;
        read_case(&f, c);
        cr_assert_eq(f.err, HR_INPUT, "%s: %s", c->file, hr_err_text(f.err));
        cr_assert_geq(f.diags.n, 1, "%s", c->file);
        const struct diag *d = &f.diags.items[0];
        cr_assert_eq(d->level, DIAG_ERROR, "%s", c->file);
        cr_assert_str_eq(d->file, c->file);
        cr_assert(strstr(d->text, c->fragment) != NULL, "%s: %s", c->file, d->text);
        cr_assert_eq(d->line, c->line, "%s: line %u", c->file, d->line);
        cr_assert_eq(d->column, c->column, "%s: column %u", c->file, d->column);
        if (c->nearest != NULL)
            cr_assert_str_eq(d->nearest, c->nearest);
        if (c->column > 0)
            cr_assert_not_null(d->source, "%s", c->file);
        cr_assert_null(f.requests.rows);
        cr_assert_null(f.jobs.rows);
        fixture_fini(&f);
    }
}

/* A file of n copies of a byte. */
static void read_bytes(struct fixture *f, char byte, size_t n)
{
    char *text = malloc(n);
    cr_assert_not_null(text);
    memset(text, byte, n);
    fixture_init(f, "azure-llm");
    fixture_write(f, text, n);
    free(text);
    double start = cpu_s();
    fixture_read(f);
    expect_cheap("bytes", cpu_s() - start);
    cr_assert_eq(f->err, HR_INPUT);
}

Test(malformed, megabytes_of_one_byte)
{
    static const struct {
        char byte;
        size_t n;
        const char *fragment;
    } large[] = {{'[', 1000000, "missing column 'TIMESTAMP'"},
                 {'[', 5000000, "a line of more than 1048576 bytes"},
                 {'"', 5000000, "a line of more than 1048576 bytes"},
                 {',', 1000000, "a header of 1000001 columns"},
                 {'\n', 1000000, "no header"},
                 {'#', 5000000, "no header"},
                 {'\0', 5000000, "NUL byte"}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct fixture f;
        read_bytes(&f, large[i].byte, large[i].n);
        cr_assert(strstr(f.diags.items[0].text, large[i].fragment) != NULL, "%s",
                  f.diags.items[0].text);
        fixture_fini(&f);
    }
}

/* Every row is wrong: a hundred diagnostics, the last of which says that reading stopped. */
Test(malformed, stops_after_a_hundred_errors)
{
    enum { ROWS = 100000 };
    static const char header[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n", row[] = "now,1,1\n";
    struct fixture f;
    fixture_init(&f, "azure-llm");
    char *text = malloc(sizeof header + ROWS * sizeof row), *p = text;
    p = stpcpy(p, header);
    for (int i = 0; i < ROWS; i++)
        p = stpcpy(p, row);
    fixture_write(&f, text, (size_t)(p - text));
    free(text);
    double start = cpu_s();
    cr_assert_eq(fixture_read(&f), HR_INPUT);
    expect_cheap("rows", cpu_s() - start);
    cr_assert_eq(f.diags.n, TRACE_ERRORS_MAX);
    cr_assert_eq(f.diags.n_errors, TRACE_ERRORS_MAX);
    cr_assert_eq(f.diags.items[0].line, 2);
    cr_assert_eq(f.diags.items[98].line, 100);
    cr_assert(strstr(f.diags.items[99].text, "the rest of the file is not read") != NULL);
    fixture_fini(&f);
}

/* Errors in several rows are all found in one pass. */
Test(malformed, all_errors_in_one_pass)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    fixture_text(&f,
                 "arrival_s,prompt_tokens,output_tokens\n"
                 "0,x,1\n"
                 "1,1,1\n"
                 "2,1\n"
                 "3,1,-1\n");
    cr_assert_eq(f.err, HR_INPUT);
    cr_assert_eq(f.diags.n, 3);
    cr_assert_eq(f.diags.items[0].line, 2);
    cr_assert_eq(f.diags.items[1].line, 4);
    cr_assert_eq(f.diags.items[2].line, 5);
    fixture_fini(&f);
}

/* The same rows can be skipped when a user says so: they are counted and the first is shown. */
Test(malformed, bad_rows_are_skipped_as_asked)
{
    struct fixture f;
    fixture_init(&f, "headroom-requests");
    f.spec.skip_bad_rows = true;
    fixture_text(&f,
                 "arrival_s,prompt_tokens,output_tokens\n"
                 "0,x,1\n"
                 "1,1,1\n"
                 "2,1\n"
                 "3,2,\"1\"2\n"
                 "4,2,2\n"
                 "5,1,-1\n");
    fixture_expect_ok(&f);
    fixture_expect_balance(&f);
    cr_assert_eq(f.requests.n, 2);
    cr_assert_eq(f.report.dropped[TRACE_DROP_MALFORMED], 4);
    cr_assert_eq(f.diags.n, 1);
    cr_assert_eq(f.diags.items[0].level, DIAG_WARNING);
    cr_assert_eq(f.diags.items[0].line, 2);
    fixture_fini(&f);
}
