/* The parts of a training queue, each against something slow and obvious: the ring of waiting gangs
 * against a sorted array, the shapes that wait against a count, the reservation against a look at
 * every instant, the replay of a trace against the list of all its repetitions written out. */
#include "models/training/backlog.h"
#include "models/training/demand.h"
#include "models/training/job_replay.h"
#include "models/training/reservation.h"
#include "models/training/waiting.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- waiting ---- */

Test(queue_parts, waiting_equals_a_sorted_array)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "test", "waiting");
    struct waiting w = {0};
    enum { MAX = 3000 };
    static uint64_t sorted[MAX];
    size_t n = 0;
    uint64_t fresh = 0;
    for (int step = 0; step < 40000; step++) {
        uint64_t what = rng_below(&rng, 10);
        if (what < 5 && n < MAX) { /* a new one at the end, or a gap filled somewhere */
            uint64_t number = what < 3 || n == 0 ? (fresh += 4) : sorted[rng_below(&rng, n)] + 1;
            size_t at = 0;
            while (at < n && sorted[at] < number)
                at++;
            if (at < n && sorted[at] == number)
                continue;
            memmove(&sorted[at + 1], &sorted[at], (n++ - at) * sizeof *sorted);
            sorted[at] = number;
            cr_assert(waiting_insert(&w, number, (uint32_t)number));
        } else if (n > 0) {
            size_t at = what < 8 ? rng_below(&rng, n < 5 ? n : 5) : rng_below(&rng, n);
            waiting_remove(&w, at);
            memmove(&sorted[at], &sorted[at + 1], (--n - at) * sizeof *sorted);
        }
        cr_assert_eq(w.n, n);
        for (size_t i = 0; i < n; i += step % 50 == 0 ? 1 : 97)
            cr_assert_eq(waiting_at(&w, i), sorted[i]);
    }
    waiting_fini(&w);
    cr_assert_eq(w.n, 0);
}

/* ---- demand ---- */

Test(queue_parts, demand_counts_shapes_in_order)
{
    struct demand d = {0};
    cr_assert(demand_add(&d, 4, 4) && demand_add(&d, 1, 100) && demand_add(&d, 1, 1));
    cr_assert(demand_add(&d, 4, 4) && demand_add(&d, 2, 2));
    const struct demand_shape want[] = {{1, 1, 1}, {1, 100, 1}, {2, 2, 1}, {4, 4, 2}};
    cr_assert_eq(d.n, 4);
    for (size_t i = 0; i < d.n; i++)
        cr_assert(d.items[i].share == want[i].share && d.items[i].gpus == want[i].gpus &&
                  d.items[i].n == want[i].n);
    demand_remove(&d, 4, 4);
    demand_remove(&d, 1, 1);
    cr_assert_eq(d.items[3].n, 1);
    cr_assert_eq(d.items[0].n, 0);
    demand_fini(&d);
}

/* ---- reservation ---- */

/* Free GPUs at time t if nothing new starts. */
static uint64_t free_at(const struct expected_end *ends, size_t n, simtime_ns now, uint64_t free,
                        simtime_ns t)
{
    for (size_t i = 0; i < n; i++)
        if ((ends[i].at > now ? ends[i].at : now) <= t)
            free += ends[i].gpus;
    return free;
}

Test(queue_parts, reservation_is_the_first_instant_with_room)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "test", "reservation");
    for (int round = 0; round < 3000; round++) {
        struct expected_ends e = {0};
        struct expected_end all[12];
        size_t n = rng_below(&rng, 12);
        simtime_ns now = rng_below(&rng, 20);
        for (size_t i = 0; i < n; i++) {
            all[i] = (struct expected_end){rng_below(&rng, 30), (uint32_t)i,
                                           1 + (uint32_t)rng_below(&rng, 8)};
            cr_assert(expected_ends_add(&e, all[i]));
        }
        while (n > 6) { /* some have ended */
            size_t gone = rng_below(&rng, n);
            expected_ends_remove(&e, all[gone].at, all[gone].gang);
            all[gone] = all[--n];
        }
        uint64_t free = rng_below(&rng, 6), soon = free + rng_below(&rng, 3);
        uint64_t need = free + 1 + rng_below(&rng, 30);
        struct reservation r = reservation_make(&e, now, free, soon, need);
        simtime_ns want = SIM_NEVER;
        for (simtime_ns t = now; t <= 30 && want == SIM_NEVER; t++)
            if (free_at(all, n, now, soon, t) >= need)
                want = t;
        if (soon >= need) { /* before any end */
            cr_assert(r.at == now && r.extra == soon - need);
        } else {
            cr_assert_eq(r.at, want);
            if (want != SIM_NEVER)
                cr_assert_eq(r.extra, free_at(all, n, now, soon, want) - need);
        }
        expected_ends_fini(&e);
    }
}

Test(queue_parts, reservation_of_a_head_that_only_fits_by_count)
{
    struct expected_ends e = {0};
    cr_assert(expected_ends_add(&e, (struct expected_end){50, 0, 4}));
    cr_assert(expected_ends_add(&e, (struct expected_end){70, 1, 4}));
    struct reservation r = reservation_make(&e, 10, 9, 9, 8);
    cr_assert(r.at == 50 && r.extra == 5); /* the next end may make it fit */
    expected_ends_fini(&e);
    r = reservation_make(&e, 10, 9, 9, 8);
    cr_assert_eq(r.at, SIM_NEVER);
}

/* ---- replay ---- */

struct event {
    simtime_ns at;
    size_t row;
};

/* The jobs of a replay written out: repetition p of row i stands at submit + p period; a rotated
 * trace begins at shift, its first pass ends one row before. */
static size_t write_out(const struct queue_plan *plan, simtime_ns shift, struct event *out,
                        size_t max)
{
    const struct job_trace *t = plan->jobs;
    simtime_ns period = t->span_ns + (t->n > 1 ? t->span_ns / (t->n - 1) : 0);
    size_t n = 0, passes = 0;
    bool loops = plan->jobs_loop && t->span_ns > 0;
    for (simtime_ns p = 0; n < max && p < 300; p++)
        for (size_t i = 0; i < t->n && n < max; i++) {
            simtime_ns at = t->rows[i].submit_ns + p * period;
            if (at < shift || (!loops && passes >= t->n))
                continue;
            passes++;
            if (at - shift >= plan->jobs_offset_ns)
                out[n++] = (struct event){at - shift - plan->jobs_offset_ns, i};
        }
    return n;
}

static void same_replay(const struct queue_plan *plan, uint32_t replication)
{
    enum { MAX = 200 };
    static struct event want[MAX];
    struct job_replay r;
    job_replay_init(&r, plan, 3, replication);
    size_t n = write_out(plan, r.shift_ns, want, MAX);
    for (size_t i = 0; i < n; i++) {
        double at = (double)want[i].at / plan->jobs_speed;
        cr_assert(fabs((double)r.at_ns - at) <= (plan->jobs_speed == 1 ? 0 : 2), "%zu: %lu %g", i,
                  r.at_ns, at);
        cr_assert_eq(job_replay_job(&r), &plan->jobs->rows[want[i].row]);
        job_replay_advance(&r);
    }
    if (n < MAX)
        cr_assert_eq(r.at_ns, SIM_NEVER);
}

Test(queue_parts, replay_equals_the_trace_written_out)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "test", "replay");
    for (int round = 0; round < 400; round++) {
        struct job rows[12] = {0};
        struct job_trace trace = {rows, 1 + rng_below(&rng, 12), 0};
        simtime_ns step = rng_below(&rng, 4) == 0 ? 3 * SIM_MIN : 20 * SIM_HOUR;
        simtime_ns at = rng_below(&rng, 3) ? 0 : rng_below(&rng, step);
        for (size_t i = 0; i < trace.n; i++) {
            rows[i].submit_ns = at;
            at += rng_below(&rng, 5) ? rng_below(&rng, step) : 0;
        }
        trace.span_ns = rows[trace.n - 1].submit_ns - rows[0].submit_ns;
        struct queue_plan plan = {
            .name = "train",
            .jobs = &trace,
            .jobs_loop = rng_below(&rng, 2),
            .jobs_speed = rng_below(&rng, 2) ? 1 : 2.5,
            .jobs_offset_ns = rng_below(&rng, 3) ? 0 : rng_below(&rng, 2 * trace.span_ns + 5),
        };
        for (uint32_t r = 0; r < 4; r++)
            same_replay(&plan, r);
    }
}

Test(queue_parts, replay_rotates_by_whole_days)
{
    struct job rows[30] = {0};
    for (size_t i = 0; i < 30; i++)
        rows[i].submit_ns = i * 8 * SIM_HOUR;
    struct job_trace trace = {rows, 30, 29 * 8 * SIM_HOUR};
    struct queue_plan plan = {.name = "train", .jobs = &trace, .jobs_speed = 1};
    bool seen[10] = {false};
    for (uint32_t r = 0; r < 200; r++) {
        struct job_replay replay;
        job_replay_init(&replay, &plan, 3, r);
        cr_assert_eq(replay.shift_ns % SIM_DAY, 0);
        cr_assert_lt(replay.shift_ns / SIM_DAY, 10);
        cr_assert_eq(replay.at_ns, 0);
        cr_assert(r > 0 || replay.shift_ns == 0);
        seen[replay.shift_ns / SIM_DAY] = true;
        size_t n = 0;
        for (; replay.at_ns != SIM_NEVER; n++)
            job_replay_advance(&replay);
        cr_assert_eq(n, 30);
    }
    for (size_t day = 0; day < 10; day++)
        cr_assert(seen[day]);
    /* Another queue or seed rotates by other days. */
    struct queue_plan other = plan;
    other.name = "other";
    unsigned equal = 0;
    for (uint32_t r = 1; r < 100; r++) {
        struct job_replay a, b;
        job_replay_init(&a, &plan, 3, r);
        job_replay_init(&b, &other, 3, r);
        equal += a.shift_ns == b.shift_ns;
    }
    cr_assert_lt(equal, 30);
}

Test(queue_parts, replay_of_nothing)
{
    struct job_trace empty = {0};
    struct queue_plan plan = {.name = "train", .jobs_speed = 1};
    struct job_replay r;
    job_replay_init(&r, &plan, 3, 0);
    cr_assert_eq(r.at_ns, SIM_NEVER);
    plan.jobs = &empty;
    plan.jobs_loop = true;
    job_replay_init(&r, &plan, 3, 2);
    cr_assert_eq(r.at_ns, SIM_NEVER);
}

/* ---- backlog ---- */

Test(queue_parts, backlog_draws_classes_by_share)
{
    const struct backlog_class classes[] = {{8, 3}, {64, 1}, {512, 4}};
    struct queue_plan plan = {
        .name = "train",
        .backlog = true,
        .backlog_classes = classes,
        .n_backlog_classes = 3,
        .backlog_work = {DIST_EXPONENTIAL, 7200, 0},
    };
    struct backlog b;
    cr_assert_eq(backlog_init(&b, &plan, 5, 0), HR_OK);
    backlog_leave_out(&b, 2);
    enum { N = 40000 };
    unsigned small = 0;
    double sum = 0;
    for (int i = 0; i < N; i++) {
        uint32_t gpus;
        simtime_ns work;
        backlog_draw(&b, &gpus, &work);
        cr_assert(gpus == 8 || gpus == 64);
        cr_assert_geq(work, SIM_S);
        small += gpus == 8;
        sum += sim_time_to_s(work);
    }
    cr_assert_lt(fabs(small / (double)N - 0.75), 3.3 * sqrt(0.75 * 0.25 / N));
    cr_assert_lt(fabs(sum / N - 7200), 3.3 * 7200 / sqrt(N));
    backlog_leave_out(&b, 0);
    cr_assert(b.active);
    backlog_leave_out(&b, 1);
    cr_assert(!b.active);
    backlog_fini(&b);
}
