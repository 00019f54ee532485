/* Welford's update and its pairwise form (Chan, Golub and LeVeque 1983), and levels over time. */
#include "sim/stat.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

void tally_add(struct tally *t, double x)
{
    if (t->n == 0 || x < t->min)
        t->min = x;
    if (t->n == 0 || x > t->max)
        t->max = x;
    t->n++;
    double from_old = x - t->mean;
    t->mean += from_old / (double)t->n;
    t->m2 += from_old * (x - t->mean);
}

void tally_merge(struct tally *into, const struct tally *from)
{
    if (from->n == 0)
        return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    double n_into = (double)into->n, n_from = (double)from->n, n = n_into + n_from;
    double apart = from->mean - into->mean;
    into->mean += apart * (n_from / n);
    into->m2 += from->m2 + apart * apart * (n_into * n_from / n);
    into->n += from->n;
    into->min = fmin(into->min, from->min);
    into->max = fmax(into->max, from->max);
}

double tally_variance(const struct tally *t)
{
    return t->n < 2 ? 0 : t->m2 / (double)(t->n - 1);
}

double tally_std_error(const struct tally *t)
{
    return t->n < 2 ? 0 : sqrt(tally_variance(t) / (double)t->n);
}

double tally_half_width(const struct tally *t, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    if (t->n < 2)
        return NAN;
    return gsl_cdf_tdist_Pinv((1 + confidence) / 2, (double)(t->n - 1)) * tally_std_error(t);
}

void level_init(struct level *l, simtime_ns now, int64_t value)
{
    *l = (struct level){.value = value, .since = now, .max = value, .held_max = INT64_MIN};
}

void level_set(struct level *l, simtime_ns now, int64_t value)
{
    assert(now >= l->since);
    if (now > l->since) {
        l->integral += (i128)l->value * (i128)(now - l->since);
        if (l->value > l->held_max)
            l->held_max = l->value;
        l->since = now;
    }
    l->value = value;
    l->max = value > l->held_max ? value : l->held_max;
}

i128 level_integral(const struct level *l, simtime_ns now)
{
    assert(now >= l->since);
    return l->integral + (i128)l->value * (i128)(now - l->since);
}

double level_mean(const struct level *l, simtime_ns start, simtime_ns now)
{
    return now > start ? (double)level_integral(l, now) / (double)(now - start) : (double)l->value;
}
