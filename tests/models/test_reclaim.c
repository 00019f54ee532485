/* Reclaim: worked timelines, and the claims of starts that wait. */
#include "toy_fleet.h"

#include <criterion/criterion.h>

/* ---- one reclaim, stage by stage ---- */

Test(reclaim, the_stages_of_one_start)
{
    const struct rig_plan plan = rig_plan_of(1, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    gang->stop_ns = 20 * SIM_S;
    gang->save_ns = 15 * SIM_S;
    toy_acquire(gang, SHAPE_PREFER_WHOLE, 8, GPU_TRAINING, 0);
    rig_run(&r, 100 * SIM_S);
    const struct ask ask = {.shape = {.gpus = 4, .kind = SHAPE_ONE_NODE}, .tag = 7};
    lease_id l;
    cr_assert_eq(fleet_reclaim(r.fleet, service->number, &ask, 5 * SIM_S, &l), GRANT_OK);
    cr_assert_eq(fleet_lease_tag(r.fleet, l), 7);
    cr_assert_eq(rig_shares(&r, gang, GPU_DRAINING), 8);
    cr_assert_eq(fleet_usage(r.fleet, gang->number), 8); /* both are charged */
    cr_assert_eq(fleet_usage(r.fleet, service->number), 4);
    rig_run(&r, 126 * SIM_S - 1);
    cr_assert_eq(rig_shares(&r, gang, GPU_DRAINING), 8);
    rig_run(&r, 126 * SIM_S); /* 20 s to stop, 6 s teardown */
    cr_assert_eq(rig_shares(&r, NULL, GPU_SCRUBBING), 8);
    cr_assert_eq(fleet_usage(r.fleet, gang->number), 0);
    cr_assert_eq(gang->n_released, 1);
    rig_run(&r, 130 * SIM_S);
    cr_assert(service->n_granted == 1 && service->granted[0].at == 130 * SIM_S);
    cr_assert_eq(rig_shares(&r, service, GPU_HELD_IDLE), 4);
    cr_assert_eq(rig_shares(&r, NULL, GPU_FREE), 4);
    cr_assert_eq(fleet_lease_since(r.fleet, l), 130 * SIM_S);
    const struct reclaim_row *row = fleet_lease_reclaim(r.fleet, l);
    cr_assert_eq(row, rig_row(&r, 0));
    cr_assert(row->claimant == service->number && row->lease == l && row->gpus == 4);
    cr_assert(row->gpus_missing == 4 && row->gpus_evicted == 8 && row->victims == 1);
    cr_assert(row->decision_ns == 100 * SIM_S && row->granted_ns == 130 * SIM_S);
    cr_assert_eq(row->ready_ns, SIM_NEVER);
    const simtime_ns stages_s[STAGES] = {[STAGE_DETECT] = 5,
                                         [STAGE_GRACE] = 5,
                                         [STAGE_CHECKPOINT] = 15,
                                         [STAGE_TEARDOWN] = 6,
                                         [STAGE_SCRUB] = 4};
    for (int s = 0; s < STAGES; s++)
        cr_assert_eq(row->stage_ns[s], stages_s[s] * SIM_S, "stage %s", stage_names[s]);
    rig_fini(&r);
}

Test(reclaim, small_starts_of_one_pass_share_one_evicted_gang)
{
    const struct rig_plan plan = rig_plan_of(8, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    toy_acquire(gang, SHAPE_PREFER_WHOLE, 64, GPU_TRAINING, 0);
    for (int i = 0; i < 10; i++)
        toy_reclaim(service, SHAPE_ONE_NODE, 4);
    cr_assert_eq(gang->n_evicted, 1);
    uint32_t evicted = 0, missing = 0;
    for (size_t i = 0; i < 10; i++) {
        evicted += rig_row(&r, i)->gpus_evicted;
        missing += rig_row(&r, i)->gpus_missing;
    }
    cr_assert(evicted == 64 && missing == 40); /* 24 over-reclaimed */
    rig_run(&r, 40 * SIM_S);
    cr_assert_eq(service->n_granted, 10);
    cr_assert_eq(rig_shares(&r, NULL, GPU_FREE), 24);
    cr_assert_eq(fleet_free_gpus(r.fleet), 24);
    rig_fini(&r);
}

/* A start decided 27 s into the 36 s of another's victim: its stages are what is left of them. */
Test(reclaim, a_late_claim_has_the_rest_of_the_stages)
{
    const struct rig_plan plan = rig_plan_of(1, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    gang->stop_ns = 26 * SIM_S;
    toy_acquire(gang, SHAPE_PREFER_WHOLE, 8, GPU_TRAINING, 0);
    toy_reclaim(service, SHAPE_ONE_NODE, 4);
    rig_run(&r, 27 * SIM_S);
    toy_reclaim(service, SHAPE_ONE_NODE, 4);
    rig_run(&r, 36 * SIM_S);
    const struct reclaim_row *late = rig_row(&r, 1);
    cr_assert(late->gpus_evicted == 0 && late->victims == 0 && late->gpus_missing == 4);
    cr_assert_eq(late->stage_ns[STAGE_GRACE], 0);
    cr_assert_eq(late->stage_ns[STAGE_TEARDOWN], 5 * SIM_S);
    cr_assert_eq(late->stage_ns[STAGE_SCRUB], 4 * SIM_S);
    cr_assert_eq(late->granted_ns, 36 * SIM_S);
    rig_fini(&r);
}

Test(reclaim, waiting_for_a_lease_that_ended_by_itself_is_no_reclaim)
{
    const struct rig_plan plan = rig_plan_of(1, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    size_t n;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    lease_id ends = toy_acquire(gang, SHAPE_PREFER_WHOLE, 6, GPU_TRAINING, 0);
    fleet_stop_at(r.fleet, ends, 10 * SIM_S, 0);
    lease_id l = toy_reclaim(service, SHAPE_ONE_NODE, 4);
    cr_assert_eq(rig_shares(&r, service, GPU_HELD_IDLE), 2); /* two are free and kept */
    rig_run(&r, 20 * SIM_S);
    cr_assert(service->n_granted == 1 && gang->n_evicted == 0);
    cr_assert_null(fleet_lease_reclaim(r.fleet, l));
    fleet_reclaims(r.fleet, &n);
    cr_assert_eq(n, 0);
    rig_fini(&r);
}

Test(reclaim, what_is_free_is_granted_at_once)
{
    const struct rig_plan plan = rig_plan_of(2, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    toy_acquire(gang, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    lease_id l = toy_reclaim(service, SHAPE_ONE_NODE, 4);
    cr_assert_eq(service->n_granted, 0); /* an event of its own */
    rig_run(&r, 0);
    cr_assert(service->n_granted == 1 && service->granted[0].lease == l);
    cr_assert(gang->n_evicted == 0 && !fleet_lease_reclaim(r.fleet, l));
    rig_fini(&r);
}

/* ---- claims ---- */

/* Two claims on one node; a lease that ends by itself brings GPUs earlier than the victim, and the
 * older claim gets them. */
Test(reclaim, clean_gpus_go_to_the_oldest_claim)
{
    const struct rig_plan plan = rig_plan_of(1, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    toy_acquire(gang, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    lease_id b = toy_acquire(gang, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    lease_id first = toy_reclaim(service, SHAPE_ONE_NODE, 4);
    rig_run(&r, 5 * SIM_S);
    fleet_stop_at(r.fleet, b, 5 * SIM_S, 0);
    lease_id second = toy_reclaim(service, SHAPE_ONE_NODE, 4);
    cr_assert_eq(gang->n_evicted, 1);
    rig_run(&r, 15 * SIM_S);
    cr_assert(service->n_granted == 1 && service->granted[0].lease == first);
    rig_run(&r, 40 * SIM_S);
    cr_assert(service->n_granted == 2 && service->granted[1].lease == second);
    rig_fini(&r);
}

Test(reclaim, an_abandoned_start_gives_its_claims_and_its_gpus_back)
{
    const struct rig_plan plan = rig_plan_of(1, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    toy_acquire(gang, SHAPE_ONE_NODE, 6, GPU_TRAINING, 0);
    lease_id l = toy_reclaim(service, SHAPE_ONE_NODE, 4);
    cr_assert_eq(fleet_free_gpus(r.fleet), 0); /* the two free ones are kept */
    rig_run(&r, 10 * SIM_S);
    fleet_abandon(r.fleet, l);
    cr_assert_eq(fleet_free_gpus(r.fleet), 2);
    cr_assert_eq(fleet_usage(r.fleet, service->number), 0);
    lease_id again = toy_reclaim(service, SHAPE_ONE_NODE, 8);
    cr_assert_eq(gang->n_evicted, 1); /* its GPUs were on their way still */
    rig_run(&r, 20 * SIM_S);
    fleet_abandon(r.fleet, again);
    rig_run(&r, 40 * SIM_S);
    cr_assert_eq(service->n_granted, 0);
    cr_assert_eq(fleet_free_gpus(r.fleet), 8);
    cr_assert_eq(rig_row(&r, 0)->granted_ns, SIM_NEVER);
    rig_fini(&r);
}

/* 8 GPUs of node 0 and 4 of node 1 are on their way; a start of 4 claims the tighter node. */
Test(reclaim, incoming_gpus_are_claimed_by_best_fit)
{
    const struct rig_plan plan = rig_plan_of(2, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    lease_id wide = toy_acquire(gang, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    lease_id tight = toy_acquire(gang, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    toy_acquire(gang, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    fleet_stop_at(r.fleet, wide, 2 * SIM_S, 0);
    fleet_stop_at(r.fleet, tight, 20 * SIM_S, 0);
    toy_reclaim(service, SHAPE_ONE_NODE, 4);
    rig_run(&r, SIM_MIN);
    cr_assert(service->n_granted == 1 && service->granted[0].at == 30 * SIM_S);
    cr_assert_eq(gang->n_evicted, 0);
    rig_fini(&r);
}

/* 4 GPUs of node 0 are free, nodes 1 and 2 are on their way: 16 GPUs claim the two whole nodes. */
Test(reclaim, incoming_whole_nodes_come_before_free_fragments)
{
    const struct rig_plan plan = rig_plan_of(3, VICTIM_LEAST_OVER_RECLAIM);
    struct rig r;
    rig_init(&r, &plan);
    struct toy *gang = rig_add(&r, &toy_low), *service = rig_add(&r, &toy_high);
    toy_acquire(service, SHAPE_ONE_NODE, 4, GPU_SERVING, 0);
    for (int i = 0; i < 2; i++)
        fleet_stop_at(r.fleet, toy_acquire(gang, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0), SIM_S, 0);
    toy_reclaim(service, SHAPE_PREFER_WHOLE, 16);
    cr_assert_eq(rig_shares(&r, service, GPU_HELD_IDLE), 0);
    cr_assert_eq(fleet_free_gpus(r.fleet), 4);
    rig_run(&r, SIM_MIN);
    cr_assert_eq(rig_shares(&r, service, GPU_HELD_IDLE), 16);
    rig_fini(&r);
}
