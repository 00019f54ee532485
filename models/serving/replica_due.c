/* When the next request of a replica can be done: a lower bound, exact while nothing stands in the
 * way.
 *
 * While the requests in the replica fit the cache whole, none is evicted; then until the next one
 * is done n and C only grow, whatever joins, so no step is shorter than one of today's n and C, and
 * the running request with the fewest steps left is done no earlier than that many of them from
 * now. One that waits decodes all its tokens but the first from when it joins. With a cache that
 * may overflow, or before other step times, no boundary is passed over. */
#include "models/serving/replica_state.h"

static bool may_evict(const struct replica *r)
{
    return r->whole_kv > r->config->kv_capacity_tokens;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static struct boundary replica_end(const struct replica *r)
{
    return (struct boundary){r->next_ns - (r->end_ps > 0), r->end_ps};
}

static simtime_ns after_steps(struct boundary from, const struct decode_run *run, uint32_t steps)
{
    return boundary_fires(boundary_add(from, run_ps(run, steps)));
}

/* What runs once the present step is over and its complete prompts decode: the steps of it until
 * the first of these requests is done, ENTRY_NONE when there are none. */
static uint32_t next_run(const struct replica *r, struct decode_run *run)
{
    const struct step_time *s = &r->config->step;
    uint32_t steps = r->n_running ? order_left(r, r->first) - r->run_steps : ENTRY_NONE;
    uint32_t n = r->n_running, front = r->queue_front;
    uint64_t context = r->kv_tokens - r->batch_kv + (uint64_t)r->run_steps * n;
    for (uint32_t i = r->batch_tail > 0; i < r->n_batch; i++) {
        const struct entry *e = &r->entries[front];
        n++;
        context += prompt_of(e) + 1;
        steps = lesser(steps, tokens_left(e) - 1);
        front = e->next;
    }
    run->first_ps = s->a_ps + s->b_ps * n + s->c_ps * context;
    run->growth_ps = s->c_ps * n;
    return steps;
}

simtime_ns replica_due(const struct replica *r)
{
    enum { LOOK = 8 };
    if (r->phase == PHASE_IDLE || r->shift != 0 || may_evict(r) || r->n_queue > r->n_batch + LOOK)
        return r->next_ns;
    const bool decodes = r->phase == PHASE_DECODE;
    struct decode_run run = r->run;
    uint32_t steps = decodes ? order_left(r, r->first) : next_run(r, &run);
    const uint32_t joined = decodes ? r->run_steps : 0;
    for (uint32_t i = 0, entry = r->queue_front; i < r->n_queue; i++) {
        const struct entry *e = &r->entries[entry];
        if (i >= r->n_batch || (r->batch_tail > 0 && i + 1 == r->n_batch))
            steps = lesser(steps, joined + tokens_left(e) - 1);
        entry = e->next;
    }
    return after_steps(decodes ? replica_at(r) : replica_end(r), &run, steps);
}

simtime_ns replica_due_submitted(const struct replica *r, simtime_ns due)
{
    if (due == SIM_NEVER)
        return replica_due(r);
    if (may_evict(r) || r->shift != 0)
        return r->next_ns;
    const struct decode_run run = {replica_decode_ps(r), 0};
    const struct entry *e = &r->entries[r->queue_back];
    const simtime_ns own = after_steps(replica_end(r), &run, tokens_left(e) - 1);
    return own < due ? own : due;
}
