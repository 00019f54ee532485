/* Fewest GPUs that hold a demand of MIG instances, and on which layouts: the exact packer.
 *
 * What one GPU holds is a part of one of its maximal multisets (28 on an H100 80 GB without media
 * engines), so the question is how many of each to take: a covering problem in whole numbers. Its
 * linear relaxation gives a lower bound and whole GPUs to begin with; a branch and bound over the
 * rest, and over everything where that leaves a gap, settles the number. */
#ifndef HEADROOM_MODELS_HARDWARE_MIG_PACK_H
#define HEADROOM_MODELS_HARDWARE_MIG_PACK_H

#include "models/hardware/mig.h"
#include "sim/arena.h"
#include "sim/err.h"

/* A maximal multiset that is not part of a larger one, with a layout that realises it. */
struct mig_pattern {
    uint8_t n[MIG_PROFILES];
    struct mig_layout layout;
};

struct mig_packer {
    const struct mig_tables *t;
    struct mig_pattern *patterns; /* most memory slices first */
    size_t n_patterns;
};

/* Memory is the arena's; the tables must outlive the packer. */
enum hr_err mig_packer_init(struct mig_packer *packer, const struct mig_tables *t,
                            struct arena *arena);

struct mig_plan {
    struct mig_plan_row {
        struct mig_layout layout; /* only what is asked for */
        uint32_t n_gpus;          /* that have it */
    } * rows;
    size_t n_rows;
    uint32_t n_gpus;
    uint32_t bound; /* no plan has fewer GPUs: equals n_gpus, unless above 256 GPUs or after
                       millions of steps the gap to the relaxation could not be closed */
};

/* demand: instances of each profile, at most 1e6 of each. */
enum hr_err mig_pack(const struct mig_packer *packer, const uint32_t demand[MIG_PROFILES],
                     struct arena *arena, struct mig_plan *out);

/* Lower bound by slices alone: max(ceil(compute / slices), ceil(memory / slices)). */
uint32_t mig_pack_slice_bound(const struct mig_gpu *gpu, const uint32_t demand[MIG_PROFILES]);

/* GPUs when each is cut into one profile only. */
uint32_t mig_pack_unmixed(const struct mig_gpu *gpu, const uint32_t demand[MIG_PROFILES]);

/* The linear relaxation: fractions x of GPUs for each pattern (NULL: not wanted) that cover the
 * demand, and their least sum. */
double mig_pack_relaxed(const struct mig_packer *packer, const uint32_t demand[MIG_PROFILES],
                        double *x);

#endif
