/* What connects the devices of one node: GPUs with each other and with their network cards.
 *
 * Levels are those of `nvidia-smi topo -m`, nearest first. Any two GPUs of an HGX board are behind
 * its NVSwitches; where a GPU has a network card of its own, that card's place among all such cards
 * is the GPU's rail: cards of one rail of all nodes meet in one leaf switch. */
#ifndef HEADROOM_MODELS_HARDWARE_NODE_LINKS_H
#define HEADROOM_MODELS_HARDWARE_NODE_LINKS_H

#include <stdbool.h>
#include <stdint.h>

/* code, name in listings, what it means */
#define LINK_LIST(X)                                                                               \
    X(SELF, "X", "the device itself")                                                              \
    X(NVLINK, "NV#", "a bonded set of # NVLinks, through NVSwitches where there are any")          \
    X(PIX, "PIX", "at most one PCIe bridge")                                                       \
    X(PXB, "PXB", "several PCIe bridges, no host bridge")                                          \
    X(PHB, "PHB", "a PCIe host bridge")                                                            \
    X(NODE, "NODE", "host bridges of one NUMA node")                                               \
    X(SYS, "SYS", "the interconnect between NUMA nodes")

#define LINK_ENUM(code, name, doc) LINK_##code,
enum link_level { LINK_LIST(LINK_ENUM) LINK_LEVELS };
#undef LINK_ENUM
extern const char *const link_names[LINK_LEVELS];
extern const char *const link_docs[LINK_LEVELS];

enum { NODE_GPUS_MAX = 64, NODE_NICS_MAX = 64 };
#define LINK_NONE UINT32_MAX

struct node_links {
    uint32_t n_gpus, n_nics;
    uint8_t gpu_gpu[NODE_GPUS_MAX][NODE_GPUS_MAX]; /* enum link_level; symmetric */
    uint8_t gpu_nic[NODE_GPUS_MAX][NODE_NICS_MAX];
    uint8_t nvlinks[NODE_GPUS_MAX][NODE_GPUS_MAX]; /* of a bonded set; 0: none */
    uint32_t numa[NODE_GPUS_MAX];                  /* LINK_NONE: not known */
};

/* Pairs of GPUs by level. */
struct link_pairs {
    uint32_t n[LINK_LEVELS];
};
struct link_pairs node_links_pairs(const struct node_links *l);

/* Sets of GPUs among which each pair is at this level or nearer; set[i]: number of GPU i's set, in
 * order of their first GPUs. Returns how many. */
uint32_t node_links_sets(const struct node_links *l, enum link_level level,
                         uint32_t set[NODE_GPUS_MAX]);

/* Sockets: GPUs by NUMA node; where that is not known, by what SYS separates, and if nothing is
 * known of either all are in one. Returns how many. */
uint32_t node_links_sockets(const struct node_links *l, uint32_t set[NODE_GPUS_MAX]);

/* The card of a GPU: the one that is nearest, and no farther than PHB, if only one is so near to it
 * and to no other GPU is it as near; else LINK_NONE. */
uint32_t node_links_nic(const struct node_links *l, uint32_t gpu);

/* Its rail: the rank of its card among the cards of GPUs; LINK_NONE where it has none. */
uint32_t node_links_rail(const struct node_links *l, uint32_t gpu);

#endif
