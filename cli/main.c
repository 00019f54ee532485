/* headroom: the table of commands. */
#include "cli/commands.h"
#include "cli/terminal.h"

#include <gsl/gsl_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *operands, *doc;
};

static const struct command commands[] = {
    {"run", command_run, "FILE", "run one design of a scenario and give a verdict"},
    {"compare", command_compare, "FILE...", "run designs, scenarios or settings side by side"},
    {"show", command_show, "RESULT.h5", "print the table of a result file again"},
    {"why", command_why, "RESULT.h5", "say what a job waited for, or why jobs wait"},
    {"check", command_check, "FILE", "read a scenario and its traces, and say what is wrong"},
    {"init", command_init, "[FILE]", "write a commented scenario to start from"},
    {"list", command_list, "[FOLDER]", "list the ready scenarios"},
    {"mig", command_mig, "ACTION...", "say how GPUs may be cut into MIG instances, and what fits"},
    {"topo", command_topo, "FILE",
     "draw the topology of a listing, of a topology.conf or of a fleet"},
    {"trace", command_trace, "info FILE", "say what a trace holds and what became of each row"},
    {"pack", command_pack, "FILE", "fill a cluster with pods that share GPUs, by several policies"},
    {"explain", command_explain, "[WORD...]",
     "show the arithmetic of a capacity question, mark answers to it"},
    {"schema", command_schema, "", "print every key of a scenario with type, range and default"},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void help(FILE *out)
{
    fputs(
        "headroom: how many GPUs, split how, keep every promise?\n\n"
        "usage: headroom COMMAND [OPTION...]\n\n",
        out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %-10s %s\n", commands[i].name, commands[i].operands, commands[i].doc);
    fputs(
        "\nheadroom COMMAND --help lists its options. Start with:\n"
        "  headroom compare scenarios/ramp.yaml\n",
        out);
}

int command_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("headroom: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_INPUT;
}

int command_report(enum hr_err err, const struct diags *diags)
{
    diags_print(diags, stderr, terminal_colour(stderr));
    if (err != HR_OK && err != HR_INTERRUPTED && diags->n_errors == 0)
        fprintf(stderr, "headroom: %s\n", hr_err_text(err));
    switch (err) {
    case HR_OK:
        return EXIT_MET;
    case HR_INPUT:
        return EXIT_INPUT;
    case HR_INTERRUPTED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_FAULT;
    }
}

int command_finish(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("headroom: the output could not be written\n", stderr);
        return EXIT_FAULT;
    }
    return code;
}

static int unknown(const char *word)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *nearest = diag_nearest(word, names, COMMANDS);
    if (nearest)
        return command_usage("unknown command '%s'; did you mean '%s'?", word, nearest);
    return command_usage("unknown command '%s'; headroom --help lists them", word);
}

int main(int argc, char **argv)
{
    gsl_set_error_handler_off();
    if (argc < 2) {
        help(stderr);
        return EXIT_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(stdout);
        return command_finish(EXIT_MET);
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("headroom " HEADROOM_VERSION);
        return command_finish(EXIT_MET);
    }
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return command_finish(commands[i].run(argc - 1, argv + 1));
    return unknown(argv[1]);
}
