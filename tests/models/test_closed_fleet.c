/* The closed forms of capacity questions against the worked examples of the project and published
 * tables: fair shares, renewal, spot, mix, roll-outs, draining, closed groups of users. */
#include "draw.h"
#include "models/closed/checkpoint.h"
#include "models/closed/drain.h"
#include "models/closed/erlang.h"
#include "models/closed/fair_share.h"
#include "models/closed/finite_source.h"
#include "models/closed/fleet_mix.h"
#include "models/closed/renewal.h"
#include "models/closed/rollout.h"
#include "models/closed/spot.h"
#include "worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void near(double got, double want, double rel, const char *what)
{
    cr_assert(fabs(got - want) <= rel * fabs(want), "%s: %.12g for %.12g", what, got, want);
}

/* ---- fair share ---- */

enum { MOST = 16 };

Test(closed_fleet, fair_share_worked)
{
    const char *ws = "fair-share";
    for (int k = 0; k < WORKED_CASES; k++) {
        double demand[MOST], weight[MOST], alloc[MOST], sum = 0, satisfied = 0;
        size_t n = 0;
        for (char name[32]; n < MOST; n++) {
            snprintf(name, sizeof name, "demand_%zu", n + 1);
            demand[n] = worked_in(ws, k, name);
            snprintf(name, sizeof name, "weight_%zu", n + 1);
            weight[n] = worked_in(ws, k, name);
            if (isnan(demand[n]))
                break;
        }
        cr_assert_geq(n, 4);
        double capacity = worked_in(ws, k, "capacity");
        double level = fair_share_fill(capacity, demand, weight, n, alloc);
        for (size_t i = 0; i < n; i++) {
            char name[32];
            snprintf(name, sizeof name, "alloc_%zu", i + 1);
            worked_check(ws, k, name, alloc[i]);
            sum += alloc[i];
            satisfied += alloc[i] == demand[i];
        }
        worked_check(ws, k, "water_level", level);
        worked_check(ws, k, "satisfied", satisfied);
        worked_check(ws, k, "unused", capacity - sum);
    }
}

/* Max-min, as a definition: nobody short could get more but from one who has no more per weight. */
Test(closed_fleet, fair_share_is_max_min)
{
    uint64_t state = 11;
    for (int run = 0; run < 500; run++) {
        double demand[6], weight[6], alloc[6], capacity = draw_below(&state, 100), sum = 0, all = 0;
        for (int i = 0; i < 6; i++) {
            demand[i] = draw_below(&state, 40);
            weight[i] = 1 + draw_below(&state, 4);
            all += demand[i];
        }
        double level = fair_share_fill(capacity, demand, weight, 6, alloc);
        for (int i = 0; i < 6; i++) {
            sum += alloc[i];
            cr_assert_leq(alloc[i], demand[i]);
            if (alloc[i] < demand[i])
                for (int j = 0; j < 6; j++)
                    cr_assert_leq(alloc[j] / weight[j], alloc[i] / weight[i] + 1e-9);
        }
        cr_assert_float_eq(sum, fmin(capacity, all), 1e-9);
        cr_assert_eq(isinf(level), all <= capacity);
    }
    double one = 1, minus = -1, alloc;
    cr_assert(isnan(fair_share_fill(-1, &one, &one, 1, &alloc)));
    cr_assert(isnan(fair_share_fill(1, &minus, &one, 1, &alloc)));
    cr_assert(isnan(fair_share_fill(1, &one, &minus, 1, &alloc)));
}

/* Rows of one system and cluster follow one another. */
static void check_kai(const struct table *t, size_t first, size_t n)
{
    struct kai_queue queues[MOST];
    double alloc[MOST];
    for (size_t i = 0; i < n; i++)
        queues[i] = (struct kai_queue){table_number(t, first + i, 3), table_number(t, first + i, 4),
                                       table_number(t, first + i, 5), 0};
    cr_assert(fair_share_kai(table_number(t, first, 1), queues, n, alloc));
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(alloc[i], table_number(t, first + i, 6), "row %zu: %g", first + i, alloc[i]);
}

/* What the text of a Kueue row says of the others in the cohort: team-b with nominal 12, idle. */
static void check_kueue(const struct table *t, size_t row)
{
    const char *system = t->cells[row][0];
    struct kueue_member m[2] = {
        {table_number(t, row, 3), INFINITY, INFINITY, 1, table_number(t, row, 5)},
        {12, INFINITY, INFINITY, 1, 0}};
    bool own = strstr(system, "cohort nominalQuota=12") != NULL;
    m[0].borrow_limit = strstr(system, "borrowingLimit=1") ? 1 : INFINITY;
    m[1].lend_limit = strstr(system, "lendingLimit=1") ? 1 : INFINITY;
    double alloc[2];
    cr_assert(fair_share_kueue(own ? 12 : 0, m, own ? 1 : 2, alloc));
    cr_assert_eq(alloc[0], table_number(t, row, 6), "%s: %g", system, alloc[0]);
}

Test(closed_fleet, fair_share_of_two_systems)
{
    struct table *t = table_read("targets/fair_share.csv");
    cr_assert_eq(t->n, 12);
    for (size_t i = 0, n; i < t->n; i += n) {
        n = 1;
        if (strncmp(t->cells[i][0], "KAI", 3) != 0) {
            check_kueue(t, i);
            continue;
        }
        while (i + n < t->n && strcmp(t->cells[i + n][0], t->cells[i][0]) == 0)
            n++;
        check_kai(t, i, n);
    }
    free(t);
}

/* Priorities: the lower one sees only what the higher leaves, beyond its own quota. */
Test(closed_fleet, kai_priority_before_weight)
{
    const struct kai_queue queues[] = {{10, 1, 50, 0}, {10, 5, 40, 1}, {0, 100, 100, -1}};
    double alloc[3];
    cr_assert(fair_share_kai(100, queues, 3, alloc));
    cr_assert_eq(alloc[1], 40);
    cr_assert_eq(alloc[0], 50);
    cr_assert_eq(alloc[2], 10);
    cr_assert(fair_share_kai(45, queues, 3, alloc));
    cr_assert_eq(alloc[1], 35);
    cr_assert_eq(alloc[0], 10);
    cr_assert_eq(alloc[2], 0);
}

/* Two borrowers share what a third lends by weight; the limit of one leaves more to the other. */
Test(closed_fleet, kueue_borrowers_share_by_weight)
{
    struct kueue_member m[] = {{10, INFINITY, INFINITY, 2, 100},
                               {10, INFINITY, INFINITY, 1, 100},
                               {40, INFINITY, 30, 1, 5}};
    double alloc[3];
    cr_assert(fair_share_kueue(0, m, 3, alloc));
    cr_assert_eq(alloc[0], 30);
    cr_assert_eq(alloc[1], 20);
    cr_assert_eq(alloc[2], 5);
    m[0].borrow_limit = 4;
    cr_assert(fair_share_kueue(0, m, 3, alloc));
    cr_assert_eq(alloc[0], 14);
    cr_assert_eq(alloc[1], 36);
}

/* A. Ghodsi et al., NSDI 2011, section 4.1: 9 CPUs, 18 GB; tasks of <1, 4> and <3, 1>: 3 and 2. */
Test(closed_fleet, dominant_resource_of_the_paper)
{
    const double capacity[] = {9, 18}, demand[] = {1, 4, 3, 1}, weight[] = {1, 1};
    double most[] = {INFINITY, INFINITY}, tasks[2];
    cr_assert(fair_share_drf(capacity, 2, demand, weight, most, 2, tasks));
    near(tasks[0], 3, 1e-12, "A");
    near(tasks[1], 2, 1e-12, "B");
    most[0] = 1; /* B has the rest: 8 of 9 CPUs */
    cr_assert(fair_share_drf(capacity, 2, demand, weight, most, 2, tasks));
    near(tasks[0], 1, 1e-12, "A");
    near(tasks[1], 8.0 / 3, 1e-12, "B");
    const double none[] = {0, 0, 1, 1};
    cr_assert_not(fair_share_drf(capacity, 2, none, weight, most, 2, tasks));
}

/* With one resource it is weighted max-min. A resource that runs out stops only its users. */
Test(closed_fleet, dominant_resource_of_one_resource)
{
    uint64_t state = 5;
    for (int run = 0; run < 200; run++) {
        double ones[5] = {1, 1, 1, 1, 1}, most[5], weight[5], alloc[5], tasks[5];
        double capacity = 1 + draw_below(&state, 60);
        for (int i = 0; i < 5; i++) {
            most[i] = draw_below(&state, 30);
            weight[i] = 1 + draw_below(&state, 4);
        }
        fair_share_fill(capacity, most, weight, 5, alloc);
        cr_assert(fair_share_drf(&capacity, 1, ones, weight, most, 5, tasks));
        for (int i = 0; i < 5; i++)
            cr_assert_float_eq(tasks[i], alloc[i], 1e-9);
    }
    const double demand[] = {1, 0, 1, 1, 0, 1}, weight[] = {1, 1, 1};
    const double most[] = {INFINITY, INFINITY, INFINITY};
    double tasks[3];
    const double skewed[] = {10, 4};
    cr_assert(fair_share_drf(skewed, 2, demand, weight, most, 3, tasks));
    near(tasks[1], 4.0 / 2, 1e-12, "both"); /* half of the second each */
    near(tasks[2], 4.0 / 2, 1e-12, "second");
    near(tasks[0], 8, 1e-12, "first goes on");
}

/* ---- renewal ---- */

Test(closed_fleet, spot_checkpoint_worked)
{
    const char *ws = "spot-checkpoint";
    for (int k = 0; k < WORKED_CASES; k++) {
        const struct renewal r = {worked_in(ws, k, "mtbf_s"), worked_in(ws, k, "ckpt_s"),
                                  worked_in(ws, k, "restart_s"), worked_in(ws, k, "downtime_s")};
        double tau = renewal_interval_s(&r, worked_in(ws, k, "interval_s"));
        double work = worked_in(ws, k, "work_s");
        double young = checkpoint_young_s(r.save_s, r.mtbf_s);
        double daly = checkpoint_daly_s(r.save_s, r.mtbf_s);
        worked_check(ws, k, "young_s", young);
        worked_check(ws, k, "daly_s", daly);
        worked_check(ws, k, "exact_opt_s", renewal_interval_s(&r, 0));
        worked_check(ws, k, "interval_used_s", tau);
        worked_check(ws, k, "segment_s", renewal_segment_s(&r, tau));
        worked_check(ws, k, "efficiency", renewal_efficiency(&r, tau));
        worked_check(ws, k, "efficiency_young", renewal_efficiency(&r, young));
        worked_check(ws, k, "efficiency_daly", renewal_efficiency(&r, daly));
        worked_check(ws, k, "expected_s", work / renewal_efficiency(&r, tau));
        worked_check(ws, k, "preemptions", renewal_interruptions(&r, tau, work));
        uint64_t whole = renewal_whole_segments(&r, work);
        worked_check(ws, k, "whole_segments", (double)whole);
        worked_check(ws, k, "whole_expected_s", renewal_whole_s(&r, work, whole));
    }
}

Test(closed_fleet, goodput_worked)
{
    const char *ws = "training-goodput";
    for (int k = 0; k < WORKED_CASES; k++) {
        double nodes = worked_in(ws, k, "nodes"), gpus = nodes * worked_in(ws, k, "gpus_per_node");
        const struct renewal r = {worked_in(ws, k, "node_mtbf_h") * 3600 / nodes,
                                  worked_in(ws, k, "ckpt_s"), worked_in(ws, k, "restart_s"),
                                  worked_in(ws, k, "detect_s")};
        double tau = renewal_interval_s(&r, worked_in(ws, k, "interval_s"));
        double goodput = renewal_efficiency(&r, tau), save = goodput * r.save_s / tau;
        worked_check(ws, k, "job_mtbf_h", r.mtbf_s / 3600);
        worked_check(ws, k, "interval_used_s", tau);
        worked_check(ws, k, "goodput", goodput);
        worked_check(ws, k, "failures_per_day", 86400 / (r.mtbf_s + r.down_s));
        worked_check(ws, k, "save_frac", save);
        worked_check(ws, k, "lost_frac", 1 - goodput - save);
        worked_check(ws, k, "lost_gpu_h_day", (1 - goodput) * 24 * gpus);
    }
}

Test(closed_fleet, renewal_edges)
{
    const struct renewal never = {INFINITY, 10, 5, 5}, free = {100, 0, 10, 20};
    cr_assert_eq(renewal_efficiency(&never, 90), 0.9);
    cr_assert_eq(renewal_efficiency(&never, INFINITY), 1);
    cr_assert_eq(renewal_interruptions(&never, 10, 100), 0);
    cr_assert_eq(renewal_notice_efficiency(&never, 10), 1);
    double limit = renewal_efficiency(&free, 0);
    near(limit, exp(-0.1) * 100 / 120, 1e-14, "limit");
    near(renewal_efficiency(&free, 1e-7), limit, 1e-8, "towards it");
    cr_assert(isnan(renewal_efficiency(&(struct renewal){0, 1, 1, 1}, 1)));
    cr_assert(isnan(renewal_segment_s(&free, -1)));
}

/* A table of expected times by another program, digits as printed; failures = time / M. */
Test(closed_fleet, young_daly_table)
{
    struct table *t = table_read("targets/checkpoint_young_daly.csv");
    cr_assert_eq(t->n, 24);
    for (size_t i = 0; i < t->n; i++) {
        double work_h = table_number(t, i, 0), m = table_number(t, i, 1) * 3600;
        const struct renewal r = {m, table_number(t, i, 2), table_number(t, i, 3), 0};
        const char *kind = t->cells[i][5];
        double tau = strcmp(kind, "young") == 0               ? checkpoint_young_s(r.save_s, m)
                     : strcmp(kind, "daly_higher_order") == 0 ? checkpoint_daly_s(r.save_s, m)
                     : strcmp(kind, "exact_optimum") == 0     ? checkpoint_exact_s(r.save_s, m)
                                                              : 3600;
        /* The table found its optimum by minimising, which sees half of the digits. */
        near(tau, table_number(t, i, 4), strcmp(kind, "exact_optimum") == 0 ? 1e-6 : 4e-9, kind);
        double efficiency = renewal_efficiency(&r, tau);
        near(work_h / efficiency, table_number(t, i, 6), 2e-8, "expected time");
        near(efficiency, table_number(t, i, 7), 2e-8, "efficiency");
        near(work_h / efficiency * 3600 / m, table_number(t, i, 8), 2e-5, "failures");
    }
    free(t);
}

/* Rounded as printed. The two MEASURED rows do not fit the series model; the table keeps them. */
Test(closed_fleet, nodes_in_series)
{
    struct table *t = table_read("targets/mttf_series.csv");
    size_t misfits = 0;
    for (size_t i = 0; i < t->n; i++) {
        double got = renewal_series_mttf_h(table_number(t, i, 1), table_number(t, i, 2),
                                           table_number(t, i, 3));
        double published = table_number(t, i, 5);
        cr_assert(fabs(got - table_number(t, i, 4)) <= 0.5e-4 * fmax(1, got / 10), "row %zu: %.6f",
                  i, got);
        bool fits = fabs(got - published) <= 0.5e-2 * fmax(1, published);
        cr_assert_eq(fits, strstr(t->cells[i][6], "MEASURED") == NULL, "row %zu", i);
        misfits += !fits;
    }
    cr_assert_eq(misfits, 2);
    free(t);
}

/* ---- spot, mix ---- */

Test(closed_fleet, spot_worked)
{
    const char *ws = "spot-breakeven";
    for (int k = 0; k < WORKED_CASES; k++) {
        struct spot_terms t = {.od_price = worked_in(ws, k, "od_price"),
                               .spot_price = worked_in(ws, k, "spot_price"),
                               .mtbf_s = worked_in(ws, k, "mtbf_s"),
                               .od_mtbf_s = worked_in(ws, k, "od_mtbf_s"),
                               .save_s = worked_in(ws, k, "ckpt_s"),
                               .restart_s = worked_in(ws, k, "restart_s"),
                               .down_s = worked_in(ws, k, "downtime_s"),
                               .notice_s = worked_in(ws, k, "notice_s"),
                               .gang_nodes = (uint32_t)worked_in(ws, k, "gang_nodes")};
        struct spot_worth w = spot_worth(&t);
        worked_check(ws, k, "spot_gang_mtbf_s", w.gang_mtbf_s);
        worked_check(ws, k, "spot_interval_s", w.interval_s);
        worked_check(ws, k, "spot_eff", w.eff);
        worked_check(ws, k, "od_interval_s", w.od_interval_s);
        worked_check(ws, k, "od_eff", w.od_eff);
        worked_check(ws, k, "spot_cost", w.cost);
        worked_check(ws, k, "od_cost", w.od_cost);
        worked_check(ws, k, "saving_frac", w.saving_frac);
        worked_check(ws, k, "spot_pays", w.pays);
        worked_check(ws, k, "breakeven_spot_price", w.breakeven_price);
        worked_check(ws, k, "breakeven_mtbf_s", w.breakeven_mtbf_s);
        worked_check(ws, k, "slowdown", 1 / w.eff);
        worked_check(ws, k, "notice_saves", w.notice_saves);
        worked_check(ws, k, "notice_eff", w.notice_eff);
        worked_check(ws, k, "notice_cost", w.notice_cost);
        t.spot_price = w.breakeven_price;
        near(spot_worth(&t).saving_frac + 1, 1, 1e-12, "at the break-even price");
        t.spot_price = w.od_cost;
        cr_assert(isnan(spot_worth(&t).breakeven_mtbf_s));
    }
}

/* A notice that is paid for counts as waiting does; the plain form is the one without. On demand
 * and saves on notice are as they were. */
Test(closed_fleet, spot_pays_for_its_notice)
{
    struct spot_terms t = {4, 1.6, 14400, 2592000, 30, 180, 0, 120, 0, 1};
    const struct spot_worth plain = spot_worth(&t);
    t.paid_notice_s = 120;
    const struct spot_worth paid = spot_worth(&t);
    t.paid_notice_s = 0;
    t.down_s = 120;
    const struct spot_worth waits = spot_worth(&t);
    near(paid.eff, waits.eff, 1e-15, "as waiting");
    near(paid.eff / plain.eff, 14400.0 / 14520, 1e-14, "M / (M + P)");
    cr_assert_eq(paid.od_eff, plain.od_eff);
    cr_assert_eq(paid.notice_eff, plain.notice_eff);
    cr_assert_eq(paid.interval_s, plain.interval_s);
    cr_assert(paid.saving_frac < plain.saving_frac);
    cr_assert(paid.breakeven_mtbf_s > plain.breakeven_mtbf_s);
}

Test(closed_fleet, mix_worked)
{
    const char *ws = "fleet-mix";
    for (int k = 0; k < WORKED_CASES; k++) {
        struct fleet_mix_terms t = {
            worked_in(ws, k, "demand_mean"),    worked_in(ws, k, "demand_sd"),
            worked_in(ws, k, "reserved_price"), worked_in(ws, k, "od_price"),
            worked_in(ws, k, "spot_price"),     worked_in(ws, k, "spot_eff"),
            worked_in(ws, k, "tolerant_frac")};
        struct fleet_mix m = fleet_mix(&t);
        worked_check(ws, k, "critical_ratio", m.critical_ratio);
        worked_check(ws, k, "z", m.z);
        worked_check(ws, k, "reserve_gpus", m.reserve_gpus);
        worked_check(ws, k, "overflow_gpus", m.overflow_gpus);
        worked_check(ws, k, "mix_cost_h", m.cost_h);
        worked_check(ws, k, "all_od_cost_h", m.all_od_cost_h);
        worked_check(ws, k, "saving_vs_od", m.saving_vs_od_frac);
        worked_check(ws, k, "spot_unit_cost", m.spot_unit_cost);
        worked_check(ws, k, "firm_reserve_gpus", m.firm_reserve_gpus);
        worked_check(ws, k, "firm_cost_h", m.firm_cost_h);
        worked_check(ws, k, "with_spot_cost_h", m.with_spot_cost_h);
        worked_check(ws, k, "use_spot", m.use_spot);
        worked_check(ws, k, "best_cost_h", m.best_cost_h);
        t.reserved_price = t.od_price;
        m = fleet_mix(&t);
        cr_assert(m.reserve_gpus == 0 && m.cost_h == m.all_od_cost_h && isinf(m.z));
        t.reserved_price = t.od_price / 3;
        t.demand_sd = 0;
        m = fleet_mix(&t);
        cr_assert(m.reserve_gpus == t.demand_mean && m.overflow_gpus == 0);
    }
}

/* ---- roll-outs, draining ---- */

Test(closed_fleet, rollout_worked)
{
    const char *ws = "rolling-upgrade";
    for (int k = 0; k < WORKED_CASES; k++) {
        uint32_t per_node = (uint32_t)worked_in(ws, k, "gpus_per_node");
        uint32_t n = (uint32_t)ceil(worked_in(ws, k, "gpus") / per_node - 1e-9);
        uint32_t b = (uint32_t)worked_in(ws, k, "parallel_nodes");
        uint32_t g = (uint32_t)worked_in(ws, k, "job_nodes");
        uint32_t aligned = rollout_restarts_aligned(n, b, g);
        double wave_s = worked_in(ws, k, "drain_s") + worked_in(ws, k, "upgrade_s");
        double random = rollout_restarts_random(n, b, g), bad = worked_in(ws, k, "bad_prob");
        double stop_s = worked_in(ws, k, "drain_s") + worked_in(ws, k, "restart_s");
        double each_h = g * per_node * stop_s / 3600, fail = worked_in(ws, k, "fail_frac");
        worked_check(ws, k, "nodes", n);
        worked_check(ws, k, "waves", rollout_waves(n, b));
        worked_check(ws, k, "total_h", rollout_waves(n, b) * wave_s / 3600);
        worked_check(ws, k, "restarts_aligned", aligned);
        worked_check(ws, k, "restarts_random", random);
        worked_check(ws, k, "lost_gpu_h_aligned", aligned * each_h);
        worked_check(ws, k, "lost_gpu_h_random", random * each_h);
        worked_check(ws, k, "failed_nodes_q",
                     rollout_failed_quantile(n, fail, worked_in(ws, k, "quantile")));
        worked_check(ws, k, "canary_detect",
                     rollout_canary_detect(bad, (uint32_t)worked_in(ws, k, "canary_nodes")));
        worked_check(ws, k, "canary_for_95", rollout_canaries_for(bad, 0.95));
    }
    near(rollout_restarts_random(100, 1, 7), 7, 1e-12, "one at a time");
    cr_assert_eq(rollout_restarts_random(100, 100, 7), 1);
    cr_assert_eq(rollout_restarts_random(100, 300, 7), 1);
    cr_assert_eq(rollout_restarts_random(100, 8, 0), 0);
    cr_assert_eq(rollout_canaries_for(0, 0.95), UINT32_MAX);
    cr_assert_eq(rollout_canaries_for(1, 0.95), 1);
}

Test(closed_fleet, drain_worked)
{
    const char *ws = "queue-drain";
    for (int k = 0; k < WORKED_CASES; k++) {
        uint64_t jobs = (uint64_t)worked_in(ws, k, "jobs");
        uint64_t slots =
            (uint64_t)worked_in(ws, k, "fleet_gpus") / (uint64_t)worked_in(ws, k, "gpus_per_job");
        double mean = worked_in(ws, k, "mean_runtime_h");
        worked_check(ws, k, "slots", (double)slots);
        worked_check(ws, k, "last_start_exp_h", drain_last_start(jobs, slots, mean));
        worked_check(ws, k, "makespan_exp_h", drain_makespan(jobs, slots, mean));
        worked_check(ws, k, "list_bound_h",
                     drain_list_bound(jobs, slots, mean, worked_in(ws, k, "max_runtime_h")));
    }
    near(drain_makespan(3, 100, 6), 6 * (1 + 0.5 + 1.0 / 3), 1e-14, "fewer jobs than slots");
}

Test(closed_fleet, quota_return_worked)
{
    const char *ws = "quota-return";
    for (int k = 0; k < WORKED_CASES; k++) {
        double mean = worked_in(ws, k, "job_mean_h"), grace = worked_in(ws, k, "grace_s");
        struct quota_return q = drain_quota_return(
            (uint32_t)worked_in(ws, k, "quota_gpus"), (uint32_t)worked_in(ws, k, "lent_gpus"),
            (uint32_t)worked_in(ws, k, "idle_gpus"), (uint32_t)worked_in(ws, k, "demand_gpus"),
            (uint32_t)worked_in(ws, k, "gang_gpus"));
        double wait = drain_natural_wait(q.gangs, q.lent_gangs, mean);
        worked_check(ws, k, "granted_demand_gpus", q.granted_gpus);
        worked_check(ws, k, "now_gpus", q.now_gpus);
        worked_check(ws, k, "need_gpus", q.need_gpus);
        worked_check(ws, k, "gangs_preempted", q.gangs);
        worked_check(ws, k, "gpus_preempted", q.gpus);
        worked_check(ws, k, "lent_gangs", q.lent_gangs);
        worked_check(ws, k, "natural_first_h", drain_natural_wait(1, q.lent_gangs, mean));
        worked_check(ws, k, "natural_wait_h", wait);
        worked_check(ws, k, "speedup", wait * 3600 / grace);
    }
    near(drain_natural_wait(188, 188, 1), drain_harmonic(188), 1e-14, "all of them");
    near(drain_natural_wait(10001, 10001, 1), drain_harmonic(10001), 1e-13, "by its expansion");
    near(drain_natural_wait(500000, 500000, 1), drain_harmonic(500000), 1e-13, "of many");
    cr_assert_eq(drain_natural_wait(0, 5, 1), 0);
}

/* An 8-node job among 16 one-node slots (problem "large job needs a reservation"). */
Test(closed_fleet, reservation_of_a_large_job)
{
    cr_assert_float_eq(drain_natural_wait(8, 16, 2), 1.3257, 5e-5);
    cr_assert_float_eq(drain_natural_idle(8, 16, 2), 5.2119, 5e-5);
}

/* ---- closed groups ---- */

Test(closed_fleet, notebooks_worked)
{
    const char *ws = "notebook-pool";
    for (int k = 0; k < WORKED_CASES; k++) {
        double sliced = worked_in(ws, k, "sliced_gpus");
        double servers =
            worked_in(ws, k, "gpus") - sliced + sliced * worked_in(ws, k, "slices_per_gpu");
        const struct finite_source s = {(uint32_t)worked_in(ws, k, "users"), (uint32_t)servers,
                                        worked_in(ws, k, "session_h"), worked_in(ws, k, "gap_h")};
        struct finite_queue q = finite_source_queue(&s);
        struct finite_loss l = finite_source_loss(&s);
        worked_check(ws, k, "queue_p_all_busy", q.all_busy_frac);
        worked_check(ws, k, "queue_p_wait", q.wait_frac);
        worked_check(ws, k, "queue_mean_wait_h", q.wait_mean);
        worked_check(ws, k, "queue_mean_waiting", q.waiting_mean);
        worked_check(ws, k, "queue_utilization", q.utilization);
        worked_check(ws, k, "queue_sessions_per_h", q.sessions_rate);
        worked_check(ws, k, "loss_time_congestion", l.time_congestion);
        worked_check(ws, k, "loss_call_congestion", l.call_congestion);
        worked_check(ws, k, "loss_utilization", l.utilization);
    }
}

Test(closed_fleet, notebooks_edges)
{
    const struct finite_source few = {5, 9, 2, 8}, none = {0, 9, 2, 8};
    struct finite_queue q = finite_source_queue(&few);
    cr_assert(q.wait_frac == 0 && q.wait_mean == 0 && q.all_busy_frac == 0);
    near(q.utilization, 5 * 0.2 / 9, 1e-13, "no waiting");
    near(finite_source_loss(&few).utilization, 5 * 0.2 / 9, 1e-13, "no loss");
    cr_assert_eq(finite_source_loss(&few).call_congestion, 0);
    cr_assert_eq(finite_source_queue(&none).sessions_rate, 0);
    /* Many users with long gaps are Poisson arrivals: Erlang's formulas. */
    const struct finite_source many = {1000000, 10, 1, 125000};
    near(finite_source_queue(&many).wait_frac, erlang_c(10, 8), 1e-4, "Erlang C");
    near(finite_source_loss(&many).call_congestion, erlang_b(10, 8), 1e-4, "Erlang B");
}

/* 8 GPUs, 2.5 sessions an hour of 2 h of useful work, then idle until a time-out (problem
 * "idle notebooks"). */
Test(closed_fleet, idle_notebooks)
{
    const double timeout_h[] = {6, 2, 1, 0.5, 0.25}, p_wait[] = {1, 1, 0.807, 0.418, 0.276};
    const double wait_min[] = {INFINITY, INFINITY, 291, 35.8, 15.7};
    for (int i = 0; i < 5; i++) {
        double held = 2 + timeout_h[i], wait = 60 * erlang_wait_mean(8, 2.5 * held, held);
        cr_assert(fabs(erlang_c(8, 2.5 * held) - p_wait[i]) <= 5e-4);
        cr_assert(wait == wait_min[i] || fabs(wait - wait_min[i]) <= (i == 2 ? 0.5 : 0.05), "%g",
                  wait);
    }
}

/* 6,000 s between stops, 600 s recovery, 10 s save: Young, a rule of a published thread that adds
 * the recovery, sqrt(2 C (M + R)), and the exact optimum; 6 h and 120 s (problem "checkpoint
 * interval"). */
Test(closed_fleet, checkpoint_interval_problem)
{
    cr_assert_float_eq(checkpoint_young_s(10, 6000), 346.4, 0.05);
    cr_assert_float_eq(checkpoint_young_s(10, 6000 + 600), 363.3, 0.05);
    cr_assert_float_eq(checkpoint_exact_s(10, 6000), 339.8, 0.05);
    cr_assert_float_eq(checkpoint_young_s(120, 6 * 3600) / 60, 37.9, 0.05);
}
