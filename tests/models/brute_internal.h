/* The state of the brute-force scheduler, shared by its files: brute.c (time, life of a job),
 * brute_fleet.c (counting, placing, quota, victims), brute_pass.c (who is tried when),
 * brute_backfill.c (what starts behind a blocked head). */
#ifndef HEADROOM_TESTS_MODELS_BRUTE_INTERNAL_H
#define HEADROOM_TESTS_MODELS_BRUTE_INTERNAL_H

#include "brute.h"

enum { MOST_LEASES = 4096 };

enum job_phase { FUTURE, WAITING, ASSEMBLING, RUNNING, STOPPING, OVER };

struct job_state {
    enum job_phase phase;
    size_t lease;
    simtime_ns done_ns, restore_ns; /* work kept; of its next or present segment */
    simtime_ns since_ns;            /* its segment began */
};

enum lease_state { GROWING, HELD, DRAINING, SCRUBBING, GONE };

/* By number: a lower one was decided earlier. */
struct lease_of {
    enum lease_state state;
    size_t job;
    uint32_t tenant, gpus;
    uint32_t on[BRUTE_NODES];    /* GPUs it has there */
    uint32_t wants[BRUTE_NODES]; /* GPUs that will come there for it */
    simtime_ns since_ns, released_ns, clean_ns;
};

struct brute {
    const struct brute_case *c;
    struct brute_result *out;
    struct job_state jobs[BRUTE_JOBS];
    struct lease_of leases[MOST_LEASES];
    size_t n_leases;
    simtime_ns now, pass_at, passed_at; /* SIM_NEVER: none wanted; none yet */
    bool full;
};

struct comb {
    simtime_ns work, kept, lost; /* done so far; held by complete saves; wall time since the last */
};

/* ---- brute.c ---- */

struct comb comb_at(const struct brute *b, size_t job, simtime_ns elapsed);
simtime_ns brute_segment_length(const struct brute *b, size_t job);
bool saves_on_notice(const struct brute *b);
void start_job(struct brute *b, size_t job, size_t lease);
void evict(struct brute *b, size_t lease);

/* ---- brute_fleet.c ---- */

uint32_t free_on(const struct brute *b, uint32_t node);
uint32_t free_in_all(const struct brute *b);
uint32_t coming_on(const struct brute *b, uint32_t node); /* claimed by no start */
uint32_t coming_in_all(const struct brute *b);
uint32_t usage(const struct brute *b, uint32_t tenant);
uint32_t draining(const struct brute *b, uint32_t tenant);
bool never_fits(const struct brute *b, const struct brute_job *j);
bool within_ceiling(const struct brute *b, const struct brute_job *j);

/* There are enough free GPUs for a job, and its tenant may not have them. */
bool only_quota_refuses(const struct brute *b, size_t job);

/* Starts a job from free GPUs; assembles its start by reclaim. */
bool acquire(struct brute *b, size_t job);
bool reclaim(struct brute *b, size_t job);

/* ---- brute_pass.c ---- */

void pass(struct brute *b);

/* The waiting job that is next behind another in the order of a queue (BRUTE_JOBS: the first);
 * BRUTE_JOBS: none. */
size_t next_waiting(const struct brute *b, uint32_t queue, size_t after);

/* ---- brute_backfill.c ---- */

void backfill(struct brute *b, uint32_t queue, size_t head);

#endif
