/* What the files of the fleet share. One idea a file:
 *
 *   placement  free GPUs of each node and which of them a shape gets
 *   quota      how much a claimant may take, and from whom
 *   lease      the table of leases: numbers, slots, lists of held ones
 *   book       every move of GPUs between accounts of the ledger
 *   claims     GPUs that are on their way, and the starts that wait for them
 *   victims    which leases to evict
 *   spread     nodes of a start larger than a node, over free and incoming GPUs
 *   reclaim    fleet_reclaim, granting, giving up, the reclaim rows
 *   stop       stopping leases: drain, teardown, scrub
 *   fleet      construction, claimants, scheduling passes, acquire, looking
 *   nodes_out  nodes that are closed, fail and come back
 *   check      fleet_consistent
 *
 * Counting. Each physical GPU is free, in a held lease, in a stopping lease (draining, then
 * scrubbing), or kept clean for an assembling lease. A claimant has three counts that differ only
 * while something stops:
 *
 *   standing   held and assembling leases, each with its whole size from the decision on
 *   usage      standing + draining (until teardown ends): what its quota is charged with
 *   tied       usage + scrubbing: GPUs that are its own or on their way from it
 *
 * An assembling lease and the victims it waits for are both charged, so usage can sum to more than
 * the fleet; the ledger has each GPU once. */
#ifndef HEADROOM_MODELS_CAPACITY_FLEET_INTERNAL_H
#define HEADROOM_MODELS_CAPACITY_FLEET_INTERNAL_H

#include "models/capacity/fleet.h"
#include "models/capacity/placement_internal.h"
#include "sim/arena.h"

#define NONE UINT32_MAX

/* ---- leases ---- */

enum lease_phase {
    LEASE_GONE,       /* the slot is free */
    LEASE_ASSEMBLING, /* some of its GPUs are still to come */
    LEASE_HELD,
    LEASE_DRAINING, /* stopping: until teardown ends, charged to its claimant */
    LEASE_SCRUBBING /* stopping: GPUs have no owner */
};

struct lease {
    lease_id id;
    enum lease_phase phase;
    enum gpu_state state; /* while held or stopping */
    uint32_t claimant, tag, gpus;
    int32_t priority;    /* its claimant's and that of its ask */
    uint32_t lost;       /* held: GPUs gone with failed nodes and not replaced */
    uint32_t missing;    /* assembling: GPUs still to come */
    uint32_t row;        /* its reclaim row, or NONE */
    uint32_t claims;     /* assembling: first of its claims, or NONE */
    uint32_t prev, next; /* held: slots of the claimant's held leases */
    bool borrowed;       /* started over its claimant's floor */
    bool evicted;        /* stopping: because it was evicted */
    timer_id timer;      /* stopping: end of the stage; assembling and complete: granting */
    simtime_ns since;    /* first held */
    /* Stopping: begin of the save on notice, stop, end of teardown, end of scrub. */
    simtime_ns save_ns, stop_ns, teardown_end_ns, scrub_end_ns;
    struct parts parts; /* GPU set; while assembling also nodes of which none has come (mask 0) */
};

/* A start that waits for GPUs of a node. */
struct claim {
    uint32_t slot, part; /* assembling lease and the part of it that grows */
    uint32_t gpus;       /* still to come */
    uint32_t prev, next; /* claims on the same node, oldest first */
    uint32_t next_of_lease;
};

/* ---- claimants ---- */

struct claimant {
    struct quota quota;
    struct claimant_ops ops;
    uint32_t unlent; /* of the floor, what nobody else may use */
    uint32_t standing, usage, tied;
    uint32_t held;       /* GPUs of held leases */
    uint32_t first_held; /* slot, or NONE */
    /* Ready: held leases in GPU_HELD_IDLE or GPU_SERVING. How many of their GPUs the ledger counts
     * as serving is min(busy, ready) once fleet_busy_set has been called, else those of leases set
     * to GPU_SERVING. */
    uint32_t ready, set_serving, serving;
    uint32_t busy; /* NONE: fleet_busy_set has not been called */
    struct rng teardown, scrub;
};

/* ---- victims ---- */

/* A lease that could be evicted. */
struct candidate {
    uint64_t loss; /* GPU-ns of work */
    simtime_ns since;
    lease_id id;
    uint32_t slot, claimant, gpus;
    uint32_t gain; /* of its GPUs, those on open nodes: what evicting it gives */
};

/* A candidate and what evicting it gains: all of its GPUs, or those on one node. */
struct pick {
    uint32_t candidate, gain;
    uint32_t next; /* on the same node, or NONE */
};

/* Memory of a choice, kept between choices, and its result. Each GPU is in one lease at most, which
 * bounds every array of picks and of candidates by the GPUs of the fleet. */
struct victims {
    struct candidate *candidates;
    size_t *order; /* candidates in the order of the rule */
    uint32_t n;
    struct pick *on_node;    /* lists through next */
    uint32_t *first_on_node; /* per node, or NONE */
    struct pick *picks;      /* what one trial chooses from, in order */
    struct pick *trial;
    uint32_t *chosen; /* the result: candidates */
    uint32_t n_chosen;
    uint32_t node; /* the result for a shape within one node */
    struct {
        uint32_t *items; /* per claimant: GPUs of the victims of a trial; 0 between trials */
        size_t n, capacity;
    } taken;
};

/* ---- the fleet ---- */

struct fleet {
    struct reclaim_plan plan;
    struct engine *engine;
    struct ledger *ledger;
    uint64_t seed;
    uint32_t replication;
    struct fleet_trace trace;
    struct arena arena;
    struct nodes nodes;

    struct {
        struct claimant *items;
        size_t n, capacity;
    } claimants;
    struct {
        uint32_t *items; /* claimant numbers in order of passes */
        size_t n, capacity;
    } order;
    uint64_t unlent;   /* of all claimants */
    uint32_t stranded; /* of the free GPUs, those the ledger has in GPU_STRANDED */

    struct {
        struct lease *items;
        size_t n, capacity;
    } leases; /* slots */
    struct {
        uint32_t *items; /* slot of each lease number, or NONE when it is gone */
        size_t n, capacity;
    } slot_of;
    uint32_t free_slot; /* list through next */

    /* Per node: GPUs of stopping leases, of evicted ones among them, and how many are claimed. */
    uint8_t *incoming, *incoming_evicted, *claimed;
    uint32_t n_incoming, n_claimed;     /* in all */
    uint32_t n_unclaimed;               /* incoming less claimed, of open nodes */
    uint32_t *first_claim, *last_claim; /* per node, or NONE */
    /* Per node, scratch of a start over many nodes: free GPUs it may use, GPUs there for it (free
     * or coming), GPUs it takes. */
    uint8_t *usable, *available, *take;
    struct {
        struct claim *items;
        size_t n, capacity;
    } claims;
    uint32_t free_claim; /* list through next */

    /* Per node: what it is closed for (GPU_STATES: open), and its GPUs that are in no lease while
     * it is. */
    uint8_t *out_state;
    uint64_t *out_mask;
    uint8_t *spare; /* closed as a hot spare */
    uint32_t n_out, n_spares;
    uint32_t n_closed; /* nodes */

    struct victims victims;
    struct {
        struct reclaim_row *items;
        size_t n, capacity;
    } rows;

    timer_id pass_timer;
    simtime_ns next_pass_ns; /* not before: one pass an instant */
    bool in_pass;
    bool pass_again;  /* wanted while one ran */
    uint64_t changes; /* leases taken, stopped or given up so far */

    /* scratch of fleet_consistent */
    uint64_t *seen; /* per node */
    struct {
        uint64_t *items; /* per account */
        size_t n, capacity;
    } expected;
};

/* ---- quota.c ---- */

/* GRANT_OK, GRANT_QUOTA (over the ceiling for now) or GRANT_NEVER. */
enum grant quota_ceiling(const struct fleet *f, uint32_t claimant, uint32_t gpus);
/* Free GPUs a claimant may take now without touching what others do not lend. */
uint32_t quota_free(const struct fleet *f, uint32_t claimant);
/* GPUs free or on their way and unclaimed that it may have, by the same rule. */
uint32_t quota_coming(const struct fleet *f, uint32_t claimant);
/* Whom of the others a claimant may take GPUs from to start so many more. */
enum within_cohort quota_may_take(const struct fleet *f, uint32_t claimant, uint32_t gpus);
/* True when leases of victim may be evicted for claimant; taken of its GPUs already are. */
bool quota_takeable(const struct fleet *f, uint32_t claimant, enum within_cohort from,
                    uint32_t victim, uint32_t taken);
/* GPUs that quota keeps for victim more than before once taken of its GPUs are evicted. */
uint32_t quota_keeps_more(const struct fleet *f, uint32_t victim, uint32_t taken);
/* Charges a new lease; returns whether it borrows. */
bool quota_charge(struct fleet *f, uint32_t claimant, uint32_t gpus);
void quota_stop(struct fleet *f, uint32_t claimant, uint32_t gpus);    /* stands no longer */
void quota_release(struct fleet *f, uint32_t claimant, uint32_t gpus); /* teardown ended */
void quota_untie(struct fleet *f, uint32_t claimant, uint32_t gpus);   /* scrub ended */

/* ---- lease.c ---- */

enum hr_err lease_new(struct fleet *f, uint32_t claimant, const struct ask *ask, uint32_t *slot);
void lease_drop(struct fleet *f, uint32_t slot);
void lease_hold(struct fleet *f, uint32_t slot, simtime_ns now); /* enters the held ones */
void lease_unhold(struct fleet *f, uint32_t slot);
uint32_t lease_slot(const struct fleet *f, lease_id l); /* asserts that it is not gone */

/* ---- book.c ---- */

void book_take(struct fleet *f, uint32_t slot, enum gpu_state to);  /* free to a held state */
void book_state(struct fleet *f, uint32_t slot, enum gpu_state to); /* held to held */
void book_release(struct fleet *f, uint32_t slot);                  /* draining to scrubbing */
void book_clean(struct fleet *f, uint32_t slot);                    /* scrubbing to free */
void book_keep(struct fleet *f, uint32_t slot, uint32_t gpus);      /* free to kept */
void book_unkeep(struct fleet *f, uint32_t slot, uint32_t gpus);    /* kept to free */
void book_grant(struct fleet *f, uint32_t slot);                    /* kept to ready */
void book_busy(struct fleet *f, uint32_t claimant);                 /* ready: serving or idle */
void book_strand(struct fleet *f, uint32_t gpus);                   /* of the free ones */
void book_out(struct fleet *f, enum gpu_state from, enum gpu_state to,
              uint32_t gpus); /* nobody's, in no lease */
/* GPUs that a lease loses now, booked (nobody, to); its gpus is the lessened number when it
 * returns.
 */
void book_lose(struct fleet *f, uint32_t slot, uint32_t gpus, enum gpu_state to);
void book_replace(struct fleet *f, uint32_t slot, uint32_t gpus); /* of a spare, to its lease */

/* ---- claims.c ---- */

static inline bool node_closed(const struct fleet *f, uint32_t node)
{
    return f->out_state[node] != GPU_STATES;
}

/* Incoming GPUs of a node that a start can still claim. */
static inline uint32_t claims_unclaimed(const struct fleet *f, uint32_t node)
{
    return node_closed(f, node) ? 0 : (uint32_t)f->incoming[node] - f->claimed[node];
}

/* Room for n more claims and parts of a lease: those that follow cannot fail. */
bool claims_reserve(struct fleet *f, uint32_t slot, uint32_t n);
/* An assembling lease takes clean GPUs of a node and claims others that are on their way; its parts
 * and the claims have room. */
void claims_add(struct fleet *f, uint32_t slot, uint32_t node, uint32_t clean, uint32_t coming);
void claims_drop(struct fleet *f, uint32_t slot);     /* gives back what a lease has not got yet */
void claims_announce(struct fleet *f, uint32_t slot); /* a lease stops: its GPUs are coming */
void claims_arrive(struct fleet *f, uint32_t slot);   /* its GPUs are clean: hands them out */
/* GPUs of a stopping lease on a node will not come; nobody claims on that node. */
void claims_retract(struct fleet *f, const struct lease *l, uint32_t node, uint32_t gpus);

/* ---- victims.c ---- */

enum hr_err victims_init(struct fleet *f);
/* Who must go so that the shape can be placed: victims.chosen (nobody where incoming GPUs do), and
 * victims.node for a shape within one node. free: how many free GPUs may be used; coming: how many
 * free and incoming ones together. False when no set of victims will do. */
bool victims_choose(struct fleet *f, uint32_t claimant, const struct shape *shape, uint32_t free,
                    uint32_t coming);

/* ---- spread.c ---- */

/* Plans the nodes of a start over many of them, with at most free of the free GPUs; there are
 * enough. */
void spread_plan(struct fleet *f, const struct shape *shape, uint32_t free);
/* Keeps and claims what was planned; there is room for so many claims. */
void spread_claim(struct fleet *f, uint32_t slot);

/* ---- reclaim.c ---- */

/* An assembling lease got the last of its GPUs from a stopping one: its row's stages. */
void reclaim_complete(struct fleet *f, uint32_t slot, const struct lease *from);
void reclaim_grant(struct fleet *f, uint32_t slot);

/* ---- nodes_out.c ---- */

enum hr_err nodes_out_init(struct fleet *f);
/* Clean GPUs that nobody claims, booked (nobody, free): free, or out with their node. */
void nodes_out_return(struct fleet *f, uint32_t node, uint64_t mask);

/* ---- stop.c ---- */

void stop_stage_over(struct fleet *f, uint32_t slot);

/* ---- fleet.c ---- */

static inline simtime_ns fleet_now(const struct fleet *f)
{
    return engine_now(f->engine);
}

#endif
