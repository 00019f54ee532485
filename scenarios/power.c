/* Power limits of racks: what a node draws, what fits a rack, what a limit cannot be. */
#include "scenarios/power.h"

#include <math.h>

static size_t n_groups(const struct check *c)
{
    const struct fleet_spec *f = &c->spec->fleet;
    return f->groups.n ? f->groups.n : 1;
}

/* GPU and GPUs of a node of a group of the fleet, or of a pool. */
static struct node_power node_power(const struct check *c, size_t pool, size_t g,
                                    const struct power_spec *s)
{
    const struct fleet_spec *f = &c->spec->fleet;
    const struct group_spec *group =
        f->groups.n ? (const struct group_spec *)f->groups.items + g : NULL;
    const struct pool_spec *own =
        f->pools.n ? (const struct pool_spec *)f->pools.items + pool : NULL;
    const char *gpu = group ? group->gpu : own ? own->gpu : f->gpu;
    uint64_t gpus = group ? group->gpus_per_node : own ? own->gpus_per_node : f->gpus_per_node;
    gpus = gpus == FIELD_NO_WHOLE || gpus == 0 ? 1 : gpus; /* said where it is read */
    struct node_power p = power_of_node(c->hardware, gpu ? gpu : "", (uint32_t)gpus);
    p.idle_w = s->at && !isnan(s->node_idle_w) ? s->node_idle_w : p.idle_w;
    p.max_w = s->at && !isnan(s->node_max_w) ? s->node_max_w : p.max_w;
    return p;
}

/* Nodes of a rack: as said, or as many of the hungriest as its limit holds. */
static uint32_t rack_nodes(const struct check *c, size_t pool, const struct power_spec *s)
{
    double most_w = 0;
    for (size_t g = 0; g < n_groups(c); g++)
        most_w = fmax(most_w, node_power(c, pool, g, s).max_w);
    if (s->rack != FIELD_NO_WHOLE)
        return (uint32_t)s->rack;
    uint32_t n = power_nodes_per_rack(most_w, s->rack_limit_w);
    return n < 64 ? n : 64;
}

static void check_group(const struct check *c, const struct power_spec *s,
                        const struct node_power *p, uint32_t nodes)
{
    double limit_w = s->rack_limit_w;
    if (p->max_w <= p->idle_w)
        check_say(c, DIAG_ERROR, s->at, "node_max", NULL,
                  "node_max: %.6g W, a node draws %.6g W when it does nothing", p->max_w,
                  p->idle_w);
    else if (nodes == 0 || power_busy_gpus(p, 1, limit_w) < p->gpus)
        check_say(c, DIAG_ERROR, s->at, "rack_limit", NULL,
                  "rack_limit: %.6g kW, one node alone draws up to %.6g kW", limit_w / 1000,
                  p->max_w / 1000);
    else if (s->cap == POWER_REFUSE && power_busy_gpus(p, nodes, limit_w) < p->gpus)
        check_say(c, DIAG_ERROR, s->at, "rack", NULL,
                  "rack: %u nodes that do nothing leave no power for one at work in %.6g kW", nodes,
                  limit_w / 1000);
    else if (power_left_frac(p, nodes, limit_w) <= 0)
        check_say(c, DIAG_ERROR, s->at, "rack", NULL,
                  "rack: %u nodes draw %.6g kW when they do nothing, over the limit of %.6g kW",
                  nodes, nodes * p->idle_w / 1000, limit_w / 1000);
}

void check_power(const struct check *c, size_t pool, const struct pool_view *v)
{
    const struct power_spec *s = v->power;
    if (!s->at)
        return;
    if (isnan(s->rack_limit_w)) {
        if (s->rack != FIELD_NO_WHOLE || node_get(s->at, "cap"))
            check_say(c, DIAG_ERROR, s->at, NULL, NULL, "power: rack and cap need a rack_limit");
        return;
    }
    if (v->sharing->at)
        check_say(c, DIAG_ERROR, s->at, "rack_limit", NULL,
                  "rack_limit: power limits count whole GPUs, those of %.60s are shared", v->name);
    if (v->spares > 0)
        check_say(c, DIAG_ERROR, s->at, "rack_limit", NULL,
                  "rack_limit: a spare would take power that others count on; say `spares: 0`");
    uint32_t nodes = rack_nodes(c, pool, s);
    for (size_t g = 0; g < n_groups(c); g++) {
        const struct node_power p = node_power(c, pool, g, s);
        check_group(c, s, &p, nodes);
    }
}

enum hr_err build_power(const struct check *c, size_t pool, const struct pool_view *v,
                        struct rack_plan *out)
{
    const struct power_spec *s = v->power;
    struct node_power *power = arena_array(c->arena, n_groups(c), sizeof *power);
    if (!power)
        return HR_NOMEM;
    for (size_t g = 0; g < n_groups(c); g++)
        power[g] = node_power(c, pool, g, s);
    *out = (struct rack_plan){.power = power};
    if (!s->at || isnan(s->rack_limit_w))
        return HR_OK;
    out->nodes = rack_nodes(c, pool, s);
    out->limit_w = s->rack_limit_w;
    out->slow = s->cap == POWER_SLOW;
    return HR_OK;
}
