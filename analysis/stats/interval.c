/* Tallies of what is not NaN, and Student's t from GSL. */
#include "analysis/stats/interval.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

static void add_known(struct tally *t, double x)
{
    if (!isnan(x))
        tally_add(t, x);
}

static struct tally tally_of(const double *x, size_t n)
{
    struct tally t = {0};
    for (size_t i = 0; i < n; i++)
        add_known(&t, x[i]);
    return t;
}

struct interval interval_from(size_t n, double mean, double std_error, double df, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    double half = gsl_cdf_tdist_Pinv((1 + confidence) / 2, df) * std_error;
    return (struct interval){
        .n = n,
        .mean = mean,
        .std_error = std_error,
        .df = df,
        .half_width = half,
        .low = mean - half,
        .high = mean + half,
    };
}

static struct interval unknown(size_t n, double mean)
{
    return (struct interval){n, mean, NAN, NAN, NAN, NAN, NAN};
}

struct interval interval_tally(const struct tally *t, double confidence)
{
    size_t n = (size_t)t->n;
    if (n < 2)
        return unknown(n, n ? t->mean : NAN);
    return interval_from(n, t->mean, tally_std_error(t), (double)(n - 1), confidence);
}

struct interval interval_mean(const double *x, size_t n, double confidence)
{
    struct tally t = tally_of(x, n);
    return interval_tally(&t, confidence);
}

struct interval interval_paired(const double *a, const double *b, size_t n, double confidence)
{
    struct tally t = {0};
    for (size_t i = 0; i < n; i++)
        add_known(&t, b[i] - a[i]);
    return interval_tally(&t, confidence);
}

struct interval interval_welch_tally(const struct tally *a, const struct tally *b,
                                     double confidence)
{
    size_t n = (size_t)(a->n < b->n ? a->n : b->n);
    double mean = n ? b->mean - a->mean : NAN;
    if (n < 2)
        return unknown(n, mean);
    double of_a = tally_variance(a) / (double)a->n, of_b = tally_variance(b) / (double)b->n;
    double sum = of_a + of_b;
    double spread = of_a * of_a / (double)(a->n - 1) + of_b * of_b / (double)(b->n - 1);
    double df = sum > 0 ? sum * sum / spread : (double)(a->n + b->n - 2); /* both constant */
    return interval_from(n, mean, sqrt(sum), df, confidence);
}

struct interval interval_welch(const double *a, size_t n_a, const double *b, size_t n_b,
                               double confidence)
{
    struct tally of_a = tally_of(a, n_a), of_b = tally_of(b, n_b);
    return interval_welch_tally(&of_a, &of_b, confidence);
}

bool interval_excludes(const struct interval *i, double x)
{
    return i->low > x || i->high < x;
}

double interval_relative(const struct interval *i)
{
    return i->half_width == 0 ? 0 : i->half_width / fabs(i->mean);
}
