/* headroom explain as a user types it. */
#include "tests/cli/shell.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/resource.h>

static struct ran r;

static void expect(const char *line, int code, const char *out, const char *err)
{
    shell(&r, line);
    cr_assert_eq(r.code, code, "%s: exit code %d, expected %d\n%s\n%s", line, r.code, code, r.out,
                 r.err);
    cr_expect_not_null(strstr(r.out, out), "%s: '%s' is not in:\n%s", line, out, r.out);
    cr_expect_not_null(strstr(r.err, err), "%s: '%s' is not in:\n%s", line, err, r.err);
}

TestSuite(explain, .fini = shell_clean, .timeout = 60);

Test(explain, finds_worksheets)
{
    expect("$H explain", 0, "Queueing and pooling\n  little ", "");
    expect("$H explain little", 0, "B = L x g = 420 x 4 = 1,680 GPUs", "");
    expect("$H explain LITTLE stream", 0, "little", "");
    expect("$H explain litle", 2, "", "did you mean 'little'?");
    expect("$H explain qqqqqqqq", 2, "", "headroom explain lists all");
    expect("$H explain --json | head -3", 0, "\"worksheet\": \"little\"", "");
    expect("$H explain --help", 0, "--answer KEY=VALUE", "");
}

Test(explain, sets_inputs)
{
    expect("$H explain little arrivals_per_h=2jobs/min --set mean_hold_h=210min", 0,
           "B = L x g = 420 x 4 = 1,680 GPUs", "");
    expect("$H explain little --set arrivals=1", 2, "", "no input 'arrivals'");
    expect("$H explain little busy_gpu=1", 2, "", "did you mean 'busy_gpus'?");
    expect("$H explain little gpus_per_job=1.5", 2, "", "gpus_per_job");
    expect("$H explain little --set busy_gpus=5", 2, "", "is a result of worksheet little");
    expect("$H explain --set a=1", 2, "", "name a worksheet");
    expect("$H explain busy_gpus=1", 2, "", "name a worksheet");
}

Test(explain, marks_answers)
{
    expect("$H explain little busy_gpus=1680 stable=1", 0, "All right", "");
    expect("$H explain little busy_gpus=420 --answer jobs_in_service=420", 3,
           "The answers part from the sheet at step 2", "");
    expect("$H explain little busy_gpus=1700", 3, "wrong; it is 1,680 GPUs", "");
    expect("$H explain little busy_gpus=1700 --tolerance 2%", 0, "All right (within 2 %", "");
    expect("$H explain little busy_gpus=1700 --tolerance 2", 2, "", "--tolerance");
    expect("$H explain little busy_gpus=1 busy_gpus=2", 2, "", "answered twice");
    expect("$H explain little busy_gpus=420 --json", 3, "\"parts_at\": \"busy_gpus\"", "");
}

Test(explain, varies_an_input)
{
    expect("$H explain little --vary fleet_gpus=1000..4000:7 --of utilization", 0, "Knee: at", "");
    expect("$H explain little --vary arrivals_per_h=0..200", 0, "No knee", "");
    expect("$H explain little --vary fleet_gpus=0..10", 2, "", "at least 1");
    expect("$H explain little --of utilization", 2, "", "--vary");
    expect("$H explain little --vary arrivals_per_h=0..10:3 --json", 0, "[5, 70]", "");
}

/* Of all processes that have ended, in seconds. */
static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The least of several, with the shell around it: others may be using the machine. */
Test(explain, is_quick)
{
    double best = 1e9;
    for (int i = 0; i < 10; i++) {
        const double before = cpu_s();
        shell(&r, "$H explain");
        const double took = cpu_s() - before;
        cr_assert_eq(r.code, 0);
        best = took < best ? took : best;
    }
    cr_assert(best > 0 && best < 0.05, "%.3f s", best);
}
