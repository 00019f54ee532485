/* Worksheet: GPUs that a demand of MIG instances needs. */
#include "analysis/worksheets/sheet.h"
#include "models/hardware/catalogue.h"
#include "models/hardware/mig_pack.h"

#include <math.h>
#include <stdlib.h>

enum { N_1G10, N_1G20, N_2G20, N_3G40, N_4G40, N_7G80, KINDS };
enum { COMPUTE, MEMORY, BOUND, OPTIMAL, UNMIXED, SAVES, WASTED_COMPUTE, WASTED_MEMORY };

/* The profiles of an H100 80 GB in the order of the inputs. */
static const char *const profiles[KINDS] = {"1g.10gb", "1g.20gb", "2g.20gb",
                                            "3g.40gb", "4g.40gb", "7g.80gb"};

#define WANTED(number, key, symbol, text, usual)                                                   \
    [number] = SHEET_INPUT(key, symbol, "instances", "wanted " text, usual, .type = SHEET_COUNT,   \
                           .max = 1000)

static const struct sheet_input inputs[] = {
    WANTED(N_1G10, "n_1g10", "n_1", "1g.10gb", "10"),
    WANTED(N_1G20, "n_1g20", "n_1m", "1g.20gb", "4"),
    WANTED(N_2G20, "n_2g20", "n_2", "2g.20gb", "6"),
    WANTED(N_3G40, "n_3g40", "n_3", "3g.40gb", "5"),
    WANTED(N_4G40, "n_4g40", "n_4", "4g.40gb", "2"),
    WANTED(N_7G80, "n_7g80", "n_7", "7g.80gb", "1"),
};

static const struct sheet_output outputs[] = {
    [COMPUTE] = SHEET_OUTPUT("compute_slices", "c", "slices",
                             "{n_1g10} + {n_1g20} + 2 x {n_2g20} + 3 x {n_3g40} + 4 x {n_4g40} + 7 "
                             "x {n_7g80}",
                             "They take {compute_slices} of compute, of which a GPU has 7.",
                             .type = SHEET_COUNT),
    [MEMORY] =
        SHEET_OUTPUT("memory_slices", "m", "slices",
                     "{n_1g10} + 2 x {n_1g20} + 2 x {n_2g20} + 4 x {n_3g40} + 4 x {n_4g40} "
                     "+ 8 x {n_7g80}",
                     "And {memory_slices} of memory, of which it has 8.", .type = SHEET_COUNT),
    [BOUND] = SHEET_OUTPUT("bound", "b", "GPUs",
                           "max(ceil({compute_slices} / 7), ceil({memory_slices} / 8))",
                           "By slices alone {bound} at least.", .type = SHEET_COUNT),
    [OPTIMAL] =
        SHEET_OUTPUT("optimal_gpus", "N", "GPUs", "the fewest of all legal placements",
                     "With the legal starts the fewest is {optimal_gpus}.", .type = SHEET_COUNT),
    [UNMIXED] = SHEET_OUTPUT("one_profile_per_gpu", "N_1", "GPUs",
                             "ceil({n_1g10} / 7) + ceil({n_1g20} / 4) + ceil({n_2g20} / 3) + "
                             "ceil({n_3g40} / 2) + {n_4g40} + {n_7g80}",
                             "Cut into one profile each it would be {one_profile_per_gpu}.",
                             .type = SHEET_COUNT),
    [SAVES] = SHEET_OUTPUT("mixing_saves", "s", "GPUs", "{one_profile_per_gpu} - {optimal_gpus}",
                           "Mixing profiles on a GPU saves {mixing_saves}.", .type = SHEET_COUNT),
    [WASTED_COMPUTE] = SHEET_OUTPUT("wasted_compute", "w_c", "fraction",
                                    "1 - {compute_slices} / (7 x {optimal_gpus})",
                                    "{wasted_compute} of the compute is left over."),
    [WASTED_MEMORY] = SHEET_OUTPUT("wasted_memory", "w_m", "fraction",
                                   "1 - {memory_slices} / (8 x {optimal_gpus})",
                                   "{wasted_memory} of the memory."),
};

static bool nothing(const struct sheet_case *c)
{
    return sheet_out(c, OPTIMAL) == 0;
}

static bool above_bound(const struct sheet_case *c)
{
    return sheet_out(c, OPTIMAL) > sheet_out(c, BOUND);
}

static const struct sheet_remark remarks[] = {
    {OPTIMAL, nothing, "Nothing is wanted."},
    {OPTIMAL, above_bound,
     "It takes {optimal_gpus}: slices are left over, but not where an instance may start."},
};

static double by_slices(const struct sheet_case *c)
{
    return sheet_out(c, BOUND);
}

static double by_compute(const struct sheet_case *c)
{
    return sheet_ceil(sheet_out(c, COMPUTE) / 7);
}

static double unmixed(const struct sheet_case *c)
{
    return sheet_out(c, UNMIXED);
}

static const struct sheet_mistake mistakes[] = {
    {BOUND, "counts compute slices only: memory ends first", by_compute},
    {OPTIMAL, "counts compute slices only: memory ends first", by_compute},
    {OPTIMAL, "counts slices: an instance may not start anywhere", by_slices},
    {OPTIMAL, "cuts each GPU into one profile only", unmixed},
};

/* ---- solution ---- */

static bool demand_of(const struct sheet_case *c, const struct mig_gpu *gpu,
                      uint32_t demand[MIG_PROFILES])
{
    for (uint8_t k = 0; k < KINDS; k++) {
        const uint8_t p = mig_profile_find(gpu, profiles[k]);
        if (p == gpu->n_profiles)
            return false;
        demand[p] = (uint32_t)sheet_in(c, k);
    }
    return true;
}

/* HR_INPUT: the search could not prove that fewer will not do. */
static enum hr_err pack(const struct mig_gpu *gpu, const uint32_t demand[MIG_PROFILES],
                        uint32_t *gpus)
{
    struct arena arena = {0};
    struct mig_packer packer;
    struct mig_plan plan;
    struct mig_tables *t = malloc(sizeof *t);
    enum hr_err err = t ? HR_OK : HR_NOMEM;
    if (err == HR_OK) {
        mig_tables_init(t, gpu, NULL);
        err = mig_packer_init(&packer, t, &arena);
    }
    if (err == HR_OK)
        err = mig_pack(&packer, demand, &arena, &plan);
    if (err == HR_OK && plan.bound != plan.n_gpus)
        err = HR_INPUT;
    if (err == HR_OK)
        *gpus = plan.n_gpus;
    arena_fini(&arena);
    free(t);
    return err;
}

static double wasted(double used, double slices, double gpus)
{
    return gpus > 0 ? 1 - used / (slices * gpus) : 0;
}

static void solve(struct sheet_case *c)
{
    const struct mig_gpu *gpu = &gpu_type_find(&hardware_builtin, "h100-sxm")->mig;
    uint32_t demand[MIG_PROFILES] = {0}, gpus = 0;
    double compute = 0, memory = 0;
    const bool known = demand_of(c, gpu, demand);
    if (!known || pack(gpu, demand, &gpus) != HR_OK) {
        sheet_refuse(c, N_1G10, "and the others are too many for the search: not proven");
        return;
    }
    for (uint8_t p = 0; p < gpu->n_profiles; p++) {
        compute += (double)demand[p] * gpu->profiles[p].compute;
        memory += (double)demand[p] * gpu->profiles[p].memory;
    }
    const double unmixed_gpus = mig_pack_unmixed(gpu, demand);
    sheet_set(c, COMPUTE, compute);
    sheet_set(c, MEMORY, memory);
    sheet_set(c, BOUND, mig_pack_slice_bound(gpu, demand));
    sheet_set(c, OPTIMAL, gpus);
    sheet_set(c, UNMIXED, unmixed_gpus);
    sheet_set(c, SAVES, unmixed_gpus - gpus);
    sheet_set(c, WASTED_COMPUTE, wasted(compute, gpu->compute, gpus));
    sheet_set(c, WASTED_MEMORY, wasted(memory, gpu->memory, gpus));
}

static const char *const rules[] = {
    "Nothing wanted: every count and every share is 0.",
    "At most 1,000 of each; where the search cannot prove the fewest, that is said.",
    NULL,
};

extern const struct sheet sheet_mig_packing;
const struct sheet sheet_mig_packing = {
    .name = "mig-packing",
    .group = "Multi-tenant cloud: units, packing, scrubbing",
    .question = "How many GPUs do these hardware partitions need?",
    .doc =
        "An 80 GB GPU has 7 compute slices and 8 memory slices; a profile takes some of each and "
        "may start at certain memory slices only: 1g.10gb at 0 to 6, 1g.20gb at 0 2 4 6, 2g.20gb "
        "at 0 2 4, 3g.40gb at 0 4, 4g.40gb and 7g.80gb at 0.",
    .assumption = "All instances are placed at once: a fleet that grew has holes elsewhere.",
    .rules = rules,
    .sources = "NVIDIA MIG user guide: profiles and placements of the A100 and H100 80 GB",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = OPTIMAL,
    .solve = solve,
};
