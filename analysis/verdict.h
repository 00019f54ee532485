/* Which design keeps every promise, and which one to take.
 *
 * An objective is met when no window of any replication breaches it, missed when one does, untested
 * when no request came. A design meets its objectives when it misses none.
 *
 * The choice: of the designs that meet every objective the one with the lowest cost per useful
 * GPU-hour (all supplied capacity over serving + training; without a price the highest utilization,
 * which is the same order on one fleet). When none meets all, the one with the fewest minutes in
 * breach, then the lowest cost. Ties go to the design named first. Figures are means over the
 * replications. */
#ifndef HEADROOM_ANALYSIS_VERDICT_H
#define HEADROOM_ANALYSIS_VERDICT_H

#include "analysis/summary.h"

#include <stdbool.h>

enum fate {
    FATE_MET,
    FATE_MISSED,
    FATE_UNTESTED,
    FATE_ABSENT /* the design has no such objective */
};

struct design_verdict {
    bool meets;        /* no objective missed */
    bool tested;       /* at least one objective met or missed */
    double breach_min; /* in breach of any objective, summed over services */
    double cost;       /* what designs are ranked by: lower is better */
};

struct verdict {
    struct design_verdict *designs; /* owned; per column */
    uint32_t n_meeting;
    bool tested;        /* some design was */
    uint32_t choice;    /* column */
    uint32_t reference; /* what the choice is compared with: the first column, or when that is the
                           choice the next best; the choice itself when it is alone */
};

enum hr_err verdict_init(struct verdict *v, const struct summary *s);
void verdict_fini(struct verdict *v); /* accepts a zeroed struct */

enum fate verdict_objective(const struct summary *s, uint32_t column, uint32_t service,
                            uint32_t objective);

/* "meets the lowest cost ..." : the rule in one sentence, for reports. */
const char *verdict_rule(const struct summary *s);

#endif
