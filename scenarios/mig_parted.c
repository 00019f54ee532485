/* Reader of mig-parted configurations, from the tree of the YAML text. */
#include "scenarios/mig_parted.h"

#include "scenarios/node.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 64, INSTANCES_MAX = 64 };

struct reading {
    const struct mig_packer *packer;
    struct arena *arena;
    struct diags *diags;
};

static const char *const root_keys[] = {"version", "mig-configs"};
static const char *const group_keys[] = {"devices", "device-filter", "mig-enabled", "mig-devices"};

static enum hr_err wrong(const struct reading *r, const struct node *at, const char *what)
{
    node_say(at, r->diags, DIAG_ERROR, NULL, "%s", what);
    return HR_INPUT;
}

/* Keys that are none of these, with the nearest of them. */
static void check_keys(const struct reading *r, const struct node *map, const char *const *keys,
                       size_t n)
{
    for (const struct node *child = map->child; child; child = child->next) {
        size_t i = 0;
        while (i < n && strcmp(keys[i], child->key->value) != 0)
            i++;
        if (i == n)
            node_say(child->key, r->diags, DIAG_ERROR, diag_nearest(child->key->value, keys, n),
                     "unknown key '%s'", child->key->value);
    }
}

/* A whole number of at most so many; false: said. */
static bool read_number(const struct reading *r, const struct node *n, uint32_t most, uint32_t *out)
{
    const char *at = n->kind == NODE_VALUE ? n->value : "";
    uint32_t value = 0;
    while (*at >= '0' && *at <= '9' && value <= most)
        value = value * 10 + (uint32_t)(*at++ - '0');
    if (n->kind != NODE_VALUE || n->empty || *at != '\0' || at == n->value || value > most) {
        node_say(n, r->diags, DIAG_ERROR, NULL, "a whole number up to %u is due here", most);
        return false;
    }
    *out = value;
    return true;
}

static bool is_word(const struct node *n, const char *word)
{
    return n && n->kind == NODE_VALUE && !n->empty && strcmp(n->value, word) == 0;
}

static enum hr_err read_devices(const struct reading *r, const struct node *n,
                                struct mig_parted_group *out)
{
    out->all = is_word(n, "all");
    if (out->all)
        return HR_OK;
    if (n->kind != NODE_LIST || n->n_children == 0)
        return wrong(r, n, "devices are `all` or a list of numbers such as [0, 1]");
    uint32_t *devices = arena_array(r->arena, n->n_children, sizeof *devices);
    if (!devices)
        return HR_NOMEM;
    for (const struct node *child = n->child; child; child = child->next) {
        if (!read_number(r, child, DEVICES_MAX - 1, &devices[out->n_devices]))
            return HR_INPUT;
        for (size_t i = 0; i < out->n_devices; i++)
            if (devices[i] == devices[out->n_devices])
                return wrong(r, child, "this GPU is in the list already");
        out->n_devices++;
    }
    out->devices = devices;
    return HR_OK;
}

/* The instances of a group, and a layout that holds them. */
static enum hr_err read_instances(const struct reading *r, const struct node *n,
                                  struct mig_parted_group *out)
{
    const struct mig_gpu *gpu = &r->packer->t->gpu;
    const char *names[MIG_PROFILES];
    struct mig_plan plan;
    bool bad = false;
    if (n->kind != NODE_MAP || n->n_children == 0)
        return wrong(r, n, "instances by profile are due here, such as {\"1g.10gb\": 7}");
    for (uint8_t p = 0; p < gpu->n_profiles; p++)
        names[p] = gpu->profiles[p].name;
    for (const struct node *child = n->child; child; child = child->next) {
        const uint8_t p = mig_profile_find(gpu, child->key->value);
        if (p == gpu->n_profiles) {
            node_say(child->key, r->diags, DIAG_ERROR,
                     diag_nearest(child->key->value, names, gpu->n_profiles),
                     "this GPU has no profile '%s'", child->key->value);
            bad = true;
        } else if (!read_number(r, child, INSTANCES_MAX, &out->n[p])) {
            bad = true;
        }
    }
    if (bad)
        return HR_INPUT;
    TRY(mig_pack(r->packer, out->n, r->arena, &plan));
    if (plan.n_gpus > 1)
        return wrong(r, n, "these instances do not fit on one GPU");
    if (plan.n_rows)
        out->layout = plan.rows[0].layout;
    return HR_OK;
}

static enum hr_err read_group(const struct reading *r, const struct node *n,
                              struct mig_parted_group *out)
{
    if (n->kind != NODE_MAP)
        return wrong(r, n, "a group with devices and mig-enabled is due here");
    check_keys(r, n, group_keys, sizeof group_keys / sizeof *group_keys);
    const struct node *devices = node_get(n, "devices"), *filter = node_get(n, "device-filter");
    const struct node *enabled = node_get(n, "mig-enabled"), *of = node_get(n, "mig-devices");
    mig_layout_empty(r->packer->t, &out->layout);
    if (!devices || !enabled)
        return wrong(r, n, "a group needs devices and mig-enabled");
    enum hr_err err = read_devices(r, devices, out);
    if (err == HR_NOMEM)
        return err;
    if (filter) {
        char *text;
        TRY(node_print(r->arena, filter, &text));
        out->filter = text;
    }
    out->enabled = is_word(enabled, "true");
    if (!out->enabled && !is_word(enabled, "false"))
        return wrong(r, enabled, "true or false is due here");
    if (of && !out->enabled && of->n_children)
        return wrong(r, of, "a group without MIG can have no instances");
    if (of && out->enabled) {
        enum hr_err instances = read_instances(r, of, out);
        return instances == HR_OK ? err : instances;
    }
    return err;
}

static enum hr_err read_config(const struct reading *r, const struct node *n,
                               struct mig_parted_config *out)
{
    out->name = n->key->value;
    if (n->kind != NODE_LIST || n->n_children == 0)
        return wrong(r, n, "a list of groups is due here");
    out->groups = arena_array(r->arena, n->n_children, sizeof *out->groups);
    if (!out->groups)
        return HR_NOMEM;
    for (const struct node *child = n->child; child; child = child->next) {
        enum hr_err err = read_group(r, child, &out->groups[out->n_groups++]);
        if (err != HR_OK && err != HR_INPUT)
            return err;
    }
    return HR_OK;
}

static enum hr_err read_root(const struct reading *r, const struct node *root,
                             struct mig_parted *out)
{
    const struct node *version = node_get(root, "version"),
                      *configs = node_get(root, "mig-configs");
    check_keys(r, root, root_keys, sizeof root_keys / sizeof *root_keys);
    if (!is_word(version, "v1"))
        return wrong(r, version ? version : root, "version: v1 is due here");
    if (!configs || configs->kind != NODE_MAP)
        return wrong(r, configs ? configs : root, "mig-configs, layouts by name, are due here");
    out->configs = arena_array(r->arena, configs->n_children, sizeof *out->configs);
    if (!out->configs)
        return HR_NOMEM;
    for (const struct node *child = configs->child; child; child = child->next) {
        enum hr_err err = read_config(r, child, &out->configs[out->n++]);
        if (err != HR_OK && err != HR_INPUT)
            return err;
    }
    return HR_OK;
}

enum hr_err mig_parted_read(const char *path, const struct mig_packer *packer, struct arena *arena,
                            struct diags *diags, struct mig_parted *out)
{
    const struct reading r = {packer, arena, diags};
    const size_t before = diags->n_errors;
    struct text *text;
    struct node *root;
    *out = (struct mig_parted){.n = 0};
    TRY(text_read_file(arena, path, diags, &text));
    TRY(node_parse(arena, text, diags, &root));
    if (!root || root->kind != NODE_MAP) {
        text_say(text, 1, 1, diags, DIAG_ERROR, NULL, "version and mig-configs are due here");
        return HR_INPUT;
    }
    TRY(read_root(&r, root, out));
    return diags->n_errors > before ? HR_INPUT : HR_OK;
}
