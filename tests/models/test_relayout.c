/* Layouts of MIG GPUs in a fleet: several in a pool, larger instances, and GPUs that are re-laid,
 * in timelines worked out by hand. */
#include "mig_kit.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SEVENTHS "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6"
#define HALVES   "3g.40gb@0 3g.40gb@4"
#define WHOLE    "7g.80gb@0"

enum { LAYOUTS = 4, ASKS = 16 };

/* Asks in the order that they came; each pass tries all that wait. */
struct bench {
    struct rig rig;
    struct toy *toy;
    struct mig_tables *t;
    struct mig_kit_layout *fixed[LAYOUTS];
    struct slice_layout layouts[LAYOUTS];
    struct rig_plan plan;
    struct {
        struct shape shape;
        lease_id lease;
        simtime_ns start; /* SIM_NEVER: it waits */
    } asks[ASKS];
    uint32_t n;
};

static void turn(struct toy *toy, simtime_ns now)
{
    struct bench *b = toy->context;
    toy->share = 0;
    for (int p = 0; p < MIG_PROFILES; p++)
        toy->wants[p] = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct ask ask = {.shape = b->asks[i].shape};
        if (b->asks[i].start != SIM_NEVER)
            continue;
        if (fleet_acquire(b->rig.fleet, toy->number, &ask, GPU_TRAINING, &b->asks[i].lease) ==
            GRANT_OK) {
            b->asks[i].start = now / SIM_US * SIM_US; /* passes are a nanosecond apart */
        } else {
            toy->wants[ask.shape.profile]++;
            toy->share |= 1u << ask.shape.profile;
        }
    }
}

/* Layout texts with their GPUs; NULL: on demand. Nodes of one GPU, teardown 6 s, scrub 4 s. */
static void lay(struct bench *b, const char *text, uint32_t gpus, bool target)
{
    if (!b->t)
        b->t = mig_kit_tables();
    struct sharing_plan *s = &b->plan.sharing;
    if (s->n_layouts == 0) {
        b->plan = rig_plan_of(0, VICTIM_LEAST_WORK_LOST);
        b->plan.gpus_per_node = 1;
        *s = (struct sharing_plan){.kind = SHARING_MIG,
                                   .units_per_gpu = 8,
                                   .mig = b->t,
                                   .rule = MIG_BEST,
                                   .layouts = b->layouts,
                                   .relayout_ns = 37 * SIM_S};
    }
    b->fixed[s->n_layouts] = text ? mig_kit_layout(b->t, text) : NULL;
    b->layouts[s->n_layouts] =
        (struct slice_layout){.mig = text ? &b->fixed[s->n_layouts]->tables : b->t,
                              .gpus = gpus,
                              .fixed = text != NULL,
                              .target = target,
                              .reconfigure_ns = text ? 0 : 2 * SIM_S};
    b->plan.nodes += gpus;
    s->n_layouts++;
}

static void start(struct bench *b, const struct quota *q)
{
    rig_init(&b->rig, &b->plan);
    b->toy = rig_add(&b->rig, q);
    b->toy->context = b;
    b->toy->turn = turn;
}

static void run_to(struct bench *b, simtime_ns at)
{
    if (engine_now(b->rig.engine) < at)
        rig_run(&b->rig, at);
}

static uint32_t ask(struct bench *b, simtime_ns at, const char *profile)
{
    run_to(b, at);
    cr_assert_lt(b->n, ASKS);
    b->asks[b->n].shape = mig_kit_slice(b->t, profile);
    b->asks[b->n].start = SIM_NEVER;
    uint32_t i = b->n++;
    fleet_want_pass(b->rig.fleet);
    rig_run(&b->rig, engine_now(b->rig.engine) + 1);
    return i;
}

static void stop(struct bench *b, simtime_ns at, uint32_t i)
{
    run_to(b, at);
    fleet_stop_at(b->rig.fleet, b->asks[i].lease, engine_now(b->rig.engine), 0);
}

static void end(struct bench *b)
{
    rig_fini(&b->rig);
    for (int i = 0; i < LAYOUTS; i++)
        free(b->fixed[i]);
    free(b->t);
}

static void has(const struct bench *b, bool owned, enum gpu_state s, uint64_t memory,
                uint64_t compute)
{
    uint32_t owner = owned ? b->toy->number + 1 : LEDGER_NOBODY;
    cr_assert_eq(ledger_shares(b->rig.ledger, owner, s), memory);
    cr_assert_eq(ledger_shares(b->rig.compute, owner, s), compute);
}

/* ---- several layouts ---- */

Test(relayout, each_gpu_keeps_its_layout)
{
    struct bench b = {0};
    lay(&b, HALVES, 1, false);
    lay(&b, SEVENTHS, 1, false);
    lay(&b, NULL, 1, false);
    start(&b, &toy_low);
    uint32_t first = ask(&b, SIM_S, "3g.40gb"); /* as full as the seventh, and of a lower number */
    uint32_t second = ask(&b, 2 * SIM_S, "3g.40gb");
    uint32_t third = ask(&b, 3 * SIM_S, "3g.40gb"); /* made on demand */
    has(&b, true, GPU_TRAINING, 12, 9);
    ask(&b, 4 * SIM_S, "4g.40gb");
    cr_assert_eq(b.asks[first].start, SIM_S);
    cr_assert_eq(b.asks[second].start, 2 * SIM_S);
    cr_assert_eq(b.asks[third].start, 3 * SIM_S);
    cr_assert_eq(b.asks[3].start, 4 * SIM_S); /* beside it, at 0 */
    for (uint32_t i = 4; i < 11; i++)
        cr_assert_eq(b.asks[ask(&b, i * SIM_S + SIM_MIN, "1g.10gb")].start, i * SIM_S + SIM_MIN);
    uint32_t last = ask(&b, 2 * SIM_MIN, "1g.10gb");
    cr_assert_eq(b.asks[last].start, SIM_NEVER, "the slices left hold no more");
    has(&b, NULL, GPU_STRANDED, 1,
        1); /* the eighth memory slice of one, a compute slice of another */
    end(&b);
}

/* Two layouts have room: the fuller GPU or the emptier one, the lower number of equals. */
Test(relayout, the_order_goes_over_all_layouts)
{
    for (int order = 0; order < MIG_ORDERS; order++) {
        struct bench b = {0};
        lay(&b, "1g.10gb@0 3g.40gb@4", 1, false);
        lay(&b, HALVES, 1, false);
        b.plan.sharing.order = (enum mig_order)order;
        start(&b, &toy_low);
        ask(&b, SIM_S, "1g.10gb"); /* on the lower GPU, which then holds the next */
        ask(&b, 2 * SIM_S, "3g.40gb");
        cr_assert_eq(fleet_node_free(b.rig.fleet, 0), order == MIG_ORDER_WORST ? 7 : 3);
        cr_assert_eq(fleet_node_free(b.rig.fleet, 1), order == MIG_ORDER_WORST ? 4 : 8);
        end(&b);
    }
}

/* An instance of a fixed layout is there again after the scrub, one made on demand 2 s later. */
Test(relayout, only_what_is_made_on_demand_is_made_again)
{
    struct bench b = {0};
    lay(&b, HALVES, 1, false);
    lay(&b, NULL, 1, false);
    start(&b, &toy_low);
    for (int i = 0; i < 4; i++)
        ask(&b, SIM_S, "3g.40gb");
    stop(&b, 10 * SIM_S, 0); /* the emptiest last: 0 and 1 are halves */
    stop(&b, 10 * SIM_S, 3);
    rig_run(&b.rig, 21 * SIM_S);
    has(&b, NULL, GPU_FREE, 4, 5);
    has(&b, NULL, GPU_RECONFIGURING, 4, 3);
    rig_run(&b.rig, 22 * SIM_S);
    has(&b, NULL, GPU_RECONFIGURING, 0, 0);
    end(&b);
}

Test(relayout, a_profile_of_no_layout_never_comes)
{
    struct bench b = {0};
    lay(&b, HALVES, 1, false);
    lay(&b, SEVENTHS, 0, false); /* of no GPU, and none is re-laid to it */
    start(&b, &toy_low);
    struct shape shape = mig_kit_slice(b.t, "1g.10gb");
    cr_assert_eq(fleet_would(b.rig.fleet, b.toy->number, &shape), GRANT_NEVER);
    end(&b);
    b = (struct bench){0};
    lay(&b, HALVES, 1, false);
    lay(&b, SEVENTHS, 0, true);
    start(&b, &toy_low);
    cr_assert_eq(fleet_would(b.rig.fleet, b.toy->number, &shape), GRANT_SHAPE);
    end(&b);
}

/* ---- larger instances ---- */

static void lay_three(struct bench *b)
{
    lay(b, "2g.20gb@0 2g.20gb@2 3g.40gb@4", 1, false);
    lay(b, WHOLE, 1, false);
    lay(b, SEVENTHS, 1, false);
    b->plan.sharing.larger = true;
}

Test(relayout, the_smallest_larger_instance_goes_first)
{
    struct bench b = {0};
    lay_three(&b);
    start(&b, &toy_low);
    for (int i = 0; i < 7; i++)
        ask(&b, SIM_S, "1g.10gb");
    has(&b, true, GPU_TRAINING, 7, 7);
    static const uint32_t memory[] = {9, 11, 15, 23}, compute[] = {9, 11, 14, 21};
    for (int i = 0; i < 4; i++) { /* two of 2g, the 3g, the 7g */
        ask(&b, SIM_MIN, "1g.10gb");
        has(&b, true, GPU_TRAINING, memory[i], compute[i]);
    }
    cr_assert_eq(fleet_churn(b.rig.fleet)->larger, 4);
    cr_assert_eq(b.asks[ask(&b, SIM_MIN, "1g.10gb")].start, SIM_NEVER);
    /* An exact one that comes back is taken before a larger one. */
    stop(&b, 2 * SIM_MIN, 10);
    stop(&b, 2 * SIM_MIN, 0);
    rig_run(&b.rig, 3 * SIM_MIN);
    cr_assert_eq(b.asks[11].start, 2 * SIM_MIN + 10 * SIM_S);
    has(&b, true, GPU_TRAINING, 15, 14);
    /* Beyond the demand: 1 + 1 + 3 slices for two minutes, and 7 for one. */
    cr_assert_float_eq((double)fleet_churn(b.rig.fleet)->beyond_ns / SIM_MIN, 5 * 2 + 7, 1e-6);
    end(&b);
}

Test(relayout, who_wants_just_his_profile_waits_for_it)
{
    struct bench b = {0};
    lay_three(&b);
    start(&b, &toy_low);
    struct shape shape = mig_kit_slice(b.t, "4g.40gb");
    cr_assert_eq(fleet_would(b.rig.fleet, b.toy->number, &shape), GRANT_OK); /* a 7g */
    shape.exact = true;
    cr_assert_eq(fleet_would(b.rig.fleet, b.toy->number, &shape), GRANT_NEVER);
    end(&b);
}

/* Media engines are not for those who asked for none, nor is an instance without them for others.
 */
Test(relayout, a_larger_instance_has_all_that_was_asked_for)
{
    struct bench b = {0};
    lay(&b, "1g.20gb@0 2g.20gb@2", 1, false);
    lay(&b, "1g.10gb+me@0", 1, false);
    b.plan.sharing.larger = true;
    start(&b, &toy_low);
    cr_assert_eq(b.asks[ask(&b, SIM_S, "2g.20gb")].start, SIM_S);
    cr_assert_eq(b.asks[ask(&b, SIM_S, "1g.10gb")].start, SIM_S); /* a 1g.20gb */
    has(&b, true, GPU_TRAINING, 4, 3);
    cr_assert_eq(b.asks[ask(&b, SIM_MIN, "1g.10gb")].start, SIM_NEVER);
    end(&b);
}

Test(relayout, quota_counts_what_is_granted)
{
    struct bench b = {0};
    const struct quota small = {.ceiling_gpus = 5};
    lay(&b, HALVES, 2, false);
    lay(&b, "1g.10gb@0", 1, false);
    b.plan.sharing.larger = true;
    start(&b, &small);
    ask(&b, SIM_S, "3g.40gb");
    ask(&b, 2 * SIM_S, "1g.10gb");
    cr_assert_eq(fleet_usage(b.rig.fleet, b.toy->number), 5);
    stop(&b, 3 * SIM_S, 0);
    rig_run(&b.rig, SIM_MIN);
    ask(&b, SIM_MIN, "1g.10gb"); /* as a half, of four memory slices */
    cr_assert_eq(fleet_usage(b.rig.fleet, b.toy->number), 5);
    cr_assert_eq(b.asks[ask(&b, 2 * SIM_MIN, "1g.10gb")].start, SIM_NEVER, "over the ceiling");
    end(&b);
}

/* ---- re-laying ---- */

Test(relayout, a_start_waits_just_as_long_as_it_takes)
{
    struct bench b = {0};
    lay(&b, WHOLE, 1, false);
    lay(&b, SEVENTHS, 0, true);
    lay(&b, HALVES, 0, true);
    start(&b, &toy_low);
    uint32_t i = ask(&b, 10 * SIM_S, "1g.10gb");
    has(&b, NULL, GPU_RECONFIGURING, 8, 7);
    has(&b, NULL, GPU_FREE, 0, 0);
    rig_run(&b.rig, 46 * SIM_S);
    cr_assert_eq(b.asks[i].start, SIM_NEVER);
    rig_run(&b.rig, SIM_MIN);
    cr_assert_eq(b.asks[i].start, 47 * SIM_S);
    has(&b, NULL, GPU_FREE, 7, 6);
    cr_assert_eq(fleet_churn(b.rig.fleet)->relayouts, 1);
    end(&b);
}

/* Halves would hold one more that waits, of four memory slices; seven sevenths are seven. */
Test(relayout, the_layout_that_holds_most_of_what_waits_is_chosen)
{
    for (uint32_t sevenths = 3; sevenths <= 6; sevenths++) {
        struct bench b = {0};
        lay(&b, WHOLE, 1, false);
        lay(&b, HALVES, 0, true);
        lay(&b, SEVENTHS, 0, true);
        start(&b, &toy_low);
        uint32_t busy = ask(&b, SIM_S, "7g.80gb");
        for (uint32_t i = 0; i < sevenths; i++)
            ask(&b, SIM_MIN, "1g.10gb");
        uint32_t half = ask(&b, SIM_MIN, "3g.40gb");
        stop(&b, 2 * SIM_MIN, busy);
        rig_run(&b.rig, 2 * SIM_MIN + 47 * SIM_S); /* 6 s, 4 s, 37 s */
        bool halves = sevenths <= 4;               /* equal: the first of them */
        cr_assert_eq(b.asks[half].start, halves ? 2 * SIM_MIN + 47 * SIM_S : SIM_NEVER);
        cr_assert_eq(b.asks[1].start, halves ? SIM_NEVER : 2 * SIM_MIN + 47 * SIM_S);
        end(&b);
    }
}

Test(relayout, a_gpu_in_use_is_never_re_laid)
{
    struct bench b = {0};
    lay(&b, HALVES, 1, true);
    lay(&b, WHOLE, 0, true);
    start(&b, &toy_low);
    uint32_t half = ask(&b, SIM_S, "3g.40gb");
    uint32_t whole = ask(&b, 10 * SIM_S, "7g.80gb");
    rig_run(&b.rig, SIM_HOUR);
    has(&b, NULL, GPU_RECONFIGURING, 0, 0);
    stop(&b, SIM_HOUR, half);
    rig_run(&b.rig, SIM_HOUR + 9 * SIM_S); /* its scrub is in use, too */
    has(&b, NULL, GPU_RECONFIGURING, 0, 0);
    rig_run(&b.rig, SIM_HOUR + 10 * SIM_S);
    has(&b, NULL, GPU_RECONFIGURING, 8, 7);
    rig_run(&b.rig, 2 * SIM_HOUR);
    cr_assert_eq(b.asks[whole].start, SIM_HOUR + 47 * SIM_S);
    end(&b);
}

/* Two that fit one GPU need one; the third needs another. */
Test(relayout, what_is_being_laid_is_counted)
{
    struct bench b = {0};
    lay(&b, WHOLE, 4, false);
    lay(&b, HALVES, 0, true);
    start(&b, &toy_low);
    for (int i = 0; i < 2; i++)
        ask(&b, SIM_S, "3g.40gb");
    cr_assert_eq(fleet_churn(b.rig.fleet)->relayouts, 1);
    ask(&b, 2 * SIM_S, "3g.40gb");
    cr_assert_eq(fleet_churn(b.rig.fleet)->relayouts, 2);
    rig_run(&b.rig, SIM_MIN);
    cr_assert_eq(b.asks[1].start, 38 * SIM_S);
    cr_assert_eq(b.asks[2].start, 39 * SIM_S);
    cr_assert_eq(ask(&b, SIM_MIN, "3g.40gb"), 3); /* the half that is left */
    cr_assert_eq(b.asks[3].start, SIM_MIN);
    cr_assert_eq(fleet_churn(b.rig.fleet)->relayouts, 2);
    end(&b);
}

/* The GPU is laid at 38 s and free at 60 s; another layout may come from 338 s on. */
Test(relayout, a_layout_stays_for_a_while)
{
    struct bench b = {0};
    lay(&b, WHOLE, 1, true);
    lay(&b, HALVES, 0, true);
    b.plan.sharing.keep_ns = 300 * SIM_S;
    start(&b, &toy_low);
    uint32_t half = ask(&b, SIM_S, "3g.40gb");
    rig_run(&b.rig, 50 * SIM_S);
    stop(&b, 50 * SIM_S, half);
    uint32_t whole = ask(&b, 55 * SIM_S, "7g.80gb");
    rig_run(&b.rig, 337 * SIM_S);
    has(&b, NULL, GPU_RECONFIGURING, 0, 0);
    rig_run(&b.rig, SIM_HOUR);
    cr_assert_eq(b.asks[half].start, 38 * SIM_S);
    cr_assert_eq(b.asks[whole].start, (338 + 37) * SIM_S);
    end(&b);
}

/* Both nodes are being re-laid; one fails, one closes for maintenance. */
Test(relayout, nodes_may_go_while_their_gpus_are_re_laid)
{
    struct bench b = {0};
    lay(&b, WHOLE, 2, false);
    lay(&b, HALVES, 0, true);
    start(&b, &toy_low);
    for (int i = 0; i < 3; i++)
        ask(&b, SIM_S, "3g.40gb");
    has(&b, NULL, GPU_RECONFIGURING, 16, 14);
    rig_run(&b.rig, 10 * SIM_S);
    fleet_node_fail(b.rig.fleet, 0, GPU_FAILED);
    fleet_node_close(b.rig.fleet, 1, GPU_MAINTENANCE);
    has(&b, NULL, GPU_FAILED, 8, 7);
    has(&b, NULL, GPU_RECONFIGURING, 8, 7);
    cr_assert(!fleet_node_idle(b.rig.fleet, 1));
    rig_run(&b.rig, 39 * SIM_S);
    has(&b, NULL, GPU_MAINTENANCE, 8, 7);
    cr_assert(fleet_node_idle(b.rig.fleet, 1));
    rig_run(&b.rig, SIM_MIN);
    fleet_node_open(b.rig.fleet, 0);
    rig_run(&b.rig, SIM_MIN + SIM_S);
    cr_assert_eq(b.asks[0].start, SIM_MIN); /* the new layout is there */
    cr_assert_eq(b.asks[1].start, SIM_MIN);
    fleet_node_open(b.rig.fleet, 1);
    rig_run(&b.rig, SIM_MIN + 2 * SIM_S);
    cr_assert_eq(b.asks[2].start, SIM_MIN + SIM_S);
    cr_assert_eq(fleet_churn(b.rig.fleet)->relayouts, 2);
    end(&b);
}
