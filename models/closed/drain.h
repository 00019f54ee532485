/* Slots that empty one by one, with memoryless run times: how long until k of m have ended, and
 * how long a backlog takes.
 *
 *   k of m gone        S (H_m - H_(m-k)), H the harmonic numbers (A. Renyi, 1953)
 *   last start         of n jobs on m slots: max(0, n - m) S / m
 *   makespan           max(0, n - m) S / m + S H_min(n, m)
 *   list bound         any order that leaves no slot idle while a job waits:
 *                      n S / m + (1 - 1/m) x the longest job (R. L. Graham, 1966)
 *
 * S the mean run time; results have its unit. The first is also the wait of a quota owner who does
 * not preempt, and of a large gang that holds on to slots as they come free. */
#ifndef HEADROOM_MODELS_CLOSED_DRAIN_H
#define HEADROOM_MODELS_CLOSED_DRAIN_H

#include <stdint.h>

double drain_harmonic(uint64_t n);
double drain_natural_wait(uint64_t k, uint64_t m, double mean);
/* Slot-time that the k slots which have ended stand idle until the last of them has. */
double drain_natural_idle(uint64_t k, uint64_t m, double mean);
double drain_last_start(uint64_t jobs, uint64_t slots, double mean);
double drain_makespan(uint64_t jobs, uint64_t slots, double mean);
double drain_list_bound(uint64_t jobs, uint64_t slots, double mean, double longest);

/* The owner of a quota comes back for GPUs that were lent to gangs of one size. Its unlent quota
 * and idle GPUs are handed over at once; the rest comes from borrowing gangs. */
struct quota_return {
    uint32_t granted_gpus, now_gpus, need_gpus; /* within the quota; at once; from borrowers */
    uint32_t gangs, gpus;                       /* preempted */
    uint32_t lent_gangs;
};
struct quota_return drain_quota_return(uint32_t quota_gpus, uint32_t lent_gpus, uint32_t idle_gpus,
                                       uint32_t demand_gpus, uint32_t gang_gpus);

#endif
