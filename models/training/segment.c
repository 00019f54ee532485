/* A segment of a gang: from a start to the end, eviction or failure that follows.
 *
 * While a gang trains its GPUs are booked as training throughout; when something ends the segment,
 * the saves in it follow in closed form (training/checkpoint.h) and are re-booked to the very
 * intervals in which they were made, and what dies with it, the last part of the segment, to
 * lost. Where saves go to a shared storage each is an event instead: writer.c.
 *
 * A segment is of one size: its comb counts wall time on the GPUs it holds, and what it has kept
 * turns into work at its speed (training/elastic.h), or at those that it had one after the other
 * where neighbours change it (pace.c). Intervals between saves are wall time. */
#include "models/training/queue_internal.h"

simtime_ns segment_restore(const struct gang *g)
{
    return sim_time_add(g->load_ns, g->init_ns);
}

simtime_ns segment_left(const struct gang *g)
{
    return g->row.work_ns - g->row.done_ns;
}

simtime_ns segment_work(const struct gang *g, simtime_ns wall_ns)
{
    simtime_ns work = pace_work(g, wall_ns), left = segment_left(g);
    return work < left ? work : left;
}

struct save_comb segment_comb(const struct gang *g, simtime_ns left_ns)
{
    const struct checkpoint_plan *s = &g->saves;
    return (struct save_comb){.restore_ns = segment_restore(g),
                              .left_ns = pace_wall(g, left_ns),
                              .interval_ns = g->interval_ns,
                              .growth = s->growth,
                              .stall_ns = s->stall_ns,
                              .write_ns = s->write_ns,
                              .copy_ns = s->copy_ns,
                              .copy_stall_ns = s->copy_stall_ns,
                              .final_save = s->final_save};
}

simtime_ns segment_length(const struct gang *g, simtime_ns left_ns)
{
    const struct save_comb c = segment_comb(g, left_ns);
    return checkpoint_length(&c);
}

simtime_ns segment_end(const struct gang *g)
{
    return sim_time_add(g->since_ns, segment_length(g, segment_left(g)));
}

struct progress segment_progress(const struct gang *g, simtime_ns now)
{
    if (g->writer.phase != WRITER_OFF)
        return writer_progress(g, now);
    const struct save_comb c = segment_comb(g, segment_left(g));
    return checkpoint_progress(&c, now - g->since_ns);
}

simtime_ns segment_next_save(const struct gang *g, simtime_ns now)
{
    const struct save_comb c = segment_comb(g, segment_left(g));
    return sim_time_add(g->since_ns, checkpoint_next_save(&c, now - g->since_ns));
}

/* ---- the ledger ---- */

/* Share-time of a gang's owner while it held so many GPUs. */
static void rebook(struct training *t, const struct gang *g, uint32_t held, enum gpu_state to,
                   simtime_ns t0, simtime_ns t1)
{
    const struct pool *pool = &t->pools[g->pool];
    if (t1 <= t0 || t1 <= t->start_ns || t0 >= t->end_ns)
        return;
    ledger_rebook(pool->ledger, g->row.claimant + 1, GPU_TRAINING, to, held, t0, t1);
    if (pool->compute)
        ledger_rebook(pool->compute, g->row.claimant + 1, GPU_TRAINING, to, g->compute, t0, t1);
}

void segment_rebook(struct training *t, const struct gang *g, enum gpu_state to, simtime_ns t0,
                    simtime_ns t1)
{
    rebook(t, g, g->held, to, t0, t1);
}

/* The stalls of a segment from a time on until another. */
static void book_stalls(struct training *t, const struct gang *g, const struct unsaved *segment,
                        simtime_ns after, simtime_ns until)
{
    simtime_ns from, to = 0, since = segment->since_ns;
    after = after < t->start_ns ? t->start_ns : after;
    if (after > since)
        to = after - since;
    while (checkpoint_next_stall(&segment->comb, to, &from, &to) && since + from < until &&
           since + from < t->end_ns) {
        simtime_ns begin = since + from < after ? after : since + from, end = since + to;
        rebook(t, g, segment->held, GPU_CHECKPOINTING, begin, end < until ? end : until);
    }
}

static struct unsaved present(const struct gang *g)
{
    return (struct unsaved){
        .comb = segment_comb(g, segment_left(g)), .since_ns = g->since_ns, .held = g->held};
}

void segment_book(struct training *t, const struct gang *g, simtime_ns lost_ns, simtime_ns now)
{
    const struct unsaved segment = present(g);
    if (g->writer.phase != WRITER_OFF)
        writer_book(t, g, now - lost_ns);
    else
        book_stalls(t, g, &segment, 0, now - lost_ns);
    rebook(t, g, g->held, GPU_LOST, now - lost_ns, now);
}

/* ---- the end of a segment that a resize has yet to save ---- */

void segment_set_aside(struct training *t, struct gang *g, const struct gang *was,
                       const struct progress *p, simtime_ns now)
{
    struct unsaved u = present(was);
    if (was->writer.phase !=
        WRITER_OFF) { /* on a shared storage the resize's save counts at once */
        writer_book(t, was, now);
        return;
    }
    u.end_ns = now;
    u.work_ns = segment_work(was, p->work_ns) - segment_work(was, p->kept_ns);
    u.worked_ns = p->lost_work_ns;
    u.saving_ns = p->lost_save_ns;
    book_stalls(t, g, &u, 0, now - u.worked_ns - u.saving_ns);
    if (u.worked_ns + u.saving_ns > 0)
        g->unsaved = u;
}

void segment_settle(struct training *t, struct gang *g, bool lost)
{
    const struct unsaved u = g->unsaved;
    simtime_ns length = u.worked_ns + u.saving_ns;
    g->unsaved = (struct unsaved){0};
    if (length == 0)
        return;
    if (!lost) {
        book_stalls(t, g, &u, u.end_ns - length, u.end_ns);
        return;
    }
    g->row.done_ns -= u.work_ns;
    g->row.worked_ns -= u.worked_ns;
    g->row.saving_ns -= u.saving_ns;
    g->row.lost_ns += length;
    rebook(t, g, u.held, GPU_LOST, u.end_ns - length, u.end_ns);
}

void segment_book_idle(struct training *t, const struct gang *g, simtime_ns now)
{
    if (g->busy >= 1)
        return;
    simtime_ns first = g->since_ns + segment_restore(g);
    simtime_ns work = (simtime_ns)(g->busy * (double)SIM_HOUR);
    simtime_ns from = first;
    if (t->start_ns > first) /* what is before the measured part is not counted */
        from += (t->start_ns - first) / SIM_HOUR * SIM_HOUR;
    for (; from < now && from < t->end_ns; from += SIM_HOUR) {
        simtime_ns end = from + SIM_HOUR < now ? from + SIM_HOUR : now;
        rebook(t, g, g->held, GPU_HELD_IDLE, from + work, end);
    }
}
