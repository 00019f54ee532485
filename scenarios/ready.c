/* The ready scenarios of a folder. */
#include "scenarios/node.h"
#include "scenarios/scenario.h"
#include "sim/vec.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct entries {
    struct scenario_entry *items;
    size_t n, capacity;
};

static bool is_yaml(const char *name)
{
    size_t n = strlen(name);
    return name[0] != '.' && ((n > 5 && strcmp(name + n - 5, ".yaml") == 0) ||
                              (n > 4 && strcmp(name + n - 4, ".yml") == 0));
}

/* Up to the first stop that ends a sentence; a folded text may end in a newline. */
static char *first_sentence(struct arena *a, const char *text)
{
    const char *stop = strstr(text, ". ");
    size_t n = stop ? (size_t)(stop - text) + 1 : strcspn(text, "\n");
    return arena_strndup(a, text, n);
}

/* The name and description only: whether the rest is right is not asked here. */
static enum hr_err read_entry(struct arena *a, const char *path, struct entries *all)
{
    struct diags ignored;
    struct text *text;
    struct node *root = NULL;
    diags_init(&ignored);
    enum hr_err err = text_read_file(a, path, &ignored, &text);
    if (err == HR_OK)
        err = node_parse(a, text, &ignored, &root);
    diags_fini(&ignored);
    if (err == HR_NOMEM)
        return err;
    const struct node *name = node_get(root, "scenario"), *about = node_get(root, "description");
    if (!name || name->kind != NODE_VALUE || name->empty)
        return HR_OK;
    bool described = about && about->kind == NODE_VALUE;
    struct scenario_entry e = {name->value, arena_strdup(a, path),
                               first_sentence(a, described ? about->value : "")};
    if (!e.path || !e.description || !vec_push(all, e))
        return HR_NOMEM;
    return HR_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct scenario_entry *)a)->path,
                  ((const struct scenario_entry *)b)->path);
}

static enum hr_err read_folder(DIR *dir, const char *folder, struct arena *a, struct entries *all)
{
    for (const struct dirent *d; (d = readdir(dir));) {
        if (!is_yaml(d->d_name))
            continue;
        size_t size = strlen(folder) + strlen(d->d_name) + 2;
        char *path = arena_alloc(a, size);
        if (!path)
            return HR_NOMEM;
        snprintf(path, size, "%s/%s", folder, d->d_name);
        TRY(read_entry(a, path, all));
    }
    if (all->n)
        qsort(all->items, all->n, sizeof *all->items, by_path);
    return HR_OK;
}

enum hr_err scenario_list(const char *folder, struct arena *a, struct scenario_entry **out,
                          size_t *n)
{
    struct entries all = {0};
    DIR *dir = opendir(folder);
    if (!dir)
        return HR_IO;
    enum hr_err err = read_folder(dir, folder, a, &all);
    closedir(dir);
    if (err == HR_OK) {
        *out = arena_array(a, all.n, sizeof **out);
        *n = all.n;
        err = *out ? HR_OK : HR_NOMEM;
    }
    if (err == HR_OK && all.n)
        memcpy(*out, all.items, all.n * sizeof **out);
    vec_free(&all);
    return err;
}
