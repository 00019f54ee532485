/* The recurrence is that of 1/B - 1 = n (1 + ...) / a: positive numbers are multiplied and added,
 * nothing cancels, so in long double 100,000 servers cost 1e-14. What can cancel is servers -
 * offered; it is taken from the exact load. C = c / ((c - a) / B + a) needs nothing else. */
#include "models/closed/erlang.h"

#include <math.h>
#include <stdbool.h>

/* Nobody sizes beyond this; it bounds the loops of the two searches. */
enum { MOST_SERVERS = 1 << 24 };

struct erlang_load erlang_product(double rate, double service)
{
    const double high = rate * service;
    return (struct erlang_load){high, isfinite(high) ? fma(rate, service, -high) : 0};
}

struct erlang_load erlang_ratio(double rate, double per_server)
{
    const double high = rate / per_server;
    return (struct erlang_load){high,
                                isfinite(high) ? -fma(high, per_server, -rate) / per_server : 0};
}

struct erlang_load erlang_sum(struct erlang_load x, struct erlang_load y)
{
    const double high = x.high + y.high, part = high - x.high;
    const double lost = (x.high - (high - part)) + (y.high - part);
    return (struct erlang_load){high, isfinite(high) ? lost + (x.low + y.low) : 0};
}

static long double whole(struct erlang_load a)
{
    return (long double)a.high + a.low;
}

long double erlang_spare(uint32_t servers, struct erlang_load a)
{
    return ((long double)servers - a.high) - a.low;
}

long double erlang_below(uint32_t servers, struct erlang_load a)
{
    const long double per = 1 / whole(a);
    long double below = 0;
    for (uint32_t n = 1; n <= servers && !isinf(below); n++)
        below = (long double)n * per * (1 + below);
    return below;
}

static long double delay_of(uint32_t servers, struct erlang_load a, long double below)
{
    const long double spare = erlang_spare(servers, a);
    return spare > 0 ? servers / (spare * (1 + below) + whole(a)) : 1;
}

struct erlang_delay erlang_delay(uint32_t servers, struct erlang_load a)
{
    const long double spare = erlang_spare(servers, a);
    return (struct erlang_delay){spare > 0 ? delay_of(servers, a, erlang_below(servers, a)) : 1,
                                 spare};
}

double erlang_delay_mean(const struct erlang_delay *d, double service)
{
    return d->spare > 0 ? (double)(d->wait_frac * service / d->spare) : INFINITY;
}

double erlang_delay_above(const struct erlang_delay *d, double service, double limit)
{
    return d->spare > 0 ? (double)(d->wait_frac * expl(-d->spare * limit / service)) : 1;
}

double erlang_delay_quantile(const struct erlang_delay *d, double service, double p)
{
    if (d->spare <= 0)
        return INFINITY;
    const long double rest = 1 - (long double)p;
    if (d->wait_frac <= rest)
        return 0;
    return (double)(service * log1pl((d->wait_frac - rest) / rest) / d->spare);
}

static struct erlang_load plain(double offered)
{
    return (struct erlang_load){offered, 0};
}

double erlang_b(uint32_t servers, double offered)
{
    return offered >= 0 ? (double)(1 / (1 + erlang_below(servers, plain(offered)))) : NAN;
}

static bool delay_domain(uint32_t servers, double offered, double service)
{
    return servers > 0 && offered >= 0 && service > 0;
}

double erlang_c(uint32_t servers, double offered)
{
    return delay_domain(servers, offered, 1)
               ? (double)erlang_delay(servers, plain(offered)).wait_frac
               : NAN;
}

double erlang_wait_mean(uint32_t servers, double offered, double service)
{
    if (!delay_domain(servers, offered, service))
        return NAN;
    const struct erlang_delay d = erlang_delay(servers, plain(offered));
    return erlang_delay_mean(&d, service);
}

double erlang_wait_above(uint32_t servers, double offered, double service, double limit)
{
    if (!delay_domain(servers, offered, service) || !(limit >= 0))
        return NAN;
    const struct erlang_delay d = erlang_delay(servers, plain(offered));
    return erlang_delay_above(&d, service, limit);
}

double erlang_wait_quantile(uint32_t servers, double offered, double service, double p)
{
    if (!delay_domain(servers, offered, service) || !(p >= 0 && p < 1))
        return NAN;
    const struct erlang_delay d = erlang_delay(servers, plain(offered));
    return erlang_delay_quantile(&d, service, p);
}

uint32_t erlang_b_least(struct erlang_load a, double target)
{
    if (!(a.high >= 0) || !(target > 0))
        return UINT32_MAX;
    const long double per = 1 / whole(a);
    long double below = 0;
    for (uint32_t n = 0; n <= MOST_SERVERS; below = (long double)++n * per * (1 + below))
        if (1 <= target * (1 + below))
            return n;
    return UINT32_MAX;
}

uint32_t erlang_c_least(struct erlang_load a, double service, double limit, double target)
{
    if (!delay_domain(1, a.high, service) || !(limit >= 0) || !(target > 0))
        return UINT32_MAX;
    const long double per = 1 / whole(a);
    long double below = 0;
    for (uint32_t n = 1; n <= MOST_SERVERS; n++) {
        below = (long double)n * per * (1 + below);
        const long double spare = erlang_spare(n, a);
        if (spare > 0 && delay_of(n, a, below) * expl(-spare * limit / service) <= target)
            return n;
    }
    return UINT32_MAX;
}

uint32_t erlang_b_servers(double offered, double target)
{
    return erlang_b_least(plain(offered), target);
}

uint32_t erlang_c_servers(double offered, double service, double limit, double target)
{
    return erlang_c_least(plain(offered), service, limit, target);
}

double erlang_mg1_wait_mean(double rho, double service, double scv)
{
    if (!(rho >= 0) || !(service > 0) || !(scv >= 0))
        return NAN;
    return rho >= 1 ? INFINITY : rho * service * (1 + scv) / (2 * (1 - rho));
}
