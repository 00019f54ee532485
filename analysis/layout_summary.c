/* The group `summary`: every metric, over design, replication, entity and part; and what each
 * design is: pool design, scenario text, settings, seed. */
#include "analysis/layout_internal.h"

#include <stdlib.h>

/* One text per design. */
static enum hr_err put_texts(const struct hdf5_group *g, const struct summary *s,
                             const struct layout_lead *lead, const char *name,
                             const char *long_name, size_t member)
{
    const char **texts = calloc(s->n_columns, sizeof *texts);
    if (!texts)
        return HR_NOMEM;
    for (uint32_t c = 0; c < s->n_columns; c++)
        texts[c] = *(const char *const *)((const char *)&s->columns[c] + member);
    struct hdf5_var v = {.name = name, .type = HDF5_TEXT, .data = texts, .long_name = long_name};
    if (s->n_columns > 1)
        v.dims[0] = &lead->design;
    hdf5_put(g, &v);
    free(texts);
    return HR_OK;
}

static enum hr_err put_columns(const struct hdf5_group *g, const struct summary *s,
                               const struct layout_lead *lead)
{
#define MEMBER(name) offsetof(struct summary_column, name)
    TRY(put_texts(g, s, lead, "label", "name of the design", MEMBER(label)));
    TRY(put_texts(g, s, lead, "pool_design", "preset of the quotas", MEMBER(design)));
    TRY(put_texts(g, s, lead, "scenario", "scenario text", MEMBER(scenario)));
    TRY(put_texts(g, s, lead, "settings", "set besides the scenario", MEMBER(settings)));
#undef MEMBER
    int64_t *seeds = calloc(s->n_columns, sizeof *seeds);
    if (!seeds)
        return HR_NOMEM;
    for (uint32_t c = 0; c < s->n_columns; c++)
        seeds[c] = (int64_t)s->columns[c].seed;
    struct hdf5_var v = {
        .name = "seed", .type = HDF5_I64, .data = seeds, .long_name = "seed of the random numbers"};
    if (s->n_columns > 1)
        v.dims[0] = &lead->design;
    hdf5_put(g, &v);
    free(seeds);
    return HR_OK;
}

static enum hr_err put_metric(const struct hdf5_group *g, const struct summary *s, size_t m,
                              const struct layout_lead *lead, const struct hdf5_dim *axes)
{
    const struct metric *metric = &metrics[m];
    size_t here = (size_t)s->n[metric->entity] * s->n[metric->part];
    if (here == 0)
        return HR_OK; /* no such entity */
    double *values = calloc(layout_lead_runs(lead) * here, sizeof *values);
    if (!values)
        return HR_NOMEM;
    double *to = values;
    for (uint32_t c = 0; c < s->n_columns; c++)
        for (uint32_t r = 0; r < s->n_replications; r++) {
            const double *from = summary_at(s, m, c, r, 0, 0);
            for (size_t i = 0; i < here; i++)
                *to++ = from[i];
        }
    struct hdf5_var v = {
        .name = metric->name,
        .type = HDF5_F64,
        .data = values,
        .units = metric->unit,
        .long_name = metric->long_name,
        .comment = metric->formula,
        .better = better_names[metric->better],
    };
    layout_dims(&v, lead, metric->entity ? &axes[metric->entity] : NULL,
                metric->part ? &axes[metric->part] : NULL, NULL);
    hdf5_put(g, &v);
    free(values);
    return HR_OK;
}

static enum hr_err put_all(const struct hdf5_group *g, const struct summary *s,
                           const struct layout_lead *lead, const struct hdf5_dim *axes)
{
    TRY(put_columns(g, s, lead));
    for (size_t m = 0; m < metrics_n; m++)
        TRY(put_metric(g, s, m, lead, axes));
    return HR_OK;
}

enum hr_err layout_summary(const struct hdf5_group *root, const struct summary *s)
{
    static const char *const long_names[AXES] = {
        [AXIS_SERVICE] = "service",
        [AXIS_QUEUE] = "training queue",
        [AXIS_OWNER] = "who holds the GPUs",
        [AXIS_STATE] = "state of a GPU",
        [AXIS_STAGE] = "stage of a reclaim",
        [AXIS_OBJECTIVE] = "objective, in the order of the scenario",
        [AXIS_TENANT] = "tenant of a training queue",
        [AXIS_POOL] = "pool of nodes",
        [AXIS_REASON] = "what stands in the way of a job",
    };
    struct hdf5_group g = hdf5_group_new(root, "summary");
    struct layout_lead lead;
    layout_lead_open(&lead, &g, s, (struct layout_columns){0, s->n_columns});
    struct hdf5_dim axes[AXES];
    for (int a = 0; a < AXES; a++) {
        axes[a] = (struct hdf5_dim){-1, 1};
        if (a != AXIS_NONE && s->n[a] > 0)
            axes[a] = layout_names(&g, axis_names[a], long_names[a], s->names[a], s->n[a]);
    }
    enum hr_err err = put_all(&g, s, &lead, axes);
    for (int a = 0; a < AXES; a++)
        hdf5_dim_close(&axes[a]);
    layout_lead_close(&lead);
    hdf5_group_close(&g);
    return err;
}
