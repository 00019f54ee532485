/* A training queue: runs gangs from a job trace and, behind them, from a backlog that never ends,
 * for one or more tenants. Each tenant is a claimant with a quota of its own; the queue has one
 * order over all of them (pass.c states it with its ties).
 *
 * Orders and backfill: pass.c, backfill.c. A gang takes no event per
 * checkpoint: see training/checkpoint.h. Preemption loses the work since the last save unless the
 * grace is long enough to save. */
#ifndef HEADROOM_MODELS_TRAINING_QUEUE_H
#define HEADROOM_MODELS_TRAINING_QUEUE_H

#include "models/capacity/fleet.h"
#include "models/record.h"
#include "models/training/checkpoint.h"
#include "models/training/elastic.h"
#include "models/training/mix.h"
#include "models/training/why.h"
#include "sim/int128.h"

enum backfill_kind {
    BACKFILL_NONE,         /* strict: the head blocks */
    BACKFILL_EASY,         /* what does not delay the head */
    BACKFILL_CONSERVATIVE, /* what delays no job looked at before */
    BACKFILL_BEST_EFFORT,  /* whatever fits, in order */
    BACKFILL_KINDS
};
extern const char *const backfill_kind_names[BACKFILL_KINDS];

enum queue_order {
    ORDER_FIFO,
    ORDER_PRIORITY,   /* the jobs' own, one level more for each age_ns of waiting */
    ORDER_SHORTEST,   /* estimated run time left */
    ORDER_FAIR_SHARE, /* the tenant that has used least for its weight (shares.h) */
    QUEUE_ORDERS
};
extern const char *const queue_order_names[QUEUE_ORDERS];

enum estimate_kind { ESTIMATE_EXACT, ESTIMATE_LIMIT, ESTIMATE_FACTOR, ESTIMATE_KINDS };
extern const char *const estimate_kind_names[ESTIMATE_KINDS];

/* What an eviction does to a gang. */
enum preemption_mode {
    PREEMPTION_REQUEUE, /* it stops and comes back from its last complete save */
    PREEMPTION_SUSPEND, /* its state is copied to the hosts: nothing is lost; resumes anywhere */
    PREEMPTION_CANCEL,  /* it ends: all its work is lost */
    PREEMPTION_MODES
};
extern const char *const preemption_mode_names[PREEMPTION_MODES];

struct preemption_plan {
    enum preemption_mode mode;
    bool own_grace; /* else the pool's, which is the longest in any case */
    simtime_ns grace_ns;
    simtime_ns exempt_ns;             /* not evicted for others before it has run so long */
    simtime_ns suspend_ns, resume_ns; /* suspend: must fit the grace, else as requeue */
};

/* One kind of gang in the backlog. */
struct backlog_class {
    uint32_t gpus;
    double share;                /* relative chance */
    uint32_t min_gpus, max_gpus; /* where it is elastic; 0: see struct elastic_plan */
};

/* Whose jobs they are. The first tenant also owns the backlog. */
struct tenant_plan {
    const char *name;  /* of the claimant */
    const char *match; /* its jobs: this value of the list's tenant column; NULL: those that match
                          no other tenant */
    double weight;     /* fair share; 0 counts as 1 */
    struct pool_claim pools[POOLS_MAX]; /* where its gangs may run, in order of preference */
    uint32_t n_pools;
};

struct queue_plan {
    const char *name;
    struct tenant_plan tenant;      /* the first */
    const struct tenant_plan *more; /* not owned; the others */
    size_t n_more;
    enum queue_order order;
    simtime_ns age_ns;       /* priority: waiting worth one level; 0 or SIM_NEVER: none */
    simtime_ns half_life_ns; /* fair share: of past usage; 0: present usage; SIM_NEVER: never */
    enum backfill_kind backfill;
    uint32_t backfill_depth; /* jobs looked at behind the head that do not start */
    uint32_t reserve_gpus;   /* a head of at least so many that cannot start collects its GPUs
                                (fleet_collect); 0: none does */
    enum estimate_kind estimate;
    double estimate_factor; /* factor: estimate = factor * work */
    struct checkpoint_plan checkpoint;
    struct dist restart_load;       /* restart: load the checkpoint ... */
    struct dist restart_init;       /* ... and initialise; only after a preemption or failure */
    simtime_ns restart_per_node_ns; /* added to restart_init for each node of the gang */
    struct dist detection;          /* of a failure: until then the gang holds what it has left */
    struct preemption_plan preemption;
    struct elastic_plan elastic; /* not for gangs that must keep together */
    /* Speed of a gang by how far apart its GPUs are, in millionths; 0: full speed. */
    uint32_t span_speed_ppm[LEASE_SPANS];
    enum shape_kind placement;
    uint8_t slice;                /* 1 + MIG profile of its jobs, which ask for one GPU each; their
                                     GPUs in rows are memory slices then. 0: placement is no slice */
    const struct job_trace *jobs; /* NULL: none */
    bool jobs_loop;               /* start the trace again at its end, after span + mean gap */
    double jobs_speed;            /* gaps are divided by it */
    double work_factor;           /* recorded work is multiplied by it: other hardware */
    simtime_ns jobs_offset_ns;    /* replay begins this far into the trace */
    struct mix_plan mix;          /* jobs drawn from classes, beside those of the trace */
    bool backlog;                 /* an infinite backlog behind the trace */
    const struct backlog_class *backlog_classes; /* not owned; at least one when backlog */
    size_t n_backlog_classes;
    struct dist backlog_work; /* work of one backlog gang */
};

/* One finished, censored or waiting job in the result. */
enum job_outcome {
    OUTCOME_DONE,
    OUTCOME_CENSORED,
    OUTCOME_WAITING,
    OUTCOME_REFUSED,
    OUTCOME_CANCELLED, /* evicted for good */
    OUTCOMES
};
extern const char *const job_outcome_names[OUTCOMES];

/* Why a job was refused when it was submitted: it could never start in any pool of its tenant. */
enum refusal {
    REFUSAL_NONE,
    REFUSAL_SIZE,     /* more GPUs than a pool has */
    REFUSAL_SHAPE,    /* all in one node, and no node is so large */
    REFUSAL_CEILING,  /* more than its tenant may ever hold */
    REFUSAL_TOPOLOGY, /* all in one leaf group, and none is so large */
    REFUSALS
};
extern const char *const refusal_names[REFUSALS];

struct job_row {
    uint64_t number;   /* order of submission; recorded jobs and backlog gangs count apart */
    const char *id;    /* name in the trace, of its class, or "backlog"; borrowed from the plan */
    uint32_t queue;    /* index in the plan */
    uint32_t claimant; /* its tenant's */
    uint32_t gpus;     /* asked for: work is the run time on these */
    uint32_t min_gpus, max_gpus; /* with fewer and more than these it does not run; rigid: gpus */
    bool backlog;
    enum job_outcome outcome;
    enum refusal refusal; /* of a refused job; in the last of its tenant's pools */
    simtime_ns submit_ns, first_start_ns, end_ns;   /* SIM_NEVER where not reached; a backlog gang
                                                       is submitted when it is drawn */
    simtime_ns work_ns;                             /* asked for */
    simtime_ns done_ns;                             /* work kept */
    simtime_ns worked_ns;                           /* wall time that it took; rigid: the same */
    simtime_ns lost_ns;                             /* work and saves lost, wall time of the gang */
    simtime_ns saving_ns, restoring_ns, waiting_ns; /* waiting: in the queue, all times together */
    simtime_ns blocked_ns[BLOCKS];                  /* waiting_ns by what stood in the way */
    uint32_t preemptions, failures;
    uint32_t swaps;   /* failures after which a hot spare took the node's place */
    uint32_t resizes; /* of an elastic gang, in either direction */
    uint32_t returns; /* of these, because some of its GPUs were taken back */
    u128 gpu_ns;      /* GPUs held, over the time that it ran */
};

/* Of recorded jobs submitted in the measured part, except where said otherwise:
 * submitted = done + refused + cancelled + censored + waiting. */
struct queue_totals {
    uint64_t submitted, started, done, refused, cancelled;
    uint64_t preemptions;       /* evictions in the measured part, of any gang */
    uint64_t failures;          /* gangs that lost a node in it */
    uint64_t swaps;             /* of these, restarted in place with a hot spare */
    uint64_t resizes, returns;  /* of elastic gangs in it: as in their rows */
    uint64_t backlog_done;      /* backlog gangs that started in the measured part */
    uint64_t censored, waiting; /* at the end: running; in the queue or giving up their GPUs */
};

struct training; /* opaque */

/* job (may be NULL) is called for each row as it is final: jobs that arrived in the measured part
 * [start, end), and backlog gangs that started in it. */
struct training_sink {
    void *self;
    void (*job)(void *self, const struct job_row *row);
};

/* Adds each tenant to each pool as a claimant. number goes into the rows. The plan and the pools
 * must outlive it; sink may be NULL. */
enum hr_err training_new(const struct queue_plan *plan, uint32_t number, struct engine *engine,
                         const struct pool *pools, size_t n_pools, uint64_t seed,
                         uint32_t replication, simtime_ns start, simtime_ns end,
                         const struct training_sink *sink, struct training **out);
void training_free(struct training *t);

/* Before the run starts: saves that have a size go to a storage that others use too. It must
 * outlive the queue. */
struct storage;
void training_storage_set(struct training *t, struct storage *s);

/* At the end of the run: settles running gangs (their useful time counts), reports the rows left.
 */
enum hr_err training_finish(struct training *t, simtime_ns now);

const struct queue_totals *training_totals(const struct training *t);
uint32_t training_claimant(const struct training *t); /* of the first tenant; the others follow */

static inline size_t queue_tenants(const struct queue_plan *q)
{
    return 1 + q->n_more;
}

static inline const struct tenant_plan *queue_tenant(const struct queue_plan *q, size_t i)
{
    return i == 0 ? &q->tenant : &q->more[i - 1];
}

#endif
