/* Services and training queues of a plan. */
#include "models/serving/calibrate.h"
#include "models/serving/catalogue.h"
#include "scenarios/build.h"
#include "scenarios/pools.h"
#include "scenarios/sharing.h"
#include "scenarios/tenants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What an engine sees of an H100's memory: 81,559 MiB (fact hbm_capacity_h100_gb). */
#define VISIBLE_GB 85.52
/* Rate at which weights come from local NVMe (fact weights_load_nvme_plain_gb_s). */
#define WEIGHTS_BYTES_PER_S 3.6e9
/* Share of the highest rate that an autoscaler without a target aims at. */
#define TARGET_SHARE 0.85
/* TPOT that counts where a service has no objective on it (fact slo_tpot_p99_ms). */
#define USUAL_TPOT_NS (100 * SIM_MS)

/* ---- engine ---- */

static uint64_t in_ps(double s)
{
    return (uint64_t)(s * 1e12 + 0.5);
}

static struct step_time own_step_time(const struct step_time_spec *s)
{
    return (struct step_time){.a_ps = in_ps(s->decode_s),
                              .b_ps = in_ps(s->decode_request_s),
                              .c_ps = in_ps(s->decode_token_s),
                              .d_ps = in_ps(s->prefill_s),
                              .e_ps = in_ps(s->prefill_token_s),
                              .f_fs = (uint64_t)(s->prefill_token_squared_s * 1e15 + 0.5),
                              .floor_ps = in_ps(s->prefill_floor_s)};
}

static enum hr_err name_model(const struct build *b, const struct service_spec *s,
                              const char *engine, const char **out)
{
    char text[256];
    snprintf(text, sizeof text, "%.100s %s, %.100s", s->model, precision_names[s->precision],
             engine);
    *out = arena_strdup(b->check->arena, text);
    return *out ? HR_OK : HR_NOMEM;
}

/* On a part of a GPU weights and KV cache are read at its share of the bandwidth, the arithmetic is
 * done at its share of the SMs; it holds what its memory holds. */
static void share_replica(const struct slice_share *share, const struct service_spec *s,
                          double weights, uint32_t kv_bytes, struct replica_config *r)
{
    struct step_time *t = &r->step;
    uint64_t *const read[] = {&t->a_ps, &t->c_ps};
    uint64_t *const computed[] = {&t->b_ps, &t->d_ps, &t->e_ps, &t->f_fs, &t->floor_ps};
    for (size_t i = 0; i < SPEC_COUNT(read); i++)
        *read[i] = (uint64_t)((double)*read[i] / share->bandwidth + 0.5);
    for (size_t i = 0; i < SPEC_COUNT(computed); i++)
        *computed[i] = (uint64_t)((double)*computed[i] / share->compute + 0.5);
    if (s->kv_capacity == FIELD_NO_WHOLE)
        r->kv_capacity_tokens =
            kv_bytes ? perf_kv_tokens(share->memory_gb, 1, weights / 1e9, kv_bytes) : 0;
}

/* A replica that is a MIG instance or a client of a GPU; false: it has whole ones. */
static bool share_of(const struct build *b, const struct service_spec *s,
                     const struct service_plan *plan, struct slice_share *out)
{
    if (s->slice)
        *out = sharing_share(b->check, s->slice);
    return s->slice || sharing_client(b->check, plan->pools[0].pool, VISIBLE_GB, 0, out);
}

/* Where its speed depends on the clients at work beside it: its step times with each number of
 * them. All have the memory of one. */
static enum hr_err build_crowd(const struct build *b, const struct service_spec *s,
                               const struct replica_config *alone, struct service_plan *out)
{
    uint32_t pool = out->pools[0].pool, n = sharing_crowd(b->check, pool);
    struct replica_config *clients = arena_array(b->check->arena, n, sizeof *clients);
    if (n == 0 || !clients)
        return n == 0 ? HR_OK : HR_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        struct slice_share share;
        sharing_client(b->check, pool, VISIBLE_GB, i + 1, &share);
        clients[i] = *alone;
        share_replica(&share, s, 0, 0, &clients[i]);
        clients[i].kv_capacity_tokens = out->replica.kv_capacity_tokens;
    }
    out->clients = clients;
    out->n_clients = n;
    return HR_OK;
}

/* Step times, name and KV capacity: the scenario's own or the catalogue's; *weights in bytes. */
static enum hr_err build_engine(const struct build *b, const struct service_spec *s,
                                struct service_plan *out, double *weights)
{
    const struct perf_entry *e = NULL;
    uint32_t tp = (uint32_t)s->tensor_parallel;
    if (!s->step_time.at) {
        e = perf_find(s->model, precision_names[s->precision], tp, check_gpu(b->check),
                      s->engine ? s->engine : "");
        if (!e)
            return HR_INPUT; /* said by the check */
    }
    *weights = !isnan(s->weights_bytes) ? s->weights_bytes : e ? e->weights_gb * 1e9 : 0;
    out->replica = (struct replica_config){
        .step = e ? e->step : own_step_time(&s->step_time),
        .prefill = (enum prefill_mode)s->prefill,
        .max_num_seqs = (uint32_t)s->max_num_seqs,
        .max_batched_tokens = (uint32_t)s->max_batched_tokens,
        .kv_capacity_tokens =
            s->kv_capacity != FIELD_NO_WHOLE ? s->kv_capacity
            : e ? perf_kv_tokens(VISIBLE_GB, tp, *weights / 1e9, e->kv_bytes_per_token)
                : 0,
    };
    const struct replica_config alone = out->replica;
    struct slice_share share;
    if (share_of(b, s, out, &share))
        share_replica(&share, s, *weights, e ? e->kv_bytes_per_token : 0, &out->replica);
    if (!s->slice)
        TRY(build_crowd(b, s, &alone, out));
    if (out->replica.kv_capacity_tokens == 0) {
        check_say(b->check, DIAG_ERROR, s->at, "model", NULL,
                  "the weights leave no memory for requests on %u GPUs", tp);
        return HR_INPUT;
    }
    return name_model(b, s, e ? e->engine : "own step times", &out->model);
}

/* ---- objectives ---- */

static void build_slo(const struct build *b, const struct slo_spec *s, struct slo_plan *out)
{
    const struct check *c = b->check;
    *out = (struct slo_plan){.window_ns = sim_time_from_s(c->spec->window_s),
                             .start_ns = sim_time_from_s(c->warmup_s),
                             .end_ns = sim_time_from_s(c->spec->horizon_s),
                             .target = s->target};
    for (int m = 0; m < SLO_METRICS; m++) {
        const double *thresholds = s->metrics[m].items;
        for (size_t i = 0; i < s->metrics[m].n && out->n_objectives < SLO_MAX_OBJECTIVES; i++)
            out->objectives[out->n_objectives++] =
                (struct slo_objective){.metric = (enum slo_metric)m,
                                       .threshold_ns = sim_time_from_s(thresholds[i]),
                                       .percentile_ppm = check_percentile(s->metrics[m].names[i])};
    }
}

static uint64_t tightest_tpot_ns(const struct slo_plan *slo)
{
    uint64_t tightest = UINT64_MAX;
    for (uint32_t i = 0; i < slo->n_objectives; i++)
        if (slo->objectives[i].metric == SLO_TPOT && slo->objectives[i].threshold_ns < tightest)
            tightest = slo->objectives[i].threshold_ns;
    return tightest == UINT64_MAX ? USUAL_TPOT_NS : tightest;
}

/* ---- load of one replica ---- */

struct load {
    const struct replica_config *replica;
    double prompt, output;
    uint64_t tpot_ns; /* of the objective */
};

/* As many requests as run at a time: the KV cache holds so many at their full length, which is
 * what a request that is found running has on average when lengths vary as in chat (CV 1). */
static uint32_t most_running(const struct load *l)
{
    double in_cache = floor((double)l->replica->kv_capacity_tokens / (l->prompt + l->output));
    return (uint32_t)fmax(1, fmin(in_cache, l->replica->max_num_seqs));
}

static double rate_at(const struct load *l, uint64_t tpot_ns, double *in_flight)
{
    struct step_time step = l->replica->step;
    if (l->replica->prefill == PREFILL_CHUNKED)
        step.d_ps = step.floor_ps = 0; /* chunks ride in decode steps */
    return perf_safe_rate(&step, l->prompt, l->output, tpot_ns, most_running(l), in_flight);
}

/* Above what a replica bears its queue grows although the autoscaler is content. */
static void warn_of_target(const struct build *b, const struct service_spec *s,
                           const struct load *l, double highest_per_s)
{
    double rate = s->autoscaler.target_rate_per_s, in_flight = s->autoscaler.target_in_flight;
    if (rate > highest_per_s)
        check_say(b->check, DIAG_WARNING, s->autoscaler.at, "target_rate", NULL,
                  "target_rate: a replica bears about %.3g requests a second within its TPOT "
                  "objective, max_num_seqs and KV cache; above it falls behind",
                  highest_per_s);
    if (in_flight > most_running(l))
        check_say(b->check, DIAG_WARNING, s->autoscaler.at, "target_in_flight", NULL,
                  "target_in_flight: a replica runs about %u requests at a time, by max_num_seqs "
                  "and KV cache; those above it wait",
                  most_running(l));
}

/* The target, given or worked out, and the safe number in flight that goes with it. */
static enum hr_err build_target(const struct build *b, const struct service_spec *s,
                                struct service_plan *out)
{
    struct load load = {.replica = &out->replica, .tpot_ns = tightest_tpot_ns(&out->slo)};
    double in_flight, target = s->autoscaler.target_rate_per_s;
    traffic_mean_tokens(&out->traffic, &load.prompt, &load.output);
    double highest = rate_at(&load, load.tpot_ns, &in_flight);
    bool by_count = !isnan(s->autoscaler.target_in_flight);
    bool needed = isnan(target) && !by_count && s->autoscaler.enabled;
    if (needed && !(highest > 0)) {
        check_say(b->check, DIAG_ERROR, s->at, "model", NULL,
                  "even one request at a time misses the TPOT objective: give a target or a "
                  "looser objective");
        return HR_INPUT;
    }
    warn_of_target(b, s, &load, highest);
    if (isnan(target))
        target = highest * TARGET_SHARE;
    out->autoscaler.metric = by_count ? SCALER_IN_FLIGHT : SCALER_REQUEST_RATE;
    out->autoscaler.target = by_count ? s->autoscaler.target_in_flight : target;
    double safe = s->autoscaler.target_in_flight;
    if (!by_count)
        TRY(calibrate_in_flight(&out->replica, &out->traffic, target, &safe));
    out->safe_in_flight = !isnan(s->safe_in_flight) ? s->safe_in_flight : safe > 1 ? safe : 1;
    return HR_OK;
}

/* ---- scaling ---- */

static enum hr_err build_scaler(const struct build *b, const struct service_spec *s,
                                const struct claim *claim, struct service_plan *out)
{
    const struct autoscaler_spec *a = &s->autoscaler;
    struct replica_bounds r = preset_replicas(s, claim);
    out->autoscaler = (struct autoscaler_plan){
        .enabled = a->enabled,
        .period_ns = sim_time_from_s(a->period_s),
        .metric_window_ns = sim_time_from_s(a->metric_window_s),
        .stabilisation_ns = sim_time_from_s(a->stabilisation_s),
        .step_up = (uint32_t)a->step_up,
        .step_down = (uint32_t)a->step_down,
        .step_up_frac = a->step_up_share,
        .step_down_frac = a->step_down_share,
        .min_replicas = r.min,
        .max_replicas = r.max,
        .buffer_replicas = r.buffer,
    };
    out->forecast = (struct forecast_plan){
        .enabled = a->forecast.at != NULL,
        .lead_ns = sim_time_from_s(a->forecast.lead_s),
        .cv = a->forecast.error_cv,
        .bias = a->forecast.bias,
        .span_ns = sim_time_from_s(a->forecast.span_s),
    };
    out->initial_replicas = UINT32_MAX;
    if (a->initial_replicas != FIELD_NO_WHOLE)
        out->initial_replicas = (uint32_t)a->initial_replicas;
    else if (!a->enabled)
        out->initial_replicas = r.min;
    return build_target(b, s, out);
}

static void build_cold_start(const struct cold_start_spec *s, double weights_bytes,
                             struct dist *stages)
{
    stages[STAGE_SCHEDULE] = build_dist(&s->schedule);
    stages[STAGE_IMAGE] = build_dist(&s->image);
    stages[STAGE_WEIGHTS] = s->weights.at
                                ? build_dist(&s->weights)
                                : (struct dist){DIST_FIXED, weights_bytes / WEIGHTS_BYTES_PER_S, 0};
    stages[STAGE_ENGINE] = build_dist(&s->engine);
}

enum hr_err build_service(const struct build *b, const char *name, const struct service_spec *s,
                          const struct claim *claim, struct service_plan *out)
{
    double weights;
    *out = (struct service_plan){
        .name = name,
        .gpus_per_replica =
            s->slice ? sharing_share(b->check, s->slice).memory : (uint32_t)s->tensor_parallel,
        .slice = sharing_slice(b->check, s->slice),
        .router = (enum router_kind)s->router,
        .slow_start_ns = sim_time_from_s(s->slow_start_s),
        .drain_limit_ns = sim_time_from_s(s->drain_limit_s),
        .request_timeout_ns = isnan(s->timeout_s) ? SIM_NEVER : sim_time_from_s(s->timeout_s),
    };
    out->n_pools =
        pools_split(b->check, &s->pools, s->slice, claim->choice, &claim->quota, out->pools);
    TRY(build_engine(b, s, out, &weights));
    build_slo(b, &s->slo, &out->slo);
    build_cold_start(&s->cold_start, weights, out->cold_start);
    TRY(build_traffic(b, name, &s->traffic, &out->traffic));
    return build_scaler(b, s, claim, out);
}

/* ---- training ---- */

static struct checkpoint_plan build_checkpoint(const struct checkpoint_spec *s)
{
    bool fixed = s->interval.word == FIELD_NO_WORD;
    return (struct checkpoint_plan){
        .rule = fixed ? INTERVAL_FIXED : (enum interval_rule)(s->interval.word + INTERVAL_YOUNG),
        .interval_ns = fixed ? sim_time_from_s(s->interval.number) : 0,
        .stall_ns = sim_time_from_s(s->stall_s),
        .mtbf_ns = sim_time_from_s(s->mtbf_s),
        .notice_save_ns = isnan(s->notice_save_s) ? 0 : sim_time_from_s(s->notice_save_s),
        .save_on_notice = s->save_on_notice,
        .final_save = s->final_save,
        .write_ns = sim_time_from_s(s->write_s),
        .growth = s->growth,
        .copy_ns = sim_time_from_s(s->copy_interval_s),
        .copy_stall_ns = sim_time_from_s(s->copy_stall_s),
        .copy_restore_ns = sim_time_from_s(s->copy_restore_s),
        .size_bytes = s->parameters * s->bytes_per_parameter,
        .node_bytes_per_s = s->node_gb_per_s * 1e9,
        .asynchronous = s->asynchronous,
    };
}

static struct preemption_plan build_preemption(const struct preemption_spec *s)
{
    return (struct preemption_plan){
        .mode = (enum preemption_mode)s->mode,
        .own_grace = !isnan(s->grace_s),
        .grace_ns = isnan(s->grace_s) ? 0 : sim_time_from_s(s->grace_s),
        .exempt_ns = sim_time_from_s(s->exempt_s),
        .suspend_ns = sim_time_from_s(s->suspend_s),
        .resume_ns = sim_time_from_s(s->resume_s),
    };
}

static struct elastic_plan build_elastic(const struct elastic_spec *s)
{
    return (struct elastic_plan){
        .enabled = s->enabled,
        .step_gpus = s->step_gpus == FIELD_NO_WHOLE ? 0 : (uint32_t)s->step_gpus,
        .scaling = s->scaling,
        .resize_ns = sim_time_from_s(s->resize_s),
        .grow_every_ns = sim_time_from_s(s->grow_every_s),
        .min_share = s->min_share,
        .max_share = s->max_share,
    };
}

uint32_t build_bound(uint64_t gpus)
{
    return gpus == FIELD_NO_WHOLE ? 0 : (uint32_t)gpus;
}

static enum hr_err build_backlog(const struct build *b, const struct backlog_spec *s,
                                 struct queue_plan *out)
{
    const struct gang_spec *gangs = s->gangs.items;
    struct backlog_class *classes = arena_array(b->check->arena, s->gangs.n, sizeof *classes);
    if (!classes)
        return HR_NOMEM;
    for (size_t i = 0; i < s->gangs.n; i++)
        classes[i] = (struct backlog_class){.gpus = (uint32_t)gangs[i].gpus,
                                            .share = gangs[i].share,
                                            .min_gpus = build_bound(gangs[i].min_gpus),
                                            .max_gpus = build_bound(gangs[i].max_gpus)};
    out->backlog = s->at != NULL;
    out->backlog_classes = classes;
    out->n_backlog_classes = s->gangs.n;
    out->backlog_work = build_dist(&s->work);
    return HR_OK;
}

/* Jobs that hardly touch the fleet, or more than it can ever do. A backlog fills what the jobs
 * leave; a list that is replayed once ends. */
static void warn_of_load(const struct build *b, const struct training_spec *t,
                         const struct loaded_trace *trace)
{
    struct trace_report offered = trace->report;
    offered.gpu_hours *= t->jobs.work_factor * t->jobs.speed;
    struct trace_load load = trace_offered_load(&offered, (double)b->check->fleet_gpus);
    bool expected = load.share < 1 ? t->backlog.at != NULL : !t->jobs.loop;
    if (!load.warning || expected)
        return;
    check_say(b->check, DIAG_WARNING, t->at, "jobs", NULL, "jobs: a load of %.0f %%: %s",
              100 * load.share, load.warning);
}

/* The curve by how far apart the GPUs of a gang are. */
static void build_distance(const struct distance_spec *d, uint32_t ppm[LEASE_SPANS])
{
    const double speed[LEASE_SPANS] = {[SPAN_LEAF] = d->leaf,
                                       [SPAN_LEAVES] = d->leaves,
                                       [SPAN_SPINES] = isnan(d->spines) ? d->leaves : d->spines};
    for (int span = 0; d->at && span < LEASE_SPANS; span++)
        ppm[span] = (uint32_t)(1e6 * speed[span] + 0.5);
}

enum hr_err build_queue(const struct build *b, const char *name, const struct training_spec *t,
                        const struct claim *claim, struct queue_plan *out)
{
    struct loaded_trace *trace = NULL;
    bool factor = t->estimate.word == FIELD_NO_WORD;
    if (t->jobs.at)
        TRY(build_trace(b, name, &t->jobs.trace, true, &trace));
    if (trace)
        warn_of_load(b, t, trace);
    if (trace && !t->jobs.loop && sim_time_from_s(t->jobs.offset_s) > trace->list.span_ns)
        check_say(b->check, DIAG_ERROR, t->at, "jobs", NULL,
                  "jobs.offset is past the end of the list, which spans %.6g h: no job is left",
                  sim_time_to_s(trace->list.span_ns) / 3600);
    *out = (struct queue_plan){
        .name = name,
        .order = (enum queue_order)t->order,
        .age_ns = isnan(t->age_s) ? SIM_NEVER : sim_time_from_s(t->age_s),
        .half_life_ns =
            t->half_life.word != FIELD_NO_WORD ? SIM_NEVER : sim_time_from_s(t->half_life.number),
        .backfill = (enum backfill_kind)t->backfill,
        .backfill_depth = (uint32_t)t->backfill_depth,
        .reserve_gpus = (uint32_t)t->reserve,
        .estimate = factor ? ESTIMATE_FACTOR : (enum estimate_kind)t->estimate.word,
        .estimate_factor = factor ? t->estimate.number : 1,
        .checkpoint = build_checkpoint(&t->checkpoint),
        .restart_load = build_dist(&t->restart.load),
        .restart_init = build_dist(&t->restart.init),
        .restart_per_node_ns = sim_time_from_s(t->restart.init_per_node_s),
        .detection = build_dist(&t->restart.detection),
        .preemption = build_preemption(&t->preemption),
        .elastic = build_elastic(&t->elastic),
        .placement = t->slice ? SHAPE_SLICE : (enum shape_kind)t->placement,
        .slice = sharing_slice(b->check, t->slice),
        .jobs = trace ? &trace->list : NULL,
        .jobs_loop = t->jobs.loop,
        .jobs_speed = t->jobs.speed,
        .work_factor = t->jobs.work_factor,
        .jobs_offset_ns = sim_time_from_s(t->jobs.offset_s),
    };
    build_distance(&t->distance, out->span_speed_ppm);
    TRY(build_drawn(b, &t->drawn, &out->mix));
    TRY(tenants_build(b, name, t, claim, out));
    return build_backlog(b, &t->backlog, out);
}
