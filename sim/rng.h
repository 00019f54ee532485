/* Random streams: Philox4x64-10, one stream per (seed, replication, entity, purpose).
 *
 * The key is the seed and a 64-bit hash (FNV-1a over replication, entity and purpose, finished with
 * a mixer), so adding an entity or changing a design changes no draw of any other. A stream is 80
 * bytes of plain data, copied by assignment, and gives 2^128 blocks of four words.
 *
 * Exponential and normal draws use the ziggurat (Marsaglia and Tsang 2000, 256 layers, tables built
 * at compile time or constant), so libm decides nothing but rare tails. Known answer, key 0,
 * counter 0: 16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b. */
#ifndef HEADROOM_SIM_RNG_H
#define HEADROOM_SIM_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

struct rng {
    uint64_t key[2];
    uint64_t counter[2]; /* of the next block */
    uint64_t block[4];
    uint32_t n_left; /* words of block not yet given out, taken from the front */
};

void rng_init(struct rng *r, uint64_t seed, uint32_t replication, const char *entity,
              const char *purpose);

/* Refill used by the inline draws below. */
void rng_refill(struct rng *r);

static inline uint64_t rng_u64(struct rng *r)
{
    if (r->n_left == 0)
        rng_refill(r);
    return r->block[4 - r->n_left--];
}

/* Uniform in (0, 1): the middles of 2^52 cells, never 0 or 1 (with 2^53 the last would round to 1).
 */
static inline double rng_uniform(struct rng *r)
{
    return ((double)(rng_u64(r) >> 12) + 0.5) * 0x1p-52;
}

uint64_t rng_below(struct rng *r, uint64_t n); /* uniform in 0..n-1 without bias, n >= 1 */
double rng_exponential(struct rng *r);         /* mean 1 */
double rng_normal(struct rng *r);              /* mean 0, variance 1 */
double rng_gamma(struct rng *r, double shape); /* scale 1, shape > 0: Marsaglia and Tsang 2000 */

/* The stream as a GSL generator, for the rest of gsl_ran_*. Free with gsl_rng_free; it holds a copy
 * of the stream. NULL when memory is out. */
gsl_rng *rng_gsl_new(const struct rng *r);

#endif
