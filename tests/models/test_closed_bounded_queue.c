/* Bounded and impatient queues against the birth-death chain summed state by state. */
#include "models/closed/bounded_queue.h"
#include "models/closed/erlang.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MOST = 20000 };

/* P(N = n) of a chain with births `rate` below `last` and these deaths, in logarithms. */
static void chain(double rate, uint32_t servers, double service, double patience, uint32_t last,
                  struct bounded_queue *out)
{
    static long double weight[MOST];
    long double log_weight = 0, most = 0, sum = 0;
    for (uint32_t n = 0; n <= last; n++) {
        if (n > 0) {
            const uint32_t busy = n < servers ? n : servers, waiting = n - busy;
            log_weight += logl((long double)rate) -
                          logl((long double)busy / service + (long double)waiting / patience);
        }
        weight[n] = log_weight;
        most = n == 0 || log_weight > most ? log_weight : most;
    }
    for (uint32_t n = 0; n <= last; n++)
        sum += weight[n] = expl(weight[n] - most);
    long double queue = 0, full = 0;
    for (uint32_t n = servers; n <= last; n++) {
        queue += (n - servers) * weight[n] / sum;
        full += weight[n] / sum;
    }
    const long double lost = weight[last] / sum;
    *out = (struct bounded_queue){(double)lost, (double)full, (double)queue};
    if (isinf(patience))
        out->wait_frac = (double)((full - lost) / (1 - lost));
    else
        out->lost = (double)(queue / patience / rate);
}

static void near(double got, double want, const char *what, double load)
{
    cr_assert(fabs(got - want) <= 1e-12 * fabs(want) + 1e-290, "%s at load %g: %.17g, not %.17g",
              what, load, got, want);
}

Test(bounded_queue, places_as_the_chain)
{
    static const double loads[] = {0.01, 0.5, 0.999999, 1, 1.000001, 1.25, 3, 40};
    static const uint32_t servers[] = {1, 10, 200}, places[] = {0, 1, 20, 3000};
    for (size_t l = 0; l < sizeof loads / sizeof loads[0]; l++)
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 4; k++) {
                struct bounded_queue want;
                const double a = loads[l] * servers[c];
                chain(a, servers[c], 1, INFINITY, servers[c] + places[k], &want);
                const struct bounded_queue got = bounded_queue_places(servers[c], a, places[k]);
                near(got.lost, want.lost, "lost", loads[l]);
                near(got.wait_frac, want.wait_frac, "wait", loads[l]);
                near(got.queue_mean, want.queue_mean, "queue", loads[l]);
            }
    cr_assert_float_eq(bounded_queue_places(10, 12.5, 20).lost, 0.200877, 5e-7);
    cr_assert_eq(bounded_queue_places(10, 12.5, 0).lost, erlang_b(10, 12.5));
    cr_assert_eq(bounded_queue_places(3, 0, 5).lost, 0);
}

Test(bounded_queue, patience_as_the_chain)
{
    static const double loads[] = {0.01, 0.9, 1, 1.25, 4}, patience[] = {0.01, 1, 20, 100};
    static const uint32_t servers[] = {1, 10, 50};
    for (size_t l = 0; l < sizeof loads / sizeof loads[0]; l++)
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 4; k++) {
                struct bounded_queue want, got;
                const double rate = loads[l] * servers[c] / 0.5;
                chain(rate, servers[c], 0.5, patience[k], MOST - 1, &want);
                /* The chain is cut where 50 servers at a load of 4 keep no weight. */
                if (rate * patience[k] > MOST / 2.0)
                    continue;
                cr_assert(bounded_queue_patience(servers[c], rate, 0.5, patience[k], &got));
                near(got.lost, want.lost, "lost", loads[l]);
                near(got.wait_frac, want.wait_frac, "wait", loads[l]);
                near(got.queue_mean, want.queue_mean, "queue", loads[l]);
            }
    struct bounded_queue q;
    cr_assert(bounded_queue_patience(10, 25, 0.5, 2, &q));
    cr_assert_float_eq(q.lost, 0.208304, 5e-7);
    cr_assert_not(bounded_queue_patience(10, 1e15, 0.5, 1e15, &q));
}
