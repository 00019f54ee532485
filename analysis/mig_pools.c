/* Pools of MIG instances of a scenario: the layout at the start, what fits, and who asks for it. */
#include "analysis/json.h"
#include "analysis/mig_report.h"

#include <string.h>

/* What one claimant asks for: so many instances of a profile at a time. */
struct asked {
    const char *name;
    uint8_t profile;
    uint32_t least, most; /* most 0: no bound */
    const char *unit;
};

enum { ASKED_MAX = 256 };

/* The GPUs of a pool that start alike: r.t is what fits on them. */
struct pool_view {
    struct mig_report r;
    const struct fleet_plan *pool;
    struct slice_layout part;
    struct mig_layout start; /* of each GPU */
    struct asked asked[ASKED_MAX];
    size_t n_asked;
};

static void add(struct pool_view *v, const struct asked *a)
{
    if (v->n_asked < ASKED_MAX)
        v->asked[v->n_asked++] = *a;
}

static bool uses(const struct pool_claim *claims, uint32_t n, uint32_t pool)
{
    for (uint32_t i = 0; i < n; i++)
        if (claims[i].pool == pool)
            return true;
    return false;
}

static bool queue_uses(const struct queue_plan *q, uint32_t pool)
{
    for (size_t i = 0; i <= q->n_more; i++)
        if (uses(queue_tenant(q, i)->pools, queue_tenant(q, i)->n_pools, pool))
            return true;
    return false;
}

/* The jobs of a queue: recorded ones and a backlog come one after another without a bound. */
static void add_queue(struct pool_view *v, const struct queue_plan *q)
{
    const uint8_t own = (uint8_t)(q->slice - 1);
    const struct mix_plan *mix = &q->mix;
    if (q->jobs)
        add(v, &(struct asked){q->name, own, 0, 0, "recorded jobs"});
    if (q->backlog)
        add(v, &(struct asked){q->name, own, 0, 0, "a backlog"});
    for (size_t i = 0; mix->kind != MIX_NONE && i < mix->n_classes; i++) {
        const uint8_t slice = mix->classes[i].slice ? (uint8_t)(mix->classes[i].slice - 1) : own;
        const bool bounded = mix->kind != MIX_POISSON && mix->n_classes == 1;
        const char *unit = mix->kind == MIX_USERS     ? "users"
                           : mix->kind == MIX_AT_ONCE ? "jobs at once"
                                                      : "a stream";
        add(v, &(struct asked){q->name, slice, 0, bounded ? (uint32_t)mix->count : 0, unit});
    }
}

static void find_asked(struct pool_view *v, const struct plan *plan, uint32_t pool)
{
    for (size_t i = 0; i < plan->n_services; i++) {
        const struct service_plan *s = &plan->services[i];
        if (s->slice && uses(s->pools, s->n_pools, pool))
            add(v, &(struct asked){s->name, (uint8_t)(s->slice - 1), s->autoscaler.min_replicas,
                                   s->autoscaler.max_replicas, "replicas"});
    }
    for (size_t i = 0; i < plan->n_queues; i++)
        if (plan->queues[i].slice && queue_uses(&plan->queues[i], pool))
            add_queue(v, &plan->queues[i]);
}

/* Profiles of a layout that stays begin where it has them alone, so the largest is all of it. */
static void keep_largest(void *self, const struct mig_layout *l)
{
    struct mig_layout *largest = self;
    if (l->n > largest->n)
        *largest = *l;
}

/* Fewest GPUs for the most at a time; 0 where nothing is bounded. */
static enum hr_err fewest(const struct pool_view *v, uint32_t *n_gpus)
{
    struct mig_plan plan;
    uint32_t demand[MIG_PROFILES] = {0};
    struct arena arena;
    struct mig_packer packer;
    arena_init(&arena);
    for (size_t i = 0; i < v->n_asked; i++)
        demand[v->asked[i].profile] += v->asked[i].most;
    enum hr_err err = mig_packer_init(&packer, v->r.t, &arena);
    if (err == HR_OK)
        err = mig_pack(&packer, demand, &arena, &plan);
    *n_gpus = err == HR_OK ? plan.n_gpus : 0;
    arena_fini(&arena);
    return err;
}

static void print_part(const struct pool_view *v)
{
    FILE *out = v->r.out;
    fprintf(out, "%s: %u GPUs, %s; %s\n", v->pool->name, v->part.gpus, v->r.type->title,
            !v->part.fixed   ? "instances are made as they are asked for"
            : v->part.target ? "idle GPUs may be re-laid to this layout"
                             : "the layout stays");
    mig_report_drawing(&v->r, &v->start);
    fputs(v->part.fixed ? "  instances in all:\n" : "  fits at the start, each profile alone:\n",
          out);
    for (uint8_t p = 0; p < v->r.t->gpu.n_profiles; p++) {
        const uint32_t each = v->r.t->fits[v->r.t->empty][p];
        if (each)
            fprintf(out, "    %-12s %u (%u a GPU)\n", v->r.t->gpu.profiles[p].name,
                    each * v->part.gpus, each);
    }
}

static void print_asked(const struct pool_view *v, uint32_t fewest_gpus)
{
    FILE *out = v->r.out;
    fputs(v->n_asked ? "  asked for by:\n" : "  nobody asks for it\n", out);
    for (size_t i = 0; i < v->n_asked; i++) {
        const struct asked *a = &v->asked[i];
        fprintf(out, "    %-20.20s %-12s ", a->name, v->r.t->gpu.profiles[a->profile].name);
        if (a->least)
            fprintf(out, "%u to ", a->least);
        if (a->most)
            fprintf(out, "%u ", a->most);
        fprintf(out, "%s\n", a->unit);
    }
    if (fewest_gpus)
        fprintf(out, "  fewest GPUs for the most at a time: %u\n", fewest_gpus);
}

static void json_part(const struct pool_view *v, struct json *j)
{
    json_object(j, NULL);
    json_whole(j, "gpus", v->part.gpus);
    json_bool(j, "layout_stays", v->part.fixed && !v->part.target);
    json_bool(j, "relaid_to", v->part.target);
    mig_report_json_layout(j, &v->r, "start", &v->start);
    json_close(j);
}

static void json_asked(const struct pool_view *v, struct json *j, uint32_t fewest_gpus)
{
    json_array(j, "asked_for", false);
    for (size_t i = 0; i < v->n_asked; i++) {
        const struct asked *a = &v->asked[i];
        json_object(j, NULL);
        json_text(j, "by", a->name);
        json_text(j, "profile", v->r.t->gpu.profiles[a->profile].name);
        json_text(j, "what", a->unit);
        if (a->least)
            json_whole(j, "least", a->least);
        if (a->most)
            json_whole(j, "most", a->most);
        json_close(j);
    }
    json_close(j);
    if (fewest_gpus)
        json_whole(j, "fewest_gpus", fewest_gpus);
}

static void report_part(struct pool_view *v, struct json *j)
{
    const uint8_t all = (uint8_t)((1u << v->r.t->gpu.n_profiles) - 1);
    mig_layout_empty(v->r.t, &v->start);
    if (v->part.fixed)
        mig_layouts(v->r.t, all, true, keep_largest, &v->start);
    if (v->r.json)
        json_part(v, j);
    else
        print_part(v);
}

/* With one layout the demand is packed into it, else into whole GPUs. */
static enum hr_err report_pool(struct pool_view *v, struct json *j, const struct plan *plan,
                               uint32_t pool)
{
    const struct sharing_plan *sharing = &v->pool->sharing;
    const struct slice_layout on_demand = {.mig = sharing->mig, .gpus = fleet_plan_gpus(v->pool)};
    const uint32_t n = sharing->n_layouts ? sharing->n_layouts : 1;
    uint32_t fewest_gpus;
    if (v->r.json) {
        json_object(j, NULL);
        json_text(j, "pool", v->pool->name);
        json_text(j, "gpu", v->r.type->name);
        json_whole(j, "gpus", fleet_plan_gpus(v->pool));
        json_array(j, "layouts", false);
    }
    for (uint32_t i = 0; i < n; i++) {
        v->part = sharing->n_layouts ? sharing->layouts[i] : on_demand;
        v->r.t = v->part.mig;
        report_part(v, j);
    }
    if (n > 1)
        v->r.t = sharing->mig;
    find_asked(v, plan, pool);
    TRY(fewest(v, &fewest_gpus));
    if (v->r.json) {
        json_close(j);
        json_asked(v, j, fewest_gpus);
        json_close(j);
    } else {
        print_asked(v, fewest_gpus);
    }
    return HR_OK;
}

enum hr_err mig_report_pools(FILE *out, bool json, const struct plan *plan,
                             const struct hardware *hardware)
{
    struct json j;
    uint32_t n = 0;
    enum hr_err err = HR_OK;
    json_init(&j, out);
    for (uint32_t i = 0; i < plan->n_pools && err == HR_OK; i++) {
        const struct fleet_plan *pool = &plan->pools[i];
        if (pool->sharing.kind != SHARING_MIG)
            continue;
        struct pool_view v = {
            .r = {out, json, gpu_type_find(hardware, pool->groups[0].gpu), pool->sharing.mig},
            .pool = pool};
        if (n == 0 && json) {
            json_object(&j, NULL);
            json_array(&j, "pools", false);
        } else if (n > 0 && !json) {
            fputc('\n', out);
        }
        n++;
        err = report_pool(&v, &j, plan, i);
    }
    if (n == 0)
        return HR_INPUT;
    if (json) {
        json_close(&j);
        json_close(&j);
    }
    return err;
}
