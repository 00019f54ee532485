/* Reading a packing scenario: tree, structs, lists, checks. */
#include "scenarios/packing.h"

#include "scenarios/check.h"
#include "scenarios/overlay.h"
#include "scenarios/read.h"
#include "scenarios/spec_packing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0
enum {
    CPU_MILLI = 1000,
    MOST_NODES = 1000000,
    MOST_PODS = 10000000,
    MOST_ARRIVALS = 20000000,
    MOST_SCORES = 100000000
};

struct load {
    struct packing_scenario *out;
    struct check check; /* for places and paths only */
    const struct pack_scenario_spec *spec;
};

static struct diag_place place_of(const struct node *n)
{
    return (struct diag_place){n->text->name, n->text->has_lines ? n->line : 0, n->column};
}

/* Exactly one of a file and what stands in place of it. */
static bool one_of(const struct load *l, const void *at, const char *file,
                   const struct field_list *list, const char *other)
{
    if ((file != NULL) != (list->n > 0))
        return true;
    if (at)
        check_say(&l->check, DIAG_ERROR, at, NULL, NULL, "needs one of file, %s", other);
    return false;
}

/* ---- nodes ---- */

static enum hr_err add_group(struct load *l, const char *name, const struct pack_group_spec *g,
                             struct cluster_node *rows)
{
    struct packing_scenario *s = l->out;
    struct cluster_node node = {.cpu_milli = llround(g->cpus * CPU_MILLI),
                                .memory_mib = (int64_t)(g->memory_bytes / MIB),
                                .devices = (uint32_t)g->gpus};
    TRY(inventory_type(&s->types, &s->arena, g->gpu, strlen(g->gpu), &node.type));
    for (uint64_t i = 0; i < g->nodes; i++) {
        size_t size = strlen(name) + 16;
        char *text = arena_alloc(&s->arena, size);
        if (!text)
            return HR_NOMEM;
        snprintf(text, size, "%s-%06u", name, (unsigned)i);
        rows[i] = node;
        rows[i].name = text;
    }
    return HR_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct cluster_node *)a)->name, ((const struct cluster_node *)b)->name);
}

static enum hr_err make_nodes(struct load *l, const struct pack_nodes_spec *spec)
{
    struct packing_scenario *s = l->out;
    const struct pack_group_spec *groups = spec->groups.items;
    uint64_t n = 0, at = 0;
    for (size_t i = 0; i < spec->groups.n; i++)
        n += groups[i].nodes;
    if (n > MOST_NODES) {
        check_say(&l->check, DIAG_ERROR, spec->at, "groups", NULL, "more than %d nodes",
                  MOST_NODES);
        return HR_INPUT;
    }
    struct cluster_node *rows = arena_array(&s->arena, n, sizeof *rows);
    if (!rows)
        return HR_NOMEM;
    for (size_t i = 0; i < spec->groups.n; i++) {
        TRY(add_group(l, spec->groups.names[i], &groups[i], rows + at));
        at += groups[i].nodes;
    }
    qsort(rows, n, sizeof *rows, by_name);
    s->nodes = (struct cluster_nodes){rows, (uint32_t)n};
    if (cluster_capacity(&s->nodes) > 0)
        return HR_OK;
    check_say(&l->check, DIAG_ERROR, spec->at, "groups", NULL, "no node has a GPU");
    return HR_INPUT;
}

/* A file, at the place where it is named. */
static enum hr_err named_file(struct load *l, const void *at, const char *file, char **path,
                              struct diag_place *place, char **line)
{
    const struct node *n = node_get(at, "file");
    *path = check_path(&l->check, file);
    *place = place_of(n);
    *line = text_line(n->text, n->line);
    l->out->inputs[l->out->n_inputs++] = *path;
    return *path ? HR_OK : HR_NOMEM;
}

static enum hr_err read_nodes(struct load *l)
{
    const struct pack_nodes_spec *spec = &l->spec->packing.nodes;
    struct packing_scenario *s = l->out;
    struct diag_place place;
    char *path, *line;
    if (!spec->file)
        return make_nodes(l, spec);
    TRY(named_file(l, spec->at, spec->file, &path, &place, &line));
    enum hr_err err =
        inventory_read_nodes(&s->arena, path, place, line, l->check.diags, &s->types, &s->nodes);
    free(line);
    return err;
}

/* ---- pods ---- */

static enum hr_err class_types(struct load *l, const struct pack_class_spec *c, uint64_t *types)
{
    struct packing_scenario *s = l->out;
    const char *const *names = c->gpu.items;
    *types = 0;
    for (size_t i = 0; i < c->gpu.n; i++) {
        uint32_t type;
        enum hr_err err = inventory_type(&s->types, &s->arena, names[i], strlen(names[i]), &type);
        if (err == HR_LIMIT)
            check_say(&l->check, DIAG_ERROR, c->at, "gpu", NULL, "more than %d GPU models",
                      CLUSTER_TYPES);
        TRY(err == HR_LIMIT ? HR_INPUT : err);
        *types |= UINT64_C(1) << type;
    }
    return HR_OK;
}

static enum hr_err make_pods(struct load *l, const struct pack_pods_spec *spec)
{
    const struct pack_class_spec *classes = spec->classes.items;
    uint64_t n = 0, at = 0;
    for (size_t i = 0; i < spec->classes.n; i++)
        n += classes[i].count;
    if (n > MOST_PODS) {
        check_say(&l->check, DIAG_ERROR, spec->at, "classes", NULL, "more than %d pods", MOST_PODS);
        return HR_INPUT;
    }
    struct cluster_pod *rows = calloc(n + 1, sizeof *rows);
    enum hr_err err = rows ? HR_OK : HR_NOMEM;
    for (size_t i = 0; i < spec->classes.n && err == HR_OK; i++) {
        const struct pack_class_spec *c = &classes[i];
        struct cluster_pod pod = {.cpu_milli = llround(c->cpus * CPU_MILLI),
                                  .memory_mib = (int64_t)ceil(c->memory_bytes / MIB),
                                  .devices = (uint32_t)c->gpus,
                                  .milli =
                                      c->gpus ? (uint32_t)lround(c->share * CLUSTER_MILLI) : 0};
        err = class_types(l, c, &pod.types);
        for (uint64_t k = 0; k < c->count && err == HR_OK; k++)
            rows[at++] = pod;
    }
    if (err == HR_OK)
        err = inventory_shapes(&l->out->arena, rows, n, &l->out->pods);
    free(rows);
    return err;
}

static enum hr_err read_pods(struct load *l)
{
    const struct pack_pods_spec *spec = &l->spec->packing.pods;
    struct packing_scenario *s = l->out;
    struct diag_place place;
    char *path, *line;
    if (!spec->file)
        return make_pods(l, spec);
    TRY(named_file(l, spec->at, spec->file, &path, &place, &line));
    enum hr_err err =
        inventory_read_pods(&s->arena, path, place, line, l->check.diags, &s->types, &s->pods);
    free(line);
    return err;
}

/* Without GPUs the list could never be long enough; very small shares make it very long, and a row
 * of scores is kept for every shape. */
static enum hr_err check_size(const struct load *l)
{
    const struct packing_scenario *s = l->out;
    const void *at = l->spec->packing.pods.at;
    double asked = 0, capacity = (double)cluster_capacity(&s->nodes);
    for (size_t i = 0; i < s->pods.n; i++)
        asked += (double)cluster_asks(&s->pods.shapes[s->pods.rows[i]]);
    if (asked == 0)
        check_say(&l->check, DIAG_ERROR, at, NULL, NULL, "no pod asks for a GPU");
    else if (l->spec->packing.ratio * capacity / (asked / (double)s->pods.n) > MOST_ARRIVALS)
        check_say(&l->check, DIAG_ERROR, at, NULL, NULL,
                  "more than %d pods would have to arrive: their shares are too small",
                  MOST_ARRIVALS);
    else if ((double)s->nodes.n * s->pods.n_shapes > MOST_SCORES)
        check_say(&l->check, DIAG_ERROR, at, NULL, NULL,
                  "%u kinds of pods on %u nodes are more than %d pairs", s->pods.n_shapes,
                  s->nodes.n, MOST_SCORES);
    else
        return HR_OK;
    return HR_INPUT;
}

/* ---- what is asked ---- */

static void find_levels(struct load *l)
{
    const struct pack_spec *p = &l->spec->packing;
    const double *given = p->levels.items;
    double *out = l->out->levels;
    uint32_t n = 0;
    for (size_t i = 0; i < p->levels.n; i++) {
        if (n > 0 && given[i] <= out[n - 1])
            check_say(&l->check, DIAG_ERROR, p->levels.where[i], NULL, NULL,
                      "levels: they must ascend");
        if (given[i] > p->ratio)
            check_say(&l->check, DIAG_ERROR, p->levels.where[i], NULL, NULL,
                      "levels: %.6g %% is beyond the ratio, %.6g", 100 * given[i], p->ratio);
        out[n++] = given[i];
    }
    for (int tenths = 5; p->levels.n == 0 && tenths <= 10 * p->ratio + 1e-9; tenths++) {
        if (tenths == 10)
            out[n++] = 0.95;
        if (n < PACKING_LEVELS)
            out[n++] = tenths / 10.0;
    }
    if (n == 0)
        out[n++] = p->ratio;
    l->out->plan.n_levels = n;
}

static bool has_word(const struct field_list *list, int word)
{
    const int *words = list->items;
    for (size_t i = 0; i < list->n; i++)
        if (words[i] == word)
            return true;
    return false;
}

/* A policy whose ties are its own stands once. */
static void find_columns(struct load *l)
{
    const struct pack_spec *p = &l->spec->packing;
    struct packing_scenario *s = l->out;
    s->both_ties = has_word(&p->ties, POLICY_TIE_NAME) && has_word(&p->ties, POLICY_TIE_RANDOM);
    for (int i = 0; i < POLICIES; i++) {
        if (p->policies.n > 0 && !has_word(&p->policies, i))
            continue;
        for (int t = POLICY_TIE_NAME; t <= POLICY_TIE_RANDOM; t++) {
            bool wanted = p->ties.n == 0 ? t == POLICY_TIE_NAME : has_word(&p->ties, t);
            bool own = policies[i].fixed_ties;
            if (own ? t == (int)policies[i].ties : wanted)
                s->columns[s->n_columns++] =
                    (struct packing_column){&policies[i], (enum policy_ties)t};
        }
    }
}

static enum hr_err build(struct load *l)
{
    const struct pack_spec *p = &l->spec->packing;
    struct packing_scenario *s = l->out;
    bool good = one_of(l, p->nodes.at, p->nodes.file, &p->nodes.groups, "groups");
    good = one_of(l, p->pods.at, p->pods.file, &p->pods.classes, "classes") && good;
    find_levels(l);
    if (!good || l->check.diags->n_errors)
        return HR_INPUT;
    enum hr_err nodes = read_nodes(l), pods = nodes == HR_NOMEM ? nodes : read_pods(l);
    TRY(nodes);
    TRY(pods);
    TRY(check_size(l));
    TRY(fragment_init(&s->fragment, &s->pods, p->cover, &s->arena));
    find_columns(l);
    s->name = l->spec->name;
    s->description = l->spec->description;
    s->replications = (uint32_t)l->spec->replications;
    s->plan.nodes = &s->nodes;
    s->plan.pods = &s->pods;
    s->plan.fragment = &s->fragment;
    s->plan.ratio = p->ratio;
    s->plan.levels = s->levels;
    s->plan.seed = l->spec->seed;
    return HR_OK;
}

/* ---- loading ---- */

static enum hr_err load_tree(const struct text *text, const char *const *sets, size_t n_sets,
                             const char *path, struct diags *diags, struct packing_scenario *out)
{
    struct node *root;
    struct arena *a = &out->arena;
    struct pack_scenario_spec *spec = arena_alloc(a, sizeof *spec);
    if (!spec)
        return HR_NOMEM;
    TRY(node_parse(a, text, diags, &root));
    if (!root || root->kind != NODE_MAP) {
        text_say(text, 1, 1, diags, DIAG_ERROR, NULL, "there is no scenario in the file");
        return HR_INPUT;
    }
    for (size_t i = 0; i < n_sets; i++) {
        enum hr_err err = overlay_set(a, diags, &spec_pack_scenario, root, sets[i]);
        if (err == HR_NOMEM)
            return err;
    }
    TRY(read_table(a, diags, &spec_pack_scenario, root, spec));
    if (diags->n_errors)
        return HR_INPUT;
    struct load l = {.out = out,
                     .check = {.arena = a, .diags = diags, .root = root, .path = path},
                     .spec = spec};
    return build(&l);
}

static enum hr_err load(const char *path, const char *bytes, size_t n, const char *const *sets,
                        size_t n_sets, struct diags *diags, struct packing_scenario *out)
{
    struct text *text;
    memset(out, 0, sizeof *out);
    arena_init(&out->arena);
    size_t first = diags->n;
    path = arena_strdup(&out->arena, path);
    if (!path)
        return HR_NOMEM;
    enum hr_err err = bytes ? text_from_memory(&out->arena, path, true, bytes, n, diags, &text)
                            : text_read_file(&out->arena, path, diags, &text);
    out->inputs[out->n_inputs++] = path;
    if (err == HR_OK)
        out->text = text->bytes;
    if (err == HR_OK)
        err = load_tree(text, sets, n_sets, path, diags, out);
    diags_sort(diags, first);
    return err == HR_OK && diags->n_errors ? HR_INPUT : err;
}

enum hr_err packing_load(const char *path, const char *const *sets, size_t n_sets,
                         struct diags *diags, struct packing_scenario *out)
{
    return load(path, NULL, 0, sets, n_sets, diags, out);
}

enum hr_err packing_load_text(const char *path, const char *bytes, size_t n,
                              const char *const *sets, size_t n_sets, struct diags *diags,
                              struct packing_scenario *out)
{
    return load(path, bytes, n, sets, n_sets, diags, out);
}

void packing_free(struct packing_scenario *s)
{
    arena_fini(&s->arena);
}

bool packing_is(const char *path)
{
    struct arena a;
    struct diags ignored;
    struct text *text;
    struct node *root = NULL;
    arena_init(&a);
    diags_init(&ignored);
    bool is = text_read_file(&a, path, &ignored, &text) == HR_OK &&
              node_parse(&a, text, &ignored, &root) == HR_OK && node_get(root, "packing");
    diags_fini(&ignored);
    arena_fini(&a);
    return is;
}
