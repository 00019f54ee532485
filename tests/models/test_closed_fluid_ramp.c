/* The fluid ramp against a queue played in steps of 20 ms: every figure by adding up. */
#include "models/closed/fluid_ramp.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 320000 };
static const double step_s = 0.02;

struct ramp_case {
    const char *shape;
    double start, rise, slope_min, doubling_min;
    struct fluid_supply supply;
    double limit_s;
};

static const struct ramp_case cases[] = {
    {"linear", 300, 200, 20, 10, {0, 1000, 60, 300}, 2},
    {"linear", 300, 200, 20, 10, {350, 1000, 60, 300}, 2},
    {"linear", 300, 200, 20, 10, {0, 450, 60, 300}, 2},
    {"linear", 50, 200, 60, 10, {0, 300, 20, 600}, 5},
    {"step", 308, 101, 0, 10, {0, 1000, 40, 90}, 1},
    {"exponential", 100, 300, 0, 5, {0, 1000, 15, 200}, 3},
    {"exponential", 100, 300, 0, 5, {150, 1000, 50, 120}, 1},
};

static void near(double got, double want, double room, const char *what, size_t i)
{
    cr_expect(got == want || fabs(got - want) <= room, "%s of case %zu: %.9g, played %.9g", what, i,
              got, want);
}

static double demand(const struct ramp_case *c, double t)
{
    if (t < 0)
        return c->start;
    double rise = c->rise;
    if (c->shape[0] == 'l')
        rise = fmin(rise, c->slope_min / 60 * t);
    else if (c->shape[0] == 'e')
        rise = fmin(rise, c->start * (exp2(t / 60 / c->doubling_min) - 1));
    return c->start + rise;
}

static double capacity(const struct ramp_case *c, double t)
{
    const struct fluid_supply *s = &c->supply;
    return fmin(s->cap, fmax(s->floor, demand(c, t - s->reclaim_s) + s->buffer));
}

/* Cumulative arrivals and departures by the middle of each step. */
static void play(size_t i, const struct ramp_case *c)
{
    const struct fluid_demand d =
        fluid_demand(c->shape, c->start, c->rise, c->slope_min, c->doubling_min);
    double *in = malloc((STEPS + 1) * sizeof *in), *out = malloc((STEPS + 1) * sizeof *out);
    double most = 0, missing = 0, from = NAN, until = NAN, wait = 0, late = NAN, last = NAN;
    in[0] = out[0] = 0;
    for (int k = 0; k < STEPS; k++) {
        const double t = (k + 0.5) * step_s, short_now = demand(c, t) - capacity(c, t);
        in[k + 1] = in[k] + demand(c, t) * step_s;
        out[k + 1] = fmin(in[k + 1], out[k] + capacity(c, t) * step_s);
        most = fmax(most, short_now);
        missing += fmax(0, short_now) * step_s;
        if (short_now > 1e-6 && isnan(from))
            from = t;
        if (short_now > 1e-6)
            until = t;
    }
    for (int k = 0, served = 0; k < STEPS; k++) {
        while (served < STEPS && out[served] < in[k] - 1e-7)
            served++;
        const double v = (served - k) * step_s;
        if (served == STEPS)
            break;
        wait = fmax(wait, v);
        if (v > c->limit_s && isnan(late))
            late = k * step_s;
        if (v > c->limit_s)
            last = k * step_s;
    }
    const double horizon = STEPS * step_s;
    const struct fluid_breach b = fluid_breach(&d, &c->supply);
    near(fluid_max_short(&d, &c->supply), most, 0.05, "largest shortage", i);
    near(fluid_short_sum(&d, &c->supply, horizon), missing, 1 + 1e-4 * missing, "shortage", i);
    near(fluid_demand_sum(&d, horizon), in[STEPS], 1e-6 * in[STEPS], "demand", i);
    near(b.start_s, from, 0.1, "start", i);
    cr_expect_gt(most, 0, "case %zu is not short", i);
    near(fluid_late_from_s(&d, &c->supply, c->limit_s), late, 0.2, "first late", i);
    if (isinf(b.end_s)) {
        near(fluid_max_wait_s(&d, &c->supply), INFINITY, 0, "wait", i);
    } else {
        near(b.end_s, until, 0.1, "end", i);
        near(fluid_max_wait_s(&d, &c->supply), wait, 0.1, "wait", i);
        near(fluid_late_until_s(&d, &c->supply, c->limit_s), last, 0.5, "last late", i);
    }
    free(in);
    free(out);
}

Test(closed_fluid_ramp, agrees_with_a_played_queue)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        play(i, &cases[i]);
}

Test(closed_fluid_ramp, random_loss_is_the_plain_recursion)
{
    const struct fluid_demand d = fluid_demand("linear", 300, 200, 20, 10);
    const struct fluid_supply s = {0, 1000, 60, 300};
    double sum = 0;
    for (int k = 0; k < 1500; k++) {
        const double a = fluid_demand_at(&d, k + 0.5), held = fluid_supply_at(&d, &s, k + 0.5);
        double low = 1, high = 1;
        for (int n = 1; n <= (int)held + 1; n++) {
            low = high;
            high = a * high / (n + a * high);
        }
        sum += a * (low + (held - floor(held)) * (high - low));
    }
    near(fluid_random_loss(&d, &s, 1500), sum, 1e-10 * sum, "random loss", 0);
}
