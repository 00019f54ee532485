/* headroom pack: fills a cluster with pods by several policies. */
#include "analysis/packing_file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/outputs.h"

#include <stdlib.h>

struct pack_options {
    struct option_list sets;
    const char *output;
    bool json, force, help;
};

static const struct option table[] = {
    {"--set", NULL, OPTION_LIST, offsetof(struct pack_options, sets), 0, 0, "PATH=VALUE",
     "change a value of the scenario"},
    {"--output", "-o", OPTION_TEXT, offsetof(struct pack_options, output), 0, 0, "FILE",
     "write a result file; default: none"},
    {"--force", "-f", OPTION_FLAG, offsetof(struct pack_options, force), 0, 0, NULL,
     "replace a file that exists"},
    {"--json", NULL, OPTION_FLAG, offsetof(struct pack_options, json), 0, 0, NULL, "print JSON"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct pack_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

static enum hr_err write_file(const struct pack_options *o, const struct packing_scenario *s,
                              const struct packing_figures *f, struct diags *diags)
{
    char *settings = NULL;
    size_t n = 0;
    FILE *text = open_memstream(&settings, &n);
    if (!text)
        return HR_NOMEM;
    for (size_t i = 0; i < o->sets.n; i++)
        fprintf(text, "%s%s", i ? " " : "", o->sets.items[i]);
    const bool whole = fclose(text) == 0;
    const struct packing_source source = {HEADROOM_VERSION, settings};
    const enum hr_err err =
        whole ? packing_write(o->output, o->force, s, f, &source, diags) : HR_NOMEM;
    free(settings);
    if (err == HR_OK)
        fprintf(stderr, "results: %s\n", o->output);
    return err;
}

static enum hr_err pack(const char *file, const struct pack_options *o, struct diags *diags)
{
    struct packing_scenario s;
    struct packing_figures figures = {0};
    enum hr_err err = packing_load(file, o->sets.items, o->sets.n, diags, &s);
    if (err == HR_OK && o->output)
        err = outputs_check_file(o->output, o->force, s.inputs, s.n_inputs, diags);
    if (err == HR_OK)
        err = packing_figures_run(&s, &figures);
    if (err == HR_OK && o->json)
        packing_print_json(stdout, &s, &figures);
    else if (err == HR_OK)
        packing_print(stdout, &s, &figures);
    if (err == HR_OK && o->output)
        err = write_file(o, &s, &figures, diags);
    packing_figures_free(&figures);
    packing_free(&s);
    return err;
}

int command_pack(int argc, char **argv)
{
    struct pack_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts(
            "usage: headroom pack FILE [OPTION...]\n\n"
            "FILE is a scenario with `packing`, such as scenarios/openb-packing.yaml.\n");
        options_help(table, OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n != 1)
        return command_usage("pack takes one scenario file");
    struct diags diags;
    diags_init(&diags);
    int code = command_report(pack(operands.items[0], &o, &diags), &diags);
    diags_fini(&diags);
    return command_finish(code);
}
