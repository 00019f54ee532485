/* Full disks, kills and stale temporary files: the final name always holds a whole file or what was
 * there before. */
#include "fixture.h"

#include "analysis/atomic_file.h"
#include "analysis/csv.h"
#include "analysis/result_file.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/headroom-atomic-XXXXXX";
static struct diags diags;
static struct experiment e;

static void setup(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    cr_assert(chdir(folder) == 0);
    diags_init(&diags);
    fixture_experiment(&e, 2, 2, 1);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    diags_fini(&diags);
    experiment_fini(&e);
    cr_assert(chdir("/") == 0 && system(command) == 0);
}

static size_t entries(void)
{
    DIR *d = opendir(".");
    size_t n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool holds(const char *path, const char *text)
{
    char bytes[256] = "";
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t n = fread(bytes, 1, sizeof bytes - 1, f);
    fclose(f);
    return n == strlen(text) && memcmp(bytes, text, n) == 0;
}

static bool whole(const char *path)
{
    struct summary s;
    bool read = result_read(path, &s, &diags) == HR_OK;
    summary_fini(&s);
    return read;
}

/* Runs in a child what may be killed; its exit status, or minus the signal. */
static int in_child(void (*action)(void))
{
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        action();
        _exit(99);
    }
    int status;
    cr_assert(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void limit_size(rlim_t bytes)
{
    const struct rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void write_on_full_disk(void)
{
    signal(SIGXFSZ, SIG_IGN);
    limit_size(20000);
    enum hr_err err = result_write("r.h5", true, &e, &diags);
    _exit(err == HR_IO && diags.n_errors == 1 && strstr(diags.items[0].text, "cannot be written")
              ? 0
              : 1);
}

static void write_and_be_killed(void)
{
    signal(SIGXFSZ, SIG_DFL);
    limit_size(20000);
    result_write("r.h5", true, &e, &diags);
    _exit(1);
}

Test(atomic_file, full_disk_leaves_nothing, .init = setup, .fini = teardown)
{
    cr_expect(eq(int, in_child(write_on_full_disk), 0));
    cr_expect(eq(sz, entries(), 0));
    put("r.h5", "earlier result");
    cr_expect(eq(int, in_child(write_on_full_disk), 0));
    cr_expect(holds("r.h5", "earlier result"));
    cr_expect(eq(sz, entries(), 1));
}

Test(atomic_file, killed_while_writing, .init = setup, .fini = teardown)
{
    put("r.h5", "earlier result");
    for (int i = 0; i < 3; i++)
        cr_expect(eq(int, in_child(write_and_be_killed), -SIGXFSZ));
    cr_expect(holds("r.h5", "earlier result"));
    cr_expect(entries() > 1, "the killed runs left their temporary files");
    cr_expect(result_write("r.h5", true, &e, &diags) == HR_OK); /* they are in nobody's way */
    cr_expect(whole("r.h5"));
}

static void write_for_ever(void)
{
    for (;;)
        if (result_write("r.h5", true, &e, &diags) != HR_OK)
            _exit(1);
}

/* Killed at 30 arbitrary moments of a loop that replaces the file. */
Test(atomic_file, killed_at_any_moment, .init = setup, .fini = teardown, .timeout = 60)
{
    cr_assert(result_write("r.h5", false, &e, &diags) == HR_OK);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        cr_assert(pid >= 0);
        if (pid == 0)
            write_for_ever();
        const struct timespec wait = {0, (i * 7919 % 23) * 1000000L + 500000L};
        nanosleep(&wait, NULL);
        kill(pid, SIGKILL);
        int status;
        cr_assert(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        cr_assert(whole("r.h5"), "kill %d", i);
    }
}

Test(atomic_file, stale_files_of_the_same_process_number, .init = setup, .fini = teardown)
{
    char name[64];
    snprintf(name, sizeof name, ".r.h5.tmp-%ld", (long)getpid());
    put(name, "left by another");
    cr_expect(result_write("r.h5", false, &e, &diags) == HR_OK);
    cr_expect(whole("r.h5") && holds(name, "left by another"));
    cr_expect(eq(sz, entries(), 2));
}

/* What appears under the name meanwhile is not replaced. */
Test(atomic_file, never_replaces_without_force, .init = setup, .fini = teardown)
{
    struct atomic_file f;
    cr_assert(atomic_file_open(&f, "x", false, &diags) == HR_OK);
    fputs("mine", f.out);
    put("x", "theirs");
    cr_expect(atomic_file_commit(&f, &diags) == HR_IO);
    cr_expect(holds("x", "theirs"));
    cr_expect(eq(sz, entries(), 1));
    cr_assert(atomic_file_open(&f, "x", true, &diags) == HR_OK);
    fputs("mine", f.out);
    cr_expect(atomic_file_commit(&f, &diags) == HR_OK);
    cr_expect(holds("x", "mine"));
    cr_assert(atomic_file_open(&f, "y", true, &diags) == HR_OK);
    atomic_file_abort(&f);
    atomic_file_abort(&f);
    cr_expect(eq(sz, entries(), 1));
}

/* ---- streams of rows ---- */

static void stream(struct csv_rows *c, int n)
{
    struct run_hooks hooks = csv_rows_hooks(c);
    const struct request_row done = {.number = 7,
                                     .arrival_ns = 1,
                                     .prompt_tokens = 100,
                                     .output_tokens = 20,
                                     .ttft_ns = SIM_S + 5,
                                     .e2e_ns = 2 * SIM_S,
                                     .retries = 2};
    const struct request_row refused = {.number = 8,
                                        .arrival_ns = 90 * SIM_S,
                                        .prompt_tokens = 9,
                                        .output_tokens = 1,
                                        .ttft_ns = SIM_NEVER,
                                        .e2e_ns = SIM_NEVER,
                                        .fate = SLO_TOO_LONG};
    for (int i = 0; i < n; i++) {
        if (hooks.request) {
            hooks.request(hooks.self, &done);
            hooks.request(hooks.self, &refused);
        }
        if (hooks.change)
            hooks.change(hooks.self, 3 * SIM_S, 4, 1, GPU_TRAINING, GPU_DRAINING, 8);
    }
}

Test(atomic_file, rows, .init = setup, .fini = teardown)
{
    struct csv_rows c;
    cr_assert(csv_rows_open(&c, &fixture_shared, "q.csv", "v.csv", false, &diags) == HR_OK);
    stream(&c, 1);
    cr_expect(access("q.csv", F_OK) != 0);
    cr_assert(csv_rows_finish(&c, &diags) == HR_OK);
    cr_expect(holds("q.csv",
                    "number,service,arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s,fate,"
                    "retries\n"
                    "7,chat,0.000000001,100,20,1.000000005,2.000000000,done,2\n"
                    "8,chat,90.000000000,9,1,,,too_long,0\n"));
    cr_expect(holds("v.csv",
                    "time_s,lease,claimant,from,to,gpus\n"
                    "3.000000000,4,train,training,draining,8\n"));
    cr_expect(csv_rows_open(&c, &fixture_shared, NULL, "v.csv", false, &diags) == HR_INPUT);
    cr_assert(csv_rows_open(&c, &fixture_shared, NULL, "w.csv", false, &diags) == HR_OK);
    cr_expect(csv_rows_hooks(&c).request == NULL);
    csv_rows_abort(&c);
    cr_expect(eq(sz, entries(), 2));
}

static void stream_on_full_disk(void)
{
    struct csv_rows c;
    signal(SIGXFSZ, SIG_IGN);
    limit_size(20000);
    if (csv_rows_open(&c, &fixture_shared, "q.csv", "v.csv", true, &diags) != HR_OK)
        _exit(1);
    stream(&c, 5000);
    enum hr_err err = csv_rows_finish(&c, &diags);
    _exit(err == HR_IO && diags.n_errors == 1 && strstr(diags.items[0].text, "File too large") ? 0
                                                                                               : 2);
}

Test(atomic_file, rows_on_a_full_disk, .init = setup, .fini = teardown)
{
    put("q.csv", "earlier");
    cr_expect(eq(int, in_child(stream_on_full_disk), 0));
    cr_expect(holds("q.csv", "earlier"));
    cr_expect(eq(sz, entries(), 1));
}
