/* Sets of numbers against an array of flags. */
#include "sim/number_set.h"

#include "sim/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static uint32_t plain_next(const bool *in, uint32_t n, uint32_t from)
{
    while (from < n && !in[from])
        from++;
    return from < n ? from : NUMBER_NONE;
}

Test(number_set, equals_an_array_of_flags)
{
    static const uint32_t sizes[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, 9000};
    struct rng rng;
    rng_init(&rng, 1, 0, "number set", "test");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint32_t n = sizes[k];
        struct arena arena;
        struct number_set set;
        bool *in = calloc(n, sizeof *in);
        arena_init(&arena);
        cr_assert(in && number_set_init(&set, n, &arena));
        cr_assert_eq(number_set_next(&set, 0), NUMBER_NONE);
        for (int step = 0; step < 4000; step++) {
            uint32_t i = (uint32_t)(rng_u64(&rng) % n), from = (uint32_t)(rng_u64(&rng) % (n + 2));
            in[i] = rng_u64(&rng) % 8 == 0; /* mostly empty: long gaps */
            if (in[i])
                number_set_add(&set, i);
            else
                number_set_remove(&set, i);
            cr_assert_eq(number_set_has(&set, i), in[i]);
            cr_assert_eq(number_set_next(&set, from), plain_next(in, n, from));
        }
        free(in);
        arena_fini(&arena);
    }
}
