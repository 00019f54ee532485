/* headroom topo: reads `nvidia-smi topo -m`, Slurm's topology.conf or a scenario, and draws what it
 * understood. */
#include "analysis/topology.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/scenario.h"
#include "traces/slurm_topology.h"
#include "traces/topo_matrix.h"

struct topo_options {
    struct option_list sets;
    bool json, help;
};

static const struct option table[] = {
    {"--set", NULL, OPTION_LIST, offsetof(struct topo_options, sets), 0, 0, "PATH=VALUE",
     "change a value of the scenario"},
    {"--json", NULL, OPTION_FLAG, offsetof(struct topo_options, json), 0, 0, NULL, "print JSON"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct topo_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

static enum hr_err draw_node(const char *path, const struct topo_options *o, struct arena *a,
                             struct diags *diags)
{
    struct node_links links;
    TRY(topo_matrix_read(path, &links, a, diags));
    topology_print_node(stdout, &links, o->json);
    return HR_OK;
}

static enum hr_err draw_slurm(const char *path, const struct topo_options *o, struct arena *a,
                              struct diags *diags)
{
    struct slurm_topology t;
    TRY(slurm_topology_read(path, &t, a, diags));
    const struct topology_units units = {
        .name = path,
        .kind = t.blocks       ? "blocks"
                : t.levels > 1 ? "tree of switches"
                               : "leaf switches",
        .leaves = t.leaves,
        .leaf_nodes = t.leaf_nodes,
        .n_leaves = t.n_leaves,
        .spine_leaves = t.spine_leaves,
        .n_spines = t.n_spines,
        .rack_nodes = t.rack_nodes,
        .n_racks = t.n_racks,
        .n_nodes = t.n_nodes,
    };
    topology_print_units(stdout, &units, 1, o->json);
    return HR_OK;
}

static enum hr_err draw_fleet(const char *path, const struct topo_options *o, struct diags *diags)
{
    struct scenario *s;
    struct plan plan;
    TRY(scenario_load(path, o->sets.items, o->sets.n, diags, &s));
    enum hr_err err = scenario_plan(s, NULL, diags, &plan);
    struct topology_units units[POOLS_MAX] = {0};
    for (size_t i = 0; err == HR_OK && i < plan.n_pools; i++) {
        const struct fleet_plan *p = &plan.pools[i];
        units[i] = (struct topology_units){
            .name = p->name,
            .kind = supply_kind_names[p->supply.kind],
            .placement = place_rule_names[p->place],
            .leaf_nodes = p->fabric.leaf_nodes,
            .n_leaves = p->fabric.n_leaves,
            .spine_leaves = p->fabric.spine_leaves,
            .n_spines = p->fabric.n_spines,
            .gpus_per_node = p->n_groups == 1 ? p->groups[0].gpus_per_node : 0,
        };
        for (size_t g = 0; g < p->n_groups; g++)
            units[i].n_nodes += p->groups[g].nodes;
    }
    if (err == HR_OK)
        topology_print_units(stdout, units, plan.n_pools, o->json);
    scenario_free(s);
    return err;
}

/* What kind of file it is, its first line tells. */
static enum hr_err draw(const char *path, const struct topo_options *o, struct diags *diags)
{
    struct arena arena;
    struct lines lines;
    arena_init(&arena);
    enum hr_err err = lines_read(&lines, path, &arena, diags);
    if (err == HR_OK && topo_matrix_is(&lines))
        err = draw_node(path, o, &arena, diags);
    else if (err == HR_OK && slurm_topology_is(&lines))
        err = draw_slurm(path, o, &arena, diags);
    else if (err == HR_OK)
        err = draw_fleet(path, o, diags);
    arena_fini(&arena);
    return err;
}

int command_topo(int argc, char **argv)
{
    struct topo_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts(
            "usage: headroom topo FILE [OPTION...]\n\n"
            "FILE is what `nvidia-smi topo -m` has printed, a topology.conf of Slurm, or a "
            "scenario.\n");
        options_help(table, OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n != 1)
        return command_usage("topo takes one file");
    struct diags diags;
    diags_init(&diags);
    int code = command_report(draw(operands.items[0], &o, &diags), &diags);
    diags_fini(&diags);
    return command_finish(code);
}
