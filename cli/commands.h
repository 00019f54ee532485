/* The commands: one file each, called with argv[0] the command's own name. They return the exit
 * code.
 *
 * Results go to stdout, everything else to stderr. */
#ifndef HEADROOM_CLI_COMMANDS_H
#define HEADROOM_CLI_COMMANDS_H

#include "sim/diag.h"
#include "sim/err.h"

#define HEADROOM_VERSION "0.1.0"

enum exit_code {
    EXIT_MET = 0,         /* done, every objective met */
    EXIT_FAULT = 1,       /* own fault: memory, disk */
    EXIT_INPUT = 2,       /* bad input or usage */
    EXIT_MISSED = 3,      /* an objective missed; compare: no design meets all */
    EXIT_INTERRUPTED = 4, /* what is done is kept */
};

int command_run(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_show(int argc, char **argv);
int command_why(int argc, char **argv);
int command_init(int argc, char **argv);
int command_check(int argc, char **argv);
int command_list(int argc, char **argv);
int command_mig(int argc, char **argv);
int command_topo(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_pack(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_schema(int argc, char **argv);

/* Prints what is in diags, and the error itself where the diags hold none; the exit code for it. */
int command_report(enum hr_err err, const struct diags *diags);

/* "headroom: " and a line on stderr; EXIT_INPUT. */
int command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes stdout; EXIT_FAULT when something did not get out (a full disk, a closed pipe). */
int command_finish(int code);

#endif
