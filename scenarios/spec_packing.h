/* The language of a packing scenario as C, as spec.h is that of a run. */
#ifndef HEADROOM_SCENARIOS_SPEC_PACKING_H
#define HEADROOM_SCENARIOS_SPEC_PACKING_H

#include "scenarios/spec.h"

struct pack_group_spec {
    const void *at;
    uint64_t nodes, gpus;
    double cpus, memory_bytes;
    const char *gpu;
};

struct pack_nodes_spec {
    const void *at;
    const char *file;
    struct field_list groups; /* of struct pack_group_spec, by name */
};

struct pack_class_spec {
    const void *at;
    uint64_t count, gpus;
    double cpus, memory_bytes, share;
    struct field_list gpu; /* of const char * */
};

struct pack_pods_spec {
    const void *at;
    const char *file;
    struct field_list classes; /* of struct pack_class_spec, by name */
};

struct pack_spec {
    const void *at;
    struct pack_nodes_spec nodes;
    struct pack_pods_spec pods;
    struct field_list policies, ties; /* of int: index of the word */
    struct field_list levels;         /* of double */
    double ratio, cover;
};

struct pack_scenario_spec {
    const void *at;
    const char *name, *description;
    uint64_t seed, replications;
    struct pack_spec packing;
};

extern const struct field_table spec_pack_scenario;

#endif
