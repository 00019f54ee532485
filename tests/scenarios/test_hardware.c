/* The section `hardware`: types of the user beside those of the catalogue, and what is wrong. */
#include "kit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* kit_small with a section before its designs. */
static char *with(const char *section)
{
    char both[2048];
    snprintf(both, sizeof both, "%sdesigns:\n", section);
    return kit_replace(kit_small, "designs:\n", both);
}

Test(hardware, without_a_section_it_is_the_catalogue)
{
    struct scenario *s = kit_load(kit_small, NULL, 0);
    const struct hardware *h = scenario_hardware(s);
    cr_expect(h->n_gpus == GPU_TYPES && h->n_nodes == NODE_TYPES);
    cr_expect_not_null(gpu_type_find(h, "h100-sxm"));
    scenario_free(s);
}

Test(hardware, types_of_the_user)
{
    char *text = with(
        "hardware:\n"
        "  gpus:\n"
        "    capped: {like: h100-sxm, power: 500W, price: $2/h}\n"
        "    same: h200\n"
        "    half:\n"
        "      title: Half a GPU\n"
        "      memory: 40GB\n"
        "      compute_slices: 4\n"
        "      memory_slices: 4\n"
        "      profiles:\n"
        "      - {name: 1g.10gb, id: 19, compute: 1, memory: 1, starts: [0, 1, 2, 3], sms: 16, "
        "size: 10GiB}\n"
        "      - {name: 1g.10gb+me, id: 20, compute: 1, memory: 1, starts: [0, 1, 2, 3], media: "
        "yes}\n"
        "      - {name: 4g.40gb, id: 0, compute: 4, memory: 4, starts: [0]}\n"
        "  nodes:\n"
        "    small: {gpu: half, gpus: 4, power: 3kW}\n"
        "    eight: {like: dgx-h100, gpu: capped, network: 200GB/s}\n");
    struct scenario *s = kit_load(text, NULL, 0);
    const struct hardware *h = scenario_hardware(s);
    const struct gpu_type *capped = gpu_type_find(h, "capped"), *half = gpu_type_find(h, "half");
    cr_assert(capped && half && gpu_type_find(h, "same"));
    cr_expect_eq(capped->power_cap_w.value, 500);
    cr_expect_eq(capped->power_cap_w.confidence, HW_STATED);
    cr_expect_eq(capped->bandwidth_gb_per_s.value, 3350);
    cr_expect_eq(capped->mig.n_profiles, 7);
    cr_expect_str_eq(half->title, "Half a GPU");
    cr_expect(!hw_known(half->bandwidth_gb_per_s) && isnan(half->bandwidth_gb_per_s.value));
    cr_assert_eq(half->mig.n_profiles, 3);
    cr_expect_eq(half->mig.profiles[0].max, 4);
    cr_expect_eq(half->mig.profiles[0].memory_mib, 10240);
    cr_expect_eq(half->mig.profiles[1].max, 1);
    cr_expect_eq(half->mig.profiles[2].starts, 1);
    const struct node_type *small = node_type_find(h, "small"), *eight = node_type_find(h, "eight");
    cr_assert(small && eight);
    cr_expect_eq(small->power_max_kw.value, 3);
    cr_expect(!hw_known(small->n_sockets));
    cr_expect_str_eq(eight->gpu, "capped");
    cr_expect_eq(eight->network_gb_per_s.value, 200);
    cr_expect_eq(eight->n_gpus.value, 8);
    scenario_free(s);
    free(text);
}

Test(hardware, what_is_wrong_is_said_at_its_place)
{
#define PROFILE(rest)                                                                              \
    "hardware:\n  gpus:\n    mine:\n      compute_slices: 4\n      memory_slices: 4\n"             \
    "      profiles: [{name: a, id: 1, " rest "}]\n"
    static const char *const cases[][2] = {
        {"hardware: {gpus: {h200: {like: h100-sxm}}}\n", "a GPU of this name already"},
        {"hardware: {gpus: {mine: {like: h100-smx}}}\n", "nearest: 'h100-sxm'"},
        {"hardware: {gpus: {mine: {likes: h100-sxm}}}\n", "nearest: 'like'"},
        {"hardware: {gpus: {mine: {power: 500}}}\n", "needs a unit"},
        {"hardware: {nodes: {p5: {like: dgx-h100}}}\n", "a node of this name already"},
        {"hardware: {nodes: {mine: {like: dgx-h10}}}\n", "nearest: 'dgx-h100'"},
        {"hardware: {nodes: {mine: {gpus: 8}}}\n", "a node needs gpu and gpus"},
        {"hardware: {nodes: {mine: {gpu: h20, gpus: 8}}}\n", "nearest: 'h200'"},
        {PROFILE("compute: 5, memory: 1, starts: [0]"), "profile a has no compute slice, or more"},
        {PROFILE("compute: 1, memory: 5, starts: [0]"), "profile a has no memory slice, or more"},
        {PROFILE("compute: 1, memory: 1"), "profile a has no place where it may begin"},
        {PROFILE("compute: 1, memory: 2, starts: [3]"), "beyond the last memory slice"},
        {PROFILE("compute: 1, memory: 2, starts: [9]"), "at most 7"},
        {PROFILE("memory: 2, starts: [0]"), "missing key 'compute'"},
        {"hardware: {gpus: {mine: {profiles: [{name: a, id: 1, compute: 1, memory: 1, starts: "
         "[0]}]}}}\n",
         "needs one to seven compute slices"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = with(cases[i][0]), *said = kit_refused(text, NULL, 0);
        cr_expect_not_null(strstr(said, cases[i][1]), "case %zu: '%s' is not in:\n%s", i,
                           cases[i][1], said);
        free(said);
        free(text);
    }
}
