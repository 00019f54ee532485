/* Reading the summary of a result file back.
 *
 * The file may come from anywhere: its checksum is verified before the library opens it, every
 * shape is checked before it is believed, and what does not fit is a plain "not a result file of
 * this version". A metric that the file lacks stays NaN (it was written by another version, or
 * nothing of its kind existed). */
#include "analysis/result_file.h"
#include "analysis/seal.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NAMES = 100000, MOST_VALUES = 1 << 28 };

struct reader {
    hid_t file, summary, text_type;
    struct summary *out;
};

/* Copies n texts read as HDF5's own into the arena, and gives HDF5's back. */
static const char **copy_texts(struct reader *r, char **texts, hsize_t n, hid_t space)
{
    const char **copy = arena_array(&r->out->arena, n, sizeof *copy);
    for (hsize_t i = 0; copy && i < n; i++) {
        copy[i] = arena_strdup(&r->out->arena, texts[i] ? texts[i] : "");
        if (!copy[i])
            copy = NULL;
    }
    H5Dvlen_reclaim(r->text_type, space, H5P_DEFAULT, texts);
    return copy;
}

static bool is_text(hid_t type)
{
    return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

/* A text variable of the summary: its length, and its texts in the arena. HR_INPUT: not there. */
static enum hr_err read_texts(struct reader *r, const char *name, uint32_t *n, const char ***texts)
{
    enum hr_err err = HR_INPUT;
    hid_t set = H5Dopen2(r->summary, name, H5P_DEFAULT);
    if (set < 0)
        return err;
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    if (is_text(type) && count >= 1 && count <= MOST_NAMES) {
        char **read = calloc((size_t)count, sizeof *read);
        if (!read) {
            err = HR_NOMEM;
        } else if (H5Dread(set, r->text_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0) {
            *texts = copy_texts(r, read, (hsize_t)count, space);
            *n = (uint32_t)count;
            err = *texts ? HR_OK : HR_NOMEM;
        }
        free(read);
    }
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(set);
    return err;
}

static enum hr_err read_attr_text(struct reader *r, const char *name, const char **text)
{
    *text = "";
    hid_t attr = H5Aopen(r->file, name, H5P_DEFAULT);
    if (attr < 0)
        return HR_OK; /* an empty text is not written */
    enum hr_err err = HR_INPUT;
    hid_t space = H5Aget_space(attr), type = H5Aget_type(attr);
    char *read = NULL;
    if (is_text(type) && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Aread(attr, r->text_type, &read) >= 0) {
        const char **copy = copy_texts(r, &read, 1, space);
        if (copy)
            *text = copy[0];
        err = copy ? HR_OK : HR_NOMEM;
    }
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return err;
}

static enum hr_err read_attr_i64(struct reader *r, const char *name, int64_t *value)
{
    hid_t attr = H5Aopen(r->file, name, H5P_DEFAULT);
    if (attr < 0)
        return HR_INPUT;
    hid_t space = H5Aget_space(attr), type = H5Aget_type(attr);
    bool ok = H5Tget_class(type) == H5T_INTEGER && H5Sget_simple_extent_npoints(space) == 1 &&
              H5Aread(attr, H5T_NATIVE_INT64, value) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    H5Aclose(attr);
    return ok ? HR_OK : HR_INPUT;
}

/* Numbers of a variable of exactly n elements; HR_INPUT: not there, or not so. */
static enum hr_err read_numbers(struct reader *r, const char *name, H5T_class_t class, hid_t memory,
                                size_t n, void *to)
{
    hid_t set = H5Dopen2(r->summary, name, H5P_DEFAULT);
    if (set < 0)
        return HR_INPUT;
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    bool ok = H5Tget_class(type) == class && H5Sget_simple_extent_npoints(space) == (hssize_t)n &&
              H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0;
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(set);
    return ok ? HR_OK : HR_INPUT;
}

static bool has(const struct reader *r, const char *name)
{
    return H5Lexists(r->summary, name, H5P_DEFAULT) > 0;
}

/* ---- the pieces ---- */

static enum hr_err read_root(struct reader *r)
{
    struct summary *s = r->out;
    int64_t layout = 0, designs = 0, replications = 0;
    TRY(read_attr_i64(r, "layout", &layout));
    TRY(read_attr_i64(r, "designs", &designs));
    TRY(read_attr_i64(r, "replications", &replications));
    if (layout != RESULT_LAYOUT || designs < 1 || designs > MOST_NAMES || replications < 1 ||
        replications > MOST_VALUES)
        return HR_INPUT;
    s->n_columns = (uint32_t)designs;
    s->n_replications = (uint32_t)replications;
    TRY(read_attr_text(r, "version", &s->version));
    TRY(read_attr_text(r, "title", &s->name));
    return read_attr_text(r, "start_date", &s->start_date);
}

static enum hr_err read_columns(struct reader *r)
{
    struct summary *s = r->out;
    static const char *const names[] = {"label", "pool_design", "scenario", "settings"};
    enum { TEXTS = 4 };
    const char **texts[TEXTS];
    for (int i = 0; i < TEXTS; i++) {
        uint32_t n;
        TRY(read_texts(r, names[i], &n, &texts[i]));
        if (n != s->n_columns)
            return HR_INPUT;
    }
    s->columns = arena_array(&s->arena, s->n_columns, sizeof *s->columns);
    int64_t *seeds = arena_array(&s->arena, s->n_columns, sizeof *seeds);
    if (!s->columns || !seeds)
        return HR_NOMEM;
    TRY(read_numbers(r, "seed", H5T_INTEGER, H5T_NATIVE_INT64, s->n_columns, seeds));
    for (uint32_t c = 0; c < s->n_columns; c++)
        s->columns[c] = (struct summary_column){texts[0][c], texts[1][c], texts[2][c], texts[3][c],
                                                (uint64_t)seeds[c]};
    return HR_OK;
}

static enum hr_err read_axes(struct reader *r)
{
    static const enum axis own[] = {AXIS_SERVICE, AXIS_QUEUE, AXIS_OBJECTIVE, AXIS_TENANT,
                                    AXIS_POOL};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        const char **names = NULL;
        uint32_t n = 0;
        if (has(r, axis_names[own[i]]))
            TRY(read_texts(r, axis_names[own[i]], &n, &names));
        r->out->names[own[i]] = names;
        r->out->n[own[i]] = n;
    }
    return HR_OK;
}

static enum hr_err read_metric(struct reader *r, size_t m, double *buffer)
{
    struct summary *s = r->out;
    size_t here = (size_t)s->n[metrics[m].entity] * s->n[metrics[m].part];
    if (here == 0 || !has(r, metrics[m].name))
        return HR_OK;
    size_t n = here * s->n_columns * s->n_replications;
    TRY(read_numbers(r, metrics[m].name, H5T_FLOAT, H5T_NATIVE_DOUBLE, n, buffer));
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (uint32_t k = 0; k < s->n_replications; k++, buffer += here)
            memcpy(summary_at(s, m, c, k, 0, 0), buffer, here * sizeof *buffer);
    return HR_OK;
}

static enum hr_err read_values(struct reader *r)
{
    struct summary *s = r->out;
    uint64_t owners = 1 + (uint64_t)s->n[AXIS_SERVICE] + s->n[AXIS_QUEUE] + s->n[AXIS_TENANT];
    owners += s->n[AXIS_POOL];
    uint64_t runs = (uint64_t)s->n_columns * s->n_replications;
    uint64_t a_run = metrics_n * owners * (s->n[AXIS_OBJECTIVE] + GPU_STATES + STAGES + BLOCKS);
    if (runs > MOST_VALUES / a_run)
        return HR_INPUT;
    TRY(summary_layout(s));
    double *buffer = calloc(runs * s->stride, sizeof *buffer);
    if (!buffer)
        return HR_NOMEM;
    enum hr_err err = HR_OK;
    for (size_t m = 0; m < metrics_n && err == HR_OK; m++)
        err = read_metric(r, m, buffer);
    free(buffer);
    return err;
}

static enum hr_err read_all(struct reader *r)
{
    TRY(read_root(r));
    TRY(read_columns(r));
    TRY(read_axes(r));
    return read_values(r);
}

/* *packing: it is a file of `headroom pack`. */
static enum hr_err open_and_read(const char *path, struct summary *out, bool *packing)
{
    struct reader r = {.out = out};
    r.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (r.file < 0)
        return HR_INPUT;
    enum hr_err err = HR_INPUT;
    r.text_type = H5Tcopy(H5T_C_S1);
    H5Tset_size(r.text_type, H5T_VARIABLE);
    H5Tset_cset(r.text_type, H5T_CSET_UTF8);
    if (H5Lexists(r.file, "summary", H5P_DEFAULT) > 0) {
        r.summary = H5Gopen2(r.file, "summary", H5P_DEFAULT);
        if (r.summary >= 0) {
            err = read_all(&r);
            H5Gclose(r.summary);
        }
    }
    *packing = H5Lexists(r.file, "packing", H5P_DEFAULT) > 0;
    H5Tclose(r.text_type);
    H5Fclose(r.file);
    return err;
}

enum hr_err result_read(const char *path, struct summary *out, struct diags *diags)
{
    *out = (struct summary){0};
    arena_init(&out->arena);
    const struct diag_place place = {.file = path};
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        diags_add(diags, DIAG_ERROR, place, NULL, NULL, "is not a file that can be read");
        return HR_INPUT;
    }
    TRY(seal_check(path, diags));
    H5E_auto2_t old;
    void *old_data;
    H5dont_atexit(); /* it would complain about what a damaged file left open */
    H5Eget_auto2(H5E_DEFAULT, &old, &old_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    bool packing = false;
    enum hr_err err = open_and_read(path, out, &packing);
    H5Eset_auto2(H5E_DEFAULT, old, old_data);
    if (err == HR_INPUT && packing)
        diags_add(diags, DIAG_ERROR, place, NULL, NULL,
                  "is of headroom pack, not of a run: read it with any reader of HDF5");
    else if (err == HR_INPUT)
        diags_add(diags, DIAG_ERROR, place, NULL, NULL,
                  "is not a headroom result file of layout %d", RESULT_LAYOUT);
    return err;
}
