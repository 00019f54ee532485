/* Cases in which engine and brute-force scheduler once differed, cut down until they can be done by
 * hand. Each states what is right; the brute-force scheduler has to agree. */
#include "brute_engine.h"

#include <criterion/criterion.h>

static const struct brute_case plain = {
    .nodes = 1, .interval_ns = SIM_NEVER, .end_ns = 2000 * SIM_S, .placement = SHAPE_ONE_NODE};

static struct brute_result engine, brute;

static void play(const struct brute_case *c)
{
    brute_engine_run(c, &engine);
    cr_assert(brute_run(c, &brute) && brute_same(c, &engine, &brute));
}

static void tenants(struct brute_case *c, uint32_t n, bool one_queue)
{
    c->n_tenants = n;
    c->n_queues = one_queue ? 1 : n;
    for (uint32_t t = 0; t < n; t++)
        c->tenants[t] = (struct brute_tenant){
            .queue = one_queue ? 0 : t, .weight = 1, .quota = {.ceiling_gpus = 100}};
}

static void owns(struct brute_case *c, uint32_t tenant, uint32_t floor)
{
    struct quota *q = &c->tenants[tenant].quota;
    q->floor_gpus = q->lend_gpus = floor;
    q->reclaim_within_cohort = COHORT_ANY;
}

static struct brute_job *job(struct brute_case *c, uint32_t tenant, uint32_t gpus, uint32_t submit,
                             uint32_t work)
{
    struct brute_job *j = &c->jobs[c->n_jobs++];
    *j = (struct brute_job){.submit_ns = submit * SIM_S,
                            .work_ns = work * SIM_S,
                            .tenant = tenant,
                            .gpus = gpus,
                            .preemptible = true};
    return j;
}

static void evicted_are(unsigned set)
{
    for (uint32_t j = 0; j < BRUTE_JOBS; j++)
        cr_assert_eq(engine.fates[j].preemptions, set >> j & 1, "job %u", j);
}

static void starts(uint32_t j, uint32_t seconds)
{
    cr_assert_eq(engine.fates[j].first_start_ns, seconds * SIM_S, "job %u", j);
}

/* The owner of the only GPU comes at 10; its borrower is exempt until 30. Nothing else happens
 * then. */
Test(brute_cases, an_owner_is_served_when_its_borrower_is_exempt_no_longer)
{
    struct brute_case c = plain;
    c.gpus_per_node = 1;
    c.preemption.exempt_ns = 30 * SIM_S;
    tenants(&c, 2, false);
    owns(&c, 0, 1);
    job(&c, 1, 1, 0, 100);
    job(&c, 0, 1, 10, 5);
    play(&c);
    starts(1, 30);
    evicted_are(1);
}

/* A tenant of 4 GPUs at most has 2 of them on a node whose others are not to be had, the other node
 * is free: what it has goes for its more urgent start of 4. */
Test(brute_cases, at_a_ceiling_own_leases_elsewhere_go)
{
    struct brute_case c = plain;
    c.nodes = 2;
    c.gpus_per_node = 4;
    c.grace_ns = 5 * SIM_S;
    tenants(&c, 2, false);
    c.tenants[0].quota.ceiling_gpus = 4;
    c.tenants[0].quota.within_queue = QUEUE_LOWER_PRIORITY;
    job(&c, 0, 2, 0, 100);
    job(&c, 1, 2, 0, 200)->preemptible = false;
    job(&c, 0, 4, 10, 20)->priority = 1;
    play(&c);
    starts(2, 10);
    evicted_are(1);
}

/* Six of 11 GPUs. Lost by each: 2 x 10, 2 x 12, 3 x 14, 4 x 14. The least, jobs 3 and 1, are both
 * of the tenant with a floor of 4, which has 6: only one of them may go. Least of the others: jobs
 * 2 and 1 lose 80; one after the other 3, 2 and 0 would go and lose 86. */
Test(brute_cases, the_cheapest_set_is_the_cheapest_that_quota_permits)
{
    struct brute_case c = plain;
    c.gpus_per_node = 11;
    c.victims = VICTIM_LEAST_WORK_LOST;
    tenants(&c, 3, false);
    owns(&c, 0, 6);
    owns(&c, 1, 4);
    job(&c, 2, 3, 6, 100);
    job(&c, 1, 4, 6, 100);
    job(&c, 2, 2, 8, 100);
    job(&c, 1, 2, 10, 100);
    job(&c, 0, 6, 20, 10);
    play(&c);
    starts(4, 20);
    evicted_are(1u << 1 | 1u << 2);
}

/* Gangs of 1, 3, 2 and 2 that lose nothing: 1 + 3 and 2 + 2 make 4. */
Test(brute_cases, of_equal_sets_the_one_with_the_lowest_lease_goes)
{
    struct brute_case c = plain;
    c.gpus_per_node = 8;
    c.save_on_notice = true;
    c.victims = VICTIM_LEAST_OVER_RECLAIM;
    tenants(&c, 2, false);
    owns(&c, 0, 4);
    const uint32_t gpus[] = {1, 3, 2, 2};
    for (int i = 0; i < 4; i++)
        job(&c, 1, gpus[i], 0, 100);
    job(&c, 0, 4, 10, 10);
    play(&c);
    evicted_are(3);
}

/* Of POOL GPUs, 3 over a weight of 3 and 1 over a weight of 1 are the same share, however doubles
 * round it: the earlier job goes first. */
Test(brute_cases, equal_shares_are_equal)
{
    for (uint32_t pool = 5; pool < 24; pool++)
        for (uint32_t first = 0; first < 2; first++) {
            struct brute_case c = plain;
            c.gpus_per_node = pool;
            c.order = ORDER_FAIR_SHARE;
            tenants(&c, 3, true);
            c.tenants[0].weight = 3;
            job(&c, 0, 3, 0, 100);
            job(&c, 1, 1, 0, 100);
            job(&c, 2, pool - 4, 0, 50);
            job(&c, first, pool - 4, 10, 100);
            job(&c, 1 - first, pool - 4, 10, 100);
            play(&c);
            starts(3, 50);
            starts(4, 100 + 50 * (pool > 8));
        }
}

/* Job 2 evicts job 0, whose tenant then holds nothing, as that of job 4 does: job 3 is the earlier
 * one and gets the free GPU. */
Test(brute_cases, a_victims_tenant_has_a_smaller_share_in_the_same_pass)
{
    struct brute_case c = plain;
    c.nodes = 2;
    c.gpus_per_node = 2;
    c.grace_ns = 20 * SIM_S;
    c.order = ORDER_FAIR_SHARE;
    tenants(&c, 4, true);
    owns(&c, 0, 2);
    job(&c, 1, 2, 0, 100);
    job(&c, 3, 1, 0, 100)->preemptible = false;
    job(&c, 0, 2, 10, 10);
    job(&c, 1, 1, 10, 10);
    job(&c, 2, 1, 10, 10);
    play(&c);
    starts(2, 30);
    starts(3, 10);
    starts(4, 20);
    evicted_are(1);
}

/* Both floors together are the node. Each tenant's gangs borrow, so the other one, asking within
 * its floor or by priority, evicts them as soon as they start: for ever, if a gang that has come to
 * nothing three times were not given time. That doubles, so evictions of a gang that keeps nothing
 * are at most 3 and one for each doubling of the time since the first: from at least 9 s, eight
 * until the end. */
Test(brute_cases, owners_do_not_evict_each_other_for_ever)
{
    struct brute_case c = plain;
    c.gpus_per_node = 5;
    c.grace_ns = c.teardown_ns = c.scrub_ns = 3 * SIM_S;
    c.load_ns = 4 * SIM_S;
    c.victims = VICTIM_SMALLEST_GANG;
    tenants(&c, 2, false);
    owns(&c, 0, 3);
    owns(&c, 1, 2);
    for (int t = 0; t < 2; t++)
        c.tenants[t].quota.borrow_within_cohort = COHORT_LOWER_PRIORITY;
    job(&c, 1, 5, 11, 50)->priority = 2;
    job(&c, 0, 1, 11, 34)->priority = 1;
    job(&c, 0, 4, 21, 11);
    play(&c);
    uint32_t most = 0;
    for (uint32_t j = 0; j < c.n_jobs; j++) {
        cr_assert_neq(engine.fates[j].end_ns, SIM_NEVER, "job %u", j);
        most = engine.fates[j].preemptions > most ? engine.fates[j].preemptions : most;
    }
    cr_assert(most >= 3 && most <= 3 + 8, "%u", most);
}

/* ---- nodes that fail ---- */

static void fails(struct brute_case *c, uint32_t node, uint32_t at, uint32_t repaired)
{
    c->faults[c->n_faults++] = (struct brute_fault){at * SIM_S, repaired * SIM_S, node};
}

/* Of three nodes of a GPU one is a hot spare, which only ever comes in for another: three GPUs are
 * never to be had. */
Test(brute_cases, a_job_that_needs_the_spares_is_refused)
{
    struct brute_case c = plain;
    c.nodes = 3;
    c.gpus_per_node = c.spares = 1;
    c.placement = SHAPE_ANY;
    tenants(&c, 1, true);
    job(&c, 0, 3, 0, 10);
    job(&c, 0, 2, 0, 10);
    play(&c);
    cr_assert(engine.fates[0].refused && !engine.fates[1].refused);
    starts(1, 0);
}

/* Nor are they for a tenant that others' unlent quota leaves too few of the rest. */
Test(brute_cases, a_job_that_needs_the_spares_beside_unlent_quota_is_refused)
{
    struct brute_case c = plain;
    c.nodes = 3;
    c.gpus_per_node = c.spares = 1;
    c.placement = SHAPE_ANY;
    tenants(&c, 2, true);
    c.tenants[1].quota.floor_gpus = 1;
    job(&c, 0, 2, 0, 10);
    job(&c, 0, 1, 0, 10);
    play(&c);
    cr_assert(engine.fates[0].refused && !engine.fates[1].refused);
}

/* The third job is where the first was before, but the second is older: it takes the spare, and
 * leaves one GPU of it, on which the third restarts. */
Test(brute_cases, the_oldest_job_of_a_node_takes_the_spare)
{
    struct brute_case c = plain;
    c.nodes = 2;
    c.gpus_per_node = 4;
    c.spares = 1;
    tenants(&c, 1, true);
    job(&c, 0, 1, 0, 5);
    job(&c, 0, 3, 0, 100);
    job(&c, 0, 1, 10, 100);
    fails(&c, 0, 20, 500);
    play(&c);
    cr_assert(engine.fates[1].swaps == 1 && engine.fates[2].swaps == 0);
    cr_assert(engine.fates[1].failures == 1 && engine.fates[2].failures == 1);
    cr_assert_eq(engine.fates[1].end_ns, 120 * SIM_S);
}

/* Evicted at 5, 8 and 11 without having saved anything the borrower has 7 s from 12 on, the time
 * since the first of these. It saves at 22, fails at 25 and is back at 26, as any other job: the
 * owner evicts it at 27, not at 47. */
Test(brute_cases, work_saved_before_a_failure_ends_a_row_of_fruitless_evictions)
{
    struct brute_case c = plain;
    c.gpus_per_node = 1;
    c.interval_ns = 10 * SIM_S;
    tenants(&c, 2, false);
    owns(&c, 0, 1);
    job(&c, 1, 1, 0, 100);
    job(&c, 0, 1, 5, 1);
    job(&c, 0, 1, 8, 1);
    job(&c, 0, 1, 11, 1);
    job(&c, 0, 1, 27, 1);
    fails(&c, 0, 25, 26);
    play(&c);
    cr_assert(engine.fates[0].preemptions == 4 && engine.fates[0].failures == 1);
    starts(3, 11);
    starts(4, 27);
}
