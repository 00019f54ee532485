/* Figures of one training queue: jobs, waiting, GPU-hours kept and lost. */
#include "analysis/metrics_internal.h"

static uint32_t owner_of(const struct digest *d, uint32_t queue)
{
    return 1 + plan_queue_claimant(d->plan, queue);
}

double queue_count(const struct digest *d, struct metric_at at)
{
    const struct queue_totals *t = &d->results->queues[at.entity].totals;
    const uint64_t counts[] = {
        [COUNT_SUBMITTED] = t->submitted, [COUNT_STARTED] = t->started,
        [COUNT_JOBS_DONE] = t->done,      [COUNT_BACKLOG_DONE] = t->backlog_done,
        [COUNT_REFUSED] = t->refused,     [COUNT_CENSORED] = t->censored,
        [COUNT_WAITING] = t->waiting,     [COUNT_PREEMPTIONS] = t->preemptions,
    };
    return (double)counts[at.arg];
}

double queue_hours(const struct digest *d, struct metric_at at)
{
    uint32_t owner = owner_of(d, at.entity);
    return capacity_hours(capacity_ns(d, owner, owner + 1, at.arg));
}

double queue_goodput(const struct digest *d, struct metric_at at)
{
    uint32_t owner = owner_of(d, at.entity);
    return capacity_ratio(capacity_ns(d, owner, owner + 1, STATE_BIT(TRAINING)),
                          capacity_ns(d, owner, owner + 1, STATES_TRAINING_TIME));
}

double queue_wait_mean(const struct digest *d, struct metric_at at)
{
    return durations_mean_s(&d->queues[at.entity].wait);
}

double queue_wait_quantile(const struct digest *d, struct metric_at at)
{
    return durations_quantile_s(&d->queues[at.entity].wait, at.arg / 100.0);
}

double queue_completion_mean(const struct digest *d, struct metric_at at)
{
    return durations_mean_s(&d->queues[at.entity].completion);
}

double queue_completion_quantile(const struct digest *d, struct metric_at at)
{
    return durations_quantile_s(&d->queues[at.entity].completion, at.arg / 100.0);
}
