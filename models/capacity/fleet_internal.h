/* What the files of the fleet share. One idea a file:
 *
 *   placement  free GPUs of each node and which of them a shape gets
 *   quota      the tree of quotas: how much a claimant may take
 *   taking     from whom, and fair shares
 *   lease      the table of leases: numbers, slots, lists of held ones
 *   book       every move of GPUs between accounts of the ledger
 *   claims     GPUs that are on their way, and the starts that wait for them
 *   victims    which leases to evict: the sets of them that compete
 *   victims_slice  which instances of a GPU go for a slice
 *   clearing   a GPU that is being cleared for a slice
 *   rule       in which order, and what a set costs: the rules
 *   consolidate  small leases that move off a node
 *   leaves     leaf groups by wholly free nodes
 *   slices     MIG instances on the GPUs of nodes
 *   clients    clients of shared GPUs: which are at work, how fast, what a fault ends
 *   relayout   idle GPUs that are given another MIG layout
 *   racks      racks with a power limit: which free GPUs are withheld
 *   block      whole nodes of one leaf group that come together
 *   spread     nodes of a start larger than a node, over free and incoming GPUs
 *   reclaim    fleet_reclaim, granting, giving up, the reclaim rows
 *   collect    fleet_collect: starts that keep GPUs until they have enough
 *   stop       stopping leases: drain, teardown, scrub
 *   fleet      construction, claimants, scheduling passes, acquire, looking
 *   placeable  what could start, over time
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
 * the fleet; the ledger has each GPU once. A collecting lease evicts nobody and is charged with
 * what it has kept; of what it lacks, as much as ceilings leave is promised to it:
 *
 *   promised   usage + what is promised to collecting leases: what ceilings are tested with */
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
    enum shape_kind kind; /* of its ask */
    int32_t priority;     /* its claimant's and that of its ask */
    simtime_ns submit_ns; /* of its ask */
    simtime_ns guard_ns;  /* of its ask */
    uint32_t compute;     /* slices of it; 0 where there is no MIG */
    uint8_t profile;      /* with MIG */
    uint8_t beyond;       /* with MIG: memory slices beyond those asked for */
    bool clears;          /* assembling: a GPU is cleared for it, where it gets ... */
    uint8_t start;        /* ... its place ... */
    uint32_t gpu;         /* ... here, ... */
    uint32_t next_there;  /* ... before this slot does, or NONE */
    bool reconfigures;    /* stopping, after the scrub: its instance is replaced */
    uint32_t lost;        /* held: GPUs gone with failed nodes and not replaced */
    uint32_t missing;     /* assembling: GPUs still to come */
    uint32_t promised;    /* collecting: of these, how many its quota is kept for */
    uint32_t row;         /* its reclaim row, or NONE */
    uint32_t claims;      /* assembling: first of its claims, or NONE */
    uint32_t prev, next;  /* held: slots of the claimant's held leases */
    lease_id base;        /* the held lease that it extends, or LEASE_NONE */
    uint32_t extended;    /* GPUs of held leases that extend it */
    bool borrowed;        /* started over its claimant's floor */
    bool evicted;         /* stopping: because it was evicted */
    bool collects;        /* assembling: by fleet_collect */
    bool works;           /* held or stopping: its clients count as at work */
    timer_id timer;       /* stopping: end of the stage; assembling and complete: granting */
    simtime_ns since;     /* first held */
    /* Stopping: begin of the save on notice, stop, end of teardown, end of scrub. */
    simtime_ns save_ns, stop_ns, teardown_end_ns, scrub_end_ns;
    struct parts parts; /* GPU set; while assembling also nodes of which none has come (mask 0) */
};

/* A start that waits for GPUs of a node. */
struct claim {
    uint32_t slot, part; /* assembling lease and the part of it that grows */
    uint32_t gpus;       /* still to come */
    uint64_t want;       /* of the node's, those that will do */
    uint32_t prev, next; /* claims on the same node, oldest first */
    uint32_t next_of_lease;
};

/* ---- quotas ---- */

enum quota_count { QUOTA_STANDING, QUOTA_USAGE, QUOTA_PROMISED, QUOTA_TIED, QUOTA_COUNTS };

/* The fleet, a cohort or a claimant in the tree of quotas (quota.c). */
struct quota_node {
    uint32_t parent;
    uint32_t own_gpus, most_gpus, lend_gpus; /* as planned */
    uint32_t nominal, unlent, ceiling;
    uint32_t whole_gpus; /* all floors in it */
    uint32_t n[QUOTA_COUNTS];
    double weight;
};

/* ---- claimants ---- */

struct claimant {
    struct quota quota;
    struct claimant_ops ops;
    uint32_t held;       /* GPUs of held leases */
    uint32_t first_held; /* slot, or NONE */
    /* Ready: held leases in GPU_HELD_IDLE or GPU_SERVING. How many of their GPUs the ledger counts
     * as serving is min(busy, ready) once fleet_busy_set has been called, else those of leases set
     * to GPU_SERVING. */
    uint32_t ready, set_serving, serving;
    uint32_t slice_memory, slice_compute; /* with MIG: of its instances, which are alike where some
                                             serve */
    uint32_t busy;                        /* NONE: fleet_busy_set has not been called */
    struct rng teardown, scrub;
};

/* ---- victims ---- */

/* Which leases of a claimant a start may take: those of lower priority than priority_below, and of
 * just this priority those submitted later than equal_from_ns. */
struct terms {
    int64_t priority_below;
    simtime_ns equal_from_ns;
};

/* A lease that could be evicted. */
struct candidate {
    uint64_t loss; /* GPU-ns of work */
    simtime_ns since;
    lease_id id;
    int32_t priority;
    uint32_t slot, claimant, gpus;
    uint32_t gain;  /* of its GPUs, those on open nodes: what evicting it gives */
    uint32_t here;  /* on the node that is looked at */
    uint32_t whole; /* all of them, with those of its extensions, which end with it */
    bool extends;   /* another lease */
    bool own;       /* of the claimant that asks */
};

/* A claimant in a choice. */
struct borrower {
    bool live;     /* it may be taken from */
    bool relieves; /* what it gives is under a ceiling that is in the start's way */
    struct terms terms;
    uint32_t borrowed;
    double share;       /* borrowed over weight */
    double due;         /* GPUs of its parts of former choices that it has not given */
    double part;        /* of this choice */
    uint32_t taken;     /* in this trial */
    uint32_t supposed;  /* as if evicted, where the tree of quotas need not know it */
    uint32_t next, end; /* its range among the picks of the trial */
    uint32_t retry;     /* the first of these that the first strategy refused, or NONE */
    uint32_t range;     /* of the list of ranges: the claimant with the so-manieth range */
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
    uint32_t *first_on_gpu;  /* with MIG: per GPU, or NONE */
    mig_state *after;        /* with MIG: of each GPU when what stops there is gone and the starts
                                it is cleared for have their places */
    struct pick *picks;      /* what one trial chooses from, in order */
    struct pick *trial;
    uint32_t *chosen; /* the result: candidates */
    uint32_t n_chosen;
    uint32_t node; /* the result for a shape within one node; for one of whole nodes: the block;
                      for a slice: the GPU */
    bool moves;    /* the chosen ones move */
    struct {
        struct borrower *items; /* per claimant */
        size_t n, capacity;
    } of;
    uint32_t n_ranges;
    uint64_t borrowed; /* by all that may be taken from */
};

/* What a set of victims costs. */
struct cost {
    int64_t over; /* GPUs evicted - GPUs missing */
    uint64_t loss;
    simtime_ns oldest;
    lease_id first;
    uint32_t n, gpus;
    int32_t top; /* highest priority */
    bool own;
    double charge, share;
};

/* A cost that adds up: the first counts, then the other. */
struct sum {
    uint64_t first, then;
};

/* Passes of one instant are a nanosecond apart: what counts as one. */
#define MOMENT_NS SIM_US

/* An eviction of this moment: whom, and for a start of which priority. */
struct eviction {
    uint32_t claimant, tag;
    lease_id next; /* the lease that it restarts with has at least this number */
    simtime_ns at_ns;
    int32_t priority;
};

/* ---- layouts ---- */

struct relayout {
    timer_id *timers;       /* per GPU: it is laid; NULL: layouts stay */
    simtime_ns *kept_until; /* per GPU: not re-laid before */
    uint32_t n_gpus;
    simtime_ns time_ns, keep_ns;
};

/* ---- what could start ---- */

struct placeable {
    simtime_ns start_ns, end_ns, window_ns;
    struct placeable_window *windows; /* owned; NULL: not asked for */
    size_t n;
    simtime_ns at_ns;         /* booked up to here */
    uint32_t now[PLACEABLES]; /* holds since */
};

/* ---- clients of shared GPUs ---- */

struct clients {
    const double *speed; /* the plan's, by clients at work less one; NULL: nothing below is there */
    uint32_t *first_unit; /* of a node */
    uint32_t *who;        /* per unit: slot of the lease that works there, or NONE */
    uint8_t *at_work;     /* per GPU: clients */
    uint32_t *changed;    /* GPUs to be looked at in this instant */
    uint8_t *is_changed;
    uint32_t n_changed;
    timer_id timer;
};

/* ---- the fleet ---- */

struct fleet {
    struct reclaim_plan plan;
    struct engine *engine;
    struct ledger *ledger;
    struct ledger *compute; /* of compute slices, or NULL */
    uint32_t units_per_gpu;
    struct relayout relayout;
    uint32_t beyond;         /* memory slices of held leases beyond those asked for ... */
    simtime_ns beyond_at_ns; /* ... since */
    uint64_t seed;
    uint32_t replication;
    struct fleet_trace trace;
    struct fleet_watch watch; /* refused NULL: nobody watches */
    struct arena arena;
    struct nodes nodes;
    struct clients clients;
    bool fault_ends_gpu;
    uint32_t startable; /* GPUs of all nodes but the hot spares: no start can have more */

    struct {
        struct claimant *items;
        size_t n, capacity;
    } claimants;
    struct {
        uint32_t *items; /* claimant numbers in order of passes */
        size_t n, capacity;
    } order;
    struct {
        struct quota_node *items; /* the fleet, cohorts, claimants */
        size_t n, capacity;
    } tree;
    uint32_t n_cohorts;
    uint64_t unlent, kept[QUOTA_COUNTS]; /* of all nodes */
    /* Of the free GPUs, those the ledger has in GPU_STRANDED; of the compute slices likewise. */
    uint32_t stranded, stranded_compute;

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
    struct {
        uint32_t *items; /* slots of the leases that collect, oldest first */
        size_t n, capacity;
    } collecting;
    uint32_t *next_alike; /* per node, scratch of collect.c: lists of nodes */
    uint32_t free_claim;  /* list through next */

    /* Per node: what it is closed for (GPU_STATES: open), and its GPUs that are in no lease while
     * it is. */
    uint8_t *out_state;
    uint64_t *out_mask;
    uint8_t *spare; /* closed as a hot spare */
    uint32_t n_out, n_spares, n_spare_gpus;
    uint32_t n_closed; /* nodes */

    uint32_t *first_clearing; /* with MIG: per GPU, the first start it is cleared for, or NONE */
    struct placeable placeable;
    struct victims victims;
    struct {
        struct reclaim_row *items;
        size_t n, capacity;
    } rows;
    uint32_t n_outstanding; /* assembling leases that have a row */
    struct {
        struct eviction *items; /* of this moment, and older ones until the next eviction */
        size_t n, capacity;
    } recent;
    struct fleet_churn churn;

    timer_id pass_timer;
    simtime_ns next_pass_ns; /* not before: one pass an instant */
    bool in_pass;
    bool pass_again;  /* wanted while one ran */
    uint64_t changes; /* leases taken, stopped or given up so far */
    uint64_t frees;   /* ends of teardowns and scrubs so far */

    /* scratch of fleet_consistent */
    uint64_t *seen; /* per node */
    struct {
        uint64_t *items; /* per account */
        size_t n, capacity;
    } expected;
};

/* ---- quota.c ---- */

enum hr_err quota_init(struct fleet *f, const struct cohort *cohorts, size_t n);
enum hr_err quota_add(struct fleet *f, const struct quota *q); /* of the next claimant */

static inline uint32_t quota_node(const struct fleet *f, uint32_t claimant)
{
    return 1 + f->n_cohorts + claimant;
}

static inline uint32_t quota_count(const struct fleet *f, uint32_t claimant, enum quota_count k)
{
    return f->tree.items[quota_node(f, claimant)].n[k];
}

/* GRANT_OK, GRANT_QUOTA (over a ceiling for now) or GRANT_NEVER. */
enum grant quota_ceiling(const struct fleet *f, uint32_t claimant, uint32_t gpus);
/* What its ceilings leave a claimant for now. */
uint64_t quota_headroom(const struct fleet *f, uint32_t claimant);
/* Free GPUs a claimant may take now without touching what others do not lend. */
uint32_t quota_free(const struct fleet *f, uint32_t claimant);
/* GPUs free or on their way and unclaimed, and so many more, that it may have, by the same rule. */
uint32_t quota_coming(const struct fleet *f, uint32_t claimant, uint32_t more);
/* Charges a new lease; returns whether it borrows. */
bool quota_charge(struct fleet *f, uint32_t claimant, uint32_t gpus);
void quota_stop(struct fleet *f, uint32_t claimant, uint32_t gpus);    /* stands no longer */
void quota_release(struct fleet *f, uint32_t claimant, uint32_t gpus); /* teardown ended */
void quota_untie(struct fleet *f, uint32_t claimant, uint32_t gpus);   /* scrub ended */
void quota_promise(struct fleet *f, uint32_t claimant, int64_t gpus);  /* so many more */
/* As if so many GPUs of a claimant had been evicted and torn down; to be undone. */
void quota_suppose(struct fleet *f, uint32_t claimant, uint32_t gpus);
void quota_undo(struct fleet *f, uint32_t claimant, uint32_t gpus);
bool quota_consistent(const struct fleet *f);

/* ---- taking.c ---- */

/* A start that would take leases of others. */
struct taking {
    uint32_t claimant, gpus;
    int32_t priority;
    simtime_ns submit_ns;
};
struct taking taking_of(const struct fleet *f, uint32_t claimant, const struct ask *ask);

/* False when policies let it take from nobody, whoever borrows. */
bool taking_possible(const struct fleet *f, const struct taking *t);
/* Whether, and under which terms, it may take from a claimant. */
bool taking_from(const struct fleet *f, const struct taking *t, uint32_t victim,
                 struct terms *terms);
bool taking_covers(const struct terms *terms, const struct lease *l);
/* Whether the claimant still borrows, as far as this start is concerned. */
bool taking_still(const struct fleet *f, const struct taking *t, uint32_t victim);

/* Whether some ceiling counts both the start and what the claimant holds. */
bool taking_shares_ceiling(const struct fleet *f, const struct taking *t, uint32_t victim);

/* Whether claimant a has the higher fair share, where their paths to the fleet meet. */
bool share_higher(const struct fleet *f, uint32_t a, uint32_t b);

enum share_strategy { SHARE_AT_MOST_FINAL, SHARE_LESS_THAN_INITIAL, SHARE_STRATEGIES };
/* Whether shares let the start take so many GPUs more of a victim. */
bool share_allows(struct fleet *f, const struct taking *t, uint32_t victim, uint32_t gpus,
                  enum share_strategy strategy);

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
void book_strand(struct fleet *f, uint32_t gpus, uint32_t compute); /* of the free ones */
void book_reconfigure(struct fleet *f, uint32_t slot);              /* scrubbing to reconfiguring */
void book_instance(struct fleet *f, uint32_t slot); /* its compute slices are kept */
/* Nobody's, in no lease. */
void book_out(struct fleet *f, enum gpu_state from, enum gpu_state to, uint32_t gpus,
              uint32_t compute);
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
/* The same for the slices of a place, of which none is claimed. */
void claims_add_place(struct fleet *f, uint32_t slot, const struct part *place);
void claims_drop(struct fleet *f, uint32_t slot);     /* gives back what a lease has not got yet */
void claims_announce(struct fleet *f, uint32_t slot); /* a lease stops: its GPUs are coming */
void claims_arrive(struct fleet *f, uint32_t slot);   /* its GPUs are clean: hands them out */
/* GPUs of a stopping lease on a node will not come; nobody claims on that node. */
void claims_retract(struct fleet *f, const struct lease *l, uint32_t node, uint32_t gpus);

/* ---- rule.c ---- */

typedef int (*candidate_order)(const void *a, const void *b);
extern const candidate_order rule_order[VICTIM_RULES];
/* The rule goes by claimant: its order is within one. */
bool rule_by_claimant(enum victim_rule rule);
/* The rule goes by the work lost. */
bool rule_by_loss(enum victim_rule rule);
/* clean: free GPUs that the start would use, less its own. */
struct cost rule_cost(const struct fleet *f, const struct pick *set, uint32_t n, int64_t clean);
int rule_compare(enum victim_rule rule, const struct cost *a, const struct cost *b);
/* The rule's cost is a sum over the victims. */
bool rule_adds(enum victim_rule rule);
struct sum rule_add(enum victim_rule rule, struct sum s, const struct candidate *c);

/* ---- victims.c ---- */

enum hr_err victims_init(struct fleet *f);
/* Who must go so that the shape can be placed: victims.chosen (nobody where incoming GPUs do), and
 * victims.node for a shape within one node. free: how many free GPUs may be used; coming: how many
 * free and incoming ones together. False when no set of victims will do. */
bool victims_choose(struct fleet *f, const struct taking *t, const struct shape *shape,
                    uint32_t free, uint32_t coming);
/* The choice is carried out: who has given what. */
void victims_settle(struct fleet *f);

/* Makes a held lease candidate number to, if it is preemptible and may be evicted now. */
bool victims_candidate(struct fleet *f, uint32_t slot, const struct taking *t, uint32_t to);

/* With MIG: victims.after. */
void slice_survey(struct fleet *f);

/* ---- clearing.c ---- */

/* A lease that has nothing yet gets its place on the GPU that victims.node says. */
void clearing_begin(struct fleet *f, uint32_t slot);
bool clearing_waits_for_evicted(const struct fleet *f, const struct lease *l);
/* The slices of a stopped lease are clean. */
void clearing_arrive(struct fleet *f, const struct lease *from, const struct part *part);
void clearing_end(struct fleet *f, uint32_t slot);      /* it is given up */
void clearing_withdraw(struct fleet *f, uint32_t node); /* the node is about to close */
bool clearing_consistent(const struct fleet *f);

/* ---- consolidate.c ---- */

/* Which leases must move off which node so that a shape within one can be placed there: as
 * victims_choose. */
bool consolidate_choose(struct fleet *f, const struct taking *t, const struct shape *shape);

/* ---- block.c ---- */

/* The nodes that a shape which needs whole ones may have: a leaf group, or all of them. */
struct block {
    uint32_t first, end;                    /* nodes */
    uint32_t whole, rest;                   /* nodes that it needs, and GPUs of one more */
    uint32_t usable;                        /* free GPUs in it that the start may use */
    uint32_t available;                     /* these and the incoming ones that nobody claims */
    uint32_t nodes_with[NODE_MAX_GPUS + 1]; /* by available GPUs, of so many GPUs each: */
    uint32_t size;
};

uint32_t block_n(const struct fleet *f, const struct shape *shape);
/* Surveys one of them, of free GPUs at most free. */
void block_look(struct fleet *f, struct block *b, const struct shape *shape, uint32_t i,
                uint32_t free);
/* GPUs of a lease on open nodes of it. */
uint32_t block_gain(const struct fleet *f, const struct block *b, uint32_t slot);
/* As if they were available (by 1), or no more (by -1). */
void block_count(struct fleet *f, struct block *b, uint32_t slot, int by);
/* Whether whole nodes and the rest are available. */
bool block_holds(const struct block *b);

/* ---- spread.c ---- */

/* What there is on nodes [first, end), of free GPUs at most free in all: f->usable, f->available.
 */
void spread_survey(struct fleet *f, uint32_t first, uint32_t end, uint32_t free);

/* Plans the nodes of a start over many of them, with at most free of the free GPUs; there are
 * enough. block: where it needs whole nodes, of which. */
void spread_plan(struct fleet *f, const struct shape *shape, uint32_t free, uint32_t block);
/* Keeps and claims what was planned; there is room for so many claims. */
void spread_claim(struct fleet *f, uint32_t slot);

/* ---- reclaim.c ---- */

/* A lease with the memory it may need until it is granted. */
enum hr_err lease_for(struct fleet *f, uint32_t claimant, const struct ask *ask, uint32_t *slot);
/* An assembling lease got the last of its GPUs from a stopping one: its row's stages. */
void reclaim_complete(struct fleet *f, uint32_t slot, const struct lease *from);
void reclaim_grant(struct fleet *f, uint32_t slot);

/* ---- collect.c ---- */

enum hr_err collect_init(struct fleet *f);
void collect_serve(struct fleet *f);                  /* with what is free now */
void collect_end(struct fleet *f, uint32_t slot);     /* whole: it is granted */
void collect_abandon(struct fleet *f, uint32_t slot); /* gives up what it has; it is gone */
void collect_leave(struct fleet *f, uint32_t node);   /* frees what is kept there */
void collect_withdraw(struct fleet *f);               /* what open nodes cannot hold any more */
/* Frees what is kept for leases that a start may take from; whether there was any. */
bool collect_yield(struct fleet *f, const struct taking *t);

/* ---- clients.c ---- */

enum hr_err clients_init(struct fleet *f, const struct sharing_plan *plan);
void clients_rest(struct fleet *f, struct lease *l); /* it is at work no more */
void clients_lose(struct fleet *f, const struct lease *l, struct part lost); /* nor there */
double clients_speed(const struct fleet *f, const struct lease *l);
bool clients_consistent(const struct fleet *f);

/* ---- nodes_out.c ---- */

enum hr_err nodes_out_init(struct fleet *f);
/* Clean GPUs that nobody claims, booked (nobody, free): free, or out with their node. */
void nodes_out_return(struct fleet *f, uint32_t node, uint64_t mask);

/* As for GPUs that nobody claims at all; compute: slices that come with them. */
void nodes_out_give(struct fleet *f, uint32_t node, uint64_t mask, uint32_t compute);

/* ---- relayout.c ---- */

enum hr_err relayout_init(struct fleet *f, const struct sharing_plan *plan);
void relayout_fini(struct fleet *f);
void relayout_look(struct fleet *f, simtime_ns now); /* at the end of a pass */
/* GPUs of a failed node that are being re-laid are out with it, in this state. */
void relayout_fail(struct fleet *f, uint32_t node, enum gpu_state state);

/* ---- placeable.c ---- */

void placeable_look(struct fleet *f, simtime_ns now); /* after a pass */

/* ---- stop.c ---- */

void stop_stage_over(struct fleet *f, uint32_t slot);

/* ---- fleet.c ---- */

/* What a start is granted of what it asks for: with MIG the smallest larger instance where there is
 * no exact one, the pool allows it and quota admits it. */
enum grant fleet_shape(const struct fleet *f, uint32_t claimant, struct shape *shape);

/* A pass at a later time, unless there is one before that. */
void fleet_want_pass_at(struct fleet *f, simtime_ns at);

static inline simtime_ns fleet_now(const struct fleet *f)
{
    return engine_now(f->engine);
}

#endif
