/* Where gangs come from: the recorded jobs as they are submitted, the backlog as it is drawn. */
#include "models/training/queue_internal.h"

#include <stdlib.h>
#include <string.h>

/* The answer of the pool that the tenant prefers. */
static enum grant would(const struct training *t, uint32_t tenant, const struct shape *shape)
{
    return fleet_would(t->pools[tenant_pool(t, tenant)].fleet, t->tenants[tenant].claimant, shape);
}

/* Why a job can never start; none if it can in one of its tenant's pools. */
static enum refusal refusal(const struct training *t, uint32_t tenant, const struct shape *shape)
{
    const struct tenant *of = &t->tenants[tenant];
    enum refusal why = REFUSAL_NONE;
    for (uint32_t i = 0; i < of->plan->n_pools; i++) {
        const struct fleet *f = t->pools[of->plan->pools[i].pool].fleet;
        if (fleet_would(f, of->claimant, shape) != GRANT_NEVER)
            return REFUSAL_NONE;
        enum refusal misfit = shape->kind == SHAPE_ONE_LEAF ? REFUSAL_TOPOLOGY : REFUSAL_SHAPE;
        why = shape->gpus > fleet_startable_gpus(f) ? REFUSAL_SIZE
              : fleet_fit(f, shape) == GRANT_NEVER  ? misfit
                                                    : REFUSAL_CEILING;
    }
    return why;
}

/* The tenant whose job it is; the first where none matches. */
static uint32_t tenant_of(const struct training *t, const struct job *job)
{
    uint32_t rest = 0;
    for (uint32_t i = 0; i < t->n_tenants; i++) {
        const char *match = t->tenants[i].plan->match;
        if (!match)
            rest = i;
        else if (strcmp(match, job->tenant) == 0)
            return i;
    }
    return rest;
}

/* GPUs a gang needs in one node at least: all of them; of a larger one that waits for whole nodes,
 * its remainder or a node; one where it may be spread over any free GPUs. */
static uint32_t node_share(const struct training *t, uint32_t tenant, uint32_t gpus)
{
    const struct shape in_one = {.gpus = gpus, .kind = SHAPE_ONE_NODE};
    enum shape_kind kind = t->plan->placement;
    if (kind == SHAPE_ANY)
        return 1;
    if (kind == SHAPE_ONE_NODE || would(t, tenant, &in_one) != GRANT_NEVER)
        return gpus;
    uint32_t size = fleet_node_gpus(t->pools[tenant_pool(t, tenant)].fleet, 0);
    return kind == SHAPE_PREFER_WHOLE ? 1 : gpus % size ? gpus % size : size;
}

/* Extensions are placed by themselves: gangs that must keep together are rigid, and so are those
 * that hardly work. */
static struct elastic_range range_of(const struct training *t, uint32_t gpus, uint32_t min,
                                     uint32_t max, bool busy_in_part)
{
    enum shape_kind kind = t->plan->placement;
    if (busy_in_part || kind == SHAPE_ONE_NODE || kind == SHAPE_ONE_LEAF || kind == SHAPE_SLICE)
        return (struct elastic_range){gpus, gpus};
    return elastic_range_of(&t->plan->elastic, gpus, min, max);
}

/* A job of one GPU gets a slice: its memory slices. A larger one keeps what it asks for, which no
 * profile has, and is refused. */
static uint32_t slice_gpus(const struct training *t, uint32_t tenant, uint8_t profile,
                           uint32_t gpus)
{
    const struct fleet *f = t->pools[tenant_pool(t, tenant)].fleet;
    return gpus == 1 ? fleet_slice_memory(f, profile) : gpus * fleet_units_per_gpu(f);
}

/* row: its GPUs as the job gives them. */
static bool add_gang(struct training *t, uint32_t tenant, struct job_row row, uint8_t slice,
                     bool busy_in_part, uint32_t *g)
{
    uint8_t profile = (uint8_t)((slice ? slice : t->plan->slice) - 1);
    bool sliced = t->plan->placement == SHAPE_SLICE;
    if (sliced)
        row.gpus = slice_gpus(t, tenant, profile, row.gpus);
    const struct elastic_range range =
        range_of(t, row.gpus, row.min_gpus, row.max_gpus, busy_in_part);
    row.min_gpus = range.min;
    row.max_gpus = range.max;
    row.queue = t->number;
    row.claimant = t->tenants[tenant].claimant;
    if (!gang_new(t, &row, g)) {
        training_fail(t, HR_NOMEM);
        return false;
    }
    t->gangs.items[*g].tenant = tenant;
    t->gangs.items[*g].profile = sliced ? profile : 0;
    t->gangs.items[*g].share =
        sliced ? UINT32_C(1) << profile : node_share(t, tenant, row.min_gpus);
    return true;
}

static simtime_ns scaled(simtime_ns t, double factor)
{
    return factor == 1 ? t : sim_time_from_s(sim_time_to_s(t) * factor);
}

/* class: of a drawn job, else NULL. */
static void submit(struct training *t, const struct job *job, const struct job_class *class,
                   uint32_t user, simtime_ns now)
{
    const struct job_row row = {
        .number = t->n_jobs++,
        .id = job->id,
        .gpus = job->gpus,
        .min_gpus = job->min_gpus,
        .max_gpus = job->max_gpus,
        .submit_ns = now,
        .work_ns = scaled(job->work_ns, t->plan->work_factor),
    };
    uint32_t g, tenant = tenant_of(t, job);
    if (!add_gang(t, tenant, row, class ? class->slice : 0, class && class->busy < 1, &g))
        return;
    struct gang *gang = &t->gangs.items[g];
    gang->preemptible = job->preemptible;
    gang->priority = job->priority;
    gang->user = user;
    if (class && class->busy < 1) {
        gang->busy = class->busy;
        gang->interval_ns = SIM_NEVER;
        gang->own_interval = true;
    }
    if (job->limit_ns != JOB_UNSET)
        gang->limit_ns = scaled(job->limit_ns, t->plan->work_factor);
    if (job->checkpoint_ns != JOB_UNSET) {
        const struct checkpoint_plan own = {.interval_ns = job->checkpoint_ns};
        gang->interval_ns = checkpoint_interval(&own, job->gpus);
        gang->own_interval = true;
    }
    t->totals.submitted += now >= t->start_ns && now < t->end_ns;
    const struct shape shape = gang_shape(t, g);
    gang->row.refusal = refusal(t, tenant, &shape);
    if (gang->row.refusal != REFUSAL_NONE) {
        gang_close(t, g, OUTCOME_REFUSED);
        return;
    }
    gang_wait(t, g, now);
    training_want_pass(t); /* even far behind: what is stranded may change */
}

simtime_ns intake_arrive(void *ctx)
{
    struct training *t = ctx;
    submit(t, job_replay_job(&t->replay), NULL, NO_USER, t->replay.at_ns);
    job_replay_advance(&t->replay);
    return t->replay.at_ns;
}

/* ---- drawn jobs ---- */

static simtime_ns mix_arrive(void *ctx)
{
    struct training *t = ctx;
    struct job job;
    simtime_ns now = t->mix.at_ns;
    const struct job_class *class = mix_next(&t->mix, &job);
    submit(t, &job, class, NO_USER, now);
    return t->mix.at_ns;
}

static void user_back(void *ctx, uint32_t user)
{
    struct training *t = ctx;
    struct job job;
    const struct job_class *class = mix_user_job(&t->mix, user, &job);
    submit(t, &job, class, user, engine_now(t->engine));
}

void intake_user_away(struct training *t, uint32_t user, simtime_ns now)
{
    simtime_ns back = sim_time_add(now, mix_user_gap(&t->mix, user));
    engine_schedule(t->engine, t->users[user], back > now ? back : now + 1);
}

static enum hr_err users_start(struct training *t)
{
    uint32_t n = (uint32_t)t->plan->mix.count;
    t->users = calloc(n, sizeof *t->users);
    if (!t->users)
        return HR_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        TRY(engine_timer_new(t->engine, EVENT_ARRIVAL, user_back, t, i, &t->users[i]));
        intake_user_away(t, i, t->plan->mix.start_ns);
    }
    return HR_OK;
}

enum hr_err intake_mix_start(struct training *t)
{
    if (t->plan->mix.kind == MIX_USERS)
        return users_start(t);
    if (t->mix.at_ns == SIM_NEVER)
        return HR_OK;
    return engine_cursor_add(t->engine, EVENT_ARRIVAL, mix_arrive, t, t->mix.at_ns);
}

/* ---- the backlog ---- */

/* Asked when the first is drawn: by then every claimant's quota is known. */
static void leave_out_impossible(struct training *t)
{
    for (size_t i = 0; i < t->backlog.n_classes; i++) {
        const struct backlog_class *c = &t->backlog.classes[i];
        const struct elastic_range range = range_of(t, c->gpus, c->min_gpus, c->max_gpus, false);
        struct shape shape = {.gpus = range.min, .kind = t->plan->placement};
        if (shape.kind == SHAPE_SLICE) {
            shape.profile = (uint8_t)(t->plan->slice - 1);
            shape.gpus = slice_gpus(t, 0, shape.profile, c->gpus);
        }
        if (refusal(t, 0, &shape) != REFUSAL_NONE)
            backlog_leave_out(&t->backlog, i);
    }
}

bool intake_draw(struct training *t, simtime_ns now)
{
    if (t->n_backlog == 0)
        leave_out_impossible(t);
    if (!t->backlog.active)
        return false;
    struct job_row row = {
        .number = t->n_backlog++,
        .id = "backlog",
        .backlog = true,
        .submit_ns = now,
    };
    const struct backlog_class *class = backlog_draw(&t->backlog, &row.work_ns);
    row.gpus = class->gpus;
    row.min_gpus = class->min_gpus;
    row.max_gpus = class->max_gpus;
    uint32_t g;
    if (!add_gang(t, 0, row, 0, false, &g))
        return false;
    gang_wait(t, g, now);
    return t->error == HR_OK;
}
