/* What connects the devices of one node; node_links.h defines the terms. */
#include "models/hardware/node_links.h"

#define NAME_ENTRY(code, name, doc) name,
const char *const link_names[LINK_LEVELS] = {LINK_LIST(NAME_ENTRY)};
#undef NAME_ENTRY
#define DOC_ENTRY(code, name, doc) doc,
const char *const link_docs[LINK_LEVELS] = {LINK_LIST(DOC_ENTRY)};
#undef DOC_ENTRY

struct link_pairs node_links_pairs(const struct node_links *l)
{
    struct link_pairs pairs = {0};
    for (uint32_t a = 0; a < l->n_gpus; a++)
        for (uint32_t b = a + 1; b < l->n_gpus; b++)
            pairs.n[l->gpu_gpu[a][b]]++;
    return pairs;
}

/* Puts each GPU into the set of the first one that it belongs with. */
static uint32_t group(const struct node_links *l, enum link_level level, bool by_numa,
                      uint32_t set[NODE_GPUS_MAX])
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < l->n_gpus; a++) {
        uint32_t b = 0;
        while (b < a && !(by_numa ? l->numa[a] == l->numa[b] : l->gpu_gpu[a][b] <= level))
            b++;
        set[a] = b < a ? set[b] : n++;
    }
    return n;
}

uint32_t node_links_sets(const struct node_links *l, enum link_level level,
                         uint32_t set[NODE_GPUS_MAX])
{
    return group(l, level, false, set);
}

uint32_t node_links_sockets(const struct node_links *l, uint32_t set[NODE_GPUS_MAX])
{
    bool numa = true;
    for (uint32_t i = 0; i < l->n_gpus; i++)
        numa = numa && l->numa[i] != LINK_NONE;
    return group(l, LINK_NODE, numa, set);
}

uint32_t node_links_nic(const struct node_links *l, uint32_t gpu)
{
    uint32_t nearest = LINK_NONE, as_near = 0;
    for (uint32_t i = 0; i < l->n_nics; i++) {
        enum link_level level = l->gpu_nic[gpu][i];
        if (nearest == LINK_NONE || level < l->gpu_nic[gpu][nearest]) {
            nearest = i;
            as_near = 0;
        }
        as_near += level == l->gpu_nic[gpu][nearest];
    }
    if (nearest == LINK_NONE || as_near > 1 || l->gpu_nic[gpu][nearest] > LINK_PHB)
        return LINK_NONE;
    for (uint32_t other = 0; other < l->n_gpus; other++)
        if (other != gpu && l->gpu_nic[other][nearest] <= l->gpu_nic[gpu][nearest])
            return LINK_NONE;
    return nearest;
}

uint32_t node_links_rail(const struct node_links *l, uint32_t gpu)
{
    uint32_t own = node_links_nic(l, gpu), rail = 0;
    if (own == LINK_NONE)
        return LINK_NONE;
    for (uint32_t other = 0; other < l->n_gpus; other++)
        if (other != gpu) {
            uint32_t nic = node_links_nic(l, other);
            rail += nic != LINK_NONE && nic < own;
        }
    return rail;
}
