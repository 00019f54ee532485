/* The state of the brute-force scheduler, shared by its files: brute.c (time, life of a job),
 * brute_fleet.c (counting, placing, starts), brute_quota.c (who may have how much, and from whom),
 * brute_victims.c (who goes), brute_moves.c (who moves), brute_pass.c (who is tried when),
 * brute_backfill.c (what starts behind a blocked head). */
#ifndef HEADROOM_TESTS_MODELS_BRUTE_INTERNAL_H
#define HEADROOM_TESTS_MODELS_BRUTE_INTERNAL_H

#include "brute.h"

enum { MOST_LEASES = 4096 };

enum job_phase { FUTURE, WAITING, ASSEMBLING, RUNNING, BROKEN, STOPPING, OVER };

struct job_state {
    enum job_phase phase;
    size_t lease;
    simtime_ns done_ns, restore_ns; /* work kept; of its next or present segment */
    simtime_ns since_ns;            /* its segment began */
    bool suspended;
    uint32_t fruitless; /* evictions since it last kept work, and the first of them */
    simtime_ns fruitless_ns;
    size_t hold;           /* of its present segment */
    simtime_ns broken_ns;  /* a node of it failed */
    uint32_t broken;       /* how many had before it: they are detected in this order */
    simtime_ns evicted_ns; /* the last time, SIM_NEVER: not yet; for a start of which priority */
    int32_t evicted_for;
};

enum { MOST_HOLDS = 4096 };

/* GPUs that a running job of a tenant had. */
struct hold {
    uint32_t tenant, gpus;
    simtime_ns from, until;
};

enum lease_state { GROWING, HELD, DRAINING, SCRUBBING, GONE };

/* By number: a lower one was decided earlier. */
struct lease_of {
    enum lease_state state;
    size_t job;
    uint32_t tenant, gpus;
    uint32_t lost;               /* more, with nodes that failed */
    uint32_t on[BRUTE_NODES];    /* GPUs it has there */
    uint32_t wants[BRUTE_NODES]; /* GPUs that will come there for it */
    simtime_ns since_ns, released_ns, clean_ns;
    simtime_ns guard_ns;    /* not evicted before so long for a start of at most its priority */
    bool evicted;           /* stopping because of a reclaim */
    bool waits_for_evicted; /* growing: some of what it wants may come from an evicted one */
};

struct brute {
    const struct brute_case *c;
    struct brute_result *out;
    struct job_state jobs[BRUTE_JOBS];
    struct lease_of leases[MOST_LEASES];
    size_t n_leases;
    struct hold holds[MOST_HOLDS]; /* until SIM_NEVER: still */
    size_t n_holds;
    double due[BRUTE_TENANTS]; /* proportional: of its parts of former choices, not given yet */
    simtime_ns now, pass_at, passed_at; /* SIM_NEVER: none wanted; none yet */
    simtime_ns exempt_over;             /* of the first that somebody would have evicted */
    bool failed[BRUTE_NODES], spare[BRUTE_NODES];
    uint32_t n_broken; /* so far */
    bool full;
};

/* What a segment has come to: all of it done so far, held by complete saves, wall time lost with it
 * if nothing is saved, wall time of work and saves. */
struct comb {
    simtime_ns work, kept, lost, wall;
};

/* ---- brute.c ---- */

void sooner(simtime_ns *next, simtime_ns t);
void want_pass(struct brute *b);
void note(struct brute *b, const struct lease_of *l, uint32_t gpus, enum brute_event_kind kind);
/* A segment of a running or broken job begins; ends, now. */
void begin_segment(struct brute *b, size_t job);
void end_segment(struct brute *b, size_t job);
/* What the segment that now ends, or ended when a node failed, has come to. */
struct comb comb_now(const struct brute *b, size_t job);
void stop_lease(struct brute *b, size_t lease, simtime_ns at);
simtime_ns brute_segment_length(const struct brute *b, size_t job);
void start_job(struct brute *b, size_t job, size_t lease);
void evict(struct brute *b, size_t lease, int32_t priority); /* for a start of this priority */

/* GPU-time that evicting it now would lose; false: it may not be evicted for a start of this
 * priority. Of one that is exempt it notes when it will be no longer. */
bool may_lose(struct brute *b, size_t lease, int32_t priority, simtime_ns *loss);

/* ---- brute_nodes.c ---- */

void nodes_begin(struct brute *b);
simtime_ns next_of_nodes(const struct brute *b);
void failures(struct brute *b); /* of this instant */
void repairs(struct brute *b);
void detections(struct brute *b);
/* The end of a broken job's segment; may_swap: spares may take the place of what it lost. */
void give_up_or_swap(struct brute *b, size_t job, bool may_swap);

/* ---- brute_fleet.c ---- */

uint32_t free_on(const struct brute *b, uint32_t node);
uint32_t free_in_all(const struct brute *b);
uint32_t coming_on(const struct brute *b, uint32_t node); /* claimed by no start */
uint32_t coming_in_all(const struct brute *b);
bool in_one_node(const struct brute *b, const struct brute_job *j);

/* There are enough free GPUs for a job, and its tenant may not have them. */
bool only_quota_refuses(const struct brute *b, size_t job);

/* Starts a job from free GPUs; assembles its start by reclaim. */
bool acquire(struct brute *b, size_t job);
bool reclaim(struct brute *b, size_t job);

/* ---- brute_quota.c ---- */

enum count { STANDING, USAGE, TIED, COUNTS };

/* GPUs of each tenant: of held and assembling leases; also of draining ones; also of those that are
 * being scrubbed. */
struct counts {
    const struct brute_case *c;
    int of[BRUTE_TENANTS][COUNTS];
};

struct counts count_all(const struct brute *b);
/* As if so many GPUs of a tenant had been evicted and torn down. */
void suppose_gone(struct counts *n, uint32_t tenant, uint32_t gpus);

uint32_t usage(const struct brute *b, uint32_t tenant);
uint32_t draining(const struct brute *b, uint32_t tenant);
int32_t job_priority(const struct brute_case *c, const struct brute_job *job);

bool never_fits(const struct brute *b, const struct brute_job *j);
bool under_ceilings(const struct counts *n, const struct brute_job *j);
/* Of so many GPUs, those that others' unlent quota does not need, by one of the counts. */
int may_have_of(const struct counts *n, uint32_t tenant, int gpus, enum count k);
/* Whether its place in a tree may keep a start from being at a ceiling. */
bool share_a_ceiling(const struct brute_case *c, uint32_t a, uint32_t b);

/* Whether a start may take a job of a tenant: by the policies, before any eviction; and whether the
 * tenant still borrows, after some. */
bool policy_allows(const struct counts *n, const struct brute_job *start,
                   const struct brute_job *victim);
bool still_borrows(const struct counts *n, uint32_t start, uint32_t victim);

/* By the policies, whatever the priorities of its leases; of any tenant at all, whoever borrows. */
bool may_take_from(const struct counts *n, const struct brute_job *start, uint32_t tenant);
bool may_take_at_all(const struct counts *n, const struct brute_job *start);

/* What a tenant borrows. */
int borrowed_by(const struct counts *n, uint32_t tenant);

/* Of some tenants (bits) the one from the highest share, descending from the fleet. */
uint32_t highest_share(const struct counts *n, unsigned tenants);
enum strategy { AT_MOST_FINAL, LESS_THAN_INITIAL };
bool shares_allow(const struct counts *n, const struct brute_job *start, uint32_t victim,
                  uint32_t gpus, enum strategy s);

/* ---- brute_victims.c ---- */

/* Leases as a set of bits of which[]. */
struct victims_of {
    size_t which[BRUTE_JOBS];
    unsigned set;
    uint32_t node; /* of a start within one node */
};

/* Who has to go; false: no set of leases will do. free: free GPUs it may use; have: free and coming
 * ones together. */
bool choose_victims(struct brute *b, size_t job, int free, int have, struct victims_of *out);

/* proportional: what tenants owe after an eviction, counts as before it. */
void settle_dues(struct brute *b, const struct counts *before, size_t job,
                 const struct victims_of *v);

/* ---- brute_moves.c ---- */

bool choose_moves(struct brute *b, size_t job, struct victims_of *out);

/* ---- brute_pass.c ---- */

void pass(struct brute *b);

/* Jobs that have been looked at in a pass, and tenants that are passed over. */
struct looked_at {
    bool job[BRUTE_JOBS], tenant[BRUTE_TENANTS];
};

/* The first waiting job of a queue that is none of these; BRUTE_JOBS: none. */
size_t next_waiting(const struct brute *b, uint32_t queue, const struct looked_at *seen);

/* ---- brute_backfill.c ---- */

void backfill(struct brute *b, uint32_t queue, size_t head, struct looked_at *seen);

#endif
