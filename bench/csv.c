/* Trace reading: a request list of 110 MB in the Azure columns, written to a temporary folder and
 * read whole: parsing, SHA-256, ordering, duplicates and the report. Prints megabytes (10^6) per
 * CPU second of the best of five rounds. */
#include "sim/rng.h"
#include "traces/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 3000000, ROUNDS = 5 };

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Exponential gaps of 0.1 s from midnight on, token counts of the usual lengths. */
static bool write_rows(FILE *f)
{
    struct rng rng;
    double t = 0;
    rng_init(&rng, 1, 0, "bench", "rows");
    fprintf(f, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n");
    for (int i = 0; i < ROWS; i++) {
        t += 0.1 * rng_exponential(&rng);
        uint64_t ticks = (uint64_t)(t * 1e7), s = ticks / 10000000; /* seven digits */
        double prompt = 1000 * rng_exponential(&rng), output = 200 * rng_exponential(&rng);
        fprintf(f,
                "2024-05-%02" PRIu64 " %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%07" PRIu64
                ",%.0f,%.0f\r\n",
                10 + s / 86400, s / 3600 % 24, s / 60 % 60, s % 60, ticks % 10000000, prompt + 1,
                output + 1);
    }
    return ferror(f) == 0;
}

static int measure(const char *path, double megabytes)
{
    const struct trace_spec spec = {.path = path, .format = trace_format_find("azure-llm")};
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct arena arena;
        struct diags diags;
        struct request_trace trace;
        struct trace_report report;
        arena_init(&arena);
        diags_init(&diags);
        double start = cpu_s();
        enum hr_err err = trace_read_requests(&arena, &spec, &diags, &trace, &report);
        double took = cpu_s() - start;
        diags_print(&diags, stderr, false);
        bool right = err == HR_OK && report.rows_kept == ROWS;
        diags_fini(&diags);
        arena_fini(&arena);
        if (!right)
            return 1;
        best = megabytes / took > best ? megabytes / took : best;
    }
    printf("csv_mb_per_cpu_s %.1f MB/s\n", best);
    return 0;
}

int main(void)
{
    char folder[] = "/tmp/headroom-bench-XXXXXX", path[64];
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/requests.csv", folder);
    FILE *f = fopen(path, "w");
    int status = 1;
    if (f != NULL && write_rows(f)) {
        double megabytes = (double)ftell(f) * 1e-6;
        status = fclose(f) == 0 ? measure(path, megabytes) : 1;
    }
    remove(path);
    rmdir(folder);
    return status;
}
