/* Requests through a service: they arrive, wait or go to a replica, emit a first token, end. */
#include "models/serving/service_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void service_fail(struct service *s, enum hr_err err)
{
    if (s->err == HR_OK)
        s->err = err;
    engine_stop(s->engine);
}

static simtime_ns now_of(const struct service *s)
{
    return engine_now(s->engine);
}

/* ---- in flight, and what it says about capacity ---- */

/* busy = ceil(in_flight / safe), with the range of in_flight in which that stays so: the ledger is
 * told when the number changes, not at each request. */
static void busy_update(struct service *s)
{
    double safe = s->plan->safe_in_flight;
    s->busy = (uint32_t)ceil(s->in_flight / safe);
    s->busy_low = s->busy ? (uint32_t)floor((s->busy - 1) * safe) : 0;
    double high = floor(s->busy * safe);
    s->busy_high = high >= UINT32_MAX ? UINT32_MAX : (uint32_t)high;
    service_capacity_changed(s);
}

void service_capacity_changed(struct service *s)
{
    uint32_t ready = s->count[UNIT_READY];
    uint32_t busy = s->busy < ready ? s->busy : ready;
    uint32_t gpus = busy * s->plan->gpus_per_replica;
    for (uint32_t i = 0; i < s->plan->n_pools; i++)
        gpus -= fleet_busy_set(s->pools[s->plan->pools[i].pool].fleet, s->claimant, gpus);
    if (s->busy <= ready)
        s->short_since = SIM_NEVER;
    else if (s->short_since == SIM_NEVER)
        s->short_since = now_of(s);
    if (s->start_ns != SIM_NEVER && ready > s->totals.max_ready)
        s->totals.max_ready = ready;
}

static void in_flight_add(struct service *s, int change, simtime_ns now)
{
    s->in_flight_ns += (u128)s->in_flight * (now - s->in_flight_since);
    s->in_flight_since = now;
    s->in_flight += (uint32_t)change;
    bool in_range =
        s->in_flight ? s->in_flight > s->busy_low && s->in_flight <= s->busy_high : s->busy == 0;
    if (!in_range)
        busy_update(s);
}

/* ---- the end of a request ---- */

static void emit_row(struct service *s, const struct replica_request *r, enum slo_fate fate,
                     simtime_ns now)
{
    if (!s->sink.request)
        return;
    const struct live *live = &s->live.items[r->id];
    bool first = r->first_token_ns != SIM_NEVER;
    const struct request_row row = {
        .number = live->number,
        .service = s->number,
        .arrival_ns = r->arrival_ns,
        .prompt_tokens = r->prompt_tokens,
        .output_tokens = r->output_tokens,
        .ttft_ns = first ? r->first_token_ns - r->arrival_ns : SIM_NEVER,
        .e2e_ns = fate == SLO_DONE ? now - r->arrival_ns : SIM_NEVER,
        .fate = fate,
        .retries = live->retries,
    };
    s->sink.request(s->sink.self, &row);
}

static void count_end(struct service *s, const struct replica_request *r, enum slo_fate fate)
{
    struct service_totals *t = &s->totals;
    t->done += fate == SLO_DONE;
    t->too_long += fate == SLO_TOO_LONG;
    t->timed_out += fate == SLO_TIMED_OUT;
    if (fate == SLO_DONE) {
        t->prompt_tokens += r->prompt_tokens;
        t->output_tokens += r->output_tokens;
    }
}

/* From the requests' side of Little's law: the part of the stay inside the measured part. */
static void count_sojourn(struct service *s, const struct replica_request *r, simtime_ns now)
{
    simtime_ns from = r->arrival_ns > s->start_ns ? r->arrival_ns : s->start_ns;
    if (s->start_ns != SIM_NEVER && now > from)
        s->totals.sojourn_ns += now - from;
}

static void request_end(struct service *s, const struct replica_request *r, enum slo_fate fate,
                        simtime_ns now)
{
    if (slo_measured(&s->plan->slo, r->arrival_ns)) {
        simtime_ns ttft = r->first_token_ns - r->arrival_ns, e2e = now - r->arrival_ns;
        uint32_t steps = r->output_tokens - 1;
        simtime_ns tpot = steps ? (e2e - ttft + steps / 2) / steps : 0;
        enum hr_err err = slo_ended(s->slo, r->arrival_ns, fate, ttft, steps > 0, tpot, e2e);
        if (err != HR_OK)
            service_fail(s, err);
        count_end(s, r, fate);
    }
    count_sojourn(s, r, now);
    emit_row(s, r, fate, now);
    live_drop(&s->live, r->id);
    in_flight_add(s, -1, now);
}

void service_request_done(void *self, const struct replica_request *request, simtime_ns at)
{
    request_end(self, request, SLO_DONE, at);
}

/* ---- waiting for a replica ---- */

static void timeout_resched(struct service *s)
{
    if (s->plan->request_timeout_ns == SIM_NEVER)
        return;
    uint32_t head = live_queue_peek(&s->waiting);
    if (head == LIVE_NONE) {
        engine_cancel(s->engine, s->timeout);
        return;
    }
    simtime_ns due =
        sim_time_add(s->live.items[head].request.arrival_ns, s->plan->request_timeout_ns);
    engine_schedule(s->engine, s->timeout, due > now_of(s) ? due : now_of(s));
}

static void timeout_fire(void *ctx, uint32_t arg)
{
    (void)arg;
    struct service *s = ctx;
    simtime_ns now = now_of(s);
    for (uint32_t n = s->waiting.n; n > 0; n--) {
        uint32_t id = live_queue_peek(&s->waiting);
        const struct replica_request *r = &s->live.items[id].request;
        if (sim_time_add(r->arrival_ns, s->plan->request_timeout_ns) > now)
            break;
        live_queue_pop(&s->waiting);
        request_end(s, r, SLO_TIMED_OUT, now);
    }
    timeout_resched(s);
}

/* Submits to the replica the router picks; false when there is none. */
static bool dispatch(struct service *s, const struct replica_request *request)
{
    uint32_t number = router_pick(s->router);
    if (number == ROUTER_NONE)
        return false;
    struct unit *u = s->units.items[number];
    enum hr_err err = unit_submit(u, request, now_of(s));
    if (err != HR_OK)
        service_fail(s, err);
    return true;
}

void service_flush(struct service *s)
{
    uint32_t before = s->waiting.n;
    while (s->waiting.n && s->err == HR_OK &&
           dispatch(s, &s->live.items[live_queue_peek(&s->waiting)].request))
        live_queue_pop(&s->waiting);
    if (s->waiting.n != before)
        timeout_resched(s);
}

void service_return(struct service *s, const struct replica_request *taken, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        struct live *r = &s->live.items[taken[i].id];
        r->request = taken[i];
        r->retries++;
        s->totals.retried += s->start_ns != SIM_NEVER;
        enum hr_err err = live_queue_push_head(&s->waiting, taken[i].id);
        if (err != HR_OK)
            service_fail(s, err);
    }
    timeout_resched(s);
    service_flush(s);
}

/* ---- arrival ---- */

static void arrive(struct service *s, const struct request *q)
{
    uint32_t id = live_take(&s->live);
    if (id == LIVE_NONE) {
        service_fail(s, HR_NOMEM);
        return;
    }
    struct live *live = &s->live.items[id];
    live->number = s->arrived++;
    live->retries = 0;
    const struct replica_request r = {
        .arrival_ns = q->arrival_ns,
        .id = id,
        .prompt_tokens = q->prompt_tokens,
        .output_tokens = q->output_tokens,
        .first_token_ns = SIM_NEVER,
    };
    if (slo_measured(&s->plan->slo, q->arrival_ns)) {
        s->totals.arrived++;
        enum hr_err err = slo_arrived(s->slo, q->arrival_ns);
        if (err != HR_OK)
            service_fail(s, err);
    }
    in_flight_add(s, 1, q->arrival_ns);
    if (!replica_fits(&s->plan->replica, q->prompt_tokens, q->output_tokens)) {
        request_end(s, &r, SLO_TOO_LONG, q->arrival_ns);
        return;
    }
    if (s->waiting.n == 0 && dispatch(s, &r))
        return;
    live->request = r;
    enum hr_err err = live_queue_push(&s->waiting, id);
    if (err != HR_OK)
        service_fail(s, err);
    if (s->waiting.n == 1)
        timeout_resched(s);
}

static simtime_ns cursor_next(void *ctx)
{
    struct service *s = ctx;
    arrive(s, &s->next);
    if (s->units.n > UNITS_COLD) {
        uint32_t number = router_next(s->router);
        if (number != ROUTER_NONE)
            unit_prefetch(s->units.items[number]);
    }
    return s->source.next(s->source.self, &s->next) ? s->next.arrival_ns : SIM_NEVER;
}

/* ---- life of the service ---- */

/* In a pool that it does not list its quota is nothing. */
static enum hr_err join_pools(struct service *s)
{
    const struct service_plan *p = s->plan;
    struct quota quotas[POOLS_MAX];
    quotas_by_pool(p->pools, p->n_pools, quotas);
    for (size_t i = 0; i < s->n_pools; i++) {
        s->seats[i] = (struct service_seat){s, s->pools[i].fleet};
        const struct claimant_ops ops = {
            .self = &s->seats[i],
            .schedule = scaling_schedule,
            .granted = unit_granted,
            .evict = unit_evict,
            .loss = unit_loss,
            .failed = unit_failed,
            .crowded = unit_crowded,
            .withdrawn = unit_withdrawn,
            .waiting_share = scaling_waiting_share,
            .waiting_slices = p->slice ? scaling_waiting_slices : NULL,
        };
        TRY(fleet_claimant_add(s->pools[i].fleet, p->name, &quotas[i], &ops, &s->claimant));
    }
    return HR_OK;
}

static enum hr_err service_init(struct service *s, uint64_t seed, uint32_t replication,
                                simtime_ns horizon)
{
    const struct service_plan *p = s->plan;
    TRY(join_pools(s));
    TRY(traffic_source_new(&p->traffic, seed, replication, p->name, horizon, &s->source));
    struct rng stream;
    rng_init(&stream, seed, replication, p->name, "router");
    s->router = router_new(p->router, p->replica.max_num_seqs, &stream);
    s->slo = slo_new(&p->slo);
    if (!s->router || !s->slo)
        return HR_NOMEM;
    rng_init(&s->cold_start, seed, replication, p->name, "cold-start");
    TRY(engine_timer_new(s->engine, EVENT_CONTROL, timeout_fire, s, 0, &s->timeout));
    TRY(scaling_init(s, seed, replication, horizon));
    if (!s->source.next(s->source.self, &s->next))
        return HR_OK;
    return engine_cursor_add(s->engine, EVENT_ARRIVAL, cursor_next, s, s->next.arrival_ns);
}

enum hr_err service_new(const struct service_plan *plan, uint32_t number, struct engine *engine,
                        const struct pool *pools, size_t n_pools, uint64_t seed,
                        uint32_t replication, simtime_ns horizon, const struct service_sink *sink,
                        struct service **out)
{
    struct service *s = calloc(1, sizeof *s);
    if (!s)
        return HR_NOMEM;
    *s = (struct service){
        .plan = plan,
        .number = number,
        .engine = engine,
        .pools = pools,
        .n_pools = n_pools,
        .sink = *sink,
        .start_ns = SIM_NEVER,
        .short_since = SIM_NEVER,
        .timeout = TIMER_NONE,
        .tick = TIMER_NONE,
    };
    enum hr_err err = service_init(s, seed, replication, horizon);
    if (err != HR_OK) {
        service_free(s);
        return err;
    }
    *out = s;
    return HR_OK;
}

void service_free(struct service *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->units.n; i++) {
        if (s->units.items[i]->replica)
            replica_fini(s->units.items[i]->replica);
        free(s->units.items[i]);
    }
    vec_free(&s->units);
    if (s->source.free)
        s->source.free(s->source.self);
    live_fini(&s->live);
    live_queue_fini(&s->waiting);
    router_free(s->router);
    slo_free(s->slo);
    autoscaler_free(s->scaler);
    vec_free(&s->taken);
    free(s);
}

void service_measure(struct service *s, simtime_ns now)
{
    s->start_ns = now;
    s->in_flight_ns += (u128)s->in_flight * (now - s->in_flight_since);
    s->in_flight_since = now;
    s->in_flight_base = s->in_flight_ns;
    unit_run_all(s, now);
    s->base = unit_sums(s, now);
    s->totals.max_ready = s->count[UNIT_READY];
}

enum hr_err service_book_open(struct service *s, const struct replica_request *r, simtime_ns now)
{
    count_sojourn(s, r, now);
    if (!slo_measured(&s->plan->slo, r->arrival_ns))
        return HR_OK;
    bool first = r->first_token_ns != SIM_NEVER;
    s->totals.open++;
    return slo_open(s->slo, r->arrival_ns, now,
                    first ? r->first_token_ns - r->arrival_ns : SIM_NEVER);
}

static enum hr_err book_waiting(struct service *s, simtime_ns now)
{
    for (uint32_t i = 0; i < s->waiting.n; i++) {
        uint32_t id = live_queue_at(&s->waiting, i);
        TRY(service_book_open(s, &s->live.items[id].request, now));
    }
    return HR_OK;
}

enum hr_err service_error(const struct service *s)
{
    return s->err;
}

enum hr_err service_finish(struct service *s, simtime_ns now)
{
    if (s->err != HR_OK)
        return s->err;
    unit_run_all(s, now);
    struct batch_sum sum = unit_sums(s, now);
    TRY(unit_book_open(s, now));
    TRY(book_waiting(s, now));
    TRY(slo_finish(s->slo));
    in_flight_add(s, 0, now);
    s->totals.in_flight_ns = s->in_flight_ns - s->in_flight_base;
    u128 busy_ns = sum.busy_ns - s->base.busy_ns;
    double fill = (double)(sum.request_ns - s->base.request_ns);
    s->totals.batch_fill = busy_ns ? fill / (double)busy_ns / s->plan->replica.max_num_seqs : 0;
    s->totals.evictions = sum.evictions - s->base.evictions;
    return HR_OK;
}

const struct service_totals *service_totals(const struct service *s)
{
    return &s->totals;
}

const struct slo *service_slo(const struct service *s)
{
    return s->slo;
}
