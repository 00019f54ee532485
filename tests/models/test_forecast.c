/* The forecast of an autoscaler: what it knows, its error, and what acting on it is worth. */
#include "models/run.h"
#include "models/serving/forecast.h"
#include "plan_kit.h"

#include <criterion/criterion.h>
#include <math.h>

/* 10 requests/s, doubling within the first hour; two events, one of them announced. */
static const struct envelope_point points[] = {{0, 1}, {SIM_HOUR, 2}};
static const struct traffic_event events[] = {
    {.name = "campaign",
     .start_ns = 2 * SIM_HOUR,
     .hold_ns = SIM_HOUR,
     .factor = 3,
     .announced = true},
    {.name = "failover", .start_ns = 4 * SIM_HOUR, .hold_ns = SIM_HOUR, .factor = 5},
};

static struct traffic_plan rising(void)
{
    return (struct traffic_plan){
        .kind = ARRIVAL_POISSON,
        .rate_per_s = 10,
        .prompt_mean = 100,
        .output_mean = 10,
        .max_prompt_tokens = 1000,
        .max_output_tokens = 100,
        .envelope = {.kind = ENVELOPE_TABLE, .points = points, .n_points = 2},
        .events = events,
        .n_events = 2,
    };
}

Test(forecast, knows_the_envelope_and_what_is_announced)
{
    const struct traffic_plan traffic = rising();
    const struct forecast_plan plan = {.enabled = true, .bias = 1, .span_ns = SIM_HOUR};
    struct forecast f;
    forecast_init(&f, &plan, &traffic, 1, 0, "chat");
    cr_expect_float_eq(forecast_rate(&f, 0), 10, 1e-12);
    cr_expect_float_eq(forecast_rate(&f, 30 * SIM_MIN), 15, 1e-9);
    cr_expect_float_eq(forecast_rate(&f, 2 * SIM_HOUR + SIM_MIN), 60, 1e-9);
    cr_expect_float_eq(forecast_rate(&f, 4 * SIM_HOUR + SIM_MIN), 20, 1e-9);
    cr_expect_float_eq(traffic_factor(&traffic, 4 * SIM_HOUR + SIM_MIN), 10, 1e-9);
}

/* A lognormal of mean `bias` and the given cv, over n stretches: the mean within 3.3 standard
 * errors, the cv within 3 %; constant within a stretch. */
Test(forecast, the_error_is_unbiased_and_stays_for_its_span)
{
    enum { N = 20000 };
    const struct traffic_plan traffic = rising();
    const struct forecast_plan plan = {
        .enabled = true, .cv = 0.2, .bias = 1.1, .span_ns = SIM_HOUR};
    struct forecast f;
    forecast_init(&f, &plan, &traffic, 3, 0, "chat");
    double sum = 0, squares = 0;
    for (uint64_t k = 10; k < 10 + N; k++) {
        double first = forecast_rate(&f, k * SIM_HOUR) / 20;
        cr_assert_eq(forecast_rate(&f, (k + 1) * SIM_HOUR - 1) / 20, first);
        sum += first;
        squares += first * first;
    }
    double mean = sum / N, variance = squares / N - mean * mean;
    cr_expect_float_eq(mean, 1.1, 3.3 * 1.1 * 0.2 / sqrt(N), "mean %g", mean);
    cr_expect_float_eq(sqrt(variance) / mean, 0.2, 0.006, "cv %g", sqrt(variance) / mean);
}

Test(forecast, the_same_stretch_has_the_same_error_in_every_design)
{
    const struct traffic_plan traffic = rising();
    const struct forecast_plan plan = {.enabled = true, .cv = 0.3, .bias = 1, .span_ns = SIM_HOUR};
    struct forecast a, b;
    forecast_init(&a, &plan, &traffic, 3, 1, "chat");
    forecast_init(&b, &plan, &traffic, 3, 1, "chat");
    for (uint64_t k = 0; k < 50; k++)
        forecast_rate(&a, k * SIM_HOUR); /* one of them looks more often */
    cr_expect_eq(forecast_rate(&a, 50 * SIM_HOUR), forecast_rate(&b, 50 * SIM_HOUR));
}

/* ---- worth ---- */

/* Late requests of one service whose traffic grows fivefold in four minutes while a replica takes
 * 90 s to start. */
static uint64_t late(struct arena *arena, const struct forecast_plan *forecast)
{
    static const struct envelope_point ramp[] = {{10 * SIM_MIN, 1}, {14 * SIM_MIN, 5}};
    const struct request_trace *trace = kit_trace(arena, 5, 2000, 0.1, 1500, 300);
    struct service_plan s = kit_service("chat", trace, 4, 4, 24, 0, 40 * SIM_MIN);
    s.cold_start[STAGE_ENGINE] = (struct dist){DIST_FIXED, 77, 0};
    s.cold_start[STAGE_WEIGHTS] = (struct dist){DIST_FIXED, 10, 0};
    s.traffic.envelope = (struct envelope){.kind = ENVELOPE_TABLE, .points = ramp, .n_points = 2};
    s.autoscaler.enabled = true;
    s.autoscaler.metric = SCALER_REQUEST_RATE;
    s.autoscaler.target = 9;
    s.autoscaler.step_up = 0;
    s.initial_replicas = UINT32_MAX;
    s.slo.objectives[0].threshold_ns = 500 * SIM_MS;
    s.forecast = *forecast;
    const struct node_group group = {"node", "h100-sxm", 12, 8};
    const struct fleet_plan pool = {.name = "fleet", .groups = &group, .n_groups = 1};
    const struct plan plan = {
        .name = "ramp",
        .design = "separate",
        .seed = 2,
        .horizon_ns = 40 * SIM_MIN,
        .timeline_ns = SIM_MIN,
        .start_date = "2026-01-01 00:00:00",
        .pools = &pool,
        .n_pools = 1,
        .services = &s,
        .n_services = 1,
    };
    struct run_results r;
    cr_assert_eq(run_plan(&plan, 0, NULL, &r), HR_OK);
    uint64_t n = r.services[0].slo.late[0];
    results_fini(&r);
    return n;
}

/* Looking ahead by more than the start-up time leaves fewer requests late than reacting, and the
 * more so the less the forecast falls short. */
Test(forecast, acting_ahead_of_a_ramp_spares_late_requests)
{
    struct arena arena;
    arena_init(&arena);
    const struct forecast_plan none = {0};
    const struct forecast_plan exact = {true, 3 * SIM_MIN, 0, 1, SIM_HOUR};
    const struct forecast_plan low = {true, 3 * SIM_MIN, 0, 0.7, SIM_HOUR};
    uint64_t reactive = late(&arena, &none), ahead = late(&arena, &exact),
             short_of = late(&arena, &low);
    cr_log_info("late: reactive %lu, 30 %% low %lu, exact %lu", reactive, short_of, ahead);
    cr_expect(reactive > 100, "reactive %lu", reactive);
    cr_expect(ahead * 20 < reactive, "exact %lu, reactive %lu", ahead, reactive);
    cr_expect(short_of > ahead && short_of < reactive, "30 %% low: %lu", short_of);
    arena_fini(&arena);
}
