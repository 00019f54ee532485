/* SLO collector: exact counts per window, and one histogram per metric and window.
 *
 * A finished request is counted straight in the row of its window in the result; its times go to
 * the histograms of the window, which exist only while the window is live: from its first arrival
 * until a later window has begun and none of its requests is open. Closing takes the quantiles,
 * adds the histograms to those of the run and hands them to the next window, so memory is the
 * result plus one set of histograms per window with open requests, and the run's histograms cost
 * nothing per request. All of it is sums of integers: the order of closing shows nowhere.
 *
 * Calls: one slo_arrived and one slo_ended a request, a close a window. A window's length is the
 * same for all, also for a last one that the end cuts short. */
#include "models/serving/slo.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define PPM 1000000u

const char *const slo_metric_names[SLO_METRICS] = {"ttft", "tpot", "e2e"};

/* What a window needs while its requests are open. */
struct live {
    struct live *next_free;
    uint64_t n_open;
    struct hist hist[SLO_METRICS];
};

struct slo {
    struct slo_plan plan;
    struct slo_totals totals;
    size_t n_windows;
    size_t newest;              /* latest window with an arrival; n_windows: none yet */
    struct slo_window *windows; /* owned; [n_windows] */
    struct live **live;         /* owned; [n_windows], NULL where not live */
    struct live *free;          /* owned; closed, cleared */
    struct hist hist[SLO_METRICS];
};

struct slo *slo_new(const struct slo_plan *plan)
{
    assert(plan->window_ns > 0 && plan->n_objectives <= SLO_MAX_OBJECTIVES);
    struct slo *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->plan = *plan;
    if (plan->end_ns > plan->start_ns)
        s->n_windows = (plan->end_ns - plan->start_ns - 1) / plan->window_ns + 1;
    s->newest = s->n_windows;
    s->windows = calloc(s->n_windows + 1, sizeof *s->windows);
    s->live = calloc(s->n_windows + 1, sizeof *s->live);
    for (int m = 0; m < SLO_METRICS; m++)
        hist_init(&s->hist[m]);
    if (s->windows == NULL || s->live == NULL) {
        slo_free(s);
        return NULL;
    }
    return s;
}

static void live_free(struct live *w)
{
    if (w == NULL)
        return;
    for (int m = 0; m < SLO_METRICS; m++)
        hist_fini(&w->hist[m]);
    free(w);
}

void slo_free(struct slo *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; s->live != NULL && i < s->n_windows; i++)
        live_free(s->live[i]);
    while (s->free != NULL) {
        struct live *next = s->free->next_free;
        live_free(s->free);
        s->free = next;
    }
    for (int m = 0; m < SLO_METRICS; m++)
        hist_fini(&s->hist[m]);
    free(s->live);
    free(s->windows);
    free(s);
}

static bool breaches(uint64_t late, uint64_t requests, uint32_t percentile_ppm)
{
    return late * PPM > (PPM - percentile_ppm) * requests;
}

bool slo_window_breaches(const struct slo_window *w, const struct slo_objective *o, uint32_t ix)
{
    return breaches(w->late[ix], w->requests, o->percentile_ppm);
}

static void count_window(struct slo *s, const struct slo_window *w)
{
    if (w->requests == 0)
        return;
    bool any = false;
    s->totals.windows++;
    for (uint32_t o = 0; o < s->plan.n_objectives; o++)
        if (slo_window_breaches(w, &s->plan.objectives[o], o)) {
            s->totals.breached[o]++;
            any = true;
        }
    s->totals.breached_any += any;
}

/* No request of the window will be counted any more. */
static enum hr_err close_window(struct slo *s, size_t ix)
{
    struct live *live = s->live[ix];
    struct slo_window *w = &s->windows[ix];
    for (int m = 0; m < SLO_METRICS; m++) {
        struct hist *h = &live->hist[m];
        if (h->n == 0)
            continue;
        w->p50_ns[m] = hist_quantile(h, 0.50);
        w->p90_ns[m] = hist_quantile(h, 0.90);
        w->p99_ns[m] = hist_quantile(h, 0.99);
        w->max_ns[m] = h->max;
        TRY(hist_merge(&s->hist[m], h));
        hist_clear(h);
    }
    count_window(s, w);
    s->live[ix] = NULL;
    live->next_free = s->free;
    s->free = live;
    return HR_OK;
}

static enum hr_err open_window(struct slo *s, size_t ix)
{
    struct live *live = s->free;
    if (live != NULL) {
        s->free = live->next_free;
    } else {
        live = calloc(1, sizeof *live);
        if (live == NULL)
            return HR_NOMEM;
        for (int m = 0; m < SLO_METRICS; m++)
            hist_init(&live->hist[m]);
    }
    s->live[ix] = live;
    size_t last = s->newest;
    s->newest = ix;
    if (last < s->n_windows && s->live[last]->n_open == 0)
        return close_window(s, last);
    return HR_OK;
}

static size_t window_of(const struct slo *s, simtime_ns arrival)
{
    assert(slo_measured(&s->plan, arrival));
    return (arrival - s->plan.start_ns) / s->plan.window_ns;
}

enum hr_err slo_arrived(struct slo *s, simtime_ns arrival)
{
    size_t ix = window_of(s, arrival);
    if (ix != s->newest) {
        assert(s->newest == s->n_windows || ix > s->newest);
        TRY(open_window(s, ix));
    }
    s->live[ix]->n_open++;
    return HR_OK;
}

/* One request fewer is open; the window ends with its last one unless arrivals may follow. */
static enum hr_err leave(struct slo *s, size_t ix)
{
    assert(s->live[ix] != NULL && s->live[ix]->n_open > 0);
    if (--s->live[ix]->n_open == 0 && ix != s->newest)
        return close_window(s, ix);
    return HR_OK;
}

/* Counts a request: late in the objectives its values exceed, or in all when it failed. */
static enum hr_err count_request(struct slo *s, size_t ix, bool failed,
                                 const simtime_ns value[SLO_METRICS])
{
    struct slo_window *w = &s->windows[ix];
    if (w->requests == UINT32_MAX)
        return HR_LIMIT;
    uint32_t any = 0;
    for (uint32_t o = 0; o < s->plan.n_objectives; o++) {
        const struct slo_objective *objective = &s->plan.objectives[o];
        uint32_t late = failed | (value[objective->metric] > objective->threshold_ns);
        w->late[o] += late;
        s->totals.late[o] += late;
        any |= late;
    }
    w->requests++;
    w->late_any += any;
    s->totals.requests++;
    s->totals.late_any += any;
    return HR_OK;
}

enum hr_err slo_ended(struct slo *s, simtime_ns arrival, enum slo_fate fate, simtime_ns ttft_ns,
                      bool has_tpot, simtime_ns tpot_ns, simtime_ns e2e_ns)
{
    size_t ix = window_of(s, arrival);
    s->totals.fate[fate]++;
    const simtime_ns value[SLO_METRICS] = {ttft_ns, has_tpot ? tpot_ns : 0, e2e_ns};
    TRY(count_request(s, ix, fate != SLO_DONE, value));
    if (fate != SLO_DONE)
        return leave(s, ix);
    s->totals.done++;
    struct hist *hist = s->live[ix]->hist;
    hist_add(&hist[SLO_TTFT], ttft_ns);
    if (has_tpot)
        hist_add(&hist[SLO_TPOT], tpot_ns);
    hist_add(&hist[SLO_E2E], e2e_ns);
    return leave(s, ix);
}

enum hr_err slo_open(struct slo *s, simtime_ns arrival, simtime_ns end, simtime_ns ttft_ns)
{
    size_t ix = window_of(s, arrival);
    simtime_ns age = end - arrival;
    /* Its time per token is not known before it ends. */
    const simtime_ns value[SLO_METRICS] = {ttft_ns == SIM_NEVER ? age : ttft_ns, 0, age};
    bool late = false;
    for (uint32_t o = 0; o < s->plan.n_objectives; o++)
        late |= value[s->plan.objectives[o].metric] > s->plan.objectives[o].threshold_ns;
    if (late)
        TRY(count_request(s, ix, false, value));
    else
        s->totals.open++;
    return leave(s, ix);
}

enum hr_err slo_finish(struct slo *s)
{
    for (size_t i = 0; i < s->n_windows; i++)
        if (s->live[i] != NULL) {
            assert(s->live[i]->n_open == 0);
            TRY(close_window(s, i));
        }
    s->newest = s->n_windows;
    return HR_OK;
}

const struct slo_totals *slo_totals(const struct slo *s)
{
    return &s->totals;
}

const struct slo_window *slo_windows(const struct slo *s, size_t *n)
{
    *n = s->n_windows;
    return s->windows;
}

const struct hist *slo_hist(const struct slo *s, enum slo_metric m)
{
    return &s->hist[m];
}

simtime_ns slo_breach_ns(const struct slo *s, uint32_t objective)
{
    uint64_t n =
        objective < SLO_MAX_OBJECTIVES ? s->totals.breached[objective] : s->totals.breached_any;
    return n * s->plan.window_ns;
}

static uint32_t window_late(const struct slo_window *w, uint32_t objective)
{
    return objective < SLO_MAX_OBJECTIVES ? w->late[objective] : w->late_any;
}

double slo_burn_rate_max(const struct slo *s, uint32_t objective, uint32_t n_windows)
{
    assert(n_windows > 0);
    uint64_t late = 0, requests = 0;
    double share = 0;
    for (size_t i = 0; i < s->n_windows; i++) {
        late += window_late(&s->windows[i], objective);
        requests += s->windows[i].requests;
        if (i >= n_windows) {
            late -= window_late(&s->windows[i - n_windows], objective);
            requests -= s->windows[i - n_windows].requests;
        }
        bool whole = i + 1 >= n_windows || i + 1 == s->n_windows;
        if (whole && requests > 0)
            share = fmax(share, (double)late / (double)requests);
    }
    if (share == 0)
        return 0;
    return s->plan.target < 1 ? share / (1 - s->plan.target) : INFINITY;
}
