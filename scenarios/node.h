/* The tree of a YAML text: values, lists and maps with the place of each.
 *
 * Built from libyaml's events, never by its document loader, and bounded: 32 levels, 20,000 nodes
 * (a table of a day by the minute has 3,000), 1 MiB of text. Anchors, aliases and tags are refused,
 * so a tree is never larger than its text; so are duplicate keys, keys that are not single values
 * and a second document. */
#ifndef HEADROOM_SCENARIOS_NODE_H
#define HEADROOM_SCENARIOS_NODE_H

#include "scenarios/text.h"

enum { NODE_MAX_DEPTH = 32, NODE_MAX_NODES = 20000 };

enum node_kind { NODE_VALUE, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    bool empty; /* a value that is not there: `key:` */
    bool unset; /* `key: ~`, unquoted: an overlay takes the key away */
    uint32_t line, column;
    const struct text *text;
    const char *value;  /* NODE_VALUE; arena, NUL at the end and nowhere else */
    struct node *key;   /* of an entry of a map: its key, a value */
    struct node *next;  /* next entry of the same list or map */
    struct node *child; /* first entry */
    struct node *last;  /* last entry */
    uint32_t n_children;
};

/* HR_INPUT: said in diags, no tree. Duplicate keys are said in diags too but leave a whole tree
 * (HR_OK, with more errors in diags), so that a caller can go on and find the other mistakes. *root
 * is NULL for a text without content. */
enum hr_err node_parse(struct arena *a, const struct text *text, struct diags *diags,
                       struct node **root);

/* The value of a key, or NULL. map may be NULL. */
struct node *node_get(const struct node *map, const char *key);

/* A new map or value at the place of another node; NULL when memory is out. */
struct node *node_new(struct arena *a, enum node_kind kind, const struct node *place);

/* Puts value into the map under the key, in place of what is there. */
void node_put(struct node *map, struct node *key, struct node *value);

/* Puts value in the place of an entry of a list or map; value->key stays as the caller set it. */
void node_replace(struct node *parent, const struct node *old, struct node *value);

/* Takes an entry out of a list or map. */
void node_remove(struct node *parent, const struct node *entry);

/* {key: n} at the place of n, where n stands for it; with drop_value {key: } without n. */
enum hr_err node_expand(struct arena *a, const struct node *n, const char *key, bool drop_value,
                        struct node **out);

/* A copy of the tree; NULL when memory is out. */
struct node *node_copy(struct arena *a, const struct node *from);

/* The tree on one line, the same for the same values however they were laid out; in the arena. */
enum hr_err node_print(struct arena *a, const struct node *n, char **out);

/* Adds a diagnostic at the node. */
void node_say(const struct node *at, struct diags *diags, enum diag_level level,
              const char *nearest, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
