/* The segment of a gang whose saves go to a storage that others use too.
 *
 * How long a save takes is not known before it is over, so each is an event. The segment is a row
 * of teeth as in training/checkpoint.h: a piece of work with its copies in host memory, then the
 * stall of the save behind it. A save written beside the work holds what the teeth before the
 * present one have done; the next does not begin before it is written, and the gang works on until
 * then. Where nobody else uses the storage all of this equals the closed form to the nanosecond.
 *
 * While a gang trains its GPUs are booked as training throughout. When a save is complete the
 * stalls up to it are re-booked: nothing can undo them any more, except where a gang is evicted for
 * good and all of the segment is lost; there they are kept until it ends. */
#include "models/training/queue_internal.h"

#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>

static struct gang *at(struct training *t, uint32_t g)
{
    return &t->gangs.items[g];
}

static simtime_ns min_ns(simtime_ns a, simtime_ns b)
{
    return a < b ? a : b;
}

/* ---- a tooth ---- */

/* Its work and copies, without any save, from the tooth's begin. */
static struct save_comb work_of(const struct gang *g, const struct tooth *k)
{
    return (struct save_comb){.left_ns = k->piece_ns,
                              .copy_ns = g->saves.copy_ns,
                              .copy_stall_ns = g->saves.copy_stall_ns};
}

static struct progress worked(const struct gang *g, const struct tooth *k, simtime_ns now)
{
    const struct save_comb c = work_of(g, k);
    return checkpoint_progress(&c, min_ns(now, k->work_end_ns) - k->begin_ns);
}

static simtime_ns stalled(const struct tooth *k, simtime_ns now)
{
    simtime_ns end = min_ns(now, k->end_ns);
    return end > k->work_end_ns ? end - k->work_end_ns : 0;
}

static void book_tooth(struct training *t, const struct gang *g, const struct tooth *k,
                       simtime_ns until)
{
    const struct save_comb c = work_of(g, k);
    simtime_ns end = min_ns(k->work_end_ns, until), from, to = 0;
    while (checkpoint_next_stall(&c, to, &from, &to) && k->begin_ns + from < end)
        segment_rebook(t, g, GPU_CHECKPOINTING, k->begin_ns + from, min_ns(k->begin_ns + to, end));
    segment_rebook(t, g, GPU_CHECKPOINTING, k->work_end_ns, min_ns(k->end_ns, until));
}

/* A complete save holds all that the tooth has done. */
static void book_saved(struct training *t, struct gang *g, simtime_ns now)
{
    uint32_t owner = g->row.claimant + 1;
    g->writer.unbooked = false;
    if (t->plan->preemption.mode == PREEMPTION_CANCEL) {
        if (!vec_push(&g->writer.teeth, g->writer.saved))
            training_fail(t, HR_NOMEM);
        return;
    }
    ledger_move(t->pools[g->pool].ledger, now, owner, GPU_TRAINING, owner, GPU_TRAINING,
                0); /* the account is booked up to now */
    book_tooth(t, g, &g->writer.saved, g->writer.saved.end_ns);
}

/* ---- what has been done ---- */

struct progress writer_progress(const struct gang *g, simtime_ns now)
{
    const struct writer *w = &g->writer;
    if (w->phase == WRITER_RESTORES)
        return (struct progress){.restore_ns = now - g->since_ns};
    const struct tooth *k = &w->tooth;
    struct progress p = worked(g, k, now);
    simtime_ns in_save = stalled(k, now);
    p.restore_ns = w->begin_ns - g->since_ns;
    p.work_ns += k->before_ns;
    p.save_ns += w->stalls_ns + in_save;
    p.kept_ns = w->kept_ns;
    p.lost_work_ns = p.work_ns - w->kept_ns;
    p.lost_save_ns = p.save_ns - w->kept_stalls_ns;
    p.copied_ns += k->before_ns;
    p.uncopied_ns += in_save;
    p.saves = w->saves;
    if (g->saves.copy_ns == 0 || g->saves.copy_ns == SIM_NEVER) {
        p.copied_ns = w->kept_ns;
        p.uncopied_ns = p.lost_work_ns + p.lost_save_ns;
    }
    return p;
}

void writer_book(struct training *t, const struct gang *g, simtime_ns until)
{
    const struct writer *w = &g->writer;
    if (w->phase == WRITER_RESTORES)
        return;
    for (size_t i = 0; i < w->teeth.n; i++)
        book_tooth(t, g, &w->teeth.items[i], until);
    if (w->unbooked)
        book_tooth(t, g, &w->saved, until);
    book_tooth(t, g, &w->tooth, until);
}

void writer_reset(struct writer *w, enum writer_phase phase)
{
    struct writer fresh = {.phase = phase, .transfer = TRANSFER_NONE, .teeth = w->teeth};
    fresh.teeth.n = 0;
    *w = fresh;
}

void writer_fini(struct writer *w)
{
    vec_free(&w->teeth);
}

/* ---- transfers ---- */

/* A transfer is over. */
static void transferred(void *ctx, uint32_t g)
{
    struct training *t = ctx;
    simtime_ns now = engine_now(t->engine);
    at(t, g)->writer.transfer = TRANSFER_NONE;
    gang_transferred(t, g, now);
}

static void begin_transfer(struct training *t, uint32_t g, enum transfer_kind kind,
                           double node_bytes_per_s, simtime_ns length_ns)
{
    struct gang *gang = at(t, g);
    assert(gang->writer.transfer == TRANSFER_NONE);
    enum hr_err err = storage_begin(t->storage, kind, node_bytes_per_s * gang->saves.nodes,
                                    length_ns, transferred, t, g, &gang->writer.transfer);
    if (err != HR_OK)
        training_fail(t, err);
}

void writer_save_on_notice(struct training *t, uint32_t g)
{
    const struct checkpoint_plan *s = &at(t, g)->saves;
    begin_transfer(t, g, TRANSFER_SAVE, s->node_bytes_per_s, s->notice_save_ns);
}

void writer_restore(struct training *t, uint32_t g)
{
    begin_transfer(t, g, TRANSFER_RESTORE, storage_plan_of(t->storage)->node_read_bytes_per_s,
                   at(t, g)->load_ns);
}

bool writer_drop(struct training *t, struct gang *g)
{
    transfer_id id = g->writer.transfer;
    g->writer.transfer = TRANSFER_NONE;
    return id != TRANSFER_NONE && storage_drop(t->storage, id);
}

/* ---- a segment, event by event ---- */

static void schedule(struct training *t, const struct gang *g, simtime_ns at_ns)
{
    engine_schedule(t->engine, g->timer, at_ns);
}

static void work(struct training *t, struct gang *g, enum writer_phase phase, simtime_ns piece_ns)
{
    struct tooth *k = &g->writer.tooth;
    g->writer.phase = phase;
    k->piece_ns = min_ns(piece_ns, k->left_ns);
    const struct save_comb c = work_of(g, k);
    schedule(t, g, sim_time_add(k->begin_ns, checkpoint_length(&c)));
}

void writer_begin(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct writer *w = &gang->writer;
    const struct save_comb c = segment_comb(gang, segment_left(gang));
    w->begin_ns = now;
    w->tooth = (struct tooth){
        .begin_ns = now, .work_end_ns = SIM_NEVER, .end_ns = SIM_NEVER, .left_ns = c.left_ns};
    w->interval_ns = checkpoint_first_interval(&c);
    work(t, gang, WRITER_WORKS, gang->writer.interval_ns);
}

/* The stall behind the tooth is over. */
static void next_tooth(struct gang *g, simtime_ns now)
{
    struct writer *w = &g->writer;
    w->tooth.end_ns = now;
    const struct progress p = worked(g, &w->tooth, now);
    const struct save_comb c = segment_comb(g, segment_left(g));
    w->stalls_ns += p.save_ns + stalled(&w->tooth, now);
    w->saved = w->tooth;
    w->unbooked = true;
    w->tooth = (struct tooth){.begin_ns = now,
                              .work_end_ns = SIM_NEVER,
                              .end_ns = SIM_NEVER,
                              .before_ns = w->tooth.before_ns + p.work_ns,
                              .left_ns = w->tooth.left_ns - p.work_ns};
    w->former_ns = w->interval_ns;
    w->interval_ns = checkpoint_next_interval(&c, w->interval_ns);
}

/* What is left of the work takes another time; of the teeth before the present one nothing changes.
 */
void writer_repace(struct training *t, uint32_t g)
{
    struct gang *gang = at(t, g);
    struct writer *w = &gang->writer;
    const struct save_comb c = segment_comb(gang, segment_left(gang));
    w->tooth.left_ns = c.left_ns - w->tooth.before_ns;
    w->interval_ns =
        w->former_ns ? checkpoint_next_interval(&c, w->former_ns) : checkpoint_first_interval(&c);
    if (w->phase == WRITER_WORKS)
        work(t, gang, WRITER_WORKS, w->interval_ns);
    else if (w->phase == WRITER_WORKS_ON)
        work(t, gang, WRITER_WORKS_ON, SIM_NEVER);
}

static void begin_save(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct writer *w = &gang->writer;
    w->tooth.work_end_ns = min_ns(w->tooth.work_end_ns, now);
    if (gang->saves.asynchronous) {
        w->phase = WRITER_STALLS;
        schedule(t, gang, sim_time_add(now, gang->saves.stall_ns));
    } else {
        w->phase = WRITER_WRITES;
        begin_transfer(t, g, TRANSFER_SAVE, gang->saves.node_bytes_per_s, gang->saves.stall_ns);
    }
}

static bool all_worked(const struct gang *g, simtime_ns now)
{
    return worked(g, &g->writer.tooth, now).work_ns == g->writer.tooth.left_ns;
}

/* The work of the present tooth is done, or nothing is left of it. */
static void piece_over(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    struct writer *w = &gang->writer;
    bool last = all_worked(gang, now);
    if (last && (!gang->saves.final_save || segment_left(gang) == 0)) {
        gang_finish(t, g, now);
    } else if (w->transfer == TRANSFER_NONE) {
        begin_save(t, g, now);
    } else if (last) {
        w->phase = WRITER_WAITS;
        w->tooth.work_end_ns = now;
    } else {
        work(t, gang, WRITER_WORKS_ON, SIM_NEVER);
    }
}

/* The gang has stood still for an asynchronous save: it is written beside the work, or, if there
 * is none, the gang is held until that is done. */
static void stall_over(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    if (all_worked(gang, now)) {
        gang->writer.phase = WRITER_WRITES;
    } else {
        next_tooth(gang, now);
        work(t, gang, WRITER_WORKS, gang->writer.interval_ns);
    }
    begin_transfer(t, g, TRANSFER_SAVE, gang->saves.node_bytes_per_s, gang->saves.write_ns);
}

void writer_step(struct training *t, uint32_t g, simtime_ns now)
{
    if (at(t, g)->writer.phase == WRITER_STALLS)
        stall_over(t, g, now);
    else
        piece_over(t, g, now);
}

/* A save is written. Whether the gang has stood still for it until now. */
static bool take_save(struct gang *g, simtime_ns now)
{
    struct writer *w = &g->writer;
    bool stood = w->phase == WRITER_WRITES;
    if (stood)
        next_tooth(g, now);
    w->kept_ns = w->tooth.before_ns;
    w->kept_stalls_ns = w->stalls_ns;
    w->saves++;
    return stood;
}

void writer_written(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    bool stood = take_save(gang, now);
    book_saved(t, gang, now);
    fleet_lease_saved(gang_fleet(t, gang), gang->lease);
    if (!stood) {
        if (gang->writer.phase == WRITER_WORKS_ON || gang->writer.phase == WRITER_WAITS)
            begin_save(t, g, now);
    } else if (gang->writer.tooth.left_ns > 0) {
        work(t, gang, WRITER_WORKS, gang->writer.interval_ns);
    } else {
        gang_finish(t, g, now);
    }
}

void writer_end(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = at(t, g);
    if (gang->state != GANG_TRAINING)
        writer_drop(t, gang);
    else if (writer_drop(t, gang))
        take_save(gang, now);
    else if (gang->writer.phase == WRITER_STALLS && engine_due(t->engine, gang->timer) == now &&
             !all_worked(gang, now))
        next_tooth(gang, now);
}
