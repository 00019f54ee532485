/* Progressive filling, and the rules that build on it; fair_share.h states them.
 *
 * Each round of a filling meets one demand, the one with the least demand per weight, or ends it:
 * O(n^2), for the few tenants of a worksheet or a test. */
#include "models/closed/fair_share.h"

#include <math.h>

enum { MOST_BITS = 64 };

/* What a filling reads: tenant i asks for so much, with this weight; not positive: it takes no
 * part. */
struct bowl {
    double demand, weight;
};

struct filling {
    const void *self;
    struct bowl (*bowl)(const void *self, size_t i);
};

/* Adds its part of capacity to each alloc; returns the level. met(i) is kept as the order of
 * demand per weight: a tenant is met when its ratio is at most the level. */
static double fill(double capacity, const struct filling *f, size_t n, double *alloc)
{
    double level = -1, left = capacity;
    for (;;) {
        double next = INFINITY, weights = 0, met = 0;
        for (size_t i = 0; i < n; i++) {
            struct bowl b = f->bowl(f->self, i);
            double ratio = b.demand / b.weight;
            if (b.weight <= 0)
                continue;
            if (ratio <= level)
                met += b.demand;
            else
                weights += b.weight;
            if (ratio > level && ratio < next)
                next = ratio;
        }
        left = capacity - met;
        if (weights <= 0 || next * weights > left) {
            level = weights <= 0 ? INFINITY : left / weights;
            break;
        }
        level = next;
    }
    for (size_t i = 0; i < n; i++) {
        struct bowl b = f->bowl(f->self, i);
        if (b.weight > 0)
            alloc[i] += fmin(b.demand, level * b.weight);
    }
    return level;
}

static bool amount(double x)
{
    return x >= 0; /* false for NaN */
}

/* ---- weighted max-min ---- */

struct plain {
    const double *demand, *weight;
};

static struct bowl plain_bowl(const void *self, size_t i)
{
    const struct plain *p = self;
    return (struct bowl){p->demand[i], p->weight[i]};
}

double fair_share_fill(double capacity, const double *demand, const double *weight, size_t n,
                       double *alloc)
{
    if (!amount(capacity))
        return NAN;
    for (size_t i = 0; i < n; i++) {
        if (!amount(demand[i]) || !(weight[i] > 0))
            return NAN;
        alloc[i] = 0;
    }
    const struct plain p = {demand, weight};
    return fill(capacity, &(struct filling){&p, plain_bowl}, n, alloc);
}

/* ---- KAI ---- */

struct kai {
    const struct kai_queue *queues;
    int64_t priority;
    bool over_quota; /* else the part within it, everybody's weight its quota */
};

static struct bowl kai_bowl(const void *self, size_t i)
{
    const struct kai *k = self;
    const struct kai_queue *q = &k->queues[i];
    double deserved = fmin(q->quota, q->demand);
    if (q->priority != k->priority)
        return (struct bowl){0, 0};
    if (!k->over_quota)
        return (struct bowl){deserved, q->quota};
    return (struct bowl){q->demand - deserved, q->weight};
}

/* The highest priority below, or INT64_MIN. */
static int64_t next_priority(const struct kai_queue *queues, size_t n, int64_t below)
{
    int64_t next = INT64_MIN;
    for (size_t i = 0; i < n; i++)
        if (queues[i].priority < below && queues[i].priority > next)
            next = queues[i].priority;
    return next;
}

bool fair_share_kai(double capacity, const struct kai_queue *queues, size_t n, double *alloc)
{
    if (!amount(capacity))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct kai_queue *q = &queues[i];
        if (!amount(q->quota) || !amount(q->demand) || !(q->weight > 0))
            return false;
        alloc[i] = 0;
    }
    for (int over = 0; over < 2; over++)
        for (int64_t p = next_priority(queues, n, INT64_MAX); p != INT64_MIN;
             p = next_priority(queues, n, p)) {
            const struct kai k = {queues, p, over};
            double left = capacity;
            for (size_t i = 0; i < n; i++)
                left -= alloc[i];
            fill(fmax(left, 0), &(struct filling){&k, kai_bowl}, n, alloc);
        }
    return true;
}

/* ---- Kueue ---- */

static struct bowl kueue_bowl(const void *self, size_t i)
{
    const struct kueue_member *m = (const struct kueue_member *)self + i;
    double beyond = fmax(0, m->demand - m->nominal);
    return (struct bowl){fmin(beyond, m->borrow_limit), m->weight};
}

bool fair_share_kueue(double cohort_nominal, const struct kueue_member *members, size_t n,
                      double *alloc)
{
    double pool = cohort_nominal;
    if (!amount(cohort_nominal))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct kueue_member *m = &members[i];
        if (!amount(m->nominal) || !amount(m->demand) || !amount(m->borrow_limit) ||
            !amount(m->lend_limit) || !(m->weight > 0))
            return false;
        alloc[i] = fmin(m->nominal, m->demand);
        pool += fmin(m->lend_limit, m->nominal - alloc[i]);
    }
    fill(pool, &(struct filling){members, kueue_bowl}, n, alloc);
    return true;
}

/* ---- DRF ---- */

struct drf {
    const double *capacity, *demand, *weight, *most;
    size_t n_resources, n;
    uint64_t full, done; /* bit per resource that is used up; per tenant that has what it wants */
};

static bool stopped(const struct drf *d, size_t i)
{
    for (size_t r = 0; r < d->n_resources; r++)
        if ((d->full >> r & 1) && d->demand[i * d->n_resources + r] > 0)
            return true;
    return d->done >> i & 1;
}

/* Tasks a tenant gains while its weighted dominant share grows by one. */
static double pace(const struct drf *d, size_t i)
{
    double dominant = 0;
    for (size_t r = 0; r < d->n_resources; r++)
        dominant = fmax(dominant, d->demand[i * d->n_resources + r] / d->capacity[r]);
    return d->weight[i] / dominant;
}

static double resource_left(const struct drf *d, size_t r, const double *tasks, double *use)
{
    double left = d->capacity[r];
    *use = 0;
    for (size_t i = 0; i < d->n; i++) {
        double a_task = d->demand[i * d->n_resources + r];
        left -= tasks[i] * a_task;
        *use += stopped(d, i) ? 0 : pace(d, i) * a_task;
    }
    return left;
}

/* One step: all grow until a tenant has all it wants or a resource is used up. False at the end. */
static bool drf_step(struct drf *d, double *tasks)
{
    double step = INFINITY, use;
    uint64_t full = 0, done = 0;
    for (size_t i = 0; i < d->n; i++) {
        double needs = stopped(d, i) ? INFINITY : (d->most[i] - tasks[i]) / pace(d, i);
        done = needs < step ? UINT64_C(1) << i : done;
        step = fmin(step, needs);
    }
    for (size_t r = 0; r < d->n_resources; r++) {
        double left = resource_left(d, r, tasks, &use);
        double lasts = use > 0 ? fmax(left, 0) / use : INFINITY;
        full = lasts < step ? UINT64_C(1) << r : full;
        done = lasts < step ? 0 : done;
        step = fmin(step, lasts);
    }
    if (isinf(step))
        return false;
    for (size_t i = 0; i < d->n; i++)
        tasks[i] += stopped(d, i) ? 0 : step * pace(d, i);
    d->full |= full;
    d->done |= done;
    return true;
}

bool fair_share_drf(const double *capacity, size_t n_resources, const double *demand,
                    const double *weight, const double *most, size_t n, double *tasks)
{
    struct drf d = {capacity, demand, weight, most, n_resources, n, 0, 0};
    if (n_resources > MOST_BITS || n > MOST_BITS)
        return false;
    for (size_t i = 0; i < n; i++) {
        tasks[i] = 0;
        if (!(weight[i] > 0) || !amount(most[i]) || isinf(pace(&d, i)) || isnan(pace(&d, i)))
            return false;
    }
    while (drf_step(&d, tasks))
        continue;
    return true;
}
