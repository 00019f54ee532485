/* The gangs of an infinite backlog. */
#include "models/training/backlog.h"

#include <assert.h>
#include <stdlib.h>

static void sum_up(struct backlog *b)
{
    b->total = 0;
    for (size_t i = 0; i < b->n_classes; i++)
        b->total += b->shares[i];
    b->active = b->total > 0;
}

enum hr_err backlog_init(struct backlog *b, const struct queue_plan *plan, uint64_t seed,
                         uint32_t replication)
{
    *b = (struct backlog){0};
    if (!plan->backlog)
        return HR_OK;
    b->classes = plan->backlog_classes;
    b->n_classes = plan->n_backlog_classes;
    b->work = plan->backlog_work;
    rng_init(&b->rng, seed, replication, plan->name, "backlog");
    b->shares = calloc(b->n_classes + 1, sizeof *b->shares);
    if (!b->shares)
        return HR_NOMEM;
    for (size_t i = 0; i < b->n_classes; i++)
        b->shares[i] = b->classes[i].share;
    sum_up(b);
    return HR_OK;
}

void backlog_fini(struct backlog *b)
{
    free(b->shares);
    *b = (struct backlog){0};
}

void backlog_leave_out(struct backlog *b, size_t class_ix)
{
    b->shares[class_ix] = 0;
    sum_up(b);
}

const struct backlog_class *backlog_draw(struct backlog *b, simtime_ns *work_ns)
{
    assert(b->active);
    double u = rng_uniform(&b->rng) * b->total;
    size_t chosen = 0;
    for (size_t i = 0; i < b->n_classes && u >= 0; i++) {
        if (b->shares[i] > 0)
            chosen = i;
        u -= b->shares[i];
    }
    simtime_ns work = dist_draw(&b->work, &b->rng);
    *work_ns = work < SIM_S ? SIM_S : work;
    return &b->classes[chosen];
}
