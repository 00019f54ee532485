/* Reader of mig-parted configurations: named layouts of the GPUs of a node.
 *
 *     version: v1
 *     mig-configs:
 *       night:
 *       - devices: [6, 7]          # or all
 *         device-filter: [...]     # kept as text
 *         mig-enabled: true
 *         mig-devices: {"1g.20gb": 1, "1g.10gb": 6}
 *
 * mig-devices counts instances; where they go is the driver's choice, so a group is right when its
 * instances fit on one GPU of the type at all. */
#ifndef HEADROOM_SCENARIOS_MIG_PARTED_H
#define HEADROOM_SCENARIOS_MIG_PARTED_H

#include "models/hardware/mig_pack.h"
#include "sim/diag.h"

struct mig_parted_group {
    bool all; /* every GPU; else those of devices */
    const uint32_t *devices;
    size_t n_devices;
    const char *filter; /* the device-filter as written, or NULL */
    bool enabled;
    uint32_t n[MIG_PROFILES]; /* instances on each GPU */
    struct mig_layout layout; /* that holds them */
};

struct mig_parted_config {
    const char *name;
    struct mig_parted_group *groups;
    size_t n_groups;
};

struct mig_parted {
    struct mig_parted_config *configs;
    size_t n;
};

/* HR_INPUT: all that is wrong is said in diags, with file, line and the nearest right word. Memory
 * is the arena's. */
enum hr_err mig_parted_read(const char *path, const struct mig_packer *packer, struct arena *arena,
                            struct diags *diags, struct mig_parted *out);

#endif
