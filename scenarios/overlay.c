/* One step of the path after another, down the tree and the tables together. */
#include "scenarios/overlay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512, MAX_STEPS = 64, MAX_NAMES = 256 };

/* The walk: at a node that is described by a table, or that holds the entries of a list or map. */
struct walk {
    struct arena *arena;
    struct diags *diags;
    const struct node *place;        /* of the path; columns count from it */
    const struct field_table *table; /* of at, or NULL */
    const struct field *entries;     /* list or map whose entries at holds, or NULL */
    struct node *at;
    bool finished;         /* the value is in its place */
    char done[PATH_BYTES]; /* path so far, with a dot at the end */
};

struct step {
    const char *text; /* in the arena */
    uint32_t column;  /* in the path, from 0 */
    bool last;
    const char *rest; /* the path from here on, for names with dots in them */
};

static struct node step_place(const struct walk *w, const struct step *s)
{
    struct node n = *w->place;
    n.column += s->column;
    return n;
}

/* Says "<before> '<word>'<after> in <path so far>"; near is a right word for the step, or NULL. */
static enum hr_err refuse(const struct walk *w, const struct step *s, const char *near,
                          const char *before, const char *after)
{
    struct node at = step_place(w, s);
    char nearest[PATH_BYTES + 64];
    snprintf(nearest, sizeof nearest, "%s%s", w->done, near ? near : "");
    size_t n = strlen(w->done);
    node_say(&at, w->diags, DIAG_ERROR, near ? nearest : NULL, "%s'%.60s'%s%s%.*s", before, s->text,
             after, n ? " in " : "", n ? (int)n - 1 : 0, w->done);
    return HR_INPUT;
}

static const char *nearest_entry(const struct node *map, const char *name)
{
    const char *names[MAX_NAMES];
    size_t n = 0;
    for (const struct node *c = map->child; c && n < MAX_NAMES; c = c->next)
        names[n++] = c->key->value;
    return diag_nearest(name, names, n);
}

/* The entry of a list by its number or by its key `name`. */
static struct node *list_entry(const struct node *list, const char *step)
{
    char *end;
    unsigned long index = strtoul(step, &end, 10);
    bool numbered = step[0] >= '0' && step[0] <= '9' && *end == '\0';
    for (struct node *c = list->child; c; c = c->next) {
        const struct node *name = node_get(c, "name");
        if (numbered ? index-- == 0 : name && name->value && strcmp(name->value, step) == 0)
            return c;
    }
    return NULL;
}

/* Puts value where the step leads; a choice loses its other key. */
static enum hr_err attach(struct walk *w, const struct step *s, const char *name,
                          struct node *value)
{
    struct node place = step_place(w, s);
    struct node *key = node_new(w->arena, NODE_VALUE, &place);
    if (!key)
        return HR_NOMEM;
    key->value = name;
    if (w->at->kind == NODE_LIST) {
        struct node *old = list_entry(w->at, s->text);
        if (!old)
            return refuse(w, s, NULL, "no entry ", "");
        value->key = NULL;
        node_replace(w->at, old, value);
        return HR_OK;
    }
    if (w->table && w->table->one_of) {
        w->at->child = w->at->last = NULL;
        w->at->n_children = 0;
    }
    node_put(w->at, key, value);
    return HR_OK;
}

/* Takes away what the step leads to; what is not there is a mistake of the path. */
static enum hr_err take_away(struct walk *w, const struct step *s, const char *name)
{
    struct node *old =
        w->at->kind == NODE_LIST ? list_entry(w->at, s->text) : node_get(w->at, name);
    if (!old)
        return refuse(w, s, w->at->kind == NODE_MAP ? nearest_entry(w->at, name) : NULL,
                      "~ takes nothing away: ", " is not set");
    node_remove(w->at, old);
    return HR_OK;
}

static enum hr_err finish(struct walk *w, const struct step *s, const char *name,
                          struct node *value)
{
    w->finished = true;
    return value->unset ? take_away(w, s, name) : attach(w, s, name, value);
}

/* The node below the step as a map or list to walk into, made where it is absent or stands for one.
 */
static enum hr_err enter(struct walk *w, const struct step *s, const struct field *f,
                         struct node *child)
{
    struct node place = step_place(w, s), *into = child;
    bool list = f->kind == FIELD_LIST && !w->entries;
    const struct field_table *t = f->table;
    bool table = t && (w->entries || f->kind == FIELD_TABLE);
    if (!child || child->empty) {
        into = node_new(w->arena, list ? NODE_LIST : NODE_MAP, &place);
        if (!into)
            return HR_NOMEM;
        TRY(attach(w, s, s->text, into));
    } else if (child->kind == NODE_VALUE) {
        bool word = table && t->one_of && field_find(t, child->value);
        if (!table || (!t->brief && !word))
            return refuse(w, s, NULL, "", " holds a single value");
        TRY(node_expand(w->arena, child, word ? child->value : t->brief, word, &into));
        node_replace(w->at, child, into);
    }
    if (into->kind != (list ? NODE_LIST : NODE_MAP))
        return refuse(w, s, NULL, "", list ? " is no list" : " is no map");
    w->at = into;
    w->table = table ? t : NULL;
    w->entries = table ? NULL : f;
    size_t n = strlen(w->done);
    snprintf(w->done + n, sizeof w->done - n, "%.60s.", s->text);
    return HR_OK;
}

static enum hr_err step_table(struct walk *w, const struct step *s, struct node *value)
{
    const struct field *f = field_find(w->table, s->text);
    if (!f)
        return refuse(w, s, field_nearest(w->table, s->text), "unknown key ", "");
    if (s->last)
        return finish(w, s, s->text, value);
    bool deep = f->kind == FIELD_TABLE || f->kind == FIELD_LIST || f->kind == FIELD_MAP;
    if (!deep)
        return refuse(w, s, s->text, "", " is a single value: nothing is below it");
    return enter(w, s, f, node_get(w->at, s->text));
}

static enum hr_err step_entries(struct walk *w, const struct step *s, struct node *value)
{
    if (w->entries->kind == FIELD_MAP && !w->entries->table)
        return finish(w, s, s->rest, value); /* a name of a single value may have dots: p99.9 */
    if (s->last)
        return finish(w, s, s->text, value);
    bool map = w->at->kind == NODE_MAP;
    struct node *child = map ? node_get(w->at, s->text) : list_entry(w->at, s->text);
    if (!child)
        return refuse(w, s, map ? nearest_entry(w->at, s->text) : NULL, "no ", "");
    if (!w->entries->table)
        return refuse(w, s, NULL, "", " is a single value: nothing is below it");
    return enter(w, s, w->entries, child);
}

/* Cuts the next step off the path: up to a dot or a bracket. */
static bool next_step(struct walk *w, const char *path, size_t *at, struct step *s)
{
    size_t n = strcspn(path + *at, ".[]");
    s->text = arena_strndup(w->arena, path + *at, n);
    s->column = (uint32_t)*at;
    s->rest = path + *at;
    *at += n;
    *at += path[*at] == ']';
    s->last = path[*at] == '\0';
    *at += !s->last;
    return s->text != NULL;
}

static enum hr_err walk_path(struct walk *w, const char *path, struct node *value)
{
    size_t at = 0;
    for (size_t i = 0; i < MAX_STEPS; i++) {
        struct step s;
        if (!next_step(w, path, &at, &s))
            return HR_NOMEM;
        if (s.text[0] == '\0')
            return refuse(w, &s, NULL, "an empty step ", " of the path");
        TRY(w->table ? step_table(w, &s, value) : step_entries(w, &s, value));
        if (w->finished)
            return HR_OK;
    }
    return refuse(w, &(struct step){.text = "..."}, NULL, "too many steps ", "");
}

enum hr_err overlay_tree(struct arena *a, struct diags *diags, const struct field_table *table,
                         struct node *root, const struct node *path, const struct node *value)
{
    struct walk w = {.arena = a, .diags = diags, .place = path, .table = table, .at = root};
    struct node *copy = node_copy(a, value);
    if (!copy)
        return HR_NOMEM;
    copy->key = NULL;
    return walk_path(&w, path->value, copy);
}

/* The value's places count from the start of the whole --set text. */
static void move_to(struct node *n, const struct text *text, uint32_t columns)
{
    n->text = text;
    n->column += n->line == 1 ? columns : 0;
    if (n->key)
        move_to(n->key, text, columns);
    for (struct node *c = n->child; c; c = c->next)
        move_to(c, text, columns);
}

enum hr_err overlay_set(struct arena *a, struct diags *diags, const struct field_table *table,
                        struct node *root, const char *set)
{
    struct text *whole, *part;
    struct node *value, path = {.kind = NODE_VALUE, .line = 1, .column = 1};
    TRY(text_from_memory(a, "--set", false, set, strlen(set), diags, &whole));
    path.text = whole;
    const char *equals = strchr(whole->bytes, '=');
    if (!equals || equals == whole->bytes) {
        node_say(&path, diags, DIAG_ERROR, NULL, "must be path=value");
        return HR_INPUT;
    }
    size_t n = (size_t)(equals - whole->bytes);
    path.value = arena_strndup(a, whole->bytes, n);
    if (!path.value)
        return HR_NOMEM;
    TRY(text_from_memory(a, "--set", false, equals + 1, strlen(equals + 1), diags, &part));
    TRY(node_parse(a, part, diags, &value));
    if (!value) {
        path.column = (uint32_t)n + 2;
        node_say(&path, diags, DIAG_ERROR, NULL, "has no value");
        return HR_INPUT;
    }
    move_to(value, whole, (uint32_t)n + 1);
    return overlay_tree(a, diags, table, root, &path, value);
}
