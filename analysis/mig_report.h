/* What `headroom mig` says: layouts drawn as memory slices, in text of 80 columns or as JSON. */
#ifndef HEADROOM_ANALYSIS_MIG_REPORT_H
#define HEADROOM_ANALYSIS_MIG_REPORT_H

#include "models/hardware/catalogue.h"
#include "models/hardware/mig_pack.h"
#include "models/plan.h"
#include "scenarios/mig_parted.h"
#include "traces/mig_listing.h"

struct json;

struct mig_report {
    FILE *out;
    bool json;
    const struct gpu_type *type;
    const struct mig_tables *t;
};

/* The plan for a demand, and the maximal layouts that hold it on one GPU (of all, where nothing is
 * demanded). */
void mig_report_layouts(const struct mig_report *r, const uint32_t demand[MIG_PROFILES],
                        const struct mig_plan *plan);

/* What is on each GPU, and how many more of each profile still fit. */
void mig_report_fits(const struct mig_report *r, const struct mig_gpu_layout *gpus, size_t n);

/* An order of creation: each instance at the start that the driver takes, and the order that places
 * most, found by trying all. n is at most MIG_ORDER_MAX. */
enum { MIG_ORDER_MAX = 16 };
void mig_report_order(const struct mig_report *r, const uint8_t *profiles, size_t n);

void mig_report_profiles(const struct mig_report *r, const char *path); /* a listing agreed */
void mig_report_parted(const struct mig_report *r, const struct mig_parted *parted);

/* A GPU drawn, with what is used and stranded of it; in JSON a member of that key. */
void mig_report_drawing(const struct mig_report *r, const struct mig_layout *l);
void mig_report_json_layout(struct json *j, const struct mig_report *r, const char *key,
                            const struct mig_layout *l);

/* The pools of instances of a plan (mig_pools.c): what a GPU has or takes at the start, who asks
 * for how many, and the fewest GPUs that hold the most that is asked for at a time. HR_INPUT: there
 * is no such pool. */
enum hr_err mig_report_pools(FILE *out, bool json, const struct plan *plan,
                             const struct hardware *hardware);

#endif
