/* How far a gang has come: the closed form that spares an event per checkpoint.
 *
 * A segment is the time from a start to the next end, preemption or failure of a gang: first the
 * restore, then work in intervals of tau, each followed by a save that stalls the work for C,
 * except after the last piece (no final save unless final_save). All counts are whole nanoseconds,
 * so the parts of a segment add up to it exactly. */
#ifndef HEADROOM_MODELS_TRAINING_CHECKPOINT_H
#define HEADROOM_MODELS_TRAINING_CHECKPOINT_H

#include "sim/err.h"
#include "sim/time.h"

#include <stdbool.h>
#include <stdint.h>

enum interval_rule {
    INTERVAL_FIXED,
    INTERVAL_YOUNG,
    INTERVAL_DALY,
    INTERVAL_EXACT,
    INTERVAL_RULES
};
extern const char *const interval_rule_names[INTERVAL_RULES];

struct checkpoint_plan {
    enum interval_rule rule;
    simtime_ns interval_ns;    /* fixed; work time between saves; 0 or SIM_NEVER: never saves */
    simtime_ns stall_ns;       /* time the gang stands still for a save */
    simtime_ns mtbf_ns;        /* per GPU, for young, daly, exact: of a gang it is mtbf / gpus */
    simtime_ns notice_save_ns; /* write time of a save on notice */
    bool save_on_notice;
    bool final_save;
};

/* The interval for a gang of so many GPUs, at least 1 s. */
simtime_ns checkpoint_interval(const struct checkpoint_plan *p, uint32_t gpus);

/* What elapsed time of a segment consists of. */
struct progress {
    simtime_ns restore_ns;   /* of it spent restoring */
    simtime_ns work_ns;      /* work done in it */
    simtime_ns save_ns;      /* stalled in saves, an unfinished one included */
    simtime_ns kept_ns;      /* of the work, what a complete save holds */
    simtime_ns lost_work_ns; /* work since the last complete save */
    simtime_ns lost_save_ns; /* stall of an unfinished save */
    uint64_t saves;          /* complete ones */
};

/* A segment that starts with a restore and has left_ns of work to do, looked at after elapsed. */
struct progress checkpoint_progress(simtime_ns restore_ns, simtime_ns left_ns,
                                    simtime_ns interval_ns, simtime_ns stall_ns, bool final_save,
                                    simtime_ns elapsed);

/* Length of the whole undisturbed segment. */
simtime_ns checkpoint_length(simtime_ns restore_ns, simtime_ns left_ns, simtime_ns interval_ns,
                             simtime_ns stall_ns, bool final_save);

#endif
