/* A shell in a scratch folder. */
#include "tests/cli/shell.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void folder(char *out, size_t size)
{
    snprintf(out, size, "/tmp/headroom-test-%ld", (long)getpid());
}

static void slurp(const char *dir, const char *name, char *out, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/.%s", dir, name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, size - 1, f) : 0;
    out[n] = 0;
    if (f)
        fclose(f);
}

void shell(struct ran *r, const char *line)
{
    char dir[128], command[4096];
    folder(dir, sizeof dir);
    int n = snprintf(command, sizeof command,
                     "mkdir -p %s && cd %s && export H='%s' S='%s' && { %s\n} >.out 2>.err", dir,
                     dir, TEST_PROGRAM, TEST_SOURCE_ROOT, line);
    cr_assert_lt((size_t)n, sizeof command);
    int status = system(command);
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    slurp(dir, "out", r->out, sizeof r->out);
    slurp(dir, "err", r->err, sizeof r->err);
}

void shell_clean(void)
{
    char dir[128], command[256];
    folder(dir, sizeof dir);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        fprintf(stderr, "%s was not removed\n", dir);
}
