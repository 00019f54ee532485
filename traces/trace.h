/* Traces: recorded requests, jobs, supply and prices, read from CSV and JSON into the records of
 * models/record.h.
 *
 * A caller fills a struct trace_spec (zero means "the default" in every member), calls one of the
 * readers and gets the rows plus a struct trace_report that says what became of every row of
 * the file. Formats are rows of one table; a format gives the default column and unit of each field
 * and a column mapping replaces either. Everything handed out lives in the caller's arena.
 *
 * What a user wrote wrong goes to the diagnostics with file, line, column and the line itself, and
 * the reader returns HR_INPUT; reading stops after TRACE_ERRORS_MAX errors. traces/README.md is the
 * reference. */
#ifndef HEADROOM_TRACES_TRACE_H
#define HEADROOM_TRACES_TRACE_H

#include "models/record.h"
#include "models/serving/traffic.h"
#include "sim/arena.h"
#include "sim/diag.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TRACE_ERRORS_MAX = 100,  /* errors after which reading stops */
    TRACE_COLUMNS_MAX = 1024 /* columns in a header */
};

/* --- formats ----------------------------------------------------------------------------- */

/* What a column can become. The first three are a request, the next a job, the last are supply and
 * prices. */
enum trace_field {
    TRACE_ARRIVAL,
    TRACE_PROMPT_TOKENS,
    TRACE_OUTPUT_TOKENS,
    TRACE_ID,
    TRACE_TENANT,
    TRACE_SUBMIT,
    TRACE_START,
    TRACE_END,
    TRACE_DURATION,
    TRACE_GPUS,    /* may be fractional; times TRACE_WORKERS where that is given */
    TRACE_WORKERS, /* workers of a job, each with TRACE_GPUS */
    TRACE_MIN_GPUS,
    TRACE_MAX_GPUS,
    TRACE_PRIORITY,
    TRACE_PREEMPTIBLE,
    TRACE_LIMIT,
    TRACE_CHECKPOINT,
    TRACE_STATE,
    TRACE_TIME,
    TRACE_DATE, /* day of a time that is only one of the clock */
    TRACE_NODE,
    TRACE_EVENT, /* down and up, or add and remove */
    TRACE_CAUSE,
    TRACE_COUNT, /* nodes up from this time on */
    TRACE_PRICE,
    TRACE_FIELDS
};

/* Bits: custom yields requests or jobs. */
enum trace_yield { TRACE_REQUESTS = 1, TRACE_JOBS = 2, TRACE_SUPPLY = 4, TRACE_PRICES = 8 };

/* "requests", "jobs", ... */
const char *trace_yield_name(enum trace_yield yield);

/* How a field is written. */
enum trace_field_kind {
    TRACE_POINT,  /* a point in time: a number in a unit, or a timestamp */
    TRACE_LENGTH, /* a length of time: a number in a unit */
    TRACE_NUMBER,
    TRACE_FLAG, /* true, false, yes, no, 1, 0 */
    TRACE_TEXT
};

struct trace_field_info {
    const char *name; /* in a column mapping: "arrival", "prompt_tokens", ... */
    unsigned yields;  /* enum trace_yield bits */
    enum trace_field_kind kind;
    const char *doc;
};
extern const struct trace_field_info trace_fields[TRACE_FIELDS];

/* TRACE_FIELDS when there is no such name. */
enum trace_field trace_field_find(const char *name);

/* Where a format finds a field. */
struct trace_column {
    enum trace_field field;
    const char *column; /* header name, case as written */
    const char *unit;   /* of points and lengths of time: one of trace_units; NULL for the others */
    bool required;
};

enum trace_layout {
    TRACE_HEADER,  /* CSV whose header names the columns */
    TRACE_COLUMNS, /* CSV without one: the columns of the format, all of them, in its order */
    TRACE_JSON
};

/* What the rows of a supply trace say. */
enum trace_supply_rule {
    TRACE_COUNTS,    /* how many are up, from a row to the next */
    TRACE_INSTANCES, /* each comes and goes; none is there before it comes */
    TRACE_FAULTS,    /* each breaks and is repaired; all are up at first */
    TRACE_LOG        /* what was seen of each instance, again and again; none is there at first */
};

struct trace_format {
    const char *name;
    const char *doc;
    unsigned yields;                    /* enum trace_yield bits */
    const struct trace_column *columns; /* empty for custom and for JSON */
    size_t n_columns;
    enum trace_layout layout;
    enum trace_supply_rule rule; /* of supply */
};

extern const struct trace_format trace_formats[];
extern const size_t trace_n_formats;

/* NULL when there is no such name. */
const struct trace_format *trace_format_find(const char *name);

/* The format whose columns the header of the file names, or whose members a JSON text has; for a
 * caller whose user named none. Files without a header tell nothing. HR_INPUT with a diagnostic
 * when none fits. */
enum hr_err trace_format_by_header(const char *path, struct diags *diags,
                                   const struct trace_format **out);

/* Units of time: "ns" "us" "ms" "s" "min" "h" "d", and "timestamp" for points in time:
 * YYYY-MM-DD HH:MM:SS, or with T, up to nine digits of fraction, and Z, +HH:MM, -HH:MM or nothing.
 */
extern const char *const trace_units[];
extern const size_t trace_n_units;
bool trace_unit_known(const char *unit);

/* Reads "UTC", "Z", "+08:00", "-0730" or "+8" into seconds east of UTC; false when it is none. */
bool trace_zone_parse(const char *text, int32_t *zone_s);

/* --- what to read ------------------------------------------------------------------------ */

struct trace_map {
    enum trace_field field;
    const char *column; /* NULL: the format's column, with another unit */
    const char *unit;   /* NULL: trace_spec.time_unit for points in time, else the format's unit; in
                           custom, lengths of time are seconds */
};

struct trace_spec {
    const char *path; /* CSV or JSON; through zlib when the name ends in ".gz" */
    const struct trace_format *format;
    const struct trace_map *maps;
    size_t n_maps;
    const char *time_unit; /* of all points in time; custom must say one */
    bool zone_declared;    /* else times without a zone are UTC, and the report says so */
    int32_t zone_s;        /* east of UTC, for timestamps without a zone */
    char delimiter;        /* 0: a comma */
    bool dedupe;           /* drop rows equal to an earlier one (counted either way) */
    bool skip_bad_rows;    /* count malformed rows as dropped; they are errors otherwise */
    bool refuse_no_gpus;   /* jobs without GPUs are errors; they are dropped otherwise */
    /* to until_ns: of requests and jobs only */
    simtime_ns spread_ns;       /* adds a uniform time in [0, spread) to each arrival or submit, for
                                   quantised recordings; drawn from (seed, SHA-256 of the file) */
    uint64_t seed;              /* of the spread only */
    const char *const *tenants; /* keep only these; NULL: all */
    size_t n_tenants;
    uint32_t min_gpus, max_gpus;  /* keep only jobs in this range; 0: no bound */
    simtime_ns from_ns, until_ns; /* keep only records in [from, until) after the first row of the
                                     file; until 0: no bound */
    uint32_t nodes;               /* supply: how many there are; 0: those of the file */
    uint32_t gpus_per_node;       /* its GPUs, where a price is of an instance: in aws-spot-price,
                                     and in a mapped column */
    const char *series;           /* prices: which of several in the file, by its name */
    struct diag_place place;      /* where the user wrote this, for what is wrong with the spec */
    const char *source;           /* that line, or NULL */
};

/* --- what was read ----------------------------------------------------------------------- */

enum trace_drop {
    TRACE_DROP_MALFORMED,     /* only with skip_bad_rows */
    TRACE_DROP_NO_TIME,       /* empty arrival or submit */
    TRACE_DROP_ZERO_TOKENS,   /* no prompt or no output: a failed request */
    TRACE_DROP_NO_GPUS,       /* CPU-only job */
    TRACE_DROP_NEVER_STARTED, /* no start, or an end without a start: left the queue unserved */
    TRACE_DROP_ZERO_DURATION,
    TRACE_DROP_TENANT, /* by the filters of the spec */
    TRACE_DROP_GPU_RANGE,
    TRACE_DROP_WINDOW,
    TRACE_DROP_DUPLICATE, /* only with dedupe */
    TRACE_DROP_SERIES,    /* prices of another series than the one asked for */
    TRACE_DROPS
};

/* Short name for tables ("zero_tokens") and a line of English for people. */
struct trace_drop_info {
    const char *name, *doc;
};
extern const struct trace_drop_info trace_drops[TRACE_DROPS];

/* Exact quantiles, linear between neighbouring values, as NumPy and R give them. */
struct trace_quantiles {
    double mean, p50, p90, p95, p99, max;
};

struct trace_cause {
    const char *name; /* "" when unknown */
    uint64_t n;       /* faults */
};

/* Nodes of a count are numbered as a stack: node i is up while the count is above i. A run is
 * complete: both its ends are in the trace. Losses are all changes to down. */
struct trace_supply_facts {
    uint64_t nodes;                 /* supply_trace.nodes */
    uint64_t named;                 /* different names in the file */
    uint64_t up_min, up_max;        /* nodes up at once, after time 0 */
    double up_mean, available_frac; /* over the span; of nodes */
    uint64_t losses, most_lost;     /* the latter: at one instant */
    double up_h_per_loss;           /* node-hours up between losses; 0 without any */
    uint64_t n_up_runs, n_down_runs;
    struct trace_quantiles up_run_h, down_run_h;
    /* fault traces */
    uint64_t faults, zero_faults; /* all; of zero length */
    uint64_t overlaps;            /* that began on a node that was down */
    uint64_t unrepaired;          /* at the end of the trace */
    uint64_t most_faults;         /* of one node */
    double faults_per_1000_node_days;
    struct trace_quantiles repair_h;
    const struct trace_cause *causes; /* most frequent first */
    size_t n_causes;
};

struct trace_price_facts {
    double mean, min, max; /* dollars per GPU-hour; the mean is over time */
    uint64_t changes;      /* steps to another price */
};

struct trace_report {
    const char *path, *format;
    enum trace_yield yields;
    char sha256[65]; /* of the file as it is on the disk, in hex */
    uint64_t bytes;  /* likewise */
    uint64_t rows_read, rows_kept;
    uint64_t dropped[TRACE_DROPS]; /* rows_read = rows_kept + their sum */
    uint64_t inversions;           /* rows earlier than the row before them */
    uint64_t duplicates;           /* rows equal to an earlier one, dropped or not */
    uint64_t ties;                 /* kept rows at the very time of the kept row before them */
    bool calendar;                 /* first_ns and last_ns are times since 1970-01-01 UTC */
    bool naive;                    /* timestamps without a zone occurred, read at zone_s */
    int32_t zone_s;
    int64_t first_ns, last_ns; /* of the kept rows, on the file's own clock */
    simtime_ns span_ns;
    double rate_per_s;   /* kept rows / span; 0 when the span is */
    double gap_cv;       /* coefficient of variation of the gaps between kept rows */
    double peak_to_mean; /* busiest minute (requests) or hour of the clock (jobs) / mean */
    simtime_ns longest_gap_ns;
    uint64_t long_gaps;      /* gaps of a minute or more (requests), six hours (jobs), an hour */
    simtime_ns long_gaps_ns; /* their total */
    struct trace_quantiles prompt_tokens, output_tokens; /* requests */
    struct trace_quantiles gpus, duration_s;             /* jobs */
    double gpu_hours;                                    /* jobs: sum of gpus x duration */
    uint64_t n_tenants;
    uint64_t ended[JOB_END_UNKNOWN + 1]; /* jobs by how they ended */
    uint64_t duration_differs;           /* recorded duration is not end - start */
    uint64_t fractional_gpus;            /* rounded up to whole GPUs */
    uint64_t odd_sizes;                  /* more than 8 GPUs and not a multiple of 8 */
    struct trace_supply_facts supply;
    struct trace_price_facts price;
    const char *const *notes; /* sentences: extra columns, zone, gaps, ... */
    size_t n_notes;
};

/* Read a trace. out and report are filled on HR_OK only. HR_INPUT: described in diags; also when
 * no row is left. HR_IO: reading failed half-way. Warnings (recorded durations that differ,
 * censored jobs) go to diags too. Request traces: a row more than 60 s older than one before it is
 * an error; job traces are sorted stably whatever their order. */
enum hr_err trace_read_requests(struct arena *arena, const struct trace_spec *spec,
                                struct diags *diags, struct request_trace *out,
                                struct trace_report *report);
enum hr_err trace_read_jobs(struct arena *arena, const struct trace_spec *spec, struct diags *diags,
                            struct job_trace *out, struct trace_report *report);

/* Likewise. Supply: rows are sorted stably by time. Numbers of time count from 0 as they are,
 * timestamps from the first row. Instances get the lowest free number, so that a number stands for
 * a place in the fleet and most follow each other in it; nodes is then the most at once. Nodes
 * beyond those of the file that spec.nodes adds are always up in a fault trace and never otherwise.
 * Prices: of the rows at one instant the last counts; a first price after time 0 counts from 0. */
enum hr_err trace_read_supply(struct arena *arena, const struct trace_spec *spec,
                              struct diags *diags, struct supply_trace *out,
                              struct trace_report *report);
enum hr_err trace_read_prices(struct arena *arena, const struct trace_spec *spec,
                              struct diags *diags, struct price_trace *out,
                              struct trace_report *report);

/* Load that the jobs offer to a fleet of so many GPUs over the span of their submits. */
struct trace_load {
    double gpu_hours, fleet_gpu_hours;
    double share;        /* NaN when there is no span */
    const char *warning; /* under 5 % or over 100 %: a sentence, static; else NULL */
};
struct trace_load trace_offered_load(const struct trace_report *r, double fleet_gpus);

/* The report for people, at most 80 columns; fleet_gpus > 0 adds the offered load. */
void trace_report_print(const struct trace_report *r, double fleet_gpus, FILE *out);

/* The report for programs: name, value, unit ("1" for counts and shares). */
enum trace_fact_kind { TRACE_FACT_TEXT, TRACE_FACT_COUNT, TRACE_FACT_REAL };
struct trace_fact {
    const char *name, *unit;
    enum trace_fact_kind kind;
    const char *text;
    uint64_t count;
    double real;
};
enum { TRACE_FACTS_MAX = 144 };

/* Fills out and returns the number of facts; texts belong to the report. */
size_t trace_report_facts(const struct trace_report *r, struct trace_fact out[TRACE_FACTS_MAX]);

/* --- envelopes --------------------------------------------------------------------------- */

/* A user's two-column CSV of traffic over time. Its header names a time and a value, other columns
 * are left alone:
 *   time_s, time_min, time_h, ... (also t_s, ...): numbers in that unit, from the start of the run;
 *   time: quantities such as 90s or 1.5h, or timestamps, which count from the first one;
 *   factor: of the base rate; rate (also rps, rate_per_s): requests per second. */
struct trace_envelope {
    struct envelope_point *points; /* arena; ascending; a rate stands in factor when is_rate */
    size_t n_points;
    bool is_rate;
    bool calendar;    /* times were timestamps */
    int64_t first_ns; /* calendar: the first one, since 1970-01-01 UTC */
};

/* zone_s, place and source as in trace_spec. HR_INPUT: described in diags. */
enum hr_err trace_read_envelope(struct arena *arena, const char *path, int32_t zone_s,
                                struct diag_place place, const char *source, struct diags *diags,
                                struct trace_envelope *out);

#endif
