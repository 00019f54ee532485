/* Student t over the per-replication differences (stats/interval.h does the arithmetic). */
#include "analysis/paired.h"

#include "analysis/stats/interval.h"

#include <math.h>

struct paired paired_difference(const struct summary *s, size_t metric, uint32_t column,
                                uint32_t entity, uint32_t part)
{
    struct tally t = {0};
    for (uint32_t r = 0; r < s->n_replications; r++) {
        double first = *summary_at(s, metric, 0, r, entity, part);
        double here = *summary_at(s, metric, column, r, entity, part);
        if (!isnan(first) && !isnan(here))
            tally_add(&t, here - first);
    }
    struct interval i = interval_tally(&t, PAIRED_CONFIDENCE);
    bool printed = i.n >= PAIRED_LEAST_REPLICATIONS;
    return (struct paired){
        .n = (uint32_t)i.n,
        .mean = i.mean,
        .low = printed ? i.low : NAN,
        .high = printed ? i.high : NAN,
    };
}

bool paired_significant(const struct paired *p)
{
    return p->low > 0 || p->high < 0;
}
