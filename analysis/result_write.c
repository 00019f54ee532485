/* The root of a result file and its groups, in order. */
#include "analysis/result_file.h"

#include "analysis/layout_internal.h"
#include "analysis/provenance.h"
#include "analysis/sealed_file.h"

static void root_attributes(const struct hdf5_group *root, const struct summary *s)
{
    char hash[17];
    summary_hash(s, hash);
    const struct provenance p = {.title = s->name,
                                 .version = s->version,
                                 .scenario = s->columns[0].scenario,
                                 .layout = RESULT_LAYOUT,
                                 .hash = hash,
                                 .seed = s->columns[0].seed,
                                 .replications = s->n_replications};
    provenance_put(root, &p);
    hdf5_attr_i64(root, "designs", s->n_columns);
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

enum hr_err result_write(const char *path, bool force, const struct experiment *e,
                         struct diags *diags)
{
    struct hdf5_file *f = hdf5_file_new();
    if (!f)
        return HR_NOMEM;
    struct hdf5_group root = hdf5_file_root(f);
    enum hr_err err = write_groups(&root, e);
    hdf5_group_close(&root);
    if (err == HR_OK)
        return sealed_file_write(path, force, f, diags);
    hdf5_file_free(f);
    return err;
}
