/* Recorded losses of spot nodes and recorded failures. */
#include "models/capacity/supply_internal.h"

#include <string.h>

simtime_ns replay_offset(const struct supply *s, simtime_ns span_ns, struct rng *r)
{
    return s->replication == 0 || span_ns == 0 ? 0 : rng_below(r, span_ns);
}

static bool counts(const struct supply_trace *t)
{
    return t->n > 0 && t->rows[0].node == SUPPLY_ANY_NODE;
}

static void rewind_to_start(struct replay *r)
{
    r->next = 0;
    r->count = r->trace->up_at_start;
    for (uint32_t i = 0; i < r->supply->n; i++)
        r->up[i] = i >= r->trace->nodes || i < r->trace->up_at_start;
}

static void take_row(struct replay *r)
{
    const struct supply_event *e = &r->trace->rows[r->next++];
    if (e->node == SUPPLY_ANY_NODE)
        r->count += e->change;
    else if (e->node < r->supply->n)
        r->up[e->node] = e->change > 0;
}

/* When the trace, which begins before the run, has come so far. */
static simtime_ns reached(const struct replay *r, simtime_ns at_ns)
{
    simtime_ns t = sim_time_add(r->lap * r->trace->span_ns, at_ns);
    return t > r->offset_ns ? t - r->offset_ns : 0;
}

static simtime_ns next_due(const struct replay *r)
{
    if (r->next < r->trace->n)
        return reached(r, r->trace->rows[r->next].at_ns);
    return r->loop ? reached(r, r->trace->span_ns) : SIM_NEVER;
}

static void advance(struct replay *r, simtime_ns now)
{
    while (next_due(r) <= now)
        if (r->next < r->trace->n) {
            take_row(r);
        } else {
            r->lap++;
            rewind_to_start(r);
        }
}

/* ---- from what is recorded to what is ---- */

static bool is_up(const struct replay *r, uint32_t node)
{
    return !(r->supply->nodes[node].out & (r->failures ? OUT_FAILED : OUT_GONE));
}

/* Turns a count into nodes: as they are, less the highest or with the lowest. */
static void choose(struct replay *r)
{
    struct supply *s = r->supply;
    int64_t up = 0;
    for (uint32_t i = 0; i < s->n; i++)
        up += r->up[i] = is_up(r, i);
    for (uint32_t i = s->n; i-- > 0 && up > r->count;)
        if (r->up[i]) {
            r->up[i] = 0;
            up--;
        }
    for (uint32_t i = 0; i < s->n && up < r->count; i++)
        if (!r->up[i]) {
            r->up[i] = 1;
            up++;
        }
}

/* Losses now; what comes back does so in its own class of this instant. */
static void play(void *ctx, uint32_t arg)
{
    struct replay *r = ctx;
    struct supply *s = r->supply;
    (void)arg;
    advance(r, supply_now(s));
    if (counts(r->trace))
        choose(r);
    for (uint32_t i = 0; i < s->n; i++) {
        bool up = is_up(r, i);
        if (up && !r->up[i] && r->failures)
            risk_fail(s, i);
        else if (up && !r->up[i])
            risk_notice(s, i);
        else if (!up && r->up[i])
            engine_schedule(s->engine, r->failures ? s->nodes[i].repair : s->nodes[i].back,
                            supply_now(s));
    }
    engine_schedule(s->engine, r->timer, next_due(r));
}

enum hr_err replay_init(struct supply *s, struct replay *r, const struct supply_trace *trace,
                        bool failures, bool loop, struct rng *offset)
{
    r->supply = s;
    r->trace = trace;
    r->failures = failures;
    if (!trace)
        return HR_OK;
    r->loop = loop && trace->span_ns > 0;
    r->offset_ns = r->loop ? replay_offset(s, trace->span_ns, offset) : 0;
    r->up = arena_array(&s->arena, s->n, sizeof *r->up);
    if (!r->up)
        return HR_NOMEM;
    return engine_timer_new(s->engine, EVENT_FAILURE, play, r, 0, &r->timer);
}

void replay_start(struct replay *r)
{
    struct supply *s = r->supply;
    if (!r->trace)
        return;
    rewind_to_start(r);
    advance(r, 0);
    if (counts(r->trace))
        choose(r);
    for (uint32_t i = 0; i < s->n; i++)
        if (!r->up[i])
            supply_out(s, i, r->failures ? OUT_FAILED : OUT_ABSENT);
    engine_schedule(s->engine, r->timer, next_due(r));
}
