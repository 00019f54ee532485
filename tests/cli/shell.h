/* Runs the program as its user does: arguments in, exit code and both outputs out. */
#ifndef HEADROOM_TESTS_CLI_SHELL_H
#define HEADROOM_TESTS_CLI_SHELL_H

#include <stddef.h>

struct ran {
    int code;                    /* exit code; 128 + signal when killed */
    char out[65536], err[65536]; /* cut there, NUL-terminated */
};

/* One shell command line in which $H is the program and $S the source root; the working directory
 * is a fresh folder of this test process, removed by shell_clean. */
void shell(struct ran *r, const char *line);

void shell_clean(void);

#endif
