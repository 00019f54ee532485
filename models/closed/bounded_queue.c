/* Bounded waiting rooms and impatient customers. */
#include "models/closed/bounded_queue.h"

#include "models/closed/erlang.h"

#include <math.h>

struct bounded_queue bounded_queue_places(uint32_t servers, double offered, uint32_t places)
{
    const double below = (double)erlang_below(servers, (struct erlang_load){offered, 0});
    if (isinf(below))
        return (struct bounded_queue){0};
    /* Weights of the states c, c + 1, ..., K, the largest of them 1. */
    const double ratio = offered / servers, step = ratio > 1 ? 1 / ratio : ratio;
    double sum = 0, queue = 0, weight = 1, last = 1, first = 1;
    for (uint64_t i = 0; i <= places; i++, weight *= step) {
        sum += weight;
        queue += weight * (double)(ratio > 1 ? places - i : i);
        *(ratio > 1 ? &first : &last) = weight;
    }
    const double all = sum + first * below, accepted = all - last;
    return (struct bounded_queue){last / all, (sum - last) / accepted, queue / all};
}

bool bounded_queue_patience(uint32_t servers, double rate, double service, double patience,
                            struct bounded_queue *out)
{
    enum { MOST = 10000000 };
    const double b = erlang_b(servers, rate * service), leave = servers / service;
    *out = (struct bounded_queue){0};
    if (rate == 0 || b == 0)
        return true;
    /* The likeliest number waiting; its weight is 1. */
    const double mode = floor(fmax(0, (rate - leave) * patience));
    const double negligible = 1e-20;
    double sum = 0, queue = 0, weight = 1, n = mode;
    long steps = 0;
    for (; weight > negligible * sum && steps < MOST; steps++, n++) {
        sum += weight;
        queue += weight * n;
        weight *= rate / (leave + (n + 1) / patience);
    }
    double at_zero = mode == 0 ? 1 : 0;
    for (n = mode, weight = 1; n > 0 && weight > negligible * sum && steps < MOST; steps++) {
        weight *= (leave + n / patience) / rate;
        n--;
        sum += weight;
        queue += weight * n;
        at_zero = n == 0 ? weight : 0;
    }
    const double all = sum + at_zero * (1 / b - 1), waiting = queue / all;
    *out = (struct bounded_queue){waiting / patience / rate, sum / all, waiting};
    return steps < MOST;
}
