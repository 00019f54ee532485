/* From a checked spec to a plan. Everything made lives in the arena. */
#ifndef HEADROOM_SCENARIOS_BUILD_H
#define HEADROOM_SCENARIOS_BUILD_H

#include "models/plan.h"
#include "scenarios/check.h"
#include "scenarios/preset.h"
#include "scenarios/scenario.h"
#include "traces/trace.h"

/* A trace that has been read: read once, used by every design and claimant that names it alike. */
struct loaded_trace {
    const char *key; /* what was asked for, as text */
    bool jobs;
    struct request_trace requests;
    struct job_trace list;
    struct trace_report report;
};

struct loaded_traces {
    struct loaded_trace **items; /* owned array; entries in the arena */
    size_t n, capacity;
    struct scenario_trace *named; /* owned: who uses which, for scenario_traces */
    size_t n_named, named_capacity;
};

/* Cohorts of the plan's pool as they are made. */
struct build_cohorts {
    struct cohort *items; /* arena */
    size_t n;
};

struct build {
    const struct check *check; /* spec, arena, diags */
    struct loaded_traces *traces;
    const char *design_name; /* from here on set by build_plan */
    const struct design_spec *design;
    struct build_cohorts *cohorts; /* room for one a queue */
};

enum hr_err build_plan(const struct build *b, const char *design, const struct design_spec *d,
                       struct plan *out);

/* ---- parts, by file ---- */

uint32_t build_bound(uint64_t gpus); /* of an elastic gang; 0: none of its own */
struct dist build_dist(const struct duration_spec *d);
enum hr_err build_fleet(const struct build *b, struct plan *out);
enum hr_err build_trace(const struct build *b, const char *owner, const struct trace_file_spec *t,
                        bool jobs, struct loaded_trace **out);
enum hr_err build_traffic(const struct build *b, const char *owner, const struct traffic_spec *t,
                          struct traffic_plan *out);
enum hr_err build_service(const struct build *b, const char *name, const struct service_spec *s,
                          const struct claim *claim, struct service_plan *out);
enum hr_err build_drawn(const struct build *b, const struct drawn_spec *s, struct mix_plan *out);
enum hr_err build_queue(const struct build *b, const char *name, const struct training_spec *t,
                        const struct claim *claim, struct queue_plan *out);

#endif
