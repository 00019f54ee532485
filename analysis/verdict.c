/* Judging designs from their summary. */
#include "analysis/verdict.h"

#include <math.h>
#include <stdlib.h>

enum fate verdict_objective(const struct summary *s, uint32_t column, uint32_t service,
                            uint32_t objective)
{
    size_t metric = metric_find("objective_metric");
    size_t breaches = metric_find("objective_breach_windows");
    if (isnan(*summary_at(s, metric, column, 0, service, objective)))
        return FATE_ABSENT;
    enum fate fate = FATE_UNTESTED;
    for (uint32_t r = 0; r < s->n_replications; r++) {
        double n = *summary_at(s, breaches, column, r, service, objective);
        if (n > 0)
            return FATE_MISSED;
        if (n == 0) /* NaN: no request */
            fate = FATE_MET;
    }
    return fate;
}

static struct design_verdict judge(const struct summary *s, uint32_t column)
{
    struct design_verdict d = {.meets = true};
    for (uint32_t k = 0; k < s->n[AXIS_SERVICE]; k++) {
        for (uint32_t o = 0; o < s->n[AXIS_OBJECTIVE]; o++) {
            enum fate fate = verdict_objective(s, column, k, o);
            d.meets = d.meets && fate != FATE_MISSED;
            d.tested = d.tested || fate == FATE_MET || fate == FATE_MISSED;
        }
        double breach = summary_mean(s, "breach_min", column, k, 0);
        d.breach_min += isnan(breach) ? 0 : breach;
    }
    d.cost = summary_mean(s, "cost_per_useful_gpu_h", column, 0, 0);
    return d;
}

/* Without a price somewhere, utilization ranks all of them. */
static void rank_by_utilization(struct verdict *v, const struct summary *s)
{
    bool priced = true;
    for (uint32_t c = 0; c < s->n_columns; c++)
        priced = priced && isfinite(v->designs[c].cost);
    for (uint32_t c = 0; c < s->n_columns && !priced; c++) {
        double utilization = summary_mean(s, "utilization", c, 0, 0);
        v->designs[c].cost = utilization > 0 ? 1 / utilization : INFINITY;
    }
}

static bool better(const struct design_verdict *a, const struct design_verdict *b)
{
    if (a->meets != b->meets)
        return a->meets;
    if (!a->meets && a->breach_min != b->breach_min)
        return a->breach_min < b->breach_min;
    return a->cost < b->cost;
}

/* The best column but one; the skipped one itself when there is no other. */
static uint32_t best_but(const struct verdict *v, uint32_t n, uint32_t skip)
{
    uint32_t best = skip;
    for (uint32_t c = 0; c < n; c++)
        if (c != skip && (best == skip || better(&v->designs[c], &v->designs[best])))
            best = c;
    return best;
}

enum hr_err verdict_init(struct verdict *v, const struct summary *s)
{
    *v = (struct verdict){.designs = calloc(s->n_columns, sizeof *v->designs)};
    if (!v->designs)
        return HR_NOMEM;
    for (uint32_t c = 0; c < s->n_columns; c++) {
        v->designs[c] = judge(s, c);
        v->n_meeting += v->designs[c].meets;
        v->tested = v->tested || v->designs[c].tested;
    }
    rank_by_utilization(v, s);
    v->choice = best_but(v, s->n_columns, s->n_columns);
    v->reference = v->choice != 0 ? 0 : best_but(v, s->n_columns, 0);
    return HR_OK;
}

void verdict_fini(struct verdict *v)
{
    free(v->designs);
    *v = (struct verdict){0};
}

const char *verdict_rule(const struct summary *s)
{
    if (s->n[AXIS_SERVICE] == 0)
        return "The lowest cost per useful GPU-hour, without a price the highest utilization.";
    return "Of the designs that breach no objective in any window the one with the lowest cost per "
           "useful (serving or training) GPU-hour; if none, the fewest minutes in breach.";
}
