/* MIG: the tables of one GPU type.
 *
 * A state with an instance placed is a smaller number than before, so one pass from 0 up finds what
 * follows from what follows. */
#include "models/hardware/mig.h"

#include <string.h>

const char *const mig_rule_names[MIG_RULES] = {"first", "best", "least-harm"};

static unsigned count_bits(unsigned bits)
{
    return (unsigned)__builtin_popcount(bits);
}

static uint8_t slices(unsigned n, unsigned start)
{
    return (uint8_t)(((1u << n) - 1) << start);
}

/* Legal starts of a profile in a state, by the rule itself. */
static uint8_t legal_starts(const struct mig_profile *p, mig_state s)
{
    uint8_t legal = 0;
    if (p->compute > mig_free_compute(s) || (p->media && !mig_free_media(s)))
        return 0;
    for (unsigned start = 0; start < MIG_SLICES; start++) {
        uint8_t needed = slices(p->memory, start);
        if (p->starts >> start & 1 && (mig_free_memory(s) & needed) == needed)
            legal |= (uint8_t)(1u << start);
    }
    return legal;
}

static void fill_following(struct mig_tables *t, mig_state s)
{
    uint8_t reach = 0;
    for (uint8_t p = 0; p < t->gpu.n_profiles; p++) {
        const struct mig_profile *profile = &t->gpu.profiles[p];
        uint8_t legal = legal_starts(profile, s);
        t->starts[s][p] = legal;
        t->n_next[s] = (uint8_t)(t->n_next[s] + count_bits(legal));
        for (uint8_t start = 0; start < MIG_SLICES; start++) {
            if (!(legal >> start & 1))
                continue;
            mig_state after = mig_after(t, s, p, start);
            unsigned fits = 1u + t->fits[after][p];
            unsigned compute = profile->compute + t->most_compute[after];
            unsigned memory = profile->memory + t->most_memory[after];
            reach |= slices(profile->memory, start);
            if (fits > t->fits[s][p])
                t->fits[s][p] = (uint8_t)fits;
            if (compute > t->most_compute[s])
                t->most_compute[s] = (uint8_t)compute;
            if (memory > t->most_memory[s])
                t->most_memory[s] = (uint8_t)memory;
        }
    }
    t->lost_memory[s] = mig_free_memory(s) & (uint8_t)~reach;
}

/* Whether the state after one start is to be preferred over that after a lower one. */
static bool better(const struct mig_tables *t, enum mig_rule rule, mig_state after, mig_state best)
{
    if (rule == MIG_FIRST)
        return false;
    if (rule == MIG_LEAST_HARM && t->worth[after] != t->worth[best])
        return t->worth[after] > t->worth[best];
    return t->n_next[after] > t->n_next[best];
}

static void fill_choices(struct mig_tables *t, mig_state s)
{
    for (int rule = 0; rule < MIG_RULES; rule++)
        for (uint8_t p = 0; p < t->gpu.n_profiles; p++) {
            uint8_t chosen = MIG_NO_START;
            for (uint8_t start = 0; start < MIG_SLICES; start++)
                if (mig_legal(t, s, p, start) &&
                    (chosen == MIG_NO_START ||
                     better(t, (enum mig_rule)rule, mig_after(t, s, p, start),
                            mig_after(t, s, p, chosen))))
                    chosen = start;
            t->choice[rule][s][p] = chosen;
        }
}

void mig_tables_init(struct mig_tables *t, const struct mig_gpu *gpu, const double *mix)
{
    memset(t, 0, sizeof *t);
    memset(t->choice, MIG_NO_START, sizeof t->choice);
    t->gpu = *gpu;
    t->empty = (mig_state)(slices(gpu->memory, 0) | gpu->compute << 8 | 1 << 11);
    for (uint8_t p = 0; p < gpu->n_profiles; p++) {
        const struct mig_profile *profile = &gpu->profiles[p];
        t->take[p] = (uint16_t)(profile->compute << 8 | profile->media << 11);
        t->step[p] = slices(profile->memory, 0);
    }
    for (mig_state s = 0; s < MIG_STATES; s++) {
        fill_following(t, s);
        double worth = 0;
        for (uint8_t p = 0; p < gpu->n_profiles; p++)
            worth += (mix ? mix[p] : 1) * t->fits[s][p] * gpu->profiles[p].memory;
        t->worth[s] = (float)worth;
        fill_choices(t, s);
    }
}

static const char *profile_fault(const struct mig_gpu *gpu, const struct mig_profile *p)
{
    if (p->compute < 1 || p->compute > gpu->compute)
        return "has no compute slice, or more than the GPU";
    if (p->memory < 1 || p->memory > gpu->memory)
        return "has no memory slice, or more than the GPU";
    if (p->starts == 0)
        return "has no place where it may begin";
    for (unsigned start = 0; start < MIG_SLICES; start++)
        if (p->starts >> start & 1 && start + p->memory > gpu->memory)
            return "would end beyond the last memory slice";
    for (const struct mig_profile *other = gpu->profiles; other < p; other++)
        if (strcmp(other->name, p->name) == 0 || other->id == p->id)
            return "has the name or the id of another profile";
    return NULL;
}

void mig_gpu_fix(struct mig_gpu *gpu, const struct mig_instance *layout, size_t n,
                 struct mig_profile profiles[MIG_PROFILES])
{
    for (uint8_t p = 0; p < gpu->n_profiles; p++) {
        profiles[p] = gpu->profiles[p];
        profiles[p].starts = 0;
    }
    for (size_t i = 0; i < n; i++)
        profiles[layout[i].profile].starts |= (uint8_t)(1u << layout[i].start);
    gpu->profiles = profiles;
}

/* Starts from the lowest, which is the most for
 * equal lengths. */
unsigned mig_most_instances(const struct mig_gpu *gpu, const struct mig_profile *p)
{
    unsigned n = 0, end = 0;
    for (unsigned start = 0; start < MIG_SLICES; start++)
        if (p->starts >> start & 1 && start >= end) {
            n++;
            end = start + p->memory;
        }
    if (n > gpu->compute / p->compute)
        n = gpu->compute / p->compute;
    return p->media && n > 1 ? 1 : n;
}

const char *mig_gpu_fault(const struct mig_gpu *gpu, size_t *profile)
{
    *profile = gpu->n_profiles;
    if (gpu->n_profiles < 1 || gpu->n_profiles > MIG_PROFILES)
        return "needs one to eight profiles";
    if (gpu->compute < 1 || gpu->compute > MIG_COMPUTE)
        return "needs one to seven compute slices";
    if (gpu->memory < 1 || gpu->memory > MIG_SLICES)
        return "needs one to eight memory slices";
    for (size_t i = 0; i < gpu->n_profiles; i++) {
        const char *fault = profile_fault(gpu, &gpu->profiles[i]);
        *profile = i;
        if (fault)
            return fault;
        if (mig_most_instances(gpu, &gpu->profiles[i]) != gpu->profiles[i].max)
            return "holds another number of instances than its slices and starts allow";
    }
    return NULL;
}

unsigned mig_stranded_memory(const struct mig_tables *t, mig_state s)
{
    return count_bits(mig_free_memory(s)) - t->most_memory[s];
}

unsigned mig_stranded_compute(const struct mig_tables *t, mig_state s)
{
    return mig_free_compute(s) - t->most_compute[s];
}

uint8_t mig_profile_find(const struct mig_gpu *gpu, const char *name)
{
    uint8_t p = 0;
    while (p < gpu->n_profiles && strcmp(gpu->profiles[p].name, name) != 0)
        p++;
    return p;
}

uint8_t mig_profile_by_id(const struct mig_gpu *gpu, unsigned id)
{
    uint8_t p = 0;
    while (p < gpu->n_profiles && gpu->profiles[p].id != id)
        p++;
    return p;
}

uint8_t mig_plain_profiles(const struct mig_gpu *gpu)
{
    unsigned bits = 0;
    for (uint8_t p = 0; p < gpu->n_profiles; p++)
        if (!gpu->profiles[p].media)
            bits |= 1u << p;
    return (uint8_t)bits;
}
