/* Random cases. Zeros are frequent where they mean something of their own. */
#include "brute_draw.h"

#include "draw.h"

uint32_t pick(uint64_t *state, uint32_t low, uint32_t high)
{
    return low + draw_below(state, high - low + 1);
}

simtime_ns seconds(uint64_t *state, uint32_t low, uint32_t high)
{
    return pick(state, low, high) * SIM_S;
}

void draw_fleet(uint64_t *state, struct brute_case *c)
{
    c->nodes = pick(state, 1, BRUTE_NODES);
    c->gpus_per_node = pick(state, 1, 8);
    c->placement = (enum shape_kind)pick(state, 0, 2);
    c->victims = pick(state, 0, 1) ? VICTIM_YOUNGEST : VICTIM_LOWEST_PRIORITY;
    c->grace_ns = seconds(state, 0, 12);
    c->teardown_ns = seconds(state, 0, 3);
    c->scrub_ns = seconds(state, 0, 3);
    c->interval_ns = pick(state, 0, 3) ? seconds(state, 2, 20) : SIM_NEVER;
    c->stall_ns = seconds(state, 0, 3);
    c->notice_save_ns = seconds(state, 0, 9);
    c->load_ns = seconds(state, 0, 3);
    c->init_ns = seconds(state, 0, 2);
    c->save_on_notice = pick(state, 0, 1);
    c->final_save = pick(state, 0, 1);
    c->end_ns = 2000 * SIM_S;
}

void draw_jobs(uint64_t *state, struct brute_case *c)
{
    uint32_t most = c->nodes * c->gpus_per_node;
    simtime_ns at = 0;
    c->n_jobs = pick(state, 2, BRUTE_JOBS);
    for (uint32_t j = 0; j < c->n_jobs; j++) {
        at += pick(state, 0, 2) ? seconds(state, 0, 15) : 0;
        c->jobs[j] = (struct brute_job){
            .submit_ns = at,
            .work_ns = seconds(state, 1, 60),
            .tenant = pick(state, 0, c->n_tenants - 1),
            .gpus = pick(state, 1, pick(state, 0, 3) ? (most + 1) / 2 : most + 1),
            .priority = (int32_t)pick(state, 0, 3),
            .preemptible = pick(state, 0, 6) > 0,
        };
    }
}

void draw_order(uint64_t *state, struct brute_case *c, enum queue_order order)
{
    c->order = order;
    if (order == ORDER_PRIORITY)
        c->age_ns = pick(state, 0, 1) ? seconds(state, 1, 30) : 0;
}

void draw_quotas(uint64_t *state, struct brute_case *c)
{
    uint32_t gpus = c->nodes * c->gpus_per_node, left = gpus;
    for (uint32_t t = 0; t < c->n_tenants; t++) {
        struct quota *q = &c->tenants[t].quota;
        *q = (struct quota){.floor_gpus = pick(state, 0, left), .priority = (int)pick(state, 0, 2)};
        left -= q->floor_gpus;
        q->ceiling_gpus = pick(state, 0, 2) ? gpus : pick(state, q->floor_gpus, gpus);
        q->lend_gpus = pick(state, 0, 1) ? q->floor_gpus : pick(state, 0, q->floor_gpus);
        quota_may_reclaim(q, (enum may_reclaim)pick(state, 0, RECLAIM_POLICIES - 1));
    }
}

void draw_policies(uint64_t *state, struct brute_case *c)
{
    for (uint32_t t = 0; t < c->n_tenants; t++) {
        struct quota *q = &c->tenants[t].quota;
        q->reclaim_within_cohort = (enum within_cohort)pick(state, 0, COHORT_POLICIES - 1);
        q->borrow_within_cohort = (enum within_cohort)pick(state, 0, COHORT_LOWER_PRIORITY);
        q->within_queue = (enum within_queue)pick(state, 0, QUEUE_POLICIES - 1);
        q->has_borrow_threshold = pick(state, 0, 2) == 0;
        q->borrow_threshold = (int32_t)pick(state, 0, 4);
        q->weight = pick(state, 0, 1) ? 1 : pick(state, 1, 3);
    }
}

void draw_cohorts(uint64_t *state, struct brute_case *c)
{
    uint32_t gpus = c->nodes * c->gpus_per_node;
    c->n_cohorts = pick(state, 1, BRUTE_COHORTS);
    for (uint32_t i = 0; i < c->n_cohorts; i++) {
        uint32_t own = pick(state, 0, 2) ? 0 : pick(state, 0, gpus / 4);
        c->cohorts[i] = (struct cohort){
            .name = "cohort",
            .parent = pick(state, 0, i),
            .floor_gpus = own,
            .ceiling_gpus = pick(state, 0, 1) ? UINT32_MAX : pick(state, gpus / 2, gpus),
            .lend_gpus = pick(state, 0, 1) ? UINT32_MAX : pick(state, 0, gpus / 2),
            .weight = pick(state, 0, 1) ? 0 : pick(state, 1, 3),
        };
    }
    for (uint32_t t = 0; t < c->n_tenants; t++)
        c->tenants[t].quota.cohort = pick(state, 0, c->n_cohorts);
}

void draw_preemption(uint64_t *state, struct brute_case *c)
{
    c->consolidate = pick(state, 0, 1);
    c->serial = pick(state, 0, 1);
    c->preemption = (struct preemption_plan){
        .mode = (enum preemption_mode)pick(state, 0, PREEMPTION_MODES - 1),
        .own_grace = pick(state, 0, 1),
        .grace_ns = seconds(state, 0, 12),
        .exempt_ns = pick(state, 0, 1) ? 0 : seconds(state, 1, 30),
        .suspend_ns = seconds(state, 0, 9),
        .resume_ns = seconds(state, 0, 3),
    };
}

void draw_faults(uint64_t *state, struct brute_case *c)
{
    simtime_ns free_at[BRUTE_NODES] = {0}, at = 0;
    c->spares = c->nodes > 1 && pick(state, 0, 1) ? pick(state, 1, c->nodes - 1) : 0;
    c->detection_ns = pick(state, 0, 1) ? seconds(state, 1, 12) : 0;
    c->n_faults = pick(state, 1, BRUTE_FAULTS);
    for (uint32_t i = 0; i < c->n_faults; i++) {
        struct brute_fault *f = &c->faults[i];
        f->node = pick(state, 0, c->nodes - 1);
        at += pick(state, 0, 2) ? seconds(state, 1, 30) : i == 0;
        at = at > free_at[f->node] ? at : free_at[f->node] + SIM_S;
        f->at_ns = at;
        f->repaired_ns = free_at[f->node] = at + seconds(state, 1, 40);
    }
    c->nodes -= c->spares;
}

void draw_spares_over(struct brute_case *c)
{
    c->nodes += c->spares;
}
