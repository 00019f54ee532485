/* Worksheet: the owner of a quota comes back for the GPUs that were lent out. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/drain.h"

#include <math.h>

enum { QUOTA, LENT, IDLE, DEMAND, GANG, JOB_MEAN, GRACE, INTERVAL, RESTART };
enum {
    GRANTED,
    NOW,
    NEED,
    GANGS,
    GPUS,
    READY,
    LOST_KILL,
    LOST_SAVE,
    LENT_GANGS,
    FIRST,
    NATURAL,
    SPEEDUP
};

static const struct sheet_input inputs[] = {
    [QUOTA] = SHEET_INPUT("quota_gpus", "Q", "GPUs", "the owner's quota", "2000",
                          .type = SHEET_COUNT, .max = 1e7),
    [LENT] = SHEET_INPUT("lent_gpus", "X", "GPUs", "GPUs of that quota on loan", "1500",
                         .type = SHEET_COUNT, .max = 1e7),
    [IDLE] = SHEET_INPUT("idle_gpus", "I", "GPUs", "idle GPUs anywhere in the fleet", "100",
                         .type = SHEET_COUNT, .max = 1e7),
    [DEMAND] = SHEET_INPUT("demand_gpus", "D", "GPUs", "what the owner asks for now", "2000",
                           .type = SHEET_COUNT, .max = 1e7),
    [GANG] = SHEET_INPUT("gang_gpus", "g", "GPUs", "size of a borrowing gang", "8",
                         .type = SHEET_COUNT, .min = 1, .max = 1e7),
    [JOB_MEAN] = SHEET_INPUT("job_mean_h", "S", "h",
                             "mean remaining run time of a borrowing gang (exponential)", "1"),
    [GRACE] =
        SHEET_INPUT("grace_s", "G", "s", "notice before a preempted gang must be gone", "120"),
    [INTERVAL] =
        SHEET_INPUT("ckpt_interval_s", "tau", "s", "its periodic checkpoint interval", "1800"),
    [RESTART] =
        SHEET_INPUT("restart_s", "R", "s", "time to be productive again after requeueing", "300"),
};

static const struct sheet_output outputs[] = {
    [GRANTED] =
        SHEET_OUTPUT("granted_demand_gpus", "D_q", "GPUs", "min({demand_gpus}, {quota_gpus})",
                     "{granted_demand_gpus} are guaranteed; what is asked above the quota "
                     "is not reclaimed for.",
                     .type = SHEET_COUNT),
    [NOW] = SHEET_OUTPUT("now_gpus", "A", "GPUs",
                         "min({granted_demand_gpus}, {quota_gpus} - {lent_gpus} + {idle_gpus})",
                         "{now_gpus} are handed over at once.", .type = SHEET_COUNT),
    [NEED] = SHEET_OUTPUT("need_gpus", "B", "GPUs", "{granted_demand_gpus} - {now_gpus}",
                          "{need_gpus} must come from borrowers.", .type = SHEET_COUNT),
    [GANGS] =
        SHEET_OUTPUT("gangs_preempted", "k", "gangs", "ceil({need_gpus} / {gang_gpus})",
                     "A gang is freed as a whole: {gangs_preempted} go.", .type = SHEET_COUNT),
    [GPUS] = SHEET_OUTPUT("gpus_preempted", "P", "GPUs",
                          "min({gangs_preempted} x {gang_gpus}, GPUs of all lent gangs)",
                          "That stops {gpus_preempted}.", .type = SHEET_COUNT),
    [READY] = SHEET_OUTPUT("preempt_ready_s", "t_p", "s", "{grace_s} when {gangs_preempted} > 0",
                           "By force the owner has its quota after {preempt_ready_s}."),
    [LOST_KILL] = SHEET_OUTPUT("lost_gpu_h_kill", "L_kill", "GPU-h",
                               "{gpus_preempted} x ({ckpt_interval_s} / 2 + {restart_s}) / 3600",
                               "Killed without a save, half an interval of work dies on average: "
                               "{lost_gpu_h_kill}."),
    [LOST_SAVE] = SHEET_OUTPUT("lost_gpu_h_save", "L_save", "GPU-h",
                               "{gpus_preempted} x ({grace_s} + {restart_s}) / 3600",
                               "With a save during the notice it is {lost_gpu_h_save}."),
    [LENT_GANGS] = SHEET_OUTPUT("lent_gangs", "m", "gangs", "ceil({lent_gpus} / {gang_gpus})",
                                "{lent_gangs} are borrowing.", .type = SHEET_COUNT),
    [FIRST] = SHEET_OUTPUT("natural_first_h", "t_1", "h", "{job_mean_h} / {lent_gangs}",
                           "Without force the first of them ends after {natural_first_h}."),
    [NATURAL] = SHEET_OUTPUT("natural_wait_h", "t_k", "h",
                             "{job_mean_h} x sum of 1/j, j from {lent_gangs} - {gangs_preempted} "
                             "+ 1 to {lent_gangs}",
                             "Enough of them have ended after {natural_wait_h}: the last ones take "
                             "the longest."),
    [SPEEDUP] =
        SHEET_OUTPUT("speedup", "t_k / t_p", "-", "{natural_wait_h} x 3600 / {preempt_ready_s}",
                     "Force is {speedup} times as fast."),
};

static bool nothing_needed(const struct sheet_case *c)
{
    return sheet_out(c, GANGS) == 0;
}

static const struct sheet_remark remarks[] = {
    {GANGS, nothing_needed, "What is unlent and idle covers the need: nobody is preempted."},
};

static double partial_gang(const struct sheet_case *c)
{
    return sheet_out(c, NEED);
}

static double all_at_mean(const struct sheet_case *c)
{
    return sheet_in(c, JOB_MEAN);
}

static const struct sheet_mistake mistakes[] = {
    {GPUS, "frees a gang in part: a gang stops as a whole", partial_gang},
    {NATURAL, "takes the mean run time of one gang for that of the last of many", all_at_mean},
};

static void check(struct sheet_case *c)
{
    if (sheet_in(c, LENT) > sheet_in(c, QUOTA))
        sheet_refuse(c, LENT, "more is lent than the quota of %.0f GPUs", sheet_in(c, QUOTA));
}

static void solve(struct sheet_case *c)
{
    const struct quota_return q = drain_quota_return(
        (uint32_t)sheet_in(c, QUOTA), (uint32_t)sheet_in(c, LENT), (uint32_t)sheet_in(c, IDLE),
        (uint32_t)sheet_in(c, DEMAND), (uint32_t)sheet_in(c, GANG));
    const double grace = sheet_in(c, GRACE), restart = sheet_in(c, RESTART);
    const double mean = sheet_in(c, JOB_MEAN), ready = q.gangs ? grace : 0;
    const double natural = drain_natural_wait(q.gangs, q.lent_gangs, mean);
    sheet_set(c, GRANTED, q.granted_gpus);
    sheet_set(c, NOW, q.now_gpus);
    sheet_set(c, NEED, q.need_gpus);
    sheet_set(c, GANGS, q.gangs);
    sheet_set(c, GPUS, q.gpus);
    sheet_set(c, READY, ready);
    sheet_set(c, LOST_KILL, q.gpus * (sheet_in(c, INTERVAL) / 2 + restart) / 3600);
    sheet_set(c, LOST_SAVE, q.gpus * (grace + restart) / 3600);
    sheet_set(c, LENT_GANGS, q.lent_gangs);
    sheet_set(c, FIRST, q.gangs ? mean / q.lent_gangs : 0);
    sheet_set(c, NATURAL, natural);
    sheet_set(c, SPEEDUP, !q.gangs ? 1 : ready > 0 ? natural * 3600 / ready : INFINITY);
}

static const char *const rules[] = {
    "Only the quota is guaranteed: demand above it waits like anyone's.",
    "When everything must come back the natural wait is S x H(m), growing like ln m.",
    "More lent than the quota is refused.",
    NULL,
};

extern const struct sheet sheet_quota_return;
const struct sheet sheet_quota_return = {
    .name = "quota-return",
    .group = "Job queues, quotas and fair share",
    .question =
        "What happens when the owner of a quota comes back for the GPUs that were lent "
        "out?",
    .doc =
        "The owner's unlent quota and the idle GPUs are handed over at once. The rest comes "
        "from borrowed gangs: preempt them, or wait until enough of them end by themselves.",
    .assumption =
        "Run times are memoryless: how long a gang has run says nothing of how long it "
        "still will.",
    .rules = rules,
    .sources =
        "order statistics of the exponential (A. Renyi, 1953): E[k-th of m] = S (H_m - "
        "H_(m-k)); mean age at a random instant is half the interval",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = NATURAL,
    .check = check,
    .solve = solve,
};
