/* Structs of the section `hardware`: the user's own types of GPUs and nodes, and the catalogue that
 * they make with the built-in ones. */
#ifndef HEADROOM_SCENARIOS_SPEC_HARDWARE_H
#define HEADROOM_SCENARIOS_SPEC_HARDWARE_H

#include "models/hardware/catalogue.h"
#include "sim/arena.h"
#include "sim/diag.h"
#include "sim/err.h"
#include "sim/field.h"

struct mig_profile_spec {
    const void *at;
    const char *name;
    uint64_t id, compute, memory, sms;
    double bytes;
    bool media;
    struct field_list starts; /* of uint64_t */
};

struct gpu_type_spec {
    const void *at;
    const char *like, *title;
    double memory_bytes, bandwidth_per_s, power_w, idle_power_w, usd_per_h;
    uint64_t sms, compute_slices, memory_slices;
    struct field_list profiles; /* of struct mig_profile_spec */
};

struct node_type_spec {
    const void *at;
    const char *like, *title, *gpu;
    uint64_t gpus, sockets, nics, vcpus, domain;
    double network_per_s, memory_bytes, power_w;
};

struct hardware_spec {
    const void *at;
    struct field_list gpus;  /* by name, of struct gpu_type_spec */
    struct field_list nodes; /* by name, of struct node_type_spec */
};

extern const struct field_table spec_hardware;

/* The built-in types and the user's; memory is the arena's. What is wrong is said in diags, and the
 * wrong type is left out. HR_NOMEM only. */
enum hr_err hardware_build(const struct hardware_spec *spec, struct arena *arena,
                           struct diags *diags, struct hardware *out);

#endif
