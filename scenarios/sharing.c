/* The section `sharing` of a pool; sharing.h says who uses such pools. */
#include "scenarios/sharing.h"

#include "models/hardware/catalogue.h"
#include "scenarios/sharing_layouts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A second to destroy an instance and one to create the next: mig_instance_create_destroy_s. */
#define USUAL_RECONFIGURE_S 2.0

enum { NODE_UNITS = 64 }; /* that a node of the fleet can have */

const char *const sharing_names[SHARINGS] = {"mig", "mps", "time-slicing"};

const char *const sharing_isolations[ISOLATIONS] = {"client", "gpu"};

static bool is_mig(const struct sharing_spec *s)
{
    return s->at && s->by == SHARING_BY_MIG;
}

/* The GPU type of a pool; NULL where there is none of that name. */
static const struct gpu_type *type_of(const struct check *c, const struct pool_view *v)
{
    return v->gpu ? gpu_type_find(c->hardware, v->gpu) : NULL;
}

/* That of the first pool of MIG instances. */
static const struct gpu_type *mig_type(const struct check *c)
{
    for (size_t i = 0; i < pools_count(c); i++) {
        const struct pool_view v = pools_view(c, i);
        if (is_mig(v.sharing))
            return type_of(c, &v);
    }
    return NULL;
}

/* ---- checks ---- */

static void check_mig(const struct check *c, const struct pool_view *v)
{
    const struct gpu_type *type = type_of(c, v);
    const struct sharing_spec *s = v->sharing;
    uint64_t per_node = v->nodes ? v->gpus / v->nodes : 1;
    if (!type)
        return; /* said: it is no type of GPU */
    if (!type->mig.profiles) {
        check_say(c, DIAG_ERROR, s->at, "by", NULL, "by: mig: '%.40s' cannot be partitioned",
                  v->gpu);
        return;
    }
    if (type != mig_type(c))
        check_say(c, DIAG_ERROR, s->at, "by", NULL,
                  "by: mig: pools of instances must be of one type of GPU");
    if (per_node * type->mig.memory > NODE_UNITS)
        check_say(c, DIAG_ERROR, s->at, "by", NULL, "by: mig: at most 8 GPUs a node");
    sharing_check_layouts(c, s, &type->mig, v->gpus);
    static const char *const others[] = {"clients", "speeds", "client_speed", "isolation"};
    for (size_t i = 0; i < SPEC_COUNT(others); i++)
        if (node_get(s->at, others[i]))
            check_say(c, DIAG_ERROR, s->at, others[i], NULL, "%s is for mps and time-slicing",
                      others[i]);
}

/* Each goes no faster beside more, and all of them together do as much as fewer did, or more or
 * less. */
static void check_speeds(const struct check *c, const struct sharing_spec *s)
{
    const double *speeds = s->speeds.items;
    if (s->speeds.n == 0)
        return;
    if (!isnan(s->client_speed))
        check_say(c, DIAG_ERROR, s->at, "client_speed", NULL,
                  "client_speed is in place of speeds: say one of them");
    if (s->speeds.n > s->clients)
        check_say(c, DIAG_ERROR, s->at, "speeds", NULL, "speeds: %zu of them for %llu clients",
                  s->speeds.n, (unsigned long long)s->clients);
    for (size_t i = 1; i < s->speeds.n; i++)
        if (speeds[i] > speeds[i - 1])
            node_say(s->speeds.where[i], c->diags, DIAG_ERROR, NULL,
                     "speeds: %.6g %% of each of %zu clients is more than of each of %zu",
                     100 * speeds[i], i + 1, i);
}

static void check_clients(const struct check *c, const struct pool_view *v)
{
    static const char *const others[] = {"layout",   "layouts",       "rest",          "larger",
                                         "relayout", "relayout_time", "relayout_keep", "order",
                                         "place",    "reconfigure"};
    const struct sharing_spec *s = v->sharing;
    uint64_t per_node = v->nodes ? v->gpus / v->nodes : 1;
    for (size_t i = 0; i < SPEC_COUNT(others); i++)
        if (node_get(s->at, others[i]))
            check_say(c, DIAG_ERROR, s->at, others[i], NULL, "%s is for mig", others[i]);
    if (s->clients == FIELD_NO_WHOLE)
        check_say(c, DIAG_ERROR, s->at, NULL, NULL, "sharing by %s needs clients, those of one GPU",
                  sharing_names[s->by]);
    else if (per_node * s->clients > NODE_UNITS)
        check_say(c, DIAG_ERROR, s->at, "clients", NULL,
                  "clients: at most 64 a node, and these are %llu",
                  (unsigned long long)(per_node * s->clients));
    else
        check_speeds(c, s);
}

void sharing_check(const struct check *c, const struct pool_view *v)
{
    if (is_mig(v->sharing))
        check_mig(c, v);
    else if (v->sharing->at && v->sharing->by != FIELD_NO_WORD)
        check_clients(c, v);
}

void sharing_check_slice(const struct check *c, const void *at, const char *slice)
{
    const struct gpu_type *type = mig_type(c);
    const char *names[MIG_PROFILES];
    if (!slice)
        return;
    if (!type) {
        check_say(c, DIAG_ERROR, at, "slice", NULL,
                  "slice: the fleet has no MIG instances: say `sharing: mig` in a pool");
        return;
    }
    for (uint8_t i = 0; i < type->mig.n_profiles; i++)
        names[i] = type->mig.profiles[i].name;
    if (mig_profile_find(&type->mig, slice) == type->mig.n_profiles)
        check_say(c, DIAG_ERROR, at, "slice", diag_nearest(slice, names, type->mig.n_profiles),
                  "slice: '%.40s' is no profile of %s", slice, type->title);
}

/* ---- looking ---- */

uint32_t sharing_units(const struct check *c, uint32_t pool)
{
    const struct pool_view v = pools_view(c, pool);
    const struct gpu_type *type = type_of(c, &v);
    if (!v.sharing->at)
        return 1;
    if (is_mig(v.sharing))
        return type ? type->mig.memory : 1;
    return v.sharing->clients != FIELD_NO_WHOLE ? (uint32_t)v.sharing->clients : 1;
}

bool sharing_suits(const struct check *c, uint32_t pool, const char *slice)
{
    const struct pool_view v = pools_view(c, pool);
    return is_mig(v.sharing) == (slice != NULL);
}

uint8_t sharing_slice(const struct check *c, const char *slice)
{
    const struct gpu_type *type = slice ? mig_type(c) : NULL;
    uint8_t profile = type ? mig_profile_find(&type->mig, slice) : 0;
    return type && profile < type->mig.n_profiles ? (uint8_t)(profile + 1) : 0;
}

struct slice_share sharing_share(const struct check *c, const char *slice)
{
    const struct gpu_type *type = mig_type(c);
    const struct mig_profile *p = &type->mig.profiles[sharing_slice(c, slice) - 1];
    bool known = p->n_sm > 0 && hw_known(type->n_sm);
    return (struct slice_share){
        .compute = known ? p->n_sm / type->n_sm.value : (double)p->compute / type->mig.compute,
        .bandwidth = (double)p->memory / type->mig.memory,
        .memory_gb = p->memory_mib * 1048576.0 / 1e9,
        .memory = p->memory,
    };
}

/* Of each of so many clients at work. */
static double speed_of(const struct sharing_spec *s, uint32_t at_work)
{
    const double *speeds = s->speeds.items;
    if (!isnan(s->client_speed))
        return s->client_speed;
    if (s->speeds.n == 0)
        return 1 / (double)at_work;
    size_t last = at_work < s->speeds.n ? at_work : s->speeds.n;
    return speeds[last - 1] * (double)last / (double)at_work;
}

bool sharing_client(const struct check *c, uint32_t pool, double visible_gb, uint32_t at_work,
                    struct slice_share *out)
{
    const struct pool_view v = pools_view(c, pool);
    const struct sharing_spec *s = v.sharing;
    if (!s->at || is_mig(s))
        return false;
    double speed = speed_of(s, at_work > 0 ? at_work : (uint32_t)s->clients);
    *out = (struct slice_share){
        .compute = speed, .bandwidth = speed, .memory_gb = visible_gb / (double)s->clients};
    return true;
}

uint32_t sharing_crowd(const struct check *c, uint32_t pool)
{
    const struct pool_view v = pools_view(c, pool);
    bool crowds = v.sharing->at && !is_mig(v.sharing) && isnan(v.sharing->client_speed);
    return crowds ? (uint32_t)v.sharing->clients : 0;
}

/* ---- the plan ---- */

static double mtbf_of(const struct sharing_spec *s)
{
    return isnan(s->client_mtbf_s) ? 0 : s->client_mtbf_s;
}

static enum hr_err build_clients(const struct check *c, const struct sharing_spec *s,
                                 struct sharing_plan *out)
{
    double *speeds = arena_array(c->arena, s->clients, sizeof *speeds);
    if (!speeds)
        return HR_NOMEM;
    for (uint32_t i = 0; i < s->clients; i++)
        speeds[i] = speed_of(s, i + 1);
    *out = (struct sharing_plan){
        .kind = SHARING_CLIENTS,
        .units_per_gpu = (uint32_t)s->clients,
        .client_speed = isnan(s->client_speed) ? speeds : NULL,
        .client_mtbf_s = mtbf_of(s),
        .fault_ends_gpu = s->isolation != ISOLATION_CLIENT,
    };
    return HR_OK;
}

enum hr_err sharing_build(const struct check *c, const struct pool_view *v,
                          struct sharing_plan *out)
{
    const struct sharing_spec *s = v->sharing;
    *out = (struct sharing_plan){.kind = SHARING_NONE, .units_per_gpu = 1};
    if (!s->at)
        return HR_OK;
    if (!is_mig(s))
        return build_clients(c, s, out);
    struct mig_tables *t = arena_alloc(c->arena, sizeof *t);
    if (!t)
        return HR_NOMEM;
    const struct mig_gpu *gpu = &type_of(c, v)->mig;
    mig_tables_init(t, gpu, NULL);
    double reconfigure = isnan(s->reconfigure_s) ? USUAL_RECONFIGURE_S : s->reconfigure_s;
    *out = (struct sharing_plan){
        .kind = SHARING_MIG,
        .units_per_gpu = gpu->memory,
        .mig = t,
        .order = (enum mig_order)s->order,
        .rule = (enum mig_rule)s->place,
        .client_mtbf_s = mtbf_of(s),
        .reconfigure_ns = sim_time_from_s(reconfigure),
    };
    return sharing_build_layouts(c, s, gpu, v->gpus, out);
}
