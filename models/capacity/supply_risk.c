/* Drawn losses of spot nodes, shocks, failures and repairs.
 *
 * The clocks of a node run while it is there and whole, in maintenance too; they are drawn anew
 * when it comes back, which changes nothing: an exponential life has no memory and a Weibull risk
 * is drawn given the age that was reached. */
#include "models/capacity/supply_internal.h"

#include <math.h>

#define DAY_S 86400.0

/* ---- the next event of a node ---- */

/* From age a until the next failure of a Weibull risk. */
static double weibull_after(double age_s, double scale_s, double shape, struct rng *r)
{
    double e = rng_exponential(r);
    return scale_s * pow(pow(age_s / scale_s, shape) + e, 1 / shape) - age_s;
}

static bool has_failures(const struct failure_plan *f)
{
    return f->per_1000_node_days > 0 || f->infant_scale_s > 0 || f->wear_out_scale_s > 0;
}

static simtime_ns draw_failure(struct supply *s)
{
    const struct failure_plan *f = &s->plan.failure;
    double age_s = f->age_s + sim_time_to_s(supply_now(s)), next_s = INFINITY;
    if (f->per_1000_node_days > 0)
        next_s = rng_exponential(&s->failure) * 1000 * DAY_S / f->per_1000_node_days;
    if (f->infant_scale_s > 0)
        next_s =
            fmin(next_s, weibull_after(age_s, f->infant_scale_s, f->infant_shape, &s->failure));
    if (f->wear_out_scale_s > 0)
        next_s =
            fmin(next_s, weibull_after(age_s, f->wear_out_scale_s, f->wear_out_shape, &s->failure));
    return sim_time_add(supply_now(s), sim_time_from_s(next_s));
}

static bool has_hazard(const struct supply *s)
{
    return s->plan.kind == SUPPLY_SPOT && !s->plan.spot.trace && s->plan.spot.life_s > 0;
}

void risk_arm(struct supply *s, uint32_t node)
{
    struct node_supply *n = &s->nodes[node];
    if (n->risk == TIMER_NONE)
        return;
    if (n->out & (OUT_GONE | OUT_FAILED)) {
        engine_cancel(s->engine, n->risk);
        n->armed = false;
        return;
    }
    if (n->armed)
        return;
    n->armed = true;
    n->notice_due = n->failure_due = SIM_NEVER;
    if (has_hazard(s)) {
        double life_s = rng_exponential(&s->notice) * s->plan.spot.life_s;
        n->notice_due = sim_time_add(supply_now(s), sim_time_from_s(life_s));
    }
    if (!s->plan.failure.trace && has_failures(&s->plan.failure))
        n->failure_due = draw_failure(s);
    engine_schedule(s->engine, n->risk,
                    n->notice_due < n->failure_due ? n->notice_due : n->failure_due);
}

static void risk_fired(void *ctx, uint32_t node)
{
    struct supply *s = ctx;
    struct node_supply *n = &s->nodes[node];
    n->armed = false;
    if (n->notice_due <= n->failure_due) {
        risk_notice(s, node);
    } else {
        risk_fail(s, node);
        risk_repair(s, node);
    }
}

/* ---- losses ---- */

static void lose(struct supply *s, uint32_t node)
{
    const struct spot_plan *spot = &s->plan.spot;
    supply_count(s, &s->totals.losses);
    s->nodes[node].out &= (uint8_t)~OUT_LEAVING;
    supply_strike(s, node, OUT_ABSENT);
    if (!spot->trace) {
        simtime_ns absence = dist_draw(&spot->absence, &s->absence);
        engine_schedule(s->engine, s->nodes[node].back, sim_time_add(supply_now(s), absence));
    }
}

static void notice_over(void *ctx, uint32_t node)
{
    lose(ctx, node);
}

void risk_notice(struct supply *s, uint32_t node)
{
    simtime_ns notice = s->plan.spot.notice_ns;
    supply_count(s, &s->totals.notices);
    if (notice == 0) {
        lose(s, node);
        return;
    }
    supply_out(s, node, OUT_LEAVING);
    fleet_node_drain(s->fleet, node, notice);
    engine_schedule(s->engine, s->nodes[node].gone, sim_time_add(supply_now(s), notice));
}

/* A node that a trace returns within its notice was not lost. */
static void came_back(void *ctx, uint32_t node)
{
    struct supply *s = ctx;
    struct node_supply *n = &s->nodes[node];
    if (n->gone != TIMER_NONE)
        engine_cancel(s->engine, n->gone);
    if (n->on_its_way) {
        n->on_its_way = false;
        s->n_on_their_way--;
        supply_count(s, &s->totals.provisioned);
    } else if (n->out & OUT_ABSENT) {
        supply_count(s, &s->totals.returns);
    }
    if (n->out & OUT_GONE)
        supply_in(s, node, OUT_GONE);
}

static void draw_shock(struct supply *s)
{
    double gap_s = rng_exponential(&s->shock) * s->plan.spot.shock_gap_s;
    engine_schedule(s->engine, s->shock_timer, sim_time_add(supply_now(s), sim_time_from_s(gap_s)));
}

static void shock(void *ctx, uint32_t arg)
{
    struct supply *s = ctx;
    uint32_t n = 0;
    (void)arg;
    for (uint32_t i = 0; i < s->n; i++)
        if (!(s->nodes[i].out & (OUT_GONE | OUT_FAILED)))
            s->scratch[n++] = i;
    uint32_t take = (uint32_t)(s->plan.spot.shock_share * n + 0.5);
    if (take == 0 && n > 0)
        take = 1;
    for (uint32_t i = 0; i < take; i++) {
        uint32_t at = i + (uint32_t)rng_below(&s->shock, n - i), node = s->scratch[at];
        s->scratch[at] = s->scratch[i];
        risk_notice(s, node);
    }
    if (take > 0)
        supply_count(s, &s->totals.shocks);
    draw_shock(s);
}

/* ---- failures ---- */

void risk_fail(struct supply *s, uint32_t node)
{
    supply_count(s, &s->totals.failures);
    supply_strike(s, node, OUT_FAILED);
}

void risk_repair(struct supply *s, uint32_t node)
{
    const struct failure_plan *f = &s->plan.failure;
    bool reboot = rng_uniform(&s->repair) < f->reboot_share;
    simtime_ns t = dist_draw(reboot ? &f->repair_reboot : &f->repair_part, &s->repair);
    engine_schedule(s->engine, s->nodes[node].repair, sim_time_add(supply_now(s), t));
}

static void repaired(void *ctx, uint32_t node)
{
    struct supply *s = ctx;
    supply_count(s, &s->totals.repairs);
    if (s->nodes[node].out & OUT_FAILED)
        supply_in(s, node, OUT_FAILED);
}

/* ---- start ---- */

static bool upgrades_fail(const struct supply *s)
{
    for (size_t i = 0; i < s->plan.n_maintenance; i++)
        if (s->plan.maintenance[i].fail_share > 0)
            return true;
    return false;
}

enum hr_err risk_init(struct supply *s)
{
    const struct supply_plan *p = &s->plan;
    bool spot = p->kind == SUPPLY_SPOT, fails = has_failures(&p->failure) && !p->failure.trace;
    if (spot) {
        TRY(supply_timers(s, EVENT_FAILURE, notice_over, offsetof(struct node_supply, gone)));
        TRY(engine_timer_new(s->engine, EVENT_FAILURE, shock, s, 0, &s->shock_timer));
    }
    if (has_hazard(s) || fails)
        TRY(supply_timers(s, EVENT_FAILURE, risk_fired, offsetof(struct node_supply, risk)));
    if (spot || p->kind == SUPPLY_ON_DEMAND)
        TRY(supply_timers(s, EVENT_SUPPLY, came_back, offsetof(struct node_supply, back)));
    if (fails || p->failure.trace || upgrades_fail(s))
        TRY(supply_timers(s, EVENT_SUPPLY, repaired, offsetof(struct node_supply, repair)));
    return HR_OK;
}

void risk_start(struct supply *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        risk_arm(s, i);
    if (s->plan.kind == SUPPLY_SPOT && !s->plan.spot.trace && s->plan.spot.shock_gap_s > 0 &&
        s->plan.spot.shock_share > 0)
        draw_shock(s);
}
