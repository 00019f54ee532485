/* Gangs whose saves go to a shared storage: alone they equal the closed form to the nanosecond;
 * together they wait for each other. */
#include "queue_kit.h"

#include "sim/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_JOBS = 8, MOST_TAKES = 4, NODES = 6, NODE_GPUS = 4 };

#define PLENTY 1e18

struct story {
    struct queue_plan queue;
    struct job jobs[64];
    struct job_trace trace;
    struct take takes[MOST_TAKES];
    struct world_plan world;
    simtime_ns fails_ns[3];
    uint32_t spares;
    struct world open;
};

static struct job job_of(simtime_ns submit_ns, simtime_ns work_ns, uint32_t gpus)
{
    return (struct job){.submit_ns = submit_ns,
                        .work_ns = work_ns,
                        .limit_ns = JOB_UNSET,
                        .checkpoint_ns = JOB_UNSET,
                        .id = "job",
                        .tenant = "",
                        .gpus = gpus,
                        .min_gpus = gpus,
                        .preemptible = true};
}

static void node_fails(void *ctx, uint32_t node)
{
    fleet_node_fail(((struct world *)ctx)->fleet, node, GPU_FAILED);
}

static void run(struct story *s, double bytes_per_s)
{
    s->trace.rows = s->jobs;
    s->queue.jobs = &s->trace;
    s->world.queue = &s->queue;
    s->world.takes = s->takes;
    s->world.storage.bytes_per_s = bytes_per_s;
    world_open(&s->open, &s->world);
    for (uint32_t i = 0; i < s->spares; i++) {
        fleet_node_close(s->open.fleet, s->world.nodes - 1 - i, GPU_HELD_IDLE);
        fleet_spare_add(s->open.fleet, s->world.nodes - 1 - i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        timer_id fail;
        cr_assert_eq(
            engine_timer_new(s->open.engine, EVENT_FAILURE, node_fails, &s->open, i, &fail), HR_OK);
        if (s->fails_ns[i] > 0)
            engine_schedule(s->open.engine, fail, s->fails_ns[i]);
    }
    world_run(&s->open);
}

static struct story story(simtime_ns end_ns)
{
    struct story s = {.queue = world_queue(NULL, NODES * NODE_GPUS)};
    s.queue.checkpoint = (struct checkpoint_plan){.interval_ns = 100 * SIM_S,
                                                  .size_bytes = 80e9,
                                                  .node_bytes_per_s = 1e9,
                                                  .stall_ns = 2 * SIM_S};
    s.world = (struct world_plan){.nodes = NODES, .gpus_per_node = NODE_GPUS, .end_ns = end_ns};
    return s;
}

/* ---- nobody else writes ---- */

static simtime_ns pick_s(struct rng *r, uint64_t low, uint64_t high)
{
    return (low + rng_below(r, high - low + 1)) * SIM_S;
}

static void draw_checkpoint(struct rng *r, struct checkpoint_plan *c)
{
    *c = (struct checkpoint_plan){.interval_ns = pick_s(r, 0, 60),
                                  .size_bytes = (double)(1 + rng_below(r, 80)) * 1e9,
                                  .node_bytes_per_s = (double)(1 + rng_below(r, 4)) * 1e9,
                                  .asynchronous = rng_below(r, 2),
                                  .stall_ns = pick_s(r, 0, 4),
                                  .growth = rng_below(r, 3) ? 1 : 1.3,
                                  .save_on_notice = rng_below(r, 2),
                                  .final_save = rng_below(r, 2)};
    if (rng_below(r, 2)) {
        c->copy_ns = pick_s(r, 1, 20);
        c->copy_stall_ns = pick_s(r, 0, 2);
        c->copy_restore_ns = pick_s(r, 0, 3);
    }
}

static void draw(struct rng *r, struct story *s)
{
    *s = story(pick_s(r, 300, 900) + rng_below(r, 1000));
    draw_checkpoint(r, &s->queue.checkpoint);
    s->queue.restart_load = world_fixed(pick_s(r, 0, 20));
    s->queue.restart_init = world_fixed(pick_s(r, 0, 10));
    s->queue.detection = world_fixed(pick_s(r, 0, 20));
    s->queue.backfill = (enum backfill_kind)rng_below(r, BACKFILL_KINDS);
    s->queue.preemption.mode = (enum preemption_mode)rng_below(r, PREEMPTION_MODES);
    s->queue.preemption.suspend_ns = pick_s(r, 0, 30);
    s->queue.preemption.resume_ns = pick_s(r, 0, 5);
    s->world.reclaim.grace_ns = pick_s(r, 0, 40);
    s->world.reclaim.teardown = world_fixed(pick_s(r, 0, 2));
    s->world.start_ns = pick_s(r, 0, 100);
    s->trace.n = 1 + rng_below(r, MOST_JOBS);
    for (size_t i = 0, at = 0; i < s->trace.n; i++) {
        s->jobs[i] =
            job_of(at, pick_s(r, 1, 300) + rng_below(r, 2), 1 + (uint32_t)rng_below(r, 20));
        at += pick_s(r, 0, 50);
    }
    bool fails = rng_below(r, 2); /* the taker cannot stand it */
    s->world.n_takes = fails ? 0 : 1 + rng_below(r, MOST_TAKES);
    for (size_t i = 0, at = 0; i < s->world.n_takes; i++) {
        at += pick_s(r, 1, 150);
        s->takes[i] = (struct take){at, pick_s(r, 1, 100), 1 + (uint32_t)rng_below(r, 24)};
    }
    s->spares = (uint32_t)rng_below(r, 2);
    for (int i = 0; i < 3; i++)
        s->fails_ns[i] = !fails || rng_below(r, 2) ? 0 : pick_s(r, 1, 400);
}

static void rows_are_equal(const struct job_row *a, const struct job_row *b, int round)
{
    cr_assert_eq(a->outcome, b->outcome, "round %d, job %lu", round, a->number);
    cr_assert_eq(a->end_ns, b->end_ns, "round %d, job %lu: %lu %lu", round, a->number, a->end_ns,
                 b->end_ns);
    cr_assert_eq(a->first_start_ns, b->first_start_ns, "round %d, job %lu", round, a->number);
    cr_assert_eq(a->done_ns, b->done_ns, "round %d, job %lu: %lu %lu", round, a->number, a->done_ns,
                 b->done_ns);
    cr_assert_eq(a->lost_ns, b->lost_ns, "round %d, job %lu: %lu %lu", round, a->number, a->lost_ns,
                 b->lost_ns);
    cr_assert_eq(a->saving_ns, b->saving_ns, "round %d", round);
    cr_assert_eq(a->restoring_ns, b->restoring_ns, "round %d", round);
    cr_assert_eq(a->waiting_ns, b->waiting_ns, "round %d", round);
    cr_assert_eq(a->preemptions, b->preemptions);
    cr_assert_eq(a->failures, b->failures);
    cr_assert_eq(a->swaps, b->swaps);
}

Test(writer, alone_equals_the_closed_form, .timeout = 60)
{
    struct rng r;
    rng_init(&r, 8, 0, "test", "writer");
    uint64_t preemptions = 0, failures = 0, saves = 0, lost = 0;
    for (int round = 0; round < 2000; round++) {
        static struct story with, without;
        draw(&r, &without);
        with = without;
        run(&without, 0);
        run(&with, PLENTY);
        cr_assert_eq(with.open.rows.n, without.open.rows.n);
        for (size_t i = 0; i < with.open.rows.n; i++) {
            const struct job_row *row = &with.open.rows.items[i];
            rows_are_equal(row, world_row(&without.open, row->number), round);
            preemptions += row->preemptions;
            failures += row->failures;
            lost += row->lost_ns > 0;
        }
        for (unsigned s = 0; s < GPU_STATES; s++)
            cr_assert_eq(world_total(&with.open, s), world_total(&without.open, s),
                         "round %d, %s: %lu %lu", round, gpu_state_names[s],
                         world_total(&with.open, s), world_total(&without.open, s));
        saves += storage_totals(with.open.storage)->kinds[TRANSFER_SAVE].done;
        cr_assert_eq(storage_totals(with.open.storage)->limited_ns, 0);
        world_close(&with.open);
        world_close(&without.open);
    }
    cr_assert(preemptions > 300 && failures > 100 && saves > 3000 && lost > 100,
              "%lu preemptions, %lu failures, %lu saves, %lu lost", preemptions, failures, saves,
              lost);
}

/* ---- together ---- */

/* n gangs of a node each, of 400 s of work; gang i starts so long after the one before. */
static double together(struct story *s, size_t n, simtime_ns apart_ns, double bytes_per_s)
{
    s->trace.n = n;
    s->world.nodes = (uint32_t)n;
    s->queue.tenant.pools[0].quota.ceiling_gpus = (uint32_t)n * NODE_GPUS;
    for (size_t i = 0; i < n; i++)
        s->jobs[i] = job_of(i * apart_ns, 400 * SIM_S, NODE_GPUS);
    run(s, bytes_per_s);
    double useful = (double)world_total(&s->open, GPU_TRAINING);
    return useful / (useful + (double)world_total(&s->open, GPU_CHECKPOINTING));
}

/* 80 GB at 1 GB/s, four of them at 1 GB/s together: 320 s instead of 80. */
Test(writer, n_at_once_take_n_times_as_long)
{
    struct story s = story(3000 * SIM_S);
    together(&s, 4, 0, 1e9);
    for (uint64_t i = 0; i < 4; i++) {
        cr_assert_eq(world_row(&s.open, i)->end_ns, (400 + 3 * 320) * SIM_S);
        cr_assert_eq(world_row(&s.open, i)->saving_ns, 3 * 320 * SIM_S);
    }
    const struct storage_totals *t = storage_totals(s.open.storage);
    cr_assert_eq(t->kinds[TRANSFER_SAVE].done, 12);
    cr_assert_float_eq(t->kinds[TRANSFER_SAVE].slowdown / 12, 4, 1e-9);
    cr_assert_eq(t->busy_ns, 3 * 320 * SIM_S);
    world_close(&s.open);
    s = story(3000 * SIM_S);
    together(&s, 4, 0, 4e9);
    for (uint64_t i = 0; i < 4; i++)
        cr_assert_eq(world_row(&s.open, i)->end_ns, (400 + 3 * 80) * SIM_S);
    world_close(&s.open);
}

/* Written beside the work: 2 s of stall; of the write 320 s, so work goes on beyond the interval of
 * 100 s, and a second save begins 322 s after the first, 320 s of work later. */
Test(writer, beside_the_work_the_interval_grows)
{
    struct story s = story(3000 * SIM_S);
    s.queue.checkpoint.asynchronous = true;
    together(&s, 4, 0, 1e9);
    for (uint64_t i = 0; i < 4; i++) {
        /* 100, save, 300 to the end: the save is never complete */
        cr_assert_eq(world_row(&s.open, i)->end_ns, 402 * SIM_S);
        cr_assert_eq(world_row(&s.open, i)->saving_ns, 2 * SIM_S);
    }
    cr_assert_eq(storage_totals(s.open.storage)->kinds[TRANSFER_SAVE].dropped, 4);
    world_close(&s.open);
    s = story(3000 * SIM_S);
    s.queue.checkpoint.asynchronous = s.queue.checkpoint.final_save = true;
    together(&s, 4, 0, 2e9);
    for (uint64_t i = 0; i < 4; i++) {
        /* work to 100, stall to 102, written at 262 = 260 of work; stall to 264, work to 404, where
         * it waits for the write until 424; stall to 426, written at 586 */
        cr_assert_eq(world_row(&s.open, i)->end_ns, 586 * SIM_S);
        cr_assert_eq(world_row(&s.open, i)->saving_ns, 186 * SIM_S);
    }
    world_close(&s.open);
}

static struct story evicted(simtime_ns grace_ns)
{
    struct story s = story(5000 * SIM_S);
    s.queue.checkpoint.save_on_notice = true;
    s.queue.checkpoint.interval_ns = 1000 * SIM_S;
    s.world.reclaim.grace_ns = grace_ns;
    s.takes[0] = (struct take){150 * SIM_S, 100 * SIM_S, 2 * NODE_GPUS};
    s.world.n_takes = 1;
    return s;
}

/* Two gangs of 80 GB share 1 GB/s: 160 s. */
Test(writer, save_on_notice_within_the_grace)
{
    struct story s = evicted(200 * SIM_S);
    together(&s, 2, 0, 1e9);
    for (uint64_t i = 0; i < 2; i++) {
        cr_assert_eq(world_row(&s.open, i)->lost_ns, 0);
        cr_assert_eq(world_row(&s.open, i)->end_ns, (150 + 160 + 100 + 250) * SIM_S);
    }
    world_close(&s.open);
}

Test(writer, save_on_notice_that_comes_too_late)
{
    struct story s = evicted(120 * SIM_S);
    together(&s, 2, 0, 1e9);
    for (uint64_t i = 0; i < 2; i++) {
        cr_assert_eq(world_row(&s.open, i)->lost_ns, 150 * SIM_S);
        cr_assert_eq(world_row(&s.open, i)->end_ns, (150 + 120 + 100 + 400) * SIM_S);
    }
    cr_assert_eq(storage_totals(s.open.storage)->kinds[TRANSFER_SAVE].dropped, 2);
    world_close(&s.open);
}

/* Written at the very end of the grace. */
Test(writer, save_on_notice_at_the_last_moment)
{
    struct story s = evicted(160 * SIM_S);
    together(&s, 2, 0, 1e9);
    cr_assert_eq(world_row(&s.open, 0)->lost_ns, 0);
    cr_assert_eq(world_row(&s.open, 1)->lost_ns, 0);
    world_close(&s.open);
}

/* An outage of all: each reads its 80 GB again, alone at 2 GB/s, together at 0.5. */
Test(writer, restarts_read_together)
{
    struct story s = evicted(0);
    s.queue.restart_load = world_fixed(7 * SIM_S);
    s.queue.restart_init = world_fixed(5 * SIM_S);
    s.world.storage.restores = true;
    s.world.storage.node_read_bytes_per_s = 2e9;
    together(&s, 2, 0, 1e9);
    for (uint64_t i = 0; i < 2; i++) {
        cr_assert_eq(world_row(&s.open, i)->restoring_ns, 165 * SIM_S);
        cr_assert_eq(world_row(&s.open, i)->end_ns, (150 + 100 + 165 + 400) * SIM_S);
    }
    const struct transfer_totals *t = &storage_totals(s.open.storage)->kinds[TRANSFER_RESTORE];
    cr_assert_eq(t->done, 2);
    cr_assert_float_eq(t->slowdown, 8, 1e-9);
    world_close(&s.open);
}

/* 64 gangs save 80 GB every 100 s at 1 GB/s; the storage takes eight at a time. All at once they
 * stand still for 640 s; started 30 s apart, so that few meet, much less of the time. */
Test(writer, staggered_saves_lose_less, .timeout = 60)
{
    static struct story s;
    s = story(6000 * SIM_S);
    s.queue.checkpoint.interval_ns = 390 * SIM_S;
    double at_once = together(&s, 64, 0, 8e9);
    world_close(&s.open);
    cr_assert_float_eq(at_once, 400.0 / (400 + 640), 1e-9);
    s = story(6000 * SIM_S);
    s.queue.checkpoint.interval_ns = 390 * SIM_S;
    double staggered = together(&s, 64, 30 * SIM_S, 8e9);
    cr_assert_float_eq(staggered, 400.0 / (400 + 80), 1e-9);
    cr_assert_eq(storage_totals(s.open.storage)->limited_ns, 0);
    world_close(&s.open);
}

/* Gangs that grow and shrink end one save and begin another; all of it conserves. */
Test(writer, elastic_gangs_under_contention, .timeout = 60)
{
    struct rng r;
    rng_init(&r, 10, 0, "test", "writer");
    uint64_t resizes = 0, preemptions = 0;
    for (int round = 0; round < 300; round++) {
        static struct story s;
        draw(&r, &s);
        s.queue.elastic = (struct elastic_plan){.enabled = true,
                                                .step_gpus = 1 + (uint32_t)rng_below(&r, 4),
                                                .scaling = 0.9,
                                                .resize_ns = pick_s(&r, 0, 10)};
        for (size_t i = 0; i < s.trace.n; i++)
            s.jobs[i].min_gpus = 1 + (uint32_t)rng_below(&r, s.jobs[i].gpus);
        s.world.storage.restores = rng_below(&r, 2);
        s.world.storage.node_read_bytes_per_s = 4e9;
        run(&s, (double)(1 + rng_below(&r, 80)) * 1e8);
        for (size_t i = 0; i < s.open.rows.n; i++) {
            resizes += s.open.rows.items[i].resizes;
            preemptions += s.open.rows.items[i].preemptions;
        }
        world_close(&s.open);
    }
    cr_assert(resizes > 100 && preemptions > 30, "%lu resizes, %lu preemptions", resizes,
              preemptions);
}

/* Random plans on a storage too small for them: every instant conserves (world_open checks it). */
Test(writer, conserves_under_contention, .timeout = 60)
{
    struct rng r;
    rng_init(&r, 9, 0, "test", "writer");
    uint64_t slowed = 0;
    for (int round = 0; round < 200; round++) {
        static struct story s;
        draw(&r, &s);
        s.world.storage.restores = rng_below(&r, 2);
        s.world.storage.node_read_bytes_per_s = 4e9;
        run(&s, (double)(1 + rng_below(&r, 40)) * 1e8);
        for (size_t i = 0; i < s.open.rows.n; i++) {
            const struct job_row *row = &s.open.rows.items[i];
            cr_assert_leq(row->done_ns, row->work_ns);
            if (row->outcome == OUTCOME_DONE)
                cr_assert_leq(row->submit_ns + row->waiting_ns + row->restoring_ns +
                                  row->saving_ns + row->lost_ns + row->done_ns,
                              row->end_ns, "round %d, job %lu", round, row->number);
        }
        slowed += storage_totals(s.open.storage)->limited_ns > 0;
        world_close(&s.open);
    }
    cr_assert_gt(slowed, 100);
}
