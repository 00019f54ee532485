/* Recorded traffic: against a reference that lists every request of every copy and sorts, and the
 * rates, shapes and memory of long streams. */
#include "models/serving/traffic.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Rows with gaps below max_gap (0 among them), told apart by their prompt. */
static struct request_trace make_trace(size_t n, simtime_ns max_gap, uint64_t seed)
{
    struct request_trace t = {.rows = calloc(n, sizeof *t.rows), .n = n};
    struct rng r;
    rng_init(&r, seed, 0, "test", "trace");
    simtime_ns at = 0;
    for (size_t i = 0; i < n; i++) {
        t.rows[i] = (struct request){at, i + 1, 1 + rng_below(&r, 500)};
        t.span_ns = at;
        at += rng_below(&r, max_gap);
    }
    return t;
}

/* Exponential gaps with this mean; mean_gap_s 0.1 and 36,000 rows make an hour. */
static struct request_trace poisson_trace(size_t n, double mean_gap_s)
{
    struct request_trace t = {.rows = calloc(n, sizeof *t.rows), .n = n};
    struct rng r;
    rng_init(&r, 5, 0, "test", "trace");
    simtime_ns at = 0;
    for (size_t i = 0; i < n; i++) {
        t.rows[i] = (struct request){at, i + 1, 1};
        t.span_ns = at;
        at += sim_time_from_s(mean_gap_s * rng_exponential(&r));
    }
    return t;
}

static struct traffic_plan plan_of(const struct request_trace *t, double scale, bool loop)
{
    return (struct traffic_plan){
        .kind = ARRIVAL_TRACE, .trace = t, .scale = scale, .speed = 1, .loop = loop};
}

static struct request_source open_source(const struct traffic_plan *p, uint32_t replication,
                                         const char *entity, simtime_ns horizon)
{
    struct request_source s;
    cr_assert_eq(traffic_source_new(p, 42, replication, entity, horizon, &s), HR_OK);
    return s;
}

/* ---- the reference ---- */

struct entry {
    simtime_ns at;
    uint32_t copy, lap, row;
};

static int by_arrival(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->copy != y->copy)
        return x->copy < y->copy ? -1 : 1;
    if (x->lap != y->lap)
        return x->lap < y->lap ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static simtime_ns played(const struct traffic_plan *p, simtime_ns t)
{
    return (simtime_ns)floor((double)t / p->speed + 0.5);
}

/* Every request of copies copies in [0, end), in order. */
static size_t list_all(const struct traffic_plan *p, uint32_t copies, uint32_t replication,
                       simtime_ns period, simtime_ns end, struct entry *out)
{
    struct rng offsets, turn;
    rng_init(&offsets, 42, replication, "chat", "copies");
    rng_init(&turn, 42, replication, "chat", "offset");
    simtime_ns turned = replication ? rng_below(&turn, period) : 0;
    size_t n = 0;
    for (uint32_t c = 0; c < copies; c++) {
        simtime_ns offset = ((c ? rng_below(&offsets, period) : 0) + turned) % period;
        for (uint32_t lap = 0; lap * period < end + period; lap++)
            for (uint32_t row = 0; row < p->trace->n; row++) {
                simtime_ns at = lap * period + played(p, p->trace->rows[row].arrival_ns);
                if (at >= offset && at - offset < end)
                    out[n++] = (struct entry){at - offset, c, lap, row};
            }
    }
    qsort(out, n, sizeof *out, by_arrival);
    return n;
}

/* Thins the list by its own streams, drawing where g is below max; returns what is left. */
static size_t thin(const struct traffic_plan *p, uint32_t replication, uint32_t partial_copy,
                   double partial, double max, struct entry *list, size_t n)
{
    struct rng part, envelope;
    rng_init(&part, 42, replication, "chat", "partial");
    rng_init(&envelope, 42, replication, "chat", "thin");
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i].copy == partial_copy && rng_uniform(&part) >= partial)
            continue;
        double g = traffic_factor(p, list[i].at);
        if (g < max && rng_uniform(&envelope) * max >= g)
            continue;
        list[left++] = list[i];
    }
    return left;
}

static void compare(const struct traffic_plan *p, simtime_ns period, simtime_ns horizon)
{
    double max = traffic_factor_max(p, horizon), copies = p->scale * max;
    uint32_t whole = floor(copies);
    double partial = copies - whole;
    simtime_ns end = p->loop || horizon < period ? horizon : period;
    struct entry *list = malloc((whole + 1) * (end / period + 2) * p->trace->n * sizeof *list);
    for (uint32_t replication = 0; replication < 3; replication++) {
        uint32_t n_copies = whole + (partial > 0);
        size_t n = list_all(p, n_copies, replication, period, end, list);
        n = thin(p, replication, partial > 0 ? whole : UINT32_MAX, partial, max, list, n);
        struct request_source s = open_source(p, replication, "chat", horizon);
        struct request got;
        for (size_t i = 0; i < n; i++) {
            const struct request *row = &p->trace->rows[list[i].row];
            cr_assert(s.next(s.self, &got), "request %zu of %zu is missing", i, n);
            cr_assert_eq(got.arrival_ns, list[i].at, "request %zu", i);
            cr_assert_eq(got.prompt_tokens, row->prompt_tokens, "request %zu", i);
            cr_assert_eq(got.output_tokens, row->output_tokens, "request %zu", i);
        }
        cr_assert(!s.next(s.self, &got));
        cr_assert(!s.next(s.self, &got), "an end is for good");
        s.free(s.self);
    }
    free(list);
}

/* 50 rows in a few hundred nanoseconds, so copies often tie; 1 to 130 copies, whole and not. */
Test(traffic_trace, agrees_with_a_sorted_list)
{
    struct request_trace t = make_trace(50, 12, 1);
    simtime_ns period = t.span_ns + (t.span_ns * 2 + 49) / 98;
    const double scales[] = {0, 0.25, 1, 1.5, 2, 3, 7.75, 16, 17, 64, 129.5};
    for (size_t i = 0; i < COUNT(scales); i++) {
        struct traffic_plan p = plan_of(&t, scales[i], true);
        compare(&p, period, 5 * period + 7);
        compare(&p, period, period / 3);
        p.loop = false;
        compare(&p, period, 5 * period);
        compare(&p, period, period / 2);
        compare(&p, period, period + 2);
    }
    free(t.rows);
}

/* Thousands of rows at one instant, thousands within a microsecond, and an hour of nothing: more in
 * a moment than a source keeps at hand. */
Test(traffic_trace, agrees_with_a_sorted_list_of_crowds)
{
    enum { N = 12000 };
    struct request_trace t = {.rows = calloc(N, sizeof *t.rows), .n = N};
    for (uint32_t i = 0; i < N; i++) {
        simtime_ns at = i < 6000 ? 0 : i < 11000 ? SIM_S + i / 10 : SIM_HOUR + i * SIM_MS;
        t.rows[i] = (struct request){at, i + 1, 1};
        t.span_ns = at;
    }
    simtime_ns period = t.span_ns + (t.span_ns * 2 + N - 1) / (2 * (N - 1));
    const double scales[] = {1, 2, 4.5};
    for (size_t i = 0; i < COUNT(scales); i++) {
        struct traffic_plan p = plan_of(&t, scales[i], true);
        compare(&p, period, 2 * period);
    }
    free(t.rows);
}

Test(traffic_trace, agrees_with_a_sorted_list_at_other_speeds)
{
    struct request_trace t = make_trace(50, 1000, 2);
    const double speeds[] = {0.5, 3, 1.7};
    for (size_t i = 0; i < COUNT(speeds); i++) {
        struct traffic_plan p = plan_of(&t, 5.5, true);
        p.speed = speeds[i];
        simtime_ns period = played(&p, t.span_ns + (t.span_ns * 2 + 49) / 98);
        compare(&p, period, 4 * period);
        p.loop = false;
        compare(&p, period, 4 * period);
    }
    free(t.rows);
}

/* Steps of 1, 0.5, 0 and 1.25, and lines between the same points. */
Test(traffic_trace, agrees_with_a_thinned_list)
{
    struct request_trace t = make_trace(200, 1000, 3);
    simtime_ns period = t.span_ns + (t.span_ns * 2 + 199) / 398;
    const struct envelope_point points[] = {
        {0, 1}, {period / 2, 0.5}, {period, 0}, {2 * period, 1.25}};
    struct traffic_plan p = plan_of(&t, 6.4, true);
    p.envelope = (struct envelope){
        .kind = ENVELOPE_TABLE_STEPS, .points = points, .n_points = 4, .repeat_ns = 3 * period};
    compare(&p, period, 7 * period);
    p.envelope.kind = ENVELOPE_TABLE;
    compare(&p, period, 7 * period);
    const struct traffic_event flash = {"flash",    period / 3, period, period,
                                        period / 2, 1.8,        0,      false};
    p.events = &flash;
    p.n_events = 1;
    compare(&p, period, 7 * period);
    free(t.rows);
}

/* Hours, in which the factor moves little from one request to the next. */
Test(traffic_trace, agrees_with_a_thinned_list_of_a_morning)
{
    struct request_trace t = poisson_trace(1800, 2);
    simtime_ns period = t.span_ns + (t.span_ns * 2 + 1799) / 3598;
    const struct traffic_event flash = {"flash",  10 * SIM_HOUR, SIM_HOUR, SIM_MIN,
                                        SIM_HOUR, 1.3,           0,        false};
    struct traffic_plan p = plan_of(&t, 5.5, true);
    p.envelope = (struct envelope){.kind = ENVELOPE_DIURNAL, .peak_to_mean = 1.4, .peak_hour = 14};
    p.events = &flash;
    p.n_events = 1;
    compare(&p, period, 13 * SIM_HOUR);
    free(t.rows);
}

/* ---- closed forms ---- */

/* Row i of lap k comes at its time + k (span + mean gap): rows at 0, 10, 40 s repeat after 60 s. */
Test(traffic_trace, loops_after_span_and_mean_gap)
{
    struct request rows[] = {{0, 7, 1}, {10 * SIM_S, 8, 2}, {40 * SIM_S, 9, 3}};
    struct request_trace t = {rows, 3, 40 * SIM_S};
    struct traffic_plan p = plan_of(&t, 1, true);
    struct request_source s = open_source(&p, 0, "chat", SIM_HOUR);
    struct request got;
    size_t n = 0;
    for (; s.next(s.self, &got); n++) {
        cr_assert_eq(got.arrival_ns, n / 3 * 60 * SIM_S + rows[n % 3].arrival_ns);
        cr_assert_eq(got.prompt_tokens, rows[n % 3].prompt_tokens);
    }
    cr_assert_eq(n, 180u);
    s.free(s.self);
    cr_assert_float_eq(traffic_base_rate(&p), 0.05, 1e-12);
    p.scale = 3.5;
    p.speed = 4;
    cr_assert_float_eq(traffic_base_rate(&p), 0.7, 1e-12);
    double prompt, output;
    traffic_mean_tokens(&p, &prompt, &output);
    cr_assert_float_eq(prompt, 8, 1e-12);
    cr_assert_float_eq(output, 2, 1e-12);
}

/* Unlooped, each of 5 copies plays each row once within a period, in any replication. */
Test(traffic_trace, plays_each_row_once_without_loop)
{
    struct request_trace t = make_trace(1000, SIM_S, 4);
    struct traffic_plan p = plan_of(&t, 5, false);
    for (uint32_t replication = 0; replication < 4; replication++) {
        struct request_source s = open_source(&p, replication, "chat", SIM_DAY);
        int played_rows[1000] = {0};
        struct request got = {0};
        simtime_ns last = 0;
        while (s.next(s.self, &got)) {
            played_rows[got.prompt_tokens - 1]++;
            last = got.arrival_ns;
        }
        cr_assert_leq(last, t.span_ns + t.span_ns / 999 + 1);
        for (int i = 0; i < 1000; i++)
            cr_assert_eq(played_rows[i], 5);
        s.free(s.self);
    }
    free(t.rows);
}

Test(traffic_trace, one_row)
{
    struct request row = {0, 3, 4};
    struct request_trace t = {&row, 1, 0};
    struct traffic_plan p = plan_of(&t, 3, false);
    struct request_source s = open_source(&p, 1, "chat", SIM_DAY);
    struct request got;
    for (int i = 0; i < 3; i++)
        cr_assert(s.next(s.self, &got) && got.arrival_ns == 0 && got.output_tokens == 4);
    cr_assert(!s.next(s.self, &got));
    s.free(s.self);
    cr_assert_eq(traffic_base_rate(&p), 0);
}

Test(traffic_trace, refuses_what_has_no_meaning)
{
    struct request rows[] = {{0, 1, 1}, {0, 1, 1}, {SIM_S, 1, 1}};
    struct request_trace one = {rows, 1, 0}, instant = {rows, 2, 0}, none = {rows, 0, 0},
                         fine = {rows, 3, SIM_S};
    struct traffic_plan bad[] = {plan_of(&one, 1, true),    plan_of(&instant, 1, true),
                                 plan_of(&none, 1, false),  plan_of(NULL, 1, false),
                                 plan_of(&fine, NAN, true), plan_of(&fine, -1, true),
                                 plan_of(&fine, 1, true),   plan_of(&fine, 1, true)};
    bad[6].speed = 0;
    bad[7].speed = INFINITY;
    struct request_source s;
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_assert_eq(traffic_source_new(&bad[i], 1, 0, "x", SIM_DAY, &s), HR_INPUT, "plan %zu", i);
    struct traffic_plan p = plan_of(&fine, 1e12, true);
    cr_assert_eq(traffic_source_new(&p, 1, 0, "x", SIM_DAY, &s), HR_LIMIT);
    p = plan_of(&fine, 1, true);
    p.speed = 1e-15;
    cr_assert_eq(traffic_source_new(&p, 1, 0, "x", SIM_DAY, &s), HR_LIMIT);
}

/* ---- long streams ---- */

/* Requests per bin of [0, horizon). */
static uint64_t count_bins(struct request_source s, simtime_ns bin, uint64_t *bins)
{
    struct request got;
    simtime_ns last = 0;
    uint64_t n = 0;
    for (; s.next(s.self, &got); n++) {
        cr_assert_geq(got.arrival_ns, last);
        last = got.arrival_ns;
        if (bins)
            bins[last / bin]++;
    }
    s.free(s.self);
    return n;
}

/* Thinning is binomial, so its standard deviation is at most the square root of the count. */
Test(traffic_trace, mean_rate_is_scale_times_that_of_the_trace)
{
    struct request_trace t = poisson_trace(3600, 1);
    const double scales[] = {0.3, 1, 4.6, 40};
    for (size_t i = 0; i < COUNT(scales); i++)
        for (int curve = 0; curve < 2; curve++) {
            struct traffic_plan p = plan_of(&t, scales[i], true);
            p.envelope = (struct envelope){.kind = curve ? ENVELOPE_DIURNAL : ENVELOPE_CONSTANT,
                                           .peak_to_mean = 1.4,
                                           .peak_hour = 14};
            simtime_ns horizon = 5 * SIM_DAY;
            double expected = traffic_base_rate(&p) * sim_time_to_s(horizon);
            double n = count_bins(open_source(&p, 0, "chat", horizon), 1, NULL);
            cr_assert_float_eq(n, expected, 3.3 * sqrt(expected), "scale %g: %g, expected %g",
                               scales[i], n, expected);
        }
    free(t.rows);
}

/* Chi-square by hour of day, 24 bins: the 0.1 % point is 49.7. */
Test(traffic_trace, follows_the_hours_of_the_envelope)
{
    struct request_trace t = poisson_trace(3600, 1);
    struct traffic_plan p = plan_of(&t, 20, true);
    p.envelope = (struct envelope){.kind = ENVELOPE_DIURNAL, .peak_to_mean = 1.6, .peak_hour = 14};
    p.start_of_day_ns = 3 * SIM_HOUR;
    uint64_t bins[24] = {0};
    count_bins(open_source(&p, 2, "chat", SIM_DAY), SIM_HOUR, bins);
    double chi2 = 0;
    for (int h = 0; h < 24; h++) {
        /* Mean of the cosine over [h, h + 1], in turns. */
        double from = (h + 3 - 14) / 24.0, to = from + 1 / 24.0, turn = 2 * acos(-1.0);
        double mean = 1 + 0.6 * (sin(turn * to) - sin(turn * from)) / (turn / 24);
        double expected = traffic_base_rate(&p) * 3600 * mean;
        chi2 += (bins[h] - expected) * (bins[h] - expected) / expected;
    }
    cr_assert_lt(chi2, 49.7);
    free(t.rows);
}

/* Ten-second bins at the start, in the rise, at the height, in the fall of an event. */
Test(traffic_trace, events_have_their_shape)
{
    struct request_trace t = poisson_trace(36000, 0.1);
    const struct traffic_event e = {"campaign",  600 * SIM_S, 100 * SIM_S, 600 * SIM_S,
                                    200 * SIM_S, 2,           0,           false};
    struct traffic_plan p = plan_of(&t, 50, true);
    p.events = &e;
    p.n_events = 1;
    uint64_t bins[180] = {0};
    count_bins(open_source(&p, 0, "chat", 1800 * SIM_S), 10 * SIM_S, bins);
    const struct {
        int bin;
        double factor;
    } cases[] = {{59, 1},  {60, 1.05},   {65, 1.55},   {69, 1.95},   {70, 2},
                 {129, 2}, {130, 1.975}, {140, 1.475}, {149, 1.025}, {150, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double expected = 10 * traffic_base_rate(&p) * cases[i].factor;
        cr_assert_float_eq(bins[cases[i].bin], expected, 4 * sqrt(expected), "bin %d: %lu, not %g",
                           cases[i].bin, (unsigned long)bins[cases[i].bin], expected);
    }
    free(t.rows);
}

static double gap_cv(struct request_source s)
{
    struct request got;
    double n = 0, sum = 0, squares = 0;
    simtime_ns last = 0;
    while (s.next(s.self, &got)) {
        double gap = got.arrival_ns - last;
        last = got.arrival_ns;
        n++;
        sum += gap;
        squares += gap * gap;
    }
    s.free(s.self);
    double mean = sum / n;
    return sqrt(squares / n - mean * mean) / mean;
}

/* One copy keeps the gaps of the trace; many copies from uniform offsets come near Poisson, whether
 * the trace is even or in bursts of ten. */
Test(traffic_trace, superposing_leads_towards_poisson)
{
    struct request_trace even = make_trace(1000, 1, 6), bursts = make_trace(1000, 1, 6);
    for (size_t i = 0; i < 1000; i++) {
        even.rows[i].arrival_ns = i * SIM_S;
        bursts.rows[i].arrival_ns = i / 10 * 10 * SIM_S;
    }
    even.span_ns = 999 * SIM_S;
    bursts.span_ns = 990 * SIM_S;
    struct traffic_plan p = plan_of(&even, 1, true);
    cr_assert_float_eq(gap_cv(open_source(&p, 0, "chat", SIM_HOUR)), 0, 0.02);
    p.scale = 200;
    cr_assert_float_eq(gap_cv(open_source(&p, 0, "chat", SIM_HOUR)), 1, 0.1);
    p = plan_of(&bursts, 1, true);
    cr_assert_float_eq(gap_cv(open_source(&p, 0, "chat", SIM_HOUR)), 3, 0.05);
    p.scale = 200; /* still bursts: nine gaps in ten are 0 */
    cr_assert_gt(gap_cv(open_source(&p, 0, "chat", SIM_HOUR)), 3);
    free(even.rows);
    free(bursts.rows);
}

static uint64_t fingerprint(const struct traffic_plan *p, uint64_t seed, uint32_t replication,
                            const char *entity)
{
    struct request_source s;
    cr_assert_eq(traffic_source_new(p, seed, replication, entity, SIM_HOUR, &s), HR_OK);
    struct request got;
    uint64_t hash = 14695981039346656037u;
    while (s.next(s.self, &got)) {
        hash = (hash ^ got.arrival_ns) * 1099511628211u;
        hash = (hash ^ got.prompt_tokens) * 1099511628211u;
    }
    s.free(s.self);
    return hash;
}

/* The stream depends on seed, replication and name; not on another source read beside it. */
Test(traffic_trace, streams_are_named)
{
    struct request_trace t = poisson_trace(3600, 1);
    struct traffic_plan p = plan_of(&t, 3.5, true);
    uint64_t a = fingerprint(&p, 1, 0, "chat");
    struct request_source beside = open_source(&p, 0, "code", SIM_HOUR);
    struct request got;
    beside.next(beside.self, &got);
    cr_assert_eq(fingerprint(&p, 1, 0, "chat"), a);
    beside.free(beside.self);
    cr_assert_neq(fingerprint(&p, 2, 0, "chat"), a);
    cr_assert_neq(fingerprint(&p, 1, 1, "chat"), a);
    cr_assert_neq(fingerprint(&p, 1, 0, "code"), a);
    free(t.rows);
}

/* A longer run holds no more: the peak of the process does not move. */
Test(traffic_trace, memory_does_not_grow_with_the_run)
{
    struct request_trace t = poisson_trace(3600, 1);
    struct traffic_plan p = plan_of(&t, 500, true);
    p.envelope = (struct envelope){.kind = ENVELOPE_DIURNAL, .peak_to_mean = 1.4, .peak_hour = 14};
    const char *env = getenv("HEADROOM_LONG");
    uint64_t n_max = env ? 200000000 : 10000000;
    struct request_source s = open_source(&p, 0, "chat", 3650 * SIM_DAY);
    struct request got;
    struct rusage before, after;
    for (uint64_t n = 0; n < n_max; n++) {
        if (n == 100000)
            getrusage(RUSAGE_SELF, &before);
        if (!s.next(s.self, &got))
            cr_assert_fail("ended early");
    }
    getrusage(RUSAGE_SELF, &after);
    cr_assert_leq(after.ru_maxrss - before.ru_maxrss, 256, "grew by %ld KiB",
                  after.ru_maxrss - before.ru_maxrss);
    s.free(s.self);
    free(t.rows);
}
