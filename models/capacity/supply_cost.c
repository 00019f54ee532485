/* Price paths, and what the pool costs.
 *
 * Between two changes of the price each account grows by share-nanoseconds at one price, so the
 * integral is a sum over steps: what the ledger booked since the last step times the price then.
 * Under a constant price that is one step, the price times the account. */
#include "models/capacity/supply_internal.h"

#define NS_PER_H 3.6e12

void supply_settle(struct supply *s, simtime_ns now)
{
    ledger_settle(s->ledger, now);
    for (uint32_t owner = 0; owner < s->n_owners; owner++)
        for (unsigned state = 0; state < GPU_STATES; state++) {
            size_t a = (size_t)owner * GPU_STATES + state;
            u128 total = ledger_total(s->ledger, owner, (enum gpu_state)state);
            double ns = total >= s->priced[a] ? (double)(total - s->priced[a])
                                              : -(double)(s->priced[a] - total); /* re-booked */
            s->cost_usd[a] +=
                state == GPU_ABSENT ? 0 : s->price_usd * (ns / NS_PER_H) / s->units_per_gpu;
            s->priced[a] = total;
        }
    simtime_ns from = s->priced_to_ns > s->measured_from ? s->priced_to_ns : s->measured_from;
    if (now > from)
        s->price_integral_usd_ns += s->price_usd * (double)(now - from);
    s->priced_to_ns = now;
}

double supply_cost_usd(const struct supply *s, uint32_t owner, unsigned state)
{
    return s->cost_usd[(size_t)owner * GPU_STATES + state];
}

double supply_mean_price(const struct supply *s)
{
    if (!s->plan.price || s->priced_to_ns <= s->measured_from)
        return s->price_usd;
    return s->price_integral_usd_ns / (double)(s->priced_to_ns - s->measured_from);
}

/* ---- the path ---- */

static simtime_ns step_due(const struct supply *s)
{
    const struct price_trace *p = s->plan.price;
    bool more = s->price_next < p->n;
    if (!more && p->span_ns == 0)
        return SIM_NEVER;
    simtime_ns at = more ? p->rows[s->price_next].at_ns : p->span_ns;
    simtime_ns t = sim_time_add(s->price_lap * p->span_ns, at);
    return t > s->price_offset_ns ? t - s->price_offset_ns : 0;
}

/* Every step up to now; a lap begins with the first price. */
static void follow(struct supply *s, simtime_ns now)
{
    const struct price_trace *p = s->plan.price;
    while (step_due(s) <= now)
        if (s->price_next < p->n) {
            s->price_usd = p->rows[s->price_next++].usd_per_gpu_h;
        } else {
            s->price_lap++;
            s->price_next = 0;
            s->price_usd = p->rows[0].usd_per_gpu_h;
        }
}

static void price_changes(void *ctx, uint32_t arg)
{
    struct supply *s = ctx;
    (void)arg;
    supply_settle(s, supply_now(s));
    follow(s, supply_now(s));
    engine_schedule(s->engine, s->price_timer, step_due(s));
}

enum hr_err cost_init(struct supply *s, double constant_usd, struct rng *offset)
{
    size_t accounts = (size_t)s->n_owners * GPU_STATES;
    s->price_usd = constant_usd;
    s->cost_usd = arena_array(&s->arena, accounts, sizeof *s->cost_usd);
    s->priced = arena_array(&s->arena, accounts, sizeof *s->priced);
    if (!s->cost_usd || !s->priced)
        return HR_NOMEM;
    if (!s->plan.price)
        return HR_OK;
    s->price_usd = s->plan.price->rows[0].usd_per_gpu_h;
    s->price_offset_ns = replay_offset(s, s->plan.price->span_ns, offset);
    return engine_timer_new(s->engine, EVENT_WINDOW, price_changes, s, 0, &s->price_timer);
}

void cost_start(struct supply *s)
{
    if (!s->plan.price)
        return;
    follow(s, 0);
    engine_schedule(s->engine, s->price_timer, step_due(s));
}
