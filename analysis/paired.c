/* Student t over the per-replication differences (sim/stat.h does the arithmetic). */
#include "analysis/paired.h"

#include "sim/stat.h"

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
    struct paired p = {(uint32_t)t.n, t.n ? t.mean : NAN, NAN, NAN};
    if (t.n >= PAIRED_LEAST_REPLICATIONS) {
        double half = tally_half_width(&t, PAIRED_CONFIDENCE);
        p.low = p.mean - half;
        p.high = p.mean + half;
    }
    return p;
}

bool paired_significant(const struct paired *p)
{
    return p->low > 0 || p->high < 0;
}
