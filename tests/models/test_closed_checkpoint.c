/* Checkpoint theory against worked values, a numerical minimisation and its own equation.
 *
 * Worked values: the spot-checkpoint worksheet (capacity arithmetic, section C), computed there in
 * high precision and confirmed by simulation. They save after the last piece too, so the expected
 * time is compared after adding what that last save costs. */
#include "models/closed/checkpoint.h"

#include <criterion/criterion.h>
#include <math.h>

static void near(double got, double want, double rel, const char *what)
{
    cr_assert(fabs(got - want) <= rel * fabs(want), "%s: got %.15g, want %.15g", what, got, want);
}

struct worked {
    double mtbf_s, save_s, restart_s, work_s, tau_s;
    double young_s, daly_s, exact_s;
    double segment_s, n_whole, whole_s;
};

static const struct worked worked[] = {
    {14400, 30, 180, 36000, 909.624515559, 929.51600309, 909.623585961, 909.624515559,
     983.171525281, 40, 38910.8920945},
    {51800, 222, 52.2, 14600, 300, 4795.74811682, 4648.88996161, 4648.90413641, 525.167968379, 3,
     16057.1836697},
    {116000, 14.4, 263, 375000, 300, 1827.78554541, 1818.19815082, 1818.19817733, 315.541048731,
     206, 381836.130514},
};

static double piece(double quiet_s, double restart_s, double mtbf_s)
{
    return mtbf_s * exp(restart_s / mtbf_s) * expm1(quiet_s / mtbf_s);
}

Test(closed_checkpoint, worked_values)
{
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++) {
        const struct worked *w = &worked[i];
        near(checkpoint_young_s(w->save_s, w->mtbf_s), w->young_s, 1e-11, "young");
        near(checkpoint_daly_s(w->save_s, w->mtbf_s), w->daly_s, 1e-11, "daly");
        near(checkpoint_exact_s(w->save_s, w->mtbf_s), w->exact_s, 1e-11, "exact");
        near(piece(w->tau_s + w->save_s, w->restart_s, w->mtbf_s), w->segment_s, 1e-11, "segment");

        double tau = w->work_s / w->n_whole;
        double last_save =
            piece(tau + w->save_s, w->restart_s, w->mtbf_s) - piece(tau, w->restart_s, w->mtbf_s);
        double got = checkpoint_expected_s(w->work_s, tau, w->save_s, w->restart_s, w->mtbf_s);
        near(got + last_save, w->whole_s, 1e-11, "expected");
    }
}

/* ln of the time one useful second takes, but for the restart, in long double. */
static long double cost(long double tau, long double save, long double mtbf)
{
    return expm1l((tau + save) / mtbf) / tau;
}

static double golden(double save_s, double mtbf_s)
{
    long double ratio = (sqrtl(5) - 1) / 2;
    long double low = 1e-3L * sqrtl(save_s), high = mtbf_s;
    for (int i = 0; i < 300; i++) {
        long double a = high - ratio * (high - low), b = low + ratio * (high - low);
        if (cost(a, save_s, mtbf_s) < cost(b, save_s, mtbf_s))
            high = b;
        else
            low = a;
    }
    return (double)((low + high) / 2);
}

Test(closed_checkpoint, exact_is_the_minimum)
{
    static const double cases[][2] = {{30, 14400}, {222, 51800}, {60, 1800}, {60, 300},
                                      {60, 50},    {100, 100},   {1, 1e6},   {5, 3e4},
                                      {10, 999},   {10, 1001},   {300, 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near(checkpoint_exact_s(cases[i][0], cases[i][1]), golden(cases[i][0], cases[i][1]), 2e-7,
             "minimum");
}

/* The optimum x = tau / M solves ln(1 - x) + x = -C / M; below 1e-6 the series of x in
 * p = sqrt(2 C / M) is the reference: x = p - p^2/3 + p^3/36 + p^4/270. */
Test(closed_checkpoint, exact_solves_its_equation_for_every_ratio)
{
    for (double c = 3; c > 1e-11; c *= 0.83) {
        long double x = checkpoint_exact_s(c, 1.0);
        long double lhs = -log1pl(-x) - x;
        cr_assert(fabsl(lhs - c) <= 3e-7L * c * (c < 1e-8 ? 1 : 1e-6L), "c %g: %Lg", c, lhs);
    }
    for (double c = 1e-6; c > 1e-300; c *= 1e-7) {
        double p = sqrt(2 * c);
        near(checkpoint_exact_s(c * 1000, 1000),
             1000 * p * (1 - p / 3 + p * p / 36 + p * p * p / 270), 4e-15, "series");
    }
}

/* Daly's interval is the same series up to p^3, so the ratio is off by p^3 / 270. */
Test(closed_checkpoint, daly_tends_to_exact)
{
    for (double c = 1e-3; c > 1e-15; c /= 10)
        near(checkpoint_daly_s(c, 1), checkpoint_exact_s(c, 1), 0.011 * c * sqrt(c) + 4e-15,
             "daly");
    cr_assert_eq(checkpoint_daly_s(20, 10), 10);
    cr_assert_eq(checkpoint_daly_s(50, 10), 10);
}

Test(closed_checkpoint, expected_without_failures_is_quiet_time)
{
    cr_assert_eq(checkpoint_expected_s(100, 30, 2, 5, INFINITY), 106); /* 30 30 30 10, 3 saves */
    cr_assert_eq(checkpoint_expected_s(90, 30, 2, 5, INFINITY), 94);   /* no save at the end */
    cr_assert_eq(checkpoint_expected_s(90, INFINITY, 2, 5, INFINITY), 90);
    cr_assert_eq(checkpoint_expected_s(0, 30, 2, 5, 100), 0);
    /* 0.7 / 0.1 is 6.999... or 7.000... in binary: seven pieces, six saves. */
    near(checkpoint_expected_s(0.7, 0.1, 1, 5, INFINITY), 6.7, 1e-12, "whole quotient");
    near(checkpoint_expected_s(2.1, 0.3, 1, 5, INFINITY), 8.1, 1e-12, "whole quotient");
    near(checkpoint_expected_s(100, 30, 2, 5, 1e12), 106, 1e-9, "long mean");
}

Test(closed_checkpoint, expected_adds_pieces)
{
    double want = 3 * piece(32, 5, 70) + piece(10, 5, 70);
    near(checkpoint_expected_s(100, 30, 2, 5, 70), want, 1e-13, "pieces");
    near(checkpoint_expected_s(100, 1000, 2, 5, 70), piece(100, 5, 70), 1e-13, "one piece");
}

Test(closed_checkpoint, domain)
{
    double bad[][2] = {{-1, 10}, {1, 0}, {1, -5}, {NAN, 10}, {1, NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert(isnan(checkpoint_young_s(bad[i][0], bad[i][1])));
        cr_assert(isnan(checkpoint_daly_s(bad[i][0], bad[i][1])));
        cr_assert(isnan(checkpoint_exact_s(bad[i][0], bad[i][1])));
        cr_assert(isnan(checkpoint_expected_s(10, 1, bad[i][0], 1, bad[i][1])));
    }
    cr_assert(isnan(checkpoint_expected_s(10, 0, 1, 1, 10)));
    cr_assert(isnan(checkpoint_expected_s(-1, 1, 1, 1, 10)));
    cr_assert(isnan(checkpoint_expected_s(10, 1, 1, -1, 10)));
    cr_assert_eq(checkpoint_exact_s(0, 10), 0);
    cr_assert_eq(checkpoint_young_s(0, 10), 0);
    cr_assert_eq(checkpoint_daly_s(0, 10), 0);
    cr_assert(isinf(checkpoint_exact_s(10, INFINITY)));
    cr_assert(isinf(checkpoint_daly_s(10, INFINITY)));
    near(checkpoint_exact_s(1e6, 10), 10, 1e-15, "hopeless");
}
