/* The report of a trace, listed for programs and printed for people. */
#include "traces/report.h"

#include "sim/time.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- for programs ------------------------------------------------------------------------ */

/* Facts in the order they are given. Times become seconds. */
enum source { TEXT, TEXT_IN_PLACE, COUNT, REAL, TIME };
struct fact_row {
    const char *name, *unit;
    enum source source;
    unsigned yields; /* enum trace_yield bits: where it means something */
    size_t offset;
};

#define AT(member) offsetof(struct trace_report, member)
#define BOTH       (TRACE_REQUESTS | TRACE_JOBS)
#define ALL        (BOTH | TRACE_SUPPLY | TRACE_PRICES)
#define QUANTILES(name, unit, yields, member)                                                      \
    {name "_mean", unit, REAL, yields, AT(member.mean)},                                           \
        {name "_p50", unit, REAL, yields, AT(member.p50)},                                         \
        {name "_p90", unit, REAL, yields, AT(member.p90)},                                         \
        {name "_p95", unit, REAL, yields, AT(member.p95)},                                         \
        {name "_p99", unit, REAL, yields, AT(member.p99)},                                         \
    {                                                                                              \
        name "_max", unit, REAL, yields, AT(member.max)                                            \
    }

static const struct fact_row fact_rows[] = {
    {"path", "1", TEXT, ALL, AT(path)},
    {"format", "1", TEXT, ALL, AT(format)},
    {"sha256", "1", TEXT_IN_PLACE, ALL, AT(sha256)},
    {"bytes", "B", COUNT, ALL, AT(bytes)},
    {"rows_read", "1", COUNT, ALL, AT(rows_read)},
    {"rows_kept", "1", COUNT, ALL, AT(rows_kept)},
    {"inversions", "1", COUNT, ALL, AT(inversions)},
    {"duplicates", "1", COUNT, ALL, AT(duplicates)},
    {"ties", "1", COUNT, ALL, AT(ties)},
    {"span", "s", TIME, ALL, AT(span_ns)},
    {"rate", "s-1", REAL, BOTH, AT(rate_per_s)},
    {"gap_cv", "1", REAL, BOTH, AT(gap_cv)},
    {"peak_to_mean", "1", REAL, BOTH, AT(peak_to_mean)},
    {"longest_gap", "s", TIME, BOTH, AT(longest_gap_ns)},
    {"long_gaps", "1", COUNT, BOTH, AT(long_gaps)},
    {"long_gaps_total", "s", TIME, BOTH, AT(long_gaps_ns)},
    QUANTILES("prompt_tokens", "1", TRACE_REQUESTS, prompt_tokens),
    QUANTILES("output_tokens", "1", TRACE_REQUESTS, output_tokens),
    QUANTILES("gpus", "1", TRACE_JOBS, gpus),
    QUANTILES("duration", "s", TRACE_JOBS, duration_s),
    {"gpu_hours", "h", REAL, TRACE_JOBS, AT(gpu_hours)},
    {"tenants", "1", COUNT, TRACE_JOBS, AT(n_tenants)},
    {"ended_completed", "1", COUNT, TRACE_JOBS, AT(ended[JOB_COMPLETED])},
    {"ended_cancelled", "1", COUNT, TRACE_JOBS, AT(ended[JOB_CANCELLED])},
    {"ended_failed", "1", COUNT, TRACE_JOBS, AT(ended[JOB_FAILED])},
    {"ended_timeout", "1", COUNT, TRACE_JOBS, AT(ended[JOB_TIMEOUT])},
    {"ended_censored", "1", COUNT, TRACE_JOBS, AT(ended[JOB_CENSORED])},
    {"ended_unknown", "1", COUNT, TRACE_JOBS, AT(ended[JOB_END_UNKNOWN])},
    {"duration_differs", "1", COUNT, TRACE_JOBS, AT(duration_differs)},
    {"fractional_gpus", "1", COUNT, TRACE_JOBS, AT(fractional_gpus)},
    {"odd_sizes", "1", COUNT, TRACE_JOBS, AT(odd_sizes)},
    {"nodes", "1", COUNT, TRACE_SUPPLY, AT(supply.nodes)},
    {"nodes_named", "1", COUNT, TRACE_SUPPLY, AT(supply.named)},
    {"up_min", "1", COUNT, TRACE_SUPPLY, AT(supply.up_min)},
    {"up_mean", "1", REAL, TRACE_SUPPLY, AT(supply.up_mean)},
    {"up_max", "1", COUNT, TRACE_SUPPLY, AT(supply.up_max)},
    {"available", "1", REAL, TRACE_SUPPLY, AT(supply.available_frac)},
    {"losses", "1", COUNT, TRACE_SUPPLY, AT(supply.losses)},
    {"most_lost", "1", COUNT, TRACE_SUPPLY, AT(supply.most_lost)},
    {"up_hours_per_loss", "h", REAL, TRACE_SUPPLY, AT(supply.up_h_per_loss)},
    {"up_runs", "1", COUNT, TRACE_SUPPLY, AT(supply.n_up_runs)},
    QUANTILES("up_run", "h", TRACE_SUPPLY, supply.up_run_h),
    {"down_runs", "1", COUNT, TRACE_SUPPLY, AT(supply.n_down_runs)},
    QUANTILES("down_run", "h", TRACE_SUPPLY, supply.down_run_h),
    {"faults", "1", COUNT, TRACE_SUPPLY, AT(supply.faults)},
    {"faults_per_1000_node_days", "1", REAL, TRACE_SUPPLY, AT(supply.faults_per_1000_node_days)},
    {"faults_of_zero_length", "1", COUNT, TRACE_SUPPLY, AT(supply.zero_faults)},
    {"faults_overlapping", "1", COUNT, TRACE_SUPPLY, AT(supply.overlaps)},
    {"faults_unrepaired", "1", COUNT, TRACE_SUPPLY, AT(supply.unrepaired)},
    {"most_faults_of_a_node", "1", COUNT, TRACE_SUPPLY, AT(supply.most_faults)},
    QUANTILES("repair", "h", TRACE_SUPPLY, supply.repair_h),
    {"price_mean", "USD/h", REAL, TRACE_PRICES, AT(price.mean)},
    {"price_min", "USD/h", REAL, TRACE_PRICES, AT(price.min)},
    {"price_max", "USD/h", REAL, TRACE_PRICES, AT(price.max)},
    {"price_changes", "1", COUNT, TRACE_PRICES, AT(price.changes)},
};
_Static_assert(sizeof fact_rows / sizeof *fact_rows + TRACE_DROPS + 4 <= TRACE_FACTS_MAX,
               "TRACE_FACTS_MAX is too small");

static struct trace_fact make_fact(const struct trace_report *r, const struct fact_row *row)
{
    const char *at = (const char *)r + row->offset;
    struct trace_fact fact = {.name = row->name, .unit = row->unit, .kind = TRACE_FACT_REAL};
    switch (row->source) {
    case TEXT:
        fact.kind = TRACE_FACT_TEXT;
        memcpy(&fact.text, at, sizeof fact.text);
        break;
    case TEXT_IN_PLACE:
        fact.kind = TRACE_FACT_TEXT;
        fact.text = at;
        break;
    case COUNT:
        fact.kind = TRACE_FACT_COUNT;
        memcpy(&fact.count, at, sizeof fact.count);
        break;
    case REAL:
        memcpy(&fact.real, at, sizeof fact.real);
        break;
    case TIME:
        memcpy(&fact.count, at, sizeof fact.count);
        fact.real = sim_time_to_s(fact.count);
        break;
    }
    return fact;
}

static const char *const drop_names[TRACE_DROPS] = {
    "dropped_malformed",     "dropped_no_time",       "dropped_zero_tokens", "dropped_no_gpus",
    "dropped_never_started", "dropped_zero_duration", "dropped_tenant",      "dropped_gpu_range",
    "dropped_window",        "dropped_duplicate",     "dropped_series",
};

size_t trace_report_facts(const struct trace_report *r, struct trace_fact out[TRACE_FACTS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof fact_rows / sizeof *fact_rows; i++)
        if (fact_rows[i].yields & r->yields)
            out[n++] = make_fact(r, &fact_rows[i]);
    for (int i = 0; i < TRACE_DROPS; i++)
        out[n++] = (struct trace_fact){
            .name = drop_names[i], .unit = "1", .kind = TRACE_FACT_COUNT, .count = r->dropped[i]};
    const char *unit = r->calendar ? "seconds since 1970-01-01" : "s";
    out[n++] = (struct trace_fact){
        .name = "first", .unit = unit, .kind = TRACE_FACT_REAL, .real = (double)r->first_ns * 1e-9};
    out[n++] = (struct trace_fact){
        .name = "last", .unit = unit, .kind = TRACE_FACT_REAL, .real = (double)r->last_ns * 1e-9};
    return n;
}

/* --- for people -------------------------------------------------------------------------- */

static void print_duration(FILE *out, double s)
{
    static const struct {
        double s;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {0, "s"}};
    size_t i = 0;
    while (s < 2 * units[i].s)
        i++;
    fprintf(out, "%.4g %s", units[i].s > 0 ? s / units[i].s : s, units[i].unit);
}

static void print_file(const struct trace_report *r, FILE *out)
{
    fprintf(out, "%s\n", r->path);
    fprintf(out, "  format     %s\n", r->format);
    fprintf(out, "  sha256     %s\n", r->sha256);
    fprintf(out, "  rows       %llu read, %llu kept (%llu bytes)\n",
            (unsigned long long)r->rows_read, (unsigned long long)r->rows_kept,
            (unsigned long long)r->bytes);
    for (int i = 0; i < TRACE_DROPS; i++)
        if (r->dropped[i] > 0)
            fprintf(out, "  dropped    %llu: %s\n", (unsigned long long)r->dropped[i],
                    trace_drops[i].doc);
}

static void print_times(const struct trace_report *r, FILE *out)
{
    char first[VALUE_STAMP_SIZE], last[VALUE_STAMP_SIZE], zone[8];
    bool requests = r->yields == TRACE_REQUESTS;
    fprintf(out, "  span       ");
    print_duration(out, sim_time_to_s(r->span_ns));
    if (r->calendar) {
        value_print_timestamp(first, r->first_ns, r->zone_s, 0);
        value_print_timestamp(last, r->last_ns, r->zone_s, 0);
        report_zone(zone, r->zone_s);
        fprintf(out, ", %s to %s %s", first, last, zone);
    } else {
        fprintf(out, ", from %.6g s to %.6g s", (double)r->first_ns * 1e-9,
                (double)r->last_ns * 1e-9);
    }
    if (r->rate_per_s > 0 && r->yields & BOTH)
        fprintf(out, "\n  rate       %.4g %s", r->rate_per_s * (requests ? 1 : 3600),
                requests ? "requests/s" : "jobs/h");
    if (r->peak_to_mean > 0 && r->yields & BOTH)
        fprintf(out, ", busiest %s %.3gx the mean", requests ? "minute" : "hour", r->peak_to_mean);
    if (r->gap_cv > 0 && r->yields & BOTH)
        fprintf(out, ", CV of gaps %.3g", r->gap_cv);
    fprintf(out, "\n");
}

void report_print_quantiles(const char *name, const struct trace_quantiles *q, FILE *out)
{
    const double values[] = {q->mean, q->p50, q->p90, q->p95, q->p99, q->max};
    fprintf(out, "  %-10s", name);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fprintf(out, values[i] < 1000 ? " %10.4g" : " %10.0f", values[i]);
    fprintf(out, "\n");
}

void report_print_wrapped(const char *label, const char *text, FILE *out)
{
    enum { WIDTH = 66 };
    while (*text != '\0') {
        size_t n = strlen(text);
        if (n > WIDTH) {
            for (n = WIDTH; n > 0 && text[n] != ' ';)
                n--;
            if (n == 0)
                n = strcspn(text, " ");
        }
        fprintf(out, "  %-10s %.*s\n", label, (int)n, text);
        text += n;
        text += *text == ' ';
        label = "";
    }
}

static void print_jobs(const struct trace_report *r, double fleet_gpus, FILE *out)
{
    static const char *const ends[] = {
        [JOB_COMPLETED] = "completed", [JOB_CANCELLED] = "cancelled",
        [JOB_FAILED] = "failed",       [JOB_TIMEOUT] = "timed out",
        [JOB_CENSORED] = "censored",   [JOB_END_UNKNOWN] = "unknown"};
    report_print_quantiles("GPUs", &r->gpus, out);
    report_print_quantiles("duration s", &r->duration_s, out);
    fprintf(out, "  ended     ");
    const char *comma = " ";
    for (int i = 0; i <= JOB_END_UNKNOWN; i++)
        if (r->ended[i] > 0) {
            fprintf(out, "%s%llu %s", comma, (unsigned long long)r->ended[i], ends[i]);
            comma = ", ";
        }
    fprintf(out, "\n  asked      %.6g GPU-hours by %llu tenant%s\n", r->gpu_hours,
            (unsigned long long)r->n_tenants, r->n_tenants == 1 ? "" : "s");
    if (fleet_gpus <= 0)
        return;
    struct trace_load load = trace_offered_load(r, fleet_gpus);
    if (isnan(load.share)) {
        fprintf(out, "  load       no span to compare with\n");
        return;
    }
    fprintf(out, "  load       %.3g %% of %.6g GPUs (%.6g GPU-hours)\n", load.share * 100,
            fleet_gpus, load.fleet_gpu_hours);
    if (load.warning != NULL)
        report_print_wrapped("warning", load.warning, out);
}

void trace_report_print(const struct trace_report *r, double fleet_gpus, FILE *out)
{
    print_file(r, out);
    print_times(r, out);
    if (r->yields != TRACE_PRICES)
        fprintf(out, "  %-10s %10s %10s %10s %10s %10s %10s\n", "", "mean", "p50", "p90", "p95",
                "p99", "max");
    if (r->yields == TRACE_SUPPLY) {
        report_print_supply(&r->supply, out);
    } else if (r->yields == TRACE_PRICES) {
        report_print_price(&r->price, out);
    } else if (r->yields == TRACE_REQUESTS) {
        report_print_quantiles("prompt", &r->prompt_tokens, out);
        report_print_quantiles("output", &r->output_tokens, out);
    } else {
        print_jobs(r, fleet_gpus, out);
    }
    for (size_t i = 0; i < r->n_notes; i++)
        report_print_wrapped("note", r->notes[i], out);
}
