/* How far a gang has come: exact arithmetic on the comb of work intervals and saves.
 *
 * A cycle is an interval of work, with its copies, and the stall of the save behind it. The last
 * piece is what remains, at most one interval; it is followed by a save only if final_save (that
 * holds for any interval, also where the gang otherwise never saves), which waits for the write of
 * the former and holds the gang until its own write is over. A gang with nothing left to do saves
 * nothing. An instant at which a save is complete counts it; one at which it begins does not. */
#include "models/training/checkpoint.h"

#include "models/closed/checkpoint.h"
#include "sim/int128.h"

#include <assert.h>
#include <math.h>

const char *const interval_rule_names[INTERVAL_RULES] = {"fixed", "young", "daly", "exact"};

simtime_ns checkpoint_interval(const struct checkpoint_plan *p, uint32_t gpus)
{
    assert(gpus > 0);
    simtime_ns interval = p->interval_ns == 0 ? SIM_NEVER : p->interval_ns;
    if (p->rule != INTERVAL_FIXED) {
        double save_s = sim_time_to_s(p->stall_ns);
        double mtbf_s =
            p->mtbf_ns == SIM_NEVER ? INFINITY : sim_time_to_s(p->mtbf_ns) / (double)gpus;
        double s = p->rule == INTERVAL_YOUNG  ? checkpoint_young_s(save_s, mtbf_s)
                   : p->rule == INTERVAL_DALY ? checkpoint_daly_s(save_s, mtbf_s)
                                              : checkpoint_exact_s(save_s, mtbf_s);
        interval = sim_time_from_s(s);
    }
    return interval < SIM_S ? SIM_S : interval;
}

struct checkpoint_plan checkpoint_plan_of(const struct checkpoint_plan *p, uint32_t nodes)
{
    struct checkpoint_plan own = *p;
    own.nodes = nodes;
    if (!(p->size_bytes > 0))
        return own;
    simtime_ns write = sim_time_from_s(p->size_bytes / (p->node_bytes_per_s * (double)nodes));
    own.write_ns = p->asynchronous ? write : 0;
    own.stall_ns = p->asynchronous ? p->stall_ns : write;
    own.notice_save_ns = write;
    return own;
}

/* ---- cycles ---- */

/* n whole cycles of a segment, and the interval of the next one. */
struct cycle {
    uint64_t n;
    simtime_ns work;
    u128 wall; /* since the restore */
    simtime_ns interval;
};

static bool has_copies(const struct save_comb *c)
{
    return c->copy_ns != 0 && c->copy_ns != SIM_NEVER;
}

/* An interval as the write and the copies allow it; SIM_NEVER where it exceeds the work. */
static simtime_ns fit(const struct save_comb *c, simtime_ns interval)
{
    if (interval < c->write_ns)
        interval = c->write_ns;
    if (interval >= c->left_ns)
        return SIM_NEVER;
    if (!has_copies(c))
        return interval;
    u128 fitted = ((u128)interval + c->copy_ns - 1) / c->copy_ns * c->copy_ns;
    return fitted < c->left_ns ? (simtime_ns)fitted : SIM_NEVER;
}

simtime_ns checkpoint_first_interval(const struct save_comb *c)
{
    return c->interval_ns == 0 ? SIM_NEVER : fit(c, c->interval_ns);
}

simtime_ns checkpoint_next_interval(const struct save_comb *c, simtime_ns interval)
{
    if (!(c->growth > 1))
        return interval;
    double next = (double)interval * c->growth;
    return next < (double)c->left_ns ? fit(c, (simtime_ns)(next + 0.5)) : SIM_NEVER;
}

/* Copies in a piece of work: none at its end. */
static uint64_t copies_in(const struct save_comb *c, simtime_ns piece)
{
    return has_copies(c) && piece > 0 ? (piece - 1) / c->copy_ns : 0;
}

static u128 piece_wall(const struct save_comb *c, simtime_ns piece)
{
    return (u128)piece + (u128)copies_in(c, piece) * c->copy_stall_ns;
}

static bool is_last(const struct save_comb *c, const struct cycle *y)
{
    return y->interval >= c->left_ns - y->work;
}

/* The cycles that are over so long after the restore. */
static struct cycle cycle_at(const struct save_comb *c, simtime_ns since)
{
    struct cycle y = {.interval = checkpoint_first_interval(c)};
    if (is_last(c, &y))
        return y;
    if (!(c->growth > 1)) {
        u128 wall = piece_wall(c, y.interval) + c->stall_ns, n = since / wall;
        uint64_t all = (c->left_ns - 1) / y.interval;
        y.n = n < all ? (uint64_t)n : all;
        y.work = y.n * y.interval;
        y.wall = y.n * wall;
        return y;
    }
    while (!is_last(c, &y)) {
        u128 wall = y.wall + piece_wall(c, y.interval) + c->stall_ns;
        if (wall > since)
            break;
        y.n++;
        y.work += y.interval;
        y.wall = wall;
        y.interval = checkpoint_next_interval(c, y.interval);
    }
    return y;
}

static simtime_ns piece_of(const struct save_comb *c, const struct cycle *y)
{
    return is_last(c, y) ? c->left_ns - y->work : y->interval;
}

/* How long the gang stands still behind the piece: a save, or the final one. */
static u128 stall_behind(const struct save_comb *c, const struct cycle *y)
{
    if (!is_last(c, y))
        return c->stall_ns;
    if (!c->final_save || c->left_ns == 0)
        return 0;
    u128 worked = piece_wall(c, c->left_ns - y->work);
    u128 wait = y->n > 0 && c->write_ns > worked ? c->write_ns - worked : 0;
    return wait + c->stall_ns + c->write_ns;
}

static struct cycle complete_at(const struct save_comb *c, simtime_ns since)
{
    if (since < c->write_ns)
        return (struct cycle){.interval = checkpoint_first_interval(c)};
    return cycle_at(c, since - c->write_ns);
}

/* ---- looking at a segment ---- */

static simtime_ns min_ns(simtime_ns a, simtime_ns b)
{
    return a < b ? a : b;
}

/* Part of a piece and of what follows it, rest after the cycles before. */
static void look_into(const struct save_comb *c, const struct cycle *y, simtime_ns rest,
                      struct progress *p)
{
    simtime_ns piece = piece_of(c, y);
    u128 copies = copies_in(c, piece), tooth = (u128)c->copy_ns + c->copy_stall_ns;
    u128 n = copies > 0 ? rest / tooth : 0;
    if (n > copies)
        n = copies;
    simtime_ns copied = (simtime_ns)(n * c->copy_ns);
    simtime_ns work_end = n < copies ? c->copy_ns : piece - copied;
    u128 stall = n < copies ? c->copy_stall_ns : stall_behind(c, y);
    rest -= (simtime_ns)(n * tooth);
    simtime_ns worked = min_ns(rest, work_end);
    u128 stalled = (u128)(rest - worked) < stall ? (u128)(rest - worked) : stall;
    p->work_ns = y->work + copied + worked;
    p->copied_ns = y->work + copied;
    p->uncopied_ns = worked + (simtime_ns)stalled;
    p->save_ns = (simtime_ns)(y->wall - y->work + n * c->copy_stall_ns + stalled);
}

struct progress checkpoint_progress(const struct save_comb *c, simtime_ns elapsed)
{
    struct progress p = {.restore_ns = min_ns(elapsed, c->restore_ns)};
    simtime_ns since = elapsed - p.restore_ns;
    struct cycle y = cycle_at(c, since), kept = complete_at(c, since);
    look_into(c, &y, since - (simtime_ns)y.wall, &p);
    p.saves = kept.n;
    p.kept_ns = kept.work;
    p.lost_work_ns = p.work_ns - kept.work;
    p.lost_save_ns = p.save_ns - (simtime_ns)(kept.wall - kept.work);
    if (!has_copies(c)) {
        p.copied_ns = kept.work;
        p.uncopied_ns = p.lost_work_ns + p.lost_save_ns;
    }
    u128 end = y.wall + piece_wall(c, piece_of(c, &y)) + stall_behind(c, &y);
    if (is_last(c, &y) && c->final_save && c->left_ns > 0 && since >= end) {
        p.saves = y.n + 1;
        p.kept_ns = p.copied_ns = c->left_ns;
        p.lost_work_ns = p.lost_save_ns = p.uncopied_ns = 0;
    }
    return p;
}

simtime_ns checkpoint_length(const struct save_comb *c)
{
    struct cycle y = cycle_at(c, SIM_NEVER);
    u128 length = c->restore_ns + y.wall + piece_wall(c, piece_of(c, &y)) + stall_behind(c, &y);
    return is_last(c, &y) && length < SIM_NEVER ? (simtime_ns)length : SIM_NEVER;
}

simtime_ns checkpoint_next_save(const struct save_comb *c, simtime_ns elapsed)
{
    struct cycle y = complete_at(c, elapsed - min_ns(elapsed, c->restore_ns));
    if (is_last(c, &y))
        return c->final_save && c->left_ns > 0 ? checkpoint_length(c) : SIM_NEVER;
    u128 at = c->restore_ns + y.wall + piece_wall(c, y.interval) + c->stall_ns + c->write_ns;
    bool too_late = !c->final_save && at > checkpoint_length(c); /* the work is over before */
    return at < SIM_NEVER && !too_late ? (simtime_ns)at : SIM_NEVER;
}

/* The first stall of the present cycle that ends later, since the restore; empty: none. */
static void stall_in(const struct save_comb *c, const struct cycle *y, simtime_ns since,
                     u128 *begin, u128 *end)
{
    simtime_ns piece = piece_of(c, y);
    u128 tooth = (u128)c->copy_ns + c->copy_stall_ns, copies = copies_in(c, piece);
    u128 n = copies > 0 && c->copy_stall_ns > 0 ? (since - y->wall) / tooth : copies;
    *begin = n < copies ? y->wall + n * tooth + c->copy_ns : y->wall + piece_wall(c, piece);
    *end = *begin + (n < copies ? c->copy_stall_ns : stall_behind(c, y));
}

bool checkpoint_next_stall(const struct save_comb *c, simtime_ns elapsed, simtime_ns *from,
                           simtime_ns *to)
{
    simtime_ns since = elapsed - min_ns(elapsed, c->restore_ns);
    struct cycle y = cycle_at(c, since);
    u128 begin, end;
    stall_in(c, &y, since, &begin, &end);
    while (end == begin && !is_last(c, &y)) { /* nothing stalls in it */
        bool alike = !(c->growth > 1);        /* nor in those that follow, before the last */
        y = cycle_at(c, alike && copies_in(c, y.interval) == 0 ? SIM_NEVER : (simtime_ns)begin);
        since = y.wall < SIM_NEVER ? (simtime_ns)y.wall : SIM_NEVER;
        stall_in(c, &y, since, &begin, &end);
    }
    if (end <= begin || end <= since || c->restore_ns + end >= SIM_NEVER)
        return false;
    *from = c->restore_ns + (simtime_ns)begin;
    *to = c->restore_ns + (simtime_ns)end;
    return true;
}
