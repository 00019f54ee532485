/* Catalogue: GPU types and node types as data, each number with its source and how far it may be
 * trusted. */
#ifndef HEADROOM_MODELS_HARDWARE_CATALOGUE_H
#define HEADROOM_MODELS_HARDWARE_CATALOGUE_H

#include "models/hardware/mig.h"

enum hw_confidence {
    HW_UNKNOWN, /* no source: value is NaN */
    HW_LOW,
    HW_MEDIUM,
    HW_HIGH,
    HW_STATED /* by the user */
};
extern const char *const hw_confidence_names[HW_STATED + 1];

struct hw_number {
    double value;
    enum hw_confidence confidence;
    const char *source; /* key of the fact sheet, or where it stands */
};

static inline bool hw_known(struct hw_number n)
{
    return n.confidence != HW_UNKNOWN;
}

struct gpu_type {
    const char *name, *title; /* "h100-sxm", "H100 SXM 80 GB" */
    struct hw_number memory_gb, bandwidth_gb_per_s, n_sm, power_cap_w, power_idle_w, usd_per_h;
    struct mig_gpu mig;
    enum hw_confidence mig_confidence;
    const char *mig_source;
};

struct node_type {
    const char *name, *title;
    const char *gpu; /* name of its type */
    struct hw_number n_gpus, n_sockets, n_nics, n_vcpus;
    struct hw_number network_gb_per_s; /* of all compute NICs, one way */
    struct hw_number memory_gb, power_max_kw;
    struct hw_number domain_gpus; /* GPUs behind one NVSwitch fabric, beyond the node where more */
};

/* What there is: the built-in types, or those and the user's. */
struct hardware {
    const struct gpu_type *gpus;
    size_t n_gpus;
    const struct node_type *nodes;
    size_t n_nodes;
};
extern const struct hardware hardware_builtin;

/* NULL when there is none of that name. */
const struct gpu_type *gpu_type_find(const struct hardware *h, const char *name);
const struct node_type *node_type_find(const struct hardware *h, const char *name);

/* The names nearest to a wrong one, or NULL. */
const char *gpu_type_nearest(const struct hardware *h, const char *name);
const char *node_type_nearest(const struct hardware *h, const char *name);

/* The built-in tables, each in a file of its own. */
enum { GPU_TYPES = 10, NODE_TYPES = 7 };
extern const struct gpu_type gpu_types[GPU_TYPES];
extern const struct node_type node_types[NODE_TYPES];

#endif
