/* The reference of a language, printed from its field tables: markdown for the README, text of at
 * most 80 columns for the terminal. */
#include "sim/field.h"

#include <assert.h>
#include <string.h>

enum { MAX_TABLES = 96, LINE_BYTES = 512, TEXT_COLUMNS = 80, TEXT_INDENT = 22 };

struct tables {
    const struct field_table *items[MAX_TABLES];
    size_t n;
};

/* Depth first, each table once: a reader meets a table after the one that mentions it. */
static void collect(struct tables *all, const struct field_table *table)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i] == table)
            return;
    assert(all->n < MAX_TABLES);
    all->items[all->n++] = table;
    for (size_t i = 0; i < table->n_fields; i++) {
        if (table->fields[i].table)
            collect(all, table->fields[i].table);
        if (table->fields[i].item && table->fields[i].item->table)
            collect(all, table->fields[i].item->table);
    }
}

/* What may stand as the value. Links are for markdown; there a heading is its own anchor. */
static void describe(const struct field *f, bool links, char *out, size_t size)
{
    static const char *const holds[FIELD_KINDS] = {
        [FIELD_TABLE] = "", [FIELD_LIST] = "list of ", [FIELD_MAP] = "names, each with "};
    char item[LINE_BYTES] = "";
    if (f->table && links)
        snprintf(item, sizeof item, "[%s](#%s)", f->table->name, f->table->name);
    else if (f->table)
        snprintf(item, sizeof item, "%s", f->table->name);
    else if (f->item)
        describe(f->item, links, item, sizeof item);
    else
        field_expectation(f, item, sizeof item);
    snprintf(out, size, "%s%.*s", holds[f->kind] ? holds[f->kind] : "", LINE_BYTES - 32, item);
}

static void markdown_row(const struct field *f, FILE *out)
{
    char value[LINE_BYTES];
    describe(f, true, value, sizeof value);
    fprintf(out, "| `%s` | %s | ", f->key, value);
    if (f->required)
        fputs("required", out);
    else if (f->fallback && f->fallback[0])
        fprintf(out, "`%s`", f->fallback);
    fprintf(out, " | %s |\n", f->doc);
}

void field_print_markdown(const struct field_table *root, FILE *out)
{
    struct tables all = {.n = 0};
    collect(&all, root);
    for (size_t i = 0; i < all.n; i++) {
        const struct field_table *t = all.items[i];
        fprintf(out, "%s### %s\n\n%s.", i ? "\n" : "", t->name, t->doc);
        if (t->one_of)
            fputs(" Exactly one of the keys.", out);
        if (t->brief)
            fprintf(out, " A single value stands for `%s`.", t->brief);
        fputs("\n\n", out);
        if (t->n_fields)
            fputs("| key | value | default | meaning |\n|---|---|---|---|\n", out);
        for (size_t j = 0; j < t->n_fields; j++)
            markdown_row(&t->fields[j], out);
    }
}

/* Words of a text from the given column on, broken before the 80th column. */
static void print_wrapped(const char *text, size_t indent, size_t column, FILE *out)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column + n + 1 > TEXT_COLUMNS && column > indent) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        fprintf(out, "%s%.*s", column > indent ? " " : "", (int)n, text);
        column += n + (column > indent);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void text_row(const struct field *f, FILE *out)
{
    char value[LINE_BYTES], line[2 * LINE_BYTES];
    describe(f, false, value, sizeof value);
    bool fallback = f->fallback && f->fallback[0];
    snprintf(line, sizeof line, "%s%s%s%s%s", value, f->required ? " (required)" : "",
             fallback ? " (default " : "", fallback ? f->fallback : "", fallback ? ")" : "");
    size_t n = strlen(f->key) + 2;
    fprintf(out, "  %s", f->key);
    if (n + 2 > TEXT_INDENT) {
        fputc('\n', out);
        n = 0;
    }
    fprintf(out, "%*s", (int)(TEXT_INDENT - n), "");
    print_wrapped(f->doc, TEXT_INDENT, TEXT_INDENT, out);
    fprintf(out, "%*s", TEXT_INDENT, "");
    print_wrapped(line, TEXT_INDENT, TEXT_INDENT, out);
}

void field_print_text(const struct field_table *root, FILE *out)
{
    struct tables all = {.n = 0};
    collect(&all, root);
    for (size_t i = 0; i < all.n; i++) {
        const struct field_table *t = all.items[i];
        fprintf(out, "%s%s\n  ", i ? "\n" : "", t->name);
        print_wrapped(t->doc, 2, 2, out);
        if (t->one_of)
            fputs("  Exactly one of the keys.\n", out);
        if (t->brief)
            fprintf(out, "  A single value stands for %s.\n", t->brief);
        for (size_t j = 0; j < t->n_fields; j++)
            text_row(&t->fields[j], out);
    }
}
