/* Hit rates of a cache of k items out of n, requested independently with Zipf popularity:
 * p_i proportional to i^-s.
 *
 *   pinned   the k most popular are kept: the sum of their p_i
 *   LRU      the k most recently used are kept, in Che's approximation: an item stays for t
 *            requests after its last use, where the sum of (1 - e^(-p_i t)) is k, and
 *            hits = sum of p_i (1 - e^(-p_i t))
 *
 * H. Che, Y. Tung and Z. Wang, IEEE JSAC 20(7), 2002. All items alike (s = 0): both are k/n. As
 * many slots as items: 1, and t is infinite (first uses aside); no slot: 0 and t = 0. Cost: some 20
 * sums over n. */
#ifndef HEADROOM_MODELS_CLOSED_ZIPF_CACHE_H
#define HEADROOM_MODELS_CLOSED_ZIPF_CACHE_H

#include "sim/err.h"

#include <stdint.h>

struct zipf_cache {
    double hit_pinned;
    double char_time;         /* t, in requests */
    double hit_lru, miss_lru; /* to full precision both; they sum to 1 */
};

/* HR_INPUT: no items, or s negative, NaN or above 100. */
enum hr_err zipf_cache(uint32_t items, double s, uint32_t slots, struct zipf_cache *out);

#endif
