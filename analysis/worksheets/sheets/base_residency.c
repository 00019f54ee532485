/* Worksheet: whether a base model is worth keeping resident. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { BASE, GPU, RESERVE, JOB, RATE, JOBS, PRICE };
enum {
    LOAD_S,
    HOLD,
    RELOAD,
    BREAKEVEN,
    KEEP,
    HOLD_COST,
    RELOAD_COST,
    MOST,
    SLOTS_1,
    SLOTS_2,
    SLOTS_3
};

static const struct sheet_input inputs[] = {
    [BASE] = SHEET_INPUT("base_gb", "b", "GB", "base model size", "16", .above = true),
    [GPU] = SHEET_INPUT("gpu_gb", "G", "GB", "GPU memory", "80", .above = true),
    [RESERVE] = SHEET_INPUT("reserve_gb", "v", "GB", "memory kept for context", "4"),
    [JOB] = SHEET_INPUT("job_gb", "j", "GB", "memory of one job", "7", .above = true),
    [RATE] = SHEET_INPUT("load_gb_per_s", "w", "GB/s", "load rate", "1", .above = true),
    [JOBS] = SHEET_INPUT("jobs_per_h", "lambda", "1/h",
                         "jobs on this base that would each reload it", "60"),
    [PRICE] = SHEET_INPUT("gpu_price", "p", "$/GPU-h", "GPU price", "2.5"),
};

static const struct sheet_output outputs[] = {
    [LOAD_S] = SHEET_OUTPUT("load_s", "T", "s", "{base_gb} / {load_gb_per_s}",
                            "Loading the base takes {load_s}."),
    [HOLD] = SHEET_OUTPUT("hold_gpus", "N_h", "GPUs", "{base_gb} / {gpu_gb}",
                          "Resident it occupies {hold_gpus}, all the time."),
    [RELOAD] = SHEET_OUTPUT("reload_gpus", "N_r", "GPUs", "{jobs_per_h} x {load_s} / 3600",
                            "Loaded for each job it blocks {reload_gpus} on average."),
    [BREAKEVEN] =
        SHEET_OUTPUT("breakeven_jobs_per_h", "lambda_0", "1/h", "3600 x {load_gb_per_s} / {gpu_gb}",
                     "Both are alike at {breakeven_jobs_per_h#} jobs an hour, whatever "
                     "the size of the base."),
    [KEEP] = SHEET_OUTPUT("keep_resident", "keep", "0/1", "1 when {hold_gpus} <= {reload_gpus}",
                          "Keep it.", .type = SHEET_FLAG),
    [HOLD_COST] = SHEET_OUTPUT("hold_cost_h", "c_h", "$/h", "{gpu_price} x {hold_gpus}",
                               "Holding costs {hold_cost_h}."),
    [RELOAD_COST] = SHEET_OUTPUT("reload_cost_h", "c_r", "$/h", "{gpu_price} x {reload_gpus}",
                                 "Reloading costs {reload_cost_h}."),
    [MOST] = SHEET_OUTPUT("max_resident_bases", "m", "-",
                          "max(0, floor(({gpu_gb} - {reserve_gb} - {job_gb}) / {base_gb}))",
                          "{max_resident_bases} bases leave room for a job.", .type = SHEET_COUNT),
    [SLOTS_1] = SHEET_OUTPUT("slots_1_base", "k_1", "jobs",
                             "max(0, floor(({gpu_gb} - {reserve_gb} - {base_gb}) / {job_gb}))",
                             "Beside one base {slots_1_base} fit.", .type = SHEET_COUNT),
    [SLOTS_2] = SHEET_OUTPUT("slots_2_bases", "k_2", "jobs",
                             "max(0, floor(({gpu_gb} - {reserve_gb} - 2 x {base_gb}) / {job_gb}))",
                             "Beside two {slots_2_bases} fit.", .type = SHEET_COUNT),
    [SLOTS_3] = SHEET_OUTPUT("slots_3_bases", "k_3", "jobs",
                             "max(0, floor(({gpu_gb} - {reserve_gb} - 3 x {base_gb}) / {job_gb}))",
                             "Beside three {slots_3_bases} fit.", .type = SHEET_COUNT),
};

static bool let_go(const struct sheet_case *c)
{
    return sheet_out(c, KEEP) == 0;
}

static bool larger(const struct sheet_case *c)
{
    return sheet_out(c, HOLD) > 1;
}

static const struct sheet_remark remarks[] = {
    {HOLD, larger, "The base is larger than the GPU."},
    {KEEP, let_go, "Load it when it is needed: so few jobs do not pay for the memory."},
};

static double without_reserve(const struct sheet_case *c)
{
    return fmax(0, sheet_floor((sheet_in(c, GPU) - sheet_in(c, BASE)) / sheet_in(c, JOB)));
}

static double no_job(const struct sheet_case *c)
{
    return fmax(0, sheet_floor((sheet_in(c, GPU) - sheet_in(c, RESERVE)) / sheet_in(c, BASE)));
}

static double whole_gpu(const struct sheet_case *c)
{
    return 3600 * sheet_in(c, RATE) / sheet_in(c, BASE);
}

static const struct sheet_mistake mistakes[] = {
    {BREAKEVEN, "charges a whole GPU for a resident base", whole_gpu},
    {MOST, "leaves no room for a job", no_job},
    {SLOTS_1, "leaves out the reserve", without_reserve},
};

static double slots(const struct sheet_case *c, int bases)
{
    const double room = sheet_in(c, GPU) - sheet_in(c, RESERVE) - bases * sheet_in(c, BASE);
    return fmax(0, sheet_floor(room / sheet_in(c, JOB)));
}

static void solve(struct sheet_case *c)
{
    const double base = sheet_in(c, BASE), gpu = sheet_in(c, GPU), rate = sheet_in(c, RATE);
    const double load = base / rate, hold = base / gpu, reload = sheet_in(c, JOBS) * load / 3600;
    const double room = gpu - sheet_in(c, RESERVE) - sheet_in(c, JOB);
    sheet_set(c, LOAD_S, load);
    sheet_set(c, HOLD, hold);
    sheet_set(c, RELOAD, reload);
    sheet_set(c, BREAKEVEN, 3600 * rate / gpu);
    sheet_set(c, KEEP, hold <= reload);
    sheet_set(c, HOLD_COST, sheet_in(c, PRICE) * hold);
    sheet_set(c, RELOAD_COST, sheet_in(c, PRICE) * reload);
    sheet_set(c, MOST, fmax(0, sheet_floor(room / base)));
    sheet_set(c, SLOTS_1, slots(c, 1));
    sheet_set(c, SLOTS_2, slots(c, 2));
    sheet_set(c, SLOTS_3, slots(c, 3));
}

static const char *const rules[] = {
    "The break-even rate does not depend on the size of the base.",
    "A base larger than the GPU holds more than one GPU, and no job fits beside it.",
    "Without jobs it is never worth keeping.",
    NULL,
};

extern const struct sheet sheet_base_residency;
const struct sheet sheet_base_residency = {
    .name = "base-residency",
    .group = "Multi-tenant fine-tuning and adapters",
    .question = "Is it worth keeping a base model resident, and how many bases fit together?",
    .doc =
        "Holding a base costs its share of a GPU's memory all the time; not holding it costs a "
        "whole GPU for the load time of every job.",
    .assumption = "A GPU that loads a base does nothing else; memory held is capacity lost.",
    .rules = rules,
    .sources = "Rent-or-buy comparison of a standing and a per-use cost",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = BREAKEVEN,
    .solve = solve,
};
