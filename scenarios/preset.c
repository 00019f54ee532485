/* The presets in numbers, and what can be wrong with them. */
#include "scenarios/preset.h"

#include "scenarios/quotas.h"
#include "scenarios/tenants.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SERVING_PRIORITY 100 /* over training, which has 0 */

enum { MOST_CLAIMANTS = 128 };

struct preset_run {
    const struct check *c;
    const char *name;
    const struct design_spec *d;
    enum preset preset;
    const struct field_list *services, *queues;
    struct claim *claims;
};

enum preset preset_of(const char *name, const struct design_spec *d)
{
    if (d->preset != FIELD_NO_WORD)
        return (enum preset)d->preset;
    for (int i = 0; i < PRESETS; i++)
        if (strcmp(name, preset_names[i]) == 0)
            return (enum preset)i;
    return PRESETS;
}

/* ---- which keys belong to which preset ---- */

#define BIT(preset) (1u << (preset))
static const struct {
    const char *key;
    unsigned presets;
} uses[] = {
    {"inference", BIT(PRESET_SEPARATE)},
    {"training", BIT(PRESET_SEPARATE)},
    {"floor", BIT(PRESET_FLOOR_PLUS_BORROW) | BIT(PRESET_SPOT_MIX)},
    {"buffer",
     BIT(PRESET_SHARED) | BIT(PRESET_FLOOR_PLUS_BORROW) | BIT(PRESET_QUOTA) | BIT(PRESET_SPOT_MIX)},
    {"training_floor", BIT(PRESET_FLOOR_PLUS_BORROW) | BIT(PRESET_SPOT_MIX)},
    {"quotas", BIT(PRESET_QUOTA)},
    {"cohorts", BIT(PRESET_QUOTA)},
};

static void check_keys(const struct preset_run *r)
{
    char takes[128] = "preset, set";
    for (size_t i = 0; i < SPEC_COUNT(uses); i++)
        if (uses[i].presets & BIT(r->preset)) {
            size_t n = strlen(takes);
            snprintf(takes + n, sizeof takes - n, ", %s", uses[i].key);
        }
    for (size_t i = 0; i < SPEC_COUNT(uses); i++) {
        const struct node *key = node_get(r->d->at, uses[i].key);
        if (key && !(uses[i].presets & BIT(r->preset)))
            node_say(key->key, r->c->diags, DIAG_ERROR, NULL,
                     "'%s' has no meaning in preset %s; it takes %s", uses[i].key,
                     preset_names[r->preset], takes);
    }
}

/* ---- numbers by claimant ---- */

static size_t find_name(const struct field_list *claimants, const char *name)
{
    size_t i = 0;
    while (i < claimants->n && strcmp(claimants->names[i], name) != 0)
        i++;
    return i;
}

static void say_whose(const struct preset_run *r, const char *key,
                      const struct field_list *claimants, const char *what)
{
    check_say(r->c, DIAG_ERROR, r->d->at, key, NULL,
              "%s: there are %zu %s, so say whose, such as {%.60s: 8GPU}", key, claimants->n, what,
              claimants->n ? claimants->names[0] : "name");
}

/* The GPUs of each claimant by its name; a plain number is that of the only one. */
static void by_claimant(const struct preset_run *r, const char *key, const struct field_list *list,
                        const struct field_list *claimants, const char *what, uint64_t *out)
{
    memset(out, 0, claimants->n * sizeof *out);
    const uint64_t *gpus = list->items;
    for (size_t i = 0; i < list->n; i++) {
        bool sole = list->names[i][0] == '\0';
        size_t at = sole ? 0 : find_name(claimants, list->names[i]);
        if (sole && claimants->n != 1) {
            if (gpus[i] != 0)
                say_whose(r, key, claimants, what);
        } else if (at == claimants->n) {
            node_say(((const struct node *)list->where[i])->key, r->c->diags, DIAG_ERROR,
                     diag_nearest(list->names[i], claimants->names, claimants->n),
                     "%s: no '%.60s' among the %s", key, list->names[i], what);
        } else if (gpus[i] != FIELD_NO_WHOLE) {
            out[at] = gpus[i];
        }
    }
}

static void services_by(const struct preset_run *r, const char *key, const struct field_list *list,
                        uint64_t *out)
{
    by_claimant(r, key, list, r->services, "services", out);
}

static void queues_by(const struct preset_run *r, const char *key, const struct field_list *list,
                      uint64_t *out)
{
    by_claimant(r, key, list, r->queues, "queues", out);
}

static struct quota quota(uint64_t floor, uint64_t ceiling, uint64_t lend, int32_t priority,
                          enum may_reclaim may_reclaim)
{
    struct quota q = {.floor_gpus = (uint32_t)floor,
                      .ceiling_gpus = (uint32_t)ceiling,
                      .lend_gpus = (uint32_t)lend,
                      .priority = priority,
                      .weight = 1};
    quota_may_reclaim(&q, may_reclaim);
    return q;
}

/* ---- the presets ---- */

static void separate(const struct preset_run *r)
{
    uint64_t pool[MOST_CLAIMANTS], used = 0;
    const struct design_spec *d = r->d;
    size_t n = r->services->n;
    services_by(r, "inference", &d->inference, pool);
    if (n && !node_get(d->at, "inference"))
        check_say(r->c, DIAG_ERROR, d->at, NULL, NULL,
                  "missing key 'inference' (separate: GPUs of the inference pool)");
    for (size_t i = 0; i < n; i++) {
        r->claims[i].quota = quota(pool[i], pool[i], 0, SERVING_PRIORITY, RECLAIM_NEVER);
        used += pool[i];
    }
    queues_by(r, "training", &d->training, pool);
    if (r->queues->n > 1 && !node_get(d->at, "training"))
        say_whose(r, "training", r->queues, "queues");
    if (r->queues->n == 1 && !node_get(d->at, "training"))
        pool[0] = used < r->c->fleet_gpus ? r->c->fleet_gpus - used : 0;
    for (size_t i = 0; i < r->queues->n; i++)
        r->claims[n + i].quota = quota(pool[i], pool[i], 0, 0, RECLAIM_NEVER);
}

static void shared(const struct preset_run *r)
{
    uint64_t all = r->c->fleet_gpus;
    for (size_t i = 0; i < r->services->n; i++)
        r->claims[i].quota = quota(0, all, 0, SERVING_PRIORITY, RECLAIM_LOWER_PRIORITY);
    for (size_t i = 0; i < r->queues->n; i++)
        r->claims[r->services->n + i].quota = quota(0, all, 0, 0, RECLAIM_NEVER);
}

static void floor_plus_borrow(const struct preset_run *r)
{
    uint64_t floor[MOST_CLAIMANTS], all = r->c->fleet_gpus;
    services_by(r, "floor", &r->d->floor, floor);
    for (size_t i = 0; i < r->services->n; i++)
        r->claims[i].quota = quota(floor[i], all, 0, SERVING_PRIORITY, RECLAIM_LOWER_PRIORITY);
    queues_by(r, "training_floor", &r->d->training_floor, floor);
    for (size_t i = 0; i < r->queues->n; i++)
        r->claims[r->services->n + i].quota = quota(floor[i], all, floor[i], 0, RECLAIM_FLOOR);
}

static bool has_kind(const struct check *c, enum supply_kind kind)
{
    for (size_t i = 0; i < pools_count(c); i++)
        if (pools_view(c, i).supply->kind == (int)kind)
            return true;
    return false;
}

static void spot_mix(const struct preset_run *r)
{
    const struct training_spec *queues = r->queues->items;
    floor_plus_borrow(r);
    if (!has_kind(r->c, SUPPLY_RESERVED) || !has_kind(r->c, SUPPLY_SPOT))
        check_say(r->c, DIAG_ERROR, r->d->at, NULL, NULL,
                  "design %.60s: spot-mix needs a reserved and a spot pool in the fleet", r->name);
    for (size_t i = 0; i < r->services->n; i++)
        r->claims[i].choice = POOLS_SERVICE;
    for (size_t i = 0; i < r->queues->n; i++)
        r->claims[r->services->n + i].choice =
            queues[i].tolerates_spot ? POOLS_TOLERANT : POOLS_FIRM;
}

const struct quota_spec *preset_quota_spec(const char *design, const struct design_spec *d,
                                           const char *claimant)
{
    size_t i = find_name(&d->quotas, claimant);
    bool listed = preset_of(design, d) == PRESET_QUOTA && i < d->quotas.n;
    return listed ? (const struct quota_spec *)d->quotas.items + i : NULL;
}

static void explicit_quotas(const struct preset_run *r)
{
    const struct field_list *l = &r->d->quotas;
    size_t n = r->services->n, all = n + r->queues->n;
    const char *names[MOST_CLAIMANTS];
    quotas_check(r->c, r->d);
    for (size_t i = 0; i < all; i++) {
        names[i] = i < n ? r->services->names[i] : r->queues->names[i - n];
        r->claims[i].quota = quota(0, r->c->fleet_gpus, 0, 0, RECLAIM_FLOOR);
    }
    for (size_t i = 0; i < l->n; i++) {
        size_t at = 0;
        while (at < all && strcmp(names[at], l->names[i]) != 0)
            at++;
        if (at < all)
            r->claims[at].quota = quotas_quota(r->c, r->d, (const struct quota_spec *)l->items + i);
        else if (!tenants_check_quota(r->c, l->where[i]))
            node_say(((const struct node *)l->where[i])->key, r->c->diags, DIAG_ERROR,
                     diag_nearest(l->names[i], names, all), "quotas: no service or queue '%.60s'",
                     l->names[i]);
    }
    if (!node_get(r->d->at, "quotas"))
        check_say(r->c, DIAG_ERROR, r->d->at, NULL, NULL,
                  "missing key 'quotas' (quota: the numbers of each claimant)");
}

/* ---- what the numbers must fit ---- */

struct replica_bounds preset_replicas(const struct service_spec *s, const struct claim *claim)
{
    uint64_t tp = s->tensor_parallel;
    const struct autoscaler_spec *a = &s->autoscaler;
    uint64_t kept = (claim->quota.floor_gpus - claim->quota.lend_gpus) / tp;
    uint64_t most = claim->quota.ceiling_gpus / tp;
    struct replica_bounds b = {
        .min = (uint32_t)(a->min_replicas != FIELD_NO_WHOLE ? a->min_replicas
                          : kept                            ? kept
                                                            : 1),
        .max = (uint32_t)(a->max_replicas < most ? a->max_replicas : most),
        .buffer = (uint32_t)(a->buffer != FIELD_NO_WHOLE ? a->buffer
                                                         : (claim->buffer_gpus + tp - 1) / tp),
    };
    return b;
}

static void check_service_claim(const struct preset_run *r, const struct service_spec *s,
                                const struct claim *claim, const char *name)
{
    if (s->tensor_parallel == FIELD_NO_WHOLE)
        return;
    struct replica_bounds b = preset_replicas(s, claim);
    unsigned long long tp = s->tensor_parallel;
    if (claim->quota.ceiling_gpus < tp)
        check_say(r->c, DIAG_ERROR, r->d->at, "inference", NULL,
                  "design %.60s: %.60s may hold %u GPUs, less than one replica of %llu", r->name,
                  name, claim->quota.ceiling_gpus, tp);
    else if (b.min > b.max)
        check_say(r->c, DIAG_ERROR, s->autoscaler.at ? s->autoscaler.at : s->at, "min_replicas",
                  NULL, "min_replicas: design %.60s has room for %u replicas of %.60s", r->name,
                  b.max, name);
    if (claim->quota.floor_gpus % tp)
        check_say(r->c, DIAG_WARNING, r->d->at, NULL, NULL,
                  "design %.60s: %u GPUs are no whole number of replicas of %.60s (%llu GPUs each)",
                  r->name, claim->quota.floor_gpus, name, tp);
}

static void check_queue_claim(const struct preset_run *r, const struct training_spec *t,
                              const struct claim *claim, const char *name)
{
    const struct gang_spec *gangs = t->backlog.gangs.items;
    for (size_t i = 0; i < t->backlog.gangs.n; i++)
        if (gangs[i].gpus != FIELD_NO_WHOLE && gangs[i].gpus > claim->quota.ceiling_gpus &&
            gangs[i].gpus <= r->c->fleet_gpus)
            check_say(r->c, DIAG_ERROR, gangs[i].at, "gpus", NULL,
                      "design %.60s: a gang of %llu GPUs never fits the %u that %.60s may hold",
                      r->name, (unsigned long long)gangs[i].gpus, claim->quota.ceiling_gpus, name);
}

static bool check_sums(const struct preset_run *r)
{
    static const char *const keys[PRESETS] = {"inference", "preset", "floor", "quotas", "floor"};
    uint64_t floors = quotas_own_gpus(r->d), all = r->c->fleet_gpus;
    for (size_t i = 0; i < r->services->n + r->queues->n; i++)
        floors += r->claims[i].quota.floor_gpus;
    for (size_t i = 0; i < r->d->quotas.n; i++) /* those of tenants */
        if (strchr(r->d->quotas.names[i], '/'))
            floors += ((const struct quota_spec *)r->d->quotas.items + i)->floor;
    if (floors > all)
        check_say(r->c, DIAG_ERROR, r->d->at, keys[r->preset], NULL,
                  "design %.60s: the floors together are %llu GPUs, the fleet has %llu", r->name,
                  (unsigned long long)floors, (unsigned long long)all);
    return floors <= all;
}

static void check_claims(const struct preset_run *r)
{
    const struct service_spec *services = r->services->items;
    const struct training_spec *queues = r->queues->items;
    if (r->c->fleet_gpus == 0 || !check_sums(r))
        return;
    for (size_t i = 0; i < r->services->n; i++)
        check_service_claim(r, &services[i], &r->claims[i], r->services->names[i]);
    for (size_t i = 0; i < r->queues->n; i++)
        check_queue_claim(r, &queues[i], &r->claims[r->services->n + i], r->queues->names[i]);
}

void preset_claims(const struct check *c, const char *name, const struct design_spec *d,
                   struct claim *claims)
{
    static void (*const presets[PRESETS])(const struct preset_run *) = {
        separate, shared, floor_plus_borrow, explicit_quotas, spot_mix};
    struct preset_run r = {
        c, name, d, preset_of(name, d), &c->spec->services, &c->spec->training, claims};
    uint64_t buffer[MOST_CLAIMANTS];
    assert(r.services->n + r.queues->n <= MOST_CLAIMANTS);
    if (r.preset == PRESETS) {
        check_say(c, DIAG_ERROR, d->at, NULL, diag_nearest(name, preset_names, PRESETS),
                  "design '%.60s' needs a preset: separate, shared, floor-plus-borrow, quota or "
                  "spot-mix",
                  name);
        return;
    }
    size_t errors = c->diags->n_errors;
    check_keys(&r);
    presets[r.preset](&r);
    services_by(&r, "buffer", &d->buffer, buffer);
    for (size_t i = 0; i < r.services->n; i++)
        claims[i].buffer_gpus = buffer[i];
    if (c->diags->n_errors == errors)
        check_claims(&r);
}
