/* Worksheet: switches and cables of a rail-optimised cluster. */
#include "analysis/worksheets/sheet.h"

#include <math.h>

enum { GPUS, PER_NODE, PORTS, OVERSUB };
enum {
    NODES,
    LEAF_DOWN,
    LEAF_UP,
    LEAVES_PER_RAIL,
    LEAVES,
    UPLINKS,
    SPINES,
    SWITCHES,
    NODE_LINKS,
    LINKS,
    TRANSCEIVERS,
    MOST,
    FITS
};

static const struct sheet_input inputs[] = {
    [GPUS] =
        SHEET_INPUT("gpus", "N", "GPUs", "GPUs", "2048", .type = SHEET_COUNT, .min = 1, .max = 1e9),
    [PER_NODE] = SHEET_INPUT("gpus_per_node", "r", "GPUs", "GPUs, and rails, of a node", "8",
                             .type = SHEET_COUNT, .min = 1, .max = 1000),
    [PORTS] = SHEET_INPUT("switch_ports", "k", "ports", "ports of a switch", "64",
                          .type = SHEET_COUNT, .min = 2, .max = 1e6),
    [OVERSUB] =
        SHEET_INPUT("oversub", "o", "-", "downlinks per uplink at the leaf", "1", .above = true),
};

static const struct sheet_output outputs[] = {
    [NODES] = SHEET_OUTPUT("nodes", "n", "nodes", "ceil({gpus} / {gpus_per_node})",
                           "{nodes}, with a network port for each GPU.", .type = SHEET_COUNT),
    [LEAF_DOWN] = SHEET_OUTPUT("leaf_down", "d", "ports",
                               "floor({switch_ports} x {oversub} / (1 + {oversub}))",
                               "{leaf_down} of a leaf go down to nodes,", .type = SHEET_COUNT),
    [LEAF_UP] = SHEET_OUTPUT("leaf_up", "u", "ports", "{switch_ports} - {leaf_down}",
                             "{leaf_up} up to the spine.", .type = SHEET_COUNT),
    [LEAVES_PER_RAIL] =
        SHEET_OUTPUT("leaves_per_rail", "l_r", "switches", "ceil({nodes} / {leaf_down})",
                     "A rail has {leaves_per_rail}.", .type = SHEET_COUNT),
    [LEAVES] = SHEET_OUTPUT("leaves", "l", "switches", "{gpus_per_node} x {leaves_per_rail}",
                            "All rails together have {leaves}.", .type = SHEET_COUNT),
    [UPLINKS] = SHEET_OUTPUT("uplinks", "U", "links", "{leaves} x {leaf_up}",
                             "{uplinks} lead from the leaves to the spine.", .type = SHEET_COUNT),
    [SPINES] = SHEET_OUTPUT("spines", "s", "switches", "ceil({uplinks} / {switch_ports})",
                            "They fill {spines} of the spine.", .type = SHEET_COUNT),
    [SWITCHES] = SHEET_OUTPUT("switches", "S", "switches", "{leaves} + {spines}",
                              "In all {switches}.", .type = SHEET_COUNT),
    [NODE_LINKS] = SHEET_OUTPUT("node_links", "L_n", "links", "{nodes} x {gpus_per_node}",
                                "{node_links} lead from nodes to leaves.", .type = SHEET_COUNT),
    [LINKS] = SHEET_OUTPUT("links", "L", "links", "{node_links} + {uplinks}",
                           "In all {links} to pull.", .type = SHEET_COUNT),
    [TRANSCEIVERS] = SHEET_OUTPUT("transceivers", "t", "count", "2 x {links}",
                                  "One at each end: {transceivers#}.", .type = SHEET_COUNT),
    [MOST] = SHEET_OUTPUT("max_gpus_two_tier", "N_2", "GPUs", "{leaf_down} x {switch_ports}",
                          "Two tiers reach {max_gpus_two_tier}: a spine switch needs a port for "
                          "every leaf.",
                          .type = SHEET_COUNT),
    [FITS] = SHEET_OUTPUT("fits_two_tier", "ok", "0/1", "1 when {leaves} <= {switch_ports}",
                          "Two tiers are enough.", .type = SHEET_FLAG),
};

static bool three_tiers(const struct sheet_case *c)
{
    return sheet_out(c, FITS) == 0;
}

static const struct sheet_remark remarks[] = {
    {FITS, three_tiers,
     "A spine switch cannot reach every leaf: it takes a third tier, and the "
     "counts above are too small."},
};

static double one_end(const struct sheet_case *c)
{
    return sheet_out(c, LINKS);
}

static double nodes_only(const struct sheet_case *c)
{
    return sheet_out(c, NODE_LINKS);
}

static const struct sheet_mistake mistakes[] = {
    {TRANSCEIVERS, "counts one end of a link", one_end},
    {LINKS, "forgets the links between leaf and spine", nodes_only},
};

static void check(struct sheet_case *c)
{
    const double ports = sheet_in(c, PORTS), o = sheet_in(c, OVERSUB);
    const double down = sheet_floor(ports * o / (1 + o));
    if (down < 1 || down >= ports)
        sheet_refuse(c, OVERSUB, "leaves %s of %.0f ports", down < 1 ? "no downlink" : "no uplink",
                     ports);
}

static void solve(struct sheet_case *c)
{
    const double rails = sheet_in(c, PER_NODE), ports = sheet_in(c, PORTS),
                 o = sheet_in(c, OVERSUB);
    const double nodes = sheet_ceil(sheet_in(c, GPUS) / rails);
    const double down = sheet_floor(ports * o / (1 + o)), up = ports - down;
    const double per_rail = sheet_ceil(nodes / down), leaves = rails * per_rail;
    const double uplinks = leaves * up, spines = sheet_ceil(uplinks / ports);
    const double node_links = nodes * rails, links = node_links + uplinks;
    const double values[] = {
        [NODES] = nodes,
        [LEAF_DOWN] = down,
        [LEAF_UP] = up,
        [LEAVES_PER_RAIL] = per_rail,
        [LEAVES] = leaves,
        [UPLINKS] = uplinks,
        [SPINES] = spines,
        [SWITCHES] = leaves + spines,
        [NODE_LINKS] = node_links,
        [LINKS] = links,
        [TRANSCEIVERS] = 2 * links,
        [MOST] = down * ports,
        [FITS] = leaves <= ports,
    };
    for (uint8_t k = 0; k < SHEET_N(values); k++)
        sheet_set(c, k, values[k]);
}

static const char *const rules[] = {
    "With one leaf a rail there are uplinks all the same: rails reach each other by the spine.",
    "An oversubscription that leaves a leaf without a downlink or an uplink is refused.",
    NULL,
};

extern const struct sheet sheet_rail_cabling;
const struct sheet sheet_rail_cabling = {
    .name = "rail-cabling",
    .group = "Operating a large fleet",
    .question = "How many switches and cables does a rail-optimised cluster take?",
    .doc =
        "Every node has one network port per GPU; port j of every node goes to a leaf of rail "
        "j; leaves connect to a common spine layer.",
    .assumption =
        "Every leaf has the same number of uplinks, and every port of a spine is used "
        "before another is bought.",
    .rules = rules,
    .sources =
        "C. Clos, 'A study of non-blocking switching networks' (1953); M. Al-Fares, A. "
        "Loukissas, A. Vahdat (2008)",
    .inputs = inputs,
    .outputs = outputs,
    .remarks = remarks,
    .mistakes = mistakes,
    .n_inputs = SHEET_N(inputs),
    .n_outputs = SHEET_N(outputs),
    .n_remarks = SHEET_N(remarks),
    .n_mistakes = SHEET_N(mistakes),
    .answer = SWITCHES,
    .check = check,
    .solve = solve,
};
