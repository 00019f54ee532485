/* The rate factor g(t): envelope times events.
 *
 * Every function in it (the envelope is number 0, event i is i + 1) is cut into pieces that are
 * flat, linear or half a day of the diurnal wave, so that each is monotone, and its largest and
 * smallest value on any part of a piece are at the ends. All are non-negative: on a stretch within
 * one piece of each, g is at most the product of the larger ends and at least that of the smaller.
 *
 *  - traffic_factor_max halves a stretch until its bound is within one part in a thousand of the
 *    largest value met; with one moving function the bound is that value and nothing is halved.
 *  - Thinning compares its uniform with the bounds of a stretch of a minute first. They nearly
 *    always decide, and g itself need not be computed; the outcome is the same.
 *
 * The wave's cosine is a Taylor series on an eighth of a turn (error below 1e-15) and not libm's,
 * whose last bit differs between CPUs: it decides which requests are kept. */
#include "models/serving/traffic_internal.h"

#include <math.h>
#include <stdlib.h>

#define TWO_PI      6.283185307179586477
#define BOUND_SLACK 1e-3
#define MAX_HALVING 40
#define NEAR_NS     SIM_MIN
#define LINE_PARTS  16

/* Sum of (-1)^k s^k / f(k): cosine with f(k) = (2 k)!, sine of y over y with (2 k + 1)!; s = y^2.
 */
static double series(const double *coefficients, int n, double s)
{
    double sum = coefficients[n - 1];
    for (int k = n - 2; k >= 0; k--)
        sum = coefficients[k] + sum * s;
    return sum;
}

/* cos(2 pi x), 0 <= x <= 1. */
static double cos_turns(double x)
{
    static const double cosine[] = {
        1,           -1.0 / 2,       1.0 / 24,          -1.0 / 720,
        1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0};
    static const double sine[] = {1,
                                  -1.0 / 6,
                                  1.0 / 120,
                                  -1.0 / 5040,
                                  1.0 / 362880,
                                  -1.0 / 39916800.0,
                                  1.0 / 6227020800.0,
                                  -1.0 / 1307674368000.0};
    x = x > 0.5 ? 1 - x : x;
    double sign = x > 0.25 ? -1 : 1;
    x = x > 0.25 ? 0.5 - x : x;
    double y = TWO_PI * (x <= 0.125 ? x : 0.25 - x);
    return sign * (x <= 0.125 ? series(cosine, 8, y * y) : y * series(sine, 8, y * y));
}

/* Also the limit from the left at t = hi. */
static double piece_value(const struct traffic_piece *p, simtime_ns t)
{
    if (p->swing > 0)
        return 1 + p->swing * cos_turns((double)(t - p->peak) / (double)SIM_DAY);
    return p->at_lo + p->slope_per_ns * (double)(t - p->lo);
}

static struct traffic_piece flat_piece(simtime_ns lo, simtime_ns hi, double value)
{
    return (struct traffic_piece){.lo = lo, .hi = hi, .at_lo = value};
}

static struct traffic_piece line_piece(simtime_ns lo, simtime_ns length, double from, double to)
{
    return (struct traffic_piece){.lo = lo,
                                  .hi = sim_time_add(lo, length),
                                  .at_lo = from,
                                  .slope_per_ns = (to - from) / (double)length};
}

static struct traffic_piece diurnal_piece(const struct traffic_plan *p, simtime_ns t)
{
    double swing = p->envelope.peak_to_mean - 1;
    if (!(swing > 0))
        return flat_piece(0, SIM_NEVER, 1);
    simtime_ns peak = sim_time_from_s(p->envelope.peak_hour * 3600) % SIM_DAY;
    simtime_ns past = (t % SIM_DAY + p->start_of_day_ns % SIM_DAY + SIM_DAY - peak) % SIM_DAY;
    simtime_ns half = past - past % (SIM_DAY / 2);
    return (struct traffic_piece){.lo = t,
                                  .hi = sim_time_add(t, half + SIM_DAY / 2 - past),
                                  .swing = swing,
                                  .peak = t - past};
}

static struct traffic_piece table_piece(const struct envelope *e, simtime_ns t)
{
    if (e->n_points == 0)
        return flat_piece(0, SIM_NEVER, 1);
    const struct envelope_point *points = e->points;
    simtime_ns start = e->repeat_ns ? t - t % e->repeat_ns : 0;
    simtime_ns end = e->repeat_ns ? sim_time_add(start, e->repeat_ns) : SIM_NEVER;
    size_t lo = 0, hi = e->n_points; /* hi: the first point later than t */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (points[middle].at_ns <= t - start)
            lo = middle + 1;
        else
            hi = middle;
    }
    struct traffic_piece piece;
    if (hi == 0)
        piece = flat_piece(start, sim_time_add(start, points[0].at_ns), points[0].factor);
    else if (hi == e->n_points)
        piece = flat_piece(sim_time_add(start, points[hi - 1].at_ns), end, points[hi - 1].factor);
    else
        piece = line_piece(start + points[hi - 1].at_ns, points[hi].at_ns - points[hi - 1].at_ns,
                           points[hi - 1].factor, points[hi].factor);
    if (e->kind == ENVELOPE_TABLE_STEPS)
        piece.slope_per_ns = 0;
    piece.hi = piece.hi < end ? piece.hi : end;
    return piece;
}

static struct traffic_piece event_piece(const struct traffic_event *e, simtime_ns t)
{
    if (t < e->start_ns)
        return flat_piece(0, e->start_ns, 1);
    simtime_ns past = t - e->start_ns;
    simtime_ns end = SIM_NEVER;
    if (e->repeat_ns) {
        past %= e->repeat_ns;
        end = sim_time_add(t - past, e->repeat_ns);
    }
    simtime_ns rise = t - past; /* the rise begins */
    simtime_ns hold = sim_time_add(rise, e->rise_ns);
    simtime_ns fall = sim_time_add(hold, e->hold_ns);
    simtime_ns over = sim_time_add(fall, e->fall_ns);
    struct traffic_piece piece;
    if (t < hold)
        piece = line_piece(rise, e->rise_ns, 1, e->factor);
    else if (t < fall)
        piece = flat_piece(hold, fall, e->factor);
    else if (t < over)
        piece = line_piece(fall, e->fall_ns, e->factor, 1);
    else
        piece = flat_piece(over, end, 1);
    piece.hi = piece.hi < end ? piece.hi : end;
    return piece;
}

static struct traffic_piece piece_of(const struct traffic_plan *p, size_t function, simtime_ns t)
{
    if (function > 0)
        return event_piece(&p->events[function - 1], t);
    switch (p->envelope.kind) {
    case ENVELOPE_DIURNAL:
        return diurnal_piece(p, t);
    case ENVELOPE_TABLE:
    case ENVELOPE_TABLE_STEPS:
        return table_piece(&p->envelope, t);
    default:
        return flat_piece(0, SIM_NEVER, 1);
    }
}

double traffic_factor(const struct traffic_plan *p, simtime_ns t)
{
    double g = 1;
    for (size_t f = 0; f <= p->n_events; f++) {
        struct traffic_piece piece = piece_of(p, f, t);
        g *= piece_value(&piece, t);
    }
    return g;
}

double traffic_factor_announced(const struct traffic_plan *p, simtime_ns t)
{
    double g = 1;
    for (size_t f = 0; f <= p->n_events; f++) {
        if (f > 0 && !p->events[f - 1].announced)
            continue;
        struct traffic_piece piece = piece_of(p, f, t);
        g *= piece_value(&piece, t);
    }
    return g;
}

/* ---- the maximum ---- */

struct maximum {
    const struct traffic_plan *plan;
    double met;   /* largest value seen */
    double bound; /* of all stretches done */
};

/* A stretch [a, b) within one piece of each function. */
static void bound_stretch(struct maximum *m, simtime_ns a, simtime_ns b, int halvings)
{
    double at_a = 1, at_b = 1, bound = 1;
    for (size_t f = 0; f <= m->plan->n_events; f++) {
        struct traffic_piece piece = piece_of(m->plan, f, a);
        double first = piece_value(&piece, a), last = piece_value(&piece, b);
        at_a *= first;
        at_b *= last;
        bound *= fmax(first, last);
    }
    m->met = fmax(m->met, fmax(at_a, at_b));
    if (bound <= m->bound)
        return;
    if (bound <= m->met * (1 + BOUND_SLACK) || halvings == MAX_HALVING || b - a < 2) {
        m->bound = bound;
        return;
    }
    simtime_ns middle = a + (b - a) / 2;
    bound_stretch(m, a, middle, halvings + 1);
    bound_stretch(m, middle, b, halvings + 1);
}

double traffic_factor_max(const struct traffic_plan *p, simtime_ns horizon)
{
    struct maximum m = {.plan = p};
    for (simtime_ns t = 0; t < horizon;) {
        simtime_ns end = horizon;
        for (size_t f = 0; f <= p->n_events; f++) {
            simtime_ns hi = piece_of(p, f, t).hi;
            end = hi < end ? hi : end;
        }
        bound_stretch(&m, t, end, 0);
        t = end;
    }
    return m.bound;
}

/* ---- the cursor ---- */

enum hr_err traffic_factor_open(struct traffic_factor_cursor *c, const struct traffic_plan *p)
{
    *c = (struct traffic_factor_cursor){.plan = p};
    c->moving = calloc(p->n_events + 1, sizeof *c->moving);
    return c->moving ? HR_OK : HR_NOMEM;
}

void traffic_factor_close(struct traffic_factor_cursor *c)
{
    free(c->moving);
    *c = (struct traffic_factor_cursor){0};
}

/* Makes the segment, from t on, that of t; O(functions). */
static void seek(struct traffic_factor_cursor *c, simtime_ns t)
{
    if (t >= c->lo && t < c->hi)
        return;
    c->lo = t;
    c->hi = SIM_NEVER;
    c->flat = 1;
    c->n_moving = 0;
    for (size_t f = 0; f <= c->plan->n_events; f++) {
        struct traffic_piece piece = piece_of(c->plan, f, t);
        c->hi = piece.hi < c->hi ? piece.hi : c->hi;
        if (piece.slope_per_ns == 0 && piece.swing == 0)
            c->flat *= piece.at_lo;
        else
            c->moving[c->n_moving++] = piece;
    }
}

/* Makes t the start of a stretch. */
static void approach(struct traffic_factor_cursor *c, simtime_ns t)
{
    seek(c, t);
    c->near_lo = t;
    c->near_hi = c->n_moving > 0 && c->hi - t > NEAR_NS ? t + NEAR_NS : c->hi;
    c->low = c->high = c->flat;
    for (size_t i = 0; i < c->n_moving; i++) {
        double first = piece_value(&c->moving[i], t), last = piece_value(&c->moving[i], c->near_hi);
        c->low *= fmin(first, last);
        c->high *= fmax(first, last);
    }
}

static double segment_value(const struct traffic_factor_cursor *c, simtime_ns t)
{
    double g = c->flat;
    for (size_t i = 0; i < c->n_moving; i++)
        g *= piece_value(&c->moving[i], t);
    return g;
}

bool traffic_factor_keeps(struct traffic_factor_cursor *c, simtime_ns t, double max,
                          struct rng *stream)
{
    if (t < c->near_lo || t >= c->near_hi)
        approach(c, t);
    if (c->low >= max)
        return true;
    double level = rng_uniform(stream) * max;
    if (level < c->low || level >= c->high)
        return level < c->low;
    return level < segment_value(c, t);
}

struct traffic_piece traffic_factor_line(struct traffic_factor_cursor *c, simtime_ns t)
{
    seek(c, t);
    double from = segment_value(c, t);
    simtime_ns hi = c->hi;
    if (c->n_moving > 1 || (c->n_moving == 1 && c->moving[0].swing > 0)) {
        simtime_ns step = (c->hi - c->lo) / LINE_PARTS + 1;
        step = step < NEAR_NS ? step : NEAR_NS;
        hi = hi - t < step ? hi : t + step;
    }
    if (c->n_moving == 0)
        return flat_piece(t, hi, from);
    return line_piece(t, hi - t, from, segment_value(c, hi));
}
