/* Both Azure 2023 traces, whole, on one replica: every request as the reference has it, over
 * hardware, prefill mode, load and KV capacity; and events a request stay few. */
#include "replica_play.h"

#include "models/serving/catalogue.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 20000
#define DATA     TEST_SOURCE_ROOT "/traces/data/azure-llm-2023/AzureLLMInferenceTrace_"

/* "2023-11-16 18:15:46.6805900,374,44": both traces stay within one day, so the date is left out.
 */
static size_t read_trace(const char *path, struct replica_request *out)
{
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    char line[128];
    size_t n = 0;
    uint64_t first = 0;
    cr_assert_not_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        uint64_t h, m, s, ticks; /* of 100 ns */
        uint32_t prompt, output;
        cr_assert_eq(sscanf(line,
                            "2023-11-16 %" SCNu64 ":%" SCNu64 ":%" SCNu64 ".%" SCNu64 ",%" SCNu32
                            ",%" SCNu32,
                            &h, &m, &s, &ticks, &prompt, &output),
                     6, "%s", line);
        cr_assert_lt(n, MAX_ROWS);
        const uint64_t at = ((h * 60 + m) * 60 + s) * SIM_S + ticks * 100;
        first = n == 0 ? at : first;
        out[n] = (struct replica_request){at - first, (uint32_t)n, prompt, output, 0, 0};
        n++;
    }
    fclose(f);
    return n;
}

struct setting {
    const char *model, *precision;
    uint32_t tp;
    enum prefill_mode prefill;
    uint32_t max_num_seqs, max_batched_tokens;
    uint64_t kv_capacity_tokens;
    uint32_t speed_percent; /* gaps are divided by this: 100 as recorded */
    uint64_t min_evictions;
};

static struct play_result compare(const struct setting *s, const struct replica_request *recorded,
                                  size_t n)
{
    static struct replica_request requests[MAX_ROWS];
    memcpy(requests, recorded, n * sizeof *requests);
    for (size_t i = 0; i < n; i++)
        requests[i].arrival_ns = requests[i].arrival_ns * 100 / s->speed_percent;
    const struct workload w = {
        .config = {.step = perf_find(s->model, s->precision, s->tp, "h100-sxm", "vllm")->step,
                   .prefill = s->prefill,
                   .max_num_seqs = s->max_num_seqs,
                   .max_batched_tokens = s->max_batched_tokens,
                   .kv_capacity_tokens = s->kv_capacity_tokens},
        .requests = requests,
        .n = n,
        .takes = {600 * SIM_S, 601 * SIM_S},
        .n_takes = 2,
        .take_delay_ns = 100 * SIM_MS};
    return play_compare(&w);
}

static void compare_all(const char *path, const struct setting *settings, size_t n_settings)
{
    static struct replica_request recorded[MAX_ROWS];
    const size_t n = read_trace(path, recorded);
    for (size_t i = 0; i < n_settings; i++) {
        struct play_result result = compare(&settings[i], recorded, n);
        cr_assert(result.equal, "setting %zu: %s", i, result.difference);
        cr_expect_geq(result.counts.evictions, settings[i].min_evictions, "setting %zu", i);
        cr_expect_gt(result.n_taken_generated, 0, "setting %zu", i);
        cr_expect_leq(result.n_events, 4 * n + 2 * result.counts.evictions, "setting %zu", i);
    }
}

Test(replica_azure, conversation)
{
    static const struct setting settings[] = {
        {"llama-3.1-70b", "fp8", 4, PREFILL_PRIORITY, 256, 8192, 699844, 100, 0},
        {"llama-3.1-70b", "fp8", 4, PREFILL_CHUNKED, 256, 2048, 699844, 100, 0},
        {"llama-3.1-70b", "fp8", 4, PREFILL_CHUNKED, 64, 512, 60000, 150, 1000},
        {"llama-3.1-70b", "fp8", 4, PREFILL_PRIORITY, 48, 2048, 60000, 200, 1000},
    };
    compare_all(DATA "conv.csv", settings, sizeof settings / sizeof settings[0]);
}

/* At most 3 events a request: joined, first token, done; fewer where they fall together, and at
 * most 2 for an owner that waits for their ends. A stepper takes an event a step. */
Test(replica_azure, few_events_a_request)
{
    static struct replica_request recorded[MAX_ROWS];
    const size_t n = read_trace(DATA "conv.csv", recorded);
    for (int mode = PREFILL_PRIORITY; mode <= PREFILL_CHUNKED; mode++) {
        const struct setting s = {"llama-3.1-70b", "fp8", 4, mode, 256, 2048, 699844, 100, 0};
        struct play_result result = compare(&s, recorded, n);
        cr_assert(result.equal, "%s", result.difference);
        cr_expect(result.n_events > n && result.n_events < 3 * n, "%g",
                  (double)result.n_events / (double)n);
        cr_expect_gt(result.counts.steps, 4 * n);
        cr_expect(result.n_due > n / 2 && result.n_due < 2 * n, "%g",
                  (double)result.n_due / (double)n);
    }
}

Test(replica_azure, code)
{
    static const struct setting settings[] = {
        {"llama-3.1-8b", "bf16", 1, PREFILL_PRIORITY, 256, 8192, 449437, 200, 0},
        {"llama-3.1-8b", "bf16", 1, PREFILL_CHUNKED, 256, 2048, 20000, 200, 20},
        {"qwen3-32b", "fp8", 2, PREFILL_PRIORITY, 16, 4096, 9000, 100, 20},
        {"llama-3.1-70b", "fp8", 8, PREFILL_CHUNKED, 256, 1024, 12000, 100, 20},
    };
    compare_all(DATA "code.csv", settings, sizeof settings / sizeof settings[0]);
}
