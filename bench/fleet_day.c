/* A day of fleet: 1,000 nodes of 8 GPUs, some 10,000 training gangs, 50 million requests,
 * floor-plus-borrow. Prints the CPU time of the whole, traces included, and the peak memory; and
 * how many requests and gangs the day held, so that the figures can be judged. */
#include "models/run.h"
#include "scenarios/scenario.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const char day[] =
    "scenario: fleet-day\n"
    "horizon: 24h\n"
    "warmup: 1h\n"
    "fleet: {nodes: 1000, gpus_per_node: 8}\n"
    "services:\n"
    "  chat:\n"
    "    model: llama-3.1-70b\n"
    "    precision: fp8\n"
    "    tensor_parallel: 4\n"
    "    traffic:\n"
    "      trace: {file: traces/data/azure-llm-2023/AzureLLMInferenceTrace_conv.csv, format: "
    "azure-llm}\n"
    "      rate: 579req/s\n"
    "      envelope: {diurnal: {peak_to_mean: 1.4, peak: \"15:00\"}}\n"
    "    autoscaler: {target_rate: 11req/s}\n"
    "    slow_start: 30s\n"
    "training:\n"
    "  research:\n"
    "    backlog:\n"
    "      gangs: [{gpus: 8GPU, share: 6}, {gpus: 16GPU, share: 3}, {gpus: 64GPU, share: 1}]\n"
    "      work: {exponential: 60min}\n"
    "    checkpoint: {interval: 30min, stall: 6s}\n"
    "designs:\n"
    "  floor-plus-borrow: {floor: 64GPU, buffer: 32GPU}\n";

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static enum hr_err run_day(struct diags *diags, struct run_results *results)
{
    struct scenario *s;
    struct plan plan;
    TRY(scenario_load_text("fleet-day.yaml", day, strlen(day), NULL, 0, diags, &s));
    enum hr_err err = scenario_plan(s, NULL, diags, &plan);
    if (err == HR_OK)
        err = run_plan(&plan, 0, NULL, results);
    scenario_free(s);
    return err;
}

int main(void)
{
    struct diags diags;
    struct run_results results;
    struct rusage usage;
    diags_init(&diags);
    double start = cpu_s();
    enum hr_err err = run_day(&diags, &results);
    if (err == HR_OK) {
        getrusage(RUSAGE_SELF, &usage);
        printf("fleet_day_cpu_s %.1f s\n", cpu_s() - start);
        printf("fleet_day_peak_mib %.0f MiB\n", (double)usage.ru_maxrss / 1024);
        printf("fleet_day_requests %.4g 1\n", (double)results.engine.arrivals);
        printf("fleet_day_gangs %zu 1\n", results.n_jobs);
        results_fini(&results);
    }
    diags_print(&diags, stderr, false);
    diags_fini(&diags);
    return err != HR_OK;
}
