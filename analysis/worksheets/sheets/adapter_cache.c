/* Worksheet: how often a request's adapter is in GPU memory already. */
#include "analysis/worksheets/sheet.h"
#include "models/closed/zipf_cache.h"

#include <math.h>

enum { ADAPTERS, ZIPF, SLOTS, RATE, SIZE, LOAD, RANK, D_IN, D_OUT };
enum { CACHE_GB, PINNED, CHAR_TIME, LRU, LOAD_MS, LOADS, LOAD_USED, ADDED, FLOPS };

static const struct sheet_input inputs[] = {
    [ADAPTERS] = SHEET_INPUT("adapters", "n", "adapters", "number of adapters", "1000",
                             .type = SHEET_COUNT, .min = 1, .max = 1e5),
    [ZIPF] = SHEET_INPUT("zipf_s", "s", "-", "Zipf exponent; 0: all alike", "1", .max = 10),
    [SLOTS] = SHEET_INPUT("cache_slots", "k", "adapters", "adapters held", "100",
                          .type = SHEET_COUNT, .max = 1e7),
    [RATE] = SHEET_INPUT("requests_per_s", "lambda", "1/s", "request rate", "50"),
    [SIZE] = SHEET_INPUT("adapter_mb", "m", "MB", "adapter size", "84", .above = true),
    [LOAD] = SHEET_INPUT("load_gb_per_s", "w", "GB/s", "host-to-GPU rate", "10", .above = true),
    [RANK] = SHEET_INPUT("rank", "r", "-", "adapter rank", "16", .type = SHEET_COUNT, .max = 1e5),
    [D_IN] = SHEET_INPUT("d_in", "d_i", "-", "input width of a projection", "4096",
                         .type = SHEET_COUNT, .min = 1, .max = 1e7),
    [D_OUT] = SHEET_INPUT("d_out", "d_o", "-", "output width of a projection", "4096",
                          .type = SHEET_COUNT, .min = 1, .max = 1e7),
};

static const struct sheet_output outputs[] = {
    [CACHE_GB] = SHEET_OUTPUT("cache_gb", "G", "GB", "{cache_slots} x {adapter_mb} / 1000",
                              "{cache_slots} take {cache_gb}."),
    [PINNED] = SHEET_OUTPUT("hit_pinned", "h_p", "fraction",
                            "sum of the {cache_slots#} largest p_i, p_i proportional to i^-s",
                            "With the most popular ones pinned {hit_pinned} of requests hit."),
    [CHAR_TIME] = SHEET_OUTPUT("char_time", "t", "requests",
                               "t with sum of (1 - exp(-p_i t)) = {cache_slots}",
                               "An adapter stays for {char_time} after its last use (Che)."),
    [LRU] = SHEET_OUTPUT("hit_lru", "h", "fraction", "sum of p_i (1 - exp(-p_i t))",
                         "With the most recently used ones kept {hit_lru} hit."),
    [LOAD_MS] = SHEET_OUTPUT("load_ms", "T", "ms", "{adapter_mb} / {load_gb_per_s}",
                             "A miss loads for {load_ms}."),
    [LOADS] = SHEET_OUTPUT("loads_per_s", "mu", "1/s", "{requests_per_s} x (1 - {hit_lru})",
                           "That happens {loads_per_s#} times a second."),
    [LOAD_USED] =
        SHEET_OUTPUT("load_gb_per_s_used", "w_u", "GB/s", "{loads_per_s} x {adapter_mb} / 1000",
                     "It takes {load_gb_per_s_used} of the link's {load_gb_per_s}."),
    [ADDED] = SHEET_OUTPUT("mean_added_ms", "T_a", "ms", "(1 - {hit_lru}) x {load_ms}",
                           "A mean request is {mean_added_ms} later for it."),
    [FLOPS] = SHEET_OUTPUT("extra_flops_frac", "o", "fraction",
                           "{rank} x ({d_in} + {d_out}) / ({d_in} x {d_out})",
                           "The adapter's own arithmetic adds {extra_flops_frac}."),
};

static bool holds_all(const struct sheet_case *c)
{
    return sheet_in(c, SLOTS) >= sheet_in(c, ADAPTERS);
}

static bool saturated(const struct sheet_case *c)
{
    return sheet_out(c, LOAD_USED) > sheet_in(c, LOAD);
}

static const struct sheet_remark remarks[] = {
    {CHAR_TIME, holds_all, "All adapters fit: none ever leaves."},
    {LOAD_USED, saturated,
     "That is {load_gb_per_s_used}, more than the link's {load_gb_per_s}: loads queue up."},
};

static double as_uniform(const struct sheet_case *c)
{
    return fmin(1, sheet_in(c, SLOTS) / sheet_in(c, ADAPTERS));
}

static double as_pinned(const struct sheet_case *c)
{
    return sheet_out(c, PINNED);
}

static double of_misses(const struct sheet_case *c)
{
    return sheet_out(c, LRU) * sheet_out(c, LOAD_MS);
}

static const struct sheet_mistake mistakes[] = {
    {PINNED, "takes all adapters for equally popular", as_uniform},
    {LRU, "takes all adapters for equally popular", as_uniform},
    {LRU, "lets the cache know the most popular ones: rare ones push them out", as_pinned},
    {ADDED, "takes the share of hits for the share of misses", of_misses},
};

static void solve(struct sheet_case *c)
{
    struct zipf_cache z;
    const double size = sheet_in(c, SIZE), d_in = sheet_in(c, D_IN), d_out = sheet_in(c, D_OUT);
    const enum hr_err err = zipf_cache((uint32_t)sheet_in(c, ADAPTERS), sheet_in(c, ZIPF),
                                       (uint32_t)sheet_in(c, SLOTS), &z);
    if (err != HR_OK) {
        sheet_refuse(c, ADAPTERS, "are too many for the memory there is");
        return;
    }
    const double load_ms = size / sheet_in(c, LOAD), loads = sheet_in(c, RATE) * z.miss_lru;
    sheet_set(c, CACHE_GB, sheet_in(c, SLOTS) * size / 1000);
    sheet_set(c, PINNED, z.hit_pinned);
    sheet_set(c, CHAR_TIME, z.char_time);
    sheet_set(c, LRU, z.hit_lru);
    sheet_set(c, LOAD_MS, load_ms);
    sheet_set(c, LOADS, loads);
    sheet_set(c, LOAD_USED, loads * size / 1000);
    sheet_set(c, ADDED, z.miss_lru * load_ms);
    sheet_set(c, FLOPS, sheet_in(c, RANK) * (d_in + d_out) / (d_in * d_out));
}

static const char *const rules[] = {
    "As many slots as adapters: everything hits (first uses aside), and none ever leaves. No slot: "
    "nothing hits.",
    "With a Zipf exponent of 0 both hit rates are k/n.",
    "Che's approximation is within about 0.01 of a simulated cache from 100 adapters and 10 slots "
    "on.",
    NULL,
};

extern const struct sheet sheet_adapter_cache;
const struct sheet sheet_adapter_cache = {
    .name = "adapter-cache",
    .group = "Multi-tenant fine-tuning and adapters",
    .question = "How often is a request's adapter already in GPU memory, and what do misses cost?",
    .doc =
        "Requests pick one of n adapters independently, with Zipf popularity; the GPU holds k of "
        "them: the k most popular ones pinned, or the k most recently used (Che's approximation).",
    .assumption = "Requests are independent: bursts of one tenant would hit more often.",
    .rules = rules,
    .sources =
        "H. Che, Y. Tung and Z. Wang, 'Hierarchical web caching systems' (2002); E. J. Hu et al., "
        "'LoRA' (2021)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = LRU,
    .solve = solve,
};
