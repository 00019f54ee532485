/* Poisson terms and sums of them, each in the direction in which they fall. */
#include "models/closed/poisson.h"

#include <math.h>
#include <stdbool.h>

static bool domain(double m, double n)
{
    return m >= 0 && n >= 0 && n == floor(n) && isfinite(m) && isfinite(n);
}

/* log n! - (n log n - n + log(2 pi n) / 2), for n >= 20 to the last digit. */
static long double stirling_rest(long double n)
{
    const long double square = 1 / (n * n);
    return (1 / 12.0L -
            square *
                (1 / 360.0L - square * (1 / 1260.0L - square * (1 / 1680.0L - square / 1188.0L)))) /
           n;
}

static long double term(long double m, long double n)
{
    if (m == 0)
        return n == 0;
    if (n < 20)
        return expl(n * logl(m) - m - lgammal(n + 1));
    const long double two_pi = 2 * acosl(-1);
    return expl(n * log1pl((m - n) / n) + (n - m) - stirling_rest(n)) / sqrtl(two_pi * n);
}

double poisson_is(double m, double n)
{
    return domain(m, n) ? (double)term(m, n) : NAN;
}

static bool matters(long double t, long double sum)
{
    return t > 1e-21L * sum;
}

/* Sum over k >= n of P(X = k); n > m, so that terms fall. */
static long double upwards(long double m, long double n)
{
    long double t = term(m, n), sum = t;
    for (long double k = n + 1; matters(t, sum); k++)
        sum += t *= m / k;
    return sum;
}

/* Sum over k < n of (n - k)^power P(X = k); n <= m, so that terms fall. */
static long double downwards(long double m, long double n, int power)
{
    long double t = n > 0 ? term(m, n - 1) : 0, sum = t;
    for (long double k = n - 1; k > 0 && matters(t * (power ? n - k + 1 : 1), sum); k--) {
        t *= k / m;
        sum += power ? t * (n - k + 1) : t;
    }
    return sum;
}

double poisson_at_least(double m, double n)
{
    if (!domain(m, n))
        return NAN;
    return (double)(n > m ? upwards(m, n) : 1 - downwards(m, n, 0));
}

double poisson_level(double m, double target)
{
    if (!domain(m, 0) || !(target > 0 && target < 1))
        return NAN;
    double low = 0, high = floor(m) + 1; /* P(X >= low) > target */
    while (poisson_at_least(m, high) > target) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const double middle = floor((low + high) / 2);
        if (poisson_at_least(m, middle) > target)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double poisson_shortfall(double m, double n)
{
    if (!domain(m, n))
        return NAN;
    if (n <= m)
        return (double)downwards(m, n, 1);
    return (double)((n - (long double)m) * (1 - upwards(m, n)) + m * term(m, n - 1));
}
