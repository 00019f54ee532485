/* Tables of the fleet: its nodes and pools, how they are supplied, what they cost, how they fail
 * and how they are maintained. */
#include "models/capacity/fleet.h"
#include "scenarios/sharing.h"
#include "scenarios/sharing_layouts.h"
#include "scenarios/spec.h"

/* ---- nodes ---- */

#define GROUP struct group_spec
static const struct field group_rows[] = {
    SPEC_ROW(GROUP, name, "name", FIELD_TEXT, "Name of the group", .required = true),
    SPEC_ROW(GROUP, nodes, "nodes", FIELD_WHOLE, "Number of nodes", .min = 1, .max = 100000,
             .required = true),
    SPEC_ROW(GROUP, gpus_per_node, "gpus_per_node", FIELD_WHOLE, "GPUs of one node", .min = 1,
             .max = 64, .fallback = "8"),
    SPEC_ROW(GROUP, gpu, "gpu", FIELD_TEXT, "GPU of the catalogue or of `hardware`",
             .fallback = "h100-sxm"),
};
static const struct field_table group =
    SPEC_OF(GROUP, group_rows, "group", "Nodes that are alike", .brief = NULL);

/* ---- topology ---- */

#define TOPOLOGY struct topology_spec
static const struct field spine_leaves = {
    .kind = FIELD_WHOLE, .doc = "leaf groups", .min = 1, .max = 100000};
static const struct field leaf_nodes = {
    .kind = FIELD_WHOLE, .doc = "nodes", .min = 1, .max = 100000};
static const struct field topology_rows[] = {
    SPEC_ROW(TOPOLOGY, leaf, "leaf", FIELD_WHOLE,
             "Nodes of one leaf group (scalable unit) [su_nodes_count]; the last may have fewer",
             .min = 1, .max = 100000),
    SPEC_ROW(TOPOLOGY, leaves, "leaves", FIELD_LIST,
             "Nodes of each leaf group, in place of `leaf`: `[32, 32, 31]`", .item = &leaf_nodes,
             .max = 100000),
    SPEC_ROW(
        TOPOLOGY, spine, "spine", FIELD_WHOLE,
        "Leaf groups below one spine (block, pod); the last may have fewer; without it there is "
        "one spine",
        .min = 1, .max = 100000),
    SPEC_ROW(TOPOLOGY, spines, "spines", FIELD_LIST,
             "Leaf groups below each spine, in place of `spine`: `[4, 4, 3]`",
             .item = &spine_leaves, .max = 100000),
    SPEC_ROW(
        TOPOLOGY, file, "file", FIELD_TEXT,
        "Slurm's topology.conf, in place of all of these: leaf switches and the switches above "
        "them, or blocks of the largest size",
        .unit = UNIT_NONE),
    SPEC_ROW(
        TOPOLOGY, domains, "domains", FIELD_FLAG,
        "A file of blocks: its base blocks are leaf groups (NVSwitch domains of several nodes), "
        "its largest blocks spines",
        .fallback = "no"),
};
static const struct field_table topology = SPEC_OF(
    TOPOLOGY, topology_rows, "topology",
    "Which nodes are behind the same leaf switches: leaf groups in the order of nodes, and "
    "spines in the order of leaf groups. An NVSwitch domain of several nodes is a leaf "
    "group: racks of 18 compute trays, eight to a scalable unit, are `{leaf: 18, spine: 8}`",
    .brief = "leaf");

/* ---- sharing ---- */

#define SHARING struct sharing_spec
static const struct field speed = {
    .kind = FIELD_NUMBER, .unit = UNIT_FRACTION, .above = true, .max = 1, .doc = "Speed of each"};
static const struct field instance = {.kind = FIELD_TEXT, .doc = "PROFILE@START"};
#define LAYOUT struct layout_spec
static const struct field layout_rows[] = {
    SPEC_ROW(LAYOUT, gpus, "gpus", FIELD_WHOLE,
             "GPUs that have it at first, the next ones by number; 0 for one that GPUs are only "
             "re-laid to",
             .max = 1000000),
    SPEC_ROW(LAYOUT, share, "share", FIELD_NUMBER,
             "Of the GPUs of the pool, rounded down, in place of `gpus`", .unit = UNIT_FRACTION,
             .max = 1),
    SPEC_ROW(LAYOUT, layout, "layout", FIELD_LIST, "Its instances", .item = &instance, .min = 1,
             .max = 8, .required = true),
};
static const struct field_table layout = SPEC_OF(
    LAYOUT, layout_rows, "slice-layout", "What some GPUs of a pool are cut into", .brief = NULL);

static const struct field sharing_rows[] = {
    SPEC_WORD(SHARING, by, "by", "MIG instances, or so many alike clients a GPU", sharing_names,
              SHARINGS, .required = true),
    SPEC_ROW(SHARING, clients, "clients", FIELD_WHOLE, "mps, time-slicing: clients of one GPU",
             .min = 2, .max = 48),
    SPEC_ROW(
        SHARING, speeds, "speeds", FIELD_LIST,
        "mps, time-slicing: of the speed of a whole GPU, what each client has while 1, 2, 3 .. "
        "are at work on it, such as `[1, 55%, 40%]`; more share the last sum. Without it they "
        "share the GPU: 1, 1/2, 1/3 .. (an assumption: no source measures it). A gang has its "
        "run time where it is alone, works while it trains and goes on at the new speed at "
        "once; a replica works while it holds requests and has the new speed from its next "
        "step on",
        .item = &speed, .max = 48),
    SPEC_ROW(SHARING, client_speed, "client_speed", FIELD_NUMBER,
             "mps, time-slicing: in place of speeds, what a replica has as one of the clients, "
             "whatever the others do; gangs then keep their run times",
             .unit = UNIT_FRACTION, .above = true, .max = 1),
    SPEC_TIME(SHARING, client_mtbf_s, "client_mtbf",
              "Mean time of a client, or of an instance, between faults of what runs in it; a gang "
              "starts again from its last save where it is, a replica is given up and its requests "
              "return; without it none",
              .above = true, .max = 1e10),
    SPEC_WORD(SHARING, isolation, "isolation",
              "What a fault ends: the client alone, or all clients of its GPU; without it the GPU "
              "[mps_error_isolation_flag, timeslice_memory_isolation_flag], of mig the client "
              "[mig_error_isolation_flag]",
              sharing_isolations, ISOLATIONS, .fallback = NULL),
    SPEC_ROW(SHARING, layout, "layout", FIELD_LIST,
             "mig: the instances that every GPU always has, such as `[3g.40gb@4, 2g.20gb@0]`; "
             "without it they are made as they are asked for",
             .item = &instance, .max = 8),
    SPEC_ROW(SHARING, layouts, "layouts", FIELD_LIST,
             "mig: several of them, in place of `layout`: "
             "`[{gpus: 8, layout: [3g.40gb@0, 3g.40gb@4]}, {share: 25%, layout: [7g.80gb@0]}]`",
             .table = &layout, .max = 16),
    SPEC_WORD(SHARING, rest, "rest",
              "mig: GPUs beside `layouts`: instances are made as they are asked for, or each is "
              "one instance of the largest profile",
              rest_names, RESTS, .fallback = "on-demand"),
    SPEC_ROW(SHARING, larger, "larger", FIELD_FLAG,
             "mig: a job may have the smallest larger instance of a layout that is free, where no "
             "exact one is: as fast, and counted whole. Replicas have just their profile",
             .fallback = "no"),
    SPEC_WORD(SHARING, relayout, "relayout",
              "mig: what an idle GPU with a layout may be re-laid to when a start finds no free "
              "instance: one of the layouts of the pool, or as many instances of one profile as "
              "it holds; that which holds most of what waits",
              relayout_names, RELAYOUTS, .fallback = "no"),
    SPEC_TIME(SHARING, relayout_time_s, "relayout_time",
              "mig: for so long a GPU that is re-laid is out of service; without it 37s "
              "[mig_reconfig_label_to_success_s]",
              .max = 86400),
    SPEC_TIME(SHARING, relayout_keep_s, "relayout_keep",
              "mig: for so long a GPU that has been re-laid is not re-laid again; without it 0s",
              .max = 8640000),
    SPEC_WORD(SHARING, order, "order", "mig: on which GPU that has room", mig_order_names,
              MIG_ORDERS, .fallback = "best"),
    SPEC_WORD(SHARING, place, "place", "mig: at which of the legal starts", mig_rule_names,
              MIG_RULES, .fallback = "best"),
    SPEC_TIME(SHARING, reconfigure_s, "reconfigure",
              "mig: to destroy an instance and make the next one, after the scrub; without it 2s "
              "[mig_instance_create_destroy_s], on GPUs with a layout 0s",
              .max = 86400),
};
static const struct field_table sharing =
    SPEC_OF(SHARING, sharing_rows, "sharing",
            "GPUs that several hold at a time. Quotas stay in GPUs; nothing is taken back by force",
            .brief = "by");

/* ---- power ---- */

#define POWER struct power_spec
static const char *const power_caps[] = {"refuse", "slow"};
static const struct field power_rows[] = {
    SPEC_ROW(POWER, rack_limit_w, "rack_limit", FIELD_NUMBER,
             "What a rack may draw [rack_limit_air_kw]; without it all that it asks for",
             .unit = UNIT_POWER, .above = true),
    SPEC_ROW(POWER, rack, "rack", FIELD_WHOLE,
             "Nodes of one rack [nodes_per_rack_default_count: 4], by number, anew in each leaf "
             "group; without it as many as the limit holds at `node_max`",
             .min = 1, .max = 64),
    SPEC_WORD(POWER, cap, "cap",
              "Where nodes of a rack could draw more: starts that would exceed the limit wait, or "
              "all GPUs are slower",
              power_caps, 2, .fallback = "refuse"),
    SPEC_ROW(POWER, node_idle_w, "node_idle", FIELD_NUMBER,
             "A node that does nothing [node_power_idle_kw, unsourced estimate: 2kW]; without it "
             "by its GPUs",
             .unit = UNIT_POWER),
    SPEC_ROW(POWER, node_max_w, "node_max", FIELD_NUMBER,
             "A node at its rating [node_power_max_kw: 10.2kW]; without it by the catalogue",
             .unit = UNIT_POWER, .above = true),
};
static const struct field_table power = SPEC_OF(
    POWER, power_rows, "power",
    "Racks and what they may draw; a GPU that a lease has counts as busy", .brief = "rack_limit");

#define LAYOUT_ROWS(TYPE, pools_doc, ...)                                                          \
    SPEC_TABLE(TYPE, topology, "topology",                                                         \
               "Leaf groups and spines; without it all nodes are alike", &topology),               \
        SPEC_TABLE(TYPE, power, "power", "Power limits of racks; without it there are none",       \
                   &power),                                                                        \
        SPEC_WORD(TYPE, placement, "placement",                                                    \
                  "On which node with room a start goes: fewest free GPUs; lowest; most free "     \
                  "GPUs; fewest, leaf groups kept whole, gangs in few of them" pools_doc,          \
                  place_rule_names, PLACE_RULES, __VA_ARGS__),                                     \
        SPEC_TABLE(TYPE, sharing, "sharing", "Without it a GPU is held whole", &sharing)

/* ---- recordings ---- */

#define RECORD struct record_spec
static const struct field record_rows[] = {
    SPEC_ROW(RECORD, file, "file", FIELD_TEXT,
             "CSV or JSON file, plain or .gz, relative to the scenario file", .required = true),
    SPEC_ROW(RECORD, format, "format", FIELD_TEXT,
             "Name of the format (`traces/README.md`); without it the file decides",
             .unit = UNIT_NONE),
    SPEC_ROW(RECORD, zone, "zone", FIELD_TEXT,
             "Zone of timestamps without one, such as +08:00; else they are UTC",
             .unit = UNIT_NONE),
    SPEC_ROW(RECORD, series, "series", FIELD_TEXT,
             "Which of several prices or kinds of instances in the file", .unit = UNIT_NONE),
    SPEC_ROW(RECORD, loop, "loop", FIELD_FLAG,
             "It starts again at its end (a price always does); else it stays as it ended",
             .fallback = "yes"),
};
static const struct field_table record = SPEC_OF(
    RECORD, record_rows, "recording", "A recorded history of nodes or of a price", .brief = "file");

/* ---- on demand ---- */

#define ON_DEMAND struct on_demand_spec
static const struct field on_demand_rows[] = {
    SPEC_ROW(ON_DEMAND, initial, "initial", FIELD_WHOLE, "Nodes that are there from the start",
             .max = 100000, .fallback = "0"),
    SPEC_TABLE(ON_DEMAND, provision, "provision",
               "From the refused start that asks for a node until it is there [unsourced estimate]",
               &spec_duration, .fallback = "5min"),
    SPEC_ROW(ON_DEMAND, idle_release, "idle_release", FIELD_EITHER,
             "A node that stood idle for so long is given back [unsourced estimate]",
             .words = spec_never, .n_words = 1, .unit = UNIT_TIME, .fallback = "10min"),
};
static const struct field_table on_demand = SPEC_OF(
    ON_DEMAND, on_demand_rows, "on_demand",
    "Nodes that come when they are asked for; `nodes` of the pool is the limit", .brief = NULL);

/* ---- spot ---- */

#define SHOCKS struct shocks_spec
static const struct field shocks_rows[] = {
    SPEC_TIME(SHOCKS, every_s, "every", "Mean time from one to the next", .above = true,
              .required = true),
    SPEC_ROW(SHOCKS, share, "share", FIELD_NUMBER,
             "Of the nodes that are there, how many it takes at once", .unit = UNIT_FRACTION,
             .above = true, .max = 1, .required = true),
};
static const struct field_table shocks =
    SPEC_OF(SHOCKS, shocks_rows, "shocks", "Reclaims of many nodes at once, at random times",
            .brief = NULL);

#define SPOT struct spot_spec
static const struct field spot_rows[] = {
    SPEC_TIME(SPOT, life_s, "life",
              "Mean time of a node until its notice [spot_preempt_default_per_h: 0.25]; without "
              "it, a rate or a trace 4h",
              .above = true),
    SPEC_ROW(SPOT, rate_per_s, "rate", FIELD_NUMBER,
             "The same as a rate of one node, such as 0.25/h; 0/h: never", .unit = UNIT_RATE),
    SPEC_TIME(SPOT, notice_s, "notice",
              "From the notice until the node is gone [spot_notice_aws_s]", .max = 86400,
              .fallback = "120s"),
    SPEC_TABLE(SPOT, absence, "absence", "From then until it is back [unsourced estimate]",
               &spec_duration, .fallback = "{exponential: 1h}"),
    SPEC_TABLE(SPOT, shocks, "shocks", "Correlated reclaim", &shocks),
    SPEC_TABLE(SPOT, trace, "trace", "Recorded losses and returns, in place of drawn ones",
               &record),
};
static const struct field_table spot =
    SPEC_OF(SPOT, spot_rows, "spot", "Nodes that are taken back at any time", .brief = "life");

/* ---- failures ---- */

#define WEIBULL struct weibull_spec
static const struct field infant_rows[] = {
    SPEC_TIME(WEIBULL, scale_s, "scale", "Age at which one failure a node is expected",
              .above = true, .required = true),
    SPEC_ROW(WEIBULL, shape, "shape", FIELD_NUMBER, "Shape; below 1 the young fail most",
             .min = 0.05, .max = 0.999, .required = true),
};
static const struct field_table infant =
    SPEC_OF(WEIBULL, infant_rows, "infant", "Failures of new nodes", .brief = NULL);

static const struct field wear_out_rows[] = {
    SPEC_TIME(WEIBULL, scale_s, "scale", "Age at which one failure a node is expected",
              .above = true, .required = true),
    SPEC_ROW(WEIBULL, shape, "shape", FIELD_NUMBER, "Shape; above 1 the old fail most",
             .min = 1.001, .max = 50, .required = true),
};
static const struct field_table wear_out =
    SPEC_OF(WEIBULL, wear_out_rows, "wear_out", "Failures of old nodes", .brief = NULL);

#define FAILURES struct failures_spec
static const struct field failures_rows[] = {
    SPEC_ROW(
        FAILURES, per_1000_node_days, "per_1000_node_days", FIELD_NUMBER,
        "Failures at any age, in 1,000 node-days [node_failure_rate_default_per_1000_node_days]",
        .max = 1e6, .fallback = "3.8"),
    SPEC_TABLE(FAILURES, infant, "infant", "Besides: early failures (Weibull)", &infant),
    SPEC_TABLE(FAILURES, wear_out, "wear_out", "Besides: late failures (Weibull)", &wear_out),
    SPEC_TIME(FAILURES, age_s, "age", "Age of the nodes at the start", .fallback = "0s"),
    SPEC_TABLE(FAILURES, repair_reboot, "repair_reboot",
               "Repair by a reboot [node_repair_reboot_class_h]", &spec_duration,
               .fallback = "30min"),
    SPEC_TABLE(FAILURES, repair_part, "repair_part",
               "Repair by another part [node_repair_part_class_h]", &spec_duration,
               .fallback = "48h"),
    SPEC_ROW(FAILURES, reboot_share, "reboot_share", FIELD_NUMBER,
             "Failures that a reboot repairs [unsourced estimate]", .unit = UNIT_FRACTION, .max = 1,
             .fallback = "80%"),
    SPEC_TABLE(FAILURES, trace, "trace", "Recorded failures and repairs, in place of drawn ones",
               &record),
};
static const struct field_table failures =
    SPEC_OF(FAILURES, failures_rows, "failures",
            "Nodes that break: a constant hazard and, where given, those of a bathtub",
            .brief = "per_1000_node_days");

/* ---- maintenance ---- */

#define MAINTENANCE struct maintenance_spec
static const struct field maintenance_rows[] = {
    SPEC_ROW(MAINTENANCE, start, "start", FIELD_MOMENT, "When it begins", .unit = UNIT_TIME,
             .required = true),
    SPEC_TIME(MAINTENANCE, every_s, "every", "Again after so long; without it once", .above = true),
    SPEC_ROW(MAINTENANCE, nodes, "nodes", FIELD_WHOLE,
             "Nodes at a time [driver_roll_max_parallel_count]; without it and a share 1", .min = 1,
             .max = 100000),
    SPEC_ROW(MAINTENANCE, share, "share", FIELD_NUMBER, "The same as a share of the pool",
             .unit = UNIT_FRACTION, .above = true, .max = 1),
    SPEC_TABLE(MAINTENANCE, work, "work", "Work on one empty node [driver_roll_2048gpu_default_h]",
               &spec_duration, .fallback = "10min"),
    SPEC_TIME(MAINTENANCE, drain_limit_s, "drain_limit",
              "Longest wait for gangs; then they are evicted with the grace of `reclaim` "
              "[driver_roll_max_parallel_count]",
              .fallback = "5min"),
    SPEC_WORD(MAINTENANCE, wait, "wait",
              "What gangs may do before: end, save once more or end, or nothing", roll_wait_names,
              ROLL_WAITS, .fallback = "checkpoint"),
    SPEC_WORD(MAINTENANCE, order, "order", "Which node is next", roll_order_names, ROLL_ORDERS,
              .fallback = "number"),
    SPEC_ROW(MAINTENANCE, fail_share, "fail_share", FIELD_NUMBER,
             "Nodes that need a repair after it", .unit = UNIT_FRACTION, .max = 1,
             .fallback = "0%"),
};
static const struct field_table maintenance =
    SPEC_OF(MAINTENANCE, maintenance_rows, "maintenance",
            "A roll-out: every node of the pool in turn is closed, emptied, worked on and opened",
            .brief = NULL);

/* ---- pools ---- */

#define POOL  struct pool_spec
#define FLEET struct fleet_spec

#define SUPPLY_ROWS(TYPE)                                                                          \
    SPEC_WORD(TYPE, supply.kind, "supply", "How its nodes come and go", supply_kind_names,         \
              SUPPLY_KINDS, .fallback = "reserved"),                                               \
        SPEC_TABLE(TYPE, supply.on_demand, "on_demand",                                            \
                   "supply on-demand: when nodes come and go", &on_demand),                        \
        SPEC_TABLE(TYPE, supply.spot, "spot", "supply spot: when nodes are taken back", &spot),    \
        SPEC_TABLE(TYPE, supply.price_trace, "price_trace",                                        \
                   "A recorded price, in place of `price`", &record)

#define CARE_ROWS(TYPE)                                                                            \
    SPEC_TABLE(TYPE, supply.failures, "failures", "Nodes that break; without it none does",        \
               &failures),                                                                         \
        SPEC_ROW(TYPE, supply.maintenance, "maintenance", FIELD_LIST, "Roll-outs",                 \
                 .table = &maintenance, .max = 16),                                                \
        SPEC_ROW(TYPE, supply.spares, "spares", FIELD_WHOLE,                                       \
                 "Of its nodes, those kept idle to take the place of one that fails under a gang " \
                 "[spare_nodes_pct]; without it 0",                                                \
                 .max = 100000)

static const struct field pool_rows[] = {
    SPEC_ROW(POOL, nodes, "nodes", FIELD_WHOLE, "Number of nodes: all there can be", .min = 1,
             .max = 100000, .required = true),
    SPEC_ROW(POOL, gpus_per_node, "gpus_per_node", FIELD_WHOLE,
             "GPUs of one node [gpus_per_node_count]", .min = 1, .max = 64, .fallback = "8"),
    SPEC_ROW(POOL, gpu, "gpu", FIELD_TEXT, "GPU of the catalogue or of `hardware`",
             .fallback = "h100-sxm"),
    SPEC_ROW(POOL, price_usd_per_h, "price", FIELD_NUMBER,
             "Price of one GPU-hour; without it reserved $2.35/h [h100_reserved_1y_usd_gpu_h], "
             "on-demand $2.95/h [h100_on_demand_specialty_usd_gpu_h], spot $1.60/h "
             "[h100_spot_usd_gpu_h]",
             .unit = UNIT_USD_PER_H),
    LAYOUT_ROWS(POOL, "; without it as the fleet", .unit = UNIT_NONE),
    SUPPLY_ROWS(POOL),
    CARE_ROWS(POOL),
};
static const struct field_table pool = SPEC_OF(
    POOL, pool_rows, "pool",
    "Nodes with one kind of supply. `failures`, `maintenance` and `spares` that it does not "
    "name are those of the fleet",
    .brief = NULL);

static const struct field fleet_rows[] = {
    SPEC_ROW(FLEET, nodes, "nodes", FIELD_WHOLE, "Number of nodes, when all are alike", .min = 1,
             .max = 100000),
    SPEC_ROW(FLEET, gpus_per_node, "gpus_per_node", FIELD_WHOLE,
             "GPUs of one node [gpus_per_node_count]", .min = 1, .max = 64, .fallback = "8"),
    SPEC_ROW(FLEET, gpu, "gpu", FIELD_TEXT, "GPU of the catalogue or of `hardware`",
             .fallback = "h100-sxm"),
    SPEC_ROW(FLEET, groups, "groups", FIELD_LIST, "Groups of nodes, in place of `nodes`",
             .table = &group, .max = 64),
    SPEC_ROW(FLEET, pools, "pools", FIELD_MAP,
             "Pools by name, in place of `nodes`: each with its own supply and price",
             .table = &pool, .max = POOLS_MAX),
    SPEC_ROW(FLEET, price_usd_per_h, "price", FIELD_NUMBER,
             "Price of one GPU-hour, used or not [h100_on_demand_specialty_usd_gpu_h]",
             .unit = UNIT_USD_PER_H, .fallback = "$2.95/h"),
    LAYOUT_ROWS(FLEET, "", .fallback = "best-fit"),
    SUPPLY_ROWS(FLEET),
    CARE_ROWS(FLEET),
};
const struct field_table spec_fleet =
    SPEC_OF(FLEET, fleet_rows, "fleet", "The GPUs there are, and what they cost", .brief = NULL);
