/* Reading jobs and timeline of a result file; every shape is checked before it is believed. */
#include "analysis/result_file.h"
#include "analysis/waits.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1 << 26 };

struct file {
    hid_t id, group, text_type;
    struct waits *w;
};

static hssize_t points(hid_t set)
{
    hid_t space = H5Dget_space(set);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    return n;
}

/* A variable of the open group as n doubles; false: not there, not numbers, not n. */
static bool read_doubles(const struct file *f, const char *name, size_t n, double *to)
{
    if (H5Lexists(f->group, name, H5P_DEFAULT) <= 0)
        return false;
    hid_t set = H5Dopen2(f->group, name, H5P_DEFAULT);
    if (set < 0)
        return false;
    hid_t type = H5Dget_type(set);
    H5T_class_t class = H5Tget_class(type);
    bool ok = (class == H5T_FLOAT || class == H5T_INTEGER) && points(set) == (hssize_t)n &&
              H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0;
    H5Tclose(type);
    H5Dclose(set);
    return ok;
}

static size_t length(const struct file *f, const char *name)
{
    if (H5Lexists(f->group, name, H5P_DEFAULT) <= 0)
        return 0;
    hid_t set = H5Dopen2(f->group, name, H5P_DEFAULT);
    hssize_t n = set < 0 ? 0 : points(set);
    if (set >= 0)
        H5Dclose(set);
    return n > 0 && n <= MOST_ROWS ? (size_t)n : 0;
}

/* ---- jobs ---- */

static enum hr_err read_ids(struct file *f)
{
    struct waits *w = f->w;
    hid_t set = H5Dopen2(f->group, "id", H5P_DEFAULT);
    if (set < 0)
        return HR_INPUT;
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    char **texts = calloc(w->n, sizeof *texts);
    enum hr_err err = texts ? HR_INPUT : HR_NOMEM;
    if (texts && H5Tis_variable_str(type) > 0 && points(set) == (hssize_t)w->n &&
        H5Dread(set, f->text_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0) {
        err = HR_OK;
        for (size_t i = 0; i < w->n && err == HR_OK; i++) {
            w->jobs[i].id = arena_strdup(&w->summary.arena, texts[i] ? texts[i] : "");
            err = w->jobs[i].id ? HR_OK : HR_NOMEM;
        }
        H5Dvlen_reclaim(f->text_type, space, H5P_DEFAULT, texts);
    }
    free(texts);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(set);
    return err;
}

enum field {
    GPUS,
    PREEMPTIONS,
    QUEUE,
    OUTCOME,
    BACKLOG,
    SUBMIT,
    START,
    END,
    WAITING,
    WORK,
    DESIGN
};
static const char *const field_names[] = {"gpus",      "preemptions", "queue",         "outcome",
                                          "backlog",   "submit_s",    "first_start_s", "end_s",
                                          "waiting_s", "work_s",      "design"};

static void set_field(struct waits_job *j, enum field field, double v)
{
    switch (field) {
    case GPUS:
        j->gpus = (uint32_t)v;
        return;
    case PREEMPTIONS:
        j->preemptions = (uint32_t)v;
        return;
    case QUEUE:
        j->queue = (int64_t)v;
        return;
    case OUTCOME:
        j->outcome = (int64_t)v;
        return;
    case BACKLOG:
        j->backlog = v != 0;
        return;
    case SUBMIT:
        j->submit_s = v;
        return;
    case START:
        j->start_s = v;
        return;
    case END:
        j->end_s = v;
        return;
    case WAITING:
        j->waiting_s = v;
        return;
    case WORK:
        j->work_s = v;
        return;
    case DESIGN:
        j->design = (uint32_t)v;
        return;
    }
}

static bool whole(double v)
{
    return v >= 0 && v <= 4294967295.0;
}

static enum hr_err read_fields(struct file *f, double *column)
{
    struct waits *w = f->w;
    for (enum field k = GPUS; k <= DESIGN; k++) {
        if (k == DESIGN && w->summary.n_columns == 1)
            return HR_OK;
        if (!read_doubles(f, field_names[k], w->n, column))
            return HR_INPUT;
        for (size_t i = 0; i < w->n; i++) {
            bool number = k <= BACKLOG || k == DESIGN;
            if ((number && !whole(column[i])) || (k == DESIGN && column[i] >= w->summary.n_columns))
                return HR_INPUT;
            set_field(&w->jobs[i], k, column[i]);
        }
    }
    return HR_OK;
}

/* Told only where some queue has tenants. */
static void read_tenants(struct file *f, double *column)
{
    struct waits *w = f->w;
    bool told = w->summary.n[AXIS_TENANT] > 0 && read_doubles(f, "tenant", w->n, column);
    for (size_t i = 0; i < w->n; i++) {
        bool known = told && whole(column[i]) && column[i] + 1 < w->summary.n[AXIS_OWNER];
        w->jobs[i].tenant = known ? (int64_t)column[i] : -1;
    }
}

/* Names of the variables blocked_<reason>_s, in the order of the file. */
static herr_t note_reason(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    (void)group;
    (void)info;
    struct waits *w = data;
    size_t n = strlen(name), before = strlen("blocked_"), after = strlen("_s");
    if (strncmp(name, "blocked_", before) != 0 || n <= before + after ||
        strcmp(name + n - after, "_s") != 0 || w->n_reasons == WAITS_REASONS_MAX)
        return 0;
    w->reasons[w->n_reasons] = arena_strndup(&w->summary.arena, name + before, n - before - after);
    return w->reasons[w->n_reasons++] ? 0 : -1;
}

static enum hr_err read_reasons(struct file *f, double *column)
{
    struct waits *w = f->w;
    if (H5Literate(f->group, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, note_reason, w) < 0 &&
        H5Literate(f->group, H5_INDEX_NAME, H5_ITER_INC, NULL, note_reason, w) < 0)
        return HR_INPUT;
    for (size_t k = 0; k < w->n_reasons; k++) {
        char name[128];
        snprintf(name, sizeof name, "blocked_%s_s", w->reasons[k]);
        if (!read_doubles(f, name, w->n, column))
            return HR_INPUT;
        for (size_t i = 0; i < w->n; i++)
            w->jobs[i].blocked_s[k] = column[i];
    }
    return HR_OK;
}

static enum hr_err read_jobs(struct file *f)
{
    struct waits *w = f->w;
    w->n = length(f, "job");
    w->jobs = arena_array(&w->summary.arena, w->n + 1, sizeof *w->jobs);
    double *column = calloc(w->n + 1, sizeof *column);
    enum hr_err err = w->jobs && column ? HR_OK : HR_NOMEM;
    if (err == HR_OK)
        memset(w->jobs, 0, (w->n + 1) * sizeof *w->jobs);
    if (err == HR_OK && w->n)
        err = read_ids(f);
    if (err == HR_OK && w->n)
        err = read_fields(f, column);
    if (err == HR_OK && w->n)
        err = read_reasons(f, column);
    if (err == HR_OK && w->n)
        read_tenants(f, column);
    free(column);
    return err;
}

/* ---- the timeline ---- */

/* Seconds of one unit of the time axis; 0: unknown. */
static double time_unit_s(const struct file *f)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {
        {"seconds", 1}, {"milliseconds", 1e-3}, {"microseconds", 1e-6}, {"nanoseconds", 1e-9}};
    char text[128] = "";
    hid_t attr = H5Aopen_by_name(f->group, "time", "units", H5P_DEFAULT, H5P_DEFAULT);
    if (attr < 0)
        return 0;
    hid_t type = H5Aget_type(attr);
    if (H5Tis_variable_str(type) > 0) {
        char *read = NULL;
        if (H5Aread(attr, f->text_type, &read) >= 0 && read)
            snprintf(text, sizeof text, "%s", read);
        H5free_memory(read);
    }
    H5Tclose(type);
    H5Aclose(attr);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
            return units[i].s;
    return 0;
}

static void free_of(struct waits *w, const double *gpu_s)
{
    const struct summary *s = &w->summary;
    size_t accounts = (size_t)s->n[AXIS_OWNER] * GPU_STATES;
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (size_t i = 0; i < w->n_windows; i++) {
            const double *at =
                gpu_s + ((size_t)c * s->n_replications * w->n_windows + i) * accounts;
            w->free_gpus[c * w->n_windows + i] = (at[GPU_FREE] + at[GPU_STRANDED]) / w->width_s;
        }
}

/* Of replication 0; NULL where the file has none. */
static enum hr_err read_placeable(struct file *f, const char *name, double **out)
{
    struct waits *w = f->w;
    const struct summary *s = &w->summary;
    size_t per_run = w->n_windows * PLACEABLES, n = per_run * s->n_columns * s->n_replications;
    double *all = calloc(n + 1, sizeof *all);
    double *first = arena_array(&w->summary.arena, per_run * s->n_columns, sizeof *first);
    if (all && first && read_doubles(f, name, n, all)) {
        for (uint32_t c = 0; c < s->n_columns; c++)
            memcpy(first + c * per_run, all + c * s->n_replications * per_run,
                   per_run * sizeof *first);
        *out = first;
    }
    enum hr_err err = all && first ? HR_OK : HR_NOMEM;
    free(all);
    return err;
}

/* Only where all designs share it and a window's width can be told. */
static enum hr_err read_timeline(struct file *f)
{
    struct waits *w = f->w;
    const struct summary *s = &w->summary;
    size_t windows = length(f, "time");
    double unit_s = windows > 1 ? time_unit_s(f) : 0;
    size_t n = windows * s->n[AXIS_OWNER] * GPU_STATES * s->n_columns * s->n_replications;
    if (!(unit_s > 0) || n > MOST_ROWS)
        return HR_OK;
    double *times = calloc(windows, sizeof *times), *gpu_s = calloc(n, sizeof *gpu_s);
    w->free_gpus = arena_array(&w->summary.arena, windows * s->n_columns, sizeof *w->free_gpus);
    enum hr_err err = times && gpu_s && w->free_gpus ? HR_OK : HR_NOMEM;
    if (err == HR_OK && read_doubles(f, "time", windows, times) &&
        read_doubles(f, "gpu_s", n, gpu_s) && times[1] > times[0]) {
        w->n_windows = windows;
        w->start_s = times[0] * unit_s;
        w->width_s = (times[1] - times[0]) * unit_s;
        free_of(w, gpu_s);
        err = read_placeable(f, "placeable_least_gpus", &w->placeable_least);
        if (err == HR_OK)
            err = read_placeable(f, "placeable_gpus", &w->placeable_mean);
    }
    free(times);
    free(gpu_s);
    return err;
}

/* ---- the file ---- */

static enum hr_err in_group(struct file *f, const char *name, enum hr_err (*read)(struct file *f))
{
    if (H5Lexists(f->id, name, H5P_DEFAULT) <= 0)
        return HR_INPUT;
    f->group = H5Gopen2(f->id, name, H5P_DEFAULT);
    if (f->group < 0)
        return HR_INPUT;
    enum hr_err err = read(f);
    H5Gclose(f->group);
    return err;
}

static enum hr_err read_groups(const char *path, struct waits *w)
{
    struct file f = {.w = w, .id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT)};
    if (f.id < 0)
        return HR_INPUT;
    f.text_type = H5Tcopy(H5T_C_S1);
    H5Tset_size(f.text_type, H5T_VARIABLE);
    H5Tset_cset(f.text_type, H5T_CSET_UTF8);
    enum hr_err err = in_group(&f, "jobs", read_jobs);
    if (err == HR_OK)
        err = in_group(&f, "timeline", read_timeline);
    H5Tclose(f.text_type);
    H5Fclose(f.id);
    return err;
}

enum hr_err waits_read(const char *path, struct waits *w, struct diags *diags)
{
    *w = (struct waits){0};
    TRY(result_read(path, &w->summary, diags));
    H5E_auto2_t old;
    void *old_data;
    H5Eget_auto2(H5E_DEFAULT, &old, &old_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    enum hr_err err = read_groups(path, w);
    H5Eset_auto2(H5E_DEFAULT, old, old_data);
    if (err == HR_INPUT)
        diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
                  "has no jobs of this layout");
    return err;
}

void waits_fini(struct waits *w)
{
    summary_fini(&w->summary);
    *w = (struct waits){0};
}
