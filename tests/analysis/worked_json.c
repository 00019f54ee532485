/* JSON is read as YAML in flow style, by the scenarios' own parser. */
#include "tests/analysis/worked_json.h"

#include "scenarios/node.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { VALUES_MAX = 4000, SHEETS_MAX = 100 };

static void add(struct arena *a, struct worked_file *f, const struct node *map, int number,
                bool expected)
{
    for (const struct node *v = map->child; v; v = v->next) {
        const bool list = v->kind == NODE_LIST;
        const size_t n = list ? v->n_children : 1;
        const char **texts = arena_array(a, n, sizeof *texts);
        size_t i = 0;
        if (!list)
            texts[0] = v->value;
        for (const struct node *item = v->child; list && item; item = item->next)
            texts[i++] = item->value;
        cr_assert_lt(f->n, (size_t)VALUES_MAX);
        f->items[f->n++] = (struct worked_value){
            f->sheets[f->n_sheets - 1], number, expected, v->key->value, texts, n};
    }
}

struct worked_file *worked_file_read(void)
{
    /* Alive until the test ends. */
    struct arena *a = malloc(sizeof *a);
    struct diags diags;
    struct text *text = NULL;
    struct node *root = NULL;
    arena_init(a);
    diags_init(&diags);
    const char *path = TEST_SOURCE_ROOT "/tests/data/worked_examples.json";
    const bool ok = text_read_file(a, path, &diags, &text) == HR_OK &&
                    node_parse(a, text, &diags, &root) == HR_OK && diags.n_errors == 0;
    diags_print(&diags, stderr, false);
    cr_assert(ok && root);
    struct worked_file *f = arena_alloc(a, sizeof *f);
    f->items = arena_array(a, VALUES_MAX, sizeof *f->items);
    f->sheets = arena_array(a, SHEETS_MAX, sizeof *f->sheets);
    const struct node *tolerance = node_get(root, "tolerance");
    f->relative = strtod(node_get(tolerance, "relative")->value, NULL);
    f->absolute = strtod(node_get(tolerance, "absolute")->value, NULL);
    for (const struct node *s = node_get(root, "worksheets")->child; s; s = s->next) {
        int number = 0;
        cr_assert_lt(f->n_sheets, (size_t)SHEETS_MAX);
        f->sheets[f->n_sheets++] = s->key->value;
        for (const struct node *c = s->child; c; c = c->next, number++) {
            add(a, f, node_get(c, "inputs"), number, false);
            add(a, f, node_get(c, "expected"), number, true);
        }
    }
    diags_fini(&diags);
    return f;
}
