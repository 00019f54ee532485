/* The groups `slo/<service>`: what each window saw, and the histograms of the run. */
#include "analysis/layout_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of a window table, filled window by window. */
struct windows {
    size_t n; /* over all runs */
    uint32_t n_objectives;
    int64_t *requests, *late, *late_any;
    double *quantiles[4]; /* p50, p90, p99, max; each [n][SLO_METRICS], s */
};

static const char *const quantile_names[4] = {"p50_s", "p90_s", "p99_s", "max_s"};

static void windows_free(struct windows *w)
{
    free(w->requests);
    free(w->late);
    free(w->late_any);
    for (int i = 0; i < 4; i++)
        free(w->quantiles[i]);
}

static enum hr_err windows_alloc(struct windows *w, size_t n, uint32_t n_objectives)
{
    *w = (struct windows){.n = n, .n_objectives = n_objectives};
    w->requests = calloc(n, sizeof *w->requests);
    w->late = calloc(n * n_objectives, sizeof *w->late);
    w->late_any = calloc(n, sizeof *w->late_any);
    bool ok = w->requests && w->late && w->late_any;
    for (int i = 0; i < 4; i++) {
        w->quantiles[i] = calloc(n * SLO_METRICS, sizeof *w->quantiles[i]);
        ok = ok && w->quantiles[i];
    }
    return ok ? HR_OK : HR_NOMEM;
}

/* A window in which nothing was measured has no quantile. */
static double quantile_s(uint64_t ns, uint64_t max_ns)
{
    return max_ns ? sim_time_to_s(ns) : NAN;
}

static void windows_copy(struct windows *w, size_t at, const struct slo_window *from)
{
    w->requests[at] = from->requests;
    w->late_any[at] = from->late_any;
    for (uint32_t o = 0; o < w->n_objectives; o++)
        w->late[at * w->n_objectives + o] = from->late[o];
    for (int m = 0; m < SLO_METRICS; m++) {
        const uint64_t ns[4] = {from->p50_ns[m], from->p90_ns[m], from->p99_ns[m], from->max_ns[m]};
        for (int q = 0; q < 4; q++)
            w->quantiles[q][at * SLO_METRICS + (size_t)m] = quantile_s(ns[q], from->max_ns[m]);
    }
}

static const struct service_results *service_of(const struct experiment *e, uint32_t column,
                                                uint32_t replication, uint32_t service)
{
    uint32_t local = summary_local(&e->summary, e->columns[column].plan, AXIS_SERVICE, service);
    return &experiment_results(e, column, replication)->services[local];
}

static const struct service_plan *plan_of(const struct experiment *e, uint32_t column,
                                          uint32_t service)
{
    uint32_t local = summary_local(&e->summary, e->columns[column].plan, AXIS_SERVICE, service);
    return local == SUMMARY_ABSENT ? NULL : &e->columns[column].plan->services[local];
}

static void put_windows(const struct hdf5_group *g, const struct layout_lead *lead,
                        const struct windows *w, const struct hdf5_dim *time,
                        const struct hdf5_dim *objective, const struct hdf5_dim *latency)
{
    struct hdf5_var v = {.name = "requests",
                         .type = HDF5_I32,
                         .data = w->requests,
                         .units = "1",
                         .long_name = "requests that arrived in the window and count"};
    layout_dims(&v, lead, time, NULL, NULL);
    hdf5_put(g, &v);
    v.name = "late_any";
    v.data = w->late_any;
    v.long_name = "requests late in any objective";
    hdf5_put(g, &v);
    v.name = "late";
    v.data = w->late;
    v.long_name = "requests late for the objective";
    layout_dims(&v, lead, time, objective, NULL);
    hdf5_put(g, &v);
    for (int q = 0; q < 4; q++) {
        v = (struct hdf5_var){.name = quantile_names[q],
                              .type = HDF5_F64,
                              .data = w->quantiles[q],
                              .units = "s",
                              .long_name = "quantile over the requests of the window"};
        layout_dims(&v, lead, time, latency, NULL);
        hdf5_put(g, &v);
    }
}

/* ---- histograms ---- */

/* The buckets in use over all runs and metrics: [low, high). */
static void bucket_range(const struct experiment *e, struct layout_columns columns,
                         uint32_t service, size_t *low, size_t *high)
{
    *low = SIZE_MAX;
    *high = 0;
    for (uint32_t c = 0; c < columns.n; c++)
        for (uint32_t r = 0; r < e->summary.n_replications; r++)
            for (int m = 0; m < SLO_METRICS; m++) {
                const struct hist *h = &service_of(e, columns.first + c, r, service)->hists[m];
                for (size_t b = 0; b < h->n_buckets; b++)
                    if (h->counts[b]) {
                        *low = b < *low ? b : *low;
                        *high = b + 1 > *high ? b + 1 : *high;
                    }
            }
}

static enum hr_err put_histograms(const struct hdf5_group *g, const struct experiment *e,
                                  const struct layout_lead *lead, uint32_t service,
                                  const struct hdf5_dim *latency)
{
    size_t low, high;
    bucket_range(e, lead->columns, service, &low, &high);
    if (high == 0)
        return HR_OK; /* nothing was measured */
    size_t n = high - low, at = 0;
    double *edges = calloc(n, sizeof *edges), *widths = calloc(n, sizeof *widths);
    int64_t *counts = calloc(layout_lead_runs(lead) * SLO_METRICS * n, sizeof *counts);
    if (edges && widths && counts) {
        for (size_t b = 0; b < n; b++) {
            edges[b] = sim_time_to_s(hist_bucket_low(low + b));
            widths[b] = sim_time_to_s(hist_bucket_width(low + b));
        }
        for (uint32_t c = 0; c < lead->columns.n; c++)
            for (uint32_t r = 0; r < lead->n_replications; r++)
                for (int m = 0; m < SLO_METRICS; m++) {
                    const struct hist *h =
                        &service_of(e, lead->columns.first + c, r, service)->hists[m];
                    for (size_t b = low; b < high; b++)
                        counts[at++] = b < h->n_buckets ? (int64_t)h->counts[b] : 0;
                }
        struct hdf5_var v = {.name = "bucket",
                             .type = HDF5_F64,
                             .data = edges,
                             .units = "s",
                             .long_name = "lower edge of the bucket"};
        struct hdf5_dim bucket = hdf5_dim_new(g, &v, n, NULL);
        v = (struct hdf5_var){.name = "bucket_width_s",
                              .type = HDF5_F64,
                              .dims = {&bucket},
                              .data = widths,
                              .units = "s",
                              .long_name = "width of the bucket"};
        hdf5_put(g, &v);
        v = (struct hdf5_var){.name = "histogram",
                              .type = HDF5_I64,
                              .data = counts,
                              .units = "1",
                              .long_name = "requests in the bucket, whole run"};
        layout_dims(&v, lead, latency, &bucket, NULL);
        hdf5_put(g, &v);
        hdf5_dim_close(&bucket);
    }
    enum hr_err err = edges && widths && counts ? HR_OK : HR_NOMEM;
    free(edges);
    free(widths);
    free(counts);
    return err;
}

/* ---- one service ---- */

static enum hr_err fill_windows(struct windows *w, const struct experiment *e,
                                struct layout_columns columns, uint32_t service)
{
    uint32_t reps = e->summary.n_replications;
    size_t per_run = service_of(e, columns.first, 0, service)->n_windows, at = 0;
    uint32_t objectives = plan_of(e, columns.first, service)->slo.n_objectives;
    TRY(windows_alloc(w, per_run * columns.n * reps, objectives));
    for (uint32_t c = 0; c < columns.n; c++)
        for (uint32_t r = 0; r < reps; r++) {
            const struct service_results *s = service_of(e, columns.first + c, r, service);
            for (size_t i = 0; i < per_run; i++)
                windows_copy(w, at++, &s->windows[i]);
        }
    return HR_OK;
}

static enum hr_err write_service(const struct hdf5_group *g, const struct experiment *e,
                                 struct layout_columns columns, uint32_t service)
{
    const struct summary *s = &e->summary;
    const struct service_plan *plan = plan_of(e, columns.first, service);
    if (!plan || service_of(e, columns.first, 0, service)->n_windows == 0)
        return HR_OK;
    size_t n = service_of(e, columns.first, 0, service)->n_windows;
    struct windows w;
    enum hr_err err = fill_windows(&w, e, columns, service);
    if (err == HR_OK) {
        struct layout_lead lead;
        layout_lead_open(&lead, g, s, columns);
        struct hdf5_dim time =
            layout_time(g, s->start_date, plan->slo.start_ns, plan->slo.window_ns, n);
        struct hdf5_dim objective =
            layout_names(g, "objective", "objective, in the order of the scenario",
                         s->names[AXIS_OBJECTIVE], plan->slo.n_objectives);
        struct hdf5_dim latency =
            layout_names(g, "latency", "time to first token, per output token, end to end",
                         slo_metric_names, SLO_METRICS);
        put_windows(g, &lead, &w, &time, &objective, &latency);
        err = put_histograms(g, e, &lead, service, &latency);
        hdf5_dim_close(&time);
        hdf5_dim_close(&objective);
        hdf5_dim_close(&latency);
        layout_lead_close(&lead);
    }
    windows_free(&w);
    return err;
}

static bool same_windows(const struct experiment *e, uint32_t service)
{
    const struct service_plan *a = plan_of(e, 0, service);
    for (uint32_t c = 1; a && c < e->summary.n_columns; c++) {
        const struct service_plan *b = plan_of(e, c, service);
        if (!b || a->slo.start_ns != b->slo.start_ns || a->slo.end_ns != b->slo.end_ns ||
            a->slo.window_ns != b->slo.window_ns || a->slo.n_objectives != b->slo.n_objectives)
            return false;
    }
    return a != NULL;
}

enum hr_err layout_slo(const struct hdf5_group *root, const struct experiment *e)
{
    struct hdf5_group slo = hdf5_group_new(root, "slo");
    enum hr_err err = HR_OK;
    for (uint32_t i = 0; i < e->summary.n[AXIS_SERVICE] && err == HR_OK; i++) {
        char *name = strdup(e->summary.names[AXIS_SERVICE][i]);
        if (!name) {
            err = HR_NOMEM;
            break;
        }
        for (char *c = name; *c; c++)
            *c = *c == '/' ? '_' : *c;
        struct hdf5_group g = hdf5_group_new(&slo, name);
        hdf5_attr_text(&g, "service", e->summary.names[AXIS_SERVICE][i]);
        err = layout_each(&g, e, same_windows(e, i), write_service, i);
        hdf5_group_close(&g);
        free(name);
    }
    hdf5_group_close(&slo);
    return err;
}
