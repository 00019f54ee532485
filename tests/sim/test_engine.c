/* The engine's rules one by one: order, moving and cancelling, cursors, ends of runs, stopping. */
#include "sim/engine.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

/* A log of what fired: one letter an event. */
struct world {
    struct engine *e;
    char log[256];
    simtime_ns times[256];
    size_t n;
    timer_id timers[32];
    simtime_ns records[16]; /* of a cursor */
    size_t n_records, next_record;
};

static void note(struct world *w, char letter)
{
    w->times[w->n] = engine_now(w->e);
    w->log[w->n++] = letter;
}

static void log_letter(void *ctx, uint32_t letter)
{
    note(ctx, (char)letter);
}

static timer_id timer(struct world *w, enum event_class c, event_fn *fn, char letter)
{
    timer_id id;
    cr_assert_eq(engine_timer_new(w->e, c, fn, w, (uint32_t)letter, &id), HR_OK);
    return id;
}

static timer_id timer_at(struct world *w, enum event_class c, char letter, simtime_ns at)
{
    timer_id id = timer(w, c, log_letter, letter);
    engine_schedule(w->e, id, at);
    return id;
}

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);
    w->e = engine_new();
    cr_assert_not_null(w->e);
    return w;
}

static void world_free(struct world *w)
{
    engine_free(w->e);
    free(w);
}

Test(engine, fires_by_time_then_class_then_push)
{
    struct world *w = world_new();
    timer_at(w, EVENT_SCHEDULE, 'h', 20);
    timer_at(w, EVENT_ARRIVAL, 'f', 20);
    timer_at(w, EVENT_ARRIVAL, 'g', 20);
    timer_at(w, EVENT_WINDOW, 'd', 20);
    timer_at(w, EVENT_SCHEDULE, 'b', 10);
    timer_at(w, EVENT_COMPLETE, 'e', 20);
    timer_at(w, EVENT_SCHEDULE, 'c', 10);
    timer_at(w, EVENT_CONTROL, 'a', 9);
    timer_at(w, EVENT_WINDOW, 'i', 21);
    cr_assert_eq(engine_run(w->e, 100), HR_OK);
    cr_assert_str_eq(w->log, "abcdefghi");
    cr_assert_eq(w->times[3], 20);
    cr_assert_eq(engine_now(w->e), 100);
    cr_assert_eq(engine_stats(w->e).events, 9);
    cr_assert_eq(engine_stats(w->e).max_pending, 9);
    world_free(w);
}

Test(engine, moving_and_cancelling)
{
    struct world *w = world_new();
    timer_id a = timer_at(w, EVENT_COMPLETE, 'a', 10);
    timer_id b = timer_at(w, EVENT_COMPLETE, 'b', 10);
    timer_id c = timer_at(w, EVENT_COMPLETE, 'c', 10);
    timer_id d = timer_at(w, EVENT_COMPLETE, 'd', 5);
    engine_schedule(w->e, a, 30); /* later */
    engine_schedule(w->e, b, 10); /* to the same time: behind c */
    engine_schedule(w->e, d, 50);
    engine_schedule(w->e, d, 2); /* earlier */
    timer_id x = timer_at(w, EVENT_COMPLETE, 'x', 10);
    engine_cancel(w->e, x);
    engine_cancel(w->e, x); /* idle by now */
    timer_id y = timer_at(w, EVENT_COMPLETE, 'y', 10);
    engine_schedule(w->e, y, SIM_NEVER);
    cr_assert_eq(engine_due(w->e, a), 30);
    cr_assert_eq(engine_due(w->e, x), SIM_NEVER);
    cr_assert_eq(engine_due(w->e, y), SIM_NEVER);
    cr_assert_eq(engine_run(w->e, 100), HR_OK);
    cr_assert_str_eq(w->log, "dcba");
    cr_assert_eq(w->times[0], 2);
    cr_assert_eq(w->times[3], 30);
    cr_assert_eq(engine_due(w->e, a), SIM_NEVER);
    cr_assert_eq(engine_stats(w->e).stale, 6);
    engine_schedule(w->e, c, 200); /* a timer fires again and again */
    cr_assert_eq(engine_run(w->e, 300), HR_OK);
    cr_assert_str_eq(w->log, "dcbac");
    world_free(w);
}

static void schedule_at_now(void *ctx, uint32_t letter)
{
    struct world *w = ctx;
    note(w, (char)letter);
    engine_schedule(w->e, w->timers[0], engine_now(w->e)); /* a later class */
    engine_schedule(w->e, w->timers[1], engine_now(w->e)); /* an earlier one */
    engine_schedule(w->e, w->timers[2], engine_now(w->e)); /* its own */
}

/* Whatever else waits at the instant, few or many. */
Test(engine, schedules_at_now_for_any_class)
{
    for (int others = 0; others < 12; others++) {
        struct world *w = world_new();
        w->timers[0] = timer(w, EVENT_SCHEDULE, log_letter, 's');
        w->timers[1] = timer(w, EVENT_FAILURE, log_letter, 'f');
        w->timers[2] = timer(w, EVENT_ARRIVAL, log_letter, 'z');
        timer_id first = timer(w, EVENT_ARRIVAL, schedule_at_now, 'A');
        engine_schedule(w->e, first, 1000);
        for (int i = 0; i < others; i++)
            timer_at(w, EVENT_ARRIVAL, 'a', 1000);
        timer_at(w, EVENT_CONTROL, 'c', 1000);
        cr_assert_eq(engine_run(w->e, 2000), HR_OK);
        char expected[32];
        snprintf(expected, sizeof expected, "Af%.*szcs", others, "aaaaaaaaaaaa");
        cr_assert_str_eq(w->log, expected);
        for (size_t i = 0; i < w->n; i++)
            cr_assert_eq(w->times[i], 1000);
        world_free(w);
    }
}

static simtime_ns next_record(void *ctx)
{
    struct world *w = ctx;
    note(w, 'r');
    return ++w->next_record < w->n_records ? w->records[w->next_record] : SIM_NEVER;
}

static simtime_ns once_p(void *ctx)
{
    note(ctx, 'p');
    return SIM_NEVER;
}

static simtime_ns once_q(void *ctx)
{
    note(ctx, 'q');
    return SIM_NEVER;
}

Test(engine, cursors_are_merged_by_time_and_class)
{
    struct world *w = world_new();
    const simtime_ns records[] = {5, 10, 10, 20, 30};
    memcpy(w->records, records, sizeof records);
    w->n_records = 5;
    timer_at(w, EVENT_COMPLETE, 'c', 10);
    timer_at(w, EVENT_CONTROL, 'k', 10);
    timer_at(w, EVENT_ARRIVAL, 'a', 10); /* timers before cursors of their class */
    timer_at(w, EVENT_SCHEDULE, 's', 5);
    timer_at(w, EVENT_WINDOW, 'w', 40);
    cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, next_record, w, 5), HR_OK);
    cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, once_p, w, 20), HR_OK);
    cr_assert_eq(engine_cursor_add(w->e, EVENT_FAILURE, once_q, w, 20), HR_OK);
    cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, once_q, w, SIM_NEVER), HR_OK);
    cr_assert_eq(engine_run(w->e, SIM_NEVER), HR_OK);
    cr_assert_str_eq(w->log, "rscarrkqrprw");
    cr_assert_eq(engine_now(w->e), 40, "without an end, now stays at the last event");
    cr_assert_eq(engine_stats(w->e).arrivals, 7);
    cr_assert_eq(engine_stats(w->e).events, 5);
    world_free(w);
}

/* A stale timer at the cursor's instant or before it must neither hide nor delay the cursor. */
Test(engine, stale_timers_do_not_disturb_cursors)
{
    struct world *w = world_new();
    w->records[0] = 100;
    w->n_records = 1;
    timer_id a = timer_at(w, EVENT_WINDOW, 'a', 50);
    timer_id b = timer_at(w, EVENT_WINDOW, 'b', 100);
    timer_id c = timer_at(w, EVENT_SCHEDULE, 'c', 100);
    timer_at(w, EVENT_CONTROL, 'd', 100);
    engine_cancel(w->e, a);
    engine_cancel(w->e, b);
    engine_cancel(w->e, c);
    cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, next_record, w, 100), HR_OK);
    cr_assert_eq(engine_run(w->e, 1000), HR_OK);
    cr_assert_str_eq(w->log, "rd");
    cr_assert_eq(w->times[0], 100);
    world_free(w);
}

static simtime_ns add_cursors(void *ctx)
{
    struct world *w = ctx;
    note(w, 'n');
    simtime_ns now = engine_now(w->e);
    cr_assert_eq(engine_cursor_add(w->e, EVENT_WINDOW, once_p, w, now), HR_OK);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, once_q, w, now + 3), HR_OK);
    return now + 2;
}

Test(engine, cursors_may_be_added_while_one_fires)
{
    struct world *w = world_new();
    cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, add_cursors, w, 7), HR_OK);
    while (w->n < 8)
        cr_assert(engine_step(w->e, SIM_NEVER));
    cr_assert_str_eq(w->log, "npnpqqqq"); /* 7 7 9 9 10 10 10 10 */
    cr_assert_eq(w->times[3], 9);
    cr_assert_eq(w->times[4], 10);
    world_free(w);
}

Test(engine, runs_end_before_end_and_can_go_on)
{
    struct world *w = world_new();
    w->records[0] = 50;
    w->records[1] = 60;
    w->n_records = 2;
    cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, next_record, w, 50), HR_OK);
    timer_at(w, EVENT_COMPLETE, 'a', 49);
    timer_at(w, EVENT_COMPLETE, 'b', 50);
    timer_id moved = timer_at(w, EVENT_COMPLETE, 'm', 20);
    engine_schedule(w->e, moved, 70);
    cr_assert_eq(engine_run(w->e, 0), HR_OK);
    cr_assert_eq(engine_run(w->e, 50), HR_OK);
    cr_assert_str_eq(w->log, "a");
    cr_assert_eq(engine_now(w->e), 50);
    timer_at(w, EVENT_FAILURE, 'f', 50);
    cr_assert_eq(engine_run(w->e, 50), HR_OK, "an empty run");
    cr_assert_str_eq(w->log, "a");
    cr_assert_eq(engine_run(w->e, 60), HR_OK);
    cr_assert_str_eq(w->log, "afbr");
    cr_assert_eq(engine_run(w->e, 1000), HR_OK);
    cr_assert_str_eq(w->log, "afbrrm");
    cr_assert_eq(engine_run(w->e, 2000), HR_OK);
    cr_assert_eq(engine_now(w->e), 2000);
    world_free(w);
}

/* A step that finds only stale entries changes nothing: what is scheduled before them still fires.
 */
Test(engine, a_step_without_an_event_moves_nothing)
{
    struct world *w = world_new();
    cr_assert_not(engine_step(w->e, 100));
    timer_id a = timer_at(w, EVENT_COMPLETE, 'a', 80);
    timer_id b = timer_at(w, EVENT_COMPLETE, 'b', 80);
    timer_at(w, EVENT_COMPLETE, 'c', 90);
    engine_cancel(w->e, a);
    engine_cancel(w->e, b);
    cr_assert_not(engine_step(w->e, 85));
    cr_assert_eq(engine_now(w->e), 0);
    engine_schedule(w->e, a, 10);
    timer_at(w, EVENT_COMPLETE, 'd', 0);
    cr_assert_not(engine_step(w->e, 0));
    cr_assert(engine_step(w->e, 1));
    cr_assert(engine_step(w->e, 11));
    cr_assert_not(engine_step(w->e, 90));
    cr_assert_eq(engine_now(w->e), 10);
    cr_assert(engine_step(w->e, 91));
    cr_assert_str_eq(w->log, "dac");
    world_free(w);
}

static void stop(void *ctx, uint32_t letter)
{
    struct world *w = ctx;
    note(w, (char)letter);
    engine_stop(w->e);
}

Test(engine, stops_after_the_running_handler_and_continues)
{
    struct world *w = world_new();
    timer_at(w, EVENT_COMPLETE, 'a', 10);
    timer_id s = timer(w, EVENT_COMPLETE, stop, 's');
    engine_schedule(w->e, s, 10);
    timer_at(w, EVENT_COMPLETE, 'b', 10);
    cr_assert_eq(engine_run(w->e, 100), HR_INTERRUPTED);
    cr_assert_str_eq(w->log, "as");
    cr_assert_eq(engine_now(w->e), 10);
    cr_assert_eq(engine_run(w->e, 100), HR_OK);
    cr_assert_str_eq(w->log, "asb");
    cr_assert_eq(engine_now(w->e), 100);
    world_free(w);
}

static void *stop_soon(void *ctx)
{
    engine_stop(ctx);
    return NULL;
}

static void again(void *ctx, uint32_t arg)
{
    struct world *w = ctx;
    (void)arg;
    engine_schedule(w->e, w->timers[0], engine_now(w->e) + 1);
}

Test(engine, another_thread_may_stop_an_endless_run)
{
    struct world *w = world_new();
    w->timers[0] = timer(w, EVENT_COMPLETE, again, 0);
    engine_schedule(w->e, w->timers[0], 0);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, stop_soon, w->e), 0);
    cr_assert_eq(engine_run(w->e, SIM_NEVER), HR_INTERRUPTED);
    pthread_join(thread, NULL);
    world_free(w);
}

static void check_now(void *ctx)
{
    struct world *w = ctx;
    note(w, '.');
}

Test(engine, checks_come_before_every_event_at_its_time)
{
    struct world *w = world_new();
    w->records[0] = 5;
    w->n_records = 1;
    timer_at(w, EVENT_COMPLETE, 'a', 7);
    cr_assert_eq(engine_cursor_add(w->e, EVENT_ARRIVAL, next_record, w, 5), HR_OK);
    engine_check_set(w->e, check_now, w);
    cr_assert_eq(engine_run(w->e, 8), HR_OK);
    cr_assert_str_eq(w->log, ".r.a");
    cr_assert_eq(w->times[0], 5);
    cr_assert_eq(w->times[2], 7);
    engine_check_set(w->e, NULL, NULL);
    timer_at(w, EVENT_COMPLETE, 'b', 9);
    cr_assert_eq(engine_run(w->e, 10), HR_OK);
    cr_assert_str_eq(w->log, ".r.ab");
    world_free(w);
}

Test(engine, freed_timers_do_not_fire_and_their_ids_are_reused)
{
    struct world *w = world_new();
    timer_id a = timer_at(w, EVENT_COMPLETE, 'a', 10);
    timer_id b = timer_at(w, EVENT_COMPLETE, 'b', 10);
    engine_timer_free(w->e, a);
    timer_id c = timer_at(w, EVENT_WINDOW, 'c', 20);
    cr_assert_eq(c, a);
    engine_timer_free(w->e, c);
    engine_timer_free(w->e, b);
    timer_id d = timer(w, EVENT_COMPLETE, log_letter, 'd'),
             e = timer(w, EVENT_COMPLETE, log_letter, 'e');
    cr_assert_eq(engine_due(w->e, d), SIM_NEVER);
    engine_schedule(w->e, e, 10);
    cr_assert(d != e && d < 2 && e < 2);
    cr_assert_eq(engine_run(w->e, 100), HR_OK);
    cr_assert_str_eq(w->log, "e");
    world_free(w);
}

Test(engine, stale_entries_are_swept)
{
    struct world *w = world_new();
    enum { N = 20 };
    for (int i = 0; i < N; i++)
        w->timers[i] = timer_at(w, EVENT_COMPLETE, (char)('a' + i), 1000000);
    for (simtime_ns round = 1; round <= 100; round++)
        for (int i = 0; i < N; i++)
            engine_schedule(w->e, w->timers[i], 1000000 + round * 100 + (simtime_ns)i);
    struct engine_stats s = engine_stats(w->e);
    cr_assert_gt(s.rebuilds, 10);
    cr_assert_lt(s.max_pending, 200);
    cr_assert_eq(engine_run(w->e, SIM_NEVER), HR_OK);
    cr_assert_str_eq(w->log, "abcdefghijklmnopqrst");
    cr_assert_eq(engine_stats(w->e).events, N);
    cr_assert_eq(engine_stats(w->e).stale, N * 100);
    world_free(w);
}

/* Out of memory is an error value, from timers at once and from schedules at the next run, and
 * lasts. */
Test(engine, out_of_memory_is_remembered)
{
#ifdef SANITIZED
    cr_skip_test("sanitizers need all of the address space");
#endif
    struct world *w = world_new();
    struct rlimit limit = {.rlim_cur = 256 << 20, .rlim_max = 256 << 20};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    timer_id id, n = 0;
    enum hr_err err;
    while ((err = engine_timer_new(w->e, EVENT_COMPLETE, log_letter, w, 'x', &id)) == HR_OK)
        n++;
    cr_assert_eq(err, HR_NOMEM);
    for (size_t size = 1 << 20; size >= 64; size /= 2) {
        void *volatile rest; /* what is left; the process ends with this test */
        do
            rest = malloc(size);
        while (rest);
    }
    for (id = 0; id < n && engine_run(w->e, SIM_S) == HR_OK; id++)
        engine_schedule(w->e, id, SIM_DAY - (simtime_ns)id);
    cr_assert_lt(id, n);
    cr_assert_eq(engine_run(w->e, SIM_S), HR_NOMEM);
    cr_assert_eq(engine_run(w->e, SIM_DAY), HR_NOMEM);
    cr_assert_not(engine_step(w->e, SIM_DAY));
    cr_assert_eq(w->n, 0);
    world_free(w);
}
