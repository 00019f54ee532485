/* A run: plan + sources -> results. A value: two runs share nothing but the plan. */
#ifndef HEADROOM_MODELS_RUN_H
#define HEADROOM_MODELS_RUN_H

#include "models/plan.h"
#include "models/results.h"

/* Optional callbacks. request and change stream rows of the whole run, warm-up included; progress
 * is called about 200 times a run with the simulated time reached; returning false stops the run
 * (HR_INTERRUPTED). */
struct run_hooks {
    void *self;
    void (*request)(void *self, const struct request_row *row);
    void (*change)(void *self, simtime_ns now, lease_id l, uint32_t claimant, enum gpu_state from,
                   enum gpu_state to, uint32_t gpus);
    bool (*progress)(void *self, simtime_ns now, simtime_ns horizon);
    bool check_every_event; /* conservation before each event: slow, for tests */
};

/* Runs replication r of the plan. results is filled on HR_OK (results_fini it) and zeroed
 * otherwise. HR_INPUT: plan_fault says why. hooks may be NULL. */
enum hr_err run_plan(const struct plan *plan, uint32_t replication, const struct run_hooks *hooks,
                     struct run_results *results);

#endif
