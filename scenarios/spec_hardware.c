/* Tables of the section `hardware`. */
#include "scenarios/spec_hardware.h"

#include "scenarios/spec.h"

#define PROFILE struct mig_profile_spec

static const struct field start = {
    .kind = FIELD_WHOLE, .doc = "memory slice", .max = MIG_SLICES - 1};

static const struct field profile_rows[] = {
    SPEC_ROW(PROFILE, name, "name", FIELD_TEXT, "Its name: `1g.10gb`", .required = true),
    SPEC_ROW(PROFILE, id, "id", FIELD_WHOLE, "Its id in nvidia-smi", .max = 255, .required = true),
    SPEC_ROW(PROFILE, compute, "compute", FIELD_WHOLE, "Compute slices of an instance", .min = 1,
             .max = MIG_COMPUTE, .required = true),
    SPEC_ROW(PROFILE, memory, "memory", FIELD_WHOLE, "Memory slices of an instance", .min = 1,
             .max = MIG_SLICES, .required = true),
    SPEC_ROW(PROFILE, starts, "starts", FIELD_LIST, "Memory slices where an instance may begin",
             .item = &start, .max = MIG_SLICES),
    SPEC_ROW(PROFILE, sms, "sms", FIELD_WHOLE, "SMs of an instance", .max = 65535, .fallback = "0"),
    SPEC_ROW(PROFILE, bytes, "size", FIELD_NUMBER, "Memory of an instance", .unit = UNIT_BYTES,
             .max = 1e15),
    SPEC_ROW(PROFILE, media, "media", FIELD_FLAG,
             "It takes the media engines: at most one such instance", .fallback = "no"),
};
static const struct field_table profile =
    SPEC_OF(PROFILE, profile_rows, "mig-profile", "A kind of MIG instance", .brief = NULL);

#define GPU struct gpu_type_spec

static const struct field gpu_rows[] = {
    SPEC_ROW(GPU, like, "like", FIELD_TEXT, "Type that gives all that is not written here",
             .unit = UNIT_NONE),
    SPEC_ROW(GPU, title, "title", FIELD_TEXT, "What people call it", .unit = UNIT_NONE),
    SPEC_ROW(GPU, memory_bytes, "memory", FIELD_NUMBER, "Memory", .unit = UNIT_BYTES,
             .above = true),
    SPEC_ROW(GPU, bandwidth_per_s, "bandwidth", FIELD_NUMBER, "Bandwidth of the memory",
             .unit = UNIT_BANDWIDTH, .above = true),
    SPEC_ROW(GPU, sms, "sms", FIELD_WHOLE, "SMs", .min = 1, .max = 65535),
    SPEC_ROW(GPU, power_w, "power", FIELD_NUMBER, "Power cap", .unit = UNIT_POWER, .above = true),
    SPEC_ROW(GPU, idle_power_w, "idle_power", FIELD_NUMBER, "Power when idle", .unit = UNIT_POWER,
             .above = true),
    SPEC_ROW(GPU, usd_per_h, "price", FIELD_NUMBER, "Price of an hour", .unit = UNIT_USD_PER_H,
             .above = true),
    SPEC_ROW(GPU, compute_slices, "compute_slices", FIELD_WHOLE, "MIG compute slices", .min = 1,
             .max = MIG_COMPUTE),
    SPEC_ROW(GPU, memory_slices, "memory_slices", FIELD_WHOLE, "MIG memory slices", .min = 1,
             .max = MIG_SLICES),
    SPEC_ROW(GPU, profiles, "profiles", FIELD_LIST,
             "MIG profiles, smallest first, in place of those of `like`", .table = &profile,
             .max = MIG_PROFILES),
};
static const struct field_table gpu =
    SPEC_OF(GPU, gpu_rows, "gpu-type", "A type of GPU", .brief = "like");

#define NODE struct node_type_spec

static const struct field node_rows[] = {
    SPEC_ROW(NODE, like, "like", FIELD_TEXT, "Type that gives all that is not written here",
             .unit = UNIT_NONE),
    SPEC_ROW(NODE, title, "title", FIELD_TEXT, "What people call it", .unit = UNIT_NONE),
    SPEC_ROW(NODE, gpu, "gpu", FIELD_TEXT, "Type of its GPUs", .unit = UNIT_NONE),
    SPEC_ROW(NODE, gpus, "gpus", FIELD_WHOLE, "GPUs", .unit = UNIT_GPU, .min = 1, .max = 128),
    SPEC_ROW(NODE, sockets, "sockets", FIELD_WHOLE, "CPU sockets", .min = 1, .max = 64),
    SPEC_ROW(NODE, nics, "nics", FIELD_WHOLE, "Compute NICs", .min = 1, .max = 128),
    SPEC_ROW(NODE, network_per_s, "network", FIELD_NUMBER, "All compute NICs, one way",
             .unit = UNIT_BANDWIDTH, .above = true),
    SPEC_ROW(NODE, vcpus, "vcpus", FIELD_WHOLE, "vCPUs", .min = 1, .max = 65535),
    SPEC_ROW(NODE, memory_bytes, "memory", FIELD_NUMBER, "Memory of the host", .unit = UNIT_BYTES,
             .above = true),
    SPEC_ROW(NODE, power_w, "power", FIELD_NUMBER, "Most power", .unit = UNIT_POWER, .above = true),
    SPEC_ROW(NODE, domain, "domain", FIELD_WHOLE, "GPUs behind one NVSwitch fabric",
             .unit = UNIT_GPU, .min = 1, .max = 1024),
};
static const struct field_table node =
    SPEC_OF(NODE, node_rows, "node-type", "A type of node", .brief = "like");

#define HARDWARE struct hardware_spec

static const struct field hardware_rows[] = {
    SPEC_ROW(HARDWARE, gpus, "gpus", FIELD_MAP, "Types of GPUs by name", .table = &gpu, .max = 64),
    SPEC_ROW(HARDWARE, nodes, "nodes", FIELD_MAP, "Types of nodes by name", .table = &node,
             .max = 64),
};
const struct field_table spec_hardware = SPEC_OF(
    HARDWARE, hardware_rows, "hardware",
    "Types beside those of the catalogue, which `headroom list --hardware` prints", .brief = NULL);
