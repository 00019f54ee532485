/* MIG tables for tests; mig_kit.h says which. */
#include "mig_kit.h"
#include "models/hardware/catalogue.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct mig_tables *mig_kit_tables(void)
{
    struct mig_tables *t = malloc(sizeof *t);
    size_t profile;
    const struct gpu_type *h100 = gpu_type_find(&hardware_builtin, "h100-sxm");
    cr_assert(t && h100 && !mig_gpu_fault(&h100->mig, &profile));
    mig_tables_init(t, &h100->mig, NULL);
    return t;
}

struct mig_kit_layout *mig_kit_layout(const struct mig_tables *t, const char *text)
{
    struct mig_kit_layout *l = malloc(sizeof *l);
    struct mig_instance items[MIG_SLICES];
    struct mig_gpu gpu = t->gpu;
    mig_state state = t->empty;
    char name[32];
    unsigned start;
    size_t n = 0;
    cr_assert_not_null(l);
    for (int length; sscanf(text, " %31[^@ ]@%u%n", name, &start, &length) == 2; text += length) {
        struct mig_instance one = {mig_profile_find(&gpu, name), (uint8_t)start};
        cr_assert(one.profile < gpu.n_profiles && mig_legal(t, state, one.profile, one.start));
        state = mig_after(t, state, one.profile, one.start);
        items[n++] = one;
    }
    cr_assert_gt(n, 0);
    mig_gpu_fix(&gpu, items, n, l->profiles);
    mig_tables_init(&l->tables, &gpu, NULL);
    return l;
}

struct rig_plan mig_kit_plan(const struct mig_tables *t, uint32_t nodes, uint32_t gpus)
{
    struct rig_plan plan = rig_plan_of(nodes, VICTIM_LEAST_WORK_LOST);
    plan.gpus_per_node = gpus;
    plan.sharing = (struct sharing_plan){.kind = SHARING_MIG,
                                         .units_per_gpu = 8,
                                         .mig = t,
                                         .order = MIG_ORDER_BEST,
                                         .rule = MIG_BEST,
                                         .reconfigure_ns = 2 * SIM_S};
    return plan;
}

struct shape mig_kit_slice(const struct mig_tables *t, const char *name)
{
    uint8_t profile = mig_profile_find(&t->gpu, name);
    cr_assert_lt(profile, t->gpu.n_profiles);
    return (struct shape){
        .gpus = t->gpu.profiles[profile].memory, .kind = SHAPE_SLICE, .profile = profile};
}
