/* The gangs of an infinite backlog, drawn one after another from their own stream.
 *
 * The k-th gang has the same size and work in every design that has the same classes. A class that
 * can never start (larger than the ceiling or than any placement) is left out. */
#ifndef HEADROOM_MODELS_TRAINING_BACKLOG_H
#define HEADROOM_MODELS_TRAINING_BACKLOG_H

#include "models/training/queue.h"

struct backlog {
    const struct backlog_class *classes; /* not owned */
    double *shares;                      /* owned; of each class, 0 when left out */
    size_t n_classes;
    double total;
    struct dist work;
    struct rng rng;
    bool active; /* false: no class is left, or the plan has no backlog */
};

enum hr_err backlog_init(struct backlog *b, const struct queue_plan *plan, uint64_t seed,
                         uint32_t replication);
void backlog_fini(struct backlog *b); /* accepts a zeroed struct */
void backlog_leave_out(struct backlog *b, size_t class_ix);

/* Work is at least one second, so that a backlog cannot spin at one instant. Requires active. */
const struct backlog_class *backlog_draw(struct backlog *b, simtime_ns *work_ns);

#endif
