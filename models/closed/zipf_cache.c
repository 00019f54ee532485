/* Che's approximation; zipf_cache.h states it. */
#include "models/closed/zipf_cache.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct popularity {
    double *p; /* the most popular first */
    uint32_t n;
    double slots;
};

static void fill(struct popularity *z, double s)
{
    long double sum = 0;
    for (uint32_t i = 0; i < z->n; i++)
        z->p[i] = pow(i + 1, -s);
    for (uint32_t i = z->n; i-- > 0;) /* the smallest first */
        sum += z->p[i];
    for (uint32_t i = 0; i < z->n; i++)
        z->p[i] = (double)(z->p[i] / sum);
}

/* Items in the cache beyond k, when each stays for e^u requests. Above the middle of the cache the
 * ones that are out are summed, so that neither end loses its digits. */
static double beyond(double u, void *self)
{
    const struct popularity *z = self;
    const double t = exp(u);
    long double in = 0, out = 0;
    for (uint32_t i = 0; i < z->n; i++) {
        const double gone = exp(-z->p[i] * t);
        in += gone > 0.5 ? -expm1(-z->p[i] * t) : 1 - gone;
        out += gone;
    }
    return (double)(z->slots < z->n / 2.0 ? in - z->slots : (z->n - z->slots) - out);
}

/* ln t, between k requests (an item enters at most each request) and what the rarest needs. */
static double log_time(struct popularity *z)
{
    double low = log(z->slots) - 1e-9, high = low, u = NAN;
    gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    gsl_function f = {beyond, z};
    if (!solver)
        return NAN;
    for (double step = 1; beyond(high, z) < 0; step *= 2)
        high += step;
    if (gsl_root_fsolver_set(solver, &f, low, high) == GSL_SUCCESS)
        for (int i = 0; i < 100; i++) {
            const double was = u;
            gsl_root_fsolver_iterate(solver);
            u = gsl_root_fsolver_root(solver);
            if (fabs(u - was) <= 1e-15 * u)
                break;
        }
    gsl_root_fsolver_free(solver);
    return u;
}

static void approximate(struct popularity *z, struct zipf_cache *out)
{
    const double t = exp(log_time(z));
    long double hit = 0, miss = 0, pinned = 0;
    for (uint32_t i = z->n; i-- > 0;) {
        hit += z->p[i] * -expm1(-z->p[i] * t);
        miss += z->p[i] * exp(-z->p[i] * t);
        pinned += i < z->slots ? z->p[i] : 0;
    }
    *out = (struct zipf_cache){(double)pinned, t, (double)hit, (double)miss};
}

enum hr_err zipf_cache(uint32_t items, double s, uint32_t slots, struct zipf_cache *out)
{
    *out = (struct zipf_cache){0};
    if (items == 0 || !(s >= 0 && s <= 100))
        return HR_INPUT;
    if (slots >= items || slots == 0) {
        const bool all = slots > 0;
        *out = (struct zipf_cache){all, all ? INFINITY : 0, all, !all};
        return HR_OK;
    }
    struct popularity z = {calloc(items, sizeof(double)), items, slots};
    if (!z.p)
        return HR_NOMEM;
    fill(&z, s);
    approximate(&z, out);
    free(z.p);
    return isnan(out->char_time) ? HR_NOMEM : HR_OK;
}
