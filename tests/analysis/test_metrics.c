/* Every metric of the hand-made runs against figures worked out on paper (fixture.h). */
#include "fixture.h"

#include "analysis/metrics_internal.h"
#include "analysis/summary.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct experiment e;

static void setup(void)
{
    fixture_experiment(&e, 2, 3, 1);
}

static void teardown(void)
{
    experiment_fini(&e);
}

enum { SEPARATE, SHARED };

static double value(const char *metric, uint32_t column, uint32_t replication, uint32_t entity,
                    uint32_t part)
{
    size_t m = metric_find(metric);
    cr_assert(m < metrics_n, "%s", metric);
    return *summary_at(&e.summary, m, column, replication, entity, part);
}

struct expected {
    const char *metric;
    uint32_t entity, part;
    double value; /* NAN: none */
};

static void check(const struct expected *x, size_t n, uint32_t column)
{
    for (size_t i = 0; i < n; i++) {
        double v = value(x[i].metric, column, 0, x[i].entity, x[i].part);
        bool same = isnan(x[i].value) ? isnan(v) : fabs(v - x[i].value) <= 1e-12 * fabs(v);
        cr_expect(same, "%s %u %u: %.17g, expected %.17g", x[i].metric, x[i].entity, x[i].part, v,
                  x[i].value);
    }
}

Test(metrics, capacity_of_shared, .init = setup, .fini = teardown)
{
    const struct expected x[] = {
        {"fleet_gpus", 0, 0, 10},
        {"measured_s", 0, 0, 7200},
        {"supplied_gpu_h", 0, 0, 20},
        {"useful_gpu_h", 0, 0, 14.5},
        {"serving_gpu_h", 0, 0, 9},
        {"training_gpu_h", 0, 0, 5.5},
        {"lost_gpu_h", 0, 0, 0.5},
        {"state_gpu_h", 0, GPU_HELD_IDLE, 3},
        {"state_gpu_h", 0, GPU_FAILED, 0},
        {"state_frac", 0, GPU_LOADING, 0.5 / 20},
        {"gpu_h", 0, GPU_STRANDED, 0.5},
        {"gpu_h", 1, GPU_HELD_IDLE, 3},
        {"gpu_h", 2, GPU_HELD_IDLE, 0},
        {"gpu_frac", 2, GPU_TRAINING, 5.5 / 20},
        {"utilization", 0, 0, 14.5 / 20},
        {"allocation", 0, 0, 19.5 / 20},
        {"serving_frac", 0, 0, 9.0 / 20},
        {"training_frac", 0, 0, 5.5 / 20},
        {"lost_frac", 0, 0, 0.5 / 20},
        {"serving_pool_frac", 0, 0, 12.5 / 20},
        {"spare_frac", 0, 0, 3.0 / 20},
        {"training_goodput", 0, 0, 5.5 / 7},
        {"cost_usd", 0, 0, 40},
        {"cost_per_useful_gpu_h", 0, 0, 40 / 14.5},
    };
    check(x, sizeof x / sizeof x[0], SHARED);
}

Test(metrics, reclaims_of_shared, .init = setup, .fini = teardown)
{
    const struct expected x[] = {
        {"reclaims", 0, 0, 3},
        {"reclaims_ready", 0, 0, 2},
        {"reclaim_mean_s", 0, 0, 150},
        {"reclaim_p50_s", 0, 0, 120},
        {"reclaim_p99_s", 0, 0, 180},
        {"detection_mean_s", 0, 0, 30},
        {"stage_mean_s", 0, STAGE_GRACE, 15},
        {"stage_mean_s", 0, STAGE_WEIGHTS, 60},
        {"stage_mean_s", 0, STAGE_DETECT, 30},
        {"stage_frac", 0, STAGE_WEIGHTS, 120.0 / 300},
        {"stage_frac", 0, STAGE_SCRUB, 0},
        {"stage_frac", 0, STAGE_DETECT, NAN},
        {"binding_stage", 0, 0, STAGE_WEIGHTS},
        {"gpus_evicted", 0, 0, 12},
        {"gpus_asked", 0, 0, 5},
        {"over_reclaim_ratio", 0, 0, 12.0 / 5},
        {"victims", 0, 0, 4},
    };
    check(x, sizeof x / sizeof x[0], SHARED);
}

Test(metrics, service_of_shared, .init = setup, .fini = teardown)
{
    const struct expected x[] = {
        {"requests", 0, 0, 135000},
        {"arrived", 0, 0, 135003},
        {"done", 0, 0, 135000},
        {"open", 0, 0, 3},
        {"too_long", 0, 0, 0},
        {"timed_out", 0, 0, 0},
        {"retried", 0, 0, 7},
        {"evictions", 0, 0, 11},
        {"prompt_tokens", 0, 0, 135e6},
        {"output_tokens", 0, 0, 27e6},
        {"request_rate", 0, 0, 135003 / 7200.0},
        {"output_token_rate", 0, 0, 27e6 / 7200},
        {"in_flight_mean", 0, 0, 50},
        {"windows", 0, 0, 11},
        {"attainment", 0, 0, 1 - 361.0 / 135000},
        {"breach_windows", 0, 0, 1},
        {"breach_min", 0, 0, 10},
        {"attainment_target", 0, 0, 0.99},
        {"objective_metric", 0, 1, SLO_TPOT},
        {"objective_percentile", 0, 1, 0.9},
        {"objective_threshold_s", 0, 0, 2},
        {"objective_late", 0, 0, 361},
        {"objective_late", 0, 1, 0},
        {"objective_attainment", 0, 0, 1 - 361.0 / 135000},
        {"objective_attainment", 0, 1, 1},
        {"objective_breach_windows", 0, 0, 1},
        {"objective_breach_windows", 0, 1, 0},
        {"objective_breach_min", 0, 0, 10},
        {"objective_burn_rate_max", 0, 0, 1.5},
        {"objective_budget_left", 0, 0, 1 - 361.0 / ((1 - 0.99) * 135000)},
        {"objective_budget_left", 0, 1, 1},
        {"replica_gpus", 0, 0, 2},
        {"gpus_mean", 0, 0, 12.5 / 2},
        {"ready_max", 0, 0, 4},
        {"wanted_max", 0, 0, 5},
        {"scale_ups", 0, 0, 5},
        {"scale_downs", 0, 0, 4},
        {"batch_fill", 0, 0, 0.25},
        {"cost_per_mtok", 0, 0, 2 * 12.5 / 27},
        {"ttft_max_s", 0, 0, 3},
        {"tpot_p99_s", 0, 0, 0.04},
    };
    check(x, sizeof x / sizeof x[0], SHARED);
    cr_expect(epsilon_eq(dbl, value("ttft_mean_s", SHARED, 0, 0, 0), 0.75, 1e-9));
    cr_expect(epsilon_eq(dbl, value("ttft_p50_s", SHARED, 0, 0, 0), 0.5, 0.005));
    cr_expect(epsilon_eq(dbl, value("ttft_p90_s", SHARED, 0, 0, 0), 0.9, 0.009));
    cr_expect(epsilon_eq(dbl, value("ttft_p99_s", SHARED, 0, 0, 0), 3, 0.03));
    cr_expect(epsilon_eq(dbl, value("e2e_p50_s", SHARED, 0, 0, 0), 5, 0.05));
}

/* Demand in GPUs is rate / 10 x 2: 3 3 3 3 5 7 7 4 4 3 3 0 at the middles of 10-minute windows. The
 * slowest response is 20 + 180 = 200 s, in which it rises by 200/600 of 2 GPUs. The buffer of one
 * replica covers a rise of 2, that is 600 s. */
Test(metrics, ramp_of_shared, .init = setup, .fini = teardown)
{
    const struct expected x[] = {
        {"demand_mean_gpus", 0, 0, 45.0 / 12},
        {"demand_peak_gpus", 0, 0, 7},
        {"buffer_gpus", 0, 0, 2},
        {"limit_gpus", 0, 0, 10},
        {"held_gpus", 0, 0, 2},
        {"response_s", 0, 0, 200},
        {"service_reclaims", 0, 0, 2},
        {"safe_buffer_gpus", 0, 0, 2},
        {"short_gpus", 0, 0, 1}, /* 7 with 6 ready, once */
        {"short_min", 0, 0, 10},
        {"safe_reclaim_s", 0, 0, 600},
    };
    check(x, sizeof x / sizeof x[0], SHARED);
    cr_expect(epsilon_eq(dbl, value("rise_gpus", SHARED, 0, 0, 0), 2.0 / 3, 1e-12));
}

/* Without an autoscaler demand is in flight / safe_in_flight: 50 in flight at the mean rate. */
Test(metrics, ramp_of_separate, .init = setup, .fini = teardown)
{
    const struct expected x[] = {
        {"demand_peak_gpus", 0, 0, 35 * (50 / (135003 / 7200.0)) / 10 * 2},
        {"buffer_gpus", 0, 0, 0},
        {"limit_gpus", 0, 0, 4},
        {"held_gpus", 0, 0, 4},
        {"service_reclaims", 0, 0, 0},
        {"response_s", 0, 0, 100}, /* no reclaim: the mean cold start */
        {"safe_buffer_gpus", 0, 0, NAN},
        {"safe_reclaim_s", 0, 0, NAN},
        {"short_min", 0, 0, 110}, /* 4 ready, 8 wanted at 15 requests/s */
        {"reclaims", 0, 0, 0},
        {"reclaim_p50_s", 0, 0, NAN},
        {"binding_stage", 0, 0, NAN},
        {"over_reclaim_ratio", 0, 0, NAN},
        {"stage_mean_s", 0, STAGE_GRACE, NAN},
        {"utilization", 0, 0, 0.8},
        {"breach_min", 0, 0, 30},
    };
    check(x, sizeof x / sizeof x[0], SEPARATE);
}

Test(metrics, queue, .init = setup, .fini = teardown)
{
    const struct expected x[] = {
        {"jobs_submitted", 0, 0, 3},
        {"jobs_started", 0, 0, 2},
        {"jobs_done", 0, 0, 1},
        {"backlog_done", 0, 0, 1},
        {"jobs_refused", 0, 0, 0},
        {"jobs_censored", 0, 0, 1},
        {"jobs_waiting", 0, 0, 1},
        {"preemptions", 0, 0, 1},
        {"jobs_cancelled", 0, 0, 0},
        {"node_swaps", 0, 0, 2},
        {"resizes", 0, 0, 5},
        {"partial_returns", 0, 0, 3},
        {"queue_training_gpu_h", 0, 0, 5.5},
        {"queue_lost_gpu_h", 0, 0, 0.5},
        {"queue_goodput", 0, 0, 5.5 / 7},
        {"wait_mean_s", 0, 0, 900},
        {"wait_p50_s", 0, 0, 600},
        {"wait_p90_s", 0, 0, 1200},
        {"completion_mean_s", 0, 0, 3600},
        {"completion_p90_s", 0, 0, 3600},
    };
    check(x, sizeof x / sizeof x[0], SHARED);
}

/* The accounts sum to the fleet, in the ledger as integers and in every derived share. */
Test(metrics, ledger_identity, .init = setup, .fini = teardown)
{
    for (uint32_t c = 0; c < 2; c++)
        for (uint32_t r = 0; r < 3; r++) {
            const struct run_results *run = experiment_results(&e, c, r);
            u128 ledger = 0, timeline = 0;
            for (size_t a = 0; a < (size_t)run->n_owners * GPU_STATES; a++) {
                ledger += run->ledger[a];
                for (size_t w = 0; w < run->n_timeline; w++)
                    timeline += run->timeline[w * run->n_owners * GPU_STATES + a];
            }
            cr_expect(ledger == (u128)run->fleet_gpus * (run->end_ns - run->start_ns));
            cr_expect(timeline == ledger);
            double hours = 0, shares = 0, states = 0;
            for (uint32_t s = 0; s < GPU_STATES; s++) {
                states += value("state_gpu_h", c, r, 0, s);
                for (uint32_t o = 0; o < 3; o++) {
                    hours += value("gpu_h", c, r, o, s);
                    shares += value("gpu_frac", c, r, o, s);
                }
            }
            cr_expect(epsilon_eq(dbl, hours, 20, 1e-12));
            cr_expect(epsilon_eq(dbl, states, 20, 1e-12));
            cr_expect(epsilon_eq(dbl, shares, 1, 1e-12));
        }
}

/* Replication r books r x (60 GPU-s + 1 ns) from training to lost (2 r in separate). */
Test(metrics, replications_differ, .init = setup, .fini = teardown)
{
    double second = value("lost_gpu_h", SHARED, 2, 0, 0);
    cr_expect(epsilon_eq(dbl, second, 0.5 + 2 * 60.000000001 / 3600, 1e-12));
    double mean = summary_mean(&e.summary, "training_gpu_h", SHARED, 0, 0);
    cr_expect(epsilon_eq(dbl, mean, 5.5 - 60.000000001 / 3600, 1e-12));
    cr_expect(eq(dbl, value("evictions", SHARED, 2, 0, 0), 13));
}

/* Recorded jobs: 600 s of 2 GPUs and 1000 s of 4 for count, 300 s of 4 for order, 3600 s of 10 for
 * quota. */
Test(metrics, waits_by_reason, .init = setup, .fini = teardown)
{
    const struct expected x[] = {
        {"queue_blocked_h", 0, BLOCK_COUNT, 1600 / 3600.0},
        {"queue_blocked_h", 0, BLOCK_ORDER, 300 / 3600.0},
        {"queue_blocked_h", 0, BLOCK_QUOTA, 1},
        {"queue_blocked_h", 0, BLOCK_SHAPE, 0},
        {"queue_blocked_gpu_h", 0, BLOCK_COUNT, 5200 / 3600.0},
        {"queue_blocked_gpu_h", 0, BLOCK_ORDER, 1200 / 3600.0},
        {"queue_blocked_gpu_h", 0, BLOCK_QUOTA, 10},
    };
    check(x, sizeof x / sizeof x[0], SHARED);
}

/* Names are variables of a file and keys: unique, identifiers, each with a unit and a text. */
Test(metrics, table_is_sound)
{
    for (size_t i = 0; i < metrics_n; i++) {
        const struct metric *m = &metrics[i];
        cr_expect(
            eq(sz, strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(m->name)));
        cr_expect(eq(sz, metric_find(m->name), i), "%s twice", m->name);
        cr_expect(m->unit[0] && m->long_name[0] && m->value);
        cr_expect(m->part != AXIS_OBJECTIVE || m->entity == AXIS_SERVICE);
        for (int a = AXIS_SERVICE; a < AXES; a++)
            cr_expect(strcmp(m->name, axis_names[a]) != 0);
    }
    cr_expect(eq(sz, metric_find("no_such_metric"), metrics_n));
}

Test(metrics, labels, .init = setup, .fini = teardown)
{
    const struct summary *s = &e.summary;
    char objective[64];
    cr_expect(eq(u32, s->n[AXIS_OWNER], 3));
    cr_expect_str_eq(s->names[AXIS_OWNER][0], "nobody");
    cr_expect_str_eq(s->names[AXIS_OWNER][2], "train");
    cr_expect_str_eq(s->names[AXIS_OBJECTIVE][0], "ttft_p99");
    cr_expect_str_eq(s->names[AXIS_OBJECTIVE][1], "tpot_p90");
    summary_objective(s, SHARED, 0, 0, objective, sizeof objective);
    cr_expect(eq(str, objective, "TTFT p99 <= 2s"));
    summary_objective(s, SHARED, 0, 1, objective, sizeof objective);
    cr_expect(eq(str, objective, "TPOT p90 <= 100ms"));
}

/* A hundred saves, busy for half of the time; none of it where the plan has no storage. */
Test(metrics, storage)
{
    struct plan plan = fixture_shared;
    struct run_results run;
    struct digest d;
    cr_assert(fixture_run(&plan, 0, NULL, &run) == HR_OK);
    simtime_ns measured = run.end_ns - run.start_ns;
    run.storage = (struct storage_totals){
        .busy_ns = measured / 2,
        .limited_ns = measured / 4,
        .used_ns = (double)measured / 8,
        .kinds[TRANSFER_SAVE] = {.done = 100, .slowdown = 150, .worst_slowdown = 3}};
    const struct {
        const char *metric;
        double value;
    } expected[] = {{"storage_busy_frac", 0.5},       {"storage_limited_frac", 0.25},
                    {"storage_used_frac", 0.125},     {"storage_saves_n", 100},
                    {"storage_save_slowdown", 1.5},   {"storage_save_slowdown_max", 3},
                    {"storage_restore_slowdown", NAN}};
    for (int with = 0; with < 2; with++) {
        plan.storage.bytes_per_s = with ? 1e12 : 0;
        cr_assert(digest_init(&d, &plan, &run) == HR_OK);
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            double v = metric_value(&metrics[metric_find(expected[i].metric)], &d, 0, 0);
            if (!with || isnan(expected[i].value))
                cr_expect(isnan(v), "%s", expected[i].metric);
            else
                cr_expect_float_eq(v, expected[i].value, 1e-9, "%s: %g", expected[i].metric, v);
        }
        digest_fini(&d);
    }
    results_fini(&run);
}

/* Each GPU-hour of the ledger at what its state draws; the highest half hour; nothing where power
 * is not known. */
Test(metrics, power)
{
    static const struct node_power node = {2000, 10000, 8};
    struct fleet_plan pool = fixture_shared.pools[0];
    struct plan plan = fixture_shared;
    struct run_results run;
    struct digest d;
    cr_assert(fixture_run(&plan, 0, NULL, &run) == HR_OK);
    plan.pools = &pool;
    for (int with = 0; with < 3; with++) {
        pool.racks = (struct rack_plan){
            .power = with ? &node : NULL, .nodes = 4, .limit_w = 12000, .slow = with == 2};
        cr_assert(digest_init(&d, &plan, &run) == HR_OK);
        double kwh = 0, all = metric_value(&metrics[metric_find("energy_kwh")], &d, 0, 0);
        double peak = metric_value(&metrics[metric_find("power_peak_kw")], &d, 0, 0);
        double mean = metric_value(&metrics[metric_find("power_mean_kw")], &d, 0, 0);
        double speed = metric_value(&metrics[metric_find("power_speed_frac")], &d, 0, 0);
        double left = with == 2 ? 0.125 : 1; /* (12 / 4 - 2) of 8 kW */
        for (unsigned s = 0; s < GPU_STATES; s++)
            kwh += metric_value(&metrics[metric_find("state_gpu_h")], &d, 0, s) *
                   power_gpu_w(&node, (enum gpu_state)s, left) / 1000;
        cr_expect(with ? fabs(all - kwh) < 1e-9 && fabs(mean - kwh / 2) < 1e-9 : isnan(all),
                  "%g kWh, sum %g", all, kwh);
        cr_expect(with ? peak >= mean && peak < 10 * 1.25 : isnan(peak), "%g kW", peak);
        cr_expect(with == 2 ? fabs(speed - 0.5) < 1e-9 : isnan(speed), "%g", speed);
        digest_fini(&d);
    }
    results_fini(&run);
}

/* Columns with other services and queues: the union, and NaN where one has none. */
Test(metrics, columns_may_differ)
{
    static const struct service_plan other[] = {{.name = "search",
                                                 .gpus_per_replica = 1,
                                                 .slo = {.objectives = {{SLO_E2E, SIM_S, 999000}},
                                                         .n_objectives = 1,
                                                         .window_ns = SIM_MIN}}};
    struct plan plan = fixture_shared;
    plan.services = other;
    const struct summary_source columns[] = {{"a", &fixture_shared, NULL, NULL},
                                             {"b", &plan, NULL, NULL}};
    struct summary s;
    struct run_results run;
    cr_assert(summary_init(&s, columns, 2, 1, "v") == HR_OK);
    cr_assert(fixture_run(&fixture_shared, 0, NULL, &run) == HR_OK);
    cr_assert(summary_fill(&s, 0, 0, &fixture_shared, &run) == HR_OK);
    cr_assert(summary_fill(&s, 1, 0, &plan, &run) == HR_OK);
    cr_expect(eq(u32, s.n[AXIS_SERVICE], 2));
    cr_expect(eq(u32, s.n[AXIS_OBJECTIVE], 2));
    cr_expect_str_eq(s.names[AXIS_SERVICE][1], "search");
    cr_expect_str_eq(s.names[AXIS_OBJECTIVE][0], "objective_1"); /* they differ */
    cr_expect_str_eq(s.names[AXIS_OBJECTIVE][1], "tpot_p90");
    size_t m = metric_find("requests"), o = metric_find("objective_late");
    cr_expect(eq(dbl, *summary_at(&s, m, 0, 0, 0, 0), 135000));
    cr_expect(isnan(*summary_at(&s, m, 0, 0, 1, 0)));
    cr_expect(isnan(*summary_at(&s, m, 1, 0, 0, 0)));
    cr_expect(eq(dbl, *summary_at(&s, m, 1, 0, 1, 0), 135000));
    cr_expect(isnan(*summary_at(&s, o, 1, 0, 1, 1))); /* search has one objective */
    size_t g = metric_find("gpu_h");
    cr_expect(eq(dbl, *summary_at(&s, g, 1, 0, 2, GPU_SERVING), 9)); /* owner 2 is search */
    cr_expect(isnan(*summary_at(&s, g, 1, 0, 1, GPU_SERVING)));
    cr_expect(eq(dbl, *summary_at(&s, g, 1, 0, 3, GPU_TRAINING), 5.5));
    results_fini(&run);
    summary_fini(&s);
}

Test(metrics, churn_is_of_all_pools)
{
    struct pool_results pools[2] = {
        {.churn = {.reclaims = 2, .evictions = 4, .moves = 1, .spared = 3}},
        {.churn = {.reclaims = 2, .evictions = 6, .moves = 2, .spared = 0}}};
    struct run_results results = {.pools = pools, .n_pools = 2};
    struct digest d = {.results = &results};
    cr_expect(eq(dbl, reclaim_churn(&d, (struct metric_at){.arg = CHURN_PER_RECLAIM}), 2.5));
    cr_expect(eq(dbl, reclaim_churn(&d, (struct metric_at){.arg = CHURN_MOVES}), 3));
    cr_expect(eq(dbl, reclaim_churn(&d, (struct metric_at){.arg = CHURN_SPARED}), 3));
    results.n_pools = 0;
    cr_expect(isnan(reclaim_churn(&d, (struct metric_at){.arg = CHURN_PER_RECLAIM})));
}

/* Rows count units: of eight memory slices a GPU, and of whole GPUs in the other pool. */
Test(metrics, evicted_slices_are_parts_of_gpus)
{
    const struct fleet_plan pools[2] = {{.sharing.units_per_gpu = 8}, {.sharing.units_per_gpu = 1}};
    struct reclaim_row rows[] = {
        {.ready_ns = SIM_NEVER, .gpus_missing = 3, .gpus_evicted = 4},
        {.ready_ns = SIM_NEVER, .pool = 1, .gpus_missing = 1, .gpus_evicted = 2}};
    struct plan plan = fixture_shared;
    struct run_results run;
    struct digest d;
    cr_assert(fixture_run(&plan, 0, NULL, &run) == HR_OK);
    struct reclaim_row *own = run.reclaims;
    run.reclaims = rows;
    run.n_reclaims = 2;
    run.shares_per_gpu = 8;
    plan.pools = pools;
    plan.n_pools = 2;
    cr_assert(digest_init(&d, &plan, &run) == HR_OK);
    cr_expect(eq(dbl, reclaim_evicted(&d, (struct metric_at){0}), 2.5));
    cr_expect(eq(dbl, reclaim_asked(&d, (struct metric_at){0}), 1.375));
    cr_expect(eq(dbl, reclaim_over(&d, (struct metric_at){0}), 20.0 / 11));
    digest_fini(&d);
    run.reclaims = own;
    results_fini(&run);
}

/* The reference page says what the table says. */
Test(metrics, readme_lists_every_metric)
{
    FILE *f = fopen(TEST_SOURCE_ROOT "/analysis/README.md", "r");
    cr_assert(f != NULL);
    static char page[1 << 17];
    page[fread(page, 1, sizeof page - 1, f)] = 0;
    fclose(f);
    for (size_t i = 0; i < metrics_n; i++) {
        const struct metric *m = &metrics[i];
        char line[512];
        snprintf(line, sizeof line, "\n| `%s` | %s | %s%s%s | %s | %s |\n", m->name, m->unit,
                 axis_names[m->entity], m->entity && m->part ? ", " : "", axis_names[m->part],
                 m->long_name, m->formula);
        cr_expect(strstr(page, line) != NULL, "missing:%s", line);
    }
}
