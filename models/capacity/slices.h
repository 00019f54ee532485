/* Slices of GPUs in a fleet: MIG instances at their legal places.
 *
 * In a pool of slices the fleet counts memory slices where it counts GPUs elsewhere: a node is as
 * many bits as its GPUs have memory slices, GPU by GPU, and an instance is the bits it takes. What
 * is legal and which place is chosen follows from models/hardware (mig.h, mig_index.h); compute
 * slices have a ledger of their own.
 *
 * GPUs have layouts: each has an index of its own, of all GPUs, in which those of other layouts are
 * closed. A fixed layout is one whose profiles may begin just where it has them. Of the layouts
 * with room for an instance the order decides between the GPUs that each would choose, then the
 * lowest number. */
#ifndef HEADROOM_MODELS_CAPACITY_SLICES_H
#define HEADROOM_MODELS_CAPACITY_SLICES_H

#include "models/capacity/placement_internal.h"
#include "models/hardware/mig_index.h"

/* GPUs of one layout. */
struct slice_kind {
    struct mig_index index;
    const struct slice_layout *plan;
    uint16_t *states; /* that GPUs of it can be in */
    uint32_t n_states;
    bool used; /* GPUs have it at first, or may be re-laid to it */
};

/* Instances of the nodes of a fleet; nodes_slice. */
struct slices {
    const struct mig_tables *t; /* of the GPU: its profiles */
    struct slice_kind *kinds;
    uint32_t n_kinds;
    uint32_t stride;          /* memory slices of a GPU */
    uint32_t *first_gpu;      /* of a node; n + 1 */
    uint32_t *node_of;        /* of a GPU */
    uint8_t *kind;            /* of a GPU; of one that is being re-laid, that which it will have */
    struct number_set laying; /* GPUs that are being re-laid: closed, and no lease's */
    uint8_t *shut;            /* per node: nothing new */
    uint8_t *at;       /* per GPU and start: 1 + profile of the instance that begins there, or 0 */
    uint8_t *reserved; /* per GPU: starts that it is cleared for */
    bool larger;
    /* By profile: those with as many slices of both sorts, the same media engines and more of
     * either, least memory first, then least compute. */
    uint8_t wider[MIG_PROFILES][MIG_PROFILES], n_wider[MIG_PROFILES];
};

/* Slices of nodes that nodes_init has made; before anything is taken. */
enum hr_err slices_init(struct nodes *ns, const struct sharing_plan *plan, struct arena *arena);

/* Of just the profile; GRANT_NEVER where neither it nor, if that may be, a larger one can come. */
enum grant slices_fit(const struct nodes *ns, const struct shape *shape);

/* The next larger instance of a fixed layout, from number *i on, that a start may have instead. */
bool slices_larger(const struct nodes *ns, const struct shape *shape, uint32_t *i,
                   struct shape *larger);

/* Profiles, and those that may stand for them, as bits. */
uint32_t slices_wider(const struct nodes *ns, uint32_t profiles);

/* Takes the slices of an instance that fits. */
struct part slices_take(struct nodes *ns, const struct shape *shape);

/* Where an instance would be. */
struct part slices_place(const struct nodes *ns, uint32_t gpu, uint8_t profile, uint32_t start);

/* That of the layout of a GPU; how many GPUs there are. */
const struct mig_index *slices_index(const struct nodes *ns, uint32_t gpu);
uint32_t slices_gpus(const struct nodes *ns);

/* The GPU of an instance's slices, and where it begins there. */
uint32_t slices_gpu(const struct nodes *ns, uint32_t node, uint64_t mask);
uint8_t slices_start(const struct nodes *ns, uint64_t mask);

/* An instance on slices that have been taken; false where it is not legal. */
bool slices_begin(struct nodes *ns, uint32_t gpu, uint8_t profile, uint8_t start);

/* A GPU that may be cleared takes nothing new until it is released as often as it was reserved. */
bool slices_clearable(const struct nodes *ns, uint32_t gpu);
void slices_reserve(struct nodes *ns, uint32_t gpu);
void slices_release(struct nodes *ns, uint32_t gpu);

/* The instances among slices of a node are gone; the slices themselves are given back apart. How
 * many compute slices they had. */
uint32_t slices_end(struct nodes *ns, uint32_t node, uint64_t mask);

/* How long the change of an instance takes. */
simtime_ns slices_reconfigure_ns(const struct nodes *ns, const struct part *part);

/* Nothing new on a node, or again. */
void slices_close(struct nodes *ns, uint32_t node);
void slices_open(struct nodes *ns, uint32_t node);

/* A GPU without instances begins to be re-laid, and has been; its slices are taken and given apart.
 */
void slices_lay(struct nodes *ns, uint32_t gpu, uint32_t kind);
void slices_laid(struct nodes *ns, uint32_t gpu);

/* All slices of a GPU; of those of a node that are being re-laid. */
struct part slices_all(const struct nodes *ns, uint32_t gpu);
uint64_t slices_laying(const struct nodes *ns, uint32_t node);

/* Free compute slices of a node. */
uint32_t slices_free_compute(const struct nodes *ns, uint32_t node);

/* Free slices on GPUs where none of the profiles (a bit each) fits, of open nodes. */
struct slice_count {
    uint32_t memory, compute;
};
struct slice_count slices_stranded(const struct nodes *ns, uint32_t profiles);

bool slices_consistent(const struct nodes *ns);

#endif
