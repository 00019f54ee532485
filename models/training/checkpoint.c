/* How far a gang has come: exact arithmetic on the comb of work intervals and saves.
 *
 * With pieces = ceil(left / tau), the first pieces - 1 are whole intervals, each followed by a
 * save; the last piece is what remains and is followed by a save only if final_save (that holds for
 * any interval, also where the gang otherwise never saves). A gang with nothing left to do saves
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

/* Whole intervals of work that a save follows. */
static uint64_t full_pieces(simtime_ns left_ns, simtime_ns interval_ns)
{
    if (left_ns == 0 || interval_ns == 0 || interval_ns == SIM_NEVER)
        return 0;
    return (left_ns - 1) / interval_ns;
}

static simtime_ns min_ns(simtime_ns a, simtime_ns b)
{
    return a < b ? a : b;
}

struct progress checkpoint_progress(simtime_ns restore_ns, simtime_ns left_ns,
                                    simtime_ns interval_ns, simtime_ns stall_ns, bool final_save,
                                    simtime_ns elapsed)
{
    struct progress p = {.restore_ns = min_ns(elapsed, restore_ns)};
    simtime_ns since = elapsed - p.restore_ns;
    uint64_t full = full_pieces(left_ns, interval_ns);
    u128 cycle = (u128)interval_ns + stall_ns;
    u128 cycles = full > 0 ? since / cycle : 0;
    p.saves = cycles < full ? (uint64_t)cycles : full;
    p.kept_ns = p.saves * interval_ns;
    p.save_ns = p.saves * stall_ns;
    since -= (simtime_ns)(p.saves * cycle); /* time since the last complete save */

    simtime_ns piece = p.saves < full ? interval_ns : left_ns - p.kept_ns;
    bool saved = p.saves < full || (final_save && left_ns > 0); /* the piece ends in a save */
    p.lost_work_ns = min_ns(since, piece);
    p.work_ns = p.kept_ns + p.lost_work_ns;
    if (!saved || since < piece)
        return p;
    p.lost_save_ns = min_ns(since - piece, stall_ns);
    p.save_ns += p.lost_save_ns;
    if (p.lost_save_ns == stall_ns && p.saves == full) { /* the final save is complete */
        p.saves++;
        p.kept_ns = left_ns;
        p.lost_work_ns = p.lost_save_ns = 0;
    }
    return p;
}

simtime_ns checkpoint_length(simtime_ns restore_ns, simtime_ns left_ns, simtime_ns interval_ns,
                             simtime_ns stall_ns, bool final_save)
{
    u128 saves = (u128)full_pieces(left_ns, interval_ns) + (final_save && left_ns > 0);
    u128 length = (u128)restore_ns + left_ns + saves * stall_ns;
    return length < SIM_NEVER ? (simtime_ns)length : SIM_NEVER;
}
