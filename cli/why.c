/* headroom why: what a job of a result waited for. */
#include "analysis/waits.h"
#include "cli/commands.h"
#include "cli/options.h"

struct why_options {
    const char *job, *design;
    uint32_t replication;
    bool help;
};

static const struct option table[] = {
    {"--job", NULL, OPTION_TEXT, offsetof(struct why_options, job), 0, 0, "ID",
     "this job; else all: waits by queue, the longest"},
    {"--design", NULL, OPTION_TEXT, offsetof(struct why_options, design), 0, 0, "NAME",
     "in this design only"},
    {"--replication", NULL, OPTION_COUNT, offsetof(struct why_options, replication), 0, 100000, "N",
     "of this replication; a file holds the jobs of replication 0"},
    {"--help", "-h", OPTION_FLAG, offsetof(struct why_options, help), 0, 0, NULL, "this list"},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

int command_why(int argc, char **argv)
{
    struct why_options o = {0};
    struct operands operands;
    if (!options_read(table, OPTIONS, argc, argv, &o, &operands))
        return EXIT_INPUT;
    if (o.help) {
        puts(
            "usage: headroom why RESULT.h5 [--job ID] [OPTION...]\n\n"
            "A result file holds the jobs of replication 0.\n");
        options_help(table, OPTIONS, stdout);
        return EXIT_MET;
    }
    if (operands.n != 1)
        return command_usage("why takes one result file");
    if (o.replication > 0)
        return command_usage(
            "a result file holds the jobs of replication 0 only: run the scenario "
            "with another seed to see others");
    struct diags diags;
    struct waits waits;
    diags_init(&diags);
    enum hr_err err = waits_read(operands.items[0], &waits, &diags);
    if (err == HR_OK)
        err = o.job ? waits_print_job(stdout, &waits, o.job, o.design, &diags)
                    : waits_print_all(stdout, &waits, o.design, &diags);
    int code = command_report(err, &diags);
    waits_fini(&waits);
    diags_fini(&diags);
    return code;
}
