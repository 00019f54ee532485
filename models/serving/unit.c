/* The life of one replica on its lease: cold start, ready, drain, gone. */
#include "models/serving/service_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void unit_step(void *ctx, uint32_t arg);
static void unit_stage(void *ctx, uint32_t arg);

static void set_state(struct unit *u, enum unit_state state)
{
    u->service->count[u->state]--;
    u->service->count[state]++;
    u->state = state;
}

void unit_prefetch(const void *ctx)
{
    const struct unit_block *block = ctx;
    for (size_t i = 0; i < REPLICA_BYTES; i += 64)
        __builtin_prefetch(block->replica + i);
    if (block->unit.replica)
        replica_prefetch(block->unit.replica);
}

static struct unit *unit_make(struct service *s)
{
    struct unit_block *block = aligned_alloc(_Alignof(struct unit_block), sizeof *block);
    if (!block) {
        service_fail(s, HR_NOMEM);
        return NULL;
    }
    struct unit *u = &block->unit;
    *u = (struct unit){
        .service = s,
        .number = (uint32_t)s->units.n,
        .lease = LEASE_NONE,
        .due = SIM_NEVER,
    };
    enum hr_err err = engine_timer_new(s->engine, EVENT_COMPLETE, unit_step, u, 0, &u->step);
    if (err == HR_OK)
        err = engine_timer_new(s->engine, EVENT_COMPLETE, unit_stage, u, 0, &u->stage);
    if (err != HR_OK || !vec_push(&s->units, u)) {
        service_fail(s, err != HR_OK ? err : HR_NOMEM);
        free(u);
        return NULL;
    }
    if (s->units.n > UNITS_COLD)
        engine_prefetch_set(s->engine, u->step, unit_prefetch);
    s->count[UNIT_GONE]++;
    return u;
}

struct unit *unit_spare(struct service *s)
{
    for (size_t i = 0; i < s->units.n && s->count[UNIT_GONE]; i++)
        if (s->units.items[i]->state == UNIT_GONE)
            return s->units.items[i];
    return unit_make(s);
}

bool unit_hold(struct unit *u, struct fleet *f, lease_id lease, enum unit_state state)
{
    struct service *s = u->service;
    const struct replica_events events = {s, NULL, service_request_done};
    const struct replica_config *config = s->plan->n_clients ? s->plan->clients : &s->plan->replica;
    u->replica = replica_init(unit_block(u)->replica, config, &events);
    if (!u->replica) {
        service_fail(s, HR_NOMEM);
        return false;
    }
    u->fleet = f;
    u->lease = lease;
    set_state(u, state);
    return true;
}

static struct batch_sum batch_of(const struct replica *r, simtime_ns now)
{
    struct batch_sum sum = {.evictions = replica_evictions(r)};
    uint64_t busy_ns;
    replica_batch(r, now, &sum.request_ns, &busy_ns);
    sum.busy_ns = busy_ns;
    return sum;
}

static void batch_add(struct batch_sum *into, struct batch_sum more)
{
    into->request_ns += more.request_ns;
    into->busy_ns += more.busy_ns;
    into->evictions += more.evictions;
}

struct batch_sum unit_sums(const struct service *s, simtime_ns now)
{
    struct batch_sum sum = s->gone;
    for (size_t i = 0; i < s->units.n; i++)
        if (s->units.items[i]->replica)
            batch_add(&sum, batch_of(s->units.items[i]->replica, now));
    return sum;
}

static void unit_free(struct service *s, struct unit *u)
{
    batch_add(&s->gone, batch_of(u->replica, engine_now(s->engine)));
    replica_fini(u->replica);
    u->replica = NULL;
    u->lease = LEASE_NONE;
    u->due = SIM_NEVER;
    engine_cancel(s->engine, u->step);
    engine_cancel(s->engine, u->stage);
    set_state(u, UNIT_GONE);
}

void unit_loading(struct unit *u, simtime_ns now)
{
    struct service *s = u->service;
    simtime_ns *stages_ns = unit_block(u)->stages_ns, total = 0;
    for (int stage = STAGE_SCHEDULE; stage < STAGES; stage++) {
        stages_ns[stage] = dist_draw(&s->plan->cold_start[stage], &s->cold_start);
        total = sim_time_add(total, stages_ns[stage]);
    }
    set_state(u, UNIT_LOADING);
    engine_schedule(s->engine, u->stage, sim_time_add(now, total));
}

static struct unit *unit_of(const struct service_seat *seat, lease_id l)
{
    return seat->service->units.items[fleet_lease_tag(seat->fleet, l)];
}

void unit_granted(void *seat, lease_id l, simtime_ns now)
{
    struct unit *u = unit_of(seat, l);
    fleet_set_state(u->fleet, l, GPU_LOADING);
    unit_loading(u, now);
}

static void complete_reclaim(struct unit *u, simtime_ns now)
{
    struct reclaim_row *row = fleet_lease_reclaim(u->fleet, u->lease);
    if (!row)
        return;
    const simtime_ns *stages_ns = unit_block(u)->stages_ns;
    row->ready_ns = now;
    for (int stage = STAGE_SCHEDULE; stage < STAGES; stage++)
        row->stage_ns[stage] = stages_ns[stage];
}

/* What it holds has changed. */
static void tell_router(struct unit *u)
{
    router_update(u->service->router, u->number, replica_count(u->replica) + u->handicap);
}

/* The handicap of a slow start sinks from safe_in_flight to none in equal steps of time. */
static void slow_start(struct unit *u, simtime_ns now)
{
    enum { STEPS = 16 };
    const struct service_plan *p = u->service->plan;
    simtime_ns age = now - u->ready_ns;
    u->handicap = 0;
    if (age >= p->slow_start_ns)
        return;
    double left = 1 - (double)age / (double)p->slow_start_ns;
    u->handicap = (uint32_t)ceil(p->safe_in_flight * left);
    simtime_ns step = p->slow_start_ns / STEPS + 1;
    engine_schedule(u->service->engine, u->stage, now + step);
}

void unit_ready(struct unit *u, simtime_ns now)
{
    struct service *s = u->service;
    set_state(u, UNIT_READY);
    complete_reclaim(u, now);
    fleet_set_state(u->fleet, u->lease, GPU_HELD_IDLE);
    u->ready_ns = now;
    u->handicap = 0;
    if (now > 0)
        slow_start(u, now);
    enum hr_err err = router_add(s->router, u->number, u->handicap);
    if (err != HR_OK)
        service_fail(s, err);
    service_capacity_changed(s);
    service_flush(s);
}

/* Takes every request out of the replica, into the service's scratch. */
static enum hr_err take_all(struct unit *u, simtime_ns now, size_t *n)
{
    struct service *s = u->service;
    if (!vec_reserve(&s->taken, replica_count(u->replica)))
        return HR_NOMEM;
    *n = replica_take_all(u->replica, now, s->taken.items);
    return HR_OK;
}

/* Hands every request back to the router. */
static void give_back(struct unit *u, simtime_ns now)
{
    struct service *s = u->service;
    if (replica_count(u->replica) == 0)
        return;
    size_t n;
    enum hr_err err = take_all(u, now, &n);
    if (err != HR_OK)
        service_fail(s, err);
    else
        service_return(s, s->taken.items, n);
}

enum hr_err unit_book_open(struct service *s, simtime_ns now)
{
    for (size_t i = 0; i < s->units.n; i++) {
        size_t n = 0;
        if (s->units.items[i]->replica)
            TRY(take_all(s->units.items[i], now, &n));
        for (size_t j = 0; j < n; j++)
            TRY(service_book_open(s, &s->taken.items[j], now));
    }
    return HR_OK;
}

static void unit_end(struct unit *u, simtime_ns now)
{
    struct service *s = u->service;
    lease_id lease = u->lease;
    give_back(u, now);
    unit_free(s, u);
    fleet_stop_at(u->fleet, lease, now, 0);
}

static void leave_router(struct unit *u)
{
    struct service *s = u->service;
    if (u->state != UNIT_READY)
        return;
    router_remove(s->router, u->number);
    engine_cancel(s->engine, u->stage);
}

void unit_drain(struct unit *u, simtime_ns now)
{
    struct service *s = u->service;
    leave_router(u);
    fleet_set_state(u->fleet, u->lease, GPU_DRAINING);
    set_state(u, UNIT_DRAINING);
    service_capacity_changed(s);
    if (replica_count(u->replica) == 0)
        unit_end(u, now);
    else
        engine_schedule(s->engine, u->stage, sim_time_add(now, s->plan->drain_limit_ns));
}

void unit_abandon(struct unit *u)
{
    struct service *s = u->service;
    lease_id lease = u->lease;
    unit_free(s, u);
    fleet_abandon(u->fleet, lease);
}

/* The fleet takes the GPUs: as a drain, but the grace bounds it and the end is announced now. The
 * lease's tag stays valid; the unit lives on until that end without it. */
void unit_evict(void *seat, lease_id l, simtime_ns now, simtime_ns grace_ns)
{
    struct unit *u = unit_of(seat, l);
    struct service *s = u->service;
    leave_router(u);
    bool was_ready = u->state == UNIT_READY;
    bool was_draining = u->state == UNIT_DRAINING;
    simtime_ns limit = grace_ns < s->plan->drain_limit_ns ? grace_ns : s->plan->drain_limit_ns;
    simtime_ns end = sim_time_add(now, limit);
    if (was_draining && engine_due(s->engine, u->stage) < end)
        end = engine_due(s->engine, u->stage);
    if (replica_count(u->replica) == 0)
        end = now;
    u->lease = LEASE_NONE;
    set_state(u, UNIT_DRAINING);
    fleet_stop_at(u->fleet, l, end, 0);
    engine_schedule(s->engine, u->stage, end);
    if (was_ready)
        service_capacity_changed(s);
}

/* Its node died, or a fault ended it: what it held returns to the router at once and is computed
 * anew elsewhere. */
void unit_failed(void *seat, lease_id l, uint32_t node, simtime_ns now)
{
    (void)node;
    struct unit *u = unit_of(seat, l);
    bool was_ready = u->state == UNIT_READY;
    leave_router(u);
    unit_end(u, now);
    if (was_ready)
        service_capacity_changed(u->service);
}

/* The GPUs it waited for went with their node: it is asked for again. */
void unit_withdrawn(void *seat, lease_id l, simtime_ns now)
{
    (void)now;
    struct unit *u = unit_of(seat, l);
    unit_free(u->service, u);
    u->service->asked++;
}

uint64_t unit_loss(void *seat, lease_id l, simtime_ns now)
{
    (void)now;
    const struct unit *u = unit_of(seat, l);
    return replica_count(u->replica) * SIM_S * u->service->plan->gpus_per_replica;
}

/* Sets the timer to the replica's next due time. */
static void set_due(struct unit *u, simtime_ns due)
{
    if (due == u->due)
        return;
    u->due = due;
    engine_schedule(u->service->engine, u->step, due);
}

/* As fast as the clients at work on its GPU let it be, from its next step on. */
static void follow(struct unit *u, simtime_ns now)
{
    const struct service_plan *p = u->service->plan;
    uint32_t n = p->n_clients > 0 ? fleet_lease_clients(u->fleet, u->lease) : 0;
    if (n > 0)
        replica_change(u->replica, &p->clients[(n < p->n_clients ? n : p->n_clients) - 1], now);
}

/* What has just been at a boundary of this instant is there again only to be slower or faster. */
void unit_crowded(void *seat, lease_id l, simtime_ns now)
{
    struct unit *u = unit_of(seat, l);
    if (u->lease != l || replica_count(u->replica) == 0)
        return;
    replica_run_to(u->replica, now + 1);
    follow(u, now);
    set_due(u, replica_due(u->replica));
}

/* It begins to work on its first request, at the speed that it has then. */
static void wake(struct unit *u, simtime_ns now)
{
    if (u->service->plan->n_clients == 0)
        return;
    follow(u, now);
    fleet_lease_work(u->fleet, u->lease, true);
}

static void rest(struct unit *u)
{
    if (u->service->plan->n_clients > 0)
        fleet_lease_work(u->fleet, u->lease, false);
}

enum hr_err unit_submit(struct unit *u, const struct replica_request *request, simtime_ns now)
{
    replica_run_to(u->replica, now);
    if (replica_count(u->replica) == 0)
        wake(u, now);
    TRY(replica_submit(u->replica, request, now));
    tell_router(u);
    set_due(u, replica_due_submitted(u->replica, u->due));
    return HR_OK;
}

void unit_run_all(struct service *s, simtime_ns t)
{
    for (size_t i = 0; i < s->units.n; i++)
        if (s->units.items[i]->replica)
            replica_run_to(s->units.items[i]->replica, t);
}

static void unit_step(void *ctx, uint32_t arg)
{
    (void)arg;
    struct unit *u = ctx;
    struct service *s = u->service;
    simtime_ns now = engine_now(s->engine);
    uint32_t before = replica_count(u->replica);
    replica_run_to(u->replica, now + 1);
    u->due = SIM_NEVER;
    uint32_t left = replica_count(u->replica);
    if (u->state == UNIT_READY) {
        if (left != before)
            tell_router(u);
        if (left == 0)
            rest(u);
        set_due(u, replica_due(u->replica));
        if (s->waiting.n)
            service_flush(s);
    } else if (left == 0 && u->lease != LEASE_NONE) {
        unit_end(u, now);
    } else {
        set_due(u, replica_due(u->replica));
    }
}

/* The end of the cold start, a step of the slow start, the end of the drain limit or of an
 * eviction's grace. */
static void unit_stage(void *ctx, uint32_t arg)
{
    (void)arg;
    struct unit *u = ctx;
    struct service *s = u->service;
    simtime_ns now = engine_now(s->engine);
    if (u->state == UNIT_LOADING) {
        unit_ready(u, now);
    } else if (u->state == UNIT_READY) {
        slow_start(u, now);
        tell_router(u);
    } else if (u->lease != LEASE_NONE) {
        unit_end(u, now);
    } else {
        give_back(u, now);
        unit_free(s, u);
    }
}
