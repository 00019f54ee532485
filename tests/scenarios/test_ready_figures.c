/* The figure that a ready scenario exists to show lies where the closed form beside it says. */
#include "kit.h"

#include "models/closed/checkpoint.h"
#include "models/closed/finite_source.h"
#include "models/closed/spot.h"
#include "models/run.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define FOLDER TEST_SOURCE_ROOT "/scenarios/"

enum { REPLICATIONS = 5 };

static struct scenario *load(const char *path)
{
    struct diags d = {0};
    struct scenario *s = NULL;
    cr_assert_eq(scenario_load(path, NULL, 0, &d, &s), HR_OK, "%s", path);
    diags_fini(&d);
    return s;
}

static void run(const struct plan *p, uint32_t replication, struct run_results *r)
{
    cr_assert_eq(run_plan(p, replication, NULL, r), HR_OK, "%s", plan_fault(p));
}

/* GPU time in a state, of every owner, as a share of all there was. */
static double share(const struct run_results *r, enum gpu_state state)
{
    double sum = 0;
    for (uint32_t o = 0; o < r->n_owners; o++)
        sum += (double)r->ledger[results_account(o, state)];
    return sum / ((double)r->fleet_gpus * (double)(r->end_ns - r->start_ns));
}

static double gpu_hours(const struct run_results *r, enum gpu_state state)
{
    return share(r, state) * r->fleet_gpus * (double)(r->end_ns - r->start_ns) / 3600e9;
}

/* 3.3 standard deviations of a mean of five runs of 85,000 sessions, from those that the theory of
 * 300 people gives for 40,000. */
Test(ready_figures, notebooks_wait_as_a_finite_group_does)
{
    struct scenario *s = load(FOLDER "notebooks.yaml");
    struct plan p = kit_plan(s, "64-gpus");
    double sessions = 0, waited = 0, wait_h = 0, useful = 0;
    for (uint32_t i = 0; i < REPLICATIONS; i++) {
        struct run_results r;
        run(&p, i, &r);
        for (size_t j = 0; j < r.n_jobs; j++) {
            sessions++;
            waited += r.jobs[j].waiting_ns > 0;
            wait_h += (double)r.jobs[j].waiting_ns / 3600e9;
        }
        useful += share(&r, GPU_TRAINING) / REPLICATIONS;
        results_fini(&r);
    }
    struct finite_queue q =
        finite_source_queue(&(struct finite_source){300, 64, .session = 2, .gap = 8});
    cr_expect_float_eq(q.wait_frac, 0.379, 5e-4);
    cr_expect_float_eq(waited / sessions, q.wait_frac, 0.038, "%.4f", waited / sessions);
    cr_expect_float_eq(wait_h / sessions, q.wait_mean, 0.016, "%.4f h", wait_h / sessions);
    cr_expect_float_eq(useful, q.utilization, 0.01, "%.4f", useful);
    scenario_free(s);
}

/* Places for 1g.10gb: seven a GPU, of one compute and one memory slice each. The pool of instances
 * is the first, notebooks the first queue behind the one service. */
Test(ready_figures, slices_are_waited_for_as_a_finite_group_does)
{
    struct scenario *s = load(FOLDER "mig-notebooks.yaml");
    struct plan p = kit_plan(s, "slices");
    double sessions = 0, waited = 0, wait_h = 0, taken = 0;
    uint32_t pool = 0, queue = strcmp(p.queues[0].name, "notebooks") == 0 ? 0 : 1;
    while (strcmp(p.pools[pool].name, "slices") != 0)
        pool++;
    for (uint32_t i = 0; i < REPLICATIONS; i++) {
        struct run_results r;
        run(&p, i, &r);
        for (size_t j = 0; j < r.n_jobs; j++) {
            bool session = r.jobs[j].queue == queue;
            sessions += session;
            waited += session && r.jobs[j].waiting_ns > 0;
            wait_h += session ? (double)r.jobs[j].waiting_ns / 3600e9 : 0;
        }
        const struct pool_results *slices = &r.pools[pool];
        u128 memory = 0, compute = 0, all_memory = 0, all_compute = 0;
        for (uint32_t owner = 0; owner < r.n_owners; owner++)
            for (int state = 0; state < GPU_STATES; state++) {
                size_t a = results_account(owner, (enum gpu_state)state);
                all_memory += slices->ledger[a];
                all_compute += slices->compute[a];
                memory += state == GPU_TRAINING ? slices->ledger[a] : 0;
                compute += state == GPU_TRAINING ? slices->compute[a] : 0;
            }
        cr_expect(memory == compute, "each instance has one of both");
        cr_expect(all_memory == (u128)64 * (r.end_ns - r.start_ns));
        cr_expect(all_compute == (u128)56 * (r.end_ns - r.start_ns));
        taken += (double)compute / (double)all_compute / REPLICATIONS;
        results_fini(&r);
    }
    struct finite_queue q =
        finite_source_queue(&(struct finite_source){250, 56, .session = 2, .gap = 8});
    cr_expect_float_eq(q.wait_frac, 0.225, 5e-4);
    cr_expect_float_eq(waited / sessions, q.wait_frac, 0.023, "%.4f", waited / sessions);
    cr_expect_float_eq(wait_h / sessions, q.wait_mean, 0.008, "%.4f h", wait_h / sessions);
    cr_expect_float_eq(taken, q.utilization, 0.01, "%.4f", taken);
    scenario_free(s);
}

/* The course at 8:00 and the evaluations at 20:00: how many wait and how long, and how many hours
 * of GPUs nobody asked for. After a job come 8 s of teardown and scrub. */
Test(ready_figures, idle_gpus_are_re_laid_in_place_of_a_long_wait)
{
    static const struct {
        const char *design;
        uint32_t course, evaluations; /* that wait */
        double course_s, evaluations_s, beyond_h;
        uint32_t relayouts;
    } want[] = {
        {"static", 28, 24, 28 * 28808.0, 8 * (7208.0 + 14416 + 21624), 0, 0},
        {"larger", 20, 24, 20 * 28808.0, 8 * (7208.0 + 14416 + 21624), 24, 0},
        {"relayout", 28, 32, 28 * 37.0, 16 * (37.0 + 37 + 7208), 0, 4 + 8},
        {"on-demand", 0, 16, 0, 16 * 7210.0, 0, 0}, /* 2 s to make the next instance */
    };
    struct scenario *s = load(FOLDER "mig-relayout.yaml");
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct plan p = kit_plan(s, want[i].design);
        struct run_results r;
        uint32_t waited[2] = {0}, done = 0;
        double wait_s[2] = {0};
        run(&p, 0, &r);
        for (size_t j = 0; j < r.n_jobs; j++) {
            bool course = strcmp(p.queues[r.jobs[j].queue].name, "course") == 0;
            done += r.jobs[j].outcome == OUTCOME_DONE;
            waited[course] += r.jobs[j].waiting_ns >= SIM_S;
            wait_s[course] += (double)r.jobs[j].waiting_ns / 1e9;
        }
        const struct fleet_churn *churn = &r.pools[0].churn;
        cr_expect_eq(done, 56 + 32, "%s: %u done", want[i].design, done);
        cr_expect_eq(waited[1], want[i].course, "%s: %u", want[i].design, waited[1]);
        cr_expect_eq(waited[0], want[i].evaluations, "%s: %u", want[i].design, waited[0]);
        cr_expect_float_eq(wait_s[1], want[i].course_s, 1e-3, "%s: %f", want[i].design, wait_s[1]);
        cr_expect_float_eq(wait_s[0], want[i].evaluations_s, 1e-3, "%s: %f", want[i].design,
                           wait_s[0]);
        cr_expect_float_eq((double)churn->beyond_ns / 8 / 3600e9, want[i].beyond_h, 1e-6);
        cr_expect_eq(churn->relayouts, want[i].relayouts);
        results_fini(&r);
    }
    scenario_free(s);
}

/* Gangs of two whole nodes: five, two and four of them train, but for the nodes that are out. */
Test(ready_figures, spread_replicas_strand_whole_nodes)
{
    static const struct {
        const char *design;
        double gpus;
    } want[] = {{"packed", 80}, {"spread", 32}, {"halves", 64}};
    struct scenario *s = load(FOLDER "spread-or-pack.yaml");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct plan p = kit_plan(s, want[i].design);
        struct run_results r;
        run(&p, 0, &r);
        double trains = share(&r, GPU_TRAINING) + share(&r, GPU_CHECKPOINTING) +
                        share(&r, GPU_RESTORING) + share(&r, GPU_LOST);
        cr_expect_float_eq(trains, want[i].gpus / 96, 0.012, "%s: %.4f", want[i].design, trains);
        results_fini(&r);
    }
    scenario_free(s);
}

/* Nothing is drawn: exact, but for the 83 whole GPUs of 83.3. */
Test(ready_figures, what_is_allocated_is_not_utilized)
{
    static const struct {
        const char *design;
        double allocated, utilized;
    } want[] = {{"as-it-is", 0.9, 0.3}, {"right-sized", 0.449, 0.3}, {"filled-again", 0.9, 0.6157}};
    struct scenario *s = load(FOLDER "allocated-not-utilized.yaml");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct plan p = kit_plan(s, want[i].design);
        struct run_results r;
        run(&p, 0, &r);
        double allocated = 1 - share(&r, GPU_FREE), utilized = share(&r, GPU_TRAINING);
        cr_expect_float_eq(allocated, want[i].allocated, 1e-6, "%s: %.4f", want[i].design,
                           allocated);
        cr_expect_float_eq(utilized, want[i].utilized, 2.5e-4, "%s: %.4f", want[i].design,
                           utilized);
        results_fini(&r);
    }
    scenario_free(s);
}

/* Longest wait of the owner, which asked for 250 gangs at once. */
static double owner_waits_s(const struct run_results *r)
{
    simtime_ns longest = 0;
    for (size_t j = 0; j < r->n_jobs; j++)
        if (r->jobs[j].queue == 0) {
            simtime_ns wait = r->jobs[j].first_start_ns - r->jobs[j].submit_ns;
            longest = wait > longest ? wait : longest;
        }
    return sim_time_to_s(longest);
}

Test(ready_figures, a_quota_owner_gets_its_gpus_back)
{
    static const char *const designs[] = {"kill", "save", "let-finish"};
    double waits_s[3] = {0}, lost[3] = {0}, evictions[3] = {0};
    struct scenario *s = load(FOLDER "quota-return.yaml");
    for (int i = 0; i < 3; i++) {
        struct plan p = kit_plan(s, designs[i]);
        for (uint32_t n = 0; n < REPLICATIONS; n++) {
            struct run_results r;
            run(&p, n, &r);
            waits_s[i] += owner_waits_s(&r) / REPLICATIONS;
            lost[i] += gpu_hours(&r, GPU_LOST) / REPLICATIONS;
            evictions[i] += (double)r.queues[1].totals.preemptions / REPLICATIONS;
            results_fini(&r);
        }
    }
    /* k of m memoryless ends; the standard deviation of one run is S sqrt(sum 1/j^2) */
    double mean_h = 0, var = 0;
    for (int j = 7; j <= 256; j++) {
        mean_h += 1.0 / j;
        var += 1.0 / j / j;
    }
    double phase_h = 1 - 0.5 / (exp(0.5) - 1);
    cr_expect_eq(evictions[0], 250);
    cr_expect_eq(evictions[1], 250);
    cr_expect_eq(evictions[2], 0);
    cr_expect_float_eq(waits_s[0], 120, 1, "%.1f", waits_s[0]);
    cr_expect_float_eq(waits_s[1], 120, 1, "%.1f", waits_s[1]);
    cr_expect_float_eq(waits_s[2] / 3600, mean_h, 3.3 * sqrt(var / REPLICATIONS),
                       "%.3f, theory %.3f", waits_s[2] / 3600, mean_h);
    /* 250 ages a run, each with a standard deviation below half an hour / sqrt 12 */
    double sd = 2000 * 0.5 / sqrt(12.0 * 250 * REPLICATIONS);
    cr_expect_float_eq(lost[0], 2000 * phase_h, 3.3 * sd, "%.0f GPU-h", lost[0]);
    cr_expect_eq(lost[1] + lost[2], 0);
    scenario_free(s);
}

Test(ready_figures, a_roll_out_takes_as_long_as_its_nodes)
{
    double evict_min = 33 / 60.0, missed = exp(-1.0 / 16); /* jobs that do not end within 30 min */
    double finish_min = 480 * (1 - missed) + missed * evict_min;
    const struct {
        const char *design;
        double hours, lost, tolerance_h;
    } want[] = {
        {"evict-1", 256 * (evict_min + 10) / 60, 512, 0.05},
        {"evict-16", 16 * (evict_min + 10) / 60, 512, 0.01},
        {"save-16", 16 * 25 / 60.0, 0, 0.7},
        {"finish-16", 16 * (finish_min + 10) / 60, 512 * missed, 0.3},
    };
    struct scenario *s = load(FOLDER "rollout.yaml");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct plan p = kit_plan(s, want[i].design);
        double hours = 0, lost = 0;
        for (uint32_t n = 0; n < REPLICATIONS; n++) {
            struct run_results r;
            run(&p, n, &r);
            const struct supply_totals *t = &r.pools[0].supply;
            cr_expect_eq(t->upgraded, 256);
            hours += (double)t->roll_out_ns / 3600e9 / REPLICATIONS;
            lost += gpu_hours(&r, GPU_LOST) / REPLICATIONS;
            results_fini(&r);
        }
        cr_expect_float_eq(hours, want[i].hours, want[i].tolerance_h, "%s: %.2f h, theory %.2f",
                           want[i].design, hours, want[i].hours);
        cr_expect_float_eq(lost, want[i].lost, 0.1 * 512, "%s: %.0f GPU-h, theory %.0f",
                           want[i].design, lost, want[i].lost);
    }
    scenario_free(s);
}

/* Of the time that a queue of one tenant holds GPUs, what is kept, over the replications. Services
 * and queues are claimants in plan order; here nothing serves. */
static double kept_of_held(const struct plan *p, const char *queue)
{
    uint32_t owner = 1;
    while (owner <= p->n_queues && strcmp(p->queues[owner - 1].tenant.name, queue) != 0)
        owner++;
    cr_assert_leq(owner, p->n_queues, "%s", queue);
    double kept = 0, held = 0;
    for (uint32_t n = 0; n < REPLICATIONS; n++) {
        struct run_results r;
        run(p, n, &r);
        kept += (double)r.ledger[results_account(owner, GPU_TRAINING)];
        for (unsigned s = 0; s < GPU_STATES; s++)
            held += (double)r.ledger[results_account(owner, (enum gpu_state)s)];
        results_fini(&r);
    }
    return kept / held;
}

/* Useful share with failures of mean gap M: segments of tau, saves C, restarts R, D to notice. */
static double renewal(double tau, double c, double r, double d, double m)
{
    return tau / (exp(r / m) * (m + d) * (exp((tau + c) / m) - 1));
}

/* 2,100 failures, each loses up to an hour: 1.5 points are above four standard errors. */
Test(ready_figures, a_gang_of_16k_works_as_long_as_its_saves_let_it)
{
    static const struct {
        const char *design;
        double save_s, tau_s;
    } want[] = {{"exact-interval", 6.3, 0}, {"hourly", 6.3, 3600}, {"blocking-saves", 148.8, 0}};
    struct scenario *s = load(FOLDER "failures-16k.yaml");
    double m = 86400 / (3.8e-3 * 2016);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct plan p = kit_plan(s, want[i].design);
        double tau = want[i].tau_s > 0 ? want[i].tau_s : checkpoint_exact_s(want[i].save_s, m);
        double theory = renewal(tau, want[i].save_s, 85, 30, m),
               seen = kept_of_held(&p, "pretraining");
        cr_expect_float_eq(seen, theory, 0.015, "%s: %.4f, theory %.4f", want[i].design, seen,
                           theory);
        cr_expect_eq(seen > 0.9, i == 0, "Llama 3 reports more than 90 %%");
    }
    scenario_free(s);
}

/* 12,000 preemptions. Without saves a gang that is at work at the end counts as if it came through:
 * at most 4 h of 8 days, 2 points. */
Test(ready_figures, spot_costs_by_how_often_gangs_save)
{
    struct spot_terms t = {4, 1.6, 14400, 2592000, 30, 180, 0, 120, 120, 1};
    struct spot_worth w = spot_worth(&t);
    const struct {
        const char *design;
        double theory, tolerance;
    } want[] = {
        {"best-interval", w.eff, 0.01},
        {"hourly", renewal(3600, 30, 180, 120, 14400), 0.01},
        {"never-saved", renewal(36000, 0, 180, 120, 14400), 0.02},
        {"on-notice", 14400.0 / (14400 + 30 + 180), 0.01},
        {"all-reserved", w.od_eff, 0.01},
    };
    struct scenario *s = load(FOLDER "spot-fine-tunes.yaml");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct plan p = kit_plan(s, want[i].design);
        double seen = kept_of_held(&p, "fine-tunes");
        cr_expect_float_eq(seen, want[i].theory, want[i].tolerance, "%s: %.4f, theory %.4f",
                           want[i].design, seen, want[i].theory);
    }
    scenario_free(s);
}

/* Nothing is drawn: gangs of 6 h, one after another, on as many nodes as have power. All end at
 * once: which of them the measured part counts is a matter of one gang a node. */
Test(ready_figures, a_rack_limit_refuses_or_slows)
{
    static const struct {
        const char *design;
        double gangs, gpus, speed; /* at work at a time */
    } want[] = {{"three-a-rack", 48, 384, 1}, {"refuse", 48, 384, 1},
                {"refuse-mixed", 48, 496, 1}, {"slow", 64, 512, 0.99180},
                {"air-two", 32, 256, 1},      {"air-slow", 64, 512, 0.87532}};
    struct scenario *s = load(FOLDER "rack-power.yaml");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct plan p = kit_plan(s, want[i].design);
        struct run_results r;
        run(&p, 0, &r);
        double hours = (double)(r.end_ns - r.start_ns) / 3600e9;
        double done = (double)r.queues[0].totals.backlog_done;
        double theory = want[i].gangs * want[i].speed * hours / 6;
        cr_expect_float_eq(gpu_hours(&r, GPU_TRAINING) / hours, want[i].gpus, 0.1, "%s: %.3f",
                           want[i].design, gpu_hours(&r, GPU_TRAINING) / hours);
        cr_expect_float_eq(done, theory, 1.1 * want[i].gangs, "%s: %.0f gangs, theory %.0f",
                           want[i].design, done, theory);
        results_fini(&r);
    }
    scenario_free(s);
}

/* Seconds that jobs waited for a reason. */
static double blocked_s(const struct run_results *r, enum block_reason reason)
{
    double sum = 0;
    for (size_t j = 0; j < r->n_jobs; j++)
        sum += (double)r->jobs[j].blocked_ns[reason] / 1e9;
    return sum;
}

/* Only gangs that insist on a leaf group wait for one, and placement that keeps groups whole lets
 * them wait less. */
Test(ready_figures, gangs_that_insist_on_a_leaf_group_wait_for_it)
{
    static const char *const designs[] = {"any", "whole-nodes", "one-leaf", "one-leaf-topology"};
    double wait_s[4] = {0}, topology_s[4] = {0}, shape_s[4] = {0};
    struct scenario *s = load(FOLDER "rail-unit.yaml");
    for (int i = 0; i < 4; i++) {
        struct plan p = kit_plan(s, designs[i]);
        for (uint32_t n = 0; n < 3; n++) {
            struct run_results r;
            run(&p, n, &r);
            for (size_t j = 0; j < r.n_jobs; j++)
                wait_s[i] += (double)r.jobs[j].waiting_ns / 1e9;
            topology_s[i] += blocked_s(&r, BLOCK_TOPOLOGY);
            shape_s[i] += blocked_s(&r, BLOCK_SHAPE);
            results_fini(&r);
        }
    }
    cr_expect_eq(topology_s[0] + topology_s[1] + shape_s[0], 0);
    cr_expect(topology_s[2] > topology_s[3] && topology_s[3] > 0, "%.0f s, %.0f s", topology_s[2],
              topology_s[3]);
    cr_expect(wait_s[0] <= wait_s[1] && wait_s[1] < wait_s[3] && wait_s[3] < wait_s[2],
              "%.0f, %.0f, %.0f, %.0f s", wait_s[0], wait_s[1], wait_s[2], wait_s[3]);
    scenario_free(s);
}
