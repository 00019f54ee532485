/* Jobs drawn from classes, where no list was recorded: all at once, as a Poisson stream, or by a
 * closed group of users.
 *
 * Users are the finite source of queueing theory (M/M/c//N): each is away for a gap, then submits
 * one job, waits for it and goes away again when it has ended. Every user has a stream of its own,
 * and the open kinds draw one job after another, so the k-th job of a user or of the stream is the
 * same in every design. At the start all users are away.
 *
 * A class may keep its GPUs busy only part of the time it holds them (a notebook, an over-sized
 * request): of each hour the first `busy` part is work, the rest is held idle. Such a gang is not
 * preemptible and saves nothing. */
#ifndef HEADROOM_MODELS_TRAINING_MIX_H
#define HEADROOM_MODELS_TRAINING_MIX_H

#include "models/record.h"
#include "sim/dist.h"
#include "sim/err.h"
#include "sim/rng.h"

#include <stddef.h>

enum mix_kind { MIX_NONE, MIX_AT_ONCE, MIX_POISSON, MIX_USERS };

struct job_class {
    const char *name;   /* id of its jobs */
    const char *tenant; /* "" where it has none */
    uint32_t gpus;
    double share; /* relative chance */
    struct dist work;
    int32_t priority;
    bool preemptible;
    double busy;                 /* of the time it holds its GPUs, what they work: 0..1 */
    uint32_t min_gpus, max_gpus; /* where it is elastic; 0: see struct elastic_plan */
    uint8_t slice;               /* 1 + MIG profile; 0: the queue's */
};

struct mix_plan {
    enum mix_kind kind;
    const struct job_class *classes; /* not owned; at least one */
    size_t n_classes;
    uint64_t count;      /* at once: jobs; Poisson: at most so many; users: how many */
    double rate_per_s;   /* Poisson */
    simtime_ns start_ns; /* at once: when; Poisson: the stream begins; users: no job before */
    struct dist gap;     /* users: time away */
};

/* What makes a plan meaningless, or NULL. */
const char *mix_fault(const struct mix_plan *p);

struct mix {
    const struct mix_plan *plan; /* not owned */
    double total;                /* of the shares */
    struct rng rng;
    uint64_t drawn;
    simtime_ns at_ns;  /* of the next job of an open kind; SIM_NEVER: none */
    struct rng *users; /* owned; a stream a user */
};

enum hr_err mix_init(struct mix *m, const struct mix_plan *plan, uint64_t seed,
                     uint32_t replication, const char *entity);
void mix_fini(struct mix *m); /* accepts a zeroed struct */

/* The next job of an open kind, submitted at at_ns, which moves on. Returns its class. */
const struct job_class *mix_next(struct mix *m, struct job *job);

/* The next job of a user; its submit time is the caller's. Returns its class. */
const struct job_class *mix_user_job(struct mix *m, uint32_t user, struct job *job);
simtime_ns mix_user_gap(struct mix *m, uint32_t user);

#endif
