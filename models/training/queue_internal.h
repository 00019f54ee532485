/* The state of a training queue, shared by its files.
 *
 *     queue.c     the claimants, building it, the end of the run
 *     intake.c    submits recorded and drawn jobs, draws the backlog
 *                 (job_replay.c, mix.c, backlog.c)
 *     pass.c      the scheduling pass; behind a blocked head backfill.c (reservation.c)
 *     gang.c      life of one gang: start, restore, end, eviction, failure; its row
 *     extension.c the GPUs of an elastic gang beyond its least (elastic.c)
 *     segment.c   what it has done and lost between two of these; its ledger entries
 *     pace.c      its speed on a shared GPU, which its neighbours change while it works
 *     writer.c    the same where its saves go to a shared storage (storage.c)
 *     waiting.c   waiting gangs in order
 *     why.c       for how long they wait for what
 *
 * Gangs live in slots that are used again; everything refers to them by slot. */
#ifndef HEADROOM_MODELS_TRAINING_QUEUE_INTERNAL_H
#define HEADROOM_MODELS_TRAINING_QUEUE_INTERNAL_H

#include "models/training/backlog.h"
#include "models/training/job_replay.h"
#include "models/training/queue.h"
#include "models/training/reservation.h"
#include "models/training/shares.h"
#include "models/training/storage.h"
#include "models/training/waiting.h"

enum gang_state {
    GANG_UNUSED,
    GANG_WAITING,    /* in a queue */
    GANG_ASSEMBLING, /* reclaimed GPUs are on their way, or it collects */
    GANG_RESTORING,
    GANG_TRAINING,
    GANG_BROKEN,  /* a node is gone, nobody has noticed yet */
    GANG_SAVING,  /* evicted: its save on notice is written to the shared storage */
    GANG_STOPPING /* evicted: grace, save, teardown */
};

/* A piece of work, and the stall of the save behind it. */
struct tooth {
    simtime_ns begin_ns, work_end_ns, end_ns; /* SIM_NEVER: not yet */
    simtime_ns before_ns, left_ns; /* wall time of work in the segment before it; left to do */
    simtime_ns piece_ns;           /* of what is left, how much is planned for it */
};

enum writer_phase {
    WRITER_OFF,      /* the gang's saves do not go to a shared storage */
    WRITER_RESTORES, /* or it has not begun to work */
    WRITER_WORKS,
    WRITER_WORKS_ON, /* beyond the interval: the former save is not written yet */
    WRITER_WAITS,    /* stands still for that, before its final save */
    WRITER_STALLS,   /* stands still at the begin of an asynchronous save */
    WRITER_WRITES    /* stands still until a save is written */
};

/* A segment of a gang whose saves go to a shared storage. */
struct writer {
    enum writer_phase phase;
    transfer_id transfer;              /* under way, or TRANSFER_NONE */
    bool unbooked;                     /* saved is not in the ledger yet */
    simtime_ns begin_ns;               /* of the work */
    simtime_ns interval_ns, former_ns; /* between saves: the present one, and the one before it */
    struct tooth tooth, saved;         /* the present one; the one before it */
    simtime_ns stalls_ns;              /* of the teeth before the present one */
    simtime_ns kept_ns;                /* work that the last complete save holds */
    simtime_ns kept_stalls_ns;         /* stalls up to its own */
    uint64_t saves;                    /* complete ones */
    struct {
        struct tooth *items; /* owned by the slot */
        size_t n, capacity;
    } teeth; /* before saved, where a cancelled gang loses even what it has saved */
};

/* The end of the segment before a resize: saved when the resize is complete, else lost. */
struct unsaved {
    struct save_comb comb; /* of that segment */
    simtime_ns since_ns, end_ns;
    simtime_ns work_ns;              /* work; 0 with a length of 0: there is none */
    simtime_ns worked_ns, saving_ns; /* its wall time */
    uint32_t held;
};

/* A stretch of a segment at one speed: from so much wall time of work on, by when so much work of
 * the segment was done. */
struct pace {
    simtime_ns wall_ns, work_ns;
    struct elastic_speed speed;
};

struct gang {
    struct job_row row; /* done_ns: work kept so far */
    simtime_ns limit_ns, interval_ns;
    struct checkpoint_plan saves; /* the queue's, as it holds for this gang */
    struct unsaved unsaved;
    struct elastic_speed speed; /* of its present or next segment, while it waits of the least */
    simtime_ns paced_wall_ns, paced_work_ns; /* where in its segment the speed began */
    struct {
        struct pace *items; /* owned by the slot; former speeds, as far back as a save may be */
        size_t n, capacity;
    } paces;
    uint32_t held;               /* GPUs of its present or last segment; while it waits the least */
    uint32_t leased;             /* GPUs of its leases */
    uint32_t extensions;         /* the first of them, or NO_EXTENSION */
    bool own_interval;           /* interval_ns is not the plan's */
    uint32_t restart_nodes;      /* its restore counts so many; 0: none */
    simtime_ns broken_ns;        /* broken, saving: since when */
    uint32_t broken_node;        /* broken: the first that it lost */
    bool base_failed;            /* broken: its lease has lost GPUs */
    bool suspended;              /* the next segment resumes it */
    bool one_node_lost;          /* broken: copies in host memory have outlived it */
    simtime_ns load_ns, init_ns; /* restore of its next or present segment */
    simtime_ns since_ns;         /* began to wait, or its segment began */
    simtime_ns expected_end_ns;  /* while it runs */
    simtime_ns asked_ns;         /* assembling: since when */
    enum block_reason assembles; /* assembling: what for */
    uint32_t fruitless;          /* evictions since it last kept work ... */
    simtime_ns fruitless_ns;     /* ... and the first of them */
    simtime_ns blocked_at[BLOCKS]; /* waiting: why_begin's */
    uint32_t class;                /* of why.h */
    uint32_t share;                /* GPUs it needs in one node; of a slice its profile, as a bit */
    uint8_t profile;               /* of a slice */
    uint32_t compute;              /* slices of its lease */
    int32_t priority;
    uint32_t tenant; /* index in the queue */
    uint32_t pool;   /* of its lease */
    lease_id lease;
    timer_id timer;
    enum gang_state state;
    bool preemptible;
    uint32_t user; /* whose job of a closed group; NO_USER: nobody's */
    double busy;   /* of the time it holds its GPUs, what they work */
    bool reads;    /* its next or present restore is a transfer */
    struct writer writer;
};

#define NO_USER UINT32_MAX
#define NO_GANG UINT32_MAX

/* A lease of an elastic gang beyond its least. */
struct extension {
    lease_id lease;
    uint32_t gpus, next;
    bool failed; /* has lost GPUs */
};

#define NO_EXTENSION  UINT32_MAX
#define EXTENSION_TAG 0x80000000u /* set in the tag of such a lease; the rest is its gang's */

/* What a pass that could not start anything has seen: until it changes none can. */
struct blocked {
    bool known;
    uint64_t version; /* of the pools */
};

/* Waiting gangs of one tenant, or of the backlog, and where a pass stands in them. */
struct lane {
    struct waiting list;
    struct waiting_place at;
};

/* When it is a lane's turn: the least goes first, by share (fair share), rank, number. */
struct turn {
    double share;
    uint64_t rank, number; /* of the lane's head */
    uint32_t lane;
};

/* A pass on its way through the lanes: the heap has the lane with the next gang on top. */
struct walk {
    struct training *t;
    struct turn *heap; /* the training's */
    uint32_t n;
    simtime_ns now;
    bool arranged; /* below the top it is a heap */
    bool least;    /* what starts takes no more than its least */
};

/* A tenant as a claimant of one pool. */
struct seat {
    struct training *training;
    uint32_t tenant, pool;
};

struct tenant {
    const struct tenant_plan *plan;
    uint32_t claimant;
    uint32_t collecting;          /* the gang that collects its GPUs, or NO_GANG */
    struct seat seats[POOLS_MAX]; /* by pool number */
    uint64_t allowed[POOLS_MAX];  /* after the last pass, by quota: pass.c */
};

struct training {
    const struct queue_plan *plan; /* not owned */
    uint32_t number;
    struct engine *engine;
    const struct pool *pools; /* not owned; of the run */
    size_t n_pools;
    struct storage *storage; /* not owned; NULL: saves take the times that the plan gives */
    struct training_sink sink;
    simtime_ns start_ns, end_ns; /* the measured part */
    struct tenant *tenants;      /* owned */
    size_t n_tenants;

    struct {
        struct gang *items; /* owned */
        size_t n, capacity;
    } gangs;
    struct {
        uint32_t *items; /* owned; unused slots */
        size_t n, capacity;
    } unused;

    struct {
        struct extension *items; /* owned */
        size_t n, capacity;
    } extensions;
    uint32_t unused_extension; /* list through next */
    struct {
        uint32_t *items; /* owned; elastic gangs that run, in the order they started */
        size_t n, capacity;
    } elastic;
    timer_id grow_timer; /* the next time that one may grow */

    struct job_replay replay;
    struct backlog backlog;
    struct mix mix;
    timer_id *users;            /* owned; the end of each user's gap */
    uint64_t n_jobs, n_backlog; /* numbers given so far */
    struct lane *lanes;         /* owned; of each tenant, then of the backlog */
    struct turn *heap;          /* owned; scratch of a walk */
    struct why_table why;
    struct shares shares;
    struct expected_ends ends[POOLS_MAX];
    struct profile profile;
    struct blocked blocked;
    timer_id exempt_timer; /* TIMER_NONE where no gang ever is */
    struct rng restart;
    struct queue_totals totals;
    enum hr_err error; /* the first one; nothing starts after it */
};

static inline struct fleet *gang_fleet(const struct training *t, const struct gang *g)
{
    return t->pools[g->pool].fleet;
}

/* The pool a tenant prefers. */
static inline uint32_t tenant_pool(const struct training *t, uint32_t tenant)
{
    return t->tenants[tenant].plan->pools[0].pool;
}

/* Nodes that so many GPUs fill; the fleet's nodes are taken to be like its first. */
static inline uint32_t training_nodes(const struct training *t, uint32_t gpus)
{
    uint32_t size = fleet_node_gpus(t->pools[0].fleet, 0);
    return (gpus + size - 1) / size;
}

static inline void training_want_pass(const struct training *t)
{
    for (size_t i = 0; i < t->n_pools; i++)
        fleet_want_pass(t->pools[i].fleet);
}

/* ---- intake.c ---- */

/* The cursor over the recorded jobs. */
simtime_ns intake_arrive(void *training);

/* Starts the drawn jobs; a user's job has ended. */
enum hr_err intake_mix_start(struct training *t);
void intake_user_away(struct training *t, uint32_t user, simtime_ns now);

/* One more backlog gang; false when there is none or memory is out. */
bool intake_draw(struct training *t, simtime_ns now);

/* ---- pass.c ---- */

void pass_run(void *seat, simtime_ns now); /* claimant_ops.schedule */

/* The next gang in order; false when there is none. Draws a backlog gang where it is its turn. */
bool walk_top(struct walk *w, struct waiting_item *top);
void walk_skip(struct walk *w); /* on to the one behind it */
void walk_bar(struct walk *w);  /* leaves its lane out */

/* Tries to start the gang on top in a pool; started, the walk stands behind it. */
enum grant pass_acquire(struct walk *w, uint32_t g, uint32_t pool);

/* ---- backfill.c ---- */

/* The head, on top of the walk, lacks room in a pool. */
void backfill_run(struct walk *w, const struct waiting_item *head, uint32_t pool);

/* ---- pace.c ---- */

/* A segment has one speed so far. */
void pace_reset(struct gang *g);
/* Work of so much wall time of a segment, and the wall time by which so much is done: now or
 * later. */
simtime_ns pace_work(const struct gang *g, simtime_ns wall_ns);
simtime_ns pace_wall(const struct gang *g, simtime_ns work_ns);
/* Its work begins: with the neighbours that it has now. */
void pace_join(struct training *t, uint32_t g);
/* The neighbours of a running gang on shared GPUs are others now: its speed may change. */
void gang_crowded(struct training *t, uint32_t g, simtime_ns now);

/* ---- segment.c ---- */

simtime_ns segment_restore(const struct gang *g); /* of its next or present segment */
simtime_ns segment_left(const struct gang *g);    /* work to do at the segment's start */

/* Of a segment with so much work to do, undisturbed. */
simtime_ns segment_length(const struct gang *g, simtime_ns left_ns);
struct save_comb segment_comb(const struct gang *g, simtime_ns left_ns);
/* When the present one ends, undisturbed. */
simtime_ns segment_end(const struct gang *g);
/* Work of so much wall time of it. */
simtime_ns segment_work(const struct gang *g, simtime_ns wall_ns);
struct progress segment_progress(const struct gang *g, simtime_ns now);
simtime_ns segment_next_save(const struct gang *g, simtime_ns now); /* when it is complete */

/* Books the stalls of a segment that has ended at now, and its lost end: all since the state that
 * its last complete save, or copy, holds. The comb before the measured part is not counted. */
void segment_book(struct training *t, const struct gang *g, simtime_ns lost_ns, simtime_ns now);

/* Of what is booked as training in [t0, t1), the gang's GPUs. */
void segment_rebook(struct training *t, const struct gang *g, enum gpu_state to, simtime_ns t0,
                    simtime_ns t1);
/* Sets aside what of the segment that was the resize at its end has yet to save; p: of now. */
void segment_set_aside(struct training *t, struct gang *g, const struct gang *was,
                       const struct progress *p, simtime_ns now);
/* What has been set aside is saved now, or lost. */
void segment_settle(struct training *t, struct gang *g, bool lost);

/* Of each hour from its start on, a gang that is busy only in part idles at the end. */
void segment_book_idle(struct training *t, const struct gang *g, simtime_ns now);

static inline bool gang_elastic(const struct gang *g)
{
    return g->row.min_gpus < g->row.max_gpus;
}

/* ---- writer.c ---- */

/* An elastic gang, whose nodes change, writes past the storage, as if it were alone. */
static inline bool gang_writes(const struct training *t, const struct gang *g)
{
    return t->storage && g->saves.size_bytes > 0 && !gang_elastic(g);
}

/* For a new segment, or a slot's next gang. */
void writer_reset(struct writer *w, enum writer_phase phase);
void writer_fini(struct writer *w);

/* Reads what the gang restores from. */
void writer_restore(struct training *t, uint32_t g);

/* The work begins; the gang's timer has fired; a save is written. */
void writer_begin(struct training *t, uint32_t g, simtime_ns now);
void writer_step(struct training *t, uint32_t g, simtime_ns now);
void writer_written(struct training *t, uint32_t g, simtime_ns now);
/* The gang has another speed: its work ends at another time. */
void writer_repace(struct training *t, uint32_t g);

/* The segment is over: what is being transferred is given up, or just done. Before the timer goes.
 */
void writer_end(struct training *t, uint32_t g, simtime_ns now);

void writer_save_on_notice(struct training *t, uint32_t g);
bool writer_drop(struct training *t, struct gang *g); /* true: it is over at this instant */

struct progress writer_progress(const struct gang *g, simtime_ns now);
void writer_book(struct training *t, const struct gang *g, simtime_ns until); /* its stalls */

/* ---- extension.c ---- */

enum hr_err extensions_init(struct training *t);

/* The gang's next segment is on so many GPUs: its speed and its saves. */
void extensions_size(const struct training *t, struct gang *g, uint32_t gpus);
/* Where its leases are slows it down, by the plan; so do power limits, as those of its first one.
 */
void extensions_slow(const struct training *t, struct gang *g);

/* A gang starts on its least; if it extends, it takes what it asked for as far as that is there. */
void extensions_start(struct training *t, uint32_t g, bool extends);

/* All that a gang leases is at work, or rests. */
void extensions_work(const struct training *t, const struct gang *gang, bool works);

/* In a pass: running gangs take what is free, up to what they asked for or, with most, all that
 * they can run on, where they end earlier with it. */
void extensions_grow(struct training *t, bool most, simtime_ns now);

/* An extension is taken back, at once. */
void extensions_evict(struct training *t, uint32_t g, lease_id l, simtime_ns now);
uint64_t extensions_loss(const struct training *t, uint32_t g, lease_id l);

/* All that a gang leases changes its state, or stops; a gang may be a copy of what it was. */
void extensions_set_state(struct training *t, const struct gang *gang, enum gpu_state s);
void extensions_stop(struct training *t, uint32_t g, const struct gang *gang, simtime_ns at,
                     simtime_ns checkpoint_ns);

void extensions_fail(struct training *t, struct gang *gang, lease_id l);
/* Those that have failed get spares or end; whether one of them got any. */
bool extensions_repair(struct training *t, struct gang *gang);

/* ---- gang.c ---- */

/* A new gang in a slot, not yet waiting; false when memory is out. */
bool gang_new(struct training *t, const struct job_row *row, uint32_t *g);

struct shape gang_shape(const struct training *t, uint32_t g);
struct ask gang_ask(const struct training *t, uint32_t g);

static inline uint32_t gang_claimant(const struct training *t, uint32_t g)
{
    return t->tenants[t->gangs.items[g].tenant].claimant;
}

/* Puts a gang into its place in its queue. */
void gang_wait(struct training *t, uint32_t g, simtime_ns now);

/* Wall time its next segment is expected to take, by the plan's estimate. */
simtime_ns gang_estimate(const struct training *t, uint32_t g);

/* Its lease in a pool is held and in state gang_first_state: the segment begins. */
/* extends: an elastic gang takes more than its least, if that is there. */
void gang_start(struct training *t, uint32_t g, uint32_t pool, lease_id l, bool extends,
                simtime_ns now);
enum gpu_state gang_first_state(const struct training *t, uint32_t g);

/* All its work is done; its transfer is over. */
void gang_finish(struct training *t, uint32_t g, simtime_ns now);
void gang_transferred(struct training *t, uint32_t g, simtime_ns now);
/* Ends the segment of a running gang with all its work, and begins another on all that it leases
 * now, after a resize. */
void gang_resize(struct training *t, uint32_t g, simtime_ns now);

/* The claimant's callbacks for a gang that runs or stops. */
void gang_evict(struct training *t, uint32_t g, simtime_ns now, simtime_ns grace_ns);
/* A lease of it has lost its GPUs of a node. */
void gang_fail(struct training *t, uint32_t g, lease_id l, uint32_t node, simtime_ns now);
void gang_withdrawn(struct training *t, uint32_t g, simtime_ns now); /* assembling no more */
/* When a running gang ends undisturbed or, with save, has its next complete save if that is
 * earlier.
 */
simtime_ns gang_next_stop(const struct training *t, uint32_t g, bool save, simtime_ns now);
void gang_released(struct training *t, uint32_t g, simtime_ns now);
bool gang_keeps(struct training *t, uint32_t g, simtime_ns now);
uint64_t gang_loss(const struct training *t, uint32_t g, simtime_ns now);

/* Its speed has changed: so does its expected end. */
void gang_expect_anew(struct training *t, uint32_t g);

/* At the end of the run: books what a running gang has done and reports any gang's row. */
void gang_settle(struct training *t, uint32_t g, simtime_ns now);

/* Reports a row as final and frees the slot. */
void gang_close(struct training *t, uint32_t g, enum job_outcome outcome);

void training_fail(struct training *t, enum hr_err err);

#endif
