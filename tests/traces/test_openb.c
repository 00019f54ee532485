/* Packing the openb pods onto the openb nodes against published shares of allocated GPUs
 * (tests/data/targets/fgd_openb_alloc.csv): Random, BestFit and FGD on the default list and the one
 * with more multi-GPU pods, at every level, within half a point, in the same order. Ties go to the
 * lowest name; the tie rule of fgd decides five points.
 *
 * The other policies and gpuspec33 are printed beside by HEADROOM_LONG=1, with ten times the seeds,
 * and have no tolerance. */
#include "fixture.h"
#include "models/packing/fill.h"
#include "traces/inventory.h"

#include <math.h>

enum { LEVELS = 16, LISTS = 3 };

static const double levels[LEVELS] = {0.50, 0.60, 0.70, 0.80, 0.85, 0.90, 0.92, 0.94,
                                      0.95, 0.96, 0.98, 1.00, 1.05, 1.10, 1.20, 1.30};

static const char *const lists[LISTS] = {"openb_pod_list_default", "openb_pod_list_multigpu50",
                                         "openb_pod_list_gpuspec33"};

/* Of POLICIES; NULL: not published. */
static const char *const published[POLICIES] = {
    [0] = "01-Random",     [2] = "05-BestFit",       [4] = "02-DotProd",
    [5] = "04-GpuPacking", [6] = "03-GpuClustering", [7] = "06-FGD"};
static const int judged[] = {0, 2, 7};

static bool full(void)
{
    const char *text = getenv("HEADROOM_LONG");
    return text && text[0] == '1';
}

/* Percent; NaN where there is none. */
static void read_targets(double out[LISTS][POLICIES][LEVELS])
{
    char list[64], policy[64];
    int level, n = 0;
    double mean;
    FILE *file = fopen(TEST_SOURCE_ROOT "/tests/data/targets/fgd_openb_alloc.csv", "r");
    cr_assert_not_null(file);
    for (int i = 0; i < LISTS * POLICIES * LEVELS; i++)
        out[i / (POLICIES * LEVELS)][i / LEVELS % POLICIES][i % LEVELS] = NAN;
    cr_assert_neq(fscanf(file, "%*[^\n]\n"), EOF);
    while (fscanf(file, "gpu_alloc_pct,%63[^,],%63[^,],%*d,%d,%lf,%*[^\n]\n", list, policy, &level,
                  &mean) == 4)
        for (int l = 0; l < LISTS; l++)
            for (int p = 0; p < POLICIES; p++)
                for (int k = 0; k < LEVELS; k++)
                    if (strcmp(lists[l], list) == 0 && published[p] &&
                        strcmp(published[p], policy) == 0 && lround(100 * levels[k]) == level) {
                        out[l][p][k] = mean;
                        n++;
                    }
    fclose(file);
    cr_assert_eq(n, LISTS * 6 * LEVELS);
}

struct openb {
    struct fixture f;
    struct inventory_types types;
    struct cluster_nodes nodes;
    struct cluster_pods pods;
    struct fragment fragment;
};

static void open_list(struct openb *o, const char *list)
{
    char path[512];
    const struct diag_place none = {0};
    memset(o, 0, sizeof *o);
    fixture_init(&o->f, "custom");
    snprintf(path, sizeof path, DATA("openb/%s.csv.gz"), list);
    cr_assert_eq(inventory_read_nodes(&o->f.arena, DATA("openb/openb_node_list_gpu_node.csv.gz"),
                                      none, NULL, &o->f.diags, &o->types, &o->nodes),
                 HR_OK);
    cr_assert_eq(
        inventory_read_pods(&o->f.arena, path, none, NULL, &o->f.diags, &o->types, &o->pods),
        HR_OK);
    cr_assert_eq(fragment_init(&o->fragment, &o->pods, 0.95, &o->f.arena), HR_OK);
}

/* Percent allocated, a mean over seeds. */
static void fill_mean(const struct openb *o, const struct policy *policy, enum policy_ties ties,
                      uint32_t seeds, double mean[LEVELS])
{
    const struct fill_plan plan = {&o->nodes, &o->pods, &o->fragment, 1.3, levels, LEVELS, 1};
    memset(mean, 0, LEVELS * sizeof *mean);
    for (uint32_t r = 0; r < seeds; r++) {
        struct fill_level got[LEVELS];
        cr_assert_eq(fill_run(&plan, policy, ties, r, got, NULL), HR_OK);
        for (int k = 0; k < LEVELS; k++)
            mean[k] += 100 * got[k].allocated_frac / seeds;
    }
}

static void print_row(const char *list, const struct policy *policy, const double *got,
                      const double *want)
{
    static const int shown[] = {0, 3, 8, 11, 15};
    if (!full())
        return;
    printf("%-26s %-14s", list, policy->name);
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
        printf("  %5.2f (%5.2f)", got[shown[k]], want[shown[k]]);
    printf("\n");
}

/* Where two published means are further apart than both tolerances their order must be the same. */
static void check_order(const char *list, double got[POLICIES][LEVELS],
                        double want[POLICIES][LEVELS])
{
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < LEVELS; k++) {
                int x = judged[a], y = judged[b];
                if (want[x][k] > want[y][k] + 0.25)
                    cr_expect_gt(got[x][k], got[y][k], "%s at %.0f %%: %s over %s", list,
                                 100 * levels[k], policies[x].name, policies[y].name);
            }
}

Test(openb, allocated_as_published, .timeout = 600)
{
    static double want[LISTS][POLICIES][LEVELS];
    double worst = 0;
    read_targets(want);
    if (full())
        printf("ties: lowest name. Percent allocated (published) at 50, 80, 95, 100, 130 %%\n");
    for (int l = 0; l < (full() ? 3 : 2); l++) {
        struct openb o;
        double got[POLICIES][LEVELS] = {{0}};
        open_list(&o, lists[l]);
        for (int p = 0; p < POLICIES; p++) {
            bool is_judged = l < 2 && (p == 0 || p == 2 || p == 7);
            if (!is_judged && !full())
                continue;
            uint32_t seeds = p == 0 ? 20 : 10; /* the mean of random varies most */
            fill_mean(&o, &policies[p], POLICY_TIE_NAME, full() ? 100 : seeds, got[p]);
            print_row(lists[l], &policies[p], got[p], want[l][p]);
            for (int k = 0; k < LEVELS && is_judged; k++) {
                double off = got[p][k] - want[l][p][k];
                worst = fmax(worst, fabs(off));
                cr_expect_lt(fabs(off), 0.5, "%s %s at %.0f %%: %.2f, published %.2f", lists[l],
                             policies[p].name, 100 * levels[k], got[p][k], want[l][p][k]);
            }
        }
        if (l < 2)
            check_order(lists[l], got, want[l]);
        fixture_fini(&o.f);
    }
    if (full())
        printf("largest difference of those judged: %.2f points\n", worst);
}

/* At 100 % arrived five points hang on who wins a tie: 95.2 against 90.2 in another program. */
Test(openb, random_ties_take_the_lead_from_fgd, .timeout = 60)
{
    struct openb o;
    double by_name[LEVELS], at_random[LEVELS], best_fit[LEVELS];
    open_list(&o, lists[0]);
    fill_mean(&o, policy_find("fgd"), POLICY_TIE_NAME, 5, by_name);
    fill_mean(&o, policy_find("fgd"), POLICY_TIE_RANDOM, 5, at_random);
    fill_mean(&o, policy_find("best-fit"), POLICY_TIE_RANDOM, 5, best_fit);
    cr_expect_float_eq(by_name[11], 95.2, 0.5, "%.2f", by_name[11]);
    cr_expect_float_eq(at_random[11], 90.2, 0.5, "%.2f", at_random[11]);
    cr_expect_gt(best_fit[11], at_random[11] + 2);
    fixture_fini(&o.f);
}
