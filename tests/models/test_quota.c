/* Quota: what a claimant may take, what is kept for others, and from whom it may take leases. */
#include "draw.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { EVERYTHING = 1000000 };

static struct quota quota(uint32_t floor, uint32_t ceiling, uint32_t lend)
{
    return (struct quota){.floor_gpus = floor, .ceiling_gpus = ceiling, .lend_gpus = lend};
}

static struct quota reclaimer(uint32_t floor, uint32_t ceiling, int32_t priority,
                              enum may_reclaim may)
{
    struct quota q = quota(floor, ceiling, floor);
    q.priority = priority;
    quota_may_reclaim(&q, may);
    return q;
}

static const struct rig_plan two_nodes = {.nodes = 2, .gpus_per_node = 8, .grace_ns = 30 * SIM_S};

/* As many one-GPU leases as are granted; the answer to the one that was not. */
static uint32_t take_all(struct toy *t, enum grant *last)
{
    uint32_t n = 0;
    while ((*last = toy_try_acquire(t, SHAPE_ANY, 1)) == GRANT_OK)
        n++;
    return n;
}

Test(quota, the_ceiling_holds)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct quota q = quota(2, 6, 2);
    struct toy *t = rig_add(&r, &q);
    cr_assert_eq(toy_try_acquire(t, SHAPE_ANY, 7), GRANT_NEVER);
    cr_assert_eq(toy_try_acquire(t, SHAPE_ANY, 4), GRANT_OK);
    cr_assert_eq(toy_try_acquire(t, SHAPE_ANY, 3), GRANT_QUOTA);
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ANY, 3), GRANT_QUOTA);
    cr_assert_eq(toy_try_acquire(t, SHAPE_ANY, 2), GRANT_OK);
    cr_assert_eq(fleet_usage(r.fleet, t->number), 6);
    rig_fini(&r);
}

/* 16 GPUs; the owner has a floor of 8, lends some of it and uses some; a borrower without a floor
 * takes what it can: 16 - used - max(0, 8 - lend - used). */
Test(quota, of_an_unused_floor_at_most_the_lent_part_is_taken)
{
    const struct {
        uint32_t lend, used, taken;
        enum grant then;
    } cases[] = {
        {0, 0, 8, GRANT_QUOTA},  {0, 3, 8, GRANT_QUOTA},  {0, 8, 8, GRANT_ROOM},
        {5, 0, 13, GRANT_QUOTA}, {5, 2, 13, GRANT_QUOTA}, {5, 3, 13, GRANT_ROOM},
        {5, 7, 9, GRANT_ROOM},   {8, 0, 16, GRANT_ROOM},  {0, 12, 4, GRANT_ROOM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r;
        enum grant last;
        rig_init(&r, &two_nodes);
        struct quota qo = quota(8, 16, cases[i].lend), qb = quota(0, EVERYTHING, 0);
        struct toy *owner = rig_add(&r, &qo), *borrower = rig_add(&r, &qb);
        if (cases[i].used)
            toy_acquire(owner, SHAPE_ANY, cases[i].used, GPU_TRAINING, 0);
        cr_assert_eq(take_all(borrower, &last), cases[i].taken, "case %zu", i);
        cr_assert_eq(last, cases[i].then, "case %zu", i);
        cr_assert_eq(
            cases[i].taken,
            16 - cases[i].used -
                (8 > cases[i].lend + cases[i].used ? 8 - cases[i].lend - cases[i].used : 0));
        rig_fini(&r);
    }
}

/* 10 GPUs, floors 4 (lent) and 4 (unlent). A borrower takes 6. The first owner then finds 4 free
 * GPUs, all of them kept for the second: it has to take its own back. */
Test(quota, an_owner_does_not_take_what_another_never_lends)
{
    const struct rig_plan plan = {.nodes = 10, .gpus_per_node = 1, .grace_ns = 30 * SIM_S};
    struct rig r;
    enum grant last;
    rig_init(&r, &plan);
    struct quota q1 = reclaimer(4, 10, 0, RECLAIM_FLOOR), q2 = quota(4, 4, 0);
    struct quota q3 = quota(0, 10, 0);
    struct toy *first = rig_add(&r, &q1), *second = rig_add(&r, &q2), *third = rig_add(&r, &q3);
    cr_assert_eq(take_all(third, &last), 6);
    cr_assert_eq(last, GRANT_QUOTA);
    cr_assert_eq(toy_try_acquire(first, SHAPE_ANY, 4), GRANT_QUOTA);
    toy_reclaim(first, SHAPE_ANY, 4);
    cr_assert_eq(third->n_evicted, 4);
    rig_run(&r, 30 * SIM_S);
    cr_assert_eq(first->n_granted, 1);
    cr_assert_eq(take_all(second, &last), 4);
    rig_fini(&r);
}

/* Two nodes with 2 free GPUs each, all 4 kept for an owner. Whoever reclaims 4 within its own floor
 * takes them from the gang of 6 it evicts, and the owner can start at once. */
Test(quota, a_reclaim_leaves_the_free_gpus_of_an_unlent_floor)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct quota qo = quota(4, 4, 0), q = reclaimer(4, 16, 0, RECLAIM_FLOOR), qg = quota(0, 16, 0);
    struct toy *owner = rig_add(&r, &qo), *t = rig_add(&r, &q), *gangs = rig_add(&r, &qg);
    for (int i = 0; i < 2; i++)
        toy_acquire(gangs, SHAPE_ONE_NODE, 6, GPU_TRAINING, 0);
    toy_reclaim(t, SHAPE_ONE_NODE, 4);
    cr_assert_eq(gangs->n_evicted, 1);
    cr_assert_eq(rig_row(&r, 0)->gpus_missing, 4);
    cr_assert_eq(toy_try_acquire(owner, SHAPE_ANY, 4), GRANT_OK);
    rig_run(&r, 30 * SIM_S);
    cr_assert_eq(t->n_granted, 1);
    cr_assert_eq(fleet_free_gpus(r.fleet), 2);
    rig_fini(&r);
}

Test(quota, what_can_never_start_is_refused)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct quota qa = quota(10, 16, 0), qb = quota(0, EVERYTHING, 0);
    struct toy *a = rig_add(&r, &qa), *b = rig_add(&r, &qb);
    cr_assert_eq(toy_try_acquire(b, SHAPE_ANY, 7), GRANT_NEVER); /* 10 are never lent */
    cr_assert_eq(toy_try_acquire(b, SHAPE_ONE_NODE, 9), GRANT_NEVER);
    cr_assert_eq(toy_try_acquire(a, SHAPE_ANY, 17), GRANT_NEVER);
    cr_assert_eq(toy_try_acquire(b, SHAPE_ANY, 6), GRANT_OK);
    cr_assert_eq(toy_try_acquire(a, SHAPE_ANY, 10), GRANT_OK);
    rig_fini(&r);
}

/* floor = ceiling and lend 0 on both sides: neither notices when the other stops and scrubs. */
Test(quota, separate_pools_are_strangers)
{
    const struct rig_plan plan = {.nodes = 4, .gpus_per_node = 4, .scrub_s = 20};
    struct rig r;
    enum grant last;
    rig_init(&r, &plan);
    struct quota q = quota(8, 8, 0);
    struct toy *a = rig_add(&r, &q), *b = rig_add(&r, &q);
    lease_id la = toy_acquire(a, SHAPE_ANY, 4, GPU_TRAINING, 0);
    cr_assert_eq(take_all(b, &last), 8);
    fleet_stop_at(r.fleet, la, 10 * SIM_S, 0);
    rig_run(&r, 15 * SIM_S); /* a's 4 GPUs are being scrubbed, its other 4 are free */
    cr_assert_eq(fleet_usage(r.fleet, a->number), 0);
    cr_assert_eq(toy_try_acquire(a, SHAPE_ANY, 4), GRANT_OK);
    cr_assert_eq(toy_try_acquire(b, SHAPE_ANY, 1), GRANT_QUOTA);
    fleet_stop_at(r.fleet, 1, 16 * SIM_S, 0); /* b's first */
    rig_run(&r, 32 * SIM_S);
    cr_assert_eq(fleet_free_gpus(r.fleet), 4); /* a's are clean, b's is not */
    cr_assert_eq(toy_try_acquire(b, SHAPE_ANY, 1), GRANT_QUOTA);
    cr_assert_eq(toy_try_acquire(a, SHAPE_ANY, 4), GRANT_OK);
    rig_run(&r, 36 * SIM_S);
    cr_assert_eq(toy_try_acquire(b, SHAPE_ANY, 1), GRANT_OK);
    rig_fini(&r);
}

/* GPUs on their way are not lent either: a claimant of lower-priority right cannot claim those that
 * an owner without lending has just stopped. */
Test(quota, incoming_gpus_of_an_unlent_floor_are_not_claimed)
{
    const struct rig_plan plan = {.nodes = 1, .gpus_per_node = 8, .grace_ns = SIM_S};
    struct rig r;
    rig_init(&r, &plan);
    struct quota qo = quota(4, 8, 0), qc = reclaimer(0, 8, 5, RECLAIM_LOWER_PRIORITY);
    struct toy *owner = rig_add(&r, &qo), *other = rig_add(&r, &qc);
    lease_id l = toy_acquire(owner, SHAPE_ANY, 4, GPU_TRAINING, 0);
    toy_acquire(other, SHAPE_ANY, 4, GPU_SERVING, 0);
    fleet_stop_at(r.fleet, l, 5 * SIM_S, 0);
    cr_assert_neq(toy_try_reclaim(other, SHAPE_ANY, 4), GRANT_OK);
    rig_run(&r, 5 * SIM_S);
    cr_assert_eq(toy_try_acquire(other, SHAPE_ANY, 4), GRANT_QUOTA);
    cr_assert_eq(toy_try_acquire(owner, SHAPE_ANY, 4), GRANT_OK);
    rig_fini(&r);
}

/* 16 GPUs, all held by one claimant in one-GPU leases; another wants 4. Whom may it take from? */
Test(quota, may_reclaim_decides_whom_to_take_from)
{
    const struct {
        enum may_reclaim may;
        uint32_t floor, victim_floor;
        int32_t priority; /* the victim's is 0 */
        bool takes;
    } cases[] = {
        {RECLAIM_NEVER, 8, 0, 1, false},
        {RECLAIM_FLOOR, 8, 0, 1, true},
        {RECLAIM_FLOOR, 8, 0, -1, true}, /* its floor is its own, whoever borrows it */
        {RECLAIM_FLOOR, 3, 0, 1, false}, /* the whole of it has to fit under the floor */
        {RECLAIM_FLOOR, 8, 8, 1, true},
        {RECLAIM_LOWER_PRIORITY, 0, 0, 1, true},
        {RECLAIM_LOWER_PRIORITY, 0, 0, 0, false}, /* equal is not lower */
        {RECLAIM_LOWER_PRIORITY, 0, 0, -1, false},
        {RECLAIM_LOWER_PRIORITY, 0, 16, 1, false}, /* not above its floor */
        {RECLAIM_LOWER_PRIORITY, 4, 0, -1, true},  /* within the floor */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r;
        enum grant last;
        rig_init(&r, &two_nodes);
        struct quota qv = quota(cases[i].victim_floor, 16, cases[i].victim_floor);
        struct quota q = reclaimer(cases[i].floor, 16, cases[i].priority, cases[i].may);
        struct toy *victim = rig_add(&r, &qv), *t = rig_add(&r, &q);
        cr_assert_eq(take_all(victim, &last), 16);
        enum grant g = toy_try_reclaim(t, SHAPE_ONE_NODE, 4);
        cr_assert_eq(g == GRANT_OK, cases[i].takes, "case %zu", i);
        cr_assert(g == GRANT_OK || g == GRANT_ROOM);
        cr_assert_eq(victim->n_evicted, cases[i].takes ? 4u : 0u);
        rig_fini(&r);
    }
}

/* Floor 10, three gangs of 8: 24 > 10 and 16 > 10 may go, 8 may not. It ends 2 below its floor. */
Test(quota, a_claimant_ends_below_its_floor_by_less_than_one_gang)
{
    const struct rig_plan plan = {.nodes = 4, .gpus_per_node = 8, .grace_ns = 30 * SIM_S};
    struct rig r;
    rig_init(&r, &plan);
    struct quota qv = quota(10, 32, 10), q = reclaimer(0, 32, 1, RECLAIM_LOWER_PRIORITY);
    struct toy *victim = rig_add(&r, &qv), *t = rig_add(&r, &q);
    for (int i = 0; i < 3; i++)
        toy_acquire(victim, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    toy_acquire(t, SHAPE_ONE_NODE, 8, GPU_SERVING, 0);
    toy_reclaim(t, SHAPE_ONE_NODE, 8);
    toy_reclaim(t, SHAPE_ONE_NODE, 8);
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 1), GRANT_ROOM);
    cr_assert_eq(victim->n_evicted, 2);
    cr_assert_eq(fleet_usage(r.fleet, victim->number), 24); /* charged until teardown ends */
    rig_run(&r, 30 * SIM_S);
    cr_assert_eq(fleet_usage(r.fleet, victim->number), 8);
    cr_assert_eq(t->n_granted, 2);
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 1), GRANT_ROOM);
    rig_fini(&r);
}

/* A claimant that stops what another has not asked for is not robbed twice: what is draining does
 * not count as standing above the floor. */
Test(quota, draining_leases_do_not_expose_the_rest)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct quota qv = quota(8, 16, 8), q = reclaimer(0, 16, 1, RECLAIM_LOWER_PRIORITY);
    struct toy *victim = rig_add(&r, &qv), *t = rig_add(&r, &q);
    lease_id l = toy_acquire(victim, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    toy_acquire(victim, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
    fleet_stop_at(r.fleet, l, 100 * SIM_S, 0);
    toy_reclaim(t, SHAPE_ONE_NODE, 8); /* claims what is on its way */
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 8), GRANT_ROOM);
    cr_assert_eq(victim->n_evicted, 0);
    cr_assert_eq(fleet_usage(r.fleet, victim->number), 16);
    rig_run(&r, 100 * SIM_S);
    cr_assert_eq(t->n_granted, 1);
    rig_fini(&r);
}

Test(quota, a_start_over_its_floor_is_a_borrower)
{
    struct rig r;
    rig_init(&r, &two_nodes);
    struct quota q = quota(6, 16, 6);
    struct toy *t = rig_add(&r, &q);
    lease_id a = toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    lease_id b = toy_acquire(t, SHAPE_ONE_NODE, 4, GPU_TRAINING, 0);
    lease_id c = toy_acquire(t, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
    cr_assert(!fleet_lease_borrowed(r.fleet, a));
    cr_assert(fleet_lease_borrowed(r.fleet, b)); /* the whole of it has to fit */
    cr_assert(fleet_lease_borrowed(r.fleet, c));
    rig_fini(&r);
}

/* Public question, apache/yunikorn-core#759: guaranteed 100 of 300, grace 30 s. */
Test(quota, a_guarantee_is_there_after_the_grace)
{
    const struct rig_plan plan = {.nodes = 300, .gpus_per_node = 1, .grace_ns = 30 * SIM_S};
    struct rig r;
    enum grant last;
    rig_init(&r, &plan);
    struct quota q1 = reclaimer(100, 300, 0, RECLAIM_FLOOR), q2 = quota(0, 300, 0);
    struct toy *first = rig_add(&r, &q1), *second = rig_add(&r, &q2);
    cr_assert_eq(take_all(second, &last), 300);
    for (int i = 0; i < 100; i++)
        toy_reclaim(first, SHAPE_ANY, 1);
    cr_assert_neq(toy_try_reclaim(first, SHAPE_ANY, 1), GRANT_OK);
    rig_run(&r, 30 * SIM_S - 1);
    cr_assert_eq(first->n_granted, 0);
    rig_run(&r, 30 * SIM_S);
    cr_assert_eq(first->n_granted, 100);
    cr_assert_eq(second->n_evicted, 100);
    rig_fini(&r);
}

/* An owner comes back for its quota (capacity arithmetic, worksheet quota-return). */
Test(quota, lent_quota_returns)
{
    const struct {
        uint32_t quota, lent, idle, demand, gang;
        simtime_ns grace;
        uint32_t now, gangs, gpus;
    } cases[] = {
        {2000, 1500, 100, 2000, 8, 120 * SIM_S, 600, 175, 1400},
        {254, 189, 74, 218, 8, 30 * SIM_S, 139, 10, 80},
        {1462, 1189, 264, 1310, 32, 60 * SIM_S, 537, 25, 800},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t gpus = cases[i].quota + cases[i].idle;
        const struct rig_plan plan = {.nodes = gpus,
                                      .gpus_per_node = 1,
                                      .victims = VICTIM_LEAST_WORK_LOST,
                                      .grace_ns = cases[i].grace};
        struct rig r;
        rig_init(&r, &plan);
        struct quota q1 = reclaimer(cases[i].quota, gpus, 0, RECLAIM_FLOOR);
        struct quota q2 = quota(0, gpus, 0);
        struct toy *owner = rig_add(&r, &q1), *borrower = rig_add(&r, &q2);
        engine_check_set(r.engine, NULL, NULL); /* many leases: rig_run checks */
        const uint64_t loss[] = {0, 1};
        borrower->loss = loss;
        for (uint32_t left = cases[i].lent; left > 0;) {
            uint32_t n = left < cases[i].gang ? left : cases[i].gang;
            toy_acquire(borrower, SHAPE_ANY, n, GPU_TRAINING, n < cases[i].gang);
            left -= n;
        }
        uint32_t now = 0, asked = 0;
        for (; asked < cases[i].demand && toy_try_acquire(owner, SHAPE_ANY, 1) == GRANT_OK; asked++)
            now++;
        for (; asked < cases[i].demand; asked++)
            toy_reclaim(owner, SHAPE_ANY, 1);
        cr_assert_eq(now, cases[i].now);
        cr_assert_eq(borrower->n_evicted, cases[i].gangs);
        rig_run(&r, cases[i].grace);
        cr_assert_eq(owner->n_granted, cases[i].demand - now);
        cr_assert_eq(fleet_usage(r.fleet, borrower->number), cases[i].lent - cases[i].gpus);
        rig_fini(&r);
    }
}

/* ---- waiting instead of evicting ---- */

/* Starts gangs of a node as nodes come free; notes when the last has started. */
static void take_as_it_comes(struct toy *t, simtime_ns now)
{
    simtime_ns *done = t->context;
    while (t->share > 0 && toy_try_acquire(t, SHAPE_ONE_NODE, 8) == GRANT_OK)
        if (--t->share == 0)
            *done = now;
}

/* The same worksheet: without eviction the owner waits until k of m borrowing gangs have ended,
 * whose remaining times are exponential with a mean of 1 h: sum of 1 / i for i from m - k + 1 to m
 * hours (order statistics of the exponential distribution; A. Renyi, 1953). */
Test(quota, lent_quota_comes_back_by_itself)
{
    const struct {
        uint32_t m, k, runs;
        double hours, stderr_frac; /* as printed; standard error of the mean of so many runs */
    } cases[] = {{188, 175, 420, 2.63618, 0.005}, {188, 188, 140, 5.81631, 0.02}};
    uint64_t seed = 51;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t runs = getenv("HEADROOM_LONG") ? 2000 : cases[i].runs;
        double sum = 0, squares = 0, exact = 0;
        for (uint32_t n = cases[i].m - cases[i].k + 1; n <= cases[i].m; n++)
            exact += 1.0 / n;
        cr_assert_float_eq(exact, cases[i].hours, 1e-5);
        for (uint32_t run = 0; run < runs; run++) {
            const struct rig_plan plan = {.nodes = cases[i].m, .gpus_per_node = 8};
            struct quota borrower = quota(0, EVERYTHING, 0);
            struct quota owner = quota(8 * cases[i].m, EVERYTHING, 8 * cases[i].m);
            simtime_ns done = 0;
            struct rig r;
            rig_init(&r, &plan);
            engine_check_set(r.engine, NULL, NULL); /* rig_run checks */
            struct toy *b = rig_add(&r, &borrower), *o = rig_add(&r, &owner);
            for (uint32_t g = 0; g < cases[i].m; g++) {
                lease_id l = toy_acquire(b, SHAPE_ONE_NODE, 8, GPU_TRAINING, 0);
                double u = ((double)(draw(&seed) >> 11) + 0.5) * 0x1p-53;
                fleet_stop_at(r.fleet, l, sim_time_from_s(-3600 * log(u)), 0);
            }
            o->share = cases[i].k;
            o->turn = take_as_it_comes;
            o->context = &done;
            rig_run(&r, SIM_DAY - 1);
            rig_fini(&r);
            double hours = sim_time_to_s(done) / 3600;
            sum += hours;
            squares += hours * hours;
        }
        double mean = sum / runs, error = sqrt((squares / runs - mean * mean) / runs);
        cr_assert_leq(error, cases[i].stderr_frac * exact);
        cr_assert_leq(fabs(mean - exact), 3.3 * error, "%f, expected %f", mean, exact);
    }
}
