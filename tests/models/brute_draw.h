/* Random cases of the brute-force scheduler. */
#ifndef HEADROOM_TESTS_MODELS_BRUTE_DRAW_H
#define HEADROOM_TESTS_MODELS_BRUTE_DRAW_H

#include "brute.h"

uint32_t pick(uint64_t *state, uint32_t low, uint32_t high);

simtime_ns seconds(uint64_t *state, uint32_t low, uint32_t high);

/* Nodes, times, saves; the rule of victims is youngest or lowest-priority. */
void draw_fleet(uint64_t *state, struct brute_case *c);
void draw_jobs(uint64_t *state, struct brute_case *c);
void draw_order(uint64_t *state, struct brute_case *c, enum queue_order order);

/* Floors, ceilings and lent parts of the tenants, which may reclaim by one of the three words. */
void draw_quotas(uint64_t *state, struct brute_case *c);

/* Any policies, own leases included. */
void draw_policies(uint64_t *state, struct brute_case *c);

/* One to three cohorts, nested, with quota of their own, and the tenants in them. */
void draw_cohorts(uint64_t *state, struct brute_case *c);

/* What an eviction does, and what protects from it; consolidation, one after another. */
void draw_preemption(uint64_t *state, struct brute_case *c);

/* Up to three hot spares, failures and repairs, detection at once or later. Jobs and quotas drawn
 * after it count on the nodes that are no spares: it takes these out of the case's until
 * draw_spares_over puts them back. */
void draw_faults(uint64_t *state, struct brute_case *c);
void draw_spares_over(struct brute_case *c);

#endif
