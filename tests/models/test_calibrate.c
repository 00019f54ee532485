/* In flight at a rate: against a service of many replicas at that rate, and at the edges. */
#include "models/serving/calibrate.h"

#include "tests/models/plan_kit.h"

#include <criterion/criterion.h>

static struct replica_config config_of(uint32_t max_num_seqs)
{
    return (struct replica_config){kit_step_time(), PREFILL_CHUNKED, max_num_seqs, 2048, 600000};
}

static double measured(const struct replica_config *c, double rate)
{
    const struct traffic_plan traffic = {.prompt_mean = 1155,
                                         .prompt_cv = 1,
                                         .output_mean = 211,
                                         .output_cv = 1,
                                         .max_prompt_tokens = 14050,
                                         .max_output_tokens = 1000};
    double n;
    cr_assert_eq(calibrate_in_flight(c, &traffic, rate, &n), HR_OK);
    return n;
}

/* Little's law at a load so light that requests hardly meet: n = rate (prefill + steps x step). */
Test(calibrate, light_load_is_the_service_time)
{
    struct replica_config c = config_of(256);
    const struct traffic_plan fixed = {.prompt_mean = 1000,
                                       .output_mean = 101,
                                       .max_prompt_tokens = 1000,
                                       .max_output_tokens = 101};
    double n;
    cr_assert_eq(calibrate_in_flight(&c, &fixed, 0.001, &n), HR_OK);
    const struct step_time *t = &c.step;
    double prefill = (double)t->d_ps + (double)t->e_ps * 1000 + (double)t->f_fs * 1e-3 * 1e6;
    double decode = 100 * ((double)t->a_ps + (double)t->b_ps) + (double)t->c_ps * 100 * 1050.5;
    double expected = 0.001 * (prefill + decode) * 1e-12;
    cr_assert_float_eq(n, expected, 0.03 * expected, "%g, expected %g", n, expected);
}

Test(calibrate, grows_with_the_rate_and_is_capped)
{
    struct replica_config c = config_of(256);
    double before = 0;
    for (double rate = 1; rate <= 12; rate += 1) {
        double n = measured(&c, rate);
        cr_assert_gt(n, before, "at %g", rate);
        before = n;
    }
    cr_assert_eq(measured(&c, 1000), 256);
    c.max_num_seqs = 8;
    cr_assert_eq(measured(&c, 11), 8);
}

Test(calibrate, the_same_twice)
{
    struct replica_config c = config_of(256);
    cr_assert_eq(measured(&c, 11), measured(&c, 11));
}
