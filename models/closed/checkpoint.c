/* Checkpoint theory: optimal intervals and the expected time of a job with exponential failures.
 *
 * Work with C / M = c and tau / M = x. The exact optimum solves g(x) = -ln(1 - x) - x = c, that is
 * x = 1 + W0(-e^(-c - 1)). For C << M, the usual case, the argument lies next to the branch point
 * -1/e, where W0 loses half its digits; there x comes from the series around the branch point
 * (R. Corless, G. Gonnet, D. Hare, D. Jeffrey and D. Knuth, Adv. Comput. Math. 5, 1996, eq. 4.22)
 * and two Newton steps on g, itself summed as a series where its two terms would cancel.
 *
 * Sources: J. Young, CACM 17(9), 1974; J. Daly, FGCS 22, 2006; M. Bougeret, H. Casanova, M. Rabie,
 * Y. Robert and F. Vivien, SC 2011 (expected time). All in seconds. */
#include "models/closed/checkpoint.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_sf_lambert.h>
#include <math.h>
#include <stdbool.h>

/* Below this C / M the branch series is the better start: W0 itself has an error of about
 * DBL_EPSILON / (2 c). */
static const double small_ratio = 0.01;

static bool domain(double save_s, double mtbf_s)
{
    return save_s >= 0 && mtbf_s > 0; /* false for NaN too */
}

double checkpoint_young_s(double save_s, double mtbf_s)
{
    if (!domain(save_s, mtbf_s))
        return NAN;
    return isinf(mtbf_s) ? INFINITY : sqrt(2 * save_s * mtbf_s);
}

double checkpoint_daly_s(double save_s, double mtbf_s)
{
    if (!domain(save_s, mtbf_s))
        return NAN;
    if (isinf(mtbf_s) || save_s >= 2 * mtbf_s)
        return mtbf_s;
    double half = save_s / (2 * mtbf_s);
    return checkpoint_young_s(save_s, mtbf_s) * (1 + sqrt(half) / 3 + half / 9) - save_s;
}

/* -ln(1 - x) - x for 0 <= x < 0.5: x^2/2 + x^3/3 + ... */
static double renewal_gap(double x)
{
    double sum = 0, power = x * x;
    for (int k = 2; power / k > sum * (DBL_EPSILON / 4); k++, power *= x)
        sum += power / k;
    return sum;
}

static double optimum_small(double c)
{
    double p = sqrt(-2 * expm1(-c)); /* p^2 / 2 = 1 + e z at z = -e^(-c - 1) */
    double x = p * (1 + p * (-1.0 / 3 + p * (11.0 / 72 + p * (-43.0 / 540))));
    for (int step = 0; step < 2 && x > 0; step++)
        x -= (renewal_gap(x) - c) * (1 - x) / x;
    return x;
}

double checkpoint_exact_s(double save_s, double mtbf_s)
{
    if (!domain(save_s, mtbf_s))
        return NAN;
    if (isinf(mtbf_s))
        return INFINITY;
    double c = save_s / mtbf_s;
    if (c < small_ratio)
        return mtbf_s * optimum_small(c);
    gsl_sf_result w;
    if (gsl_sf_lambert_W0_e(-exp(-c - 1), &w) != GSL_SUCCESS)
        return NAN;
    return mtbf_s * (1 + w.val);
}

/* Expected time of a piece that takes quiet_s undisturbed. */
static double piece_s(double quiet_s, double restart_s, double mtbf_s)
{
    if (isinf(mtbf_s))
        return quiet_s;
    return mtbf_s * exp(restart_s / mtbf_s) * expm1(quiet_s / mtbf_s);
}

double checkpoint_expected_s(double work_s, double tau_s, double save_s, double restart_s,
                             double mtbf_s)
{
    if (!domain(save_s, mtbf_s) || !(work_s >= 0 && work_s < INFINITY) || !(tau_s > 0) ||
        !(restart_s >= 0))
        return NAN;
    /* A quotient that is whole but for rounding counts as whole: else a save appears at the end. */
    double q = work_s / tau_s;
    double n = fmax(0, ceil(q - q * (4 * DBL_EPSILON)) - 1);
    double last_s = n > 0 ? work_s - n * tau_s : work_s;
    double saved_s = n > 0 ? n * piece_s(tau_s + save_s, restart_s, mtbf_s) : 0;
    return saved_s + piece_s(last_s, restart_s, mtbf_s);
}
