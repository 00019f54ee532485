/* Waiting and loss in the classical queues: Erlang's loss and delay systems, and
 * Pollaczek-Khinchine.
 *
 * Loss (M/G/c/c):  B(0) = 1, B(n) = a B(n-1) / (n + a B(n-1)), a = arrival rate x mean holding
 * time. Delay (M/M/c, first come first served):  C = B / (1 - (a/c) (1 - B)), mean wait C S / (c -
 * a), P(W > t) = C e^(-(c - a) t / S). M/G/1:           mean wait rho S (1 + scv) / (2 (1 - rho)).
 *
 * A. K. Erlang 1917; F. Pollaczek 1930, A. Y. Khinchine 1932; L. Kleinrock, Queueing Systems 1,
 * 1975. Offered load in erlangs, S the mean service time; waits have the unit of S. An overloaded
 * queue waits for ever: C = 1 and infinite waits. Arguments outside the domain (negative, NaN, no
 * server) give NaN. Known answer: B(10, 10) = 0.214582343107, C(10, 8) = 0.409180150796. */
#ifndef HEADROOM_MODELS_CLOSED_ERLANG_H
#define HEADROOM_MODELS_CLOSED_ERLANG_H

#include <stdint.h>

/* An offered load, high + low: the product of two doubles without a rounding error, so that
 * servers - offered has full precision at loads of 1 - 1e-9 and closer. A plain load is {a, 0}. */
struct erlang_load {
    double high, low;
};
struct erlang_load erlang_product(double rate, double service);
struct erlang_load erlang_ratio(double rate,
                                double per_server); /* a correct digit beyond a double */
struct erlang_load erlang_sum(struct erlang_load x, struct erlang_load y);

long double erlang_spare(uint32_t servers, struct erlang_load a); /* servers - offered */

/* Weight of the states with a free server over that of all busy and none waiting: 1/B - 1, which is
 * infinite below 1e-4932. Cost O(servers). */
long double erlang_below(uint32_t servers, struct erlang_load a);

/* The delay system; servers >= 1, a >= 0. */
struct erlang_delay {
    long double wait_frac, spare; /* C; servers - offered: at most 0 when overloaded */
};
struct erlang_delay erlang_delay(uint32_t servers, struct erlang_load a);
double erlang_delay_mean(const struct erlang_delay *d, double service);
double erlang_delay_above(const struct erlang_delay *d, double service, double limit);
double erlang_delay_quantile(const struct erlang_delay *d, double service, double p);

/* Share of arrivals lost, and share that waits. Cost O(servers). */
double erlang_b(uint32_t servers, double offered);
double erlang_c(uint32_t servers, double offered);

double erlang_wait_mean(uint32_t servers, double offered, double service);
double erlang_wait_above(uint32_t servers, double offered, double service, double limit);
/* The wait that a share p of arrivals (0 <= p < 1) does not exceed. */
double erlang_wait_quantile(uint32_t servers, double offered, double service, double p);

/* Fewest servers with B <= target, or with P(W > limit) <= target (then more than offered), target
 * in (0, 1]; UINT32_MAX when there is no answer below it. */
uint32_t erlang_b_servers(double offered, double target);
uint32_t erlang_c_servers(double offered, double service, double limit, double target);
uint32_t erlang_b_least(struct erlang_load a, double target);
uint32_t erlang_c_least(struct erlang_load a, double service, double limit, double target);

/* Mean wait of M/G/1 at the load rho; scv is the squared coefficient of variation of service. */
double erlang_mg1_wait_mean(double rho, double service, double scv);

#endif
