/* The life of one gang.
 *
 *     waiting -> (assembling ->) restoring -> training -> done
 *        ^                          |  ^         |
 *        +----------- stopping <----+--|---------+   evicted
 *        |                             |         |
 *        +------------ broken <--------+---------+   a node failed: stops, or a spare takes its
 * place
 *
 * One timer a running gang: the end of its restore, then the end of its work. What a segment has
 * done when something ends it: segment.c. */
#include "models/training/queue_internal.h"

#include "sim/int128.h"
#include "sim/vec.h"

#include <assert.h>

void training_fail(struct training *t, enum hr_err err)
{
    if (t->error == HR_OK)
        t->error = err;
}

static struct gang *at(struct training *t, uint32_t g)
{
    return &t->gangs.items[g];
}

static bool in_measured_part(const struct training *t, simtime_ns when)
{
    return when >= t->start_ns && when < t->end_ns;
}

static bool measured(const struct training *t, const struct gang *g)
{
    return in_measured_part(t, g->row.backlog ? g->row.first_start_ns : g->row.submit_ns);
}

/* ---- slots, waiting ---- */

static bool ends_reserve(struct training *t, size_t n)
{
    for (size_t i = 0; i < t->n_pools; i++)
        if (!vec_reserve(&t->ends[i], n))
            return false;
    return true;
}

bool gang_new(struct training *t, const struct job_row *row, uint32_t *g)
{
    if (t->unused.n > 0) {
        *g = t->unused.items[--t->unused.n];
    } else {
        if (!vec_reserve(&t->gangs, t->gangs.n + 1) || !vec_reserve(&t->unused, t->gangs.n + 1) ||
            !ends_reserve(t, t->gangs.n + 1))
            return false; /* room also for closing and starting it */
        *g = (uint32_t)t->gangs.n++;
        *at(t, *g) = (struct gang){0};
    }
    struct gang was = *at(t, *g);
    writer_reset(&was.writer, WRITER_OFF);
    pace_reset(&was);
    *at(t, *g) = (struct gang){
        .row = *row,
        .limit_ns = JOB_UNSET,
        .extensions = NO_EXTENSION,
        .broken_ns = SIM_NEVER,
        .lease = LEASE_NONE,
        .timer = TIMER_NONE,
        .writer = was.writer,
        .paces = was.paces,
        .preemptible = true,
        .user = NO_USER,
        .busy = 1,
    };
    extensions_size(t, at(t, *g), row->min_gpus);
    at(t, *g)->row.first_start_ns = at(t, *g)->row.end_ns = SIM_NEVER;
    return true;
}

struct shape gang_shape(const struct training *t, uint32_t g)
{
    const struct gang *gang = &t->gangs.items[g];
    return (struct shape){
        .gpus = gang->row.min_gpus, .kind = t->plan->placement, .profile = gang->profile};
}

/* Two gangs that evict each other would do so for ever if neither came to keep any work. From its
 * third eviction in a row without that on a gang is given as long as it has been since the first of
 * them, so that this time doubles. */
static simtime_ns guard(const struct training *t, const struct gang *g)
{
    enum { TRIES = 3 };
    return g->fruitless < TRIES ? 0 : engine_now(t->engine) - g->fruitless_ns;
}

struct ask gang_ask(const struct training *t, uint32_t g)
{
    const struct gang *gang = &t->gangs.items[g];
    return (struct ask){.shape = gang_shape(t, g),
                        .tag = g,
                        .priority = gang->priority,
                        .submit_ns = gang->row.submit_ns,
                        .guard_ns = guard(t, gang)};
}

/* Its place in its lane; pass.c says what the orders are. */
static uint64_t rank(const struct training *t, const struct gang *gang, simtime_ns estimate)
{
    if (gang->row.backlog || t->plan->order == ORDER_FIFO || t->plan->order == ORDER_FAIR_SHARE)
        return 0;
    if (t->plan->order == ORDER_SHORTEST)
        return estimate;
    simtime_ns age = t->plan->age_ns == SIM_NEVER ? 0 : t->plan->age_ns;
    /* With an age of days and any 32-bit priority the sum stays within 96 bits. */
    i128 rank =
        age ? (i128)gang->row.submit_ns - (i128)gang->priority * (i128)age : -(i128)gang->priority;
    const i128 middle = (i128)1 << 63;
    rank = rank < -middle ? -middle : rank >= middle ? middle - 1 : rank;
    return (uint64_t)(rank + middle);
}

void gang_wait(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct lane *lane = &t->lanes[gang->row.backlog ? t->n_tenants : gang->tenant];
    simtime_ns estimate = gang_estimate(t, g); /* the same until its next segment */
    const struct waiting_item item = {.rank = rank(t, gang, estimate),
                                      .number = gang->row.number,
                                      .estimate_ns = estimate,
                                      .gang = g,
                                      .gpus = gang->row.min_gpus};
    gang->class = why_class_of(&t->why, gang->tenant, gang->share, gang->row.min_gpus);
    if (gang->class == UINT32_MAX || !waiting_insert(&lane->list, &item)) {
        training_fail(t, HR_NOMEM);
        return;
    }
    why_begin(&t->why, gang->class, now, gang->blocked_at);
    gang->state = GANG_WAITING;
    gang->since_ns = now;
    t->blocked.known = false;
}

/* A wait is over: all of it, and of it the time in which it assembled its GPUs; what was before
 * that its class has accounted for. */
static void waited(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct tenant *tenant = &t->tenants[gang->tenant];
    gang->row.waiting_ns += now - gang->since_ns;
    if (gang->state == GANG_ASSEMBLING)
        gang->row.blocked_ns[gang->assembles] += now - gang->asked_ns;
    if (tenant->collecting == g)
        tenant->collecting = NO_GANG;
}

void gang_close(struct training *t, uint32_t g, enum job_outcome outcome)
{
    struct gang *gang = at(t, g);
    gang->row.outcome = outcome;
    if (measured(t, gang)) {
        struct queue_totals *n = &t->totals;
        uint64_t *const counts[OUTCOMES] = {&n->done, &n->censored, &n->waiting, &n->refused,
                                            &n->cancelled};
        if (!gang->row.backlog)
            ++*counts[outcome];
        else if (outcome == OUTCOME_DONE)
            n->backlog_done++;
        if (t->sink.job)
            t->sink.job(t->sink.self, &gang->row);
    }
    gang->state = GANG_UNUSED;
    gang->lease = LEASE_NONE;
    if (gang->user != NO_USER && gang->row.end_ns < t->end_ns)
        intake_user_away(t, gang->user, gang->row.end_ns);
    t->unused.items[t->unused.n++] = g;
}

/* ---- a segment ---- */

/* A limit bounds the wall time of the whole job, saves included; what has been kept counts. */
simtime_ns gang_estimate(const struct training *t, uint32_t g)
{
    const struct gang *gang = &t->gangs.items[g];
    simtime_ns done = gang->row.done_ns;
    if (t->plan->estimate == ESTIMATE_LIMIT && gang->limit_ns != JOB_UNSET)
        return sim_time_add(segment_restore(gang),
                            gang->limit_ns > done ? gang->limit_ns - done : 0);
    if (t->plan->estimate == ESTIMATE_FACTOR) {
        simtime_ns work =
            sim_time_from_s(sim_time_to_s(gang->row.work_ns) * t->plan->estimate_factor);
        return segment_length(gang, work > done ? work - done : 0);
    }
    return segment_length(gang, segment_left(gang));
}

simtime_ns gang_next_stop(const struct training *t, uint32_t g, bool save, simtime_ns now)
{
    const struct gang *gang = &t->gangs.items[g];
    if (gang->state == GANG_BROKEN)
        return now;
    if (gang->writer.phase != WRITER_OFF) /* nobody knows before; it will say (fleet_lease_saved) */
        return SIM_NEVER;
    simtime_ns end = segment_end(gang);
    if (!save)
        return end;
    simtime_ns saved = segment_next_save(gang, now);
    return saved < end ? saved : end;
}

enum gpu_state gang_first_state(const struct training *t, uint32_t g)
{
    return segment_restore(&t->gangs.items[g]) > 0 ? GPU_RESTORING : GPU_TRAINING;
}

/* A start that needed evicted GPUs is ready when training begins. */
static void reclaim_ready(struct training *t, const struct gang *g, simtime_ns now)
{
    struct reclaim_row *row = fleet_lease_reclaim(gang_fleet(t, g), g->lease);
    if (!row || row->ready_ns != SIM_NEVER)
        return;
    row->stage_ns[STAGE_WEIGHTS] = g->load_ns;
    row->stage_ns[STAGE_ENGINE] = g->init_ns;
    row->ready_ns = now;
}

/* ---- start and end ---- */

static void begin_segment(struct training *t, uint32_t g, simtime_ns now);
static void noticed(struct training *t, uint32_t g, simtime_ns now);
static void grace_over(struct training *t, uint32_t g, simtime_ns now);

/* Its save comes out of the storage; the length drawn stays unused, so that all others are the same
 * with a storage and without. */
static void read_restart(const struct training *t, struct gang *g)
{
    g->reads = gang_writes(t, g) && storage_plan_of(t->storage)->restores;
    if (g->reads)
        g->load_ns = sim_time_from_s(
            g->saves.size_bytes /
            (storage_plan_of(t->storage)->node_read_bytes_per_s * (double)g->saves.nodes));
}

/* Its restore counts the nodes of its next segment. */
static void count_nodes(const struct training *t, struct gang *g)
{
    uint32_t nodes = training_nodes(t, g->held);
    g->init_ns -= g->restart_nodes * t->plan->restart_per_node_ns;
    g->init_ns = sim_time_add(g->init_ns, nodes * t->plan->restart_per_node_ns);
    g->restart_nodes = nodes;
}

/* Of the next segment. A suspended gang finds its state in the hosts' memory. */
static void draw_restart(struct training *t, struct gang *g)
{
    g->reads = false;
    g->restart_nodes = 0;
    if (g->suspended) {
        g->load_ns = t->plan->preemption.resume_ns;
        g->init_ns = 0;
        g->suspended = false;
        return;
    }
    g->load_ns = dist_draw(&t->plan->restart_load, &t->restart);
    g->init_ns = dist_draw(&t->plan->restart_init, &t->restart);
    count_nodes(t, g);
    read_restart(t, g);
}

static void end_segment(struct training *t, uint32_t g)
{
    struct gang *gang = at(t, g);
    extensions_work(t, gang, false);
    if (gang->writer.phase != WRITER_OFF)
        writer_end(t, g, engine_now(t->engine));
    if (gang->timer != TIMER_NONE)
        engine_timer_free(t->engine, gang->timer);
    gang->timer = TIMER_NONE;
    simtime_ns now = engine_now(t->engine);
    expected_ends_remove(&t->ends[gang->pool], gang->expected_end_ns, g);
    shares_change(&t->shares, gang->tenant, gang->pool, -(int64_t)gang->held, now);
    gang->row.gpu_ns += (u128)gang->held * (now - gang->since_ns);
    t->blocked.known = false;
}

void gang_finish(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct progress p = segment_progress(gang, now);
    struct gang was = *gang;
    gang->row.restoring_ns += p.restore_ns;
    gang->row.saving_ns += p.save_ns;
    gang->row.done_ns = gang->row.work_ns;
    gang->row.worked_ns += p.work_ns;
    gang->row.end_ns = now;
    end_segment(t, g);
    gang_close(t, g, OUTCOME_DONE);
    extensions_stop(t, g, &was, now, 0);
    segment_book(t, &was, 0, now);
    segment_book_idle(t, &was, now);
}

static void expect_end(struct training *t, uint32_t g)
{
    struct gang *gang = at(t, g);
    gang->expected_end_ns = sim_time_add(gang->since_ns, gang_estimate(t, g));
    const struct expected_end end = {gang->expected_end_ns, g, gang->held};
    bool added = expected_ends_add(&t->ends[gang->pool], end);
    assert(added); /* gang_new made room */
    (void)added;
    t->blocked.known = false;
}

void gang_expect_anew(struct training *t, uint32_t g)
{
    expected_ends_remove(&t->ends[at(t, g)->pool], at(t, g)->expected_end_ns, g);
    expect_end(t, g);
}

static void begin_work(struct training *t, uint32_t g, simtime_ns now)
{
    const struct gang *gang = at(t, g);
    reclaim_ready(t, gang, now);
    pace_join(t, g);
    if (gang->writer.phase != WRITER_OFF)
        writer_begin(t, g, now);
    else
        engine_schedule(t->engine, gang->timer, segment_end(gang));
}

static void begin_restore(struct training *t, uint32_t g, simtime_ns now)
{
    const struct gang *gang = at(t, g);
    if (gang->reads)
        writer_restore(t, g);
    else
        engine_schedule(t->engine, gang->timer, sim_time_add(now, segment_restore(gang)));
}

static void fire(void *ctx, uint32_t g)
{
    struct training *t = ctx;
    struct gang *gang = at(t, g);
    simtime_ns now = engine_now(t->engine);
    if (gang->state == GANG_TRAINING && gang->writer.phase != WRITER_OFF) {
        writer_step(t, g, now);
        return;
    }
    if (gang->state == GANG_TRAINING) {
        gang_finish(t, g, now);
        return;
    }
    if (gang->state == GANG_BROKEN) {
        noticed(t, g, now);
        return;
    }
    if (gang->state == GANG_SAVING) {
        grace_over(t, g, now);
        return;
    }
    assert(gang->state == GANG_RESTORING);
    gang->state = GANG_TRAINING;
    segment_settle(t, gang, false);
    extensions_set_state(t, gang, GPU_TRAINING);
    begin_work(t, g, now);
}

/* On the GPUs of its lease, whose state is gang_first_state. */
static void begin_segment(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    gang->since_ns = now;
    pace_reset(gang);
    extensions_slow(t, gang);
    gang->state = segment_restore(gang) > 0 ? GANG_RESTORING : GANG_TRAINING;
    writer_reset(&gang->writer, gang_writes(t, gang) ? WRITER_RESTORES : WRITER_OFF);
    expect_end(t, g);
    shares_change(&t->shares, gang->tenant, gang->pool, gang->held, now);
    enum hr_err err = engine_timer_new(t->engine, EVENT_COMPLETE, fire, t, g, &gang->timer);
    if (err != HR_OK) {
        training_fail(t, err);
        return;
    }
    if (gang->state == GANG_RESTORING)
        begin_restore(t, g, now);
    else
        begin_work(t, g, now);
}

/* Accounts for a segment that ends with kept_ns of its work and loses so much of its end. */
static void end_with(struct gang *g, const struct progress *p, simtime_ns kept_ns,
                     simtime_ns lost_ns)
{
    g->row.restoring_ns += p->restore_ns;
    g->row.done_ns += segment_work(g, kept_ns);
    g->row.worked_ns += kept_ns;
    g->row.saving_ns += p->work_ns + p->save_ns - kept_ns - lost_ns;
    g->row.lost_ns += lost_ns;
}

void gang_start(struct training *t, uint32_t g, uint32_t pool, lease_id l, bool extends,
                simtime_ns now)
{
    struct gang *gang = at(t, g);
    gang->pool = pool;
    waited(t, g, now);
    if (gang->row.first_start_ns == SIM_NEVER) {
        gang->row.first_start_ns = now;
        t->totals.started += !gang->row.backlog && measured(t, gang);
    }
    gang->lease = l;
    gang->compute = fleet_lease_compute(gang_fleet(t, gang), l);
    gang->leased = gang->held = fleet_lease_gpus(gang_fleet(t, gang), l);
    if (gang_elastic(gang)) {
        extensions_start(t, g, extends);
        gang = at(t, g);
        extensions_size(t, gang, gang->leased);
        if (gang->restart_nodes > 0)
            count_nodes(t, gang);
    }
    begin_segment(t, g, now);
}

void gang_resize(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g), was = *gang;
    struct progress p = segment_progress(gang, now);
    simtime_ns left_ns = segment_restore(gang) - p.restore_ns,
               resize_ns = t->plan->elastic.resize_ns;
    end_segment(t, g);
    end_with(gang, &p, p.work_ns, 0);
    gang->load_ns = left_ns > resize_ns ? left_ns : resize_ns;
    gang->init_ns = 0;
    gang->reads = false;
    gang->restart_nodes = 0;
    gang->row.resizes++;
    t->totals.resizes += in_measured_part(t, now);
    extensions_size(t, gang, gang->leased);
    extensions_set_state(t, gang, gang_first_state(t, g));
    segment_set_aside(t, gang, &was, &p, now);
    begin_segment(t, g, now);
    if (gang->state == GANG_TRAINING)
        segment_settle(t, gang, false);
}

/* ---- eviction ---- */

static simtime_ns grace_of(const struct training *t, simtime_ns given_ns)
{
    const struct preemption_plan *p = &t->plan->preemption;
    return p->own_grace && p->grace_ns < given_ns ? p->grace_ns : given_ns;
}

/* An eviction that keeps all the work, and how long it takes. */
static bool keeps_work(const struct training *t, const struct gang *g, simtime_ns grace_ns,
                       simtime_ns *save_ns)
{
    const struct preemption_plan *p = &t->plan->preemption;
    *save_ns = p->mode == PREEMPTION_SUSPEND ? p->suspend_ns : g->saves.notice_save_ns;
    return p->mode != PREEMPTION_CANCEL && *save_ns <= grace_ns &&
           (p->mode == PREEMPTION_SUSPEND || g->saves.save_on_notice);
}

/* Whether a gang is exempt for now. Somebody would evict it: when it is exempt no longer there is a
 * pass. */
static bool exempt(struct training *t, const struct gang *g, simtime_ns now)
{
    simtime_ns since = fleet_lease_since(gang_fleet(t, g), g->lease);
    simtime_ns until = sim_time_add(since, t->plan->preemption.exempt_ns);
    if (now >= until)
        return false;
    if (engine_due(t->engine, t->exempt_timer) > until)
        engine_schedule(t->engine, t->exempt_timer, until);
    return true;
}

bool gang_keeps(struct training *t, uint32_t g, simtime_ns now)
{
    const struct gang *gang = &t->gangs.items[g];
    return !gang->preemptible || exempt(t, gang, now);
}

uint64_t gang_loss(const struct training *t, uint32_t g, simtime_ns now)
{
    const struct gang *gang = &t->gangs.items[g];
    const struct fleet *f = gang_fleet(t, gang);
    simtime_ns save;
    if (gang->state == GANG_BROKEN || keeps_work(t, gang, grace_of(t, fleet_grace_ns(f)), &save))
        return 0;
    struct progress p = segment_progress(gang, now);
    u128 lost = (u128)p.lost_work_ns + p.lost_save_ns;
    if (t->plan->preemption.mode == PREEMPTION_CANCEL)
        lost = (u128)gang->row.worked_ns + p.work_ns + p.save_ns;
    if (gang_elastic(gang)) /* never less than that of giving back a part of it */
        lost += t->plan->elastic.resize_ns;
    u128 loss = lost * gang->held +
                ((u128)gang->unsaved.worked_ns + gang->unsaved.saving_ns) * gang->unsaved.held;
    return loss < UINT64_MAX ? (uint64_t)loss : UINT64_MAX;
}

/* Work of earlier segments is booked as it was done; what this one has done is lost with it. */
static void cancel(struct training *t, uint32_t g, const struct progress *p, simtime_ns now,
                   simtime_ns stop)
{
    struct gang *gang = at(t, g);
    segment_settle(t, gang, false);
    struct gang was = *gang;
    gang->row.lost_ns += gang->row.worked_ns + p->work_ns + p->save_ns;
    gang->row.done_ns = gang->row.worked_ns = 0;
    gang->row.restoring_ns += p->restore_ns;
    gang->row.end_ns = stop < t->end_ns ? stop : SIM_NEVER;
    gang_close(t, g, stop < t->end_ns ? OUTCOME_CANCELLED : OUTCOME_CENSORED);
    extensions_stop(t, g, &was, stop, 0);
    segment_book(t, &was, p->work_ns + p->save_ns, now);
}

/* Its segment ended at `ended` by an eviction, and it stops at `stop`. A save on notice or a
 * suspension keeps all the work up to then and ends the save that was under way; without one the
 * work since the last complete save is gone. Returns what is lost. */
static simtime_ns account_stop(struct training *t, uint32_t g, bool saved, simtime_ns ended,
                               simtime_ns stop)
{
    struct gang *gang = at(t, g);
    struct progress p = segment_progress(gang, ended);
    segment_settle(t, gang, !saved);
    simtime_ns lost = saved ? 0 : p.lost_work_ns + p.lost_save_ns;
    end_with(gang, &p, saved ? p.work_ns : p.kept_ns, lost);
    gang->fruitless = (saved ? p.work_ns : p.kept_ns) > 0 ? 0 : gang->fruitless + 1;
    gang->fruitless_ns = gang->fruitless == 1 ? ended : gang->fruitless_ns;
    gang->suspended = saved && t->plan->preemption.mode == PREEMPTION_SUSPEND;
    if (segment_left(gang) == 0) { /* it was in its final save, and the save on notice is that */
        bool ends = stop < t->end_ns;
        gang->row.end_ns = ends ? stop : SIM_NEVER;
        gang_close(t, g, ends ? OUTCOME_DONE : OUTCOME_CENSORED);
    }
    return lost;
}

/* The save on notice goes to the shared storage: nobody knows whether it will be written by the end
 * of the grace, so the gang has the whole of it. */
static void save_on_notice(struct training *t, uint32_t g, simtime_ns now, simtime_ns grace_ns)
{
    struct gang *gang = at(t, g);
    gang->state = GANG_SAVING;
    gang->broken_ns = now;
    enum hr_err err = engine_timer_new(t->engine, EVENT_COMPLETE, fire, t, g, &gang->timer);
    if (err != HR_OK)
        training_fail(t, err);
    else
        engine_schedule(t->engine, gang->timer, now + grace_ns); /* before its lease's */
    extensions_stop(t, g, gang, now + grace_ns, 0);
    writer_save_on_notice(t, g);
}

static void conclude(struct training *t, uint32_t g, bool saved, simtime_ns now)
{
    struct gang *gang = at(t, g);
    if (gang->timer != TIMER_NONE)
        engine_timer_free(t->engine, gang->timer);
    gang->timer = TIMER_NONE;
    gang->state = GANG_STOPPING;
    struct gang was = *gang;
    simtime_ns lost = account_stop(t, g, saved, was.broken_ns, now);
    if (saved && now < t->end_ns)
        fleet_stop_sooner(gang_fleet(t, &was), was.lease, gang_elastic(&was), now - was.broken_ns);
    segment_book(t, &was, lost, was.broken_ns);
}

static void grace_over(struct training *t, uint32_t g, simtime_ns now)
{
    conclude(t, g, writer_drop(t, at(t, g)), now);
}

static void stop(struct training *t, uint32_t g, simtime_ns now, simtime_ns grace_ns)
{
    struct gang *gang = at(t, g);
    simtime_ns save;
    bool saved = keeps_work(t, gang, grace_ns, &save);
    simtime_ns stop = now + (saved ? save : grace_ns);
    if (t->plan->preemption.mode == PREEMPTION_CANCEL) {
        struct progress p = segment_progress(gang, now);
        cancel(t, g, &p, now, stop);
        return;
    }
    if (saved && t->plan->preemption.mode != PREEMPTION_SUSPEND &&
        gang->writer.phase != WRITER_OFF) {
        save_on_notice(t, g, now, grace_ns);
        return;
    }
    struct gang was = *gang;
    simtime_ns lost = account_stop(t, g, saved, now, stop);
    extensions_stop(t, g, &was, stop, saved ? save : 0);
    segment_book(t, &was, lost, now);
}

/* ---- failure ---- */

/* Whether it goes on: on all its GPUs with spares, an elastic gang also on what it has left. */
static bool mend(struct training *t, struct gang *gang, bool may_swap, simtime_ns now)
{
    uint32_t node;
    bool failed = gang->base_failed; /* of this lease: the next one is whole */
    gang->base_failed = false;
    bool swapped = may_swap && failed && fleet_replace(gang_fleet(t, gang), gang->lease, &node);
    if (!may_swap || (failed && !swapped))
        return false;
    if (extensions_repair(t, gang) || swapped) {
        gang->row.swaps++;
        t->totals.swaps += in_measured_part(t, now);
    }
    return true;
}

/* A gang that goes on starts again from the copies in host memory if one node alone was lost; else
 * from the last complete save. */
static void give_up_or_swap(struct training *t, uint32_t g, simtime_ns now, bool may_swap)
{
    struct gang *gang = at(t, g);
    struct progress p = segment_progress(gang, gang->broken_ns);
    struct gang was = *gang;
    segment_settle(t, gang, true);
    bool goes_on = mend(t, gang, may_swap, now);
    bool copied = goes_on && gang->one_node_lost && p.copied_ns > p.kept_ns;
    simtime_ns lost = copied ? p.uncopied_ns : p.lost_work_ns + p.lost_save_ns;
    simtime_ns kept = copied ? p.copied_ns : p.kept_ns;
    end_with(gang, &p, kept, lost);
    gang->row.lost_ns += now - gang->broken_ns;
    gang->fruitless = kept > 0 ? 0 : gang->fruitless;
    gang->state = GANG_STOPPING;
    if (goes_on) {
        extensions_size(t, gang, gang->leased);
        draw_restart(t, gang);
        if (copied) {
            gang->load_ns = gang->saves.copy_restore_ns;
            gang->reads = false;
        }
        extensions_set_state(t, gang, gang_first_state(t, g));
        begin_segment(t, g, now);
    } else {
        extensions_stop(t, g, gang, now, 0);
    }
    segment_book(t, &was, lost, was.broken_ns);
}

static void noticed(struct training *t, uint32_t g, simtime_ns now)
{
    engine_timer_free(t->engine, at(t, g)->timer);
    at(t, g)->timer = TIMER_NONE;
    give_up_or_swap(t, g, now, true);
}

/* One node less ends the work; until somebody notices, the other GPUs are held for nothing. */
void gang_fail(struct training *t, uint32_t g, lease_id l, uint32_t node, simtime_ns now)
{
    struct gang *gang = at(t, g);
    bool again =
        gang->broken_node == node && gang->broken_ns == now; /* another lease of it there */
    gang->row.failures += !again;
    t->totals.failures += !again && in_measured_part(t, now);
    if (fleet_lease_lost(gang_fleet(t, gang), l) == 0) {
        /* a fault of a client: it starts again where it is */
    } else if (l == gang->lease) {
        gang->base_failed = true;
    } else {
        extensions_fail(t, gang, l);
    }
    if (gang->state == GANG_BROKEN) {
        gang->one_node_lost = gang->one_node_lost && gang->broken_node == node;
        return;
    }
    end_segment(t, g);
    gang->state = GANG_BROKEN;
    gang->broken_ns = now;
    gang->broken_node = node;
    gang->one_node_lost = true;
    simtime_ns unnoticed = dist_draw(&t->plan->detection, &t->restart);
    if (unnoticed == 0) {
        give_up_or_swap(t, g, now, true);
        return;
    }
    extensions_set_state(t, gang, GPU_LOST);
    enum hr_err err = engine_timer_new(t->engine, EVENT_COMPLETE, fire, t, g, &gang->timer);
    if (err != HR_OK)
        training_fail(t, err);
    else
        engine_schedule(t->engine, gang->timer, sim_time_add(now, unnoticed));
}

void gang_evict(struct training *t, uint32_t g, simtime_ns now, simtime_ns grace_ns)
{
    struct gang *gang = at(t, g);
    gang->row.preemptions++;
    t->totals.preemptions += in_measured_part(t, now);
    if (gang->state == GANG_BROKEN) {
        engine_timer_free(t->engine, gang->timer);
        gang->timer = TIMER_NONE;
        give_up_or_swap(t, g, now, false);
        return;
    }
    assert(gang->state == GANG_TRAINING || gang->state == GANG_RESTORING);
    end_segment(t, g);
    gang->state = GANG_STOPPING;
    stop(t, g, now, grace_of(t, grace_ns));
}

/* ---- the shared storage ---- */

void gang_transferred(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    if (gang->state == GANG_TRAINING) {
        writer_written(t, g, now);
    } else if (gang->state == GANG_SAVING) {
        conclude(t, g, true, now);
    } else {
        assert(gang->state == GANG_RESTORING);
        gang->load_ns = now - gang->since_ns;
        engine_schedule(t->engine, gang->timer, sim_time_add(now, gang->init_ns));
    }
}

void gang_withdrawn(struct training *t, uint32_t g, simtime_ns now)
{
    waited(t, g, now);
    gang_wait(t, g, now);
}

void gang_released(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    gang->lease = LEASE_NONE;
    extensions_size(t, gang, gang->row.min_gpus);
    draw_restart(t, gang);
    gang_wait(t, g, now);
    training_want_pass(t);
}

/* ---- the end of the run ---- */

void gang_settle(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    if (gang->state == GANG_BROKEN) { /* as if noticed now */
        struct progress p = segment_progress(gang, gang->broken_ns);
        simtime_ns lost = p.lost_work_ns + p.lost_save_ns;
        segment_book(t, gang, lost, gang->broken_ns);
        segment_settle(t, gang, true);
        end_with(gang, &p, p.kept_ns, lost);
        gang->row.lost_ns += now - gang->broken_ns;
        engine_timer_free(t->engine, gang->timer);
        gang_close(t, g, OUTCOME_CENSORED);
        return;
    }
    if (gang->state == GANG_SAVING) { /* as if it will be written */
        writer_drop(t, gang);
        conclude(t, g, true, now);
        if (gang->state == GANG_UNUSED)
            return;
    }
    if (gang->state != GANG_RESTORING && gang->state != GANG_TRAINING) {
        if (gang->state != GANG_STOPPING)
            waited(t, g, now);
        if (gang->state == GANG_WAITING)
            why_end(&t->why, gang->class, now, gang->blocked_at, gang->row.blocked_ns);
        gang_close(t, g, OUTCOME_WAITING);
        return;
    }
    struct progress p = segment_progress(gang, now);
    segment_book(t, gang, 0, now);
    segment_book_idle(t, gang, now);
    segment_settle(t, gang, false);
    gang->row.restoring_ns += p.restore_ns;
    gang->row.saving_ns += p.save_ns;
    gang->row.done_ns += segment_work(gang, p.work_ns);
    gang->row.worked_ns += p.work_ns;
    end_segment(t, g);
    gang_close(t, g, OUTCOME_CENSORED);
}
