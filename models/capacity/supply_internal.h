/* What the files of supply share. One idea a file:
 *
 *   supply          nodes and the reasons for which they are out, construction
 *   supply_risk     drawn losses, shocks, failures, repairs
 *   supply_trace    recorded losses and failures
 *   supply_demand   on-demand nodes: asked for, given back
 *   supply_rollout  maintenance calendars
 *   supply_client   faults of clients of shared GPUs
 *   supply_cost     price paths, what the pool costs
 *
 * What the fleet tells (fleet_watch) may come from the midst of its work, so those handlers only
 * set timers. */
#ifndef HEADROOM_MODELS_CAPACITY_SUPPLY_INTERNAL_H
#define HEADROOM_MODELS_CAPACITY_SUPPLY_INTERNAL_H

#include "models/capacity/fleet.h"
#include "models/capacity/supply.h"
#include "models/record.h"
#include "sim/arena.h"

enum {
    OUT_ABSENT = 1,
    OUT_LEAVING = 2,
    OUT_FAILED = 4,
    OUT_MAINTENANCE = 8,
    OUT_GONE = OUT_ABSENT | OUT_LEAVING /* lost, or about to be */
};

#define ROLL_NONE UINT32_MAX

struct node_supply {
    uint8_t out;          /* the reasons that hold */
    bool armed;           /* risk is pending */
    bool on_its_way;      /* on-demand: asked for */
    bool kept;            /* on-demand: idle for long enough, but starts are refused */
    bool working, forced; /* roll-out: past the wait; a lease was evicted for it */
    timer_id risk;        /* EVENT_FAILURE: the next notice or failure */
    timer_id gone;        /* EVENT_FAILURE: end of the notice */
    timer_id back;        /* EVENT_SUPPLY: absent no longer */
    timer_id repair;      /* EVENT_SUPPLY */
    timer_id release;     /* EVENT_SCHEDULE, behind the pass: idle for so long */
    timer_id wait;        /* EVENT_CONTROL: roll-out, the next look */
    timer_id work;        /* EVENT_SUPPLY: roll-out, work done */
    simtime_ns notice_due, failure_due;
    uint32_t roll;       /* the roll-out it is in, or ROLL_NONE */
    simtime_ns limit_ns; /* of its wait */
    simtime_ns stop_ns;  /* when the lease to be evicted at a save has it */
    lease_id stop_lease; /* that one, or LEASE_NONE */
};

/* A recorded trace under way. Row i happens at lap * span + at_ns - offset. */
struct replay {
    struct supply *supply;
    const struct supply_trace *trace;
    bool failures; /* else losses of spot nodes */
    bool loop;
    simtime_ns offset_ns;
    uint64_t lap;
    size_t next;
    uint8_t *up;   /* per node, as recorded up to now */
    int64_t count; /* where only counts are known */
    timer_id timer;
};

struct roll {
    const struct maintenance_plan *plan;
    timer_id begin;
    uint32_t *order; /* nodes, those whose turn was first */
    uint32_t next, active;
    bool running;
    simtime_ns begin_ns;
};

struct supply {
    struct supply_plan plan;
    struct fleet *fleet;
    struct ledger *ledger;
    struct engine *engine;
    struct arena arena;
    simtime_ns measured_from;
    uint32_t replication, units_per_gpu;
    struct node_supply *nodes;
    uint32_t n;
    uint32_t *scratch; /* per node */
    struct supply_totals totals;
    struct rng notice, absence, shock, failure, repair, provision, roll_order, roll_work, roll_fail;

    double client_mtbf_s; /* 0: clients have no faults */
    uint32_t n_units;     /* of all nodes */
    struct rng client;
    timer_id client_timer;

    timer_id shock_timer, ask_timer;
    uint64_t refused_gpus; /* in this instant */
    bool refusing;         /* the last pass refused starts */
    bool any_kept;
    uint32_t n_on_their_way;
    struct replay loss_trace, failure_trace;
    struct roll *rolls;

    uint32_t n_owners;
    double price_usd, price_integral_usd_ns; /* at present; over the measured time */
    simtime_ns priced_to_ns;
    size_t price_next;
    uint64_t price_lap;
    simtime_ns price_offset_ns;
    timer_id price_timer;
    double *cost_usd; /* per account */
    u128 *priced;     /* per account: share-ns that are in cost_usd */
};

static inline simtime_ns supply_now(const struct supply *s)
{
    return engine_now(s->engine);
}

/* Adds to a total, if this is measured. */
static inline void supply_count(const struct supply *s, uint64_t *total)
{
    *total += supply_now(s) >= s->measured_from;
}

/* ---- supply.c ---- */

void supply_out(struct supply *s, uint32_t node, uint8_t reason); /* closes; leases go on */
void supply_in(struct supply *s, uint32_t node, uint8_t reasons); /* these hold no longer */
/* The node is gone at once. */
void supply_strike(struct supply *s, uint32_t node, uint8_t reason);
/* A timer of each node. */
enum hr_err supply_timers(struct supply *s, enum event_class c, event_fn *fn, size_t member);

/* ---- supply_risk.c ---- */

enum hr_err risk_init(struct supply *s);
void risk_start(struct supply *s);
void risk_arm(struct supply *s, uint32_t node);    /* the clocks run, or stand */
void risk_notice(struct supply *s, uint32_t node); /* it is taken back */
void risk_fail(struct supply *s, uint32_t node);   /* it fails; no repair is drawn */
void risk_repair(struct supply *s, uint32_t node); /* draws one */

/* ---- supply_trace.c ---- */

enum hr_err replay_init(struct supply *s, struct replay *r, const struct supply_trace *trace,
                        bool failures, bool loop, struct rng *offset);
void replay_start(struct replay *r);
/* A point of a recording of this span, from its start in replication 0. */
simtime_ns replay_offset(const struct supply *s, simtime_ns span_ns, struct rng *r);

/* ---- supply_demand.c ---- */

enum hr_err demand_supply_init(struct supply *s);
void demand_supply_start(struct supply *s);
void demand_supply_refused(struct supply *s, uint32_t gpus);
void demand_supply_idle(struct supply *s, uint32_t node); /* open and empty from now on */
void demand_supply_passed(struct supply *s);

/* ---- supply_rollout.c ---- */

enum hr_err rollout_supply_init(struct supply *s);
void rollout_supply_start(struct supply *s);
void rollout_supply_emptied(struct supply *s, uint32_t node);
void rollout_supply_saved(struct supply *s, uint32_t node, lease_id l);

/* ---- supply_client.c ---- */

enum hr_err client_init(struct supply *s);
void client_start(struct supply *s);

/* ---- supply_cost.c ---- */

enum hr_err cost_init(struct supply *s, double constant_usd, struct rng *offset);
void cost_start(struct supply *s);

#endif
