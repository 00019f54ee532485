/* Questions that people who run shared fleets ask in public, with answers that follow by hand:
 * placement, quota, checkpoints. Each names the thread it came from. */
#include "models/closed/renewal.h"
#include "models/run.h"
#include "toy_fleet.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct dist none = {DIST_FIXED, 0, 0};

static void open_rig(struct rig *r, uint32_t nodes, uint32_t gpus, struct reclaim_plan reclaim)
{
    const struct node_group group = {.nodes = nodes, .gpus_per_node = gpus};
    reclaim.teardown = reclaim.scrub = none;
    rig_init_groups(r, &group, 1, &reclaim, 1);
}

static void close_rig(struct rig *r)
{
    rig_fini(r);
}

/* Takes n leases of so many GPUs each, inside a node each. */
static void take(struct toy *t, uint32_t n, uint32_t gpus)
{
    for (uint32_t i = 0; i < n; i++)
        toy_acquire(t, SHAPE_ONE_NODE, gpus, GPU_TRAINING, i);
}

static void stop_all(struct rig *r, struct toy *t, const lease_id *leases, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        fleet_stop_at(t->rig->fleet, leases[i], engine_now(r->engine), 0);
    rig_run(r, engine_now(r->engine) + SIM_S);
}

/* ---- placement ---- */

/* kubernetes-sigs/kueue#5243: 4 nodes of 8 GPUs, each with six one-GPU jobs of priority 100 and two
 * of priority 1; a job of 8 GPUs on one node, priority 100. A count would evict the eight small
 * ones for nothing; here nobody goes. */
static void crowd(struct rig *r, bool consolidate, struct toy **big, struct toy **small,
                  lease_id *small_leases)
{
    const struct quota high = {
        .ceiling_gpus = 32, .priority = 100, .borrow_within_cohort = COHORT_LOWER_PRIORITY};
    const struct quota low = {.ceiling_gpus = 32, .priority = 1};
    open_rig(r, 4, 8, (struct reclaim_plan){.grace_ns = 30 * SIM_S, .consolidate = consolidate});
    *big = rig_add(r, &high);
    *small = rig_add(r, &low);
    for (uint32_t node = 0; node < 4; node++) {
        take(*big, 6, 1);
        for (uint32_t i = 0; i < 2; i++)
            small_leases[2 * node + i] = toy_acquire(*small, SHAPE_ONE_NODE, 1, GPU_TRAINING, 0);
    }
}

Test(problems, placement_count_is_not_shape)
{
    struct rig r;
    struct toy *big, *small;
    lease_id leases[8];
    crowd(&r, false, &big, &small, leases);
    cr_assert_neq(toy_try_reclaim(big, SHAPE_ONE_NODE, 8), GRANT_OK);
    cr_assert_eq(small->n_evicted, 0, "no eviction that helps nobody");
    stop_all(&r, small, leases, 8); /* what a count does */
    cr_assert_eq(fleet_free_gpus(r.fleet), 8);
    cr_assert_eq(toy_try_reclaim(big, SHAPE_ONE_NODE, 8), GRANT_SHAPE, "starts: 0");
    cr_assert_eq(toy_try_acquire(big, SHAPE_ONE_NODE, 3), GRANT_SHAPE);
    cr_assert_eq(toy_try_acquire(big, SHAPE_ONE_NODE, 2), GRANT_OK, "largest free block: 2");
    close_rig(&r);
}

Test(problems, placement_count_is_not_shape_with_moves)
{
    struct rig r;
    struct toy *big, *small;
    lease_id leases[8];
    crowd(&r, true, &big, &small, leases);
    stop_all(&r, small, leases, 8);
    cr_assert_eq(toy_try_reclaim(big, SHAPE_ONE_NODE, 8), GRANT_OK, "starts: 1");
    cr_assert_eq(fleet_churn(r.fleet)->moves, 6);
    cr_assert_eq(fleet_churn(r.fleet)->evictions, 6);
    rig_run(&r, SIM_MIN);
    cr_assert_eq(big->n_granted, 1);
    close_rig(&r);
}

/* volcano-sh/volcano#3948: nodes of 8 GPUs that hold [4, 2, 1], [4, 2] and [4, 2, 1]; 4 GPUs are
 * free and a job of 4 waits: two moves of 3 GPUs let it start. */
static void fragments(struct rig *r, bool consolidate, struct toy **t)
{
    static const uint32_t held[3][3] = {{4, 2, 1}, {4, 2, 0}, {4, 2, 1}};
    const struct quota q = {.ceiling_gpus = 24};
    lease_id fill[3];
    open_rig(r, 3, 8, (struct reclaim_plan){.grace_ns = 30 * SIM_S, .consolidate = consolidate});
    *t = rig_add(r, &q);
    struct toy *filler = rig_add(r, &q);
    for (uint32_t node = 0; node < 3; node++) {
        uint32_t rest = 8;
        for (int i = 0; i < 3 && held[node][i] > 0; i++, rest -= held[node][i - 1])
            take(*t, 1, held[node][i]);
        fill[node] = toy_acquire(filler, SHAPE_ONE_NODE, rest, GPU_TRAINING, 0);
    }
    stop_all(r, filler, fill, 3);
    cr_assert_eq(fleet_free_gpus(r->fleet), 4);
}

Test(problems, placement_fewest_moves)
{
    struct rig r;
    struct toy *t;
    fragments(&r, false, &t);
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 4), GRANT_SHAPE, "blocked by shape");
    cr_assert_eq(t->n_evicted, 0);
    close_rig(&r);
    fragments(&r, true, &t);
    cr_assert_eq(toy_try_reclaim(t, SHAPE_ONE_NODE, 4), GRANT_OK);
    cr_assert_eq(fleet_churn(r.fleet)->moves, 2);
    uint32_t moved = 0;
    for (uint32_t i = 0; i < t->n_evicted; i++)
        moved += fleet_lease_gpus(r.fleet, t->evicted[i].lease);
    cr_assert_eq(moved, 3);
    close_rig(&r);
}

/* volcano-sh/volcano#5078: 8 one-GPU replicas over k of 12 idle nodes of 8 GPUs: whole nodes left,
 * and the share of the replicas that is lost with one of the nodes. */
Test(problems, spread_or_pack)
{
    static const struct {
        uint32_t k, whole;
        double lost;
    } want[] = {{1, 11, 1}, {2, 10, 0.5}, {4, 8, 0.25}, {8, 4, 0.125}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct rig r;
        const struct quota q = {.ceiling_gpus = 96};
        open_rig(&r, 12, 8, (struct reclaim_plan){.grace_ns = SIM_S});
        struct toy *replicas = rig_add(&r, &q), *filler = rig_add(&r, &q);
        uint32_t each = 8 / want[i].k, n_fill = 0, whole = 0;
        lease_id fill[8];
        for (uint32_t node = 0; node < want[i].k; node++) {
            take(replicas, each, 1);
            if (each < 8)
                fill[n_fill++] = toy_acquire(filler, SHAPE_ONE_NODE, 8 - each, GPU_TRAINING, 0);
        }
        stop_all(&r, filler, fill, n_fill);
        while (toy_try_acquire(filler, SHAPE_ONE_NODE, 8) == GRANT_OK)
            whole++;
        cr_assert_eq(whole, want[i].whole);
        fleet_node_fail(r.fleet, 0, GPU_FAILED);
        cr_assert_eq(replicas->n_failed / 8.0, want[i].lost);
        rig_run(&r, SIM_MIN);
        close_rig(&r);
    }
}

/* ---- quota ---- */

enum { JOBS = 100 };

/* Asks for one GPU after another until all have been asked for. */
static void ask_for_all(struct toy *t, simtime_ns now)
{
    uint32_t *asked = t->context;
    (void)now;
    while (*asked < JOBS && toy_try_reclaim(t, SHAPE_ONE_NODE, 1) == GRANT_OK)
        ++*asked;
}

static void preempt_all(bool serial, double *last_h, double *waited_h)
{
    struct rig r;
    uint32_t asked = 0;
    open_rig(&r, JOBS, 1, (struct reclaim_plan){.grace_ns = 15 * SIM_MIN, .serial = serial});
    struct toy *low = rig_add(&r, &toy_low), *high = rig_add(&r, &toy_high);
    take(low, JOBS, 1);
    high->context = &asked;
    high->turn = ask_for_all;
    fleet_want_pass(r.fleet);
    rig_run(&r, 26 * SIM_HOUR);
    cr_assert_eq(high->n_granted, JOBS);
    *waited_h = 0;
    for (uint32_t i = 0; i < JOBS; i++)
        *waited_h += sim_time_to_s(high->granted[i].at) / 3600;
    *last_h = sim_time_to_s(high->granted[JOBS - 1].at) / 3600;
    close_rig(&r);
}

/* kubernetes-sigs/kueue#6143: 100 jobs that need one preemption each, with a grace of 15 min. */
Test(problems, serial_preemption)
{
    double last_h, waited_h;
    preempt_all(false, &last_h, &waited_h);
    cr_assert_float_eq(last_h, 0.25, 1e-9);
    cr_assert_float_eq(waited_h, 25, 1e-9);
    preempt_all(true, &last_h, &waited_h);
    cr_assert_float_eq(last_h, 25, 1e-9); /* a pass a nanosecond later is not an hour */
    cr_assert_float_eq(waited_h, 1262.5, 1e-6);
}

static void fill_jobs(struct job *jobs, size_t n, simtime_ns submit)
{
    for (size_t i = 0; i < n; i++)
        jobs[i] = (struct job){.submit_ns = submit,
                               .work_ns = SIM_DAY,
                               .limit_ns = JOB_UNSET,
                               .checkpoint_ns = JOB_UNSET,
                               .id = "job",
                               .tenant = "",
                               .gpus = 1,
                               .min_gpus = 1,
                               .preemptible = true};
}

/* apache/yunikorn-core#759: a queue guaranteed 100 of 300 GPUs asks for 100 while another
 * (guaranteed 0) runs 300 one-GPU jobs and has 300 more waiting. Grace 30 s. */
Test(problems, guarantee_reclaimed_after_grace)
{
    static struct job owner[100], borrower[600];
    fill_jobs(owner, 100, 100 * SIM_S);
    fill_jobs(borrower, 600, 0);
    const struct job_trace traces[2] = {{borrower, 600, 0}, {owner, 100, 0}};
    const struct node_group group = {"nodes", "h100-sxm", 300, 1};
    const struct fleet_plan pool = {
        .groups = &group, .n_groups = 1, .name = "fleet", .reclaim = {.grace_ns = 30 * SIM_S}};
    struct queue_plan queues[2];
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "borrower" : "owner";
        struct quota q = {.floor_gpus = i == 0 ? 0 : 100, .lend_gpus = i == 0 ? 0 : 100};
        q.ceiling_gpus = 300;
        quota_may_reclaim(&q, i == 0 ? RECLAIM_NEVER : RECLAIM_FLOOR);
        queues[i] = (struct queue_plan){.name = name,
                                        .tenant = {.name = name, .pools = {{0, q}}, .n_pools = 1},
                                        .estimate_factor = 1,
                                        .placement = SHAPE_ONE_NODE,
                                        .jobs = &traces[i],
                                        .jobs_speed = 1,
                                        .work_factor = 1};
    }
    const struct plan plan = {.name = "guarantee",
                              .design = "quota",
                              .horizon_ns = SIM_HOUR,
                              .timeline_ns = SIM_HOUR,
                              .start_date = "2026-01-01 00:00:00",
                              .pools = &pool,
                              .n_pools = 1,
                              .queues = queues,
                              .n_queues = 2};
    struct run_results r;
    cr_assert_eq(run_plan(&plan, 0, NULL, &r), HR_OK);
    cr_assert_eq(r.queues[0].totals.preemptions, 100);
    cr_assert_eq(r.queues[1].totals.preemptions, 0);
    size_t n = 0;
    for (size_t i = 0; i < r.n_jobs; i++)
        if (r.jobs[i].queue == 1) {
            simtime_ns start = r.jobs[i].first_start_ns; /* the trace begins at its first job */
            cr_assert_eq(start, r.jobs[i].submit_ns + 30 * SIM_S);
            n++;
        }
    cr_assert_eq(n, 100);
    results_fini(&r);
}

/* ---- checkpoints ---- */

/* Boise-State-Development/agentcore-public-stack#1025: billed on-demand-equivalent hours of work on
 * spot at 35 % of the price with 0.15 interruptions/h; without checkpoints, and with one each 30
 * min and a restart of 9 min. */
Test(problems, spot_billing_with_and_without_checkpoints)
{
    static const double work_h[] = {3.3, 10.5, 48.5};
    static const double without[] = {1.5, 8.9, 3366}, with[] = {1.2, 3.9, 18.0};
    const double price = 0.35, mtbf_s = 3600 / 0.15;
    const struct renewal bare = {mtbf_s, 0, 0, 0}, saved = {mtbf_s, 0, 9 * 60, 0};
    for (int i = 0; i < 3; i++) {
        double all_h = renewal_segment_s(&bare, work_h[i] * 3600) / 3600 * price;
        double each_h = work_h[i] / renewal_efficiency(&saved, 30 * 60) * price;
        cr_assert_float_eq(all_h, without[i], i == 2 ? 0.5 : 0.05, "%g", all_h);
        cr_assert_float_eq(each_h, with[i], 0.05, "%g", each_h);
    }
}
