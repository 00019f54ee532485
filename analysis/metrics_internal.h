/* The functions behind the rows of the summary table; what each gives stands in its row. */
#ifndef HEADROOM_ANALYSIS_METRICS_INTERNAL_H
#define HEADROOM_ANALYSIS_METRICS_INTERNAL_H

#include "analysis/metrics.h"

/* arg of latency_quantile: the metric and the percentile. */
#define LATENCY(metric, percent) ((uint32_t)(metric)*100u + (percent))

/* metrics_capacity.c: arg of hours and share functions is a set of states, a bit each. */
#define STATE_BIT(s)    (UINT32_C(1) << GPU_##s)
#define STATES_ALL      ((UINT32_C(1) << GPU_STATES) - 1)
#define STATES_SUPPLIED (STATES_ALL & ~STATE_BIT(ABSENT))
#define STATES_USEFUL   (STATE_BIT(SERVING) | STATE_BIT(TRAINING))
#define STATES_TRAINING_TIME                                                                       \
    (STATE_BIT(TRAINING) | STATE_BIT(CHECKPOINTING) | STATE_BIT(RESTORING) | STATE_BIT(LOST) |     \
     STATE_BIT(DRAINING))

/* Nanoseconds booked by owners [first, end) in a set of states. */
u128 capacity_ns(const struct digest *d, uint32_t first, uint32_t end, uint32_t states);
u128 capacity_supplied_ns(const struct digest *d);            /* all states but absent */
double capacity_hours(const struct digest *d, u128 share_ns); /* GPU-hours */
double capacity_time_hours(u128 ns);
/* The same of one pool, and dollars: NaN when a pool that supplied some of it has no price. */
u128 capacity_pool_ns(const struct digest *d, uint32_t pool, uint32_t first, uint32_t end,
                      uint32_t states);
double capacity_pool_usd(const struct digest *d, uint32_t pool, uint32_t first, uint32_t end,
                         uint32_t states);
double capacity_usd(const struct digest *d, uint32_t first, uint32_t end, uint32_t states);
double capacity_ratio(u128 part, u128 whole); /* NaN when whole is 0 */

metric_fn capacity_fleet_gpus, capacity_measured_s, capacity_supplied_h, capacity_states_h,
    capacity_states_frac, capacity_state_h, capacity_state_frac, capacity_account_h,
    capacity_account_frac, capacity_allocation, capacity_fragmented, capacity_serving_pool,
    capacity_spare, capacity_goodput, capacity_cost, capacity_useful_cost;

/* metrics_power.c */
metric_fn power_energy, power_state_energy, power_mean, power_peak, power_speed_mean;

/* metrics_cost.c */
metric_fn cost_account, cost_owner, cost_owner_useful, cost_owner_price, cost_price, owner_frac,
    pool_gpus, pool_states_h, pool_cost, pool_price, pool_useful_cost, pool_utilization;

/* metrics_supply.c */
enum pool_event {
    EVENTS_FAILURES,
    EVENTS_REPAIRS,
    EVENTS_NOTICES,
    EVENTS_LOSSES,
    EVENTS_RETURNS,
    EVENTS_SHOCKS,
    EVENTS_REQUESTED,
    EVENTS_PROVISIONED,
    EVENTS_RELEASED,
    EVENTS_UPGRADED,
    EVENTS_UPGRADES_FAILED,
    EVENTS_DRAINED,
    EVENTS_AT_SAVE,
    EVENTS_FORCED,
    EVENTS_ROLL_OUTS
};

metric_fn pool_events, pool_roll_out_mean, pool_roll_out_span;

/* metrics_spot.c */
enum spot_fact {
    SPOT_FIRM_PRICE,
    SPOT_DISCOUNT,
    SPOT_BREAK_EVEN_PRICE,
    SPOT_BREAK_EVEN_DISCOUNT,
    SPOT_CLOSED_SAVING,
    SPOT_SAVING
};

metric_fn spot_figure;

/* metrics_service.c */
enum service_count {
    COUNT_REQUESTS,
    COUNT_ARRIVED,
    COUNT_DONE,
    COUNT_OPEN,
    COUNT_TOO_LONG,
    COUNT_TIMED_OUT,
    COUNT_RETRIED,
    COUNT_EVICTIONS,
    COUNT_SCALE_UPS,
    COUNT_SCALE_DOWNS,
    COUNT_PROMPT_TOKENS,
    COUNT_OUTPUT_TOKENS,
    COUNT_MAX_READY,
    COUNT_MAX_WANTED,
    COUNT_WINDOWS
};

metric_fn service_count, service_rate, service_attainment, service_breach_windows,
    service_breach_min, service_late, service_objective_attainment,
    service_objective_breach_windows, service_objective_breach_min, service_burn_rate,
    service_budget_left, service_threshold, service_percentile, service_objective_metric,
    latency_quantile, latency_mean, latency_max, service_batch_fill, service_in_flight,
    service_gpus_mean, service_token_cost, service_replica_gpus, service_target, service_ramp;

/* arg of service_ramp: which of struct ramp_facts. */
enum ramp_fact {
    RAMP_PEAK,
    RAMP_MEAN,
    RAMP_BUFFER,
    RAMP_LIMIT,
    RAMP_HELD,
    RAMP_RESPONSE,
    RAMP_RISE,
    RAMP_RECLAIMS,
    RAMP_SHORT,
    RAMP_SHORT_MIN,
    RAMP_SAFE_BUFFER,
    RAMP_SAFE_RECLAIM
};

/* metrics_training.c; of the storage: NaN where there is none */
enum storage_fact {
    STORAGE_BUSY,
    STORAGE_LIMITED,
    STORAGE_USED,
    STORAGE_SAVES,
    STORAGE_SAVE_SLOWDOWN,
    STORAGE_SAVE_SLOWDOWN_MAX,
    STORAGE_RESTORE_SLOWDOWN
};

metric_fn storage_figure;

enum queue_count {
    COUNT_SUBMITTED,
    COUNT_STARTED,
    COUNT_JOBS_DONE,
    COUNT_BACKLOG_DONE,
    COUNT_REFUSED,
    COUNT_CENSORED,
    COUNT_WAITING,
    COUNT_PREEMPTIONS,
    COUNT_CANCELLED,
    COUNT_SWAPS,
    COUNT_RESIZES,
    COUNT_RETURNS
};

metric_fn queue_blocked, queue_blocked_gpus, queue_count, queue_hours, queue_goodput, queue_waited,
    queue_wait_mean, queue_wait_quantile, queue_completion_mean, queue_completion_quantile;

enum tenant_count {
    TENANT_SUBMITTED,
    TENANT_STARTED,
    TENANT_DONE,
    TENANT_WAITING,
    TENANT_PREEMPTIONS
};

metric_fn tenant_count, tenant_wait_mean, tenant_wait_quantile, tenant_completion_mean,
    tenant_completion_quantile, tenant_goodput, tenant_blocked;

/* metrics_reclaim.c */
metric_fn reclaim_count, reclaim_ready, reclaim_mean, reclaim_quantile, reclaim_stage_mean,
    reclaim_stage_frac, reclaim_binding, reclaim_detect, reclaim_evicted, reclaim_asked,
    reclaim_over, reclaim_victims, reclaim_churn;

/* arg of capacity_slices */
enum slices_figure { SLICES_RELAYOUTS, SLICES_LARGER, SLICES_BEYOND };
metric_fn capacity_slices;

/* arg of reclaim_churn */
enum churn { CHURN_PER_RECLAIM, CHURN_MOVES, CHURN_SPARED };

#endif
