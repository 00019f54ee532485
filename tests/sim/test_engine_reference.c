/* The engine against a reference that keeps a plain table and looks through all of it for each
 * event.
 *
 * Both run the same random model: handlers move, cancel, free and make timers, now and later, in a
 * crowd of ties, with cursors between, and each event is logged. The logs must be equal. The
 * engine's source is included, so that its timers can start a few generations before the last one.
 */
#include "sim/engine.c"

#include "sim/rng.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { N_TIMERS = 60, N_CURSORS = 3, N_EVENTS = 6000 };

struct entry {
    simtime_ns time;
    uint32_t class;
    uint64_t order; /* push number of timers; cursors come after all of them */
};

/* The reference. A timer's class changes when it is freed and made anew. */
struct reference {
    simtime_ns now;
    uint64_t n_pushed;
    struct entry timers[N_TIMERS], cursors[N_CURSORS];
};

struct fired {
    simtime_ns time;
    uint32_t what; /* timer number, or N_TIMERS + cursor number */
};

struct world {
    struct engine *engine; /* NULL: the reference runs */
    struct reference reference;
    struct rng rng;
    timer_id ids[N_TIMERS];
    struct fired log[N_EVENTS];
    size_t n;
};

struct owner {
    struct world *world;
    uint32_t number;
};

static void timer_fired(void *ctx, uint32_t number);

static simtime_ns world_now(const struct world *w)
{
    return w->engine ? engine_now(w->engine) : w->reference.now;
}

static void schedule(struct world *w, uint32_t i, simtime_ns at)
{
    if (w->engine)
        engine_schedule(w->engine, w->ids[i], at);
    w->reference.timers[i].time = at;
    w->reference.timers[i].order = w->reference.n_pushed++;
}

static void cancel(struct world *w, uint32_t i)
{
    if (w->engine)
        engine_cancel(w->engine, w->ids[i]);
    w->reference.timers[i].time = SIM_NEVER;
}

static void make_anew(struct world *w, uint32_t i)
{
    uint32_t class = (uint32_t)rng_below(&w->rng, EVENT_CLASSES);
    if (w->engine) {
        engine_timer_free(w->engine, w->ids[i]);
        cr_assert_eq(engine_timer_new(w->engine, class, timer_fired, w, i, &w->ids[i]), HR_OK);
    }
    w->reference.timers[i] = (struct entry){SIM_NEVER, class, 0};
}

static simtime_ns some_delay(struct world *w)
{
    static const uint64_t ranges[] = {1, 1, 3, 3, 40, 1000, UINT64_C(1) << 40};
    uint64_t range = ranges[rng_below(&w->rng, sizeof ranges / sizeof *ranges)];
    return rng_below(&w->rng, range);
}

static void act(struct world *w, uint32_t what)
{
    w->log[w->n++] = (struct fired){world_now(w), what};
    for (uint64_t k = rng_below(&w->rng, 4); k > 0; k--) {
        uint32_t i = (uint32_t)rng_below(&w->rng, N_TIMERS);
        uint64_t action = rng_below(&w->rng, 10);
        if (action == 0)
            make_anew(w, i);
        else if (action == 1)
            cancel(w, i);
        else
            schedule(w, i, world_now(w) + some_delay(w));
    }
    if (what < N_TIMERS && rng_below(&w->rng, 2))
        schedule(w, what, world_now(w) + some_delay(w));
}

static void timer_fired(void *ctx, uint32_t number)
{
    struct world *w = ctx;
    w->reference.timers[number].time = SIM_NEVER;
    act(w, number);
}

static simtime_ns cursor_next(struct world *w)
{
    uint64_t gap = rng_below(&w->rng, 50);
    return rng_below(&w->rng, 2000) == 0 ? SIM_NEVER : world_now(w) + gap;
}

static simtime_ns cursor_fired(void *ctx)
{
    struct owner *o = ctx;
    act(o->world, N_TIMERS + o->number);
    return cursor_next(o->world);
}

static bool entry_before(struct entry a, struct entry b)
{
    if (a.time != b.time)
        return a.time < b.time;
    return a.class != b.class ? a.class < b.class : a.order < b.order;
}

static bool reference_step(struct world *w, simtime_ns end)
{
    struct reference *r = &w->reference;
    uint32_t first = 0;
    for (uint32_t i = 0; i < N_TIMERS + N_CURSORS; i++) {
        struct entry e = i < N_TIMERS ? r->timers[i] : r->cursors[i - N_TIMERS];
        struct entry f = first < N_TIMERS ? r->timers[first] : r->cursors[first - N_TIMERS];
        if (entry_before(e, f))
            first = i;
    }
    struct entry *e = first < N_TIMERS ? &r->timers[first] : &r->cursors[first - N_TIMERS];
    if (e->time >= end)
        return false;
    r->now = e->time;
    if (first < N_TIMERS) {
        timer_fired(w, first);
    } else {
        struct owner o = {w, first - N_TIMERS};
        e->time = SIM_NEVER;
        e->time = cursor_fired(&o);
    }
    return true;
}

/* Some events by steps with a small end, so that steps that find nothing are among them. */
static void run_world(struct world *w)
{
    for (simtime_ns end = 0; w->n < N_EVENTS - 1;) {
        uint64_t leap = rng_below(&w->rng, 60);
        end = world_now(w) + leap + (w->n > N_EVENTS / 2 ? UINT64_C(1) << 20 : 0);
        while (w->n < N_EVENTS - 1 &&
               (w->engine ? engine_step(w->engine, end) : reference_step(w, end)))
            ;
        if (w->n >= N_EVENTS - 1)
            break;
        if (rng_below(&w->rng, 2)) { /* the clock moves to the end of a run, not of a step */
            if (w->engine)
                cr_assert_eq(engine_run(w->engine, end), HR_OK);
            w->reference.now = end;
        }
        uint32_t i = (uint32_t)rng_below(&w->rng, N_TIMERS);
        schedule(w, i, world_now(w) + some_delay(w));
    }
}

static struct world *world_new(uint32_t seed, bool with_engine, uint64_t generation)
{
    struct world *w = calloc(1, sizeof *w);
    rng_init(&w->rng, seed, 0, "engine", "reference");
    if (with_engine)
        cr_assert_not_null(w->engine = engine_new());
    for (uint32_t i = 0; i < N_TIMERS; i++) {
        uint32_t class = (uint32_t)rng_below(&w->rng, EVENT_CLASSES);
        w->reference.timers[i] = (struct entry){SIM_NEVER, class, 0};
        if (with_engine) {
            cr_assert_eq(engine_timer_new(w->engine, class, timer_fired, w, i, &w->ids[i]), HR_OK);
            w->engine->timers.items[w->ids[i]].tag |= generation << PES_GENERATION_SHIFT;
        }
    }
    for (uint32_t i = 0; i < 20; i++)
        schedule(w, i, i / 2);
    return w;
}

static void world_free(struct world *w)
{
    engine_free(w->engine);
    free(w);
}

static void compare(uint32_t seed, uint64_t generation, bool with_cursors)
{
    struct world *real = world_new(seed, true, generation);
    struct world *plain = world_new(seed, false, 0);
    struct owner owners[N_CURSORS];
    for (uint32_t c = 0; c < N_CURSORS; c++) {
        static const enum event_class classes[N_CURSORS] = {EVENT_ARRIVAL, EVENT_FAILURE,
                                                            EVENT_ARRIVAL};
        owners[c] = (struct owner){real, c};
        simtime_ns first = with_cursors ? 3 : SIM_NEVER;
        plain->reference.cursors[c] = (struct entry){first, classes[c], UINT64_MAX - 10 + c};
        cr_assert_eq(engine_cursor_add(real->engine, classes[c], cursor_fired, &owners[c], first),
                     HR_OK);
    }
    run_world(real);
    run_world(plain);
    cr_assert_eq(real->n, plain->n);
    for (size_t i = 0; i < real->n; i++) {
        cr_assert_eq(real->log[i].time, plain->log[i].time, "seed %u event %zu", seed, i);
        cr_assert_eq(real->log[i].what, plain->log[i].what, "seed %u event %zu", seed, i);
    }
    for (uint32_t i = 0; i < N_TIMERS; i++)
        cr_assert_eq(engine_due(real->engine, real->ids[i]), plain->reference.timers[i].time);
    world_free(real);
    world_free(plain);
}

Test(engine_reference, random_models_give_the_same_events)
{
    for (uint32_t seed = 0; seed < 40; seed++)
        compare(seed, 0, seed % 4 > 0);
}

/* The generations of all timers run out in the middle of the model. */
Test(engine_reference, generations_may_run_out)
{
    uint64_t last = GENERATION_MAX >> PES_GENERATION_SHIFT;
    for (uint32_t seed = 0; seed < 10; seed++)
        compare(seed, last - seed, seed % 2);
}

/* A stale entry of generation 0 is still there when a timer comes round to generation 0 again. */
Test(engine_reference, old_entries_do_not_come_to_life)
{
    struct world *w = world_new(1, true, 0);
    for (uint32_t i = 0; i < N_TIMERS; i++)
        cancel(w, i);
    cr_assert_gt(w->engine->n_stale, 0);
    schedule(w, 0, 5000);
    schedule(w, 0, 6000);
    struct timer *t = &w->engine->timers.items[w->ids[0]];
    uint64_t first_generation = t->tag & ~GENERATION_MAX;
    engine_cancel(w->engine, w->ids[0]);
    pes_push(&w->engine->pes, 1000, first_generation); /* as if left from long ago */
    w->engine->n_stale++;
    t->tag = GENERATION_MAX | first_generation;
    schedule(w, 0, 3000);
    schedule(w, 0, 2000);
    cr_assert_eq(t->tag, first_generation);
    cr_assert(engine_step(w->engine, SIM_NEVER));
    cr_assert_eq(engine_now(w->engine), 2000);
    world_free(w);
}
