/* What a job waited for, read back from the file of the hand-made runs (fixture.h). */
#include "fixture.h"

#include "analysis/result_file.h"
#include "analysis/waits.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEPARATE, SHARED };

static struct waits w;
static struct diags diags;

static void setup(void)
{
    struct experiment e;
    char path[64];
    diags_init(&diags);
    snprintf(path, sizeof path, "/tmp/headroom-waits-%ld.h5", (long)getpid());
    fixture_experiment(&e, 2, 2, 1);
    cr_assert(result_write(path, true, &e, &diags) == HR_OK);
    cr_assert(waits_read(path, &w, &diags) == HR_OK);
    unlink(path);
    experiment_fini(&e);
}

static void teardown(void)
{
    waits_fini(&w);
    diags_fini(&diags);
}

static char *of_job(const char *id, const char *design, enum hr_err expected)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_expect(waits_print_job(f, &w, id, design, &diags) == expected);
    fclose(f);
    return text;
}

static void has(const char *text, const char *what)
{
    cr_expect(strstr(text, what) != NULL, "'%s' is not in:\n%s", what, text);
}

Test(waits, jobs_and_timeline_come_back, .init = setup, .fini = teardown)
{
    cr_assert(eq(sz, w.n, 8)); /* four of each design */
    cr_expect_str_eq(w.jobs[1].id, "c");
    cr_expect(eq(u32, w.jobs[5].design, SHARED));
    cr_expect(eq(dbl, w.jobs[1].waiting_s, 1300));
    cr_expect(isnan(w.jobs[3].start_s));
    cr_expect(eq(sz, w.n_windows, 4));
    cr_expect(eq(dbl, w.start_s, 3600));
    cr_expect(eq(dbl, w.width_s, 1800));
}

Test(waits, parts_of_a_wait_come_back_in_order, .init = setup, .fini = teardown)
{
    cr_assert(eq(sz, w.n_reasons, BLOCKS));
    for (size_t k = 0; k < BLOCKS; k++)
        cr_expect_str_eq(w.reasons[k], block_names[k]);
    for (size_t i = 0; i < w.n; i++) {
        double sum = 0;
        for (size_t k = 0; k < BLOCKS; k++)
            sum += w.jobs[i].blocked_s[k];
        cr_expect(eq(dbl, sum, w.jobs[i].waiting_s));
    }
    cr_expect(eq(dbl, w.jobs[1].blocked_s[BLOCK_ORDER], 300));
    char *text = of_job("c", "shared", HR_OK); /* 1000 and 300 of 1300 s, of a bar of 30 */
    has(text, "  count         16.7 min   77%  #######################\n");
    has(text, "  order          5.0 min   23%  #######\n");
    free(text);
}

/* One GPU is stranded in the last half hour of shared, none is free before. */
Test(waits, free_gpus_are_weighted_by_overlap, .init = setup, .fini = teardown)
{
    cr_expect(epsilon_eq(dbl, waits_free_gpus(&w, SHARED, 7200, 10800), 0.5, 1e-12));
    cr_expect(epsilon_eq(dbl, waits_free_gpus(&w, SHARED, 8100, 9900), 0.5, 1e-12));
    cr_expect(epsilon_eq(dbl, waits_free_gpus(&w, SHARED, 9900, 20000), 1, 1e-12));
    cr_expect(isnan(waits_free_gpus(&w, SHARED, 0, 3600)));
}

/* The last half hour of shared has 5 GPUs, at least 2, in one node, the one before 1; job d waits
 * over both. */
Test(waits, placeable_is_told_with_least_mean_and_most, .init = setup, .fini = teardown)
{
    static double least[2 * 4 * PLACEABLES], mean[2 * 4 * PLACEABLES];
    struct waits_span span;
    cr_expect_not(waits_placeable(&w, SHARED, PLACEABLE_BLOCK, 7200, 10800, &span));
    w.placeable_least = least;
    w.placeable_mean = mean;
    for (size_t i = 6; i < 8; i++) {
        least[i * PLACEABLES + PLACEABLE_BLOCK] = i == 6 ? 1 : 2;
        mean[i * PLACEABLES + PLACEABLE_BLOCK] = i == 6 ? 1 : 5;
    }
    cr_assert(waits_placeable(&w, SHARED, PLACEABLE_BLOCK, 8100, 9450, &span));
    cr_expect(eq(dbl, span.least, 1));
    cr_expect(epsilon_eq(dbl, span.mean, (900 + 5 * 450) / 1350.0, 1e-12));
    cr_expect(eq(dbl, span.most, 5));
    cr_expect_not(waits_placeable(&w, SHARED, PLACEABLE_BLOCK, 0, 3600, &span));
    char *text = of_job("d", "shared", HR_OK);
    has(text, "    in one node                   1      3.0      5.0\n");
    free(text);
}

Test(waits, a_job_is_told, .init = setup, .fini = teardown)
{
    char *text = of_job("d", "shared", HR_OK);
    has(text, "Job d in shared: 10 GPUs for 60.0 min of work, queue train.");
    has(text, "not started by the end");
    has(text, "It waited 60.0 min in all.");
    has(text, "0.5 GPUs");
    free(text);
    text = of_job("c", NULL, HR_OK); /* of both designs */
    has(text, "in separate");
    has(text, "in shared");
    has(text, "Preempted 1 time.");
    free(text);
    text = of_job("backlog", "shared", HR_OK);
    has(text, "It did not wait.");
    free(text);
}

Test(waits, what_is_not_there_names_the_nearest, .init = setup, .fini = teardown)
{
    free(of_job("backlg", NULL, HR_INPUT));
    free(of_job("c", "shard", HR_INPUT));
    cr_assert(eq(sz, diags.n_errors, 2));
}

Test(waits, all_waits_by_queue, .init = setup, .fini = teardown)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_expect(waits_print_all(f, &w, "shared", &diags) == HR_OK);
    fclose(f);
    has(text, "WHY JOBS WAIT in shared");
    has(text, "3 of 3 jobs waited"); /* 600 + 1300 + 3600 s; the backlog gang does not count */
    has(text, "91.7 min in all");
    cr_expect(strstr(text, "  d ") < strstr(text, "  c "));
    cr_expect_null(strstr(text, "    tenant"), "there is one");
    free(text);
}

/* Jobs c and the others as of two tenants, under the names of the two owners. */
Test(waits, a_queue_of_several_tenants_has_a_line_for_each, .init = setup, .fini = teardown)
{
    char *text = NULL, line[128];
    size_t n = 0;
    cr_assert(eq(u32, w.summary.n[AXIS_OWNER], 3));
    for (size_t i = 0; i < w.n; i++)
        w.jobs[i].tenant = strcmp(w.jobs[i].id, "c") == 0;
    FILE *f = open_memstream(&text, &n);
    cr_expect(waits_print_all(f, &w, "shared", &diags) == HR_OK);
    fclose(f);
    has(text,
        "    tenant            waited count shape quota topology power supply preemption order\n");
    snprintf(line, sizeof line,
             "    %-14s%10s   77%%    0%%    0%%       0%%    0%%     0%%         0%%   23%%\n",
             w.summary.names[AXIS_OWNER][2], "21.7 min");
    has(text, line);
    snprintf(line, sizeof line, "    %-14s%10s", w.summary.names[AXIS_OWNER][1], "70.0 min");
    has(text, line);
    free(text);
    text = of_job("c", "shared", HR_OK);
    has(text, "queue train, tenant ");
    free(text);
}
