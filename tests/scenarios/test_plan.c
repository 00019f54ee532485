/* From a scenario to a plan: every part of the language arrives where it belongs, in the plan's
 * units, with the defaults that the reference names. */
#include "kit.h"

#include "models/serving/calibrate.h"
#include "models/serving/catalogue.h"
#include "scenarios/moment.h"
#include "traces/trace.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HERE  TEST_SOURCE_ROOT "/scenarios/test.yaml"
#define CONV  "../traces/data/azure-llm-2023/AzureLLMInferenceTrace_conv.csv"
#define VENUS "../traces/data/helios-venus/helios_venus_2vc_sept.csv"

static struct plan set_one(const char *set, struct scenario **s)
{
    *s = kit_load(kit_small, &set, 1);
    return kit_plan(*s, NULL);
}

/* The small scenario with another service or traffic. */
static struct plan with_traffic(const char *traffic, struct scenario **s)
{
    char *text = kit_replace(kit_small,
                             "{arrivals: poisson, rate: 5req/s, prompt: 100, output: 10}", traffic);
    *s = kit_load_at(HERE, text);
    free(text);
    return kit_plan(*s, NULL);
}

/* ---- the run ---- */

Test(plan, run_and_defaults)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    struct plan p = kit_plan(s, NULL);
    cr_assert_str_eq(p.name, "small");
    cr_assert_eq(p.seed, 1);
    cr_assert_eq(p.horizon_ns, 2 * SIM_HOUR);
    cr_assert_eq(p.warmup_ns, 12 * SIM_MIN, "a tenth of the horizon");
    cr_assert_eq(p.timeline_ns, SIM_MIN);
    cr_assert_str_eq(p.start_date, "2026-01-01 00:00:00");
    cr_assert_eq(p.pools[0].price_usd_per_gpu_h, 2.95);
    cr_assert_eq(plan_gpus(&p), 32);
    cr_assert_str_eq(p.pools[0].groups[0].gpu, "h100-sxm");
    cr_assert_eq(p.pools[0].reclaim.victims, VICTIM_LEAST_OVER_RECLAIM);
    cr_assert_eq(p.pools[0].reclaim.grace_ns, 30 * SIM_S);
    cr_assert_eq(dist_mean_s(&p.pools[0].reclaim.teardown), 2);
    cr_assert_eq(dist_mean_s(&p.pools[0].reclaim.scrub), 1);
    cr_assert_eq(scenario_replications(s), 5);
    cr_assert_str_eq(scenario_name(s), "small");
    cr_assert_str_eq(scenario_description(s), "");
    cr_assert_str_eq(scenario_path(s), "test.yaml");
    cr_assert_str_eq(scenario_text(s), kit_small);
    scenario_free(s);
}

Test(plan, long_runs_have_wider_timeline_steps)
{
    struct scenario *s;
    cr_assert_eq(set_one("horizon=2d", &s).timeline_ns, SIM_MIN);
    scenario_free(s);
    /* 27 of 30 days measured: 38,880 min over 2,880 steps are 13.5, so 14 */
    cr_assert_eq(set_one("horizon=30d", &s).timeline_ns, 14 * SIM_MIN);
    scenario_free(s);
    cr_assert_eq(set_one("timeline=5s", &s).timeline_ns, 5 * SIM_S);
    scenario_free(s);
}

Test(plan, start_date_and_time_of_day)
{
    struct scenario *s;
    struct plan p = set_one("start=2024-02-29T06:30", &s);
    cr_assert_str_eq(p.start_date, "2024-02-29 06:30:00");
    cr_assert_eq(p.services[0].traffic.start_of_day_ns, 6 * SIM_HOUR + 30 * SIM_MIN);
    scenario_free(s);
}

Test(plan, groups_of_nodes)
{
    struct scenario *s;
    struct plan p =
        set_one("fleet={groups: [{name: a, nodes: 2}, {name: b, nodes: 3, gpus_per_node: 4}]}", &s);
    cr_assert_eq(p.pools[0].n_groups, 2);
    cr_assert_str_eq(p.pools[0].groups[1].name, "b");
    cr_assert_eq(plan_gpus(&p), 28);
    scenario_free(s);
}

Test(plan, moments)
{
    char date[MOMENT_DATE_BYTES];
    double day_s;
    cr_assert(moment_start("2026-12-31 23:59:58", date, &day_s));
    cr_assert_eq(day_s, 86398);
    cr_assert(moment_start("2026-12-31", date, &day_s));
    cr_assert_eq(day_s, 0);
    static const char *const bad[] = {"",           "2026-13-01",       "2025-02-29",
                                      "2026-1-1",   "2026-01-01 24:00", "2026-01-01 00:00Z",
                                      "1969-01-01", "2026-01-01 0:00",  "2026-01-01 00:00:60"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(moment_start(bad[i], date, &day_s), "%s", bad[i]);
    double six = 6 * 3600;
    struct field_moment ten = {10 * 3600, true}, five = {5 * 3600, true},
                        later = {86400 + 5 * 3600, true}, after = {7200, false};
    cr_assert_eq(moment_since_start_s(ten, six), 4 * 3600);
    cr_assert_eq(moment_since_start_s(five, six), 23 * 3600, "the first five o'clock after six");
    cr_assert_eq(moment_since_start_s(later, six), 47 * 3600);
    cr_assert_eq(moment_since_start_s(after, six), 7200);
    cr_assert_eq(moment_of_day_s(ten, six), 10 * 3600);
    cr_assert_eq(moment_of_day_s(after, six), 8 * 3600);
}

/* ---- durations ---- */

static void duration_is(const char *text, enum dist_kind kind, double mean_s, double spread)
{
    char set[256];
    struct scenario *s;
    snprintf(set, sizeof set, "reclaim.teardown=%s", text);
    struct dist d = set_one(set, &s).pools[0].reclaim.teardown;
    cr_assert_eq(d.kind, kind, "%s", text);
    cr_assert_eq(d.mean_s, mean_s, "%s", text);
    cr_assert_eq(d.spread, spread, "%s", text);
    scenario_free(s);
}

Test(plan, durations)
{
    duration_is("90s", DIST_FIXED, 90, 0);
    duration_is("{fixed: 1.5min}", DIST_FIXED, 90, 0);
    duration_is("{uniform: {low: 10s, high: 30s}}", DIST_UNIFORM, 20, 10);
    duration_is("{exponential: 5s}", DIST_EXPONENTIAL, 5, 0);
    duration_is("{exponential: {mean: 5s}}", DIST_EXPONENTIAL, 5, 0);
    duration_is("{lognormal: {mean: 152s, cv: 0.2}}", DIST_LOGNORMAL, 152, 0.2);
    duration_is("{gamma: {mean: 2min, cv: 1.5}}", DIST_GAMMA, 120, 1.5);
    duration_is("{weibull: {mean: 1h, shape: 0.7}}", DIST_WEIBULL, 3600, 0.7);
}

Test(plan, wrong_durations)
{
    static const char *const sets[][2] = {
        {"reclaim.teardown={uniform: {low: 3s, high: 1s}}", "high is below low"},
        {"reclaim.teardown={lognormal: {mean: 3s}}", "missing key 'cv'"},
        {"reclaim.teardown={lognormal: {mean: 3s, cv: 0}}", "must be above 0"},
        {"reclaim.teardown={normal: {mean: 3s}}", "unknown key 'normal'"},
        {"reclaim.teardown=3", "needs a unit"},
        {"reclaim.teardown=[3s]", "takes keys"},
        {"training.research.backlog.work=0s", "at least 1s"},
        {"services.chat.cold_start.engine={uniform: {low: 3s, high: 1s}}", "high is below low"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char *said = kit_refused(kit_small, &sets[i][0], 1);
        cr_assert(strstr(said, sets[i][1]), "%s: said\n%s", sets[i][0], said);
        free(said);
    }
}

/* ---- engine ---- */

Test(plan, catalogue_rows)
{
    struct scenario *s;
    struct plan p = set_one(
        "services.chat={model: llama-3.1-70b, precision: fp8, tensor_parallel: "
        "4, traffic: {arrivals: even, rate: 1req/s, prompt: 9, output: 9}}",
        &s);
    const struct perf_entry *e = perf_find("llama-3.1-70b", "fp8", 4, "h100-sxm", "");
    const struct service_plan *c = &p.services[0];
    cr_assert_eq(memcmp(&c->replica.step, &e->step, sizeof e->step), 0);
    cr_assert_str_eq(c->model, "llama-3.1-70b fp8, vllm 0.19.0");
    cr_assert_eq(c->gpus_per_replica, 4);
    cr_assert_eq(c->replica.kv_capacity_tokens, perf_kv_tokens(85.52, 4, 70.55, 327680));
    cr_assert_eq(c->replica.prefill, PREFILL_CHUNKED);
    cr_assert_eq(c->replica.max_num_seqs, 256);
    cr_assert_eq(c->replica.max_batched_tokens, 2048);
    cr_assert_eq(c->router, ROUTER_LEAST_OUTSTANDING);
    cr_assert_float_eq(dist_mean_s(&c->cold_start[STAGE_WEIGHTS]), 70.55 / 3.6, 1e-9);
    cr_assert_eq(dist_mean_s(&c->cold_start[STAGE_SCHEDULE]), 5);
    cr_assert_eq(dist_mean_s(&c->cold_start[STAGE_IMAGE]), 1);
    cr_assert_eq(dist_mean_s(&c->cold_start[STAGE_ENGINE]), 90);
    cr_assert_eq(c->drain_limit_ns, 30 * SIM_S);
    cr_assert_eq(c->request_timeout_ns, SIM_NEVER);
    scenario_free(s);
}

Test(plan, another_engine)
{
    struct scenario *s;
    struct plan p = set_one("services.chat.engine=tensorrt-llm", &s);
    cr_assert(strstr(p.services[0].model, "tensorrt-llm"), "%s", p.services[0].model);
    scenario_free(s);
}

/* a to e in picoseconds, f in femtoseconds. */
Test(plan, own_step_times)
{
    struct scenario *s;
    struct plan p = set_one(
        "services.chat={model: mine, tensor_parallel: 2, kv_capacity: 600k, weights: 70GB, "
        "step_time: {decode: 9.829ms, decode_request: 34.8us, decode_token: 27.8ns, prefill: "
        "6.27ms, prefill_token: 44.3us, prefill_token_squared: 0.267ns, prefill_floor: 12ms}, "
        "traffic: {arrivals: even, rate: 1req/s, prompt: 9, output: 9}}",
        &s);
    const struct step_time *t = &p.services[0].replica.step;
    cr_assert_eq(t->a_ps, 9829000000);
    cr_assert_eq(t->b_ps, 34800000);
    cr_assert_eq(t->c_ps, 27800);
    cr_assert_eq(t->d_ps, 6270000000);
    cr_assert_eq(t->e_ps, 44300000);
    cr_assert_eq(t->f_fs, 267000);
    cr_assert_eq(t->floor_ps, 12000000000);
    cr_assert_eq(p.services[0].replica.kv_capacity_tokens, 600000);
    cr_assert_float_eq(dist_mean_s(&p.services[0].cold_start[STAGE_WEIGHTS]), 70 / 3.6, 1e-9);
    cr_assert_str_eq(p.services[0].model, "mine bf16, own step times");
    scenario_free(s);
}

Test(plan, weights_that_leave_no_memory)
{
    static const char *const sets[] = {"services.chat.weights=200GB"};
    char *said = kit_refused(kit_small, sets, 1);
    cr_assert(strstr(said, "leave no memory for requests"), "%s", said);
    free(said);
}

/* ---- objectives and scaling ---- */

Test(plan, objectives)
{
    struct scenario *s;
    struct plan p = set_one(
        "services.chat.slo={ttft: {p95: 500ms, p99.9: 2s}, e2e: {p50: 10s}, "
        "target: 99.5%}",
        &s);
    const struct slo_plan *o = &p.services[0].slo;
    cr_assert_eq(o->n_objectives, 3);
    cr_assert_eq(o->objectives[0].percentile_ppm, 950000);
    cr_assert_eq(o->objectives[0].threshold_ns, 500 * SIM_MS);
    cr_assert_eq(o->objectives[1].percentile_ppm, 999000);
    cr_assert_eq(o->objectives[2].metric, SLO_E2E);
    cr_assert_eq(o->target, 0.995);
    cr_assert_eq(o->window_ns, SIM_MIN);
    cr_assert_eq(o->start_ns, p.warmup_ns);
    cr_assert_eq(o->end_ns, p.horizon_ns);
    scenario_free(s);
}

Test(plan, default_objectives)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    const struct slo_plan o = kit_plan(s, NULL).services[0].slo;
    cr_assert_eq(o.n_objectives, 2);
    cr_assert_eq(o.objectives[0].metric, SLO_TTFT);
    cr_assert_eq(o.objectives[0].threshold_ns, 2 * SIM_S);
    cr_assert_eq(o.objectives[1].metric, SLO_TPOT);
    cr_assert_eq(o.objectives[1].threshold_ns, 100 * SIM_MS);
    cr_assert_eq(o.objectives[1].percentile_ppm, 990000);
    cr_assert_eq(o.target, 0.99);
    scenario_free(s);
}

Test(plan, autoscaler)
{
    struct scenario *s;
    struct plan p = set_one(
        "services.chat.autoscaler={target_rate: 11req/s, period: 5s, metric_window: 1min, "
        "stabilisation: 10min, step_up: 2, step_up_share: 50%, step_down: 1, step_down_share: 10%}",
        &s);
    const struct autoscaler_plan *a = &p.services[0].autoscaler;
    cr_assert(a->enabled);
    cr_assert_eq(a->metric, SCALER_REQUEST_RATE);
    cr_assert_eq(a->target, 11);
    cr_assert_eq(a->period_ns, 5 * SIM_S);
    cr_assert_eq(a->metric_window_ns, SIM_MIN);
    cr_assert_eq(a->stabilisation_ns, 10 * SIM_MIN);
    cr_assert_eq(a->step_up, 2);
    cr_assert_eq(a->step_down, 1);
    cr_assert_eq(a->step_up_frac, 0.5);
    cr_assert_eq(a->step_down_frac, 0.1);
    cr_assert_eq(p.services[0].initial_replicas, UINT32_MAX, "what it wants");
    scenario_free(s);
    p = set_one("services.chat.autoscaler.target_in_flight=40", &s);
    cr_assert_eq(p.services[0].autoscaler.metric, SCALER_IN_FLIGHT);
    cr_assert_eq(p.services[0].autoscaler.target, 40);
    cr_assert_eq(p.services[0].safe_in_flight, 40);
    scenario_free(s);
    p = set_one("services.chat.autoscaler=off", &s);
    cr_assert_not(p.services[0].autoscaler.enabled);
    cr_assert_eq(p.services[0].initial_replicas, 1);
    scenario_free(s);
}

static double safe_rate(const struct replica_config *c, double prompt, double output,
                        uint64_t tpot_ns, uint32_t most, double *in_flight)
{
    struct step_time step = c->step;
    cr_assert_eq(c->prefill, PREFILL_CHUNKED);
    step.d_ps = step.floor_ps = 0;
    return perf_safe_rate(&step, prompt, output, tpot_ns, most, in_flight);
}

/* Without a target: 85 % of the highest rate within the TPOT objective; and what a replica holds at
 * that rate. */
Test(plan, default_target_and_safe_in_flight)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    struct service_plan c = kit_plan(s, NULL).services[0];
    double in_flight, highest = safe_rate(&c.replica, 100, 10, 100 * SIM_MS, 256, &in_flight);
    cr_assert_float_eq(c.autoscaler.target, 0.85 * highest, 1e-9);
    cr_assert_lt(c.safe_in_flight, in_flight);
    double measured;
    cr_assert_eq(calibrate_in_flight(&c.replica, &c.traffic, c.autoscaler.target, &measured),
                 HR_OK);
    cr_assert_eq(c.safe_in_flight, fmax(measured, 1));
    scenario_free(s);
    c = set_one("services.chat.kv_capacity=1000", &s).services[0]; /* 9 of 110 tokens */
    highest = safe_rate(&c.replica, 100, 10, 100 * SIM_MS, 9, &in_flight);
    cr_assert_float_eq(c.autoscaler.target, 0.85 * highest, 1e-9);
    scenario_free(s);
    c = set_one("services.chat.kv_capacity=100", &s).services[0]; /* less than one */
    highest = safe_rate(&c.replica, 100, 10, 100 * SIM_MS, 1, &in_flight);
    cr_assert_float_eq(c.autoscaler.target, 0.85 * highest, 1e-9);
    scenario_free(s);
    c = set_one("services.chat.safe_in_flight=17.5", &s).services[0];
    cr_assert_eq(c.safe_in_flight, 17.5);
    scenario_free(s);
}

/* What is said of a setting when two designs are planned. */
static char *said_of_set(const char *set)
{
    struct diags d;
    struct scenario *s;
    struct plan p;
    char *text = kit_replace(kit_small, "  shared:\n", "  shared:\n  more: shared\n");
    diags_init(&d);
    cr_assert_eq(scenario_load_text("test.yaml", text, strlen(text), &set, 1, &d, &s), HR_OK);
    for (size_t i = 0; i < scenario_n_designs(s); i++)
        cr_assert_eq(scenario_plan(s, scenario_design(s, i), &d, &p), HR_OK);
    char *said = kit_printed(&d);
    scenario_free(s);
    diags_fini(&d);
    free(text);
    return said;
}

Test(plan, a_target_that_no_replica_bears_is_warned_of_once)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    struct service_plan c = kit_plan(s, NULL).services[0];
    char set[64];
    snprintf(set, sizeof set, "services.chat.autoscaler.target_rate=%.9greq/s",
             1.01 / 0.85 * c.autoscaler.target);
    char *said = said_of_set(set);
    const char *start = "--set: warning: target_rate: a replica bears about";
    cr_assert(strncmp(said, start, strlen(start)) == 0, "%s", said);
    cr_assert_null(strstr(said + strlen(start), "warning"), "%s", said);
    free(said);
    snprintf(set, sizeof set, "services.chat.autoscaler.target_rate=%.9greq/s",
             0.99 / 0.85 * c.autoscaler.target);
    said = said_of_set(set);
    cr_assert_str_empty(said, "%s", said);
    free(said);
    said = said_of_set("services.chat.autoscaler.target_in_flight=257");
    cr_assert(strstr(said, "target_in_flight: a replica runs about 256 requests"), "%s", said);
    free(said);
    said = said_of_set("services.chat.autoscaler.target_in_flight=256");
    cr_assert_str_empty(said, "%s", said);
    free(said);
    scenario_free(s);
}

Test(plan, a_timeout_that_hardly_acts_is_warned_of)
{
    char *said = said_of_set("services.chat.timeout=5s");
    cr_assert(strstr(said, "--set: warning: timeout: requests wait at the router only with"), "%s",
              said);
    free(said);
    said = said_of_set(
        "services.chat={model: llama-3.1-8b, tensor_parallel: 1, timeout: 5s, "
        "router: shared-queue, traffic: {arrivals: poisson, rate: 5req/s, "
        "prompt: 100, output: 10}}");
    cr_assert_str_empty(said, "%s", said);
    free(said);
}

Test(plan, keys_that_change_nothing_are_warned_of)
{
    char *said = said_of_set("services.chat.traffic.events={x: {start: 2h, factor: 2, hold: 1h}}");
    cr_assert(strstr(said, "warning: x starts after the end of the run"), "%s", said);
    free(said);
    said = said_of_set("services.chat.traffic.events={x: {start: 119min, factor: 2, hold: 1h}}");
    cr_assert_str_empty(said, "%s", said);
    free(said);
    said = said_of_set("training.research.checkpoint.notice_save=20s");
    cr_assert(strstr(said, "warning: notice_save changes nothing without"), "%s", said);
    free(said);
}

Test(plan, an_objective_that_no_load_meets)
{
    const char *set = "services.chat.slo={tpot: {p99: 1ms}}";
    char *said = kit_refused(kit_small, &set, 1);
    cr_assert(strstr(said, "even one request at a time misses the TPOT objective"), "%s", said);
    free(said);
}

/* ---- traffic ---- */

Test(plan, generators)
{
    struct scenario *s;
    struct traffic_plan t = with_traffic(
                                "{arrivals: {gamma: 3}, rate: 120req/min, prompt: {mean: "
                                "1k, cv: 0.5, most: 8k}, output: 20}",
                                &s)
                                .services[0]
                                .traffic;
    cr_assert_eq(t.kind, ARRIVAL_GAMMA);
    cr_assert_eq(t.cv, 3);
    cr_assert_eq(t.rate_per_s, 2);
    cr_assert_eq(t.prompt_mean, 1000);
    cr_assert_eq(t.prompt_cv, 0.5);
    cr_assert_eq(t.max_prompt_tokens, 8000);
    cr_assert_eq(t.output_mean, 20);
    cr_assert_eq(t.output_cv, 1);
    cr_assert_null(t.trace);
    scenario_free(s);
}

Test(plan, a_trace_by_rate_scale_and_speed)
{
    struct scenario *s;
    struct plan p = with_traffic("{trace: " CONV ", rate: 240req/s}", &s);
    const struct traffic_plan *t = &p.services[0].traffic;
    size_t n;
    const struct scenario_trace *traces = scenario_traces(s, &n);
    cr_assert_eq(t->kind, ARRIVAL_TRACE);
    cr_assert_eq(t->trace->n, 19366);
    cr_assert_float_eq(traffic_base_rate(t), 240, 1e-9);
    cr_assert_float_eq(t->scale, 43.4, 0.05);
    cr_assert(t->loop);
    cr_assert_eq(n, 1);
    cr_assert_str_eq(traces[0].owner, "chat");
    cr_assert_eq(traces[0].report->rows_kept, 19366);
    cr_assert_str_eq(traces[0].report->format, "azure-llm", "found by its header");
    scenario_free(s);
    p = with_traffic("{trace: {file: " CONV ", format: azure-llm}, scale: 2.5, speed: 4, loop: no}",
                     &s);
    cr_assert_eq(p.services[0].traffic.scale, 2.5);
    cr_assert_eq(p.services[0].traffic.speed, 4);
    cr_assert_not(p.services[0].traffic.loop);
    scenario_free(s);
    p = with_traffic("{trace: " CONV "}", &s);
    cr_assert_eq(p.services[0].traffic.scale, 1);
    scenario_free(s);
}

Test(plan, drawn_arrivals_with_recorded_lengths)
{
    struct scenario *s;
    struct plan p = with_traffic("{trace: " CONV ", arrivals: poisson, rate: 3req/s}", &s);
    cr_assert_eq(p.services[0].traffic.kind, ARRIVAL_POISSON);
    cr_assert_eq(p.services[0].traffic.trace->n, 19366);
    cr_assert_eq(p.services[0].traffic.rate_per_s, 3);
    scenario_free(s);
}

Test(plan, a_trace_is_read_once)
{
    char *text = kit_replace(
        kit_small, "    traffic: {arrivals: poisson, rate: 5req/s, prompt: 100, output: 10}\n",
        "    traffic: {trace: " CONV
        ", rate: 5req/s}\n"
        "  other:\n    model: llama-3.1-8b\n    tensor_parallel: 1\n"
        "    traffic: {trace: {file: " CONV "}, rate: 7req/s}\n");
    char *designs = kit_replace(text, "  shared:\n",
                                "  shared:\n  slow: {preset: shared, set: "
                                "{reclaim.grace: 1min}}\n");
    struct scenario *s = kit_load_at(HERE, designs);
    struct plan a = kit_plan(s, "shared"), b = kit_plan(s, "slow");
    cr_assert_eq(a.services[0].traffic.trace, b.services[0].traffic.trace);
    size_t n;
    const struct scenario_trace *traces = scenario_traces(s, &n);
    cr_assert_eq(n, 2, "named once for each service");
    cr_assert_eq(traces[0].report->rows_kept, traces[1].report->rows_kept);
    scenario_free(s);
    free(designs);
    free(text);
}

static struct envelope envelope_of(const char *envelope, struct scenario **s)
{
    char traffic[512];
    snprintf(traffic, sizeof traffic,
             "{arrivals: even, rate: 5req/s, prompt: 9, output: 9, envelope: %s}", envelope);
    return with_traffic(traffic, s).services[0].traffic.envelope;
}

Test(plan, envelopes)
{
    struct scenario *s;
    cr_assert_eq(envelope_of("constant", &s).kind, ENVELOPE_CONSTANT);
    scenario_free(s);
    struct envelope e = envelope_of("{diurnal: {peak_to_mean: 1.6, peak: 14:30}}", &s);
    cr_assert_eq(e.kind, ENVELOPE_DIURNAL);
    cr_assert_eq(e.peak_to_mean, 1.6);
    cr_assert_eq(e.peak_hour, 14.5);
    scenario_free(s);
    e = envelope_of("{step: {start: 1h, to: 3}}", &s);
    cr_assert_eq(e.kind, ENVELOPE_TABLE_STEPS);
    cr_assert_eq(e.n_points, 2);
    cr_assert_eq(e.points[0].factor, 1);
    cr_assert_eq(e.points[1].at_ns, SIM_HOUR);
    cr_assert_eq(e.points[1].factor, 3);
    scenario_free(s);
    e = envelope_of("{ramp: {start: 30min, over: 10min, from: 1, to: 2}}", &s);
    cr_assert_eq(e.kind, ENVELOPE_TABLE);
    cr_assert_eq(e.n_points, 2);
    cr_assert_eq(e.points[0].at_ns, 30 * SIM_MIN);
    cr_assert_eq(e.points[1].at_ns, 40 * SIM_MIN);
    cr_assert_eq(e.points[1].factor, 2);
    scenario_free(s);
}

/* Straight pieces between powers: within 0.1 % of the exponential everywhere. */
Test(plan, exponential_ramp)
{
    struct scenario *s;
    struct envelope e =
        envelope_of("{ramp: {over: 64s, from: 0.5, to: 5, shape: exponential}}", &s);
    cr_assert_eq(e.points[0].factor, 0.5);
    cr_assert_float_eq(e.points[e.n_points - 1].factor, 5, 1e-12);
    for (size_t i = 0; i + 1 < e.n_points; i++)
        for (int k = 0; k < 10; k++) {
            double share = k / 10.0;
            double t = sim_time_to_s(e.points[i].at_ns) * (1 - share) +
                       sim_time_to_s(e.points[i + 1].at_ns) * share;
            double line = e.points[i].factor * (1 - share) + e.points[i + 1].factor * share;
            cr_assert_float_eq(line, 0.5 * pow(10, t / 64), line * 1e-3);
        }
    scenario_free(s);
}

Test(plan, tables_by_time_and_time_of_day)
{
    struct scenario *s;
    struct envelope e = envelope_of(
        "{table: {points: {0h: 1, 06:30: 0.5, 1d 02:00: 2}, steps: yes, repeat: 2d}}", &s);
    cr_assert_eq(e.kind, ENVELOPE_TABLE_STEPS);
    cr_assert_eq(e.n_points, 3);
    cr_assert_eq(e.points[1].at_ns, 6 * SIM_HOUR + 30 * SIM_MIN);
    cr_assert_eq(e.points[2].at_ns, 26 * SIM_HOUR);
    cr_assert_eq(e.points[2].factor, 2);
    cr_assert_eq(e.repeat_ns, 2 * SIM_DAY);
    scenario_free(s);
    e = envelope_of("{table: {points: {0h: 1, 24h: 2}, repeat: 1d}}", &s);
    cr_assert_eq(e.points[1].at_ns, e.repeat_ns, "the end of a period may be its last point");
    scenario_free(s);
}

/* A file in /tmp with the lines; its path. */
static char *file_of(const char *lines)
{
    char path[] = "/tmp/headroom-curve-XXXXXX";
    int fd = mkstemp(path);
    FILE *out = fdopen(fd, "w");
    cr_assert_not_null(out);
    fputs(lines, out);
    fclose(out);
    return strdup(path);
}

Test(plan, a_curve_of_factors_from_a_file)
{
    struct scenario *s;
    char set[256], *path = file_of("time_h,factor\n0,1\n2,3\n");
    snprintf(set, sizeof set, "{file: %s}", path);
    struct envelope e = envelope_of(set, &s);
    cr_assert_eq(e.kind, ENVELOPE_TABLE);
    cr_assert_eq(e.n_points, 2);
    cr_assert_eq(e.points[1].at_ns, 2 * SIM_HOUR);
    cr_assert_eq(e.points[1].factor, 3);
    scenario_free(s);
    remove(path);
    free(path);
}

/* Rates 10, 30 and 10 over 0 to 1 to 4 h: the mean of the lines is (20 x 1 + 20 x 3) / 4 = 20. */
Test(plan, a_curve_of_rates_gives_the_rate)
{
    struct scenario *s;
    char traffic[512], *path = file_of("time_h,rate\n0,10\n1,30\n4,10\n");
    snprintf(traffic, sizeof traffic,
             "{arrivals: poisson, prompt: 9, output: 9, envelope: {file: %s}}", path);
    struct traffic_plan t = with_traffic(traffic, &s).services[0].traffic;
    cr_assert_float_eq(t.rate_per_s, 20, 1e-12);
    cr_assert_float_eq(t.envelope.points[1].factor, 1.5, 1e-12);
    scenario_free(s);
    snprintf(traffic, sizeof traffic, "{trace: " CONV ", envelope: {file: {file: %s}}}", path);
    t = with_traffic(traffic, &s).services[0].traffic;
    cr_assert_float_eq(traffic_base_rate(&t), 20, 1e-9);
    scenario_free(s);
    snprintf(traffic, sizeof traffic,
             "services.chat.traffic={trace: " TEST_SOURCE_ROOT "/scenarios/" CONV
             ", rate: 3req/s, envelope: {file: %s}}",
             path);
    const char *set = traffic;
    char *said = kit_refused(kit_small, &set, 1);
    cr_assert(strstr(said, "the envelope's file gives the rate"), "%s", said);
    free(said);
    remove(path);
    free(path);
}

Test(plan, events)
{
    struct scenario *s;
    struct plan p = with_traffic(
        "{arrivals: even, rate: 5req/s, prompt: 9, output: 9, events: {late: {start: 1d 10:30, "
        "factor: 1.3, rise: 60s, hold: 1h, fall: 2min}, daily: {start: 10min, factor: 0.5, hold: "
        "5min, every: 1d}}}",
        &s);
    const struct traffic_plan *t = &p.services[0].traffic;
    cr_assert_eq(t->n_events, 2);
    cr_assert_str_eq(t->events[0].name, "daily", "sorted by name");
    cr_assert_eq(t->events[0].repeat_ns, SIM_DAY);
    cr_assert_eq(t->events[0].rise_ns, 0);
    cr_assert_eq(t->events[1].start_ns, 34 * SIM_HOUR + 30 * SIM_MIN);
    cr_assert_eq(t->events[1].rise_ns, SIM_MIN);
    cr_assert_eq(t->events[1].hold_ns, SIM_HOUR);
    cr_assert_eq(t->events[1].fall_ns, 2 * SIM_MIN);
    cr_assert_eq(t->events[1].factor, 1.3);
    cr_assert_eq(t->events[1].repeat_ns, 0);
    scenario_free(s);
}

/* ---- traces of one's own ---- */

Test(plan, mapped_columns)
{
    struct scenario *s;
    char traffic[512], *path = file_of("when;in;out\n0;10;2\n1500;20;4\n");
    snprintf(traffic, sizeof traffic,
             "{trace: {file: %s, delimiter: \";\", columns: {arrival: when, prompt_tokens: in, "
             "output_tokens: out, unit: ms}}}",
             path);
    struct plan p = with_traffic(traffic, &s);
    const struct request_trace *t = p.services[0].traffic.trace;
    cr_assert_eq(t->n, 2);
    cr_assert_eq(t->rows[1].arrival_ns, 1500 * SIM_MS);
    cr_assert_eq(t->rows[1].prompt_tokens, 20);
    scenario_free(s);
    remove(path);
    free(path);
}

Test(plan, errors_inside_a_trace_are_said_with_its_place)
{
    char traffic[512], *path = file_of("arrival_s,prompt_tokens,output_tokens\n0,10,2\n1,x,4\n");
    snprintf(traffic, sizeof traffic,
             "services.chat.traffic={trace: {file: %s, format: headroom-requests}}", path);
    const char *set = traffic;
    char *said = kit_refused(kit_small, &set, 1);
    cr_assert(strstr(said, path) && strstr(said, ":3:3: error:"), "%s", said);
    free(said);
    remove(path);
    free(path);
}

/* ---- training ---- */

static struct plan with_queue(const char *queue, struct scenario **s)
{
    char *text = kit_replace(kit_small, "    backlog: {gangs: [8GPU], work: 2h}\n", queue);
    char *longer = kit_replace(text, "horizon: 2h", "horizon: 2d");
    *s = kit_load_at(HERE, longer);
    free(longer);
    free(text);
    return kit_plan(*s, NULL);
}

Test(plan, elastic_gangs)
{
    char *text =
        kit_replace(kit_small, "backlog: {gangs: [8GPU], work: 2h}",
                    "backlog: {gangs: [{gpus: 16, min_gpus: 8, max_gpus: 24}]}\n"
                    "    elastic: {min_share: 50%, max_share: 200%, step: 4, scaling: 0.8, "
                    "resize: 30s, grow_every: 5min}\n"
                    "    drawn: {count: 3, classes: {a: {gpus: 4, work: 1h, min_gpus: 2}}}");
    struct scenario *s = kit_load(text, NULL, 0);
    const struct queue_plan q = kit_plan(s, NULL).queues[0];
    const struct elastic_plan *e = &q.elastic;
    cr_assert(e->enabled && e->step_gpus == 4);
    cr_assert(e->scaling == 0.8 && e->min_share == 0.5 && e->max_share == 2);
    cr_assert(e->resize_ns == 30 * SIM_S && e->grow_every_ns == 5 * SIM_MIN);
    cr_assert(q.backlog_classes[0].min_gpus == 8 && q.backlog_classes[0].max_gpus == 24);
    cr_assert(q.mix.classes[0].min_gpus == 2 && q.mix.classes[0].max_gpus == 0);
    scenario_free(s);
    free(text);
    s = kit_load(kit_small, (const char *[]){"training.research.elastic=no"}, 1);
    cr_assert(!kit_plan(s, NULL).queues[0].elastic.enabled);
    scenario_free(s);
}

Test(plan, queue_defaults)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    const struct queue_plan q = kit_plan(s, NULL).queues[0];
    cr_assert_str_eq(q.name, "research");
    cr_assert_null(q.jobs);
    cr_assert(q.backlog);
    cr_assert_eq(q.n_backlog_classes, 1);
    cr_assert_eq(q.backlog_classes[0].gpus, 8);
    cr_assert_eq(q.backlog_classes[0].share, 1);
    cr_assert_eq(dist_mean_s(&q.backlog_work), 7200);
    cr_assert_eq(q.backfill, BACKFILL_EASY);
    cr_assert_eq(q.estimate, ESTIMATE_EXACT);
    cr_assert_eq(q.placement, SHAPE_PREFER_WHOLE);
    cr_assert_eq(q.checkpoint.rule, INTERVAL_FIXED);
    cr_assert_eq(q.checkpoint.interval_ns, 30 * SIM_MIN);
    cr_assert_eq(q.checkpoint.stall_ns, 6300 * SIM_MS);
    cr_assert_not(q.checkpoint.save_on_notice);
    cr_assert_not(q.checkpoint.final_save);
    cr_assert_eq(dist_mean_s(&q.restart_load), 25);
    cr_assert_eq(dist_mean_s(&q.restart_init), 60);
    scenario_free(s);
}

Test(plan, queue_in_full)
{
    struct scenario *s;
    struct queue_plan q =
        with_queue("    jobs: {trace: {file: " VENUS
                   ", min_gpus: 2}, speed: 2, work_factor: 0.5, "
                   "offset: 1d, loop: no}\n"
                   "    backlog: {gangs: [{gpus: 8, share: 0.7}, {gpus: 16GPU, share: 0.3}], work: "
                   "{exponential: 8h}}\n"
                   "    checkpoint: {interval: daly, stall: 6s, mtbf: 100d, save_on_notice: yes, "
                   "notice_save: 20s, final_save: yes}\n"
                   "    restart: {load: 4min, init: {uniform: {low: 1min, high: 3min}}}\n"
                   "    backfill: none\n    estimate: 1.5\n    placement: any\n",
                   &s)
            .queues[0];
    cr_assert_gt(q.jobs->n, 1700);
    for (size_t i = 0; i < q.jobs->n; i++)
        cr_assert_geq(q.jobs->rows[i].gpus, 2);
    cr_assert_eq(q.jobs_speed, 2);
    cr_assert_eq(q.work_factor, 0.5);
    cr_assert_eq(q.jobs_offset_ns, SIM_DAY);
    cr_assert_not(q.jobs_loop);
    cr_assert_eq(q.n_backlog_classes, 2);
    cr_assert_eq(q.backlog_classes[1].share, 0.3);
    cr_assert_eq(q.backlog_work.kind, DIST_EXPONENTIAL);
    cr_assert_eq(q.checkpoint.rule, INTERVAL_DALY);
    cr_assert_eq(q.checkpoint.mtbf_ns, 100 * SIM_DAY);
    cr_assert(q.checkpoint.save_on_notice && q.checkpoint.final_save);
    cr_assert_eq(q.checkpoint.notice_save_ns, 20 * SIM_S);
    cr_assert_eq(q.restart_init.kind, DIST_UNIFORM);
    cr_assert_eq(q.backfill, BACKFILL_NONE);
    cr_assert_eq(q.estimate, ESTIMATE_FACTOR);
    cr_assert_eq(q.estimate_factor, 1.5);
    cr_assert_eq(q.placement, SHAPE_ANY);
    scenario_free(s);
}

Test(plan, recorded_jobs_warm_up_for_a_day)
{
    struct scenario *s;
    cr_assert_eq(with_queue("    jobs: " VENUS "\n", &s).warmup_ns, SIM_DAY);
    cr_assert_not(kit_plan(s, NULL).queues[0].backlog);
    scenario_free(s);
    char *text = kit_replace(kit_small, "backlog: {gangs: [8GPU], work: 2h}",
                             "jobs: " TEST_SOURCE_ROOT "/scenarios/" VENUS);
    char *said = kit_refused(text, NULL, 0);
    cr_assert(strstr(said, "2:10: error: the warm-up (1d where jobs are recorded) must be shorter"),
              "%s", said);
    free(said);
    free(text);
}

Test(plan, checkpoint_by_its_interval_alone)
{
    struct scenario *s;
    struct queue_plan q =
        with_queue("    backlog: {gangs: [8]}\n    checkpoint: exact\n", &s).queues[0];
    cr_assert_eq(q.checkpoint.rule, INTERVAL_EXACT);
    cr_assert_eq(q.checkpoint.mtbf_ns, 2110 * SIM_DAY);
    scenario_free(s);
}

/* ---- order ---- */

/* Entities are numbered by name: the order in the file decides nothing. */
Test(plan, claimants_are_sorted_by_name)
{
    static const char service[] =
        "{model: llama-3.1-8b, tensor_parallel: 1, traffic: {arrivals: "
        "even, rate: 1req/s, prompt: 9, output: 9}}";
    static const char *const orders[][3] = {{"b", "a", "c"}, {"c", "b", "a"}};
    for (size_t i = 0; i < 2; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "scenario: x\nhorizon: 1h\nfleet: {nodes: 4}\nservices:\n  %s: %s\n  %s: %s\n  "
                 "%s: %s\ndesign: shared\n",
                 orders[i][0], service, orders[i][1], service, orders[i][2], service);
        struct scenario *s = kit_load(text, NULL, 0);
        struct plan p = kit_plan(s, NULL);
        cr_assert_str_eq(p.services[0].name, "a");
        cr_assert_str_eq(p.services[1].name, "b");
        cr_assert_str_eq(p.services[2].name, "c");
        scenario_free(s);
    }
}

/* ---- warnings ---- */

/* The Venus jobs are 118,318 GPU-hours over 26 days: 0.7 of 256 GPUs, 3 times 64. */
static char *said_of_load(const char *fleet, const char *queue)
{
    struct diags d;
    struct scenario *s;
    struct plan p;
    char text[1024];
    snprintf(text, sizeof text,
             "scenario: x\nhorizon: 2d\nfleet: {nodes: %s}\ndesigns: {shared: , more: shared}\n"
             "training:\n  research: {jobs: {trace: %s, loop: %s}\n",
             fleet, VENUS, queue);
    diags_init(&d);
    cr_assert_eq(scenario_load_text(HERE, text, strlen(text), NULL, 0, &d, &s), HR_OK);
    for (size_t i = 0; i < scenario_n_designs(s); i++)
        cr_assert_eq(scenario_plan(s, scenario_design(s, i), &d, &p), HR_OK);
    char *said = kit_printed(&d);
    scenario_free(s);
    diags_fini(&d);
    return said;
}

Test(plan, a_load_far_from_the_fleet_is_warned_of_once)
{
    char *said = said_of_load("32", "yes}");
    cr_assert_str_empty(said, "%s", said);
    free(said);
    said = said_of_load("8", "yes}");
    const char *place = "test.yaml:6:20: warning: jobs: a load of 300 %: ";
    char *first = strstr(said, place);
    cr_assert(first, "%s", said);
    cr_assert_null(strstr(first + strlen(place), "warning"), "%s", said);
    free(said);
    said = said_of_load("8", "no}");
    cr_assert_str_empty(said, "a list that is replayed once ends: %s", said);
    free(said);
    said = said_of_load("1000", "yes}");
    cr_assert(strstr(said, "warning: jobs: a load of 2 %: the jobs offer under 5 %"), "%s", said);
    free(said);
    said = said_of_load("1000", "yes}, backlog: {gangs: [8]}");
    cr_assert_str_empty(said, "a backlog fills what the jobs leave: %s", said);
    free(said);
}
