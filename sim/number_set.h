/* A set of the numbers below n: one bit a number, and one bit a word that has any.
 *
 * Adding and removing touch two words; the next member from a number on is found in a few words
 * whatever n is, up to some hundred thousand. Memory is an arena's. */
#ifndef HEADROOM_SIM_NUMBER_SET_H
#define HEADROOM_SIM_NUMBER_SET_H

#include "sim/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct number_set {
    uint64_t *words, *summary;
    uint32_t n_summary;
};

#define NUMBER_NONE UINT32_MAX

/* Empty, for numbers below n; false when memory is out. */
static inline bool number_set_init(struct number_set *s, uint32_t n, struct arena *arena)
{
    uint32_t n_words = n / 64 + 1;
    s->n_summary = n_words / 64 + 1;
    s->words = arena_array(arena, n_words, sizeof *s->words);
    s->summary = arena_array(arena, s->n_summary, sizeof *s->summary);
    return s->words && s->summary;
}

static inline void number_set_add(struct number_set *s, uint32_t i)
{
    uint32_t w = i / 64;
    s->words[w] |= UINT64_C(1) << i % 64;
    s->summary[w / 64] |= UINT64_C(1) << w % 64;
}

static inline void number_set_remove(struct number_set *s, uint32_t i)
{
    uint32_t w = i / 64;
    s->words[w] &= ~(UINT64_C(1) << i % 64);
    if (s->words[w] == 0)
        s->summary[w / 64] &= ~(UINT64_C(1) << w % 64);
}

static inline bool number_set_has(const struct number_set *s, uint32_t i)
{
    return s->words[i / 64] >> i % 64 & 1;
}

/* The bits from bit number i on. */
static inline uint64_t number_set_from(uint64_t word, uint32_t i)
{
    return i == 64 ? 0 : word >> i << i;
}

/* The lowest member that is at least from, or NUMBER_NONE. */
static inline uint32_t number_set_next(const struct number_set *s, uint32_t from)
{
    uint32_t w = from / 64, i = w / 64;
    if (i >= s->n_summary)
        return NUMBER_NONE;
    bool any = s->summary[i] >> w % 64 & 1;
    uint64_t word = any ? number_set_from(s->words[w], from % 64) : 0;
    if (word)
        return w * 64 + (uint32_t)__builtin_ctzll(word);
    uint64_t words = number_set_from(s->summary[i], w % 64 + 1);
    while (!words) {
        if (++i == s->n_summary)
            return NUMBER_NONE;
        words = s->summary[i];
    }
    w = i * 64 + (uint32_t)__builtin_ctzll(words);
    return w * 64 + (uint32_t)__builtin_ctzll(s->words[w]);
}

#endif
