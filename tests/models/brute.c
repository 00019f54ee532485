/* Time, and the life of a job. */
#include "brute_internal.h"

#include <stdlib.h>

void sooner(simtime_ns *next, simtime_ns t)
{
    *next = t < *next ? t : *next;
}

void want_pass(struct brute *b)
{
    simtime_ns at = b->now == b->passed_at ? b->now + 1 : b->now;
    b->pass_at = at < b->pass_at ? at : b->pass_at;
}

void note(struct brute *b, const struct lease_of *l, uint32_t gpus, enum brute_event_kind kind)
{
    if (gpus == 0)
        return;
    if (b->out->n_log == BRUTE_LOG) {
        b->full = true;
        return;
    }
    b->out->log[b->out->n_log++] = (struct brute_event){b->now, l->tenant, gpus, kind};
}

/* ---- checkpoints, one after another ---- */

/* A segment of a job after so long; with SIM_NEVER its length is what it has taken at the end. */
static struct comb walk(const struct brute *b, size_t job, simtime_ns elapsed, simtime_ns *length)
{
    const struct brute_case *c = b->c;
    simtime_ns t = b->jobs[job].restore_ns, saved_at = t;
    struct comb comb = {0, 0, 0, elapsed > t ? elapsed - t : 0};
    simtime_ns left = c->jobs[job].work_ns - b->jobs[job].done_ns;
    while (left > 0) {
        simtime_ns piece = left <= c->interval_ns ? left : c->interval_ns;
        bool saves = piece < left || c->final_save;
        if (elapsed < t + piece) {
            comb.work += elapsed > t ? elapsed - t : 0;
            comb.lost = elapsed > saved_at ? elapsed - saved_at : 0;
            return comb;
        }
        t += piece;
        comb.work += piece;
        left -= piece;
        if (saves && elapsed < t + c->stall_ns) {
            comb.lost = elapsed - saved_at;
            return comb;
        }
        if (saves) {
            t += c->stall_ns;
            saved_at = t;
            comb.kept = comb.work;
        }
    }
    *length = t;
    comb.lost = elapsed > saved_at ? elapsed - saved_at : 0; /* it fails where it ends */
    return comb;
}

simtime_ns brute_segment_length(const struct brute *b, size_t job)
{
    simtime_ns length = 0;
    walk(b, job, SIM_NEVER, &length);
    return b->c->jobs[job].work_ns == b->jobs[job].done_ns ? b->jobs[job].restore_ns : length;
}

/* ---- start ---- */

void begin_segment(struct brute *b, size_t job)
{
    struct job_state *s = &b->jobs[job];
    const struct lease_of *l = &b->leases[s->lease];
    s->phase = RUNNING;
    s->since_ns = b->now;
    s->hold = b->n_holds;
    b->full = b->full || b->n_holds == MOST_HOLDS;
    if (!b->full)
        b->holds[b->n_holds++] = (struct hold){l->tenant, l->gpus, b->now, SIM_NEVER};
}

void end_segment(struct brute *b, size_t job)
{
    if (!b->full)
        b->holds[b->jobs[job].hold].until = b->now;
}

void start_job(struct brute *b, size_t job, size_t lease)
{
    struct job_state *s = &b->jobs[job];
    struct brute_fate *f = &b->out->fates[job];
    s->lease = lease;
    b->leases[lease].state = HELD;
    b->leases[lease].since_ns = b->now;
    f->first_start_ns = f->first_start_ns == SIM_NEVER ? b->now : f->first_start_ns;
    note(b, &b->leases[lease], b->leases[lease].gpus, BRUTE_START);
    begin_segment(b, job);
}

/* ---- stop ---- */

void stop_lease(struct brute *b, size_t lease, simtime_ns at)
{
    struct lease_of *l = &b->leases[lease];
    l->state = DRAINING;
    l->released_ns = at + b->c->teardown_ns;
    l->clean_ns = l->released_ns + b->c->scrub_ns;
    note(b, l, l->gpus, BRUTE_STOP);
    struct counts n = count_all(b);
    if (borrowed_by(&n, l->tenant) == 0)
        b->due[l->tenant] = 0;
}

static simtime_ns grace_of(const struct brute *b)
{
    const struct preemption_plan *p = &b->c->preemption;
    return p->own_grace && p->grace_ns < b->c->grace_ns ? p->grace_ns : b->c->grace_ns;
}

/* Whether an eviction keeps all work, and how long it takes then. */
static bool keeps_work(const struct brute *b, simtime_ns *takes)
{
    enum preemption_mode mode = b->c->preemption.mode;
    *takes = mode == PREEMPTION_SUSPEND ? b->c->preemption.suspend_ns : b->c->notice_save_ns;
    if (mode == PREEMPTION_CANCEL || (mode == PREEMPTION_REQUEUE && !b->c->save_on_notice))
        return false;
    return *takes <= grace_of(b);
}

struct comb comb_now(const struct brute *b, size_t job)
{
    const struct job_state *s = &b->jobs[job];
    simtime_ns length, until = s->phase == BROKEN ? s->broken_ns : b->now;
    return walk(b, job, until - s->since_ns, &length);
}

/* Wall time lost by an eviction now. */
static simtime_ns lost_now(const struct brute *b, size_t job)
{
    struct comb comb = comb_now(b, job);
    simtime_ns takes;
    if (keeps_work(b, &takes))
        return 0;
    return b->c->preemption.mode == PREEMPTION_CANCEL ? b->jobs[job].done_ns + comb.wall
                                                      : comb.lost;
}

bool may_lose(struct brute *b, size_t lease, int32_t priority, simtime_ns *loss)
{
    const struct lease_of *l = &b->leases[lease];
    const struct job_state *s = &b->jobs[l->job];
    simtime_ns exempt = l->since_ns + b->c->preemption.exempt_ns;
    if (l->state != HELD || !b->c->jobs[l->job].preemptible)
        return false;
    if (b->now < exempt) {
        sooner(&b->exempt_over, exempt);
        return false;
    }
    if (s->evicted_ns != SIM_NEVER && b->now <= s->evicted_ns + SIM_US &&
        b->now <= l->since_ns + SIM_US && priority <= s->evicted_for)
        return false;
    if (b->now < l->since_ns + l->guard_ns && priority <= job_priority(b->c, &b->c->jobs[l->job])) {
        sooner(&b->exempt_over, l->since_ns + l->guard_ns);
        return false;
    }
    *loss = s->phase == BROKEN ? 0 : lost_now(b, l->job) * l->gpus;
    return true;
}

static void end_by_eviction(struct brute *b, size_t lease)
{
    size_t job = b->leases[lease].job;
    struct job_state *s = &b->jobs[job];
    struct brute_fate *f = &b->out->fates[job];
    struct comb comb = comb_now(b, job);
    simtime_ns takes;
    bool keeps = keeps_work(b, &takes), cancels = b->c->preemption.mode == PREEMPTION_CANCEL;
    simtime_ns stop = b->now + (keeps ? takes : grace_of(b));
    f->lost_ns += lost_now(b, job);
    s->fruitless = (keeps ? comb.work : comb.kept) > 0 ? 0 : s->fruitless + 1;
    s->fruitless_ns = s->fruitless == 1 ? b->now : s->fruitless_ns;
    s->done_ns = cancels ? 0 : s->done_ns + (keeps ? comb.work : comb.kept);
    s->suspended = keeps && b->c->preemption.mode == PREEMPTION_SUSPEND;
    s->phase = STOPPING;
    end_segment(b, job);
    if (cancels || s->done_ns == b->c->jobs[job].work_ns) { /* the save is its final save */
        s->phase = OVER;
        f->end_ns = stop;
    }
    stop_lease(b, lease, stop);
}

void evict(struct brute *b, size_t lease, int32_t priority)
{
    size_t job = b->leases[lease].job;
    struct job_state *s = &b->jobs[job];
    s->evicted_ns = b->now;
    s->evicted_for = priority;
    b->out->fates[job].preemptions++;
    b->out->evictions++;
    b->leases[lease].evicted = true;
    if (s->phase == BROKEN)
        give_up_or_swap(b, job, false);
    else
        end_by_eviction(b, lease);
}

static void finish(struct brute *b, size_t job)
{
    b->jobs[job].phase = OVER;
    b->out->fates[job].end_ns = b->now;
    end_segment(b, job);
    stop_lease(b, b->jobs[job].lease, b->now);
    want_pass(b);
}

/* ---- what is over at an instant ---- */

static void hand_out(struct brute *b, struct lease_of *from)
{
    for (uint32_t node = 0; node < b->c->nodes; node++)
        for (size_t i = 0; i < b->n_leases; i++) {
            struct lease_of *l = &b->leases[i];
            uint32_t n = l->wants[node] < from->on[node] ? l->wants[node] : from->on[node];
            if (l->state != GROWING)
                continue;
            l->wants[node] -= n;
            l->on[node] += n;
            from->on[node] -= n;
        }
    from->state = GONE;
}

static bool complete(const struct lease_of *l)
{
    uint32_t wants = 0;
    for (uint32_t node = 0; node < BRUTE_NODES; node++)
        wants += l->wants[node];
    return wants == 0;
}

static bool lease_over(struct brute *b, size_t i)
{
    struct lease_of *l = &b->leases[i];
    struct job_state *s = &b->jobs[l->job];
    if (l->state == GROWING && complete(l)) {
        start_job(b, l->job, i);
        if (b->c->serial && l->waits_for_evicted)
            want_pass(b);
    } else if (l->state == HELD && s->phase == RUNNING &&
               b->now >= s->since_ns + brute_segment_length(b, l->job)) {
        finish(b, l->job);
    } else if (l->state == DRAINING && b->now >= l->released_ns) {
        l->state = SCRUBBING;
        if (s->phase == STOPPING && s->lease == i) {
            s->phase = WAITING;
            s->restore_ns =
                s->suspended ? b->c->preemption.resume_ns : b->c->load_ns + b->c->init_ns;
        }
        want_pass(b);
    } else if (l->state == SCRUBBING && b->now >= l->clean_ns) {
        hand_out(b, l);
        want_pass(b);
    } else {
        return false;
    }
    return true;
}

static void settle(struct brute *b)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < b->n_leases; i++)
            again = lease_over(b, i) || again;
    }
}

static void submit(struct brute *b)
{
    for (size_t j = 0; j < b->c->n_jobs; j++)
        if (b->jobs[j].phase == FUTURE && b->c->jobs[j].submit_ns <= b->now) {
            bool never = never_fits(b, &b->c->jobs[j]);
            b->jobs[j].phase = never ? OVER : WAITING;
            b->out->fates[j].refused = never;
            if (!never)
                want_pass(b);
        }
}

/* ---- time ---- */

static simtime_ns next_instant(const struct brute *b)
{
    simtime_ns next = next_of_nodes(b);
    sooner(&next, b->pass_at);
    sooner(&next, b->exempt_over);
    for (size_t j = 0; j < b->c->n_jobs; j++)
        if (b->jobs[j].phase == FUTURE)
            sooner(&next, b->c->jobs[j].submit_ns);
    for (size_t i = 0; i < b->n_leases; i++) {
        const struct lease_of *l = &b->leases[i];
        if (l->state == HELD && b->jobs[l->job].phase == RUNNING)
            sooner(&next, b->jobs[l->job].since_ns + brute_segment_length(b, l->job));
        if (l->state == DRAINING)
            sooner(&next, l->released_ns);
        if (l->state == SCRUBBING)
            sooner(&next, l->clean_ns);
    }
    return next;
}

bool brute_run(const struct brute_case *c, struct brute_result *out)
{
    struct brute *b = calloc(1, sizeof *b);
    if (!b)
        return false;
    *out = (struct brute_result){0};
    b->c = c;
    b->out = out;
    b->pass_at = b->passed_at = b->exempt_over = SIM_NEVER;
    for (size_t j = 0; j < c->n_jobs; j++)
        out->fates[j].first_start_ns = out->fates[j].end_ns = b->jobs[j].evicted_ns = SIM_NEVER;
    nodes_begin(b);
    for (b->now = next_instant(b); b->now < c->end_ns && !b->full; b->now = next_instant(b)) {
        failures(b);
        detections(b);
        settle(b);
        repairs(b);
        if (b->exempt_over <= b->now) {
            b->exempt_over = SIM_NEVER;
            want_pass(b);
        }
        submit(b);
        if (b->pass_at <= b->now) {
            b->pass_at = SIM_NEVER;
            pass(b);
            b->passed_at = b->now;
            settle(b);
        }
    }
    bool ok = !b->full;
    for (size_t j = 0; j < c->n_jobs; j++) /* an end that the run does not reach */
        if (out->fates[j].end_ns >= c->end_ns)
            out->fates[j].end_ns = SIM_NEVER;
    free(b);
    return ok;
}
