/* Layout of the report: a head line, the answer, the table, the judgement, the reasons, intervals.
 *
 * Columns that do not fit beside each other go into further tables of the same rows. */
#include "analysis/report.h"

#include "analysis/explain.h"
#include "analysis/paired.h"
#include "analysis/statement.h"
#include "sim/units.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 80,
    LABEL_WIDTH = 26,
    LEAST_CELL = 12,
    MOST_CELL = 18, /* "floor-plus-borrow" and a blank */
    PAIR_CELL = 27,
    CELL_SIZE = 80
};

struct report {
    FILE *out;
    const struct summary *s;
    const struct verdict *v;
    bool colour, all;
    size_t cell; /* width of a column of the table */
};

/* ---- colour ---- */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GOOD, STYLE_BAD };

static void style(const struct report *r, enum style style)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[32m", "\033[31m"};
    if (r->colour)
        fputs(codes[style], r->out);
}

/* ---- head and answer ---- */

/* Columns may differ in it: "32", or "32 to 48". */
static void add_fleet(struct text *t, const struct summary *s)
{
    double least = INFINITY, most = 0;
    char number[NUMBER_SIZE];
    for (uint32_t c = 0; c < s->n_columns; c++) {
        least = fmin(least, summary_mean(s, "fleet_gpus", c, 0, 0));
        most = fmax(most, summary_mean(s, "fleet_gpus", c, 0, 0));
    }
    number_show(number, least, 0);
    text_add(t, "%s", number);
    number_show(number, most, 0);
    if (most > least)
        text_add(t, " to %s", number);
}

static void print_head(const struct report *r)
{
    const struct summary *s = r->s;
    struct text t = {0};
    char measured[NUMBER_SIZE];
    double span_s = summary_mean(s, "measured_s", 0, 0, 0);
    if (span_s > 2 * 86400) /* to the hour, for the eye */
        span_s = round(span_s / 3600) * 3600;
    unit_print(measured, sizeof measured, span_s, UNIT_TIME);
    text_add(&t, "%s: ", s->name);
    add_fleet(&t, s);
    text_add(&t, " GPUs, %s measured, seed %llu, %u replication%s%s", measured,
             (unsigned long long)s->columns[0].seed, s->n_replications,
             s->n_replications > 1 ? "s" : "", s->n_replications > 1 ? " (figures are means)" : "");
    text_wrap(r->out, text_get(&t), 0, 2, WIDTH);
    text_free(&t);
}

static void print_answer(const struct report *r)
{
    struct text t = {0};
    explain_answer(&t, r->s, r->v);
    fputc('\n', r->out);
    style(r, STYLE_BOLD);
    fputs("ANSWER", r->out);
    style(r, STYLE_PLAIN);
    fputc('\n', r->out);
    text_wrap(r->out, text_get(&t), 2, 2, WIDTH);
    text_free(&t);
}

/* ---- the table ---- */

typedef void cell_fn(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                     const void *arg);

/* A figure of the summary, scaled and with its unit behind it. */
struct figure {
    const char *label, *metric;
    double scale;
    int digits;
    const char *unit;
};

static void figure_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                        const void *arg)
{
    const struct figure *f = arg;
    char number[NUMBER_SIZE];
    double value = summary_mean(s, f->metric, column, entity, 0) * f->scale;
    number_show(number, value, f->digits);
    snprintf(out, CELL_SIZE, "%s%s", number, isnan(value) ? "" : f->unit);
}

static void use_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                     const void *arg)
{
    (void)entity;
    number_show(out, 100 * explain_use(s, column, *(const enum use *)arg), 1);
}

static void stage_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                       const void *arg)
{
    (void)arg;
    double stage = summary_mean(s, "binding_stage", column, entity, 0);
    bool known = stage >= 0 && stage < STAGES;
    snprintf(out, CELL_SIZE, "%s", known ? stage_names[lround(stage)] : "-");
}

static void evicted_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                         const void *arg)
{
    (void)arg;
    double gone = summary_mean(s, "gpus_evicted", column, entity, 0);
    double missing = summary_mean(s, "gpus_asked", column, entity, 0);
    char evicted[NUMBER_SIZE], asked[NUMBER_SIZE];
    int digits = gone > 0 && gone < 1 ? 1 : 0; /* of slices */
    number_show(evicted, gone, digits);
    number_show(asked, missing, digits);
    snprintf(out, CELL_SIZE, "%s / %s", evicted, asked);
}

struct block {
    uint32_t first, n; /* columns of this table */
};

static void print_row(const struct report *r, struct block b, const char *label, cell_fn *cell,
                      uint32_t entity, const void *arg)
{
    fprintf(r->out, "%-*s", LABEL_WIDTH, label);
    for (uint32_t c = b.first; c < b.first + b.n; c++) {
        char text[CELL_SIZE] = "";
        cell(text, r->s, c, entity, arg);
        fprintf(r->out, "%*s", (int)r->cell, text);
    }
    fputc('\n', r->out);
}

static void print_figures(const struct report *r, struct block b, const struct figure *figures,
                          size_t n, uint32_t entity)
{
    for (size_t i = 0; i < n; i++)
        print_row(r, b, figures[i].label, figure_cell, entity, &figures[i]);
}

/* Bytes of the first n characters. */
static size_t bytes_of(const char *text, size_t n)
{
    size_t i = 0;
    while (text[i] && (n > 0 || ((unsigned char)text[i] & 0xc0) == 0x80)) {
        n -= ((unsigned char)text[i] & 0xc0) != 0x80;
        i++;
    }
    return i;
}

/* Labels above their columns, over several lines where they are long. */
static void print_labels(const struct report *r, struct block b, size_t cell)
{
    bool more = true;
    for (size_t line = 0; more; line++) {
        more = false;
        fprintf(r->out, "%*s", LABEL_WIDTH, "");
        for (uint32_t c = b.first; c < b.first + b.n; c++) {
            const char *label = r->s->columns[c].label;
            const char *from = label + bytes_of(label, line * (cell - 1));
            size_t bytes = bytes_of(from, cell - 1);
            char piece[4 * PAIR_CELL + 1];
            snprintf(piece, sizeof piece, "%.*s", (int)bytes, from);
            fprintf(r->out, "%*s%s", (int)(cell - text_width(piece)), "", piece);
            more = more || from[bytes];
        }
        fputc('\n', r->out);
    }
}

/* Rows that are 0.0 everywhere say nothing, but the first three are the point: of them, without a
 * service, training alone. */
static bool shows(const struct report *r, enum use use)
{
    bool any = use == USE_TRAINING || (use < USE_TRAINING && r->s->n[AXIS_SERVICE] > 0);
    for (uint32_t c = 0; c < r->s->n_columns; c++)
        any = any || explain_use(r->s, c, use) >= 0.0005;
    return any;
}

static void print_uses(const struct report *r, struct block b)
{
    fprintf(r->out, "GPUs by use, %% of GPU time\n");
    for (enum use u = 0; u < USES; u++) {
        char label[LABEL_WIDTH + 1];
        snprintf(label, sizeof label, "  %s", use_names[u]);
        if (shows(r, u))
            print_row(r, b, label, use_cell, 0, &u);
    }
}

static void print_services(const struct report *r, struct block b)
{
    static const struct figure figures[] = {
        {"  requests/s", "request_rate", 1, 1, ""},
        {"  TTFT p99", "ttft_p99_s", 1, NUMBER_FINE, " s"},
        {"  TPOT p99", "tpot_p99_s", 1000, 1, " ms"},
        {"  minutes in breach", "breach_min", 1, 1, ""},
        {"  attainment", "attainment", 1, 4, ""},
        {"  peak demand, GPUs", "demand_peak_gpus", 1, 0, ""},
        {"  warm buffer, GPUs", "buffer_gpus", 1, 0, ""},
    };
    for (uint32_t k = 0; k < r->s->n[AXIS_SERVICE]; k++) {
        fprintf(r->out, "Service %s\n", r->s->names[AXIS_SERVICE][k]);
        print_figures(r, b, figures, sizeof figures / sizeof figures[0], k);
    }
}

static void jobs_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                      const void *arg)
{
    (void)arg;
    char done[NUMBER_SIZE], submitted[NUMBER_SIZE];
    number_show(done, summary_mean(s, "jobs_done", column, entity, 0), 0);
    number_show(submitted, summary_mean(s, "jobs_submitted", column, entity, 0), 0);
    snprintf(out, CELL_SIZE, "%s / %s", done, submitted);
}

static bool any_column(const struct summary *s, const char *metric, uint32_t entity)
{
    bool any = false;
    for (uint32_t c = 0; c < s->n_columns; c++)
        any = any || summary_mean(s, metric, c, entity, 0) > 0;
    return any;
}

/* Those that some design has any of. */
static void print_seen(const struct report *r, struct block b, const struct figure *figures,
                       size_t n, uint32_t entity)
{
    for (size_t i = 0; i < n; i++)
        if (any_column(r->s, figures[i].metric, entity))
            print_figures(r, b, &figures[i], 1, entity);
}

/* What stood in the way of the jobs of a queue or of a tenant. */
struct blocked {
    const char *metric;
    uint32_t reason;
};

static double blocked_h(const struct summary *s, const char *metric, uint32_t column,
                        uint32_t entity, uint32_t reason)
{
    double h = summary_mean(s, metric, column, entity, reason);
    return isnan(h) ? 0 : h;
}

static double all_blocked_h(const struct summary *s, const char *metric, uint32_t column,
                            uint32_t entity)
{
    double sum = 0;
    for (uint32_t k = 0; k < BLOCKS; k++)
        sum += blocked_h(s, metric, column, entity, k);
    return sum;
}

static void blocked_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                         const void *arg)
{
    const struct blocked *b = arg;
    double all = all_blocked_h(s, b->metric, column, entity);
    double h = blocked_h(s, b->metric, column, entity, b->reason);
    number_show(out, all > 0 ? 100 * h / all : NAN, 1);
}

static void all_blocked_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                             const void *arg)
{
    const struct blocked *b = arg;
    number_show(out, all_blocked_h(s, b->metric, column, entity), NUMBER_FITTING);
}

/* Reasons that took a share worth a digit in some design. */
static void print_blocked(const struct report *r, struct block b, const char *metric,
                          uint32_t entity)
{
    double most[BLOCKS + 1] = {0};
    for (uint32_t c = 0; c < r->s->n_columns; c++) {
        double all = all_blocked_h(r->s, metric, c, entity);
        most[BLOCKS] = fmax(most[BLOCKS], all);
        for (uint32_t k = 0; k < BLOCKS && all > 0; k++)
            most[k] = fmax(most[k], blocked_h(r->s, metric, c, entity, k) / all);
    }
    if (!(most[BLOCKS] > 0))
        return;
    struct blocked what = {metric, 0};
    print_row(r, b, "  waited, job-hours", all_blocked_cell, entity, &what);
    fprintf(r->out, "  Why jobs wait, %% of that\n");
    for (uint32_t k = 0; k < BLOCKS; k++) {
        char label[LABEL_WIDTH + 1];
        snprintf(label, sizeof label, "    %s", block_names[k]);
        what.reason = k;
        if (most[k] >= 0.0005)
            print_row(r, b, label, blocked_cell, entity, &what);
    }
}

/* Hours that jobs of a tenant waited, in the design where they waited most. */
static double tenant_waited_h(const struct report *r, uint32_t tenant)
{
    double most = 0;
    for (uint32_t c = 0; c < r->s->n_columns; c++)
        most = fmax(most, all_blocked_h(r->s, "tenant_blocked_h", c, tenant));
    return most;
}

/* The tenants that waited most; the others are for headroom why. */
static void print_tenants(const struct report *r, struct block b)
{
    enum { MOST = 4 };
    uint32_t n = r->s->n[AXIS_TENANT], shown[MOST], n_shown = 0, waited = 0;
    for (uint32_t k = 0; k < n && n > 1; k++) {
        double h = tenant_waited_h(r, k);
        uint32_t at = n_shown;
        waited += h > 0;
        while (at > 0 && tenant_waited_h(r, shown[at - 1]) < h)
            at--;
        if (!(h > 0) || at == MOST)
            continue;
        n_shown += n_shown < MOST;
        memmove(&shown[at + 1], &shown[at], (n_shown - at - 1) * sizeof *shown);
        shown[at] = k;
    }
    for (uint32_t i = 0; i < n_shown; i++) {
        fprintf(r->out, "Tenant %s\n", r->s->names[AXIS_TENANT][shown[i]]);
        print_blocked(r, b, "tenant_blocked_h", shown[i]);
    }
    if (waited > n_shown)
        fprintf(r->out, "%u more tenants waited less\n", waited - n_shown);
}

/* Queues with recorded jobs; the gangs of a backlog wait for nothing but room. */
static void print_queues(const struct report *r, struct block b)
{
    static const struct figure refused = {"  refused: too large", "jobs_refused", 1, 0, ""};
    static const struct figure rare[] = {
        {"  cancelled", "jobs_cancelled", 1, NUMBER_FITTING, ""},
        {"  node swaps", "node_swaps", 1, NUMBER_FITTING, ""},
        {"  partial returns", "partial_returns", 1, NUMBER_FITTING, ""},
    };
    static const struct figure waits[] = {
        {"  wait p50", "wait_p50_s", 1.0 / 60, 1, " min"},
        {"  wait p90", "wait_p90_s", 1.0 / 60, 1, " min"},
        {"  preemptions", "preemptions", 1, 0, ""},
    };
    for (uint32_t k = 0; k < r->s->n[AXIS_QUEUE]; k++) {
        if (!any_column(r->s, "jobs_submitted", k))
            continue;
        fprintf(r->out, "Queue %s\n", r->s->names[AXIS_QUEUE][k]);
        print_row(r, b, "  jobs done / submitted", jobs_cell, k, NULL);
        if (any_column(r->s, "jobs_refused", k))
            print_figures(r, b, &refused, 1, k);
        print_figures(r, b, waits, sizeof waits / sizeof waits[0], k);
        print_seen(r, b, rare, sizeof rare / sizeof rare[0], k);
        print_blocked(r, b, "queue_blocked_h", k);
    }
    print_tenants(r, b);
}

/* What happened to the nodes of each pool; nothing where nothing did. */
static void print_pools(const struct report *r, struct block b)
{
    static const struct figure events[] = {
        {"  nodes failed", "pool_failures", 1, NUMBER_FITTING, ""},
        {"  nodes repaired", "pool_repairs", 1, NUMBER_FITTING, ""},
        {"  spot notices", "pool_spot_notices", 1, NUMBER_FITTING, ""},
        {"  spot nodes lost", "pool_spot_losses", 1, NUMBER_FITTING, ""},
        {"  spot nodes back", "pool_spot_returns", 1, NUMBER_FITTING, ""},
        {"  nodes asked for", "pool_nodes_requested", 1, NUMBER_FITTING, ""},
        {"  nodes provisioned", "pool_nodes_provisioned", 1, NUMBER_FITTING, ""},
        {"  nodes given back", "pool_nodes_released", 1, NUMBER_FITTING, ""},
        {"  maintenance done, nodes", "pool_nodes_maintained", 1, NUMBER_FITTING, ""},
        {"    then to repair", "pool_nodes_maintenance_failed", 1, NUMBER_FITTING, ""},
        {"    gangs out at a save", "pool_roll_out_at_save", 1, NUMBER_FITTING, ""},
        {"    evicted before", "pool_roll_out_forced", 1, NUMBER_FITTING, ""},
        {"  roll-outs done", "pool_roll_outs", 1, NUMBER_FITTING, ""},
        {"    mean time", "pool_roll_out_mean_s", 1.0 / 3600, 2, " h"},
    };
    for (uint32_t k = 0; k < r->s->n[AXIS_POOL]; k++) {
        bool titled = false;
        for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
            if (!any_column(r->s, events[i].metric, k))
                continue;
            if (!titled)
                fprintf(r->out, "Pool %s\n", r->s->names[AXIS_POOL][k]);
            titled = true;
            print_figures(r, b, &events[i], 1, k);
        }
    }
}

static void cost_rate_cell(char *out, const struct summary *s, uint32_t column, uint32_t entity,
                           const void *arg)
{
    (void)arg;
    double hours = summary_mean(s, "measured_s", column, entity, 0) / 3600;
    number_show(out, summary_mean(s, "cost_usd", column, entity, 0) / hours, 2);
}

/* Where columns differ in size, shares alone would hide it. */
static void print_fleets(const struct report *r, struct block b)
{
    static const struct figure gpus = {"Fleet, GPUs", "fleet_gpus", 1, 0, ""};
    double first = summary_mean(r->s, "fleet_gpus", 0, 0, 0);
    bool differ = false;
    for (uint32_t c = 1; c < r->s->n_columns; c++)
        differ = differ || summary_mean(r->s, "fleet_gpus", c, 0, 0) != first;
    if (!differ)
        return;
    print_figures(r, b, &gpus, 1, 0);
    print_row(r, b, "Cost of the fleet, $/h", cost_rate_cell, 0, NULL);
}

static void print_table(const struct report *r, struct block b)
{
    static const struct figure shares[] = {
        {"Allocated, %", "allocation", 100, 1, ""},
        {"Utilized, %", "utilization", 100, 1, ""},
    };
    static const struct figure reclaims[] = {
        {"Reclaims", "reclaims", 1, 0, ""},
        {"  p50", "reclaim_p50_s", 1, 0, " s"},
        {"  p99", "reclaim_p99_s", 1, 0, " s"},
    };
    static const struct figure churn[] = {
        {"  evictions per reclaim", "evictions_per_reclaim", 1, 2, ""},
        {"  moved to other nodes", "reclaim_moves", 1, NUMBER_FITTING, ""},
        {"  spared: just evicted", "reclaim_spared", 1, NUMBER_FITTING, ""},
    };
    static const struct figure slices[] = {
        {"GPUs re-laid", "mig_relayouts", 1, NUMBER_FITTING, ""},
        {"Larger MIG instances", "mig_larger_starts", 1, NUMBER_FITTING, ""},
        {"  beyond demand, GPU-hours", "mig_beyond_gpu_h", 1, NUMBER_FITTING, ""},
    };
    static const struct figure costs[] = {
        {"Training kept, GPU-hours", "training_gpu_h", 1, NUMBER_FITTING, ""},
        {"Training lost, GPU-hours", "lost_gpu_h", 1, NUMBER_FITTING, ""},
        {"Cost/useful GPU-hour, $", "cost_per_useful_gpu_h", 1, 2, ""},
    };
    static const struct figure power[] = {
        {"Mean power, kW", "power_mean_kw", 1, 1, ""},
        {"  highest", "power_peak_kw", 1, 1, ""},
        {"  speed under the limit, %", "power_speed_frac", 100, 1, ""},
    };
    static const struct figure storage[] = {
        {"Storage busy, %", "storage_busy_frac", 100, 1, ""},
        {"  slowdown of saves", "storage_save_slowdown", 1, 2, ""},
        {"  of restores", "storage_restore_slowdown", 1, 2, ""},
    };
    fputc('\n', r->out);
    style(r, STYLE_BOLD);
    print_labels(r, b, r->cell);
    style(r, STYLE_PLAIN);
    print_fleets(r, b);
    print_uses(r, b);
    print_figures(r, b, shares, sizeof shares / sizeof shares[0], 0);
    print_services(r, b);
    print_queues(r, b);
    if (any_column(r->s, "storage_busy_frac", 0))
        print_figures(r, b, storage, any_column(r->s, "storage_restore_slowdown", 0) ? 3 : 2, 0);
    if (any_column(r->s, "power_peak_kw", 0))
        print_figures(r, b, power, any_column(r->s, "power_speed_frac", 0) ? 3 : 2, 0);
    print_pools(r, b);
    if (r->s->n[AXIS_SERVICE] > 0 || any_column(r->s, "reclaims", 0)) {
        print_figures(r, b, reclaims, sizeof reclaims / sizeof reclaims[0], 0);
        print_row(r, b, "  binding stage", stage_cell, 0, NULL);
        print_row(r, b, "  GPUs evicted / asked", evicted_cell, 0, NULL);
        print_seen(r, b, churn, sizeof churn / sizeof churn[0], 0);
    }
    print_seen(r, b, slices, sizeof slices / sizeof slices[0], 0);
    print_figures(r, b, costs, sizeof costs / sizeof costs[0], 0);
}

static void print_tables(const struct report *r)
{
    uint32_t fit = (uint32_t)((WIDTH - LABEL_WIDTH) / r->cell);
    for (uint32_t c = 0; c < r->s->n_columns; c += fit) {
        uint32_t left = r->s->n_columns - c;
        print_table(r, (struct block){c, left < fit ? left : fit});
    }
}

/* ---- judgement and reasons ---- */

static void print_title(const struct report *r, const char *title)
{
    fputc('\n', r->out);
    style(r, STYLE_BOLD);
    text_wrap(r->out, title, 0, 2, WIDTH);
    style(r, STYLE_PLAIN);
}

static void print_verdicts(const struct report *r)
{
    bool titled = false;
    for (uint32_t c = 0; c < r->s->n_columns; c++)
        for (uint32_t k = 0; k < r->s->n[AXIS_SERVICE]; k++) {
            struct text t = {0}, line = {0};
            explain_objectives(&t, r->s, c, k);
            if (!t.n)
                continue;
            if (!titled)
                print_title(r, "VERDICT");
            titled = true;
            text_add(&line, "%s", r->s->columns[c].label);
            if (r->s->n[AXIS_SERVICE] > 1)
                text_add(&line, ", %s", r->s->names[AXIS_SERVICE][k]);
            text_add(&line, ": %s", text_get(&t));
            bool bad = strstr(text_get(&t), "MISSES") != NULL;
            style(r, bad ? STYLE_BAD : STYLE_GOOD);
            text_wrap(r->out, text_get(&line), 2, 4, WIDTH);
            style(r, STYLE_PLAIN);
            text_free(&t);
            text_free(&line);
        }
}

/* Of the design chosen and the one it is held against; with `all` of every one. */
static enum hr_err print_statements(const struct report *r)
{
    enum { MOST_OF_ONE = 10, MOST_OF_SEVERAL = 4 };
    size_t most = r->all ? SIZE_MAX - 1 : r->s->n_columns == 1 ? MOST_OF_ONE : MOST_OF_SEVERAL;
    for (uint32_t c = 0; c < r->s->n_columns; c++) {
        if (!r->all && c != r->v->choice && c != r->v->reference)
            continue;
        struct text title = {0}, t = {0};
        struct statement statement;
        text_add(&title, "GPU-HOURS");
        if (r->s->n_columns > 1)
            text_add(&title, " of %s", r->s->columns[c].label);
        print_title(r, text_get(&title));
        text_free(&title);
        enum hr_err err = statement_init(&statement, r->s, c, most);
        if (err == HR_OK)
            err = statement_print(r->out, &statement);
        statement_fini(&statement);
        TRY(err);
        statement_sentence(&t, r->s, c);
        text_wrap(r->out, text_get(&t), 2, 2, WIDTH);
        text_free(&t);
    }
    return HR_OK;
}

static void print_reasons(const struct report *r)
{
    print_title(r, "WHY");
    struct text t = {0};
    explain_waste(&t, r->s);
    text_wrap(r->out, text_get(&t), 2, 2, WIDTH);
    text_free(&t);
    for (uint32_t c = 0; c < r->s->n_columns; c++)
        for (uint32_t k = 0; k < r->s->n[AXIS_SERVICE]; k++) {
            explain_service(&t, r->s, r->v, c, k);
            if (t.n)
                text_wrap(r->out, text_get(&t), 2, 2, WIDTH);
            text_free(&t);
        }
    for (uint32_t c = 0; c < r->s->n_columns; c++)
        for (uint32_t k = 0; k < r->s->n[AXIS_POOL]; k++) {
            explain_spot(&t, r->s, c, k);
            if (t.n)
                text_wrap(r->out, text_get(&t), 2, 2, WIDTH);
            text_free(&t);
        }
    if (r->s->n_columns > 1) {
        text_add(&t, "Rule of choice: %s", verdict_rule(r->s));
        text_wrap(r->out, text_get(&t), 2, 2, WIDTH);
        text_free(&t);
    }
}

/* ---- paired intervals ---- */

static void print_pair(const struct report *r, struct block b, const char *label,
                       const char *metric, uint32_t entity, double scale, int digits)
{
    fprintf(r->out, "%-*s", LABEL_WIDTH, label);
    for (uint32_t c = b.first; c < b.first + b.n; c++) {
        struct paired p = paired_difference(r->s, metric_find(metric), c, entity, 0);
        char mean[NUMBER_SIZE], low[NUMBER_SIZE], high[NUMBER_SIZE], cell[3 * NUMBER_SIZE + 8];
        number_show(mean, p.mean * scale, digits);
        number_show(low, p.low * scale, digits);
        number_show(high, p.high * scale, digits);
        snprintf(cell, sizeof cell, "%s%s [%s, %s]", p.mean * scale > 0 ? "+" : "", mean, low,
                 high);
        fprintf(r->out, "%*s", PAIR_CELL, isnan(p.low) ? "-" : cell);
    }
    fputc('\n', r->out);
}

static void print_pairs(const struct report *r, struct block b)
{
    static const struct figure figures[] = {
        {"Utilized, points", "utilization", 100, 2, ""},
        {"Spare replicas, points", "spare_frac", 100, 2, ""},
        {"Training kept, GPU-hours", "training_gpu_h", 1, 1, ""},
        {"Training lost, GPU-hours", "lost_gpu_h", 1, 1, ""},
        {"Cost/useful GPU-hour, $", "cost_per_useful_gpu_h", 1, 3, ""},
    };
    print_labels(r, b, PAIR_CELL);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        print_pair(r, b, figures[i].label, figures[i].metric, 0, figures[i].scale,
                   figures[i].digits);
    for (uint32_t k = 0; k < r->s->n[AXIS_SERVICE]; k++) {
        char label[LABEL_WIDTH];
        snprintf(label, sizeof label, "Breach min, %s", r->s->names[AXIS_SERVICE][k]);
        print_pair(r, b, label, "breach_min", k, 1, 1);
    }
}

static void print_intervals(const struct report *r)
{
    if (r->s->n_columns < 2)
        return;
    struct text t = {0};
    if (r->s->n_replications < PAIRED_LEAST_REPLICATIONS) {
        text_add(&t, "No intervals: they take at least %d replications.",
                 PAIRED_LEAST_REPLICATIONS);
        text_wrap(r->out, text_get(&t), 2, 2, WIDTH);
        text_free(&t);
        return;
    }
    text_add(&t, "DIFFERENCES to %s, paired, with 95%% intervals", r->s->columns[0].label);
    print_title(r, text_get(&t));
    text_free(&t);
    enum { FIT = (WIDTH - LABEL_WIDTH) / PAIR_CELL };
    for (uint32_t c = 1; c < r->s->n_columns; c += FIT) {
        uint32_t left = r->s->n_columns - c;
        print_pairs(r, (struct block){c, left < FIT ? left : FIT});
    }
}

/* Columns are as wide as their labels and their widest cells, the pairs of counts. */
static size_t widest(const struct summary *s, size_t least, size_t most)
{
    size_t cell = least;
    for (uint32_t c = 0; c < s->n_columns; c++) {
        char text[CELL_SIZE];
        size_t wide = text_width(s->columns[c].label) + 1;
        evicted_cell(text, s, c, 0, NULL);
        wide = strlen(text) + 1 > wide ? strlen(text) + 1 : wide;
        for (uint32_t k = 0; k < s->n[AXIS_QUEUE]; k++) {
            jobs_cell(text, s, c, k, NULL);
            wide = strlen(text) + 1 > wide ? strlen(text) + 1 : wide;
        }
        cell = wide > cell ? wide : cell;
    }
    return cell < most ? cell : most;
}

enum hr_err report_print(FILE *out, const struct summary *s, const struct verdict *v,
                         const struct report_options *options)
{
    struct report r = {out, s, v, options->colour, options->all, widest(s, LEAST_CELL, MOST_CELL)};
    print_head(&r);
    print_answer(&r);
    print_tables(&r);
    print_verdicts(&r);
    TRY(print_statements(&r));
    print_reasons(&r);
    print_intervals(&r);
    return ferror(out) ? HR_IO : HR_OK;
}
