/* The judgement and its text, on summaries whose decisive figures are set by hand. */
#include "fixture.h"

#include "analysis/explain.h"
#include "analysis/report.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEPARATE, SHARED };

static void set(struct experiment *e, const char *metric, uint32_t column, uint32_t part,
                double value)
{
    size_t m = metric_find(metric);
    cr_assert(m < metrics_n, "%s", metric);
    for (uint32_t r = 0; r < e->summary.n_replications; r++)
        *summary_at(&e->summary, m, column, r, 0, part) = value;
}

/* Minutes in breach of TTFT; windows are of ten minutes. */
static void breach(struct experiment *e, uint32_t column, double minutes)
{
    set(e, "breach_min", column, 0, minutes);
    set(e, "breach_windows", column, 0, minutes / 10);
    set(e, "objective_breach_min", column, 0, minutes);
    set(e, "objective_breach_windows", column, 0, minutes / 10);
}

static struct verdict judged(const struct experiment *e)
{
    struct verdict v;
    cr_assert(verdict_init(&v, &e->summary) == HR_OK);
    return v;
}

static char *report_of(const struct experiment *e, bool colour)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    struct verdict v = judged(e);
    const struct report_options options = {.colour = colour};
    cr_assert(report_print(f, &e->summary, &v, &options) == HR_OK);
    fclose(f);
    verdict_fini(&v);
    return text;
}

/* The text with every run of blanks and line breaks as one blank, so wrapping does not matter. */
static char *flat(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' && *from != '\n')
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    *to = 0;
    return text;
}

static void expect_in(const char *text, const char *piece)
{
    cr_expect(strstr(text, piece) != NULL, "not found: %s\nin: %s", piece, text);
}

static void expect_not_in(const char *text, const char *piece)
{
    cr_expect(strstr(text, piece) == NULL, "found: %s", piece);
}

Test(verdict, all_meet)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    breach(&e, SEPARATE, 0);
    breach(&e, SHARED, 0);
    struct verdict v = judged(&e);
    cr_expect(v.designs[SEPARATE].meets && v.designs[SHARED].meets && v.tested);
    cr_expect(eq(u32, v.n_meeting, 2));
    cr_expect(eq(u32, v.choice, SEPARATE)); /* $2.50 against $2.76 */
    cr_expect(eq(u32, v.reference, SHARED));
    verdict_fini(&v);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "ANSWER separate: it meets every objective, as do all 2 designs, and has the "
              "lowest cost per useful GPU-hour ($2.50). Against shared it gains 4.5 GPU-hours "
              "of training (+81.8%)");
    expect_in(text, "$0.26 less per useful GPU-hour");
    expect_not_in(text, "it costs");
    expect_in(text, "separate: meets TTFT p99 <= 2s; meets TPOT p90 <= 100ms");
    expect_in(text,
              "shared holds: its buffer of 2 GPUs covers the largest rise, 0.7 GPUs within 200 "
              "s (shortage to ready, p99); a reclaim of up to 600 s would be safe.");
    expect_not_in(text, "MISSES");
    free(text);
    experiment_fini(&e);
}

Test(verdict, one_meets_although_it_costs_more)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    breach(&e, SHARED, 0);
    struct verdict v = judged(&e);
    cr_expect_not(v.designs[SEPARATE].meets);
    cr_expect(eq(u32, v.choice, SHARED));
    cr_expect(eq(u32, v.reference, SEPARATE));
    cr_expect(eq(dbl, v.designs[SEPARATE].breach_min, 30));
    verdict_fini(&v);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "shared, the only one of 2 designs that meets every objective. Against separate "
              "it gains 30.0 minutes less in breach; it costs 4.5 GPU-hours of training (-45.0%), "
              "5.0 points of GPU time more in idle replicas");
    expect_in(text, "separate would train 4.5 GPU-hours more but is 30.0 minutes in breach.");
    expect_in(text,
              "separate breaks because demand peaks at 19 GPUs and it may hold at most 4: no "
              "reclaim is fast enough, it needs 16 GPUs more, or less traffic.");
    free(text);
    experiment_fini(&e);
}

Test(verdict, none_meets)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    struct verdict v = judged(&e);
    cr_expect(eq(u32, v.n_meeting, 0));
    cr_expect(eq(u32, v.choice, SHARED)); /* 10 minutes against 30 */
    verdict_fini(&v);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "No design meets every objective; shared comes nearest with 10.0 minutes in breach");
    expect_in(text,
              "shared: MISSES TTFT p99 <= 2s (10.0 min in breach, attainment 0.9973); meets "
              "TPOT p90 <= 100ms");
    expect_in(text, "shared breaks although its buffer of 2 GPUs covers every rise");
    expect_in(text,
              "11 KV-cache evictions, 7 requests returned by replicas that left, mean batch "
              "25% of max_num_seqs.");
    experiment_fini(&e);
    free(text);
}

/* The ramp condition: a rise of 40 GPUs within 172 s, no buffer. */
Test(verdict, the_ramp_condition_explains_a_breach)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    set(&e, "rise_gpus", SHARED, 0, 40);
    set(&e, "response_s", SHARED, 0, 172);
    set(&e, "buffer_gpus", SHARED, 0, 0);
    set(&e, "short_gpus", SHARED, 0, 31.4);
    set(&e, "safe_buffer_gpus", SHARED, 0, 40);
    set(&e, "safe_reclaim_s", SHARED, 0, 0);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "shared breaks because demand rises by 40 GPUs within 172 s (shortage to ready, "
              "p99) and its warm buffer is 0 GPUs: at worst 31 too few were ready. Safe "
              "(buffer >= rise) is a buffer of 40 GPUs (without one no reclaim is fast enough). "
              "The stage that binds is weights, 40% of a reclaim.");
    free(text);
    set(&e, "buffer_gpus", SHARED, 0, 8);
    set(&e, "short_gpus", SHARED, 0, 0.4);
    set(&e, "safe_buffer_gpus", SHARED, 0, 38.4); /* a mean of whole replicas */
    set(&e, "safe_reclaim_s", SHARED, 0, 24);
    set(&e, "service_reclaims", SHARED, 0, 0);
    text = flat(report_of(&e, false));
    expect_in(text,
              "rises by 40 GPUs within 172 s (its cold start) and its warm buffer is 8 GPUs. Safe "
              "(buffer >= rise) is a buffer of 40 GPUs, or with this one a reclaim within 24 s.");
    free(text);
    experiment_fini(&e);
}

/* A breach without a shortage is not the reclaim's. */
Test(verdict, what_was_never_short_is_not_explained_by_the_ramp)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    set(&e, "rise_gpus", SHARED, 0, 0.7);
    set(&e, "buffer_gpus", SHARED, 0, 0);
    set(&e, "short_gpus", SHARED, 0, 0);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "shared breaks although in no window fewer GPUs were ready than its target asks "
              "for: the reclaim is not the cause; at times a replica does not bear its target. "
              "Seen: 11 KV-cache evictions, ");
    free(text);
    set(&e, "demand_peak_gpus", SHARED, 0, 7.6);
    set(&e, "held_gpus", SHARED, 0, 8);
    text = flat(report_of(&e, false));
    expect_in(text,
              "shared breaks although it never has fewer than 8 GPUs and demand peaks at 8: "
              "the reclaim is not the cause");
    free(text);
    experiment_fini(&e);
}

/* Fleets that differ are said to, in the head and in a row each for size and cost. */
Test(verdict, fleets_of_different_sizes)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    char *text = flat(report_of(&e, false));
    expect_in(text, ": 10 GPUs, ");
    expect_not_in(text, "Fleet, GPUs");
    free(text);
    set(&e, "fleet_gpus", SHARED, 0, 1200);
    set(&e, "cost_usd", SHARED, 0, 2 * 3540.0); /* in two hours */
    text = flat(report_of(&e, false));
    expect_in(text, ": 10 to 1,200 GPUs, ");
    expect_in(text, "Fleet, GPUs 10 1,200");
    expect_in(text, " 3,540.00 ");
    free(text);
    experiment_fini(&e);
}

/* More demand than it may ever hold, and still no breach. */
Test(verdict, peak_above_the_limit_without_a_breach)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    breach(&e, SEPARATE, 0);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "separate holds although demand peaks at 19 GPUs and it may hold at most 4, as "
              "replicas bear more than their target.");
    expect_not_in(text, "nan");
    free(text);
    experiment_fini(&e);
}

Test(verdict, queues_of_recorded_jobs)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    set(&e, "jobs_submitted", SEPARATE, 0, 0);
    set(&e, "wait_p50_s", SHARED, 0, 90);
    set(&e, "wait_p90_s", SHARED, 0, 5400);
    char *text = flat(report_of(&e, false));
    expect_in(text, "Queue train jobs done / submitted ");
    expect_in(text, " 1 / 3 wait p50 ");
    expect_in(text, " 1.5 min wait p90 ");
    expect_in(text, " 90.0 min preemptions ");
    expect_not_in(text, "refused: too large");
    free(text);
    set(&e, "jobs_refused", SHARED, 0, 2);
    text = flat(report_of(&e, false));
    expect_in(text, "refused: too large ");
    free(text);
    set(&e, "jobs_submitted", SHARED, 0, 0);
    text = flat(report_of(&e, false));
    expect_not_in(text, "Queue train");
    free(text);
    experiment_fini(&e);
}

/* The waste of all designs in one sentence; named apart where it differs. */
Test(verdict, waste)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "The largest waste is in idle replicas: 10.0% of GPU time with separate, 15.0% "
              "of GPU time with shared.");
    free(text);
    size_t m = metric_find("gpu_frac");
    *summary_at(&e.summary, m, SHARED, 0, 0, GPU_FREE) = 0.2;
    text = flat(report_of(&e, false));
    expect_in(text,
              "The largest waste: 10.0% of GPU time in idle replicas with separate, 20.0% "
              "of GPU time in free GPUs with shared.");
    free(text);
    experiment_fini(&e);
}

/* A design that holds with less than the safe buffer is named, so the reader is not misled. */
Test(verdict, less_than_the_safe_buffer_may_do)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    breach(&e, SEPARATE, 0);
    for (uint32_t c = 0; c < 2; c++) {
        set(&e, "demand_peak_gpus", c, 0, 8);
        set(&e, "held_gpus", c, 0, 2);
        set(&e, "limit_gpus", c, 0, 10);
        set(&e, "rise_gpus", c, 0, 6);
        set(&e, "safe_buffer_gpus", c, 0, 6);
        set(&e, "safe_reclaim_s", c, 0, 50);
        set(&e, "buffer_gpus", c, 0, c == SEPARATE ? 4 : 0);
    }
    char *text = flat(report_of(&e, false));
    expect_in(text, "Less may do: separate held with 4, as replicas bear more than their target.");
    expect_in(text,
              "separate holds with a buffer of 4 GPUs although demand rises by 6 GPUs within "
              "100 s (its cold start), as replicas bear more than their target; safe for "
              "certain is a buffer of 6 GPUs, or with this one a reclaim within 50 s.");
    free(text);
    experiment_fini(&e);
}

Test(verdict, single_design)
{
    struct experiment e;
    fixture_experiment(&e, 1, 1, 1);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "The objectives are missed: 30.0 minutes in breach. Of GPU time 30.0% is "
              "serving and 50.0% training that is kept: $2.50 per useful GPU-hour.");
    expect_not_in(text, "Against");
    expect_not_in(text, "Rule of choice");
    free(text);
    breach(&e, SEPARATE, 0);
    text = flat(report_of(&e, false));
    expect_in(text, "separate meets every objective.");
    free(text);
    experiment_fini(&e);
}

Test(verdict, no_requests)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    for (uint32_t c = 0; c < 2; c++) {
        breach(&e, c, NAN);
        set(&e, "objective_breach_windows", c, 1, NAN);
        set(&e, "requests", c, 0, 0);
        set(&e, "attainment", c, 0, NAN);
    }
    struct verdict v = judged(&e);
    cr_expect_not(v.tested);
    cr_expect(v.designs[0].meets && v.designs[1].meets);
    cr_expect(verdict_objective(&e.summary, 0, 0, 0) == FATE_UNTESTED);
    cr_expect(eq(u32, v.choice, SEPARATE));
    verdict_fini(&v);
    char *text = flat(report_of(&e, false));
    expect_in(text,
              "No request came, so no objective was tested; separate has the lowest cost per "
              "useful GPU-hour ($2.50).");
    expect_in(text, "shared: untested: TTFT p99 <= 2s; untested: TPOT p90 <= 100ms");
    free(text);
    experiment_fini(&e);
}

/* Without a price designs are ranked by utilization; equal ones by their order. */
Test(verdict, ranking)
{
    struct experiment e;
    fixture_experiment(&e, 2, 1, 1);
    breach(&e, SEPARATE, 0);
    breach(&e, SHARED, 0);
    set(&e, "cost_per_useful_gpu_h", SEPARATE, 0, NAN);
    set(&e, "cost_per_useful_gpu_h", SHARED, 0, NAN);
    set(&e, "utilization", SHARED, 0, 0.9);
    struct verdict v = judged(&e);
    cr_expect(eq(u32, v.choice, SHARED));
    verdict_fini(&v);
    char *text = flat(report_of(&e, false));
    expect_in(text, "has the highest utilization (90.0%)");
    expect_not_in(text, "$ per");
    free(text);
    set(&e, "utilization", SHARED, 0, 0.8);
    v = judged(&e);
    cr_expect(eq(u32, v.choice, SEPARATE));
    verdict_fini(&v);
    experiment_fini(&e);
}

/* One breached window in one of many replications is a miss. */
Test(verdict, one_bad_replication_is_a_miss)
{
    struct experiment e;
    fixture_experiment(&e, 2, 5, 1);
    breach(&e, SEPARATE, 0);
    breach(&e, SHARED, 0);
    *summary_at(&e.summary, metric_find("objective_breach_windows"), SHARED, 3, 0, 1) = 1;
    struct verdict v = judged(&e);
    cr_expect_not(v.designs[SHARED].meets);
    cr_expect(verdict_objective(&e.summary, SHARED, 0, 1) == FATE_MISSED);
    cr_expect(verdict_objective(&e.summary, SHARED, 0, 0) == FATE_MET);
    verdict_fini(&v);
    experiment_fini(&e);
}

Test(verdict, uses_sum_to_all_gpu_time)
{
    struct experiment e;
    fixture_experiment(&e, 2, 2, 1);
    for (uint32_t c = 0; c < 2; c++) {
        double sum = 0;
        for (enum use u = 0; u < USES; u++)
            sum += explain_use(&e.summary, c, u);
        cr_expect(epsilon_eq(dbl, sum, 1, 1e-12));
    }
    cr_expect(epsilon_eq(dbl, explain_use(&e.summary, SHARED, USE_SPARE), 3.0 / 20, 1e-12));
    cr_expect(epsilon_eq(dbl, explain_use(&e.summary, SHARED, USE_MOVING), 1.0 / 20, 1e-12));
    experiment_fini(&e);
}

/* ---- the page ---- */

static void check_lines(const char *text)
{
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        char one[512];
        cr_assert(end != NULL && (size_t)(end - line) < sizeof one);
        memcpy(one, line, (size_t)(end - line));
        one[end - line] = 0;
        cr_expect(text_width(one) <= 80, "%zu columns: %s", text_width(one), one);
        line = end + 1;
    }
}

Test(verdict, eighty_columns_and_no_colour_unless_asked)
{
    struct experiment e;
    fixture_experiment(&e, 2, 6, 1);
    char *text = report_of(&e, false), *coloured = report_of(&e, true);
    check_lines(text);
    expect_not_in(text, "\033");
    expect_in(coloured, "\033[1mANSWER\033[0m");
    expect_in(text, "DIFFERENCES to separate, paired, with 95% intervals");
    free(text);
    free(coloured);
    experiment_fini(&e);
}

/* Seven designs with long names: several tables, all labels readable. */
Test(verdict, many_designs_with_long_labels)
{
    static const char *const labels[] = {
        "services.chat.cold_start.engine={lognormal: {mean: 60s, cv: 0.3}}",
        "a",
        "services.chat.autoscaler.buffer=4",
        "services.chat.autoscaler.buffer=16",
        "\xc3\xbc-\xc3\xb6-for-all-of-them-\xc3\xbc\xc3\xbc\xc3\xbc",
        "x",
        "y"};
    enum { N = 7 };
    struct summary_source columns[N];
    for (int i = 0; i < N; i++)
        columns[i] = (struct summary_source){labels[i], i % 2 ? &fixture_shared : &fixture_separate,
                                             NULL, NULL};
    const struct experiment_plan plan = {.columns = columns,
                                         .n_columns = N,
                                         .n_replications = 5,
                                         .n_threads = 2,
                                         .version = "v",
                                         .run = fixture_run};
    struct diags diags;
    struct experiment e;
    diags_init(&diags);
    cr_assert(experiment_run(&plan, &e, &diags) == HR_OK);
    char *text = report_of(&e, false);
    check_lines(text);
    expect_in(text, "services.chat.aut");
    expect_in(text, "oscaler.buffer=16");
    expect_in(text, " services.chat.autoscaler.b "); /* above the differences */
    expect_in(text, " uffer=16 ");
    int tables = 0;
    for (const char *t = text; (t = strstr(t, "GPUs by use")); t++)
        tables++;
    cr_expect(eq(int, tables, 3));
    free(text);
    experiment_fini(&e);
    diags_fini(&diags);
}

/* A queue alone, no service: the page still has an answer. */
Test(verdict, training_only)
{
    struct plan plan = fixture_separate;
    plan.n_services = 0;
    plan.services = NULL;
    const struct summary_source columns[] = {{"train only", &plan, NULL, NULL}};
    struct summary s;
    struct verdict v;
    cr_assert(summary_init(&s, columns, 1, 1, "v") == HR_OK);
    cr_assert(verdict_init(&v, &s) == HR_OK);
    cr_expect(v.designs[0].meets);
    cr_expect_not(v.tested);
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    cr_assert(report_print(f, &s, &v, &(struct report_options){0}) == HR_OK);
    fclose(f);
    expect_in(text, "train only: of GPU time 0.0% is training");
    expect_not_in(text, "request");
    expect_not_in(text, "serving");
    expect_not_in(text, "idle replicas");
    expect_not_in(text, "Reclaims");
    expect_not_in(text, "VERDICT");
    check_lines(text);
    free(text);
    verdict_fini(&v);
    summary_fini(&s);
}

/* Ready GPUs that serve nobody: whose they are says what they are for. */
Test(verdict, held_idle_is_told_by_owner)
{
    struct experiment e;
    fixture_experiment(&e, 1, 1, 1);
    size_t m = metric_find("gpu_frac");
    for (uint32_t owner = 0; owner < e.summary.n[AXIS_OWNER]; owner++)
        *summary_at(&e.summary, m, 0, 0, owner, GPU_HELD_IDLE) = 0.1 * (owner + 1);
    cr_expect(epsilon_eq(dbl, explain_use(&e.summary, 0, USE_HOT), 0.1, 1e-12));
    cr_expect(epsilon_eq(dbl, explain_use(&e.summary, 0, USE_SPARE), 0.2, 1e-12));
    cr_expect(epsilon_eq(dbl, explain_use(&e.summary, 0, USE_HELD), 0.3, 1e-12));
    char *text = report_of(&e, false);
    expect_in(text, "held idle by jobs");
    expect_in(text, "The largest waste is in GPUs that jobs hold idle: 30.0%");
    free(text);
    experiment_fini(&e);
}
