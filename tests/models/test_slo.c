/* SLO collector against a reference that keeps every request, and its rules one by one. */
#include "models/serving/slo.h"
#include "sim/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* ---- the reference ---- */

struct row {
    simtime_ns arrival, end, ttft, tpot; /* end: SIM_NEVER while open */
    enum slo_fate fate;
    bool has_tpot;
};

static int by_end(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool row_value(const struct row *r, enum slo_metric m, uint64_t *value)
{
    *value = m == SLO_TTFT ? r->ttft : m == SLO_TPOT ? r->tpot : r->end - r->arrival;
    return r->fate == SLO_DONE && r->end != SIM_NEVER && (m != SLO_TPOT || r->has_tpot);
}

static bool row_late(const struct row *r, const struct slo_objective *o, simtime_ns run_end)
{
    if (r->end != SIM_NEVER && r->fate != SLO_DONE)
        return true;
    bool open = r->end == SIM_NEVER;
    simtime_ns age = (open ? run_end : r->end) - r->arrival;
    switch (o->metric) {
    case SLO_TTFT:
        return (r->ttft == SIM_NEVER ? age : r->ttft) > o->threshold_ns;
    case SLO_TPOT:
        return !open && r->has_tpot && r->tpot > o->threshold_ns;
    default:
        return age > o->threshold_ns;
    }
}

/* Rank ceil(q n) of sorted values, q in per cent. */
static uint64_t exact_quantile(const uint64_t *sorted, size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;
    return sorted[rank - 1];
}

static void near(uint64_t got, uint64_t exact, const char *what, size_t window)
{
    cr_assert_leq(fabs((double)got - exact), 0.01 * exact, "%s of window %zu: %lu, exactly %lu",
                  what, window, (unsigned long)got, (unsigned long)exact);
}

static void check_window(const struct slo_plan *p, const struct slo_window *w, size_t ix,
                         const struct row *rows, size_t n, simtime_ns run_end,
                         struct slo_totals *sum)
{
    simtime_ns lo = p->start_ns + ix * p->window_ns, hi = lo + p->window_ns;
    uint64_t requests = 0, late[SLO_MAX_OBJECTIVES] = {0}, late_any = 0;
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        if (r->arrival < lo || r->arrival >= hi || !slo_measured(p, r->arrival))
            continue;
        bool any = false;
        for (uint32_t o = 0; o < p->n_objectives; o++) {
            bool is = row_late(r, &p->objectives[o], run_end);
            late[o] += is;
            any |= is;
        }
        late_any += any;
        requests += any || r->end != SIM_NEVER;
        sum->open += r->end == SIM_NEVER && !any;
        sum->done += r->end != SIM_NEVER && r->fate == SLO_DONE;
        if (r->end != SIM_NEVER)
            sum->fate[r->fate]++;
    }
    cr_assert_eq(w->requests, requests);
    cr_assert_eq(w->late_any, late_any);
    sum->requests += requests;
    sum->late_any += late_any;
    bool any = false;
    for (uint32_t o = 0; o < p->n_objectives; o++) {
        cr_assert_eq(w->late[o], late[o]);
        sum->late[o] += late[o];
        /* More than the allowed share, in whole requests per million. */
        bool breach = requests > 0 &&
                      late[o] * 1000000 > (1000000 - p->objectives[o].percentile_ppm) * requests;
        cr_assert_eq(slo_window_breaches(w, &p->objectives[o], o), breach);
        sum->breached[o] += breach;
        any |= breach;
    }
    sum->windows += requests > 0;
    sum->breached_any += any;
}

static void check_quantiles(const struct slo_plan *p, const struct slo_window *w, size_t ix,
                            const struct row *rows, size_t n, uint64_t *values)
{
    simtime_ns lo = p->start_ns + ix * p->window_ns, hi = lo + p->window_ns;
    for (int m = 0; m < SLO_METRICS; m++) {
        size_t n_values = 0;
        for (size_t i = 0; i < n; i++)
            if (rows[i].arrival >= lo && rows[i].arrival < hi && slo_measured(p, rows[i].arrival))
                n_values += row_value(&rows[i], m, &values[n_values]);
        qsort(values, n_values, sizeof *values, by_value);
        if (n_values == 0) {
            cr_assert(w->p50_ns[m] == 0 && w->p90_ns[m] == 0 && w->p99_ns[m] == 0 &&
                      w->max_ns[m] == 0);
            continue;
        }
        near(w->p50_ns[m], exact_quantile(values, n_values, 50), "p50", ix);
        near(w->p90_ns[m], exact_quantile(values, n_values, 90), "p90", ix);
        near(w->p99_ns[m], exact_quantile(values, n_values, 99), "p99", ix);
        cr_assert_eq(w->max_ns[m], values[n_values - 1]);
    }
}

/* Requests with lognormal times, some refused or dropped, some still open at the end. */
static size_t make_rows(struct row *rows, size_t n, double mean_gap_s, simtime_ns run_end,
                        uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0, "test", "requests");
    simtime_ns at = 0;
    for (size_t i = 0; i < n; i++) {
        /* Now and then a pause longer than a window. */
        double gap = rng_exponential(&r) * mean_gap_s * (rng_below(&r, 500) ? 1 : 400);
        at += sim_time_from_s(gap);
        if (at >= run_end)
            return i;
        uint32_t fate = rng_below(&r, 60);
        double ttft = 0.3 * exp(1.2 * rng_normal(&r)), rest = 20 * exp(1.5 * rng_normal(&r));
        uint64_t steps = rng_below(&r, 10) ? 1 + rng_below(&r, 500) : 0;
        struct row *row = &rows[i];
        *row = (struct row){.arrival = at, .fate = fate < SLO_FATES ? fate : SLO_DONE};
        row->has_tpot = steps > 0;
        row->ttft = sim_time_from_s(ttft);
        simtime_ns e2e = row->ttft + (steps ? sim_time_from_s(rest) : 0);
        row->tpot = steps ? (e2e - row->ttft) / steps : SIM_HOUR; /* to be ignored */
        row->end = at + (row->fate == SLO_TOO_LONG ? 0 : e2e);
        if (row->end >= run_end) {
            row->end = SIM_NEVER;
            row->ttft = at + row->ttft < run_end ? row->ttft : SIM_NEVER;
        }
    }
    return n;
}

/* Hands the requests over in the order of their arrivals and ends. */
static void feed(struct slo *s, const struct slo_plan *p, struct row *rows, size_t n,
                 simtime_ns run_end)
{
    struct row **ends = malloc(n * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        ends[i] = &rows[i];
    qsort(ends, n, sizeof *ends, by_end);
    size_t arrived = 0;
    for (size_t i = 0; i < n; i++) {
        const struct row *r = ends[i];
        for (; arrived < n && rows[arrived].arrival <= r->end; arrived++)
            if (slo_measured(p, rows[arrived].arrival))
                cr_assert_eq(slo_arrived(s, rows[arrived].arrival), HR_OK);
        if (!slo_measured(p, r->arrival))
            continue;
        if (r->end == SIM_NEVER)
            cr_assert_eq(slo_open(s, r->arrival, run_end, r->ttft), HR_OK);
        else
            cr_assert_eq(slo_ended(s, r->arrival, r->fate, r->ttft, r->has_tpot, r->tpot,
                                   r->end - r->arrival),
                         HR_OK);
    }
    cr_assert_eq(slo_finish(s), HR_OK);
    free(ends);
}

static void check_run_hist(const struct slo *s, const struct slo_plan *p, const struct row *rows,
                           size_t n)
{
    for (int m = 0; m < SLO_METRICS; m++) {
        struct hist all;
        hist_init(&all);
        for (size_t i = 0; i < n; i++) {
            uint64_t value;
            if (slo_measured(p, rows[i].arrival) && row_value(&rows[i], m, &value))
                hist_add(&all, value);
        }
        const struct hist *h = slo_hist(s, m);
        cr_assert(h->n == all.n && h->min == all.min && h->max == all.max && h->sum == all.sum);
        for (size_t b = 0; b < all.n_buckets; b++)
            cr_assert_eq(h->counts[b], all.counts[b]);
        hist_fini(&all);
    }
}

static void compare(struct slo_plan plan, size_t n, double mean_gap_s, simtime_ns run_end,
                    uint64_t seed)
{
    struct row *rows = malloc(n * sizeof *rows);
    uint64_t *values = malloc(n * sizeof *values);
    n = make_rows(rows, n, mean_gap_s, run_end, seed);
    struct slo *s = slo_new(&plan);
    feed(s, &plan, rows, n, run_end);

    size_t n_windows;
    const struct slo_window *w = slo_windows(s, &n_windows);
    cr_assert_eq(n_windows, (plan.end_ns - plan.start_ns + plan.window_ns - 1) / plan.window_ns);
    struct slo_totals sum = {0};
    for (size_t i = 0; i < n_windows; i++) {
        check_window(&plan, &w[i], i, rows, n, run_end, &sum);
        check_quantiles(&plan, &w[i], i, rows, n, values);
    }
    const struct slo_totals *t = slo_totals(s);
    cr_assert_eq(t->requests, sum.requests);
    cr_assert_eq(t->done, sum.done);
    cr_assert_eq(t->open, sum.open);
    cr_assert_eq(t->windows, sum.windows);
    cr_assert_eq(t->late_any, sum.late_any);
    cr_assert_eq(t->breached_any, sum.breached_any);
    cr_assert_eq(slo_breach_ns(s, SLO_MAX_OBJECTIVES), sum.breached_any * plan.window_ns);
    for (int f = 0; f < SLO_FATES; f++)
        cr_assert_eq(t->fate[f], sum.fate[f]);
    for (uint32_t o = 0; o < plan.n_objectives; o++) {
        cr_assert_eq(t->late[o], sum.late[o]);
        cr_assert_eq(t->breached[o], sum.breached[o]);
        cr_assert_eq(slo_breach_ns(s, o), sum.breached[o] * plan.window_ns);
    }
    check_run_hist(s, &plan, rows, n);
    slo_free(s);
    free(values);
    free(rows);
}

static struct slo_plan three_objectives(void)
{
    return (struct slo_plan){
        .objectives = {{SLO_TTFT, 2 * SIM_S, 990000},
                       {SLO_TPOT, 100 * SIM_MS, 900000},
                       {SLO_E2E, 60 * SIM_S, 950000},
                       {SLO_TTFT, SIM_S, 500000}},
        .n_objectives = 4,
        .window_ns = SIM_MIN,
        .start_ns = 0,
        .end_ns = SIM_HOUR,
        .target = 0.99,
    };
}

Test(slo, agrees_with_every_request_kept)
{
    struct slo_plan plan = three_objectives();
    compare(plan, 20000, 0.25, SIM_HOUR, 1);
    compare(plan, 3000, 2, SIM_HOUR, 2); /* sparse: empty windows */
    plan.start_ns = 7 * SIM_MIN + 3;     /* a warm-up, and a last window cut short */
    plan.end_ns = 51 * SIM_MIN;
    compare(plan, 20000, 0.25, SIM_HOUR, 3);
    plan.window_ns = 2 * SIM_HOUR; /* one window */
    compare(plan, 20000, 0.25, SIM_HOUR, 4);
    plan.window_ns = SIM_S;
    compare(plan, 20000, 0.05, SIM_HOUR, 5);
}

/* ---- rules ---- */

static void arrive(struct slo *s, simtime_ns at)
{
    cr_assert_eq(slo_arrived(s, at), HR_OK);
}

/* n requests of one window, of which late ones exceed the first objective. */
static struct slo_window one_window(uint32_t n, uint32_t late, uint32_t ppm, bool *breach)
{
    struct slo_plan plan = {.objectives = {{SLO_TTFT, SIM_S, ppm}},
                            .n_objectives = 1,
                            .window_ns = SIM_MIN,
                            .end_ns = SIM_MIN};
    struct slo *s = slo_new(&plan);
    for (uint32_t i = 0; i < n; i++)
        arrive(s, i);
    for (uint32_t i = 0; i < n; i++)
        slo_ended(s, i, SLO_DONE, i < late ? SIM_S + 1 : SIM_S, false, 0, 2 * SIM_S);
    slo_finish(s);
    size_t n_windows;
    struct slo_window w = *slo_windows(s, &n_windows);
    *breach = slo_totals(s)->breached[0] == 1;
    cr_assert_eq(slo_window_breaches(&w, &plan.objectives[0], 0), *breach);
    slo_free(s);
    return w;
}

/* p99 of 1000 requests allows 10 late ones, p99.9 one, p50 500; a threshold met is not late. */
Test(slo, breaches_are_exact_at_the_boundary)
{
    const struct {
        uint32_t n, late, ppm;
        bool breach;
    } cases[] = {
        {1000, 10, 990000, false}, {1000, 11, 990000, true},   {1000, 1, 999000, false},
        {1000, 2, 999000, true},   {1000, 500, 500000, false}, {1000, 501, 500000, true},
        {99, 1, 990000, true},     {100, 1, 990000, false},    {7, 0, 1000000, false},
        {7, 1, 1000000, true},     {0, 0, 990000, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool breach;
        struct slo_window w = one_window(cases[i].n, cases[i].late, cases[i].ppm, &breach);
        cr_assert_eq(w.late[0], cases[i].late);
        cr_assert_eq(breach, cases[i].breach, "case %zu", i);
    }
}

Test(slo, refused_dropped_and_timed_out_are_late_in_all)
{
    struct slo_plan plan = three_objectives();
    struct slo *s = slo_new(&plan);
    for (int f = 0; f < SLO_FATES; f++)
        arrive(s, f);
    for (int f = 0; f < SLO_FATES; f++)
        slo_ended(s, f, f, 1, false, SIM_HOUR, 1);
    slo_finish(s);
    const struct slo_totals *t = slo_totals(s);
    cr_assert_eq(t->requests, (uint64_t)SLO_FATES);
    cr_assert_eq(t->done, 1u);
    cr_assert_eq(t->late_any, SLO_FATES - 1u);
    for (uint32_t o = 0; o < plan.n_objectives; o++)
        cr_assert_eq(t->late[o], SLO_FATES - 1u);
    cr_assert_eq(slo_hist(s, SLO_TTFT)->n, 1u);
    cr_assert_eq(slo_hist(s, SLO_TPOT)->n, 0u); /* one token: not late, and not in the quantiles */
    slo_free(s);
}

/* Objectives: TTFT 2 s, TPOT 100 ms, E2E 60 s, TTFT 1 s; the run ends at 100 s. */
Test(slo, open_requests_count_only_once_late)
{
    struct slo_plan plan = three_objectives();
    struct slo *s = slo_new(&plan);
    simtime_ns end = 100 * SIM_S;
    const struct {
        simtime_ns arrival, ttft;
        uint32_t late_bits;
    } cases[] = {
        {30 * SIM_S, SIM_S, 0x4},     /* first token in time, 70 s old */
        {30 * SIM_S, 3 * SIM_S, 0xd}, /* late first token besides */
        {50 * SIM_S, SIM_NEVER, 0x9}, /* 50 s without a token */
        {90 * SIM_S, SIM_S / 2, 0},   /* in time so far: left out */
        {99 * SIM_S, SIM_NEVER, 0},   /* 1 s old: not above 1 s */
    };
    uint64_t late[4] = {0};
    for (size_t i = 0; i < 5; i++)
        arrive(s, cases[i].arrival);
    for (size_t i = 0; i < 5; i++) {
        slo_open(s, cases[i].arrival, end, cases[i].ttft);
        for (int o = 0; o < 4; o++)
            late[o] += cases[i].late_bits >> o & 1;
    }
    slo_finish(s);
    const struct slo_totals *t = slo_totals(s);
    cr_assert_eq(t->requests, 3u);
    cr_assert_eq(t->open, 2u);
    cr_assert_eq(t->done, 0u);
    cr_assert_eq(t->late_any, 3u);
    for (int o = 0; o < 4; o++)
        cr_assert_eq(t->late[o], late[o]);
    cr_assert_eq(t->windows, 1u); /* the second window holds left-out requests only */
    slo_free(s);
}

Test(slo, no_request_at_all)
{
    struct slo_plan plan = three_objectives();
    struct slo *s = slo_new(&plan);
    cr_assert_eq(slo_finish(s), HR_OK);
    cr_assert_eq(slo_totals(s)->requests, 0u);
    cr_assert_eq(slo_totals(s)->windows, 0u);
    cr_assert_eq(slo_burn_rate_max(s, 0, 5), 0);
    slo_free(s);
    plan.end_ns = plan.start_ns; /* nothing is measured */
    s = slo_new(&plan);
    cr_assert_eq(slo_finish(s), HR_OK);
    size_t n;
    slo_windows(s, &n);
    cr_assert_eq(n, 0u);
    slo_free(s);
}

/* Late per window 0/10, 5/10, 1/10, none, 10/20. The worst two in a row are 10/20, the empty one
 * included; three 11/30, four 16/40, all five, also when asked for more, 16/50. Budget 0.02. */
Test(slo, burn_rate_is_the_worst_stretch)
{
    const uint32_t requests[] = {10, 10, 10, 0, 20}, late[] = {0, 5, 1, 0, 10};
    struct slo_plan plan = {.objectives = {{SLO_E2E, SIM_S, 990000}},
                            .n_objectives = 1,
                            .window_ns = SIM_MIN,
                            .end_ns = 5 * SIM_MIN,
                            .target = 0.98};
    for (int perfect = 0; perfect < 2; perfect++) {
        plan.target = perfect ? 1 : 0.98;
        struct slo *s = slo_new(&plan);
        for (int w = 0; w < 5; w++)
            for (uint32_t i = 0; i < requests[w]; i++) {
                arrive(s, w * SIM_MIN + i);
                slo_ended(s, w * SIM_MIN + i, SLO_DONE, 1, false, 0, i < late[w] ? SIM_MIN : 1);
            }
        slo_finish(s);
        const double expected[] = {0.5, 0.5, 11 / 30.0, 16 / 40.0, 16 / 50.0, 16 / 50.0};
        for (uint32_t n = 1; n <= 6; n++)
            for (uint32_t o = 0; o <= SLO_MAX_OBJECTIVES; o += SLO_MAX_OBJECTIVES) {
                double burn = slo_burn_rate_max(s, o, n);
                if (perfect)
                    cr_assert(isinf(burn));
                else
                    cr_assert_float_eq(burn, expected[n - 1] / 0.02, 1e-9, "%u windows", n);
            }
        slo_free(s);
    }
}

/* One request open for a day does not keep the windows after it open: what is live is a few
 * windows, seen as the run's histogram growing while it is still open. */
Test(slo, windows_close_around_an_open_request)
{
    struct slo_plan plan = three_objectives();
    plan.end_ns = SIM_DAY;
    struct slo *s = slo_new(&plan);
    arrive(s, 0);
    for (simtime_ns at = 1; at < SIM_DAY; at += 30 * SIM_S) {
        arrive(s, at);
        slo_ended(s, at, SLO_DONE, SIM_S, true, SIM_MS, 10 * SIM_S);
    }
    cr_assert_eq(slo_hist(s, SLO_TTFT)->n, 2 * 1440u - 4); /* all but the first and last windows */
    slo_ended(s, 0, SLO_DONE, SIM_S, true, SIM_MS, SIM_DAY);
    cr_assert_eq(slo_finish(s), HR_OK);
    cr_assert_eq(slo_hist(s, SLO_TTFT)->n, 2 * 1440u + 1);
    slo_free(s);
}
