/* Plans for tests. */
#include "tests/models/plan_kit.h"

#include <string.h>

struct request_trace *kit_trace(struct arena *a, uint64_t seed, size_t n, double mean_gap_s,
                                uint32_t max_prompt, uint32_t max_output)
{
    struct rng r;
    rng_init(&r, seed, 0, "kit", "requests");
    struct request_trace *t = arena_alloc(a, sizeof *t);
    t->rows = arena_array(a, n, sizeof *t->rows);
    t->n = n;
    simtime_ns at = 0;
    for (size_t i = 0; i < n; i++) {
        t->rows[i].arrival_ns = at;
        t->rows[i].prompt_tokens = 1 + (uint32_t)rng_below(&r, max_prompt);
        t->rows[i].output_tokens = 1 + (uint32_t)rng_below(&r, max_output);
        at += sim_time_from_s(rng_exponential(&r) * mean_gap_s);
    }
    t->span_ns = t->rows[n - 1].arrival_ns;
    return t;
}

struct job_trace *kit_jobs(struct arena *a, uint64_t seed, size_t n, double mean_gap_s,
                           double mean_work_s, uint32_t max_gpus)
{
    struct rng r;
    rng_init(&r, seed, 0, "kit", "jobs");
    struct job_trace *t = arena_alloc(a, sizeof *t);
    t->rows = arena_array(a, n, sizeof *t->rows);
    t->n = n;
    simtime_ns at = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t gpus = 1 + (uint32_t)rng_below(&r, max_gpus);
        simtime_ns work = 1 + sim_time_from_s(rng_exponential(&r) * mean_work_s);
        t->rows[i] = (struct job){
            .submit_ns = at,
            .work_ns = work,
            .limit_ns = 2 * work,
            .checkpoint_ns = JOB_UNSET,
            .id = "kit",
            .tenant = "",
            .gpus = gpus,
            .min_gpus = gpus,
            .preemptible = rng_below(&r, 8) > 0,
        };
        at += sim_time_from_s(rng_exponential(&r) * mean_gap_s);
    }
    t->span_ns = t->rows[n - 1].submit_ns;
    return t;
}

struct step_time kit_step_time(void)
{
    return (struct step_time){
        .a_ps = 9829170000,
        .b_ps = 34826700,
        .c_ps = 27841,
        .d_ps = 6269150000,
        .e_ps = 44327300,
        .f_fs = 266565,
        .floor_ps = 12109000000,
    };
}

static struct dist fixed(double s)
{
    return (struct dist){.kind = DIST_FIXED, .mean_s = s};
}

struct service_plan kit_service(const char *name, const struct request_trace *trace, double scale,
                                uint32_t gpus, uint32_t replicas, simtime_ns warmup,
                                simtime_ns horizon)
{
    struct service_plan s = {
        .name = name,
        .model = "kit",
        .pools = {{0, {.floor_gpus = gpus * replicas, .ceiling_gpus = gpus * replicas}}},
        .n_pools = 1,
        .gpus_per_replica = gpus,
        .replica = {.step = kit_step_time(),
                    .prefill = PREFILL_CHUNKED,
                    .max_num_seqs = 64,
                    .max_batched_tokens = 2048,
                    .kv_capacity_tokens = 600000},
        .router = ROUTER_LEAST_OUTSTANDING,
        .autoscaler = {.metric = SCALER_IN_FLIGHT,
                       .target = 20,
                       .period_ns = 15 * SIM_S,
                       .metric_window_ns = 30 * SIM_S,
                       .stabilisation_ns = 60 * SIM_S,
                       .step_up = 4,
                       .step_down = 2,
                       .max_replicas = replicas},
        .initial_replicas = replicas,
        .safe_in_flight = 20,
        .drain_limit_ns = 30 * SIM_S,
        .request_timeout_ns = SIM_NEVER,
        .traffic =
            {.kind = ARRIVAL_TRACE, .trace = trace, .scale = scale, .speed = 1, .loop = true},
        .slo = {.objectives = {{SLO_TTFT, 2 * SIM_S, 990000}, {SLO_TPOT, 100 * SIM_MS, 990000}},
                .n_objectives = 2,
                .window_ns = SIM_MIN,
                .start_ns = warmup,
                .end_ns = horizon,
                .target = 0.99},
    };
    s.cold_start[STAGE_SCHEDULE] = fixed(2);
    s.cold_start[STAGE_IMAGE] = fixed(1);
    s.cold_start[STAGE_WEIGHTS] = (struct dist){DIST_LOGNORMAL, 10, 0.3};
    s.cold_start[STAGE_ENGINE] = fixed(7);
    return s;
}

struct queue_plan kit_queue(const char *name, const struct job_trace *jobs, uint32_t fleet_gpus)
{
    return (struct queue_plan){
        .name = name,
        .tenant = {.name = name, .pools = {{0, {.ceiling_gpus = fleet_gpus}}}, .n_pools = 1},
        .backfill = BACKFILL_NONE,
        .backfill_depth = 100,
        .estimate = ESTIMATE_EXACT,
        .estimate_factor = 1,
        .checkpoint = {.rule = INTERVAL_FIXED,
                       .interval_ns = 120 * SIM_S,
                       .stall_ns = 3 * SIM_S,
                       .mtbf_ns = SIM_DAY,
                       .notice_save_ns = 10 * SIM_S},
        .restart_load = fixed(5),
        .restart_init = fixed(4),
        .placement = SHAPE_PREFER_WHOLE,
        .jobs = jobs,
        .jobs_speed = 1,
        .work_factor = 1,
    };
}

/* ---- random plans ---- */

static uint32_t pick(struct rng *r, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(r, high - low + 1);
}

/* Half of the claimants may grow over the whole fleet, most may reclaim: they must meet. */
static void random_quota(struct rng *r, struct quota *q, uint32_t fleet_gpus, uint32_t *floors_left)
{
    q->floor_gpus = pick(r, 0, *floors_left / 2);
    *floors_left -= q->floor_gpus;
    q->ceiling_gpus = pick(r, 0, 1) ? fleet_gpus : pick(r, q->floor_gpus, fleet_gpus);
    q->lend_gpus = pick(r, 0, q->floor_gpus);
    q->priority = (int32_t)pick(r, 0, 3);
    uint32_t may = pick(r, 0, RECLAIM_POLICIES);
    quota_may_reclaim(q, may == RECLAIM_POLICIES ? RECLAIM_LOWER_PRIORITY : (enum may_reclaim)may);
}

static void random_service(struct rng *r, struct arena *a, struct plan *p, struct service_plan *s,
                           const char *name, uint64_t seed, uint32_t *floors_left)
{
    uint32_t fleet_gpus = plan_gpus(p);
    uint32_t gpus = pick(r, 1, p->pools[0].groups[0].gpus_per_node);
    const struct request_trace *trace =
        kit_trace(a, seed, 200, 0.5, pick(r, 1, 3000), pick(r, 1, 400));
    *s = kit_service(name, trace, 0.5 + 4 * rng_uniform(r), gpus, 1, p->warmup_ns, p->horizon_ns);
    random_quota(r, &s->pools[0].quota, fleet_gpus, floors_left);
    s->pools[0].quota.priority += (int32_t)pick(r, 0, 3);
    s->replica.prefill = (enum prefill_mode)pick(r, 0, 1);
    s->replica.max_num_seqs = pick(r, 1, 64);
    s->replica.max_batched_tokens = pick(r, 64, 4096);
    s->replica.kv_capacity_tokens = pick(r, 2500, 50000);
    s->router = (enum router_kind)pick(r, 0, ROUTER_KINDS - 1);
    s->safe_in_flight = 0.5 + 20 * rng_uniform(r);
    s->drain_limit_ns = pick(r, 0, 30) * SIM_S;
    if (pick(r, 0, 2) == 0)
        s->request_timeout_ns = pick(r, 1, 60) * SIM_S;
    s->autoscaler.enabled = pick(r, 0, 4) > 0;
    s->autoscaler.metric = (enum scaler_metric)pick(r, 0, 1);
    s->autoscaler.target = 0.5 + 5 * rng_uniform(r);
    s->autoscaler.max_replicas = fleet_gpus / gpus + 1;
    s->autoscaler.min_replicas = pick(r, 0, 2);
    s->autoscaler.buffer_replicas = pick(r, 0, 2);
    s->initial_replicas = s->autoscaler.enabled ? UINT32_MAX : pick(r, 0, 3);
    s->traffic.envelope.kind = pick(r, 0, 1) ? ENVELOPE_DIURNAL : ENVELOPE_CONSTANT;
    s->traffic.envelope.peak_to_mean = 1.5;
}

static void random_queue(struct rng *r, struct arena *a, const struct plan *p, struct queue_plan *q,
                         const char *name, uint64_t seed, uint32_t *floors_left)
{
    uint32_t fleet_gpus = plan_gpus(p);
    *q = kit_queue(name, kit_jobs(a, seed, 40, 30, 300, fleet_gpus + 2), fleet_gpus);
    random_quota(r, &q->tenant.pools[0].quota, fleet_gpus, floors_left);
    q->backfill = (enum backfill_kind)pick(r, 0, BACKFILL_KINDS - 1);
    q->order = (enum queue_order)pick(r, 0, QUEUE_ORDERS - 1);
    q->age_ns = pick(r, 0, 2) * 100 * SIM_S;
    q->half_life_ns = pick(r, 0, 2) * SIM_MIN;
    q->estimate = (enum estimate_kind)pick(r, 0, ESTIMATE_KINDS - 1);
    q->estimate_factor = 0.5 + 2 * rng_uniform(r);
    q->checkpoint.rule = (enum interval_rule)pick(r, 0, INTERVAL_RULES - 1);
    q->checkpoint.save_on_notice = pick(r, 0, 1);
    q->checkpoint.final_save = pick(r, 0, 1);
    q->checkpoint.notice_save_ns = pick(r, 0, 40) * SIM_S;
    q->placement = (enum shape_kind)pick(r, 0, 2);
    q->jobs_loop = pick(r, 0, 1);
    q->backlog = pick(r, 0, 1);
    struct backlog_class *classes = arena_array(a, 2, sizeof *classes);
    classes[0] = (struct backlog_class){.gpus = pick(r, 1, fleet_gpus), .share = 1};
    classes[1] = (struct backlog_class){.gpus = pick(r, 1, 8), .share = 2};
    q->backlog_classes = classes;
    q->n_backlog_classes = 2;
    q->backlog_work = (struct dist){DIST_EXPONENTIAL, 200, 0};
    q->elastic = (struct elastic_plan){
        .enabled = pick(r, 0, 1),
        .step_gpus = pick(r, 0, 4),
        .scaling = pick(r, 0, 4) / 4.0,
        .resize_ns = pick(r, 0, 20) * SIM_S,
        .grow_every_ns = pick(r, 0, 60) * SIM_S,
        .min_share = rng_uniform(r),
        .max_share = 1 + pick(r, 0, 2) * rng_uniform(r),
    };
}

struct plan *kit_random(struct arena *a, uint64_t seed)
{
    struct rng stream, *r = &stream;
    rng_init(r, seed, 0, "kit", "plan");
    struct plan *p = arena_alloc(a, sizeof *p);
    struct node_group *group = arena_alloc(a, sizeof *group);
    *group = (struct node_group){"node", "h100-sxm", pick(r, 1, 6), pick(r, 1, 8)};
    p->name = "random";
    p->design = "quota";
    p->seed = seed;
    p->horizon_ns = pick(r, 300, 3000) * SIM_S + pick(r, 0, 999);
    p->warmup_ns = pick(r, 0, 200) * SIM_S;
    p->timeline_ns = pick(r, 1, 120) * SIM_S;
    p->start_date = "2026-01-01 00:00:00";
    struct fleet_plan *pool = arena_alloc(a, sizeof *pool);
    *pool = (struct fleet_plan){.name = "fleet", .groups = group, .n_groups = 1};
    p->pools = pool;
    p->n_pools = 1;
    pool->price_usd_per_gpu_h = 2.95;
    pool->reclaim = (struct reclaim_plan){
        .victims = (enum victim_rule)pick(r, 0, VICTIM_RULES - 1),
        .grace_ns = pick(r, 0, 60) * SIM_S,
        .teardown = {DIST_EXPONENTIAL, 5, 0},
        .scrub = {DIST_FIXED, pick(r, 0, 2), 0},
    };
    static const char *const names[] = {"a", "b", "c", "d"};
    uint32_t floors_left = plan_gpus(p);
    p->n_services = pick(r, 0, 2);
    p->n_queues = pick(r, p->n_services ? 0 : 1, 2);
    struct service_plan *services = arena_array(a, p->n_services, sizeof *services);
    struct queue_plan *queues = arena_array(a, p->n_queues, sizeof *queues);
    for (size_t i = 0; i < p->n_services; i++)
        random_service(r, a, p, &services[i], names[i], seed * 4 + i, &floors_left);
    for (size_t i = 0; i < p->n_queues; i++)
        random_queue(r, a, p, &queues[i], names[2 + i], seed * 4 + 2 + i, &floors_left);
    p->services = services;
    p->queues = queues;
    return p;
}

/* ---- checksum ---- */

static void mix(uint64_t *h, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        *h = (*h ^ bytes[i]) * UINT64_C(0x100000001b3);
}

#define MIX(h, value) mix((h), &(value), sizeof(value))

static void mix_service(uint64_t *h, const struct service_results *s)
{
    MIX(h, s->totals.arrived);
    MIX(h, s->totals.done);
    MIX(h, s->totals.retried);
    MIX(h, s->totals.evictions);
    MIX(h, s->totals.in_flight_ns);
    MIX(h, s->totals.batch_fill);
    MIX(h, s->slo.late_any);
    for (size_t w = 0; w < s->n_windows; w++) {
        MIX(h, s->windows[w].requests);
        MIX(h, s->windows[w].p99_ns);
        MIX(h, s->windows[w].max_ns);
    }
    for (int m = 0; m < SLO_METRICS; m++) {
        mix(h, s->hists[m].counts, s->hists[m].n_buckets * sizeof *s->hists[m].counts);
        MIX(h, s->hists[m].sum);
    }
}

uint64_t kit_checksum(const struct run_results *r)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t accounts = (size_t)r->n_owners * GPU_STATES;
    mix(&h, r->ledger, accounts * sizeof *r->ledger);
    mix(&h, r->timeline, r->n_timeline * accounts * sizeof *r->timeline);
    for (uint32_t i = 0; i < r->n_services; i++)
        mix_service(&h, &r->services[i]);
    for (size_t i = 0; i < r->n_jobs; i++) {
        MIX(&h, r->jobs[i].number);
        MIX(&h, r->jobs[i].first_start_ns);
        MIX(&h, r->jobs[i].end_ns);
        MIX(&h, r->jobs[i].lost_ns);
    }
    for (size_t i = 0; i < r->n_reclaims; i++) {
        MIX(&h, r->reclaims[i].decision_ns);
        MIX(&h, r->reclaims[i].ready_ns);
        MIX(&h, r->reclaims[i].gpus_evicted);
    }
    return h;
}
