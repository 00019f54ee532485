/* The groups `ledger` (exact totals) and `timeline` (GPU-seconds per window), over owner and state.
 *
 * A ledger account is whole share-seconds and remaining nanoseconds, two int64: their sum over all
 * accounts is capacity times measured time, as integers. */
#include "analysis/layout_internal.h"

#include <stdlib.h>

static struct hdf5_dim owners(const struct hdf5_group *g, const struct summary *s)
{
    return layout_names(g, "owner", "who holds the GPUs", s->names[AXIS_OWNER], s->n[AXIS_OWNER]);
}

/* ---- ledger ---- */

static void put_account_var(const struct hdf5_group *g, const struct layout_lead *lead,
                            const struct hdf5_dim *owner, const struct hdf5_dim *state,
                            const struct hdf5_var *var)
{
    struct hdf5_var v = *var;
    layout_dims(&v, lead, owner, state, NULL);
    hdf5_put(g, &v);
}

enum hr_err layout_ledger(const struct hdf5_group *root, const struct experiment *e)
{
    const struct summary *s = &e->summary;
    size_t accounts = (size_t)s->n[AXIS_OWNER] * GPU_STATES;
    size_t n = accounts * s->n_columns * s->n_replications, i = 0;
    int64_t *whole = calloc(n, sizeof *whole), *rest = calloc(n, sizeof *rest);
    if (!whole || !rest) {
        free(whole);
        free(rest);
        return HR_NOMEM;
    }
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (uint32_t r = 0; r < s->n_replications; r++)
            for (uint32_t o = 0; o < s->n[AXIS_OWNER]; o++) {
                uint32_t owner = summary_local(s, e->columns[c].plan, AXIS_OWNER, o);
                for (unsigned state = 0; state < GPU_STATES; state++, i++) {
                    if (owner == SUMMARY_ABSENT)
                        continue;
                    u128 ns = experiment_results(e, c, r)->ledger[results_account(owner, state)];
                    whole[i] = (int64_t)(ns / SIM_S);
                    rest[i] = (int64_t)(ns % SIM_S);
                }
            }
    struct hdf5_group g = hdf5_group_new(root, "ledger");
    struct layout_lead lead;
    layout_lead_open(&lead, &g, s, (struct layout_columns){0, s->n_columns});
    struct hdf5_dim owner = owners(&g, s), state = layout_states(&g);
    put_account_var(&g, &lead, &owner, &state,
                    &(struct hdf5_var){.name = "share_seconds",
                                       .type = HDF5_I64,
                                       .data = whole,
                                       .units = "s",
                                       .long_name = "whole GPU-seconds"});
    put_account_var(&g, &lead, &owner, &state,
                    &(struct hdf5_var){.name = "share_nanoseconds",
                                       .type = HDF5_I64,
                                       .data = rest,
                                       .units = "ns",
                                       .long_name = "GPU-nanoseconds beyond the whole seconds"});
    hdf5_dim_close(&owner);
    hdf5_dim_close(&state);
    layout_lead_close(&lead);
    hdf5_group_close(&g);
    free(whole);
    free(rest);
    return HR_OK;
}

/* ---- timeline ---- */

static void copy_timeline(double *to, const struct experiment *e, uint32_t c, uint32_t r,
                          size_t windows)
{
    const struct summary *s = &e->summary;
    const struct run_results *run = experiment_results(e, c, r);
    size_t accounts = (size_t)run->n_owners * GPU_STATES;
    for (size_t w = 0; w < windows; w++)
        for (uint32_t o = 0; o < s->n[AXIS_OWNER]; o++) {
            uint32_t owner = summary_local(s, e->columns[c].plan, AXIS_OWNER, o);
            for (unsigned state = 0; state < GPU_STATES; state++, to++)
                if (owner != SUMMARY_ABSENT)
                    *to = results_gpus(
                              run,
                              (double)run->timeline[w * accounts + results_account(owner, state)]) /
                          1e9;
        }
}

/* Fragmentation over time. */
static enum hr_err write_fragmented(const struct hdf5_group *g, const struct experiment *e,
                                    struct layout_columns columns, const struct layout_lead *lead,
                                    const struct hdf5_dim *time)
{
    uint32_t replications = e->summary.n_replications;
    size_t windows = experiment_results(e, columns.first, 0)->n_timeline;
    double *frac = calloc(windows * columns.n * replications, sizeof *frac), *to = frac;
    if (!frac)
        return HR_NOMEM;
    for (uint32_t c = 0; c < columns.n; c++)
        for (uint32_t r = 0; r < replications; r++)
            for (size_t w = 0; w < windows; w++)
                *to++ = results_fragmented(experiment_results(e, columns.first + c, r), w);
    struct hdf5_var v = {.name = "fragmented_frac",
                         .type = HDF5_F64,
                         .data = frac,
                         .units = "1",
                         .long_name = "share of the free GPUs on nodes that are free in part",
                         .comment = "1 - whole / free, mean of the window; none: nothing was free"};
    layout_dims(&v, lead, time, NULL, NULL);
    hdf5_put(g, &v);
    free(frac);
    return HR_OK;
}

/* What could start in a window: of the pools together what is free, else of the pool that has most,
 * as a gang is in one of them. mean, else the least. */
static double placeable(const struct run_results *run, size_t w, int kind, bool mean)
{
    double value = 0;
    simtime_ns begin = run->start_ns + w * run->timeline_ns;
    simtime_ns left = run->end_ns - begin;
    double length = (double)(left < run->timeline_ns ? left : run->timeline_ns);
    for (uint32_t p = 0; p < run->n_pools; p++) {
        const struct placeable_window *window = &run->pools[p].placeable[w];
        double here = mean ? (double)window->gpu_ns[kind] / length : window->least[kind];
        value = kind == PLACEABLE_FREE ? value + here : here > value ? here : value;
    }
    return value;
}

static enum hr_err write_placeable(const struct hdf5_group *g, const struct experiment *e,
                                   struct layout_columns columns, const struct layout_lead *lead,
                                   const struct hdf5_dim *time, const struct hdf5_dim *kind,
                                   bool mean)
{
    uint32_t replications = e->summary.n_replications;
    size_t windows = experiment_results(e, columns.first, 0)->n_timeline;
    double *gpus = calloc(windows * PLACEABLES * columns.n * replications, sizeof *gpus),
           *to = gpus;
    if (!gpus)
        return HR_NOMEM;
    for (uint32_t c = 0; c < columns.n; c++)
        for (uint32_t r = 0; r < replications; r++)
            for (size_t w = 0; w < windows; w++)
                for (int k = 0; k < PLACEABLES; k++)
                    *to++ = placeable(experiment_results(e, columns.first + c, r), w, k, mean);
    struct hdf5_var v = {.name = mean ? "placeable_gpus" : "placeable_least_gpus",
                         .type = HDF5_F64,
                         .data = gpus,
                         .units = "1",
                         .long_name = mean ? "GPUs that a start could have, mean of the window"
                                           : "GPUs that a start could have, least of the window",
                         .comment =
                             "free: in all; block: in one node; whole: on wholly free nodes"};
    layout_dims(&v, lead, time, kind, NULL);
    hdf5_put(g, &v);
    free(gpus);
    return HR_OK;
}

static enum hr_err write_timeline(const struct hdf5_group *g, const struct experiment *e,
                                  struct layout_columns columns, uint32_t arg)
{
    (void)arg;
    const struct summary *s = &e->summary;
    const struct run_results *first = experiment_results(e, columns.first, 0);
    size_t windows = first->n_timeline;
    size_t per_run = windows * s->n[AXIS_OWNER] * GPU_STATES;
    if (windows == 0)
        return HR_OK;
    double *gpu_s = calloc(per_run * columns.n * s->n_replications, sizeof *gpu_s);
    if (!gpu_s)
        return HR_NOMEM;
    for (uint32_t c = 0; c < columns.n; c++)
        for (uint32_t r = 0; r < s->n_replications; r++)
            copy_timeline(gpu_s + (c * (size_t)s->n_replications + r) * per_run, e,
                          columns.first + c, r, windows);
    struct layout_lead lead;
    layout_lead_open(&lead, g, s, columns);
    struct hdf5_dim time =
        layout_time(g, s->start_date, first->start_ns, first->timeline_ns, windows);
    struct hdf5_dim owner = owners(g, s), state = layout_states(g);
    struct hdf5_var v = {.name = "gpu_s",
                         .type = HDF5_F64,
                         .data = gpu_s,
                         .units = "s",
                         .long_name = "GPU-seconds in the window",
                         .comment = "divided by the window's length: GPUs"};
    layout_dims(&v, &lead, &time, &owner, &state);
    hdf5_put(g, &v);
    enum hr_err err = HR_OK;
    if (first->n_pools > 0 && first->pools[0].placeable) {
        struct hdf5_dim kind =
            layout_names(g, "placeable", "what could start", placeable_names, PLACEABLES);
        err = write_placeable(g, e, columns, &lead, &time, &kind, true);
        if (err == HR_OK)
            err = write_placeable(g, e, columns, &lead, &time, &kind, false);
        if (err == HR_OK)
            err = write_fragmented(g, e, columns, &lead, &time);
        hdf5_dim_close(&kind);
    }
    hdf5_dim_close(&time);
    hdf5_dim_close(&owner);
    hdf5_dim_close(&state);
    layout_lead_close(&lead);
    free(gpu_s);
    return err;
}

static bool same_timeline(const struct experiment *e)
{
    const struct run_results *a = experiment_results(e, 0, 0);
    for (uint32_t c = 1; c < e->summary.n_columns; c++) {
        const struct run_results *b = experiment_results(e, c, 0);
        if (a->start_ns != b->start_ns || a->end_ns != b->end_ns ||
            a->timeline_ns != b->timeline_ns)
            return false;
    }
    return true;
}

enum hr_err layout_timeline(const struct hdf5_group *root, const struct experiment *e)
{
    struct hdf5_group g = hdf5_group_new(root, "timeline");
    enum hr_err err = layout_each(&g, e, same_timeline(e), write_timeline, 0);
    hdf5_group_close(&g);
    return err;
}
