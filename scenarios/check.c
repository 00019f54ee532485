/* Checks of the top level and the fleet. */
#include "scenarios/check.h"

#include "scenarios/moment.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_S 86400.0
enum { MOST_WINDOWS = 1000000, MOST_STEPS = 100000 };

void check_say(const struct check *c, enum diag_level level, const void *at, const char *key,
               const char *nearest, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const struct node *table = at ? at : c->root;
    const struct node *place = key ? node_get(table, key) : NULL;
    if (!place)
        place = table->key ? table->key : table;
    node_say(place, c->diags, level, nearest, "%s", message);
}

char *check_path(const struct check *c, const char *file)
{
    const char *slash = strrchr(c->path, '/');
    size_t n = slash && file[0] != '/' ? (size_t)(slash - c->path) + 1 : 0;
    char *path = arena_alloc(c->arena, n + strlen(file) + 1);
    if (path) {
        memcpy(path, c->path, n);
        memcpy(path + n, file, strlen(file));
    }
    return path;
}

const char *check_gpu(const struct check *c)
{
    const struct field_list *groups = &c->spec->fleet.groups, *pools = &c->spec->fleet.pools;
    if (pools->n)
        return ((const struct pool_spec *)pools->items)[0].gpu;
    return groups->n ? ((const struct group_spec *)groups->items)[0].gpu : c->spec->fleet.gpu;
}

/* ---- what follows from the spec ---- */

static void add_nodes(struct check *c, uint64_t nodes, uint64_t gpus_per_node)
{
    if (nodes == FIELD_NO_WHOLE)
        return;
    c->fleet_gpus += nodes * gpus_per_node;
    if (gpus_per_node > c->largest_node)
        c->largest_node = (uint32_t)gpus_per_node;
}

static void count_gpus(struct check *c)
{
    const struct fleet_spec *f = &c->spec->fleet;
    const struct group_spec *groups = f->groups.items;
    const struct pool_spec *pools = f->pools.items;
    c->fleet_gpus = 0;
    c->largest_node = 0;
    if (f->groups.n == 0 && f->pools.n == 0)
        add_nodes(c, f->nodes, f->gpus_per_node);
    for (size_t i = 0; i < f->groups.n && f->pools.n == 0; i++)
        add_nodes(c, groups[i].nodes, groups[i].gpus_per_node);
    for (size_t i = 0; i < f->pools.n; i++)
        add_nodes(c, pools[i].nodes, pools[i].gpus_per_node);
}

static bool has_recorded_jobs(const struct scenario_spec *s)
{
    const struct training_spec *queues = s->training.items;
    for (size_t i = 0; i < s->training.n; i++)
        if (queues[i].jobs.at)
            return true;
    return false;
}

void check_init(struct check *c)
{
    char date[MOMENT_DATE_BYTES];
    const struct scenario_spec *s = c->spec;
    count_gpus(c);
    c->day_s = 0;
    moment_start(s->start, date, &c->day_s);
    c->warmup_s = s->warmup_s;
    if (isnan(s->warmup_s))
        c->warmup_s = has_recorded_jobs(s) ? DAY_S : s->horizon_s / 10;
}

/* ---- the top level ---- */

static void check_times(const struct check *c)
{
    const struct scenario_spec *s = c->spec;
    char date[MOMENT_DATE_BYTES];
    double day_s, measured = s->horizon_s - c->warmup_s;
    if (!moment_start(s->start, date, &day_s))
        check_say(c, DIAG_ERROR, s->at, "start", NULL,
                  "start: '%.40s' is not a date such as 2026-01-01 00:00", s->start);
    if (measured <= 0) {
        const char *key = isnan(s->warmup_s) ? "horizon" : "warmup";
        check_say(c, DIAG_ERROR, s->at, key, NULL,
                  "the warm-up%s must be shorter than the horizon: nothing is left to measure",
                  isnan(s->warmup_s) && c->warmup_s == DAY_S ? " (1d where jobs are recorded)"
                                                             : "");
        return;
    }
    if (measured / s->window_s > MOST_WINDOWS)
        check_say(c, DIAG_ERROR, s->at, "window", NULL,
                  "window: more than 1,000,000 of them: take longer ones");
    if (!isnan(s->timeline_s) && measured / s->timeline_s > MOST_STEPS)
        check_say(c, DIAG_ERROR, s->at, "timeline", NULL,
                  "timeline: more than 100,000 steps: take longer ones");
}

static void check_names(const struct check *c)
{
    const struct scenario_spec *s = c->spec;
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t n = s->name ? strlen(s->name) : 1;
    if (s->name && (n == 0 || n > 63 || strspn(s->name, allowed) != n))
        check_say(c, DIAG_ERROR, s->at, "scenario", NULL,
                  "'%.60s' is no name: 1 to 63 letters, digits, - or _", s->name);
    for (size_t i = 0; i < s->services.n; i++)
        for (size_t j = 0; j < s->training.n; j++)
            if (strcmp(s->services.names[i], s->training.names[j]) == 0)
                check_say(c, DIAG_ERROR, s->training.where[j], NULL, NULL,
                          "'%s' is the name of a service too", s->training.names[j]);
    const struct node *services = node_get(s->at, "services"),
                      *queues = node_get(s->at, "training");
    if (!(services && services->n_children) && !(queues && queues->n_children))
        check_say(c, DIAG_ERROR, s->at, NULL, NULL,
                  "there is nothing to run: neither services nor training");
}

static void check_storage(const struct check *c)
{
    const struct scenario_spec *s = c->spec;
    const struct training_spec *queues = s->training.items;
    bool any = false;
    for (size_t i = 0; i < s->training.n; i++)
        any = any || queues[i].checkpoint.parameters > 0;
    if (!s->storage.at)
        return;
    if (!any)
        check_say(c, DIAG_WARNING, s->storage.at, NULL, NULL,
                  "nothing is written to the storage: no queue has `checkpoint.parameters`");
    if (!s->storage.restores && node_get(s->storage.at, "node_read"))
        check_say(c, DIAG_WARNING, s->storage.at, "node_read", NULL,
                  "node_read changes nothing without `restores: yes`");
}

enum hr_err check_scenario(const struct check *c)
{
    const struct scenario_spec *s = c->spec;
    check_names(c);
    check_times(c);
    check_fleet(c);
    check_duration(c, &s->reclaim.teardown);
    check_duration(c, &s->reclaim.scrub);
    check_storage(c);
    for (size_t i = 0; i < s->services.n; i++)
        check_service(c, (const struct service_spec *)s->services.items + i);
    for (size_t i = 0; i < s->training.n; i++)
        check_training(c, (const struct training_spec *)s->training.items + i);
    return HR_OK;
}

/* ---- parts that others use ---- */

void check_duration(const struct check *c, const struct duration_spec *d)
{
    if (d->uniform.at && d->uniform.second < d->uniform.first)
        check_say(c, DIAG_ERROR, d->uniform.at, "high", NULL, "high is below low");
}

void check_file(const struct check *c, const void *at, const char *file)
{
    struct stat info;
    char *path = file ? check_path(c, file) : NULL;
    if (!path)
        return;
    if (stat(path, &info) != 0 || access(path, R_OK) != 0)
        check_say(c, DIAG_ERROR, at, "file", NULL, "file: '%.200s' cannot be opened: %s", path,
                  strerror(errno));
    else if (S_ISDIR(info.st_mode))
        check_say(c, DIAG_ERROR, at, "file", NULL, "file: '%.200s' is a directory", path);
}
