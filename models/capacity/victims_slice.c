/* Which instances of one GPU to evict so that a slice finds a legal place there.
 *
 * Freed slices may hold no instance of a profile, so sets of victims are judged by the tables of
 * MIG: a GPU without the set and without what is stopping on it, but with the places of other
 * starts that it is cleared for, must have a legal start. All sets of the at most eight instances
 * of a GPU are looked at, those of fewer victims first, and a set of which a part suffices is left
 * out; the sets of all GPUs compete by the rule (rule.c). Ties: the set with the lowest lease, then
 * fewer victims, then the lowest lease that is not in both. Victims are on the GPU of the start,
 * also where a ceiling is in the way. Each has to be permitted in turn, the smallest first; by
 * fair-share, too.
 *
 * Beyond the need: memory slices of victims that the start does not take.
 *
 * Where what stops will do, nobody is evicted: the GPU with fewest free memory slices then. */
#include "models/capacity/slices.h"
#include "models/capacity/victims_internal.h"

static uint32_t gpu_of(const struct fleet *f, const struct lease *l)
{
    return slices_gpu(&f->nodes, l->parts.items[0].node, l->parts.items[0].mask);
}

/* What the end of an instance adds to the state of its GPU. */
static uint16_t delta_of(const struct fleet *f, const struct lease *l)
{
    uint8_t start = slices_start(&f->nodes, l->parts.items[0].mask);
    return mig_delta(f->nodes.slices->t, l->profile, start);
}

void slice_survey(struct fleet *f)
{
    mig_state *after = f->victims.after;
    for (uint32_t gpu = 0; gpu < slices_gpus(&f->nodes); gpu++)
        after[gpu] = slices_index(&f->nodes, gpu)->state[gpu];
    for (size_t i = 0; i < f->leases.n && f->n_incoming > 0; i++) {
        const struct lease *l = &f->leases.items[i];
        if ((l->phase == LEASE_DRAINING || l->phase == LEASE_SCRUBBING) && l->parts.n > 0)
            after[gpu_of(f, l)] += delta_of(f, l);
        else if (l->phase == LEASE_ASSEMBLING && l->clears)
            after[l->gpu] -= mig_delta(f->nodes.slices->t, l->profile, l->start);
    }
}

/* Where an instance would be on a GPU in a state; mask 0: nowhere. */
static struct part target_in(const struct fleet *f, const struct shape *shape, uint32_t gpu,
                             mig_state s)
{
    const struct mig_index *x = slices_index(&f->nodes, gpu);
    if (!slices_clearable(&f->nodes, gpu) || x->t->starts[s][shape->profile] == 0)
        return (struct part){.mask = 0};
    return slices_place(&f->nodes, gpu, shape->profile, x->t->choice[x->rule][s][shape->profile]);
}

/* Whether the start may keep what is free of its place. */
static bool may_keep(const struct need *need, const struct part *target)
{
    return mask_count(target->mask & need->f->nodes.free_mask[target->node]) <= need->free;
}

bool slice_already(const struct need *need, const struct shape *shape)
{
    struct fleet *f = need->f;
    uint32_t fewest = NONE;
    if (f->n_incoming == 0 || need->coming < need->gpus)
        return false;
    slice_survey(f);
    for (uint32_t gpu = 0; gpu < slices_gpus(&f->nodes); gpu++) {
        mig_state after = f->victims.after[gpu];
        if (after == slices_index(&f->nodes, gpu)->state[gpu] && f->first_clearing[gpu] == NONE)
            continue;
        const struct part target = target_in(f, shape, gpu, after);
        uint32_t free = mask_count(mig_free_memory(after));
        if (target.mask && free < fewest && may_keep(need, &target)) {
            fewest = free;
            f->victims.node = gpu;
        }
    }
    return fewest != NONE;
}

/* ---- sets ---- */

/* Lists the candidates of each GPU, in no order. */
static void list_by_gpu(struct fleet *f)
{
    struct victims *v = &f->victims;
    for (uint32_t gpu = 0; gpu < slices_gpus(&f->nodes); gpu++)
        v->first_on_gpu[gpu] = NONE;
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t gpu = gpu_of(f, &f->leases.items[v->candidates[i].slot]);
        v->on_node[i] = (struct pick){
            .candidate = i, .gain = v->candidates[i].gpus, .next = v->first_on_gpu[gpu]};
        v->first_on_gpu[gpu] = i;
    }
}

/* The candidates of a GPU as picks, the highest lease first. */
static uint32_t picks_of_gpu(const struct fleet *f, uint32_t gpu)
{
    const struct victims *v = &f->victims;
    uint32_t n = 0;
    for (uint32_t i = v->first_on_gpu[gpu]; i != NONE; i = v->on_node[i].next) {
        uint32_t at = n++;
        for (; at > 0 && v->candidates[v->picks[at - 1].candidate].id < v->candidates[i].id; at--)
            v->picks[at] = v->picks[at - 1];
        v->picks[at] = v->on_node[i];
    }
    return n;
}

/* Whether fair shares let each of a set go in turn; other rules do not ask. */
static bool shares_allow(const struct need *need, const struct pick *set, uint32_t n)
{
    struct fleet *f = need->f;
    uint32_t m = 0;
    if (f->plan.victims != VICTIM_FAIR_SHARE)
        return true;
    for (; m < n; m++) {
        const struct candidate *c = &f->victims.candidates[set[m].candidate];
        if (!share_allows(f, need->taking, c->claimant, c->gpus, SHARE_AT_MOST_FINAL) &&
            !share_allows(f, need->taking, c->claimant, c->gpus, SHARE_LESS_THAN_INITIAL))
            break;
        quota_suppose(f, c->claimant, c->gpus);
    }
    for (uint32_t i = m; i-- > 0;) {
        const struct candidate *c = &f->victims.candidates[set[i].candidate];
        quota_undo(f, c->claimant, c->gpus);
    }
    return m == n;
}

/* The parts of claimants of what a set has to give (proportional). */
static void see_parts(struct fleet *f, const struct pick *set, uint32_t n, uint32_t want)
{
    struct victims *v = &f->victims;
    for (uint32_t i = 0; i < n; i++) {
        struct borrower *b = &v->of.items[v->candidates[set[i].candidate].claimant];
        b->part = b->due + (v->borrowed ? (double)want * b->borrowed / (double)v->borrowed : 0);
    }
}

/* Whether a set of the picks suffices and may go; it competes then. */
static bool try_set(const struct need *need, const struct shape *shape, uint32_t gpu, uint32_t set,
                    struct best *best)
{
    struct fleet *f = need->f;
    struct victims *v = &f->victims;
    mig_state state = v->after[gpu];
    uint64_t evicted = 0;
    for (uint32_t left = set; left; left &= left - 1) {
        const struct candidate *c = &v->candidates[v->picks[__builtin_ctz(left)].candidate];
        const struct lease *l = &f->leases.items[c->slot];
        state = (mig_state)(state + delta_of(f, l));
        evicted |= l->parts.items[0].mask;
    }
    const struct part target = target_in(f, shape, gpu, state);
    if (!target.mask || !may_keep(need, &target))
        return false;
    uint32_t n = victims_lay_out(need, v->picks, set), clean = mask_count(target.mask & ~evicted);
    if (!shares_allow(need, v->trial, n) || !victims_permitted(need, v->trial, n))
        return false;
    see_parts(f, v->trial, n, need->gpus - clean);
    victims_compete(need, v->trial, n, clean, gpu, best);
    return true;
}

static bool has_part(const uint8_t *sufficient, uint32_t n, uint32_t set)
{
    for (uint32_t i = 0; i < n; i++)
        if ((sufficient[i] & set) == sufficient[i])
            return true;
    return false;
}

static void try_gpu(const struct need *need, const struct shape *shape, uint32_t gpu,
                    struct best *best)
{
    uint8_t sufficient[1 << MIG_SLICES];
    uint32_t n = picks_of_gpu(need->f, gpu), n_sufficient = 0;
    for (uint32_t size = 1; size <= n; size++)
        for (uint32_t set = (UINT32_C(1) << n) - 1; set > 0; set--)
            if ((uint32_t)__builtin_popcount(set) == size &&
                !has_part(sufficient, n_sufficient, set) && try_set(need, shape, gpu, set, best))
                sufficient[n_sufficient++] = (uint8_t)set;
}

bool slice_choose(const struct need *need, const struct shape *shape)
{
    struct fleet *f = need->f;
    struct best best = {.found = false};
    slice_survey(f);
    list_by_gpu(f);
    for (uint32_t gpu = 0; gpu < slices_gpus(&f->nodes); gpu++)
        if (f->victims.first_on_gpu[gpu] != NONE && slices_clearable(&f->nodes, gpu))
            try_gpu(need, shape, gpu, &best);
    return best.found;
}
