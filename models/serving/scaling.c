/* How many replicas a service has: asked for at autoscaler ticks, taken in scheduling passes, given
 * up when they are too many. */
#include "models/serving/service_internal.h"

#include <assert.h>
#include <math.h>

uint32_t scaling_current(const struct service *s)
{
    return s->asked + s->count[UNIT_ASSEMBLING] + s->count[UNIT_LOADING] + s->count[UNIT_READY];
}

static struct ask replica_ask(const struct unit *u)
{
    const struct service_plan *plan = u->service->plan;
    const struct shape shape = {.gpus = plan->gpus_per_replica,
                                .kind = plan->slice ? SHAPE_SLICE : SHAPE_ONE_NODE,
                                .profile = (uint8_t)(plan->slice ? plan->slice - 1 : 0),
                                .exact = true}; /* its step times are those of its profile */
    return (struct ask){.shape = shape, .tag = u->number};
}

uint32_t scaling_waiting_share(void *ctx)
{
    const struct service_seat *seat = ctx;
    const struct service *s = seat->service;
    const struct quota *q = fleet_quota(seat->fleet, s->claimant);
    uint32_t gpus = s->plan->gpus_per_replica;
    bool admissible = fleet_usage(seat->fleet, s->claimant) + gpus <= q->ceiling_gpus;
    uint32_t share = s->plan->slice ? UINT32_C(1) << (s->plan->slice - 1) : gpus;
    return s->asked && admissible ? share : 0;
}

void scaling_waiting_slices(void *ctx, uint32_t n[MIG_PROFILES])
{
    const struct service_seat *seat = ctx;
    const struct service *s = seat->service;
    const struct quota *q = fleet_quota(seat->fleet, s->claimant);
    uint32_t usage = fleet_usage(seat->fleet, s->claimant);
    uint32_t most =
        usage < q->ceiling_gpus ? (q->ceiling_gpus - usage) / s->plan->gpus_per_replica : 0;
    n[s->plan->slice - 1] += s->asked < most ? s->asked : most;
}

/* The i-th pool in its order of preference. */
static struct fleet *preferred(const struct service *s, uint32_t i)
{
    return s->pools[s->plan->pools[i].pool].fleet;
}

/* Free GPUs of the first pool that has them. */
static bool take_free(struct unit *u)
{
    struct service *s = u->service;
    const struct ask ask = replica_ask(u);
    lease_id lease;
    for (uint32_t i = 0; i < s->plan->n_pools; i++)
        if (fleet_acquire(preferred(s, i), s->claimant, &ask, GPU_LOADING, &lease) == GRANT_OK)
            return unit_hold(u, preferred(s, i), lease, UNIT_LOADING);
    return false;
}

/* Reclaimed GPUs of the first pool that has them. */
static bool take_reclaimed(struct unit *u, simtime_ns now)
{
    struct service *s = u->service;
    const struct ask ask = replica_ask(u);
    simtime_ns detect_ns = s->short_since == SIM_NEVER ? 0 : now - s->short_since;
    lease_id lease;
    for (uint32_t i = 0; i < s->plan->n_pools; i++)
        if (fleet_reclaim(preferred(s, i), s->claimant, &ask, detect_ns, &lease) == GRANT_OK)
            return unit_hold(u, preferred(s, i), lease, UNIT_ASSEMBLING);
    return false;
}

/* One of the replicas asked for gets GPUs; false when none can be had now. */
static bool take_one(struct service *s, simtime_ns now)
{
    struct unit *u = unit_spare(s);
    if (u && take_free(u)) {
        unit_loading(u, now);
        return s->err == HR_OK;
    }
    return u && take_reclaimed(u, now);
}

void scaling_schedule(void *seat, simtime_ns now)
{
    struct service *s = ((const struct service_seat *)seat)->service;
    while (s->asked && s->err == HR_OK && take_one(s, now))
        s->asked--;
}

static void want_pass(const struct service *s)
{
    for (uint32_t i = 0; i < s->plan->n_pools; i++)
        fleet_want_pass(preferred(s, i));
}

/* The highest-numbered unit in a state; NULL when there is none. */
static struct unit *highest(const struct service *s, enum unit_state state)
{
    for (size_t i = s->units.n; s->count[state] && i-- > 0;)
        if (s->units.items[i]->state == state)
            return s->units.items[i];
    return NULL;
}

/* Those that do no work yet go first: asked for, assembling, loading; then the ready replica with
 * fewest requests, the highest number among equals. */
static void give_up_one(struct service *s, simtime_ns now)
{
    struct unit *u;
    if (s->asked) {
        s->asked--;
    } else if ((u = highest(s, UNIT_ASSEMBLING))) {
        unit_abandon(u);
    } else if ((u = highest(s, UNIT_LOADING))) {
        unit_drain(u, now);
    } else {
        uint32_t number = router_least_highest(s->router);
        assert(number != ROUTER_NONE);
        unit_drain(s->units.items[number], now);
    }
}

void scaling_want(struct service *s, uint32_t wanted, simtime_ns now)
{
    uint32_t current = scaling_current(s);
    bool measured = s->start_ns != SIM_NEVER;
    if (measured && wanted > s->totals.max_wanted)
        s->totals.max_wanted = wanted;
    if (wanted > current) {
        s->asked += wanted - current;
        s->totals.scale_ups += measured ? wanted - current : 0;
    } else if (wanted < current) {
        s->totals.scale_downs += measured ? current - wanted : 0;
        for (uint32_t i = wanted; i < current; i++)
            give_up_one(s, now);
    }
    if (s->asked)
        want_pass(s);
}

/* Requests arrived, or request-seconds in flight, since time 0. */
static double metric_integral(const struct service *s, simtime_ns now)
{
    if (s->plan->autoscaler.metric == SCALER_REQUEST_RATE)
        return (double)s->arrived;
    u128 ns = s->in_flight_ns + (u128)s->in_flight * (now - s->in_flight_since);
    return (double)ns * 1e-9;
}

/* Requests in flight when each replica holds n and all together carry rate. A request takes a
 * replica's time for its prefill, pf, and output decode steps of length s(n) while n share them:
 * n = r output s / (1 - r pf) for the rate r of one replica, so r = n / (output s + n pf). */
static double in_flight_at(const struct service_plan *p, double rate, double n)
{
    double prompt, output;
    traffic_mean_tokens(&p->traffic, &prompt, &output);
    const struct step_time *t = &p->replica.step;
    double context = n * (prompt + output / 2);
    double step_ps = (double)t->a_ps + (double)t->b_ps * n + (double)t->c_ps * context;
    double prefill_ps =
        (double)t->d_ps + (double)t->e_ps * prompt + (double)t->f_fs * 1e-3 * prompt * prompt;
    prefill_ps = fmax(prefill_ps, (double)t->floor_ps);
    double replica_rate = n / ((output * step_ps + n * prefill_ps) * 1e-12);
    return rate / replica_rate * n;
}

/* The metric of a steady request rate. */
static double metric_of_rate(const struct service_plan *p, double rate)
{
    bool by_rate = p->autoscaler.metric == SCALER_REQUEST_RATE;
    return by_rate ? rate : in_flight_at(p, rate, p->autoscaler.target);
}

/* What the metric will be when replicas asked for now are ready; 0 without a forecast. */
static double forecast(struct service *s, simtime_ns now)
{
    const struct service_plan *p = s->plan;
    if (!p->forecast.enabled)
        return 0;
    return metric_of_rate(p, forecast_rate(&s->forecast, sim_time_add(now, p->forecast.lead_ns)));
}

static void scaling_tick(void *ctx, uint32_t arg)
{
    (void)arg;
    struct service *s = ctx;
    simtime_ns now = engine_now(s->engine);
    double metric = metric_integral(s, now), ahead = forecast(s, now);
    scaling_want(s, autoscaler_tick(s->scaler, now, metric, ahead, scaling_current(s)), now);
    engine_schedule(s->engine, s->tick, now + s->plan->autoscaler.period_ns);
}

enum hr_err scaling_init(struct service *s, uint64_t seed, uint32_t replication, simtime_ns horizon)
{
    if (!s->plan->autoscaler.enabled)
        return HR_OK;
    s->scaler = autoscaler_new(&s->plan->autoscaler);
    if (!s->scaler)
        return HR_NOMEM;
    forecast_init(&s->forecast, &s->plan->forecast, &s->plan->traffic, seed, replication,
                  s->plan->name);
    TRY(engine_timer_new(s->engine, EVENT_CONTROL, scaling_tick, s, 0, &s->tick));
    if (s->plan->autoscaler.period_ns < horizon)
        engine_schedule(s->engine, s->tick, s->plan->autoscaler.period_ns);
    return HR_OK;
}

/* What the autoscaler wants for the mean rate of the first window. */
static uint32_t initial_replicas(const struct service *s)
{
    const struct service_plan *p = s->plan;
    if (p->initial_replicas != UINT32_MAX)
        return p->initial_replicas;
    double rate = traffic_base_rate(&p->traffic) * traffic_factor(&p->traffic, 0);
    return autoscaler_wish(&p->autoscaler, metric_of_rate(p, rate));
}

/* A replica that is ready from the start. */
static bool start_one(struct service *s)
{
    struct unit *u = unit_spare(s);
    if (!u || !take_free(u))
        return false;
    unit_ready(u, 0);
    return s->err == HR_OK;
}

enum hr_err service_start(struct service *s)
{
    uint32_t n = initial_replicas(s);
    for (s->asked = n; s->asked && start_one(s); s->asked--)
        ;
    if (s->asked)
        want_pass(s);
    return s->err;
}
