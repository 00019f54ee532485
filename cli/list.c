/* headroom list: the ready scenarios of a folder. headroom schema: every key of the language. */
#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/scenario.h"

struct list_options {
    bool markdown, help;
};

static const struct option table[] = {
    {"--help", "-h", OPTION_FLAG, offsetof(struct list_options, help), 0, 0, NULL, "this list"},
    {"--markdown", NULL, OPTION_FLAG, offsetof(struct list_options, markdown), 0, 0, NULL,
     "as in scenarios/README.md"},
};

enum { LIST_OPTIONS = 1, SCHEMA_OPTIONS = 2 };

static int list(const char *folder)
{
    struct arena arena;
    struct scenario_entry *entries;
    size_t n;
    arena_init(&arena);
    enum hr_err err = scenario_list(folder, &arena, &entries, &n);
    int code = err == HR_OK ? EXIT_MET : EXIT_INPUT;
    if (err != HR_OK)
        command_usage("the folder '%s' cannot be read", folder);
    for (size_t i = 0; err == HR_OK && i < n; i++)
        printf("%-36s %s\n", entries[i].path, entries[i].description);
    if (err == HR_OK && n == 0)
        fprintf(stderr, "headroom: no scenario in '%s'\n", folder);
    arena_fini(&arena);
    return code;
}

int command_list(int argc, char **argv)
{
    struct list_options o = {0};
    struct operands operands;
    if (!options_read(table, LIST_OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts("usage: headroom list [FOLDER]\n\nFOLDER is scenarios when none is given.\n");
        options_help(table, LIST_OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n > 1)
        return command_usage("list takes one folder");
    return list(operands.n ? operands.items[0] : "scenarios");
}

int command_schema(int argc, char **argv)
{
    struct list_options o = {0};
    struct operands operands;
    if (!options_read(table, SCHEMA_OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts("usage: headroom schema [OPTION...]\n");
        options_help(table, SCHEMA_OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n > 0)
        return command_usage("schema takes no file");
    if (o.markdown)
        scenario_reference_markdown(stdout);
    else
        scenario_reference_text(stdout);
    return EXIT_MET;
}
