/* The group `packing` of a packing's result file: what each filling looks like at each level, and
 * how many of each typical pod could start.
 *
 * Values of fillings are one table of name, unit and member. */
#include "analysis/packing_file.h"

#include "analysis/hdf5_file.h"
#include "analysis/provenance.h"
#include "analysis/sealed_file.h"

#include <stdlib.h>

struct writer {
    struct hdf5_group g;
    const struct packing_scenario *s;
    const struct packing_figures *f;
    struct hdf5_dim policy, replication, level, pod;
    struct arena arena; /* of what is handed to the library */
};

/* ---- fillings ---- */

static double allocated(const struct fill_level *l)
{
    return l->allocated_frac;
}

static double fragment(const struct fill_level *l)
{
    return l->fragment_frac;
}

static double stranded(const struct fill_level *l)
{
    return l->stranded_frac;
}

static double arrived_pods(const struct fill_level *l)
{
    return (double)l->arrived;
}

static double dropped_pods(const struct fill_level *l)
{
    return (double)l->dropped;
}

static const struct value {
    const char *name, *long_name, *comment, *better;
    double (*of)(const struct fill_level *l);
    bool in_gpus; /* a share, as GPUs of the cluster */
} values[] = {
    {"allocated_frac", "GPUs allocated, share of all", NULL, "higher", allocated, false},
    {"fragment_frac", "fragments, share of all GPUs",
     "idle GPU that the typical pods cannot use, weighted by how often they come", "lower",
     fragment, false},
    {"stranded_frac", "stranded GPUs, share of all", "idle and of no use to any typical pod",
     "lower", stranded, false},
    {"allocated_gpus", "GPUs allocated", NULL, "higher", allocated, true},
    {"fragment_gpus", "fragments in GPUs", NULL, "lower", fragment, true},
    {"stranded_gpus", "stranded GPUs", "idle and of no use to any typical pod", "lower", stranded,
     true},
    {"arrived_pods", "pods that have arrived", NULL, NULL, arrived_pods, false},
    {"dropped_pods", "pods that found no room so far", NULL, "lower", dropped_pods, false},
};

static double all_gpus(const struct packing_scenario *s)
{
    return (double)cluster_capacity(&s->nodes) / CLUSTER_MILLI;
}

static enum hr_err put_fillings(struct writer *w)
{
    const size_t n = (size_t)w->s->n_columns * w->s->replications * w->s->plan.n_levels;
    double *buffer = arena_array(&w->arena, n, sizeof *buffer);
    if (!buffer)
        return HR_NOMEM;
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        const double scale = values[v].in_gpus ? all_gpus(w->s) : 1;
        for (size_t i = 0; i < n; i++)
            buffer[i] = scale * values[v].of(&w->f->fills[i]);
        const struct hdf5_var var = {.name = values[v].name,
                                     .type = HDF5_F64,
                                     .dims = {&w->policy, &w->replication, &w->level},
                                     .data = buffer,
                                     .units = "1",
                                     .long_name = values[v].long_name,
                                     .comment = values[v].comment,
                                     .better = values[v].better};
        hdf5_put(&w->g, &var);
    }
    return HR_OK;
}

/* ---- axes ---- */

static enum hr_err put_policies(struct writer *w)
{
    const uint32_t n = w->s->n_columns;
    const char **rules = arena_array(&w->arena, n, sizeof *rules);
    const char **ties = arena_array(&w->arena, n, sizeof *ties);
    const char **labels = arena_array(&w->arena, n, sizeof *labels);
    if (!rules || !ties || !labels)
        return HR_NOMEM;
    for (uint32_t c = 0; c < n; c++) {
        char label[PACKING_LABEL + 1];
        packing_label(w->s, c, label);
        labels[c] = arena_strdup(&w->arena, label);
        rules[c] = w->s->columns[c].policy->rule;
        ties[c] = policy_tie_names[w->s->columns[c].ties];
        if (!labels[c])
            return HR_NOMEM;
    }
    const struct hdf5_var axis = {
        .name = "policy", .type = HDF5_TEXT, .data = labels, .long_name = "placement policy"};
    w->policy = hdf5_dim_new(&w->g, &axis, n, NULL);
    const struct hdf5_var texts[] = {{.name = "rule", .data = rules, .long_name = "its rule"},
                                     {.name = "ties", .data = ties, .long_name = "who wins them"}};
    for (size_t i = 0; i < 2; i++) {
        struct hdf5_var v = texts[i];
        v.type = HDF5_TEXT;
        v.dims[0] = &w->policy;
        hdf5_put(&w->g, &v);
    }
    return HR_OK;
}

/* 0, 1, 2, ... */
static enum hr_err number_axis(struct writer *w, const char *name, const char *long_name,
                               uint32_t n, struct hdf5_dim *out)
{
    int64_t *numbers = arena_array(&w->arena, n, sizeof *numbers);
    if (!numbers)
        return HR_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = i;
    const struct hdf5_var axis = {
        .name = name, .type = HDF5_I32, .data = numbers, .long_name = long_name};
    *out = hdf5_dim_new(&w->g, &axis, n, NULL);
    return HR_OK;
}

static enum hr_err put_axes(struct writer *w)
{
    TRY(put_policies(w));
    TRY(number_axis(w, "replication", "filling, the same order of pods for every policy",
                    w->s->replications, &w->replication));
    const struct hdf5_var level = {.name = "level",
                                   .type = HDF5_F64,
                                   .data = w->s->levels,
                                   .units = "1",
                                   .long_name = "GPUs asked for so far, share of all"};
    w->level = hdf5_dim_new(&w->g, &level, w->s->plan.n_levels, NULL);
    return HR_OK;
}

/* ---- typical pods ---- */

/* A whole-number variable over the typical pods. */
static void put_wholes(struct writer *w, const char *name, const char *long_name,
                       const int64_t *data)
{
    const struct hdf5_var var = {.name = name,
                                 .type = HDF5_I64,
                                 .dims = {&w->pod},
                                 .data = data,
                                 .units = "1",
                                 .long_name = long_name};
    hdf5_put(&w->g, &var);
}

static enum hr_err put_typical(struct writer *w)
{
    const struct fragment *typical = &w->s->fragment;
    const uint32_t n = typical->n_pods;
    int64_t *gpus = arena_array(&w->arena, n, sizeof *gpus);
    int64_t *milli = arena_array(&w->arena, n, sizeof *milli);
    int64_t *cpu = arena_array(&w->arena, n, sizeof *cpu);
    if (!gpus || !milli || !cpu)
        return HR_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        gpus[i] = typical->pods[i].devices;
        milli[i] = typical->pods[i].milli;
        cpu[i] = typical->pods[i].cpu_milli;
    }
    TRY(number_axis(w, "pod", "typical pod, the most frequent first", n, &w->pod));
    put_wholes(w, "pod_gpus", "GPUs of the pod", gpus);
    put_wholes(w, "pod_gpu_milli", "of each of its GPUs, in thousandths", milli);
    put_wholes(w, "pod_cpu_milli", "CPU of the pod, in thousandths", cpu);
    put_wholes(w, "pod_count", "pods of the list like it", typical->counts);
    const struct hdf5_var starts = {.name = "could_start",
                                    .type = HDF5_F64,
                                    .dims = {&w->policy, &w->level, &w->pod},
                                    .data = w->f->starts,
                                    .units = "1",
                                    .long_name = "pods that could start at once, mean of fillings",
                                    .better = "higher"};
    hdf5_put(&w->g, &starts);
    return HR_OK;
}

/* ---- the file ---- */

static void root_attributes(const struct hdf5_group *root, const struct packing_scenario *s,
                            const struct packing_source *source)
{
    uint64_t hash = PROVENANCE_START;
    char text[17];
    provenance_hash_text(&hash, source->version);
    provenance_hash_text(&hash, s->text);
    provenance_hash_text(&hash, source->settings);
    provenance_hash_whole(&hash, s->plan.seed);
    provenance_hash_whole(&hash, s->replications);
    provenance_hash_print(hash, text);
    const struct provenance p = {.title = s->name,
                                 .version = source->version,
                                 .scenario = s->text,
                                 .layout = PACKING_LAYOUT,
                                 .hash = text,
                                 .seed = s->plan.seed,
                                 .replications = s->replications};
    provenance_put(root, &p);
    hdf5_attr_text(root, "settings", source->settings);
}

static enum hr_err put_all(struct writer *w)
{
    const double gpus = all_gpus(w->s);
    const int64_t nodes = w->s->nodes.n;
    const struct hdf5_var n_gpus = {.name = "gpus",
                                    .type = HDF5_F64,
                                    .data = &gpus,
                                    .units = "1",
                                    .long_name = "GPUs of the cluster"};
    const struct hdf5_var n_nodes = {.name = "nodes",
                                     .type = HDF5_I64,
                                     .data = &nodes,
                                     .units = "1",
                                     .long_name = "nodes of the cluster"};
    TRY(put_axes(w));
    hdf5_put(&w->g, &n_gpus);
    hdf5_put(&w->g, &n_nodes);
    TRY(put_fillings(w));
    return put_typical(w);
}

enum hr_err packing_write(const char *path, bool force, const struct packing_scenario *s,
                          const struct packing_figures *f, const struct packing_source *source,
                          struct diags *diags)
{
    struct hdf5_file *file = hdf5_file_new();
    if (!file)
        return HR_NOMEM;
    struct hdf5_group root = hdf5_file_root(file);
    root_attributes(&root, s, source);
    struct writer w = {.g = hdf5_group_new(&root, "packing"),
                       .s = s,
                       .f = f,
                       .policy = {-1, 0},
                       .replication = {-1, 0},
                       .level = {-1, 0},
                       .pod = {-1, 0}};
    arena_init(&w.arena);
    const enum hr_err err = put_all(&w);
    struct hdf5_dim *const dims[] = {&w.policy, &w.replication, &w.level, &w.pod};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        hdf5_dim_close(dims[i]);
    arena_fini(&w.arena);
    hdf5_group_close(&w.g);
    hdf5_group_close(&root);
    if (err == HR_OK)
        return sealed_file_write(path, force, file, diags);
    hdf5_file_free(file);
    return err;
}
