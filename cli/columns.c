/* From files, designs and settings to plans with labels. */
#include "cli/columns.h"

#include "sim/vec.h"

#include <stdlib.h>
#include <string.h>

/* The settings of one column, as --set takes them: those of all columns, its own, the seed. */
struct settings {
    const char *items[2 * OPTION_LIST_MAX + 1];
    size_t n;
};

static const char *join(struct arena *a, const char *left, const char *between, const char *right)
{
    size_t n = strlen(left) + strlen(between) + strlen(right) + 1;
    char *text = arena_alloc(a, n);
    if (text)
        snprintf(text, n, "%s%s%s", left, between, right);
    return text;
}

static void add_all(struct settings *s, const struct option_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        s->items[s->n++] = list->items[i];
}

/* Everything but the seed, for the result file: "a=1 b=2". */
static const char *settings_text(struct arena *a, const struct settings *s)
{
    const char *text = "";
    for (size_t i = 0; i < s->n && text; i++)
        text = join(a, text, *text ? " " : "", s->items[i]);
    return text;
}

/* What tells the columns apart: the parts that vary. */
struct naming {
    bool files, designs, sets;
};

static const char *label_of(struct arena *a, const struct naming *n, const struct scenario *s,
                            const char *design, const char *set)
{
    const char *label = n->files ? scenario_name(s) : "";
    if (label && n->designs)
        label = join(a, label, *label ? " " : "", design);
    if (label && n->sets && set)
        label = join(a, label, *label ? " " : "", set);
    return label && *label ? label : label ? design : NULL;
}

/* Two files may hold scenarios of one name, one design may be named twice: labels must differ. */
static const char *distinct(struct columns *c, const char *label)
{
    const char *candidate = label;
    for (unsigned suffix = 2; candidate; suffix++) {
        size_t same = 0;
        for (size_t i = 0; i < c->sources.n; i++)
            same += strcmp(c->sources.items[i].label, candidate) == 0;
        if (!same)
            return candidate;
        char number[16];
        snprintf(number, sizeof number, "%u", suffix);
        candidate = join(&c->arena, label, " #", number);
    }
    return NULL;
}

static enum hr_err add_column(struct columns *c, struct scenario *s, const char *design,
                              const char *label, const char *settings, struct diags *diags)
{
    struct plan *plan = arena_alloc(&c->arena, sizeof *plan);
    if (!plan || !label || !settings)
        return HR_NOMEM;
    TRY(scenario_plan(s, design, diags, plan));
    label = distinct(c, label);
    const struct summary_source source = {label, plan, scenario_text(s), settings};
    return label && vec_push(&c->sources, source) ? HR_OK : HR_NOMEM;
}

/* The designs of one scenario that become columns: those named, else all, else the default one. */
static enum hr_err add_designs(struct columns *c, struct scenario *s,
                               const struct simulate_options *o, const struct naming *naming,
                               bool all, const char *set, const char *settings, struct diags *diags)
{
    enum hr_err worst = HR_OK;
    size_t n = o->designs.n ? o->designs.n : all ? scenario_n_designs(s) : 1;
    for (size_t i = 0; i < n; i++) {
        const char *design = o->designs.n ? o->designs.items[i]
                             : all        ? scenario_design(s, i)
                                          : scenario_design(s, scenario_default_design(s));
        const char *label = label_of(&c->arena, naming, s, design, set);
        enum hr_err err = add_column(c, s, design, label, settings, diags);
        worst = worst == HR_OK ? err : worst;
    }
    return worst;
}

static enum hr_err add_scenario(struct columns *c, const char *file, struct settings *settings,
                                const struct simulate_options *o, const struct naming *naming,
                                bool all, const char *set, struct diags *diags)
{
    const char *text = settings_text(&c->arena, settings);
    if (o->seed) {
        settings->items[settings->n] = join(&c->arena, "seed=", "", o->seed);
        if (!settings->items[settings->n++])
            return HR_NOMEM;
    }
    struct scenario *s;
    TRY(scenario_load(file, settings->items, settings->n, diags, &s));
    if (!vec_push(&c->scenarios, s)) {
        scenario_free(s);
        return HR_NOMEM;
    }
    return add_designs(c, s, o, naming, all, set, text, diags);
}

enum hr_err columns_build(struct columns *c, enum simulate_kind kind,
                          const struct simulate_options *o, const struct operands *files,
                          struct diags *diags)
{
    *c = (struct columns){0};
    arena_init(&c->arena);
    bool columns = kind == SIMULATE_COLUMNS;
    size_t n_sets = columns && o->sets.n ? o->sets.n : 1;
    bool all = columns && files->n == 1 && o->sets.n == 0;
    const struct naming naming = {
        .files = files->n > 1,
        .designs = all || o->designs.n > 1,
        .sets = columns && o->sets.n > 0,
    };
    enum hr_err worst = HR_OK;
    for (size_t f = 0; f < files->n; f++)
        for (size_t i = 0; i < n_sets; i++) {
            struct settings settings = {.n = 0};
            const char *set = columns && o->sets.n ? o->sets.items[i] : NULL;
            add_all(&settings, &o->with);
            if (set)
                settings.items[settings.n++] = set;
            else
                add_all(&settings, &o->sets);
            enum hr_err err =
                add_scenario(c, files->items[f], &settings, o, &naming, all, set, diags);
            worst = worst == HR_OK ? err : worst;
        }
    return worst;
}

void columns_fini(struct columns *c)
{
    for (size_t i = 0; i < c->scenarios.n; i++)
        scenario_free(c->scenarios.items[i]);
    vec_free(&c->scenarios);
    vec_free(&c->sources);
    arena_fini(&c->arena);
}
