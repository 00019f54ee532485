/* The order in which a queue starts its jobs, against a brute-force scheduler: at each instant at
 * which something is submitted or ends it looks at every job. FIFO and EASY backfill, on one pool
 * and on one-node shapes; and what is true of any schedule: the head's reservation is never
 * delayed, more GPUs never delay a start without backfill, ten times longer times give ten times
 * longer results. */
#include "queue_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
enum { MOST_CPU_S = 100 }; /* sanitizers take their time */
#else
enum { MOST_CPU_S = 10 };
#endif

enum { MAX_JOBS = 60, MAX_NODES = 8 };

struct setting {
    uint32_t nodes, gpus_per_node;
    bool easy;
    enum shape_kind shape; /* ANY or ONE_NODE */
    double factor;         /* of the estimate */
};

struct brute_job {
    simtime_ns submit, work, expected; /* expected run time */
    uint32_t gpus, node;
    simtime_ns start, end; /* SIM_NEVER: not yet */
    simtime_ns reserved;   /* where it was first promised to start, or SIM_NEVER */
};

struct brute {
    struct setting set;
    struct brute_job jobs[MAX_JOBS];
    size_t n;
    simtime_ns now;
};

static bool runs(const struct brute *b, size_t j)
{
    return b->jobs[j].start <= b->now && b->now < b->jobs[j].end;
}

static uint32_t free_on(const struct brute *b, uint32_t node)
{
    uint32_t used = 0;
    for (size_t j = 0; j < b->n; j++)
        used += runs(b, j) && b->jobs[j].node == node ? b->jobs[j].gpus : 0;
    return b->set.gpus_per_node - used;
}

/* On a shape of any GPUs all nodes are one large one. */
static bool place(const struct brute *b, uint32_t gpus, uint32_t *node)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < b->set.nodes; i++) {
        uint32_t free = free_on(b, i);
        if (free >= gpus && free < best) {
            best = free;
            *node = i;
        }
    }
    return best != UINT32_MAX;
}

static uint64_t free_in_all(const struct brute *b)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->set.nodes; i++)
        sum += free_on(b, i);
    return sum;
}

static simtime_ns expected_end(const struct brute *b, size_t j)
{
    simtime_ns end = b->jobs[j].start + b->jobs[j].expected;
    return end > b->now ? end : b->now;
}

/* Looks at every end of a running job as a candidate for the head's start. */
static simtime_ns shadow(const struct brute *b, size_t head, uint64_t *extra)
{
    simtime_ns best = SIM_NEVER;
    *extra = 0;
    for (size_t c = 0; c < b->n; c++) {
        if (!runs(b, c) || expected_end(b, c) >= best)
            continue;
        uint64_t free = free_in_all(b);
        for (size_t j = 0; j < b->n; j++)
            free += runs(b, j) && expected_end(b, j) <= expected_end(b, c) ? b->jobs[j].gpus : 0;
        if (free >= b->jobs[head].gpus) {
            best = expected_end(b, c);
            *extra = free - b->jobs[head].gpus;
        }
    }
    return best;
}

static void start(struct brute *b, size_t j, uint32_t node)
{
    b->jobs[j].node = node;
    b->jobs[j].start = b->now;
    b->jobs[j].end = b->now + b->jobs[j].work;
}

static void pass(struct brute *b)
{
    size_t head = SIZE_MAX, j;
    uint32_t node;
    for (j = 0; j < b->n && head == SIZE_MAX; j++) {
        if (b->jobs[j].submit > b->now || b->jobs[j].start != SIM_NEVER)
            continue;
        if (place(b, b->jobs[j].gpus, &node))
            start(b, j, node);
        else
            head = j;
    }
    if (head == SIZE_MAX || !b->set.easy)
        return;
    uint64_t extra;
    simtime_ns at = shadow(b, head, &extra);
    if (b->jobs[head].reserved == SIM_NEVER)
        b->jobs[head].reserved = at;
    for (; j < b->n; j++) {
        if (b->jobs[j].submit > b->now || b->jobs[j].start != SIM_NEVER)
            continue;
        bool in_time = b->now + b->jobs[j].expected <= at;
        if (!(in_time || b->jobs[j].gpus <= extra) || !place(b, b->jobs[j].gpus, &node))
            continue;
        start(b, j, node);
        extra -= in_time ? 0 : b->jobs[j].gpus;
    }
}

static void brute_run(struct brute *b)
{
    for (simtime_ns next = 0; next != SIM_NEVER;) {
        b->now = next;
        pass(b);
        next = SIM_NEVER;
        for (size_t j = 0; j < b->n; j++) {
            const struct brute_job *x = &b->jobs[j];
            if (x->submit > b->now && x->submit < next)
                next = x->submit;
            if (runs(b, j) && x->end < next)
                next = x->end;
        }
    }
}

/* ---- random workloads ---- */

static void draw_jobs(struct rng *rng, struct job *jobs, size_t n, uint32_t max_gpus)
{
    simtime_ns at = 0;
    for (size_t i = 0; i < n; i++) {
        jobs[i] = (struct job){
            .submit_ns = at,
            .work_ns = (1 + rng_below(rng, rng_below(rng, 2) ? 50 : 1000)) * SIM_S,
            .limit_ns = JOB_UNSET,
            .checkpoint_ns = JOB_UNSET,
            .preemptible = true,
            .id = "j",
            .gpus = 1 + (uint32_t)rng_below(rng, rng_below(rng, 3) ? (max_gpus + 1) / 2 : max_gpus),
        };
        at += rng_below(rng, 3) ? rng_below(rng, 120) * SIM_S : 0;
    }
}

static struct queue_plan plan_queue(const struct setting *set, const struct job_trace *trace)
{
    struct queue_plan q = world_queue(trace, set->nodes * set->gpus_per_node);
    q.backfill = set->easy ? BACKFILL_EASY : BACKFILL_NONE;
    q.estimate = set->factor == 1 ? ESTIMATE_EXACT : ESTIMATE_FACTOR;
    q.estimate_factor = set->factor;
    q.placement = set->shape;
    return q;
}

static void run_world(struct world *w, const struct setting *set, const struct queue_plan *queue)
{
    static struct world_plan plan; /* outlives the call: the world keeps it */
    plan = (struct world_plan){
        .nodes = set->nodes,
        .gpus_per_node = set->gpus_per_node,
        .queue = queue,
        .end_ns = 30 * SIM_DAY,
    };
    world_open(w, &plan);
    world_run(w);
}

static void same_schedule(const struct setting *set, const struct job *jobs, size_t n)
{
    static struct brute b;
    b.set = *set;
    b.n = n;
    if (set->shape == SHAPE_ANY) { /* one pool */
        b.set.nodes = 1;
        b.set.gpus_per_node = set->nodes * set->gpus_per_node;
    }
    for (size_t i = 0; i < n; i++)
        b.jobs[i] = (struct brute_job){
            .submit = jobs[i].submit_ns,
            .work = jobs[i].work_ns,
            .expected = sim_time_from_s(sim_time_to_s(jobs[i].work_ns) * set->factor),
            .gpus = jobs[i].gpus,
            .start = SIM_NEVER,
            .end = SIM_NEVER,
            .reserved = SIM_NEVER,
        };
    brute_run(&b);

    struct job copy[MAX_JOBS];
    for (size_t i = 0; i < n; i++)
        copy[i] = jobs[i];
    const struct job_trace trace = {copy, n, copy[n - 1].submit_ns};
    const struct queue_plan queue = plan_queue(set, &trace);
    struct world w;
    run_world(&w, set, &queue);
    for (size_t i = 0; i < n; i++) {
        const struct job_row *row = world_row(&w, i);
        cr_assert(row->first_start_ns == b.jobs[i].start && row->end_ns == b.jobs[i].end,
                  "job %zu of %u GPUs starts at %g s, want %g s", i, row->gpus,
                  sim_time_to_s(row->first_start_ns), sim_time_to_s(b.jobs[i].start));
        cr_assert_eq(row->waiting_ns, row->first_start_ns - row->submit_ns);
        /* EASY's promise, where estimates are exact and GPUs all alike. */
        if (set->factor == 1 && b.set.nodes == 1)
            cr_assert(b.jobs[i].reserved == SIM_NEVER || row->first_start_ns <= b.jobs[i].reserved);
    }
    world_close(&w);
}

static void compare_many(const char *purpose, const struct setting *sets, size_t n_sets)
{
    struct rng rng;
    rng_init(&rng, 4, 0, "test", purpose);
    int rounds = getenv("HEADROOM_LONG") ? 3000 : 150;
    for (int round = 0; round < rounds; round++)
        for (size_t s = 0; s < n_sets; s++) {
            struct job jobs[MAX_JOBS];
            size_t n = 1 + rng_below(&rng, MAX_JOBS);
            uint32_t max = sets[s].shape == SHAPE_ANY ? sets[s].nodes * sets[s].gpus_per_node
                                                      : sets[s].gpus_per_node;
            draw_jobs(&rng, jobs, n, max);
            same_schedule(&sets[s], jobs, n);
        }
}

Test(queue_order, fifo_equals_brute_force)
{
    static const struct setting sets[] = {{1, 8, false, SHAPE_ONE_NODE, 1},
                                          {2, 4, false, SHAPE_ANY, 1},
                                          {3, 8, false, SHAPE_ONE_NODE, 1},
                                          {8, 2, false, SHAPE_ONE_NODE, 1}};
    compare_many("fifo", sets, sizeof sets / sizeof *sets);
}

Test(queue_order, easy_equals_brute_force)
{
    static const struct setting sets[] = {
        {1, 8, true, SHAPE_ONE_NODE, 1},   {1, 16, true, SHAPE_ONE_NODE, 1.7},
        {2, 4, true, SHAPE_ANY, 1},        {3, 8, true, SHAPE_ONE_NODE, 1},
        {8, 2, true, SHAPE_ONE_NODE, 1},   {4, 4, true, SHAPE_ANY, 3},
        {1, 16, true, SHAPE_ONE_NODE, 0.4}};
    compare_many("easy", sets, sizeof sets / sizeof *sets);
}

/* ---- true orders ---- */

Test(queue_order, more_gpus_never_delay_a_start_without_backfill)
{
    struct rng rng;
    rng_init(&rng, 4, 0, "test", "more");
    for (int round = 0; round < (getenv("HEADROOM_LONG") ? 1000 : 100); round++) {
        struct job jobs[MAX_JOBS];
        draw_jobs(&rng, jobs, MAX_JOBS, 8);
        const struct job_trace trace = {jobs, MAX_JOBS, jobs[MAX_JOBS - 1].submit_ns};
        simtime_ns before[MAX_JOBS];
        for (uint32_t gpus = 8; gpus <= 24; gpus += 1 + (uint32_t)rng_below(&rng, 4)) {
            const struct setting set = {1, gpus, false, SHAPE_ONE_NODE, 1};
            const struct queue_plan queue = plan_queue(&set, &trace);
            struct world w;
            run_world(&w, &set, &queue);
            for (size_t i = 0; i < MAX_JOBS; i++) {
                simtime_ns at = world_row(&w, i)->first_start_ns;
                cr_assert(gpus == 8 || at <= before[i]);
                before[i] = at;
            }
            world_close(&w);
        }
    }
}

/* A run with everything in it, all times multiplied. */
static void run_scaled(struct world *w, uint64_t seed, uint64_t scale, struct job *jobs,
                       struct take *takes, size_t n_takes)
{
    static struct queue_plan queue;
    static struct world_plan plan;
    static struct job_trace trace;
    static const struct backlog_class classes[] = {
        {.gpus = 2, .share = 1}, {.gpus = 4, .share = 2}, {.gpus = 16, .share = 1}};
    struct rng rng;
    rng_init(&rng, seed, 0, "test", "scale");
    draw_jobs(&rng, jobs, MAX_JOBS, 16);
    simtime_ns at = 0;
    for (size_t i = 0; i < n_takes; i++) {
        at += rng_below(&rng, 300) * SIM_S;
        takes[i] = (struct take){at * scale, rng_below(&rng, 200) * SIM_S * scale,
                                 1 + (uint32_t)rng_below(&rng, 16)};
    }
    for (size_t i = 0; i < MAX_JOBS; i++) {
        jobs[i].submit_ns *= scale;
        jobs[i].work_ns *= scale;
    }
    simtime_ns s = scale * SIM_S;
    trace = (struct job_trace){jobs, MAX_JOBS, jobs[MAX_JOBS - 1].submit_ns};
    queue = world_queue(&trace, 16);
    queue.backfill = rng_below(&rng, 2) ? BACKFILL_EASY : BACKFILL_NONE;
    queue.placement = rng_below(&rng, 2) ? SHAPE_PREFER_WHOLE : SHAPE_ANY;
    queue.backlog = true;
    queue.backlog_classes = classes;
    queue.n_backlog_classes = 3;
    queue.backlog_work = world_fixed(500 * s);
    queue.restart_load = world_fixed(20 * s);
    queue.restart_init = world_fixed(7 * s);
    queue.checkpoint = (struct checkpoint_plan){.interval_ns = 100 * s,
                                                .stall_ns = 3 * s,
                                                .notice_save_ns = rng_below(&rng, 40) * s,
                                                .save_on_notice = true,
                                                .final_save = rng_below(&rng, 2)};
    plan = (struct world_plan){
        .nodes = 4,
        .gpus_per_node = 4,
        .reclaim = {.victims = VICTIM_LEAST_WORK_LOST,
                    .grace_ns = 20 * s,
                    .teardown = world_fixed(5 * s),
                    .scrub = world_fixed(3 * s)},
        .queue = &queue,
        .takes = takes,
        .n_takes = n_takes,
        .start_ns = 500 * s,
        .end_ns = 12000 * s,
        .window_ns = 600 * s,
    };
    world_open(w, &plan);
    world_run(w);
}

static simtime_ns times(simtime_ns t, uint64_t scale)
{
    return t == SIM_NEVER ? SIM_NEVER : t * scale;
}

static void same_scaled(const struct job_row *a, const struct job_row *b, uint64_t k)
{
    cr_assert(a->number == b->number && a->backlog == b->backlog && a->gpus == b->gpus &&
              a->outcome == b->outcome && a->preemptions == b->preemptions);
    cr_assert(
        times(a->submit_ns, k) == b->submit_ns &&
        times(a->first_start_ns, k) == b->first_start_ns && times(a->end_ns, k) == b->end_ns &&
        times(a->work_ns, k) == b->work_ns && times(a->done_ns, k) == b->done_ns &&
        times(a->lost_ns, k) == b->lost_ns && times(a->saving_ns, k) == b->saving_ns &&
        times(a->restoring_ns, k) == b->restoring_ns && times(a->waiting_ns, k) == b->waiting_ns);
}

/* Conservation is checked before each event of these runs (queue_kit.h). */
Test(queue_order, ten_times_the_times_give_ten_times_the_results)
{
    enum { TAKES = 20 };
    uint64_t preemptions = 0;
    for (uint64_t seed = 0; seed < (getenv("HEADROOM_LONG") ? 1000 : 60); seed++) {
        struct job jobs[2][MAX_JOBS];
        struct take takes[2][TAKES];
        struct world a, b;
        run_scaled(&a, seed, 1, jobs[0], takes[0], TAKES);
        run_scaled(&b, seed, 10, jobs[1], takes[1], TAKES);
        cr_assert_eq(a.rows.n, b.rows.n);
        for (size_t i = 0; i < a.rows.n; i++)
            same_scaled(&a.rows.items[i], &b.rows.items[i], 10);
        for (unsigned s = 0; s < GPU_STATES; s++)
            cr_assert_eq(world_total(&a, s) * 10, world_total(&b, s));
        const struct queue_totals *t = training_totals(a.training);
        cr_assert_eq(t->submitted, t->done + t->refused + t->censored + t->waiting);
        preemptions += t->preemptions;
        world_close(&a);
        world_close(&b);
    }
    cr_assert_gt(preemptions, 300); /* something happened */
}

/* ---- size ---- */

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Test(queue_order, a_hundred_thousand_waiting_jobs)
{
    enum { N = 100000 };
    struct job *jobs = calloc(N, sizeof *jobs);
    struct rng rng;
    rng_init(&rng, 4, 0, "test", "size");
    for (size_t i = 0; i < N; i++) {
        static const uint32_t sizes[] = {1, 1, 1, 1, 2, 4, 8, 64};
        jobs[i] = (struct job){.submit_ns = i * SIM_MS,
                               .work_ns = (60 + rng_below(&rng, 7200)) * SIM_S,
                               .limit_ns = JOB_UNSET,
                               .checkpoint_ns = JOB_UNSET,
                               .preemptible = true,
                               .id = "j",
                               .gpus = sizes[rng_below(&rng, 8)]};
    }
    const struct job_trace trace = {jobs, N, (N - 1) * SIM_MS};
    struct queue_plan queue = world_queue(&trace, 2048);
    queue.backfill = BACKFILL_EASY;
    queue.placement = SHAPE_PREFER_WHOLE;
    static const struct backlog_class classes[] = {{.gpus = 1, .share = 1},
                                                   {.gpus = 8, .share = 1}};
    queue.backlog = true;
    queue.backlog_classes = classes;
    queue.n_backlog_classes = 2;
    queue.backlog_work = (struct dist){DIST_EXPONENTIAL, 3600, 0};
    const struct world_plan plan = {
        .nodes = 256,
        .gpus_per_node = 8,
        .reclaim = {.victims = VICTIM_LEAST_WORK_LOST,
                    .grace_ns = 0,
                    .teardown = world_fixed(SIM_S),
                    .scrub = world_fixed(SIM_S)},
        .queue = &queue,
        .end_ns = 30 * SIM_DAY,
        .unchecked = true,
    };
    struct world w;
    double before = cpu_s();
    world_open(&w, &plan);
    world_run(&w);
    double spent = cpu_s() - before;
    cr_assert_eq(training_totals(w.training)->done, N);
    cr_assert_lt(spent, MOST_CPU_S, "%g s of CPU", spent);
    world_close(&w);
    free(jobs);
}
