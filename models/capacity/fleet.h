/* The fleet: nodes, leases, quota, reclaim. One mechanism for every pool design.
 *
 * Claimants (services and training queues) hold GPUs only through leases. A lease is a claimant, a
 * GPU set and a state; every state change goes through it and is written to the ledger. A claimant
 * has a quota (floor, ceiling, lend, priority, whom it may evict; names and rules:
 * models/README.md, "Quota and reclaim"). Designs are presets of these numbers, nothing here knows
 * their names.
 *
 * Life of a lease
 *
 *     fleet_acquire --(free GPUs)----------------------------> held --fleet_stop--> stopping ->
 * gone fleet_reclaim --(evicts)--> assembling --granted()---->/        (drain, teardown, scrub)
 *      fleet_collect --(waits)--->/
 *
 * Once an instant at most, in event class EVENT_SCHEDULE, a scheduling pass calls each claimant's
 * schedule() in order of priority (highest first, then claimant number); there it acquires,
 * reclaims, or waits. Ask for a pass with fleet_want_pass; stops and the ends of their stages ask
 * by themselves. Asked for in an instant that has had its pass, the next comes a nanosecond later;
 * asked for during a pass, only if that pass changed something. A pass that frees nothing and
 * changes nothing is cheap.
 *
 * Reclaim. fleet_reclaim picks victims by the plan's rule among leases of claimants it may take
 * from, each tested against its claimant's floor before each eviction, and calls their claimants'
 * evict(). The victim's claimant stops the lease within the grace (fleet_stop_at); teardown and
 * scrub follow; the GPUs then go to the assembling lease they are claimed for (held_idle until it
 * is complete), the rest is free. A lease gives back all of its GPUs or none. A claimant that can
 * do with fewer holds a lease of the least it needs and extensions of it: whatever the rule says,
 * these go before the lease that they extend, and evicting that one ends them too.
 *
 * Lease numbers count up and are never used twice.
 *
 * Events, ties: all choices break ties by lease number, then node number. */
#ifndef HEADROOM_MODELS_CAPACITY_FLEET_H
#define HEADROOM_MODELS_CAPACITY_FLEET_H

#include "models/capacity/ledger.h"
#include "models/capacity/supply.h"
#include "models/hardware/mig_index.h"
#include "models/hardware/power.h"
#include "sim/dist.h"
#include "sim/engine.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what a plan says ---- */

struct node_group {
    const char *name;
    const char *gpu; /* catalogue name, "h100-sxm" */
    uint32_t nodes;
    uint32_t gpus_per_node; /* 1..64 */
};

/* Whom of the other claimants a start may evict (Kueue: reclaimWithinCohort, borrowWithinCohort).
 */
enum within_cohort { COHORT_NEVER, COHORT_LOWER_PRIORITY, COHORT_ANY, COHORT_POLICIES };
extern const char *const within_cohort_names[COHORT_POLICIES];

/* Whom of its own claimant (Kueue: withinClusterQueue). */
enum within_queue {
    QUEUE_NEVER,
    QUEUE_LOWER_PRIORITY,
    QUEUE_LOWER_OR_NEWER_EQUAL, /* also of equal priority, if it started later */
    QUEUE_POLICIES
};
extern const char *const within_queue_names[QUEUE_POLICIES];

#define COHORT_ROOT 0u

/* What a claimant may hold of one pool. All zero: nothing. */
struct quota {
    uint32_t floor_gpus;   /* nominal quota */
    uint32_t ceiling_gpus; /* floor + borrowing limit */
    uint32_t lend_gpus;    /* lending limit: of the floor, what others may use while it is idle */
    int32_t priority; /* order in passes; priority of its leases, to which an ask adds its own */
    double weight;    /* fair sharing; 0 counts as 1 */
    enum within_cohort reclaim_within_cohort; /* while usage + request <= floor: from borrowers */
    enum within_cohort borrow_within_cohort;  /* also beyond it, up to the ceiling: from borrowers
                                                 of lower priority; never or lower-priority */
    bool has_borrow_threshold;                /* beyond the floor only victims ... */
    int32_t borrow_threshold;                 /* ... of at most this priority */
    enum within_queue within_queue;
    uint32_t cohort; /* 1 + index in fleet_plan.cohorts; COHORT_ROOT: directly under the fleet */
};

/* The two policies as one word: never; floor (any borrower, to the own floor); lower-priority (also
 * beyond it, from borrowers of lower priority). */
enum may_reclaim { RECLAIM_NEVER, RECLAIM_FLOOR, RECLAIM_LOWER_PRIORITY, RECLAIM_POLICIES };
extern const char *const may_reclaim_names[RECLAIM_POLICIES];
void quota_may_reclaim(struct quota *q, enum may_reclaim may);

/* Quota that claimants share: a team, an organisation (Kueue: Cohort). Limits hold at each level.
 */
struct cohort {
    const char *name;
    uint32_t parent;                  /* as quota.cohort; a lower number than its own */
    uint32_t floor_gpus;              /* nominal quota of its own, beside what its members have */
    uint32_t ceiling_gpus, lend_gpus; /* of the whole: members and own */
    double weight;
};

/* Pools: sets of nodes with one kind of supply, each with a quota of its own (Kueue: resource
 * flavors). A claimant lists the pools it may use in its order of preference. */
enum { POOLS_MAX = 4 };
struct pool_claim {
    uint32_t pool;
    struct quota quota;
};

/* The quotas of n claims by pool number; in a pool that is not listed, nothing. */
void quotas_by_pool(const struct pool_claim *claims, uint32_t n, struct quota quotas[POOLS_MAX]);

/* Which leases go; code, name in scenarios, rule. Ties: victims.c. */
#define VICTIM_LIST(X)                                                                             \
    X(LEAST_WORK_LOST, "least-work-lost", "least work lost, then fewest GPUs beyond the need")     \
    X(LEAST_OVER_RECLAIM, "least-over-reclaim",                                                    \
      "fewest GPUs beyond the need, then least work lost")                                         \
    X(YOUNGEST, "youngest", "latest start")                                                        \
    X(LOWEST_PRIORITY, "lowest-priority",                                                          \
      "other claimants' before its own, lowest priority, then latest start")                       \
    X(SMALLEST_GANG, "smallest-gang",                                                              \
      "the smallest that suffices; fewest victims, then fewest GPUs")                              \
    X(PROPORTIONAL, "proportional", "borrowers give in proportion to what they borrow")            \
    X(FAIR_SHARE, "fair-share",                                                                    \
      "of the claimant with the highest fair share, while the start's is lower")

#define VICTIM_ENUM(code, name, doc) VICTIM_##code,
enum victim_rule { VICTIM_LIST(VICTIM_ENUM) VICTIM_RULES };
#undef VICTIM_ENUM
extern const char *const victim_rule_names[VICTIM_RULES];

/* The stages of a reclaim in order, and of a cold start, which is its tail.
 * code, name in scenarios and results, what it means */
#define STAGE_LIST(X)                                                                              \
    X(DETECT, "detect", "demand above capacity until the decision")                                \
    X(GRACE, "grace", "notice to the victim until it has stopped")                                 \
    X(CHECKPOINT, "checkpoint", "save on notice, inside the grace")                                \
    X(TEARDOWN, "teardown", "processes and containers end, memory is free")                        \
    X(SCRUB, "scrub", "GPU memory wiped between owners")                                           \
    X(RECONFIGURE, "reconfigure", "MIG layout changed")                                            \
    X(SCHEDULE, "schedule", "scheduler binds, pod starts")                                         \
    X(IMAGE, "image", "container image pulled")                                                    \
    X(WEIGHTS, "weights", "model weights read")                                                    \
    X(ENGINE, "engine", "engine start and warm-up until ready")

#define STAGE_ENUM(code, name, doc) STAGE_##code,
enum stage { STAGE_LIST(STAGE_ENUM) STAGES };
#undef STAGE_ENUM
extern const char *const stage_names[STAGES];
extern const char *const stage_docs[STAGES];

struct reclaim_plan {
    enum victim_rule victims;
    simtime_ns grace_ns;  /* longest time a victim may take to stop */
    struct dist teardown; /* per stopping lease */
    struct dist scrub;    /* per stopping lease */
    bool consolidate;     /* GPUs enough, wrongly placed: small leases move off a node */
    bool serial;          /* no start evicts while another waits for evicted GPUs */
};

/* On which of the nodes with room a start goes; code, name in scenarios, rule. Larger starts and
 * ties: placement_internal.h. */
#define PLACE_LIST(X)                                                                              \
    X(BEST_FIT, "best-fit", "the node with fewest free GPUs")                                      \
    X(FIRST_FIT, "first-fit", "the lowest node")                                                   \
    X(WORST_FIT, "worst-fit", "the node with most free GPUs: spreads")                             \
    X(TOPOLOGY, "topology",                                                                        \
      "best fit that keeps leaf groups whole and gangs in few of them, and in few spines")

#define PLACE_ENUM(code, name, doc) PLACE_##code,
enum place_rule { PLACE_LIST(PLACE_ENUM) PLACE_RULES };
#undef PLACE_ENUM
extern const char *const place_rule_names[PLACE_RULES];

/* Leaf groups (scalable units): the nodes behind one set of leaf switches, in order of node number.
 * Spines (blocks, pods): the leaf groups below one set of spine switches, in the same order. An
 * NVSwitch domain of several nodes is a leaf group too, the scalable unit of such domains a spine.
 */
struct fabric {
    const uint32_t *leaf_nodes;   /* not owned; nodes of each, in all those of the pool */
    uint32_t n_leaves;            /* 0: no topology */
    const uint32_t *spine_leaves; /* not owned; leaf groups of each, in all n_leaves */
    uint32_t n_spines;            /* 0 or 1: no such level */
};

/* Racks of a pool and the power that each may draw: so many nodes by number, beginning anew with a
 * leaf group and with a group of nodes. */
struct rack_plan {
    const struct node_power *power; /* not owned; of a node of each group; NULL: not known */
    uint32_t nodes;                 /* up to 64; 0: no limit */
    double limit_w;                 /* holds a node at its rating beside the others at idle */
    bool slow; /* no start waits for power: GPUs of a rack are as slow as its limit makes them when
                  all are at work (power_speed) */
};

/* How the GPUs of a pool are shared. */
enum sharing_kind {
    SHARING_NONE,   /* whole GPUs */
    SHARING_MIG,    /* instances at legal places; memory slices are counted */
    SHARING_CLIENTS /* so many alike clients a GPU: MPS, time-slicing */
};

/* What some GPUs of a pool of instances are cut into. */
struct slice_layout {
    const struct mig_tables *mig; /* not owned; of a fixed one: with its starts alone */
    uint32_t gpus;                /* that have it at first: the next ones by number */
    bool fixed;                   /* its instances are always there; else made as asked for */
    bool target;                  /* idle GPUs of fixed layouts may be re-laid to it */
    simtime_ns reconfigure_ns;    /* after an instance the next one is made in its place */
};

struct sharing_plan {
    enum sharing_kind kind;
    uint32_t units_per_gpu;       /* what is counted of one GPU: memory slices, clients; 0: 1 */
    const struct mig_tables *mig; /* not owned; of the GPU */
    enum mig_order order;         /* on which GPU, and where on it */
    enum mig_rule rule;
    simtime_ns reconfigure_ns;          /* without layouts: an instance is destroyed and the next
                                           one made */
    const struct slice_layout *layouts; /* not owned; of all GPUs together */
    uint32_t n_layouts;                 /* up to 255; 0: instances are made as asked for */
    bool larger;                        /* a start may have a larger instance of a fixed layout */
    simtime_ns relayout_ns;             /* to re-lay a GPU, which is out of service */
    simtime_ns keep_ns;                 /* a GPU that has been re-laid stays so for this long */
    /* Clients: of the speed of a whole GPU, what each of 1, 2, .. units_per_gpu has that are at
     * work on it, above 0; not owned. NULL: the work of others makes no difference. */
    const double *client_speed;
    double client_mtbf_s; /* of one client or instance that is held; 0: none has faults */
    bool fault_ends_gpu;  /* a fault of one ends all on its GPU */
};

/* One pool. What it counts are GPUs; in a shared pool units: quotas, shapes, leases. */
struct fleet_plan {
    const struct node_group *groups; /* not owned */
    size_t n_groups;
    struct reclaim_plan reclaim;
    const char *name;
    const struct cohort *cohorts; /* not owned */
    size_t n_cohorts;
    double price_usd_per_gpu_h; /* of what is supplied */
    struct supply_plan supply;
    enum place_rule place;
    struct fabric fabric;
    struct sharing_plan sharing;
    struct rack_plan racks; /* with a limit there are no spares */
};

uint32_t fleet_plan_gpus(const struct fleet_plan *p);
uint32_t fleet_plan_units_per_gpu(const struct fleet_plan *p);
/* Compute slices of all GPUs; 0 where there is no MIG. */
uint32_t fleet_plan_compute(const struct fleet_plan *p);

/* ---- shapes, leases ---- */

enum shape_kind {
    SHAPE_ONE_NODE,     /* all GPUs in one node */
    SHAPE_PREFER_WHOLE, /* up to a node's size: one node; larger: whole nodes and one remainder
                           where there are enough, else any free GPUs, fullest nodes first (those
                           with fewest free GPUs) */
    SHAPE_ANY,
    SHAPE_WHOLE_NODES, /* whole nodes and one remainder, or it waits */
    SHAPE_ONE_LEAF,    /* these in one leaf group, or it waits */
    SHAPE_SLICE,       /* a MIG instance */
    SHAPE_KINDS
};
extern const char *const shape_kind_names[SHAPE_KINDS];

/* How far apart the GPUs of a lease are. */
enum lease_span { SPAN_NODE, SPAN_LEAF, SPAN_LEAVES, SPAN_SPINES, LEASE_SPANS };
extern const char *const lease_span_names[LEASE_SPANS];

struct shape {
    uint32_t gpus;
    enum shape_kind kind;
    uint8_t profile; /* slice: number in the pool's tables; gpus are its memory slices */
    bool exact;      /* slice: no larger one will do */
    uint8_t beyond;  /* slice: memory slices beyond those asked for; the fleet's */
};

struct fleet; /* opaque */

/* A pool in a run. */
struct pool {
    struct fleet *fleet;
    struct ledger *ledger;
    struct ledger *compute; /* of compute slices; NULL where there is no MIG */
};

typedef uint32_t lease_id;
#define LEASE_NONE UINT32_MAX

/* What a claimant asks for. */
struct ask {
    struct shape shape;
    uint32_t tag;         /* the claimant's handle */
    int32_t priority;     /* beyond the claimant's own */
    simtime_ns submit_ns; /* since when it is asked for: which of two equal ones is newer */
    simtime_ns guard_ns;  /* held, it is not evicted before so long for a start of at most its
                             priority */
    bool extends;         /* fleet_acquire: GPUs beyond those of a held lease, which ends ... */
    lease_id base;        /* ... not without its claimant stopping them at once */
};

/* One reclaim: a start that needed evicted GPUs, from the decision to ready. */
struct reclaim_row {
    uint32_t pool; /* set in the results of a run */
    uint32_t claimant;
    lease_id lease;
    simtime_ns decision_ns, granted_ns, ready_ns; /* ready SIM_NEVER: not reached (yet) */
    simtime_ns stage_ns[STAGES]; /* DETECT is before the decision; GRACE excludes CHECKPOINT */
    uint32_t gpus;               /* of the start */
    uint32_t gpus_missing;       /* of these, to come from evictions */
    uint32_t gpus_evicted;       /* newly evicted for it */
    uint32_t victims;            /* leases newly evicted for it */
    bool moves;                  /* these move: there is room for them on other nodes */
};

/* What reclaim did in all. */
struct fleet_churn {
    uint64_t leases;    /* ever held */
    uint64_t reclaims;  /* starts that evicted */
    uint64_t evictions; /* leases; moved ones, too */
    uint64_t moves;     /* of these, by consolidating */
    uint64_t spared;    /* times that a lease was left alone because it had been evicted a moment
                           before for a start of at least the same priority, or for its guard */
    uint64_t larger;    /* starts on a larger instance than they asked for */
    u128 beyond_ns;     /* memory slices beyond what was asked for, over the time they were held */
    uint64_t relayouts; /* GPUs that were given another MIG layout */
};

struct claimant_ops {
    void *self;
    /* One scheduling pass: acquire or reclaim what waits. NULL: another claimant's does it. */
    void (*schedule)(void *self, simtime_ns now);
    /* An assembling lease is complete and held; its GPUs are booked (claimant, held_idle). */
    void (*granted)(void *self, lease_id l, simtime_ns now);
    /* The fleet takes the lease back: stop using it and call fleet_stop_at(l, t, checkpoint_ns)
     * with now <= t <= now + grace, before returning. */
    void (*evict)(void *self, lease_id l, simtime_ns now, simtime_ns grace_ns);
    /* It is not preemptible now and never chosen as a victim. NULL: all are. */
    bool (*keeps)(void *self, lease_id l, simtime_ns now);
    /* GPU-nanoseconds of work that evicting it now would lose: asked by the victim rules that go by
     * it. */
    uint64_t (*loss)(void *self, lease_id l, simtime_ns now);
    /* Smallest per-node share of any request that waits and that quota would admit; 0: none waits.
     * With MIG: the profiles that wait, a bit each. */
    uint32_t (*waiting_share)(void *self);
    /* With MIG: adds, by profile, how many instances wait that quota would admit. NULL: none. */
    void (*waiting_slices)(void *self, uint32_t n[MIG_PROFILES]);
    /* The stopped lease's GPUs are gone (teardown done, before the scrub). May be NULL. */
    void (*released)(void *self, lease_id l, simtime_ns now);
    /* A held lease has lost GPUs with a node that failed; it goes on with those it still has until
     * its claimant stops it (fleet_stop_at) or replaces the node (fleet_replace), now or later. Or
     * a fault has ended what ran in it, and it has lost none (fleet_lease_lost).
     * NULL: never held where nodes or clients fail. */
    void (*failed)(void *self, lease_id l, uint32_t node, simtime_ns now);
    /* An assembling lease had or awaited GPUs of a node that is out now, or collects more GPUs than
     * are left: the fleet gives it up when this returns. NULL: never reclaims or collects where
     * nodes fail. */
    void (*withdrawn)(void *self, lease_id l, simtime_ns now);
    /* When a held lease ends by itself or, with save, has its next complete save if that is
     * earlier; SIM_NEVER: unknown. NULL: it can be stopped at any time. */
    simtime_ns (*next_stop)(void *self, lease_id l, bool save, simtime_ns now);
    /* Other clients of the GPUs of a held lease that is at work have begun or ceased to work in
     * this instant: its speed may be another. NULL: it does not mind. */
    void (*crowded)(void *self, lease_id l, simtime_ns now);
};

/* What the supply of the pool hears of. */
struct fleet_watch {
    void *self;
    void (*refused)(void *self, uint32_t gpus); /* a start, for want of room or of its shape */
    void (*emptied)(void *self, uint32_t node); /* no lease holds any of it now */
    void (*saved)(void *self, uint32_t node, lease_id l); /* fleet_lease_saved, of a closed node */
    void (*passed)(void *self);                           /* the pass is over */
};

/* Called at every change of a lease's state. */
struct fleet_trace {
    void *self;
    void (*change)(void *self, simtime_ns now, lease_id l, uint32_t claimant, enum gpu_state from,
                   enum gpu_state to, uint32_t gpus);
};

/* Owner index of claimant i is i + 1. Streams come from (seed, replication). Borrowed pointers must
 * outlive the fleet. NULL when memory is out. */
struct fleet *fleet_new(const struct fleet_plan *plan, struct engine *engine, struct ledger *ledger,
                        uint64_t seed, uint32_t replication);
void fleet_free(struct fleet *f);
/* With MIG, before the run: the ledger of compute slices, which must outlive the fleet. */
void fleet_compute_set(struct fleet *f, struct ledger *compute);
void fleet_trace_set(struct fleet *f, const struct fleet_trace *t);
void fleet_watch_set(struct fleet *f, const struct fleet_watch *w);

/* Claimants are numbered from 0 in the order added, before the run starts. name keys its streams.
 */
enum hr_err fleet_claimant_add(struct fleet *f, const char *name, const struct quota *q,
                               const struct claimant_ops *ops, uint32_t *claimant);

void fleet_want_pass(struct fleet *f);
simtime_ns fleet_pass_due(const struct fleet *f); /* of the next pass; SIM_NEVER: none is due */

/* ---- taking and giving back ---- */

enum grant {
    GRANT_OK,       /* held, or assembling */
    GRANT_QUOTA,    /* over the ceiling, or into GPUs that others do not lend */
    GRANT_ROOM,     /* enough GPUs for it are not free: count */
    GRANT_SHAPE,    /* enough are free, wrongly placed */
    GRANT_TOPOLOGY, /* enough whole nodes are free, in no one leaf group */
    GRANT_NEVER,    /* more than the ceiling, or fits no empty fleet: can never start */
    GRANT_FAILED    /* memory is out */
};

/* Takes free GPUs now, in state. */
enum grant fleet_acquire(struct fleet *f, uint32_t claimant, const struct ask *ask,
                         enum gpu_state state, lease_id *out);

/* As fleet_acquire without taking: what the answer would be. */
enum grant fleet_would(const struct fleet *f, uint32_t claimant, const struct shape *shape);

/* Takes free and evicted GPUs: evicts what is needed if the claimant may reclaim it. GRANT_OK: the
 * lease is assembling, granted() will be called. detect_ns goes into the reclaim row. */
enum grant fleet_reclaim(struct fleet *f, uint32_t claimant, const struct ask *ask,
                         simtime_ns detect_ns, lease_id *out);

/* As fleet_reclaim without evicting anybody: the lease keeps free GPUs and those that come free
 * before anyone else can have them, as far as quota admits, until it is whole. GRANT_ROOM: the
 * nodes that are open could not hold it; when that comes later it is withdrawn. Leases that collect
 * are served one after the other, the oldest first. */
enum grant fleet_collect(struct fleet *f, uint32_t claimant, const struct ask *ask, lease_id *out);

/* Gives up an assembling lease: its GPUs become free as they come. */
void fleet_abandon(struct fleet *f, lease_id l);

/* Changes the state of a held lease. */
void fleet_set_state(struct fleet *f, lease_id l, enum gpu_state s);

/* Stops a held lease: draining until at (>= now), then teardown (draining), then scrub (no owner).
 * checkpoint_ns: of the time until at, how much is a save on notice (for the reclaim rows). */
void fleet_stop_at(struct fleet *f, lease_id l, simtime_ns at, simtime_ns checkpoint_ns);

/* A lease that is to stop at a later time, or now, stops now; with its extensions, those too that
 * have not stopped yet. */
void fleet_stop_sooner(struct fleet *f, lease_id l, bool extensions, simtime_ns checkpoint_ns);

/* ---- nodes that come and go ----
 *
 * A node is open, or closed: out for a failure, for maintenance, because it is not supplied, or as
 * a hot spare. Nothing starts on a closed node; its free GPUs are booked (nobody, the state it is
 * out for) at once, and those that come free later follow. Leases on it go on until something ends
 * them. Nodes are numbered in the order of the plan's groups. */

uint32_t fleet_nodes(const struct fleet *f);
uint32_t fleet_node_gpus(const struct fleet *f, uint32_t node);

/* Closes an open node, or changes what a closed one is out for. */
void fleet_node_close(struct fleet *f, uint32_t node, enum gpu_state state);

/* Ends what is still on a closed node: held leases are evicted with this grace, whether their
 * claimant would let them go or not; assembling ones are withdrawn. */
void fleet_node_drain(struct fleet *f, uint32_t node, simtime_ns grace_ns);

/* The node is gone at once: closes it, takes its GPUs out of every lease (held ones: failed();
 * assembling ones: withdrawn()) and books them (nobody, state). */
void fleet_node_fail(struct fleet *f, uint32_t node, enum gpu_state state);

/* The node is back; what of it is in no lease is free. */
void fleet_node_open(struct fleet *f, uint32_t node);

bool fleet_node_closed(const struct fleet *f, uint32_t node);
bool fleet_node_idle(const struct fleet *f,
                     uint32_t node);            /* closed, and no lease holds any of it */
uint32_t fleet_out_gpus(const struct fleet *f); /* of closed nodes, in no lease; no spares */

/* Makes a closed, idle node a hot spare: (nobody, held_idle) until fleet_replace takes it. */
void fleet_spare_add(struct fleet *f, uint32_t node);
uint32_t fleet_spares(const struct fleet *f);

/* Gives a held lease as many GPUs of hot spares as it has lost with its nodes: those of the
 * lowest-numbered spare that is large enough, else of several, which are open then. node: the first
 * of them. False: the spares are too few, and nothing changes. */
bool fleet_replace(struct fleet *f, lease_id l, uint32_t *node);

/* Evicts one held lease with this grace, whether its claimant would let it go or not. */
void fleet_evict(struct fleet *f, lease_id l, simtime_ns grace_ns);

/* What the claimant of a held lease says of its next stop; now when it can stop at any time. */
simtime_ns fleet_next_stop(const struct fleet *f, lease_id l, bool save);

/* A held lease that did not know its next stop has completed a save: who waits for that hears of
 * it. */
void fleet_lease_saved(struct fleet *f, lease_id l);

uint32_t fleet_node_free(const struct fleet *f, uint32_t node); /* of an open node */

/* A lease on the node that is held, after the lease `after` (LEASE_NONE: the first); LEASE_NONE:
 * no more. By slot: in no particular order. */
lease_id fleet_node_next_lease(const struct fleet *f, uint32_t node, lease_id after);

/* ---- clients of shared GPUs (clients.c) ---- */

/* What runs in a held lease begins or ceases to work; one that stops ceases by itself. */
void fleet_lease_work(struct fleet *f, lease_id l, bool works);

/* The most clients on a GPU of a held lease that are at work while it is; 0: whether others work
 * makes no difference here. */
uint32_t fleet_lease_clients(const struct fleet *f, lease_id l);

/* A fault of the client at a unit of the pool (nodes by number): ends what runs in its lease, or in
 * all held leases on its GPU, oldest first (failed()). An instance has its faults at its first
 * unit. Returns how many leases it has ended; 0: nobody is there. */
uint32_t fleet_client_fault(struct fleet *f, uint32_t unit);

/* ---- the busy share of a service ---- */

/* Books so many GPUs of the claimant's held leases as serving, the others of those in state
 * held_idle or serving as held_idle: whichever replicas hold the requests. Returns how many there
 * are to be booked, at most gpus. */
uint32_t fleet_busy_set(struct fleet *f, uint32_t claimant, uint32_t gpus);

/* ---- looking ---- */

/* Changes whenever GPUs are taken, begin or end to stop, come free, go out or come back. */
uint64_t fleet_version(const struct fleet *f);
uint32_t fleet_gpus(const struct fleet *f);          /* that leases can have at once */
uint32_t fleet_units_per_gpu(const struct fleet *f); /* 1 where GPUs are whole */
uint32_t fleet_slice_memory(const struct fleet *f, uint8_t profile); /* with MIG: memory slices */
uint32_t fleet_lease_compute(const struct fleet *f, lease_id l);     /* compute slices */
/* With MIG: the profiles on whose instances a start of one of these may be, a bit each. */
uint32_t fleet_slices_for(const struct fleet *f, uint32_t profiles);
uint32_t fleet_free_gpus(const struct fleet *f); /* that power limits let be taken */
/* Free GPUs that power limits withhold would do for a shape that does not fit. */
bool fleet_power_binds(const struct fleet *f, const struct shape *shape);
/* The most that starts can have together: without the smallest nodes, as many as there are hot
 * spares, which only come in for others. */
uint32_t fleet_startable_gpus(const struct fleet *f);
uint32_t fleet_coming_gpus(const struct fleet *f); /* of stopping leases, claimed by no start */
simtime_ns fleet_grace_ns(const struct fleet *f);  /* the plan's: what evict() will be given */

/* fleet_would in parts, for many shapes of one claimant: more than the headroom is over a ceiling;
 * then more than are free lacks room; then more than lent is not lent; else the answer is fit. */
uint64_t fleet_headroom(const struct fleet *f, uint32_t claimant);
uint32_t fleet_lent(const struct fleet *f, uint32_t claimant);
enum grant fleet_fit(const struct fleet *f, const struct shape *shape);

uint32_t fleet_usage(const struct fleet *f, uint32_t claimant); /* every owned state */
/* Usage above nominal quota over what is lendable in its cohort, over its weight. */
double fleet_share(const struct fleet *f, uint32_t claimant);
const struct quota *fleet_quota(const struct fleet *f, uint32_t claimant);
uint32_t fleet_lease_tag(const struct fleet *f, lease_id l);
uint32_t fleet_lease_gpus(const struct fleet *f, lease_id l);
enum lease_span fleet_lease_span(const struct fleet *f, lease_id l);
enum lease_span fleet_leases_span(const struct fleet *f, lease_id a, lease_id b); /* together */
/* 0..1: of its slowest rack, times what the other clients that work leave it. */
double fleet_lease_speed(const struct fleet *f, lease_id l);
uint32_t fleet_lease_lost(const struct fleet *f, lease_id l);    /* with nodes, and not replaced */
simtime_ns fleet_lease_since(const struct fleet *f, lease_id l); /* when it was first held */
bool fleet_lease_borrowed(const struct fleet *f, lease_id l);    /* started over its floor */

/* The reclaim that l came from, to be completed by its claimant (cold start stages, ready); NULL
 * when it needed none. Valid until the next fleet call. */
struct reclaim_row *fleet_lease_reclaim(struct fleet *f, lease_id l);
const struct reclaim_row *fleet_reclaims(const struct fleet *f, size_t *n);
const struct fleet_churn *fleet_churn(struct fleet *f); /* up to now */

/* ---- what could start, over time ---- */

/* code, name in results, what it means */
#define PLACEABLE_LIST(X)                                                                          \
    X(FREE, "free", "free GPUs")                                                                   \
    X(BLOCK, "block", "the largest number of free GPUs in one node")                               \
    X(WHOLE, "whole", "GPUs of wholly free nodes: the largest gang on whole nodes")                \
    X(LEAF, "leaf", "of these, the most in one leaf group: the largest gang in one")               \
    X(SPINE, "spine", "of these, the most below one spine")
#define PLACEABLE_ENUM(code, name, doc) PLACEABLE_##code,
enum placeable_kind { PLACEABLE_LIST(PLACEABLE_ENUM) PLACEABLES };
#undef PLACEABLE_ENUM
extern const char *const placeable_names[PLACEABLES];

/* One window: the integral of each, GPU-ns, and the least that held. */
struct placeable_window {
    uint64_t gpu_ns[PLACEABLES];
    uint32_t least[PLACEABLES];
};

/* Asks for it over [start, end), at time 0, in windows counted from start. */
enum hr_err fleet_placeable_start(struct fleet *f, simtime_ns start, simtime_ns end,
                                  simtime_ns window_ns);
/* Up to now; the fleet's. */
const struct placeable_window *fleet_placeable(struct fleet *f, simtime_ns now, size_t *n);

/* Each GPU in exactly one lease or free, counts equal to the ledger's, no node over its size. */
bool fleet_consistent(const struct fleet *f);

#endif
