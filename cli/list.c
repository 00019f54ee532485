/* headroom list: the ready scenarios of a folder, or the types of hardware. headroom schema: every
 * key of the language. */
#include "analysis/hardware_list.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/scenario.h"

struct list_options {
    bool markdown, hardware, json, help;
};

static const struct option list_table[] = {
    {"--help", "-h", OPTION_FLAG, offsetof(struct list_options, help), 0, 0, NULL, "this list"},
    {"--hardware", NULL, OPTION_FLAG, offsetof(struct list_options, hardware), 0, 0, NULL,
     "types of GPUs and nodes instead, with those of a scenario"},
    {"--json", NULL, OPTION_FLAG, offsetof(struct list_options, json), 0, 0, NULL,
     "of --hardware: print JSON, with every source"},
};

static const struct option table[] = {
    {"--help", "-h", OPTION_FLAG, offsetof(struct list_options, help), 0, 0, NULL, "this list"},
    {"--markdown", NULL, OPTION_FLAG, offsetof(struct list_options, markdown), 0, 0, NULL,
     "as in scenarios/README.md"},
};

enum { LIST_OPTIONS = sizeof list_table / sizeof *list_table, SCHEMA_OPTIONS = 2 };

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

static int list_hardware(const char *path, bool json)
{
    struct diags diags;
    struct scenario *s = NULL;
    diags_init(&diags);
    enum hr_err err = path ? scenario_load(path, NULL, 0, &diags, &s) : HR_OK;
    if (err == HR_OK)
        hardware_list(stdout, s ? scenario_hardware(s) : &hardware_builtin, json);
    int code = command_report(err, &diags);
    scenario_free(s);
    diags_fini(&diags);
    return code;
}

int command_list(int argc, char **argv)
{
    struct list_options o = {0};
    struct operands operands;
    if (!options_read(list_table, LIST_OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts(
            "usage: headroom list [FOLDER]\n"
            "       headroom list --hardware [SCENARIO]\n\n"
            "FOLDER is scenarios when none is given.\n");
        options_help(list_table, LIST_OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n > 1)
        return command_usage("list takes one folder, or with --hardware one scenario");
    if (o.hardware)
        return list_hardware(operands.n ? operands.items[0] : NULL, o.json);
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
