/* HDF5 calls, and none elsewhere but in the reader.
 *
 * The core driver keeps the file in memory; its image callbacks hand us the buffer when the file is
 * closed and complete (asking for the image of an open file gives a superblock whose checksum is
 * wrong in HDF5 1.10). The true length is the end-of-file address of the superblock, version 2: 8
 * bytes at offset 28 (HDF5 File Format Specification 3.0, II.A). */
#include "analysis/hdf5_file.h"

#include <assert.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CORE_INCREMENT = 1 << 20,
    DEFLATE_LEVEL = 4,
    LEAST_CHUNKED = 256,    /* elements: below it a chunk costs more than it saves */
    MOST_CHUNK = 1 << 17,   /* elements */
    SUPERBLOCK_EOF_AT = 28, /* 8 bytes, little endian */
    SUPERBLOCK_BYTES = 48,
    CREATION_ORDER = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED
};

struct hdf5_file {
    hid_t file, text_type, dataset_props, group_props;
    bool failed;
    void *image; /* handed over at close */
    H5E_auto2_t old_errors;
    void *old_errors_data;
};

/* ---- the image ---- */

static void *image_malloc(size_t n, H5FD_file_image_op_t op, void *self)
{
    (void)op, (void)self;
    return malloc(n);
}

static void *image_memcpy(void *to, const void *from, size_t n, H5FD_file_image_op_t op, void *self)
{
    (void)op, (void)self;
    return memcpy(to, from, n);
}

static void *image_realloc(void *p, size_t n, H5FD_file_image_op_t op, void *self)
{
    (void)op, (void)self;
    return realloc(p, n);
}

static herr_t image_free(void *p, H5FD_file_image_op_t op, void *self)
{
    struct hdf5_file *f = self;
    if (op == H5FD_FILE_IMAGE_OP_FILE_CLOSE && !f->image)
        f->image = p;
    else
        free(p);
    return 0;
}

static void *image_self(void *self)
{
    return self;
}

static herr_t image_self_free(void *self)
{
    (void)self;
    return 0;
}

/* ---- errors ---- */

static hid_t keep(struct hdf5_file *f, hid_t id)
{
    f->failed = f->failed || id < 0;
    return id;
}

static void check(struct hdf5_file *f, herr_t status)
{
    f->failed = f->failed || status < 0;
}

/* ---- file ---- */

static hid_t create_in_memory(struct hdf5_file *f)
{
    H5FD_file_image_callbacks_t callbacks = {
        image_malloc, image_memcpy, image_realloc, image_free, image_self, image_self_free, f};
    hid_t access = keep(f, H5Pcreate(H5P_FILE_ACCESS)),
          create = keep(f, H5Pcreate(H5P_FILE_CREATE));
    check(f, H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18));
    check(f, H5Pset_fapl_core(access, CORE_INCREMENT, false));
    check(f, H5Pset_file_image_callbacks(access, &callbacks));
    check(f, H5Pset_link_creation_order(create, CREATION_ORDER));
    check(f, H5Pset_attr_creation_order(create, CREATION_ORDER));
    check(f, H5Pset_obj_track_times(create, false));
    hid_t file = f->failed ? -1 : H5Fcreate("memory", H5F_ACC_TRUNC, create, access);
    H5Pclose(create);
    H5Pclose(access);
    return keep(f, file);
}

struct hdf5_file *hdf5_file_new(void)
{
    struct hdf5_file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    H5dont_atexit(); /* no file is left open, and a damaged one must not be complained about at exit
                      */
    H5Eget_auto2(H5E_DEFAULT, &f->old_errors, &f->old_errors_data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    f->text_type = keep(f, H5Tcopy(H5T_C_S1));
    check(f, H5Tset_size(f->text_type, H5T_VARIABLE));
    check(f, H5Tset_cset(f->text_type, H5T_CSET_UTF8));
    f->dataset_props = keep(f, H5Pcreate(H5P_DATASET_CREATE));
    check(f, H5Pset_attr_creation_order(f->dataset_props, CREATION_ORDER));
    check(f, H5Pset_obj_track_times(f->dataset_props, false));
    f->group_props = keep(f, H5Pcreate(H5P_GROUP_CREATE));
    check(f, H5Pset_link_creation_order(f->group_props, CREATION_ORDER));
    check(f, H5Pset_attr_creation_order(f->group_props, CREATION_ORDER));
    check(f, H5Pset_obj_track_times(f->group_props, false));
    f->file = create_in_memory(f);
    return f;
}

void hdf5_file_free(struct hdf5_file *f)
{
    if (!f)
        return;
    if (f->file >= 0)
        H5Fclose(f->file);
    H5Tclose(f->text_type);
    H5Pclose(f->dataset_props);
    H5Pclose(f->group_props);
    H5Eset_auto2(H5E_DEFAULT, f->old_errors, f->old_errors_data);
    free(f->image);
    free(f);
}

enum hr_err hdf5_file_finish(struct hdf5_file *f, void **bytes, size_t *n)
{
    if (f->file >= 0)
        check(f, H5Fclose(f->file));
    f->file = -1;
    uint64_t end = 0;
    if (!f->failed && f->image) {
        const unsigned char *image = f->image;
        for (int i = 7; i >= 0; i--)
            end = end << 8 | image[SUPERBLOCK_EOF_AT + i];
        *bytes = f->image;
        *n = (size_t)end;
        f->image = NULL;
    }
    hdf5_file_free(f);
    return end > SUPERBLOCK_BYTES ? HR_OK : HR_IO;
}

/* ---- groups and attributes ---- */

struct hdf5_group hdf5_file_root(struct hdf5_file *f)
{
    hid_t id = f->failed ? -1 : keep(f, H5Gopen2(f->file, "/", H5P_DEFAULT));
    return (struct hdf5_group){f, id};
}

struct hdf5_group hdf5_group_new(const struct hdf5_group *parent, const char *name)
{
    struct hdf5_file *f = parent->file;
    hid_t id = -1;
    if (!f->failed)
        id = keep(f, H5Gcreate2(parent->id, name, H5P_DEFAULT, f->group_props, H5P_DEFAULT));
    return (struct hdf5_group){f, id};
}

void hdf5_group_close(struct hdf5_group *g)
{
    if (g->id >= 0)
        H5Gclose(g->id);
    g->id = -1;
}

static void write_attr(struct hdf5_file *f, hid_t object, const char *name, hid_t file_type,
                       hid_t memory_type, uint64_t n, const void *data)
{
    if (f->failed)
        return;
    hsize_t size = n;
    hid_t space = n ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR);
    hid_t attr = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (keep(f, attr) >= 0) {
        check(f, H5Awrite(attr, memory_type, data));
        H5Aclose(attr);
    }
    H5Sclose(space);
}

static void write_text(struct hdf5_file *f, hid_t object, const char *name, const char *text)
{
    if (text && *text)
        write_attr(f, object, name, f->text_type, f->text_type, 0, &text);
}

void hdf5_attr_text(const struct hdf5_group *g, const char *name, const char *text)
{
    write_text(g->file, g->id, name, text);
}

void hdf5_attr_i64(const struct hdf5_group *g, const char *name, int64_t value)
{
    write_attr(g->file, g->id, name, H5T_STD_I64LE, H5T_NATIVE_INT64, 0, &value);
}

static hid_t file_type(const struct hdf5_file *f, enum hdf5_type t)
{
    const hid_t types[] = {H5T_IEEE_F64LE, H5T_STD_I64LE, H5T_STD_I32LE, H5T_STD_I8LE,
                           f->text_type};
    return types[t];
}

static hid_t memory_type(const struct hdf5_file *f, enum hdf5_type t)
{
    return t == HDF5_F64 ? H5T_NATIVE_DOUBLE : t == HDF5_TEXT ? f->text_type : H5T_NATIVE_INT64;
}

/* flag_values 0 .. n - 1 in the variable's own type, flag_meanings with blanks in a name as '_'. */
static void write_flags(struct hdf5_file *f, hid_t object, const struct hdf5_var *v)
{
    size_t length = 1;
    for (uint32_t i = 0; i < v->n_flags; i++)
        length += strlen(v->flags[i]) + 1;
    int32_t *values = calloc(v->n_flags, sizeof *values);
    char *meanings = calloc(length, 1);
    if (values && meanings) {
        char *end = meanings;
        for (uint32_t i = 0; i < v->n_flags; i++) {
            values[i] = (int32_t)i;
            if (i > 0)
                *end++ = ' ';
            for (const char *c = v->flags[i]; *c; c++)
                *end++ = *c == ' ' ? '_' : *c;
        }
        write_attr(f, object, "flag_values", file_type(f, v->type), H5T_NATIVE_INT32, v->n_flags,
                   values);
        write_text(f, object, "flag_meanings", meanings);
    } else {
        f->failed = true;
    }
    free(values);
    free(meanings);
}

/* ---- variables ---- */

/* Whole rows of the last dimensions, up to MOST_CHUNK elements. */
static void set_chunks(struct hdf5_file *f, hid_t props, int rank, const hsize_t *size)
{
    hsize_t chunk[HDF5_MAX_DIMS], n = 1;
    for (int i = rank - 1; i >= 0; i--) {
        hsize_t room = MOST_CHUNK / n;
        chunk[i] = size[i] < room ? size[i] : room > 0 ? room : 1;
        n *= chunk[i];
    }
    check(f, H5Pset_chunk(props, rank, chunk));
    check(f, H5Pset_shuffle(props));
    check(f, H5Pset_deflate(props, DEFLATE_LEVEL));
}

static hid_t create_dataset(const struct hdf5_group *g, const struct hdf5_var *v, int rank,
                            const hsize_t *size)
{
    struct hdf5_file *f = g->file;
    hsize_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= size[i];
    hid_t space = rank ? H5Screate_simple(rank, size, NULL) : H5Screate(H5S_SCALAR);
    hid_t props = H5Pcopy(f->dataset_props);
    const double none = NAN;
    if (v->type == HDF5_F64)
        check(f, H5Pset_fill_value(props, H5T_NATIVE_DOUBLE, &none));
    if (v->type != HDF5_TEXT && rank && n >= LEAST_CHUNKED)
        set_chunks(f, props, rank, size);
    hid_t set =
        H5Dcreate2(g->id, v->name, file_type(f, v->type), space, H5P_DEFAULT, props, H5P_DEFAULT);
    H5Pclose(props);
    H5Sclose(space);
    return keep(f, set);
}

static void write_dataset(struct hdf5_file *f, hid_t set, const struct hdf5_var *v)
{
    const double none = NAN;
    check(f, H5Dwrite(set, memory_type(f, v->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, v->data));
    write_text(f, set, "units", v->units);
    write_text(f, set, "long_name", v->long_name);
    write_text(f, set, "comment", v->comment);
    write_text(f, set, "better", v->better);
    if (v->type == HDF5_F64)
        write_attr(f, set, "_FillValue", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &none);
    if (v->flags && v->n_flags)
        write_flags(f, set, v);
}

struct hdf5_dim hdf5_dim_new(const struct hdf5_group *g, const struct hdf5_var *coordinate,
                             uint64_t n, const char *axis)
{
    struct hdf5_file *f = g->file;
    assert(n >= 1);
    hsize_t size = n;
    hid_t set = f->failed ? -1 : create_dataset(g, coordinate, 1, &size);
    if (set >= 0) {
        write_dataset(f, set, coordinate);
        write_text(f, set, "axis", axis);
        write_text(f, set, "calendar", axis ? "standard" : NULL);
        check(f, H5DSset_scale(set, coordinate->name));
    }
    return (struct hdf5_dim){set, n};
}

void hdf5_dim_close(struct hdf5_dim *d)
{
    if (d->id >= 0)
        H5Dclose(d->id);
    d->id = -1;
}

void hdf5_put(const struct hdf5_group *g, const struct hdf5_var *v)
{
    struct hdf5_file *f = g->file;
    hsize_t size[HDF5_MAX_DIMS];
    int rank = 0;
    for (; rank < HDF5_MAX_DIMS && v->dims[rank]; rank++)
        size[rank] = v->dims[rank]->n;
    if (f->failed)
        return;
    hid_t set = create_dataset(g, v, rank, size);
    if (set < 0)
        return;
    write_dataset(f, set, v);
    for (int i = 0; i < rank; i++)
        check(f, H5DSattach_scale(set, v->dims[i]->id, (unsigned)i));
    H5Dclose(set);
}
