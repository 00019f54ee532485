/* Reader of Slurm's topology.conf, of both plugins.
 *
 *     topology/tree    SwitchName=leaf01 Nodes=n[01-32]     a leaf switch: a leaf group
 *                      SwitchName=pod01 Switches=leaf[01-04] the first that contains it: its spine
 *                      SwitchName=core Switches=pod[01-02]  switches above are no level
 *     topology/block   BlockName=rack01 Nodes=n[01-04]      a base block: a rack
 *                      BlockSizes=4,8,32                    the largest is a leaf group
 *
 * Keys are taken without case; # begins a comment; a backslash at the end of a line continues it.
 * Node lists are Slurm's: prefixes with [01,03-08] in any number, separated by commas. */
#ifndef HEADROOM_TRACES_SLURM_TOPOLOGY_H
#define HEADROOM_TRACES_SLURM_TOPOLOGY_H

#include "traces/lines.h"

#include <stdint.h>

enum { SLURM_NODES_MAX = 100000 };

struct slurm_topology {
    bool blocks;
    uint32_t n_nodes, n_leaves, n_racks; /* racks: 0 in a tree */
    const char **nodes;   /* names, by leaf group, those by spine; the arena's, as all */
    const char **leaves;  /* names; of blocks that of the first */
    uint32_t *leaf_nodes; /* how many nodes each has */
    uint32_t *rack_nodes, *leaf_racks; /* nodes of each rack; racks of each leaf group */
    const char **spines;               /* names */
    uint32_t *spine_leaves;            /* leaf groups of each */
    uint32_t n_spines;                 /* 0: no switch is above a leaf, or blocks */
    uint32_t levels;                   /* of switches; of blocks: of block sizes */
};

/* HR_INPUT: all that is wrong is described with file, line and column. */
enum hr_err slurm_topology_read(const char *path, struct slurm_topology *out, struct arena *arena,
                                struct diags *diags);

/* Whether lines begin like such a file. */
bool slurm_topology_is(const struct lines *l);

#endif
