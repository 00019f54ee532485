/* Reader of `nvidia-smi topo -m`: the matrix of links of one node.
 *
 * Columns may be separated by tabs or blanks, coloured, and cut off at the right where the terminal
 * was narrow: since links are symmetric, rows give what columns lack. Network cards may be named
 * NIC0 or by their device (mlx5_0); with or without them, with or without affinities and legends.
 * Whether two devices are NODE or SYS apart is not a difference in hardware (older drivers print
 * SYS for both); sockets follow from the NUMA affinity where it is there. */
#ifndef HEADROOM_TRACES_TOPO_MATRIX_H
#define HEADROOM_TRACES_TOPO_MATRIX_H

#include "models/hardware/node_links.h"
#include "traces/lines.h"

/* HR_INPUT: what is wrong is described with file, line and column. */
enum hr_err topo_matrix_read(const char *path, struct node_links *out, struct arena *arena,
                             struct diags *diags);

/* Whether lines begin like such a matrix. */
bool topo_matrix_is(const struct lines *l);

#endif
