/* Checks of an inference service. */
#include "models/serving/catalogue.h"
#include "models/serving/router.h"
#include "models/serving/slo.h"
#include "scenarios/sharing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- model and engine ---- */

/* Names of the catalogue's models, each once. */
static size_t model_names(const char **names, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < perf_catalogue_n; i++) {
        size_t j = 0;
        while (j < n && strcmp(names[j], perf_catalogue[i].model) != 0)
            j++;
        if (j == n && n < most)
            names[n++] = perf_catalogue[i].model;
    }
    return n;
}

/* Whether precision and size decide: what the catalogue has of the model. */
static void say_no_row(const struct check *c, const struct service_spec *s)
{
    char have[512] = "";
    size_t n = 0;
    for (size_t i = 0; i < perf_catalogue_n && n < sizeof have; i++) {
        const struct perf_entry *e = &perf_catalogue[i];
        if (strcmp(e->model, s->model) != 0 || strcmp(e->engine, perf_catalogue[0].engine) != 0)
            continue;
        n += (size_t)snprintf(have + n, sizeof have - n, "%s%s on %u", n ? ", " : "", e->precision,
                              e->tp);
    }
    check_say(
        c, DIAG_ERROR, s->at, "model", NULL,
        "no measured step times for %.60s %s on %llu %.40s GPUs%s%.40s; there are: %s (or give "
        "step_time)",
        s->model, precision_names[s->precision], (unsigned long long)s->tensor_parallel,
        check_gpu(c), s->engine ? " with " : "", s->engine ? s->engine : "", have);
}

static void check_model(const struct check *c, const struct service_spec *s)
{
    enum { MOST = 32 };
    const char *names[MOST];
    size_t n = model_names(names, MOST), i = 0;
    if (!s->model || s->tensor_parallel == FIELD_NO_WHOLE)
        return; /* said: they are required */
    if (s->step_time.at) {
        if (s->kv_capacity == FIELD_NO_WHOLE)
            check_say(c, DIAG_ERROR, s->at, "step_time", NULL,
                      "step_time needs kv_capacity, the tokens a replica holds");
        return;
    }
    while (i < n && strcmp(names[i], s->model) != 0)
        i++;
    if (i == n)
        check_say(c, DIAG_ERROR, s->at, "model", diag_nearest(s->model, names, n),
                  "model: the catalogue has no '%.60s'; give step_time for your own", s->model);
    else if (!perf_find(s->model, precision_names[s->precision], (uint32_t)s->tensor_parallel,
                        check_gpu(c), s->engine ? s->engine : ""))
        say_no_row(c, s);
}

static void check_shape(const struct check *c, const struct service_spec *s)
{
    if (s->tensor_parallel != FIELD_NO_WHOLE && c->largest_node &&
        s->tensor_parallel > c->largest_node)
        check_say(c, DIAG_ERROR, s->at, "tensor_parallel", NULL,
                  "tensor_parallel: a replica of %llu GPUs fits no node of %u",
                  (unsigned long long)s->tensor_parallel, c->largest_node);
    if (s->prefill == 1 && s->max_batched_tokens < s->max_num_seqs)
        check_say(c, DIAG_ERROR, s->at, "max_batched_tokens", NULL,
                  "max_batched_tokens must be at least max_num_seqs (%llu) with chunked prefill",
                  (unsigned long long)s->max_num_seqs);
}

/* ---- objectives ---- */

uint32_t check_percentile(const char *name)
{
    char *end;
    if (name[0] != 'p' || name[1] < '0' || name[1] > '9')
        return 0;
    double ppm = strtod(name + 1, &end) * 1e4;
    return *end == '\0' && ppm >= 0.5 && ppm < 999999.5 ? (uint32_t)(ppm + 0.5) : 0;
}

static void check_slo(const struct check *c, const struct service_spec *s)
{
    size_t n = 0;
    for (int m = 0; m < SLO_METRICS; m++) {
        const struct field_list *l = &s->slo.metrics[m];
        n += l->n;
        for (size_t i = 0; i < l->n; i++)
            if (check_percentile(l->names[i]) == 0)
                node_say(((const struct node *)l->where[i])->key, c->diags, DIAG_ERROR, NULL,
                         "'%.40s' is not a percentile such as p99 or p99.9", l->names[i]);
    }
    if (n == 0)
        check_say(c, DIAG_ERROR, s->slo.at, NULL, NULL, "slo: at least one objective is needed");
    if (n > SLO_MAX_OBJECTIVES)
        check_say(c, DIAG_ERROR, s->slo.at, NULL, NULL, "slo: at most %d objectives",
                  SLO_MAX_OBJECTIVES);
}

/* ---- scaling ---- */

static void check_scaler(const struct check *c, const struct autoscaler_spec *a)
{
    if (!isnan(a->target_rate_per_s) && !isnan(a->target_in_flight))
        check_say(c, DIAG_ERROR, a->at, "target_in_flight", NULL,
                  "target_rate and target_in_flight exclude each other");
    if (a->min_replicas != FIELD_NO_WHOLE && a->max_replicas != FIELD_NO_WHOLE &&
        a->min_replicas > a->max_replicas)
        check_say(c, DIAG_ERROR, a->at, "min_replicas", NULL, "min_replicas is above max_replicas");
}

void check_service(const struct check *c, const struct service_spec *s)
{
    check_pools(c, s->at, &s->pools);
    sharing_check_slice(c, s->at, s->slice);
    if (s->slice && s->tensor_parallel > 1 && s->tensor_parallel != FIELD_NO_WHOLE)
        check_say(c, DIAG_ERROR, s->at, "tensor_parallel", NULL,
                  "tensor_parallel: a replica on a slice is on one GPU");
    check_model(c, s);
    check_shape(c, s);
    check_traffic(c, &s->traffic);
    check_slo(c, s);
    check_scaler(c, &s->autoscaler);
    check_duration(c, &s->cold_start.schedule);
    check_duration(c, &s->cold_start.image);
    check_duration(c, &s->cold_start.weights);
    check_duration(c, &s->cold_start.engine);
    if (!isnan(s->timeout_s) && s->router != ROUTER_SHARED_QUEUE)
        check_say(
            c, DIAG_WARNING, s->at, "timeout", NULL,
            "timeout: requests wait at the router only with `router: shared-queue`; with this "
            "one only while no replica is ready");
}
