/* The root of a result file and its groups, in order, and the checksum behind them. */
#include "analysis/result_file.h"

#include "analysis/atomic_file.h"
#include "analysis/layout_internal.h"
#include "analysis/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void root_attributes(const struct hdf5_group *root, const struct summary *s)
{
    char source[128], hash[17];
    snprintf(source, sizeof source, "headroom %s", s->version);
    summary_hash(s, hash);
    hdf5_attr_text(root, "Conventions", "CF-1.10");
    hdf5_attr_text(root, "title", s->name);
    hdf5_attr_text(root, "source", source);
    hdf5_attr_i64(root, "layout", RESULT_LAYOUT);
    hdf5_attr_text(root, "version", s->version);
    hdf5_attr_text(root, "scenario", s->columns[0].scenario);
    hdf5_attr_text(root, "hash", hash);
    hdf5_attr_i64(root, "seed", (int64_t)s->columns[0].seed);
    hdf5_attr_i64(root, "designs", s->n_columns);
    hdf5_attr_i64(root, "replications", s->n_replications);
    hdf5_attr_text(root, "start_date", s->start_date);
}

static enum hr_err write_groups(const struct hdf5_group *root, const struct experiment *e)
{
    root_attributes(root, &e->summary);
    TRY(layout_summary(root, &e->summary));
    TRY(layout_timeline(root, e));
    TRY(layout_slo(root, e));
    TRY(layout_jobs(root, e));
    TRY(layout_reclaims(root, e));
    return layout_ledger(root, e);
}

static enum hr_err write_sealed(const char *path, bool force, void **bytes, size_t n,
                                struct diags *diags)
{
    char *sealed = realloc(*bytes, n + SEAL_BYTES), seal[SEAL_BYTES];
    if (!sealed)
        return HR_NOMEM;
    *bytes = sealed;
    seal_make(sealed, n, seal);
    memcpy(sealed + n, seal, SEAL_BYTES);
    return atomic_file_write(path, force, sealed, n + SEAL_BYTES, diags);
}

enum hr_err result_write(const char *path, bool force, const struct experiment *e,
                         struct diags *diags)
{
    struct hdf5_file *f = hdf5_file_new();
    if (!f)
        return HR_NOMEM;
    struct hdf5_group root = hdf5_file_root(f);
    enum hr_err err = write_groups(&root, e);
    hdf5_group_close(&root);
    if (err != HR_OK) {
        hdf5_file_free(f);
        return err;
    }
    void *bytes = NULL;
    size_t n = 0;
    err = hdf5_file_finish(f, &bytes, &n);
    if (err != HR_OK)
        diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
                  "the HDF5 library could not build the file");
    else
        err = write_sealed(path, force, &bytes, n, diags);
    free(bytes);
    return err;
}
