/* The scenario language as C: one struct a table, filled by read.c from what the user wrote.
 *
 * Numbers are doubles in SI units, unset members hold the unset values of sim/field.h; what the
 * keys mean stands in the tables (spec_*.c), once. Check.c says what a single row cannot (sums,
 * choices that exclude each other), build.c makes the plan. */
#ifndef HEADROOM_SCENARIOS_SPEC_H
#define HEADROOM_SCENARIOS_SPEC_H

#include "scenarios/spec_hardware.h"
#include "sim/field.h"

/* ---- used in several places ---- */

struct two_spec { /* two parameters of a distribution */
    const void *at;
    double first, second;
};

/* which: enum dist_kind */
struct duration_spec {
    const void *at;
    int which;
    double fixed_s;
    struct two_spec uniform, exponential, lognormal, gamma, weibull;
};

struct column_spec {
    const void *at;
    const char *column, *unit;
};

struct trace_file_spec {
    const void *at;
    const char *file, *format, *unit, *zone, *delimiter;
    struct field_list columns; /* of struct column_spec */
    bool dedupe, skip_bad_rows;
    double spread_s, from_s, until_s;
    struct field_list tenants; /* of const char * */
    uint64_t min_gpus, max_gpus;
};

/* ---- fleet ---- */

struct group_spec {
    const void *at;
    const char *name, *gpu;
    uint64_t nodes, gpus_per_node;
};

struct record_spec {
    const void *at;
    const char *file, *format, *zone, *series;
    bool loop;
};

struct on_demand_spec {
    const void *at;
    uint64_t initial;
    struct duration_spec provision;
    struct field_either idle_release; /* word: never */
};

struct shocks_spec {
    const void *at;
    double every_s, share;
};

struct spot_spec {
    const void *at;
    double life_s, rate_per_s, notice_s;
    struct duration_spec absence;
    struct shocks_spec shocks;
    struct record_spec trace;
};

struct weibull_spec {
    const void *at;
    double scale_s, shape;
};

struct failures_spec {
    const void *at;
    double per_1000_node_days, age_s, reboot_share;
    struct weibull_spec infant, wear_out;
    struct duration_spec repair_reboot, repair_part;
    struct record_spec trace;
};

struct maintenance_spec {
    const void *at;
    struct field_moment start;
    double every_s, share, drain_limit_s, fail_share;
    uint64_t nodes;
    struct duration_spec work;
    int wait, order;
};

/* Which nodes are behind the same leaf switches, which of those below the same spine. */
struct topology_spec {
    const void *at;
    uint64_t leaf;            /* nodes of each leaf group */
    struct field_list leaves; /* of uint64_t: nodes of each, in place of leaf */
    uint64_t spine;           /* leaf groups of each spine; none: there is one */
    struct field_list spines; /* of uint64_t: leaf groups of each, in place of spine */
    const char *file;         /* topology.conf, in place of all of these */
    bool domains;             /* its base blocks are leaf groups */
};

/* What some GPUs of a pool are cut into. */
struct layout_spec {
    const void *at;
    uint64_t gpus;
    double share; /* of the pool's GPUs, in place of gpus */
    struct field_list layout;
};

/* How GPUs are shared. */
struct sharing_spec {
    const void *at;
    int by, order, place, rest, relayout;
    uint64_t clients;
    double client_speed, reconfigure_s, relayout_time_s, relayout_keep_s;
    struct field_list layout;  /* of const char *: "3g.40gb@4" */
    struct field_list layouts; /* of struct layout_spec */
    bool larger;
    struct field_list speeds; /* of double: of each, with 1, 2, .. clients at work */
    int isolation;
    double client_mtbf_s;
};

/* Racks and what they may draw. */
struct power_spec {
    const void *at;
    double rack_limit_w, node_idle_w, node_max_w;
    uint64_t rack; /* nodes of one */
    int cap;       /* enum power_cap */
};

/* What pools and the fleet have alike. */
struct supply_spec {
    int kind;
    struct on_demand_spec on_demand;
    struct spot_spec spot;
    struct record_spec price_trace;
    struct failures_spec failures;
    struct field_list maintenance; /* of struct maintenance_spec */
    uint64_t spares;
};

struct pool_spec {
    const void *at;
    uint64_t nodes, gpus_per_node;
    const char *gpu;
    double price_usd_per_h;
    struct supply_spec supply;
    struct topology_spec topology;
    struct power_spec power;
    int placement;
    struct sharing_spec sharing;
};

struct fleet_spec {
    const void *at;
    uint64_t nodes, gpus_per_node;
    const char *gpu;
    double price_usd_per_h;
    struct field_list groups; /* of struct group_spec */
    struct field_list pools;  /* of struct pool_spec */
    struct supply_spec supply;
    struct topology_spec topology;
    struct power_spec power;
    int placement;
    struct sharing_spec sharing;
};

struct reclaim_spec {
    const void *at;
    int victims;
    double grace_s;
    struct duration_spec teardown, scrub;
    bool consolidate;
    int concurrency; /* 0 parallel, 1 serial */
};

struct borrow_spec {
    const void *at;
    int policy; /* enum within_cohort, as below */
    double max_priority;
};

struct quota_spec {
    const void *at;
    uint64_t floor, borrow, lend;
    double priority, weight;
    const char *cohort;
    int may_reclaim, reclaim_within_cohort, within_queue;
    struct borrow_spec borrow_within_cohort;
};

struct cohort_spec {
    const void *at;
    const char *parent;
    uint64_t floor, borrow, lend;
    double weight;
};

enum preset {
    PRESET_SEPARATE,
    PRESET_SHARED,
    PRESET_FLOOR_PLUS_BORROW,
    PRESET_QUOTA,
    PRESET_SPOT_MIX,
    PRESETS
};
extern const char *const preset_names[PRESETS];

struct design_spec {
    const void *at;
    int preset; /* unset: named like the design */
    struct field_list inference, training, floor, buffer, training_floor; /* of uint64_t GPUs */
    struct field_list quotas;                                             /* of struct quota_spec */
    struct field_list cohorts; /* of struct cohort_spec */
    struct field_list set;     /* of const void *, trees */
};

/* ---- serving ---- */

struct step_time_spec {
    const void *at;
    double decode_s, decode_request_s, decode_token_s;
    double prefill_s, prefill_token_s, prefill_token_squared_s, prefill_floor_s;
};

struct step_spec {
    const void *at;
    struct field_moment start;
    double from, to;
};

struct ramp_spec {
    const void *at;
    struct field_moment start;
    double over_s, from, to;
    int shape; /* 0 linear, 1 exponential */
};

struct diurnal_spec {
    const void *at;
    double peak_to_mean;
    struct field_moment peak;
};

struct table_spec {
    const void *at;
    struct field_list points; /* of double, by time */
    bool steps;
    double repeat_s;
};

struct curve_file_spec {
    const void *at;
    const char *file, *zone;
    bool steps;
    double repeat_s;
};

enum envelope_choice {
    CHOICE_CONSTANT,
    CHOICE_STEP,
    CHOICE_RAMP,
    CHOICE_DIURNAL,
    CHOICE_TABLE,
    CHOICE_FILE
};

struct nothing_spec { /* a choice without parameters */
    const void *at;
};

struct envelope_spec {
    const void *at;
    int which;
    struct nothing_spec constant;
    struct step_spec step;
    struct ramp_spec ramp;
    struct diurnal_spec diurnal;
    struct table_spec table;
    struct curve_file_spec file;
};

struct event_spec {
    const void *at;
    struct field_moment start;
    double factor, rise_s, hold_s, fall_s, every_s;
    bool announced;
};

struct gamma_spec {
    const void *at;
    double cv;
};

enum arrivals_choice { CHOICE_POISSON, CHOICE_GAMMA, CHOICE_EVEN };

struct arrivals_spec {
    const void *at;
    int which;
    struct nothing_spec poisson, even;
    struct gamma_spec gamma;
};

struct tokens_spec {
    const void *at;
    double mean, cv;
    uint64_t most;
};

struct traffic_spec {
    const void *at;
    struct trace_file_spec trace;
    double scale, rate_per_s, speed;
    bool loop;
    struct arrivals_spec arrivals;
    struct tokens_spec prompt, output;
    struct envelope_spec envelope;
    struct field_list events; /* of struct event_spec */
};

struct slo_spec {
    const void *at;
    struct field_list metrics[3]; /* of double s by percentile; enum slo_metric */
    double target;
};

struct forecast_spec {
    const void *at;
    double lead_s, error_cv, bias, span_s;
};

struct autoscaler_spec {
    const void *at;
    bool enabled;
    double target_in_flight, target_rate_per_s;
    double period_s, metric_window_s, stabilisation_s;
    uint64_t step_up, step_down;
    double step_up_share, step_down_share;
    uint64_t min_replicas, max_replicas, initial_replicas, buffer;
    struct forecast_spec forecast;
};

struct cold_start_spec {
    const void *at;
    struct duration_spec schedule, image, weights, engine;
};

struct service_spec {
    const void *at;
    const char *model, *engine;
    int precision;
    uint64_t tensor_parallel;
    const char *slice;
    struct step_time_spec step_time;
    double weights_bytes;
    uint64_t kv_capacity;
    int prefill;
    uint64_t max_num_seqs, max_batched_tokens;
    int router;
    double safe_in_flight;
    struct traffic_spec traffic;
    struct slo_spec slo;
    struct autoscaler_spec autoscaler;
    struct cold_start_spec cold_start;
    double slow_start_s, drain_limit_s, timeout_s;
    struct field_list pools; /* of const char *, in order of preference */
};
extern const char *const precision_names[];
extern const char *const spec_never[]; /* "never" */
extern const struct field spec_pool_name;
enum { PRECISION_BF16, PRECISION_FP8, PRECISIONS };

/* ---- training ---- */

struct jobs_spec {
    const void *at;
    struct trace_file_spec trace;
    bool loop;
    double speed, work_factor, offset_s;
};

struct gang_spec {
    const void *at;
    uint64_t gpus, min_gpus, max_gpus; /* FIELD_NO_WHOLE: as the queue's elastic says */
    double share;
};

struct backlog_spec {
    const void *at;
    struct field_list gangs; /* of struct gang_spec */
    struct duration_spec work;
    const char *tenant;
};

struct job_class_spec {
    const void *at;
    uint64_t gpus, min_gpus, max_gpus; /* FIELD_NO_WHOLE: as the queue's elastic says */
    double share, busy, priority;
    struct duration_spec work;
    const char *tenant;
    bool preemptible;
    const char *slice;
};

struct users_spec {
    const void *at;
    uint64_t count;
    struct duration_spec gap;
};

struct drawn_spec {
    const void *at;
    struct field_list classes; /* of struct job_class_spec */
    uint64_t count;
    double rate_per_s, start_s;
    struct users_spec users;
};

struct checkpoint_spec {
    const void *at;
    struct field_either interval; /* words: enum interval_rule less one */
    double stall_s, write_s, mtbf_s, notice_save_s;
    double growth, copy_interval_s, copy_stall_s, copy_restore_s;
    double parameters, bytes_per_parameter, node_gb_per_s;
    bool save_on_notice, final_save, asynchronous;
};

struct restart_spec {
    const void *at;
    struct duration_spec load, init, detection;
    double init_per_node_s;
};

struct preemption_spec {
    const void *at;
    int mode;                                      /* enum preemption_mode */
    double grace_s, exempt_s, suspend_s, resume_s; /* grace NAN: the pool's */
};

struct elastic_spec {
    const void *at;
    bool enabled;
    uint64_t step_gpus; /* 0: by the gang */
    double scaling, resize_s, grow_every_s, min_share, max_share;
};

struct tenant_spec {
    const void *at;
    const char *match; /* NULL: its name */
    double weight;
};

/* How fast a gang is by how far apart its nodes are. */
struct distance_spec {
    const void *at;
    double leaf, leaves, spines;
};

struct training_spec {
    const void *at;
    struct field_list tenants; /* of struct tenant_spec; sole entry "": from-trace */
    int order;
    double age_s;
    struct field_either half_life; /* word 0: never */
    uint64_t backfill_depth, reserve;
    struct jobs_spec jobs;
    struct drawn_spec drawn;
    struct backlog_spec backlog;
    struct checkpoint_spec checkpoint;
    struct restart_spec restart;
    struct preemption_spec preemption;
    struct elastic_spec elastic;
    const char *slice;
    struct distance_spec distance;
    int backfill, placement;
    struct field_either estimate; /* words: exact, limit */
    struct field_list pools;      /* of const char *, in order of preference */
    bool tolerates_spot;
};

struct storage_spec {
    const void *at;
    double bytes_per_s, node_read_bytes_per_s;
    bool restores;
};

/* ---- the whole ---- */

struct scenario_spec {
    const void *at;
    const char *name, *description, *start, *design;
    uint64_t seed, replications;
    double horizon_s, warmup_s, window_s, timeline_s;
    struct fleet_spec fleet;
    struct reclaim_spec reclaim;
    struct field_list designs;  /* of struct design_spec */
    struct field_list services; /* of struct service_spec */
    struct field_list training; /* of struct training_spec */
    struct storage_spec storage;
    struct hardware_spec hardware;
};

/* The tables: the root, and those the root's file takes from the others. */
extern const struct field_table spec_scenario;
extern const struct field_table spec_fleet;
extern const struct field_table spec_service;
extern const struct field_table spec_training;
extern const struct field_table spec_storage;
extern const struct field_table spec_drawn;
extern const struct field_table spec_traffic;
extern const struct field_table spec_duration;
extern const struct field_table spec_trace;
extern const struct field_table spec_design;
extern const struct field_table spec_quota;
extern const struct field_table spec_cohort;

/* ---- rows of tables, shortened ---- */

#define SPEC_COUNT(array) (sizeof(array) / sizeof *(array))

/* At least one further member (.unit, .fallback, ...) follows the doc. */
#define SPEC_ROW(type, member_, key_, kind_, doc_, ...)                                            \
    {                                                                                              \
        .key = key_, .kind = kind_, .offset = offsetof(type, member_), .doc = doc_, __VA_ARGS__    \
    }
#define SPEC_TIME(type, member_, key_, doc_, ...)                                                  \
    SPEC_ROW(type, member_, key_, FIELD_NUMBER, doc_, .unit = UNIT_TIME, __VA_ARGS__)
#define SPEC_TABLE(type, member_, key_, doc_, ...)                                                 \
    SPEC_ROW(type, member_, key_, FIELD_TABLE, doc_, .table = __VA_ARGS__)
#define SPEC_WORD(type, member_, key_, doc_, words_, n_, ...)                                      \
    SPEC_ROW(type, member_, key_, FIELD_WORD, doc_, .words = words_, .n_words = n_, __VA_ARGS__)

#define SPEC_OF(type, rows, name_, doc_, ...)                                                      \
    {                                                                                              \
        .name = name_, .doc = doc_, .size = sizeof(type), .fields = rows,                          \
        .n_fields = SPEC_COUNT(rows), __VA_ARGS__                                                  \
    }

#endif
