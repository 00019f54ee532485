/* Dimensions that the groups of a result file have in common. */
#include "analysis/layout_internal.h"

#include <stdio.h>
#include <stdlib.h>

void layout_lead_open(struct layout_lead *lead, const struct hdf5_group *g, const struct summary *s,
                      struct layout_columns columns)
{
    *lead = (struct layout_lead){columns, s->n_replications, {-1, 1}, {-1, 1}};
    if (columns.n > 1) {
        const char **labels = calloc(columns.n, sizeof *labels);
        for (uint32_t i = 0; labels && i < columns.n; i++)
            labels[i] = s->columns[columns.first + i].label;
        if (labels)
            lead->design = layout_names(g, "design", "pool design", labels, columns.n);
        free(labels);
    }
    if (s->n_replications > 1) {
        int64_t *numbers = calloc(s->n_replications, sizeof *numbers);
        for (uint32_t i = 0; numbers && i < s->n_replications; i++)
            numbers[i] = i;
        struct hdf5_var v = {.name = "replication", .type = HDF5_I32, .data = numbers};
        v.long_name = "replication, same random numbers in every design";
        if (numbers)
            lead->replication = hdf5_dim_new(g, &v, s->n_replications, NULL);
        free(numbers);
    }
}

void layout_lead_close(struct layout_lead *lead)
{
    hdf5_dim_close(&lead->design);
    hdf5_dim_close(&lead->replication);
}

void layout_dims(struct hdf5_var *v, const struct layout_lead *lead, const struct hdf5_dim *a,
                 const struct hdf5_dim *b, const struct hdf5_dim *c)
{
    const struct hdf5_dim *const all[] = {lead->columns.n > 1 ? &lead->design : NULL,
                                          lead->n_replications > 1 ? &lead->replication : NULL, a,
                                          b, c};
    int rank = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i])
            v->dims[rank++] = all[i];
    v->dims[rank] = NULL;
}

struct hdf5_dim layout_names(const struct hdf5_group *g, const char *name, const char *long_name,
                             const char *const *names, uint32_t n)
{
    const struct hdf5_var v = {
        .name = name, .type = HDF5_TEXT, .data = names, .long_name = long_name};
    return hdf5_dim_new(g, &v, n, NULL);
}

struct hdf5_dim layout_states(const struct hdf5_group *g)
{
    int64_t codes[GPU_STATES];
    for (int i = 0; i < GPU_STATES; i++)
        codes[i] = i;
    struct hdf5_dim d = layout_names(g, "state", "state of a GPU", gpu_state_names, GPU_STATES);
    const struct hdf5_var code = {.name = "state_code",
                                  .type = HDF5_I8,
                                  .dims = {&d},
                                  .data = codes,
                                  .long_name = "number of the state",
                                  .flags = gpu_state_names,
                                  .n_flags = GPU_STATES};
    const struct hdf5_var meaning = {.name = "state_meaning",
                                     .type = HDF5_TEXT,
                                     .dims = {&d},
                                     .data = gpu_state_docs,
                                     .long_name = "what the state means"};
    hdf5_put(g, &code);
    hdf5_put(g, &meaning);
    return d;
}

struct hdf5_dim layout_time(const struct hdf5_group *g, const char *start_date, simtime_ns start,
                            simtime_ns step, size_t n)
{
    static const struct {
        const char *name;
        simtime_ns ns;
    } units[] = {
        {"seconds", SIM_S}, {"milliseconds", SIM_MS}, {"microseconds", SIM_US}, {"nanoseconds", 1}};
    size_t u = 0;
    while (start % units[u].ns || step % units[u].ns)
        u++;
    char text[96];
    snprintf(text, sizeof text, "%s since %s", units[u].name, start_date);
    int64_t *times = calloc(n, sizeof *times);
    for (size_t i = 0; times && i < n; i++)
        times[i] = (int64_t)((start + i * step) / units[u].ns);
    const struct hdf5_var v = {.name = "time",
                               .type = HDF5_I64,
                               .data = times,
                               .units = text,
                               .long_name = "start of the window"};
    struct hdf5_dim d = {-1, n};
    if (times)
        d = hdf5_dim_new(g, &v, n, "T");
    free(times);
    return d;
}

enum hr_err layout_each(const struct hdf5_group *g, const struct experiment *e, bool shared,
                        layout_write_fn *write, uint32_t arg)
{
    if (shared)
        return write(g, e, (struct layout_columns){0, e->summary.n_columns}, arg);
    enum hr_err err = HR_OK;
    for (uint32_t c = 0; c < e->summary.n_columns && err == HR_OK; c++) {
        char name[32];
        snprintf(name, sizeof name, "design_%u", c);
        struct hdf5_group sub = hdf5_group_new(g, name);
        hdf5_attr_text(&sub, "design", e->summary.columns[c].label);
        err = write(&sub, e, (struct layout_columns){c, 1}, arg);
        hdf5_group_close(&sub);
    }
    return err;
}
