/* Ramp arithmetic of the pool designs on a fluid fleet: one-GPU gangs, fixed stages.
 *
 * Expected values are those of capacity arithmetic, worksheets pool-designs and reclaim-ramp, with
 * the tolerances stated there: 1 GPU; times 1 s + 1 GPU / slope; areas 3 % or 1 GPU over the
 * reclaim time; mean GPUs held 0.5 GPU (whole GPUs add up to half a GPU on average). */
#include "draw.h"
#include "fluid_service.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { POINTS = 4001 };

static double now_s(const struct fluid_plan *p)
{
    return sim_time_to_s(p->end_ns - p->start_ns);
}

static void near(double got, double want, double tolerance, const char *what)
{
    cr_assert(fabs(got - want) <= tolerance, "%s: got %g, want %g +- %g", what, got, want,
              tolerance);
}

static bool same(double a, double b, double tolerance)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : fabs(a - b) <= tolerance;
}

/* ---- designs as quotas ---- */

static void separate(struct fluid_plan *p, uint32_t pool)
{
    p->service = (struct quota){.floor_gpus = pool, .ceiling_gpus = pool};
    p->training =
        (struct quota){.floor_gpus = p->fleet_gpus - pool, .ceiling_gpus = p->fleet_gpus - pool};
    p->always_gpus = p->cap_gpus = pool;
}

static void shared(struct fluid_plan *p)
{
    p->service = (struct quota){.ceiling_gpus = p->fleet_gpus,
                                .priority = 1,
                                .reclaim_within_cohort = COHORT_ANY,
                                .borrow_within_cohort = COHORT_LOWER_PRIORITY};
    p->training = (struct quota){.ceiling_gpus = p->fleet_gpus};
    p->always_gpus = 0;
    p->cap_gpus = p->fleet_gpus;
}

static void floor_plus_borrow(struct fluid_plan *p, uint32_t floor, uint32_t training_floor)
{
    shared(p);
    p->service.floor_gpus = floor;
    p->training.floor_gpus = p->training.lend_gpus = training_floor;
    p->training.reclaim_within_cohort = COHORT_ANY;
    p->always_gpus = floor;
}

/* ---- curves ---- */

enum curve { LINEAR, STEP, EXPONENTIAL };

struct ramp {
    enum curve curve;
    double start, rise;
    double slope_per_s; /* linear */
    double doubling_s;  /* exponential */
};

static double ramp_demand(const struct ramp *r, double t)
{
    if (t < 0)
        return r->start;
    double d = r->curve == LINEAR        ? r->start + r->slope_per_s * t
               : r->curve == EXPONENTIAL ? r->start * exp2(t / r->doubling_s)
                                         : r->start + r->rise;
    return fmin(d, r->start + r->rise);
}

/* A table of the ramp, a point a second. */
static const struct fluid_point *ramp_table(const struct ramp *r, struct fluid_point *points)
{
    points[0] = (struct fluid_point){-1e-9, r->start};
    for (int i = 1; i < POINTS; i++)
        points[i] = (struct fluid_point){i - 1, ramp_demand(r, i - 1)};
    return points;
}

/* The integral of max(0, D - A) by the worksheet's capacity A(t) = min(cap, max(F, D(t - T) + H)).
 */
static double short_by_formula(const struct fluid_plan *p, const struct ramp *r)
{
    double sum = 0, step = 0.05, reclaim_s = sim_time_to_s(p->reclaim_ns);
    for (double t = step / 2; t < now_s(p); t += step) {
        double a = fmax(p->always_gpus, ramp_demand(r, t - reclaim_s) + p->buffer_gpus);
        sum += step * fmax(0, ramp_demand(r, t) - fmin(p->cap_gpus, a));
    }
    return sum;
}

static struct fluid_plan ramp_plan(const struct ramp *r, struct fluid_point *points, uint32_t fleet,
                                   double buffer, simtime_ns reclaim)
{
    return (struct fluid_plan){.fleet_gpus = fleet,
                               .demand = ramp_table(r, points),
                               .n_demand = POINTS,
                               .buffer_gpus = buffer,
                               .reclaim_ns = reclaim,
                               .period_ns = SIM_S,
                               .start_ns = 400 * SIM_S,
                               .end_ns = 4000 * SIM_S};
}

static void ramp_is(const struct fluid_seen *s, const struct fluid_plan *p, const struct ramp *r,
                    double max_short, double start_s, double end_s, double short_gpu_s)
{
    double late = r->curve == LINEAR ? 1 + 1 / r->slope_per_s : 1;
    double area = fmax(0.03 * short_gpu_s, sim_time_to_s(p->reclaim_ns));
    near(s->max_short_gpus, max_short, 1, "max_short_gpus");
    near(s->short_gpu_s, short_gpu_s, short_gpu_s > 0 ? area : 0, "short_gpu_s");
    near(short_by_formula(p, r), short_gpu_s, 1 + 1e-3 * short_gpu_s, "short_gpu_s by formula");
    cr_assert(same(s->breach_start_s, start_s, late), "breach_start_s: %g", s->breach_start_s);
    cr_assert(same(s->breach_end_s, end_s, late), "breach_end_s: %g", s->breach_end_s);
}

/* Worksheet reclaim-ramp: the defaults and its two other cases. */
Test(fluid, reclaim_ramp_linear)
{
    static struct fluid_point points[POINTS];
    const struct ramp r = {LINEAR, .start = 300, .rise = 200, .slope_per_s = 20 / 60.0};
    struct fluid_plan p = ramp_plan(&r, points, 1000, 60, 300 * SIM_S);
    shared(&p);
    struct fluid_seen s = fluid_play(&p);
    ramp_is(&s, &p, &r, 40, 180, 720, 16800);
    near(s.evicted, 200, 1, "GPUs evicted");
}

Test(fluid, reclaim_ramp_step)
{
    static struct fluid_point points[POINTS];
    const struct ramp r = {STEP, .start = 308, .rise = 101};
    struct fluid_plan p = ramp_plan(&r, points, 1000, 40, 90 * SIM_S);
    shared(&p);
    struct fluid_seen s = fluid_play(&p);
    ramp_is(&s, &p, &r, 61, 0, 90, 5490);
}

Test(fluid, reclaim_ramp_exponential_is_safe)
{
    static struct fluid_point points[POINTS];
    const struct ramp r = {EXPONENTIAL, .start = 176, .rise = 223, .doubling_s = 38 * 60};
    struct fluid_plan p = ramp_plan(&r, points, 2000, 20, 60 * SIM_S);
    floor_plus_borrow(&p, 88, 1000);
    struct fluid_seen s = fluid_play(&p);
    ramp_is(&s, &p, &r, 0, NAN, NAN, 0);
    cr_assert_eq(s.attainment, 1);
}

/* Worksheet reclaim-ramp, its rules for a cap below and a floor inside the ramp: D1 > cap is short
 * by D1 - cap for good, from Dinv(cap) on; a floor delays the shortage to Dinv(F). */
Test(fluid, a_separate_pool_is_short_for_good_beyond_its_size)
{
    static struct fluid_point points[POINTS];
    const struct ramp r = {LINEAR, .start = 300, .rise = 200, .slope_per_s = 20 / 60.0};
    struct fluid_plan p = ramp_plan(&r, points, 1000, 60, 300 * SIM_S);
    separate(&p, 460);
    struct fluid_seen s = fluid_play(&p);
    ramp_is(&s, &p, &r, 40, 480, now_s(&p), 40 * (3600 - 600) + 40 * 120 / 2.0);
    cr_assert_eq(s.evicted, 0);
}

Test(fluid, a_floor_inside_the_ramp_delays_the_shortage)
{
    static struct fluid_point points[POINTS];
    const struct ramp r = {LINEAR, .start = 300, .rise = 200, .slope_per_s = 20 / 60.0};
    struct fluid_plan p = ramp_plan(&r, points, 1000, 60, 300 * SIM_S);
    floor_plus_borrow(&p, 400, 400);
    struct fluid_seen s = fluid_play(&p);
    ramp_is(&s, &p, &r, 40, 300, 720, short_by_formula(&p, &r));
}

/* ---- worksheet pool-designs ---- */

struct pool_case {
    uint32_t fleet;
    double mean, peak, surge, slope_per_s;
    simtime_ns reclaim;
    uint32_t floor;
    /* results */
    uint32_t sep_inf_gpus;
    double sep_idle_gpus, sep_inf_util;
    double shared_short_gpus, shared_breach_s, shared_short_gpu_h_surge;
    double fb_buffer_gpus, fb_held_gpus;
};

/* The defaults and the two other cases. */
static const struct pool_case pool_cases[] = {
    {1000, 240, 400, 120, 20 / 60.0, 300 * SIM_S, 200, 460, 220, 0.521739130435, 100, 660, 10, 100,
     342.135603251},
    {4096, 1078, 1330, 490, 14.4 / 60, 600 * SIM_S, 1073, 1783, 705, 0.604598990466, 144,
     2641.66666667, 81.6666666667, 144, 1242.19516565},
    {1000, 219, 280, 87.3, 13.5 / 60, 120 * SIM_S, 27, 299, 80, 0.732441471572, 27, 508, 2.91, 27,
     246},
};

/* One surge from the mean under the shared design, and under floor-plus-borrow with its buffer. */
static void surge(const struct pool_case *c)
{
    static struct fluid_point points[POINTS];
    const struct ramp r = {LINEAR, .start = c->mean, .rise = c->surge,
                           .slope_per_s = c->slope_per_s};
    struct fluid_plan p = ramp_plan(&r, points, c->fleet, 0, c->reclaim);
    p.start_ns = c->reclaim + 100 * SIM_S;
    p.end_ns = p.start_ns + 3600 * SIM_S;
    shared(&p);
    struct fluid_seen s = fluid_play(&p);
    near(s.max_short_gpus, c->shared_short_gpus, 1, "shared_short_gpus");
    near(s.breach_end_s - s.breach_start_s, c->shared_breach_s, 2 * (1 + 1 / c->slope_per_s),
         "shared_breach_s");
    near(s.short_gpu_s / 3600, c->shared_short_gpu_h_surge, c->shared_breach_s / 3600,
         "shared_short_gpu_h_surge");
    p.buffer_gpus = c->fb_buffer_gpus;
    floor_plus_borrow(&p, c->floor, c->fleet - (uint32_t)ceil(c->mean + c->surge + p.buffer_gpus));
    s = fluid_play(&p);
    near(s.max_short_gpus, 0, c->slope_per_s, "fb_short_gpus"); /* asked once a second */
}

/* A day of the sine wave, sampled each minute. */
static struct fluid_plan day_plan(const struct pool_case *c, struct fluid_point *points)
{
    for (int i = 0; i <= 1440; i++)
        points[i] = (struct fluid_point){
            60.0 * i, c->mean + (c->peak - c->mean) * sin(2 * 3.14159265358979323846 * i / 1440)};
    return (struct fluid_plan){.fleet_gpus = c->fleet,
                               .demand = points,
                               .n_demand = 1441,
                               .reclaim_ns = c->reclaim,
                               .period_ns = SIM_MIN,
                               .end_ns = SIM_DAY};
}

static void day(const struct pool_case *c)
{
    static struct fluid_point points[POINTS];
    struct fluid_plan p = day_plan(c, points);
    separate(&p, c->sep_inf_gpus);
    struct fluid_seen s = fluid_play(&p);
    near(s.idle_gpus, c->sep_idle_gpus, 0.5, "sep_idle_gpus");
    cr_assert_eq(s.service, c->sep_inf_gpus * UINT64_C(86400)); /* to the GPU-second */
    cr_assert_eq(s.training, (c->fleet - c->sep_inf_gpus) * UINT64_C(86400));
    double loading = c->mean * sim_time_to_s(c->reclaim); /* at first nothing serves yet */
    near(((double)s.serving + loading) / (double)s.service, c->sep_inf_util, 0.6 / c->sep_inf_gpus,
         "sep_inf_util");
    p.buffer_gpus = c->fb_buffer_gpus;
    floor_plus_borrow(&p, c->floor, c->fleet - (uint32_t)(c->peak + p.buffer_gpus));
    s = fluid_play(&p);
    near(s.held_gpu_s / 86400, c->fb_held_gpus, 0.5, "fb_held_gpus");
    double lowest = fmax(c->floor, 2 * c->mean - c->peak + p.buffer_gpus);
    near(s.evicted, c->peak + p.buffer_gpus - lowest, 1, "fb_moved_day without surges");
}

Test(fluid, pool_designs_surge)
{
    for (size_t i = 0; i < sizeof pool_cases / sizeof *pool_cases; i++)
        surge(&pool_cases[i]);
}

Test(fluid, pool_designs_day)
{
    for (size_t i = 0; i < sizeof pool_cases / sizeof *pool_cases; i++)
        day(&pool_cases[i]);
}

/* ---- a true order ---- */

/* On this fleet a lower floor never raises attainment. */
Test(fluid, a_lower_floor_never_raises_attainment)
{
    static struct fluid_point points[POINTS];
    const struct ramp ramps[] = {
        {LINEAR, .start = 100, .rise = 80, .slope_per_s = 0.5},
        {STEP, .start = 90, .rise = 60},
        {EXPONENTIAL, .start = 80, .rise = 100, .doubling_s = 300},
    };
    for (int i = 0; i < 3; i++)
        for (int buffer = 0; buffer <= 30; buffer += 15) {
            double last = 1;
            for (int floor = 200; floor >= 0; floor -= 20) {
                struct fluid_plan p = ramp_plan(&ramps[i], points, 256, buffer, 120 * SIM_S);
                p.start_ns = 200 * SIM_S;
                p.end_ns = 900 * SIM_S;
                floor_plus_borrow(&p, (uint32_t)floor, 40);
                double attainment = fluid_play(&p).attainment;
                cr_assert_leq(attainment, last);
                last = attainment;
            }
            cr_assert(buffer > 15 || last < 1);
        }
}

/* The same for random ramps, buffers and pairs of floors: 1,000 with HEADROOM_LONG=1. */
Test(fluid, a_lower_floor_never_raises_attainment_at_random)
{
    static struct fluid_point points[POINTS];
    uint64_t state = 44;
    int worse = 0, cases = getenv("HEADROOM_LONG") ? 1000 : 60;
    for (int i = 0; i < cases; i++) {
        const struct ramp r = {.curve = (enum curve)draw_below(&state, 3),
                               .start = 60 + draw_below(&state, 60),
                               .rise = 20 + draw_below(&state, 90),
                               .slope_per_s = 0.1 + draw_below(&state, 20) / 20.0,
                               .doubling_s = 100 + draw_below(&state, 400)};
        uint32_t buffer = draw_below(&state, 40), high = draw_below(&state, 200);
        uint32_t floors[2] = {high, draw_below(&state, high + 1)};
        simtime_ns reclaim = (60 + draw_below(&state, 200)) * SIM_S;
        double attainment[2];
        for (int k = 0; k < 2; k++) {
            struct fluid_plan p = ramp_plan(&r, points, 256, buffer, reclaim);
            p.start_ns = reclaim + 100 * SIM_S;
            p.end_ns = p.start_ns + 700 * SIM_S;
            floor_plus_borrow(&p, floors[k], 40);
            attainment[k] = fluid_play(&p).attainment;
        }
        cr_assert_leq(attainment[1], attainment[0], "case %d: floors %u and %u", i, floors[0],
                      floors[1]);
        worse += attainment[1] < attainment[0];
    }
    cr_assert_gt(worse, cases / 20);
}
