/* The scheduler at scale: 100,000 queued jobs on 2,048 GPUs of 40 tenants, decayed fair share,
 * floors that are lent and taken back by an owner who returns; the same with EASY backfill that
 * tests 500 jobs a pass; time per pass at 100,000 queued over that at 10,000; the whole Philly
 * list. CPU times of whole runs, trace reading not included. */
#include "models/run.h"
#include "timing.h"
#include "traces/trace.h"

#include <string.h>

enum { NODES = 256, TENANTS = 40, OWNER = TENANTS - 1, ROUNDS = 3 };

static simtime_ns exponential(struct rng *r, simtime_ns mean)
{
    struct dist d = {DIST_EXPONENTIAL, sim_time_to_s(mean), 0};
    simtime_ns t = dist_draw(&d, r);
    return t < SIM_S ? SIM_S : t;
}

static const char *tenant_name(int i)
{
    static const char names[TENANTS][4] = {"t00", "t01", "t02", "t03", "t04", "t05", "t06", "t07",
                                           "t08", "t09", "t10", "t11", "t12", "t13", "t14", "t15",
                                           "t16", "t17", "t18", "t19", "t20", "t21", "t22", "t23",
                                           "t24", "t25", "t26", "t27", "t28", "t29", "t30", "t31",
                                           "t32", "t33", "t34", "t35", "t36", "t37", "t38", "t39"};
    return names[i];
}

/* All jobs of the borrowers at 0, those of the owner in an hour from 24 h on. */
static struct job *draw_jobs(size_t n)
{
    static const uint32_t sizes[] = {1, 1, 1, 2, 2, 4, 8, 16};
    struct job *jobs = calloc(n, sizeof *jobs);
    struct rng r;
    rng_init(&r, 1, 0, "bench", "jobs");
    size_t n_owner = n / 50;
    for (size_t i = 0; jobs && i < n; i++) {
        bool owner = i >= n - n_owner;
        uint32_t gpus = sizes[(size_t)(rng_uniform(&r) * 8)];
        simtime_ns at = owner ? 24 * SIM_HOUR + SIM_HOUR * (i - (n - n_owner)) / n_owner : 0;
        jobs[i] = (struct job){.submit_ns = at,
                               .work_ns = exponential(&r, SIM_HOUR),
                               .limit_ns = JOB_UNSET,
                               .checkpoint_ns = JOB_UNSET,
                               .id = "job",
                               .tenant = tenant_name(owner ? OWNER : (int)(i % OWNER)),
                               .gpus = gpus,
                               .min_gpus = gpus,
                               .preemptible = true};
    }
    return jobs;
}

static struct tenant_plan tenant_of(int i)
{
    uint32_t floor = i == OWNER ? 512 : 32;
    struct tenant_plan t = {
        .name = tenant_name(i), .match = tenant_name(i), .weight = 1, .n_pools = 1};
    t.pools[0].quota = (struct quota){.floor_gpus = floor,
                                      .ceiling_gpus = NODES * 8,
                                      .lend_gpus = floor,
                                      .weight = 1,
                                      .reclaim_within_cohort = COHORT_ANY};
    return t;
}

static struct queue_plan queue_of(const struct job_trace *jobs, enum backfill_kind backfill,
                                  uint32_t depth)
{
    return (struct queue_plan){.name = "queue",
                               .order = ORDER_FAIR_SHARE,
                               .half_life_ns = 7 * SIM_DAY,
                               .backfill = backfill,
                               .backfill_depth = depth,
                               .estimate_factor = 1,
                               .checkpoint = {.interval_ns = 30 * SIM_MIN, .stall_ns = 6 * SIM_S},
                               .restart_load = {DIST_FIXED, 25, 0},
                               .restart_init = {DIST_FIXED, 60, 0},
                               .placement = SHAPE_PREFER_WHOLE,
                               .jobs = jobs,
                               .jobs_speed = 1,
                               .work_factor = 1};
}

/* CPU seconds of a run; its results are for the caller. */
static double run(const struct queue_plan *queue, uint32_t nodes, simtime_ns horizon,
                  struct run_results *results)
{
    const struct node_group group = {"node", "h100-sxm", nodes, 8};
    const struct fleet_plan pool = {.name = "fleet",
                                    .groups = &group,
                                    .n_groups = 1,
                                    .reclaim = {.victims = VICTIM_LOWEST_PRIORITY,
                                                .grace_ns = 30 * SIM_S,
                                                .teardown = {DIST_FIXED, 2, 0},
                                                .scrub = {DIST_FIXED, 1, 0}}};
    const struct plan plan = {.name = "queue",
                              .design = "quota",
                              .seed = 1,
                              .horizon_ns = horizon,
                              .timeline_ns = SIM_HOUR,
                              .start_date = "2026-01-01 00:00:00",
                              .pools = &pool,
                              .n_pools = 1,
                              .queues = queue,
                              .n_queues = 1};
    double start = timing_cpu_s();
    if (run_plan(&plan, 0, NULL, results) != HR_OK) {
        fprintf(stderr, "bench_queue: the run failed\n");
        exit(1);
    }
    return timing_cpu_s() - start;
}

static double median_run(const struct queue_plan *queue, uint32_t nodes, simtime_ns horizon,
                         struct run_results *last)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        if (i > 0)
            results_fini(last);
        times[i] = run(queue, nodes, horizon, last);
    }
    return timing_median(times, ROUNDS);
}

static struct queue_plan with_tenants(struct queue_plan q, struct tenant_plan tenants[TENANTS])
{
    for (int i = 0; i < TENANTS; i++)
        tenants[i] = tenant_of(i);
    q.tenant = tenants[0];
    q.more = tenants + 1;
    q.n_more = TENANTS - 1;
    return q;
}

static void drain(const char *name, const struct job_trace *jobs, enum backfill_kind backfill,
                  uint32_t depth)
{
    struct tenant_plan tenants[TENANTS];
    struct run_results results;
    char text[64];
    const struct queue_plan q = with_tenants(queue_of(jobs, backfill, depth), tenants);
    double s = median_run(&q, NODES, 40 * SIM_DAY, &results);
    snprintf(text, sizeof text, "queue_%s_cpu_s", name);
    timing_print(text, s, "s");
    snprintf(text, sizeof text, "queue_%s_done", name);
    timing_print(text, (double)results.queues[0].totals.done, "1");
    snprintf(text, sizeof text, "queue_%s_reclaims", name);
    timing_print(text, (double)results.n_reclaims, "1");
    results_fini(&results);
}

/* CPU time per event of two days in the middle of the drain, of so many queued jobs. */
static double per_event_s(struct job *rows, size_t n, enum backfill_kind backfill)
{
    struct tenant_plan tenants[TENANTS];
    struct run_results results;
    const struct job_trace jobs = {rows, n, 0};
    const struct queue_plan q = with_tenants(queue_of(&jobs, backfill, 100), tenants);
    double s[2];
    uint64_t events[2];
    for (int i = 0; i < 2; i++) {
        s[i] = median_run(&q, NODES, i == 0 ? SIM_HOUR : 12 * SIM_HOUR, &results);
        events[i] = results.engine.events;
        results_fini(&results);
    }
    return (s[1] - s[0]) / (double)(events[1] - events[0]);
}

static void scaling(const char *name, struct job *rows, size_t n, enum backfill_kind backfill)
{
    char text[64];
    double many = per_event_s(rows, n, backfill), few = per_event_s(rows, n / 10, backfill);
    snprintf(text, sizeof text, "queue_%s_100k_us_per_event", name);
    timing_print(text, many * 1e6, "us");
    snprintf(text, sizeof text, "queue_%s_100k_vs_10k", name);
    timing_print(text, many / few, "1");
}

/* The whole list, first come first served with EASY backfill on 352 nodes. */
static int philly(const char *path)
{
    struct arena arena;
    struct diags diags;
    struct job_trace jobs;
    struct trace_report report;
    struct run_results results;
    arena_init(&arena);
    diags_init(&diags);
    const struct trace_spec spec = {.path = path, .format = trace_format_find("philly")};
    int failed = trace_read_jobs(&arena, &spec, &diags, &jobs, &report) != HR_OK;
    diags_print(&diags, stderr, false);
    if (!failed) {
        struct queue_plan q = queue_of(&jobs, BACKFILL_EASY, 100);
        q.order = ORDER_FIFO;
        q.tenant = (struct tenant_plan){.name = "queue", .n_pools = 1};
        q.tenant.pools[0].quota.ceiling_gpus = 352 * 8;
        double s = median_run(&q, 352, jobs.span_ns + 60 * SIM_DAY, &results);
        timing_print("queue_philly_jobs", (double)results.queues[0].totals.done, "1");
        timing_print("queue_philly_jobs_per_cpu_s", (double)results.queues[0].totals.done / s,
                     "1/s");
        results_fini(&results);
    }
    diags_fini(&diags);
    arena_fini(&arena);
    return failed;
}

int main(int argc, char **argv)
{
    const size_t n = 100000;
    struct job *rows = draw_jobs(n);
    if (!rows)
        return 1;
    const struct job_trace jobs = {rows, n, 25 * SIM_HOUR};
    drain("fair_share", &jobs, BACKFILL_NONE, 0);
    drain("fair_share_easy_500", &jobs, BACKFILL_EASY, 500);
    scaling("fair_share", rows, n - n / 50, BACKFILL_NONE); /* all of them queued at 0 */
    scaling("easy", rows, n - n / 50, BACKFILL_EASY);
    free(rows);
    return philly(argc > 1 ? argv[1] : "traces/data/philly/philly.csv.gz");
}
