/* Worksheet: how many adapter fine-tunes fit on one resident base model. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum {
    HIDDEN,
    KV,
    FFN,
    LAYERS,
    RANK,
    BASE_PARAMS,
    BASE_BYTES,
    TRAIN_BYTES,
    CKPT_BYTES,
    GPU_MEM,
    RESERVE,
    ACT,
    WRITE,
    UTIL
};
enum {
    PER_LAYER,
    PARAMS,
    WEIGHTS_MB,
    JOB_GB,
    BASE_GB,
    SHARED,
    OWN,
    GAIN,
    FULL_GB,
    FULL_GPUS,
    CKPT_GB,
    CKPT_S,
    FULL_CKPT_GB,
    FULL_CKPT_S,
    SPEEDUP
};

static const struct sheet_input inputs[] = {
    [HIDDEN] = SHEET_INPUT("hidden", "h", "-", "hidden width", "4096", .type = SHEET_COUNT,
                           .min = 1, .max = 1e6),
    [KV] = SHEET_INPUT("kv_dim", "kv", "-", "key and value width", "1024", .type = SHEET_COUNT,
                       .min = 1, .max = 1e6),
    [FFN] = SHEET_INPUT("ffn", "f", "-", "feed-forward width", "14336", .type = SHEET_COUNT,
                        .min = 1, .max = 1e7),
    [LAYERS] =
        SHEET_INPUT("layers", "l", "-", "layers", "32", .type = SHEET_COUNT, .min = 1, .max = 1e5),
    [RANK] = SHEET_INPUT("rank", "r", "-", "adapter rank", "16", .type = SHEET_COUNT, .max = 1e5),
    [BASE_PARAMS] = SHEET_INPUT("base_params_b", "P", "10^9", "base parameters, billions", "8.03",
                                .above = true),
    [BASE_BYTES] = SHEET_INPUT("base_bytes_per_param", "beta", "bytes",
                               "bytes of a frozen base parameter", "2", .above = true),
    [TRAIN_BYTES] = SHEET_INPUT("train_bytes_per_param", "t", "bytes",
                                "bytes of a trained parameter: weight, gradient, optimiser", "16"),
    [CKPT_BYTES] = SHEET_INPUT("ckpt_bytes_per_param", "s", "bytes",
                               "bytes saved of a trained parameter", "14"),
    [GPU_MEM] = SHEET_INPUT("gpu_mem_gb", "G", "GB", "GPU memory", "80", .above = true),
    [RESERVE] = SHEET_INPUT("reserve_gb", "v", "GB", "kept for context and fragmentation", "4"),
    [ACT] = SHEET_INPUT("act_gb", "a", "GB", "activations of one job", "6"),
    [WRITE] =
        SHEET_INPUT("ckpt_gb_per_s", "w", "GB/s", "checkpoint write rate", "1", .above = true),
    [UTIL] = SHEET_INPUT("one_job_util", "u", "fraction",
                         "share of the GPU's compute one job can use alone", "0.35", .above = true,
                         .max = 1),
};

static const struct sheet_output outputs[] = {
    [PER_LAYER] = SHEET_OUTPUT("params_per_layer", "n_l", "params",
                               "{rank} x (2 x ({hidden} + {hidden}) + 2 x ({hidden} + {kv_dim}) + "
                               "3 x ({hidden} + {ffn}))",
                               "Query and output, key and value, gate, up and down: "
                               "{params_per_layer#} trained parameters a layer.",
                               .type = SHEET_COUNT),
    [PARAMS] = SHEET_OUTPUT("adapter_params", "n", "params", "{layers} x {params_per_layer}",
                            "The adapter has {adapter_params#}.", .type = SHEET_COUNT),
    [WEIGHTS_MB] = SHEET_OUTPUT("adapter_weights_mb", "m", "MB", "{adapter_params} x 2 / 10^6",
                                "Its weights alone are {adapter_weights_mb}."),
    [JOB_GB] = SHEET_OUTPUT("job_gb", "j", "GB",
                            "{adapter_params} x {train_bytes_per_param} / 10^9 + {act_gb}",
                            "One job takes {job_gb} beside the base."),
    [BASE_GB] = SHEET_OUTPUT("base_gb", "b", "GB", "{base_params_b} x {base_bytes_per_param}",
                             "The base takes {base_gb}, once."),
    [SHARED] = SHEET_OUTPUT("jobs_shared_base", "J", "jobs",
                            "max(0, floor(({gpu_mem_gb} - {reserve_gb} - {base_gb}) / {job_gb}))",
                            "On a shared base {jobs_shared_base} fit.", .type = SHEET_COUNT),
    [OWN] = SHEET_OUTPUT("jobs_own_base", "J_o", "jobs",
                         "floor(({gpu_mem_gb} - {reserve_gb}) / ({base_gb} + {job_gb}))",
                         "With a base each {jobs_own_base} fit.", .type = SHEET_COUNT),
    [GAIN] = SHEET_OUTPUT("packing_gain", "k", "-", "{jobs_shared_base} / {jobs_own_base}",
                          "Sharing packs {packing_gain} times as many."),
    [FULL_GB] = SHEET_OUTPUT("full_tune_gb", "F", "GB",
                             "{base_params_b} x {train_bytes_per_param} + {act_gb}",
                             "Training every parameter would take {full_tune_gb}."),
    [FULL_GPUS] = SHEET_OUTPUT("full_tune_gpus", "N_F", "GPUs",
                               "ceil({full_tune_gb} / ({gpu_mem_gb} - {reserve_gb}))",
                               "That is {full_tune_gpus} at least.", .type = SHEET_COUNT),
    [CKPT_GB] = SHEET_OUTPUT("adapter_ckpt_gb", "c", "GB",
                             "{adapter_params} x {ckpt_bytes_per_param} / 10^9",
                             "A checkpoint of the adapter is {adapter_ckpt_gb}."),
    [CKPT_S] = SHEET_OUTPUT("adapter_ckpt_s", "T_c", "s", "{adapter_ckpt_gb} / {ckpt_gb_per_s}",
                            "It is written in {adapter_ckpt_s}: preemption is cheap."),
    [FULL_CKPT_GB] =
        SHEET_OUTPUT("full_ckpt_gb", "c_F", "GB", "{base_params_b} x {ckpt_bytes_per_param}",
                     "One of the whole model is {full_ckpt_gb}."),
    [FULL_CKPT_S] = SHEET_OUTPUT("full_ckpt_s", "T_F", "s", "{full_ckpt_gb} / {ckpt_gb_per_s}",
                                 "And takes {full_ckpt_s}."),
    [SPEEDUP] =
        SHEET_OUTPUT("speedup_packed", "z", "-", "min({jobs_shared_base}, 1 / {one_job_util})",
                     "Packed, the GPU does {speedup_packed} times the work of one job "
                     "alone: then its compute is full."),
};

static bool neither(const struct sheet_case *c)
{
    return sheet_out(c, SHARED) == 0;
}

static bool only_shared(const struct sheet_case *c)
{
    return sheet_out(c, SHARED) > 0 && sheet_out(c, OWN) == 0;
}

static bool full_memory(const struct sheet_case *c)
{
    return c->out[FULL_GPUS].items[0].kind == VALUE_NONE;
}

static const struct sheet_remark remarks[] = {
    {SHARED, neither, "Base and one job do not fit on the GPU."},
    {GAIN, neither, "Neither form fits."},
    {GAIN, only_shared, "Only the shared form fits."},
    {FULL_GPUS, full_memory, "The reserve leaves no memory."},
};

/* ---- mistakes ---- */

static double without_activations(const struct sheet_case *c)
{
    return sheet_out(c, PARAMS) * sheet_in(c, TRAIN_BYTES) / 1e9;
}

static double without_reserve(const struct sheet_case *c)
{
    return fmax(0,
                sheet_floor((sheet_in(c, GPU_MEM) - sheet_out(c, BASE_GB)) / sheet_out(c, JOB_GB)));
}

static double in_gib(const struct sheet_case *c)
{
    const double gib = 1.073741824;
    const double room = sheet_in(c, GPU_MEM) * gib - sheet_in(c, RESERVE) - sheet_out(c, BASE_GB);
    return fmax(0, sheet_floor(room / sheet_out(c, JOB_GB)));
}

static double attention_only(const struct sheet_case *c)
{
    const double h = sheet_in(c, HIDDEN);
    return sheet_in(c, RANK) * (4 * h + 2 * (h + sheet_in(c, KV)));
}

static double one_head_width(const struct sheet_case *c)
{
    const double h = sheet_in(c, HIDDEN);
    return sheet_in(c, RANK) * (8 * h + 3 * (h + sheet_in(c, FFN)));
}

static double as_many_as_fit(const struct sheet_case *c)
{
    return sheet_out(c, SHARED);
}

static const struct sheet_mistake mistakes[] = {
    {PER_LAYER, "puts adapters on the attention only, none on the feed-forward", attention_only},
    {PER_LAYER, "takes keys and values as wide as queries", one_head_width},
    {JOB_GB, "leaves out the activations", without_activations},
    {SHARED, "leaves out the reserve", without_reserve},
    {SHARED, "takes GB for GiB", in_gib},
    {SPEEDUP, "lets memory alone decide: the compute is full before", as_many_as_fit},
};

/* ---- solution ---- */

static void check(struct sheet_case *c)
{
    if (sheet_in(c, RESERVE) > sheet_in(c, GPU_MEM))
        sheet_refuse(c, RESERVE, "is more memory than the GPU has");
    if (sheet_in(c, ACT) == 0 && (sheet_in(c, RANK) == 0 || sheet_in(c, TRAIN_BYTES) == 0))
        sheet_refuse(c, ACT, "is 0 and the adapter too: a job must take some memory");
}

static void solve_saves(struct sheet_case *c)
{
    const double params = sheet_out(c, PARAMS), base = sheet_in(c, BASE_PARAMS);
    const double bytes = sheet_in(c, CKPT_BYTES), rate = sheet_in(c, WRITE);
    sheet_set(c, CKPT_GB, params * bytes / 1e9);
    sheet_set(c, CKPT_S, params * bytes / 1e9 / rate);
    sheet_set(c, FULL_CKPT_GB, base * bytes);
    sheet_set(c, FULL_CKPT_S, base * bytes / rate);
}

static void solve(struct sheet_case *c)
{
    const double h = sheet_in(c, HIDDEN),
                 per_layer = sheet_in(c, RANK) *
                             (4 * h + 2 * (h + sheet_in(c, KV)) + 3 * (h + sheet_in(c, FFN)));
    const double params = sheet_in(c, LAYERS) * per_layer, base_params = sheet_in(c, BASE_PARAMS);
    const double job = params * sheet_in(c, TRAIN_BYTES) / 1e9 + sheet_in(c, ACT);
    const double base = base_params * sheet_in(c, BASE_BYTES);
    const double room = sheet_in(c, GPU_MEM) - sheet_in(c, RESERVE);
    const double shared = fmax(0, sheet_floor((room - base) / job));
    const double own = sheet_floor(room / (base + job));
    const double full = base_params * sheet_in(c, TRAIN_BYTES) + sheet_in(c, ACT);
    sheet_set(c, PER_LAYER, per_layer);
    sheet_set(c, PARAMS, params);
    sheet_set(c, WEIGHTS_MB, params * 2 / 1e6);
    sheet_set(c, JOB_GB, job);
    sheet_set(c, BASE_GB, base);
    sheet_set(c, SHARED, shared);
    sheet_set(c, OWN, own);
    sheet_set(c, GAIN, own > 0 ? shared / own : shared > 0 ? INFINITY : 0);
    sheet_set(c, FULL_GB, full);
    sheet_set_if(c, FULL_GPUS, room > 0, room > 0 ? sheet_ceil(full / room) : 0);
    solve_saves(c);
    sheet_set(c, SPEEDUP, fmin(shared, 1 / sheet_in(c, UTIL)));
}

static const char *const rules[] = {
    "A base larger than the GPU: no job fits in either form, and sharing gains nothing.",
    "A rank of 0 is no adapter: a job is its activations.",
    "A job without any memory is refused.",
    NULL,
};

extern const struct sheet sheet_lora_memory;
const struct sheet sheet_lora_memory = {
    .name = "lora-memory",
    .group = "Multi-tenant fine-tuning and adapters",
    .question =
        "How many adapter fine-tunes fit on one resident base model, and how big is a checkpoint?",
    .doc =
        "A low-rank pair on every projection of a grouped-query transformer layer: query and "
        "output (h to h), key and value (h to kv), gate, up and down (h to f). The base is frozen "
        "and shared; each job adds its adapter's training state and its activations. 1 GB is 10^9 "
        "bytes.",
    .assumption = "Activations of a job are as stated: they grow with batch and sequence length.",
    .rules = rules,
    .sources =
        "E. J. Hu et al., 'LoRA: low-rank adaptation of large language models' (2021); S. "
        "Rajbhandari et al., ZeRO (2020): 2 + 2 + 4 + 4 + 4 = 16 bytes of a trained parameter",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = SHARED,
    .check = check,
    .solve = solve,
};
