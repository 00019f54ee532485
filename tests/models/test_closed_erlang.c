/* Erlang's formulas and Pollaczek-Khinchine against values worked out independently, against the
 * sums they come from, and at their edges. */
#include "models/closed/erlang.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

static void check_close(double got, double expected, double relative)
{
    cr_assert(fabs(got - expected) <= relative * fabs(expected), "%.15g for %.15g", got, expected);
}

/* servers, offered, B, C, mean wait / S, P(W > S), 99th percentile / S: rows of a table of Erlang's
 * formulas computed with 12 digits by another program. */
static const struct {
    uint32_t servers;
    double offered, b, c, mean, above_1, p99;
} table[] = {
    {1, 0.5, 0.333333333333, 0.5, 1, 0.303265329856, 7.82404601086},
    {1, 0.9, 0.473684210526, 0.9, 9, 0.814353676232, 44.9980967033},
    {2, 1.0, 0.2, 0.333333333333, 0.333333333333, 0.12262648039, 3.50655789732},
    {2, 1.8, 0.366515837104, 0.852631578947, 4.26315789474, 0.69807569473, 22.2287122453},
    {4, 3.0, 0.206106870229, 0.509433962264, 0.509433962264, 0.187410281351, 3.93071513844},
    {8, 6.0, 0.121875783666, 0.356981085879, 0.178490542939, 0.0483121363675, 1.78754885333},
    {8, 7.2, 0.190313168664, 0.701532990146, 0.876916237683, 0.315219091756, 5.31335354181},
    {16, 14.0, 0.114506912138, 0.508482206057, 0.254241103029, 0.0688155833775, 1.96442256444},
    {32, 28.0, 0.0664978582423, 0.3630080575, 0.0907520143749, 0.00664872449486, 0.897959984498},
    {64, 58.0, 0.0458219879397, 0.338729176869, 0.0564548628115, 0.000839625684465, 0.587102634469},
    {100, 90.0, 0.0269573804644, 0.216940480906, 0.0216940480906, 9.84908259579e-06,
     0.307703794139},
    {100, 95.0, 0.0488042061787, 0.506456853913, 0.101291370783, 0.00341247943899, 0.784970808459},
    {256, 240.0, 0.0172735163083, 0.219502548234, 0.0137189092646, 2.47017576168e-08,
     0.193048671795},
    {1000, 970.0, 0.00952919327172, 0.24282333618, 0.00809411120601, 2.27224922801e-14,
     0.106324969145},
};

Test(closed_erlang, table_of_another_program)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint32_t c = table[i].servers;
        double a = table[i].offered;
        check_close(erlang_b(c, a), table[i].b, 1e-9);
        check_close(erlang_c(c, a), table[i].c, 1e-9);
        check_close(erlang_wait_mean(c, a, 1), table[i].mean, 1e-9);
        check_close(erlang_wait_mean(c, a, 2.5), 2.5 * table[i].mean, 1e-9);
        check_close(erlang_wait_above(c, a, 1, 1), table[i].above_1, 1e-9);
        check_close(erlang_wait_above(c, a, 7, 7), table[i].above_1, 1e-9);
        check_close(erlang_wait_quantile(c, a, 1, 0.99), table[i].p99, 1e-9);
    }
}

/* Worked examples: blocking far below anything a sum of terms could hold, and sizing. */
Test(closed_erlang, worked_examples)
{
    check_close(erlang_b(10, 10), 0.214582343107, 1e-9);
    check_close(erlang_b(381, 139), 3.67993690908e-64, 1e-9);
    check_close(erlang_b(185, 5.03), 9.78169151989e-214, 1e-9);
    cr_assert_eq(erlang_b_servers(10, 0.01), 18);
    cr_assert_eq(erlang_b_servers(139, 0.02), 153);
    cr_assert_eq(erlang_b_servers(5.03, 0.1), 8);

    check_close(erlang_c(10, 8), 0.409180150796, 1e-9);
    check_close(erlang_wait_mean(10, 8, 0.5), 0.102295037699, 1e-9);
    check_close(erlang_wait_above(10, 8, 0.5, 0.2), 0.183856493295, 1e-9);
    check_close(erlang_wait_quantile(10, 8, 0.5, 0.99), 0.927892608142, 1e-9);
    cr_assert_eq(erlang_c_servers(8, 0.5, 0.2, 0.01), 14);
    check_close(erlang_c(47, 19.83456), 1.54965288052e-07, 1e-9);
    cr_assert_eq(erlang_wait_quantile(47, 19.83456, 2.88, 0.999), 0);
    cr_assert_eq(erlang_c_servers(19.83456, 2.88, 0.0818, 0.001), 35);
    cr_assert_eq(erlang_c_servers(60.3592, 1.52, 1.25, 0.05), 64);

    check_close(erlang_mg1_wait_mean(0.8, 1, 0), 2, 1e-12);
    check_close(erlang_mg1_wait_mean(0.343044, 1.56, 2), 1.22188237873, 1e-9);
    check_close(erlang_mg1_wait_mean(0.938994, 5.53, 1), 85.1168216241, 1e-9);
}

/* The loss is the last of the weights a^n / n!, the delay counts it c / (c - a) times. */
Test(closed_erlang, equals_the_sum_of_poisson_weights)
{
    for (uint32_t c = 1; c <= 40; c++)
        for (double a = 0.05 * c; a < 1.6 * c; a += 0.17 * c) {
            double weight = 1, sum = 1;
            for (uint32_t n = 1; n <= c; n++)
                sum += weight *= a / n;
            check_close(erlang_b(c, a), weight / sum, 1e-12);
            if (a < c) {
                double waiting = weight * c / (c - a);
                check_close(erlang_c(c, a), waiting / (sum - weight + waiting), 1e-12);
            }
        }
}

Test(closed_erlang, one_server_is_mm1_and_exponential_service_agrees_with_khinchine)
{
    for (double rho = 0.05; rho < 1; rho += 0.05) {
        check_close(erlang_c(1, rho), rho, 1e-12);
        check_close(erlang_wait_mean(1, rho, 3), 3 * rho / (1 - rho), 1e-12);
        check_close(erlang_mg1_wait_mean(rho, 3, 1), erlang_wait_mean(1, rho, 3), 1e-12);
        check_close(erlang_mg1_wait_mean(rho, 3, 0), erlang_wait_mean(1, rho, 3) / 2, 1e-12);
    }
}

Test(closed_erlang, sizes_are_the_fewest_that_do)
{
    for (double a = 0.3; a < 300; a *= 1.9) {
        uint32_t n = erlang_b_servers(a, 0.02);
        cr_assert(erlang_b(n, a) <= 0.02 && (n == 0 || erlang_b(n - 1, a) > 0.02));
        n = erlang_c_servers(a, 2, 0.5, 0.05);
        cr_assert(n > a && erlang_wait_above(n, a, 2, 0.5) <= 0.05);
        cr_assert(n - 1 <= a || erlang_wait_above(n - 1, a, 2, 0.5) > 0.05);
    }
}

Test(closed_erlang, edges)
{
    cr_assert_eq(erlang_b(0, 5), 1);
    cr_assert_eq(erlang_b(0, 0), 1);
    cr_assert_eq(erlang_b(3, 0), 0);
    cr_assert_eq(erlang_c(3, 0), 0);
    cr_assert_eq(erlang_c(3, 3), 1);
    cr_assert_eq(erlang_c(3, 4), 1);
    cr_assert_eq(erlang_wait_mean(3, 3, 1), INFINITY);
    cr_assert_eq(erlang_wait_mean(3, 0, 1), 0);
    cr_assert_eq(erlang_wait_above(3, 5, 1, 100), 1);
    cr_assert_eq(erlang_wait_quantile(3, 5, 1, 0), INFINITY);
    cr_assert_eq(erlang_b_servers(0, 0.5), 1);
    cr_assert_eq(erlang_b_servers(0, 1), 0);
    cr_assert_eq(erlang_c_servers(0, 1, 0, 0.5), 1);
    cr_assert_eq(erlang_mg1_wait_mean(1, 1, 0), INFINITY);
    cr_assert_eq(erlang_mg1_wait_mean(0, 1, 3), 0);
    cr_assert(isnan(erlang_b(3, -1)));
    cr_assert(isnan(erlang_b(3, NAN)));
    cr_assert(isnan(erlang_c(0, 1)));
    cr_assert(isnan(erlang_wait_mean(3, 1, 0)));
    cr_assert(isnan(erlang_wait_above(3, 1, 1, -1)));
    cr_assert(isnan(erlang_wait_quantile(3, 1, 1, 1)));
    cr_assert(isnan(erlang_mg1_wait_mean(0.5, 1, -1)));
    cr_assert_eq(erlang_b_servers(5, 0), UINT32_MAX);
    cr_assert_eq(erlang_c_servers(5, 1, 1, -0.1), UINT32_MAX);
}

/* servers, rate, service, limit, p, then B, C, mean wait, P(W > limit) and the wait's quantile, all
 * for the doubles as they are: mpmath with 60 digits, I = 1 + n I / a for 1/B, C = c / ((c - a) I +
 * a). */
static const struct {
    uint32_t servers;
    double rate, service, limit, p, b, c, mean, above, quantile;
} exact[] = {
    {1, 0.999999999, 1.0, 0.5, 0.99, 0.499999999750000007, 0.999999999000000028,
     1.00000002728193226e+9, 0.999999998500000043, 4.60517031523120174e+9},
    {10, 16.0, 0.5, 0.2, 0.99, 0.12166106425295151, 0.409180150796443532, 0.102295037699110883,
     0.183856493294694487, 0.927892608141709052},
    {3, 0.1, 29.99999997, 1.0, 0.9, 0.346153845794378731, 0.999999998111111284,
     1.00000008830568884e+10, 0.999999998011111293, 2.30258529878584717e+10},
    {100, 0.3, 333.333333, 2.0, 0.95, 0.0757004521378050646, 0.999999987790038304,
     3.33333298487984041e+9, 0.999999987190038256, 9.9857732825326334e+9},
    {1000, 1999.999998, 0.5, 0.25, 0.99, 0.024811917030529155, 0.999999960696787718,
     4.99999981610772459e+5, 0.999999460696933632, 2.30258507915590718e+6},
    {1000, 0.7, 1300.0, 900.0, 0.5, 1.69606736638616621e-4, 1.88129304291751839e-3,
     0.0271742328421419148, 1.63896432361093336e-30, 0.0},
    {10000, 33.3, 300.3, 10.0, 0.9, 7.93593336875265497e-3, 0.999875006502823353,
     3.00262464438537596e+4, 0.999542103224210992, 6.9142876550002691e+4},
    {100000, 3333.0, 30.0, 1.0, 0.5, 2.45578588724724157e-3, 0.960965428299724415,
     2.88289628489917324, 0.68856181775570424, 1.95999100556060605},
    {100000, 99999.9999, 1.0, 0.5, 0.99, 2.51889278906450225e-3, 0.999999604000311598,
     9.99999556502881358e+3, 0.999949605267715502, 4.60516957125450621e+4},
    {100000, 7.0, 14285.71427142857, 100.0, 0.9, 2.51889278906443301e-3, 0.999999604000268379,
     1.42857063766219974e+8, 0.999998904000680233, 3.28940619146024754e+8},
    {50000, 50000.0, 0.99, 0.001, 0.5, 1.45809291389235793e-4, 0.0143734467129992735,
     2.8459424491738536e-5, 8.6740171366621034e-3, 0.0},
};

Test(closed_erlang, many_servers_and_loads_near_one_to_twelve_digits)
{
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        const uint32_t c = exact[i].servers;
        const double s = exact[i].service;
        const struct erlang_load a = erlang_product(exact[i].rate, s);
        const struct erlang_delay d = erlang_delay(c, a);
        check_close((double)(1 / (1 + erlang_below(c, a))), exact[i].b, 1e-12);
        check_close((double)d.wait_frac, exact[i].c, 1e-12);
        check_close(erlang_delay_mean(&d, s), exact[i].mean, 1e-12);
        check_close(erlang_delay_above(&d, s, exact[i].limit), exact[i].above, 1e-12);
        check_close(erlang_delay_quantile(&d, s, exact[i].p), exact[i].quantile, 1e-12);
        /* The search stops at the first count that meets what these servers meet. */
        cr_assert_eq(erlang_b_least(a, exact[i].b * (1 + 1e-12)), c);
        cr_assert_eq(erlang_c_least(a, s, exact[i].limit, fmin(1, exact[i].above * (1 + 1e-11))),
                     exact[i].above > 0.999999 ? (uint32_t)ceil(a.high) : c);
    }
}

/* The parts of a load that a double cannot hold, against long double. */
Test(closed_erlang, a_load_keeps_what_rounding_takes)
{
    for (double x = 0.1; x < 1e4; x *= 1.37) {
        const struct erlang_load p = erlang_product(x, 1 / x), q = erlang_ratio(x, 3.3);
        const struct erlang_load sum = erlang_sum(p, q);
        cr_assert_float_eq((double)((long double)x * (1 / x) - p.high - p.low), 0, 1e-18);
        cr_assert_float_eq((double)(((long double)x / 3.3L - q.high) / x), q.low / x, 1e-15);
        cr_assert_float_eq(
            (double)((long double)p.high + p.low + q.high + q.low - sum.high - sum.low), 0,
            1e-18 * (1 + sum.high));
    }
}
