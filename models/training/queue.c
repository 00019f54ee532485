/* A training queue: the claimant, building it, the end of the run. */
#include "models/training/queue_internal.h"

#include "sim/vec.h"

#include <stdlib.h>

const char *const backfill_kind_names[BACKFILL_KINDS] = {"none", "easy", "conservative",
                                                         "best-effort"};
const char *const queue_order_names[QUEUE_ORDERS] = {"fifo", "priority", "shortest", "fair-share"};
const char *const estimate_kind_names[ESTIMATE_KINDS] = {"exact", "limit", "factor"};
const char *const job_outcome_names[OUTCOMES] = {"done", "censored", "waiting", "refused",
                                                 "cancelled"};
const char *const refusal_names[REFUSALS] = {"none", "size", "shape", "ceiling", "topology"};
const char *const preemption_mode_names[PREEMPTION_MODES] = {"requeue", "suspend", "cancel"};

/* ---- the claimant ---- */

/* The gang of a lease. */
static uint32_t gang_of(uint32_t tag)
{
    return tag & ~EXTENSION_TAG;
}

static struct fleet *fleet_of(const struct seat *s)
{
    return s->training->pools[s->pool].fleet;
}

static void granted(void *self, lease_id l, simtime_ns now)
{
    const struct seat *s = self;
    uint32_t g = fleet_lease_tag(fleet_of(s), l);
    fleet_set_state(fleet_of(s), l, gang_first_state(s->training, g));
    gang_start(s->training, g, s->pool, l, false, now);
}

static void evict(void *self, lease_id l, simtime_ns now, simtime_ns grace_ns)
{
    const struct seat *s = self;
    uint32_t tag = fleet_lease_tag(fleet_of(s), l);
    if (tag & EXTENSION_TAG)
        extensions_evict(s->training, gang_of(tag), l, now);
    else
        gang_evict(s->training, tag, now, grace_ns);
}

/* An extension can be given back at any time. */
static bool keeps(void *self, lease_id l, simtime_ns now)
{
    const struct seat *s = self;
    uint32_t tag = fleet_lease_tag(fleet_of(s), l);
    return !(tag & EXTENSION_TAG) && gang_keeps(s->training, tag, now);
}

static uint64_t loss(void *self, lease_id l, simtime_ns now)
{
    const struct seat *s = self;
    uint32_t tag = fleet_lease_tag(fleet_of(s), l);
    return tag & EXTENSION_TAG ? extensions_loss(s->training, gang_of(tag), l)
                               : gang_loss(s->training, tag, now);
}

/* The next class of the seat's tenant, from place *i on, that somebody waits in whom quota would
 * admit; NULL: no more. *most: how many of them. */
static const struct why_class *next_admitted(const struct seat *s, size_t *i, uint64_t *most)
{
    const struct training *t = s->training;
    const struct fleet *f = fleet_of(s);
    uint32_t claimant = t->tenants[s->tenant].claimant;
    uint64_t headroom = fleet_headroom(f, claimant), free = fleet_free_gpus(f);
    uint32_t lent = fleet_lent(f, claimant);
    while (*i < t->why.n && t->why.items[t->why.order[*i]].tenant == s->tenant) {
        const struct why_class *c = &t->why.items[t->why.order[(*i)++]];
        if (c->n == 0 || c->gpus > headroom || (c->gpus <= free && c->gpus > lent))
            continue;
        *most = c->n < headroom / c->gpus ? c->n : headroom / c->gpus;
        return c;
    }
    return NULL;
}

static uint32_t waiting_share(void *self)
{
    const struct seat *s = self;
    const struct why_class *c;
    size_t i = why_first(&s->training->why, s->tenant);
    uint32_t profiles = 0;
    for (uint64_t most; (c = next_admitted(s, &i, &most));) {
        if (s->training->plan->placement != SHAPE_SLICE)
            return c->share;
        profiles |= c->share;
    }
    return profiles ? fleet_slices_for(fleet_of(s), profiles) : 0;
}

static void waiting_slices(void *self, uint32_t n[MIG_PROFILES])
{
    const struct seat *s = self;
    const struct why_class *c;
    size_t i = why_first(&s->training->why, s->tenant);
    for (uint64_t most; (c = next_admitted(s, &i, &most));)
        n[__builtin_ctz(c->share)] += (uint32_t)most;
}

/* The lease of a finished gang is no longer known here: its slot may hold another. */
static void released(void *self, lease_id l, simtime_ns now)
{
    const struct seat *s = self;
    struct training *t = s->training;
    uint32_t g = fleet_lease_tag(fleet_of(s), l);
    t->blocked.known = false; /* its tenant is charged with less */
    if (!(g & EXTENSION_TAG) && t->gangs.items[g].lease == l && t->gangs.items[g].pool == s->pool)
        gang_released(t, g, now);
}

static void failed(void *self, lease_id l, uint32_t node, simtime_ns now)
{
    const struct seat *s = self;
    gang_fail(s->training, gang_of(fleet_lease_tag(fleet_of(s), l)), l, node, now);
}

static void crowded(void *self, lease_id l, simtime_ns now)
{
    const struct seat *s = self;
    gang_crowded(s->training, gang_of(fleet_lease_tag(fleet_of(s), l)), now);
}

static void withdrawn(void *self, lease_id l, simtime_ns now)
{
    const struct seat *s = self;
    gang_withdrawn(s->training, fleet_lease_tag(fleet_of(s), l), now);
}

static simtime_ns next_stop(void *self, lease_id l, bool save, simtime_ns now)
{
    const struct seat *s = self;
    uint32_t tag = fleet_lease_tag(fleet_of(s), l);
    return tag & EXTENSION_TAG ? now : gang_next_stop(s->training, tag, save, now);
}

/* ---- building, the end of the run ---- */

/* In a pool that it does not list its quota is nothing. The first tenant's pass serves all. */
static enum hr_err join_pools(struct training *t, uint32_t number)
{
    struct tenant *tenant = &t->tenants[number];
    const struct tenant_plan *plan = queue_tenant(t->plan, number);
    struct quota quotas[POOLS_MAX];
    tenant->plan = plan;
    tenant->collecting = NO_GANG;
    quotas_by_pool(plan->pools, plan->n_pools, quotas);
    for (uint32_t i = 0; i < t->n_pools; i++) {
        tenant->seats[i] = (struct seat){t, number, i};
        const struct claimant_ops ops = {
            .self = &tenant->seats[i],
            .schedule = number == 0 ? pass_run : NULL,
            .granted = granted,
            .evict = evict,
            .keeps = keeps,
            .loss = loss,
            .waiting_share = waiting_share,
            .waiting_slices = t->plan->placement == SHAPE_SLICE ? waiting_slices : NULL,
            .released = released,
            .failed = failed,
            .withdrawn = withdrawn,
            .next_stop = next_stop,
            .crowded = crowded,
        };
        TRY(fleet_claimant_add(t->pools[i].fleet, plan->name, &quotas[i], &ops, &tenant->claimant));
    }
    return HR_OK;
}

static enum hr_err shares_build(struct training *t)
{
    TRY(shares_init(&t->shares, t->n_tenants, t->n_pools, t->plan->half_life_ns));
    for (size_t i = 0; i < t->n_pools; i++)
        t->shares.pool_gpus[i] = fleet_gpus(t->pools[i].fleet);
    for (size_t i = 0; i < t->n_tenants; i++)
        t->shares.tenants[i].weight = t->tenants[i].plan->weight;
    return HR_OK;
}

/* A gang that somebody would evict is exempt no longer. */
static void exempt_over(void *ctx, uint32_t arg)
{
    (void)arg;
    training_want_pass(ctx);
}

static enum hr_err build(struct training *t, uint64_t seed, uint32_t replication)
{
    const struct queue_plan *plan = t->plan;
    rng_init(&t->restart, seed, replication, plan->name, "restart");
    t->n_tenants = queue_tenants(plan);
    t->tenants = calloc(t->n_tenants, sizeof *t->tenants);
    t->lanes = calloc(t->n_tenants + 1, sizeof *t->lanes);
    t->heap = calloc(t->n_tenants + 1, sizeof *t->heap);
    if (!t->tenants || !t->lanes || !t->heap)
        return HR_NOMEM;
    for (uint32_t i = 0; i < t->n_tenants; i++)
        TRY(join_pools(t, i));
    TRY(shares_build(t));
    TRY(extensions_init(t));
    TRY(backlog_init(&t->backlog, plan, seed, replication));
    job_replay_init(&t->replay, plan, seed, replication);
    TRY(mix_init(&t->mix, &plan->mix, seed, replication, plan->name));
    if (t->replay.at_ns != SIM_NEVER)
        TRY(engine_cursor_add(t->engine, EVENT_ARRIVAL, intake_arrive, t, t->replay.at_ns));
    TRY(intake_mix_start(t));
    if (plan->preemption.exempt_ns > 0)
        TRY(engine_timer_new(t->engine, EVENT_CONTROL, exempt_over, t, 0, &t->exempt_timer));
    training_want_pass(t);
    return HR_OK;
}

enum hr_err training_new(const struct queue_plan *plan, uint32_t number, struct engine *engine,
                         const struct pool *pools, size_t n_pools, uint64_t seed,
                         uint32_t replication, simtime_ns start, simtime_ns end,
                         const struct training_sink *sink, struct training **out)
{
    struct training *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return HR_NOMEM;
    t->plan = plan;
    t->engine = engine;
    t->number = number;
    t->pools = pools;
    t->n_pools = n_pools;
    t->start_ns = start;
    t->end_ns = end;
    t->exempt_timer = TIMER_NONE;
    if (sink)
        t->sink = *sink;
    enum hr_err err = build(t, seed, replication);
    if (err != HR_OK) {
        training_free(t);
        return err;
    }
    *out = t;
    return HR_OK;
}

void training_storage_set(struct training *t, struct storage *s)
{
    t->storage = s;
}

void training_free(struct training *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->lanes && i <= t->n_tenants; i++)
        waiting_fini(&t->lanes[i].list);
    free(t->lanes);
    free(t->heap);
    why_fini(&t->why);
    shares_fini(&t->shares);
    for (size_t i = 0; i < POOLS_MAX; i++)
        expected_ends_fini(&t->ends[i]);
    profile_fini(&t->profile);
    backlog_fini(&t->backlog);
    for (size_t i = 0; i < t->gangs.n; i++) {
        writer_fini(&t->gangs.items[i].writer);
        vec_free(&t->gangs.items[i].paces);
    }
    vec_free(&t->gangs);
    vec_free(&t->unused);
    vec_free(&t->extensions);
    vec_free(&t->elastic);
    mix_fini(&t->mix);
    if (t->exempt_timer != TIMER_NONE)
        engine_timer_free(t->engine, t->exempt_timer);
    free(t->users);
    free(t->tenants);
    free(t);
}

/* Recorded jobs by number, then the backlog by number. */
struct open_gang {
    bool backlog;
    uint64_t number;
    uint32_t gang;
};

static int by_number(const void *a, const void *b)
{
    const struct open_gang *x = a, *y = b;
    if (x->backlog != y->backlog)
        return x->backlog ? 1 : -1;
    return x->number < y->number ? -1 : x->number > y->number;
}

enum hr_err training_finish(struct training *t, simtime_ns now)
{
    TRY(t->error);
    for (size_t i = 0; i < t->n_pools; i++) {
        ledger_settle(t->pools[i].ledger, now);
        if (t->pools[i].compute)
            ledger_settle(t->pools[i].compute, now);
    }
    struct open_gang *open = calloc(t->gangs.n + 1, sizeof *open);
    if (!open)
        return HR_NOMEM;
    size_t n = 0;
    for (uint32_t g = 0; g < t->gangs.n; g++) {
        const struct gang *gang = &t->gangs.items[g];
        if (gang->state != GANG_UNUSED)
            open[n++] = (struct open_gang){gang->row.backlog, gang->row.number, g};
    }
    qsort(open, n, sizeof *open, by_number);
    for (size_t i = 0; i < n; i++)
        gang_settle(t, open[i].gang, now);
    free(open);
    return HR_OK;
}

const struct queue_totals *training_totals(const struct training *t)
{
    return &t->totals;
}

uint32_t training_claimant(const struct training *t)
{
    return t->tenants[0].claimant;
}
