/* A storage system that all who write or read at once share.
 *
 * Each transfer has a length, the time it takes alone, and a cap, the bytes a second at which it
 * then goes. The total bandwidth is shared by max-min fairness (D. Bertsekas and R. Gallager, Data
 * Networks, 2nd ed., 6.5.2): all rates are equal, except that no transfer is faster than its cap;
 * what such a one leaves is shared by the others. Rates change at once whenever a transfer begins
 * or ends.
 *
 * Transfers of one cap always have one rate, so each cap has a clock of its own, which counts the
 * time that a transfer of it has gone on as if alone. A transfer ends at a reading of that clock
 * that is known when it begins; to begin or end one takes O(log transfers + caps). Clocks are whole
 * numbers of 2^-62 ns, so a transfer that nobody slows down takes its length to the nanosecond;
 * else its end is rounded to the nearest one. */
#ifndef HEADROOM_MODELS_TRAINING_STORAGE_H
#define HEADROOM_MODELS_TRAINING_STORAGE_H

#include "sim/engine.h"

struct storage_plan {
    double bytes_per_s;           /* in all; 0: there is no such storage */
    bool restores;                /* restarts read their save from it */
    double node_read_bytes_per_s; /* each node of a gang reads so fast */
};

enum transfer_kind { TRANSFER_SAVE, TRANSFER_RESTORE, TRANSFER_KINDS };

/* Of transfers that ended in the measured part. */
struct transfer_totals {
    uint64_t done;
    uint64_t dropped; /* given up before they were over */
    double slowdown;  /* sum over those done: time taken / length; those of no length count 1 */
    double worst_slowdown; /* 0: none */
};

struct storage_totals {
    simtime_ns busy_ns;    /* something was transferred */
    simtime_ns limited_ns; /* the total bandwidth slowed something down */
    double used_ns;        /* integral of the share of the bandwidth that was used */
    struct transfer_totals kinds[TRANSFER_KINDS];
};

struct storage; /* opaque */
typedef uint32_t transfer_id;
#define TRANSFER_NONE UINT32_MAX

/* A transfer is over; its id is not valid any more. */
typedef void transfer_fn(void *ctx, uint32_t arg);

/* Totals count [start, end). NULL when memory is out. */
struct storage *storage_new(const struct storage_plan *plan, struct engine *e, simtime_ns start,
                            simtime_ns end);
void storage_free(struct storage *s); /* accepts NULL */
const struct storage_plan *storage_plan_of(const struct storage *s);

/* Begins a transfer that alone takes so long at so many bytes a second. Transfers that end at one
 * instant do so by cap, those of one cap in the order in which they began. HR_NOMEM. */
enum hr_err storage_begin(struct storage *s, enum transfer_kind kind, double bytes_per_s,
                          simtime_ns length_ns, transfer_fn *done, void *ctx, uint32_t arg,
                          transfer_id *out);

/* Gives a transfer up, without a call of done. True: at this very instant it is over. */
bool storage_drop(struct storage *s, transfer_id id);

/* Up to the present instant. */
const struct storage_totals *storage_totals(struct storage *s);

#endif
