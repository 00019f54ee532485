/* The closed form of a run against its sum step by step, and its inverse where double is not exact.
 */
#include "models/serving/replica_clock.h"

#include <criterion/criterion.h>

static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

Test(replica_clock, run_is_the_sum_of_its_steps)
{
    const struct decode_run run = {12345678901, 987654321};
    u128 sum = 0;
    for (uint32_t k = 1; k <= 1000; k++) {
        sum += run.first_ps + (u128)(k - 1) * run.growth_ps;
        cr_assert(run_ps(&run, k) == sum);
    }
}

/* Exactly at a boundary, one picosecond before and one after it; up to the largest runs there are.
 */
Test(replica_clock, first_after)
{
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        const unsigned size = (unsigned)(draw(&state) % 60);
        const unsigned steps = (unsigned)(draw(&state) % 29);
        const unsigned flat = (unsigned)(draw(&state) % 50);
        const uint32_t last = 2 + (uint32_t)(draw(&state) >> (35 + steps));
        const uint64_t growth = draw(&state) >> (14 + flat);
        const struct decode_run run = {1 + 2 * growth + (draw(&state) >> (4 + size)), growth};
        const uint32_t k = 1 + (uint32_t)(draw(&state) % (last - 1));
        const u128 end = run_ps(&run, k);
        cr_assert_eq(run_first_after(&run, end, last), k + 1);
        cr_assert_eq(run_first_after(&run, end - 1, last), k);
        cr_assert_eq(run_first_after(&run, end + 1, last),
                     k + 1 + (k + 1 < last && run_ps(&run, k + 1) == end + 1));
        cr_assert_eq(run_first_after(&run, 0, last), 1);
        cr_assert_eq(run_first_after(&run, run_ps(&run, last), last), last);
    }
}

Test(replica_clock, steps_of_no_length)
{
    const struct decode_run run = {0, 0};
    cr_expect_eq(run_first_after(&run, 0, 7), 7);
}

Test(replica_clock, boundaries)
{
    struct boundary b = boundary_add((struct boundary){5, 400}, 1599);
    cr_expect(b.ns == 6 && b.ps == 999);
    cr_expect_eq(boundary_fires(b), 7);
    b = boundary_add(b, 1);
    cr_expect(b.ns == 7 && b.ps == 0);
    cr_expect_eq(boundary_fires(b), 7);
    cr_expect(boundary_until((struct boundary){7, 250}, 9) == 1750);
    /* 2^64 ps and more: 128 bits. */
    b = boundary_add((struct boundary){1, 0}, (u128)1 << 70);
    cr_expect(b.ns == UINT64_C(1180591620717411304) && b.ps == 424);
    b = boundary_add((struct boundary){SIM_NEVER - 10, 0}, 10000);
    cr_expect_eq(boundary_fires(b), SIM_NEVER);
    b = boundary_add((struct boundary){1, 0}, (u128)1 << 100);
    cr_expect_eq(boundary_fires(b), SIM_NEVER);
}
