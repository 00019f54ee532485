/* What spot capacity is worth to the queue that used most of a spot pool: in closed form and as
 * simulated.
 *
 * A useful GPU-hour costs price / efficiency. It pays on spot while that is less than the price of
 * firm capacity (the first on-demand pool, else the first reserved one) over its efficiency:
 *
 *   break-even price = firm price x spot efficiency / firm efficiency
 *
 * Closed form (models/closed/renewal.h, spot.h): a gang of the size that used most GPU time saves
 * at the interval, at most the work it has, and restarts as planned; its nodes are lost one by one
 * at the rate of notices, shocks and failures. A gang does not work in the notice but holds and
 * pays its GPUs for it: the notice is part of what an interruption costs. A save that fits into the
 * notice ends it, and leaves the restart alone to be lost. Waiting for other nodes costs nothing:
 * no GPU is held. Firm efficiency is that of the queue that used most of the firm pool, else of the
 * same queue there. None where losses or failures are recorded, where
 * saves go on beside the work, grow apart or are copied to host memory, and where an evicted gang
 * is suspended or cancelled.
 *
 * Simulated: dollars of all that queues held in the pool over their GPU-hours useful there; idle
 * nodes that nobody held are left out on both sides. Firm efficiency is that of the queues there;
 * where they held nothing there, of the closed form. */
#include "analysis/metrics_internal.h"

#include "models/closed/renewal.h"

#include <math.h>

static const double never_s = 1e13; /* a mean time between failures where nothing fails */

/* Below it a gang as good as never comes to its next save, and no figure says anything. */
#define LEAST_EFFICIENCY 1e-6

/* The queues' owners. */
static uint32_t first_owner(const struct digest *d)
{
    return 1 + d->results->n_services;
}

static u128 held_ns(const struct digest *d, uint32_t pool, uint32_t states)
{
    return capacity_pool_ns(d, pool, first_owner(d), d->results->n_owners, states);
}

/* The pool whose price is the alternative; n_pools: none. */
static uint32_t firm_pool(const struct plan *p)
{
    uint32_t best = (uint32_t)p->n_pools;
    for (uint32_t i = 0; i < p->n_pools; i++) {
        enum supply_kind kind = p->pools[i].supply.kind;
        bool better = best == p->n_pools || p->pools[best].supply.kind == SUPPLY_RESERVED;
        if ((kind == SUPPLY_ON_DEMAND && better) || (kind == SUPPLY_RESERVED && best == p->n_pools))
            best = i;
    }
    return best;
}

static double pool_mean_price(const struct digest *d, uint32_t pool)
{
    const struct fleet_plan *p = &d->plan->pools[pool];
    bool path = p->supply.price && pool < d->results->n_pools;
    double price = path ? d->results->pools[pool].mean_price_usd_per_gpu_h : p->price_usd_per_gpu_h;
    return price > 0 ? price : NAN;
}

/* The queue with most useful GPU time in a pool; NULL: none has any. */
static const struct queue_plan *main_queue(const struct digest *d, uint32_t pool, uint32_t *number)
{
    const struct queue_plan *best = NULL;
    u128 most = 0;
    for (uint32_t q = 0; q < d->plan->n_queues; q++) {
        u128 ns = capacity_pool_ns(d, pool, 1 + plan_queue_claimant(d->plan, q),
                                   1 + plan_queue_claimant(d->plan, q + 1), STATES_USEFUL);
        if (ns <= most)
            continue;
        most = ns;
        *number = q;
        best = &d->plan->queues[q];
    }
    return best;
}

/* Averages over the GPU time of work kept; NaN: no job did any. */
struct usual_gang {
    double gpus, work_s;
};

static struct usual_gang usual_gang(const struct digest *d, uint32_t queue)
{
    double gpus = 0, work_s = 0, weight = 0;
    for (size_t i = 0; i < d->results->n_jobs; i++) {
        const struct job_row *job = &d->results->jobs[i];
        if (job->queue != queue)
            continue;
        double gpu_s = sim_time_to_s(job->done_ns) * job->gpus;
        gpus += gpu_s * job->gpus;
        work_s += gpu_s * sim_time_to_s(job->work_ns);
        weight += gpu_s;
    }
    return (struct usual_gang){weight > 0 ? gpus / weight : NAN, work_s / weight};
}

static double failure_rate(const struct supply_plan *s)
{
    return s->failure.per_1000_node_days / (1000 * 86400.0);
}

/* Mean time of one node to its loss; NaN: it is recorded. */
static double node_mtbf_s(const struct supply_plan *s)
{
    const struct failure_plan *f = &s->failure;
    double rate = failure_rate(s);
    bool bathtub = f->infant_scale_s > 0 || f->wear_out_scale_s > 0;
    if (f->trace || bathtub || (s->kind == SUPPLY_SPOT && s->spot.trace))
        return NAN;
    if (s->kind == SUPPLY_SPOT) {
        rate += s->spot.life_s > 0 ? 1 / s->spot.life_s : 0;
        rate += s->spot.shock_gap_s > 0 ? s->spot.shock_share / s->spot.shock_gap_s : 0;
    }
    return rate > 1 / never_s ? 1 / rate : never_s;
}

/* What the renewal formula knows: a gang that comes back from its last save, one of many at equal
 * intervals, for which it stands still. */
static bool plain(const struct checkpoint_plan *c, const struct preemption_plan *p)
{
    bool copies = c->copy_ns != 0 && c->copy_ns != SIM_NEVER;
    return p->mode == PREEMPTION_REQUEUE && !copies && c->write_ns == 0 && !(c->growth > 1);
}

/* Held between the notice and the gang's end; a queue's own grace can be shorter than the notice.
 */
static double paid_notice_s(const struct fleet_plan *p, const struct queue_plan *q)
{
    simtime_ns notice = p->supply.spot.notice_ns;
    if (q->preemption.own_grace && q->preemption.grace_ns < notice)
        notice = q->preemption.grace_ns;
    return sim_time_to_s(notice);
}

/* What a gang of these saves, restarts and losses makes of its time. */
static double efficiency_of(const struct fleet_plan *p, const struct queue_plan *q,
                            const struct checkpoint_plan *c, struct renewal r, double tau_s,
                            double work_s)
{
    double notice_s = paid_notice_s(p, q), last_save_s = c->final_save ? r.save_s : 0;
    double saves_s = r.save_s;
    if (tau_s >= work_s) {
        tau_s = work_s;
        saves_s = last_save_s;
    }
    bool spot = p->supply.kind == SUPPLY_SPOT;
    double save_s = sim_time_to_s(c->notice_save_ns);
    if (spot && c->save_on_notice && save_s <= notice_s)
        return renewal_notice_efficiency(&r, save_s) * tau_s / (tau_s + saves_s);
    double failures = failure_rate(&p->supply) * node_mtbf_s(&p->supply); /* of all losses */
    if (spot)
        r.down_s += notice_s * fmax(0, 1 - failures);
    r.save_s = saves_s;
    double eff = renewal_efficiency(&r, tau_s);
    return eff > LEAST_EFFICIENCY ? eff : NAN;
}

static double closed_efficiency(const struct digest *d, uint32_t pool, uint32_t queue)
{
    const struct fleet_plan *p = &d->plan->pools[pool];
    const struct queue_plan *q = &d->plan->queues[queue];
    const struct usual_gang gang = usual_gang(d, queue);
    double mtbf_s = node_mtbf_s(&p->supply);
    if (isnan(gang.gpus) || isnan(mtbf_s))
        return NAN;
    double nodes = fmax(1, ceil(gang.gpus / p->groups[0].gpus_per_node - 1e-9));
    const struct checkpoint_plan c = checkpoint_plan_of(&q->checkpoint, (uint32_t)nodes);
    simtime_ns interval_ns = checkpoint_interval(&c, (uint32_t)fmax(1, round(gang.gpus)));
    if (!plain(&c, &q->preemption))
        return NAN;
    struct renewal r = {
        .mtbf_s = mtbf_s / nodes,
        .save_s = sim_time_to_s(c.stall_ns),
        .restart_s = dist_mean_s(&q->restart_load) + dist_mean_s(&q->restart_init) +
                     nodes * sim_time_to_s(q->restart_per_node_ns),
        .down_s = dist_mean_s(&q->detection) * failure_rate(&p->supply) * mtbf_s,
    };
    return efficiency_of(p, q, &c, r, sim_time_to_s(interval_ns), gang.work_s);
}

struct worth {
    double price, firm_price, eff, firm_eff, simulated, firm_simulated;
};

/* false: not a spot pool, or nothing to hold it against. */
static bool worth_of(const struct digest *d, uint32_t pool, struct worth *w)
{
    uint32_t queue = 0, firm = firm_pool(d->plan);
    if (d->plan->pools[pool].supply.kind != SUPPLY_SPOT || firm == d->plan->n_pools ||
        !main_queue(d, pool, &queue))
        return false;
    w->price = pool_mean_price(d, pool);
    w->firm_price = pool_mean_price(d, firm);
    w->eff = closed_efficiency(d, pool, queue);
    main_queue(d, firm, &queue);
    w->firm_eff = closed_efficiency(d, firm, queue);
    double useful_h = capacity_hours(d, held_ns(d, pool, STATES_USEFUL));
    w->simulated =
        capacity_pool_usd(d, pool, first_owner(d), d->results->n_owners, STATES_ALL) / useful_h;
    double firm_eff =
        capacity_ratio(held_ns(d, firm, STATES_USEFUL), held_ns(d, firm, STATES_SUPPLIED));
    w->firm_simulated = w->firm_price / (firm_eff > 0 ? firm_eff : w->firm_eff);
    return true;
}

double spot_figure(const struct digest *d, struct metric_at at)
{
    struct worth w;
    if (!worth_of(d, at.entity, &w))
        return NAN;
    double firm_cost = w.firm_price / w.firm_eff;
    const double figures[] = {
        [SPOT_FIRM_PRICE] = w.firm_price,
        [SPOT_DISCOUNT] = 1 - w.price / w.firm_price,
        [SPOT_BREAK_EVEN_PRICE] = firm_cost * w.eff,
        [SPOT_BREAK_EVEN_DISCOUNT] = 1 - firm_cost * w.eff / w.firm_price,
        [SPOT_CLOSED_SAVING] = 1 - w.price / w.eff / firm_cost,
        [SPOT_SAVING] = 1 - w.simulated / w.firm_simulated,
    };
    return figures[at.arg];
}
