/* A result file in memory: HDF5 in the layout that netCDF-4 readers understand.
 *
 * Dimensions are dimension scales (coordinate variables), every variable has its scales attached;
 * text is variable-length UTF-8; creation order is tracked; no object carries a time; nothing but
 * what is written decides a byte. netCDF's own hidden attributes are left out: they are not needed,
 * and a wrong one silently joins dimensions of different groups. Large variables are chunked,
 * shuffled and deflated (level 4); floats have NaN as fill value.
 *
 * The file is built in memory and handed out as bytes when it is complete, so that a full disk or a
 * signal meets one plain write (analysis/atomic_file.h) and never the HDF5 library.
 *
 * Errors stick: after the first one every call does nothing, and hdf5_file_finish returns it. */
#ifndef HEADROOM_ANALYSIS_HDF5_FILE_H
#define HEADROOM_ANALYSIS_HDF5_FILE_H

#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hdf5_file; /* opaque */

/* A group of an open file; plain value, closed by the caller. */
struct hdf5_group {
    struct hdf5_file *file;
    int64_t id;
};

/* As stored; in memory integers of any width are int64_t. */
enum hdf5_type { HDF5_F64, HDF5_I64, HDF5_I32, HDF5_I8, HDF5_TEXT };

/* A dimension of a group: a coordinate variable. */
struct hdf5_dim {
    int64_t id;
    uint64_t n;
};

enum { HDF5_MAX_DIMS = 6 };

/* A variable over some dimensions; without any it is a scalar. data: double, int64_t or const char
 * * values, last dimension fastest. */
struct hdf5_var {
    const char *name;
    enum hdf5_type type;
    const struct hdf5_dim *dims[HDF5_MAX_DIMS]; /* until the first NULL */
    const void *data;
    const char *units, *long_name, *comment, *better; /* attributes; NULL or "": none */
    const char *const *flags; /* flag_values 0.. and flag_meanings; integers only; NULL: none */
    uint32_t n_flags;
};

struct hdf5_file *hdf5_file_new(void); /* NULL when memory is out */
struct hdf5_group hdf5_file_root(struct hdf5_file *f);

struct hdf5_group hdf5_group_new(const struct hdf5_group *parent, const char *name);
void hdf5_group_close(struct hdf5_group *g);

void hdf5_attr_text(const struct hdf5_group *g, const char *name, const char *text);
void hdf5_attr_i64(const struct hdf5_group *g, const char *name, int64_t value);

/* A coordinate variable: its name is the dimension's; n >= 1 values as in hdf5_var. axis: "T" for
 * time (which also gets a calendar), else NULL. */
struct hdf5_dim hdf5_dim_new(const struct hdf5_group *g, const struct hdf5_var *coordinate,
                             uint64_t n, const char *axis);
void hdf5_dim_close(struct hdf5_dim *d);

void hdf5_put(const struct hdf5_group *g, const struct hdf5_var *v);

/* The complete file as malloc'd bytes. Frees f in any case. */
enum hr_err hdf5_file_finish(struct hdf5_file *f, void **bytes, size_t *n);
void hdf5_file_free(struct hdf5_file *f); /* without finishing; accepts NULL */

#endif
