/* Worksheet: GPUs of a fine-tuning service when each base model has its own resident pool. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/erlang.h"

#include <math.h>

enum { TENANTS, JOBS, JOB_H, PER_GPU, SHARE, TARGET };
enum { OFFERED, GPUS, P_WAIT, WAIT, TOTAL, UTILIZATION, ONE_POOL, DEDICATED, DEDICATED_UTIL };

static const struct sheet_input inputs[] = {
    [TENANTS] = SHEET_INPUT("tenants", "T", "tenants", "number of customers", "300",
                            .type = SHEET_COUNT, .max = 1e7),
    [JOBS] = SHEET_INPUT("jobs_per_tenant_day", "d", "1/day", "jobs of a customer a day", "2"),
    [JOB_H] =
        SHEET_INPUT("job_h", "S", "h", "mean job time in a packed slot", "1.5", .above = true),
    [PER_GPU] = SHEET_INPUT("jobs_per_gpu", "J", "slots", "slots on one GPU with its base resident",
                            "8", .type = SHEET_COUNT, .min = 1, .max = 1000),
    [SHARE] = SHEET_INPUT("base_share", "s", "fraction",
                          "share of jobs that use each base; they sum to 1", "0.6, 0.3, 0.1",
                          .list = true, .max = 1),
    [TARGET] = SHEET_INPUT("target_p_wait", "q", "fraction", "largest probability that a job waits",
                           "0.05", .above = true, .max = 1, .below = true),
};

static const struct sheet_output outputs[] = {
    [OFFERED] = SHEET_OUTPUT("offered_erlangs", "a", "slots",
                             "{tenants} x {jobs_per_tenant_day} / 24 x {job_h}",
                             "On average {offered_erlangs} are busy."),
    [GPUS] = SHEET_OUTPUT("gpus_base", "n", "GPUs",
                          "smallest n with C(n x {jobs_per_gpu}, {base_share} x {offered_erlangs}) "
                          "<= {target_p_wait}",
                          "A base with {base_share} of the jobs takes {gpus_base}.",
                          .each = "base_share", .type = SHEET_COUNT),
    [P_WAIT] = SHEET_OUTPUT("p_wait_base", "C", "fraction",
                            "C({gpus_base} x {jobs_per_gpu}, {base_share} x {offered_erlangs})",
                            "There {p_wait_base} of the jobs wait.", .each = "base_share"),
    [WAIT] =
        SHEET_OUTPUT("mean_wait_h_base", "W", "h",
                     "{p_wait_base} x {job_h} / ({gpus_base} x {jobs_per_gpu} - {base_share} "
                     "x {offered_erlangs})",
                     "Over all of them the mean wait is {mean_wait_h_base}.", .each = "base_share"),
    [TOTAL] = SHEET_OUTPUT("total_gpus", "N", "GPUs", "sum over the bases",
                           "All pools together are {total_gpus}.", .type = SHEET_COUNT),
    [UTILIZATION] = SHEET_OUTPUT("slot_utilization", "rho", "fraction",
                                 "{offered_erlangs} / ({jobs_per_gpu} x {total_gpus})",
                                 "Their slots are busy {slot_utilization} of the time."),
    [ONE_POOL] =
        SHEET_OUTPUT("one_pool_gpus", "N_1", "GPUs",
                     "smallest n with C(n x {jobs_per_gpu}, {offered_erlangs}) <= "
                     "{target_p_wait}",
                     "If one base served everyone, {one_pool_gpus} would do.", .type = SHEET_COUNT),
    [DEDICATED] =
        SHEET_OUTPUT("dedicated_gpus", "N_d", "GPUs", "{tenants}",
                     "A GPU for each customer would be {dedicated_gpus}.", .type = SHEET_COUNT),
    [DEDICATED_UTIL] = SHEET_OUTPUT("dedicated_utilization", "rho_d", "fraction",
                                    "{jobs_per_tenant_day} x {job_h} / 24",
                                    "Busy {dedicated_utilization} of the time."),
};

static bool too_much(const struct sheet_case *c)
{
    return sheet_out(c, DEDICATED_UTIL) > 1;
}

static const struct sheet_remark remarks[] = {
    {DEDICATED_UTIL, too_much, "One GPU a customer would not keep up."},
};

static double for_the_mean(const struct sheet_case *c)
{
    return sheet_ceil(sheet_out(c, OFFERED) / sheet_in(c, PER_GPU));
}

static double as_one_pool(const struct sheet_case *c)
{
    return sheet_out(c, ONE_POOL);
}

static const struct sheet_mistake mistakes[] = {
    {TOTAL, "sizes for the mean load", for_the_mean},
    {TOTAL, "lets every job run anywhere: a slot has one base", as_one_pool},
    {ONE_POOL, "sizes for the mean load", for_the_mean},
};

static void check(struct sheet_case *c)
{
    size_t n;
    const double *share = sheet_list(c, SHARE, &n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += share[i];
    if (fabs(sum - 1) > 1e-6)
        sheet_refuse(c, SHARE, "sums to %g, not to 1", sum);
    if (sheet_in(c, TENANTS) * sheet_in(c, JOBS) / 24 * sheet_in(c, JOB_H) > 2e5)
        sheet_refuse(c, TENANTS, "keep more than 200,000 slots busy");
}

/* GPUs of a pool with this load, and how its jobs wait. */
static double pool(const struct sheet_case *c, double offered, struct erlang_delay *delay)
{
    const double slots = sheet_in(c, PER_GPU);
    *delay = (struct erlang_delay){0};
    if (offered == 0)
        return 0;
    const uint32_t least =
        erlang_c_least((struct erlang_load){offered, 0}, 1, 0, sheet_in(c, TARGET));
    const double gpus = sheet_ceil(least / slots);
    *delay = erlang_delay((uint32_t)(gpus * slots), (struct erlang_load){offered, 0});
    return gpus;
}

static void solve(struct sheet_case *c)
{
    size_t n;
    const double *share = sheet_list(c, SHARE, &n), job_h = sheet_in(c, JOB_H);
    const double per_day = sheet_in(c, JOBS), offered = sheet_in(c, TENANTS) * per_day / 24 * job_h;
    double total = 0;
    struct erlang_delay delay;
    for (size_t i = 0; i < n; i++) {
        const double gpus = pool(c, share[i] * offered, &delay);
        sheet_set_at(c, GPUS, i, gpus);
        sheet_set_at(c, P_WAIT, i, (double)delay.wait_frac);
        sheet_set_at(c, WAIT, i, gpus > 0 ? erlang_delay_mean(&delay, job_h) : 0);
        total += gpus;
    }
    sheet_set(c, OFFERED, offered);
    sheet_set(c, TOTAL, total);
    sheet_set(c, UTILIZATION, total > 0 ? offered / (sheet_in(c, PER_GPU) * total) : 0);
    sheet_set(c, ONE_POOL, pool(c, offered, &delay));
    sheet_set(c, DEDICATED, sheet_in(c, TENANTS));
    sheet_set(c, DEDICATED_UTIL, per_day * job_h / 24);
}

static const char *const rules[] = {
    "A base that nobody uses needs no GPU; nobody waits for it.",
    "Shares that do not sum to 1 (within 1e-6) are refused.",
    "More than 200,000 busy slots are refused.",
    NULL,
};

extern const struct sheet sheet_lora_pool;
const struct sheet sheet_lora_pool = {
    .name = "lora-pool",
    .group = "Multi-tenant fine-tuning and adapters",
    .question =
        "How many GPUs does a fine-tuning service need when each base model has its own resident "
        "pool?",
    .doc =
        "Every customer submits jobs at random; a job runs in one of the slots of a GPU that "
        "already holds its base. The pool of a base is an Erlang delay system, in whole GPUs.",
    .assumption = "Jobs arrive at random, and one runs as fast in a full GPU as in an empty one.",
    .rules = rules,
    .sources = "A. K. Erlang (1917)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = TOTAL,
    .check = check,
    .solve = solve,
};
