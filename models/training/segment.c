/* A segment of a gang: from a start to the end, eviction or failure that follows.
 *
 * While a gang trains its GPUs are booked as training throughout; when something ends the segment,
 * the saves in it follow in closed form (training/checkpoint.h) and are re-booked to the very
 * intervals in which they were made, and what dies with it, the last part of the segment, to
 * lost. Where saves go to a shared storage each is an event instead: writer.c. */
#include "models/training/queue_internal.h"

simtime_ns segment_restore(const struct gang *g)
{
    return sim_time_add(g->load_ns, g->init_ns);
}

simtime_ns segment_left(const struct gang *g)
{
    return g->row.work_ns - g->row.done_ns;
}

struct save_comb segment_comb(const struct gang *g, simtime_ns left_ns)
{
    const struct checkpoint_plan *s = &g->saves;
    return (struct save_comb){.restore_ns = segment_restore(g),
                              .left_ns = left_ns,
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

void segment_rebook(struct training *t, const struct gang *g, enum gpu_state to, simtime_ns t0,
                    simtime_ns t1)
{
    if (t1 > t0 && t1 > t->start_ns && t0 < t->end_ns)
        ledger_rebook(t->pools[g->pool].ledger, g->row.claimant + 1, GPU_TRAINING, to, g->row.gpus,
                      t0, t1);
}

static void book_stalls(struct training *t, const struct gang *g, simtime_ns safe)
{
    const struct save_comb c = segment_comb(g, segment_left(g));
    simtime_ns from, to = 0;
    if (t->start_ns > g->since_ns)
        to = t->start_ns - g->since_ns;
    while (checkpoint_next_stall(&c, to, &from, &to) && g->since_ns + from < safe &&
           g->since_ns + from < t->end_ns) {
        simtime_ns end = g->since_ns + to;
        segment_rebook(t, g, GPU_CHECKPOINTING, g->since_ns + from, end < safe ? end : safe);
    }
}

void segment_book(struct training *t, const struct gang *g, simtime_ns lost_ns, simtime_ns now)
{
    simtime_ns safe = now - lost_ns;
    if (g->writer.phase != WRITER_OFF)
        writer_book(t, g, safe);
    else
        book_stalls(t, g, safe);
    segment_rebook(t, g, GPU_LOST, safe, now);
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
        segment_rebook(t, g, GPU_HELD_IDLE, from + work, end);
    }
}
