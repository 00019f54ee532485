/* What the tests of readers share: a trace from inline text or from a file of the repository, read
 * with any spec, and its diagnostics as text. */
#ifndef HEADROOM_TESTS_TRACES_FIXTURE_H
#define HEADROOM_TESTS_TRACES_FIXTURE_H

#include "traces/trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA(name)      TEST_SOURCE_ROOT "/traces/data/" name
#define MALFORMED(name) TEST_SOURCE_ROOT "/tests/traces/malformed/" name

struct fixture {
    struct arena arena;
    struct diags diags;
    struct trace_spec spec;
    struct request_trace requests;
    struct job_trace jobs;
    struct supply_trace supply;
    struct price_trace prices;
    struct trace_report report;
    enum hr_err err;
    char path[64]; /* temporary file, or empty */
};

static inline void fixture_init(struct fixture *f, const char *format)
{
    memset(f, 0, sizeof *f);
    arena_init(&f->arena);
    diags_init(&f->diags);
    f->spec.format = trace_format_find(format);
    cr_assert_not_null(f->spec.format);
}

static inline void fixture_fini(struct fixture *f)
{
    if (f->path[0] != '\0')
        remove(f->path);
    diags_fini(&f->diags);
    arena_fini(&f->arena);
}

static inline void fixture_write(struct fixture *f, const char *text, size_t n)
{
    strcpy(f->path, "/tmp/headroom-test-XXXXXX");
    int fd = mkstemp(f->path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, n), (ssize_t)n);
    close(fd);
    f->spec.path = f->path;
}

/* Reads what the spec says; as requests where its format can be both. */
static inline enum hr_err fixture_read(struct fixture *f)
{
    if (f->spec.format->yields & TRACE_REQUESTS)
        f->err = trace_read_requests(&f->arena, &f->spec, &f->diags, &f->requests, &f->report);
    else if (f->spec.format->yields & TRACE_SUPPLY)
        f->err = trace_read_supply(&f->arena, &f->spec, &f->diags, &f->supply, &f->report);
    else if (f->spec.format->yields & TRACE_PRICES)
        f->err = trace_read_prices(&f->arena, &f->spec, &f->diags, &f->prices, &f->report);
    else
        f->err = trace_read_jobs(&f->arena, &f->spec, &f->diags, &f->jobs, &f->report);
    return f->err;
}

static inline void fixture_read_jobs(struct fixture *f)
{
    f->err = trace_read_jobs(&f->arena, &f->spec, &f->diags, &f->jobs, &f->report);
}

static inline enum hr_err fixture_text(struct fixture *f, const char *text)
{
    fixture_write(f, text, strlen(text));
    return fixture_read(f);
}

/* All diagnostics as printed; free it. */
static inline char *fixture_printed(const struct fixture *f)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    diags_print(&f->diags, out, false);
    fclose(out);
    return text;
}

static inline void fixture_expect_ok(const struct fixture *f)
{
    char *text = fixture_printed(f);
    cr_assert_eq(f->err, HR_OK, "%s\n%s", hr_err_text(f->err), text);
    free(text);
}

/* The rows read are the rows kept and those dropped, each once. */
static inline void fixture_expect_balance(const struct fixture *f)
{
    uint64_t sum = f->report.rows_kept;
    for (int i = 0; i < TRACE_DROPS; i++)
        sum += f->report.dropped[i];
    cr_assert_eq(sum, f->report.rows_read);
}

static inline bool fixture_noted(const struct fixture *f, const char *fragment)
{
    for (size_t i = 0; i < f->report.n_notes; i++)
        if (strstr(f->report.notes[i], fragment) != NULL)
            return true;
    return false;
}

/* What is n of the unit in nanoseconds. */
#define S(n) ((simtime_ns)(n)*SIM_S)

#endif
