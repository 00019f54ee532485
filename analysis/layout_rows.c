/* The groups `jobs` and `reclaims`: a row each, one variable per column, replication 0 of every
 * design one below the other (`design` says which, where there are several).
 *
 * Columns are a table of name, kind and offset in the row. Times are seconds from the start of the
 * run, NaN where never reached. */
#include "analysis/layout_internal.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_TIME,     /* simtime_ns: float seconds */
    KIND_GPU_TIME, /* u128 GPU-ns: float GPU-seconds */
    KIND_U64,
    KIND_U32,
    KIND_QUEUE,    /* uint32_t of the run: stored as its place among the names of all queues */
    KIND_CLAIMANT, /* the same among those of all claimants */
    KIND_POOL,     /* the same among those of all pools */
    KIND_OUTCOME,
    KIND_REFUSAL,
    KIND_BOOL,
    KIND_TEXT
};

struct column {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *long_name;
};

#define JOB(name, kind, member, long_name)                                                         \
    {                                                                                              \
        name, KIND_##kind, offsetof(struct job_row, member), long_name                             \
    }
#define BLOCKED(code, name, doc)                                                                   \
    JOB("blocked_" name "_s", TIME, blocked_ns[BLOCK_##code], "of the waiting: " doc),
static const struct column job_columns[] = {
    JOB("number", U64, number, "order of submission"), JOB("id", TEXT, id, "name in the trace"),
    JOB("queue", QUEUE, queue, "training queue"),
    JOB("tenant", CLAIMANT, claimant, "tenant of the queue"),
    JOB("gpus", U32, gpus, "GPUs of the gang"),
    JOB("backlog", BOOL, backlog, "from the backlog, not recorded"),
    JOB("outcome", OUTCOME, outcome, "how it stood at the end of the run"),
    JOB("refusal", REFUSAL, refusal, "why it could never start"),
    JOB("submit_s", TIME, submit_ns, "submitted"),
    JOB("first_start_s", TIME, first_start_ns, "first started"), JOB("end_s", TIME, end_ns, "done"),
    JOB("work_s", TIME, work_ns, "work asked for"),
    JOB("done_s", TIME, done_ns, "work done and kept"),
    JOB("lost_s", TIME, lost_ns, "work and saves lost"),
    JOB("saving_s", TIME, saving_ns, "stalled by saves"),
    JOB("restoring_s", TIME, restoring_ns, "restarting"),
    JOB("waiting_s", TIME, waiting_ns, "waiting in the queue, all times together"),
    JOB("preemptions", U32, preemptions, "times it was preempted"),
    JOB("failures", U32, failures, "times it lost a node"),
    JOB("swaps", U32, swaps, "of them, a hot spare took its place"),
    JOB("min_gpus", U32, min_gpus, "GPUs with fewer than which it does not run"),
    JOB("max_gpus", U32, max_gpus, "GPUs to which it grows"),
    JOB("worked_s", TIME, worked_ns, "time that the work done and kept took"),
    JOB("gpu_s", GPU_TIME, gpu_ns, "GPUs held, over the time that it ran"),
    JOB("resizes", U32, resizes, "times it went on with more or fewer GPUs"),
    JOB("returns", U32, returns, "of them, with fewer: some were taken back"),
    /* the parts of waiting_s */
    BLOCK_LIST(BLOCKED)
    /* in the order of the reasons */
};
#undef BLOCKED

#define RECLAIM(name, kind, member, long_name)                                                     \
    {                                                                                              \
        name, KIND_##kind, offsetof(struct reclaim_row, member), long_name                         \
    }
static const struct column reclaim_columns[] = {
    RECLAIM("claimant", CLAIMANT, claimant, "who started"),
    RECLAIM("pool", POOL, pool, "pool of nodes"),
    RECLAIM("lease", U32, lease, "number of the lease"),
    RECLAIM("decision_s", TIME, decision_ns, "decided"),
    RECLAIM("granted_s", TIME, granted_ns, "all GPUs held"),
    RECLAIM("ready_s", TIME, ready_ns, "ready"),
    RECLAIM("gpus", U32, gpus, "GPUs of the start"),
    RECLAIM("gpus_asked", U32, gpus_missing, "of them, to come from evictions"),
    RECLAIM("gpus_evicted", U32, gpus_evicted, "GPUs evicted for it"),
    RECLAIM("victims", U32, victims, "leases evicted for it"),
};

/* The axis that a kind is a number of. */
static enum axis axis_of(enum kind kind)
{
    return kind == KIND_QUEUE      ? AXIS_QUEUE
           : kind == KIND_CLAIMANT ? AXIS_OWNER
           : kind == KIND_POOL     ? AXIS_POOL
                                   : AXIS_NONE;
}

/* Rows of all designs: where each row is, and of which design. */
struct rows {
    const char **items; /* owned array of borrowed rows */
    uint32_t *column;   /* owned */
    size_t n;
    /* owned; what a design's own number of a queue, claimant or pool is among the names of all
     * designs: [axis][design][number], `wide` numbers each */
    int32_t *numbers[AXES];
    size_t wide;
};

static enum hr_err collect(struct rows *rows, const struct experiment *e, bool jobs)
{
    *rows = (struct rows){0};
    size_t total = 0;
    for (uint32_t c = 0; c < e->summary.n_columns; c++) {
        const struct run_results *r = experiment_results(e, c, 0);
        total += jobs ? r->n_jobs : r->n_reclaims;
    }
    rows->items = calloc(total + 1, sizeof *rows->items);
    rows->column = calloc(total + 1, sizeof *rows->column);
    if (!rows->items || !rows->column)
        return HR_NOMEM;
    for (uint32_t c = 0; c < e->summary.n_columns; c++) {
        const struct run_results *r = experiment_results(e, c, 0);
        size_t n = jobs ? r->n_jobs : r->n_reclaims;
        for (size_t i = 0; i < n; i++) {
            rows->column[rows->n] = c;
            rows->items[rows->n++] =
                jobs ? (const char *)&r->jobs[i] : (const char *)&r->reclaims[i];
        }
    }
    return HR_OK;
}

static enum hr_err number_axis(struct rows *rows, const struct experiment *e, enum axis axis)
{
    const struct summary *s = &e->summary;
    uint32_t first = axis == AXIS_OWNER; /* nobody has no rows */
    rows->numbers[axis] = calloc(s->n_columns * rows->wide, sizeof **rows->numbers);
    if (!rows->numbers[axis])
        return HR_NOMEM;
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (uint32_t i = first; i < s->n[axis]; i++) {
            uint32_t own = summary_local(s, e->columns[c].plan, axis, i);
            if (own != SUMMARY_ABSENT)
                rows->numbers[axis][c * rows->wide + own - first] = (int32_t)(i - first);
        }
    return HR_OK;
}

static enum hr_err number_all(struct rows *rows, const struct experiment *e)
{
    static const enum axis axes[] = {AXIS_QUEUE, AXIS_OWNER, AXIS_POOL};
    for (uint32_t c = 0; c < e->summary.n_columns; c++) {
        size_t most = plan_claimants(e->columns[c].plan) + e->columns[c].plan->n_pools;
        rows->wide = most > rows->wide ? most : rows->wide;
    }
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        TRY(number_axis(rows, e, axes[i]));
    return HR_OK;
}

static void rows_free(struct rows *rows)
{
    for (int i = 0; i < AXES; i++)
        free(rows->numbers[i]);
    free(rows->items);
    free(rows->column);
}

/* ---- one column ---- */

static double time_s(simtime_ns t)
{
    return t == SIM_NEVER ? NAN : sim_time_to_s(t);
}

/* Reads a whole number of the row. */
static int64_t whole_of(const struct rows *rows, const struct column *c, const void *at,
                        uint32_t column)
{
    switch (c->kind) {
    case KIND_U64:
        return (int64_t) * (const uint64_t *)at;
    case KIND_U32:
        return *(const uint32_t *)at;
    case KIND_QUEUE:
    case KIND_CLAIMANT:
    case KIND_POOL:
        return rows->numbers[axis_of(c->kind)][column * rows->wide + *(const uint32_t *)at];
    case KIND_OUTCOME:
        return *(const enum job_outcome *)at;
    case KIND_REFUSAL:
        return *(const enum refusal *)at;
    case KIND_BOOL:
        return *(const bool *)at;
    default:
        return 0;
    }
}

/* How a kind is stored; codes come with the meanings of their values. */
static void describe(struct hdf5_var *v, const struct experiment *e, enum kind kind)
{
    static const char *const no_yes[] = {"no", "yes"};
    switch (kind) {
    case KIND_TIME:
    case KIND_GPU_TIME:
        v->type = HDF5_F64;
        v->units = "s";
        return;
    case KIND_U64:
        v->type = HDF5_I64;
        return;
    case KIND_U32:
        v->type = HDF5_I64; /* holds all of them */
        return;
    case KIND_QUEUE:
    case KIND_CLAIMANT:
    case KIND_POOL:
        v->type = HDF5_I32;
        v->flags = e->summary.names[axis_of(kind)] + (kind == KIND_CLAIMANT);
        v->n_flags = e->summary.n[axis_of(kind)] - (kind == KIND_CLAIMANT);
        return;
    case KIND_OUTCOME:
        v->type = HDF5_I8;
        v->flags = job_outcome_names;
        v->n_flags = OUTCOMES;
        return;
    case KIND_REFUSAL:
        v->type = HDF5_I8;
        v->flags = refusal_names;
        v->n_flags = REFUSALS;
        return;
    case KIND_BOOL:
        v->type = HDF5_I8;
        v->flags = no_yes;
        v->n_flags = 2;
        return;
    case KIND_TEXT:
        v->type = HDF5_TEXT;
        return;
    }
}

static enum hr_err put_column(const struct hdf5_group *g, const struct experiment *e,
                              const struct rows *rows, const struct hdf5_dim *dim,
                              const struct column *c)
{
    union {
        double f64;
        int64_t i64;
        const char *text;
    } *cells = calloc(rows->n, sizeof *cells);
    if (!cells)
        return HR_NOMEM;
    for (size_t i = 0; i < rows->n; i++) {
        const void *at = rows->items[i] + c->offset;
        if (c->kind == KIND_TIME)
            cells[i].f64 = time_s(*(const simtime_ns *)at);
        else if (c->kind == KIND_GPU_TIME)
            cells[i].f64 = (double)*(const u128 *)at / (double)SIM_S;
        else if (c->kind == KIND_TEXT)
            cells[i].text = *(const char *const *)at;
        else
            cells[i].i64 = whole_of(rows, c, at, rows->column[i]);
    }
    struct hdf5_var v = {.name = c->name, .dims = {dim}, .data = cells, .long_name = c->long_name};
    describe(&v, e, c->kind);
    hdf5_put(g, &v);
    free(cells);
    return HR_OK;
}

/* ---- a table ---- */

/* The dimension (0, 1, 2, ...) and, where there are several designs, which one each row is of. */
static enum hr_err put_index(const struct hdf5_group *g, const struct experiment *e,
                             const struct rows *rows, const char *name, struct hdf5_dim *dim)
{
    const struct summary *s = &e->summary;
    int64_t *numbers = calloc(rows->n, sizeof *numbers);
    const char **labels = calloc(s->n_columns, sizeof *labels);
    if (numbers && labels) {
        for (size_t i = 0; i < rows->n; i++)
            numbers[i] = (int64_t)i;
        struct hdf5_var v = {.name = name, .type = HDF5_I64, .data = numbers};
        v.long_name = "row";
        *dim = hdf5_dim_new(g, &v, rows->n, NULL);
        for (uint32_t c = 0; c < s->n_columns; c++)
            labels[c] = s->columns[c].label;
        for (size_t i = 0; i < rows->n; i++)
            numbers[i] = rows->column[i];
        v = (struct hdf5_var){.name = "design",
                              .type = HDF5_I32,
                              .dims = {dim},
                              .data = numbers,
                              .long_name = "pool design",
                              .flags = labels,
                              .n_flags = s->n_columns};
        if (s->n_columns > 1)
            hdf5_put(g, &v);
    }
    enum hr_err err = numbers && labels ? HR_OK : HR_NOMEM;
    free(numbers);
    free(labels);
    return err;
}

/* Tenants and pools are named only where there are some to tell apart. */
static bool said(const struct summary *s, const struct column *c)
{
    if (c->kind == KIND_CLAIMANT && strcmp(c->name, "tenant") == 0)
        return s->n[AXIS_TENANT] > 0;
    return c->kind != KIND_POOL || s->n[AXIS_POOL] > 0;
}

static enum hr_err put_table(const struct hdf5_group *g, const struct experiment *e,
                             const struct rows *rows, const char *name,
                             const struct column *columns, size_t n, struct hdf5_dim *dim)
{
    TRY(put_index(g, e, rows, name, dim));
    for (size_t i = 0; i < n; i++)
        if (said(&e->summary, &columns[i]))
            TRY(put_column(g, e, rows, dim, &columns[i]));
    return HR_OK;
}

static enum hr_err put_stages(const struct hdf5_group *g, const struct rows *rows,
                              const struct hdf5_dim *dim)
{
    double *times = calloc(rows->n * STAGES, sizeof *times);
    if (!times)
        return HR_NOMEM;
    for (size_t i = 0; i < rows->n; i++) {
        const struct reclaim_row *row = (const void *)rows->items[i];
        for (int k = 0; k < STAGES; k++)
            times[i * STAGES + (size_t)k] = sim_time_to_s(row->stage_ns[k]);
    }
    struct hdf5_dim stage = layout_names(g, "stage", "stage of a reclaim", stage_names, STAGES);
    const struct hdf5_var v = {.name = "stage_s",
                               .type = HDF5_F64,
                               .dims = {dim, &stage},
                               .data = times,
                               .units = "s",
                               .long_name = "time of each stage; detect is before the decision"};
    hdf5_put(g, &v);
    hdf5_dim_close(&stage);
    free(times);
    return HR_OK;
}

static enum hr_err layout_rows(const struct hdf5_group *root, const struct experiment *e, bool jobs)
{
    struct rows rows;
    struct hdf5_dim dim = {-1, 0};
    struct hdf5_group g = hdf5_group_new(root, jobs ? "jobs" : "reclaims");
    enum hr_err err = collect(&rows, e, jobs);
    if (err == HR_OK)
        err = number_all(&rows, e);
    hdf5_attr_i64(&g, "rows", (int64_t)rows.n);
    if (err == HR_OK && rows.n > 0) { /* netCDF has no dimension of length 0 but unlimited ones */
        if (jobs)
            err = put_table(&g, e, &rows, "job", job_columns,
                            sizeof job_columns / sizeof *job_columns, &dim);
        else
            err = put_table(&g, e, &rows, "reclaim", reclaim_columns,
                            sizeof reclaim_columns / sizeof *reclaim_columns, &dim);
        if (err == HR_OK && !jobs)
            err = put_stages(&g, &rows, &dim);
    }
    hdf5_dim_close(&dim);
    hdf5_group_close(&g);
    rows_free(&rows);
    return err;
}

enum hr_err layout_jobs(const struct hdf5_group *root, const struct experiment *e)
{
    return layout_rows(root, e, true);
}

enum hr_err layout_reclaims(const struct hdf5_group *root, const struct experiment *e)
{
    return layout_rows(root, e, false);
}
