/* A cluster to pack: nodes with CPU, memory and GPUs that are shared in thousandths, and what
 * stands on them.
 *
 * A pod asks for CPU, memory and devices with at least so many milli left on each; 1000 milli is a
 * whole device, fewer share one. It may name the GPU types that it accepts. A node is a room: what
 * is left of it. Nodes are numbered by sorted name, so the lowest number is the lowest name. */
#ifndef HEADROOM_MODELS_PACKING_CLUSTER_H
#define HEADROOM_MODELS_PACKING_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLUSTER_DEVICES = 16, /* most of one node */
    CLUSTER_MILLI = 1000, /* of one device */
    CLUSTER_TYPES = 64,   /* GPU types of one cluster and its pods */
    CLUSTER_KINDS = CLUSTER_DEVICES + 1
};
#define CLUSTER_NOWHERE UINT32_MAX

struct cluster_node {
    const char *name;
    int64_t cpu_milli, memory_mib;
    uint32_t devices; /* at most CLUSTER_DEVICES */
    uint32_t type;    /* below CLUSTER_TYPES */
};

/* What one pod asks for: pods that are alike are one shape. */
struct cluster_pod {
    int64_t cpu_milli, memory_mib;
    uint32_t devices; /* 0: CPU only */
    uint32_t milli;   /* of each device, 1 .. 1000; 0 without devices */
    uint64_t types;   /* bit a type that it accepts; 0: any */
};

struct cluster_nodes {
    const struct cluster_node *rows; /* by name */
    uint32_t n;
};

/* A list of pods, by shape: rows[i] is the shape of pod i. */
struct cluster_pods {
    const struct cluster_pod *shapes;
    uint32_t n_shapes;
    const uint32_t *rows;
    size_t n;
};

/* What is left of a node. The kinds of pods on it are counted for gpu-clustering: 0 shares a
 * device, k has k whole ones. */
struct cluster_room {
    int64_t cpu_milli, memory_mib;
    uint32_t idle_milli; /* sum of left */
    uint16_t left[CLUSTER_DEVICES];
    uint16_t kinds[CLUSTER_KINDS];
    uint8_t devices, type;
};

void cluster_open(const struct cluster_node *node, struct cluster_room *out);

/* CPU, memory, type, and enough devices with so much left. */
bool cluster_fits(const struct cluster_room *room, const struct cluster_pod *pod);

/* The devices that a pod takes by the common rule, as bits: those with least left that suffice, the
 * lowest among equals (whole ones: the lowest free ones). The pod fits. */
uint32_t cluster_smallest(const struct cluster_room *room, const struct cluster_pod *pod);

void cluster_take(struct cluster_room *room, const struct cluster_pod *pod, uint32_t devices);
void cluster_give(struct cluster_room *room, const struct cluster_pod *pod, uint32_t devices);

/* Pods of this shape that the room holds at once. */
uint64_t cluster_holds(const struct cluster_room *room, const struct cluster_pod *pod);

static inline uint32_t cluster_kind(const struct cluster_pod *pod)
{
    return pod->milli < CLUSTER_MILLI ? 0 : pod->devices;
}

/* milli of all devices of a pod */
static inline uint64_t cluster_asks(const struct cluster_pod *pod)
{
    return (uint64_t)pod->devices * pod->milli;
}

static inline bool cluster_accepts(const struct cluster_pod *pod, uint32_t type)
{
    return pod->types == 0 || (pod->types >> type & 1);
}

uint64_t cluster_capacity(const struct cluster_nodes *nodes); /* milli */

#endif
