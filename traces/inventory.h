/* Lists for packing: the nodes of a cluster, and pods that ask for parts of them. CSV with a
 * header, plain or gzip, columns by name as in Alibaba's cluster-trace-gpu-v2023 ("openb"):
 *
 *   nodes: sn, cpu_milli, memory_mib, gpu, model (empty without GPUs)
 *   pods:  name, cpu_milli, memory_mib, num_gpu, gpu_milli (of each GPU, 1000 a whole one),
 *          gpu_spec (optional: models that it accepts, A|B; empty: any)
 *
 * Times of pods are not read: a list is a sample to fill a cluster with, not a load over time. */
#ifndef HEADROOM_TRACES_INVENTORY_H
#define HEADROOM_TRACES_INVENTORY_H

#include "models/packing/cluster.h"
#include "sim/arena.h"
#include "sim/diag.h"
#include "sim/err.h"

/* Names of GPU types by number, met in node lists and pod lists of one cluster. */
struct inventory_types {
    const char *names[CLUSTER_TYPES]; /* arena */
    uint32_t n;
};

/* The number of a type, added when new; HR_LIMIT: there are CLUSTER_TYPES others. */
enum hr_err inventory_type(struct inventory_types *types, struct arena *arena, const char *name,
                           size_t n, uint32_t *out);

/* place and source: where the user named the file, for messages. HR_INPUT: described in diags. What
 * is read is the arena's; nodes are sorted by name. */
enum hr_err inventory_read_nodes(struct arena *arena, const char *path, struct diag_place place,
                                 const char *source, struct diags *diags,
                                 struct inventory_types *types, struct cluster_nodes *out);
enum hr_err inventory_read_pods(struct arena *arena, const char *path, struct diag_place place,
                                const char *source, struct diags *diags,
                                struct inventory_types *types, struct cluster_pods *out);

/* Gives equal pods one shape; rows in the order of the list. */
enum hr_err inventory_shapes(struct arena *arena, const struct cluster_pod *rows, size_t n,
                             struct cluster_pods *out);

#endif
