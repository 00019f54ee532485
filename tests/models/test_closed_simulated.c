/* Closed forms that whole simulated runs confirm: expected time by checkpoint interval (Young,
 * Daly, the exact optimum, hourly), what a gang loses when it is taken, the cost of a reservation
 * with on-demand overflow.
 *
 * Agreement is |simulated - exact| <= 3.3 standard errors, these at most 0.5 % of the exact value.
 * HEADROOM_LONG=1: ten times the runs. */
#include "models/closed/checkpoint.h"
#include "models/closed/fleet_mix.h"
#include "models/closed/renewal.h"
#include "models/run.h"
#include "queue_kit.h"
#include "worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static size_t times(size_t n)
{
    return getenv("HEADROOM_LONG") ? 10 * n : n;
}

struct sums {
    double n, sum, squares;
};

static void add(struct sums *s, double x)
{
    s->n++;
    s->sum += x;
    s->squares += x * x;
}

static void agrees(const struct sums *s, double want, double least_share, const char *what)
{
    double mean = s->sum / s->n;
    double error = sqrt(fmax(0, s->squares / s->n - mean * mean) / (s->n - 1));
    cr_assert_leq(error, least_share * want, "%s: standard error %g of %g", what, error, want);
    cr_assert_leq(fabs(mean - want), 3.3 * error, "%s: %g, exactly %g, standard error %g", what,
                  mean, want, error);
}

static struct dist fixed(double s)
{
    return (struct dist){DIST_FIXED, s, 0};
}

static struct job job_of(simtime_ns submit, simtime_ns work, uint32_t gpus)
{
    return (struct job){.submit_ns = submit,
                        .work_ns = work,
                        .limit_ns = JOB_UNSET,
                        .checkpoint_ns = JOB_UNSET,
                        .id = "job",
                        .tenant = "",
                        .gpus = gpus,
                        .min_gpus = gpus,
                        .preemptible = true};
}

static struct plan plan_of(const struct fleet_plan *pools, size_t n_pools,
                           const struct queue_plan *queue, simtime_ns horizon)
{
    return (struct plan){.name = "closed",
                         .design = "shared",
                         .seed = 20260101,
                         .horizon_ns = horizon,
                         .timeline_ns = horizon < 30 * SIM_DAY ? horizon : 30 * SIM_DAY,
                         .start_date = "2026-01-01 00:00:00",
                         .pools = pools,
                         .n_pools = n_pools,
                         .queues = queue,
                         .n_queues = 1};
}

/* ---- expected time by checkpoint interval ---- */

struct row {
    struct renewal r;
    double tau_s;
    uint64_t segments; /* whole ones, of the row's work */
    const char *kind;
};

/* One node on which equal jobs run one after another, each with a last save. It fails and is back
 * at once; a gang restarts for R. */
static void simulate_row(const struct row *row, size_t n, struct sums *time_s,
                         struct sums *interruptions)
{
    struct job *items = calloc(n, sizeof *items);
    simtime_ns tau = sim_time_from_s(row->tau_s), work = tau * row->segments;
    for (size_t i = 0; i < n; i++)
        items[i] = job_of(i, work, 1);
    const struct job_trace jobs = {items, n, 0};
    struct queue_plan queue = world_queue(&jobs, 1);
    queue.checkpoint = (struct checkpoint_plan){
        .interval_ns = tau, .stall_ns = sim_time_from_s(row->r.save_s), .final_save = true};
    queue.restart_load = fixed(row->r.restart_s);
    const struct node_group group = {"node", "h100-sxm", 1, 1};
    const struct fleet_plan pool = {
        .groups = &group,
        .n_groups = 1,
        .name = "pool",
        .reclaim = {.teardown = fixed(0), .scrub = fixed(0)},
        .supply = {.failure = {.per_1000_node_days = 1000 * 86400 / row->r.mtbf_s,
                               .reboot_share = 1,
                               .repair_reboot = fixed(0)}}};
    double expected_s = (double)row->segments * renewal_segment_s(&row->r, row->tau_s);
    const struct plan p =
        plan_of(&pool, 1, &queue, sim_time_from_s(2 * expected_s * (double)(n + 10)));
    struct run_results r;
    cr_assert_null(plan_fault(&p), "%s", plan_fault(&p));
    cr_assert_eq(run_plan(&p, 0, NULL, &r), HR_OK);
    cr_assert_eq(r.n_jobs, n);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(r.jobs[i].outcome, OUTCOME_DONE);
        add(time_s, sim_time_to_s(r.jobs[i].end_ns - r.jobs[i].first_start_ns));
        add(interruptions, r.jobs[i].failures);
    }
    results_fini(&r);
    free(items);
}

/* Jobs enough for 0.5 %: the time of one segment varies at most by its mean and a half. */
static size_t jobs_for(const struct row *row)
{
    double n = 2.25 / ((double)row->segments * 0.004 * 0.004);
    return times((size_t)fmax(30, ceil(fmin(n, 3000))));
}

Test(closed_simulated, young_daly_table, .timeout = 600)
{
    struct table *t = table_read("targets/checkpoint_young_daly.csv");
    cr_assert_eq(t->n, 24);
    for (size_t i = 0; i < t->n; i++) {
        double work_s = table_number(t, i, 0) * 3600, mtbf_s = table_number(t, i, 1) * 3600;
        struct row row = {.r = {mtbf_s, table_number(t, i, 2), table_number(t, i, 3), 0},
                          .tau_s = table_number(t, i, 4),
                          .kind = t->cells[i][5]};
        row.segments = (uint64_t)round(work_s / row.tau_s);
        /* the table takes the work as if it were cut into pieces of tau without a rest */
        double whole = (double)row.segments * row.tau_s / work_s;
        struct sums time_s = {0}, failures = {0};
        simulate_row(&row, jobs_for(&row), &time_s, &failures);
        agrees(&time_s, table_number(t, i, 6) * 3600 * whole, 0.005, row.kind);
        agrees(&failures, table_number(t, i, 8) * whole, 0.05, row.kind);
    }
    free(t);
}

/* ---- reclaim-chain ---- */

/* Grace, the lost work and the restart of one gang that is taken at this time. */
static double lost_s(const struct queue_plan *queue, uint32_t gpus, simtime_ns at, simtime_ns grace)
{
    const struct take take = {at, SIM_MIN, gpus};
    const struct world_plan plan = {.nodes = gpus,
                                    .gpus_per_node = 1,
                                    .reclaim = {.grace_ns = grace},
                                    .queue = queue,
                                    .takes = &take,
                                    .n_takes = 1,
                                    .end_ns = SIM_DAY,
                                    .unchecked = true};
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    const struct job_row *row = world_row(&w, 0);
    cr_assert(row->preemptions == 1 && row->outcome == OUTCOME_DONE);
    double draining_s = (double)world_total(&w, GPU_DRAINING) / (double)gpus / 1e9;
    double s = draining_s + sim_time_to_s(row->lost_ns + row->restoring_ns);
    world_close(&w);
    return s;
}

static double draw_phase(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* A gang that saves every 30 min is taken at a random instant: with 90 s it saves, with 30 s it
 * cannot and falls back by half an interval on average. */
Test(closed_simulated, reclaim_chain)
{
    static const char *const ws = "reclaim-chain";
    double interval_s = worked_in(ws, 0, "ckpt_interval_s"),
           restart_s = worked_in(ws, 0, "restart_s"), write_s = worked_in(ws, 0, "ckpt_write_s");
    struct job job = job_of(0, 6 * SIM_HOUR, 8);
    const struct job_trace jobs = {&job, 1, 0};
    struct queue_plan queue = world_queue(&jobs, 8);
    queue.checkpoint = (struct checkpoint_plan){.interval_ns = sim_time_from_s(interval_s),
                                                .notice_save_ns = sim_time_from_s(write_s),
                                                .save_on_notice = true};
    queue.restart_load = fixed(restart_s);
    size_t n = times(4000);
    uint64_t state = 5;
    struct sums killed = {0}, saved = {0};
    for (size_t i = 0; i < n; i++) {
        simtime_ns at = sim_time_from_s(1 + 4 * interval_s * draw_phase(&state));
        add(&killed, lost_s(&queue, 8, at, 30 * SIM_S));
        if (i < 50)
            add(&saved, lost_s(&queue, 8, at, 90 * SIM_S));
    }
    double exact = 30 + restart_s + interval_s / 2;
    cr_assert_eq(exact, 1170);
    double mean = killed.sum / killed.n, tolerance = 3.3 * interval_s / sqrt(12 * (double)n);
    cr_expect_leq(fabs(mean - exact), tolerance, "%g s, exactly %g s", mean, exact);
    cr_expect_float_eq(saved.sum / saved.n, write_s + restart_s, 1e-9);
    cr_expect_float_eq(write_s + restart_s, 300, 1e-9);
}

/* ---- fleet-mix ---- */

/* Standard normal by Box and Muller. */
static double normal(uint64_t *state)
{
    double u = draw_phase(state), v = draw_phase(state);
    return sqrt(-2 * log(1 - u)) * cos(2 * 3.141592653589793 * v);
}

enum { UNIT_GPUS = 10, RESERVED_NODES = 50, NODES_MOST = 120 };

/* Of each hour so many gangs of one node, for all of it but two seconds; then a bought node is idle
 * for one. What the hour should cost. */
static size_t draw_demand(struct job *items, size_t hours, const struct fleet_mix_terms *t,
                          struct sums *per_h)
{
    uint64_t state = 11;
    size_t n = 0;
    for (size_t h = 0; h < hours; h++) {
        double drawn = round((t->demand_mean + t->demand_sd * normal(&state)) / UNIT_GPUS);
        size_t gangs = (size_t)fmin(fmax(0, drawn), NODES_MOST);
        for (size_t i = 0; i < gangs; i++)
            items[n++] = job_of(h * SIM_HOUR, SIM_HOUR - 2 * SIM_S, UNIT_GPUS);
        double bought = gangs > RESERVED_NODES ? (double)(gangs - RESERVED_NODES) : 0;
        add(per_h, UNIT_GPUS * (t->reserved_price * RESERVED_NODES + t->od_price * bought));
    }
    return n;
}

/* Dollars of all GPUs in a run where a reservation takes what it can and the rest is bought. */
static double mix_cost(const struct job_trace *jobs, size_t hours, const struct fleet_mix_terms *t,
                       simtime_ns idle_ns)
{
    struct queue_plan queue = world_queue(jobs, RESERVED_NODES * UNIT_GPUS);
    queue.tenant.pools[1] = (struct pool_claim){1, {.ceiling_gpus = NODES_MOST * UNIT_GPUS}};
    queue.tenant.n_pools = 2;
    const struct node_group groups[] = {{"r", "h100-sxm", RESERVED_NODES, UNIT_GPUS},
                                        {"d", "h100-sxm", NODES_MOST, UNIT_GPUS}};
    const struct reclaim_plan reclaim = {.teardown = fixed(0), .scrub = fixed(0)};
    const struct fleet_plan pools[] = {
        {.groups = &groups[0],
         .n_groups = 1,
         .name = "reserved",
         .reclaim = reclaim,
         .price_usd_per_gpu_h = t->reserved_price},
        {.groups = &groups[1],
         .n_groups = 1,
         .name = "on-demand",
         .reclaim = reclaim,
         .price_usd_per_gpu_h = t->od_price,
         .supply = {.kind = SUPPLY_ON_DEMAND,
                    .on_demand = {.provision = fixed(0), .idle_release_ns = idle_ns}}}};
    const struct plan p = plan_of(pools, 2, &queue, hours * SIM_HOUR);
    struct run_results r;
    cr_assert_null(plan_fault(&p), "%s", plan_fault(&p));
    cr_assert_eq(run_plan(&p, 0, NULL, &r), HR_OK);
    double usd = 0;
    for (size_t i = 0; i < (size_t)r.n_owners * GPU_STATES; i++)
        usd += r.cost_usd[i];
    for (size_t i = 0; i < r.n_jobs; i++) /* a pass asks for one node, the next comes 1 ns later */
        cr_assert_leq(r.jobs[i].first_start_ns - r.jobs[i].submit_ns, NODES_MOST);
    results_fini(&r);
    return usd;
}

/* Independent normal demand by the hour. Each bought hour lacks its last seconds, less those that a
 * node may stand idle. */
Test(closed_simulated, fleet_mix, .timeout = 600)
{
    static const char *const ws = "fleet-mix";
    const struct fleet_mix_terms t = {.demand_mean = worked_in(ws, 0, "demand_mean"),
                                      .demand_sd = worked_in(ws, 0, "demand_sd"),
                                      .reserved_price = worked_in(ws, 0, "reserved_price"),
                                      .od_price = worked_in(ws, 0, "od_price"),
                                      .spot_price = 1,
                                      .spot_eff = 1};
    const struct fleet_mix exact = fleet_mix(&t);
    cr_assert_float_eq(exact.reserve_gpus, RESERVED_NODES * UNIT_GPUS, 1e-9);
    size_t hours = times(3000);
    struct job *items = calloc(hours * NODES_MOST, sizeof *items);
    struct sums per_h = {0};
    const struct job_trace jobs = {items, draw_demand(items, hours, &t, &per_h), 0};
    agrees(&per_h, exact.cost_h, 0.005, "hourly cost");
    for (unsigned idle_s = 0; idle_s <= 1; idle_s++) {
        double cost_h = mix_cost(&jobs, hours, &t, idle_s * SIM_S) / (double)hours;
        double reserved_h = t.reserved_price * exact.reserve_gpus;
        cost_h = reserved_h + (cost_h - reserved_h) * 3600 / (3598 + idle_s);
        cr_expect_float_eq(cost_h, per_h.sum / per_h.n, 1e-6 * exact.cost_h, "%g, drawn %g", cost_h,
                           per_h.sum / per_h.n);
    }
    free(items);
}
