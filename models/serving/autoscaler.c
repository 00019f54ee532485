/* Autoscaler: the wish of a tick, and the limits on following it.
 *
 * Metric.  The mean over [now - window, now] is the difference of the running integral at the two
 *          ends. A ring keeps (tick, integral) back to the last tick at or before the start of the
 *          window, and the integral is linear between ticks. A window longer than the run so far
 *          is the run so far; a window of 0 is the time since the last tick.
 * Wish.    ceil(mean / target) + buffer, clamped to min..max. A quotient less than one part in a
 *          billion above a whole number counts as that number, or the rounding of a mean of
 *          exactly 22.0 would ask for one replica more.
 * Down.    To the largest wish of the ticks in [now - stabilisation, now]. The replicas found at
 *          the first tick stand as the wish of t = 0, as in today's horizontal autoscalers, so a
 *          run does not start by scaling down on its first few requests. A queue of falling
 *          wishes gives that maximum: a wish at least as large as an older one replaces it.
 * Limits.  The larger of the absolute and the relative step, the latter rounded up; at least one
 *          replica, or a service at 0 could never leave it. They hold for min and max too.
 *
 * Both rings are allocated at the start: ticks come at least a period apart. */
#include "models/serving/autoscaler.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char *const scaler_metric_names[SCALER_METRICS] = {"in-flight", "request-rate"};

struct sample {
    simtime_ns at_ns;
    union {
        double integral; /* ring of the metric */
        uint32_t wish;   /* queue of wishes */
    } u;
};

/* First in, first out; the newest can be taken back too. */
struct ring {
    struct sample *items; /* owned */
    size_t capacity, first, n;
};

struct autoscaler {
    struct autoscaler_plan plan;
    struct ring metric; /* oldest: the last tick at or before the start of the window */
    struct ring wishes; /* falling */
    bool started;
    uint32_t held; /* replicas at the first tick */
};

/* Room for the entries at least period apart that fit in a window, and for the one before it, the
 * one of t = 0 and the new one. */
static bool ring_init(struct ring *r, simtime_ns window, simtime_ns period)
{
    uint64_t n = window / period + 4;
    if (n > SIZE_MAX / sizeof *r->items)
        return false;
    r->items = calloc(n, sizeof *r->items);
    r->capacity = n;
    return r->items != NULL;
}

static struct sample *ring_at(const struct ring *r, size_t i)
{
    return &r->items[(r->first + i) % r->capacity];
}

static void ring_push(struct ring *r, struct sample s)
{
    assert(r->n < r->capacity);
    *ring_at(r, r->n++) = s;
}

static void ring_drop_oldest(struct ring *r)
{
    r->first = (r->first + 1) % r->capacity;
    r->n--;
}

struct autoscaler *autoscaler_new(const struct autoscaler_plan *plan)
{
    assert(plan->period_ns > 0);
    struct autoscaler *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->plan = *plan;
    if (!ring_init(&a->metric, plan->metric_window_ns, plan->period_ns) ||
        !ring_init(&a->wishes, plan->stabilisation_ns, plan->period_ns)) {
        autoscaler_free(a);
        return NULL;
    }
    ring_push(&a->metric, (struct sample){.at_ns = 0, .u.integral = 0});
    return a;
}

void autoscaler_free(struct autoscaler *a)
{
    if (a == NULL)
        return;
    free(a->metric.items);
    free(a->wishes.items);
    free(a);
}

/* ceil, with the tolerance stated above; for x >= 0. */
static double ceil_count(double x)
{
    return ceil(x * (1 - 1e-9));
}

uint32_t autoscaler_wish(const struct autoscaler_plan *plan, double metric)
{
    double wish = (metric > 0 ? ceil_count(metric / plan->target) : 0) + plan->buffer_replicas;
    if (wish >= plan->max_replicas)
        return plan->max_replicas;
    return wish <= plan->min_replicas ? plan->min_replicas : (uint32_t)wish;
}

/* Integral at a time between the two oldest samples. */
static double integral_at(const struct ring *r, simtime_ns from)
{
    const struct sample *lo = ring_at(r, 0), *hi = ring_at(r, 1);
    double part = (double)(from - lo->at_ns) / (double)(hi->at_ns - lo->at_ns);
    return lo->u.integral + part * (hi->u.integral - lo->u.integral);
}

/* Takes in the newest sample; the mean of the metric over its window. */
static double metric_mean(struct autoscaler *a, simtime_ns now, double integral)
{
    struct ring *r = &a->metric;
    simtime_ns last = ring_at(r, r->n - 1)->at_ns;
    assert(now > last && (r->n == 1 || now - last >= a->plan.period_ns));
    simtime_ns window = a->plan.metric_window_ns ? a->plan.metric_window_ns : now - last;
    simtime_ns from = now > window ? now - window : 0;
    ring_push(r, (struct sample){.at_ns = now, .u.integral = integral});
    while (ring_at(r, 1)->at_ns <= from)
        ring_drop_oldest(r);
    return (integral - integral_at(r, from)) / sim_time_to_s(now - from);
}

/* Takes in a wish; the largest of the stabilisation window. */
static uint32_t largest_wish(struct autoscaler *a, simtime_ns now, uint32_t wish)
{
    struct ring *r = &a->wishes;
    while (r->n > 0 && ring_at(r, r->n - 1)->u.wish <= wish)
        r->n--;
    ring_push(r, (struct sample){.at_ns = now, .u.wish = wish});
    while (now - ring_at(r, 0)->at_ns > a->plan.stabilisation_ns)
        ring_drop_oldest(r);
    return ring_at(r, 0)->u.wish;
}

/* The most replicas that may be added or taken in one tick. */
static uint32_t step_limit(uint32_t step, double frac, uint32_t current)
{
    if (step == 0 && frac <= 0)
        return UINT32_MAX;
    double relative = frac > 0 ? ceil_count(frac * current) : 0;
    double limit = relative > step ? relative : step;
    return limit < 1 ? 1 : limit >= UINT32_MAX ? UINT32_MAX : (uint32_t)limit;
}

uint32_t autoscaler_tick(struct autoscaler *a, simtime_ns now, double metric_integral,
                         double forecast, uint32_t current)
{
    const struct autoscaler_plan *p = &a->plan;
    if (!a->started) {
        assert(now > 0);
        a->started = true;
        a->held = current;
        largest_wish(a, 0, current);
    }
    if (!p->enabled)
        return a->held;
    double metric = metric_mean(a, now, metric_integral);
    uint32_t wish = autoscaler_wish(p, metric > forecast ? metric : forecast);
    uint32_t largest = largest_wish(a, now, wish);
    if (wish > current) {
        uint32_t limit = step_limit(p->step_up, p->step_up_frac, current);
        return wish - current > limit ? current + limit : wish;
    }
    if (largest < current) {
        uint32_t limit = step_limit(p->step_down, p->step_down_frac, current);
        return current - largest > limit ? current - limit : largest;
    }
    return current;
}
