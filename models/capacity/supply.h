/* Supply: what happens to the nodes of a pool. One mechanism for spot capacity, failures and
 * maintenance: reasons for which a node is out.
 *
 *     absent       not supplied: spot capacity that was taken back, on-demand nodes not asked for
 *     leaving      a notice was given: closed, what runs there is being drained
 *     failed       broken, under repair
 *     maintenance  closed by a roll-out, until its work is done
 *
 * A node is open when no reason holds; its idle GPUs are booked under the first that does, in this
 * order (leaving as absent). Losses and failures fire in EVENT_FAILURE, returns and repairs in
 * EVENT_SUPPLY, on-demand nodes are asked for and given back behind the pass, the rest fires in
 * EVENT_CONTROL.
 *
 * Reserved nodes are there from the start. On-demand nodes: `initial` are; each scheduling pass
 * that refuses starts for want of room asks for as many nodes as the refused GPUs need beyond those
 * on their way; a node that stood idle for idle_release, through one pass at least, is given back
 * once a pass refuses no start for want of room. Spot nodes: a notice comes after an exponential
 * life, in a shock that takes a share of the nodes at once, or as recorded; after the notice the
 * node is gone. The time of a loss, drawn or recorded, is that of its notice.
 *
 * Failures. The hazard of a node of age t is that of three competing risks:
 *     constant + infant (Weibull, shape < 1) + wear-out (Weibull, shape > 1)
 * A repair leaves a node as old as it was (minimal repair). The next failure after age a of a
 * Weibull risk is at s ((a/s)^k + E)^(1/k), E standard exponential, exactly.
 *
 * A recorded trace begins at its start in replication 0 and, where it is looped, at a uniform
 * offset in the others; it repeats after its span. Nodes beyond those of the trace stay up. A trace
 * of counts takes the highest-numbered node that is there and returns the lowest that is not.
 *
 * Streams: (seed, replication, pool, purpose). */
#ifndef HEADROOM_MODELS_CAPACITY_SUPPLY_H
#define HEADROOM_MODELS_CAPACITY_SUPPLY_H

#include "sim/dist.h"
#include "sim/engine.h"
#include "sim/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct fleet_plan;
struct supply_trace;
struct price_trace;

enum supply_kind { SUPPLY_RESERVED, SUPPLY_ON_DEMAND, SUPPLY_SPOT, SUPPLY_KINDS };
extern const char *const supply_kind_names[SUPPLY_KINDS];

struct on_demand_plan {
    uint32_t initial; /* nodes at the start */
    struct dist provision;
    simtime_ns idle_release_ns; /* SIM_NEVER: none is given back */
};

struct spot_plan {
    double life_s; /* mean time of a node until its notice; 0: no such hazard */
    simtime_ns notice_ns;
    struct dist absence; /* from the loss of a node until it is back */
    double shock_gap_s;  /* mean time between shocks; 0: none */
    double shock_share;  /* of the nodes that are there: rounded half up, at least one */
    const struct supply_trace *trace; /* in place of all of these but the notice; not owned */
    bool trace_loop;
};

struct failure_plan {
    double per_1000_node_days;               /* constant part; 0: none */
    double infant_scale_s, infant_shape;     /* scale 0: none */
    double wear_out_scale_s, wear_out_shape; /* scale 0: none */
    double age_s;                            /* of the nodes at the start */
    double reboot_share;                     /* of the failures, those of the reboot class */
    struct dist repair_reboot, repair_part;
    const struct supply_trace *trace; /* in place of the rates and repairs; not owned */
    bool trace_loop;
};

/* Whom a roll-out waits for before it evicts. Replicas never end, so they are drained at once. */
enum roll_wait {
    ROLL_WAIT_FINISH,     /* gangs, until they end */
    ROLL_WAIT_CHECKPOINT, /* gangs, until their next complete save or end */
    ROLL_WAIT_NONE,
    ROLL_WAITS
};
extern const char *const roll_wait_names[ROLL_WAITS];

enum roll_order {
    ROLL_BY_NUMBER,
    ROLL_AT_RANDOM,
    ROLL_IDLE_FIRST, /* at each step the node with fewest GPUs in use */
    ROLL_ORDERS
};
extern const char *const roll_order_names[ROLL_ORDERS];

/* A roll-out goes through the pool, at most `nodes` at a time: close, wait, work, open. Nodes that
 * are out at their turn are passed over. */
struct maintenance_plan {
    simtime_ns start_ns, every_ns; /* every SIM_NEVER: once; skipped while the last one runs */
    uint32_t nodes;                /* at once; 0: share */
    double share;                  /* of the pool, rounded half up, at least one */
    struct dist work;              /* upgrade, reboot and validation of one node */
    simtime_ns drain_limit_ns;     /* longest wait; then an eviction with the pool's grace */
    enum roll_wait wait;
    enum roll_order order;
    double fail_share; /* of the nodes that go to repair after it */
};

struct supply_plan {
    enum supply_kind kind;
    const struct price_trace *price; /* NULL: fleet_plan.price_usd_per_gpu_h; looped; not owned */
    struct on_demand_plan on_demand;
    struct spot_plan spot;
    struct failure_plan failure;
    uint32_t spares; /* nodes kept as hot spares: the highest-numbered at the start, then those
                        that come back while there are fewer */
    const struct maintenance_plan *maintenance; /* not owned */
    size_t n_maintenance;
};

/* Of the measured part. */
struct supply_totals {
    uint64_t failures, repairs;
    uint64_t client_faults, clients_ended; /* of shared GPUs: faults, and leases they ended */
    uint64_t notices, losses, returns, shocks; /* spot nodes; shocks that took one */
    uint64_t requested, provisioned, released; /* on-demand nodes */
    uint64_t upgraded, upgrades_failed;        /* nodes that a roll-out is done with */
    uint64_t drained, at_save, forced;         /* nodes that came empty by themselves; gangs that
                                                  were evicted at a save; leases before */
    uint64_t roll_outs;                        /* complete */
    simtime_ns roll_out_ns;                    /* their length, summed */
    simtime_ns roll_out_begin_ns, roll_out_end_ns; /* the first begin and the last end; SIM_NEVER:
                                                      none */
};

/* A plan that cannot run: the reason, or NULL. nodes: of the pool. */
const char *supply_fault(const struct supply_plan *p, uint32_t nodes);

struct supply; /* opaque */

/* NULL when memory is out. What is borrowed must outlive it; free it before the engine. */
struct supply *supply_new(const struct fleet_plan *plan, struct engine *engine,
                          const struct pool *pool, uint32_t n_owners, uint64_t seed,
                          uint32_t replication, simtime_ns measured_from);
void supply_free(struct supply *s); /* accepts NULL */

/* At time 0, before claimants start: nodes that are not there, spares, the first events. */
void supply_start(struct supply *s);

const struct supply_totals *supply_totals(const struct supply *s);

/* Dollars of an account of the pool's ledger up to now: the integral of price times GPUs; nothing
 * for absent ones. What is re-booked counts at the price of the time when that is done, so only
 * the sum over the states of an owner is exact under a changing price. */
void supply_settle(struct supply *s, simtime_ns now);
double supply_cost_usd(const struct supply *s, uint32_t owner, unsigned state);
double supply_mean_price(const struct supply *s); /* over the measured time so far */

#endif
