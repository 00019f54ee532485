/* Clients of shared GPUs: which are at work, how fast that makes each of them, and what a fault of
 * one ends.
 *
 * A client is a unit of a pool of clients. Its claimant says when what runs in a lease is at work;
 * the others on its GPUs hear of it (crowded()) once in the instant, behind all else that happens
 * then, so that jobs which begin or end together disturb one another once. Only leases at work
 * hear: one that rests asks for its speed when it begins. A lease over several GPUs is as slow as
 * on the fullest of them. */
#include "models/capacity/fleet_internal.h"

#include <assert.h>
#include <string.h>

static uint32_t gpu_of(const struct fleet *f, uint32_t unit)
{
    return unit / f->units_per_gpu;
}

/* ---- who is told ---- */

static void tell_gpu(struct fleet *f, uint32_t gpu)
{
    uint32_t before = NONE;
    for (uint32_t i = 0; i < f->units_per_gpu; i++) {
        uint32_t slot = f->clients.who[gpu * f->units_per_gpu + i];
        if (slot == NONE || slot == before || f->leases.items[slot].phase != LEASE_HELD)
            continue;
        const struct lease *l = &f->leases.items[slot];
        const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
        if (ops->crowded)
            ops->crowded(ops->self, l->id, fleet_now(f));
        before = slot;
    }
}

static void tell(void *ctx, uint32_t arg)
{
    (void)arg;
    struct fleet *f = ctx;
    struct clients *c = &f->clients;
    uint32_t n = c->n_changed;
    for (uint32_t i = 0; i < n; i++)
        tell_gpu(f, c->changed[i]);
    assert(c->n_changed == n); /* who is told neither begins nor ceases to work */
    for (uint32_t i = 0; i < n; i++)
        c->is_changed[c->changed[i]] = 0;
    c->n_changed = 0;
}

static void change(struct fleet *f, uint32_t gpu)
{
    struct clients *c = &f->clients;
    if (c->is_changed[gpu])
        return;
    if (c->n_changed == 0)
        engine_schedule(f->engine, c->timer, fleet_now(f));
    c->is_changed[gpu] = 1;
    c->changed[c->n_changed++] = gpu;
}

/* ---- who works ---- */

static void mark(struct fleet *f, struct part p, uint32_t slot, bool works)
{
    struct clients *c = &f->clients;
    for (uint64_t left = p.mask; left; left &= left - 1) {
        uint32_t unit = c->first_unit[p.node] + (uint32_t)__builtin_ctzll(left);
        assert((c->who[unit] == NONE) == works);
        c->who[unit] = works ? slot : NONE;
        c->at_work[gpu_of(f, unit)] =
            (uint8_t)(works ? c->at_work[gpu_of(f, unit)] + 1 : c->at_work[gpu_of(f, unit)] - 1);
        change(f, gpu_of(f, unit));
    }
}

static void set_work(struct fleet *f, struct lease *l, bool works)
{
    if (!f->clients.speed || l->works == works)
        return;
    l->works = works;
    for (size_t i = 0; i < l->parts.n; i++)
        mark(f, l->parts.items[i], lease_slot(f, l->id), works);
}

void fleet_lease_work(struct fleet *f, lease_id l, bool works)
{
    struct lease *lease = &f->leases.items[lease_slot(f, l)];
    assert(lease->phase == LEASE_HELD);
    set_work(f, lease, works);
}

void clients_rest(struct fleet *f, struct lease *l)
{
    set_work(f, l, false);
}

void clients_lose(struct fleet *f, const struct lease *l, struct part lost)
{
    if (l->works)
        mark(f, lost, NONE, false);
}

/* ---- how fast ---- */

/* On the GPUs of one part: of each the clients at work, less its own if it is, and all its own. */
static uint32_t most_on(const struct fleet *f, struct part p, bool works)
{
    uint32_t most = 0, units = f->units_per_gpu;
    for (uint32_t from = 0; from < f->nodes.size[p.node]; from += units) {
        uint32_t own = mask_count(p.mask >> from & mask_full(units));
        uint32_t at_work = f->clients.at_work[gpu_of(f, f->clients.first_unit[p.node] + from)];
        uint32_t n = at_work + (works ? 0 : own);
        most = own > 0 && n > most ? n : most;
    }
    return most;
}

static uint32_t most_clients(const struct fleet *f, const struct lease *l)
{
    uint32_t most = 0;
    for (size_t i = 0; f->clients.speed && i < l->parts.n; i++) {
        uint32_t n = most_on(f, l->parts.items[i], l->works);
        most = n > most ? n : most;
    }
    return most;
}

uint32_t fleet_lease_clients(const struct fleet *f, lease_id l)
{
    return most_clients(f, &f->leases.items[lease_slot(f, l)]);
}

double clients_speed(const struct fleet *f, const struct lease *l)
{
    uint32_t n = most_clients(f, l);
    return n > 0 ? f->clients.speed[n - 1] : 1;
}

/* ---- faults ---- */

static uint64_t mask_on(const struct lease *l, uint32_t node)
{
    for (size_t i = 0; i < l->parts.n; i++)
        if (l->parts.items[i].node == node)
            return l->parts.items[i].mask;
    return 0;
}

/* The oldest held lease from a number on with any of these units of a node. */
static const struct lease *next_held(const struct fleet *f, uint32_t node, uint64_t units,
                                     lease_id from)
{
    const struct lease *next = NULL;
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *l = &f->leases.items[i];
        if (l->phase == LEASE_HELD && l->id >= from && (!next || l->id < next->id) &&
            (mask_on(l, node) & units))
            next = l;
    }
    return next;
}

static void end(struct fleet *f, const struct lease *l, uint32_t node)
{
    const struct claimant_ops *ops = &f->claimants.items[l->claimant].ops;
    ops->failed(ops->self, l->id, node, fleet_now(f));
}

uint32_t fleet_client_fault(struct fleet *f, uint32_t unit)
{
    uint32_t node = 0, n = 0, units = f->units_per_gpu;
    for (; unit >= f->nodes.size[node]; node++)
        unit -= f->nodes.size[node];
    uint64_t own = UINT64_C(1) << unit, gpu = mask_full(units) << (unit / units * units);
    const struct lease *l = next_held(f, node, own, 0);
    if (!l || (f->nodes.slices && own != (mask_on(l, node) & -mask_on(l, node))))
        return 0;
    if (!f->fault_ends_gpu) {
        end(f, l, node);
        return 1;
    }
    for (lease_id from = 0; (l = next_held(f, node, gpu, from)) != NULL; n++) {
        from = l->id + 1;
        end(f, l, node);
    }
    return n;
}

/* ---- construction, looking ---- */

enum hr_err clients_init(struct fleet *f, const struct sharing_plan *plan)
{
    struct clients *c = &f->clients;
    uint32_t gpus = f->nodes.n_gpus / f->units_per_gpu;
    if (plan->kind != SHARING_CLIENTS || !plan->client_speed)
        return HR_OK;
    c->first_unit = arena_array(&f->arena, f->nodes.n, sizeof *c->first_unit);
    c->who = arena_array(&f->arena, f->nodes.n_gpus, sizeof *c->who);
    c->at_work = arena_array(&f->arena, gpus, sizeof *c->at_work);
    c->changed = arena_array(&f->arena, gpus, sizeof *c->changed);
    c->is_changed = arena_array(&f->arena, gpus, sizeof *c->is_changed);
    if (!c->first_unit || !c->who || !c->at_work || !c->changed || !c->is_changed)
        return HR_NOMEM;
    for (uint32_t node = 0, unit = 0; node < f->nodes.n; unit += f->nodes.size[node++])
        c->first_unit[node] = unit;
    memset(c->who, 0xff, f->nodes.n_gpus * sizeof *c->who);
    c->speed = plan->client_speed;
    return engine_timer_new(f->engine, EVENT_SCHEDULE, tell, f, 0, &c->timer);
}

bool clients_consistent(const struct fleet *f)
{
    const struct clients *c = &f->clients;
    uint32_t marked = 0, working = 0;
    for (uint32_t unit = 0; c->speed && unit < f->nodes.n_gpus; unit++)
        marked += c->who[unit] != NONE;
    for (uint32_t gpu = 0; c->speed && gpu < f->nodes.n_gpus / f->units_per_gpu; gpu++)
        working += c->at_work[gpu];
    if (marked != working)
        return false;
    for (size_t i = 0; i < f->leases.n; i++) {
        const struct lease *l = &f->leases.items[i];
        if (l->phase == LEASE_GONE || !l->works)
            continue;
        for (size_t k = 0; k < l->parts.n; k++)
            marked -= mask_count(l->parts.items[k].mask);
    }
    return marked == 0;
}
