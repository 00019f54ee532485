/* The fleet's other rules: passes, stranded GPUs, ready and busy GPUs, stages of a stop, the trace.
 */
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct quota any = {.ceiling_gpus = 1000000};
static const struct rig_plan two_nodes = {
    .nodes = 2, .gpus_per_node = 8, .grace_ns = 30 * SIM_S, .teardown_s = 6, .scrub_s = 4};

Test(fleet, names)
{
    cr_assert_str_eq(may_reclaim_names[RECLAIM_NEVER], "never");
    cr_assert_str_eq(may_reclaim_names[RECLAIM_LOWER_PRIORITY], "lower-priority");
    cr_assert_str_eq(victim_rule_names[VICTIM_LEAST_OVER_RECLAIM], "least-over-reclaim");
    cr_assert_str_eq(stage_names[STAGE_DETECT], "detect");
    cr_assert_str_eq(stage_names[STAGE_ENGINE], "engine");
    for (int s = 0; s < STAGES; s++)
        cr_assert(strlen(stage_docs[s]) > 0);
    const struct node_group groups[] = {{.nodes = 3, .gpus_per_node = 8},
                                        {.nodes = 2, .gpus_per_node = 4}};
    const struct fleet_plan plan = {.groups = groups, .n_groups = 2};
    cr_assert_eq(fleet_plan_gpus(&plan), 32);
}

/* ---- passes ---- */

/* Writes down whose turn it is. */
static void take_turn(struct toy *t, simtime_ns now)
{
    (void)now;
    uint32_t turn = 0;
    for (uint32_t i = 0; i < t->rig->n_toys; i++)
        turn += t->rig->toys[i]->n_turns;
    t->share = turn; /* unused otherwise in these tests */
}

Test(fleet, a_pass_goes_by_priority_then_number)
{
    struct rig r;
    const int32_t priorities[] = {1, 5, -2, 5, 1};
    const uint32_t turns[] = {3, 1, 5, 2, 4};
    rig_init(&r, &two_nodes);
    for (int i = 0; i < 5; i++) {
        struct quota q = any;
        q.priority = priorities[i];
        rig_add(&r, &q)->turn = take_turn;
    }
    fleet_want_pass(r.fleet);
    fleet_want_pass(r.fleet);
    rig_run(&r, 0);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(r.toys[i]->share, turns[i]);
        cr_assert_eq(r.toys[i]->n_turns, 1);
        r.toys[i]->share = 0;
    }
    rig_fini(&r);
}

Test(fleet, one_pass_an_instant)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &any);
    fleet_want_pass(r.fleet);
    rig_run(&r, SIM_S);
    cr_assert_eq(t->n_turns, 1);
    fleet_want_pass(r.fleet);
    rig_run(&r, SIM_S);
    fleet_want_pass(r.fleet); /* the instant has had its pass */
    rig_run(&r, SIM_S);
    cr_assert_eq(t->n_turns, 2);
    rig_run(&r, SIM_S + 1);
    cr_assert_eq(t->n_turns, 3);
    rig_fini(&r);
}

/* Asks again and again, taking a GPU in the first three turns. */
static void greedy_turn(struct toy *t, simtime_ns now)
{
    (void)now;
    if (t->n_turns <= 3)
        toy_try_acquire(t, SHAPE_ANY, 1);
    fleet_want_pass(t->rig->fleet);
}

Test(fleet, a_pass_wanted_in_a_pass_follows_while_something_changes)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &any);
    t->turn = greedy_turn;
    fleet_want_pass(r.fleet);
    rig_run(&r, SIM_S);
    cr_assert_eq(t->n_turns, 4); /* three that changed something and the one after */
    rig_fini(&r);
}

/* ---- stranded ---- */

Test(fleet, free_gpus_too_few_for_any_request_are_stranded)
{
    const struct rig_plan plan = {.nodes = 3, .gpus_per_node = 8, .teardown_s = 1};
    struct rig r;
    rig_init(&r, &plan);
    struct toy *t = rig_add(&r, &any), *u = rig_add(&r, &any);
    toy_acquire(t, SHAPE_ONE_NODE, 7, GPU_TRAINING, 0);              /* one is left */
    lease_id l = toy_acquire(t, SHAPE_ONE_NODE, 5, GPU_TRAINING, 0); /* three are left */
    toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);              /* four are left */
    fleet_want_pass(r.fleet);
    rig_run(&r, SIM_S);
    cr_assert_eq(rig_shares(&r, NULL, GPU_STRANDED), 0); /* nobody waits */
    t->share = 8;
    fleet_want_pass(r.fleet);
    rig_run(&r, 2 * SIM_S);
    cr_assert_eq(rig_shares(&r, NULL, GPU_STRANDED), 8);
    u->share = 4;
    fleet_want_pass(r.fleet);
    rig_run(&r, 3 * SIM_S);
    cr_assert_eq(rig_shares(&r, NULL, GPU_STRANDED), 4); /* 1 + 3 */
    cr_assert_eq(rig_shares(&r, NULL, GPU_FREE), 4);
    fleet_stop_at(r.fleet, l, 4 * SIM_S, 0);
    rig_run(&r, 5 * SIM_S); /* its node is whole again */
    cr_assert_eq(rig_shares(&r, NULL, GPU_STRANDED), 1);
    cr_assert_eq(rig_shares(&r, NULL, GPU_FREE), 12);
    toy_acquire(u, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0); /* the stranded one, outside a pass */
    rig_run(&r, 6 * SIM_S);
    cr_assert_eq(rig_shares(&r, NULL, GPU_STRANDED), 0);
    t->share = u->share = 0;
    rig_fini(&r);
}

/* ---- states ---- */

Test(fleet, a_lease_without_a_busy_count_is_booked_in_its_state)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &any);
    lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_LOADING, 3);
    lease_id b = toy_acquire(t, SHAPE_ONE_NODE, 2, GPU_SERVING, 4);
    cr_assert_eq(rig_shares(&r, t, GPU_LOADING), 4);
    cr_assert_eq(rig_shares(&r, t, GPU_SERVING), 2);
    fleet_set_state(r.fleet, a, GPU_HELD_IDLE);
    fleet_set_state(r.fleet, b, GPU_RESTORING);
    cr_assert_eq(rig_shares(&r, t, GPU_HELD_IDLE), 4);
    cr_assert_eq(rig_shares(&r, t, GPU_RESTORING), 2);
    cr_assert_eq(rig_shares(&r, t, GPU_SERVING), 0);
    cr_assert_eq(fleet_lease_tag(r.fleet, a), 3);
    cr_assert_eq(fleet_lease_gpus(r.fleet, b), 2);
    cr_assert_eq(fleet_usage(r.fleet, t->number), 6);
    rig_fini(&r);
}

Test(fleet, busy_counts_ready_gpus_whichever_leases_hold_them)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct toy *t = rig_add(&r, &any);
    lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_HELD_IDLE, 0);
    lease_id b = toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_LOADING, 0);
    fleet_busy_set(r.fleet, t->number, 6);
    cr_assert_eq(rig_shares(&r, t, GPU_SERVING), 4); /* no more are ready */
    fleet_set_state(r.fleet, b, GPU_HELD_IDLE);
    cr_assert_eq(rig_shares(&r, t, GPU_SERVING), 6);
    cr_assert_eq(rig_shares(&r, t, GPU_HELD_IDLE), 2);
    fleet_stop_at(r.fleet, a, SIM_S, 0);
    cr_assert_eq(rig_shares(&r, t, GPU_SERVING), 4);
    cr_assert_eq(rig_shares(&r, t, GPU_DRAINING), 4);
    fleet_busy_set(r.fleet, t->number, 0);
    cr_assert_eq(rig_shares(&r, t, GPU_HELD_IDLE), 4);
    rig_fini(&r);
}

/* ---- a stop ---- */

struct change {
    simtime_ns at;
    lease_id lease;
    enum gpu_state from, to;
    uint32_t gpus;
};

struct changes {
    struct change items[64];
    uint32_t n;
};

static void note_change(void *self, simtime_ns now, lease_id l, uint32_t claimant,
                        enum gpu_state from, enum gpu_state to, uint32_t gpus)
{
    struct changes *c = self;
    cr_assert(c->n < 64 && claimant < 2);
    c->items[c->n++] = (struct change){now, l, from, to, gpus};
}

Test(fleet, a_stop_and_a_reclaim_leave_their_trace)
{
    struct rig r;
    struct changes seen = {.n = 0};
    const struct fleet_trace trace = {&seen, note_change};
    rig_init(&r, &two_nodes);
    fleet_trace_set(r.fleet, &trace);
    const struct quota top = {.ceiling_gpus = 16,
                              .priority = 1,
                              .reclaim_within_cohort = COHORT_ANY,
                              .borrow_within_cohort = COHORT_LOWER_PRIORITY};
    struct toy *t = rig_add(&r, &any), *u = rig_add(&r, &top);
    lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    toy_acquire(t, SHAPE_ONE_NODE, 6, GPU_TRAINING, 0);
    rig_run(&r, SIM_S);
    fleet_stop_at(r.fleet, a, 3 * SIM_S, 0);
    lease_id c = toy_reclaim(u, SHAPE_ANY, 6);
    rig_run(&r, SIM_MIN);
    const struct change want[] = {
        {0, 0, GPU_FREE, GPU_TRAINING, 8},      {0, 1, GPU_FREE, GPU_TRAINING, 6},
        {1, 0, GPU_TRAINING, GPU_DRAINING, 8},  {1, 2, GPU_FREE, GPU_HELD_IDLE, 2},
        {9, 0, GPU_DRAINING, GPU_SCRUBBING, 8}, {13, 0, GPU_SCRUBBING, GPU_FREE, 8},
        {13, 2, GPU_FREE, GPU_HELD_IDLE, 4},
    };
    cr_assert_eq(seen.n, sizeof want / sizeof *want);
    for (uint32_t i = 0; i < seen.n; i++) {
        const struct change *s = &seen.items[i];
        cr_assert(s->at == want[i].at * SIM_S && s->lease == want[i].lease &&
                      s->from == want[i].from && s->to == want[i].to && s->gpus == want[i].gpus,
                  "change %u", i);
    }
    cr_assert(c == 2 && u->n_granted == 1);
    rig_fini(&r);
}

Test(fleet, lease_numbers_are_never_used_twice)
{
    const struct rig_plan plan = {.nodes = 1, .gpus_per_node = 1};
    struct rig r;
    rig_init(&r, &plan);
    struct toy *t = rig_add(&r, &any);
    for (lease_id i = 0; i < 100; i++) {
        lease_id l = toy_acquire(t, SHAPE_ANY, 1, GPU_TRAINING, 0);
        cr_assert_eq(l, i);
        fleet_stop_at(r.fleet, l, i * SIM_S, 0);
        rig_run(&r, i * SIM_S);
    }
    cr_assert_eq(t->n_released, 100);
    rig_fini(&r);
}

/* The n-th stop of a claimant takes the same times whatever others do. */
Test(fleet, stage_lengths_follow_the_claimant_not_the_design)
{
    const struct node_group group = {.nodes = 8, .gpus_per_node = 8};
    const struct reclaim_plan reclaim = {
        .teardown = {.kind = DIST_LOGNORMAL, .mean_s = 6, .spread = 0.5},
        .scrub = {.kind = DIST_EXPONENTIAL, .mean_s = 4},
    };
    simtime_ns released[2][5];
    for (int with = 0; with < 2; with++) {
        struct rig r;
        rig_init_groups(&r, &group, 1, &reclaim, 9);
        struct toy *t = rig_add(&r, &any), *other = rig_add(&r, &any);
        for (uint32_t i = 0; i < 5; i++) {
            if (with)
                fleet_stop_at(r.fleet, toy_acquire(other, SHAPE_ANY, 3, GPU_TRAINING, 0),
                              i * SIM_MIN, 0);
            fleet_stop_at(r.fleet, toy_acquire(t, SHAPE_ANY, 2, GPU_TRAINING, 0), i * SIM_MIN, 0);
            rig_run(&r, (i + 1) * SIM_MIN);
            released[with][i] = t->released[i].at;
        }
        rig_fini(&r);
    }
    for (int i = 0; i < 5; i++)
        cr_assert_eq(released[0][i], released[1][i]);
}
