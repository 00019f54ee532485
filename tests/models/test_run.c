/* Whole runs: conservation at each event over random scenarios, Little's law as an equality, the
 * same results twice, stages that add up, a single replica equal to the plain stepper. */
#include "tests/models/plan_kit.h"
#include "tests/models/replica_reference.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static u128 total_booked(const struct run_results *r)
{
    u128 sum = 0;
    for (size_t i = 0; i < (size_t)r->n_owners * GPU_STATES; i++)
        sum += r->ledger[i];
    return sum;
}

/* The ledger as a file would show it: totals and timeline each sum to capacity times time. */
static void check_ledger(const struct run_results *r, uint64_t seed)
{
    u128 capacity = (u128)r->fleet_gpus * (r->end_ns - r->start_ns);
    cr_assert(total_booked(r) == capacity, "seed %lu: totals", seed);
    size_t accounts = (size_t)r->n_owners * GPU_STATES;
    for (size_t a = 0; a < accounts; a++) {
        u128 sum = 0;
        for (size_t w = 0; w < r->n_timeline; w++)
            sum += r->timeline[w * accounts + a];
        cr_assert(sum == r->ledger[a], "seed %lu: timeline of account %zu", seed, a);
    }
}

static void check_services(const struct run_results *r, uint64_t seed)
{
    for (uint32_t i = 0; i < r->n_services; i++) {
        const struct service_totals *t = &r->services[i].totals;
        cr_assert(t->in_flight_ns == t->sojourn_ns, "seed %lu: Little's law", seed);
        cr_assert_eq(t->arrived, t->done + t->too_long + t->timed_out + t->open);
        uint64_t in_windows = 0;
        for (size_t w = 0; w < r->services[i].n_windows; w++)
            in_windows += r->services[i].windows[w].requests;
        cr_assert_eq(in_windows, r->services[i].slo.requests);
    }
}

static void check_reclaims(const struct run_results *r, uint64_t seed)
{
    for (size_t i = 0; i < r->n_reclaims; i++) {
        const struct reclaim_row *row = &r->reclaims[i];
        if (row->ready_ns == SIM_NEVER)
            continue;
        simtime_ns sum = 0;
        for (int s = STAGE_GRACE; s < STAGES; s++)
            sum += row->stage_ns[s];
        cr_assert_eq(sum, row->ready_ns - row->decision_ns, "seed %lu: reclaim %zu", seed, i);
        cr_assert_leq(row->gpus_missing, row->gpus);
    }
}

static uint64_t long_or(uint64_t short_n, uint64_t long_n)
{
    return getenv("HEADROOM_LONG") ? long_n : short_n;
}

Test(run, conserves_at_each_event_over_random_scenarios, .timeout = 600)
{
    uint64_t n = long_or(400, 5000), reclaims = 0, jobs = 0, requests = 0, retried = 0, lost = 0;
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct arena arena;
        arena_init(&arena);
        const struct plan *plan = kit_random(&arena, seed);
        cr_assert_null(plan_fault(plan), "seed %lu: %s", seed, plan_fault(plan));
        const struct run_hooks hooks = {.check_every_event = true};
        struct run_results r;
        cr_assert_eq(run_plan(plan, 0, &hooks, &r), HR_OK, "seed %lu", seed);
        check_ledger(&r, seed);
        check_services(&r, seed);
        check_reclaims(&r, seed);
        reclaims += r.n_reclaims;
        jobs += r.n_jobs;
        for (uint32_t i = 0; i < r.n_services; i++) {
            requests += r.services[i].totals.done;
            retried += r.services[i].totals.retried;
        }
        for (size_t i = 0; i < r.n_jobs; i++) {
            simtime_ns blocked = 0;
            for (int b = 0; b < BLOCKS; b++)
                blocked += r.jobs[i].blocked_ns[b];
            cr_assert_eq(blocked, r.jobs[i].waiting_ns, "seed %lu, job %zu", seed, i);
            lost += r.jobs[i].lost_ns > 0;
        }
        results_fini(&r);
        arena_fini(&arena);
    }
    /* the scenarios did exercise what they are about */
    cr_assert_gt(reclaims, n / 4, "%lu", reclaims);
    cr_assert_gt(jobs, 10 * n, "%lu", jobs);
    cr_assert_gt(requests, 100 * n, "%lu", requests);
    cr_assert_gt(retried, n / 10, "%lu", retried);
    cr_assert_gt(lost, n / 12, "%lu", lost);
}

Test(run, same_results_twice)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t sums[2];
        for (int i = 0; i < 2; i++) {
            struct arena arena;
            arena_init(&arena);
            struct run_results r;
            cr_assert_eq(run_plan(kit_random(&arena, seed), 1, NULL, &r), HR_OK);
            sums[i] = kit_checksum(&r);
            results_fini(&r);
            arena_fini(&arena);
        }
        cr_assert_eq(sums[0], sums[1], "seed %lu", seed);
    }
}

/* ---- one replica, whole service: the reference's times ---- */

struct taken {
    struct request_row *rows;
    size_t n, capacity;
};

static void take_row(void *self, const struct request_row *row)
{
    struct taken *t = self;
    cr_assert_lt(row->number, t->capacity);
    t->rows[row->number] = *row;
    t->n++;
}

static struct plan one_service_plan(const struct service_plan *s, const struct fleet_plan *pool,
                                    simtime_ns warmup, simtime_ns horizon)
{
    return (struct plan){
        .name = "one",
        .design = "separate",
        .seed = 7,
        .horizon_ns = horizon,
        .warmup_ns = warmup,
        .timeline_ns = SIM_MIN,
        .start_date = "2026-01-01 00:00:00",
        .pools = pool,
        .n_pools = 1,
        .services = s,
        .n_services = 1,
    };
}

struct stepped {
    simtime_ns *first, *done;
};

static void stepped_first(void *self, uint32_t id, simtime_ns at)
{
    ((struct stepped *)self)->first[id] = at;
}

static void stepped_done(void *self, const struct replica_request *request, simtime_ns at)
{
    ((struct stepped *)self)->done[request->id] = at;
}

static void step_through(const struct replica_config *config, const struct request_trace *trace,
                         struct stepped *out)
{
    const struct replica_events events = {out, stepped_first, stepped_done};
    struct ref *r = ref_new(config, &events);
    for (uint32_t i = 0; i < trace->n; i++) {
        const struct request *q = &trace->rows[i];
        const struct replica_request request = {q->arrival_ns,    i, q->prompt_tokens,
                                                q->output_tokens, 0, 0};
        ref_run_to(r, q->arrival_ns);
        ref_submit(r, &request, q->arrival_ns);
    }
    ref_run_to(r, SIM_DAY);
    ref_free(r);
}

Test(run, a_single_replica_service_equals_the_stepper)
{
    struct arena arena;
    arena_init(&arena);
    enum { N = 2000 };
    const struct request_trace *trace = kit_trace(&arena, 3, N, 0.25, 3000, 300);
    struct service_plan s = kit_service("one", trace, 1, 4, 1, 0, SIM_HOUR);
    s.traffic.loop = false;
    const struct node_group group = {"node", "h100-sxm", 1, 4};
    const struct fleet_plan pool = {.name = "fleet", .groups = &group, .n_groups = 1};
    const struct plan plan = one_service_plan(&s, &pool, 0, SIM_HOUR);
    struct taken taken = {calloc(N, sizeof *taken.rows), 0, N};
    const struct run_hooks hooks = {.self = &taken, .request = take_row};
    struct run_results r;
    cr_assert_eq(run_plan(&plan, 0, &hooks, &r), HR_OK);
    cr_assert_eq(taken.n, N);
    struct stepped expected = {calloc(N, sizeof(simtime_ns)), calloc(N, sizeof(simtime_ns))};
    step_through(&s.replica, trace, &expected);
    for (size_t i = 0; i < N; i++) {
        simtime_ns arrival = trace->rows[i].arrival_ns;
        cr_assert_eq(taken.rows[i].ttft_ns, expected.first[i] - arrival);
        cr_assert_eq(taken.rows[i].e2e_ns, expected.done[i] - arrival);
    }
    free(expected.first);
    free(expected.done);
    free(taken.rows);
    results_fini(&r);
    arena_fini(&arena);
}

/* Adding a claimant changes no draw of another: the same requests arrive at the service. */
Test(run, another_claimant_changes_no_arrival)
{
    struct arena arena;
    arena_init(&arena);
    const struct request_trace *trace = kit_trace(&arena, 5, 300, 0.5, 1000, 100);
    const struct service_plan s = kit_service("chat", trace, 3.5, 4, 4, SIM_MIN, 30 * SIM_MIN);
    const struct node_group group = {"node", "h100-sxm", 4, 8};
    const struct fleet_plan pool = {.name = "fleet", .groups = &group, .n_groups = 1};
    struct plan plan = one_service_plan(&s, &pool, SIM_MIN, 30 * SIM_MIN);
    struct run_results alone, beside;
    cr_assert_eq(run_plan(&plan, 2, NULL, &alone), HR_OK);
    const struct queue_plan q = kit_queue("train", kit_jobs(&arena, 6, 50, 20, 300, 8), 16);
    plan.queues = &q;
    plan.n_queues = 1;
    cr_assert_eq(run_plan(&plan, 2, NULL, &beside), HR_OK);
    cr_assert_eq(alone.services[0].n_windows, beside.services[0].n_windows);
    for (size_t w = 0; w < alone.services[0].n_windows; w++)
        cr_assert_eq(alone.services[0].windows[w].requests, beside.services[0].windows[w].requests);
    cr_assert_eq(alone.services[0].totals.done, beside.services[0].totals.done);
    results_fini(&alone);
    results_fini(&beside);
    arena_fini(&arena);
}

static bool stop_halfway(void *self, simtime_ns now, simtime_ns horizon)
{
    (void)self;
    return now < horizon / 2;
}

Test(run, a_stopped_run_gives_no_results)
{
    struct arena arena;
    arena_init(&arena);
    const struct run_hooks hooks = {.progress = stop_halfway};
    struct run_results r;
    cr_assert_eq(run_plan(kit_random(&arena, 1), 0, &hooks, &r), HR_INTERRUPTED);
    cr_assert_null(r.ledger);
    results_fini(&r);
    arena_fini(&arena);
}

Test(run, an_impossible_plan_is_refused_with_a_reason)
{
    struct arena arena;
    arena_init(&arena);
    const struct request_trace *trace = kit_trace(&arena, 5, 30, 0.5, 1000, 100);
    const struct service_plan s = kit_service("chat", trace, 1, 16, 1, 0, SIM_MIN);
    const struct node_group group = {"node", "h100-sxm", 4, 8};
    const struct fleet_plan pool = {.name = "fleet", .groups = &group, .n_groups = 1};
    const struct plan plan = one_service_plan(&s, &pool, 0, SIM_MIN);
    struct run_results r;
    cr_assert_str_eq(plan_fault(&plan), "a replica does not fit into a node");
    cr_assert_eq(run_plan(&plan, 0, NULL, &r), HR_INPUT);
    arena_fini(&arena);
}
