/* The catalogue of GPUs and nodes: each MIG profile against its source row, numbers against the
 * fact sheet, and names found. */
#include "csv_lines.h"
#include "models/hardware/catalogue.h"

#include <math.h>
#include <stdlib.h>

/* Columns of models/hardware/data/h100_mig.csv. */
enum {
    MODEL,
    GB,
    PROFILE,
    ID,
    COMPUTE,
    MEMORY,
    SM,
    GIB,
    MIB,
    L2,
    COPY,
    NVDEC,
    JPEG,
    OFA,
    MOST,
    STARTS,
    SIZE,
    CONFIDENCE,
    N = 20
};

static const char *type_of(const struct csv_line *row)
{
    static const char *const names[][3] = {
        {"H100 SXM5", "80", "h100-sxm"}, {"H100 PCIe", "80", "h100-pcie"},
        {"H100 NVL", "94", "h100-nvl"},  {"H100 96GB (GH200)", "96", "gh200"},
        {"H200", "141", "h200"},         {"B200", "180", "b200"},
        {"GB200", "186", "gb200"},       {"A100 SXM4", "40", "a100-40gb"},
        {"A100 SXM4", "80", "a100-80gb"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], row->cell[MODEL]) == 0 && strcmp(names[i][1], row->cell[GB]) == 0)
            return names[i][2];
    cr_assert_fail("unknown GPU %s %s", row->cell[MODEL], row->cell[GB]);
    return NULL;
}

static int engines(const char *cell)
{
    return *cell ? atoi(cell) : MIG_UNKNOWN;
}

static void compare(const struct mig_profile *p, const struct csv_line *row)
{
    unsigned starts = 0;
    for (char *at = row->cell[STARTS]; *at;)
        starts |= 1u << strtoul(at, &at, 10);
    cr_expect_eq(p->id, atoi(row->cell[ID]));
    cr_expect_eq(p->compute, atoi(row->cell[COMPUTE]));
    cr_expect_eq(p->memory, atoi(row->cell[MEMORY]));
    cr_expect_eq(p->memory, atoi(row->cell[SIZE]));
    cr_expect_eq(p->max, atoi(row->cell[MOST]));
    cr_expect_eq(p->starts, starts);
    cr_expect_eq(p->media, strstr(p->name, "+me") != NULL);
    cr_expect_eq(p->n_sm, atoi(row->cell[SM]));
    cr_expect_eq(p->memory_mib, (uint32_t)atoi(row->cell[MIB]));
    cr_expect_eq(p->l2_eighths, engines(row->cell[L2]));
    cr_expect_eq(p->copy_engines, engines(row->cell[COPY]));
    cr_expect_eq(p->nvdec, engines(row->cell[NVDEC]));
    cr_expect_eq(p->jpeg, engines(row->cell[JPEG]));
    cr_expect_eq(p->ofa, engines(row->cell[OFA]));
}

Test(hardware, profiles_equal_their_source_rows)
{
    static struct csv_line rows[128];
    const size_t n = csv_lines("models/hardware/data/h100_mig.csv", rows, 128);
    size_t at = 0;
    cr_assert_eq(n, 63);
    for (size_t g = 0; g + 1 < GPU_TYPES; g++) { /* the last one, A30, is not in the file */
        const struct gpu_type *type = &gpu_types[g];
        for (uint8_t p = 0; p < type->mig.n_profiles; p++, at++) {
            cr_assert_lt(at, n);
            cr_assert_eq(rows[at].n, (size_t)N);
            cr_assert_str_eq(type->name, type_of(&rows[at]));
            cr_assert_str_eq(type->mig.profiles[p].name, rows[at].cell[PROFILE]);
            compare(&type->mig.profiles[p], &rows[at]);
            cr_expect_str_eq(hw_confidence_names[type->mig_confidence], rows[at].cell[CONFIDENCE]);
        }
    }
    cr_assert_eq(at, n);
}

Test(hardware, every_type_is_sound)
{
    for (size_t g = 0; g < GPU_TYPES; g++) {
        size_t profile;
        const char *fault = mig_gpu_fault(&gpu_types[g].mig, &profile);
        cr_expect_null(fault, "%s %zu: %s", gpu_types[g].name, profile, fault);
        const struct hw_number numbers[] = {
            gpu_types[g].memory_gb,   gpu_types[g].bandwidth_gb_per_s, gpu_types[g].n_sm,
            gpu_types[g].power_cap_w, gpu_types[g].power_idle_w,       gpu_types[g].usd_per_h};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            cr_expect_eq(hw_known(numbers[i]), numbers[i].value > 0);
            cr_expect_eq(hw_known(numbers[i]), numbers[i].source[0] != '\0');
        }
    }
    for (size_t i = 0; i < NODE_TYPES; i++) {
        cr_expect_not_null(gpu_type_find(&hardware_builtin, node_types[i].gpu));
        cr_expect_geq(node_types[i].domain_gpus.value, node_types[i].n_gpus.value);
    }
}

Test(hardware, unsound_types_are_refused)
{
    const struct mig_profile good = {"1g", 1, 1, 1, 4, 0x0f, false, 0, 0, 0, 0, 0, 0, 0};
    struct {
        struct mig_profile p;
        const char *why;
    } cases[] = {{good, NULL},
                 {good, "number of instances"},
                 {good, "no compute slice"},
                 {good, "no memory slice"},
                 {good, "no place"},
                 {good, "beyond"},
                 {good, "number of instances"}};
    cases[1].p.max = 3;
    cases[2].p.compute = 5;
    cases[3].p.memory = 0;
    cases[4].p.starts = 0;
    cases[5].p.memory = 2;
    cases[6].p.media = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mig_gpu gpu = {&cases[i].p, 1, 4, 4};
        size_t profile;
        const char *fault = mig_gpu_fault(&gpu, &profile);
        cr_expect_eq(fault == NULL, cases[i].why == NULL, "case %zu", i);
        if (fault && cases[i].why)
            cr_expect_not_null(strstr(fault, cases[i].why), "case %zu: %s", i, fault);
    }
    const struct mig_profile twice[] = {good, good};
    const struct mig_gpu gpu = {twice, 2, 4, 4}, none = {twice, 0, 4, 4}, large = {twice, 1, 8, 4};
    size_t profile;
    cr_expect_not_null(mig_gpu_fault(&gpu, &profile));
    cr_expect_eq(profile, 1);
    cr_expect_not_null(mig_gpu_fault(&none, &profile));
    cr_expect_not_null(mig_gpu_fault(&large, &profile));
}

Test(hardware, numbers_of_the_fact_sheet)
{
    const struct gpu_type *sxm = gpu_type_find(&hardware_builtin, "h100-sxm");
    const struct node_type *dgx = node_type_find(&hardware_builtin, "dgx-h100");
    cr_assert(sxm && dgx);
    cr_expect_eq(sxm->bandwidth_gb_per_s.value, 3350);
    cr_expect_eq(sxm->power_cap_w.value, 700);
    cr_expect_eq(sxm->mig.profiles[6].n_sm, sxm->n_sm.value);
    cr_expect_eq(dgx->n_gpus.value, 8);
    cr_expect_eq(dgx->power_max_kw.value, 10.2);
    cr_expect_eq(node_type_find(&hardware_builtin, "a3-high")->network_gb_per_s.value, 100);
    cr_expect(!hw_known(node_type_find(&hardware_builtin, "p5")->power_max_kw));
}

Test(hardware, names)
{
    cr_expect_null(gpu_type_find(&hardware_builtin, "h100"));
    cr_expect_str_eq(gpu_type_nearest(&hardware_builtin, "h100-smx"), "h100-sxm");
    cr_expect_str_eq(node_type_nearest(&hardware_builtin, "dgx-h10"), "dgx-h100");
    cr_expect_null(gpu_type_nearest(&hardware_builtin, "something else"));
    const struct mig_gpu *gpu = &gpu_types[0].mig;
    cr_expect_eq(mig_profile_find(gpu, "3g.40gb"), 4);
    cr_expect_eq(mig_profile_find(gpu, "3g.48gb"), gpu->n_profiles);
    cr_expect_eq(mig_profile_by_id(gpu, 9), 4);
    cr_expect_eq(mig_profile_by_id(gpu, 3), gpu->n_profiles);
    cr_expect_eq(mig_plain_profiles(gpu), 0x7d);
}
