/* The fluid service and the filler; fluid_service.h says what they do. */
#include "fluid_service.h"

#include "sim/vec.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { GRACE_S = 30, TEARDOWN_S = 6, SCRUB_S = 4, STOP_S = GRACE_S + TEARDOWN_S + SCRUB_S };

/* A lease of one GPU, from the ask to its end; the tag is its number. */
struct unit {
    struct fluid *fluid;
    lease_id lease;
    timer_id timer; /* it becomes ready */
    bool ready;
};

struct fluid {
    const struct fluid_plan *plan;
    struct rig rig;
    struct toy *service;
    struct {
        struct unit *items;
        size_t n, capacity;
    } units; /* in use: the first n_used of order */
    struct {
        uint32_t *items;
        size_t n, capacity;
    } order;
    uint32_t n_used, n_ready, asked;
    timer_id ask, look;
    uint64_t n_events;
    struct fluid_seen seen;
};

double fluid_demand(const struct fluid_plan *p, double t_s)
{
    const struct fluid_point *d = p->demand;
    size_t n = p->n_demand, i = 0;
    while (i < n && d[i].at_s <= t_s)
        i++;
    if (i == 0 || i == n)
        return i == 0 ? d[0].gpus : d[n - 1].gpus;
    double part = (t_s - d[i - 1].at_s) / (d[i].at_s - d[i - 1].at_s);
    return d[i - 1].gpus + part * (d[i].gpus - d[i - 1].gpus);
}

static double demand_at(const struct fluid *f, simtime_ns now)
{
    return fluid_demand(f->plan, sim_time_to_s(now) - sim_time_to_s(f->plan->start_ns));
}

/* ---- units ---- */

static void ready(void *ctx, uint32_t number)
{
    struct fluid *f = ctx;
    struct unit *u = &f->units.items[number];
    u->ready = true;
    f->n_ready++;
    struct reclaim_row *row = fleet_lease_reclaim(f->rig.fleet, u->lease);
    if (row)
        row->ready_ns = engine_now(f->rig.engine);
    fleet_set_state(f->rig.fleet, u->lease, GPU_HELD_IDLE);
}

/* An unused unit, the first after those in use in the order. */
static struct unit *spare(struct fluid *f)
{
    if (f->n_used == f->units.n) {
        struct unit u = {.fluid = f};
        uint32_t number = (uint32_t)f->units.n;
        cr_assert_eq(engine_timer_new(f->rig.engine, EVENT_COMPLETE, ready, f, number, &u.timer),
                     HR_OK);
        cr_assert(vec_push(&f->units, u) && vec_push(&f->order, number));
    }
    struct unit *u = &f->units.items[f->order.items[f->n_used]];
    u->ready = false;
    return u;
}

/* The unit used last ends. */
static void drop_last(struct fluid *f)
{
    struct unit *u = &f->units.items[f->order.items[--f->n_used]];
    cr_assert(u->ready, "the service gives up a start: choose a gentler curve");
    f->n_ready--;
    fleet_stop_at(f->rig.fleet, u->lease, engine_now(f->rig.engine), 0);
}

/* ---- the service ---- */

static void service_turn(struct toy *t, simtime_ns now)
{
    struct fluid *f = t->context;
    for (; f->asked > 0; f->asked--) {
        struct unit *u = spare(f);
        const struct ask one = {.shape = {.gpus = 1, .kind = SHAPE_ONE_NODE},
                                .tag = f->order.items[f->n_used]};
        if (fleet_acquire(f->rig.fleet, t->number, &one, GPU_LOADING, &u->lease) == GRANT_OK)
            engine_schedule(f->rig.engine, u->timer, now + f->plan->reclaim_ns);
        else if (fleet_reclaim(f->rig.fleet, t->number, &one, 0, &u->lease) != GRANT_OK)
            return;
        f->n_used++;
    }
}

static void service_granted(struct toy *t, lease_id l, simtime_ns now)
{
    struct fluid *f = t->context;
    const struct unit *u = &f->units.items[fleet_lease_tag(f->rig.fleet, l)];
    const struct reclaim_row *row = fleet_lease_reclaim(f->rig.fleet, l);
    cr_assert(row && row->decision_ns + STOP_S * SIM_S == now);
    fleet_set_state(f->rig.fleet, l, GPU_LOADING);
    engine_schedule(f->rig.engine, u->timer, row->decision_ns + f->plan->reclaim_ns);
}

static void service_evicted(struct toy *t, lease_id l, simtime_ns now)
{
    (void)t, (void)l, (void)now;
    cr_assert_fail("the service is nobody's victim here");
}

static void ask(void *ctx, uint32_t arg)
{
    (void)arg;
    struct fluid *f = ctx;
    const struct fluid_plan *p = f->plan;
    simtime_ns now = engine_now(f->rig.engine);
    double want = ceil(demand_at(f, now) + p->buffer_gpus - 1e-9);
    want = fmin(fmax(want, p->always_gpus), p->cap_gpus);
    for (; f->n_used > want; f->asked = 0)
        drop_last(f);
    f->asked = (uint32_t)want - f->n_used;
    fleet_busy_set(f->rig.fleet, f->service->number, (uint32_t)ceil(demand_at(f, now)));
    fleet_want_pass(f->rig.fleet);
    engine_schedule(f->rig.engine, f->ask, now + p->period_ns);
}

/* In the middle of a period. */
static void look(void *ctx, uint32_t arg)
{
    (void)arg;
    struct fluid *f = ctx;
    struct fluid_seen *s = &f->seen;
    simtime_ns now = engine_now(f->rig.engine);
    double t = sim_time_to_s(now - f->plan->start_ns), dt = sim_time_to_s(f->plan->period_ns);
    double demand = demand_at(f, now), missing = fmax(0, demand - f->n_ready);
    if (missing > 0) {
        s->breach_start_s = isnan(s->breach_start_s) ? t - dt / 2 : s->breach_start_s;
        s->breach_end_s = t + dt / 2;
    }
    s->max_short_gpus = fmax(s->max_short_gpus, missing);
    s->short_gpu_s += missing * dt;
    s->demand_gpu_s += demand * dt;
    s->held_gpu_s += fleet_usage(f->rig.fleet, f->service->number) * dt;
    engine_schedule(f->rig.engine, f->look, now + f->plan->period_ns);
}

/* ---- the filler ---- */

static void filler_turn(struct toy *t, simtime_ns now)
{
    const struct ask one = {.shape = {.gpus = 1, .kind = SHAPE_ONE_NODE}};
    lease_id l;
    (void)now;
    while (fleet_acquire(t->rig->fleet, t->number, &one, GPU_TRAINING, &l) == GRANT_OK)
        continue;
}

/* ---- playing ---- */

/* Most events are ticks that change nothing: one check in sixteen. */
static void check(void *ctx)
{
    struct fluid *f = ctx;
    if (f->n_events++ % 16 == 0)
        rig_check(&f->rig);
}

static uint64_t gpu_s(const struct rig *r, const struct toy *t, enum gpu_state s)
{
    return (uint64_t)(ledger_total(r->ledger, t->number + 1, s) / SIM_S);
}

static void count(struct fluid *f, const struct toy *filler)
{
    struct fluid_seen *s = &f->seen;
    double span_s = sim_time_to_s(f->plan->end_ns - f->plan->start_ns);
    size_t n;
    const struct reclaim_row *rows = fleet_reclaims(f->rig.fleet, &n);
    for (size_t i = 0; i < n; i++)
        s->evicted += rows[i].decision_ns >= f->plan->start_ns ? rows[i].gpus_evicted : 0;
    ledger_settle(f->rig.ledger, f->plan->end_ns);
    for (int state = 0; state < GPU_STATES; state++)
        s->service += gpu_s(&f->rig, f->service, (enum gpu_state)state);
    s->serving = gpu_s(&f->rig, f->service, GPU_SERVING);
    s->training = gpu_s(&f->rig, filler, GPU_TRAINING);
    s->attainment = 1 - s->short_gpu_s / s->demand_gpu_s;
    s->idle_gpus = (s->held_gpu_s - s->demand_gpu_s) / span_s;
}

struct fluid_seen fluid_play(const struct fluid_plan *p)
{
    struct fluid *f = calloc(1, sizeof *f);
    cr_assert(f && p->reclaim_ns >= STOP_S * SIM_S && p->fleet_gpus % 8 == 0);
    const struct rig_plan plan = {.nodes = p->fleet_gpus / 8,
                                  .gpus_per_node = 8,
                                  .grace_ns = GRACE_S * SIM_S,
                                  .teardown_s = TEARDOWN_S,
                                  .scrub_s = SCRUB_S};
    *f = (struct fluid){.plan = p, .seen = {.breach_start_s = NAN, .breach_end_s = NAN}};
    rig_init(&f->rig, &plan);
    engine_check_set(f->rig.engine, check, f);
    f->service = rig_add(&f->rig, &p->service);
    f->service->context = f;
    f->service->turn = service_turn;
    f->service->on_granted = service_granted;
    f->service->on_evict = service_evicted;
    struct toy *filler = rig_add(&f->rig, &p->training);
    filler->turn = filler_turn;
    struct engine *e = f->rig.engine;
    cr_assert_eq(engine_timer_new(e, EVENT_CONTROL, ask, f, 0, &f->ask), HR_OK);
    cr_assert_eq(engine_timer_new(e, EVENT_CONTROL, look, f, 0, &f->look), HR_OK);
    engine_schedule(e, f->ask, 0);
    engine_schedule(e, f->look, p->start_ns + p->period_ns / 2);
    cr_assert_eq(engine_run(e, p->end_ns), HR_OK);
    count(f, filler);
    struct fluid_seen seen = f->seen;
    rig_fini(&f->rig);
    vec_free(&f->units);
    vec_free(&f->order);
    free(f);
    return seen;
}
