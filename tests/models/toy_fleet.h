/* A fleet with scripted claimants, for tests.
 *
 * The rig owns engine, ledger and fleet and, before every event, checks that the ledger conserves
 * and the fleet is consistent. A toy claimant keeps to what it was told: how long it takes to stop,
 * what a lease's loss is, what to do in its turn of a pass; it writes down what happens to it. */
#ifndef HEADROOM_TESTS_MODELS_TOY_FLEET_H
#define HEADROOM_TESTS_MODELS_TOY_FLEET_H

#include "models/capacity/fleet.h"

enum { TOY_MAX = 8, TOY_LOG = 4096 };

struct toy_event {
    lease_id lease;
    simtime_ns at;
};

struct toy {
    struct rig *rig;
    void *context;                               /* of the test */
    uint32_t number;                             /* of the claimant */
    simtime_ns stop_ns;                          /* after an eviction, at most the grace */
    simtime_ns save_ns;                          /* of that, a save on notice */
    const uint64_t *loss;                        /* by tag; NULL: 0 */
    uint32_t share;                              /* waiting_share */
    uint32_t wants[MIG_PROFILES];                /* waiting_slices */
    void (*turn)(struct toy *t, simtime_ns now); /* in a pass; NULL: nothing */
    void (*on_granted)(struct toy *t, lease_id l, simtime_ns now);
    void (*on_evict)(struct toy *t, lease_id l, simtime_ns now);  /* after fleet_stop_at */
    void (*on_failed)(struct toy *t, lease_id l, simtime_ns now); /* NULL: stops the lease */
    void (*on_withdrawn)(struct toy *t, lease_id l, simtime_ns now);
    struct toy_event granted[TOY_LOG], evicted[TOY_LOG], released[TOY_LOG], failed[TOY_LOG],
        withdrawn[TOY_LOG];
    uint32_t n_granted, n_evicted, n_released, n_failed, n_withdrawn, n_turns;
};

struct rig {
    struct engine *engine;
    struct ledger *ledger;
    struct ledger *compute; /* with MIG */
    struct fleet *fleet;
    struct toy *toys[TOY_MAX]; /* owned, by claimant number */
    uint32_t n_toys;
    uint64_t checks;
};

struct rig_plan {
    uint32_t nodes, gpus_per_node;
    enum victim_rule victims;
    simtime_ns grace_ns;
    double teardown_s, scrub_s;
    enum place_rule place;
    struct fabric fabric;
    struct sharing_plan sharing;
};

/* Nodes of 8 GPUs, a grace of 30 s, teardown 6 s, scrub 4 s. */
struct rig_plan rig_plan_of(uint32_t nodes, enum victim_rule rule);

/* Without floor or ceiling: one that lower priority is taken from, one that takes from it. */
extern const struct quota toy_low, toy_high;

/* One group of nodes; ledger windows of an hour from 0 to a day, room for TOY_MAX claimants. */
void rig_init(struct rig *r, const struct rig_plan *plan);
void rig_init_groups(struct rig *r, const struct node_group *groups, size_t n,
                     const struct reclaim_plan *reclaim, uint64_t seed);
void rig_init_cohorts(struct rig *r, const struct node_group *groups, size_t n,
                      const struct reclaim_plan *reclaim, const struct cohort *cohorts,
                      size_t n_cohorts, uint64_t seed);
void rig_init_plan(struct rig *r, const struct fleet_plan *plan, uint64_t seed);
void rig_fini(struct rig *r);

/* Takes part in every event from now on: conservation and consistency. */
void rig_check(void *rig);

struct toy *rig_add(struct rig *r, const struct quota *q);

/* Runs to t, the events at t included; it is t then. */
void rig_run(struct rig *r, simtime_ns t);

/* Acquires or reclaims, asserting that it is granted. */
lease_id toy_acquire(struct toy *t, enum shape_kind kind, uint32_t gpus, enum gpu_state s,
                     uint32_t tag);
lease_id toy_reclaim(struct toy *t, enum shape_kind kind, uint32_t gpus);
enum grant toy_try_acquire(struct toy *t, enum shape_kind kind, uint32_t gpus);
enum grant toy_try_reclaim(struct toy *t, enum shape_kind kind, uint32_t gpus);

/* Shares of an account: owner is a claimant, or NULL for nobody. */
uint64_t rig_shares(const struct rig *r, const struct toy *owner, enum gpu_state s);
const struct reclaim_row *rig_row(const struct rig *r, size_t i);

#endif
