/* Nodes and the reasons for which they are out; building the supply of a pool. */
#include "models/capacity/supply_internal.h"

#include <stdlib.h>
#include <string.h>

const char *const supply_kind_names[SUPPLY_KINDS] = {"reserved", "on-demand", "spot"};
const char *const roll_wait_names[ROLL_WAITS] = {"finish", "checkpoint", "none"};
const char *const roll_order_names[ROLL_ORDERS] = {"number", "random", "idle-first"};

/* ---- faults of a plan ---- */

static bool share_ok(double x)
{
    return x >= 0 && x <= 1;
}

static const char *failure_fault(const struct failure_plan *f)
{
    if (!(f->per_1000_node_days >= 0) || !(f->infant_scale_s >= 0) || !(f->wear_out_scale_s >= 0))
        return "a failure rate is negative";
    if (f->infant_scale_s > 0 && !(f->infant_shape > 0 && f->infant_shape < 1))
        return "the shape of infant failures is not between 0 and 1";
    if (f->wear_out_scale_s > 0 && !(f->wear_out_shape > 1))
        return "the shape of wear-out failures is not above 1";
    if (!(f->age_s >= 0) || !share_ok(f->reboot_share))
        return "the age of nodes or the share of reboots is out of range";
    if (!dist_valid(&f->repair_reboot) || !dist_valid(&f->repair_part))
        return "a repair has no valid length";
    return NULL;
}

static const char *maintenance_fault(const struct maintenance_plan *m)
{
    if (m->nodes == 0 && !(m->share > 0 && m->share <= 1))
        return "a roll-out takes no node at a time";
    if (m->every_ns == 0)
        return "a roll-out without a gap to the next";
    return dist_valid(&m->work) && share_ok(m->fail_share) ? NULL
                                                           : "the work of a roll-out is not valid";
}

const char *supply_fault(const struct supply_plan *p, uint32_t nodes)
{
    const struct spot_plan *spot = &p->spot;
    if (p->kind == SUPPLY_ON_DEMAND &&
        (p->on_demand.initial > nodes || !dist_valid(&p->on_demand.provision)))
        return "on-demand nodes at the start exceed the limit, or their delay is not valid";
    if (p->kind == SUPPLY_SPOT && (!(spot->life_s >= 0) || !(spot->shock_gap_s >= 0) ||
                                   !share_ok(spot->shock_share) || !dist_valid(&spot->absence)))
        return "a spot hazard is not valid";
    if (p->spares >= nodes)
        return "every node is a spare";
    if (p->price && p->price->n == 0)
        return "a price path is empty";
    const char *fault = failure_fault(&p->failure);
    for (size_t i = 0; i < p->n_maintenance && !fault; i++)
        fault = maintenance_fault(&p->maintenance[i]);
    return fault;
}

/* ---- reasons ---- */

static enum gpu_state booked_as(uint8_t out)
{
    if (out & OUT_GONE)
        return GPU_ABSENT;
    return out & OUT_FAILED ? GPU_FAILED : GPU_MAINTENANCE;
}

void supply_out(struct supply *s, uint32_t node, uint8_t reason)
{
    s->nodes[node].out |= reason;
    fleet_node_close(s->fleet, node, booked_as(s->nodes[node].out));
    risk_arm(s, node);
}

void supply_strike(struct supply *s, uint32_t node, uint8_t reason)
{
    s->nodes[node].out |= reason;
    fleet_node_fail(s->fleet, node, booked_as(s->nodes[node].out));
    risk_arm(s, node);
    rollout_supply_emptied(s, node);
}

void supply_in(struct supply *s, uint32_t node, uint8_t reasons)
{
    struct node_supply *n = &s->nodes[node];
    n->out &= (uint8_t)~reasons;
    if (n->out) {
        fleet_node_close(s->fleet, node, booked_as(n->out));
    } else if (fleet_spares(s->fleet) < s->plan.spares && fleet_node_idle(s->fleet, node)) {
        fleet_spare_add(s->fleet, node);
    } else {
        fleet_node_open(s->fleet, node);
        demand_supply_idle(s, node);
    }
    risk_arm(s, node);
}

/* ---- what the fleet tells ---- */

static void refused(void *self, uint32_t gpus)
{
    demand_supply_refused(self, gpus);
}

static void emptied(void *self, uint32_t node)
{
    struct supply *s = self;
    if (s->nodes[node].out == 0)
        demand_supply_idle(s, node);
    else
        rollout_supply_emptied(s, node);
}

static void passed(void *self)
{
    demand_supply_passed(self);
}

static void saved(void *self, uint32_t node, lease_id l)
{
    rollout_supply_saved(self, node, l);
}

/* ---- construction ---- */

enum hr_err supply_timers(struct supply *s, enum event_class c, event_fn *fn, size_t member)
{
    for (uint32_t i = 0; i < s->n; i++) {
        timer_id t;
        TRY(engine_timer_new(s->engine, c, fn, s, i, &t));
        memcpy((char *)&s->nodes[i] + member, &t, sizeof t);
    }
    return HR_OK;
}

static void streams_init(struct supply *s, uint64_t seed, uint32_t replication, const char *name,
                         struct rng *offsets)
{
    const struct {
        struct rng *stream;
        const char *purpose;
    } streams[] = {
        {&s->notice, "notice"},         {&s->absence, "absence"},
        {&s->shock, "shock"},           {&s->failure, "failure"},
        {&s->repair, "repair"},         {&s->provision, "provision"},
        {&s->roll_order, "roll-order"}, {&s->roll_work, "roll-work"},
        {&s->roll_fail, "roll-fail"},   {&s->client, "client"},
        {&offsets[0], "loss-offset"},   {&offsets[1], "failure-offset"},
        {&offsets[2], "price-offset"},
    };
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        rng_init(streams[i].stream, seed, replication, name, streams[i].purpose);
}

static void nodes_without_timers(struct supply *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        s->nodes[i] = (struct node_supply){.risk = TIMER_NONE,
                                           .gone = TIMER_NONE,
                                           .back = TIMER_NONE,
                                           .repair = TIMER_NONE,
                                           .release = TIMER_NONE,
                                           .wait = TIMER_NONE,
                                           .work = TIMER_NONE,
                                           .roll = ROLL_NONE,
                                           .stop_lease = LEASE_NONE};
}

static enum hr_err init(struct supply *s, const struct fleet_plan *plan, uint64_t seed,
                        uint32_t replication)
{
    const struct supply_plan *p = &s->plan;
    struct rng offsets[3];
    streams_init(s, seed, replication, plan->name ? plan->name : "fleet", offsets);
    s->nodes = arena_array(&s->arena, s->n, sizeof *s->nodes);
    s->scratch = arena_array(&s->arena, s->n, sizeof *s->scratch);
    if (!s->nodes || !s->scratch)
        return HR_NOMEM;
    nodes_without_timers(s);
    TRY(risk_init(s));
    TRY(replay_init(s, &s->loss_trace, p->kind == SUPPLY_SPOT ? p->spot.trace : NULL, false,
                    p->spot.trace_loop, &offsets[0]));
    TRY(replay_init(s, &s->failure_trace, p->failure.trace, true, p->failure.trace_loop,
                    &offsets[1]));
    TRY(demand_supply_init(s));
    TRY(rollout_supply_init(s));
    TRY(client_init(s));
    return cost_init(s, plan->price_usd_per_gpu_h, &offsets[2]);
}

struct supply *supply_new(const struct fleet_plan *plan, struct engine *engine,
                          const struct pool *pool, uint32_t n_owners, uint64_t seed,
                          uint32_t replication, simtime_ns measured_from)
{
    struct supply *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct supply){
        .plan = plan->supply,
        .fleet = pool->fleet,
        .ledger = pool->ledger,
        .engine = engine,
        .measured_from = measured_from,
        .replication = replication,
        .units_per_gpu = fleet_units_per_gpu(pool->fleet),
        .client_mtbf_s = plan->sharing.client_mtbf_s,
        .n = fleet_nodes(pool->fleet),
        .n_owners = n_owners,
        .totals = {.roll_out_begin_ns = SIM_NEVER, .roll_out_end_ns = SIM_NEVER},
    };
    arena_init(&s->arena);
    if (init(s, plan, seed, replication) != HR_OK) {
        supply_free(s);
        return NULL;
    }
    const struct fleet_watch watch = {s, refused, emptied, saved, passed};
    fleet_watch_set(s->fleet, &watch);
    return s;
}

/* The timers die with the engine, which outlives nothing that could fire them. */
void supply_free(struct supply *s)
{
    if (!s)
        return;
    arena_fini(&s->arena);
    free(s);
}

void supply_start(struct supply *s)
{
    demand_supply_start(s);
    replay_start(&s->loss_trace);
    replay_start(&s->failure_trace);
    for (uint32_t i = s->n; i-- > 0 && fleet_spares(s->fleet) < s->plan.spares;)
        if (s->nodes[i].out == 0) {
            fleet_node_close(s->fleet, i, GPU_HELD_IDLE);
            fleet_spare_add(s->fleet, i);
        }
    risk_start(s);
    rollout_supply_start(s);
    client_start(s);
    cost_start(s);
}

const struct supply_totals *supply_totals(const struct supply *s)
{
    return &s->totals;
}
