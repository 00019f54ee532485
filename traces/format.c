/* Formats: the table of what each field is and where each format keeps it. */
#include "traces/reader.h"

#include "sim/time.h"

#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

const struct trace_field_info trace_fields[TRACE_FIELDS] = {
    [TRACE_ARRIVAL] = {"arrival", TRACE_REQUESTS, TRACE_POINT, "when the request arrived"},
    [TRACE_PROMPT_TOKENS] = {"prompt_tokens", TRACE_REQUESTS, TRACE_NUMBER,
                             "tokens of the prompt, the context included"},
    [TRACE_OUTPUT_TOKENS] = {"output_tokens", TRACE_REQUESTS, TRACE_NUMBER, "generated tokens"},
    [TRACE_ID] = {"id", TRACE_JOBS, TRACE_TEXT, "name of the job; the row number without it"},
    [TRACE_TENANT] = {"tenant", TRACE_JOBS, TRACE_TEXT, "team, user group or virtual cluster"},
    [TRACE_SUBMIT] = {"submit", TRACE_JOBS, TRACE_POINT, "when the job was submitted"},
    [TRACE_START] = {"start", TRACE_JOBS, TRACE_POINT, "when it started to run"},
    [TRACE_END] = {"end", TRACE_JOBS, TRACE_POINT, "when it ended; empty while it runs"},
    [TRACE_DURATION] = {"duration", TRACE_JOBS, TRACE_LENGTH,
                        "run time; end - start is used where both are given"},
    [TRACE_GPUS] = {"gpus", TRACE_JOBS, TRACE_NUMBER,
                    "GPUs of the job, rounded up when fractional"},
    [TRACE_WORKERS] = {"workers", TRACE_JOBS, TRACE_NUMBER, "multiplies gpus, if given"},
    [TRACE_MIN_GPUS] = {"min_gpus", TRACE_JOBS, TRACE_NUMBER,
                        "fewest GPUs an elastic job runs on; gpus without it"},
    [TRACE_PRIORITY] = {"priority", TRACE_JOBS, TRACE_NUMBER, "higher goes first; 0 without it"},
    [TRACE_PREEMPTIBLE] = {"preemptible", TRACE_JOBS, TRACE_FLAG, "true without it"},
    [TRACE_LIMIT] = {"limit", TRACE_JOBS, TRACE_LENGTH, "wall-time limit the user asked for"},
    [TRACE_CHECKPOINT] = {"checkpoint", TRACE_JOBS, TRACE_LENGTH, "its own checkpoint interval"},
    [TRACE_STATE] = {"state", TRACE_JOBS, TRACE_TEXT, "how it ended"},
};

static const struct trace_column azure_llm[] = {
    {TRACE_ARRIVAL, "TIMESTAMP", "timestamp", true},
    {TRACE_PROMPT_TOKENS, "ContextTokens", NULL, true},
    {TRACE_OUTPUT_TOKENS, "GeneratedTokens", NULL, true},
};

static const struct trace_column philly[] = {
    {TRACE_SUBMIT, "timestamp", "timestamp", true},
    {TRACE_DURATION, "duration", "s", true},
    {TRACE_GPUS, "num_gpus", NULL, true},
    {TRACE_TENANT, "cluster", NULL, false},
};

static const struct trace_column helios[] = {
    {TRACE_ID, "job_id", NULL, true},
    {TRACE_TENANT, "vc", NULL, true},
    {TRACE_GPUS, "gpu_num", NULL, true},
    {TRACE_STATE, "state", NULL, true},
    {TRACE_SUBMIT, "submit_time", "timestamp", true},
    {TRACE_START, "start_time", "timestamp", true},
    {TRACE_END, "end_time", "timestamp", true},
    {TRACE_DURATION, "duration", "s", false},
};

/* walltime_limit_s of the slice is the true run time, not what a user asked for: it is not read. */
static const struct trace_column helios_slice[] = {
    {TRACE_ID, "job_id", NULL, true},          {TRACE_TENANT, "tenant", NULL, true},
    {TRACE_SUBMIT, "submit_time", "us", true}, {TRACE_GPUS, "num_chips", NULL, true},
    {TRACE_DURATION, "duration_s", "s", true}, {TRACE_STATE, "final_status", NULL, true},
};

static const struct trace_column headroom_requests[] = {
    {TRACE_ARRIVAL, "arrival_s", "s", true},
    {TRACE_PROMPT_TOKENS, "prompt_tokens", NULL, true},
    {TRACE_OUTPUT_TOKENS, "output_tokens", NULL, true},
};

static const struct trace_column headroom_jobs[] = {
    {TRACE_ID, "job_id", NULL, false},
    {TRACE_SUBMIT, "submit_s", "s", true},
    {TRACE_DURATION, "duration_s", "s", true},
    {TRACE_GPUS, "gpus", NULL, true},
    {TRACE_TENANT, "team", NULL, false},
    {TRACE_PRIORITY, "priority", NULL, false},
    {TRACE_PREEMPTIBLE, "preemptible", NULL, false},
    {TRACE_MIN_GPUS, "min_gpus", NULL, false},
    {TRACE_CHECKPOINT, "checkpoint_s", "s", false},
    {TRACE_LIMIT, "time_limit_s", "s", false},
    {TRACE_STATE, "state", NULL, false},
};

const struct trace_format trace_formats[] = {
    {"azure-llm", "Azure LLM inference traces, 2023 and 2024 spelling", TRACE_REQUESTS, azure_llm,
     N(azure_llm)},
    {"headroom-requests", "headroom's own request list", TRACE_REQUESTS, headroom_requests,
     N(headroom_requests)},
    {"philly", "Microsoft Philly jobs, flattened to CSV", TRACE_JOBS, philly, N(philly)},
    {"helios", "SenseTime Helios cluster_log.csv", TRACE_JOBS, helios, N(helios)},
    {"helios-slice", "the Helios excerpt in traces/data, in its own columns", TRACE_JOBS,
     helios_slice, N(helios_slice)},
    {"headroom-jobs", "headroom's own job list", TRACE_JOBS, headroom_jobs, N(headroom_jobs)},
    {"custom", "any CSV, by a column mapping", TRACE_REQUESTS | TRACE_JOBS, NULL, 0},
};
const size_t trace_n_formats = N(trace_formats);

const char *const trace_units[] = {"ns", "us", "ms", "s", "min", "h", "d", "timestamp"};
const size_t trace_n_units = N(trace_units);

static const uint64_t unit_ns[] = {1, SIM_US, SIM_MS, SIM_S, SIM_MIN, SIM_HOUR, SIM_DAY, 0};

bool reader_unit(const char *unit, uint64_t *ns)
{
    size_t i = 0;
    while (i < trace_n_units && strcmp(trace_units[i], unit) != 0)
        i++;
    if (i == trace_n_units)
        return false;
    *ns = unit_ns[i];
    return true;
}

bool trace_unit_known(const char *unit)
{
    uint64_t ns;
    return reader_unit(unit, &ns);
}

enum trace_field trace_field_find(const char *name)
{
    int f = 0;
    while (f < TRACE_FIELDS && strcmp(trace_fields[f].name, name) != 0)
        f++;
    return (enum trace_field)f;
}

const struct trace_format *trace_format_find(const char *name)
{
    for (size_t i = 0; i < trace_n_formats; i++)
        if (strcmp(trace_formats[i].name, name) == 0)
            return &trace_formats[i];
    return NULL;
}

bool trace_zone_parse(const char *text, int32_t *zone_s)
{
    size_t n = strlen(text);
    char padded[] = {n > 0 ? text[0] : '\0', '0', n > 1 ? text[1] : '\0', '\0'};
    if (n == 2 && (text[0] == '+' || text[0] == '-')) /* +8 */
        return value_zone(padded, 3, zone_s);
    return value_zone(text, n, zone_s);
}

/* --- a format by the header of a file ---------------------------------------------------- */

static bool has_name(const struct reader *r, const char *name)
{
    for (size_t i = 0; i < r->n_names; i++)
        if (strcmp(r->names[i], name) == 0)
            return true;
    return false;
}

/* How many columns of the format the header has; 0 when a required one is missing. */
static size_t count_columns(const struct reader *r, const struct trace_format *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_columns; i++) {
        bool there = has_name(r, f->columns[i].column);
        if (!there && f->columns[i].required)
            return 0;
        n += there;
    }
    return n;
}

static enum hr_err choose(const struct reader *r, const struct trace_format **out)
{
    size_t best = 0;
    for (size_t i = 0; i < trace_n_formats; i++) {
        size_t n = count_columns(r, &trace_formats[i]);
        if (n > best) {
            best = n;
            *out = &trace_formats[i];
        }
    }
    if (best > 0)
        return HR_OK;
    diags_add(r->diags, DIAG_ERROR,
              (struct diag_place){.file = r->path, .line = r->header_line, .column = 1},
              r->header_source, NULL,
              "no known format has these columns: name a format, or map the columns");
    return HR_INPUT;
}

enum hr_err trace_format_by_header(const char *path, struct diags *diags,
                                   const struct trace_format **out)
{
    struct arena arena;
    struct reader r;
    arena_init(&arena);
    enum hr_err err = reader_open(&r, &arena, diags, path, '\0', (struct diag_place){0}, NULL);
    if (err == HR_OK)
        err = choose(&r, out);
    reader_close(&r);
    arena_fini(&arena);
    return err;
}
