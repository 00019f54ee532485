/* headroom show: the table of a result file again, from nothing but the file. */
#include "analysis/csv.h"
#include "analysis/report.h"
#include "analysis/result_file.h"
#include "analysis/result_json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/terminal.h"

struct show_options {
    bool json, csv, all, help;
};

static const struct option table[] = {
    {"--json", NULL, OPTION_FLAG, offsetof(struct show_options, json), 0, 0, NULL, "print JSON"},
    {"--csv", NULL, OPTION_FLAG, offsetof(struct show_options, csv), 0, 0, NULL,
     "print the summary as tidy CSV"},
    {"--all", NULL, OPTION_FLAG, offsetof(struct show_options, all), 0, 0, NULL,
     "every tenant and every design in the GPU-hours"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct show_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

static enum hr_err print(const struct show_options *o, const struct summary *s)
{
    struct verdict v = {0};
    const struct report_options options = {.colour = terminal_colour(stdout), .all = o->all};
    enum hr_err err = verdict_init(&v, s);
    if (err == HR_OK)
        err = o->json  ? result_json(stdout, s, &v)
              : o->csv ? csv_summary(stdout, s)
                       : report_print(stdout, s, &v, &options);
    verdict_fini(&v);
    return err;
}

int command_show(int argc, char **argv)
{
    struct show_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts("usage: headroom show RESULT.h5 [OPTION...]\n");
        options_help(table, OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n != 1)
        return command_usage("show takes one result file");
    struct diags diags;
    struct summary summary;
    diags_init(&diags);
    enum hr_err err = result_read(operands.items[0], &summary, &diags);
    if (err == HR_OK)
        err = print(&o, &summary);
    int code = command_report(err, &diags);
    summary_fini(&summary);
    diags_fini(&diags);
    return code;
}
