/* Loading: text, tree, overlays, structs, checks; and the plan of a design. */
#include "scenarios/scenario.h"

#include "scenarios/build.h"
#include "scenarios/overlay.h"
#include "scenarios/read.h"
#include "scenarios/spec_packing.h"
#include "sim/vec.h"

#include <stdlib.h>
#include <string.h>

struct design {
    const char *name;
    const struct design_spec *spec;
    struct check check; /* its spec, which differs from the base where the design sets keys */
};

struct scenario {
    struct arena arena;
    const char *path;
    struct text *text;
    struct node *root;
    struct scenario_spec base;
    struct design *designs; /* arena */
    size_t n_designs, default_design;
    struct loaded_traces traces;
    struct hardware hardware;
    uint64_t hash;
};

/* ---- designs ---- */

/* A spec of its own for a design that sets other keys. */
static enum hr_err overlay_design(struct scenario *s, struct diags *diags, const char *name,
                                  const struct design_spec *d, struct scenario_spec **spec,
                                  struct node **root)
{
    const void *const *values = d->set.items;
    *root = node_copy(&s->arena, s->root);
    *spec = arena_alloc(&s->arena, sizeof **spec);
    if (!*root || !*spec)
        return HR_NOMEM;
    size_t errors = diags->n_errors;
    for (size_t i = 0; i < d->set.n; i++) {
        const struct node *path = ((const struct node *)d->set.where[i])->key;
        if (strncmp(path->value, "designs", 7) == 0) {
            node_say(path, diags, DIAG_ERROR, NULL, "design %.60s cannot set designs", name);
            continue;
        }
        enum hr_err err = overlay_tree(&s->arena, diags, &spec_scenario, *root, path, values[i]);
        if (err == HR_NOMEM)
            return err;
    }
    if (diags->n_errors > errors)
        return HR_INPUT;
    return read_table(&s->arena, diags, &spec_scenario, *root, *spec);
}

static enum hr_err check_claims(const struct check *c, const struct design *d)
{
    size_t n = c->spec->services.n + c->spec->training.n;
    struct claim *claims = calloc(n + 1, sizeof *claims);
    if (!claims)
        return HR_NOMEM;
    preset_claims(c, d->name, d->spec, claims);
    free(claims);
    return HR_OK;
}

/* Each design is checked on its own: its numbers, and where it sets keys the whole scenario. */
static enum hr_err check_design(struct scenario *s, struct diags *diags, struct design *d)
{
    struct scenario_spec *spec;
    struct node *root;
    d->check = (struct check){.arena = &s->arena,
                              .diags = diags,
                              .spec = &s->base,
                              .root = s->root,
                              .hardware = &s->hardware,
                              .path = s->path};
    if (d->spec->set.n && diags->n_errors == 0) {
        enum hr_err err = overlay_design(s, diags, d->name, d->spec, &spec, &root);
        if (err != HR_OK)
            return err == HR_INPUT ? HR_OK : err;
        d->check.spec = spec;
        d->check.root = root;
    }
    check_init(&d->check);
    if (d->check.spec != &s->base)
        TRY(check_scenario(&d->check));
    return check_claims(&d->check, d);
}

/* `design: shared` without a map of designs. */
static enum hr_err sole_design(struct scenario *s, struct diags *diags)
{
    struct design_spec *spec = arena_alloc(&s->arena, sizeof *spec);
    s->designs = arena_alloc(&s->arena, sizeof *s->designs);
    if (!spec || !s->designs)
        return HR_NOMEM;
    const struct node *where = node_get(s->root, "design");
    if (!where) {
        text_say(s->text, 1, 1, diags, DIAG_ERROR, NULL,
                 "missing key 'designs' (pool designs to compare), or 'design' for a preset");
        return HR_OK;
    }
    TRY(read_table(&s->arena, diags, &spec_design, NULL, spec));
    spec->at = where;
    s->designs[0] = (struct design){.name = s->base.design, .spec = spec};
    s->n_designs = s->base.design ? 1 : 0;
    return HR_OK;
}

static enum hr_err find_designs(struct scenario *s, struct diags *diags)
{
    const struct field_list *l = &s->base.designs;
    const struct design_spec *specs = l->items;
    if (l->n == 0)
        return sole_design(s, diags);
    s->designs = arena_array(&s->arena, l->n, sizeof *s->designs);
    if (!s->designs)
        return HR_NOMEM;
    s->n_designs = l->n;
    s->default_design = s->base.design ? l->n : 0;
    for (size_t i = 0; i < l->n; i++) {
        s->designs[i] = (struct design){.name = l->names[i], .spec = &specs[i]};
        if (s->base.design && strcmp(s->base.design, l->names[i]) == 0)
            s->default_design = i;
    }
    if (s->default_design == l->n) {
        const char *nearest = diag_nearest(s->base.design, l->names, l->n);
        node_say(node_get(s->root, "design"), diags, DIAG_ERROR, nearest,
                 "design: there is no '%.60s' among the designs", s->base.design);
        s->default_design = 0;
    }
    return HR_OK;
}

/* ---- loading ---- */

static enum hr_err overlay_sets(struct scenario *s, const char *const *sets, size_t n,
                                struct diags *diags)
{
    for (size_t i = 0; i < n; i++) {
        enum hr_err err = overlay_set(&s->arena, diags, &spec_scenario, s->root, sets[i]);
        if (err == HR_NOMEM)
            return err;
    }
    return HR_OK;
}

static enum hr_err hash_tree(struct scenario *s)
{
    char *text;
    TRY(node_print(&s->arena, s->root, &text));
    s->hash = UINT64_C(0xCBF29CE484222325);
    for (const char *p = text; *p; p++)
        s->hash = (s->hash ^ (unsigned char)*p) * UINT64_C(0x100000001B3);
    return HR_OK;
}

static enum hr_err parse(struct scenario *s, const char *const *sets, size_t n_sets,
                         struct diags *diags)
{
    TRY(node_parse(&s->arena, s->text, diags, &s->root));
    if (!s->root || s->root->empty) {
        text_say(s->text, 1, 1, diags, DIAG_ERROR, NULL,
                 s->text->n ? "there is no scenario in the file" : "the file is empty");
        return HR_INPUT;
    }
    if (s->root->kind != NODE_MAP) {
        node_say(s->root, diags, DIAG_ERROR, NULL, "a scenario is made of keys, such as fleet:");
        return HR_INPUT;
    }
    if (node_get(s->root, "packing")) {
        node_say(node_get(s->root, "packing")->key, diags, DIAG_ERROR, NULL,
                 "a scenario with packing has no time to run: headroom pack %.200s", s->path);
        return HR_INPUT;
    }
    TRY(overlay_sets(s, sets, n_sets, diags));
    return hash_tree(s);
}

static enum hr_err check_all(struct scenario *s, struct diags *diags)
{
    struct check c = {.arena = &s->arena,
                      .diags = diags,
                      .spec = &s->base,
                      .root = s->root,
                      .hardware = &s->hardware,
                      .path = s->path};
    TRY(read_table(&s->arena, diags, &spec_scenario, s->root, &s->base));
    TRY(hardware_build(&s->base.hardware, &s->arena, diags, &s->hardware));
    check_init(&c);
    TRY(check_scenario(&c));
    TRY(find_designs(s, diags));
    for (size_t i = 0; i < s->n_designs; i++)
        TRY(check_design(s, diags, &s->designs[i]));
    return diags->n_errors ? HR_INPUT : HR_OK;
}

/* bytes NULL: from the file. Errors already in diags count as a reason to refuse. */
static enum hr_err load(struct scenario *s, const char *path, const char *bytes, size_t n,
                        const char *const *sets, size_t n_sets, struct diags *diags)
{
    s->path = arena_strdup(&s->arena, path);
    if (!s->path)
        return HR_NOMEM;
    TRY(bytes ? text_from_memory(&s->arena, path, true, bytes, n, diags, &s->text)
              : text_read_file(&s->arena, path, diags, &s->text));
    TRY(parse(s, sets, n_sets, diags));
    return check_all(s, diags);
}

static enum hr_err load_new(const char *path, const char *bytes, size_t n, const char *const *sets,
                            size_t n_sets, struct diags *diags, struct scenario **out)
{
    *out = NULL;
    struct scenario *s = calloc(1, sizeof *s);
    if (!s)
        return HR_NOMEM;
    arena_init(&s->arena);
    size_t first = diags->n;
    enum hr_err err = load(s, path, bytes, n, sets, n_sets, diags);
    diags_sort(diags, first);
    if (err == HR_OK)
        *out = s;
    else
        scenario_free(s);
    return err;
}

enum hr_err scenario_load(const char *path, const char *const *sets, size_t n_sets,
                          struct diags *diags, struct scenario **out)
{
    return load_new(path, NULL, 0, sets, n_sets, diags, out);
}

enum hr_err scenario_load_text(const char *path, const char *bytes, size_t n,
                               const char *const *sets, size_t n_sets, struct diags *diags,
                               struct scenario **out)
{
    return load_new(path, bytes, n, sets, n_sets, diags, out);
}

void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    vec_free(&s->traces);
    free(s->traces.named);
    arena_fini(&s->arena);
    free(s);
}

/* ---- looking ---- */

const struct hardware *scenario_hardware(const struct scenario *s)
{
    return &s->hardware;
}

const char *scenario_name(const struct scenario *s)
{
    return s->base.name;
}

const char *scenario_description(const struct scenario *s)
{
    return s->base.description;
}

const char *scenario_path(const struct scenario *s)
{
    return s->path;
}

const char *scenario_text(const struct scenario *s)
{
    return s->text->bytes;
}

uint32_t scenario_replications(const struct scenario *s)
{
    return (uint32_t)s->base.replications;
}

uint64_t scenario_hash(const struct scenario *s)
{
    return s->hash;
}

size_t scenario_n_designs(const struct scenario *s)
{
    return s->n_designs;
}

const char *scenario_design(const struct scenario *s, size_t i)
{
    return s->designs[i].name;
}

size_t scenario_default_design(const struct scenario *s)
{
    return s->default_design;
}

const struct scenario_trace *scenario_traces(const struct scenario *s, size_t *n)
{
    *n = s->traces.n_named;
    return s->traces.named;
}

/* ---- planning ---- */

static enum hr_err find_design(const struct scenario *s, const char *name, struct diags *diags,
                               struct design **out)
{
    enum { MOST = 64 };
    const char *names[MOST];
    *out = &s->designs[s->default_design];
    if (!name)
        return HR_OK;
    for (size_t i = 0; i < s->n_designs; i++) {
        *out = &s->designs[i];
        names[i % MOST] = s->designs[i].name;
        if (strcmp(s->designs[i].name, name) == 0)
            return HR_OK;
    }
    size_t n = s->n_designs < MOST ? s->n_designs : MOST;
    diags_add(diags, DIAG_ERROR, (struct diag_place){s->path, 0, 0}, NULL,
              diag_nearest(name, names, n), "there is no design '%.60s'", name);
    return HR_INPUT;
}

enum hr_err scenario_plan(struct scenario *s, const char *design, struct diags *diags,
                          struct plan *out)
{
    struct design *d;
    TRY(find_design(s, design, diags, &d));
    d->check.diags = diags;
    const struct build b = {.check = &d->check, .traces = &s->traces};
    return build_plan(&b, d->name, d->spec, out);
}

/* ---- the language ---- */

void scenario_reference_markdown(FILE *out)
{
    field_print_markdown(&spec_scenario, out);
    fputc('\n', out);
    field_print_markdown(&spec_pack_scenario, out);
}

void scenario_reference_text(FILE *out)
{
    field_print_text(&spec_scenario, out);
    field_print_text(&spec_pack_scenario, out);
}
