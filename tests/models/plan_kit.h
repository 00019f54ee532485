/* Plans for tests, built in C: a small synthetic trace, sensible parts, and random whole plans. */
#ifndef HEADROOM_TESTS_MODELS_PLAN_KIT_H
#define HEADROOM_TESTS_MODELS_PLAN_KIT_H

#include "models/run.h"
#include "sim/arena.h"

/* n requests with exponential gaps of the mean, prompt 1..max_prompt, output 1..max_output. */
struct request_trace *kit_trace(struct arena *a, uint64_t seed, size_t n, double mean_gap_s,
                                uint32_t max_prompt, uint32_t max_output);

/* n jobs with exponential gaps and exponential work, gang sizes 1..max_gpus. */
struct job_trace *kit_jobs(struct arena *a, uint64_t seed, size_t n, double mean_gap_s,
                           double mean_work_s, uint32_t max_gpus);

/* Llama-3.1-70B-like step times, so that a run of minutes means something. */
struct step_time kit_step_time(void);

/* A service of `replicas` one-node replicas without autoscaler; floor = ceiling = their GPUs. */
struct service_plan kit_service(const char *name, const struct request_trace *trace, double scale,
                                uint32_t gpus, uint32_t replicas, simtime_ns warmup,
                                simtime_ns horizon);

/* A queue with checkpoints, restart stages and a quota that may take the whole fleet. */
struct queue_plan kit_queue(const char *name, const struct job_trace *jobs, uint32_t fleet_gpus);

/* A plan of every kind of part at random: 1 to 6 nodes, 0 to 2 services, 0 to 2 queues, any quota
 * that plan_fault accepts, minutes to an hour long. */
struct plan *kit_random(struct arena *a, uint64_t seed);

/* FNV-1a over everything in the results that a file would hold. */
uint64_t kit_checksum(const struct run_results *r);

#endif
