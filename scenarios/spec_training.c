/* Tables of a training queue: recorded jobs, the backlog behind them, checkpoints. */
#include "models/training/queue.h"
#include "scenarios/spec.h"

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
    SPEC_ROW(GANG, min_gpus, "min_gpus", FIELD_WHOLE,
             "Elastic: it runs on as few; without it a share of them (`elastic`)", .unit = UNIT_GPU,
             .min = 1, .max = 1e6),
    SPEC_ROW(GANG, max_gpus, "max_gpus", FIELD_WHOLE, "Elastic: it grows to as many",
             .unit = UNIT_GPU, .min = 1, .max = 1e6),
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
    SPEC_TIME(
        CHECKPOINT, write_s, "write",
        "A save is complete so long after its stall, beside the work; the next does not begin "
        "before",
        .max = 864000, .fallback = "0s"),
    SPEC_ROW(CHECKPOINT, growth, "growth", FIELD_NUMBER,
             "Each interval of a segment over the one before", .min = 1, .max = 100,
             .fallback = "1"),
    SPEC_TIME(CHECKPOINT, copy_interval_s, "copy_interval",
              "Work between copies in the memory of other hosts, which outlive one node; 0s: none",
              .fallback = "0s"),
    SPEC_TIME(CHECKPOINT, copy_stall_s, "copy_stall", "A copy stops the work so long", .max = 86400,
              .fallback = "0s"),
    SPEC_TIME(CHECKPOINT, copy_restore_s, "copy_restore",
              "Time to start from a copy [25s over ckpt_in_memory_recovery_speedup: 13]",
              .max = 86400, .fallback = "2s"),
    SPEC_ROW(CHECKPOINT, parameters, "parameters", FIELD_NUMBER,
             "Of the model: the times of a save follow from its size, the stall too unless "
             "asynchronous; 0: they are those given",
             .max = 1e15, .fallback = "0"),
    SPEC_ROW(CHECKPOINT, bytes_per_parameter, "bytes_per_parameter", FIELD_NUMBER,
             "In a save [ckpt_bytes_per_param: 14]", .above = true, .max = 1000, .fallback = "14"),
    SPEC_ROW(CHECKPOINT, node_gb_per_s, "node_gb_per_s", FIELD_NUMBER,
             "GB a second that each node of the gang writes [ckpt_write_per_node_gb_s: 1.2]",
             .above = true, .max = 1e6, .fallback = "1.2"),
    SPEC_ROW(CHECKPOINT, asynchronous, "asynchronous", FIELD_FLAG,
             "Such a save is written beside the work, after the stall", .fallback = "no"),
    SPEC_ROW(CHECKPOINT, final_save, "final_save", FIELD_FLAG, "A gang saves at its end too",
             .fallback = "no"),
};
static const struct field_table checkpoint =
    SPEC_OF(CHECKPOINT, checkpoint_rows, "checkpoint", "When gangs save, and what it costs",
            .brief = "interval");

#define STORAGE struct storage_spec
static const struct field storage_rows[] = {
    SPEC_ROW(STORAGE, bytes_per_s, "bandwidth", FIELD_NUMBER,
             "Of the whole storage; gangs that write at once share it, each node of a gang up to "
             "`node_gb_per_s` of its `checkpoint` [ckpt_storage_llama3: 2 TB/s sustained]",
             .unit = UNIT_BANDWIDTH, .above = true, .max = 1e18, .fallback = "2TB/s"),
    SPEC_ROW(STORAGE, restores, "restores", FIELD_FLAG,
             "Restarted gangs read their save from it too, in place of `restart.load`",
             .fallback = "no"),
    SPEC_ROW(STORAGE, node_read_bytes_per_s, "node_read", FIELD_NUMBER,
             "Each node of a gang reads so fast [storage_read_per_node_gb_s]",
             .unit = UNIT_BANDWIDTH, .above = true, .max = 1e15, .fallback = "40GB/s"),
};
const struct field_table spec_storage =
    SPEC_OF(STORAGE, storage_rows, "storage",
            "A storage system that the saves of all queues share; those whose size is known "
            "(`checkpoint.parameters`) go to it",
            .brief = "bandwidth");

#define RESTART struct restart_spec
static const struct field restart_rows[] = {
    SPEC_TABLE(RESTART, load, "load",
               "Read the checkpoint [ckpt_size_70b_gb over storage_read_per_node_gb_s]",
               &spec_duration, .fallback = "25s"),
    SPEC_TABLE(RESTART, init, "init", "Initialise the job [unsourced estimate]", &spec_duration,
               .fallback = "1min"),
    SPEC_TIME(RESTART, init_per_node_s, "init_per_node",
              "Added for each node of the gang [nccl_init_96k_gpu_s: 265 over 12,288 nodes is "
              "0.02]",
              .max = 3600, .fallback = "0s"),
    SPEC_TABLE(RESTART, detection, "detection",
               "From the failure of a node until it is noticed [failure_detection_s: 30; 600 when "
               "only the library's timeout speaks]",
               &spec_duration, .fallback = "30s"),
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
#define PREEMPTION struct preemption_spec
static const struct field preemption_rows[] = {
    SPEC_WORD(PREEMPTION, mode, "mode",
              "What an evicted gang does: comes back from its last save, is suspended with all its "
              "work, or ends for good",
              preemption_mode_names, PREEMPTION_MODES, .fallback = "requeue"),
    SPEC_TIME(PREEMPTION, grace_s, "grace",
              "From the notice until it has stopped, at most the pool's; default: the pool's",
              .max = 86400),
    SPEC_TIME(PREEMPTION, exempt_s, "exempt", "Not evicted for others before it has run so long",
              .fallback = "0s"),
    SPEC_TIME(PREEMPTION, suspend_s, "suspend",
              "Copy its state to the hosts, inside the grace; else as requeue [unsourced estimate]",
              .max = 86400, .fallback = "2s"),
    SPEC_TIME(PREEMPTION, resume_s, "resume", "Copy it back, on any GPUs [unsourced estimate]",
              .max = 86400, .fallback = "2s"),
};
static const struct field_table preemption = SPEC_OF(
    PREEMPTION, preemption_rows, "preemption", "How gangs give up their GPUs", .brief = "mode");

#define ELASTIC struct elastic_spec
static const struct field elastic_rows[] = {
    SPEC_ROW(ELASTIC, enabled, "enabled", FIELD_FLAG,
             "Gangs run on fewer and more GPUs than they ask for, where they or the shares below "
             "say so; no: all are rigid",
             .fallback = "yes"),
    SPEC_ROW(ELASTIC, min_share, "min_share", FIELD_NUMBER,
             "Of its GPUs, the least that a gang without min_gpus runs on", .unit = UNIT_FRACTION,
             .max = 1, .above = true, .fallback = "100%"),
    SPEC_ROW(ELASTIC, max_share, "max_share", FIELD_NUMBER,
             "The most that a gang without max_gpus grows to", .unit = UNIT_FRACTION, .min = 1,
             .max = 1000, .fallback = "100%"),
    SPEC_ROW(ELASTIC, step_gpus, "step", FIELD_WHOLE,
             "By which a gang grows and gives back; without it its least, at most a node",
             .unit = UNIT_GPU, .min = 1, .max = 1e6),
    SPEC_ROW(ELASTIC, scaling, "scaling", FIELD_NUMBER,
             "Its speed on n of its GPUs is (n / gpus)^scaling: 1 is linear, 0.5 a square root",
             .max = 1, .fallback = "1"),
    SPEC_TIME(ELASTIC, resize_s, "resize",
              "It stands still at each change: saves, forms anew, loads, as a restart does "
              "[unsourced estimate]",
              .max = 86400, .fallback = "85s"),
    SPEC_TIME(ELASTIC, grow_every_s, "grow_every",
              "It grows only when it has been of one size for so long [unsourced estimate]",
              .fallback = "10min"),
};
static const struct field_table elastic =
    SPEC_OF(ELASTIC, elastic_rows, "elastic",
            "Gangs that give back a part of their GPUs and grow into idle ones; not with placement "
            "one-node, one-leaf or slice",
            .brief = "enabled");

#define TRAINING struct training_spec
#define DISTANCE struct distance_spec
static const struct field distance_rows[] = {
    SPEC_ROW(DISTANCE, leaf, "leaf", FIELD_NUMBER, "On several nodes of one leaf group",
             .above = true, .max = 1, .fallback = "1"),
    SPEC_ROW(DISTANCE, leaves, "leaves", FIELD_NUMBER, "On several leaf groups of one spine",
             .above = true, .max = 1, .fallback = "1"),
    SPEC_ROW(DISTANCE, spines, "spines", FIELD_NUMBER,
             "On leaf groups of several spines; without it as `leaves`", .above = true, .max = 1),
};
static const struct field_table distance =
    SPEC_OF(DISTANCE, distance_rows, "distance",
            "How fast a gang is, of the speed it has within one node. Full bisection slows nothing "
            "[fabric_oversubscription_ratio]; measure yours",
            .brief = NULL);

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
    SPEC_TABLE(TRAINING, preemption, "preemption", "Evictions", &preemption),
    SPEC_TABLE(TRAINING, elastic, "elastic", "Gangs of several sizes", &elastic),
    SPEC_WORD(TRAINING, backfill, "backfill",
              "What may pass a head that lacks room: nothing (strict); what does not delay it; "
              "what delays no job before; whatever fits",
              backfill_kind_names, BACKFILL_KINDS, .fallback = "easy"),
    SPEC_ROW(TRAINING, backfill_depth, "backfill_depth", FIELD_WHOLE,
             "Jobs looked at behind such a head in one pass (Slurm: default_queue_depth)",
             .max = 1e6, .fallback = "100"),
    SPEC_ROW(TRAINING, reserve, "reserve", FIELD_WHOLE,
             "A job of at least so many GPUs that is next and cannot start keeps GPUs as they come "
             "free, until it has all of them; 0: none does",
             .unit = UNIT_GPU, .max = 1e6, .fallback = "0"),
    SPEC_ROW(TRAINING, estimate, "estimate", FIELD_EITHER,
             "Run times that backfill counts on: the true ones, the limits asked for, or the true "
             "ones times a factor",
             .words = estimate_kind_names, .n_words = ESTIMATE_FACTOR, .above = true, .max = 1000,
             .fallback = "exact"),
    SPEC_ROW(TRAINING, pools, "pools", FIELD_LIST,
             "Pools it may use, in order of preference; without it all, as written, or what the "
             "design says",
             .item = &spec_pool_name),
    SPEC_TABLE(TRAINING, distance, "distance", "Speed of gangs by distance; without it full speed",
               &distance),
    SPEC_ROW(TRAINING, slice, "slice", FIELD_TEXT,
             "Its jobs, of one GPU each, get a MIG instance of this profile in place of it",
             .unit = UNIT_NONE),
    SPEC_ROW(TRAINING, tolerates_spot, "tolerates_spot", FIELD_FLAG,
             "Its gangs may be put on nodes that are taken back at any time (design spot-mix)",
             .fallback = "no"),
    SPEC_WORD(
        TRAINING, placement, "placement",
        "Where gangs go: inside one node; on whole nodes where there are enough; anywhere; on "
        "whole nodes or they wait; on those of one leaf group or they wait",
        shape_kind_names, SHAPE_KINDS, .fallback = "whole-nodes"),
};
const struct field_table spec_training = SPEC_OF(
    TRAINING, training_rows, "queue",
    "A training queue: recorded jobs, drawn jobs, a backlog, or any of these", .brief = NULL);
