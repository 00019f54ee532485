/* Slices of GPUs in a fleet; slices.h says how nodes hold them. */
#include "models/capacity/slices.h"

#include <assert.h>

static uint8_t *begins(const struct slices *s, uint32_t gpu, uint32_t start)
{
    return &s->at[(size_t)gpu * MIG_SLICES + start];
}

/* The bits of an instance in the mask of its node. */
static uint64_t bits_of(const struct nodes *ns, uint32_t gpu, uint8_t profile, uint32_t start)
{
    const struct slices *s = ns->slices;
    uint32_t local = gpu - s->first_gpu[s->node_of[gpu]];
    uint32_t memory = s->index.t->gpu.profiles[profile].memory;
    return mask_full(memory) << (local * s->stride + start);
}

enum hr_err slices_init(struct nodes *ns, const struct sharing_plan *plan, struct arena *arena)
{
    struct slices *s = arena_alloc(arena, sizeof *s);
    if (!s)
        return HR_NOMEM;
    s->stride = plan->mig->gpu.memory;
    uint32_t gpus = ns->n_gpus / s->stride;
    s->first_gpu = arena_array(arena, ns->n + 1, sizeof *s->first_gpu);
    s->node_of = arena_array(arena, gpus, sizeof *s->node_of);
    s->at = arena_array(arena, gpus, MIG_SLICES);
    if (!s->first_gpu || !s->node_of || !s->at)
        return HR_NOMEM;
    for (uint32_t node = 0, gpu = 0; node < ns->n; node++) {
        s->first_gpu[node] = gpu;
        s->first_gpu[node + 1] = gpu + ns->size[node] / s->stride;
        for (; gpu < s->first_gpu[node + 1]; gpu++)
            s->node_of[gpu] = node;
    }
    ns->slices = s;
    return mig_index_init(&s->index, plan->mig, gpus, plan->order, plan->rule, arena);
}

enum grant slices_fit(const struct nodes *ns, const struct shape *shape)
{
    const struct slices *s = ns->slices;
    uint32_t gpu;
    uint8_t start;
    if (shape->kind != SHAPE_SLICE || shape->profile >= s->index.t->gpu.n_profiles ||
        s->index.t->starts[s->index.t->empty][shape->profile] == 0)
        return GRANT_NEVER;
    if (shape->gpus != s->index.t->gpu.profiles[shape->profile].memory)
        return GRANT_NEVER;
    if (mig_index_find(&s->index, shape->profile, &gpu, &start))
        return GRANT_OK;
    return shape->gpus > ns->n_free ? GRANT_ROOM : GRANT_SHAPE;
}

struct part slices_take(struct nodes *ns, const struct shape *shape)
{
    struct slices *s = ns->slices;
    uint32_t gpu = 0;
    uint8_t start = 0;
    bool fits = mig_index_take(&s->index, shape->profile, &gpu, &start);
    assert(fits);
    (void)fits;
    *begins(s, gpu, start) = (uint8_t)(1 + shape->profile);
    return (struct part){.node = s->node_of[gpu], .mask = bits_of(ns, gpu, shape->profile, start)};
}

uint32_t slices_end(struct nodes *ns, uint32_t node, uint64_t mask)
{
    struct slices *s = ns->slices;
    uint32_t compute = 0;
    for (uint64_t left = mask; left; left &= left - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left);
        uint32_t gpu = s->first_gpu[node] + bit / s->stride, start = bit % s->stride;
        uint8_t *at = begins(s, gpu, start);
        if (*at == 0)
            continue;
        mig_index_give(&s->index, gpu, (uint8_t)(*at - 1), (uint8_t)start);
        compute += s->index.t->gpu.profiles[*at - 1].compute;
        *at = 0;
    }
    return compute;
}

void slices_close(struct nodes *ns, uint32_t node)
{
    struct slices *s = ns->slices;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        mig_index_close(&s->index, gpu);
}

void slices_open(struct nodes *ns, uint32_t node)
{
    struct slices *s = ns->slices;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        mig_index_open(&s->index, gpu);
}

uint32_t slices_free_compute(const struct nodes *ns, uint32_t node)
{
    const struct slices *s = ns->slices;
    uint32_t n = 0;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++)
        n += mig_free_compute(s->index.state[gpu]);
    return n;
}

struct slice_count slices_stranded(const struct nodes *ns, uint32_t profiles)
{
    const struct mig_index *x = &ns->slices->index;
    struct slice_count count = {0, 0};
    for (uint32_t state = 0; profiles && state < MIG_STATES; state++)
        if (x->n_in[state] > 0 && (x->fits[state] & profiles) == 0) {
            count.memory += x->n_in[state] * mask_count(mig_free_memory((mig_state)state));
            count.compute += x->n_in[state] * mig_free_compute((mig_state)state);
        }
    return count;
}

bool slices_consistent(const struct nodes *ns)
{
    const struct slices *s = ns->slices;
    for (uint32_t gpu = 0; gpu < s->index.n_gpus; gpu++) {
        mig_state state = s->index.t->empty;
        uint64_t taken = 0;
        for (uint8_t start = 0; start < s->stride; start++) {
            uint8_t at = *begins(s, gpu, start);
            if (at == 0)
                continue;
            if (!mig_legal(s->index.t, state, (uint8_t)(at - 1), start))
                return false;
            state = mig_after(s->index.t, state, (uint8_t)(at - 1), start);
            taken |= bits_of(ns, gpu, (uint8_t)(at - 1), start);
        }
        if (state != s->index.state[gpu] || (ns->free_mask[s->node_of[gpu]] & taken) != 0)
            return false;
    }
    return true;
}
