/* Autoscaler: worked cases for each rule, one tick a row. */
#include "models/serving/autoscaler.h"

#include <criterion/criterion.h>

/* 15 s ticks on the request rate of the last 30 s, 10 requests/s a replica, no limits. */
static struct autoscaler_plan plain_plan(void)
{
    return (struct autoscaler_plan){
        .enabled = true,
        .metric = SCALER_REQUEST_RATE,
        .target = 10,
        .period_ns = 15 * SIM_S,
        .metric_window_ns = 30 * SIM_S,
        .stabilisation_ns = 0,
        .min_replicas = 0,
        .max_replicas = 1000,
    };
}

struct tick {
    double rate; /* over the period that ends with the tick */
    uint32_t current, wanted;
};

static void check(const char *name, struct autoscaler_plan plan, const struct tick *ticks, size_t n)
{
    struct autoscaler *a = autoscaler_new(&plan);
    double integral = 0;
    for (size_t i = 0; i < n; i++) {
        integral += ticks[i].rate * sim_time_to_s(plan.period_ns);
        uint32_t wanted =
            autoscaler_tick(a, (i + 1) * plan.period_ns, integral, 0, ticks[i].current);
        cr_assert_eq(wanted, ticks[i].wanted, "%s, tick %zu: wants %u, should want %u", name, i + 1,
                     wanted, ticks[i].wanted);
    }
    autoscaler_free(a);
}

#define CHECK(name, plan, ...)                                                                     \
    do {                                                                                           \
        const struct tick ticks_[] = {__VA_ARGS__};                                                \
        check(name, plan, ticks_, sizeof ticks_ / sizeof *ticks_);                                 \
    } while (0)

Test(autoscaler, wish_rounds_up_adds_the_buffer_and_is_clamped)
{
    struct autoscaler_plan p = plain_plan();
    cr_assert_eq(autoscaler_wish(&p, 0), 0u);
    cr_assert_eq(autoscaler_wish(&p, 0.01), 1u);
    cr_assert_eq(autoscaler_wish(&p, 220), 22u);
    cr_assert_eq(autoscaler_wish(&p, 220 * (1 + 1e-15)), 22u); /* rounding, not need */
    cr_assert_eq(autoscaler_wish(&p, 220.001), 23u);
    p.buffer_replicas = 3;
    cr_assert_eq(autoscaler_wish(&p, 0), 3u);
    cr_assert_eq(autoscaler_wish(&p, 220), 25u);
    p.min_replicas = 5;
    p.max_replicas = 24;
    cr_assert_eq(autoscaler_wish(&p, 0), 5u);
    cr_assert_eq(autoscaler_wish(&p, 220), 24u); /* the buffer is inside the limits */
    cr_assert_eq(autoscaler_wish(&p, 1e300), 24u);
}

/* Windows of 30 s hold two ticks: the mean of 100 and 300 is 200. */
Test(autoscaler, mean_over_the_metric_window)
{
    CHECK("two ticks", plain_plan(), {100, 10, 10}, {300, 10, 20}, {300, 20, 30}, {0, 30, 15},
          {0, 15, 0});
}

/* From 22.5 s before: a whole tick and half of the one before. (2 x 300 + 1 x 90) / 3 = 230. */
Test(autoscaler, window_that_starts_between_ticks)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 22500 * SIM_MS;
    CHECK("half a tick", p, {90, 9, 9}, {300, 9, 23}, {300, 23, 30});
}

/* One hour of window after 15, 30, 45 s: the mean of all there is. */
Test(autoscaler, window_longer_than_history)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = SIM_HOUR;
    CHECK("hour", p, {90, 9, 9}, {110, 9, 10}, {400, 10, 20}, {0, 20, 15});
}

Test(autoscaler, window_of_zero_is_the_last_period)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 0;
    CHECK("zero", p, {90, 9, 9}, {300, 9, 30}, {0, 30, 0});
}

/* In flight: the integral is request-seconds, so a rate of 35 is 35 in flight. */
Test(autoscaler, in_flight_metric)
{
    struct autoscaler_plan p = plain_plan();
    p.metric = SCALER_IN_FLIGHT;
    CHECK("in flight", p, {35, 1, 4}, {35, 4, 4}, {75, 4, 6});
}

Test(autoscaler, step_limits_up)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 0;
    p.step_up = 4;
    CHECK("absolute", p, {1000, 10, 14}, {1000, 14, 18}, {190, 18, 19});
    p.step_up_frac = 0.5;
    CHECK("larger of both", p, {1000, 10, 15}, {1000, 4, 8}, {1000, 15, 23});
    p.step_up = 0;
    CHECK("relative alone, rounded up", p, {1000, 3, 5}, {1000, 5, 8});
    CHECK("relative leaves zero", p, {1000, 0, 1}, {1000, 1, 2});
    p.step_up_frac = 0;
    CHECK("no limit", p, {1000, 3, 100});
}

Test(autoscaler, step_limits_down)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 0;
    p.stabilisation_ns = 15 * SIM_S; /* the first tick still holds what it found */
    p.step_down_frac = 0.1;
    CHECK("relative", p, {0, 100, 100}, {0, 100, 90}, {0, 90, 81}, {0, 81, 72});
    p.step_down = 20;
    CHECK("larger of both", p, {0, 100, 100}, {0, 100, 80}, {0, 300, 270}, {0, 15, 0});
    p.step_down_frac = 0;
    p.min_replicas = 50;
    CHECK("never below min", p, {0, 60, 60}, {0, 60, 50}, {0, 50, 50});
}

/* 60 s: the wishes of the last five ticks, this one included; then the next largest. */
Test(autoscaler, goes_down_by_the_largest_wish_of_the_window)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 0;
    p.stabilisation_ns = 60 * SIM_S;
    CHECK("spike", p, {100, 10, 10}, {400, 10, 40}, {250, 40, 40}, {100, 40, 40}, {150, 40, 40},
          {100, 40, 40}, {100, 40, 25}, {100, 25, 15}, {100, 15, 15}, {100, 15, 10});
}

/* What is found at the first tick is the wish of t = 0 and holds for one window. */
Test(autoscaler, start_holds_for_the_stabilisation_window)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 0;
    p.stabilisation_ns = 45 * SIM_S;
    CHECK("start", p, {50, 20, 20}, {50, 20, 20}, {50, 20, 20}, {50, 20, 5});
}

/* Up needs no window: a lower current (replicas lost) is made up at once. */
Test(autoscaler, up_at_once_also_inside_the_window)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 0;
    p.stabilisation_ns = 300 * SIM_S;
    CHECK("lost", p, {100, 10, 10}, {100, 7, 10}, {50, 7, 7}, {90, 7, 9});
}

Test(autoscaler, limits_of_count_go_through_the_step_limits)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 0;
    p.min_replicas = 8;
    p.max_replicas = 12;
    p.step_up = 2;
    p.step_down = 3;
    CHECK("from below", p, {0, 3, 5}, {0, 5, 7}, {0, 7, 8});
    CHECK("from above", p, {500, 20, 17}, {500, 17, 14}, {500, 14, 12});
}

Test(autoscaler, disabled_holds_the_first_count)
{
    struct autoscaler_plan p = plain_plan();
    p.enabled = false;
    CHECK("off", p, {500, 6, 6}, {0, 6, 6}, {500, 5, 6});
}

/* A day of 15 s ticks through rings that hold a few of them. */
Test(autoscaler, long_runs_reuse_the_rings)
{
    struct autoscaler_plan p = plain_plan();
    p.metric_window_ns = 40 * SIM_S;
    p.stabilisation_ns = 100 * SIM_S;
    struct autoscaler *a = autoscaler_new(&p);
    double integral[5761] = {0};
    uint32_t wish[5761] = {4}, current = 4;
    for (int i = 1; i <= 5760; i++) {
        integral[i] = integral[i - 1] + (i * 37 % 101) * 15;
        double from = i * 15 > 40 ? i - 40 / 15.0 : 0;
        int lo = (int)from;
        double start = integral[lo] + (from - lo) * (integral[lo + 1] - integral[lo]);
        wish[i] = autoscaler_wish(&p, (integral[i] - start) / ((i - from) * 15));
        uint32_t largest = 0; /* [i * 15 - 100, i * 15] */
        for (int j = i >= 6 ? i - 6 : 0; j <= i; j++)
            largest = wish[j] > largest ? wish[j] : largest;
        uint32_t expected = wish[i] > current ? wish[i] : largest < current ? largest : current;
        cr_assert_eq(autoscaler_tick(a, i * 15 * SIM_S, integral[i], 0, current), expected);
        current = expected;
    }
    autoscaler_free(a);
}
