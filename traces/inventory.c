/* Node lists and pod lists: rows of named columns, checked one by one; equal pods become one shape.
 */
#include "traces/inventory.h"

#include "sim/vec.h"
#include "traces/reader.h"

#include <stdlib.h>
#include <string.h>

enum { NAME, CPU, MEMORY, DEVICES, MILLI_OR_TYPE, SPEC, COLUMNS };

#define MOST_CPU    UINT64_C(100000000)  /* milli */
#define MOST_MEMORY UINT64_C(1000000000) /* MiB */
enum { MOST_ROWS = 10000000 };

struct state {
    struct reader reader;
    struct arena *arena;
    struct inventory_types *types;
    struct reader_slot slots[COLUMNS];
    struct {
        struct cluster_node *items;
        size_t n, capacity;
    } nodes;
    struct {
        struct cluster_pod *items;
        size_t n, capacity;
    } pods;
};

static const struct reader_slot node_slots[COLUMNS] = {
    {.field = "sn", .column = "sn", .required = true, .index = -1},
    {.field = "cpu_milli", .column = "cpu_milli", .required = true, .index = -1},
    {.field = "memory_mib", .column = "memory_mib", .required = true, .index = -1},
    {.field = "gpu", .column = "gpu", .required = true, .index = -1},
    {.field = "model", .column = "model", .required = true, .index = -1},
    {.field = "unused", .index = -1},
};

static const struct reader_slot pod_slots[COLUMNS] = {
    {.field = "name", .column = "name", .required = true, .index = -1},
    {.field = "cpu_milli", .column = "cpu_milli", .required = true, .index = -1},
    {.field = "memory_mib", .column = "memory_mib", .required = true, .index = -1},
    {.field = "num_gpu", .column = "num_gpu", .required = true, .index = -1},
    {.field = "gpu_milli", .column = "gpu_milli", .required = true, .index = -1},
    {.field = "gpu_spec", .column = "gpu_spec", .index = -1},
};

enum hr_err inventory_type(struct inventory_types *types, struct arena *arena, const char *name,
                           size_t n, uint32_t *out)
{
    for (*out = 0; *out < types->n; ++*out)
        if (strlen(types->names[*out]) == n && memcmp(types->names[*out], name, n) == 0)
            return HR_OK;
    if (types->n == CLUSTER_TYPES)
        return HR_LIMIT;
    char *copy = arena_strndup(arena, name, n);
    if (!copy)
        return HR_NOMEM;
    types->names[types->n++] = copy;
    return HR_OK;
}

static enum hr_err take_type(struct state *s, const char *at, const char *name, size_t n,
                             uint32_t *type)
{
    enum hr_err err = inventory_type(s->types, s->arena, name, n, type);
    if (err != HR_LIMIT)
        return err;
    reader_error(&s->reader, at, "more than %d GPU models", CLUSTER_TYPES);
    return HR_OK;
}

/* ---- rows ---- */

static bool take_common(struct state *s, uint64_t *cpu, uint64_t *memory, uint64_t *devices)
{
    struct reader *r = &s->reader;
    return reader_whole(r, &s->slots[CPU], MOST_CPU, cpu) &&
           reader_whole(r, &s->slots[MEMORY], MOST_MEMORY, memory) &&
           reader_whole(r, &s->slots[DEVICES], CLUSTER_DEVICES, devices);
}

static enum hr_err take_node(struct state *s)
{
    struct reader *r = &s->reader;
    uint64_t cpu, memory, devices;
    struct cluster_node node = {0};
    if (!take_common(s, &cpu, &memory, &devices))
        return HR_OK;
    char *name = reader_text(r, &s->slots[NAME]);
    char *model = reader_text(r, &s->slots[MILLI_OR_TYPE]);
    if (!name || !model)
        return HR_NOMEM;
    if (!*name)
        reader_error(r, reader_field(r, &s->slots[NAME])->text, "sn is empty");
    else if (!*model && devices > 0)
        reader_error(r, reader_field(r, &s->slots[MILLI_OR_TYPE])->text,
                     "model is empty on a node with GPUs");
    if (r->row_bad)
        return HR_OK;
    TRY(take_type(s, reader_field(r, &s->slots[MILLI_OR_TYPE])->text, model, strlen(model),
                  &node.type));
    node.name = name;
    node.cpu_milli = (int64_t)cpu;
    node.memory_mib = (int64_t)memory;
    node.devices = (uint32_t)devices;
    return r->row_bad || vec_push(&s->nodes, node) ? HR_OK : HR_NOMEM;
}

/* A|B|C */
static enum hr_err take_spec(struct state *s, uint64_t *types)
{
    struct reader *r = &s->reader;
    *types = 0;
    if (reader_empty(r, &s->slots[SPEC]))
        return HR_OK;
    const char *text = reader_text(r, &s->slots[SPEC]);
    if (!text)
        return HR_NOMEM;
    for (;;) {
        uint32_t type = 0;
        size_t n = strcspn(text, "|");
        if (n == 0)
            reader_error(r, reader_field(r, &s->slots[SPEC])->text,
                         "gpu_spec names an empty model");
        else
            TRY(take_type(s, reader_field(r, &s->slots[SPEC])->text, text, n, &type));
        if (r->row_bad)
            return HR_OK;
        *types |= UINT64_C(1) << type;
        if (!text[n])
            return HR_OK;
        text += n + 1;
    }
}

static enum hr_err take_pod(struct state *s)
{
    struct reader *r = &s->reader;
    uint64_t cpu, memory, devices, milli, types = 0;
    if (!take_common(s, &cpu, &memory, &devices) ||
        !reader_whole(r, &s->slots[MILLI_OR_TYPE], CLUSTER_MILLI, &milli))
        return HR_OK;
    const char *at = reader_field(r, &s->slots[MILLI_OR_TYPE])->text;
    if (devices > 0 && milli == 0)
        reader_error(r, at, "gpu_milli is 0 where num_gpu is not");
    else if (devices == 0 && milli > 0)
        reader_error(r, at, "gpu_milli is not 0 where num_gpu is");
    if (r->row_bad)
        return HR_OK;
    TRY(take_spec(s, &types));
    const struct cluster_pod pod = {(int64_t)cpu, (int64_t)memory, (uint32_t)devices,
                                    (uint32_t)milli, types};
    if (s->pods.n == MOST_ROWS) {
        reader_error(r, at, "more than 10,000,000 pods");
        return HR_INPUT;
    }
    return r->row_bad || vec_push(&s->pods, pod) ? HR_OK : HR_NOMEM;
}

static enum hr_err read_rows(struct state *s, const struct reader_slot slots[COLUMNS],
                             enum hr_err (*take)(struct state *), const char *path,
                             struct diag_place place, const char *source, struct diags *diags)
{
    struct reader *r = &s->reader;
    memcpy(s->slots, slots, sizeof s->slots);
    TRY(reader_open(r, s->arena, diags, path, '\0', place, source));
    TRY(reader_bind(r, s->slots, COLUMNS));
    for (;;) {
        bool more;
        TRY(reader_next(r, &more));
        if (!more)
            break;
        TRY(take(s));
    }
    TRY(reader_end(r));
    if (s->nodes.n + s->pods.n > 0)
        return HR_OK;
    diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path, .line = r->header_line},
              r->header_source, NULL, "nothing follows the header");
    return HR_INPUT;
}

/* ---- nodes ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct cluster_node *)a)->name, ((const struct cluster_node *)b)->name);
}

static enum hr_err keep_nodes(struct state *s, const char *path, struct diags *diags,
                              struct cluster_nodes *out)
{
    uint64_t devices = 0;
    size_t n = s->nodes.n;
    struct cluster_node *rows = arena_array(s->arena, n, sizeof *rows);
    if (!rows)
        return HR_NOMEM;
    memcpy(rows, s->nodes.items, n * sizeof *rows);
    qsort(rows, n, sizeof *rows, by_name);
    for (size_t i = 0; i < n; i++) {
        devices += rows[i].devices;
        if (i > 0 && strcmp(rows[i].name, rows[i - 1].name) == 0) {
            diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
                      "node '%.60s' is there twice", rows[i].name);
            return HR_INPUT;
        }
    }
    *out = (struct cluster_nodes){rows, (uint32_t)n};
    if (devices > 0)
        return HR_OK;
    diags_add(diags, DIAG_ERROR, (struct diag_place){.file = path}, NULL, NULL,
              "no node has a GPU");
    return HR_INPUT;
}

enum hr_err inventory_read_nodes(struct arena *arena, const char *path, struct diag_place place,
                                 const char *source, struct diags *diags,
                                 struct inventory_types *types, struct cluster_nodes *out)
{
    struct state s = {.arena = arena, .types = types};
    enum hr_err err = read_rows(&s, node_slots, take_node, path, place, source, diags);
    if (err == HR_OK)
        err = keep_nodes(&s, path, diags, out);
    vec_free(&s.nodes);
    reader_close(&s.reader);
    return err;
}

/* ---- pods ---- */

struct numbered {
    struct cluster_pod pod;
    size_t row;
};

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_shape(const void *left, const void *right)
{
    const struct cluster_pod *a = left, *b = right; /* first members of numbered */
    int c = compare(a->devices, b->devices);
    c = c ? c : compare(a->milli, b->milli);
    c = c ? c : compare(a->cpu_milli, b->cpu_milli);
    c = c ? c : compare(a->memory_mib, b->memory_mib);
    return c ? c : (a->types > b->types) - (a->types < b->types);
}

static enum hr_err number_shapes(struct numbered *all, size_t n, struct arena *arena,
                                 struct cluster_pods *out)
{
    uint32_t *rows = arena_array(arena, n, sizeof *rows), n_shapes = 0;
    for (size_t i = 0; i < n; i++)
        n_shapes += i == 0 || by_shape(&all[i - 1], &all[i]) != 0;
    struct cluster_pod *shapes = arena_array(arena, n_shapes, sizeof *shapes);
    if (!rows || !shapes)
        return HR_NOMEM;
    n_shapes = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_shape(&all[i - 1], &all[i]) != 0)
            shapes[n_shapes++] = all[i].pod;
        rows[all[i].row] = n_shapes - 1;
    }
    *out = (struct cluster_pods){shapes, n_shapes, rows, n};
    return HR_OK;
}

enum hr_err inventory_shapes(struct arena *arena, const struct cluster_pod *rows, size_t n,
                             struct cluster_pods *out)
{
    struct numbered *all = malloc((n + 1) * sizeof *all);
    if (!all)
        return HR_NOMEM;
    for (size_t i = 0; i < n; i++)
        all[i] = (struct numbered){rows[i], i};
    qsort(all, n, sizeof *all, by_shape);
    enum hr_err err = number_shapes(all, n, arena, out);
    free(all);
    return err;
}

enum hr_err inventory_read_pods(struct arena *arena, const char *path, struct diag_place place,
                                const char *source, struct diags *diags,
                                struct inventory_types *types, struct cluster_pods *out)
{
    struct state s = {.arena = arena, .types = types};
    enum hr_err err = read_rows(&s, pod_slots, take_pod, path, place, source, diags);
    if (err == HR_OK)
        err = inventory_shapes(arena, s.pods.items, s.pods.n, out);
    vec_free(&s.pods);
    reader_close(&s.reader);
    return err;
}
