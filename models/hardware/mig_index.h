/* MIG over many GPUs of one type: where the next instance of a profile goes, without a scan.
 *
 * GPUs are kept in sets by state. States are ranked once for each profile by the order asked for,
 * and a bit of each rank says whether any open GPU is in that state. Placing is then: the first
 * such bit, the lowest GPU of that state, and the start that the tables choose. Of GPUs in equal
 * states the lowest number goes first. */
#ifndef HEADROOM_MODELS_HARDWARE_MIG_INDEX_H
#define HEADROOM_MODELS_HARDWARE_MIG_INDEX_H

#include "models/hardware/mig.h"
#include "sim/arena.h"
#include "sim/err.h"
#include "sim/number_set.h"

/* Which GPU, of those on which the profile fits. */
enum mig_order {
    MIG_ORDER_FIRST,      /* lowest number */
    MIG_ORDER_BEST,       /* fewest free memory slices, then fewest free compute slices */
    MIG_ORDER_WORST,      /* most free memory slices, then most free compute slices */
    MIG_ORDER_LEAST_HARM, /* loses least of what could come, by the mix of the tables; then as best
                           */
    MIG_ORDERS
};
extern const char *const mig_order_names[MIG_ORDERS];

enum { MIG_WORDS = MIG_STATES / 64 };

/* States ranked for one profile. */
struct mig_ranking {
    uint64_t any[MIG_WORDS]; /* ranks of states that open GPUs are in */
    uint16_t n_words;
    uint16_t states[MIG_STATES]; /* by rank */
};

struct mig_index {
    const struct mig_tables *t;
    enum mig_order order;
    enum mig_rule rule;
    uint32_t n_gpus;
    mig_state *state;         /* of each GPU */
    struct number_set closed; /* GPUs that take nothing new */
    struct number_set *in; /* by state that can be: its open GPUs; not kept for MIG_ORDER_FIRST */
    uint32_t *n_in;        /* by state: how many */
    struct mig_ranking *rankings;         /* by profile */
    uint16_t (*rank)[MIG_PROFILES];       /* by state; MIG_STATES: the profile does not fit */
    uint8_t *fits;                        /* by state: the profiles that fit, as bits */
    struct number_set room[MIG_PROFILES]; /* MIG_ORDER_FIRST: open GPUs on which it fits */
};

/* All GPUs empty and open. The tables must outlive the index; memory is the arena's. */
enum hr_err mig_index_init(struct mig_index *x, const struct mig_tables *t, uint32_t n_gpus,
                           enum mig_order order, enum mig_rule rule, struct arena *arena);

/* Places an instance; false when no open GPU has a legal start for it. */
bool mig_index_take(struct mig_index *x, uint8_t profile, uint32_t *gpu, uint8_t *start);

/* Where it would go, placing nothing. */
bool mig_index_find(const struct mig_index *x, uint8_t profile, uint32_t *gpu, uint8_t *start);

/* Places it on this GPU, open or not: at the start that the rule chooses, or at a given one. */
bool mig_index_take_on(struct mig_index *x, uint32_t gpu, uint8_t profile, uint8_t *start);
bool mig_index_take_at(struct mig_index *x, uint32_t gpu, uint8_t profile, uint8_t start);

/* Removes an instance that was placed. */
void mig_index_give(struct mig_index *x, uint32_t gpu, uint8_t profile, uint8_t start);

/* A closed GPU keeps its instances and takes no new one but by number. Idempotent. */
void mig_index_close(struct mig_index *x, uint32_t gpu);
void mig_index_open(struct mig_index *x, uint32_t gpu);

/* Whether, for an instance of the profile, a GPU in a state of one index goes before one in a state
 * of another; both have the order of the first. Of MIG_ORDER_FIRST numbers alone decide. */
bool mig_index_before(const struct mig_index *x, mig_state a, const struct mig_index *y,
                      mig_state b, uint8_t profile);

/* Instances of one profile alone that open GPUs could take. */
uint32_t mig_index_fits(const struct mig_index *x, uint8_t profile);

/* Over the open GPUs. */
struct mig_sums {
    uint64_t gpus, empty_gpus;
    uint64_t free_compute, free_memory;         /* slices */
    uint64_t stranded_compute, stranded_memory; /* of them */
    uint64_t fits[MIG_PROFILES];                /* instances of each profile alone */
};
struct mig_sums mig_index_sums(const struct mig_index *x);

#endif
