/* Fragmentation: the idle GPU of a node that the pods which typically come cannot use.
 *
 * Typical pods are the most frequent shapes (CPU, devices, milli, types; memory is left out) that
 * cover a share of the list, ties by those members ascending. The fragment of a node is, summed
 * over them by frequency: all of its idle GPU where the pod does not fit (type, devices with its
 * milli, CPU) or needs no GPU, else what is idle on devices with less left than its milli. (Q. Weng
 * et al., USENIX ATC 2023.)
 *
 * Frequencies are counts of pods and everything is a whole number, so equal nodes have equal
 * fragments and a score never hangs on rounding: with W typical pods, fragment = idle - usable / W
 * where usable sums over typical pods that fit their count times what is left on devices large
 * enough. Pods with the same devices, milli and types are a group, whose weight grows with the CPU
 * that is left, so that a node is looked at once a group. */
#ifndef HEADROOM_MODELS_PACKING_FRAGMENT_H
#define HEADROOM_MODELS_PACKING_FRAGMENT_H

#include "models/packing/cluster.h"
#include "sim/arena.h"
#include "sim/err.h"

enum { FRAGMENT_SCORES = 100 };

struct fragment_group {
    uint32_t devices, milli;
    uint64_t types;
};

struct fragment {
    struct fragment_group *groups; /* of pods with devices */
    uint32_t n_groups;
    int64_t *cpus; /* distinct CPU needs of typical pods, ascending */
    uint32_t n_cpus;
    int64_t *weights; /* [n_cpus + 1][n_groups]: pods that need at most so much CPU */
    int64_t total;    /* W: typical pods, those without devices included */
    struct cluster_pod
        *pods;       /* typical shapes, the most frequent first, with the memory that comes most */
    int64_t *counts; /* of them */
    uint32_t n_pods;
    int64_t steps[FRAGMENT_SCORES]; /* least fall of F, in milli / W, with score at least k */
};

/* What a node offers each group, kept beside its room. */
struct fragment_view {
    uint32_t *counts; /* devices large enough */
    uint32_t *above;  /* milli left on them */
    int64_t usable;
};

/* cover_frac: of the pods. All memory is the arena's. */
enum hr_err fragment_init(struct fragment *f, const struct cluster_pods *pods, double cover_frac,
                          struct arena *arena);

void fragment_look(const struct fragment *f, const struct cluster_room *room,
                   struct fragment_view *out);

/* F of a node in milli. */
double fragment_milli(const struct fragment *f, const struct cluster_room *room);

/* Idle milli that no typical pod can use at present. */
uint32_t fragment_stranded(const struct fragment *f, const struct cluster_room *room);

/* Score of a pod that fits the node: floor(100 sigmoid((F before - F after) / 1000)), and the
 * devices: a shared pod takes the one with the best score, the lowest among equals. */
int32_t fragment_score(const struct fragment *f, const struct cluster_room *room,
                       const struct fragment_view *view, const struct cluster_pod *pod,
                       uint32_t *devices);

#endif
