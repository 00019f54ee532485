/* Figures of one training queue over all of its tenants, and of one tenant: jobs, waiting,
 * GPU-hours kept and lost. */
#include "analysis/metrics_internal.h"

#include <math.h>

/* Of all tenants of a queue, which follow each other. */
static u128 queue_ns(const struct digest *d, uint32_t queue, uint32_t states)
{
    return capacity_ns(d, 1 + plan_queue_claimant(d->plan, queue),
                       1 + plan_queue_claimant(d->plan, queue + 1), states);
}

double queue_count(const struct digest *d, struct metric_at at)
{
    const struct queue_totals *t = &d->results->queues[at.entity].totals;
    const uint64_t counts[] = {
        [COUNT_SUBMITTED] = t->submitted, [COUNT_STARTED] = t->started,
        [COUNT_JOBS_DONE] = t->done,      [COUNT_BACKLOG_DONE] = t->backlog_done,
        [COUNT_REFUSED] = t->refused,     [COUNT_CENSORED] = t->censored,
        [COUNT_WAITING] = t->waiting,     [COUNT_PREEMPTIONS] = t->preemptions,
        [COUNT_CANCELLED] = t->cancelled, [COUNT_SWAPS] = t->swaps,
        [COUNT_RESIZES] = t->resizes,     [COUNT_RETURNS] = t->returns,
    };
    return (double)counts[at.arg];
}

double queue_hours(const struct digest *d, struct metric_at at)
{
    return capacity_hours(d, queue_ns(d, at.entity, at.arg));
}

double queue_goodput(const struct digest *d, struct metric_at at)
{
    return capacity_ratio(queue_ns(d, at.entity, STATE_BIT(TRAINING)),
                          queue_ns(d, at.entity, STATES_TRAINING_TIME));
}

/* Waits are sorted: those of 0 come first. */
double queue_waited(const struct digest *d, struct metric_at at)
{
    const struct durations *w = &d->queues[at.entity].wait;
    size_t at_once = 0;
    while (at_once < w->n && w->items[at_once] == 0)
        at_once++;
    return w->n ? (double)(w->n - at_once) / (double)w->n : NAN;
}

double queue_wait_mean(const struct digest *d, struct metric_at at)
{
    return durations_mean_s(&d->queues[at.entity].wait);
}

double queue_wait_quantile(const struct digest *d, struct metric_at at)
{
    return durations_quantile_s(&d->queues[at.entity].wait, at.arg / 100.0);
}

double queue_blocked(const struct digest *d, struct metric_at at)
{
    return capacity_time_hours(d->queues[at.entity].blocked_ns[at.part]);
}

double queue_blocked_gpus(const struct digest *d, struct metric_at at)
{
    return capacity_hours(d, d->queues[at.entity].blocked_gpu_ns[at.part]);
}

double queue_completion_mean(const struct digest *d, struct metric_at at)
{
    return durations_mean_s(&d->queues[at.entity].completion);
}

double queue_completion_quantile(const struct digest *d, struct metric_at at)
{
    return durations_quantile_s(&d->queues[at.entity].completion, at.arg / 100.0);
}

/* ---- the storage that they share ---- */

static double mean_slowdown(const struct transfer_totals *t)
{
    return t->done > 0 ? t->slowdown / (double)t->done : NAN;
}

double storage_figure(const struct digest *d, struct metric_at at)
{
    const struct storage_totals *s = &d->results->storage;
    const struct transfer_totals *saves = &s->kinds[TRANSFER_SAVE];
    double measured = (double)(d->results->end_ns - d->results->start_ns);
    const double facts[] = {
        [STORAGE_BUSY] = (double)s->busy_ns / measured,
        [STORAGE_LIMITED] = (double)s->limited_ns / measured,
        [STORAGE_USED] = s->used_ns / measured,
        [STORAGE_SAVES] = (double)saves->done,
        [STORAGE_SAVE_SLOWDOWN] = mean_slowdown(saves),
        [STORAGE_SAVE_SLOWDOWN_MAX] = saves->done > 0 ? saves->worst_slowdown : NAN,
        [STORAGE_RESTORE_SLOWDOWN] = mean_slowdown(&s->kinds[TRANSFER_RESTORE]),
    };
    return d->plan->storage.bytes_per_s > 0 ? facts[at.arg] : NAN;
}

/* ---- tenants ---- */

double tenant_count(const struct digest *d, struct metric_at at)
{
    const struct digest_tenant *t = &d->tenants[at.entity];
    const uint64_t counts[] = {
        [TENANT_SUBMITTED] = t->submitted,
        [TENANT_STARTED] = t->started,
        [TENANT_DONE] = t->done,
        [TENANT_WAITING] = t->waiting,
        [TENANT_PREEMPTIONS] = t->preemptions,
    };
    return (double)counts[at.arg];
}

double tenant_blocked(const struct digest *d, struct metric_at at)
{
    return capacity_time_hours(d->tenants[at.entity].blocked_ns[at.part]);
}

double tenant_wait_mean(const struct digest *d, struct metric_at at)
{
    return durations_mean_s(&d->tenants[at.entity].wait);
}

double tenant_wait_quantile(const struct digest *d, struct metric_at at)
{
    return durations_quantile_s(&d->tenants[at.entity].wait, at.arg / 100.0);
}

double tenant_completion_mean(const struct digest *d, struct metric_at at)
{
    return durations_mean_s(&d->tenants[at.entity].completion);
}

double tenant_completion_quantile(const struct digest *d, struct metric_at at)
{
    return durations_quantile_s(&d->tenants[at.entity].completion, at.arg / 100.0);
}

double tenant_goodput(const struct digest *d, struct metric_at at)
{
    uint32_t owner = at.entity + 1;
    return capacity_ratio(capacity_ns(d, owner, owner + 1, STATE_BIT(TRAINING)),
                          capacity_ns(d, owner, owner + 1, STATES_TRAINING_TIME));
}
