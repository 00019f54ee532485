/* MIG: what one GPU can be cut into, and where the next instance may go.
 *
 * A GPU has compute slices and memory slices (7 and 8 on an H100). An instance of a profile takes a
 * number of each; it may begin only at the memory slices that the profile lists, and no two overlap
 * there [mig_legality_rule]. At most one instance of a GPU has the media engines ("+me").
 *
 * All that decides what may come is a state of 12 bits: the free memory slices (bits 0-7), how many
 * compute slices are free (8-10), and whether the media engines are (11). Placing an instance
 * subtracts a constant from it and removing adds it back, so a smaller state never has more. What
 * may follow each of the 4,096 states is tabulated once a GPU type.
 *
 * How many instances of a profile a GPU holds follows from slices, starts and media engines; a type
 * whose stated maximum is another one is refused by mig_gpu_fault. */
#ifndef HEADROOM_MODELS_HARDWARE_MIG_H
#define HEADROOM_MODELS_HARDWARE_MIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MIG_SLICES = 8,    /* memory slices at most */
    MIG_COMPUTE = 7,   /* compute slices at most */
    MIG_PROFILES = 8,  /* of one GPU at most */
    MIG_STATES = 4096, /* state numbers */
    MIG_UNKNOWN = 255, /* a number of engines that no source gives */
    MIG_NO_START = 255
};

typedef uint16_t mig_state;

struct mig_profile {
    const char *name;        /* "1g.10gb" */
    uint8_t id;              /* of nvidia-smi, not of NVML */
    uint8_t compute, memory; /* slices */
    uint8_t max;             /* instances on one GPU */
    uint8_t starts;          /* bit s: may begin at memory slice s */
    bool media;              /* takes the media engines: at most one such instance */
    uint16_t n_sm;           /* 0: unknown */
    uint32_t memory_mib;     /* 0: unknown */
    uint8_t l2_eighths, copy_engines, nvdec, jpeg, ofa; /* MIG_UNKNOWN: unknown */
};

struct mig_gpu {
    const struct mig_profile *profiles; /* smallest first; NULL: cannot be partitioned */
    uint8_t n_profiles;
    uint8_t compute, memory; /* slices */
};

/* An instance in its place. */
struct mig_instance {
    uint8_t profile, start;
};

/* Instances of one GPU, by start, and what they leave. */
struct mig_layout {
    struct mig_instance items[MIG_SLICES];
    uint8_t n;
    mig_state left;
};

/* Which of its legal starts an instance takes. */
enum mig_rule {
    MIG_FIRST,      /* the lowest */
    MIG_BEST,       /* leaves most (profile, start) pairs legal, ties lowest: as the driver does in
                       the listings of the MIG user guide */
    MIG_LEAST_HARM, /* loses least of what could come, by a demand mix; ties as MIG_BEST */
    MIG_RULES
};
extern const char *const mig_rule_names[MIG_RULES];

/* What follows each state. About 200 kB. */
struct mig_tables {
    struct mig_gpu gpu;
    mig_state empty;                                     /* state of a GPU without instances */
    uint16_t take[MIG_PROFILES];                         /* of a state by an instance at slice 0, */
    uint16_t step[MIG_PROFILES];                         /* memory slices of it, moved by start */
    uint8_t starts[MIG_STATES][MIG_PROFILES];            /* legal starts, a bit each */
    uint8_t fits[MIG_STATES][MIG_PROFILES];              /* how many more of this profile alone */
    uint8_t choice[MIG_RULES][MIG_STATES][MIG_PROFILES]; /* the start, or MIG_NO_START */
    uint8_t n_next[MIG_STATES];                          /* legal (profile, start) pairs */
    uint8_t lost_memory[MIG_STATES];  /* free memory slices that no instance can reach, as bits */
    uint8_t most_compute[MIG_STATES]; /* compute slices that can still be used at most */
    uint8_t most_memory[MIG_STATES];  /* memory slices likewise */
    float worth[MIG_STATES];          /* sum over profiles of mix x fits x its memory slices */
};

/* NULL when the type is sound; else what is wrong with it, and *profile is which (n_profiles:
 * none).
 */
const char *mig_gpu_fault(const struct mig_gpu *gpu, size_t *profile);

/* The most instances of one profile that an empty GPU of the type holds. */
unsigned mig_most_instances(const struct mig_gpu *gpu, const struct mig_profile *p);

/* mix: weight of each profile in the demand to come, for MIG_LEAST_HARM; NULL: all alike. */
void mig_tables_init(struct mig_tables *t, const struct mig_gpu *gpu, const double *mix);

/* ---- states ---- */

static inline uint8_t mig_free_memory(mig_state s) /* bits */
{
    return (uint8_t)s;
}
static inline unsigned mig_free_compute(mig_state s)
{
    return s >> 8 & 7;
}
static inline bool mig_free_media(mig_state s)
{
    return s >> 11 & 1;
}

/* What an instance takes off a state, and adds when it goes. */
static inline uint16_t mig_delta(const struct mig_tables *t, uint8_t profile, uint8_t start)
{
    return (uint16_t)(t->take[profile] | t->step[profile] << start);
}
static inline bool mig_legal(const struct mig_tables *t, mig_state s, uint8_t profile,
                             uint8_t start)
{
    return start < MIG_SLICES && t->starts[s][profile] >> start & 1;
}
static inline mig_state mig_after(const struct mig_tables *t, mig_state s, uint8_t profile,
                                  uint8_t start)
{
    return (mig_state)(s - mig_delta(t, profile, start));
}

/* Free slices that no further instances can use, whichever come. */
unsigned mig_stranded_memory(const struct mig_tables *t, mig_state s);
unsigned mig_stranded_compute(const struct mig_tables *t, mig_state s);

/* ---- layouts ---- */

/* Adds an instance at a legal place, keeping the order by start. */
void mig_layout_add(const struct mig_tables *t, struct mig_layout *l, uint8_t profile,
                    uint8_t start);
void mig_layout_empty(const struct mig_tables *t, struct mig_layout *l);
unsigned mig_layout_n_sm(const struct mig_gpu *gpu, const struct mig_layout *l);

/* The GPU with a layout that stays: in profiles[], its own become such that may begin just where
 * the layout has them. */
void mig_gpu_fix(struct mig_gpu *gpu, const struct mig_instance *layout, size_t n,
                 struct mig_profile profiles[MIG_PROFILES]);

/* Calls back for every set of instances that can stand together, or only for the maximal ones, to
 * which nothing can be added. profiles: bit p allows profile p. In the order of their starts, at
 * each start nothing last and profiles from the largest. */
typedef void mig_layout_fn(void *self, const struct mig_layout *l);
void mig_layouts(const struct mig_tables *t, uint8_t profiles, bool maximal, mig_layout_fn *fn,
                 void *self);

/* The number of a profile by name or by nvidia-smi id; n_profiles when there is none. */
uint8_t mig_profile_find(const struct mig_gpu *gpu, const char *name);
uint8_t mig_profile_by_id(const struct mig_gpu *gpu, unsigned id);

/* Bits of the profiles without media engines: what plain demands use. */
uint8_t mig_plain_profiles(const struct mig_gpu *gpu);

#endif
