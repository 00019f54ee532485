/* One run of a station. Times are kept in a ring by customer number. */
#include "station.h"

#include "sim/rng.h"

#include <stdlib.h>

enum { RING = 1 << 17, MAX_SERVERS = 64 };

struct station {
    const struct station_plan *plan;
    struct engine *engine;
    struct rng gaps, services;
    simtime_ns *arrivals; /* ring, by customer number */
    timer_id timers[MAX_SERVERS];
    uint64_t serving[MAX_SERVERS]; /* customer number */
    uint64_t busy;                 /* bit per server */
    uint64_t n_arrived,
        n_started; /* customers are numbered as they come, and start in that order */
    struct level in_system;
    u128 sojourns_ns; /* of all who left */
    u128 measured_waits_ns, measured_sojourns_ns;
    uint64_t n_waited;
    simtime_ns measured_from, measured_to;
    i128 integral_from, integral_to;
    uint64_t checksum;
    bool overflow;
};

static bool is_measured(const struct station *s, uint64_t customer)
{
    return customer >= s->plan->n_warmup;
}

static void start(struct station *s, uint32_t server)
{
    uint64_t customer = s->n_started++;
    simtime_ns now = engine_now(s->engine), waited = now - s->arrivals[customer % RING];
    s->serving[server] = customer;
    s->busy |= UINT64_C(1) << server;
    if (is_measured(s, customer)) {
        s->measured_waits_ns += waited;
        s->n_waited += waited > 0;
    }
    simtime_ns service = dist_draw(&s->plan->service, &s->services);
    engine_schedule(s->engine, s->timers[server], now + service);
}

static void depart(void *ctx, uint32_t server)
{
    struct station *s = ctx;
    uint64_t customer = s->serving[server];
    simtime_ns now = engine_now(s->engine), sojourn = now - s->arrivals[customer % RING];
    s->sojourns_ns += sojourn;
    if (is_measured(s, customer))
        s->measured_sojourns_ns += sojourn;
    s->checksum = (s->checksum ^ now ^ customer << 20) * UINT64_C(0x100000001b3);
    s->busy &= ~(UINT64_C(1) << server);
    level_add(&s->in_system, now, -1);
    if (s->n_started < s->n_arrived)
        start(s, server);
}

static simtime_ns arrive(void *ctx)
{
    struct station *s = ctx;
    simtime_ns now = engine_now(s->engine);
    uint64_t all = s->plan->n_warmup + s->plan->n_customers;
    if (s->n_arrived == s->plan->n_warmup) {
        s->measured_from = now;
        s->integral_from = level_integral(&s->in_system, now);
    }
    s->overflow |= s->in_system.value == RING;
    s->arrivals[s->n_arrived++ % RING] = now;
    level_add(&s->in_system, now, 1);
    uint32_t server = (uint32_t)__builtin_ctzll(~s->busy | UINT64_C(1) << 63);
    if (s->n_started + 1 == s->n_arrived && server < s->plan->servers && !(s->busy >> server & 1))
        start(s, server);
    if (s->n_arrived == all) {
        s->measured_to = now;
        s->integral_to = level_integral(&s->in_system, now);
        return SIM_NEVER;
    }
    return now + dist_draw(&s->plan->gap, &s->gaps);
}

/* The integral of the number in the system over [0, now) is the sum of sojourns clipped to it. */
static bool little_holds(const struct station *s)
{
    simtime_ns now = engine_now(s->engine);
    u128 sum = s->sojourns_ns;
    for (uint64_t c = s->n_started; c < s->n_arrived; c++)
        sum += now - s->arrivals[c % RING];
    for (uint32_t server = 0; server < s->plan->servers; server++)
        if (s->busy >> server & 1)
            sum += now - s->arrivals[s->serving[server] % RING];
    return (i128)sum == level_integral(&s->in_system, now);
}

static bool prepare(struct station *s)
{
    s->arrivals = malloc(RING * sizeof *s->arrivals);
    s->engine = engine_new();
    if (!s->arrivals || !s->engine)
        return false;
    rng_init(&s->gaps, s->plan->seed, s->plan->replication, "station", "gap");
    rng_init(&s->services, s->plan->seed, s->plan->replication, "station", "service");
    level_init(&s->in_system, 0, 0);
    for (uint32_t i = 0; i < s->plan->servers; i++)
        if (engine_timer_new(s->engine, EVENT_COMPLETE, depart, s, i, &s->timers[i]) != HR_OK)
            return false;
    simtime_ns first = dist_draw(&s->plan->gap, &s->gaps);
    return engine_cursor_add(s->engine, EVENT_ARRIVAL, arrive, s, first) == HR_OK;
}

static bool play(struct station *s, struct station_result *result)
{
    double n_all = (double)(s->plan->n_warmup + s->plan->n_customers);
    simtime_ns tenth = sim_time_from_s(n_all * dist_mean_s(&s->plan->gap) / 10);
    result->little = true;
    for (simtime_ns end = tenth; s->measured_to == 0; end += tenth) {
        if (engine_run(s->engine, end) != HR_OK)
            return false;
        result->little = result->little && little_holds(s);
    }
    if (engine_run(s->engine, SIM_NEVER) != HR_OK || s->overflow)
        return false;
    result->little = result->little && little_holds(s) && s->in_system.value == 0;
    return true;
}

bool station_run(const struct station_plan *plan, struct station_result *result)
{
    struct station *s = calloc(1, sizeof *s);
    if (!s)
        return false;
    s->plan = plan;
    bool ok = prepare(s) && play(s, result);
    double n = (double)plan->n_customers;
    if (ok) {
        result->wait_s = (double)s->measured_waits_ns * 1e-9 / n;
        result->sojourn_s = (double)s->measured_sojourns_ns * 1e-9 / n;
        result->waited_frac = (double)s->n_waited / n;
        result->n_in_system = (double)(s->integral_to - s->integral_from) /
                              (double)(s->measured_to - s->measured_from);
        result->checksum = s->checksum;
    }
    engine_free(s->engine);
    free(s->arrivals);
    free(s);
    return ok;
}
