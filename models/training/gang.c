/* The life of one gang.
 *
 *     waiting -> (assembling ->) restoring -> training -> done
 *        ^                          |            |
 *        +----------- stopping <----+------------+   evicted
 *
 * One timer a running gang: the end of its restore, then the end of its work. While it trains its
 * GPUs are booked as training throughout; when something ends the segment, the saves in it follow
 * in closed form (training/checkpoint.h) and are re-booked to the very intervals in which they were
 * made, and what dies with it, the last part of the segment, to lost. */
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

static simtime_ns restore(const struct gang *g)
{
    return sim_time_add(g->load_ns, g->init_ns);
}

static simtime_ns left(const struct gang *g)
{
    return g->row.work_ns - g->row.done_ns;
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
    }
    *at(t, *g) = (struct gang){
        .row = *row,
        .limit_ns = JOB_UNSET,
        .interval_ns = checkpoint_interval(&t->plan->checkpoint, row->gpus),
        .lease = LEASE_NONE,
        .timer = TIMER_NONE,
        .preemptible = true,
        .user = NO_USER,
        .busy = 1,
    };
    at(t, *g)->row.first_start_ns = at(t, *g)->row.end_ns = SIM_NEVER;
    return true;
}

struct shape gang_shape(const struct training *t, uint32_t g)
{
    return (struct shape){t->gangs.items[g].row.gpus, t->plan->placement};
}

struct ask gang_ask(const struct training *t, uint32_t g)
{
    const struct gang *gang = &t->gangs.items[g];
    return (struct ask){.shape = gang_shape(t, g),
                        .tag = g,
                        .priority = gang->priority,
                        .submit_ns = gang->row.submit_ns};
}

/* Its place in its lane; pass.c says what the orders are. */
static uint64_t rank(const struct training *t, uint32_t g)
{
    const struct gang *gang = &t->gangs.items[g];
    if (gang->row.backlog || t->plan->order == ORDER_FIFO || t->plan->order == ORDER_FAIR_SHARE)
        return 0;
    if (t->plan->order == ORDER_SHORTEST)
        return gang_estimate(t, g);
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
    gang->class = why_class_of(&t->why, gang->tenant, gang->share, gang->row.gpus);
    if (gang->class == UINT32_MAX ||
        !waiting_insert(&lane->list, rank(t, g), gang->row.number, g)) {
        training_fail(t, HR_NOMEM);
        return;
    }
    why_begin(&t->why, gang->class, now, gang->blocked_at);
    gang->state = GANG_WAITING;
    gang->since_ns = now;
    t->blocked.known = false;
}

void gang_close(struct training *t, uint32_t g, enum job_outcome outcome)
{
    struct gang *gang = at(t, g);
    gang->row.outcome = outcome;
    if (measured(t, gang)) {
        struct queue_totals *n = &t->totals;
        uint64_t *const counts[OUTCOMES] = {&n->done, &n->censored, &n->waiting, &n->refused};
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

static simtime_ns length(const struct training *t, const struct gang *g, simtime_ns left_ns)
{
    const struct checkpoint_plan *c = &t->plan->checkpoint;
    return checkpoint_length(restore(g), left_ns, g->interval_ns, c->stall_ns, c->final_save);
}

static struct progress progress(const struct training *t, const struct gang *g, simtime_ns now)
{
    const struct checkpoint_plan *c = &t->plan->checkpoint;
    return checkpoint_progress(restore(g), left(g), g->interval_ns, c->stall_ns, c->final_save,
                               now - g->since_ns);
}

/* A limit bounds the wall time of the whole job, saves included; what has been kept counts. */
simtime_ns gang_estimate(const struct training *t, uint32_t g)
{
    const struct gang *gang = &t->gangs.items[g];
    simtime_ns done = gang->row.done_ns;
    if (t->plan->estimate == ESTIMATE_LIMIT && gang->limit_ns != JOB_UNSET)
        return sim_time_add(restore(gang), gang->limit_ns > done ? gang->limit_ns - done : 0);
    if (t->plan->estimate == ESTIMATE_FACTOR) {
        simtime_ns work =
            sim_time_from_s(sim_time_to_s(gang->row.work_ns) * t->plan->estimate_factor);
        return length(t, gang, work > done ? work - done : 0);
    }
    return length(t, gang, left(gang));
}

simtime_ns gang_next_stop(const struct training *t, uint32_t g, bool save, simtime_ns now)
{
    const struct gang *gang = &t->gangs.items[g];
    simtime_ns end = sim_time_add(gang->since_ns, length(t, gang, left(gang)));
    if (!save || gang->interval_ns == 0 || gang->interval_ns == SIM_NEVER)
        return end;
    uint64_t saves = progress(t, gang, now).saves + 1;
    simtime_ns period = sim_time_add(gang->interval_ns, t->plan->checkpoint.stall_ns);
    simtime_ns saved = gang->since_ns + restore(gang) + saves * period;
    return saved < end ? saved : end;
}

enum gpu_state gang_first_state(const struct training *t, uint32_t g)
{
    return restore(&t->gangs.items[g]) > 0 ? GPU_RESTORING : GPU_TRAINING;
}

/* A start that needed evicted GPUs is ready when training begins. */
static void reclaim_ready(struct training *t, const struct gang *g, simtime_ns now)
{
    struct reclaim_row *row = fleet_lease_reclaim(gang_fleet(t, g), g->lease);
    if (!row)
        return;
    row->stage_ns[STAGE_WEIGHTS] = g->load_ns;
    row->stage_ns[STAGE_ENGINE] = g->init_ns;
    row->ready_ns = now;
}

/* ---- the ledger ---- */

static void rebook(struct training *t, const struct gang *g, enum gpu_state to, simtime_ns t0,
                   simtime_ns t1)
{
    if (t1 > t0 && t1 > t->start_ns && t0 < t->end_ns)
        ledger_rebook(t->pools[g->pool].ledger, g->row.claimant + 1, GPU_TRAINING, to, g->row.gpus,
                      t0, t1);
}

/* Books the saves of a segment that has ended at now, and its lost end. The i-th complete save
 * (from 0) follows min((i + 1) tau, left) of work and i saves. */
static void book_segment(struct training *t, const struct gang *g, const struct progress *p,
                         simtime_ns now, bool unfinished_is_kept)
{
    simtime_ns stall = t->plan->checkpoint.stall_ns;
    simtime_ns first = g->since_ns + restore(g);
    uint64_t i = 0;
    if (p->saves > 1 && t->start_ns > first) /* the comb before the measured part is not counted */
        i = (t->start_ns - first) / (g->interval_ns + stall);
    for (; stall > 0 && i < p->saves; i++) {
        simtime_ns work = i < left(g) / g->interval_ns ? (i + 1) * g->interval_ns : left(g);
        simtime_ns from = first + work + i * stall;
        if (from >= t->end_ns)
            break;
        rebook(t, g, GPU_CHECKPOINTING, from, from + stall);
    }
    if (unfinished_is_kept)
        rebook(t, g, GPU_CHECKPOINTING, now - p->lost_save_ns, now);
    else
        rebook(t, g, GPU_LOST, now - p->lost_work_ns - p->lost_save_ns, now);
}

/* Of each hour from its start on, a gang that is busy only in part idles at the end. */
static void book_idle(struct training *t, const struct gang *g, simtime_ns now)
{
    if (g->busy >= 1)
        return;
    simtime_ns first = g->since_ns + restore(g);
    simtime_ns work = (simtime_ns)(g->busy * (double)SIM_HOUR);
    simtime_ns from = first;
    if (t->start_ns > first) /* what is before the measured part is not counted */
        from += (t->start_ns - first) / SIM_HOUR * SIM_HOUR;
    for (; from < now && from < t->end_ns; from += SIM_HOUR) {
        simtime_ns end = from + SIM_HOUR < now ? from + SIM_HOUR : now;
        rebook(t, g, GPU_HELD_IDLE, from + work, end);
    }
}

/* ---- start and end ---- */

static void end_segment(struct training *t, uint32_t g)
{
    struct gang *gang = at(t, g);
    if (gang->timer != TIMER_NONE)
        engine_timer_free(t->engine, gang->timer);
    gang->timer = TIMER_NONE;
    expected_ends_remove(&t->ends[gang->pool], gang->expected_end_ns, g);
    shares_change(&t->shares, gang->tenant, gang->pool, -(int64_t)gang->row.gpus,
                  engine_now(t->engine));
    t->blocked.known = false;
}

static void finish(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct progress p = progress(t, gang, now);
    struct gang was = *gang;
    gang->row.restoring_ns += p.restore_ns;
    gang->row.saving_ns += p.save_ns;
    gang->row.done_ns = gang->row.work_ns;
    gang->row.end_ns = now;
    end_segment(t, g);
    gang_close(t, g, OUTCOME_DONE);
    fleet_stop_at(gang_fleet(t, &was), was.lease, now, 0);
    book_segment(t, &was, &p, now, true);
    book_idle(t, &was, now);
}

static void schedule_end(struct training *t, const struct gang *g)
{
    engine_schedule(t->engine, g->timer, sim_time_add(g->since_ns, length(t, g, left(g))));
}

static void fire(void *ctx, uint32_t g)
{
    struct training *t = ctx;
    struct gang *gang = at(t, g);
    simtime_ns now = engine_now(t->engine);
    if (gang->state == GANG_TRAINING) {
        finish(t, g, now);
        return;
    }
    assert(gang->state == GANG_RESTORING);
    gang->state = GANG_TRAINING;
    fleet_set_state(gang_fleet(t, gang), gang->lease, GPU_TRAINING);
    reclaim_ready(t, gang, now);
    schedule_end(t, gang);
}

void gang_start(struct training *t, uint32_t g, uint32_t pool, lease_id l, simtime_ns now)
{
    struct gang *gang = at(t, g);
    gang->pool = pool;
    gang->row.waiting_ns += now - gang->since_ns;
    if (gang->state == GANG_ASSEMBLING)
        gang->row.blocked_ns[BLOCK_PREEMPTION] += now - gang->asked_ns;
    if (gang->row.first_start_ns == SIM_NEVER) {
        gang->row.first_start_ns = now;
        t->totals.started += !gang->row.backlog && measured(t, gang);
    }
    gang->lease = l;
    gang->since_ns = now;
    gang->state = restore(gang) > 0 ? GANG_RESTORING : GANG_TRAINING;
    gang->expected_end_ns = sim_time_add(now, gang_estimate(t, g));
    struct expected_end end = {gang->expected_end_ns, g, gang->row.gpus};
    t->blocked.known = false;
    bool added = expected_ends_add(&t->ends[pool], end);
    shares_change(&t->shares, gang->tenant, pool, gang->row.gpus, now);
    assert(added); /* gang_new made room */
    (void)added;
    enum hr_err err = engine_timer_new(t->engine, EVENT_COMPLETE, fire, t, g, &gang->timer);
    if (err != HR_OK) {
        training_fail(t, err);
        return;
    }
    if (gang->state == GANG_RESTORING) {
        engine_schedule(t->engine, gang->timer, sim_time_add(now, restore(gang)));
    } else {
        reclaim_ready(t, gang, now);
        schedule_end(t, gang);
    }
}

/* ---- eviction ---- */

static bool saves_on_notice(const struct training *t, simtime_ns grace_ns)
{
    const struct checkpoint_plan *c = &t->plan->checkpoint;
    return c->save_on_notice && c->notice_save_ns <= grace_ns;
}

uint64_t gang_loss(const struct training *t, uint32_t g, simtime_ns now)
{
    const struct gang *gang = &t->gangs.items[g];
    if (!gang->preemptible)
        return FLEET_KEEP;
    if (saves_on_notice(t, fleet_grace_ns(gang_fleet(t, gang))))
        return 0;
    struct progress p = progress(t, gang, now);
    u128 loss = (u128)(p.lost_work_ns + p.lost_save_ns) * gang->row.gpus;
    return loss < FLEET_KEEP ? (uint64_t)loss : FLEET_KEEP - 1;
}

/* A save on notice keeps all the work up to now and ends the save that was under way; without one
 * the work since the last complete save is gone. */
void gang_evict(struct training *t, uint32_t g, simtime_ns now, simtime_ns grace_ns)
{
    struct gang *gang = at(t, g);
    assert(gang->state == GANG_TRAINING || gang->state == GANG_RESTORING);
    bool saved = saves_on_notice(t, grace_ns);
    struct progress p = progress(t, gang, now);
    simtime_ns save = saved ? t->plan->checkpoint.notice_save_ns : 0;
    simtime_ns stop = now + (saved ? save : grace_ns);
    struct gang was = *gang;
    gang->row.restoring_ns += p.restore_ns;
    gang->row.done_ns += saved ? p.work_ns : p.kept_ns;
    gang->row.saving_ns += p.save_ns - (saved ? 0 : p.lost_save_ns);
    gang->row.lost_ns += saved ? 0 : p.lost_work_ns + p.lost_save_ns;
    gang->row.preemptions++;
    t->totals.preemptions += in_measured_part(t, now);
    end_segment(t, g);
    gang->state = GANG_STOPPING;
    if (left(gang) == 0) { /* it was in its final save, and the save on notice is that */
        bool ends = stop < t->end_ns;
        gang->row.end_ns = ends ? stop : SIM_NEVER;
        gang_close(t, g, ends ? OUTCOME_DONE : OUTCOME_CENSORED);
    }
    fleet_stop_at(gang_fleet(t, &was), was.lease, stop, save);
    book_segment(t, &was, &p, now, saved);
}

/* One node less ends the gang: what it has done since the last complete save is lost. */
void gang_fail(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct progress p = progress(t, gang, now);
    struct gang was = *gang;
    gang->row.restoring_ns += p.restore_ns;
    gang->row.done_ns += p.kept_ns;
    gang->row.saving_ns += p.save_ns - p.lost_save_ns;
    gang->row.lost_ns += p.lost_work_ns + p.lost_save_ns;
    gang->row.failures++;
    t->totals.failures += in_measured_part(t, now);
    end_segment(t, g);
    gang->state = GANG_STOPPING;
    fleet_stop_at(gang_fleet(t, &was), was.lease, now, 0);
    book_segment(t, &was, &p, now, false);
}

void gang_withdrawn(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    gang->row.waiting_ns += now - gang->since_ns;
    gang->row.blocked_ns[BLOCK_PREEMPTION] += now - gang->asked_ns;
    gang_wait(t, g, now);
}

void gang_released(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    gang->lease = LEASE_NONE;
    gang->load_ns = dist_draw(&t->plan->restart_load, &t->restart);
    gang->init_ns = dist_draw(&t->plan->restart_init, &t->restart);
    gang_wait(t, g, now);
    training_want_pass(t);
}

/* ---- the end of the run ---- */

void gang_settle(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    if (gang->state != GANG_RESTORING && gang->state != GANG_TRAINING) {
        if (gang->state != GANG_STOPPING)
            gang->row.waiting_ns += now - gang->since_ns;
        if (gang->state == GANG_WAITING)
            why_end(&t->why, gang->class, now, gang->blocked_at, gang->row.blocked_ns);
        else if (gang->state == GANG_ASSEMBLING)
            gang->row.blocked_ns[BLOCK_PREEMPTION] += now - gang->asked_ns;
        gang_close(t, g, OUTCOME_WAITING);
        return;
    }
    struct progress p = progress(t, gang, now);
    book_segment(t, gang, &p, now, true);
    book_idle(t, gang, now);
    gang->row.restoring_ns += p.restore_ns;
    gang->row.saving_ns += p.save_ns;
    gang->row.done_ns += p.work_ns;
    end_segment(t, g);
    gang_close(t, g, OUTCOME_CENSORED);
}
