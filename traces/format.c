/* Formats: the table of what each field is and where each format keeps it. */
#include "traces/document.h"
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
    [TRACE_MAX_GPUS] = {"max_gpus", TRACE_JOBS, TRACE_NUMBER,
                        "most GPUs an elastic job runs on; gpus without it"},
    [TRACE_PRIORITY] = {"priority", TRACE_JOBS, TRACE_NUMBER, "higher goes first; 0 without it"},
    [TRACE_PREEMPTIBLE] = {"preemptible", TRACE_JOBS, TRACE_FLAG, "true without it"},
    [TRACE_LIMIT] = {"limit", TRACE_JOBS, TRACE_LENGTH, "wall-time limit the user asked for"},
    [TRACE_CHECKPOINT] = {"checkpoint", TRACE_JOBS, TRACE_LENGTH, "its own checkpoint interval"},
    [TRACE_STATE] = {"state", TRACE_JOBS, TRACE_TEXT, "how it ended"},
    [TRACE_TIME] = {"time", TRACE_SUPPLY | TRACE_PRICES, TRACE_POINT, "when it happened"},
    [TRACE_DATE] = {"date", TRACE_SUPPLY, TRACE_TEXT, "day of a time that is one of the clock"},
    [TRACE_NODE] = {"node", TRACE_SUPPLY, TRACE_TEXT, "name of the node"},
    [TRACE_EVENT] = {"event", TRACE_SUPPLY, TRACE_TEXT, "down or up, or add or remove"},
    [TRACE_CAUSE] = {"cause", TRACE_SUPPLY, TRACE_TEXT, "of a fault"},
    [TRACE_COUNT] = {"count", TRACE_SUPPLY, TRACE_NUMBER, "nodes up from this time on"},
    [TRACE_PRICE] = {"price", TRACE_PRICES, TRACE_NUMBER, "dollars per hour from this time on"},
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
    {TRACE_MAX_GPUS, "max_gpus", NULL, false},
    {TRACE_CHECKPOINT, "checkpoint_s", "s", false},
    {TRACE_LIMIT, "time_limit_s", "s", false},
    {TRACE_STATE, "state", NULL, false},
};

static const struct trace_column bamboo_events[] = {
    {TRACE_TIME, "ms", "ms", true},
    {TRACE_EVENT, "add|remove", NULL, true},
    {TRACE_NODE, "node", NULL, true},
};

static const struct trace_column bamboo_probes[] = {
    {TRACE_DATE, "date", NULL, true},
    {TRACE_TIME, "time", "timestamp", true},
    {TRACE_COUNT, "count", NULL, true},
};

static const struct trace_column bamboo_steps[] = {
    {TRACE_TIME, "hours", "h", true},
    {TRACE_COUNT, "count", NULL, true},
};

/* A line is split at its closing bracket: see avail_log.h. */
static const struct trace_column instance_log[] = {
    {TRACE_TIME, "[time", "timestamp", true},
    {TRACE_EVENT, "message", NULL, true},
};

/* A column called time may also be time_s, t_h, ... : see reader_time_column. */
static const struct trace_column headroom_faults[] = {
    {TRACE_TIME, "time", "timestamp", true},
    {TRACE_NODE, "node", NULL, true},
    {TRACE_EVENT, "event", NULL, true},
    {TRACE_CAUSE, "cause", NULL, false},
};

static const struct trace_column headroom_counts[] = {
    {TRACE_TIME, "time", "timestamp", true},
    {TRACE_COUNT, "count", NULL, true},
};

static const struct trace_column headroom_prices[] = {
    {TRACE_TIME, "time", "timestamp", true},
    {TRACE_PRICE, "usd_per_gpu_h", NULL, true},
};

#define HEADER(name, doc, yields, columns)                                                         \
    {                                                                                              \
        name, doc, yields, columns, N(columns), TRACE_HEADER, 0                                    \
    }
#define SUPPLY(name, doc, columns, layout, rule)                                                   \
    {                                                                                              \
        name, doc, TRACE_SUPPLY, columns, N(columns), layout, rule                                 \
    }
#define JSON(name, doc, yields, rule)                                                              \
    {                                                                                              \
        name, doc, yields, NULL, 0, TRACE_JSON, rule                                               \
    }

const struct trace_format trace_formats[] = {
    HEADER("azure-llm", "Azure LLM inference traces, 2023 and 2024 spelling", TRACE_REQUESTS,
           azure_llm),
    HEADER("headroom-requests", "headroom's own request list", TRACE_REQUESTS, headroom_requests),
    HEADER("philly", "Microsoft Philly jobs, flattened to CSV", TRACE_JOBS, philly),
    HEADER("helios", "SenseTime Helios cluster_log.csv", TRACE_JOBS, helios),
    HEADER("helios-slice", "the Helios excerpt in traces/data, in its own columns", TRACE_JOBS,
           helios_slice),
    HEADER("headroom-jobs", "headroom's own job list", TRACE_JOBS, headroom_jobs),
    {"custom", "any CSV, by a column mapping", TRACE_REQUESTS | TRACE_JOBS, NULL, 0, TRACE_HEADER,
     0},
    JSON("skypilot", "spot availability as SkyPilot records it: a count a tick", TRACE_SUPPLY,
         TRACE_COUNTS),
    SUPPLY("bamboo-events", "Bamboo: ms,add|remove,node without a header", bamboo_events,
           TRACE_COLUMNS, TRACE_INSTANCES),
    SUPPLY("bamboo-probes", "Bamboo: date, time, count without a header", bamboo_probes,
           TRACE_COLUMNS, TRACE_COUNTS),
    SUPPLY("bamboo-steps", "Bamboo: hours,count without a header", bamboo_steps, TRACE_COLUMNS,
           TRACE_COUNTS),
    SUPPLY("instance-log", "Training on a Dime: log of instances created, running and lost",
           instance_log, TRACE_COLUMNS, TRACE_LOG),
    SUPPLY("headroom-counts", "headroom's own count of nodes over time", headroom_counts,
           TRACE_HEADER, TRACE_COUNTS),
    JSON("infinitehbd", "node faults as InfiniteHBD publishes them", TRACE_SUPPLY, TRACE_FAULTS),
    SUPPLY("headroom-faults", "headroom's own list of node faults", headroom_faults, TRACE_HEADER,
           TRACE_FAULTS),
    JSON("aws-spot-price", "price history of AWS describe-spot-price-history", TRACE_PRICES, 0),
    HEADER("headroom-prices", "headroom's own price over time", TRACE_PRICES, headroom_prices),
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

const char *trace_yield_name(enum trace_yield yield)
{
    switch (yield) {
    case TRACE_REQUESTS:
        return "requests";
    case TRACE_JOBS:
        return "jobs";
    case TRACE_SUPPLY:
        return "supply";
    case TRACE_PRICES:
        return "prices";
    }
    return "requests or jobs";
}

/* --- a format by what a file holds ------------------------------------------------------- */

static bool has_name(const struct reader *r, const struct trace_column *column)
{
    struct reader_slot slot = {.column = column->column};
    if (column->field == TRACE_TIME && reader_time_column(r, &slot))
        return true;
    for (size_t i = 0; i < r->n_names; i++)
        if (strcmp(r->names[i], column->column) == 0)
            return true;
    return false;
}

/* How many columns of the format the header has; 0 when a required one is missing. */
static size_t count_columns(const struct reader *r, const struct trace_format *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_columns && f->layout == TRACE_HEADER; i++) {
        bool there = has_name(r, &f->columns[i]);
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
              r->names[0][0] >= '0' && r->names[0][0] <= '9'
                  ? "this line names no columns: a format without a header must be named"
                  : "no known format has these columns: name a format, or map the columns");
    return HR_INPUT;
}

/* Each JSON format by what its outermost value has. */
static enum hr_err choose_json(const struct document *d, const struct trace_format **out)
{
    struct document_item root = document_root(d);
    struct json_object *first = json_object_is_type(root.value, json_type_array)
                                    ? json_object_array_get_idx(root.value, 0)
                                    : NULL;
    struct document_item item = {first, root.at, 0};
    const char *name = NULL;
    if (document_member(root, "data").value != NULL)
        name = "skypilot";
    else if (document_member(root, "SpotPriceHistory").value != NULL)
        name = "aws-spot-price";
    else if (document_member(item, "event_type").value != NULL)
        name = "infinitehbd";
    if (name != NULL) {
        *out = trace_format_find(name);
        return HR_OK;
    }
    diags_add(d->diags, DIAG_ERROR, (struct diag_place){d->path, document_line(d, root.at), 1},
              NULL, NULL, "no known format is a JSON text of this kind");
    return HR_INPUT;
}

static enum hr_err by_header(const char *path, struct diags *diags, const struct trace_format **out)
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

static enum hr_err by_members(const char *path, struct diags *diags,
                              const struct trace_format **out)
{
    struct document d;
    enum hr_err err = document_open(&d, diags, path, (struct diag_place){0}, NULL);
    if (err == HR_OK)
        err = choose_json(&d, out);
    document_close(&d);
    return err;
}

enum { HEAD = 6 };

/* The first characters that are no blanks, up to HEAD of them; then NULs. */
static enum hr_err first_of(const char *path, struct diags *diags, char head[HEAD])
{
    struct input in;
    memset(head, 0, HEAD);
    enum hr_err err = input_open(&in, path, (struct diag_place){0}, NULL, diags);
    if (err == HR_OK) {
        size_t i = in.n >= 3 && memcmp(in.window, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        while (i < in.n && strchr(" \t\r\n", in.window[i]) != NULL && in.window[i] != '\0')
            i++;
        memcpy(head, in.window + i, in.n - i < HEAD ? in.n - i : HEAD);
    }
    input_close(&in);
    return err;
}

static bool is_year(const char *at)
{
    int n = 0;
    while (n < 4 && at[n] >= '0' && at[n] <= '9')
        n++;
    return n == 4;
}

/* A log begins with a date in brackets, JSON with a brace or bracket, and a header with neither. */
enum hr_err trace_format_by_header(const char *path, struct diags *diags,
                                   const struct trace_format **out)
{
    char head[HEAD];
    TRY(first_of(path, diags, head));
    if (head[0] == '[' && is_year(head + 1) && head[5] == '-') {
        *out = trace_format_find("instance-log");
        return HR_OK;
    }
    return head[0] == '{' || head[0] == '[' ? by_members(path, diags, out)
                                            : by_header(path, diags, out);
}
