/* headroom check: reads a scenario and its traces and plans every design, without running any. */
#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/packing.h"
#include "scenarios/scenario.h"
#include "traces/trace.h"

struct check_options {
    struct option_list sets;
    bool quiet, help;
};

static const struct option table[] = {
    {"--set", NULL, OPTION_LIST, offsetof(struct check_options, sets), 0, 0, "PATH=VALUE",
     "change a value of the scenario"},
    {"--quiet", "-q", OPTION_FLAG, offsetof(struct check_options, quiet), 0, 0, NULL,
     "say only what is wrong"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct check_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

static void print_traces(const struct scenario *s, const struct plan *plan)
{
    size_t n;
    const struct scenario_trace *traces = scenario_traces(s, &n);
    for (size_t i = 0; i < n; i++) {
        printf("%s:\n", traces[i].owner);
        trace_report_print(traces[i].report, plan_gpus(plan), stdout);
    }
}

static enum hr_err check(const char *file, const struct check_options *o, struct diags *diags)
{
    struct scenario *s;
    TRY(scenario_load(file, o->sets.items, o->sets.n, diags, &s));
    enum hr_err worst = HR_OK;
    struct plan plan;
    for (size_t i = 0; i < scenario_n_designs(s); i++) {
        enum hr_err err = scenario_plan(s, scenario_design(s, i), diags, &plan);
        worst = worst == HR_OK ? err : worst;
    }
    if (worst == HR_OK && !o->quiet) {
        print_traces(s, &plan);
        printf("%s: %s is good: %zu design%s, %u GPUs, %.6g h of which %.6g h are measured\n", file,
               scenario_name(s), scenario_n_designs(s), scenario_n_designs(s) == 1 ? "" : "s",
               plan_gpus(&plan), sim_time_to_s(plan.horizon_ns) / 3600,
               sim_time_to_s(plan.horizon_ns - plan.warmup_ns) / 3600);
    }
    scenario_free(s);
    return worst;
}

static enum hr_err check_packing(const char *file, const struct check_options *o,
                                 struct diags *diags)
{
    struct packing_scenario s;
    enum hr_err err = packing_load(file, o->sets.items, o->sets.n, diags, &s);
    if (err == HR_OK && !o->quiet)
        printf("%s: %s is good: %u nodes with %.6g GPUs, %zu pods of %u kinds, %u columns\n", file,
               s.name, s.nodes.n, (double)cluster_capacity(&s.nodes) / CLUSTER_MILLI, s.pods.n,
               s.pods.n_shapes, s.n_columns);
    packing_free(&s);
    return err;
}

int command_check(int argc, char **argv)
{
    struct check_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts("usage: headroom check FILE [OPTION...]\n");
        options_help(table, OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n != 1)
        return command_usage("check takes one scenario file");
    struct diags diags;
    diags_init(&diags);
    int code =
        command_report(packing_is(operands.items[0]) ? check_packing(operands.items[0], &o, &diags)
                                                     : check(operands.items[0], &o, &diags),
                       &diags);
    diags_fini(&diags);
    return code;
}
