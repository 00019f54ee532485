/* Jobs drawn from classes; mix.h says how. */
#include "models/training/mix.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

const char *mix_fault(const struct mix_plan *p)
{
    if (p->kind == MIX_NONE)
        return NULL;
    double total = 0;
    for (size_t i = 0; i < p->n_classes; i++) {
        const struct job_class *c = &p->classes[i];
        if (!dist_valid(&c->work) || c->gpus == 0)
            return "a class of drawn jobs needs GPUs and a run time";
        if (!(c->busy >= 0 && c->busy <= 1))
            return "a class of drawn jobs is busy for 0 to 100 % of its time";
        total += c->share;
    }
    if (!(total > 0))
        return "drawn jobs need a class with a share";
    if (p->kind == MIX_POISSON && !(p->rate_per_s > 0))
        return "drawn jobs need a rate";
    if (p->kind == MIX_USERS && (!dist_valid(&p->gap) || p->count == 0 || p->count > UINT32_MAX))
        return "a group of users needs a size and a gap";
    return NULL;
}

static enum hr_err users_init(struct mix *m, uint64_t seed, uint32_t replication,
                              const char *entity)
{
    m->users = calloc(m->plan->count, sizeof *m->users);
    if (!m->users)
        return HR_NOMEM;
    for (uint64_t i = 0; i < m->plan->count; i++) {
        char purpose[32];
        snprintf(purpose, sizeof purpose, "user %llu", (unsigned long long)i);
        rng_init(&m->users[i], seed, replication, entity, purpose);
    }
    return HR_OK;
}

/* Sets the time of the next job of an open kind. */
static void advance(struct mix *m)
{
    const struct mix_plan *p = m->plan;
    if (p->count > 0 && m->drawn >= p->count)
        m->at_ns = SIM_NEVER;
    else if (p->kind == MIX_POISSON)
        m->at_ns =
            sim_time_add(m->at_ns, sim_time_from_s(rng_exponential(&m->rng) / p->rate_per_s));
}

enum hr_err mix_init(struct mix *m, const struct mix_plan *plan, uint64_t seed,
                     uint32_t replication, const char *entity)
{
    *m = (struct mix){.plan = plan, .at_ns = SIM_NEVER};
    for (size_t i = 0; i < plan->n_classes; i++)
        m->total += plan->classes[i].share;
    if (plan->kind == MIX_USERS)
        return users_init(m, seed, replication, entity);
    rng_init(&m->rng, seed, replication, entity, "jobs");
    if (plan->kind == MIX_NONE || (plan->kind == MIX_AT_ONCE && plan->count == 0))
        return HR_OK;
    m->at_ns = plan->start_ns;
    advance(m);
    return HR_OK;
}

void mix_fini(struct mix *m)
{
    free(m->users);
    *m = (struct mix){0};
}

static const struct job_class *draw(const struct mix *m, struct rng *r, struct job *job)
{
    const struct mix_plan *p = m->plan;
    double u = rng_uniform(r) * m->total;
    const struct job_class *c = NULL;
    for (size_t i = 0; i < p->n_classes && u >= 0; i++) {
        if (p->classes[i].share > 0)
            c = &p->classes[i];
        u -= p->classes[i].share;
    }
    simtime_ns work = dist_draw(&c->work, r);
    *job = (struct job){
        .submit_ns = m->at_ns,
        .work_ns = work ? work : 1,
        .limit_ns = JOB_UNSET,
        .checkpoint_ns = JOB_UNSET,
        .id = c->name,
        .tenant = c->tenant,
        .gpus = c->gpus,
        .min_gpus = c->min_gpus,
        .max_gpus = c->max_gpus,
        .priority = c->priority,
        .preemptible = c->preemptible && c->busy >= 1,
        .end = JOB_END_UNKNOWN,
    };
    return c;
}

const struct job_class *mix_next(struct mix *m, struct job *job)
{
    assert(m->at_ns != SIM_NEVER);
    const struct job_class *c = draw(m, &m->rng, job);
    m->drawn++;
    advance(m);
    return c;
}

const struct job_class *mix_user_job(struct mix *m, uint32_t user, struct job *job)
{
    return draw(m, &m->users[user], job);
}

simtime_ns mix_user_gap(struct mix *m, uint32_t user)
{
    return dist_draw(&m->plan->gap, &m->users[user]);
}
