/* Tables of a packing scenario. */
#include "scenarios/spec_packing.h"

#include "models/packing/policy.h"

/* ---- nodes ---- */

#define GROUP struct pack_group_spec
static const struct field group_rows[] = {
    SPEC_ROW(GROUP, nodes, "nodes", FIELD_WHOLE, "Number of nodes", .min = 1, .max = 100000,
             .required = true),
    SPEC_ROW(GROUP, gpus, "gpus", FIELD_WHOLE, "GPUs of one node [gpus_per_node_count]",
             .unit = UNIT_GPU, .max = CLUSTER_DEVICES, .fallback = "8"),
    SPEC_ROW(GROUP, cpus, "cpus", FIELD_NUMBER, "CPUs of one node [node_vcpu_cloud_count]",
             .max = 1e5, .fallback = "192"),
    SPEC_ROW(GROUP, memory_bytes, "memory", FIELD_NUMBER,
             "Memory of one node [host_memory_node_gb]", .unit = UNIT_BYTES, .max = 1e15,
             .fallback = "2048GB"),
    SPEC_ROW(GROUP, gpu, "gpu", FIELD_TEXT, "GPU model, as pods name it", .fallback = "h100-sxm"),
};
static const struct field_table group =
    SPEC_OF(GROUP, group_rows, "pack_group", "Nodes that are alike", .brief = NULL);

#define NODES struct pack_nodes_spec
static const struct field nodes_rows[] = {
    SPEC_ROW(NODES, file, "file", FIELD_TEXT,
             "Node list (`traces/README.md`), plain or .gz, relative to the scenario file",
             .unit = UNIT_NONE),
    SPEC_ROW(NODES, groups, "groups", FIELD_MAP, "Groups of nodes by name, in place of a file",
             .table = &group, .max = 64),
};
static const struct field_table nodes =
    SPEC_OF(NODES, nodes_rows, "pack_nodes", "The cluster that is packed", .brief = "file");

/* ---- pods ---- */

static const struct field model = {.kind = FIELD_TEXT, .doc = "a GPU model"};

#define CLASS struct pack_class_spec
static const struct field class_rows[] = {
    SPEC_ROW(CLASS, count, "count", FIELD_WHOLE, "Pods of this kind in the list", .min = 1,
             .max = 1e6, .required = true),
    SPEC_ROW(CLASS, gpus, "gpus", FIELD_WHOLE, "GPUs of one pod; 0: CPU only", .unit = UNIT_GPU,
             .max = CLUSTER_DEVICES, .fallback = "1"),
    SPEC_ROW(CLASS, share, "share", FIELD_NUMBER, "Of each GPU, in steps of 0.1 %",
             .unit = UNIT_FRACTION, .min = 0.001, .max = 1, .fallback = "100%"),
    SPEC_ROW(CLASS, cpus, "cpus", FIELD_NUMBER, "CPUs of one pod", .max = 1e5, .fallback = "0"),
    SPEC_ROW(CLASS, memory_bytes, "memory", FIELD_NUMBER, "Memory of one pod", .unit = UNIT_BYTES,
             .max = 1e15, .fallback = "0GB"),
    SPEC_ROW(CLASS, gpu, "gpu", FIELD_LIST, "GPU models that it accepts; without it any",
             .item = &model, .max = CLUSTER_TYPES),
};
static const struct field_table class =
    SPEC_OF(CLASS, class_rows, "pack_class", "Pods that are alike", .brief = NULL);

#define PODS struct pack_pods_spec
static const struct field pods_rows[] = {
    SPEC_ROW(PODS, file, "file", FIELD_TEXT,
             "Pod list (`traces/README.md`), plain or .gz, relative to the scenario file",
             .unit = UNIT_NONE),
    SPEC_ROW(PODS, classes, "classes", FIELD_MAP, "Kinds of pods by name, in place of a file",
             .table = &class, .max = 256),
};
static const struct field_table pods =
    SPEC_OF(PODS, pods_rows, "pack_pods", "What it is filled with", .brief = "file");

/* ---- packing ---- */

static const char *const policy_words[POLICIES] = {
    "random",      "first-fit",   "best-fit",       "worst-fit",
    "dot-product", "gpu-packing", "gpu-clustering", "fgd",
};
static const struct field policy_word = {
    .kind = FIELD_WORD, .doc = "a policy", .words = policy_words, .n_words = POLICIES};
static const struct field tie_word = {
    .kind = FIELD_WORD, .doc = "who wins a tie", .words = policy_tie_names, .n_words = 2};
static const struct field level = {
    .kind = FIELD_NUMBER, .doc = "a share", .unit = UNIT_FRACTION, .above = true, .max = 5};

#define PACK struct pack_spec
static const struct field pack_rows[] = {
    SPEC_TABLE(PACK, nodes, "nodes", "The cluster", &nodes, .required = true),
    SPEC_TABLE(PACK, pods, "pods", "The pods", &pods, .required = true),
    SPEC_ROW(PACK, policies, "policies", FIELD_LIST,
             "Rules that choose the node (`models/README.md`, Packing); without it all",
             .item = &policy_word, .max = POLICIES),
    SPEC_ROW(PACK, ties, "ties", FIELD_LIST,
             "Who wins among nodes of equal score, the lowest name or chance: one of them or both, "
             "side by side; without it name",
             .item = &tie_word, .max = 2),
    SPEC_ROW(PACK, ratio, "ratio", FIELD_NUMBER,
             "The list is lengthened by drawn copies until it asks for so many of the GPUs there "
             "are (1.3: as in USENIX ATC 2023)",
             .above = true, .max = 5, .fallback = "1.3"),
    SPEC_ROW(PACK, cover, "cover", FIELD_NUMBER,
             "Typical pods are the most frequent that make up so much of the list (95 %: "
             "as there)",
             .unit = UNIT_FRACTION, .above = true, .max = 1, .fallback = "95%"),
    SPEC_ROW(PACK, levels, "levels", FIELD_LIST,
             "GPUs asked for so far, as shares of those there are, at which figures are taken; "
             "without it from 50 % to the ratio in steps of 10 %, and 95 %",
             .item = &level, .max = 64),
};
static const struct field_table pack =
    SPEC_OF(PACK, pack_rows, "packing",
            "Fills a cluster with pods that share GPUs, by several policies: `headroom pack`",
            .brief = NULL);

#define SCENARIO struct pack_scenario_spec
static const struct field scenario_rows[] = {
    SPEC_ROW(SCENARIO, name, "scenario", FIELD_TEXT, "Name, for titles", .required = true),
    SPEC_ROW(SCENARIO, description, "description", FIELD_TEXT, "What it is about", .fallback = ""),
    SPEC_ROW(SCENARIO, seed, "seed", FIELD_WHOLE, "Seed of all random numbers", .max = 1e15,
             .fallback = "1"),
    SPEC_ROW(SCENARIO, replications, "replications", FIELD_WHOLE,
             "Fillings, each in an order of its own, the same for every policy", .min = 1,
             .max = 10000, .fallback = "10"),
    SPEC_TABLE(SCENARIO, packing, "packing", "The cluster and the pods", &pack, .required = true),
};
const struct field_table spec_pack_scenario = SPEC_OF(
    SCENARIO, scenario_rows, "packing_scenario",
    "The top level of a file with `packing`, which `headroom pack` reads: a kind of scenario of "
    "its own, without time",
    .brief = NULL);
