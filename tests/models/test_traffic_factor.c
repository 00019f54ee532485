/* The rate factor: envelopes and events against their definitions, and its maximum. */
#include "models/serving/traffic.h"
#include "sim/rng.h"

#include <criterion/criterion.h>
#include <math.h>

#define PI       3.141592653589793
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void equal(double got, double want, const char *what)
{
    cr_assert_float_eq(got, want, 1e-12, "%s: %.15g, should be %.15g", what, got, want);
}

static struct traffic_plan diurnal(double peak_to_mean, double peak_hour)
{
    return (struct traffic_plan){.envelope = {.kind = ENVELOPE_DIURNAL,
                                              .peak_to_mean = peak_to_mean,
                                              .peak_hour = peak_hour}};
}

/* The definition, with libm's cosine, every 7 minutes and 1 ns of three days. */
Test(traffic_factor, diurnal_is_its_cosine)
{
    const double hours[] = {0, 3.25, 14, 23.999};
    for (size_t i = 0; i < COUNT(hours); i++) {
        struct traffic_plan p = diurnal(1.4, hours[i]);
        p.start_of_day_ns = 9 * SIM_HOUR + 17;
        for (simtime_ns t = 0; t < 3 * SIM_DAY; t += 7 * SIM_MIN + 1) {
            double hour = (t + p.start_of_day_ns) / (double)SIM_HOUR;
            equal(traffic_factor(&p, t), 1 + 0.4 * cos(2 * PI * (hour - hours[i]) / 24), "g");
        }
    }
    struct traffic_plan p = diurnal(2, 14);
    equal(traffic_factor(&p, 14 * SIM_HOUR), 2, "peak");
    equal(traffic_factor(&p, 2 * SIM_HOUR), 0, "trough");
    equal(traffic_factor(&p, 8 * SIM_HOUR), 1, "a quarter before the peak");
    p = diurnal(1, 14);
    equal(traffic_factor(&p, 14 * SIM_HOUR), 1, "no swing");
}

static const struct envelope_point points[] = {
    {10 * SIM_S, 1}, {20 * SIM_S, 3}, {20 * SIM_S, 5}, {40 * SIM_S, 0.5}};

Test(traffic_factor, tables_hold_join_and_step)
{
    struct traffic_plan p = {
        .envelope = {.kind = ENVELOPE_TABLE, .points = points, .n_points = COUNT(points)}};
    const struct {
        simtime_ns at;
        double line, step;
    } cases[] = {{0, 1, 1},
                 {10 * SIM_S, 1, 1},
                 {15 * SIM_S, 2, 1},
                 {20 * SIM_S - 1, 3 - 2e-10, 1},
                 {20 * SIM_S, 5, 5},
                 {30 * SIM_S, 2.75, 5},
                 {40 * SIM_S, 0.5, 0.5},
                 {90 * SIM_S, 0.5, 0.5}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        p.envelope.kind = ENVELOPE_TABLE;
        equal(traffic_factor(&p, cases[i].at), cases[i].line, "linear");
        p.envelope.kind = ENVELOPE_TABLE_STEPS;
        equal(traffic_factor(&p, cases[i].at), cases[i].step, "steps");
    }
    equal(traffic_factor_max(&p, SIM_MIN), 5, "maximum of steps");
    p.envelope.kind = ENVELOPE_TABLE;
    equal(traffic_factor_max(&p, SIM_MIN), 5, "maximum of lines");
    equal(traffic_factor_max(&p, 15 * SIM_S), 2, "maximum up to the middle of a line");
}

/* Period 30 s: the table is cut in its fall from 5 and starts again. */
Test(traffic_factor, repeated_table)
{
    struct traffic_plan p = {.envelope = {.kind = ENVELOPE_TABLE,
                                          .points = points,
                                          .n_points = COUNT(points),
                                          .repeat_ns = 30 * SIM_S}};
    for (simtime_ns k = 0; k < 4; k++) {
        simtime_ns start = k * 30 * SIM_S;
        equal(traffic_factor(&p, start), 1, "start");
        equal(traffic_factor(&p, start + 15 * SIM_S), 2, "middle");
        equal(traffic_factor(&p, start + 25 * SIM_S), 3.875, "fall");
    }
    p.envelope.n_points = 0;
    equal(traffic_factor(&p, SIM_HOUR), 1, "no point");
}

/* Start, half of the rise, hold, half of the fall, after. */
Test(traffic_factor, events_rise_hold_and_fall)
{
    struct traffic_event e = {.name = "campaign",
                              .start_ns = 100 * SIM_S,
                              .rise_ns = 10 * SIM_S,
                              .hold_ns = 50 * SIM_S,
                              .fall_ns = 20 * SIM_S,
                              .factor = 1.4};
    struct traffic_plan p = {.events = &e, .n_events = 1};
    for (int repeated = 0; repeated < 2; repeated++) {
        e.repeat_ns = repeated ? 1000 * SIM_S : 0;
        for (simtime_ns from = 0; from <= (repeated ? 3000 * SIM_S : 0); from += 1000 * SIM_S) {
            equal(traffic_factor(&p, from + 99 * SIM_S), 1, "before");
            equal(traffic_factor(&p, from + 100 * SIM_S), 1, "start");
            equal(traffic_factor(&p, from + 105 * SIM_S), 1.2, "half of the rise");
            equal(traffic_factor(&p, from + 110 * SIM_S), 1.4, "top");
            equal(traffic_factor(&p, from + 160 * SIM_S - 1), 1.4, "end of hold");
            equal(traffic_factor(&p, from + 170 * SIM_S), 1.2, "half of the fall");
            equal(traffic_factor(&p, from + 180 * SIM_S), 1, "after");
        }
    }
    equal(traffic_factor(&p, 2 * 1000 * SIM_S), 1, "between two of them");
    e = (struct traffic_event){.start_ns = 5, .hold_ns = 10, .factor = 0};
    equal(traffic_factor(&p, 4), 1, "before the step");
    equal(traffic_factor(&p, 5), 0, "at the step");
    equal(traffic_factor(&p, 14), 0, "outage");
    equal(traffic_factor(&p, 15), 1, "over");
}

static double dense_max(const struct traffic_plan *p, simtime_ns horizon)
{
    double max = 0;
    for (simtime_ns t = 0; t < horizon; t += horizon / 200000 + 1)
        max = fmax(max, traffic_factor(p, t));
    return max;
}

Test(traffic_factor, maximum_of_one_moving_function_is_exact)
{
    struct traffic_plan p = {0};
    equal(traffic_factor_max(&p, SIM_DAY), 1, "constant");
    equal(traffic_factor_max(&p, 0), 0, "nothing");
    p = diurnal(1.4, 14);
    equal(traffic_factor_max(&p, SIM_DAY), 1.4, "a day");
    equal(traffic_factor_max(&p, 8 * SIM_HOUR), 1, "until 8:00");
    equal(traffic_factor_max(&p, 300 * SIM_DAY), 1.4, "many days");
    p.start_of_day_ns = 14 * SIM_HOUR;
    equal(traffic_factor_max(&p, SIM_HOUR), 1.4, "from the peak");
}

/* Several at once: never below what is met, and at most one part in a thousand above. */
Test(traffic_factor, maximum_bounds_a_product)
{
    struct rng r;
    rng_init(&r, 11, 0, "test", "events");
    for (int round = 0; round < 30; round++) {
        struct traffic_event events[3];
        for (size_t i = 0; i < COUNT(events); i++)
            events[i] = (struct traffic_event){.start_ns = rng_below(&r, 12 * SIM_HOUR),
                                               .rise_ns = rng_below(&r, 4 * SIM_HOUR),
                                               .hold_ns = rng_below(&r, 4 * SIM_HOUR),
                                               .fall_ns = rng_below(&r, 4 * SIM_HOUR),
                                               .factor = 2 * rng_uniform(&r),
                                               .repeat_ns = round % 2 ? 13 * SIM_HOUR : 0};
        struct traffic_plan p = diurnal(1 + 0.9 * rng_uniform(&r), 24 * rng_uniform(&r));
        p.events = events;
        p.n_events = COUNT(events);
        double met = dense_max(&p, SIM_DAY), max = traffic_factor_max(&p, SIM_DAY);
        cr_assert(max >= met * (1 - 1e-12), "round %d: %.9g is below %.9g", round, max, met);
        cr_assert_leq(max, met * 1.0011, "round %d", round);
    }
}

/* The failover and campaign of a day that peaks at 14:00. */
Test(traffic_factor, events_multiply_the_envelope)
{
    const struct traffic_event events[] = {
        {"failover", 10 * SIM_HOUR, SIM_MIN, SIM_HOUR, SIM_MIN, 1.3, 0, false},
        {"flash", 10 * SIM_HOUR + 30 * SIM_MIN, 0, SIM_MIN, 0, 1.8, 0, false}};
    struct traffic_plan p = diurnal(1.4, 14), bare = p;
    p.events = events;
    p.n_events = 2;
    simtime_ns t = 10 * SIM_HOUR + 30 * SIM_MIN;
    equal(traffic_factor(&p, t - 1), 1.3 * traffic_factor(&bare, t - 1), "failover");
    equal(traffic_factor(&p, t), 1.3 * 1.8 * traffic_factor(&bare, t), "both");
    equal(traffic_factor(&p, t + SIM_MIN), 1.3 * traffic_factor(&bare, t + SIM_MIN), "flash over");
    cr_assert_float_eq(traffic_factor_max(&p, SIM_DAY),
                       1.3 * 1.8 * traffic_factor(&bare, t + SIM_MIN), 1e-3);
}
