/* A brute-force scheduler: a slow, obvious reference for the training queue and the fleet.
 *
 * It knows nothing of the engine. Time goes from one instant at which something happens to the
 * next; everything is counted anew from the list of leases whenever it is asked for. Fleets of up
 * to 4 nodes, up to 8 jobs. Its rules, from the documents of the project (models/README.md, and the
 * semantics that it states):
 *
 * Instants. First what is over: work, teardowns, scrubs; complete starts are granted. Then
 * submissions. Then, if a submission, a stop or the end of a stage asked for it, one scheduling
 * pass; what it ends at once follows, and a pass that is then asked for comes a nanosecond later.
 *
 * Pass. Queues in order of their first tenant's priority, highest first, then number. A queue tries
 * its waiting jobs in its order; one that does not start, neither from free GPUs nor by reclaim, is
 * the blocked head: see enum backfill_kind for what may start behind it. Where a queue has several
 * tenants, one that only quota refuses blocks nobody: its tenant is passed over (without backfill),
 * or it alone (with).
 *
 * Order. fifo: by submission. priority: by submit time / age - priority, least first; without an
 * age by priority. shortest: by the wall time that the next segment will take, restore and saves
 * included, least first. fair-share: by the share of the tenant, which is what it uses over its
 * weight: the GPUs of its running jobs, or the GPU-time of these so far, which every five minutes
 * is multiplied by 2^(-5 min / half-life). Ties: submission.
 *
 * Backfill. Behind a blocked head no job reclaims, and they are looked at in the queue's order; one
 * starts while its tenant's ceiling leaves room for it, and
 *   best-effort    whenever it fits;
 *   easy           if it ends by the time at which, by the ends of the queue's running jobs, enough
 *                  GPUs are free for the head, or uses only what the head then leaves;
 *   conservative   if it can run from now on beside what has been reserved. Each job that does not
 *                  start, the head first, reserves the earliest time after now at which enough GPUs
 *                  are free for as long as it runs.
 * What is free, now and later, is counted as for the head: it, and in the next instant what is
 * stopping, and at their ends the GPUs of running jobs, whatever their places and tenants.
 *
 * Quota: brute_quota.c. A tenant may have g GPUs more under its ceilings (usage: held, assembling,
 * draining), taking no free GPU that another's unlent quota needs.
 *
 * Placing. One node: the one with fewest free GPUs that suffice. More: wholly free nodes by number,
 * none larger than what is left, and one best-fit remainder; where these are not to be had any
 * GPUs, fullest nodes first. Ties: lowest node.
 *
 * Reclaim: brute_victims.c. Where free and coming GPUs suffice nobody is evicted. What comes clean
 * goes to the oldest start that waits for it on that node. Consolidation: brute_moves.c. One after
 * another (serial): a start that would evict waits while another one waits for evicted GPUs.
 *
 * Eviction. The grace is the pool's, or its queue's if that is shorter. With save on notice and a
 * save that fits the grace the job stops after the save and keeps its work; else it takes the whole
 * grace and loses what it did since its last complete save. Suspended it keeps its work if copying
 * its state fits the grace, and resumes in the time for that. Cancelled it ends after the grace and
 * loses all that it ever did. Teardown (still charged) and scrub follow; at the end of the teardown
 * the job waits again at its old place, and restores when it starts. A job that has not run for the
 * exempt time is no victim; when it has there is a pass. One that was evicted is not evicted again
 * at once (within a microsecond) for a start of no higher priority than before. One that has been
 * evicted three times or more without having kept any work is not evicted, for a start of at most
 * its priority, before it has run as long as it was then since the first of these evictions.
 * Checkpoints are walked one by one.
 *
 * Failures: brute_nodes.c. They come first at their instant, repairs after what is over. A node's
 * GPUs leave all leases, stopping ones too; starts that would have GPUs there wait again. A job
 * that lost some does nothing and loses what it did since its last complete save; when the failure
 * is detected it restores on hot spares, if there are as many GPUs of these as it lost, else it
 * stops without grace and waits again. The oldest lease comes first. Evicted before that it stops
 * at once in every mode. */
#ifndef HEADROOM_TESTS_MODELS_BRUTE_H
#define HEADROOM_TESTS_MODELS_BRUTE_H

#include "models/training/queue.h"

enum {
    BRUTE_JOBS = 8,
    BRUTE_NODES = 4,
    BRUTE_TENANTS = 4,
    BRUTE_COHORTS = 3,
    BRUTE_FAULTS = 6,
    BRUTE_LOG = 4096
};

struct brute_tenant {
    uint32_t queue; /* tenants of one queue follow one another */
    double weight;  /* of the order by fair share */
    struct quota quota;
};

struct brute_job {
    simtime_ns submit_ns, work_ns;
    uint32_t tenant, gpus;
    int32_t priority;
    bool preemptible;
};

/* A node fails and is repaired; of one node one fault after the other. */
struct brute_fault {
    simtime_ns at_ns, repaired_ns;
    uint32_t node;
};

struct brute_case {
    uint32_t nodes, gpus_per_node;
    enum shape_kind placement;
    enum victim_rule victims;
    simtime_ns grace_ns, teardown_ns, scrub_ns;
    simtime_ns interval_ns, stall_ns, notice_save_ns, load_ns, init_ns;
    bool save_on_notice, final_save;
    struct preemption_plan preemption;
    bool consolidate, serial;
    enum queue_order order;
    simtime_ns age_ns;       /* priority; 0: none */
    simtime_ns half_life_ns; /* fair share; 0: present usage; SIM_NEVER: nothing fades */
    enum backfill_kind backfill;
    uint32_t n_queues, n_tenants, n_cohorts, n_jobs;
    struct cohort cohorts[BRUTE_COHORTS];
    struct brute_tenant tenants[BRUTE_TENANTS];
    struct brute_job jobs[BRUTE_JOBS]; /* by submission */
    uint32_t spares, n_faults;
    simtime_ns detection_ns;                 /* of a failure */
    struct brute_fault faults[BRUTE_FAULTS]; /* by time */
    simtime_ns end_ns;
};

/* What became of a job; SIM_NEVER: not (yet). */
struct brute_fate {
    simtime_ns first_start_ns, end_ns, lost_ns;
    uint32_t preemptions, failures, swaps;
    bool refused;
};

/* A start of a job, its eviction or end, a part of it that fails or that a spare replaces: GPUs of
 * a tenant at a time. */
enum brute_event_kind { BRUTE_START, BRUTE_STOP, BRUTE_FAIL, BRUTE_SWAP };

struct brute_event {
    simtime_ns at_ns;
    uint32_t tenant, gpus;
    enum brute_event_kind kind;
};

struct brute_result {
    struct brute_fate fates[BRUTE_JOBS];
    struct brute_event log[BRUTE_LOG];
    size_t n_log;
    /* What happened, so that a test can ask for it. */
    uint32_t reclaims, evictions, backfilled, moves, own_evictions, failures, swaps, withdrawn;
};

/* False when more happened than there is room for. */
bool brute_run(const struct brute_case *c, struct brute_result *out);

#endif
