/* Orders and equalities that hold for any fleet, over 1,000 random cases each: more notice never
 * loses more work of one preemption; the order of tenants decides nothing; more GPUs never delay a
 * start (first come first served, one-node shapes); ten times all times gives ten times all
 * results. */
#include "brute_engine.h"
#include "draw.h"
#include "queue_kit.h"

#include <criterion/criterion.h>

enum { CASES = 1000 };

static uint32_t pick(uint64_t *state, uint32_t low, uint32_t high)
{
    return low + draw_below(state, high - low + 1);
}

static simtime_ns seconds(uint64_t *state, uint32_t low, uint32_t high)
{
    return pick(state, low, high) * SIM_S;
}

/* ---- notice ---- */

/* What one gang loses when a whole fleet is taken from it with this notice. */
static simtime_ns lost_with(struct queue_plan queue, uint32_t gpus, simtime_ns at,
                            simtime_ns notice)
{
    const struct take take = {at, SIM_HOUR, gpus};
    const struct world_plan plan = {.nodes = gpus,
                                    .gpus_per_node = 1,
                                    .reclaim = {.grace_ns = notice},
                                    .queue = &queue,
                                    .takes = &take,
                                    .n_takes = 1,
                                    .end_ns = SIM_DAY,
                                    .unchecked = true};
    struct world w;
    world_open(&w, &plan);
    world_run(&w);
    const struct job_row *row = world_row(&w, 0);
    cr_assert_eq(row->preemptions, 1);
    simtime_ns lost = row->lost_ns;
    world_close(&w);
    return lost;
}

Test(equalities, more_notice_never_loses_more)
{
    uint64_t state = 41;
    int fewer = 0;
    for (int i = 0; i < CASES; i++) {
        struct job job = {.work_ns = seconds(&state, 500, 2000),
                          .limit_ns = JOB_UNSET,
                          .checkpoint_ns = JOB_UNSET,
                          .id = "job",
                          .tenant = "",
                          .gpus = pick(&state, 1, 8),
                          .preemptible = true};
        job.min_gpus = job.gpus;
        const struct job_trace jobs = {&job, 1, 0};
        struct queue_plan queue = world_queue(&jobs, job.gpus);
        queue.checkpoint = (struct checkpoint_plan){
            .interval_ns = pick(&state, 0, 4) ? seconds(&state, 5, 300) : 0,
            .stall_ns = seconds(&state, 0, 20),
            .notice_save_ns = seconds(&state, 0, 60),
            .save_on_notice = pick(&state, 0, 5) > 0,
            .final_save = pick(&state, 0, 1)};
        simtime_ns at = seconds(&state, 1, 499), before = SIM_NEVER, first = 0;
        for (simtime_ns notice = 0; notice <= 80 * SIM_S; notice += 16 * SIM_S) {
            simtime_ns lost = lost_with(queue, job.gpus, at, notice);
            cr_assert_leq(lost, before, "case %d: %lu ns lost with a notice of %lu ns", i, lost,
                          notice);
            first = before == SIM_NEVER ? lost : first;
            before = lost;
        }
        fewer += before < first;
    }
    cr_assert_gt(fewer, CASES / 2); /* notice did help */
}

/* ---- order of tenants ---- */

static void draw_case(uint64_t *state, struct brute_case *c)
{
    *c = (struct brute_case){.nodes = pick(state, 1, BRUTE_NODES),
                             .gpus_per_node = pick(state, 1, 8),
                             .placement = (enum shape_kind)pick(state, 0, 2),
                             .victims = (enum victim_rule)pick(state, 0, VICTIM_SMALLEST_GANG),
                             .grace_ns = seconds(state, 1, 12),
                             .teardown_ns = seconds(state, 0, 3),
                             .scrub_ns = seconds(state, 0, 3),
                             .interval_ns = seconds(state, 2, 20),
                             .stall_ns = seconds(state, 0, 3),
                             .notice_save_ns = seconds(state, 1, 9),
                             .load_ns = seconds(state, 0, 3),
                             .save_on_notice = pick(state, 0, 1),
                             .backfill = pick(state, 0, 1) ? BACKFILL_EASY : BACKFILL_NONE,
                             .n_queues = 1,
                             .n_tenants = BRUTE_TENANTS,
                             .n_jobs = BRUTE_JOBS,
                             .end_ns = 2000 * SIM_S};
    uint32_t gpus = c->nodes * c->gpus_per_node, left = gpus;
    for (uint32_t t = 0; t < BRUTE_TENANTS; t++) {
        struct quota *q = &c->tenants[t].quota;
        *q = (struct quota){.floor_gpus = pick(state, 0, left),
                            .ceiling_gpus = gpus,
                            .priority = (int32_t)pick(state, 0, 2)};
        left -= q->floor_gpus;
        q->lend_gpus = pick(state, 0, 1) ? q->floor_gpus : pick(state, 0, q->floor_gpus);
        quota_may_reclaim(q, (enum may_reclaim)pick(state, 0, RECLAIM_POLICIES - 1));
    }
    simtime_ns at = 0;
    for (uint32_t j = 0; j < BRUTE_JOBS; j++) {
        at += pick(state, 0, 2) ? seconds(state, 0, 15) : 0;
        c->jobs[j] = (struct brute_job){.submit_ns = at,
                                        .work_ns = seconds(state, 1, 60),
                                        .tenant = pick(state, 0, BRUTE_TENANTS - 1),
                                        .gpus = pick(state, 1, (gpus + 1) / 2),
                                        .preemptible = true};
    }
}

Test(equalities, order_of_tenants_decides_nothing)
{
    static struct brute_result given, turned;
    uint64_t state = 42;
    uint32_t preemptions = 0;
    for (int i = 0; i < CASES; i++) {
        struct brute_case a, b;
        draw_case(&state, &a);
        b = a;
        uint32_t turn = pick(&state, 1, BRUTE_TENANTS - 1);
        for (uint32_t t = 0; t < BRUTE_TENANTS; t++)
            b.tenants[(t + turn) % BRUTE_TENANTS] = a.tenants[t];
        for (uint32_t j = 0; j < BRUTE_JOBS; j++)
            b.jobs[j].tenant = (a.jobs[j].tenant + turn) % BRUTE_TENANTS;
        brute_engine_run(&a, &given);
        brute_engine_run(&b, &turned);
        for (uint32_t j = 0; j < BRUTE_JOBS; j++) {
            const struct brute_fate *x = &given.fates[j], *y = &turned.fates[j];
            cr_assert(x->first_start_ns == y->first_start_ns && x->end_ns == y->end_ns &&
                          x->lost_ns == y->lost_ns && x->preemptions == y->preemptions &&
                          x->refused == y->refused,
                      "case %d, job %u", i, j);
            preemptions += x->preemptions;
        }
    }
    cr_assert_gt(preemptions, (uint32_t)CASES / 5);
}

/* ---- more GPUs ---- */

Test(equalities, more_gpus_never_delay_a_start)
{
    static struct brute_result few, more;
    uint64_t state = 43;
    int sooner = 0;
    for (int i = 0; i < CASES; i++) {
        struct brute_case a, b;
        draw_case(&state, &a);
        a.backfill = BACKFILL_NONE;
        a.placement = SHAPE_ONE_NODE;
        a.n_tenants = 1;
        a.nodes = 1;
        a.tenants[0].quota = (struct quota){.ceiling_gpus = 1000};
        for (uint32_t j = 0; j < BRUTE_JOBS; j++) {
            a.jobs[j].tenant = 0;
            a.jobs[j].gpus = pick(&state, 1, a.gpus_per_node);
        }
        b = a;
        b.gpus_per_node += pick(&state, 1, 8);
        brute_engine_run(&a, &few);
        brute_engine_run(&b, &more);
        for (uint32_t j = 0; j < BRUTE_JOBS; j++) {
            cr_assert_leq(more.fates[j].first_start_ns, few.fates[j].first_start_ns);
            sooner += more.fates[j].first_start_ns < few.fates[j].first_start_ns;
        }
    }
    cr_assert_gt(sooner, CASES);
}

/* ---- other units of time ---- */

static void stretch(struct brute_case *c)
{
    simtime_ns *const times[] = {&c->grace_ns, &c->teardown_ns,    &c->scrub_ns, &c->interval_ns,
                                 &c->stall_ns, &c->notice_save_ns, &c->load_ns,  &c->end_ns};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] *= 10;
    for (uint32_t j = 0; j < BRUTE_JOBS; j++) {
        c->jobs[j].submit_ns *= 10;
        c->jobs[j].work_ns *= 10;
    }
}

static bool ten_times(simtime_ns a, simtime_ns b)
{
    return a == SIM_NEVER ? b == SIM_NEVER : b == 10 * a;
}

Test(equalities, results_scale_with_all_times)
{
    static struct brute_result given, stretched;
    uint64_t state = 44;
    uint32_t preemptions = 0;
    for (int i = 0; i < CASES; i++) {
        struct brute_case a, b;
        draw_case(&state, &a);
        b = a;
        stretch(&b);
        brute_engine_run(&a, &given);
        brute_engine_run(&b, &stretched);
        for (uint32_t j = 0; j < BRUTE_JOBS; j++) {
            const struct brute_fate *x = &given.fates[j], *y = &stretched.fates[j];
            cr_assert(ten_times(x->first_start_ns, y->first_start_ns) &&
                          ten_times(x->end_ns, y->end_ns) && ten_times(x->lost_ns, y->lost_ns) &&
                          x->preemptions == y->preemptions && x->refused == y->refused,
                      "case %d, job %u", i, j);
            preemptions += x->preemptions;
        }
    }
    cr_assert_gt(preemptions, CASES / 5);
}
