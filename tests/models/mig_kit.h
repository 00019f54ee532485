/* MIG tables for tests of fleets: those of an H100, and of layouts that stay. */
#ifndef HEADROOM_TESTS_MODELS_MIG_KIT_H
#define HEADROOM_TESTS_MODELS_MIG_KIT_H

#include "models/capacity/fleet.h"
#include "models/hardware/mig.h"
#include "toy_fleet.h"

/* Of an H100 80 GB; to be freed. */
struct mig_tables *mig_kit_tables(void);

/* Profiles and tables of one layout, such as "3g.40gb@0 3g.40gb@4". */
struct mig_kit_layout {
    struct mig_profile profiles[MIG_PROFILES];
    struct mig_tables tables;
};
/* To be freed. */
struct mig_kit_layout *mig_kit_layout(const struct mig_tables *t, const char *text);

/* Instances cut on demand on so many GPUs a node, two seconds each; on the fullest GPU, at the
 * start of the driver. */
struct rig_plan mig_kit_plan(const struct mig_tables *t, uint32_t nodes, uint32_t gpus);

/* The ask for an instance. */
struct shape mig_kit_slice(const struct mig_tables *t, const char *name);

#endif
