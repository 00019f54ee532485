/* Running a worksheet's scenario until the standard error is small, and judging what it shows. */
#include "analysis/worksheets/simulate.h"

#include "analysis/experiment.h"
#include "analysis/metrics.h"
#include "models/run.h"
#include "scenarios/scenario.h"

#include <assert.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct diag_place place = {.file = "explain"};

enum { MOST_DOUBLINGS = 5 };
static const double error_frac = 0.005, errors_allowed = 3.3;

enum hr_err sheet_scenario(const struct sheet_case *c, struct text *out, struct diags *diags)
{
    const struct sheet_simulation *sim = c->sheet->simulation;
    *out = (struct text){0};
    if (!sim) {
        diags_add(diags, DIAG_ERROR, place, NULL, NULL,
                  "worksheet %s is arithmetic only: there is nothing to simulate", c->sheet->name);
        return HR_INPUT;
    }
    if (!sim->scenario(c, out)) {
        diags_add(diags, DIAG_ERROR, place, NULL, NULL, "worksheet %s has no scenario here: %s",
                  c->sheet->name, text_get(out));
        return HR_INPUT;
    }
    return out->failed ? HR_NOMEM : HR_OK;
}

static uint32_t find_name(const struct summary *s, enum axis axis, const char *name)
{
    uint32_t i = 0;
    while (name && i < s->n[axis] && strcmp(s->names[axis][i], name) != 0)
        i++;
    assert(!name || i < s->n[axis]);
    return i;
}

/* One replication's value in the output's unit. */
static double value_of(const struct sheet_case *c, const struct sheet_check *k,
                       const struct summary *s, uint32_t replication)
{
    if (k->read)
        return k->read(c, s, replication);
    const size_t m = metric_find(k->metric);
    assert(m < metrics_n);
    const uint32_t entity = find_name(s, metrics[m].entity, k->entity);
    const uint32_t part = find_name(s, metrics[m].part, k->part);
    return *summary_at(s, m, 0, replication, entity, part) * (k->scale != 0 ? k->scale : 1);
}

static void judge(struct sheet_seen *v)
{
    const double most = v->check->error_frac != 0 ? v->check->error_frac : error_frac;
    const double size = fabs(v->exact);
    if (!isfinite(v->exact) || v->n < 2)
        v->verdict = SHEET_NO_VALUE;
    else if (v->error > most * size) {
        v->verdict = SHEET_TOO_SHORT;
        v->longer = size > 0 ? pow(v->error / (most * size), 2) : INFINITY;
    } else {
        const double allowed = errors_allowed * v->error + v->check->allowance_frac * size;
        /* A value that does not vary is compared to rounding. */
        v->verdict =
            fabs(v->mean - v->exact) <= fmax(allowed, 1e-9 * size) ? SHEET_AGREES : SHEET_DIFFERS;
    }
}

static enum hr_err look(const struct sheet_case *c, const struct summary *s,
                        struct sheet_simulated *out)
{
    double *x = malloc(s->n_replications * sizeof *x);
    if (!x)
        return HR_NOMEM;
    for (uint8_t k = 0; k < out->n; k++) {
        struct sheet_seen *v = &out->seen[k];
        v->n = 0;
        for (uint32_t r = 0; r < s->n_replications; r++) {
            x[v->n] = value_of(c, v->check, s, r);
            v->n += isnan(x[v->n]) ? 0 : 1;
        }
        v->mean = v->n ? gsl_stats_mean(x, 1, v->n) : NAN;
        v->error = v->n > 1 ? gsl_stats_sd(x, 1, v->n) / sqrt(v->n) : NAN;
        judge(v);
    }
    free(x);
    return HR_OK;
}

static bool any_too_short(const struct sheet_simulated *s)
{
    for (uint8_t k = 0; k < s->n; k++)
        if (s->seen[k].verdict == SHEET_TOO_SHORT)
            return true;
    return false;
}

static enum hr_err run_once(const struct sheet_case *c, const struct sheet_simulate_plan *p,
                            const struct plan *plan, uint32_t replications,
                            struct sheet_simulated *out, struct diags *diags)
{
    const struct summary_source column = {.label = c->sheet->name, .plan = plan};
    const struct experiment_plan experiment = {
        .columns = &column,
        .n_columns = 1,
        .n_replications = replications,
        .n_threads = p->threads,
        .version = p->version,
        .run = run_plan,
        .progress = p->progress,
        .self = p->self,
        .stop = p->stop,
    };
    struct experiment e;
    enum hr_err err = experiment_run(&experiment, &e, diags);
    if (err == HR_OK)
        err = look(c, &e.summary, out);
    out->replications = replications;
    experiment_fini(&e);
    return err;
}

static enum hr_err run_until_fine(const struct sheet_case *c, const struct sheet_simulate_plan *p,
                                  const struct plan *plan, struct sheet_simulated *out,
                                  struct diags *diags)
{
    uint32_t n = p->replications ? p->replications : c->sheet->simulation->replications;
    const uint32_t most = p->most ? p->most : n << MOST_DOUBLINGS;
    for (;; n = 2 * n < most ? 2 * n : most) {
        TRY(run_once(c, p, plan, n, out, diags));
        if (n >= most || !any_too_short(out))
            return HR_OK;
    }
}

enum hr_err sheet_simulate(const struct sheet_case *c, const struct sheet_simulate_plan *plan,
                           struct sheet_simulated *out, struct diags *diags)
{
    struct text yaml;
    struct scenario *scenario = NULL;
    struct plan fleet;
    *out = (struct sheet_simulated){0};
    enum hr_err err = sheet_scenario(c, &yaml, diags);
    if (err == HR_OK) {
        const struct sheet_simulation *sim = c->sheet->simulation;
        out->seen = calloc(sim->n_checks, sizeof *out->seen);
        out->n = out->seen ? sim->n_checks : 0;
        err = out->seen ? HR_OK : HR_NOMEM;
        for (uint8_t k = 0; k < out->n; k++)
            out->seen[k] = (struct sheet_seen){.check = &sim->checks[k],
                                               .exact = sheet_out(c, sim->checks[k].output)};
    }
    if (err == HR_OK)
        err =
            scenario_load_text(c->sheet->name, text_get(&yaml), yaml.n, NULL, 0, diags, &scenario);
    if (err == HR_OK)
        err = scenario_plan(scenario, NULL, diags, &fleet);
    if (err == HR_OK)
        err = run_until_fine(c, plan, &fleet, out, diags);
    scenario_free(scenario);
    text_free(&yaml);
    return err;
}

void sheet_simulated_fini(struct sheet_simulated *s)
{
    free(s->seen);
    *s = (struct sheet_simulated){0};
}

bool sheet_simulated_agrees(const struct sheet_simulated *s)
{
    for (uint8_t k = 0; k < s->n; k++)
        if (s->seen[k].verdict == SHEET_DIFFERS || s->seen[k].verdict == SHEET_TOO_SHORT)
            return false;
    return true;
}

static void add_verdict(struct text *t, const struct sheet_seen *v)
{
    switch (v->verdict) {
    case SHEET_AGREES:
        text_add(t, "They agree: the difference is %.2g standard errors, at most 3.3 are allowed",
                 v->error > 0 ? fabs(v->mean - v->exact) / v->error : 0);
        if (v->check->allowance_frac > 0)
            text_add(t, " and %.2g%% more: %s", 100 * v->check->allowance_frac,
                     v->check->allowance_why);
        break;
    case SHEET_DIFFERS:
        text_add(t, "They DIFFER by %.2g standard errors (%+.3g%%); at most 3.3 are allowed",
                 v->error > 0 ? fabs(v->mean - v->exact) / v->error : INFINITY,
                 100 * (v->mean / v->exact - 1));
        break;
    case SHEET_TOO_SHORT:
        text_add(t,
                 "Too short to tell: the standard error is %.2g%% of the value; %.2g times as "
                 "many replications would do",
                 100 * v->error / fabs(v->exact), v->longer);
        break;
    case SHEET_NO_VALUE:
        text_add(t, "There is nothing to compare: no finite value on one of the two sides");
        break;
    }
    text_add(t, ".");
}

static void print_quantity(FILE *out, const struct sheet_case *c, const struct sheet_seen *v)
{
    const struct sheet *s = c->sheet;
    const struct sheet_output *o = &s->outputs[v->check->output];
    struct text t = {0};
    fprintf(out, "  %s (%s)\n", o->key, o->unit);
    fprintf(out, "    closed form       %12.6g\n", v->exact);
    fprintf(out, "    simulated mean    %12.6g  +- %.2g (one standard error, %u runs)\n", v->mean,
            v->error, v->n);
    if (v->check->approximation) {
        const uint8_t k = (uint8_t)(v->check->approximation - 1);
        const double approximate = sheet_out(c, k);
        fprintf(out, "    approximation     %12.6g  %+.3g against the closed form (%s)\n",
                approximate, approximate - v->exact, s->outputs[k].key);
    }
    add_verdict(&t, v);
    text_wrap(out, text_get(&t), 4, 4, 80);
    text_free(&t);
}

void sheet_simulated_print(FILE *out, const struct sheet_case *c, const struct sheet_simulated *s)
{
    fprintf(out, "Simulation: %u replications of the sheet's scenario (--scenario prints it)\n",
            s->replications);
    for (uint8_t k = 0; k < s->n; k++)
        print_quantity(out, c, &s->seen[k]);
    if (c->sheet->simulation->assumes)
        text_wrap(out, c->sheet->simulation->assumes, 2, 2, 80);
}

void sheet_simulated_json(struct json *j, const struct sheet_case *c,
                          const struct sheet_simulated *s)
{
    static const char *const verdicts[] = {
        [SHEET_AGREES] = "agrees",
        [SHEET_DIFFERS] = "differs",
        [SHEET_TOO_SHORT] = "too short",
        [SHEET_NO_VALUE] = "nothing to compare",
    };
    json_object(j, NULL);
    json_text(j, "worksheet", c->sheet->name);
    json_whole(j, "replications", s->replications);
    json_array(j, "simulated", false);
    for (uint8_t k = 0; k < s->n; k++) {
        const struct sheet_seen *v = &s->seen[k];
        json_object(j, NULL);
        json_text(j, "key", c->sheet->outputs[v->check->output].key);
        json_number(j, "closed_form", v->exact);
        json_number(j, "mean", v->mean);
        json_number(j, "standard_error", v->error);
        if (v->check->approximation)
            json_number(j, "approximation", sheet_out(c, (uint8_t)(v->check->approximation - 1)));
        json_text(j, "verdict", verdicts[v->verdict]);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}
