/* Packing scenarios: what a page becomes, and what is refused where. */
#include "scenarios/packing.h"
#include "scenarios/scenario.h"

#include <criterion/criterion.h>
#include <string.h>

#define HERE     TEST_SOURCE_ROOT "/scenarios/test.yaml"
#define N(array) (sizeof(array) / sizeof *(array))

static const char small[] =
    "scenario: small\n"
    "seed: 9\n"
    "packing:\n"
    "  nodes:\n"
    "    groups:\n"
    "      b: {nodes: 2}\n"
    "      a: {nodes: 1, gpus: 4, cpus: 16, memory: 64GiB, gpu: t4}\n"
    "  pods:\n"
    "    classes:\n"
    "      half: {count: 3, share: 50%, cpus: 2.5, memory: 1GB, gpu: [t4, p4]}\n"
    "      pair: {count: 2, gpus: 2}\n"
    "      plain: {count: 1, gpus: 0, cpus: 8}\n"
    "  policies: [fgd, random]\n"
    "  ties: [name, random]\n";

static enum hr_err load(const char *text, const char *set, struct diags *d,
                        struct packing_scenario *s)
{
    return packing_load_text(HERE, text, strlen(text), &set, set != NULL, d, s);
}

Test(packing, a_page_becomes_a_cluster_and_pods)
{
    struct diags d = {0};
    struct packing_scenario s;
    cr_assert_eq(load(small, NULL, &d, &s), HR_OK);
    cr_assert_eq(s.nodes.n, 3);
    const struct cluster_node *first = &s.nodes.rows[0], *last = &s.nodes.rows[2];
    cr_assert_str_eq(first->name, "a-000000", "sorted by name");
    cr_assert(first->devices == 4 && first->cpu_milli == 16000 && first->memory_mib == 65536);
    cr_assert_str_eq(s.types.names[first->type], "t4");
    cr_assert(last->devices == 8 && last->cpu_milli == 192000);
    cr_assert_eq(last->memory_mib, 1953125, "2048 GB in whole MiB");
    cr_assert_eq(s.pods.n, 6);
    const struct cluster_pod *half = &s.pods.shapes[s.pods.rows[0]],
                             *pair = &s.pods.shapes[s.pods.rows[3]],
                             *plain = &s.pods.shapes[s.pods.rows[5]];
    cr_assert(half->milli == 500 && half->devices == 1 && half->cpu_milli == 2500);
    cr_assert_eq(half->memory_mib, 954, "rounded up");
    cr_assert(cluster_accepts(half, first->type) && !cluster_accepts(half, last->type));
    cr_assert(pair->devices == 2 && pair->milli == 1000 && pair->types == 0);
    cr_assert(plain->devices == 0 && plain->milli == 0);
    cr_assert_eq(s.n_columns, 3, "random has ties of its own");
    cr_assert_str_eq(s.columns[0].policy->name, "random");
    cr_assert(s.columns[1].ties == POLICY_TIE_NAME && s.columns[2].ties == POLICY_TIE_RANDOM);
    cr_assert_eq(s.plan.n_levels, 10);
    cr_assert_float_eq(s.levels[0], 0.5, 1e-12);
    cr_assert_float_eq(s.levels[5], 0.95, 1e-12);
    cr_assert_float_eq(s.levels[9], 1.3, 1e-12);
    cr_assert_eq(s.replications, 10);
    cr_assert_eq(s.plan.seed, 9);
    packing_free(&s);
    diags_fini(&d);
}

Test(packing, settings_are_laid_over)
{
    struct diags d = {0};
    struct packing_scenario s;
    cr_assert_eq(load(small, "packing.policies=[best-fit, first-fit]", &d, &s), HR_OK);
    cr_assert_eq(s.n_columns, 3);
    cr_assert_str_eq(s.columns[0].policy->name, "first-fit");
    packing_free(&s);
    cr_assert_eq(load(small, "packing.levels=[50%, 1.1]", &d, &s), HR_OK);
    cr_assert_eq(s.plan.n_levels, 2);
    packing_free(&s);
    diags_fini(&d);
}

/* The words of the table are the policies, in their order. */
Test(packing, every_policy_has_its_word)
{
    for (int i = 0; i < POLICIES; i++) {
        struct diags d = {0};
        struct packing_scenario s;
        char set[64];
        snprintf(set, sizeof set, "packing.policies=[%s]", policies[i].name);
        cr_assert_eq(load(small, set, &d, &s), HR_OK, "%s", policies[i].name);
        cr_assert_eq(s.columns[0].policy, &policies[i]);
        packing_free(&s);
        diags_fini(&d);
    }
}

/* ---- what is refused ---- */

static const struct {
    const char *set, *fragment;
} mistakes[] = {
    {"packing.policies=[tetris]", "tetris"},
    {"packing.ties=[lowest]", "lowest"},
    {"packing.levels=[50%, 50%]", "they must ascend"},
    {"packing.levels=[140%]", "140 % is beyond the ratio, 1.3"},
    {"packing.nodes={}", "needs one of file, groups"},
    {"packing.nodes={file: x.csv, groups: {a: {nodes: 1}}}", "needs one of file, groups"},
    {"packing.nodes=no-such-list.csv", "no such file"},
    {"packing.pods=../traces/data/openb/openb_node_list_gpu_node.csv.gz", "missing column 'name'"},
    {"packing.pods={}", "needs one of file, classes"},
    {"packing.nodes.groups.b.gpus=17", "17"},
    {"packing.nodes={groups: {a: {nodes: 1, gpus: 0}}}", "no node has a GPU"},
    {"packing.pods={classes: {a: {count: 1, gpus: 0}}}", "no pod asks for a GPU"},
    {"packing.pods={classes: {a: {count: 1, share: 0.05%}}}", "share"},
    {"packing.ratio=0", "ratio"},
    {"packing.cover=120%", "cover"},
    {"fleet=8", "fleet"},
    {"replications=0", "replications"},
};

Test(packing, mistakes_are_said)
{
    for (size_t i = 0; i < N(mistakes); i++) {
        struct diags d = {0};
        struct packing_scenario s;
        bool said = false;
        cr_expect_eq(load(small, mistakes[i].set, &d, &s), HR_INPUT, "%s", mistakes[i].set);
        for (size_t k = 0; k < d.n; k++)
            said = said || strstr(d.items[k].text, mistakes[i].fragment);
        cr_expect(said, "%s: %s", mistakes[i].set, d.n ? d.items[0].text : "nothing");
        packing_free(&s);
        diags_fini(&d);
    }
}

Test(packing, a_list_that_would_never_end_is_refused)
{
    struct diags d = {0};
    struct packing_scenario s;
    const char *const sets[] = {"packing.nodes={groups: {a: {nodes: 100000, gpus: 16}}}",
                                "packing.pods={classes: {a: {count: 1, share: 0.1%}}}"};
    cr_assert_eq(packing_load_text(HERE, small, strlen(small), sets, 2, &d, &s), HR_INPUT);
    cr_assert(strstr(d.items[0].text, "more than 20000000 pods would have to arrive"));
    packing_free(&s);
    diags_fini(&d);
}

Test(packing, too_many_nodes_or_pods_are_refused)
{
    static const char *const sets[] = {
        "packing.nodes={groups: {a: {nodes: 100000}, b: {nodes: 100000}, c: {nodes: 100000}, "
        "d: {nodes: 100000}, e: {nodes: 100000}, f: {nodes: 100000}, g: {nodes: 100000}, "
        "h: {nodes: 100000}, i: {nodes: 100000}, j: {nodes: 100000}, k: {nodes: 1}}}",
        "packing.pods={classes: {a: {count: 1000000}, b: {count: 1000000}, c: {count: 1000000}, "
        "d: {count: 1000000}, e: {count: 1000000}, f: {count: 1000000}, g: {count: 1000000}, "
        "h: {count: 1000000}, i: {count: 1000000}, j: {count: 1000000}, k: {count: 1}}}"};
    for (size_t i = 0; i < N(sets); i++) {
        struct diags d = {0};
        struct packing_scenario s;
        cr_expect_eq(load(small, sets[i], &d, &s), HR_INPUT);
        cr_expect(d.n && strstr(d.items[0].text,
                                i ? "more than 10000000 pods" : "more than 1000000 nodes"));
        packing_free(&s);
        diags_fini(&d);
    }
}

/* Bytes changed, dropped and doubled at random: refused or read, never worse. */
Test(packing, any_bytes_are_refused_or_read, .timeout = 60)
{
    struct rng rng;
    uint32_t refused = 0;
    rng_init(&rng, 41, 0, "test", "bytes");
    for (int round = 0; round < 1500; round++) {
        char text[sizeof small + 8];
        size_t n = sizeof small - 1;
        struct diags d = {0};
        struct packing_scenario s;
        memcpy(text, small, n);
        for (uint64_t k = 1 + rng_below(&rng, 3); k > 0; k--) {
            size_t at = rng_below(&rng, n);
            uint64_t what = rng_below(&rng, 3);
            if (what == 0)
                text[at] = (char)rng_below(&rng, 256);
            else if (what == 1)
                memmove(text + at, text + at + 1, --n - at);
            else
                text[at] = "0123456789:{}[],%-. \n"[rng_below(&rng, 21)];
        }
        enum hr_err err = packing_load_text(HERE, text, n, NULL, 0, &d, &s);
        cr_assert(err == HR_OK ? d.n_errors == 0 : err == HR_INPUT && d.n_errors > 0);
        refused += err != HR_OK;
        packing_free(&s);
        diags_fini(&d);
    }
    cr_assert(refused > 500 && refused < 1500, "%u", refused);
}

Test(packing, a_run_points_to_the_command)
{
    struct diags d = {0};
    struct scenario *s;
    const char *path = TEST_SOURCE_ROOT "/scenarios/openb-ties.yaml";
    cr_assert(packing_is(path));
    cr_assert(!packing_is(TEST_SOURCE_ROOT "/scenarios/ramp.yaml"));
    cr_assert(!packing_is("/nonexistent"));
    cr_assert_eq(scenario_load(path, NULL, 0, &d, &s), HR_INPUT);
    cr_assert_eq(d.n, 1);
    cr_assert(strstr(d.items[0].text, "headroom pack"));
    diags_fini(&d);
}
