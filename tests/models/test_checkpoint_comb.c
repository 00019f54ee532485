/* Segments with asynchronous saves, copies in host memory and growing intervals against a stepper
 * that goes nanosecond by nanosecond, and the published run times of one task under failures. */
#include "models/training/checkpoint.h"
#include "sim/rng.h"

#include <criterion/criterion.h>

enum { MAX_STEPS = 4000 };

enum phase { RESTORE, WORK, COPY, SAVE, FINAL, OVER };

struct stepper {
    const struct save_comb *c;
    enum phase phase;
    simtime_ns left_of_phase, work, interval, begun_at, copied_at, writing;
    simtime_ns saving_state; /* what the write under way holds */
    bool grows_next;
    struct progress p;
    simtime_ns stalls_then, stalls_at_save;
};

static simtime_ns allowed(const struct save_comb *c, simtime_ns interval)
{
    if (interval < c->write_ns)
        interval = c->write_ns;
    while (c->copy_ns > 0 && interval % c->copy_ns != 0)
        interval++;
    return interval;
}

static void complete(struct stepper *s)
{
    s->p.saves++;
    s->p.kept_ns = s->saving_state;
    s->stalls_at_save = s->stalls_then;
}

/* Between two nanoseconds: which phase is next. */
static void turn(struct stepper *s)
{
    const struct save_comb *c = s->c;
    while (s->left_of_phase == 0) {
        if (s->phase == COPY) {
            s->copied_at = s->p.copied_ns = s->work;
        } else if (s->phase == SAVE) {
            s->saving_state = s->work;
            s->stalls_then = s->p.save_ns;
            s->copied_at = s->work;
            if (c->copy_ns > 0)
                s->p.copied_ns = s->work;
            s->writing = c->write_ns;
            if (c->write_ns == 0)
                complete(s);
        } else if (s->phase == FINAL) {
            s->saving_state = s->p.copied_ns = s->work;
            s->stalls_then = s->p.save_ns;
            complete(s);
            s->phase = OVER;
            return;
        } else if (s->phase == OVER) {
            return;
        }
        s->phase = WORK;
        simtime_ns since = s->work - s->begun_at;
        if (s->work == c->left_ns) {
            s->phase = c->final_save && c->left_ns > 0 ? FINAL : OVER;
            s->left_of_phase = c->stall_ns + c->write_ns + s->writing;
        } else if (s->interval > 0 && since == s->interval) {
            s->phase = SAVE;
            s->left_of_phase = c->stall_ns;
            s->begun_at = s->work;
            if (c->growth > 1)
                s->interval = allowed(c, (simtime_ns)((double)s->interval * c->growth + 0.5));
        } else if (c->copy_ns > 0 && since > 0 && since % c->copy_ns == 0 &&
                   s->copied_at != s->work) {
            s->phase = COPY;
            s->left_of_phase = c->copy_stall_ns;
        } else {
            return;
        }
    }
}

static void step(struct stepper *s)
{
    if (s->phase == OVER)
        return;
    if (s->phase == RESTORE)
        s->p.restore_ns++;
    else if (s->phase == WORK)
        s->work++;
    else
        s->p.save_ns++;
    if (s->left_of_phase > 0)
        s->left_of_phase--;
    if (s->writing > 0 && --s->writing == 0)
        complete(s);
    turn(s);
}

static struct progress seen(const struct stepper *s)
{
    struct progress p = s->p;
    p.work_ns = s->work;
    if (s->c->copy_ns == 0 || p.copied_ns < p.kept_ns)
        p.copied_ns = p.kept_ns;
    p.lost_work_ns = p.work_ns - p.kept_ns;
    p.lost_save_ns = p.save_ns - s->stalls_at_save;
    return p;
}

static struct stepper begin(const struct save_comb *c)
{
    struct stepper s = {.c = c, .phase = RESTORE, .left_of_phase = c->restore_ns};
    s.interval = c->interval_ns == 0 ? 0 : allowed(c, c->interval_ns);
    turn(&s);
    return s;
}

static void compare(const struct save_comb *c, int number)
{
    struct stepper s = begin(c);
    simtime_ns over = SIM_NEVER, length = checkpoint_length(c);
    for (simtime_ns t = 0; t < MAX_STEPS && over == SIM_NEVER; t++) {
        struct progress want = seen(&s), got = checkpoint_progress(c, t);
        cr_assert(want.restore_ns == got.restore_ns && want.work_ns == got.work_ns &&
                      want.save_ns == got.save_ns && want.kept_ns == got.kept_ns &&
                      want.copied_ns == got.copied_ns && want.lost_work_ns == got.lost_work_ns &&
                      want.lost_save_ns == got.lost_save_ns && want.saves == got.saves,
                  "case %d at %lu: work %lu/%lu save %lu/%lu kept %lu/%lu copied %lu/%lu lost "
                  "%lu+%lu/%lu+%lu saves %lu/%lu",
                  number, t, got.work_ns, want.work_ns, got.save_ns, want.save_ns, got.kept_ns,
                  want.kept_ns, got.copied_ns, want.copied_ns, got.lost_work_ns, got.lost_save_ns,
                  want.lost_work_ns, want.lost_save_ns, got.saves, want.saves);
        simtime_ns from, to;
        bool stalls = s.phase == COPY || s.phase == SAVE || s.phase == FINAL;
        bool found = checkpoint_next_stall(c, t, &from, &to);
        cr_assert(stalls == (found && from <= t && t < to), "case %d at %lu", number, t);
        if (s.phase == OVER)
            over = t;
        uint64_t saves = s.p.saves;
        simtime_ns next = checkpoint_next_save(c, t);
        step(&s);
        cr_assert((s.p.saves > saves) == (next == t + 1) || s.p.saves > saves + 1,
                  "case %d at %lu: next save at %lu", number, t, next);
    }
    cr_assert_eq(length, over, "case %d: %lu, want %lu", number, length, over);
}

Test(checkpoint_comb, equals_the_stepper)
{
    struct rng r;
    rng_init(&r, 3, 0, "test", "comb");
    for (int i = 0; i < 4000; i++) {
        struct save_comb c = {.restore_ns = rng_below(&r, 20),
                              .left_ns = rng_below(&r, 300),
                              .interval_ns = rng_below(&r, 60),
                              .stall_ns = rng_below(&r, 6),
                              .final_save = rng_below(&r, 2)};
        c.write_ns = rng_below(&r, 2) ? rng_below(&r, 70) : 0;
        c.copy_ns = rng_below(&r, 2) ? 1 + rng_below(&r, 20) : 0;
        c.copy_stall_ns = rng_below(&r, 3);
        c.growth = rng_below(&r, 2) ? 1 : 1 + (double)rng_below(&r, 9) / 8;
        compare(&c, i);
    }
}

/* The first node loses what is newer than the copy, an eviction what is newer than the save. */
Test(checkpoint_comb, copies_and_writes_by_hand)
{
    const struct save_comb c = {.left_ns = 100,
                                .interval_ns = 40,
                                .stall_ns = 2,
                                .write_ns = 10,
                                .copy_ns = 10,
                                .copy_stall_ns = 1};
    /* 10 1 10 1 10 1 10 2: a cycle of 45; its save is complete at 55 */
    struct progress p = checkpoint_progress(&c, 54);
    cr_assert_eq(p.kept_ns, 0);
    cr_assert_eq(p.copied_ns, 40);
    cr_assert_eq(p.work_ns, 49);
    p = checkpoint_progress(&c, 55);
    cr_assert_eq(p.kept_ns, 40);
    cr_assert_eq(p.lost_work_ns, 10);
    cr_assert_eq(p.lost_save_ns, 0);
    cr_assert_eq(checkpoint_length(&c), 100 + 6 + 4 + 1);
    cr_assert_eq(checkpoint_next_save(&c, 0), 55);
    cr_assert_eq(checkpoint_next_save(&c, 55), 100);
    cr_assert_eq(checkpoint_next_save(&c, 100), SIM_NEVER);
}

Test(checkpoint_comb, size_over_bandwidth)
{
    const struct checkpoint_plan p = {
        .stall_ns = 6 * SIM_S, .size_bytes = 480e9, .node_bytes_per_s = 1.2e9};
    struct checkpoint_plan own = checkpoint_plan_of(&p, 8);
    cr_assert_eq(own.stall_ns, 50 * SIM_S);
    cr_assert_eq(own.write_ns, 0);
    cr_assert_eq(own.notice_save_ns, 50 * SIM_S);
    struct checkpoint_plan beside = p;
    beside.asynchronous = true;
    own = checkpoint_plan_of(&beside, 4);
    cr_assert_eq(own.stall_ns, 6 * SIM_S);
    cr_assert_eq(own.write_ns, 100 * SIM_S);
}

/* opendc_failure_checkpoint.csv (atlarge-research/opendc's own tests): a failure comes so long
 * after the former one has ended and keeps the task down; none of the lists repeats. */
struct published {
    double work, fails[2], down[2], interval, cost, growth, runtime;
};

static const struct published published[] = {
    {600, {300, 0}, {300, 0}, 0, 0, 1, 1200},     {600, {30000, 0}, {300, 0}, 0, 0, 1, 600},
    {600, {300, 420}, {300, 600}, 0, 0, 1, 2220}, {600, {300, 0}, {300, 0}, 60, 1, 1, 965},
    {1200, {300, 0}, {300, 0}, 60, 1, 1, 1575},   {1200, {300, 0}, {300, 0}, 60, 1, 1, 1575},
    {600, {300, 0}, {300, 0}, 60, 1, 1.5, 918},
};

Test(checkpoint_comb, published_run_times)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const struct published *row = &published[i];
        struct save_comb c = {.left_ns = sim_time_from_s(row->work),
                              .interval_ns = sim_time_from_s(row->interval),
                              .growth = row->growth,
                              .stall_ns = sim_time_from_s(row->cost)};
        simtime_ns clock = 0;
        for (size_t k = 0; k < 2 && row->fails[k] > 0; k++) {
            simtime_ns fails = sim_time_from_s(row->fails[k]);
            if (fails >= checkpoint_length(&c))
                break;
            c.left_ns -= checkpoint_progress(&c, fails).kept_ns;
            clock += fails + sim_time_from_s(row->down[k]);
        }
        cr_assert_eq(clock + checkpoint_length(&c), sim_time_from_s(row->runtime), "row %zu: %g s",
                     i, sim_time_to_s(clock + checkpoint_length(&c)));
    }
}
