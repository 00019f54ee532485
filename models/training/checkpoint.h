/* How far a gang has come: the closed form that spares an event per checkpoint.
 *
 * A segment is the time from a start to the next end, preemption or failure of a gang: first the
 * restore, then work in intervals, each followed by a save that stalls the work, except after the
 * last piece (no final save unless final_save). An asynchronous save is complete write_ns after its
 * stall and holds the state of its start; the next does not begin before, so an interval is at
 * least as long as the write. Between saves there may be copies to the memory of other hosts: they
 * outlive one node, not an eviction. The interval may grow by a factor from save to save; it starts
 * anew with each segment. All counts are whole nanoseconds, so the parts of a segment add up to it
 * exactly. */
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
    simtime_ns interval_ns; /* fixed; work time between saves; 0 or SIM_NEVER: never saves */
    simtime_ns stall_ns;    /* time the gang stands still for a save */
    simtime_ns write_ns;    /* after the stall, beside the work; 0: the stall is the whole save */
    simtime_ns mtbf_ns;     /* per GPU, for young, daly, exact: of a gang it is mtbf / gpus */
    simtime_ns notice_save_ns; /* write time of a save on notice */
    bool save_on_notice;
    bool final_save;
    double growth;      /* each interval over the former; 0 or 1: all are equal */
    simtime_ns copy_ns; /* work between copies in host memory; 0 or SIM_NEVER: none */
    simtime_ns copy_stall_ns;
    simtime_ns copy_restore_ns; /* to start from such a copy */
    double size_bytes;          /* of a save; 0: the times above hold for each gang */
    double node_bytes_per_s;    /* each node of the gang writes so fast */
    bool asynchronous;          /* with a size: it is written beside the work, after stall_ns */
    uint32_t nodes;             /* of the gang whose plan it is */
};

/* The interval for a gang of so many GPUs, at least 1 s. */
simtime_ns checkpoint_interval(const struct checkpoint_plan *p, uint32_t gpus);

/* The plan as it holds for a gang on so many nodes: with a size, the time to write it is the write
 * time (asynchronous) or the stall, and that of a save on notice. A storage that others use too may
 * make it longer (training/storage.h). */
struct checkpoint_plan checkpoint_plan_of(const struct checkpoint_plan *p, uint32_t nodes);

/* A segment as it will go if nothing disturbs it. */
struct save_comb {
    simtime_ns restore_ns, left_ns;    /* left: work to do */
    simtime_ns interval_ns;            /* work between saves; 0 or SIM_NEVER: never saves */
    double growth;                     /* as in the plan */
    simtime_ns stall_ns, write_ns;     /* of a save */
    simtime_ns copy_ns, copy_stall_ns; /* between saves; the interval is rounded up to a multiple */
    bool final_save;
};

/* What elapsed time of a segment consists of. */
struct progress {
    simtime_ns restore_ns;   /* of it spent restoring */
    simtime_ns work_ns;      /* work done in it */
    simtime_ns save_ns;      /* stalled in saves and copies, unfinished ones included */
    simtime_ns kept_ns;      /* of the work, what a complete save holds */
    simtime_ns copied_ns;    /* what a complete save or copy holds; at least kept_ns */
    simtime_ns lost_work_ns; /* work since the state that the last complete save holds */
    simtime_ns lost_save_ns; /* stalls since that save's own */
    simtime_ns uncopied_ns;  /* work and stall since the last complete save or copy */
    uint64_t saves;          /* complete ones */
};

/* The first interval of a segment, as the write and the copies allow it, and the one that follows
 * one; SIM_NEVER where that exceeds the work. */
simtime_ns checkpoint_first_interval(const struct save_comb *c);
simtime_ns checkpoint_next_interval(const struct save_comb *c, simtime_ns interval);

/* The segment looked at after elapsed. */
struct progress checkpoint_progress(const struct save_comb *c, simtime_ns elapsed);

/* Its whole length; SIM_NEVER where that is beyond time. */
simtime_ns checkpoint_length(const struct save_comb *c);

/* When the next save after elapsed is complete, from the start of the segment; SIM_NEVER: none. */
simtime_ns checkpoint_next_save(const struct save_comb *c, simtime_ns elapsed);

/* The first stall that ends after elapsed, from the start of the segment; false: none. */
bool checkpoint_next_stall(const struct save_comb *c, simtime_ns elapsed, simtime_ns *from,
                           simtime_ns *to);

#endif
