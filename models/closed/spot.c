/* Spot against on demand; spot.h states the formulas. */
#include "models/closed/spot.h"

#include "models/closed/renewal.h"

#include <math.h>

static struct renewal gang(const struct spot_terms *t, double node_mtbf_s)
{
    return (struct renewal){node_mtbf_s / t->gang_nodes, t->save_s, t->restart_s, t->down_s};
}

static struct renewal on_spot(const struct spot_terms *t, double node_mtbf_s)
{
    struct renewal r = gang(t, node_mtbf_s);
    r.down_s += t->paid_notice_s;
    return r;
}

static double best_efficiency(const struct renewal *r)
{
    return renewal_efficiency(r, renewal_interval_s(r, 0));
}

/* Efficiency grows with the MTBF: bisection of its logarithm. */
static double breakeven_mtbf_s(const struct spot_terms *t, double eff)
{
    double low = log(1e-3), high = log(1e15);
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;
        const struct renewal r = on_spot(t, exp(middle));
        double got = best_efficiency(&r);
        if (got < eff || isnan(got))
            low = middle;
        else
            high = middle;
    }
    return exp((low + high) / 2);
}

struct spot_worth spot_worth(const struct spot_terms *t)
{
    const struct renewal spot = on_spot(t, t->mtbf_s), od = gang(t, t->od_mtbf_s);
    const struct renewal saved = gang(t, t->mtbf_s); /* notice_s has the notice in it */
    struct spot_worth w = {.gang_mtbf_s = spot.mtbf_s,
                           .interval_s = renewal_interval_s(&spot, 0),
                           .eff = best_efficiency(&spot),
                           .od_interval_s = renewal_interval_s(&od, 0),
                           .od_eff = best_efficiency(&od),
                           .notice_saves = t->save_s <= t->notice_s};
    w.cost = t->spot_price / w.eff;
    w.od_cost = t->od_price / w.od_eff;
    w.saving_frac = 1 - w.cost / w.od_cost;
    w.pays = w.cost < w.od_cost;
    w.breakeven_price = w.od_cost * w.eff;
    w.breakeven_discount_frac = 1 - w.breakeven_price / t->od_price;
    w.breakeven_mtbf_s =
        t->spot_price >= w.od_cost ? NAN : breakeven_mtbf_s(t, t->spot_price / w.od_cost);
    w.notice_eff = w.notice_saves ? renewal_notice_efficiency(&saved, t->notice_s) : w.eff;
    w.notice_cost = t->spot_price / w.notice_eff;
    return w;
}
