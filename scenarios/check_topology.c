/* Checks of leaf groups and spines and of what needs them: nodes of one size, sums, gangs that ask
 * for them. */
#include "scenarios/check_topology.h"

static bool one_size(const struct check *c)
{
    const struct field_list *groups = &c->spec->fleet.groups;
    const struct group_spec *g = groups->items;
    for (size_t i = 1; i < groups->n; i++)
        if (g[i].gpus_per_node != g[0].gpus_per_node)
            return false;
    return true;
}

/* Leaf groups; 0: not known. */
static uint64_t topology_leaves(const struct topology_spec *t, uint64_t nodes)
{
    if (t->leaves.n > 0)
        return t->leaves.n;
    return t->leaf != FIELD_NO_WHOLE && t->leaf > 0 ? (nodes + t->leaf - 1) / t->leaf : 0;
}

static uint64_t sum(const struct field_list *numbers)
{
    const uint64_t *n = numbers->items;
    uint64_t all = 0;
    for (size_t i = 0; i < numbers->n; i++)
        all += n[i] != FIELD_NO_WHOLE ? n[i] : 0;
    return all;
}

/* One way to say what the leaf groups are. */
static void check_ways(const struct check *c, const struct topology_spec *t)
{
    bool leaf = t->leaf != FIELD_NO_WHOLE, leaves = t->leaves.at != NULL, file = t->file != NULL;
    if (!t->at)
        return;
    bool spine = t->spine != FIELD_NO_WHOLE, spines = t->spines.at != NULL;
    if (leaf + leaves + file > 1)
        check_say(c, DIAG_ERROR, t->at, file ? "file" : "leaves", NULL,
                  "leaf, leaves and file exclude each other");
    else if (spine + spines + file > 1)
        check_say(c, DIAG_ERROR, t->at, file ? "file" : "spines", NULL,
                  "spine, spines and file exclude each other");
    else if (t->domains && !file)
        check_say(c, DIAG_ERROR, t->at, "domains", NULL,
                  "domains is for a file of blocks; else a domain is a leaf group: say `leaf`");
    else if (!leaf && t->leaves.n == 0 && !file)
        check_say(c, DIAG_ERROR, t->at, NULL, NULL,
                  "topology needs leaf, the nodes of a leaf group, leaves, those of each, or file");
    if (file)
        check_file(c, t->at, t->file);
}

static void check_sums(const struct check *c, const struct topology_spec *t,
                       const struct pool_view *v)
{
    uint64_t leaves = topology_leaves(t, v->nodes);
    if (t->leaves.n > 0 && v->nodes > 0 && sum(&t->leaves) != v->nodes)
        check_say(c, DIAG_ERROR, t->at, "leaves", NULL,
                  "leaves: %llu nodes in all, but there are %llu in %.60s",
                  (unsigned long long)sum(&t->leaves), (unsigned long long)v->nodes, v->name);
    if (t->spines.n > 0 && leaves > 0 && sum(&t->spines) != leaves)
        check_say(c, DIAG_ERROR, t->at, "spines", NULL,
                  "spines: %llu leaf groups in all, but there are %llu in %.60s",
                  (unsigned long long)sum(&t->spines), (unsigned long long)leaves, v->name);
}

void check_topology(const struct check *c, const struct pool_view *v)
{
    const struct topology_spec *t = v->topology;
    bool rule = v->placement == PLACE_TOPOLOGY;
    check_ways(c, t);
    if (t->at)
        check_sums(c, t, v);
    if (rule && !t->at)
        check_say(c, DIAG_ERROR, v->at, "placement", NULL,
                  "placement: topology needs leaf groups: say `topology: {leaf: 32}`");
    if ((rule || t->at) && !one_size(c))
        check_say(c, DIAG_ERROR, v->at, t->at ? "topology" : "placement", NULL,
                  "leaf groups need nodes of one size; make a pool of each size");
}

void check_gang_placement(const struct check *c, const struct training_spec *t)
{
    bool leaf = t->placement == SHAPE_ONE_LEAF, groups = false;
    if (!leaf && t->placement != SHAPE_WHOLE_NODES)
        return;
    for (size_t i = 0; i < pools_count(c); i++)
        groups = groups || pools_view(c, i).topology->at;
    if (leaf && !groups)
        check_say(c, DIAG_ERROR, t->at, "placement", NULL,
                  "placement: one-leaf needs leaf groups: say `topology: {leaf: 32}` in the fleet");
    if (!one_size(c))
        check_say(c, DIAG_ERROR, t->at, "placement", NULL,
                  "placement: %s needs nodes of one size; make a pool of each size",
                  shape_kind_names[t->placement]);
}
