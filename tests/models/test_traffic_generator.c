/* Drawn traffic: moments of the gaps, exact spacings, the envelope's shape, and lengths. */
#include "models/serving/traffic.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TURN     6.283185307179586

static struct traffic_plan plan_of(enum arrival_kind kind, double rate)
{
    return (struct traffic_plan){.kind = kind,
                                 .rate_per_s = rate,
                                 .cv = 1,
                                 .prompt_mean = 1000,
                                 .prompt_cv = 1,
                                 .output_mean = 200,
                                 .output_cv = 0.8};
}

static struct request_source open_source(const struct traffic_plan *p, uint32_t replication,
                                         simtime_ns horizon)
{
    struct request_source s;
    cr_assert_eq(traffic_source_new(p, 9, replication, "chat", horizon, &s), HR_OK);
    return s;
}

/* All arrivals of [0, horizon) in seconds; sorted, and none after the end. */
static size_t arrivals(const struct traffic_plan *p, uint32_t replication, simtime_ns horizon,
                       double **out)
{
    struct request_source s = open_source(p, replication, horizon);
    size_t n = 0, capacity = 1024;
    double *at = malloc(capacity * sizeof *at);
    struct request got;
    simtime_ns last = 0;
    while (s.next(s.self, &got)) {
        cr_assert(got.arrival_ns >= last && got.arrival_ns < horizon);
        last = got.arrival_ns;
        if (n == capacity)
            at = realloc(at, (capacity *= 2) * sizeof *at);
        at[n++] = last * 1e-9;
    }
    cr_assert(!s.next(s.self, &got));
    s.free(s.self);
    *out = at;
    return n;
}

struct moments {
    double n, mean, cv;
};

/* Of the differences of n values. */
static struct moments gap_moments(const double *at, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 1; i < n; i++) {
        double gap = at[i] - at[i - 1];
        sum += gap;
        squares += gap * gap;
    }
    double mean = sum / (n - 1);
    return (struct moments){n - 1, mean, sqrt(squares / (n - 1) - mean * mean) / mean};
}

/* ---- gaps at a constant rate ---- */

Test(traffic_generator, poisson_gaps)
{
    struct traffic_plan p = plan_of(ARRIVAL_POISSON, 20);
    double *at;
    size_t n = arrivals(&p, 0, 20000 * SIM_S, &at);
    cr_assert_float_eq((double)n, 400000, 3.3 * sqrt(400000));
    struct moments m = gap_moments(at, n);
    cr_assert_float_eq(m.mean, 0.05, 3.3 * 0.05 / sqrt(m.n));
    cr_assert_float_eq(m.cv, 1, 3.3 * sqrt(2 / m.n)); /* sd of an exponential's cv is 1 / sqrt n */
    double above = 0;
    for (size_t i = 1; i < n; i++)
        above += at[i] - at[i - 1] > 0.1;
    double tail = exp(-2);
    cr_assert_float_eq(above / m.n, tail, 3.3 * sqrt(tail * (1 - tail) / m.n));
    free(at);
}

/* A Gamma's cv estimate has a standard deviation of about cv sqrt((1 + 2 cv^2) / 2 n). */
Test(traffic_generator, gamma_gaps)
{
    const double cvs[] = {0.1, 0.5, 1, 3};
    for (size_t i = 0; i < COUNT(cvs); i++) {
        double cv = cvs[i], *at;
        struct traffic_plan p = plan_of(ARRIVAL_GAMMA, 20);
        p.cv = cv;
        size_t n = arrivals(&p, 0, 20000 * SIM_S, &at);
        struct moments m = gap_moments(at, n);
        cr_assert_float_eq(m.mean, 0.05, 3.3 * 0.05 * cv / sqrt(m.n), "cv %g", cv);
        double se = cv * sqrt((1 + 2 * cv * cv) / (2 * m.n)) * (cv > 1 ? 1.5 : 1);
        cr_assert_float_eq(m.cv, cv, 3.3 * se, "cv %g, got %g", cv, m.cv);
        free(at);
    }
}

/* In equilibrium the mean count of [0, 2 gaps) is 2 from the start; started by a whole gap it would
 * be 0.8 fewer at cv 0.5 and 1.3 more at cv 2. */
Test(traffic_generator, gamma_starts_in_equilibrium)
{
    const double cvs[] = {0.5, 2};
    for (size_t i = 0; i < COUNT(cvs); i++) {
        struct traffic_plan p = plan_of(ARRIVAL_GAMMA, 1);
        p.cv = cvs[i];
        double sum = 0, squares = 0;
        const int runs = 4000;
        for (int r = 0; r < runs; r++) {
            double *at, n = arrivals(&p, r, 2 * SIM_S, &at);
            sum += n;
            squares += n * n;
            free(at);
        }
        double mean = sum / runs, sd = sqrt(squares / runs - mean * mean);
        cr_assert_float_eq(mean, 2, 3.3 * sd / sqrt(runs), "cv %g: %g", cvs[i], mean);
    }
}

/* Arrival k at k / rate, rounded; a replication delays all by the same part of a gap. */
Test(traffic_generator, even_spacing_is_exact)
{
    const double rates[] = {4, 3, 0.01, 12345};
    for (size_t i = 0; i < COUNT(rates); i++) {
        struct traffic_plan p = plan_of(ARRIVAL_EVEN, rates[i]);
        struct request got;
        for (uint32_t replication = 0; replication < 3; replication++) {
            struct request_source s =
                open_source(&p, replication, sim_time_from_s(20000 / rates[i]));
            cr_assert(s.next(s.self, &got));
            simtime_ns first = got.arrival_ns;
            cr_assert(replication ? first > 0 && first < 1e9 / rates[i] : first == 0);
            double slack = replication ? 1 : 0.5;
            for (uint64_t k = 1; s.next(s.self, &got); k++)
                cr_assert_float_eq((double)(got.arrival_ns - first), k * (1e9 / rates[i]),
                                   slack + 1e-6 + k * 1e-6);
            s.free(s.self);
        }
    }
}

/* ---- under an envelope ---- */

/* From half to twice the rate over an hour: expected arrivals by t are a quadratic. */
static const struct envelope_point ramp[] = {{0, 0.5}, {SIM_HOUR, 2}};

static double ramp_due(double rate, double t)
{
    return rate * (0.5 * t + 1.5 * t * t / 7200);
}

Test(traffic_generator, even_arrivals_follow_the_integrated_rate)
{
    struct traffic_plan p = plan_of(ARRIVAL_EVEN, 10);
    p.envelope = (struct envelope){.kind = ENVELOPE_TABLE, .points = ramp, .n_points = 2};
    double *at;
    size_t n = arrivals(&p, 0, SIM_HOUR, &at);
    cr_assert_eq(n, 45000u);
    for (size_t k = 0; k < n; k++)
        cr_assert_float_eq(ramp_due(10, at[k]), k, 1e-6);
    free(at);
    p.envelope = (struct envelope){.kind = ENVELOPE_DIURNAL, .peak_to_mean = 1.8, .peak_hour = 14};
    n = arrivals(&p, 0, 3 * SIM_DAY, &at);
    for (size_t k = 0; k < n; k++) {
        double turns = at[k] / 86400, start = sin(TURN * (-14 / 24.0));
        double due = 10 * (at[k] + 0.8 * 86400 / TURN * (sin(TURN * (turns - 14 / 24.0)) - start));
        cr_assert_float_eq(due, k, 0.4); /* straight pieces of a minute: 35 ms at most */
    }
    free(at);
}

/* A rate of 0 for a while, then a step: nothing falls in the pause. */
Test(traffic_generator, pauses_hold_the_renewal_back)
{
    const struct envelope_point steps[] = {{0, 1}, {10 * SIM_S, 0}, {30 * SIM_S, 2}};
    struct traffic_plan p = plan_of(ARRIVAL_EVEN, 4);
    p.envelope = (struct envelope){
        .kind = ENVELOPE_TABLE_STEPS, .points = steps, .n_points = 3, .repeat_ns = 40 * SIM_S};
    double *at;
    size_t n = arrivals(&p, 0, 80 * SIM_S, &at);
    cr_assert_eq(n, 240u);
    for (size_t k = 0; k < n; k++) {
        size_t in_lap = k % 120;
        double lap = k / 120 * 40.0;
        double expected = in_lap < 40 ? in_lap / 4.0 : 30 + (in_lap - 40) / 8.0;
        cr_assert_float_eq(at[k], lap + expected, 1e-8, "arrival %zu: %.9f", k, at[k]);
    }
    free(at);
}

/* Seen on the integrated rate the gaps keep mean 1 and their cv; thinning would give about 0.65. */
Test(traffic_generator, gamma_keeps_its_cv_under_an_envelope)
{
    struct traffic_plan p = plan_of(ARRIVAL_GAMMA, 100);
    p.cv = 0.3;
    p.envelope = (struct envelope){.kind = ENVELOPE_TABLE, .points = ramp, .n_points = 2};
    double *at;
    size_t n = arrivals(&p, 0, SIM_HOUR, &at);
    for (size_t k = 0; k < n; k++)
        at[k] = ramp_due(100, at[k]);
    struct moments m = gap_moments(at, n);
    cr_assert_float_eq(m.mean, 1, 3.3 * 0.3 / sqrt(m.n));
    cr_assert_float_eq(m.cv, 0.3, 3.3 * 0.3 * sqrt(1.18 / (2 * m.n)));
    free(at);
}

/* Chi-square by hour, 24 bins: the 0.1 % point is 49.7. Gamma of cv 1 is Poisson too. */
Test(traffic_generator, follows_the_hours_of_the_envelope)
{
    const enum arrival_kind kinds[] = {ARRIVAL_POISSON, ARRIVAL_GAMMA};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct traffic_plan p = plan_of(kinds[i], 5);
        p.envelope =
            (struct envelope){.kind = ENVELOPE_DIURNAL, .peak_to_mean = 1.6, .peak_hour = 14};
        double *at, chi2 = 0;
        size_t n = arrivals(&p, 0, SIM_DAY, &at);
        double bins[24] = {0};
        for (size_t k = 0; k < n; k++)
            bins[(int)(at[k] / 3600)]++;
        for (int h = 0; h < 24; h++) {
            double from = (h - 14) / 24.0, to = from + 1 / 24.0;
            double mean = 1 + 0.6 * (sin(TURN * to) - sin(TURN * from)) / (TURN / 24);
            double expected = 5 * 3600 * mean;
            chi2 += (bins[h] - expected) * (bins[h] - expected) / expected;
        }
        cr_assert_lt(chi2, 49.7, "kind %zu", i);
        free(at);
    }
}

Test(traffic_generator, mean_rate_in_every_replication)
{
    const enum arrival_kind kinds[] = {ARRIVAL_POISSON, ARRIVAL_GAMMA, ARRIVAL_EVEN};
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (uint32_t replication = 0; replication < 4; replication++) {
            struct traffic_plan p = plan_of(kinds[i], 3);
            p.cv = 2;
            double *at, n = arrivals(&p, replication, SIM_DAY, &at), expected = 3 * 86400;
            double cv = kinds[i] == ARRIVAL_POISSON ? 1 : kinds[i] == ARRIVAL_GAMMA ? 2 : 0;
            cr_assert_float_eq(n, expected, 3.3 * cv * sqrt(expected) + 1);
            free(at);
        }
}

/* ---- lengths ---- */

Test(traffic_generator, lognormal_lengths_have_their_mean_also_when_cut)
{
    const uint32_t cuts[] = {0, 4000, 900};
    for (size_t i = 0; i < COUNT(cuts); i++) {
        struct traffic_plan p = plan_of(ARRIVAL_EVEN, 100);
        p.max_prompt_tokens = cuts[i];
        p.max_output_tokens = cuts[i] / 10;
        double prompt, output, prompts = 0, outputs = 0, squares = 0, n = 0;
        traffic_mean_tokens(&p, &prompt, &output);
        struct request_source s = open_source(&p, 0, 3000 * SIM_S);
        for (struct request got; s.next(s.self, &got); n++) {
            cr_assert(got.prompt_tokens >= 1 && got.output_tokens >= 1);
            cr_assert(cuts[i] == 0 || got.prompt_tokens <= cuts[i]);
            prompts += got.prompt_tokens;
            outputs += got.output_tokens;
            squares += (double)got.prompt_tokens * got.prompt_tokens;
        }
        s.free(s.self);
        double sd = sqrt(squares / n - prompts / n * (prompts / n));
        cr_assert_float_eq(prompts / n, prompt, 3.3 * sd / sqrt(n));
        cr_assert_float_eq(outputs / n, output, 3.3 * 0.8 * 200 / sqrt(n) + 0.01);
        if (cuts[i] == 0) {
            cr_assert_float_eq(prompt, 1000, 1e-9);
            cr_assert_float_eq(sd / (prompts / n), 1, 0.03);
        }
    }
}

Test(traffic_generator, fixed_lengths)
{
    struct traffic_plan p = plan_of(ARRIVAL_POISSON, 100);
    p.prompt_cv = p.output_cv = 0;
    p.output_mean = 150.5;
    p.max_prompt_tokens = 700;
    struct request_source s = open_source(&p, 0, SIM_S);
    for (struct request got; s.next(s.self, &got);)
        cr_assert(got.prompt_tokens == 700 && got.output_tokens == 151);
    s.free(s.self);
    double prompt, output;
    traffic_mean_tokens(&p, &prompt, &output);
    cr_assert_eq(prompt, 700);
}

/* Rows are drawn whole and uniformly: chi-square over 10 rows, 9 degrees, 0.1 % point 27.9. */
Test(traffic_generator, lengths_from_the_rows_of_a_trace)
{
    struct request rows[10];
    for (uint32_t i = 0; i < 10; i++)
        rows[i] = (struct request){0, 100 * (i + 1), i + 1};
    struct request_trace t = {rows, 10, 0};
    struct traffic_plan p = plan_of(ARRIVAL_POISSON, 100);
    p.trace = &t;
    p.max_prompt_tokens = 800;
    double n = 0, bins[10] = {0}, chi2 = 0;
    struct request_source s = open_source(&p, 0, 300 * SIM_S);
    for (struct request got; s.next(s.self, &got); n++) {
        uint32_t whole = 100 * got.output_tokens;
        cr_assert_eq(got.prompt_tokens, whole < 800 ? whole : 800);
        bins[got.output_tokens - 1]++;
    }
    s.free(s.self);
    for (int i = 0; i < 10; i++)
        chi2 += (bins[i] - n / 10) * (bins[i] - n / 10) / (n / 10);
    cr_assert_lt(chi2, 27.9);
    double prompt, output;
    traffic_mean_tokens(&p, &prompt, &output);
    cr_assert_float_eq(prompt, (3600 + 3 * 800) / 10.0 - 80, 1e-9);
    cr_assert_float_eq(output, 5.5, 1e-9);
}

/* ---- streams ---- */

/* Lengths and gaps have streams of their own: another rate or an envelope leaves the lengths. */
Test(traffic_generator, lengths_do_not_depend_on_arrivals)
{
    struct traffic_plan a = plan_of(ARRIVAL_POISSON, 5), b = plan_of(ARRIVAL_GAMMA, 50);
    b.envelope = (struct envelope){.kind = ENVELOPE_TABLE, .points = ramp, .n_points = 2};
    struct request_source x = open_source(&a, 1, SIM_DAY), y = open_source(&b, 1, SIM_DAY);
    for (int i = 0; i < 1000; i++) {
        struct request p, q;
        cr_assert(x.next(x.self, &p) && y.next(y.self, &q));
        cr_assert(p.prompt_tokens == q.prompt_tokens && p.output_tokens == q.output_tokens);
    }
    x.free(x.self);
    y.free(y.self);
}

Test(traffic_generator, streams_are_named)
{
    const enum arrival_kind kinds[] = {ARRIVAL_POISSON, ARRIVAL_GAMMA};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct traffic_plan p = plan_of(kinds[i], 5);
        struct request_source s[5];
        const struct {
            uint64_t seed;
            uint32_t replication;
            const char *entity;
        } names[5] = {{1, 0, "a"}, {1, 0, "a"}, {2, 0, "a"}, {1, 1, "a"}, {1, 0, "b"}};
        simtime_ns first[5];
        for (int k = 0; k < 5; k++) {
            struct request got;
            cr_assert_eq(traffic_source_new(&p, names[k].seed, names[k].replication,
                                            names[k].entity, SIM_DAY, &s[k]),
                         HR_OK);
            cr_assert(s[k].next(s[k].self, &got));
            first[k] = got.arrival_ns;
            s[k].free(s[k].self);
        }
        cr_assert_eq(first[0], first[1]);
        for (int k = 2; k < 5; k++)
            cr_assert_neq(first[0], first[k]);
    }
}

Test(traffic_generator, no_rate_no_requests)
{
    const enum arrival_kind kinds[] = {ARRIVAL_POISSON, ARRIVAL_GAMMA, ARRIVAL_EVEN};
    const struct envelope_point zero = {0, 0};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct traffic_plan p = plan_of(kinds[i], 0);
        double *at;
        cr_assert_eq(arrivals(&p, 1, SIM_DAY, &at), 0u);
        free(at);
        p.rate_per_s = 5;
        p.envelope = (struct envelope){.kind = ENVELOPE_TABLE, .points = &zero, .n_points = 1};
        cr_assert_eq(arrivals(&p, 1, SIM_DAY, &at), 0u);
        free(at);
    }
}

Test(traffic_generator, refuses_what_has_no_meaning)
{
    struct traffic_plan bad[6];
    for (size_t i = 0; i < COUNT(bad); i++)
        bad[i] = plan_of(ARRIVAL_GAMMA, 1);
    bad[0].rate_per_s = -1;
    bad[1].rate_per_s = NAN;
    bad[2].cv = 0;
    bad[3].prompt_mean = 0;
    bad[4].output_cv = INFINITY;
    struct request_trace none = {NULL, 0, 0};
    bad[5].trace = &none;
    struct request_source s;
    for (size_t i = 0; i < COUNT(bad); i++)
        cr_assert_eq(traffic_source_new(&bad[i], 1, 0, "x", SIM_DAY, &s), HR_INPUT, "plan %zu", i);
}
