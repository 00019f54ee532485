/* The GPUs of an elastic gang beyond its least.
 *
 * A gang holds one lease of its least GPUs, its base, and an extension lease for each step that it
 * has grown. The base is whole or the gang does not run; an extension may go at any time, so the
 * fleet, which knows only leases, can take back a part of a gang: borrowed capacity is returned in
 * parts, and quota, floors and victims hold as for any lease. (Run:ai and Volcano treat pods above
 * a gang's minimum in this way.)
 *
 *     start    the base, then steps up to the GPUs asked for as far as they are free
 *     evicted  an extension stops at once and all work is kept; the gang resizes to what it has
 * left. An eviction of the base is one of the whole gang failed   a node under any of its leases
 * ends its work as it does that of a rigid gang; it starts again at once on the leases that are
 * whole, if the base is one of them grow     when no submitted job waits, up to what it asked for;
 * when no backlog waits either, up to its most. Gangs take one step each in turn, in the order in
 * which they started; only those that train, have been of one size for grow_every, and end earlier
 * with the step and a resize than without
 *
 * A resize keeps all work (the state is written and read again in it), takes resize_ns, in which
 * all GPUs of the gang are booked as restoring, and begins a new segment. Where a restore is under
 * way it takes what is left of that if that is longer. */
#include "models/training/queue_internal.h"

#include "sim/vec.h"

#include <assert.h>

/* A MIG instance larger than a job asked for makes it no faster. */
static struct elastic_speed speed_of(const struct training *t, const struct gang *g)
{
    bool sliced = t->plan->placement == SHAPE_SLICE;
    return elastic_speed_of(&t->plan->elastic, g->row.gpus, sliced ? g->row.gpus : g->held);
}

void extensions_size(const struct training *t, struct gang *g, uint32_t gpus)
{
    g->held = gpus;
    g->speed = speed_of(t, g);
    g->saves = checkpoint_plan_of(&t->plan->checkpoint, training_nodes(t, gpus));
    if (!g->own_interval)
        g->interval_ns = checkpoint_interval(&g->saves, gpus);
}

static enum lease_span span_of(const struct training *t, const struct gang *g)
{
    const struct fleet *f = gang_fleet(t, g);
    enum lease_span span = fleet_lease_span(f, g->lease);
    for (uint32_t x = g->extensions; x != NO_EXTENSION; x = t->extensions.items[x].next) {
        enum lease_span both = fleet_leases_span(f, g->lease, t->extensions.items[x].lease);
        span = both > span ? both : span;
    }
    return span;
}

/* Racks limit it as those of its first lease; clients beside any of its leases crowd it. */
static double speed_of_gpus(const struct training *t, const struct gang *g)
{
    struct fleet *f = gang_fleet(t, g);
    double least = fleet_lease_speed(f, g->lease);
    if (fleet_lease_clients(f, g->lease) == 0)
        return least;
    for (uint32_t x = g->extensions; x != NO_EXTENSION; x = t->extensions.items[x].next) {
        double speed = fleet_lease_speed(f, t->extensions.items[x].lease);
        least = speed < least ? speed : least;
    }
    return least;
}

void extensions_slow(const struct training *t, struct gang *g)
{
    const uint32_t *ppm = t->plan->span_speed_ppm;
    g->speed = speed_of(t, g);
    /* where distance does not matter it is not looked at */
    bool matters = false;
    for (int span = 0; span < LEASE_SPANS; span++)
        matters = matters || ppm[span] > 0;
    uint32_t slow = matters ? ppm[span_of(t, g)] : 0;
    double gpus = speed_of_gpus(t, g);
    if (gpus < 1) { /* both as one fraction, which has few enough digits */
        g->speed = elastic_slowed(g->speed, slow > 0 ? gpus * slow / 1e6 : gpus);
    } else if (slow > 0) {
        g->speed.num *= slow;
        g->speed.den *= 1000000;
    }
}

/* ---- one more, one less ---- */

static uint32_t step_of(const struct training *t, const struct gang *g)
{
    uint32_t node = fleet_node_gpus(gang_fleet(t, g), 0);
    return elastic_step(&t->plan->elastic, g->row.min_gpus, node);
}

static uint32_t next_step(const struct training *t, const struct gang *g, uint32_t most)
{
    uint32_t step = step_of(t, g), left = most - g->leased;
    return step < left ? step : left;
}

static bool record_new(struct training *t, uint32_t *x)
{
    *x = t->unused_extension;
    if (*x != NO_EXTENSION) {
        t->unused_extension = t->extensions.items[*x].next;
        return true;
    }
    *x = (uint32_t)t->extensions.n;
    return vec_push(&t->extensions, (struct extension){0});
}

static void record_drop(struct training *t, uint32_t x)
{
    t->extensions.items[x].next = t->unused_extension;
    t->unused_extension = x;
}

/* Takes a step of free GPUs. Asked first, so that pools on demand do not buy for it. */
static bool extend(struct training *t, uint32_t g, uint32_t most, enum gpu_state state)
{
    struct gang *gang = &t->gangs.items[g];
    struct fleet *f = gang_fleet(t, gang);
    const struct ask ask = {.shape = {.gpus = next_step(t, gang, most), .kind = t->plan->placement},
                            .tag = g | EXTENSION_TAG,
                            .priority = gang->priority,
                            .submit_ns = gang->row.submit_ns,
                            .extends = true,
                            .base = gang->lease};
    lease_id l;
    uint32_t x;
    if (fleet_would(f, gang_claimant(t, g), &ask.shape) != GRANT_OK)
        return false;
    if (!record_new(t, &x) || fleet_acquire(f, gang_claimant(t, g), &ask, state, &l) != GRANT_OK) {
        training_fail(t, HR_NOMEM);
        return false;
    }
    t->extensions.items[x] = (struct extension){l, ask.shape.gpus, gang->extensions, false};
    gang->extensions = x;
    gang->leased += ask.shape.gpus;
    return true;
}

/* The link to the extension with a lease. */
static uint32_t *link_to(struct training *t, struct gang *g, lease_id l)
{
    uint32_t *link = &g->extensions;
    while (*link != NO_EXTENSION && t->extensions.items[*link].lease != l)
        link = &t->extensions.items[*link].next;
    assert(*link != NO_EXTENSION);
    return link;
}

static void stop_one(struct training *t, struct gang *g, uint32_t *link, simtime_ns now)
{
    uint32_t x = *link;
    const struct extension *e = &t->extensions.items[x];
    *link = e->next;
    g->leased -= e->gpus;
    fleet_stop_at(gang_fleet(t, g), e->lease, now, 0);
    record_drop(t, x);
}

/* ---- all of a gang ---- */

void extensions_start(struct training *t, uint32_t g, bool extends)
{
    const struct gang *gang = &t->gangs.items[g];
    if (!vec_push(&t->elastic, g))
        training_fail(t, HR_NOMEM);
    bool more = extends;
    while (more && gang->leased < gang->row.gpus)
        more = extend(t, g, gang->row.gpus, gang_first_state(t, g));
}

void extensions_set_state(struct training *t, const struct gang *gang, enum gpu_state s)
{
    fleet_set_state(gang_fleet(t, gang), gang->lease, s);
    for (uint32_t x = gang->extensions; x != NO_EXTENSION; x = t->extensions.items[x].next)
        fleet_set_state(gang_fleet(t, gang), t->extensions.items[x].lease, s);
}

void extensions_work(const struct training *t, const struct gang *gang, bool works)
{
    fleet_lease_work(gang_fleet(t, gang), gang->lease, works);
    for (uint32_t x = gang->extensions; x != NO_EXTENSION; x = t->extensions.items[x].next)
        fleet_lease_work(gang_fleet(t, gang), t->extensions.items[x].lease, works);
}

static void runs_no_more(struct training *t, uint32_t g)
{
    size_t i = 0, to = 0;
    for (; i < t->elastic.n; i++)
        if (t->elastic.items[i] != g)
            t->elastic.items[to++] = t->elastic.items[i];
    t->elastic.n = to;
}

void extensions_stop(struct training *t, uint32_t g, const struct gang *gang, simtime_ns at,
                     simtime_ns checkpoint_ns)
{
    struct fleet *f = gang_fleet(t, gang);
    uint32_t x = gang->extensions, next;
    fleet_stop_at(f, gang->lease, at, checkpoint_ns);
    if (!gang_elastic(gang))
        return;
    runs_no_more(t, g);
    t->gangs.items[g].extensions = NO_EXTENSION;
    for (; x != NO_EXTENSION; x = next) {
        next = t->extensions.items[x].next;
        fleet_stop_at(f, t->extensions.items[x].lease, at, checkpoint_ns);
        record_drop(t, x);
    }
}

/* ---- taken back, failed ---- */

void extensions_evict(struct training *t, uint32_t g, lease_id l, simtime_ns now)
{
    struct gang *gang = &t->gangs.items[g];
    stop_one(t, gang, link_to(t, gang, l), now);
    gang->row.returns++;
    t->totals.returns += now >= t->start_ns && now < t->end_ns;
    if (gang->state != GANG_BROKEN) /* else it starts again in any case when that is noticed */
        gang_resize(t, g, now);
}

/* All that it has left stands still for a resize. */
uint64_t extensions_loss(const struct training *t, uint32_t g, lease_id l)
{
    const struct gang *gang = &t->gangs.items[g];
    if (gang->state == GANG_BROKEN)
        return 0;
    u128 left = gang->leased - fleet_lease_gpus(gang_fleet(t, gang), l);
    u128 loss = left * t->plan->elastic.resize_ns;
    return loss < UINT64_MAX ? (uint64_t)loss : UINT64_MAX;
}

void extensions_fail(struct training *t, struct gang *gang, lease_id l)
{
    t->extensions.items[*link_to(t, gang, l)].failed = true;
}

bool extensions_repair(struct training *t, struct gang *gang)
{
    struct fleet *f = gang_fleet(t, gang);
    uint32_t *link = &gang->extensions, node;
    bool swapped = false;
    while (*link != NO_EXTENSION) {
        struct extension *e = &t->extensions.items[*link];
        if (e->failed && !fleet_replace(f, e->lease, &node)) {
            stop_one(t, gang, link, engine_now(t->engine));
            continue;
        }
        swapped = swapped || e->failed;
        e->failed = false;
        link = &e->next;
    }
    return swapped;
}

/* ---- growth ---- */

static simtime_ns ripe_at(const struct training *t, const struct gang *g)
{
    simtime_ns restore = segment_restore(g), every = t->plan->elastic.grow_every_ns;
    return sim_time_add(g->since_ns, restore > every ? restore : every);
}

/* It ends earlier with so many GPUs more and a resize. */
static bool pays(const struct training *t, const struct gang *g, uint32_t more, simtime_ns now)
{
    struct gang grown = *g;
    simtime_ns end = segment_end(g);
    grown.row.done_ns += segment_work(g, segment_progress(g, now).work_ns);
    extensions_size(t, &grown, g->leased + more);
    pace_reset(&grown);
    grown.load_ns = t->plan->elastic.resize_ns;
    grown.init_ns = 0;
    return sim_time_add(now, segment_length(&grown, segment_left(&grown))) < end;
}

static uint32_t most_of(const struct gang *g, bool most)
{
    return most ? g->row.max_gpus : g->row.gpus;
}

/* One step for each gang that may; whether there was one. */
static bool round_of_steps(struct training *t, bool most, simtime_ns now)
{
    enum gpu_state state = t->plan->elastic.resize_ns > 0 ? GPU_RESTORING : GPU_TRAINING;
    bool any = false;
    for (size_t i = 0; i < t->elastic.n; i++) {
        uint32_t g = t->elastic.items[i];
        const struct gang *gang = &t->gangs.items[g];
        uint32_t to = most_of(gang, most);
        if (gang->state != GANG_TRAINING || gang->leased >= to || ripe_at(t, gang) > now)
            continue;
        if (pays(t, gang, next_step(t, gang, to), now) && extend(t, g, to, state))
            any = true;
    }
    return any;
}

/* When the next gang may grow that is not yet allowed to. */
static void wake(struct training *t, bool most, simtime_ns now)
{
    simtime_ns at = SIM_NEVER;
    for (size_t i = 0; i < t->elastic.n; i++) {
        const struct gang *gang = &t->gangs.items[t->elastic.items[i]];
        if (gang->leased >= most_of(gang, most) || gang->state == GANG_BROKEN)
            continue;
        simtime_ns ripe = ripe_at(t, gang);
        if (ripe > now && ripe < at && fleet_free_gpus(gang_fleet(t, gang)) > 0)
            at = ripe;
    }
    if (at != SIM_NEVER)
        engine_schedule(t->engine, t->grow_timer, at);
}

void extensions_grow(struct training *t, bool most, simtime_ns now)
{
    uint64_t free_gpus = 0;
    for (size_t i = 0; i < t->n_pools; i++)
        free_gpus += fleet_free_gpus(t->pools[i].fleet);
    if (t->elastic.n == 0 || free_gpus == 0)
        return;
    while (round_of_steps(t, most, now) && t->error == HR_OK) {
    }
    for (size_t i = 0; i < t->elastic.n; i++) {
        const struct gang *gang = &t->gangs.items[t->elastic.items[i]];
        if (gang->state == GANG_TRAINING && gang->leased > gang->held)
            gang_resize(t, t->elastic.items[i], now);
    }
    wake(t, most, now);
}

static void awake(void *training, uint32_t arg)
{
    (void)arg;
    training_want_pass(training);
}

enum hr_err extensions_init(struct training *t)
{
    t->unused_extension = NO_EXTENSION;
    return engine_timer_new(t->engine, EVENT_CONTROL, awake, t, 0, &t->grow_timer);
}
