/* A shared storage against rates worked out from scratch at every event, and against closed forms.
 */
#include "models/training/storage.h"

#include "sim/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 40 };

/* One transfer of a play: begins at begin_ns and is given up at drop_ns. */
struct part {
    simtime_ns begin_ns, drop_ns, length_ns;
    double cap;
    simtime_ns end_ns; /* SIM_NEVER: it was given up */
    int place;         /* of its end among all ends */
};

struct play {
    struct engine *engine;
    struct storage *storage;
    struct part *parts;
    transfer_id *ids;
    size_t n;
    int n_ended;
};

static void ended(void *ctx, uint32_t i)
{
    struct play *p = ctx;
    p->parts[i].end_ns = engine_now(p->engine);
    p->parts[i].place = p->n_ended++;
    p->ids[i] = TRANSFER_NONE;
}

static void begins(void *ctx, uint32_t i)
{
    struct play *p = ctx;
    cr_assert_eq(storage_begin(p->storage, TRANSFER_SAVE, p->parts[i].cap, p->parts[i].length_ns,
                               ended, p, i, &p->ids[i]),
                 HR_OK);
}

static void drops(void *ctx, uint32_t i)
{
    struct play *p = ctx;
    if (p->ids[i] == TRANSFER_NONE)
        return;
    if (storage_drop(p->storage, p->ids[i]))
        ended(p, i);
    p->ids[i] = TRANSFER_NONE;
}

static struct storage_totals play(struct part *parts, size_t n, double bytes_per_s)
{
    const struct storage_plan plan = {.bytes_per_s = bytes_per_s};
    struct play p = {.engine = engine_new(), .parts = parts, .n = n};
    p.storage = storage_new(&plan, p.engine, 0, SIM_NEVER);
    p.ids = malloc((n + 1) * sizeof *p.ids);
    cr_assert(p.engine && p.storage && p.ids);
    for (uint32_t i = 0; i < n; i++) {
        timer_id begin, drop;
        parts[i].end_ns = SIM_NEVER;
        p.ids[i] = TRANSFER_NONE;
        cr_assert_eq(engine_timer_new(p.engine, EVENT_CONTROL, begins, &p, i, &begin), HR_OK);
        cr_assert_eq(engine_timer_new(p.engine, EVENT_FAILURE, drops, &p, i, &drop), HR_OK);
        engine_schedule(p.engine, begin, parts[i].begin_ns);
        engine_schedule(p.engine, drop, parts[i].drop_ns);
    }
    cr_assert_eq(engine_run(p.engine, SIM_NEVER), HR_OK);
    struct storage_totals totals = *storage_totals(p.storage);
    storage_free(p.storage);
    engine_free(p.engine);
    free(p.ids);
    return totals;
}

/* ---- from scratch ---- */

/* Rates of those under way, found by raising a common level until the bandwidth is used up. */
static void fill(const struct part *parts, const bool *on, size_t n, double bandwidth, double *rate)
{
    bool fixed[MOST] = {false};
    double left = bandwidth;
    for (;;) {
        double level = 0;
        size_t open = 0, newly = 0;
        for (size_t i = 0; i < n; i++)
            open += on[i] && !fixed[i];
        if (open == 0)
            return;
        level = left / (double)open;
        for (size_t i = 0; i < n; i++)
            if (on[i] && !fixed[i] && parts[i].cap <= level) {
                fixed[i] = true;
                rate[i] = parts[i].cap;
                left -= rate[i];
                newly++;
            }
        if (newly > 0)
            continue;
        for (size_t i = 0; i < n; i++)
            if (on[i] && !fixed[i])
                rate[i] = level;
        return;
    }
}

/* When each ends, in ns; INFINITY: given up before. */
static void from_scratch(const struct part *parts, size_t n, double bandwidth, double *end)
{
    double left[MOST], rate[MOST] = {0}, now = 0;
    bool on[MOST] = {false}, over[MOST] = {false};
    for (size_t i = 0; i < n; i++) {
        left[i] = (double)parts[i].length_ns * parts[i].cap / 1e9;
        end[i] = INFINITY;
    }
    for (;;) {
        double next = INFINITY;
        fill(parts, on, n, bandwidth, rate);
        for (size_t i = 0; i < n; i++) {
            if (on[i])
                next = fmin(next, fmin(now + left[i] / rate[i] * 1e9, (double)parts[i].drop_ns));
            else if (!over[i])
                next = fmin(next, (double)parts[i].begin_ns);
        }
        if (isinf(next))
            return;
        for (size_t i = 0; i < n; i++)
            if (on[i])
                left[i] -= rate[i] * (next - now) / 1e9;
        now = next;
        for (size_t i = 0; i < n; i++) {
            if (on[i] && left[i] <= parts[i].cap * 1e-12) {
                end[i] = now;
                on[i] = false;
            } else if (on[i] && (double)parts[i].drop_ns <= now) {
                on[i] = false;
            } else if (!on[i] && !over[i] && (double)parts[i].begin_ns <= now) {
                on[i] = over[i] = true;
            }
        }
    }
}

Test(storage, equals_rates_from_scratch)
{
    struct rng r;
    rng_init(&r, 5, 0, "test", "storage");
    int slowed = 0;
    for (int round = 0; round < 500; round++) {
        struct part parts[MOST];
        double end[MOST], bandwidth = (double)(1 + rng_below(&r, 40)) * 1e9;
        size_t n = 1 + rng_below(&r, MOST);
        for (size_t i = 0; i < n; i++)
            parts[i] =
                (struct part){.begin_ns = rng_below(&r, 20) * SIM_S + rng_below(&r, 3) * 777,
                              .length_ns = rng_below(&r, 10 * SIM_S),
                              .drop_ns = SIM_NEVER,
                              .cap = (double)(1 + rng_below(&r, 8)) * 1.2e9};
        for (size_t i = 0; i < n; i++)
            if (rng_below(&r, 6) == 0)
                parts[i].drop_ns = parts[i].begin_ns + 1 + rng_below(&r, 30 * SIM_S);
        play(parts, n, bandwidth);
        from_scratch(parts, n, bandwidth, end);
        for (size_t i = 0; i < n; i++) {
            cr_assert_eq(isinf(end[i]), parts[i].end_ns == SIM_NEVER, "round %d, %zu", round, i);
            if (!isinf(end[i]))
                cr_assert_float_eq((double)parts[i].end_ns, end[i], 20, "round %d, %zu: %lu", round,
                                   i, parts[i].end_ns);
            slowed +=
                !isinf(end[i]) && end[i] > 1.01 * (double)(parts[i].begin_ns + parts[i].length_ns);
        }
    }
    cr_assert_gt(slowed, 1000);
}

/* ---- closed forms ---- */

Test(storage, n_at_once_take_n_times_as_long)
{
    static const size_t counts[] = {1, 2, 3, 7, 40};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct part parts[MOST];
        size_t n = counts[c];
        for (size_t i = 0; i < n; i++)
            parts[i] = (struct part){
                .begin_ns = 5, .drop_ns = SIM_NEVER, .length_ns = 40 * SIM_S + 1, .cap = 9.6e9};
        struct storage_totals t = play(parts, n, 9.6e9);
        for (size_t i = 0; i < n; i++) {
            cr_assert_eq(parts[i].end_ns, 5 + n * (40 * SIM_S + 1), "%zu: %lu", n, parts[i].end_ns);
            cr_assert_eq(parts[i].place, (int)i);
        }
        cr_assert_eq(t.busy_ns, n * (40 * SIM_S + 1));
        cr_assert_eq(t.limited_ns, n > 1 ? t.busy_ns : 0);
        cr_assert_float_eq(t.used_ns, (double)t.busy_ns, 1);
        cr_assert_eq(t.kinds[TRANSFER_SAVE].done, n);
        cr_assert_float_eq(t.kinds[TRANSFER_SAVE].worst_slowdown, (double)n, 1e-9);
    }
}

Test(storage, caps_bind_first)
{
    struct part parts[] = {
        {.drop_ns = SIM_NEVER, .length_ns = 10 * SIM_S, .cap = 1e9},
        {.drop_ns = SIM_NEVER, .length_ns = 10 * SIM_S, .cap = 4e9},
        {.drop_ns = SIM_NEVER, .length_ns = 10 * SIM_S, .cap = 8e9},
    };
    struct storage_totals t = play(parts, 3, 13e9);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(parts[i].end_ns, 10 * SIM_S);
    cr_assert_eq(t.limited_ns, 0);
    /* 1, 3 and 3 until the first is done; of 40 and 80 GB 10 and 50 are left, which go at 3.5 */
    play(parts, 3, 7e9);
    cr_assert_eq(parts[0].end_ns, 10 * SIM_S);
    cr_assert_float_eq((double)parts[1].end_ns, (10 + 10 / 3.5) * 1e9, 1);
    cr_assert_float_eq((double)parts[2].end_ns, 130 / 7.0 * 1e9, 1);
}

Test(storage, a_dropped_transfer_leaves_its_share)
{
    struct part parts[] = {
        {.drop_ns = SIM_NEVER, .length_ns = 10 * SIM_S, .cap = 2e9},
        {.drop_ns = 10 * SIM_S, .length_ns = 10 * SIM_S, .cap = 2e9},
        {.begin_ns = 30 * SIM_S, .drop_ns = 40 * SIM_S, .length_ns = 10 * SIM_S, .cap = 2e9},
    };
    struct storage_totals t = play(parts, 3, 2e9);
    cr_assert_eq(parts[0].end_ns, 15 * SIM_S);
    cr_assert_eq(parts[1].end_ns, SIM_NEVER);
    cr_assert_eq(parts[2].end_ns, 40 * SIM_S); /* over at the very instant */
    cr_assert_eq(t.kinds[TRANSFER_SAVE].dropped, 1);
    cr_assert_eq(t.kinds[TRANSFER_SAVE].done, 2);
}

/* 10,000 gangs of 1 to 64 nodes save within a minute: 20,000 beginnings and ends. */
Test(storage, ten_thousand_at_once)
{
    enum { N = 10000 };
    struct part *parts = calloc(N, sizeof *parts);
    struct rng r;
    rng_init(&r, 6, 0, "test", "storage");
    double bytes = 0;
    for (int i = 0; i < N; i++) {
        parts[i] = (struct part){.begin_ns = rng_below(&r, 60 * SIM_S),
                                 .drop_ns = SIM_NEVER,
                                 .length_ns = 10 * SIM_S + rng_below(&r, 50 * SIM_S),
                                 .cap = (double)(1 + rng_below(&r, 64)) * 1.2e9};
        bytes += sim_time_to_s(parts[i].length_ns) * parts[i].cap;
    }
    clock_t from = clock();
    struct storage_totals t = play(parts, N, 2e12);
    double cpu_s = (double)(clock() - from) / CLOCKS_PER_SEC;
    cr_log_info("%.3f s of CPU time", cpu_s);
    cr_expect_lt(cpu_s, 0.5);
    cr_assert_eq(t.kinds[TRANSFER_SAVE].done, N);
    cr_assert_float_eq(t.used_ns / 1e9 * 2e12, bytes,
                       1e-6 * bytes); /* nothing more, nothing less */
    free(parts);
}
