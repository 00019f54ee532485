/* Tables of the top level: the run, reclaim, and the pool designs.
 *
 * Defaults that stand for a fact of the field name its row in the fact sheet in brackets. */
#include "models/capacity/fleet.h"
#include "scenarios/spec.h"

const char *const preset_names[PRESETS] = {
    "separate", "shared", "floor-plus-borrow", "quota", "spot-mix",
};

/* ---- reclaim ---- */

#define RECLAIM struct reclaim_spec

static const char *const concurrency_names[] = {"parallel", "serial"};

static const struct field reclaim_rows[] = {
    SPEC_WORD(RECLAIM, victims, "victims", "Which gangs are evicted first", victim_rule_names,
              VICTIM_RULES, .fallback = "least-over-reclaim"),
    SPEC_TIME(RECLAIM, grace_s, "grace",
              "Longest time from the notice until a victim has stopped [k8s_termination_grace_s]",
              .fallback = "30s", .max = 86400),
    SPEC_TABLE(RECLAIM, teardown, "teardown",
               "Processes end, memory is free [process_exit_to_memory_free_s]", &spec_duration,
               .fallback = "2s"),
    SPEC_TABLE(RECLAIM, scrub, "scrub",
               "GPU memory wiped between owners [gpu_wipe_with_readback_s]", &spec_duration,
               .fallback = "1s"),
    SPEC_ROW(RECLAIM, consolidate, "consolidate", FIELD_FLAG,
             "Where GPUs are enough but wrongly placed, move small gangs off one node",
             .fallback = "no"),
    SPEC_WORD(RECLAIM, concurrency, "concurrency",
              "Any number of reclaims at a time, or one after another", concurrency_names, 2,
              .fallback = "parallel"),
};
static const struct field_table reclaim =
    SPEC_OF(RECLAIM, reclaim_rows, "reclaim",
            "Taking GPUs back from a borrower, until they are free for the next", .brief = NULL);

/* ---- designs ---- */

#define DESIGN struct design_spec

static const struct field gpus = {.kind = FIELD_WHOLE, .unit = UNIT_GPU, .doc = "GPUs"};
static const struct field anything = {.kind = FIELD_TREE, .doc = "value"};

#define GPUS_ROW(member, key, doc)                                                                 \
    SPEC_ROW(DESIGN, member, key, FIELD_MAP, doc, .item = &gpus, .sole = "", .max = 128)

static const struct field design_rows[] = {
    SPEC_WORD(DESIGN, preset, "preset",
              "Rule of the design; without it the one that the design is named after", preset_names,
              PRESETS, .unit = UNIT_NONE),
    GPUS_ROW(inference, "inference", "separate: GPUs of the inference pool"),
    GPUS_ROW(training, "training", "separate: GPUs of the training pool; without it the rest"),
    GPUS_ROW(floor, "floor",
             "floor-plus-borrow, spot-mix: GPUs that inference never lends (default 0)"),
    GPUS_ROW(buffer, "buffer",
             "floor-plus-borrow, spot-mix: GPUs of ready, idle replicas kept above the need "
             "(default 0)"),
    GPUS_ROW(
        training_floor, "training_floor",
        "floor-plus-borrow, spot-mix: GPUs of training that are lent but never lost (default 0)"),
    SPEC_ROW(
        DESIGN, quotas, "quotas", FIELD_MAP,
        "quota: the numbers of each claimant, a service, a queue, or a tenant as `queue/tenant`",
        .table = &spec_quota, .max = 1000, .parted = true),
    SPEC_ROW(DESIGN, cohorts, "cohorts", FIELD_MAP, "quota: quotas that claimants share",
             .table = &spec_cohort, .max = 64),
    SPEC_ROW(
        DESIGN, set, "set", FIELD_MAP,
        "Other values for any keys in this design only: `{reclaim.grace: 2min}`; `~` takes a key "
        "away",
        .item = &anything, .max = 64),
};
const struct field_table spec_design = SPEC_OF(
    DESIGN, design_rows, "design",
    "A way to split the fleet. A plain number of GPUs is that of the only service or queue; with "
    "several, say whose: `{chat: 96GPU, code: 32GPU}`. What a service never lends it keeps warm: "
    "the autoscaler's minimum is (floor - lend) / GPUs per replica, unless the service says "
    "`min_replicas`",
    .brief = "preset");

/* ---- the whole ---- */

#define SCENARIO struct scenario_spec

static const struct field scenario_rows[] = {
    SPEC_ROW(SCENARIO, name, "scenario", FIELD_TEXT, "Name, for titles and result files",
             .required = true),
    SPEC_ROW(SCENARIO, description, "description", FIELD_TEXT, "What it is about", .fallback = ""),
    SPEC_ROW(SCENARIO, seed, "seed", FIELD_WHOLE, "Seed of all random numbers", .max = 1e15,
             .fallback = "1"),
    SPEC_ROW(SCENARIO, replications, "replications", FIELD_WHOLE,
             "Runs of each design in a comparison; an interval needs five", .min = 1, .max = 10000,
             .fallback = "5"),
    SPEC_TIME(SCENARIO, horizon_s, "horizon", "Simulated time, warm-up included", .above = true,
              .max = 10.0 * 365 * 86400, .fallback = "1d"),
    SPEC_TIME(SCENARIO, warmup_s, "warmup",
              "Simulated first and left out of every result; without it one day where jobs are "
              "recorded, else a tenth of the horizon",
              .min = 0),
    SPEC_TIME(SCENARIO, window_s, "window", "Length of an SLO window", .min = 1, .max = 86400,
              .fallback = "1min"),
    SPEC_TIME(SCENARIO, timeline_s, "timeline",
              "Width of a step in the timeline of GPU states; without it 1min up to two days, then "
              "at most 2,880 steps",
              .min = 1),
    SPEC_ROW(SCENARIO, start, "start", FIELD_TEXT,
             "Date and time of day of the start, YYYY-MM-DD HH:MM; times of day count from it",
             .fallback = "2026-01-01 00:00"),
    SPEC_TABLE(SCENARIO, fleet, "fleet", "The GPUs", &spec_fleet, .required = true),
    SPEC_ROW(SCENARIO, services, "services", FIELD_MAP, "Inference services by name",
             .table = &spec_service, .max = 64),
    SPEC_ROW(SCENARIO, training, "training", FIELD_MAP, "Training queues by name",
             .table = &spec_training, .max = 64),
    SPEC_TABLE(SCENARIO, hardware, "hardware", "Types of GPUs and nodes of your own",
               &spec_hardware),
    SPEC_TABLE(SCENARIO, storage, "storage",
               "What the gangs of all queues write their saves to; without it no save waits for "
               "another",
               &spec_storage),
    SPEC_TABLE(SCENARIO, reclaim, "reclaim", "How GPUs are taken back", &reclaim),
    SPEC_ROW(SCENARIO, designs, "designs", FIELD_MAP, "Pool designs to compare, by name",
             .table = &spec_design, .max = 64),
    SPEC_ROW(SCENARIO, design, "design", FIELD_TEXT,
             "The design of a single run: one of `designs` (default the first), or a preset",
             .unit = UNIT_NONE),
};
const struct field_table spec_scenario =
    SPEC_OF(SCENARIO, scenario_rows, "scenario", "The top level of the file", .brief = NULL);
