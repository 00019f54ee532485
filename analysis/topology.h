/* What a topology listing or a fleet was understood to be, drawn as text of at most 80 columns or
 * as JSON: the devices of a node; the spines, leaf groups and racks of nodes. */
#ifndef HEADROOM_ANALYSIS_TOPOLOGY_H
#define HEADROOM_ANALYSIS_TOPOLOGY_H

#include "models/hardware/node_links.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A row a socket: its GPUs, the card and the rail of each; then pairs by level. */
void topology_print_node(FILE *out, const struct node_links *l, bool json);

/* Nodes in leaf groups. */
struct topology_units {
    const char *name, *kind;      /* "su01.conf", "tree of switches" */
    const char *placement;        /* rule; NULL: not known */
    const char *const *leaves;    /* names; NULL: they have none */
    const uint32_t *leaf_nodes;   /* of each */
    uint32_t n_leaves;            /* 0: no topology */
    const uint32_t *spine_leaves; /* leaf groups of each spine */
    uint32_t n_spines;            /* 0 or 1: no such level */
    const uint32_t *rack_nodes;
    uint32_t n_racks, n_nodes;
    uint32_t gpus_per_node; /* 0: not known */
};

/* n of them: of a file one, of a fleet one a pool. Groups alike and in a row share a line. */
void topology_print_units(FILE *out, const struct topology_units *units, size_t n, bool json);

#endif
