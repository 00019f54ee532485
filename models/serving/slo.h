/* Service-level objectives: windows, breaches, attainment, burn rate.
 *
 * A request belongs to the window of its arrival. It is late for an objective when above the
 * threshold, or dropped, timed out, refused or lost. A window breaches an objective at percentile p
 * when late > (1 - p) requests, in integers (p in parts per million); a window without requests
 * neither breaches nor counts. A window is closed once a later one has begun and no request of its
 * is open, so memory is bounded by what is in flight. Arrivals come in order of time. */
#ifndef HEADROOM_MODELS_SERVING_SLO_H
#define HEADROOM_MODELS_SERVING_SLO_H

#include "sim/err.h"
#include "sim/hist.h"
#include "sim/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slo_metric { SLO_TTFT, SLO_TPOT, SLO_E2E, SLO_METRICS };
extern const char *const slo_metric_names[SLO_METRICS]; /* "ttft", "tpot", "e2e" */

#define SLO_MAX_OBJECTIVES 8

struct slo_objective {
    enum slo_metric metric;
    simtime_ns threshold_ns;
    uint32_t percentile_ppm; /* 990000: p99 */
};

struct slo_plan {
    struct slo_objective objectives[SLO_MAX_OBJECTIVES];
    uint32_t n_objectives;
    simtime_ns window_ns;
    simtime_ns start_ns, end_ns; /* measured arrivals: [start, end) */
    double target;               /* of attainment, for the error budget: 0.99 */
};

/* One window in the result. Quantiles are of requests that have the metric; 0 with n of it 0. */
struct slo_window {
    uint32_t requests;
    uint32_t late[SLO_MAX_OBJECTIVES];
    uint32_t late_any; /* requests late in at least one objective */
    uint64_t p50_ns[SLO_METRICS], p90_ns[SLO_METRICS], p99_ns[SLO_METRICS], max_ns[SLO_METRICS];
};

/* How a request ended. Times are meaningful for SLO_DONE only. */
enum slo_fate { SLO_DONE, SLO_TOO_LONG, SLO_DROPPED, SLO_TIMED_OUT, SLO_FATES };

struct slo; /* opaque collector */

/* Totals of a run. */
struct slo_totals {
    uint64_t
        requests; /* that count: everything arrived in the measured part but open ones in time */
    uint64_t done, fate[SLO_FATES], open; /* open: still in flight at the end, not counted late */
    uint64_t late[SLO_MAX_OBJECTIVES], late_any;
    uint64_t windows, breached[SLO_MAX_OBJECTIVES], breached_any; /* windows with requests */
};

struct slo *slo_new(const struct slo_plan *plan);
void slo_free(struct slo *s);

/* A request arrived at the service; counts it open in its window. Cheap; called for every arrival
 * in the measured part only (slo_measured). */
static inline bool slo_measured(const struct slo_plan *p, simtime_ns arrival)
{
    return arrival >= p->start_ns && arrival < p->end_ns;
}
enum hr_err slo_arrived(struct slo *s, simtime_ns arrival);

/* It ended. tpot_ns is (e2e - ttft) / (output - 1) rounded half up; has_tpot false for one-token
 * outputs. Hot path. */
enum hr_err slo_ended(struct slo *s, simtime_ns arrival, enum slo_fate fate, simtime_ns ttft_ns,
                      bool has_tpot, simtime_ns tpot_ns, simtime_ns e2e_ns);

/* It is still open at the end of the run: late in each objective its age already exceeds. ttft_ns
 * is SIM_NEVER when no token has been emitted. */
enum hr_err slo_open(struct slo *s, simtime_ns arrival, simtime_ns end, simtime_ns ttft_ns);

/* After the last request: closes all windows. */
enum hr_err slo_finish(struct slo *s);

const struct slo_totals *slo_totals(const struct slo *s);
const struct slo_window *slo_windows(const struct slo *s,
                                     size_t *n); /* every window of [start, end) */
const struct hist *slo_hist(const struct slo *s, enum slo_metric m); /* of the whole run */

/* Windows that breach the objective (SLO_MAX_OBJECTIVES: any) times the window length. */
simtime_ns slo_breach_ns(const struct slo *s, uint32_t objective);

/* Largest late share over any n consecutive windows divided by (1 - target). */
double slo_burn_rate_max(const struct slo *s, uint32_t objective, uint32_t n_windows);

bool slo_window_breaches(const struct slo_window *w, const struct slo_objective *o, uint32_t ix);

#endif
