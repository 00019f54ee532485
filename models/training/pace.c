/* The speed of a gang on shared GPUs, which changes while it works: with how many clients at work
 * it shares them.
 *
 * A segment counts wall time, in which its saves are; what it has kept turns into work. Here it
 * does so piece by piece: a piece begins at a wall time of work, with so much work of the segment
 * done, and has one speed. Past saves stand where they were, and all that is left takes another
 * time. Work is rounded down where a piece ends, by less than a nanosecond each.
 *
 * A save keeps the state of an earlier time, so former pieces are remembered back to the last
 * complete one; where the gang never saves there is nothing to keep and none is. */
#include "models/training/queue_internal.h"

#include "sim/vec.h"

#include <assert.h>
#include <string.h>

void pace_reset(struct gang *g)
{
    g->paced_wall_ns = g->paced_work_ns = 0;
    g->paces.n = 0;
}

static simtime_ns work_at(const struct pace *p, simtime_ns wall_ns)
{
    return p->work_ns + elastic_work(p->speed, wall_ns - p->wall_ns);
}

simtime_ns pace_work(const struct gang *g, simtime_ns wall_ns)
{
    const struct pace present = {g->paced_wall_ns, g->paced_work_ns, g->speed};
    if (wall_ns >= present.wall_ns)
        return work_at(&present, wall_ns);
    if (wall_ns == 0)
        return 0;
    size_t low = 0, high = g->paces.n; /* the last piece that begins by then */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(g->paces.items[middle].wall_ns <= wall_ns ? &low : &high) = middle;
    }
    assert(g->paces.n > 0 && g->paces.items[low].wall_ns <= wall_ns);
    return work_at(&g->paces.items[low], wall_ns);
}

simtime_ns pace_wall(const struct gang *g, simtime_ns work_ns)
{
    if (work_ns <= g->paced_work_ns)
        return g->paced_wall_ns;
    return sim_time_add(g->paced_wall_ns, elastic_wall(g->speed, work_ns - g->paced_work_ns));
}

static bool saves(const struct gang *g)
{
    const struct checkpoint_plan *s = &g->saves;
    return (g->interval_ns != 0 && g->interval_ns != SIM_NEVER) ||
           (s->copy_ns != 0 && s->copy_ns != SIM_NEVER) || g->writer.phase != WRITER_OFF;
}

/* Forgets the pieces that end by so much wall time. */
static void forget(struct gang *g, simtime_ns kept_ns)
{
    size_t n = 0;
    while (n + 1 < g->paces.n && g->paces.items[n + 1].wall_ns <= kept_ns)
        n++;
    g->paces.n -= n;
    memmove(g->paces.items, g->paces.items + n, g->paces.n * sizeof *g->paces.items);
}

/* Another speed from now on; p: of now. */
static void change(struct training *t, struct gang *g, const struct progress *p,
                   struct elastic_speed speed)
{
    const struct pace former = {g->paced_wall_ns, g->paced_work_ns, g->speed};
    simtime_ns done = segment_work(g, p->work_ns);
    if (p->work_ns > former.wall_ns && saves(g)) {
        if (g->paces.n == g->paces.capacity)
            forget(g, p->kept_ns);
        if (!vec_push(&g->paces, former))
            training_fail(t, HR_NOMEM);
    }
    g->paced_wall_ns = p->work_ns;
    g->paced_work_ns = done;
    g->speed = speed;
}

/* ---- neighbours ---- */

/* They have come and gone while it restored. */
void pace_join(struct training *t, uint32_t g)
{
    struct gang *gang = &t->gangs.items[g];
    if (fleet_lease_clients(gang_fleet(t, gang), gang->lease) == 0)
        return;
    const struct elastic_speed before = gang->speed;
    extensions_slow(t, gang);
    if (!elastic_same(before, gang->speed))
        gang_expect_anew(t, g);
    extensions_work(t, gang, true);
}

void gang_crowded(struct training *t, uint32_t g, simtime_ns now)
{
    struct gang *gang = &t->gangs.items[g];
    if (gang->state != GANG_TRAINING)
        return;
    const struct progress p = segment_progress(gang, now);
    const struct elastic_speed before = gang->speed;
    extensions_slow(t, gang);
    const struct elastic_speed speed = gang->speed;
    gang->speed = before;
    if (elastic_same(before, speed))
        return;
    change(t, gang, &p, speed);
    gang_expect_anew(t, g);
    if (gang->writer.phase != WRITER_OFF)
        writer_repace(t, g);
    else
        engine_schedule(t->engine, gang->timer, segment_end(gang));
}
