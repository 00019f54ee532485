/* One row per kind: how it is drawn, its squared coefficient of variation, and its domain.
 *
 * Lognormal: exp(N(mu, s^2)) with s^2 = ln(1 + cv^2) and mu = ln(mean) - s^2 / 2. Gamma: shape 1 /
 * cv^2, scale mean cv^2. Weibull: scale b = mean / G(1 + 1/k), a draw is b E^(1/k) with E
 * exponential, and cv^2 = G(1 + 2/k) / G(1 + 1/k)^2 - 1, G the gamma function. A cv of 0 is the
 * fixed mean. */
#include "sim/dist.h"

#include <assert.h>
#include <math.h>

const char *const dist_kind_names[DIST_KINDS] = {"fixed",     "uniform", "exponential",
                                                 "lognormal", "gamma",   "weibull"};

struct kind {
    double (*draw_s)(const struct dist *d, struct rng *r);
    double (*scv)(const struct dist *d);
    bool (*valid)(const struct dist *d); /* mean and spread are already finite and not negative */
};

static double fixed_draw(const struct dist *d, struct rng *r)
{
    (void)r;
    return d->mean_s;
}

static double fixed_scv(const struct dist *d)
{
    (void)d;
    return 0;
}

static bool always_valid(const struct dist *d)
{
    (void)d;
    return true;
}

static double uniform_draw(const struct dist *d, struct rng *r)
{
    return d->mean_s + d->spread * (2 * rng_uniform(r) - 1);
}

static double uniform_scv(const struct dist *d)
{
    double relative = d->mean_s > 0 ? d->spread / d->mean_s : 0;
    return relative * relative / 3;
}

static bool uniform_valid(const struct dist *d)
{
    return d->spread <= d->mean_s;
}

static double exponential_draw(const struct dist *d, struct rng *r)
{
    return d->mean_s * rng_exponential(r);
}

static double exponential_scv(const struct dist *d)
{
    (void)d;
    return 1;
}

static double cv_scv(const struct dist *d)
{
    return d->spread * d->spread;
}

static double lognormal_draw(const struct dist *d, struct rng *r)
{
    double variance = log1p(d->spread * d->spread);
    return d->mean_s * exp(sqrt(variance) * rng_normal(r) - variance / 2);
}

static double gamma_draw(const struct dist *d, struct rng *r)
{
    double scv = d->spread * d->spread;
    return scv > 0 ? d->mean_s * scv * rng_gamma(r, 1 / scv) : d->mean_s;
}

static double weibull_draw(const struct dist *d, struct rng *r)
{
    double power = 1 / d->spread;
    return d->mean_s / tgamma(1 + power) * pow(rng_exponential(r), power);
}

static double weibull_scv(const struct dist *d)
{
    double first = tgamma(1 + 1 / d->spread);
    return tgamma(1 + 2 / d->spread) / (first * first) - 1;
}

static bool weibull_valid(const struct dist *d)
{
    return d->spread > 0 && isfinite(weibull_scv(d));
}

static const struct kind kinds[DIST_KINDS] = {
    [DIST_FIXED] = {fixed_draw, fixed_scv, always_valid},
    [DIST_UNIFORM] = {uniform_draw, uniform_scv, uniform_valid},
    [DIST_EXPONENTIAL] = {exponential_draw, exponential_scv, always_valid},
    [DIST_LOGNORMAL] = {lognormal_draw, cv_scv, always_valid},
    [DIST_GAMMA] = {gamma_draw, cv_scv, always_valid},
    [DIST_WEIBULL] = {weibull_draw, weibull_scv, weibull_valid},
};

simtime_ns dist_draw(const struct dist *d, struct rng *r)
{
    assert(d->kind < DIST_KINDS);
    return sim_time_from_s(kinds[d->kind].draw_s(d, r));
}

double dist_mean_s(const struct dist *d)
{
    return d->mean_s;
}

double dist_scv(const struct dist *d)
{
    assert(d->kind < DIST_KINDS);
    return d->mean_s > 0 ? kinds[d->kind].scv(d) : 0;
}

bool dist_valid(const struct dist *d)
{
    return (unsigned)d->kind < DIST_KINDS && isfinite(d->mean_s) && d->mean_s >= 0 &&
           isfinite(d->spread) && d->spread >= 0 && kinds[d->kind].valid(d);
}
