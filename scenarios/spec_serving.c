/* Tables of an inference service: engine, objectives, scaling, cold start. */
#include "models/serving/autoscaler.h"
#include "models/serving/router.h"
#include "scenarios/spec.h"

const char *const precision_names[PRECISIONS] = {"bf16", "fp8"};
static const char *const prefill_names[] = {"priority", "chunked"}; /* enum prefill_mode */

/* ---- step times ---- */

#define STEP struct step_time_spec
static const struct field step_time_rows[] = {
    SPEC_TIME(STEP, decode_s, "decode", "Each decode step (a)", .above = true, .max = 1000,
              .required = true),
    SPEC_TIME(STEP, decode_request_s, "decode_request", "More per running request (b)", .max = 1,
              .fallback = "0s"),
    SPEC_TIME(STEP, decode_token_s, "decode_token", "More per token of context (c)", .max = 1e-3,
              .fallback = "0s"),
    SPEC_TIME(STEP, prefill_s, "prefill", "Each prefill step (d)", .max = 1000, .fallback = "0s"),
    SPEC_TIME(STEP, prefill_token_s, "prefill_token", "More per prompt token (e)", .max = 1,
              .required = true),
    SPEC_TIME(STEP, prefill_token_squared_s, "prefill_token_squared",
              "More per squared prompt token (f)", .max = 1e-3, .fallback = "0s"),
    SPEC_TIME(STEP, prefill_floor_s, "prefill_floor", "Shortest prefill step", .max = 1000,
              .fallback = "0s"),
};
static const struct field_table step_time =
    SPEC_OF(STEP, step_time_rows, "step_time",
            "Your own step times, in place of a catalogue row: a decode step of n requests with C "
            "tokens of context takes a + b n + c C, a prefill step of prompts p takes "
            "d + e sum p + f sum p^2. Kept in whole picoseconds",
            .brief = NULL);

/* ---- objectives ---- */

static const struct field threshold = {
    .kind = FIELD_NUMBER, .unit = UNIT_TIME, .above = true, .doc = "threshold"};

#define SLO struct slo_spec
#define OBJECTIVE(ix, key, doc)                                                                    \
    SPEC_ROW(SLO, metrics[ix], key, FIELD_MAP, doc, .item = &threshold, .max = 8)
static const struct field slo_rows[] = {
    OBJECTIVE(0, "ttft", "Time to first token: `{p99: 2s}` [slo_ttft_p99_ms]"),
    OBJECTIVE(1, "tpot", "Time per output token after the first: `{p99: 100ms}` [slo_tpot_p99_ms]"),
    OBJECTIVE(2, "e2e", "Time from arrival to the last token"),
    SPEC_ROW(SLO, target, "target", FIELD_NUMBER,
             "Share of requests that should be in time, for the error budget "
             "[slo_attainment_target_pct]",
             .unit = UNIT_FRACTION, .above = true, .max = 0.999999, .fallback = "99%"),
};
static const struct field_table slo =
    SPEC_OF(SLO, slo_rows, "slo",
            "Objectives: a threshold by percentile of the requests of a window. What is written "
            "takes the place of the default objectives",
            .brief = NULL);

/* ---- autoscaler ---- */

#define FORECAST struct forecast_spec
static const struct field forecast_rows[] = {
    SPEC_TIME(FORECAST, lead_s, "lead",
              "How far ahead it looks: the time a replica needs, reclaim included", .above = true,
              .max = 86400, .required = true),
    SPEC_ROW(FORECAST, error_cv, "error", FIELD_NUMBER,
             "Coefficient of variation of the forecast's error", .unit = UNIT_FRACTION, .max = 5,
             .fallback = "0%"),
    SPEC_ROW(FORECAST, bias, "bias", FIELD_NUMBER,
             "Mean of forecast over truth: 0.9 is ten per cent too low", .above = true, .max = 100,
             .fallback = "1"),
    SPEC_TIME(FORECAST, span_s, "span", "The error stays the same so long", .min = 1,
              .fallback = "1h"),
};
static const struct field_table forecast = SPEC_OF(
    FORECAST, forecast_rows, "forecast",
    "Acting ahead of a ramp: the expected rate (envelope and announced events) at now + lead",
    .brief = "lead");

#define SCALER struct autoscaler_spec
static const struct field autoscaler_rows[] = {
    SPEC_ROW(SCALER, enabled, "enabled", FIELD_FLAG, "Off: the initial number of replicas stays",
             .fallback = "yes"),
    SPEC_ROW(SCALER, target_rate_per_s, "target_rate", FIELD_NUMBER,
             "Requests per second and replica that it aims at", .unit = UNIT_RATE, .above = true),
    SPEC_ROW(
        SCALER, target_in_flight, "target_in_flight", FIELD_NUMBER,
        "Requests in flight per replica that it aims at; without either target the rate is 85 % "
        "of the highest within the TPOT objective, `max_num_seqs` and the KV cache",
        .above = true, .max = 1e6),
    SPEC_TIME(SCALER, period_s, "period", "Between decisions [hpa_sync_s]", .min = 0.1,
              .max = 86400, .fallback = "15s"),
    SPEC_TIME(SCALER, metric_window_s, "metric_window",
              "The metric is its mean over the last so long [autoscale_reaction_s less hpa_sync_s]",
              .min = 0.1, .max = 86400, .fallback = "30s"),
    SPEC_TIME(SCALER, stabilisation_s, "stabilisation",
              "Down only to the largest wish of the last so long [hpa_scale_down_stabilization_s]",
              .max = 86400, .fallback = "5min"),
    SPEC_ROW(SCALER, step_up, "step_up", FIELD_WHOLE,
             "Replicas more at a time: the larger of this and `step_up_share` [hpa_scale_up]",
             .fallback = "4"),
    SPEC_ROW(SCALER, step_up_share, "step_up_share", FIELD_NUMBER,
             "As a share of those there are; both 0: no limit [hpa_scale_up]",
             .unit = UNIT_FRACTION, .max = 100, .fallback = "100%"),
    SPEC_ROW(SCALER, step_down, "step_down", FIELD_WHOLE,
             "Replicas fewer at a time: the larger of this and `step_down_share`", .fallback = "0"),
    SPEC_ROW(SCALER, step_down_share, "step_down_share", FIELD_NUMBER,
             "As a share of those there are; both 0: no limit [hpa_scale_down_stabilization_s]",
             .unit = UNIT_FRACTION, .max = 1, .fallback = "100%"),
    SPEC_ROW(SCALER, min_replicas, "min_replicas", FIELD_WHOLE,
             "Fewest replicas; without it those that fill what the service never lends, at least 1",
             .max = 1e6),
    SPEC_ROW(SCALER, max_replicas, "max_replicas", FIELD_WHOLE,
             "Most replicas; without it as many as the design allows", .min = 1, .max = 1e6),
    SPEC_ROW(SCALER, initial_replicas, "initial_replicas", FIELD_WHOLE,
             "Ready at the start; without it what it wants for the first window", .max = 1e6),
    SPEC_ROW(SCALER, buffer, "buffer", FIELD_WHOLE,
             "Ready replicas above the need; without it the buffer of the design", .max = 1e6),
    SPEC_TABLE(SCALER, forecast, "forecast",
               "Predictive: wants what is forecast, if that is more than what is measured",
               &forecast),
};
static const struct field_table autoscaler =
    SPEC_OF(SCALER, autoscaler_rows, "autoscaler",
            "How many replicas a service wants: its metric over the target, plus the buffer",
            .brief = "enabled");

/* ---- cold start ---- */

#define COLD struct cold_start_spec
static const struct field cold_start_rows[] = {
    SPEC_TABLE(COLD, schedule, "schedule",
               "Scheduler binds, pod starts [k8s_pod_startup_slo_p99_s]", &spec_duration,
               .fallback = "5s"),
    SPEC_TABLE(COLD, image, "image", "Container image [image_pull_cached_s]", &spec_duration,
               .fallback = "1s"),
    SPEC_TABLE(COLD, weights, "weights",
               "Model weights read; without it their size over 3.6 GB/s "
               "[weights_load_nvme_plain_gb_s]",
               &spec_duration),
    SPEC_TABLE(COLD, engine, "engine",
               "Engine start and warm-up until ready [reclaim_typical_s: engine cold]",
               &spec_duration, .fallback = "90s"),
};
static const struct field_table cold_start =
    SPEC_OF(COLD, cold_start_rows, "cold_start", "From free GPUs to a ready replica, by stage",
            .brief = NULL);

/* ---- service ---- */

#define SERVICE struct service_spec
static const struct field service_rows[] = {
    SPEC_ROW(SERVICE, model, "model", FIELD_TEXT,
             "Model by its catalogue name, or any name with `step_time`", .required = true),
    SPEC_WORD(SERVICE, precision, "precision", "Precision of the weights", precision_names,
              PRECISIONS, .fallback = "bf16"),
    SPEC_ROW(SERVICE, slice, "slice", FIELD_TEXT,
             "Each replica is a MIG instance of this profile; its step times are those of a whole "
             "GPU scaled by SMs and memory slices",
             .unit = UNIT_NONE),
    SPEC_ROW(SERVICE, tensor_parallel, "tensor_parallel", FIELD_WHOLE,
             "GPUs of one replica, all in one node", .min = 1, .max = 64, .required = true),
    SPEC_ROW(SERVICE, engine, "engine", FIELD_TEXT,
             "Engine as in the catalogue, `vllm` or `vllm 0.19.0`; without it the first row",
             .unit = UNIT_NONE),
    SPEC_TABLE(SERVICE, step_time, "step_time", "Your own step times", &step_time),
    SPEC_ROW(SERVICE, weights_bytes, "weights", FIELD_NUMBER,
             "Size of the whole model, in place of the catalogue's", .unit = UNIT_BYTES,
             .above = true),
    SPEC_ROW(SERVICE, kv_capacity, "kv_capacity", FIELD_WHOLE,
             "Tokens that the KV cache of a replica holds, in place of what memory leaves",
             .unit = UNIT_TOKENS, .min = 16, .max = 1e9),
    SPEC_WORD(SERVICE, prefill, "prefill",
              "Prompts go first in steps of their own, or in chunks beside the running requests",
              prefill_names, 2, .fallback = "chunked"),
    SPEC_ROW(SERVICE, max_num_seqs, "max_num_seqs", FIELD_WHOLE, "Most requests that run at a time",
             .min = 1, .max = 65536, .fallback = "256"),
    SPEC_ROW(SERVICE, max_batched_tokens, "max_batched_tokens", FIELD_WHOLE,
             "Most tokens of a step", .unit = UNIT_TOKENS, .min = 1, .max = 1e7,
             .fallback = "2048"),
    SPEC_WORD(SERVICE, router, "router", "Which replica takes a request", router_kind_names,
              ROUTER_KINDS, .fallback = "least-outstanding"),
    SPEC_ROW(SERVICE, safe_in_flight, "safe_in_flight", FIELD_NUMBER,
             "Requests in flight that one replica carries, for the serving share of the ledger; "
             "without it the in-flight target, or what the target rate puts in flight",
             .above = true, .max = 1e6),
    SPEC_TABLE(SERVICE, traffic, "traffic", "Its requests", &spec_traffic, .required = true),
    SPEC_TABLE(SERVICE, slo, "slo", "Its objectives", &slo,
               .fallback = "{ttft: {p99: 2s}, tpot: {p99: 100ms}}"),
    SPEC_TABLE(SERVICE, autoscaler, "autoscaler", "How many replicas it wants", &autoscaler),
    SPEC_TABLE(SERVICE, cold_start, "cold_start", "How long a new replica takes", &cold_start),
    SPEC_TIME(SERVICE, slow_start_s, "slow_start",
              "A replica that has become ready takes its full share of new requests after so long; "
              "at once, least-outstanding routing floods it",
              .max = 3600, .fallback = "0s"),
    SPEC_TIME(SERVICE, drain_limit_s, "drain_limit",
              "Requests in a replica that stops have so long to finish; the rest starts elsewhere "
              "[k8s_termination_grace_s]",
              .max = 86400, .fallback = "30s"),
    SPEC_TIME(SERVICE, timeout_s, "timeout",
              "A request that waits longer at the router is given up; without it never",
              .above = true),
    SPEC_ROW(SERVICE, pools, "pools", FIELD_LIST,
             "Pools it may use, in order of preference; without it all, as written, or what the "
             "design says",
             .item = &spec_pool_name),
};
const struct field_table spec_service =
    SPEC_OF(SERVICE, service_rows, "service",
            "An inference service: a model on replicas, and the traffic to it", .brief = NULL);
