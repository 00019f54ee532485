/* A rolling upgrade: waves of b of n nodes, and how often it disturbs a job on G of them.
 *
 *   waves             ceil(n / b)
 *   aligned restarts  ceil(G / b): waves that follow the job's nodes
 *   random restarts   sum over waves of size w of 1 - binom(n - G, w) / binom(n, w): waves that do
 *                     not look (hypergeometric chance that a wave misses the job)
 *   failed nodes      binomial: n nodes, each fails its upgrade with probability p
 *   canaries          k nodes upgraded first show a fault that each shows with probability p with
 *                     probability 1 - (1 - p)^k
 *
 * G <= n, 0 < b. */
#ifndef HEADROOM_MODELS_CLOSED_ROLLOUT_H
#define HEADROOM_MODELS_CLOSED_ROLLOUT_H

#include <stdint.h>

uint32_t rollout_waves(uint32_t nodes, uint32_t parallel);
uint32_t rollout_restarts_aligned(uint32_t nodes, uint32_t parallel, uint32_t job_nodes);
double rollout_restarts_random(uint32_t nodes, uint32_t parallel, uint32_t job_nodes);

/* Fewest s with P(failed nodes <= s) >= quantile. */
uint32_t rollout_failed_quantile(uint32_t nodes, double fail_frac, double quantile);

double rollout_canary_detect(double bad_prob, uint32_t canaries);
/* Fewest canaries that show it with at least this probability; UINT32_MAX for none. */
uint32_t rollout_canaries_for(double bad_prob, double detect);

#endif
