/* Faults of clients on shared GPUs, and of MIG instances.
 *
 * Each client that is held has faults at a constant rate. One clock for the pool, as fast as if all
 * its units were held, strikes a unit at random, and what strikes nobody is nothing: the same
 * process by thinning. It has a stream of its own, so designs meet the same strikes. */
#include "models/capacity/supply_internal.h"

static void draw(struct supply *s)
{
    double gap_s = rng_exponential(&s->client) * s->client_mtbf_s / (double)s->n_units;
    engine_schedule(s->engine, s->client_timer,
                    sim_time_add(supply_now(s), sim_time_from_s(gap_s)));
}

static void strike(void *ctx, uint32_t arg)
{
    (void)arg;
    struct supply *s = ctx;
    uint32_t unit = (uint32_t)rng_below(&s->client, s->n_units);
    uint32_t ended = fleet_client_fault(s->fleet, unit);
    if (ended > 0 && supply_now(s) >= s->measured_from) {
        s->totals.client_faults++;
        s->totals.clients_ended += ended;
    }
    draw(s);
}

enum hr_err client_init(struct supply *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        s->n_units += fleet_node_gpus(s->fleet, i);
    return s->client_mtbf_s > 0
               ? engine_timer_new(s->engine, EVENT_FAILURE, strike, s, 0, &s->client_timer)
               : HR_OK;
}

void client_start(struct supply *s)
{
    if (s->client_mtbf_s > 0)
        draw(s);
}
