/* Slices of GPUs in a fleet: MIG instances at their legal places.
 *
 * In a pool of slices the fleet counts memory slices where it counts GPUs elsewhere: a node is as
 * many bits as its GPUs have memory slices, GPU by GPU, and an instance is the bits it takes. What
 * is legal and which place is chosen follows from models/hardware (mig.h, mig_index.h); compute
 * slices have a ledger of their own. */
#ifndef HEADROOM_MODELS_CAPACITY_SLICES_H
#define HEADROOM_MODELS_CAPACITY_SLICES_H

#include "models/capacity/placement_internal.h"
#include "models/hardware/mig_index.h"

/* Instances of the nodes of a fleet; nodes_slice. */
struct slices {
    struct mig_index index;
    uint32_t stride;     /* memory slices of a GPU */
    uint32_t *first_gpu; /* of a node; n + 1 */
    uint32_t *node_of;   /* of a GPU */
    uint8_t *at; /* per GPU and start: 1 + profile of the instance that begins there, or 0 */
};

/* Slices of nodes that nodes_init has made; before anything is taken. */
enum hr_err slices_init(struct nodes *ns, const struct sharing_plan *plan, struct arena *arena);

enum grant slices_fit(const struct nodes *ns, const struct shape *shape);

/* Takes the slices of an instance that fits. */
struct part slices_take(struct nodes *ns, const struct shape *shape);

/* The instances among slices of a node are gone; the slices themselves are given back apart. How
 * many compute slices they had. */
uint32_t slices_end(struct nodes *ns, uint32_t node, uint64_t mask);

/* Nothing new on a node, or again. */
void slices_close(struct nodes *ns, uint32_t node);
void slices_open(struct nodes *ns, uint32_t node);

/* Free compute slices of a node. */
uint32_t slices_free_compute(const struct nodes *ns, uint32_t node);

/* Free slices on GPUs where none of the profiles (a bit each) fits, of open nodes. */
struct slice_count {
    uint32_t memory, compute;
};
struct slice_count slices_stranded(const struct nodes *ns, uint32_t profiles);

bool slices_consistent(const struct nodes *ns);

#endif
