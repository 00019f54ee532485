/* headroom run, headroom compare: their options; simulate.c does the work. */
#include "cli/commands.h"
#include "cli/simulate.h"

#define AT(member) offsetof(struct simulate_options, member)

/* The first rows belong to compare alone. */
static const struct option table[] = {
    {"--with", NULL, OPTION_LIST, AT(with), 0, 0, "PATH=VALUE", "a setting of every column"},
    {"--design", NULL, OPTION_LIST, AT(designs), 0, 0, "NAME", "design of the scenario"},
    {"--set", NULL, OPTION_LIST, AT(sets), 0, 0, "PATH=VALUE", "change a value of the scenario"},
    {"--seed", NULL, OPTION_TEXT, AT(seed), 0, 0, "N", "seed, instead of the scenario's"},
    {"--replications", "-r", OPTION_COUNT, AT(replications), 1, 100000, "N",
     "replications; from 5 on with intervals"},
    {"--threads", "-j", OPTION_COUNT, AT(threads), 1, 1024, "N", "threads; default: one per core"},
    {"--output", "-o", OPTION_TEXT, AT(output), 0, 0, "FILE", "result file; default: NAME.h5"},
    {"--no-output", NULL, OPTION_FLAG, AT(no_output), 0, 0, NULL, "write no result file"},
    {"--force", "-f", OPTION_FLAG, AT(force), 0, 0, NULL, "replace files that exist"},
    {"--json", NULL, OPTION_FLAG, AT(json), 0, 0, NULL, "print JSON instead of the report"},
    {"--all", NULL, OPTION_FLAG, AT(all), 0, 0, NULL,
     "every tenant and every design in the GPU-hours"},
    {"--csv", NULL, OPTION_TEXT, AT(csv), 0, 0, "FILE", "also write the summary as tidy CSV"},
    {"--requests", NULL, OPTION_TEXT, AT(requests), 0, 0, "FILE", "also write a CSV row a request"},
    {"--events", NULL, OPTION_TEXT, AT(events), 0, 0, "FILE",
     "also write a CSV row a change of state"},
    {"--help", "-h", OPTION_FLAG, AT(help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0], COMPARE_ONLY = 1 };

int command_run(int argc, char **argv)
{
    struct simulate_options o = {0};
    struct operands operands;
    const struct option *options = table + COMPARE_ONLY;
    if (!options_read(options, OPTIONS - COMPARE_ONLY, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts(
            "usage: headroom run FILE [OPTION...]\n\n"
            "Runs one design of a scenario: the default one, or --design. --set may be repeated;\n"
            "headroom schema lists the paths.\n");
        options_help(options, OPTIONS - COMPARE_ONLY, stdout);
        return EXIT_MET;
    }
    if (operands.n != 1)
        return command_usage("run takes one scenario file; headroom run --help says more");
    if (o.designs.n > 1)
        return command_usage("run takes one --design; compare takes several");
    return simulate(SIMULATE_ONE, &o, &operands);
}

int command_compare(int argc, char **argv)
{
    struct simulate_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts(
            "usage: headroom compare FILE... [OPTION...]\n\n"
            "One column for each design of a scenario; or for each file; or for each --set of the\n"
            "default design (`--set floor=64GPU --set floor=96GPU` makes two). All columns see "
            "the\n"
            "same traffic and jobs; differences are against the first.\n");
        options_help(table, OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n < 1)
        return command_usage("compare takes scenario files; headroom compare --help says more");
    return simulate(SIMULATE_COLUMNS, &o, &operands);
}
