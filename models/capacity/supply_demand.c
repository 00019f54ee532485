/* On-demand nodes: asked for when starts are refused, given back when they stand idle. */
#include "models/capacity/supply_internal.h"

static bool on_demand(const struct supply *s)
{
    return s->plan.kind == SUPPLY_ON_DEMAND;
}

void demand_supply_refused(struct supply *s, uint32_t gpus)
{
    if (!on_demand(s))
        return;
    s->refused_gpus += gpus;
    engine_schedule(s->engine, s->ask_timer, supply_now(s)); /* after the pass */
}

/* After a pass: the GPUs it refused, less those of nodes on their way. */
static void ask(void *ctx, uint32_t arg)
{
    struct supply *s = ctx;
    uint64_t on_way = 0;
    (void)arg;
    for (uint32_t i = 0; i < s->n && s->n_on_their_way > 0; i++)
        on_way += s->nodes[i].on_its_way ? fleet_node_gpus(s->fleet, i) : 0;
    for (uint32_t i = 0; i < s->n && on_way < s->refused_gpus; i++) {
        struct node_supply *n = &s->nodes[i];
        if (!(n->out & OUT_ABSENT) || n->on_its_way)
            continue;
        n->on_its_way = true;
        s->n_on_their_way++;
        on_way += fleet_node_gpus(s->fleet, i);
        supply_count(s, &s->totals.requested);
        simtime_ns delay = dist_draw(&s->plan.on_demand.provision, &s->provision);
        engine_schedule(s->engine, n->back, sim_time_add(supply_now(s), delay));
    }
    s->refused_gpus = 0;
}

/* After a pass: nodes that its predecessors' refused starts kept are idle now if it refused none.
 */
void demand_supply_passed(struct supply *s)
{
    s->refusing = s->refused_gpus > 0;
    for (uint32_t i = 0; i < s->n && s->any_kept && !s->refusing; i++)
        if (s->nodes[i].kept)
            engine_schedule(s->engine, s->nodes[i].release, supply_now(s));
    s->any_kept = s->any_kept && s->refusing;
}

/* A node that was used meanwhile and came empty again has had its timer moved. A pass that is still
 * due at this instant goes first. While starts are refused a node waits for the rest of a place:
 * given back, it would be asked for again at once. */
static void idle_long_enough(void *ctx, uint32_t node)
{
    struct supply *s = ctx;
    if (fleet_pass_due(s->fleet) == supply_now(s)) {
        engine_schedule(s->engine, s->nodes[node].release, supply_now(s));
        return;
    }
    if (s->nodes[node].out || fleet_node_closed(s->fleet, node) ||
        fleet_node_free(s->fleet, node) < fleet_node_gpus(s->fleet, node))
        return;
    if (s->refusing) {
        s->nodes[node].kept = s->any_kept = true;
        return;
    }
    supply_count(s, &s->totals.released);
    supply_out(s, node, OUT_ABSENT);
}

/* A node stands idle once a pass could have used it, however short the time it may be idle. */
void demand_supply_idle(struct supply *s, uint32_t node)
{
    if (!on_demand(s))
        return;
    s->nodes[node].kept = false;
    fleet_want_pass(s->fleet);
    simtime_ns at = sim_time_add(supply_now(s), s->plan.on_demand.idle_release_ns);
    simtime_ns pass = fleet_pass_due(s->fleet);
    engine_schedule(s->engine, s->nodes[node].release, at > pass ? at : pass);
}

enum hr_err demand_supply_init(struct supply *s)
{
    if (!on_demand(s))
        return HR_OK;
    TRY(engine_timer_new(s->engine, EVENT_SCHEDULE, ask, s, 0, &s->ask_timer));
    return supply_timers(s, EVENT_SCHEDULE, idle_long_enough,
                         offsetof(struct node_supply, release));
}

void demand_supply_start(struct supply *s)
{
    for (uint32_t i = 0; on_demand(s) && i < s->n; i++)
        if (i < s->plan.on_demand.initial)
            demand_supply_idle(s, i);
        else
            supply_out(s, i, OUT_ABSENT);
}
