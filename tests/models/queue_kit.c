/* A small world for the tests of the training queue. */
#include "queue_kit.h"

#include "sim/vec.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* The claimant that takes: one lease a take, oldest first. */
struct taker {
    struct world *world;
    uint32_t claimant;
    size_t next, started; /* takes whose time has come; takes that have a lease */
    timer_id clock;
    struct {
        lease_id lease;
        timer_id end;
    } * held; /* owned; of each take */
};

static void take_ends(void *ctx, uint32_t i)
{
    struct taker *t = ctx;
    fleet_stop_at(t->world->fleet, t->held[i].lease, engine_now(t->world->engine), 0);
}

static void take_begins(struct taker *t, size_t i, lease_id l, simtime_ns now)
{
    t->held[i].lease = l;
    engine_schedule(t->world->engine, t->held[i].end, now + t->world->plan->takes[i].hold_ns);
}

static void taker_schedule(void *self, simtime_ns now)
{
    struct taker *t = self;
    struct fleet *f = t->world->fleet;
    for (; t->started < t->next; t->started++) {
        uint32_t tag = (uint32_t)t->started;
        const struct ask ask = {
            .shape = {.gpus = t->world->plan->takes[tag].gpus, .kind = SHAPE_ANY}, .tag = tag};
        lease_id l;
        if (fleet_acquire(f, t->claimant, &ask, GPU_HELD_IDLE, &l) == GRANT_OK)
            take_begins(t, tag, l, now);
        else if (fleet_reclaim(f, t->claimant, &ask, 0, &l) != GRANT_OK)
            return;
    }
}

static void taker_granted(void *self, lease_id l, simtime_ns now)
{
    struct taker *t = self;
    take_begins(t, fleet_lease_tag(t->world->fleet, l), l, now);
}

static void taker_evict(void *self, lease_id l, simtime_ns now, simtime_ns grace_ns)
{
    (void)self, (void)l, (void)now, (void)grace_ns;
    cr_assert_fail("the taker is never evicted");
}

static uint64_t taker_loss(void *self, lease_id l, simtime_ns now)
{
    (void)self, (void)l, (void)now;
    return 0;
}

static uint32_t taker_share(void *self)
{
    const struct taker *t = self;
    return t->started < t->next ? 1 : 0;
}

static void taker_clock(void *ctx, uint32_t arg)
{
    (void)arg;
    struct taker *t = ctx;
    const struct world_plan *p = t->world->plan;
    t->next++;
    fleet_want_pass(t->world->fleet);
    if (t->next < p->n_takes)
        engine_schedule(t->world->engine, t->clock, p->takes[t->next].at_ns);
}

static void taker_open(struct world *w)
{
    const struct world_plan *p = w->plan;
    struct taker *t = calloc(1, sizeof *t);
    w->taker = t;
    t->world = w;
    t->held = calloc(p->n_takes + 1, sizeof *t->held);
    const struct quota quota = {.ceiling_gpus = p->nodes * p->gpus_per_node * 48,
                                .priority = 100,
                                .reclaim_within_cohort = COHORT_ANY,
                                .borrow_within_cohort = COHORT_LOWER_PRIORITY};
    const struct claimant_ops ops = {.self = t,
                                     .schedule = taker_schedule,
                                     .granted = taker_granted,
                                     .evict = taker_evict,
                                     .loss = taker_loss,
                                     .waiting_share = taker_share};
    cr_assert_eq(fleet_claimant_add(w->fleet, "taker", &quota, &ops, &t->claimant), HR_OK);
    cr_assert_eq(engine_timer_new(w->engine, EVENT_CONTROL, taker_clock, t, 0, &t->clock), HR_OK);
    for (size_t i = 0; i < p->n_takes; i++)
        cr_assert_eq(
            engine_timer_new(w->engine, EVENT_COMPLETE, take_ends, t, (uint32_t)i, &t->held[i].end),
            HR_OK);
    if (p->n_takes > 0)
        engine_schedule(w->engine, t->clock, p->takes[0].at_ns);
}

/* ---- the world ---- */

struct queue_plan world_queue(const struct job_trace *jobs, uint32_t gpus)
{
    return (struct queue_plan){
        .name = "train",
        .tenant = {.name = "train", .pools = {{0, {.ceiling_gpus = gpus}}}, .n_pools = 1},
        .estimate_factor = 1,
        .backfill_depth = 100,
        .placement = SHAPE_ANY,
        .jobs = jobs,
        .jobs_speed = 1,
        .work_factor = 1,
    };
}

struct dist world_fixed(simtime_ns t)
{
    return (struct dist){DIST_FIXED, sim_time_to_s(t), 0};
}

static void take_row(void *self, const struct job_row *row)
{
    struct world *w = self;
    cr_assert(vec_push(&w->rows, *row));
}

static void change(void *self, simtime_ns now, lease_id l, uint32_t claimant, enum gpu_state from,
                   enum gpu_state to, uint32_t gpus)
{
    (void)now, (void)l, (void)claimant, (void)from, (void)to, (void)gpus;
    ((struct world *)self)->changes++;
}

static void check(void *ctx)
{
    struct world *w = ctx;
    cr_assert(ledger_conserves(w->ledger, engine_now(w->engine)));
    cr_assert(fleet_consistent(w->fleet));
}

void world_open(struct world *w, const struct world_plan *p)
{
    *w = (struct world){
        .plan = p,
        .group = {"nodes", "h100-sxm", p->nodes, p->gpus_per_node},
    };
    const struct fleet_plan fleet = {.groups = &w->group,
                                     .n_groups = 1,
                                     .reclaim = p->reclaim,
                                     .place = p->place,
                                     .fabric = p->fabric,
                                     .sharing = p->sharing,
                                     .racks = p->racks};
    uint32_t units = fleet_plan_units_per_gpu(&fleet);
    w->engine = engine_new();
    w->ledger = ledger_new(4, (uint64_t)p->nodes * p->gpus_per_node * units, p->start_ns, p->end_ns,
                           p->window_ns ? p->window_ns : p->end_ns - p->start_ns);
    w->fleet = fleet_new(&fleet, w->engine, w->ledger, p->seed, p->replication);
    cr_assert(w->engine && w->ledger && w->fleet);
    const struct fleet_trace trace = {w, change};
    fleet_trace_set(w->fleet, &trace);
    taker_open(w);
    const struct training_sink sink = {w, take_row};
    w->pool = (struct pool){.fleet = w->fleet, .ledger = w->ledger};
    cr_assert_eq(training_new(p->queue, 0, w->engine, &w->pool, 1, p->seed, p->replication,
                              p->start_ns, p->end_ns, &sink, &w->training),
                 HR_OK);
    if (p->storage.bytes_per_s > 0) {
        w->storage = storage_new(&p->storage, w->engine, p->start_ns, p->end_ns);
        cr_assert_not_null(w->storage);
        training_storage_set(w->training, w->storage);
    }
    if (!p->unchecked)
        engine_check_set(w->engine, check, w);
}

void world_run(struct world *w)
{
    simtime_ns end = w->plan->end_ns;
    cr_assert_eq(engine_run(w->engine, end), HR_OK);
    cr_assert_eq(training_finish(w->training, end), HR_OK);
    ledger_settle(w->ledger, end);
    check(w);
}

void world_close(struct world *w)
{
    training_free(w->training);
    storage_free(w->storage);
    fleet_free(w->fleet);
    ledger_free(w->ledger);
    engine_free(w->engine);
    free(w->taker->held);
    free(w->taker);
    vec_free(&w->rows);
}

const struct job_row *world_row(const struct world *w, uint64_t number)
{
    for (size_t i = 0; i < w->rows.n; i++)
        if (!w->rows.items[i].backlog && w->rows.items[i].number == number)
            return &w->rows.items[i];
    cr_assert_fail("no row of job %lu", number);
    return NULL;
}

uint64_t world_total(const struct world *w, enum gpu_state s)
{
    return (uint64_t)ledger_total(w->ledger, training_claimant(w->training) + 1, s);
}
