/* A case of the brute-force scheduler as a plan of the engine. */
#include "brute_engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const tenant_names[BRUTE_TENANTS] = {"t0", "t1", "t2", "t3"};
static const char *const queue_names[BRUTE_TENANTS] = {"q0", "q1", "q2", "q3"};

struct play {
    const struct brute_case *c;
    struct brute_result *out;
    struct engine *engine;
    struct fleet *fleet;
    struct ledger *ledger;
    struct supply *supply;
    struct pool pool;
    struct supply_event events[2 * BRUTE_FAULTS];
    struct supply_trace faults;
    bool started[BRUTE_LOG]; /* leases */
    struct {
        struct job rows[BRUTE_JOBS];
        size_t of[BRUTE_JOBS]; /* job of the case, by order of submission */
        struct job_trace trace;
        struct tenant_plan tenants[BRUTE_TENANTS];
        struct queue_plan plan;
        struct training *training;
    } queues[BRUTE_TENANTS];
};

/* ---- what happens ---- */

static void change(void *self, simtime_ns now, lease_id l, uint32_t claimant, enum gpu_state from,
                   enum gpu_state to, uint32_t gpus)
{
    struct play *p = self;
    struct brute_result *out = p->out;
    bool stop = to == GPU_DRAINING && from != GPU_DRAINING;
    bool start = (from == GPU_FREE || from == GPU_HELD_IDLE) &&
                 (to == GPU_RESTORING || to == GPU_TRAINING || to == GPU_LOST);
    bool fail = to == GPU_FAILED;
    if (!start && !stop && !fail)
        return;
    cr_assert(out->n_log < BRUTE_LOG && l < BRUTE_LOG);
    enum brute_event_kind kind = stop ? BRUTE_STOP : fail ? BRUTE_FAIL : BRUTE_START;
    if (kind == BRUTE_START && p->started[l])
        kind = BRUTE_SWAP;
    p->started[l] = true;
    out->log[out->n_log++] = (struct brute_event){now, claimant, gpus, kind};
}

static void take_row(void *self, const struct job_row *row)
{
    struct play *p = self;
    struct brute_fate *f = &p->out->fates[p->queues[row->queue].of[row->number]];
    *f = (struct brute_fate){row->first_start_ns,
                             row->end_ns,
                             row->lost_ns,
                             row->preemptions,
                             row->failures,
                             row->swaps,
                             row->outcome == OUTCOME_REFUSED};
}

static void check(void *self)
{
    struct play *p = self;
    cr_assert(ledger_conserves(p->ledger, engine_now(p->engine)) && fleet_consistent(p->fleet));
}

/* ---- the plan ---- */

static struct dist fixed(simtime_ns t)
{
    return (struct dist){DIST_FIXED, sim_time_to_s(t), 0};
}

static void fill_tenants(struct play *p, uint32_t q)
{
    const struct brute_case *c = p->c;
    struct queue_plan *plan = &p->queues[q].plan;
    size_t n = 0;
    for (uint32_t t = 0; t < c->n_tenants; t++)
        if (c->tenants[t].queue == q)
            p->queues[q].tenants[n++] = (struct tenant_plan){.name = tenant_names[t],
                                                             .match = tenant_names[t],
                                                             .weight = c->tenants[t].weight,
                                                             .pools = {{0, c->tenants[t].quota}},
                                                             .n_pools = 1};
    plan->tenant = p->queues[q].tenants[0];
    plan->more = &p->queues[q].tenants[1];
    plan->n_more = n - 1;
}

static void fill_jobs(struct play *p, uint32_t q)
{
    const struct brute_case *c = p->c;
    struct job_trace *trace = &p->queues[q].trace;
    for (uint32_t j = 0; j < c->n_jobs; j++) {
        const struct brute_job *job = &c->jobs[j];
        if (c->tenants[job->tenant].queue != q)
            continue;
        p->queues[q].of[trace->n] = j;
        p->queues[q].rows[trace->n++] = (struct job){.submit_ns = job->submit_ns,
                                                     .work_ns = job->work_ns,
                                                     .limit_ns = JOB_UNSET,
                                                     .checkpoint_ns = JOB_UNSET,
                                                     .id = "job",
                                                     .tenant = tenant_names[job->tenant],
                                                     .gpus = job->gpus,
                                                     .min_gpus = job->gpus,
                                                     .priority = job->priority,
                                                     .preemptible = job->preemptible};
    }
    trace->rows = p->queues[q].rows;
}

static int by_instant(const void *x, const void *y)
{
    const struct supply_event *a = x, *b = y;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void fill_faults(struct play *p)
{
    const struct brute_case *c = p->c;
    p->faults = (struct supply_trace){
        .rows = p->events, .nodes = c->nodes, .up_at_start = c->nodes, .span_ns = c->end_ns};
    for (uint32_t i = 0; i < c->n_faults; i++) {
        const struct brute_fault *f = &c->faults[i];
        p->events[p->faults.n++] = (struct supply_event){f->at_ns, f->node, -1, ""};
        p->events[p->faults.n++] = (struct supply_event){f->repaired_ns, f->node, 1, ""};
    }
    qsort(p->events, p->faults.n, sizeof *p->events, by_instant);
}

static void fill_queue(struct play *p, uint32_t q)
{
    const struct brute_case *c = p->c;
    p->queues[q].plan = (struct queue_plan){
        .name = queue_names[q],
        .order = c->order,
        .age_ns = c->age_ns,
        .half_life_ns = c->half_life_ns,
        .preemption = c->preemption,
        .backfill = c->backfill,
        .backfill_depth = 100,
        .estimate_factor = 1,
        .checkpoint = {.interval_ns = c->interval_ns,
                       .stall_ns = c->stall_ns,
                       .notice_save_ns = c->notice_save_ns,
                       .save_on_notice = c->save_on_notice,
                       .final_save = c->final_save},
        .restart_load = fixed(c->load_ns),
        .restart_init = fixed(c->init_ns),
        .detection = fixed(c->detection_ns),
        .placement = c->placement,
        .jobs = &p->queues[q].trace,
        .jobs_speed = 1,
        .work_factor = 1,
    };
    fill_tenants(p, q);
    fill_jobs(p, q);
}

void brute_engine_run(const struct brute_case *c, struct brute_result *out)
{
    struct play *p = calloc(1, sizeof *p);
    const struct node_group group = {"nodes", "h100-sxm", c->nodes, c->gpus_per_node};
    const struct fleet_plan plan = {
        .groups = &group,
        .n_groups = 1,
        .reclaim = {.victims = c->victims,
                    .grace_ns = c->grace_ns,
                    .teardown = fixed(c->teardown_ns),
                    .scrub = fixed(c->scrub_ns),
                    .consolidate = c->consolidate,
                    .serial = c->serial},
        .cohorts = c->cohorts,
        .n_cohorts = c->n_cohorts,
        .supply = {.spares = c->spares, .failure = {.trace = &p->faults}},
        .name = "fleet"};
    cr_assert_not_null(p);
    *out = (struct brute_result){0};
    p->c = c;
    fill_faults(p);
    p->out = out;
    p->engine = engine_new();
    p->ledger = ledger_new(BRUTE_TENANTS + 1, (uint64_t)c->nodes * c->gpus_per_node, 0, c->end_ns,
                           c->end_ns);
    p->fleet = fleet_new(&plan, p->engine, p->ledger, 1, 0);
    p->pool = (struct pool){.fleet = p->fleet, .ledger = p->ledger};
    p->supply = supply_new(&plan, p->engine, &p->pool, BRUTE_TENANTS + 1, 1, 0, 0);
    cr_assert_not_null(p->supply);
    supply_start(p->supply);
    fleet_trace_set(p->fleet, &(struct fleet_trace){p, change});
    for (uint32_t q = 0; q < c->n_queues; q++) {
        fill_queue(p, q);
        const struct training_sink sink = {p, take_row};
        cr_assert_eq(training_new(&p->queues[q].plan, q, p->engine, &p->pool, 1, 1, 0, 0, c->end_ns,
                                  &sink, &p->queues[q].training),
                     HR_OK);
    }
    engine_check_set(p->engine, check, p);
    cr_assert_eq(engine_run(p->engine, c->end_ns), HR_OK);
    for (uint32_t q = 0; q < c->n_queues; q++)
        cr_assert_eq(training_finish(p->queues[q].training, c->end_ns), HR_OK);
    for (uint32_t q = 0; q < c->n_queues; q++)
        training_free(p->queues[q].training);
    supply_free(p->supply);
    fleet_free(p->fleet);
    ledger_free(p->ledger);
    engine_free(p->engine);
    free(p);
}

/* ---- comparing ---- */

static int by_time(const void *x, const void *y)
{
    const struct brute_event *a = x, *b = y;
    const uint64_t keys[][2] = {
        {a->at_ns, b->at_ns}, {a->tenant, b->tenant}, {a->gpus, b->gpus}, {a->kind, b->kind}};
    for (int i = 0; i < 4; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool same_log(struct brute_result *a, struct brute_result *b)
{
    qsort(a->log, a->n_log, sizeof *a->log, by_time);
    qsort(b->log, b->n_log, sizeof *b->log, by_time);
    bool same = a->n_log == b->n_log;
    for (size_t i = 0; i < a->n_log && same; i++)
        same = by_time(&a->log[i], &b->log[i]) == 0;
    return same;
}

static double s(simtime_ns t)
{
    return t == SIM_NEVER ? -1 : sim_time_to_s(t);
}

static void print_log(const char *who, const struct brute_result *r)
{
    fprintf(stderr, "%s:", who);
    for (size_t i = 0; i < r->n_log; i++)
        fprintf(stderr, " %g%c%ut%u", s(r->log[i].at_ns), "+-x~"[r->log[i].kind], r -> log[i].gpus,
                r->log[i].tenant);
    fprintf(stderr, "\n");
}

static void print_quotas(const struct brute_case *c)
{
    for (uint32_t i = 0; i < c->n_cohorts; i++)
        fprintf(stderr, "  cohort %u in %u floor %u ceiling %u lend %u weight %g\n", i + 1,
                c->cohorts[i].parent, c->cohorts[i].floor_gpus, c->cohorts[i].ceiling_gpus,
                c->cohorts[i].lend_gpus, c->cohorts[i].weight);
    for (uint32_t t = 0; t < c->n_tenants; t++) {
        const struct quota *q = &c->tenants[t].quota;
        fprintf(
            stderr,
            "  t%u queue %u in %u floor %u ceiling %u lend %u priority %d weight %g, %g reclaim "
            "%d borrow %d (%d: %d) within %d\n",
            t, c->tenants[t].queue, q->cohort, q->floor_gpus, q->ceiling_gpus, q->lend_gpus,
            q->priority, q->weight, c->tenants[t].weight, q->reclaim_within_cohort,
            q->borrow_within_cohort, q->has_borrow_threshold, q->borrow_threshold, q->within_queue);
    }
}

static void print_case(const struct brute_case *c)
{
    const struct preemption_plan *p = &c->preemption;
    fprintf(stderr,
            "nodes %u x %u placement %d victims %s order %s age %g half-life %g backfill %s "
            "consolidate %d serial %d\n  grace %g teardown %g scrub %g tau %g stall %g notice %g "
            "save %d final %d restore %g mode %s own grace %d: %g exempt %g suspend %g resume %g\n",
            c->nodes, c->gpus_per_node, c->placement, victim_rule_names[c->victims],
            queue_order_names[c->order], s(c->age_ns), s(c->half_life_ns),
            backfill_kind_names[c->backfill], c->consolidate, c->serial, s(c->grace_ns),
            s(c->teardown_ns), s(c->scrub_ns), s(c->interval_ns), s(c->stall_ns),
            s(c->notice_save_ns), c->save_on_notice, c->final_save, s(c->load_ns + c->init_ns),
            preemption_mode_names[p->mode], p->own_grace, s(p->grace_ns), s(p->exempt_ns),
            s(p->suspend_ns), s(p->resume_ns));
    fprintf(stderr, "  spares %u detection %g:", c->spares, s(c->detection_ns));
    for (uint32_t i = 0; i < c->n_faults; i++)
        fprintf(stderr, " node %u %g-%g", c->faults[i].node, s(c->faults[i].at_ns),
                s(c->faults[i].repaired_ns));
    fprintf(stderr, "\n");
    print_quotas(c);
}

bool brute_same(const struct brute_case *c, const struct brute_result *engine,
                const struct brute_result *brute)
{
    struct brute_result logs[2] = {*engine, *brute};
    bool same = same_log(&logs[0], &logs[1]);
    for (uint32_t j = 0; j < c->n_jobs; j++) {
        const struct brute_fate *a = &engine->fates[j], *b = &brute->fates[j];
        same = same && a->first_start_ns == b->first_start_ns && a->end_ns == b->end_ns &&
               a->lost_ns == b->lost_ns && a->preemptions == b->preemptions &&
               a->failures == b->failures && a->swaps == b->swaps && a->refused == b->refused;
    }
    if (same)
        return true;
    print_case(c);
    for (uint32_t j = 0; j < c->n_jobs; j++) {
        const struct brute_job *x = &c->jobs[j];
        const struct brute_fate *a = &engine->fates[j], *b = &brute->fates[j];
        fprintf(stderr,
                "  job %u t%u gpus %u at %g work %g prio %d%s: start %g/%g end %g/%g lost %g/%g "
                "preempted %u/%u failed %u/%u swapped %u/%u refused %d/%d\n",
                j, x->tenant, x->gpus, s(x->submit_ns), s(x->work_ns), x->priority,
                x->preemptible ? "" : " fixed", s(a->first_start_ns), s(b->first_start_ns),
                s(a->end_ns), s(b->end_ns), s(a->lost_ns), s(b->lost_ns), a->preemptions,
                b->preemptions, a->failures, b->failures, a->swaps, b->swaps, a->refused,
                b->refused);
    }
    print_log("engine", &logs[0]);
    print_log("brute", &logs[1]);
    return false;
}
