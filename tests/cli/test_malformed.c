/* Every malformed scenario and trace of the corpora, given to the program as a user would: exit
 * code 2, a message that names the file, no output file, little time and memory. What each message
 * says is tested where the reader is. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The bars are for an optimised build without sanitizers; those cost several times as much. */
#if defined(__SANITIZE_ADDRESS__) || defined(CHECKED_BUILD)
enum { MOST_CPU_MS = 1000, MOST_MIB = 1024 };
#else
enum { MOST_CPU_MS = 50, MOST_MIB = 64, TRIES = 5 };
#endif

static char scratch[64];

static void path_in(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s/%s", scratch, name);
}

/* Runs the program with stderr in a file; the exit code. */
static int run_program(char *const *argv, struct rusage *usage)
{
    char errors[96];
    path_in(errors, sizeof errors, "err");
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        int err = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        execv(TEST_PROGRAM, argv);
        _exit(127);
    }
    int status;
    struct rusage before;
    getrusage(RUSAGE_CHILDREN, &before);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    getrusage(RUSAGE_CHILDREN, usage);
    usage->ru_utime.tv_sec -= before.ru_utime.tv_sec;
    usage->ru_utime.tv_usec -= before.ru_utime.tv_usec;
    usage->ru_stime.tv_sec -= before.ru_stime.tv_sec;
    usage->ru_stime.tv_usec -= before.ru_stime.tv_usec;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static double ms(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

static bool said(const char *what)
{
    char errors[96], text[8192];
    path_in(errors, sizeof errors, "err");
    FILE *f = fopen(errors, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    fclose(f);
    return strstr(text, what) != NULL;
}

static void refuse(char *const *argv, const char *file, const char *output)
{
    struct rusage usage;
    int code = run_program(argv, &usage);
    cr_assert_eq(code, 2, "%s: exit code %d", file, code);
    cr_assert(said(file), "%s is not named", file);
    cr_assert(output == NULL || access(output, F_OK) != 0, "%s: %s was written", file, output);
    /* Page faults and migrations of a busy machine count as the program's own time: the least of a
     * few tries is what it needs. */
    double cpu = ms(usage.ru_utime) + ms(usage.ru_stime);
    for (int i = 1; i < TRIES && cpu >= MOST_CPU_MS; i++) {
        run_program(argv, &usage);
        const double again = ms(usage.ru_utime) + ms(usage.ru_stime);
        cpu = again < cpu ? again : cpu;
    }
    cr_assert_lt(cpu, MOST_CPU_MS, "%s: %.0f ms of CPU", file, cpu);
    cr_assert_lt(usage.ru_maxrss / 1024, MOST_MIB, "%s: %ld MiB", file, usage.ru_maxrss / 1024);
}

/* Files of a folder that end in one of the two, in any order; the number given to each(). */
static int for_each(const char *folder, const char *end, const char *other,
                    void (*each)(const char *path, const char *name))
{
    int n = 0;
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir, "%s", folder);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t length = strlen(e->d_name);
        bool ends = length > strlen(end) && strcmp(e->d_name + length - strlen(end), end) == 0;
        bool ends_other =
            length > strlen(other) && strcmp(e->d_name + length - strlen(other), other) == 0;
        if (!ends && !ends_other)
            continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        each(path, e->d_name);
        n++;
    }
    closedir(dir);
    return n;
}

static void refuse_scenario(const char *path, const char *name)
{
    char output[96];
    path_in(output, sizeof output, "out.h5");
    char *const argv[] = {"headroom", "run", (char *)(uintptr_t)path, "-o", output, NULL};
    refuse(argv, name, output);
}

static void refuse_trace(const char *path, const char *name)
{
    char *const argv[] = {"headroom", "trace", "info", (char *)(uintptr_t)path, NULL};
    refuse(argv, name, NULL);
}

static void enter(void)
{
    snprintf(scratch, sizeof scratch, "/tmp/headroom-malformed-%ld", (long)getpid());
    char command[96];
    snprintf(command, sizeof command, "mkdir -p %s", scratch);
    cr_assert_eq(system(command), 0);
}

static void leave(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    cr_assert_eq(system(command), 0);
}

TestSuite(malformed, .init = enter, .fini = leave, .timeout = 300);

Test(malformed, scenarios)
{
    cr_assert_geq(
        for_each(TEST_SOURCE_ROOT "/tests/scenarios/malformed", ".yaml", ".yml", refuse_scenario),
        40);
}

Test(malformed, traces)
{
    cr_assert_geq(
        for_each(TEST_SOURCE_ROOT "/tests/traces/malformed", ".csv", ".csv.gz", refuse_trace), 20);
    cr_assert_geq(
        for_each(TEST_SOURCE_ROOT "/tests/traces/malformed", ".json", ".json.gz", refuse_trace), 4);
}

Test(malformed, a_folder_a_missing_and_an_empty_file)
{
    char *const folder[] = {"headroom", "run", scratch, NULL};
    refuse(folder, scratch, NULL);
    char *const missing[] = {"headroom", "run", "no-such.yaml", NULL};
    refuse(missing, "no-such.yaml", NULL);
    char *const empty[] = {"headroom", "run", "/dev/null", NULL};
    refuse(empty, "/dev/null", NULL);
    char *const trace[] = {"headroom", "trace", "info", scratch, NULL};
    refuse(trace, scratch, NULL);
}
