/* The walk over tree and table together. */
#include "scenarios/read.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 256, MAX_ENTRIES = 1000, NAME_BYTES = 64, MOST_SHOWN = 100 };

struct reader {
    struct arena *arena;
    struct diags *diags;
};

/* Where the walk is, for messages; the root has a NULL name. */
struct path {
    const struct path *parent;
    const char *name;
};

static size_t path_print(const struct path *p, char *out, size_t size)
{
    if (!p || !p->name)
        return 0;
    size_t n = path_print(p->parent, out, size);
    int more = snprintf(n < size ? out + n : NULL, n < size ? size - n : 0, "%s%.60s", n ? "." : "",
                        p->name);
    return n + (size_t)more;
}

/* " in services.chat", or "" at the top. */
static const char *inside(const struct path *p, char out[PATH_BYTES])
{
    out[0] = '\0';
    if (p->name) {
        memcpy(out, " in ", 5);
        path_print(p, out + 4, PATH_BYTES - 4);
    }
    return out;
}

static const struct node *key_or_self(const struct node *n)
{
    return n->key ? n->key : n;
}

static enum hr_err read_struct(const struct reader *r, const struct field_table *t,
                               const struct node *n, void *base, const struct path *path);

/* ---- single values ---- */

static void read_single(const struct reader *r, const struct field *f, const struct node *n,
                        void *base)
{
    char expected[FIELD_WHY_BYTES], why[FIELD_WHY_BYTES];
    const char *nearest;
    if (n->kind == NODE_VALUE && !n->empty) {
        if (field_read(f, n->value, base, why, &nearest) != HR_OK)
            node_say(n, r->diags, DIAG_ERROR, nearest, "%s: %s", f->key ? f->key : "value", why);
        return;
    }
    field_expectation(f, expected, sizeof expected);
    const char *found = n->kind == NODE_VALUE  ? "it has no value"
                        : n->kind == NODE_LIST ? "it is a list"
                                               : "it is a map of keys";
    node_say(n->empty ? key_or_self(n) : n, r->diags, DIAG_ERROR, NULL, "%s: must be %s, but %s",
             f->key ? f->key : "value", expected, found);
}

/* ---- lists and maps ---- */

static size_t item_size(const struct field *f)
{
    static const size_t sizes[FIELD_KINDS] = {
        [FIELD_TEXT] = sizeof(const char *),
        [FIELD_NUMBER] = sizeof(double),
        [FIELD_WHOLE] = sizeof(uint64_t),
        [FIELD_FLAG] = sizeof(bool),
        [FIELD_WORD] = sizeof(int),
        [FIELD_MOMENT] = sizeof(struct field_moment),
        [FIELD_EITHER] = sizeof(struct field_either),
        [FIELD_TREE] = sizeof(const void *),
    };
    return f->table ? f->table->size : sizes[f->item->kind];
}

/* Names become groups in result files and steps in a path: letters, digits, _ and -. */
static void check_name(const struct reader *r, const struct field *f, const struct node *key)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (f->parted && strchr(key->value, '/'))
        return; /* its second part may come from a job list */
    size_t n = strlen(key->value);
    if (n == 0 || n >= NAME_BYTES || strspn(key->value, allowed) != n)
        node_say(key, r->diags, DIAG_ERROR, NULL,
                 "'%.60s' is no name: 1 to 63 letters, digits, - or _", key->value);
}

static enum hr_err read_item(const struct reader *r, const struct field *f, const struct node *n,
                             void *item, const struct path *path)
{
    if (f->table)
        return read_struct(r, f->table, n, item, path);
    field_unset(f->item, item);
    struct field named = *f->item;
    named.key = n->key ? n->key->value : f->key;
    if (named.kind == FIELD_TREE)
        *(const void **)item = n;
    else
        read_single(r, &named, n, item);
    return HR_OK;
}

static enum hr_err list_alloc(const struct reader *r, const struct field *f, size_t n, bool named,
                              struct field_list *list)
{
    list->n = n;
    list->items = arena_array(r->arena, n, item_size(f));
    list->where = arena_array(r->arena, n, sizeof *list->where);
    list->names = named ? arena_array(r->arena, n, sizeof *list->names) : NULL;
    return list->items && list->where && (list->names || !named) ? HR_OK : HR_NOMEM;
}

static enum hr_err read_entries(const struct reader *r, const struct field *f, const struct node *n,
                                struct field_list *list, const struct path *path)
{
    size_t most = f->max != 0 ? (size_t)f->max : MAX_ENTRIES, i = 0;
    list->at = n;
    if (n->n_children > most) {
        node_say(key_or_self(n), r->diags, DIAG_ERROR, NULL, "%s has %u entries, at most %zu",
                 f->key, n->n_children, most);
        return HR_OK;
    }
    TRY(list_alloc(r, f, n->n_children, n->kind == NODE_MAP, list));
    for (const struct node *c = n->child; c; c = c->next, i++) {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        struct path below = {path, c->key ? c->key->value : index};
        list->where[i] = c;
        if (c->key) {
            list->names[i] = c->key->value;
            if (f->table)
                check_name(r, f, c->key);
        }
        TRY(read_item(r, f, c, (char *)list->items + i * item_size(f), &below));
    }
    return HR_OK;
}

/* `inference: 128GPU` in place of a map by name. */
static enum hr_err read_sole(const struct reader *r, const struct field *f, const struct node *n,
                             struct field_list *list, const struct path *path)
{
    TRY(list_alloc(r, f, 1, true, list));
    list->at = n;
    list->where[0] = n;
    list->names[0] = f->sole;
    return read_item(r, f, n, list->items, path);
}

static enum hr_err read_list(const struct reader *r, const struct field *f, const struct node *n,
                             struct field_list *list, const struct path *path)
{
    enum node_kind wanted = f->kind == FIELD_MAP ? NODE_MAP : NODE_LIST;
    *list = (struct field_list){0};
    if (n->empty)
        return HR_OK;
    if (n->kind == wanted)
        return read_entries(r, f, n, list, path);
    if (f->sole && n->kind == NODE_VALUE)
        return read_sole(r, f, n, list, path);
    node_say(n, r->diags, DIAG_ERROR, NULL, "%s: must be %s", f->key,
             wanted == NODE_MAP ? "a map of names" : "a list");
    return HR_OK;
}

/* ---- fields ---- */

static enum hr_err read_member(const struct reader *r, const struct field *f, const struct node *n,
                               void *base, const struct path *path)
{
    struct path below = {path, f->key};
    void *p = (char *)base + f->offset;
    switch (f->kind) {
    case FIELD_TABLE:
        return read_struct(r, f->table, n, p, &below);
    case FIELD_LIST:
    case FIELD_MAP:
        return read_list(r, f, n, p, &below);
    default:
        read_single(r, f, n, base);
        return HR_OK;
    }
}

/* A default is read as if it had been written. */
static enum hr_err read_fallback(const struct reader *r, const struct field *f, void *base,
                                 const struct path *path)
{
    char why[FIELD_WHY_BYTES];
    const char *nearest;
    if (f->kind < FIELD_TABLE) {
        enum hr_err err = field_read(f, f->fallback, base, why, &nearest);
        assert(err == HR_OK);
        return err;
    }
    struct text *text;
    struct node *n;
    TRY(text_from_memory(r->arena, "default", false, f->fallback, strlen(f->fallback), r->diags,
                         &text));
    TRY(node_parse(r->arena, text, r->diags, &n));
    return read_member(r, f, n, base, path);
}

static enum hr_err set_default(const struct reader *r, const struct field *f, void *base,
                               const struct path *path)
{
    struct path below = {path, f->key};
    field_unset(f, base);
    if (f->fallback)
        return read_fallback(r, f, base, path);
    if (f->kind == FIELD_TABLE)
        return read_struct(r, f->table, NULL, (char *)base + f->offset, &below);
    return HR_OK;
}

/* ---- tables ---- */

static void keys_print(const struct field_table *t, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < t->n_fields && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", t->fields[i].key);
}

static void say_unknown(const struct reader *r, const struct field_table *t, const struct node *key,
                        const struct path *path)
{
    char where[PATH_BYTES], keys[512];
    if (r->diags->n_errors >= MOST_SHOWN) { /* counted, not shown: spare the words */
        diags_add(r->diags, DIAG_ERROR, (struct diag_place){0}, NULL, NULL, "unknown key");
        return;
    }
    const char *nearest = field_nearest(t, key->value);
    keys[0] = '\0';
    if (!nearest)
        keys_print(t, keys, sizeof keys);
    node_say(key, r->diags, DIAG_ERROR, nearest, "unknown key '%.60s'%s%s%s", key->value,
             inside(path, where), nearest ? "" : "; it takes ", keys);
}

/* A wrong key that was meant to be this one has been said already. */
static bool is_misspelt(const struct field_table *t, const struct field *f, const struct node *map)
{
    for (const struct node *c = map->child; c && map->n_children < 64; c = c->next) {
        const char *nearest = field_find(t, c->key->value) ? NULL : field_nearest(t, c->key->value);
        if (nearest == f->key)
            return true;
    }
    return false;
}

static void say_missing(const struct reader *r, const struct field *f, const struct node *n,
                        const struct path *path)
{
    char where[PATH_BYTES];
    node_say(key_or_self(n), r->diags, DIAG_ERROR, NULL, "missing key '%s'%s (%s)", f->key,
             inside(path, where), f->doc);
}

/* Exactly one key of a choice, and which. */
static void read_choice(const struct reader *r, const struct field_table *t, const struct node *n,
                        void *base, const struct path *path)
{
    char where[PATH_BYTES], keys[512];
    const struct node *second = NULL;
    int which = FIELD_NO_WORD;
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct node *c = node_get(n, t->fields[i].key);
        if (c && which != FIELD_NO_WORD)
            second = c;
        else if (c)
            which = (int)i;
    }
    memcpy((char *)base + t->which, &which, sizeof which);
    keys_print(t, keys, sizeof keys);
    if (second)
        node_say(second->key, r->diags, DIAG_ERROR, NULL, "only one of %s may stand%s", keys,
                 inside(path, where));
    else if (n && which == FIELD_NO_WORD)
        node_say(key_or_self(n), r->diags, DIAG_ERROR, NULL, "needs one of %s%s", keys,
                 inside(path, where));
}

/* The tree of a table as keys: a single value becomes {brief: value}, or for a choice {value: }. */
static enum hr_err as_map(const struct reader *r, const struct field_table *t, const struct node *n,
                          const struct path *path, const struct node **map)
{
    char where[PATH_BYTES], keys[512];
    *map = NULL;
    if (!n || n->kind == NODE_MAP || n->empty) {
        *map = n;
        return HR_OK;
    }
    bool word = n->kind == NODE_VALUE && t->one_of && field_find(t, n->value);
    if (n->kind == NODE_VALUE && (t->brief || word)) {
        struct node *wrap;
        TRY(node_expand(r->arena, n, word ? n->value : t->brief, word, &wrap));
        *map = wrap;
        return HR_OK;
    }
    keys_print(t, keys, sizeof keys);
    if (n->kind == NODE_VALUE && t->one_of)
        node_say(n, r->diags, DIAG_ERROR, NULL, "'%.60s'%s must be one of %s", n->value,
                 inside(path, where), keys);
    else
        node_say(n, r->diags, DIAG_ERROR, NULL, "%s takes keys (%s), not a %s",
                 path->name ? path->name : "a scenario", keys,
                 n->kind == NODE_LIST ? "list" : "single value");
    return HR_OK;
}

static enum hr_err read_struct(const struct reader *r, const struct field_table *t,
                               const struct node *n, void *base, const struct path *path)
{
    const struct node *map;
    TRY(as_map(r, t, n, path, &map));
    memset(base, 0, t->size);
    memcpy(base, &map, sizeof map);
    if (map && map->kind == NODE_MAP)
        for (const struct node *c = map->child; c; c = c->next)
            if (!field_find(t, c->key->value))
                say_unknown(r, t, c->key, path);
    if (t->one_of)
        read_choice(r, t, map, base, path);
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct field *f = &t->fields[i];
        const struct node *c = node_get(map, f->key);
        TRY(set_default(r, f, base, path));
        if (c)
            TRY(read_member(r, f, c, base, path));
        else if (f->required && map && !is_misspelt(t, f, map))
            say_missing(r, f, map, path);
    }
    return HR_OK;
}

enum hr_err read_table(struct arena *a, struct diags *diags, const struct field_table *table,
                       const struct node *tree, void *out)
{
    const struct reader r = {a, diags};
    const struct path root = {NULL, NULL};
    return read_struct(&r, table, tree, out, &root);
}
