/* Maintenance calendars: a roll-out goes through the pool, so many nodes at a time.
 *
 *     close -> wait for gangs (until they end, or save) -> work -> open, or repair
 *
 * A node whose wait has lasted for the drain limit is drained with the pool's grace, whatever runs
 * there. The next node begins when one is done. */
#include "models/capacity/supply_internal.h"

static struct roll *roll_of(struct supply *s, uint32_t node)
{
    return &s->rolls[s->nodes[node].roll];
}

static uint32_t at_once(const struct supply *s, const struct maintenance_plan *m)
{
    uint32_t n = m->nodes ? m->nodes : (uint32_t)(m->share * s->n + 0.5);
    return n > 0 ? n : 1;
}

/* ---- one node ---- */

static void begin_work(struct supply *s, uint32_t node)
{
    struct node_supply *n = &s->nodes[node];
    n->working = true;
    if (!n->forced)
        supply_count(s, &s->totals.drained);
    engine_cancel(s->engine, n->wait);
    simtime_ns t = dist_draw(&roll_of(s, node)->plan->work, &s->roll_work);
    engine_schedule(s->engine, n->work, sim_time_add(supply_now(s), t));
}

static void evict(struct supply *s, uint32_t node, lease_id l, uint64_t *total)
{
    s->nodes[node].forced = true;
    supply_count(s, total);
    fleet_evict(s->fleet, l, fleet_grace_ns(s->fleet));
}

/* Evicts what need not, or must not, be waited for; returns when to look again. */
static simtime_ns let_go(struct supply *s, uint32_t node)
{
    struct node_supply *n = &s->nodes[node];
    const struct maintenance_plan *m = roll_of(s, node)->plan;
    simtime_ns now = supply_now(s), next = n->limit_ns;
    bool all = m->wait == ROLL_WAIT_NONE || now >= n->limit_ns;
    bool saves = m->wait == ROLL_WAIT_CHECKPOINT;
    lease_id due = n->stop_ns == now ? n->stop_lease : LEASE_NONE, l;
    n->stop_lease = LEASE_NONE;
    for (l = fleet_node_next_lease(s->fleet, node, LEASE_NONE); l != LEASE_NONE;
         l = fleet_node_next_lease(s->fleet, node, l)) {
        simtime_ns stop = all || l == due ? now : fleet_next_stop(s->fleet, l, saves);
        if (stop <= now) {
            evict(s, node, l, l == due ? &s->totals.at_save : &s->totals.forced);
        } else if (saves && stop < next) {
            next = n->stop_ns = stop;
            n->stop_lease = l;
        }
    }
    if (all)
        fleet_node_drain(s->fleet, node, fleet_grace_ns(s->fleet)); /* assembling starts too */
    return next > now ? next : SIM_NEVER;
}

static void look(void *ctx, uint32_t node)
{
    struct supply *s = ctx;
    if (s->nodes[node].roll == ROLL_NONE || s->nodes[node].working)
        return;
    simtime_ns next = let_go(s, node);
    if (fleet_node_idle(s->fleet, node))
        begin_work(s, node);
    else
        engine_schedule(s->engine, s->nodes[node].wait, next);
}

void rollout_supply_emptied(struct supply *s, uint32_t node)
{
    const struct node_supply *n = &s->nodes[node];
    if (n->roll != ROLL_NONE && !n->working)
        engine_schedule(s->engine, n->wait, supply_now(s));
}

void rollout_supply_saved(struct supply *s, uint32_t node, lease_id l)
{
    struct node_supply *n = &s->nodes[node];
    if (n->roll == ROLL_NONE || n->working || roll_of(s, node)->plan->wait != ROLL_WAIT_CHECKPOINT)
        return;
    n->stop_ns = supply_now(s);
    n->stop_lease = l;
    engine_schedule(s->engine, n->wait, supply_now(s));
}

/* ---- the roll-out ---- */

/* The next node by the plan's order, at the front of those that have not had their turn. */
static uint32_t take_next(struct supply *s, struct roll *r)
{
    uint32_t best = r->next;
    if (r->plan->order == ROLL_IDLE_FIRST)
        for (uint32_t i = r->next; i < s->n; i++)
            if (fleet_node_gpus(s->fleet, r->order[i]) - fleet_node_free(s->fleet, r->order[i]) <
                fleet_node_gpus(s->fleet, r->order[best]) -
                    fleet_node_free(s->fleet, r->order[best]))
                best = i;
    uint32_t node = r->order[best];
    for (uint32_t i = best; i > r->next; i--)
        r->order[i] = r->order[i - 1];
    r->order[r->next++] = node;
    return node;
}

static void finish(struct supply *s, struct roll *r)
{
    struct supply_totals *t = &s->totals;
    r->running = false;
    if (supply_now(s) < s->measured_from)
        return;
    t->roll_outs++;
    t->roll_out_ns += supply_now(s) - r->begin_ns;
    t->roll_out_end_ns = supply_now(s);
    if (t->roll_out_begin_ns == SIM_NEVER)
        t->roll_out_begin_ns = r->begin_ns;
}

static void step(struct supply *s, struct roll *r)
{
    while (r->next < s->n && r->active < at_once(s, r->plan)) {
        uint32_t node = take_next(s, r);
        struct node_supply *n = &s->nodes[node];
        if (n->out)
            continue;
        n->roll = (uint32_t)(r - s->rolls);
        n->working = n->forced = false;
        n->limit_ns = sim_time_add(supply_now(s), r->plan->drain_limit_ns);
        n->stop_lease = LEASE_NONE;
        r->active++;
        supply_out(s, node, OUT_MAINTENANCE);
        engine_schedule(s->engine, n->wait, supply_now(s));
    }
    if (r->next == s->n && r->active == 0 && r->running)
        finish(s, r);
}

static void work_done(void *ctx, uint32_t node)
{
    struct supply *s = ctx;
    struct roll *r = roll_of(s, node);
    s->nodes[node].roll = ROLL_NONE;
    r->active--;
    supply_count(s, &s->totals.upgraded);
    bool fails = r->plan->fail_share > 0 && rng_uniform(&s->roll_fail) < r->plan->fail_share;
    if (fails && !(s->nodes[node].out & OUT_FAILED)) {
        supply_count(s, &s->totals.upgrades_failed);
        supply_out(s, node, OUT_FAILED);
        risk_repair(s, node);
    }
    supply_in(s, node, OUT_MAINTENANCE);
    step(s, r);
}

static void begin(void *ctx, uint32_t which)
{
    struct supply *s = ctx;
    struct roll *r = &s->rolls[which];
    engine_schedule(s->engine, r->begin, sim_time_add(supply_now(s), r->plan->every_ns));
    if (r->running)
        return;
    r->running = true;
    r->next = 0;
    r->begin_ns = supply_now(s);
    for (uint32_t i = 0; i < s->n; i++)
        r->order[i] = i;
    for (uint32_t i = s->n; i > 1 && r->plan->order == ROLL_AT_RANDOM; i--) {
        uint32_t j = (uint32_t)rng_below(&s->roll_order, i), was = r->order[i - 1];
        r->order[i - 1] = r->order[j];
        r->order[j] = was;
    }
    step(s, r);
}

enum hr_err rollout_supply_init(struct supply *s)
{
    size_t n = s->plan.n_maintenance;
    if (n == 0)
        return HR_OK;
    s->rolls = arena_array(&s->arena, n, sizeof *s->rolls);
    if (!s->rolls)
        return HR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        s->rolls[i].plan = &s->plan.maintenance[i];
        s->rolls[i].order = arena_array(&s->arena, s->n, sizeof *s->rolls[i].order);
        if (!s->rolls[i].order)
            return HR_NOMEM;
        TRY(engine_timer_new(s->engine, EVENT_CONTROL, begin, s, (uint32_t)i, &s->rolls[i].begin));
    }
    TRY(supply_timers(s, EVENT_CONTROL, look, offsetof(struct node_supply, wait)));
    return supply_timers(s, EVENT_SUPPLY, work_done, offsetof(struct node_supply, work));
}

void rollout_supply_start(struct supply *s)
{
    for (size_t i = 0; i < s->plan.n_maintenance; i++)
        engine_schedule(s->engine, s->rolls[i].begin, s->plan.maintenance[i].start_ns);
}
