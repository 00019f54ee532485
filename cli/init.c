/* headroom init: a commented scenario to start from, on stdout or in a new file. */
#include "analysis/atomic_file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/scenario.h"

#include <string.h>

struct init_options {
    bool force, help;
};

static const struct option table[] = {
    {"--force", "-f", OPTION_FLAG, offsetof(struct init_options, force), 0, 0, NULL,
     "replace a file that exists"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct init_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

int command_init(int argc, char **argv)
{
    struct init_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts("usage: headroom init [FILE]\n");
        options_help(table, OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n > 1)
        return command_usage("init takes one file name, or none to print");
    const char *text = scenario_init_text();
    if (operands.n == 0) {
        fputs(text, stdout);
        return EXIT_MET;
    }
    struct diags diags;
    diags_init(&diags);
    const char *path = operands.items[0];
    int code = command_report(atomic_file_write(path, o.force, text, strlen(text), &diags), &diags);
    if (code == EXIT_MET)
        fprintf(stderr, "%s: edit it, then: headroom compare %s\n", path, path);
    diags_fini(&diags);
    return code;
}
