/* The fleet: construction, claimants, scheduling passes, taking free GPUs, looking. */
#include "models/capacity/fleet_internal.h"
#include "models/capacity/slices.h"
#include "sim/vec.h"

#include <assert.h>
#include <stdlib.h>

#define NAME_ENTRY(code, name, doc) name,
const char *const victim_rule_names[VICTIM_RULES] = {VICTIM_LIST(NAME_ENTRY)};
const char *const stage_names[STAGES] = {STAGE_LIST(NAME_ENTRY)};
#undef NAME_ENTRY
#define DOC_ENTRY(code, name, doc) doc,
const char *const stage_docs[STAGES] = {STAGE_LIST(DOC_ENTRY)};
#undef DOC_ENTRY

uint32_t fleet_plan_gpus(const struct fleet_plan *p)
{
    uint32_t gpus = 0;
    for (size_t i = 0; i < p->n_groups; i++)
        gpus += p->groups[i].nodes * p->groups[i].gpus_per_node;
    return gpus;
}

uint32_t fleet_plan_units_per_gpu(const struct fleet_plan *p)
{
    return p->sharing.units_per_gpu ? p->sharing.units_per_gpu : 1;
}

uint32_t fleet_plan_compute(const struct fleet_plan *p)
{
    return p->sharing.kind == SHARING_MIG ? fleet_plan_gpus(p) * p->sharing.mig->gpu.compute : 0;
}

void fleet_compute_set(struct fleet *f, struct ledger *compute)
{
    f->compute = compute;
}

/* ---- scheduling passes ---- */

/* With MIG: free slices on GPUs where none of the profiles that wait fits. */
static void strand_slices(struct fleet *f)
{
    uint32_t profiles = 0;
    for (size_t i = 0; i < f->claimants.n; i++) {
        const struct claimant_ops *ops = &f->claimants.items[i].ops;
        profiles |= ops->waiting_share ? ops->waiting_share(ops->self) : 0;
    }
    struct slice_count n = slices_stranded(&f->nodes, profiles);
    book_strand(f, n.memory, n.compute);
}

/* Of the free GPUs, those on nodes too small for every waiting request are stranded. */
static void strand(struct fleet *f)
{
    uint32_t smallest = 0;
    if (f->nodes.slices) {
        strand_slices(f);
        return;
    }
    for (size_t i = 0; i < f->claimants.n && smallest != 1; i++) { /* there is no smaller one */
        const struct claimant_ops *ops = &f->claimants.items[i].ops;
        uint32_t share = ops->waiting_share ? ops->waiting_share(ops->self) : 0;
        if (share > 0 && (smallest == 0 || share < smallest))
            smallest = share;
    }
    uint32_t withheld = smallest > 0 ? f->nodes.racks.n_withheld : 0;
    book_strand(f, nodes_free_below(&f->nodes, smallest) + withheld, 0);
}

/* What a pass changes can make room for a claimant whose turn is over. Whoever asks for a pass
 * during one therefore gets another, but only after a pass that changed something, so that this
 * ends. */
static void pass(void *ctx, uint32_t arg)
{
    (void)arg;
    struct fleet *f = ctx;
    simtime_ns now = fleet_now(f);
    uint64_t changes = f->changes;
    f->pass_again = false;
    f->in_pass = true;
    racks_settle(&f->nodes);
    collect_serve(f);
    for (size_t i = 0; i < f->order.n; i++) {
        const struct claimant_ops *ops = &f->claimants.items[f->order.items[i]].ops;
        if (ops->schedule)
            ops->schedule(ops->self, now);
    }
    relayout_look(f, now);
    f->in_pass = false;
    f->next_pass_ns = now + 1;
    strand(f);
    placeable_look(f, now);
    if (f->watch.passed)
        f->watch.passed(f->watch.self);
    if (f->pass_again && f->changes != changes)
        fleet_want_pass(f);
}

void fleet_want_pass_at(struct fleet *f, simtime_ns at)
{
    if (engine_due(f->engine, f->pass_timer) > at)
        engine_schedule(f->engine, f->pass_timer, at);
}

void fleet_want_pass(struct fleet *f)
{
    if (f->in_pass)
        f->pass_again = true;
    else
        fleet_want_pass_at(f, fleet_now(f) > f->next_pass_ns ? fleet_now(f) : f->next_pass_ns);
}

simtime_ns fleet_pass_due(const struct fleet *f)
{
    return f->in_pass ? fleet_now(f) + 1 : engine_due(f->engine, f->pass_timer);
}

/* ---- construction ---- */

static enum hr_err per_node_init(struct fleet *f)
{
    size_t n = f->nodes.n;
    uint8_t **counts[] = {&f->incoming, &f->incoming_evicted, &f->claimed,
                          &f->usable,   &f->available,        &f->take};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!(*counts[i] = arena_array(&f->arena, n, 1)))
            return HR_NOMEM;
    f->first_claim = arena_array(&f->arena, n, sizeof *f->first_claim);
    f->last_claim = arena_array(&f->arena, n, sizeof *f->last_claim);
    f->seen = arena_array(&f->arena, n, sizeof *f->seen);
    if (!f->first_claim || !f->last_claim || !f->seen)
        return HR_NOMEM;
    for (size_t i = 0; i < n; i++)
        f->first_claim[i] = f->last_claim[i] = NONE;
    return HR_OK;
}

/* Of so many hot spares. Sizes are few: each in turn gives its nodes, from the smallest. */
static uint32_t least_gpus(const struct fleet *f, uint32_t spares)
{
    uint32_t sum = 0;
    for (uint32_t size = 1; spares > 0 && size <= f->nodes.largest; size++)
        for (uint32_t i = 0; spares > 0 && i < f->nodes.n; i++)
            if (f->nodes.size[i] == size) {
                sum += size;
                spares--;
            }
    return sum;
}

static enum hr_err init(struct fleet *f, const struct fleet_plan *plan)
{
    TRY(nodes_init(&f->nodes, plan->groups, plan->n_groups, fleet_plan_units_per_gpu(plan),
                   &f->arena));
    if (plan->sharing.kind == SHARING_MIG)
        TRY(slices_init(&f->nodes, &plan->sharing, &f->arena));
    TRY(nodes_arrange(&f->nodes, plan->place, &plan->fabric, &f->arena));
    TRY(racks_init(&f->nodes, &plan->racks, plan->groups, plan->n_groups, &f->arena));
    TRY(per_node_init(f));
    uint32_t others = f->nodes.n_gpus - least_gpus(f, plan->supply.spares);
    f->startable = others < nodes_most(&f->nodes) ? others : nodes_most(&f->nodes);
    TRY(nodes_out_init(f));
    TRY(relayout_init(f, &plan->sharing));
    TRY(clients_init(f, &plan->sharing));
    TRY(collect_init(f));
    TRY(victims_init(f));
    TRY(quota_init(f, plan->cohorts, plan->n_cohorts));
    return engine_timer_new(f->engine, EVENT_SCHEDULE, pass, f, 0, &f->pass_timer);
}

struct fleet *fleet_new(const struct fleet_plan *plan, struct engine *engine, struct ledger *ledger,
                        uint64_t seed, uint32_t replication)
{
    struct fleet *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    *f = (struct fleet){
        .plan = plan->reclaim,
        .engine = engine,
        .ledger = ledger,
        .seed = seed,
        .replication = replication,
        .units_per_gpu = fleet_plan_units_per_gpu(plan),
        .free_slot = NONE,
        .free_claim = NONE,
        .pass_timer = TIMER_NONE,
        .clients.timer = TIMER_NONE,
        .fault_ends_gpu = plan->sharing.fault_ends_gpu,
    };
    arena_init(&f->arena);
    if (init(f, plan) != HR_OK) {
        fleet_free(f);
        return NULL;
    }
    return f;
}

void fleet_free(struct fleet *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->leases.n; i++) {
        engine_timer_free(f->engine, f->leases.items[i].timer);
        vec_free(&f->leases.items[i].parts);
    }
    if (f->pass_timer != TIMER_NONE)
        engine_timer_free(f->engine, f->pass_timer);
    relayout_fini(f);
    if (f->clients.timer != TIMER_NONE)
        engine_timer_free(f->engine, f->clients.timer);
    vec_free(&f->leases);
    vec_free(&f->slot_of);
    vec_free(&f->claims);
    vec_free(&f->collecting);
    vec_free(&f->claimants);
    vec_free(&f->order);
    vec_free(&f->rows);
    vec_free(&f->recent);
    vec_free(&f->victims.of);
    vec_free(&f->tree);
    vec_free(&f->expected);
    free(f->placeable.windows);
    arena_fini(&f->arena);
    free(f);
}

void fleet_trace_set(struct fleet *f, const struct fleet_trace *t)
{
    f->trace = *t;
}

void fleet_watch_set(struct fleet *f, const struct fleet_watch *w)
{
    f->watch = *w;
}

enum hr_err fleet_claimant_add(struct fleet *f, const char *name, const struct quota *q,
                               const struct claimant_ops *ops, uint32_t *claimant)
{
    uint32_t number = (uint32_t)f->claimants.n;
    struct claimant c = {
        .quota = *q,
        .ops = *ops,
        .first_held = NONE,
        .busy = NONE,
    };
    rng_init(&c.teardown, f->seed, f->replication, name, "teardown");
    rng_init(&c.scrub, f->seed, f->replication, name, "scrub");
    if (!vec_reserve(&f->order, f->order.n + 1) ||
        !vec_reserve(&f->expected, (number + 2) * (size_t)GPU_STATES) ||
        !vec_push(&f->victims.of, (struct borrower){0}) || !vec_push(&f->claimants, c))
        return HR_NOMEM;
    TRY(quota_add(f, q));
    size_t at = f->order.n++;
    for (; at > 0; at--) {
        uint32_t before = f->order.items[at - 1];
        if (f->claimants.items[before].quota.priority >= q->priority)
            break;
        f->order.items[at] = before;
    }
    f->order.items[at] = number;
    *claimant = number;
    return HR_OK;
}

/* ---- taking free GPUs ---- */

static enum grant would(const struct fleet *f, uint32_t claimant, const struct shape *shape)
{
    enum grant fit = shape->gpus > f->startable ? GRANT_NEVER : nodes_fit(&f->nodes, shape);
    enum grant ceiling = quota_ceiling(f, claimant, shape->gpus);
    if (fit == GRANT_NEVER || ceiling == GRANT_NEVER)
        return GRANT_NEVER;
    if (ceiling != GRANT_OK)
        return ceiling;
    if (fit == GRANT_ROOM)
        return GRANT_ROOM;
    return shape->gpus <= fleet_lent(f, claimant) ? fit : GRANT_QUOTA;
}

enum grant fleet_shape(const struct fleet *f, uint32_t claimant, struct shape *shape)
{
    enum grant exact = would(f, claimant, shape);
    struct shape larger;
    if (!f->nodes.slices || (exact != GRANT_ROOM && exact != GRANT_SHAPE))
        return exact;
    for (uint32_t i = 0; slices_larger(&f->nodes, shape, &i, &larger);)
        if (would(f, claimant, &larger) == GRANT_OK) {
            *shape = larger;
            return GRANT_OK;
        }
    return exact;
}

enum grant fleet_would(const struct fleet *f, uint32_t claimant, const struct shape *shape)
{
    struct shape given = *shape;
    return fleet_shape(f, claimant, &given);
}

enum grant fleet_acquire(struct fleet *f, uint32_t claimant, const struct ask *asked,
                         enum gpu_state state, lease_id *out)
{
    struct ask ask = *asked;
    const struct shape *shape = &ask.shape;
    enum grant grant = fleet_shape(f, claimant, &ask.shape);
    bool room = grant == GRANT_ROOM || grant == GRANT_SHAPE || grant == GRANT_TOPOLOGY;
    if (room && f->watch.refused)
        f->watch.refused(f->watch.self, shape->gpus);
    if (grant != GRANT_OK)
        return grant;
    uint32_t slot;
    if (lease_new(f, claimant, &ask, &slot) != HR_OK)
        return GRANT_FAILED;
    if (nodes_take(&f->nodes, shape, &f->leases.items[slot].parts) != HR_OK) {
        lease_drop(f, slot);
        return GRANT_FAILED;
    }
    f->leases.items[slot].borrowed = quota_charge(f, claimant, shape->gpus);
    lease_hold(f, slot, fleet_now(f));
    book_take(f, slot, state);
    f->changes++;
    *out = f->leases.items[slot].id;
    return GRANT_OK;
}

void fleet_set_state(struct fleet *f, lease_id l, enum gpu_state s)
{
    uint32_t slot = lease_slot(f, l);
    assert(f->leases.items[slot].phase == LEASE_HELD);
    book_state(f, slot, s);
}

uint32_t fleet_busy_set(struct fleet *f, uint32_t claimant, uint32_t gpus)
{
    struct claimant *c = &f->claimants.items[claimant];
    c->busy = gpus;
    book_busy(f, claimant);
    return c->ready < gpus ? c->ready : gpus;
}

/* ---- looking ---- */

static struct lease *lease_at(const struct fleet *f, lease_id l)
{
    return &f->leases.items[lease_slot(f, l)];
}

uint64_t fleet_version(const struct fleet *f)
{
    return f->changes + f->frees;
}

uint32_t fleet_startable_gpus(const struct fleet *f)
{
    return f->startable;
}

uint32_t fleet_gpus(const struct fleet *f)
{
    return nodes_most(&f->nodes);
}

uint32_t fleet_units_per_gpu(const struct fleet *f)
{
    return f->units_per_gpu;
}

uint32_t fleet_slice_memory(const struct fleet *f, uint8_t profile)
{
    return f->nodes.slices->t->gpu.profiles[profile].memory;
}

uint32_t fleet_slices_for(const struct fleet *f, uint32_t profiles)
{
    return f->nodes.slices ? slices_wider(&f->nodes, profiles) : profiles;
}

uint32_t fleet_lease_compute(const struct fleet *f, lease_id l)
{
    return lease_at(f, l)->compute;
}

uint64_t fleet_headroom(const struct fleet *f, uint32_t claimant)
{
    return quota_headroom(f, claimant);
}

uint32_t fleet_lent(const struct fleet *f, uint32_t claimant)
{
    if (f->kept[QUOTA_TIED] == 0 && f->kept[QUOTA_STANDING] == 0)
        return f->nodes.n_free;
    uint32_t free = quota_free(f, claimant), coming = quota_coming(f, claimant, 0);
    return free < coming ? free : coming;
}

enum grant fleet_fit(const struct fleet *f, const struct shape *shape)
{
    enum grant fit = nodes_fit(&f->nodes, shape);
    struct shape larger;
    uint32_t i = 0;
    if (!f->nodes.slices || (fit != GRANT_ROOM && fit != GRANT_SHAPE))
        return fit;
    return slices_larger(&f->nodes, shape, &i, &larger) ? GRANT_OK : fit;
}

bool fleet_power_binds(const struct fleet *f, const struct shape *shape)
{
    return racks_bind(&f->nodes, shape);
}

uint32_t fleet_free_gpus(const struct fleet *f)
{
    return f->nodes.n_free;
}

uint32_t fleet_coming_gpus(const struct fleet *f)
{
    return f->n_unclaimed;
}

simtime_ns fleet_grace_ns(const struct fleet *f)
{
    return f->plan.grace_ns;
}

uint32_t fleet_usage(const struct fleet *f, uint32_t claimant)
{
    return quota_count(f, claimant, QUOTA_USAGE);
}

const struct quota *fleet_quota(const struct fleet *f, uint32_t claimant)
{
    return &f->claimants.items[claimant].quota;
}

uint32_t fleet_lease_tag(const struct fleet *f, lease_id l)
{
    return lease_at(f, l)->tag;
}

uint32_t fleet_lease_gpus(const struct fleet *f, lease_id l)
{
    return lease_at(f, l)->gpus;
}

enum lease_span fleet_lease_span(const struct fleet *f, lease_id l)
{
    return nodes_span(&f->nodes, &lease_at(f, l)->parts);
}

enum lease_span fleet_leases_span(const struct fleet *f, lease_id a, lease_id b)
{
    const struct parts *x = &lease_at(f, a)->parts, *y = &lease_at(f, b)->parts;
    enum lease_span span = nodes_span(&f->nodes, x), of_b = nodes_span(&f->nodes, y);
    span = of_b > span ? of_b : span;
    if (x->n == 0 || y->n == 0)
        return span;
    struct part ends[] = {x->items[0], y->items[0]};
    const struct parts both = {.items = ends, .n = 2};
    enum lease_span between = nodes_span(&f->nodes, &both);
    return between > span ? between : span;
}

double fleet_lease_speed(const struct fleet *f, lease_id l)
{
    return racks_speed(&f->nodes, &lease_at(f, l)->parts) * clients_speed(f, lease_at(f, l));
}

uint32_t fleet_lease_lost(const struct fleet *f, lease_id l)
{
    return lease_at(f, l)->lost;
}

simtime_ns fleet_lease_since(const struct fleet *f, lease_id l)
{
    return lease_at(f, l)->since;
}

bool fleet_lease_borrowed(const struct fleet *f, lease_id l)
{
    return lease_at(f, l)->borrowed;
}

struct reclaim_row *fleet_lease_reclaim(struct fleet *f, lease_id l)
{
    uint32_t row = lease_at(f, l)->row;
    return row == NONE ? NULL : &f->rows.items[row];
}

const struct reclaim_row *fleet_reclaims(const struct fleet *f, size_t *n)
{
    *n = f->rows.n;
    return f->rows.items;
}
