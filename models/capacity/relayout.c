/* Idle GPUs that are given another MIG layout.
 *
 * At the end of a scheduling pass each claimant says how many instances of each profile it waits
 * for. A profile of which a free instance is left lacks nothing: who still waits for one waits for
 * his turn. What others lack, less the instances that GPUs being re-laid will have, is unmet.
 *
 * Rule. Of the layouts that GPUs may be re-laid to, the one that holds most memory slices of unmet
 * instances, the first of equals, goes to the lowest GPU of a fixed layout with no instance in use
 * (held, stopping or scrubbed) that has not been re-laid in the last keep_ns; then the next one,
 * until no layout meets anything or no GPU is idle. No GPU is emptied for it. Free slices of the
 * GPU are out of service for relayout_ns [mig_reconfig_label_to_success_s], booked (nobody,
 * reconfiguring). A failure of its node takes it out at once; it has the new layout when it is
 * back. */
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"

static void laid(void *ctx, uint32_t gpu)
{
    struct fleet *f = ctx;
    const struct slices *s = f->nodes.slices;
    struct part all = slices_all(&f->nodes, gpu);
    book_out(f, GPU_RECONFIGURING, GPU_FREE, s->stride, s->t->gpu.compute);
    slices_laid(&f->nodes, gpu);
    f->relayout.kept_until[gpu] = sim_time_add(fleet_now(f), f->relayout.keep_ns);
    f->frees++;
    nodes_out_give(f, all.node, all.mask, s->t->gpu.compute);
    fleet_want_pass(f);
}

enum hr_err relayout_init(struct fleet *f, const struct sharing_plan *plan)
{
    struct relayout *r = &f->relayout;
    bool targets = false;
    for (uint32_t k = 0; k < plan->n_layouts; k++)
        targets = targets || plan->layouts[k].target;
    if (!targets)
        return HR_OK;
    uint32_t n = f->nodes.n_gpus / f->nodes.slices->stride;
    r->time_ns = plan->relayout_ns;
    r->keep_ns = plan->keep_ns;
    r->kept_until = arena_array(&f->arena, n, sizeof *r->kept_until);
    r->timers = arena_array(&f->arena, n, sizeof *r->timers);
    if (!r->kept_until || !r->timers)
        return HR_NOMEM;
    for (; r->n_gpus < n; r->n_gpus++)
        TRY(engine_timer_new(f->engine, EVENT_COMPLETE, laid, f, r->n_gpus, &r->timers[r->n_gpus]));
    return HR_OK;
}

void relayout_fini(struct fleet *f)
{
    for (uint32_t gpu = 0; gpu < f->relayout.n_gpus; gpu++)
        engine_timer_free(f->engine, f->relayout.timers[gpu]);
}

static void begin(struct fleet *f, uint32_t gpu, uint32_t kind, simtime_ns now)
{
    const struct slices *s = f->nodes.slices;
    struct part all = slices_all(&f->nodes, gpu);
    slices_lay(&f->nodes, gpu, kind);
    nodes_take_these(&f->nodes, all.node, all.mask);
    book_out(f, GPU_FREE, GPU_RECONFIGURING, s->stride, s->t->gpu.compute);
    engine_schedule(f->engine, f->relayout.timers[gpu], sim_time_add(now, f->relayout.time_ns));
    f->changes++;
    f->churn.relayouts++;
}

void relayout_fail(struct fleet *f, uint32_t node, enum gpu_state state)
{
    const struct slices *s = f->nodes.slices;
    if (!f->relayout.timers)
        return;
    for (uint32_t gpu = s->first_gpu[node]; gpu < s->first_gpu[node + 1]; gpu++) {
        struct part all = slices_all(&f->nodes, gpu);
        if (!number_set_has(&s->laying, gpu))
            continue;
        engine_cancel(f->engine, f->relayout.timers[gpu]);
        slices_laid(&f->nodes, gpu);
        book_out(f, GPU_RECONFIGURING, state, s->stride, s->t->gpu.compute);
        racks_free(&f->nodes.racks, node, s->stride);
        f->out_mask[node] |= all.mask;
        f->n_out += s->stride;
    }
}

/* ---- what is lacking ---- */

/* Of a fixed layout, or of one that is to come. */
static uint32_t holds(const struct slice_kind *k, uint8_t profile)
{
    return k->index.t->fits[k->index.t->empty][profile];
}

static uint32_t less(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* Whether anything is. */
static bool unmet_of(const struct fleet *f, uint32_t unmet[MIG_PROFILES])
{
    const struct slices *s = f->nodes.slices;
    bool any = false;
    for (size_t i = 0; i < f->claimants.n; i++) {
        const struct claimant_ops *ops = &f->claimants.items[i].ops;
        if (ops->waiting_slices)
            ops->waiting_slices(ops->self, unmet);
    }
    for (uint8_t p = 0; p < s->t->gpu.n_profiles; p++) {
        for (uint32_t k = 0; k < s->n_kinds && unmet[p] > 0; k++)
            if (mig_index_fits(&s->kinds[k].index, p) > 0)
                unmet[p] = 0;
        for (uint32_t gpu = number_set_next(&s->laying, 0); gpu != NUMBER_NONE && unmet[p] > 0;
             gpu = number_set_next(&s->laying, gpu + 1))
            if (!s->shut[s->node_of[gpu]])
                unmet[p] = less(unmet[p], holds(&s->kinds[s->kind[gpu]], p));
        any = any || unmet[p] > 0;
    }
    return any;
}

/* The layout that meets most of it; NONE: none meets any. */
static uint32_t best_kind(const struct slices *s, const uint32_t unmet[MIG_PROFILES])
{
    uint32_t best = NONE, most = 0;
    for (uint32_t k = 0; k < s->n_kinds; k++) {
        uint32_t met = 0;
        for (uint8_t p = 0; p < s->t->gpu.n_profiles && s->kinds[k].plan->target; p++) {
            uint32_t has = holds(&s->kinds[k], p);
            met += (has < unmet[p] ? has : unmet[p]) * s->t->gpu.profiles[p].memory;
        }
        if (met > most) {
            best = k;
            most = met;
        }
    }
    return best;
}

/* The lowest idle GPU that may be re-laid, from one on; NONE: there is none, and *wake is not after
 * the time from which on one will be that is kept for now. */
static uint32_t idle_gpu(const struct fleet *f, uint32_t from, simtime_ns now, simtime_ns *wake)
{
    const struct slices *s = f->nodes.slices;
    uint32_t idle = 0;
    for (uint32_t k = 0; k < s->n_kinds; k++)
        idle += s->kinds[k].plan->fixed ? s->kinds[k].index.n_in[s->t->empty] : 0;
    for (uint32_t gpu = from; gpu < f->relayout.n_gpus && idle > 0; gpu++) {
        const struct slice_kind *k = &s->kinds[s->kind[gpu]];
        const struct part all = slices_all(&f->nodes, gpu);
        simtime_ns until = f->relayout.kept_until[gpu];
        if (!k->plan->fixed || k->index.state[gpu] != s->t->empty ||
            (f->nodes.free_mask[all.node] & all.mask) != all.mask)
            continue;
        if (until <= now)
            return gpu;
        *wake = until < *wake ? until : *wake;
    }
    return NONE;
}

void relayout_look(struct fleet *f, simtime_ns now)
{
    const struct slices *s = f->nodes.slices;
    uint32_t unmet[MIG_PROFILES] = {0};
    simtime_ns wake = SIM_NEVER;
    if (!f->relayout.timers || !unmet_of(f, unmet))
        return;
    for (uint32_t kind, gpu = 0; (kind = best_kind(s, unmet)) != NONE;) {
        gpu = idle_gpu(f, gpu, now, &wake);
        if (gpu == NONE)
            break;
        begin(f, gpu, kind, now);
        for (uint8_t p = 0; p < s->t->gpu.n_profiles; p++)
            unmet[p] = less(unmet[p], holds(&s->kinds[kind], p));
    }
    if (best_kind(s, unmet) != NONE && wake != SIM_NEVER)
        fleet_want_pass_at(f, wake);
}
