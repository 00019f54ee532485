/* Random numbers for tests, apart from the streams under test: splitmix64 (S. Vigna, public
 * domain). */
#ifndef HEADROOM_TESTS_MODELS_DRAW_H
#define HEADROOM_TESTS_MODELS_DRAW_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Below n; the bias does not matter here. */
static inline uint32_t draw_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(draw(state) % n);
}

#endif
