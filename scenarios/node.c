/* From libyaml's events to a tree. */
#include "scenarios/node.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct builder {
    struct arena *arena;
    const struct text *text;
    struct diags *diags;
    struct node *open[NODE_MAX_DEPTH]; /* lists and maps not closed yet */
    struct node *keys[NODE_MAX_DEPTH]; /* of an open map: the key that waits for its value */
    size_t depth, n_nodes;
    struct node *root;
};

static enum hr_err refuse(struct builder *b, const yaml_mark_t *at, const char *what)
{
    text_say(b->text, (uint32_t)at->line + 1, (uint32_t)at->column + 1, b->diags, DIAG_ERROR, NULL,
             "%s", what);
    return HR_INPUT;
}

static void append(struct node *parent, struct node *entry)
{
    if (parent->last)
        parent->last->next = entry;
    else
        parent->child = entry;
    parent->last = entry;
    parent->n_children++;
}

/* Gives a finished node to the innermost open list or map. */
static enum hr_err place(struct builder *b, struct node *n, const yaml_mark_t *at)
{
    if (b->depth == 0) {
        b->root = n;
        return HR_OK;
    }
    struct node *parent = b->open[b->depth - 1], **key = &b->keys[b->depth - 1];
    if (parent->kind == NODE_MAP && !*key) {
        if (n->kind != NODE_VALUE)
            return refuse(b, at, "a key must be a word, not a list or a map");
        *key = n;
        return HR_OK;
    }
    n->key = *key;
    *key = NULL;
    append(parent, n);
    return HR_OK;
}

static enum hr_err start(struct builder *b, const yaml_event_t *e, enum node_kind kind,
                         struct node **out)
{
    if (++b->n_nodes > NODE_MAX_NODES)
        return refuse(b, &e->start_mark, "more than 20,000 values: not a scenario");
    struct node *n = arena_alloc(b->arena, sizeof *n);
    if (!n)
        return HR_NOMEM;
    *n = (struct node){.kind = kind,
                       .line = (uint32_t)e->start_mark.line + 1,
                       .column = (uint32_t)e->start_mark.column + 1,
                       .text = b->text};
    *out = n;
    return HR_OK;
}

static enum hr_err open_node(struct builder *b, const yaml_event_t *e, enum node_kind kind)
{
    struct node *n;
    if (b->depth == NODE_MAX_DEPTH)
        return refuse(b, &e->start_mark, "nested more than 32 levels deep");
    TRY(start(b, e, kind, &n));
    TRY(place(b, n, &e->start_mark));
    b->open[b->depth] = n;
    b->keys[b->depth++] = NULL;
    return HR_OK;
}

/* Escapes can make what the text itself may not hold: "\e[2J" would drive a terminal later. */
static const char *refused_by_escape(const unsigned char *value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (value[i] == '\0')
            return "a NUL character is not allowed here";
        bool control = value[i] < 0x20 && value[i] != '\n' && value[i] != '\t';
        bool high = value[i] == 0xC2 && i + 1 < n && value[i + 1] < 0xA0;
        if (control || high || value[i] == 0x7F)
            return "a control character is not allowed here";
    }
    return NULL;
}

static enum hr_err add_value(struct builder *b, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;
    struct node *n;
    const char *why = refused_by_escape(e->data.scalar.value, e->data.scalar.length);
    if (why)
        return refuse(b, &e->start_mark, why);
    TRY(start(b, e, NODE_VALUE, &n));
    n->value = arena_strndup(b->arena, value, e->data.scalar.length);
    if (!n->value)
        return HR_NOMEM;
    const bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    n->empty = plain && *n->value == '\0';
    n->unset = plain && strcmp(n->value, "~") == 0;
    return place(b, n, &e->start_mark);
}

static int by_key(const void *a, const void *b)
{
    const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;
    int order = strcmp(x->key->value, y->key->value);
    if (order == 0)
        order = (x->key->line > y->key->line) - (x->key->line < y->key->line);
    if (order == 0)
        order = (x->key->column > y->key->column) - (x->key->column < y->key->column);
    return order;
}

/* Sorted, so a hostile map of thousands of keys costs no square. */
static enum hr_err refuse_duplicates(struct builder *b, const struct node *map)
{
    if (map->n_children < 2)
        return HR_OK;
    struct node **sorted = malloc(map->n_children * sizeof *sorted);
    if (!sorted)
        return HR_NOMEM;
    size_t n = 0;
    for (struct node *c = map->child; c; c = c->next)
        sorted[n++] = c;
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 1, first = 0; i < n; i++) {
        const struct node *before = sorted[first]->key;
        if (strcmp(before->value, sorted[i]->key->value) == 0)
            node_say(sorted[i]->key, b->diags, DIAG_ERROR, NULL,
                     "duplicate key '%.60s', first on line %u", before->value, before->line);
        else
            first = i;
    }
    free(sorted);
    return HR_OK;
}

static enum hr_err close_node(struct builder *b)
{
    const struct node *n = b->open[--b->depth];
    return n->kind == NODE_MAP ? refuse_duplicates(b, n) : HR_OK;
}

/* Anchors and tags of an event, NULL where it has none. */
static void decorations(const yaml_event_t *e, const yaml_char_t **anchor, const yaml_char_t **tag)
{
    *anchor = *tag = NULL;
    if (e->type == YAML_SCALAR_EVENT) {
        *anchor = e->data.scalar.anchor;
        *tag = e->data.scalar.tag;
    } else if (e->type == YAML_SEQUENCE_START_EVENT) {
        *anchor = e->data.sequence_start.anchor;
        *tag = e->data.sequence_start.tag;
    } else if (e->type == YAML_MAPPING_START_EVENT) {
        *anchor = e->data.mapping_start.anchor;
        *tag = e->data.mapping_start.tag;
    }
}

static enum hr_err take_event(struct builder *b, const yaml_event_t *e)
{
    const yaml_char_t *anchor, *tag;
    decorations(e, &anchor, &tag);
    if (e->type == YAML_ALIAS_EVENT || anchor)
        return refuse(b, &e->start_mark,
                      "anchors (&) and aliases (*) are not allowed: write the "
                      "value out, or quote a text that begins so");
    if (tag)
        return refuse(b, &e->start_mark, "tags (!) are not allowed: quote a text that begins so");
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->root)
            return refuse(b, &e->start_mark, "a second document (---) is not allowed");
        return HR_OK;
    case YAML_SCALAR_EVENT:
        return add_value(b, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(b, e, NODE_LIST);
    case YAML_MAPPING_START_EVENT:
        return open_node(b, e, NODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(b);
    default:
        return HR_OK;
    }
}

/* libyaml's reasons are good English save for the commonest mistake of all. */
static enum hr_err say_syntax(struct builder *b, const yaml_parser_t *p)
{
    if (p->error == YAML_MEMORY_ERROR)
        return HR_NOMEM;
    size_t line = p->problem_mark.line, column = p->problem_mark.column;
    char *source = text_line(b->text, (uint32_t)line + 1);
    bool tab = source && column < strlen(source) && source[strspn(source, " ")] == '\t' &&
               strstr(p->problem, "cannot start any token");
    free(source);
    char context[128] = "";
    if (p->context && p->context_mark.line != line)
        snprintf(context, sizeof context, " %s that begins on line %zu", p->context,
                 p->context_mark.line + 1);
    text_say(b->text, (uint32_t)line + 1, (uint32_t)column + 1, b->diags, DIAG_ERROR, NULL, "%s%s",
             tab ? "a tab cannot indent: use spaces" : p->problem, tab ? "" : context);
    return HR_INPUT;
}

static enum hr_err run_events(struct builder *b, yaml_parser_t *p)
{
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(p, &e))
            return say_syntax(b, p);
        bool end = e.type == YAML_STREAM_END_EVENT;
        enum hr_err err = take_event(b, &e);
        yaml_event_delete(&e);
        if (err != HR_OK || end)
            return err;
    }
}

enum hr_err node_parse(struct arena *a, const struct text *text, struct diags *diags,
                       struct node **root)
{
    yaml_parser_t p;
    if (!yaml_parser_initialize(&p))
        return HR_NOMEM;
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p, (const unsigned char *)text->bytes, text->n);
    struct builder b = {.arena = a, .text = text, .diags = diags};
    enum hr_err err = run_events(&b, &p);
    yaml_parser_delete(&p);
    *root = err == HR_OK ? b.root : NULL;
    return err;
}

struct node *node_get(const struct node *map, const char *key)
{
    if (!map || map->kind != NODE_MAP)
        return NULL;
    for (struct node *c = map->child; c; c = c->next)
        if (strcmp(c->key->value, key) == 0)
            return c;
    return NULL;
}

struct node *node_new(struct arena *a, enum node_kind kind, const struct node *place)
{
    struct node *n = arena_alloc(a, sizeof *n);
    if (n)
        *n = (struct node){.kind = kind,
                           .line = place->line,
                           .column = place->column,
                           .text = place->text,
                           .value = ""};
    return n;
}

void node_replace(struct node *parent, const struct node *old, struct node *value)
{
    struct node **slot = &parent->child;
    while (*slot != old)
        slot = &(*slot)->next;
    value->next = old->next;
    *slot = value;
    if (parent->last == old)
        parent->last = value;
}

void node_put(struct node *map, struct node *key, struct node *value)
{
    assert(map->kind == NODE_MAP && key->kind == NODE_VALUE);
    const struct node *old = node_get(map, key->value);
    value->key = key;
    value->next = NULL;
    if (old)
        node_replace(map, old, value);
    else
        append(map, value);
}

void node_remove(struct node *parent, const struct node *entry)
{
    struct node **slot = &parent->child, *before = NULL;
    while (*slot != entry) {
        before = *slot;
        slot = &before->next;
    }
    *slot = entry->next;
    if (parent->last == entry)
        parent->last = before;
    parent->n_children--;
}

enum hr_err node_expand(struct arena *a, const struct node *n, const char *key, bool drop_value,
                        struct node **out)
{
    struct node *map = node_new(a, NODE_MAP, n), *word = node_new(a, NODE_VALUE, n);
    struct node *value = drop_value ? node_new(a, NODE_VALUE, n) : node_copy(a, n);
    if (!map || !word || !value)
        return HR_NOMEM;
    word->value = key;
    value->empty = value->empty || drop_value;
    map->key = n->key;
    node_put(map, word, value);
    *out = map;
    return HR_OK;
}

struct node *node_copy(struct arena *a, const struct node *from)
{
    struct node *n = arena_alloc(a, sizeof *n);
    if (!n)
        return NULL;
    *n = *from;
    n->next = n->child = n->last = NULL;
    n->n_children = 0;
    for (const struct node *c = from->child; c; c = c->next) {
        struct node *copy = node_copy(a, c);
        if (!copy)
            return NULL;
        append(n, copy);
    }
    return n;
}

static void print_value(FILE *out, const char *value)
{
    fputc('"', out);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            fputc('\\', out);
        fputc(*value, out);
    }
    fputc('"', out);
}

static void print_node(FILE *out, const struct node *n)
{
    if (n->kind == NODE_VALUE) {
        print_value(out, n->value);
        return;
    }
    fputc(n->kind == NODE_MAP ? '{' : '[', out);
    for (const struct node *c = n->child; c; c = c->next) {
        if (c->key) {
            print_value(out, c->key->value);
            fputc(':', out);
        }
        print_node(out, c);
        if (c->next)
            fputc(',', out);
    }
    fputc(n->kind == NODE_MAP ? '}' : ']', out);
}

enum hr_err node_print(struct arena *a, const struct node *n, char **out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return HR_NOMEM;
    print_node(stream, n);
    bool failed = ferror(stream) != 0;
    failed = fclose(stream) != 0 || failed;
    *out = failed ? NULL : arena_strdup(a, text);
    free(text);
    return *out ? HR_OK : HR_NOMEM;
}

void node_say(const struct node *at, struct diags *diags, enum diag_level level,
              const char *nearest, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    text_say(at->text, at->line, at->column, diags, level, nearest, "%s", message);
}
