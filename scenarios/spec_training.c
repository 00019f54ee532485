/* Tables of a training queue: recorded jobs, the backlog behind them, checkpoints. */
#include "models/training/queue.h"
#include "scenarios/spec.h"

static const char *const placement_names[] = {"one-node", "whole-nodes", "any"}; /* shape_kind */

#define JOBS struct jobs_spec
static const struct field jobs_rows[] = {
    SPEC_TABLE(JOBS, trace, "trace", "Recorded jobs", &spec_trace, .required = true),
    SPEC_ROW(JOBS, loop, "loop", FIELD_FLAG, "The trace starts again at its end",
             .fallback = "yes"),
    SPEC_ROW(JOBS, speed, "speed", FIELD_NUMBER, "The gaps of the trace are divided by it",
             .above = true, .max = 1e6, .fallback = "1"),
    SPEC_ROW(JOBS, work_factor, "work_factor", FIELD_NUMBER,
             "The recorded run times are multiplied by it: other hardware", .above = true,
             .max = 1e6, .fallback = "1"),
    SPEC_TIME(JOBS, offset_s, "offset", "Replay begins so far into the trace", .fallback = "0s"),
};
static const struct field_table jobs =
    SPEC_OF(JOBS, jobs_rows, "jobs", "Jobs replayed from a trace", .brief = "trace");

#define GANG struct gang_spec
static const struct field gang_rows[] = {
    SPEC_ROW(GANG, gpus, "gpus", FIELD_WHOLE, "GPUs of the gang", .unit = UNIT_GPU, .min = 1,
             .max = 1e6, .required = true),
    SPEC_ROW(GANG, share, "share", FIELD_NUMBER, "Relative chance among the kinds", .above = true,
             .fallback = "1"),
};
static const struct field_table gang =
    SPEC_OF(GANG, gang_rows, "gang", "One kind of gang", .brief = "gpus");

#define BACKLOG struct backlog_spec
static const struct field backlog_rows[] = {
    SPEC_ROW(BACKLOG, gangs, "gangs", FIELD_LIST, "Kinds of gangs", .table = &gang, .max = 64,
             .required = true),
    SPEC_TABLE(BACKLOG, work, "work", "Run time of one gang, without saves and restarts",
               &spec_duration, .fallback = "8h"),
    SPEC_ROW(BACKLOG, tenant, "tenant", FIELD_TEXT, "Whose they are, where the queue has tenants",
             .unit = UNIT_NONE),
};
static const struct field_table backlog =
    SPEC_OF(BACKLOG, backlog_rows, "backlog",
            "Gangs without end behind the recorded jobs: training that wants every idle GPU",
            .brief = NULL);

#define CHECKPOINT struct checkpoint_spec
static const struct field checkpoint_rows[] = {
    SPEC_ROW(CHECKPOINT, interval, "interval", FIELD_EITHER,
             "Work between saves: a time, or the optimum of Young, of Daly, or the exact one",
             .words = &interval_rule_names[INTERVAL_YOUNG], .n_words = INTERVAL_RULES - 1,
             .unit = UNIT_TIME, .min = 1, .fallback = "30min"),
    SPEC_TIME(CHECKPOINT, stall_s, "stall",
              "A save stops the work so long [ckpt_async_blocking_7b_s]", .max = 86400,
              .fallback = "6.3s"),
    SPEC_TIME(CHECKPOINT, mtbf_s, "mtbf",
              "Mean time between failures of one GPU, for the optima "
              "[llama3_interruption_rate_per_1000_gpu_days: 0.474]",
              .above = true, .fallback = "2110d"),
    SPEC_ROW(CHECKPOINT, save_on_notice, "save_on_notice", FIELD_FLAG,
             "An evicted gang saves first, when the grace is long enough", .fallback = "no"),
    SPEC_TIME(CHECKPOINT, notice_save_s, "notice_save", "Time that such a save takes",
              .max = 86400),
    SPEC_ROW(CHECKPOINT, final_save, "final_save", FIELD_FLAG, "A gang saves at its end too",
             .fallback = "no"),
};
static const struct field_table checkpoint =
    SPEC_OF(CHECKPOINT, checkpoint_rows, "checkpoint", "When gangs save, and what it costs",
            .brief = "interval");

#define RESTART struct restart_spec
static const struct field restart_rows[] = {
    SPEC_TABLE(RESTART, load, "load",
               "Read the checkpoint [ckpt_size_70b_gb over storage_read_per_node_gb_s]",
               &spec_duration, .fallback = "25s"),
    SPEC_TABLE(RESTART, init, "init", "Initialise the job [unsourced estimate]", &spec_duration,
               .fallback = "1min"),
};
static const struct field_table restart = SPEC_OF(
    RESTART, restart_rows, "restart", "From GPUs to work again after an eviction", .brief = NULL);

#define TENANT struct tenant_spec
static const struct field tenant_rows[] = {
    SPEC_ROW(TENANT, match, "match", FIELD_TEXT,
             "Its jobs: this value of the job list's tenant column; without it the tenant's name; "
             "`\"*\"`: jobs that no other tenant matches",
             .unit = UNIT_NONE),
    SPEC_ROW(TENANT, weight, "weight", FIELD_NUMBER, "What fair share divides its usage by",
             .above = true, .max = 1e6, .fallback = "1"),
};
static const struct field_table tenant = SPEC_OF(
    TENANT, tenant_rows, "tenant",
    "Whose jobs they are: a claimant of its own, named `queue/tenant` in `quotas`; elsewhere "
    "the tenants of a queue share its quota",
    .brief = "match");

static const char *const never[] = {"never"};

#define TRAINING struct training_spec
static const struct field training_rows[] = {
    SPEC_TABLE(TRAINING, jobs, "jobs", "Recorded jobs", &jobs),
    SPEC_TABLE(TRAINING, drawn, "drawn", "Jobs drawn from classes", &spec_drawn),
    SPEC_TABLE(TRAINING, backlog, "backlog", "Gangs without end", &backlog),
    SPEC_TABLE(TRAINING, checkpoint, "checkpoint", "Saves", &checkpoint),
    SPEC_TABLE(TRAINING, restart, "restart", "Starting again", &restart),
    SPEC_ROW(TRAINING, tenants, "tenants", FIELD_MAP,
             "Tenants by name, or `from-trace`: one for each that the jobs name", .table = &tenant,
             .max = 256, .sole = ""),
    SPEC_WORD(TRAINING, order, "order",
              "Which job is next: the earliest submitted, the highest priority, the shortest by "
              "its estimate, or one of the tenant that has used least for its weight",
              queue_order_names, QUEUE_ORDERS, .fallback = "fifo"),
    SPEC_TIME(TRAINING, age_s, "age",
              "order priority: waiting that is worth one level; without it none is", .above = true),
    SPEC_ROW(TRAINING, half_life, "half_life", FIELD_EITHER,
             "order fair-share: in which past usage loses half its weight; 0s: only what is held "
             "at present counts",
             .words = never, .n_words = 1, .unit = UNIT_TIME, .fallback = "0s"),
    SPEC_WORD(TRAINING, backfill, "backfill",
              "What may pass a head that lacks room: nothing (strict); what does not delay it; "
              "what delays no job before; whatever fits",
              backfill_kind_names, BACKFILL_KINDS, .fallback = "easy"),
    SPEC_ROW(TRAINING, backfill_depth, "backfill_depth", FIELD_WHOLE,
             "Jobs looked at behind such a head in one pass (Slurm: default_queue_depth)",
             .max = 1e6, .fallback = "100"),
    SPEC_ROW(TRAINING, estimate, "estimate", FIELD_EITHER,
             "Run times that backfill counts on: the true ones, the limits asked for, or the true "
             "ones times a factor",
             .words = estimate_kind_names, .n_words = ESTIMATE_FACTOR, .above = true, .max = 1000,
             .fallback = "exact"),
    SPEC_ROW(TRAINING, pools, "pools", FIELD_LIST,
             "Pools it may use, in order of preference; without it all, as written, or what the "
             "design says",
             .item = &spec_pool_name),
    SPEC_ROW(TRAINING, tolerates_spot, "tolerates_spot", FIELD_FLAG,
             "Its gangs may be put on nodes that are taken back at any time (design spot-mix)",
             .fallback = "no"),
    SPEC_WORD(TRAINING, placement, "placement",
              "Where gangs go: inside one node, whole nodes where there are enough, or anywhere",
              placement_names, 3, .fallback = "whole-nodes"),
};
const struct field_table spec_training = SPEC_OF(
    TRAINING, training_rows, "queue",
    "A training queue: recorded jobs, drawn jobs, a backlog, or any of these", .brief = NULL);
