/* The figures that the packing scenarios exist to show, and how they are printed. */
#include "analysis/packing.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER TEST_SOURCE_ROOT "/scenarios/"

struct filled {
    struct packing_scenario s;
    struct packing_figures f;
};

static void fill(struct filled *x, const char *path, const char *set)
{
    struct diags d = {0};
    memset(x, 0, sizeof *x);
    cr_assert_eq(packing_load(path, &set, set != NULL, &d, &x->s), HR_OK, "%s", path);
    cr_assert_eq(packing_figures_run(&x->s, &x->f), HR_OK);
    diags_fini(&d);
}

static void empty(struct filled *x)
{
    packing_figures_free(&x->f);
    packing_free(&x->s);
}

/* Percent at a level. */
static double allocated(const struct filled *x, const char *policy, enum policy_ties ties,
                        double level)
{
    for (uint32_t c = 0; c < x->s.n_columns; c++)
        for (uint32_t k = 0; k < x->s.plan.n_levels; k++)
            if (strcmp(x->s.columns[c].policy->name, policy) == 0 && x->s.columns[c].ties == ties &&
                fabs(x->s.levels[k] - level) < 1e-9)
                return 100 * packing_cell(&x->s, &x->f, c, k)->allocated.mean;
    return NAN;
}

/* Half a point about what is published, as the comment of the scenario says. */
Test(packing, openb_allocates_as_published, .timeout = 60)
{
    static const struct {
        const char *policy;
        enum policy_ties ties;
        double percent;
    } want[] = {{"random", POLICY_TIE_RANDOM, 86.303},
                {"best-fit", POLICY_TIE_NAME, 92.862},
                {"fgd", POLICY_TIE_NAME, 95.227}};
    struct filled x;
    fill(&x, FOLDER "openb-packing.yaml", "packing.policies=[random, best-fit, fgd, first-fit]");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        double got = allocated(&x, want[i].policy, want[i].ties, 1);
        cr_expect_float_eq(got, want[i].percent, 0.5, "%s: %.2f", want[i].policy, got);
    }
    double first = allocated(&x, "first-fit", POLICY_TIE_NAME, 1);
    cr_expect(first > 93.1 && first < 95.0, "between best-fit and fgd: %.2f", first);
    for (uint32_t c = 0; c < x.s.n_columns; c++)
        if (strcmp(x.s.columns[c].policy->name, "best-fit") == 0) {
            double idle = packing_cell(&x.s, &x.f, c, 0)->fragment_of_idle.mean;
            cr_expect_float_eq(idle, 0.21, 0.01, "a fifth of what is idle: %.3f", idle);
        }
    empty(&x);
}

Test(packing, ties_decide_the_order, .timeout = 60)
{
    struct filled x;
    fill(&x, FOLDER "openb-ties.yaml", NULL);
    double by_name = allocated(&x, "fgd", POLICY_TIE_NAME, 1),
           at_random = allocated(&x, "fgd", POLICY_TIE_RANDOM, 1),
           best_fit = allocated(&x, "best-fit", POLICY_TIE_RANDOM, 1);
    cr_expect_float_eq(by_name, 95.0, 0.15, "%.2f", by_name);
    cr_expect_float_eq(at_random, 89.9, 0.3, "%.2f", at_random);
    cr_expect_float_eq(best_fit, 93.0, 0.2, "%.2f", best_fit);
    cr_expect_float_eq(allocated(&x, "gpu-packing", POLICY_TIE_RANDOM, 1), 88.7, 0.3);
    cr_expect_gt(by_name, allocated(&x, "best-fit", POLICY_TIE_NAME, 1));
    cr_expect_lt(at_random, best_fit, "chance takes the lead from it");
    empty(&x);
}

/* Two GPUs are free, on two nodes: one move of one GPU makes room for a pair. */
Test(packing, moves_until_a_pod_can_start)
{
    static const char text[] =
        "scenario: two-nodes\nreplications: 1\npacking:\n"
        "  nodes: {groups: {a: {nodes: 2, gpus: 2}}}\n"
        "  pods: {classes: {one: {count: 2}, pair: {count: 1, gpus: 2}}}\n"
        "  policies: [worst-fit]\n  levels: [50%]\n";
    struct diags d = {0};
    struct filled x;
    bool seen = false;
    for (int seed = 1; seed < 20 && !seen; seed++) {
        char set[32];
        const char *sets = set;
        memset(&x, 0, sizeof x);
        snprintf(set, sizeof set, "seed=%d", seed);
        cr_assert_eq(packing_load_text("x.yaml", text, strlen(text), &sets, 1, &d, &x.s), HR_OK);
        cr_assert_eq(packing_figures_run(&x.s, &x.f), HR_OK);
        cr_assert_eq(x.f.n_moves, 2);
        cr_assert_eq(x.f.moves[0].pod.devices, 2);
        cr_assert(x.f.moves[0].exact);
        seen = x.f.moves[0].found && x.f.moves[0].n_moves == 1; /* the two came first */
        if (seen)
            cr_assert(x.f.moves[0].gpus == 1 && x.f.moves[1].n_moves == 0);
        empty(&x);
    }
    cr_assert(seen);
    diags_fini(&d);
}

/* What could start needs no move, and the other way round. */
Test(packing, moves_and_starts_agree, .timeout = 60)
{
    struct filled x;
    uint32_t compared = 0;
    fill(&x, FOLDER "openb-packing.yaml", "replications=1");
    for (uint32_t c = 0; c < x.s.n_columns; c++)
        for (uint32_t i = 0; i < x.f.n_moves; i++)
            for (uint32_t t = 0; t < x.s.fragment.n_pods; t++) {
                const struct packing_moves *m = &x.f.moves[c * x.f.n_moves + i];
                const struct cluster_pod *pod = &x.s.fragment.pods[t];
                size_t row = (size_t)c * x.s.plan.n_levels + x.f.full_level;
                if (pod->cpu_milli != m->pod.cpu_milli || pod->devices != m->pod.devices ||
                    pod->milli != m->pod.milli || pod->memory_mib != m->pod.memory_mib)
                    continue;
                compared++;
                cr_expect_eq(m->found && m->n_moves == 0,
                             x.f.starts[row * x.s.fragment.n_pods + t] > 0);
            }
    cr_expect_geq(compared, x.s.n_columns);
    empty(&x);
}

/* ---- printing ---- */

static char *printed(const struct filled *x, bool json)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (json)
        packing_print_json(out, &x->s, &x->f);
    else
        packing_print(out, &x->s, &x->f);
    fclose(out);
    return text;
}

Test(packing, tables_fit_a_terminal_and_name_the_ties, .timeout = 60)
{
    static const char *const sets[] = {"replications=2", "replications=1"};
    for (int i = 0; i < 2; i++) {
        struct filled x;
        fill(&x, i ? FOLDER "openb-ties.yaml" : FOLDER "openb-packing.yaml", sets[i]);
        char *text = printed(&x, false);
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
            cr_expect_leq(strcspn(line, "\n"), 80, "%.90s", line);
        cr_expect(strstr(text, "Means of"));
        cr_expect(strstr(text, "Fewest moves until one more can start at 100 %"));
        cr_expect(strstr(text, i ? "Ties are won by the lowest name, or chance, as said."
                                 : "Ties are won by the lowest name."));
        cr_expect(strstr(text, i ? "\nfgd, random  " : "\nfgd   "));
        cr_expect_eq(strstr(text, "standard error") == NULL, i == 1, "one filling has none");
        free(text);
        empty(&x);
    }
}

Test(packing, json_holds_every_level)
{
    struct filled x;
    size_t levels = 0;
    fill(&x, FOLDER "openb-ties.yaml", "replications=1");
    char *text = printed(&x, true);
    for (const char *at = text; (at = strstr(at, "\"arrived\":")); at++)
        levels++;
    cr_expect_eq(levels, x.s.n_columns * x.s.plan.n_levels);
    cr_expect(strstr(text, "\"allocated_se\": null"), "one filling has no error");
    cr_expect(strstr(text, "\"ties\": \"random\""));
    free(text);
    empty(&x);
}
