/* The parts of a training queue, each against something slow and obvious: the waiting gangs
 * against a sorted array, what keeps them against a ledger of its own, usage that fades against a
 * walk over its ticks, the reservation against a look at
 * every instant, the replay of a trace against the list of all its repetitions written out. */
#include "models/training/backlog.h"
#include "models/training/job_replay.h"
#include "models/training/reservation.h"
#include "models/training/shares.h"
#include "models/training/waiting.h"
#include "models/training/why.h"

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
    static struct waiting_item sorted[MAX];
    size_t n = 0;
    uint64_t fresh = 0;
    for (int step = 0; step < 40000; step++) {
        uint64_t what = rng_below(&rng, 10);
        if (what < 5 && n < MAX) { /* a new one at the end, or one somewhere */
            uint64_t rank = what < 3 || n == 0 ? fresh++ / 40 : rng_below(&rng, fresh / 40 + 1);
            const struct waiting_item item = {
                .rank = rank, .number = 100000 - (uint64_t)step, .gang = (uint32_t)step};
            size_t at = 0;
            while (at < n && (sorted[at].rank < rank ||
                              (sorted[at].rank == rank && sorted[at].number < item.number)))
                at++;
            memmove(&sorted[at + 1], &sorted[at], (n++ - at) * sizeof *sorted);
            sorted[at] = item;
            cr_assert(waiting_insert(&w, &item));
        } else if (n > 0) {
            size_t at = what < 8 ? rng_below(&rng, n < 5 ? n : 5) : rng_below(&rng, n);
            struct waiting_place place = {0, 0};
            for (size_t i = 0; i < at; i++, place.item++)
                waiting_at(&w, &place);
            cr_assert_eq(waiting_at(&w, &place)->gang, sorted[at].gang);
            waiting_remove(&w, &place);
            memmove(&sorted[at], &sorted[at + 1], (--n - at) * sizeof *sorted);
            const struct waiting_item *follows = waiting_at(&w, &place);
            cr_assert(at == n ? !follows : follows->gang == sorted[at].gang);
        }
        cr_assert_eq(w.n, n);
        struct waiting_place place = {0, 0};
        for (size_t i = 0; step % 100 == 0 && i < n; i++, place.item++)
            cr_assert_eq(waiting_at(&w, &place)->gang, sorted[i].gang);
        cr_assert(step % 100 != 0 || !waiting_at(&w, &place));
    }
    waiting_fini(&w);
    cr_assert_eq(w.n, 0);
}

/* ---- why ---- */

/* Gangs of random classes that come and go while reasons change: each gets the time of its own wait
 * by reason, as a record of every change gives it, and the parts add up to the wait. */
Test(queue_parts, why_adds_up_each_wait)
{
    enum { GANGS = 60, CLASSES = 12, STEPS = 20000 };
    struct rng rng;
    rng_init(&rng, 2, 0, "test", "why");
    struct why_table w = {0};
    struct {
        bool waits;
        uint32_t class;
        simtime_ns since, at[BLOCKS], want[BLOCKS];
    } gangs[GANGS] = {0};
    enum block_reason reasons[CLASSES] = {0};
    simtime_ns now = 0;
    for (int step = 0; step < STEPS; step++) {
        simtime_ns dt = rng_below(&rng, 5);
        for (int g = 0; g < GANGS; g++)
            if (gangs[g].waits)
                gangs[g].want[reasons[gangs[g].class]] += dt;
        now += dt;
        uint64_t g = rng_below(&rng, GANGS);
        uint32_t size = 1 + (uint32_t)rng_below(&rng, 4), tenant = (uint32_t)rng_below(&rng, 3);
        if (rng_below(&rng, 3) == 0) {
            for (size_t c = 0; c < w.n; c++)
                why_set(&w.items[c], reasons[c] = rng_below(&rng, BLOCKS), now);
        } else if (!gangs[g].waits) {
            gangs[g].waits = true;
            gangs[g].since = now;
            gangs[g].class = why_class_of(&w, tenant, size, size);
            memset(gangs[g].want, 0, sizeof gangs[g].want);
            why_begin(&w, gangs[g].class, now, gangs[g].at);
        } else {
            simtime_ns got[BLOCKS] = {0}, sum = 0;
            why_end(&w, gangs[g].class, now, gangs[g].at, got);
            for (int b = 0; b < BLOCKS; b++)
                sum += got[b];
            cr_assert_arr_eq(got, gangs[g].want, sizeof got);
            cr_assert_eq(sum, now - gangs[g].since);
            gangs[g].waits = false;
        }
    }
    cr_assert_eq(w.n, CLASSES);
    for (size_t i = 1; i < w.n; i++) {
        const struct why_class *a = &w.items[w.order[i - 1]], *b = &w.items[w.order[i]];
        cr_assert(a->tenant < b->tenant || (a->tenant == b->tenant && a->share <= b->share));
        if (a->tenant != b->tenant)
            cr_assert_eq(why_first(&w, b->tenant), i, "where its classes begin");
    }
    why_fini(&w);
}

/* ---- shares ---- */

/* Usage that fades at each tick, walked tick by tick. */
Test(queue_parts, shares_fade_by_ticks)
{
    const simtime_ns half_lives[] = {0, SIM_HOUR, 7 * SIM_DAY, SIM_NEVER};
    struct rng rng;
    rng_init(&rng, 3, 0, "test", "shares");
    for (int h = 0; h < 4; h++) {
        struct shares s;
        cr_assert_eq(shares_init(&s, 1, 2, half_lives[h]), HR_OK);
        s.pool_gpus[0] = 100;
        s.pool_gpus[1] = 10;
        s.tenants[0].weight = 2;
        double used[2] = {0}, gpus[2] = {0};
        double factor = h == 1 || h == 2 ? exp2(-300 / sim_time_to_s(half_lives[h])) : 1;
        simtime_ns now = 0;
        for (int step = 0; step < 300; step++) {
            for (simtime_ns until = now + rng_below(&rng, 40 * SIM_MIN); now < until;) {
                simtime_ns tick = (now / SHARES_TICK + 1) * SHARES_TICK;
                simtime_ns next = tick < until ? tick : until;
                for (int p = 0; p < 2; p++) {
                    used[p] += gpus[p] * sim_time_to_s(next - now);
                    used[p] *= next == tick ? factor : 1;
                }
                now = next;
            }
            double a = (h ? used[0] : gpus[0]) / 100, b = (h ? used[1] : gpus[1]) / 10;
            double want = (a > b ? a : b) / 2;
            cr_assert_float_eq(shares_of(&s, 0, now), want, 1e-9 * want + 1e-12);
            int p = (int)rng_below(&rng, 2);
            double n = (double)rng_below(&rng, 9);
            shares_change(&s, 0, (uint32_t)p, (int64_t)(n - gpus[p]), now);
            gpus[p] = n;
        }
        shares_fini(&s);
    }
}

/* The example of the dominant resource fairness paper (section 4.1): 9 CPUs and 18 GB; a task of A
 * takes 1 CPU and 4 GB, one of B 3 CPUs and 1 GB. Serving the least dominant share gives A three
 * tasks and B two. */
Test(queue_parts, dominant_shares_divide_as_in_the_paper)
{
    const int64_t needs[2][2] = {{1, 4}, {3, 1}};
    int64_t left[2] = {9, 18};
    struct shares s;
    cr_assert_eq(shares_init(&s, 2, 2, 0), HR_OK);
    s.pool_gpus[0] = 9;
    s.pool_gpus[1] = 18;
    int tasks[2] = {0};
    for (;;) {
        int t = shares_of(&s, 1, 0) < shares_of(&s, 0, 0);
        if (left[0] < needs[t][0] || left[1] < needs[t][1])
            break;
        for (uint32_t p = 0; p < 2; p++) {
            left[p] -= needs[t][p];
            shares_change(&s, (size_t)t, p, needs[t][p], 0);
        }
        tasks[t]++;
    }
    cr_assert(tasks[0] == 3 && tasks[1] == 2, "%d and %d", tasks[0], tasks[1]);
    shares_fini(&s);
}

/* ---- the profile of conservative backfill ---- */

/* Against a look at every instant of a small horizon. */
Test(queue_parts, a_profile_finds_the_earliest_slot)
{
    enum { HORIZON = 200, N = 12 };
    struct rng rng;
    rng_init(&rng, 4, 0, "test", "profile");
    struct profile p = {0};
    for (int round = 0; round < 2000; round++) {
        struct expected_ends ends = {0};
        int64_t free[HORIZON], now = 5, have = (int64_t)rng_below(&rng, 6);
        for (int t = 0; t < HORIZON; t++)
            free[t] = have;
        for (int i = 0; i < N; i++) {
            struct expected_end e = {rng_below(&rng, 100), (uint32_t)i,
                                     1 + (uint32_t)rng_below(&rng, 4)};
            cr_assert(expected_ends_add(&ends, e));
            for (int64_t t = (int64_t)e.at > now ? (int64_t)e.at : now + 1; t < HORIZON; t++)
                free[t] += e.gpus;
        }
        cr_assert(profile_make(&p, &ends, 5, (uint64_t)have, (uint64_t)have, 8));
        for (int i = 0; i < 8; i++) {
            int64_t gpus = 1 + (int64_t)rng_below(&rng, 12),
                    length = 1 + (int64_t)rng_below(&rng, 60);
            int64_t from = now + (int64_t)rng_below(&rng, 3), at = from;
            for (int64_t t = from; t < at + length && t < HORIZON; t++)
                if (free[t] < gpus)
                    at = t + 1;
            simtime_ns got =
                profile_earliest(&p, (simtime_ns)from, (uint64_t)gpus, (simtime_ns)length);
            if (at + length >= HORIZON)
                continue; /* beyond what the slow look sees */
            cr_assert_eq(got, (simtime_ns)at, "round %d: %ld, not %ld", round, (long)got, (long)at);
            profile_take(&p, got, (simtime_ns)length, (uint64_t)gpus);
            for (int64_t t = at; t < at + length; t++)
                free[t] -= gpus;
        }
        expected_ends_fini(&ends);
    }
    profile_fini(&p);
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
    const struct backlog_class classes[] = {
        {.gpus = 8, .share = 3}, {.gpus = 64, .share = 1}, {.gpus = 512, .share = 4}};
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
        simtime_ns work;
        uint32_t gpus = backlog_draw(&b, &work)->gpus;
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
