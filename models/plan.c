/* What makes a plan impossible to run, whoever built it. */
#include "models/plan.h"

static const char *pool_fault(const struct fleet_plan *f)
{
    if (f->n_groups == 0 || fleet_plan_gpus(f) == 0)
        return "the fleet has no GPUs";
    for (size_t i = 0; i < f->n_groups; i++)
        if (f->groups[i].gpus_per_node < 1 || f->groups[i].gpus_per_node > 64)
            return "a node holds 1 to 64 GPUs";
    if (!dist_valid(&f->reclaim.teardown) || !dist_valid(&f->reclaim.scrub))
        return "a reclaim stage has no valid length";
    uint32_t nodes = 0;
    for (size_t i = 0; i < f->n_groups; i++)
        nodes += f->groups[i].nodes;
    return supply_fault(&f->supply, nodes);
}

static const char *quota_fault(const struct quota *q, uint64_t gpus, uint64_t *floors)
{
    *floors += q->floor_gpus;
    if (q->ceiling_gpus < q->floor_gpus)
        return "a ceiling is below its floor";
    if (q->lend_gpus > q->floor_gpus)
        return "a claimant lends more than its floor";
    return *floors > gpus ? "the floors together exceed the fleet" : NULL;
}

/* floors: of each pool, so far. */
static const char *claims_fault(const struct plan *p, const struct pool_claim *claims, uint32_t n,
                                uint64_t *floors)
{
    const char *fault = n == 0 ? "a claimant lists no pool" : NULL;
    for (uint32_t i = 0; i < n && !fault; i++) {
        uint32_t pool = claims[i].pool;
        fault = pool >= p->n_pools ? "a claimant lists a pool that does not exist"
                                   : quota_fault(&claims[i].quota,
                                                 fleet_plan_gpus(&p->pools[pool]) *
                                                     fleet_plan_units_per_gpu(&p->pools[pool]),
                                                 &floors[pool]);
    }
    return fault;
}

static uint32_t largest_node(const struct plan *p)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < p->n_pools; i++)
        for (size_t g = 0; g < p->pools[i].n_groups; g++) {
            uint32_t units =
                p->pools[i].groups[g].gpus_per_node * fleet_plan_units_per_gpu(&p->pools[i]);
            largest = units > largest ? units : largest;
        }
    return largest;
}

static const char *service_fault(const struct plan *p, const struct service_plan *s)
{
    if (s->gpus_per_replica < 1 || s->gpus_per_replica > largest_node(p))
        return "a replica does not fit into a node";
    if (s->replica.max_num_seqs < 1 || s->replica.max_batched_tokens < 1)
        return "a replica runs no request";
    for (uint32_t i = 0; i < s->n_clients; i++)
        if (!replica_valid(&s->clients[i]))
            return "the step times of a replica beside other clients are out of range";
    if (!replica_valid(&s->replica))
        return "the step times or the KV capacity of a replica are out of range";
    if (s->slo.n_objectives < 1 || s->slo.n_objectives > SLO_MAX_OBJECTIVES)
        return "a service has no objective, or too many";
    if (s->slo.window_ns == 0 || s->slo.start_ns != p->warmup_ns || s->slo.end_ns != p->horizon_ns)
        return "the windows of an objective do not cover the measured part";
    if (!(s->safe_in_flight > 0))
        return "safe_in_flight must be positive";
    if (s->autoscaler.enabled && (s->autoscaler.period_ns == 0 || !(s->autoscaler.target > 0)))
        return "an autoscaler needs a period and a target";
    if (s->forecast.enabled && (s->forecast.span_ns == 0 || !(s->forecast.bias > 0)))
        return "a forecast needs a positive bias and a span of its error";
    if (!s->autoscaler.enabled && s->initial_replicas == UINT32_MAX)
        return "without an autoscaler a service needs a number of replicas";
    for (int i = STAGE_SCHEDULE; i < STAGES; i++)
        if (!dist_valid(&s->cold_start[i]))
            return "a cold start stage has no valid length";
    return NULL;
}

static const char *queue_fault(const struct queue_plan *q)
{
    if (q->backlog && (q->n_backlog_classes == 0 || !dist_valid(&q->backlog_work)))
        return "a backlog needs gangs and their work";
    if (!dist_valid(&q->restart_load) || !dist_valid(&q->restart_init))
        return "a restart stage has no valid length";
    const char *fault = elastic_fault(&q->elastic);
    return fault ? fault : mix_fault(&q->mix);
}

static const char *claimants_fault(const struct plan *p)
{
    uint64_t floors[POOLS_MAX] = {0};
    const char *fault = NULL;
    for (size_t i = 0; i < p->n_services && !fault; i++) {
        fault = claims_fault(p, p->services[i].pools, p->services[i].n_pools, floors);
        if (!fault)
            fault = service_fault(p, &p->services[i]);
    }
    for (size_t i = 0; i < p->n_queues && !fault; i++) {
        for (size_t t = 0; t < queue_tenants(&p->queues[i]) && !fault; t++) {
            const struct tenant_plan *tenant = queue_tenant(&p->queues[i], t);
            fault = claims_fault(p, tenant->pools, tenant->n_pools, floors);
        }
        if (!fault)
            fault = queue_fault(&p->queues[i]);
    }
    return fault;
}

const char *plan_fault(const struct plan *p)
{
    const char *fault =
        p->n_pools < 1 || p->n_pools > POOLS_MAX ? "there is no pool, or too many" : NULL;
    for (size_t i = 0; i < p->n_pools && !fault; i++)
        fault = pool_fault(&p->pools[i]);
    if (!fault && (p->warmup_ns >= p->horizon_ns || p->timeline_ns == 0))
        fault = "the measured part is empty";
    if (!fault && p->timeline_ns > UINT64_MAX / plan_gpus(p))
        fault = "a timeline window of so many GPUs overflows";
    if (!fault && p->storage.restores && !(p->storage.node_read_bytes_per_s > 0))
        fault = "a node must read something of a restore in a second";
    if (!fault && plan_claimants(p) == 0)
        fault = "there is neither a service nor a training queue";
    return fault ? fault : claimants_fault(p);
}

size_t plan_claimants(const struct plan *p)
{
    return plan_queue_claimant(p, p->n_queues);
}

double plan_replica_gpus(const struct plan *p, const struct service_plan *s)
{
    return (double)s->gpus_per_replica / fleet_plan_units_per_gpu(&p->pools[s->pools[0].pool]);
}

uint32_t plan_gpus(const struct plan *p)
{
    uint32_t gpus = 0;
    for (size_t i = 0; i < p->n_pools; i++)
        gpus += fleet_plan_gpus(&p->pools[i]);
    return gpus;
}

uint32_t plan_queue_claimant(const struct plan *p, size_t queue)
{
    size_t claimant = p->n_services;
    for (size_t i = 0; i < queue; i++)
        claimant += queue_tenants(&p->queues[i]);
    return (uint32_t)claimant;
}

const char *plan_claimant_name(const struct plan *p, uint32_t claimant)
{
    if (claimant < p->n_services)
        return p->services[claimant].name;
    size_t tenant = claimant - p->n_services, queue = 0;
    for (; tenant >= queue_tenants(&p->queues[queue]); queue++)
        tenant -= queue_tenants(&p->queues[queue]);
    return queue_tenant(&p->queues[queue], tenant)->name;
}
