/* The recurrence multiplies and divides positive numbers only, so it is exact to rounding for any
 * number of servers; a loss below 1e-308 becomes 0. */
#include "models/closed/erlang.h"

#include <math.h>
#include <stdbool.h>

/* Nobody sizes beyond this; it bounds the loops of the two searches. */
enum { MOST_SERVERS = 1 << 24 };

static double b_next(double b, uint32_t servers, double offered)
{
    return offered * b / (servers + offered * b);
}

static double c_from_b(double b, uint32_t servers, double offered)
{
    if (offered >= servers)
        return 1;
    return b / (1 - offered / servers * (1 - b));
}

double erlang_b(uint32_t servers, double offered)
{
    if (!(offered >= 0))
        return NAN;
    double b = 1;
    for (uint32_t n = 1; n <= servers && b > 0; n++)
        b = b_next(b, n, offered);
    return b;
}

double erlang_c(uint32_t servers, double offered)
{
    return servers == 0 ? NAN : c_from_b(erlang_b(servers, offered), servers, offered);
}

static bool delay_domain(uint32_t servers, double offered, double service)
{
    return servers > 0 && offered >= 0 && service > 0;
}

double erlang_wait_mean(uint32_t servers, double offered, double service)
{
    if (!delay_domain(servers, offered, service))
        return NAN;
    return offered >= servers ? INFINITY
                              : erlang_c(servers, offered) * service / (servers - offered);
}

double erlang_wait_above(uint32_t servers, double offered, double service, double limit)
{
    if (!delay_domain(servers, offered, service) || !(limit >= 0))
        return NAN;
    if (offered >= servers)
        return 1;
    return erlang_c(servers, offered) * exp(-(servers - offered) * limit / service);
}

double erlang_wait_quantile(uint32_t servers, double offered, double service, double p)
{
    if (!delay_domain(servers, offered, service) || !(p >= 0 && p < 1))
        return NAN;
    if (offered >= servers)
        return INFINITY;
    double above = erlang_c(servers, offered) / (1 - p);
    return above > 1 ? service * log(above) / (servers - offered) : 0;
}

uint32_t erlang_b_servers(double offered, double target)
{
    if (!(offered >= 0) || !(target > 0))
        return UINT32_MAX;
    double b = 1;
    for (uint32_t n = 0; n <= MOST_SERVERS; b = b_next(b, ++n, offered))
        if (b <= target)
            return n;
    return UINT32_MAX;
}

uint32_t erlang_c_servers(double offered, double service, double limit, double target)
{
    if (!delay_domain(1, offered, service) || !(limit >= 0) || !(target > 0))
        return UINT32_MAX;
    double b = 1;
    for (uint32_t n = 1; n <= MOST_SERVERS; n++) {
        b = b_next(b, n, offered);
        double late = c_from_b(b, n, offered) * exp(-(n - offered) * limit / service);
        if (n > offered && late <= target)
            return n;
    }
    return UINT32_MAX;
}

double erlang_mg1_wait_mean(double rho, double service, double scv)
{
    if (!(rho >= 0) || !(service > 0) || !(scv >= 0))
        return NAN;
    return rho >= 1 ? INFINITY : rho * service * (1 + scv) / (2 * (1 - rho));
}
