/* When spot capacity pays: the price of a useful GPU-hour on spot and on demand.
 *
 * Cost of a useful GPU-hour = price / efficiency, both kinds of capacity saving at their own exact
 * optimum interval (renewal.h). A gang is interrupted when any of its nodes is: M = M_node / nodes.
 * Saving only on notice is possible where the save fits into the notice. Spot pays while
 * spot_price / spot_eff < od_price / od_eff, hence
 *
 *   break-even price      od_cost x spot_eff
 *   break-even discount   1 - break-even price / od_price
 *   break-even MTBF       of a node, where the costs are equal; NaN when spot_price >= od_cost
 *
 * Waiting for replacement capacity counts as lost wall time at the spot price. So does a notice
 * that is paid for while the gang has stopped already: with P seconds of it a spot interruption
 * costs D + P, and
 *
 *   spot_eff = tau / (e^(R/M) (M + D + P) (e^((tau + C)/M) - 1))
 *
 * where waiting itself holds no GPU, D = 0. On demand comes without notice. P = 0 is the plain form
 * of the sources. The interval that is best does not depend on D or P. Seconds, and dollars a
 * GPU-hour. */
#ifndef HEADROOM_MODELS_CLOSED_SPOT_H
#define HEADROOM_MODELS_CLOSED_SPOT_H

#include <stdbool.h>
#include <stdint.h>

struct spot_terms {
    double od_price, spot_price;
    double mtbf_s, od_mtbf_s; /* of one node */
    double save_s, restart_s, down_s, notice_s;
    double paid_notice_s; /* P: of the notice, what is paid for and lost; 0: none */
    uint32_t gang_nodes;
};

struct spot_worth {
    double gang_mtbf_s, interval_s, eff, od_interval_s, od_eff;
    double cost, od_cost, saving_frac;
    double breakeven_price, breakeven_discount_frac, breakeven_mtbf_s;
    double notice_eff, notice_cost;
    bool pays, notice_saves;
};

struct spot_worth spot_worth(const struct spot_terms *t);

#endif
