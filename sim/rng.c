/* Philox blocks, the key of a stream, and the draws.
 *
 * The ziggurat takes one word a draw in 98.5 cases of 100: its lowest 8 bits choose the layer, bit
 * 8 the sign, the top 53 bits the point. Gamma: G. Marsaglia and W. W. Tsang, A simple method for
 * generating gamma variables, ACM TOMS 26, 2000; their shape < 1 case by the power of a uniform.
 * Each draw stands in a statement of its own, because C leaves the order within one open. */
#include "sim/rng.h"

#include "sim/int128.h"
#include "sim/ziggurat_tables.h"

#include <Random123/philox.h>
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static uint64_t fnv1a(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static size_t length_with_nul(const char *text)
{
    size_t n = 0;
    while (text[n++])
        ;
    return n;
}

/* The finisher of splitmix64 (Steele, Lea and Flood 2014): every input bit reaches every output
 * bit. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed, uint32_t replication, const char *entity,
              const char *purpose)
{
    const unsigned char number[4] = {(unsigned char)replication, (unsigned char)(replication >> 8),
                                     (unsigned char)(replication >> 16),
                                     (unsigned char)(replication >> 24)};
    uint64_t hash = fnv1a(UINT64_C(0xcbf29ce484222325), number, sizeof number);
    hash =
        fnv1a(hash, entity, length_with_nul(entity)); /* the NUL keeps "ab", "c" from "a", "bc" */
    hash = fnv1a(hash, purpose, length_with_nul(purpose));
    *r = (struct rng){.key = {seed, mix(hash)}};
}

void rng_refill(struct rng *r)
{
    philox4x64_ctr_t counter = {{r->counter[0], r->counter[1], 0, 0}};
    philox4x64_key_t key = {{r->key[0], r->key[1]}};
    philox4x64_ctr_t block = philox4x64_R(10, counter, key);
    for (int i = 0; i < 4; i++)
        r->block[i] = block.v[i];
    r->counter[1] += ++r->counter[0] == 0;
    r->n_left = 4;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    assert(n > 0);
    u128 product = (u128)rng_u64(r) * n;
    if ((uint64_t)product < n) { /* Lemire 2019: the few words that would bias the result */
        uint64_t surplus = (0 - n) % n;
        while ((uint64_t)product < surplus)
            product = (u128)rng_u64(r) * n;
    }
    return (uint64_t)(product >> 64);
}

/* A point in layer i, and whether it lies under the density there; what is inside the next layer up
 * needs no density. */
static inline double layer_point(uint64_t word, const double *x)
{
    return (double)(word >> 11) * 0x1p-53 * x[word % ZIGGURAT_LAYERS];
}

static bool under_density(struct rng *r, const double *f, unsigned layer, double density)
{
    double y = f[layer] + rng_uniform(r) * (f[layer + 1] - f[layer]);
    return y < density;
}

double rng_exponential(struct rng *r)
{
    double beyond = 0; /* the tail is the same distribution, further out */
    for (;;) {
        uint64_t word = rng_u64(r);
        unsigned layer = word % ZIGGURAT_LAYERS;
        double x = layer_point(word, exponential_x);
        if (x < exponential_x[layer + 1])
            return beyond + x;
        if (layer == 0)
            beyond += exponential_x[1];
        else if (under_density(r, exponential_f, layer, exp(-x)))
            return beyond + x;
    }
}

/* Marsaglia 1964. */
static double normal_tail(struct rng *r)
{
    for (;;) {
        double u = rng_uniform(r);
        double v = rng_uniform(r);
        double x = -log(u) / normal_x[1];
        if (-2 * log(v) > x * x)
            return normal_x[1] + x;
    }
}

double rng_normal(struct rng *r)
{
    for (;;) {
        uint64_t word = rng_u64(r);
        unsigned layer = word % ZIGGURAT_LAYERS;
        double sign = word & ZIGGURAT_LAYERS ? -1 : 1;
        double x = layer_point(word, normal_x);
        if (x < normal_x[layer + 1])
            return sign * x;
        if (layer == 0)
            return sign * normal_tail(r);
        if (under_density(r, normal_f, layer, exp(-0.5 * x * x)))
            return sign * x;
    }
}

double rng_gamma(struct rng *r, double shape)
{
    assert(shape > 0);
    double boost = 1;
    if (shape < 1) {
        boost = pow(rng_uniform(r), 1 / shape);
        shape += 1;
    }
    double d = shape - 1.0 / 3, c = 1 / (3 * sqrt(d));
    for (;;) {
        double x = rng_normal(r);
        double root = 1 + c * x;
        if (root <= 0)
            continue;
        double v = root * root * root;
        double u = rng_uniform(r);
        if (u < 1 - 0.0331 * (x * x) * (x * x))
            return boost * d * v;
        if (log(u) < 0.5 * x * x + d * (1 - v + log(v)))
            return boost * d * v;
    }
}

static void gsl_set(void *state, unsigned long seed)
{
    *(struct rng *)state = (struct rng){.key = {seed, 0}};
}

static unsigned long gsl_get(void *state)
{
    return rng_u64(state);
}

static double gsl_get_double(void *state)
{
    return rng_uniform(state);
}

static const gsl_rng_type philox_type = {
    .name = "philox4x64-10",
    .max = ULONG_MAX,
    .min = 0,
    .size = sizeof(struct rng),
    .set = gsl_set,
    .get = gsl_get,
    .get_double = gsl_get_double,
};

_Static_assert(ULONG_MAX == UINT64_MAX, "gsl_rng_get gives whole words");

/* Built by hand because gsl_rng_alloc calls the global error handler when memory is out. */
gsl_rng *rng_gsl_new(const struct rng *r)
{
    gsl_rng *g = malloc(sizeof *g);
    struct rng *state = malloc(sizeof *state);
    if (!g || !state) {
        free(state);
        free(g);
        return NULL;
    }
    *state = *r;
    *g = (gsl_rng){.type = &philox_type, .state = state};
    return g;
}
