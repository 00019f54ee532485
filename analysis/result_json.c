/* Walks the table of metrics into JSON. */
#include "analysis/result_json.h"

#include "analysis/explain.h"
#include "analysis/json.h"
#include "analysis/paired.h"

#include <math.h>

/* Writes what one metric has at one place of its axes. */
typedef void leaf_fn(struct json *j, const char *key, const struct summary *s, size_t metric,
                     uint32_t column, uint32_t entity, uint32_t part);

static void values_leaf(struct json *j, const char *key, const struct summary *s, size_t metric,
                        uint32_t column, uint32_t entity, uint32_t part)
{
    if (s->n_replications == 1) {
        json_number(j, key, *summary_at(s, metric, column, 0, entity, part));
        return;
    }
    json_array(j, key, true);
    for (uint32_t r = 0; r < s->n_replications; r++)
        json_number(j, NULL, *summary_at(s, metric, column, r, entity, part));
    json_close(j);
}

static void paired_leaf(struct json *j, const char *key, const struct summary *s, size_t metric,
                        uint32_t column, uint32_t entity, uint32_t part)
{
    struct paired p = paired_difference(s, metric, column, entity, part);
    json_object(j, key);
    json_number(j, "mean", p.mean);
    json_number(j, "low", p.low);
    json_number(j, "high", p.high);
    json_close(j);
}

static void put_parts(struct json *j, const char *key, const struct summary *s, size_t metric,
                      uint32_t column, uint32_t entity, leaf_fn *leaf)
{
    enum axis part = metrics[metric].part;
    if (part == AXIS_NONE) {
        leaf(j, key, s, metric, column, entity, 0);
        return;
    }
    json_object(j, key);
    for (uint32_t p = 0; p < s->n[part]; p++)
        leaf(j, s->names[part][p], s, metric, column, entity, p);
    json_close(j);
}

static void put_metric(struct json *j, const struct summary *s, size_t metric, uint32_t column,
                       leaf_fn *leaf)
{
    enum axis entity = metrics[metric].entity;
    if (s->n[entity] == 0 || s->n[metrics[metric].part] == 0)
        return; /* no such entity */
    if (entity == AXIS_NONE) {
        put_parts(j, metrics[metric].name, s, metric, column, 0, leaf);
        return;
    }
    json_object(j, metrics[metric].name);
    for (uint32_t e = 0; e < s->n[entity]; e++)
        put_parts(j, s->names[entity][e], s, metric, column, e, leaf);
    json_close(j);
}

static void put_metrics(struct json *j, const char *key, const struct summary *s, uint32_t column,
                        leaf_fn *leaf)
{
    json_object(j, key);
    for (size_t m = 0; m < metrics_n; m++)
        put_metric(j, s, m, column, leaf);
    json_close(j);
}

static void put_objectives(struct json *j, const struct summary *s, uint32_t column)
{
    static const char *const fates[] = {"met", "missed", "untested"};
    json_object(j, "objectives");
    for (uint32_t k = 0; k < s->n[AXIS_SERVICE]; k++) {
        json_array(j, s->names[AXIS_SERVICE][k], false);
        for (uint32_t o = 0; o < s->n[AXIS_OBJECTIVE]; o++) {
            enum fate fate = verdict_objective(s, column, k, o);
            char name[64];
            if (fate == FATE_ABSENT)
                continue;
            summary_objective(s, column, k, o, name, sizeof name);
            json_object(j, NULL);
            json_text(j, "objective", name);
            json_text(j, "fate", fates[fate]);
            json_close(j);
        }
        json_close(j);
    }
    json_close(j);
}

static void put_why(struct json *j, const struct summary *s, const struct verdict *v,
                    uint32_t column)
{
    json_array(j, "why", false);
    for (uint32_t k = 0; k < s->n[AXIS_SERVICE]; k++) {
        struct text t = {0};
        explain_service(&t, s, v, column, k);
        if (t.n)
            json_text(j, NULL, text_get(&t));
        text_free(&t);
    }
    json_close(j);
}

static void put_design(struct json *j, const struct summary *s, const struct verdict *v,
                       uint32_t column)
{
    const struct summary_column *c = &s->columns[column];
    json_object(j, NULL);
    json_text(j, "design", c->label);
    json_text(j, "pool_design", c->design);
    json_text(j, "settings", c->settings);
    json_whole(j, "seed", c->seed);
    json_bool(j, "meets", v->designs[column].meets);
    put_objectives(j, s, column);
    put_why(j, s, v, column);
    put_metrics(j, "summary", s, column, values_leaf);
    if (column > 0 && s->n_replications >= PAIRED_LEAST_REPLICATIONS)
        put_metrics(j, "paired", s, column, paired_leaf);
    json_close(j);
}

static void put_verdict(struct json *j, const struct summary *s, const struct verdict *v)
{
    struct text answer = {0}, waste = {0};
    explain_answer(&answer, s, v);
    explain_waste(&waste, s);
    json_object(j, "verdict");
    json_text(j, "choice", s->columns[v->choice].label);
    json_text(j, "answer", text_get(&answer));
    json_text(j, "waste", text_get(&waste));
    json_text(j, "rule", verdict_rule(s));
    json_whole(j, "designs_meeting", v->n_meeting);
    json_bool(j, "tested", v->tested);
    json_close(j);
    text_free(&answer);
    text_free(&waste);
}

enum hr_err result_json(FILE *out, const struct summary *s, const struct verdict *v)
{
    struct json j;
    char hash[17];
    summary_hash(s, hash);
    json_init(&j, out);
    json_object(&j, NULL);
    json_text(&j, "headroom", s->version);
    json_text(&j, "scenario", s->name);
    json_text(&j, "hash", hash);
    json_text(&j, "start_date", s->start_date);
    json_whole(&j, "replications", s->n_replications);
    put_verdict(&j, s, v);
    json_array(&j, "designs", false);
    for (uint32_t c = 0; c < s->n_columns; c++)
        put_design(&j, s, v, c);
    json_close(&j);
    json_object(&j, "units");
    for (size_t m = 0; m < metrics_n; m++)
        if (s->n[metrics[m].entity] > 0 && s->n[metrics[m].part] > 0)
            json_text(&j, metrics[m].name, metrics[m].unit);
    json_close(&j);
    json_close(&j);
    return ferror(out) ? HR_IO : HR_OK;
}
