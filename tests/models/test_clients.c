/* Clients of shared GPUs: gangs that slow one another down, replicas that do, and faults that end
 * one or all of them. */
#include "plan_kit.h"
#include "queue_kit.h"

#include "models/capacity/fleet.h"
#include "sim/rng.h"
#include "sim/stat.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 48 };

static double equal_shares[MOST];

/* Each of k has 1 / k. */
static struct sharing_plan shared(uint32_t clients)
{
    for (uint32_t i = 0; i < MOST; i++)
        equal_shares[i] = 1 / (double)(i + 1);
    return (struct sharing_plan){
        .kind = SHARING_CLIENTS, .units_per_gpu = clients, .client_speed = equal_shares};
}

static struct job client(double at_s, uint32_t clients, double work_s)
{
    return (struct job){.submit_ns = sim_time_from_s(at_s),
                        .gpus = clients,
                        .work_ns = sim_time_from_s(work_s),
                        .limit_ns = JOB_UNSET,
                        .checkpoint_ns = JOB_UNSET,
                        .id = "j"};
}

static void run_jobs(struct world *w, struct world_plan *p, struct queue_plan *queue,
                     struct job_trace *trace)
{
    *queue = world_queue(trace, p->nodes * p->gpus_per_node * p->sharing.units_per_gpu);
    p->queue = queue;
    world_open(w, p);
    world_run(w);
}

static double end_s(struct world *w, uint64_t job)
{
    return sim_time_to_s(world_row(w, job)->end_ns);
}

/* k of 100 s that begin together end at k x 100 s, to the 30 binary places of a speed. */
Test(clients, together_they_take_as_many_times_as_long)
{
    for (uint32_t k = 1; k <= 8; k++) {
        struct job jobs[8];
        for (uint32_t i = 0; i < k; i++)
            jobs[i] = client(0, 1, 100);
        struct job_trace trace = {jobs, k, 0};
        struct world_plan p = {
            .nodes = 1, .gpus_per_node = 1, .end_ns = SIM_HOUR, .sharing = shared(8)};
        struct queue_plan queue;
        struct world w;
        run_jobs(&w, &p, &queue, &trace);
        for (uint32_t i = 0; i < k; i++) {
            cr_expect_float_eq(end_s(&w, i), 100 * k, 1e-5, "%u: %.9g", k, end_s(&w, i));
            cr_expect_eq(world_row(&w, i)->done_ns, 100 * SIM_S);
        }
        world_close(&w);
    }
}

/* The first is alone for 50 s and has done half; the rest takes twice as long: 150 s. The second
 * has done 50 s of its work then and goes on alone: 200 s. A third has no neighbour at first and
 * fills its own GPU with both its clients: half the speed for 30 s of work. */
Test(clients, who_comes_later_slows_who_is_there)
{
    struct job jobs[] = {client(0, 1, 100), client(50, 1, 100), client(60, 2, 30)};
    struct job_trace trace = {jobs, 3, 0};
    struct world_plan p = {
        .nodes = 1, .gpus_per_node = 2, .end_ns = SIM_HOUR, .sharing = shared(2)};
    struct queue_plan queue;
    struct world w;
    run_jobs(&w, &p, &queue, &trace);
    cr_expect_float_eq(end_s(&w, 0), 150, 1e-6, "%.9g", end_s(&w, 0));
    cr_expect_float_eq(end_s(&w, 1), 200, 1e-6, "%.9g", end_s(&w, 1));
    cr_expect_float_eq(end_s(&w, 2), 120, 1e-6, "%.9g", end_s(&w, 2));
    world_close(&w);
}

/* ---- against a plain simulation ---- */

/* Jobs of one GPU, each event looked for anew in floating point: processor sharing, with saves that
 * take wall time and failures that take back all since the last one. */
struct plain_job {
    double submit, work, end;
    double left, kept; /* of the work, at present and at the last save */
    double to_save, in_save, restores;
    int unit; /* -1: not there */
    bool saves, done;
};

struct plain {
    struct plain_job *jobs;
    uint32_t n, units;
    double interval, stall, restore;
    bool all_fail;
};

static bool works(const struct plain_job *j)
{
    return j->unit >= 0 && !j->done && j->restores <= 0;
}

static void admit(struct plain *p, double now)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct plain_job *j = &p->jobs[i];
        if (j->done || j->unit >= 0 || j->submit > now + 1e-9)
            continue;
        for (int u = 0; u < (int)p->units && j->unit < 0; u++) {
            bool taken = false;
            for (uint32_t k = 0; k < p->n; k++)
                taken |= !p->jobs[k].done && p->jobs[k].unit == u;
            j->unit = taken ? -1 : u;
        }
        if (j->unit < 0)
            return; /* first come, first served */
    }
}

static void advance(struct plain *p, double dt, double speed)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct plain_job *j = &p->jobs[i];
        if (j->unit < 0 || j->done)
            continue;
        if (j->restores > 0)
            j->restores -= dt;
        else if (j->saves)
            j->in_save -= dt;
        else {
            j->left -= dt * speed;
            j->to_save -= dt;
        }
    }
}

static void settle(struct plain *p, double now)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct plain_job *j = &p->jobs[i];
        if (!works(j))
            continue;
        if (j->saves && j->in_save < 1e-9) {
            j->saves = false;
            j->kept = j->left;
            j->to_save = p->interval;
        } else if (!j->saves && j->left < 1e-7) {
            j->done = true;
            j->end = now;
        } else if (!j->saves && j->to_save < 1e-9) {
            j->saves = true;
            j->in_save = p->stall;
        }
    }
}

static void fault(struct plain *p, uint32_t unit)
{
    bool hit = false;
    for (uint32_t i = 0; i < p->n; i++)
        hit |= !p->jobs[i].done && p->jobs[i].unit == (int)unit;
    for (uint32_t i = 0; i < p->n && hit; i++) {
        struct plain_job *j = &p->jobs[i];
        if (j->done || j->unit < 0 || (!p->all_fail && j->unit != (int)unit))
            continue;
        j->left = j->kept;
        j->saves = false;
        j->to_save = p->interval;
        j->restores = p->restore;
    }
}

static double next_of(const struct plain *p, double now, double speed)
{
    double next = 1e9;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct plain_job *j = &p->jobs[i];
        if (j->done)
            continue;
        if (j->unit < 0)
            next = j->submit > now ? fmin(next, j->submit - now) : next;
        else if (j->restores > 0)
            next = fmin(next, j->restores);
        else if (j->saves)
            next = fmin(next, j->in_save);
        else
            next = fmin(next, fmin(j->left / speed, j->to_save));
    }
    return next;
}

static void plain_run(struct plain *p, const double *fault_s, const uint32_t *units, size_t n)
{
    double now = 0;
    for (size_t f = 0;;) {
        admit(p, now);
        uint32_t k = 0;
        for (uint32_t i = 0; i < p->n; i++)
            k += works(&p->jobs[i]);
        double speed = k > 0 ? 1 / (double)k : 1, dt = next_of(p, now, speed);
        if (dt > 1e8)
            return;
        bool strikes = f < n && fault_s[f] - now <= dt;
        dt = strikes ? fault_s[f] - now : dt;
        now += dt;
        advance(p, dt, speed);
        if (strikes)
            fault(p, units[f++]);
        settle(p, now);
    }
}

struct striker {
    struct world *w;
    const uint32_t *units;
};

static void strike(void *ctx, uint32_t i)
{
    const struct striker *s = ctx;
    fleet_client_fault(s->w->fleet, s->units[i]);
}

enum { JOBS = 25, FAULTS = 12, UNITS = 5 };

static void compare(uint64_t seed, bool all_fail)
{
    struct rng r;
    struct job jobs[JOBS];
    struct plain_job plain_jobs[JOBS];
    double fault_s[FAULTS], at = 0;
    uint32_t units[FAULTS];
    rng_init(&r, seed, 0, "test", "clients");
    for (uint32_t i = 0; i < JOBS; i++, at += 20 * rng_exponential(&r)) {
        jobs[i] = client(at, 1, 1 + 30 * rng_exponential(&r));
        plain_jobs[i] = (struct plain_job){.submit = sim_time_to_s(jobs[i].submit_ns),
                                           .work = sim_time_to_s(jobs[i].work_ns),
                                           .left = sim_time_to_s(jobs[i].work_ns),
                                           .kept = sim_time_to_s(jobs[i].work_ns),
                                           .to_save = 17,
                                           .unit = -1};
    }
    at = 0;
    for (uint32_t i = 0; i < FAULTS; i++) {
        at += 1 + 40 * rng_exponential(&r);
        fault_s[i] = sim_time_to_s(sim_time_from_s(at));
        units[i] = (uint32_t)rng_below(&r, UNITS);
    }
    struct plain plain = {plain_jobs, JOBS, UNITS, 17, 1.5, 7, all_fail};
    plain_run(&plain, fault_s, units, FAULTS);

    struct job_trace trace = {jobs, JOBS, 0};
    struct queue_plan queue = world_queue(&trace, UNITS);
    struct world_plan p = {.nodes = 1,
                           .gpus_per_node = 1,
                           .end_ns = SIM_DAY,
                           .queue = &queue,
                           .sharing = shared(UNITS)};
    p.sharing.fault_ends_gpu = all_fail;
    queue.checkpoint =
        (struct checkpoint_plan){.interval_ns = 17 * SIM_S, .stall_ns = 1500 * SIM_MS};
    queue.restart_load = world_fixed(7 * SIM_S);
    struct world w;
    struct striker striker = {&w, units};
    world_open(&w, &p);
    for (uint32_t i = 0; i < FAULTS; i++) {
        timer_id t;
        cr_assert_eq(engine_timer_new(w.engine, EVENT_FAILURE, strike, &striker, i, &t), HR_OK);
        engine_schedule(w.engine, t, sim_time_from_s(fault_s[i]));
    }
    world_run(&w);
    for (uint32_t i = 0; i < JOBS; i++)
        cr_expect_float_eq(end_s(&w, i), plain_jobs[i].end, 1e-4, "seed %lu job %u: %.9g for %.9g",
                           (unsigned long)seed, i, end_s(&w, i), plain_jobs[i].end);
    world_close(&w);
}

Test(clients, saves_and_faults_as_a_plain_simulation_has_them, .timeout = 120)
{
    for (uint64_t seed = 0; seed < 100; seed++)
        compare(seed, seed % 2);
}

/* ---- M/G/1 with processor sharing ---- */

/* The mean response is S / (1 - rho) whatever the distribution: a hyperexponential of a squared
 * coefficient of variation of 3.4 here. With 48 places 0.7^48 of the arrivals find none. */
Test(clients, mean_response_of_processor_sharing, .timeout = 300)
{
    enum { N = 3000, RUNS = 32 };
    const double rho = 0.7, short_s = 0.5, long_s = 5.5;
    struct tally mean = {0};
    struct job *jobs = calloc(N, sizeof *jobs);
    for (uint32_t run = 0; run < RUNS; run++) {
        struct rng r;
        double at = 0, sum = 0;
        uint32_t n = 0;
        rng_init(&r, 20260101, run, "test", "ps");
        for (uint32_t i = 0; i < N; i++) {
            double s = rng_uniform(&r) < 0.1 ? long_s : short_s; /* mean 1 s */
            at += rng_exponential(&r) / rho;
            jobs[i] = client(at, 1, 1e-6 + s * rng_exponential(&r));
        }
        struct job_trace trace = {jobs, N, 0};
        struct world_plan p = {.nodes = 1,
                               .gpus_per_node = 1,
                               .end_ns = 3 * SIM_HOUR,
                               .unchecked = true,
                               .sharing = shared(MOST)};
        struct queue_plan queue;
        struct world w;
        run_jobs(&w, &p, &queue, &trace);
        for (uint32_t i = N / 10; i < N; i++) {
            const struct job_row *row = world_row(&w, i);
            if (row->outcome == OUTCOME_DONE) {
                sum += sim_time_to_s(row->end_ns - row->submit_ns);
                n++;
            }
        }
        cr_assert_gt(n, N / 2);
        tally_add(&mean, sum / n);
        world_close(&w);
    }
    free(jobs);
    double exact = 1 / (1 - rho), error = tally_std_error(&mean);
    cr_assert_leq(error, 0.04 * exact, "%g", error);
    cr_assert_leq(fabs(mean.mean - exact), 3.3 * error, "%.6g for %.6g, %.2f standard errors",
                  mean.mean, exact, (mean.mean - exact) / error);
}

/* ---- replicas ---- */

/* A step of 10 ms alone, 20 ms beside another at work. */
static struct replica_config steps_of(uint64_t ms)
{
    const uint64_t ps = ms * 1000000000;
    return (struct replica_config){.step = {.a_ps = ps, .d_ps = ps},
                                   .prefill = PREFILL_PRIORITY,
                                   .max_num_seqs = 8,
                                   .max_batched_tokens = 1000,
                                   .kv_capacity_tokens = 10000};
}

static void take_e2e(void *self, const struct request_row *row)
{
    ((simtime_ns *)self)[row->service] = row->arrival_ns + row->e2e_ns;
}

/* When each of two services, clients of one GPU, has done its one request of 100 steps; the second
 * comes so much later. */
static void two_replicas(double later_s, const struct sharing_plan *sharing, simtime_ns *end_ns)
{
    const struct replica_config configs[] = {steps_of(10), steps_of(20)};
    const struct node_group group = {"n", "h100-sxm", 1, 1};
    const struct fleet_plan pool = {
        .groups = &group, .n_groups = 1, .name = "p", .sharing = *sharing};
    /* A trace begins at 0: that of the second does with one that no replica takes. */
    struct request first = {.prompt_tokens = 1, .output_tokens = 100};
    struct request second[] = {{.prompt_tokens = 20000, .output_tokens = 1}, first};
    second[1].arrival_ns = sim_time_from_s(later_s);
    struct request_trace traces[2] = {{&first, 1, 0}, {second, 2, second[1].arrival_ns}};
    struct service_plan services[2];
    for (int i = 0; i < 2; i++) {
        services[i] = kit_service(i ? "b" : "a", &traces[i], 1, 1, 1, 0, SIM_MIN);
        services[i].replica = configs[1];
        services[i].clients = configs;
        services[i].n_clients = 2;
        services[i].traffic.loop = false;
    }
    const struct plan plan = {.name = "t",
                              .design = "t",
                              .horizon_ns = SIM_MIN,
                              .timeline_ns = SIM_MIN,
                              .start_date = "2026-01-01 00:00:00",
                              .pools = &pool,
                              .n_pools = 1,
                              .services = services,
                              .n_services = 2};
    const struct run_hooks hooks = {.self = end_ns, .request = take_e2e, .check_every_event = true};
    struct run_results r;
    cr_assert_eq(run_plan(&plan, 0, &hooks, &r), HR_OK, "%s", plan_fault(&plan));
    results_fini(&r);
}

/* Half a second alone is 50 steps. The change comes with the next boundary later than 0.5 s: 51
 * steps by 0.51 s, 49 of 20 ms until 1.49 s. The second has done 49 then; its 50th ends at 1.5 s,
 * and 50 more of 10 ms at 2 s. Long after the first it is alone. */
Test(clients, a_replica_follows_its_neighbour_from_its_next_step_on)
{
    struct sharing_plan sharing = shared(2);
    simtime_ns end_ns[2] = {0, 0};
    two_replicas(0.5, &sharing, end_ns);
    cr_expect_eq(end_ns[0], 1490 * SIM_MS, "%lu", (unsigned long)end_ns[0]);
    cr_expect_eq(end_ns[1], 2000 * SIM_MS, "%lu", (unsigned long)end_ns[1]);
    two_replicas(5, &sharing, end_ns);
    cr_expect_eq(end_ns[0], 1 * SIM_S, "%lu", (unsigned long)end_ns[0]);
    cr_expect_eq(end_ns[1], 6 * SIM_S, "%lu", (unsigned long)end_ns[1]);
}

/* ---- faults by chance ---- */

/* Jobs that never end hold all clients of two GPUs, or half of them. Faults are as many as their
 * rate says; with none isolated each ends the four of its GPU, else one. */
Test(clients, faults_come_at_their_rate_and_end_whom_they_may, .timeout = 60)
{
    enum { CLIENTS = 8, DAYS = 50 };
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t n = k & 1 ? CLIENTS : CLIENTS / 2, ends = k & 2 ? 4 : 1;
        struct job jobs[CLIENTS];
        for (uint32_t i = 0; i < n; i++)
            jobs[i] = client(0, 1, 1e9);
        struct job_trace trace = {jobs, n, 0};
        struct queue_plan queue = kit_queue("q", &trace, CLIENTS);
        const struct node_group group = {"n", "h100-sxm", 1, 2};
        struct fleet_plan pool = {
            .groups = &group, .n_groups = 1, .name = "p", .sharing = shared(4)};
        pool.sharing.client_mtbf_s = 3600;
        pool.sharing.fault_ends_gpu = ends > 1;
        const struct plan plan = {.name = "t",
                                  .design = "t",
                                  .seed = 7,
                                  .horizon_ns = DAYS * SIM_DAY,
                                  .timeline_ns = SIM_DAY,
                                  .start_date = "2026-01-01 00:00:00",
                                  .pools = &pool,
                                  .n_pools = 1,
                                  .queues = &queue,
                                  .n_queues = 1};
        struct run_results r;
        cr_assert_eq(run_plan(&plan, 0, NULL, &r), HR_OK, "%s", plan_fault(&plan));
        const struct supply_totals *t = &r.pools[0].supply;
        double expected = (double)n * DAYS * 24;
        cr_expect_leq(fabs((double)t->client_faults - expected), 3.3 * sqrt(expected), "%lu for %g",
                      (unsigned long)t->client_faults, expected);
        cr_expect_eq(t->clients_ended, ends * t->client_faults);
        cr_expect_eq(r.queues[0].totals.failures, t->clients_ended);
        results_fini(&r);
    }
}
