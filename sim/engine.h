/* The event engine: a clock, timers, and cursors.
 *
 * An entity with one next event (a replica, a gang, a scaler) owns a timer; scheduling a timer that
 * is already pending reschedules it in place (lazily: the old entry is dropped when it surfaces).
 * A sorted record source (a trace, a generator) is a cursor: its next time is merged with the
 * pending set and never pushed into it.
 *
 * Events at one instant fire by class, then in push order. A class that pushes an earlier class at
 * the same instant is served at once after the running handler: no event is ever late.
 *
 * Time only moves when an event fires; peeking never moves it. Scheduling before now is a
 * programming error (assert). One engine belongs to one thread and shares nothing. */
#ifndef HEADROOM_SIM_ENGINE_H
#define HEADROOM_SIM_ENGINE_H

#include "sim/err.h"
#include "sim/time.h"

#include <stdbool.h>
#include <stdint.h>

/* The order of events at one instant. */
enum event_class {
    EVENT_WINDOW,   /* end of run, start of the measured part, window close */
    EVENT_FAILURE,  /* node failure, spot loss */
    EVENT_COMPLETE, /* step boundary, stage, job end */
    EVENT_SUPPLY,   /* capacity gained, repair */
    EVENT_ARRIVAL,  /* request, job */
    EVENT_CONTROL,  /* autoscaler tick */
    EVENT_SCHEDULE, /* one scheduling pass per instant, however many events asked for it */
    EVENT_CLASSES
};

struct engine; /* opaque */
typedef uint32_t timer_id;

#define TIMER_NONE UINT32_MAX

/* A timer fired: ctx and arg are those given to engine_timer_new. */
typedef void event_fn(void *ctx, uint32_t arg);

/* A cursor fired at its time: take the record and return the time of the next one (not earlier),
 * or SIM_NEVER at the end. */
typedef simtime_ns cursor_fn(void *ctx);

/* Called before each event, with now already at its time (see engine_check_set). */
typedef void check_fn(void *ctx);

struct engine_stats {
    uint64_t events;      /* timer events fired */
    uint64_t arrivals;    /* cursor records fired */
    uint64_t stale;       /* entries dropped because their timer had been moved or cancelled */
    uint64_t rebuilds;    /* times the pending set was rebuilt because stale outnumbered live */
    uint64_t max_pending; /* largest pending set, stale entries included */
};

/* NULL when memory is out. Time starts at 0. */
struct engine *engine_new(void);
void engine_free(struct engine *e); /* accepts NULL */

simtime_ns engine_now(const struct engine *e);

/* A new idle timer. ctx is prefetched shortly before the timer fires, so point it at the record the
 * handler touches first. Errors: HR_NOMEM, HR_LIMIT (2^24 timers). Ids of freed timers are reused.
 */
enum hr_err engine_timer_new(struct engine *e, enum event_class c, event_fn *fn, void *ctx,
                             uint32_t arg, timer_id *out);
void engine_timer_free(struct engine *e, timer_id t);

/* A prefetch function asks the caches for what the handler will touch beyond the first line of ctx,
 * and changes nothing. It is called while another event is about to run, most likely the one before
 * the timer's. */
typedef void prefetch_fn(const void *ctx);
void engine_prefetch_set(struct engine *e, timer_id t, prefetch_fn *fn);

/* Sets the one next firing of t to at (>= now; SIM_NEVER: none), replacing an earlier setting, and
 * its place in push order too. Amortised O(1). Out of memory is remembered and returned by
 * engine_run. */
void engine_schedule(struct engine *e, timer_id t, simtime_ns at);
void engine_cancel(struct engine *e, timer_id t);          /* no-op when idle */
simtime_ns engine_due(const struct engine *e, timer_id t); /* SIM_NEVER when idle */

/* Adds a cursor whose first record is at first. Ties between cursors: the one added first;
 * a timer goes before a cursor of its class. */
enum hr_err engine_cursor_add(struct engine *e, enum event_class c, cursor_fn *fn, void *ctx,
                              simtime_ns first);

/* Fires every event earlier than end, then sets now to end; with SIM_NEVER, until nothing is
 * pending, and now stays at the last event. May be called again with a later end. Stops early with
 * HR_INTERRUPTED after engine_stop, and can then be continued; HR_NOMEM, from then on, when a
 * schedule could not be kept. */
enum hr_err engine_run(struct engine *e, simtime_ns end);

/* Fires one event earlier than end; false when there is none (now is then unchanged). */
bool engine_step(struct engine *e, simtime_ns end);

/* Asks engine_run to return after the running handler. The only call allowed from another thread
 * or a signal handler. */
void engine_stop(struct engine *e);

/* A check before every event: conservation in debug builds and tests. NULL removes it. */
void engine_check_set(struct engine *e, check_fn *fn, void *ctx);

struct engine_stats engine_stats(const struct engine *e);

#endif
