/* Packing: openb pods a CPU second, placed or dropped, by policy: the default list, lengthened
 * to 1.3 times the GPUs, onto its 1,213 nodes, from empty. */
#include "models/packing/fill.h"
#include "timing.h"
#include "traces/inventory.h"

enum { ROUNDS = 5 };
#define FOLDER "traces/data/openb/"

static void fail(const char *what)
{
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

int main(void)
{
    struct arena arena;
    struct diags diags;
    struct inventory_types types = {0};
    struct cluster_nodes nodes;
    struct cluster_pods pods;
    struct fragment fragment;
    double level = 1.3;
    arena_init(&arena);
    diags_init(&diags);
    if (inventory_read_nodes(&arena, FOLDER "openb_node_list_gpu_node.csv.gz",
                             (struct diag_place){0}, NULL, &diags, &types, &nodes) != HR_OK ||
        inventory_read_pods(&arena, FOLDER "openb_pod_list_default.csv.gz", (struct diag_place){0},
                            NULL, &diags, &types, &pods) != HR_OK ||
        fragment_init(&fragment, &pods, 0.95, &arena) != HR_OK)
        fail("reading");
    const struct fill_plan plan = {.nodes = &nodes,
                                   .pods = &pods,
                                   .fragment = &fragment,
                                   .ratio = 1.3,
                                   .levels = &level,
                                   .n_levels = 1,
                                   .seed = 1};
    for (int i = 0; i < POLICIES; i++) {
        double rates[ROUNDS];
        char name[64];
        struct fill_level end;
        for (uint32_t r = 0; r < ROUNDS; r++) {
            double start = timing_cpu_s();
            if (fill_run(&plan, &policies[i], POLICY_TIE_NAME, r, &end, NULL) != HR_OK)
                fail("fill_run");
            rates[r] = (double)end.arrived / (timing_cpu_s() - start);
        }
        snprintf(name, sizeof name, "packing_%s", policies[i].name);
        timing_print(name, timing_median(rates, ROUNDS), "pods/s");
    }
    diags_fini(&diags);
    arena_fini(&arena);
    return 0;
}
