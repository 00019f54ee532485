/* Elastic gangs: speeds in closed form, each rule on one gang by hand, and a slow step-by-step gang
 * against the queue. */
#include "queue_kit.h"

#include "sim/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* ---- sizes and speeds ---- */

static const struct elastic_plan linear = {.enabled = true, .scaling = 1};

Test(elastic, speed_is_a_power_of_the_share_of_gpus)
{
    struct elastic_plan p = linear;
    cr_assert_eq(elastic_wall(elastic_speed_of(&p, 24, 12), 100), 200);
    cr_assert_eq(elastic_wall(elastic_speed_of(&p, 24, 16), 100), 150);
    cr_assert_eq(elastic_wall(elastic_speed_of(&p, 24, 48), 101), 51); /* up */
    cr_assert_eq(elastic_work(elastic_speed_of(&p, 24, 16), 100), 66); /* down */
    p.scaling = 0.5;
    simtime_ns wall = elastic_wall(elastic_speed_of(&p, 24, 12), 1000 * SIM_S);
    cr_assert_float_eq(sim_time_to_s(wall), 1000 * sqrt(2), 1e-5);
    p.scaling = 0;
    cr_assert_eq(elastic_wall(elastic_speed_of(&p, 24, 1), 12345), 12345);
    p.scaling = 1;
    cr_assert_eq(elastic_wall(elastic_speed_of(&p, 24, 1), SIM_NEVER - 1), SIM_NEVER);
}

Test(elastic, wall_time_of_a_piece_of_work_is_that_work)
{
    struct rng r;
    rng_init(&r, 1, 0, "elastic", "test");
    for (int i = 0; i < 20000; i++) {
        const struct elastic_plan p = {.enabled = true, .scaling = (double)rng_below(&r, 5) / 4};
        uint32_t gpus = 1 + (uint32_t)rng_below(&r, 2000);
        uint32_t held = 1 + (uint32_t)rng_below(&r, 2 * gpus);
        struct elastic_speed s = elastic_speed_of(&p, gpus, held);
        simtime_ns work = rng_below(&r, (uint64_t)1 << (1 + rng_below(&r, 55)));
        simtime_ns wall = elastic_wall(s, work);
        cr_assert(elastic_work(s, wall) >= work);
        cr_assert(wall == 0 || elastic_work(s, wall - 1) < work);
    }
}

Test(elastic, range_is_the_jobs_own_else_the_plans)
{
    struct elastic_plan p = {.enabled = true, .scaling = 1, .min_share = 0.3, .max_share = 2};
    struct elastic_range r = elastic_range_of(&p, 10, 0, 0);
    cr_assert(r.min == 3 && r.max == 20);
    r = elastic_range_of(&p, 10, 4, 12);
    cr_assert(r.min == 4 && r.max == 12);
    r = elastic_range_of(&p, 1, 0, 1);
    cr_assert(r.min == 1 && r.max == 2);
    p.min_share = p.max_share = 0;
    r = elastic_range_of(&p, 10, 10, 10);
    cr_assert(r.min == 10 && r.max == 10);
    p.enabled = false;
    r = elastic_range_of(&p, 10, 4, 12);
    cr_assert(r.min == 10 && r.max == 10);
}

Test(elastic, step_is_the_least_gang_up_to_a_node)
{
    struct elastic_plan p = linear;
    cr_assert_eq(elastic_step(&p, 2, 8), 2);
    cr_assert_eq(elastic_step(&p, 16, 8), 8);
    p.step_gpus = 4;
    cr_assert_eq(elastic_step(&p, 16, 8), 4);
}

Test(elastic, faults_are_named)
{
    struct elastic_plan p = linear;
    cr_assert_null(elastic_fault(&p));
    p.scaling = 1.5;
    cr_assert_not_null(elastic_fault(&p));
    p = linear;
    p.min_share = 2;
    cr_assert_not_null(elastic_fault(&p));
    p = linear;
    p.max_share = 0.5;
    cr_assert_not_null(elastic_fault(&p));
    p.enabled = false;
    cr_assert_null(elastic_fault(&p));
}

/* ---- one gang by hand ----
 *
 * Nodes of eight GPUs; a job of 1,000 s on 24 GPUs, least 8, in steps of 8. */

struct story {
    struct queue_plan queue;
    struct reclaim_plan reclaim;
    uint32_t nodes;
    struct job jobs[3];
    size_t n_jobs;
    struct take takes[3];
    size_t n_takes;
    simtime_ns fails_ns;     /* 0: never */
    uint32_t failing, spare; /* nodes; spare 0: none */
    simtime_ns end_ns;
    /* what came of it */
    struct job_row rows[3];
    uint64_t states_s[GPU_STATES]; /* GPU-s of the queue */
    size_t n_reclaims;
    struct reclaim_row reclaims[3];
};

static struct job job_of(uint32_t gpus, uint32_t min, uint32_t max, simtime_ns work)
{
    return (struct job){.work_ns = work,
                        .limit_ns = JOB_UNSET,
                        .checkpoint_ns = JOB_UNSET,
                        .id = "job",
                        .tenant = "",
                        .gpus = gpus,
                        .min_gpus = min,
                        .max_gpus = max,
                        .preemptible = true};
}

static struct story story(uint32_t nodes)
{
    struct story s = {.queue = world_queue(NULL, nodes * 8), .nodes = nodes, .n_jobs = 1};
    s.queue.placement = SHAPE_PREFER_WHOLE;
    s.queue.elastic = (struct elastic_plan){
        .enabled = true, .scaling = 1, .resize_ns = 10 * SIM_S, .grow_every_ns = 60 * SIM_S};
    s.jobs[0] = job_of(24, 8, 24, 1000 * SIM_S);
    s.end_ns = 20000 * SIM_S;
    return s;
}

static void node_fails(void *ctx, uint32_t node)
{
    fleet_node_fail(((struct world *)ctx)->fleet, node, GPU_FAILED);
}

static void play(struct story *s)
{
    const struct job_trace jobs = {.rows = s->jobs, .n = s->n_jobs};
    s->queue.jobs = &jobs;
    struct world w;
    const struct world_plan plan = {.nodes = s->nodes,
                                    .gpus_per_node = 8,
                                    .reclaim = s->reclaim,
                                    .queue = &s->queue,
                                    .takes = s->takes,
                                    .n_takes = s->n_takes,
                                    .end_ns = s->end_ns};
    world_open(&w, &plan);
    if (s->spare > 0) {
        fleet_node_close(w.fleet, s->spare, GPU_HELD_IDLE);
        fleet_spare_add(w.fleet, s->spare);
    }
    timer_id fail;
    cr_assert_eq(engine_timer_new(w.engine, EVENT_FAILURE, node_fails, &w, s->failing, &fail),
                 HR_OK);
    if (s->fails_ns > 0)
        engine_schedule(w.engine, fail, s->fails_ns);
    world_run(&w);
    for (size_t i = 0; i < s->n_jobs; i++)
        s->rows[i] = *world_row(&w, i);
    for (enum gpu_state i = 0; i < GPU_STATES; i++)
        s->states_s[i] = world_total(&w, i) / SIM_S;
    const struct reclaim_row *rows = fleet_reclaims(w.fleet, &s->n_reclaims);
    cr_assert_leq(s->n_reclaims, 3);
    for (size_t i = 0; i < s->n_reclaims; i++)
        s->reclaims[i] = rows[i];
    world_close(&w);
}

static void ends_at(const struct job_row *row, uint64_t end_s)
{
    cr_assert_eq(row->outcome, OUTCOME_DONE);
    cr_assert_eq(row->end_ns, end_s * SIM_S, "end %lu ns", row->end_ns);
}

Test(elastic, gang_starts_on_what_there_is)
{
    struct story s = story(2); /* 16 of its 24 */
    play(&s);
    ends_at(&s.rows[0], 1500);
    cr_assert_eq(s.states_s[GPU_TRAINING], 1500 * 16);
    cr_assert(s.rows[0].gpu_ns == (u128)1500 * 16 * SIM_S);
    cr_assert_eq(s.rows[0].worked_ns, 1500 * SIM_S);
    cr_assert_eq(s.rows[0].done_ns, 1000 * SIM_S);
    s.queue.elastic.scaling = 0.5;
    play(&s);
    cr_assert_float_eq(sim_time_to_s(s.rows[0].end_ns), 1000 * sqrt(1.5), 1e-5);
    s.queue.elastic.enabled = false;
    play(&s);
    cr_assert_eq(s.rows[0].refusal, REFUSAL_SIZE);
}

Test(elastic, saves_are_a_wall_time_apart)
{
    struct story s = story(2);
    s.queue.checkpoint.interval_ns = 500 * SIM_S;
    s.queue.checkpoint.stall_ns = 7 * SIM_S;
    play(&s);
    ends_at(&s.rows[0], 1500 + 2 * 7);
    cr_assert_eq(s.states_s[GPU_CHECKPOINTING], 2 * 7 * 16);
}

/* The taker wants eight GPUs at 400 s and keeps them for 300 s. The gang goes on after 10 s at 2/3
 * of its speed, with all its work; back come the GPUs at 700 s, and at once it grows. */
Test(elastic, returns_a_part_without_loss)
{
    struct story s = story(3);
    s.queue.checkpoint.interval_ns = 3000 * SIM_S;
    s.takes[0] = (struct take){400 * SIM_S, 300 * SIM_S, 8};
    s.n_takes = 1;
    play(&s);
    double left = 600 - (700 - 410) * 2.0 / 3;
    cr_assert_float_eq(sim_time_to_s(s.rows[0].end_ns), 700 + 10 + left, 1e-6);
    cr_assert_eq(s.rows[0].preemptions, 0);
    cr_assert_eq(s.rows[0].returns, 1);
    cr_assert_eq(s.rows[0].resizes, 2);
    cr_assert_eq(s.rows[0].lost_ns, 0);
    cr_assert_eq(s.rows[0].restoring_ns, 20 * SIM_S);
    cr_assert_eq(s.states_s[GPU_RESTORING], 10 * 16 + 10 * 24);
    cr_assert_eq(s.states_s[GPU_LOST], 0);
    cr_assert_eq(s.reclaims[0].gpus_evicted, 8);
    cr_assert_eq(s.reclaims[0].granted_ns, 400 * SIM_S); /* no grace is taken */
}

/* The same with a rigid gang: it loses all since its last save and waits. */
Test(elastic, rigid_gang_loses_the_work_since_its_save)
{
    struct story s = story(3);
    s.queue.elastic.enabled = false;
    s.queue.checkpoint.interval_ns = 3000 * SIM_S;
    s.takes[0] = (struct take){400 * SIM_S, 300 * SIM_S, 8};
    s.n_takes = 1;
    play(&s);
    ends_at(&s.rows[0], 700 + 1000);
    cr_assert_eq(s.rows[0].lost_ns, 400 * SIM_S);
    cr_assert_eq(s.states_s[GPU_LOST], 400 * 24);
    cr_assert_eq(s.reclaims[0].gpus_evicted, 24);
}

Test(elastic, rule_by_rule_the_extension_goes_first)
{
    for (int rule = 0; rule < VICTIM_RULES; rule++) {
        struct story s = story(3);
        s.reclaim.victims = (enum victim_rule)rule;
        s.takes[0] = (struct take){400 * SIM_S, 30000 * SIM_S, 8};
        s.n_takes = 1;
        play(&s);
        ends_at(&s.rows[0], 410 + 900);
        cr_assert_eq(s.rows[0].returns, 1, "%s", victim_rule_names[rule]);
    }
}

/* All 24 are wanted: both extensions and the base. (By fair share they are not due.) What the
 * resize for the extensions has not saved when the base goes is lost. */
Test(elastic, gang_is_evicted_whole_where_its_least_is_taken)
{
    for (int rule = 0; rule < VICTIM_RULES; rule++) {
        if (rule == VICTIM_FAIR_SHARE)
            continue;
        struct story s = story(3);
        s.reclaim.victims = (enum victim_rule)rule;
        s.reclaim.grace_ns = 5 * SIM_S;
        s.takes[0] = (struct take){400 * SIM_S, 300 * SIM_S, 24};
        s.n_takes = 1;
        play(&s);
        cr_assert_eq(s.rows[0].preemptions, 1, "%s", victim_rule_names[rule]);
        ends_at(&s.rows[0], 400 + 5 + 300 + 1000);
        cr_assert_eq(s.rows[0].lost_ns, 400 * SIM_S);
        cr_assert_eq(s.reclaims[0].gpus_evicted, 24);
        cr_assert_eq(s.states_s[GPU_TRAINING] + s.states_s[GPU_LOST] + s.states_s[GPU_RESTORING] +
                         s.states_s[GPU_DRAINING],
                     400 * 24 + 1000 * 24 + (s.rows[0].returns ? 8 : 24) * 5);
    }
}

Test(elastic, growth_waits_for_its_time)
{
    struct story s = story(3);
    s.queue.elastic.grow_every_ns = 500 * SIM_S;
    s.takes[0] = (struct take){400 * SIM_S, 100 * SIM_S, 8};
    s.n_takes = 1;
    play(&s);
    /* Of one size since 400 s, so it grows at 900 s: 490 s at 2/3. */
    double left = 600 - 490 * 2.0 / 3;
    cr_assert_float_eq(sim_time_to_s(s.rows[0].end_ns), 900 + 10 + left, 1e-6);
    cr_assert_eq(s.rows[0].resizes, 2);
}

Test(elastic, growth_must_pay)
{
    struct story s = story(3);
    s.takes[0] = (struct take){400 * SIM_S, 870 * SIM_S, 8}; /* back at 1,270, end at 1,310 */
    s.n_takes = 1;
    s.queue.elastic.resize_ns = 10 * SIM_S;
    play(&s);
    cr_assert_eq(s.rows[0].resizes, 2); /* 40 s of 16 are 26.7 s of 24 and 10 s */
    s.takes[0].hold_ns = 881 * SIM_S;   /* 29 s: 19.3 s and 10 s */
    play(&s);
    ends_at(&s.rows[0], 1310);
    cr_assert_eq(s.rows[0].resizes, 1);
}

/* Beyond what it asked for only when nothing waits: the second job ends at 300 s. */
Test(elastic, gang_grows_to_its_most_when_nothing_waits)
{
    struct story s = story(4);
    s.jobs[0] = job_of(16, 8, 32, 1000 * SIM_S);
    s.jobs[1] = job_of(16, 16, 16, 300 * SIM_S);
    s.n_jobs = 2;
    play(&s);
    ends_at(&s.rows[1], 300);
    ends_at(&s.rows[0], 300 + 10 + 350);
    cr_assert_eq(s.rows[0].resizes, 1); /* two steps in one */
}

Test(elastic, gang_does_not_grow_while_a_job_waits)
{
    struct story s = story(4);
    s.jobs[0] = job_of(16, 8, 32, 1000 * SIM_S);
    s.jobs[1] = job_of(32, 32, 32, 300 * SIM_S);
    s.n_jobs = 2;
    play(&s);
    ends_at(&s.rows[0], 1000);
    ends_at(&s.rows[1], 1300);
    cr_assert_eq(s.rows[0].resizes, 0);
}

/* Two gangs of least 8 share four nodes: the first asks for 24 and gets it, the second gets 8 of
 * its 24 until the first ends. */
Test(elastic, second_gang_starts_small_and_grows)
{
    struct story s = story(4);
    s.jobs[1] = job_of(24, 8, 24, 1000 * SIM_S);
    s.n_jobs = 2;
    play(&s);
    ends_at(&s.rows[0], 1000);
    double left = 1000 - 1000 / 3.0;
    cr_assert_float_eq(sim_time_to_s(s.rows[1].end_ns), 1000 + 10 + left, 1e-6);
}

/* ---- failures ---- */

static struct story failure(uint32_t node)
{
    struct story s = story(3);
    s.queue.checkpoint.interval_ns = 300 * SIM_S;
    s.queue.restart_load = world_fixed(20 * SIM_S);
    s.queue.detection = world_fixed(30 * SIM_S);
    s.fails_ns = 400 * SIM_S;
    s.failing = node;
    return s;
}

Test(elastic, goes_on_without_a_failed_extension)
{
    struct story s = failure(2);
    play(&s);
    ends_at(&s.rows[0], 400 + 30 + 20 + 700 * 3 / 2);
    cr_assert_eq(s.rows[0].failures, 1);
    cr_assert_eq(s.rows[0].lost_ns, 130 * SIM_S);
    cr_assert_eq(s.states_s[GPU_LOST], 100 * 24 + 30 * 16);
    cr_assert_eq(s.rows[0].resizes, 0);
}

Test(elastic, restarts_from_its_queue_when_its_base_fails)
{
    struct story s = failure(0); /* the base is on the first node */
    play(&s);
    ends_at(&s.rows[0], 400 + 30 + 20 + 700 * 3 / 2);
    cr_assert_eq(s.rows[0].swaps, 0);
    cr_assert_eq(s.rows[0].lost_ns, 130 * SIM_S);
}

Test(elastic, spare_replaces_the_node_of_an_extension)
{
    for (uint32_t node = 0; node < 3; node++) {
        struct story s = failure(node);
        s.nodes = 4;
        s.spare = 3;
        play(&s);
        ends_at(&s.rows[0], 400 + 30 + 20 + 700);
        cr_assert_eq(s.rows[0].swaps, 1);
    }
}

Test(elastic, extension_is_taken_while_a_failure_is_unnoticed)
{
    struct story s = failure(2);
    s.takes[0] = (struct take){410 * SIM_S, 20000 * SIM_S, 8};
    s.n_takes = 1;
    play(&s);
    ends_at(&s.rows[0], 400 + 30 + 20 + 700 * 3);
    cr_assert_eq(s.rows[0].returns, 1);
    cr_assert_eq(s.states_s[GPU_LOST], 100 * 24 + 10 * 16 + 20 * 8);
}

/* ---- a slow gang, second by second ----
 *
 * Four nodes; up to two takes of eight GPUs at a time, so that the least of 8 is never wanted. It
 * knows a number of GPUs and no leases. */

struct slow {
    double scaling, left_s; /* of work */
    uint32_t n, free, restoring_s, since_s, grown, returned;
    uint32_t resize_s, every_s, most;
};

static double speed_of(const struct slow *g, uint32_t n)
{
    return pow(n / 24.0, g->scaling);
}

static void slow_take(struct slow *g, uint32_t now_s)
{
    if (g->free >= 8) {
        g->free -= 8;
        return;
    }
    g->n -= 8;
    g->returned++;
    g->restoring_s = g->resize_s > g->restoring_s ? g->resize_s : g->restoring_s;
    g->since_s = now_s;
}

static void slow_grow(struct slow *g, uint32_t now_s)
{
    uint32_t n = g->n;
    if (g->restoring_s > 0 || now_s < g->since_s + g->every_s)
        return;
    while (g->free >= 8 && n < g->most &&
           g->resize_s + g->left_s / speed_of(g, n + 8) < g->left_s / speed_of(g, g->n) - 1e-6) {
        n += 8;
        g->free -= 8;
    }
    if (n == g->n)
        return;
    g->n = n;
    g->grown++;
    g->restoring_s = g->resize_s;
    g->since_s = now_s;
}

/* Its end. */
static double slow_run(struct slow *g, const struct take *takes, size_t n_takes)
{
    for (uint32_t now = 0;; now++) {
        for (size_t i = 0; i < n_takes; i++)
            if ((takes[i].at_ns + takes[i].hold_ns) / SIM_S == now)
                g->free += 8;
        for (size_t i = 0; i < n_takes; i++)
            if (takes[i].at_ns / SIM_S == now)
                slow_take(g, now);
        if (now > 0)
            slow_grow(g, now);
        if (g->restoring_s > 0) {
            g->restoring_s--;
            continue;
        }
        double done = speed_of(g, g->n);
        if (done >= g->left_s)
            return now + g->left_s / done;
        g->left_s -= done;
    }
}

Test(elastic, equals_a_slow_gang)
{
    struct rng r;
    uint32_t grown = 0, returned = 0;
    rng_init(&r, 7, 0, "elastic", "slow");
    for (int i = 0; i < 400; i++) {
        struct story s = story(4);
        struct slow g = {.scaling = (double)rng_below(&r, 5) / 4,
                         .left_s = 500 + (double)rng_below(&r, 3000),
                         .n = 24,
                         .free = 8,
                         .resize_s = 1 + (uint32_t)rng_below(&r, 60),
                         .every_s = 1 + (uint32_t)rng_below(&r, 300),
                         .most = rng_below(&r, 2) ? 24 : 32};
        s.jobs[0] = job_of(24, 8, g.most, sim_time_from_s(g.left_s));
        s.queue.elastic.scaling = g.scaling;
        s.queue.elastic.resize_ns = g.resize_s * SIM_S;
        s.queue.elastic.grow_every_ns = g.every_s * SIM_S;
        s.reclaim.victims = (enum victim_rule)rng_below(&r, VICTIM_RULES);
        simtime_ns at = 0;
        for (s.n_takes = 0; s.n_takes < 3; s.n_takes++) { /* the third after the first */
            at += (1 + rng_below(&r, 400)) * SIM_S;
            if (s.n_takes == 2 && at <= s.takes[0].at_ns + s.takes[0].hold_ns)
                at = s.takes[0].at_ns + s.takes[0].hold_ns + SIM_S;
            s.takes[s.n_takes] = (struct take){at, (1 + rng_below(&r, 500)) * SIM_S, 8};
        }
        s.end_ns = 100000 * SIM_S;
        play(&s);
        double end_s = slow_run(&g, s.takes, s.n_takes);
        cr_assert_float_eq(sim_time_to_s(s.rows[0].end_ns), end_s, 1e-3, "case %d", i);
        cr_assert_eq(s.rows[0].returns, g.returned, "case %d", i);
        cr_assert_eq(s.rows[0].resizes, g.grown + g.returned, "case %d", i);
        cr_assert(s.rows[0].done_ns == s.rows[0].work_ns && s.rows[0].lost_ns == 0);
        grown += g.grown;
        returned += g.returned;
    }
    cr_assert(grown > 200 && returned > 200, "%u %u", grown, returned);
}
