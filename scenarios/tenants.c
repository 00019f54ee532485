/* Tenants: names, what they match, their quota. */
#include "scenarios/tenants.h"

#include "scenarios/pools.h"
#include "scenarios/quotas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENANTS = 1000 };

#define FROM_TRACE "from-trace"
#define THE_REST   "*"
#define NAMELESS   "unknown" /* tenant of jobs whose list names none */

bool tenants_from_jobs(const struct training_spec *t)
{
    const struct tenant_spec *sole = t->tenants.items;
    return t->tenants.n == 1 && t->tenants.names[0][0] == '\0' &&
           strcmp(sole->match, FROM_TRACE) == 0;
}

/* ---- checks ---- */

static const char *match_of(const struct field_list *l, size_t i)
{
    const struct tenant_spec *tenants = l->items;
    return tenants[i].match ? tenants[i].match : l->names[i];
}

static bool matches(const struct field_list *l, const char *tenant)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(match_of(l, i), THE_REST) == 0 || strcmp(match_of(l, i), tenant) == 0)
            return true;
    return false;
}

static bool has_name(const struct field_list *l, const char *name)
{
    size_t i = 0;
    while (i < l->n && strcmp(l->names[i], name) != 0)
        i++;
    return i < l->n;
}

static void check_backlog(const struct check *c, const struct training_spec *t)
{
    const struct field_list *l = &t->tenants;
    const struct backlog_spec *b = &t->backlog;
    if (b->tenant && l->n == 0)
        check_say(c, DIAG_ERROR, b->at, "tenant", NULL,
                  "tenant: the queue has no tenants, so it is nobody's in particular");
    else if (b->tenant && !tenants_from_jobs(t) && !has_name(l, b->tenant))
        check_say(c, DIAG_ERROR, b->at, "tenant", diag_nearest(b->tenant, l->names, l->n),
                  "tenant: no '%.60s' among the tenants", b->tenant);
    else if (b->at && !b->tenant && l->n > 0)
        check_say(c, DIAG_ERROR, b->at, NULL, NULL,
                  "backlog: the queue has tenants, so say whose it is: `tenant`");
}

/* Each job has one tenant. */
static void check_matches(const struct check *c, const struct training_spec *t)
{
    const struct field_list *l = &t->tenants;
    const struct job_class_spec *classes = t->drawn.classes.items;
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(match_of(l, i), match_of(l, j)) == 0)
                check_say(c, DIAG_ERROR, l->where[i], NULL, NULL,
                          "tenant '%.60s' matches the same jobs as '%.60s'", l->names[i],
                          l->names[j]);
    for (size_t i = 0; i < t->drawn.classes.n && l->n > 0; i++)
        if (!matches(l, classes[i].tenant ? classes[i].tenant : ""))
            check_say(c, DIAG_ERROR, classes[i].at, "tenant", NULL,
                      "class '%.60s': its tenant is none of the queue's",
                      t->drawn.classes.names[i]);
}

void tenants_check(const struct check *c, const struct training_spec *t)
{
    bool sole = t->tenants.n == 1 && t->tenants.names[0][0] == '\0', from = tenants_from_jobs(t);
    if (sole && !from) {
        check_say(c, DIAG_ERROR, t->at, "tenants", FROM_TRACE,
                  "tenants: must be a map of names, or " FROM_TRACE);
        return;
    }
    if (from && !t->jobs.at && !t->drawn.at)
        check_say(c, DIAG_ERROR, t->at, "tenants", NULL,
                  "tenants: there are no jobs that could name them");
    check_backlog(c, t);
    if (!from)
        check_matches(c, t);
}

bool tenants_check_quota(const struct check *c, const struct node *entry)
{
    const char *name = entry->key->value, *slash = strchr(name, '/');
    const struct field_list *queues = &c->spec->training;
    const struct training_spec *t = NULL;
    if (!slash)
        return false;
    for (size_t i = 0; i < queues->n && !t; i++)
        if (strlen(queues->names[i]) == (size_t)(slash - name) &&
            strncmp(queues->names[i], name, (size_t)(slash - name)) == 0)
            t = (const struct training_spec *)queues->items + i;
    if (!t || t->tenants.n == 0)
        node_say(entry->key, c->diags, DIAG_ERROR, NULL,
                 "quotas: '%.60s': there is no queue '%.*s' with tenants", name,
                 (int)(slash - name), name);
    else if (!tenants_from_jobs(t) && !has_name(&t->tenants, slash + 1))
        node_say(entry->key, c->diags, DIAG_ERROR,
                 diag_nearest(slash + 1, t->tenants.names, t->tenants.n),
                 "quotas: no '%.60s' among the tenants of %.*s", slash + 1, (int)(slash - name),
                 name);
    return true;
}

/* ---- who they are ---- */

struct found {
    const char *name, *match; /* match NULL: the rest */
    double weight;
    bool first;
};

struct founds {
    struct found *items; /* arena */
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return x->first != y->first ? (x->first ? -1 : 1) : strcmp(x->name, y->name);
}

static enum hr_err from_map(const struct build *b, const struct training_spec *t,
                            struct founds *out)
{
    const struct tenant_spec *tenants = t->tenants.items;
    out->n = t->tenants.n;
    out->items = arena_array(b->check->arena, out->n, sizeof *out->items);
    if (!out->items)
        return HR_NOMEM;
    for (size_t i = 0; i < out->n; i++) {
        const char *match = match_of(&t->tenants, i);
        out->items[i] = (struct found){.name = t->tenants.names[i],
                                       .match = strcmp(match, THE_REST) == 0 ? NULL : match,
                                       .weight = tenants[i].weight};
    }
    return HR_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The tenants of all jobs, each once; in malloc memory. */
static const char **distinct(const struct queue_plan *q, const char *backlog, size_t *n)
{
    size_t n_jobs = q->jobs ? q->jobs->n : 0, all = 0, kept = 0;
    const char **names = malloc((n_jobs + q->mix.n_classes + 1) * sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < n_jobs; i++)
        if (all == 0 || names[all - 1] != q->jobs->rows[i].tenant)
            names[all++] = q->jobs->rows[i].tenant;
    for (size_t i = 0; i < q->mix.n_classes; i++)
        names[all++] = q->mix.classes[i].tenant;
    if (backlog)
        names[all++] = backlog;
    if (all > 0)
        qsort(names, all, sizeof *names, by_text);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            names[kept++] = names[i];
    *n = kept;
    return names;
}

static enum hr_err from_jobs(const struct build *b, const struct training_spec *t,
                             const struct queue_plan *q, struct founds *out)
{
    const char **names = distinct(q, t->backlog.tenant, &out->n);
    out->items = arena_array(b->check->arena, out->n, sizeof *out->items);
    if (!names || !out->items) {
        free(names);
        return HR_NOMEM;
    }
    for (size_t i = 0; i < out->n; i++)
        out->items[i] = (struct found){
            .name = names[i][0] ? names[i] : NAMELESS, .match = names[i], .weight = 1};
    free(names);
    if (out->n > 0 && out->n <= MOST_TENANTS)
        return HR_OK;
    check_say(b->check, DIAG_ERROR, t->at, "tenants", NULL,
              "tenants: the jobs name %zu, 1 to %d are possible", out->n, MOST_TENANTS);
    return HR_INPUT;
}

/* Recorded jobs that nobody would own. */
static enum hr_err check_jobs(const struct build *b, const struct training_spec *t,
                              const struct queue_plan *q)
{
    const char *last = NULL;
    for (size_t i = 0; q->jobs && i < q->jobs->n; i++) {
        const struct job *job = &q->jobs->rows[i];
        if (job->tenant != last && !matches(&t->tenants, job->tenant)) {
            check_say(b->check, DIAG_ERROR, t->at, "tenants", NULL,
                      "tenants: job %.60s is of '%.60s', which none matches; one may match \"*\"",
                      job->id, job->tenant);
            return HR_INPUT;
        }
        last = job->tenant;
    }
    return HR_OK;
}

static enum hr_err find(const struct build *b, const struct training_spec *t,
                        const struct queue_plan *q, struct founds *out)
{
    if (tenants_from_jobs(t)) {
        TRY(from_jobs(b, t, q, out));
    } else {
        TRY(from_map(b, t, out));
        TRY(check_jobs(b, t, q));
    }
    for (size_t i = 0; i < out->n; i++)
        out->items[i].first =
            t->backlog.tenant && strcmp(out->items[i].name, t->backlog.tenant) == 0;
    qsort(out->items, out->n, sizeof *out->items, by_name);
    return HR_OK;
}

/* ---- their quota ---- */

/* The cohort that a queue is to its tenants; COHORT_ROOT when its numbers bound nothing. */
static uint32_t add_cohort(const struct build *b, const char *queue, const struct quota *whole,
                           const struct quota_spec *own, uint64_t floors)
{
    struct cohort c = {.name = queue,
                       .parent = whole->cohort,
                       .floor_gpus = whole->floor_gpus,
                       .ceiling_gpus = whole->ceiling_gpus,
                       .lend_gpus = whole->lend_gpus,
                       .weight = own ? own->weight : 1};
    if (own) {
        c.ceiling_gpus = own->borrow == FIELD_NO_WHOLE
                             ? UINT32_MAX
                             : (uint32_t)(own->floor + own->borrow + floors);
        c.lend_gpus = own->lend == FIELD_NO_WHOLE ? UINT32_MAX : whole->lend_gpus;
    } else if (c.floor_gpus == 0 && c.ceiling_gpus >= b->check->fleet_gpus) {
        return COHORT_ROOT;
    }
    b->cohorts->items[b->cohorts->n++] = c; /* room for one a queue */
    return (uint32_t)b->cohorts->n;
}

static struct quota tenant_quota(const struct build *b, const char *name, const struct quota *whole)
{
    const struct quota_spec *own = preset_quota_spec(b->design_name, b->design, name);
    if (own)
        return quotas_quota(b->check, b->design, own);
    struct quota q = *whole;
    q.floor_gpus = q.lend_gpus = 0;
    return q;
}

/* Splits what a tenant may hold in all over its pools. */
static void split(const struct build *b, const struct training_spec *t, const struct claim *claim,
                  struct quota whole, struct tenant_plan *out)
{
    out->n_pools = pools_split(b->check, &t->pools, t->slice, claim->choice, &whole, out->pools);
}

/* Names, and what each may hold in all, in the first place. */
static enum hr_err fill(const struct build *b, const char *queue, const struct founds *found,
                        const struct quota *whole, struct tenant_plan *out)
{
    uint64_t floors = 0;
    for (size_t i = 0; i < found->n; i++) {
        const struct found *f = &found->items[i];
        size_t size = strlen(queue) + strlen(f->name) + 2;
        char *name = arena_alloc(b->check->arena, size);
        if (!name)
            return HR_NOMEM;
        snprintf(name, size, "%s/%s", queue, f->name);
        out[i] = (struct tenant_plan){.name = name, .match = f->match, .weight = f->weight};
        struct quota *q = &out[i].pools[0].quota;
        *q = tenant_quota(b, name, whole);
        if (!preset_quota_spec(b->design_name, b->design, name))
            q->weight = f->weight;
        floors += q->floor_gpus;
    }
    const struct quota_spec *own = preset_quota_spec(b->design_name, b->design, queue);
    if (preset_of(b->design_name, b->design) == PRESET_QUOTA && !own)
        return HR_OK;
    uint32_t cohort = add_cohort(b, queue, whole, own, floors);
    for (size_t i = 0; i < found->n; i++) {
        const struct quota_spec *spec = preset_quota_spec(b->design_name, b->design, out[i].name);
        if (!spec || !spec->cohort)
            out[i].pools[0].quota.cohort = cohort;
    }
    return HR_OK;
}

/* An entry of `quotas` for a tenant that no job names. */
static enum hr_err check_entries(const struct build *b, const char *queue,
                                 const struct founds *found)
{
    const struct field_list *l = &b->design->quotas;
    size_t n = strlen(queue);
    for (size_t i = 0; i < l->n; i++) {
        size_t at = 0;
        if (strncmp(l->names[i], queue, n) != 0 || l->names[i][n] != '/')
            continue;
        while (at < found->n && strcmp(found->items[at].name, l->names[i] + n + 1) != 0)
            at++;
        if (at < found->n)
            continue;
        node_say(((const struct node *)l->where[i])->key, b->check->diags, DIAG_ERROR, NULL,
                 "quotas: no job of %.60s names '%.60s'", queue, l->names[i] + n + 1);
        return HR_INPUT;
    }
    return HR_OK;
}

enum hr_err tenants_build(const struct build *b, const char *queue, const struct training_spec *t,
                          const struct claim *claim, struct queue_plan *out)
{
    struct founds found = {0};
    out->tenant = (struct tenant_plan){.name = queue, .weight = 1};
    split(b, t, claim, claim->quota, &out->tenant);
    if (t->tenants.n == 0)
        return HR_OK;
    TRY(find(b, t, out, &found));
    TRY(check_entries(b, queue, &found));
    struct tenant_plan *tenants = arena_array(b->check->arena, found.n, sizeof *tenants);
    if (!tenants)
        return HR_NOMEM;
    TRY(fill(b, queue, &found, &claim->quota, tenants));
    for (size_t i = 0; i < found.n; i++)
        split(b, t, claim, tenants[i].pools[0].quota, &tenants[i]);
    out->tenant = tenants[0];
    out->more = tenants + 1;
    out->n_more = found.n - 1;
    return HR_OK;
}
